package facts

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// capturedTree lays down the captured sysfs of a machine of 64 PCI functions: two sockets with PCI Express
// switches, network controllers with virtual functions, NVMe. Control registers of ACS were cleared before.
func capturedTree(tb testing.TB) (folder string, tree *host.Tree) {
	tb.Helper()
	archive, err := os.Open(capturedFile("sysfs.tar.gz"))
	if errors.Is(err, fs.ErrNotExist) {
		tb.Skip("the captured tree of 64 functions is not beside this checkout")
	}
	if err != nil {
		tb.Fatal(err)
	}
	defer archive.Close()
	folder = tb.TempDir()
	if err := untar(archive, folder); err != nil {
		tb.Fatal(err)
	}
	tree, err = host.OpenTree("captured", folder)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = tree.Close() })
	return folder, tree
}

func capturedFile(name string) string {
	return filepath.Join("..", "..", "..", "shared", "data", "fixtures", "qemu-pcie", name)
}

// untar unpacks the links, and of the files those that the reader and lspci open, without the first element
// of each path.
func untar(r io.Reader, folder string) error {
	z, err := gzip.NewReader(r)
	if err != nil {
		return err
	}
	for t := tar.NewReader(z); ; {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		_, name, _ := strings.Cut(h.Name, "/")
		name = filepath.Join(folder, name)
		wanted := h.Typeflag == tar.TypeSymlink || h.Typeflag == tar.TypeReg && slices.Contains([]string{
			"class", "config", "device", "irq", "numa_node", "resource", "type", "vendor",
			"current_link_speed", "current_link_width", "max_link_speed", "max_link_width",
		}, filepath.Base(name))
		if !wanted {
			continue
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		switch h.Typeflag {
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, name)
		case tar.TypeReg:
			var b []byte
			if b, err = io.ReadAll(t); err == nil {
				err = os.WriteFile(name, b, 0o644)
			}
		}
		if err != nil {
			return err
		}
	}
}

// lspciFunction is what lspci -vvv prints of a function, as far as it is compared.
type lspciFunction struct {
	numa, group  string
	link         string // "2.5 x1 of 32 x16"
	acs, control string
	ats          string
}

var (
	reFunction = regexp.MustCompile(`^([0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) `)
	reLink     = regexp.MustCompile(`Speed (\S+?)(?:GT/s)?(?: \(\w+\))?, Width x(\d+)`)
)

func parseLspci(text string) map[string]*lspciFunction {
	out := make(map[string]*lspciFunction)
	var fn *lspciFunction
	for line := range strings.Lines(text) {
		if m := reFunction.FindStringSubmatch(line); m != nil {
			fn = &lspciFunction{}
			out[m[1]] = fn
			continue
		}
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value = strings.TrimSpace(value)
		switch key {
		case "NUMA node":
			fn.numa = value
		case "IOMMU group":
			fn.group = value
		case "LnkCap":
			m := reLink.FindStringSubmatch(value)
			fn.link = fmt.Sprintf(" of %s x%s", strings.Replace(m[1], "unknown", "0", 1), m[2])
		case "LnkSta":
			m := reLink.FindStringSubmatch(value)
			fn.link = fmt.Sprintf("%s x%s", strings.Replace(m[1], "unknown", "0", 1), m[2]) + fn.link
		case "ACSCap":
			fn.acs = value
		case "ACSCtl":
			fn.control = value
		case "ATSCtl":
			fn.ats = value
		}
	}
	return out
}

// asLspci writes a function as lspci would.
func asLspci(d fabric.PCIDevice) *lspciFunction {
	fn := &lspciFunction{}
	if d.NUMANode != nil && *d.NUMANode >= 0 {
		fn.numa = strconv.Itoa(*d.NUMANode)
	}
	if d.IOMMUGroup != nil {
		fn.group = strconv.Itoa(*d.IOMMUGroup)
	}
	if l := d.Link; l != nil {
		fn.link = fmt.Sprintf("%g x%d of %g x%d", l.Speed, l.Width, l.MaxSpeed, l.MaxWidth)
	}
	if d.ACS != nil && d.ACS.Present {
		fn.acs, fn.control = acsText(d.ACS.Capability), acsText(d.ACS.Control)
	}
	return fn
}

func acsText(bits uint16) string {
	var words []string
	for i, name := range []string{"SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans"} {
		sign := "-"
		if bits>>i&1 != 0 {
			sign = "+"
		}
		words = append(words, name+sign)
	}
	return strings.Join(words, " ")
}

// TestPCIAgreesWithLspci compares every function of the captured tree with what lspci printed on that machine
// and, where it is installed, with what it prints of the tree.
func TestPCIAgreesWithLspci(t *testing.T) {
	folder, tree := capturedTree(t)
	inGuest, err := os.ReadFile(capturedFile("lspci-vvvnn-D.txt"))
	if err != nil {
		t.Fatal(err)
	}
	got := allFunctions(t, tree)
	compareWithLspci(t, got, parseLspci(string(inGuest)), false)

	lspci, err := exec.LookPath("lspci")
	if err != nil {
		t.Log("lspci is not installed: ACS control registers were not compared")
		return
	}
	text, err := exec.Command(lspci, "-O", "sysfs.path="+folder+"/sys/bus/pci", "-vvvnn", "-D").Output()
	if err != nil {
		t.Fatal(err)
	}
	compareWithLspci(t, got, parseLspci(string(text)), true)
}

func allFunctions(t *testing.T, tree *host.Tree) []fabric.PCIDevice {
	t.Helper()
	var f fabric.Facts
	functions, err := listPCI(t.Context(), tree, &f)
	if err != nil || len(f.Missing) > 0 {
		t.Fatal(err, f.Missing)
	}
	var missing pciMissing
	var devices []fabric.PCIDevice
	for _, fn := range functions {
		devices = append(devices, readPCIDevice(tree, fn, &missing))
	}
	for _, m := range missing.entries {
		if m.Reason != errNotExpress.Error() {
			t.Errorf("missing: %+v", m)
		}
	}
	return devices
}

func compareWithLspci(t *testing.T, got []fabric.PCIDevice, want map[string]*lspciFunction, control bool) {
	t.Helper()
	if len(got) != len(want) || len(got) != 64 {
		t.Errorf("%d functions, lspci has %d", len(got), len(want))
	}
	links, acs := 0, 0
	for _, d := range got {
		w, g := *want[d.Address], *asLspci(d)
		if !control {
			w.control, g.control = "", ""
		}
		w.ats = "" // no function of this machine has ATS: compared below
		if diff := cmp.Diff(w, g, cmp.AllowUnexported(lspciFunction{})); diff != "" {
			t.Errorf("%s (-lspci +got):\n%s", d.Address, diff)
		}
		if hasATS := want[d.Address].ats != ""; d.ATS == nil || d.ATS.Present != hasATS {
			t.Errorf("%s: ATS %+v, lspci says %q", d.Address, d.ATS, want[d.Address].ats)
		}
		if g.link != "" {
			links++
		}
		if g.acs != "" {
			acs++
		}
	}
	if links == 0 || acs == 0 {
		t.Errorf("%d links and %d ACS capabilities compared", links, acs)
	}
}

// rootedHost reads the captured tree as a live machine reads its own: by the file system, without the care
// that a Tree takes of links that lead out of it.
type rootedHost struct {
	host.Local
	root string
}

func (h rootedHost) ReadFile(name string) ([]byte, error) { return h.Local.ReadFile(h.root + name) }
func (h rootedHost) ReadDir(name string) ([]string, error) {
	return h.Local.ReadDir(h.root + name)
}
func (h rootedHost) ReadLink(name string) (string, error) { return h.Local.ReadLink(h.root + name) }

func BenchmarkReadPCI(b *testing.B) {
	folder, tree := capturedTree(b)
	for _, bench := range []struct {
		name string
		host host.Host
	}{{"files", rootedHost{root: folder}}, {"tree", tree}} {
		b.Run(bench.name, func(b *testing.B) {
			for b.Loop() {
				var f fabric.Facts
				readPCI(context.Background(), bench.host, &f)
				if len(f.PCI) == 0 {
					b.Fatal(f.Missing)
				}
			}
		})
	}
}
