package facts

import (
	"context"
	"io/fs"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func TestReadPCIKeepsPathsToNICs(t *testing.T) {
	_, tree := capturedTree(t)
	var f fabric.Facts
	readPCI(context.Background(), tree, &f)
	if len(f.Missing) > 0 {
		t.Error(f.Missing)
	}
	parents := make(map[string]string)
	classes := make(map[uint32]int)
	for _, d := range f.PCI {
		parents[d.Address] = d.Parent
		classes[d.Class>>8]++
	}
	// 8 network controllers of two ports a switch, 4 virtual functions, 2 behind root ports of their own;
	// above them 6 root ports, 4 upstream ports, 8 downstream ports.
	if diff := cmp.Diff(map[uint32]int{0x0200: 14, 0x0604: 18}, classes); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	var path []string
	for at := "0000:23:10.2"; at != ""; at = parents[at] {
		path = append(path, at)
	}
	if diff := cmp.Diff([]string{"0000:23:10.2", "0000:22:00.0", "0000:21:00.0", "0000:20:00.0"}, path); diff != "" {
		t.Errorf("path (-want +got):\n%s", diff)
	}
}

// pciTree is a small machine: a root port, a switch, and what the test hangs under it.
func pciTree(config space, endpoints map[string][2]string) fakeHost {
	h := fakeHost{files: map[string]string{}, links: map[string]string{}}
	add := func(address, above, class, vendor string, config space) {
		folder := pciDevices + "/" + address
		h.links[folder] = "../../../devices/pci0000:00" + above + "/" + address
		h.files[folder+"/class"] = class + "\n"
		h.files[folder+"/vendor"] = vendor + "\n"
		h.files[folder+"/device"] = "0x2335\n"
		h.files[folder+"/numa_node"] = "1\n"
		h.files[folder+"/config"] = string(config)
	}
	add("0000:00:01.0", "", "0x060400", "0x8086", config)
	add("0000:00:02.0", "", "0x060400", "0x8086", config) // nothing of interest below
	add("0000:03:00.0", "/0000:00:02.0", "0x010802", "0x144d", config)
	for address, id := range endpoints {
		add(address, "/0000:00:01.0", id[0], id[1], config)
	}
	return h
}

func TestReadPCIFindsGPUs(t *testing.T) {
	h := pciTree(newSpace(4096, 0x60).express(0x60, 0), map[string][2]string{
		"0000:01:00.0": {"0x030200", "0x10de"}, // NVIDIA 3D controller
		"0000:01:00.1": {"0x040300", "0x10de"}, // its audio function
		"0000:01:00.2": {"0x120000", "0x1002"}, // AMD Instinct
		"0000:01:00.3": {"0x038000", "0x1002"},
		"0000:01:00.4": {"0x120000", "0x1da3"}, // another accelerator
		"0000:01:00.5": {"0x068000", "0x10de"}, // NVSwitch
		"0000:01:00.6": {"0x030000", "0x1a03"}, // a management controller's screen
		"0000:01:00.7": {"0x020700", "0x15b3"},
	})
	h.links[pciDevices+"/0000:01:00.0/driver"] = "../../../bus/pci/drivers/nvidia"
	h.links[pciDevices+"/0000:01:00.0/iommu_group"] = "../../../kernel/iommu_groups/27"
	var f fabric.Facts
	readPCI(context.Background(), h, &f)
	want := []fabric.GPU{
		{PCI: "0000:01:00.0", Vendor: "nvidia", Driver: "nvidia"},
		{PCI: "0000:01:00.2", Vendor: "amd"},
		{PCI: "0000:01:00.3", Vendor: "amd"},
	}
	if diff := cmp.Diff(want, f.GPUs); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
	var kept []string
	for _, d := range f.PCI {
		kept = append(kept, d.Address)
	}
	if diff := cmp.Diff([]string{"0000:00:01.0", "0000:01:00.0", "0000:01:00.2", "0000:01:00.3", "0000:01:00.4", "0000:01:00.5", "0000:01:00.7"}, kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	one, group := 1, 27
	gpu := fabric.PCIDevice{
		Address: "0000:01:00.0", Parent: "0000:00:01.0", Vendor: 0x10de, Device: 0x2335, Class: 0x030200, Driver: "nvidia",
		NUMANode: &one, IOMMUGroup: &group, ACS: &fabric.ACS{}, ATS: &fabric.ATS{},
		Control: &fabric.PCIControl{MaxPayload: 256, MaxReadRequest: 512, RelaxedOrdering: true},
		Link:    &fabric.PCILink{Speed: 8, Width: 8, MaxSpeed: 32, MaxWidth: 16},
	}
	if diff := cmp.Diff(gpu, f.PCI[1]); diff != "" {
		t.Errorf("GPU (-want +got):\n%s", diff)
	}
	if len(f.Missing) > 0 {
		t.Error(f.Missing)
	}
}

func TestReadPCIWithoutRoot(t *testing.T) {
	h := pciTree(newSpace(64, 0x60), map[string][2]string{"0000:01:00.0": {"0x030200", "0x10de"}})
	for file, text := range map[string]string{"current_link_speed": "16.0 GT/s PCIe", "max_link_speed": "32.0 GT/s PCIe", "current_link_width": "16", "max_link_width": "255"} {
		h.files[pciDevices+"/0000:01:00.0/"+file] = text + "\n"
	}
	var f fabric.Facts
	readPCI(context.Background(), h, &f)
	want := []string{
		"pci.link: " + errNeedsRoot.Error(), // the root port has no file for its link
		"pci.acs: " + errNeedsRoot.Error(),
		"pci.ats: " + errNeedsRoot.Error(),
		"pci.control: " + errNeedsRoot.Error(),
	}
	if diff := cmp.Diff(want, missingText(&f)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
	gpu := f.PCI[1]
	if gpu.ACS != nil || gpu.ATS != nil {
		t.Errorf("ACS %v and ATS %v without root: want unknown", gpu.ACS, gpu.ATS)
	}
	if diff := cmp.Diff(&fabric.PCILink{Speed: 16, Width: 16, MaxSpeed: 32}, gpu.Link); diff != "" {
		t.Errorf("link from sysfs (-want +got):\n%s", diff)
	}
}

func TestReadPCITellsWhatItCannotRead(t *testing.T) {
	h := pciTree(newSpace(256, 0x60).express(0x60, 0), map[string][2]string{"0000:01:00.0": {"0x030200", "0x10de"}})
	h.fail = map[string]error{pciDevices + "/0000:00:02.0/class": fs.ErrPermission}
	h.files[pciDevices+"/0000:01:00.0/numa_node"] = "one"
	delete(h.files, pciDevices+"/0000:00:01.0/config")
	var f fabric.Facts
	readPCI(context.Background(), h, &f)
	want := []string{
		"pci 0000:00:02.0: permission denied",
		"pci.link: file does not exist",
		"pci.acs: file does not exist",
		"pci.ats: file does not exist",
		"pci.control: file does not exist",
		`pci.numa_node 0000:01:00.0: invalid number "one"`,
		"pci.acs 0000:01:00.0: " + errNoExtended.Error(),
		"pci.ats 0000:01:00.0: " + errNoExtended.Error(),
	}
	if diff := cmp.Diff(want, missingText(&f)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}

func TestReadPCIAbsent(t *testing.T) {
	var f fabric.Facts
	readPCI(context.Background(), fakeHost{}, &f)
	if diff := cmp.Diff([]string{"pci: file does not exist", "gpus: file does not exist"}, missingText(&f)); diff != "" {
		t.Errorf("missing (-want +got):\n%s", diff)
	}
}
