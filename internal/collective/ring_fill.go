package collective

// fifos is the time that FIFOs of channels take from GPUs that send and receive at the same time over NVLink. In
// one direction only, as in a broadcast, none was measured.
func (c *Cluster) fifos(channels, factor, bulk float64) func(float64) float64 {
	return pipeline(c.est.ringPasses, channels*c.blocks.bufferOf()/factor, bulk)
}

// simpleStart is how much later a ring with Simple ends for each channel that is started, us: two H200 take 16.2 up to 2 KiB, which
// is one, and 20.5 from 16 to 256 KiB with 24 (NCCL 2.28.9, NCCL_ALGO=Ring NCCL_PROTO=Simple).
const simpleStart = (20.5 - 16.2) / 23

// ringOf is what rings reach over the links of so many GPUs, GB/s. The catalog's figure is of four GPUs of Hopper: with fewer the blocks of
// a channel spend more of their time on pieces that they keep, beside what the links take. A broadcast and a reduction keep nothing.
func (c *Cluster) ringOf(f function) float64 {
	const measured = 4
	once := f == fnBroadcast || f == fnReduce
	if once || !c.isHopper() || c.gpu.wiring != overSwitch || c.nodes() > 1 {
		return c.gpu.ring
	}
	blocks := func(n int) float64 {
		return float64(c.usual()) * c.simpleRate(blockSet{}, c.usual(), fnAllReduce.ringWork(n), blockThreads)
	}
	own := blocks(measured)
	if own <= c.gpu.ring { // with so few channels the figure is not that of these rings
		return c.gpu.ring
	}
	return joint(blocks(c.Ranks()), beside(own, c.gpu.ring))
}

// ringFill is the time that a ring over NVLink takes longer than its links need. All channels begin at the same time, so that all of a
// GPU wait together while a piece is received for the last time and nothing is sent, and the blocks that work longest on what they
// send all do so together. Channels drift apart over the pieces of a size, and what one does not send another does.
// Of other GPUs no block was measured; those of Ampere read what a neighbour holds for them (nccl, src/graph/paths.cc,
// ncclTopoCheckP2p), so that none stops sending.
func (c *Cluster) ringFill(f function, links, bus float64) func(float64) float64 {
	if !c.isHopper() {
		return c.fifos(float64(c.channels()), f.factor(c.Ranks()), max(links, bus)/f.factor(c.Ranks()))
	}
	slope, drifted := c.together(f, max(links, bus), bus), c.drifted(f)
	return func(size float64) float64 { return slope*size*drifted/(size+drifted) - c.cached(f, links, bus, size) }
}

// drift is after how many pieces of a channel the channels no longer stop together: an all_reduce of two H200 lost 0.74 us per MB up to
// 301 us, an all_gather 0.45 up to 222 (NCCL 2.28.9, 8 MiB to 8 GiB), which are 12 and 10 pieces.
const drift = 11

// drifted is the size up to which the channels of a ring stop together, bytes. A piece is half of a FIFO (nccl, src/include/device.h,
// ALLREDUCE_CHUNKSTEPS and those beside it), and a channel handles one for each stage of a round of a piece from every rank.
func (c *Cluster) drifted(f function) float64 {
	stages := 0
	for _, s := range f.ringWork(c.Ranks()).stages {
		stages += s.times
	}
	round := float64(c.Ranks()*c.channels()) * c.blocks.bufferOf() / 2
	return drift * round / float64(stages)
}

// cached is how much less time a size takes than at the bandwidth of large ones, us: what has gone through FIFOs and is still in the
// L2 cache is loaded sooner, which shows where blocks are slower than links.
func (c *Cluster) cached(f function, links, bus, size float64) float64 {
	do, factor := f.ringWork(c.Ranks()), f.factor(c.Ranks())
	do.moved = factor * size
	return factor * size * (1/bus - 1/max(bus, c.throttled(links, do, whole))) / 1000
}

// together is how much longer the stages of a ring take than at its bandwidth where all channels are at the same one, us per
// byte of size.
func (c *Cluster) together(f function, links, bus float64) float64 {
	do := f.ringWork(c.Ranks())
	rate := func(s stage) float64 {
		one := work{[]stage{s}, s.times, do.slices, 0}
		return float64(c.channels()) * c.simpleRate(c.blocks, c.channels(), one, c.blocks.threadsOf(Simple))
	}
	t := 0.0
	for _, s := range do.stages {
		if s.times > 0 {
			t += float64(s.times) / joint(rate(s), links)
		}
	}
	last := rate(do.last()) // sends nothing
	t += 1/last - 1/joint(last, links)
	return max(0, t-float64(do.sends)/bus) / (1000 * float64(c.Ranks()))
}
