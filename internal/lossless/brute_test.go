package lossless_test

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lossless"
)

// brute is an interpreter of its own: it sends one packet after the other along every shortest path of the network as it is
// given, port by port, and shares nothing with the package: no classes, no sets, nothing that is kept from one to the next.
type brute struct {
	net  lossless.Network
	want lossless.Intent
	far  map[string]string // "node port" to "node port"
	all  []string          // ends of NICs
}

// ride is what became of one packet on one path.
type ride struct {
	bad   map[string]bool // kind@node:port
	blank map[string]bool // what is unknown
}

func (r ride) wrong(kind lossless.Kind, at string) {
	r.bad[string(kind)+"@"+strings.Replace(at, " ", ":", 1)] = true
}
func (r ride) dunno(what, at string) { r.blank[what+"@"+at] = true }

func newBrute(n lossless.Network, want lossless.Intent) *brute {
	b := &brute{net: n, want: want, far: map[string]string{}}
	for _, c := range n.Cables {
		x, y := c.A.Node+" "+c.A.NIC, c.B.Node+" "+c.B.NIC
		if b.off(x) || b.off(y) {
			continue
		}
		b.far[x], b.far[y] = y, x
		for _, e := range []string{x, y} {
			if !b.isSwitch(e) {
				b.all = append(b.all, e)
			}
		}
	}
	return b
}

func nodeOf(end string) string { return strings.Fields(end)[0] }

func (b *brute) isSwitch(end string) bool { _, ok := b.net.Switches[nodeOf(end)]; return ok }

func (b *brute) port(end string) *fabric.PortConfig {
	s := b.net.Switches[nodeOf(end)]
	if s == nil {
		return nil
	}
	for i := range s.Ports {
		if s.Ports[i].Name == strings.Fields(end)[1] {
			return &s.Ports[i]
		}
	}
	return nil
}

func (b *brute) off(end string) bool {
	p := b.port(end)
	return p != nil && p.Up != nil && !p.Up.Is
}

func (b *brute) card(end string) lossless.NICConfig {
	f := strings.Fields(end)
	return b.net.NICs[fabric.Endpoint{Node: f[0], NIC: f[1]}]
}

// paths lists all shortest paths between two NICs, each as its ends in order.
func (b *brute) paths(from, to string) [][]string {
	front := [][]string{{from, b.far[from]}}
	for range len(b.net.Switches) {
		var done, next [][]string
		for _, path := range front {
			last := path[len(path)-1]
			for out, in := range b.far {
				if nodeOf(out) != nodeOf(last) || out == last || !b.isSwitch(out) {
					continue
				}
				longer := append(append([]string{}, path...), out, in)
				switch {
				case in == to:
					done = append(done, longer)
				case b.isSwitch(in) && !visits(path, nodeOf(in)):
					next = append(next, longer)
				}
			}
		}
		if len(done) > 0 {
			return done
		}
		front = next
	}
	return nil
}

func visits(path []string, node string) bool {
	for _, e := range path {
		if nodeOf(e) == node {
			return true
		}
	}
	return false
}

// everything sends all packets, and says what is wrong and what is unknown, of any; between how many pairs of NICs they go.
func (b *brute) everything() (total ride, sent, pairs int) {
	total = ride{map[string]bool{}, map[string]bool{}}
	for _, from := range b.all {
		for _, to := range b.all {
			if from == to {
				continue
			}
			paths := b.paths(from, to)
			if len(paths) > 0 {
				pairs++
			}
			for _, path := range paths {
				for dscp := range 64 {
					r := b.send(path, dscp)
					sent++
					for k := range r.bad {
						total.bad[k] = true
					}
					for k := range r.blank {
						total.blank[k] = true
					}
				}
			}
		}
	}
	return total, sent, pairs
}

// send sends one packet.
func (b *brute) send(path []string, dscp int) ride {
	r := ride{map[string]bool{}, map[string]bool{}}
	rdma := dscp == b.want.RoCE.DSCP
	notify := !rdma && dscp == b.want.CNP.DSCP && b.want.RoCE.ECN != nil
	intruder := lossless.OtherLossless
	if notify {
		intruder = lossless.CNPLossless
	}
	nic := b.card(path[0])
	size := 0
	if rdma {
		if nic.MTU == nil {
			r.dunno("mtu", path[0])
		} else {
			size = *nic.MTU
			if size < 4192 {
				r.wrong(lossless.SmallMTU, path[0])
			}
		}
	}
	hasTag, tagKnown := b.tagOnFirst(path[1])
	prio, prioKnown := cardPriority(nic, dscp, hasTag, tagKnown)
	if !rdma {
		b.sharing(r, nic, prio, prioKnown, intruder, path[0])
	}
	now, queue, queueKnown := dscp, prio, prioKnown // what the sender of the cable holds it in
	for i := 1; i+1 < len(path); i += 2 {
		in, out := path[i], path[i+1]
		pi, po := b.port(in), b.port(out)
		cell := b.cell(pi, now, i == 1, prio, prioKnown)
		pauses, pausesKnown, lossy := pausing(pi, cell)
		switch {
		case rdma:
			b.wide(r, pi, in, size)
			switch {
			case !pausesKnown:
				r.dunno("pause", in)
			case lossy:
				r.wrong(lossless.Lossy, in)
			case pauses < 0:
				r.wrong(lossless.NotPaused, in)
			default:
				if pauses != b.want.RoCE.Priority {
					r.wrong(lossless.OtherPriority, in)
				}
				if i == 1 {
					b.cardStops(r, nic, path[0], pauses, prio, prioKnown)
				} else {
					b.portStops(r, path[i-1], pauses, queue, queueKnown)
				}
			}
		case !pausesKnown:
			r.dunno("pause", in)
		case pauses >= 0:
			r.wrong(intruder, in)
		}
		queue, queueKnown = 0, false
		if cell != nil && cell.Queue != nil && cell.Queue.Is >= 0 && cell.Queue.Is < 8 {
			queue, queueKnown = cell.Queue.Is, true
		}
		switch {
		case rdma:
			b.wide(r, po, out, size)
			b.marking(r, po, out, queue, queueKnown)
			b.vlans(r, nodeOf(in), pi, po, out, size)
		default:
			if notify {
				strict(r, po, out, queue, queueKnown)
			}
			b.stoppable(r, po, out, queue, queueKnown, intruder)
		}
		var ok bool
		if now, ok = leavesWith(po, cell, now); !ok {
			r.dunno("rewrite", out)
			return r
		}
	}
	b.receive(r, path, now, rdma, queue, queueKnown, intruder)
	return r
}

// receive is what the NIC at the end does.
func (b *brute) receive(r ride, path []string, now int, rdma bool, queue int, queueKnown bool, intruder lossless.Kind) {
	last, out := path[len(path)-1], path[len(path)-2]
	nic, po := b.card(last), b.port(out)
	plain := false
	if v, ok := vlan(po); ok && v == 0 {
		plain = true
	}
	prio, known := cardPriority(nic, now, !plain, plain)
	if !rdma {
		b.sharing(r, nic, prio, known, intruder, last)
		return
	}
	if nic.QoS != nil && nic.QoS.Pause != nil && *nic.QoS.Pause {
		r.wrong(lossless.LinkPause, last)
		return
	}
	on, onKnown := cardPFC(nic)
	switch {
	case onKnown && len(on) == 0, onKnown && known && !on[prio]:
		r.wrong(lossless.NotPaused, last)
	case !onKnown || !known:
		r.dunno("nic", last)
	default:
		if prio != b.want.RoCE.Priority {
			r.wrong(lossless.OtherPriority, last)
		}
		b.portStops(r, out, prio, queue, queueKnown)
	}
}

func vlan(p *fabric.PortConfig) (int, bool) {
	if p == nil {
		return 0, false
	}
	if p.VLAN != nil {
		return p.VLAN.Is, true
	}
	return 0, len(p.Addresses) > 0
}

// tagOnFirst is whether packets from a NIC to a port have a tag.
func (b *brute) tagOnFirst(in string) (has, known bool) {
	p := b.port(in)
	if v, ok := vlan(p); ok && v == 0 {
		return false, true
	}
	if p == nil || p.Trust == nil {
		return false, false
	}
	switch p.Trust.Is {
	case "pcp":
		return true, true
	case "dscp", "none":
		return false, true
	}
	return false, false
}

func cardPriority(n lossless.NICConfig, dscp int, tag, tagKnown bool) (int, bool) {
	if n.QoS == nil {
		return 0, false
	}
	switch n.QoS.Trust {
	case "dscp":
		if p, ok := n.QoS.DSCP[dscp]; ok {
			return p, p >= 0 && p < 8
		}
		return 0, !n.FullMap && len(n.QoS.DSCP) > 0
	case "pcp":
		return 0, tagKnown && !tag
	}
	return 0, false
}

func cardPFC(n lossless.NICConfig) (map[int]bool, bool) {
	if n.QoS == nil || n.QoS.PFC == nil {
		return nil, false
	}
	return asSet(*n.QoS.PFC)
}

func asSet(list []int) (map[int]bool, bool) {
	m := map[int]bool{}
	for _, p := range list {
		m[p] = true
		if p < 0 || p > 7 {
			return nil, false
		}
	}
	return m, true
}

// sharing: other packets are not in a priority of a NIC that has PFC.
func (b *brute) sharing(r ride, n lossless.NICConfig, prio int, known bool, kind lossless.Kind, at string) {
	on, ok := cardPFC(n)
	if ok && len(on) == 0 {
		return
	}
	if !ok || !known {
		r.dunno("nic", at)
	} else if on[prio] {
		r.wrong(kind, at)
	}
}

// cell is the entry of the table that decides.
func (b *brute) cell(p *fabric.PortConfig, dscp int, first bool, prio int, prioKnown bool) *fabric.Treatment {
	if p == nil || p.Trust == nil {
		return nil
	}
	if p.Trust.Is == "dscp" {
		if p.DSCP == nil {
			return nil
		}
		return &p.DSCP[dscp]
	}
	if p.PCP == nil {
		return nil
	}
	v, ok := vlan(p)
	switch {
	case p.Trust.Is == "none", p.Trust.Is == "pcp" && ok && v == 0:
		return &p.PCP[0]
	case p.Trust.Is == "pcp" && first && prioKnown:
		return &p.PCP[prio]
	}
	return nil
}

// pausing is the priority of the pauses that a port sends for packets of an entry; -1: none.
func pausing(p *fabric.PortConfig, t *fabric.Treatment) (prio int, known, lossy bool) {
	if t == nil || t.Pause == nil || t.Pause.Is < -1 || t.Pause.Is > 7 {
		return 0, false, false
	}
	if t.Pause.Is == -1 {
		return -1, true, true
	}
	if p.Pauses != nil && p.Pauses.Sends != nil && !p.Pauses.Sends.Is {
		return -1, true, false
	}
	if p.PFC == nil {
		return 0, false, false
	}
	on, ok := asSet(p.PFC.Is)
	if !ok {
		return 0, false, false
	}
	if !on[t.Pause.Is] {
		return -1, true, false
	}
	return t.Pause.Is, true, false
}

func (b *brute) wide(r ride, p *fabric.PortConfig, at string, size int) {
	if p == nil || p.MTU == nil {
		r.dunno("mtu", at)
	} else if p.MTU.Is < 4192 || p.MTU.Is < size {
		r.wrong(lossless.SmallMTU, at)
	}
}

func (b *brute) cardStops(r ride, n lossless.NICConfig, at string, pause, prio int, prioKnown bool) {
	if n.QoS != nil && n.QoS.Pause != nil && *n.QoS.Pause {
		r.wrong(lossless.LinkPause, at)
		return
	}
	on, onKnown := cardPFC(n)
	if onKnown && !on[pause] {
		r.wrong(lossless.PauseIgnored, at)
	} else if prioKnown && prio != pause {
		r.wrong(lossless.PauseOther, at)
	} else if !onKnown || !prioKnown {
		r.dunno("nic", at)
	}
}

func (b *brute) portStops(r ride, at string, pause, queue int, queueKnown bool) {
	p := b.port(at)
	if p == nil {
		r.dunno("port", at)
		return
	}
	if p.Pauses != nil && p.Pauses.Obeys != nil && !p.Pauses.Obeys.Is {
		r.wrong(lossless.PauseIgnored, at)
		return
	}
	var on map[int]bool
	known := false
	if p.PFC != nil {
		on, known = asSet(p.PFC.Is)
	}
	if known && !on[pause] {
		r.wrong(lossless.PauseIgnored, at)
		return
	}
	s := p.Stops[pause]
	good := s != nil && s.Is >= -1 && s.Is < 8
	switch {
	case good && s.Is == -1, good && queueKnown && s.Is != queue:
		r.wrong(lossless.PauseOther, at)
	case !known || !good || !queueKnown:
		r.dunno("stops", at)
	}
}

func (b *brute) marking(r ride, p *fabric.PortConfig, at string, queue int, known bool) {
	if p == nil || !known || p.Queues[queue] == nil || p.Queues[queue].Marks == nil {
		r.dunno("marks", at)
		return
	}
	m := p.Queues[queue].Marks
	if m.Drops {
		r.wrong(lossless.DropsEarly, at)
		return
	}
	if b.want.RoCE.ECN == nil {
		return
	}
	if !m.ECN.Is {
		r.wrong(lossless.NoECN, at)
		return
	}
	if m.Min == nil || m.Max == nil {
		r.dunno("thresholds", at)
		return
	}
	lo, hi := *m.Min, *m.Max
	if lo.Unit == hi.Unit {
		if lo.Value >= hi.Value {
			r.wrong(lossless.Thresholds, at)
		}
		return
	}
	loLeast, loMost, ok1 := lo.Bytes()
	hiLeast, hiMost, ok2 := hi.Bytes()
	if ok1 && ok2 && loMost < hiLeast {
		return
	}
	if ok1 && ok2 && loLeast >= hiMost {
		r.wrong(lossless.Thresholds, at)
		return
	}
	r.dunno("thresholds", at)
}

// vlans: what a switch routes out of a VLAN, or into one, goes through its interface there.
func (b *brute) vlans(r ride, node string, in, out *fabric.PortConfig, at string, size int) {
	x, ok := vlan(in)
	y, ok2 := vlan(out)
	if !ok || !ok2 {
		r.dunno("vlan", at)
		return
	}
	if x == y {
		return
	}
	for _, id := range []int{x, y} {
		if id <= 0 {
			continue
		}
		mtu := -1
		if s := b.net.Switches[node]; s != nil {
			for _, v := range s.VLANs {
				if v.ID == id && v.MTU != nil {
					mtu = v.MTU.Is
				}
			}
		}
		if mtu == -1 {
			r.dunno("vlan mtu", at)
		} else if mtu < 4192 || mtu < size {
			r.wrong(lossless.SmallMTU, at)
		}
	}
}

func strict(r ride, p *fabric.PortConfig, at string, queue int, known bool) {
	if p == nil || !known || p.Queues[queue] == nil || p.Queues[queue].Algorithm == nil {
		r.dunno("scheduler", at)
		return
	}
	switch p.Queues[queue].Algorithm.Is {
	case "strict":
	case "weighted":
		r.wrong(lossless.NotStrict, at)
	default:
		r.dunno("scheduler", at)
	}
}

// stoppable: no pause that a port obeys stops the queue of other packets.
func (b *brute) stoppable(r ride, p *fabric.PortConfig, at string, queue int, known bool, kind lossless.Kind) {
	if p == nil {
		r.dunno("port", at)
		return
	}
	if p.Pauses != nil && p.Pauses.Obeys != nil && !p.Pauses.Obeys.Is {
		return
	}
	if p.PFC == nil {
		r.dunno("pfc", at)
		return
	}
	on, ok := asSet(p.PFC.Is)
	if !ok {
		r.dunno("pfc", at)
		return
	}
	if len(on) > 0 && !known {
		r.dunno("queue", at)
		return
	}
	blank, hit := false, false
	for prio := range on {
		s := p.Stops[prio]
		if s == nil || s.Is < -1 || s.Is > 7 {
			blank = true
		} else if s.Is == queue {
			hit = true
		}
	}
	if hit {
		r.wrong(kind, at)
	} else if blank {
		r.dunno("stops", at)
	}
}

func leavesWith(p *fabric.PortConfig, t *fabric.Treatment, dscp int) (int, bool) {
	if p == nil || len(p.Rewrite) == 0 {
		return dscp, true
	}
	if t == nil || t.Class == nil {
		return 0, false
	}
	to, ok := p.Rewrite[t.Class.Is]
	if !ok {
		return dscp, true
	}
	return to.Is, to.Is >= 0 && to.Is < 64
}
