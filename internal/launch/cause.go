package launch

import (
	"cmp"
	"slices"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// found is a failure with the pod and the life that it is of.
type found struct {
	failure
	pod  string
	life int // of the pod, from 0
	of   *life
}

// together is how many lines of one pod a failure spans: a traceback, and those of the processes that print it again.
const together = 400

// later is by how much a failure may come after a rank gave up waiting and still be its cause: logs of several nodes have
// clocks of their own.
const later = time.Minute

// sorted are failures by what they can say, each in the order of time.
type sorted struct{ roots, general, waited, hints, effects []found }

// sort puts failures apart; dies reports whether one of them ends a process.
func sort(all []found) (s sorted, dies bool) {
	for _, f := range all {
		switch f.form.does {
		case root:
			if f.form.weight > 1 {
				s.roots = append(s.roots, f)
			} else {
				s.general = append(s.general, f)
			}
		case waits:
			s.waited = append(s.waited, f)
		case hint:
			s.hints = append(s.hints, f)
		case effect:
			if f.form.weight > 0 {
				s.effects = append(s.effects, f)
			}
		}
		dies = dies || f.form.does != hint && (f.form.does != effect || f.form.weight > 0)
	}
	for _, list := range [][]found{s.roots, s.general, s.waited, s.hints, s.effects} {
		slices.SortStableFunc(list, inTime)
	}
	return s, dies
}

// cause chooses what a life of the group died of: the first failure in time that is no consequence. A rank that waited for
// others names a cause only where no other did. nil: it did not die.
func cause(all []found, dead bool) *found {
	s, dies := sort(all)
	if !dead && !dies {
		return nil
	}
	wait := first(s.waited)
	known := s.told(wait)
	switch {
	case known == nil && wait != nil:
		known = explained(s.hints, *wait)
	case known != nil && wait != nil && known.form.does == root && wait.before(*known) && known.gap(*wait) > later:
		known = wait
	}
	if known == nil && len(s.hints) > 0 {
		known = &s.hints[len(s.hints)-1]
	}
	if known == nil {
		known = first(s.effects) // they died, and no line says of what
	}
	return known
}

// told is the first failure that says what happened: one of a known kind, unless a general one came before it elsewhere.
func (s sorted) told(wait *found) *found {
	known, early := first(s.roots), first(s.general)
	if known != nil {
		known = sharper(s.roots, *known)
		if early != nil && early.before(*known) && !early.near(*known) {
			known = explained(s.hints, *early)
		}
		return known
	}
	if early == nil {
		return nil
	}
	known = explained(s.hints, *early)
	if known.form.weight < 2 && wait != nil && (wait.before(*known) || wait.near(*known)) {
		return wait
	}
	return known
}

func first(list []found) *found {
	if len(list) == 0 {
		return nil
	}
	return &list[0]
}

// inTime orders failures: by the time of their logs where both have one, else in the order in which they came.
func inTime(a, b found) int {
	if !a.when.at.IsZero() && !b.when.at.IsZero() && a.pod != b.pod {
		if c := a.when.at.Compare(b.when.at); c != 0 {
			return c
		}
	}
	return cmp.Compare(a.when.seq, b.when.seq)
}

func (f found) before(g found) bool { return inTime(f, g) < 0 }

// near reports whether two failures are told in one place of one log.
func (f found) near(g found) bool {
	d := f.line - g.line
	return f.pod == g.pod && d < together && -d < together
}

// gap is by how much a failure comes after another one; 0 where a time is unknown.
func (f found) gap(g found) time.Duration {
	if f.when.at.IsZero() || g.when.at.IsZero() {
		return 0
	}
	return f.when.at.Sub(g.when.at)
}

// sharper takes a line of the same place that names the cause better.
func sharper(roots []found, f found) *found {
	best := f
	for _, g := range roots {
		if g.near(f) && g.rank == f.rank && g.form.weight > best.form.weight && g.line-f.line < 60 {
			best = g
		}
	}
	return &best
}

// explained takes a hint that says why a failure came which says little itself. What comes long after it, as when an engine
// ends its processes, explains nothing.
func explained(hints []found, f found) *found {
	for _, h := range hints {
		if f.before(h) && !h.near(f) && (h.pod == f.pod || h.gap(f) > later) {
			continue
		}
		if h.form.weight > f.form.weight || f.form.does == waits && h.pod == f.pod {
			return &h
		}
	}
	return &f
}

// survived reports whether the launch went on after a failure: its process came to a later stage, or the server was up.
func (f found) survived(engine string) bool {
	l := f.of
	if r := l.readyAt(engine); r.is() && r.seq > f.when.seq {
		return true
	}
	from := f.stage
	if f.form.does == hint { // its stage is what it explains
		from = max(from, ordinal(f.form.stage))
	}
	for name, p := range l.processes {
		if name == f.rank {
			for s := from + 1; s < stages; s++ {
				if p.spans[s].begin.seq > f.when.seq {
					return true
				}
			}
			continue
		}
		if f.form.does == effect && f.form.weight > 0 {
			continue
		}
		own := l.processes[f.rank]
		if own != nil && own.isRank {
			continue
		}
		for s := max(f.stage, 0); s < stages; s++ { // a line without a rank: another process ended this stage, or is two further
			if p.spans[s].end.seq > f.when.seq || s > f.stage+1 && p.spans[s].begin.seq > f.when.seq {
				return true
			}
		}
	}
	return false
}

// report is a failure for people.
func (f found) report(lives int) fabric.LaunchFailure {
	k := kindOf(f.form.kind)
	out := fabric.LaunchFailure{
		Kind: f.form.kind, Title: k.title, Means: k.means, Fix: k.fix, Pod: f.pod, Rank: f.rank, At: stamp(f.when.at), Line: f.line, Text: f.text,
		Stage: f.stageName(),
	}
	if lives > 1 {
		out.Start = f.life + 1
	}
	return out
}

// stageName is the stage in which a failure came: the one that its process was in, and where no line tells that, the one in
// which such failures come.
func (f found) stageName() fabric.LaunchStage {
	own := ordinal(f.form.stage)
	at := f.stage
	if at < 0 || own > at && f.form.does != hint {
		at = max(own, at)
	}
	if at < 0 {
		return ""
	}
	return fabric.LaunchStages()[at]
}

// stamp writes a time; a year that the log does not print is left out.
func stamp(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case t.Year() == 0:
		return t.Format("01-02 15:04:05")
	}
	return t.Format("2006-01-02 15:04:05")
}
