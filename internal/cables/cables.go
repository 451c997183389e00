// Package cables compares the cables that were seen at the ports of machines with the planned ones, and says which plugs to
// move. It is pure.
package cables

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Place is a port of a machine, as on its back.
type Place struct {
	Node   string
	Number int
}

// String names a port as a person does.
func (p Place) String() string { return fmt.Sprintf("port %d of %s", p.Number, p.Node) }

// Subject is a port as a subject of findings.
func (p Place) Subject() fabric.Subject {
	return fabric.Subject{Kind: "port", Node: p.Node, Port: fmt.Sprintf("port %d", p.Number)}
}

// None is no port.
func None() Place { return Place{} }

// Far is where the cable of a port was seen to lead: to a port of a machine of the plan, to a switch of it, or to something that
// the plan has not.
type Far struct {
	Port   Place  // of a machine of the plan; None: the two others say it
	Switch string // name of a switch of the plan
	Other  string // how what is no machine of the plan names itself: system:port
}

func (f Far) String() string {
	switch {
	case f.Port != None():
		return f.Port.String()
	case f.Switch != "":
		return "switch " + f.Switch
	}
	return f.Other
}

// Same reports whether two ends are of one cable: of what is not in the plan, any two ports of one system are, since a port may
// have two interfaces there too.
func (f Far) Same(other Far) bool {
	a, _, _ := strings.Cut(f.Other, ":")
	b, _, _ := strings.Cut(other.Other, ":")
	return f.Port == other.Port && f.Switch == other.Switch && a == b
}

// Harness is which port is to lead where.
type Harness struct {
	ports []Place
	far   map[Place]Far
	nics  map[fabric.Endpoint]Place
	of    map[Place][]fabric.Endpoint
}

// New takes the cables out of a plan; without ports it is empty.
func New(p *fabric.Plan) Harness {
	c := Harness{far: make(map[Place]Far), nics: make(map[fabric.Endpoint]Place), of: make(map[Place][]fabric.Endpoint)}
	for _, n := range p.Ports {
		port := Place{n.Node, n.Number}
		c.ports = append(c.ports, port)
		for _, t := range n.Twins {
			at := fabric.Endpoint{Node: n.Node, NIC: t.NIC}
			c.nics[at] = port
			c.of[port] = append(c.of[port], at)
		}
	}
	for _, l := range p.Cabling.Links {
		a, ok := c.nics[l.A]
		if !ok {
			continue
		}
		if b, direct := c.nics[l.B]; direct {
			c.far[a], c.far[b] = Far{Port: b}, Far{Port: a}
			continue
		}
		c.far[a] = Far{Switch: l.B.Node}
	}
	return c
}

// Ports lists all ports, in the order of the plan.
func (p Harness) Ports() []Place { return p.ports }

// Planned is where a port is to lead.
func (p Harness) Planned(port Place) Far { return p.far[port] }

// NICs are the interfaces of a port.
func (p Harness) NICs(port Place) []fabric.Endpoint { return p.of[port] }

// At finds the port of an interface.
func (p Harness) At(nic fabric.Endpoint) (Place, bool) {
	port, ok := p.nics[nic]
	return port, ok
}

// FarEnd says what a neighbour is that names itself by system, and its port by id and by description: lldpd gives the MAC address
// as the id unless told otherwise.
func (p Harness) FarEnd(system, port, text string) Far {
	for _, name := range []string{port, text} {
		if at, ok := p.nics[fabric.Endpoint{Node: system, NIC: name}]; ok {
			return Far{Port: at}
		}
	}
	for _, f := range p.far {
		if f.Switch != "" && f.Switch == system {
			return Far{Switch: system}
		}
	}
	return Far{Other: system + ":" + port}
}

// Seen is where ports were seen to lead. What one end saw of another machine of the plan, holds for that end too.
type Seen map[Place]Far

// Both adds for each seen cable between machines of the plan its other end, where that saw nothing itself.
func (s Seen) Both() Seen {
	all := make(Seen, 2*len(s))
	for port, far := range s {
		all[port] = far
	}
	for port, far := range s {
		if _, heard := all[far.Port]; far.Port != None() && !heard {
			all[far.Port] = Far{Port: port}
		}
	}
	return all
}

// Fault is one thing that is cabled otherwise than planned.
type Fault struct {
	At       Place   // at which to begin
	Ports    []Place // all that it concerns
	Why      string
	Expected string
	Fix      string
}

// Faults finds what is cabled otherwise than planned: machines whose plugs are exchanged, then single cables.
func (p Harness) Faults(seen Seen) []Fault {
	seen = seen.Both()
	var faults []Fault
	done := make(map[Place]bool)
	for _, node := range p.exchanged(seen) {
		f := p.exchange(node, seen)
		faults = append(faults, f)
		for _, port := range f.Ports {
			done[port] = true
		}
	}
	for _, port := range p.ports {
		far, ok := seen[port]
		if !ok || done[port] || far == p.far[port] {
			continue
		}
		done[port] = true
		if far.Port != None() {
			done[far.Port] = true
		}
		faults = append(faults, p.misled(port, far, seen))
	}
	return faults
}

// twoPorts are the ports of a machine that has two.
func (p Harness) twoPorts(node string) (a, b Place, ok bool) {
	var of []Place
	for _, port := range p.ports {
		if port.Node == node {
			of = append(of, port)
		}
	}
	if len(of) != 2 {
		return a, b, false
	}
	return of[0], of[1], true
}

// exchanged finds the machines that, with their two plugs exchanged, have all their seen cables as planned: the most cables put
// right by the fewest machines. Machines are few (8 at most in a plan of this kind), so all sets are tried.
func (p Harness) exchanged(seen Seen) (best []string) {
	var nodes []string
	for _, port := range p.ports {
		if a, b, two := p.twoPorts(port.Node); two && port == a && (p.wrong(a, seen) || p.wrong(b, seen)) {
			nodes = append(nodes, port.Node)
		}
	}
	const most = 10 // more would take long, and nobody plugs so many wrongly
	if len(nodes) > most {
		return nil
	}
	gain := 0
	for set := 1; set < 1<<len(nodes); set++ {
		var in []string
		for i, n := range nodes {
			if set&(1<<i) != 0 {
				in = append(in, n)
			}
		}
		if g := p.gain(in, seen); g > gain || g == gain && g > 0 && len(in) < len(best) {
			best, gain = in, g
		}
	}
	return best
}

// wrong reports whether a port was seen to lead to another port of the plan than planned.
func (p Harness) wrong(port Place, seen Seen) bool {
	far, ok := seen[port]
	return ok && far.Port != None() && far != p.far[port]
}

// gain is how many more ports lead where they should when the plugs of some machines are exchanged; 0 unless all seen cables of
// these machines then do.
func (p Harness) gain(nodes []string, seen Seen) int {
	gain := 0
	for port, far := range seen {
		if far.Port == None() {
			continue
		}
		after := p.far[p.moved(port, nodes)] == Far{Port: p.moved(far.Port, nodes)}
		before := p.far[port] == far
		switch {
		case !after && (slices.Contains(nodes, port.Node) || before):
			return 0
		case after && !before:
			gain++
		}
	}
	return gain
}

// moved is the port in which the plug of a port belongs when the plugs of some machines are exchanged.
func (p Harness) moved(port Place, nodes []string) Place {
	if !slices.Contains(nodes, port.Node) {
		return port
	}
	a, b, _ := p.twoPorts(port.Node)
	if port == a {
		return b
	}
	return a
}

// exchange is the fault of a machine whose plugs are in each other's ports.
func (p Harness) exchange(node string, seen Seen) Fault {
	a, b, _ := p.twoPorts(node)
	f := Fault{
		At: a, Ports: []Place{a, b}, Fix: "swap the two plugs on " + node,
		Expected: fmt.Sprintf("port %d to %s, port %d to %s", a.Number, p.far[a], b.Number, p.far[b]),
		Why:      "The two plugs of " + node + " are in each other's ports:",
	}
	for i, port := range []Place{a, b} {
		far, ok := seen[port]
		if !ok {
			continue
		}
		if i > 0 && f.Why[len(f.Why)-1] != ':' {
			f.Why += ";"
		}
		f.Why += fmt.Sprintf(" port %d leads to %s, planned is %s", port.Number, far, p.far[port])
		if far.Port != None() {
			f.Ports = append(f.Ports, far.Port)
		}
		f.Ports = append(f.Ports, p.far[port].Port)
	}
	f.Why += "."
	f.Ports = slices.DeleteFunc(once(f.Ports), func(port Place) bool { return port == None() })
	return f
}

func once(ports []Place) (out []Place) {
	for _, p := range ports {
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

// Join says how to plug in the planned cable of a port, in the same words for both of its ends.
func (p Harness) Join(port Place) string {
	far := p.far[port]
	a, b := port, far.Port
	switch {
	case b == None():
		return fmt.Sprintf("plug a cable into %s and into %s, until both plugs click", port, far)
	case slices.Index(p.ports, b) < slices.Index(p.ports, a):
		a, b = b, a
	}
	return fmt.Sprintf("plug a cable into %s and into %s, until both plugs click", a, b)
}
