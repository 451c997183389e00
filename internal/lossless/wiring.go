package lossless

import (
	"encoding/binary"
	"maps"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// end is an end of a live cable.
type end struct {
	at     fabric.Endpoint
	node   int32 // number of the switch; none: it is a NIC
	peer   int32 // number of the far end
	class  int32 // of the port, or of the NIC
	config *fabric.PortConfig
}

// wiring is a network by numbers.
type wiring struct {
	network  Network
	switches []string  // by number, in order
	ends     []end     // of live cables
	beyond   []int32   // by end: the switch at the far end; none: a NIC
	ports    [][]int32 // ends by switch: those to NICs first
	nics     []int     // of ports: how many go to NICs
	height   []int32   // of each switch above the nearest that has NICs; none: no NIC below
	gaps     map[gap][]fabric.Endpoint
}

// wire numbers a network. A cable in a port that its owner has shut is not there.
func wire(n Network, m *manners) *wiring {
	w := &wiring{network: n, switches: slices.Sorted(maps.Keys(n.Switches)), gaps: map[gap][]fabric.Endpoint{}}
	number := make(map[string]int32, len(w.switches))
	configs := make([]map[string]*fabric.PortConfig, len(w.switches))
	vlans := make([]map[int]*fabric.VLANConfig, len(w.switches))
	for i, name := range w.switches {
		number[name] = int32(i)
		configs[i], vlans[i] = portsByName(n.Switches[name])
	}
	find := func(e fabric.Endpoint) end {
		i, ok := number[e.Node]
		if !ok {
			return end{at: e, node: none}
		}
		return end{at: e, node: i, config: configs[i][e.NIC]}
	}
	taken := make(map[fabric.Endpoint]bool, 2*len(n.Cables))
	w.ports, w.nics = make([][]int32, len(w.switches)), make([]int, len(w.switches))
	for _, c := range n.Cables {
		a, b := find(c.A), find(c.B)
		if !w.usable(c, a, b, taken) {
			continue
		}
		at := int32(len(w.ends))
		a.peer, b.peer = at+1, at
		w.ends = append(w.ends, a, b)
		for i, e := range w.ends[at:] {
			if e.node != none {
				w.ports[e.node] = append(w.ports[e.node], at+int32(i))
			}
		}
	}
	w.beyond = make([]int32, len(w.ends))
	for i, e := range w.ends {
		w.beyond[e.peer] = w.ends[i].node
	}
	w.classify(m, vlans)
	w.order()
	return w
}

// usable reports whether packets can go through a cable between two ends, and notes why not where that is nobody's will.
func (w *wiring) usable(c Cable, a, b end, taken map[fabric.Endpoint]bool) bool {
	if c.A == c.B || a.node == none && b.node == none {
		w.gaps[gapNICToNIC] = append(w.gaps[gapNICToNIC], c.A)
		return false
	}
	for _, e := range []fabric.Endpoint{c.A, c.B} {
		if taken[e] {
			w.gaps[gapCables] = append(w.gaps[gapCables], e)
			return false
		}
	}
	taken[c.A], taken[c.B] = true, true
	return !shut(a.config) && !shut(b.config)
}

func shut(c *fabric.PortConfig) bool { return c != nil && c.Up != nil && !c.Up.Is }

func portsByName(s *fabric.SwitchConfig) (map[string]*fabric.PortConfig, map[int]*fabric.VLANConfig) {
	if s == nil {
		return nil, nil
	}
	ports, vlans := make(map[string]*fabric.PortConfig, len(s.Ports)), make(map[int]*fabric.VLANConfig, len(s.VLANs))
	for i := range s.Ports {
		ports[s.Ports[i].Name] = &s.Ports[i]
	}
	for i := range s.VLANs {
		vlans[s.VLANs[i].ID] = &s.VLANs[i]
	}
	return ports, vlans
}

func (w *wiring) classify(m *manners, vlans []map[int]*fabric.VLANConfig) {
	for i := range w.ends {
		if e := &w.ends[i]; e.node == none {
			e.class = m.nic(w.network.NICs[e.at])
		}
	}
	for v, ports := range w.ports {
		counted := map[int32]int32{0: 0}
		for _, p := range ports {
			w.ends[p].class = m.port(w.ends[p].config, vlans[v], counted)
		}
	}
}

// order puts the ports to NICs first, and finds the height of each switch.
func (w *wiring) order() {
	w.height = make([]int32, len(w.ports))
	var queue []int32
	for v, ports := range w.ports {
		slices.SortStableFunc(ports, func(a, b int32) int { return w.rank(a) - w.rank(b) })
		for w.nics[v] < len(ports) && w.rank(ports[w.nics[v]]) == 0 {
			w.nics[v]++
		}
		w.height[v] = none
		if w.nics[v] > 0 {
			w.height[v] = 0
			queue = append(queue, int32(v))
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		v := queue[0]
		for _, p := range w.uplinks(v) {
			if u := w.beyond[p]; w.height[u] == none {
				w.height[u] = w.height[v] + 1
				queue = append(queue, u)
			}
		}
	}
}

func (w *wiring) rank(e int32) int {
	if w.beyond[e] == none {
		return 0
	}
	return 1
}

func (w *wiring) far(e int32) *end          { return &w.ends[w.ends[e].peer] }
func (w *wiring) downlinks(v int32) []int32 { return w.ports[v][:w.nics[v]] }
func (w *wiring) uplinks(v int32) []int32   { return w.ports[v][w.nics[v]:] }

// classOf is the class of an end.
func (w *wiring) classOf(e int32) class {
	return class{number: w.ends[e].class, nic: w.ends[e].node == none}
}

// sources groups the switches that have NICs by the switches beside them: shortest paths from those of a group go the same way.
func (w *wiring) sources() [][]int32 {
	number := map[string]int{}
	var groups [][]int32
	for v := range w.ports {
		if w.nics[v] == 0 {
			continue
		}
		var beside []int32
		for _, p := range w.uplinks(int32(v)) {
			if u := w.beyond[p]; u != int32(v) {
				beside = append(beside, u)
			}
		}
		slices.Sort(beside)
		var key []byte
		for _, u := range slices.Compact(beside) {
			key = binary.LittleEndian.AppendUint32(key, uint32(u))
		}
		n, ok := number[string(key)]
		if !ok {
			n = len(groups)
			number[string(key)], groups = n, append(groups, nil)
		}
		groups[n] = append(groups[n], int32(v))
	}
	return groups
}

// islands counts the parts of the network that have NICs and no cable to another part.
func (w *wiring) islands() int {
	seen, count := make([]bool, len(w.ports)), 0
	for v := range w.ports {
		if seen[v] || w.height[v] == none {
			continue
		}
		count++
		seen[v] = true
		for queue := []int32{int32(v)}; len(queue) > 0; queue = queue[1:] {
			for _, p := range w.uplinks(queue[0]) {
				if u := w.beyond[p]; !seen[u] {
					seen[u] = true
					queue = append(queue, u)
				}
			}
		}
	}
	return count
}
