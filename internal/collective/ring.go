package collective

import "math"

// factor is the bytes that each rank of a ring sends per byte of size.
func (f function) factor(n int) float64 {
	share := float64(n-1) / float64(n)
	switch f {
	case fnAllReduce:
		return 2 * share
	case fnAllGather, fnReduceScatter:
		return share
	default:
		return 1
	}
}

// ringTiming: every rank sends factor bytes to its neighbour per byte of size, over links or by the
// NICs, all at once; the slower of the two limits. There is nothing to fill: each rank starts with a
// piece of its own.
func (c *Cluster) ringTiming(o *option, f function) {
	factor := f.factor(c.Ranks())
	o.bound = ceiling{}.tighter(c.ringLinks(c.gpu.limit)/factor, c.linkNames)
	links := c.ringLinks(c.ringOf(f))
	switch {
	case c.gpu.wiring == overSwitch && (f == fnAllGather || f == fnReduceScatter):
		links /= 1 + c.est.localCopy/float64(c.Ranks()-1)
	case c.hosted && c.Ranks() == 2 && (f == fnBroadcast || f == fnReduce): // a GPU only writes to host memory or only reads it
		links = c.gpu.limit * reachedShare
	}
	bus := c.throttled(links, f.ringWork(c.Ranks()), whole)
	if c.nodes() > 1 {
		hop := c.net.hop()
		o.bound = o.bound.tighter(c.net.limit()*hop.bound/factor, c.hopNames)
		bus = min(bus, c.net.wire()*hop.reached*c.exits(Ring))
		if c.net.pages > 0 {
			bus = min(bus, float64(c.channels())*c.pagedRate(f.ringWork(c.Ranks())))
		}
		o.wire = factor / (float64(max(1, hop.nics)) * c.exits(Ring))
	}
	o.alpha = o.measured.latency
	others := min(bus, c.protocolBus(o, f))
	o.bulk = min(others, c.flaggedRing(o.protocol, f, 0)) / factor
	o.rise = c.ringRise(o, f, links, bus, others)
	if f == fnBroadcast || f == fnReduce {
		c.chainTiming(o, bus)
	}
	o.spread = c.ringSpread(o)
}

// ringRise is what a ring takes besides its latency and the time of its bytes, us by size; nil: nothing.
func (c *Cluster) ringRise(o *option, f function, links, bus, others float64) (rise func(float64) float64) {
	if c.net.copies > 0 {
		return c.socketsFill(o, f)
	}
	if o.protocol != LL && c.nodes() == 1 && c.gpu.wiring == overSwitch {
		rise = c.ringFill(f, links, bus)
	}
	if o.protocol != Simple && c.blocksKnown() && c.isHopper() {
		rise = both(rise, c.flaggedCached(o, f, others))
	}
	return rise
}

// ringSpread is the share by which the latency of a ring grows from one channel to all.
func (c *Cluster) ringSpread(o *option) float64 {
	switch {
	case o.protocol == LL128 && c.nodes() == 1: // NCCL's figure is of all channels, and none is posted
		return 0
	case o.protocol != Simple:
		return c.spreadLL(o)
	case c.nodes() == 1 && c.isHopper() && c.gpu.wiring == overSwitch:
		return simpleStart * float64(c.channels()) / o.alpha
	}
	return 0
}

// protocolBus is what LL and LL128 leave of the links: their flags use bandwidth, and a channel's threads
// are limited. Simple leaves all.
func (c *Cluster) protocolBus(o *option, f function) float64 {
	if o.protocol == Simple || o.protocol == LL && c.blocksKnown() {
		return math.Inf(1)
	}
	return min(o.measured.bandwidth*f.factor(c.Ranks()), c.channelsBus(o.protocol))
}

// flaggedRing is what the threads of LL and LL128 reach with a share of the data in the L2 cache; Simple has no such limit.
func (c *Cluster) flaggedRing(p Protocol, f function, cached float64) float64 {
	if p == Simple {
		return math.Inf(1)
	}
	n := c.Ranks()
	moved := f.movedByRing(n) / f.passes(n, passLL128().forwards)
	if p == LL {
		moved = f.movedByRing(n) / f.passes(n, passLL().forwards) * fnAllReduce.passes(2, passLL().forwards) // of which passLL is
	}
	return c.flagged(p, moved, c.blocks.threadsOf(p), cached)
}

// passes is how long the passes of a rank of a ring of n take on average, of those that only send or only receive: the first
// and the last of each piece; of a broadcast what the slowest rank does with every piece. For eight GPUs of Hopper the rate
// that follows for LL is 145 GB/s, where NCCL's own figure is 141.
func (f function) passes(n int, forwards float64) float64 {
	between := 0.0
	switch f {
	case fnAllReduce:
		between = float64(2*n - 3)
	case fnAllGather, fnReduceScatter:
		between = float64(n - 2)
	default:
		if n > 2 {
			return forwards
		}
	}
	return (2 + forwards*between) / (2 + between)
}

// both adds two times by size; the first may be nil.
func both(a, b func(float64) float64) func(float64) float64 {
	if a == nil {
		return b
	}
	return func(size float64) float64 { return a(size) + b(size) }
}

// flaggedCached is how much less time the passes of LL and LL128 take than at the bandwidth of large sizes, us: tests repeat a size, and what
// of its two buffers is still in the L2 cache is loaded sooner.
func (c *Cluster) flaggedCached(o *option, f function, others float64) func(float64) float64 {
	near, far := min(others, c.flaggedRing(o.protocol, f, 1)), min(others, c.flaggedRing(o.protocol, f, 0))
	return func(size float64) float64 {
		held := max(0, 1-2*size/cache)
		return -size * f.factor(c.Ranks()) * (1/far - 1/near) * held / 1000
	}
}

// channelsBus is the bus bandwidth of LL's threads with few channels: NCCL's figure is for machines with all their
// GPUs and NICs, whatever the number of channels.
func (c *Cluster) channelsBus(p Protocol) float64 {
	const usual = 16
	switch {
	case c.net.copies > 0 && p == LL128:
		return c.net.socketsLL128(c.blocks.bufferOf() / fifoSlices)
	case p != LL:
		return math.Inf(1)
	case c.net.copies > 0:
		return c.net.socketsLL(c.blocks.threadsOf(LL))
	}
	return c.shapeOf(c.tables).llMost() * float64(c.channels()) / usual
}

// ringLinks is what rings that leave the node through different GPUs reach over links of a rate: a GPU that sends
// to the network sends to no neighbour, so that of g hops g-1 are over links.
func (c *Cluster) ringLinks(rate float64) float64 {
	if c.nodes() == 1 || c.local() == 1 {
		return rate
	}
	return rate * float64(c.local()) / float64(c.local()-1)
}

// chainTiming: a broadcast or a reduction goes once around, in slices, and no rank waits for those after it: a test that launches
// one after the other sees the time of one rank each time, and the way of the last slice through all ranks only once.
func (c *Cluster) chainTiming(o *option, bus float64) {
	steps := &c.tables.step
	inside, between := float64(c.nodes()*(c.local()-1)), float64(c.nodes()-1)
	way := inside*steps[hwNVLink][Ring][o.protocol] + between*steps[hwNet][Ring][o.protocol]
	first := steps[hwNVLink][Ring][o.protocol]
	if c.local() == 1 {
		first = steps[hwNet][Ring][o.protocol]
	}
	o.alpha = c.tables.base[Ring][o.protocol] + first + (way-first)/c.repeated()
	if o.protocol != Simple {
		return
	}
	channels, hops := float64(c.channels()), inside+between-1 // the last one forwards nothing
	o.rise = func(size float64) float64 {
		return hops * min(chainSlice, size/channels) * channels / (1000 * bus * c.repeated())
	}
}

// spreadLL is the share by which the latency of LL grows from one channel to all. Within a node nothing is posted: only what a step takes
// grows, as more of a block's threads have something to send.
func (c *Cluster) spreadLL(o *option) float64 {
	if c.nodes() > 1 {
		return c.est.spread
	}
	return c.est.spread * (1 - c.tables.base[o.algorithm][o.protocol]/o.alpha)
}

// repeated is how often a test launches a collective before it waits.
func (c *Cluster) repeated() float64 {
	if c.iterations > 0 {
		return float64(c.iterations)
	}
	return 20 // nccl-tests, src/common.cu: iters
}

// chainSlice is what goes from rank to rank at a time in a channel, bytes (nccl, src/include/device.h:
// BROADCAST_SLICESTEPS 1 of 8 of a buffer of 4 MiB).
const chainSlice = 512 << 10
