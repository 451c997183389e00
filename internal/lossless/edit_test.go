package lossless_test

import (
	"math/rand/v2"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// edit changes one thing in a world.
type edit struct {
	name string
	do   func(w *world, r *rand.Rand)
}

func onPort(name string, do func(w *world, r *rand.Rand, file string, p *fabric.PortConfig)) edit {
	return edit{name, func(w *world, r *rand.Rand) {
		p := w.ports[r.IntN(len(w.ports))]
		do(w, r, w.of[p], p)
	}}
}

// likely is a DSCP: mostly one that matters.
func (w *world) likely(r *rand.Rand) int {
	return []int{w.want.RoCE.DSCP, w.want.RoCE.DSCP, w.want.CNP.DSCP, r.IntN(64)}[r.IntN(4)]
}

// onEntry changes an entry of the table that decides, of one port or of all that share it.
func onEntry(name string, do func(w *world, r *rand.Rand, file string, t *fabric.Treatment)) edit {
	return onPort(name, func(w *world, r *rand.Rand, file string, p *fabric.PortConfig) {
		if p.Trust.Is == "pcp" {
			if r.IntN(2) == 0 {
				own := *p.PCP
				p.PCP = &own
			}
			do(w, r, file, &p.PCP[[]int{w.want.RoCE.Priority, w.want.CNP.Priority, r.IntN(8), 0}[r.IntN(4)]])
			return
		}
		if r.IntN(2) == 0 {
			own := *p.DSCP
			p.DSCP = &own
		}
		do(w, r, file, &p.DSCP[w.likely(r)])
	})
}

func onQueue(name string, do func(w *world, r *rand.Rand, file string, q *fabric.QueueConfig)) edit {
	return onPort(name, func(w *world, r *rand.Rand, file string, p *fabric.PortConfig) {
		t := p.DSCP[w.likely(r)]
		own := *p.Queues[t.Queue.Is]
		p.Queues[t.Queue.Is] = &own
		do(w, r, file, &own)
	})
}

func onNIC(name string, do func(w *world, r *rand.Rand, q *fabric.QoS)) edit {
	return edit{name, func(w *world, r *rand.Rand) { do(w, r, w.net.NICs[w.nics[r.IntN(len(w.nics))]].QoS) }}
}

func list(w *world, r *rand.Rand) []int {
	return [][]int{{}, {r.IntN(8)}, {w.want.RoCE.Priority, r.IntN(8)}, {w.want.RoCE.Priority, w.want.CNP.Priority}, {0, w.want.RoCE.Priority}}[r.IntN(5)]
}

var edits = []edit{
	onEntry("queue of an entry", func(w *world, r *rand.Rand, f string, t *fabric.Treatment) { t.Queue = say(w, f, "queue", r.IntN(8)) }),
	onEntry("pause of an entry", func(w *world, r *rand.Rand, f string, t *fabric.Treatment) {
		t.Pause = say(w, f, "pause", []int{-1, w.want.RoCE.Priority, w.pfc[len(w.pfc)-1], r.IntN(8)}[r.IntN(4)])
	}),
	onPort("class of priority 0", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		own := *p.DSCP
		own[w.likely(r)].Pause = say(w, f, "pause", 0)
		p.DSCP, p.PFC, p.Stops[0] = &own, say(w, f, "pfc", append([]int{0}, w.pfc...)), say(w, f, "stops", -1)
	}),
	onEntry("class of an entry", func(w *world, r *rand.Rand, f string, t *fabric.Treatment) {
		t.Class = say(w, f, "class", dialects[r.IntN(3)].class[r.IntN(3)])
	}),
	onPort("entry like another", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		own := *p.DSCP
		own[w.likely(r)] = own[w.likely(r)]
		p.DSCP = &own
	}),
	onEntry("entry unknown", func(w *world, r *rand.Rand, f string, t *fabric.Treatment) {
		[]func(){func() { t.Queue = nil }, func() { t.Pause = nil }, func() { t.Class = nil }, func() { *t = fabric.Treatment{} }}[r.IntN(4)]()
	}),
	onPort("table unknown", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		if r.IntN(2) == 0 {
			p.DSCP = nil
		} else {
			p.PCP = nil
		}
	}),
	onPort("trust", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		p.Trust = say(w, f, "trust", []string{"dscp", "pcp", "none", "cos"}[r.IntN(4)])
	}),
	onPort("trust unknown", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) { p.Trust = nil }),
	onPort("pfc", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) { p.PFC = say(w, f, "pfc", list(w, r)) }),
	onPort("pfc unknown", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		p.PFC = []*fabric.Said[[]int]{nil, say(w, f, "pfc", []int{9})}[r.IntN(2)]
	}),
	onPort("direction of pauses", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		p.Pauses = &fabric.PFCDirections{}
		*[]**fabric.Said[bool]{&p.Pauses.Sends, &p.Pauses.Obeys}[r.IntN(2)] = say(w, f, "pauses", r.IntN(3) == 0)
	}),
	onPort("stops", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		p.Stops[[]int{w.want.RoCE.Priority, r.IntN(8)}[r.IntN(2)]] = say(w, f, "stops", r.IntN(9)-1)
	}),
	onPort("stops unknown", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		p.Stops[[]int{w.want.RoCE.Priority, r.IntN(8)}[r.IntN(2)]] = nil
	}),
	onQueue("ecn", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) {
		m := *q.Marks
		m.ECN = fabric.Said[bool]{Is: !m.ECN.Is, At: w.line(f, "ecn")}
		q.Marks = &m
	}),
	onQueue("early drops", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) {
		q.Marks = &fabric.QueueProfile{ECN: fabric.Said[bool]{At: w.line(f, "wred")}, Drops: true}
	}),
	onQueue("marks unknown", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) { q.Marks = nil }),
	onQueue("thresholds", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) {
		m := *q.Marks
		m.Min = &fabric.Threshold{Value: []float64{1000, 2000, 2040, 2048, 3000, 3e6}[r.IntN(6)], Unit: []string{"kB", "bytes", "percent"}[r.IntN(3)], At: w.line(f, "min")}
		q.Marks = &m
	}),
	onQueue("threshold unknown", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) {
		m := *q.Marks
		m.Max = nil
		q.Marks = &m
	}),
	onQueue("scheduler", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) {
		q.Algorithm = say(w, f, "algorithm", []string{"strict", "weighted", "weighted", "other"}[r.IntN(4)])
	}),
	onQueue("scheduler unknown", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) { q.Algorithm = nil }),
	onQueue("weight", func(w *world, r *rand.Rand, f string, q *fabric.QueueConfig) { q.Weight = say(w, f, "weight", 90) }),
	onPort("queue unknown", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) { p.Queues[r.IntN(8)] = nil }),
	onPort("rewrite", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		own := map[string]fabric.Said[int]{}
		for k, v := range p.Rewrite {
			own[k] = v
		}
		class := p.DSCP[w.likely(r)].Class.Is
		own[class] = fabric.Said[int]{Is: []int{w.likely(r), w.likely(r), r.IntN(64), 64}[r.IntN(4)], At: w.line(f, "rewrite")}
		p.Rewrite = own
	}),
	onPort("mtu", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		p.MTU = say(w, f, "mtu", []int{1500, 4191, 4192, 8999, 9000, 9216}[r.IntN(6)])
	}),
	onPort("mtu unknown", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) { p.MTU = nil }),
	onPort("vlan", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) {
		p.VLAN = say(w, f, "vlan", []int{0, 101, 102, 7}[r.IntN(4)])
	}),
	onPort("vlan unknown", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) { p.VLAN = nil }),
	{"mtu of a vlan", func(w *world, r *rand.Rand) {
		for _, s := range w.net.Switches {
			for i := range s.VLANs {
				s.VLANs[i].MTU = []*fabric.Said[int]{nil, say(w, s.Name, "vlan mtu", 1500), say(w, s.Name, "vlan mtu", 9000)}[r.IntN(3)]
				return
			}
		}
	}},
	onPort("shut", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) { p.Up = say(w, f, "up", false) }),
	{"switch not read", func(w *world, r *rand.Rand) { w.net.Switches[w.of[w.ports[r.IntN(len(w.ports))]]] = nil }},
	onPort("port not in the text", func(w *world, r *rand.Rand, f string, p *fabric.PortConfig) { p.Name = "other" }),
	{"cable gone", func(w *world, r *rand.Rand) {
		i := r.IntN(len(w.net.Cables))
		w.net.Cables = slices.Delete(w.net.Cables, i, i+1)
	}},
	{"cables swapped", func(w *world, r *rand.Rand) {
		a, b := &w.net.Cables[r.IntN(len(w.net.Cables))], &w.net.Cables[r.IntN(len(w.net.Cables))]
		a.B, b.B = b.B, a.B
	}},
	onNIC("nic: map", func(w *world, r *rand.Rand, q *fabric.QoS) {
		q.DSCP[w.likely(r)] = []int{w.want.RoCE.Priority, w.want.CNP.Priority, w.pfc[len(w.pfc)-1], 0, r.IntN(8), 8}[r.IntN(6)]
	}),
	onNIC("nic: entry gone", func(w *world, r *rand.Rand, q *fabric.QoS) { delete(q.DSCP, w.likely(r)) }),
	onNIC("nic: map gone", func(w *world, r *rand.Rand, q *fabric.QoS) { q.DSCP = nil }),
	onNIC("nic: trust", func(w *world, r *rand.Rand, q *fabric.QoS) { q.Trust = []string{"pcp", ""}[r.IntN(2)] }),
	onNIC("nic: pfc", func(w *world, r *rand.Rand, q *fabric.QoS) { l := list(w, r); q.PFC = &l }),
	onNIC("nic: pfc unknown", func(w *world, r *rand.Rand, q *fabric.QoS) { q.PFC = nil }),
	onNIC("nic: link pause", func(w *world, r *rand.Rand, q *fabric.QoS) { on := true; q.Pause = &on }),
	{"nic not read", func(w *world, r *rand.Rand) { delete(w.net.NICs, w.nics[r.IntN(len(w.nics))]) }},
	{"nic: mtu", func(w *world, r *rand.Rand) {
		e := w.nics[r.IntN(len(w.nics))]
		n := w.net.NICs[e]
		mtu := []int{1500, 4200, 9000, 9150, 9600}[r.IntN(5)]
		n.MTU = []*int{&mtu, nil}[r.IntN(5)/4]
		w.net.NICs[e] = n
	}},
}
