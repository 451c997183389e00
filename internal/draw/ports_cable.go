package draw

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// portsStyle is what the picture of ports has beyond that of other cablings.
const portsStyle = `<style>
.rw-cabling .halo{fill:none;stroke:var(--page);stroke-width:7}
.rw-cabling .thick{stroke-width:2.6}
.rw-cabling .ghost{stroke-dasharray:1 5;stroke-linecap:round}
.rw-cabling .plug{fill:none;stroke:var(--bad);stroke-width:2;stroke-dasharray:8 4}
.rw-cabling .plugend{fill:var(--bad)}
.rw-cabling .to{fill:var(--bad);font-size:10px;font-weight:600;paint-order:stroke;stroke:var(--page);stroke-width:4}
.rw-cabling .badge{fill:var(--page);stroke-width:1.6}
.rw-cabling .let{fill:var(--ink);font-size:11px;font-weight:700;text-anchor:middle}
.rw-cabling .jack{fill:var(--page);stroke-width:2}
.rw-cabling .jack:not([class*=" "]){stroke:var(--line);stroke-width:1}
.rw-cabling .card{fill:var(--page);stroke:var(--line)}
.rw-cabling .nic{fill:var(--ink)}
.rw-cabling .net{fill:none;stroke:var(--soft);stroke-width:1.2}
.rw-cabling .bus{stroke-width:3}
</style>
`

// stubText is the room in pixels for what a cable leads to that is not in the picture.
const stubText = 180.0

// plugEnd is a plug in the picture: where, and whether its cable leaves upwards.
type plugEnd struct {
	point
	up bool
}

// plug finds an end: a port of a machine or of the switch.
func (p *portPicture) plug(e fabric.PortEnd) (plugEnd, bool) {
	if j, ok := p.jack(e); ok {
		return plugEnd{p.jackPoint(j), p.at[j.box].up}, true
	}
	j, ok := p.ports[e]
	return plugEnd{j.point, j.up}, ok
}

// cable draws a planned cable: cut where an end fails, dotted where something else was seen in its place.
func (p *portPicture) cable(s *svg, c portCable, index int) {
	a, okA := p.plug(c.A)
	b, okB := p.plug(c.B)
	if !okA || !okB {
		return // counted in the notes
	}
	class, tip := "w thick "+railClass("s", c.color), "cable "+c.letter+": "+c.A.String()+" to "+c.B.String()
	switch {
	case c.elsehow:
		class, tip = class+" ghost", tip+"; planned, plugged otherwise"
	case c.failing:
		class, tip = "w cut", tip+"; an end is failing"
	}
	d := p.way(a, b, index, 0)
	s.add(`<path class="halo" d="%s"/><path class="%s" d="%s"><title>%s</title></path>`, d, class, d, tip)
}

// plugged draws a cable as it was seen, beside the ports' planned ones. What it leads to may not be in the picture.
func (p *portPicture) plugged(s *svg, c portCable, index int) {
	const beside = 9.0 // pixels
	tip := "plugged: " + c.A.String() + " to " + c.B.String() + "; not planned"
	a, okA := p.plug(c.A)
	b, okB := p.plug(c.B)
	if okA && okB {
		s.add(`<path class="plug" d="%s"><title>%s</title></path>`, p.way(a, b, index, beside), tip)
		return
	}
	for _, e := range []struct {
		plugEnd
		ok bool
		to fabric.PortEnd
	}{{a, okA, c.B}, {b, okB, c.A}} {
		if !e.ok {
			continue
		}
		end := e.y + 34
		if e.up {
			end = e.y - 34
		}
		s.add(`<path class="plug" d="M%s %sV%s"><title>%s</title></path>`, e.x+beside, e.y, end, tip)
		class, x := "to", e.x+beside+7
		if x > p.width-stubText {
			class, x = "to end", e.x+beside-7
		}
		s.add(`<circle class="plugend" cx="%s" cy="%s" r="3"/><text class="%s" x="%s" y="%s">%s</text>`,
			e.x+beside, end, class, x, end+3, "to "+fit(e.to.String(), stubText-30, labelChar))
	}
}

// way is the path of a cable: along its lane between two machines, straight to a switch.
func (p *portPicture) way(a, b plugEnd, index int, beside float64) string {
	ax, bx := a.x+beside, b.x+beside
	if len(p.lane) == 0 {
		if a.up != b.up {
			return path("M%s %sL%s %s", ax, a.y, bx, b.y)
		}
		y := a.y + switchGap/2 // two machines of one row that both belong on the switch
		if a.up {
			y = a.y - switchGap/2
		}
		return bend(ax, a.y, bx, b.y, y)
	}
	return bend(ax, a.y, bx, b.y, p.laneTop+laneGap*float64(p.lane[index])+beside/3)
}

// bend goes from a port to a lane, along it, and to the other port.
func bend(ax, ay, bx, by, lane float64) string {
	const most = 9.0 // radius of a corner
	r := min(most, math.Abs(bx-ax)/2, math.Abs(lane-ay)/2, math.Abs(by-lane)/2)
	dx, da, db := sign(bx-ax), sign(lane-ay), sign(by-lane)
	return path("M%s %sV%sQ%s %s %s %sH%sQ%s %s %s %sV%s", ax, ay, lane-da*r, ax, lane, ax+dx*r, lane, bx-dx*r, bx, lane, bx, lane+db*r, by)
}

func sign(x float64) float64 { return math.Copysign(1, x) }

// path writes numbers cut to a tenth of a pixel.
func path(format string, numbers ...float64) string {
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = tenth(n)
	}
	return fmt.Sprintf(format, args...)
}

// badges name a cable at both ends, where it leaves the port, and on its lane.
func (p *portPicture) badges(s *svg, c portCable) {
	for _, e := range []fabric.PortEnd{c.A, c.B} {
		at, ok := p.plug(e)
		if !ok {
			continue
		}
		y := at.y + 16
		if at.up {
			y = at.y - 16
		}
		s.add(`<circle class="badge %s" cx="%s" cy="%s" r="8.5"/><text class="let" x="%s" y="%s">%s</text>`, hue(c.color), at.x, y, at.x, y+4, c.letter)
	}
}
