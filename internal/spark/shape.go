package spark

import "slices"

// shape names the topology. What is missing makes it none: three machines of which two cables are known may be a chain, or a
// mesh of which the third was not seen; a chain is one whose last ports are known to have no cable.
func (f *Fabric) shape() {
	f.linked()
	n := len(f.known)
	switch {
	case n < 2:
	case f.switched():
		f.Topology = Switch
	case n == 2 && len(f.Cables) > 0:
		f.Topology = Pair
	case f.closed():
		f.Topology = Ring
		if n == 3 {
			f.Topology = Mesh
		}
	case f.path():
		f.Topology = OpenRing
		if n == 3 {
			f.Topology = Chain
		}
	}
}

// linked lists the machines of whose cables anything is known. The others, which a text may name only by a prompt, change
// no topology: in a ring that closes no port is left for them.
func (f *Fabric) linked() {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		addressed := n.Ports[0].Addressed() || n.Ports[1].Addressed()
		if len(f.peers(n.Name)) > 0 || len(n.Seen) > 0 || addressed {
			f.known = append(f.known, n.Name)
		}
	}
}

// switched reports whether more machines than two are in one network, or several hear the same system.
func (f *Fabric) switched() bool {
	for i := range f.Groups {
		if len(f.Groups[i].nodes()) > 2 {
			return true
		}
	}
	for _, a := range f.Foreign {
		for _, b := range f.Foreign {
			if a.At.Node != b.At.Node && a.System == b.System {
				return true
			}
		}
	}
	return false
}

// peers are the other ends of the cables of a machine, in the order of the cables.
func (f *Fabric) peers(node string) []string {
	var out []string
	for _, c := range f.Cables {
		switch node {
		case c.A.Node:
			out = append(out, c.B.Node)
		case c.B.Node:
			out = append(out, c.A.Node)
		}
	}
	return out
}

// closed reports whether all machines are in one ring, each with a cable to two others.
func (f *Fabric) closed() bool {
	if len(f.known) < 3 || len(f.Cables) != len(f.known) {
		return false
	}
	for _, name := range f.known {
		if p := f.peers(name); len(p) != 2 || p[0] == p[1] {
			return false
		}
	}
	return f.connected()
}

// path reports whether all machines are in one line whose two last ports are known to be without a peer.
func (f *Fabric) path() bool {
	if len(f.known) < 3 || len(f.Cables) != len(f.known)-1 || !f.connected() {
		return false
	}
	for _, name := range f.known {
		n := f.node(name)
		switch peers := f.peers(n.Name); len(peers) {
		case 2:
		case 1:
			free := &n.Ports[1-f.portTo(n.Name)]
			if c := free.Cabled(); c == nil && free.Used() || c != nil && *c {
				return false // its cable may lead to the other end
			}
		default:
			return false
		}
	}
	return true
}

// portTo is the port of the only cable of a machine.
func (f *Fabric) portTo(node string) int {
	for _, c := range f.Cables {
		switch node {
		case c.A.Node:
			return c.A.Port
		case c.B.Node:
			return c.B.Port
		}
	}
	return 0
}

func (f *Fabric) connected() bool {
	reached := f.known[:1:1]
	for i := 0; i < len(reached); i++ {
		for _, p := range f.peers(reached[i]) {
			if !slices.Contains(reached, p) {
				reached = append(reached, p)
			}
		}
	}
	return len(reached) == len(f.known)
}
