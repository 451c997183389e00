package diagnose

import (
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestSettingsWithinANode: a setting that is seen to take the way between GPUs out of use comes before what would be wrong with
// that way, and one of the network says nothing of a single machine.
func TestSettingsWithinANode(t *testing.T) {
	predict := predictor(t)
	for _, gpu := range []string{"l40s", "rtx-a6000", "a100-80-sxm"} {
		causesOf := func(env map[string]string) []fabric.Cause {
			table := curve(8, 4)
			table.Config, table.Nodes = env, 1
			in := Input{Predict: predict, Hardware: fabric.Hardware{GPU: gpu, Nodes: 1, GPUsPerNode: 8}}
			r := explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: table}}, in).Results[0]
			if r.Verdict != fabric.VerdictDegraded {
				t.Fatalf("%s %v: %s: %s", gpu, env, r.Verdict, r.Why)
			}
			return r.Causes
		}
		bare := causesOf(nil)
		for _, env := range []map[string]string{{"NCCL_P2P_DISABLE": "1"}, {"NCCL_P2P_LEVEL": "LOC"}} {
			off := causesOf(env)
			if len(off) == 0 || off[0].ID != fabric.CauseNCCLSettings || off[0].Confidence < surely {
				t.Errorf("%s %v: %v", gpu, env, ids(off))
			}
			if slices.Contains(ids(off), bare[0].ID) {
				t.Errorf("%s %v: %s is still listed", gpu, env, bare[0].ID)
			}
		}
		if with := causesOf(map[string]string{"NCCL_IB_DISABLE": "1"}); !slices.Equal(ids(with), ids(bare)) {
			t.Errorf("%s: without RDMA, which is not used: %v, else %v", gpu, ids(with), ids(bare))
		}
	}
}
