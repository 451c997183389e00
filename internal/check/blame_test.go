package check

import (
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestOneFaultOneRule plants every fault of the cases alone: no second rule may blame it.
func TestOneFaultOneRule(t *testing.T) {
	for _, c := range cases() {
		if c.want != fabric.Fail {
			continue
		}
		t.Run(c.rule+"/"+c.name, func(t *testing.T) {
			w := newWorld()
			c.change(w)
			findings, _ := run(w.plan, nil, w.nodes...)
			var others []string
			for _, f := range findings {
				if f.Status == fabric.Fail && f.ID != c.rule {
					others = append(others, f.ID+" on "+f.Subject.String())
				}
			}
			if len(others) > 0 {
				t.Errorf("%s/%s: blamed by %v too", c.rule, c.name, slices.Compact(others))
			}
		})
	}
}
