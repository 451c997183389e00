package ncclxml

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/topology"
)

func TestMachineDump(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "..", "..", "shared", "data", "h200x2", "topo.xml"))
	if err != nil {
		t.Skip("NCCL's dump of two H200 is not here: ", err)
	}
	d, err := Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	m := d.Machine()
	x := m.Matrix()
	if got := fmt.Sprint(x.Hops); got != "[[X NV18 PHB] [NV18 X PHB] [PHB PHB X]]" {
		t.Errorf("distances are\n%s", got)
	}
	c, g, n := m.CPUs[0], m.GPUs[1], m.NICs[0]
	if c.NUMA != -1 || c.Family != 6 || c.Model != 207 || g.SM != 90 || g.Bus != "0000:00:07.0" || g.GDR == nil || !*g.GDR ||
		n.Name != "eth0" || n.Mbps != 10_000 || n.Bus != "" || n.GDR == nil || *n.GDR {
		t.Errorf("read %+v\n%+v\n%+v", c, g, n)
	}
	if d := c.Devices[0]; d.Speed != 32 || d.Width != 0 || LinkRate(d.Speed, d.Width) != 48 {
		t.Errorf("the GPU's link is x%d at %g", d.Width, d.Speed)
	}
	if len(x.Gaps) != 0 || len(m.Gaps) != 0 {
		t.Errorf("gaps %q, %q", x.Gaps, m.Gaps)
	}
}

// TestMachineBack writes machines for NCCL and reads them back: nothing that NCCL knows is lost.
func TestMachineBack(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"hgx-h100", "hgx-a100", "xe9680-mi300x-thor2", "gb200-nvl72-tray"} {
		t.Run(id, func(t *testing.T) {
			m, err := topology.Nominal(cat, id)
			if err != nil {
				t.Fatal(err)
			}
			write := ForNCCL
			if m.GPUs[0].GCN != "" {
				write = ForRCCL
			}
			d, err := write(m)
			if err != nil {
				t.Errorf("%s: %v", id, err)
				return
			}
			var b bytes.Buffer
			if _, err := d.WriteTo(&b); err != nil {
				t.Fatal(err)
			}
			if d, err = Parse(b.Bytes()); err != nil {
				t.Fatal(err)
			}
			back := d.Machine()
			// what the file cannot tell
			want := strings.NewReplacer("NODE", "PHB").Replace(fmt.Sprint(m.Matrix().Hops))
			if diff := cmp.Diff(want, fmt.Sprint(back.Matrix().Hops)); diff != "" {
				t.Errorf("%s: distances differ (-want +got):\n%s", id, diff)
			}
			for i, g := range back.GPUs {
				w := m.GPUs[i]
				w.Model, w.Name, w.Coherent = "", "", false
				if diff := cmp.Diff(withoutXGMI(w), withoutXGMI(g)); diff != "" {
					t.Errorf("%s: GPU%d differs:\n%s", id, i, diff)
				}
			}
			for i, n := range back.NICs {
				w := m.NICs[i]
				w.Model = ""
				if diff := cmp.Diff(w, n); diff != "" {
					t.Errorf("%s: NIC%d differs:\n%s", id, i, diff)
				}
			}
			if got, want := pairsOf(back), strings.ReplaceAll(pairsOf(m), "NODE", "PHB"); got != want {
				t.Errorf("%s: pairs are %s, want %s", id, got, want)
			}
		})
	}
}

// pairsOf writes the pairs of a machine as GPU0 NIC0 PIX.
func pairsOf(m *topology.Machine) string {
	var lines []string
	for _, p := range m.Pairing().Pairs {
		lines = append(lines, fmt.Sprintln(p.GPU.Label, p.NIC.Label, p.Hop))
	}
	return strings.Join(lines, "")
}

func withoutXGMI(g topology.GPU) topology.GPU {
	g.Links = slices.Clone(g.Links)
	return g
}

func TestMachineMisread(t *testing.T) {
	pci := func(attributes string) string {
		return `<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"><pci busid="0000:01:00.0" class="0x030200" ` +
			attributes + `><gpu dev="0" sm="90" rank="0"><nvlink target="0000:02:00.0"/></gpu></pci><pci busid="wrong" class="0x020000" link_speed="32.0 GT/s PCIe" link_width="x8"><nic><net name="mlx5_0" dev="0"/></nic></pci></cpu></system>`
	}
	for text, want := range map[string]float64{
		`link_speed="32.0 GT/s PCIe" link_width="16"`: 48,
		`link_speed="32 GT/s" link_width="16"`:        48,
		`link_speed="32.0 GT/s" link_width="16"`:      12,
		`link_speed="Gen5" link_width="16"`:           12,
		`link_speed="" link_width="16"`:               12,
		`link_speed="64.0 GT/s PCIe" link_width="16"`: 96,
		`link_speed="64 GT/s" link_width="16"`:        12,
		`link_speed="16.0 GT/s PCIe" link_width="0"`:  24,
		`link_speed="16.0 GT/s PCIe" link_width=""`:   24,
		`link_speed="16.0 GT/s PCIe" link_width="x8"`: 24,
		`link_speed="16.0 GT/s PCIe" link_width="8"`:  12,
	} {
		t.Run(text, func(t *testing.T) {
			d, err := Parse([]byte(pci(text)))
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			m := d.Machine()
			dev := m.CPUs[0].Devices[0]
			if got := LinkRate(dev.Speed, dev.Width); got != want {
				t.Errorf("%s: NCCL takes %g GB/s, want %g", text, got, want)
			}
			gaps := strings.Join(m.Gaps, "\n")
			for _, say := range []string{"has no count", "has no tclass", `"wrong"`, "has no speed: NCCL assumes 10 Gb/s"} {
				if !strings.Contains(gaps, say) {
					t.Errorf("gaps do not say %q:\n%s", say, gaps)
				}
			}
			if strings.Contains(gaps, "assumes 8 GT/s") != (want == 12 && !strings.Contains(text, "PCIe")) {
				t.Errorf("%s: gaps are\n%s", text, gaps)
			}
		})
	}
}

// TestMachineDeep holds a chain of devices that a hostile file may have.
func TestMachineDeep(t *testing.T) {
	root := &Element{Name: "system"}
	at := root.Add("cpu", Attribute{"numaid", "0"})
	for range 100_000 {
		at = at.Add("pci", Attribute{"busid", "0000:01:00.0"})
	}
	d := &Document{Roots: []*Element{root, {Name: "graphs"}}}
	m := d.Machine()
	if gaps := strings.Join(m.Gaps, "\n"); !strings.Contains(gaps, "more than 64 levels") || !strings.Contains(gaps, "<graphs> is not <system>") {
		t.Errorf("gaps are %q", gaps)
	}
	if x := m.Matrix(); len(x.Devices) != 0 {
		t.Errorf("%d devices", len(x.Devices))
	}
}
