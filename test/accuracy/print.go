package main

import (
	"fmt"
	"io"
	"math"
)

const healthy = "healthy"

// printTables writes one line a table.
func printTables(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "time error, %%              |         from 1 MiB           | all    | largest | median of guesses from 1 MiB | rows in\n")
	fmt.Fprintf(w, "table                      | health   median  p90   rows  | median | three   | line-rate ring  rule of thumb | band\n")
	for _, o := range all {
		big := o.off(o.predicted(), mebibyte, 0)
		in, of := o.inside()
		fmt.Fprintf(w, "%-26.26s | %-8s %6s %6s %5d  | %6s | %6s  | %13s  %13s  | %d of %d\n", o.table.ID, o.table.Health,
			percent(quantile(big, 0.5)), percent(quantile(big, 0.9)), len(big),
			percent(quantile(o.off(o.predicted(), 0, 0), 0.5)), percent(quantile(o.off(o.predicted(), 0, 3), 0.5)),
			percent(quantile(o.off(o.ring, mebibyte, 0), 0.5)), percent(quantile(o.off(o.thumb, mebibyte, 0), 0.5)), in, of)
	}
}

func percent(share float64) string {
	if math.IsNaN(share) {
		return "-"
	}
	return fmt.Sprintf("%.1f", 100*share)
}

// bar is a number that must not pass a limit.
type bar struct {
	name  string
	value float64
	limit float64
	least bool // the limit is a least
	unit  string
}

func (b bar) met() bool {
	if b.least {
		return b.value >= b.limit
	}
	return b.value <= b.limit
}

// bars are all figures over the healthy tables that have a limit, and what they stand on.
type bars struct {
	big, every  int // rows from 1 MiB, and all
	all         []bar
	ring, thumb float64 // median errors of the guesses, %
}

func barsOf(all []outcome) bars {
	var big, every, top, above, tight, ring, thumb []float64
	in, of := 0, 0
	for _, o := range all {
		if o.table.Health != healthy {
			continue
		}
		times := o.predicted()
		big = append(big, o.off(times, mebibyte, 0)...)
		every = append(every, o.off(times, 0, 0)...)
		top = append(top, o.off(times, 0, 3)...)
		ring = append(ring, o.off(o.ring, mebibyte, 0)...)
		thumb = append(thumb, o.off(o.thumb, mebibyte, 0)...)
		a, t := o.over()
		above, tight = append(above, a...), append(tight, t...)
		i, n := o.inside()
		in, of = in+i, of+n
	}
	return bars{big: len(big), every: len(every), ring: 100 * quantile(ring, 0.5), thumb: 100 * quantile(thumb, 0.5), all: []bar{
		{"time error from 1 MiB, median", 100 * quantile(big, 0.5), 5, false, "%"},
		{"time error from 1 MiB, 90th percentile", 100 * quantile(big, 0.9), 20, false, "%"},
		{"time error of the largest three sizes, median", 100 * quantile(top, 0.5), 1.5, false, "%"},
		{"time error of all sizes, median", 100 * quantile(every, 0.5), 8, false, "%"},
		{"most measured above the bound", 100 * (quantile(above, 1) - 1), 0, false, "%"},
		{"bound over measured at the largest sizes, median", quantile(tight, 0.5), looseBound, false, ""},
		{"rows inside their band", 100 * float64(in) / float64(max(1, of)), 90, true, "%"},
	}}
}

// looseBound is how far above healthy plateaus bounds may be, at the median. A bound is what lines carry, whatever was
// measured: rings reach 0.86 of NVLink's payload, reductions in the switch 0.73 of it.
const looseBound = 1.25

func (b bar) words() (limit, verdict string) {
	limit, verdict = "at most", "met"
	if b.least {
		limit = "at least"
	}
	if !b.met() {
		verdict = "MISSED"
	}
	return fmt.Sprintf("%s %g", limit, b.limit), verdict
}

// printBars writes the bars over all healthy tables and says how many were missed.
func printBars(w io.Writer, all []outcome) (missed int) {
	figures := barsOf(all)
	fmt.Fprintf(w, "\nhealthy tables, %d rows from 1 MiB, %d rows in all\n", figures.big, figures.every)
	for _, b := range figures.all {
		limit, verdict := b.words()
		if !b.met() {
			missed++
		}
		fmt.Fprintf(w, "  %-50s %7.2f%-1s  %s  %s\n", b.name, b.value, b.unit, limit, verdict)
	}
	fmt.Fprintf(w, "  beside it, from 1 MiB, median: line-rate ring %.1f%%, rule of thumb %.1f%%\n", figures.ring, figures.thumb)
	return missed
}

// printHeld writes the tables that no constant was read from, with the same figures but without limits.
func printHeld(w io.Writer, all []outcome) {
	fmt.Fprintf(w, "\n%s\n", heldTitle)
	printTables(w, all)
	for _, b := range barsOf(all).all {
		fmt.Fprintf(w, "  %-50s %7.2f%s\n", b.name, b.value, b.unit)
	}
}

const heldTitle = "held out (not used for any constant)"

// printRows writes every row of a table.
func (o outcome) printRows(w io.Writer) {
	for i, r := range o.table.Rows {
		p := o.prediction.Rows[i]
		fmt.Fprintf(w, "%-8.8s %12d B  measured %10.2f us  predicted %10.2f us %+7.1f %%  %s/%s  bus %.1f GB/s in %.1f to %.1f, bound %.1f (%s), NIC %.1f\n",
			o.table.ID, r.Size, r.TimeUS, p.TimeUS, 100*(p.TimeUS-r.TimeUS)/r.TimeUS, p.Algorithm, p.Protocol,
			r.BusBW, p.Band[0], p.Band[1], p.Bound.BusBW, p.Bound.Element, p.NICGBs)
	}
}
