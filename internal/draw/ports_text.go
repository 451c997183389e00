package draw

import (
	"fmt"
	"io"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// PortsText draws the machines of a plan whose ports have twins from behind, with a line a cable, for a terminal of width
// columns, below it what is to be plugged where, and a table of the ports. A terminal that is too narrow gets no picture; of a
// plan without such ports nothing is written.
func PortsText(w io.Writer, p *fabric.Plan, width int, o CurveOptions) error {
	if len(p.Ports) == 0 {
		return nil
	}
	v := newPortView(p, nil, nil)
	t := newRearText(v, max(width, narrowest), o)
	var b strings.Builder
	for _, line := range wrapped(seenFromBehind, t.width) {
		b.WriteString(line + "\n")
	}
	if t.cols <= t.width && len(v.boxes) <= cableLimit {
		t.draw()
		b.WriteString("\n" + t.text())
	}
	b.WriteString("\nWhat to plug where:\n")
	for i, step := range v.steps() {
		for j, line := range wrapped(fabric.Printable(step), t.width-4) {
			head := "    "
			if j == 0 {
				head = fmt.Sprintf("%2d. ", i+1)
			}
			b.WriteString(head + line + "\n")
		}
	}
	b.WriteByte('\n')
	v.table(&b, t.width)
	text := b.String()
	if o.ASCII {
		text = strings.Map(ascii, text)
	}
	_, err := io.WriteString(w, text)
	return err
}

// steps say what to plug where, a plug at a time.
func (v *portView) steps() (steps []string) {
	for _, c := range v.cables {
		steps = append(steps, "Cable "+c.letter+": "+c.A.String()+" to "+c.B.String()+v.split(c.B)+".")
	}
	if len(v.cables) == 0 {
		return append(steps, "The plan names no cable.")
	}
	steps = append(steps, v.emptyPorts()...)
	ethernet := "The RJ-45 ports (10G) of all machines: one ordinary network, over which they are reached"
	if v.needsEthernet() {
		ethernet += " and processes find each other"
	}
	return append(steps, ethernet+".")
}

// emptyPorts name the ports that no cable goes into.
func (v *portView) emptyPorts() (steps []string) {
	empty := map[int][]string{}
	for _, b := range v.boxes {
		for n, j := range b.jacks {
			if j.cable < 0 {
				empty[n] = append(empty[n], b.Name)
			}
		}
	}
	for n := range mostJacks {
		switch names := empty[n]; len(names) {
		case 0:
		case len(v.boxes):
			steps = append(steps, fmt.Sprintf("Port %d of each machine stays empty.", n))
		default:
			steps = append(steps, fmt.Sprintf("Port %d of %s stays empty.", n, Names(names, 0)))
		}
	}
	return steps
}

// split names the cage that a switch's port shares with others: their cables are ends of one.
func (v *portView) split(e fabric.PortEnd) string {
	for _, s := range v.plan.Switches {
		for _, port := range s.Ports {
			if s.Name == e.Node && port.Name == e.Name && port.Breakout > 1 && port.Cage != "" {
				return fmt.Sprintf(" (cage %s, split in %d)", port.Cage, port.Breakout)
			}
		}
	}
	return ""
}
