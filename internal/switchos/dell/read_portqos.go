package dell

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// portQoS reads what attaches maps, policies and PFC to a port.
func (r *reader) portQoS(p *dellPort, c command) bool {
	switch strings.ToLower(c.words[0]) {
	case "qos-map":
		kind, ok := mapKindOf(c.word(1))
		if !ok || !c.no && len(c.words) != 3 {
			return false
		}
		if c.no {
			p.maps[kind] = nil
			return true
		}
		dellSet(r, &p.maps[kind], c.words[2], c.Line, p.name, "qos-map "+mapKinds[kind].name)
		return true
	case "scheduler-policy":
		if c.no {
			p.sched = nil
			return true
		}
		if len(c.words) != 2 {
			return false
		}
		dellSet(r, &p.sched, c.words[1], c.Line, p.name, "scheduler-policy")
		return true
	case "queue":
		return r.portQueue(p, c)
	}
	return r.portPFC(p, c)
}

// portQueue reads queue 3 wred-policy NAME.
func (r *reader) portQueue(p *dellPort, c command) bool {
	list, bad, ok := numbers(c.word(1), 7)
	if !ok || !c.is(2, "wred-policy") && !c.is(2, "wred-profile") || !c.no && len(c.words) != 4 {
		return false
	}
	if bad != "" {
		r.problem(fabric.TextRange, p.name, c.Line, "queue: "+bad, "the switch refuses the line")
	}
	for _, q := range list {
		if c.no {
			p.wred[q] = nil
			continue
		}
		dellSet(r, &p.wred[q], c.words[3], c.Line, p.name, fmt.Sprintf("the wred-policy of queue %d", q))
	}
	return true
}

// portPFC reads priority-flow-control of a port. It may have two priorities (dellemc.enterprise_sonic.sonic_qos_interfaces).
func (r *reader) portPFC(p *dellPort, c command) bool {
	switch {
	case c.is(1, "asymmetric") && len(c.words) == 2:
		p.asym = &fabric.Said[bool]{Is: !c.no, At: c.Line}
		return true
	case c.is(1, "watchdog"):
		return r.portWatchdog(p, c)
	case !c.is(1, "priority"):
		return false
	case c.no && len(c.words) == 2:
		for q := range p.pfc {
			p.pfc[q] = &fabric.Said[bool]{Is: false, At: c.Line}
		}
		return true
	}
	list, bad, ok := numbers(c.word(2), 7)
	if !ok {
		return false
	}
	if len(c.words) > 3 {
		r.problem(fabric.TextForeign, p.name, c.Line, fmt.Sprintf("%q does not belong behind a priority", strings.Join(c.words[3:], " ")), "the switch refuses the line")
		return true
	}
	if bad != "" {
		r.problem(fabric.TextRange, p.name, c.Line, "priority: "+bad, "the switch refuses the line")
	}
	for _, q := range list {
		p.pfc[q] = &fabric.Said[bool]{Is: !c.no, At: c.Line}
	}
	return true
}

// portWatchdog reads the watchdog of a port. Older versions print detect-time without on.
func (r *reader) portWatchdog(p *dellPort, c command) bool {
	w := &p.watchdog
	switch {
	case c.is(2, "on") && len(c.words) == 3:
		w.On = &fabric.Said[bool]{Is: !c.no, At: c.Line}
	case c.is(2, "off") && len(c.words) == 3, c.no && c.is(2, "on"), c.no && len(c.words) == 2:
		w.On = &fabric.Said[bool]{Is: false, At: c.Line}
	case c.is(2, "on", "detect-time"):
		ok := r.watchdogTime(&w.DetectMs, c, 4, 100, 5000, p.name, "detect-time")
		if ok && w.DetectMs != nil {
			w.On = &fabric.Said[bool]{Is: true, At: c.Line}
		}
		return ok
	case c.is(2, "detect-time"):
		return r.watchdogTime(&w.DetectMs, c, 3, 100, 5000, p.name, "detect-time")
	case c.is(2, "restore-time"):
		return r.watchdogTime(&w.RestoreMs, c, 3, 100, 60000, p.name, "restore-time")
	case c.is(2, "action"):
		action := strings.ToLower(c.word(3))
		switch {
		case c.no:
			w.Action = nil
		case action == "drop" || action == "forward" || action == "alert":
			dellSet(r, &w.Action, action, c.Line, p.name, "action of the watchdog")
		default:
			return false
		}
	default:
		return false
	}
	return true
}

func (r *reader) watchdogTime(at **fabric.Said[int], c command, i, low, high int, port, what string) bool {
	if c.no {
		*at = nil
		return true
	}
	n, ok := dellNumber(c.word(i), 0, 1<<30)
	if !ok || len(c.words) != i+1 {
		return false
	}
	if n < low || n > high {
		r.problem(fabric.TextRange, port, c.Line, fmt.Sprintf("%s %d of the watchdog is not in %d to %d", what, n, low, high), "the switch refuses the line")
		return true
	}
	dellSet(r, at, n, c.Line, port, what+" of the watchdog")
	return true
}
