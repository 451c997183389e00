package collective

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
)

// network is the fabric between nodes in the numbers that the model needs.
type network struct {
	kind    string
	nics    int
	line    float64 // GB/s of one NIC
	payload float64 // share of the line that data takes where all is well
	room    float64 // share that headers leave at most
	step    float64 // latency of a step, as a multiple of NCCL's
	floor   float64 // us of a collective, whatever its size
	direct  bool    // the NIC reads and writes GPU memory, by GPUDirect RDMA or another name
	over    float64 // oversubscription, at least 1
	uneven  float64 // the part of payload that flows lose which meet at ports of switches; 0: none is known

	ringOnly   bool // algorithms and protocols that the fabric's plug-in or set-up leaves
	simpleOnly bool
}

// wire is what all NICs of a node carry of data, GB/s, where all is well.
func (n network) wire() float64 {
	all := float64(n.nics) * n.line * n.payload / n.over
	if n.kind == "tcp" {
		return min(all, tcpMost)
	}
	return all
}

// tcpMost is what sockets of a node carry, whatever its NICs could, GB/s: the CPU copies each byte (NVIDIA AI
// Cluster Runtime documentation, GKE TCPXO Networking Prerequisites: about 4 without the plug-in).
const tcpMost = 4

// limit is what they cannot exceed.
func (n network) limit() float64 { return float64(n.nics) * n.line * n.room / n.over }

// firstEFA is the fabric of EFA's first generation, which the GPUs of P4 instances and before it have.
const firstEFA = "efa1"

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
	if id == "efa" && !c.gpu.amd && c.gpu.sm < 90 {
		id = firstEFA
	}
	f, ok := cat.Fabrics[id]
	if !ok {
		known := slices.Sorted(maps.Keys(cat.Fabrics))
		return fmt.Errorf("hardware: net %q: not in the catalog; known: %s", c.hw.Net, strings.Join(append(known, netNone), ", "))
	}
	if c.hw.NICsPerNode == 0 || c.hw.NICGbps == 0 {
		return fmt.Errorf("hardware: nics_per_node and nic_gbps: unspecified, and needed for %d nodes", c.nodes())
	}
	c.net = network{
		kind: id, nics: c.hw.NICsPerNode * max(1, c.trays), line: c.hw.NICGbps / 8,
		payload: f.Payload.Value, room: 1, step: f.Step.Value, floor: f.Floor.Value,
		direct: f.GPUDirect != nil && *f.GPUDirect, over: max(1, c.hw.Oversubscription),
	}
	if c.hw.VM {
		c.assume("without one NCCL finds every NIC behind a host bridge and goes through host memory", "the guest has a topology file that shows GPUs and NICs on one switch")
	}
	if c.hw.Spine != nil && !*c.hw.Spine {
		c.net.over = 1 // nothing leaves its leaf
	}
	if c.net.over > 1 {
		c.assume("the worst order of ranks", "all traffic between nodes leaves its leaf switch, which is %g times oversubscribed", c.net.over)
	}
	if m := cat.Machines[c.hw.Machine]; m.NICLinks.Value > 0 && float64(c.net.nics) > m.NICLinks.Value {
		c.net.line *= m.NICLinks.Value / float64(c.net.nics)
		c.assume(m.NICLinks.Source, "%d NICs share %g PCIe links: they carry as much as one NIC per link", c.net.nics, m.NICLinks.Value)
	}
	c.behindPCIe()
	// Google's set-up of A3 High: NCCL_ALGO=Ring, NCCL_PROTO=Simple. The plug-in of AWS leaves Simple alone where the
	// adapter writes in no order: all before P5 (aws-ofi-nccl, platform-aws).
	c.net.ringOnly = id == "tcpx"
	c.net.simpleOnly = id == "tcpx" || id == firstEFA
	c.payloadOf(cat, f)
	return nil
}

// behindPCIe lowers the rate of NICs to what the PCIe link of the GPU near them takes.
func (c *Cluster) behindPCIe() {
	share := max(1, float64(c.net.nics)/float64(c.local()))
	if most := c.gpu.pcie * pciePayload / share; c.net.line > most {
		c.assume("PCI Express Base Specification: payload of 16 lanes", "a NIC of %g Gb/s is limited to %.0f GB/s by the PCIe link of a GPU", c.net.line*8, most)
		c.net.line = most
	}
}

// payloadOf takes the shares of the line rate that data takes.
func (c *Cluster) payloadOf(cat *catalog.Catalog, f catalog.FabricModel) {
	n := &c.net
	if f.MTU.Value > 0 && f.Header.Value > 0 {
		n.room = f.MTU.Value / (f.MTU.Value + f.Header.Value)
	}
	if nic, ok := cat.NICs[c.hw.NIC]; ok && nic.Payload.Value > 0 {
		n.payload = nic.Payload.Value
		c.assume(nic.Payload.Source, "payload is %.3f of the line rate of %s", n.payload, nic.Title)
	} else if n.payload > 0 {
		c.assume(f.Payload.Source, "payload is %.3f of the line rate", n.payload)
	} else {
		n.payload = defaultPayload
		c.unmeasured = true
		c.assume("median of the measured fabrics", "payload is %.3f of the line rate", n.payload)
	}
	if nic, ok := cat.NICs[c.hw.NIC]; c.nodes() > 2 && (n.kind == "ib" || n.kind == "roce") && (!ok || nic.Payload.Value == 0) {
		n.payload *= manyNodes
		n.uneven = manyNodes
	}
	n.payload = min(n.payload, n.room)
	if n.step == 0 {
		n.step = 1
	}
	if c.net.step > 1 || c.net.floor > 0 {
		c.assume("catalog, fabric "+n.kind+": "+f.Step.Source, "a step over the network takes %.2f times NCCL's figure, plus %.0f us per collective", n.step, n.floor)
	}
}

// manyNodes is what rings over more than two nodes reach of what two reach: their flows meet at the ports of
// switches, by how well these spread them. On four nodes of HGX H100 366 GB/s, on two 391 (NVIDIA/nccl-tests issue
// 309; wutz, notes on the MPI operator): 0.936; on three of A100 95.7 of 97.6 (NVIDIA/nccl-tests issue 119): 0.98.
const manyNodes = 0.96

// defaultPayload is the median of the shares in the catalog: 0.886, 0.89, 0.923, 0.925, 0.929, 0.941, 0.943, 0.981.
const defaultPayload = 0.927
