package lossless

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// whyWords say what is wrong, behind the packet.
var whyWords = map[Kind]string{
	Lossy:         "is in a lossy class: it is dropped when buffers are full",
	NotPaused:     "is in a priority for which no pauses are sent: it is dropped when buffers are full",
	OtherPriority: "is paused in another priority than the plan has",
	PauseIgnored:  "goes on to be sent while the next hop pauses it: it is dropped there",
	PauseOther:    "is in a queue that the pauses of the next hop do not stop: it is dropped there",
	LinkPause:     "meets a NIC that pauses its link as a whole, and obeys no pause of a priority",
	NoECN:         "is not marked (ECN): nothing slows its senders down before they are paused",
	DropsEarly:    "is dropped before the queue is full",
	Thresholds:    "is not marked as it is to be: the ECN minimum is not below the maximum",
	NotStrict:     "wait behind other queues: senders slow down late",
	CNPLossless:   "are where pauses stop them: they are to end what causes the pauses",
	OtherLossless: "is treated as lossless: it fills the buffers of RoCE, and is paused with it",
	SmallMTU:      "can be larger than what goes through here",
	CyclicPauses:  "is one of those that can wait for each other in a circle of pauses: nothing moves any more",
}

// blame is the line that is to blame for a fault at the last step of a way.
func (k *walker) blame(n note, steps []step) Hop {
	s := steps[len(steps)-1]
	e := &k.w.ends[s.in]
	switch {
	case n.spot == atEgress:
		return k.blameEgress(n.kind, s)
	case n.spot == atSender:
		return k.blameSender(n.kind, s)
	case e.node == none:
		return k.blameNIC(n.kind, s.in, s.p)
	}
	c, entry := e.config, k.entry(s)
	h := Hop{At: e.at, Line: lineOf(entry.Pause, fabric.Line{}), Does: treatWords(entry)}
	switch n.kind {
	case NotPaused:
		if c.Pauses != nil && c.Pauses.Sends != nil && !c.Pauses.Sends.Is {
			h.Line, h.Does = c.Pauses.Sends.At, "sends no pauses"
		} else {
			h.Line, h.Does = c.PFC.At, pfcWords(c.PFC.Is)
		}
	case SmallMTU:
		h.Line, h.Does = c.MTU.At, fmt.Sprintf("MTU %d", c.MTU.Is)
	}
	return h
}

// blameNIC is what a NIC says that is to blame.
func (k *walker) blameNIC(kind Kind, at int32, p packet) Hop {
	nic := k.w.network.NICs[k.w.ends[at].at]
	h := Hop{At: k.w.ends[at].at}
	if nic.QoS != nil {
		h.Line.File = strings.Join(nic.QoS.Sources, ", ")
	}
	switch kind {
	case SmallMTU:
		h.Line.Text = fmt.Sprintf("MTU %d", *nic.MTU)
	case LinkPause:
		h.Line.Text = "global pause on"
	case OtherPriority, PauseOther:
		h.Line.Text = k.nicHop(at, p, "%d").Line.Text
	default:
		h.Line.Text = pfcWords(*nic.QoS.PFC)
	}
	h.Does = h.Line.Text
	if kind == CNPLossless || kind == OtherLossless {
		h.Does += ": a pause of a priority stops all that is in it"
	}
	return h
}

// blameSender is what the far end of the cable does wrong with the pauses of the end at hand.
func (k *walker) blameSender(kind Kind, s step) Hop {
	at := k.w.ends[s.in].peer
	e := &k.w.ends[at]
	if e.node == none {
		return k.blameNIC(kind, at, s.p)
	}
	pause := s.paused
	if k.w.ends[s.in].node == none {
		pause = k.nics[k.w.ends[s.in].class].priorityAt(s.p.dscp, untagged(&k.ports[e.class]))
	}
	c := e.config
	if kind == PauseOther {
		stops := c.Stops[pause]
		does := fmt.Sprintf("a pause of priority %d stops queue %d, the packet is in queue %d", pause, stops.Is, s.p.held)
		if stops.Is < 0 {
			does = fmt.Sprintf("a pause of priority %d stops no queue", pause)
		}
		return Hop{At: e.at, Line: stops.At, Does: does}
	}
	if c.Pauses != nil && c.Pauses.Obeys != nil && !c.Pauses.Obeys.Is {
		return Hop{At: e.at, Line: c.Pauses.Obeys.At, Does: fmt.Sprintf("obeys no pauses, and the far end sends those of priority %d", pause)}
	}
	return Hop{At: e.at, Line: c.PFC.At, Does: fmt.Sprintf("%s, and the far end sends pauses of priority %d", pfcWords(c.PFC.Is), pause)}
}

// blameEgress is what is wrong at the port by which a packet leaves.
func (k *walker) blameEgress(kind Kind, s step) Hop {
	e := &k.w.ends[s.out]
	c, m := e.config, &k.ports[e.class]
	if kind == SmallMTU {
		return k.blameMTU(s)
	}
	if kind == CNPLossless || kind == OtherLossless {
		for priority, queue := range m.stops {
			if m.pfc.has(int8(priority)) == yes && queue == s.t.queue {
				return Hop{At: e.at, Line: c.Stops[priority].At, Does: fmt.Sprintf("a pause of priority %d stops queue %d, which this packet is in", priority, queue)}
			}
		}
	}
	q := c.Queues[s.t.queue]
	switch kind {
	case NotStrict:
		return Hop{At: e.at, Line: q.Algorithm.At, Does: fmt.Sprintf("queue %d, %s", s.t.queue, q.Algorithm.Is)}
	case Thresholds:
		return Hop{At: e.at, Line: q.Marks.Min.At, Does: fmt.Sprintf("marks from %g %s, always from %g %s", q.Marks.Min.Value, q.Marks.Min.Unit, q.Marks.Max.Value, q.Marks.Max.Unit)}
	case DropsEarly:
		return Hop{At: e.at, Line: q.Marks.ECN.At, Does: fmt.Sprintf("queue %d drops early", s.t.queue)}
	}
	return Hop{At: e.at, Line: q.Marks.ECN.At, Does: fmt.Sprintf("queue %d, which does not mark", s.t.queue)}
}

// blameMTU is the MTU that is too small: of the port, or of the switch's interface in a VLAN at either side.
func (k *walker) blameMTU(s step) Hop {
	e := &k.w.ends[s.out]
	from := &k.w.ends[s.in]
	in, out := &k.ports[from.class], &k.ports[e.class]
	small := func(mtu int32) bool { return mtu != unknown && (mtu < minMTU || mtu < s.p.mtu) }
	if small(out.mtu) {
		return Hop{At: e.at, Line: e.config.MTU.At, Does: fmt.Sprintf("MTU %d", e.config.MTU.Is)}
	}
	vlan := vlanOf(e.config)
	if in.vlan > 0 && small(in.vlanMTU) {
		vlan = vlanOf(from.config)
	}
	_, vlans := portsByName(k.w.network.Switches[e.at.Node])
	v := vlans[int(vlan)]
	return Hop{At: e.at, Line: v.MTU.At, Does: fmt.Sprintf("routed by the interface of VLAN %d with MTU %d", v.ID, v.MTU.Is)}
}

func pfcWords(list []int) string {
	if len(list) == 0 {
		return "PFC on no priority"
	}
	words := make([]string, len(list))
	for i, p := range slices.Sorted(slices.Values(list)) {
		words[i] = fmt.Sprint(p)
	}
	return "PFC on priority " + strings.Join(words, ", ")
}

// circle writes a circle of pauses: at each cable the line by which the priority is paused there.
func (k *walker) circle(circle []channel, t trail, sent uint8, to int32) Counterexample {
	c := Counterexample{Kind: CyclicPauses, Places: len(circle)}
	steps, ok := k.follow(t, sent)
	if ok {
		c.Packet = k.packet(steps[0], t[0])
		c.DSCPs = []int{c.Packet.DSCP}
	}
	if to != none {
		c.Packet.To = k.w.ends[to].at
	}
	for _, x := range circle {
		e := &k.w.ends[x.in()]
		h := Hop{At: e.at, Does: fmt.Sprintf("pauses %s in priority %d until its own buffers empty", k.w.far(x.in()).at, x.priority())}
		if e.config != nil && e.config.PFC != nil {
			h.Line = e.config.PFC.At
		}
		c.Hops = append(c.Hops, h)
		c.Switches = append(c.Switches, e.at.Node)
	}
	slices.Sort(c.Switches)
	c.Switches = slices.Compact(c.Switches)
	c.Why = fmt.Sprintf("%s: a packet with DSCP %d %s.", c.Hops[0].At, c.Packet.DSCP, whyWords[CyclicPauses])
	return c
}
