package report

import (
	"io"
	"strconv"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// upgradeView is the data of the page's template.
type upgradeView struct {
	Frame       frame
	Tiles       []tile
	Moves       []string
	Rows        *pageTable
	RowsMore    int
	Remarks     []string
	Assumed     *pageTable
	AssumedMore int
}

// UpgradeHTML writes what other versions of NCCL change as one page: where choices move, a line per size, and what was assumed. Nil is
// written as no comparison.
func UpgradeHTML(w io.Writer, x *fabric.Upgrade, info PageInfo) error {
	if x == nil {
		x = &fabric.Upgrade{}
	}
	f := frame{Label: "predict", Title: "No comparison", Facts: info.facts()}
	v := upgradeView{}
	if len(x.Rows) > 0 {
		f.Title = printable(upgradeTitle(x))
		f.Facts = append([]pair{{"Machines", printable(hardwareText(x.Hardware))}}, f.Facts...)
		v.Tiles = upgradeTiles(x)
		rows, more := bounded(x.Rows, pageRows)
		v.Rows, v.RowsMore = newPageTable(upgradeColumns(x.NCCL, rows, pageColumns)), more
	}
	f.Page = f.Title
	v.Frame = f
	moved, _ := bounded(moveLines(x), pageLines)
	v.Moves = printableAll(moved)
	remarks, _ := bounded(x.Remarks, pageLines)
	v.Remarks = printableAll(remarks)
	v.Assumed, v.AssumedMore = assumedTable(x.Assumptions)
	return writePage(w, "upgrade.html.tmpl", v)
}

// upgradeTiles are how many sizes move, and the largest gain and loss.
func upgradeTiles(x *fabric.Upgrade) []tile {
	moved, best, worst := 0, x.Rows[0], x.Rows[0]
	for _, r := range x.Rows {
		if r.Moved {
			moved++
		}
		if r.Gain > best.Gain {
			best = r
		}
		if r.Gain < worst.Gain {
			worst = r
		}
	}
	return []tile{
		{"", "of " + fabric.Count(len(x.Rows), "size") + " move", strconv.Itoa(moved)},
		{"", "at most, at " + draw.Bytes(best.Size), percent(best.Gain)},
		{"", "at least, at " + draw.Bytes(worst.Size), percent(worst.Gain)},
	}
}
