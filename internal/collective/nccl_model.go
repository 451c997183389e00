package collective

import (
	"math/bits"

	"railwright.dev/railwright/internal/ncclgraph"
)

// cell is what a library's tuning model assumes of an algorithm with a protocol: time = latency + size/bandwidth.
// A bandwidth of 0 means that it does not run.
type cell struct {
	latency   float64 // us
	bandwidth float64 // GB/s of algorithm bandwidth
}

// cells is a row of the tuning table.
type cells [algorithms][protocols]cell

// shape is what the model needs besides the graphs.
type shape struct {
	tables       *ncclTables
	nodes, local int
	sm           int
	amdCPU       bool // decides the row of LL between nodes
	x86          bool
	netOverhead  float64 // us
	pat          bool
}

func (s shape) ranks() int { return s.nodes * s.local }

func log2(n int) int { return bits.Len(uint(max(n, 1))) - 1 }

// steps of a ring.
func (f function) steps(n int) int {
	switch f {
	case fnAllReduce:
		return 2 * (n - 1)
	case fnAllGather, fnReduceScatter:
		return n - 1
	default:
		return n
	}
}

// runs reports whether NCCL has the algorithm for the collective.
func (f function) runs(a Algorithm) bool {
	switch f {
	case fnBroadcast, fnReduce:
		return a == Ring
	case fnAllGather, fnReduceScatter:
		return a == Ring || a == PAT || a == NVLS || a == CollNetDirect
	default:
		return a != PAT
	}
}

// ncclCells computes the row of NCCL's tuning table for a collective, before anything is switched off
// (nccl, src/graph/tuning.cc, ncclTopoTuneModel).
func ncclCells(s shape, g *graphs, f function) (out cells) {
	for a := range algorithms {
		if !f.runs(a) {
			continue
		}
		for p := range protocols {
			if a == PAT && (p != Simple || !s.pat) {
				continue
			}
			out[a][p] = cell{latency: ncclLatency(s, g, f, a, p), bandwidth: ncclBandwidth(s, g, f, a, p)}
		}
	}
	return out
}

func (s shape) column() int { return min(s.nodes, 3) - 1 }

// ncclBandwidth returns algorithm bandwidth in GB/s.
func ncclBandwidth(s shape, gs *graphs, f function, a Algorithm, p Protocol) float64 {
	g := gs.of(a)
	n := float64(g.Channels)
	per := g.BWInter
	if s.nodes <= 2 || a == CollNetDirect || a == CollNetChain {
		per = g.BWIntra
	}
	var bus float64
	switch a {
	case Ring:
		bus = ringBus(s, p, n, n*per)
	case Tree:
		bus = treeBus(s, p, n, n*per)
		if g.Pattern == ncclgraph.PatternTree {
			bus *= 0.85 // one GPU has all the traffic of a NIC
		}
	case PAT:
		if s.pat && p == Simple {
			bus = n * per * 0.75
		}
	case NVLS, NVLSTree:
		if p == Simple {
			bus = nvlsBus(s, g, f, a)
		}
	default:
		if p == Simple {
			bus = collnetBus(s, g, f, a, n*per)
		}
	}
	switch {
	case a != Ring && (f == fnAllGather || f == fnReduceScatter):
		return bus
	case (a == NVLS || a == NVLSTree) && s.tables.plainNVLS:
		return bus * 5 / 6
	case a == Ring || a == NVLS || a == NVLSTree:
		return bus * float64(s.ranks()) / float64(f.steps(s.ranks()))
	default:
		return bus / 2
	}
}

func (s shape) llMost() float64 {
	row := generation(s.sm)
	if s.nodes > 1 {
		row = volta // the first row is Intel's
		if s.amdCPU {
			row = ampere
		}
	}
	return s.tables.ll[row][s.column()]
}

func ringBus(s shape, p Protocol, channels, bus float64) float64 {
	switch p {
	case LL:
		return min(s.llMost(), bus/2)
	case LL128:
		return min(bus*0.92, channels*s.tables.ringLL128[generation(s.sm)][s.column()])
	default:
		return bus
	}
}

func treeBus(s shape, p Protocol, channels, bus float64) float64 {
	gen, col := generation(s.sm), s.column()
	bus = min(bus*0.92, channels*s.tables.tree[gen][col])
	switch p {
	case LL:
		return min(bus/3.8, s.llMost())
	case LL128:
		share := 120.0 / 128
		if s.nodes == 1 {
			share = 7.0 / 9
		}
		return min(bus*share, channels*s.tables.treeLL128[gen][col])
	default:
		return bus
	}
}

func nvlsBus(s shape, g ncclgraph.Graph, f function, a Algorithm) float64 {
	if g.Channels < 2 {
		return 0
	}
	n := float64(g.Channels)
	if s.tables.plainNVLS {
		return n * s.plainNVLS(g, f, a)
	}
	intra := g.BWIntra * s.tables.nvls[generation(s.sm)] * (n - 1) / n
	if f == fnAllReduce {
		intra *= 2
	} else {
		intra *= float64(s.local-1) / float64(s.local)
	}
	inter := g.BWInter
	if a == NVLSTree {
		if s.nodes <= 2 {
			inter *= 2
		}
		inter = min(inter, s.tables.nvlsTree[generation(s.sm)][s.column()])
	}
	return n * min(intra, inter)
}

// plainNVLS is the bandwidth of a channel of NVLS before NCCL 2.28.
func (s shape) plainNVLS(g ncclgraph.Graph, f function, a Algorithm) float64 {
	switch {
	case a == NVLSTree && s.nodes > 2:
		return min(g.BWIntra, g.BWInter/2)
	case a == NVLS && f != fnAllReduce:
		return min(g.BWIntra*float64(s.local-1)/float64(s.local), g.BWInter*0.9)
	}
	return min(g.BWIntra, g.BWInter)
}

func collnetBus(s shape, g ncclgraph.Graph, f function, a Algorithm, bus float64) float64 {
	if a == CollNetChain {
		return bus
	}
	ppn := float64(s.local)
	if f == fnAllGather || f == fnReduceScatter {
		return ppn * min(g.BWIntra, g.BWInter*0.9)
	}
	factor := ppn / max(1, float64(g.Channels)) // GPUs per NIC
	factor -= (factor - 1) / 2
	bus /= factor
	if s.sm >= 90 {
		bus *= 0.85
	}
	return bus
}

// ncclLatency returns latency in us.
func ncclLatency(s shape, gs *graphs, f function, a Algorithm, p Protocol) float64 {
	g := gs.of(a)
	hw := hwPCI
	if g.TypeIntra == ncclgraph.PathNVL {
		hw = hwNVLink
	}
	step := &s.tables.step
	intra, inter := step[hw][a][p], step[hwNet][a][p]
	if s.local == 1 {
		inter = step[hwNet][Tree][p] // with one GPU per node nothing hides it
	}
	inter += g.LatencyInter
	if p == Simple {
		inter += g.LatencyInter // the flush
	}
	base := s.tables.base[a][p]
	between := float64(log2(s.nodes))
	peers := float64(s.local - 1)
	switch a {
	case Ring:
		if s.nodes > 1 {
			hw = hwNet
		}
		return base + ringLatency(s, f, p, g.SameChannels, ringSteps{intra: intra, inter: inter, lat: step[hw][Ring][p], tree: step[hw][Tree][p]})
	case Tree:
		return base + 2*(peers*intra+between*inter)
	case CollNetDirect:
		return base + 2*(min(1, peers)*intra+peers*0.4) + inter
	case CollNetChain:
		return base + 2*peers*intra + inter
	case NVLS:
		if s.nodes > 1 {
			return intra + inter
		}
		return intra
	case NVLSTree:
		return base + intra + 2*between*inter
	default: // PAT
		return base + between*inter/3.5 + float64(s.ranks())*2.8
	}
}

// ringSteps are the times of one step of a ring: over links and over the network, and those of a broadcast.
type ringSteps struct{ intra, inter, lat, tree float64 }

func ringLatency(s shape, f function, p Protocol, same bool, t ringSteps) float64 {
	steps := f.steps(s.ranks())
	if f == fnBroadcast || f == fnReduce {
		if same {
			return t.lat
		}
		if p == Simple {
			t.lat = t.tree
		}
		return float64(steps) * t.lat
	}
	overhead, inter := 0.0, 0
	if s.nodes > 1 {
		overhead = s.netOverhead
		if p == Simple {
			overhead *= 3
		}
		inter = s.nodes - 1
		if f == fnAllReduce {
			inter *= 2
		}
	}
	return float64(steps-inter)*max(t.intra, overhead) + float64(inter)*t.inter
}

// plateau is how much longer the steps of a ring take once every channel is in use.
func plateau(sm int) float64 {
	if sm < 80 {
		return 1.9
	}
	return 1.4
}
