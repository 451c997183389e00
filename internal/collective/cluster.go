package collective

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclgraph"
)

// Cluster is what is known of equal machines and of the network between them. It does not change: any number
// of goroutines may predict with it.
type Cluster struct {
	hw         fabric.Hardware
	gpu        gpu
	gpus       int // of a machine, as NCCL sees it; hw.GPUsPerNode of them are in use
	net        network
	graphs     graphs
	tables     *ncclTables // by which options behave
	decides    *ncclTables // by which the version of NCCL chooses among them
	version    fabric.NCCLVersion
	system     *ncclgraph.System // that the graphs were searched in; nil for AMD
	others     *editions         // the same for further versions
	est        estimates
	rccl       *rcclTable // nil without AMD GPUs
	blocks     blockSet   // as a job sets them
	iterations int        // of a test, one launched after the other; 0: nccl-tests' own
	hosted     bool       // data between GPUs of a machine goes through host memory
	search     *search    // NCCL's search in the nominal machine, with another environment; nil: none
	assumed    []fabric.Assumption

	trays int      // machines that an NVLink domain joins into one node of NCCL; 0 and 1: each is a node
	apart *Cluster // the same cluster without that; nil: no machines to join

	nicNames, linkNames string // names of the bounds
	hopNames            string // and of that between neighbours in a ring
	mixedSM             bool   // the GPUs of a machine have different compute capabilities
	mixed               bool   // two kinds of machine match this description
	unmeasured          bool   // the prediction uses rates that were not measured on this part
}

// MaxNodes bounds the number of nodes: the largest supported cluster, doubled once.
const MaxNodes = 32768

// maxGPUs bounds the GPUs of one machine, with room above the 72 of an NVL72.
const maxGPUs = 1024

// New returns the cluster of a short description. Unspecified values come from the catalog's machine, if one
// is named, and otherwise from the most common machine with these GPUs; Hardware records which. Impossible numbers
// are errors, and so is a GPU that is not in the catalog where its links are needed.
func New(cat *catalog.Catalog, hw fabric.Hardware) (*Cluster, error) {
	hw, assumed, err := complete(cat, hw)
	if err != nil {
		return nil, err
	}
	c, err := built(cat, hw, assumed, traysOf(cat, hw))
	if err != nil || c.trays < 2 {
		return c, err
	}
	if c.apart, err = built(cat, hw, assumed, 1); err != nil {
		return nil, err
	}
	return c, nil
}

// built is a cluster with the graphs of its nominal machines.
func built(cat *catalog.Catalog, hw fabric.Hardware, assumed []fabric.Assumption, trays int) (*Cluster, error) {
	c, err := resolved(cat, hw, slices.Clone(assumed), trays)
	if err != nil || c.gpu.amd { // RCCL's tables depend on the machine, not on a search
		return c, err
	}
	find := func(env map[string]string) (*ncclgraph.System, error) {
		return nominalSystem(cat, c.joined(), c.gpu.sm, env)
	}
	s, err := find(nil)
	if err != nil {
		return nil, err
	}
	c.search = &search{find: find, known: map[string]graphs{}}
	c.searchIn(s)
	return c, nil
}

// resolved is a cluster without graphs, of hardware that is complete.
func resolved(cat *catalog.Catalog, hw fabric.Hardware, assumed []fabric.Assumption, trays int) (*Cluster, error) {
	c := &Cluster{hw: hw, assumed: assumed, trays: trays}
	c.gpus = max(hw.GPUsPerNode, int(cat.Machines[hw.Machine].GPUs.Value)) * max(1, trays)
	if trays > 1 {
		c.assume("nccl, src/mnnvl.cc: unless NCCL_MNNVL_ENABLE=0", "NVLink connects the GPUs of %d machines, which NCCL treats as one node", trays)
	}
	if err := c.resolveGPU(cat); err != nil {
		return nil, err
	}
	if c.gpu.amd {
		c.rccl = rcclTableOf(c.gpu.gfx)
	}
	if err := c.resolveNetwork(cat); err != nil {
		return nil, err
	}
	c.tables, c.est = newNCCLTables(), estimated()
	c.decides, c.version = c.tables, ncclgraph.Newest()
	c.named()
	return c, nil
}

// Ranks is how many GPUs take part.
func (c *Cluster) Ranks() int { return c.hw.Nodes * c.hw.GPUsPerNode }

// nodes and local are as NCCL counts them: the machines of one NVLink domain are one node.
func (c *Cluster) nodes() int { return c.hw.Nodes / max(1, c.trays) }
func (c *Cluster) local() int { return c.hw.GPUsPerNode * max(1, c.trays) }

func (c *Cluster) assume(source, format string, args ...any) {
	c.assumed = append(c.assumed, fabric.Assumption{What: fmt.Sprintf(format, args...), Source: source})
}
