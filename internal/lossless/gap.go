package lossless

// gap is something that has to be known.
type gap int8

const (
	gapNone gap = iota
	gapNICPriority
	gapNICPFC
	gapNICMTU
	gapTrust
	gapTreatment
	gapTag
	gapQueue
	gapPFC
	gapStops
	gapMarks
	gapThresholds
	gapScheduler
	gapRewrite
	gapMTU
	gapVLAN
	gapVLANMTU
	gapCables
	gapNICToNIC
)

// words say what is unknown, at its place.
func (g gap) words() string {
	return map[gap]string{
		gapNICPriority: "in which priority the NIC has packets of each DSCP was not read",
		gapNICPFC:      "on which priorities the NIC has PFC was not read",
		gapNICMTU:      "the MTU of the NIC was not read",
		gapTrust:       "what the port classifies packets by (DSCP, 802.1p) is unknown",
		gapTreatment:   "what the port does with a packet (class, queue, priority of pauses) is unknown",
		gapTag:         "the port trusts 802.1p priorities, and which ones its packets have is unknown",
		gapQueue:       "the queue of a packet is unknown",
		gapPFC:         "on which priorities the port has PFC is unknown",
		gapStops:       "which queue a received pause stops is unknown",
		gapMarks:       "whether the queue marks packets (ECN) or drops them early is unknown",
		gapThresholds:  "whether the ECN minimum is below the maximum is unknown",
		gapScheduler:   "whether the queue of congestion notifications is strict is unknown",
		gapRewrite:     "the DSCP with which packets leave is unknown",
		gapMTU:         "the MTU of the port is unknown",
		gapVLAN:        "whether the port is routed, or in which VLAN it is, is unknown",
		gapVLANMTU:     "the MTU of the switch's interface in a VLAN is unknown",
		gapCables:      "the plan has two cables in it",
		gapNICToNIC:    "a cable between two hosts, or from a port to itself: no switch decides there",
	}[g]
}

// gapOf says why it is unknown whether pauses are sent for packets of a treatment.
func gapOf(m *manner, t treat) gap {
	switch {
	case m.trust == trustUnknown:
		return gapTrust
	case t.pause != unknown:
		return gapPFC
	case m.trust == trustPCP && m.vlan != 0:
		return gapTag
	}
	return gapTreatment
}

// gap says why it is unknown what a NIC does with a priority.
func (n *nicManner) gap() gap {
	if n.pfc == notRead {
		return gapNICPFC
	}
	return gapNICPriority
}
