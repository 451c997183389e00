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
		r.place = dellPlace{}
		return false
	}
	if bad != "" || slices.Contains(list, 0) {
		r.problem(fabric.TextRange, "", c.Line, text+" is not in 1 to 4094", "the switch refuses the line")
		return true
	}
	if c.no {
		r.place = dellPlace{}
		for _, id := range list {
			if i, said := r.vlans[id]; said {
				r.out.VLANs[i] = fabric.VLANConfig{} // dropped at the end
				delete(r.vlans, id)
			}
		}
		return true
	}
	r.place = dellPlace{kind: inVLAN, head: c.Indent, vlans: list}
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
	r.place = dellPlace{}
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

// dellASN reads the number of an autonomous system, also as 65000.1.
func dellASN(text string) (uint32, bool) {
	if high, low, ok := strings.Cut(text, "."); ok {
		h, err1 := strconv.ParseUint(high, 10, 16)
		l, err2 := strconv.ParseUint(low, 10, 16)
		return uint32(h<<16 | l), err1 == nil && err2 == nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	return uint32(n), err == nil && n > 0
}

// enterBGP opens the block of BGP.
func (r *reader) enterBGP(c command) bool {
	asn, ok := dellASN(c.word(2))
	if c.no {
		r.place, r.out.BGP, r.inherits = dellPlace{}, nil, nil
		clear(r.peers)
		return true
	}
	if !ok {
		return false
	}
	r.configured = true
	r.place = dellPlace{kind: inBGP, head: c.Indent}
	if c.is(3, "vrf") && !strings.EqualFold(c.word(4), "default") {
		r.place.foreign = true
		return true
	}
	switch {
	case r.out.BGP == nil:
		r.out.BGP = &fabric.BGPConfig{ASN: fabric.Said[uint32]{Is: asn, At: c.Line}}
	case r.out.BGP.ASN.Is != asn:
		r.problem(fabric.TextDuplicate, "", c.Line, fmt.Sprintf("the AS number is %d here and %d in line %d", asn, r.out.BGP.ASN.Is, r.out.BGP.ASN.At.Number), "the switch has one BGP and refuses the second")
	}
	return true
}

// bgpIgnored are lines of BGP that change neither neighbours nor their numbers.
var bgpIgnored = []string{
	"activate", "advertise", "advertise-all-vni", "advertisement-interval", "aggregate-address", "allowas-in", "always-compare-med", "as-notation", "attribute-unchanged", "bestpath", "bfd",
	"bgp", "capability", "client-to-client", "cluster-id", "coalesce-time", "confederation", "dampening", "default", "default-originate", "description", "deterministic-med", "disable-connected-check", "disable-ebgp-connected-route-check", "distance", "dont-negotiate-capability", "ebgp-multihop",
	"enforce-first-as", "enforce-multihop", "fast-external-failover", "filter-list", "graceful-restart", "graceful-shutdown", "import", "listen", "local-as", "log-neighbor-changes", "log-neighbor-state-changes", "max-delay", "max-med", "maximum-paths", "maximum-prefix",
	"network", "next-hop-self", "override-capability", "passive", "password", "port", "prefix-list", "rd", "read-quanta", "redistribute", "remove-private-as", "route-flap-dampen", "route-map", "route-reflector", "route-reflector-allow-outbound-policy", "route-reflector-client", "route-server-client", "route-target", "router-id", "send-community",
	"shutdown", "soft-reconfiguration", "strict-capability-match", "suppress-fib-pending", "table-map", "timers", "ttl-security", "unsuppress-map", "update-delay", "update-source", "v6only", "vni", "weight", "write-quanta", "dup-addr-detection", "autort", "exit-address-family",
}

// bgpLine reads a line of BGP: neighbours, and their numbers by themselves or by a group.
func (r *reader) bgpLine(c command) bool {
	p := &r.place
	switch strings.ToLower(c.words[0]) {
	case "exit": // the family, the neighbour, then all
		if p.family {
			p.family = false
			return true
		}
		left := p.peer != ""
		p.peer = ""
		return left
	case "address-family":
		p.family = true
		return true
	case "neighbor":
		p.family = false
		return p.foreign || r.neighbour(c)
	case "peer-group":
		if p.peer != "" && !p.isGroup { // of a neighbour
			if i, ok := r.peers[p.peer]; ok && len(c.words) == 2 {
				r.inherits = append(r.inherits, inherit{neighbour: i, group: c.words[1]})
			}
			return true
		}
		p.peer, p.isGroup, p.family = c.word(1), true, false
		return len(c.words) == 2
	case "remote-as":
		return p.foreign || r.remoteAS(c, 1)
	}
	return slices.Contains(bgpIgnored, strings.ToLower(c.words[0]))
}

// inherit is a neighbour that has the number of its group.
type inherit struct {
	neighbour int
	group     string
}

// neighbour opens the lines of a neighbour. One that is named by an interface has no address, and no place in the model.
func (r *reader) neighbour(c command) bool {
	p := &r.place
	if c.is(1, "interface") {
		p.peer, p.isGroup = "interface "+strings.Join(c.words[2:], ""), false
		return len(c.words) > 2
	}
	a, err := netip.ParseAddr(c.word(1))
	if err != nil || r.out.BGP == nil {
		return false
	}
	p.peer, p.isGroup = a.String(), false
	i, known := r.peers[p.peer]
	switch {
	case c.no && known:
		r.out.BGP.Neighbours[i].Address = netip.Addr{} // dropped at the end
		delete(r.peers, p.peer)
	case !c.no && !known:
		r.peers[p.peer] = len(r.out.BGP.Neighbours)
		r.out.BGP.Neighbours = append(r.out.BGP.Neighbours, fabric.BGPNeighbour{Address: a, At: c.Line})
	}
	if c.is(2, "remote-as") {
		return r.remoteAS(c, 3)
	}
	return len(c.words) == 2
}

// remoteAS reads a number, or external and internal, which say none.
func (r *reader) remoteAS(c command, at int) bool {
	p := &r.place
	asn, ok := dellASN(c.word(at))
	if !ok {
		if !c.is(at, "internal") && !c.is(at, "external") && !c.no {
			return false
		}
		if c.is(at, "internal") && r.out.BGP != nil {
			asn = r.out.BGP.ASN.Is
		}
	}
	if p.isGroup {
		r.groups[p.peer] = asn
		return true
	}
	i, known := r.peers[p.peer]
	if !known {
		return strings.HasPrefix(p.peer, "interface ")
	}
	n := &r.out.BGP.Neighbours[i]
	if n.ASN != 0 && n.ASN != asn {
		r.problem(fabric.TextDuplicate, "", c.Line, fmt.Sprintf("remote-as of %s is %d here and %d above", p.peer, asn, n.ASN), "the last one counts")
	}
	n.ASN = asn
	return true
}
