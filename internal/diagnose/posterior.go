package diagnose

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

const (
	// sharpness is the share of the logarithm of each likelihood ratio that counts: pieces of evidence of different origin
	// are not independent. It is fitted (test/accuracy, calibration) and the same for all.
	sharpness = 1
	// proseAlone is the most that statements of people may give to a cause that nothing else speaks for.
	proseAlone = 0.3
	// named is the probability from which a cause is named. Below it the answer is that the cause is unknown.
	named = 0.35
	// leastShown is the probability under which a cause is not worth a line, unless it is the first.
	leastShown = 0.02
	// mostShown is how many causes are listed.
	mostShown = 6
)

// belief is a cause with its probability and what speaks for and against it.
type belief struct {
	id          fabric.CauseID
	probability float64

	withoutProse float64 // by what is more than the words of people, not normalised

	about   fabric.Subject
	own     bool // something of this very result speaks for it
	hard    bool // more than statements of people speaks for it
	weights []weighed
}

// weighed is a piece of evidence with the logarithm of its likelihood ratio.
type weighed struct {
	evidence evidence.Evidence
	strength messages.Strength
	why      string // it says that, in words
	log      float64
}

// beliefs are all causes that anything speaks for, the most probable first, and what is left for others.
type beliefs struct {
	list  []belief // worth a line, the most probable first
	all   []belief // of which anything was seen, also what speaks against
	other float64
}

// top is the most probable cause; the zero belief where there is none.
func (b beliefs) top() belief {
	if len(b.list) == 0 {
		return belief{}
	}
	return b.list[0]
}

// of returns the probability of a cause.
func (b beliefs) of(id fabric.CauseID) float64 {
	for _, x := range b.all {
		if x.id == id {
			return x.probability
		}
	}
	return 0
}

// infer puts priors and evidence together; fits is the share of a prior that is left on these machines. Of what has one origin, only what says most of a cause counts for that cause.
func infer(seen []evidence.Evidence, c causes.Class, in Input, t *table, fits func(fabric.CauseID) float64) beliefs {
	if in.Sharpness == 0 {
		in.Sharpness = sharpness
	}
	byCause := map[fabric.CauseID]map[string]weighed{}
	for _, e := range seen {
		for cause, strength := range t.of(e, c, in.Catalogue) {
			if byCause[cause] == nil {
				byCause[cause] = map[string]weighed{}
			}
			w := weighed{e, strength, t.reason(e, c, in.Catalogue), in.Sharpness * math.Log(strength.Ratio())}
			if old, ok := byCause[cause][e.Origin()]; !ok || math.Abs(w.log) > math.Abs(old.log) {
				byCause[cause][e.Origin()] = w
			}
		}
	}
	var out beliefs
	other := in.Causes.Other(c)
	silent := 1 - other                                       // of causes that nothing speaks of, and that are not listed
	for _, cause := range slices.Sorted(maps.Keys(byCause)) { // sums are the same in every run
		prior := in.Causes.Prior(c, cause) * fits(cause)
		silent -= prior
		out.all = append(out.all, newBelief(cause, prior, byCause[cause]))
	}
	rest := other + max(0, silent)
	all, hard := rest, rest
	for _, b := range out.all {
		all, hard = all+b.probability, hard+b.withoutProse
	}
	out.other = 1
	for i := range out.all {
		b := &out.all[i]
		b.probability = bounded(b.probability/all, b.withoutProse/hard, b.hard)
		out.other -= b.probability
	}
	out.other = max(0, out.other)
	out.raise(sharesOf(seen))
	slices.SortStableFunc(out.all, func(a, b belief) int { return cmp.Compare(b.probability, a.probability) })
	for _, b := range out.all {
		if b.speaksFor() && (len(out.list) == 0 || b.probability >= leastShown) {
			out.list = append(out.list, b)
		}
	}
	return out
}

// sharesOf is what causes that are in force take of the loss by their predictions.
func sharesOf(seen []evidence.Evidence) map[fabric.CauseID]float64 {
	out := map[fabric.CauseID]float64{}
	for _, e := range seen {
		if p, ok := e.(evidence.Predicted); ok {
			out[p.Cause] = max(out[p.Cause], p.Share)
		}
	}
	return out
}

// raise gives each cause that is in force no less than its share of the loss: whatever takes the rest, that part is its
// own. The other causes share what is left as before.
func (b *beliefs) raise(shares map[fabric.CauseID]float64) {
	for i := range b.all {
		x := &b.all[i]
		if share := shares[x.id]; share > x.probability {
			left := (1 - share) / (1 - x.probability)
			for j := range b.all {
				b.all[j].probability *= left
			}
			x.probability, b.other = share, b.other*left
		}
	}
}

// bounded is the probability of a cause of which people speak: what they say alone gives it no more than proseAlone, and
// more than that only where it is likely without their words.
func bounded(p, withoutProse float64, hard bool) float64 {
	if hard && withoutProse >= named {
		return p
	}
	if !hard {
		withoutProse = 0
	}
	return min(p, max(proseAlone, withoutProse))
}

// newBelief multiplies a prior with the likelihood ratios of each origin. Statements count once, however many there are.
func newBelief(cause fabric.CauseID, prior float64, origins map[string]weighed) belief {
	b := belief{id: cause, about: fabric.ClusterSubject()}
	total, told, said := 0.0, 0.0, 0.0
	for _, origin := range slices.Sorted(maps.Keys(origins)) {
		w := origins[origin]
		b.weights = append(b.weights, w)
		b.own = b.own || w.log > 0 && w.evidence.Where().Own
		switch e := w.evidence.(type) {
		case evidence.Statement:
			said = max(said, w.log)
			continue
		case evidence.Contrast:
			if e.Said {
				told += w.log
				continue
			}
		case evidence.Message:
			if e.Quoted {
				told += w.log
				continue
			}
		}
		total += w.log
		if w.log > 0 {
			b.hard = true
			if s := subjectOf(w.evidence); s != (fabric.Subject{}) && b.about == fabric.ClusterSubject() {
				b.about = s
			}
		}
	}
	b.probability, b.withoutProse = prior*math.Exp(total+told+said), prior*math.Exp(total)
	slices.SortStableFunc(b.weights, func(x, y weighed) int { return cmp.Compare(y.log, x.log) })
	return b
}

// speaksFor reports whether anything raises the cause.
func (b belief) speaksFor() bool {
	return slices.ContainsFunc(b.weights, func(w weighed) bool { return w.log > 0 })
}

// subjectOf is what a piece of evidence is about; zero: the cluster.
func subjectOf(e evidence.Evidence) fabric.Subject {
	switch e := e.(type) {
	case evidence.Measure:
		return e.About
	case evidence.Found:
		return e.About
	case evidence.Asymmetry:
		if len(e.Without) == 1 {
			return fabric.NodeSubject(e.Without[0])
		}
	}
	return fabric.Subject{}
}

// classOf is the class of failure that evidence shows: what ends a run outweighs that it was slow, and what people and
// numbers say outweighs messages. Of a run of which nothing is said, it is asked why it is slow.
func classOf(seen []evidence.Evidence, run bool) causes.Class {
	for _, printed := range []bool{false, true} {
		if c, ok := classBy(seen, printed); ok {
			return c
		}
	}
	if run && !onlySetUp(seen) {
		return causes.Slow
	}
	return causes.AnyClass
}

// onlySetUp reports whether a rule fails on what tools say of the machines, where nothing of a run is at hand: then nobody said that
// anything is slow.
func onlySetUp(seen []evidence.Evidence) bool {
	return slices.ContainsFunc(seen, func(e evidence.Evidence) bool {
		f, ok := e.(evidence.Found)
		return ok && f.Failed && f.Own
	})
}

func classBy(seen []evidence.Evidence, printed bool) (causes.Class, bool) {
	has := map[evidence.How]bool{}
	for _, e := range seen {
		if o, ok := e.(evidence.Outcome); ok && o.Printed == printed {
			has[o.How] = true
		}
	}
	for _, c := range []struct {
		how   evidence.How
		class causes.Class
	}{{evidence.Refused, causes.Start}, {evidence.Hang, causes.Hang}, {evidence.Crash, causes.Crash}, {evidence.Slow, causes.Slow}} {
		if has[c.how] {
			return c.class, true
		}
	}
	return causes.AnyClass, false
}
