package draw

import (
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// sizeAxis writes the sizes under the plot.
func (p plot) sizeAxis(b *strings.Builder, labels, cols int, o CurveOptions) {
	const room = 9 // columns: the longest label, 512 KiB, and a gap
	ruler, text := []rune(strings.Repeat("─", cols)), []rune(strings.Repeat(" ", cols+1))
	corner, tick := '└', '┴'
	if o.ASCII {
		ruler, corner, tick = []rune(strings.Repeat("-", cols)), '+', '+'
	}
	for _, size := range p.sizes(max(cols/room, 2)) {
		col := min(max(int(math.Round(p.x(size)*float64(cols-1))), 0), cols-1)
		label := []rune(Bytes(size))
		from := min(max(col-len(label)/2, 0), len(text)-len(label))
		ruler[col] = tick
		copy(text[from:], label)
	}
	pad := strings.Repeat(" ", labels+1)
	fmt.Fprintf(b, "%s%c%s\n", pad, corner, string(ruler))
	fmt.Fprintf(b, "%s %s\n", pad, strings.TrimRight(string(text), " "))
}

// textKey writes the legend: the marks that the plot has, and what it has not.
func (p plot) textKey(b *strings.Builder, cv *canvas, width int) {
	seen := map[mark]bool{}
	for _, row := range cv.spots {
		for _, s := range row {
			seen[s.mark] = true
		}
	}
	var items []textKey
	note := func(text string) { items = append(items, textKey{text: text}) }
	if len(p.series) > 1 {
		note("abc predicted, ABC measured")
		for i, one := range p.series {
			items = append(items, textKey{rune('a' + i), seriesColor(i), fit(fabric.Printable(one.Name), 24, 1)})
		}
	} else {
		for m := markBelow; m > markNone; m-- {
			if t := m.text(); seen[m] {
				items = append(items, textKey{cv.char(t), t.color, t.name + p.boundText(m, width)})
			}
		}
		if !seen[markBound] && p.outside {
			note("not drawn: bound" + p.boundText(markBound, width))
		}
	}
	if p.more > 0 {
		note("not drawn: " + fabric.Count(p.more, "more curve"))
	}
	cv.writeKeys(b, items, width)
}

// textKey is an entry of the legend: a mark, if it is one of a mark, and its words.
type textKey struct {
	char  rune
	color string
	text  string
}

// boundText says the bound of the largest size and what sets it.
func (p plot) boundText(m mark, width int) string {
	r, ok := p.series[0].last()
	if m != markBound || !ok {
		return ""
	}
	text := " " + Rate(r.Bound)
	if len(p.series[0].bounds()) > 1 {
		text += " at " + Bytes(r.Size)
	}
	if r.Element != "" {
		text += ", " + fit(fabric.Printable(r.Element), float64(max(min(width-40, 48), 12)), 1)
	}
	return text
}

// writeKeys writes a legend in at most two lines; where that is too few, three dots say so.
func (cv *canvas) writeKeys(b *strings.Builder, items []textKey, width int) {
	const lines, dots = 2, " ..."
	at, line := 0, 1
	for i, item := range items {
		n := utf8.RuneCountInString(item.text)
		if item.char != 0 {
			n += 2
		}
		switch {
		case i == 0:
			b.WriteString("  ")
			at = 2
		case at+3+n > width-len(dots) && line == lines:
			b.WriteString(dots + "\n")
			return
		case at+3+n > width:
			b.WriteString("\n  ")
			at, line = 2, line+1
		default:
			b.WriteString("   ")
			at += 3
		}
		switch {
		case item.char == 0:
		case cv.o.Color:
			b.WriteString(item.color + string(item.char) + plain + " ")
		default:
			b.WriteString(string(item.char) + " ")
		}
		b.WriteString(item.text)
		at += n
	}
	b.WriteByte('\n')
}

// tickText writes a number of the scale, which is round.
func tickText(v float64) string { return fmt.Sprintf("%.6g", v) }
