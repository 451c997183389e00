package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// judgedRing is a ring of two nodes of H100 at a bandwidth, as explain has judged it, with settings.
func judgedRing(t *testing.T, busbw float64, settings ...setting) (*observed, *point) {
	t.Helper()
	s := &observed{hw: twoH100(), settings: settings}
	s.points = []point{{own: true, test: "nccl", scope: scopeNet, collective: fabric.AllReduce, nodes: 2, size: 8 << 30, algorithm: "Ring", busbw: busbw, quality: bad,
		expected: fabric.Expected{BusBW: 391, Low: 352, High: 397}}}
	return s, &s.points[0]
}

func sickWith(causes ...fabric.CauseID) *fabric.Explained {
	out := &fabric.Explained{Verdict: fabric.VerdictDegraded}
	for _, id := range causes {
		out.Causes = append(out.Causes, fabric.Cause{ID: id, Subject: fabric.ClusterSubject()})
	}
	return out
}

// Two of eight NICs that a setting names carry a quarter of what all would: the answer says so with a number.
func TestFixing(t *testing.T) {
	s, p := judgedRing(t, 97, setting{name: "NCCL_IB_HCA", value: "mlx5_0,mlx5_1", source: "log"})
	out := sickWith(fabric.CauseTreeArtefact, fabric.CauseHCASubset, fabric.CauseNetPlugin)
	s.fixing(out, p, predictor(t))
	if out.Causes[0].Gain != nil {
		t.Errorf("what is no fault has a gain: %+v", out.Causes[0].Gain)
	}
	for _, c := range out.Causes[1:] {
		want := 391.0 // all NICs
		if c.ID == fabric.CauseNetPlugin {
			want = 98 // the two that the setting leaves
		}
		if c.Gain == nil || math.Abs(c.Gain.To/want-1) > 0.03 {
			t.Errorf("%s: %+v, want %.0f GB/s", c.ID, c.Gain, want)
		}
	}
	if out.Repair == nil || !slices.Equal(out.Repair.Causes, []fabric.CauseID{fabric.CauseHCASubset}) || !strings.Contains(out.Repair.Gain.Why, "NCCL_IB_HCA=mlx5_0,mlx5_1") {
		t.Errorf("the repair is %+v", out.Repair)
	}
}

// Of the pairs of hosts that are not slow, and of what was measured without a host, the middle one counts.
func TestFixingSlowNode(t *testing.T) {
	s, p := judgedRing(t, 200)
	for i, busbw := range []float64{380, 384, 388} {
		q := *p
		q.busbw, q.quality, q.pair = busbw, good, []string{"h1", string(rune('2' + i))}
		s.points = append(s.points, q)
	}
	p = &s.points[0]
	p.pair = []string{"h1", "h7"}
	out := sickWith(fabric.CauseSlowNode)
	out.Causes[0].Subject = fabric.NodeSubject("h7")
	s.fixing(out, p, predictor(t))
	if g := out.Causes[0].Gain; g == nil || g.To != 384 || !strings.Contains(g.Why, "on h7") {
		t.Errorf("the gain is %+v", g)
	}
}

// Where no bus bandwidth was judged there is nothing to say.
func TestFixingWithoutFigure(t *testing.T) {
	for name, change := range map[string]func(*fabric.Explained, *point){
		"healthy":          func(x *fabric.Explained, _ *point) { x.Verdict = fabric.VerdictHealthy },
		"failed":           func(x *fabric.Explained, _ *point) { x.Verdict = fabric.VerdictFailed },
		"of perftest":      func(_ *fabric.Explained, p *point) { p.test = "perftest" },
		"average":          func(_ *fabric.Explained, p *point) { p.average = true },
		"without a band":   func(_ *fabric.Explained, p *point) { p.expected = fabric.Expected{} },
		"without a number": func(_ *fabric.Explained, p *point) { p.busbw = 0 },
	} {
		s, p := judgedRing(t, 97)
		out := sickWith(fabric.CauseHCASubset)
		change(out, p)
		s.fixing(out, p, predictor(t))
		if out.Causes[0].Gain != nil || out.Repair != nil {
			t.Errorf("%s: there is a gain", name)
		}
	}
	s, p := judgedRing(t, 97)
	out := sickWith(fabric.CauseHCASubset)
	s.fixing(out, nil, predictor(t))
	s.fixing(out, p, nil)
	if out.Causes[0].Gain != nil || out.Repair != nil {
		t.Error("there is a gain without a figure or without a model")
	}
}
