package diagnose

import (
	"slices"
	"strings"
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
			if len(off) == 0 || off[0].ID != fabric.CauseNCCLSettings || off[0].Confidence < 0.2 {
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

// TestSettingsNotModelled: a setting of a slow run that its prediction does not follow is said, and one that was seen to cost much comes first.
func TestSettingsNotModelled(t *testing.T) {
	table := curve(8, 120)
	table.Config, table.Nodes = map[string]string{"NCCL_P2P_USE_CUDA_MEMCPY": "1", "NCCL_LL_BUFFSIZE": "65536"}, 1
	in := Input{Predict: predictor(t), Hardware: fabric.Hardware{GPU: "h100-sxm", Nodes: 1, GPUsPerNode: 8}}
	r := explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: table}}, in).Results[0]
	if r.Verdict != fabric.VerdictDegraded || len(r.Causes) == 0 || r.Causes[0].ID != fabric.CauseNCCLSettings {
		t.Fatalf("%s: %v: %s", r.Verdict, ids(r.Causes), r.Why)
	}
	for _, want := range []string{"NCCL_P2P_USE_CUDA_MEMCPY=1 is not modelled", "NCCL_LL_BUFFSIZE=65536 is not modelled"} {
		if !slices.ContainsFunc(r.Notes, func(e fabric.Evidence) bool { return strings.HasPrefix(e.Value, want) }) {
			t.Errorf("no note %q: %v", want, r.Notes)
		}
	}
}

// TestLatencyOfSockets: over slow Ethernet each step may wait for an interrupt, which is no fault of the processors; a table that
// takes far longer than that is still none that is as it should be.
func TestLatencyOfSockets(t *testing.T) {
	predict := predictor(t)
	for latency, want := range map[float64]fabric.Verdict{60: fabric.VerdictHealthy, 100: fabric.VerdictHealthy, 2000: fabric.VerdictDegraded} {
		table := &fabric.Table{Collective: fabric.AllReduce, Ranks: 2, Nodes: 2, Complete: true, Checked: true}
		for size := int64(8); size <= 1<<30; size *= 2 {
			us := latency + float64(size)/1120
			bus := float64(size) / us / 1000
			table.Rows = append(table.Rows, fabric.Row{Size: size, Type: "float", TimeUS: f(us), AlgBW: f(bus), BusBW: f(bus)})
		}
		in := Input{Predict: predict, Hardware: fabric.Hardware{GPU: "v100-pcie-16", Nodes: 2, GPUsPerNode: 1, NICsPerNode: 1, NICGbps: 10, Net: "tcp"}}
		if r := explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: table}}, in).Results[0]; r.Verdict != want {
			t.Errorf("%.0f us: %s: %s", latency, r.Verdict, r.Why)
		}
	}
}

// TestWithoutPeerToPeer: nothing on the way from one GPU to another slows down those whose driver never takes it.
func TestWithoutPeerToPeer(t *testing.T) {
	for gpu, want := range map[string]bool{"rtx4090": false, "l40s": true} {
		table := curve(8, 4)
		table.Nodes = 1
		in := Input{Predict: predictor(t), Hardware: fabric.Hardware{GPU: gpu, Nodes: 1, GPUsPerNode: 8}}
		r := explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: table}}, in).Results[0]
		if r.Verdict != fabric.VerdictDegraded {
			t.Fatalf("%s: %s: %s", gpu, r.Verdict, r.Why)
		}
		if got := slices.Contains(ids(r.Causes), fabric.CauseACSRedirect); got != want {
			t.Errorf("%s: causes %v", gpu, ids(r.Causes))
		}
	}
}
