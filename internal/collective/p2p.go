package collective

import (
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// Every send and receive of a rank to one peer is posted and answered separately: peerTime us each. 16 ranks take
// 47 us for an alltoall of small sizes and 32 take 91 (P29; Broadcom 957608-AN209, 8.7.2.1.1).
const (
	peerBase = 6.6 // Ring with LL, of NCCL's tables
	peerTime = 2.75

	peerFloor = 8 // us, of RoCE: part of what was measured
)

// Pieces above smallPeerBytes go to a peer with Simple, smaller ones with LL (nccl, src/enqueue.cc,
// NCCL_P2P_LL_THRESHOLD); over the network a step of Simple takes simpleLater us more (Ring, of NCCL's tables).
const (
	smallPeerBytes = 16384
	simpleLater    = 14 - 2.7
)

// peerMessage is the bytes of a message to a peer over the network (nccl, src/init.cc, NCCL_P2P_NET_CHUNKSIZE).
const peerMessage = 128 << 10

// meshPeers is what sending to all peers at once reaches of rings over XGMI: 361 of 409 GB/s on eight MI355X
// (oracle-quickstart, OCI GPU shapes, MI355X).
const meshPeers = 0.88

// pattern is what a rank sends per byte of size, in total and to other nodes, to how many peers, and over how
// many of its links or NICs.
type pattern struct {
	out, cross, peers float64
	everywhere        bool // to all peers at once: all links and NICs are used
}

func (c *Cluster) patternOf(collective fabric.Collective) pattern {
	n, g := float64(c.Ranks()), float64(c.local())
	p := pattern{out: (n - 1) / n, cross: (n - g) / n, peers: n - 1, everywhere: collective == fabric.AllToAll}
	if collective == fabric.SendRecv { // each to its neighbour: for one GPU of a node it is on another node
		p = pattern{out: 1, peers: 1}
		if c.nodes() > 1 {
			p.cross = 1
		}
	}
	return p
}

// peerToPeer: every rank sends directly to the ranks that need its data. In a gather or a scatter only the root
// is busy, with its own links and NICs.
func (c *Cluster) peerToPeer(job Job) option {
	p := c.patternOf(job.Collective)
	o := option{algorithm: algorithms, protocol: Simple}
	o.alpha = peerBase + peerTime*p.peers
	if c.nodes() == 1 && c.gpu.wiring == overSwitch && c.isHopper() { // no proxy posts them, and each has channels of its own
		o.alpha = peerBase + peerTime + perPeer*(p.peers-1)
	}
	if c.local() > 1 {
		links := 1.0
		if c.gpu.wiring == overMesh && job.Collective == fabric.SendRecv {
			links = float64(min(c.gpu.links, c.local()-1)) // a pair uses one of them
		}
		o.bound = ceiling{}.tighter(c.gpu.limit/(p.out*links), c.linkNames)
		o.bulk = c.gpu.ring / (p.out * links)
		if c.gpu.wiring == overMesh && p.everywhere {
			o.bulk *= meshPeers
		}
	} else {
		o.bulk = math.Inf(1)
	}
	if c.nodes() == 1 {
		o.rise = c.peerRise(p, job.Collective, o.bulk)
		return o
	}
	if c.gpu.wiring == overPCIe && job.is("NCCL_P2P_DISABLE", 1) && job.is("NCCL_SHM_DISABLE", 1) {
		p.cross = p.out // the GPUs of a machine are also connected by the network only
		o.bound, o.bulk = ceiling{}, math.Inf(1)
	}
	c.peerNetwork(&o, p)
	return o
}

// peerRise is how much longer operations between GPUs of a node take than their links need, us: by the blocks of their channels,
// and where all send to all, by the FIFOs too.
func (c *Cluster) peerRise(p pattern, collective fabric.Collective, bulk float64) func(float64) float64 {
	if c.gpu.wiring != overSwitch {
		return nil
	}
	n := c.Ranks() // with the rank's own piece, which the same blocks copy
	both := p.everywhere || collective == fabric.SendRecv
	switch {
	case !c.isHopper() && !both: // a gather and a scatter were not held back by their channels
		return nil
	case !c.isHopper():
		return c.fifos(float64(c.peerChannels()), p.out, bulk)
	case !both:
		return func(size float64) float64 { return max(0, c.rootBlocks(size/float64(n))-size/(1000*bulk)) }
	case collective == fabric.SendRecv:
		return func(size float64) float64 { return max(0, c.peerBlocks(1, size)-size/(1000*bulk)) }
	}
	fill := c.fifos(float64(c.peerChannels()), p.out, bulk)
	return func(size float64) float64 {
		return max(fill(size), c.peerBlocks(n, size/float64(n))-size/(1000*bulk))
	}
}

// peerNetwork adds the network to what peers send.
func (c *Cluster) peerNetwork(o *option, p pattern) {
	nics, g := float64(c.net.nics), float64(c.local())
	line := c.net.limit() / nics * max(1, nics/g) // of the NICs of a GPU
	o.wire = p.cross / max(1, nics/g)
	name, reached := c.nicNames, c.net.wire()/c.net.limit()
	if hop := c.net.hop(); c.net.twins != nil && !p.everywhere { // a peer is behind one port
		line, reached, name = line*hop.bound, reached*hop.reached/hop.bound, c.hopNames
		o.wire = p.cross / float64(hop.nics)
	}
	if p.everywhere {
		line = c.net.limit() / g
		o.wire = p.cross * g / nics
	}
	line = min(line, c.gpu.pcie*pciePayload)
	o.bound = o.bound.tighter(line/p.cross, name)
	if p.everywhere {
		reached *= c.congestion()
	}
	reached *= line
	if c.net.copies > 0 {
		reached = min(reached, socketRate(c.net.copies, peerMessage))
	}
	o.bulk = min(o.bulk, reached/p.cross)
	o.fabric = max(0, c.net.floor-peerFloor)
	if !c.gpu.amd {
		o.late, o.from = simpleLater, int64(smallPeerBytes*c.Ranks())
	}
}

// congestion is what many senders to one receiver leave at large sizes: 0.97 on two nodes, and 0.78 of the line rate on
// four of two fabrics.
func (c *Cluster) congestion() float64 {
	if c.nodes() <= 2 {
		return 0.97
	}
	return 0.85
}
