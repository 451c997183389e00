package report

import (
	"cmp"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// explainedCurve draws the curve of a result that has one, and with Verbose its rows.
func (p *printer) explainedCurve(e fabric.Explained, room bool) (drawn bool, err error) {
	rows := curveRows(e)
	if len(rows) == 0 {
		return false, nil
	}
	if room {
		p.blank()
		if err := p.curve(draw.ExplainedCurve(e)); err != nil {
			return false, err
		}
	}
	if p.o.Verbose {
		p.blank()
		kept, more := bounded(rows, p.rowLimit())
		p.table(verdictColumns(kept))
		if more > 0 {
			p.line(fmt.Sprintf("  ... and %s; %s", fabric.Count(more, "more size"), p.where()))
		}
	}
	return room, nil
}

// curveRows are the rows of a result by size; none where they are of one size, which is not a curve.
func curveRows(e fabric.Explained) []fabric.RowVerdict {
	rows := slices.Clone(e.Rows)
	slices.SortStableFunc(rows, func(a, b fabric.RowVerdict) int { return cmp.Compare(a.Size, b.Size) })
	if len(rows) == 0 || rows[0].Size == rows[len(rows)-1].Size {
		return nil
	}
	return rows
}

func verdictColumns(rows []fabric.RowVerdict) []column {
	all := []column{{name: "size"}, {name: "measured", unit: "GB/s"}, {name: "expected", unit: "GB/s"}, {name: "healthy", unit: "GB/s"}, {name: "bound", unit: "GB/s", drop: 1}, {name: "", left: true}}
	for _, r := range rows {
		word := ""
		switch {
		case span(r.Low, r.High, "-") == "?":
			word = "not judged"
		case r.BusBW < r.Low:
			word = "low"
		case r.Bound > 0 && r.BusBW > r.Bound:
			word = "above the bound"
		case r.BusBW > r.High:
			word = "high"
		}
		for i, cell := range []string{draw.Bytes(r.Size), draw.Rate(r.BusBW), positive(r.Expected), span(r.Low, r.High, "-"), positive(r.Bound), word} {
			all[i].cells = append(all[i].cells, cell)
		}
	}
	return all
}

// positive writes a number that is zero where it is unknown.
func positive(v float64) string {
	if v <= 0 {
		return "?"
	}
	return draw.Rate(v)
}
