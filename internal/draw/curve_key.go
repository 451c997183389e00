package draw

import "railwright.dev/railwright/internal/fabric"

// key is an entry of the legend of a curve: a way to draw its sample, and its words.
type key struct {
	kind keyKind
	of   int // the series, or the kind of a point
	text string
}

type keyKind uint8

const (
	keyNote keyKind = iota
	keyPoint
	keyLine
	keyBand
	keyBound
)

// Pixels: the room of a sample with its gap, that of a point, and the gap after an entry.
const (
	keySample = 30.0
	keyDot    = 16.0
	keyGap    = 18.0
)

// keys lists what the picture shows, and what it does not.
func (p plot) keys(thinned bool) []key {
	var all []key
	low, dots, line, band, bound := false, false, false, false, false
	for i, one := range p.series {
		for _, m := range one.Measured {
			low, dots = low || one.below(m), dots || !one.below(m)
		}
		for _, r := range one.Expected {
			line, band, bound = line || r.BusBW > 0, band || r.High > 0, bound || p.shows(r.Bound)
		}
		if len(p.series) > 1 {
			all = append(all, p.seriesKeys(one, i)...)
		}
	}
	if len(p.series) == 1 {
		if dots {
			all = append(all, key{keyPoint, inkKind, "measured"})
		}
		if line {
			all = append(all, key{keyLine, 0, "predicted"})
		}
	}
	if low {
		all = append(all, key{keyPoint, lowKind, "measured, under the healthy band"})
	}
	if band {
		all = append(all, key{keyBand, 0, "healthy band"})
	}
	if bound {
		all = append(all, key{keyBound, 0, "bound: what physics allows"})
	}
	return append(all, p.noteKeys(thinned)...)
}

// seriesKeys are those of one of several series, with its bound in words.
func (p plot) seriesKeys(one CurveSeries, i int) []key {
	name := one.Name
	if r, ok := one.last(); ok {
		name += ", bound " + Rate(r.Bound) + " GB/s"
		if r.Element != "" {
			name += ": " + r.Element
		}
	}
	name = fit(name, curveWidth-keySample-keyGap, textChar)
	var all []key
	if len(one.Expected) > 0 {
		all = append(all, key{keyLine, i, name})
	}
	if len(one.Measured) > 0 {
		all = append(all, key{keyPoint, i, fit(one.Name, curveWidth/2, textChar) + " measured"})
	}
	return all
}

// noteKeys say in words what the picture leaves out.
func (p plot) noteKeys(thinned bool) []key {
	var all []key
	if r, ok := p.series[0].last(); ok && p.outside && !p.shows(r.Bound) {
		all = append(all, key{keyNote, 0, fit("Above the chart: "+boundName(r), curveWidth-keyGap, textChar)})
	}
	if p.more > 0 {
		all = append(all, key{keyNote, 0, "Not drawn: " + fabric.Count(p.more, "more curve")})
	}
	if thinned {
		all = append(all, key{keyNote, 0, "Too many sizes to draw: of neighboring sizes the lowest is drawn"})
	}
	return all
}

func (k key) width() float64 {
	return k.indent() + textChar*float64(len([]rune(k.text))) + keyGap
}

// indent is the room of the sample.
func (k key) indent() float64 {
	switch k.kind {
	case keyNote:
		return 0
	case keyPoint:
		return keyDot
	default:
		return keySample
	}
}

// keyRows counts the lines that writeKeys takes.
func keyRows(keys []key) int {
	x, rows := 0.0, 1
	for _, k := range keys {
		if x > 0 && x+k.width() > curveWidth+keyGap {
			x, rows = 0, rows+1
		}
		x += k.width()
	}
	return rows
}

func writeKeys(s *svg, keys []key) {
	x, y := 0.0, curveBottom+44.0
	for _, k := range keys {
		if x > 0 && x+k.width() > curveWidth+keyGap {
			x, y = 0, y+keyRow
		}
		k.sample(s, x, y)
		s.add(`<text x="%s" y="%s">%s</text>`, x+k.indent(), y+4, k.text)
		x += k.width()
	}
}

func (k key) sample(s *svg, x, y float64) {
	switch k.kind {
	case keyPoint:
		plot{}.pointSVG(s, x+5, y, k.of, k.text)
	case keyLine:
		s.add(`<path class="line s%s d%s" d="M%s %sH%s"/>`, k.of, k.of%4, x, y, x+24)
	case keyBand:
		s.add(`<rect class="band f%s" x="%s" y="%s" width="24" height="12"/>`, k.of, x, y-6)
	case keyBound:
		s.add(`<path class="bound" d="M%s %sH%s"/>`, x, y, x+24)
	}
}
