package lossless

// trail is the way of a packet: the NIC's end of its cable, then of each switch the end by which it comes in and the one by
// which it leaves; the last one may be a NIC's.
type trail []int32

// place is an end, and a packet that comes in by it.
type place struct {
	in int32
	p  packet
}

// trailTo finds a shortest way by which a packet comes in by an end, in the flow at hand.
func (k *walker) trailTo(in int32, p packet) trail {
	type node struct {
		place
		next int // place to which it goes on; -1: the last one
		out  int32
	}
	nodes, seen := []node{{place{in, p}, -1, none}}, map[place]bool{{in, p}: true}
	for i := 0; i < len(nodes); i++ {
		n := nodes[i]
		out := k.w.ends[n.in].peer
		if k.w.ends[out].node == none {
			t := trail{out, n.in}
			for at := i; nodes[at].next >= 0; at = nodes[at].next {
				t = append(t, nodes[at].out, nodes[nodes[at].next].in)
			}
			return t
		}
		for _, before := range k.flow.before(out) {
			if k.setAt(before) == 0 {
				continue
			}
			a := k.arrivalAt(before)
			d := k.depart(a, k.w.ends[out].class)
			for x, next := range d.next {
				at := place{before, a.packets[x]}
				if !d.lost[x] && next == n.p && !seen[at] {
					seen[at] = true
					nodes = append(nodes, node{at, i, out})
				}
			}
		}
	}
	return nil
}

// destination finds a NIC to which a packet goes that came in by an end and, unless that is none, leaves by another.
func (k *walker) destination(in, out int32) int32 {
	if k.w.ends[in].node == none {
		return in
	}
	outs := []int32{out}
	if out == none {
		outs = k.flow.after(in)
	}
	seen := map[int32]bool{}
	for i := 0; i < len(outs); i++ {
		to := k.w.ends[outs[i]].peer
		if k.w.ends[to].node == none {
			return to
		}
		if !seen[to] {
			seen[to] = true
			outs = append(outs, k.flow.after(to)...)
		}
	}
	return none
}
