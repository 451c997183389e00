package draw

import (
	"fmt"
	"io"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// cableLimit is the most hosts of which Cabling draws each cable: 32 hosts of 8 NICs are 256 cables, four
// pixels apart across a page, the closest at which a line can still be followed.
const cableLimit = 32

// Cabling draws the switches on top, the hosts below and a line a cable, coloured by rail. marks are the
// verdicts of NICs and ports, and of whole nodes under an empty NIC: a failing one gets a red cross and its
// cable is cut, an unknown one a question mark; one that is not in marks is drawn hollow. Above 32 hosts
// the hosts that are attached to the same switches become one box with counts, and the picture says so. A nil plan
// is drawn as not available.
//
// Machines whose ports have twins are drawn from behind with a line a cable. seen are the links that were found there, each
// from either end; one that differs from the plan is drawn beside the planned one. nil: what is plugged is unknown.
func Cabling(w io.Writer, p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status, seen []fabric.Link) error {
	var s svg
	switch {
	case p == nil || len(p.Nodes) == 0:
		notDrawn(&s, "Cabling: not available. There is no plan.")
	case len(p.Ports) > 0 && len(p.Nodes) <= cableLimit:
		drawPorts(&s, p, marks, seen)
	case len(p.Nodes) > cableLimit:
		drawPods(&s, p, marks)
	default:
		c := newCabling(p, marks)
		c.draw(&s, p)
	}
	return s.writeTo(w)
}

// Pixels.
const (
	pageWidth  = 1160.0 // of a report's column
	boxPad     = 14.0   // inside a box, left and right of its ports; less where they are narrow
	boxGap     = 10.0   // between boxes, also less where they are narrow
	widestPort = 40.0   // pitch of NICs: wide enough for a name such as eth12 in level text
	levelText  = 27.0   // pitch above which names stand level
	turnedText = 11.0   // pitch above which names stand turned; below it they are in the tooltips only
	closest    = 4.0    // pitch at which lines can still be followed
	switchTop  = 30.0
	fall       = 150.0 // height of the cables
)

// cabling is a plan laid out in pixels.
type cabling struct {
	marks            map[fabric.Endpoint]fabric.Status
	hosts, switches  []box
	hostTop          float64
	pitch, portPitch float64
	width            float64
	rail             map[fabric.Endpoint]int
	at               map[fabric.Endpoint]point
}

type point struct{ x, y float64 }

// box is a host or a switch with its NICs or ports.
type box struct {
	name, kind string
	ports      []string
	x, width   float64
	height     float64
}

func newCabling(p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status) cabling {
	c := cabling{marks: marks, rail: map[fabric.Endpoint]int{}, at: map[fabric.Endpoint]point{}}
	ports := map[string][]string{}
	isNode := map[string]bool{}
	for _, n := range p.Nodes {
		isNode[n.Name] = true
		c.hosts = append(c.hosts, box{name: n.Name, kind: n.Machine, ports: n.NICs})
		for i, nic := range n.NICs {
			c.rail[fabric.Endpoint{Node: n.Name, NIC: nic}] = i + 1
		}
	}
	for _, l := range p.Cabling.Links {
		c.rail[l.A], c.rail[l.B] = l.Rail, l.Rail
		if !isNode[l.B.Node] && !slices.Contains(ports[l.B.Node], l.B.NIC) { // virtual machines share cables
			ports[l.B.Node] = append(ports[l.B.Node], l.B.NIC)
		}
	}
	for _, sw := range switchesOf(p, isNode) {
		c.switches = append(c.switches, box{name: sw.Name, kind: sw.Model, ports: ports[sw.Name]})
	}
	c.layOut()
	return c
}

// switchesOf lists the switches of a plan, then those that only a cable names.
func switchesOf(p *fabric.Plan, isNode map[string]bool) []fabric.Switch {
	all := slices.Clone(p.Switches)
	known := map[string]bool{}
	for _, s := range all {
		known[s.Name] = true
	}
	for _, l := range p.Cabling.Links {
		if name := l.B.Node; !known[name] && !isNode[name] {
			known[name] = true
			all = append(all, fabric.Switch{Name: name, Role: fabric.Leaf})
		}
	}
	return all
}

func (c *cabling) layOut() {
	c.pitch = pitchOf(c.hosts)
	c.portPitch = pitchOf(c.switches)
	c.width = max(rowWidth(c.hosts, c.pitch), rowWidth(c.switches, c.portPitch), 640)
	height := func(pitch, names float64) float64 {
		switch {
		case pitch >= levelText:
			return 66
		case pitch >= turnedText:
			return 36 + names
		default:
			return 36
		}
	}
	switchBottom := switchTop + height(min(c.portPitch, levelText-1), portText)
	c.hostTop = switchBottom + fall
	if len(c.switches) == 0 {
		c.hostTop = switchTop + fall/2
	}
	c.place(c.switches, c.portPitch, switchTop, switchBottom-switchTop, switchBottom)
	c.place(c.hosts, c.pitch, c.hostTop, height(c.pitch, 34), c.hostTop)
}

// portText is the room in pixels for a turned port name: 12 characters.
const portText = 76.0

func pitchOf(boxes []box) float64 {
	ports := 0
	for _, b := range boxes {
		ports += len(b.ports)
	}
	room := pageWidth - float64(len(boxes))*(2*boxPad+boxGap)
	return min(max(room/float64(max(ports, 1)), closest), widestPort)
}

// boxWidth leaves room for the ports and for a short name, small where the ports are narrow.
func boxWidth(b box, pitch float64) float64 {
	name := float64(len([]rune(b.name)))
	if pitch < turnedText {
		return max(float64(len(b.ports))*pitch+boxPad/2, min(5.6*name+4, 60))
	}
	return max(float64(len(b.ports))*pitch+2*boxPad, min(7.5*name+16, 110))
}

func gapOf(pitch float64) float64 {
	if pitch < turnedText {
		return boxGap / 2
	}
	return boxGap
}

func rowWidth(boxes []box, pitch float64) float64 {
	w := 0.0
	for _, b := range boxes {
		w += boxWidth(b, pitch) + gapOf(pitch)
	}
	return w
}

// place spreads boxes evenly over the width and notes where their ports are, at the height edge.
func (c *cabling) place(boxes []box, pitch, top, height, edge float64) {
	gap := (c.width - rowWidth(boxes, pitch) + gapOf(pitch)*float64(len(boxes))) / float64(len(boxes)+1)
	x := gap
	if len(boxes) > 1 { // the outer boxes keep to the margins
		gap = (c.width - 2 - rowWidth(boxes, pitch) + gapOf(pitch)*float64(len(boxes))) / float64(len(boxes)-1)
		x = 1
	}
	for i := range boxes {
		b := &boxes[i]
		b.x, b.width, b.height = x, boxWidth(*b, pitch), height
		first := b.x + (b.width-float64(len(b.ports)-1)*pitch)/2
		for j, port := range b.ports {
			c.at[fabric.Endpoint{Node: b.name, NIC: port}] = point{first + float64(j)*pitch, edge}
		}
		x += b.width + gap
	}
}

func (c *cabling) draw(s *svg, p *fabric.Plan) {
	bottom := c.hostTop
	for _, b := range c.hosts {
		bottom = max(bottom, c.hostTop+b.height)
	}
	notes := c.notes(p)
	height := bottom + 44 + legendRow + 18*float64(len(notes))
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-cabling" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		fmt.Sprintf("Cabling of %s: %s, %s, %s", p.Name, fabric.Count(len(p.Nodes), "host"), fabric.Count(len(c.switches), "switch"), fabric.Count(p.Cables()-len(p.Cabling.Uplinks), "cable")),
		c.width, height, c.width, height)
	s.b.WriteString(cablingStyle)
	s.add(`<text x="0" y="14">%s</text>`, fmt.Sprintf("%s, %s, %s. Each line is a cable, coloured by rail.",
		fabric.Count(len(p.Nodes), "host"), fabric.Count(len(c.switches), "switch"), fabric.Count(p.Cables()-len(p.Cabling.Uplinks), "cable")))
	for _, l := range p.Cabling.Links {
		c.cable(s, l)
	}
	for _, b := range c.switches {
		c.box(s, b, switchTop, true)
	}
	for _, b := range c.hosts {
		c.box(s, b, c.hostTop, false)
	}
	c.legend(s, bottom+28, notes)
	s.add(`</svg>`)
}

func (c *cabling) cable(s *svg, l fabric.Link) {
	a, okA := c.at[l.A]
	b, okB := c.at[l.B]
	if !okA || !okB {
		return // named in the notes
	}
	class := "w " + railClass("s", l.Rail)
	if c.marks[l.A] == fabric.Fail || c.marks[l.B] == fabric.Fail {
		class = "w cut"
	}
	bend := (a.y - b.y) * 0.45
	if a.y == b.y { // host to host: an arch above both
		bend = fall / 3
		s.add(`<path class="%s" d="M%s %sC%s %s %s %s %s %s"><title>%s</title></path>`, class,
			a.x, a.y, a.x, a.y-bend, b.x, b.y-bend, b.x, b.y, cableTip(l))
		return
	}
	s.add(`<path class="%s" d="M%s %sC%s %s %s %s %s %s"><title>%s</title></path>`, class,
		a.x, a.y, a.x, a.y-bend, b.x, b.y+bend, b.x, b.y, cableTip(l))
}

func cableTip(l fabric.Link) string { return fmt.Sprintf("%s to %s, rail %d", l.A, l.B, l.Rail) }

// railClass is the colour of a rail; after the last colour they repeat, dashed.
func railClass(kind string, rail int) string {
	class := fmt.Sprintf("%s%d", kind, max(rail-1, 0)%railColours)
	if kind == "s" && rail > railColours {
		class += " dash"
	}
	return class
}
