package cables

import "fmt"

// misled is the fault of a single cable.
func (p Harness) misled(port Place, far Far, seen Seen) Fault {
	want := p.far[port]
	f := Fault{At: port, Ports: []Place{port}, Expected: want.String()}
	for _, other := range []Place{far.Port, want.Port, p.far[far.Port].Port} {
		if other != None() {
			f.Ports = append(f.Ports, other)
		}
	}
	f.Ports = once(f.Ports)
	leads := fmt.Sprintf("P%s leads to %s, planned is %s", port.String()[1:], far, want)
	switch {
	case far.Port == None() && far.Switch == "":
		f.Why = leads + ": what it leads to is not a machine of the cluster file."
		f.Fix = fmt.Sprintf("unplug %s at %s, and join %s and %s with the cable", far, port, port, want)
		return f
	case far.Port == None() || want.Port == None():
		f.Why = leads + "."
		f.Fix = fmt.Sprintf("move the far plug of the cable at %s to %s", port, want)
		return f
	case far.Port.Node == port.Node:
		f.Why = fmt.Sprintf("One cable joins port %d and port %d of %s itself: it leads to no other machine. Planned for port %d is %s.",
			port.Number, far.Port.Number, port.Node, port.Number, want)
	case p.cablesBetween(port.Node, far.Port.Node, seen) > p.plannedBetween(port.Node, far.Port.Node):
		f.Why = fmt.Sprintf("%s, and %s and %s are joined by another cable already: a second one between the same two brings nothing, and %s is not reached.",
			leads, port.Node, far.Port.Node, p.unreached(port, far.Port))
	default:
		f.Why = leads + "."
	}
	f.Fix = p.move(port, far.Port, seen)
	return f
}

// move says which plug of a cable goes where: into a port that is still free, where there is one.
func (p Harness) move(a, b Place, seen Seen) string {
	toA, toB := p.far[a].Port, p.far[b].Port
	_, busyA := seen[toA]
	_, busyB := seen[toB]
	if toA == None() || busyA && !busyB && toB != None() {
		a, b, toA, toB, busyB = b, a, toB, toA, busyA
	}
	fix := fmt.Sprintf("leave the plug at %s, and move the other one from %s to %s", a, b, toA)
	if toB != None() && !busyB && toB.Node != a.Node {
		fix += fmt.Sprintf("; a cable then joins %s and %s", b, toB)
	}
	return fix
}

// unreached names the machine to which one of the two ports of a needless cable should lead.
func (p Harness) unreached(a, b Place) string {
	for _, port := range []Place{a, b} {
		if want := p.far[port].Port; want != None() && want.Node != a.Node && want.Node != b.Node {
			return want.Node
		}
	}
	return p.far[a].String()
}

// cablesBetween counts the seen cables between two machines.
func (p Harness) cablesBetween(a, b string, seen Seen) (n int) {
	for _, port := range p.ports {
		if port.Node == a && seen[port].Port.Node == b {
			n++
		}
	}
	return n
}

// plannedBetween counts the planned cables between two machines.
func (p Harness) plannedBetween(a, b string) (n int) {
	for _, port := range p.ports {
		if port.Node == a && p.far[port].Port.Node == b {
			n++
		}
	}
	return n
}
