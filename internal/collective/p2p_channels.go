package collective

// What a channel moves of point-to-point operations on Hopper, GB/s. Alone it sends to one peer and receives from another: 16
// channels of two H200 take 873 us for a sendrecv of 256 MiB (NCCL 2.28.9), 9 of them for the launch. With several operations at once
// it moves no more between GPUs, and 29.1 with the rank's own piece, which needs no FIFO: an alltoall of the same GPUs with
// NCCL_MAX_P2P_NCHANNELS=1.
const (
	peerAlone  = 20
	peerShared = 29.1
)

// A part of an operation that one channel takes, bytes: more channels are used above the largest (nccl, src/enqueue.cc,
// addP2pToPlan: 32 pieces of NCCL_P2P_NVL_CHUNKSIZE), and fewer below the smallest.
const (
	peerPartLeast = 64 << 10
	peerPartMost  = 16 << 20
)

// peerStep is what a receiver waits for before it begins, bytes (nccl, src/init.cc, NCCL_P2P_NVL_CHUNKSIZE).
const peerStep = 512 << 10

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
	for bytes/float64(takes) > peerPartMost && takes <= all/2 {
		takes *= 2
	}
	return usual, takes
}

// peerBlocks is the time in which the channels of a rank carry out its operations with peers in both directions, us: so many
// operations of one size. Where more bytes get more channels and would take less time, they take as long as the largest with fewer.
func (c *Cluster) peerBlocks(operations int, bytes float64) float64 {
	usual, takes := c.peerTakes(bytes)
	alone := func(part float64) float64 { return (part + min(part, peerStep)) / (1000 * peerAlone) }
	var t float64
	if all := c.peerChannels(); takes*operations > all {
		n := float64(takes*operations) / float64(all) // of a channel
		part := bytes / float64(takes)
		t = part * max(min(n, float64(operations-1))/peerAlone, n/peerShared) / 1000
	} else {
		t = alone(max(bytes/float64(takes), min(bytes, peerPartLeast)))
	}
	if takes > usual {
		return max(t, alone(peerPartMost))
	}
	return t
}
