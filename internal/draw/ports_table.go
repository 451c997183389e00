package draw

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"railwright.dev/railwright/internal/fabric"
)

// leastPeer is the fewest columns in which the machine at the other end of a cable is written; with less, the table leaves it
// to the list of cables.
const leastPeer = 8

// table writes a line a twin: machine, port, interface, address, cable, and where that leads. Long names of machines stand in
// a line of their own, and are cut at the far end.
func (v *portView) table(w *strings.Builder, width int) {
	const twins = 2 + 4 + 2 + 2 + 2 + 5 + 2 + 2 // columns of PORT and CABLE, and what stands between all
	machine, nic, address, peer, port := len("MACHINE"), len("INTERFACE"), len("ADDRESS"), len("TO"), len("PORT")
	for _, b := range v.boxes {
		machine = max(machine, utf8.RuneCountInString(fabric.Printable(b.Name)))
		for _, j := range b.jacks {
			for _, t := range j.Twins {
				nic = max(nic, utf8.RuneCountInString(t.NIC))
				address = max(address, utf8.RuneCountInString(v.addressOf(b.Name, t.NIC)))
			}
		}
	}
	for _, c := range v.cables {
		for _, e := range []fabric.PortEnd{c.A, c.B} {
			peer, port = max(peer, utf8.RuneCountInString(fabric.Printable(e.Node))), max(port, utf8.RuneCountInString(fabric.Printable(plugName(e))))
		}
	}
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = tw.Flush() }() // a strings.Builder does not fail
	own := twins+machine+nic+address+peer+port > width
	if !own {
		fmt.Fprintln(tw, "MACHINE\tPORT\tINTERFACE\tADDRESS\tCABLE\tTO\tPORT")
		v.tableRows(tw, -1, peer)
		return
	}
	room := width - (twins + nic + address + port)
	if room < leastPeer {
		room = 0
	}
	for i, b := range v.boxes {
		fmt.Fprintln(tw, fabric.Printable(b.Name))
		head := "  PORT\tINTERFACE\tADDRESS\tCABLE"
		if room > 0 {
			head += "\tTO\tPORT"
		}
		fmt.Fprintln(tw, head)
		v.tableRows(tw, i, room)
	}
}

// tableRows writes the rows of a machine without its name, or of all with it (-1). peer is the room of the far end's name; 0:
// it is left out.
func (v *portView) tableRows(w *tabwriter.Writer, only, peer int) {
	for i, b := range v.boxes {
		if only >= 0 && i != only {
			continue
		}
		name := fabric.Printable(b.Name) + "\t"
		for n, j := range b.jacks {
			port, cable, to := fmt.Sprint(n), "-", ""
			if peer > 0 {
				to = "\t-\t-"
			}
			if j.cable >= 0 {
				c := v.cables[j.cable]
				end := c.other(fabric.PortEnd{Node: b.Name, Port: n})
				cable = c.letter
				if peer > 0 {
					to = "\t" + fitMiddle(fabric.Printable(end.Node), peer) + "\t" + fabric.Printable(plugName(end))
				}
			}
			for _, t := range j.Twins {
				lead := name
				if only >= 0 {
					lead = "  "
				}
				fmt.Fprintf(w, "%s%s\t%s\t%s\t%s%s\n", lead, port, fabric.Printable(t.NIC), v.addressOf(b.Name, t.NIC), cable, to)
			}
		}
	}
}

// addressOf is the address of a twin.
func (v *portView) addressOf(node, nic string) string {
	if a := v.address[fabric.Endpoint{Node: node, NIC: nic}]; a != "" {
		return a
	}
	return "no address"
}

// plugName is the number of a machine's port, or the name of a switch's.
func plugName(e fabric.PortEnd) string {
	if e.Port == fabric.NoPort {
		return e.Name
	}
	return fmt.Sprint(e.Port)
}

// other is the end of a cable that is not the given one.
func (c portCable) other(e fabric.PortEnd) fabric.PortEnd {
	if c.A == e {
		return c.B
	}
	return c.A
}
