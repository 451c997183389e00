package check

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func disagreement() Rule {
	return Rule{
		ID:        "disagreement",
		Title:     "No two sources contradict each other",
		Doc:       "looks for facts on which two sources disagree: such a fact is unknown, whichever value the other rules used",
		Severity:  fabric.SeverityWarning,
		Reference: "the facts of the node, disagree",
		Node:      judgeDisagreement,
	}
}

func judgeDisagreement(in NodeInput) []Verdict {
	f := in.Facts
	if len(f.Disagree) > 0 {
		v := Verdict{Expected: "one value of each fact"}
		words := make([]string, 0, len(f.Disagree))
		for _, d := range f.Disagree {
			said := make([]string, 0, len(d.Said))
			for _, s := range d.Said {
				said = append(said, "\""+s.Value+"\" ("+s.Source+")")
				v.Evidence = append(v.Evidence, saw(s.Source, d.What+": "+s.Value))
			}
			words = append(words, d.What+" is "+strings.Join(said, " or "))
		}
		v.Why = "sources of " + f.Node + " contradict each other: " + strings.Join(words, "; ")
		return in.asNode(v)
	}
	if len(f.NICs) == 0 && len(f.PCI) == 0 && len(f.HCAs) == 0 {
		return in.asNode(Verdict{Why: in.why("nothing was read from "+f.Node+" that two sources could report", fabric.FactNICs, fabric.FactPCI, fabric.FactHCAs)})
	}
	return in.asNode(pass("one value of each fact", saw("facts", strconv.Itoa(len(f.NICs))+" NICs, "+
		strconv.Itoa(len(f.HCAs))+" RDMA devices, "+strconv.Itoa(len(f.PCI))+" PCI functions")))
}
