package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// listed are the causes of a result that is not healthy, the most probable first. What is no fault is left out of the
// causes of one.
func (s *observed) listed(b beliefs, v fabric.Verdict, set *causes.Set) []fabric.Cause {
	out := []fabric.Cause{} // what is wrong is seen, why is not
	for _, x := range b.list {
		if harmless(x.id) && v != fabric.VerdictUnknown && x.probability < surely || len(out) == mostShown {
			continue
		}
		out = append(out, s.fixedHere(x.cause(set), set))
	}
	return out
}

// fixedHere puts what fixes a cause on a DGX Spark, or for pods, before what fixes it anywhere.
func (s *observed) fixedHere(c fabric.Cause, set *causes.Set) fabric.Cause {
	known, ok := set.Get(c.ID)
	on := ""
	switch {
	case spark(s.hw):
		on = "spark"
	case s.workers != nil:
		on = "kubernetes"
	}
	if !ok || on == "" {
		return c
	}
	for _, p := range known.Platforms {
		if p.On == on {
			c.Fix = p.Fix + "\n" + c.Fix
		}
	}
	return c
}

// cause is a belief with what proves and fixes it.
func (b belief) cause(set *causes.Set) fabric.Cause {
	c := fabric.Cause{ID: b.id, Subject: b.about, Confidence: rounded(b.probability)}
	for _, w := range b.weights {
		at := w.evidence.Where()
		e := fabric.Evidence{Source: at.Source, Value: at.Text}
		if w.why != "" && !strings.Contains(at.Text, w.why) {
			e.Value = strings.TrimSuffix(at.Text, ".") + ": " + w.why
		}
		switch {
		case w.log > 0 && !slices.Contains(c.Evidence, e):
			c.Evidence = append(c.Evidence, e)
		case w.log < 0 && !slices.Contains(c.Against, e):
			c.Against = append(c.Against, e)
		}
	}
	if known, ok := set.Get(b.id); ok {
		c.Confirm, c.Fix = known.Confirm.String(), known.Fix.String()
	}
	return c
}

// byID is the probability of each cause.
func (b beliefs) byID() map[fabric.CauseID]float64 {
	out := map[fabric.CauseID]float64{}
	for _, x := range b.all {
		out[x.id] = x.probability
	}
	return out
}

func rounded(p float64) float64 { return math.Round(1000*p) / 1000 }

// healthyCauses are the causes of a healthy result: what looks odd in it and is not, then that it is healthy.
func (s *observed) healthyCauses(b beliefs, set *causes.Set, why string) []fabric.Cause {
	var out []fabric.Cause
	confidence := 0.9
	for _, x := range b.list {
		switch c := x.cause(set); {
		case !x.own:
		case harmless(x.id):
			c.Confidence = max(c.Confidence, surely)
			out, confidence = append(out, c), min(confidence, surely)
		case x.id == fabric.CauseMTUMismatch && s.kind == fabric.PerftestOutput: // the rate is right, and costs more headers than it need
			c.Confidence = min(c.Confidence, faint)
			out = append(out, c)
		}
	}
	out = append(out, healthyCause(confidence, fabric.Evidence{Source: "measured", Value: why}))
	slices.SortStableFunc(out, func(a, b fabric.Cause) int { return cmp.Compare(b.Confidence, a.Confidence) })
	return out
}

// faint is the probability of what is odd and costs nothing that was measured.
const faint = 0.1

func healthyCause(confidence float64, seen ...fabric.Evidence) fabric.Cause {
	return fabric.Cause{ID: fabric.CauseHealthy, Subject: fabric.ClusterSubject(), Confidence: confidence, Evidence: seen}
}

// given are the kinds of output that are at hand: a measurement that would only give one of them again tells nothing.
func (s *observed) given() []string {
	var out []string
	for _, l := range s.logs {
		if l.Nodes > 0 || l.Net != "" {
			out = append(out, "nccl-log")
			break
		}
	}
	if s.any(func(p point) bool { return p.test == "perftest" && !p.text }) {
		out = append(out, "perftest")
	}
	if s.any(func(p point) bool { return len(p.pair) == 2 }) {
		out = append(out, "pairs")
	}
	for _, e := range s.seen {
		if c, ok := e.(evidence.Contrast); ok {
			out = append(out, "contrast "+c.What)
		}
	}
	return out
}

// nextTest is the next thing to do where there is no verdict: say what is missing, else measure what tells most.
func (s *observed) nextTest(steps []fabric.Step) string {
	switch {
	case len(s.needs) > 0:
		return fmt.Sprintf("railwright explain FILE again with %s", strings.Join(s.needs, "; "))
	case len(steps) > 0 && s.unusable == "":
		return steps[0].Command
	case s.kind == fabric.NCCLDebugLog:
		return "run all_reduce_perf -b 8 -e 8G -f 2 with NCCL_DEBUG=INFO and explain its whole output"
	case s.unusable != "":
		return "measure again and keep the whole output: all_reduce_perf -b 8 -e 8G -f 2, or ib_write_bw -a --report_gbits"
	case s.hw.Nodes > 1 || s.hw.Nodes == 0:
		return "all_reduce_perf -b 8 -e 8G -f 2 on one node, on two with NCCL_ALGO=RING, and ib_write_bw --report_gbits with and without --use_cuda"
	default:
		return "all_reduce_perf -b 8 -e 8G -f 2 -g 8 on the node"
	}
}
