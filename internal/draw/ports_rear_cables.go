package draw

import (
	"strings"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// cabling draws the cables between the rows, or below the only one: a letter at both ends, and a lane.
func (t *rearText) cabling() {
	var spans []span
	for _, c := range t.cables {
		s := span{side: across}
		a, okA := t.jack(c.A)
		b, okB := t.jack(c.B)
		if okA && okB {
			s.from, s.to = float64(t.column(a)), float64(t.column(b))
			if t.up[a.box] == t.up[b.box] {
				s.side = bothAbove
				if t.up[a.box] {
					s.side = bothBelow
				}
			}
		}
		spans = append(spans, s)
	}
	lane, count := lanes(spans)
	first := len(t.lines)
	last := first + count + 1
	if len(t.bottom) == 0 {
		last = first + count
	}
	for i, c := range t.cables { // lanes first: what crosses them runs over them
		a, okA := t.jack(c.A)
		b, okB := t.jack(c.B)
		if okA && okB {
			from, to := min(t.column(a), t.column(b)), max(t.column(a), t.column(b))
			t.put(first+1+lane[i], from, strings.Repeat("─", to-from+1), t.color(i))
		}
	}
	for i, c := range t.cables {
		a, okA := t.jack(c.A)
		b, okB := t.jack(c.B)
		if okA && okB {
			t.end(a, t.column(b), i, first, last, first+1+lane[i])
			t.end(b, t.column(a), i, first, last, first+1+lane[i])
		}
	}
}

// end draws a cable from a port to its lane, where it turns towards the column of the other end.
func (t *rearText) end(j jackAt, other, cable, first, last, lane int) {
	x, color := t.column(j), t.color(cable)
	corner := map[[2]bool]string{{false, true}: "╰", {false, false}: "╯", {true, true}: "╭", {true, false}: "╮"}[[2]bool{t.up[j.box], other > x}]
	t.put(lane, x, corner, color)
	if t.up[j.box] {
		for y := lane + 1; y < last; y++ {
			t.put(y, x, "│", color)
		}
		t.put(last, x, t.cables[cable].letter, color)
		return
	}
	t.put(first, x, t.cables[cable].letter, color)
	for y := first + 1; y < lane; y++ {
		t.put(y, x, "│", color)
	}
}

// toSwitch draws the switch with straight cables. The names of its ports are left out where they have no room beside each other.
func (t *rearText) toSwitch() {
	var names []string
	for _, s := range t.plan.Switches {
		names = append(names, fabric.Printable(s.Name))
	}
	above, below := t.switchPorts(false), t.switchPorts(true)
	if len(t.top) > 0 {
		t.letters(above)
	}
	wide := t.cols - 2
	t.border("┌", "┐", "┴", above)
	t.portNames(above)
	name := fitMiddle(strings.Join(names, ", "), wide-2)
	y := t.frame()
	t.put(y, 2+(wide-2-utf8.RuneCountInString(name))/2, name, bold)
	t.portNames(below)
	t.border("└", "┘", "┬", below)
	if len(t.bottom) > 0 {
		t.letters(below)
	}
}

// switchPort is a port of the switch opposite a machine's.
type switchPort struct {
	x, cable int
	name     string
}

func (t *rearText) switchPorts(below bool) (ports []switchPort) {
	for i, c := range t.cables {
		if j, ok := t.jack(c.A); ok && t.up[j.box] == below {
			ports = append(ports, switchPort{t.column(j), i, fabric.Printable(c.B.Name)})
		}
	}
	return ports
}

// letters names the cables between machines and switch.
func (t *rearText) letters(ports []switchPort) {
	y := len(t.lines)
	for _, p := range ports {
		t.put(y, p.x, t.cables[p.cable].letter, t.color(p.cable))
	}
}

// border draws an edge of the switch with the plugs in it.
func (t *rearText) border(left, right, plug string, ports []switchPort) {
	y := len(t.lines)
	t.put(y, 0, left+strings.Repeat("─", t.cols-2)+right, "")
	for _, p := range ports {
		t.put(y, p.x, plug, t.color(p.cable))
	}
}

// frame draws a line of the switch without what is in it.
func (t *rearText) frame() int {
	y := len(t.lines)
	t.put(y, 0, "│", "")
	t.put(y, t.cols-1, "│", "")
	return y
}

func (t *rearText) portNames(ports []switchPort) {
	start := make([]int, len(ports))
	end := 0
	for i, p := range ports {
		n := utf8.RuneCountInString(p.name)
		start[i] = min(p.x-n/2, t.cols-2-n)
		if start[i] <= end {
			return
		}
		end = start[i] + n
	}
	if len(ports) == 0 {
		return
	}
	y := t.frame()
	for i, p := range ports {
		t.put(y, start[i], p.name, "")
	}
}
