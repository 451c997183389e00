package check

import (
	"fmt"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestLost: a node that did not answer is unknown with its reason, once, in the plan or not.
func TestLost(t *testing.T) {
	for _, planned := range []bool{true, false} {
		t.Run(fmt.Sprintf("planned %t", planned), func(t *testing.T) {
			p := testPlan(2)
			var findings []fabric.Finding
			given := p
			if !planned {
				given = nil
			}
			c := New(given, nil, today(), func(f fabric.Finding) { findings = append(findings, f) })
			c.Take(c.Judge(labFacts(p, 0)))
			c.Lost(fabric.Missing{What: "host2", Source: "collect", Reason: "i/o timeout"})
			if s, err := c.Finish(t.Context()); err != nil || s.Status() != fabric.Unknown {
				t.Errorf("planned %t: verdict %s", planned, s.Status())
			}
			about := slices.DeleteFunc(findings, func(f fabric.Finding) bool { return f.Subject.Node != "host2" })
			if len(about) != 1 || about[0].ID != "facts-collected" || !contains(about[0].Why, "no facts of host2: i/o timeout (collect)") {
				t.Errorf("planned %t: %+v", planned, about)
			}
		})
	}
}
