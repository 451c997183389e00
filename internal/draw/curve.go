package draw

import (
	"cmp"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Curve is bus bandwidth over message size, as it was measured and as it should be.
type Curve struct {
	Title  string // over the picture; may be empty
	Series []CurveSeries
	LogY   bool // bandwidth on a logarithmic scale, which shows the small sizes
}

// CurveSeries is one collective on one set of machines. Rows may come in any order; those with a size of
// zero or less, and numbers that are negative or not finite, are not drawn.
type CurveSeries struct {
	Name     string // needed where there are several
	Measured []CurvePoint
	Expected []CurveRow
}

// CurvePoint is a measured size.
type CurvePoint struct {
	Size  int64   // bytes
	BusBW float64 // GB/s
}

// CurveRow is what is expected of a size. A zero says that there is no such number.
type CurveRow struct {
	Size      int64   // bytes
	BusBW     float64 // GB/s
	Low, High float64 // GB/s: healthy lies between
	Bound     float64 // GB/s: what physics allows
	Element   string  // what sets the bound
}

// PredictionCurve is the curve of a prediction. A nil prediction has none.
func PredictionCurve(p *fabric.Prediction) Curve {
	if p == nil {
		return Curve{}
	}
	s := CurveSeries{Name: string(p.Collective)}
	for _, r := range p.Rows {
		s.Expected = append(s.Expected, CurveRow{r.Size, r.BusBW, r.Band[0], r.Band[1], r.Bound.BusBW, r.Bound.Element})
	}
	return Curve{Series: []CurveSeries{s}}
}

// ExplainedCurve is the curve of a result beside what was expected of it.
func ExplainedCurve(e fabric.Explained) Curve {
	s := CurveSeries{Name: e.File}
	for _, r := range e.Rows {
		row := CurveRow{Size: r.Size, BusBW: r.Expected, Low: r.Low, High: r.High, Bound: r.Bound}
		if e.Bound != nil && e.Bound.BusBW == r.Bound {
			row.Element = e.Bound.Element
		}
		s.Measured = append(s.Measured, CurvePoint{r.Size, r.BusBW})
		s.Expected = append(s.Expected, row)
	}
	return Curve{Series: []CurveSeries{s}}
}

// Bytes writes a size as nccl-tests users say it: 8 B, 64 KiB, 1 GiB; 3 digits where it is not a whole number
// of its unit.
func Bytes(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	exp := (bits.Len64(uint64(n)) - 1) / 10 // of 1024; n is positive, and 2^63 has 6
	unit := int64(1) << (10 * exp)
	text := strconv.FormatInt(n/unit, 10)
	if n%unit != 0 {
		text = ThreeDigits(float64(n) / float64(unit))
	}
	return text + " " + "KMGTPE"[exp-1:exp] + "iB"
}

// ThreeDigits writes a number with three significant digits and all digits before the point, never with an exponent:
// 0.0123, 6.2, 1124. What is not a number is written as a question mark.
func ThreeDigits(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return "?"
	}
	decimals := 0
	if v != 0 {
		decimals = min(max(2-int(math.Floor(math.Log10(math.Abs(v)))), 0), 12)
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text
}

// Rate writes a number of a table with the digits that make sense: 0.013, 1.25, 24.9, 469. What is not
// a number is written as a question mark.
func Rate(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "?"
	case v == 0:
		return "0"
	case math.Abs(v) < 0.0005:
		return "<0.001"
	case math.Abs(v) >= 1e7:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	decimals := 3
	for limit := 0.9995; math.Abs(v) >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	return strconv.FormatFloat(v, 'f', decimals, 64)
}

// plot is a curve made ready to be drawn: clean, in order, with its scales.
type plot struct {
	series  []CurveSeries
	more    int     // series that are not drawn
	left    float64 // log2 of the sizes at the ends
	right   float64
	ticks   []float64 // of bandwidth, GB/s, lowest first; the first and the last are the ends of the scale
	log     bool
	outside bool // a bound is above the scale
}

// newPlot takes at most limit series; one without a number to draw is none.
func newPlot(c Curve, limit int) plot {
	p := plot{log: c.LogY, left: math.Inf(1), right: math.Inf(-1)}
	for _, s := range c.Series {
		s = s.clean()
		if len(s.Measured)+len(s.Expected) == 0 {
			continue
		}
		if len(p.series) == limit {
			p.more++
			continue
		}
		p.series = append(p.series, s)
	}
	least, most, bound := math.Inf(1), 0.0, 0.0
	p.each(func(size int64, bound bool, v float64) {
		p.left, p.right = min(p.left, log2(size)), max(p.right, log2(size))
		if v > 0 && !bound {
			least, most = min(least, v), max(most, v)
		}
	})
	p.each(func(_ int64, is bool, v float64) {
		if is {
			bound = max(bound, v)
		}
	})
	if p.right-p.left < 1 { // one size, or nearly: it stands in the middle of an octave or two
		p.left, p.right = p.left-1, p.right+1
	}
	p.scale(least, most, bound)
	return p
}

// each visits every number of a plot.
func (p plot) each(visit func(size int64, bound bool, v float64)) {
	for _, s := range p.series {
		for _, m := range s.Measured {
			visit(m.Size, false, m.BusBW)
		}
		for _, r := range s.Expected {
			visit(r.Size, false, r.BusBW)
			visit(r.Size, false, r.High)
			visit(r.Size, true, r.Bound)
		}
	}
}

// boundReach is how far above the curve a bound may lie and still be inside the picture: farther up it
// would press the curve flat.
const boundReach = 2.5

// scaleSteps is the number of steps of a linear scale: few enough for a terminal, and each step two lines.
const scaleSteps = 5

// scale chooses the ticks: five equal steps from zero, or the decades.
func (p *plot) scale(least, most, bound float64) {
	if most == 0 {
		least, most = 1, cmp.Or(bound, 1)
	}
	p.outside = bound > boundReach*most
	if !p.outside {
		most = max(most, bound)
	}
	if p.log {
		low := math.Floor(math.Log10(max(least, most*1e-6))) // six decades are all that a terminal can tell apart
		high := math.Ceil(math.Log10(most))
		for e := low; e <= max(high, low+1); e++ {
			p.ticks = append(p.ticks, math.Pow(10, e))
		}
		return
	}
	step := niceStep(most / scaleSteps)
	for i := range scaleSteps + 1 {
		p.ticks = append(p.ticks, float64(i)*step)
	}
}

// niceStep is the next round number that is not less than v.
func niceStep(v float64) float64 {
	decade := math.Pow(10, math.Floor(math.Log10(v)))
	for _, nice := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if nice*decade >= v*(1-1e-9) {
			return nice * decade
		}
	}
	return 10 * decade
}

// x is where a size lies between the ends, 0 to 1.
func (p plot) x(size int64) float64 { return (log2(size) - p.left) / (p.right - p.left) }

// y is where a bandwidth lies between the ends of the scale, 0 to 1; what lies outside is put on the end.
func (p plot) y(v float64) float64 {
	low, high := p.ticks[0], p.ticks[len(p.ticks)-1]
	if p.log {
		low, high, v = math.Log10(low), math.Log10(high), math.Log10(max(v, low))
	}
	return min(max((v-low)/(high-low), 0), 1)
}

// shows says that a bound is inside the picture.
func (p plot) shows(bound float64) bool {
	return bound > 0 && bound <= p.ticks[len(p.ticks)-1]*(1+1e-9)
}

// sizes are the sizes to write on the axis, at most most of them: powers of two at one distance, or the
// ends where no two lie between.
func (p plot) sizes(most int) []int64 {
	for _, step := range []int{1, 2, 3, 4, 5, 10, 20} {
		var all []int64
		for e := 0; e < 63; e += step {
			if v := float64(e); v >= p.left-1e-9 && v <= p.right+1e-9 {
				all = append(all, 1<<e)
			}
		}
		if len(all) >= 2 && len(all) <= most {
			return all
		}
	}
	return []int64{int64(math.Round(math.Exp2(p.left))), int64(math.Round(math.Exp2(min(p.right, 62.9))))}
}

func log2(size int64) float64 { return math.Log2(float64(size)) }

// longestName is the most characters of a series' or an element's name in a picture and its tooltips.
const longestName = 120

// clean drops what cannot be drawn, makes names fit to print, and sorts by size.
func (s CurveSeries) clean() CurveSeries {
	name := func(text string) string { return fit(fabric.Printable(text), longestName, 1) }
	out := CurveSeries{Name: name(s.Name)}
	for _, m := range s.Measured {
		if m.Size > 0 && finite(m.BusBW) == m.BusBW {
			out.Measured = append(out.Measured, m)
		}
	}
	for _, r := range s.Expected {
		r.Element = name(r.Element)
		r.BusBW, r.Low, r.High, r.Bound = finite(r.BusBW), finite(r.Low), finite(r.High), finite(r.Bound)
		if r.Low > r.High || r.High == 0 {
			r.Low, r.High = 0, 0
		}
		if r.Size > 0 && (r.BusBW > 0 || r.High > 0 || r.Bound > 0) {
			out.Expected = append(out.Expected, r)
		}
	}
	slices.SortStableFunc(out.Measured, func(a, b CurvePoint) int { return cmp.Compare(a.Size, b.Size) })
	slices.SortStableFunc(out.Expected, func(a, b CurveRow) int { return cmp.Compare(a.Size, b.Size) })
	return out
}

// finite returns a bandwidth that can be drawn, else zero.
func finite(v float64) float64 {
	if math.IsNaN(v) || v < 0 || v > 1e9 { // GB/s: a thousand times the largest machine
		return 0
	}
	return v
}

// row is what is expected of exactly this size.
func (s CurveSeries) row(size int64) (CurveRow, bool) {
	i, ok := slices.BinarySearchFunc(s.Expected, size, func(r CurveRow, size int64) int { return cmp.Compare(r.Size, size) })
	if !ok {
		return CurveRow{}, false
	}
	return s.Expected[i], true
}

// printed is half of the last digit of a bandwidth in the tables of nccl-tests, GB/s.
const printed = 0.005

// below says that a point lies under what is healthy at its size, by more than the table's rounding. Where
// the band is unknown it does not.
func (s CurveSeries) below(m CurvePoint) bool {
	r, ok := s.row(m.Size)
	return ok && r.High > 0 && m.BusBW+printed < r.Low
}

// last is the row of the largest size that has a bound.
func (s CurveSeries) last() (CurveRow, bool) {
	for _, r := range slices.Backward(s.Expected) {
		if r.Bound > 0 {
			return r, true
		}
	}
	return CurveRow{}, false
}
