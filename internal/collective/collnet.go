package collective

// collnetTiming: the network reduces. A node sends its sum once and receives the whole once.
func (c *Cluster) collnetTiming(o *option) {
	links := c.gpu.ring / 2
	limit := c.gpu.limit / 2
	if o.algorithm == CollNetDirect && c.local() > 1 { // each GPU scatters to all and gathers from all
		spread := float64(c.local()-1) / float64(c.local())
		links, limit = c.gpu.ring/(2*spread), c.gpu.limit/(2*spread)
	}
	o.bound = ceiling{}.tighter(limit, c.linkNames).tighter(c.net.limit(), c.nicNames)
	o.bulk = min(links, c.net.wire())
	o.wire = 1 / float64(max(1, c.net.nics))
	o.alpha = o.measured.latency
	o.rise = pipeline(1, float64(c.channels()*treeSlice), o.bulk)
}
