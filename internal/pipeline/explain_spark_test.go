package pipeline

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestSparkCaptures explains what owners of DGX Sparks pasted: what is wrong is named, and what is fine is not blamed.
func TestSparkCaptures(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(captures, "index.json"))
	if err != nil {
		t.Skip("no captures beside the repository: ", err)
	}
	var index map[string]struct{ Verdict string }
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	named := map[string][]fabric.CauseID{ // what each has to name, the likeliest first
		"37": {fabric.CauseNICDegradedInit}, "38": nil, "42": {fabric.CauseMTUMismatch}, "43": nil,
		"50": {fabric.CauseNICDegradedInit, fabric.CauseLibraryBuild}, "52": nil, "54": {fabric.CauseMiscabled, fabric.CauseBootstrapInterface, fabric.CauseNCCLSettings},
		"56": {fabric.CauseLibraryBuild}, "57": {fabric.CauseHalfPortTwin}, "58": nil, "59": {fabric.CauseMiscabled}, "60": {fabric.CauseSocketFallback},
		"63": nil, "67": {fabric.CauseBootstrapInterface}, "68": {fabric.CauseLibraryBuild}, "72": nil, "74": nil, "75": nil, "77": {fabric.CauseHalfPortTwin}, "79": {fabric.CauseARPFlux},
	}
	in := knowledge(t)
	for name, causes := range named {
		t.Run(name, func(t *testing.T) {
			x, _ := explained(t, in, filepath.Join(captures, name+".txt"))
			var have []fabric.CauseID
			for _, r := range x.Results {
				for _, c := range r.Causes {
					have = append(have, c.ID)
				}
			}
			bad := slices.ContainsFunc(x.Results, func(r fabric.Explained) bool {
				return r.Verdict == fabric.VerdictDegraded || r.Verdict == fabric.VerdictFailed
			})
			if wrong := index[name].Verdict == "wrong"; bad != wrong {
				t.Errorf("a verdict of a fault is %v, but the text is %s: %+v", bad, index[name].Verdict, x.Results)
			}
			for i, c := range causes {
				if at := slices.Index(have, c); at < 0 || i == 0 && at != 0 {
					t.Errorf("%v do not name %s in its place", have, c)
				}
			}
		})
	}
}
