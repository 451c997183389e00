package spark

import (
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Read says of a machine's facts whether it is a DGX Spark, and sorts what they have by port and twin.
func Read(f *fabric.Facts) Spark {
	n := Spark{Name: f.Node, HotPlug: f.Machine.HotPlug, NCCL: f.NCCL}
	for p := range n.Ports {
		n.Ports[p].Number = p
		for t := range n.Ports[p].Twins {
			n.Ports[p].Twins[t] = Half{PCI: Function(p, t), GIDIndex: -1}
		}
	}
	r := reading{facts: f, node: &n, placer: names(), byNIC: map[string]*Half{}}
	r.pci()
	r.nics()
	r.hcas()
	r.log()
	r.files()
	r.neighbours()
	n.Known, n.By = recognise(f, &n)
	n.NoNIC = n.Known == Proven && present(&n) == "" && listed(f)
	return n
}

// listed reports whether what has the NIC in it was read, so that its absence tells something.
func listed(f *fabric.Facts) bool {
	if f.Machine.HotPlug != nil && f.Machine.HotPlug.Last == "removal" {
		return true
	}
	_, pci := f.MissingReason(fabric.FactPCI)
	m, hcas := f.MissingReason(fabric.FactHCAs)
	return len(f.PCI) > 0 && !pci && (!hcas || m.Absent)
}

// reading sorts the facts of a node.
type reading struct {
	facts  *fabric.Facts
	node   *Spark
	placer placer
	byNIC  map[string]*Half
}

func (r *reading) twin(address string) *Half {
	port, twin, ok := placeOf(address)
	if !ok {
		return nil
	}
	return &r.node.Ports[port].Twins[twin]
}

func (r *reading) pci() {
	for i := range r.facts.PCI {
		d := &r.facts.PCI[i]
		t := r.twin(d.Address)
		if t == nil {
			continue
		}
		t.Present = true
		if d.Link != nil {
			t.Speed, t.Width = d.Link.Speed, d.Link.Width
		}
	}
}

func (r *reading) nics() {
	_, unread := r.facts.MissingReason(fabric.FactNICAddresses)
	for i := range r.facts.NICs {
		nic := &r.facts.NICs[i]
		address := nic.PCI
		if address == "" {
			address = r.placer.address(nic.Name)
		}
		t := r.twin(address)
		if t == nil || nic.Kind != "" && nic.Kind != "veth" {
			continue
		}
		t.Present, t.NIC = true, nic.Name
		r.byNIC[nic.Name] = t
		t.MAC, t.Profile, t.Firmware = nic.MAC, nic.Profile, nic.Firmware
		if nic.MTU > 0 {
			t.MTU, t.MTUFrom = nic.MTU, "ip address show dev "+nic.Name
		}
		if nic.SpeedMbps != nil {
			t.SpeedMbps = *nic.SpeedMbps
		}
		t.Up = carrier(nic)
		t.addresses(nic.Addresses)
		t.Unaddressed = len(t.Addresses) == 0 && !unread && nic.MTU > 0
	}
}

// carrier is what an interface says of its cable.
func carrier(nic *fabric.NIC) *bool {
	switch {
	case nic.Carrier != nil:
		return nic.Carrier
	case nic.OperState == "up":
		return new(true)
	case nic.OperState == "down", nic.OperState == "lowerlayerdown", nic.OperState == "notpresent":
		return new(false)
	}
	return nil
}

func (t *Half) addresses(list []netip.Prefix) {
	for _, p := range list {
		switch {
		case !p.Addr().Is4():
		case p.Addr().IsLinkLocalUnicast():
			t.LinkLocal = true
		default:
			t.add(Address{Prefix: p, Masked: p.Bits() < 32})
		}
	}
}

// add keeps an address, once, and prefers the one whose length is known.
func (t *Half) add(a Address) {
	for i := range t.Addresses {
		if t.Addresses[i].Prefix.Addr() == a.Prefix.Addr() {
			if !t.Addresses[i].Masked {
				t.Addresses[i] = a
			}
			return
		}
	}
	t.Addresses = append(t.Addresses, a)
}

func (r *reading) hcas() {
	for i := range r.facts.HCAs {
		h := &r.facts.HCAs[i]
		t := r.hcaTwin(h)
		if t == nil {
			continue
		}
		t.Present, t.HCA = true, h.Name
		if h.Firmware != "" {
			t.Firmware = h.Firmware
		}
		for k := range h.Ports {
			r.hcaPort(t, &h.Ports[k])
		}
	}
}

// hcaTwin finds the place of an RDMA device: by its PCI address, its interface, or its name, in this order. Names like
// mlx5_0 have no place in them.
func (r *reading) hcaTwin(h *fabric.HCA) *Half {
	if h.PCI != "" {
		return r.twin(h.PCI)
	}
	for i := range h.Ports {
		for _, name := range netdevs(&h.Ports[i]) {
			if t := r.byNIC[name]; t != nil {
				return t
			}
			if t := r.twin(r.placer.address(name)); t != nil {
				t.NIC, t.Present = name, true
				return t
			}
		}
	}
	return r.twin(r.placer.address(h.Name))
}

func netdevs(p *fabric.Port) []string {
	var names []string
	if p.NetDev != "" {
		names = append(names, p.NetDev)
	}
	for _, g := range p.GIDs {
		if g.NetDev != "" && !slices.Contains(names, g.NetDev) {
			names = append(names, g.NetDev)
		}
	}
	return names
}

func (r *reading) hcaPort(t *Half, p *fabric.Port) {
	switch {
	case t.Up != nil:
	case p.State != "":
		t.Up = new(p.State == "ACTIVE")
	case p.NetDevUp != nil:
		t.Up = p.NetDevUp
	}
	if t.SpeedMbps == 0 && p.State == "ACTIVE" && p.RateGbps != nil {
		t.SpeedMbps = int(*p.RateGbps * 1000)
	}
	for _, g := range p.GIDs {
		a, err := netip.ParseAddr(g.GID)
		if err != nil || !a.Is4In6() {
			continue
		}
		a = a.Unmap()
		if g.Type == "RoCE v2" && !a.IsLinkLocalUnicast() {
			t.GIDIndex = g.Index
		}
		if a.IsLinkLocalUnicast() {
			t.LinkLocal = true
		} else if !t.Unaddressed {
			t.add(Address{Prefix: netip.PrefixFrom(a, 32)})
		}
	}
}

// log adds what the kernel's log says last of links: "mlx5_core 0000:01:00.0 enp1s0f0np0: Link up".
func (r *reading) log() {
	if r.facts.KernelLog == nil {
		return
	}
	state := map[*Half]bool{}
	for _, line := range r.facts.KernelLog.Lines {
		_, said, ok := strings.Cut(line, "mlx5_core ")
		if !ok {
			continue
		}
		words := strings.Fields(said)
		if len(words) < 4 || words[2] != "Link" || words[3] != "up" && words[3] != "down" {
			continue
		}
		if t := r.twin(words[0]); t != nil {
			t.Present = true
			if t.NIC == "" {
				t.NIC = strings.TrimSuffix(words[1], ":")
				r.byNIC[t.NIC] = t
			}
			state[t] = words[3] == "up"
		}
	}
	for t, up := range state {
		if t.Up == nil {
			t.Up = new(up)
		}
	}
}

// files adds what netplan's files configure where the interface itself was not read.
func (r *reading) files() {
	for i := range r.facts.NetworkFiles {
		for k := range r.facts.NetworkFiles[i].Interfaces {
			in := &r.facts.NetworkFiles[i].Interfaces[k]
			t := r.byNIC[in.Name]
			if t == nil {
				t = r.twin(r.placer.address(in.Name))
			}
			if t == nil {
				continue
			}
			t.InFile = true
			if t.NIC == "" {
				t.NIC = in.Name
			}
			r.file(t, in, r.facts.NetworkFiles[i].Path)
		}
	}
}

// defaultMTU is what the kernel gives an Ethernet interface, bytes.
const defaultMTU = 1500

func (r *reading) file(t *Half, in *fabric.NetworkInterface, path string) {
	if path == "" {
		path = "netplan"
	}
	if t.MTU == 0 {
		t.MTU, t.MTUFrom = defaultMTU, path+", which sets no mtu for "+in.Name
		if in.MTU != nil {
			t.MTU, t.MTUFrom = *in.MTU, path
		}
	}
	if len(t.Addresses) > 0 || t.Unaddressed {
		return
	}
	for _, p := range in.Addresses {
		if p.Addr().Is4() && !p.Addr().IsLinkLocalUnicast() {
			t.add(Address{Prefix: p, Masked: true, Configured: true})
		}
	}
	t.LinkLocal = t.LinkLocal || slices.Contains(in.LinkLocal, "ipv4")
}

func (r *reading) neighbours() {
	place := func(nic string) (port, twin int, ok bool) {
		if t := r.byNIC[nic]; t != nil {
			return placeOf(t.PCI)
		}
		return placeOf(r.placer.address(nic))
	}
	for _, l := range r.facts.LLDP {
		if port, twin, ok := place(l.NIC); ok {
			by := "LLDP on " + l.NIC
			if l.Source == "text" {
				by = "the text"
			}
			r.node.Seen = append(r.node.Seen, Neighbour{Port: port, Twin: twin, System: l.System, FarPort: l.Port, By: by})
		}
	}
	for _, a := range r.facts.Neighbours {
		if port, twin, ok := place(a.NIC); ok && a.MAC != "" && a.State != "FAILED" {
			r.node.Seen = append(r.node.Seen, Neighbour{Port: port, Twin: twin, MAC: a.MAC, By: "the neighbour table of " + a.NIC})
		}
	}
}
