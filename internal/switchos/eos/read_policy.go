package eos

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// prefixRule is an entry of a prefix list: prefixes below one, with lengths from least to most.
type prefixRule struct {
	permit      bool
	below       netip.Prefix
	least, most int
}

// routeTerm is an entry of a route map.
type routeTerm struct {
	permit bool
	lists  []string // one of these permits the network; none: all networks
	other  bool     // it looks at something else too
}

// routePolicy reads prefix lists and route maps, which say which of its networks a switch announces.
func (r *reader) routePolicy(l switchtext.CLILine, rest string, not bool) bool {
	f := strings.Fields(rest)
	s := r.said
	r.stack = nil
	if f[0] == "route-map" {
		if not {
			delete(s.routeMaps, f[1])
			return true
		}
		t := &routeTerm{permit: !slices.Contains(f[2:], "deny")}
		s.routeMaps[f[1]] = append(s.routeMaps[f[1]], t)
		r.push(0, l, eosMode{kind: "route-map", term: t})
		return true
	}
	name := f[2] // ip prefix-list NAME
	if not {
		delete(s.prefixLists, name)
		return true
	}
	if len(f) == 3 {
		if s.prefixLists[name] == nil {
			s.prefixLists[name] = []prefixRule{}
		}
		r.push(0, l, eosMode{kind: "prefix-list", profile: name})
		return true
	}
	return s.prefixRule(name, f[3:], l.Line)
}

// prefixRule reads `seq 10 permit 10.0.0.0/8 ge 24 le 31`.
func (s *eosSaid) prefixRule(name string, f []string, at fabric.Line) bool {
	if len(f) > 2 && f[0] == "seq" {
		f = f[2:]
	}
	if len(f) < 2 || f[0] != "permit" && f[0] != "deny" {
		return len(f) > 0 && (f[0] == "remark" || f[0] == "exit")
	}
	p, err := netip.ParsePrefix(f[1])
	if err != nil {
		s.problem(fabric.TextRange, "", at, f[1]+" is not a prefix", "EOS refuses it.")
		return true
	}
	rule := prefixRule{permit: f[0] == "permit", below: p.Masked(), least: p.Bits(), most: p.Bits()}
	for i := 2; i+1 < len(f); i += 2 {
		n, err := strconv.Atoi(f[i+1])
		switch {
		case err != nil:
			return false
		case f[i] == "eq":
			rule.least, rule.most = n, n
		case f[i] == "ge":
			rule.least, rule.most = n, max(rule.most, p.Addr().BitLen())
		case f[i] == "le":
			rule.most = n
		default:
			return false
		}
	}
	s.prefixLists[name] = append(s.prefixLists[name], rule)
	return true
}

// inRouteMap reads what an entry of a route map looks at. What it sets is of no bearing here.
func inRouteMap(t *routeTerm, c string) bool {
	if list, ok := strings.CutPrefix(c, "match ip address prefix-list "); ok {
		t.lists = append(t.lists, strings.Fields(list)...)
		return true
	}
	t.other = t.other || eosFirst(c, "match", "no match", "continue", "sub-route-map")
	return eosFirst(c, "match", "no", "set", "description", "exit", "continue", "sub-route-map", "seq")
}

// redistributed announces the connected networks that a route map permits. One that cannot be followed is taken to permit all.
func (s *eosSaid) redistributed() {
	if s.connected == nil {
		return
	}
	terms, defined := s.routeMaps[s.connected.Is]
	follow := defined && !slices.ContainsFunc(terms, func(t *routeTerm) bool {
		return t.other || slices.ContainsFunc(t.lists, func(l string) bool { return s.prefixLists[l] == nil })
	})
	if !defined && s.whole {
		s.problem(fabric.TextUndefined, "", s.connected.At, "route map "+s.connected.Is+" is defined nowhere in the text", "No connected network is announced.")
		return
	}
	if !follow {
		s.announce("connected", false, s.connected.At)
		return
	}
	var own []fabric.Said[netip.Prefix]
	for _, p := range s.inOrder {
		own = append(own, p.addresses...)
	}
	slices.Sort(s.vlanOrder)
	for _, id := range s.vlanOrder {
		if v := s.vlans[id]; v != nil {
			own = append(own, v.Addresses...)
		}
	}
	for _, a := range own {
		if s.permits(terms, a.Is.Masked()) {
			s.announce(a.Is.Masked().String(), false, s.connected.At)
		}
	}
}

func (s *eosSaid) permits(terms []*routeTerm, p netip.Prefix) bool {
	for _, t := range terms {
		if len(t.lists) == 0 || slices.ContainsFunc(t.lists, func(l string) bool { return listed(s.prefixLists[l], p) }) {
			return t.permit
		}
	}
	return false
}

func listed(list []prefixRule, p netip.Prefix) bool {
	for _, r := range list {
		if r.below.Contains(p.Addr()) && p.Bits() >= r.least && p.Bits() <= r.most {
			return r.permit
		}
	}
	return false
}
