package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// SizingHTML writes a sizing as one page. Long lists count instead of listing.
func SizingHTML(w io.Writer, s *fabric.Sizing) error {
	if s == nil {
		s = &fabric.Sizing{}
	}
	v := newSizingView(s)
	var err error
	if v.Ledger, err = figure(func(w io.Writer) error { return draw.LedgerSVG(w, draw.SizingLedger(s, pageLedgers)) }); err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return writePage(w, "sizing.html.tmpl", v)
}

// pageLedgers is the plans of one ledger picture.
const pageLedgers = 4

// sizingView is the data of the page's template.
type sizingView struct {
	Frame       frame
	Ledger      template.HTML
	Start       []startView
	Holds       []row
	Plans       *pageTable
	PlansMore   int
	RefusedAll  int
	Refused     []refusedView
	RefusedMore int
	Speed       *pageTable
	SpeedOf     string
	SpeedMore   int
	Network     *pageTable
	Around      []row
	Parts       []partView
	StepsMore   int
	Assumed     []fabric.Assumption
	AssumedMore int
}

// pageTable is a table of a page, from the columns of the terminal.
type pageTable struct {
	Heads []pageHead
	Rows  [][]pageCell
}

type pageHead struct {
	Name, Unit string
	Number     bool
}

type pageCell struct {
	Text   string
	Number bool
}

type refusedView struct {
	Rule    string
	Count   int
	Rows    []refusedRow
	More    int
	Nearest string
}

type refusedRow struct{ Layout, Reason, Source string }

type partView struct {
	Title string
	Steps []stepView
}

type stepView struct {
	N    int
	What string
	Rows []row
}

// startView is a command that starts the plan, and the servers that run it.
type startView struct{ Command, On string }

func newSizingView(s *fabric.Sizing) sizingView {
	plan := mainPlan(s)
	f := frame{
		Label: "size", Title: modelName(s), Facts: sizingFacts(s), Long: true,
		Status: s.Status().String(), Word: "Unknown", Sentence: "No layout of the model was tried.",
	}
	switch s.Status() {
	case fabric.Pass:
		f.Word, f.Sentence, f.Note = "Fits", answerText(s, plan), whyNotFewer(s, plan)
	case fabric.Fail:
		f.Word, f.Sentence, f.Note = "Does not fit", answerText(s, plan), whyNotFewer(s, plan)
	}
	f.Page = f.Title + ": " + f.Word
	v := sizingView{Frame: f}
	if plan != nil {
		v.planView(s, *plan)
	}
	list, more := bounded(s.Plans, pageRows)
	if len(list) > 0 {
		v.Plans, v.PlansMore = newPageTable(planColumns(list)), more
	}
	v.RefusedAll = len(s.Refused)
	v.Refused, v.RefusedMore = refusedViews(s.Refused)
	if s.Storage != nil {
		v.Around = storageLines(s.Storage, sizingLinesAll, "the JSON has them all")
	}
	v.Parts, v.StepsMore = partViews(s.Derivation)
	v.Assumed, v.AssumedMore = bounded(s.Assumptions, pageRows)
	for i, a := range v.Assumed {
		if i == 0 {
			v.Assumed = append([]fabric.Assumption{}, v.Assumed...)
		}
		v.Assumed[i] = fabric.Assumption{What: printable(a.What), Source: printable(a.Source)}
	}
	return v
}

func sizingFacts(s *fabric.Sizing) []pair {
	if len(s.Plans)+len(s.Refused) == 0 {
		return nil
	}
	var all []pair
	add := func(name, value string) {
		if value != "" {
			all = append(all, pair{name, value})
		}
	}
	for i, l := range modelLines(s) {
		add([]string{"Parameters", "Weights", "KV cache"}[i], strings.TrimPrefix(strings.TrimPrefix(l, "weights "), "KV cache "))
	}
	add("GPU", gpuText(s.GPU))
	add("Engine", printable(s.Engine.Name+" "+s.Engine.Version))
	add("Requested", requestText(s))
	return all
}

// planView fills in the first plan.
func (v *sizingView) planView(s *fabric.Sizing, x fabric.SizingPlan) {
	const commandWidth = 110 // characters: what fits the page
	for _, c := range x.Start {
		v.Start = append(v.Start, startView{strings.Join(commandLines(c.Words, commandWidth), "\n"), printable(c.On)})
	}
	requests := draw.Rate(x.Requests)
	if !(x.Requests >= 0) {
		requests = "?"
	}
	v.Frame.Tiles = []tile{
		{"", "servers", fmt.Sprint(x.Nodes)}, {"", "GPUs", fmt.Sprint(x.GPUs)}, {"", "GiB of weights per GPU", draw.GiB(float64(x.WeightsBytesPerGPU))},
		{"", "tokens of KV cache", thousands(x.KVTokens)}, {"", "requests at full context", requests}, {"", "GiB free after start", draw.GiB(float64(x.FreeBytes))},
	}
	add := func(label string, lines ...string) {
		lines, _ = bounded(printableAll(lines), pageLines*pageTerms)
		if len(lines) > 0 && lines[0] != "" {
			v.Holds = append(v.Holds, row{Label: label, Lines: lines})
		}
	}
	add("Holds", holdsText(s, x))
	fraction := []string{fractionText(x)}
	if x.Fraction.Effect != "" {
		fraction = append(fraction, x.Fraction.Effect)
	}
	add("Fraction", fraction...)
	var prints []string
	for _, e := range x.Prints {
		prints = append(prints, e.What+" "+printText(e))
	}
	add("Prints", prints...)
	add("Note", x.Limits...)
	if best := bestBeside(s, x); best != nil {
		add("Best", machinesText(s, *best)+": "+holdsText(s, *best))
		for _, c := range best.Start {
			v.Holds = append(v.Holds, row{Label: "", Lines: commandLines(c.Words, commandWidth-12), Commands: true})
			add("", c.On)
		}
	}
	own, others := byNetwork(x.Performance)
	if len(own) == 0 {
		return
	}
	v.SpeedOf = draw.PlanName(x)
	if own[0].Network != "" {
		v.SpeedOf += " over " + printable(own[0].Network)
	}
	rows, more := bounded(own, pageRows)
	v.Speed, v.SpeedMore = newPageTable(performanceColumns(rows)), more
	if rows := networkRows(own, others, true, pageRows); len(rows) > 0 {
		v.Network = newPageTable(networkColumns(rows))
	}
}

func newPageTable(all []column) *pageTable {
	t := &pageTable{}
	for k, c := range all {
		t.Heads = append(t.Heads, pageHead{c.name, c.unit, !c.left})
		for i, text := range c.cells {
			if k == 0 {
				t.Rows = append(t.Rows, nil)
			}
			t.Rows[i] = append(t.Rows[i], pageCell{text, !c.left})
		}
	}
	return t
}

func refusedViews(all []fabric.Refused) ([]refusedView, int) {
	groups, more := bounded(refusedByRule(all), pageBlocks)
	var views []refusedView
	for _, g := range groups {
		list, left := bounded(g.all, pageBlocks)
		view := refusedView{Rule: orElse(short(fabric.Printable(g.rule), longName), "an unnamed rule"), Count: len(g.all), More: left, Nearest: nearestText(g.all[len(g.all)-1].Nearest)}
		for _, r := range list {
			view.Rows = append(view.Rows, refusedRow{layoutText(r), printable(r.Reason), printable(r.Assert)})
		}
		views = append(views, view)
	}
	return views, more
}

func partViews(all []fabric.Derivation) ([]partView, int) {
	steps, more := bounded(all, mostSteps)
	var parts []partView
	for i, d := range steps {
		if len(parts) == 0 || d.Part != "" && printable(d.Part) != parts[len(parts)-1].Title {
			parts = append(parts, partView{Title: orElse(printable(d.Part), "Steps")})
		}
		last := &parts[len(parts)-1]
		last.Steps = append(last.Steps, stepView{i + 1, printable(d.Title), stepLines(d)})
	}
	return parts, more
}
