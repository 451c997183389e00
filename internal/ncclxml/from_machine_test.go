package ncclxml

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// machineFile reads a machine that the tests of topology keep.
func machineFile(t *testing.T, name string) *topology.Machine {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "topology", "testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	var m topology.Machine
	if err := json.Unmarshal(text, &m); err != nil {
		t.Fatal(err)
	}
	return &m
}

// flatGuest is the virtual machine with two H200 of which a dump of NCCL itself is known.
func flatGuest() *topology.Machine {
	yes, no, zero := true, false, 0.0
	m := &topology.Machine{CPUs: []topology.CPU{{NUMA: -1, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 207}},
		NICs: []topology.NIC{{Name: "eth0", Mbps: 10000, MaxConn: 65536, Latency: &zero, GDR: &no, NUMA: -1}}}
	for i := range 2 {
		d := pciFunction(fmt.Sprintf("0000:00:%02x.0", 6+i), 0x030200, 0x10de, 0x2335)
		d.SubsystemVendor, d.SubsystemDevice, d.Width, d.MaxWidth = 0x10de, 0x18bf, 0, 0
		m.CPUs[0].Devices = append(m.CPUs[0].Devices, d)
		m.GPUs = append(m.GPUs, topology.GPU{Index: i, Bus: d.Bus, SM: 90, NUMA: -1, GDR: &yes, Links: []topology.ScaleUp{{Target: topology.UnseenNVSwitch, Class: topology.ClassNVSwitch, Count: 18}}})
	}
	return m
}

func ncclText(t *testing.T, m *topology.Machine) string {
	t.Helper()
	d, err := ForNCCL(m)
	if err != nil {
		t.Fatal(err)
	}
	return textOf(t, d)
}

func TestForNCCLOfGuest(t *testing.T) {
	golden(t, "guest.xml", ncclText(t, machineFile(t, "guest.json")))
}

func TestForNCCLOfHost(t *testing.T) {
	golden(t, "host.xml", ncclText(t, machineFile(t, "host.json")))
}

// What NCCL wrote of a machine is what is written of it here, but for what each process puts in itself: the
// hash of the host, and port and GUID of a NIC that has none. NCCL puts the NIC where it met it, between the
// GPUs; here it comes last.
func TestForNCCLAsNCCLDumps(t *testing.T) {
	dump, err := os.ReadFile(filepath.FromSlash("../../../shared/data/h200x2/topo.xml"))
	if err != nil {
		t.Skip("no dump of NCCL here: ", err)
	}
	want := regexp.MustCompile(` (?:host_hash|port|guid)="0[x0-9a-f]*"`).ReplaceAllString(strings.TrimSpace(string(dump))+"\n", "")
	nic := regexp.MustCompile(`(?s) *<nic>.*</nic>\n`).FindString(want)
	want = strings.Replace(strings.Replace(want, nic, "", 1), "  </cpu>\n", nic+"  </cpu>\n", 1)
	if diff := cmp.Diff(want, ncclText(t, flatGuest())); diff != "" {
		t.Errorf("differs from NCCL's own dump (-want +got):\n%s", diff)
	}
}

// The same machine told in another order gives the same file.
func TestForNCCLIsDeterministic(t *testing.T) {
	m := machineFile(t, "host.json")
	want := ncclText(t, m)
	for _, c := range m.CPUs {
		for i, j := 0, len(c.Devices)-1; i < j; i, j = i+1, j-1 {
			c.Devices[i], c.Devices[j] = c.Devices[j], c.Devices[i]
		}
	}
	if diff := cmp.Diff(want, ncclText(t, m)); diff != "" {
		t.Errorf("differs (-want +got):\n%s", diff)
	}
}

func TestForNCCLParses(t *testing.T) {
	for name, m := range map[string]*topology.Machine{"host": machineFile(t, "host.json"), "guest": flatGuest()} {
		t.Run(name, func(t *testing.T) {
			text := ncclText(t, m)
			d, err := Parse([]byte(text))
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if diff := cmp.Diff(text, textOf(t, d)); diff != "" {
				t.Errorf("%s: read and written again it differs (-want +got):\n%s", name, diff)
			}
		})
	}
}

func TestForNCCLAttributes(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*topology.Machine)
		want   string // in the text
		not    string
	}{
		{"a GPU at rest", func(*topology.Machine) {}, `busid="0000:1b:00.0" class="0x030200" vendor="0x10de" device="0x2330" subsystem_vendor="0x10de" subsystem_device="0x16c1" link_speed="32.0 GT/s PCIe"`, "2.5 GT/s"},
		{"no capability known", func(m *topology.Machine) { m.CPUs[0].Devices[0].MaxSpeed, m.CPUs[0].Devices[0].Speed = 0, 16 }, `link_speed="16.0 GT/s PCIe"`, ""},
		{"GPU with unknown speed is left to its process", func(m *topology.Machine) {
			m.CPUs[0].Devices[0].Children[0].Speed, m.CPUs[0].Devices[0].Children[0].MaxSpeed = 0, 0
		}, `subsystem_device="0x16c1">`, ""},
		{"affinity of two nodes unknown", func(m *topology.Machine) { m.CPUs[1].Affinity = "" }, `<cpu numaid="1" affinity="00000000" arch`, ""},
		{"nothing but NVSwitches below a switch", func(m *topology.Machine) {
			m.CPUs[0].Devices = append(m.CPUs[0].Devices, topology.Device{Bus: "0000:06:00.0", Class: 0x060400, Children: []topology.Device{{Bus: "0000:06:01.0", Class: topology.ClassNVSwitch}}})
		}, "</system>", "0000:06"},
		{"GPUDirect unknown", func(m *topology.Machine) { m.GPUs[0].GDR = nil }, `<gpu dev="0" sm="90" rank="0">`, ""},
		{"no GPUDirect", func(m *topology.Machine) { no := false; m.NICs[0].GDR = &no }, `maxconn="131072" gdr="0"/>`, ""},
		{"GUID unknown", func(m *topology.Machine) { m.NICs[3].GUID = 0 }, `name="mlx5_3" dev="3" speed="400000" port="1" maxconn`, ""},
		{"two ports of one function", func(m *topology.Machine) { m.NICs[1].Bus = m.NICs[0].Bus }, "", "0000:3c"},
		{"C2C", func(m *topology.Machine) { m.GPUs[0].C2C = &topology.C2C{Count: 5, MBytes: 44712} }, `<c2c bw="44712" count="5"/>`, ""},
		{"a NIC without a driver", func(m *topology.Machine) { m.NICs[3].Unbound = true }, "</system>", "mlx5_3"},
		{"a node without GPU and NIC", func(m *topology.Machine) { m.CPUs = append(m.CPUs, topology.CPU{NUMA: 2, Arch: "arm64"}) }, "", `numaid="2"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machineFile(t, "host.json")
			c.change(m)
			text := ncclText(t, m)
			if !strings.Contains(text, c.want) {
				t.Errorf("lacks %s:\n%s", c.want, text)
			}
			if c.not != "" && strings.Contains(text, c.not) {
				t.Errorf("has %s:\n%s", c.not, text)
			}
		})
	}
}

func TestForNCCLRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*topology.Machine)
		want   string
	}{
		{"a matrix alone", func(m *topology.Machine) { m.CPUs = nil }, "PCI tree of the machine is unknown"},
		{"no GPU", func(m *topology.Machine) { m.GPUs = nil }, "has no GPU"},
		{"a GPU outside the tree", func(m *topology.Machine) { m.GPUs[2].Bus = "0000:ff:00.0" }, `GPU2 at "0000:ff:00.0": not in`},
		{"two GPUs in one place", func(m *topology.Machine) { m.GPUs[2].Bus = m.GPUs[1].Bus }, `GPU2 at "0000:3d:00.0": not in`},
		{"a NIC outside the tree", func(m *topology.Machine) { m.NICs[7].Bus = "0000:ff:00.0" }, `NIC7 at "0000:ff:00.0": not in`},
		{"a NIC without a name", func(m *topology.Machine) { m.NICs[1].Name = "" }, `NIC1 at "0000:3c:00.0": has no name`},
		{"no architecture", func(m *topology.Machine) { m.CPUs[1].Arch = "" }, "NUMA node 1: the architecture"},
		{"no vendor", func(m *topology.Machine) { m.CPUs[1].Vendor = "" }, "NUMA node 1: the vendor"},
		{"no model", func(m *topology.Machine) { m.CPUs[0].Family = 0 }, "NUMA node 0: family and model"},
		{"switch with unknown speed", func(m *topology.Machine) { m.CPUs[0].Devices[0].Speed, m.CPUs[0].Devices[0].MaxSpeed = 0, 0 }, `"0000:16:00.0": NCCL does not know its link speed of 0 GT/s`},
		{"no such speed", func(m *topology.Machine) { m.CPUs[0].Devices[0].MaxSpeed = 20 }, "link speed of 20 GT/s"},
		{"links not counted", func(m *topology.Machine) { m.GPUs[4].Links[0].Count = 0 }, `GPU4 at "0000:9d:00.0": the number of its links`},
		{"an AMD GPU", func(m *topology.Machine) { m.GPUs[0].GCN = "gfx942" }, "RCCL has its own format"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machineFile(t, "host.json")
			c.change(m)
			if _, err := ForNCCL(m); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// mi300xHost has four switches with two GPUs and two NICs each, every GPU with an XGMI link to every other.
func mi300xHost() *topology.Machine {
	m := &topology.Machine{Name: "host1", Source: "live facts", NUMANodes: 2, CPUs: []topology.CPU{
		{NUMA: 0, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143, Affinity: "00000000,ffffffff"},
		{NUMA: 1, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143, Affinity: "ffffffff,00000000"},
	}}
	gpus := []string{"0000:1b:00.0", "0000:3d:00.0", "0000:4e:00.0", "0000:5f:00.0", "0000:9d:00.0", "0000:bd:00.0", "0000:cd:00.0", "0000:dd:00.0"}
	nics := []string{"0000:1c:00.0", "0000:3e:00.0", "0000:4f:00.0", "0000:60:00.0", "0000:9e:00.0", "0000:be:00.0", "0000:ce:00.0", "0000:de:00.0"}
	for i := range 8 {
		if i%2 == 0 {
			sw := pciFunction(fmt.Sprintf("0000:%s:00.0", []string{"16", "49", "98", "c8"}[i/2]), 0x060400, 0x1000, 0xc030)
			m.CPUs[i/4].Devices = append(m.CPUs[i/4].Devices, sw)
		}
		sw := &m.CPUs[i/4].Devices[i/2%2]
		sw.Children = append(sw.Children, pciFunction(gpus[i], 0x120000, 0x1002, 0x74a1), pciFunction(nics[i], 0x020000, 0x14e4, 0x1760))
		g := topology.GPU{Index: i, Bus: gpus[i], GCN: "gfx942", NUMA: i / 4}
		for j, peer := range gpus {
			if j != i {
				g.Links = append(g.Links, topology.ScaleUp{Target: peer, Class: 0x120000, Count: 1, XGMI: true})
			}
		}
		m.GPUs = append(m.GPUs, g)
		m.NICs = append(m.NICs, topology.NIC{Index: i, Name: fmt.Sprintf("bnxt_re%d", i), Bus: nics[i], Mbps: 400000, Port: 1, NUMA: i / 4})
	}
	return m
}

func TestForRCCL(t *testing.T) {
	d, err := ForRCCL(mi300xHost())
	if err != nil {
		t.Fatal(err)
	}
	text := textOf(t, d)
	golden(t, "mi300x.xml", text)
	again, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, textOf(t, again)); diff != "" {
		t.Errorf("read and written again it differs (-want +got):\n%s", diff)
	}
	if _, err := ForRCCL(machineFile(t, "host.json")); err == nil || !strings.Contains(err.Error(), "no AMD architecture") {
		t.Errorf("an NVIDIA GPU: error %v", err)
	}
	m := mi300xHost()
	m.GPUs[0].GCN = "gfx1100"
	if d, err = ForRCCL(m); err != nil || !strings.Contains(textOf(t, d), `<gpu dev="0" gcn="gfx1100" rank="0">`) {
		t.Errorf("an architecture whose features are unknown: %v", err)
	}
}

// A machine of the catalog gives a file that reads back as the machine it was written of. Where no source
// gives the CPU it has to be said; where none gives its model, or the PCIe speed, there is no file.
func TestCatalogDocuments(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for id, model := range cat.Machines {
		if model.GPU == "" {
			continue
		}
		t.Run(id, func(t *testing.T) {
			write := ForNCCL
			if cat.GPUs[model.GPU].Vendor == "amd" {
				write = ForRCCL
			}
			hardware := fabric.Hardware{Machine: id}
			m, err := topology.NominalOf(cat, hardware)
			if err != nil {
				t.Fatal(err)
			}
			if model.CPU == "" {
				if _, err := write(m); err == nil || !strings.Contains(err.Error(), "architecture of the CPU is unknown") {
					t.Errorf("error %v of a machine whose CPU is unspecified", err)
				}
				hardware.CPU = "intel"
				if m, err = topology.NominalOf(cat, hardware); err != nil {
					t.Fatal(err)
				}
			}
			d, err := write(m)
			why := ""
			switch {
			case m.CPUs[0].Vendor != "" && m.CPUs[0].Family == 0:
				why = "family and model of the CPU"
			case m.CPUs[0].Devices[0].Speed == 0:
				why = "link speed of 0 GT/s"
			}
			if why != "" {
				if err == nil || !strings.Contains(err.Error(), why) {
					t.Errorf("error %v, want %q: unspecified", err, why)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			written++
			sameMachine(t, m, textOf(t, d))
		})
	}
	if written < 15 {
		t.Errorf("only %d machines of %d have a file", written, len(cat.Machines))
	}
}

// sameMachine reads a file and compares who is how far from whom.
func sameMachine(t *testing.T, m *topology.Machine, text string) {
	t.Helper()
	d, err := Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(text, textOf(t, d)); diff != "" {
		t.Errorf("read and written again it differs (-want +got):\n%s", diff)
	}
	x, y := m.Matrix(), d.Machine().Matrix()
	if len(x.Devices) != len(y.Devices) {
		t.Fatalf("%d devices, from the file %d", len(x.Devices), len(y.Devices))
	}
	for i, a := range x.Devices {
		for j, b := range x.Devices {
			want := x.Hop(i, j)
			if want.Distance == topology.NODE { // a file has no host bridges
				want.Distance = topology.PHB
			}
			if a.Kind == topology.KindGPU && y.Hop(i, j) != want {
				t.Errorf("%s to %s: %s, from the file %s", a.Label, b.Label, want, y.Hop(i, j))
			}
		}
	}
}

func pciFunction(bus string, class uint32, vendor, device uint16) topology.Device {
	return topology.Device{Bus: bus, Class: class, Vendor: vendor, Device: device, Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16}
}
