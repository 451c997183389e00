package ncclgraph

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/ncclxml"
)

// addCPUs creates the nodes of every <cpu> and of the elements below it (ncclTopoAddCpu).
func (b *builder) addCPUs() error {
	for _, e := range b.document.Children {
		if e.Name != "cpu" {
			continue
		}
		if err := b.addCPU(e); err != nil {
			return err
		}
	}
	if len(b.s.nodes[nodeCPU]) == 0 {
		return errors.New("no <cpu>")
	}
	if len(b.s.nodes[nodeGPU]) == 0 {
		return errors.New("no <gpu>")
	}
	if len(b.hosts) > 1 {
		return fmt.Errorf("the file fuses %d hosts by host_hash: only one host is supported", len(b.hosts))
	}
	return nil
}

func (b *builder) addCPU(e *ncclxml.Element) error {
	numa, err := e.Integer("numaid")
	if err != nil {
		return err
	}
	if b.find(nodeCPU, int64(numa)) != nil {
		return fmt.Errorf("%s: duplicate", e.Title())
	}
	host, _ := e.Get("host_hash")
	b.hosts[host] = true
	cpu, err := b.create(nodeCPU, int64(numa), "")
	if err != nil {
		return err
	}
	if cpu.cpu, err = ncclxml.HostCPUOf(e); err != nil {
		return err
	}
	for _, child := range e.Children {
		switch child.Name {
		case "pci":
			err = b.addPCI(child, cpu)
		case "nic":
			err = b.addCPUNIC(child, cpu)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addPCI creates the node of a <pci> and of the elements below it (ncclTopoAddPci).
func (b *builder) addPCI(e *ncclxml.Element, up *node) error {
	if e.Name != "pci" {
		return nil // NCCL's parser has ignored it
	}
	class, err := e.Required("class")
	if err != nil {
		return err
	}
	bus, err := e.Required("busid")
	if err != nil {
		return err
	}
	bw, err := b.pciRate(e)
	if err != nil {
		return err
	}
	var made *node
	gpu, nic := firstChild(e, "gpu"), firstChild(e, "nic")
	switch {
	case gpu != nil:
		made, err = b.addGPU(gpu, ncclxml.BusNumber(bus), bus)
	case nic != nil:
		made, err = b.addNIC(nic, ncclxml.BusNumber(bus))
	case ncclxml.ClassOf(class) == ncclxml.ClassBridge:
		made, err = b.addSwitch(e, ncclxml.BusNumber(bus))
	}
	if err != nil || made == nil {
		return err
	}
	return b.join(made, up, linkPCI, bw)
}

func (b *builder) addSwitch(e *ncclxml.Element, id int64) (*node, error) {
	n, err := b.create(nodePCI, id, "")
	if err != nil {
		return nil, err
	}
	n.device = deviceNumber(e)
	for _, child := range e.Children {
		if err := b.addPCI(child, n); err != nil {
			return nil, err
		}
	}
	return n, nil
}

func firstChild(e *ncclxml.Element, name string) *ncclxml.Element {
	if i := slices.IndexFunc(e.Children, func(c *ncclxml.Element) bool { return c.Name == name }); i >= 0 {
		return e.Children[i]
	}
	return nil
}

func (b *builder) addGPU(e *ncclxml.Element, id int64, bus string) (*node, error) {
	if b.find(nodeGPU, id) != nil {
		return nil, fmt.Errorf("%s: same address as an earlier GPU", e.Parent.Title())
	}
	n, err := b.create(nodeGPU, id, bus)
	if err != nil {
		return nil, err
	}
	n.gcn = ncclxml.GCN(e)
	n.dev, n.rank = e.IntegerOr("dev", undefined), e.IntegerOr("rank", undefined)
	if n.sm = e.IntegerOr("sm", smOfGCN(n.gcn)); n.sm == 0 {
		if n.sm = b.s.options.SM; n.sm == 0 {
			return nil, fmt.Errorf("%s: gpu has no attribute %q", e.Parent.Title(), "sm")
		}
		b.note("the file has no sm for the GPUs: assumed %d", n.sm)
	}
	_, said := e.Get("gdr")
	if !said {
		b.note("the file has no gdr for GPUs: assumed to work")
	}
	n.gdr = e.IntegerOr("gdr", 1) != 0
	b.gpus[e] = n
	return n, nil
}

// smOfGCN is HIP's major times ten plus minor: 94 of gfx942. The last two digits are minor and stepping.
func smOfGCN(gcn string) int {
	if len(gcn) < 6 || gcn[:3] != "gfx" {
		return 0
	}
	digits := gcn[3:]
	major, err := strconv.Atoi(digits[:len(digits)-2])
	minor := ncclxml.Digit(digits[len(digits)-2])
	if err != nil || minor > 15 {
		return 0
	}
	return major*10 + int(minor)
}

// addNIC creates the NETs of a <nic> below a <pci>. It returns nil where an earlier one has the same address: its
// ports are added to that one.
func (b *builder) addNIC(e *ncclxml.Element, id int64) (*node, error) {
	nic := b.find(nodeNIC, id)
	fresh := nic == nil
	if fresh {
		var err error
		if nic, err = b.create(nodeNIC, id, ""); err != nil {
			return nil, err
		}
	}
	for _, net := range e.Children {
		if net.Name != "net" {
			continue
		}
		if err := b.addNET(net, nic); err != nil {
			return nil, err
		}
	}
	if !fresh {
		return nil, nil
	}
	return nic, nil
}

// addCPUNIC creates the NETs of a <nic> below a <cpu>. All of them have number 0, so that those of a second NUMA node
// appear on the first: NCCL up to 2.30 misreads this.
func (b *builder) addCPUNIC(e *ncclxml.Element, cpu *node) error {
	nic, err := b.addNIC(e, 0)
	if err != nil {
		return err
	}
	if nic != nil {
		return b.join(nic, cpu, linkPCI, locBW)
	}
	if first := b.find(nodeNIC, 0).links[0].to; first != cpu && len(e.Children) > 0 {
		b.note("%s: a <nic> directly below a second <cpu>: NCCL treats it as one of NUMA node %d", e.Children[0].Title(), first.id)
	}
	return nil
}

// vendorAbove is the vendor of the PCI device that an element is below.
func vendorAbove(e *ncclxml.Element) string {
	pci := e.Above("pci")
	if pci == nil {
		return ""
	}
	vendor, _ := pci.Get("vendor")
	if vendor = strings.TrimPrefix(strings.ToLower(vendor), "0x"); vendor == "0000" {
		return "" // a file that leaves it out
	}
	return vendor
}

func (b *builder) addNET(e *ncclxml.Element, nic *node) error {
	if e.IntegerOr("net", 1) == 0 {
		return nil // a physical NIC that was fused into another
	}
	name, _ := e.Get("name")
	n, err := b.create(nodeNET, int64(len(b.nets)), name)
	if err != nil {
		return err
	}
	b.nets = append(b.nets, n)
	n.dev = e.IntegerOr("dev", undefined)
	mbps := e.IntegerOr("speed", 0)
	if mbps <= 0 {
		b.note("%s: no speed: NCCL assumes 10 Gb/s", e.Title())
		mbps = ncclxml.AssumedMbps
	}
	n.bw = float32(float64(mbps) / ncclxml.MbpsPerGB)
	n.port, n.coll = e.IntegerOr("port", 0), e.IntegerOr("coll", 0)
	if value, ok := e.Get("latency"); ok {
		n.latency = ncclxml.Strtof(value)
	}
	if _, said := e.Get("gdr"); !said {
		b.note("%s: the file has no gdr: assumed to work", e.Title())
	}
	n.gdr = e.IntegerOr("gdr", 1) != 0
	n.vendor = vendorAbove(e)
	guid, ok := e.Get("guid")
	if n.asic = uint64(len(b.nets) - 1); ok {
		n.asic = ncclxml.Strtoull(guid)
	}
	return b.join(n, nic, linkNET, n.bw)
}
