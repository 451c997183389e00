package lossless_test

import (
	"fmt"
	"math/rand/v2"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lossless"
)

// world is a random network that is lossless, to be edited.
type world struct {
	net   lossless.Network
	want  lossless.Intent
	ports []*fabric.PortConfig // with a cable
	of    map[*fabric.PortConfig]string
	nics  []fabric.Endpoint
	pfc   []int // priorities that have PFC everywhere: RoCE's, and in some worlds one in which nothing is sent
	lines int
}

func (w *world) line(file, text string) fabric.Line {
	w.lines++
	return fabric.Line{File: file, Number: w.lines, Text: fmt.Sprintf("%s (%d)", text, w.lines)}
}

func say[T any](w *world, file, text string, is T) *fabric.Said[T] {
	return &fabric.Said[T]{Is: is, At: w.line(file, fmt.Sprintf("%s %v", text, is))}
}

// dialect is how one switch names and numbers things: queues differ between switches, priorities do not.
type dialect struct {
	class [3]string // of other packets, RoCE, notifications
	queue [3]int
}

var dialects = []dialect{
	{[3]string{"0", "3", "7"}, [3]int{0, 3, 7}},
	{[3]string{"best-effort", "NO-LOSS", "CNP"}, [3]int{0, 4, 3}},
	{[3]string{"1", "5", "6"}, [3]int{1, 5, 6}},
}

func newWorld(r *rand.Rand) *world {
	w := &world{of: map[*fabric.PortConfig]string{}}
	dscps, priorities := r.Perm(63), r.Perm(7)
	w.want.RoCE = fabric.TrafficClass{Name: "roce", DSCP: dscps[0] + 1, Priority: priorities[0] + 1, Lossless: true, ECN: &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}}
	w.want.CNP = fabric.TrafficClass{Name: "cnp", DSCP: dscps[1] + 1, Priority: priorities[1] + 1}
	if r.IntN(8) == 0 {
		w.want.RoCE.ECN = nil
	}
	if w.pfc = []int{w.want.RoCE.Priority}; r.IntN(3) == 0 {
		w.pfc = append(w.pfc, priorities[2]+1)
	}
	hosts, leaves, spines := 2+r.IntN(2), 1+r.IntN(2), r.IntN(3)
	w.net = lossless.Network{Switches: map[string]*fabric.SwitchConfig{}, NICs: map[fabric.Endpoint]lossless.NICConfig{}}
	for i := range leaves {
		w.addSwitch(r, fmt.Sprintf("leaf%d", i+1), hosts*2+spines*2, r.IntN(3) == 0)
	}
	for i := range spines {
		w.addSwitch(r, fmt.Sprintf("spine%d", i+1), leaves*2, false)
	}
	used := map[string]int{}
	next := func(node string) fabric.Endpoint {
		used[node]++
		return fabric.Endpoint{Node: node, NIC: fmt.Sprintf("p%d", used[node])}
	}
	for h := range hosts {
		for n := range 2 {
			nic := fabric.Endpoint{Node: fmt.Sprintf("host%d", h+1), NIC: fmt.Sprintf("eth%d", n+1)}
			w.nics = append(w.nics, nic)
			w.net.NICs[nic] = w.newNIC(r)
			w.net.Cables = append(w.net.Cables, lossless.Cable{A: nic, B: next(fmt.Sprintf("leaf%d", n%leaves+1))})
		}
	}
	for l := range leaves {
		for s := range spines {
			for range 1 + r.IntN(2) {
				w.net.Cables = append(w.net.Cables, lossless.Cable{A: next(fmt.Sprintf("spine%d", s+1)), B: next(fmt.Sprintf("leaf%d", l+1))})
			}
		}
	}
	w.plug(r)
	return w
}

// plug makes ports to other switches routed, and lists those with a cable.
func (w *world) plug(r *rand.Rand) {
	for _, c := range w.net.Cables {
		for _, e := range []fabric.Endpoint{c.A, c.B} {
			s := w.net.Switches[e.Node]
			if s == nil {
				continue
			}
			for i := range s.Ports {
				if p := &s.Ports[i]; p.Name == e.NIC {
					w.ports, w.of[p] = append(w.ports, p), e.Node
					if _, toNIC := w.net.NICs[c.A]; !toNIC {
						p.VLAN = say(w, e.Node, "routed", 0)
						p.Trust = say(w, e.Node, "trust", "dscp")
					}
				}
			}
		}
	}
}

func (w *world) newNIC(r *rand.Rand) lossless.NICConfig {
	mtu, off := 9000, false
	q := &fabric.QoS{Trust: "dscp", DSCP: fabric.DSCPPriorities{w.want.RoCE.DSCP: w.want.RoCE.Priority, w.want.CNP.DSCP: w.want.CNP.Priority},
		PFC: &w.pfc, Sources: []string{"qos tool"}}
	if r.IntN(2) == 0 {
		q.Pause = &off
	}
	full := r.IntN(2) == 0
	if full {
		for d := range 64 {
			if _, ok := q.DSCP[d]; !ok {
				q.DSCP[d] = 0
			}
		}
	}
	return lossless.NICConfig{QoS: q, FullMap: full, MTU: &mtu}
}

func (w *world) addSwitch(r *rand.Rand, name string, ports int, vlans bool) {
	d := dialects[r.IntN(len(dialects))]
	s := &fabric.SwitchConfig{Name: name}
	if vlans {
		for v := 101; v <= 102; v++ {
			s.VLANs = append(s.VLANs, fabric.VLANConfig{ID: v, MTU: say(w, name, "vlan mtu", 9100)})
		}
	}
	byDSCP, byPCP := w.tables(name, d)
	pcp := vlans && r.IntN(2) == 0
	rewrites := r.IntN(3) == 0
	for i := range ports {
		p := fabric.PortConfig{Name: fmt.Sprintf("p%d", i+1), At: w.line(name, "port"), DSCP: byDSCP, PCP: byPCP,
			MTU: say(w, name, "mtu", 9100+100*r.IntN(2)), Trust: say(w, name, "trust", "dscp"), VLAN: say(w, name, "vlan", 0)}
		if vlans {
			p.VLAN = say(w, name, "vlan", 101+i%2)
		}
		if pcp {
			p.Trust = say(w, name, "trust", "pcp")
		}
		p.PFC = say(w, name, "pfc", w.pfc)
		for prio := range 8 {
			p.Stops[prio] = say(w, name, fmt.Sprintf("pfc %d stops queue", prio), d.queue[0])
		}
		for _, prio := range w.pfc {
			p.Stops[prio] = say(w, name, "pfc stops queue", d.queue[1])
		}
		for q := range 8 {
			p.Queues[q] = &fabric.QueueConfig{Algorithm: say(w, name, fmt.Sprintf("queue %d", q), "weighted"), Weight: say(w, name, "weight", 50),
				Marks: &fabric.QueueProfile{ECN: fabric.Said[bool]{At: w.line(name, "no ecn")}}}
		}
		p.Queues[d.queue[2]].Algorithm = say(w, name, "queue", "strict")
		p.Queues[d.queue[1]].Marks = &fabric.QueueProfile{ECN: fabric.Said[bool]{Is: true, At: w.line(name, "ecn")},
			Min: &fabric.Threshold{Value: 1024, Unit: "kB", At: w.line(name, "min")}, Max: &fabric.Threshold{Value: 2048, Unit: "kB", At: w.line(name, "max")}}
		if rewrites {
			p.Rewrite = map[string]fabric.Said[int]{d.class[1]: {Is: w.want.RoCE.DSCP, At: w.line(name, "rewrite")}, d.class[2]: {Is: w.want.CNP.DSCP, At: w.line(name, "rewrite")}}
		}
		s.Ports = append(s.Ports, p)
	}
	w.net.Switches[name] = s
}

func (w *world) tables(name string, d dialect) (*[64]fabric.Treatment, *[8]fabric.Treatment) {
	entry := func(kind, pause int, key string) fabric.Treatment {
		return fabric.Treatment{Class: say(w, name, key+" class", d.class[kind]), Queue: say(w, name, key+" queue", d.queue[kind]), Pause: say(w, name, key+" pause", pause)}
	}
	kind := func(x, roce, cnp int) (int, int) {
		switch x {
		case roce:
			return 1, w.want.RoCE.Priority
		case cnp:
			return 2, -1
		}
		return 0, -1
	}
	var byDSCP [64]fabric.Treatment
	var byPCP [8]fabric.Treatment
	for i := range byDSCP {
		k, pause := kind(i, w.want.RoCE.DSCP, w.want.CNP.DSCP)
		byDSCP[i] = entry(k, pause, fmt.Sprintf("dscp %d", i))
	}
	for i := range byPCP {
		k, pause := kind(i, w.want.RoCE.Priority, w.want.CNP.Priority)
		byPCP[i] = entry(k, pause, fmt.Sprintf("pcp %d", i))
	}
	return &byDSCP, &byPCP
}
