package claims

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

// small is a machine of two H100 and two ConnectX-7, each pair below a root of its own, and a management port.
func small() *fabric.Facts {
	numa := func(n int) *int { return &n }
	gpu := func(at, parent string, n int) fabric.PCIDevice {
		return fabric.PCIDevice{Address: at, Parent: parent, Vendor: 0x10de, Device: 0x2330, Class: 0x030200, NUMANode: numa(n)}
	}
	nic := func(at, parent string, n int) fabric.PCIDevice {
		return fabric.PCIDevice{Address: at, Parent: parent, Vendor: 0x15b3, Device: 0x1021, Class: 0x020000, NUMANode: numa(n)}
	}
	port := func(at string) fabric.PCIDevice {
		return fabric.PCIDevice{Address: at, Vendor: 0x8086, Device: 0x352a, Class: 0x060400}
	}
	rate := 400.0
	hca := func(name, at string) fabric.HCA {
		return fabric.HCA{Name: name, PCI: at, Ports: []fabric.Port{{Number: 1, State: "ACTIVE", RateGbps: &rate}}}
	}
	return &fabric.Facts{
		Node: "host1", Source: "recorded", Machine: fabric.Machine{NUMANodes: numa(2)},
		GPUs: []fabric.GPU{{PCI: "0000:19:00.0", Vendor: "nvidia", Name: "NVIDIA H100 80GB HBM3", UUID: "GPU-a"}, {PCI: "0000:9b:00.0", Vendor: "nvidia", UUID: "GPU-b"}},
		HCAs: []fabric.HCA{hca("mlx5_0", "0000:1a:00.0"), hca("mlx5_1", "0000:9c:00.0")},
		NICs: []fabric.NIC{{Name: "eth1", PCI: "0000:1a:00.0", MTU: 9000, OperState: "up", MAC: "02:00:00:00:00:01"}, {Name: "eno1", PCI: "0000:02:00.0", OperState: "up"}},
		PCI: []fabric.PCIDevice{
			port("0000:17:01.0"), gpu("0000:19:00.0", "0000:17:01.0", 0), port("0000:17:02.0"), nic("0000:1a:00.0", "0000:17:02.0", 0),
			port("0000:97:01.0"), gpu("0000:9b:00.0", "0000:97:01.0", 1), port("0000:97:02.0"), nic("0000:9c:00.0", "0000:97:02.0", 1),
		},
	}
}

func TestFromFacts(t *testing.T) {
	s := FromFacts(small(), loaded(t), Publishers{GPU: fabric.DriverNVIDIA, NIC: fabric.DriverDraNet})
	want := []string{
		"gpu-0 architecture=Hopper brand=Nvidia cudaComputeCapability=9.0.0 resource.kubernetes.io/pciBusID=0000:19:00.0 resource.kubernetes.io/pcieRoot=pci0000:17 type=gpu",
		"gpu-1 architecture=Hopper brand=Nvidia cudaComputeCapability=9.0.0 resource.kubernetes.io/pciBusID=0000:9b:00.0 resource.kubernetes.io/pcieRoot=pci0000:97 type=gpu",
		"pci-0000-1a-00-0 dra.net/ifName=eth1 dra.net/numaNode=0 dra.net/pciAddress=0000:1a:00.0 dra.net/pciVendor=Mellanox Technologies dra.net/rdma=true resource.kubernetes.io/pcieRoot=pci0000:17",
		// the second has no interface: DraNet publishes its RDMA device instead
		"pci-0000-9c-00-0 dra.net/numaNode=1 dra.net/pciAddress=0000:9c:00.0 dra.net/pciVendor=Mellanox Technologies dra.net/rdma=true resource.kubernetes.io/pcieRoot=pci0000:97",
	}
	if diff := cmp.Diff(want, facts(s.slices)); diff != "" {
		t.Error(diff)
	}
	nics := s.slices[1].Spec.Devices
	if have := valueOf(nics[0].Attributes["dra.net/mtu"]) + " " + valueOf(nics[1].Attributes["dra.net/rdmaDevice"]); have != "9000 mlx5_1" {
		t.Errorf("MTU and RDMA device %q", have)
	}
	if have := valueOf(s.slices[0].Spec.Devices[1].Attributes["uuid"]); have != "GPU-b" {
		t.Errorf("UUID %q", have)
	}
}

// In a guest of Hyper-V each NIC is a PCI domain of its own, whose root the system does not show.
func TestFromFactsHiddenRoot(t *testing.T) {
	f := small()
	vendor, guest := "Microsoft Corporation", true
	f.Machine.Vendor, f.Machine.Hypervisor = &vendor, &guest
	f.PCI[3].Address, f.PCI[3].Parent = "0101:00:00.0", ""
	f.HCAs[0].PCI, f.NICs[0].PCI = "0101:00:00.0", "0101:00:00.0"
	s := FromFacts(f, loaded(t), Publishers{GPU: fabric.DriverNVIDIA, NIC: fabric.DriverDraNet})
	if pairs, _ := sameRoot(s.slices); pairs != 1 {
		t.Errorf("%d pairs, want the one below a root of the firmware", pairs)
	}
	for _, d := range s.slices[1].Spec.Devices {
		if _, has := d.Attributes["resource.kubernetes.io/pcieRoot"]; has != (d.Name != "pci-0101-00-00-0") {
			t.Errorf("%s: root published: %v", d.Name, has)
		}
	}
}

// What the facts do not have is left out and said: no device without an address.
func TestFromFactsUnknown(t *testing.T) {
	f := small()
	f.HCAs[1].PCI = ""
	f.PCI = f.PCI[:len(f.PCI)-1]
	s := FromFacts(f, loaded(t), Publishers{GPU: fabric.DriverNVIDIA, NIC: fabric.DriverDraNet})
	if have := len(s.slices[1].Spec.Devices); have != 1 || len(s.Gaps) == 0 {
		t.Errorf("%d NICs, gaps %q", have, s.Gaps)
	}
	if s := FromFacts(&fabric.Facts{Node: "empty"}, loaded(t), Publishers{GPU: fabric.DriverNVIDIA, NIC: fabric.DriverDraNet}); len(s.slices) != 0 {
		t.Errorf("%d slices of nothing", len(s.slices))
	}
	if s := FromFacts(small(), loaded(t), Publishers{}); len(s.slices) != 0 {
		t.Errorf("%d slices of no driver", len(s.slices))
	}
}
