package plan

import (
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// Private numbers of autonomous systems of four bytes (RFC 6996: 4200000000 to 4294967294): those of two bytes would end at
// 1023 leaves. Each leaf has its own and the spines share one (RFC 7938, 5.2.1), so that a path that comes down from a spine
// and goes up to another has the spines' number twice and is refused (RFC 4271, 9.1.2): no traffic climbs twice, and pauses
// of PFC cannot close a circle over the spines.
const (
	spineASN     = 4200000000
	firstLeafASN = 4200000001
)

// addSpines adds the spines, the cables from every leaf to each of them, their addresses, and BGP. A leaf uses its last
// ports, so that those of hosts stay where they are when hosts are added; a spine uses its ports in the order of the leaves.
func (g grouping) addSpines(p *fabric.Plan, leaf, spine switchModel) {
	leaves, first := p.Switches, len(leaf.own)-g.Spines*g.PerPair
	spines := make([]fabric.Switch, g.Spines)
	for i, name := range g.spines {
		spines[i] = spine.new(p, name, fabric.Spine)
		spines[i].Ports = make([]fabric.SwitchPort, 0, len(leaves)*g.PerPair)
	}
	routed := p.Transport == fabric.RoCE
	pool := pool{}
	if routed {
		pool, _ = newPool(p.Addressing.Pool) // address has read it
		for i := range leaves {
			leaves[i].BGP = &fabric.BGP{ASN: firstLeafASN + uint32(i), Networks: networks(leaves[i])}
		}
		for i := range spines {
			spines[i].BGP = &fabric.BGP{ASN: spineASN}
		}
	}
	p.Cabling.Uplinks = make([]fabric.Link, 0, g.Uplinks())
	for i := range leaves {
		for n := range g.Spines * g.PerPair {
			s := &spines[n/g.PerPair]
			up, down := leaf.own[first+n], spine.own[i*g.PerPair+n%g.PerPair]
			up.Uplink, down.Uplink = true, true
			up.RateGbps = slower(up.RateGbps, down.RateGbps)
			down.RateGbps = up.RateGbps
			up.Peer = fabric.Endpoint{Node: s.Name, NIC: down.Name}
			down.Peer = fabric.Endpoint{Node: leaves[i].Name, NIC: up.Name}
			if routed {
				even, odd := pool.fromEnd(len(p.Cabling.Uplinks))
				down.Address, up.Address = netip.PrefixFrom(even, 31), netip.PrefixFrom(odd, 31)
				meet(leaves[i].BGP, s.BGP, odd, even)
			}
			leaves[i].Ports, s.Ports = append(leaves[i].Ports, up), append(s.Ports, down)
			p.Cabling.Uplinks = append(p.Cabling.Uplinks, fabric.Link{A: down.Peer, B: up.Peer, Rail: g.rail(i)})
		}
	}
	p.Switches = append(leaves, spines...)
	if note := oversubscribed(leaves); note != "" {
		p.Notes = append(p.Notes, note)
	}
}

// meet makes a leaf and a spine neighbours over the two addresses of a cable. A switch has the address of its first cable
// to another as its router id: no other switch has it.
func meet(leaf, spine *fabric.BGP, ofLeaf, ofSpine netip.Addr) {
	if !leaf.RouterID.IsValid() {
		leaf.RouterID = ofLeaf
	}
	if !spine.RouterID.IsValid() {
		spine.RouterID = ofSpine
	}
	leaf.Neighbours = append(leaf.Neighbours, fabric.BGPNeighbour{Address: ofSpine, ASN: spine.ASN})
	spine.Neighbours = append(spine.Neighbours, fabric.BGPNeighbour{Address: ofLeaf, ASN: leaf.ASN})
}

// networks are the subnets of a leaf's NICs: what it announces.
func networks(leaf fabric.Switch) []netip.Prefix {
	var all []netip.Prefix
	for _, v := range leaf.VLANs {
		if v.Gateway.IsValid() {
			all = append(all, v.Gateway.Masked())
		}
	}
	for _, port := range leaf.Ports {
		if port.Address.IsValid() {
			all = append(all, port.Address.Masked())
		}
	}
	return all
}

// oversubscribed says which leaf has the least towards the spines for what its hosts can send; empty where each has enough,
// or where a rate is unknown.
func oversubscribed(leaves []fabric.Switch) string {
	worst, most, count, text := 1.0, "", 0, ""
	for _, s := range leaves {
		up, down := 0.0, 0.0
		for _, port := range s.Ports {
			switch {
			case port.RateGbps == 0:
				return ""
			case port.Uplink:
				up += port.RateGbps
			default:
				down += port.RateGbps
			}
		}
		if down > up {
			count++
		}
		if ratio := down / up; ratio > worst {
			worst, most = ratio, s.Name
			text = fmt.Sprintf("%g Gb/s towards the spines for %g Gb/s of its hosts, %.2g to 1", up, down, ratio)
		}
	}
	if count == 0 {
		return ""
	}
	return fmt.Sprintf("%s oversubscribed: the most %s, with %s. Traffic between leaves waits or is paused when all hosts send.",
		map[bool]string{true: "One leaf is", false: fmt.Sprintf("%d leaves are", count)}[count == 1], most, text)
}
