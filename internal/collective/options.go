package collective

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
)

// shapeOf is what the tuning model needs of the cluster, besides the tables of a version.
func (c *Cluster) shapeOf(tables *ncclTables) shape {
	s := shape{
		tables: tables,
		nodes:  c.nodes(), local: c.local(), sm: c.gpu.sm, netOverhead: 1,
		amdCPU: c.hw.CPU == "amd", x86: c.hw.CPU != "arm", pat: c.local() == 1 && c.nodes() > 1,
	}
	if s.amdCPU {
		s.netOverhead = 2 // us (nccl, src/graph/tuning.cc, getNetOverhead)
	}
	return s
}

// options returns what the library may choose, in its order: of two with equal estimates it takes the first.
func (c *Cluster) options(f function, e settings) []option {
	if c.gpu.amd {
		return c.rcclOptions(f, e)
	}
	return c.ncclOptions(f, e)
}

func (c *Cluster) ncclOptions(f function, e settings) []option {
	s := c.shapeOf(c.decides)
	row := ncclCells(s, &c.graphs, f)
	measured := ncclCells(c.shapeOf(c.tables), c.graphs.usual(), f) // the behaviour is that of the newest tables, which NVIDIA measured last
	logged := replaced(&row, f, e.tuning)
	out := make([]option, 0, int(algorithms)+2*int(protocols))
	for a := range algorithms {
		for p := range protocols {
			if row[a][p].bandwidth <= 0 || measured[a][p].bandwidth <= 0 || !logged && c.refuses(f, a, p, e) != "" {
				continue
			}
			o := option{algorithm: a, protocol: p, believed: row[a][p], measured: measured[a][p]}
			switch {
			case f == fnAllReduce && a == Tree:
				o.shares, o.held = &c.tables.treeShare[p], &c.tables.treeShare[p]
			case f == fnAllReduce && a == NVLSTree && s.sm >= 100 && s.x86:
				o.shares = s.tables.nvlsShare
			}
			if f == fnAllReduce && a == Ring && p == Simple && s.nodes > 1 {
				o.long, o.full = plateau(s.sm), int64(64*c.runChannels()*s.ranks())
			}
			c.timing(&o, f)
			out = append(out, o)
		}
	}
	return out
}

// replaced replaces the model's cells by those of a debug log; ok is false where the log has none of
// the collective.
func replaced(row *cells, f function, logged []fabric.TuningCell) (ok bool) {
	for _, l := range logged {
		if g, tuned := functionOf(l.Collective); !tuned || g != f {
			continue
		}
		a, err := parseAlgorithm(l.Algorithm)
		p, err2 := parseProtocol(l.Protocol)
		if err != nil || err2 != nil || !(l.LatencyUS >= 0) || !(l.GBs >= 0) {
			continue // of a version with more cells than this model
		}
		if !ok {
			*row, ok = cells{}, true
		}
		row[a][p] = cell{latency: l.LatencyUS, bandwidth: l.GBs}
	}
	return ok
}

// refuses returns why the library would not run an algorithm with a protocol; empty: it may.
func (c *Cluster) refuses(f function, a Algorithm, p Protocol, e settings) string {
	switch {
	case !f.runs(a):
		return fmt.Sprintf("%s has no implementation of this collective", a)
	case p != Simple && a != Tree && a != Ring:
		return fmt.Sprintf("%s has only the protocol Simple", a)
	case a == PAT && c.local() != 1:
		return "PAT requires one GPU per node"
	}
	if a == NVLS || a == NVLSTree {
		if why := c.refusesNVLS(f, a, e); why != "" {
			return why
		}
	}
	if why := c.refusesCollNet(a, e); why != "" {
		return why
	}
	switch {
	case a != Ring && c.net.neighbours():
		return fmt.Sprintf("in a %s of %d machines without a switch each reaches only its neighbours", c.hw.Wiring, c.hw.Nodes)
	case a != Ring && c.net.ringOnly:
		return c.net.kind + ": its setup requires NCCL_ALGO=Ring"
	case p != Simple && c.net.simpleOnly:
		return c.net.kind + ": its plugin supports only the protocol Simple, which does not rely on the order of writes"
	case p == LL128 && !e.asked && !c.runsLL128(c.graphs.of(a)):
		return "LL128 is off: it requires NVLink, NICs at PXB (PXN from compute capability 9.0 on) and compute capability 7.0"
	}
	return ""
}

// refusesNVLS returns why NVLS or NVLSTree would not run.
func (c *Cluster) refusesNVLS(f function, a Algorithm, e settings) string {
	switch {
	case !e.nvls:
		return "NCCL_NVLS_ENABLE=0"
	case c.gpu.nvls > 0 && c.local() < 3:
		return "NVLS requires more than two GPUs per node"
	case c.gpu.nvls == 0 || c.graphs.of(a).Channels < 2:
		return "the GPUs are not on a switch that supports reductions"
	case e.byteType:
		return "NVLS cannot reduce 8-bit types"
	case a == NVLS && f != fnAllReduce:
		return "NVLS requires registered buffers for this collective"
	case a == NVLSTree && c.nodes() == 1:
		return "NVLSTree requires more than one node"
	}
	return ""
}

// refusesCollNet returns why an algorithm that reduces in the network would not run.
func (c *Cluster) refusesCollNet(a Algorithm, e settings) string {
	reduces := a == CollNetDirect || a == CollNetChain || a == NVLS && c.nodes() > 1
	switch {
	case reduces && !e.collnet:
		return "CollNet is off: it requires NCCL_COLLNET_ENABLE=1 and a plugin that reduces in the network"
	case a == CollNetDirect && c.gpu.wiring != overSwitch:
		return "CollNetDirect requires GPUs on a switch"
	case reduces && a != NVLS && c.graphs.of(a).Channels == 0:
		return "no NIC of this machine is known to reduce in the network"
	}
	return ""
}

// runsLL128 is NCCL's condition for LL128 (nccl, src/graph/tuning.cc).
func (c *Cluster) runsLL128(g ncclgraph.Graph) bool {
	furthest := ncclgraph.PathPXB
	if c.gpu.sm >= 90 {
		furthest = ncclgraph.PathPXN
	}
	if c.mixedSM && (c.decides.sameSM || c.gpu.sm < 90) {
		return false
	}
	return c.gpu.sm >= 70 && g.TypeIntra <= ncclgraph.PathNVB && g.TypeInter <= furthest
}

// timing fills in the real behaviour of the option on this cluster.
func (c *Cluster) timing(o *option, f function) {
	switch o.algorithm {
	case Ring:
		c.ringTiming(o, f)
	case Tree:
		c.treeTiming(o)
	case NVLS:
		c.nvlsTiming(o)
	case NVLSTree:
		c.nvlsTreeTiming(o)
	case PAT:
		c.patTiming(o, f)
	default:
		c.collnetTiming(o)
	}
	c.networkLatency(o, f)
}

// networkStep is NCCL's figure for a step over the network with LL, us (ncclTables).
const networkStep = 5

// networkLatency adds the fabric's latency beyond NCCL's figures, which are those of InfiniBand: as many
// round trips as the protocol needs.
func (c *Cluster) networkLatency(o *option, f function) {
	if c.nodes() == 1 {
		return
	}
	trips := 1.0
	if o.protocol == Simple {
		trips = 2 // the data, then its flag
	}
	o.fabric += networkStep*(c.net.step-1)*trips*c.networkSteps(o.algorithm, f) + c.net.floor
	if c.gpu.sm >= 100 && c.gpu.sm < 120 {
		o.fabric += c.est.blackwell
	}
	if c.net.eager > 0 { // one trip more of each step; small sizes are one message, of a ring one for each rank
		messages := 1
		if o.algorithm == Ring {
			messages = c.Ranks()
		}
		o.late, o.from = networkStep*c.net.step*c.networkSteps(o.algorithm, f), int64(c.net.eager)*int64(messages)
	}
}

// networkSteps is how many steps over the network follow one another.
func (c *Cluster) networkSteps(a Algorithm, f function) float64 {
	n := float64(c.nodes() - 1)
	switch a {
	case Ring:
		switch f {
		case fnAllReduce:
			return 2 * n
		case fnBroadcast, fnReduce:
			return 1
		}
		return n
	case Tree, NVLSTree:
		return 2 * float64(log2(c.nodes()))
	case PAT:
		return float64(log2(c.nodes())) / 3.5
	default:
		return 1
	}
}

// codeFrom is the version from which NCCL_VERSION has five digits (nccl.h).
const codeFrom = 20000

// olderThan reports whether a version of RCCL, as a log has it, is before another one; an unknown one is.
func olderThan(version string, wantMajor, wantMinor int) bool {
	major, rest, _ := strings.Cut(strings.TrimPrefix(version, "RCCL "), ".")
	minor, _, _ := strings.Cut(rest, ".")
	big, err1 := strconv.Atoi(major)
	small, err2 := strconv.Atoi(minor)
	if err1 == nil && rest == "" && big >= codeFrom {
		return big < wantMajor*10000+wantMinor*100 // as a number: 22809 is 2.28.9
	}
	if err1 != nil || err2 != nil {
		return true
	}
	return big < wantMajor || big == wantMajor && small < wantMinor
}
