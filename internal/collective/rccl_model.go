package collective

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// rcclOptions does for RCCL what ncclOptions does for NCCL (rccl, src/graph/tuning.cc): the same formulae with
// tables that AMD measured for each kind of machine, which describe time as well as choice.
func (c *Cluster) rcclOptions(f function, e settings) []option {
	s, t := c.shapeOf(c.tables), c.rccl
	ranged := c.nodes() > 1 && (strings.HasPrefix(c.gpu.gfx, "gfx95") || strings.HasPrefix(c.gpu.gfx, "gfx94") && !olderThan(e.version, rangedMajor, rangedMinor))
	var out []option
	for _, a := range []Algorithm{Tree, Ring} {
		for p := range protocols {
			if p == LL128 && !ranged || !f.runs(a) || a == Tree && p == Simple && c.nodes() == 1 {
				continue
			}
			o := option{algorithm: a, protocol: p, rough: true}
			o.believed = c.rcclCell(s, t, f, a, p)
			if a == Tree {
				o.shares = &t.tree[p]
			} else if c.nodes() > 1 {
				o.shares = &t.ring[p]
			}
			c.rcclTiming(&o, f, t)
			if ranged && !e.asked {
				o.least, o.most = c.rcclRange(f, p)
				if p != Simple { // RCCL selects the protocol by size, whatever its table contains
					o.believed, o.shares = cell{o.alpha, o.bulk}, nil
				}
			}
			out = append(out, o)
		}
	}
	return out
}

// rangedMajor and rangedMinor are the version from which RCCL chooses the protocol on MI300X by size (rccl, src/misc/rccl_wrap.cc).
const rangedMajor, rangedMinor = 2, 27

// unversioned reports whether what RCCL chooses depends on its version, which the job leaves open.
func (c *Cluster) unversioned(job Job) bool {
	_, tuned := functionOf(job.Collective)
	return tuned && job.Version == "" && c.nodes() > 1 && strings.HasPrefix(c.gpu.gfx, "gfx94") && job.Env["NCCL_PROTO"] == ""
}

// newerVersion lets bands reach as far as those of a version of RCCL that chooses the protocol by size.
func (c *Cluster) newerVersion(rows []fabric.PredictionRow, job Job, bound ceiling) error {
	if !c.unversioned(job) {
		return nil
	}
	job.Version = fmt.Sprintf("%d.%d", rangedMajor, rangedMinor)
	newer, err := c.enabled(job)
	if err != nil {
		return err
	}
	for i := range rows {
		other := c.row(job, pick(newer, rows[i].Size), bound, rows[i].Size)
		rows[i].Band = [2]float64{min(rows[i].Band[0], other.Band[0]), max(rows[i].Band[1], other.Band[1])}
	}
	return nil
}

func (c *Cluster) rcclCell(s shape, t *rcclTable, f function, a Algorithm, p Protocol) cell {
	bus := c.gpu.model
	share := t.twoNodes[a][p]
	if c.nodes() > 1 {
		bus = float64(c.net.nics) * c.net.line / c.net.over
	}
	if c.nodes() > 2 {
		share = t.moreNodes[a][p]
	}
	bus *= share
	if a == Ring {
		bus *= float64(s.ranks()) / float64(f.steps(s.ranks()))
	} else {
		bus /= 2
	}
	hw := hwNVLink
	base := t.base[a][p]
	intra, inter := t.step[hw][a][p], t.step[hwNet][a][p]
	if s.local == 1 {
		inter = t.step[hwNet][Tree][p]
	}
	lat := base
	if a == Ring {
		lat += ringLatency(s, f, p, true, ringSteps{intra: intra, inter: inter, lat: intra, tree: intra})
	} else {
		lat += 2 * (float64(s.local-1)*intra + float64(log2(s.nodes))*inter)
	}
	return cell{lat, bus}
}

// rcclTiming uses AMD's table for the machines it was measured on. Its figures for LL are older than current
// measurements: there NCCL's step over the network scales with the fabric. Large rings use the rates of links and NICs.
func (c *Cluster) rcclTiming(o *option, f function, t *rcclTable) {
	factor := f.factor(c.Ranks())
	s := c.shapeOf(c.tables)
	s.netOverhead = 0 // RCCL assumes posts to the NIC in every step: they run in parallel with the steps of 2 and 4 nodes
	o.bound = ceiling{}.tighter(c.ringLinks(c.gpu.limit)/factor, c.linkNames)
	bus := c.ringLinks(c.gpu.ring)
	if c.nodes() > 1 {
		o.bound = o.bound.tighter(c.net.limit()/factor, c.nicNames)
		bus = min(bus, c.net.wire())
		o.wire = factor / float64(c.net.nics)
	}
	if o.algorithm == Tree {
		o.bound = ceiling{}.tighter(c.gpu.limit/2, c.linkNames)
		if c.nodes() > 1 {
			o.bound = o.bound.tighter(c.net.limit()/c.treeWire(), c.nicNames)
			o.wire = c.treeWire() / float64(c.net.nics)
		}
	}
	intra, inter := t.stepOf(o.algorithm, o.protocol), t.step[hwNet][Tree][o.protocol]
	if o.protocol != Simple {
		inter = networkStep * c.net.step
	} else {
		inter += 2 * networkStep * max(0, c.net.step-t.fabric)
	}
	base := t.base[o.algorithm][o.protocol]
	if o.algorithm == Ring {
		o.alpha = base + ringLatency(s, f, o.protocol, true, ringSteps{intra: intra, inter: inter, lat: intra, tree: intra})
	} else {
		o.alpha = base + 2*(float64(s.local-1)*intra+float64(log2(s.nodes))*inter)
	}
	if c.nodes() > 1 {
		o.fabric += c.net.floor
	}
	switch {
	case o.algorithm == Tree && o.protocol == Simple && c.nodes() == 2:
		// AMD's share for two nodes, 0.11, only keeps RCCL from trees: it is not a rate.
		o.bulk = rcclTree * min(c.gpu.ring*float64(c.local())/(2*float64(max(1, c.local()-1))), c.net.wire()/c.treeWire())
	case o.protocol == LL128:
		o.alpha -= t.base[o.algorithm][LL128] - t.base[o.algorithm][LL]
		o.bulk = c.lines128(o, bus, factor)
		o.spread = c.est.spread / 2
	case o.algorithm == Ring && o.protocol == Simple:
		o.bulk = bus / factor
	case o.protocol == LL:
		o.bulk, o.spread = o.believed.bandwidth, c.est.spread/2 // a wavefront has twice the threads of a warp
	default:
		o.bulk, o.held = o.believed.bandwidth, &t.held[o.protocol]
	}
	if c.nodes() > 1 && (o.algorithm != Ring || o.protocol != Simple) {
		o.bulk *= min(1, c.net.wire()*c.net.over/(float64(c.net.nics)*c.net.line*amdFabrics))
	}
	if o.bulk > o.bound.gbs {
		o.bulk = o.bound.gbs
	}
}

// stepOf is a step over XGMI, us. AMD's newer tables repeat the figures of LL for LL128, from before RCCL had it there: then a
// step of LL128 is as much longer as in the table of MI200, which has both.
func (t *rcclTable) stepOf(a Algorithm, p Protocol) float64 {
	own := t.step[hwNVLink][a]
	if p != LL128 || own[LL128] != own[LL] {
		return own[p]
	}
	both := rcclMI200().step[hwNVLink][a]
	return own[LL] * both[LL128] / both[LL]
}

// amdFabrics is the lowest share of the line rate of the fabrics behind AMD's figures, RoCE and Slingshot: its
// shares are of the line rate, and a slower fabric reduces them.
const amdFabrics = 0.83

// rcclTree is what trees over XGMI and NICs reach of the rates of these: AMD's own share of more than two
// nodes of MI300X, 0.59 of the NICs, is 0.73 of it.
const rcclTree = 0.73

// lines128 is the rate of LL128: 120 of 128 bytes are data, and a tree's threads reach 7/9 within a node (nccl,
// src/graph/tuning.cc).
func (c *Cluster) lines128(o *option, bus, factor float64) float64 {
	if o.algorithm == Ring {
		return bus / factor * 120 / 128
	}
	chain := c.gpu.ring * float64(c.local()) / (2 * float64(max(1, c.local()-1)))
	return min(chain*7/9, c.net.wire()/c.treeWire()*120/128)
}

// rcclRange is the sizes for which RCCL uses a protocol between nodes, above least and up to most bytes (rccl,
// src/graph/tuning.cc, llProtoRanges of tuning_model_6; src/misc/rccl_wrap.cc, rcclUpdateCollectiveProtocol).
func (c *Cluster) rcclRange(f function, p Protocol) (least, most int64) {
	ranks := int64(c.Ranks())
	var ll, lines int64 // the largest sizes of LL and of LL128
	switch f {
	case fnAllReduce:
		ll, lines = 131071, 17660227
		if c.nodes() > 2 {
			lines = lines * 38 / 10
		}
	case fnReduceScatter:
		ll, lines = 131071*ranks, 4194304*ranks
	case fnAllGather:
		ll, lines = 7*ranks, 8388608*ranks
	case fnReduce:
		ll, lines = 16383*ranks, 16777216*ranks
	default:
		ll, lines = 2048*ranks, 16777216*ranks
	}
	switch p {
	case LL:
		return 0, ll
	case LL128:
		return ll, lines
	default:
		return lines, math.MaxInt64
	}
}
