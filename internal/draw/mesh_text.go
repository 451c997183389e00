package draw

import (
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Characters of a pair on a terminal. The passing ones use little ink, so that the others stand out.
const (
	stepChars  = ".:-=+" // fastest to slowest, one a step of the scale
	blankChar  = ' '
	hatchChar  = '?'
	partChar   = '~'
	noAnsChar  = 'X'
	fullChar   = 'F'
	otherChar  = 'W'
	labelMost  = 20 // columns that a row's label may take
	narrowMost = 8  // lines drawn even where the terminal is narrower than that
)

// MeshText draws a mesh for a terminal of width columns, one character per pair, with its legend. A mesh
// that does not fit is drawn host by host, or group by group, and the text says so. A nil mesh, or one
// without pairs, is written as not measured.
func MeshText(w io.Writer, m *fabric.Mesh, width int) error {
	var b strings.Builder
	if m == nil || len(m.Pairs) == 0 {
		b.WriteString("mesh: not measured\n")
	} else {
		g := textGrid(m, width)
		g.header(&b)
		for i := range g.lines {
			g.row(&b, i)
		}
		g.textLegend(&b, width)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// textGrid takes the finest grid whose rows fit, with the gaps between the hosts.
func textGrid(m *fabric.Mesh, width int) grid {
	limit := max(width-1, narrowMost)
	for {
		g := newGrid(m, limit)
		over := g.labelWidth() + 2 + len(g.spread(make([]byte, len(g.lines)))) - width
		if over <= 0 || len(g.lines) <= narrowMost {
			return g
		}
		limit = max(min(limit, len(g.lines))-over, narrowMost)
	}
}

// spread puts a blank between the hosts' blocks.
func (g grid) spread(chars []byte) string {
	var b strings.Builder
	for i, c := range chars {
		if i > 0 && g.level == perNIC && g.lines[i].host != g.lines[i-1].host {
			b.WriteByte(' ')
		}
		b.WriteByte(c)
	}
	return b.String()
}

func (g grid) lineName(i int) string {
	if g.level == perNIC {
		return fabric.Printable(g.lines[i].host + " " + g.lines[i].label)
	}
	return fabric.Printable(g.lines[i].label)
}

func (g grid) labelWidth() int {
	most := 0
	for i := range g.lines {
		most = max(most, len([]rune(g.lineName(i))))
	}
	return min(most, labelMost)
}

// header numbers the columns: they are the rows, in the same order.
func (g grid) header(b *strings.Builder) {
	pad := strings.Repeat(" ", g.labelWidth()+2)
	fmt.Fprintf(b, "Rows send, columns answer, in the same order. %s\n", g.caption())
	digits := make([]byte, len(g.lines))
	n := 0
	for i := range digits {
		n++
		if i > 0 && g.level == perNIC && g.lines[i].host != g.lines[i-1].host {
			n = 1
		}
		digits[i] = byte('0' + n%10)
	}
	if g.level == perNIC {
		fmt.Fprintf(b, "%s%s\n", pad, strings.TrimRight(g.hostHeader(), " "))
	}
	fmt.Fprintf(b, "%s%s\n", pad, g.spread(digits))
}

// hostHeader writes each host's name above its block, cut to it.
func (g grid) hostHeader() string {
	var b strings.Builder
	for i := 0; i < len(g.lines); {
		j := i
		for j < len(g.lines) && g.lines[j].host == g.lines[i].host {
			j++
		}
		fmt.Fprintf(&b, "%-*s ", j-i, fit(fabric.Printable(g.lines[i].host), float64(j-i), 1))
		i = j
	}
	return b.String()
}

func (g grid) row(b *strings.Builder, row int) {
	n := len(g.lines)
	chars := make([]byte, n)
	for i := range chars {
		chars[i] = g.char(g.cells[row*n+i])
	}
	width := g.labelWidth()
	fmt.Fprintf(b, "%-*s  %s\n", width, fit(g.lineName(row), float64(width), 1), strings.TrimRight(g.spread(chars), " "))
}

func (g grid) char(c cell) byte {
	switch c.shade() {
	case blank:
		return blankChar
	case hatched:
		return hatchChar
	case partial:
		return partChar
	case full:
		return stepChars[g.step(c.rtt)]
	}
	switch c.worst {
	case noAnswer:
		return noAnsChar
	case fullLost:
		return fullChar
	default:
		return otherChar
	}
}

func (g grid) textLegend(b *strings.Builder, width int) {
	var items []string
	for i := range g.steps() {
		items = append(items, fmt.Sprintf("%c %s µs", stepChars[i], g.stepText(i)))
	}
	items = append(items, "X no answer", "F full size lost", "W wrong interface", "? unknown")
	if g.level != perNIC {
		items = append(items, "~ partly known")
	}
	items = append(items, "blank: "+g.untested())
	at := 0
	for i, item := range items {
		n := len([]rune(item))
		switch {
		case i == 0:
		case at+3+n > width:
			b.WriteByte('\n')
			at = 0
		default:
			b.WriteString("   ")
			at += 3
		}
		b.WriteString(item)
		at += n
	}
	b.WriteByte('\n')
}
