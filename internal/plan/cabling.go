package plan

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// grouping determines which leaf connects which NIC. Either one leaf connects every NIC, or the fabric is
// rail-optimised: every size hosts have one leaf per rail, and what is left of its ports faces the spines.
type grouping struct {
	size   int // hosts per group
	rails  int
	groups int // 1 where one leaf carries all
	ports  int // of a leaf
	leaves []string
}

// group divides the machines, in the order of the file, among leaves of so many ports.
func group(nodes []fabric.Node, ports int) (grouping, error) {
	g := grouping{size: len(nodes), rails: rails(nodes), groups: 1, ports: ports}
	leaves, perLeaf := intent.LeafCount(len(nodes), g.rails, ports)
	switch leaves {
	case 0:
		return g, fmt.Errorf("fabric.leaf.model: leaves of %d ports cannot carry %d hosts of %d NICs", ports, len(nodes), g.rails)
	case 1:
		g.leaves = []string{"leaf1"}
		return g, nil
	}
	g.size, g.groups = perLeaf, leaves/g.rails
	g.leaves = make([]string, 0, leaves)
	for i := range g.groups {
		for rail := range g.rails {
			g.leaves = append(g.leaves, fmt.Sprintf("g%03d-rail%d", i+1, rail+1))
		}
	}
	return g, nil
}

// distinct refuses a host with the name of a switch: both have files and a line of the report by their name alone. DNS takes
// no notice of case.
func (g grouping) distinct(nodes []fabric.Node) error {
	leaves := make(map[string]bool, len(g.leaves))
	for _, name := range g.leaves {
		leaves[name] = true
	}
	for _, n := range nodes {
		if leaves[strings.ToLower(n.Name)] {
			return fmt.Errorf("nodes: host %q has the name of a switch of the plan: use another", n.Name)
		}
	}
	return nil
}

// leaf is the index of the leaf that a NIC is cabled to; both arguments count from 0.
func (g grouping) leaf(host, rail int) int {
	if len(g.leaves) == 1 {
		return 0
	}
	return host/g.size*g.rails + rail
}

// port is the index of the leaf's port that a cable ends in: cable counts all cables laid before it.
func (g grouping) port(host, cable int) int {
	if len(g.leaves) == 1 {
		return cable
	}
	return host % g.size
}

// cable adds one cable from every NIC, in node and rail order. On a single leaf the ports follow in
// that order; on a rail's leaf a host has the port of its place in the group.
func (g grouping) cable(nodes []fabric.Node, leaf leafModel) []fabric.Link {
	portNames := make([]string, g.ports)
	for i := range portNames {
		portNames[i] = leaf.name.Port(i)
	}
	links := make([]fabric.Link, 0, len(nodes)*g.rails)
	for host, n := range nodes {
		for rail, nic := range n.NICs {
			port := g.port(host, len(links))
			links = append(links, fabric.Link{
				A:    fabric.Endpoint{Node: n.Name, NIC: nic},
				B:    fabric.Endpoint{Node: g.leaves[g.leaf(host, rail)], NIC: portNames[port]},
				Rail: rail + 1,
			})
		}
	}
	return links
}

// notes describes what the plan leaves out.
func (g grouping) notes(scheme fabric.Scheme) []string {
	if len(g.leaves) == 1 {
		return nil
	}
	notes := []string{fmt.Sprintf(
		"Each of the %d leaves keeps %d of its %d ports free for uplinks to the spines. The spines and the cables to them are not part of this plan.",
		len(g.leaves), g.ports-g.size, g.ports)}
	if scheme == fabric.Flat {
		notes = append(notes, "With flat addressing all leaves and spines must be one layer 2; the plan does not cover how.")
	}
	return notes
}
