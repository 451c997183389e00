package report

import (
	"fmt"
	"html/template"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Most results that the page of an explanation writes in full, and causes of each.
const (
	pageResults = 50
	pageCauses  = 6
)

// ExplanationHTML writes the verdict on every result and why as one page, worst first: what was measured against
// what is healthy and what physics allows, the curve, the next test, the causes, and what was assumed. Among
// several, healthy results take a line each. Nil is written as unknown.
func ExplanationHTML(w io.Writer, x *fabric.Explanation, info PageInfo) error {
	if x == nil {
		x = &fabric.Explanation{}
	}
	v, err := newExplanationView(x, info)
	if err != nil {
		return err
	}
	return writePage(w, "explanation.html.tmpl", v)
}

// explanationView is the data of the page's template.
type explanationView struct {
	Frame   frame
	Results []explainedView
	Folded  *pageTable // results in a line each
	More    int        // results that are not on the page
}

// explainedView is one result in full. Name, Word and Why are empty where the banner has them.
type explainedView struct {
	Name, Why    string
	Status, Word string
	Tiles        []tile
	Curve        template.HTML
	Next         []row // the next test
	Notes        []string
	Causes       []block
	CausesTitle  string
	CausesMore   int
	NoCause      string
	Repair       string // the smallest set of causes that explains all of the loss
	Rows         *pageTable
	RowsMore     int
	Assumed      *pageTable
	AssumedMore  int
}

func newExplanationView(x *fabric.Explanation, info PageInfo) (explanationView, error) {
	results := worstFirst(x.Results)
	v := explanationView{Frame: explanationFrame(results, x.Status(), info)}
	var folded []fabric.Explained
	for _, e := range results {
		if len(v.Results) == pageResults || len(results) > 1 && e.Verdict == fabric.VerdictHealthy {
			folded = append(folded, e)
			continue
		}
		one, err := newExplainedView(e)
		if err != nil {
			return v, err
		}
		if len(results) == 1 {
			one.Name, one.Why, v.Frame.Tiles, one.Tiles = "", "", one.Tiles, nil
		}
		v.Results = append(v.Results, one)
	}
	folded, v.More = bounded(folded, pageRows)
	if len(folded) > 0 {
		v.Folded = newPageTable(foldedColumns(folded))
	}
	return v, nil
}

func explanationFrame(results []fabric.Explained, status fabric.Status, info PageInfo) frame {
	f := frame{Label: "explain", Title: "No result", Status: status.String(), Word: "Unknown", Sentence: "There is no result to explain.", Note: exitNote(status)}
	switch len(results) {
	case 0:
	case 1:
		e := results[0]
		f.Title, f.Word, f.Sentence = printable(nameOf(fabric.Explained{File: filepath.Base(e.File), Line: e.Line})), verdictWord(e.Verdict), explanationAnswer(results).text(pageAnswer)
		if e.Verdict.Status() != fabric.Unknown { // else it is the sentence
			f.Note = printable(e.Why) + " " + exitNote(status)
		}
		f.Facts = append(f.Facts, pair{"File", printable(nameOf(e))}, pair{"Kind", printable(string(e.Kind))})
	default:
		f.Title, f.Word, f.Sentence = fabric.Count(len(results), "result"), verdictWord(results[0].Verdict), explanationAnswer(results).text(pageAnswer)
		f.Note = verdictCounts(results) + ". " + exitNote(status)
		for _, v := range []fabric.Verdict{fabric.VerdictFailed, fabric.VerdictDegraded, fabric.VerdictUnknown, fabric.VerdictHealthy} {
			f.Tiles = append(f.Tiles, tile{v.Status().String(), string(v), fmt.Sprint(countVerdict(results, v))})
		}
	}
	f.Page = f.Title + ": " + strings.ToLower(f.Word)
	f.Facts = append(f.Facts, info.facts()...)
	return f
}

// verdictWord is a verdict as the head of a banner.
func verdictWord(v fabric.Verdict) string {
	word, _ := verdictLook(v)
	return word[:1] + strings.ToLower(word[1:])
}

func newExplainedView(e fabric.Explained) (explainedView, error) {
	v := explainedView{
		Name: printable(nameOf(e)), Why: printable(e.Why), Status: e.Verdict.Status().String(), Word: verdictWord(e.Verdict),
		Tiles: explainedTiles(e), Next: nextTest(e), CausesTitle: "Causes",
	}
	notes, more := bounded(e.Notes, pageBlocks)
	for _, n := range notes {
		v.Notes = append(v.Notes, printable(evidenceText(n)))
	}
	if more > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%d more are in the JSON", more))
	}
	rows := curveRows(e)
	if len(rows) > 0 {
		var err error
		if v.Curve, err = figure(func(w io.Writer) error { return draw.CurveSVG(w, draw.ExplainedCurve(e)) }); err != nil {
			return v, fmt.Errorf("curve: %w", err)
		}
	}
	kept, rowsMore := bounded(rows, pageRows)
	if len(kept) > 0 {
		v.Rows, v.RowsMore = newPageTable(verdictColumns(kept)), rowsMore
	}
	label := "cause"
	if e.Verdict == fabric.VerdictHealthy {
		v.CausesTitle, label = "Remarks", "remark" // on a result that needs no cause
	}
	causes, causesMore := bounded(shownCauses(e), pageCauses)
	v.CausesMore = causesMore
	for i, c := range causes {
		v.Causes = append(v.Causes, explainedCause(fmt.Sprintf("%s %d", label, i+1), c))
	}
	if len(causes) == 0 && e.Verdict != fabric.VerdictHealthy {
		v.NoCause = "No known cause fits."
	}
	v.Repair = printable(repairText(e.Repair))
	v.Assumed, v.AssumedMore = assumedTable(e.Assumed)
	return v, nil
}

// explainedTiles are the numbers by which a result was judged.
func explainedTiles(e fabric.Explained) []tile {
	value, unit, ok := judged(e)
	if !ok {
		return nil
	}
	measured := tile{e.Verdict.Status().String(), unit + " measured", draw.Rate(value)}
	if unit == "us" {
		measured = tile{measured.Kind, "measured", microseconds(value)}
	}
	if e.Measured.Size > 0 {
		measured.Label += " at " + draw.Bytes(e.Measured.Size)
	}
	all := []tile{measured}
	add := func(shown bool, label, count string) {
		if shown {
			all = append(all, tile{"", label, count})
		}
	}
	if x := e.Expected; x != nil {
		expected := expectedOf(x)
		add(span(x.Low, x.High, "-") != "?", unit+" healthy range", span(x.Low, x.High, "-"))
		add(finite(expected) && expected > 0, unit+" expected", draw.Rate(expected))
		add(finite(expected) && expected > 0 && unit != "us", "of what is expected", fmt.Sprintf("%.0f %%", 100*value/max(expected, 1e-9)))
	}
	if b := e.Bound; b != nil && finite(b.BusBW) && b.BusBW > 0 && unit != "us" {
		bound := b.BusBW
		if unit == "Gb/s" {
			bound *= 8
		}
		add(true, strings.TrimSuffix(unit+" bound: "+printable(b.Element), ": "), draw.Rate(bound))
	}
	if m := e.Measured; finite(m.NICGBs) && m.NICGBs > 0 {
		label := "GB/s per NIC"
		if finite(m.NICLine) && m.NICLine > 0 {
			label += fmt.Sprintf(" of %.4g", m.NICLine)
		}
		add(true, label, draw.Rate(m.NICGBs))
	}
	return all
}

// nextTest is what to do next: how to get a verdict where there is none, else what confirms the first cause.
func nextTest(e fabric.Explained) []row {
	causes := shownCauses(e)
	var all []row
	if text := toDecide(e, causes); text != "" {
		all = append(all, row{Label: "To decide", Lines: []string{printable(text)}})
	}
	for _, step := range e.Steps {
		all = append(all, adviceRow("Next", step.Command), row{Label: "Tells", Lines: []string{printable(stepCost(step) + ": " + step.Tells)}})
	}
	if len(e.Steps) == 0 && len(causes) > 0 && causes[0].Confirm != "" && e.Verdict != fabric.VerdictHealthy {
		all = append(all, adviceRow("Test", causes[0].Confirm), row{Label: "Shows", Lines: []string{"whether it is " + printable(string(causes[0].ID))}})
	}
	return all
}

// explainedCause is a cause with the evidence for and against it.
func explainedCause(label string, c fabric.Cause) block {
	b := block{Kind: "cause", Word: label, Title: short(fabric.Printable(string(c.ID)), longName) + ", " + confidence(c.Confidence)}
	if c.Subject.Node != "" {
		b.Subject = printable(c.Subject.String())
	}
	for _, part := range []struct {
		label    string
		evidence []fabric.Evidence
	}{{"For", c.Evidence}, {"Against", c.Against}} {
		var lines []string
		for _, e := range part.evidence {
			lines = append(lines, printable(evidenceText(e)))
		}
		if len(lines) > 0 {
			b.Rows = append(b.Rows, row{Label: part.label, Lines: limited(lines, pageTerms, "the JSON has them all")})
		}
	}
	if c.Confirm != "" {
		b.Rows = append(b.Rows, adviceRow("Confirm", c.Confirm))
	}
	if len(oneLine(c.Fix)) > 0 {
		b.Rows = append(b.Rows, adviceRow("Fix", c.Fix))
	}
	if text := gainText(c.Gain); text != "" {
		b.Rows = append(b.Rows, row{Label: "Gain", Lines: []string{printable(text)}})
	}
	return b
}

// adviceRow is a command as it is to be copied, or a sentence about commands.
func adviceRow(label, text string) row {
	if command, _, _ := strings.Cut(text, " # "); sentence(command) {
		return row{Label: label, Lines: []string{printable(text)}}
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(text), "\n") {
		lines = append(lines, oneLine(line)...)
	}
	return row{Label: label, Lines: printableAll(lines), Commands: true}
}

// foldedColumns are results in a line each.
func foldedColumns(results []fabric.Explained) []column {
	all := []column{{name: "Result", left: true}, {name: "Verdict", left: true}, {name: "Why", left: true}}
	for _, e := range results {
		for i, cell := range []string{printable(nameOf(e)), strings.ToLower(verdictWord(e.Verdict)), printable(orElse(shortNumbers(e), e.Why))} {
			all[i].cells = append(all[i].cells, cell)
		}
	}
	return all
}

// assumedTable lists assumptions with their sources; nil where there are none.
func assumedTable(all []fabric.Assumption) (*pageTable, int) {
	list, more := bounded(all, pageRows)
	columns := []column{{name: "What", left: true}, {name: "Source", left: true}}
	for _, a := range list {
		columns[0].cells, columns[1].cells = append(columns[0].cells, printable(a.What)), append(columns[1].cells, printable(a.Source))
	}
	if len(list) == 0 {
		return nil, 0
	}
	return newPageTable(columns), more
}

func countVerdict(results []fabric.Explained, v fabric.Verdict) int {
	n := 0
	for _, e := range results {
		if badness(e.Verdict) == badness(v) {
			n++
		}
	}
	return n
}

// shownCauses are the causes of a result, less that it is healthy where the verdict says so.
func shownCauses(e fabric.Explained) []fabric.Cause {
	return slices.DeleteFunc(slices.Clone(e.Causes), func(c fabric.Cause) bool {
		return e.Verdict == fabric.VerdictHealthy && c.ID == fabric.CauseHealthy
	})
}
