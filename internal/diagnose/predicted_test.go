package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// withoutP2P is what is made of a table of one machine with eight GPUs whose plateau is busbw, GB/s, where a script sets
// NCCL_P2P_DISABLE=1.
func withoutP2P(t *testing.T, gpu string, busbw float64) fabric.Explained {
	t.Helper()
	table := curve(8, busbw)
	table.Config, table.Nodes = map[string]string{"NCCL_P2P_DISABLE": "1"}, 1
	return explainCurve(table, fabric.Hardware{GPU: gpu, Nodes: 1, GPUsPerNode: 8}, predictor(t))
}

// A setting that is in force has the share of the loss that its prediction gives it, and the less of it the more is lost beside.
func TestSettingHasItsShare(t *testing.T) {
	before := 1.0
	for _, busbw := range []float64{9, 5, 2} {
		r := withoutP2P(t, "l40s", busbw)
		if r.Verdict != fabric.VerdictDegraded || r.Causes[0].ID != fabric.CauseNCCLSettings {
			t.Fatalf("%v GB/s: %s, causes %v", busbw, r.Verdict, ids(r.Causes))
		}
		c := r.Causes[0]
		if c.Confidence >= before || c.Confidence < 0.1 {
			t.Errorf("%v GB/s: %.2f, and %.2f where less is lost", busbw, c.Confidence, before)
		}
		before = c.Confidence
		if !strings.Contains(c.Gain.Why, "NCCL_P2P_DISABLE=1 explains 5.7 of the ") || !strings.Contains(r.Repair.Undecidable, "what takes the rest has no name") {
			t.Errorf("%v GB/s: gain %q, repair %q", busbw, c.Gain.Why, r.Repair.Undecidable)
		}
	}
	if before > 0.2 {
		t.Errorf("a setting that leaves 13 GB/s where 2 were measured has %.2f", before)
	}
	if r := withoutP2P(t, "a100-80-sxm", 8); r.Causes[0].ID != fabric.CauseNCCLSettings || r.Causes[0].Confidence < 0.8 {
		t.Errorf("a setting that leaves 13 of 234 GB/s where 8 were measured: %v, %.2f", ids(r.Causes), r.Causes[0].Confidence)
	}
}

// A setting that would leave far less than was measured was not in force: it explains nothing, and nothing is healthy by that.
func TestSettingThatWasNotInForce(t *testing.T) {
	const why = "NCCL_P2P_DISABLE=1 was hardly in force"
	slow := withoutP2P(t, "a100-80-sxm", 60)
	if slow.Verdict != fabric.VerdictDegraded || slow.Causes[0].ID == fabric.CauseNCCLSettings || slow.Expected.Low < 200 {
		t.Errorf("60 GB/s: %s, causes %v, from %v GB/s", slow.Verdict, ids(slow.Causes), slow.Expected.Low)
	}
	if !slices.ContainsFunc(slow.Notes, func(e fabric.Evidence) bool { return strings.Contains(e.Value, "with NCCL_P2P_DISABLE=1 at most ") }) {
		t.Errorf("60 GB/s: notes %v", slow.Notes)
	}
	if fast := withoutP2P(t, "a100-80-sxm", 230); fast.Verdict != fabric.VerdictUnknown || !strings.Contains(fast.Why, why) {
		t.Errorf("230 GB/s: %s: %s", fast.Verdict, fast.Why)
	}
	if more := withoutP2P(t, "a100-80-sxm", 900); more.Verdict != fabric.VerdictUnknown || strings.Contains(more.Why, why) {
		t.Errorf("900 GB/s: %s: %s", more.Verdict, more.Why) // which no setting explains
	}
}

// likelier is a density over another: all rates together are as likely under both.
func TestLikelierIsARatioOfDensities(t *testing.T) {
	with, without := rate{busbw: 13, low: 11, high: 15}, rate{busbw: 40}
	sum, within := 0.0, 0.0
	const step = 1e-3
	for m := step; m < without.busbw; m += step {
		p := with.likelier(m, without) * step / without.busbw // where something else decides, each rate up to 40 is as likely
		sum += p
		if with.fits(m, beside) {
			within += p
		}
	}
	if math.Abs(sum-1) > 0.01 || math.Abs(within-0.93) > 0.02 {
		t.Errorf("the density is %.3f in all and %.3f in the band, want 1 and 0.93", sum, within)
	}
}

// Shares of causes in force are probabilities: they raise what is less, never lower, and the sum stays.
func TestRaise(t *testing.T) {
	b := beliefs{all: []belief{{id: "a", probability: 0.1}, {id: "b", probability: 0.6}}, other: 0.3}
	b.raise(map[fabric.CauseID]float64{"a": 0.4, "b": 0.1})
	if got := []float64{b.all[0].probability, b.all[1].probability, b.other}; math.Abs(got[0]-0.4) > 1e-9 || math.Abs(got[1]-0.4) > 1e-9 || math.Abs(got[2]-0.2) > 1e-9 {
		t.Errorf("%v, want 0.4, 0.4, 0.2", got)
	}
}
