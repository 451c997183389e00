package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// TextOptions are the properties of a terminal.
type TextOptions struct {
	Color   bool // ANSI colours; every status also has its word
	Width   int  // columns; 0: 80
	Verbose bool // every group, every passing rule, every rule that is not applicable
	ASCII   bool // for a terminal without UTF-8: plots of plain characters
}

// Most groups, and most lines of one field in a group, that are written without Verbose: what failed then
// fits a few screens however large the cluster is.
const (
	textGroups = 20
	textLines  = 3
)

// Text writes the findings of a check under the summary of all that came: the answer, what failed, worst first, then
// what is unknown, how many passed with the exit status, and the answer again. Findings that say the same of several
// subjects are one block.
func (g *Groups) Text(w io.Writer, s fabric.Summary) error {
	p := newPrinter(g.o)
	answer := g.answer(s)
	p.answerLine(answer)
	p.failed(g.failed.worstFirst(), s)
	p.unknown(g.unknown.worstFirst(), s)
	if waived := waivedCaveats(g.waived); len(waived) > 0 {
		p.heading("Waived")
		p.caveatList(waived)
	}
	p.switches(g.Switches, g.Note)
	p.verboseGroups(g.passed.worstFirst(), g.scoped.worstFirst())
	p.blank()
	p.notApplicable(g.scoped.worstFirst())
	p.line(counts(s))
	p.end(exitMeaning(s.Status()), answer)
	return p.writeTo(w)
}

// end writes the last lines of a text: what the exit status means, and the answer, which is then the last on the screen.
func (p *printer) end(exit string, a answer) {
	p.line(exit)
	p.blank()
	p.answerLine(a)
}

// notApplicable counts the rules that their scope left out, in a line.
func (p *printer) notApplicable(scoped []group) {
	if len(scoped) == 0 || p.o.Verbose {
		return
	}
	p.line(fmt.Sprintf("Not applicable: %s; -v lists them with their reasons", fabric.Count(ruleCount(scoped), "rule")))
}

// ruleCount counts the rules of groups.
func ruleCount(all []group) int {
	rules := map[string]bool{}
	for _, g := range all {
		rules[g.first.ID] = true
	}
	return len(rules)
}

// notRead counts in a line the facts that could not be read; a rule that needs one of them is unknown by itself.
func (p *printer) notRead(missing map[string][]fabric.Missing) {
	facts, nodes := factsNotRead(missing)
	if facts == 0 || p.o.Verbose {
		return
	}
	p.line(fmt.Sprintf("Not read: %s of %s; -v lists them with their reasons", fabric.Count(facts, "fact"), fabric.Printable(draw.Names(nodes, textLines))))
}

// measured reports whether any pair was: without one the mesh took no time that means anything.
func measured(s fabric.Summary) bool { return s.Pass+s.Fail > 0 }

// seconds writes a time with three digits, never with an exponent.
func seconds(s float64) string {
	if s < 0.001 {
		return "less than 0.001 s"
	}
	return draw.ThreeDigits(s) + " s"
}

func counts(s fabric.Summary) string {
	return fmt.Sprintf("%d passed, %d failed, %d unknown, %d not applicable, %d waived", s.Pass, s.Fail, s.Unknown, s.NotApplicable, s.Waived)
}

func (p *printer) failed(all []group, s fabric.Summary) {
	if len(all) == 0 {
		return
	}
	p.heading(fmt.Sprintf("Failed: %s", fabric.Count(s.Fail, "finding")))
	blocks(p, all, p.failedBlock)
}

func (p *printer) unknown(all []group, s fabric.Summary) {
	if len(all) == 0 {
		if s.Status() == fabric.Unknown {
			p.heading("Not checked")
			p.field("", "no rule gave a verdict")
		}
		return
	}
	p.heading(fmt.Sprintf("Unknown: %s could not be evaluated", fabric.Count(s.Unknown, "check")))
	blocks(p, together(all), p.unknownBlock)
}

// blocks writes the groups, with a blank line before each, up to the bound.
func blocks[T any](p *printer, all []T, block func(T)) {
	for i, g := range all {
		if i == textGroups && !p.o.Verbose {
			p.blank()
			p.line(fmt.Sprintf("... and %d more groups; -v writes them all", len(all)-i))
			return
		}
		p.blank()
		block(g)
	}
}

func (p *printer) lineLimit() int {
	if p.o.Verbose {
		return 1 << 20 // more than any screen; a group has no more lines than subjects
	}
	return textLines
}

func (p *printer) failedBlock(g group) {
	f := g.first
	word := "FAIL"
	if f.Severity != fabric.SeverityError {
		word += " " + f.Severity.String()
	}
	p.status(word, red, g.spread.text(p.lineLimit()), f.Title)
	p.fields("seen", g.seen(p.lineLimit()))
	p.fields("expected", g.lines(expected, p.lineLimit()))
	p.fields("why", g.lines(why, p.lineLimit()))
	p.fields("cost", g.lines(cost, p.lineLimit()))
	p.commands("fix", g.commands(p.lineLimit()))
	p.field("rule", ruleText(f))
}

func ruleText(f fabric.Finding) string {
	text := f.ID
	if f.Cause != "" {
		text += ", cause " + string(f.Cause)
	}
	if f.Reference != "" {
		text += ", " + f.Reference
	}
	return text
}

// unknownBlock writes groups that lack the same answer: one whole, several by their titles.
func (p *printer) unknownBlock(all []group) {
	g := all[0]
	if len(all) == 1 {
		p.status("UNKNOWN", yellow, g.spread.text(p.lineLimit()), g.first.Title)
		p.field("why", g.reason())
		p.fields("seen", g.seen(p.lineLimit()))
		p.commands("fix", g.commands(p.lineLimit()))
		p.field("rule", g.first.ID)
		return
	}
	p.status("UNKNOWN", yellow, g.spread.text(p.lineLimit()), fabric.Count(len(all), "check")+" for one reason")
	p.field("why", g.lacks())
	var titles, commands []string
	for _, g := range all {
		titles = append(titles, g.first.Title+" ("+g.first.ID+")")
		for _, c := range g.commands(p.lineLimit()) {
			if !slices.Contains(commands, c) {
				commands = append(commands, c)
			}
		}
	}
	p.fields("checks", titles)
	p.commands("fix", commands)
}

// together puts groups of unknown checks on the same subjects beside each other where they lack the same answer, in the order of
// the first of them.
func together(all []group) [][]group {
	index := map[string][]int{}
	var out [][]group
	for _, g := range all {
		lacks := g.lacks()
		if lacks == "" {
			out = append(out, []group{g})
			continue
		}
		i := slices.IndexFunc(index[lacks], func(i int) bool { return out[i][0].spread.equal(&g.spread) })
		if i >= 0 {
			at := index[lacks][i]
			out[at] = append(out[at], g)
			continue
		}
		index[lacks] = append(index[lacks], len(out))
		out = append(out, []group{g})
	}
	return out
}

// verboseGroups lists the rules that passed and those that are not applicable, a line each.
func (p *printer) verboseGroups(passed, scoped []group) {
	if !p.o.Verbose {
		return
	}
	if len(passed) > 0 {
		p.heading("Passed")
		for _, g := range passed {
			p.status("PASS", green, g.spread.text(textLines), g.first.Title)
		}
	}
	if len(scoped) > 0 {
		p.heading("Not applicable")
		for _, g := range scoped {
			p.status("N/A", faint, g.spread.text(textLines), g.first.Title)
			p.field("why", g.first.Why)
		}
	}
}

func (p *printer) caveats(all []caveat) {
	if len(all) == 0 {
		return
	}
	p.heading("Not checked")
	p.caveatList(all)
}

func (p *printer) caveatList(all []caveat) {
	for i, g := range all {
		if i == textGroups && !p.o.Verbose {
			p.blank()
			p.line(fmt.Sprintf("... and %d more; -v writes them all", len(all)-i))
			return
		}
		p.caveat(g)
	}
}

func (p *printer) caveat(g caveat) {
	switch g.Tag {
	case tagWaived:
		p.status("WAIVED", faint, g.Of, g.What)
	case tagOmitted:
		p.status("LEFT OUT", faint, g.Of, g.What)
	case tagNotRead:
		p.status("NOT READ", faint, g.Of, g.What)
	default:
		p.status("UNKNOWN", yellow, g.Of, g.What)
	}
	p.field("why", g.Reason)
	p.field("what", strings.Join(g.Items, ", "))
	p.commands("fix", g.Fix)
}
