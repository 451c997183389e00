package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// The answer is what a reader takes away: one line, the first and the last of every text, so that it is on the screen
// however long the text between is, and the sentence of the page's banner.

// answer is a verdict with what it is about, in a line.
type answer struct {
	word, color string
	before      string   // what every term is: "not evaluated: "
	terms       []string // such as "host1:eth3 mtu 1500", most important first
	brief       []string // the terms for where there is no room for the terms; nil: the same
}

// text writes the terms if all fit in width columns, else as many of the brief ones as fit, and counts the others.
func (a answer) text(width int) string {
	if len(a.terms) == 0 {
		a.terms = []string{"no details were recorded"}
	}
	text := fabric.Printable(a.before)
	if a.brief != nil && utf8.RuneCountInString(text+fabric.Printable(strings.Join(a.terms, "; "))) > width {
		a.terms = a.brief
	}
	for i, t := range a.terms {
		t, separator := fabric.Printable(t), ""
		if i > 0 {
			separator = "; "
		}
		room := width
		if left := len(a.terms) - i - 1; left > 0 {
			room -= len("; and " + strconv.Itoa(left) + " more")
		}
		if i > 0 && utf8.RuneCountInString(text+separator+t) > room {
			return short(text+fmt.Sprintf("; and %d more", len(a.terms)-i), width)
		}
		text += separator + short(t, max(room-utf8.RuneCountInString(text+separator), leastWidth/2))
	}
	return short(text, width)
}

// answerLine writes an answer in one line; a single sentence that is longer takes up to three.
func (p *printer) answerLine(a answer) {
	room := p.width() - len(a.word) - 2
	lines := []string{a.text(room)}
	if len(a.terms) == 1 && a.brief == nil {
		lines = wrap(a.text(3*room), room)
	}
	for i, l := range lines {
		if i == 0 {
			p.line(p.paint(a.color, a.word) + ": " + p.paint(bold, short(l, room)))
		} else {
			p.line(strings.Repeat(" ", len(a.word)+2) + p.paint(bold, short(l, room)))
		}
	}
}

// statusAnswer is the word and the color of a status, with the terms of what it is about.
func statusAnswer(s fabric.Status, before string, terms ...string) answer {
	return answer{word: strings.ToUpper(s.String()), color: statusColor(s), before: before, terms: terms}
}

// statusColor returns the color of a status; yellow is unknown and nothing else.
func statusColor(s fabric.Status) string {
	switch s {
	case fabric.Pass:
		return green
	case fabric.Fail:
		return red
	case fabric.NotApplicable:
		return faint
	default:
		return yellow
	}
}

// fault is what failed findings say together: those of one cause are one fault.
type fault struct {
	name   string // the cause, or the rule where it has none
	places []place
	value  string // what was seen; empty: it differs
}

// failedAnswer are the faults of failed groups and of causes that no finding names, each with its subjects.
func failedAnswer(failed []group, causes []fabric.Cause) answer {
	var all []fault
	index := map[string]int{}
	of := func(name, value string) *fault {
		i, ok := index[name]
		if !ok {
			i = len(all)
			index[name] = i
			all = append(all, fault{name: name, value: value})
		}
		return &all[i]
	}
	for _, g := range failed {
		f := of(orElse(string(g.first.Cause), g.first.ID), g.value())
		f.places = append(f.places, g.spread.places()...)
	}
	for _, c := range causes {
		if f := of(string(c.ID), ""); !slices.Contains(f.places, placeOf(c.Subject)) {
			f.places = append(f.places, placeOf(c.Subject))
		}
	}
	a := statusAnswer(fabric.Fail, "")
	for _, f := range all {
		a.terms = append(a.terms, subjects(f.places, 2)+" "+f.words())
		a.brief = append(a.brief, f.where()+" "+f.briefly())
	}
	return a
}

// where names the places of a fault: where that is long, by their machines or files and how many there are.
func (f fault) where() string {
	const longest = 40 // characters, half of a terminal
	all := subjects(f.places, 2)
	if utf8.RuneCountInString(all) <= longest || len(f.places) == 1 {
		return all
	}
	whole := make([]place, len(f.places))
	for i, p := range f.places {
		whole[i] = place{node: p.node}
	}
	return subjects(whole, 2) + ", " + fabric.Count(len(f.places), "place") + ":"
}

// briefly names a fault without what was seen, unless that is the better name.
func (f fault) briefly() string {
	if words := f.words(); !strings.HasPrefix(words, f.name) {
		return words
	}
	return f.name
}

// words names a fault with what was seen: "mtu 1500", where the value names its own topic, "link-down (carrier off)".
func (f fault) words() string {
	const longest = 32 // characters of a value that is part of an answer
	if f.value == "" || utf8.RuneCountInString(f.value) > longest {
		return f.name
	}
	topic, _, _ := strings.Cut(f.name, "-")
	if first, _, two := strings.Cut(f.value, " "); two && strings.EqualFold(first, topic) || f.value == swapped {
		return f.value
	}
	return f.name + " (" + f.value + ")"
}

const swapped = "swapped"

// value is what was seen of every member of a group; empty where it differs. Cables of which each is connected where
// another one is planned are swapped.
func (g group) value() string {
	if len(g.members) < g.count {
		return ""
	}
	var seen, planned []string
	for _, f := range g.members {
		if len(f.Evidence) == 0 {
			return ""
		}
		seen, planned = append(seen, f.Evidence[0].Value), append(planned, f.Expected)
	}
	slices.Sort(seen)
	slices.Sort(planned)
	if len(seen) > 1 && g.first.Cause == fabric.CauseMiscabled && slices.Equal(seen, planned) {
		return swapped
	}
	if len(slices.Compact(seen)) > 1 {
		return ""
	}
	return seen[0]
}

// unknownTerms are the rules that could not be evaluated, those of the same subjects together.
func unknownTerms(unknown []group) []string {
	rules := map[string][]string{}
	var order []string
	for _, g := range unknown {
		of := g.spread.text(2)
		if rules[of] == nil {
			order = append(order, of)
		}
		if !slices.Contains(rules[of], g.first.ID) {
			rules[of] = append(rules[of], g.first.ID)
		}
	}
	var terms []string
	for _, of := range order {
		terms = append(terms, of+" "+strings.Join(rules[of], ", "))
	}
	return terms
}

// answer is the answer of a check: what failed, else what could not be evaluated, else what passed.
func (g *Groups) answer(s fabric.Summary) answer {
	status := s.Status()
	switch unknown := g.unknown.worstFirst(); {
	case status == fabric.Fail:
		return failedAnswer(g.failed.worstFirst(), nil)
	case status != fabric.Pass && len(unknown) == 0:
		return statusAnswer(status, "", "no rule gave a verdict")
	case status != fabric.Pass:
		return statusAnswer(status, "not evaluated: ", unknownTerms(unknown)...)
	}
	passed := fabric.Count(s.Pass, "check") + " passed"
	if s.Waived > 0 {
		passed += fmt.Sprintf(", %d waived", s.Waived)
	}
	return statusAnswer(status, "", passed+inLab(g.Lab))
}

// answer is the answer of a run: what failed, else what was not checked, else what passed.
func (r Run) answer() answer {
	status := r.Status()
	switch status {
	case fabric.Pass:
		text := fabric.Count(r.Findings.Summary.Pass, "check") + " and " + fabric.Count(r.Mesh.Summary().Pass, "pair") + " of NICs passed"
		return statusAnswer(status, "", text+inLab(r.Lab))
	case fabric.Fail:
		return r.failedAnswer()
	default:
		return statusAnswer(status, "", r.unknownTerms()...)
	}
}

func (r Run) failedAnswer() answer {
	var failed []group
	var causes []fabric.Cause
	if r.Causes != nil {
		causes = r.Causes.Causes
	}
	if r.Findings != nil {
		failed = groups(r.Findings.Findings, fabric.Fail)
	}
	a := failedAnswer(failed, causes)
	if r.Mesh != nil && r.Mesh.Summary().Fail > 0 && len(causes) == 0 { // else a fault explains the pairs
		text := fmt.Sprintf("%d of %s failed", r.Mesh.Summary().Fail, fabric.Count(len(r.Mesh.Pairs), "pair"))
		a.terms, a.brief = append(a.terms, text), append(a.brief, text)
	}
	if r.Bench != nil && r.Bench.Summary.Fail > 0 {
		text := fmt.Sprintf("%d of %s of bandwidth failed", r.Bench.Summary.Fail, fabric.Count(len(r.Bench.Tests), "test"))
		a.terms, a.brief = append(a.terms, text), append(a.brief, text)
	}
	if r.Claims != nil && r.Claims.Status == fabric.Fail {
		text := "claims: " + strings.Join(allocationAnswer(r.Claims).terms, ", ")
		a.terms, a.brief = append(a.terms, text), append(a.brief, text)
	}
	return a
}

// unknownTerms are what keeps a run in which nothing failed from passing; a step that stopped it comes first.
func (r Run) unknownTerms() []string {
	var terms []string
	for _, s := range r.Steps {
		if s.Status == fabric.Fail {
			terms = append(terms, "step "+s.Name+": "+orElse(s.Note, "did not finish"))
		}
	}
	switch {
	case r.Findings == nil:
		terms = append(terms, "no rule was evaluated")
	case r.Findings.Summary.Status() != fabric.Pass:
		rules := unknownTerms(groups(r.Findings.Findings, fabric.Unknown))
		if len(rules) == 0 {
			rules = []string{"no rule gave a verdict"}
		} else {
			rules[0] = "not evaluated: " + rules[0]
		}
		terms = append(terms, rules...)
	}
	for _, a := range r.appliedGroups() {
		if a.status != fabric.Pass && a.status != fabric.NotApplicable {
			terms = append(terms, a.Nodes+" not configured")
		}
	}
	switch {
	case r.Mesh == nil || len(r.Mesh.Pairs) == 0:
		return append(terms, "no pair of NICs was measured")
	case r.Mesh.Summary().Unknown > 0:
		terms = append(terms, fmt.Sprintf("%d of %s not measured", r.Mesh.Summary().Unknown, fabric.Count(len(r.Mesh.Pairs), "pair")))
	}
	for _, m := range r.Mesh.Absent {
		terms = append(terms, "no mesh from "+m.What)
	}
	for _, s := range r.Steps {
		if s.Status == fabric.Unknown {
			terms = append(terms, "step "+s.Name+": "+orElse(s.Note, "no outcome"))
		}
	}
	return terms
}

// Labs: of what kind the hosts are that facts come from.
const (
	LabWithoutHardware = "without hardware"
	LabRecorded        = "with recorded hardware"
)

// LabOf returns what kind of lab host facts are of; empty for a machine.
func LabOf(f *fabric.Facts) string {
	switch {
	case f.Platform != "lab":
		return ""
	case f.Hardware != "":
		return LabRecorded
	default:
		return LabWithoutHardware
	}
}

// inLab ends an answer about hosts of a lab.
func inLab(lab string) string {
	if lab == "" {
		return ""
	}
	return ", in a lab " + lab
}
