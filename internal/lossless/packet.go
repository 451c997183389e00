package lossless

import (
	"cmp"
	"encoding/binary"
	"slices"
)

// packet is a kind of packet on a cable.
type packet struct {
	sent uint8 // DSCP with which its NIC sent it
	dscp uint8 // that it has now
	held int8  // queue of the switch, or priority of the NIC, from which it comes; unknown
	mtu  int32 // of the NIC that sent it, of RoCE; unknown
}

func comparePackets(a, b packet) int {
	return cmp.Or(cmp.Compare(a.sent, b.sent), cmp.Compare(a.dscp, b.dscp), cmp.Compare(a.held, b.held), cmp.Compare(a.mtu, b.mtu))
}

// packetSets numbers the sets of packets that come by cables: there are few different ones. Number 0 is the empty set.
type packetSets struct {
	sets   [][]packet
	byText map[string]int32
	unions map[[2]int32]int32
}

func newPacketSets() *packetSets {
	s := &packetSets{byText: map[string]int32{}, unions: map[[2]int32]int32{}}
	s.number(nil)
	return s
}

// number numbers a set. It may have packets twice and in any order, and is not kept.
func (s *packetSets) number(set []packet) int32 {
	slices.SortFunc(set, comparePackets)
	set = slices.Compact(set)
	text := make([]byte, 0, 7*len(set))
	for _, p := range set {
		text = append(text, p.sent, p.dscp, byte(p.held))
		text = binary.LittleEndian.AppendUint32(text, uint32(p.mtu))
	}
	n, ok := s.byText[string(text)]
	if !ok {
		n = int32(len(s.sets))
		s.byText[string(text)], s.sets = n, append(s.sets, slices.Clone(set))
	}
	return n
}

func (s *packetSets) union(a, b int32) int32 {
	switch {
	case a == b || b == 0:
		return a
	case a == 0:
		return b
	case a > b:
		a, b = b, a
	}
	n, ok := s.unions[[2]int32{a, b}]
	if !ok {
		n = s.number(slices.Concat(s.sets[a], s.sets[b]))
		s.unions[[2]int32{a, b}] = n
	}
	return n
}
