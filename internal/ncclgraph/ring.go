package ncclgraph

import "math"

// order is the order in which the next GPUs of a channel are tried.
type order uint8

const (
	anyOrder    order = iota
	pciOrder          // as in the graph
	replayOrder       // as in the previous channel
)

// netOrder is the NETs to try, best first.
type netOrder []int

// walk is the rest of a channel to be found.
type walk struct {
	backToNet   int // step after which a NET follows; -1 never
	backToFirst int // step after which the first GPU follows; -1 never
	order       order
}

// recurse adds the next channel (ncclTopoSearchRec).
func (c *search) recurse(left *int) {
	gpus := len(c.s.nodes[nodeGPU])
	w := walk{backToNet: -1, backToFirst: -1}
	switch {
	case c.s.Inter:
		w.backToNet = 0
		switch c.try.pattern {
		case PatternRing:
			w.backToNet = gpus - 1
		case PatternSplitTree:
			w.backToNet = 1
		}
		c.fromNets(w, left)
		return
	case c.try.pattern == PatternRing:
		w.backToFirst = gpus - 1
	}
	switch {
	case c.try.pattern == PatternNVLS:
		c.tryGPU(nil, c.try.channels%gpus, 0, w, left)
		return
	case c.try.channels == 0:
		w.order = pciOrder
		c.tryGPU(nil, 0, 0, w, left)
	default:
		w.order = replayOrder
		c.tryGPU(nil, c.replay(-1), 0, w, left)
	}
	w.order = anyOrder
	if !c.try.same || c.try.channels == 0 {
		for g := range gpus {
			c.tryGPU(nil, g, 0, w, left)
		}
	}
}

// replay is the GPU of the previous channel at the step after this one.
func (c *search) replay(step int) int {
	return c.try.gpus[(c.try.channels-1)*len(c.s.nodes[nodeGPU])+step+1]
}

// tryGPU goes from a node to a GPU, continues from there, and restores the state.
func (c *search) tryGPU(from *node, g, step int, w walk, left *int) {
	gpu := c.s.nodes[nodeGPU][g]
	if !c.follow(from, gpu, 1) {
		return
	}
	flag := uint64(1) << c.try.channels
	c.used[g] ^= flag
	c.step(gpu, step, w, left)
	c.used[g] ^= flag
	c.follow(from, gpu, -1)
}

// step continues from a GPU: to a NET, to the next GPU, to the first, or to the next channel (ncclTopoSearchRecGpu).
func (c *search) step(gpu *node, step int, w walk, left *int) {
	if *left <= 0 || c.work <= 0 {
		return
	}
	*left--
	gpus := len(c.s.nodes[nodeGPU])
	if step == gpus {
		c.complete(left)
		return
	}
	c.try.gpus[c.try.channels*gpus+step] = gpu.index
	switch {
	case step == w.backToNet:
		c.toNets(gpu, step, w, left)
	case c.try.pattern == PatternNVLS:
		c.headNVLS(gpu, left)
	case c.try.pattern == PatternCollNetDirect:
		c.headCollNet(gpu, left)
	case step < gpus-1:
		top := len(c.stack)
		c.stack = c.nextGPUs(c.stack, gpu, step, w)
		for _, next := range c.stack[top:] {
			c.tryGPU(gpu, next, step+1, w, left)
		}
		c.stack = c.stack[:top]
	case step == w.backToFirst:
		first := c.s.nodes[nodeGPU][c.try.gpus[c.try.channels*gpus]]
		if c.follow(gpu, first, 1) {
			c.step(first, step+1, walk{w.backToNet, -1, w.order}, left)
			c.follow(gpu, first, -1)
		}
	default:
		c.step(gpu, gpus, walk{-1, -1, w.order}, left)
	}
}

// complete stores the draft if it is better than the best, and continues with a further channel.
func (c *search) complete(left *int) {
	c.try.channels++
	if c.better() {
		c.best.copyFrom(&c.try, len(c.used))
		if c.try.channels == c.try.maximum {
			*left = perfect
		}
	}
	if c.try.channels < c.try.maximum {
		c.recurse(left)
	}
	c.try.channels--
}

// better compares the draft with the best (ncclTopoCompareGraphs).
func (c *search) better() bool {
	t, g := &c.try, &c.best
	if t.channels < t.minimum {
		return false
	}
	bus := func(d *draft, bw float32) float32 { return float32(d.channels) * bw }
	if t.pattern == PatternNVLS {
		return t.channels > g.channels && t.channels <= len(c.s.nodes[nodeGPU]) || bus(t, t.bwInter) > bus(g, g.bwInter)
	}
	if bus(t, t.bwIntra) != bus(g, g.bwIntra) {
		return bus(t, t.bwIntra) > bus(g, g.bwIntra)
	}
	return t.pattern == g.pattern && t.crossNIC == g.crossNIC && t.hops < g.hops
}

// fromNets begins a channel at each NET (ncclTopoSearchRecNet).
func (c *search) fromNets(w walk, left *int) {
	t := &c.try
	bw := float32(math.Trunc(float64(t.bwInter))) // NCCL keeps it in an int
	nets := c.nets(-1, t.typeInter)
	heads := t.pattern == PatternNVLS || t.pattern == PatternCollNetDirect
	for i := range nets {
		n := nets[(t.channels+i)%len(nets)]
		net := c.s.nodes[nodeNET][n]
		if (c.id == GraphCollNetChain || c.id == GraphCollNetDirect) && net.coll == 0 || c.netBW[n] < bw {
			continue
		}
		if t.pattern == PatternRing && t.crossNIC == 2 && t.channels&1 == 1 && n != t.nets[(t.channels-1)*2+1] {
			continue
		}
		t.nets[t.channels*2] = n
		t.latency = net.latency
		c.takeNet(net, -bw)
		found := false
		if heads {
			found = c.headFromNet(net, len(nets), w, left)
		} else {
			c.channelFromNet(net, w, left)
		}
		c.takeNet(net, bw)
		if found {
			break
		}
	}
}

// takeNet changes the remaining bandwidth of a port; two NETs may share one.
func (c *search) takeNet(net *node, by float32) {
	for i, other := range c.s.nodes[nodeNET] {
		if other.asic == net.asic && other.port == net.port {
			c.netBW[i] += by
		}
	}
	c.work -= len(c.s.nodes[nodeNET])
}

// channelFromNet tries the previous channel again, or all GPUs that are near the NET.
func (c *search) channelFromNet(net *node, w walk, left *int) {
	if c.try.channels > 0 && c.try.same {
		w.order = replayOrder
		c.tryGPU(net, c.replay(-1), 0, w, left)
		return
	}
	if c.try.channels == 0 && len(c.s.nodes[nodeNVS]) == 0 {
		budget := budgetPCI
		c.tryGPU(net, 0, 0, walk{w.backToNet, w.backToFirst, pciOrder}, &budget)
		if budget == perfect {
			*left = perfect
		}
	}
	if net.localGPU >= 0 {
		c.tryGPU(net, net.localGPU, 0, w, left)
	}
	for _, g := range local(net.routes[nodeGPU]) {
		if g != net.localGPU {
			c.tryGPU(net, g, 0, w, left)
		}
	}
}

// toNets goes from a GPU back to a NET.
func (c *search) toNets(gpu *node, step int, w walk, left *int) {
	t := &c.try
	if !c.s.Inter {
		return
	}
	start := c.s.nodes[nodeNET][t.nets[t.channels*2]]
	for _, n := range c.nets(gpu.index, t.typeInter) {
		net := c.s.nodes[nodeNET][n]
		if !c.mayLeaveBy(net, start, step) {
			continue
		}
		next := walk{-1, w.backToFirst, w.order}
		bw := t.bwInter
		half := t.pattern == PatternBalancedTree // each of the first two GPUs carries half
		if half {
			if step == 0 {
				next.backToNet = 1
			}
			t.bwInter /= 2
		}
		ok := c.follow(gpu, net, 1)
		t.bwInter = bw
		if !ok {
			continue
		}
		t.nets[t.channels*2+1] = n
		c.step(gpu, step, next, left)
		if half {
			t.bwInter /= 2
		}
		c.follow(gpu, net, -1)
		t.bwInter = bw
	}
}

// mayLeaveBy reports whether a channel that entered by one NET may leave by another.
func (c *search) mayLeaveBy(net, start *node, step int) bool {
	t := &c.try
	switch {
	case t.pattern == PatternTree && net != start:
		return false
	case t.pattern == PatternRing && t.crossNIC == 2:
		if t.channels&1 == 1 && net.index != t.nets[(t.channels-1)*2] {
			return false
		}
	case t.crossNIC == 0 && (net.asic != start.asic || net.port != start.port):
		return false
	}
	return t.pattern != PatternBalancedTree || step == 0 || net.index == t.nets[t.channels*2+1]
}

// nets returns the NETs to try from a GPU, or from all where it is -1: first those that the GPUs prefer, then all that
// are near enough (ncclTopoSelectNets).
func (c *search) nets(gpu int, furthest PathType) []int {
	if c.lists[gpu+1] == nil {
		c.lists[gpu+1] = make([]*netOrder, PathDIS+1)
	}
	if known := c.lists[gpu+1][furthest]; known != nil {
		return *known
	}
	list := netOrder{}
	seen := make([]bool, len(c.s.nodes[nodeNET]))
	add := func(n int) {
		if !seen[n] {
			seen[n] = true
			list = append(list, n)
		}
	}
	gpus := c.s.nodes[nodeGPU]
	if gpu >= 0 {
		gpus = gpus[gpu : gpu+1]
	}
	for _, g := range gpus {
		for _, n := range c.s.localNets(g) {
			add(n)
		}
	}
	most := math.MaxInt
	if _, number := c.s.options.NetsPolicy(); number > 0 {
		most = number * len(gpus)
	}
	for t := PathLOC; t <= furthest; t++ {
		for _, g := range gpus {
			for n, r := range g.routes[nodeNET][:min(len(g.routes[nodeNET]), maxChannels)] {
				if r.typ == t && len(list) < most {
					add(n)
				}
			}
		}
	}
	c.lists[gpu+1][furthest] = &list
	return list
}
