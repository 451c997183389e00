package ncclgraph

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/ncclxml"
)

// System is NCCL's own model of a host: the graph that it builds from a topology file, with the bandwidths that it
// assumes and the paths that it computes (NVIDIA/nccl 2.28 to 2.30: src/graph/topo.cc, paths.cc). It describes what
// NCCL will do, not what the hardware can. A System does not change after NewSystem and may be searched by
// several goroutines.
type System struct {
	MaxBW   float64         // GB/s of the best path to a peer: the most that one channel can have
	TotalBW float64         // GB/s of all links of a GPU: the most that all channels can have
	Inter   bool            // the communicator has ranks that only the network reaches
	AMD     bool            // RCCL's graph: links are XGMI
	SM      int             // the lowest compute capability times ten of its GPUs; for RCCL the value of the file
	GCN     string          // gfx942; empty for NVIDIA
	CPU     ncclxml.HostCPU // the first NUMA node's; NCCL assumes all are the same
	GPUs    []GPUNode
	NETs    []NETNode
	Trimmed []string // GPUs that the first reaches only over the network, though they are in the same host
	Notes   []string // what NCCL will misread, and what was filled in because the file lacks it

	options  Options
	document *ncclxml.Document // what it was built from
	found    func() []Graph    // its Graphs, searched once
	nodes    [nodeTypes][]*node
	links    []*link

	intraTypes, interTypes uint16 // path types that occur between GPUs and NVSwitch, and between them and NETs: one bit each
}

// GPUNode is a GPU of a System.
type GPUNode struct {
	Name string // as NCCL prints it: GPU/0-60
	Bus  string // as the file has it
	Dev  int    // NVML's or HIP's number
	Rank int    // in the communicator
	SM   int
	GDR  bool
}

// NETNode is a network port of a System.
type NETNode struct {
	Name      string // as NCCL prints it: NET/0-0
	Interface string // the device's own name: mlx5_0
	Dev       int    // the plugin's number
	BW        float64
	GDR       bool
	Coll      bool   // it reduces in the network
	Vendor    string // of its PCI device, four hexadecimal digits: 15b3; empty: the file does not say
}

// nodeType is what a node of the graph is, in the order in which NCCL prints paths.
type nodeType uint8

const (
	nodeGPU nodeType = iota
	nodePCI
	nodeNVS
	nodeCPU
	nodeNIC
	nodeNET
	nodeTypes
)

// String is the type as NCCL prints it.
func (t nodeType) String() string {
	return [nodeTypes]string{"GPU", "PCI", "NVS", "CPU", "NIC", "NET"}[t]
}

// nodeTypeOf is the type that NCCL assigns to a device of a PCI class.
func nodeTypeOf(class string) nodeType {
	switch ncclxml.ClassOf(class) {
	case ncclxml.ClassGPU:
		return nodeGPU
	case ncclxml.ClassNIC:
		return nodeNIC
	case ncclxml.ClassNVSwitch:
		return nodeNVS
	case ncclxml.ClassCPU:
		return nodeCPU
	default:
		return nodePCI
	}
}

// undefined is a number that neither the file nor NCCL has set.
const undefined = -1

// node is a node of the graph. Which of its further fields are used depends on its type.
type node struct {
	typ    nodeType
	id     int64 // local: of GPU, PCI and NIC the digits of its address, of CPU the NUMA number, of NET the dev
	index  int   // among the nodes of its type
	name   string
	links  []*link
	routes [nodeTypes][]route // nil: no path to that type was computed from here

	dev, rank, sm int    // GPU; dev also NET
	gcn           string // GPU
	gdr           bool   // GPU, NET
	device        uint64 // PCI: vendor, device, subsystem vendor and device
	cpu           ncclxml.HostCPU
	asic          uint64  // NET: its GUID
	port          int     // NET
	bw            float32 // NET, GB/s
	latency       float32 // NET, us
	coll          int     // NET
	vendor        string  // NET, of its PCI device
	localGPU      int     // NET: index of the GPU that uses it first, -1 none

	tail *hop // of the path to the base that is being computed
}

// localMask keeps the part of an id that is below the system's number (NCCL_TOPO_ID_LOCAL_ID_MASK).
const localMask = 1<<56 - 1

// label is the node as NCCL prints it: type, system, id in hexadecimal.
func (n *node) label() string { return fmt.Sprintf("%s/0-%x", n.typ, uint64(n.id)&localMask) }

// link is one direction of a connection.
type link struct {
	typ   linkType
	bw    float32 // GB/s
	to    *node
	index int // among all links of the System
}

// linkType is what a connection is; its values are those of the path types with the same name.
type linkType PathType

const (
	linkLOC = linkType(PathLOC)
	linkNVL = linkType(PathNVL)
	linkC2C = linkType(PathC2C)
	linkPCI = linkType(PathPIX)
	linkSYS = linkType(PathSYS)
	linkNET = linkType(PathNET)
)

// String is the type as NCCL prints it.
func (t linkType) String() string {
	if t == linkPCI {
		return "PCI"
	}
	return PathType(t).String()
}

// route is a path from a node to one of another type.
type route struct {
	typ   PathType
	bw    float32
	count int // hops
	list  []*link
	intel bool // of a GPU: peer traffic passes an Intel root port
}

// locBW is the bandwidth of a path of length zero, GB/s (LOC_BW).
const locBW = 5000.0

// amdNames replaces the names in a line by those that RCCL prints.
func (s *System) amdNames(line string) string {
	if !s.AMD {
		return line
	}
	return strings.NewReplacer("NVL", "XGMI").Replace(line)
}

func (s *System) gpuByRank(rank int) *node {
	for _, gpu := range s.nodes[nodeGPU] {
		if gpu.rank == rank {
			return gpu
		}
	}
	return nil
}
