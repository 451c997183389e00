package draw

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// loadRows is the height of a chart on a terminal.
const loadRows = 14

// LoadText draws a chart of loads for a terminal: each line has a letter, and the load stands beside its points where
// there is room.
func LoadText(w io.Writer, c LoadChart, width int, o CurveOptions) error {
	const letters = 26
	p := newLoadPlot(c, letters)
	if len(p.lines) == 0 {
		_, err := io.WriteString(w, "  no data to draw\n")
		return err
	}
	labels := 0
	for _, t := range p.yTicks {
		labels = max(labels, utf8.RuneCountInString(tickText(t)))
	}
	cols := max(width-labels-4, 20)
	g := newLoadGrid(cols)
	if p.target > 0 {
		g.column(p.col(p.target, cols), o)
	}
	for i, l := range p.lines {
		for _, x := range l.Points {
			mark := rune('A' + i)
			if len(p.lines) == 1 {
				mark = '●'
				if o.ASCII {
					mark = 'o'
				}
			}
			if x.Status == fabric.Fail {
				mark = 'x'
			}
			g.set(p.row(x.OutputTokensS), p.col(x.TTFTms, cols), mark)
		}
	}
	for _, l := range p.lines {
		for _, x := range l.Points {
			g.label(p.row(x.OutputTokensS), p.col(x.TTFTms, cols)+1, fabric.Printable(x.Load))
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "  %s; the load at each point\n", c.loadTitle())
	g.write(&b, p, labels, o)
	p.textAxis(&b, labels, cols, o)
	if len(p.lines) > 1 {
		for i, l := range p.lines {
			fmt.Fprintf(&b, "  %c %s\n", 'A'+i, fit(strings.TrimPrefix(fabric.Printable(l.Model)+", ", ", ")+l.Name, float64(max(width-4, 20)), 1))
		}
	}
	if p.more > 0 {
		fmt.Fprintf(&b, "  not drawn: %s\n", fabric.Count(p.more, "more line"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p loadPlot) row(v float64) int {
	return loadRows - 1 - int(math.Round(p.y(v)*float64(loadRows-1)))
}

func (p loadPlot) col(ms float64, cols int) int {
	return int(math.Round(p.x(ms) * float64(cols-1)))
}

// loadGrid is the characters of a chart.
type loadGrid [][]rune

func newLoadGrid(cols int) loadGrid {
	g := make(loadGrid, loadRows)
	for i := range g {
		g[i] = []rune(strings.Repeat(" ", cols))
	}
	return g
}

func (g loadGrid) set(row, col int, r rune) { g[row][col] = r }

// column draws the target.
func (g loadGrid) column(col int, o CurveOptions) {
	mark := '┊'
	if o.ASCII {
		mark = ':'
	}
	for _, row := range g {
		row[col] = mark
	}
}

// label writes the load of a point right of it, or left, or not at all: never over another point.
func (g loadGrid) label(row, col int, text string) {
	free := func(from int, text string) bool {
		if from < 0 || from+len([]rune(text)) > len(g[row]) {
			return false
		}
		for i := range []rune(text) {
			if c := g[row][from+i]; c != ' ' && c != '┊' && c != ':' {
				return false
			}
		}
		return true
	}
	for _, from := range []int{col, col - 1 - len([]rune(text))} {
		if free(from, text) {
			copy(g[row][from:], []rune(text))
			return
		}
	}
}

func (g loadGrid) write(b *strings.Builder, p loadPlot, labels int, o CurveOptions) {
	scale := map[int]string{}
	for _, t := range p.yTicks {
		scale[p.row(t)] = tickText(t)
	}
	for i, row := range g {
		edge := '│'
		if scale[i] != "" {
			edge = '┤'
		}
		if o.ASCII {
			edge = '|'
		}
		b.WriteString(strings.TrimRight(fmt.Sprintf("%*s %c%s", labels, scale[i], edge, string(row)), " ") + "\n")
	}
}

func (p loadPlot) textAxis(b *strings.Builder, labels, cols int, o CurveOptions) {
	ruler, text := []rune(strings.Repeat("─", cols)), []rune(strings.Repeat(" ", cols))
	corner, tick := '└', '┴'
	if o.ASCII {
		ruler, corner, tick = []rune(strings.Repeat("-", cols)), '+', '+'
	}
	free := 0
	for _, t := range p.xTicks {
		col := p.col(t, cols)
		label := []rune(Milliseconds(t))
		from := min(max(col-len(label)/2, 0), cols-len(label))
		ruler[col] = tick
		if from >= free {
			copy(text[from:], label)
			free = from + len(label) + 1
		}
	}
	pad := strings.Repeat(" ", labels+1)
	fmt.Fprintf(b, "%s%c%s\n%s %s\n", pad, corner, string(ruler), pad, strings.TrimRight(string(text), " "))
}
