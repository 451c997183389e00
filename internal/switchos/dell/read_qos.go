package dell

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// mapKind is a kind of map: its name in the CLI, and what its lines map to what. Rewrite maps (tc-dscp, tc-dot1p)
// classify nothing.
type mapKind struct {
	name     string
	from     string
	fromMost int
	to       []string // ways to write it
	toMost   int
	shown    []string // its names above a table that show qos map prints, before -MAP
}

// Kinds of maps, by their places in dellMapKinds.
const (
	dellDSCP = iota
	dellDot1p
	dellQueue
	dellGroup
	toDSCP
	toDot1p
	pfcQueue
	pfcGroup
	mapCount
)

// dellMapKinds: sonic-mgmt-framework, CLI/renderer/scripts (running configuration) and the Broadcom CLI reference; names of
// tables: SONiC QoS management HLD 1.1, 3.2.2.2, and dellemc.enterprise_sonic.sonic_qos_maps.
var mapKinds = [mapCount]mapKind{
	{"dscp-tc", "dscp", 63, []string{"traffic-class"}, 7, []string{"dscp-tc"}},
	{"dot1p-tc", "dot1p", 7, []string{"traffic-class"}, 7, []string{"dot1p-tc"}},
	{"tc-queue", "traffic-class", 7, []string{"queue"}, 7, []string{"tc-q", "tc-queue"}},
	{"tc-pg", "traffic-class", 7, []string{"priority-group", "pg"}, 7, []string{"tc-pg", "tc-priority-group"}},
	{"tc-dscp", "traffic-class", 7, []string{"dscp"}, 63, []string{"tc-dscp"}},
	{"tc-dot1p", "traffic-class", 7, []string{"dot1p"}, 7, []string{"tc-dot1p"}},
	{"pfc-priority-queue", "pfc-priority", 7, []string{"queue"}, 7, []string{"pfc-priority-q", "pfc-priority-queue"}},
	{"pfc-priority-pg", "pfc-priority", 7, []string{"pg", "priority-group"}, 7, []string{"pfc-priority-pg", "pfc-priority-priority-group"}},
}

// mapKindOf finds a kind by its name or by an abbreviation that only it has, such as pfc-priority-q.
func mapKindOf(text string) (int, bool) {
	found := -1
	for i, k := range mapKinds {
		if strings.EqualFold(k.name, text) {
			return i, true
		}
		if len(text) >= 4 && len(text) < len(k.name) && strings.EqualFold(text, k.name[:len(text)]) {
			if found >= 0 {
				return 0, false
			}
			found = i
		}
	}
	return found, found >= 0
}

// dellName names a map: maps of two kinds may have one name.
type dellName struct {
	kind int
	name string
}

type dellMap struct {
	dellName
	at      fabric.Line
	entries [64]*fabric.Said[int]
}

// wred is a WRED policy. RoCE is green: only a policer colours packets.
type wred struct {
	name     string
	at       fabric.Line
	min, max *fabric.Said[float64] // of green, kB
	percent  *fabric.Said[int]
	ecn      *fabric.Said[string]
}

// dellSched is a scheduler policy.
type dellSched struct {
	name   string
	at     fabric.Line
	kind   [8]*fabric.Said[string] // strict, weighted
	weight [8]*fabric.Said[int]
}

// define opens a map or a policy, or takes it back.
func (r *reader) define(c command) bool {
	r.qos, r.configured = true, true
	switch {
	case c.is(1, "buffer") && len(c.words) > 2: // as the first draft of the CLI had it (Broadcom, QoS buffer HLD, 3.6.2)
		c.words = c.words[1:]
		return r.buffer(c)
	case c.is(1, "map") && len(c.words) == 4:
		kind, ok := mapKindOf(c.words[2])
		if !ok {
			return false
		}
		r.openMap(dellName{kind, c.words[3]}, c, false)
	case c.is(1, "wred-policy") && len(c.words) == 3:
		r.openWRED(c.words[2], c, false)
	case c.is(1, "scheduler-policy") && len(c.words) == 3:
		r.openSched(c.words[2], c, false)
	default:
		return false
	}
	return true
}

func (r *reader) openMap(name dellName, c command, shown bool) {
	m := r.maps[name]
	if c.no {
		delete(r.maps, name)
		r.mapOrder = slices.DeleteFunc(r.mapOrder, func(old *dellMap) bool { return old == m })
		r.place = place{}
		return
	}
	if m == nil {
		m = &dellMap{dellName: name, at: c.Line}
		r.maps[name], r.mapOrder = m, append(r.mapOrder, m)
	}
	r.place = place{kind: inMap, head: c.Indent, dmap: m, shown: shown}
}

func (r *reader) openWRED(name string, c command, shown bool) {
	w := r.wreds[name]
	if c.no {
		delete(r.wreds, name)
		r.wredOrder = slices.DeleteFunc(r.wredOrder, func(old *wred) bool { return old == w })
		r.place = place{}
		return
	}
	if w == nil {
		w = &wred{name: name, at: c.Line}
		r.wreds[name], r.wredOrder = w, append(r.wredOrder, w)
	}
	r.place = place{kind: inWRED, head: c.Indent, wred: w, shown: shown}
}

func (r *reader) openSched(name string, c command, shown bool) {
	s := r.scheds[name]
	if c.no {
		delete(r.scheds, name)
		r.schOrder = slices.DeleteFunc(r.schOrder, func(old *dellSched) bool { return old == s })
		r.place = place{}
		return
	}
	if s == nil {
		s = &dellSched{name: name, at: c.Line}
		r.scheds[name], r.schOrder = s, append(r.schOrder, s)
	}
	r.place = place{kind: inSched, head: c.Indent, sched: s, queue: -1, shown: shown}
}

// mapLine reads a line of a map: dscp 0-3,5 traffic-class 0, or a row of its table.
func (r *reader) mapLine(c command) bool {
	m := r.place.dmap
	k := mapKinds[m.kind]
	if r.place.shown {
		return r.mapRow(c)
	}
	if !c.is(0, k.from) {
		return false
	}
	words := c.words[1:]
	to := slices.IndexFunc(words, func(w string) bool {
		return slices.ContainsFunc(k.to, func(name string) bool { return abbreviates(w, name) })
	})
	if c.no && to < 0 {
		to = len(words)
	}
	if to < 1 || !c.no && len(words) != to+2 {
		return false
	}
	list, bad, ok := numbers(strings.Join(words[:to], ""), k.fromMost)
	if !ok {
		return false
	}
	if bad != "" {
		r.problem(fabric.TextRange, "", c.Line, fmt.Sprintf("%s of map %s: %s", k.from, m.name, bad), "the switch refuses the line")
	}
	if c.no {
		for _, v := range list {
			m.entries[v] = nil
		}
		return true
	}
	value, ok := dellNumber(words[to+1], 0, 1<<20)
	if !ok {
		return false
	}
	if value > k.toMost {
		r.problem(fabric.TextRange, "", c.Line, fmt.Sprintf("%s %d of map %s is above %d", k.to[0], value, m.name, k.toMost), "the switch refuses the line")
		return true
	}
	for _, v := range list {
		dellSet(r, &m.entries[v], value, c.Line, "", fmt.Sprintf("%s of %s %d in map %s", k.to[0], k.from, v, m.name))
	}
	return true
}

// mapTitles are the titles of the columns of a shown map.
var mapTitles = pattern.Plain(`(?i)^(?:DSCP|DOT1P|TC|PFC[ -]Priority|PRIORITY)\s+(?:TC|Q|Queue|PG|DSCP|DOT1P|Priority[ -]Group)$`)

// mapRow reads a row of a shown map: two numbers. The row above them has words.
func (r *reader) mapRow(c command) bool {
	m := r.place.dmap
	k := mapKinds[m.kind]
	from, ok1 := dellNumber(c.word(0), 0, k.fromMost)
	to, ok2 := dellNumber(c.word(1), 0, k.toMost)
	if ok1 && ok2 && len(c.words) == 2 {
		dellSet(r, &m.entries[from], to, c.Line, "", fmt.Sprintf("%s of %s %d in map %s", k.to[0], k.from, from, m.name))
		return true
	}
	return mapTitles().MatchString(c.Command)
}

// wredLine reads a line of a WRED policy. Thresholds of yellow and red packets concern nobody here.
func (r *reader) wredLine(c command) bool {
	w := r.place.wred
	if r.place.shown {
		return r.wredRow(c)
	}
	switch {
	case c.is(0, "ecn"):
		if c.no {
			w.ecn = nil
			return true
		}
		return len(c.words) == 2 && r.setECN(w, c.words[1], c)
	case c.no && c.is(0, "green"):
		w.min, w.max, w.percent = nil, nil, nil
		return true
	case c.is(0, "yellow") || c.is(0, "red"):
		return true
	}
	words := c.words
	if c.is(0, "green") {
		words = words[1:]
	} else if !c.is(0, "minimum-threshold") {
		return false
	}
	if len(words)%2 != 0 || len(words) == 0 {
		return false
	}
	for i := 0; i < len(words); i += 2 {
		if !r.setThreshold(w, words[i], words[i+1], c) {
			return false
		}
	}
	r.checkWRED(w, c)
	return true
}

// ecNs are the settings of ecn. The database knows pairs of colours too (sonic-wred-profile.yang).
var ecNs = []string{"all", "none", "green", "yellow", "red", "green_yellow", "green_red", "yellow_red"}

func (r *reader) setECN(w *wred, value string, c command) bool {
	value = strings.TrimPrefix(strings.ToLower(value), "ecn_")
	if value == "one" { // ecn_none without each of the letters of ecn_ at its beginning, as older versions print it
		value = "none"
	}
	if !slices.Contains(ecNs, value) {
		return false
	}
	dellSet(r, &w.ecn, value, c.Line, "", "ecn of wred-policy "+w.name)
	return true
}

// setThreshold stores one of minimum-threshold, maximum-threshold and drop-probability of green packets.
func (r *reader) setThreshold(w *wred, name, value string, c command) bool {
	n, err := strconv.ParseFloat(value, 64)
	if err != nil || n < 0 || n > 1e12 {
		return false
	}
	what := fmt.Sprintf("%s of wred-policy %s", name, w.name)
	switch {
	case abbreviates(name, "minimum-threshold"):
		dellSet(r, &w.min, n, c.Line, "", what)
	case abbreviates(name, "maximum-threshold"):
		dellSet(r, &w.max, n, c.Line, "", what)
	case abbreviates(name, "drop-probability"):
		if n > 100 {
			r.problem(fabric.TextRange, "", c.Line, what+" is above 100", "the switch refuses the line")
			return true
		}
		dellSet(r, &w.percent, int(n), c.Line, "", what)
	default:
		return false
	}
	return true
}

func (r *reader) checkWRED(w *wred, c command) {
	if w.min != nil && w.max != nil && w.min.Is > w.max.Is {
		r.problem(fabric.TextRange, "", c.Line, fmt.Sprintf("minimum-threshold %v of wred-policy %s is above its maximum-threshold %v", w.min.Is, w.name, w.max.Is), "the switch refuses the line")
	}
}

// schedLine reads a line of a scheduler policy, or of one of its queues.
func (r *reader) schedLine(c command) bool {
	s, p := r.place.sched, &r.place
	words := c.words
	if p.shown { // Queue: 0, type: strict
		words = strings.Fields(strings.ReplaceAll(c.Command, ":", " "))
		if len(words) == 0 {
			return false
		}
	}
	word := strings.ToLower(words[0])
	number := func(most int) (int, bool) {
		if len(words) < 2 {
			return 0, false
		}
		return dellNumber(words[1], 0, most)
	}
	switch word {
	case "queue":
		q, ok := number(47) // the processor has 48
		if !ok || len(words) != 2 {
			return false
		}
		p.queue = min(q, 8)
		if c.no && q < 8 {
			s.kind[q], s.weight[q] = nil, nil
			p.queue = -1
		}
		return true
	case "port":
		p.queue = 8
		return true
	case "pir", "pbs", "cir", "cbs", "meter-type": // a ceiling on the rate, not a matter of loss
		return true
	case "type", "weight":
		if p.queue < 0 {
			return false
		}
		if p.queue == 8 {
			return true
		}
		return r.schedQueue(s, p.queue, word, words, c)
	}
	return false
}

func (r *reader) schedQueue(s *dellSched, q int, word string, words []string, c command) bool {
	switch {
	case c.no && word == "type":
		s.kind[q] = nil
	case c.no:
		s.weight[q] = nil
	case len(words) < 2:
		return false
	case word == "type":
		kind, ok := map[string]string{"strict": "strict", "dwrr": "weighted", "wrr": "weighted"}[strings.ToLower(words[1])]
		if !ok {
			return false
		}
		dellSet(r, &s.kind[q], kind, c.Line, "", fmt.Sprintf("type of queue %d in scheduler-policy %s", q, s.name))
	default:
		n, ok := dellNumber(words[1], 0, 1<<20)
		if !ok {
			return false
		}
		if n < 1 || n > 100 {
			r.problem(fabric.TextRange, "", c.Line, fmt.Sprintf("weight %d of queue %d in scheduler-policy %s is not in 1 to 100", n, q, s.name), "the switch refuses the line")
			return true
		}
		dellSet(r, &s.weight[q], n, c.Line, "", fmt.Sprintf("weight of queue %d in scheduler-policy %s", q, s.name))
	}
	return true
}
