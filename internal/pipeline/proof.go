package pipeline

import (
	"cmp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
)

// proofs returns how far each rendered file was proved in this run, by what the machines answered. Targets of which all of
// that is the same are one proof, in the order of the first.
func (u *up) proofs() []fabric.Proof {
	if u.report.Artifacts == nil {
		return nil
	}
	answers := make(map[string]apply.Applied, len(u.applied))
	for _, a := range u.applied {
		answers[a.Node] = a
	}
	switches := make(map[string]bool)
	for _, s := range u.Plan.Switches {
		switches[s.Name] = true
	}
	var all []fabric.Proof
	at := make(map[string]int)
	for _, file := range u.report.Artifacts.Artifacts {
		a, answered := answers[file.Target]
		p := proofOf(file.Path, a, answered, switches[file.Target])
		key := strings.Join([]string{p.Path, string(p.Level), strings.Join(p.By, "\x00"), p.Reason}, "\x01")
		i, seen := at[key]
		if !seen {
			i = len(all)
			at[key], all = i, append(all, p)
		}
		all[i].Targets = append(all[i].Targets, file.Target)
	}
	return all
}

// proofOf returns how far a file of a target was proved, by the target's answer.
func proofOf(path string, a apply.Applied, answered, onSwitch bool) fabric.Proof {
	p := fabric.Proof{Path: path, Level: fabric.Rendered}
	switch {
	case !answered:
		p.Reason = "the step apply did not come to it"
	case a.Status == fabric.NotApplicable || onSwitch:
		p.Reason = cmp.Or(a.Error, a.Reason)
	case a.Error != "": // which names the host: of a thousand that were not reached it is a thousand texts
		p.Reason = "it was not applied; why not stands with the configuration of the hosts"
	case a.Activation == nil:
		p.Reason = "it was written; files " + apply.TakesEffect([]apply.Change{{Path: path, Kind: apply.Create}})
	default:
		p.Reason = "the answer does not name it"
		if i := slices.IndexFunc(a.Activation.Proofs, func(o fabric.Proof) bool { return o.Path == path }); i >= 0 {
			p = a.Activation.Proofs[i]
			p.Targets = nil
		}
	}
	return p
}
