package check

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func cabling() Rule {
	return Rule{
		ID:        "cabling",
		Title:     "Each cable is connected as planned",
		Doc:       "compares each NIC's LLDP neighbour with the planned far end of its cable: a wrong port means a wrong rail or subnet. InfiniBand has no LLDP: only its subnet manager knows the cables",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMiscabled,
		Reference: "the plan; IEEE 802.1AB, system name and port id",
		Facts:     []string{fabric.FactLLDP},
		Scope:     []Condition{withPlan(), withCables(), withoutTwins(), onRoCE(), withRDMA()},
		DependsOn: []string{"link-up"},
		Node:      judgeCabling,
	}
}

func judgeCabling(in NodeInput) []Verdict {
	out := in.room(len(in.Plan.Links))
	for _, l := range in.Plan.Links {
		v := in.judgeCable(l)
		v.Subject = fabric.NICSubject(in.Facts.Node, l.A.NIC)
		v.Expected = l.B.String()
		out = append(out, v)
	}
	return out
}

func (in NodeInput) judgeCable(l fabric.Link) Verdict {
	var seen []fabric.Evidence
	planned := 0
	for _, n := range in.Facts.LLDP {
		if n.NIC != l.A.NIC {
			continue
		}
		seen = append(seen, saw("LLDP on "+n.NIC+", "+n.Source, n.System+":"+n.Port))
		if isEnd(n, l.B) {
			planned++
		}
	}
	switch {
	case len(seen) == 0:
		return Verdict{Why: in.why("no LLDP neighbour seen on "+l.A.String(), fabric.FactLLDP+" "+l.A.NIC, fabric.FactLLDP)}
	case planned == len(seen):
		return pass("", seen...)
	case planned > 0:
		return Verdict{Evidence: seen, Why: "several LLDP neighbours seen on " + l.A.String() +
			": its cable was moved recently, or a device in between forwards LLDP"}
	}
	return Verdict{
		Status: fabric.Fail, Evidence: seen,
		Why: "The cable of " + l.A.String() + " is connected to " + in.ends(l.A.NIC) + ", planned is " + l.B.String() + ".",
		Fix: "move the cable of " + l.A.String() + " to " + l.B.String() + ", or change the cluster file to match the cabling",
	}
}

// ends lists where a NIC's cable ends, and the NIC that the port is planned for.
func (in NodeInput) ends(nic string) string {
	var words []string
	for _, n := range in.Facts.LLDP {
		if n.NIC != nic {
			continue
		}
		w := n.System + ":" + n.Port
		if e, ok := in.Plan.index.nicAt(fabric.Endpoint{Node: firstLabel(n.System), NIC: n.Port}); ok {
			w += " (planned for " + e.String() + ")"
		}
		words = append(words, w)
	}
	return strings.Join(words, ", ")
}

// isEnd compares a neighbour with a planned end. Switches give their name with or without a domain, and the
// port's name as id or, where the id is a MAC address, as description.
func isEnd(n fabric.LLDPNeighbour, e fabric.Endpoint) bool {
	return (n.System == e.Node || firstLabel(n.System) == e.Node) && (n.Port == e.NIC || n.PortText == e.NIC)
}

func firstLabel(name string) string {
	label, _, _ := strings.Cut(name, ".")
	return label
}
