package causes

import (
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Step is a measurement that a person can make, with what each cause would show.
type Step struct {
	ID       string    `yaml:"id"`
	Command  string    `yaml:"command"`
	Minutes  float64   `yaml:"minutes"` // for a person with access, waiting included
	Classes  []Class   `yaml:"classes"` // in which it makes sense; none: in all
	Needs    []string  `yaml:"needs"`   // of the list in the file
	Gives    string    `yaml:"gives"`   // the kind of its output
	Outcomes []Outcome `yaml:"outcomes"`

	shows  map[fabric.CauseID]response // of the causes that the step names
	others response                    // of every other cause, and of what is none of them
}

// Outcome is one of the things that a step can show; they exclude each other.
type Outcome struct {
	See    string                    `yaml:"see"`
	Likely map[fabric.CauseID]string `yaml:"likely"` // words of probability
	Others string                    `yaml:"others"`
}

// response is how probable each outcome of a step is under one cause: probabilities that add up to 1.
type response struct {
	p       []float64
	entropy float64 // bits
}

// In reports whether the step makes sense in a class of failure.
func (s Step) In(class Class) bool {
	return class == AnyClass || len(s.Classes) == 0 || slices.Contains(s.Classes, class)
}

// Names reports whether the step says what it would show under a cause.
func (s Step) Names(id fabric.CauseID) bool {
	_, ok := s.shows[id]
	return ok
}

// Probabilities returns how probable each outcome is if a cause is the true one. They add up to 1.
func (s Step) Probabilities(id fabric.CauseID) []float64 { return s.response(id).p }

func (s Step) response(id fabric.CauseID) response {
	if r, ok := s.shows[id]; ok {
		return r
	}
	return s.others
}

// leastLeft is the share of probability that the outcomes get together in which a cause is not named, per outcome: a
// measurement can always show something that nobody foresaw. It is the word "hardly".
const leastLeft = 0.03

// weigh fills shows and others from the words of the outcomes.
func (s *Step) weigh(words map[string]float64) {
	usual := make([]float64, len(s.Outcomes))
	named := map[fabric.CauseID]bool{}
	for i, o := range s.Outcomes {
		usual[i] = words[o.Others]
		for id := range o.Likely {
			named[id] = true
		}
	}
	s.others = newResponse(usual)
	s.shows = make(map[fabric.CauseID]response, len(named))
	for id := range named {
		s.shows[id] = s.under(id, words)
	}
}

// under returns what a cause shows that the step names: its own words, and what they leave goes to the other outcomes in
// proportion to what every other cause shows.
func (s *Step) under(id fabric.CauseID, words map[string]float64) response {
	p := make([]float64, len(s.Outcomes))
	said, unsaid, free := 0.0, 0.0, 0
	for i, o := range s.Outcomes {
		if word, ok := o.Likely[id]; ok {
			p[i] = words[word]
			said += p[i]
			continue
		}
		unsaid += s.others.p[i]
		free++
	}
	left := max(1-said, leastLeft*float64(free))
	for i, o := range s.Outcomes {
		if _, ok := o.Likely[id]; !ok {
			p[i] = left * s.others.p[i] / unsaid
		}
	}
	return newResponse(p)
}

// newResponse scales weights so that they add up to 1.
func newResponse(weights []float64) response {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	r := response{p: make([]float64, len(weights))}
	for i, w := range weights {
		r.p[i] = w / total
	}
	r.entropy = entropy(r.p)
	return r
}

// entropy returns the entropy of probabilities that add up to 1, in bits.
func entropy(p []float64) float64 {
	h := 0.0
	for _, x := range p {
		if x > 0 {
			h -= x * math.Log2(x)
		}
	}
	return h
}
