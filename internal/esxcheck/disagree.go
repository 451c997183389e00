package esxcheck

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

func disagreeRule() Rule {
	return Rule{
		ID: "esx-disagreement", Title: "The shell of an ESX host and the vSphere API say the same",
		Doc:      "compares what both roads to a host say of one fact: where they differ, one of the two is old, or of another host",
		Severity: fabric.SeverityWarning, Reference: "the facts of the host, disagree",
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			if len(s.facts.Disagree) == 0 {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "no two sources say different things of one fact")}
			}
			f := s.finding(fabric.Unknown, fmt.Sprintf("of %s of %s two sources say different things; the first was taken", fabric.Count(len(s.facts.Disagree), "fact"), s.name()))
			for _, d := range s.facts.Disagree[:min(len(s.facts.Disagree), 6)] {
				for _, said := range d.Said {
					f.Evidence = append(f.Evidence, saw(said.Source, d.What+" "+said.Value))
				}
			}
			return []fabric.Finding{f}
		}),
	}
}
