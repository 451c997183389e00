package diagnose

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// explains reports whether what was measured is what a set of faults leaves: the figure lies in the band of the
// prediction, and so do half of the rows.
func (w *worlds) explains(of set) bool {
	p := w.world(of)
	if p.err != nil {
		return false
	}
	slack := beside
	if p.last().busbw >= w.world(0).last().low { // else what is below the healthy band would be explained by nothing
		slack = 1
	}
	in := 0
	for i, r := range w.Rows {
		if p.rates[i].fits(r.BusBW, slack) {
			in++
		}
	}
	return p.last().fits(w.from, slack) && 2*in >= len(w.Rows)
}

// beside is how far outside of its band a rate may be that a fault is held to explain: bands are those of healthy
// machines as NCCL runs them by itself, and forced protocols are 7 percent outside (LL on two H200).
const beside = 1.1

func (r rate) fits(measured, slack float64) bool {
	return r.low/slack <= measured && measured <= r.high*slack
}

// modelled are the faults whose cost the model knows.
func (w *worlds) modelled() (of set) {
	for i := range w.faults {
		if w.deaf[i] == "" {
			of = of.with(i)
		}
	}
	return of
}

// supposedTogether is how many faults that nobody saw may explain a measurement together: one number does not tell
// three of them from two others.
const supposedTogether = 2

// smallest returns the smallest sets that explain the measurement, that hold all of must and all that was seen.
func (w *worlds) smallest(must set) []set {
	known := w.modelled()
	must |= w.seen & known
	most := max(supposedTogether, must.without(w.seen).size())
	for size := must.size(); size <= len(w.faults); size++ {
		var found []set
		for s := range set(1 << len(w.faults)) {
			if must.within(s) && s.within(known) && s.size() == size && s.without(w.seen).size() <= most && w.explains(s) && w.allMatter(s) {
				found = append(found, s)
			}
		}
		if len(found) > 0 {
			return found
		}
	}
	return nil
}

// matters reports whether a world is slower for a fault: a fault behind a tighter one, or off the path, does not.
func (w *worlds) matters(of set, i int) bool {
	with, without := w.world(of), w.world(of.without(set(0).with(i)))
	return with.err == nil && without.err == nil && with.last().busbw < without.last().busbw*(1-same)
}

// same is the difference of two rates that is none: the model's steps from one size or option to the next.
const same = 0.03

// allMatter reports whether each fault of a set that nobody saw is needed there.
func (w *worlds) allMatter(of set) bool {
	for i := range w.faults {
		if of.has(i) && !w.seen.has(i) && !w.matters(of, i) {
			return false
		}
	}
	return true
}

// bearing is the part of a set that makes a difference; all of it where no fault does by itself.
func (w *worlds) bearing(of set) (some set) {
	for i := range w.faults {
		if of.has(i) && w.matters(of, i) {
			some = some.with(i)
		}
	}
	if some == 0 {
		return of
	}
	return some
}

// gain is what would be measured once one fault is fixed and all else stays.
func (w *worlds) gain(i int) fabric.Gain {
	f := w.faults[i]
	fixed := set(0).with(i)
	switch {
	case f.Without > 0:
		return w.measuredWithout(f)
	case w.deaf[i] != "" && len(f.Settings) > 0:
		return fabric.Gain{From: w.from, Why: "the model has no " + w.deaf[i]}
	}
	if stays := w.unknownStays(fixed); stays != "" {
		return fabric.Gain{From: w.from, Why: stays}
	}
	if w.deaf[i] != "" {
		return w.ifAlone(i)
	}
	if found := w.smallest(fixed); len(found) > 0 {
		return w.after(found[0], fixed)
	}
	return w.partly(i)
}

// unknownStays says which fault that is in force beyond doubt stays and costs what the model does not know; empty: none.
func (w *worlds) unknownStays(fixed set) string {
	for i, d := range w.deaf {
		if d != "" && w.seen.has(i) && !fixed.has(i) {
			return fmt.Sprintf("%s stays, and the model has no %s", w.name(w.faults[i]), d)
		}
	}
	return ""
}

// measuredWithout is the gain of a part that was left out once: what was measured then, with the band of the prediction
// there, as runs of healthy machines differ by no more.
func (w *worlds) measuredWithout(f Fault) fabric.Gain {
	g := fabric.Gain{From: w.from, To: f.Without, Low: f.Without, High: f.Without, Why: fmt.Sprintf("%s GB/s were measured without %s", number(f.Without), orWhere(f, "it"))}
	if p := w.world(0); p.err == nil {
		r := p.last()
		g.Low, g.High = f.Without*r.low/r.busbw, f.Without*r.high/r.busbw
	}
	return g
}

// ifAlone is the gain of a fault whose cost is unknown: what the machines give with all else that was seen.
func (w *worlds) ifAlone(i int) fabric.Gain {
	base := w.seen & w.modelled()
	if base != 0 && !w.seen.has(i) && w.explains(base) {
		return fabric.Gain{From: w.from, To: w.from, Low: w.from, High: w.from, Why: w.names(w.bearing(base)) + " explains what was measured: nothing is left for it"}
	}
	p := w.world(base)
	if p.err != nil {
		return fabric.Gain{From: w.from, Why: "the model has no " + w.deaf[i]}
	}
	r := p.last()
	if r.high <= w.from {
		return fabric.Gain{From: w.from, To: w.from, Low: w.from, High: w.from, Why: fmt.Sprintf("%s GB/s are predicted without it: nothing is lost by it", number(r.busbw))}
	}
	return fabric.Gain{From: w.from, To: max(r.busbw, w.from), Low: max(r.low, w.from), High: r.high,
		Why: fmt.Sprintf("the model has no %s; where it takes all of the loss, %s GB/s are predicted without it", w.deaf[i], number(r.busbw))}
}

// after is what would be measured in a world that explains the measurement once some of its faults are fixed.
func (w *worlds) after(explained, fixed set) fabric.Gain {
	with, without := w.world(explained), w.world(explained.without(fixed))
	if without.err != nil {
		return fabric.Gain{From: w.from, Why: "the prediction without " + w.names(fixed) + ": " + without.err.Error()}
	}
	a, b := with.last(), without.last()
	c := calibration(w.from, a, b)
	g := fabric.Gain{From: w.from, To: min(b.busbw*c, b.bound), Low: b.low * c, High: min(b.high*c, b.bound)}
	here := w.bearing(explained)
	g.Why = fmt.Sprintf("%s GB/s are predicted with %s and %s without %s", a, w.names(here), b, w.names(fixed))
	if stays := here.without(fixed); stays != 0 && fixed&here != 0 {
		g.Why += ": " + w.names(stays) + " stays"
	}
	return g
}

// calibration is by how much a prediction without faults is to be corrected, given how far the prediction with them is
// from the measurement. Where both are of one protocol over one kind of element, part of their errors is common: that of
// the rates of these machines. As the regression of one error on the other the correction is small where the prediction
// with the faults is by far the less certain. Other protocols and elements have errors of their own.
func calibration(measured float64, with, without rate) float64 {
	a, b := spread(with), spread(without)
	if a == 0 || with.path != without.path {
		return 1
	}
	return math.Pow(measured/with.busbw, shared*min(a, b)*min(a, b)/(a*a))
}

// shared is the part of the squared error that two predictions of one path have in common: half, between none and all,
// which recorded pairs bear out more than they do either end (test/accuracy, gains).
const shared = 0.5

// spread is the half width of a band, as a logarithm.
func spread(r rate) float64 {
	if !(r.low > 0) || r.high <= r.low {
		return 0
	}
	return math.Log(r.high/r.low) / 2
}

// partly is the gain of a fault that does not fit the measurement, together with no other.
func (w *worlds) partly(i int) fabric.Gain {
	fixed := set(0).with(i)
	base := w.seen&w.modelled() | fixed
	with, without := w.world(base), w.world(base.without(fixed))
	if with.err != nil || without.err != nil {
		return fabric.Gain{From: w.from, Why: "the model has no prediction with " + w.names(fixed)}
	}
	a, b := with.last(), without.last()
	switch {
	case w.from > a.high && w.seen.has(i):
		return fabric.Gain{From: w.from, To: b.busbw, Low: b.low, High: b.high,
			Why: fmt.Sprintf("%s GB/s are predicted without %s; with it at most %s are, and more was measured, so that its cost is uncertain", number(b.busbw), w.names(fixed), number(a.high))}
	case w.from > a.high:
		return fabric.Gain{From: w.from, Why: fmt.Sprintf("with %s at most %s GB/s are predicted, and more was measured: it is not in force as described", w.names(base), number(a.high))}
	case b.busbw <= a.busbw:
		return fabric.Gain{From: w.from, To: w.from, Low: w.from, High: w.from, Why: fmt.Sprintf("%s GB/s are predicted with %s and without it: it costs nothing here", a, w.names(fixed))}
	}
	most := min(w.from*b.busbw/a.busbw, b.high)
	return fabric.Gain{From: w.from, To: math.Sqrt(w.from * most), Low: w.from, High: most,
		Why: fmt.Sprintf("%s: %s GB/s are predicted with it and %s without, and less was measured: something else takes the rest, and where that limits the same path nothing is gained", w.shareText(base, i), a, b)}
}

// pairGain is what would be measured once two faults are fixed, and how the two act together.
func (w *worlds) pairGain(i, j int) fabric.Gain {
	both := set(0).with(i).with(j)
	for _, k := range []int{i, j} {
		if w.deaf[k] != "" {
			return fabric.Gain{From: w.from, Why: "the model has no " + w.deaf[k]}
		}
	}
	if stays := w.unknownStays(both); stays != "" {
		return fabric.Gain{From: w.from, Why: stays}
	}
	for _, must := range []set{both, set(0).with(i), set(0).with(j)} {
		found := w.smallest(must)
		if len(found) == 0 {
			continue
		}
		g := w.after(found[0], both)
		if both.within(found[0]) {
			g.Why += "; " + w.relation(i, j)
		} else {
			g.Why += "; " + w.names(both.without(found[0])) + " is not needed to explain what was measured"
		}
		return g
	}
	return fabric.Gain{From: w.from, Why: fmt.Sprintf("what %s leave is not what was measured", w.names(both))}
}

// relation says how two faults act together.
func (w *worlds) relation(i, j int) string {
	first, second, both := w.world(set(0).with(i)), w.world(set(0).with(j)), w.world(set(0).with(i).with(j))
	if first.err != nil || second.err != nil || both.err != nil {
		return "how they act together is unknown"
	}
	a, b, c := first.last().busbw, second.last().busbw, both.last().busbw
	if c >= min(a, b)*(1-same) {
		slower := i
		if b < a {
			slower = j
		}
		return fmt.Sprintf("both limit one after the other, and %s is the tighter limit", w.faults[slower].ID)
	}
	return fmt.Sprintf("their costs multiply: %s and %s GB/s alone, %s together", number(a), number(b), number(c))
}

// names lists the faults of a set.
func (w *worlds) names(of set) string {
	var all []string
	for i, f := range w.faults {
		if of.has(i) {
			all = append(all, w.name(f))
		}
	}
	return strings.Join(all, " and ")
}

// name is a fault in words: its settings, or its cause, and the hosts where it is.
func (w *worlds) name(f Fault) string {
	return orWhere(f, orText(w.settings(f), string(f.ID)))
}

// settings are those of a fault, as they were set.
func (w *worlds) settings(f Fault) string {
	var all []string
	for _, s := range f.Settings {
		if v, ok := w.Job.Env[s]; ok {
			all = append(all, s+"="+v)
		}
	}
	return strings.Join(all, " ")
}

// orWhere adds the hosts of a fault: a collective goes at the pace of the slowest of them.
func orWhere(f Fault, text string) string {
	if len(f.Hosts) == 0 {
		return text
	}
	return text + " on " + strings.Join(f.Hosts, ", ")
}

func orText(text, otherwise string) string {
	if text == "" {
		return otherwise
	}
	return text
}
