package draw

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// topologyLimit is the most GPUs and NICs that TopologySVG draws: eight GPUs of eight NICs each and as much
// again; more boxes are unreadable.
const topologyLimit = 160

// TopologySVG draws a host: its NUMA nodes at the foot, on them root ports, PCIe switches, GPUs and NICs, and
// what joins the GPUs beside PCIe on top. A PCIe link is as wide as its rate, one that trained below what it
// can is marked; a GPU is joined to its NIC, one without is marked. Of a machine without a PCI tree only the
// devices of the pairs are drawn, and the picture says so. Above 160 GPUs and NICs there are only counts.
func TopologySVG(w io.Writer, m *topology.Machine, p topology.Pairing) error {
	var s svg
	if m == nil {
		m = &topology.Machine{}
	}
	sockets := forest(m, p)
	switch n := leafCount(sockets); {
	case n == 0:
		notDrawn(&s, "Topology: not drawn. No GPU and no NIC is known.")
	case n > topologyLimit:
		notDrawn(&s, fmt.Sprintf("Topology: %s and %s are too many to draw.", fabric.Count(len(m.GPUs), "GPU"), fabric.Count(len(m.NICs), "NIC")))
	default:
		pic := newTopologyPicture(m, p, sockets)
		pic.draw(&s)
	}
	return s.writeTo(w)
}

func leafCount(sockets []*socket) int {
	n := 0
	for _, s := range sockets {
		for _, l := range s.subtrees {
			n += l.size()
		}
	}
	return n
}

// topologyPicture is what a picture is drawn from.
type topologyPicture struct {
	*layout
	machine *topology.Machine
	pairing topology.Pairing
	caption []string
	notes   []string
	spare   map[string]bool
	alone   map[string]bool // GPUs without a NIC
}

const noteRow = 17.0

func newTopologyPicture(m *topology.Machine, p topology.Pairing, sockets []*socket) *topologyPicture {
	pic := &topologyPicture{machine: m, pairing: p, spare: map[string]bool{}, alone: map[string]bool{}}
	for _, d := range p.Spare {
		pic.spare[d.Label] = true
	}
	for _, x := range p.Pairs {
		if x.NIC == nil {
			pic.alone[x.GPU.Label] = true
		}
	}
	pic.layout = newLayout(sockets, p, 0) // for its width
	pic.caption = pic.lines(pic.title(), captionChar)
	pic.layout = newLayout(sockets, p, noteRow*float64(len(pic.caption))+10)
	for _, note := range pic.noteTexts() {
		pic.notes = append(pic.notes, pic.lines(note, barChar)...)
	}
	return pic
}

// lines breaks a sentence to the width of the picture.
func (t *topologyPicture) lines(text string, char float64) []string {
	lines := wrapped(text, int(t.width/char))
	for i := range lines {
		lines[i] = fit(lines[i], t.width, char)
	}
	return lines
}

func (t *topologyPicture) title() string {
	name := strings.TrimSpace(t.machine.Name)
	if name == "" {
		name = "Host"
	}
	if t.machine.Source != "" {
		name += " (" + t.machine.Source + ")"
	}
	if len(t.machine.CPUs) == 0 {
		return fabric.Printable(name) + ": the PCI tree is unknown: distances only."
	}
	return fabric.Printable(fmt.Sprintf("%s: %s, %s, %s. A PCIe link is as wide as its rate.", name,
		fabric.Count(len(t.machine.CPUs), "NUMA node"), fabric.Count(len(t.machine.GPUs), "GPU"), fabric.Count(len(t.machine.NICs), "NIC")))
}

func (t *topologyPicture) draw(s *svg) {
	last := t.bands[len(t.bands)-1]
	keyTop := last.bottom + 24
	noteTop := t.key(nil, keyTop) + legendRow
	height := noteTop + noteRow*float64(len(t.notes)) - 8
	s.add(`<svg xmlns="http://www.w3.org/2000/svg" class="rw-topology" role="img" aria-label="%s" width="%s" height="%s" viewBox="0 0 %s %s">`,
		t.title(), t.width, height, t.width, height)
	s.b.WriteString(topologyStyle)
	for i, line := range t.caption {
		s.add(`<text class="cap" x="0" y="%s">%s</text>`, 13+noteRow*float64(i), line)
	}
	for _, b := range t.bands {
		t.links(s, b)
		t.pairs(s, b)
		t.scaleUp(s, b)
		t.boxes(s, b)
		t.foot(s, b)
	}
	t.key(s, keyTop)
	for i, note := range t.notes {
		s.add(`<text x="0" y="%s">%s</text>`, noteTop+noteRow*float64(i), note)
	}
	s.add(`</svg>`)
}

// rateWidth is the width in pixels of a link: Gen5 x16 is four, and what is unknown the thinnest.
func rateWidth(d *topology.Device) float64 {
	if d == nil {
		return 1
	}
	return min(1+topology.RawRate(d.Speed, d.Width)/21, 7)
}

func linkClass(d *topology.Device, bad bool) string {
	switch {
	case bad:
		return "down"
	case d == nil || topology.RawRate(d.Speed, d.Width) == 0:
		return "pci dim"
	default:
		return "pci"
	}
}

// links draws the PCIe links from the leaves down to the sockets.
func (t *topologyPicture) links(s *svg, b *band) {
	for i, trunks := range b.trunks {
		if !b.sockets[i].tree {
			continue
		}
		for _, x := range trunks {
			target := b.portTop
			switch {
			case x.device != nil:
				target = b.switchTop(x.depth)
			case portName(x.subtree) == "":
				target = b.socketTop
			}
			t.rails(s, x, target)
			if x.device == nil {
				continue
			}
			below := b.portTop
			if x.up != nil {
				below = b.switchTop(x.up.depth)
			} else if portName(x.subtree) == "" {
				below = b.socketTop
			}
			mid := x.x + x.width/2
			s.add(`<path class="%s" stroke-width="%s" d="M%s %sV%s"><title>%s</title></path>`, linkClass(x.device, trainingOf(*x.device) == downgraded), rateWidth(x.device),
				mid, target+switchBox, below, x.device.Bus+"  "+trainedWords(*x.device))
		}
	}
}

// rails draws the links of a subtree's own leaves: GPUs at the left, NICs at the right of their column.
func (t *topologyPicture) rails(s *svg, x *trunk, target float64) {
	for i, rows := range x.columns {
		for k, rail := range []float64{x.columnAt[i] + 9, x.columnAt[i] + t.column() - 4} {
			first := -1.0
			for _, r := range rows {
				f := [2]*leaf{r.gpu, r.nic}[k]
				if f == nil {
					continue
				}
				at := t.seats[f.label]
				y := at.y + leafHeight*0.7
				if first < 0 {
					first = y
				}
				s.add(`<path class="%s" stroke-width="%s" d="M%s %sH%s"/>`, linkClass(f.at, f.bad), rateWidth(f.at), at.x+t.leaf*float64(k), y, rail)
			}
			if first >= 0 {
				s.add(`<path class="pci" stroke-width="1.5" d="M%s %sV%s"/>`, rail, first, target)
			}
		}
	}
}

// pairs joins each GPU with its NICs: across the gap of their column, or along a lane above.
func (t *topologyPicture) pairs(s *svg, b *band) {
	index := slices.Index(t.bands, b)
	for _, p := range t.pairing.Pairs {
		if p.NIC == nil {
			continue
		}
		g, okG := t.seats[p.GPU.Label]
		n, okN := t.seats[p.NIC.Label]
		if !okG || !okN || g.band != index || g.column != n.column {
			continue
		}
		class, tip := pairClass(p), pairTip(p)
		from, to, mid := g.x+t.leaf, n.x, g.x+t.leaf+t.gap/2
		if g.y == n.y {
			s.add(`<text class="hop mid" x="%s" y="%s">%s</text>`, mid, n.y+leafHeight*0.5-4, p.Hop)
			s.add(`<path class="%s" d="M%s %sH%s"><title>%s</title></path>`, class, from, g.y+leafHeight*0.5, to, tip)
		} else {
			s.add(`<path class="%s" d="M%s %sH%sV%sH%s"><title>%s</title></path>`, class, from, g.y+leafHeight*0.5, mid, n.y+leafHeight*0.5, to, tip)
		}
	}
	for i, p := range b.lanes {
		g, n := t.seats[p.GPU.Label], t.seats[p.NIC.Label]
		y := b.laneTop + float64(i)*laneHeight + 6
		left, right := g.x+t.leaf+1.5, n.x-1.5
		s.add(`<path class="%s lane" d="M%s %sH%sV%sH%sV%sH%s"><title>%s</title></path>`, pairClass(p), g.x+t.leaf, g.y+leafHeight*0.3, left, y, right, n.y+leafHeight*0.3, n.x, pairTip(p))
		text := fmt.Sprintf("%s to %s: %s", p.GPU.Label, p.NIC.Label, p.Hop)
		width := leafChar * float64(len(text))
		s.add(`<rect class="bg" x="%s" y="%s" width="%s" height="12"/><text class="lab mid" x="%s" y="%s">%s</text>`, (left+right-width)/2-3, y-6, width+6, (left+right)/2, y+3, text)
	}
}

func pairClass(p topology.Pair) string {
	if p.Near {
		return "near"
	}
	return "far"
}

func pairTip(p topology.Pair) string {
	tip := fmt.Sprintf("%s to %s: %s", p.GPU.Label, p.NIC.Label, p.Hop)
	if cost := costWords(p); cost != "" {
		tip += ", " + cost
	}
	return tip
}

// scaleUp draws NVLink or XGMI as a bar above the columns, joined with every GPU that has such links.
func (t *topologyPicture) scaleUp(s *svg, b *band) {
	if !b.hasLinks {
		return
	}
	left, right := -1.0, 0.0
	for _, trunks := range b.trunks {
		for _, x := range trunks {
			for i, rows := range x.columns {
				rail, last := x.columnAt[i]+3, -1.0
				for _, r := range rows {
					if r.gpu == nil || !r.gpu.links {
						continue
					}
					at := t.seats[r.gpu.label]
					last = at.y + leafHeight*0.3
					s.add(`<path class="nv" d="M%s %sH%s"/>`, at.x, last, rail)
				}
				if last < 0 {
					continue
				}
				s.add(`<path class="nv" d="M%s %sV%s"/>`, rail, b.top+barHeight, last)
				if left < 0 {
					left = x.columnAt[i]
				}
				right = x.columnAt[i] + t.column()
			}
		}
	}
	words := scaleUpWords(t.machine)
	right = max(right, min(left+barChar*float64(len([]rune(words)))+12, t.width-1))
	s.add(`<rect class="scale" x="%s" y="%s" width="%s" height="%s" rx="4"><title>%s</title></rect>`, left, b.top, right-left, barHeight, words)
	s.add(`<text class="mid" x="%s" y="%s">%s</text>`, (left+right)/2, b.top+15, fit(words, right-left-12, barChar))
}
