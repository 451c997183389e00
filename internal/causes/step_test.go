package causes

import (
	"math"
	"slices"
	"testing"
)

// Under every cause the outcomes of a step are probabilities that add up to 1, and none is impossible.
func TestOutcomesAddUp(t *testing.T) {
	s := load(t)
	for _, step := range s.steps {
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
	step := s.steps[0]
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

// Every cause is named by a step.
func TestEveryCauseHasAStep(t *testing.T) {
	s := load(t)
	for _, e := range s.All() {
		if len(s.StepsFor(e.ID)) == 0 {
			t.Errorf("%s: no step names it", e.ID)
		}
	}
}

// separates is the least that a test of two equally likely causes must tell, in bits. An outcome of 50 % under one cause
// and of 3 % under the other tells 0.23, one of 50 % and 20 % tells 0.07.
const separates = 0.2

// Any two causes that can stand beside each other in a class have a step of that class that tells them apart.
func TestPairsCanBeToldApart(t *testing.T) {
	s := load(t)
	all := s.All()
	for _, class := range Classes() {
		steps := s.Narrow(class).steps
		for i, a := range all {
			for _, b := range all[i+1:] {
				if a.Prior[class] == "never" || b.Prior[class] == "never" {
					continue
				}
				best := 0.0
				for _, step := range steps {
					_, bits := newBelief(posterior{a.ID: 1, b.ID: 1}, 0).measure(step)
					best = max(best, bits)
				}
				if best < separates {
					t.Errorf("%s: %s and %s: the best step tells %.2f bits", class, a.ID, b.ID, best)
				}
			}
		}
	}
}
