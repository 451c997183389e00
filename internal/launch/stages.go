package launch

import (
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// stageOf is the stage that a group is in. From the division of the memory on every step is a collective one, so the
// furthest rank is no further than the slowest by more than a moment; before that a rank loads its weights by itself, and
// the group is not further than its slowest.
func (g *group) stageOf(lives []*life) fabric.LaunchStage {
	most := -1
	for i, l := range lives {
		stage := l.stage()
		if stage >= ordinal(fabric.StageReady) && (g.members[i].index > 0 || g.members[i].nodeRank > 0) {
			stage = ordinal(fabric.StageGraphs) // a worker's server only answers health checks
		}
		most = max(most, stage)
	}
	if most < 0 {
		return ""
	}
	return fabric.LaunchStages()[most]
}

// stages joins the spans of all processes.
func (g *group) stages(lives []*life) (out []fabric.LaunchSpan) {
	now := ordinal(g.stageOf(lives))
	for s, name := range fabric.LaunchStages() {
		span := fabric.LaunchSpan{Stage: name, Seconds: -1}
		var begin, firstEnd, lastEnd time.Time
		any, ended := false, false
		for i, l := range lives {
			for _, pn := range l.order {
				p := l.processes[pn]
				x := p.spans[s]
				if !x.begin.is() {
					continue
				}
				any = true
				if p.isRank {
					span.Ranks++
				}
				if !x.begin.at.IsZero() && (begin.IsZero() || x.begin.at.Before(begin)) {
					begin = x.begin.at
				}
				if !x.last.is() {
					if p.isRank && s >= now {
						span.Behind = append(span.Behind, place(g.members[i].pod, pn, len(g.members)))
					}
					continue
				}
				ended = true
				if p.isRank {
					span.Ended++
				}
				if at := x.last.at; !at.IsZero() {
					if lastEnd.IsZero() || at.After(lastEnd) {
						lastEnd, span.Slowest = at, place(g.members[i].pod, pn, len(g.members))
					}
					if firstEnd.IsZero() || at.Before(firstEnd) {
						firstEnd = at
					}
				}
			}
			if l.barStage == s && s == now && l.percent < 100 {
				span.Percent = max(span.Percent, l.percent)
			}
		}
		if !any {
			continue
		}
		finish(&span, begin, firstEnd, lastEnd, s < now || ended && len(span.Behind) == 0)
		out = append(out, span)
	}
	untilNext(out)
	return out
}

func finish(span *fabric.LaunchSpan, begin, firstEnd, lastEnd time.Time, done bool) {
	const most = 16
	span.Begin, span.Done = stamp(begin), done
	if done {
		span.End = stamp(lastEnd)
	}
	if !begin.IsZero() && !lastEnd.IsZero() && done {
		span.Seconds = took(begin, lastEnd)
	}
	if span.Ended > 1 {
		span.Spread = lastEnd.Sub(firstEnd).Seconds()
	} else {
		span.Slowest = ""
	}
	if span.Ended == 0 {
		span.Behind = nil
	}
	if len(span.Behind) > most {
		span.Behind = span.Behind[:most]
	}
}

// took is the seconds of a stage; -1 where the times are of two runs, as in logs that a person put together.
func took(begin, end time.Time) float64 {
	const day = 86400
	if s := end.Sub(begin).Seconds(); s >= 0 && s < day {
		return s
	}
	return -1
}

// untilNext ends a stage that has no line for its end where the next one begins.
func untilNext(spans []fabric.LaunchSpan) {
	for i := range spans {
		s := &spans[i]
		if s.Done && s.End == "" && i+1 < len(spans) && spans[i+1].Begin != "" && s.Begin != "" {
			s.End = spans[i+1].Begin
			if a, b := parseStamp(s.Begin), parseStamp(s.End); !a.IsZero() {
				s.Seconds = took(a, b)
			}
		}
	}
}

func parseStamp(s string) time.Time {
	if t, err := time.Parse("2006-01-02 15:04:05", s); err == nil {
		return t
	}
	t, err := time.Parse("01-02 15:04:05", s)
	if err != nil {
		return time.Time{}
	}
	return t
}
