package lossless

import (
	"fmt"
	"math/bits"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// step is a packet on its way through a switch, or into a NIC.
type step struct {
	in, out int32 // ends; out is none where the way ends
	p       packet
	t       treat
	paused  int8
}

// follow follows a packet that a NIC sends along a trail; ok is false where its DSCP gets lost on the way.
func (k *walker) follow(t trail, sent uint8) (steps []step, ok bool) {
	var p packet
	for _, x := range k.judge.sets.sets[k.emission(k.w.ends[t[0]].class, k.w.ends[t[1]].class)] {
		if x.sent == sent {
			p = x
		}
	}
	for i := 1; i < len(t); i += 2 {
		s := step{in: t[i], out: none, p: p, t: untreated(), paused: unknown}
		if k.w.ends[s.in].node != none {
			m := &k.ports[k.w.ends[s.in].class]
			s.t = k.treatment(m, i == 1, p)
			s.paused = pausedIn(m, s.t.pause)
		}
		if i+1 < len(t) {
			s.out = t[i+1]
			lost := false
			if p, lost = k.rewritten(&k.ports[k.w.ends[s.out].class], s.t, p); lost && i+2 < len(t) {
				return nil, false
			}
		}
		steps = append(steps, s)
	}
	return steps, true
}

// has reports whether the last hop of a way has a fault.
func (k *walker) has(n note, steps []step) bool {
	s := steps[len(steps)-1]
	var list notes
	from, set := k.w.classOf(k.w.ends[s.in].peer), k.judge.sets.number([]packet{s.p})
	key := arrivalKey{from: from, to: k.w.ends[s.in].class, set: set}
	switch {
	case k.w.ends[s.in].node == none:
		list = k.deliver(key)
	case n.spot == atEgress:
		list = k.depart(k.arrive(key), k.w.ends[s.out].class).notes
	default:
		list = k.arrive(key).notes
	}
	for _, x := range list {
		if x.kind == n.kind && x.spot == n.spot {
			return true
		}
	}
	return false
}

// explain writes a fault as counterexamples: one for each line that is to blame.
func (k *walker) explain(f *found) []Counterexample {
	var out []Counterexample
	byLine := map[fabric.Line]int{}
	for about := f.about; about != 0; about &= about - 1 {
		dscp := bits.TrailingZeros64(about)
		steps, ok := k.follow(f.trail, uint8(dscp))
		if !ok || !k.has(f.note, steps) {
			continue
		}
		c := k.counterexample(f, steps)
		line := c.Hops[len(c.Hops)-1].Line
		if i, ok := byLine[line]; ok {
			out[i].DSCPs = append(out[i].DSCPs, dscp)
			continue
		}
		byLine[line] = len(out)
		c.DSCPs = []int{dscp}
		out = append(out, c)
	}
	return out
}

func (k *walker) counterexample(f *found, steps []step) Counterexample {
	c := Counterexample{Kind: f.note.kind, Packet: k.packet(steps[0], f.trail[0])}
	if f.to != none {
		c.Packet.To = k.w.ends[f.to].at
	}
	c.Hops = k.hops(f.trail[0], steps)
	blamed := k.blame(f.note, steps)
	if last := &c.Hops[len(c.Hops)-1]; last.At == blamed.At && strings.HasSuffix(last.Does, blamed.Does) {
		last.Line = blamed.Line // of all that this hop has to say, the part that is wrong
	} else {
		c.Hops = append(c.Hops, blamed)
	}
	c.Why = fmt.Sprintf("%s: %s %s.", blamed.At, packetWords(k.in, steps[0].p), whyWords[f.note.kind])
	return c
}

func (k *walker) packet(first step, from int32) Packet {
	p := Packet{DSCP: int(first.p.sent), PCP: none, From: k.w.ends[from].at}
	if tagged(&k.ports[k.w.ends[first.in].class]) == yes {
		p.PCP = int(first.p.held)
	}
	return p
}

func packetWords(in Intent, p packet) string {
	name := map[role]string{roce: "RoCE", cnp: "congestion notifications", other: "a packet that is not RoCE"}[in.roleOf(p.sent)]
	if p.sent == p.dscp {
		return fmt.Sprintf("%s (DSCP %d)", name, p.sent)
	}
	return fmt.Sprintf("%s (sent with DSCP %d)", name, p.sent)
}

// hops writes a way: what the NIC, each port by which the packet comes in and each by which it leaves do.
func (k *walker) hops(from int32, steps []step) []Hop {
	hops := []Hop{k.nicHop(from, steps[0].p, "sends DSCP %d")}
	for _, s := range steps {
		e := &k.w.ends[s.in]
		if e.node == none {
			hops = append(hops, k.nicHop(s.in, s.p, "takes DSCP %d"))
			continue
		}
		entry := k.entry(s)
		hops = append(hops, Hop{At: e.at, Line: lineOf(entry.Queue, lineOf(entry.Pause, lineOf(entry.Class, fabric.Line{}))), Does: fmt.Sprintf("DSCP %d comes in: %s", s.p.dscp, treatWords(entry))})
		if s.out != none {
			hops = append(hops, k.outHop(s, entry))
		}
	}
	return hops
}

func (k *walker) nicHop(at int32, p packet, does string) Hop {
	q := k.w.network.NICs[k.w.ends[at].at].QoS
	h := Hop{At: k.w.ends[at].at, Does: fmt.Sprintf(does, p.dscp)}
	if q == nil {
		h.Does += "; what else it does was not read"
		return h
	}
	h.Line.File = strings.Join(q.Sources, ", ")
	switch priority, ok := q.DSCP[int(p.dscp)]; {
	case q.Trust == "pcp":
		h.Line.Text = "trust pcp"
	case ok:
		h.Line.Text = fmt.Sprintf("DSCP %d in priority %d", p.dscp, priority)
	default:
		h.Line.Text = fmt.Sprintf("DSCP %d is not in its map", p.dscp)
	}
	return h
}

func (k *walker) outHop(s step, entry fabric.Treatment) Hop {
	e := &k.w.ends[s.out]
	h := Hop{At: e.at}
	if c := e.config; c != nil {
		h.Line = c.At
		if to, ok := rewriteOf(c, entry); ok {
			h.Line, h.Does = to.At, fmt.Sprintf("gets DSCP %d, ", to.Is)
		}
	}
	if s.t.queue == unknown {
		h.Does += "leaves by a queue that is unknown"
		return h
	}
	h.Does += fmt.Sprintf("leaves by queue %d", s.t.queue)
	if e.config == nil || e.config.Queues[s.t.queue] == nil {
		return h
	}
	line, does := queueWords(e.config.Queues[s.t.queue], k.in.roleOf(s.p.sent))
	h.Does += does
	if _, rewritten := rewriteOf(e.config, entry); !rewritten && does != "" {
		h.Line = line
	}
	return h
}

// queueWords is what counts of a queue for a packet: for RoCE whether it marks, else how it is scheduled.
func queueWords(q *fabric.QueueConfig, r role) (fabric.Line, string) {
	switch {
	case r == roce && q.Marks != nil && q.Marks.ECN.Is:
		return q.Marks.ECN.At, ", which marks"
	case r == roce && q.Marks != nil:
		return q.Marks.ECN.At, ", which does not mark"
	case r != roce && q.Algorithm != nil:
		return q.Algorithm.At, ", " + q.Algorithm.Is
	}
	return fabric.Line{}, ""
}

func rewriteOf(c *fabric.PortConfig, t fabric.Treatment) (to fabric.Said[int], ok bool) {
	if t.Class != nil {
		to, ok = c.Rewrite[t.Class.Is]
	}
	return to, ok
}

// entry is the entry of a port's table that a packet meets.
func (k *walker) entry(s step) fabric.Treatment {
	c, m := k.w.ends[s.in].config, &k.ports[k.w.ends[s.in].class]
	switch {
	case c == nil:
	case m.trust == trustDSCP && c.DSCP != nil:
		return c.DSCP[s.p.dscp]
	case c.PCP == nil:
	case m.trust == trustNone || m.trust == trustPCP && m.vlan == 0:
		return c.PCP[0]
	case m.trust == trustPCP && k.w.beyond[s.in] == none && s.p.held >= 0:
		return c.PCP[s.p.held]
	}
	return fabric.Treatment{}
}

func treatWords(t fabric.Treatment) string {
	var out []string
	if t.Class != nil {
		out = append(out, "class "+t.Class.Is)
	}
	if t.Queue != nil {
		out = append(out, fmt.Sprintf("queue %d", t.Queue.Is))
	}
	switch {
	case t.Pause == nil:
		out = append(out, "its pauses are unknown")
	case t.Pause.Is < 0:
		out = append(out, "no pauses: it is dropped when buffers are full")
	default:
		out = append(out, fmt.Sprintf("pauses of priority %d", t.Pause.Is))
	}
	return strings.Join(out, ", ")
}

func lineOf[T any](s *fabric.Said[T], or fabric.Line) fabric.Line {
	if s == nil {
		return or
	}
	return s.At
}
