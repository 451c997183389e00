package loadtest

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Workload is a pair of lengths with its name.
type Workload struct {
	Name          string
	Input, Output float64 // tokens
}

// alike is how far lengths of prompts and answers of one workload may lie apart, as a share.
const alike = 0.05

// Lines puts the results of each workload in order of their load: throughput over the time to the first token. stat is
// the statistic of that time: avg, p50, p99. A result without both numbers is on no line.
func Lines(tests []fabric.JudgedLoad, stat string, known []Workload) []fabric.LoadLine {
	var lines []fabric.LoadLine
	for i, j := range tests {
		t := j.Test
		ttft := t.TTFT.Of(stat)
		in, out := lengthOf(t.InputAsked, t.Input), lengthOf(t.OutputAsked, t.Output)
		if ttft == nil || *ttft <= 0 || t.OutputTokensS == nil || in == 0 || out == 0 {
			continue
		}
		p := fabric.LoadPoint{Test: i, Load: t.Load(), TTFTms: *ttft, OutputTokensS: *t.OutputTokensS, Status: j.Status}
		if t.RequestsS != nil {
			p.RequestsS = *t.RequestsS
		}
		at := slices.IndexFunc(lines, func(l fabric.LoadLine) bool {
			return l.Model == t.Model && near(l.Input, in) && near(l.Output, out)
		})
		if at < 0 {
			at = len(lines)
			lines = append(lines, fabric.LoadLine{Name: nameOf(in, out, known), Model: t.Model, Input: in, Output: out})
		}
		lines[at].Points = append(lines[at].Points, p)
	}
	for i := range lines {
		finish(&lines[i], tests)
	}
	return lines
}

func near(a, b float64) bool { return math.Abs(a-b) <= alike*math.Max(a, b) }

func lengthOf(asked *float64, s fabric.LoadSpread) float64 {
	if asked != nil && *asked > 0 && (s["avg"] == 0 || near(*asked, s["avg"])) {
		return *asked
	}
	return s["avg"]
}

func nameOf(in, out float64, known []Workload) string {
	lengths := fmt.Sprintf("%.0f/%.0f", in, out)
	for _, w := range known {
		if near(w.Input, in) && near(w.Output, out) {
			return fmt.Sprintf("%s (%.0f/%.0f)", w.Name, w.Input, w.Output)
		}
	}
	return lengths
}

// order is the load of a point as a number.
func order(t fabric.LoadTest) float64 {
	switch {
	case t.Closed():
		return float64(*t.Concurrency)
	case t.RatePerS != nil:
		return *t.RatePerS
	}
	return math.Inf(1)
}

// finish sorts the points of a line and says where it is saturated and what does not fit on it.
func finish(l *fabric.LoadLine, tests []fabric.JudgedLoad) {
	load := func(p fabric.LoadPoint) float64 { return order(tests[p.Test].Test) }
	slices.SortStableFunc(l.Points, func(a, b fabric.LoadPoint) int { return cmp.Compare(load(a), load(b)) })
	for i := 1; i < len(l.Points); i++ {
		a, b := l.Points[i-1], l.Points[i]
		if a.Load == b.Load {
			l.Remarks = append(l.Remarks, fmt.Sprintf("load %s was measured twice: %s and %s tokens/s", a.Load, digits(a.OutputTokensS), digits(b.OutputTokensS)))
			continue
		}
		if i+1 < len(l.Points) {
			const dip = 0.9
			if c := l.Points[i+1]; b.OutputTokensS < dip*a.OutputTokensS && b.OutputTokensS < dip*c.OutputTokensS {
				l.Remarks = append(l.Remarks, fmt.Sprintf("load %s has %s tokens/s, less than %s at %s and %s at %s: measure it again", b.Load, digits(b.OutputTokensS), digits(a.OutputTokensS), a.Load, digits(c.OutputTokensS), c.Load))
			}
		}
	}
	l.Saturated = saturation(l.Points, load)
	if len(l.Points) > 2 && l.Saturated == "" {
		last := l.Points[len(l.Points)-1]
		l.Remarks = append(l.Remarks, fmt.Sprintf("throughput still grows at load %s: its peak was not reached", last.Load))
	}
}

// saturation is the load after which throughput grows by less than a tenth of the growth of the load, to the last point,
// while the time to the first token grows.
func saturation(points []fabric.LoadPoint, load func(fabric.LoadPoint) float64) string {
	const least = 0.1
	from := ""
	for i := len(points) - 1; i > 0; i-- {
		a, b := points[i-1], points[i]
		more := load(b)/load(a) - 1
		if !(more > least) || math.IsInf(more, 0) {
			continue
		}
		flat := b.OutputTokensS/a.OutputTokensS-1 < least*more && b.TTFTms > a.TTFTms
		if !flat {
			break
		}
		from = a.Load
	}
	return from
}

// Choose returns the operating point of a line: the most tokens/s whose time to the first token is at most the target,
// in ms; 0: no target. rate is the requests per second that all replicas are to serve; 0: not asked. A point that failed
// is none, and one that is unknown makes the choice unknown.
func Choose(l fabric.LoadLine, stat string, target, rate float64) fabric.LoadChoice {
	c := fabric.LoadChoice{Line: l.Name, Target: fmt.Sprintf("%s of the time to the first token at most %s ms", stat, digits(target))}
	if target == 0 {
		c.Target = "the most tokens/s"
	}
	var best, next *fabric.LoadPoint
	failed, over := 0, 0
	for i, p := range l.Points {
		switch {
		case p.Status == fabric.Fail:
			failed++
		case target > 0 && p.TTFTms > target:
			over++
			if next == nil || p.TTFTms < next.TTFTms {
				next = &l.Points[i]
			}
		case best == nil || p.OutputTokensS > best.OutputTokensS:
			best = &l.Points[i]
		}
	}
	switch {
	case best == nil && over > 0:
		c.Status = fabric.Fail
		c.Text = fmt.Sprintf("no load reaches it: the nearest is %s ms at load %s", digits(next.TTFTms), next.Load)
		return c
	case best == nil:
		c.Text = fmt.Sprintf("no result that can be relied on: %d of %d failed", failed, len(l.Points))
		return c
	}
	c.Point, c.Status = best, best.Status
	c.Text = fmt.Sprintf("load %s: %s tokens/s, %s ms to the first token", best.Load, digits(best.OutputTokensS), digits(best.TTFTms))
	if failed > 0 {
		c.Text += fmt.Sprintf("; %d of %d results failed and are left out", failed, len(l.Points))
	}
	if rate > 0 {
		replicas(&c, rate)
	}
	if best.Status != fabric.Pass {
		c.Text += "; the result that this rests on is " + best.Status.String()
	}
	return c
}

// replicas adds how many copies of the server a rate needs, each at its operating point.
func replicas(c *fabric.LoadChoice, rate float64) {
	each := c.Point.RequestsS
	const most = 1e6
	if each <= 0 || rate/each > most {
		c.Status = fabric.Unknown
		c.Text += "; requests/s of the point are unknown, so the number of replicas is"
		return
	}
	c.Replicas = int(math.Ceil(rate/each - 1e-9))
	c.Text += fmt.Sprintf("; %s requests/s need %s of %s requests/s each", digits(rate), fabric.Count(c.Replicas, "replica"), digits(each))
}
