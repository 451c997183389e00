package switchcheck

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

func endsRule() Rule {
	return Rule{
		ID:    "ends-agree",
		Title: "NIC and switch treat the same packets alike at both ends of each cable",
		Doc: "compares each NIC with the port that the plan has at the other end of its cable: priorities with PFC, the priority of RoCE's and the notifications' DSCP, " +
			"the DSCP that the NIC sends with, MTU and rate",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "Broadcom RoCE guide 2.5: the settings on the NIC and the Ethernet switches match each other; IEEE 802.1Q, 36",
		Judge:     judgeEnds,
	}
}

// cable is a NIC and the port at the other end of its cable.
type cable struct {
	scene
	nic  NICEnd
	host fabric.Endpoint
	port
	roce, cnp fabric.TrafficClass
}

func judgeEnds(in *Input) []fabric.Finding {
	roce, ok := in.class("roce")
	switch {
	case in.NICs == nil:
		return []fabric.Finding{{Status: fabric.NotApplicable, Subject: fabric.ClusterSubject(), Why: "no facts of hosts are part of this check"}}
	case !ok:
		return []fabric.Finding{{Status: fabric.NotApplicable, Subject: fabric.ClusterSubject(), Why: "needs a cluster file with classes of traffic"}}
	}
	cnp, _ := in.class("cnp")
	ports := map[fabric.Endpoint]port{}
	scenes := map[string]scene{}
	for _, c := range in.Configs {
		s := in.scene(c)
		scenes[c.Name] = s
		for _, p := range s.ports {
			if p.PortConfig != nil {
				ports[fabric.Endpoint{Node: c.Name, NIC: p.name()}] = p
			}
		}
	}
	var out []fabric.Finding
	agree := 0
	for _, l := range in.Plan.Cabling.Links {
		s, given := scenes[l.B.Node]
		if !given {
			continue // its switch is not part of this check
		}
		p, read := ports[l.B]
		nic, known := in.NICs[l.A]
		if !read {
			continue // switch-ports says so
		}
		if !known {
			out = append(out, onNIC(l.A, fabric.Unknown, "its facts are not part of this check, so that nothing is known of this end"))
			continue
		}
		c := cable{scene: s, nic: nic, host: l.A, port: p, roce: roce, cnp: cnp}
		found := c.judge()
		if len(found) == 0 {
			agree++
		}
		out = append(out, found...)
	}
	if agree > 0 && len(out) == 0 {
		f := fabric.Finding{Status: fabric.Pass, Subject: fabric.ClusterSubject(), Expected: "both ends alike"}
		f.Evidence = []fabric.Evidence{{Source: "facts of hosts and texts of switches", Value: fmt.Sprintf("%d cables", agree)}}
		return []fabric.Finding{f}
	}
	if len(out) == 0 {
		return []fabric.Finding{{Status: fabric.Unknown, Subject: fabric.ClusterSubject(), Why: "nothing to judge: no cable of which both ends were read"}}
	}
	return out
}

func onNIC(e fabric.Endpoint, status fabric.Status, why string, at ...fabric.Line) fabric.Finding {
	return fabric.Finding{Status: status, Subject: fabric.NICSubject(e.Node, e.NIC), Why: why, Evidence: quote(at...)}
}

func (c cable) judge() []fabric.Finding {
	var out []fabric.Finding
	if c.nic.MTU > 0 && c.MTU != nil && c.nic.MTU > c.MTU.Is {
		out = append(out, c.bad(fmt.Sprintf("%s sends IP packets of %d bytes, %s forwards %d.", c.host, c.nic.MTU, c.far(), c.MTU.Is), "larger packets are dropped", c.MTU.At))
	}
	if c.nic.RateGbps > 0 && c.RateGbps != nil && c.nic.RateGbps != c.RateGbps.Is {
		out = append(out, c.bad(fmt.Sprintf("%s runs at %g Gb/s, %s is set to %g.", c.host, c.nic.RateGbps, c.far(), c.RateGbps.Is), "the link is slower than planned, or goes down with the next change", c.RateGbps.At))
	}
	if c.nic.QoS == nil {
		return append(out, onNIC(c.host, fabric.Unknown, "what this NIC does with classes of traffic was not read, so that the ends cannot be compared"))
	}
	if c.nic.MTU == 0 || c.MTU == nil {
		out = append(out, onNIC(c.host, fabric.Unknown, "the MTU of one of the two ends was not read"))
	}
	pauses := c.pauses()
	out = append(out, pauses...)
	if slices.ContainsFunc(pauses, func(f fabric.Finding) bool { return f.Status == fabric.Fail }) {
		return out // which packets are dropped follows from it
	}
	out = append(out, c.markings()...)
	return append(out, c.classes()...)
}

func (c cable) far() string { return c.of.Name + ":" + c.name() }

func (c cable) bad(why, cost string, at ...fabric.Line) fabric.Finding {
	f := onNIC(c.host, fabric.Fail, why, at...)
	f.Evidence = append(f.Evidence, fabric.Evidence{Source: "facts of " + c.host.Node, Value: c.qosWords()})
	f.Cost = cost
	f.Fix = "set the end that differs from the plan: nic-* and switch-* rules name it"
	return f
}

func (c cable) qosWords() string {
	q := c.nic.QoS
	if q == nil {
		return "not read"
	}
	text := "trust " + q.Trust
	if p, ok := q.DSCP[c.roce.DSCP]; ok {
		text += fmt.Sprintf(", DSCP %d in priority %d", c.roce.DSCP, p)
	}
	if q.PFC != nil {
		text += ", PFC on " + numbers(*q.PFC)
	}
	return text
}

// pauses compares the priorities with PFC of both ends.
func (c cable) pauses() []fabric.Finding {
	q := c.nic.QoS
	if q.PFC == nil || c.PFC == nil {
		return []fabric.Finding{onNIC(c.host, fabric.Unknown, "the priorities with PFC of one of the two ends were not read")}
	}
	var nic, port []int // that only one end has
	for priority := range 8 {
		switch has, far := slices.Contains(*q.PFC, priority), slices.Contains(c.PFC.Is, priority); {
		case has && !far:
			nic = append(nic, priority)
		case far && !has:
			port = append(port, priority)
		}
	}
	var why string
	switch {
	case len(nic) > 0 && len(port) > 0:
		why = fmt.Sprintf("%s has PFC on %s, %s on %s: neither obeys the pauses of the other.", c.host, priorities(nic), c.far(), priorities(port))
	case len(nic) > 0:
		why = fmt.Sprintf("%s has PFC on %s, %s does not: pauses of the NIC are ignored, and none is sent to it.", c.host, priorities(nic), c.far())
	case len(port) > 0:
		why = fmt.Sprintf("%s has PFC on %s, %s does not: the NIC goes on while it is paused.", c.far(), priorities(port), c.host)
	default:
		return nil
	}
	return []fabric.Finding{c.bad(why, dropCost, c.PFC.At)}
}

// markings judges the DSCP that the NIC sends with: only the one that the port protects is lossless.
func (c cable) markings() []fabric.Finding {
	m := c.nic.QoS.RoCE
	if m == nil || m.DSCP == nil || !c.roce.Lossless {
		return nil
	}
	t, ok := c.treatment(*m.DSCP)
	if !ok {
		return nil // classes says so
	}
	if is, known := c.lossless(t); known && !is {
		return []fabric.Finding{c.bad(fmt.Sprintf("%s sends RoCE with DSCP %d, which %s puts into class %s without pauses.", c.host, *m.DSCP, c.far(), className(t)), dropCost, lines(t)...)}
	}
	return nil
}

// classes compares the priority of the NIC's queue with the one that the port pauses.
func (c cable) classes() []fabric.Finding {
	switch {
	case !c.roce.Lossless:
		return nil // no pause stops the wrong packets
	case c.nic.QoS.Trust == "":
		return []fabric.Finding{onNIC(c.host, fabric.Unknown, "what this NIC classifies by was not read")}
	}
	var out []fabric.Finding
	for _, class := range []fabric.TrafficClass{c.roce, c.cnp} {
		t, ok := c.treatment(class.DSCP)
		if !ok || t.Pause == nil {
			out = append(out, onNIC(c.host, fabric.Unknown, "what "+c.far()+" does with packets of this NIC is in no text that was read", c.At))
			continue
		}
		is, known := c.lossless(t)
		if !known || !is {
			continue // no pauses are sent for them, or pauses says that this was not read
		}
		priority, known := c.nic.priority(class.DSCP)
		switch {
		case !known:
			out = append(out, onNIC(c.host, fabric.Unknown, fmt.Sprintf("the priority in which this NIC sends DSCP %d was not read", class.DSCP)))
		case t.Pause.Is != priority:
			out = append(out, c.bad(fmt.Sprintf("%s sends DSCP %d in priority %d, %s pauses it with %d: the pause stops other packets of the NIC.", c.host, class.DSCP, priority, c.far(), t.Pause.Is), pauseCost, lines(t)...))
		}
	}
	return out
}

// priority is that of packets without a VLAN tag of a DSCP.
func (n NICEnd) priority(dscp int) (priority int, known bool) {
	if n.QoS.Trust != "dscp" {
		return 0, true // by the tag, which these packets do not have
	}
	priority, listed := n.QoS.DSCP[dscp]
	return priority, listed || !n.FullMap && n.QoS.DSCP != nil
}
