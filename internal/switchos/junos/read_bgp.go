package junos

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// readBGP reads autonomous system, neighbours, what is announced, and over how many paths.
func (r *reader) readBGP() {
	bgp := r.root.kid("protocols", "bgp")
	if id := r.root.value("routing-options", "router-id"); id != nil {
		if a, err := netip.ParseAddr(id.Is); err != nil || !a.Is4() {
			r.problem(fabric.TextRange, id.At, "router-id is "+id.Is+", which is no IPv4 address", "Junos refuses it")
		}
	}
	own := r.root.value("routing-options", "autonomous-system")
	for _, g := range bgp.all("group") {
		if local := g.value("local-as"); local != nil && own == nil {
			own = local
		}
	}
	asn := r.asn(own)
	if asn == nil {
		return
	}
	r.out.BGP = &fabric.BGPConfig{ASN: *asn}
	for _, g := range bgp.all("group") {
		r.readGroup(bgp, g, asn.Is)
	}
}

// readGroup reads the sessions of a group. One that is shut down, or whose group is, is none.
func (r *reader) readGroup(bgp, g *junosNode, own uint32) {
	others := map[uint32]bool{}
	for _, n := range g.all("neighbor") {
		peer := n.value("peer-as")
		if peer == nil {
			peer = g.value("peer-as")
		}
		neighbour := fabric.BGPNeighbour{ASN: own, At: n.at} // internal BGP, where no other is named
		if as := r.asn(peer); as != nil {
			neighbour.ASN = as.Is
		}
		var err error
		if neighbour.Address, err = netip.ParseAddr(n.word); err != nil {
			r.problem(fabric.TextRange, n.at, "neighbor "+n.word+" is not an address", "Junos refuses it")
			continue
		}
		if off := firstOf(n.kid("shutdown"), n.kid("disable"), g.kid("shutdown"), g.kid("disable")); off != nil {
			r.problem(fabric.TextInert, off.at, "the session with "+n.word+" is switched off", "no route goes over it")
			continue
		}
		others[neighbour.ASN] = true
		r.out.BGP.Neighbours = append(r.out.BGP.Neighbours, neighbour)
	}
	if len(others) == 1 && others[own] {
		return // internal: what it announces is that of others
	}
	for _, in := range append([]*junosNode{g, bgp}, g.all("neighbor")...) {
		if export := in.kid("export"); export != nil {
			r.announce(export.values, 0)
			if in == g {
				break // of the two the narrower one counts
			}
		}
	}
	r.readPaths(bgp, g, len(others))
}

func firstOf(nodes ...*junosNode) *junosNode {
	for _, n := range nodes {
		if n != nil {
			return n
		}
	}
	return nil
}

const (
	onePath  = "Junos CLI reference, multipath: without it, BGP uses one path"
	ecmpMost = "Junos CLI reference, maximum-ecmp: 16 paths at most by default"
)

// readPaths reads how many equal-cost paths packets use: multipath lets BGP have them, and a policy that is exported to the forwarding
// table lets it use more than one of them (Junos BGP User Guide, load balancing).
func (r *reader) readPaths(bgp, g *junosNode, systems int) {
	multi := firstOf(g.kid("multipath"), bgp.kid("multipath"))
	paths := junosDefault(1, onePath)
	switch {
	case multi == nil || multi.kid("disable") != nil:
	case systems > 1 && multi.kid("multiple-as") == nil:
		paths.At = multi.at
		r.problem(fabric.TextConflict, multi.at, "group "+g.word+" has multipath without multiple-as, and its neighbours are of several autonomous systems", "paths of different systems are not used at once")
	case !r.balances(multi):
		paths.At = multi.at
	default:
		paths = r.number(r.root.value("chassis", "maximum-ecmp"), "maximum-ecmp", 1, 1024)
		if paths == nil {
			paths = &fabric.Said[int]{Is: 16, At: multi.at}
			paths.At.Text += " (" + ecmpMost + ")"
		}
	}
	if have := r.out.BGP.Paths; have == nil || paths.Is < have.Is {
		r.out.BGP.Paths = paths
	}
}

// balances reports whether the forwarding table has several paths at once; it is taken for granted where the text shows nothing of it.
func (r *reader) balances(multi *junosNode) bool {
	export := r.root.kid("routing-options", "forwarding-table", "export")
	policies := r.root.kid("policy-options", "policy-statement")
	if export == nil {
		if r.whole {
			r.problem(fabric.TextInert, multi.at, "BGP has multipath, and routing-options forwarding-table exports no policy with load-balance", "one path alone is used")
		}
		return !r.whole
	}
	for _, name := range export.values {
		if strings.Trim(name.Is, "()&|!") == "" {
			continue
		}
		p := policies.kid(name.Is)
		if p == nil && policies == nil && !r.whole {
			return true
		}
		for _, t := range append(p.all("term"), p) {
			if t.value("then", "load-balance") != nil {
				return true
			}
		}
		if p == nil {
			r.once(fabric.TextUndefined, name.At, "policy-statement "+name.Is+" is defined nowhere", "Junos refuses the text")
		}
	}
	r.once(fabric.TextInert, export.at, "no policy that the forwarding table has says load-balance", "one path alone is used")
	return false
}

// announce follows policies that are exported: which networks of its own a switch announces. What a policy takes from other
// protocols is of others.
func (r *reader) announce(policies []fabric.Said[string], depth int) {
	all := r.root.kid("policy-options", "policy-statement")
	for _, name := range policies {
		if strings.Trim(name.Is, "()&|!") == "" {
			return // of an expression, what all of it accepts is not followed
		}
		p := all.kid(name.Is)
		if p == nil {
			if all != nil || r.whole {
				r.once(fabric.TextUndefined, name.At, "policy-statement "+name.Is+" is defined nowhere", "Junos refuses the text")
			}
			continue
		}
		for _, term := range append(p.all("term"), p) {
			if term.kid("then", "accept") != nil {
				r.announceTerm(term, depth)
			}
			if from := term.kid("from"); from == nil && term.kid("then", "reject") != nil {
				return
			}
		}
	}
}

// announceTerm adds what one term accepts.
func (r *reader) announceTerm(term *junosNode, depth int) {
	from, at := term.kid("from"), term.kid("then", "accept").at
	if nested := from.kid("policy"); nested != nil {
		if depth < 8 {
			r.announce(nested.values, depth+1)
		}
		return
	}
	if p := from.kid("protocol"); p != nil && !slices.ContainsFunc(p.values, func(v fabric.Said[string]) bool { return v.Is == "direct" || v.Is == "local" }) {
		return
	}
	listed := false
	add := func(prefix string, at fabric.Line) {
		listed = true
		if p, err := netip.ParsePrefix(prefix); err == nil {
			r.network(p.Masked().String(), at)
		} else {
			r.problem(fabric.TextRange, at, prefix+" is not a prefix", "Junos refuses it")
		}
	}
	for _, f := range from.all("route-filter") {
		add(f.word, f.at)
	}
	var lists []fabric.Said[string]
	for _, f := range from.all("prefix-list-filter") {
		lists = append(lists, fabric.Said[string]{Is: f.word, At: f.at})
	}
	if f := from.kid("prefix-list"); f != nil {
		lists = append(lists, f.values...)
	}
	for _, name := range lists {
		listed = true
		list := r.root.kid("policy-options", "prefix-list", name.Is)
		if list == nil {
			r.once(fabric.TextUndefined, name.At, "prefix-list "+name.Is+" is defined nowhere", "Junos refuses the text")
		}
		for _, k := range list.all() {
			if !strings.HasPrefix(k.word, "apply-") {
				add(k.word, k.at)
			}
		}
	}
	if f := from.kid("interface"); f != nil {
		listed = true // those of some interfaces alone
	}
	if !listed && (from == nil || from.kid("protocol") != nil) {
		r.network("connected", at)
	}
}

func (r *reader) network(what string, at fabric.Line) {
	if !slices.ContainsFunc(r.out.BGP.Networks, func(n fabric.Said[string]) bool { return n.Is == what }) {
		r.out.BGP.Networks = append(r.out.BGP.Networks, fabric.Said[string]{Is: what, At: at})
	}
}

// asn reads the number of an autonomous system, in one piece or as 16 bits, a dot and 16 bits.
func (r *reader) asn(v *fabric.Said[string]) *fabric.Said[uint32] {
	if v == nil {
		return nil
	}
	high, low, dotted := strings.Cut(v.Is, ".")
	a, errA := strconv.ParseUint(high, 10, 32)
	if !dotted && errA == nil && a > 0 {
		return &fabric.Said[uint32]{Is: uint32(a), At: v.At}
	}
	if b, err := strconv.ParseUint(low, 10, 16); dotted && errA == nil && err == nil && a < 1<<16 {
		return &fabric.Said[uint32]{Is: uint32(a<<16 | b), At: v.At}
	}
	r.problem(fabric.TextRange, v.At, fmt.Sprintf("AS number is %s", v.Is), "Junos refuses it")
	return nil
}
