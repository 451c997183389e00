package draw

import (
	"fmt"
	"io"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Series that a picture can tell apart, by hue, by mark and by dash; points of one series that it draws.
const (
	svgSeries = 8
	svgPoints = 1000
)

const curveStyle = `<style>
.rw-curve{--ink:#1c2128;--soft:#57606a;--page:#fff;--line:#e1e5e9;--edge:#8c959f;--bad:#c3221f;font:12px system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
.rw-curve text{fill:var(--soft);font-variant-numeric:tabular-nums}
.rw-curve .name{fill:var(--ink);font-weight:600;font-size:13px}
.rw-curve .lab{font-size:11px}
.rw-curve .tag{fill:var(--ink);paint-order:stroke;stroke:var(--page);stroke-width:4px}
.rw-curve .end{text-anchor:end}
.rw-curve .mid{text-anchor:middle}
.rw-curve .grid{stroke:var(--line)}
.rw-curve .axis{stroke:var(--edge)}
.rw-curve .line{fill:none;stroke-width:2;stroke-linejoin:round}
.rw-curve .thread{fill:none;stroke-width:1;stroke-opacity:.6}
.rw-curve .bound{fill:none;stroke:var(--edge);stroke-width:1.5;stroke-dasharray:7 4}
.rw-curve .band{fill-opacity:.2;stroke:none}
.rw-curve .dot{stroke:var(--page);stroke-width:1}
.rw-curve .low{fill:none;stroke:var(--page);stroke-width:5;stroke-linecap:round}
.rw-curve .lowx{fill:none;stroke:var(--bad);stroke-width:2.4;stroke-linecap:round}
.rw-curve .hit{fill:transparent}
.rw-curve .d1{stroke-dasharray:9 3}.rw-curve .d2{stroke-dasharray:3 3}.rw-curve .d3{stroke-dasharray:10 3 2 3}
.rw-curve .s0{stroke:#2f6fb0}.rw-curve .s1{stroke:#228833}.rw-curve .s2{stroke:#3d348b}.rw-curve .s3{stroke:#3aa6cf}.rw-curve .s4{stroke:#8a3d93}.rw-curve .s5{stroke:#44aa99}.rw-curve .s6{stroke:#c06aa5}.rw-curve .s7{stroke:#7a7f87}
.rw-curve .f0{fill:#2f6fb0}.rw-curve .f1{fill:#228833}.rw-curve .f2{fill:#3d348b}.rw-curve .f3{fill:#3aa6cf}.rw-curve .f4{fill:#8a3d93}.rw-curve .f5{fill:#44aa99}.rw-curve .f6{fill:#c06aa5}.rw-curve .f7{fill:#7a7f87}
.rw-curve .ink{fill:var(--ink)}
@media (prefers-color-scheme:dark){
.rw-curve{--ink:#e6e9ed;--soft:#a3adb8;--page:#15181c;--line:#2a3038;--edge:#7d8793;--bad:#ff6b62}
.rw-curve .s0{stroke:#6fa8dc}.rw-curve .s1{stroke:#4fb35f}.rw-curve .s2{stroke:#9a90ea}.rw-curve .s3{stroke:#74cdee}.rw-curve .s4{stroke:#bf78c8}.rw-curve .s5{stroke:#5cc7b5}.rw-curve .s6{stroke:#e39acb}.rw-curve .s7{stroke:#a4a9b1}
.rw-curve .f0{fill:#6fa8dc}.rw-curve .f1{fill:#4fb35f}.rw-curve .f2{fill:#9a90ea}.rw-curve .f3{fill:#74cdee}.rw-curve .f4{fill:#bf78c8}.rw-curve .f5{fill:#5cc7b5}.rw-curve .f6{fill:#e39acb}.rw-curve .f7{fill:#a4a9b1}
.rw-curve .band{fill-opacity:.28}
}
</style>
`

// Pixels: the picture, the edges of the plot in it, the lines of the legend, a character of 12 pixels.
const (
	curveWidth  = 860.0
	curveLeft   = 58.0
	curveRight  = 842.0
	curveTop    = 52.0
	curveBottom = 352.0
	keyRow      = 22.0
	textChar    = 6.6
)

// CurveSVG draws a curve: what is predicted as a line with the healthy band around it, the bound as a
// dashed line with its element, what was measured as dots, or as crosses where it is under the band. Each
// point has its numbers as a tooltip. A curve without a number is drawn as no data.
func CurveSVG(w io.Writer, c Curve) error {
	var s svg
	p := newPlot(c, svgSeries)
	if len(p.series) == 0 {
		notDrawn(&s, "Curve: no data. There are no values to draw.")
		return s.writeTo(w)
	}
	thinned := false
	for i := range p.series {
		thinned = p.series[i].thin(p) || thinned
	}
	keys := p.keys(thinned)
	height := curveBottom + 34 + keyRow*float64(keyRows(keys))
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-curve" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		p.description(fabric.Printable(c.Title)), curveWidth, height, curveWidth, height)
	s.b.WriteString(curveStyle)
	if c.Title != "" {
		s.add(`<text class="name" x="0" y="14">%s</text>`, fit(fabric.Printable(c.Title), curveWidth, 7.4))
	}
	s.add(`<text class="lab" x="0" y="30">Bus bandwidth, GB/s</text>`)
	p.axes(&s)
	for i, one := range p.series {
		p.bandSVG(&s, one, i)
	}
	for _, one := range p.series {
		p.boundSVG(&s, one)
	}
	for i, one := range p.series {
		p.lineSVG(&s, one, i)
	}
	for i, one := range p.series {
		p.threadSVG(&s, one, i)
		p.pointsSVG(&s, one, i)
	}
	p.boundLabel(&s)
	writeKeys(&s, keys)
	s.add(`</svg>`)
	return s.writeTo(w)
}

// description is the picture in a sentence, for screen readers.
func (p plot) description(title string) string {
	text := "Bus bandwidth over message size. " + title
	for _, one := range p.series {
		if n := len(one.Measured); n > 0 {
			last := one.Measured[n-1]
			text += fmt.Sprintf(" Measured %s GB/s at %s.", Rate(last.BusBW), Bytes(last.Size))
		}
		if n := len(one.Expected); n > 0 {
			last := one.Expected[n-1]
			text += fmt.Sprintf(" Predicted %s GB/s at %s.", Rate(last.BusBW), Bytes(last.Size))
		}
	}
	return text
}

// thin keeps of many points the lowest in each column, so that no fall is lost; it reports whether it did.
func (s *CurveSeries) thin(p plot) bool {
	if len(s.Measured) <= svgPoints && len(s.Expected) <= svgPoints {
		return false
	}
	column := func(size int64) int { return int(p.x(size) * (svgPoints - 1)) }
	var points []CurvePoint
	for _, m := range s.Measured {
		n := len(points)
		switch {
		case n == 0 || column(points[n-1].Size) != column(m.Size):
			points = append(points, m)
		case m.BusBW < points[n-1].BusBW:
			points[n-1] = m
		}
	}
	var rows []CurveRow
	for _, r := range s.Expected {
		n := len(rows)
		switch {
		case n == 0 || column(rows[n-1].Size) != column(r.Size):
			rows = append(rows, r)
		case r.BusBW < rows[n-1].BusBW:
			rows[n-1] = r
		}
	}
	s.Measured, s.Expected = points, rows
	return true
}

func (p plot) px(size int64) float64 { return curveLeft + p.x(size)*(curveRight-curveLeft) }
func (p plot) py(v float64) float64  { return curveBottom - p.y(v)*(curveBottom-curveTop) }

func (p plot) axes(s *svg) {
	for _, t := range p.ticks {
		y := p.py(t)
		s.add(`<path class="grid" d="M%s %sH%s"/><text class="lab end" x="%s" y="%s">%s</text>`, curveLeft, y, curveRight, curveLeft-8, y+4, tickText(t))
	}
	for _, size := range p.sizes(13) {
		x := min(max(p.px(size), curveLeft), curveRight)
		s.add(`<path class="grid" d="M%s %sV%s"/><text class="lab mid" x="%s" y="%s">%s</text>`, x, curveTop, curveBottom+5, min(x, curveWidth-22), curveBottom+19, Bytes(size))
	}
	s.add(`<path class="axis" d="M%s %sH%s"/>`, curveLeft, curveBottom, curveRight)
}

func (p plot) bandSVG(s *svg, one CurveSeries, i int) {
	var up, down strings.Builder
	flush := func() {
		if up.Len() > 0 {
			s.add(`<path class="band f%s" d="M%sZ"/>`, i, strings.TrimPrefix(up.String(), "L")+down.String())
		}
		up.Reset()
		down.Reset()
	}
	for _, r := range one.Expected {
		if r.High == 0 {
			flush()
			continue
		}
		x := p.px(r.Size)
		fmt.Fprintf(&up, "L%.1f %.1f", x, p.py(r.High))
		rest := down.String()
		down.Reset()
		fmt.Fprintf(&down, "L%.1f %.1f%s", x, p.py(r.Low), rest)
	}
	flush()
}

// boundSVG steps where the bound changes from one size to the next.
func (p plot) boundSVG(s *svg, one CurveSeries) {
	var d strings.Builder
	pen := false
	for _, r := range one.Expected {
		if !p.shows(r.Bound) {
			pen = false
			continue
		}
		x, y := p.px(r.Size), p.py(r.Bound)
		if pen {
			fmt.Fprintf(&d, "H%.1fV%.1f", x, y)
		} else {
			fmt.Fprintf(&d, "M%.1f %.1f", x, y)
		}
		pen = true
	}
	if d.Len() > 0 {
		s.add(`<path class="bound" d="%s"/>`, d.String())
	}
}

// boundLabel names the bound on its line, at the right end of each stretch that has one, where there is one
// series. A stretch that is shorter than its name goes without, less the last.
func (p plot) boundLabel(s *svg) {
	if len(p.series) > 1 {
		return
	}
	rows := p.series[0].Expected
	from := 0
	for i, r := range rows {
		if i+1 < len(rows) && rows[i+1].Bound == r.Bound && rows[i+1].Element == r.Element {
			continue
		}
		left := p.px(rows[from].Size)
		from = i + 1
		name := fit(boundName(r), curveRight-curveLeft-16, textChar)
		if p.shows(r.Bound) && (i == len(rows)-1 || p.px(r.Size)-left > textChar*float64(len([]rune(name)))) {
			s.add(`<text class="tag end" x="%s" y="%s">%s</text>`, p.px(r.Size)-6, p.py(r.Bound)-6, name)
		}
	}
}

func boundName(r CurveRow) string {
	text := "bound " + Rate(r.Bound) + " GB/s"
	if r.Element != "" {
		text += ": " + r.Element
	}
	return text
}

// bounds are the different bounds of a series.
func (s CurveSeries) bounds() map[string]bool {
	all := map[string]bool{}
	for _, r := range s.Expected {
		if r.Bound > 0 {
			all[Rate(r.Bound)+r.Element] = true
		}
	}
	return all
}

func (p plot) lineSVG(s *svg, one CurveSeries, i int) {
	var d strings.Builder
	pen := "M"
	for _, r := range one.Expected {
		if r.BusBW == 0 {
			pen = "M"
			continue
		}
		fmt.Fprintf(&d, "%s%.1f %.1f", pen, p.px(r.Size), p.py(r.BusBW))
		pen = "L"
	}
	if d.Len() > 0 {
		s.add(`<path class="line s%s d%s" d="%s"/>`, i, i%4, d.String())
	}
	for _, r := range one.Expected {
		if r.BusBW > 0 {
			s.add(`<circle class="hit" cx="%s" cy="%s" r="6"><title>%s</title></circle>`, p.px(r.Size), p.py(r.BusBW), p.prefix(one)+tipOf(r))
		}
	}
}

func (p plot) prefix(one CurveSeries) string {
	if len(p.series) == 1 {
		return ""
	}
	return one.Name + ", "
}

func tipOf(r CurveRow) string {
	text := Bytes(r.Size) + ": predicted " + Rate(r.BusBW) + " GB/s"
	if r.High > 0 {
		text += ", healthy " + Rate(r.Low) + " to " + Rate(r.High)
	}
	if r.Bound > 0 {
		text += ", bound " + Rate(r.Bound)
		if r.Element != "" {
			text += " (" + r.Element + ")"
		}
	}
	return text
}

// threadSVG ties the points of one of several series together, crosses too.
func (p plot) threadSVG(s *svg, one CurveSeries, i int) {
	if len(p.series) == 1 || len(one.Measured) == 0 {
		return
	}
	var d strings.Builder
	for _, m := range one.Measured {
		fmt.Fprintf(&d, "L%.1f %.1f", p.px(m.Size), p.py(m.BusBW))
	}
	s.add(`<path class="thread s%s" d="M%s"/>`, i, d.String()[1:])
}

func (p plot) pointsSVG(s *svg, one CurveSeries, i int) {
	for _, m := range one.Measured {
		tip := p.prefix(one) + Bytes(m.Size) + ": measured " + Rate(m.BusBW) + " GB/s"
		if r, ok := one.row(m.Size); ok && r.High > 0 {
			tip += ", healthy " + Rate(r.Low) + " to " + Rate(r.High)
		}
		p.pointSVG(s, p.px(m.Size), p.py(m.BusBW), p.kind(one, m, i), tip)
	}
}

// kind is the shape of a point: of its series, or the cross of what is too low.
func (p plot) kind(one CurveSeries, m CurvePoint, i int) int {
	switch {
	case one.below(m):
		return lowKind
	case len(p.series) == 1:
		return inkKind
	default:
		return i
	}
}

// Kinds of point beside those of the series.
const (
	lowKind = -1
	inkKind = -2
)

func (p plot) pointSVG(s *svg, x, y float64, kind int, tip string) {
	switch {
	case kind == lowKind:
		d := crossPath(x, y, 4)
		s.add(`<path class="low" d="%s"/><path class="lowx" d="%s"/><circle class="hit" cx="%s" cy="%s" r="6"><title>%s</title></circle>`, d, d, x, y, tip)
	case kind == inkKind:
		s.add(`<circle class="dot ink" cx="%s" cy="%s" r="4"><title>%s</title></circle>`, x, y, tip)
	case kind%2 == 1:
		s.add(`<rect class="dot f%s" x="%s" y="%s" width="8" height="8"><title>%s</title></rect>`, kind, x-4, y-4, tip)
	default:
		s.add(`<circle class="dot f%s" cx="%s" cy="%s" r="4.5"><title>%s</title></circle>`, kind, x, y, tip)
	}
}

func crossPath(x, y, r float64) string {
	at := func(v float64) float64 { return math.Round(v*10) / 10 }
	return fmt.Sprintf("M%v %vL%v %vM%v %vL%v %v", at(x-r), at(y-r), at(x+r), at(y+r), at(x+r), at(y-r), at(x-r), at(y+r))
}
