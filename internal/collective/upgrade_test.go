package collective

import (
	"math"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// upgrade predicts for several versions and compares.
func upgrade(t *testing.T, hw fabric.Hardware, what fabric.Collective, sizes []int64, versions ...string) *fabric.Upgrade {
	t.Helper()
	c := newCluster(t, hw)
	var all []*fabric.Prediction
	for _, v := range versions {
		p, err := c.Predict(Job{Collective: what, Version: v}, sizes)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	u, err := Compare(all)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestUpgrade: what NCCL 2.28.9 changed on two HGX H100 is that trees with LL128 go on to larger sizes.
func TestUpgrade(t *testing.T) {
	u := upgrade(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, fabric.AllReduce, doubling(8, 32), "2.27.7", "2.30.7")
	if len(u.NCCL) != 2 || len(u.Rows) != 32 || len(u.Moves) == 0 {
		t.Fatalf("%+v", u)
	}
	moved := 0
	for _, r := range u.Rows {
		want := 100 * (r.Choices[1].BusBW/r.Choices[0].BusBW - 1)
		if math.Abs(r.Gain-want) > 1e-9 || !r.Moved && math.Abs(r.Gain) > 1e-9 {
			t.Errorf("%d bytes: gain %.3f of %+v", r.Size, r.Gain, r.Choices)
		}
		if r.Moved {
			moved++
			if !strings.HasPrefix(r.Choices[0].Algorithm, "NVLSTree") {
				t.Errorf("%d bytes: %+v", r.Size, r.Choices)
			}
		}
	}
	covered := 0
	for i, m := range u.Moves {
		if i > 0 && m.From <= u.Moves[i-1].To || m.From > m.To || m.Gain[0] > m.Gain[1] {
			t.Errorf("moves %+v", u.Moves)
		}
		for s := m.From; s <= m.To; s *= 2 {
			covered++
		}
	}
	if covered != moved {
		t.Errorf("moves cover %d sizes, %d moved", covered, moved)
	}
	same := upgrade(t, fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, fabric.AllReduce, doubling(8, 32), "2.28.9", "2.29.7")
	if len(same.Moves) != 0 {
		t.Errorf("from 2.28.9 to 2.29.7: %+v", same.Moves)
	}
}

func TestUpgradeOfNothing(t *testing.T) {
	p := func(hw fabric.Hardware, what fabric.Collective, size int64) *fabric.Prediction {
		p, err := newCluster(t, hw).Predict(Job{Collective: what}, []int64{size})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	h100 := fabric.Hardware{Machine: "hgx-h100", Nodes: 2}
	one, exchange := p(h100, fabric.AllReduce, 8), p(h100, fabric.AllToAll, 8)
	other := p(fabric.Hardware{GPU: "mi300x", GPUsPerNode: 8, Nodes: 1}, fabric.AllReduce, 8)
	longer := *one
	longer.Rows = append(longer.Rows, longer.Rows...)
	for _, all := range [][]*fabric.Prediction{nil, {one}, {exchange, exchange}, {other, other}, {one, &longer}} {
		if u, err := Compare(all); err == nil {
			t.Errorf("%+v", u)
		}
	}
}
