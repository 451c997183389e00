package intent

import (
	"fmt"
	"math/bits"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// rail24Hosts is how many hosts a /24 takes: .1 to .253. The gateway is .254.
const rail24Hosts = 253

// LeafCount returns how many leaf switches of so many ports connect the hosts, and how many hosts are on
// each leaf. One leaf carries everything while hosts x nics <= ports. Beyond that the fabric is
// rail-optimised and non-blocking: half of a leaf's ports face the hosts and half the spines, the hosts
// stand in groups of ports/2, and each group has one leaf a rail, on which every host of the group has
// one port; leaves = nics x ceil(hosts / (ports/2)). In both cases host i (from 0) stands in group
// i / hostsPerLeaf. Both are 0 where no leaf can carry the hosts: a number below 1, or a single port.
func LeafCount(hosts, nics, ports int) (leaves, hostsPerLeaf int) {
	switch {
	case hosts < 1 || nics < 1 || ports < 1:
		return 0, 0
	case hosts <= ports/nics:
		return 1, hosts
	case ports < 2:
		return 0, 0
	}
	down := ports / 2
	return nics * ceilDiv(hosts, down), down
}

// NeededPrefix is the length of the smallest IPv4 prefix that holds the addresses of a scheme, for so
// many hosts of at most so many NICs each: p2p31 gives every host a block of the next power of two of
// 2 x nics addresses, rail24 gives every rail of every leaf a /24 (253 hosts and the gateway), flat needs
// one subnet with an address for each NIC and the gateway. leafDownlinks is how many hosts stand on a
// leaf (hostsPerLeaf of LeafCount); 0 stands for one leaf that carries all. Only rail24 asks for it.
// It is an error where a /24 cannot hold the hosts of a leaf, where IPv4 cannot hold the addresses, and
// for a scheme without addresses.
func NeededPrefix(scheme fabric.Scheme, hosts, nics, leafDownlinks int) (prefixLength int, err error) {
	return filled(hosts, leafDownlinks).NeededPrefix(scheme, hosts, nics, 0)
}

// filled is the division into groups of which all but the last are full.
func filled(hosts, perGroup int) Division {
	if perGroup == 0 {
		perGroup = hosts
	}
	if hosts < 1 || perGroup < 1 {
		return Division{PerGroup: perGroup}
	}
	return Division{Groups: ceilDiv(hosts, perGroup), PerGroup: min(hosts, perGroup)}
}

// NeededPrefix is the length of the smallest IPv4 prefix that holds the addresses of a scheme on this division, with a /31
// for each of so many cables between switches. See the function of this name.
func (l Division) NeededPrefix(scheme fabric.Scheme, hosts, nics, uplinks int) (prefixLength int, err error) {
	addresses, err := l.neededAddresses(scheme, hosts, nics, uplinks)
	if err != nil {
		return 0, err
	}
	return 32 - bits.Len64(addresses-1), nil
}

// neededAddresses counts what the scheme takes of the pool.
func (l Division) neededAddresses(scheme fabric.Scheme, hosts, nics, uplinks int) (uint64, error) {
	const most = 1 << 24 // keeps the products below within 64 bits; IPv4 itself ends far earlier
	if hosts < 1 || nics < 1 || l.PerGroup < 0 || uplinks < 0 || hosts > most || nics > most || uplinks > most {
		return 0, fmt.Errorf("%d hosts of %d NICs on leaves of %d hosts: must be at least one host and one NIC", hosts, nics, l.PerGroup)
	}
	n := uint64(0)
	switch scheme {
	case fabric.P2P31:
		n = uint64(hosts) * stride(nics)
	case fabric.Rail24:
		if at := min(hosts, l.PerGroup); at > rail24Hosts {
			return 0, fmt.Errorf("scheme rail24 holds at most %d hosts per leaf, not %d: name a fabric.leaf with fewer ports, or use scheme p2p31", rail24Hosts, at)
		}
		n = uint64(nics) * uint64(l.Groups) << 8
	case fabric.Flat:
		n = uint64(hosts)*uint64(nics) + 1 + 2 // the gateway; the network's own and the broadcast address
	default:
		return 0, fmt.Errorf("scheme %q uses no addresses: use p2p31, rail24 or flat", scheme)
	}
	n += 2 * uint64(uplinks)
	if n > 1<<32 {
		return 0, fmt.Errorf("scheme %s needs %d addresses for %d hosts of %d NICs: IPv4 has 4294967296", scheme, n, hosts, nics)
	}
	return n, nil
}

// stride is how many addresses a host takes with p2p31: the next power of two of two a NIC, so that a
// host's block is a prefix of its own.
func stride(nics int) uint64 { return 1 << bits.Len64(uint64(2*nics)-1) }

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// checkPool returns why a prefix cannot be a pool: host bits, or a range that no host may use.
func checkPool(pool netip.Prefix) error {
	if pool != pool.Masked() {
		return fmt.Errorf("%s has host bits set: the network is %s", pool, pool.Masked())
	}
	for _, r := range []struct{ prefix, what string }{
		{"0.0.0.0/8", "this network (RFC 1122, 3.2.1.3)"},
		{"127.0.0.0/8", "loopback (RFC 1122, 3.2.1.3)"},
		{"169.254.0.0/16", "link-local (RFC 3927)"},
		{"224.0.0.0/4", "multicast (RFC 5771)"},
		{"240.0.0.0/4", "reserved (RFC 1112, 4)"},
	} {
		if pool.Overlaps(netip.MustParsePrefix(r.prefix)) {
			return fmt.Errorf("%s overlaps %s, %s: use a unicast range such as 10.64.0.0/16", pool, r.prefix, r.what)
		}
	}
	return nil
}
