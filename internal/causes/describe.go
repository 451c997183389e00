package causes

import (
	"cmp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Describe returns all that is known of a cause as a document; ok is false for an unknown id. speaks returns the messages
// of programs that speak for a cause; nil: none are known.
func (s *Set) Describe(id fabric.CauseID, speaks func(fabric.CauseID) []fabric.CauseMessage) (k fabric.KnownCause, ok bool) {
	e, ok := s.Get(id)
	if !ok {
		return k, false
	}
	k = fabric.KnownCause{ID: id, Topic: e.Topic, What: e.What, Signs: e.Signs, Reason: e.Reason, Confirm: e.Confirm, Fix: e.Fix}
	for _, class := range Classes() {
		k.Priors = append(k.Priors, fabric.CausePrior{Class: string(class), Word: e.Prior[class], Probability: s.Prior(class, id)})
	}
	for _, p := range e.Platforms {
		k.Platforms = append(k.Platforms, fabric.PlatformFix(p))
	}
	for _, x := range e.Expects {
		k.Expects = append(k.Expects, fabric.CauseEvidence(x))
	}
	for _, step := range s.StepsFor(id) {
		k.Steps = append(k.Steps, step.describe(id))
	}
	if speaks != nil {
		k.Messages = speaks(id)
		slices.SortStableFunc(k.Messages, func(a, b fabric.CauseMessage) int { return cmp.Compare(b.Ratio, a.Ratio) })
	}
	return k, true
}

// describe returns the step as seen from a cause that it names.
func (s Step) describe(id fabric.CauseID) fabric.CauseStep {
	d := fabric.CauseStep{ID: s.ID, Command: s.Command, Minutes: s.Minutes, Needs: s.Needs}
	for i, p := range s.Probabilities(id) {
		if _, named := s.Outcomes[i].Likely[id]; named && p > d.Probability {
			d.Shows, d.Probability = s.Outcomes[i].See, p
		}
	}
	return d
}
