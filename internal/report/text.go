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

// RunText writes a whole run: the answer, what failed, why pairs failed, what was not checked, the mesh, how the hosts
// got their configuration, the path of its page with the exit status, and the answer again.
func RunText(w io.Writer, r Run, o TextOptions) error {
	p := newPrinter(o)
	answer := r.answer()
	p.answerLine(answer)
	if r.Findings != nil {
		p.failed(groups(r.Findings.Findings, fabric.Fail), r.Findings.Summary)
	}
	p.pairs(r)
	p.causes(r)
	p.caveats(r.caveats(textLines))
	if err := p.mesh(r); err != nil {
		return err
	}
	if r.Bench != nil {
		p.heading("Bandwidth")
		p.benchTests(r.Bench)
	}
	p.pods(r)
	p.applied(r)
	p.proofs(r)
	p.next(r)
	if all := missingCaveats(r.Missing, textLines, false); p.o.Verbose && len(all) > 0 {
		p.heading("Facts that were not read")
		p.caveatList(all)
	}
	if r.Findings != nil {
		p.verboseGroups(groups(r.Findings.Findings, fabric.Pass), groups(r.Findings.Findings, fabric.NotApplicable))
	}
	p.blank()
	if r.Findings != nil {
		p.notApplicable(groups(r.Findings.Findings, fabric.NotApplicable))
	}
	p.notRead(r.Missing)
	if r.Findings != nil {
		p.line("Rules: " + counts(r.Findings.Summary))
	}
	if r.Mesh != nil {
		s := r.Mesh.Summary()
		line := fmt.Sprintf("Mesh: %s passed, %d failed, %d unknown", fabric.Count(s.Pass, "pair"), s.Fail, s.Unknown)
		if s.NotApplicable > 0 {
			line += fmt.Sprintf(", %d not applicable (in different subnets, of which nothing is routed)", s.NotApplicable)
		}
		if measured(s) {
			line += ", in " + seconds(r.Mesh.Seconds)
		}
		p.hanging("", line)
	}
	if r.Lab != "" {
		p.line("This was a lab " + printable(r.Lab) + ".")
	}
	if r.Page != "" {
		p.line("report: " + fabric.Printable(r.Page))
	}
	p.end(exitMeaning(r.Status()), answer)
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
	p.status(word, red, subjects(g.subjects, p.lineLimit()), f.Title)
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
		p.status("UNKNOWN", yellow, subjects(g.subjects, p.lineLimit()), g.first.Title)
		p.field("why", g.reason())
		p.fields("seen", g.seen(p.lineLimit()))
		p.commands("fix", g.commands(p.lineLimit()))
		p.field("rule", g.first.ID)
		return
	}
	p.status("UNKNOWN", yellow, subjects(g.subjects, p.lineLimit()), fabric.Count(len(all), "check")+" for one reason")
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
		i := slices.IndexFunc(index[lacks], func(i int) bool { return slices.Equal(out[i][0].subjects, g.subjects) })
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
			p.status("PASS", green, subjects(g.subjects, textLines), g.first.Title)
		}
	}
	if len(scoped) > 0 {
		p.heading("Not applicable")
		for _, g := range scoped {
			p.status("N/A", faint, subjects(g.subjects, textLines), g.first.Title)
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

// pairs writes the failed pairs of the mesh by what is wrong with them.
func (p *printer) pairs(r Run) {
	rows, more := r.pairRows()
	if len(rows) == 0 {
		return
	}
	p.heading("Failed: pairs of the mesh")
	for _, x := range rows {
		p.status("FAIL", red, "", fmt.Sprintf("%s from %s to %s", fabric.Count(x.Pairs, "pair"), x.From, x.To))
		p.field("why", x.Reason)
	}
	if more > 0 {
		p.line(fmt.Sprintf("... and %d more reasons", more))
	}
}

func (p *printer) mesh(r Run) error {
	if r.Mesh == nil || len(r.Mesh.Pairs) == 0 {
		return nil // it is among what was not checked
	}
	p.heading("Mesh")
	p.blank()
	var b strings.Builder
	if err := draw.MeshText(&b, r.Mesh, p.width()); err != nil {
		return err
	}
	for l := range strings.Lines(b.String()) {
		p.line(strings.TrimSuffix(l, "\n")) // MeshText cleans its names itself
	}
	return nil
}

func (p *printer) causes(r Run) {
	if r.Causes == nil || len(r.Causes.Causes) == 0 {
		return
	}
	p.heading("Why pairs failed, most likely first")
	for i, c := range r.Causes.Causes {
		if i == textGroups && !p.o.Verbose {
			p.blank()
			p.line(fmt.Sprintf("... and %d more; -v writes them all", len(r.Causes.Causes)-i))
			return
		}
		p.blank()
		p.status("CAUSE", red, c.Subjects(), string(c.ID))
		p.field("explains", share(c.Confidence))
		for _, e := range c.Evidence {
			p.field("seen", e.Value+" ("+e.Source+")")
		}
		for _, e := range c.Against {
			p.field("against", e.Value+" ("+e.Source+")")
		}
		p.commands("confirm", oneLine(c.Confirm))
		p.commands("fix", oneLine(c.Fix))
	}
}

// share writes a confidence as Cause defines it.
func share(confidence float64) string {
	return fmt.Sprintf("%.0f %% of what was observed", 100*confidence)
}

func oneLine(command string) []string {
	if command == "" {
		return nil
	}
	return []string{command}
}

func (p *printer) applied(r Run) {
	if len(r.Applied) == 0 {
		return
	}
	p.heading("How the hosts were configured")
	for _, a := range r.appliedGroups() {
		text := a.Nodes + ": " + orElse(a.How, "not configured")
		if a.Reason != "" {
			text += " (" + a.Reason + ")"
		}
		p.field("", text)
	}
}
