package ncclgraph

import (
	"fmt"
	"strings"
)

// Pattern is the shape of the channels that NCCL searches, by its number.
type Pattern int

// The patterns (src/include/graph.h).
const (
	PatternBalancedTree  Pattern = 1 // the NIC's traffic is spread over the first two GPUs
	PatternSplitTree     Pattern = 2 // all NICs to the first GPU, back from the second
	PatternTree          Pattern = 3 // all NICs to and from the first GPU
	PatternRing          Pattern = 4
	PatternNVLS          Pattern = 5 // one head per channel, the NVSwitch reduces
	PatternCollNetDirect Pattern = 6 // one head per channel, the network reduces
)

// NCCL's limits (src/include/device.h).
const (
	maxChannels           = 64 // MAXCHANNELS
	maxSearchChannels     = maxChannels / 2
	maxNVLSArity          = 32 // NCCL_MAX_NVLS_ARITY
	maxCollNetDirectArity = 7  // NCCL_MAX_DIRECT_ARITY
)

// GraphID identifies a graph by the id of NCCL's graph file.
type GraphID int

// The graphs of a communicator.
const (
	GraphRing          GraphID = 0
	GraphTree          GraphID = 1
	GraphCollNetChain  GraphID = 2
	GraphNVLS          GraphID = 3
	GraphCollNetDirect GraphID = 4
)

// Graph is what NCCL's search found for one algorithm on one host, as NCCL_DEBUG_SUBSYS=GRAPH prints it and its
// tuning model reads it. Zero channels: there is no such graph, and the algorithm cannot be used.
type Graph struct {
	ID           GraphID
	Pattern      Pattern // as found: a balanced tree may have become a tree
	Channels     int     // search channels; NCCL runs two or more of its own channels for each
	BWIntra      float64 // GB/s per channel inside the host
	BWInter      float64 // GB/s per channel on the network
	TypeIntra    PathType
	TypeInter    PathType
	LatencyInter float64 // us that the network plugin adds
	SameChannels bool    // every channel has the order of the first
	CrossNIC     int     // 0: a channel leaves by the NIC by which it entered; 1, 2: it may use another
	Order        []Channel
	Note         string // why the search stopped early or found nothing; empty where it completed
}

// Channel is one channel of a Graph.
type Channel struct {
	GPUs []int // ranks in order; of NVLS only the head
	In   int   // dev of the NET by which data arrives; -1 on one host
	Out  int   // dev of the NET by which it leaves; -1 on one host
}

// Line is the graph's first line in a debug log of NCCL, without the log prefix.
func (g Graph) Line() string {
	same := 0
	if g.SameChannels {
		same = 1
	}
	return fmt.Sprintf("Pattern %d, crossNic %d, nChannels %d, bw %f/%f, type %s/%s, sameChannels %d",
		int(g.Pattern), g.CrossNIC, g.Channels, g.BWIntra, g.BWInter, g.TypeIntra, g.TypeInter, same)
}

// GraphLines is the graph as NCCL prints it: its line, then one per channel.
func (s *System) GraphLines(g Graph) []string {
	lines := []string{s.amdNames(g.Line())}
	for c, channel := range g.Order {
		var b strings.Builder
		fmt.Fprintf(&b, "%2d :", c)
		if channel.In >= 0 {
			fmt.Fprintf(&b, " NET/0-%x", channel.In)
		}
		for _, rank := range channel.GPUs {
			if gpu := s.gpuByRank(rank); gpu != nil {
				b.WriteString(" " + gpu.label())
			}
		}
		if channel.Out >= 0 {
			fmt.Fprintf(&b, " NET/0-%x", channel.Out)
		}
		lines = append(lines, b.String())
	}
	return lines
}

// PathType is how far apart two nodes of the graph are to NCCL; nearer is smaller. The order is NCCL's
// (src/graph/topo.cc, 2.28 to 2.30) and its comparisons rely on it.
type PathType uint8

// The path types, nearest first.
const (
	PathLOC PathType = iota // itself
	PathNVL                 // NVLink, or XGMI
	PathNVB                 // NVLink through one other GPU
	PathC2C                 // chip to chip
	PathPIX                 // at most one PCIe bridge
	PathPXB                 // several PCIe bridges, no host bridge
	PathP2C                 // C2C to the CPU, then PCIe
	PathPXN                 // another GPU's PCIe, reached over NVLink
	PathPHB                 // a host bridge
	PathSYS                 // from one NUMA node to another
	PathNET                 // the network
	PathDIS                 // none
)

// pathNames is what NCCL prints and reads, by type.
func pathNames() []string {
	return []string{"LOC", "NVL", "NVB", "C2C", "PIX", "PXB", "P2C", "PXN", "PHB", "SYS", "NET", "DIS"}
}

// String is the type as NCCL prints it.
func (t PathType) String() string {
	names := pathNames()
	if int(t) >= len(names) {
		return fmt.Sprintf("PathType(%d)", uint8(t))
	}
	return names[t]
}

// CollChannels is how many channels NCCL runs for the result of Graphs: two for each of the search, and more where that
// does not fill the links; NCCL_MAX_NCHANNELS and NCCL_MIN_NCHANNELS override (ncclTopoPostset). The log
// reports it as "24 coll channels". 0 where there is no ring.
func (s *System) CollChannels(graphs []Graph) int {
	ring, tree, chain := graphOf(graphs, GraphRing), graphOf(graphs, GraphTree), graphOf(graphs, GraphCollNetChain)
	n := ring.Channels
	if tree.Channels > 0 {
		n = min(n, tree.Channels)
	}
	if n == 0 {
		return 0
	}
	n = min(2*n, maxChannels)
	if chain.Channels > 0 && chain.BWIntra > chain.BWInter && len(s.GPUs) > 1 {
		n = min(n+n/2, maxChannels)
	}
	if s.SM >= 90 && s.Inter && ring.BWIntra > 45 && n < 16 {
		n *= 2 // few NICs: four of its own channels for each of the search
	}
	return max(min(n, s.options.mostChannels()), s.options.leastChannels())
}

// NVLSChannels is how many channels NCCL runs for NVLS (ncclNvlsInit); 0 where the host has none.
func (s *System) NVLSChannels() int {
	switch {
	case s.excluded(GraphNVLS) != "":
		return 0
	case s.SM < 100:
		return 16
	case s.options.Nodes > 1:
		return 32
	}
	return 24
}

func graphOf(graphs []Graph, id GraphID) Graph {
	for _, g := range graphs {
		if g.ID == id {
			return g
		}
	}
	return Graph{ID: id}
}

// mostChannels is NCCL_MAX_NCHANNELS, or by its old name NCCL_MAX_NRINGS.
func (o Options) mostChannels() int {
	n := o.Integer("NCCL_MAX_NRINGS", maxChannels)
	return int(max(min(o.Integer("NCCL_MAX_NCHANNELS", n), maxChannels), 1))
}

// leastChannels is NCCL_MIN_NCHANNELS, or by its old name NCCL_MIN_NRINGS.
func (o Options) leastChannels() int {
	n := o.Integer("NCCL_MIN_NRINGS", 0)
	return int(max(min(o.Integer("NCCL_MIN_NCHANNELS", n), maxChannels), 0))
}
