package host

import (
	"encoding/binary"
	"net/netip"
)

// addressSet are the IPv4 subnets that a recording speaks of, to tell addresses from versions.
type addressSet struct{ prefixes map[netip.Prefix]bool }

func (s *addressSet) add(p netip.Prefix) {
	const widest = 8 // bits: a wider one would take in every version
	if !p.Addr().Is4() || p.Bits() < widest {
		return
	}
	if s.prefixes == nil {
		s.prefixes = make(map[netip.Prefix]bool)
	}
	s.prefixes[p.Masked()] = true
}

func (s *addressSet) holds(a netip.Addr) bool {
	for p := range s.prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// realm is a range of addresses that means something by itself. An address stays in its realm, and none comes
// in. With a flip of no bits the addresses of a realm stay as they are.
type realm struct {
	prefix netip.Prefix
	fixed  bool
}

// realms are the special-purpose ranges (IANA special-purpose address registries, RFC 6890).
func realms() []realm {
	p := netip.MustParsePrefix
	return []realm{
		{p("0.0.0.0/8"), true}, {p("127.0.0.0/8"), true}, {p("224.0.0.0/3"), true},
		{p("10.0.0.0/8"), false}, {p("172.16.0.0/12"), false}, {p("192.168.0.0/16"), false}, {p("100.64.0.0/10"), false}, {p("169.254.0.0/16"), false},
		{p("::/8"), true}, {p("fe80::/10"), true}, {p("ff00::/8"), true}, {p("fc00::/8"), false}, {p("fd00::/8"), false}, {p("2000::/3"), false},
	}
}

// Bits that are replaced of an address, from the front. Of IPv4 the last byte stays: which end of a /31, the
// gateway at .254 and the network and broadcast addresses of a /24 are recognized by it.
const (
	bitsIPv4 = 24
	bitsIPv6 = 64
)

// ip replaces an address. Of two addresses of one family the results share as many leading bits as they do.
func (r *redactor) ip(a netip.Addr) netip.Addr {
	if a.Is4In6() {
		b := a.As16()
		v4 := r.ip(a.Unmap()).As4()
		copy(b[12:], v4[:])
		return netip.AddrFrom16(b).WithZone(a.Zone())
	}
	if a.Is4() {
		b := a.As4()
		r.flipBits(b[:], a, bitsIPv4)
		return netip.AddrFrom4(b)
	}
	b := a.As16()
	r.flipBits(b[:], a, bitsIPv6)
	switch {
	case a.IsMulticast():
		if isSolicited(b) { // its last three bytes are those of the address that is asked for
			r.scramble(b[13:])
		}
	default:
		r.interfaceID((*[8]byte)(b[8:]))
	}
	return netip.AddrFrom16(b).WithZone(a.Zone())
}

// isSolicited holds for ff02::1:ff00:0/104 (RFC 4291, 2.7.1).
func isSolicited(b [16]byte) bool {
	return b[0] == 0xff && b[1] == 2 && b[11] == 1 && b[12] == 0xff
}

// flipBits walks down the tree of prefixes. At each node the salt decides for all below whether the next bit
// is flipped; where a realm lies below, it is not; the first bit after is always.
func (r *redactor) flipBits(b []byte, a netip.Addr, bits int) {
	all := realms()
	first := true
	for i := range bits {
		node := netip.PrefixFrom(a, i).Masked()
		if fixed, above := nodeIn(all, node, a); fixed {
			return
		} else if above {
			continue
		}
		key := node.String()
		decided, ok := r.bits[key]
		if !ok {
			decided = r.prf("bit", []byte(key))[0]&1 == 1
			r.bits[key] = decided
		}
		if first || decided {
			b[i/8] ^= 0x80 >> (i % 8)
		}
		first = false
	}
}

// nodeIn reports whether the address lies in a fixed realm, and whether a realm lies below this node.
func nodeIn(all []realm, node netip.Prefix, a netip.Addr) (fixed, above bool) {
	for _, realm := range all {
		if realm.fixed && realm.prefix.Contains(a) {
			return true, false
		}
		above = above || realm.prefix.Bits() > node.Bits() && node.Contains(realm.prefix.Addr())
	}
	return false, above
}

// subnet replaces an address with its prefix length; bits behind it that are all zero stay zero.
func (r *redactor) subnet(p netip.Prefix) netip.Prefix {
	out := netip.PrefixFrom(r.ip(p.Addr()), p.Bits())
	if p == p.Masked() {
		return out.Masked()
	}
	return out
}

// interfaceID replaces the lower half of an IPv6 address. One that was made of a MAC address or a GUID follows
// it; a small number, as a gateway has, stays.
func (r *redactor) interfaceID(b *[8]byte) {
	const small = 1 << 16
	switch n := binary.BigEndian.Uint64(b[:]); {
	case n < small:
	case r.isEUI(*b):
		r.eui64(b)
	default:
		copy(b[:], r.prf("interface", b[:]))
	}
}

// isEUI holds for an identifier whose first three bytes are those of a vendor: one that was made of a MAC
// address (RFC 4291, appendix A), or that is like a GUID that was seen.
func (r *redactor) isEUI(b [8]byte) bool {
	if b[3] == 0xff && b[4] == 0xfe {
		return true
	}
	for g := range r.guids {
		if [5]byte(g[:5]) == [5]byte(b[:5]) {
			return true
		}
	}
	return false
}

// eui64 replaces what a GUID says of the single device: the last three bytes, as those of its MAC address.
func (r *redactor) eui64(b *[8]byte) {
	if *b != ([8]byte{}) {
		r.scramble(b[5:])
	}
}

// mac replaces the last three bytes of a MAC address. Groups stay, but for the one of IPv6 neighbour
// discovery, which holds the end of an address (RFC 2464, 7).
func (r *redactor) mac(b *[6]byte) {
	isGroup := b[0]&1 == 1
	solicits := [3]byte(b[:3]) == [3]byte{0x33, 0x33, 0xff}
	if *b != ([6]byte{}) && (!isGroup || solicits) {
		r.scramble(b[3:])
	}
}

// scramble puts three bytes in the place of three, each for one: a Feistel network of two halves of 12 bits.
func (r *redactor) scramble(b []byte) {
	const half, rounds = 12, 8
	n := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
	left, right := n>>half, n&(1<<half-1)
	for round := range byte(rounds) {
		f := r.prf("round", []byte{round, byte(right >> 8), byte(right)})
		left, right = right, left^uint32(binary.BigEndian.Uint16(f)&(1<<half-1))
	}
	n = left<<half | right
	b[0], b[1], b[2] = byte(n>>16), byte(n>>8), byte(n)
}

// hardware replaces a link-layer address by its length: Ethernet, EUI-64, IPoIB (RFC 4391, 9.1.1: four bytes,
// then a GID), and the ends of tunnels, which are IP addresses. Others become zero.
func (r *redactor) hardware(b []byte) {
	switch len(b) {
	case 6:
		r.mac((*[6]byte)(b))
	case 8:
		r.eui64((*[8]byte)(b))
	case 20:
		r.eui64((*[8]byte)(b[12:]))
	case 4, 16:
		r.ipBytes(b)
	default:
		clear(b)
	}
}

func (r *redactor) ipBytes(b []byte) {
	if a, ok := netip.AddrFromSlice(b); ok {
		copy(b, r.ip(a).AsSlice())
	}
}
