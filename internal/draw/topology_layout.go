package draw

import (
	"railwright.dev/railwright/internal/topology"
)

// Pixels of a topology picture.
const (
	leafHeight  = 54.0 // label and three lines
	leafGap     = 8.0
	leafLeast   = 48.0 // width that still holds 400 Gb/s and Gen5 x16
	leafMost    = 96.0
	leftRails   = 14.0 // NVLink and the PCIe links of the GPUs
	pairGap     = 21.0 // between GPU and NIC: PIX and SYS fit
	widePairGap = 28.0 // NODE fits
	rightRail   = 10.0 // PCIe links of the NICs
	socketPad   = 5.0
	socketGap   = 9.0
	barHeight   = 22.0
	laneHeight  = 14.0
	switchBox   = 20.0
	uplink      = 32.0 // between switches, with two lines of text
	portBox     = 16.0
	socketBox   = 24.0
	bandGap     = 26.0
	leafChar    = 5.3   // width of a character at 9 pixels
	barChar     = 6.2   // at 11 pixels
	captionChar = 6.8   // at 12 pixels
	narrowPage  = 640.0 // the least width, for caption and notes
)

// laneLimit is the most pairs that are drawn along a lane above the columns.
const laneLimit = 16

// seat is where a leaf stands.
type seat struct {
	x, y   float64
	column int // counted over the whole picture
	band   int
}

// trunk is a subtree with its place.
type trunk struct {
	*subtree
	depth    int     // 1: right above the root port; 0: no switch
	x, width float64 // of its own columns and those of the subtrees below it
	columnAt []float64
	up       *trunk
}

// band is a row of sockets.
type band struct {
	sockets  []*socket
	at       []float64 // x of each socket
	width    float64
	trunks   [][]*trunk // of each socket, a parent before its children
	depth    int        // most switches above each other
	rows     int        // most rows of a column
	lanes    []topology.Pair
	hasLinks bool
	hasPorts bool

	top, laneTop, rowTop, rowBottom, portTop, socketTop, bottom float64
}

// layout is the geometry of a topology picture.
type layout struct {
	leaf  float64 // width
	gap   float64 // between GPU and NIC
	bands []*band
	seats map[string]seat
	width float64
}

func columnsOf(l *subtree) int {
	n := len(l.columns)
	for _, b := range l.below {
		n += columnsOf(b)
	}
	return n
}

func (l *layout) column() float64 { return leftRails + 2*l.leaf + l.gap + rightRail }

func (s *socket) columns() int {
	n := 0
	for _, x := range s.subtrees {
		n += columnsOf(x)
	}
	return n
}

func newLayout(sockets []*socket, p topology.Pairing, top float64) *layout {
	l := &layout{seats: map[string]seat{}, leaf: leafLeast, gap: pairGap, width: narrowPage}
	columns := 0
	for _, s := range sockets {
		columns += s.columns()
	}
	room := pageWidth - 2 - float64(len(sockets))*(2*socketPad+socketGap) + socketGap
	each := room / float64(max(columns, 1))
	if each >= leftRails+2*leafLeast+widePairGap+rightRail {
		l.gap = widePairGap
	}
	l.leaf = min(max((each-leftRails-l.gap-rightRail)/2, leafLeast), leafMost)
	l.bands = l.split(sockets)
	column := 0
	for i, b := range l.bands {
		column = l.place(b, i, column)
	}
	l.lanes(p)
	for _, b := range l.bands {
		top = b.stack(top) + bandGap
		for j := range b.trunks {
			for _, t := range b.trunks[j] {
				l.rows(t, b)
			}
		}
	}
	return l
}

// split puts sockets into bands no wider than a page; a socket that is wider has a band of its own.
func (l *layout) split(sockets []*socket) []*band {
	var all []*band
	for _, s := range sockets {
		width := float64(s.columns())*l.column() + 2*socketPad
		last := len(all) - 1
		if last < 0 || all[last].width+socketGap+width > pageWidth-1 {
			all = append(all, &band{width: 1})
			last++
		} else {
			all[last].width += socketGap
		}
		b := all[last]
		b.sockets, b.at = append(b.sockets, s), append(b.at, b.width)
		b.width += width
		l.width = max(l.width, b.width+1)
	}
	return all
}

// place sets the x of the columns of a band.
func (l *layout) place(b *band, index, column int) int {
	for i, s := range b.sockets {
		x := b.at[i] + socketPad
		var trunks []*trunk
		var walk func(*subtree, *trunk, int) *trunk
		walk = func(m *subtree, up *trunk, depth int) *trunk {
			t := &trunk{subtree: m, depth: depth, x: x, up: up}
			trunks = append(trunks, t)
			b.depth = max(b.depth, depth)
			for _, rows := range m.columns {
				t.columnAt = append(t.columnAt, x)
				b.rows = max(b.rows, len(rows))
				for _, r := range rows {
					b.hasLinks = b.hasLinks || r.gpu != nil && r.gpu.links
					for _, f := range []*leaf{r.gpu, r.nic} {
						if f != nil {
							l.seats[f.label] = seat{column: column, band: index}
							b.hasPorts = b.hasPorts || depth == 0 && f.at != nil && f.at.Port != ""
						}
					}
				}
				x += l.column()
				column++
			}
			for _, below := range m.below {
				walk(below, t, depth+1)
			}
			t.width = x - t.x
			return t
		}
		for _, m := range s.subtrees {
			depth := 0
			if m.device != nil {
				depth = 1
				b.hasPorts = b.hasPorts || m.device.Port != ""
			}
			walk(m, nil, depth)
		}
		b.trunks = append(b.trunks, trunks)
	}
	return column
}

// lanes gives each pair that is not in one column a lane above them.
func (l *layout) lanes(p topology.Pairing) {
	n := 0
	for _, x := range p.Pairs {
		if x.NIC == nil {
			continue
		}
		g, okG := l.seats[x.GPU.Label]
		c, okC := l.seats[x.NIC.Label]
		if okG && okC && g.column != c.column && g.band == c.band && n < laneLimit {
			l.bands[g.band].lanes = append(l.bands[g.band].lanes, x)
			n++
		}
	}
}

// stack sets the y of the parts of a band and returns where it ends.
func (b *band) stack(top float64) float64 {
	b.top = top
	if b.hasLinks {
		top += barHeight + 12
	}
	b.laneTop = top
	if len(b.lanes) > 0 {
		top += float64(len(b.lanes))*laneHeight + 8
	}
	b.rowTop = top
	b.rowBottom = top + float64(b.rows)*(leafHeight+leafGap) - leafGap
	top = b.rowBottom + 16 + float64(b.depth)*(switchBox+uplink)
	b.portTop = top
	if b.hasPorts {
		top += portBox + 10
	}
	b.socketTop = top
	b.bottom = top + socketBox
	if len(b.sockets) > 1 {
		b.bottom += 26
	}
	return b.bottom
}

// switchTop is the y of a switch at a depth; the deepest is nearest to the rows.
func (b *band) switchTop(depth int) float64 {
	return b.rowBottom + 16 + float64(b.depth-depth)*(switchBox+uplink)
}

// rows places the leaves of a subtree's own columns.
func (l *layout) rows(t *trunk, b *band) {
	for i, rows := range t.columns {
		for j, r := range rows {
			y := b.rowTop + float64(j)*(leafHeight+leafGap)
			for k, f := range []*leaf{r.gpu, r.nic} {
				if f != nil {
					at := l.seats[f.label]
					at.x, at.y = t.columnAt[i]+leftRails+float64(k)*(l.leaf+l.gap), y
					l.seats[f.label] = at
				}
			}
		}
	}
}
