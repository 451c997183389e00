package collective

// inFlight is bytes that are on their way at once in the channels of a tree: 32 channels of pieces of 512 KiB
// (nccl, src/include/device.h: a buffer of 4 MiB in 8 steps).
const inFlight = 16 << 20

// treeTiming: a chain within the node and two binary trees between nodes, each with half of the data, up
// and down.
func (c *Cluster) treeTiming(o *option) {
	both := 2.0 // each GPU of the chain sends all of the data up and all of it down
	if c.local() <= 2 {
		both = 1 // but for its ends
	}
	o.bound = ceiling{}.tighter(c.gpu.limit/both, c.linkNames)
	bulk := c.gpu.ring / both
	if c.nodes() > 1 {
		o.bound = o.bound.tighter(c.net.limit()/c.treeWire(), c.nicNames)
		bulk = min(bulk, c.net.wire()*c.est.tree/c.treeWire())
		o.wire = c.treeWire() / float64(max(1, c.net.nics))
	}
	o.alpha = o.measured.latency
	switch {
	case o.protocol == LL && c.local() == 2 && c.nodes() == 1:
		bulk = min(bulk, 2*o.measured.bandwidth) // NCCL reckons with both ways of a chain
	case o.protocol != Simple:
		bulk = min(bulk, o.measured.bandwidth)
	}
	o.bulk = bulk
	switch o.protocol {
	case LL:
		o.spread, o.held = c.est.spread, nil
	case Simple:
		o.rise = pipeline(1, inFlight, bulk)
	}
}

// treeWire is bytes that a node sends to the network for a byte of size. Between two nodes one half of the
// data goes up each way and comes back the other. In two binary trees over more nodes each node is inside
// of one and a leaf of the other: it sends half up twice, and half down to each of two below.
func (c *Cluster) treeWire() float64 {
	if c.nodes() <= 2 {
		return 1
	}
	return 2
}
