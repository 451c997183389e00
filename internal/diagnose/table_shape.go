package diagnose

import (
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// shape is what a table shows by itself, without an expectation.
type shape struct {
	wrong     int64     // results that were not what they should be
	torn      int       // rows whose cells do not belong together
	factor    float64   // bus over algorithm bandwidth, as the rows have it; 0: unknown
	ranks     int       // from factor; 0: unknown
	misprints []string  // cells that the others of their row contradict
	slow      []int64   // sizes of isolated slow rows
	holes     []string  // slow rows in words
	cliff     string    // where bandwidth falls and stays down; empty: nowhere
	alone     bool      // bus bandwidth 0 throughout: each rank measured itself
	flat      bool      // the same bandwidth over a wide range of sizes
	latency   float64   // measured over expected time of small sizes; 0: unknown
	absurd    string    // a cell that no measurement can give
	cells     []float64 // bus bandwidths as printed, for the footer
}

// Limits of what counts as a fault of a table against itself.
const (
	cellError  = 0.005  // parts of one: cells are printed with three or more digits
	cellStep   = 0.0061 // GB/s: half of the last printed digit of two cells, 0.01 each, with rounding
	holeFactor = 1.5    // a row this much slower than a larger one is a hole: protocol changes cost up to a third
	cliffDrop  = 4.0    // collectives.md, section 7: a cliff is a drop of four and more
	flatSpread = 1.6    // of bandwidth over
	flatSpan   = 64     // this ratio of sizes
	flatFrom   = 4 << 20
)

// half is one half of a row: out of place or in place.
type half struct {
	time, alg, bus *float64
	name           string
}

func halves(r fabric.Row) []half {
	out := []half{{r.TimeUS, r.AlgBW, r.BusBW, "out of place"}}
	if r.InPlace != nil {
		out = append(out, half{r.InPlace.TimeUS, r.InPlace.AlgBW, r.InPlace.BusBW, "in place"})
	}
	return out
}

// busOf is the bus bandwidth of a half row, GB/s: from size and time where they are there, for they are
// printed with more digits; ok is false where nothing gives it.
func (h half) busOf(size int64, factor float64) (float64, bool) {
	if h.time != nil && valid(*h.time) && factor > 0 {
		return float64(size) / *h.time / 1000 * factor, true
	}
	if h.bus != nil && valid(*h.bus) {
		return *h.bus, true
	}
	return 0, false
}

// newShape reads a table against itself. Ranks is what its banner says, 0 where it says nothing.
func newShape(t *fabric.Table, ranks int) shape {
	var s shape
	rows := t.Rows[:min(len(t.Rows), maxRows)]
	for _, r := range rows {
		s.row(r)
	}
	if s.isTorn(len(rows)) {
		s.wrong = 0 // nobody knows of which columns the numbers of the others are
	}
	s.factor = factorOf(rows)
	s.ranks = ranksOf(t.Collective, s.factor)
	s.alone = !s.isTorn(len(rows)) && isAlone(rows)
	expected := t.Collective.BusFactor(ranks)
	if ranks == 0 {
		expected = s.factor
	}
	for _, r := range rows {
		for _, h := range halves(r) {
			s.misprint(r.Size, h, expected)
		}
	}
	rows = slices.Clone(rows)
	slices.SortStableFunc(rows, func(a, b fabric.Row) int { return int(max(-1, min(1, a.Size-b.Size))) })
	s.slowRows(rows)
	s.shapeOf(rows, max(expected, 1))
	return s
}

func (s *shape) row(r fabric.Row) {
	isTorn := torn(r)
	if isTorn {
		s.torn++
	}
	for _, w := range []*int64{r.Wrong, inPlaceWrong(r)} {
		if w != nil {
			if !isTorn {
				s.wrong += max(0, *w)
			}
			if *w < 0 {
				s.absurd = fmt.Sprintf("%s: %d wrong results", bytesText(r.Size), *w)
			}
		}
	}
	if r.Size < 0 {
		s.absurd = fmt.Sprintf("a size of %d bytes", r.Size)
	}
	for _, h := range halves(r) {
		for _, v := range []*float64{h.time, h.alg, h.bus} {
			if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0) {
				s.absurd = fmt.Sprintf("%s, %s: %v", bytesText(r.Size), h.name, *v)
			}
		}
		if h.bus != nil {
			s.cells = append(s.cells, *h.bus)
		}
	}
}

// torn reports whether the cells of a row do not belong together: bytes without elements, or a bandwidth that is not nearly
// size over time. Its cells are those of other columns then, and none says anything of the run; a digit that somebody
// copied wrongly changes a cell by less than a factor of two, or is told by the other cells (misprint).
func torn(r fabric.Row) bool {
	if r.Count != nil && (*r.Count == 0) != (r.Size == 0) {
		return true
	}
	const rounding = 0.02 // GB/s
	return slices.ContainsFunc(halves(r), func(h half) bool {
		if h.time == nil || h.alg == nil {
			return false
		}
		alg := float64(r.Size) / *h.time / 1000
		return *h.alg > 2*alg+rounding || alg > 2**h.alg+rounding
	})
}

// isTorn reports whether so many of the rows are torn that the columns are not what they seem.
func (s *shape) isTorn(rows int) bool { return 4*s.torn > rows }

func inPlaceWrong(r fabric.Row) *int64 {
	if r.InPlace == nil {
		return nil
	}
	return r.InPlace.Wrong
}

// factorOf is the median of bus over algorithm bandwidth, of the cells with enough digits to tell ranks apart.
func factorOf(rows []fabric.Row) float64 {
	top := 0.0
	for _, r := range rows {
		for _, h := range halves(r) {
			if h.alg != nil && valid(*h.alg) {
				top = max(top, *h.alg)
			}
		}
	}
	var ratios []float64
	for _, r := range rows {
		for _, h := range halves(r) {
			if h.alg != nil && h.bus != nil && valid(*h.alg) && *h.bus >= 0 && *h.alg >= max(1, top/4) {
				ratios = append(ratios, *h.bus / *h.alg)
			}
		}
	}
	return median(ratios)
}

// ranksOf inverts the factor of a collective: n = 2/(2-f) of an all-reduce, 1/(1-f) of the others that have one.
func ranksOf(c fabric.Collective, factor float64) int {
	switch c {
	case fabric.AllReduce:
		if factor > 0 && factor < 2 {
			return integer(2 / (2 - factor))
		}
	case fabric.AllGather, fabric.ReduceScatter, fabric.AllToAll, fabric.Gather, fabric.Scatter:
		if factor > 0 && factor < 1 {
			return integer(1 / (1 - factor))
		}
	}
	return 0
}

// isAlone reports whether every rank measured itself: bus bandwidth 0 in every row, algorithm bandwidth not.
func isAlone(rows []fabric.Row) bool {
	moved, seen := false, false
	for _, r := range rows {
		for _, h := range halves(r) {
			if h.bus != nil {
				seen = true
				if *h.bus != 0 {
					return false
				}
			}
			if h.alg != nil && *h.alg > 0.05 { // more than a small row's rounding
				moved = true
			}
		}
	}
	return seen && moved
}

// misprint compares the cells of half a row: size/time is algorithm bandwidth, and that by the factor is bus
// bandwidth. The cell that two others contradict is the wrong one.
func (s *shape) misprint(size int64, h half, factor float64) {
	if size <= 0 || h.time == nil || !valid(*h.time) {
		return
	}
	alg := float64(size) / *h.time / 1000
	algOff := h.alg != nil && off(*h.alg, alg)
	busOff := factor > 0 && h.bus != nil && off(*h.bus, alg*factor)
	switch {
	case algOff && busOff && h.alg != nil && !off(*h.bus, *h.alg*factor):
		s.misprints = append(s.misprints, fmt.Sprintf("%s, %s: time %s us, the bandwidths give %s us", bytesText(size), h.name, number(*h.time), number(float64(size) / *h.alg / 1000)))
	default:
		if algOff {
			s.misprints = append(s.misprints, fmt.Sprintf("%s, %s: algbw %.2f, size over time is %.2f", bytesText(size), h.name, *h.alg, alg))
		}
		if busOff {
			s.misprints = append(s.misprints, fmt.Sprintf("%s, %s: busbw %.2f, algbw times %.4g is %.2f", bytesText(size), h.name, *h.bus, factor, alg*factor))
		}
	}
}

func off(printed, computed float64) bool {
	return math.Abs(printed-computed) > cellStep+cellError*computed
}

// slowRows finds holes: rows that take longer than larger ones do, and rows of which one half takes twice the
// other.
func (s *shape) slowRows(rows []fabric.Row) {
	for _, side := range []int{0, 1} {
		fastest := math.Inf(1) // of the larger sizes
		for i := len(rows) - 1; i >= 0; i-- {
			hs := halves(rows[i])
			if rows[i].Size <= 0 || side >= len(hs) || hs[side].time == nil || !valid(*hs[side].time) {
				continue
			}
			if t := *hs[side].time; t >= holeFactor*fastest {
				s.hole(rows[i].Size, fmt.Sprintf("%s, %s: %s us, a larger size takes %s us", bytesText(rows[i].Size), hs[side].name, number(t), number(fastest)))
			} else {
				fastest = min(fastest, t)
			}
		}
	}
	for _, r := range rows {
		if hs := halves(r); r.Size > 0 && len(hs) == 2 && hs[0].time != nil && hs[1].time != nil && valid(*hs[1].time) && *hs[0].time >= 2**hs[1].time {
			s.hole(r.Size, fmt.Sprintf("%s: %s us out of place, %s us in place", bytesText(r.Size), number(*hs[0].time), number(*hs[1].time)))
		}
	}
	slices.Sort(s.slow)
}

func (s *shape) hole(size int64, words string) {
	if !slices.Contains(s.slow, size) {
		s.slow = append(s.slow, size)
		s.holes = append(s.holes, words)
	}
}

// shapeOf finds a cliff and flatness, of out-of-place bandwidth.
func (s *shape) shapeOf(rows []fabric.Row, factor float64) {
	var sizes []int64
	var bus []float64
	for _, r := range rows {
		if b, ok := halves(r)[0].busOf(r.Size, factor); ok && r.Size > 0 {
			sizes, bus = append(sizes, r.Size), append(bus, b)
		}
	}
	for i := 0; i+1 < len(bus); i++ {
		if sizes[i+1] > sizes[i] && bus[i] > 1 && bus[i+1] <= bus[i]/cliffDrop && slices.Max(bus[i+1:]) <= bus[i]/2 {
			s.cliff = fmt.Sprintf("%s GB/s at %s, %s GB/s at %s and no more than %s GB/s beyond", number(bus[i]), bytesText(sizes[i]), number(bus[i+1]), bytesText(sizes[i+1]), number(slices.Max(bus[i+1:])))
			break
		}
	}
	from := slices.IndexFunc(sizes, func(n int64) bool { return n >= 1<<20 })
	if from >= 0 && len(bus)-from >= 4 && sizes[from] <= flatFrom && sizes[len(sizes)-1]/sizes[from] >= flatSpan {
		s.flat = slices.Max(bus[from:]) <= flatSpread*slices.Min(bus[from:])
	}
}

// footer compares the average that a table prints with the mean of its cells: as printed, and as they would be
// without the misprints.
func footer(t *fabric.Table, s *shape) string {
	if t.Average == nil || !t.Complete || t.Hardware != nil /* a table file leaves columns out */ || len(s.cells) == 0 || slices.ContainsFunc(t.Rows, func(r fabric.Row) bool {
		return r.BusBW == nil || r.InPlace != nil && r.InPlace.BusBW == nil
	}) || len(t.Unread) > 0 {
		return ""
	}
	sum, right := 0.0, 0.0
	for _, c := range s.cells {
		sum += c
	}
	n := float64(len(s.cells))
	for _, r := range t.Rows {
		for _, h := range halves(r) {
			b, _ := h.busOf(r.Size, s.factor)
			right += b
		}
	}
	printed, corrected := sum/n, right/n
	const step = 0.006 // GB/s: the mean of cells that are rounded to 0.01, and the footer's own last digit
	switch {
	case math.Abs(printed-*t.Average) <= step+0.0005**t.Average:
		return ""
	case math.Abs(corrected-*t.Average) <= step+0.0005**t.Average:
		return fmt.Sprintf("the footer's average %.4f fits size over time (%.4f), not the printed cells (%.4f)", *t.Average, corrected, printed)
	default:
		return fmt.Sprintf("the footer's average is %.4f, the rows give %.4f", *t.Average, printed)
	}
}
