package draw

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// drawPorts draws machines from behind with a line a cable. seen are the links that were found; nil: that is unknown.
func drawPorts(s *svg, p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status, seen []fabric.Link) {
	pic := newPortPicture(newPortView(p, marks, seen))
	var notes []note
	for _, n := range pic.notes() {
		for _, line := range wrapped(n.text, int(pic.width/noteChar)) {
			notes = append(notes, note{n.class, line})
		}
	}
	legend := pic.height + 34
	height := legend + 24 + 18*float64(len(notes))
	what := pic.caption()
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-cabling" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		"Cabling of "+p.Name+": "+what, pic.width, height, pic.width, height)
	s.b.WriteString(cablingStyle)
	s.b.WriteString(portsStyle)
	s.add(`<text x="0" y="14">%s</text><text x="0" y="31">%s</text>`, what+". A cable has the same letter and colour at both ends.", seenFromBehind)
	for i, c := range pic.cables {
		pic.cable(s, c, i)
	}
	for i, c := range pic.wrong {
		pic.plugged(s, c, len(pic.cables)+i)
	}
	pic.drawSwitch(s)
	for i := range pic.boxes {
		pic.box(s, i)
	}
	pic.network(s)
	for _, c := range pic.cables {
		pic.badges(s, c)
	}
	verdictLegend(s, legend)
	if len(pic.wrong) > 0 {
		s.add(`<path class="plug" d="M345 %sh34"/><text class="lab" x="385" y="%s">as it is plugged</text>`, legend-4, legend)
		s.add(`<path class="w thick ghost s0" d="M487 %sh34"/><text class="lab" x="527" y="%s">planned, not plugged so</text>`, legend-4, legend)
	}
	for i, n := range notes {
		s.add(`<text class="%s" x="0" y="%s">%s</text>`, n.class, legend+28+18*float64(i), n.text)
	}
	s.add(`</svg>`)
}

// seenFromBehind is the view of all pictures of such machines.
const seenFromBehind = "Seen from behind: port 1 is the outermost QSFP port (right), port 0 left of it, the RJ-45 port (10G) left of both."

// caption counts what is drawn.
func (v *portView) caption() string {
	parts := []string{fabric.Count(len(v.boxes), "machine")}
	if n := len(v.plan.Switches); n > 0 {
		parts = append(parts, fabric.Count(n, "switch"))
	}
	return strings.Join(append(parts, fabric.Count(len(v.cables), "cable")), ", ")
}

// noteChar is the width in pixels of a character of a note, which may be bold.
const noteChar = 7.6

// note is a sentence under the picture.
type note struct{ class, text string }

func (v *portView) notes() (notes []note) {
	if names := failing(v.marks); len(names) > 0 {
		notes = append(notes, note{"bad", "Failing: " + Names(names, 6) + "."})
	}
	for _, c := range v.wrong {
		notes = append(notes, note{"bad", "Plugged otherwise than planned: " + c.A.String() + " to " + c.B.String() + "."})
	}
	missing := 0
	for _, c := range v.cables {
		if _, ok := v.jack(c.A); !ok {
			missing++
		} else if _, ok := v.jack(c.B); !ok && v.plan.Wiring() != fabric.WiredSwitch {
			missing++
		}
	}
	if missing > 0 {
		notes = append(notes, note{"", fabric.Count(missing, "cable") + " not drawn: an end is not a port of the plan."})
	}
	if len(v.cables) == 0 {
		notes = append(notes, note{"", "The plan names no cable."})
	}
	return notes
}

// network draws the ordinary network where the cabling needs it.
func (p *portPicture) network(s *svg) {
	if p.netTop == 0 {
		return
	}
	left := p.width
	for i := range p.boxes {
		b, at := p.at[i], p.jackPoint(jackAt{i, ethernetJack})
		x, bus := b.x+9, p.netTop
		if b.up {
			bus = p.netBottom
		}
		left = min(left, x)
		s.add(`<path class="net" d="M%s %sV%sH%s"/>`, x, bus, jackTop(at, b.up)+9, at.x-17)
	}
	s.add(`<path class="net bus" d="M%s %sH%s"/>`, left-4, p.netTop, p.width)
	s.add(`<text class="lab end" x="%s" y="%s">one network of all RJ-45 ports (10G): over it processes find each other</text>`, p.width, p.netTop-5)
	if p.netBottom > 0 {
		s.add(`<path class="net bus" d="M%s %sH%s"/>`, left-4, p.netBottom, p.width)
		s.add(`<text class="lab end" x="%s" y="%s">the same network</text>`, p.width, p.netBottom-5)
	}
}

// box draws a machine: its name, a card a port, and the ports in the order of its back.
func (p *portPicture) box(s *svg, box int) {
	b, at := p.boxes[box], p.at[box]
	status, marked := p.marks[fabric.Endpoint{Node: b.Name}]
	frame := "box"
	if marked && status == fabric.Fail {
		frame = "box broken"
	}
	s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="5"><title>%s</title></rect>`,
		frame, at.x, at.y, at.width, at.height, strings.TrimSuffix(b.Name+", "+b.Machine, ", "))
	names, cards := at.y, at.y+nameLine*float64(p.names)+4
	if at.up {
		cards = at.y + jackHeight
		names = cards + cardHeight + 4
	}
	left := at.x + boxPad/2 + ethernetWidth + jackGap
	for i, line := range cut(b.Name, nameRoom(at.width)) {
		s.add(`<text class="name" x="%s" y="%s">%s</text>`, left, names+nameLine*float64(i+1), line)
	}
	switch {
	case marked && status == fabric.Fail:
		cross(s, at.x+at.width-11, names+12)
	case marked && status == fabric.Unknown:
		question(s, at.x+at.width-11, names+12)
	}
	p.ethernet(s, box, cards)
	for n := range b.jacks {
		p.card(s, jackAt{box, n}, cards)
	}
}

// hue is the colour of a cable without the dashes that tell it from an earlier one: on a small mark they look like damage.
func hue(color int) string {
	class, _, _ := strings.Cut(railClass("s", color), " ")
	return class
}

// cut breaks a name into lines of so many characters.
func cut(name string, most int) (lines []string) {
	runes := []rune(name)
	for len(runes) > most {
		lines, runes = append(lines, string(runes[:most])), runes[most:]
	}
	return append(lines, string(runes))
}

// jackTop is the upper edge of a port that is drawn at a machine's edge.
func jackTop(at point, up bool) float64 {
	if up {
		return at.y + 4
	}
	return at.y - jackHeight + 4
}

func (p *portPicture) ethernet(s *svg, box int, cards float64) {
	at, b := p.jackPoint(jackAt{box, ethernetJack}), p.boxes[box]
	top := jackTop(at, p.at[box].up)
	tip := "RJ-45, the ordinary network"
	if b.Management != "" {
		tip += ": " + b.Management
	}
	s.add(`<g><rect class="jack" x="%s" y="%s" width="34" height="18" rx="2"/><text class="lab mid" x="%s" y="%s">10G</text><title>%s</title></g>`,
		at.x-17, top, at.x, top+13, tip)
	s.add(`<text class="lab" x="%s" y="%s">%s</text>`, at.x-14, cards+15, fit(b.Management, ethernetWidth-12, labelChar))
}

// card draws a port with its twins: interface and address, and the verdict of each.
func (p *portPicture) card(s *svg, j jackAt, cards float64) {
	at, jack := p.jackPoint(j), p.boxes[j.box].jacks[j.number]
	top, number := jackTop(at, p.at[j.box].up), fmt.Sprint(j.number)
	if jack.cable < 0 {
		s.add(`<g><rect class="jack" x="%s" y="%s" width="34" height="18" rx="2"/><text class="lab mid" x="%s" y="%s">%s</text><title>%s</title></g>`,
			at.x-17, top, at.x, top+13, number, "port "+number+", no cable is planned")
		s.add(`<text class="lab mid" x="%s" y="%s">port %s</text><text class="lab mid" x="%s" y="%s">empty</text>`, at.x, cards+15, number, at.x, cards+28)
		if len(jack.Twins) == 0 {
			return
		}
	} else {
		c := p.cables[jack.cable]
		s.add(`<g><rect class="jack %s" x="%s" y="%s" width="34" height="18" rx="2"/><text class="name mid" x="%s" y="%s">%s</text><title>%s</title></g>`,
			hue(c.color), at.x-17, top, at.x, top+13.5, number, "port "+number+", cable "+c.letter)
	}
	left := at.x - cardWidth/2
	s.add(`<rect class="card" x="%s" y="%s" width="%s" height="%s" rx="3"/>`, left, cards, cardWidth, cardHeight-8)
	if jack.cable >= 0 {
		s.add(`<text class="lab name" x="%s" y="%s">%s</text>`, left+6, cards+14, "port "+number+", cable "+p.cables[jack.cable].letter)
	}
	for i, t := range jack.Twins[:min(len(jack.Twins), 2)] {
		p.twin(s, fabric.Endpoint{Node: jack.Node, NIC: t.NIC}, max(jack.cable, 0)+1, left+6, cards+28+27*float64(i))
	}
	switch status, looked := p.status(jack); {
	case looked && status == fabric.Fail:
		cross(s, at.x+24, top+9)
	case looked && status == fabric.Unknown:
		question(s, at.x+24, top+9)
	}
}

// twin draws an interface of a port with its verdict and its address.
func (p *portPicture) twin(s *svg, e fabric.Endpoint, color int, x, y float64) {
	status, looked := p.marks[e]
	address := p.addressOf(e.Node, e.NIC)
	s.add(`<g>`)
	switch {
	case looked && status == fabric.Fail:
		cross(s, x+5, y-4)
	case looked && status == fabric.Unknown:
		question(s, x+5, y-4)
	case looked && status == fabric.Pass:
		s.add(`<rect class="%s" x="%s" y="%s" width="9" height="9" rx="1.5"/>`, railClass("d", color), x+.5, y-8.5)
	default:
		s.add(`<rect class="open %s" x="%s" y="%s" width="9" height="9" rx="1.5"/>`, hue(color), x+.5, y-8.5)
	}
	s.add(`<text class="lab nic" x="%s" y="%s">%s</text><text class="lab" x="%s" y="%s">%s</text>`,
		x+15, y, fit(e.NIC, cardWidth-21, labelChar), x+15, y+12, address)
	s.add(`<title>%s</title></g>`, fmt.Sprintf("%s, %s: %s", e, address, verdictWord(status, looked)))
}

// drawSwitch draws the switch with its ports opposite the machines'.
func (p *portPicture) drawSwitch(s *svg) {
	if p.sw.height == 0 {
		return
	}
	var names, kinds []string
	status, marked := fabric.Unknown, false
	for _, sw := range p.plan.Switches {
		names, kinds = append(names, sw.Name), append(kinds, sw.Model)
		if m, ok := p.marks[fabric.Endpoint{Node: sw.Name}]; ok && (!marked || status != fabric.Fail) {
			status, marked = m, true
		}
	}
	frame := "box"
	if marked && status == fabric.Fail {
		frame = "box broken"
	}
	s.add(`<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="5"/>`, frame, p.sw.x, p.sw.y, p.sw.width, p.sw.height)
	y := p.sw.y + nameLine + 2
	if len(p.top) > 0 {
		y += switchEdge
	}
	title := strings.Join(names, ", ")
	s.add(`<text class="mid" x="%s" y="%s"><tspan class="name">%s</tspan>  %s</text>`, p.sw.x+p.sw.width/2, y, fit(title, p.sw.width-160, nameChar), strings.Join(kinds, ", "))
	switch {
	case marked && status == fabric.Fail:
		cross(s, p.sw.x+p.sw.width-12, y-4)
	case marked && status == fabric.Unknown:
		question(s, p.sw.x+p.sw.width-12, y-4)
	}
	for _, c := range p.cables {
		j, ok := p.ports[c.B]
		if !ok {
			continue
		}
		top, label := j.y+4, j.y+30
		if !j.up {
			top, label = j.y-14, j.y-20
		}
		s.add(`<rect class="jack %s" x="%s" y="%s" width="24" height="10" rx="2"/>`, hue(c.color), j.x-12, top)
		s.add(`<text class="lab mid nic" x="%s" y="%s">%s<title>%s</title></text>`, j.x, label, fit(j.name, cardWidth, labelChar), c.B.String()+", cable "+c.letter)
	}
}
