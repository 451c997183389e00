package intent

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// MaxSparks is the most machines of platform spark in one cluster ("DGX Spark Networking": up to eight on a switch).
const MaxSparks = 8

// Wired is how machines are cabled whose ports have twins.
type Wired struct {
	Wiring fabric.Wiring
	Nodes  []WiredNode // in the order of the file
	Cables []Cable
}

// WiredNode is such a machine with its cabled ports, by their number.
type WiredNode struct {
	Name  string
	Ports []fabric.NodePort
}

// Cable joins two ports, or a port and a switch. Nodes and ports are indices into Wired.
type Cable struct {
	Node, Port int
	PeerNode   int // -1: a switch
	PeerPort   int // of the switch, where it is one: counted from 0
}

// Subnets is how many IP subnets the twins need: one for each twin of a cable between machines; on a switch, all machines
// share one for each twin of a port.
func (w Wired) Subnets() int {
	n := 0
	for _, c := range w.Cables {
		n = max(n, w.Subnet(c, len(w.Nodes[c.Node].Ports[c.Port].Twins)-1)+1)
	}
	return n
}

// Subnet is the number of the subnet of a twin of a cable, from 0.
func (w Wired) Subnet(c Cable, twin int) int {
	twins := len(w.Nodes[c.Node].Ports[c.Port].Twins)
	if c.PeerNode < 0 {
		return c.Port*twins + twin
	}
	return slices.Index(w.Cables, c)*twins + twin
}

// WiringOf cables the machines of platform spark: where there is a leaf, each cabled port to it; two machines to each other;
// more in a ring, port 0 of each to port 1 of the next in the order of the file. One alone is not cabled. An error is a *FieldError.
func WiringOf(c *Cluster, cat *catalog.Catalog) (Wired, error) {
	nodes, err := wiredNodes(c.Nodes, cat)
	if err != nil {
		return Wired{}, err
	}
	w := Wired{Nodes: nodes}
	switch {
	case len(nodes) > MaxSparks:
		return w, wrong("nodes", "%d machines: a cluster of platform spark has 2 to %d", len(nodes), MaxSparks)
	case c.Fabric.Leaf != nil:
		return w.toSwitch(c.Fabric, cat)
	case len(nodes) == 1:
		return w.alone(), nil
	case len(nodes) == 2 && len(nodes[0].Ports) == 1 && len(nodes[1].Ports) == 1:
		w.Wiring, w.Cables = fabric.WiredPair, []Cable{{Node: 0, PeerNode: 1}}
		return w, nil
	}
	if err := reachesAll(c.Nodes, cat); err != nil {
		return w, err
	}
	return w.ring()
}

// reachesAll refuses a QSFP port as the ordinary network of a ring: it leads to one neighbour, and processes must find all.
func reachesAll(groups []NodeGroup, cat *catalog.Catalog) error {
	for i, g := range groups {
		if slices.ContainsFunc(cat.Machines[g.Machine].NICFunctions, func(f catalog.Function) bool { return f.NIC == g.Management }) {
			return wrong(fmt.Sprintf("nodes.%d.management", i), "%s is of a QSFP port, which reaches one neighbour of a ring: use the RJ-45 port, %s",
				fabric.Quote(g.Management), cat.Machines[g.Machine].Management)
		}
	}
	return nil
}

// wiredNodes lists the machines with the ports of their interfaces.
func wiredNodes(groups []NodeGroup, cat *catalog.Catalog) ([]WiredNode, error) {
	var nodes []WiredNode
	for i, g := range groups {
		field := fmt.Sprintf("nodes.%d", i)
		functions := cat.Machines[g.Machine].NICFunctions
		if len(functions) == 0 {
			return nil, wrong(field+".machine", "platform spark needs a machine whose twins the catalog knows: %s", strings.Join(twinned(cat), ", "))
		}
		names, err := fabric.ExpandNames(g.Names)
		if err != nil {
			return nil, wrong(field+".names", "%v", err)
		}
		nics, err := fabric.ExpandNames(g.NICs)
		if err != nil {
			return nil, wrong(field+".nics", "%v", err)
		}
		ports, err := portsOf(functions, nics)
		if err != nil {
			return nil, wrong(field+".nics", "%v", err)
		}
		for _, name := range names {
			n := WiredNode{Name: name}
			for _, p := range ports {
				p.Node = name
				n.Ports = append(n.Ports, p)
			}
			nodes = append(nodes, n)
		}
	}
	return nodes, nil
}

// twinned lists the machines whose ports have twins.
func twinned(cat *catalog.Catalog) (ids []string) {
	for id, m := range cat.Machines {
		if len(m.NICFunctions) > 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// portsOf groups functions by port, and leaves out the ports of which no interface is named. A twin that is not named beside
// its named one is bare.
func portsOf(functions []catalog.Function, nics []string) ([]fabric.NodePort, error) {
	for _, nic := range nics {
		if !slices.ContainsFunc(functions, func(f catalog.Function) bool { return f.NIC == nic }) {
			var known []string
			for _, f := range functions {
				known = append(known, f.NIC)
			}
			return nil, fmt.Errorf("%s is not an interface of a QSFP port of this machine; known: %s", fabric.Quote(nic), strings.Join(known, ", "))
		}
	}
	var ports []fabric.NodePort
	for _, f := range functions {
		if len(ports) == 0 || ports[len(ports)-1].Number != f.Port {
			ports = append(ports, fabric.NodePort{Number: f.Port})
		}
		last := &ports[len(ports)-1]
		last.Twins = append(last.Twins, fabric.Twin{PCI: f.PCI, NIC: f.NIC, HCA: f.HCA, Bare: !slices.Contains(nics, f.NIC)})
	}
	return slices.DeleteFunc(ports, func(p fabric.NodePort) bool {
		return !slices.ContainsFunc(p.Twins, func(t fabric.Twin) bool { return !t.Bare })
	}), nil
}

// alone leaves the twins of a lone machine without addresses: nothing is at the far end of its ports.
func (w Wired) alone() Wired {
	for _, p := range w.Nodes[0].Ports {
		for i := range p.Twins {
			p.Twins[i].Bare = true
		}
	}
	return w
}

// toSwitch gives each cabled port a port of the switch, in order.
func (w Wired) toSwitch(f Fabric, cat *catalog.Catalog) (Wired, error) {
	w.Wiring = fabric.WiredSwitch
	used := 0
	for n := range w.Nodes {
		for p := range w.Nodes[n].Ports {
			w.Cables = append(w.Cables, Cable{Node: n, Port: p, PeerNode: -1, PeerPort: used})
			used++
		}
	}
	model, err := cat.Switch(f.Leaf.Model)
	if err != nil {
		return w, wrong("fabric.leaf.model", "%v", err)
	}
	ports, err := leafPorts(f.Leaf.Model, *f.Leaf, model)
	switch {
	case err != nil:
		return w, wrong("fabric.leaf.breakout", "%v", err)
	case f.Leaf.Count > 1 || f.Spine != nil:
		return w, wrong("fabric.leaf", "platform spark is planned on one switch: leave out count and spine")
	case used > ports.Ports:
		return w, wrong("fabric.leaf.model", "%d cables, and switch %s has %d ports for them: use a larger one", used, f.Leaf.Model, ports.Ports)
	}
	return w, nil
}

// ring joins port 0 of each machine to port 1 of the next. Two machines with both ports cabled are a ring of two.
func (w Wired) ring() (Wired, error) {
	w.Wiring = fabric.WiredRing
	if len(w.Nodes) == 2 {
		w.Wiring = fabric.WiredPair
	}
	for n, node := range w.Nodes {
		if len(node.Ports) != 2 {
			return w, wrong("nodes", "%s has %s cabled: without a switch (fabric.leaf) %d machines are a ring, in which each needs both",
				node.Name, fabric.Count(len(node.Ports), "port"), len(w.Nodes))
		}
		for _, p := range node.Ports {
			for _, t := range p.Twins {
				if t.Bare {
					return w, wrong("nodes", "%s: %s has no address: in a ring each twin needs one, as each of its cables leads to another machine", node.Name, t.NIC)
				}
			}
		}
		w.Cables = append(w.Cables, Cable{Node: n, Port: 0, PeerNode: (n + 1) % len(w.Nodes), PeerPort: 1})
	}
	return w, nil
}
