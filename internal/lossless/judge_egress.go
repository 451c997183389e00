package lossless

// depart judges packets of an arrival that leave by a port.
func (j *judge) depart(a *arrival, to int32) *departure {
	key := departureKey{a, to}
	if d, ok := j.departures[key]; ok {
		return d
	}
	m, d := &j.ports[to], &departure{}
	for i, p := range a.packets {
		t := a.treats[i]
		switch j.in.roleOf(p.sent) {
		case roce:
			j.roceLeaves(&d.notes, m, t, p)
			j.vlanMTU(&d.notes, &j.ports[a.key.to], m, p)
		case cnp:
			strict := maybe
			if t.queue != unknown {
				strict = m.queues[t.queue].strict
			}
			switch strict {
			case no:
				d.notes.fault(NotStrict, atEgress, p)
			case maybe:
				d.notes.miss(gapScheduler, atEgress, p)
			}
			j.sharesQueue(&d.notes, m, t, p)
		default:
			j.sharesQueue(&d.notes, m, t, p)
		}
		next, lost := j.rewritten(m, t, p)
		if lost {
			d.notes.miss(gapRewrite, atEgress, p)
		}
		d.next, d.lost = append(d.next, next), append(d.lost, lost)
	}
	out := make([]packet, 0, len(d.next))
	for i, p := range d.next {
		if !d.lost[i] {
			out = append(out, p)
		}
	}
	d.out = j.sets.number(out)
	j.departures[key] = d
	return d
}

// roceLeaves judges the queue in which RoCE leaves.
func (j *judge) roceLeaves(n *notes, m *manner, t treat, p packet) {
	checkMTU(n, m.mtu, gapMTU, atEgress, p)
	if t.queue == unknown {
		n.miss(gapQueue, atEgress, p)
		return
	}
	q := m.queues[t.queue]
	switch {
	case !q.read:
		n.miss(gapMarks, atEgress, p)
	case q.drops:
		n.fault(DropsEarly, atEgress, p)
	case j.in.RoCE.ECN == nil:
	case !q.ecn:
		n.fault(NoECN, atEgress, p)
	case q.below == no:
		n.fault(Thresholds, atEgress, p)
	case q.below == maybe:
		n.miss(gapThresholds, atEgress, p)
	}
}

// vlanMTU judges the switch's own interfaces in VLANs: packets that it routes from one to another go through them.
func (j *judge) vlanMTU(n *notes, in, out *manner, p packet) {
	switch {
	case in.vlan == unknown || out.vlan == unknown:
		n.miss(gapVLAN, atEgress, p)
		return
	case in.vlan == out.vlan:
		return
	}
	for _, m := range []*manner{in, out} {
		if m.vlan > 0 {
			checkMTU(n, m.vlanMTU, gapVLANMTU, atEgress, p)
		}
	}
}

// sharesQueue judges packets that are not RoCE in an egress queue: no pause that the port obeys is to stop it.
func (j *judge) sharesQueue(n *notes, m *manner, t treat, p packet) {
	if !m.obeys || m.pfc == 0 {
		return
	}
	if m.pfc == notRead {
		n.miss(gapPFC, atEgress, p)
		return
	}
	if t.queue == unknown {
		n.miss(gapQueue, atEgress, p)
		return
	}
	missing := false
	for priority, queue := range m.stops {
		switch {
		case m.pfc.has(int8(priority)) != yes:
		case queue == t.queue:
			n.fault(j.in.roleOf(p.sent).intrusion(), atEgress, p)
			return
		case queue == unknown:
			missing = true
		}
	}
	if missing {
		n.miss(gapStops, atEgress, p)
	}
}

// rewritten is the packet behind a port; lost, where its DSCP is no longer known.
func (j *judge) rewritten(m *manner, t treat, p packet) (next packet, lost bool) {
	next = p
	next.held = t.queue
	if m.rewrite == 0 {
		return next, false
	}
	if t.class == unknown {
		return next, true
	}
	to, ok := j.rewrites[m.rewrite][t.class]
	if ok && to == unknown {
		return next, true
	}
	if ok {
		next.dscp = uint8(to)
	}
	return next, false
}
