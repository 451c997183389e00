package plan

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

const (
	firstTable  = 100 // the routing table of a NIC is this plus its rail, as 101 to 108 in Broadcom's RoCE guide, 2.4
	railBits    = 24  // prefix length of a rail's subnet with rail24
	railGateway = 254 // last byte of a rail's gateway with rail24 (Broadcom's RoCE guide, figure 3)
)

// scheme assigns addresses to the NICs of a cluster.
type scheme struct {
	name fabric.Scheme
	// nic returns the address and gateway of one NIC; host and rail count from 0.
	nic func(pool pool, g grouping, host, rail int) (netip.Prefix, netip.Addr)
	// subnets lists the shared subnets; nil where there are none.
	subnets func(pool pool, g grouping) []fabric.Subnet
}

// schemes returns all addressing schemes of a RoCE fabric.
func schemes() []scheme {
	return []scheme{
		{name: fabric.P2P31, nic: p2p31NIC},
		{name: fabric.Rail24, nic: rail24NIC, subnets: rail24Subnets},
		{name: fabric.Flat, nic: flatNIC, subnets: flatSubnets},
	}
}

// address assigns every NIC its address. On InfiniBand the subnet manager gives LIDs, and only IPoIB has any: none, unless the
// cluster file asks for them.
func address(f intent.Fabric, nodes []fabric.Node, g grouping) (fabric.Addressing, error) {
	if f.Kind == fabric.InfiniBand && (f.Addressing == nil || f.Addressing.Scheme != fabric.Flat) {
		return fabric.Addressing{Scheme: fabric.None}, nil
	}
	if f.Addressing == nil {
		return fabric.Addressing{}, fmt.Errorf("fabric.addressing: is not set")
	}
	s, err := findScheme(f.Addressing.Scheme)
	if err != nil {
		return fabric.Addressing{}, err
	}
	p, err := newPool(f.Addressing.Pool)
	if err != nil {
		return fabric.Addressing{}, err
	}
	length, err := g.NeededPrefix(s.name, len(nodes), g.NICs, g.Uplinks())
	if err != nil {
		return fabric.Addressing{}, fmt.Errorf("fabric.addressing.scheme: %w", err)
	}
	if p.prefix.Bits() > length {
		return fabric.Addressing{}, fmt.Errorf("fabric.addressing.pool: %s is too small for %d hosts of %d NICs with %s: it needs a /%d or larger",
			p.prefix, len(nodes), g.NICs, s.name, length)
	}
	a := fabric.Addressing{Scheme: s.name, Pool: p.prefix, Nodes: s.number(p, g, nodes)}
	if f.Kind == fabric.InfiniBand && g.NICs == 1 { // one interface in one subnet: nothing to choose between
		for i := range a.Nodes {
			a.Nodes[i].NICs[0].Table = 0
		}
	}
	if s.subnets != nil {
		a.Subnets = s.subnets(p, g)
	}
	return a, nil
}

func findScheme(name fabric.Scheme) (scheme, error) {
	var known []fabric.Scheme
	for _, s := range schemes() {
		if s.name == name {
			return s, nil
		}
		known = append(known, s.name)
	}
	return scheme{}, fmt.Errorf("fabric.addressing.scheme: %q is not one of %v", name, known)
}

// number addresses all NICs in one pass. They are in one array: 16,384 hosts of 8 are 131,072 NICs.
func (s scheme) number(p pool, g grouping, nodes []fabric.Node) []fabric.NodeAddresses {
	all := make([]fabric.NodeAddresses, len(nodes))
	nics := make([]fabric.NICAddress, 0, len(nodes)*g.NICs)
	for host, n := range nodes {
		first := len(nics)
		for rail, name := range n.NICs {
			prefix, gateway := s.nic(p, g, host, rail)
			nics = append(nics, fabric.NICAddress{
				NIC: name, Rail: rail + 1, Address: prefix, Gateway: gateway, Table: firstTable + rail + 1,
			})
		}
		all[host] = fabric.NodeAddresses{Node: n.Name, NICs: nics[first:len(nics):len(nics)]}
	}
	return all
}

// pool is the IPv4 prefix that addresses are taken from.
type pool struct {
	prefix netip.Prefix
	first  uint32
}

func newPool(p netip.Prefix) (pool, error) {
	if !p.IsValid() {
		return pool{}, fmt.Errorf("fabric.addressing.pool: is not set")
	}
	if !p.Addr().Is4() || p != p.Masked() {
		return pool{}, fmt.Errorf("fabric.addressing.pool: %s is not an IPv4 network without host bits, such as 10.64.0.0/10", p)
	}
	first := p.Addr().As4()
	return pool{prefix: p, first: binary.BigEndian.Uint32(first[:])}, nil
}

// fromEnd is the i-th pair of addresses of the pool counted from its end: cables between switches take theirs from there,
// so that they never meet those of hosts, which are taken from the beginning, and move none of them.
func (p pool) fromEnd(i int) (even, odd netip.Addr) {
	size := 1 << (32 - p.prefix.Bits())
	return p.at(size - 2*(i+1)), p.at(size - 2*(i+1) + 1)
}

func (p pool) at(i int) netip.Addr {
	var a [4]byte
	binary.BigEndian.PutUint32(a[:], p.first+uint32(i))
	return netip.AddrFrom4(a)
}

// stride is how many addresses a host takes with p2p31: two per NIC, and a power of two, so that a host is
// one aligned block that one route or access list can name.
func stride(rails int) int { return 1 << bits.Len(uint(2*rails-1)) }

// p2p31NIC assigns a cable its /31: the even address is the switch's, the odd one the host's
// (Broadcom's RoCE guide, figure 4).
func p2p31NIC(p pool, g grouping, host, rail int) (netip.Prefix, netip.Addr) {
	even := host*stride(g.NICs) + 2*rail
	return netip.PrefixFrom(p.at(even+1), 31), p.at(even)
}

// rail24Offset is where the /24 of a group and rail begins in the pool: by group, within it by rail.
// Hosts are numbered from .1 in the order of the file.
func rail24Offset(g grouping, group, rail int) int { return (group*g.NICs + rail) << (32 - railBits) }

func rail24NIC(p pool, g grouping, host, rail int) (netip.Prefix, netip.Addr) {
	group, place := g.Place(host, g.Hosts)
	subnet := rail24Offset(g, group, rail)
	return netip.PrefixFrom(p.at(subnet+place+1), railBits), p.at(subnet + railGateway)
}

func rail24Subnets(p pool, g grouping) []fabric.Subnet {
	all := make([]fabric.Subnet, 0, g.Groups*g.NICs)
	for group := range g.Groups {
		leaf := group
		for rail := range g.NICs {
			if g.ByRail {
				leaf = group*g.NICs + rail
			}
			at := rail24Offset(g, group, rail)
			all = append(all, fabric.Subnet{
				Prefix:  netip.PrefixFrom(p.at(at), railBits),
				Gateway: p.at(at + railGateway),
				Switch:  g.leaves[leaf],
				Rail:    rail + 1,
			})
		}
	}
	return all
}

// flatNIC numbers the NICs from the pool's first usable address, host by host. There is no gateway.
func flatNIC(p pool, g grouping, host, rail int) (netip.Prefix, netip.Addr) {
	return netip.PrefixFrom(p.at(host*g.NICs+rail+1), p.prefix.Bits()), netip.Addr{}
}

// flatSubnets is the pool itself; with several leaves it belongs to none of them alone.
func flatSubnets(p pool, g grouping) []fabric.Subnet {
	s := fabric.Subnet{Prefix: p.prefix}
	if len(g.leaves) == 1 {
		s.Switch = g.leaves[0]
	}
	return []fabric.Subnet{s}
}
