package diagnose

import (
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// addPredicted lets causes that are in force beyond doubt be judged by their prediction: one that is predicted to leave
// what was measured is likelier than by its presence, and one that leaves more, or less, is not what took the loss.
func (s *observed) addPredicted(predict Predictor) {
	p := s.lossy()
	if p == nil || predict == nil {
		return
	}
	env := s.environment(p)
	var faults []Fault
	for _, id := range settable() {
		if f := s.faultOf(fabric.Cause{ID: id}, env, p); f.Seen {
			faults = append(faults, f)
		}
	}
	if len(faults) == 0 {
		return
	}
	short := s.shortfall(p, predict, faults)
	short.Job.Env, short.Rows = env, s.judgedRows(p)
	w, err := newWorlds(short)
	if err != nil {
		return // the figure was judged by another prediction, and what that lacks is among the assumptions
	}
	for i := range w.faults {
		if e, ok := w.predicted(i); ok {
			s.seen = append(s.seen, e)
		}
	}
}

// lossy is the figure of a collective that is below its band, else the one that settings alone keep within it; nil: there
// is none.
func (s *observed) lossy() *point {
	judged := func(p point) bool {
		return p.test == "nccl" && !p.average && !p.text && p.busbw > 0 && p.expected.Low > 0
	}
	if p := s.worst(judged); p != nil || s.limitedBy == "" {
		return p
	}
	for i, p := range s.points {
		if judged(p) && p.own {
			return &s.points[i]
		}
	}
	return nil
}

// predicted is how well what is predicted with all faults fits the measurement, as evidence of one of them; ok is false
// where the fault costs nothing, or where the model cannot tell.
func (w *worlds) predicted(i int) (e evidence.Predicted, ok bool) {
	all := set(1<<len(w.faults)) - 1
	with, without := w.world(all), w.world(all.without(set(0).with(i)))
	if with.err != nil || without.err != nil || w.deaf[i] != "" || !w.matters(all, i) {
		return e, false
	}
	over := w.from > with.last().high*beside
	if !over && slices.ContainsFunc(w.deaf, func(d string) bool { return d != "" }) {
		return e, false // what the model does not know may take the rest
	}
	var ratios []float64
	for r, row := range w.Rows {
		ratios = append(ratios, with.rates[r].likelier(row.BusBW, without.rates[r]))
	}
	e = evidence.Predicted{Cause: w.faults[i].ID, Ratio: median(ratios), Seen: evidence.Seen{Source: "prediction", Own: true}}
	if over {
		e.Text = fmt.Sprintf("with %s at most %s GB/s are predicted, and %s were measured: it was hardly in force", w.name(w.faults[i]), number(with.last().high), number(w.from))
		return e, true
	}
	e.Share = w.share(all, i)
	e.Text = fmt.Sprintf("%s: %s GB/s are predicted without, %s with, and %s were measured", w.shareText(all, i), without.last(), with.last(), number(w.from))
	return e, true
}

// lost is what the measurement is short of the prediction without any fault, GB/s.
func (w *worlds) lost() float64 { return w.world(0).last().busbw - w.from }

// takes is what one of the faults of a set takes by the prediction, GB/s, and no more than is lost.
func (w *worlds) takes(of set, i int) float64 {
	taken := w.world(of.without(set(0).with(i))).last().busbw - w.world(of).last().busbw
	return min(max(taken, 0), max(w.lost(), 0))
}

// share is the part of the loss that one of the faults of a set is answerable for, 0 to 1. Faults each leave a part of what
// the others do, so that their parts are of its logarithm, whichever is looked at first: of 16 GB/s that became 1, what
// leaves a quarter has half, although it takes 12 of the 15 that are lost.
func (w *worlds) share(of set, i int) float64 {
	without, with := w.world(of.without(set(0).with(i))).last().busbw, w.world(of).last().busbw
	lost := math.Log(w.world(0).last().busbw / w.from)
	if lost <= 0 {
		return 0
	}
	return min(1, max(0, math.Log(without/with)/lost))
}

// shareText says what part of the loss one of the faults of a set takes: all of it where the measurement is what the set
// is predicted to leave.
func (w *worlds) shareText(of set, i int) string {
	if w.explains(of) && of.size() == 1 {
		return fmt.Sprintf("%s explains the loss of %.3g GB/s", w.name(w.faults[i]), w.lost())
	}
	return fmt.Sprintf("%s explains %.3g of the %.3g GB/s lost", w.name(w.faults[i]), w.takes(of, i), w.lost())
}

// likelier is how many times likelier a measurement is where a prediction holds than where something else decides. Runs
// spread about a prediction as a normal distribution of logarithms of which its band, and what forced settings are beside
// it, hold BandHolds; anything else leaves any rate up to the one without, each as likely.
func (r rate) likelier(measured float64, without rate) float64 {
	if !(r.low > 0) || r.high < r.low {
		return 1
	}
	sigma := math.Log(beside*beside*r.high/r.low) / 2 / withinBand()
	z := math.Log(measured/r.busbw) / sigma
	return math.Exp(-z*z/2) / (sigma * math.Sqrt(2*math.Pi)) * without.busbw / measured
}

// withinBand is how many standard deviations a band reaches to each side.
func withinBand() float64 { return math.Sqrt2 * math.Erfinv(collective.BandHolds) }
