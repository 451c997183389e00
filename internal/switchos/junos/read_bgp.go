package junos

import (
	"net/netip"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// readBGP reads autonomous system and neighbours.
func (r *reader) readBGP() {
	bgp := r.root.kid("protocols", "bgp")
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
		for _, n := range g.all("neighbor") {
			peer := n.value("peer-as")
			if peer == nil {
				peer = g.value("peer-as")
			}
			neighbour := fabric.BGPNeighbour{ASN: asn.Is, At: n.at} // internal BGP, where no other is named
			if as := r.asn(peer); as != nil {
				neighbour.ASN = as.Is
			}
			var err error
			if neighbour.Address, err = netip.ParseAddr(n.word); err != nil {
				r.problem(fabric.TextRange, n.at, "neighbor "+n.word+" is no address", "Junos refuses it")
				continue
			}
			r.out.BGP.Neighbours = append(r.out.BGP.Neighbours, neighbour)
		}
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
	r.problem(fabric.TextRange, v.At, "AS number is "+v.Is, "Junos refuses it")
	return nil
}
