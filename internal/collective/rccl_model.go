package collective

// rcclOptions does for RCCL what ncclOptions does for NCCL (rccl, src/graph/tuning.cc): the same formulae with
// tables measured by AMD for each kind of machine, which go with time as well as with choice.
func (c *Cluster) rcclOptions(f function, e settings) []option {
	s, t := c.shapeOf(""), c.rccl
	var out []option
	for _, a := range []Algorithm{Tree, Ring} {
		for p := range protocols {
			if p == LL128 || !f.runs(a) || a == Tree && p == Simple && c.nodes() == 1 {
				continue
			}
			o := option{algorithm: a, protocol: p}
			o.believed = c.rcclCell(s, t, f, a, p)
			if a == Tree {
				o.shares = &t.tree[p]
			} else if c.nodes() > 1 {
				o.shares = &t.ring[p]
			}
			c.rcclTiming(&o, f, t)
			out = append(out, o)
		}
	}
	return out
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

// rcclTiming takes AMD's table for what it was measured on. Its figures for LL are older than what is measured
// now: there NCCL's step over the network goes with the fabric. Large rings take the rates of links and NICs.
func (c *Cluster) rcclTiming(o *option, f function, t *rcclTable) {
	factor := f.factor(c.Ranks())
	s := c.shapeOf("")
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
	intra, inter := t.step[hwNVLink][o.algorithm][o.protocol], t.step[hwNet][Tree][o.protocol]
	if o.protocol == LL {
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
	case o.algorithm == Ring && o.protocol == Simple:
		o.bulk = bus / factor
	case o.protocol == LL:
		o.bulk, o.spread = o.believed.bandwidth, c.est.spread/2 // a wavefront has twice the threads of a warp
	default:
		o.bulk, o.held = o.believed.bandwidth, &t.held[o.protocol]
	}
	if o.bulk > o.bound.gbs {
		o.bulk = o.bound.gbs
	}
}
