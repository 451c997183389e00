package pipeline

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"time"

	"railwright.dev/railwright/internal/check"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/facts"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
)

// Waivers returns the waivers of a cluster file.
func Waivers(c *intent.Cluster) ([]check.Waiver, error) {
	var out []check.Waiver
	for _, w := range c.Waive {
		until, err := time.Parse(time.DateOnly, w.Until)
		if err != nil {
			return nil, fmt.Errorf("waive: until: %w", err)
		}
		out = append(out, check.Waiver{Rule: w.Rule, Subject: w.Subject, Reason: w.Reason, Until: until})
	}
	return out, nil
}

// Checked is what a check needs besides the facts. Without a plan the rules that need one are not applicable.
type Checked struct {
	Plan    *fabric.Plan
	Waivers []check.Waiver
	At      time.Time        // decides which waivers are in effect
	Lost    []fabric.Missing // machines without facts, and why

	Switches []*fabric.SwitchConfig // that are part of the check
}

// Check checks nodes in the order of the sequence, as many at once as there are processors. Facts that cannot be loaded are lost too, but where no facts can be
// loaded there is no verdict.
func Check(ctx context.Context, in Checked, nodes iter.Seq2[*fabric.Facts, error], emit func(fabric.Finding)) (fabric.Summary, error) {
	c := check.New(in.Plan, in.Waivers, in.At, emit)
	c.Switches(in.Switches, renderedSwitches(in.Plan, in.Switches))
	var broken []error
	seen := false
	var judging []chan *check.Judged // of nodes that are not taken yet, in their order
	take := func() {
		c.Take(<-judging[0])
		judging = judging[1:]
	}
	for node, err := range nodes {
		if ctx.Err() != nil {
			return fabric.Summary{}, ctx.Err()
		}
		if err != nil {
			if len(in.Switches) == 0 || !errors.Is(err, facts.ErrNoFacts) { // a folder of texts of switches alone is one
				broken = append(broken, err)
			}
			continue
		}
		seen = true
		done := make(chan *check.Judged, 1)
		host.Go(func() { done <- c.Judge(node) })
		if judging = append(judging, done); len(judging) > runtime.GOMAXPROCS(0) {
			take()
		}
	}
	for len(judging) > 0 {
		take()
	}
	if len(broken) > 0 && !seen && len(in.Switches) == 0 {
		return fabric.Summary{}, errors.Join(broken...)
	}
	for _, err := range broken {
		c.Lost(unloaded(err))
	}
	for _, m := range in.Lost {
		c.Lost(m)
	}
	return c.Finish(ctx)
}

// unloaded names the file apart from the reason, so that a report shows the same reason once. No node has
// such a name: it never counts as seen because a node is called like the file.
func unloaded(err error) fabric.Missing {
	if s, ok := errors.AsType[*facts.SnapshotError](err); ok {
		return fabric.Missing{What: "snapshot " + s.Path, Source: "loading", Reason: s.Err.Error()}
	}
	return fabric.Missing{What: "a snapshot", Source: "loading", Reason: err.Error()}
}

// Findings checks nodes and returns all findings.
func Findings(ctx context.Context, in Checked, nodes []*fabric.Facts) (*fabric.Findings, error) {
	f := &fabric.Findings{Meta: fabric.NewMeta("Findings"), Findings: []fabric.Finding{}}
	var err error
	f.Summary, err = Check(ctx, in, All(nodes), func(one fabric.Finding) { f.Findings = append(f.Findings, one) })
	return f, err
}

// All yields nodes that have no errors.
func All(nodes []*fabric.Facts) iter.Seq2[*fabric.Facts, error] {
	return func(yield func(*fabric.Facts, error) bool) {
		for _, f := range nodes {
			if !yield(f, nil) {
				return
			}
		}
	}
}
