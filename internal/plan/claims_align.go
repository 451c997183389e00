package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// aligner chooses what keeps the GPUs and NICs of a pod together.
type aligner struct {
	*fabric.Claims
	machine      *topology.Machine
	id           string   // of the machine in the catalog
	nics         []string // interfaces of the fabric, by index
	gpuAddresses []string // nil: no source gives them
	nicAddresses []string // likewise, or the cluster does not use all NICs
}

// align takes what the cluster file wants, or the closest that the machine and the drivers have. What cannot be is an error
// that says what can.
func (a aligner) align(want fabric.Alignment) error {
	cannot := map[fabric.Alignment]string{fabric.ByPCIeRoot: a.noRoot(), fabric.ByNUMA: a.noNUMA(), fabric.ByName: a.noName(), fabric.Unaligned: ""}
	order := []fabric.Alignment{fabric.ByPCIeRoot, fabric.ByNUMA, fabric.ByName, fabric.Unaligned}
	best := order[slices.IndexFunc(order, func(w fabric.Alignment) bool { return cannot[w] == "" })]
	switch {
	case want == "":
		a.Align = best
		a.why(cannot)
	case cannot[want] != "":
		works := []string{}
		for _, w := range order {
			if cannot[w] == "" {
				works = append(works, string(w))
			}
		}
		return fmt.Errorf("kubernetes.pod.align: %s cannot be: %s; what can: %s", want, cannot[want], strings.Join(works, ", "))
	default:
		a.Align = want
	}
	switch a.Align {
	case fabric.ByNUMA:
		a.byNUMA()
	case fabric.ByName:
		a.Blocks = a.byName()
	}
	a.All = a.whole() && len(a.FabricNICs) == 0 && a.Align == fabric.Unaligned && a.NICs == len(a.nics)
	a.notes()
	return nil
}

// whole reports whether a pod has every GPU of its machine.
func (a aligner) whole() bool { return a.PodsPerNode == 1 }

// why notes why the closest alignment was not taken, where it was not.
func (a aligner) why(cannot map[fabric.Alignment]string) {
	if a.Align == fabric.ByPCIeRoot || a.GPUDriver == "" || a.whole() {
		return
	}
	a.Notes = append(a.Notes, fmt.Sprintf("not by PCIe root: %s", cannot[fabric.ByPCIeRoot]))
	if a.Align != fabric.ByNUMA {
		a.Notes = append(a.Notes, fmt.Sprintf("not by NUMA node: %s", cannot[fabric.ByNUMA]))
	}
	if a.Align == fabric.Unaligned {
		a.Notes = append(a.Notes, fmt.Sprintf("not by name: %s", cannot[fabric.ByName]))
	}
}

// notes say what the choice cannot give.
func (a aligner) notes() {
	note := func(format string, args ...any) { a.Notes = append(a.Notes, fmt.Sprintf(format, args...)) }
	pairs := min(a.GPUs, a.NICs)
	switch {
	case a.Align == fabric.Unaligned && a.whole():
		note("a pod has every GPU of its machine: the pairs of the machine are in it whatever the claim says")
	case a.GPUDriver == "":
		note("the device plugin chooses the GPUs of a pod without looking at its NICs: how many of its %s are aligned is chance, and `railwright claims` shows the range. "+
			"A whole machine per pod leaves no chance, nor does a DRA driver for the GPUs", fabric.Count(pairs, "pair"))
	case a.Align == fabric.Unaligned:
		note("nothing keeps the GPUs and NICs of a pod together: how many of its %s are aligned is chance", fabric.Count(pairs, "pair"))
	}
	if a.All {
		note("every NIC that a machine has, however many these are: a machine that has lost one still gets pods, and `railwright check` finds it")
	}
	for _, gap := range a.machine.Gaps {
		assumed := a.Align == fabric.ByPCIeRoot && strings.HasPrefix(gap, "PCIe switches: unspecified") || a.Align == fabric.ByNUMA && strings.HasPrefix(gap, "NUMA nodes: unspecified")
		if assumed {
			note("how machine %s is built is assumed (%s): prove these claims with `railwright claims` on the slices of its nodes, once they are there", a.id, gap)
		}
	}
}

// below counts GPUs and NICs below each PCIe root that the system shows.
func (a aligner) below() (gpus, nics map[string]int) {
	gpus, nics = map[string]int{}, map[string]int{}
	roots := a.machine.PCIeRoots()
	for _, g := range a.machine.GPUs {
		if root := roots[g.Bus]; root != "" {
			gpus[root]++
		}
	}
	for _, n := range a.machine.NICs {
		if root := roots[n.Bus]; root != "" {
			nics[root]++
		}
	}
	return gpus, nics
}

// noRoot returns why no claim can put each GPU of a pod below a PCIe root with a NIC of it, empty where it can.
func (a aligner) noRoot() string {
	if a.GPUDriver == "" {
		return "GPUs come from a device plugin, which no claim can tie to a NIC"
	}
	gpus, nics := a.below()
	shared := slices.ContainsFunc(slices.Collect(maps.Keys(gpus)), func(root string) bool { return nics[root] > 0 })
	switch {
	case len(nics) == 0:
		return fmt.Sprintf("the system of machine %s shows no PCIe root of its NICs, so %s publishes none", a.id, a.NICDriver)
	case !shared:
		return fmt.Sprintf("no GPU of machine %s shares a PCIe root with a NIC: GPUs are below %s, NICs below %s", a.id, listed(gpus), listed(nics))
	}
	parts := a.Pairs()
	places := 0
	for root := range gpus {
		places += min(gpus[root]/(a.GPUs/parts), nics[root]/(a.NICs/parts))
	}
	if need := parts * a.PodsPerNode; places < need {
		return fmt.Sprintf("machine %s has room for %d times %s and %s below one PCIe root, and %s need %d",
			a.id, places, fabric.Count(a.GPUs/parts, "GPU"), fabric.Count(a.NICs/parts, "NIC"), fabric.Count(a.PodsPerNode, "pod"), need)
	}
	return ""
}

// listed names the first few roots.
func listed(roots map[string]int) string {
	const most = 4
	names := slices.Sorted(maps.Keys(roots))
	if len(names) > most {
		return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
	}
	return strings.Join(names, ", ")
}

// noNUMA returns why no claim can take the GPUs and NICs of a pod from one NUMA node, empty where it can.
func (a aligner) noNUMA() string {
	switch a.GPUDriver {
	case "":
		return "GPUs come from a device plugin, which no claim can tie to a NIC"
	case fabric.DriverNVIDIA:
		return a.GPUDriver + " publishes no NUMA node of a GPU (releases up to 25.12)"
	}
	pods := a.podsByNUMA()
	total := 0
	for _, n := range pods {
		total += n
	}
	if total < a.PodsPerNode {
		return fmt.Sprintf("the NUMA nodes of machine %s hold %s of %s and %s each, not %d", a.id, fabric.Count(total, "pod"), fabric.Count(a.GPUs, "GPU"), fabric.Count(a.NICs, "NIC"), a.PodsPerNode)
	}
	for _, node := range slices.Sorted(maps.Keys(pods)) {
		if pods[node]*len(pods) != a.PodsPerNode {
			return fmt.Sprintf("NUMA node %d of machine %s holds %s, and others hold another number: equally many pods have each claim", node, a.id, fabric.Count(pods[node], "pod"))
		}
	}
	return ""
}

// podsByNUMA counts the pods for which the GPUs and NICs of each NUMA node suffice; nodes without any are absent.
func (a aligner) podsByNUMA() map[int]int {
	gpus, nics, pods := map[int]int{}, map[int]int{}, map[int]int{}
	for _, g := range a.machine.GPUs {
		gpus[g.NUMA]++
	}
	for _, n := range a.machine.NICs {
		nics[n.NUMA]++
	}
	for node := range gpus {
		if n := min(gpus[node]/a.GPUs, nics[node]/a.NICs); n > 0 && node >= 0 {
			pods[node] = n
		}
	}
	return pods
}

func (a aligner) byNUMA() {
	for _, node := range slices.Sorted(maps.Keys(a.podsByNUMA())) {
		block := fabric.DeviceBlock{GPUs: []int{}, NICs: []string{}, NUMA: &node}
		for _, g := range a.machine.GPUs {
			if g.NUMA == node {
				block.GPUs = append(block.GPUs, g.Index)
			}
		}
		for _, n := range a.machine.NICs {
			if n.NUMA == node && n.Index < len(a.nics) {
				block.NICs = append(block.NICs, a.nics[n.Index])
			}
		}
		a.Blocks = append(a.Blocks, block)
	}
}

// noName returns why no claim can name the devices of a pod, empty where it can.
func (a aligner) noName() string {
	switch {
	case a.whole():
		return "a pod has every GPU of its machine, so there is nothing to choose"
	case a.GPUDriver != "" && len(a.gpuAddresses) == 0:
		return fmt.Sprintf("no source has the PCI addresses of the GPUs of machine %s, and %s publishes no other name that is the same on all nodes", a.id, a.GPUDriver)
	}
	return ""
}

// byName divides a machine into blocks: GPUs by their numbers, and to each block the NICs that are nearest to its GPUs.
func (a aligner) byName() []fabric.DeviceBlock {
	index := map[string]int{} // of a NIC, by its address
	for _, n := range a.machine.NICs {
		index[n.Bus] = n.Index
	}
	near := map[string][]int{} // NICs by the address of their GPU
	for _, p := range a.machine.Pairing().Pairs {
		if p.NIC != nil {
			near[p.GPU.Bus] = append(near[p.GPU.Bus], index[p.NIC.Bus])
		}
	}
	taken := map[int]bool{}
	blocks := make([]fabric.DeviceBlock, a.PodsPerNode)
	chosen := make([][]int, a.PodsPerNode)
	for b := range blocks {
		for i := range a.GPUs {
			gpu := b*a.GPUs + i
			blocks[b].GPUs = append(blocks[b].GPUs, gpu)
			if a.GPUDriver != "" {
				blocks[b].GPUBuses = append(blocks[b].GPUBuses, a.gpuAddresses[gpu])
			}
			for _, nic := range near[a.machine.GPUs[gpu].Bus] {
				if !taken[nic] && len(chosen[b]) < a.NICs {
					taken[nic] = true
					chosen[b] = append(chosen[b], nic)
				}
			}
		}
	}
	for b := range blocks { // NICs that are nearest to no GPU of a block that still lacks some
		for nic := range a.nics {
			if !taken[nic] && len(chosen[b]) < a.NICs {
				taken[nic] = true
				chosen[b] = append(chosen[b], nic)
			}
		}
		slices.Sort(chosen[b])
		for _, nic := range chosen[b] {
			blocks[b].NICs = append(blocks[b].NICs, a.nics[nic])
			if a.nicAddresses != nil { // a NIC of a guest may have no interface, and this every driver publishes
				blocks[b].NICBuses = append(blocks[b].NICBuses, a.nicAddresses[nic])
			}
		}
	}
	return blocks
}
