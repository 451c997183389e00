package mesh

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// tiedFindings groups the failing findings on NICs by cause. Each is its own cause, except cables that are in each
// other's ports, and the two ends of a cable that is missing: whoever plugs them in does one thing.
func tiedFindings(findings []fabric.Finding) [][]fabric.Finding {
	var groups [][]fabric.Finding
	for _, f := range findings {
		if f.Status != fabric.Fail || f.Cause == "" || len(interfaces(f)) == 0 {
			continue
		}
		group := []fabric.Finding{f}
		groups = slices.DeleteFunc(groups, func(g []fabric.Finding) bool {
			tied := slices.ContainsFunc(g, func(other fabric.Finding) bool { return exchanged(f, other) || oneCable(f, other) })
			if tied {
				group = slices.Concat(g, group)
			}
			return tied
		})
		groups = append(groups, group)
	}
	return groups
}

// exchanged reports whether one of two cables is in the port that is planned for the other.
func exchanged(a, b fabric.Finding) bool {
	return a.Cause == fabric.CauseMiscabled && b.Cause == fabric.CauseMiscabled && (inPortOf(a, b) || inPortOf(b, a))
}

// oneCable reports whether two ports, each with several interfaces, lack the same cable: to plug it in is one thing.
func oneCable(a, b fabric.Finding) bool {
	return a.Cause == fabric.CauseLinkDown && b.Cause == fabric.CauseLinkDown && len(a.With) > 0 && len(b.With) > 0 && a.Fix == b.Fix
}

// interfaces are all those that a finding concerns.
func interfaces(f fabric.Finding) (all []fabric.Subject) {
	for _, s := range append([]fabric.Subject{f.Subject}, f.With...) {
		if s.NIC != "" {
			all = append(all, s)
		}
	}
	return all
}

func inPortOf(a, b fabric.Finding) bool {
	return b.Expected != "" && slices.ContainsFunc(a.Evidence, func(e fabric.Evidence) bool { return port(e.Value) == port(b.Expected) })
}

// port drops the domain of a switch's name, which some switches give and the plan has not.
func port(text string) string {
	system, port, _ := strings.Cut(text, ":")
	name, _, _ := strings.Cut(system, ".")
	return name + ":" + port
}

// fixOf is how to fix all findings of a cause: two cables are exchanged, others fixed one by one.
func fixOf(tied []fabric.Finding) string {
	if len(tied) == 2 && inPortOf(tied[0], tied[1]) && inPortOf(tied[1], tied[0]) {
		return "exchange the cables of " + tied[0].Subject.String() + " and " + tied[1].Subject.String() + " at " +
			tied[0].Expected + " and " + tied[1].Expected + ", or change the cluster file to match the cabling"
	}
	var fixes []string
	for _, f := range tied {
		if f.Fix != "" && !slices.Contains(fixes, f.Fix) {
			fixes = append(fixes, f.Fix)
		}
	}
	return strings.Join(fixes, "; ")
}
