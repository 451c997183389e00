package ncclxml

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// Machine returns the machine that a topology file describes to NCCL (NVIDIA/nccl 2.30, src/graph/topo.cc,
// ncclTopoAddCpu, AddPci, AddNet, AddNvLinks, AddC2c). Numbers are read as C reads them, a link speed
// unknown to NCCL is its 8 GT/s, an absent line rate its 10 Gb/s. Gaps has what was misread in this way, and
// what such a file does not contain: host bridges, and the trained speed of links. An empty <pci> is
// the GPU or NIC of its class, as in the files of cloud providers: NCCL finds it by its bus id. Devices without a
// number are numbered in the order of their addresses, as CUDA does.
func (d *Document) Machine() *topology.Machine {
	m := &topology.Machine{Source: "NCCL XML"}
	x := machineReader{m: m}
	for _, root := range d.WithDevices().Roots {
		if root.Name != "system" {
			m.AddGap(fmt.Sprintf("line %d: <%s> is not <system>: left out", root.Line, root.Name))
			continue
		}
		for _, e := range root.Children {
			if e.Name == "cpu" {
				x.cpu(e)
			}
		}
	}
	slices.SortStableFunc(m.CPUs, func(a, b topology.CPU) int { return cmp.Compare(a.NUMA, b.NUMA) })
	x.numbers()
	slices.SortStableFunc(m.GPUs, func(a, b topology.GPU) int { return cmp.Compare(a.Index, b.Index) })
	slices.SortStableFunc(m.NICs, func(a, b topology.NIC) int { return cmp.Compare(a.Index, b.Index) })
	for _, c := range m.CPUs {
		if c.NUMA >= 0 {
			m.NUMANodes++
		}
	}
	return m
}

type machineReader struct {
	m    *topology.Machine
	numa int
}

// unnumbered is the index of a device until all devices with a number are known.
const unnumbered = -1 << 31

// numbers assigns each device without a number the lowest free one, in the order of their addresses.
func (x *machineReader) numbers() {
	var gpus, nics []numbered
	for i := range x.m.GPUs {
		gpus = append(gpus, numbered{x.m.GPUs[i].Bus, &x.m.GPUs[i].Index})
	}
	for i := range x.m.NICs {
		nics = append(nics, numbered{x.m.NICs[i].Bus, &x.m.NICs[i].Index})
	}
	for _, all := range [][]numbered{gpus, nics} {
		taken := map[int]bool{}
		for _, n := range all {
			taken[*n.index] = true
		}
		slices.SortStableFunc(all, func(a, b numbered) int { return topology.CompareBus(a.bus, b.bus) })
		next := 0
		for _, n := range all {
			if *n.index != unnumbered {
				continue
			}
			for taken[next] {
				next++
			}
			*n.index = next
			next++
		}
	}
}

type numbered struct {
	bus   string
	index *int
}

func (x *machineReader) cpu(e *Element) {
	c := topology.CPU{NUMA: -1, Family: e.IntegerOr("familyid", 0), Model: e.IntegerOr("modelid", 0)}
	if _, ok := e.Get("numaid"); ok {
		c.NUMA = e.IntegerOr("numaid", 0)
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

func (x *machineReader) pci(e *Element, depth int) topology.Device {
	d := topology.Device{Class: uint32(e.IntegerOr("class", 0)), Width: max(e.IntegerOr("link_width", 0), 0),
		Vendor: uint16(e.IntegerOr("vendor", 0)), Device: uint16(e.IntegerOr("device", 0)),
		SubsystemVendor: uint16(e.IntegerOr("subsystem_vendor", 0)), SubsystemDevice: uint16(e.IntegerOr("subsystem_device", 0))}
	d.Bus = x.bus(e, "busid")
	d.Speed = x.speed(e)
	d.MaxSpeed, d.MaxWidth = d.Speed, d.Width
	for _, child := range e.Children {
		switch {
		case child.Name == "gpu":
			x.gpu(child, d.Bus)
		case child.Name == "nic":
			x.nic(child, d.Bus)
		case child.Name == "pci" && depth < MaxDepth:
			d.Children = append(d.Children, x.pci(child, depth+1))
		case child.Name == "pci":
			x.m.AddGap(fmt.Sprintf("line %d: more than %d levels of devices: left out", child.Line, MaxDepth))
		}
	}
	return d
}

// bus reads an address; an invalid one is kept as written.
func (x *machineReader) bus(e *Element, attribute string) string {
	text, _ := e.Get(attribute)
	bus, err := topology.ParseBus(text)
	if err == nil {
		return bus
	}
	if text != topology.UnseenNVSwitch {
		x.m.AddGap(fmt.Sprintf("line %d: %s: %v", e.Line, attribute, err))
	}
	return text
}

// speed reads link_speed as NCCL's table does.
func (x *machineReader) speed(e *Element) float64 {
	text, written := e.Get("link_speed")
	if !written {
		return 0
	}
	speed, known := linkSpeed(text)
	if !known {
		x.m.AddGap(fmt.Sprintf("line %d: link_speed %s is not in NCCL's table: NCCL assumes 8 GT/s", e.Line, fabric.Quote(text)))
	}
	return speed
}

func (x *machineReader) gpu(e *Element, bus string) {
	if len(e.Attributes) == 0 && len(e.Children) == 0 {
		x.m.AddGap("the file does not have the GPUs' models and links: NCCL queries the driver")
	}
	g := topology.GPU{Index: unnumbered, Bus: bus, SM: e.IntegerOr("sm", 0), NUMA: x.numa, GDR: truthOf(e, "gdr")}
	if _, ok := e.Get("dev"); ok {
		g.Index = e.IntegerOr("dev", 0)
	}
	if g.GCN = GCN(e); g.GCN != "" {
		g.SM = 0 // RCCL writes HIP's version there
	}
	for _, child := range e.Children {
		switch child.Name {
		case "nvlink", "xgmi":
			g.Links = append(g.Links, x.link(child))
		case "c2c":
			g.C2C, g.Coherent = &topology.C2C{Count: child.IntegerOr("count", 0), MBytes: child.IntegerOr("bw", 0)}, true
		}
	}
	x.m.GPUs = append(x.m.GPUs, g)
}

func (x *machineReader) link(e *Element) topology.ScaleUp {
	l := topology.ScaleUp{Target: x.bus(e, "target"), Count: e.IntegerOr("count", 0), Class: uint32(e.IntegerOr("tclass", 0)), XGMI: e.Name == "xgmi"}
	if _, ok := e.Get("count"); !ok {
		x.m.AddGap(fmt.Sprintf("line %d: <%s> has no count: NCCL refuses the file", e.Line, e.Name))
	}
	if _, ok := e.Get("tclass"); !ok {
		l.Class = topology.ClassNVSwitch
		x.m.AddGap(fmt.Sprintf("line %d: <%s> has no tclass: assumed an NVSwitch", e.Line, e.Name))
	}
	return l
}

func (x *machineReader) nic(e *Element, bus string) {
	for _, net := range e.Children {
		if net.Name != "net" {
			continue
		}
		n := topology.NIC{Index: unnumbered, Bus: bus, Mbps: net.IntegerOr("speed", 0), Port: net.IntegerOr("port", 0), NUMA: x.numa,
			GDR: truthOf(net, "gdr"), MaxConn: net.IntegerOr("maxconn", 0)}
		n.Name, _ = net.Get("name")
		if _, ok := net.Get("dev"); ok {
			n.Index = net.IntegerOr("dev", 0)
		}
		if text, ok := net.Get("guid"); ok {
			n.GUID = Strtoull(text)
		}
		if text, ok := net.Get("latency"); ok {
			if v, err := strconv.ParseFloat(text, 64); err == nil {
				n.Latency = &v
			}
		}
		switch {
		case len(net.Attributes) == 0:
			x.m.AddGap("the file does not have names and line rates of NICs: NCCL queries its network plugin")
		case n.Mbps <= 0:
			n.Mbps = AssumedMbps
			x.m.AddGap(fmt.Sprintf("line %d: net %s has no speed: NCCL assumes 10 Gb/s", net.Line, fabric.Quote(n.Name)))
		}
		x.m.NICs = append(x.m.NICs, n)
	}
}

func truthOf(e *Element, name string) *bool {
	if _, ok := e.Get(name); !ok {
		return nil
	}
	is := e.IntegerOr(name, 0) != 0
	return &is
}
