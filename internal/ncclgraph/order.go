package ncclgraph

import "slices"

// score rates a GPU as the next one of a channel.
type score struct {
	gpu, distance                int
	hops, bw                     int
	netHops, netPCIBW, netPathBW int
}

// nextGPUs appends the GPUs to try next, best first (ncclTopoSearchNextGpuSort).
func (c *search) nextGPUs(next []int, gpu *node, step int, w walk) []int {
	top := len(next)
	switch w.order {
	case pciOrder:
		return append(next, step+1)
	case replayOrder:
		return append(next, c.replay(step))
	}
	if len(c.s.nodes[nodeNVS]) > 0 {
		return c.neighbours(gpu, next)
	}
	scores, alike := c.scores(gpu, w.backToNet >= 0), true
	for _, s := range scores {
		next = append(next, s.gpu)
		alike = alike && s.bw == scores[0].bw && s.hops == scores[0].hops
	}
	if alike && w.backToNet >= 0 && w.backToNet != step+1 {
		slices.Reverse(next[top:])
	}
	return next
}

// free reports whether a GPU has a path from another and is not in the channel yet.
func (c *search) free(from *node, g int) bool {
	return g != from.index && from.routes[nodeGPU][g].count > 0 && c.used[g]&(1<<c.try.channels) == 0
}

func (c *search) scores(gpu *node, withNet bool) []score {
	gpus := c.s.nodes[nodeGPU]
	var fromNet []route
	if withNet {
		fromNet = c.s.nodes[nodeNET][c.try.nets[c.try.channels*2]].routes[nodeGPU]
	}
	scores := c.scored[:0]
	for i := 1; i < len(gpus); i++ {
		g := (gpu.index + i) % len(gpus)
		if !c.free(gpu, g) {
			continue
		}
		r := gpu.routes[nodeGPU][g]
		s := score{gpu: g, distance: i, hops: r.count, bw: int(r.bw)}
		if fromNet != nil {
			s.netHops, s.netPCIBW, s.netPathBW = fromNet[g].count, c.pciBW(gpus[g]), int(fromNet[g].bw)
		}
		at := len(scores)
		scores = append(scores, s)
		for ; at > 0 && s.before(scores[at-1]); at-- { // few, and mostly in order already
			scores[at] = scores[at-1]
		}
		scores[at] = s
	}
	c.work -= len(gpus)
	c.scored = scores
	return scores
}

// before compares by the most important criterion first.
func (s score) before(o score) bool {
	switch {
	case s.netPathBW != o.netPathBW:
		return s.netPathBW > o.netPathBW
	case s.netPCIBW != o.netPCIBW:
		return s.netPCIBW > o.netPCIBW
	case s.netHops != o.netHops:
		return s.netHops < o.netHops
	case s.bw != o.bw:
		return s.bw > o.bw
	case s.hops != o.hops:
		return s.hops < o.hops
	}
	return s.distance < o.distance
}

// pciBW is the remaining bandwidth of a GPU's PCIe link in its worse direction.
func (c *search) pciBW(gpu *node) int {
	for _, l := range gpu.links {
		if l.typ != linkPCI {
			continue
		}
		for _, back := range l.to.links {
			if back.to == gpu {
				return int(min(c.bw[l.index], c.bw[back.index]))
			}
		}
	}
	return -1
}

// neighbours appends the free GPUs on both sides, where there is an NVSwitch: it prefers few peers.
func (c *search) neighbours(gpu *node, next []int) []int {
	count := len(c.s.nodes[nodeGPU])
	before, after := (gpu.index-1+count)%count, (gpu.index+1)%count
	first, second := after, -1 // the order in which NCCL prepends them: the second is tried first
	switch c.try.pattern {
	case PatternRing:
		second = before
	case PatternSplitTree, PatternBalancedTree:
		first, second = before, after
	}
	if second >= 0 && second != first && c.free(gpu, second) {
		next = append(next, second)
	}
	if c.free(gpu, first) {
		next = append(next, first)
	}
	return next
}
