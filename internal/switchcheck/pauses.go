package switchcheck

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about PFC: which priorities, what a pause that comes in stops, the watchdog, and the headroom.

func pfcRule() Rule {
	return Rule{
		ID:    "switch-pfc",
		Title: "Switches send and obey pauses for RoCE's priority, and for no other",
		Doc: "compares the priorities with PFC of each port with the plan, and the queue that a received pause stops with the queue by which RoCE leaves. Without a plan: " +
			"each priority with PFC has packets, each lossless class has PFC, and its pauses stop its own queue",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; IEEE 802.1Q, 36; Broadcom RoCE guide 2.5",
		Judge:     eachSwitch(false, judgePFC),
	}
}

func judgePFC(s scene) []fabric.Finding {
	roce, planned := s.class("roce")
	switch {
	case s.withoutPFC():
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no classes of traffic, and no text has a priority with PFC")}
	case !planned || s.plan == nil:
		return s.eachPort("priorities, packets and queues agree", s.pfcAgrees)
	}
	want := []int{}
	if roce.Lossless {
		want = []int{roce.Priority}
	}
	return s.eachPort("PFC on "+priorities(want), func(p port) []fabric.Finding {
		if p.PFC == nil {
			return []fabric.Finding{s.unknown(p.name(), "the priorities with PFC are in no text that was read", p.At)}
		}
		out := s.pfcDiffers(p, want)
		if roce.Lossless {
			out = append(out, s.direction(p)...)
			out = append(out, s.stopsOwn(p, roce.Priority)...)
		}
		return out
	})
}

// withoutPFC reports whether the plan of a switch asks for no class, and its texts speak of no PFC: then there is nothing that
// could be right or wrong.
func (s scene) withoutPFC() bool {
	_, planned := s.class("roce")
	return s.plan != nil && !planned && !slices.ContainsFunc(s.ports, func(p port) bool { return p.PortConfig != nil && p.PFC != nil && len(p.PFC.Is) > 0 })
}

func (s scene) pfcDiffers(p port, want []int) []fabric.Finding {
	for _, w := range want {
		if !slices.Contains(p.PFC.Is, w) {
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s has PFC on %s, not on %d, which is RoCE's.", p.name(), priorities(p.PFC.Is), w), "PFC on "+priorities(want), dropCost, p.PFC.At)}
		}
	}
	var out []fabric.Finding
	var extra []int
	for _, have := range p.PFC.Is {
		if !slices.Contains(want, have) {
			extra = append(extra, have)
		}
	}
	if len(extra) > 0 {
		out = append(out, s.fail(p.name(), fmt.Sprintf("%s has PFC on %s, which the plan does not have.", p.name(), priorities(extra)), "PFC on "+priorities(want),
			"headroom of each port is kept for nothing, and pauses of a class that nobody watches can spread or deadlock", p.PFC.At))
	}
	return out
}

// priorities writes priorities: no priority, priority 3, priorities 3, 4.
func priorities(list []int) string {
	switch len(list) {
	case 0:
		return "no priority"
	case 1:
		return "priority " + numbers(list)
	}
	return "priorities " + numbers(list)
}

func (s scene) direction(p port) []fabric.Finding {
	var out []fabric.Finding
	if d := p.Pauses; d != nil && d.Sends != nil && !d.Sends.Is {
		out = append(out, s.fail(p.name(), p.name()+" sends no pauses.", "pauses in both directions", dropCost, d.Sends.At))
	}
	if d := p.Pauses; d != nil && d.Obeys != nil && !d.Obeys.Is {
		out = append(out, s.fail(p.name(), p.name()+" does not obey pauses.", "pauses in both directions", "the receiver drops RoCE that it asked to hold", d.Obeys.At))
	}
	return out
}

// stopsOwn judges a priority by the queue of the packets that it pauses, RoCE or not: switch-classes says which they are.
func (s scene) stopsOwn(p port, priority int) []fabric.Finding {
	for _, t := range p.packets() {
		if t.Queue != nil && t.Pause != nil && t.Pause.Is == priority {
			return s.stops(p, priority, t.Queue.Is)
		}
	}
	return nil
}

// stops judges the queue that a received pause of a priority stops.
func (s scene) stops(p port, priority, queue int) []fabric.Finding {
	if priority < 0 || priority > 7 {
		return nil
	}
	want := fmt.Sprintf("a pause of priority %d stops queue %d", priority, queue)
	switch stop := p.Stops[priority]; {
	case stop == nil:
		return []fabric.Finding{s.unknown(p.name(), "the queue that a received pause stops is in no text that was read", p.At)}
	case stop.Is == -1:
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("At %s a received pause of priority %d stops no queue: queue %d, with RoCE, goes on.", p.name(), priority, queue), want,
			"the receiver drops RoCE that it asked to hold", stop.At)}
	case stop.Is != queue:
		return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("At %s a received pause of priority %d stops queue %d; RoCE is in queue %d and goes on.", p.name(), priority, stop.Is, queue), want, pauseCost, stop.At)}
	}
	return nil
}

// pfcAgrees judges a port by itself.
func (s scene) pfcAgrees(p port) []fabric.Finding {
	if p.PFC == nil {
		return []fabric.Finding{s.unknown(p.name(), "the priorities with PFC are in no text that was read", p.At)}
	}
	table := p.packets()
	if table == nil {
		if len(p.PFC.Is) == 0 {
			return nil
		}
		return []fabric.Finding{s.unknown(p.name(), "which packets are in its priorities with PFC is in no text that was read", p.PFC.At)}
	}
	var out []fabric.Finding
	for _, priority := range p.PFC.Is {
		i := slices.IndexFunc(table, func(t fabric.Treatment) bool { return t.Pause != nil && t.Pause.Is == priority })
		if i < 0 && slices.ContainsFunc(table, func(t fabric.Treatment) bool { return t.Pause == nil }) {
			out = append(out, s.unknown(p.name(), fmt.Sprintf("which packets cause pauses of priority %d is in no text that was read", priority), p.PFC.At))
			continue
		}
		if i < 0 {
			out = append(out, s.fail(p.name(), fmt.Sprintf("%s has PFC on priority %d, and no packet causes pauses of it.", p.name(), priority), "PFC where packets are", dropCost, p.PFC.At))
			continue
		}
		if table[i].Queue != nil {
			out = append(out, s.stops(p, priority, table[i].Queue.Is)...)
		}
	}
	seen := map[int]bool{}
	for _, t := range table {
		if t.Pause != nil && t.Pause.Is >= 0 && !slices.Contains(p.PFC.Is, t.Pause.Is) && !seen[t.Pause.Is] && t.Pause.At.Number > 0 && t.Pause.Is != 0 && t.Pause.Is != 7 {
			seen[t.Pause.Is] = true
			out = append(out, s.fail(p.name(), fmt.Sprintf("%s keeps packets of class %s in buffers of priority %d, on which PFC is off.", p.name(), className(t), t.Pause.Is), "PFC where lossless buffers are", dropCost, append(lines(t), p.PFC.At)...))
		}
	}
	return out
}

// packets is the table by which the port classifies; nil where it is unknown.
func (p port) packets() []fabric.Treatment {
	switch {
	case p.Trust == nil:
		return nil
	case p.Trust.Is == "dscp" && p.DSCP != nil:
		return p.DSCP[:]
	case p.Trust.Is != "dscp" && p.PCP != nil:
		return p.PCP[:]
	}
	return nil
}

func watchdogRule() Rule {
	return Rule{
		ID:        "switch-watchdog",
		Title:     "The PFC watchdog of each port is as planned",
		Doc:       "compares the PFC watchdog of each port with the plan: on, its action, its times; a port that forwards what it should drop does not break a deadlock",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "the plan; SONiC, PFC watchdog; Broadcom RoCE guide 2.5.2",
		DependsOn: []string{"switch-pfc"},
		Judge:     eachSwitch(true, judgeWatchdog),
	}
}

func judgeWatchdog(s scene) []fabric.Finding {
	if s.Plan.Traffic == nil {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no classes of traffic")}
	}
	if s.of.OS == "routeros" {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "RouterOS has no PFC watchdog: a NIC that pauses for ever stops the ports that send to it")}
	}
	want := s.Plan.Traffic.Watchdog
	if roce, _ := s.class("roce"); want == nil || !roce.Lossless {
		return s.eachPort("no watchdog", func(p port) []fabric.Finding {
			if w := p.Watchdog; w != nil && w.On != nil && w.On.Is {
				return []fabric.Finding{s.fail(p.name(), p.name()+" has a PFC watchdog; the plan has none.", "no watchdog", "it drops packets where PFC stops longer than it waits", w.On.At)}
			}
			if (p.Watchdog == nil || p.Watchdog.On == nil) && !s.configured() {
				return []fabric.Finding{s.unknown(p.name(), "its PFC watchdog is in no text that was read", p.At)}
			}
			return nil
		})
	}
	expected := fmt.Sprintf("on, after %d ms, until %d ms without pauses", want.DetectMs, want.RestoreMs)
	return s.eachPort(expected, func(p port) []fabric.Finding {
		w := p.Watchdog
		if w == nil || w.On == nil {
			return []fabric.Finding{s.unknown(p.name(), "its PFC watchdog is in no text that was read", p.At)}
		}
		const cost = "one NIC that pauses for ever stops the whole fabric"
		if !w.On.Is {
			return []fabric.Finding{s.fail(p.name(), p.name()+" has no PFC watchdog.", expected, cost, w.On.At)}
		}
		var out []fabric.Finding
		if w.Action != nil && w.Action.Is != "drop" {
			out = append(out, s.fail(p.name(), fmt.Sprintf("The PFC watchdog of %s does %q, not drop.", p.name(), w.Action.Is), "drop", cost, w.Action.At))
		}
		var r fabric.WatchdogConfig
		if p := s.rendered(p); p != nil && p.Watchdog != nil {
			r = *p.Watchdog
		}
		if w.Action == nil && r.Action != nil {
			out = append(out, s.unknown(p.name(), "what its PFC watchdog does is in no text that was read", p.At))
		}
		out = append(out, s.time(p, "waits", w.DetectMs, r.DetectMs, want.DetectMs)...)
		return append(out, s.time(p, "restores after", w.RestoreMs, r.RestoreMs, want.RestoreMs)...)
	})
}

// time compares a time with the plan, or with what the OS can say of it.
func (s scene) time(p port, what string, have, rendered *fabric.Said[int], want int) []fabric.Finding {
	switch {
	case have == nil && rendered != nil:
		return []fabric.Finding{s.unknown(p.name(), fmt.Sprintf("how long its PFC watchdog %s is in no text that was read", what), p.At)}
	case have == nil || have.Is == want || rendered != nil && have.Is == rendered.Is:
		return nil
	}
	return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("The PFC watchdog of %s %s %d ms, the plan %d.", p.name(), what, have.Is, want), fmt.Sprintf("%d ms", want), "deadlocks last longer, or pauses without one are taken for them", have.At)}
}

func headroomRule() Rule {
	return Rule{
		ID:        "switch-headroom",
		Title:     "Headroom covers the planned cables",
		Doc:       "compares the cable length that the headroom of each port assumes with the plan's: what arrives after a pause was sent needs room",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRoCELossy,
		Reference: "the plan; IEEE 802.1Q, Annex N",
		Judge:     eachSwitch(true, judgeHeadroom),
	}
}

func judgeHeadroom(s scene) []fabric.Finding {
	roce, ok := s.class("roce")
	if !ok || !roce.Lossless {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no lossless class")}
	}
	for os, why := range map[string]string{
		"eos":      "EOS has no setting for the length of cables: the headroom is its own",
		"routeros": "RouterOS has no setting for the length of cables: its own pause threshold decides",
	} {
		if s.of.OS == os {
			return []fabric.Finding{s.finding("", fabric.NotApplicable, why)}
		}
	}
	want := s.Plan.Traffic.CableM
	return s.eachPort(fmt.Sprintf("for at least %d m", want), func(p port) []fabric.Finding {
		switch {
		case p.CableM == nil:
			return []fabric.Finding{s.unknown(p.name(), "the cable length that its headroom assumes is in no text that was read", p.At)}
		case p.CableM.Is < want:
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("The headroom of %s assumes a cable of %d m, the plan has %d m.", p.name(), p.CableM.Is, want), fmt.Sprintf("at least %d m", want),
				"packets that are in the cable when the pause is sent are dropped", p.CableM.At)}
		}
		return nil
	})
}
