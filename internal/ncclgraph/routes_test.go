package ncclgraph

// Route is what NCCL holds of the way between two GPUs, by their ranks: its type, GB/s and hops.
func (s *System) Route(from, to int) (t PathType, rate float64, hops int, ok bool) {
	a, b := s.gpuByRank(from), s.gpuByRank(to)
	if a == nil || b == nil {
		return PathDIS, 0, 0, false
	}
	r := a.routes[nodeGPU][b.index]
	return r.typ, gbs(r.bw), r.count, true
}

// NetRoute is what NCCL holds of the way from a GPU, by its rank, to a NET, by its dev.
func (s *System) NetRoute(rank, dev int) (t PathType, rate float64, hops int, ok bool) {
	gpu := s.gpuByRank(rank)
	for _, net := range s.nodes[nodeNET] {
		if gpu != nil && net.dev == dev {
			r := gpu.routes[nodeNET][net.index]
			return r.typ, gbs(r.bw), r.count, true
		}
	}
	return PathDIS, 0, 0, false
}
