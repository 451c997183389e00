package draw

import (
	"fmt"
	"io"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// LoadSVG draws a chart of loads: a line per workload, with the load at each point; results that failed are crosses.
func LoadSVG(w io.Writer, c LoadChart) error {
	var s svg
	p := newLoadPlot(c, svgSeries)
	if len(p.lines) == 0 {
		notDrawn(&s, "Load: no data. There are no values to draw.")
		return s.writeTo(w)
	}
	height := curveBottom + 56 + keyRow*float64((len(p.lines)+1)/2)
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-curve" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		p.description(c), curveWidth, height, curveWidth, height)
	s.b.WriteString(curveStyle)
	if c.Title != "" {
		s.add(`<text class="name" x="0" y="14">%s</text>`, fit(fabric.Printable(c.Title), curveWidth, 7.4))
	}
	s.add(`<text class="lab" x="0" y="30">%s</text>`, c.loadTitle())
	p.axesSVG(&s)
	for i, l := range p.lines {
		p.lineSVG(&s, l, i)
	}
	for i, l := range p.lines {
		p.pointsSVG(&s, l, i)
	}
	p.keySVG(&s)
	s.add(`</svg>`)
	return s.writeTo(w)
}

func (p loadPlot) px(ms float64) float64 { return curveLeft + p.x(ms)*(curveRight-curveLeft-20) }
func (p loadPlot) py(v float64) float64  { return curveBottom - p.y(v)*(curveBottom-curveTop) }

func (p loadPlot) axesSVG(s *svg) {
	for _, t := range p.yTicks {
		y := p.py(t)
		s.add(`<path class="grid" d="M%s %sH%s"/><text class="lab end" x="%s" y="%s">%s</text>`, curveLeft, y, curveRight, curveLeft-8, y+4, tickText(t))
	}
	for _, t := range p.xTicks {
		x := p.px(t)
		s.add(`<path class="grid" d="M%s %sV%s"/><text class="lab mid" x="%s" y="%s">%s</text>`, x, curveTop, curveBottom+5, min(x, curveWidth-22), curveBottom+19, Milliseconds(t))
	}
	s.add(`<path class="axis" d="M%s %sH%s"/>`, curveLeft, curveBottom, curveRight)
	if last := p.xTicks[len(p.xTicks)-1]; p.target > 0 && p.target <= last {
		x := p.px(p.target)
		s.add(`<path class="bound" d="M%s %sV%s"/><text class="tag" x="%s" y="%s">target %s</text>`, x, curveTop, curveBottom, x+5, curveTop+12, Milliseconds(p.target))
	}
}

func (p loadPlot) lineSVG(s *svg, l fabric.LoadLine, i int) {
	var d strings.Builder
	for n, x := range l.Points {
		pen := "L"
		if n == 0 {
			pen = "M"
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", pen, p.px(x.TTFTms), p.py(x.OutputTokensS))
	}
	s.add(`<path class="line s%s d%s" d="%s"/>`, i, i%4, d.String())
}

// pointsSVG writes each load beside its point; one that would stand on the name of another goes without.
func (p loadPlot) pointsSVG(s *svg, l fabric.LoadLine, i int) {
	const apart = 14.0 // pixels: a label of two digits
	lastX, lastY := -1e9, -1e9
	for _, x := range l.Points {
		cx, cy := p.px(x.TTFTms), p.py(x.OutputTokensS)
		tip := fmt.Sprintf("%s, load %s: %s tokens/s, %s to the first token", l.Name, fabric.Printable(x.Load), Rate(x.OutputTokensS), Milliseconds(x.TTFTms))
		kind := i
		if x.Status == fabric.Fail {
			kind = lowKind
			tip += ", failed"
		} else if x.Status != fabric.Pass {
			tip += ", unknown"
		}
		plot{}.pointSVG(s, cx, cy, kind, tip)
		if math.Hypot(cx-lastX, cy-lastY) > apart {
			s.add(`<text class="lab tag" x="%s" y="%s">%s</text>`, cx+7, cy-6, fit(fabric.Printable(x.Load), 80, textChar))
			lastX, lastY = cx, cy
		}
	}
}

func (p loadPlot) keySVG(s *svg) {
	for i, l := range p.lines {
		x, y := curveLeft+float64(i%2)*400, curveBottom+46+keyRow*float64(i/2)
		s.add(`<path class="line s%s d%s" d="M%s %sH%s"/>`, i, i%4, x, y, x+26)
		plot{}.pointSVG(s, x+13, y, i, l.Name)
		name := l.Name
		if l.Model != "" {
			name = fabric.Printable(l.Model) + ", " + name
		}
		s.add(`<text class="lab" x="%s" y="%s">%s</text>`, x+34, y+4, fit(name, 350, textChar))
	}
	if p.more > 0 {
		s.add(`<text class="lab end" x="%s" y="30">%s not drawn</text>`, curveRight, fabric.Count(p.more, "more line"))
	}
}
