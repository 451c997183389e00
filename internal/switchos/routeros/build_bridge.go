package routeros

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// bridges says of each port its VLAN, and whether the switch chip forwards for it.
func (b *build) bridges() {
	for _, p := range b.ports {
		b.bridged(p)
		switch {
		case p.switched():
			b.inBridge(p)
		case b.routed(p) && len(p.config.Addresses) > 0:
			p.config.VLAN = &fabric.Said[int]{Is: 0, At: p.config.Addresses[0].At}
		}
		if p.member != nil && !p.switched() && len(p.config.Addresses) == 0 && p.member.at.Number > 0 && fast(p.name) && p.config.Up != nil && p.config.Up.Is && p.member.is("bridge") != "" {
			at := p.member.said["disabled"].At
			b.problem(fabric.TextInert, p.name, at, "is on, and its place in the bridge is switched off", "The port forwards nothing.")
		}
	}
	b.oneBridge()
}

// fast reports whether a port is one of those that cables of a fabric are in. Ethernet ports of these switches are for
// management, and hang on the CPU.
func fast(port string) bool { return strings.HasPrefix(port, "qsfp") || strings.HasPrefix(port, "sfp") }

// bridged says whether a port is in a bridge. A whole text that has ports of bridges has all of them; one without any may have
// lost them.
func (b *build) bridged(p *portSaid) {
	switch {
	case p.switched():
		p.config.Bridged = &fabric.Said[bool]{Is: true, At: p.member.at}
	case p.member != nil:
		p.config.Bridged = &fabric.Said[bool]{Is: false, At: p.member.at}
	case b.whole && len(b.of[memberMenu]) > 0:
		p.config.Bridged = &fabric.Said[bool]{Is: false, At: p.config.At}
	}
}

// inBridge reads the place of a port in a bridge. Without vlan-filtering the pvid of a port has no effect.
func (b *build) inBridge(p *portSaid) {
	pvid := fabric.Said[int]{Is: 1, At: says(defaultPVID)}
	known := !p.member.shown && b.whole
	if v, ok := p.member.get("pvid"); ok {
		n, good := number(v.Is, 1, 4094)
		if !good {
			b.problem(fabric.TextRange, p.name, v.At, v.Is+" is not a VLAN id", "RouterOS refuses it: they are 1 to 4094.")
			return
		}
		pvid, known = fabric.Said[int]{Is: n, At: v.At}, true
	}
	filtering, told := b.filtering(p.member.is("bridge"))
	switch {
	case told && !filtering.Is:
		p.config.VLAN = &fabric.Said[int]{Is: 1, At: filtering.At}
	case told && known:
		p.config.VLAN = &pvid
	}
	if p.member.is("frame-types") == "admit-only-vlan-tagged" && told && filtering.Is {
		p.config.VLAN = nil // a trunk: packets without a tag are dropped
	}
	b.offloaded(p)
}

// filtering reports whether a bridge tells VLANs apart.
func (b *build) filtering(bridge string) (fabric.Said[bool], bool) {
	r := b.byID[bridgeMenu][bridge]
	if v, ok := r.get("vlan-filtering"); ok {
		is, good := yes(v.Is)
		return fabric.Said[bool]{Is: is, At: v.At}, good
	}
	return fabric.Said[bool]{At: says(noFiltering)}, b.whole && r != nil && !r.shown
}

// offloaded names what makes the CPU forward for a port: a few Gb/s instead of its rate.
func (b *build) offloaded(p *portSaid) {
	if !fast(p.name) {
		return
	}
	const then = "Its packets go through the CPU of the switch, at a few Gb/s and without lossless queues."
	if v, ok := p.member.get("hw"); ok {
		if is, good := yes(v.Is); good && !is {
			b.problem(fabric.TextConflict, p.name, v.At, "is not hardware offloaded (hw=no)", then)
			return
		}
	}
	if v, ok := p.member.get("horizon"); ok && v.Is != "none" {
		b.problem(fabric.TextConflict, p.name, v.At, "has a horizon, which the switch chip does not take", then)
		return
	}
	if v, ok := p.member.get("hw-offload"); ok && v.Is == "no" && !p.off() {
		b.problem(fabric.TextConflict, p.name, v.At, "is not hardware offloaded (its line has no H)", then)
	}
}

// off reports whether a port is known to be switched off.
func (p *portSaid) off() bool { return p.config.Up != nil && !p.config.Up.Is }

// oneBridge names a second bridge with fast ports: the switch chip forwards for one alone (manual, Bridge Hardware Offloading).
func (b *build) oneBridge() {
	first := ""
	told := map[string]bool{}
	for _, p := range b.ports {
		if !p.switched() || !fast(p.name) {
			continue
		}
		bridge, ok := p.member.get("bridge")
		if is, good := yes(p.member.is("hw")); !ok || good && !is || p.off() {
			continue
		}
		if first = cmp.Or(first, bridge.Is); bridge.Is == first || told[bridge.Is] {
			continue
		}
		told[bridge.Is] = true
		b.problem(fabric.TextConflict, p.name, bridge.At, fmt.Sprintf("is in bridge %s, and other ports are in bridge %s", bridge.Is, first),
			"The switch chip forwards for one bridge. Ports of the other go through the CPU, at a few Gb/s.")
	}
}

// vlans are those that bridges tell apart, with the addresses of the switch in them.
func (b *build) vlans() []fabric.VLANConfig {
	of := map[int]*fabric.VLANConfig{}
	vlan := func(id int, at fabric.Line) *fabric.VLANConfig {
		if of[id] == nil {
			of[id] = &fabric.VLANConfig{ID: id, At: at}
		}
		return of[id]
	}
	for _, r := range b.of[vlanMenu] {
		v, _ := r.get("vlan-ids")
		ids, ok := numbers(v.Is, 4094)
		if bridge := b.byID[bridgeMenu][r.is("bridge")]; !ok || r.off() || bridge != nil && bridge.off() {
			if !ok {
				b.problem(fabric.TextRange, "", v.At, v.Is+" is not a list of VLAN ids", "RouterOS refuses it: they are 1 to 4094.")
			}
			continue
		}
		for _, id := range ids {
			vlan(id, r.at)
		}
	}
	for _, r := range b.of[layer3Menu] {
		v, said := r.get("vlan-id")
		id, ok := number(v.Is, 1, 4094)
		if !ok || r.off() || b.byID[bridgeMenu][r.is("interface")] == nil {
			if said && !ok {
				b.problem(fabric.TextRange, "", v.At, v.Is+" is not a VLAN id", "RouterOS refuses it: they are 1 to 4094.")
			}
			continue
		}
		c := vlan(id, r.at)
		b.layer3(c, r)
	}
	for _, bridge := range b.of[bridgeMenu] { // the bridge itself is in the VLAN of its pvid
		id := 1
		if n, ok := number(bridge.is("pvid"), 1, 4094); ok {
			id = n
		}
		for _, a := range b.addresses[bridge.is("name")] {
			b.address(&vlan(id, bridge.at).Addresses, a)
		}
	}
	var out []fabric.VLANConfig
	for _, v := range of {
		out = append(out, *v)
	}
	slices.SortFunc(out, func(a, b fabric.VLANConfig) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// layer3 reads the interface of the switch in a VLAN.
func (b *build) layer3(c *fabric.VLANConfig, r *record) {
	if v, ok := r.get("mtu"); ok {
		if n, good := number(v.Is, 68, 65535); good {
			c.MTU = &fabric.Said[int]{Is: n, At: v.At}
		}
	} else if !r.shown {
		c.MTU = &fabric.Said[int]{Is: 1500, At: says(defaultMTU)}
	}
	for _, a := range b.addresses[r.is("name")] {
		b.address(&c.Addresses, a)
	}
}

// dhcp names DHCP servers of the switch that answer on fast ports: from the factory one answers on the bridge that all ports
// are in, and gives all interfaces of a host addresses of one subnet, and a default route.
func (b *build) dhcp() {
	for _, r := range b.of[dhcpMenu] {
		on, ok := r.get("interface")
		if !ok || r.off() {
			continue
		}
		var reached []string
		for _, p := range b.ports {
			if strings.HasPrefix(p.name, "qsfp") && !p.off() && b.reaches(on.Is, p) {
				reached = append(reached, p.name)
			}
		}
		if len(reached) == 0 {
			continue
		}
		which := reached[0]
		if n := len(reached) - 1; n > 0 {
			which += fmt.Sprintf(" and %d more", n)
		}
		b.problem(fabric.TextConflict, reached[0], r.at, fmt.Sprintf("DHCP server %s answers on %s, and so on %s", cmp.Or(r.is("name"), "without a name"), on.Is, which),
			"All interfaces of a host that ask, both twins of a DGX Spark, get addresses of one subnet and a default route through the switch.")
	}
}

// reaches reports whether packets of a port without a tag come to an interface of the switch.
func (b *build) reaches(name string, p *portSaid) bool {
	if b.byPort[name] == p {
		return true
	}
	if !p.switched() {
		return false
	}
	bridge, id := name, 1
	if v := b.byID[layer3Menu][name]; v != nil {
		bridge = v.is("interface")
		id, _ = number(v.is("vlan-id"), 1, 4094)
	} else if n, ok := number(b.byID[bridgeMenu][bridge].is("pvid"), 1, 4094); ok {
		id = n
	}
	if p.member.is("bridge") != bridge {
		return false
	}
	if filtering, told := b.filtering(bridge); !told || !filtering.Is {
		return bridge == name
	}
	return p.config.VLAN != nil && p.config.VLAN.Is == id
}

// bgp reads the sessions to other switches.
func (b *build) bgp() *fabric.BGPConfig {
	var c *fabric.BGPConfig
	lists := map[string]bool{}
	for _, r := range b.of[sessionMenu] {
		if r.off() {
			continue
		}
		base := []*record{r, b.byID[instanceMenu][r.is("instance")], b.byID[templateMenu][cmp.Or(r.is("templates"), r.is("template"), "default")]}
		as, ok := sayOf(base, "as")
		own, good := number(as.Is, 1, 1<<32-1)
		if !ok || !good {
			continue
		}
		if c == nil {
			c = &fabric.BGPConfig{ASN: fabric.Said[uint32]{Is: uint32(own), At: as.At}}
		}
		text, _, _ := strings.Cut(r.is("remote.address"), "/")
		addr, err := netip.ParseAddr(text)
		remote, numbered := number(r.is("remote.as"), 1, 1<<32-1)
		if err == nil && numbered {
			c.Neighbours = append(c.Neighbours, fabric.BGPNeighbour{Address: addr, ASN: uint32(remote), At: r.at})
		}
		if v, ok := sayOf(base, "multipath"); ok {
			if n, good := number(v.Is, 1, 1024); good {
				c.Paths = &fabric.Said[int]{Is: n, At: v.At}
			}
		}
		if v, ok := sayOf(base, "output.network"); ok {
			lists[v.Is] = true
		}
		if v, ok := r.get("output.redistribute"); ok && strings.Contains(v.Is, "connected") {
			c.Networks = append(c.Networks, fabric.Said[string]{Is: "connected", At: v.At})
		}
	}
	for _, r := range b.of[listMenu] {
		if v, ok := r.get("address"); ok && c != nil && lists[r.is("list")] && !r.off() {
			c.Networks = append(c.Networks, v)
		}
	}
	return c
}

// sayOf is a property of the first of some entries that has it.
func sayOf(of []*record, key string) (fabric.Said[string], bool) {
	for _, r := range of {
		if v, ok := r.get(key); ok {
			return v, true
		}
	}
	return fabric.Said[string]{}, false
}
