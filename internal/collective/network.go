package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// network is the fabric between nodes in the numbers that the model needs.
type network struct {
	kind    string
	nics    int
	line    float64 // GB/s of one NIC
	payload float64 // share of the line rate that data reaches on a healthy network
	room    float64 // upper limit of that share after headers
	step    float64 // latency of a step, as a multiple of NCCL's
	floor   float64 // us added to each collective, whatever its size
	eager   float64 // bytes of a message above which its receiver reads it after it was announced; 0: none
	pages   float64 // bytes of a page in which it is received, that blocks copy together; 0: in place
	direct  bool    // the NIC reads and writes GPU memory, by GPUDirect RDMA or an equivalent
	over    float64 // oversubscription, at least 1
	uneven  float64 // the part of payload lost by flows that share switch ports; 0: none known
	copies  float64 // GB/s that the CPU's copies alone reach, of sockets; 0: no sockets
	most    float64 // GB/s of a node, regardless of its NICs; 0: no such limit
	band    span    // how much further than elsewhere healthy machines deviate from the expectation; zero: no further
	twins   *twins  // nil: no two of its NICs share a port or a PCIe link

	sockets    bool // the kernel's
	ringOnly   bool // algorithms and protocols that the fabric's plugin or set-up supports
	simpleOnly bool
}

// wire is the data rate of all NICs of a node, GB/s, on a healthy network.
func (n network) wire() float64 {
	all := float64(n.nics) * n.line * n.payload / n.over
	if n.most > 0 {
		return min(all, n.most)
	}
	return all
}

// limit is the rate that they cannot exceed.
func (n network) limit() float64 { return float64(n.nics) * n.line * n.room / n.over }

func (c *Cluster) resolveNetwork(cat *catalog.Catalog) error {
	if c.nodes() == 1 {
		if c.hw.Net == "" {
			c.hw.Net = netNone
		}
		c.net = network{kind: c.hw.Net, over: 1, step: 1, payload: 1, room: 1}
		if c.hw.NICsPerNode > 0 && c.hw.NICGbps > 0 {
			c.net.nics, c.net.line = c.hw.NICsPerNode, c.hw.NICGbps/8
		}
		return nil
	}
	if c.hw.Net == netNone {
		return fmt.Errorf("hardware: net %q cannot connect %d nodes", c.hw.Net, c.nodes())
	}
	id := c.hw.Net
	if older := cat.Fabrics[id].Earlier; older.Fabric != "" && !c.gpu.amd && c.gpu.sm < older.BelowSM {
		id = older.Fabric
	}
	f, ok := cat.Fabrics[id]
	if !ok {
		return fmt.Errorf("hardware: %w", fabric.UnknownName("net", c.hw.Net, append(slices.Sorted(maps.Keys(cat.Fabrics)), netNone)))
	}
	if m, ok := cat.Machines[c.hw.Machine]; ok && (c.hw.NICsPerNode == 0 || c.hw.NICGbps == 0) {
		return fmt.Errorf("hardware: net %q: %s has %s of %g Gb/s for %s and sockets; for others state both their number (nics_per_node, --nics) and rate (nic_gbps, --rate)",
			c.hw.Net, c.hw.Machine, fabric.Count(int(m.NICs.Value), "NIC"), cat.NICs[m.NIC].Rate(), strings.Join(m.Fabrics, ", "))
	}
	var missing []string
	if c.hw.NICsPerNode == 0 {
		missing = append(missing, "nics_per_node (--nics)")
	}
	if c.hw.NICGbps == 0 {
		missing = append(missing, "nic_gbps (--rate)")
	}
	if len(missing) > 0 {
		return fmt.Errorf("hardware: %s: unspecified, and needed for %d nodes", strings.Join(missing, " and "), c.nodes())
	}
	c.net = network{
		kind: id, nics: c.hw.NICsPerNode * max(1, c.trays), line: c.hw.NICGbps / 8,
		payload: f.Payload.Value, room: 1, step: f.Step.Value, floor: f.Floor.Value, eager: f.Eager.Value, pages: f.Pages.Value,
		most: f.NodeLimit.Value, band: span{f.Band.Fast, f.Band.Slow},
		sockets: f.Sockets, direct: f.GPUDirect != nil && *f.GPUDirect, over: max(1, c.hw.Oversubscription),
	}
	if c.hw.VM {
		c.assume("without one NCCL finds every NIC behind a host bridge and uses host memory", "the guest has a topology file that shows GPUs and NICs on one switch")
	}
	if c.hw.Spine != nil && !*c.hw.Spine {
		c.net.over = 1 // all traffic stays below its leaf
	}
	if c.net.over > 1 {
		c.assume("the worst order of ranks", "all traffic between nodes leaves its leaf switch, which is %g times oversubscribed", c.net.over)
	}
	c.net.ringOnly = f.Only.Algorithm == Ring.String()
	c.net.simpleOnly = f.Only.Protocol == Simple.String()
	if nic := cat.NICs[c.hw.NIC]; hasTwins(nic) && f.Transport == string(fabric.RoCE) {
		return c.resolveTwins(cat, nic, f)
	}
	if m := cat.Machines[c.hw.Machine]; m.NICLinks.Value > 0 && float64(c.net.nics) > m.NICLinks.Value {
		c.net.line *= m.NICLinks.Value / float64(c.net.nics)
		c.assume(m.NICLinks.Source, "%d NICs share %g PCIe links: they carry as much as one NIC per link", c.net.nics, m.NICLinks.Value)
	}
	c.behindPCIe()
	c.payloadOf(cat, f)
	return c.smallPackets(f)
}

// smallPackets lowers the shares of the line rate where the interfaces' MTU leaves RDMA smaller packets than the fabric's usual.
func (c *Cluster) smallPackets(f catalog.FabricModel) error {
	if c.hw.MTU == 0 || f.Transport != string(fabric.RoCE) {
		return nil
	}
	path := float64(topology.RDMAPayload(c.hw.MTU))
	if path == 0 {
		return fmt.Errorf("hardware: mtu %d: too small for RDMA, which needs at least 352 bytes", c.hw.MTU)
	}
	if share := path / (path + f.Header.Value) / c.net.room; share < 1 {
		c.net.room, c.net.payload = c.net.room*share, c.net.payload*share
		c.assume("Linux, include/rdma/ib_addr.h, iboe_get_mtu", "interfaces of MTU %d: packets of RDMA have %.0f bytes, with %.0f of headers each", c.hw.MTU, path, f.Header.Value)
	}
	return nil
}

// behindPCIe limits the rate of NICs to that of the PCIe link of the GPU near them.
func (c *Cluster) behindPCIe() {
	share := max(1, float64(c.net.nics)/float64(c.local()))
	if most := c.gpu.pcie * pciePayload / share; c.net.line > most {
		c.assume("PCI Express Base Specification: payload of 16 lanes", "a NIC of %g Gb/s is limited to %.0f GB/s by the PCIe link of a GPU", c.net.line*8, most)
		c.net.line = most
	}
}

// payloadOf sets the shares of the line rate that data reaches.
func (c *Cluster) payloadOf(cat *catalog.Catalog, f catalog.FabricModel) {
	n := &c.net
	n.room = room(f)
	if nic, ok := cat.NICs[c.hw.NIC]; ok && nic.Payload.Value > 0 {
		n.payload = nic.Payload.Value
		c.assume(nic.Payload.Source, "payload is %.3f of the line rate of %s", n.payload, nic.Title)
	} else if n.payload > 0 {
		c.assume(f.Payload.Source, "payload is %.3f of the line rate", n.payload)
	} else {
		var source string
		n.payload, source = likelyPayload(cat, n.kind, f)
		c.unmeasured = true
		c.assume(source, "payload is %.3f of the line rate", n.payload)
	}
	if nic, ok := cat.NICs[c.hw.NIC]; c.nodes() > 2 && f.ManyNodes.Value > 0 && (!ok || nic.Payload.Value == 0) {
		n.payload *= f.ManyNodes.Value
		n.uneven = f.ManyNodes.Value
	}
	n.payload = min(n.payload, n.room)
	c.steps(cat, f)
}

// steps completes the latencies of the fabric.
func (c *Cluster) steps(cat *catalog.Catalog, f catalog.FabricModel) {
	n := &c.net
	if n.step == 0 {
		n.step, n.floor = 1, 0
		if !f.Sockets {
			n.step, n.floor = likelySteps(cat, n.kind, f, c.rccl)
			f.Step.Source = "those of other fabrics of its kind"
		}
	}
	if c.net.step > 1 || c.net.floor > 0 {
		c.assume("catalog, fabric "+n.kind+": "+f.Step.Source, "a step over the network takes %.2f times NCCL's figure, plus %.0f us per collective", n.step, n.floor)
	}
}
