package lossless

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Values of what is known of a number: a number, none, or nothing.
const (
	none    = -1
	unknown = -2
)

// known is what is known of a yes or no.
type known int8

const (
	maybe known = iota
	no
	yes
)

func number(s *fabric.Said[int], least, most int) int8 {
	if s == nil || s.Is < least || s.Is > most {
		return unknown
	}
	return int8(s.Is)
}

// What decides how a port treats a packet.
const (
	trustUnknown = iota
	trustDSCP
	trustPCP
	trustNone
)

// priorities is a set of priorities, or that it is unknown.
type priorities uint16

const notRead priorities = 1 << 8

func prioritySet(list []int) priorities {
	var p priorities
	for _, n := range list {
		if n < 0 || n > 7 {
			return notRead
		}
		p |= 1 << n
	}
	return p
}

func (p priorities) has(n int8) known {
	switch {
	case p == notRead:
		return maybe
	case n == unknown && p != 0:
		return maybe
	case n >= 0 && p&(1<<n) != 0:
		return yes
	}
	return no
}

// manner is how a port treats packets, without the lines that say so. Ports of one manner are one class.
type manner struct {
	trust     int8
	dscp, pcp int32 // numbers of tables; none: not known
	pfc       priorities
	sends     bool // pauses, where PFC is on
	obeys     bool
	stops     [8]int8
	queues    [8]queueManner
	rewrite   int32 // number of the table; 0: packets keep their DSCP
	mtu       int32
	vlan      int32 // 0: the port is routed; VLANs are counted switch by switch, so that ports of many are alike
	vlanMTU   int32 // of the switch's own interface in it
}

// queueManner is how a queue treats packets.
type queueManner struct {
	strict known
	read   bool // how it marks or drops
	ecn    bool
	drops  bool
	below  known // minimum below maximum
}

// treat is what a port does with a packet that comes in.
type treat struct {
	class        int32 // number of the class's name
	queue, pause int8
}

// untreated is a packet of which nothing is known.
func untreated() treat { return treat{class: unknown, queue: unknown, pause: unknown} }

// manners numbers the classes of ports and NICs, and what they are made of.
type manners struct {
	ports    []manner
	byPort   map[manner]int32
	nics     []nicManner
	byNIC    map[nicManner]int32
	tables   [][]treat
	byTable  map[[64]treat]int32
	seen     map[any]int32 // tables that many ports share, by pointer
	names    map[string]int32
	rewrites []map[int32]int8
	byText   map[string]int32
}

func newManners() *manners {
	return &manners{byPort: map[manner]int32{}, byNIC: map[nicManner]int32{}, byTable: map[[64]treat]int32{}, seen: map[any]int32{},
		names: map[string]int32{}, rewrites: []map[int32]int8{nil}, byText: map[string]int32{}}
}

// port numbers the class of a port. c is nil where its switch's text says nothing of it; counted are the VLANs of its switch
// that were seen, with 0.
func (m *manners) port(c *fabric.PortConfig, vlans map[int]*fabric.VLANConfig, counted map[int32]int32) int32 {
	p := manner{dscp: none, pcp: none, pfc: notRead, mtu: unknown, vlan: unknown, vlanMTU: unknown, sends: true, obeys: true}
	for i := range p.stops {
		p.stops[i] = unknown
	}
	if c != nil {
		m.fill(&p, c)
		id := vlanOf(c)
		if v := vlans[int(id)]; id > 0 && v != nil && v.MTU != nil {
			p.vlanMTU = bytes(v.MTU.Is)
		}
		if p.vlan = id; id != unknown {
			if _, ok := counted[id]; !ok {
				counted[id] = int32(len(counted))
			}
			p.vlan = counted[id]
		}
	}
	return numbered(m.byPort, &m.ports, p)
}

func numbered[T comparable](by map[T]int32, list *[]T, x T) int32 {
	n, ok := by[x]
	if !ok {
		n = int32(len(*list))
		by[x], *list = n, append(*list, x)
	}
	return n
}

func (m *manners) fill(p *manner, c *fabric.PortConfig) {
	if c.Trust != nil {
		p.trust = int8(slices.Index([]string{"", "dscp", "pcp", "none"}, c.Trust.Is))
		p.trust = max(p.trust, trustUnknown)
	}
	if c.DSCP != nil {
		p.dscp = m.table(c.DSCP, c.DSCP[:])
	}
	if c.PCP != nil {
		p.pcp = m.table(c.PCP, c.PCP[:])
	}
	if c.PFC != nil {
		p.pfc = prioritySet(c.PFC.Is)
	}
	if d := c.Pauses; d != nil { // a direction of which nothing is said is as PFC has it
		p.sends, p.obeys = d.Sends == nil || d.Sends.Is, d.Obeys == nil || d.Obeys.Is
	}
	for i, s := range c.Stops {
		p.stops[i] = number(s, none, 7)
	}
	for i, q := range c.Queues {
		p.queues[i] = mannerOfQueue(q)
	}
	p.rewrite = m.rewriteTable(c.Rewrite)
	if c.MTU != nil {
		p.mtu = bytes(c.MTU.Is)
	}
}

// bytes is an MTU as any text may have it.
func bytes(n int) int32 { return int32(max(0, min(n, 1<<30))) }

// vlanOf is the VLAN of a port's packets without a tag; 0 where it is routed. A port with an address is.
func vlanOf(c *fabric.PortConfig) int32 {
	switch {
	case c.VLAN != nil && c.VLAN.Is >= 0 && c.VLAN.Is < 4095: // IEEE 802.1Q, 9.6
		return int32(c.VLAN.Is)
	case c.VLAN != nil:
	case len(c.Addresses) > 0:
		return 0
	}
	return unknown
}

func mannerOfQueue(q *fabric.QueueConfig) queueManner {
	var out queueManner
	if q == nil {
		return out
	}
	if q.Algorithm != nil {
		switch q.Algorithm.Is {
		case "strict":
			out.strict = yes
		case "weighted":
			out.strict = no
		}
	}
	if p := q.Marks; p != nil {
		out.read, out.ecn, out.drops = true, p.ECN.Is, p.Drops
		if out.below = below(p.Min, p.Max); p.Fixed { // there are no two lengths that could be the wrong way round
			out.below = yes
		}
	}
	return out
}

// below reports whether a minimum is below its maximum, as far as units allow to tell.
func below(least, most *fabric.Threshold) known {
	if least == nil || most == nil {
		return maybe
	}
	if least.Unit == most.Unit {
		if least.Value < most.Value {
			return yes
		}
		return no
	}
	a, b, ok := least.Bytes()
	c, d, ok2 := most.Bytes()
	switch {
	case !ok || !ok2:
		return maybe
	case b < c:
		return yes
	case a >= d:
		return no
	}
	return maybe
}

// table numbers a table by its content; a pointer that was seen before is not looked into again.
func (m *manners) table(pointer any, entries []fabric.Treatment) int32 {
	if n, ok := m.seen[pointer]; ok {
		return n
	}
	var t [64]treat
	for i := range t {
		t[i] = untreated()
	}
	for i, e := range entries {
		t[i].queue, t[i].pause = number(e.Queue, 0, 7), number(e.Pause, none, 7)
		if e.Class != nil {
			t[i].class = m.name(e.Class.Is)
		}
	}
	n, ok := m.byTable[t]
	if !ok {
		n = int32(len(m.tables))
		m.byTable[t], m.tables = n, append(m.tables, slices.Clone(t[:]))
	}
	m.seen[pointer] = n
	return n
}

func (m *manners) name(class string) int32 {
	n, ok := m.names[class]
	if !ok {
		n = int32(len(m.names))
		m.names[class] = n
	}
	return n
}

func (m *manners) rewriteTable(r map[string]fabric.Said[int]) int32 {
	if len(r) == 0 {
		return 0
	}
	table, text := make(map[int32]int8, len(r)), make([]string, 0, len(r))
	for class, to := range r {
		n := number(&to, 0, 63)
		table[m.name(class)] = n
		text = append(text, class+"\x00"+string(rune(n+3)))
	}
	slices.Sort(text)
	key := strings.Join(text, "\x01")
	n, ok := m.byText[key]
	if !ok {
		n = int32(len(m.rewrites))
		m.byText[key], m.rewrites = n, append(m.rewrites, table)
	}
	return n
}
