package eos

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// inQueue reads a line of a transmit queue.
func (r *reader) inQueue(m eosMode, l switchtext.CLILine) bool {
	s := r.said
	rest, not := eosNot(l.Command)
	word, args, _ := strings.Cut(rest, " ")
	if m.queue < 0 {
		return eosFirst(rest, "priority", "bandwidth", "shape", "random-detect", "name", "exit", "latency", "drop-precedence", "length")
	}
	var read func(sc *eosScope, q *queueSaid) bool
	switch word {
	case "priority":
		read = func(_ *eosScope, q *queueSaid) bool {
			if args == "strict" || args == "" && not {
				eosSay(s, &q.strict, !not, l.Line)
				return true
			}
			return false
		}
	case "bandwidth":
		read = func(_ *eosScope, q *queueSaid) bool { return s.bandwidth(q, args, not, l.Line) }
	case "random-detect":
		read = func(sc *eosScope, q *queueSaid) bool { return s.randomDetect(sc, m.queue, q, args, not, l.Line) }
	case "shape", "exit", "latency", "name", "scheduler":
		return true
	default:
		return false
	}
	for i, sc := range m.scopes {
		before := len(s.problems)
		if !read(sc, sc.queue(m.queue)) {
			return false
		}
		if i > 0 {
			s.problems = s.problems[:before] // once for a range
		}
	}
	return true
}

// bandwidth reads the share of a weighted queue, and the guarantee that the PFC watchdog wants.
func (s *eosSaid) bandwidth(q *queueSaid, args string, not bool, at fabric.Line) bool {
	f := strings.Fields(args)
	switch {
	case len(f) > 0 && f[0] == "guaranteed":
		if q.guaranteed = nil; !not {
			if len(f) == 1 {
				return false
			}
			q.guaranteed = &fabric.Said[string]{Is: strings.Join(f[1:], " "), At: at}
		}
		return true
	case len(f) > 0 && f[0] == "percent" || len(f) == 0 && not:
		if not {
			q.percent = nil
			return true
		}
		f = f[1:]
		if len(f) == 2 && f[1] == "local" { // set here, not learned by DCBX
			f = f[:1]
		}
		if len(f) != 1 {
			return false
		}
		n, err := strconv.Atoi(f[0])
		if err != nil {
			return false
		}
		if n < 0 || n > 100 {
			s.problem(fabric.TextRange, "", at, "shares of bandwidth are 1 to 100 percent", "EOS refuses it.")
			return true
		}
		eosSay(s, &q.percent, n, at)
		return true
	}
	return false
}

var (
	eosECN = pattern.Plain(`^ecn minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)(?: max-mark-probability (\d+))?(?: weight (\d+))?$`)
	red    = pattern.Plain(`^drop(?: drop-precedence \d)? minimum-threshold (\d+) (\w+) maximum-threshold (\d+) (\w+)(?: drop-probability (\d+))?(?: weight (\d+))?$`)
)

// units are the units of thresholds. Whether a kbyte is 1000 or 1024 bytes is in no source at hand.
var units = map[string]string{
	"bytes": "bytes", "kbytes": "kB", "mbytes": "MB", "segments": "segments", "milliseconds": "ms", "microseconds": "us", "percent": "percent",
}

// randomDetect reads ECN and WRED of a queue. `ecn count` only counts.
func (s *eosSaid) randomDetect(sc *eosScope, n int, q *queueSaid, args string, not bool, at fabric.Line) bool {
	if args == "ecn count" || eosFirst(args, "ecn delay", "non-ect") {
		return true
	}
	name := fmt.Sprintf("%s queue %d", sc.name, n)
	switch {
	case not && eosFirst(args, "ecn"):
		q.ecn = &fabric.QueueProfile{Name: name, ECN: fabric.Said[bool]{At: at}}
		return true
	case not && eosFirst(args, "drop"):
		q.drop = nil
		return true
	}
	if m := eosECN().FindStringSubmatch(args); m != nil {
		p, ok := s.thresholds(name, m, at)
		if ok && q.ecn != nil && q.ecn.Min != nil && !sameProfile(q.ecn, p) {
			s.problem(fabric.TextDuplicate, "", at, "says again what line \""+q.ecn.Min.At.Text+"\" said, with another value", "The last one counts.")
		}
		if ok {
			p.ECN = fabric.Said[bool]{Is: true, At: at}
			q.ecn = p
		}
		return ok
	}
	if m := red().FindStringSubmatch(args); m != nil {
		p, ok := s.thresholds(name, m, at)
		if ok {
			p.Drops, p.ECN = true, fabric.Said[bool]{At: at}
			q.drop = p
		}
		return ok
	}
	return false
}

func sameProfile(a, b *fabric.QueueProfile) bool {
	same := func(x, y *fabric.Threshold) bool { return x.Value == y.Value && x.Unit == y.Unit }
	return same(a.Min, b.Min) && same(a.Max, b.Max) && (a.Percent == nil) == (b.Percent == nil) && (a.Percent == nil || a.Percent.Is == b.Percent.Is)
}

func (s *eosSaid) thresholds(name string, m []string, at fabric.Line) (*fabric.QueueProfile, bool) {
	low, ok := threshold(m[1], m[2], at)
	high, ok2 := threshold(m[3], m[4], at)
	if !ok || !ok2 {
		return nil, false
	}
	p := &fabric.QueueProfile{Name: name, Min: low, Max: high}
	if low.Unit != high.Unit {
		s.problem(fabric.TextConflict, "", at, "the two thresholds are in different units", "EOS refuses it.")
	} else if low.Value > high.Value {
		s.problem(fabric.TextRange, "", at, "the minimum is above the maximum", "EOS refuses it.")
	}
	if m[5] != "" {
		n, err := strconv.Atoi(m[5])
		if err != nil || n < 1 || n > 100 {
			s.problem(fabric.TextRange, "", at, "probabilities are 1 to 100 percent", "EOS refuses it.")
		}
		if err == nil {
			p.Percent = &fabric.Said[int]{Is: n, At: at}
		}
	}
	return p, true
}

// threshold reads a threshold; megabytes and microseconds become what the model has.
func threshold(number, unit string, at fabric.Line) (*fabric.Threshold, bool) {
	u, ok := units[unit]
	v, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil {
		return nil, false
	}
	switch u {
	case "us":
		u, v = "ms", v/1000
	case "MB":
		u, v = "kB", v*1000 // 1000 or 1024 again, which kB leaves open for one of the two factors
	}
	return &fabric.Threshold{Value: v, Unit: u, At: at}, true
}
