package diagnose

import (
	"math"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// FuzzExplain feeds tables, perftest rows and texts of any kind: no panic, and never healthy where a number is
// none or nothing was measured.
func FuzzExplain(f *testing.F) {
	f.Add(int64(1<<30), 2400.0, 447.0, 420.0, "GDRDMA on all channels", 2, 8, "all_reduce")
	f.Add(int64(0), 0.0, math.NaN(), -1.0, "no ACS, 0 drops; not not never", 0, 0, "alltoall")
	f.Add(int64(-8), math.Inf(1), 1e300, 1e-300, "NCCL_IB_HCA=mlx5_0, mlx5_1 [0]", 1, 1, "x")
	predict := func(hw fabric.Hardware, job Job, sizes []int64) (*fabric.Prediction, error) { // a line with 10 us before it
		p := &fabric.Prediction{Hardware: hw, Rows: make([]fabric.PredictionRow, len(sizes))}
		for i, s := range sizes {
			us := 10 + float64(s)/400e3
			bus := float64(s) / us / 1000
			p.Rows[i] = fabric.PredictionRow{Size: s, TimeUS: us, BusBW: bus, Band: [2]float64{0.9 * bus, 1.1 * bus}, NICGBs: bus / 8, Bound: fabric.Bound{BusBW: 450}}
		}
		return p, nil
	}
	f.Fuzz(func(t *testing.T, size int64, us, alg, bus float64, text string, nodes, gpus int, name string) {
		n := size % 7
		table := &fabric.Table{Collective: fabric.Collective(name), Ranks: nodes * gpus, Nodes: nodes, Rows: []fabric.Row{
			{Size: size, TimeUS: &us, AlgBW: &alg, BusBW: &bus, Wrong: &n}, {Size: size / 2, BusBW: &bus}, {Size: size, InPlace: &fabric.InPlace{TimeUS: &alg}}}}
		all := []fabric.Result{
			{Kind: fabric.NCCLTests, Content: table},
			{Kind: fabric.PerftestOutput, Content: &fabric.Perftest{Test: name, Rows: []fabric.PerftestRow{{Bytes: size, AverageGbps: &alg, PeakGbps: &bus, MsgRateMpps: &us}}, Errors: []fabric.LogLine{{Text: text}}}},
			{Kind: fabric.ObservationFile, Content: &fabric.Observations{Hardware: fabric.Hardware{GPU: name, Nodes: nodes, GPUsPerNode: gpus, NICGbps: us},
				Observed: []fabric.Observation{{Fact: text}, {Log: text}, {Test: "nccl", Collective: fabric.AllReduce, Nodes: nodes, BusBWGBs: &bus, Note: text}, {Changed: text, BusBWGBs: &alg}}}},
			{Kind: fabric.NCCLDebugLog, Content: &fabric.NCCLLog{Nodes: nodes, Net: name, Env: map[string]string{name: text}, Lines: []fabric.LogLine{{Text: text}}}},
			{Kind: fabric.NCCLTests},
		}
		out := explain(all, Input{Predict: predict, Hardware: fabric.Hardware{GPU: "h100", NICsPerNode: 8, NICGbps: 400, Net: "ib"}})
		for i, r := range out.Results {
			broken := i == 0 && (!(us >= 0) || !(alg >= 0) || !(bus >= 0) || math.IsInf(us+alg+bus, 0)) || i == 4
			if r.Verdict == fabric.VerdictHealthy && broken {
				t.Errorf("healthy: %+v", r)
			}
			if r.Verdict == "" || r.Why == "" {
				t.Errorf("no verdict: %+v", r)
			}
			for _, c := range r.Causes {
				if !(c.Confidence >= 0 && c.Confidence <= 1) {
					t.Errorf("confidence %v", c.Confidence)
				}
			}
		}
	})
}
