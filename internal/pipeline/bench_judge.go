package pipeline

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// benchJudge says what the tests of a plan mean, in the order in which they ran: a later one is read in the light of those before.
type benchJudge struct {
	plan *fabric.Plan
	raw  []fabric.BenchVerdict // of the tests of bandwidth so far

	gathers *fabric.Prediction // of an all-gather; nil: there is none
	none    error              // why
}

func newBenchJudge(p *fabric.Plan) *benchJudge {
	j := &benchJudge{plan: p}
	j.gathers, j.none = gatherRates(p)
	return j
}

// judge is a bench.Judge.
func (j *benchJudge) judge(r fabric.BenchResult) fabric.BenchVerdict {
	var v fabric.BenchVerdict
	switch r.Kind {
	case fabric.TwinBandwidth, fabric.PortBandwidth:
		v = j.bandwidth(r)
		j.raw = append(j.raw, v)
	case fabric.TwinLatency:
		v = j.latency(r)
	case fabric.LibraryFits:
		v = j.library(r)
	case fabric.GatherAll:
		v = j.gather(r)
	}
	v.Evidence = append(v.Evidence, linkEvidence(r)...)
	return v
}

// unknown is the verdict where something is missing.
func unknownBench(r fabric.BenchResult, otherwise string) fabric.BenchVerdict {
	return fabric.BenchVerdict{Why: cmp.Or(strings.Join(reasons(r.Missing), "; "), otherwise)}
}

// reasons are those of what is missing, each once: of the same on several machines, with the names of all of them.
func reasons(missing []fabric.Missing) []string {
	type sentence struct{ before, after string }
	nodes := make(map[sentence][]string)
	var order []sentence
	for _, m := range missing {
		node, _, _ := strings.Cut(m.What, ":")
		s := sentence{before: m.Reason}
		if before, after, ok := strings.Cut(m.Reason, " "+node); ok && (after == "" || strings.ContainsAny(after[:1], " :;,")) && !strings.Contains(after, node) {
			s = sentence{before + " ", after}
		} else {
			node = ""
		}
		if _, ok := nodes[s]; !ok {
			order = append(order, s)
		}
		if !slices.Contains(nodes[s], node) {
			nodes[s] = append(nodes[s], node)
		}
	}
	texts := make([]string, 0, len(order))
	for _, s := range order {
		texts = append(texts, s.before+strings.Join(nodes[s], ", ")+s.after)
	}
	return texts
}

// perftests are the runs of a program that have a row.
func perftests(r fabric.BenchResult, test string) (runs []*fabric.Perftest) {
	for _, one := range r.Read {
		if p, ok := one.Content.(*fabric.Perftest); ok && p.Test == test && len(p.Rows) > 0 && len(p.Errors) == 0 {
			runs = append(runs, p)
		}
	}
	return runs
}

// bandwidth judges one twin alone, or all of a port at once: their sum.
func (j *benchJudge) bandwidth(r fabric.BenchResult) fabric.BenchVerdict {
	runs := perftests(r, "ib_write_bw")
	if len(runs) != len(r.Links) || len(r.Missing) > 0 {
		return unknownBench(r, fmt.Sprintf("%d of %d outputs have a row", len(runs), len(r.Links)))
	}
	sum, mtu := 0.0, runs[0].MTU
	var parts []string
	for _, run := range runs {
		average := run.Rows[len(run.Rows)-1].AverageGbps
		if average == nil {
			return unknownBench(r, "the output has no average bandwidth")
		}
		sum += *average
		mtu = min(mtu, run.MTU)
		parts = append(parts, fmt.Sprintf("%.2f", *average))
	}
	want, ok := writeRate(j.twins(r.Links), mtu)
	if !ok {
		return unknownBench(r, "the output does not say the path MTU")
	}
	v := fabric.BenchVerdict{Value: &sum, Low: &want.low, High: &want.bound, Bound: &want.bound, Element: want.element,
		Measured: fmt.Sprintf("%.2f Gb/s", sum), Expected: fmt.Sprintf("%.1f to %.1f Gb/s (%s)", want.low, want.bound, want.formula)}
	if len(parts) > 1 {
		v.Measured += " (" + strings.Join(parts, " + ") + ")"
	}
	v.Measured += fmt.Sprintf(" at path MTU %d", mtu)
	j.explainBandwidth(&v, r, sum, mtu, want)
	return v
}

// degradedGbps is what a NIC that came up degraded stays under, whatever the link reads: 8 to 25 Gb/s in all reports.
const degradedGbps = 26

func (j *benchJudge) explainBandwidth(v *fabric.BenchVerdict, r fabric.BenchResult, sum float64, mtu int, want rate) {
	narrow, isNarrow := narrowest(r)
	one, _ := writeRate(j.twins(r.Links[:1]), mtu)
	planned := topology.RDMAPayload(j.plan.MTU)
	switch {
	case sum > want.bound*1.005: // rounding, and clocks that may run 100 ppm fast
		v.Why = "more than these links can carry: something else was measured"
	case sum >= want.low && mtu < planned:
		v.Status, v.Cause = fabric.Fail, fabric.CauseMTUMismatch
		v.Why = fmt.Sprintf("the rate is healthy for a path MTU of %d, but the plan has MTU %d, with which it is %d and more fits through the port", mtu, j.plan.MTU, planned)
		v.Fix = fmt.Sprintf("railwright check -f FILE says which interface is not at MTU %d; both twins and both ends need it", j.plan.MTU)
	case sum >= want.low:
		v.Status = fabric.Pass
	case isNarrow:
		v.Status, v.Cause = fabric.Fail, fabric.CausePCIeDowngraded
		v.Why = fmt.Sprintf("%s is a PCIe link of %g GT/s x%d, and should be %g x%d", narrow.At, narrow.GTs, narrow.Width, fullGTs, fullLane)
		v.Fix = "update the firmware (sudo fwupdmgr refresh && sudo fwupdmgr update), then switch the machine off and on"
	case sum < degradedGbps:
		v.Status, v.Cause = fabric.Fail, fabric.CauseNICDegradedInit
		v.Why = fmt.Sprintf("under %d Gb/s behind a link of %g: the NIC came up degraded, often after a cable was plugged while the machine ran", degradedGbps, portGbps)
		v.Fix = "restart both machines with the cable in; if it stays, switch them off and take the power cables out for a minute"
	case len(r.Links) > 1 && sum <= one.bound:
		v.Status, v.Cause = fabric.Fail, fabric.CauseHalfPortTwin
		v.Why = "both twins together are no faster than one alone: they do not have a PCIe link each"
	default:
		v.Status, v.Cause = fabric.Fail, fabric.CauseSlowLink
		v.Why = "PCIe links and path MTU are right, and it is slower than they allow"
		v.Fix = "look at the error counters of the port (ethtool -S), and try another cable"
	}
}

// twins are the senders of links.
func (j *benchJudge) twins(links []fabric.Link) (all []fabric.Twin) {
	for _, l := range links {
		port, _ := j.plan.PortOf(l.A)
		for _, t := range port.Twins {
			if t.NIC == l.A.NIC {
				all = append(all, t)
			}
		}
	}
	return all
}

// narrowest is the first PCIe link of a test that is slower than the machine's.
func narrowest(r fabric.BenchResult) (fabric.TrainedLink, bool) {
	for _, l := range r.PCIe {
		if l.Width > 0 && l.GTs > 0 && (l.Width < fullLane || l.GTs < fullGTs) {
			return l, true
		}
	}
	return fabric.TrainedLink{}, false
}

func linkEvidence(r fabric.BenchResult) (all []fabric.Evidence) {
	for _, l := range r.PCIe {
		value := "not read"
		if l.Width > 0 && l.GTs > 0 {
			value = fmt.Sprintf("%g GT/s x%d", l.GTs, l.Width)
		}
		all = append(all, fabric.Evidence{Source: l.At.String() + " " + l.PCI + " current_link_width", Value: value})
	}
	return all
}

func (j *benchJudge) latency(r fabric.BenchResult) fabric.BenchVerdict {
	runs := perftests(r, "ib_write_lat")
	if len(runs) != 1 || len(r.Missing) > 0 || runs[0].Rows[0].TypicalUS == nil {
		return unknownBench(r, "the output has no typical latency")
	}
	typical := *runs[0].Rows[0].TypicalUS
	want := latencyRate(j.plan.Wiring() == fabric.WiredSwitch)
	v := fabric.BenchVerdict{Value: &typical, Low: &want.low, High: &want.bound, Measured: fmt.Sprintf("%.2f us", typical),
		Expected: fmt.Sprintf("%.1f to %.2f us (%s)", want.low, want.bound, want.formula)}
	switch {
	case typical < want.low:
		v.Why = "faster than a cable and PCIe allow: something else was measured"
	case typical > want.bound:
		v.Status, v.Cause = fabric.Fail, fabric.CauseSlowLink
		v.Why = "small writes wait somewhere"
		v.Fix = "run it again while nothing else uses the machines; then look at the error counters of the port (ethtool -S)"
	default:
		v.Status = fabric.Pass
	}
	return v
}
