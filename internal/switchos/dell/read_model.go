package dell

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Defaults of the OS, with the source of each.
const (
	noDSCP   = "default: a value that the map leaves out is in traffic class 0 (Broadcom SONiC 4.1 RoCEv2 HLD, 2.2.7)"
	noTrust  = "default: no dscp-tc and no dot1p-tc map on the port: all packets are in traffic class 0 (SAI, saiswitch.h, QOS_DEFAULT_TC)"
	noQueues = "default: no tc-queue map on the port: all packets go to queue 0 (SAI, saiport.h, QOS_TC_TO_QUEUE_MAP)"
	noGroups = "default: no tc-pg map on the port: all packets are in priority group 7 (Broadcom SONiC 4.1 RoCEv2 HLD, 2.2.2.1)"
	noGroup  = "default: a class that the tc-pg map leaves out is in priority group 0 or 7, and neither has PFC on the port"
	noPFC    = "default: priority-flow-control is off for a priority that is not named on the port"
	noDog    = "default: the PFC watchdog is off without priority-flow-control watchdog on"
	noWRED   = "default: a queue without wred-policy marks nothing and drops nothing early"
	dellMTU  = "default: 9100 (Dell Enterprise SONiC, examples of dellemc.enterprise_sonic)"
)

// model makes the model of what was read. Equal tables are made once.
type model struct {
	r        *reader
	dscp     map[tableKey]*[64]fabric.Treatment
	pcp      map[tableKey]*[8]fabric.Treatment
	profiles map[string]*fabric.QueueProfile
	queues   map[queueKey][8]*fabric.QueueConfig
	rewrites map[string]map[string]fabric.Said[int]
	none     *fabric.QueueProfile
}

// tableKey is all that decides what a port does with packets.
type tableKey struct {
	maps     [mapCount]string
	pfc      uint8
	known    bool // what is not said has the default
	pfcKnown bool
}

type queueKey struct {
	sched string
	wred  [8]string
	known bool
}

// finish turns what was read into the model, and names what is wrong with it as a whole.
func (r *reader) finish() {
	m := &model{
		r: r, dscp: make(map[tableKey]*[64]fabric.Treatment), pcp: make(map[tableKey]*[8]fabric.Treatment),
		profiles: make(map[string]*fabric.QueueProfile), queues: make(map[queueKey][8]*fabric.QueueConfig),
		rewrites: make(map[string]map[string]fabric.Said[int]),
		none:     &fabric.QueueProfile{ECN: fabric.Said[bool]{At: fabric.Line{Text: noWRED}}},
	}
	for _, w := range r.wredOrder {
		p := profile(w)
		m.profiles[w.name] = p
		r.out.Profiles = append(r.out.Profiles, *p)
	}
	for _, p := range r.portOrder {
		if b := r.ports[p.group]; b != nil { // a member of a port channel has what the channel has
			for _, kind := range []int{dellDSCP, dellDot1p, toDSCP, toDot1p} {
				if p.maps[kind] == nil {
					p.maps[kind] = b.maps[kind]
				}
			}
		}
	}
	for _, p := range r.portOrder {
		r.out.Ports = append(r.out.Ports, m.port(p))
	}
	for _, i := range r.inherits {
		if r.out.BGP != nil && i.neighbour < len(r.out.BGP.Neighbours) && r.out.BGP.Neighbours[i.neighbour].ASN == 0 {
			r.out.BGP.Neighbours[i.neighbour].ASN = r.groups[i.group]
		}
	}
	if r.out.BGP != nil {
		r.out.BGP.Neighbours = slices.DeleteFunc(r.out.BGP.Neighbours, func(n fabric.BGPNeighbour) bool { return !n.Address.IsValid() })
	}
	r.out.VLANs = slices.DeleteFunc(r.out.VLANs, func(v fabric.VLANConfig) bool { return v.ID == 0 })
	r.judge()
}

// profile is what a WRED policy does with green packets, which all are that no policer coloured.
func profile(w *wred) *fabric.QueueProfile {
	p := &fabric.QueueProfile{Name: w.name, Percent: w.percent, ECN: fabric.Said[bool]{At: w.at}}
	if w.ecn != nil {
		p.ECN = fabric.Said[bool]{Is: w.ecn.Is == "all" || slices.Contains(strings.Split(w.ecn.Is, "_"), "green"), At: w.ecn.At}
	}
	if w.min != nil {
		p.Min = &fabric.Threshold{Value: w.min.Is, Unit: "kB", At: w.min.At}
	}
	if w.max != nil {
		p.Max = &fabric.Threshold{Value: w.max.Is, Unit: "kB", At: w.max.At}
	}
	p.Drops = !p.ECN.Is && (w.min != nil || w.max != nil)
	return p
}

// port makes the model of a port. Defaults are taken where the text is one that says all, or configures QoS: then a port that
// has no line of PFC has no PFC.
func (m *model) port(p *dellPort) fabric.PortConfig {
	known := !p.bundle && (p.set || p.listed) && (m.r.qos || m.r.whole || p.full)
	out := fabric.PortConfig{
		Name: p.name, At: p.at, Up: p.up, MTU: p.mtu, RateGbps: p.rate, FEC: p.fec, Addresses: p.addresses, VLAN: p.vlan, CableM: p.cable,
		Breakout: m.breakout(p.name),
	}
	if out.MTU == nil && !p.bundle && m.r.whole {
		out.MTU = dellDefault(9100, dellMTU)
	}
	switch {
	case out.VLAN != nil:
	case len(p.addresses) > 0:
		out.VLAN = &fabric.Said[int]{Is: 0, At: p.addresses[0].At}
	default:
		out.VLAN = p.routed
	}
	key := m.pfc(p, &out, known)
	m.trust(p, &out, key)
	out.Stops = m.stop(key, p.asym != nil && p.asym.Is, out.PFC)
	known = known && p.set
	m.egress(p, &out, known)
	if w := p.watchdog; w != (fabric.WatchdogConfig{}) || known {
		switch {
		case w.On != nil:
		case w.DetectMs != nil: // as older versions print it: a port with a time is watched (sonic-swss, pfcwdorch.cpp)
			w.On = &fabric.Said[bool]{Is: true, At: w.DetectMs.At}
		case known:
			w.On = dellDefault(false, noDog)
		}
		out.Watchdog = &w
	}
	return out
}

// breakout finds the cage that a port is in: 1/1 of Eth1/1 and Eth1/1/2.
func (m *model) breakout(name string) *fabric.Said[int] {
	cage, ok := strings.CutPrefix(name, "Eth")
	if !ok || len(m.r.breakouts) == 0 {
		return nil
	}
	if strings.Count(cage, "/") == 2 {
		cage = cage[:strings.LastIndexByte(cage, '/')]
	}
	if b, ok := m.r.breakouts[cage]; ok {
		return &b
	}
	return nil
}

// pfc fills in PFC and returns what decides the tables of the port.
func (m *model) pfc(p *dellPort, out *fabric.PortConfig, known bool) tableKey {
	key := tableKey{known: known, pfcKnown: known}
	for kind, name := range p.maps {
		if name != nil {
			key.maps[kind] = name.Is
		}
	}
	list, at := []int{}, fabric.Line{Text: noPFC}
	for q, on := range p.pfc {
		if on == nil {
			continue
		}
		if key.pfcKnown = true; on.Is {
			if list = append(list, q); len(list) == 1 {
				at = on.At
			}
			key.pfc |= 1 << q
		} else if len(list) == 0 {
			at = on.At
		}
	}
	if key.pfcKnown {
		out.PFC = &fabric.Said[[]int]{Is: list, At: at}
	}
	if len(list) > 2 {
		m.r.problem(fabric.TextRange, p.name, at, fmt.Sprintf("PFC on %d priorities", len(list)), "a port takes two (dellemc.enterprise_sonic.sonic_qos_interfaces)")
	}
	if p.asym != nil && p.asym.Is && len(list) > 0 { // it obeys every priority, and pauses for these alone
		out.Pauses = &fabric.PFCDirections{Sends: &fabric.Said[bool]{Is: true, At: at}, Obeys: &fabric.Said[bool]{Is: true, At: p.asym.At}}
	}
	return key
}

// trust says which table decides, and fills the tables in: DSCP goes before 802.1p where both maps are there (Broadcom SONiC
// 4.1 RoCEv2 HLD, 2.2.1.1).
func (m *model) trust(p *dellPort, out *fabric.PortConfig, key tableKey) {
	dscp, dot1p := p.maps[dellDSCP], p.maps[dellDot1p]
	switch {
	case dscp != nil:
		out.Trust = &fabric.Said[string]{Is: "dscp", At: dscp.At}
	case dot1p != nil:
		out.Trust = &fabric.Said[string]{Is: "pcp", At: dot1p.At}
	case key.known:
		out.Trust = dellDefault("none", noTrust)
	default:
		return
	}
	if dscp != nil {
		out.DSCP = m.dscpTable(key)
	}
	if dot1p != nil || dscp == nil {
		out.PCP = m.pcpTable(key)
	}
	if to := p.maps[toDSCP]; to != nil {
		out.Rewrite = m.rewrite(to.Is)
	}
}

func (m *model) dscpTable(key tableKey) *[64]fabric.Treatment {
	source := m.r.maps[dellName{dellDSCP, key.maps[dellDSCP]}]
	if source == nil {
		return nil
	}
	table := m.dscp[key]
	if table == nil {
		table = new([64]fabric.Treatment)
		var treated [9]*fabric.Treatment
		for d := range table {
			table[d] = m.treat(source.entries[d], key, &treated)
		}
		m.dscp[key] = table
	}
	return table
}

// pcpTable has the class of each 802.1p priority; without a map it is class 0 for all.
func (m *model) pcpTable(key tableKey) *[8]fabric.Treatment {
	source := m.r.maps[dellName{dellDot1p, key.maps[dellDot1p]}]
	if source == nil && key.maps[dellDot1p] != "" {
		return nil
	}
	table := m.pcp[key]
	if table == nil {
		table = new([8]fabric.Treatment)
		var treated [9]*fabric.Treatment
		for p := range table {
			if source != nil {
				table[p] = m.treat(source.entries[p], key, &treated)
			} else {
				table[p] = m.treat(dellDefault(0, noTrust), key, &treated)
			}
		}
		m.pcp[key] = table
	}
	return table
}

// treat follows a class to its queue and to the pauses that its packets cause.
func (m *model) treat(class *fabric.Said[int], key tableKey, treated *[9]*fabric.Treatment) fabric.Treatment {
	if class == nil {
		class = dellDefault(0, noDSCP)
	}
	out := fabric.Treatment{Class: &fabric.Said[string]{Is: fmt.Sprint(class.Is), At: class.At}}
	if t := treated[class.Is]; t != nil {
		out.Queue, out.Pause = t.Queue, t.Pause
		return out
	}
	if name := key.maps[dellQueue]; name != "" {
		if q := m.r.maps[dellName{dellQueue, name}]; q != nil {
			out.Queue = q.entries[class.Is]
		}
	} else if key.known {
		out.Queue = dellDefault(0, noQueues)
	}
	out.Pause = m.pause(class.Is, key)
	treated[class.Is] = &out
	return out
}

// pause is the priority of the pauses that packets of a class cause: by their priority group, which a pfc-priority-pg map
// gives to priorities, and which else is the priority's own (AN209, 2.5.2, works without such a map).
func (m *model) pause(class int, key tableKey) *fabric.Said[int] {
	if key.pfcKnown && key.pfc == 0 {
		return dellDefault(-1, noPFC)
	}
	if !key.pfcKnown {
		return nil
	}
	var group *fabric.Said[int]
	if name := key.maps[dellGroup]; name != "" {
		if g := m.r.maps[dellName{dellGroup, name}]; g != nil {
			group = g.entries[class]
		}
	} else if key.known {
		group = dellDefault(7, noGroups)
	}
	name := key.maps[pfcGroup]
	if group == nil { // left out of the map, or of what was read
		if g := m.r.maps[dellName{dellGroup, key.maps[dellGroup]}]; g != nil && name == "" && key.pfc&(1<<0|1<<7) == 0 {
			return dellDefault(-1, noGroup)
		}
		return nil
	}
	if name == "" {
		if key.pfc&(1<<group.Is) != 0 {
			return group
		}
		return &fabric.Said[int]{Is: -1, At: group.At}
	}
	back := m.r.maps[dellName{pfcGroup, name}]
	if back == nil {
		return nil
	}
	for p, g := range back.entries[:8] {
		if g != nil && g.Is == group.Is && key.pfc&(1<<p) != 0 {
			return &fabric.Said[int]{Is: p, At: group.At}
		}
	}
	return &fabric.Said[int]{Is: -1, At: group.At}
}

// stop is the queue that a received pause of each priority stops: none where PFC is off, unless the port obeys all. What a
// chip does without a map is in no public document.
func (m *model) stop(key tableKey, all bool, pfc *fabric.Said[[]int]) (out [8]*fabric.Said[int]) {
	var none *fabric.Said[int]
	if pfc != nil {
		none = &fabric.Said[int]{Is: -1, At: pfc.At}
	}
	source := m.r.maps[dellName{pfcQueue, key.maps[pfcQueue]}]
	for p := range out {
		switch {
		case none != nil && key.pfc&(1<<p) == 0 && !all:
			out[p] = none
		case source != nil:
			out[p] = source.entries[p]
		}
	}
	return out
}

// egress fills in the queues.
func (m *model) egress(p *dellPort, out *fabric.PortConfig, known bool) {
	key := queueKey{known: known}
	if p.sched != nil {
		key.sched = p.sched.Is
	}
	for q, w := range p.wred {
		if w != nil {
			key.wred[q] = w.Is
		}
	}
	queues, done := m.queues[key]
	if !done {
		sched := m.r.scheds[key.sched]
		for q := range queues {
			c := &fabric.QueueConfig{}
			if sched != nil {
				c.Algorithm, c.Weight = sched.kind[q], sched.weight[q]
			}
			if key.wred[q] != "" {
				c.Marks = m.profiles[key.wred[q]]
			} else if known {
				c.Marks = m.none
			}
			if *c != (fabric.QueueConfig{}) {
				queues[q] = c
			}
		}
		m.queues[key] = queues
	}
	out.Queues = queues
}

// rewrite is the DSCP that packets of each class leave with.
func (m *model) rewrite(name string) map[string]fabric.Said[int] {
	if out, done := m.rewrites[name]; done {
		return out
	}
	source := m.r.maps[dellName{toDSCP, name}]
	if source == nil {
		return nil
	}
	out := make(map[string]fabric.Said[int])
	for class, to := range source.entries[:8] {
		if to != nil {
			out[fmt.Sprint(class)] = *to
		}
	}
	m.rewrites[name] = out
	return out
}
