package collective

// nvlsTiming: each GPU reads its part of the sum from the switch and sends it back for all: for each byte of
// size it sends that byte and 1/g of one.
func (c *Cluster) nvlsTiming(o *option) {
	per := 1 + 1/float64(c.local())
	o.bound = ceiling{}.tighter(c.gpu.limit/per, c.linkNames)
	bulk := c.gpu.nvls / per
	if c.nodes() > 1 { // the network reduces
		o.bound = o.bound.tighter(c.net.limit(), c.nicNames)
		bulk = min(bulk, c.net.wire())
		o.wire = 1 / float64(max(1, c.net.nics))
	}
	o.alpha, o.bulk = o.measured.latency, bulk
	o.rise = pipeline(c.est.nvlsPasses, float64(c.nvlsBlocks()*c.local()*nvlsChunk), bulk)
}

// nvlsTreeTiming: NVLS within the node and a tree of the nodes.
func (c *Cluster) nvlsTreeTiming(o *option) {
	per := 1 + 1/float64(c.heads())
	o.bound = ceiling{}.tighter(c.gpu.limit/per, c.linkNames).tighter(c.net.limit()/c.treeWire(), c.nicNames)
	o.bulk = min(c.est.nvlsTree*c.gpu.nvls/per, c.net.wire()*c.exits(NVLSTree)*c.est.tree/c.treeWire())
	o.wire = c.treeWire() / (float64(max(1, c.net.nics)) * c.exits(NVLSTree))
	o.alpha = o.measured.latency
	o.alpha += c.posts()
	o.rise = c.nvlsTreePipeline(o.bulk)
}

// heads is how many GPUs of a node gather the sums for the network, each a part: one for each NIC that NCCL's search gives
// a channel (nccl, src/graph/search.cc, NCCL_TOPO_PATTERN_NVLS). A head sends its part back to all GPUs.
func (c *Cluster) heads() int {
	if n := c.graphs.nvls.Channels; n > 0 {
		return min(n, c.local())
	}
	return c.local()
}

// nvlsBlocks is how many thread blocks NVLS uses (nccl, src/transport/nvls.cc, ncclNvlsInit).
func (c *Cluster) nvlsBlocks() int {
	switch {
	case c.gpu.sm < 100:
		return 16
	case c.nodes() == 1:
		return 24
	default:
		return 32
	}
}

// postOverhead is what NCCL counts for a message that is posted to a NIC, us (nccl, src/graph/tuning.cc, getNetOverhead).
const postOverhead = 1

// posts is the extra time of the thread that posts to the NIC for more channels than the 16 of NCCL's figure for
// NVLSTree, each way.
func (c *Cluster) posts() float64 {
	more := float64(max(0, c.nvlsBlocks()-16))
	return 2 * float64(log2(c.nodes())) * more * postOverhead
}

// nvlsTreePipeline follows NCCL's choice of chunks: small sizes use small pieces, so that few are in
// flight at once (nccl, src/enqueue.cc, calcCollChunking, NVLS_TREE).
func (c *Cluster) nvlsTreePipeline(bulk float64) func(float64) float64 {
	blocks := float64(c.nvlsBlocks() * c.local())
	most := float64(128 << 10)
	if c.nodes() >= 4 {
		most = 64 << 10
	}
	return func(size float64) float64 {
		chunk := most
		for _, step := range []struct{ times, chunk float64 }{{16, 128 << 10}, {4, 64 << 10}, {1, 32 << 10}} {
			if chunk > step.chunk && size < step.times*blocks*chunk {
				chunk = step.chunk
			}
		}
		return pieces(c.est.nvlsTreePasses, blocks*chunk, bulk)(size)
	}
}

// nvlsChunk is the piece in which NVLS moves large sizes, bytes (nccl, src/enqueue.cc, calcCollChunking, NVLS).
const nvlsChunk = 128 << 10
