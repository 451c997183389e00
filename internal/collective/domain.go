package collective

import (
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// traysOf is how many of a cluster's machines one NVLink domain joins: NCCL treats the GPUs of one domain as
// one node, however many operating systems they run under (nccl, src/mnnvl.cc: multi-node NVLink is used where the
// driver offers it, unless NCCL_MNNVL_ENABLE=0). It is 1 where each machine is its own node. Where the machines do not fill
// domains evenly, it is the largest number that does.
func traysOf(cat *catalog.Catalog, hw fabric.Hardware) int {
	if hw.Nodes < 2 || hw.GPUsPerNode < 1 || hw.NVLink != nil && !*hw.NVLink {
		return 1
	}
	id, _, err := cat.GPU(hw.GPU)
	if err != nil {
		return 1
	}
	reach := 0
	for _, m := range cat.Machines {
		if m.GPU == id && int(m.GPUs.Value) == hw.GPUsPerNode {
			reach = max(reach, int(m.ScaleUpGPUs.Value)/hw.GPUsPerNode)
		}
	}
	for n := min(reach, hw.Nodes); n > 1; n-- {
		if hw.Nodes%n == 0 {
			return n
		}
	}
	return 1
}

// joined is the hardware with the machines of a domain counted as one.
func (c *Cluster) joined() fabric.Hardware {
	hw := c.hw
	if c.trays > 1 {
		hw.Nodes, hw.GPUsPerNode, hw.NICsPerNode, hw.Machine = c.nodes(), c.local(), c.hw.NICsPerNode*c.trays, ""
	}
	return hw
}

// wideDomain lowers the rate of reductions in the switches for domains of more GPUs than a machine has: every GPU
// then serves a smaller piece of each sum, to more others. 541 GB/s per GPU of 8 GB300 in two trays, 480 of 64 in 16
// (oracle-quickstart, OCI GPU shapes, GB300): 3.9 percent for each doubling.
func (c *Cluster) wideDomain() {
	const perDoubling = 0.961
	for n := 16; n <= c.local(); n *= 2 {
		c.gpu.nvls *= perDoubling
	}
}

// exits is the share of a node's NICs by which the channels of an algorithm leave. NCCL's search gives a channel one NIC, and
// finds at most 32: of the 72 NICs of a rack that is one node most have no channel. In a machine all have one.
func (c *Cluster) exits(a Algorithm) float64 {
	const most = 32 // channels of a search (nccl, src/include/device.h, MAXCHANNELS, of which half are found)
	if c.local() <= most || c.nodes() == 1 {
		return 1
	}
	used := map[int]bool{}
	for _, channel := range c.graphs.of(a).Order {
		used[channel.Out] = true
	}
	if len(used) == 0 {
		return 1
	}
	return min(1, float64(len(used))/float64(c.net.nics))
}
