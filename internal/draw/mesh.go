package draw

import (
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// meshLimit is the most rows and columns that Mesh draws, one a NIC: cells of 11 pixels, the smallest that
// still shows a mark, then fill the width of a page.
const meshLimit = 64

// Mesh draws a mesh as a heat map: a row a sending NIC, a column a target NIC, grouped by host. Colour is
// the round trip of the small echo; a failing pair has a mark, an unknown pair is hatched.
// Above 64 NICs a cell represents a pair of hosts or of groups of hosts, and the picture says so.
// A nil mesh, or one without pairs, is drawn as not measured.
func Mesh(w io.Writer, m *fabric.Mesh) error {
	var s svg
	if m == nil || len(m.Pairs) == 0 {
		notDrawn(&s, "Mesh: not measured. There are no pairs.")
		return s.writeTo(w)
	}
	g := newGrid(m, meshLimit)
	l := newMeshLayout(g)
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-mesh" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		"Heat map of the mesh. "+meshCounts(m), l.width, l.height, l.width, l.height)
	s.b.WriteString(meshStyle)
	for i, line := range captionLines(g) {
		s.add(`<text class="cap" x="0" y="%s">%s</text>`, 12+float64(i)*captionRow, line)
	}
	l.labels(&s, g)
	for i := range g.cells {
		l.cell(&s, g, m, i)
	}
	l.legend(&s, g)
	s.add(`</svg>`)
	return s.writeTo(w)
}

// captionLines breaks the caption after its sentences, so that it fits over a small map.
func captionLines(g grid) []string {
	text := strings.ReplaceAll("Rows send, columns answer. "+g.caption(), "each pair. ", "each pair.\n")
	return strings.Split(strings.ReplaceAll(text, "answer. ", "answer.\n"), "\n")
}

func meshCounts(m *fabric.Mesh) string {
	c := m.Summary()
	return fmt.Sprintf("%d pairs passed, %d failed, %d unknown", c.Pass, c.Fail, c.Unknown)
}

// notDrawn draws a hatched band with the reason why there is nothing to draw.
func notDrawn(s *svg, text string) {
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-mesh" role="img" aria-label="%s" width="640" height="56" viewBox="0 0 640 56">`, text)
	s.b.WriteString(meshStyle)
	s.add(`<rect class="u" x="0.5" y="0.5" width="639" height="55"/>`)
	s.add(`<rect class="bg" x="12" y="16" width="%s" height="24"/><text class="cap" x="20" y="32">%s</text>`, 7.2*float64(len(text)), text)
	s.add(`</svg>`)
}

// meshLayout holds the geometry in pixels.
type meshLayout struct {
	side, left, top       float64   // side of a cell
	at                    []float64 // offset of each line
	extent, width, height float64
}

// Pixels: widths of a character at the two font sizes, the space between the hosts' blocks, the line
// height of the legend.
const (
	labelChar  = 6.0
	hostGap    = 6.0
	legendRow  = 24.0
	captionRow = 15.0
	// legendWidth is that of the longer row of the legend, and of a caption per NIC.
	legendWidth = 590.0
)

func newMeshLayout(g grid) meshLayout {
	l := meshLayout{side: 26}
	switch n := len(g.lines); {
	case n > 32:
		l.side = 11
	case n > 16:
		l.side = 16
	}
	longest, host := 0.0, 0.0
	for _, x := range g.lines {
		longest = max(longest, min(labelChar*float64(len([]rune(x.label))), 120))
		host = max(host, min(labelChar*float64(len([]rune(x.host))), 110))
	}
	l.left, l.top = longest+10, longest+20+captionRow*float64(len(captionLines(g)))
	if g.level == perNIC {
		l.left += host + 10
		l.top += 18
	}
	x := 0.0
	for i, line := range g.lines {
		if i > 0 && g.level == perNIC && line.host != g.lines[i-1].host {
			x += hostGap
		}
		l.at = append(l.at, x)
		x += l.side
	}
	l.extent = x
	l.width = max(l.left+l.extent+2, legendWidth)
	l.height = l.top + l.extent + 16 + 2*legendRow + 4
	return l
}

func (l meshLayout) labels(s *svg, g grid) {
	for i, x := range g.lines {
		mid := l.at[i] + l.side/2
		label := fit(x.label, 120, labelChar)
		s.add(`<text class="lab end" x="%s" y="%s">%s</text>`, l.left-6, l.top+mid+3.5, label)
		s.add(`<text class="lab" transform="translate(%s %s) rotate(-90)">%s</text>`, l.left+mid+3.5, l.top-6, label)
	}
	if g.level != perNIC {
		return
	}
	for i := 0; i < len(g.lines); {
		j := i
		for j+1 < len(g.lines) && g.lines[j+1].host == g.lines[i].host {
			j++
		}
		span := l.at[j] + l.side - l.at[i]
		host := g.lines[i].host
		s.add(`<text class="host" x="0" y="%s">%s</text>`, l.top+l.at[i]+span/2+4, fit(host, 110, labelChar))
		s.add(`<text class="host mid" x="%s" y="%s">%s</text>`, l.left+l.at[i]+span/2, 22+captionRow*2, fit(host, max(span, 40), labelChar+1))
		i = j + 1
	}
}

// cell draws one cell with its tooltip, and its mark if it needs one.
func (l meshLayout) cell(s *svg, g grid, m *fabric.Mesh, i int) {
	n, c := len(g.lines), g.cells[i]
	x, y := l.left+l.at[i%n], l.top+l.at[i/n]
	size := l.side - 1
	if c.shade() == blank {
		s.add(`<rect class="n" x="%s" y="%s" width="%s" height="%s"/>`, x, y, size, size)
		return
	}
	s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s"><title>%s</title></rect>`,
		g.class(c), x, y, size, size, g.tip(m, i))
	l.mark(s, c, x, y)
}

// class is the fill of a cell in the style sheet.
func (g grid) class(c cell) string {
	switch c.shade() {
	case blank:
		return "n"
	case hatched:
		return "u"
	case marked:
		return "f"
	default:
		return g.stepClass(g.step(c.rtt))
	}
}

// stepClass spreads the steps in use over the whole range of colours.
func (g grid) stepClass(step int) string {
	return fmt.Sprintf("c%d", step*(steps-1)/max(g.steps()-1, 1))
}

// mark draws what is not left to colour: a cross for no answer, a bar where only the full size is lost,
// a ring where the answer took another way, a hatching where not all pairs are known.
func (l meshLayout) mark(s *svg, c cell, x, y float64) {
	a, b, mid := (l.side-1)*0.27, (l.side-1)*0.73, (l.side-1)/2
	switch {
	case c.shade() == partial:
		s.add(`<rect class="p" x="%s" y="%s" width="%s" height="%s"/>`, x, y, l.side-1, l.side-1)
	case c.shade() != marked:
	case c.worst == noAnswer:
		s.add(`<path class="m" d="M%s %sL%s %sM%s %sL%s %s"/>`, x+a, y+a, x+b, y+b, x+b, y+a, x+a, y+b)
	case c.worst == fullLost:
		s.add(`<path class="m" d="M%s %sH%s"/>`, x+a, y+mid, x+b)
	default:
		s.add(`<circle class="m" cx="%s" cy="%s" r="%s"/>`, x+mid, y+mid, (l.side-1)*0.22)
	}
}

func (l meshLayout) legend(s *svg, g grid) {
	key := meshLayout{side: 15}
	x, y := 0.0, l.top+l.extent+16
	item := func(class string, c *cell, text string) {
		s.add(`<rect class="%s" x="%s" y="%s" width="14" height="14"/>`, class, x, y)
		if c != nil {
			key.mark(s, *c, x, y)
		}
		s.add(`<text class="lab" x="%s" y="%s">%s</text>`, x+20, y+11, text)
		x += 32 + (labelChar+0.4)*float64(len([]rune(text)))
	}
	for i := range g.steps() {
		text := g.stepText(i)
		if i == g.steps()-1 {
			text += " µs"
		}
		item(g.stepClass(i), nil, text)
	}
	if g.level != perNIC {
		item(g.stepClass(0), &cell{pairs: 1, expected: 2}, "partly known")
	}
	x, y = 0, y+legendRow
	item("f", &cell{failed: 1, worst: noAnswer}, "no answer")
	item("f", &cell{failed: 1, worst: fullLost}, "full size lost")
	item("f", &cell{failed: 1, worst: wrongInterface}, "wrong interface")
	item("u", nil, "unknown")
	item("n", nil, g.untested()+", not tested")
}
