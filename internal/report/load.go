package report

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Bounds of the text of load tests: results with their findings, lines of a list.
const (
	loadBlocks = 12
	loadLines  = 8
)

// Loads writes what results of load tests say: the answer, first and last, a line per result, why one is not a pass, the
// chart of each workload with several loads, where it is saturated, and the operating point that was asked for.
func Loads(w io.Writer, r *fabric.LoadReport, o TextOptions) error {
	p := newPrinter(o)
	if r == nil {
		r = &fabric.LoadReport{}
	}
	answer := loadAnswer(r)
	p.answerLine(answer)
	if len(r.Tests) > 0 {
		p.blank()
		rows, more := bounded(r.Tests, p.rowLimit())
		p.table(loadColumns(rows))
		if more > 0 {
			p.line(fmt.Sprintf("  ... and %s; %s", fabric.Count(more, "more result"), p.where()))
		}
	}
	p.loadFindings(r)
	if chart := loadChart(r); len(chart.Lines) > 0 {
		p.blank()
		var b strings.Builder
		if err := draw.LoadText(&b, chart, p.width(), draw.CurveOptions{Color: p.o.Color, ASCII: p.o.ASCII}); err != nil {
			return err
		}
		p.b.WriteString(b.String())
	}
	p.blank()
	for _, f := range loadFields(r) {
		p.fields(f.Label, limited(f.Lines, max(loadLines, p.claimLineLimit()), p.where()))
	}
	p.blank()
	p.end(loadExit(r), answer)
	return p.writeTo(w)
}

// loadFindings writes why a result is not a pass; with Verbose everything that was looked at.
func (p *printer) loadFindings(r *fabric.LoadReport) {
	shown := 0
	for i, j := range r.Tests {
		texts := loadTexts(j, p.o.Verbose)
		if len(texts) == 0 {
			continue
		}
		if shown++; shown > loadBlocks && !p.o.Verbose {
			p.blank()
			p.line("... and more; " + p.where())
			return
		}
		p.blank()
		p.status(strings.ToUpper(j.Status.String()), statusColor(j.Status), fmt.Sprintf("%d", i+1), loadName(j.Test))
		for _, f := range texts {
			p.fields(f.Label, f.Lines)
		}
	}
}

// loadTexts are the findings of a result that keep it from passing, worst first; all: those that pass and the remarks too.
func loadTexts(j fabric.JudgedLoad, all bool) []row {
	var rows []row
	for _, s := range []fabric.Status{fabric.Fail, fabric.Unknown, fabric.Pass, fabric.NotApplicable} {
		for _, f := range j.Findings {
			if f.Status != s || !all && (!f.Decides || s == fabric.Pass || s == fabric.NotApplicable) {
				continue
			}
			label := map[fabric.Status]string{fabric.Fail: "failed", fabric.Unknown: "unknown", fabric.Pass: "passed", fabric.NotApplicable: "not here"}[s]
			if !f.Decides {
				label = "remark"
			}
			rows = append(rows, row{Label: label, Lines: []string{f.ID + ": " + f.Text}})
			if f.Next != "" {
				rows = append(rows, row{Label: "next", Lines: []string{f.Next}})
			}
		}
	}
	return rows
}

// loadName is a result in a few words.
func loadName(t fabric.LoadTest) string {
	name := filepath.Base(t.File)
	if dir := filepath.Base(filepath.Dir(t.File)); strings.HasPrefix(name, "profile_export") && dir != "." {
		name = dir
	}
	if t.Line > 1 {
		name += fmt.Sprintf(":%d", t.Line)
	}
	return cut(strings.TrimSpace(name + "  " + t.Tool + " " + t.Version))
}

func loadAnswer(r *fabric.LoadReport) answer {
	count := map[fabric.Status]int{}
	for _, j := range r.Tests {
		count[j.Status]++
	}
	var terms []string
	for _, c := range r.Choices {
		text := c.Text
		if p := c.Point; p != nil {
			text = "load " + p.Load
			if c.Replicas > 0 {
				text += ", " + fabric.Count(c.Replicas, "replica")
			}
			text += fmt.Sprintf(" (%s tokens/s, %s)", draw.Rate(p.OutputTokensS), draw.Milliseconds(p.TTFTms))
		}
		if len(r.Choices) > 1 && c.Line != "" {
			text = c.Line + ": " + text
		}
		terms = append(terms, text)
	}
	for _, s := range []fabric.Status{fabric.Fail, fabric.Unknown, fabric.Pass} {
		if n := count[s]; n > 0 {
			terms = append(terms, fmt.Sprintf("%s %s", fabric.Count(n, "result"), statusWord(s)))
		}
	}
	if why := firstGround(r); why != "" && len(r.Tests) == 1 {
		terms = []string{why}
	}
	if len(r.Unread) > 0 {
		terms = append(terms, fabric.Count(len(r.Unread), "text")+" without a result")
	}
	if len(r.Tests)+len(r.Unread) == 0 {
		terms = []string{"there is no result"}
	}
	return statusAnswer(r.Status, "", terms...)
}

// firstGround is what decides the verdict of the first result that is not a pass.
func firstGround(r *fabric.LoadReport) string {
	for _, j := range r.Tests {
		for _, f := range j.Findings {
			if f.Decides && f.Status == j.Status && j.Status != fabric.Pass {
				return f.Text
			}
		}
	}
	return ""
}

// loadColumns are the columns of the results.
func loadColumns(tests []fabric.JudgedLoad) []column {
	cells := func(of func(fabric.LoadTest) string) []string {
		var all []string
		for _, j := range tests {
			all = append(all, printable(of(j.Test)))
		}
		return all
	}
	number := func(v *float64) string {
		if v == nil {
			return "?"
		}
		return draw.Rate(*v)
	}
	count := func(v *int64) string {
		if v == nil {
			return "?"
		}
		return fabric.Thousands(*v)
	}
	var numbers, verdicts []string
	for i, j := range tests {
		numbers = append(numbers, fmt.Sprint(i+1))
		verdicts = append(verdicts, j.Status.String())
	}
	all := []column{
		{name: "", cells: numbers},
		{name: "verdict", left: true, cells: verdicts},
		{name: "model", left: true, drop: 6, cells: cells(func(t fabric.LoadTest) string { return short(orElse(t.Model, "?"), 24) })},
		{name: "in/out", unit: "tokens", drop: 2, cells: cells(func(t fabric.LoadTest) string { return lengthText(t.Input) + "/" + lengthText(t.Output) })},
		{name: "load", cells: cells(func(t fabric.LoadTest) string { return t.Load() })},
		{name: "done", drop: 4, cells: cells(func(t fabric.LoadTest) string { return count(t.Done) })},
		{name: "failed", drop: 5, cells: cells(func(t fabric.LoadTest) string { return count(t.Failed) })},
		{name: "first token", unit: "ms", cells: cells(func(t fabric.LoadTest) string { return number(t.TTFT.Of("avg")) })},
		{name: "p99", unit: "ms", drop: 3, cells: cells(func(t fabric.LoadTest) string { return number(t.TTFT.Of("p99")) })},
		{name: "per token", unit: "ms", drop: 1, cells: cells(func(t fabric.LoadTest) string { return number(perToken(t)) })},
		{name: "requests", unit: "/s", drop: 7, cells: cells(func(t fabric.LoadTest) string { return number(t.RequestsS) })},
		{name: "output", unit: "tokens/s", cells: cells(func(t fabric.LoadTest) string { return number(t.OutputTokensS) })},
	}
	if slices.ContainsFunc(tests, func(j fabric.JudgedLoad) bool { return j.Test.GPUs > 0 }) {
		all = append(all, column{name: "per GPU", unit: "tokens/s", drop: 8, cells: cells(func(t fabric.LoadTest) string {
			if t.GPUs < 1 || t.OutputTokensS == nil {
				return "?"
			}
			return draw.Rate(*t.OutputTokensS / float64(t.GPUs))
		})})
	}
	if slices.ContainsFunc(tests, func(j fabric.JudgedLoad) bool { return j.Expected != nil }) {
		var expected []string
		for _, j := range tests {
			text := "?"
			if j.Expected != nil {
				text = span(j.Expected.Band[0], j.Expected.Band[1], "-")
			}
			expected = append(expected, text)
		}
		all = append(all, column{name: "expected", unit: "tokens/s", drop: 8, cells: expected})
	}
	return all
}

// perToken is the time per token after the first: that of whole requests, else between tokens.
func perToken(t fabric.LoadTest) *float64 {
	if v := t.TPOT.Of("avg"); v != nil {
		return v
	}
	return t.ITL.Of("avg")
}

func lengthText(s fabric.LoadSpread) string {
	if v := s.Of("avg"); v != nil {
		return fmt.Sprintf("%.0f", *v)
	}
	return "?"
}

// loadChart is the chart of the workloads with several loads.
func loadChart(r *fabric.LoadReport) draw.LoadChart {
	c := draw.LoadChart{Stat: r.Stat}
	for _, l := range r.Lines {
		if len(l.Points) > 1 {
			c.Lines = append(c.Lines, l)
		}
	}
	c.TargetMs = r.TargetMs
	return c
}

// loadFields are what the lines say, the choices, and what was not read.
func loadFields(r *fabric.LoadReport) []row {
	var lines, choices, unread []string
	for _, l := range r.Lines {
		if l.Saturated != "" {
			lines = append(lines, l.Name+": saturated from load "+l.Saturated+": beyond it requests wait, and throughput hardly grows")
		}
		for _, text := range l.Remarks {
			lines = append(lines, l.Name+": "+text)
		}
	}
	for _, c := range r.Choices {
		choices = append(choices, strings.TrimPrefix(c.Line+", ", ", ")+c.Target+": "+c.Text)
	}
	for _, u := range r.Unread {
		text := u.Text + ": " + u.Reason
		if u.Line > 0 {
			text = fmt.Sprintf("%s, line %d: %s", u.Text, u.Line, u.Reason)
		}
		unread = append(unread, text)
	}
	var rows []row
	for _, f := range []row{{Label: "workload", Lines: lines}, {Label: "choice", Lines: choices}, {Label: "unread", Lines: unread}} {
		if len(f.Lines) > 0 {
			f.Lines = printableAll(f.Lines)
			rows = append(rows, f)
		}
	}
	return rows
}

// loadExit says what the exit status means.
func loadExit(r *fabric.LoadReport) string {
	switch r.Status {
	case fabric.Pass:
		return "Exit status 0: every result can be relied on."
	case fabric.Fail:
		return "Exit status 1: a result is not what it claims to be, or no load reaches the target."
	default:
		return "Exit status 2: nothing is wrong, but not everything that a verdict needs is known."
	}
}

// LoadFindings writes the findings of a smoke test.
func LoadFindings(w io.Writer, what string, s fabric.Status, all []fabric.LoadFinding, o TextOptions) error {
	p := newPrinter(o)
	terms := []string{what}
	for _, f := range all {
		if f.Status == s {
			terms = []string{f.Text}
			if s != fabric.Pass {
				break
			}
		}
	}
	p.answerLine(statusAnswer(s, "", terms...))
	p.blank()
	for _, r := range loadTexts(fabric.JudgedLoad{Findings: all}, true) {
		p.fields(r.Label, r.Lines)
	}
	return p.writeTo(w)
}
