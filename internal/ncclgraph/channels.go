package ncclgraph

// CollChannels is how many channels NCCL runs for what Graphs found: two for each of the search, and more where that
// does not fill the links; NCCL_MAX_NCHANNELS and NCCL_MIN_NCHANNELS have the last word (ncclTopoPostset). The log
// says it as "24 coll channels". 0 where there is no ring.
func (s *System) CollChannels(graphs []Graph) int {
	ring, tree, chain := graphOf(graphs, GraphRing), graphOf(graphs, GraphTree), graphOf(graphs, GraphCollNetChain)
	n := ring.Channels
	if tree.Channels > 0 {
		n = min(n, tree.Channels)
	}
	if n == 0 {
		return 0
	}
	n = min(2*n, maxChannels)
	if chain.Channels > 0 && chain.BWIntra > chain.BWInter && len(s.GPUs) > 1 {
		n = min(n+n/2, maxChannels)
	}
	if s.SM >= 90 && s.Inter && ring.BWIntra > 45 && n < 16 {
		n *= 2 // few NICs: four channels of its own for each of the search
	}
	return max(min(n, s.options.mostChannels()), s.options.leastChannels())
}

// NVLSChannels is how many channels NCCL runs for NVLS (ncclNvlsInit); 0 where the host has none.
func (s *System) NVLSChannels() int {
	switch {
	case s.excluded(GraphNVLS) != "":
		return 0
	case s.SM < 100:
		return 16
	case s.options.Nodes > 1:
		return 32
	}
	return 24
}

func graphOf(graphs []Graph, id GraphID) Graph {
	for _, g := range graphs {
		if g.ID == id {
			return g
		}
	}
	return Graph{ID: id}
}

// mostChannels is NCCL_MAX_NCHANNELS, or by its old name NCCL_MAX_NRINGS.
func (o Options) mostChannels() int {
	n := o.integer("NCCL_MAX_NRINGS", maxChannels)
	return int(max(min(o.integer("NCCL_MAX_NCHANNELS", n), maxChannels), 1))
}

// leastChannels is NCCL_MIN_NCHANNELS, or by its old name NCCL_MIN_NRINGS.
func (o Options) leastChannels() int {
	n := o.integer("NCCL_MIN_NRINGS", 0)
	return int(max(min(o.integer("NCCL_MIN_NCHANNELS", n), maxChannels), 0))
}
