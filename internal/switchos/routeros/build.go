package routeros

import (
	"cmp"
	"fmt"
	"net/netip"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Defaults of RouterOS, each with the place that says so.
const (
	defaultUp      = "default of RouterOS: a port is on (manual, Ethernet, disabled)"
	defaultMTU     = "default of RouterOS: the MTU is 1500 (manual, Ethernet, mtu)"
	defaultL2MTU   = "default of RouterOS: frames carry 1584 bytes on CRS8xx (public exports and notes of CRS812 and CRS804; the manual has no table of it)"
	olderL2MTU     = "default of RouterOS: frames carry 1592 bytes (public verbose export of a CRS310)"
	defaultPVID    = "default of RouterOS: a port of a bridge is in VLAN 1 (manual, Bridge VLAN Filtering, pvid)"
	noFiltering    = "default of RouterOS: a bridge is one network, whatever the pvid of its ports (manual, Bridge VLAN Filtering, vlan-filtering)"
	defaultIgnore  = "default of RouterOS: a port trusts no marking (manual, Quality of Service, trust-l3)"
	defaultNoPFC   = "default of RouterOS: PFC is off (manual, Quality of Service, pfc)"
	defaultProfile = "default of RouterOS: profile default, traffic class 1 (manual, Quality of Service, Hardware Queues)"
	defaultClass   = "default of RouterOS: a profile has traffic class 0 (manual, Quality of Service, QoS Profile)"
	defaultQueue   = "default of RouterOS: queues 0-2 low-priority-group, 3-5 high-priority-group, 6 and 7 strict (manual, Quality of Service, Traffic Prioritization)"
	defaultNoECN   = "default of RouterOS: queues do not mark (manual, Quality of Service, ecn)"
	oneToOne       = "RouterOS has a queue for each traffic class, of its number (manual, Quality of Service, PFC)"
)

func says(text string) fabric.Line { return fabric.Line{Text: text} }

// greatest l2mtu of the QSFP56 ports, in bytes: MikroTik manual, MTU in RouterOS, max-l2mtu of the CRS812-8DS-2DQ-2DDQ-RM.
const greatestL2MTU = 9570

// build puts a switch together from its entries.
type build struct {
	*store
	whole bool   // an export of everything was read: what it does not say has its default
	model string // that exports name

	since723 bool // an export names RouterOS 7.23 or later

	ports  []*portSaid
	byPort map[string]*portSaid // by every name that entries use

	addresses map[string][]*record // of interfaces that are not ports, such as a bridge
	classes   *classes
}

// portSaid is a port, with the entries that are about it.
type portSaid struct {
	name                              string // of the factory, by which the plan has it
	link, member, qos, limit, monitor *record
	addresses                         []*record
	config                            fabric.PortConfig
}

// at is where a text begins to speak of a port.
func (p *portSaid) at() fabric.Line {
	for _, r := range []*record{p.link, p.member, p.qos, p.limit, p.monitor} {
		if r != nil {
			return r.at
		}
	}
	return fabric.Line{}
}

func (b *build) config(c *fabric.SwitchConfig) {
	b.gather()
	if name, ok := b.byID[identityMenu]["settings"].get("name"); ok {
		c.Hostname = &name
	}
	b.classes = b.readClasses()
	for _, p := range b.ports {
		b.port(p)
	}
	b.bridges()
	b.cages()
	b.rates()
	b.dhcp()
	b.classes.unused()
	for _, p := range b.ports {
		c.Ports = append(c.Ports, p.config)
	}
	if c.Ports == nil {
		c.Ports = []fabric.PortConfig{}
	}
	c.VLANs = b.vlans()
	c.BGP = b.bgp()
	c.Problems, c.Unread = b.problems, b.unread
}

// gather finds the ports of which entries speak.
func (b *build) gather() {
	b.byPort = map[string]*portSaid{}
	add := func(name string) *portSaid {
		if p := b.byPort[name]; p != nil {
			return p
		}
		p := &portSaid{name: name}
		b.ports, b.byPort[name] = append(b.ports, p), p
		return p
	}
	renamed, left := map[string]*portSaid{}, map[string]*portSaid{}
	for _, r := range b.of[ethernetMenu] {
		own := r.is("name")
		if own == "" && r.is("default-name") == "" {
			continue
		}
		p := add(cmp.Or(r.is("default-name"), own))
		if p.link == nil {
			p.link = r
		}
		if own != "" && own != p.name {
			renamed[own] = p
		}
	}
	for own, p := range renamed { // what others say is by these names; two ports may have swapped theirs
		if b.byPort[p.name] == p {
			delete(b.byPort, p.name)
			left[p.name] = p
		}
		b.byPort[own] = p
	}
	place := func(path string, into func(p *portSaid) **record) {
		for _, r := range b.of[path] {
			name := r.is(menus[path].id)
			p := b.byPort[name]
			if q := left[name]; p == nil && q != nil {
				b.problem(fabric.TextUndefined, q.name, r.at, "names "+name+", a port that is called "+q.link.is("name"), "RouterOS finds no such port.")
				continue
			}
			if p == nil && (physical(name) || path == qosPortMenu && !strings.HasSuffix(name, "-cpu") && name != "") {
				p = add(name)
			}
			if p != nil && *into(p) == nil {
				*into(p) = r
			}
		}
	}
	place(memberMenu, func(p *portSaid) **record { return &p.member })
	place(qosPortMenu, func(p *portSaid) **record { return &p.qos })
	place(limitMenu, func(p *portSaid) **record { return &p.limit })
	place(monitorMenu, func(p *portSaid) **record { return &p.monitor })
	b.addresses = map[string][]*record{}
	for _, a := range b.of[addressMenu] {
		name := a.is("interface")
		if p := b.byPort[name]; p != nil && !a.off() {
			p.addresses = append(p.addresses, a)
		} else if !a.off() {
			b.addresses[name] = append(b.addresses[name], a)
		}
	}
	b.shared()
}

// shared gives ports what a text says of all of them, or of a bond that they are in.
func (b *build) shared() {
	for _, p := range b.ports { // what was said of all
		for path, into := range map[string]**record{memberMenu: &p.member, qosPortMenu: &p.qos, limitMenu: &p.limit, ethernetMenu: &p.link} {
			if *into == nil {
				*into = b.every[path]
			}
		}
	}
	for _, bond := range b.of[bondMenu] { // its members are in the bridge through it
		member := b.byID[memberMenu][bond.is("name")]
		for name := range strings.SplitSeq(bond.is("slaves"), ",") {
			if p := b.byPort[name]; p != nil && member != nil && !bond.off() {
				p.member = member
			}
		}
	}
}

// known reports whether what a port does not say has its default: an export of everything has all that differs from it.
func (b *build) known(r *record) bool { return b.whole && (r == nil || !r.shown) }

// port puts one port together, without what others on the switch say of it.
func (b *build) port(p *portSaid) {
	c := &p.config
	c.Name, c.At = p.name, p.at()
	switch v, ok := p.link.get("disabled"); {
	case ok:
		if is, good := yes(v.Is); good {
			c.Up = &fabric.Said[bool]{Is: !is, At: v.At}
		}
	case b.known(p.link):
		c.Up = &fabric.Said[bool]{Is: true, At: says(defaultUp)}
	}
	b.rate(p)
	b.fec(p)
	b.mtu(p)
	for _, a := range p.addresses {
		b.address(&c.Addresses, a)
	}
	b.classes.port(p)
}

// address reads an address of an interface.
func (b *build) address(to *[]fabric.Said[netip.Prefix], r *record) {
	v, _ := r.get("address")
	prefix, err := netip.ParsePrefix(v.Is)
	if err != nil {
		addr, err := netip.ParseAddr(v.Is) // without a length it is one address
		if err != nil {
			b.problem(fabric.TextRange, "", v.At, v.Is+" is not an address", "RouterOS refuses it.")
			return
		}
		prefix = netip.PrefixFrom(addr, addr.BitLen())
	}
	*to = append(*to, fabric.Said[netip.Prefix]{Is: prefix, At: v.At})
}

// rate is the speed that is forced, or the one that the link has.
func (b *build) rate(p *portSaid) {
	speed, said := p.link.get("speed")
	l, good := linkOf(speed.Is)
	if said && !good {
		b.problem(fabric.TextRange, p.name, speed.At, speed.Is+" is not a speed", "RouterOS refuses it.")
	}
	auto, told := p.link.get("auto-negotiation")
	negotiates, ok := yes(auto.Is)
	told = told && ok
	switch {
	case said && good && told && !negotiates && l.over(p.name):
		b.problem(fabric.TextRange, p.name, speed.At, fmt.Sprintf("%s takes %d lanes, more than its cage has from there on", speed.Is, l.lanes), "RouterOS refuses it, or the link stays down.")
	case said && good && told && !negotiates:
		p.config.RateGbps = &fabric.Said[float64]{Is: l.gbps, At: speed.At}
		if c, isCage := cageOf(p.name); isCage && l.lanes > 0 && c.lanes%l.lanes == 0 {
			p.config.Breakout = &fabric.Said[int]{Is: c.lanes / l.lanes, At: speed.At}
		}
	case said && good && !p.link.shown && (told || b.whole):
		b.problem(fabric.TextInert, p.name, speed.At, "forces a speed while auto-negotiation is on", "The speed has no effect: the link has what both ends negotiate.")
	}
	if p.config.RateGbps == nil {
		p.seenRate()
	}
}

// seenRate is the speed that the link came up with.
func (p *portSaid) seenRate() {
	if v, ok := p.monitor.get("rate"); ok && p.monitor.is("status") != "no-link" {
		if gbps, good := gigabits(v.Is); good && gbps > 0 {
			p.config.RateGbps = &fabric.Said[float64]{Is: gbps, At: v.At}
		}
	}
}

// fec reads the forward error correction. Automatic is unknown: the manual says that it is off, and links of 200 Gb/s come
// up with fec91 all the same.
func (b *build) fec(p *portSaid) {
	words := map[string]string{"fec91": "rs", "fec74": "fc", "off": "none"}
	if v, ok := p.link.get("fec-mode"); ok {
		switch is := words[v.Is]; {
		case is != "":
			p.config.FEC = &fabric.Said[string]{Is: is, At: v.At}
		case v.Is != "auto":
			b.problem(fabric.TextRange, p.name, v.At, v.Is+" is not a FEC mode", "RouterOS refuses it; it has fec74, fec91, off and auto.")
		}
	}
	if v, ok := p.monitor.get("fec"); ok && p.config.FEC == nil && words[v.Is] != "" {
		p.config.FEC = &fabric.Said[string]{Is: words[v.Is], At: v.At}
	}
}

// mtu is the largest IP packet that the port passes on: what is switched in hardware is measured by l2mtu alone, which counts
// all behind the Ethernet header; what is routed by mtu, too (manual, MTU in RouterOS).
func (b *build) mtu(p *portSaid) {
	layer3, ok3 := b.bytes(p, "mtu")
	layer2, ok2 := b.bytes(p, "l2mtu")
	if ok2 && layer2.Is > greatestL2MTU && strings.HasPrefix(p.name, "qsfp56") {
		b.problem(fabric.TextRange, p.name, layer2.At, fmt.Sprintf("l2mtu %d is above %d, the most that this port takes", layer2.Is, greatestL2MTU), "RouterOS refuses it.")
		ok2 = false
	}
	if !ok2 && b.known(p.link) {
		layer2, ok2 = fabric.Said[int]{Is: 1592, At: says(olderL2MTU)}, true
		if strings.HasPrefix(p.name, "qsfp56") || strings.HasPrefix(p.name, "sfp56") {
			layer2 = fabric.Said[int]{Is: 1584, At: says(defaultL2MTU)}
		}
	}
	if ok2 && ok3 && layer3.Is > layer2.Is {
		b.problem(fabric.TextRange, p.name, layer3.At, fmt.Sprintf("mtu %d is above l2mtu %d", layer3.Is, layer2.Is), "RouterOS refuses the mtu; l2mtu is set first.")
		ok3 = false
	}
	if !ok3 && b.known(p.link) {
		layer3, ok3 = fabric.Said[int]{Is: 1500, At: says(defaultMTU)}, true
	}
	routed := b.routed(p)
	switch {
	case ok3 && (routed || !ok2):
		p.config.MTU = &layer3
	case ok2:
		p.config.MTU = &layer2
	}
}

func (b *build) bytes(p *portSaid, key string) (fabric.Said[int], bool) {
	v, ok := p.link.get(key)
	if !ok {
		return fabric.Said[int]{}, false
	}
	n, good := number(v.Is, 68, 65535)
	if !good {
		b.problem(fabric.TextRange, p.name, v.At, fmt.Sprintf("%s %s: must be 68 to 65535 bytes", key, v.Is), "RouterOS refuses it.")
	}
	return fabric.Said[int]{Is: n, At: v.At}, good
}

// routed reports whether a port has an address, and is known to be in no bridge: from the factory it is in one.
func (b *build) routed(p *portSaid) bool {
	return (p.member != nil || b.whole) && !p.switched() && len(p.addresses) > 0
}

// switched reports whether a port is in a bridge.
func (p *portSaid) switched() bool { return p.member != nil && !p.member.off() }
