package report

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Bounds of a derivation: its steps, and the characters of one formula with its numbers.
const (
	mostSteps   = 400
	longFormula = 1200
)

// Derivation writes how a sizing was reached, step by step, so that a reviewer can follow it with a pocket
// calculator: what is computed, the formula, the numbers in it, the result, and where each comes from; then the
// memory of one rank, entry by entry. A sizing without steps is written as such.
func Derivation(w io.Writer, s *fabric.Sizing, o TextOptions) error {
	p := newPrinter(o)
	if s == nil || len(s.Derivation)+ledgerLen(s) == 0 {
		p.heading("No derivation")
		p.field("", "there is no step to show")
		return p.writeTo(w)
	}
	p.heading(fabric.Printable(short("Derivation: "+derivationTitle(s), p.width())))
	for _, l := range unitLines() {
		p.field("", l)
	}
	steps, more := bounded(s.Derivation, mostSteps)
	part := ""
	for i, d := range steps {
		if d.Part != "" && d.Part != part {
			part = d.Part
			p.heading(fabric.Printable(printable(part)))
		}
		p.step(i+1, d)
	}
	if more > 0 {
		p.blank()
		p.line(fmt.Sprintf("... and %s; -o json has them all", fabric.Count(more, "more step")))
	}
	p.ledgerSteps(s)
	return p.writeTo(w)
}

func unitLines() []string {
	return []string{"GiB is 2^30 bytes, GB 10^9; engines print GB and mean GiB.", "A rank is one GPU; figures are of the heaviest."}
}

func ledgerLen(s *fabric.Sizing) int {
	if plan := mainPlan(s); plan != nil {
		return len(plan.Ledger)
	}
	return 0
}

func derivationTitle(s *fabric.Sizing) string {
	title := modelName(s)
	if plan := mainPlan(s); plan != nil {
		title += " on " + machinesText(s, *plan)
	}
	return title
}

// step is one step: its number and what it computes, then its lines.
func (p *printer) step(n int, d fabric.Derivation) {
	p.blank()
	head := fmt.Sprintf("%3d. ", n)
	for i, l := range wrap(fabric.Printable(printable(d.Title)), p.width()-len(head)) {
		if i > 0 {
			head = strings.Repeat(" ", len(head))
		}
		p.line(head + p.paint(bold, l))
	}
	for _, l := range stepLines(d) {
		for i, text := range wrap(l.Lines[0], p.width()-stepIndent) {
			label := l.Label
			if i > 0 {
				label = ""
			}
			text = fabric.Printable(text)
			if l.Label == "=" {
				text = p.paint(bold, text)
			}
			p.line("     " + p.paint(faint, label) + strings.Repeat(" ", stepIndent-5-utf8.RuneCountInString(label)) + text)
		}
	}
}

// stepIndent is the column where the text of a step begins.
const stepIndent = 14

// stepLines are the lines of a step that have a text.
func stepLines(d fabric.Derivation) []row {
	var all []row
	for _, x := range [][2]string{{"formula", d.Formula}, {"numbers", d.Numbers}, {"=", d.Result}, {"source", d.Source}} {
		if text := strings.TrimSpace(x[1]); text != "" && (x[0] != "numbers" || text != strings.TrimSpace(d.Formula)) {
			all = append(all, row{Label: x[0], Lines: []string{fabric.Printable(short(text, longFormula))}})
		}
	}
	return all
}

// ledgerSteps writes the memory of the plan's rank as a sum that can be added up.
func (p *printer) ledgerSteps(s *fabric.Sizing) {
	plan := mainPlan(s)
	if plan == nil || len(plan.Ledger) == 0 {
		return
	}
	p.heading("The memory of one rank, as a sum")
	p.blank()
	list, more := bounded(plan.Ledger, mostSteps)
	for _, e := range list {
		p.line(fmt.Sprintf("%20s B %10s GiB  %s", fabric.Thousands(e.Bytes), draw.GiB(float64(e.Bytes)), short(fabric.Printable(draw.LedgerName(e)), longName)))
		how := ledgerHow(e)
		for _, l := range wrap(how, p.width()-stepIndent) {
			if l != "" {
				p.line(strings.Repeat(" ", stepIndent) + p.paint(faint, l))
			}
		}
	}
	if more > 0 {
		p.line(fmt.Sprintf("  ... and %d more; -o json has them all", more))
	}
	p.line(strings.Repeat("-", sumWidth))
	p.line(fmt.Sprintf("%20s B %10s GiB  the sum; the GPU has %s B", fabric.Thousands(sumOf(plan.Ledger)), draw.GiB(float64(sumOf(plan.Ledger))), thousands(s.GPU.MemoryBytes)))
}

// sumWidth is the columns of the bytes and the GiB.
const sumWidth = 20 + 2 + 11 + 4

// ledgerHow returns how an entry is computed: formula, numbers, source.
func ledgerHow(e fabric.LedgerEntry) string {
	text := strings.TrimSpace(e.Formula)
	if e.Numbers != "" && e.Numbers != e.Formula {
		text += " = " + e.Numbers
	}
	var from []string
	for _, t := range []string{e.Certainty, e.Source} {
		if t != "" {
			from = append(from, t)
		}
	}
	if len(from) > 0 {
		text += " (" + strings.Join(from, "; ") + ")"
	}
	return fabric.Printable(short(strings.TrimSpace(text), longFormula))
}

// sumOf adds up the entries; slack below zero subtracts what is missing. What no machine has is not added.
func sumOf(all []fabric.LedgerEntry) int64 {
	const most = 1 << 55 // bytes: 32 PiB; 100 of them still fit an int64
	var sum int64
	for _, e := range all {
		if e.Bytes < most && e.Bytes > -most && sum < most && sum > -most {
			sum += e.Bytes
		}
	}
	return sum
}
