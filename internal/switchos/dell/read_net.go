package dell

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// enterVLANs opens the block of the switch's own interface in VLANs: interface Vlan 2, interface range Vlan 2-9.
func (r *reader) enterVLANs(c command, ids, text string) bool {
	list, bad, ok := numbers(ids, 4094)
	if !ok {
		r.place = place{}
		return false
	}
	if bad != "" || slices.Contains(list, 0) {
		r.problem(fabric.TextRange, "", c.Line, text+" is not in 1 to 4094", "the switch refuses the line")
		return true
	}
	if c.no {
		r.place = place{}
		for _, id := range list {
			if i, said := r.vlans[id]; said {
				r.out.VLANs[i] = fabric.VLANConfig{} // dropped at the end
				delete(r.vlans, id)
			}
		}
		return true
	}
	r.place = place{kind: inVLAN, head: c.Indent, vlans: list}
	for _, id := range list {
		r.vlan(id, c)
	}
	return true
}

func (r *reader) vlan(id int, c command) *fabric.VLANConfig {
	i, ok := r.vlans[id]
	if !ok {
		i = len(r.out.VLANs)
		r.vlans[id] = i
		r.out.VLANs = append(r.out.VLANs, fabric.VLANConfig{ID: id, At: c.Line})
	}
	r.configured = true
	return &r.out.VLANs[i]
}

// vlanLine reads a line of the interface of VLANs.
func (r *reader) vlanLine(c command) bool {
	for _, id := range r.place.vlans {
		v, where := r.vlan(id, c), fmt.Sprintf("Vlan%d", id)
		switch word := strings.ToLower(c.words[0]); {
		case word == "mtu":
			if !r.mtu(&v.MTU, c, where) {
				return false
			}
		case word == "ip" && (c.is(1, "address") || c.is(1, "anycast-address")):
			if !r.address(&v.Addresses, c, where) {
				return false
			}
		case slices.Contains([]string{"ip", "ipv6", "shutdown", "autostate", "neigh-suppress", "name", "igmp", "qos-map", "private-vlan"}, word) || slices.Contains(portIgnored, word):
		default:
			return false
		}
	}
	return true
}

// buffer reads what reserves memory: a share of the pool for what comes after a pause, and its initialisation.
func (r *reader) buffer(c command) bool {
	r.qos, r.configured = true, true
	r.place = place{}
	switch {
	case c.is(1, "pool") && c.is(3, "shared-headroom-size") && !c.no:
		n, err := strconv.ParseInt(c.word(4), 10, 64)
		if err != nil || n < 0 {
			return false
		}
		r.out.Buffers = append(r.out.Buffers, fabric.BufferShare{Direction: "ingress", Name: "lossless-headroom", Bytes: n, At: c.Line})
		return true
	case c.no:
		return false // takes lossless buffers away
	}
	r.lossless = r.lossless || c.is(1, "init")
	return c.is(1, "init") || c.is(1, "profile") || c.is(1, "pool")
}

// portIP reads addresses; other lines of ip have no bearing, except that they make a routed port.
func (r *reader) portIP(p *dellPort, c command) bool {
	if c.is(1, "unnumbered") && !c.no {
		p.routed = &fabric.Said[int]{Is: 0, At: c.Line}
	}
	if c.is(1, "address") {
		return r.address(&p.addresses, c, p.name)
	}
	return len(c.words) > 1 && slices.Contains([]string{"access-group", "unnumbered", "ospf", "pim", "igmp", "arp", "vrf", "dhcp-relay", "helper-address", "nat", "rip", "sla", "policy", "neighbor", "proxy-arp", "verify", "forwarding"}, strings.ToLower(c.words[1]))
}

// address reads ip address 10.0.0.0/31.
func (r *reader) address(list *[]fabric.Said[netip.Prefix], c command, where string) bool {
	if c.no && len(c.words) == 2 {
		*list = nil
		return true
	}
	a, err := netip.ParsePrefix(c.word(2))
	if err != nil {
		return c.is(2, "dhcp") // whatever it gets
	}
	same := slices.IndexFunc(*list, func(s fabric.Said[netip.Prefix]) bool { return s.Is == a })
	switch {
	case c.no && same >= 0:
		*list = slices.Delete(*list, same, same+1)
	case !c.no && same < 0:
		if len(*list) > 0 && !c.is(3, "secondary") {
			r.problem(fabric.TextDuplicate, where, c.Line, fmt.Sprintf("a second address %s beside %s", a, (*list)[0].Is), "the switch takes a second one only as secondary")
		}
		*list = append(*list, fabric.Said[netip.Prefix]{Is: a, At: c.Line})
	}
	return true
}

// portVLAN reads switchport access Vlan 2. Tagged VLANs have no bearing on packets without a tag.
func (r *reader) portVLAN(p *dellPort, c command) bool {
	if !c.is(1, "access") {
		return c.is(1, "trunk") || c.is(1, "mode") || c.is(1, "vlan-mapping") || c.is(1, "l2proto-tunnel") || c.no && len(c.words) == 1
	}
	if c.no {
		p.vlan = nil
		return true
	}
	text := strings.TrimPrefix(strings.ToLower(strings.Join(c.words[2:], "")), "vlan")
	id, ok := dellNumber(text, 0, 1<<20)
	if !ok {
		return false
	}
	if id < 1 || id > 4094 {
		r.problem(fabric.TextRange, p.name, c.Line, fmt.Sprintf("VLAN %d is not in 1 to 4094", id), "the switch refuses the line")
		return true
	}
	dellSet(r, &p.vlan, id, c.Line, p.name, "the VLAN of packets without a tag")
	return true
}
