package lossless_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lossless"
)

// TestAgreesWithBruteForce holds proofs against an interpreter of its own: 1,000 single edits of random networks, and as many
// networks as they were before. Verdicts are equal, kinds of faults are equal, and each counterexample is seen in the packet.
func TestAgreesWithBruteForce(t *testing.T) {
	const each = 1000
	verdicts, kinds, confirmed, packets := map[fabric.Status]int{}, map[string]int{}, 0, 0
	for i := range each {
		r := rand.New(rand.NewPCG(uint64(i), 14))
		w, e := newWorld(r), edits[i%len(edits)]
		if got := lossless.Prove(w.net, w.want); got.Verdict != fabric.Pass {
			t.Fatalf("seed %d: before the edit: %v %+v %+v", i, got.Verdict, got.Counterexamples, got.Unknown)
		}
		e.do(w, r)
		got := lossless.Prove(w.net, w.want)
		all, sent, pairs := newBrute(w.net, w.want).everything()
		packets += sent
		want := fabric.Pass
		switch {
		case len(all.bad) > 0:
			want = fabric.Fail
		case len(all.blank) > 0 || sent == 0:
			want = fabric.Unknown
		}
		verdicts[want]++
		if got.Verdict != want {
			t.Errorf("seed %d, %s: %v, brute force %v: %v %v; proof %+v %+v", i, e.name, got.Verdict, want, all.bad, all.blank, got.Counterexamples, got.Unknown)
			continue
		}
		if got.Walked != 64*pairs {
			t.Errorf("seed %d, %s: walked %d, brute force %d pairs", i, e.name, got.Walked, pairs)
		}
		if a, b := kindsOf(got), kindsIn(all); !slices.Equal(a, b) {
			t.Errorf("seed %d, %s: kinds %v, brute force %v", i, e.name, a, b)
		}
		if a, b := wheresOf(got), wheresIn(all); !slices.Equal(a, b) {
			t.Errorf("seed %d, %s: places %v, brute force %v", i, e.name, a, b)
		}
		for _, c := range got.Counterexamples {
			kinds[string(c.Kind)]++
			if why := confirm(w, c); why != "" {
				t.Errorf("seed %d, %s: %s: %+v", i, e.name, why, c)
				continue
			}
			confirmed++
		}
	}
	t.Logf("%d edits of %d kinds: proved %d, refuted %d, unknown %d; %d packets sent; %d counterexamples confirmed: %v", each, len(edits),
		verdicts[fabric.Pass], verdicts[fabric.Fail], verdicts[fabric.Unknown], packets, confirmed, kinds)
	for _, v := range []fabric.Status{fabric.Pass, fabric.Fail, fabric.Unknown} {
		if verdicts[v] < each/20 {
			t.Errorf("%d of %d edits are %v: too few to tell anything", verdicts[v], each, v)
		}
	}
}

// wheresOf lists the kinds of faults with the switches and hosts that have them, and the switches of which something is not
// known; of NICs only that it is not.
func wheresOf(r lossless.Result) (out []string) {
	for _, c := range r.Counterexamples {
		if c.Kind == lossless.CyclicPauses {
			continue
		}
		for _, node := range c.Switches {
			out = append(out, string(c.Kind)+" "+node)
		}
	}
	for _, g := range r.Unknown {
		out = append(out, "unknown "+switchOrHost(g.At.Node))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func wheresIn(r ride) (out []string) {
	for k := range r.bad {
		kind, at, _ := strings.Cut(k, "@")
		node, _, _ := strings.Cut(at, ":")
		out = append(out, kind+" "+node)
	}
	for k := range r.blank {
		_, at, _ := strings.Cut(k, "@")
		out = append(out, "unknown "+switchOrHost(nodeOf(at)))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func switchOrHost(node string) string {
	if strings.HasPrefix(node, "host") {
		return "host"
	}
	return node
}

func kindsOf(r lossless.Result) (out []string) {
	for _, c := range r.Counterexamples {
		out = append(out, string(c.Kind))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func kindsIn(r ride) (out []string) {
	for k := range r.bad {
		kind, _, _ := strings.Cut(k, "@")
		out = append(out, kind)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// confirm sends the packet of a counterexample: it meets that fault, at that place, on a path that goes by all of its hops.
func confirm(w *world, c lossless.Counterexample) string {
	b := newBrute(w.net, w.want)
	from, to := c.Packet.From.Node+" "+c.Packet.From.NIC, c.Packet.To.Node+" "+c.Packet.To.NIC
	last := c.Hops[len(c.Hops)-1]
	if last.Line.Text == "" {
		return "no line"
	}
	paths := b.paths(from, to)
	if len(paths) == 0 {
		return "no path"
	}
	for _, path := range paths {
		if !goesBy(path, c.Hops) {
			continue
		}
		for _, dscp := range append([]int{c.Packet.DSCP}, c.DSCPs...) {
			if !b.send(path, dscp).bad[string(c.Kind)+"@"+last.At.String()] {
				return "the packet does not meet it"
			}
		}
		return ""
	}
	return "no path goes by its hops"
}

func goesBy(path []string, hops []lossless.Hop) bool {
	for _, h := range hops {
		if !slices.Contains(path, h.At.Node+" "+h.At.NIC) {
			return false
		}
	}
	return true
}
