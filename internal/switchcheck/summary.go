package switchcheck

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Summary tells what was read of a switch, in short.
func Summary(plan *fabric.Plan, c *fabric.SwitchConfig) fabric.SwitchSummary {
	in := &Input{Plan: plan, Configs: []*fabric.SwitchConfig{c}}
	s := in.scene(c)
	var read []port
	for _, p := range s.ports {
		if p.PortConfig != nil {
			read = append(read, p)
		}
	}
	out := fabric.SwitchSummary{Name: c.Name, OS: c.OS, Texts: c.Texts, Ports: len(read), Lines: len(c.Unread), Lost: c.Missing}
	if len(read) == 0 {
		return out
	}
	first := read[0]
	alike := func(of func(port) string) bool {
		want := of(first)
		return !slices.ContainsFunc(read[1:], func(p port) bool { return of(p) != want })
	}
	text := func(of func(port) (string, fabric.Line)) func(port) string {
		return func(p port) string { s, _ := of(p); return s }
	}
	if first.MTU != nil && alike(func(p port) string { s, _ := said(p.MTU); return s }) {
		out.MTU = &first.MTU.Is
	}
	if first.Trust != nil && alike(func(p port) string { s, _ := said(p.Trust); return s }) {
		out.Trust = first.Trust.Is
	}
	out.PFC, out.PFCByPort = pfcOf(read)
	if alike(text(classesOnce())) {
		out.Lossless = first.losslessDSCP()
	}
	if alike(text(port.markingText)) {
		out.Marks = first.marking()
	}
	if alike(text(port.schedulingText)) {
		out.Strict = first.strict()
	}
	if w := first.Watchdog; w != nil && w.On != nil && alike(text(port.watchdogText)) {
		out.Watchdog = &w.On.Is
	}
	return out
}

// pfcOf returns the priorities with PFC of all ports, or those of each where they differ.
func pfcOf(ports []port) (*[]int, map[string][]int) {
	all := map[string][]int{}
	same := true
	for _, p := range ports {
		if p.PFC == nil {
			return nil, nil
		}
		all[p.name()] = p.PFC.Is
		same = same && slices.Equal(p.PFC.Is, ports[0].PFC.Is)
	}
	if same {
		return &ports[0].PFC.Is, nil
	}
	return nil, all
}

func (p port) losslessDSCP() map[int][]int {
	if p.Trust == nil || p.Trust.Is != "dscp" || p.DSCP == nil {
		return nil
	}
	out := map[int][]int{}
	for dscp, t := range p.DSCP {
		if is, _ := p.lossless(t); is {
			out[t.Pause.Is] = append(out[t.Pause.Is], dscp)
		}
	}
	return out
}

func (p port) marking() []fabric.QueueMarking {
	var out []fabric.QueueMarking
	for number, q := range p.Queues {
		if q == nil || q.Marks == nil || !q.Marks.ECN.Is {
			continue
		}
		m := fabric.QueueMarking{Queue: number, MinKiB: kib(q.Marks.Min), MaxKiB: kib(q.Marks.Max)}
		if q.Marks.Min != nil && q.Marks.Max != nil {
			m.Said = fmt.Sprintf("from %s to %s", amount(q.Marks.Min), amount(q.Marks.Max))
		}
		if q.Marks.Percent != nil {
			m.Percent = &q.Marks.Percent.Is
		}
		out = append(out, m)
	}
	return out
}

// kib is a threshold in KiB where it has one size.
func kib(t *fabric.Threshold) *float64 {
	if t == nil {
		return nil
	}
	if least, most, ok := t.Bytes(); ok && least == most {
		return new(float64(least) / 1024)
	}
	return nil
}

func (p port) strict() []int {
	var out []int
	for number, q := range p.Queues {
		if q != nil && q.Algorithm != nil && q.Algorithm.Is == "strict" {
			out = append(out, number)
		}
	}
	return out
}
