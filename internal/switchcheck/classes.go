package switchcheck

import (
	"fmt"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about what a port does with packets that come in.

func classesRule() Rule {
	return Rule{
		ID:        "switch-classes",
		Title:     "Switches put RoCE into its planned class",
		Doc:       "follows the DSCP of RoCE through each port's maps: the class, the queue, and the priority of the pauses that protect it, against the plan",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.5; IEEE 802.1Q, 36",
		DependsOn: []string{"switch-pfc"},
		Judge:     eachSwitch(true, judgeClasses),
	}
}

func judgeClasses(s scene) []fabric.Finding {
	roce, ok := s.class("roce")
	if !ok {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no classes of traffic")}
	}
	want := fmt.Sprintf("DSCP %d lossless, with pauses of priority %d", roce.DSCP, roce.Priority)
	if !roce.Lossless {
		want = fmt.Sprintf("DSCP %d in class %d, without pauses", roce.DSCP, roce.Priority)
	}
	return s.eachPort(want, func(p port) []fabric.Finding {
		t, ok := p.treatment(roce.DSCP)
		if dark := !ok || t.Pause == nil || t.Queue == nil; dark && numbered(t) && t.Class.Is != strconv.Itoa(roce.Priority) {
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s has RoCE, DSCP %d, in class %s, the plan in %d.", p.name(), roce.DSCP, t.Class.Is, roce.Priority), want, dropCost, lines(t)...)}
		} else if dark {
			return []fabric.Finding{s.unknown(p.name(), "what it does with the DSCP of RoCE is in no text that was read", p.At)}
		}
		if f, wrong := s.trustsTags(p, roce); wrong {
			return []fabric.Finding{f}
		}
		is, known := p.lossless(t)
		switch {
		case roce.Lossless && !known:
			return []fabric.Finding{s.unknown(p.name(), "the priorities with PFC are in no text that was read", p.At)}
		case roce.Lossless && t.Pause.Is < 0:
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s puts DSCP %d, RoCE, into class %s and queue %d, which no pause protects.", p.name(), roce.DSCP, className(t), t.Queue.Is), want, dropCost, lines(t)...)}
		case roce.Lossless && t.Pause.Is != roce.Priority:
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s pauses RoCE, DSCP %d, with priority %d; the NICs send it in %d.", p.name(), roce.DSCP, t.Pause.Is, roce.Priority), want, pauseCost, lines(t)...)}
		case !roce.Lossless && is:
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s pauses senders of RoCE (priority %d); the plan is lossy RoCE.", p.name(), t.Pause.Is), want, "pauses spread through a network that was planned without them", lines(t)...)}
		case !roce.Lossless && numbered(t) && t.Class.Is != strconv.Itoa(roce.Priority):
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s has RoCE, DSCP %d, in class %s, the plan in %d.", p.name(), roce.DSCP, t.Class.Is, roce.Priority), want, "RoCE shares a queue with other traffic", lines(t)...)}
		}
		return nil
	})
}

// trustsTags reports a port that does not look at DSCP: RoCE without a VLAN tag is then as all other packets.
func (s scene) trustsTags(p port, roce fabric.TrafficClass) (fabric.Finding, bool) {
	if p.Trust == nil || p.Trust.Is == "dscp" {
		return fabric.Finding{}, false
	}
	return s.fail(p.name(), fmt.Sprintf("%s does not look at DSCP (trust %s): RoCE without a VLAN tag is in the class of all other packets.", p.name(), p.Trust.Is),
		fmt.Sprintf("DSCP %d decides", roce.DSCP), dropCost, p.Trust.At), true
}

func className(t fabric.Treatment) string {
	if t.Class == nil {
		return "unknown"
	}
	return t.Class.Is
}

// numbered reports whether classes of the OS have numbers, which then are those of priorities.
func numbered(t fabric.Treatment) bool {
	if t.Class == nil {
		return false
	}
	_, err := strconv.Atoi(t.Class.Is)
	return err == nil
}

func cnpRule() Rule {
	return Rule{
		ID:        "switch-cnp",
		Title:     "Switches keep congestion notifications apart, before all other packets",
		Doc:       "follows the DSCP of CNPs through each port's maps: not in RoCE's queue, never paused, in the planned class, in a strict queue. Without marking there are none",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.5; IEEE 802.1Qcd; docs/roce.md",
		Judge:     eachSwitch(true, judgeCNP),
	}
}

func judgeCNP(s scene) []fabric.Finding {
	cnp, ok := s.class("cnp")
	roce, _ := s.class("roce")
	if !ok || roce.ECN == nil {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "no packets are marked in this plan, so that no congestion notifications are sent")}
	}
	want := fmt.Sprintf("DSCP %d in class %d, strict and never paused", cnp.DSCP, cnp.Priority)
	return s.eachPort(want, func(p port) []fabric.Finding {
		t, ok := p.treatment(cnp.DSCP)
		if !ok || t.Queue == nil || t.Pause == nil {
			return []fabric.Finding{s.unknown(p.name(), "what it does with the DSCP of congestion notifications is in no text that was read", p.At)}
		}
		bad := func(why string, at ...fabric.Line) []fabric.Finding {
			return []fabric.Finding{s.fail(p.name(), why, want, delayCost, append(lines(t), at...)...)}
		}
		if r, ok := p.treatment(roce.DSCP); ok && r.Queue != nil && r.Queue.Is == t.Queue.Is {
			return bad(fmt.Sprintf("%s has DSCP %d, congestion notifications, in queue %d with RoCE.", p.name(), cnp.DSCP, t.Queue.Is))
		}
		if is, known := p.lossless(t); known && is {
			return bad(fmt.Sprintf("%s pauses DSCP %d, congestion notifications, with priority %d.", p.name(), cnp.DSCP, t.Pause.Is))
		}
		if numbered(t) && t.Class.Is != strconv.Itoa(cnp.Priority) {
			return bad(fmt.Sprintf("%s has DSCP %d, congestion notifications, in class %s, the plan in %d.", p.name(), cnp.DSCP, t.Class.Is, cnp.Priority))
		}
		q := p.Queues[t.Queue.Is&7]
		switch {
		case q == nil || q.Algorithm == nil:
			return []fabric.Finding{s.unknown(p.name(), "how the queue of congestion notifications is served is in no text that was read", t.Queue.At)}
		case q.Algorithm.Is != "strict":
			return bad(fmt.Sprintf("%s serves queue %d, congestion notifications, in turn with others (%s).", p.name(), t.Queue.Is, q.Algorithm.Is), q.Algorithm.At)
		}
		return nil
	})
}

func othersRule() Rule {
	return Rule{
		ID:        "switch-others",
		Title:     "Nothing but RoCE is in the lossless class",
		Doc:       "follows every other DSCP and each VLAN priority through each port's maps: none is paused, none is in RoCE's queue",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; IEEE 802.1Q, 36.1.1; docs/roce.md",
		Judge:     eachSwitch(true, judgeOthers),
	}
}

func judgeOthers(s scene) []fabric.Finding {
	roce, ok := s.class("roce")
	if !ok {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no classes of traffic")}
	}
	cnp, _ := s.class("cnp")
	want := fmt.Sprintf("DSCP %d alone in its queue", roce.DSCP)
	return s.eachPort(want, func(p port) []fabric.Finding {
		mine, ok := p.treatment(roce.DSCP)
		if !ok {
			return []fabric.Finding{s.unknown(p.name(), "what it does with other packets is in no text that was read", p.At)}
		}
		if p.Trust.Is != "dscp" {
			return nil // switch-classes says so: no DSCP decides anything there
		}
		var guests, dark []int
		var at []fabric.Line
		for dscp := range p.DSCP {
			if dscp == roce.DSCP || dscp == cnp.DSCP && roce.ECN != nil {
				continue
			}
			t := p.DSCP[dscp]
			is, known := p.lossless(t)
			if !known || t.Queue == nil {
				dark = append(dark, dscp)
			}
			if is || mine.Queue != nil && t.Queue != nil && mine.Queue.Is == t.Queue.Is {
				guests = append(guests, dscp)
				if l := lines(t); len(at) < 6 && !slices.Contains(at, l[0]) {
					at = append(at, l[0])
				}
			}
		}
		switch {
		case len(guests) == 0 && len(dark) > 0:
			return []fabric.Finding{s.unknown(p.name(), "what it does with DSCP "+numbers(dark)+" is in no text that was read", p.At)}
		case len(guests) == 0:
			return nil
		}
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s has DSCP %s in lossless or RoCE's queues, too.", p.name(), numbers(guests)), want, shareCost, at...)}
	})
}

func rewriteRule() Rule {
	return Rule{
		ID:        "switch-rewrite",
		Title:     "Packets leave a switch with the DSCP that they came with",
		Doc:       "reports a rewrite of the DSCP of RoCE's or the notifications' class: the next switch, or the NIC, then puts the packets into another class",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.5.1, whose map rewrites and classifies nothing",
		Judge:     eachSwitch(true, judgeRewrite),
	}
}

func judgeRewrite(s scene) []fabric.Finding {
	return s.eachPort("no rewrite", func(p port) []fabric.Finding {
		if p.Rewrite == nil && !s.configured() {
			return []fabric.Finding{s.unknown(p.name(), "whether it rewrites DSCP is in no text that was read", p.At)}
		}
		var out []fabric.Finding
		for _, name := range []string{"roce", "cnp"} {
			c, ok := s.class(name)
			if !ok {
				continue
			}
			t, ok := p.treatment(c.DSCP)
			if !ok || t.Class == nil {
				return []fabric.Finding{s.unknown(p.name(), fmt.Sprintf("the class of DSCP %d is in no text that was read, and with it whether it is rewritten", c.DSCP), p.At)}
			}
			if to, ok := p.Rewrite[t.Class.Is]; ok && to.Is != c.DSCP {
				out = append(out, s.fail(p.name(), fmt.Sprintf("%s sends packets of class %s, in which DSCP %d is, out with DSCP %d.", p.name(), t.Class.Is, c.DSCP, to.Is),
					fmt.Sprintf("DSCP %d unchanged", c.DSCP), "the next hop puts them into another class: "+dropCost, to.At))
			}
		}
		return out
	})
}
