package collective

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestVersionOfRCCL: where the version decides between LL and LL128 and is open, bands hold both and the answer says why.
func TestVersionOfRCCL(t *testing.T) {
	c := newCluster(t, fabric.Hardware{Machine: "xe9680-mi300x-thor2", Nodes: 2})
	sizes := []int64{2 << 20, 16 << 30}
	said := func(p *fabric.Prediction) bool {
		return slices.ContainsFunc(p.Assumptions, func(a fabric.Assumption) bool { return strings.HasPrefix(a.What, "RCCL chooses as before 2.27") })
	}
	open, err := c.Predict(Job{Collective: fabric.AllReduce}, sizes)
	if err != nil || !said(open) {
		t.Fatalf("version unspecified: %v, %v", open, err)
	}
	for _, version := range []string{"2.22.3", "2.27.7"} {
		p, err := c.Predict(Job{Collective: fabric.AllReduce, Version: version}, sizes)
		if err != nil || said(p) {
			t.Fatalf("%s: %v, %v", version, p, err)
		}
		for i, r := range p.Rows {
			if o := open.Rows[i]; o.Band[0] > r.Band[0] || o.Band[1] < r.Band[1] {
				t.Errorf("%s, %d B: %v, without a version %v", version, r.Size, r.Band, o.Band)
			}
		}
	}
	if j := JobOf(fabric.AllReduce, map[string]string{"rccl": "2.27.7"}); j.Version != "2.27.7" {
		t.Errorf("version of a table file: %q", j.Version)
	}
	if p, err := c.Predict(Job{Collective: fabric.AllToAll}, sizes); err != nil || said(p) {
		t.Errorf("alltoall, which no version chooses: %v, %v", p.Assumptions, err)
	}
}
