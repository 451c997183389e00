package diagnose

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// surely is the confidence from which a text alone, without a number, is a verdict.
const surely = 0.5

// explain judges a result in the light of what was seen with it.
func (s *observed) explain() fabric.Explained {
	out := fabric.Explained{File: s.file, Line: s.line, Kind: s.kind, Rows: s.rows, Notes: s.notes, Assumed: s.assumed, Causes: []fabric.Cause{}}
	var votes []vote
	for _, sig := range signatures() {
		votes = append(votes, sig.votes(s)...)
	}
	ballots := count(preferExplicit(preferOwn(votes)))
	out.Verdict, out.Why = s.verdict(ballots)
	if p := s.headline(out.Verdict); p != nil {
		p.fillIn(&out, s.hw)
	}
	switch out.Verdict {
	case fabric.VerdictHealthy:
		out.Causes = s.healthyCauses(ballots, out.Why)
	case fabric.VerdictUnknown:
		out.Causes = s.openCauses(ballots)
		if len(s.needs) > 0 || !slices.ContainsFunc(out.Causes, func(c fabric.Cause) bool { return c.Confirm != "" }) {
			out.Next = s.nextTest()
		}
	default:
		out.Causes = ranked(s.faultsOnly(ballots))
		if len(out.Causes) == 0 {
			out.Causes = []fabric.Cause{} // what is wrong is seen, why is not
		}
	}
	return out
}

// preferOwn halves what other results say where this one names a fault of its own.
func preferOwn(votes []vote) []vote {
	if !slices.ContainsFunc(votes, func(v vote) bool { return v.own && v.explicit && v.weight >= likely }) {
		return votes
	}
	out := slices.Clone(votes)
	for i := range out {
		if !out[i].own {
			out[i].weight /= 2
		}
	}
	return out
}

// explicitWeight is the weight from which a text counts as naming a cause, and guessed what is left of the votes of bare
// ratios for other causes then: many causes leave half of the bandwidth, and people write down what they saw.
const explicitWeight, implicitShare = 0.3, 0.6

// preferExplicit lets what a text, a log or a setting names stand before what a ratio only fits.
func preferExplicit(votes []vote) []vote {
	explicit := map[fabric.CauseID]bool{}
	for _, v := range votes {
		if v.own && v.explicit && v.weight >= explicitWeight {
			explicit[v.cause] = true
		}
	}
	if len(explicit) == 0 {
		return votes
	}
	out := slices.Clone(votes)
	for i := range out {
		if !out[i].explicit && out[i].weight > 0 && !explicit[out[i].cause] {
			out[i].weight *= implicitShare
		}
	}
	return out
}

// verdict is the first that applies, worst first. Nothing is healthy by default.
func (s *observed) verdict(ballots []ballot) (fabric.Verdict, string) {
	if len(s.failed) > 0 {
		return fabric.VerdictFailed, s.failed[0].Value
	}
	if len(s.broken) > 0 {
		return fabric.VerdictFailed, s.worstLine(ballots)
	}
	if s.unusable != "" {
		return fabric.VerdictUnknown, s.unusable
	}
	if why, slow := s.slow(ballots); slow {
		return fabric.VerdictDegraded, why
	}
	own := s.filter(func(p point) bool { return p.own })
	if i := slices.IndexFunc(own, func(p point) bool { return p.quality == above }); i >= 0 {
		return fabric.VerdictUnknown, own[i].evidence().Value + ": more than the bound allows, so the hardware, the ranks or the algorithm are not what was stated"
	}
	fault := s.explicitFault(ballots)
	if slices.ContainsFunc(own, func(p point) bool { return p.quality == good && p.large && !p.text && !p.fromText }) {
		return s.goodNumbers(own, ballots, fault)
	}
	return s.withoutGoodNumbers(own, fault)
}

// worstLine is the line by which a program names its failure: the one that names its cause, else the first.
func (s *observed) worstLine(ballots []ballot) string {
	for _, b := range ballots {
		for _, seen := range b.cause.Evidence {
			if b.own && slices.ContainsFunc(s.broken, func(e fabric.Evidence) bool { return strings.Contains(e.Value, seen.Value) }) {
				return seen.Value
			}
		}
	}
	return s.broken[0].Value
}

// slow reports whether the numbers themselves show a fault, and which.
func (s *observed) slow(ballots []ballot) (why string, slow bool) {
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
	case s.changeEvidence(ballots) != nil:
		return s.changeEvidence(ballots).Value, true
	case s.limitedBy != "":
		return s.limitedBy, true
	case hasOwn(ballots, fabric.CauseSlowNode, fabric.CauseSlowLink) && len(s.filter(func(p point) bool { return len(p.pair) == 2 })) > 2:
		return "some pairs are far below the others", true
	}
	return "", false
}

// withoutGoodNumbers is the verdict where no large size is within its band.
func (s *observed) withoutGoodNumbers(own []point, fault *ballot) (fabric.Verdict, string) {
	justUnder := slices.IndexFunc(own, func(p point) bool {
		return p.quality == unjudged && p.large && p.expected.Low > 0 && p.busbw < p.expected.Low
	})
	switch {
	case fault == nil && justUnder >= 0:
		p := own[justUnder]
		return fabric.VerdictUnknown, fmt.Sprintf("%s: %s GB/s is just under %s to %s GB/s, and that band is not certain enough to call it slow", p.source, number(p.busbw), number(p.expected.Low), number(p.expected.High))
	case fault != nil && s.isFailure(fault):
		return fabric.VerdictFailed, fault.cause.Evidence[0].Value
	case fault != nil:
		return fabric.VerdictDegraded, fault.cause.Evidence[0].Value
	case slices.ContainsFunc(own, func(p point) bool { return p.quality == bad }):
		return fabric.VerdictDegraded, "the observation is below normal"
	case len(s.doubts) > 0:
		return fabric.VerdictUnknown, s.doubts[0].Value
	default:
		return fabric.VerdictUnknown, s.missing()
	}
}

// goodNumbers is the verdict where every number that could be judged is within its band: healthy, unless
// something else that was said contradicts it or the network was never measured.
func (s *observed) goodNumbers(own []point, ballots []ballot, fault *ballot) (fabric.Verdict, string) {
	across := slices.ContainsFunc(own, func(p point) bool { return p.quality == good && p.scope == scopeNet && !p.text })
	for _, b := range ballots {
		if b.cause.ID == fabric.CauseTreeArtefact && b.explicit >= likely && b.own {
			return fabric.VerdictUnknown, "the measured bandwidth is not the rate on the wire: over two nodes a tree sends each byte once. Only the ring (NCCL_ALGO=RING) shows what the NICs carry"
		}
	}
	switch {
	case s.kind == fabric.ObservationFile && s.hw.Nodes > 1 && !across:
		return fabric.VerdictUnknown, fmt.Sprintf("the measured numbers are fine, but the network between the %d nodes was not measured", s.hw.Nodes)
	case fault != nil && (s.contradicts(fault, across) || fault.explicit >= plain && s.kind == fabric.ObservationFile):
		return fabric.VerdictUnknown, "the numbers are within their band, but " + fabric.Quote(fault.cause.Evidence[0].Value) + " contradicts them: they may be of different runs"
	case s.complaint() != "":
		return fabric.VerdictUnknown, "the numbers are within their band and do not show the reported problem: " + s.complaint()
	}
	best := s.headline(fabric.VerdictHealthy)
	if best == nil {
		return fabric.VerdictUnknown, s.missing()
	}
	if len(s.doubts) > 0 {
		return fabric.VerdictUnknown, s.doubts[0].Value
	}
	return fabric.VerdictHealthy, best.healthyWhy()
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

// explicitFault is the most likely fault that a text, a log, a setting or a finding of this result names, and that is
// more likely than not; nil where there is none.
func (s *observed) explicitFault(ballots []ballot) *ballot {
	for i, b := range ballots {
		if b.explicit >= surely && b.own && b.cause.Confidence >= surely && !harmless(b.cause.ID) {
			return &ballots[i]
		}
	}
	return nil
}

// harmless are causes that are no fault of the machines.
func harmless(c fabric.CauseID) bool {
	return c == fabric.CauseBenignVF || c == fabric.CauseFirstUse || c == fabric.CauseTreeArtefact || c == fabric.CauseHealthy
}

// isFailure reports whether a fault is a failure and not slowness.
func (s *observed) isFailure(b *ballot) bool {
	for _, e := range b.cause.Evidence {
		for _, st := range s.statements {
			if st.text == e.Value && st.names("trouble+") {
				return true
			}
		}
	}
	switch b.cause.ID {
	case fabric.CauseLinkDown, fabric.CauseSubnetManager, fabric.CauseDriverABI, fabric.CauseDriverConflict, fabric.CauseESXiDriverUnloaded, fabric.CauseMPINotBuilt, fabric.CauseGPUDriver:
		return true
	}
	return false
}

// contradicts reports whether a fault could not leave the numbers as they are: a failure, TCP, host memory or a
// port that is down under a collective at full rate over the network.
func (s *observed) contradicts(b *ballot, across bool) bool {
	switch b.cause.ID {
	case fabric.CauseSocketFallback, fabric.CauseGDRDisabled, fabric.CauseLinkDown:
		return across && b.explicit >= likely
	}
	return s.isFailure(b) && b.explicit >= plain
}

// complaint is what somebody says is wrong and good numbers do not explain away: an error, a hang, slow work, or
// one part that is slower than others. That a good bandwidth is called low is not one.
func (s *observed) complaint() string {
	if s.kind != fabric.ObservationFile {
		return ""
	}
	vague := s.onlyWideBands()
	for _, st := range s.statements {
		if st.own && !st.experiment && !st.names("harmless+") && st.complains(vague) {
			return st.text
		}
	}
	return ""
}

// complains reports whether a text speaks of a failure, or of slow work where that is not about all of the job.
// With vague, when the numbers are good only within wide bands, every complaint counts.
func (s statement) complains(vague bool) bool {
	ofPart := slices.ContainsFunc([]string{"training", "some", "onepair", "onenode", "onerail", "onegpu", "small", "latency", "twoleaf", "slowpair"}, s.names)
	explained := s.names("vf") && !s.names("hang+") || s.names("sm+")
	switch {
	case vague && (s.names("slow+") || s.names("wrong+") || s.names("platform")):
		return true
	case s.names("trouble+") && !explained:
		return true
	default:
		return ofPart && (s.names("slow+") || s.names("high+") && s.names("latency"))
	}
}

// missing returns what a verdict would take.
func (s *observed) missing() string {
	switch {
	case len(s.needs) > 0:
		return "cannot be judged without " + strings.Join(s.needs, "; ")
	case s.kind == fabric.NCCLDebugLog:
		return "a log has no bandwidth to judge, and shows no fault"
	default:
		return "no number in the result can be compared with an expected value"
	}
}

// changeEvidence is the A/B observation of this result that points at a fault; nil where there is none.
func (s *observed) changeEvidence(ballots []ballot) *fabric.Evidence {
	for _, b := range ballots {
		if harmless(b.cause.ID) || !b.own || b.cause.Confidence < surely {
			continue
		}
		for i, e := range b.cause.Evidence {
			if e.Source == ab {
				return &b.cause.Evidence[i]
			}
		}
	}
	return nil
}

// wideBand is the lower over the upper end of a band under which a number within it explains no complaint away.
const wideBand = 0.7

// onlyWideBands reports whether every good number of this result is good only because its band is wide.
func (s *observed) onlyWideBands() bool {
	return !s.any(func(p point) bool {
		return p.own && p.quality == good && p.large && !p.text && (p.expected.High == 0 || p.expected.Low >= wideBand*p.expected.High)
	})
}

func hasOwn(ballots []ballot, causes ...fabric.CauseID) bool {
	return slices.ContainsFunc(ballots, func(b ballot) bool {
		return b.own && b.explicit >= surely && slices.Contains(causes, b.cause.ID)
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
