package facts

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// TestMI300XAgreesWithLspci holds our reader against pciutils: every link, every ACS register and the tree, of the tree in
// /sys and of a dump, with a few links downgraded and ACS on at some ports.
func TestMI300XAgreesWithLspci(t *testing.T) {
	s := mi300xServer(firstBuses())
	s.train("0000:1d:00.0", 8<<4|5)
	s.train("0000:42:00.0", 16<<4|3)
	s.setACS("0000:19:00.0", 0x1d)
	s.setACS("0000:9a:00.0", 0x01)
	folder, tree := s.write(t)
	var f fabric.Facts
	AllPCI(t.Context(), tree, &f)
	for _, m := range f.Missing {
		if m.Reason != errNotExpress.Error() {
			t.Errorf("missing: %+v", m)
		}
	}
	if len(f.PCI) != len(s) || len(f.GPUs) != 8 {
		t.Fatalf("%d functions and %d GPUs of %d and 8", len(f.PCI), len(f.GPUs), len(s))
	}
	lspci, err := exec.LookPath("lspci")
	if err != nil {
		t.Skip("lspci (pciutils) is not installed: nothing to compare with")
	}
	dump := filepath.Join(t.TempDir(), "dump.txt")
	if err := os.WriteFile(dump, []byte(s.dump()), 0o644); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string][]string{"sysfs": {"-O", "sysfs.path=" + folder + "/sys/bus/pci"}, "dump": {"-F", dump}} {
		t.Run(name, func(t *testing.T) {
			text, err := exec.Command(lspci, append(from, "-vvvnn", "-D")...).Output()
			if err != nil {
				t.Fatal(err)
			}
			said := parseLspci(string(text))
			links, acs := 0, 0
			for _, d := range f.PCI {
				w, g := said[d.Address], asLspci(d)
				if w == nil {
					t.Fatalf("lspci does not show %s", d.Address)
				}
				g.numa, w.numa, w.ats = "", "", "" // a dump has no NUMA node
				if diff := cmp.Diff(*w, *g, cmp.AllowUnexported(lspciFunction{})); diff != "" {
					t.Errorf("%s (-lspci +got):\n%s", d.Address, diff)
				}
				links += map[bool]int{true: 1}[g.link != ""]
				acs += map[bool]int{true: 1}[g.acs != ""]
			}
			if len(said) != len(s) || links < 8*9 || acs < 8*7 {
				t.Errorf("%d functions, %d links and %d ACS capabilities compared", len(said), links, acs)
			}
			sameTree(t, string(text), &f)
		})
	}
}

// sameTree reads what lspci printed with our own reader of lspci: parents, links and ACS are those of the tree.
func sameTree(t *testing.T, text string, f *fabric.Facts) {
	t.Helper()
	said, err := PCIFromText("mi300x", text)
	if err != nil || len(said.PCI) != len(f.PCI) {
		t.Fatal(err, len(said.PCI))
	}
	for i := range f.PCI {
		want, got := f.PCI[i], said.PCI[i]
		if want.Address != got.Address || want.Parent != got.Parent || want.Vendor != got.Vendor || want.Class != got.Class {
			t.Errorf("tree %+v, lspci %+v", want, got)
		}
		if diff := cmp.Diff(want.Link, got.Link); diff != "" {
			t.Errorf("%s (-sysfs +lspci):\n%s", want.Address, diff)
		}
		if diff := cmp.Diff(want.ACS, got.ACS); diff != "" {
			t.Errorf("%s (-sysfs +lspci):\n%s", want.Address, diff)
		}
	}
}

// TestMI300XPairs finds the pairs of the guide's two servers, whose NICs are on the bus behind their GPU's.
func TestMI300XPairs(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		buses []int
		want  string
	}{
		"2.8.2":               {firstBuses(), "1c-1d 42-43 55-56 68-69 9e-9f c2-c3 d4-d5 e6-e7"},
		"5.1 no. 9 and 8.7.2": {secondBuses(), "1b-1c 3d-3e 4e-4f 5f-60 9d-9e bd-be cd-ce dd-de"},
	} {
		t.Run(name, func(t *testing.T) {
			_, tree := mi300xServer(c.buses).write(t)
			f := Collect(t.Context(), tree, time.Time{})
			p := topology.FromFacts(f, cat).Pairing()
			var pairs []string
			for _, pair := range p.Pairs {
				if pair.NIC == nil || !pair.Near || pair.Limit != nil {
					t.Fatalf("%+v", pair)
				}
				pairs = append(pairs, pair.GPU.Bus[5:7]+"-"+pair.NIC.Bus[5:7])
			}
			if got := strings.Join(pairs, " "); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
			AllPCI(t.Context(), tree, f)
			r := topology.Report(f, true)
			if err := r.Compare(f, cat, "xe9680-mi300x-thor2"); err != nil {
				t.Fatal(err)
			}
			if r.Layout.Status != fabric.Pass || r.Layout.Found != "8 PCIe switches with 1 GPU and 1 NIC" {
				t.Errorf("%+v", r.Layout)
			}
		})
	}
	for _, nic := range []struct{ name, bus string }{{"enp28s0np0", "1c"}, {"enp62s0np0", "3e"}, {"enp79s0np0", "4f"}, {"enp96s0np0", "60"}, {"enp158s0np0", "9e"}, {"enp190s0np0", "be"}, {"enp206s0np0", "ce"}, {"enp222s0np0", "de"}} {
		if bus, ok := topology.BusOfInterface(nic.name); !ok || bus != "0000:"+nic.bus+":00.0" {
			t.Errorf("%s is %s", nic.name, bus)
		}
	}
	if bus, err := topology.ParseBus("43:0.0"); err != nil || bus != "0000:43:00.0" {
		t.Error(bus, err)
	}
}
