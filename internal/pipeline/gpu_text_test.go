package pipeline

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/files"
	"railwright.dev/railwright/internal/intake"
)

func knowledge(t *testing.T) diagnose.Input {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	in, err := Knowledge(cat)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// explained returns what explain says of a file, worst first, and the rules that fail in it.
func explained(t *testing.T, in diagnose.Input, path string) (x *fabric.Explanation, rules []string) {
	t.Helper()
	read, err := intake.Read(t.Context(), files.Disk{}, []string{path}, bytes.NewReader(nil), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	failures, err := failuresIn(context.Background(), at, read.Facts)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range failures {
		if !remarkOfESX(f) {
			rules = append(rules, f.ID)
		}
	}
	if x, err = Explain(t.Context(), read, in, at); err != nil {
		t.Fatal(err)
	}
	return x, rules
}

// blames reports whether something is wrong by the explanation, and one of its two likeliest causes is one of these.
func blames(x *fabric.Explanation, causes ...fabric.CauseID) (wrong, named bool) {
	for _, r := range x.Results {
		if r.Verdict != fabric.VerdictFailed && r.Verdict != fabric.VerdictDegraded {
			continue
		}
		wrong = true
		for _, c := range r.Causes[:min(len(r.Causes), 2)] {
			named = named || slices.Contains(causes, c.ID)
		}
	}
	return wrong, named
}

// TestOutputsAboutGPUs pastes what tools print of GPUs: what is wrong is named, what is fine is not blamed.
func TestOutputsAboutGPUs(t *testing.T) {
	in := knowledge(t)
	for file, want := range map[string]struct {
		rules []string
		cause fabric.CauseID
	}{
		"nvidia-smi-q-health":   {[]string{"gpu-answers", "fabric-state"}, fabric.CauseFabricManager}, // what depends on gpu-answers is silent behind it
		"nvidia-smi-q-volta":    {[]string{"gpu-memory", "gpu-throttle"}, fabric.CauseDeviceFault},
		"nvidia-smi-part":       {[]string{"fabric-state"}, fabric.CauseFabricManager},
		"nvidia-smi-health.csv": {[]string{"gpu-answers", "gpu-memory", "gpu-throttle", "fabric-state"}, fabric.CauseDeviceFault},
		"nvidia-smi-err":        {[]string{"gpu-answers", "gpu-memory"}, fabric.CauseDeviceFault},
		"nvidia-smi-lost":       {[]string{"gpu-answers"}, fabric.CauseDeviceFault},
		"nvidia-smi-table":      {},
		"nvlink-s":              {[]string{"nvlink-up", "nvlink-rate"}, fabric.CauseNVLinkDegraded},
		"nvlink-e":              {[]string{"nvlink-errors"}, fabric.CauseNVLinkDegraded},
		"nvlink-e-b200":         {[]string{"nvlink-errors"}, fabric.CauseNVLinkDegraded},
		"nvlink-none":           {},
		"fabricmanager-status":  {},
		"fabricmanager-version": {},
		"fabricmanager-refused": {[]string{"fabric-manager"}, fabric.CauseFabricManager},
		"fabricmanager-masked":  {[]string{"fabric-manager"}, fabric.CauseFabricManager},
		"fabricmanager-show":    {},
		"nvrm-version":          {},
		"amd-smi":               {[]string{"gpu-memory"}, fabric.CauseDeviceFault},
		"gpud":                  {[]string{"fabric-state"}, fabric.CauseFabricManager},
	} {
		t.Run(file, func(t *testing.T) {
			x, rules := explained(t, in, filepath.Join("../facts/testdata/tools", file+".txt"))
			for _, rule := range want.rules {
				if !slices.Contains(rules, rule) {
					t.Errorf("%s does not fail; those that do: %v", rule, rules)
				}
			}
			for _, rule := range rules {
				if !slices.Contains(want.rules, rule) {
					t.Errorf("%s fails, and nothing is wrong", rule)
				}
			}
			if wrong, named := blames(x, want.cause); wrong != (want.cause != "") || wrong && !named {
				t.Errorf("wrong: %v, want cause %q: %+v", wrong, want.cause, x.Results)
			}
		})
	}
}

// TestHalfOutputsAboutGPUs ends healthy outputs anywhere: nothing fails by what is not there.
func TestHalfOutputsAboutGPUs(t *testing.T) {
	in := knowledge(t)
	whole := map[string][]byte{}
	for _, name := range []string{"nvlink-s", "nvidia-smi-q-health", "fabricmanager-status", "nvidia-smi-table"} {
		text, err := os.ReadFile(filepath.Join("../facts/testdata/tools", name+".txt"))
		if err != nil {
			t.Fatal(err)
		}
		if name == "nvlink-s" || name == "nvidia-smi-q-health" { // up to the second GPU all is well
			text = text[:bytes.Index(text[20:], []byte("GPU "+map[string]string{"nvlink-s": "1", "nvidia-smi-q-health": "00000000:42"}[name]))+20]
		}
		whole[name] = text
	}
	path := filepath.Join(t.TempDir(), "half.txt")
	for name, text := range whole {
		for cut := 0; cut < len(text); cut += max(1, len(text)/12) {
			if err := os.WriteFile(path, text[:cut], 0o644); err != nil {
				t.Fatal(err)
			}
			if _, rules := explained(t, in, path); len(rules) > 0 {
				t.Errorf("%s cut at %d of %d: %v fails", name, cut, len(text), rules)
			}
		}
	}
}

const captures = "../../../shared/data/captures"

// TestCapturesOfGPUs walks the captures of GPUs and Fabric Manager that lie beside the repository: what is wrong is named by
// a cause of which its index speaks, what is fine is not blamed.
func TestCapturesOfGPUs(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(captures, "index.json"))
	if err != nil {
		t.Skip("no captures beside the repository: ", err)
	}
	var index map[string]struct{ Tool, Kind, Verdict string }
	if err := json.Unmarshal(raw, &index); err != nil {
		t.Fatal(err)
	}
	causes := map[int][]fabric.CauseID{87: {fabric.CauseFabricManager}, 94: {fabric.CauseFabricManager, fabric.CauseGPUDriver}}
	in := knowledge(t)
	seen := 0
	for n := 80; n <= 97; n++ {
		c, ok := index[fmt.Sprint(n)]
		if !ok {
			c, ok = index[fmt.Sprintf("%d.txt", n)]
		}
		if !ok {
			t.Errorf("the index has no %d", n)
			continue
		}
		seen++
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			x, rules := explained(t, in, filepath.Join(captures, fmt.Sprintf("%d.txt", n)))
			want := causes[n]
			if want == nil {
				want = []fabric.CauseID{fabric.CauseFabricManager}
			}
			wrong, named := blames(x, want...)
			switch {
			case n == 89:
				t.Skip("ATS_ENABLED is an option of a NIC (mlxconfig)")
			case c.Verdict == "fine" && (wrong || len(rules) > 0):
				t.Errorf("blamed: %v %+v", rules, x.Results)
			case c.Verdict == "unknown" && wrong && !named:
				t.Errorf("blamed for something else: %+v", x.Results)
			case n == 94: // one line of NCCL that the driver's state and Fabric Manager explain alike
				if len(x.Results) == 0 || len(x.Results[0].Causes) == 0 || !slices.Contains(want, x.Results[0].Causes[0].ID) {
					t.Errorf("not named: %+v", x.Results)
				}
			case c.Verdict == "wrong" && !named:
				t.Errorf("not named: %v %+v", rules, x.Results)
			}
		})
	}
	if seen < 18 {
		t.Errorf("%d captures, want 18", seen)
	}
}
