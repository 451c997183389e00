package eos

import (
	"math"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

func (r *reader) openProfile(l switchtext.CLILine, name string, not bool) bool {
	s := r.said
	name, _, extra := strings.Cut(name, " ")
	if extra || name == "" {
		return false
	}
	r.stack = nil
	if not {
		delete(s.profiles, name)
		return true
	}
	p := s.profiles[name]
	if p == nil {
		p = &eosScope{name: name, at: l.Line}
		s.profiles[name] = p
		s.named = append(s.named, p)
	}
	r.push(0, l, eosMode{kind: "profile", scopes: []*eosScope{p}})
	return true
}

// inScope reads what interfaces and profiles share.
func (r *reader) inScope(depth int, m eosMode, l switchtext.CLILine) bool {
	s := r.said
	rest, not := eosNot(l.Command)
	word, args, _ := strings.Cut(rest, " ")
	switch word {
	case "uc-tx-queue", "tx-queue", "mc-tx-queue":
		return r.openQueue(depth, m, l, word, args, not)
	case "qos":
		return s.qosOf(m.scopes, args, not, l.Line)
	case "priority-flow-control":
		return s.pfcOf(m.scopes, args, not, l.Line)
	case "service-policy":
		policy, ok := strings.CutPrefix(args, "type qos input")
		if !ok {
			if strings.HasPrefix(args, "type tx-queue") || strings.HasPrefix(args, "type queuing") {
				s.problem(fabric.TextForeign, "", l.Line, "EOS has no policy of queues: queues are set by tx-queue", "EOS refuses it.")
				r.unread(l)
				return true
			}
			return eosFirst(args, "type pbr", "type pdp", "type qos output") || args == ""
		}
		for _, sc := range m.scopes {
			if sc.policy = nil; !not {
				sc.policy = &fabric.Said[string]{Is: strings.TrimSpace(policy), At: l.Line}
			}
		}
		return true
	}
	return m.kind == "profile" && eosFirst(rest, "shape rate", "exit", "description")
}

// openQueue begins a transmit queue. A queue of multicast packets has nothing to do with RoCE.
func (r *reader) openQueue(depth int, m eosMode, l switchtext.CLILine, word, args string, not bool) bool {
	n, ok := eosNumber(args, 7)
	if !ok {
		if isNumber(args) {
			if word != "mc-tx-queue" {
				r.said.problem(fabric.TextRange, "", l.Line, "transmit queues are 0 to 7", "EOS refuses it.")
			}
			r.push(depth, l, eosMode{kind: "queue", queue: -1})
			return true
		}
		return false
	}
	if not {
		for _, sc := range m.scopes {
			sc.queues[n] = nil
		}
		return true
	}
	if word == "mc-tx-queue" {
		n = -1
	}
	r.push(depth, l, eosMode{kind: "queue", queue: n, scopes: m.scopes, ports: m.ports})
	return true
}

// qosOf reads qos trust, and the values of packets that are not trusted.
func (s *eosSaid) qosOf(scopes []*eosScope, args string, not bool, at fabric.Line) bool {
	word, value, _ := strings.Cut(args, " ")
	trust, known := map[string]string{"dscp": "dscp", "cos": "pcp", "": "none"}[value]
	n, number := eosNumber(value, 7)
	for _, sc := range scopes {
		switch {
		case word == "trust" && not:
			eosSay(s, &sc.trust, "none", at)
		case word == "trust" && known && trust != "none":
			eosSay(s, &sc.trust, trust, at)
		case word == "cos" && not:
			sc.cos = nil
		case word == "cos" && number:
			eosSay(s, &sc.cos, n, at)
		case word == "dscp":
		default:
			return false
		}
	}
	return true
}

// pfcOf reads PFC of a port or profile.
func (s *eosSaid) pfcOf(scopes []*eosScope, args string, not bool, at fabric.Line) bool {
	word, value, _ := strings.Cut(args, " ")
	switch {
	case args == "on" || args == "mode on" || args == "off" || args == "mode off" || args == "" && not || args == "mode" && not:
		for _, sc := range scopes {
			eosSay(s, &sc.pfc, !not && strings.HasSuffix(args, "on"), at)
		}
		return true
	case word == "priority":
		return s.noDrop(scopes, value, not, at)
	case word == "pause" && eosFirst(value, "watchdog"):
		for _, sc := range scopes {
			if !s.portWatchdog(&sc.wd, strings.TrimSpace(strings.TrimPrefix(value, "watchdog")), not, at) {
				return false
			}
		}
		return true
	}
	return false
}

var eosPriorities = pattern.Plain(`^([\d ,-]+?)(?: (no-drop|drop))?(?: .*)?$`)

func (s *eosSaid) noDrop(scopes []*eosScope, args string, not bool, at fabric.Line) bool {
	m := eosPriorities().FindStringSubmatch(args)
	if m == nil || m[2] == "" && !not {
		return false
	}
	list, ok := eosNumbers(m[1], 7)
	if !ok {
		s.problem(fabric.TextRange, "", at, "priorities are 0 to 7", "EOS refuses it.")
		return true
	}
	for _, sc := range scopes {
		for _, p := range list {
			if not {
				sc.noDrop[p] = nil
			} else {
				eosSay(s, &sc.noDrop[p], m[2] == "no-drop", at)
			}
		}
	}
	return true
}

// eosMs reads seconds as milliseconds.
func eosMs(s string) (int, bool) {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil || f < 0 || f > 1e6 || math.IsNaN(f) {
		return 0, false
	}
	return int(math.Round(f * 1000)), true
}

// portWatchdog reads what follows `priority-flow-control pause watchdog` on a port or in a profile.
func (s *eosSaid) portWatchdog(w *watchdogSaid, args string, not bool, at fabric.Line) bool {
	args = strings.TrimPrefix(args, "port ")
	f := strings.Fields(args)
	switch {
	case len(f) == 0:
		eosSay(s, &w.on, !not, at)
		return true
	case f[0] == "action" && (len(f) == 2 || not):
		if w.action = nil; !not {
			w.action = &fabric.Said[string]{Is: f[1], At: at}
		}
		return true
	case f[0] != "timer":
		return false
	case not:
		w.detect, w.restore = nil, nil
		return true
	}
	for i := 1; i < len(f); i++ {
		if f[i] == "forced" {
			w.forced = true
			continue
		}
		if i+1 == len(f) {
			return false
		}
		ms, ok := eosMs(f[i+1])
		switch f[i] {
		case "timeout":
			w.detect = &fabric.Said[int]{Is: ms, At: at}
		case "recovery-time":
			w.restore = &fabric.Said[int]{Is: ms, At: at}
		case "polling-interval":
			ok = ok || f[i+1] == "auto"
		default:
			return false
		}
		if !ok {
			return false
		}
		i++
	}
	return true
}

// globalPFC reads what is said of PFC for the whole switch.
func (s *eosSaid) globalPFC(c string, not bool, at fabric.Line) bool {
	if c == "priority-flow-control all off" {
		s.pfcOff = &fabric.Said[bool]{Is: !not, At: at}
		return true
	}
	args, ok := strings.CutPrefix(c, "priority-flow-control pause watchdog")
	if !ok {
		return false
	}
	f := strings.Fields(args)
	switch {
	case len(f) == 0:
		return not
	case len(f) == 2 && f[0] == "action" || len(f) == 3 && f[0] == "override" && f[1] == "action":
		if s.wd.action = nil; !not {
			s.wd.action = &fabric.Said[string]{Is: f[len(f)-1], At: at}
		}
		return true
	case f[0] == "hardware" || not && f[0] == "action":
		s.wd.action = nil
		return true
	case f[0] == "default" && len(f) >= 2 && not:
		switch f[1] {
		case "timeout":
			s.wd.on, s.wd.detect = nil, nil
		case "recovery-time":
			s.wd.restore = nil
		}
		return true
	case f[0] == "default" && len(f) == 3:
		return s.globalTimer(f[1], f[2], at)
	}
	s.problem(fabric.TextForeign, "", at, "is not a PFC watchdog command of EOS: times are in seconds, each on its own line", "EOS refuses it.")
	s.unread = append(s.unread, at)
	return true
}

func (s *eosSaid) globalTimer(what, value string, at fabric.Line) bool {
	ms, ok := eosMs(value)
	least, most := 10, 60000
	switch {
	case what == "polling-interval":
		least, most = 5, 30000
		ok = ok || value == "auto"
		if value == "auto" {
			ms = least
		}
	case what == "timeout" && ok:
		s.wd.detect = &fabric.Said[int]{Is: ms, At: at}
		s.wd.on = &fabric.Said[bool]{Is: ms > 0, At: at}
	case what == "recovery-time" && ok:
		s.wd.restore = &fabric.Said[int]{Is: ms, At: at}
	default:
		ok = false
	}
	if ok && (ms < least || ms > most) && ms != 0 {
		s.problem(fabric.TextRange, "", at, "the PFC watchdog takes a "+what+" of "+strconv.FormatFloat(float64(least)/1000, 'g', -1, 64)+" to "+strconv.Itoa(most/1000)+" seconds", "EOS refuses it.")
	}
	return ok
}
