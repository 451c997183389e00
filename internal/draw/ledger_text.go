package draw

import (
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// Bars that stand over each other on a terminal; the least columns of one; the columns of a name, of a number,
// and the least of a formula.
const (
	textBars     = 4
	barLeast     = 24
	nameColumns  = 30
	numberGap    = 10
	formulaLeast = 24
)

// LedgerText draws a ledger for a terminal of width columns: a bar a plan, with a letter under each part where
// it begins, and a line a part with its bytes in GiB, its share of the GPU, and what it is known from. What the
// GPU does not have is drawn with exclamation marks. A ledger without an entry is written as such.
func LedgerText(w io.Writer, l Ledger, width int, o CurveOptions) error {
	t := ledgerText{stack: newStack(l, textBars), width: max(width, narrowest), o: o}
	if len(t.bars) == 0 {
		t.b.WriteString("ledger: nothing to draw, there is no entry\n")
	} else {
		t.write()
	}
	text := t.b.String()
	if o.ASCII {
		text = strings.Map(ascii, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

type ledgerText struct {
	stack
	b     strings.Builder
	width int
	o     CurveOptions
}

func (t *ledgerText) line(text string) { t.b.WriteString(strings.TrimRight(text, " ") + "\n") }

func (t *ledgerText) write() {
	head := "GiB of one rank"
	if m := t.bars[0].memory; m > 0 {
		head += ", of " + GiB(m) + " that the GPU has"
	}
	if t.title != "" {
		head += "   " + t.title
	}
	t.line(fit(head, float64(t.width), 1))
	for i, b := range t.bars {
		if len(t.bars) > 1 {
			t.line(fit(fmt.Sprintf("%d  %s", i+1, b.name), float64(t.width), 1))
		}
		t.bar(b)
	}
	if t.more > 0 {
		t.line("  not drawn: " + fabric.Count(t.more, "more plan"))
	}
	t.table()
}

// cells is the columns of each part of a bar that takes cols of them: each part at least one, the rest by its
// bytes; what rounding leaves is the largest part's.
func cells(bytes []float64, total float64, cols int) []int {
	out, sum, largest := make([]int, len(bytes)), 0, 0
	for i, v := range bytes {
		if v > 0 {
			out[i] = max(int(math.Round(v/total*float64(cols))), 1)
		}
		sum += out[i]
		if v > bytes[largest] {
			largest = i
		}
	}
	out[largest] = max(out[largest]+cols-sum, 1)
	return out
}

// bar draws a bar, and under it the letters.
func (t *ledgerText) bar(b stackBar) {
	room := max(t.width-3, barLeast)
	cols := max(int(math.Round(b.total/t.full*float64(room))), 1)
	end := cols // of the memory
	if b.missing > 0 && b.memory > 0 {
		end = min(int(math.Round(b.memory/t.full*float64(room))), cols-1)
	}
	var fill, names strings.Builder
	at, color := 0, ""
	for i, n := range cells(b.bytes, b.total, cols) {
		for k := range n {
			char, paint := t.fillOf(t.parts[i])
			if at >= end {
				char, paint = '!', overColor
			}
			if t.o.Color && paint != color {
				if color != "" {
					fill.WriteString(plain)
				}
				fill.WriteString(paint)
				color = paint
			}
			fill.WriteRune(char)
			if k == 0 {
				names.WriteString(letter(i))
			} else {
				names.WriteByte(' ')
			}
			at++
		}
	}
	if color != "" {
		fill.WriteString(plain)
	}
	t.line("  " + fill.String())
	t.line("  " + names.String())
	if b.missing > 0 {
		t.line(fit("  ! "+GiB(b.missing)+" GiB more than the GPU has", float64(t.width), 1))
	}
}

// overColor is bold red (ECMA-48, 8.3.117), for what the GPU does not have.
const overColor = "\x1b[1;31m"

// fillOf is the character and the colour of a part. Parts that touch differ in both; the letter says which is which.
func (t *ledgerText) fillOf(p part) (char rune, color string) {
	fills, colors := "░▒", []string{"\x1b[95m", "\x1b[35m", "\x1b[36m"}
	if t.o.ASCII {
		fills = "-+"
	}
	switch {
	case p.look == lookSlack && t.o.ASCII:
		return '.', "\x1b[2m"
	case p.look == lookSlack:
		return '·', "\x1b[2m"
	case p.look == lookKV && t.o.ASCII:
		return '=', "\x1b[32m"
	case p.look == lookKV:
		return '▒', "\x1b[32m"
	case p.look == lookWeights && t.o.ASCII:
		fills, colors = "#%", []string{"\x1b[34m", "\x1b[94m"}
	case p.look == lookWeights:
		fills, colors = "█▓", []string{"\x1b[34m", "\x1b[94m"}
	}
	return []rune(fills)[p.nth%2], colors[p.nth%len(colors)]
}

// table writes a line a part.
func (t *ledgerText) table() {
	one := len(t.bars) == 1
	width := 0
	for _, p := range t.parts {
		width = max(width, utf8.RuneCountInString(p.name))
	}
	width = max(min(width, nameColumns, t.width-4-numberGap*len(t.bars)), 12)
	head := strings.Repeat(" ", 4+width)
	switch {
	case one:
		head += fmt.Sprintf("%*s%*s  known from", numberGap, "GiB", numberGap, "share")
	default:
		for i := range t.bars {
			head += fmt.Sprintf("%*d", numberGap, i+1)
		}
	}
	t.line(fit(t.faint(head), float64(t.width+len(t.faint(""))), 1))
	for i, p := range t.parts {
		text := "  " + letter(i) + " " + pad(fit(p.name, float64(width), 1), width)
		for _, b := range t.bars {
			text += fmt.Sprintf("%*s", numberGap, ledgerCell(b.bytes[i]))
		}
		if one {
			text += fmt.Sprintf("%*s  %s", numberGap, share(t.bars[0].bytes[i], t.bars[0].whole()), fit(p.certainty, 10, 1))
			text = t.withFormula(text, p.formula)
		}
		t.line(fit(text, float64(t.width), 1))
	}
}

// withFormula appends the formula where there is room for enough of it.
func (t *ledgerText) withFormula(text, formula string) string {
	const column = 4 + nameColumns + 2*numberGap + 2 + 10 + 2 // where it begins on every line
	room := t.width - column
	if room < formulaLeast || formula == "" {
		return text
	}
	return pad(text, column) + fit(formula, float64(room), 1)
}

func (t *ledgerText) faint(text string) string {
	if !t.o.Color {
		return text
	}
	return "\x1b[2m" + text + plain
}

// ledgerCell is a number of the table; a part that a plan does not have is a dash.
func ledgerCell(bytes float64) string {
	if bytes == 0 {
		return "-"
	}
	return GiB(bytes)
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}
