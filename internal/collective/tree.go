package collective

// treeSlice is the bytes in flight in a channel of a tree (nccl, src/include/device.h: a buffer of
// 4 MiB in 8 steps), where a step over the network takes what NCCL assumes; a longer one needs proportionally more.
const treeSlice = 512 << 10

// treeTiming: a chain within the node and two binary trees between nodes, each with half of the data, up
// and down.
func (c *Cluster) treeTiming(o *option) {
	// Each GPU of the chain sends all of the data up and all of it down, except the ends, which are different GPUs
	// in every channel.
	both := max(1, 2*float64(c.local()-1)/float64(c.local()))
	o.bound = ceiling{}.tighter(c.gpu.limit/both, c.linkNames)
	bulk := c.gpu.ring / both
	if c.nodes() > 1 {
		o.bound = o.bound.tighter(c.net.limit()/c.treeWire(), c.nicNames)
		bulk = min(bulk, c.net.wire()*c.est.tree/c.treeWire())
		o.wire = c.treeWire() / float64(max(1, c.net.nics))
	}
	o.alpha = o.measured.latency
	switch {
	case o.protocol == LL128 && c.nodes() == 1: // limited by its threads, not by the wires
		bulk = min(bulk, o.measured.bandwidth)
	case o.protocol != Simple: // NCCL assumes twice the data on every wire
		bulk = min(bulk, min(o.measured.bandwidth*2, c.channelsBus(o.protocol))/max(both, c.treeWire()))
	}
	o.bulk = bulk
	switch o.protocol {
	case LL:
		o.spread, o.held = c.est.spread, nil
	case Simple:
		o.rise = pipeline(1, float64(c.graphs.channels()*treeSlice)*max(1, c.net.step), bulk)
	}
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
