package switchcheck

import (
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/lossless"
)

func losslessRule() Rule {
	return Rule{
		ID:    "lossless-path",
		Title: "RoCE is lossless from NIC to NIC, and nothing else is",
		Doc: "follows packets of every DSCP from every NIC to every other through the texts of the switches: RoCE in one lossless queue that marks at every hop, with pauses that the sender obeys; " +
			"congestion notifications in a strict one; nothing else in the lossless class; no circle in which pauses wait for each other. Else a packet is the counterexample, with the line at each hop",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRoCELossy,
		Reference: "IEEE 802.1Q, 36; RFC 3168; Dally and Seitz 1987 on cycles of buffers; docs/roce.md",
		Judge:     judgeLossless,
	}
}

func judgeLossless(in *Input) []fabric.Finding {
	none := func(why string) []fabric.Finding {
		return []fabric.Finding{{Status: fabric.NotApplicable, Subject: fabric.ClusterSubject(), Why: why}}
	}
	if in.Plan == nil {
		return none("needs a cluster file")
	}
	intent, ok := lossless.IntentOf(in.Plan.Traffic)
	switch {
	case in.NICs == nil:
		return none("no facts of hosts are part of this check: a way begins and ends at a NIC")
	case !ok:
		return none("the plan has no classes of traffic")
	}
	configs := make(map[string]*fabric.SwitchConfig, len(in.Configs))
	for _, c := range in.Configs {
		if c.Missing == "" || len(c.Texts) > 0 {
			configs[c.Name] = c
		}
	}
	nics := make(map[fabric.Endpoint]lossless.NICConfig, len(in.NICs))
	for e, n := range in.NICs {
		c := lossless.NICConfig{QoS: n.QoS, FullMap: n.FullMap}
		if n.MTU > 0 {
			c.MTU = &n.MTU
		}
		nics[e] = c
	}
	return findingsOf(lossless.Prove(lossless.FromPlan(in.Plan, configs, nics), intent))
}

func findingsOf(r lossless.Result) []fabric.Finding {
	var out []fabric.Finding
	for _, c := range r.Counterexamples {
		out = append(out, counterexample(c))
	}
	for _, g := range r.Unknown {
		f := fabric.Finding{Status: fabric.Unknown, Subject: subjectOf(g.At), Why: g.What}
		if g.Places > 1 {
			f.Why += fmt.Sprintf(" (and %d more)", g.Places-1)
		}
		out = append(out, f)
	}
	if len(out) > 0 {
		return out
	}
	f := fabric.Finding{Status: r.Verdict, Subject: fabric.ClusterSubject(), Why: r.Why}
	if r.Verdict == fabric.Pass {
		f.Expected = "lossless from NIC to NIC"
		f.Evidence = []fabric.Evidence{
			{Source: "texts of switches and facts of NICs", Value: fmt.Sprintf("%d kinds of packets and ways judged, %d classes of ports and NICs", r.Walked, r.Classes)},
			{Source: "what this leaves open", Value: lossless.NotProved},
		}
		if r.Islands > 1 {
			f.Evidence = append(f.Evidence, fabric.Evidence{Source: "the plan", Value: fmt.Sprintf("%d parts without a cable between them: nothing was followed from one to another", r.Islands)})
		}
	}
	return []fabric.Finding{f}
}

func counterexample(c lossless.Counterexample) fabric.Finding {
	packet := fmt.Sprintf("DSCP %d from %s to %s", c.Packet.DSCP, c.Packet.From, c.Packet.To)
	if c.Packet.PCP >= 0 {
		packet += ", tagged with priority " + strconv.Itoa(c.Packet.PCP)
	}
	f := fabric.Finding{Status: fabric.Fail, Subject: fabric.ClusterSubject(), Why: c.Why, Expected: "lossless from NIC to NIC"}
	f.Evidence = []fabric.Evidence{{Source: "packet", Value: packet}}
	for i, h := range c.Hops {
		e := fabric.Evidence{Source: h.At.String(), Value: h.Does}
		for _, l := range quote(h.Line) {
			e.Source += ", " + l.Source
			if l.Value != h.Does {
				e.Value += ": " + l.Value
			}
		}
		f.Evidence = append(f.Evidence, e)
		if i == len(c.Hops)-1 {
			f.Subject = subjectOf(h.At)
		}
	}
	if c.Places > 1 || len(c.DSCPs) > 1 {
		f.Evidence = append(f.Evidence, fabric.Evidence{Source: "the same fault", Value: fmt.Sprintf("DSCP %s, %d ports", numbers(c.DSCPs), c.Places)})
	}
	f.Cost = costOf(c.Kind)
	return f
}

func costOf(k lossless.Kind) string {
	switch k {
	case lossless.NoECN, lossless.Thresholds:
		return noMarkCost
	case lossless.NotStrict, lossless.CNPLossless:
		return delayCost
	case lossless.OtherLossless:
		return shareCost
	case lossless.OtherPriority, lossless.PauseOther:
		return pauseCost
	case lossless.SmallMTU:
		return "larger packets are dropped: RDMA ends with status 12, while small pings work"
	case lossless.CyclicPauses:
		return "all flows of the circle stop for ever, and with them those that meet them"
	}
	return dropCost
}

// subjectOf is where something was seen: a port of a switch, or a NIC; a finding says which by its evidence.
func subjectOf(e fabric.Endpoint) fabric.Subject {
	if e.Node == "" {
		return fabric.ClusterSubject()
	}
	return fabric.Subject{Kind: "port", Node: e.Node, Port: e.NIC}
}
