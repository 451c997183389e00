package sizing

import (
	"cmp"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// evaluate judges one layout: a plan, which may not fit, or why it is refused, or both where memory refuses it.
func (req Request) evaluate(base setting, l fabric.Layout) (*fabric.SizingPlan, *fabric.Refused) {
	s := base
	s.Layout = l
	if err := checkLayout(l); err != nil {
		return nil, refusedBy(s, LayoutRule{ID: "layout"}, []string{err.Error()}, nil)
	}
	s = s.placed(l)
	if broken := refusals(s); len(broken) > 0 {
		reasons, _ := reasonOf(broken)
		return nil, refusedBy(s, broken[0].rule, reasons, nearest(s))
	}
	limits := []string{}
	if why := networkRefusal(s); why != "" {
		if !req.asked() {
			return nil, refusedBy(s, LayoutRule{ID: "network"}, []string{why}, nearest(s))
		}
		limits = append(limits, why)
	}
	stages := shards(s)
	d := req.budget(&s, stages)
	plan := planOf(s, stages, d)
	plan.Limits = append(limits, limitsOf(s, d)...)
	missing := shortfalls(s, d)
	plan.Fits = len(missing) == 0
	if plan.Fits {
		return &plan, nil
	}
	plan.Limits, plan.Start = append(missing, plan.Limits...), nil // nobody starts what does not fit
	return &plan, refusedBy(s, LayoutRule{ID: "memory"}, missing, pipelineHint(req, s))
}

// budget divides the memory: with the requested fraction, else with the engine's own, but where the engine
// would not start with that, with the advised one. A request table that leaves nothing for graphs is cut down by a
// flag.
func (req Request) budget(s *setting, stages []Shard) budget {
	own := s.engine.fraction(*s)
	d := s.engine.budget(*s, stages, cmp.Or(req.MemFraction, own))
	if req.MemFraction == 0 && d.refused != "" && d.advised > 0 {
		own = d.advised
		d = s.engine.budget(*s, stages, own)
		d.notes = append(d.notes, fmt.Sprintf("%s %s: the engine would not start here with its own fraction", s.engine.FractionFlag, trimFloat(own)))
	}
	if free := d.slack + d.activation; s.running == 0 && free < 2*gib && d.requestPool > gib {
		table := max(int64(s.users)*int64(s.Layout.DP), int64(float64(d.requestPool+free-2*gib)/float64((s.context+4)*4)))
		if table > 0 && table < d.running {
			d = divideWith(s, stages, d.fraction, table)
			d.notes = append(d.notes, fmt.Sprintf("--max-running-requests %d: a table of %d requests of this context leaves no memory for graphs", table, minRunning))
		}
	}
	return d
}

func divideWith(s *setting, stages []Shard, fraction float64, running int64) budget {
	s.running = running
	return s.engine.budget(*s, stages, fraction)
}

// shortfalls returns what does not fit; empty: all does.
func shortfalls(s setting, d budget) (out []string) {
	if d.refused != "" {
		out = append(out, d.refused)
	}
	usable := inGiB(d.total - d.reserved)
	switch {
	case d.weights+d.extras+d.allocator > d.before:
		return append(out, fmt.Sprintf("weights of %.1f GiB per GPU exceed the %.1f GiB that are free before loading (%.1f GiB in total)",
			inGiB(d.weights+d.extras+d.allocator), inGiB(d.before), usable))
	case d.requests < float64(s.users):
		return append(out, kvMissing(s, d))
	case d.slack+d.activation < 0:
		out = append(out, fmt.Sprintf("%.1f GiB too little for the request table and graphs at %s %s",
			-inGiB(d.slack+d.activation), s.engine.FractionFlag, trimFloat(d.fraction)))
	case d.running > 0 && d.running*replicas(s) < int64(s.users):
		out = append(out, fmt.Sprintf("%d concurrent requests, %d requested", d.running*replicas(s), s.users))
	}
	return out
}

func replicas(s setting) int64 { return int64(s.Layout.DP) }

func kvMissing(s setting, d budget) string {
	what := fmt.Sprintf("the KV cache holds %d tokens at %s %s; requested: %s of %d tokens", d.tokens, s.engine.FractionFlag,
		trimFloat(d.fraction), fabric.Count(s.users, "request"), s.context)
	if d.tokens == 0 {
		what = fmt.Sprintf("weights of %.1f GiB per GPU leave no KV cache at %s %s; requested: %s of %d tokens", inGiB(d.weights+d.extras),
			s.engine.FractionFlag, trimFloat(d.fraction), fabric.Count(s.users, "request"), s.context)
	}
	if low := ceilHundredth(d.low); d.low <= d.high && low > d.fraction {
		return what + fmt.Sprintf("; %s or more would be enough", trimFloat(low))
	}
	if d.low >= 1 {
		return what + "; no fraction is enough"
	}
	return what + fmt.Sprintf("; it would need %s, above the %s that graphs and activations leave", trimFloat(ceilHundredth(d.low)), trimFloat(floorHundredth(d.high)))
}

// limitsOf is what bounds a plan, though it fits.
func limitsOf(s setting, d budget) (out []string) {
	out = append(out, d.notes...)
	if d.fraction > d.high {
		out = append(out, fmt.Sprintf("%s %s is above %s: graphs and activations may not fit", s.engine.FractionFlag, trimFloat(d.fraction), trimFloat(floorHundredth(d.high))))
	}
	if k := s.shape.minKV; k > 0 && int64(s.Spread.Attention) > k {
		out = append(out, fmt.Sprintf("%d KV heads on %d ranks: each is stored %d times", k, s.Spread.Attention, int64(s.Spread.Attention)/k))
	}
	if s.shape.isMLA() && s.Spread.Attention > 1 {
		out = append(out, fmt.Sprintf("MLA: each of %d ranks keeps the whole KV cache", s.Spread.Attention))
	}
	if s.Machine.GPU.Unified {
		out = append(out, "memory is shared with the CPU: page cache counts as used")
	}
	return out
}

// networkRefusal returns why the network does not carry a layout: tensor parallelism across nodes needs RDMA, or NVLink
// that joins them.
func networkRefusal(s setting) string {
	l, m := s.Layout, s.Machine
	inside := max(1, l.GPUs/max(1, l.Nodes))
	if l.TP <= inside || m.RDMA || l.TP <= m.ScaleUp && m.ScaleUp > m.PerNode {
		return ""
	}
	net := cmp.Or(m.Net, "an unnamed network")
	return fmt.Sprintf("tp %d crosses nodes of %d GPUs over %s, without RDMA", l.TP, inside, net)
}

// pipelineHint is a layout of the same GPUs with a pipeline that fits where TP alone does not.
func pipelineHint(req Request, s setting) (out []string) {
	if s.Layout.PP > 1 || s.Layout.DP > 1 {
		return nil
	}
	for _, tp := range divisors(s.Layout.GPUs) {
		t := s.placed(fabric.Layout{Nodes: s.Layout.Nodes, GPUs: s.Layout.GPUs, TP: tp, PP: s.Layout.GPUs / tp, EP: 1, DP: 1})
		if tp == s.Layout.GPUs || tp < 2 || len(refusals(t)) > 0 || networkRefusal(t) != "" {
			continue
		}
		if d := req.budget(&t, shards(t)); len(shortfalls(t, d)) == 0 {
			return []string{t.Layout.String()}
		}
		break
	}
	return nil
}

func refusedBy(s setting, r LayoutRule, reasons, near []string) *fabric.Refused {
	l := s.Layout
	return &fabric.Refused{
		Nodes: l.Nodes, GPUs: l.GPUs, Layout: l.String(), TP: l.TP, PP: l.PP, EP: l.EP, DP: l.DP,
		Rule: r.ID, Reason: strings.Join(reasons, "; "), Reasons: reasons, Assert: r.Assert, Nearest: near,
	}
}

// planOf is the plan of a budget.
func planOf(s setting, stages []Shard, d budget) fabric.SizingPlan {
	l := s.Layout
	sh := stages[heaviest(stages)]
	own, flags := s.engine.fraction(s), s.engine.flags(s, d)
	p := fabric.SizingPlan{
		Nodes: l.Nodes, GPUs: l.GPUs, TP: l.TP, PP: l.PP, EP: l.EP, DP: l.DP,
		MemFraction:        d.fraction,
		WeightsBytesPerGPU: d.weights + d.extras,
		KVBytesPerToken:    d.perToken,
		KVTokens:           d.tokens,
		MaxContext:         min(d.longest, s.Model.Context),
		Requests:           d.requests,
		MaxRunning:         d.running * replicas(s),
		FreeBytes:          d.slack + d.activation,
		Ledger:             d.ledger(s, sh),
		Flags:              flags,
		Start:              s.engine.start(s, cmp.Or(s.Model.Path, "$MODEL_PATH"), flags),
		Prints:             d.prints,
		Fraction: fabric.Fraction{
			Default: own, Recommended: d.advised, Low: d.low, High: d.high, Effect: fractionEffect(d),
		},
	}
	return p
}

// fractionEffect returns what the fraction of the plan costs against the advised one.
func fractionEffect(d budget) string {
	if d.low > d.high {
		return fmt.Sprintf("no fraction works: at least %.3f and at most %.3f are needed", d.low, d.high)
	}
	return d.effect
}
