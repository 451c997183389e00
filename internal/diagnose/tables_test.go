package diagnose

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestPublicTables judges the measured tables beside the repository by what their collectors say of them.
func TestPublicTables(t *testing.T) {
	files, _ := filepath.Glob("../../../shared/data/collectives/P*.json")
	if len(files) == 0 {
		t.Skip("no measured tables in ../shared/data/collectives")
	}
	predict := predictor(t)
	want := map[string]fabric.Verdict{"healthy": fabric.VerdictHealthy, "noisy": fabric.VerdictHealthy, "suspect": fabric.VerdictDegraded, "sick": fabric.VerdictDegraded}
	for _, f := range files {
		t.Run(filepath.Base(f), func(t *testing.T) {
			found := read(t, f)
			out := explain(found, Input{Predict: predict})
			r := out.Results[0]
			if r.Verdict != want[tableOf(found[0]).Health] {
				t.Errorf("%s: %s, want %s: %s %v", tableOf(found[0]).Health, r.Verdict, want[tableOf(found[0]).Health], r.Why, ids(r.Causes))
			}
			if tableOf(found[0]).Health == "noisy" && !slices.Contains(ids(r.Causes), fabric.CauseFirstUse) {
				t.Errorf("a noisy table without first-use: %v", ids(r.Causes))
			}
			if os.Getenv("EXPLAIN_SHOW") != "" {
				t.Logf("%s: %s %v notes %v", r.Verdict, r.Why, ids(r.Causes), r.Notes)
			}
		})
	}
}
