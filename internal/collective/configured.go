package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
)

// configured is the cluster after the environment of a job is applied, with a note on each change.
func (c *Cluster) configured(job Job) (*Cluster, []fabric.Assumption) {
	var notes []fabric.Assumption
	if c.apart != nil && job.is("NCCL_MNNVL_ENABLE", 0) {
		used, notes := c.apart.configured(job)
		return used, append(notes, fabric.Assumption{What: "each machine is its own node", Source: "NCCL_MNNVL_ENABLE=0"})
	}
	changed := *c
	changed.iterations = job.Iterations
	note := func(name, what string) {
		notes = append(notes, fabric.Assumption{What: what, Source: name + "=" + job.Env[name]})
	}
	changed.searchedAgain(job, note)
	if _, most := (ncclgraph.Options{Env: job.Env}).NetsPolicy(); most > 0 && most*c.local() < c.net.nics {
		changed.net.nics = most * c.local()
		note("NCCL_NETDEVS_POLICY", fmt.Sprintf("%d of %d NICs of a machine carry data", changed.net.nics, c.net.nics))
	}
	changed.between(job, note)
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
	changed.channelled(job, note)
	if changed.net.sockets {
		changed.net.overSockets(number(job, "NCCL_SOCKET_NTHREADS"), changed.blocks)
		if n := number(job, "NCCL_SOCKET_NTHREADS"); n > 1 {
			note("NCCL_SOCKET_NTHREADS", fmt.Sprintf("%d threads copy what a connection carries", n))
		}
	}
	if len(notes) > 0 {
		changed.named()
	}
	return &changed, notes
}

// queuePairs is the number of queue pairs from which a connection's flows spread evenly over equal paths.
const queuePairs = 4

// searches are the settings by which NCCL's search finds other paths (nccl, src/graph/paths.cc and search.cc).
func searches() []string {
	return []string{
		"NCCL_CROSS_NIC", "NCCL_NETDEVS_POLICY", "NCCL_NET_GDR_C2C", "NCCL_NET_GDR_LEVEL", "NCCL_NVB_DISABLE",
		"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_PXN_C2C", "NCCL_PXN_DISABLE",
	}
}

// searchedAgain repeats NCCL's search in the nominal machine where the environment changes it. Graphs of a topology file were found with
// the environment already.
func (c *Cluster) searchedAgain(job Job, note func(name, what string)) {
	if c.search == nil {
		return
	}
	before, set := c.graphs, map[string]string{}
	for _, name := range searches() {
		if value, ok := job.Env[name]; ok {
			set[name] = value
		}
	}
	if len(set) == 0 {
		return
	}
	found, err := c.search.graphs(set, c.version)
	if err != nil {
		return // the machine is the same: the search without settings found its graphs
	}
	c.graphs = found
	for _, name := range slices.Sorted(maps.Keys(set)) {
		if was, is := before.ring, found.ring; was.Channels != is.Channels || was.TypeInter != is.TypeInter || was.CrossNIC != is.CrossNIC {
			note(name, fmt.Sprintf("NCCL's search finds %d rings of %g GB/s, paths %s and %s, instead of %d of %g, %s and %s",
				is.Channels, is.BWIntra, is.TypeIntra, is.TypeInter, was.Channels, was.BWIntra, was.TypeIntra, was.TypeInter))
			return
		}
	}
}

// between applies the settings that keep GPUs of a machine from the links between them.
func (c *Cluster) between(job Job, note func(name, what string)) {
	level := job.Env["NCCL_P2P_LEVEL"]
	name := "NCCL_P2P_DISABLE"
	off := job.is(name, 1)
	if !off && (level == "LOC" || level == "0") {
		name, off = "NCCL_P2P_LEVEL", true
	}
	if !off || c.local() < 2 {
		return
	}
	if !c.gpu.hostOnly && !c.hosted {
		c.overHost()
		note(name, "GPUs of a machine exchange data through host memory")
	}
	if job.is("NCCL_SHM_DISABLE", 1) && c.nodes() == 1 && (c.net.nics == 0 || job.integer("NCCL_IB_DISABLE", 0) != 0 || strings.EqualFold(job.Env["NCCL_NET"], "Socket")) {
		c.gpu.ring, c.gpu.model = min(c.gpu.ring, withinHost), min(c.gpu.model, withinHost)
		note("NCCL_SHM_DISABLE", "GPUs of a machine exchange data through sockets")
	}
}

// overHost removes the links between GPUs: data goes through host memory, in and out of it.
func (c *Cluster) overHost() {
	c.gpu.wiring, c.hosted = overPCIe, true
	c.gpu.limit = c.gpu.pcie * pciePayload
	c.gpu.ring, c.gpu.model, c.gpu.nvls = c.gpu.limit*withoutDirect, c.gpu.pcie*withoutDirect, 0
	for _, g := range []*ncclgraph.Graph{&c.graphs.ring, &c.graphs.tree, &c.graphs.chain} {
		g.TypeIntra = ncclgraph.PathPHB
		g.BWIntra = min(g.BWIntra, c.gpu.model/float64(max(1, g.Channels)))
	}
	c.graphs.nvls.Channels = 0
}

// channelled sets the channels of a job, and what their blocks are: of several limits on their number NCCL takes the
// tightest, and then copies channels up to the least (nccl, src/graph/connect.cc, ncclTopoPostset).
func (c *Cluster) channelled(job Job, note func(name, what string)) {
	if c.gpu.amd {
		return
	}
	own := c.usual()
	n := own
	for _, name := range job.channelSettings("MAX") {
		if most := number(job, name); most > 0 && most < n {
			n = most
			note(name, fmt.Sprintf("%d channels instead of %d", n, own))
		}
	}
	for _, name := range job.channelSettings("MIN") {
		if least := min(number(job, name), mostChannels); least > n {
			n = least
			note(name, fmt.Sprintf("%d channels instead of %d", n, own))
		}
	}
	if n != own {
		c.blocks.count = n
	}
	if most := number(job, "NCCL_MAX_P2P_NCHANNELS"); most > 0 && most < mostChannels {
		c.blocks.peers = most
		note("NCCL_MAX_P2P_NCHANNELS", fmt.Sprintf("%d channels for sends and receives", c.peerChannels()))
	}
	if b := number(job, "NCCL_P2P_NVL_CHUNKSIZE"); b > 0 && c.gpu.wiring == overSwitch && c.nodes() == 1 {
		c.blocks.piece = float64(b)
		note("NCCL_P2P_NVL_CHUNKSIZE", fmt.Sprintf("sends and receives in pieces of %.0f bytes", c.blocks.peerStep()))
	}
	c.relinked(job, note)
	if blocks := c.nvlsBlocks(); n < own && n < blocks {
		c.gpu.nvls *= float64(n) / float64(blocks)
	}
	if t := threadsSet(job, "NCCL_NTHREADS", 2*warp, blockThreads); t > 0 {
		c.blocks.threads = t
		note("NCCL_NTHREADS", fmt.Sprintf("blocks of %d threads instead of %d", t, blockThreads))
	}
	if t := threadsSet(job, "NCCL_LL128_NTHREADS", blockLines/4, blockLines); t > 0 {
		c.blocks.lines = t
		note("NCCL_LL128_NTHREADS", fmt.Sprintf("blocks of %d threads for LL128 instead of %d", t, blockLines))
	}
	if b := number(job, "NCCL_BUFFSIZE"); b > 0 && b != ringBuffer {
		c.blocks.buffer = max(float64(b), leastBuffer)
		note("NCCL_BUFFSIZE", fmt.Sprintf("FIFOs of %d bytes instead of %d", int(c.blocks.buffer), ringBuffer))
	}
}

// linkSetting is a setting after which blocks use the links of a node otherwise, and what rings then reach of them.
type linkSetting struct {
	name  string
	value int64
	what  string
	share float64
}

// linkSettings are these: GPUs read from one another where they would write, and blocks are spread over a GPU where those of a
// cluster would be near one another. Two H100 reach 0.81 and 0.89 at 1 GiB, four H200 0.86 and 0.89 (NCCL 2.28.9); of other GPUs and values
// none was measured.
func (c *Cluster) linkSettings() []linkSetting {
	if !c.isHopper() || c.gpu.wiring != overSwitch || c.nodes() > 1 {
		return nil
	}
	return []linkSetting{
		{"NCCL_CGA_CLUSTER_SIZE", 0, "blocks are not launched in clusters", 0.89},
		{"NCCL_P2P_READ_ENABLE", 1, "GPUs read from one another", 0.83},
	}
}

// relinked applies them.
func (c *Cluster) relinked(job Job, note func(name, what string)) {
	for _, o := range c.linkSettings() {
		if job.is(o.name, o.value) {
			c.gpu.ring *= o.share
			note(o.name, fmt.Sprintf("%s: rings reach %.0f GB/s", o.what, c.gpu.ring))
		}
	}
}

// setsLinks reports whether a setting is one of them, with the value that was measured.
func (c *Cluster) setsLinks(job Job, name string) bool {
	return slices.ContainsFunc(c.linkSettings(), func(o linkSetting) bool { return o.name == name && job.is(name, o.value) })
}

// mostChannels is the most that NCCL has (nccl, src/include/device.h, MAXCHANNELS), and leastBuffer keeps a FIFO from
// being smaller than what the threads of a block hold once, bytes.
const (
	mostChannels = 64
	leastBuffer  = fifoSlices * blockThreads * pack
)

// threadsSet is the number of threads that a setting results in; 0: NCCL's own, also where it takes its most instead.
func threadsSet(job Job, name string, least, most int) int {
	n := number(job, name)
	if n == 0 || n%warp != 0 || n >= most {
		return 0
	}
	return max(n, least)
}
