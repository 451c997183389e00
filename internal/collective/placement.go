package collective

import (
	"errors"
	"fmt"
	"math/bits"

	"railwright.dev/railwright/internal/fabric"
)

// Placement is which GPUs and NICs of its machine each worker has. NCCL treats a worker as a node: NVLink does
// not cross from one pod to another.
type Placement struct {
	Workers []Worker
	// Near returns which NICs are at PXB or nearer to a GPU; nil: NICs 2k and 2k+1 are near GPUs 2k and 2k+1, as in
	// machines with two GPUs and two NICs on a PCIe switch.
	Near func(gpu, nic int) bool
}

// Worker is one pod. Indexes are those of the machine. Where NICs is nil they are unknown: one of Choices,
// or any Count of the machine's. Workers of one Machine never share a NIC.
type Worker struct {
	Machine string
	GPUs    []int
	NICs    []int
	Choices [][]int
	Count   int
}

// Share is the network bandwidth that a placement leaves the worst worker, GB/s one way. Low and High differ where
// more than one assignment of NICs is possible.
type Share struct {
	Low, High float64
	LowExits  int // GPUs of the worst worker with a NIC of their own near them
	HighExits int
}

// Limits of the enumeration of assignments. Beyond them the range is that of any assignment.
const maxAssignments = 1 << 14

// The most NICs of a machine for which assignments are enumerated: the bits of a word.
const maxPlacedNICs = 64

// Share computes what the workers get: traffic leaves a worker by its GPUs that have a NIC of their own near them, at the
// lower of the rates of the NIC and of the GPU's PCIe link; other GPUs reach these over NVLink; the slowest
// worker limits all (NCCL uses GPUDirect RDMA up to PXB, and PXN). Indexes outside the machine, a
// worker without GPUs and NICs given to two workers are errors.
func (c *Cluster) Share(p *Placement) (Share, error) {
	rate := min(c.net.line*c.net.room, c.gpu.pcie*pciePayload)
	if len(p.Workers) == 0 {
		return Share{}, errors.New("placement has no worker")
	}
	if c.net.nics > maxPlacedNICs {
		return Share{}, fmt.Errorf("placement: more than %d NICs per machine", maxPlacedNICs)
	}
	low, high, err := p.seating(c.gpus, c.net.nics).exits(p.Workers)
	if err != nil {
		return Share{}, fmt.Errorf("placement: %w", err)
	}
	return Share{Low: float64(low) * rate, High: float64(high) * rate, LowExits: low, HighExits: high}, nil
}

// Machines is how many machines the workers are on. A worker without a machine has one of its own.
func (p *Placement) Machines() int {
	named, own := map[string]bool{}, 0
	for _, w := range p.Workers {
		if w.Machine == "" {
			own++
		} else {
			named[w.Machine] = true
		}
	}
	return own + len(named)
}

// Aligned returns, for machines with so many GPUs and NICs, how many GPUs of each worker have a NIC of their own near
// them, and how many the worst worker has, over all assignments of NICs. It fails as Share does.
func (p *Placement) Aligned(gpus, nics int) (each []fabric.CountRange, worst fabric.CountRange, err error) {
	if len(p.Workers) == 0 || nics > maxPlacedNICs {
		return nil, worst, fmt.Errorf("placement: %d workers, %d NICs per machine", len(p.Workers), nics)
	}
	s := p.seating(gpus, nics)
	if worst.Min, worst.Max, err = s.exits(p.Workers); err != nil {
		return nil, worst, fmt.Errorf("placement: %w", err)
	}
	for _, w := range p.Workers {
		near, choices, err := s.seats(w)
		if err != nil {
			return nil, worst, fmt.Errorf("placement: %w", err)
		}
		r := fabric.CountRange{Min: len(w.GPUs)}
		for _, set := range choices {
			n := pairs(near, set)
			r.Min, r.Max = min(r.Min, n), max(r.Max, n)
		}
		each = append(each, r)
	}
	return each, worst, nil
}

func (p *Placement) seating(gpus, nics int) seating {
	s := seating{gpus: gpus, nics: nics, near: p.Near}
	if s.near == nil {
		s.near = func(gpu, nic int) bool { return gpu/2 == nic/2 }
	}
	return s
}

// pairs is how many GPUs can have a NIC of a set each that is near them: the largest matching (Kuhn's augmenting paths).
func pairs(near []uint64, set uint64) int {
	var owner [maxPlacedNICs]int // of each NIC: GPU + 1; 0: free
	var seat func(gpu int, tried *uint64) bool
	seat = func(gpu int, tried *uint64) bool {
		for free := near[gpu] & set &^ *tried; free != 0; free = near[gpu] & set &^ *tried {
			n := bits.TrailingZeros64(free)
			*tried |= 1 << n
			if owner[n] == 0 || seat(owner[n]-1, tried) {
				owner[n] = gpu + 1
				return true
			}
		}
		return false
	}
	count := 0
	for g := range near {
		var tried uint64
		if seat(g, &tried) {
			count++
		}
	}
	return count
}

// seating enumerates the assignments of NICs to workers.
type seating struct {
	gpus int // of a machine
	nics int
	near func(gpu, nic int) bool
}

// exits returns the exits of the worst worker, for the worst and for the best assignment.
func (s seating) exits(workers []Worker) (low, high int, err error) {
	machines := map[string][]int{}
	var order []string
	for i, w := range workers {
		name := w.Machine
		if name == "" { // a machine of its own
			name = fmt.Sprintf("\x00%d", i)
		}
		if machines[name] == nil {
			order = append(order, name)
		}
		machines[name] = append(machines[name], i)
	}
	for n, name := range order {
		m := assignment{near: make([][]uint64, len(machines[name])), choices: make([][]uint64, len(machines[name])), left: maxAssignments, low: bits.UintSize}
		for k, i := range machines[name] {
			if m.near[k], m.choices[k], err = s.seats(workers[i]); err != nil {
				return 0, 0, fmt.Errorf("worker %d: %w", i, err)
			}
		}
		m.try(0, 0, bits.UintSize)
		if !m.found {
			return 0, 0, errors.New("workers of one machine cannot have these NICs at the same time")
		}
		if m.left <= 0 {
			m.low = 0
		}
		if n == 0 || m.low < low {
			low = m.low
		}
		if n == 0 || m.high < high {
			high = m.high
		}
	}
	return low, high, nil
}

// seats returns the NICs near each GPU of a worker, and the sets of NICs that it may have, as bits.
func (s seating) seats(w Worker) (near, choices []uint64, err error) {
	if len(w.GPUs) == 0 {
		return nil, nil, errors.New("has no GPU")
	}
	for _, g := range w.GPUs {
		if g < 0 || g >= s.gpus {
			return nil, nil, fmt.Errorf("GPU %d is not between 0 and %d", g, s.gpus-1)
		}
		var mask uint64
		for n := range s.nics {
			if s.near(g, n) {
				mask |= 1 << n
			}
		}
		near = append(near, mask)
	}
	sets := w.Choices
	if w.NICs != nil {
		sets = [][]int{w.NICs}
	}
	for _, set := range sets {
		var mask uint64
		for _, n := range set {
			if n < 0 || n >= s.nics {
				return nil, nil, fmt.Errorf("NIC %d is not between 0 and %d", n, s.nics-1)
			}
			mask |= 1 << n
		}
		choices = append(choices, mask)
	}
	if sets == nil {
		if w.Count < 1 || w.Count > s.nics {
			return nil, nil, fmt.Errorf("%d NICs are not between 1 and %d", w.Count, s.nics)
		}
		choices = subsets(s.nics, w.Count)
	}
	return near, choices, nil
}

// subsets lists the sets of k of n NICs, up to the limit of the enumeration.
func subsets(n, k int) []uint64 {
	var all []uint64
	last := uint64(1)<<k - 1
	if k == maxPlacedNICs {
		return []uint64{^uint64(0)}
	}
	for set := last; n == maxPlacedNICs || set < 1<<n; {
		all = append(all, set)
		lowest := set & -set
		carried := set + lowest
		if carried == 0 || len(all) > maxAssignments {
			break
		}
		set = carried | (set^carried)>>2/lowest // the next larger number with as many bits set (Gosper)
	}
	return all
}

// assignment tries all ways to assign NICs to the workers of one machine.
type assignment struct {
	near, choices [][]uint64
	left          int
	found         bool
	low, high     int
}

func (a *assignment) try(worker int, taken uint64, least int) {
	if a.left <= 0 {
		return
	}
	if worker == len(a.choices) {
		a.left--
		a.found = true
		a.low, a.high = min(a.low, least), max(a.high, least)
		return
	}
	for _, set := range a.choices[worker] {
		if set&taken != 0 {
			continue
		}
		a.try(worker+1, taken|set, min(least, pairs(a.near[worker], set)))
		if a.left <= 0 {
			return
		}
	}
}

// placed is the cluster as the workers of a placement see it: a worker is a node, whose NICs are its exits.
func (c *Cluster) placed(p *Placement, exits int) *Cluster {
	w := *c
	w.hw.Nodes, w.hw.GPUsPerNode = len(p.Workers), len(p.Workers[0].GPUs)
	for _, other := range p.Workers {
		w.hw.GPUsPerNode = min(w.hw.GPUsPerNode, len(other.GPUs))
	}
	w.net.nics = max(1, exits)
	if exits == 0 { // a NIC that is near no GPU: through host memory
		w.net.payload *= c.staged()
	}
	scale := float64(w.net.nics) / float64(max(1, c.net.nics))
	for _, g := range []*int{&w.graphs.ring.Channels, &w.graphs.tree.Channels} {
		*g = max(1, int(float64(*g)*scale))
	}
	if w.hw.GPUsPerNode > 2 {
		w.graphs.nvls.Channels = min(w.graphs.nvls.Channels, w.hw.GPUsPerNode)
	} else {
		w.graphs.nvls.Channels = 0
	}
	w.named()
	return &w
}
