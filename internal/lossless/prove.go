package lossless

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Prove proves or refutes that a network is lossless for RoCE as an intent has it.
func Prove(n Network, in Intent) Result {
	if !in.RoCE.Lossless {
		return Result{Verdict: fabric.NotApplicable, Why: "RoCE is to be lossy here: no pauses protect it"}
	}
	m := newManners()
	w := wire(n, m)
	k := newWalker(newJudge(in, m), w, newFindings())
	circles := k.walkAll(n.Turns)
	r := Result{Walked: k.walked, Classes: len(m.ports) + len(m.nics), Islands: w.islands()}
	r.Counterexamples = k.counterexamples()
	r.Counterexamples = append(r.Counterexamples, circles...)
	r.Faults = len(r.Counterexamples)
	r.Counterexamples = r.Counterexamples[:min(len(r.Counterexamples), MaxCounterexamples)]
	r.Unknown = k.found.gapList(w)
	r.Gaps = len(r.Unknown)
	r.Unknown = r.Unknown[:min(len(r.Unknown), MaxGaps)]
	switch {
	case r.Faults > 0:
		r.Verdict = fabric.Fail
	case r.Gaps > 0:
	case r.Walked == 0:
		r.Why = "no packet goes from one NIC to another: there is no cable between two NICs, by way of switches"
	default:
		r.Verdict = fabric.Pass
	}
	return r
}

// walkAll follows all packets, and returns the circles in which pauses may wait.
func (k *walker) walkAll(given []Turn) []Counterexample {
	if given != nil {
		t := newTurns(k.w, given)
		k.waits = newWaits()
		t.walk(k)
		return k.explainCircles(func(int) {}) // the only flow is at hand
	}
	l, groups := newLayers(k.w), k.w.sources()
	for _, members := range groups {
		l.spread(members)
		l.walk(k)
	}
	if !l.turns {
		return nil // up, aside at most once, and down: no circle
	}
	again := newWalker(k.judge, k.w, newFindings())
	again.waits = newWaits()
	walk := func(n int) {
		l.spread(groups[n])
		l.walk(again)
	}
	for n := range groups {
		again.waits.flow = n
		walk(n)
	}
	return again.explainCircles(walk)
}

// explainCircles writes each circle of waiting pauses as a counterexample. walk puts a flow at hand.
func (k *walker) explainCircles(walk func(flow int)) []Counterexample {
	circles := k.waits.circles()
	edges := k.waits.edges
	k.waits = nil
	var out []Counterexample
	for _, circle := range circles {
		first := edges[circle[0]][circle[1%len(circle)]]
		walk(first.flow)
		t := k.trailTo(circle[0].in(), first.p)
		if t == nil {
			continue
		}
		to := k.destination(circle[0].in(), k.w.ends[circle[1%len(circle)].in()].peer)
		out = append(out, k.circle(circle, t, first.p.sent, to))
	}
	return out
}

// counterexamples writes the faults with their packets; those that the same line of a text is to blame for are one.
func (k *walker) counterexamples() []Counterexample {
	type key struct {
		kind       Kind
		text, does string
	}
	at := map[key]int{}
	var out []Counterexample
	for _, f := range k.found.sorted(k.w) {
		where := make(map[string]bool)
		for e := range f.places {
			where[k.w.ends[e].at.Node] = true
		}
		for _, c := range k.explain(f) {
			last := c.Hops[len(c.Hops)-1]
			id := key{c.Kind, last.Line.Text, last.Does}
			i, ok := at[id]
			if !ok {
				i = len(out)
				at[id], out = i, append(out, c)
			}
			x := &out[i]
			x.Places += len(f.places)
			x.DSCPs = append(x.DSCPs, c.DSCPs...)
			for name := range where {
				x.Switches = append(x.Switches, name)
			}
		}
	}
	for i := range out {
		x := &out[i]
		slices.Sort(x.DSCPs)
		slices.Sort(x.Switches)
		x.DSCPs, x.Switches = slices.Compact(x.DSCPs), slices.Compact(x.Switches)
	}
	return out
}
