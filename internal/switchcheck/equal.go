package switchcheck

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func equalRule() Rule {
	return Rule{
		ID:    "switch-ports-equal",
		Title: "All ports of a switch treat traffic alike",
		Doc: "compares MTU, trust, classes, PFC, queues, marking, rewriting and watchdog of the ports of one switch with what most of them have: " +
			"a port that nobody finished is the commonest fault, and RoCE over it is dropped while all others work",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseQoSClassMismatch,
		Reference: "mori, QoS identical everywhere; Broadcom RoCE guide 2.5",
		Judge:     eachSwitch(false, judgeEqual),
	}
}

// trait is one thing in which ports are compared: its text, and the line that decides it.
type trait struct {
	name string
	of   func(port) (value string, at fabric.Line)
}

func traits() []trait {
	return []trait{
		{"MTU", func(p port) (string, fabric.Line) { return said(p.MTU) }},
		{"FEC", func(p port) (string, fabric.Line) { return said(p.FEC) }},
		{"trust", func(p port) (string, fabric.Line) { return said(p.Trust) }},
		{"classes", classesOnce()},
		{"PFC", func(p port) (string, fabric.Line) {
			if p.PFC == nil {
				return "", fabric.Line{}
			}
			return numbers(p.PFC.Is), p.PFC.At
		}},
		{"directions of PFC", func(p port) (string, fabric.Line) { return p.directionText() }},
		{"queues that pauses stop", func(p port) (string, fabric.Line) { return p.stopsText() }},
		{"scheduling", func(p port) (string, fabric.Line) { return p.schedulingText() }},
		{"marking", func(p port) (string, fabric.Line) { return p.markingText() }},
		{"rewriting", func(p port) (string, fabric.Line) { return p.rewriteText() }},
		{"watchdog", func(p port) (string, fabric.Line) { return p.watchdogText() }},
	}
}

func said[T any](v *fabric.Said[T]) (string, fabric.Line) {
	if v == nil {
		return "", fabric.Line{}
	}
	return fmt.Sprint(v.Is), v.At
}

func judgeEqual(s scene) []fabric.Finding {
	var read []port
	for _, p := range s.ports {
		if p.PortConfig != nil {
			read = append(read, p)
		}
	}
	switch len(read) {
	case 0:
		return nil
	case 1:
		if s.plan == nil || len(s.plan.Ports) > 1 {
			return []fabric.Finding{s.unknown("", "only one port was read: there is none to compare it with")}
		}
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has one port of this switch")}
	}
	var out []fabric.Finding
	stated := false
	for _, t := range traits() {
		found, any := s.compare(t, read)
		out, stated = append(out, found...), stated || any
	}
	if !stated {
		return []fabric.Finding{s.unknown("", "nothing to compare: no text that was read says what its ports do with traffic")}
	}
	if len(out) == 0 {
		f := s.textPass()
		f.Expected = fmt.Sprintf("%d ports alike", len(read))
		return []fabric.Finding{f}
	}
	return out
}

// compare finds the ports that differ from what most have. Ports that all lack a trait are alike in it; stated is whether a
// text has it for one of them.
func (s scene) compare(t trait, ports []port) (out []fabric.Finding, stated bool) {
	count := map[string]int{}
	values := make([]string, len(ports))
	at := make([]fabric.Line, len(ports))
	usual, usualPort := "", ""
	for i, p := range ports {
		values[i], at[i] = t.of(p)
		stated = stated || at[i] != (fabric.Line{})
		count[values[i]]++
		if n := count[values[i]]; n > count[usual] || usualPort == "" {
			usual, usualPort = values[i], p.name()
		}
	}
	if len(count) == 1 {
		return nil, stated
	}
	for i, p := range ports {
		if values[i] == usual {
			usualPort = p.name()
			break
		}
	}
	for i, p := range ports {
		if values[i] != usual {
			have, want := difference(values[i], usual)
			out = append(out, s.fail(p.name(), fmt.Sprintf("%s differs from most ports of %s in %s: %s, on %s %s.", p.name(), s.of.Name, t.name, have, usualPort, want), want,
				"packets of one flow are treated differently by the port they meet: drops and pauses that come and go", at[i], p.At))
		}
	}
	return out, stated
}

// difference leaves the parts of two lists in which they differ.
func difference(a, b string) (have, want string) {
	x, y := strings.Split(a, "; "), strings.Split(b, "; ")
	only := func(of, other []string) string {
		var out []string
		for _, part := range of {
			if !slices.Contains(other, part) {
				out = append(out, part)
			}
		}
		if len(out) == 0 {
			return "none of it"
		}
		return strings.Join(out, "; ")
	}
	if a == "" {
		return "nothing stated", only(y, nil)
	}
	if b == "" {
		return only(x, nil), "nothing stated"
	}
	return only(x, y), only(y, x)
}

// classesOnce is classesText, which writes tables that ports share once.
func classesOnce() func(port) (string, fabric.Line) {
	type tables struct {
		trust string
		dscp  *[64]fabric.Treatment
		pcp   *[8]fabric.Treatment
	}
	type written struct {
		text string
		at   fabric.Line
	}
	seen := map[tables]written{}
	return func(p port) (string, fabric.Line) {
		if p.Trust == nil {
			return p.classesText()
		}
		key := tables{p.Trust.Is, p.DSCP, p.PCP}
		w, ok := seen[key]
		if !ok {
			w.text, w.at = p.classesText()
			seen[key] = w
		}
		return w.text, w.at
	}
}

func (p port) classesText() (string, fabric.Line) {
	table := p.packets()
	if table == nil {
		return "", fabric.Line{}
	}
	byText := map[string][]int{}
	var order []string
	for i, t := range table {
		text := fmt.Sprintf("class %s, queue %s, pauses %s", className(t), orUnknown(t.Queue), orUnknown(t.Pause))
		if byText[text] == nil {
			order = append(order, text)
		}
		byText[text] = append(byText[text], i)
	}
	var out []string
	for _, text := range order {
		out = append(out, p.Trust.Is+" "+numbers(byText[text])+" in "+strings.Replace(text, "pauses -1", "no pauses", 1))
	}
	at := fabric.Line{}
	if table[len(table)-1].Class != nil {
		at = table[len(table)-1].Class.At
	}
	return strings.Join(out, "; "), at
}

func orUnknown(v *fabric.Said[int]) string {
	if v == nil {
		return "unknown"
	}
	return fmt.Sprint(v.Is)
}

func (p port) directionText() (string, fabric.Line) {
	if p.Pauses == nil {
		return "both", fabric.Line{}
	}
	sends, at := said(p.Pauses.Sends)
	obeys, _ := said(p.Pauses.Obeys)
	return "sends " + sends + ", obeys " + obeys, at
}

func (p port) stopsText() (string, fabric.Line) {
	var out []string
	var at fabric.Line
	for priority, v := range p.Stops {
		if v != nil && (p.PFC == nil || slices.Contains(p.PFC.Is, priority)) {
			out, at = append(out, fmt.Sprintf("priority %d stops queue %d", priority, v.Is)), v.At
		}
	}
	return strings.Join(out, "; "), at
}

func (p port) schedulingText() (string, fabric.Line) {
	var out []string
	var at fabric.Line
	for number, q := range p.Queues {
		if q == nil || q.Algorithm == nil {
			continue
		}
		text := fmt.Sprintf("queue %d %s", number, q.Algorithm.Is)
		if q.Weight != nil {
			text += fmt.Sprintf(" %d", q.Weight.Is)
		}
		out, at = append(out, text), q.Algorithm.At
	}
	return strings.Join(out, "; "), at
}

func (p port) markingText() (string, fabric.Line) {
	var out []string
	var at fabric.Line
	for number, q := range p.Queues {
		if q == nil || q.Marks == nil || !q.Marks.ECN.Is && !q.Marks.Drops {
			continue
		}
		m := q.Marks
		text := fmt.Sprintf("queue %d marks", number)
		if !m.ECN.Is {
			text = fmt.Sprintf("queue %d drops", number)
		}
		if m.Min != nil && m.Max != nil {
			text += fmt.Sprintf(" from %s to %s", amount(m.Min), amount(m.Max))
		}
		if m.Start != nil {
			text += fmt.Sprintf(" from %d %%", m.Start.Is)
		}
		if m.Percent != nil {
			text += fmt.Sprintf(" %d %%", m.Percent.Is)
		}
		out, at = append(out, text), m.ECN.At
	}
	if len(out) == 0 {
		return "no queue marks", at
	}
	return strings.Join(out, "; "), at
}

func (p port) rewriteText() (string, fabric.Line) {
	var out []string
	var at fabric.Line
	for class, v := range p.Rewrite {
		out, at = append(out, fmt.Sprintf("class %s to DSCP %d", class, v.Is)), v.At
	}
	slices.Sort(out)
	return strings.Join(out, "; "), at
}

func (p port) watchdogText() (string, fabric.Line) {
	w := p.Watchdog
	if w == nil {
		return "", fabric.Line{}
	}
	on, at := said(w.On)
	action, _ := said(w.Action)
	detect, _ := said(w.DetectMs)
	restore, _ := said(w.RestoreMs)
	return strings.TrimSpace(fmt.Sprintf("on %s; action %s; detects %s; restores %s", on, action, detect, restore)), at
}
