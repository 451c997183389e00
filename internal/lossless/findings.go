package lossless

import (
	"cmp"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// findings are what was found, each kind once for each class of ports at which it is.
type findings struct {
	faults map[findingKey]*found
	gaps   map[gapKey]*found
}

type findingKey struct {
	kind         Kind
	spot         spot
	place, other class
}

type gapKey struct {
	gap   gap
	place class
}

// found is a fault, or a gap, of a class of ports.
type found struct {
	note   note
	about  uint64
	places map[int32]bool // ends
	depth  int            // switches of the trail
	trail  trail          // that shows it
	to     int32          // NIC to which the packet goes
}

// maxTrails bounds for how many findings a packet's way is looked up.
const maxTrails = 20 * MaxCounterexamples

func newFindings() *findings {
	return &findings{faults: map[findingKey]*found{}, gaps: map[gapKey]*found{}}
}

// add notes what was found about packets that come in by an end and, unless out is none, leave by another; here is the end at
// which it was found, but for what the sender of the cable does.
func (f *findings) add(k *walker, n notes, in, out, here int32) {
	for _, x := range n {
		place, other := here, in
		if x.spot == atSender {
			place, other = k.w.ends[in].peer, in
		}
		at, by := k.w.classOf(place), k.w.classOf(other)
		if x.kind == "" {
			entry(f.gaps, gapKey{x.gap, at}, x).places[place] = true
			continue
		}
		e := entry(f.faults, findingKey{x.kind, x.spot, at, by}, x)
		e.places[place] = true
		e.about |= x.about
		if e.trail != nil && e.depth <= k.depth || e.trail == nil && len(f.faults) > maxTrails {
			continue
		}
		if t := k.trailTo(in, x.first); t != nil {
			if e.to = k.destination(in, out); out != none {
				t = append(t, out)
			}
			e.note, e.trail, e.depth = x, t, k.depth
		}
	}
}

func entry[K comparable](m map[K]*found, key K, n note) *found {
	e := m[key]
	if e == nil {
		e = &found{note: n, places: map[int32]bool{}, to: none}
		m[key] = e
	}
	return e
}

// gapList lists what is unknown, by place.
func (f *findings) gapList(w *wiring) []Gap {
	byWords := map[string]*Gap{}
	note := func(g gap, at fabric.Endpoint, places int) {
		e := byWords[g.words()]
		if e == nil {
			e = &Gap{At: at, What: g.words()}
			byWords[e.What] = e
		}
		if compareEndpoints(at, e.At) < 0 {
			e.At = at
		}
		e.Places += places
	}
	bySwitch := map[string]map[gap]*Gap{}
	for key, e := range f.gaps {
		for place := range e.places {
			at := w.ends[place].at
			node := at.Node
			if w.ends[place].node == none {
				node = "" // NICs are not listed by host: there are too many
			}
			if bySwitch[node] == nil {
				bySwitch[node] = map[gap]*Gap{}
			}
			g := bySwitch[node][key.gap]
			if g == nil {
				g = &Gap{At: at, What: key.gap.words()}
				bySwitch[node][key.gap] = g
			}
			if compareEndpoints(at, g.At) < 0 {
				g.At = at
			}
			g.Places++
		}
	}
	var out []Gap
	for _, gaps := range bySwitch {
		for _, g := range gaps {
			out = append(out, *g)
		}
	}
	for g, places := range w.gaps {
		note(g, slices.MinFunc(places, compareEndpoints), len(places))
	}
	for _, g := range byWords {
		out = append(out, *g)
	}
	slices.SortFunc(out, func(a, b Gap) int { return cmp.Or(compareEndpoints(a.At, b.At), cmp.Compare(a.What, b.What)) })
	return out
}

// sorted lists the faults of which a packet's way is known, shortest first.
func (f *findings) sorted(w *wiring) []*found {
	var out []*found
	for _, key := range slices.SortedFunc(maps.Keys(f.faults), compareKeys) {
		if e := f.faults[key]; e.trail != nil {
			out = append(out, e)
		}
	}
	slices.SortStableFunc(out, func(a, b *found) int {
		return cmp.Or(cmp.Compare(len(a.trail), len(b.trail)), compareEndpoints(w.ends[a.trail[0]].at, w.ends[b.trail[0]].at))
	})
	return out
}

func compareKeys(a, b findingKey) int {
	return cmp.Or(cmp.Compare(a.kind, b.kind), cmp.Compare(a.spot, b.spot), cmp.Compare(a.place.number, b.place.number), cmp.Compare(a.other.number, b.other.number))
}
