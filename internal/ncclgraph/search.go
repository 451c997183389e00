package ncclgraph

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/ncclxml"
)

// NCCL's budget of a search, in steps (src/graph/search.cc), which NCCL calls time.
const (
	budgetAll  = 1 << 19
	budgetOne  = 1 << 14
	budgetSame = 1 << 8  // where all channels are alike
	budgetPCI  = 1 << 10 // for a first try in the order of the PCI bus
	perfect    = -1      // the rest of a budget once nothing better can be found
	workLimit  = 40 << 20
)

// budgetNote is the note that this model gave up before NCCL would.
const budgetNote = "search stopped after %d link visits with the best found so far"

// Graphs is the five graphs of a communicator in the order in which NCCL searches and dumps them: ring, tree, CollNet
// direct, CollNet chain, NVLS. Those that cannot be used have no channels and the reason.
func (s *System) Graphs() []Graph { return slices.Clone(s.found()) }

func (s *System) search() []Graph {
	ring := s.Search(GraphRing, 1, maxSearchChannels)
	tree := s.Search(GraphTree, ring.Channels, ring.Channels)
	direct := s.Search(GraphCollNetDirect, 1, maxChannels)
	chain := s.Search(GraphCollNetChain, ring.Channels, ring.Channels)
	return []Graph{ring, tree, direct, chain, s.Search(GraphNVLS, 1, maxChannels)}
}

// Search finds the channels of one graph as NCCL does (ncclTopoCompute), between minChannels and maxChannels of them.
// NCCL uses 1 to 32 for the ring and then the ring's number for the tree; Graphs does the same.
func (s *System) Search(id GraphID, minChannels, mostChannels int) Graph {
	pattern := map[GraphID]Pattern{
		GraphRing: PatternRing, GraphTree: PatternBalancedTree, GraphCollNetChain: PatternTree,
		GraphNVLS: PatternNVLS, GraphCollNetDirect: PatternCollNetDirect,
	}[id]
	found := Graph{ID: id, Pattern: pattern}
	if why := s.excluded(id); why != "" {
		found.Note = why
		return found
	}
	c := newSearch(s, id, pattern, min(max(minChannels, 1), maxChannels), min(max(mostChannels, 1), maxChannels))
	c.run()
	return c.result()
}

// excluded returns why NCCL does not search a graph at all.
func (s *System) excluded(id GraphID) string {
	gpus := len(s.nodes[nodeGPU])
	collNet := s.options.Integer("NCCL_COLLNET_ENABLE", 0) == 1
	switch {
	case (id == GraphCollNetChain || id == GraphCollNetDirect) && !collNet:
		return "NCCL_COLLNET_ENABLE is not 1"
	case id != GraphNVLS:
		return ""
	case s.AMD:
		return "AMD GPUs have no NVLS"
	case s.options.Integer("NCCL_NVLS_ENABLE", 2) == 0:
		return "NCCL_NVLS_ENABLE is 0"
	case len(s.nodes[nodeNVS]) == 0:
		return "no NVSwitch"
	case s.SM < 90:
		return fmt.Sprintf("sm %d is before Hopper", s.SM)
	case gpus <= 2:
		return fmt.Sprintf("%d GPUs on the host are too few for NVLS", gpus)
	}
	return ""
}

// run does both passes: relax until something is found, then raise its bandwidth.
func (c *search) run() {
	total := c.totalBW
	if gpus := float64(len(c.s.nodes[nodeGPU])); gpus > 1 && c.best.pattern != PatternRing {
		total = float32(float64(total) * gpus / (gpus - 1)) // the first GPU need not get its data back
	}
	for (c.speeds[c.speed] > c.maxBW || c.speeds[c.speed]*float32(c.best.minimum) > total) && c.speed < len(c.speeds)-1 {
		c.speed++
	}
	c.try.bwIntra, c.try.bwInter = c.speeds[c.speed], c.speeds[c.speed]
	for {
		c.once()
		done := c.left == perfect || float32(c.best.channels)*c.best.bwInter >= float32(c.s.TotalBW) || c.work <= 0
		if !c.secondPass && !done && c.relax() {
			continue
		}
		if !c.secondPass {
			c.duplicate()
			c.beginSecondPass()
		}
		if c.work <= 0 || !c.raise() {
			break
		}
	}
	if c.best.channels == 0 && c.id != GraphNVLS && c.id != GraphCollNetChain && c.id != GraphCollNetDirect {
		c.simpleOrder()
	}
}

// settings is the input of a search, besides the System.
type settings struct {
	pattern              Pattern
	crossNIC             int
	same                 bool
	minimum, maximum     int
	bwIntra, bwInter     float32
	typeIntra, typeInter PathType
}

// settings of the next search. Path types that no path has make no difference: of those that allow the same paths
// the nearest is used.
func (c *search) settings() settings {
	t := &c.try
	return settings{t.pattern, t.crossNIC, t.same, t.minimum, t.maximum, t.bwIntra, t.bwInter,
		nearestOf(c.s.intraTypes, t.typeIntra), nearestOf(c.s.interTypes, t.typeInter)}
}

// nearestOf returns the furthest type of a set that is not above a limit.
func nearestOf(set uint16, limit PathType) PathType {
	t := limit
	for t > PathLOC && set&(1<<t) == 0 {
		t--
	}
	return t
}

// once is one search with the settings of the draft. One that was already run is skipped: it would find the same
// channels in the same order, none of them better than the best.
func (c *search) once() {
	c.left = budgetOne
	if c.try.same {
		c.left = budgetSame
	}
	c.try.channels = 0
	c.leftAll -= c.left
	key := c.settings()
	if left, known := c.done[key]; known {
		c.left = left
		return
	}
	c.recurse(&c.left)
	if c.left != perfect {
		c.done[key] = c.left
	}
}

// relax changes one setting of the first pass; it returns false once no setting is left. The order is NCCL's.
func (c *search) relax() bool {
	t, g := &c.try, &c.best
	cpu := c.s.CPU
	if t.same && (cpu.Arch != ncclxml.ArchX86 || cpu.Vendor != ncclxml.VendorAMD || t.typeIntra != PathSYS) {
		t.same = false
		return true
	}
	t.same = c.trySame
	if c.leftAll += c.left; c.leftAll < 0 && g.channels > 0 {
		return false
	}
	if c.s.SM >= 90 && t.pattern == PatternBalancedTree {
		t.pattern = PatternTree
		return true
	}
	t.pattern = g.pattern
	return c.relaxTypes() || c.relaxCrossNIC() || c.relaxSpeed()
}

func (c *search) relaxTypes() bool {
	t, g := &c.try, &c.best
	furthest := c.maxIntra
	if c.s.Inter {
		furthest = t.typeInter
	}
	if t.typeIntra < furthest && (g.channels == 0 || t.typeIntra < g.typeIntra) {
		if t.typeIntra++; t.typeIntra < PathDIS {
			return true
		}
	}
	t.typeIntra = c.minIntra
	if c.s.Inter && t.typeInter < c.maxInter && (g.channels == 0 || t.typeInter < g.typeInter || t.typeInter < PathPXN) {
		if t.typeInter++; t.typeInter < PathDIS {
			return true
		}
	}
	t.typeInter = c.minInter
	return false
}

func (c *search) relaxCrossNIC() bool {
	t, g := &c.try, &c.best
	if c.crossNIC == 2 && t.crossNIC == 0 && (g.pattern == PatternRing || g.pattern == PatternBalancedTree) {
		t.crossNIC = 2
		return true
	}
	t.crossNIC = c.firstCrossNIC()
	return false
}

func (c *search) relaxSpeed() bool {
	if c.speed >= len(c.speeds)-1 {
		return false
	}
	if c.best.channels > 0 && c.speeds[c.speed+1]/c.best.bwInter <= .49 {
		return false
	}
	c.speed++
	c.try.bwIntra, c.try.bwInter = c.speeds[c.speed], c.speeds[c.speed]
	return true
}

// duplicate turns each channel that is fast enough into two (ncclTopoDupChannels).
func (c *search) duplicate() {
	g, gpus := &c.best, len(c.s.nodes[nodeGPU])
	if g.channels == 0 || g.pattern == PatternNVLS || g.bwIntra < 25 || c.s.SM > 80 && g.bwIntra < 50 && g.channels > 4 {
		return
	}
	more := min(2*g.channels, g.maximum)
	copy(g.gpus[g.channels*gpus:], g.gpus[:max(more-g.channels, 0)*gpus])
	copy(g.nets[2*g.channels:], g.nets[:2*max(more-g.channels, 0)])
	by := float32((more + g.channels - 1) / g.channels)
	g.bwIntra /= by
	g.bwInter /= by
	g.channels = more
}

func (c *search) beginSecondPass() {
	c.secondPass, c.left = true, perfect
	clear(c.done) // duplicate has changed the best
	c.try.copyFrom(&c.best, len(c.used))
	for c.speed = 0; c.speeds[c.speed] > c.best.bwInter && c.speed < len(c.speeds)-1; c.speed++ {
	}
	c.try.bwIntra, c.try.bwInter = c.speeds[c.speed], c.speeds[c.speed]
	c.try.minimum = c.best.channels
}

// raise tries the next higher bandwidth for the channels found; it returns false once there is none.
func (c *search) raise() bool {
	t, g := &c.try, &c.best
	if c.left == 0 || c.speed == 0 {
		return false
	}
	switch {
	case g.pattern == PatternRing:
		c.speed--
		t.bwIntra, t.bwInter = c.speeds[c.speed], c.speeds[c.speed]
	case g.pattern == PatternNVLS && t.bwInter == g.bwInter && t.bwInter < t.bwIntra*2:
		t.minimum, t.maximum = g.channels, g.channels
		c.speed--
		t.bwInter = c.speeds[c.speed]
	case t.bwIntra == g.bwIntra && t.bwIntra < t.bwInter*2:
		c.speed--
		t.bwIntra = c.speeds[c.speed]
	default:
		return false
	}
	return true
}

// simpleOrder is NCCL's last resort: one slow channel in the order of the GPUs.
func (c *search) simpleOrder() {
	g := &c.best
	for i := range c.s.nodes[nodeGPU] {
		g.gpus[i] = i
	}
	g.channels, g.bwIntra, g.bwInter, g.typeIntra, g.typeInter = 1, 0.1, 0.1, PathSYS, PathSYS
	g.nets[0], g.nets[1] = -1, -1
	if c.s.options.before(v2297) {
		first := slices.IndexFunc(c.s.nodes[nodeNET], func(n *node) bool { return n.dev == 0 })
		g.nets[0], g.nets[1] = first, first // NET 0, whether or not it is near
		return
	}
	if !c.s.Inter {
		g.bwInter, g.typeInter = 0, PathDIS
		return
	}
	for i, gpu := range []int{0, len(c.s.nodes[nodeGPU]) - 1} {
		if nets := c.s.localNets(c.s.nodes[nodeGPU][gpu]); len(nets) > 0 {
			g.nets[i] = nets[0]
		}
	}
}

// result replaces the indices of a draft by names.
func (c *search) result() Graph {
	g, s := &c.best, c.s
	found := Graph{
		ID: c.id, Pattern: g.pattern, Channels: g.channels, BWIntra: gbs(g.bwIntra), BWInter: gbs(g.bwInter),
		TypeIntra: g.typeIntra, TypeInter: g.typeInter, LatencyInter: gbs(g.latency), SameChannels: g.same, CrossNIC: g.crossNIC,
	}
	switch {
	case c.work <= 0:
		found.Note = fmt.Sprintf(budgetNote, workLimit)
	case g.channels == 0:
		found.Note = "no channels found"
	}
	gpus := len(s.nodes[nodeGPU])
	for i := range g.channels {
		channel := Channel{In: -1, Out: -1}
		for _, gpu := range g.gpus[i*gpus : (i+1)*gpus] {
			channel.GPUs = append(channel.GPUs, s.nodes[nodeGPU][gpu].rank)
			if c.id == GraphNVLS {
				break
			}
		}
		if s.Inter {
			channel.In, channel.Out = s.netDev(g.nets[2*i]), s.netDev(g.nets[2*i+1])
		}
		found.Order = append(found.Order, channel)
	}
	return found
}

func (s *System) netDev(index int) int {
	if index < 0 || index >= len(s.nodes[nodeNET]) {
		return -1
	}
	return s.nodes[nodeNET][index].dev
}
