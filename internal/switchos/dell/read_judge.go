package dell

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// dellUse counts the ports that name something.
type dellUse struct {
	ports int
	port  string // the first
	at    fabric.Line
}

// judge names what is wrong with the text as a whole: names without a definition, definitions that no port has, and what is
// taken and does nothing. A name is undefined only where the text is whole or defines others of its kind: else its definition
// may stand in a part that was not read.
func (r *reader) judge() {
	maps, wreds, scheds, vlans := r.uses()
	var kinds [mapCount]bool
	for name := range r.maps {
		kinds[name.kind] = true
	}
	for name, use := range maps {
		if r.maps[name] == nil && (r.whole || kinds[name.kind]) {
			r.undefined(fmt.Sprintf("qos-map %s %s", mapKinds[name.kind].name, name.name), "map", use)
		}
	}
	for name, use := range wreds {
		if r.wreds[name] == nil && (r.whole || len(r.wreds) > 0) {
			r.undefined("wred-policy "+name, "policy", use)
		}
	}
	for name, use := range scheds {
		if r.scheds[name] == nil && (r.whole || len(r.scheds) > 0) {
			r.undefined("scheduler-policy "+name, "policy", use)
		}
	}
	for id, use := range vlans {
		if _, ok := r.vlans[id]; !ok && (r.whole || len(r.vlans) > 0) {
			r.undefined(fmt.Sprintf("switchport access Vlan %d", id), "VLAN", use)
		}
	}
	r.unattached(maps, wreds, scheds)
	r.inert()
	for _, p := range r.portOrder {
		r.shared(p)
	}
	slices.SortStableFunc(r.out.Problems, func(a, b fabric.TextProblem) int {
		return cmp.Or(cmp.Compare(a.At.Number, b.At.Number), cmp.Compare(a.What, b.What))
	})
}

// uses counts the ports that name each map, policy and VLAN.
func (r *reader) uses() (maps map[dellName]*dellUse, wreds, scheds map[string]*dellUse, vlans map[int]*dellUse) {
	maps, wreds, scheds, vlans = make(map[dellName]*dellUse), make(map[string]*dellUse), make(map[string]*dellUse), make(map[int]*dellUse)
	for _, p := range r.portOrder {
		for kind, name := range p.maps {
			if name != nil {
				dellCount(maps, dellName{kind, name.Is}, p.name, name.At)
			}
		}
		for _, name := range p.wred {
			if name != nil {
				dellCount(wreds, name.Is, p.name, name.At)
			}
		}
		if p.sched != nil {
			dellCount(scheds, p.sched.Is, p.name, p.sched.At)
		}
		if p.vlan != nil {
			dellCount(vlans, p.vlan.Is, p.name, p.vlan.At)
		}
	}
	return maps, wreds, scheds, vlans
}

func dellCount[K comparable](uses map[K]*dellUse, key K, port string, at fabric.Line) {
	if u := uses[key]; u != nil {
		u.ports++
		return
	}
	uses[key] = &dellUse{ports: 1, port: port, at: at}
}

func (r *reader) undefined(what, kind string, use *dellUse) {
	r.problem(fabric.TextUndefined, use.port, use.at, fmt.Sprintf("%s, on %d ports, names a %s that is defined nowhere", what, use.ports, kind), "the switch refuses the line")
}

// shared names priorities that a map of pauses puts together: into one group, whose packets then pause both, or onto one
// queue, which a pause of either stops. One without PFC does nothing there yet, and is told all the same: nobody means it.
func (r *reader) shared(p *dellPort) {
	for _, kind := range []int{pfcGroup, pfcQueue} {
		name := p.maps[kind]
		if name == nil || r.maps[dellName{kind, name.Is}] == nil || r.sharedTold[dellName{kind, name.Is}] {
			continue
		}
		m := dellName{kind, name.Is}
		for _, on := range []bool{true, false} {
			if with, others := together(r.maps[m].entries[:8], p.pfc, on); len(others) > 0 {
				r.sharedTold[m] = true
				r.tellShared(p, m, with, others, on)
				break
			}
		}
	}
}

// together finds a priority with PFC, and those others, with PFC or without, that a map gives the same number.
func together(to []*fabric.Said[int], pfc [8]*fabric.Said[bool], on bool) (with int, others []int) {
	has := func(p int) bool { return pfc[p] != nil && pfc[p].Is }
	for with := range to {
		for p := range to {
			if has(with) && to[with] != nil && p != with && to[p] != nil && to[p].Is == to[with].Is && has(p) == on {
				others = append(others, p)
			}
		}
		if len(others) > 0 {
			return with, others
		}
	}
	return 0, nil
}

func (r *reader) tellShared(p *dellPort, m dellName, with int, others []int, on bool) {
	to := r.maps[m].entries[others[0]]
	what := fmt.Sprintf("map %s %s gives %s %d to priorities %s, as to priority %d, which has PFC", mapKinds[m.kind].name, m.name, mapKinds[m.kind].to[0], to.Is,
		strings.Trim(fmt.Sprint(others), "[]"), with)
	switch {
	case !on:
		r.problem(fabric.TextInert, p.name, to.At, what, "nothing while PFC is off for them")
	case m.kind == pfcGroup:
		r.problem(fabric.TextConflict, p.name, to.At, what, "packets of either cause pauses of both")
	default:
		r.problem(fabric.TextConflict, p.name, to.At, what, "a pause of either stops the packets of both")
	}
}

// unattached names what is defined and on no port. Output of show commands need not have the ports.
func (r *reader) unattached(maps map[dellName]*dellUse, wreds, scheds map[string]*dellUse) {
	if !r.anyConfig {
		return
	}
	say := func(what string, at fabric.Line) {
		r.problem(fabric.TextUnattached, "", at, what+" is on no port", "it does nothing")
	}
	for _, m := range r.mapOrder {
		if maps[m.dellName] == nil {
			say(fmt.Sprintf("map %s %s", mapKinds[m.kind].name, m.name), m.at)
		}
	}
	for _, w := range r.wredOrder {
		if wreds[w.name] == nil {
			say("wred-policy "+w.name, w.at)
		}
	}
	for _, s := range r.schOrder {
		if scheds[s.name] == nil && !strings.HasPrefix(s.name, "copp") { // that of the processor
			say("scheduler-policy "+s.name, s.at)
		}
	}
}

// inert names what is taken and does nothing: ECN for colours that no packet has, a watchdog that is not on, and PFC where a
// whole configuration has no lossless buffers.
func (r *reader) inert() {
	for _, w := range r.wredOrder {
		if w.ecn != nil && w.ecn.Is != "none" && !profile(w).ECN.Is {
			r.problem(fabric.TextInert, "", w.ecn.At, fmt.Sprintf("ecn %s in wred-policy %s", w.ecn.Is, w.name), "packets are green unless a policer colours them: none is marked, and green ones are dropped early where there are thresholds")
		}
	}
	for _, w := range r.wredOrder {
		if w.ecn != nil && w.ecn.Is != "none" && w.min == nil && w.max == nil {
			r.problem(fabric.TextInert, "", w.at, fmt.Sprintf("wred-policy %s has ecn %s and no thresholds of green packets", w.name, w.ecn.Is), "from which queue length it marks is unknown")
		}
	}
	for i, p := range r.portOrder {
		at, w := cmp.Or(p.watchdog.RestoreMs, &fabric.Said[int]{}).At, r.out.Ports[i].Watchdog
		if at == (fabric.Line{}) && p.watchdog.Action != nil {
			at = p.watchdog.Action.At
		}
		if at != (fabric.Line{}) && w.On != nil && !w.On.Is && w.On.At.Number == 0 {
			r.problem(fabric.TextInert, p.name, at, "the watchdog is described and not on", "it watches nothing")
		}
	}
	if !r.whole || r.lossless {
		return
	}
	for _, p := range r.out.Ports {
		if p.PFC != nil && len(p.PFC.Is) > 0 {
			r.problem(fabric.TextInert, p.Name, p.PFC.At, "priority-flow-control in a configuration with neither buffer init nor roce enable", "no buffer is lossless and PFC pauses nobody")
			return
		}
	}
}
