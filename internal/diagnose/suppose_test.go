package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// rates predicts from the machine and its network alone: GB/s of an all-reduce, by machine/network.
func rates(of map[string]float64) Predictor {
	return func(hw fabric.Hardware, _ Job, sizes []int64) (*fabric.Prediction, error) {
		rate := of[hw.Machine+"/"+hw.Net]
		if rate == 0 {
			return nil, fmt.Errorf("machine %q: unknown", hw.Machine)
		}
		p := &fabric.Prediction{Hardware: hw}
		for _, size := range sizes { // a curve as that of banner, with 20 us before the first byte
			factor := fabric.AllReduce.BusFactor(16)
			us := 20 + float64(size)/1000*factor/rate
			bus := float64(size) / us * factor / 1000
			p.Rows = append(p.Rows, fabric.PredictionRow{BusBW: bus, TimeUS: us, Band: [2]float64{0.9 * bus, 1.05 * bus}, Bound: fabric.Bound{BusBW: 1.1 * rate, Element: "a NIC"}})
		}
		return p, nil
	}
}

// A table that names its GPUs and not its machines is judged where no machine that could have measured it judges
// otherwise, and says which machine was taken; where they disagree, it stays unknown.
func TestMachinesThatNothingNames(t *testing.T) {
	three := []fabric.Hardware{{Machine: "own", Net: "ib"}, {Machine: "own", Net: "roce"}, {Machine: "cloud", Net: "efa"}}
	for _, c := range []struct {
		name    string
		of      map[string]float64
		busbw   float64
		gpu     string
		in      Input
		verdict fabric.Verdict
		says    string // in what was assumed
	}{
		{"all healthy", map[string]float64{"own/ib": 400, "own/roce": 390, "cloud/efa": 395}, 390, "", Input{}, fabric.VerdictHealthy, "own with ib; as own with roce, cloud with efa the verdict is the same"},
		{"all slow", map[string]float64{"own/ib": 400, "own/roce": 390, "cloud/efa": 200}, 50, "", Input{}, fabric.VerdictDegraded, "own with ib"},
		{"one cannot carry it", map[string]float64{"own/ib": 400, "own/roce": 390, "cloud/efa": 100}, 390, "", Input{}, fabric.VerdictHealthy, "cloud with efa cannot carry what was measured"},
		{"they disagree", map[string]float64{"own/ib": 400, "own/roce": 390, "cloud/efa": 100}, 95, "", Input{}, fabric.VerdictUnknown, ""},
		{"none can carry it", map[string]float64{"own/ib": 100, "own/roce": 100, "cloud/efa": 100}, 390, "", Input{}, fabric.VerdictUnknown, ""},
		{"one has no prediction", map[string]float64{"own/ib": 400, "own/roce": 390}, 390, "", Input{}, fabric.VerdictUnknown, ""},
		{"the network is stated", map[string]float64{"own/ib": 400, "own/roce": 200, "cloud/efa": 200}, 390, "", Input{Hardware: fabric.Hardware{Net: "ib"}}, fabric.VerdictHealthy, "own with ib"},
		{"the machine is stated", map[string]float64{"other/": 100, "own/ib": 400, "own/roce": 400, "cloud/efa": 400}, 95, "", Input{Hardware: fabric.Hardware{Machine: "other"}}, fabric.VerdictHealthy, ""},
		{"slices of GPUs", map[string]float64{"own/ib": 400, "own/roce": 390, "cloud/efa": 395}, 390, "NVIDIA H100 80GB HBM3 MIG 1g.10gb", Input{}, fabric.VerdictUnknown, ""},
		{"a slice whose GPU is left out", map[string]float64{"own/ib": 400, "own/roce": 390, "cloud/efa": 395}, 390, "MIG 3g.40gb", Input{}, fabric.VerdictUnknown, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			gpu := c.gpu
			if gpu == "" {
				gpu = "NVIDIA H100"
			}
			c.in.Predict, c.in.Machines = rates(c.of), known(t)
			c.in.Suppose = func(id string, perNode int) []fabric.Hardware {
				if id != "h100-sxm" || perNode != 8 {
					t.Errorf("asked for %d x %q", perNode, id)
				}
				return three
			}
			got := explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: banner(gpu, 2, c.busbw)}}, c.in).Results[0]
			if got.Verdict != c.verdict {
				t.Errorf("verdict %q, want %q; assumed %v", got.Verdict, c.verdict, got.Assumed)
			}
			if c.says != "" && !strings.Contains(fmt.Sprint(got.Assumed), c.says) {
				t.Errorf("assumed %v, want %q", got.Assumed, c.says)
			}
			if c.says == "" && strings.Contains(fmt.Sprint(got.Assumed), "the machines are") {
				t.Errorf("assumed %v", got.Assumed)
			}
		})
	}
}
