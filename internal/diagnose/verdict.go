package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
)

// surely is the probability from which a cause that nothing measured confirms is a verdict.
const surely = 0.5

// explain judges a result in the light of what was seen with it.
func (s *observed) explain(in Input, t *table) fabric.Explained {
	s.gather(in)
	class := classOf(s.seen, len(s.logs)+len(s.points) > 0 && !s.ofESX())
	if class == causes.AnyClass && s.ofESX() {
		class = causes.Config
	}
	b := infer(s.seen, class, in, t, s.fits)
	out := fabric.Explained{File: s.file, Line: s.line, Kind: s.kind, Rows: s.rows, Assumed: s.assumed}
	out.Verdict, out.Why = s.verdict(b, class)
	if p := s.headline(out.Verdict); p != nil {
		p.fillIn(&out, s.hw)
	}
	if out.Verdict == fabric.VerdictHealthy {
		out.Causes, out.Notes = s.healthyCauses(b, in.Causes, out.Why), s.notes
		return out
	}
	out.Causes, out.Other = s.listed(b, out.Verdict, in.Causes), rounded(b.other)
	s.fixing(&out, s.headline(out.Verdict), in.Predict)
	spread, other := in.Causes.Spread(class, b.byID(), b.other)
	out.Steps = in.Causes.Narrow(class, s.given()...).Next(spread, other, s.runnable(), 3)
	if out.Verdict == fabric.VerdictUnknown {
		out.Next = s.nextTest(out.Steps)
	}
	out.Notes = s.notes
	return out
}

// verdict is the first that applies, worst first. Nothing is healthy by default. What somebody wrote down or copied has
// no verdict of a fault where no cause is likely: it may be about another run, or be no fault at all.
func (s *observed) verdict(b beliefs, class causes.Class) (fabric.Verdict, string) {
	verdict, why := s.verdictOf(b, class)
	if sick := verdict == fabric.VerdictFailed || verdict == fabric.VerdictDegraded; sick && s.hearsay() && b.top().probability < named {
		return fabric.VerdictUnknown, fmt.Sprintf("%s for an unknown cause, none is likelier than %.0f %%: %s", verdict, 100*named, why)
	}
	if verdict == fabric.VerdictDegraded {
		if open := s.openOnSpark(why); open != "" {
			return fabric.VerdictUnknown, open
		}
	}
	return verdict, why
}

// hearsay reports whether the result is what a person wrote, or lines of a log without the measurement of their run.
func (s *observed) hearsay() bool {
	return s.kind == fabric.ObservationFile || s.kind == fabric.NCCLDebugLog && !s.whole
}

func (s *observed) verdictOf(b beliefs, class causes.Class) (fabric.Verdict, string) {
	switch {
	case len(s.failed) > 0:
		return fabric.VerdictFailed, s.failed[0].Value
	case len(s.broken) > 0:
		return fabric.VerdictFailed, s.worstLine(b)
	case s.unusable != "":
		return fabric.VerdictUnknown, s.unusable
	}
	if why, slow := s.slow(b); slow {
		return fabric.VerdictDegraded, why
	}
	own := s.filter(func(p point) bool { return p.own })
	if i := slices.IndexFunc(own, func(p point) bool { return p.quality == above }); i >= 0 {
		return fabric.VerdictUnknown, own[i].evidence().Value + ": more than the bound allows, so the hardware, the ranks or the algorithm are not what was stated"
	}
	fault := s.fault(b, class)
	if why, likely := s.failedFinding(b); why != "" {
		if likely {
			return fabric.VerdictDegraded, why
		}
		return fabric.VerdictUnknown, "a rule fails: " + why
	}
	if slices.ContainsFunc(own, func(p point) bool { return p.quality == good && p.large && !p.text && !p.fromText }) {
		return s.goodNumbers(own, b, fault, class)
	}
	return s.withoutGoodNumbers(own, b, fault, class)
}

// worstLine is the line by which a program names its failure: the one that speaks most for the likeliest cause, else the
// first.
func (s *observed) worstLine(b beliefs) string {
	for _, w := range b.top().weights {
		if text := w.evidence.Where().Text; w.log > 0 && slices.ContainsFunc(s.broken, func(e fabric.Evidence) bool { return e.Value == text }) {
			return text
		}
	}
	return s.broken[0].Value
}

// slow reports whether the numbers themselves show a fault, and which.
func (s *observed) slow(b beliefs) (why string, slow bool) {
	worst := s.worst(func(p point) bool { return p.own })
	across := s.hw.Nodes != 1
	switch {
	case worst != nil:
		return worst.evidence().Value, true
	case s.shape.cliff != "" && across:
		return s.shape.cliff, true
	case s.fall() != "" && across:
		return s.fall(), true
	case s.shape.latency >= latencyFault:
		return fmt.Sprintf("sizes up to %s take %.1f times what is expected", bytesText(smallest), s.shape.latency), true
	case s.changeText(b) != "":
		return s.changeText(b), true
	case s.limitedBy != "":
		return s.limitedBy, true
	case s.missetBy != "":
		return s.missetBy, true
	case s.slowPairs:
		return "some pairs are far below the others", true
	}
	return "", false
}

// changeText is the change of this result that shows the most probable fault; empty: there is none.
func (s *observed) changeText(b beliefs) string {
	top := b.top()
	if harmless(top.id) || !top.own || top.probability < surely {
		return ""
	}
	for _, w := range top.weights {
		if c, ok := w.evidence.(evidence.Contrast); ok && w.log > 0 && c.Source == ab {
			return c.Text
		}
	}
	return ""
}

// ab is the source of what a change showed in numbers.
const ab = "A/B"

// withoutGoodNumbers is the verdict where no large size is within its band.
func (s *observed) withoutGoodNumbers(own []point, b beliefs, fault *belief, class causes.Class) (fabric.Verdict, string) {
	justUnder := slices.IndexFunc(own, func(p point) bool {
		return p.quality == unjudged && p.large && p.expected.Low > 0 && p.busbw < p.expected.Low
	})
	switch {
	case fault == nil && justUnder >= 0:
		p := own[justUnder]
		return fabric.VerdictUnknown, fmt.Sprintf("%s: %s GB/s is just under %s to %s GB/s, and that band is not certain enough to call it slow", p.source, number(p.busbw), number(p.expected.Low), number(p.expected.High))
	case fault != nil && failure(class):
		return fabric.VerdictFailed, fault.reason()
	case fault != nil:
		return fabric.VerdictDegraded, fault.reason()
	case slices.ContainsFunc(own, func(p point) bool { return p.quality == bad }):
		return fabric.VerdictDegraded, "the observation is below normal"
	case len(s.doubts) > 0:
		return fabric.VerdictUnknown, s.doubts[0].Value
	default:
		return fabric.VerdictUnknown, s.missing(b)
	}
}

// failure reports whether a class of failure ends a run.
func failure(c causes.Class) bool { return c == causes.Hang || c == causes.Crash || c == causes.Start }

// goodNumbers is the verdict where every number that could be judged is within its band: healthy, unless
// something else that was said contradicts it or the network was never measured.
func (s *observed) goodNumbers(own []point, b beliefs, fault *belief, class causes.Class) (fabric.Verdict, string) {
	across := slices.ContainsFunc(own, func(p point) bool { return p.quality == good && p.scope == scopeNet && !p.text })
	if tree := b.of(fabric.CauseTreeArtefact); tree >= surely && b.top().id == fabric.CauseTreeArtefact && s.treeBesideRing() {
		return fabric.VerdictUnknown, "the measured bandwidth is not the rate on the wire: over two nodes a tree sends each byte once. Only the ring (NCCL_ALGO=RING) shows what the NICs carry"
	}
	switch {
	case s.kind == fabric.ObservationFile && s.hw.Nodes > 1 && !across:
		return fabric.VerdictUnknown, fmt.Sprintf("the measured numbers are fine, but the network between the %d nodes was not measured", s.hw.Nodes)
	case fault != nil && (s.contradicts(fault, across, class) || s.kind == fabric.ObservationFile && fault.probability >= likely):
		return fabric.VerdictUnknown, "the numbers are within their band, but " + fabric.Quote(fault.reason()) + " contradicts them: they may be of different runs"
	case s.wayContradicts(across) != "":
		return fabric.VerdictUnknown, "the numbers are within their band, but " + fabric.Quote(s.wayContradicts(across)) + " contradicts them: they may be of different runs"
	case s.complaint() != "":
		return fabric.VerdictUnknown, "the numbers are within their band and do not show the reported problem: " + s.complaint()
	}
	best := s.headline(fabric.VerdictHealthy)
	if best == nil {
		return fabric.VerdictUnknown, s.missing(b)
	}
	if len(s.doubts) > 0 {
		return fabric.VerdictUnknown, s.doubts[0].Value
	}
	return fabric.VerdictHealthy, best.healthyWhy()
}

// likely is the probability from which what a person wrote stands against good numbers.
const likely = 0.7

// treeBesideRing reports whether a tree was measured above the ring of the same machines.
func (s *observed) treeBesideRing() bool {
	return slices.ContainsFunc(s.seen, func(e evidence.Evidence) bool { return e.Sign() == "measure a tree above the ring" })
}

// healthyWhy says where a healthy number lies: within its band, or beside it.
func (p *point) healthyWhy() string {
	e := p.expected
	switch {
	case p.busbw > 0 && p.busbw < e.Low:
		return fmt.Sprintf("%s: %s GB/s is under %s to %s GB/s by no more than the spread between runs", p.source, number(p.busbw), number(e.Low), number(e.High))
	case p.busbw > e.High && e.High > 0 && p.bound != nil:
		text := fmt.Sprintf("%s: %s GB/s is above the expected %s to %s GB/s and not more than the bound of %s GB/s", p.source, number(p.busbw), number(e.Low), number(e.High), number(p.bound.BusBW))
		if p.busbw > p.bound.BusBW {
			text += fmt.Sprintf(" with %.0f %% for rounding and the spread of a line rate", 100*(artefact-1))
		}
		return text
	case p.busbw > 0 && e.High > 0:
		return fmt.Sprintf("%s: %s GB/s is within %s to %s GB/s", p.source, number(p.busbw), number(e.Low), number(e.High))
	case p.busbw > 0:
		return fmt.Sprintf("%s: %s GB/s is %.0f %% of what is expected", p.source, number(p.busbw), 100*p.ratio)
	case p.gbps > 0:
		return fmt.Sprintf("%s: %s Gb/s each way is %.1f %% of what the wire carries, %s Gb/s", p.source, number(p.gbps), 100*p.ratio, number(e.High))
	default:
		return fmt.Sprintf("%s: %s us is no more than two adapters and a few switches take", p.source, number(p.us))
	}
}

// failedFinding is a rule that fails on what tools say of the machines, where nothing of a run is at hand, and whether it
// speaks for a cause that is likely; empty: there is none.
func (s *observed) failedFinding(b beliefs) (why string, likely bool) {
	for _, x := range b.all {
		for _, w := range x.weights {
			if f, ok := w.evidence.(evidence.Found); ok && s.onlyFacts && f.Failed && why == "" {
				why, likely = f.Text, x.probability >= named
			}
		}
	}
	return why, likely
}

// fault is the most probable cause where it is a fault, more likely than not, and this result itself shows it by more
// than what people say; nil where there is none.
func (s *observed) fault(b beliefs, class causes.Class) *belief {
	top := b.top()
	if top.probability < surely || !top.shown() || harmless(top.id) || class == causes.AnyClass && top.probability < likely {
		return nil
	}
	return &top
}

// shown reports whether this result itself shows the cause: strongly, and not by a setting, which is no fault where nothing
// is slow and nothing fails.
func (b *belief) shown() bool {
	return slices.ContainsFunc(b.weights, func(w weighed) bool {
		_, setting := w.evidence.(evidence.Setting)
		_, said := w.evidence.(evidence.Statement)
		m, _ := w.evidence.(evidence.Message)
		c, _ := w.evidence.(evidence.Contrast)
		return !setting && !said && !m.Quoted && !c.Said && w.evidence.Where().Own && w.strength.Ratio() >= messages.Strong.Ratio()
	})
}

// reason is what speaks most for the cause, as it was read.
func (b *belief) reason() string {
	if len(b.weights) == 0 {
		return string(b.id)
	}
	return b.weights[0].evidence.Where().Text
}

// harmless are causes that are no fault of the machines.
func harmless(c fabric.CauseID) bool {
	return c == fabric.CauseBenignVF || c == fabric.CauseFirstUse || c == fabric.CauseTreeArtefact || c == fabric.CauseHealthy
}

// wayContradicts is what a log says of the way between nodes that would not carry what was measured; empty: nothing.
func (s *observed) wayContradicts(across bool) string {
	for _, e := range s.seen {
		if sign := e.Sign(); across && e.Where().Own && (sign == "measure sockets between nodes" || sign == "measure no connection with GDRDMA") {
			return e.Where().Text
		}
	}
	return ""
}

// contradicts reports whether a fault could not leave the numbers as they are: a failure, TCP, host memory or a
// port that is down under a collective at full rate over the network.
func (s *observed) contradicts(b *belief, across bool, class causes.Class) bool {
	switch b.id {
	case fabric.CauseSocketFallback, fabric.CauseGDRDisabled, fabric.CauseLinkDown:
		return across
	}
	return failure(class)
}

// complaint is what somebody says is wrong and good numbers do not explain away: an error, a hang, and slow work where
// the numbers are good only within wide bands.
func (s *observed) complaint() string {
	if s.kind != fabric.ObservationFile {
		return ""
	}
	vague := s.onlyWideBands()
	for _, e := range s.seen {
		if o, ok := e.(evidence.Outcome); ok && o.Own && o.How != evidence.Fine && (o.How != evidence.Slow || vague) && !s.harmlessText(o.Text) {
			return o.Text
		}
	}
	return ""
}

// harmlessText reports whether a text speaks of what is known to be no fault.
func (s *observed) harmlessText(text string) bool {
	return slices.ContainsFunc(s.seen, func(e evidence.Evidence) bool {
		st, ok := e.(evidence.Statement)
		return ok && st.Text == text && harmless(fabric.CauseID(st.Topic))
	})
}

// missing returns what a verdict would take.
func (s *observed) missing(b beliefs) string {
	switch {
	case len(s.needs) > 0:
		return "cannot be judged without " + strings.Join(s.needs, "; ")
	case s.empty:
		return "what tools print has no bandwidth to judge, and nothing in it is surely a fault; settings are judged against a plan (railwright check -f)"
	case s.kind == fabric.NCCLDebugLog && len(b.list) > 0:
		return "a log has no bandwidth to judge, and what it shows is not enough for a verdict"
	case s.kind == fabric.NCCLDebugLog:
		return "a log has no bandwidth to judge, and shows no fault"
	default:
		return "no number in the result can be compared with an expected value"
	}
}

// wideBand is the lower over the upper end of a band under which a number within it explains no complaint away.
const wideBand = 0.7

// onlyWideBands reports whether every good number of this result is good only because its band is wide.
func (s *observed) onlyWideBands() bool {
	return !s.any(func(p point) bool {
		return p.own && p.quality == good && p.large && !p.text && (p.expected.High == 0 || p.expected.Low >= wideBand*p.expected.High)
	})
}

// headline is the number by which the result was judged.
func (s *observed) headline(v fabric.Verdict) *point {
	if v == fabric.VerdictDegraded {
		if p := s.worst(func(p point) bool { return p.own && !p.text }); p != nil {
			return p
		}
	}
	var best *point
	for i, p := range s.points {
		if !p.own || p.text || v == fabric.VerdictHealthy && p.quality != good {
			continue
		}
		if best == nil || p.scope > best.scope || p.scope == best.scope && p.size > best.size {
			best = &s.points[i]
		}
	}
	return best
}

func (p *point) fillIn(out *fabric.Explained, hw fabric.Hardware) {
	out.Measured = &fabric.Measured{BusBW: p.busbw, Gbps: p.gbps, US: p.us, Size: p.size, NICGBs: p.share * hw.NICGbps / 8}
	if p.share > 0 {
		out.Measured.NICLine = hw.NICGbps / 8
	}
	if p.expected != (fabric.Expected{}) {
		out.Expected = &p.expected
	}
	out.Bound = p.bound
}

// ofESX reports whether there is no run but only what an ESX host or its virtual machines are set up to be, in which a rule fails.
func (s *observed) ofESX() bool {
	return s.onlyFacts && slices.ContainsFunc(s.seen, func(e evidence.Evidence) bool {
		f, ok := e.(evidence.Found)
		return ok && f.Failed && (strings.HasPrefix(f.Rule, "esx-") || strings.HasPrefix(f.Rule, "vm-"))
	})
}
