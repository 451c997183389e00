package collective

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
)

// configured is the cluster after the environment of a job is applied, with a note on each change.
func (c *Cluster) configured(job Job) (*Cluster, []fabric.Assumption) {
	var notes []fabric.Assumption
	if c.apart != nil && job.Env["NCCL_MNNVL_ENABLE"] == "0" {
		used, notes := c.apart.configured(job)
		return used, append(notes, fabric.Assumption{What: "each machine is its own node", Source: "NCCL_MNNVL_ENABLE=0"})
	}
	changed := *c
	note := func(name, what string) {
		notes = append(notes, fabric.Assumption{What: what, Source: name + "=" + job.Env[name]})
	}
	if job.Env["NCCL_P2P_DISABLE"] == "1" && c.gpu.wiring != overPCIe && c.local() > 1 {
		changed.overHost()
		note("NCCL_P2P_DISABLE", "GPUs of a machine exchange data through host memory")
	}
	if level := job.Env["NCCL_NET_GDR_LEVEL"]; (level == "LOC" || level == "0") && c.nodes() > 1 && c.net.direct && !c.gpu.unified {
		changed.net.direct = false
		changed.net.payload *= c.staged()
		note("NCCL_NET_GDR_LEVEL", "NICs reach GPUs through host memory only")
	}
	if t := changed.net.twins; t != nil && t.both != nil && number(job, "NCCL_SWITCHLESS_RING_ONLY") > 0 {
		used := *t
		used.hop, used.both = *t.both, nil
		changed.net.twins = &used
		note("NCCL_SWITCHLESS_RING_ONLY", "a patched NCCL uses both functions of a port for a neighbour")
	}
	if n := number(job, "NCCL_IB_QPS_PER_CONNECTION"); n >= queuePairs && c.net.uneven > 0 {
		changed.net.payload = min(changed.net.payload/c.net.uneven, changed.net.room)
		note("NCCL_IB_QPS_PER_CONNECTION", fmt.Sprintf("%d flows per connection spread over switch ports", n))
	}
	if n := number(job, "NCCL_MAX_NCHANNELS"); n > 0 && !c.gpu.amd && n < c.graphs.channels() {
		changed.fewChannels(n)
		note("NCCL_MAX_NCHANNELS", fmt.Sprintf("%d channels instead of %d", n, c.graphs.channels()))
	}
	if len(notes) > 0 {
		changed.named()
	}
	return &changed, notes
}

// number reads a setting; 0 for one that is unset or not a number above 0.
func number(job Job, name string) int {
	text, ok := job.Env[name]
	if !ok {
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(text))
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// queuePairs is the number of queue pairs from which a connection's flows spread evenly over equal paths.
const queuePairs = 4

// overHost removes the links between GPUs: data goes through host memory, in and out of it.
func (c *Cluster) overHost() {
	c.gpu.wiring = overPCIe
	c.gpu.limit = c.gpu.pcie * pciePayload
	c.gpu.ring, c.gpu.model, c.gpu.nvls = c.gpu.limit*withoutDirect, c.gpu.pcie*withoutDirect, 0
	for _, g := range []*ncclgraph.Graph{&c.graphs.ring, &c.graphs.tree, &c.graphs.chain} {
		g.TypeIntra = ncclgraph.PathPHB
		g.BWIntra = min(g.BWIntra, c.gpu.model/float64(max(1, g.Channels)))
	}
	c.graphs.nvls.Channels = 0
}

// channelMost is the most that one channel carries with Simple, GB/s: NCCL splits faster ones (nccl, src/graph/search.cc,
// ncclTopoDupChannels: 25, and 50 from compute capability 9.0 on).
func channelMost(sm int) float64 {
	if sm > 80 {
		return 50
	}
	return 25
}

// fewChannels limits the links to what that many channels carry.
func (c *Cluster) fewChannels(n int) {
	most := float64(n) * channelMost(c.gpu.sm)
	share := float64(n) / float64(c.graphs.channels())
	for _, g := range []*ncclgraph.Graph{&c.graphs.ring, &c.graphs.tree} {
		g.Channels = max(1, int(float64(g.Channels)*share))
	}
	c.gpu.ring = min(c.gpu.ring, most)
	if blocks := c.nvlsBlocks(); n < blocks {
		c.gpu.nvls *= float64(n) / float64(blocks)
	}
	if c.nodes() > 1 {
		c.net.payload = min(c.net.payload, most/(float64(c.net.nics)*c.net.line))
	}
}
