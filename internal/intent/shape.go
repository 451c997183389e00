package intent

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// Shape is the arrangement of a cluster's switches: which follows from its numbers, and is known before a plan is.
type Shape struct {
	Division
	Leaf    LeafPorts
	Hosts   int
	NICs    int // of the largest machine: the rails
	Spines  int // 0: the cluster file has none, or one leaf connects everything
	PerPair int // cables between each leaf and each spine
}

// Uplinks is how many cables there are between leaves and spines.
func (s Shape) Uplinks() int { return s.Leaves * s.Spines * s.PerPair }

// FieldError is what is wrong with a field of the cluster file.
type FieldError struct {
	Path    []string
	Message string
}

// Error writes the field and what is wrong with it.
func (e *FieldError) Error() string { return strings.Join(e.Path, ".") + ": " + e.Message }

func wrong(field, format string, args ...any) *FieldError {
	return &FieldError{Path: strings.Split(field, "."), Message: fmt.Sprintf(format, args...)}
}

// ShapeOf arranges the switches for so many hosts of at most so many NICs. The cluster names a leaf whose model and operating
// system are in the catalog, and so are those of its spine if it has one. An error is a *FieldError.
func ShapeOf(c *Cluster, cat *catalog.Catalog, hosts, nics int) (Shape, error) {
	f := c.Fabric
	s := Shape{Hosts: hosts, NICs: nics}
	model, err := cat.Switch(f.Leaf.Model)
	if err != nil {
		return s, wrong("fabric.leaf.model", "%v", err)
	}
	if s.Leaf, err = leafPorts(f.Leaf.Model, *f.Leaf, model); err != nil {
		return s, wrong("fabric.leaf.breakout", "%v", err)
	}
	if s.Division, err = divide(hosts, nics, s.Leaf.Ports, f.Leaf.Count); err != nil {
		if f.Leaf.Count > 0 {
			return s, wrong("fabric.leaf.count", "%v", err)
		}
		return s, wrong("fabric.leaf.model", "%v", err)
	}
	if f.Spine == nil || s.Leaves == 1 {
		return s, nil
	}
	if f.Addressing != nil && f.Addressing.Scheme == fabric.Flat {
		return s, wrong("fabric.spine", "scheme flat is one subnet for all hosts, and between leaves and spines packets are routed: use p2p31 or rail24")
	}
	spine, err := cat.Switch(f.Spine.Model)
	if err != nil {
		return s, wrong("fabric.spine.model", "%v", err)
	}
	return s.withSpines(f.Spine.Count, spine, fastest(c.Nodes, cat))
}

// fastest is the rate of the fastest NIC of a cluster in Gb/s; 0 where one is not in the catalog.
func fastest(groups []NodeGroup, cat *catalog.Catalog) float64 {
	most := 0.0
	for _, g := range groups {
		rate := cat.NICs[cat.Machines[g.Machine].NIC].Rate()
		if rate == 0 {
			return 0
		}
		most = max(most, rate)
	}
	return most
}

// withSpines spreads the uplinks of each leaf evenly over the spines: as many as carry what its hosts send, if ports suffice.
// Every leaf has the same number of cables to every spine.
func (s Shape) withSpines(count int, spine catalog.SwitchModel, nic float64) (Shape, error) {
	down, ports := min(s.PerGroup, s.Hosts), int(spine.Ports.Value)
	if !s.ByRail {
		down *= s.NICs
	}
	free := s.Leaf.free(down)
	if s.Leaves > ports {
		return s, wrong("fabric.spine.model", "a spine of %d ports takes %d leaves, and the hosts need %d: two tiers of switches do not carry so many; leave spine out", ports, ports, s.Leaves)
	}
	if free < max(count, 1) {
		return s, wrong("fabric.spine.count", "each leaf has %d ports left for spines, and needs one for each of the %d: use more leaves, or larger ones", max(free, 0), max(count, 1))
	}
	need := s.need(down, spine.PortRate.Value, nic)
	if count > 0 {
		s.Spines, s.PerPair = count, min(ceilDiv(need, count), free/count, ports/s.Leaves)
		return s, nil
	}
	for n := 1; n <= free; n++ {
		if each := ceilDiv(need, n); each*n <= free && each*s.Leaves <= ports {
			s.Spines, s.PerPair = n, each
			return s, nil
		}
	}
	return s, wrong("fabric.spine.count", "is not set, and no number of spines of %d ports carries what the hosts send: each of the %d leaves has %d ports left and needs %d; say how many, or use more leaves",
		ports, s.Leaves, free, need)
}

// need is how many uplinks carry what so many ports towards hosts do. Where a rate is unknown, as many as there are ports.
func (s Shape) need(down int, spineGbps, nicGbps float64) int {
	from := slower(s.Leaf.Gbps, nicGbps)
	to := slower(s.Leaf.model.PortRate.Value, spineGbps)
	if from == 0 || to == 0 {
		return down
	}
	return int(math.Ceil(float64(down) * from / to))
}

// slower is the rate of a cable between two ports, in Gb/s; 0 stands for an unknown one.
func slower(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
