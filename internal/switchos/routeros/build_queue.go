package routeros

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// port says what a port does with packets.
func (c *classes) port(p *portSaid) {
	known := p.qos != nil && !p.qos.shown || c.whole
	if c.off != nil {
		p.config.Trust = &fabric.Said[string]{Is: "none", At: c.off.At}
		p.config.PFC = &fabric.Said[[]int]{Is: []int{}, At: c.off.At}
		return
	}
	c.trust(p, known)
	pfc := c.pauses(p, known)
	t := c.table(p, pfc, known)
	if t != nil {
		p.config.DSCP, p.config.PCP, p.config.Rewrite = &t.dscp, &t.pcp, t.rewrite
	}
	c.queues(p)
}

// trust says by what the port classifies. Packets without a VLAN tag have nothing but their DSCP.
func (c *classes) trust(p *portSaid, known bool) {
	layer3, ok3 := p.qos.get("trust-l3")
	layer2, ok2 := p.qos.get("trust-l2")
	switch {
	case ok3 && (layer3.Is == "trust" || layer3.Is == "keep"):
		p.config.Trust = &fabric.Said[string]{Is: "dscp", At: layer3.At}
	case ok3 && layer3.Is != "ignore":
		c.problem(fabric.TextRange, p.name, layer3.At, layer3.Is+" is not a way to trust", "RouterOS refuses it: it has ignore, trust and keep.")
	case !ok3 && !known:
	case ok2 && (layer2.Is == "trust" || layer2.Is == "keep"):
		p.config.Trust = &fabric.Said[string]{Is: "pcp", At: layer2.At}
	default:
		p.config.Trust = &fabric.Said[string]{Is: "none", At: cmp.Or(layer3.At, says(defaultIgnore))}
	}
}

// pauses says which priorities have PFC; nil: nobody knows. The priority of a pause is the number of the class.
func (c *classes) pauses(p *portSaid, known bool) *pausing {
	name, ok := p.qos.get("pfc")
	switch {
	case !ok && !known:
		return nil
	case !ok || name.Is == "disabled":
		p.config.PFC = &fabric.Said[[]int]{Is: []int{}, At: cmp.Or(name.At, says(defaultNoPFC))}
		return &pausing{priorities: *p.config.PFC}
	}
	pfc := c.pfc[name.Is]
	if pfc == nil {
		if c.whole || len(c.pfcOrder) > 0 {
			c.tell(fabric.TextUndefined, p.name, name.At, "PFC profile "+name.Is+" is defined nowhere in the text", "RouterOS refuses the line: the port has no PFC.")
		}
		return nil
	}
	pfc.used = true
	p.config.PFC = &fabric.Said[[]int]{Is: pfc.priorities.Is, At: name.At}
	if !pfc.tx.Is || !pfc.rx.Is {
		p.config.Pauses = &fabric.PFCDirections{Sends: &pfc.tx, Obeys: &pfc.rx}
	}
	for i := range 8 {
		stop := fabric.Said[int]{Is: -1, At: name.At}
		if slices.Contains(pfc.priorities.Is, i) && pfc.rx.Is {
			stop = fabric.Said[int]{Is: i, At: pfc.priorities.At}
		}
		p.config.Stops[i] = &stop
	}
	if pfc.rx.Is && len(pfc.priorities.Is) > 0 {
		c.timed(p, pfc, known)
	}
	for _, key := range []string{"rx-flow-control", "tx-flow-control"} {
		if v, ok := p.link.get(key); ok && v.Is != "off" && len(pfc.priorities.Is) > 0 {
			c.tell(fabric.TextConflict, p.name, v.At, "flow control of the whole link is on beside PFC", "A port has one of the two.")
			break
		}
	}
	return pfc
}

// timed names a port that obeys pauses and has no rate by which their time is counted: the manual asks for one on each queue.
func (c *classes) timed(p *portSaid, pfc *pausing, known bool) {
	for _, class := range pfc.priorities.Is {
		v, ok := p.qos.get(fmt.Sprintf("egress-rate-queue%d", class))
		if gbps, good := gigabits(v.Is); ok && good && gbps > 0 || !known {
			continue
		}
		c.problem(fabric.TextInert, p.name, cmp.Or(v.At, p.qos.at), fmt.Sprintf("obeys pauses of class %d, and egress-rate-queue%d is not set", class, class),
			"The manual asks for it: pauses that come in are counted by that rate.")
	}
}

// table says what all packets get. Ports that trust the same map and pause alike share it.
func (c *classes) table(p *portSaid, pfc *pausing, known bool) *table64 {
	own, said := p.qos.get("profile")
	if p.config.Trust == nil || !said && !known {
		return nil
	}
	own.Is = cmp.Or(own.Is, "default")
	name := cmp.Or(p.qos.is("map"), "default")
	trust := p.config.Trust.Is
	kept := p.qos.is("trust-l3") == "keep"
	pauses := "?"
	if pfc != nil {
		pauses = pfc.name
	}
	key := fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%v", trust, name, own.Is, pauses, kept)
	if t := c.tables[key]; t != nil {
		return t
	}
	t := &table64{rewrite: map[string]fabric.Said[int]{}}
	c.tables[key] = t
	at := cmp.Or(own.At, says(defaultProfile))
	for d := range t.dscp {
		m := &mapped{own.Is, at}
		if trust == "dscp" {
			m = &mapped{"default", says(defaultProfile)}
			if table := c.maps[name]; table != nil && table[d] != nil {
				m = table[d]
			}
		}
		t.dscp[d] = c.treatment(p, m, pfc)
		if !kept {
			c.rewritten(t, d, m)
		}
	}
	for i := range t.pcp { // of packets without DSCP; those without a tag, too, have the first
		m := &mapped{own.Is, at}
		if table := c.byTag[name]; trust == "pcp" && i > 0 && table != nil && table[i] != nil {
			m = table[i]
		}
		t.pcp[i] = c.treatment(p, m, pfc)
	}
	return t
}

// treatment is what packets of a profile get.
func (c *classes) treatment(p *portSaid, m *mapped, pfc *pausing) fabric.Treatment {
	prof := c.profiles[m.profile]
	if prof == nil || prof.class == nil {
		if prof == nil && m.profile != "default" && (c.whole || len(c.order) > 0) {
			c.tell(fabric.TextUndefined, p.name, m.at, "profile "+m.profile+" is defined nowhere in the text", "RouterOS refuses the line.")
		}
		return fabric.Treatment{}
	}
	prof.used = true
	class := prof.class.Is
	by := m.at
	if by.Number == 0 {
		by = prof.class.At
	}
	t := fabric.Treatment{Class: &fabric.Said[string]{Is: strconv.Itoa(class), At: by}, Queue: &fabric.Said[int]{Is: class, At: cmp.Or(prof.class.At, says(oneToOne))}}
	if pfc == nil {
		return t
	}
	pause := fabric.Said[int]{Is: -1, At: pfc.priorities.At}
	if slices.Contains(pfc.priorities.Is, class) {
		pause.Is = class
	}
	t.Pause = &pause
	return t
}

// rewritten says with which DSCP packets leave: that of their profile, unless the port keeps theirs.
func (c *classes) rewritten(t *table64, dscp int, m *mapped) {
	prof := c.profiles[m.profile]
	if prof == nil || prof.class == nil {
		return
	}
	to := fabric.Said[int]{Is: 0, At: cmp.Or(m.at, prof.at)}
	if prof.dscp != nil {
		to = *prof.dscp
	}
	class := strconv.Itoa(prof.class.Is)
	if _, had := t.rewrite[class]; !had && to.Is != dscp {
		t.rewrite[class] = to
	}
}

// queueDefault is how the factory has the queues.
var queueDefault = [8]struct {
	group  string
	weight int
}{{"low-priority-group", 1}, {"low-priority-group", 2}, {"low-priority-group", 3}, {"high-priority-group", 3}, {"high-priority-group", 4}, {"high-priority-group", 5}, {"strict-priority", 0}, {"strict-priority", 0}}

// scheduled is how a queue is served, as a text or the factory has it.
type scheduled struct {
	group  fabric.Said[string]
	weight *fabric.Said[int]
	known  bool
}

// queues says how the queues of a port are served and mark.
func (c *classes) queues(p *portSaid) {
	known := c.tells(queueMenu)
	manager := cmp.Or(p.qos.is("tx-manager"), "default")
	own := slices.ContainsFunc([]string{"trust-l3", "pfc", "tx-manager", "profile"}, func(key string) bool { return p.qos.is(key) != "" })
	var all [8]scheduled
	var records [8]*record
	for n := range 8 {
		records[n] = c.find(queueMenu, target{id: strconv.Itoa(n), manager: manager}.key())
		all[n] = c.scheduled(records[n], n, known)
	}
	groups := groupsInUse(p, all)
	for n, s := range all {
		q := &fabric.QueueConfig{Marks: c.marks(records[n], n, known)}
		q.Algorithm, q.Weight = s.served(n, all, groups)
		if q.Algorithm == nil && q.Marks == nil {
			continue
		}
		if !own { // nothing says that the port is one of those for which the queues are set: all ports share them
			unnumbered(q)
		}
		p.config.Queues[n] = q
	}
}

// scheduled reads how a queue is served.
func (c *classes) scheduled(r *record, n int, known bool) scheduled {
	s := scheduled{known: known}
	if known {
		s.group = fabric.Said[string]{Is: queueDefault[n].group, At: says(defaultQueue)}
		s.weight = &fabric.Said[int]{Is: queueDefault[n].weight, At: says(defaultQueue)}
	}
	if v, ok := r.get("schedule"); ok {
		s.group, s.known = v, true
		if !slices.Contains([]string{"strict-priority", "high-priority-group", "low-priority-group"}, v.Is) {
			c.tell(fabric.TextRange, "", v.At, v.Is+" is not a schedule", "RouterOS refuses it.")
			s.known = false
		}
	}
	if w := c.small(r, "weight", 255); w != nil {
		s.weight = w
	}
	return s
}

// groupsInUse lists the queues of the two groups that get packets.
func groupsInUse(p *portSaid, all [8]scheduled) map[string][]int {
	used := map[int]bool{}
	note := func(t fabric.Treatment) {
		if t.Queue != nil {
			used[t.Queue.Is&7] = true
		}
	}
	if p.config.DSCP != nil {
		for _, t := range p.config.DSCP {
			note(t)
		}
	}
	if p.config.PCP != nil && p.config.Trust != nil && p.config.Trust.Is != "dscp" {
		for _, t := range p.config.PCP {
			note(t)
		}
	}
	out := map[string][]int{}
	for n, s := range all {
		if used[n] && s.known {
			out[s.group.Is] = append(out[s.group.Is], n)
		}
	}
	return out
}

// served is how a queue is served beside the others. A strict queue goes before those below it; whether it goes before a group
// above it is in no document. The low group waits for the high one: then weights of both say nothing of their shares.
func (s scheduled) served(n int, all [8]scheduled, groups map[string][]int) (*fabric.Said[string], *fabric.Said[int]) {
	if !s.known {
		return nil, nil
	}
	low, high := groups["low-priority-group"], groups["high-priority-group"]
	switch s.group.Is {
	case "strict-priority":
		for _, above := range all[n+1:] {
			if !above.known || above.group.Is != "strict-priority" {
				return nil, nil
			}
		}
		return &fabric.Said[string]{Is: "strict", At: s.group.At}, nil
	case "high-priority-group":
		if len(low) > 0 && len(high) == 1 && high[0] == n {
			return &fabric.Said[string]{Is: "strict", At: s.group.At}, nil
		}
	case "low-priority-group":
		if len(low) > 0 && len(high) > 0 {
			return &fabric.Said[string]{Is: "weighted", At: s.group.At}, nil
		}
	}
	return &fabric.Said[string]{Is: "weighted", At: s.group.At}, s.weight
}

// marks says whether a queue marks packets, or drops some early. Both need shared buffers. There are no thresholds to set: a
// queue marks what is above its part of the shared buffer (manual, Explicit Congestion Notification).
func (c *classes) marks(r *record, n int, known bool) *fabric.QueueProfile {
	ecn, okECN := r.get("ecn")
	wred, okWRED := r.get("wred")
	shared, okShared := r.get("use-shared-buffers")
	if !okECN && !okWRED && !known {
		return nil
	}
	if !okECN {
		ecn.At = says(defaultNoECN)
	}
	out := &fabric.QueueProfile{ECN: fabric.Said[bool]{Is: ecn.Is == "yes", At: ecn.At}, Fixed: true}
	out.Drops = wred.Is == "yes" && !out.ECN.Is
	if out.Drops {
		out.ECN.At = wred.At
	}
	if okShared && shared.Is == "no" && out.ECN.Is {
		c.tell(fabric.TextInert, "", ecn.At, fmt.Sprintf("marks packets of queue %d, which uses no shared buffers", n), "Nothing: it needs them.")
		out.ECN.Is = false
	}
	return out
}

// unnumbered takes the numbers of lines from a queue.
func unnumbered(q *fabric.QueueConfig) {
	if q.Algorithm != nil {
		q.Algorithm.At.Number = 0
	}
	if q.Weight != nil {
		w := *q.Weight
		w.At.Number = 0
		q.Weight = &w
	}
	if q.Marks != nil {
		q.Marks.ECN.At.Number = 0
	}
}
