package eos

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Defaults of EOS, each with the place in Arista's EOS User Manual that says so.
const (
	defaultDSCP  = "default of EOS: DSCP 0-7 to traffic class 1, 8-15 to 0, each next eight to 2 to 7 (User Manual, Quality of Service, qos map dscp)"
	defaultCos   = "default of EOS: CoS 0 to traffic class 1, 1 to 0, others to their own number (User Manual, Quality of Service, qos map cos)"
	defaultQueue = "default of EOS: a traffic class has the transmit queue of its number (User Manual, Quality of Service, qos map traffic-class to tx-queue)"
	defaultPort  = "default of EOS: a port is a switchport in VLAN 1 (User Manual, VLANs, switchport)"
	trustRouted  = "default of EOS: a routed port trusts DSCP (User Manual, Quality of Service, qos trust)"
	trustSwitch  = "default of EOS: a switched port trusts CoS (User Manual, Quality of Service, qos trust)"
	noPFC        = "default of EOS: PFC is off (User Manual, DCBX and Flow Control, priority-flow-control)"
	eosStrict    = "default of EOS: transmit queues have strict priority (User Manual, Quality of Service, priority)"
	noECN        = "default of EOS: queues do not mark (User Manual, Quality of Service, random-detect ecn)"
	mtuRouted    = "default of EOS: the IP MTU is 1500 (User Manual, Ethernet Ports, mtu)"
	mtuSwitched  = "default of EOS: a switched port takes 9214 bytes (show interfaces prints: Ethernet MTU 9214)"
	eosUp        = "default of EOS: a port is up (User Manual, Ethernet Ports, shutdown)"
	noWatchdog   = "default of EOS: the PFC watchdog is off (User Manual, DCBX and Flow Control)"
	onePath      = "default of EOS: BGP uses one path (User Manual, BGP, maximum-paths)"
	errdisable   = "default of EOS: the PFC watchdog disables the port (aristanetworks/avd, priority_flow_control.watchdog.action)"
)

// says is the place of a value that is a default.
func says(text string) fabric.Line { return fabric.Line{Text: text} }

// build puts ports together. Ports that say the same share tables.
type build struct {
	*eosSaid
	mapped  bool // the maps are known: from a configuration or a show command
	queueOf [8]*fabric.Said[int]
	tables  map[tableKey]*eosTables
	queues  map[*eosScope]*[8]*fabric.QueueConfig
	told    map[string]bool // problems that many ports share
	none    eosScope        // of ports that say nothing of queues
}

type tableKey struct {
	trust  string
	cos    int
	policy string
	pfc    fabric.Line
	known  bool // PFC
	noDrop [8]*fabric.Said[bool]
}

type eosTables struct {
	dscp    *[64]fabric.Treatment
	pcp     *[8]fabric.Treatment
	byDSCP  bool // a policy looks at DSCP although the port does not trust it
	rewrite map[string]fabric.Said[int]
}

// config turns what was said into the model.
func (s *eosSaid) config(name string) *fabric.SwitchConfig {
	b := &build{eosSaid: s, tables: map[tableKey]*eosTables{}, queues: map[*eosScope]*[8]*fabric.QueueConfig{}, told: map[string]bool{}}
	c := &fabric.SwitchConfig{Name: name, OS: "eos", Texts: s.texts, Hostname: s.hostname, Ports: make([]fabric.PortConfig, 0, len(s.inOrder))}
	b.maps()
	seen := map[string]string{}
	for _, p := range s.inOrder {
		c.Ports = append(c.Ports, b.port(p))
		for _, a := range p.addresses {
			if other := seen[a.Is.Addr().String()]; other != "" && other != p.name {
				s.problem(fabric.TextConflict, p.name, a.At, "has the address of "+other, "EOS refuses it.")
			}
			seen[a.Is.Addr().String()] = p.name
		}
	}
	slices.Sort(s.vlanOrder)
	for _, id := range slices.Compact(s.vlanOrder) {
		if v := s.vlans[id]; v != nil {
			if s.svi[id] {
				first(&v.MTU, s.defaults.mtu)
				first(&v.MTU, &fabric.Said[int]{Is: 1500, At: says(mtuRouted)})
			}
			c.VLANs = append(c.VLANs, *v)
		}
	}
	b.unused(c)
	s.sessions()
	b.routed()
	c.BGP, c.Problems, c.Unread = s.bgp, s.problems, s.unread
	return c
}

// maps fills what no text says of the maps of the switch.
func (b *build) maps() {
	configured := slices.ContainsFunc(b.inOrder, func(p *portSaid) bool { return p.configured })
	for d := range b.dscpTC {
		if b.dscpTC[d] == nil && configured {
			b.dscpTC[d] = &fabric.Said[int]{Is: []int{1, 0, 2, 3, 4, 5, 6, 7}[d/8], At: says(defaultDSCP)}
		}
		b.mapped = b.mapped || b.dscpTC[d] != nil
	}
	for i := range 8 {
		if b.cosTC[i] == nil && configured {
			b.cosTC[i] = &fabric.Said[int]{Is: []int{1, 0, 2, 3, 4, 5, 6, 7}[i], At: says(defaultCos)}
		}
		if b.queueOf[i] = b.tcQueue[i]; b.queueOf[i] == nil && configured {
			b.queueOf[i] = &fabric.Said[int]{Is: i, At: says(defaultQueue)}
		}
		if m := b.tcDSCP[i]; m != nil && (b.rewrite == nil || !b.rewrite.Is) {
			b.problem(fabric.TextInert, "", m.At, "maps traffic class "+strconv.Itoa(i)+" to a DSCP that packets leave with: it classifies nothing, and `qos rewrite dscp` is not on",
				"Nothing; packets of DSCP "+strconv.Itoa(m.Is)+" are classified by `qos map dscp`, or by EOS's own map.")
		}
	}
}

// tell says a problem of many ports once.
func (b *build) tell(kind, port string, at fabric.Line, what, then string) {
	key := kind + "\x00" + at.File + strconv.Itoa(at.Number) + at.Text + what
	if !b.told[key] {
		b.told[key] = true
		b.problem(kind, port, at, what, then)
	}
}

// unused says what is defined and does nothing, and lists the profiles.
func (b *build) unused(c *fabric.SwitchConfig) {
	marks := func(sc *eosScope) {
		for _, q := range sc.queues {
			if q != nil && q.ecn != nil && q.ecn.Min != nil {
				c.Profiles = append(c.Profiles, *q.ecn)
			}
			if q != nil && q.drop != nil {
				c.Profiles = append(c.Profiles, *q.drop)
			}
		}
	}
	for _, p := range b.named {
		if b.profiles[p.name] != p {
			continue
		}
		marks(p)
		if !p.used {
			b.problem(fabric.TextUnattached, "", p.at, "profile "+p.name+" is of no port (service-profile)", "Nothing: its PFC, queues and ECN have no effect.")
		}
		if p.used && p.policy != nil {
			b.policyUsed(p.policy.Is)
		}
	}
	for _, p := range b.inOrder {
		marks(&p.eosScope)
	}
	for _, p := range b.polOrder {
		if !p.used && b.policies[p.name] == p {
			b.problem(fabric.TextUnattached, "", p.at, "policy "+p.name+" is of no port (service-policy type qos input)", "Nothing.")
		}
	}
}

func (b *build) policyUsed(name string) {
	if p := b.policies[name]; p != nil {
		p.used = true
	}
}

// routed says where routing is off although the text routes.
func (b *build) routed() {
	off := b.routing == nil && b.whole || b.routing != nil && !b.routing.Is
	if !off || b.bgp == nil {
		return
	}
	at := b.bgp.ASN.At
	if b.routing != nil {
		at = b.routing.At
	}
	b.problem(fabric.TextInert, "", at, "BGP is configured, and `ip routing` is not", "The switch forwards no packet between subnets.")
}

// port puts a port together from itself, its profile, the maps and the defaults.
func (b *build) port(p *portSaid) fabric.PortConfig {
	c := fabric.PortConfig{Name: p.name, At: p.at, Up: p.up, MTU: p.mtu, RateGbps: p.rate, FEC: p.fec, Addresses: p.addresses}
	of, sc, known := b.scope(p)
	routed := b.switching(p, &c)
	b.inertAddress(p, routed)
	c.Trust = b.trust(p, sc, routed, known)
	pfc, noDrop := b.pfc(p, sc, known)
	c.PFC = pfc
	if p.configured || p.shown.pfc != nil || b.mapped {
		t := b.table(p, sc, c.Trust, pfc, noDrop)
		c.DSCP, c.PCP, c.Rewrite = t.dscp, t.pcp, t.rewrite
		if t.byDSCP {
			c.Trust = &fabric.Said[string]{Is: "dscp", At: sc.policy.At}
		}
	}
	b.stops(&c, noDrop)
	b.queueConfigs(p, of, sc, known, &c)
	c.Watchdog = b.watchdog(p, sc, known)
	b.inertWatchdog(p, sc, &c, noDrop)
	if p.linkPause != nil && pfc != nil && len(pfc.Is) > 0 {
		b.tell(fabric.TextConflict, p.name, p.linkPause.At, "flow control of the whole link is on beside PFC", "A port has one of the two.")
	}
	return c
}

// scope merges what a port says itself over what its profile says. of is nil where the port alone, or nobody, says anything of
// queues; known is false where the profile is defined nowhere.
func (b *build) scope(p *portSaid) (of *eosScope, merged *eosScope, known bool) {
	sc := p.eosScope
	if p.policy != nil {
		b.policyUsed(p.policy.Is)
	}
	if p.profile == nil {
		return nil, &sc, true
	}
	pr := b.profiles[p.profile.Is]
	if pr == nil {
		b.tell(fabric.TextUndefined, p.name, p.profile.At, "profile "+p.profile.Is+" is defined nowhere in the text", "EOS takes the line, and the port has no PFC and no ECN until the profile exists.")
		return nil, &sc, false
	}
	pr.used = true
	first(&sc.trust, pr.trust)
	first(&sc.cos, pr.cos)
	first(&sc.pfc, pr.pfc)
	first(&sc.policy, pr.policy)
	first(&sc.wd.on, pr.wd.on)
	first(&sc.wd.action, pr.wd.action)
	first(&sc.wd.detect, pr.wd.detect)
	first(&sc.wd.restore, pr.wd.restore)
	for i := range 8 {
		first(&sc.noDrop[i], pr.noDrop[i])
	}
	own := slices.ContainsFunc(sc.queues[:], func(q *queueSaid) bool { return q != nil && *q != queueSaid{} })
	if !own {
		sc.queues = pr.queues
		return pr, &sc, true
	}
	for i := range 8 {
		sc.queues[i] = mergeQueue(sc.queues[i], pr.queues[i])
	}
	return nil, &sc, true
}

// first fills a value that nobody said yet.
func first[T any](place **T, other *T) {
	if *place == nil {
		*place = other
	}
}

func mergeQueue(own, profile *queueSaid) *queueSaid {
	if own == nil || profile == nil {
		if own == nil {
			return profile
		}
		return own
	}
	q := *own
	first(&q.strict, profile.strict)
	first(&q.percent, profile.percent)
	first(&q.guaranteed, profile.guaranteed)
	first(&q.ecn, profile.ecn)
	first(&q.drop, profile.drop)
	return &q
}

// switching decides whether a port is routed, its VLAN and its MTU. The mtu of a switched port is what the text says: on many
// platforms it limits only what is routed, and frames of 9214 bytes pass all the same.
func (b *build) switching(p *portSaid, c *fabric.PortConfig) (routed bool) {
	of := p
	if ch := b.ports[p.channel]; p.channel != "" && ch != nil {
		of = ch
	}
	by := of.routed
	first(&by, b.defaults.routed)
	routed = by != nil && by.Is
	if !p.configured {
		c.VLAN = p.shown.vlan
		return c.VLAN != nil && c.VLAN.Is == 0
	}
	first(&c.MTU, of.mtu)
	first(&c.MTU, b.defaults.mtu)
	first(&c.Up, b.defaults.up)
	if routed {
		first(&c.MTU, &fabric.Said[int]{Is: 1500, At: says(mtuRouted)})
		c.VLAN = &fabric.Said[int]{Is: 0, At: by.At}
	} else {
		first(&c.MTU, &fabric.Said[int]{Is: eosMTU, At: says(mtuSwitched)})
		c.VLAN = of.access
		if of.mode != nil && strings.HasPrefix(of.mode.Is, "trunk") { // a tunnel takes all packets into its access VLAN
			c.VLAN = of.native
		}
		if !of.tagged {
			first(&c.VLAN, &fabric.Said[int]{Is: 1, At: says(defaultPort)})
			b.vlanKnown(p, c.VLAN)
		}
	}
	first(&c.Up, &fabric.Said[bool]{Is: true, At: says(eosUp)})
	return routed
}

// vlanKnown says where a port is in a VLAN that the text defines nowhere, though it defines others.
func (b *build) vlanKnown(p *portSaid, v *fabric.Said[int]) {
	if v.At.Number > 0 && v.Is != 1 && (len(b.vlanDefined) > 0 || b.whole) && !b.vlanDefined[v.Is] {
		b.tell(fabric.TextUndefined, p.name, v.At, "VLAN "+strconv.Itoa(v.Is)+" is defined nowhere in the text", "The port forwards nothing until it exists.")
	}
}

func (b *build) inertAddress(p *portSaid, routed bool) {
	if len(p.addresses) > 0 && !routed {
		b.problem(fabric.TextInert, p.name, p.addresses[0].At, "an address on a port that is not routed: `no switchport` is missing", "EOS takes the address and does not use it.")
	}
}

func (b *build) trust(p *portSaid, sc *eosScope, routed, known bool) *fabric.Said[string] {
	switch {
	case sc.trust != nil:
		return sc.trust
	case p.shown.trust != nil:
		return p.shown.trust
	case !known || !p.configured:
		return nil
	case routed:
		return &fabric.Said[string]{Is: "dscp", At: says(trustRouted)}
	}
	return &fabric.Said[string]{Is: "pcp", At: says(trustSwitch)}
}

// pfc returns the priorities with PFC, and for each what decides it.
func (b *build) pfc(p *portSaid, sc *eosScope, known bool) (*fabric.Said[[]int], [8]*fabric.Said[bool]) {
	if !p.configured || !known && sc.pfc == nil {
		return p.shown.pfc, [8]*fabric.Said[bool]{}
	}
	if sc.pfc == nil && b.pfcOff == nil && p.shown.pfc != nil && !b.whole {
		return p.shown.pfc, sc.noDrop
	}
	out := &fabric.Said[[]int]{Is: []int{}, At: says(noPFC)}
	on := sc.pfc != nil && sc.pfc.Is
	if sc.pfc != nil {
		out.At = sc.pfc.At
	}
	if b.pfcOff != nil && b.pfcOff.Is {
		if on {
			b.tell(fabric.TextInert, p.name, b.pfcOff.At, "PFC is off for all ports, and ports set it", "No port has PFC.")
		}
		on, out.At = false, b.pfcOff.At
	}
	for i, n := range sc.noDrop {
		if n == nil || !n.Is {
			continue
		}
		if !on {
			b.tell(fabric.TextInert, p.name, n.At, "priority "+strconv.Itoa(i)+" is no-drop where PFC is not on", "Nothing: no pause is sent or obeyed.")
			continue
		}
		out.Is, out.At = append(out.Is, i), n.At
	}
	return out, sc.noDrop
}

// stops says which queue a pause stops: that of the traffic class of its number.
func (b *build) stops(c *fabric.PortConfig, noDrop [8]*fabric.Said[bool]) {
	if c.PFC == nil {
		return
	}
	for i := range 8 {
		switch {
		case slices.Contains(c.PFC.Is, i):
			c.Stops[i] = b.queueOf[i]
		case noDrop[i] != nil:
			c.Stops[i] = &fabric.Said[int]{Is: -1, At: noDrop[i].At}
		default:
			c.Stops[i] = &fabric.Said[int]{Is: -1, At: c.PFC.At}
		}
	}
}
