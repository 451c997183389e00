package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// maxDepth bounds how deep a tree of devices is followed: PCIe switches are cascaded two or three times, and
// a chain of parents with a loop has no end.
const maxDepth = 64

// FromFacts returns the machine of a node's facts: its GPUs, the RDMA devices with their ports, NVSwitches and
// the PCIe switches above them. A network interface without an RDMA device counts as a NIC of the fabric where
// its chip is in the catalog and either no RDMA device was found or others of that chip are RDMA devices.
// So does a function without an interface, as on a hypervisor that passes it to a virtual machine: where no
// RDMA device was found, or GPUs are passed through too.
// What the facts lack comes from the catalog by PCI id, in particular NVLink and XGMI, or is missing;
// both are recorded in Gaps.
func FromFacts(f *fabric.Facts, cat *catalog.Catalog) *Machine {
	source := cmp.Or(f.Source, "unknown") + " facts"
	if f.Hardware != "" {
		source = "facts of " + f.Hardware + " hardware"
	}
	m := &Machine{Name: f.Node, Source: source}
	if f.Machine.NUMANodes != nil {
		m.NUMANodes = *f.Machine.NUMANodes
	}
	x := factsTree{m: m, facts: f, cat: cat, pci: make(map[string]*fabric.PCIDevice, len(f.PCI))}
	for i := range f.PCI {
		x.pci[f.PCI[i].Address] = &f.PCI[i]
	}
	x.gpus()
	x.nics()
	x.tree()
	x.numa()
	x.scaleUp()
	x.coherent()
	x.hiddenRoots()
	x.unread()
	return m
}

// hiddenRoots marks the NICs that Hyper-V gives to a guest: each has a domain of its own below a device of VMBus, and not
// below the firmware's PCI tree, so that its path in sysfs does not begin with a root (Linux,
// drivers/pci/controller/pci-hyperv.c).
func (x *factsTree) hiddenRoots() {
	v, guest := x.facts.Machine.Vendor, x.facts.Machine.Hypervisor
	if v == nil || *v != "Microsoft Corporation" || guest == nil || !*guest {
		return
	}
	for i, n := range x.m.NICs {
		domain, bus, ok := domainAndBus(n.Bus)
		x.m.NICs[i].HiddenRoot = ok && domain != "0000" && bus == 0 && len(x.above(n.Bus)) == 0
	}
}

// unread records the facts that could not be read and on which a device or its place depends.
func (x *factsTree) unread() {
	needed := []string{
		fabric.FactPCI, fabric.FactPCIDevice, fabric.FactPCINUMANode, fabric.FactGPUs, fabric.FactHCAs, fabric.FactHCAPCI, fabric.FactPorts, fabric.FactNICs, fabric.FactNICPCI,
	}
	for _, missing := range x.facts.Missing {
		path, of, _ := strings.Cut(missing.What, " ")
		if missing.Absent || !slices.Contains(needed, path) {
			continue
		}
		x.m.addUnread(strings.TrimSpace(fmt.Sprintf("%s %s", path, of)) + ": " + missing.Reason)
	}
	for _, h := range x.facts.HCAs {
		if len(h.Ports) == 0 {
			x.m.addUnread(fmt.Sprintf("%s: no port was found", h.Name))
		}
	}
}

// factsTree builds the tree from the flat list of PCI functions.
type factsTree struct {
	m     *Machine
	facts *fabric.Facts
	cat   *catalog.Catalog
	pci   map[string]*fabric.PCIDevice
}

func (x *factsTree) gpus() {
	gpus := slices.Clone(x.facts.GPUs)
	slices.SortStableFunc(gpus, func(a, b fabric.GPU) int { return CompareBus(a.PCI, b.PCI) })
	for i, g := range gpus {
		out := GPU{Index: i, Bus: g.PCI, Name: g.Name, NUMA: -1, UUID: g.UUID}
		if d := x.pci[g.PCI]; d != nil {
			if id, model, ok := x.cat.GPUByPCI(d.Vendor, d.Device); ok {
				out.Model = id
				out.Name = cmp.Or(out.Name, model.Title)
				out.SM, out.GCN = Architecture(model.Arch)
			}
		}
		if out.Model == "" {
			x.m.AddGap(fmt.Sprintf("GPU%d: not in the catalog: architecture and links are unknown", i))
		}
		x.m.GPUs = append(x.m.GPUs, out)
	}
}

func (x *factsTree) nics() {
	chips := make(map[string]bool) // of RDMA devices
	taken := make(map[string]bool) // PCI functions
	for _, h := range x.facts.HCAs {
		bus := x.functionOf(h)
		model := x.nicModel(bus)
		chips[model], taken[bus] = true, true
		for _, p := range h.Ports {
			x.port(h, p, bus, model)
		}
	}
	for _, n := range x.facts.NICs {
		model := x.nicModel(n.PCI)
		if n.PCI == "" || taken[n.PCI] || model == "" || len(x.facts.HCAs) > 0 && !chips[model] {
			continue
		}
		taken[n.PCI] = true
		nic := NIC{Name: n.Name, Bus: n.PCI, Model: model, NUMA: -1}
		if n.SpeedMbps != nil && *n.SpeedMbps > 0 {
			nic.Mbps = *n.SpeedMbps
		}
		x.m.NICs = append(x.m.NICs, x.withRate(nic))
		if len(x.facts.HCAs) > 0 {
			x.m.AddGap(fmt.Sprintf("%s: has no RDMA device, although others of its kind have one", n.Name))
		}
	}
	x.unboundNICs(taken)
	slices.SortStableFunc(x.m.NICs, func(a, b NIC) int {
		return cmp.Or(CompareBus(a.Bus, b.Bus), cmp.Compare(a.Port, b.Port), cmp.Compare(a.Name, b.Name))
	})
	for i := range x.m.NICs {
		x.m.NICs[i].Index = i
	}
}

// passThrough is the driver that holds a function for a virtual machine (Linux, Documentation/driver-api/vfio.rst).
const passThrough = "vfio-pci"

// unboundNICs adds the NICs that are known only by their PCI function.
func (x *factsTree) unboundNICs(taken map[string]bool) {
	for _, n := range x.facts.NICs {
		taken[n.PCI] = true
	}
	given := slices.ContainsFunc(x.m.GPUs, func(g GPU) bool { d := x.pci[g.Bus]; return d != nil && d.Driver == passThrough })
	if len(x.facts.HCAs) > 0 && !given {
		return
	}
	for i := range x.facts.PCI {
		d := &x.facts.PCI[i]
		model := x.nicModel(d.Address)
		if d.Class>>16 != classEthernet>>16 || taken[d.Address] || model == "" {
			continue
		}
		taken[d.Address] = true
		x.m.NICs = append(x.m.NICs, x.withRate(NIC{Bus: d.Address, Model: model, NUMA: -1, Unbound: true}))
		x.m.AddGap(fmt.Sprintf("%s: NIC known only by its PCI id (driver %s): no interface and no RDMA device, so name and state are unknown", d.Address, cmp.Or(d.Driver, "none")))
	}
}

// functionOf returns the PCI function of an RDMA device; that of its interface where it has none of its own, as
// soft-RoCE.
func (x *factsTree) functionOf(h fabric.HCA) string {
	if h.PCI != "" {
		return h.PCI
	}
	for _, p := range h.Ports {
		for _, g := range p.GIDs {
			for _, n := range x.facts.NICs {
				if g.NetDev != "" && n.Name == g.NetDev && n.PCI != "" {
					return n.PCI
				}
			}
		}
	}
	x.m.AddGap(fmt.Sprintf("%s: unknown PCI function", h.Name))
	return ""
}

func (x *factsTree) nicModel(bus string) string {
	d := x.pci[bus]
	if d == nil {
		return ""
	}
	id, _, _ := x.cat.NICByPCI(d.Vendor, d.Device)
	return id
}

func (x *factsTree) port(h fabric.HCA, p fabric.Port, bus, model string) {
	n := NIC{Name: h.Name, Bus: bus, Port: p.Number, Model: model, NUMA: -1, GUID: guidOf(cmp.Or(h.SystemGUID, h.NodeGUID))}
	if p.RateGbps != nil && *p.RateGbps > 0 && p.State != "DOWN" {
		n.Mbps = int(*p.RateGbps * 1000)
	}
	if p.State != "ACTIVE" && p.State != "" {
		x.m.AddGap(fmt.Sprintf("%s port %d is %s: NCCL does not use it in this state", h.Name, p.Number, p.State))
	}
	x.m.NICs = append(x.m.NICs, x.withRate(n))
}

// withRate returns a NIC without a line rate with that of its model.
func (x *factsTree) withRate(n NIC) NIC {
	if n.Mbps > 0 {
		return n
	}
	if rate := x.cat.NICs[n.Model].Rate(); rate > 0 {
		n.Mbps = int(rate * 1000)
		x.m.AddGap(fmt.Sprintf("%s: line rate from the catalog, %g Gb/s", cmp.Or(n.Name, n.Bus), rate))
		return n
	}
	x.m.AddGap(fmt.Sprintf("%s: unknown line rate", cmp.Or(n.Name, n.Bus)))
	return n
}

// guidOf reads 5c25:7303:00e1:2a34; 0 where the text is not a GUID.
func guidOf(text string) uint64 {
	n, err := strconv.ParseUint(strings.ReplaceAll(text, ":", ""), 16, 64)
	if err != nil {
		return 0
	}
	return n
}

// scaleUp connects the GPUs as in the catalog: the facts do not count links.
func (x *factsTree) scaleUp() {
	models := make(map[string]bool)
	for _, g := range x.m.GPUs {
		models[g.Model] = true
	}
	if len(models) > 1 {
		x.m.AddGap("GPUs of several models: the links between them are unknown")
		return
	}
	for id := range models {
		model := x.cat.GPUs[id]
		if model.ScaleUpLinks.Value == 0 || len(x.m.GPUs) < 2 {
			return
		}
		kind := ScaleUpKind(model)
		x.m.Gaps = append(x.m.Gaps, JoinGPUs(x.m, model, kind, max(len(x.m.GPUs), BoardSize(model)))...)
		if model.Vendor == "nvidia" && x.isDirect() {
			joinDirect(x.m, int(model.ScaleUpLinks.Value))
		}
		x.m.AddGap(fmt.Sprintf("the facts do not have the %s links of the GPUs: assumed all links of %s in the catalog, all up", kind, id))
	}
}

func (x *factsTree) coherent() {
	if len(x.m.CPUs) == 0 {
		return
	}
	for i, g := range x.m.GPUs {
		if model, ok := x.cat.GPUs[g.Model]; ok && IsCoherent(model, x.m.CPUs[0].Arch) {
			x.m.GPUs[i].Coherent = true
			x.m.AddGap(noC2C)
		}
	}
}

// isDirect reports whether a board of two to four GPUs has NVLinks from GPU to GPU: a whole machine, without an
// NVSwitch among its PCI functions. A part of a larger board in a virtual machine looks the same except for the
// hypervisor.
func (x *factsTree) isDirect() bool {
	n := len(x.m.GPUs)
	virtual := x.facts.Machine.Hypervisor == nil || *x.facts.Machine.Hypervisor
	older := x.m.GPUs[0].SM < 100 // from Blackwell on, NVSwitches are not PCI functions of the host
	seen := slices.ContainsFunc(slices.Collect(maps.Values(x.pci)), func(d *fabric.PCIDevice) bool { return isNVSwitch(d) })
	return n >= 2 && n <= 4 && !virtual && older && !seen
}

func joinDirect(m *Machine, links int) {
	for i := range m.GPUs {
		m.GPUs[i].Links = nil
	}
	joinAll(m, max(1, links/(len(m.GPUs)-1)), false)
}
