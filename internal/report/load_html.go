package report

import (
	"fmt"
	"html/template"
	"io"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// LoadsHTML writes what results of load tests say as one page: the answer, the chart, a line per result, and why one is
// not a pass.
func LoadsHTML(w io.Writer, r *fabric.LoadReport, info PageInfo) error {
	if r == nil {
		r = &fabric.LoadReport{}
	}
	f := frame{
		Label: "serve load", Title: "Load tests", Status: r.Status.String(), Word: passWord(r.Status),
		Sentence: loadAnswer(r).text(pageAnswer), Note: loadExit(r), Facts: info.facts(), Tiles: loadTiles(r),
	}
	f.Page = f.Title + ": " + f.Word
	v := loadView{Frame: f}
	if chart := loadChart(r); len(chart.Lines) > 0 {
		var err error
		if v.Chart, err = figure(func(w io.Writer) error { return draw.LoadSVG(w, chart) }); err != nil {
			return fmt.Errorf("chart: %w", err)
		}
	}
	if len(r.Tests) > 0 {
		rows, more := bounded(r.Tests, pageRows)
		v.Tests, v.TestsMore = newPageTable(loadColumns(rows)), more
	}
	for i, j := range r.Tests {
		if i == pageBlocks {
			v.BlocksMore = len(r.Tests) - pageBlocks
			break
		}
		b := block{Kind: j.Status.String(), Word: statusWord(j.Status), Title: printable(fmt.Sprintf("%d: %s", i+1, loadName(j.Test))), Subject: printable(cut(j.Test.File))}
		for _, t := range loadTexts(j, true) {
			b.add(t.Label, printableAll(t.Lines), false)
		}
		v.Blocks = append(v.Blocks, b)
	}
	for _, row := range loadFields(r) {
		row.Lines, _ = bounded(row.Lines, pageBlocks)
		v.Around = append(v.Around, row)
	}
	return writePage(w, "load.html.tmpl", v)
}

// loadView is the data of the page's template.
type loadView struct {
	Frame      frame
	Chart      template.HTML
	Tests      *pageTable
	TestsMore  int
	Blocks     []block
	BlocksMore int
	Around     []row
}

func loadTiles(r *fabric.LoadReport) []tile {
	count := map[fabric.Status]int{}
	best := 0.0
	for _, j := range r.Tests {
		count[j.Status]++
		if v := j.Test.OutputTokensS; v != nil && j.Status != fabric.Fail {
			best = max(best, *v)
		}
	}
	all := []tile{
		{"fail", "results failed", fmt.Sprint(count[fabric.Fail])}, {"unknown", "results unknown", fmt.Sprint(count[fabric.Unknown])},
		{"pass", "results passed", fmt.Sprint(count[fabric.Pass])}, {"", "most output tokens/s that did not fail", positive(best)},
	}
	for _, c := range r.Choices {
		if c.Replicas > 0 && len(r.Choices) == 1 {
			all = append(all, tile{"", "replicas", fmt.Sprint(c.Replicas)})
		}
	}
	return all
}
