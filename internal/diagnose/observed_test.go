package diagnose

import (
	"path/filepath"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestHealthyObservations(t *testing.T) {
	predict := predictor(t)
	for _, f := range glob(t, "testdata/healthy/*.yaml") {
		r := explain(read(t, f), Input{Predict: predict}).Results[0]
		if r.Verdict != fabric.VerdictHealthy || len(r.Causes) == 0 {
			t.Errorf("%s: %s: %s %v", filepath.Base(f), r.Verdict, r.Why, r.Causes)
		}
	}
}

// What cannot be decided is unknown and names what decides.
func TestUndecidedObservations(t *testing.T) {
	predict := predictor(t)
	for _, f := range glob(t, "testdata/undecided/*.yaml") {
		r := explain(read(t, f), Input{Predict: predict}).Results[0]
		if r.Verdict != fabric.VerdictUnknown || r.Next == "" && (len(r.Causes) == 0 || r.Causes[0].Confirm == "") || len(r.Causes) > 0 && r.Causes[0].Confidence > surely || firstCause(r) == fabric.CauseHealthy {
			t.Errorf("%s: %s: %s %+v", filepath.Base(f), r.Verdict, r.Why, r.Causes)
		}
	}
}

// A pair matrix names the node whose every pair is low, or the one pair that is.
func TestPairs(t *testing.T) {
	matrix := func(low func(a, b string) bool) fabric.Explained {
		hosts := []string{"a", "b", "c", "d", "e"}
		o := &fabric.Observations{Hardware: fabric.Hardware{GPU: "a100", GPUsPerNode: 8}}
		for i, a := range hosts {
			for _, b := range hosts[i+1:] {
				bw := 88.0
				if low(a, b) {
					bw = 49
				}
				o.Observed = append(o.Observed, fabric.Observation{Test: "nccl", Collective: fabric.AllReduce, Pair: []string{a, b}, BusBWGBs: &bw})
			}
		}
		return explain([]fabric.Result{{Kind: fabric.ObservationFile, Content: o}}, Input{Predict: predictor(t)}).Results[0]
	}
	node := matrix(func(a, b string) bool { return a == "c" || b == "c" })
	if node.Verdict != fabric.VerdictDegraded || node.Causes[0].ID != fabric.CauseSlowNode || node.Causes[0].Subject != fabric.NodeSubject("c") {
		t.Errorf("a row: %s %v", node.Verdict, node.Causes)
	}
	link := matrix(func(a, b string) bool { return a == "b" && b == "d" })
	if link.Verdict != fabric.VerdictDegraded || link.Causes[0].ID != fabric.CauseSlowLink {
		t.Errorf("a cell: %s %v", link.Verdict, link.Causes)
	}
	even := matrix(func(string, string) bool { return false })
	if even.Verdict != fabric.VerdictUnknown { // all alike, and nothing says what they should be
		t.Errorf("even: %s %v", even.Verdict, even.Causes)
	}
}
