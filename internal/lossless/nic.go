package lossless

import "railwright.dev/railwright/internal/fabric"

// nicManner is how a NIC treats packets. NICs of one manner are one class.
type nicManner struct {
	trust     int8     // trustNone does not occur
	priority  [64]int8 // by DSCP, where it is trusted
	pfc       priorities
	linkPause bool
	mtu       int32
}

func (m *manners) nic(c NICConfig) int32 {
	n := nicManner{pfc: notRead, mtu: unknown}
	if c.MTU != nil {
		n.mtu = bytes(*c.MTU)
	}
	if q := c.QoS; q != nil {
		switch q.Trust {
		case "dscp":
			n.trust = trustDSCP
			for d := range n.priority {
				n.priority[d] = priorityOf(c, d)
			}
		case "pcp":
			n.trust = trustPCP
		}
		if q.PFC != nil {
			n.pfc = prioritySet(*q.PFC)
		}
		n.linkPause = q.Pause != nil && *q.Pause
	}
	return numbered(m.byNIC, &m.nics, n)
}

// priorityOf is the priority of a DSCP in a NIC's map. What is not in a table of those that were set is in 0.
func priorityOf(c NICConfig, dscp int) int8 {
	p, ok := c.QoS.DSCP[dscp]
	switch {
	case ok && p >= 0 && p <= 7:
		return int8(p)
	case ok || c.FullMap || len(c.QoS.DSCP) == 0:
		return unknown
	}
	return 0
}

// tagged reports whether packets between a NIC and a port have a tag: on routed ports they have none, and on others it only
// matters where the port trusts it.
func tagged(p *manner) known {
	switch {
	case p.vlan == 0 || p.trust == trustDSCP || p.trust == trustNone:
		return no
	case p.trust == trustPCP:
		return yes
	}
	return maybe
}

// priorityAt is the priority in which a NIC has packets of a DSCP, on the cable to a port. A NIC that trusts tags has those
// without one in 0; the priorities of tags are the applications' choice.
func (n *nicManner) priorityAt(dscp uint8, tag known) int8 {
	switch {
	case n.trust == trustDSCP:
		return n.priority[dscp]
	case n.trust == trustPCP && tag == no:
		return 0
	}
	return unknown
}

// untagged reports whether a port sends packets to a NIC without a tag; a port in a VLAN may leave it on.
func untagged(p *manner) known {
	if p.vlan == 0 {
		return no
	}
	return maybe
}

// roleOf says what a packet is, by the DSCP with which it was sent.
func (in Intent) roleOf(dscp uint8) role {
	switch {
	case int(dscp) == in.RoCE.DSCP:
		return roce
	case int(dscp) == in.CNP.DSCP && in.RoCE.ECN != nil:
		return cnp
	}
	return other
}

// role is what a packet is. Where nothing marks there are no notifications: their DSCP is one of the others.
type role int8

const (
	other role = iota
	roce
	cnp
)

// intrusion is the fault of a packet that is not RoCE and is treated as lossless.
func (r role) intrusion() Kind {
	if r == cnp {
		return CNPLossless
	}
	return OtherLossless
}

// endpointOf is shorthand for an end of a cable.
func endpointOf(node, port string) fabric.Endpoint { return fabric.Endpoint{Node: node, NIC: port} }
