package collective

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
)

// FromSystem returns the cluster of equal machines that an NCCL topology file or facts describe; hw states what
// they do not: the number of nodes, the fabric, and the GPU where nothing else identifies it. GPUs and NICs are
// counted in the system, and NCCL's own search in it yields the graphs.
func FromSystem(cat *catalog.Catalog, s *ncclgraph.System, hw fabric.Hardware) (*Cluster, error) {
	if s == nil || len(s.GPUs) == 0 {
		return nil, errors.New("topology: no GPU")
	}
	hw.GPUsPerNode = len(s.GPUs)
	if hw.GPU == "" && hw.Machine == "" {
		hw.GPU = gpuOf(cat, s)
	}
	if hw.Nodes > 1 {
		fromNETs(s, &hw)
	}
	if hw.CPU == "" {
		hw.CPU = s.CPU.Word()
	}
	hw, assumed, err := completeWith(cat, hw, s)
	if err != nil {
		return nil, err
	}
	c, err := resolved(cat, hw, assumed, 1)
	if err != nil {
		return nil, err
	}
	c.fewerLinks(s)
	if n := traysOf(cat, hw); n > 1 {
		c.assume("a topology file and facts are of one machine", "each machine is its own node: NVLink that joins %d of them is left out, which --machine of the catalog counts", n)
	}
	c.searchIn(s)
	c.mixedSM = slices.ContainsFunc(s.GPUs, func(g ncclgraph.GPUNode) bool { return g.SM != s.GPUs[0].SM })
	if c.nodes() > 1 {
		c.distantNICs()
	}
	return c, nil
}

// completeWith completes the hardware of a system. A fabric is taken from a machine of the catalog only where its NICs are of the same
// vendor: what EFA or TCPX does not run, other NICs do, and the other way round.
func completeWith(cat *catalog.Catalog, hw fabric.Hardware, s *ncclgraph.System) (fabric.Hardware, []fabric.Assumption, error) {
	done, assumed, err := complete(cat, hw)
	if err != nil || hw.Net != "" || hw.Nodes < 2 || len(s.NETs) == 0 || s.NETs[0].Vendor == "" {
		return done, assumed, err
	}
	if runsOn(cat, done.Net, s.NETs[0].Vendor) {
		return done, assumed, nil
	}
	if id := machineOfVendor(cat, done.GPU, s.NETs[0].Vendor); id != "" {
		hw.Net = cat.Machines[id].Fabrics[0]
		done, assumed, err = complete(cat, hw)
		return done, append(assumed, fabric.Assumption{What: cat.Fabrics[hw.Net].Title + " between the nodes", Source: "the vendor of the NICs, and catalog, machine " + id}), err
	}
	hw.Net = cat.FabricOf(fabric.InfiniBand)
	done, assumed, err = complete(cat, hw)
	return done, append(assumed, fabric.Assumption{What: "InfiniBand between the nodes", Source: "the fabric is unspecified"}), err
}

// machineOfVendor is a machine of the catalog with a GPU and with NICs of a vendor; empty: there is none.
func machineOfVendor(cat *catalog.Catalog, gpu, vendor string) string {
	for _, id := range slices.Sorted(maps.Keys(cat.Machines)) {
		m := cat.Machines[id]
		if m.GPU == gpu && len(m.Fabrics) > 0 && ofVendor(cat.NICs[m.NIC], vendor) {
			return id
		}
	}
	return ""
}

func ofVendor(nic catalog.NICModel, vendor string) bool {
	return slices.ContainsFunc(nic.PCIID, func(id string) bool { return strings.HasPrefix(id, vendor+":") })
}

// runsOn reports whether a machine of the catalog with a fabric has NICs of that vendor, or no machine says of which its NICs are.
func runsOn(cat *catalog.Catalog, net, vendor string) bool {
	said := false
	for _, m := range cat.Machines {
		if !slices.Contains(m.Fabrics, net) {
			continue
		}
		nic := cat.NICs[m.NIC]
		if ofVendor(nic, vendor) {
			return true
		}
		said = said || len(nic.PCIID) > 0
	}
	return !said
}

// gpuOf guesses the GPU by its architecture and by whether NVLink joins such GPUs, measured ones first: their links
// and rates are the same or near.
func gpuOf(cat *catalog.Catalog, s *ncclgraph.System) string {
	want := fmt.Sprintf("sm_%d", s.SM)
	if s.AMD {
		want = s.GCN
	}
	linked := searched(s).ring.TypeIntra <= ncclgraph.PathNVL
	best, most := "", -1
	for _, id := range slices.Sorted(maps.Keys(cat.GPUs)) {
		m := cat.GPUs[id]
		if m.Arch != want {
			continue
		}
		score := 0
		if (m.ScaleUp.Value > 0) == linked {
			score += 2
		}
		if m.Ring.Value > 0 {
			score++
		}
		if score > most {
			best, most = id, score
		}
	}
	return best
}

// fewerLinks lowers the rates between the GPUs of a machine to those of its slowest GPU, where that has fewer links than GPUs of
// its kind: in a ring, in a tree and at a switch all go at the pace of one. Without any link of that GPU they are not known to be fewer.
func (c *Cluster) fewerLinks(s *ncclgraph.System) {
	const same = 0.99 // links are whole ones, of 18 at most
	if c.gpu.amd || c.gpu.wiring == overPCIe || c.gpu.model == 0 {
		return
	}
	slowest, gbs := s.FewestLinks()
	share := gbs / c.gpu.model
	if share <= 0 || share > same {
		return
	}
	c.gpu.ring, c.gpu.model, c.gpu.limit, c.gpu.nvls = c.gpu.ring*share, gbs, c.gpu.limit*share, c.gpu.nvls*share
	c.unmeasured = true
	c.assume("nvlink of the topology", "%s has %.0f %% of the NVLink of %s: all GPUs of a machine go at its pace", slowest.Name, 100*share, c.hw.GPU)
}

func fromNETs(s *ncclgraph.System, hw *fabric.Hardware) {
	n, slowest := 0, 0.0
	for _, net := range s.NETs {
		if n == 0 || net.BW < slowest {
			slowest = net.BW
		}
		n++
	}
	if n == 0 {
		return
	}
	hw.NICsPerNode = n
	if hw.NICGbps == 0 {
		hw.NICGbps = slowest * 8
	}
}

// withoutDirect is what remains of a NIC whose data goes through host memory: it crosses the PCIe root twice.
const withoutDirect = 0.5

// staged is the share of a NIC's rate that remains where data goes through host memory: half of the PCIe link, and for
// slow NICs what copying leaves, 9.45 GB/s of 100 Gb/s (notes on RDMA cases: host-staged NCCL over RoCE).
func (c *Cluster) staged() float64 {
	const copied = 0.8
	return min(copied, withoutDirect*c.gpu.pcie/c.net.line)
}

// distantNICs lowers the rates where NCCL's channels reach their NICs over a host bridge: it does not use
// GPUDirect RDMA there (nccl, src/graph/paths.cc, ncclTopoCheckGdr). A GPU that shares the memory of its CPU never uses it, and
// what was measured of its NICs is without ("Do I need a second cable for my DGX Spark cluster?").
func (c *Cluster) distantNICs() {
	if c.graphs.ring.TypeInter <= ncclgraph.PathPXN || c.gpu.unified {
		return
	}
	c.net.direct = false
	c.net.payload *= c.staged()
	c.assume("nccl, src/graph/paths.cc: GPUDirect RDMA up to PXB, P2C or PXN", "data between GPUs and NICs goes through host memory: the path is %s", c.graphs.ring.TypeInter)
}
