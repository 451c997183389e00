package diagnose

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// A table before which a setting has two values is no evidence of health where they would differ, and says so.
func TestSettingSaidTwice(t *testing.T) {
	hw := fabric.Hardware{GPU: "a100-80-sxm", Nodes: 1, GPUsPerNode: 8}
	for _, c := range []struct {
		name, first string
		want        fabric.Verdict
	}{
		{"NCCL_P2P_DISABLE", "1", fabric.VerdictUnknown},
		{"NCCL_IB_TIMEOUT", "18", fabric.VerdictHealthy}, // no network is used
	} {
		table := curve(8, 232)
		table.Nodes = 1
		table.Config, table.Replaced = map[string]string{c.name: "0"}, map[string][]string{c.name: {c.first}}
		r := explainCurve(table, hw, predictor(t))
		if r.Verdict != c.want {
			t.Errorf("%s: %s: %s", c.name, r.Verdict, r.Why)
		}
		if !slices.ContainsFunc(r.Notes, func(e fabric.Evidence) bool { return strings.Contains(e.Value, c.name+" is set more than once") }) {
			t.Errorf("%s: notes %v", c.name, r.Notes)
		}
	}
}

// The settings of one run say nothing of another one, in the same text too.
func TestSettingsOfAnotherRun(t *testing.T) {
	slow, fast := curve(8, 12), curve(8, 12)
	slow.Nodes, fast.Nodes = 1, 1
	slow.Config = map[string]string{"NCCL_P2P_DISABLE": "1"}
	log := &fabric.NCCLLog{Env: map[string]string{"NCCL_P2P_DISABLE": "1"}, Pasted: []string{"NCCL_P2P_DISABLE"}}
	out := explain([]fabric.Result{
		{File: "t", Kind: fabric.NCCLDebugLog, Content: log},
		{File: "t", Kind: fabric.NCCLTests, Content: slow},
		{File: "t", Kind: fabric.NCCLTests, Content: fast},
	}, Input{Predict: predictor(t), Hardware: fabric.Hardware{GPU: "a100-80-sxm", Nodes: 1, GPUsPerNode: 8}})
	if c := out.Results[1].Causes[0]; c.ID != fabric.CauseNCCLSettings || c.Confidence < 0.9 {
		t.Errorf("the run with the setting: %s %.2f", c.ID, c.Confidence)
	}
	if c := out.Results[2].Causes[0]; c.ID == fabric.CauseNCCLSettings {
		t.Errorf("the run without it: %s %.2f", c.ID, c.Confidence)
	}
}
