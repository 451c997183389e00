package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// FromDocument gives the machine that NCCL takes a topology file for (NVIDIA/nccl 2.30, src/graph/topo.cc,
// ncclTopoAddCpu, AddPci, AddNet, AddNvLinks, AddC2c). Numbers are read as C reads them, a link speed whose
// text NCCL does not know is its 8 GT/s, an absent line rate its 10 Gb/s. Gaps says what was misread so, and
// what a file of this form cannot tell: host bridges, and of links what they train at.
func FromDocument(d *Document) *Machine {
	m := &Machine{Source: "NCCL XML"}
	x := documentTree{m: m}
	for _, root := range d.Roots {
		if root.Name != "system" {
			m.gap(fmt.Sprintf("line %d: <%s> is not <system>: left out", root.Line, root.Name))
			continue
		}
		for _, e := range root.Children {
			if e.Name == "cpu" {
				x.cpu(e)
			}
		}
	}
	slices.SortStableFunc(m.CPUs, func(a, b CPU) int { return cmp.Compare(a.NUMA, b.NUMA) })
	slices.SortStableFunc(m.GPUs, func(a, b GPU) int { return cmp.Compare(a.Index, b.Index) })
	slices.SortStableFunc(m.NICs, func(a, b NIC) int { return cmp.Compare(a.Index, b.Index) })
	for _, c := range m.CPUs {
		if c.NUMA >= 0 {
			m.NUMANodes++
		}
	}
	return m
}

type documentTree struct {
	m    *Machine
	numa int
}

func (x *documentTree) cpu(e *Element) {
	c := CPU{NUMA: -1, Family: number(e, "familyid"), Model: number(e, "modelid")}
	if _, ok := e.Get("numaid"); ok {
		c.NUMA = number(e, "numaid")
	}
	c.Arch, _ = e.Get("arch")
	c.Vendor, _ = e.Get("vendor")
	c.Affinity, _ = e.Get("affinity")
	x.numa = c.NUMA
	for _, child := range e.Children {
		switch child.Name {
		case "pci":
			c.Devices = append(c.Devices, x.pci(child, 1))
		case "nic":
			x.nic(child, "")
		}
	}
	x.m.CPUs = append(x.m.CPUs, c)
}

func (x *documentTree) pci(e *Element, depth int) Device {
	d := Device{Class: uint32(number(e, "class")), Width: max(number(e, "link_width"), 0),
		Vendor: uint16(number(e, "vendor")), Device: uint16(number(e, "device")),
		SubsystemVendor: uint16(number(e, "subsystem_vendor")), SubsystemDevice: uint16(number(e, "subsystem_device"))}
	d.Bus = x.bus(e, "busid")
	d.Speed = x.speed(e)
	d.MaxSpeed, d.MaxWidth = d.Speed, d.Width
	for _, child := range e.Children {
		switch {
		case child.Name == "gpu":
			x.gpu(child, d.Bus)
		case child.Name == "nic":
			x.nic(child, d.Bus)
		case child.Name == "pci" && depth < documentDepth:
			d.Children = append(d.Children, x.pci(child, depth+1))
		case child.Name == "pci":
			x.m.gap(fmt.Sprintf("line %d: more than %d levels of devices: left out", child.Line, documentDepth))
		}
	}
	return d
}

// bus reads an address; one that is none stays as it is written.
func (x *documentTree) bus(e *Element, attribute string) string {
	text, _ := e.Get(attribute)
	bus, err := ParseBus(text)
	if err == nil {
		return bus
	}
	if text != UnseenNVSwitch {
		x.m.gap(fmt.Sprintf("line %d: %s: %v", e.Line, attribute, err))
	}
	return text
}

// speed reads link_speed as NCCL's table does.
func (x *documentTree) speed(e *Element) float64 {
	text, written := e.Get("link_speed")
	if !written {
		return 0
	}
	for _, entry := range pciSpeeds() {
		if strings.HasPrefix(text, entry.prefix) {
			digits, _, _ := strings.Cut(entry.prefix, " ")
			speed, _ := strconv.ParseFloat(digits, 64)
			return speed
		}
	}
	x.m.gap(fmt.Sprintf("line %d: link_speed %q is not in NCCL's table: it takes 8 GT/s", e.Line, clip(text)))
	return 8
}

func (x *documentTree) gpu(e *Element, bus string) {
	g := GPU{Index: len(x.m.GPUs), Bus: bus, SM: number(e, "sm"), NUMA: x.numa, GDR: truthOf(e, "gdr")}
	if _, ok := e.Get("dev"); ok {
		g.Index = number(e, "dev")
	}
	if g.GCN = gcnName(e); g.GCN != "" {
		g.SM = 0 // RCCL writes HIP's version there
	}
	for _, child := range e.Children {
		switch child.Name {
		case "nvlink", "xgmi":
			g.Links = append(g.Links, x.link(child))
		case "c2c":
			g.C2C, g.Coherent = &C2C{Count: number(child, "count"), MBytes: number(child, "bw")}, true
		}
	}
	x.m.GPUs = append(x.m.GPUs, g)
}

func (x *documentTree) link(e *Element) ScaleUp {
	l := ScaleUp{Target: x.bus(e, "target"), Count: number(e, "count"), Class: uint32(number(e, "tclass")), XGMI: e.Name == "xgmi"}
	if _, ok := e.Get("count"); !ok {
		x.m.gap(fmt.Sprintf("line %d: <%s> has no count: NCCL refuses the file", e.Line, e.Name))
	}
	if _, ok := e.Get("tclass"); !ok {
		l.Class = ClassNVSwitch
		x.m.gap(fmt.Sprintf("line %d: <%s> has no tclass: taken for an NVSwitch", e.Line, e.Name))
	}
	return l
}

// defaultMbps is what NCCL takes a net without a speed for (src/graph/topo.cc, ncclTopoAddNet), Mb/s.
const defaultMbps = 10_000

func (x *documentTree) nic(e *Element, bus string) {
	for _, net := range e.Children {
		if net.Name != "net" {
			continue
		}
		n := NIC{Index: len(x.m.NICs), Bus: bus, Mbps: number(net, "speed"), Port: number(net, "port"), NUMA: x.numa,
			GDR: truthOf(net, "gdr"), MaxConn: number(net, "maxconn")}
		n.Name, _ = net.Get("name")
		if _, ok := net.Get("dev"); ok {
			n.Index = number(net, "dev")
		}
		if text, ok := net.Get("guid"); ok {
			n.GUID, _ = strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
		}
		if text, ok := net.Get("latency"); ok {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				n.Latency = &v
			}
		}
		if n.Mbps <= 0 {
			n.Mbps = defaultMbps
			x.m.gap(fmt.Sprintf("line %d: net %q has no speed: NCCL takes 10 Gb/s", net.Line, clip(n.Name)))
		}
		x.m.NICs = append(x.m.NICs, n)
	}
}

// number reads an attribute as C's strtol with base 0 does: what is no number at its start is 0.
func number(e *Element, name string) int {
	text, _ := e.Get(name)
	return int(cInteger(text, 0))
}

func truthOf(e *Element, name string) *bool {
	if _, ok := e.Get(name); !ok {
		return nil
	}
	is := number(e, name) != 0
	return &is
}
