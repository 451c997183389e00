package collective

import "math"

// blockSet is how the channels of a job are set up: each is one thread block on every GPU, with a FIFO in memory between
// two GPUs.
type blockSet struct {
	count   int     // channels; 0: as many as the graphs have
	threads int     // of a block with Simple and with LL; 0: NCCL's own
	lines   int     // of a block with LL128; 0: NCCL's own
	buffer  float64 // bytes of a FIFO with Simple; 0: NCCL's own
}

// NCCL's own (nccl, src/include/device.h: NCCL_SIMPLE_MAX_NTHREADS, NCCL_LL128_MAX_NTHREADS, WARP_SIZE; src/init.cc, DEFAULT_BUFFSIZE).
const (
	blockThreads = 512
	blockLines   = 640
	warp         = 32
	ringBuffer   = 4 << 20 // bytes
)

// pass is what a block takes to move what its threads hold at once: it waits for the loads, then its threads issue
// their stores one after the other. Both are from H200 (see the figures below); what is held follows from NCCL's code.
type pass struct {
	wait   float64 // us
	thread float64 // us more for each thread
	holds  float64 // bytes of data of a thread
}

// time of a pass in us, for a block of so many threads.
func (p pass) time(threads int) float64 { return p.wait + p.thread*float64(threads) }

// rate in GB/s of a block of so many threads that makes one pass after another.
func (p pass) rate(threads int) float64 {
	return p.holds * float64(threads) / (1000 * p.time(threads))
}

// Passes on H200 (NCCL 2.28.9). With Simple a thread holds 8 packs of 16 bytes (nccl, src/device/common_kernel.h, from
// compute capability 8.0 on). A ring of n GPUs handles each piece 2n-1 times: two H200 reach 21.0, 41.7 and 82.1 GB/s
// with 1, 2 and 4 channels of 512 threads and 27.7 with 4 of 64, whose FIFOs stay in the L2 cache; 119 with all 24 of 64, whose FIFOs
// do not. Four reach 25, 50, 98 and 189 with 1, 2, 4 and 8, and 161 and 260 with 24 of 64 and of 128.
const (
	waitCache  = 0.59   // us, of loads from the L2 cache
	waitMemory = 0.84   // us, of loads from the GPU's memory
	waitHost   = 1.43   // us, of loads from host memory: one channel of two H200 without P2P, 14.0 GB/s
	perThread  = 0.0033 // us
	packs      = 8
	pack       = 16 // bytes
)

// cache is the L2 cache of a GPU, bytes: A100 has 40 MB, H100 and H200 50 (NVIDIA H100 architecture white paper). Larger ones
// of later GPUs would only matter for fewer than all channels.
const cache = 50e6

// fifoSlices are how many pieces of a FIFO are posted and waited for separately (nccl, src/include/device.h: NCCL_STEPS 8,
// ALLREDUCE_SLICESTEPS 2), and post is what that takes, us: two H200 with FIFOs of 64 KiB reach 104.8 GB/s with all
// channels, four with 256 KiB 293.
const (
	fifoSlices = 4
	post       = 1.3
)

// With LL a thread holds 8 bytes of data beside as many of flags; with LL128 a register holds 120 of 128 bytes, and
// a thread 64 (nccl, src/device/prims_ll.h, prims_ll128.h). Two H200 reach 5.32, 21.0 and 123.5 GB/s with 1, 4 and 24
// channels of LL by Ring, 112 by Tree, where a rank only receives; four reach 115 by Tree. LL128: 312.7 by Ring, 217 by Tree.
func passLL() pass    { return pass{wait: 0.35, thread: 0.00033, holds: 8} }
func passLL128() pass { return pass{wait: 1.17, thread: 0.00054, holds: 60} }

// forwards is how much longer a pass takes in which a rank sends on what it receives, than one in which it only
// receives: 3.2 and 4.67 GB/s of a channel by Tree with LL on four and on two H200.
const forwards = 1.46

// channels is how many channels collectives use.
func (c *Cluster) channels() int {
	if c.blocks.count > 0 {
		return c.blocks.count
	}
	return c.graphs.channels()
}

// threads of a block.
func (b blockSet) threadsOf(p Protocol) int {
	switch {
	case p == LL128 && b.lines > 0:
		return b.lines
	case p == LL128:
		return blockLines
	case b.threads > 0:
		return b.threads
	default:
		return blockThreads
	}
}

// bufferOf is the FIFO of a channel with Simple, bytes.
func (b blockSet) bufferOf() float64 {
	if b.buffer > 0 {
		return b.buffer
	}
	return ringBuffer
}

// simpleRate is what a block moves with Simple, GB/s, in a cluster of so many channels.
func (c *Cluster) simpleRate(b blockSet, channels, threads int) float64 {
	far := min(1, float64(channels)*b.bufferOf()/cache) // share of loads whose FIFO is not in the cache
	p := pass{wait: waitCache + (waitMemory-waitCache)*far, thread: perThread, holds: packs * pack}
	if c.hosted {
		p.wait = waitHost
	}
	slice := b.bufferOf() / fifoSlices
	full := math.Floor(slice / (p.holds * float64(threads)))
	rest := math.Ceil((slice - full*p.holds*float64(threads)) / (pack * float64(threads))) // one pack a thread at a time
	t := full*p.time(threads) + rest*(p.wait+perThread/packs*float64(threads)) + post
	return slice / (1000 * t)
}

// joint is what two limits in series leave: near one another each adds to the waits of the other. Four H200 with 16
// channels of 22 GB/s reach 321 over links of which a ring of all channels reaches 363.
func joint(a, b float64) float64 {
	const sharp = 4
	return math.Pow(math.Pow(a, -sharp)+math.Pow(b, -sharp), -1.0/sharp)
}

// throttled is what links of a rate keep where a job has fewer, smaller or slower channels than NCCL's own: moved is
// the bytes that a block sends per byte that it moves, threads how many of its threads do that.
func (c *Cluster) throttled(rate, moved float64, threads func(int) int) float64 {
	own := c.usual()
	if c.gpu.amd || c.blocks == (blockSet{}) {
		return rate
	}
	most := func(b blockSet, channels int) float64 {
		return float64(channels) * moved * c.simpleRate(b, channels, threads(b.threadsOf(Simple)))
	}
	return rate * joint(most(c.blocks, c.channels()), rate) / joint(most(blockSet{}, own), rate)
}

// usual is how many channels NCCL has without settings of them.
func (c *Cluster) usual() int { return c.graphs.channels() }

// whole is all threads of a block.
func whole(n int) int { return n }

// treeDown is the threads of a block that send down a tree with Simple, and treeDownLL with LL and LL128 (nccl,
// src/device/all_reduce.h, runTreeSplit; src/enqueue.cc adds four warps for Simple, of which one synchronises).
func treeDown(n int) int {
	n += 4 * warp
	up := n / 2
	if up >= 256 {
		up += 2 * warp
	}
	return n - up - warp
}

func treeDownLL(n int) int { return n - n*7/(10*warp)*warp }

// flagged is the bus bandwidth that the threads of LL and LL128 reach within a node, GB/s; infinite where none was
// measured. Other generations differ as NCCL's own figures for them do.
func (c *Cluster) flagged(p Protocol, moved float64, threads int) float64 {
	if !c.blocksKnown() {
		return math.Inf(1)
	}
	gen := generation(c.gpu.sm)
	one, as := passLL(), c.tables.ll[gen][0]/c.tables.ll[hopper][0]
	if p == LL128 {
		one, as = passLL128(), c.tables.ringLL128[gen][0]/c.tables.ringLL128[hopper][0]
	}
	return float64(c.channels()) * moved * one.rate(threads) * as
}

// blocksKnown reports whether the threads of LL and LL128 were measured: within a node, over switches.
func (c *Cluster) blocksKnown() bool { return c.gpu.wiring == overSwitch && c.nodes() == 1 }

// movedByRing is the bytes that a ring of n ranks sends per byte that its blocks move: every piece is sent one time
// less than it is handled.
func (f function) movedByRing(n int) float64 {
	switch f {
	case fnAllReduce:
		return float64(2*n-2) / float64(2*n-1)
	case fnAllGather, fnReduceScatter:
		return float64(n-1) / float64(n)
	default:
		return 1
	}
}
