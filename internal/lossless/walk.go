package lossless

// flow says which ways packets take: the ends by which those may have come in that leave by one, and the reverse.
type flow interface {
	before(out int32) []int32
	after(in int32) []int32
}

// walker follows sets of packets through the network.
type walker struct {
	*judge
	w      *wiring
	flow   flow
	sets   []int32 // that come in by each end, in the flow at hand; 0: nothing
	used   []int32 // ends whose set is not 0
	depth  int     // switches up to the one at hand
	walked int
	found  *findings
	waits  *waits // nil: dependencies of pauses are not collected
}

// crowd are the ends of a switch by which the same packets come in from alike senders.
type crowd struct {
	ends    []int32
	arrival *arrival
	beside  int32 // the switch, or NIC, that all of them come from; none: several
	goes    bool  // somewhere
}

func newWalker(j *judge, w *wiring, f *findings) *walker {
	return &walker{judge: j, w: w, sets: make([]int32, len(w.ends)), found: f}
}

func (k *walker) forget() {
	for _, e := range k.used {
		k.sets[e] = 0
	}
	k.used = k.used[:0]
}

// setAt is the set of packets that come in by an end: from a NIC all that it sends.
func (k *walker) setAt(in int32) int32 {
	if far := k.w.far(in); far.node == none && k.w.ends[in].node != none {
		return k.emission(far.class, k.w.ends[in].class)
	}
	return k.sets[in]
}

func (k *walker) arrivalAt(in int32) *arrival {
	e := &k.w.ends[in]
	return k.arrive(arrivalKey{from: k.w.classOf(e.peer), to: e.class, set: k.setAt(in)})
}

// neighbour numbers what is at the far end of a cable: a switch, or a NIC.
func (w *wiring) neighbour(e int32) int32 {
	if n := w.far(e).node; n != none {
		return n
	}
	return -e - 2
}

// visit follows what comes into a switch by some ends to where it leaves by others. Nothing goes back to where it came from,
// unless turns are given.
func (k *walker) visit(ins, outs []int32, given bool) {
	crowds := k.crowds(ins, given)
	for _, out := range outs {
		to, set := &k.w.ends[out], int32(0)
		for i := range crowds {
			c := &crowds[i]
			if !given && c.beside == k.w.neighbour(out) {
				continue
			}
			c.goes = true
			d := k.depart(c.arrival, to.class)
			if len(d.notes) > 0 {
				k.found.add(k, d.notes, k.from(c, out, given), out, out)
			}
			if k.waits != nil {
				k.waits.add(k, c, d, out, given)
			}
			set = k.judge.sets.union(set, d.out)
			k.walked += len(c.ends) * len(c.arrival.packets)
		}
		k.send(out, set)
	}
	for i := range crowds {
		if c := &crowds[i]; c.goes && len(c.arrival.notes) > 0 {
			for _, in := range c.ends {
				k.found.add(k, c.arrival.notes, in, none, in)
			}
		}
	}
}

// from is an end of a crowd from which packets go out by an end.
func (k *walker) from(c *crowd, out int32, given bool) int32 {
	for _, in := range c.ends {
		if given || k.w.neighbour(in) != k.w.neighbour(out) {
			return in
		}
	}
	return c.ends[0]
}

// send lets a set of packets out by an end.
func (k *walker) send(out, set int32) {
	to := k.w.ends[out].peer
	before := k.sets[to]
	if set = k.judge.sets.union(before, set); set == before {
		return
	}
	if before == 0 {
		k.used = append(k.used, to)
	}
	k.sets[to] = set
	if e := &k.w.ends[to]; e.node == none {
		if n := k.deliver(arrivalKey{from: k.w.classOf(out), to: e.class, set: set}); len(n) > 0 {
			k.found.add(k, n, to, none, to)
		}
	}
}

// crowds groups the ends by which packets come into a switch.
func (k *walker) crowds(ins []int32, given bool) []crowd {
	var out []crowd
	for _, in := range ins {
		if k.setAt(in) == 0 {
			continue
		}
		a, found := k.arrivalAt(in), false
		for i := range out {
			if c := &out[i]; c.arrival == a {
				c.ends, found = append(c.ends, in), true
				if c.beside != k.w.neighbour(in) {
					c.beside = none
				}
				break
			}
		}
		if !found {
			out = append(out, crowd{ends: []int32{in}, arrival: a, beside: k.w.neighbour(in)})
		}
	}
	return out
}
