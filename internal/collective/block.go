package collective

import "math"

// blockSet is how the channels of a job are set up: each is one thread block on every GPU, with a FIFO in memory between
// two GPUs.
type blockSet struct {
	count   int     // channels; 0: as many as the graphs have
	peers   int     // most channels of point-to-point operations; 0: NCCL's own
	threads int     // of a block with Simple and with LL; 0: NCCL's own
	lines   int     // of a block with LL128; 0: NCCL's own
	buffer  float64 // bytes of a FIFO with Simple; 0: NCCL's own
	piece   float64 // bytes that point-to-point operations send at once within a node; 0: NCCL's own
}

// NCCL's own (nccl, src/include/device.h: NCCL_SIMPLE_MAX_NTHREADS, NCCL_LL128_MAX_NTHREADS, WARP_SIZE; src/init.cc, DEFAULT_BUFFSIZE).
const (
	blockThreads = 512
	blockLines   = 640
	warp         = 32
	ringBuffer   = 4 << 20 // bytes
)

// pass is what a block of LL or LL128 takes to move what its threads hold at once: it waits for the loads, then its threads
// issue their stores one after the other. Both are from H200 (see the figures below); what is held follows from NCCL's code.
type pass struct {
	wait     float64 // us for data in the GPU's memory
	near     float64 // us for data in its L2 cache
	thread   float64 // us more for each thread
	holds    float64 // bytes of data of a thread
	forwards float64 // how much longer it takes where a rank sends on what it receives, than where it only receives
}

// rate in GB/s of a block of so many threads that makes one pass after another, with a share of its data in the L2 cache.
func (p pass) rate(threads int, cached float64) float64 {
	return p.holds * float64(threads) / (1000 * (p.wait + (p.near-p.wait)*cached + p.thread*float64(threads)))
}

// stage is what a block does with a piece between two neighbours with Simple: it loads it from so many places, its own
// buffer or a FIFO, adds where there are two, and stores it to so many. (nccl, src/device/all_reduce.h, all_gather.h,
// reduce_scatter.h, broadcast.h and reduce.h, out of place: a rank that sends what it keeps stores twice.)
type stage struct{ loads, stores, times int }

// work is what the blocks of a channel do for the pieces that a rank sends: those of the busiest rank. A FIFO is posted in so many
// slices.
type work struct {
	stages []stage
	sends  int
	slices float64
	moved  float64 // bytes through all FIFOs; 0: more than they hold
}

// ringWork is the work of a ring of n ranks on one piece of each rank, or on one piece where data only goes around once.
func (f function) ringWork(n int) work {
	switch f {
	case fnAllReduce:
		return work{[]stage{{1, 1, 2}, {2, 1, n - 2}, {2, 2, 1}, {1, 2, n - 2}}, 2*n - 2, fifoSlices, 0}
	case fnAllGather:
		return work{[]stage{{1, 2, n - 1}, {1, 1, 1}}, n - 1, fifoSlices, 0}
	case fnReduceScatter:
		return work{[]stage{{1, 1, 1}, {2, 1, n - 1}}, n - 1, fifoSlices, 0}
	case fnReduce:
		return work{[]stage{{2, 1, 1}}, 1, chainSlices, 0}
	default:
		return work{[]stage{{1, 2, 1}}, 1, chainSlices, 0}
	}
}

// last is the stage that a ring ends with, which receives and sends nothing.
func (w work) last() stage {
	if len(w.stages) == 2 {
		return w.stages[1]
	}
	return w.stages[0]
}

// treeWork is that of the threads that send down a tree, and so many of a block they are. A GPU between others sends up at the same
// time, by the other threads of its block, whose loads and stores are issued in turn with these: together as all threads would one
// after the other.
func (c *Cluster) treeWork() (work, func(int) int) {
	if c.local() > 2 {
		return work{[]stage{{2, 1, 1}, {1, 2, 1}}, 1, fifoSlices, 0}, whole
	}
	return work{[]stage{{1, 2, 1}}, 1, fifoSlices, 0}, treeDown
}

// With Simple a thread holds 8 packs of 16 bytes (nccl, src/device/common_kernel.h, from compute capability 8.0 on). What it
// waits for loads and what issuing them takes is from H200 with NCCL 2.28.9, busbw in GB/s of two GPUs unless said otherwise:
// all_reduce 21.0, 41.7 and 82.1 with 1, 2 and 4 channels of 512 threads, 27.7 with 4 of 64, whose FIFOs stay in the L2 cache;
// 116, 189 and 270 with 24 of 64, 128 and 256, whose FIFOs do not; of four GPUs 25, 50, 98 and 189 with 1, 2, 4 and 8. With 4
// channels all_gather reaches 60.0, reduce_scatter 71.9 and broadcast 89.3, with 24 of 128 threads 211, 169 and 362; reduce
// on two H100 134 with 4.
const (
	issueLoad  = 0.0006 // us of a thread
	issueStore = 0.0021 // us of a thread
	packs      = 8
	pack       = 16 // bytes
)

// waits are us that a block waits for the loads of a stage: of one place, of two, and of two whose sum it keeps and sends on.
type waits [3]float64

func waitsCache() waits  { return waits{0.55, 0.55, 1.0} }  // the FIFO in the L2 cache
func waitsMemory() waits { return waits{0.65, 1.15, 1.85} } // in the GPU's memory
func waitsHost() waits   { return waits{1.95, 1.95, 1.95} } // in host memory: one channel of two H200 without P2P, 14.0 GB/s

// overlap is how far waiting and issuing hide one another: warps of a block wait for theirs while others store, but a block of
// few warps stores what it has at once. 1 is not at all.
const overlap = 1.6

func (s stage) time(w waits, threads, share float64) float64 {
	issue := share * threads * (float64(s.loads)*issueLoad + float64(s.stores)*issueStore)
	wait := w[s.loads-1]
	if s.loads == 2 && s.stores == 2 {
		wait = w[2]
	}
	return math.Pow(math.Pow(wait, overlap)+math.Pow(issue, overlap), 1/overlap)
}

// cache is the L2 cache of a GPU, bytes: A100 has 40 MB, H100 and H200 50 (NVIDIA H100 architecture white paper). Larger ones
// of later GPUs would only matter for fewer than all channels.
const cache = 50e6

// fifoSlices are how many pieces of a FIFO are posted and waited for separately (nccl, src/include/device.h: NCCL_STEPS 8,
// ALLREDUCE_SLICESTEPS 2), chainSlices those of broadcast and reduce (BROADCAST_SLICESTEPS 1), and post is what that takes, us: two H200 with FIFOs of 64 KiB reach 104.8 GB/s with all
// channels, with 256 KiB 241, four 293.
const (
	fifoSlices  = 4
	chainSlices = 8
	post        = 2
)

// With LL a thread holds 8 bytes of data beside as many of flags; with LL128 a register holds 120 of 128 bytes, and
// a thread 64 (nccl, src/device/prims_ll.h, prims_ll128.h). Two H200 reach 5.32, 21.0 and 123.5 GB/s with 1, 4 and 24
// channels of LL by Ring, 112 by Tree, where a rank only receives; four reach 115 by Tree. LL128: 312.7 by Ring, 217 by Tree.
//
// A rank that sends on what it receives reaches 3.2 GB/s of a channel by Tree with LL on four H200, and 4.67 on two. With LL128 two
// channels of two H100 by Ring take 139 us for 4 MiB and 33.6 ms for 1 GiB; with LL two take 0.7, and all 0.85 of the time per byte, for what is loaded from the cache.
func passLL() pass    { return pass{wait: 0.35, near: 0.22, thread: 0.00033, holds: 8, forwards: 1.46} }
func passLL128() pass { return pass{wait: 1.17, near: 1.0, thread: 0.00054, holds: 60, forwards: 1.19} }

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

// simpleRate is what a block sends with Simple, GB/s, in a cluster of so many channels.
func (c *Cluster) simpleRate(b blockSet, channels int, do work, threads int) float64 {
	used := float64(channels) * b.bufferOf()
	if do.moved > 0 {
		used = min(used, do.moved)
	}
	far := min(1, used/cache) // share of loads whose FIFO is not in the cache
	w, memory := waitsCache(), waitsMemory()
	for i := range w {
		w[i] += (memory[i] - w[i]) * far
	}
	if c.hosted {
		w = waitsHost()
	}
	n, slice := float64(threads), b.bufferOf()/do.slices
	full := math.Floor(slice / (packs * pack * n))
	rest := math.Ceil((slice - full*packs*pack*n) / (pack * n)) // one pack a thread at a time, of which none waits for another
	t := 0.0
	for _, s := range do.stages {
		t += float64(s.times) * (full*s.time(w, n, 1) + min(rest, 1)*s.time(w, n, rest/packs) + post)
	}
	return float64(do.sends) * slice / (1000 * t)
}

// pagedRate is what a block sends with Simple where the network leaves what it received in pages, GB/s: before its own work the block
// copies the pages of a piece together. A warp takes one page after the other, and each of its threads loads one pack and stores it
// before it loads the next, so that a pass moves a pack of each thread after the wait for one load (nccl,
// src/device/network/unpack/unpack.h, ncclNetDeviceUnpackInner). The wait is that of two H200, see above. A last round in which
// some warps have no page takes as long as a full one.
func (c *Cluster) pagedRate(do work) float64 {
	threads := c.blocks.threadsOf(Simple)
	n, slice := float64(threads), c.blocks.bufferOf()/do.slices
	rounds := math.Ceil(slice / c.net.pages / (n / warp))
	passes := rounds * math.Ceil(c.net.pages/(pack*warp))
	copied := slice / (1000 * passes * stage{loads: 1, stores: 1}.time(waitsMemory(), n, 1.0/packs))
	own := c.simpleRate(c.blocks, c.channels(), do, threads)
	return 1 / (1/copied + 1/own)
}

// joint is what two limits in series leave: near one another each adds to the waits of the other. Four H200 with 16
// channels of 22 GB/s reach 321 over links of which a ring of all channels reaches 363, and all channels of two, whose blocks
// could send 435, reach 353.
func joint(a, b float64) float64 {
	return math.Pow(math.Pow(a, -jointSharp)+math.Pow(b, -jointSharp), -1.0/jointSharp)
}

const jointSharp = 6

// beside is the limit that leaves so much with another one in series, which must be above it.
func beside(other, left float64) float64 {
	return math.Pow(math.Pow(left, -jointSharp)-math.Pow(other, -jointSharp), -1.0/jointSharp)
}

// throttled is what links of a rate keep where a job has fewer, smaller or slower channels than NCCL's own, which do so much
// work with so many of a block's threads.
func (c *Cluster) throttled(rate float64, do work, threads func(int) int) float64 {
	if c.gpu.amd || c.blocks == (blockSet{}) {
		return rate
	}
	most := func(b blockSet, channels int) float64 {
		return float64(channels) * c.simpleRate(b, channels, do, threads(b.threadsOf(Simple)))
	}
	is, usual := most(c.blocks, c.channels()), most(blockSet{}, c.usual())
	if is > usual && usual > rate { // beyond what the usual blocks leave of the links
		return joint(is, beside(usual, rate))
	}
	return rate * joint(is, rate) / joint(usual, rate)
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

// flagged is the bus bandwidth that the threads of LL and LL128 reach within a node with a share of the data in the L2 cache, GB/s;
// infinite where none was measured. Other generations differ as NCCL's own figures for them do.
func (c *Cluster) flagged(p Protocol, moved float64, threads int, cached float64) float64 {
	if !c.blocksKnown() {
		return math.Inf(1)
	}
	gen := generation(c.gpu.sm)
	one, as := passLL(), c.tables.ll[gen][0]/c.tables.ll[hopper][0]
	if p == LL128 {
		one, as = passLL128(), c.tables.ringLL128[gen][0]/c.tables.ringLL128[hopper][0]
	}
	return float64(c.channels()) * moved * one.rate(threads, cached) * as
}

// blocksKnown reports whether the threads of LL and LL128 were measured: within a node, over switches.
func (c *Cluster) blocksKnown() bool { return c.gpu.wiring == overSwitch && c.nodes() == 1 }

// isHopper reports whether the GPUs are those on which the work of blocks was measured.
func (c *Cluster) isHopper() bool { return !c.gpu.amd && generation(c.gpu.sm) == hopper }

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
