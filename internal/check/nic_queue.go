package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/nic"
)

func nicQueues() Rule {
	return Rule{
		ID:    "nic-queues",
		Title: "RoCE and CNPs have queues of their own, with their planned shares",
		Doc: "looks at the traffic classes of each planned NIC: RoCE apart from other traffic and from congestion notifications, these in a strict class, RoCE with the planned share " +
			"of the bandwidth or more, and shares that sum up to 100 %",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.5; IEEE 802.1Qaz",
		Facts:     []string{fabric.FactNICQoS},
		Scope:     []Condition{withPlan(), onRoCE(), withTraffic(), withHardware(), onHost()},
		DependsOn: []string{"nic-present", "nic-dcbx", "nic-classes"},
		Node:      judgeNICQueues,
	}
}

func judgeNICQueues(in NodeInput) []Verdict {
	w := in.roceIntent()
	expected := "RoCE in a queue of its own"
	if w.marked {
		expected += ", CNPs in a strict one"
	}
	if w.share > 0 {
		expected += fmt.Sprintf(", RoCE with %d %% or more", w.share)
	}
	return in.eachQoS("queues", func(n *fabric.NIC, q *fabric.QoS) Verdict {
		if len(q.Queues) < 8 || len(q.Schedulers) == 0 {
			return unread(n, in.Facts.Node, "traffic classes", nic.ShowQoS(*n))
		}
		roce, cnp := q.Queues[w.roce.Priority], q.Queues[w.cnp.Priority]
		v := Verdict{Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{saw(qosSource(q), queueWords(q, w))},
			Fix: onNode(nic.SetClasses(*n, w.roce.Priority, w.cnp.Priority, orShare(w.share)), in.Facts.Node)}
		name := in.Facts.Node + ":" + n.Name
		switch {
		case w.marked && roce == cnp:
			v.Why, v.Cost = fmt.Sprintf("%s has RoCE (priority %d) and congestion notifications (%d) in one queue, %d.", name, w.roce.Priority, w.cnp.Priority, roce), delayCost
			return v
		case w.roce.Priority != 0 && roce == q.Queues[0]:
			v.Why = fmt.Sprintf("%s has RoCE (priority %d) in queue %d, with priority 0 and whatever other traffic there is.", name, w.roce.Priority, roce)
			v.Cost = "RoCE gets no share of its own, and a pause of it stops other traffic too"
			return v
		}
		why, cost, known := schedulerFault(q, w, roce, cnp)
		switch {
		case why != "":
			v.Why, v.Cost = name+" "+why, cost
			return v
		case !known:
			return unread(n, in.Facts.Node, "schedulers of traffic classes", nic.ShowQoS(*n))
		}
		return pass(expected, v.Evidence...)
	})
}

// orShare is a share to propose: the guide's where the plan says none.
func orShare(percent int) int {
	const guide = 50 // percent: Broadcom RoCE guide 2.5
	if percent > 0 {
		return percent
	}
	return guide
}

func queueWords(q *fabric.QoS, w roceIntent) string {
	of := func(p int) string {
		s := schedulerAt(q, q.Queues[p])
		words := "priority " + strconv.Itoa(p) + " in queue " + strconv.Itoa(q.Queues[p]) + ", " + orWord(s.Algorithm, "scheduler not read")
		if s.Percent != nil && s.Algorithm == "ets" {
			words += " " + strconv.Itoa(*s.Percent) + " %"
		}
		return words
	}
	return of(w.roce.Priority) + "; " + of(w.cnp.Priority)
}

func schedulerAt(q *fabric.QoS, class int) fabric.Scheduler {
	if class < 0 || class >= len(q.Schedulers) {
		return fabric.Scheduler{}
	}
	return q.Schedulers[class]
}

// schedulerFault returns what is wrong with the schedulers; known is false where something of it was not read.
func schedulerFault(q *fabric.QoS, w roceIntent, roce, cnp int) (why, cost string, known bool) {
	r, c := schedulerAt(q, roce), schedulerAt(q, cnp)
	const starve = "a class gets less than planned as soon as others send"
	sum, complete, classes := 0, true, 0
	for _, class := range slices.Compact(slices.Sorted(slices.Values(q.Queues))) {
		s := schedulerAt(q, class)
		complete = complete && s.Algorithm != "" && (s.Algorithm != "ets" || s.Percent != nil)
		if s.Algorithm == "ets" && s.Percent != nil {
			sum, classes = sum+*s.Percent, classes+1
		}
	}
	switch {
	case w.marked && c.Algorithm != "" && c.Algorithm != "strict":
		return fmt.Sprintf("schedules congestion notifications (queue %d) by %s, not strictly before data.", cnp, c.Algorithm), delayCost, true
	case w.share > 0 && r.Algorithm == "ets" && r.Percent != nil && *r.Percent < w.share:
		return fmt.Sprintf("gives RoCE (queue %d) %d %% of the bandwidth beside other traffic, the plan %d %%.", roce, *r.Percent, w.share),
			fmt.Sprintf("%d instead of %d %% of the line rate while other traffic runs", *r.Percent, w.share), true
	case w.share > 0 && r.Algorithm == "vendor":
		return fmt.Sprintf("schedules RoCE (queue %d) by the vendor's own rule, without the planned share of %d %%.", roce, w.share), starve, true
	case complete && classes > 0 && sum != 100:
		return fmt.Sprintf("has shares that sum up to %d %%.", sum), starve, true
	}
	return "", "", complete && r.Algorithm != "" && (!w.marked || c.Algorithm != "")
}

func nicMarking() Rule {
	return Rule{
		ID:    "nic-marking",
		Title: "NICs send RoCE and CNPs with their planned DSCP",
		Doc: "compares the DSCP value that each planned NIC writes into RDMA packets and, where switches mark packets, DSCP and priority of the congestion notifications that it sends, with the plan: " +
			"the switches put packets into classes by it",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.5; NVIDIA MLNX_OFED, Explicit Congestion Notification",
		Facts:     []string{fabric.FactNICQoS, fabric.FactNICFile},
		Scope:     []Condition{withPlan(), onRoCE(), withTraffic(), withHardware(), onHost()},
		DependsOn: []string{"nic-present", "nic-dcbx", "nic-classes"},
		Node:      judgeNICMarking,
	}
}

func judgeNICMarking(in NodeInput) []Verdict {
	w := in.roceIntent()
	expected := fmt.Sprintf("RoCE with DSCP %d", w.roce.DSCP)
	if w.marked {
		expected += fmt.Sprintf(", CNPs with %d", w.cnp.DSCP)
	}
	return in.eachQoS("with what RoCE leaves", func(n *fabric.NIC, q *fabric.QoS) Verdict {
		roce, cnp, source := in.markings(n, q)
		v := Verdict{Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{saw(source, "RoCE "+markWords(roce)+"; CNPs "+markWords(cnp))},
			Fix: onNode(nic.SetMarking(*n, w.roce.DSCP, w.cnp.DSCP), in.Facts.Node), Cost: lossCost}
		name := in.Facts.Node + ":" + n.Name
		switch {
		case roce == nil:
			return unread(n, in.Facts.Node, "with what RoCE leaves", nic.ShowMarking(*n))
		case roce.DSCP == nil && roce.Priority == nil:
			v.Why = name + " sets no DSCP: RoCE leaves with what each application asks for, 0 by default."
		case roce.DSCP == nil:
			return unread(n, in.Facts.Node, "the DSCP of RoCE", nic.ShowMarking(*n))
		case *roce.DSCP != w.roce.DSCP:
			v.Why = fmt.Sprintf("%s sends RoCE with DSCP %d, the plan says %d: switches put it into another class.", name, *roce.DSCP, w.roce.DSCP)
		case !w.marked:
			return pass(expected, v.Evidence...)
		case cnp == nil || cnp.DSCP == nil:
			return unread(n, in.Facts.Node, "with what congestion notifications leave", nic.ShowMarking(*n))
		case *cnp.DSCP != w.cnp.DSCP:
			v.Why, v.Cost = fmt.Sprintf("%s sends congestion notifications with DSCP %d, the plan says %d: they travel in another class than the switches keep for them.", name, *cnp.DSCP, w.cnp.DSCP), delayCost
		case cnp.Priority != nil && *cnp.Priority != w.cnp.Priority:
			v.Why, v.Cost = fmt.Sprintf("%s sends congestion notifications in priority %d, the plan says %d.", name, *cnp.Priority, w.cnp.Priority), delayCost
		default:
			return pass(expected, v.Evidence...)
		}
		return v
	})
}

// markings returns what a NIC writes into packets. Where its driver shows nothing of it, and hides nothing, the file that the
// driver was set up from says it, as far as the priorities that it sets up together with it are in effect.
func (in NodeInput) markings(n *fabric.NIC, q *fabric.QoS) (roce, cnp *fabric.Marking, source string) {
	source = qosSource(q)
	if q.RoCE != nil || !nic.SetUpByFile(*n) || in.driverHides(n) {
		return q.RoCE, q.CNP, source
	}
	inEffect := func(m *fabric.Marking) *fabric.Marking {
		if m == nil || m.DSCP == nil || m.Priority == nil {
			return nil
		}
		if p, ok := q.DSCP[*m.DSCP]; !ok || p != *m.Priority {
			return nil
		}
		return m
	}
	roce, cnp = nic.FileMarking(in.Facts.NICFile)
	if roce, cnp = inEffect(roce), inEffect(cnp); roce != nil {
		source = nic.BnxtReConf + ", whose priorities are in effect (" + source + ")"
	}
	if q.CNP != nil {
		cnp = q.CNP
	}
	return roce, cnp, source
}

// driverHides reports whether files of a NIC's driver about its traffic classes are there and were not read: they may say
// something else than the file that it was set up from.
func (in NodeInput) driverHides(n *fabric.NIC) bool {
	return slices.ContainsFunc(in.Facts.Missing, func(m fabric.Missing) bool {
		return (m.What == fabric.FactNICQoS || m.What == fabric.FactNICQoS+" "+n.Name) && strings.HasPrefix(m.Source, "/sys/")
	})
}

func markWords(m *fabric.Marking) string {
	switch {
	case m == nil:
		return "not read"
	case m.DSCP == nil && m.Priority == nil:
		return "without a DSCP"
	case m.DSCP == nil:
		return "in priority " + strconv.Itoa(*m.Priority)
	case m.Priority == nil:
		return "with DSCP " + strconv.Itoa(*m.DSCP)
	}
	return "with DSCP " + strconv.Itoa(*m.DSCP) + " in priority " + strconv.Itoa(*m.Priority)
}

func nicECN() Rule {
	return Rule{
		ID:        "nic-ecn",
		Title:     "NICs react to marked packets of RoCE",
		Doc:       "looks, where the plan's switches mark packets on congestion, whether DCQCN runs on the priority of RoCE: one that does not slow down fills the queues of the others",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRoCELossy,
		Reference: "the plan; Broadcom RoCE guide 2.5; NVIDIA MLNX_OFED, Explicit Congestion Notification",
		Facts:     []string{fabric.FactNICQoS, fabric.FactNICOptions},
		Scope:     []Condition{withPlan(), onRoCE(), withTraffic(), withHardware(), onHost()},
		DependsOn: []string{"nic-present"},
		Node:      judgeNICECN,
	}
}

func judgeNICECN(in NodeInput) []Verdict {
	w := in.roceIntent()
	if !w.marked {
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "the plan's switches mark no packets: there is nothing to react to"})
	}
	expected := fmt.Sprintf("DCQCN on priority %d", w.roce.Priority)
	return in.eachQoS("whether NICs react to marked packets", func(n *fabric.NIC, q *fabric.QoS) Verdict {
		list, source := q.ECN, qosSource(q)
		if list == nil {
			list, source = nic.CongestionMask(*n), "stored options"
		}
		switch {
		case list == nil:
			v := in.judgeFileECN(n, q, expected)
			in.missing(fabric.FactNICOptions, fabric.FactNICOptions+" "+n.Name)
			return v
		case slices.Contains(*list, w.roce.Priority):
			return pass(expected, saw(source, "DCQCN on "+listWords(*list)))
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{saw(source, "DCQCN on "+listWords(*list))},
			Why:  fmt.Sprintf("%s:%s does not react to marked packets of priority %d, RoCE: it sends on at full rate where a queue grows.", in.Facts.Node, n.Name, w.roce.Priority),
			Cost: "incasts end in pauses that spread over the fabric, or in drops",
			Fix:  onNode(nic.SetECN(*n, w.roce.Priority), in.Facts.Node),
		}
	})
}

// judgeFileECN judges by the file of the driver, where the traffic classes that it sets up with it are in effect.
func (in NodeInput) judgeFileECN(n *fabric.NIC, q *fabric.QoS, expected string) Verdict {
	_, cnp, source := in.markings(n, q)
	on, ok := nic.FileCongestion(in.Facts.NICFile)
	if !ok || !nic.SetUpByFile(*n) || on && cnp == nil {
		return unread(n, in.Facts.Node, "whether it reacts to marked packets", nic.ShowECN(*n))
	}
	seen := saw(source, map[bool]string{true: "congestion control on", false: "congestion control off"}[on])
	if on {
		return pass(expected, seen)
	}
	return Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
		Why:  in.Facts.Node + ":" + n.Name + " is set up without congestion control: it sends on at full rate where a queue grows.",
		Cost: "incasts end in pauses that spread over the fabric, or in drops",
		Fix:  onNode(nic.SetECN(*n, 0), in.Facts.Node),
	}
}
