package diagnose

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// workers are the hosts of a banner that have part of a machine each, as pods do.
type workers struct {
	hosts    []string // in the order of their ranks
	gpus     [][]int  // of each, as the driver of the machine numbers them
	on       []int    // the machine of each, from 0; nil: several ways to place them are possible
	machines int      // at least so many: no GPU is in two workers
	all      int      // GPUs of a machine
	nics     int      // of a machine
	per      int      // NICs of a worker
	near     func(gpu, nic int) bool
}

// workersOf finds in a banner the workers that have part of a machine. The addresses of all of them together must be as
// many as the machine has GPUs, for their order is that of the driver's numbers (nvidia-smi and rocm-smi number GPUs by
// PCI address). Nil, with the reason where the workers are parts of machines and their GPUs cannot be told.
func workersOf(devices []fabric.RankDevice, m *topology.Machine) (w *workers, why string) {
	byHost := map[string][]string{}
	var hosts, all []string
	for _, d := range devices {
		if d.Host == "" || d.Bus == "" {
			return nil, ""
		}
		if byHost[d.Host] == nil {
			hosts = append(hosts, d.Host)
		}
		if bus := busOf(d.Bus); !slices.Contains(byHost[d.Host], bus) {
			byHost[d.Host] = append(byHost[d.Host], bus)
			all = append(all, bus)
		}
	}
	slices.SortFunc(all, topology.CompareBus)
	all = slices.Compact(all)
	total := len(m.GPUs)
	if len(hosts) < 2 || slices.ContainsFunc(hosts, func(h string) bool { return len(byHost[h]) >= total }) {
		return nil, ""
	}
	if len(all) != total {
		return nil, fmt.Sprintf("the workers have part of a machine each, and the banner has %d of its %d PCI addresses: which GPU is which, and which NICs are near it, is unknown", len(all), total)
	}
	w = &workers{hosts: hosts, all: total, nics: len(m.NICs), near: nearOf(m)}
	for _, h := range hosts {
		var gpus []int
		for _, bus := range byHost[h] {
			gpus = append(gpus, slices.Index(all, bus))
		}
		slices.Sort(gpus)
		w.gpus = append(w.gpus, gpus)
	}
	w.place()
	w.per = w.nics * len(w.gpus[0]) / w.all
	return w, ""
}

// busOf is the PCI address of a banner in one spelling: nccl-tests prints it without its function, rccl-tests with it.
func busOf(text string) string {
	for _, try := range []string{text, text + ".0", text + ":00.0"} {
		if bus, err := topology.ParseBus(strings.TrimPrefix(try, "0x")); err == nil {
			return bus
		}
	}
	return strings.ToLower(text)
}

// nearOf is which NICs are below the same PCIe switch as a GPU; nil where the machine's switches are unknown.
func nearOf(m *topology.Machine) func(gpu, nic int) bool {
	if slices.ContainsFunc(m.Gaps, func(gap string) bool { return strings.HasPrefix(gap, "PCIe switches: unspecified") }) {
		return nil
	}
	matrix, gpus := m.Matrix(), len(m.GPUs)
	near := func(gpu, nic int) bool {
		if gpu >= gpus || gpus+nic >= len(matrix.Devices) {
			return false
		}
		d := matrix.Hop(gpu, gpus+nic).Distance
		return d == topology.PIX || d == topology.PXB
	}
	for g := range gpus {
		for n := range m.NICs {
			if near(g, n) {
				return near
			}
		}
	}
	return nil
}

// place finds out which workers share a machine: no GPU is in two of them.
func (w *workers) place() {
	uses := make([]int, w.all)
	for _, gpus := range w.gpus {
		for _, g := range gpus {
			uses[g]++
		}
	}
	w.machines = slices.Max(uses)
	if slices.Min(uses) != w.machines {
		return // a GPU of some machine is in no worker, and many ways are possible
	}
	p := packing{w: w, used: make([][]bool, w.machines), on: make([]int, len(w.gpus)), steps: 1 << 16}
	for i := range p.used {
		p.used[i] = make([]bool, w.all)
	}
	p.try(0, 0)
	if p.found == 1 && p.steps > 0 {
		w.on = p.only
	}
}

// packing places workers on machines, and counts in how many ways that is possible.
type packing struct {
	w     *workers
	used  [][]bool // GPUs by machine
	on    []int
	only  []int // the first way
	found int
	steps int // left
}

func (p *packing) try(worker, opened int) {
	if p.steps--; p.steps <= 0 || p.found > 1 {
		return
	}
	if worker == len(p.on) {
		p.found++
		p.only = slices.Clone(p.on)
		return
	}
	for m := range min(opened+1, p.w.machines) { // machines are alike: a new one is always the next
		if slices.ContainsFunc(p.w.gpus[worker], func(g int) bool { return p.used[m][g] }) {
			continue
		}
		for _, g := range p.w.gpus[worker] {
			p.used[m][g] = true
		}
		p.on[worker] = m
		p.try(worker+1, max(opened, m+1))
		for _, g := range p.w.gpus[worker] {
			p.used[m][g] = false
		}
	}
}

// placement is the workers with the NICs that each may have.
func (w *workers) placement(choices [][]int) *collective.Placement {
	p := &collective.Placement{Near: w.near}
	for i, gpus := range w.gpus {
		x := collective.Worker{GPUs: gpus, Choices: choices, Count: w.per}
		if w.on != nil {
			x.Machine = strconv.Itoa(w.on[i])
		}
		p.Workers = append(p.Workers, x)
	}
	return p
}

// blocks are the whole blocks of NICs that a claim by number gives: the first so many, the next so many.
func (w *workers) blocks() (blocks [][]int) {
	for from := 0; w.per > 0 && from+w.per <= w.nics; from += w.per {
		block := upTo(w.per)
		for i := range block {
			block[i] += from
		}
		blocks = append(blocks, block)
	}
	return blocks
}

// withPairs is as many workers of the same size, of which each has so many GPUs with a NIC of their own near them: what
// the network carries depends on nothing else of a placement.
func (w *workers) withPairs(pairs int) *collective.Placement {
	p := &collective.Placement{Near: func(gpu, nic int) bool { return gpu == nic }}
	gpus := upTo(len(slices.MinFunc(w.gpus, func(a, b []int) int { return cmp.Compare(len(a), len(b)) })))
	for range w.gpus {
		p.Workers = append(p.Workers, collective.Worker{GPUs: gpus, NICs: upTo(pairs)})
	}
	return p
}

// upTo are the numbers from 0 below n.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// most is how many pairs a worker can have.
func (w *workers) most() int {
	size := w.per
	for _, gpus := range w.gpus {
		size = min(size, len(gpus))
	}
	return size
}

// text is the workers in words: 4 workers of 4 GPUs on 2 machines.
func (w *workers) text() string {
	return fmt.Sprintf("%d workers of %s on %s", len(w.hosts), fabric.Count(len(w.gpus[0]), "GPU"), fabric.Count(w.machines, "machine"))
}
