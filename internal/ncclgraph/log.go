package ncclgraph

import (
	"fmt"
	"strings"
)

// pathLine is NCCL's buffer for a line of paths; what is longer is cut (src/graph/paths.cc).
const pathLine = 1023

// Log is what NCCL prints of a System with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=GRAPH, without the log prefix of
// each line: the system, its paths, each graph that was found; then how many channels NCCL runs.
func (s *System) Log() []string {
	lines := append(s.Lines(), s.PathLines()...)
	graphs := s.Graphs()
	for _, g := range graphs {
		if g.Channels > 0 {
			lines = append(lines, s.GraphLines(g)...)
		}
	}
	return append(lines, fmt.Sprintf("%d coll channels, %d nvls channels", s.CollChannels(graphs), s.NVLSChannels()))
}

// Lines is the graph as NCCL prints it with NCCL_DEBUG_SUBSYS=GRAPH, without the log prefix of each line: the
// header, the tree of each NUMA node, and a rule.
func (s *System) Lines() []string {
	lines := []string{fmt.Sprintf("=== System : maxBw %2.1f totalBw %2.1f ===", s.MaxBW, s.TotalBW)}
	for _, cpu := range s.nodes[nodeCPU] {
		lines = s.tree(lines, cpu, nil, "")
	}
	return append(lines, "==========================================")
}

func (s *System) tree(lines []string, n, from *node, prefix string) []string {
	lines = append(lines, prefix+n.label()+treeDetail(n))
	indent := strings.Repeat(" ", len(prefix))
	for _, l := range n.links {
		if l.typ == linkPCI && l.to == from {
			continue
		}
		head := s.amdNames(fmt.Sprintf("%s+ %s[%2.1f] - ", indent, l.typ, l.bw))
		switch {
		case l.typ == linkPCI:
			lines = s.tree(lines, l.to, n, head)
		case l.to.typ == nodeNET && l.typ != linkLOC:
			lines = append(lines, fmt.Sprintf("%s%s (%d/%x/%d/%f)", head, l.to.label(), l.to.coll, l.to.asic, l.to.port, l.to.bw))
		default:
			lines = append(lines, head+l.to.label())
		}
	}
	return lines
}

func treeDetail(n *node) string {
	switch n.typ {
	case nodeGPU:
		return fmt.Sprintf(" (%d)", n.rank)
	case nodeCPU:
		return fmt.Sprintf(" (%d/%d/%d)", n.cpu.Arch, n.cpu.Vendor, n.cpu.Model)
	case nodePCI:
		return fmt.Sprintf(" (%x)", n.device)
	}
	return ""
}

// PathLines is the paths as NCCL prints them below its graph: one line per GPU, then one per NET, each with the hops,
// GB/s and type to every node to which a path was computed.
func (s *System) PathLines() []string {
	var lines []string
	for _, t := range []nodeType{nodeGPU, nodeNET} {
		for _, n := range s.nodes[t] {
			lines = append(lines, s.pathLine(n))
		}
	}
	return lines
}

func (s *System) pathLine(n *node) string {
	var b strings.Builder
	b.WriteString(n.label() + " :")
	for t, routes := range n.routes {
		for i, r := range routes {
			if b.Len() > pathLine {
				return b.String()[:pathLine]
			}
			fmt.Fprintf(&b, "%s (%d/%.1f/%s) ", s.nodes[t][i].label(), r.count, r.bw, s.amdNames(r.typ.String()))
		}
	}
	line := b.String()
	return line[:min(len(line), pathLine)]
}
