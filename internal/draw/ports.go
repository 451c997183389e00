package draw

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// portView is a plan of machines whose ports have twins, with what is known of it.
type portView struct {
	plan    *fabric.Plan
	marks   map[fabric.Endpoint]fabric.Status
	address map[fabric.Endpoint]string
	boxes   []rearBox
	cables  []portCable
	wrong   []portCable // as they are plugged and should not be
}

// rearBox is a machine as seen from behind, where the plugs are.
type rearBox struct {
	fabric.Node
	jacks []portJack // by number
}

// portJack is a port; without twins none of the plan's cables goes into it.
type portJack struct {
	fabric.NodePort
	cable int // index; -1: none
}

// portCable is a cable with the letter and the colour by which it is followed.
type portCable struct {
	fabric.PortCable
	letter  string
	color   int  // from 1, as of a rail
	elsehow bool // something else was seen at one of its ends
	failing bool // one of its ends is
}

// jackAt is a port of a box; number ethernetJack is the ordinary network's.
type jackAt struct{ box, number int }

const (
	ethernetJack = -1
	leastJacks   = 2 // a DGX Spark has two QSFP ports, also where one of them is cabled
	mostJacks    = 8 // more is no machine, but a file that somebody edited
)

// newPortView takes a plan apart. Of seen, those cables matter that the plan does not have.
func newPortView(p *fabric.Plan, marks map[fabric.Endpoint]fabric.Status, seen []fabric.Link) portView {
	v := portView{plan: p, marks: marks, address: map[fabric.Endpoint]string{}}
	for _, n := range p.Addressing.Nodes {
		for _, a := range n.NICs {
			v.address[fabric.Endpoint{Node: n.Node, NIC: a.NIC}] = a.Address.String()
		}
	}
	for _, n := range p.Nodes {
		b := rearBox{Node: n}
		for _, port := range p.PortsOf(n.Name) {
			if port.Number < 0 || port.Number >= mostJacks {
				continue // its cable is counted as not drawn
			}
			for len(b.jacks) <= port.Number {
				b.jacks = append(b.jacks, emptyJack(n.Name, len(b.jacks)))
			}
			b.jacks[port.Number].NodePort = port
		}
		for len(b.jacks) < leastJacks {
			b.jacks = append(b.jacks, emptyJack(n.Name, len(b.jacks)))
		}
		v.boxes = append(v.boxes, b)
	}
	for i, c := range p.PortCables(p.Cabling.Links) {
		v.cables = append(v.cables, portCable{PortCable: c, letter: cableLetter(i), color: i + 1, failing: v.fails(c)})
		for _, end := range []fabric.PortEnd{c.A, c.B} {
			if j, ok := v.jack(end); ok && j.number != ethernetJack {
				v.boxes[j.box].jacks[j.number].cable = i
			}
		}
	}
	v.compare(seen)
	return v
}

func emptyJack(node string, number int) portJack {
	return portJack{NodePort: fabric.NodePort{Node: node, Number: number}, cable: -1}
}

// cableLetter is A to Z, then numbers.
func cableLetter(i int) string {
	if i < 26 {
		return string(rune('A' + i))
	}
	return strconv.Itoa(i + 1)
}

func (v *portView) fails(c fabric.PortCable) bool {
	return slices.ContainsFunc(c.Links, func(l fabric.Link) bool { return v.marks[l.A] == fabric.Fail || v.marks[l.B] == fabric.Fail })
}

// compare finds the cables that are not in the plan, and those of the plan instead of which something else was seen. What was
// not seen is unknown, and no fault.
func (v *portView) compare(seen []fabric.Link) {
	for _, c := range v.plan.PortCables(seen) {
		c.A, c.B = v.numbered(c.A), v.numbered(c.B)
		same := func(o portCable) bool { return c.Joins(o.PortCable) }
		if c.A == c.B || !v.isPort(c.A) && !v.isPort(c.B) || slices.ContainsFunc(v.cables, same) || slices.ContainsFunc(v.wrong, same) {
			continue
		}
		v.wrong = append(v.wrong, portCable{PortCable: c})
	}
	for i := range v.cables {
		c := &v.cables[i]
		c.elsehow = slices.ContainsFunc(v.wrong, func(o portCable) bool { return c.A == o.A || c.A == o.B || c.B == o.A || c.B == o.B })
	}
}

// isPort tells a port of a machine from its ordinary network, and from what is not in the picture.
func (v *portView) isPort(e fabric.PortEnd) bool {
	j, ok := v.jack(e)
	return ok && j.number != ethernetJack
}

// numbered gives an end the number of its port where only the name of its interface is known.
func (v *portView) numbered(e fabric.PortEnd) fabric.PortEnd {
	if v.isPort(e) {
		j, _ := v.jack(e)
		return fabric.PortEnd{Node: e.Node, Port: j.number}
	}
	return e
}

// jack finds the port of an end; that of the ordinary network too. An interface that the plan does not cable is placed by the
// PCI function in its name, which is the port's number in these machines.
func (v *portView) jack(e fabric.PortEnd) (jackAt, bool) {
	box := slices.IndexFunc(v.boxes, func(b rearBox) bool { return b.Name == e.Node })
	if box < 0 {
		return jackAt{}, false
	}
	number := e.Port
	if number == fabric.NoPort {
		if e.Name == v.boxes[box].Management && e.Name != "" {
			return jackAt{box, ethernetJack}, true
		}
		number = functionOf(e.Name)
	}
	return jackAt{box, number}, number >= 0 && number < len(v.boxes[box].jacks)
}

// functionOf reads the PCI function in a name that systemd gave: en[P domain]p bus s slot f function [n port]
// (systemd.net-naming-scheme(7)). -1: it is not such a name.
func functionOf(nic string) int {
	at := strings.LastIndexByte(nic, 'f')
	if at < 0 || !strings.HasPrefix(nic, "en") || !strings.Contains(nic[:at], "s") {
		return -1
	}
	digits, _, _ := strings.Cut(nic[at+1:], "n")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return -1
	}
	return n
}

// status is the worst verdict of a port's twins; looked is whether there is one.
func (v *portView) status(j portJack) (worst fabric.Status, looked bool) {
	for _, t := range j.Twins {
		s, ok := v.marks[fabric.Endpoint{Node: j.Node, NIC: t.NIC}]
		switch {
		case !ok:
		case !looked || s == fabric.Fail || s == fabric.Unknown && worst != fabric.Fail:
			worst, looked = s, true
		}
	}
	return worst, looked
}

// rows divides the machines between the row above the cables and the one below them: few of them stand in one. In a ring the
// lower row runs back, so that the last stands below the first.
func (v *portView) rows(most int) (top, bottom []int) {
	all := make([]int, len(v.boxes))
	for i := range all {
		all[i] = i
	}
	if v.plan.Wiring() == fabric.WiredSwitch {
		if len(all) <= most {
			return nil, all
		}
		half := (len(all) + 1) / 2
		return all[:half], all[half:]
	}
	if len(all) <= most {
		return all, nil
	}
	half := (len(all) + 1) / 2
	bottom = slices.Clone(all[half:])
	slices.Reverse(bottom)
	return all[:half], bottom
}

// columns are the places of the lower row under those of the upper one: its ends under the ends.
func columns(top, bottom int) []int {
	out := make([]int, bottom)
	for i := range out {
		out[i] = i
		if bottom < top && bottom > 1 {
			out[i] = i * (top - 1) / (bottom - 1)
		} else if bottom < top {
			out[i] = top - 1
		}
	}
	return out
}

// span is a cable's way along the lanes between two rows of machines.
type span struct {
	from, to float64
	side     spanSide
}

// spanSide says in which rows a cable ends.
type spanSide uint8

const (
	bothAbove spanSide = iota
	across
	bothBelow
)

// lanes gives each cable a lane, counted from above, so that none lies upon another: a short one is nearer to its machines
// than a long one, and crosses less.
func lanes(spans []span) (lane []int, count int) {
	lane = make([]int, len(spans))
	for _, side := range []spanSide{bothAbove, across, bothBelow} {
		var order []int
		for i, s := range spans {
			if s.side == side {
				order = append(order, i)
			}
		}
		length := func(i int) float64 { return max(spans[i].from, spans[i].to) - min(spans[i].from, spans[i].to) }
		slices.SortStableFunc(order, func(a, b int) int { return int(length(a) - length(b)) })
		var used [][]int
		for _, i := range order {
			at := slices.IndexFunc(used, func(others []int) bool {
				return !slices.ContainsFunc(others, func(o int) bool { return overlap(spans[i], spans[o]) })
			})
			if at < 0 {
				at, used = len(used), append(used, nil)
			}
			used[at] = append(used[at], i)
		}
		for at, of := range used {
			for _, i := range of {
				lane[i] = count + at
				if side == bothBelow {
					lane[i] = count + len(used) - 1 - at
				}
			}
		}
		count += len(used)
	}
	return lane, count
}

func overlap(a, b span) bool {
	return max(min(a.from, a.to), min(b.from, b.to)) <= min(max(a.from, a.to), max(b.from, b.to))
}

// needsEthernet reports whether the ordinary network is part of the cabling: in a ring a cable joins two machines only, so
// that processes find each other over it.
func (v *portView) needsEthernet() bool {
	return v.plan.Wiring() == fabric.WiredRing && len(v.boxes) > 2
}
