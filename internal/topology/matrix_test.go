package topology

import (
	"fmt"
	"strings"
	"testing"
)

// sampleTree is a machine of two NUMA nodes: on the first two root ports of one host bridge, with a switch
// behind the one and two cascaded switches behind the other, and a second host bridge with a NIC.
func sampleTree() *Machine {
	gpu := func(bus string) Device { return Device{Bus: bus, Class: class3D, Speed: 32, Width: 16} }
	nic := func(bus, port string) Device {
		return Device{Bus: bus, Port: port, Class: classEthernet, Speed: 32, Width: 16}
	}
	bridge := func(bus string, children ...Device) Device {
		return Device{Bus: bus, Class: classBridge, Speed: 32, Width: 16, Children: children}
	}
	below := func(d Device, hostBridge, port string) Device {
		d.HostBridge, d.Port = hostBridge, port
		return d
	}
	m := &Machine{Source: "test", NUMANodes: 2, CPUs: []CPU{
		{NUMA: 0, Devices: []Device{
			below(bridge("0000:11:00.0", gpu("0000:13:00.0"), nic("0000:14:00.0", "0000:12:01.0"), nic("0000:14:00.1", "0000:12:01.0")), "pci0000:10", "0000:10:01.0"),
			below(bridge("0000:21:00.0", bridge("0000:23:00.0", gpu("0000:25:00.0")), nic("0000:26:00.0", "0000:22:02.0")), "pci0000:10", "0000:10:02.0"),
			below(nic("0000:31:00.0", ""), "pci0000:30", "0000:30:01.0"),
			below(nic("0000:31:00.1", ""), "pci0000:30", "0000:30:01.0"),
		}},
		{NUMA: 1, Devices: []Device{below(gpu("0000:91:00.0"), "pci0000:90", "0000:90:01.0")}},
	}}
	for i, bus := range []string{"0000:13:00.0", "0000:25:00.0", "0000:91:00.0"} {
		m.GPUs = append(m.GPUs, GPU{Index: i, Bus: bus, NUMA: i / 2})
	}
	for i, bus := range []string{"0000:14:00.0", "0000:14:00.1", "0000:26:00.0", "0000:31:00.0", "0000:31:00.1", ""} {
		m.NICs = append(m.NICs, NIC{Index: i, Bus: bus, Mbps: 400_000})
	}
	return m
}

func cells(x Matrix) string {
	var b strings.Builder
	for i := range x.Hops {
		for _, h := range x.Hops[i] {
			b.WriteString(h.String() + " ")
		}
		b.WriteByte('\n')
	}
	return b.String()
}

func TestMatrixWords(t *testing.T) {
	x := sampleTree().Matrix()
	//      GPU0 GPU1 GPU2 14.0 14.1 26 31.0 31.1 none
	want := `X PHB SYS PIX PIX PHB NODE NODE PHB 
PHB X SYS PHB PHB PXB NODE NODE PHB 
SYS SYS X SYS SYS SYS SYS SYS SYS 
PIX PHB SYS X PIX PHB NODE NODE PHB 
PIX PHB SYS PIX X PHB NODE NODE PHB 
PHB PXB SYS PHB PHB X NODE NODE PHB 
NODE NODE SYS NODE NODE NODE X PIX PHB 
NODE NODE SYS NODE NODE NODE PIX X PHB 
PHB PHB SYS PHB PHB PHB PHB PHB X 
`
	if got := cells(x); got != want {
		t.Errorf("gives\n%s\nwant\n%s", got, want)
	}
	if len(x.Gaps) != 0 || x.Devices[3].Label != "NIC0" || x.Devices[3].Mbps != 400_000 {
		t.Errorf("gaps %q, NIC0 %+v", x.Gaps, x.Devices[3])
	}
}

func TestMatrixLinks(t *testing.T) {
	m := sampleTree()
	m.GPUs[0].Links = []ScaleUp{{Target: UnseenNVSwitch, Class: ClassNVSwitch, Count: 12}, {Target: "0000:07:00.0", Class: ClassNVSwitch, Count: 6}}
	m.GPUs[1].Links = []ScaleUp{{Target: UnseenNVSwitch, Class: ClassNVSwitch, Count: 16}}
	m.GPUs[2].Links = []ScaleUp{{Target: "0000:13:00.0", Class: class3D, Count: 4}, {Target: UnseenNVSwitch, Class: ClassLinkedCPU, Count: 6}}
	x := m.Matrix()
	if got := []string{x.Hop(0, 1).String(), x.Hop(0, 2).String(), x.Hop(2, 0).String(), x.Hop(1, 2).String()}; fmt.Sprint(got) != "[NV16 NV4 NV4 SYS]" {
		t.Errorf("gives %v", got)
	}
	m.GPUs[2].Links = []ScaleUp{{Target: "0000:25:00.0", Class: classAccelerator, Count: 1, XGMI: true}}
	if got := m.Matrix().Hop(1, 2); got.String() != "XGMI" || got.Links != 1 {
		t.Errorf("XGMI gives %+v", got)
	}
}

// TestMatrixUnknown holds the matrix against what it must not make up.
func TestMatrixUnknown(t *testing.T) {
	flat := func(nodes int, bridges ...string) Matrix {
		m := &Machine{Source: "test", NUMANodes: nodes, CPUs: []CPU{{NUMA: -1}}}
		for i, b := range bridges {
			bus := fmt.Sprintf("0000:%02x:00.0", i)
			m.CPUs[0].Devices = append(m.CPUs[0].Devices, Device{Bus: bus, HostBridge: b, Class: class3D})
			m.GPUs = append(m.GPUs, GPU{Index: i, Bus: bus, NUMA: -1})
		}
		return m.Matrix()
	}
	for _, c := range []struct {
		x    Matrix
		want string
		gaps int
	}{
		{flat(1, "pci0000:00", "pci0000:00"), "PHB", 0},
		{flat(2, "pci0000:00", "pci0000:00"), "PHB", 0},
		{flat(1, "pci0000:00", "pci0000:80"), "NODE", 0}, // there is one node, whatever the firmware says
		{flat(2, "pci0000:00", "pci0000:80"), "?", 1},
		{flat(0, "pci0000:00", "pci0000:80"), "?", 1},
		{flat(1, "", ""), "PHB", 1}, // a file of NCCL's
	} {
		if got := c.x.Hop(0, 1).String(); got != c.want || len(c.x.Gaps) != c.gaps {
			t.Errorf("gives %s, gaps %q; want %s, %d", got, c.x.Gaps, c.want, c.gaps)
		}
	}
	m := sampleTree()
	m.CPUs[1].NUMA = -1
	if x := m.Matrix(); x.Hop(0, 2).Distance != DistanceUnknown || len(x.Gaps) != 1 {
		t.Errorf("one node known, the other not: gives %s, %q", x.Hop(0, 2), x.Gaps)
	}
	m.GPUs[0].Bus, m.GPUs[0].NUMA = "0000:77:00.0", -2
	if x := m.Matrix(); x.Hop(0, 1).Distance != DistanceUnknown || x.Hop(0, 0).Distance != Self {
		t.Errorf("a GPU that is not in the tree: gives %s", x.Hop(0, 1))
	}
	if x := (Matrix{}); x.Hop(3, 4) != (Hop{}) || x.Hop(-1, 0) != (Hop{}) {
		t.Error("a cell that is not there is not the zero Hop")
	}
}

func TestMatrixRefusesTenThousand(t *testing.T) {
	m := &Machine{Source: "test", CPUs: []CPU{{}}}
	for i := range 10_000 {
		bus := fmt.Sprintf("%04x:%02x:00.0", i/256, i%256)
		m.GPUs = append(m.GPUs, GPU{Index: i, Bus: bus})
		m.CPUs[0].Devices = append(m.CPUs[0].Devices, Device{Bus: bus, Class: class3D})
	}
	x := m.Matrix()
	if len(x.Devices) != 0 || len(x.Gaps) != 1 || !strings.Contains(x.Gaps[0], "10000 GPUs and NICs: a matrix holds at most 1024") {
		t.Errorf("gives %d devices, %q", len(x.Devices), x.Gaps)
	}
	if p := m.Pairing(); len(p.Pairs) != 0 {
		t.Errorf("gives %d pairs", len(p.Pairs))
	}
}

func TestSelectAndWithNICs(t *testing.T) {
	x := sampleTree().Matrix().Select([]int{0, 3, 99, -1, 5})
	if got := cells(x); got != "X PIX PHB \nPIX X PHB \nPHB PHB X \n" {
		t.Errorf("Select gives\n%s", got)
	}
	y := x.WithNICs([]MatrixDevice{{Label: "NIC9", Bus: "0000:77:00.0", NUMA: -1}})
	if got := cells(y); got != "X PIX PHB ? \nPIX X PHB ? \nPHB PHB X ? \n? ? ? X \n" || y.Devices[3].Kind != KindNIC {
		t.Errorf("WithNICs gives\n%s", got)
	}
	if len(x.Hops[0]) != 3 {
		t.Error("WithNICs changed the matrix that it was called on")
	}
}
