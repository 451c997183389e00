package plan

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// grouping determines which leaf connects which NIC, in the shape that the cluster file asks for.
type grouping struct {
	intent.Shape
	leaves []string
	spines []string
	share  int // nodes, one after another, that have the NICs and cables of one machine: more than 1 with virtual functions
}

// group divides the machines, in the order of the file, among the leaves.
func group(c *intent.Cluster, cat *catalog.Catalog, nodes []fabric.Node) (grouping, error) {
	cabled := c.Cabled(len(nodes))
	shape, err := intent.ShapeOf(c, cat, cabled, rails(nodes))
	g := grouping{Shape: shape, share: max(1, len(nodes)/max(1, cabled))}
	if err != nil {
		return g, err
	}
	g.leaves = make([]string, 0, g.Leaves)
	for i := range g.Groups {
		if !g.ByRail {
			g.leaves = append(g.leaves, fmt.Sprintf("leaf%d", i+1))
			continue
		}
		for rail := range g.NICs {
			g.leaves = append(g.leaves, fmt.Sprintf("g%03d-rail%d", i+1, rail+1))
		}
	}
	for i := range g.Spines {
		g.spines = append(g.spines, fmt.Sprintf("spine%d", i+1))
	}
	return g, nil
}

// distinct refuses a host with the name of a switch: both have files and a line of the report by their name alone. DNS takes
// no notice of case.
func (g grouping) distinct(nodes []fabric.Node) error {
	switches := make(map[string]bool, len(g.leaves)+len(g.spines))
	for _, name := range slices.Concat(g.leaves, g.spines) {
		switches[name] = true
	}
	for _, n := range nodes {
		if switches[strings.ToLower(n.Name)] {
			return fmt.Errorf("nodes: host %q has the name of a switch of the plan: use another", n.Name)
		}
	}
	return nil
}

// leaf is the index of the leaf that a NIC is cabled to; both arguments count from 0.
func (g grouping) leaf(host, rail int) int {
	group, _ := g.Place(host, g.Hosts)
	if g.ByRail {
		return group*g.NICs + rail
	}
	return group
}

// rail is the rail of a leaf, from 1; 0 where it has all of them.
func (g grouping) rail(leaf int) int {
	if g.ByRail {
		return leaf%g.NICs + 1
	}
	return 0
}

// cable is where a NIC is cabled to, by index: its leaf, and the port of that.
type cable struct{ leaf, port int }

// cables lays one cable from every NIC, in node and rail order. On a leaf for all rails the ports follow in that order;
// on a rail's leaf a host has the port of its place in the group. Nodes that share NICs have the same cables.
func (g grouping) cables(nodes []fabric.Node) []cable {
	all := make([]cable, 0, len(nodes)*g.NICs)
	used := make([]int, len(g.leaves))
	for i, n := range nodes {
		host, first := i/g.share, i/g.share*g.share
		if i > first {
			all = append(all, all[len(all)-(i-first)*len(n.NICs):][:len(n.NICs)]...)
			continue
		}
		_, place := g.Place(host, g.Hosts)
		for rail := range n.NICs {
			c := cable{leaf: g.leaf(host, rail), port: place}
			if !g.ByRail {
				c.port = used[c.leaf]
				used[c.leaf]++
			}
			all = append(all, c)
		}
	}
	return all
}

// links names both ends of the cables.
func (g grouping) links(nodes []fabric.Node, cables []cable, ports []fabric.SwitchPort) []fabric.Link {
	links := make([]fabric.Link, 0, len(cables))
	for _, n := range nodes {
		for rail, nic := range n.NICs {
			c := cables[len(links)]
			links = append(links, fabric.Link{
				A:    fabric.Endpoint{Node: n.Name, NIC: nic},
				B:    fabric.Endpoint{Node: g.leaves[c.leaf], NIC: ports[c.port].Name},
				Rail: rail + 1,
			})
		}
	}
	return links
}

// notes describes what the plan leaves out.
func (g grouping) notes(f intent.Fabric, scheme fabric.Scheme) []string {
	switch {
	case len(g.leaves) == 1 && f.Spine != nil:
		return []string{"One leaf connects every host: the spines of the cluster file are not needed and not planned."}
	case len(g.leaves) == 1 || g.Spines > 0:
		return nil
	}
	down := g.PerGroup
	if !g.ByRail {
		down *= g.NICs
	}
	notes := []string{fmt.Sprintf(
		"Each of the %d leaves keeps %d of its %d ports free for uplinks to the spines. The spines and the cables to them are not part of this plan.",
		len(g.leaves), g.Leaf.Ports-down, g.Leaf.Ports)}
	if scheme == fabric.Flat {
		notes = append(notes, "With flat addressing all leaves and spines must be one layer 2; the plan does not cover how.")
	}
	return notes
}
