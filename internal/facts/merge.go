package facts

import (
	"cmp"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// merger puts what tools tell into facts: a fact that is there stays, and where a tool says otherwise the
// disagreement is noted. A list that the kernel told takes no further entries.
type merger struct {
	f      *fabric.Facts
	kernel map[string]bool   // lists that the kernel told
	told   map[string]string // who told a fact, where it was not the kernel
	tool   string            // whose parts are being merged
}

const kernelSource = "kernel"

func newMerger(f *fabric.Facts) *merger {
	return &merger{
		f: f,
		kernel: map[string]bool{
			fabric.FactNICs: len(f.NICs) > 0, fabric.FactHCAs: len(f.HCAs) > 0, fabric.FactGPUs: len(f.GPUs) > 0, fabric.FactPCI: len(f.PCI) > 0,
			fabric.FactRoutes: len(f.Routes) > 0, fabric.FactRules: len(f.Rules) > 0,
		},
		told: make(map[string]string),
	}
}

// missTool notes for all that a tool tells why it is unknown, of one device or of all.
func (m *merger) missTool(t tool, device string, err error) {
	for _, what := range t.tells {
		if device != "" {
			what += " " + device
		}
		entry := fabric.Missing{What: what, Source: t.name, Reason: fabric.Printable(reason(err))}
		if !slices.Contains(m.f.Missing, entry) {
			m.f.Missing = append(m.f.Missing, entry)
		}
	}
}

// merge puts in the parts that a tool told.
func (m *merger) merge(t tool, parts fabric.Facts) {
	m.tool = t.name
	for _, d := range parts.PCI {
		m.mergePCI(d)
	}
	for _, n := range parts.NICs {
		m.mergeNIC(n)
	}
	for _, h := range parts.HCAs {
		m.mergeHCA(h)
	}
	for _, g := range parts.GPUs {
		m.mergeGPU(g)
	}
	for _, mod := range parts.Modules {
		m.mergeModule(mod)
	}
	m.f.Routes = added(m.kernel[fabric.FactRoutes], m.f.Routes, parts.Routes)
	m.f.Rules = added(m.kernel[fabric.FactRules], m.f.Rules, parts.Rules)
	m.f.Missing = added(false, m.f.Missing, parts.Missing)
	if m.f.KernelLog == nil {
		m.f.KernelLog = parts.KernelLog
	}
	keepPointer(m, fabric.FactKernelPeerMemory, &m.f.Kernel.PeerMemory, parts.Kernel.PeerMemory)
	keepPointer(m, fabric.FactKernelDMABuf, &m.f.Kernel.DMABuf, parts.Kernel.DMABuf)
	m.found(t, parts)
}

// found takes back that a list is missing, once a tool told it.
func (m *merger) found(t tool, parts fabric.Facts) {
	lists := map[string]bool{
		fabric.FactPCI: len(parts.PCI) > 0, fabric.FactGPUs: len(parts.GPUs) > 0 || len(parts.PCI) > 0, fabric.FactNICs: len(parts.NICs) > 0,
		fabric.FactHCAs: len(parts.HCAs) > 0, fabric.FactRoutes: len(parts.Routes) > 0, fabric.FactRules: len(parts.Rules) > 0,
		fabric.FactNICAddresses: t.name == "ip address" && len(parts.NICs) > 0,
	}
	m.f.Missing = slices.DeleteFunc(m.f.Missing, func(e fabric.Missing) bool { return lists[e.What] && !m.kernel[e.What] })
}

// added appends what is not there yet, unless the kernel told the list.
func added[T comparable](fromKernel bool, have, said []T) []T {
	if fromKernel {
		return have
	}
	there := make(map[T]bool, len(have)+len(said))
	for _, one := range have {
		there[one] = true
	}
	for _, one := range said {
		if !there[one] {
			there[one] = true
			have = append(have, one)
		}
	}
	return have
}

func (m *merger) mergePCI(said fabric.PCIDevice) {
	i := slices.IndexFunc(m.f.PCI, func(d fabric.PCIDevice) bool { return d.Address == said.Address })
	if i < 0 {
		if !m.kernel[fabric.FactPCI] && said.Class != 0 {
			m.f.PCI = append(m.f.PCI, said)
			m.told[fabric.FactPCI+" "+said.Address] = m.tool
		}
		return
	}
	d, at := &m.f.PCI[i], " "+said.Address
	keep(m, fabric.FactPCIDriver+at, &d.Driver, said.Driver)
	keepPointer(m, fabric.FactPCINUMANode+at, &d.NUMANode, said.NUMANode)
	keepPointer(m, fabric.FactPCIIOMMUGroup+at, &d.IOMMUGroup, said.IOMMUGroup)
	if d.Link == nil && said.Link != nil && said.Link.MaxWidth > 0 { // else it is not a whole link
		d.Link = said.Link
	}
	if d.Link == nil || said.Link == nil {
		return
	}
	keep(m, fabric.FactPCILinkWidth+at, &d.Link.Width, said.Link.Width)
	keep(m, fabric.FactPCILinkMaxWidth+at, &d.Link.MaxWidth, said.Link.MaxWidth)
}

func (m *merger) mergeNIC(said fabric.NIC) {
	i := slices.IndexFunc(m.f.NICs, func(n fabric.NIC) bool {
		return n.Name == said.Name || said.Name == "" && said.PCI != "" && n.PCI == said.PCI
	})
	if i < 0 {
		if !m.kernel[fabric.FactNICs] && said.Name != "" {
			m.f.NICs = append(m.f.NICs, said)
			m.told[fabric.FactNICs+" "+said.Name] = m.tool
		}
		return
	}
	n := &m.f.NICs[i]
	at := " " + n.Name
	keep(m, fabric.FactNICIndex+at, &n.Index, said.Index)
	keep(m, fabric.FactNICMTU+at, &n.MTU, said.MTU)
	keep(m, fabric.FactNICMAC+at, &n.MAC, said.MAC)
	keep(m, fabric.FactNICPCI+at, &n.PCI, said.PCI)
	keep(m, fabric.FactNICDriver+at, &n.Driver, said.Driver)
	keepPointer(m, fabric.FactNICSpeed+at, &n.SpeedMbps, said.SpeedMbps)
	keepPointer(m, fabric.FactNICAutoneg+at, &n.Autoneg, said.Autoneg)
	keep(m, fabric.FactNICFEC+at, &n.FEC, said.FEC)
	keep(m, fabric.FactNICFirmware+at, &n.Firmware, said.Firmware)
	keep(m, fabric.FactNICDriverVersion+at, &n.DriverVersion, said.DriverVersion)
	n.OperState, n.Kind = cmp.Or(n.OperState, said.OperState), cmp.Or(n.Kind, said.Kind)
	n.Carrier = cmp.Or(n.Carrier, said.Carrier)
	if n.Addresses == nil {
		n.Addresses = said.Addresses
	}
	m.compareFirmware(*n, said)
	m.compareDriver(*n, said)
}

// compareFirmware holds what a NIC says beside what the RDMA device of the same function says. Behind a blank
// or a slash drivers add the board or the package.
func (m *merger) compareFirmware(n, said fabric.NIC) {
	for _, h := range m.f.HCAs {
		if n.PCI == "" || h.PCI != n.PCI || h.Firmware == "" || said.Firmware == "" {
			continue
		}
		if firstVersion(h.Firmware) != firstVersion(said.Firmware) {
			m.disagree(fabric.FactHCAFirmware+" "+h.Name, h.Firmware, said.Firmware)
		}
	}
}

func (m *merger) compareDriver(n, said fabric.NIC) {
	for _, mod := range m.f.Modules {
		if mod.Name == n.Driver && mod.Version != "" && said.DriverVersion != "" && mod.Version != said.DriverVersion {
			m.disagree(fabric.FactModuleVersion+" "+mod.Name, mod.Version, said.DriverVersion)
		}
	}
}

func (m *merger) mergeGPU(said fabric.GPU) {
	i := slices.IndexFunc(m.f.GPUs, func(g fabric.GPU) bool { return g.PCI == said.PCI })
	if i < 0 {
		if !m.kernel[fabric.FactGPUs] {
			m.f.GPUs = append(m.f.GPUs, said)
			m.told[fabric.FactGPUs+" "+said.PCI] = m.tool
		}
		return
	}
	g, at := &m.f.GPUs[i], " "+said.PCI
	g.Name = cmp.Or(g.Name, said.Name) // vendors write one name in several ways
	keep(m, fabric.FactGPUUUID+at, &g.UUID, said.UUID)
	keep(m, fabric.FactGPUDriverVersion+at, &g.DriverVersion, said.DriverVersion)
	keep(m, fabric.FactGPUVBIOS+at, &g.VBIOS, said.VBIOS)
	g.Driver = cmp.Or(g.Driver, said.Driver)
}

// mergeModule adds to loaded modules only: what is on disk is not what runs.
func (m *merger) mergeModule(said fabric.Module) {
	for i := range m.f.Modules {
		if mod := &m.f.Modules[i]; mod.Name == said.Name {
			mod.OnDisk, mod.DKMS = cmp.Or(mod.OnDisk, said.OnDisk), cmp.Or(mod.DKMS, said.DKMS)
		}
	}
}

// keep takes a fact where none is, and notes where one is and differs.
func keep[T comparable](m *merger, what string, have *T, said T) {
	var unknown T
	switch {
	case said == unknown || *have == said:
	case *have == unknown:
		*have = said
		m.told[what] = m.tool
	default:
		m.disagree(what, fmt.Sprint(*have), fmt.Sprint(said))
	}
}

func keepPointer[T comparable](m *merger, what string, have **T, said *T) {
	switch {
	case said == nil || *have != nil && **have == *said:
	case *have == nil:
		*have = said
		m.told[what] = m.tool
	default:
		m.disagree(what, fmt.Sprint(**have), fmt.Sprint(*said))
	}
}

// disagree notes what the source of a fact and this tool say.
func (m *merger) disagree(what, have, said string) {
	first := cmp.Or(m.told[what], m.listed(what), kernelSource)
	d := fabric.Disagreement{What: what, Said: []fabric.Evidence{
		{Source: first, Value: fabric.Printable(have)}, {Source: m.tool, Value: fabric.Printable(said)},
	}}
	if !slices.ContainsFunc(m.f.Disagree, func(e fabric.Disagreement) bool {
		return e.What == d.What && slices.Equal(e.Said, d.Said)
	}) {
		m.f.Disagree = append(m.f.Disagree, d)
	}
}
