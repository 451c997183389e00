package eos

import (
	"math"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// openBGP begins router bgp.
func (r *reader) openBGP(l switchtext.CLILine, args string, not bool) bool {
	as, ok := eosAS(strings.TrimPrefix(args, "bgp "))
	r.stack = nil
	if not {
		r.said.bgp = nil
		return true
	}
	if !ok {
		return false
	}
	s := r.said
	if s.bgp != nil && s.bgp.ASN.Is != as {
		s.problem(fabric.TextDuplicate, "", l.Line, "a second BGP with another number", "EOS refuses it.")
	}
	if s.bgp == nil {
		s.bgp = &fabric.BGPConfig{ASN: fabric.Said[uint32]{Is: as, At: l.Line}}
	}
	r.push(0, l, eosMode{kind: "bgp"})
	return true
}

// eosAS reads a number of an autonomous system, as 65000 or 1.5.
func eosAS(s string) (uint32, bool) {
	if high, low, ok := strings.Cut(s, "."); ok {
		h, err := strconv.ParseUint(high, 10, 16)
		l, err2 := strconv.ParseUint(low, 10, 16)
		return uint32(h<<16 | l), err == nil && err2 == nil
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n > 0 && n <= math.MaxUint32
}

// member is a neighbour of BGP whose number its peer group may say.
type member struct {
	address netip.Addr
	group   string
	at      fabric.Line
}

// sessions adds the neighbours that have their number from a peer group, and takes out those that are switched off.
func (s *eosSaid) sessions() {
	if s.bgp == nil {
		return
	}
	for _, m := range s.members {
		as, ok := s.groupAS[m.group]
		switch {
		case slices.ContainsFunc(s.bgp.Neighbours, func(n fabric.BGPNeighbour) bool { return n.Address == m.address }):
		case !ok:
			s.problem(fabric.TextUndefined, "", m.at, "peer group "+m.group+" has no number of an autonomous system in the text", "The session is not set up.")
		default:
			s.bgp.Neighbours = append(s.bgp.Neighbours, fabric.BGPNeighbour{Address: m.address, ASN: as, At: m.at})
		}
	}
	s.bgp.Neighbours = slices.DeleteFunc(s.bgp.Neighbours, func(n fabric.BGPNeighbour) bool {
		at, off := s.shut[n.Address]
		if off {
			s.problem(fabric.TextInert, "", at, "the session with "+n.Address.String()+" is switched off", "No route goes over it.")
		}
		return off
	})
	s.redistributed()
	first(&s.bgp.Paths, &fabric.Said[int]{Is: 1, At: says(onePath)})
}

// bgpWords are first words below router bgp that have no bearing on which networks are announced, and to whom (User Manual,
// BGP; aristanetworks/avd, router_bgp).
var bgpWords = []string{
	"additional-paths", "bgp", "timers", "distance", "graceful-restart", "graceful-restart-helper", "aggregate-address", "dynamic", "dynamic-prefixes", "update", "rd",
	"route-target", "shutdown", "exit", "local-as", "exit-address-family", "ucmp", "rpki", "logging", "monitoring", "as-path", "bfd", "default-metric", "domain", "import", "export", "host-flap",
	"layer-2", "next-hop", "route", "route-distinguisher", "route-preference", "session", "snmp", "encapsulation", "evpn", "roa", "qos", "path-selection", "link-state", "l2vpn", "redistribute", "activate",
	"comment", "convergence", "control-plane-filter", "no-route-target", "vni-aware-bundle", "pseudowire", "community", "weight", "mvpn", "rt-membership",
}

// neighbourWords are what is said of a neighbour beside its number and its group.
var neighbourWords = []string{
	"activate", "additional-paths", "allowas-in", "as-path", "auto-local-addr", "bfd", "capability", "default-originate", "description", "domain", "dont-capability-negotiate", "ebgp-multihop",
	"encapsulation", "enforce-first-as", "export-localpref", "fall-over", "graceful-restart", "graceful-restart-helper", "idle-restart-timer", "import-localpref", "in-policy-delay", "link-bandwidth", "local-as", "local-v4-addr",
	"local-v6-addr", "maximum-accepted-routes", "maximum-advertised-routes", "maximum-routes", "metric-out", "missing-policy", "monitoring", "multi-path", "next-hop", "next-hop-peer", "next-hop-self", "next-hop-unchanged", "next-hop-v6-addr",
	"out-delay", "passive", "password", "peer-tag", "prefix-list", "rcf", "remove-private-as", "rib-in", "route-map", "route-reflector-client", "route-refresh", "send-community", "session", "shared-secret", "soft-reconfiguration",
	"timers", "transport", "ttl", "update-source", "weight", "route-to-peer", "route-target",
}

// inBGP reads what BGP announces, over how many paths, and to whom. A VRF has sessions and networks of its own: they are no
// part of the fabric's.
func (r *reader) inBGP(depth int, m eosMode, l switchtext.CLILine) bool {
	rest, not := eosNot(l.Command)
	f := strings.Fields(rest)
	if f[0] == "vrf" || f[0] == "vlan" || f[0] == "vlan-aware-bundle" || f[0] == "address-family" {
		if !not {
			r.push(depth, l, eosMode{kind: "bgp", tenant: m.tenant || f[0] != "address-family"})
		}
		return len(f) > 1
	}
	if m.tenant {
		return slices.Contains([]string{"neighbor", "router-id", "maximum-paths", "network"}, f[0]) || eosFirst(rest, bgpWords...)
	}
	s := r.said
	if s.bgp == nil {
		return true
	}
	switch f[0] {
	case "neighbor":
		return s.neighbor(f, not, l.Line)
	case "router-id":
		if a, err := netip.ParseAddr(f[len(f)-1]); !not && (err != nil || !a.Is4() || len(f) != 2) {
			s.problem(fabric.TextRange, "", l.Line, "a router id is an IPv4 address", "EOS refuses it, and takes an address of its own.")
		}
		return true
	case "maximum-paths":
		return s.maximumPaths(f, not, l.Line)
	case "network":
		return s.network(f, not, l.Line)
	case "redistribute":
		if len(f) > 1 && f[1] == "connected" {
			if s.connected = nil; len(f) == 4 && f[2] == "route-map" && !not {
				s.connected = &fabric.Said[string]{Is: f[3], At: l.Line}
			} else {
				s.announce("connected", not, l.Line)
			}
		}
		return len(f) > 1
	}
	return eosFirst(rest, bgpWords...)
}

// maximumPaths reads how many equal paths are used: one where nobody says (User Manual, BGP, maximum-paths).
func (s *eosSaid) maximumPaths(f []string, not bool, at fabric.Line) bool {
	if not {
		s.bgp.Paths = nil
		return true
	}
	if len(f) != 2 && (len(f) != 4 || f[2] != "ecmp") {
		return false
	}
	n, err := strconv.Atoi(f[1])
	if err != nil || n < 1 || n > 600 {
		s.problem(fabric.TextRange, "", at, "maximum-paths takes a number of paths, 1 to 600 by platform", "EOS refuses it.")
		return true
	}
	eosSay(s, &s.bgp.Paths, n, at)
	return true
}

// network reads a network that is announced, as a prefix or with a mask. EOS takes host bits and drops them.
func (s *eosSaid) network(f []string, not bool, at fabric.Line) bool {
	args := f[1:]
	if i := slices.Index(args, "mask"); i == 1 && len(args) > 2 {
		args = []string{args[0], args[2]}
	} else if i := slices.IndexFunc(args, func(w string) bool { return w == "route-map" || w == "rcf" }); i == 1 {
		args = args[:1]
	}
	if len(args) == 0 {
		return false
	}
	p, ok := eosAddress(strings.Join(args, " "))
	if six, err := netip.ParsePrefix(args[0]); len(args) == 1 && err == nil {
		p, ok = six, true
	}
	if !ok {
		if strings.Trim(args[0], "0123456789./:abcdef") == "" {
			s.problem(fabric.TextRange, "", at, "network "+strings.Join(args, " ")+" is not a prefix", "EOS refuses it.")
			return true
		}
		return false
	}
	s.announce(p.Masked().String(), not, at)
	return true
}

func (s *eosSaid) announce(what string, not bool, at fabric.Line) {
	i := slices.IndexFunc(s.bgp.Networks, func(n fabric.Said[string]) bool { return n.Is == what })
	switch {
	case not && i >= 0:
		s.bgp.Networks = slices.Delete(s.bgp.Networks, i, i+1)
	case !not && i < 0:
		s.bgp.Networks = append(s.bgp.Networks, fabric.Said[string]{Is: what, At: at})
	}
}

// neighbor reads what is said of a neighbour, or of a group of them.
func (s *eosSaid) neighbor(f []string, not bool, at fabric.Line) bool {
	if len(f) < 2 {
		return false
	}
	a, err := netip.ParseAddr(f[1])
	if len(f) == 2 {
		return not && err == nil && s.forget(a)
	}
	word, last := f[2], f[len(f)-1]
	group := word == "peer" && len(f) > 3 && f[3] == "group" || word == "peer-group"
	switch {
	case f[1] == "interface":
		return false // by its link, without an address: the model has none
	case err != nil && strings.Trim(f[1], "0123456789.") == "":
		s.problem(fabric.TextRange, "", at, "neighbor "+f[1]+" is not an address", "EOS refuses it.")
		return true
	case word == "remote-as" && err != nil:
		as, ok := eosAS(last)
		if ok && !not {
			s.groupAS[f[1]] = as
		}
		return ok || not
	case word == "remote-as" && len(f) == 4:
		return s.remoteAS(a, f[3], not, at)
	case word == "shutdown" && err == nil:
		if s.shut[a] = at; not {
			delete(s.shut, a)
		}
		return true
	case group && err == nil:
		s.join(member{a, last, at}, not)
		return true
	}
	return group || word == "shutdown" || slices.Contains(neighbourWords, word)
}

// join puts a neighbour into a group, or takes it out.
func (s *eosSaid) join(m member, not bool) {
	if not {
		s.members = slices.DeleteFunc(s.members, func(o member) bool { return o.address == m.address })
		return
	}
	s.members = append(s.members, m)
}

// forget takes a neighbour out.
func (s *eosSaid) forget(a netip.Addr) bool {
	s.bgp.Neighbours = slices.DeleteFunc(s.bgp.Neighbours, func(n fabric.BGPNeighbour) bool { return n.Address == a })
	s.members = slices.DeleteFunc(s.members, func(m member) bool { return m.address == a })
	return true
}

func (s *eosSaid) remoteAS(a netip.Addr, number string, not bool, at fabric.Line) bool {
	if not {
		return s.forget(a)
	}
	as, ok := eosAS(number)
	if !ok {
		s.problem(fabric.TextRange, "", at, number+" is not a valid AS number", "EOS refuses it.")
		return true
	}
	for i := range s.bgp.Neighbours {
		n := &s.bgp.Neighbours[i]
		if n.Address != a {
			continue
		}
		if n.ASN != as {
			s.problem(fabric.TextDuplicate, "", at, "says again what line \""+n.At.Text+"\" said, with another value", "The last one counts.")
		}
		n.ASN, n.At = as, at
		return true
	}
	s.bgp.Neighbours = append(s.bgp.Neighbours, fabric.BGPNeighbour{Address: a, ASN: as, At: at})
	return true
}
