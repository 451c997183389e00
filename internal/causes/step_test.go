package causes

import (
	"math"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Under every cause the outcomes of a step are probabilities that add up to 1, and none is impossible.
func TestOutcomesAddUp(t *testing.T) {
	s := load(t)
	for _, step := range s.Steps() {
		for _, e := range s.All() {
			total := 0.0
			for _, p := range step.Probabilities(e.ID) {
				total += p
				if !(p > 0 && p < 1) {
					t.Errorf("%s: %s: %v", step.ID, e.ID, p)
				}
			}
			if math.Abs(total-1) > 1e-9 {
				t.Errorf("%s: %s: %v", step.ID, e.ID, total)
			}
		}
	}
}

// A word keeps its value as far as it fits: "often" is a half, and what is left goes to the other outcomes as everyone
// else shows them.
func TestWordsKeepTheirValue(t *testing.T) {
	s := small(t, "- {id: three, command: c, minutes: 1, needs: [rerun], gives: g, outcomes: ["+
		"{see: a, likely: {memlock: often, firewall: always}, others: hardly}, "+
		"{see: b, likely: {firewall: always}, others: sometimes}, {see: c, likely: {}, others: mostly}]}\n")
	step := s.Steps()[0]
	near := func(got, want []float64) bool {
		return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 })
	}
	if got := step.Probabilities("memlock"); !near(got, []float64{0.5, 0.1, 0.4}) {
		t.Errorf("memlock: %v", got)
	}
	if got, sum := step.Probabilities("firewall"), 0.95+0.95+0.03; !near(got, []float64{0.95 / sum, 0.95 / sum, 0.03 / sum}) {
		t.Errorf("firewall: %v", got)
	}
	if got, sum := step.Probabilities("shm-full"), 0.03+0.2+0.8; !near(got, []float64{0.03 / sum, 0.2 / sum, 0.8 / sum}) {
		t.Errorf("another: %v", got)
	}
}

// Every cause is named by a step, and a person with nothing but a shell can test most.
func TestEveryCauseHasAStep(t *testing.T) {
	s := load(t)
	for _, e := range s.All() {
		if len(s.StepsFor(e.ID)) == 0 {
			t.Errorf("%s: no step names it", e.ID)
		}
	}
}

// separates is the least that a test of two equally likely causes must tell, in bits: an outcome four times as likely
// under one as under the other, seen half of the time, tells about as much.
const separates = 0.15

// inseparable are the pairs of causes that no step of the catalogue tells apart, with the reason.
var inseparable = map[[2]fabric.CauseID]string{}

// Any two causes that can stand beside each other in a class have a step that tells them apart.
func TestPairsCanBeToldApart(t *testing.T) {
	s := load(t)
	all := s.All()
	for i, a := range all {
		for _, b := range all[i+1:] {
			if !together(a, b) {
				continue
			}
			best := 0.0
			for _, step := range s.Steps() {
				_, bits := newBelief(posterior{a.ID: 1, b.ID: 1}, 0).measure(step)
				best = max(best, bits)
			}
			_, known := inseparable[[2]fabric.CauseID{a.ID, b.ID}]
			if best < separates && !known {
				t.Errorf("%s and %s: the best step tells %.2f bits", a.ID, b.ID, best)
			}
			if best >= separates && known {
				t.Errorf("%s and %s: listed as inseparable, and a step tells %.2f bits", a.ID, b.ID, best)
			}
		}
	}
}

// together reports whether two causes are possible in the same class of failure.
func together(a, b Entry) bool {
	return slices.ContainsFunc(Classes(), func(c Class) bool { return a.Prior[c] != "never" && b.Prior[c] != "never" })
}
