package sonic

import (
	"net/netip"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// bgp reads BGP of the default VRF. bgpcfgd takes the number of the switch from its metadata and announces what its templates
// say; frrcfgd, where the management framework configures FRR, has tables for both (sonic-bgp-global.yang).
func (r *reader) bgp(local *sonicRow) {
	f := local.get("bgp_asn")
	if global := r.db.row("BGP_GLOBALS", "default").get("local_asn"); global != nil {
		f = global
	}
	if f == nil || strings.EqualFold(f.value, "none") || strings.EqualFold(f.value, "null") || f.value == "" {
		return
	}
	asn := r.number(f, "", 1, 1<<32-1)
	if asn == nil {
		return
	}
	r.c.BGP = &fabric.BGPConfig{ASN: fabric.Said[uint32]{Is: uint32(asn.Is), At: asn.At}}
	for _, row := range r.db.rowsOf("BGP_NEIGHBOR") {
		r.neighbour(row)
	}
	for _, row := range r.db.rowsOf("BGP_GLOBALS_AF_NETWORK") {
		if name, ok := strings.CutPrefix(row.key, "default|"); ok {
			_, name, _ = strings.Cut(name, "|")
			if n, err := netip.ParsePrefix(name); err == nil {
				r.c.BGP.Networks = append(r.c.BGP.Networks, fabric.Said[string]{Is: n.Masked().String(), At: row.at})
			}
		}
	}
	if row := r.db.row("ROUTE_REDISTRIBUTE", "default|connected|bgp|ipv4"); row != nil && row.get("route_map") == nil {
		r.c.BGP.Networks = append(r.c.BGP.Networks, fabric.Said[string]{Is: "connected", At: row.at})
	}
	r.c.BGP.Paths = r.small(r.db.row("BGP_GLOBALS_AF", "default|ipv4_unicast").get("max_ebgp_paths"), "", 1, 256)
}

// neighbour reads a neighbour, whose key may have its VRF before it. Its number may be that of its group.
func (r *reader) neighbour(row *sonicRow) {
	vrf, key, ok := strings.Cut(row.key, "|")
	if !ok {
		vrf, key = "default", row.key
	}
	address, err := netip.ParseAddr(key)
	if err != nil || vrf != "default" {
		return // a neighbour by interface, or of another VRF
	}
	n := fabric.BGPNeighbour{Address: address, At: row.at}
	f := row.get("asn")
	if group := row.get("peer_group_name"); f == nil && group != nil {
		f = r.db.row("BGP_PEER_GROUP", "default|"+group.value).get("asn")
	}
	if f != nil && f.value != "0" { // 0: a neighbour that is not there yet
		if v := r.number(f, "", 1, 1<<32-1); v != nil {
			n.ASN = uint32(v.Is)
		}
	}
	r.c.BGP.Neighbours = append(r.c.BGP.Neighbours, n)
}
