package lossless

// layers is the flow of shortest paths from a group of switches with NICs, which all have the same switches beside them.
type layers struct {
	w       *wiring
	members []int32
	level   []int32 // of switches: how far they are from the group; none: not reached
	useful  []bool  // switches by which packets come to a NIC
	order   []int32 // switches that are reached, nearest first
	turns   bool    // packets that come down, or across, go up or across again: pauses may wait in a circle
}

func newLayers(w *wiring) *layers {
	l := &layers{w: w, level: make([]int32, len(w.ports)), useful: make([]bool, len(w.ports))}
	for v := range l.level {
		l.level[v] = none
	}
	return l
}

// spread finds the levels from a group of switches.
func (l *layers) spread(members []int32) {
	for _, v := range l.order {
		l.level[v], l.useful[v] = none, false
	}
	l.members, l.order = members, append(l.order[:0], members...)
	for _, v := range members {
		l.level[v] = 0
	}
	for i := 0; i < len(l.order); i++ {
		v := l.order[i]
		for _, p := range l.w.uplinks(v) {
			if u := l.w.far(p).node; l.level[u] == none {
				l.level[u] = l.level[v] + 1
				l.order = append(l.order, u)
			}
		}
	}
	for i := len(l.order) - 1; i >= len(members); i-- {
		v := l.order[i]
		l.useful[v] = l.w.nics[v] > 0 || l.level[v] == 1 && len(members) > 1
		for _, p := range l.w.uplinks(v) {
			u := l.w.far(p).node
			l.useful[v] = l.useful[v] || l.level[u] == l.level[v]+1 && l.useful[u]
		}
	}
}

// outs are the ends by which packets leave a switch. Back to the group there is a way from the switches beside it only.
func (l *layers) outs(v int32) []int32 {
	out := append([]int32(nil), l.w.downlinks(v)...)
	for _, p := range l.w.uplinks(v) {
		u := l.w.far(p).node
		if l.level[u] == l.level[v]+1 && l.useful[u] || l.level[v] == 1 && l.level[u] == 0 {
			out = append(out, p)
		}
	}
	return out
}

// walk follows packets from the group.
func (l *layers) walk(k *walker) {
	k.forget()
	k.flow, k.depth = l, 1
	for _, v := range l.members {
		k.visit(l.w.downlinks(v), l.outs(v), false)
	}
	back := len(l.members) == 1
	for _, v := range l.order[len(l.members):] {
		if l.level[v] > 1 && !back {
			back = true
			l.walkBack(k)
		}
		if !l.useful[v] {
			continue
		}
		k.depth = int(l.level[v]) + 1
		outs := l.outs(v)
		l.turns = l.turns || l.turnsUp(k, v, outs)
		k.visit(l.w.uplinks(v), outs, false)
	}
	if !back {
		l.walkBack(k)
	}
}

// walkBack follows packets to NICs of the group itself.
func (l *layers) walkBack(k *walker) {
	k.depth = 3
	for _, v := range l.members {
		k.visit(l.w.uplinks(v), l.w.downlinks(v), false)
	}
}

// turnsUp reports whether packets come into a switch from above or from beside, and go up or aside from it.
func (l *layers) turnsUp(k *walker, v int32, outs []int32) bool {
	down, up := false, false
	for _, p := range l.w.uplinks(v) {
		down = down || k.sets[p] != 0 && l.w.height[l.w.far(p).node] >= l.w.height[v]
	}
	for _, p := range outs {
		u := l.w.far(p).node
		up = up || u != none && l.w.height[u] >= l.w.height[v]
	}
	return down && up
}

func (l *layers) before(out int32) []int32 {
	v := l.w.ends[out].node
	ins := l.w.uplinks(v)
	if l.level[v] == 0 {
		if l.w.far(out).node == none {
			ins = l.w.ports[v] // from a NIC beside it, or from another switch of the group
		} else {
			ins = l.w.downlinks(v)
		}
	}
	return l.others(ins, out)
}

func (l *layers) after(in int32) []int32 {
	v := l.w.ends[in].node
	outs := l.w.downlinks(v)
	if l.level[v] > 0 || l.w.far(in).node == none {
		outs = l.outs(v)
	}
	return l.others(outs, in)
}

func (l *layers) others(list []int32, not int32) []int32 {
	var out []int32
	for _, e := range list {
		if l.w.neighbour(e) != l.w.neighbour(not) {
			out = append(out, e)
		}
	}
	return out
}
