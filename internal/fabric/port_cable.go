package fabric

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// PortCable is a cable as a hand holds it: between two ports, whatever number of twins serves them.
type PortCable struct {
	A, B  PortEnd
	Links []Link // one for each twin
}

// PortEnd is where a cable ends: at a port of a machine by its number, or at a port that has a name only.
type PortEnd struct {
	Node string
	Port int    // from 0; NoPort: it has a name only
	Name string // of a switch's port, or of an interface that serves no cabled port of the plan; else empty
}

// NoPort is the number of a port that has a name only.
const NoPort = -1

// String names a port as people do: spark1 port 0, leaf1 port swp1.
func (e PortEnd) String() string {
	if e.Port == NoPort {
		return e.Node + " port " + e.Name
	}
	return e.Node + " port " + strconv.Itoa(e.Port)
}

func (e PortEnd) compare(o PortEnd) int {
	return cmp.Or(cmp.Compare(e.Node, o.Node), cmp.Compare(e.Port, o.Port), cmp.Compare(e.Name, o.Name))
}

// Joins reports whether two cables join the same ports, in either direction.
func (c PortCable) Joins(o PortCable) bool {
	return c.A == o.A && c.B == o.B || c.A == o.B && c.B == o.A
}

// PortCables puts the links of twins together that are one cable: the planned ones, or those that were seen, also from both
// ends. They stay in order.
func (p *Plan) PortCables(links []Link) []PortCable {
	cables := slices.Grow([]PortCable(nil), len(links))
	index := make(map[[2]PortEnd]int, len(links))
	for _, l := range links {
		c := PortCable{A: p.PortEnd(l.A), B: p.PortEnd(l.B)}
		key := [2]PortEnd{c.A, c.B}
		slices.SortFunc(key[:], PortEnd.compare)
		i, known := index[key]
		if !known {
			i = len(cables)
			index[key], cables = i, append(cables, c)
		}
		cables[i].Links = append(cables[i].Links, l)
	}
	return cables
}

// PortEnd is the port of an interface.
func (p *Plan) PortEnd(e Endpoint) PortEnd {
	if port, ok := p.PortOf(e); ok {
		return PortEnd{Node: e.Node, Port: port.Number}
	}
	return PortEnd{Node: e.Node, Port: NoPort, Name: e.NIC}
}

// Cables counts the cables of a plan, each once: one between ports with twins has several links. A split cage counts as the
// ends that leave it. Virtual machines that share a NIC share its cable.
func (p *Plan) Cables() int {
	cables := p.PortCables(p.Cabling.Links)
	if p.VSphere != nil {
		far := make(map[PortEnd]bool, len(cables))
		for _, c := range cables {
			far[c.B] = true
		}
		return len(far) + len(p.Cabling.Uplinks)
	}
	return len(cables) + len(p.Cabling.Uplinks)
}

// Plugged lists the cables that the machines of a plan see by LLDP on their own ports, from each end that sees one. It is nil
// where the plan's ports have no twins, and where none was seen.
func (p *Plan) Plugged(facts []*Facts) []Link {
	if len(p.Ports) == 0 {
		return nil
	}
	var links []Link
	for _, f := range facts {
		for _, n := range f.LLDP {
			name, _, _ := strings.Cut(n.System, ".") // some announce their domain too
			a, b := Endpoint{Node: f.Node, NIC: n.NIC}, Endpoint{Node: name, NIC: n.Port}
			if described := (Endpoint{Node: name, NIC: n.PortText}); p.named(described) || strings.Count(n.Port, ":") == 5 && n.PortText != "" {
				b = described // lldpd gives the MAC address as the port
			}
			if a.Node != b.Node { // twins hear each other on their own port
				links = append(links, Link{A: a, B: b})
			}
		}
	}
	return links
}

// named reports whether the plan cables a port of that name.
func (p *Plan) named(e Endpoint) bool {
	_, ok := p.PortOf(e)
	return ok || slices.ContainsFunc(p.Switches, func(s Switch) bool {
		return s.Name == e.Node && slices.ContainsFunc(s.Ports, func(port SwitchPort) bool { return port.Name == e.NIC })
	})
}
