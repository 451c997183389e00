package report

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/draw"
)

// spread is the subjects of a group. They come node by node, and most nodes have the same parts: of 16,384 nodes with eight NICs
// each it is a list of nodes, and one of parts.
type spread struct {
	nodes []string
	lists []int32    // of each of them, its parts among the lists that differ
	parts [][]string // these
	alike map[string]int32
	open  []string // parts of the last node so far
}

// of lists the parts of a node.
func (s *spread) of(i int) []string { return s.parts[s.lists[i]] }

func (s *spread) add(p place) {
	last := len(s.nodes) - 1
	switch {
	case last < 0 || s.nodes[last] != p.node:
		s.close()
		s.nodes = append(s.nodes, p.node)
	case last < len(s.lists): // it was closed to be read
		s.open, s.lists = append(s.open, s.of(last)...), s.lists[:last]
	}
	s.open = append(s.open, p.part)
}

// close ends the parts of the last node.
func (s *spread) close() {
	if len(s.lists) == len(s.nodes) {
		return
	}
	last := len(s.lists) - 1
	if last >= 0 && slices.Equal(s.of(last), s.open) {
		s.lists = append(s.lists, s.lists[last])
	} else {
		s.lists = append(s.lists, s.kept())
	}
	s.open = s.open[:0]
}

// kept is the list of the parts that are open.
func (s *spread) kept() int32 {
	key := strings.Join(s.open, "\x00")
	list, ok := s.alike[key]
	if !ok {
		if s.alike == nil {
			s.alike = map[string]int32{}
		}
		list = int32(len(s.parts))
		s.parts = append(s.parts, slices.Clone(s.open))
		s.alike[key] = list
	}
	return list
}

// places lists the subjects, in the order in which they came.
func (s *spread) places() []place {
	s.close()
	var all []place
	for i, node := range s.nodes {
		for _, part := range s.of(i) {
			all = append(all, place{node, part})
		}
	}
	return all
}

// one reports whether all subjects are one.
func (s *spread) one() bool {
	s.close()
	for i, node := range s.nodes {
		if node != s.nodes[0] || slices.ContainsFunc(s.of(i), func(part string) bool { return part != s.of(0)[0] }) {
			return false
		}
	}
	return true
}

func (s *spread) equal(o *spread) bool {
	s.close()
	o.close()
	return slices.Equal(s.nodes, o.nodes) && slices.Equal(s.lists, o.lists) && slices.EqualFunc(s.parts, o.parts, slices.Equal)
}

// text writes the subjects as ranges, at most limit terms.
func (s *spread) text(limit int) string {
	s.close()
	parts := make(map[string][]string, len(s.nodes)) // of each node
	nodes := make([]string, 0, len(s.nodes))
	for i, node := range s.nodes {
		if before, ok := parts[node]; ok {
			parts[node] = slices.Concat(before, s.of(i))
			continue
		}
		nodes = append(nodes, node)
		parts[node] = s.of(i)
	}
	slices.SortFunc(nodes, draw.Natural)
	same := map[string][]string{} // nodes by their folded parts
	folded := map[string]string{} // by the parts: most nodes have the same
	var order []string
	for _, n := range nodes {
		key := strings.Join(parts[n], "\x00")
		p, ok := folded[key]
		if !ok {
			p = strings.TrimPrefix(draw.Names(parts[n], 4), ", ")
			folded[key] = p
		}
		if _, ok := same[p]; !ok {
			order = append(order, p)
		}
		same[p] = append(same[p], n)
	}
	var terms []string
	for i, p := range order {
		if i == limit {
			terms = append(terms, fmt.Sprintf("and %d more", left(same, order[i:])))
			break
		}
		term := draw.Names(same[p], limit)
		if p != "" {
			term += ":" + p
		}
		terms = append(terms, term)
	}
	return strings.Join(terms, ", ")
}

func left(same map[string][]string, order []string) int {
	n := 0
	for _, p := range order {
		n += len(same[p])
	}
	return n
}
