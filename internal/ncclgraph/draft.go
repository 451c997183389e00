package ncclgraph

import "slices"

// draft is a Graph under construction, with indices instead of names. GPUs of channel c begin at c times their number,
// its NETs at 2c.
type draft struct {
	pattern              Pattern
	crossNIC             int
	minimum, maximum     int // channels
	channels             int
	bwIntra, bwInter     float32
	latency              float32
	typeIntra, typeInter PathType
	same                 bool
	hops                 int
	gpus, nets           []int
}

// copyFrom copies another draft with that many GPUs, without sharing its channels.
func (d *draft) copyFrom(o *draft, gpus int) {
	own, nets := d.gpus, d.nets
	*d = *o
	d.gpus, d.nets = own, nets
	copy(d.gpus, o.gpus[:o.channels*gpus])
	copy(d.nets, o.nets[:o.channels*2])
}

// search is one run of ncclTopoCompute with its own copy of the bandwidths.
type search struct {
	s      *System
	id     GraphID
	best   draft // called graph in NCCL
	try    draft // called tmpGraph in NCCL
	bw     []float32
	netBW  []float32
	used   []uint64         // by GPU: one bit per channel
	stack  []int            // GPUs still to try, of all steps of the current path
	scored []score          // buffer of scores
	done   map[settings]int // what was left of the budget of searches that need not be repeated
	lists  [][]*netOrder    // of nets: by GPU, all first, then by type
	speeds []float32

	speed              int // index of speeds
	maxBW, totalBW     float32
	minIntra, maxIntra PathType
	minInter, maxInter PathType
	crossNIC           int // NCCL_CROSS_NIC where it applies
	trySame            bool
	left               int // rest of the budget of this search
	leftAll            int
	work               int // link visits left
	secondPass         bool
}

func newSearch(s *System, id GraphID, pattern Pattern, minimum, maximum int) *search {
	gpus := len(s.nodes[nodeGPU])
	c := &search{
		s: s, id: id, bw: make([]float32, len(s.links)), netBW: make([]float32, len(s.nodes[nodeNET])),
		used: make([]uint64, gpus), leftAll: budgetAll, work: workLimit, trySame: pattern != PatternNVLS,
		speeds: speeds(s.SM, s.Inter, s.options), maxBW: float32(s.MaxBW), totalBW: float32(s.TotalBW),
	}
	for _, l := range s.links {
		c.bw[l.index] = l.bw
	}
	for i, net := range s.nodes[nodeNET] {
		c.netBW[i] = net.bw
	}
	if len(s.nodes[nodeNET]) > 1 && (pattern == PatternRing || pattern == PatternBalancedTree || pattern == PatternSplitTree) {
		c.crossNIC = int(s.options.Integer("NCCL_CROSS_NIC", 2))
	}
	c.done = map[settings]int{}
	c.lists = make([][]*netOrder, gpus+1)
	c.setTypes(gpus)
	c.best = draft{pattern: pattern, minimum: minimum, maximum: maximum, typeIntra: c.minIntra, typeInter: c.minInter, same: c.trySame}
	c.best.crossNIC = c.firstCrossNIC()
	c.setChannels(gpus)
	c.try.gpus, c.try.nets = make([]int, maxChannels*gpus), make([]int, 2*maxChannels)
	c.best.gpus, c.best.nets = make([]int, maxChannels*gpus), make([]int, 2*maxChannels)
	c.try.copyFrom(&c.best, len(c.used))
	return c
}

// firstCrossNIC is the setting of the first attempt; a setting of 2 is tried later.
func (c *search) firstCrossNIC() int {
	if c.crossNIC == 1 {
		return 1
	}
	return 0
}

// setTypes sets the path types to try: from the nearest to the furthest that exists.
func (c *search) setTypes(gpus int) {
	c.minInter, c.maxIntra, c.maxInter = PathPIX, PathSYS, PathSYS
	if gpus > 1 {
		c.minIntra, c.maxIntra = c.s.minPath(nodeGPU), c.s.maxPath(nodeGPU)
	}
	if c.s.Inter {
		c.minInter, c.maxInter = c.s.minPath(nodeNET), c.s.maxPath(nodeNET)
		c.maxIntra = c.maxInter
	}
	if c.s.SM < 90 && !c.s.options.before(v2297) {
		c.maxInter = PathSYS // a balanced tree may have to return by a longer path
	}
}

// setChannels applies what patterns and machines change of the number of channels.
func (c *search) setChannels(gpus int) {
	g := &c.best
	switch g.pattern {
	case PatternNVLS:
		g.maximum = min(maxNVLSArity, gpus)
		if !c.s.Inter {
			g.minimum = g.maximum // each GPU pulls its share
		}
	case PatternCollNetDirect:
		g.maximum = min(maxCollNetDirectArity+1, gpus)
	case PatternRing:
		if c.s.splitNVLink() && g.maximum >= 2 && g.minimum == 1 {
			g.minimum = 2 // the tree will need two
		}
	}
	if gpus == 1 && g.pattern != PatternRing {
		g.pattern = PatternTree
	}
	g.minimum = min(g.minimum, g.maximum)
}

// speeds is the bandwidths per channel that NCCL tries, GB/s, fastest first (src/graph/search.cc, speedArrayIntra and the
// arrays after it). On Blackwell 2.29 added 45 within a host and 80 between hosts, 2.30 added 86.
func speeds(sm int, inter bool, o Options) []float32 {
	switch {
	case sm >= 100 && inter:
		all := []float32{96, 86, 80, 48, 45.1, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12}
		return slices.DeleteFunc(all, func(bw float32) bool {
			return bw == 86 && o.before(v2307) || bw == 80 && o.before(v2297)
		})
	case sm >= 100:
		all := []float32{90, 80, 70, 60, 50, 45, 40, 30, 24, 20, 19, 18}
		return slices.DeleteFunc(all, func(bw float32) bool { return bw == 45 && o.before(v2297) })
	case sm >= 90 && inter:
		return []float32{48, 45, 42, 40, 30, 24, 22, 20, 17.5, 15, 12, 6, 3, 2.4, 1.2, 0.24, 0.12}
	case sm >= 90:
		return []float32{60, 50, 40, 30, 24, 20, 15, 12, 11, 6, 3}
	case inter:
		return []float32{48, 30, 28, 24, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3, 2.4, 1.2, 0.24, 0.12}
	}
	return []float32{40, 30, 20, 18, 15, 12, 10, 9, 7, 6, 5, 4, 3}
}
