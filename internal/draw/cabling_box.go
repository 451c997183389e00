package draw

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// box draws a host, or a switch with its ports along its lower edge.
func (c *cabling) box(s *svg, b box, top float64, isSwitch bool) {
	status, marked := c.marks[fabric.Endpoint{Node: b.name}]
	frame := "box"
	if marked && status == fabric.Fail {
		frame = "box broken"
	}
	s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="5"><title>%s</title></rect>`,
		frame, b.x, top, b.width, b.height, strings.TrimSuffix(b.name+", "+b.kind, ", "))
	y, pitch := top+b.height-10, c.pitch
	if isSwitch {
		y, pitch = top+18, c.portPitch
	}
	name, class := fit(b.name, b.width-4, 6.8), "name mid"
	if pitch < turnedText {
		name, class = fit(b.name, b.width-2, 5.4), "name mid small"
	}
	if b.kind != "" && b.width > 7*float64(len(b.name)+len(b.kind))+40 {
		s.add(`<text class="mid" x="%s" y="%s"><tspan class="name">%s</tspan>  %s</text>`, b.x+b.width/2, y, name, b.kind)
	} else {
		s.add(`<text class="%s" x="%s" y="%s">%s</text>`, class, b.x+b.width/2, y, name)
	}
	switch {
	case marked && status == fabric.Fail:
		cross(s, b.x+b.width-11, y-4)
	case marked && status == fabric.Unknown:
		question(s, b.x+b.width-11, y-4)
	}
	for _, port := range b.ports {
		e := fabric.Endpoint{Node: b.name, NIC: port}
		c.port(s, e, pitch)
		portLabel(s, c.at[e], port, pitch, isSwitch)
	}
}

// port draws the end of a cable with its verdict.
func (c *cabling) port(s *svg, e fabric.Endpoint, pitch float64) {
	at, rail := c.at[e], c.rail[e]
	side := min(10, pitch*0.7)
	status, looked := c.marks[e]
	tip := fmt.Sprintf("%s, rail %d: %s", e, rail, verdictWord(status, looked))
	s.b.WriteString("<g>")
	switch {
	case looked && status == fabric.Fail:
		cross(s, at.x, at.y)
	case looked && status == fabric.Unknown:
		question(s, at.x, at.y)
	case looked && status == fabric.Pass:
		s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="1.5"/>`, railClass("d", rail), at.x-side/2, at.y-side/2, side, side)
	default:
		s.add(`<rect class="open %s" x="%s" y="%s" width="%s" height="%s" rx="1.5"/>`, railClass("s", rail), at.x-side/2, at.y-side/2, side, side)
	}
	s.add(`<title>%s</title></g>`, tip)
}

func verdictWord(status fabric.Status, looked bool) string {
	if !looked {
		return "not checked"
	}
	return strings.ReplaceAll(status.String(), "_", " ")
}

// cross marks what failed; it is larger than a port, to be seen in a crowd.
func cross(s *svg, x, y float64) {
	s.add(`<rect class="fail" x="%s" y="%s" width="14" height="14" rx="2"/><path class="m" d="M%s %sl7 7m0 -7l-7 7"/>`, x-7, y-7, x-3.5, y-3.5)
}

func question(s *svg, x, y float64) {
	s.add(`<rect class="q" x="%s" y="%s" width="11" height="11" rx="2"/><text class="qt" x="%s" y="%s">?</text>`, x-5.5, y-5.5, x, y+3.2)
}

func portLabel(s *svg, at point, name string, pitch float64, isSwitch bool) {
	switch {
	case isSwitch && pitch >= turnedText:
		s.add(`<text class="lab" transform="translate(%s %s) rotate(-90)">%s</text>`, at.x+3.5, at.y-11, fit(name, portText-4, labelChar))
	case isSwitch:
	case pitch >= levelText:
		s.add(`<text class="lab mid" x="%s" y="%s">%s</text>`, at.x, at.y+22, fit(name, pitch, labelChar))
	case pitch >= turnedText:
		s.add(`<text class="lab end" transform="translate(%s %s) rotate(-90)">%s</text>`, at.x+3.5, at.y+11, fit(name, 34, labelChar))
	}
}

// notes are the sentences under the picture: what failed, by name, and what the picture leaves out.
func (c *cabling) notes(p *fabric.Plan) []string {
	var notes []string
	if names := failing(c.marks); len(names) > 0 {
		notes = append(notes, "Failing: "+Names(names, 6)+".")
	}
	if c.pitch < turnedText || c.portPitch < turnedText {
		notes = append(notes, "Names that do not fit are in the tooltips.")
	}
	if len(p.Cabling.Links) == 0 {
		notes = append(notes, "The plan names no cable.")
	}
	if missing := c.unplaced(p); missing > 0 {
		notes = append(notes, fmt.Sprintf("%s not drawn: an end is not a NIC of the plan.", fabric.Count(missing, "cable")))
	}
	if n := len(p.Cabling.Uplinks); n > 0 {
		notes = append(notes, fmt.Sprintf("%s between leaf and spine not drawn.", fabric.Count(n, "cable")))
	} else if slices.ContainsFunc(p.Switches, func(s fabric.Switch) bool { return s.Role == fabric.Spine }) {
		notes = append(notes, "Cables between leaf and spine are not in the plan.")
	}
	return notes
}

func (c *cabling) unplaced(p *fabric.Plan) int {
	n := 0
	for _, l := range p.Cabling.Links {
		_, okA := c.at[l.A]
		_, okB := c.at[l.B]
		if !okA || !okB {
			n++
		}
	}
	return n
}

// failing lists what failed, in natural order.
func failing(marks map[fabric.Endpoint]fabric.Status) []string {
	var names []string
	for e, status := range marks {
		if status == fabric.Fail {
			names = append(names, endpointName(e))
		}
	}
	slices.SortFunc(names, Natural)
	return names
}

// endpointName writes node:nic, or the node where the mark is of all of it.
func endpointName(e fabric.Endpoint) string { return strings.TrimSuffix(e.String(), ":") }

func (c *cabling) legend(s *svg, y float64, notes []string) {
	rails := 0
	for _, r := range c.rail {
		rails = max(rails, r)
	}
	x := 0.0
	for r := 1; r <= min(rails, 16); r++ {
		s.add(`<path class="w %s" d="M%s %sh18"/><text class="lab" x="%s" y="%s">%s</text>`, railClass("s", r), x, y-4, x+23, y, fmt.Sprintf("rail %d", r))
		x += 64
	}
	y += legendRow
	verdictLegend(s, y)
	for i, note := range notes {
		class := ""
		if strings.HasPrefix(note, "Failing") {
			class = "bad"
		}
		s.add(`<text class="%s" x="0" y="%s">%s</text>`, class, y+26+18*float64(i), note)
	}
}

// verdictLegend is the row that explains the marks of verdicts.
func verdictLegend(s *svg, y float64) {
	cross(s, 7, y-4)
	s.add(`<text class="lab" x="21" y="%s">failing</text>`, y)
	question(s, 80, y-4)
	s.add(`<text class="lab" x="91" y="%s">unknown</text>`, y)
	s.add(`<rect class="d0" x="162" y="%s" width="10" height="10" rx="1.5"/><text class="lab" x="177" y="%s">passed</text>`, y-9, y)
	s.add(`<rect class="open s0" x="230" y="%s" width="10" height="10" rx="1.5"/><text class="lab" x="245" y="%s">not checked</text>`, y-9, y)
}
