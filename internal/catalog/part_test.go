package catalog

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Whatever the folder holds: each part is found by each of its names and shows its figures with their sources.
func TestEveryPart(t *testing.T) {
	c := embedded(t)
	for _, kind := range c.Kinds() {
		parts := c.Parts(kind.Name)
		if len(parts) == 0 || len(parts) != kind.Count || kind.Title == "" {
			t.Errorf("%+v: %d parts", kind, len(parts))
		}
		for _, p := range parts {
			t.Run(kind.Name+"/"+p.Name, func(t *testing.T) {
				if p.Title == "" || len(p.Figures) == 0 {
					t.Errorf("%+v", p)
				}
				for _, f := range p.Figures {
					if f.Name == "" || f.Value == "" || f.Source == "" && f.Unit != "" || f.Source == "" && p.Source == "" && p.Kind != switchFolder {
						t.Errorf("figure %+v", f)
					}
				}
				for _, name := range append([]string{p.Name, strings.ToUpper(p.Name)}, p.Aliases...) {
					if got, err := c.Part(kind.Name, name); err != nil || got.Name != p.Name {
						t.Errorf("%s: %s, %v", name, got.Name, err)
					}
				}
			})
		}
		for _, column := range kind.Columns {
			shown := false
			for _, p := range parts {
				shown = shown || p.Figure(column) != fabric.CatalogFigure{}
			}
			if !shown {
				t.Errorf("%s: no part has a %q", kind.Name, column)
			}
		}
	}
}

func TestPart(t *testing.T) {
	c := embedded(t)
	for name, test := range map[string]struct{ kind, name, want string }{
		"unknown":               {"", "hgx-h10", `name "hgx-h10" is not in the catalog; did you mean "hgx-h100"`},
		"unknown of a kind":     {"gpus", "h101", `GPU "h101" is not in the catalog; did you mean "h100"`},
		"of another kind":       {"nics", "h100", `NIC "h100" is not in the catalog; `},
		"of two kinds":          {"", "efa", `name "efa": in several kinds: railwright catalog nics efa, railwright catalog fabrics efa`},
		"a whole file":          {"", strings.Repeat("x", 4096), "xxx... is not"},
		"nothing":               {"models", "", `model "" is not in the catalog`},
		"a model with its path": {"model", "meta-llama/Llama-3.1-405B", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := c.Part(test.kind, test.name)
			if test.want == "" && (err != nil || p.Name == "") {
				t.Errorf("%+v, %v", p, err)
			}
			if test.want != "" && (err == nil || !strings.Contains(strings.ReplaceAll(err.Error(), `..."`, "..."), test.want)) {
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// A card with less memory is an entry of its own: no alias leads to a larger one.
func TestMemoryOfAliases(t *testing.T) {
	c := embedded(t)
	for name, want := range map[string]float64{
		"v100-16gb": 16, "v100-32gb": 32, "v100-pcie-16gb": 16, "v100-pcie-32gb": 32, "a100-40gb": 40, "a100-80gb": 80,
		"a100-pcie-40gb": 40, "a100-pcie-80gb": 80, "gh200-144gb": 144,
	} {
		t.Run(name, func(t *testing.T) {
			if id, m, err := c.GPU(name); err != nil || m.Memory.Value != want {
				t.Errorf("%s with %v, %v", id, m.Memory.Value, err)
			}
		})
	}
}

func TestFabricOf(t *testing.T) {
	c := embedded(t)
	for transport, want := range map[fabric.Transport]string{fabric.InfiniBand: "ib", fabric.RoCE: "roce", "carrier-pigeon": ""} {
		t.Run(string(transport), func(t *testing.T) {
			if got := c.FabricOf(transport); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
