package topology

import (
	"fmt"
	"slices"
)

// maxMatrixDevices bounds the rows of a Matrix. A host has some hundred GPUs and NICs at most, including virtual
// functions; 1024 rows are a million cells, 24 MB.
const maxMatrixDevices = 1024

// Matrix returns the distances between the GPUs and NICs of a machine, GPUs first, each in order of its
// index. A machine with more than 1024 of them returns a Matrix without devices and the reason in its Gaps.
func (m *Machine) Matrix() Matrix {
	if n := len(m.GPUs) + len(m.NICs); n > maxMatrixDevices {
		return Matrix{Gaps: []string{fmt.Sprintf("%d GPUs and NICs: a matrix holds at most %d", n, maxMatrixDevices)}}
	}
	r := ruler{machine: m, places: newPlaces(m)}
	x := Matrix{Devices: make([]MatrixDevice, 0, len(m.GPUs)+len(m.NICs))}
	for i, g := range m.GPUs {
		x.Devices = append(x.Devices, MatrixDevice{Label: fmt.Sprintf("GPU%d", g.Index), Kind: KindGPU, Name: g.Name, Bus: g.Bus, NUMA: g.NUMA, Coherent: g.Coherent})
		r.ends = append(r.ends, r.end(g.Bus, g.NUMA, newReach(&m.GPUs[i])))
	}
	for _, n := range m.NICs {
		x.Devices = append(x.Devices, MatrixDevice{Label: fmt.Sprintf("NIC%d", n.Index), Kind: KindNIC, Name: n.Name, Bus: n.Bus, NUMA: n.NUMA, Mbps: n.Mbps})
		r.ends = append(r.ends, r.end(n.Bus, n.NUMA, nil))
	}
	x.Hops = make([][]Hop, len(x.Devices))
	for i := range x.Hops {
		x.Hops[i] = make([]Hop, len(x.Devices))
		x.Hops[i][i] = Hop{Distance: Self}
		for j := range i {
			x.Hops[i][j] = r.hop(r.ends[j], r.ends[i])
			x.Hops[j][i] = x.Hops[i][j]
		}
	}
	x.Gaps = r.gaps
	return x
}

// ruler measures between devices of one machine.
type ruler struct {
	machine *Machine
	places  places
	ends    []end
	gaps    []string
}

// end is the properties of a device that distances depend on.
type end struct {
	place
	bus  string
	gpu  *reach // nil: not a GPU
	seen bool   // it has a place in the PCI tree, or at least a NUMA node
}

// reach is where the scale-up links of a GPU end.
type reach struct {
	direct   map[string]ScaleUp // by the address of the other GPU
	toSwitch int                // links to NVSwitches
}

func (r *ruler) end(bus string, numa int, g *reach) end {
	if p, ok := r.places.byBus[bus]; ok && bus != "" {
		return end{place: p, bus: bus, gpu: g, seen: true}
	}
	// a NIC directly below a NUMA node, as NCCL writes virtual ones
	c := slices.IndexFunc(r.machine.CPUs, func(c CPU) bool { return c.NUMA == numa })
	return end{place: place{cpu: c}, bus: bus, gpu: g, seen: c >= 0}
}

func (r *ruler) hop(a, b end) Hop {
	if a.gpu != nil && b.gpu != nil {
		if h := linked(a, b); h.Distance == NVLink {
			return h
		}
	}
	if !a.seen || !b.seen {
		r.gap("a device without a place in the PCI tree")
		return Hop{}
	}
	return Hop{Distance: r.distance(a, b)}
}

func (r *ruler) gap(text string) {
	if !slices.Contains(r.gaps, text) {
		r.gaps = append(r.gaps, text)
	}
}

// distance follows the definitions of NVML's topology levels (nvml.h, nvmlGpuTopologyLevel_t), whose names
// nvidia-smi prints: one PCIe switch, several, one host bridge, several of a NUMA node, several nodes. A
// switch is one bridge of nvidia-smi's legend, though its ports are two in the kernel's tree.
func (r *ruler) distance(a, b end) Distance {
	if a.cpu != b.cpu {
		return r.between(a, b)
	}
	common := 0
	for common < min(len(a.chain), len(b.chain)) && a.chain[common] == b.chain[common] {
		common++
	}
	switch {
	case common > 0 && (common == len(a.chain) || common == len(b.chain)):
		return PIX // two ports of one function
	case common > 0:
		return throughSwitches(len(a.chain) + len(b.chain) - 2*common - 1)
	case len(a.chain) == 0 || len(b.chain) == 0:
		return PHB // one of them is known only by its NUMA node
	}
	top, other := a.chain[0], b.chain[0]
	if top.Port != "" && top.Port == other.Port {
		return throughSwitches(len(a.chain) + len(b.chain) - 2) // functions of one slot
	}
	if top.HostBridge == "" || other.HostBridge == "" {
		r.gap("the source does not distinguish host bridges: PHB may be NODE")
		return PHB
	}
	if top.HostBridge == other.HostBridge {
		return PHB
	}
	if r.machine.CPUs[a.cpu].NUMA < 0 && r.machine.NUMANodes != 1 {
		r.gap("several NUMA nodes, and the firmware does not report that of each device: NODE or SYS")
		return DistanceUnknown
	}
	return NODE
}

// throughSwitches is the distance of devices with that many switches between them.
func throughSwitches(n int) Distance {
	if n > 1 {
		return PXB
	}
	return PIX
}

// between is the distance of devices of different NUMA nodes, one of which may be unknown.
func (r *ruler) between(a, b end) Distance {
	if r.machine.CPUs[a.cpu].NUMA < 0 || r.machine.CPUs[b.cpu].NUMA < 0 {
		r.gap("the firmware reports the NUMA node of some devices only: their distance to the others is unknown")
		return DistanceUnknown
	}
	return SYS
}

// linked counts the NVLink or XGMI links between two GPUs: those that run from one to the other, and where
// both have links to an NVSwitch, those of the GPU that has fewer.
func linked(a, b end) Hop {
	to, back := a.gpu.direct[b.bus], b.gpu.direct[a.bus]
	count := max(to.Count, back.Count) + min(a.gpu.toSwitch, b.gpu.toSwitch)
	if count == 0 {
		return Hop{}
	}
	return Hop{Distance: NVLink, Links: count, XGMI: to.XGMI || back.XGMI}
}

func newReach(g *GPU) *reach {
	r := reach{direct: make(map[string]ScaleUp)}
	for _, l := range g.Links {
		switch {
		case l.Count <= 0:
		case l.Class == ClassNVSwitch:
			r.toSwitch += l.Count
		case isGPUClass(l.Class):
			sum := r.direct[l.Target]
			r.direct[l.Target] = ScaleUp{Count: sum.Count + l.Count, XGMI: sum.XGMI || l.XGMI}
		}
	}
	return &r
}

// Hop returns the cell of two devices by their index in Devices; the zero Hop, unknown, where the matrix has
// no such cell.
func (x Matrix) Hop(i, j int) Hop {
	if i < 0 || i >= len(x.Hops) || j < 0 || j >= len(x.Hops[i]) {
		return Hop{}
	}
	return x.Hops[i][j]
}

// Select returns the rows and columns of some devices, in that order: the matrix of a worker with these GPUs and
// NICs. Indexes outside the matrix are left out.
func (x Matrix) Select(places []int) Matrix {
	places = slices.DeleteFunc(slices.Clone(places), func(i int) bool { return i < 0 || i >= len(x.Devices) })
	s := Matrix{Gaps: x.Gaps, Hops: make([][]Hop, len(places))}
	for row, i := range places {
		s.Devices = append(s.Devices, x.Devices[i])
		for _, j := range places {
			s.Hops[row] = append(s.Hops[row], x.Hop(i, j))
		}
	}
	return s
}

// WithNICs adds NICs of which only name and address are known: their distances are unknown.
func (x Matrix) WithNICs(nics []MatrixDevice) Matrix {
	n := len(x.Devices)
	places := make([]int, 0, n+len(nics))
	for i := range n {
		places = append(places, i)
	}
	s := x.Select(places)
	for _, d := range nics {
		d.Kind = KindNIC
		s.Devices = append(s.Devices, d)
	}
	for i := range s.Hops {
		s.Hops[i] = append(s.Hops[i], make([]Hop, len(nics))...)
	}
	for i := range nics {
		row := make([]Hop, len(s.Devices))
		row[n+i] = Hop{Distance: Self}
		s.Hops = append(s.Hops, row)
	}
	return s
}

// of returns the indexes of all devices of a kind.
func (x Matrix) of(k Kind) []int {
	var found []int
	for i, d := range x.Devices {
		if d.Kind == k {
			found = append(found, i)
		}
	}
	return found
}
