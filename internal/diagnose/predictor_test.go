package diagnose

import (
	"os"
	"path/filepath"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// predictor is the real model on the real catalog.
func predictor(t testing.TB) Predictor {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	return func(hw fabric.Hardware, job Job, sizes []int64) (*fabric.Prediction, error) {
		c, err := collective.New(cat, hw)
		if err != nil {
			return nil, err
		}
		return c.Predict(collective.Job{Collective: job.Collective, Env: job.Env, Processes: job.Processes, DType: job.DType, Tuning: job.Tuning, Version: job.Version}, sizes)
	}
}

func read(t testing.TB, path string) []fabric.Result {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	found, err := results.Read(filepath.Base(path), f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range found {
		found[i].File = filepath.Base(path)
	}
	return found
}

func ids(causes []fabric.Cause) []fabric.CauseID {
	var out []fabric.CauseID
	for _, c := range causes {
		out = append(out, c.ID)
	}
	return out
}

// The content of a result; nil where it is of another kind.
func tableOf(r fabric.Result) *fabric.Table       { c, _ := r.Content.(*fabric.Table); return c }
func perftestOf(r fabric.Result) *fabric.Perftest { c, _ := r.Content.(*fabric.Perftest); return c }
