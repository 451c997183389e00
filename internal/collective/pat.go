package collective

// patShare is NCCL's own figure for what PAT reaches of the network (nccl, src/graph/tuning.cc).
const patShare = 0.75

// patTiming: binomial trees shifted for each rank, one GPU per node. Every rank sends as much as in a ring.
func (c *Cluster) patTiming(o *option, f function) {
	factor := f.factor(c.Ranks())
	o.bound = ceiling{}.tighter(c.net.limit()/factor, c.nicNames)
	o.bulk = c.net.wire() * patShare / factor
	o.wire = factor / float64(max(1, c.net.nics))
	o.alpha = o.measured.latency
}
