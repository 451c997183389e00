package diagnose

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestVersionOfTheRun: what a table says of its library counts before the log of its run, and that before the flag.
func TestVersionOfTheRun(t *testing.T) {
	table := func(library string) fabric.Result {
		all := curve(16, 300)
		all.Library = library
		return fabric.Result{Kind: fabric.NCCLTests, Content: all}
	}
	for _, c := range []struct{ library, flag, want string }{
		{"NCCL 2.28.9", "2.27.7", "NCCL 2.28.9"}, {"", "2.27.7", "2.27.7"}, {"", "", ""},
	} {
		asked := map[string]bool{}
		predict := func(hw fabric.Hardware, job Job, sizes []int64) (*fabric.Prediction, error) {
			asked[job.Version] = true
			return nil, nil
		}
		explain([]fabric.Result{table(c.library)}, Input{Predict: predict, Hardware: fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, Version: c.flag})
		if len(asked) != 1 || !asked[c.want] {
			t.Errorf("table %q, flag %q: asked for %v, want %q", c.library, c.flag, asked, c.want)
		}
	}
}
