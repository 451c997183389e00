package check

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
)

// Rules that compare what each NIC does with traffic classes with the plan. A class that the two ends of a cable treat
// differently is found by its drops only, under load, days later.

const (
	lossCost  = "after each dropped packet RoCE sends everything from there again: under load a fraction of the line rate, and completion status 12 where retries run out"
	delayCost = "congestion notifications wait behind the data that they are to slow down, so that queues fill and PFC stops whole ports instead"
)

// roceIntent is what a plan says of the packets of RoCE.
type roceIntent struct {
	roce, cnp fabric.TrafficClass
	marked    bool // switches mark packets on congestion, and CNPs are sent
	share     int  // percent; 0: not said
}

func (in NodeInput) roceIntent() roceIntent {
	t := in.Plan.Traffic
	w := roceIntent{share: t.Share}
	for _, c := range t.Classes {
		switch c.Name {
		case "roce":
			w.roce = c
		case "cnp":
			w.cnp = c
		}
	}
	w.marked = w.roce.ECN != nil && w.cnp.Name != ""
	return w
}

// eachQoS judges what each Ethernet NIC of the fabric reports; where no tool told anything of any of them, that is one verdict.
func (in NodeInput) eachQoS(what string, judge func(n *fabric.NIC, q *fabric.QoS) Verdict) []Verdict {
	in.noteLostQoS()
	read := false
	for _, name := range in.ethernet() {
		if n, ok := in.nic(name); ok {
			read = read || n.QoS != nil
		}
	}
	if first, ok := in.firstNIC(); ok && !read {
		return in.asNode(Verdict{Why: in.why(what+" of the NICs of "+in.Facts.Node+" was not read: `"+nic.ShowQoS(*first)+"` tells it", fabric.FactNICQoS, fabric.FactNICQoS+" "+first.Name)})
	}
	return in.each(in.ethernet(), func(n *fabric.NIC) Verdict {
		q := n.QoS
		if q == nil {
			q = &fabric.QoS{}
		}
		v := judge(n, q)
		if v.Status == fabric.Unknown && v.Expected == "" {
			v.Why = in.why(v.Why, fabric.FactNICQoS+" "+n.Name, fabric.FactNICQoS)
		}
		return v
	})
}

// noteLostQoS marks what sources did not tell of traffic classes: the rules of this file report it where it matters.
func (in NodeInput) noteLostQoS() {
	in.missing(fabric.FactNICQoS)
	for _, name := range in.ethernet() {
		in.missing(fabric.FactNICQoS + " " + name)
	}
}

func (in NodeInput) firstNIC() (*fabric.NIC, bool) {
	for _, name := range in.ethernet() {
		if n, ok := in.nic(name); ok {
			return n, true
		}
	}
	return nil, false
}

// qosSource names where the QoS of a NIC comes from.
func qosSource(q *fabric.QoS) string { return strings.Join(q.Sources, ", ") }

func unread(n *fabric.NIC, node, what, command string) Verdict {
	return Verdict{Why: what + " of " + node + ":" + n.Name + " was not read: `" + command + "` tells it"}
}

func nicClasses() Rule {
	return Rule{
		ID:        "nic-classes",
		Title:     "NICs put RoCE and CNPs into their planned priorities",
		Doc:       "compares how each planned NIC classifies with the plan: by DSCP, and the priorities of the DSCP values of RoCE and, where switches mark packets, of congestion notifications",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.5 and 2.6 no. 2; IEEE 802.1Qcd",
		Facts:     []string{fabric.FactNICQoS},
		Scope:     []Condition{withPlan(), onRoCE(), withTraffic(), withHardware(), onHost()},
		DependsOn: []string{"nic-present", "nic-dcbx"},
		Node:      judgeNICClasses,
	}
}

func judgeNICClasses(in NodeInput) []Verdict {
	w := in.roceIntent()
	expected := fmt.Sprintf("DSCP %d in priority %d", w.roce.DSCP, w.roce.Priority)
	if w.marked {
		expected += fmt.Sprintf(", %d in %d", w.cnp.DSCP, w.cnp.Priority)
	}
	return in.eachQoS("what DSCP values do", func(n *fabric.NIC, q *fabric.QoS) Verdict {
		name := in.Facts.Node + ":" + n.Name
		v := Verdict{Expected: expected, Evidence: []fabric.Evidence{saw(qosSource(q), "trust "+orWord(q.Trust, "not read")+dscpWords(q, w))}, Cost: lossCost,
			Fix: onNode(nic.SetPriority(*n, w.roce.DSCP, w.roce.Priority), in.Facts.Node)}
		switch q.Trust {
		case "":
			return unread(n, in.Facts.Node, "what packets are classified by", nic.ShowQoS(*n))
		case "pcp":
			v.Status = fabric.Fail
			v.Why = name + " does not look at DSCP: RoCE without a VLAN tag is in priority 0, with all other traffic."
			if cause, said := in.firmwareHolds(n); cause {
				v.Cause, v.Why = fabric.CauseFirmwareDCBX, v.Why+" "+said
				v.Fix = onNode(firmwareFix(*n), in.Facts.Node)
			}
			return v
		}
		priority, known := priorityOf(q, w.roce.DSCP)
		cnp, cnpKnown := priorityOf(q, w.cnp.DSCP)
		switch {
		case known && priority != w.roce.Priority:
			v.Status = fabric.Fail
			v.Why = fmt.Sprintf("%s has DSCP %d, RoCE, in priority %d, the plan in %d.", name, w.roce.DSCP, priority, w.roce.Priority)
		case w.marked && cnpKnown && cnp != w.cnp.Priority:
			v.Status, v.Cost = fabric.Fail, delayCost
			v.Why = fmt.Sprintf("%s has DSCP %d, congestion notifications, in priority %d, the plan in %d.", name, w.cnp.DSCP, cnp, w.cnp.Priority)
			v.Fix = onNode(nic.SetPriority(*n, w.cnp.DSCP, w.cnp.Priority), in.Facts.Node)
		case !known || w.marked && !cnpKnown:
			return unread(n, in.Facts.Node, "priorities of DSCP values", nic.ShowQoS(*n))
		default:
			return pass(expected, v.Evidence...)
		}
		return v
	})
}

func dscpWords(q *fabric.QoS, w roceIntent) string {
	out := ""
	for _, dscp := range []int{w.roce.DSCP, w.cnp.DSCP} {
		if p, ok := q.DSCP[dscp]; ok {
			out += fmt.Sprintf(", DSCP %d in priority %d", dscp, p)
		}
	}
	return out
}

// priorityOf returns the priority of a DSCP value. One that is not in a table of those that were set is in 0; in a table of
// all values it was not read.
func priorityOf(q *fabric.QoS, dscp int) (priority int, known bool) {
	if p, ok := q.DSCP[dscp]; ok {
		return p, true
	}
	if len(q.DSCP) == 0 || slices.ContainsFunc(q.Sources, nic.FullMap) {
		return 0, false
	}
	return 0, true
}

// firmwareHolds reports whether the firmware of a NIC is seen to keep its traffic classes from the host.
func (in NodeInput) firmwareHolds(n *fabric.NIC) (bool, string) {
	for _, o := range nic.FirmwareDCBX(*n) {
		if o.On != nil && *o.On {
			return true, "Its firmware negotiates them: " + o.Option + " is " + o.Value + "."
		}
	}
	if n.QoS != nil && n.QoS.DCBX == "firmware" {
		return true, "Its firmware negotiates them (DCBX)."
	}
	if h, ok := in.hcaOf(n); ok && in.Facts.KernelLog != nil {
		for _, line := range in.Facts.KernelLog.Lines {
			if strings.Contains(line, h.Name+":") && strings.Contains(line, "Fail to setets") {
				return true, "The driver could not set them: " + fabric.Printable(line) + "."
			}
		}
	}
	return false, ""
}

// firmwareFix is what takes the traffic classes from the firmware.
func firmwareFix(n fabric.NIC) string {
	var out []string
	for _, o := range nic.FirmwareDCBX(n) {
		if o.On == nil || *o.On {
			out = append(out, o.Set())
		}
	}
	return strings.Join(append(out, "reboot"), "; ")
}

func nicPFC() Rule {
	return Rule{
		ID:    "nic-pfc",
		Title: "NICs pause exactly the priority of RoCE",
		Doc: "compares the priorities on which each NIC of the fabric has PFC with the plan: RoCE's and no other, or none where the plan's RoCE is lossy. Without a plan, " +
			"with the priority that the NIC itself sends RoCE with",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRoCELossy,
		Reference: "the plan; Broadcom RoCE guide 2.5; IEEE 802.1Qbb",
		Facts:     []string{fabric.FactNICQoS},
		Scope:     []Condition{onRoCE(), withTraffic(), withHardware(), withRDMA(), onHost()},
		DependsOn: []string{"nic-present", "nic-dcbx", "nic-classes"},
		Node:      judgeNICPFC,
	}
}

func judgeNICPFC(in NodeInput) []Verdict {
	if in.Plan == nil {
		return in.eachQoS("on which priorities PFC is", in.judgeOwnPFC)
	}
	w := in.roceIntent()
	want := []int{}
	if w.roce.Lossless {
		want = []int{w.roce.Priority}
	}
	expected := "PFC on " + listWords(want)
	return in.eachQoS("on which priorities PFC is", func(n *fabric.NIC, q *fabric.QoS) Verdict {
		if q.PFC == nil {
			return unread(n, in.Facts.Node, "on which priorities PFC is", nic.ShowQoS(*n))
		}
		v := Verdict{Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{saw(qosSource(q), "PFC on "+listWords(*q.PFC))},
			Fix: onNode(nic.SetPFC(*n, want), in.Facts.Node)}
		name := in.Facts.Node + ":" + n.Name
		var extra []int
		for _, p := range *q.PFC {
			if !slices.Contains(want, p) {
				extra = append(extra, p)
			}
		}
		switch {
		case w.roce.Lossless && !slices.Contains(*q.PFC, w.roce.Priority):
			v.Why = fmt.Sprintf("%s has PFC on %s, RoCE is in priority %d: it is dropped where a queue is full.", name, listWords(*q.PFC), w.roce.Priority)
			v.Cost = lossCost
		case slices.Contains(extra, w.cnp.Priority) && w.marked:
			v.Cause, v.Cost = fabric.CauseQoSClassMismatch, delayCost
			v.Why = fmt.Sprintf("%s has PFC on priority %d too, that of congestion notifications: a pause stops them.", name, w.cnp.Priority)
		case len(extra) > 0:
			v.Cause, v.Cost = fabric.CauseQoSClassMismatch, "other traffic stops with pauses that the switch does not expect, and a switch without buffers for them pauses or drops in turn"
			v.Why = fmt.Sprintf("%s has PFC on %s, the plan on %s.", name, listWords(*q.PFC), listWords(want))
		default:
			return pass(expected, v.Evidence...)
		}
		return v
	})
}

// judgeOwnPFC compares a NIC with itself.
func (in NodeInput) judgeOwnPFC(n *fabric.NIC, q *fabric.QoS) Verdict {
	name := in.Facts.Node + ":" + n.Name
	m, cnp, source := in.markings(n, q)
	switch {
	case q.PFC == nil:
		return unread(n, in.Facts.Node, "on which priorities PFC is", nic.ShowQoS(*n))
	case m == nil:
		return unread(n, in.Facts.Node, "with what RoCE leaves", nic.ShowMarking(*n))
	case m.DSCP == nil && m.Priority == nil:
		return Verdict{Status: fabric.NotApplicable, Why: name + " sets neither DSCP nor priority of RoCE: the application does (NCCL_IB_TC)"}
	}
	priority, known := ownPriority(q, m)
	seen := saw(source, fmt.Sprintf("PFC on %s, RoCE in priority %d", listWords(*q.PFC), priority))
	switch expected := "PFC on the priority that RoCE leaves with"; {
	case !known:
		return unread(n, in.Facts.Node, "in which priority RoCE is", nic.ShowQoS(*n))
	case slices.Contains(*q.PFC, priority) && pausesCNPs(q, m, cnp, priority):
		return Verdict{
			Status: fabric.Fail, Expected: "CNPs in a priority of their own", Evidence: []fabric.Evidence{seen},
			Cost: "the notification that is to end the congestion is paused by it",
			Why:  fmt.Sprintf("%s has CNPs in priority %d, with RoCE and with PFC.", name, priority),
			Fix:  onNode("give CNPs another priority, the same on every NIC and switch (fabric.traffic.cnp of a cluster file)", in.Facts.Node),
		}
	case slices.Contains(*q.PFC, priority):
		return pass(expected, seen)
	case len(*q.PFC) == 0:
		return Verdict{Expected: expected, Evidence: []fabric.Evidence{seen}, Why: name + " has PFC on no priority, and without a cluster file it is unknown whether its RoCE is to be lossless"}
	default:
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen}, Cost: lossCost,
			Why: fmt.Sprintf("%s sends RoCE in priority %d and has PFC on %s: the pauses are for other traffic, and RoCE is dropped.", name, priority, listWords(*q.PFC)),
			Fix: onNode(nic.SetPFC(*n, []int{priority}), in.Facts.Node),
		}
	}
}

// ownPriority is the priority that a NIC gives to what it sends with a marking.
func ownPriority(q *fabric.QoS, m *fabric.Marking) (priority int, known bool) {
	switch {
	case m.DSCP != nil && q.Trust == "dscp":
		return priorityOf(q, *m.DSCP)
	case m.Priority != nil:
		return *m.Priority, true
	}
	return 0, false
}

// pausesCNPs reports whether CNPs are known to be in the priority of RoCE. Where they are is often in no answer of a NIC, and
// then nothing is said of them.
func pausesCNPs(q *fabric.QoS, roce, cnp *fabric.Marking, priority int) bool {
	if cnp == nil || cnp == roce {
		return false
	}
	of, known := ownPriority(q, cnp)
	return known && of == priority
}

func listWords(priorities []int) string { return string(appendPriorities(nil, priorities)) }

func appendPriorities(b []byte, priorities []int) []byte {
	switch len(priorities) {
	case 0:
		return append(b, "no priority"...)
	case 1:
		b = append(b, "priority "...)
	default:
		b = append(b, "priorities "...)
	}
	return appendNumbers(b, priorities, ", ")
}

func nicPause() Rule {
	return Rule{
		ID:        "nic-pause",
		Title:     "The link as a whole is not paused",
		Doc:       "looks for global pause (IEEE 802.3 Annex 31B) on planned NICs whose RoCE is lossless by PFC: it stops every class, and most NICs and switches then ignore PFC",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "IEEE 802.1Qbb, 1.3; ethtool(8), -a; NVIDIA MLNX_OFED, Flow Control",
		Facts:     []string{fabric.FactNICQoS},
		Scope:     []Condition{withPlan(), onRoCE(), withTraffic(), withHardware(), onHost()},
		DependsOn: []string{"nic-present"},
		Node:      judgeNICPause,
	}
}

func judgeNICPause(in NodeInput) []Verdict {
	if !in.roceIntent().roce.Lossless {
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "the plan's RoCE is lossy: it needs no PFC"})
	}
	const expected = "off in both directions"
	return in.eachQoS("whether the link as a whole is paused", func(n *fabric.NIC, q *fabric.QoS) Verdict {
		name := fabric.ShellWord(n.Name)
		switch {
		case q.Pause == nil:
			return unread(n, in.Facts.Node, "whether the link as a whole is paused", "ethtool -a "+name)
		case !*q.Pause:
			return pass(expected, saw("ethtool -a "+n.Name, "off"))
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{saw("ethtool -a "+n.Name, "on")},
			Why:  in.Facts.Node + ":" + n.Name + " has global pause on, which stops every class, and with which PFC does not run.",
			Cost: "all traffic of the port stops with RoCE, congestion notifications too; on most hardware there is no PFC at all",
			Fix:  in.untilBoot("ethtool -A " + name + " rx off tx off"),
		}
	})
}
