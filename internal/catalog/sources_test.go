package catalog

import (
	"math"
	"path"
	"regexp"
	"strings"
	"testing"
)

// sources lists every source of the catalog with where it stands.
func sources(c *Catalog) map[string]string {
	all := map[string]string{}
	for _, p := range c.Parts("") {
		all[path.Join(p.Kind, p.Name)] = p.Source
		for _, f := range p.Figures {
			all[path.Join(p.Kind, p.Name, f.Name)] = f.Source
		}
	}
	return all
}

// A source can be followed: it names a document, a file or a table that others can open.
func TestSourcesCanBeFollowed(t *testing.T) {
	for where, source := range sources(embedded(t)) {
		for _, vague := range []string{"this project", "public list", "at hand", "cost calculator", "we know"} {
			if strings.Contains(source, vague) && !strings.Contains(source, "as public lists of GPUs quote it") {
				t.Errorf("%s: %q cannot be followed", where, source)
			}
		}
	}
}

// What a GPU holds, moves and computes is the number that its source prints.
func TestSourcesPrintTheFigures(t *testing.T) {
	for id, m := range embedded(t).GPUs {
		for what, f := range map[string]Figure{
			"memory": m.Memory, "memory_visible": m.MemoryVisible, "memory_bandwidth": m.MemoryBandwidth, "scale_up": m.ScaleUp,
			"bf16": m.Compute.BF16, "fp8": m.Compute.FP8, "fp4": m.Compute.FP4,
		} {
			if f == (Figure{}) {
				continue
			}
			t.Run(id+" "+what, func(t *testing.T) {
				if !prints(f) {
					t.Errorf("%v %s: not in %q", f.Value, f.Unit, f.Source)
				}
			})
		}
	}
}

// prints reports whether a source has the number of its figure: as it is, with thousands separated, in the next larger
// unit, in bytes, or as what the source says that it is a part of.
func prints(f Figure) bool {
	text := strings.ReplaceAll(f.Source, ",", "")
	forms := []float64{f.Value, f.Value / 1000, f.Value * (1 << 30)}
	for part, whole := range map[string]float64{"both directions": 2, "has half": 2, "eight GPUs": 8} {
		if strings.Contains(text, part) {
			forms = append(forms, f.Value*whole, f.Value*whole/1000)
		}
	}
	for _, form := range forms {
		pattern := `(^|[^0-9.])` + regexp.QuoteMeta(number(form)) + `0?([^0-9]|$)`
		if regexp.MustCompile(pattern).MatchString(text) {
			return true
		}
	}
	return false
}

// Figures that were wrong, or of another edition of the part.
func TestFiguresOfTheirOwnEdition(t *testing.T) {
	c := embedded(t)
	for _, f := range []struct {
		name      string
		got, want float64
	}{
		{"MI300X bf16", c.GPUs["mi300x"].Compute.BF16.Value, 1307.4},
		{"MI300X fp8", c.GPUs["mi300x"].Compute.FP8.Value, 2614.9},
		{"RTX PRO 6000, the Server Edition", c.GPUs["rtx-pro-6000-server"].MemoryBandwidth.Value, 1597},
		{"H100 NVL", c.GPUs["h100-nvl"].Memory.Value, 94},
		{"A100 PCIe 40", c.GPUs["a100-pcie-40"].Memory.Value, 40},
		{"V100 16", c.GPUs["v100-sxm2-16"].Memory.Value, 16},
		{"GH200 144", c.GPUs["gh200-144"].Memory.Value, 144},
		{"the uplink of p5, GT/s", c.Machines["p5-48xlarge"].SwitchUplink.Speed, 16},
		{"a twin of a Spark beside the other", c.NICs["connectx7-spark"].Rate(), 100},
		{"a twin of a Spark alone, its PCIe x4", math.Round(c.NICs["connectx7-spark"].RateOf(1)), 126},
		{"PCIe 3.0 x16", math.Round(PCIeLink{Speed: 8, Width: 16}.Rate()), 126},
		{"PCIe 2.0 x8", math.Round(PCIeLink{Speed: 5, Width: 8}.Rate()), 32},
		{"PCIe 6.0 x16", math.Round(PCIeLink{Speed: 64, Width: 16}.Rate()), 968},
		{"no link", PCIeLink{}.Rate(), 0},
	} {
		t.Run(f.name, func(t *testing.T) {
			if f.got != f.want {
				t.Errorf("got %v, want %v", f.got, f.want)
			}
		})
	}
}
