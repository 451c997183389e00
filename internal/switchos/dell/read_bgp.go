package dell

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

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
		r.place, r.out.BGP, r.inherits = place{}, nil, nil
		clear(r.peers)
		return true
	}
	if !ok {
		return false
	}
	r.configured = true
	r.place = place{kind: inBGP, head: c.Indent}
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
	"enforce-first-as", "enforce-multihop", "fast-external-failover", "filter-list", "graceful-restart", "graceful-shutdown", "import", "listen", "local-as", "log-neighbor-changes", "log-neighbor-state-changes", "max-delay", "max-med", "maximum-prefix",
	"next-hop-self", "override-capability", "passive", "password", "port", "prefix-list", "rd", "read-quanta", "remove-private-as", "route-flap-dampen", "route-map", "route-reflector", "route-reflector-allow-outbound-policy", "route-reflector-client", "route-server-client", "route-target", "send-community",
	"shutdown", "soft-reconfiguration", "strict-capability-match", "suppress-fib-pending", "table-map", "timers", "ttl-security", "unsuppress-map", "update-delay", "update-source", "v6only", "vni", "weight", "write-quanta", "dup-addr-detection", "autort", "exit-address-family",
}

// bgpFamilies are the families of addresses that BGP of this CLI has.
var bgpFamilies = []string{"ipv4 unicast", "ipv6 unicast", "l2vpn evpn"}

// bgpLine reads a line of BGP: neighbours, their numbers by themselves or by a group, and what it announces.
func (r *reader) bgpLine(c command) bool {
	p := &r.place
	r.bgpIndent(c)
	switch strings.ToLower(c.words[0]) {
	case "exit": // the family, the neighbour, then all
		if p.family != "" {
			p.family = ""
			return true
		}
		left := p.peer != ""
		p.peer = ""
		return left
	case "exit-address-family":
		p.family = ""
		return true
	case "address-family":
		family := strings.ToLower(strings.Join(c.words[1:], " "))
		if !slices.Contains(bgpFamilies, family) {
			p.family = "unknown"
			return false
		}
		p.family, p.familyHead = family, c.Indent
		if c.no {
			p.family = ""
			return p.peer != ""
		}
		return true
	case "neighbor":
		p.family, p.peerHead = "", c.Indent
		return p.foreign || r.neighbour(c)
	case "peer-group":
		return r.peerGroup(c)
	case "remote-as":
		return p.foreign || r.remoteAS(c, 1)
	case "router-id":
		a, err := netip.ParseAddr(c.word(1))
		return c.no && len(c.words) == 1 || err == nil && a.Is4() && len(c.words) == 2
	case "network", "redistribute", "maximum-paths":
		return r.announces(c)
	}
	return slices.Contains(bgpIgnored, strings.ToLower(c.words[0]))
}

// bgpIndent ends a family and a neighbour where a line stands left of what they have. A flat text ends them by exit alone.
func (r *reader) bgpIndent(c command) {
	p := &r.place
	if _, mode, ok := strings.Cut(c.Prompt, "router-bgp"); ok { // what the prompt says counts, with what was left before it
		if !strings.Contains(mode, "-af") {
			p.family = ""
		}
		if strings.HasPrefix(mode, ")") || strings.HasPrefix(mode, "-af") {
			p.peer, p.isGroup = "", false
		}
		return
	}
	if p.member <= p.head || c.Prompt != "" {
		return
	}
	if p.family != "" && c.Indent <= p.familyHead {
		p.family = ""
	}
	if p.peer != "" && c.Indent <= p.peerHead {
		p.peer, p.isGroup = "", false
	}
}

// peerGroup opens a group of neighbours, or puts a neighbour into one.
func (r *reader) peerGroup(c command) bool {
	p := &r.place
	if p.peer != "" && !p.isGroup { // of a neighbour
		if i, ok := r.peers[p.peer]; ok && len(c.words) == 2 {
			r.inherits = append(r.inherits, inherit{neighbour: i, group: c.words[1]})
		}
		return true
	}
	p.peer, p.isGroup, p.family, p.peerHead = c.word(1), true, "", c.Indent
	return len(c.words) == 2
}

// announces reads what a family of the router itself announces, and how many equal paths it uses: neighbours and BGP above its
// families have no such lines. What a route map lets through of the connected networks is unknown.
func (r *reader) announces(c command) bool {
	p, g := &r.place, r.out.BGP
	if p.family != "ipv4 unicast" && p.family != "ipv6 unicast" || p.peer != "" {
		return false
	}
	if p.foreign || g == nil {
		return true
	}
	switch strings.ToLower(c.words[0]) {
	case "redistribute":
		if c.is(1, "connected") && len(c.words) == 2 && p.family == "ipv4 unicast" {
			announce(g, "connected", c)
		}
		return len(c.words) > 1
	case "network":
		n, err := netip.ParsePrefix(c.word(1))
		if err != nil || n.Addr().Is4() != (p.family == "ipv4 unicast") || len(c.words) > 2 && !c.is(2, "route-map") && !c.is(2, "backdoor") {
			return false
		}
		announce(g, n.Masked().String(), c)
		return true
	}
	if c.is(1, "ibgp") { // of sessions inside of one system
		return c.no || len(c.words) > 2
	}
	if c.no {
		g.Paths = nil
		return len(c.words) <= 2
	}
	n, ok := dellNumber(c.word(1), 1, 256)
	if ok && len(c.words) == 2 && p.family == "ipv4 unicast" {
		dellSet(r, &g.Paths, n, c.Line, "", "maximum-paths")
	}
	return ok && len(c.words) == 2
}

// announce adds a network to what BGP announces, or takes it back.
func announce(g *fabric.BGPConfig, name string, c command) {
	i := slices.IndexFunc(g.Networks, func(s fabric.Said[string]) bool { return s.Is == name })
	switch {
	case c.no && i >= 0:
		g.Networks = slices.Delete(g.Networks, i, i+1)
	case !c.no && i < 0:
		g.Networks = append(g.Networks, fabric.Said[string]{Is: name, At: c.Line})
	}
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
