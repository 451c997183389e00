package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// PredictionHTML writes what healthy machines would reach as one page: the curve, a line per size, what sets the
// bound, and what was assumed. Nil is written as no prediction.
func PredictionHTML(w io.Writer, x *fabric.Prediction, info PageInfo) error {
	if x == nil {
		x = &fabric.Prediction{}
	}
	f := frame{Label: "predict", Title: "No prediction", Facts: info.facts()}
	if len(x.Rows) > 0 {
		f.Title = printable(predictionTitle(x))
		facts := []pair{{"Machines", printable(hardwareText(x.Hardware))}}
		if x.NCCL != "" {
			facts = append(facts, pair{"Choices", "of NCCL " + printable(x.NCCL)})
		}
		f.Facts = append(facts, f.Facts...)
	}
	f.Page = f.Title
	v := predictionView{Frame: f, Tiles: predictionTiles(x)}
	if len(x.Rows) > 0 {
		var err error
		if v.Curve, err = figure(func(w io.Writer) error { return draw.CurveSVG(w, draw.PredictionCurve(x)) }); err != nil {
			return fmt.Errorf("curve: %w", err)
		}
		rows, more := bounded(x.Rows, pageRows)
		v.Rows, v.RowsMore = newPageTable(predictionColumns(rows, pageColumns)), more
		v.Bounds = printableAll(boundLines(rows))
	}
	remarks, _ := bounded(x.Remarks, pageLines)
	v.Remarks = printableAll(remarks)
	v.Assumed, v.AssumedMore = assumedTable(x.Assumptions)
	return writePage(w, "prediction.html.tmpl", v)
}

// pageColumns is the characters of a table's row on a page, on which no column is left out.
const pageColumns = 1000

// predictionView is the data of the page's template.
type predictionView struct {
	Frame       frame
	Tiles       []tile
	Curve       template.HTML
	Rows        *pageTable
	RowsMore    int
	Remarks     []string
	Bounds      []string
	Assumed     *pageTable
	AssumedMore int
}

// predictionTiles are the numbers of the row with the most bandwidth: the plateau.
func predictionTiles(x *fabric.Prediction) []tile {
	if len(x.Rows) == 0 {
		return nil
	}
	best := plateau(x.Rows)
	all := []tile{
		{"", "GB/s bus bandwidth at " + draw.Bytes(best.Size), draw.Rate(best.BusBW)},
		{"", "GB/s healthy range", span(best.Band[0], best.Band[1], "-")},
		{"", strings.TrimSuffix("GB/s bound: "+printable(best.Bound.Element), ": "), positive(best.Bound.BusBW)},
		{"", "time", microseconds(best.TimeUS)},
		{"", "algorithm", algorithmText(best)},
	}
	if best.NICGBs > 0 {
		all = append(all, tile{"", "GB/s per NIC", draw.Rate(best.NICGBs)})
	}
	return all
}
