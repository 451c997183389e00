package topology

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// classGuest is a guest whose devices were added in the order of VCF 10.1: its addresses are those of
// appendix I, GPUs and NICs by turns, then the NVSwitches.
func classGuest(switches int) []GuestDevice {
	var devices []GuestDevice
	for i := range 8 {
		devices = append(devices,
			GuestDevice{Kind: KindGPU, Bus: fmt.Sprintf("04:%02x.0", 2*i)},
			GuestDevice{Kind: KindNIC, Bus: fmt.Sprintf("04:%02x.0", 2*i+1), Name: fmt.Sprintf("mlx5_%d", i)})
	}
	for i := range switches {
		devices = append(devices, GuestDevice{Kind: KindOther, Bus: fmt.Sprintf("04:%02x.0", 0x10+i)})
	}
	return devices
}

func guestOf(t *testing.T, devices []GuestDevice, labels map[string]string) *Machine {
	t.Helper()
	m, err := Guest(hgxHost(), devices, labels)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// The file for the guest is what VCF appendix I means, as its errors are fixed.
func TestGuestOfAppendixI(t *testing.T) {
	m := guestOf(t, classGuest(4), nil)
	golden(t, "guest.json", asJSON(t, m)) // the tests of ncclxml write the file of it
	if len(m.CPUs) != 2 {
		t.Fatalf("%d NUMA nodes", len(m.CPUs))
	}
	switches := []string{"0000:16:00.0", "0000:38:00.0", "0000:49:00.0", "0000:5a:00.0", "0000:98:00.0", "0000:b8:00.0", "0000:c8:00.0", "0000:d8:00.0"}
	for i, bus := range switches {
		d, ok := m.Device(bus)
		if !ok || len(d.Children) != 2 || d.Children[0].Bus != fmt.Sprintf("0000:04:%02x.0", 2*i) || d.Children[1].Bus != fmt.Sprintf("0000:04:%02x.0", 2*i+1) {
			t.Errorf("switch %s has %+v", bus, d)
		}
	}
	x := m.Matrix()
	for i := range 8 {
		if h := x.Hop(i, 8+i); h.Distance != PIX {
			t.Errorf("GPU%d and NIC%d are at %s, want PIX", i, i, h)
		}
		if h := x.Hop(0, i); i > 0 && (h.Distance != NVLink || h.Links != 18) {
			t.Errorf("GPU0 and GPU%d are at %s, want NV18", i, h)
		}
	}
}

// NVSwitches stay with a service machine in VCF 9.3: the guest does not see them.
func TestGuestWithoutNVSwitches(t *testing.T) {
	m := guestOf(t, classGuest(0), nil)
	for _, g := range m.GPUs {
		if len(g.Links) != 1 || g.Links[0].Target != UnseenNVSwitch || g.Links[0].Count != 18 {
			t.Errorf("GPU%d has links %+v, want 18 to %s", g.Index, g.Links, UnseenNVSwitch)
		}
	}
	for _, c := range m.CPUs {
		if c.Affinity != "" {
			t.Errorf("NUMA node %d has the affinity of the host's CPUs", c.NUMA)
		}
	}
}

// Ids decide, whatever the order in the guest is.
func TestGuestByID(t *testing.T) {
	devices := []GuestDevice{
		{Kind: KindGPU, Bus: "0000:00:06.0", IDs: []string{"GPU-0000-5"}},
		{Kind: KindNIC, Bus: "0000:00:08.0", Name: "mlx5_0", IDs: []string{"946d:ae03:00fb:295c"}}, // NIC5 as sysfs prints it: 5c29.. would be NCCL's
		{Kind: KindNIC, Bus: "0000:00:09.0", Name: "mlx5_1", IDs: []string{"MT2242X00123"}},
		{Kind: KindGPU, Bus: "0000:00:07.0", IDs: []string{"no id of the host", "rack1-GPU2"}},
	}
	host := hgxHost()
	host.NICs[5].GUID = 0x5c29fb0003ae6d94
	m, err := Guest(host, devices, map[string]string{"mt2242x00123": "4d:00.0", "rack1-gpu2": "0000:4E:00.0"})
	if err != nil {
		t.Fatal(err)
	}
	x := m.Matrix()
	if a, b := x.Hop(0, 2), x.Hop(1, 3); a.Distance != PIX || b.Distance != PIX {
		t.Errorf("GPU0-NIC0 at %s, GPU1-NIC1 at %s, want PIX", a, b)
	}
	if h := x.Hop(0, 3); h.Distance != SYS {
		t.Errorf("GPU0-NIC1 at %s, want SYS", h)
	}
	if m.CPUs[0].NUMA != 0 || m.CPUs[0].Devices[0].Bus != "0000:49:00.0" || m.CPUs[0].Devices[0].Children[0].Bus != "0000:00:07.0" {
		t.Errorf("GPU2 of the host is not the second of the guest: %+v", m.CPUs[0])
	}
	if m.NICs[0].Name != "mlx5_0" || m.NICs[0].Mbps != 400000 || m.NICs[0].GUID != 0x5c29fb0003ae6d94 {
		t.Errorf("NIC0 is %+v", m.NICs[0])
	}
}

// A switch of the host must not have the address of a device of the guest.
func TestGuestAddressesDoNotCollide(t *testing.T) {
	devices := classGuest(0)
	devices[15].Bus = "0000:16:00.0" // the address of the host's first switch
	m := guestOf(t, devices, nil)
	soundTree(t, "guest", m)
	if d, ok := m.Device("0000:16:00.0"); !ok || !d.IsNIC() {
		t.Errorf("the NIC is %+v", d)
	}
	if d, ok := m.Device("0001:16:00.0"); !ok || !d.IsSwitch() {
		t.Errorf("the switch has no address of its own: %+v", d)
	}
}

// A hypervisor has no driver on what it passes through, and so no list of GPUs and NICs.
func TestGuestOfUnboundDevices(t *testing.T) {
	host := hgxHost()
	host.GPUs, host.NICs = nil, nil
	m, err := Guest(host, classGuest(0), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.GPUs) != 8 || len(m.NICs) != 8 || m.GPUs[4].NUMA != 1 || m.NICs[3].Name != "mlx5_3" {
		t.Errorf("%d GPUs, %d NICs: %+v", len(m.GPUs), len(m.NICs), m)
	}
	if slices.ContainsFunc(m.NICs, func(n NIC) bool { return n.Unbound }) {
		t.Errorf("NICs without a driver: %+v", m.NICs)
	}
}

func TestGuestRefused(t *testing.T) {
	reordered := classGuest(0)
	slices.SortStableFunc(reordered, func(a, b GuestDevice) int { return int(a.Kind) - int(b.Kind) })
	for i := range reordered {
		reordered[i].Bus = fmt.Sprintf("0000:05:%02x.0", i)
	}
	wrongKind := classGuest(0)
	wrongKind[3].Kind = KindGPU
	twice := classGuest(0)
	twice[3].Bus = twice[2].Bus
	for _, c := range []struct {
		name   string
		guest  []GuestDevice
		labels map[string]string
		want   string
	}{
		{"nothing", nil, nil, "none given"},
		{"half of the GPUs", classGuest(0)[:8], nil, "the guest has 4 GPUs (0000:04:00.0, 0000:04:02.0, 0000:04:04.0, 0000:04:06.0), the host 8 GPUs (0000:1b:00.0, "},
		{"a NIC less", classGuest(0)[:15], nil, "the guest has 7 NICs"},
		{"another kind", wrongKind, nil, "the guest has 9 GPUs"},
		{"three NVSwitches", classGuest(3), nil, "the guest has 3 NVSwitches"},
		{"GPUs first", reordered, nil, "GPU 0000:05:01.0: not in the order of a VMClass"},
		{"an address twice", twice, nil, `address "0000:04:02.0": duplicate`},
		{"no address", []GuestDevice{{Kind: KindGPU, Bus: "GPU0"}}, nil, `PCI address "GPU0"`},
		{"one id for two", []GuestDevice{{Kind: KindGPU, Bus: "04:00.0", IDs: []string{"a"}}, {Kind: KindGPU, Bus: "04:01.0", IDs: []string{"a"}}}, map[string]string{"a": "1b:00.0"}, "GPU 0000:04:00.0 and GPU 0000:04:01.0 have ids of the same host device"},
		{"ids of two", []GuestDevice{{Kind: KindGPU, Bus: "04:00.0", IDs: []string{"a", "b"}}}, map[string]string{"a": "1b:00.0", "b": "3d:00.0"}, "its ids belong to two host devices"},
		{"an id of another kind", []GuestDevice{{Kind: KindGPU, Bus: "04:00.0", IDs: []string{"a"}}}, map[string]string{"a": "1a:00.0"}, `GPU 0000:04:00.0: "a" is the NIC of the host at "0000:1a:00.0"`},
		{"a label of nothing", classGuest(0), map[string]string{"a": "00:1f.0"}, `label "a": the host has no GPU, NIC or NVSwitch at "0000:00:1f.0"`},
		{"a label without an address", classGuest(0), map[string]string{"a": "x"}, `label "a": PCI address "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := Guest(hgxHost(), c.guest, c.labels); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
	if _, err := Guest(&Machine{}, classGuest(0), nil); err == nil || !strings.Contains(err.Error(), "PCI tree of the hypervisor's host is unknown") {
		t.Errorf("a host without a tree: error %v", err)
	}
}

func TestGuestDevices(t *testing.T) {
	devices := GuestDevices(hgxHost())
	if len(devices) != 20 {
		t.Fatalf("%d devices, want 8 GPUs, 8 NICs and 4 NVSwitches", len(devices))
	}
	if d := devices[0]; d.Kind != KindGPU || d.Bus != "0000:1b:00.0" || len(d.IDs) != 1 || d.IDs[0] != "GPU-0000-0" {
		t.Errorf("the first is %+v", d)
	}
	if d := devices[8]; d.Kind != KindNIC || d.Name != "mlx5_0" || len(d.IDs) != 1 || d.IDs[0] != "5c24fb0003ae6d94" {
		t.Errorf("the first NIC is %+v", d)
	}
	if d := devices[16]; d.Kind != KindOther || d.Bus != "0000:07:00.0" {
		t.Errorf("the first NVSwitch is %+v", d)
	}
	// a machine seen from inside is itself
	m, err := Guest(hgxHost(), devices, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := hgxHost()
	want.Source = m.Source
	for i := range want.CPUs {
		want.CPUs[i].Affinity = ""
		want.CPUs[i].Devices, m.CPUs[i].Devices = sorted(want.CPUs[i].Devices), sorted(m.CPUs[i].Devices)
	}
	if diff := cmp.Diff(asJSON(t, want), asJSON(t, m)); diff != "" {
		t.Errorf("a host as its own guest is another machine (-want +got):\n%s", diff)
	}
}

// sorted orders devices by address, and those below them.
func sorted(devices []Device) []Device {
	devices = InOrder(devices)
	for i := range devices {
		devices[i].Children = sorted(devices[i].Children)
	}
	return devices
}

// TestHostFile keeps the host in a file for the tests of other packages.
func TestHostFile(t *testing.T) { golden(t, "host.json", asJSON(t, hgxHost())) }

func asJSON(t *testing.T, m *Machine) string {
	t.Helper()
	text, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text) + "\n"
}

func endpoint(bus string, class uint32, vendor, device uint16) Device {
	return Device{Bus: bus, Class: class, Vendor: vendor, Device: device, Speed: 32, Width: 16, MaxSpeed: 32, MaxWidth: 16}
}

// hgxHost is the host of VCF appendix I as it is without a hypervisor: two sockets of four switches, each with
// a GPU and a ConnectX-7. Addresses of switches and NICs are those of the document (appendix I, 8.3), those of
// the GPUs the next ones, as in the same server of ROCE 8.7.2.
func hgxHost() *Machine {
	m := &Machine{Name: "host1", Source: "live facts", NUMANodes: 2, CPUs: []CPU{
		{NUMA: 0, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143, Affinity: "00000000,ffffffff"},
		{NUMA: 1, Arch: "x86_64", Vendor: "GenuineIntel", Family: 6, Model: 143, Affinity: "ffffffff,00000000"},
	}}
	subsystems := []uint16{0x2330, 0x2330, 0x2331, 0x2331, 0x2333, 0x2333, 0x2332, 0x2332}
	for i, bus := range []uint8{0x16, 0x38, 0x49, 0x5a, 0x98, 0xb8, 0xc8, 0xd8} {
		yes := true
		nic := endpoint(fmt.Sprintf("0000:%02x:00.0", bus+4), 0x020700, 0x15b3, 0x1021)
		nic.SubsystemVendor, nic.SubsystemDevice = 0x15b3, 0x0041
		gpu := endpoint(fmt.Sprintf("0000:%02x:00.0", bus+5), 0x030200, 0x10de, 0x2330)
		gpu.SubsystemVendor, gpu.SubsystemDevice = 0x10de, 0x16c1
		gpu.Speed = 2.5 // at rest
		sw := endpoint(fmt.Sprintf("0000:%02x:00.0", bus), 0x060400, 0x1000, 0xc030)
		sw.SubsystemVendor, sw.SubsystemDevice = 0x1028, subsystems[i]
		sw.Children = []Device{gpu, nic}
		m.CPUs[i/4].Devices = append(m.CPUs[i/4].Devices, sw)
		g := GPU{Index: i, Bus: gpu.Bus, SM: 90, NUMA: i / 4, GDR: &yes, UUID: fmt.Sprintf("GPU-0000-%d", i)}
		for k, links := range []int{5, 5, 4, 4} {
			g.Links = append(g.Links, ScaleUp{Target: fmt.Sprintf("0000:%02x:00.0", 7+k), Class: ClassNVSwitch, Count: links})
		}
		m.GPUs = append(m.GPUs, g)
		m.NICs = append(m.NICs, NIC{Index: i, Name: fmt.Sprintf("mlx5_%d", i), Bus: nic.Bus, Mbps: 400000, Port: 1,
			GUID: 0x5c24fb0003ae6d94 + uint64(i)<<48, NUMA: i / 4, GDR: &yes, MaxConn: 131072})
	}
	for k := range 4 {
		m.CPUs[0].Devices = append(m.CPUs[0].Devices, endpoint(fmt.Sprintf("0000:%02x:00.0", 7+k), ClassNVSwitch, 0x10de, 0x22a3))
	}
	return m
}
