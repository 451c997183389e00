package draw

import (
	"slices"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// Pixels of a machine seen from behind, from left to right: the RJ-45 port, then the QSFP ports by number.
const (
	ethernetWidth = 52.0
	cardWidth     = 120.0 // of a cabled port: an interface has up to 15 characters (IFNAMSIZ), an address with its length 18
	emptyWidth    = 46.0
	cardHeight    = 82.0
	jackHeight    = 26.0
	jackGap       = 6.0
	portsGap      = 26.0 // between machines
	nameLine      = 16.0
	nameChar      = 7.2
	laneGap       = 24.0
	jackRun       = 38.0 // from a port to the first lane: room for the letter
	switchGap     = 78.0 // between machines and a switch
	switchEdge    = 34.0 // of a switch, for the ports at one of its edges
	rowShift      = 14.0 // of the lower row, so that no cable runs upon another
	rowMost       = 3    // machines cabled to each other in a row
	switchRowMost = 4    // machines on a switch in a row
)

// portPicture is a portView laid out in pixels.
type portPicture struct {
	portView
	top, bottom   []int
	at            []boxPlace // by box
	names         int        // lines of a machine's name
	width, height float64
	netTop        float64 // of the ordinary network above; 0: not drawn
	netBottom     float64 // and of its other part, below
	sw            boxPlace
	lane          []int // of the cables, then of the wrong ones
	laneTop       float64
	ports         map[fabric.PortEnd]switchJack
}

// boxPlace is a rectangle. up is whether its ports are at its upper edge.
type boxPlace struct {
	x, y, width, height float64
	up                  bool
}

// switchJack is a port of a switch, opposite the port that the plan gives it.
type switchJack struct {
	point
	up   bool // at the upper edge
	name string
}

func newPortPicture(v portView) *portPicture {
	p := &portPicture{portView: v, at: make([]boxPlace, len(v.boxes)), ports: map[fabric.PortEnd]switchJack{}}
	most := rowMost
	if v.plan.Wiring() == fabric.WiredSwitch {
		most = switchRowMost
	}
	p.top, p.bottom = v.rows(most)
	for i := range v.boxes {
		p.at[i].width = p.boxWidth(i)
		room := nameRoom(p.at[i].width)
		p.names = max(p.names, (utf8.RuneCountInString(v.boxes[i].Name)+room-1)/room)
	}
	p.placeColumns()
	p.placeRows()
	return p
}

func (p *portPicture) boxWidth(box int) float64 {
	width := boxPad + ethernetWidth
	for _, j := range p.boxes[box].jacks {
		width += jackGap + jackWidth(j)
	}
	return width
}

// nameRoom is how many characters of a name a machine's box has room for in a line, beside a mark.
func nameRoom(width float64) int {
	return max(int((width-ethernetWidth-2*boxPad-16)/nameChar), 1)
}

func jackWidth(j portJack) float64 {
	if len(j.Twins) == 0 {
		return emptyWidth
	}
	return cardWidth
}

// placeColumns spreads both rows over the same columns, in the middle of the picture.
func (p *portPicture) placeColumns() {
	widest := 0.0
	for _, b := range p.at {
		widest = max(widest, b.width)
	}
	pitch := widest + portsGap
	count := float64(max(len(p.top), len(p.bottom)))
	p.width = max(count*pitch-portsGap+2, 720)
	first := (p.width - count*pitch + portsGap) / 2
	shift := 0.0
	if len(p.top) > 0 && len(p.bottom) > 0 && p.plan.Wiring() != fabric.WiredSwitch {
		shift, p.width = rowShift, p.width+rowShift
	}
	for i, box := range p.top {
		p.at[box].x = first + float64(i)*pitch
	}
	for i, column := range columns(len(p.top), len(p.bottom)) {
		p.at[p.bottom[i]].x = first + float64(column)*pitch + shift
		p.at[p.bottom[i]].up = true
	}
}

func (p *portPicture) placeRows() {
	y := 50.0
	if p.needsEthernet() {
		p.netTop = y + 8
		y += 28
	}
	height := nameLine*float64(p.names) + cardHeight + jackHeight + 14
	row := func(boxes []int) {
		for _, box := range boxes {
			p.at[box].y, p.at[box].height = y, height
		}
		if len(boxes) > 0 {
			y += height
		}
	}
	row(p.top)
	if p.plan.Wiring() == fabric.WiredSwitch {
		y = p.placeSwitch(y)
	} else {
		y = p.placeLanes(y)
	}
	row(p.bottom)
	if p.netTop > 0 && len(p.bottom) > 0 {
		p.netBottom = y + 20
		y += 28
	}
	p.height = y
}

// placeLanes leaves room for the cables between the rows, or below the only one. It returns where that ends.
func (p *portPicture) placeLanes(y float64) float64 {
	var spans []span
	for _, c := range slices.Concat(p.cables, p.wrong) {
		spans = append(spans, p.spanOf(c))
	}
	lane, count := lanes(spans)
	p.lane, p.laneTop = lane, y+jackRun
	y += jackRun + max(float64(count-1), 0)*laneGap
	if len(p.bottom) > 0 {
		return y + jackRun
	}
	return y + 14
}

// spanOf is the way of a cable along the lanes; of one that leads out of the picture it is where it begins.
func (p *portPicture) spanOf(c portCable) span {
	a, okA := p.jack(c.A)
	b, okB := p.jack(c.B)
	switch {
	case !okA && !okB:
		return span{from: -1, to: -1}
	case !okA:
		a = b
	case !okB:
		b = a
	}
	s := span{from: p.jackPoint(a).x, to: p.jackPoint(b).x, side: across}
	switch {
	case p.at[a.box].up && p.at[b.box].up:
		s.side = bothBelow
	case !p.at[a.box].up && !p.at[b.box].up:
		s.side = bothAbove
	}
	return s
}

// placeSwitch puts the switch below the upper row, with its ports opposite the machines', so that cables run straight. It
// returns where the lower row begins.
func (p *portPicture) placeSwitch(y float64) float64 {
	if len(p.top) > 0 {
		y += switchGap
	}
	p.sw = boxPlace{x: 1, y: y, width: p.width - 2, height: nameLine + 12}
	edges := 0
	for _, row := range [][]int{p.top, p.bottom} {
		if len(row) > 0 {
			edges++
		}
	}
	p.sw.height += float64(edges) * switchEdge
	for _, c := range p.cables {
		from, ok := p.jack(c.A)
		if !ok || from.number == ethernetJack {
			continue
		}
		j := switchJack{point: point{p.jackPoint(from).x, p.sw.y}, up: !p.at[from.box].up, name: c.B.Name}
		if !j.up {
			j.y += p.sw.height
		}
		if len(p.plan.Switches) > 1 {
			j.name = c.B.Node + " " + j.name
		}
		p.ports[c.B] = j
	}
	return y + p.sw.height + switchGap
}

// jackPoint is where a plug goes into a machine.
func (p *portPicture) jackPoint(j jackAt) point {
	b := p.at[j.box]
	at := point{b.x + boxPad/2 + ethernetWidth/2, b.y + b.height}
	if b.up {
		at.y = b.y
	}
	if j.number == ethernetJack {
		return at
	}
	at.x = b.x + boxPad/2 + ethernetWidth
	for i, jack := range p.boxes[j.box].jacks {
		w := jackWidth(jack)
		if i == j.number {
			at.x += jackGap + w/2
			break
		}
		at.x += jackGap + w
	}
	return at
}
