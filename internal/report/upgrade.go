package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
	"railwright.dev/railwright/internal/fabric"
)

// Upgrade writes what other versions of NCCL change: the answer, first and last, which machines, where choices move, a line per size,
// and what was assumed. A nil comparison, or one without rows, is written as none.
func Upgrade(w io.Writer, x *fabric.Upgrade, o TextOptions) error {
	p := newPrinter(o)
	if x == nil || len(x.Rows) == 0 {
		p.line("UNKNOWN: there is no size to compare")
		return p.writeTo(w)
	}
	answer := upgradeAnswer(x)
	p.answerLine(answer)
	p.heading(fabric.Printable(upgradeTitle(x)))
	p.field("machines", hardwareText(x.Hardware))
	p.fields("note", limited(printableAll(x.Remarks), p.sizingLimit(), p.where()))
	p.fields("moves", limited(moveLines(x), p.sizingLimit(), p.where()))
	p.blank()
	rows, more := bounded(x.Rows, p.rowLimit())
	p.table(upgradeColumns(x.NCCL, rows, p.width()))
	if more > 0 {
		p.line(fmt.Sprintf("  ... and %s; %s", fabric.Count(more, "more size"), p.where()))
	}
	p.blank()
	p.assumptions(x.Assumptions)
	p.blank()
	p.answerLine(answer)
	return p.writeTo(w)
}

// upgradeAnswer is how many sizes move, and the largest gain and loss.
func upgradeAnswer(x *fabric.Upgrade) answer {
	moved := 0
	best, worst := x.Rows[0], x.Rows[0]
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
	a := answer{word: "EXPECTED", color: bold, before: versionsText(x.NCCL) + ": "}
	if moved == 0 {
		a.terms = []string{"the choices are the same at all " + fabric.Count(len(x.Rows), "size")}
		return a
	}
	a.terms = []string{fmt.Sprintf("%d of %s move", moved, fabric.Count(len(x.Rows), "size"))}
	a.brief = []string{fmt.Sprintf("%d of %d move", moved, len(x.Rows))}
	ends := []fabric.UpgradeRow{best, worst}
	if best.Size == worst.Size {
		ends = ends[:1]
	}
	for _, r := range ends {
		if r.Gain > 0 || r.Gain < 0 {
			words := map[bool]string{true: "at most ", false: "at least "}[r.Gain > 0]
			a.terms = append(a.terms, words+percent(r.Gain)+" at "+draw.Bytes(r.Size))
			a.brief = append(a.brief, fmt.Sprintf("%+.0f %% at %s", r.Gain, draw.Bytes(r.Size)))
		}
	}
	return a
}

func versionsText(versions []string) string {
	return "NCCL " + fabric.Printable(strings.Join(versions, " to "))
}

func upgradeTitle(x *fabric.Upgrade) string {
	return predictionTitle(&fabric.Prediction{Collective: x.Collective, Ranks: x.Ranks, Nodes: x.Nodes}) + ", " + versionsText(x.NCCL)
}

// percent is a change with its sign.
func percent(x float64) string {
	if !finite(x) {
		return "?"
	}
	return fmt.Sprintf("%+.1f %%", x)
}

// moveLines are the ranges of sizes at which the choices differ, with what that gains or loses.
func moveLines(x *fabric.Upgrade) (lines []string) {
	for _, m := range x.Moves {
		sizes := draw.Bytes(m.From)
		if m.To > m.From {
			sizes += " to " + draw.Bytes(m.To)
		}
		gain := percent(m.Gain[0])
		if percent(m.Gain[1]) != gain {
			gain += " to " + percent(m.Gain[1])
		}
		lines = append(lines, fabric.Printable(sizes+": "+strings.Join(m.Choices, ", then ")+", "+gain))
	}
	return lines
}

// upgradeColumns are the columns of the rows: what each version chooses, its bandwidth and, where there is room for it, its time.
func upgradeColumns(versions []string, rows []fabric.UpgradeRow, width int) []column {
	all := versionColumns(versions, rows, true)
	if _, dropped := fold(all, width); len(dropped) > 0 {
		all = versionColumns(versions, rows, false)
	}
	return all
}

func versionColumns(versions []string, rows []fabric.UpgradeRow, withTime bool) []column {
	cells := func(of func(fabric.UpgradeRow) string) (all []string) {
		for _, r := range rows {
			all = append(all, of(r))
		}
		return all
	}
	all := []column{{name: "size", cells: cells(func(r fabric.UpgradeRow) string { return draw.Bytes(r.Size) })}}
	for i, v := range versions {
		choice := func(r fabric.UpgradeRow) fabric.UpgradeChoice {
			if i >= len(r.Choices) {
				return fabric.UpgradeChoice{}
			}
			return r.Choices[i]
		}
		all = append(all,
			column{name: "NCCL " + fabric.Printable(v), left: true, cells: cells(func(r fabric.UpgradeRow) string {
				return algorithmText(fabric.PredictionRow{Algorithm: choice(r).Algorithm, Protocol: choice(r).Protocol})
			})})
		if withTime {
			all = append(all, column{name: "time", drop: 2, cells: cells(func(r fabric.UpgradeRow) string { return microseconds(choice(r).TimeUS) })})
		}
		all = append(all, column{name: "busbw", unit: "GB/s", drop: 1, cells: cells(func(r fabric.UpgradeRow) string { return draw.Rate(choice(r).BusBW) })})
	}
	gain := column{name: "gain", cells: cells(func(r fabric.UpgradeRow) string {
		if !r.Moved {
			return ""
		}
		return percent(r.Gain)
	})}
	if !slices.ContainsFunc(rows, func(r fabric.UpgradeRow) bool { return r.Moved }) {
		return all
	}
	return append(all, gain)
}
