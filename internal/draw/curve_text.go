package draw

import (
	"fmt"
	"io"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// CurveOptions are what a terminal wants.
type CurveOptions struct {
	Color bool // ANSI colours; every mark is also a character of its own
	ASCII bool // for a terminal that does not know UTF-8
}

// The plot of a terminal: its rows, of which each step of the scale takes two; the narrowest that is drawn;
// the series that letters can distinguish.
const (
	plotRows   = 2*scaleSteps + 1
	plotLeast  = 40
	textSeries = 8
)

// mark is what a character of a plot stands for. The higher hides the lower.
type mark uint8

const (
	markNone mark = iota
	markBand
	markBound
	markPredicted
	markMeasured
	markBelow // measured, under what is healthy
)

// textMark is how a mark looks: its character with and without UTF-8, its colour, its name in the legend.
type textMark struct {
	char, ascii rune
	color       string // ECMA-48, 8.3.117
	name        string
}

func (m mark) text() textMark {
	switch m {
	case markBand:
		return textMark{'░', ':', "\x1b[32m", "healthy"}
	case markBound:
		return textMark{'┄', '=', "\x1b[2m", "bound"}
	case markPredicted:
		return textMark{'─', '-', "\x1b[36m", "predicted"}
	case markMeasured:
		return textMark{'●', 'o', "\x1b[1m", "measured"}
	case markBelow:
		return textMark{'×', 'x', "\x1b[1;31m", "measured, too low"}
	default:
		return textMark{' ', ' ', "", ""}
	}
}

// spot is one character of a plot.
type spot struct {
	char  rune
	mark  mark
	color string
}

// canvas is the characters of a plot, row by row from the top.
type canvas struct {
	o     CurveOptions
	cols  int
	spots [plotRows][]spot
}

// CurveText draws a curve for a terminal of width columns, in at most 16 lines with its legend. A curve
// without a number is written as such.
func CurveText(w io.Writer, c Curve, width int, o CurveOptions) error {
	var b strings.Builder
	width = max(width, plotLeast)
	p := newPlot(c, textSeries)
	if len(p.series) == 0 {
		b.WriteString("curve: no data, there are no values to draw\n")
	} else {
		p.writeText(&b, fabric.Printable(c.Title), width, o)
	}
	text := b.String()
	if o.ASCII {
		text = strings.Map(ascii, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// ascii writes what a terminal without UTF-8 cannot show as a mark of its own.
func ascii(r rune) rune {
	if r > 0x7e {
		return '~'
	}
	return r
}

func (p plot) writeText(b *strings.Builder, title string, width int, o CurveOptions) {
	labels := 0
	for _, t := range p.ticks {
		labels = max(labels, len(tickText(t)))
	}
	cv := newCanvas(width-labels-3, o)
	for i, s := range p.series {
		if len(p.series) == 1 {
			cv.band(p, s)
			cv.bound(p, s)
			cv.line(p, s)
			cv.points(p, s)
		} else {
			cv.letters(p, s, i)
		}
	}
	head := "busbw GB/s"
	if title != "" {
		head += "   " + title
	}
	fmt.Fprintf(b, "%s\n", fit(head, float64(width), 1))
	cv.write(b, p, labels)
	p.sizeAxis(b, labels, cv.cols, o)
	p.textKey(b, cv, width)
}

func newCanvas(cols int, o CurveOptions) *canvas {
	cv := &canvas{o: o, cols: cols}
	for i := range cv.spots {
		cv.spots[i] = make([]spot, cols)
	}
	return cv
}

func (cv *canvas) col(p plot, size int64) int {
	return int(math.Round(p.x(size) * float64(cv.cols-1)))
}

func rowOf(p plot, v float64) int { return int(math.Round((1 - p.y(v)) * (plotRows - 1))) }

// put draws a mark where none stands that hides it.
func (cv *canvas) put(row, col int, m mark) {
	if at := &cv.spots[row][col]; m > at.mark {
		t := m.text()
		at.mark, at.char, at.color = m, cv.char(t), t.color
	}
}

func (cv *canvas) char(t textMark) rune {
	if cv.o.ASCII {
		return t.ascii
	}
	return t.char
}

// between walks the columns from each row to the next, with the share of the way.
func (cv *canvas) between(p plot, rows []CurveRow, visit func(col int, a, b CurveRow, share float64)) {
	for i, b := range rows {
		a := rows[max(i-1, 0)]
		from, to := cv.col(p, a.Size), cv.col(p, b.Size)
		for col := from; col <= to; col++ {
			visit(col, a, b, float64(col-from)/float64(max(to-from, 1)))
		}
	}
}

// band shades the characters whose middle is healthy.
func (cv *canvas) band(p plot, s CurveSeries) {
	cv.between(p, s.Expected, func(col int, a, b CurveRow, share float64) {
		if a.High == 0 || b.High == 0 {
			return
		}
		low, high := a.Low+(b.Low-a.Low)*share, a.High+(b.High-a.High)*share
		for row := range plotRows {
			if y := 1 - float64(row)/(plotRows-1); y >= p.y(low) && y <= p.y(high) {
				cv.put(row, col, markBand)
			}
		}
	})
}

func (cv *canvas) bound(p plot, s CurveSeries) {
	cv.between(p, s.Expected, func(col int, _, b CurveRow, _ float64) {
		if p.shows(b.Bound) {
			cv.put(rowOf(p, b.Bound), col, markBound)
		}
	})
}

// line draws what is predicted: a line of box characters, which every fixed font has at its own width, so
// that a plot survives being pasted into an issue. Braille would be finer and does not.
func (cv *canvas) line(p plot, s CurveSeries) {
	last := -1
	cv.between(p, s.Expected, func(col int, a, b CurveRow, share float64) {
		if a.BusBW == 0 || b.BusBW == 0 {
			last = -1
			return
		}
		row := rowOf(p, a.BusBW+(b.BusBW-a.BusBW)*share)
		cv.put(row, col, markPredicted)
		if last >= 0 && last != row && !cv.o.ASCII {
			cv.step(col, last, row)
		}
		last = row
	})
}

// step joins the row of the column before with that of this one.
func (cv *canvas) step(col, from, to int) {
	leave, arrive := '╯', '╭'
	if to > from {
		leave, arrive = '╮', '╰'
	}
	for row := min(from, to); row <= max(from, to); row++ {
		cv.put(row, col, markPredicted)
		if at := &cv.spots[row][col]; at.mark == markPredicted {
			at.char = '│'
		}
	}
	for row, char := range map[int]rune{from: leave, to: arrive} {
		if at := &cv.spots[row][col]; at.mark == markPredicted {
			at.char = char
		}
	}
}

func (cv *canvas) points(p plot, s CurveSeries) {
	for _, m := range s.Measured {
		kind := markMeasured
		if s.below(m) {
			kind = markBelow
		}
		cv.put(rowOf(p, m.BusBW), cv.col(p, m.Size), kind)
	}
}

// letters draws one of several series: small letters predicted, capital ones measured.
func (cv *canvas) letters(p plot, s CurveSeries, i int) {
	set := func(size int64, v float64, m mark, char rune) {
		if at := &cv.spots[rowOf(p, v)][cv.col(p, size)]; m >= at.mark {
			at.mark, at.char, at.color = m, char, seriesColor(i)
		}
	}
	for _, r := range s.Expected {
		if r.BusBW > 0 {
			set(r.Size, r.BusBW, markPredicted, rune('a'+i))
		}
	}
	for _, m := range s.Measured {
		set(m.Size, m.BusBW, markMeasured, rune('A'+i))
	}
}

// seriesColor goes round the colours of a terminal, less red, which is kept for what fails.
func seriesColor(i int) string { return fmt.Sprintf("\x1b[%dm", []int{36, 33, 35, 32, 34}[i%5]) }

// write writes the rows behind the scale.
func (cv *canvas) write(b *strings.Builder, p plot, labels int) {
	scale := map[int]string{}
	for _, t := range p.ticks {
		scale[rowOf(p, t)] = tickText(t)
	}
	for i, row := range cv.spots {
		label, edge := scale[i], '│'
		if label != "" {
			edge = '┤'
		}
		if cv.o.ASCII {
			edge = '|'
		}
		var line strings.Builder
		fmt.Fprintf(&line, "%*s %c", labels, label, edge)
		color := ""
		for _, s := range row {
			if s.mark == markNone {
				s.char = ' '
			}
			if cv.o.Color && s.color != color {
				if color != "" {
					line.WriteString(plain)
				}
				line.WriteString(s.color)
				color = s.color
			}
			line.WriteRune(s.char)
		}
		if color != "" {
			line.WriteString(plain)
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
}

// plain ends a colour.
const plain = "\x1b[0m"
