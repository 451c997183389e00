package results

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// samples are the files of testdata that Read is held against, each beside its golden file.
func samples(t testing.TB) []string {
	t.Helper()
	all, err := filepath.Glob("testdata/*.*")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, name := range all {
		if !strings.HasSuffix(name, ".golden.json") {
			found = append(found, name)
		}
	}
	if len(found) < 20 {
		t.Fatalf("testdata has %d samples, want all of them", len(found))
	}
	return found
}

func readFile(t testing.TB, name string) []fabric.Result {
	t.Helper()
	in, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	found, err := Read(filepath.Base(name), in)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func TestGolden(t *testing.T) {
	for _, name := range samples(t) {
		t.Run(filepath.Base(name), func(t *testing.T) {
			got, err := json.MarshalIndent(readFile(t, name), "", " ")
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, '\n')
			golden := strings.TrimSuffix(name, filepath.Ext(name)) + filepath.Ext(name) + ".golden.json"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		})
	}
}

// The content of a result; nil where it is of another kind.
func tableOf(r fabric.Result) *fabric.Table       { c, _ := r.Content.(*fabric.Table); return c }
func perftestOf(r fabric.Result) *fabric.Perftest { c, _ := r.Content.(*fabric.Perftest); return c }
func logOf(r fabric.Result) *fabric.NCCLLog       { c, _ := r.Content.(*fabric.NCCLLog); return c }
func observationsOf(r fabric.Result) *fabric.Observations {
	c, _ := r.Content.(*fabric.Observations)
	return c
}
