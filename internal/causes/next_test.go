package causes

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

type posterior = map[fabric.CauseID]float64

// small is a set of two causes and steps that a test writes.
func small(t *testing.T, steps string) *Set {
	t.Helper()
	const head = "words: {always: 0.95, mostly: 0.8, often: 0.5, sometimes: 0.2, hardly: 0.03}\n" +
		"attention: {minutes: 0.5, reason: r}\nneeds: {rerun: r, root: r}\nsteps:\n"
	s, err := read(causesYAML, []byte(head+steps))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const (
	decisive = "- {id: decisive, command: c, minutes: 1, needs: [rerun], gives: g, outcomes: [{see: yes it is, likely: {memlock: always}, others: hardly}, {see: no, likely: {}, others: always}]}\n"
	weak     = "- {id: weak, command: c, minutes: 1, needs: [rerun], gives: g, outcomes: [{see: yes it is, likely: {memlock: often}, others: sometimes}, {see: no, likely: {}, others: mostly}]}\n"
	slowOne  = "- {id: dear, command: c, minutes: 30, needs: [root], gives: g, outcomes: [{see: yes it is, likely: {memlock: always}, others: hardly}, {see: no, likely: {}, others: always}]}\n"
	blind    = "- {id: blind, command: c, minutes: 0.1, needs: [rerun], gives: g, outcomes: [{see: yes it is, likely: {firewall: always}, others: hardly}, {see: no, likely: {}, others: always}]}\n"
)

func ids(steps []fabric.Step) (out []string) {
	for _, s := range steps {
		out = append(out, s.ID)
	}
	return out
}

// The decisive test wins over a weak one of the same cost, the cheap one over the dear one, and one that tells nothing
// about these causes is not offered.
func TestOrder(t *testing.T) {
	even := posterior{"memlock": 0.5, "shm-full": 0.5}
	s := small(t, weak+slowOne+blind+decisive)
	if got := ids(s.Next(even, 0, nil, 10)); !slices.Equal(got, []string{"decisive", "weak", "dear"}) {
		t.Errorf("%v", got)
	}
	if got := ids(s.Next(even, 0, nil, 1)); !slices.Equal(got, []string{"decisive"}) {
		t.Errorf("%v, want one", got)
	}
	if got := s.Next(even, 0, nil, 0); len(got) != 0 {
		t.Errorf("%v, want none", got)
	}
	rootOnly := func(needs []string) bool { return slices.Contains(needs, "root") }
	if got := ids(s.Next(even, 0, rootOnly, 10)); !slices.Equal(got, []string{"dear"}) {
		t.Errorf("%v: with root alone only one can be made", got)
	}
}

// The bits are those of the channel: computed here by hand for 0.95 against 0.03 of 0.98.
func TestBits(t *testing.T) {
	s := small(t, decisive)
	got := s.Next(posterior{"memlock": 0.5, "shm-full": 0.5}, 0, nil, 1)[0].Bits
	h := func(p float64) float64 { return -p*math.Log2(p) - (1-p)*math.Log2(1-p) }
	yes, other := 0.95, 0.03/0.98
	want := h((yes+other)/2) - (h(yes)+h(other))/2
	if math.Abs(got-want) > 1e-12 {
		t.Errorf("%v bits, want %v", got, want)
	}
}

// Bits do not depend on which cause bears which name, nor on the scale of the posterior, and never exceed what is open.
func TestBitsAreInformation(t *testing.T) {
	s := load(t)
	two := posterior{"memlock": 0.3, "shm-full": 0.7}
	scaled := posterior{"memlock": 3, "shm-full": 7}
	a, b := s.Next(two, 0, nil, 100), s.Next(scaled, 0, nil, 100)
	if len(a) == 0 || len(a) != len(b) {
		t.Fatalf("%d and %d steps", len(a), len(b))
	}
	open := entropy([]float64{0.3, 0.7})
	for i := range a {
		if a[i].ID != b[i].ID || math.Abs(a[i].Bits-b[i].Bits) > 1e-12 {
			t.Errorf("%v and %v of a scaled posterior", a[i], b[i])
		}
		if a[i].Bits < leastBits || a[i].Bits > open {
			t.Errorf("%s: %v bits of %v that are open", a[i].ID, a[i].Bits, open)
		}
	}
	swap := small(t, strings.ReplaceAll(decisive, "memlock", "shm-full"))
	x := small(t, decisive).Next(two, 0, nil, 1)[0].Bits
	y := swap.Next(posterior{"shm-full": 0.3, "memlock": 0.7}, 0, nil, 1)[0].Bits
	if math.Abs(x-y) > 1e-12 {
		t.Errorf("%v bits, with names exchanged %v", x, y)
	}
}

// The surer one is, the less a test tells; the more often an outcome shows under the cause, the more it tells.
func TestMonotonic(t *testing.T) {
	s := small(t, decisive)
	last := math.Inf(1)
	for _, p := range []float64{0.5, 0.6, 0.7, 0.8, 0.9} {
		bits := s.Next(posterior{"memlock": p, "shm-full": 1 - p}, 0, nil, 1)[0].Bits
		if bits >= last {
			t.Errorf("%v bits at %v, %v before", bits, p, last)
		}
		last = bits
	}
	last = 0
	for _, word := range []string{"often", "mostly", "always"} {
		s := small(t, strings.Replace(decisive, "memlock: always", "memlock: "+word, 1))
		bits := s.Next(posterior{"memlock": 0.5, "shm-full": 0.5}, 0, nil, 1)[0].Bits
		if bits <= last {
			t.Errorf("%s: %v bits, %v of a weaker word", word, bits, last)
		}
		last = bits
	}
}

// Nothing is offered where nothing is open or nothing is known.
func TestNothingToTell(t *testing.T) {
	s := load(t)
	for name, c := range map[string]struct {
		p     posterior
		other float64
	}{
		"nothing": {nil, 0}, "one cause": {posterior{"memlock": 1}, 0}, "only other": {nil, 1},
		"not numbers": {posterior{"memlock": math.NaN(), "shm-full": math.Inf(1), "firewall": -1}, 0},
	} {
		if got := s.Next(c.p, c.other, nil, 5); len(got) != 0 {
			t.Errorf("%s: %v", name, got)
		}
	}
	if got := s.Next(posterior{"memlock": 0.5}, 0.5, nil, 5); len(got) == 0 {
		t.Error("a cause against something else: no step")
	}
}

// What nothing was seen of shares what is left by its prior, and the sum stays.
func TestSpread(t *testing.T) {
	s := load(t)
	all, left := s.Spread(Hang, nil, 1)
	if math.Abs(all["firewall"]-s.Prior(Hang, "firewall")) > 1e-12 || math.Abs(left-s.Other(Hang)) > 1e-12 {
		t.Errorf("of nothing: firewall %v, left %v", all["firewall"], left)
	}
	all, left = s.Spread(Hang, posterior{"firewall": 0.3, "memlock": 0.1}, 0.6)
	total := left
	for _, p := range all {
		total += p
	}
	if all["firewall"] != 0.3 || all["memlock"] != 0.1 || math.Abs(total-1) > 1e-12 || left >= 0.6 {
		t.Errorf("firewall %v, memlock %v, left %v, together %v", all["firewall"], all["memlock"], left, total)
	}
	if a, b := all["gid-index"]/all["acs-redirect"], s.Prior(Hang, "gid-index")/s.Prior(Hang, "acs-redirect"); math.Abs(a-b) > 1e-12 {
		t.Errorf("gid-index is %v of acs-redirect, its prior %v", a, b)
	}
	if len(s.Narrow(Hang).Next(nil, 1, nil, 3)) != 0 {
		t.Error("nothing but other has steps")
	}
	if p, o := s.Spread(Hang, nil, 1); len(s.Narrow(Hang).Next(p, o, nil, 3)) != 3 {
		t.Error("the priors have no steps")
	}
}

// What makes no sense in a class, and what was given already, is not offered.
func TestNarrow(t *testing.T) {
	s := load(t)
	p := posterior{"tree-artefact": 0.3, "collective-mismatch": 0.3, "hca-subset": 0.3, "nccl-settings": 0.3}
	offered := func(s *Set) []string { return ids(s.Next(p, 0.1, nil, 100)) }
	for _, c := range []struct {
		name  string
		from  []string
		id    string
		wants bool
	}{
		{"all", offered(s), "algo-ring", true},
		{"all", offered(s), "stacks-of-ranks", true},
		{"slow", offered(s.Narrow(Slow)), "algo-ring", true},
		{"slow", offered(s.Narrow(Slow)), "stacks-of-ranks", false},
		{"hang", offered(s.Narrow(Hang)), "algo-ring", false},
		{"hang", offered(s.Narrow(Hang)), "stacks-of-ranks", true},
		{"log given", offered(s.Narrow(Slow, "nccl-log")), "nccl-net-log", false},
		{"step made", offered(s.Narrow(Slow, "nccl-net-log")), "nccl-net-log", false},
		{"contrast known", offered(s.Narrow(Slow, "contrast unset")), "clean-environment", false},
		{"table given", offered(s.Narrow(Slow, "table")), "nccl-net-log", true},
		{"class unknown", offered(s.Narrow("")), "stacks-of-ranks", true},
	} {
		if got := slices.Contains(c.from, c.id); got != c.wants {
			t.Errorf("%s: %s offered is %v", c.name, c.id, got)
		}
	}
	if len(s.steps) == len(s.Narrow(Slow).steps) || len(s.steps) != len(load(t).steps) {
		t.Error("Narrow changed the set itself, or nothing")
	}
}

// The same question has the same answer: sums do not depend on the order of a map.
func TestDeterministic(t *testing.T) {
	s := load(t)
	p := posterior{}
	for _, e := range s.All() {
		p[e.ID] = s.Prior(Slow, e.ID)
	}
	first := s.Next(p, s.Other(Slow), nil, 10)
	for range 20 {
		if again := s.Next(p, s.Other(Slow), nil, 10); !slices.Equal(first, again) {
			t.Fatalf("%v\n%v", first, again)
		}
	}
}

// The text says what each outcome means, with the probabilities of Bayes' rule.
func TestTells(t *testing.T) {
	s := small(t, decisive)
	got := s.Next(posterior{"memlock": 0.5, "shm-full": 0.5}, 0, nil, 1)[0].Tells
	if want := "yes it is: memlock 97 %; no: shm-full 95 %"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	got = s.Next(posterior{"memlock": 0.3}, 0.7, nil, 1)[0].Tells
	if want := "yes it is: memlock 93 %; else: none of the causes leads"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func BenchmarkNext(b *testing.B) {
	s := load(b)
	p := posterior{}
	for _, e := range s.All() {
		p[e.ID] = s.Prior(Slow, e.ID)
	}
	for b.Loop() {
		s.Next(p, s.Other(Slow), nil, 3)
	}
}
