package topology

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// function is a PCI function of test facts.
func function(address, parent string, class uint32, vendor, device uint16, numa int, link string) fabric.PCIDevice {
	d := fabric.PCIDevice{Address: address, Parent: parent, Class: class, Vendor: vendor, Device: device, NUMANode: &numa}
	if link != "" {
		d.Link = new(fabric.PCILink)
		if err := d.Link.UnmarshalText([]byte(link)); err != nil {
			panic(err)
		}
	}
	return d
}

const gen5 = "x16@32 of x16@32"

// hostFacts is one socket of an H100 server: a root port with a switch, below it a GPU and a ConnectX-7, and
// on another root port of the same host bridge a switch below a switch.
func hostFacts() *fabric.Facts {
	model, nodes, real, rate := "Intel(R) Xeon(R) Platinum 8480C", 1, false, 400.0
	up := func(name, pci, guid string) fabric.HCA {
		return fabric.HCA{Name: name, PCI: pci, SystemGUID: guid, Ports: []fabric.Port{{Number: 1, State: "ACTIVE", RateGbps: &rate}}}
	}
	return &fabric.Facts{Node: "host1", Source: "recorded",
		Machine: fabric.Machine{CPUModel: &model, NUMANodes: &nodes, Hypervisor: &real},
		PCI: []fabric.PCIDevice{
			function("0000:15:01.0", "", classBridge, 0x8086, 0x352a, 0, gen5),
			function("0000:16:00.0", "0000:15:01.0", classBridge, 0x1000, 0xc030, 0, gen5),
			function("0000:17:00.0", "0000:16:00.0", classBridge, 0x1000, 0xc030, 0, gen5),
			function("0000:17:01.0", "0000:16:00.0", classBridge, 0x1000, 0xc030, 0, "x8@16 of x8@16"),
			function("0000:1a:00.0", "0000:17:01.0", classEthernet, 0x15b3, 0x1021, 0, "x8@16 of x16@32"),
			function("0000:1b:00.0", "0000:17:00.0", class3D, 0x10de, 0x2330, 0, "x16@2.5 of x16@32"), // at rest
			function("0000:15:02.0", "", classBridge, 0x8086, 0x352a, 0, gen5),
			function("0000:36:00.0", "0000:15:02.0", classBridge, 0x1000, 0xc030, 0, gen5),
			function("0000:37:00.0", "0000:36:00.0", classBridge, 0x1000, 0xc030, 0, gen5),
			function("0000:38:00.0", "0000:37:00.0", classBridge, 0x1000, 0xc030, 0, gen5),
			function("0000:39:00.0", "0000:38:00.0", classBridge, 0x1000, 0xc030, 0, gen5),
			function("0000:3d:00.0", "0000:39:00.0", class3D, 0x10de, 0x2330, 0, gen5),
			function("0000:37:01.0", "0000:36:00.0", classBridge, 0x1000, 0xc030, 0, gen5),
			function("0000:3c:00.0", "0000:37:01.0", classEthernet, 0x15b3, 0x1021, 0, "x16@16 of x16@16"),
			function("0000:51:00.0", "0000:50:01.0", classEthernet, 0x8086, 0x1593, 0, ""), // not of the fabric
			function("0000:50:01.0", "", classBridge, 0x8086, 0x352a, 0, ""),
			function("0000:04:00.0", "0000:03:01.0", 0x068000, 0x10de, 0x22a3, 0, "x2@16 of x2@16"),
			function("0000:03:01.0", "", classBridge, 0x8086, 0x352a, 0, ""),
		},
		GPUs: []fabric.GPU{{PCI: "0000:3d:00.0", Vendor: "nvidia", UUID: "GPU-1"}, {PCI: "0000:1b:00.0", Vendor: "nvidia", Name: "NVIDIA H100 80GB HBM3"}},
		NICs: []fabric.NIC{{Name: "eno1", PCI: "0000:51:00.0"}, {Name: "ens1", PCI: "0000:1a:00.0"}},
		HCAs: []fabric.HCA{up("mlx5_1", "0000:3c:00.0", ""), up("mlx5_0", "0000:1a:00.0", "5c24:fb00:03ae:6d94")},
	}
}

func TestFromFacts(t *testing.T) {
	m := FromFacts(hostFacts(), parts(t))
	soundTree(t, "host1", m)
	golden(t, "nominal/from-facts.txt", machineText(m))
	path, err := m.Path("0000:1b:00.0", "0000:1a:00.0")
	if err != nil {
		t.Fatal(err)
	}
	// the GPU at rest is at Gen1 just now; what trained low for good is the NIC
	if hop, known := Slowest(path); hop.Bus != "0000:1a:00.0" || hop.GBs < 15.7 || hop.GBs > 15.8 || !known || !path[0].AtRest {
		t.Errorf("slowest is %+v of %+v", hop, path)
	}
}

func TestFromFactsGaps(t *testing.T) {
	says := func(m *Machine, want string) bool {
		return slices.ContainsFunc(m.Gaps, func(g string) bool { return strings.Contains(g, want) })
	}
	for _, c := range []struct {
		name string
		edit func(*fabric.Facts)
		want string
		ok   func(*Machine) bool
	}{
		{"no NUMA", func(f *fabric.Facts) {
			two := 2
			f.Machine.NUMANodes = &two
			for i := range f.PCI {
				none := -1
				f.PCI[i].NUMANode = &none
			}
		}, "does not report the NUMA node", func(m *Machine) bool { return m.CPUs[0].NUMA == -1 && m.GPUs[0].NUMA == -1 }},
		{"NUMA of the root port only", func(f *fabric.Facts) {
			for i := range f.PCI {
				if f.PCI[i].Parent != "" {
					f.PCI[i].NUMANode = nil
				}
			}
		}, "", func(m *Machine) bool { return len(m.CPUs) == 1 && m.CPUs[0].NUMA == 0 }},
		{"port down", func(f *fabric.Facts) { f.HCAs[0].Ports[0] = fabric.Port{Number: 1, State: "DOWN"} },
			"mlx5_1 port 1 is DOWN", func(m *Machine) bool { return m.NICs[1].Mbps == 400_000 }},
		{"no RDMA device", func(f *fabric.Facts) { f.HCAs = nil }, "ens1: line rate from the catalog",
			func(m *Machine) bool {
				return len(m.NICs) == 2 && m.NICs[0].Name == "ens1" && !m.NICs[0].Unbound && m.NICs[1].Unbound && m.NICs[1].Bus == "0000:3c:00.0"
			}},
		{"a virtual function for a guest", func(f *fabric.Facts) {
			f.PCI = append(f.PCI, function("0000:1a:00.1", "0000:17:01.0", classEthernet, 0x15b3, 0x101e, 0, ""))
		}, "", func(m *Machine) bool { return len(m.NICs) == 2 }},
		{"a NIC without a driver", func(f *fabric.Facts) { f.HCAs, f.NICs = nil, nil }, "0000:3c:00.0: NIC known only by its PCI id (driver none)",
			func(m *Machine) bool { return len(m.NICs) == 2 && m.NICs[1].Mbps == 400_000 }},
		{"one RDMA device less", func(f *fabric.Facts) { f.HCAs = f.HCAs[:1] }, "ens1: has no RDMA device",
			func(m *Machine) bool { return len(m.NICs) == 2 && m.NICs[0].Name == "ens1" }},
		{"a GPU that is not in the list", func(f *fabric.Facts) { f.GPUs[0].PCI = "0000:99:00.0" }, "0000:99:00.0 is not among",
			func(m *Machine) bool { return m.Matrix().Hop(0, 2).Distance == PIX }},
		{"unknown GPU", func(f *fabric.Facts) { f.PCI[5].Device = 0x9999 }, "GPU0: not in the catalog",
			func(m *Machine) bool { return len(m.GPUs[0].Links) == 0 }},
		{"no CPU", func(f *fabric.Facts) {
			f.Machine.CPUModel = nil
			f.Missing = []fabric.Missing{{What: "machine.cpu_model", Reason: "not recorded"}}
		}, "unknown CPU: not recorded", func(m *Machine) bool { return m.CPUs[0].Arch == "" }},
		{"foreign CPU", func(f *fabric.Facts) { s := "AMD Ryzen 9"; f.Machine.CPUModel = &s }, `cannot be derived from "AMD Ryzen 9"`,
			func(m *Machine) bool { return m.CPUs[0].Vendor == vendorAMD && m.CPUs[0].Family == 0 }},
		{"four GPUs without NVSwitch", func(f *fabric.Facts) { f.PCI = f.PCI[:16] }, "the facts do not have the nvlink links of the GPUs",
			func(m *Machine) bool { return m.Matrix().Hop(0, 1).Links == 18 && m.GPUs[0].Links[0].Class == class3D }},
		{"the same in a virtual machine", func(f *fabric.Facts) { f.PCI = f.PCI[:16]; yes := true; f.Machine.Hypervisor = &yes }, "",
			func(m *Machine) bool { return m.GPUs[0].Links[0].Class == ClassNVSwitch }},
		{"a ring of parents", func(f *fabric.Facts) { f.PCI[6].Parent = "0000:39:00.0" }, "more than 64 bridges",
			func(m *Machine) bool { return m.Matrix().Hop(0, 2).Distance == PIX }},
		{"nothing", func(f *fabric.Facts) {
			*f = fabric.Facts{Missing: []fabric.Missing{{What: "pci", Reason: "permission denied"}}}
		}, "pci: permission denied", func(m *Machine) bool { return len(m.GPUs) == 0 && len(m.CPUs) == 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := hostFacts()
			c.edit(f)
			m := FromFacts(f, parts(t))
			if c.want != "" && !says(m, c.want) || !c.ok(m) {
				t.Errorf("%s: want a gap with %q, have %q\n%s", c.name, c.want, m.Gaps, machineText(m))
			}
		})
	}
}

func TestFromFactsArm(t *testing.T) {
	f := &fabric.Facts{Source: "live", Kernel: fabric.Kernel{Release: "6.8.0-1007-nvidia-64k-aarch64"},
		PCI: []fabric.PCIDevice{
			function("000f:00:00.0", "", classBridge, 0x10de, 0x22b1, 0, ""),
			function("000f:01:00.0", "000f:00:00.0", 0x030000, 0x10de, 0x2e12, 0, "x16@2.5 of x16@2.5"),
		},
		GPUs: []fabric.GPU{{PCI: "000f:01:00.0", Vendor: "nvidia"}}}
	m := FromFacts(f, parts(t))
	if g := m.GPUs[0]; g.Model != "gb10" || g.SM != 121 || !g.Coherent || m.CPUs[0].Arch != "arm64" || !slices.Contains(m.Gaps, noC2C) {
		t.Errorf("GB10 is %+v, %+v, gaps %q", g, m.CPUs, m.Gaps)
	}
}

// TestFromFactsTenThousand is a tree of 10,000 functions.
func TestFromFactsTenThousand(t *testing.T) {
	f := &fabric.Facts{Source: "live", PCI: []fabric.PCIDevice{
		function("0000:01:00.0", "", classBridge, 0x1000, 0xc030, 0, gen5),
		function("0000:02:00.0", "0000:01:00.0", classBridge, 0x1000, 0xc030, 0, gen5),
		function("0000:03:00.0", "0000:02:00.0", classBridge, 0x1000, 0xc030, 0, gen5),
	}}
	for i := range 10_000 {
		bus := fmt.Sprintf("%04x:%02x:00.0", 1+i/256, i%256)
		f.PCI = append(f.PCI, function(bus, "0000:03:00.0", class3D, 0x10de, 0x2330, 0, gen5))
		f.GPUs = append(f.GPUs, fabric.GPU{PCI: bus, Vendor: "nvidia"})
	}
	start := time.Now()
	m := FromFacts(f, parts(t))
	if took := time.Since(start); len(m.GPUs) != 10_000 || took > 60*time.Second {
		t.Errorf("%d GPUs in %v", len(m.GPUs), took)
	} else {
		t.Logf("10,000 functions in %v", took)
	}
	if x := m.Matrix(); len(x.Devices) != 0 || len(x.Gaps) != 1 {
		t.Errorf("the matrix has %d devices", len(x.Devices))
	}
}

// TestFromFactsQEMU reads the tree of a virtual machine that was built like a GPU server: two host bridges,
// each with two switches of five ports and a NIC on a root port. Its display controllers stand for GPUs.
func TestFromFactsQEMU(t *testing.T) {
	file, err := os.Open(filepath.Join("..", "..", "..", "shared", "data", "fixtures", "qemu-pcie", "devices.txt"))
	if err != nil {
		t.Skip("the recorded PCI tree is not here: ", err)
	}
	defer file.Close()
	nodes := 2
	f := &fabric.Facts{Source: "recorded", Machine: fabric.Machine{NUMANodes: &nodes}}
	line := regexp.MustCompile(`^(\S+) numa=(\S+) .*class=0x(\S+) 0x(\S+):0x(\S+) cur=(\S*) GT/s PCIe x(\d+) .* net=(\S*) ib=\S* path=(\S+)$`)
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		p := line.FindStringSubmatch(scanner.Text())
		if p == nil {
			continue // without a link: no PCI Express function
		}
		number := func(s string, base int) int {
			n, err := strconv.ParseInt(s, base, 64)
			if err != nil {
				t.Fatalf("%q: %v", scanner.Text(), err)
			}
			return int(n)
		}
		parent := filepath.Base(filepath.Dir(p[9]))
		if strings.HasPrefix(parent, "pci") {
			parent = ""
		}
		d := function(p[1], parent, uint32(number(p[3], 16)), uint16(number(p[4], 16)), uint16(number(p[5], 16)), number(p[2], 10), "")
		f.PCI = append(f.PCI, d)
		if d.Class == classDisplay {
			f.GPUs = append(f.GPUs, fabric.GPU{PCI: p[1]})
		}
		if p[8] != "" {
			f.NICs = append(f.NICs, fabric.NIC{Name: p[8], PCI: p[1]})
			f.HCAs = append(f.HCAs, fabric.HCA{Name: "rxe" + p[8][3:], Ports: []fabric.Port{{Number: 1, State: "ACTIVE", GIDs: []fabric.GID{{NetDev: p[8]}}}}})
		}
	}
	if len(f.GPUs) != 8 || len(f.NICs) < 12 {
		t.Fatalf("%d display controllers and %d interfaces read", len(f.GPUs), len(f.NICs))
	}
	m := FromFacts(f, parts(t))
	soundTree(t, "qemu", m)
	x := m.Matrix()
	place := func(bus string) int {
		return slices.IndexFunc(x.Devices, func(d MatrixDevice) bool { return d.Bus == bus })
	}
	for _, c := range []struct{ a, b, want string }{
		{"0000:25:00.0", "0000:26:00.0", "PIX"}, // one switch
		{"0000:25:00.0", "0000:23:00.0", "PIX"},
		{"0000:23:00.0", "0000:23:10.2", "PIX"}, // a function and its virtual one
		{"0000:25:00.0", "0000:2c:00.0", "PHB"}, // two root ports of one host bridge
		{"0000:25:00.0", "0000:2a:00.0", "PHB"},
		{"0000:25:00.0", "0000:85:00.0", "SYS"},
		{"0000:83:00.0", "0000:8a:00.0", "PHB"},
	} {
		t.Run(c.a+" to "+c.b, func(t *testing.T) {
			if got := x.Hop(place(c.a), place(c.b)).String(); got != c.want {
				t.Errorf("%s to %s is %s, want %s", c.a, c.b, got, c.want)
			}
		})
	}
	if d, ok := m.Device("0000:21:00.0"); !ok || len(d.Children) < 4 || d.Port != "0000:20:00.0" || d.HostBridge != "pci0000:20" {
		t.Errorf("the switch 0000:21:00.0 is %+v", d)
	}
	if d, ok := m.Device("0000:22:00.0"); ok {
		t.Errorf("a downstream port stands in the tree: %+v", d)
	}
	for i, pair := range m.Pairing().Pairs {
		if !pair.Near {
			t.Errorf("GPU%d is paired at %s", i, pair.Hop)
		}
	}
}

// A hypervisor holds GPUs and NICs for its guest: nothing but their PCI functions tells of them, and the guest's are
// matched with them.
func TestFromFactsHypervisor(t *testing.T) {
	f := hostFacts()
	for i := range f.PCI {
		if c := f.PCI[i].Class; c == class3D || c == classEthernet && f.PCI[i].Vendor == 0x15b3 || c == ClassNVSwitch {
			f.PCI[i].Driver = passThrough
		}
	}
	f.HCAs, f.NICs = f.HCAs[:0], f.NICs[:1]
	for i := range f.GPUs {
		f.GPUs[i].UUID = ""
	}
	host := FromFacts(f, parts(t))
	if len(host.NICs) != 2 || !host.NICs[0].Unbound || host.NICs[0].Bus != "0000:1a:00.0" || host.NICs[0].Model != "connectx7" {
		t.Fatalf("NICs are %+v", host.NICs)
	}
	if !slices.ContainsFunc(host.Gaps, func(g string) bool { return strings.Contains(g, "(driver vfio-pci)") }) {
		t.Errorf("gaps are %q", host.Gaps)
	}
	guest := []GuestDevice{
		{Kind: KindGPU, Bus: "0000:00:05.0"}, {Kind: KindNIC, Bus: "0000:00:06.0", Name: "mlx5_0"},
		{Kind: KindGPU, Bus: "0000:00:07.0"}, {Kind: KindNIC, Bus: "0000:00:08.0", Name: "mlx5_1"}, {Kind: KindOther, Bus: "0000:00:09.0"},
	}
	m, err := Guest(host, guest, nil)
	if err != nil {
		t.Fatal(err)
	}
	for bus, name := range map[string]string{"0000:00:06.0": "mlx5_0", "0000:00:08.0": "mlx5_1"} {
		if d, ok := m.Device(bus); !ok || d.Class != classEthernet {
			t.Errorf("%s is %+v", bus, d)
		}
		if !slices.ContainsFunc(m.NICs, func(n NIC) bool { return n.Bus == bus && n.Name == name && !n.Unbound }) {
			t.Errorf("no %s at %s: %+v", name, bus, m.NICs)
		}
	}
	if slices.ContainsFunc(host.NICs, func(n NIC) bool { return !n.Unbound }) {
		t.Errorf("the hypervisor itself uses %+v", host.NICs)
	}
}
