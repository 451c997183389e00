package collective

import (
	"fmt"
	"maps"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
	"railwright.dev/railwright/internal/topology"
)

// graphs are the results of NCCL's search for its algorithms on one machine.
type graphs struct {
	ring, tree, direct, chain, nvls ncclgraph.Graph
	run                             int // channels of collectives that NCCL runs, without CollNet
}

// of returns the graph of an algorithm.
func (g *graphs) of(a Algorithm) ncclgraph.Graph {
	switch a {
	case Ring, PAT:
		return g.ring
	case Tree:
		return g.tree
	case NVLS, NVLSTree:
		return g.nvls
	case CollNetDirect:
		return g.direct
	default:
		return g.chain
	}
}

// usual are the graphs with the pattern of trees of machines with a NIC for each GPU, of which NCCL's figures are. Others spread the
// traffic of a NIC over two GPUs, for which NCCL counts more of its threads, as if fewer NICs made them faster.
func (g graphs) usual() *graphs {
	g.tree.Pattern = ncclgraph.PatternTree
	return &g
}

// channels is how many channels of collectives there are: two for each of the ring (nccl, src/graph/connect.cc,
// ncclTopoPostset).
func (g *graphs) channels() int { return max(1, 2*g.ring.Channels) }

// searched stores the graphs in NCCL's order.
func searched(s *ncclgraph.System) graphs {
	all := s.Graphs()
	g := graphs{ring: all[0], tree: all[1], direct: all[2], chain: all[3], nvls: all[4]}
	g.run = s.CollChannels([]ncclgraph.Graph{g.ring, g.tree})
	return g
}

// nominalSystem is NCCL's model of the machine that the hardware describes. A CPU that the catalog does not
// specify is assumed to be Intel, as in most machines with NVIDIA GPUs.
func nominalSystem(cat *catalog.Catalog, hw fabric.Hardware, sm int, set map[string]string) (*ncclgraph.System, error) {
	if hw.CPU == "" {
		hw.CPU = "intel"
	}
	if per := hw.NICsPerNode / max(1, hw.GPUsPerNode); cat.Fabrics[hw.Net].MergesNICs && per > 1 {
		hw.NICsPerNode, hw.NICGbps, hw.NIC, hw.Machine = hw.GPUsPerNode, hw.NICGbps*float64(per), "", ""
	}
	m, err := topology.NominalOf(cat, hw)
	if err != nil {
		return nil, err
	}
	if f := cat.Fabrics[hw.Net]; f.Sockets {
		reads := false // the kernel's sockets have no way to a GPU's memory (nccl, src/transport/net_socket.cc, ptrSupport)
		for i := range m.NICs {
			m.NICs[i].GDR = &reads
		}
	}
	for i := range m.CPUs {
		nameCPU(&m.CPUs[i])
		trainLinks(m.CPUs[i].Devices)
	}
	env := map[string]string{}
	maps.Copy(env, set)
	env["NCCL_COLLNET_ENABLE"] = "1" // the job decides whether it is used
	s, err := ncclgraph.FromMachine(m, ncclgraph.Options{Nodes: hw.Nodes, SM: sm, Env: env})
	if err != nil {
		return nil, fmt.Errorf("machine of the catalog: %w", err)
	}
	return s, nil
}

// nameCPU sets the model of a CPU of which only the vendor is known to that of most machines of its time: Sapphire Rapids
// or Genoa. NCCL derives rates between sockets from it, which matter only where there is no faster path.
func nameCPU(c *topology.CPU) {
	if c.Family != 0 || c.Model != 0 {
		return
	}
	switch c.Vendor {
	case "GenuineIntel":
		c.Arch, c.Family, c.Model = "x86_64", 6, 0x8f
	case "AuthenticAMD":
		c.Arch, c.Family, c.Model = "x86_64", 25, 17
	}
}

// trainLinks sets links of unknown speed to the one that resolveGPU assumes.
func trainLinks(devices []topology.Device) {
	for i := range devices {
		d := &devices[i]
		if d.Speed == 0 {
			d.Speed = 32
		}
		if d.Width == 0 {
			d.Width = 16
		}
		trainLinks(d.Children)
	}
}
