package lossless

// minMTU is the least MTU that RoCE's packets of 4096 bytes go through: 40 bytes of IPv6 or GRH, 8 UDP, 12 BTH, 4 XRC, 28
// AtomicETH, 4 ICRC (Linux, iboe_get_mtu).
const minMTU = 4192

// spot is where at a hop something was found.
type spot int8

const (
	atReceiver spot = iota // the port, or NIC, by which the packet comes in
	atSender               // the far end of that cable
	atEgress               // the port by which it leaves
)

// note is something that was found about packets at a hop: a fault, or what is unknown.
type note struct {
	kind  Kind // empty: something is unknown
	gap   gap
	spot  spot
	about uint64 // DSCP values with which the packets were sent
	first packet // one of them
}

// notes are what was found at a hop.
type notes []note

func (n *notes) add(kind Kind, g gap, at spot, p packet) {
	for i := range *n {
		if x := &(*n)[i]; x.kind == kind && x.gap == g && x.spot == at {
			x.about |= 1 << p.sent
			return
		}
	}
	*n = append(*n, note{kind: kind, gap: g, spot: at, about: 1 << p.sent, first: p})
}

func (n *notes) fault(kind Kind, at spot, p packet) { n.add(kind, gapNone, at, p) }
func (n *notes) miss(g gap, at spot, p packet)      { n.add("", g, at, p) }

// class is the class of one end of a cable.
type class struct {
	number int32
	nic    bool
}

// judge judges hops by the classes of their ports. Each is judged once.
type judge struct {
	in Intent
	*manners
	sets       *packetSets
	arrivals   map[arrivalKey]*arrival
	departures map[departureKey]*departure
	deliveries map[arrivalKey]notes
	emissions  map[[2]int32]int32
}

type arrivalKey struct {
	from class
	to   int32
	set  int32
}

// arrival is what a port does with the packets that come in by it.
type arrival struct {
	key     arrivalKey
	packets []packet
	treats  []treat // of each
	paused  []int8  // priority of the pauses that are really sent for each; none, unknown
	notes   notes
}

type departureKey struct {
	in *arrival
	to int32
}

// departure is what becomes of the packets of an arrival at a port by which they leave.
type departure struct {
	out   int32 // set of packets
	next  []packet
	lost  []bool // whose DSCP is unknown from here
	notes notes
}

func newJudge(in Intent, m *manners) *judge {
	return &judge{in: in, manners: m, sets: newPacketSets(), arrivals: map[arrivalKey]*arrival{}, departures: map[departureKey]*departure{},
		deliveries: map[arrivalKey]notes{}, emissions: map[[2]int32]int32{}}
}

// emission is the set of packets that a NIC of a class sends to a port of a class.
func (j *judge) emission(nic, port int32) int32 {
	key := [2]int32{nic, port}
	if n, ok := j.emissions[key]; ok {
		return n
	}
	n, tag := &j.nics[nic], tagged(&j.ports[port])
	set := make([]packet, 64)
	for d := range set {
		set[d] = packet{sent: uint8(d), dscp: uint8(d), held: n.priorityAt(uint8(d), tag)}
		if j.in.roleOf(uint8(d)) == roce {
			set[d].mtu = n.mtu
		}
	}
	j.emissions[key] = j.sets.number(set)
	return j.emissions[key]
}

// treatment is what a port does with a packet that comes in. A port that trusts tags has packets without one in 0; between
// switches a tag would have what the sending switch writes, which no configuration that is read here says.
func (j *judge) treatment(m *manner, fromNIC bool, p packet) treat {
	table, entry := m.pcp, int8(0)
	switch {
	case m.trust == trustUnknown:
		return untreated()
	case m.trust == trustDSCP:
		table, entry = m.dscp, int8(p.dscp)
	case m.trust == trustNone || m.vlan == 0:
	case fromNIC:
		entry = p.held
	default:
		return untreated()
	}
	if table == none || entry < 0 {
		return untreated()
	}
	return j.tables[table][entry]
}

// pausedIn is the priority of the pauses that are really sent for packets.
func pausedIn(m *manner, pause int8) int8 {
	switch {
	case pause < 0:
		return pause
	case !m.sends:
		return none
	}
	switch m.pfc.has(pause) {
	case yes:
		return pause
	case no:
		return none
	}
	return unknown
}

// arrive judges packets that come in by a port.
func (j *judge) arrive(key arrivalKey) *arrival {
	if a, ok := j.arrivals[key]; ok {
		return a
	}
	m := &j.ports[key.to]
	a := &arrival{key: key, packets: j.sets.sets[key.set]}
	for _, p := range a.packets {
		t := j.treatment(m, key.from.nic, p)
		paused := pausedIn(m, t.pause)
		a.treats, a.paused = append(a.treats, t), append(a.paused, paused)
		switch r := j.in.roleOf(p.sent); {
		case r == roce:
			j.roceComesIn(a, m, p, t, paused)
		case paused == unknown:
			a.notes.miss(gapOf(m, t), atReceiver, p)
		case paused >= 0:
			a.notes.fault(r.intrusion(), atReceiver, p)
		}
		if key.from.nic && j.in.roleOf(p.sent) != roce {
			j.sharesPriority(&a.notes, &j.nics[key.from.number], p, p.held, atSender)
		}
	}
	j.arrivals[key] = a
	return a
}

// sharesPriority judges packets that are not RoCE in a NIC: they are not to be in a priority with PFC.
func (j *judge) sharesPriority(n *notes, nic *nicManner, p packet, priority int8, at spot) {
	switch nic.pfc.has(priority) {
	case yes:
		n.fault(j.in.roleOf(p.sent).intrusion(), at, p)
	case maybe:
		n.miss(nic.gap(), at, p)
	}
}

func (j *judge) roceComesIn(a *arrival, m *manner, p packet, t treat, paused int8) {
	if a.key.from.nic {
		n := &j.nics[a.key.from.number]
		switch {
		case n.mtu == unknown:
			a.notes.miss(gapNICMTU, atSender, p)
		case n.mtu < minMTU:
			a.notes.fault(SmallMTU, atSender, p)
		}
	}
	checkMTU(&a.notes, m.mtu, gapMTU, atReceiver, p)
	switch {
	case paused == unknown:
		a.notes.miss(gapOf(m, t), atReceiver, p)
	case t.pause == none:
		a.notes.fault(Lossy, atReceiver, p)
	case paused == none:
		a.notes.fault(NotPaused, atReceiver, p)
	default:
		if int(paused) != j.in.RoCE.Priority {
			a.notes.fault(OtherPriority, atReceiver, p)
		}
		if a.key.from.nic {
			nicObeys(&a.notes, &j.nics[a.key.from.number], paused, p)
		} else {
			portObeys(&a.notes, &j.ports[a.key.from.number], paused, p.held, p)
		}
	}
}

func checkMTU(n *notes, mtu int32, g gap, at spot, p packet) {
	switch {
	case mtu == unknown:
		n.miss(g, at, p)
	case mtu < minMTU || mtu < p.mtu:
		n.fault(SmallMTU, at, p)
	}
}

// nicObeys judges whether a NIC that holds RoCE stops for a pause.
func nicObeys(n *notes, nic *nicManner, pause int8, p packet) {
	obeys := nic.pfc.has(pause)
	switch {
	case nic.linkPause:
		n.fault(LinkPause, atSender, p)
	case obeys == no:
		n.fault(PauseIgnored, atSender, p)
	case p.held != unknown && p.held != pause:
		n.fault(PauseOther, atSender, p)
	case obeys == maybe || p.held == unknown:
		n.miss(nic.gap(), atSender, p)
	}
}

// portObeys judges whether a port that holds RoCE in a queue stops that queue for a pause.
func portObeys(n *notes, m *manner, pause, queue int8, p packet) {
	obeys := m.pfc.has(pause)
	stops := m.stops[pause]
	switch {
	case !m.obeys || obeys == no:
		n.fault(PauseIgnored, atSender, p)
	case stops == none || stops != unknown && queue != unknown && stops != queue:
		n.fault(PauseOther, atSender, p)
	case obeys == maybe:
		n.miss(gapPFC, atSender, p)
	case stops == unknown:
		n.miss(gapStops, atSender, p)
	case queue == unknown:
		n.miss(gapQueue, atSender, p)
	}
}

// deliver judges packets that come to a NIC from a port.
func (j *judge) deliver(key arrivalKey) notes {
	if n, ok := j.deliveries[key]; ok {
		return n
	}
	var n notes
	nic, m := &j.nics[key.to], &j.ports[key.from.number]
	for _, p := range j.sets.sets[key.set] {
		priority := nic.priorityAt(p.dscp, untagged(m))
		if j.in.roleOf(p.sent) != roce {
			j.sharesPriority(&n, nic, p, priority, atReceiver)
			continue
		}
		switch pauses := nic.pfc.has(priority); {
		case nic.linkPause:
			n.fault(LinkPause, atReceiver, p)
		case pauses == no:
			n.fault(NotPaused, atReceiver, p)
		case pauses == maybe || priority == unknown:
			n.miss(nic.gap(), atReceiver, p)
		default:
			if int(priority) != j.in.RoCE.Priority {
				n.fault(OtherPriority, atReceiver, p)
			}
			portObeys(&n, m, priority, p.held, p)
		}
	}
	j.deliveries[key] = n
	return n
}
