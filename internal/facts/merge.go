package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// merger adds what tools report to facts: an existing fact stays, and where a tool reports another value the
// disagreement is noted. A list that the kernel gave gets no further entries.
type merger struct {
	f       *fabric.Facts
	kernel  map[string]bool   // lists that the kernel gave
	givenBy map[string]string // the tool that gave a fact, where it was not the kernel
	tool    string            // whose parts are being merged
}

const kernelSource = "kernel"

func newMerger(f *fabric.Facts) *merger {
	return &merger{
		f: f,
		kernel: map[string]bool{
			fabric.FactNICs: len(f.NICs) > 0, fabric.FactHCAs: len(f.HCAs) > 0, fabric.FactGPUs: len(f.GPUs) > 0, fabric.FactPCI: len(f.PCI) > 0,
			fabric.FactRoutes: len(f.Routes) > 0, fabric.FactRules: len(f.Rules) > 0, fabric.FactModules: len(f.Modules) > 0,
		},
		givenBy: make(map[string]string),
	}
}

// missTool notes for everything that a tool gives why it is unknown, of one device or of all.
func (m *merger) missTool(t tool, device string, err error) {
	for _, what := range t.gives {
		if device != "" {
			what += " " + device
		}
		entry := fabric.Missing{What: what, Source: t.name, Reason: fabric.Printable(reason(err))}
		if !slices.Contains(m.f.Missing, entry) {
			m.f.Missing = append(m.f.Missing, entry)
		}
	}
}

// merge adds the parts that a tool reported.
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
	m.mergeFabricManager(parts.FabricManager)
	m.mergeShare(parts.NVShare)
	keep(m, fabric.FactSMVirtual, &m.f.SMVirtual, parts.SMVirtual)
	m.mergeKernel(parts)
	m.f.Routes = added(m.kernel[fabric.FactRoutes], m.f.Routes, parts.Routes)
	m.f.Rules = added(m.kernel[fabric.FactRules], m.f.Rules, parts.Rules)
	m.f.Missing = added(false, m.f.Missing, parts.Missing)
	m.f.Providers = added(false, m.f.Providers, parts.Providers)
	if m.f.Packages == nil {
		m.f.Packages = parts.Packages
	}
	if m.f.KernelLog == nil {
		m.f.KernelLog = parts.KernelLog
	}
	m.mergeKube(parts.Kube)
	m.f.NetworkFiles = append(m.f.NetworkFiles, parts.NetworkFiles...)
	m.f.LLDP = append(m.f.LLDP, parts.LLDP...)
	for name, value := range parts.NCCL {
		if m.f.NCCL == nil {
			m.f.NCCL = map[string]string{}
		}
		m.f.NCCL[name] = value
	}
	m.f.Machine.HotPlug = cmp.Or(m.f.Machine.HotPlug, parts.Machine.HotPlug)
	if m.f.NICFile == nil {
		m.f.NICFile = parts.NICFile
	}
	m.f.Kernel.PeerMemoryBy = cmp.Or(m.f.Kernel.PeerMemoryBy, parts.Kernel.PeerMemoryBy)
	m.mergeFirewall(parts.Firewall)
	keepPointer(m, fabric.FactKernelPeerMemory, &m.f.Kernel.PeerMemory, parts.Kernel.PeerMemory)
	keepPointer(m, fabric.FactKernelDMABuf, &m.f.Kernel.DMABuf, parts.Kernel.DMABuf)
	m.found(t, parts)
}

// mergeKernel takes what a text says of the kernel where it is not there itself.
func (m *merger) mergeKernel(parts fabric.Facts) {
	if (m.tool == "lsmod" || m.tool == nvrmTool) && !m.kernel[fabric.FactModules] {
		for _, mod := range parts.Modules {
			if !slices.ContainsFunc(m.f.Modules, func(have fabric.Module) bool { return have.Name == mod.Name }) {
				m.f.Modules = append(m.f.Modules, mod)
			}
		}
	}
	m.f.Kernel.Release = cmp.Or(m.f.Kernel.Release, parts.Kernel.Release)
	m.f.Kernel.CommandLine = cmp.Or(m.f.Kernel.CommandLine, parts.Kernel.CommandLine)
	m.f.Kernel.OS = cmp.Or(m.f.Kernel.OS, parts.Kernel.OS)
	m.f.Machine.MemlockLimit = cmp.Or(m.f.Machine.MemlockLimit, parts.Machine.MemlockLimit)
}

// found removes the entry that a list is missing, once a tool gave it.
func (m *merger) found(t tool, parts fabric.Facts) {
	lists := map[string]bool{
		fabric.FactPCI: len(parts.PCI) > 0, fabric.FactGPUs: len(parts.GPUs) > 0 || len(parts.PCI) > 0, fabric.FactNICs: len(parts.NICs) > 0,
		fabric.FactHCAs: len(parts.HCAs) > 0, fabric.FactRoutes: len(parts.Routes) > 0, fabric.FactRules: len(parts.Rules) > 0,
		fabric.FactNICAddresses: t.name == "ip address" && len(parts.NICs) > 0,
	}
	m.f.Missing = slices.DeleteFunc(m.f.Missing, func(e fabric.Missing) bool { return lists[e.What] && !m.kernel[e.What] })
}

// added appends what is not there yet, unless the kernel gave the list.
func added[T comparable](fromKernel bool, have, reported []T) []T {
	if fromKernel {
		return have
	}
	there := make(map[T]bool, len(have)+len(reported))
	for _, one := range have {
		there[one] = true
	}
	for _, one := range reported {
		if !there[one] {
			there[one] = true
			have = append(have, one)
		}
	}
	return have
}

func (m *merger) mergePCI(reported fabric.PCIDevice) {
	i := slices.IndexFunc(m.f.PCI, func(d fabric.PCIDevice) bool { return d.Address == reported.Address })
	if i < 0 {
		if !m.kernel[fabric.FactPCI] && (reported.Class != 0 || reported.Regions != nil) {
			m.f.PCI = append(m.f.PCI, reported)
			m.givenBy[fabric.FactPCI+" "+reported.Address] = m.tool
		}
		return
	}
	d, at := &m.f.PCI[i], " "+reported.Address
	keep(m, fabric.FactPCIDriver+at, &d.Driver, reported.Driver)
	keepPointer(m, fabric.FactPCINUMANode+at, &d.NUMANode, reported.NUMANode)
	keepPointer(m, fabric.FactPCIIOMMUGroup+at, &d.IOMMUGroup, reported.IOMMUGroup)
	if d.Regions == nil {
		d.Regions = reported.Regions
	}
	if d.Link == nil && reported.Link != nil && reported.Link.MaxWidth > 0 { // else it is not a whole link
		d.Link = reported.Link
	}
	if d.Link == nil || reported.Link == nil {
		return
	}
	keep(m, fabric.FactPCILinkWidth+at, &d.Link.Width, reported.Link.Width)
	keep(m, fabric.FactPCILinkMaxWidth+at, &d.Link.MaxWidth, reported.Link.MaxWidth)
}

func (m *merger) mergeNIC(reported fabric.NIC) {
	i := slices.IndexFunc(m.f.NICs, func(n fabric.NIC) bool {
		return n.Name == reported.Name || reported.Name == "" && reported.PCI != "" && n.PCI == reported.PCI
	})
	if i < 0 {
		if !m.kernel[fabric.FactNICs] && reported.Name != "" {
			m.f.NICs = append(m.f.NICs, reported)
			m.givenBy[fabric.FactNICs+" "+reported.Name] = m.tool
		}
		return
	}
	n := &m.f.NICs[i]
	at := " " + n.Name
	keep(m, fabric.FactNICIndex+at, &n.Index, reported.Index)
	keep(m, fabric.FactNICMTU+at, &n.MTU, reported.MTU)
	keep(m, fabric.FactNICMAC+at, &n.MAC, reported.MAC)
	keep(m, fabric.FactNICPCI+at, &n.PCI, reported.PCI)
	keep(m, fabric.FactNICDriver+at, &n.Driver, reported.Driver)
	keepPointer(m, fabric.FactNICSpeed+at, &n.SpeedMbps, reported.SpeedMbps)
	keepPointer(m, fabric.FactNICAutoneg+at, &n.Autoneg, reported.Autoneg)
	keep(m, fabric.FactNICFEC+at, &n.FEC, reported.FEC)
	keep(m, fabric.FactNICFirmware+at, &n.Firmware, reported.Firmware)
	keep(m, fabric.FactNICDriverVersion+at, &n.DriverVersion, reported.DriverVersion)
	n.OperState, n.Kind = cmp.Or(n.OperState, reported.OperState), cmp.Or(n.Kind, reported.Kind)
	n.IPoIB = cmp.Or(n.IPoIB, reported.IPoIB)
	n.Carrier, n.Profile = cmp.Or(n.Carrier, reported.Carrier), cmp.Or(n.Profile, reported.Profile)
	n.Owner = cmp.Or(n.Owner, reported.Owner)
	if n.Addresses == nil {
		n.Addresses = reported.Addresses
	}
	m.mergeQoS(n, reported.QoS)
	m.mergeOptions(n, reported.Options)
	m.compareFirmware(*n, reported)
	m.compareDriver(*n, reported)
}

// compareFirmware compares the version of a NIC with that of the RDMA device of the same function. After a space
// or a slash drivers add the board or the package.
func (m *merger) compareFirmware(n, reported fabric.NIC) {
	for _, h := range m.f.HCAs {
		if n.PCI == "" || h.PCI != n.PCI || h.Firmware == "" || reported.Firmware == "" {
			continue
		}
		if firstVersion(h.Firmware) != firstVersion(reported.Firmware) {
			m.disagree(fabric.FactHCAFirmware+" "+h.Name, h.Firmware, reported.Firmware)
		}
	}
}

func (m *merger) compareDriver(n, reported fabric.NIC) {
	for _, mod := range m.f.Modules {
		if mod.Name == n.Driver && mod.Version != "" && reported.DriverVersion != "" && mod.Version != reported.DriverVersion {
			m.disagree(fabric.FactModuleVersion+" "+mod.Name, mod.Version, reported.DriverVersion)
		}
	}
}

// mergeModule adds to loaded modules only: what is on disk is not what runs.
func (m *merger) mergeModule(reported fabric.Module) {
	for i := range m.f.Modules {
		if mod := &m.f.Modules[i]; mod.Name == reported.Name {
			mod.OnDisk, mod.DKMS = cmp.Or(mod.OnDisk, reported.OnDisk), cmp.Or(mod.DKMS, reported.DKMS)
			mod.Version = cmp.Or(mod.Version, reported.Version)
		}
	}
}

// keep takes a fact where none is, and notes where one is and differs.
func keep[T comparable](m *merger, what string, have *T, reported T) {
	var unknown T
	switch {
	case reported == unknown || *have == reported:
	case *have == unknown:
		*have = reported
		m.givenBy[what] = m.tool
	default:
		m.disagree(what, fmt.Sprint(*have), fmt.Sprint(reported))
	}
}

func keepPointer[T comparable](m *merger, what string, have **T, reported *T) {
	switch {
	case reported == nil || *have != nil && **have == *reported:
	case *have == nil:
		*have = reported
		m.givenBy[what] = m.tool
	default:
		m.disagree(what, fmt.Sprint(**have), fmt.Sprint(*reported))
	}
}

// disagree notes the values of a fact's source and of this tool.
func (m *merger) disagree(what, have, reported string) {
	first := cmp.Or(m.givenBy[what], m.listed(what), kernelSource)
	d := fabric.Disagreement{What: what, Said: []fabric.Evidence{
		{Source: first, Value: fabric.Printable(have)}, {Source: m.tool, Value: fabric.Printable(reported)},
	}}
	if !slices.ContainsFunc(m.f.Disagree, func(e fabric.Disagreement) bool {
		return e.What == d.What && slices.Equal(e.Said, d.Said)
	}) {
		m.f.Disagree = append(m.f.Disagree, d)
	}
}

// listed is the tool that named the device of a fact: nics.mtu eth1 is of nics eth1.
func (m *merger) listed(what string) string {
	path, device, _ := strings.Cut(what, " ")
	list, _, _ := strings.Cut(path, ".")
	device, _, _ = strings.Cut(device, "/") // mlx5_0/1 is a port of mlx5_0
	return m.givenBy[list+" "+device]
}

func (m *merger) mergeHCA(reported fabric.HCA) {
	i := slices.IndexFunc(m.f.HCAs, func(h fabric.HCA) bool { return h.Name == reported.Name })
	if i < 0 {
		if m.kernel[fabric.FactHCAs] {
			m.disagree(fabric.FactHCAs, "no "+reported.Name, reported.Name)
			return
		}
		m.f.HCAs = append(m.f.HCAs, fabric.HCA{Name: reported.Name})
		m.givenBy[fabric.FactHCAs+" "+reported.Name] = m.tool
		i = len(m.f.HCAs) - 1
	}
	h, at := &m.f.HCAs[i], " "+reported.Name
	keep(m, fabric.FactHCANodeGUID+at, &h.NodeGUID, reported.NodeGUID)
	keep(m, fabric.FactHCASystemGUID+at, &h.SystemGUID, reported.SystemGUID)
	keep(m, fabric.FactHCAFirmware+at, &h.Firmware, reported.Firmware)
	keep(m, fabric.FactHCABoardID+at, &h.BoardID, reported.BoardID)
	h.Type = cmp.Or(h.Type, reported.Type)
	keep(m, fabric.FactHCAPCI+at, &h.PCI, reported.PCI)
	for _, p := range reported.Ports {
		m.mergePort(h, p)
	}
}

// mergePort compares what stays: a port may change its state between two readings, and gets its LID with it.
func (m *merger) mergePort(h *fabric.HCA, reported fabric.Port) {
	i := slices.IndexFunc(h.Ports, func(p fabric.Port) bool { return p.Number == reported.Number })
	if i < 0 {
		if m.kernel[fabric.FactHCAs] {
			return
		}
		h.Ports = append(h.Ports, fabric.Port{Number: reported.Number})
		i = len(h.Ports) - 1
	}
	p, at := &h.Ports[i], fmt.Sprintf(" %s/%d", h.Name, reported.Number)
	p.State, p.PhysState = cmp.Or(p.State, reported.State), cmp.Or(p.PhysState, reported.PhysState)
	p.LID, p.SMLID = cmp.Or(p.LID, reported.LID), cmp.Or(p.SMLID, reported.SMLID)
	p.ActiveMTU = cmp.Or(p.ActiveMTU, reported.ActiveMTU)
	p.NetDev, p.NetDevUp = cmp.Or(p.NetDev, reported.NetDev), cmp.Or(p.NetDevUp, reported.NetDevUp)
	keepPointer(m, fabric.FactPortMaxMTU+at, &p.MaxMTU, reported.MaxMTU)
	keep(m, fabric.FactPortLinkLayer+at, &p.LinkLayer, reported.LinkLayer)
	if p.State == "ACTIVE" && reported.State == "ACTIVE" { // a port that is down has no rate worth the name
		keepPointer(m, fabric.FactPortRate+at, &p.RateGbps, reported.RateGbps)
	} else {
		p.RateGbps = cmp.Or(p.RateGbps, reported.RateGbps)
	}
	m.mergeGIDs(p, reported.GIDs, at)
}

// mergeGIDs takes a table where none is. An entry without a GID says only which network device is behind an
// index.
func (m *merger) mergeGIDs(p *fabric.Port, reported []fabric.GID, at string) {
	take := len(p.GIDs) == 0 && !m.kernel[fabric.FactHCAs]
	for _, g := range reported {
		i := slices.IndexFunc(p.GIDs, func(have fabric.GID) bool { return have.Index == g.Index })
		switch {
		case i < 0 && take && g.GID != "":
			p.GIDs = append(p.GIDs, g)
		case i >= 0:
			have := &p.GIDs[i]
			have.Type = cmp.Or(have.Type, g.Type)
			keep(m, fabric.FactPortGIDNetDev+at, &have.NetDev, g.NetDev)
		}
	}
}

// firstVersion cuts what follows a version: "28.39.1002 (MT_0000000838)", "231.2.63.0/pkg 231.1.162.1".
func firstVersion(text string) string {
	if i := strings.IndexAny(text, " /"); i >= 0 {
		return text[:i]
	}
	return text
}

// mergeKube adds what a text of kubectl says. Objects say more than tables do, and are read first.
func (m *merger) mergeKube(k *fabric.KubeState) {
	if k == nil {
		return
	}
	if m.f.Kube == nil {
		m.f.Kube = &fabric.KubeState{}
	}
	for _, c := range k.Claims {
		if !slices.ContainsFunc(m.f.Kube.Claims, func(have fabric.ClaimState) bool { return have.Name == c.Name }) {
			m.f.Kube.Claims = append(m.f.Kube.Claims, c)
		}
	}
	for _, p := range k.Pods {
		at := slices.IndexFunc(m.f.Kube.Pods, func(have fabric.PodState) bool { return have.Name == p.Name })
		if at < 0 {
			m.f.Kube.Pods = append(m.f.Kube.Pods, p)
		} else if p.Ready != "" {
			m.f.Kube.Pods[at] = p // its table says why it waits
		}
	}
	m.f.Kube.NICs = append(m.f.Kube.NICs, k.NICs...)
}
