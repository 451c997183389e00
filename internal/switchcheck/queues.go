package switchcheck

import (
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about what goes out: marking and scheduling of queues.

func ecnRule() Rule {
	return Rule{
		ID:    "switch-ecn",
		Title: "RoCE's queue marks packets at the planned lengths, and no other queue does",
		Doc: "compares the marking of RoCE's queue at each port with the plan: on, its thresholds and probability; a profile without marking drops instead. " +
			"Without a plan: every lossless queue marks, from a minimum that is not above its maximum",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; Broadcom RoCE guide 2.5; RFC 3168; DCQCN",
		DependsOn: []string{"switch-classes"},
		Judge:     eachSwitch(false, judgeECN),
	}
}

const noMarkCost = "senders do not learn of congestion: PFC stops whole ports instead, and congestion spreads"

func judgeECN(s scene) []fabric.Finding {
	roce, planned := s.class("roce")
	switch {
	case s.withoutPFC():
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no classes of traffic, and no text has a priority with PFC: no queue is lossless")}
	case !planned || s.plan == nil:
		return s.eachPort("lossless queues mark", s.marksLossless)
	}
	return s.eachPort(s.markingWords(roce.ECN), func(p port) []fabric.Finding {
		t, ok := p.treatment(roce.DSCP)
		if !ok || t.Queue == nil {
			return []fabric.Finding{s.unknown(p.name(), "the queue of RoCE is in no text that was read", p.At)}
		}
		out := s.marks(p, t.Queue.Is, roce.ECN)
		for number, q := range p.Queues {
			if number != t.Queue.Is && q != nil && q.Marks != nil && q.Marks.ECN.Is {
				out = append(out, s.fail(p.name(), fmt.Sprintf("%s marks packets of queue %d, which is not RoCE's (queue %d).", p.name(), number, t.Queue.Is), ecnWords(roce.ECN),
					"TCP that uses ECN slows down there; nothing of RoCE is helped", q.Marks.ECN.At))
			}
		}
		return out
	})
}

func ecnWords(e *fabric.ECN) string {
	if e == nil {
		return "no marking"
	}
	return fmt.Sprintf("marks from %d to %d KiB, %d %%", e.MinBytes>>10, e.MaxBytes>>10, e.Percent)
}

// markingWords is what is expected of a switch: one whose OS has no thresholds marks, and that is all that can be compared.
func (s scene) markingWords(e *fabric.ECN) string {
	fixed := slices.ContainsFunc(s.of.Ports, func(p fabric.PortConfig) bool {
		return slices.ContainsFunc(p.Queues[:], func(q *fabric.QueueConfig) bool { return q != nil && q.Marks != nil && q.Marks.Fixed })
	})
	if e != nil && fixed {
		return "marks, from a length of the switch's own on: its OS has no thresholds to compare"
	}
	return ecnWords(e)
}

// marks judges the marking of RoCE's queue.
func (s scene) marks(p port, number int, want *fabric.ECN) []fabric.Finding {
	var m *fabric.QueueProfile
	if q := p.Queues[number&7]; q != nil {
		m = q.Marks
	}
	expected := ecnWords(want)
	switch {
	case m == nil:
		return []fabric.Finding{s.unknown(p.name(), fmt.Sprintf("whether queue %d marks packets is in no text that was read", number), p.At)}
	case want == nil && m.ECN.Is:
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s marks packets of queue %d; the plan marks none, and its NICs do not react.", p.name(), number), expected, "none while NICs do not react; the ends disagree", m.ECN.At)}
	case m.Drops:
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s drops packets of queue %d, RoCE's, before it is full, instead of marking them.", p.name(), number), expected, dropCost, m.ECN.At)}
	case want == nil:
		return nil
	case !m.ECN.Is:
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s does not mark packets of queue %d, RoCE's.", p.name(), number), expected, noMarkCost, m.ECN.At)}
	}
	if m.Fixed {
		return nil
	}
	out := s.order(p, number, m)
	r := s.renderedMarks(p, number)
	out = append(out, s.threshold(p, "from", m.Min, r.Min, want.MinBytes, want)...)
	out = append(out, s.threshold(p, "to", m.Max, r.Max, want.MaxBytes, want)...)
	if m.Percent != nil && m.Percent.Is != want.Percent {
		out = append(out, s.fail(p.name(), fmt.Sprintf("%s marks %d %% of the packets at the upper threshold, the plan %d %%.", p.name(), m.Percent.Is, want.Percent), expected,
			"senders slow down more, or less, than planned", m.Percent.At))
	}
	return out
}

// renderedMarks is the marking of a queue as it is rendered; empty where nothing is.
func (s scene) renderedMarks(p port, number int) fabric.QueueProfile {
	if r := s.rendered(p); r != nil && r.Queues[number&7] != nil && r.Queues[number&7].Marks != nil {
		return *r.Queues[number&7].Marks
	}
	return fabric.QueueProfile{}
}

// order judges whether marking begins below where it ends.
func (s scene) order(p port, number int, m *fabric.QueueProfile) []fabric.Finding {
	if m.Min == nil || m.Max == nil {
		return nil
	}
	low, _, okMin := m.Min.Bytes()
	_, high, okMax := m.Max.Bytes()
	above := okMin && okMax && low > high || m.Min.Unit == m.Max.Unit && m.Min.Value > m.Max.Value
	if !above {
		return nil
	}
	return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("At %s queue %d is marked from %s, above its maximum of %s.", p.name(), number, amount(m.Min), amount(m.Max)), "minimum below maximum",
		"the switch refuses it, or marks every packet or none", m.Min.At, m.Max.At)}
}

func amount(t *fabric.Threshold) string {
	if t.Unit == "bytes" && math.Mod(t.Value, 1024) == 0 {
		return fmt.Sprintf("%g KiB", t.Value/1024)
	}
	return fmt.Sprintf("%g %s", t.Value, t.Unit)
}

// kiloOrKibi is how far two readings of one kB are apart: a threshold that is nearer is the same.
const kiloOrKibi = 1.024

// threshold compares a threshold with the plan. One in a unit without a fixed size is compared with what is rendered.
func (s scene) threshold(p port, word string, have, rendered *fabric.Threshold, want int64, ecn *fabric.ECN) []fabric.Finding {
	if have == nil {
		return []fabric.Finding{s.unknown(p.name(), "a threshold of the marking is in no text that was read", p.At)}
	}
	const cost = "queues grow longer than planned before senders slow down, or throughput is given away"
	least, most, ok := have.Bytes()
	switch {
	case ok && float64(least) <= float64(want)*kiloOrKibi && float64(want) <= float64(most)*kiloOrKibi:
		return nil
	case ok:
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s marks %s %s, the plan %s %d KiB.", p.name(), word, amount(have), word, want>>10), ecnWords(ecn), cost, have.At)}
	case rendered == nil || rendered.Unit != have.Unit:
		return []fabric.Finding{s.unknown(p.name(), fmt.Sprintf("marking %s %s cannot be held against %d KiB: the unit has no fixed size", word, amount(have), want>>10), have.At)}
	case rendered.Value != have.Value:
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s marks %s %s; the plan's %d KiB are %s here.", p.name(), word, amount(have), want>>10, amount(rendered)), ecnWords(ecn), cost, have.At)}
	}
	return nil
}

// marksLossless judges a port by itself: each queue with packets that are never dropped marks them.
func (s scene) marksLossless(p port) []fabric.Finding {
	var out []fabric.Finding
	seen := map[int]bool{}
	table := p.packets()
	if table == nil || p.PFC == nil {
		out = append(out, s.unknown(p.name(), "which of its queues are lossless is in no text that was read", p.At))
	}
	for _, t := range table {
		is, _ := p.lossless(t)
		if !is || t.Queue == nil || t.Queue.Is < 0 || t.Queue.Is > 7 || seen[t.Queue.Is] {
			continue
		}
		number := t.Queue.Is
		seen[number] = true
		var m *fabric.QueueProfile
		if q := p.Queues[number]; q != nil {
			m = q.Marks
		}
		switch {
		case m == nil:
			out = append(out, s.unknown(p.name(), fmt.Sprintf("whether queue %d marks packets is in no text that was read", number), p.At))
		case m.Drops:
			out = append(out, s.fail(p.name(), fmt.Sprintf("%s drops packets of queue %d, a lossless one, before it is full, instead of marking them.", p.name(), number), "marking", dropCost, m.ECN.At))
		case !m.ECN.Is:
			out = append(out, s.fail(p.name(), fmt.Sprintf("%s does not mark packets of queue %d, a lossless one.", p.name(), number), "marking", noMarkCost, m.ECN.At))
		default:
			out = append(out, s.order(p, number, m)...)
		}
	}
	for number, q := range p.Queues {
		if q != nil && q.Marks != nil && q.Marks.ECN.Is && !seen[number] {
			if f := s.order(p, number, q.Marks); len(f) > 0 {
				out = append(out, f...)
			}
			if len(seen) > 0 {
				out = append(out, s.fail(p.name(), fmt.Sprintf("%s marks packets of queue %d, which is not a lossless one.", p.name(), number), "marking where packets are not dropped", "nothing of RoCE is helped", q.Marks.ECN.At))
			}
		}
	}
	return out
}

func queuesRule() Rule {
	return Rule{
		ID:        "switch-queues",
		Title:     "RoCE has its planned share of each port",
		Doc:       "compares the weights of RoCE's queue and of the queue of all other packets with the plan",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; IEEE 802.1Q, 37; docs/roce.md",
		DependsOn: []string{"switch-classes"},
		Judge:     eachSwitch(true, judgeQueues),
	}
}

func judgeQueues(s scene) []fabric.Finding {
	roce, ok := s.class("roce")
	if !ok {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no classes of traffic")}
	}
	share := s.Plan.Traffic.Share
	want := fmt.Sprintf("%d %% for RoCE", share)
	return s.eachPort(want, func(p port) []fabric.Finding {
		mine, ok := p.treatment(roce.DSCP)
		rest, okRest := p.treatment(0)
		if !ok || !okRest || mine.Queue == nil || rest.Queue == nil {
			return []fabric.Finding{s.unknown(p.name(), "the queue of RoCE, or that of all other packets, is in no text that was read", p.At)}
		}
		q, other := p.Queues[mine.Queue.Is&7], p.Queues[rest.Queue.Is&7]
		switch {
		case q == nil || other == nil || q.Algorithm == nil || other.Algorithm == nil:
			return []fabric.Finding{s.unknown(p.name(), "how the queues of RoCE and of all other packets are served is in no text that was read", p.At)}
		case q.Algorithm.Is == "strict":
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s serves RoCE's queue %d before all others (strict).", p.name(), mine.Queue.Is), want, "RoCE can keep all other traffic from the port", q.Algorithm.At)}
		case other.Algorithm.Is == "strict" && mine.Queue.Is != rest.Queue.Is:
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s serves queue %d, all other packets, before RoCE (strict).", p.name(), rest.Queue.Is), want, "other traffic can keep RoCE from the port", other.Algorithm.At)}
		case q.Weight == nil || other.Weight == nil:
			return []fabric.Finding{s.unknown(p.name(), "the weights of its queues are in no text that was read", q.Algorithm.At)}
		}
		sum := q.Weight.Is + other.Weight.Is
		switch {
		case mine.Queue.Is == rest.Queue.Is:
			return nil // switch-others says so
		case sum <= 0:
			return []fabric.Finding{s.unknown(p.name(), "its queues have no weights above 0", q.Weight.At, other.Weight.At)}
		}
		if have := 100 * float64(q.Weight.Is) / float64(sum); math.Abs(have-float64(share)) > 1 {
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("RoCE gets %.0f %% of %s beside other traffic, in the plan %d %%.", have, p.name(), share), want, "RoCE waits longer, or other traffic does, while both are there", q.Weight.At, other.Weight.At)}
		}
		return nil
	})
}
