package collective

// What a channel moves of point-to-point operations on Hopper, GB/s. Alone it sends to one peer and receives from another: a sendrecv
// of 16 MiB by two H100 with NCCL_MAX_P2P_NCHANNELS=2, of which it takes one, lasts 796 us (NCCL 2.28.9), 13 of them for the launch: 21.7
// with the posts of its pieces. With several peers at once it moves 20 between GPUs, of an alltoall of four H100 with
// NCCL_MAX_NCHANNELS=1, and 29.1 with the rank's own piece, which needs no FIFO, of one of two H200 with NCCL_MAX_P2P_NCHANNELS=1.
const (
	peerAlone   = 23.7 // beside what posting a piece takes
	peerSeveral = 20
	peerShared  = 29.1
)

// What a channel of the root moves of a gather or a scatter, in one direction, GB/s: alone, and with all of its operations where it has
// several, of which one is the root's own piece. A gather of 16 MiB by two H100 takes 244 us with NCCL_MAX_P2P_NCHANNELS=2, one for each
// operation, and one of 256 MiB 2876 us, both for each (NCCL 2.28.9); 13 of them are the launch.
const (
	rootAlone  = 37
	rootShared = 47
)

// peerStep is the piece in which a channel sends between the GPUs of a node, which a receiver waits for before it begins, bytes: that of
// NCCL_P2P_NVL_CHUNKSIZE, and never more than a FIFO has a step for (nccl, src/init.cc, computeBuffSizes; src/include/device.h, NCCL_STEPS).
// More channels are used above 32 pieces in one, and fewer below an eighth of a piece (src/enqueue.cc, addP2pToPlan).
func (b blockSet) peerStep() float64 {
	step := 512.0 * (1 << 10)
	if b.piece > 0 {
		step = b.piece
	}
	return min(step, b.bufferOf()/8)
}

// peerChannels is how many channels NCCL has for point-to-point operations: the next power of two of those of collectives, within a
// limit of their own (nccl, src/graph/paths.cc, ncclTopoComputeP2pChannels).
func (c *Cluster) peerChannels() int {
	n := c.channels()
	if c.blocks.peers > 0 {
		n = min(n, c.blocks.peers)
	}
	return powerAbove(n)
}

func powerAbove(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}

// peerTakes is how many channels an operation takes: so many that operations with all ranks have one each at least, and twice as many
// while a part is too large (nccl, src/enqueue.cc, scheduleP2pTasksToPlan and addP2pToPlan).
func (c *Cluster) peerTakes(bytes float64) (usual, takes int) {
	all := c.peerChannels()
	usual = all
	for usual*c.Ranks() > all && usual > 1 {
		usual /= 2
	}
	takes = usual
	for bytes/float64(takes) > 32*c.blocks.peerStep() && takes <= all/2 {
		takes *= 2
	}
	return usual, takes
}

// peerBlocks is the time in which the channels of a rank carry out its operations with peers in both directions, us: so many
// operations of one size. Where more bytes get more channels and would take less time, they take as long as the largest with fewer.
func (c *Cluster) peerBlocks(operations int, bytes float64) float64 {
	usual, takes := c.peerTakes(bytes)
	step := c.blocks.peerStep()
	rate := step / (step/peerAlone + 1000*post) // GB/s
	alone := func(part float64) float64 {
		least := bytes / c.gpu.ring
		filled := min(1, least*rate/part) // share of the links: only channels that fill them wait for one another's beginning
		return 1 / joint(1000*rate/(part+filled*min(part, step)), 1000/least)
	}
	var t float64
	if all := c.peerChannels(); takes*operations > all {
		n := float64(takes*operations) / float64(all) // of a channel
		part := bytes / float64(takes)
		t = part * max(min(n, float64(operations-1))/peerSeveral, n/peerShared) / 1000
	} else {
		t = alone(max(bytes/float64(takes), min(bytes, step/8)))
	}
	if takes > usual {
		return max(t, alone(32*step))
	}
	return t
}

// rootBlocks is the time in which the channels of the root of a gather or a scatter carry out its operations, each of so many bytes, us.
func (c *Cluster) rootBlocks(bytes float64) float64 {
	_, takes := c.peerTakes(bytes)
	each := float64(takes*c.Ranks()) / float64(c.peerChannels()) // operations of a channel
	return bytes / (1000 * float64(takes) * min(rootAlone, rootShared/max(1, each)))
}
