package collective

import "math"

// treeSlice is the bytes in flight in a channel of a tree (nccl, src/include/device.h: a buffer of
// 4 MiB in 8 steps), where a step over the network takes what NCCL assumes; a longer one needs proportionally more.
const treeSlice = 512 << 10

// treeTiming: a chain within the node and two binary trees between nodes, each with half of the data, up
// and down.
func (c *Cluster) treeTiming(o *option) {
	both := c.treeLinks()
	o.bound = ceiling{}.tighter(c.gpu.limit/both, c.linkNames)
	do, threads := c.treeWork()
	bulk := c.throttled(c.gpu.ring/both, do, threads)
	if c.nodes() > 1 {
		o.bound = o.bound.tighter(c.net.limit()/c.treeWire(), c.nicNames)
		bulk = min(bulk, c.net.wire()*c.exits(Tree)*c.est.tree*o.protocol.data()/c.treeWire())
		o.wire = c.treeWire() / (float64(max(1, c.net.nics)) * c.exits(Tree))
	}
	o.alpha = o.measured.latency
	switch {
	case o.protocol == LL128 && c.nodes() == 1 && c.local() > 2 && !c.isHopper(): // limited by threads that receive and send on
		bulk = min(bulk, o.measured.bandwidth)
	case c.nodes() > 1 && o.protocol != Simple: // NCCL's figure is for blocks that send all data twice
		bulk = min(bulk, min(o.measured.bandwidth*2, c.channelsBus(o.protocol))/c.treeSends())
	}
	switch flagged := c.flaggedTree(o.protocol); {
	case o.protocol == LL128 && c.isHopper() && c.blocksKnown():
		bulk = joint(bulk*o.protocol.data(), flagged)
	case o.protocol != Simple:
		bulk = min(bulk, flagged)
	}
	o.bulk = bulk
	switch o.protocol {
	case LL:
		o.spread, o.held = c.spreadLL(o), nil
	case LL128:
		if c.nodes() > 1 { // NCCL's shares stand for this, in eight sizes of a table
			o.rise, o.held = c.linesFill, nil
		}
	case Simple:
		o.rise = pipeline(1, float64(c.channels()*treeSlice)*max(1, c.net.step), bulk)
	}
}

// treeLinks is the bytes that the busiest GPU sends to neighbours per byte of size. Each GPU of a chain sends all of the
// data up and all of it down, except the ends: within one node they are the same GPUs in every channel that NCCL's search
// finds, and with NICs each channel begins at another GPU.
func (c *Cluster) treeLinks() float64 {
	even := max(1, 2*float64(c.local()-1)/float64(c.local()))
	chains := c.graphs.tree.Order
	if len(chains) == 0 || c.nodes() > 1 {
		return even
	}
	sent, most := map[int]int{}, 0
	for _, chain := range chains {
		last := len(chain.GPUs) - 1
		for i, g := range chain.GPUs {
			sent[g] += min(1, i) + min(1, last-i)
			most = max(most, sent[g])
		}
	}
	return max(1, float64(most)/float64(len(chains)))
}

// linesFill is how much longer the first piece of LL128 takes through a tree between nodes than the few bytes of NCCL's latency, us: up and
// down the chain it is passed on by blocks, whose first pass that latency has, and between nodes by NICs.
func (c *Cluster) linesFill(size float64) float64 {
	one, channels := passLL128(), float64(c.channels())
	one.wait *= c.tables.ringLL128[hopper][0] / c.tables.ringLL128[generation(c.gpu.sm)][0]
	piece := min(c.linesChunk(size), size/channels)
	more := max(0, math.Ceil(piece/(one.holds*float64(c.blocks.threadsOf(LL128))))-1)
	inside := more*one.wait + one.thread*piece/one.holds
	between := piece * channels / (1000 * c.net.wire() * c.exits(Tree))
	return 2*float64(c.local()-1)*inside + c.networkSteps(Tree, fnAllReduce)*between
}

// linesChunk is the piece in which a tree of LL128 moves a size, bytes: a FIFO has 8 of them, 15 of 16 bytes are data, and few pieces for
// the steps of a tree are halved (nccl, src/enqueue.cc, calcCollChunking).
func (c *Cluster) linesChunk(size float64) float64 {
	chunk := float64(blockLines * 120 * 8 * 15 / 16)
	channels, local := float64(c.channels()), float64(c.local())
	steps := 1 + float64(log2(c.nodes())) + 0.1*local
	for _, least := range []struct{ pieces, chunk float64 }{{64, 128 << 10}, {16, 32 << 10}} {
		for chunk > least.chunk && math.Floor(size/(channels*chunk)) < steps*least.pieces/local {
			chunk /= 2
		}
	}
	return chunk
}

// treeSends is how often the busiest block of a channel sends the data between nodes: up and down, which is to a neighbour and
// to the network for the first of a chain. A GPU that is alone in one of two nodes has no neighbour: it sends up in one tree and
// down in the other.
func (c *Cluster) treeSends() float64 {
	if c.local() == 1 && c.nodes() == 2 {
		return 1
	}
	return 2
}

// flaggedTree is what the threads that send down a tree reach with LL and LL128. The last of a chain sends nothing on, and
// of two GPUs the first has all threads for both directions.
func (c *Cluster) flaggedTree(p Protocol) float64 {
	rate := c.flagged(p, 1, treeDownLL(c.blocks.threadsOf(p)), 0)
	if c.local() == 2 && p == LL {
		rate *= passLL().forwards
	}
	return rate
}

// treeWire is the bytes that a node sends to the network per byte of size. Between two nodes one half of the
// data goes up in each direction and comes back in the other. In two binary trees over more nodes each node is inside
// of one and a leaf of the other: it sends half up twice, and half down to each of two below.
func (c *Cluster) treeWire() float64 {
	if c.nodes() <= 2 {
		return 1
	}
	return 2
}
