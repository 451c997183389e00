package facts

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Short names of what every table below repeats.
const (
	isError   = fabric.SeverityError
	isWarning = fabric.SeverityWarning
	isInfo    = fabric.SeverityInfo
)

func (d *differ) pciDevices() {
	d.pci = newPairing()
	if d.unread(fabric.FactPCI, len(d.a.PCI), len(d.b.PCI)) {
		return
	}
	nameless := func(p *fabric.PCIDevice) string { // its device id was not read on one side
		for _, f := range []*fabric.Facts{d.a, d.b} {
			if _, ok := unreadFact(f, fabric.FactPCIDevice+" "+p.Address, fabric.FactPCIDevice); ok {
				return p.Address
			}
		}
		return ""
	}
	pairs := match(d.a.PCI, d.b.PCI, pciKind, func(p *fabric.PCIDevice) string { return p.Address + " " + pciKind(p) }, nameless)
	for _, p := range pairs {
		if p.a != nil && p.b != nil {
			d.pci.add(p.a.Address, p.b.Address)
		}
	}
	for _, p := range pairs {
		if p.a == nil || p.b == nil {
			one := cmp.Or(p.a, p.b)
			d.missing(rankDevice, isError, "PCI function "+pciName(one), p.a != nil, p.b != nil,
				"a device that the firmware does not find is unplugged, disabled or defective", d.pciPaths(one)...)
			continue
		}
		d.pciDevice(p.a, p.b)
	}
}

// pciPaths are the facts without which a function is in no list: its own, and of a bridge those of any function, since
// facts have the bridges above the functions that could be identified.
func (d *differ) pciPaths(p *fabric.PCIDevice) []string {
	paths := []string{fabric.FactPCI, fabric.FactPCI + " " + p.Address}
	if isBridge := p.Class>>8 == classBridge; !isBridge {
		return paths
	}
	for _, m := range slices.Concat(d.a.Missing, d.b.Missing) {
		if strings.HasPrefix(m.What, fabric.FactPCI+" ") {
			paths = append(paths, m.What)
		}
	}
	return paths
}

// pciKind returns the ids that identify a kind of device.
func pciKind(p *fabric.PCIDevice) string {
	return fmt.Sprintf("%04x:%04x class %06x", p.Vendor, p.Device, p.Class)
}

func pciName(p *fabric.PCIDevice) string { return p.Address + " " + pciKind(p) }

func (d *differ) pciDevice(a, b *fabric.PCIDevice) {
	thing := "PCI function " + d.pci.ofA(a.Address)
	d.pciLink(thing, a, b)
	const path = "peer-to-peer traffic takes a different path"
	d.compare(thing,
		field{rankOther, isInfo, "address", a.Address, b.Address, "devices of one kind were matched in order: the slots may be others"},
		field{rankSetting, isWarning, "bridge above", d.pci.ofA(cmp.Or(a.Parent, "none")), d.pci.ofB(cmp.Or(b.Parent, "none")), path},
		field{rankVersion, isWarning, "driver", orNone(d.a, a.Driver, fabric.FactPCIDriver, fabric.FactPCIDriver+" "+a.Address), orNone(d.b, b.Driver, fabric.FactPCIDriver, fabric.FactPCIDriver+" "+b.Address), "a device without its driver is unusable"},
		field{rankSetting, isWarning, "NUMA node", value(a.NUMANode), value(b.NUMANode), "CPUs and memory of another node are reached over the socket link"},
		field{rankSetting, isInfo, "in an IOMMU group", groupText(d.a, a), groupText(d.b, b), ""},
		field{rankSetting, isWarning, "ACS control", acsControl(a.ACS), acsControl(b.ACS), "redirection sends peer-to-peer traffic up to the root complex and back"},
		field{rankSetting, isWarning, "ACS capability", acsCapability(a.ACS), acsCapability(b.ACS), ""},
		field{rankSetting, isWarning, "memory regions", regionText(a), regionText(b), "a GPU whose BAR1 has none cannot be used"},
		field{rankSetting, isWarning, "ATS", atsText(a.ATS), atsText(b.ATS), "without it every access of the device is translated by the IOMMU on the way"},
	)
	d.pciControl(thing, cmp.Or(a.Control, &fabric.PCIControl{}), cmp.Or(b.Control, &fabric.PCIControl{}), a.Control != nil, b.Control != nil)
}

func (d *differ) pciLink(thing string, a, b *fabric.PCIDevice) {
	if a.Link == nil || b.Link == nil {
		if (a.Link == nil) != (b.Link == nil) {
			d.compare(thing, field{rankLink, isInfo, "link", linkText(a.Link), linkText(b.Link), ""})
		}
		return
	}
	severity, why := isError, "the slower link limits every path through it"
	if isGPU := a.Class>>16 == 3 || a.Class>>8 == classAccelerator; isGPU {
		severity, why = isWarning, "an idle GPU may reduce its link speed: compare under load"
	}
	d.compare(thing,
		field{rankLink, severity, "link speed", speedText(a.Link.Speed), speedText(b.Link.Speed), why},
		field{rankLink, isError, "link width", laneText(a.Link.Width), laneText(b.Link.Width), "fewer lanes carry less, and bound every path through them"},
		field{rankLink, isWarning, "highest link speed", speedText(a.Link.MaxSpeed), speedText(b.Link.MaxSpeed), "different device, slot or firmware setting"},
		field{rankLink, isWarning, "highest link width", laneText(a.Link.MaxWidth), laneText(b.Link.MaxWidth), "different device, slot or firmware setting"},
	)
}

func linkText(l *fabric.PCILink) string {
	if l == nil {
		return unknown
	}
	return speedText(l.Speed) + " " + laneText(l.Width)
}

func speedText(s float64) string {
	if s == 0 {
		return unknown
	}
	return fmt.Sprintf("%g GT/s", s)
}

func laneText(n int) string {
	if n == 0 {
		return unknown
	}
	return fmt.Sprintf("x%d", n)
}

func groupText(f *fabric.Facts, p *fabric.PCIDevice) string {
	_, unread := unreadFact(f, fabric.FactPCIIOMMUGroup, fabric.FactPCIIOMMUGroup+" "+p.Address)
	switch {
	case p.IOMMUGroup != nil:
		return "yes"
	case unread:
		return unknown
	}
	return "no"
}

func acsControl(a *fabric.ACS) string {
	switch {
	case a == nil:
		return unknown
	case !a.Present:
		return absent
	}
	return fmt.Sprintf("%#04x", a.Control)
}

func acsCapability(a *fabric.ACS) string {
	switch {
	case a == nil:
		return unknown
	case !a.Present:
		return absent
	}
	return fmt.Sprintf("%#04x", a.Capability)
}

func atsText(a *fabric.ATS) string {
	switch {
	case a == nil:
		return unknown
	case !a.Present:
		return absent
	case a.Enabled:
		return "on"
	}
	return "off"
}

func (d *differ) pciControl(thing string, a, b *fabric.PCIControl, knownA, knownB bool) {
	of := func(known bool, v any) string {
		if !known {
			return unknown
		}
		return fmt.Sprint(v)
	}
	row := func(name string, va, vb any, why string) field {
		return field{rankSetting, isWarning, name, of(knownA, va), of(knownB, vb), why}
	}
	d.compare(thing,
		row("MaxPayload in bytes", a.MaxPayload, b.MaxPayload, "smaller packets carry less payload"),
		row("MaxReadReq in bytes", a.MaxReadRequest, b.MaxReadRequest, "smaller requests keep less data in flight"),
		row("relaxed ordering", a.RelaxedOrdering, b.RelaxedOrdering, "with strict ordering each write waits for the previous one"),
		row("extended tags", a.ExtendedTag, b.ExtendedTag, "32 tags keep less data in flight than 256"),
	)
}

func (d *differ) hcas() {
	if d.unread(fabric.FactHCAs, len(d.a.HCAs), len(d.b.HCAs)) {
		return
	}
	keys := []func(*fabric.HCA) string{func(h *fabric.HCA) string { return h.Name }}
	if d.identities {
		keys = append(keys, func(h *fabric.HCA) string { return h.NodeGUID })
	}
	for _, p := range match(d.a.HCAs, d.b.HCAs, func(h *fabric.HCA) string { return h.Driver + h.BoardID }, keys...) {
		if p.a == nil || p.b == nil {
			name := cmp.Or(p.a, p.b).Name
			d.missing(rankDevice, isError, "RDMA device "+name, p.a != nil, p.b != nil, "fewer RDMA devices than the other", fabric.FactHCAs, fabric.FactHCAs+" "+name)
			continue
		}
		d.hca(p.a, p.b)
	}
}

func (d *differ) hca(a, b *fabric.HCA) {
	thing := "RDMA device " + bothNames(a.Name, b.Name)
	d.compare(thing,
		field{rankOther, isWarning, "name", a.Name, b.Name, "what names its devices (NCCL_IB_HCA) finds another one"},
		field{rankVersion, isWarning, "firmware", text(a.Firmware), text(b.Firmware), "ports of one fabric should run one"},
		field{rankDevice, isWarning, "board", text(a.BoardID), text(b.BoardID), "another model"},
		field{rankDevice, isWarning, "type", text(a.Type), text(b.Type), "another model"},
		field{rankVersion, isWarning, "driver", text(a.Driver), text(b.Driver), ""},
		field{rankOther, isInfo, "PCI function", text(d.pci.ofA(a.PCI)), text(d.pci.ofB(b.PCI)), ""},
	)
	if d.identities {
		d.compare(thing,
			field{rankDevice, isWarning, "node GUID", text(a.NodeGUID), text(b.NodeGUID), "another board"},
			field{rankDevice, isInfo, "system GUID", text(a.SystemGUID), text(b.SystemGUID), ""},
		)
	}
	key := func(p *fabric.Port) string { return fmt.Sprint(p.Number) }
	for _, p := range match(a.Ports, b.Ports, func(*fabric.Port) string { return "" }, key) {
		port := fmt.Sprintf("%s port %d", thing, cmp.Or(p.a, p.b).Number)
		if p.a == nil || p.b == nil {
			lacks := a
			if p.b == nil {
				lacks = b
			}
			d.missing(rankDevice, isError, port, p.a != nil, p.b != nil, "fewer ports than the other", fabric.FactPorts+" "+lacks.Name)
			continue
		}
		d.port(port, p.a, p.b)
	}
}

func (d *differ) port(thing string, a, b *fabric.Port) {
	d.compare(thing,
		field{rankPort, isError, "state", text(a.State), text(b.State), "only an ACTIVE port carries traffic"},
		field{rankPort, isError, "physical state", text(a.PhysState), text(b.PhysState), "cable, transceiver or far end"},
		field{rankPort, isError, "rate", unit(value(a.RateGbps), "Gb/s"), unit(value(b.RateGbps), "Gb/s"), "the slower port limits every ring through it"},
		field{rankPort, isError, "link layer", text(a.LinkLayer), text(b.LinkLayer), "InfiniBand and Ethernet ports do not talk to each other"},
		field{rankOther, isInfo, "network device", text(a.NetDev), text(b.NetDev), ""},
		field{rankPort, isError, "network device is up", value(a.NetDevUp), value(b.NetDevUp), "only an interface that is up carries traffic"},
		field{rankMTU, isError, "active MTU", unit(value(a.ActiveMTU), "bytes"), unit(value(b.ActiveMTU), "bytes"), "both ends of a connection must agree; the smaller has more overhead"},
		field{rankMTU, isInfo, "highest MTU", unit(value(a.MaxMTU), "bytes"), unit(value(b.MaxMTU), "bytes"), ""},
		field{rankPort, isWarning, "P_Keys", text(strings.Join(a.PKeys, " ")), text(strings.Join(b.PKeys, " ")), "ports in different partitions cannot reach each other"},
	)
	if d.identities {
		d.compare(thing,
			field{rankOther, isInfo, "LID", value(a.LID), value(b.LID), ""},
			field{rankPort, isWarning, "LID of the subnet manager", value(a.SMLID), value(b.SMLID), "a different subnet manager is master, or there is none"},
		)
	} else {
		d.compare(thing, field{rankPort, isWarning, "subnet manager", managed(a.SMLID), managed(b.SMLID), "without a subnet manager there are no paths"})
	}
	key := func(g *fabric.GID) string { return fmt.Sprint(g.Index) }
	for _, p := range match(a.GIDs, b.GIDs, func(*fabric.GID) string { return "" }, key) {
		d.compare(fmt.Sprintf("%s GID index %d", thing, cmp.Or(p.a, p.b).Index),
			field{rankPort, isWarning, "entry", d.gid(p.a, d.nic.ofA), d.gid(p.b, d.nic.ofB), "with a fixed index (NCCL_IB_GID_INDEX) this is another address or RoCE version"})
	}
}

func managed(lid *int) string {
	switch {
	case lid == nil:
		return unknown
	case *lid == 0:
		return "none"
	}
	return "there"
}

// gid is an entry in words; the address only where it may be expected to be the same.
func (d *differ) gid(g *fabric.GID, nic func(string) string) string {
	if g == nil {
		return absent
	}
	words := []string{cmp.Or(g.Type, "of unknown type")}
	if g.NetDev != "" {
		words = append(words, "of "+nic(g.NetDev))
	}
	if d.identities {
		words = append(words, g.GID)
	}
	return strings.Join(words, " ")
}

func regionText(d *fabric.PCIDevice) string {
	if d.Regions == nil {
		return "not read"
	}
	var out []string
	for _, r := range d.Regions {
		out = append(out, fmt.Sprintf("%d %s", r.Number, map[bool]string{true: "assigned", false: "unassigned"}[r.Assigned]))
	}
	return strings.Join(out, ", ")
}
