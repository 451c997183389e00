package causes

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Limits of what is offered and shown.
const (
	leastBits    = 0.05 // a step below it moves no probability by more than a few percent
	shownOutcome = 0.03 // an outcome less probable than "hardly" is left out of the text
	shownCause   = 0.10 // a cause below it after an outcome is not what the outcome means
	shownCauses  = 3    // causes per outcome: more cannot be remembered
)

// offer is a step with what it is expected to tell.
type offer struct {
	Step
	outcomes []float64 // how probable each is
	bits     float64
}

// offers returns the steps that tell something, by bits per minute, the best first.
func (s *Set) offers(b *belief, have func(needs []string) bool) (all []offer) {
	for _, step := range s.steps {
		if have != nil && !have(step.Needs) {
			continue
		}
		if outcomes, bits := b.measure(step); bits >= leastBits {
			all = append(all, offer{step, outcomes, bits})
		}
	}
	slices.SortStableFunc(all, func(x, y offer) int {
		return cmp.Compare(y.bits/(y.Minutes+s.attention), x.bits/(x.Minutes+s.attention))
	})
	return all
}

// Next returns the measurements that are expected to tell most about the causes for what they cost, the best first, at
// most as many as most says. posterior and other are the probabilities so far; they need not add up to 1. have reports
// whether what a step needs is at hand; nil: everything is. What a step tells is the mutual information between the true
// cause and its outcome, in bits; what it costs is its minutes and the attention that any step takes.
func (s *Set) Next(posterior map[fabric.CauseID]float64, other float64, have func(needs []string) bool, most int) []fabric.Step {
	b := newBelief(posterior, other)
	if b == nil {
		return nil
	}
	all := s.offers(b, have)
	out := make([]fabric.Step, 0, min(len(all), max(most, 0)))
	for _, o := range all[:cap(out)] {
		out = append(out, fabric.Step{ID: o.ID, Command: o.Command, Minutes: o.Minutes, Bits: o.bits, Tells: b.tells(o.Step, o.outcomes)})
	}
	return out
}

// StepsFor returns the measurements that tell whether a cause, as likely as not, is the true one; the best first.
func (s *Set) StepsFor(id fabric.CauseID) (steps []Step) {
	for _, o := range s.offers(newBelief(map[fabric.CauseID]float64{id: 1}, 1), nil) {
		steps = append(steps, o.Step)
	}
	return steps
}

// belief is a posterior in a fixed order, so that sums do not depend on the order of a map. The last place is that of
// what is none of the causes; its id is empty.
type belief struct {
	ids []fabric.CauseID
	p   []float64
}

// newBelief scales probabilities so that they add up to 1; nil where there are none.
func newBelief(posterior map[fabric.CauseID]float64, other float64) *belief {
	b := &belief{}
	total := 0.0
	add := func(id fabric.CauseID, p float64) {
		if p > 0 && !math.IsInf(p, 0) { // NaN is not above 0
			b.ids, b.p = append(b.ids, id), append(b.p, p)
			total += p
		}
	}
	for _, id := range slices.Sorted(maps.Keys(posterior)) {
		add(id, posterior[id])
	}
	add("", other)
	if total == 0 {
		return nil
	}
	for i := range b.p {
		b.p[i] /= total
	}
	return b
}

// measure returns how probable each outcome of a step is, and the bits that it is expected to give.
func (b *belief) measure(step Step) (outcomes []float64, bits float64) {
	outcomes = make([]float64, len(step.Outcomes))
	within := 0.0 // bits of the outcome that stay open when the cause is known
	for i, id := range b.ids {
		r := step.response(id)
		within += b.p[i] * r.entropy
		for k, p := range r.p {
			outcomes[k] += b.p[i] * p
		}
	}
	return outcomes, max(0, entropy(outcomes)-within)
}

// tells writes what each outcome would mean: the causes that lead after it, with their probability. Outcomes after which
// none leads come last, as one.
func (b *belief) tells(step Step, outcomes []float64) string {
	var parts []string
	open := false
	for k, o := range step.Outcomes {
		if outcomes[k] < shownOutcome {
			continue
		}
		if lead := b.after(step, k, outcomes[k]); lead != "" {
			parts = append(parts, o.See+": "+lead)
		} else {
			open = true
		}
	}
	if open {
		parts = append(parts, "else: none of the causes leads")
	}
	return strings.Join(parts, "; ")
}

// after returns the causes that lead once an outcome was seen; empty: none does.
func (b *belief) after(step Step, outcome int, probable float64) string {
	type lead struct {
		id fabric.CauseID
		p  float64
	}
	var leads []lead
	for i, id := range b.ids {
		if p := b.p[i] * step.response(id).p[outcome] / probable; id != "" && p >= shownCause {
			leads = append(leads, lead{id, p})
		}
	}
	slices.SortStableFunc(leads, func(x, y lead) int { return cmp.Compare(y.p, x.p) })
	var words []string
	for _, l := range leads[:min(len(leads), shownCauses)] {
		words = append(words, fmt.Sprintf("%s %.0f %%", l.id, 100*l.p))
	}
	return strings.Join(words, ", ")
}
