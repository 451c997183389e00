package report

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Most sizes of a table, without and with Verbose, and the assumptions that are written without it.
const (
	tableRows    = 64
	tableRowsAll = 4096
	fewAssumed   = 4
	mostAssumed  = 1000
	longText     = 300 // characters of one text from a file, so that none fills the screen
)

// Prediction writes what healthy machines would reach: the answer, first and last, which machines, the curve, a line per size, what sets
// the bound, and what was assumed. A nil prediction, or one without rows, is written as none.
func Prediction(w io.Writer, x *fabric.Prediction, o TextOptions) error {
	p := newPrinter(o)
	if x == nil || len(x.Rows) == 0 {
		p.line("UNKNOWN: there is no size to predict")
		return p.writeTo(w)
	}
	answer := predictionAnswer(x)
	p.answerLine(answer)
	p.heading(fabric.Printable(predictionTitle(x)))
	p.field("machines", hardwareText(x.Hardware))
	if x.NCCL != "" {
		p.field("choices", "of NCCL "+fabric.Printable(x.NCCL))
	}
	p.fields("note", limited(printableAll(x.Remarks), p.sizingLimit(), p.where()))
	p.blank()
	if err := p.curve(draw.PredictionCurve(x)); err != nil {
		return err
	}
	p.blank()
	rows, more := bounded(x.Rows, p.rowLimit())
	p.table(predictionColumns(rows, p.width()))
	if more > 0 {
		p.line(fmt.Sprintf("  ... and %s; %s", fabric.Count(more, "more size"), p.where()))
	}
	p.blank()
	p.fields("bound", boundLines(rows))
	p.assumptions(x.Assumptions)
	p.blank()
	p.answerLine(answer)
	return p.writeTo(w)
}

// predictionAnswer is the row with the most bandwidth: the plateau.
func predictionAnswer(x *fabric.Prediction) answer {
	best := plateau(x.Rows)
	terms := []string{draw.Rate(best.BusBW) + " GB/s at " + draw.Bytes(best.Size)}
	brief := slices.Clone(terms)
	if healthy := span(best.Band[0], best.Band[1], " to "); healthy != "?" {
		terms = append(terms, "healthy is "+healthy)
		brief = append(brief, "healthy "+span(best.Band[0], best.Band[1], "-"))
	}
	if finite(best.Bound.BusBW) && best.Bound.BusBW > 0 {
		bound := "bound " + draw.Rate(best.Bound.BusBW)
		terms, brief = append(terms, bound), append(brief, bound)
	}
	return answer{word: "EXPECTED", color: bold, before: cut(orElse(string(x.Collective), "collective")) + " busbw ", terms: terms, brief: brief}
}

// plateau is the row with the most bandwidth.
func plateau(rows []fabric.PredictionRow) fabric.PredictionRow {
	best := rows[0]
	for _, r := range rows {
		if r.BusBW > best.BusBW {
			best = r
		}
	}
	return best
}

func predictionTitle(x *fabric.Prediction) string {
	title := cut(orElse(string(x.Collective), "collective")) + ", " + fabric.Count(x.Ranks, "rank")
	if x.Nodes > 0 {
		title += " on " + fabric.Count(x.Nodes, "node")
	}
	return title
}

// hardwareText describes the machines as far as they are specified.
func hardwareText(h fabric.Hardware) string {
	var parts []string
	add := func(shown bool, format string, args ...any) {
		if shown {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	gpus := orElse(h.GPU, "GPUs")
	add(h.Machine != "", "%s", h.Machine)
	add(h.GPUsPerNode > 0, "%d x %s per node", h.GPUsPerNode, gpus)
	add(h.GPUsPerNode == 0 && h.GPU != "", "%s", h.GPU)
	nics := "NICs"
	switch {
	case h.NICsPerNode == 1 && h.NIC == "":
		nics = "NIC"
	case h.NIC != "":
		nics = "x " + h.NIC
	}
	if finite(h.NICGbps) && h.NICGbps > 0 {
		nics += fmt.Sprintf(" of %.6g Gb/s", h.NICGbps)
	}
	add(h.NICsPerNode > 0, "%d %s per node", h.NICsPerNode, nics)
	add(h.NICsPerNode == 0 && h.NICGbps > 0, "%s", strings.TrimPrefix(nics, "x "))
	add(h.Net != "", "net %s", h.Net)
	add(h.Wiring != "", "wiring %s", h.Wiring)
	add(h.MTU > 0, "MTU %d", h.MTU)
	add(h.CPU != "", "CPU %s", h.CPU)
	add(h.VM, "in a virtual machine")
	add(h.NVLink != nil && !*h.NVLink, "no NVLink")
	if len(parts) == 0 {
		return "machines unspecified"
	}
	return cut(strings.Join(parts, ", "))
}

// curve draws a curve as wide as the terminal.
func (p *printer) curve(c draw.Curve) error {
	var b strings.Builder
	if err := draw.CurveText(&b, c, p.width(), draw.CurveOptions{Color: p.o.Color, ASCII: p.o.ASCII}); err != nil {
		return err
	}
	p.b.WriteString(b.String()) // CurveText cleans its names itself
	return nil
}

func (p *printer) rowLimit() int {
	if p.o.Verbose {
		return tableRowsAll
	}
	return tableRows
}

// where returns where the rest is shown.
func (p *printer) where() string {
	if p.o.Verbose {
		return "-o json has them all"
	}
	return "-v shows them"
}

// predictionColumns are the columns of the rows. What sets the bound is a column only where it changes and
// there is room; it is always shown under the table.
func predictionColumns(rows []fabric.PredictionRow, width int) []column {
	cells := func(of func(fabric.PredictionRow) string) []string {
		var all []string
		for _, r := range rows {
			all = append(all, of(r))
		}
		return all
	}
	all := []column{
		{name: "size", cells: cells(func(r fabric.PredictionRow) string { return draw.Bytes(r.Size) })},
		{name: "time", cells: cells(func(r fabric.PredictionRow) string { return microseconds(r.TimeUS) }), drop: 1},
		{name: "algbw", unit: "GB/s", cells: cells(func(r fabric.PredictionRow) string { return draw.Rate(r.AlgBW) }), drop: 6},
		{name: "busbw", unit: "GB/s", cells: cells(func(r fabric.PredictionRow) string { return draw.Rate(r.BusBW) })},
		{name: "healthy", unit: "GB/s", cells: cells(func(r fabric.PredictionRow) string { return span(r.Band[0], r.Band[1], "-") }), drop: 2},
		{name: "algorithm", cells: cells(algorithmText), left: true, drop: 4},
	}
	if slices.ContainsFunc(rows, func(r fabric.PredictionRow) bool { return r.NICGBs > 0 }) {
		all = append(all, column{name: "per NIC", unit: "GB/s", cells: cells(func(r fabric.PredictionRow) string { return draw.Rate(r.NICGBs) }), drop: 5})
	}
	all = append(all, column{name: "bound", unit: "GB/s", cells: cells(func(r fabric.PredictionRow) string { return draw.Rate(r.Bound.BusBW) }), drop: 3})
	if len(boundLines(rows)) < 2 {
		return all
	}
	wide := append(all, column{name: "set by", left: true, cells: cells(func(r fabric.PredictionRow) string { return fabric.Printable(r.Bound.Element) }), drop: 7})
	if _, dropped := fold(wide, width); len(dropped) > 0 {
		return all
	}
	return wide
}

func algorithmText(r fabric.PredictionRow) string {
	const longest = 24 // characters; the longest real one, CollNetDirect Simple, has 20
	return orElse(short(fabric.Printable(strings.TrimSpace(r.Algorithm+" "+r.Protocol)), longest), "?")
}

// boundLines return what sets the bound, each once, with its sizes.
func boundLines(rows []fabric.PredictionRow) []string {
	const most = 6
	type run struct {
		bound    fabric.Bound
		from, to int64
	}
	var runs []run
	for _, r := range rows {
		if n := len(runs); n > 0 && runs[n-1].bound.Element == r.Bound.Element && draw.Rate(runs[n-1].bound.BusBW) == draw.Rate(r.Bound.BusBW) {
			runs[n-1].to = r.Size
			continue
		}
		runs = append(runs, run{r.Bound, r.Size, r.Size})
	}
	var lines []string
	for i, r := range runs {
		if i == most {
			lines = append(lines, fmt.Sprintf("and %d more", len(runs)-most))
			break
		}
		line := "unknown"
		if finite(r.bound.BusBW) && r.bound.BusBW > 0 {
			line = draw.Rate(r.bound.BusBW) + " GB/s, set by " + cut(orElse(r.bound.Element, "an unspecified element"))
		}
		if len(runs) > 1 && r.from == r.to {
			line = draw.Bytes(r.from) + ": " + line
		} else if len(runs) > 1 {
			line = draw.Bytes(r.from) + " to " + draw.Bytes(r.to) + ": " + line
		}
		lines = append(lines, line)
	}
	return lines
}

// assumptions writes the first few in a line each, or with Verbose all in full, each with its source.
func (p *printer) assumptions(all []fabric.Assumption) {
	most := fewAssumed
	if p.o.Verbose {
		most = mostAssumed
	}
	list, more := bounded(all, most)
	var lines []string
	shortened := false
	for _, a := range list {
		line := evidenceText(fabric.Evidence{Source: a.Source, Value: a.What})
		if !p.o.Verbose {
			whole := line
			line = short(whole, p.width()-fieldIndent)
			shortened = shortened || line != whole
		}
		lines = append(lines, line)
	}
	if more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more; %s", more, p.where()))
	} else if shortened {
		lines = append(lines, "-v shows them in full")
	}
	p.fields("assumed", lines)
}

// microseconds writes a time in the unit in which it has one to three digits before the point.
func microseconds(us float64) string {
	switch {
	case !finite(us) || us < 0:
		return "?"
	case us < 999.5:
		return draw.Rate(us) + " us"
	case us < 999.5e3:
		return draw.Rate(us/1e3) + " ms"
	default:
		return draw.Rate(us/1e6) + " s"
	}
}

// span writes a range; an unknown one is a question mark.
func span(low, high float64, to string) string {
	if !finite(low) || !finite(high) || high <= 0 || low > high {
		return "?"
	}
	if draw.Rate(low) == draw.Rate(high) {
		return draw.Rate(low)
	}
	return draw.Rate(low) + to + draw.Rate(high)
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// cut bounds a text from a file.
func cut(text string) string { return short(text, longText) }

// short cuts a text to a number of characters.
func short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
