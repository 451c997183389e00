package llm

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

var updateModels = flag.Bool("update-models", false, "rewrite testdata/models.golden")

// familyCase is a config and the parameters that transformers 5.23 makes of it on the meta device. Router biases are
// buffers there, and weights here.
type familyCase struct {
	Config     json.RawMessage `json:"config"`
	Parameters int64           `json:"parameters"`
	Vision     int64           `json:"vision"`
	Buffers    int64           `json:"buffers"`
}

func familyCases(t testing.TB) map[string]familyCase {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "families.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases map[string]familyCase
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	return cases
}

func TestFamiliesAgreeWithTransformers(t *testing.T) {
	cases, seen := familyCases(t), map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(cases)) {
		t.Run(name, func(t *testing.T) {
			c := cases[name]
			m, err := readConfig(name, c.Config, nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			seen[m.Type] = true
			p := m.Parameters()
			const scalars = 200 // gates of layers and others that transformers keeps as buffers of one element
			if p.Total < c.Parameters || p.Total > c.Parameters+c.Buffers+scalars {
				t.Errorf("%s: %d parameters, want %d and up to %d of buffers", name, p.Total, c.Parameters, c.Buffers)
			}
			if p.Vision != c.Vision {
				t.Errorf("%s: %d parameters of vision, want %d", name, p.Vision, c.Vision)
			}
			if p.Active > p.Total || p.Active < 1 {
				t.Errorf("%s: %d active parameters of %d", name, p.Active, p.Total)
			}
			if m.KVBytesPerToken(1, KVBF16) == 0 && m.StateBytesPerRequest(1) == 0 {
				t.Errorf("%s: keeps nothing of the past", name)
			}
		})
	}
	if len(seen) < 80 {
		t.Errorf("%d model types are checked", len(seen))
	}
}

// Every model of the catalog, with what it makes: a change of a formula shows here.
func TestCatalogModels(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	fmt.Fprintln(&got, "# id total active mtp vision disk_bytes kv_bytes_per_token state_bytes context")
	for _, id := range slices.Sorted(maps.Keys(c.Models)) {
		m, err := Open(id, c)
		if err != nil {
			t.Errorf("%s: %v", id, err)
			continue
		}
		p := m.Parameters()
		fmt.Fprintln(&got, id, p.Total, p.Active, p.MTP, p.Vision, m.DiskBytes, m.KVBytesPerToken(1, KVBF16), m.StateBytesPerRequest(1), m.Context)
	}
	path := filepath.Join("testdata", "models.golden")
	if *updateModels {
		if err := os.WriteFile(path, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got\n%s", got.String())
	}
}

// The totals that the models' pages show, digit by digit.
func TestPublishedTotals(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int64{ // with the vision tower
		"google/gemma-3-27b-it": 27432406640, "gemma-3-12b-it": 12187325040, "Gemma-3-4B-IT": 4300079472,
		"google/gemma-2-27b-it": 27227128320, "meta-llama/Llama-3.2-1B": 1235814400, "Llama-3.3-70B-Instruct": 70553706496,
		"mistralai/Mistral-Small-3.1-24B-Instruct-2503": 24011361280, "Mistral-Large-Instruct-2407": 122610069504,
		"DeepSeek-R1-Distill-Qwen-32B": 32763876352, "deepseek-ai/DeepSeek-V2-Lite-Chat": 15706484224,
		"mixtral-8x7b": 46702792704, "ByteDance-Seed/Seed-OSS-36B-Base": 36151104512,
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Open(name, c)
			if err != nil {
				t.Error(err)
				return
			}
			if p := m.Parameters(); p.Total+p.Vision != want {
				t.Errorf("%s: %d, want %d", name, p.Total+p.Vision, want)
			}
		})
	}
}

// Every model of the document's table 2 and 4 is found by the name that it has there.
func TestModelsOfTheDocument(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, context := range map[string]int64{
		"gpt-oss-120b": 131072, "Llama-3.1-405B-Instruct": 131072, "DeepSeek-R1": 163840, "Mixtral-8x22B-Instruct-v0.1": 65536,
		"Qwen3-235B-A22B-Thinking-2507": 262144, "Kimi-K2-Instruct": 131072, "Llama-4-Maverick-17B-128E-Instruct": 1048576,
		"Llama-4-Scout-17B-16E-Instruct": 10485760, "DeepSeek-R1-0528": 163840,
	} {
		t.Run(name, func(t *testing.T) {
			m, err := Open(name, c)
			if err != nil {
				t.Error(err)
			} else if m.Context != context {
				t.Errorf("%s: context %d, want %d", name, m.Context, context)
			}
		})
	}
	if _, err := Open("no-such-model", c); err == nil || !strings.Contains(err.Error(), "railwright catalog models lists all") {
		t.Errorf("no-such-model: %v", err)
	}
	if len(c.Models) < 40 {
		t.Errorf("%d models", len(c.Models))
	}
}
