package spark

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
)

// Fabric is how machines are cabled, as far as their facts show it.
type Fabric struct {
	Nodes    []Spark
	Cables   []Cable   // between ports of these machines, each once
	Groups   []Group   // networks, by their addresses
	Foreign  []Foreign // what is on a port and is none of these machines
	Topology Topology
	Faults   []Fault

	known []string // machines of whose cables anything is known
}

// Topology is the form of a cluster.
type Topology string

// Topologies. Chain and OpenRing are rings that somebody did not close.
const (
	NoTopology Topology = ""
	Pair       Topology = "pair"
	Switch     Topology = "switch"
	Mesh       Topology = "mesh" // three machines, each with a cable to both others
	Ring       Topology = "ring" // four and more
	Chain      Topology = "chain"
	OpenRing   Topology = "open ring"
)

// End is a port of a machine.
type End struct {
	Node string
	Port int
}

// String writes spark1 p0.
func (e End) String() string { return e.Node + " " + PortName(e.Port) }

// Cable joins two ports.
type Cable struct {
	A, B End
	By   string // what shows it
}

// String writes spark1 p0 to spark2 p1.
func (c Cable) String() string { return c.A.String() + " to " + c.B.String() }

// member is a twin with an address in a network.
type member struct {
	end     End
	twin    int
	nic     string
	address Address
}

// Group are the twins whose addresses are in one network.
type Group struct {
	Subnet  netip.Prefix
	members []member
}

// Foreign is a system on a port of which no facts were given.
type Foreign struct {
	At     End
	System string
	Port   string
	By     string
}

// maxNodes is how many machines are compared with each other: a ring has at most some ten, a switch of QSFP ports some
// tens of them.
const maxNodes = 64

// Of finds how machines are cabled: by what they hear on their ports, by MAC addresses, and by the networks of their
// addresses. Of machines that are no DGX Sparks nothing is said.
func Of(nodes []Spark) Fabric {
	f := Fabric{}
	for _, n := range nodes {
		if n.Is() && len(f.Nodes) < maxNodes {
			f.Nodes = append(f.Nodes, n)
		}
	}
	f.heard()
	f.group()
	f.shape()
	f.Faults = append(f.Faults, f.faults()...)
	return f
}

// node finds a machine by its name, with or without a domain; nil: it is none of them.
func (f *Fabric) node(name string) *Spark {
	short, _, _ := strings.Cut(name, ".")
	for i := range f.Nodes {
		own, _, _ := strings.Cut(f.Nodes[i].Name, ".")
		if f.Nodes[i].Name == name || own == short {
			return &f.Nodes[i]
		}
	}
	return nil
}

// add keeps a cable, once, with its ends in order.
func (f *Fabric) add(a, b End, by string) {
	if a.Node == b.Node {
		return
	}
	if cmp.Or(strings.Compare(a.Node, b.Node), cmp.Compare(a.Port, b.Port)) > 0 {
		a, b = b, a
	}
	for _, c := range f.Cables {
		if c.A == a && c.B == b {
			return
		}
	}
	f.Cables = append(f.Cables, Cable{A: a, B: b, By: by})
}

// heard makes cables of what machines hear on their ports.
func (f *Fabric) heard() {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for _, s := range n.Seen {
			at := End{n.Name, s.Port}
			switch {
			case s.MAC != "":
				if far, ok := f.byMAC(s.MAC); ok {
					f.add(at, far, s.By)
				}
			case f.node(s.System) != nil:
				if port, ok := portNumber(s.FarPort); ok {
					f.add(at, End{f.node(s.System).Name, port}, s.By)
				}
			case s.System != "":
				f.Foreign = append(f.Foreign, Foreign{At: at, System: s.System, Port: s.FarPort, By: s.By})
			}
		}
	}
}

// portNumber is the QSFP port in the name that the far end announces: of an interface, or p0.
func portNumber(name string) (int, bool) {
	port, _, ok := placeOf(names().address(name))
	return port, ok
}

func (f *Fabric) byMAC(mac string) (End, bool) {
	for i := range f.Nodes {
		for p := range f.Nodes[i].Ports {
			for t := range f.Nodes[i].Ports[p].Twins {
				if have := f.Nodes[i].Ports[p].Twins[t].MAC; have != "" && strings.EqualFold(have, mac) {
					return End{f.Nodes[i].Name, p}, true
				}
			}
		}
	}
	return End{}, false
}

// group finds networks, and makes cables of those that two machines share with a port each.
func (f *Fabric) group() {
	for i := range f.Nodes {
		for p := range f.Nodes[i].Ports {
			for k := range f.Nodes[i].Ports[p].Twins {
				t := &f.Nodes[i].Ports[p].Twins[k]
				for _, a := range t.Addresses {
					f.place(member{end: End{f.Nodes[i].Name, p}, twin: k, nic: t.Label(), address: a})
				}
			}
		}
	}
	for _, g := range f.Groups {
		ends := g.ends()
		if len(ends) == 2 && ends[0].Node != ends[1].Node {
			f.add(ends[0], ends[1], "addresses of "+g.Subnet.String())
		}
	}
}

// place puts a member into the network that it overlaps.
func (f *Fabric) place(m member) {
	subnet := m.address.Subnet()
	for i := range f.Groups {
		g := &f.Groups[i]
		if !g.Subnet.Overlaps(subnet) {
			continue
		}
		if subnet.Bits() < g.Subnet.Bits() {
			g.Subnet = subnet
		}
		g.members = append(g.members, m)
		return
	}
	f.Groups = append(f.Groups, Group{Subnet: subnet, members: []member{m}})
}

// ends are the ports of a network, each once.
func (g *Group) ends() []End {
	var out []End
	for _, m := range g.members {
		if !slices.Contains(out, m.end) {
			out = append(out, m.end)
		}
	}
	return out
}

// nodes are the machines of a network, each once.
func (g *Group) nodes() []string {
	var out []string
	for _, m := range g.members {
		if !slices.Contains(out, m.end.Node) {
			out = append(out, m.end.Node)
		}
	}
	return out
}
