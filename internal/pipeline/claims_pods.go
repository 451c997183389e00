package pipeline

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// The kinds of AllocatedDevice that are paired.
const (
	kindGPU = "gpu"
	kindNIC = "nic"
)

// completePods gives the pods of an allocation their devices in pairs, and their rate, of which there is one for each pod.
func completePods(a *fabric.Allocation) {
	devices := map[string][]*fabric.AllocatedDevice{}
	for i := range a.Claims {
		c := &a.Claims[i]
		for k := range c.Devices {
			devices[c.Pod] = append(devices[c.Pod], &c.Devices[k])
		}
	}
	for i := range a.Pods {
		pod := &a.Pods[i]
		pod.PodPairs = podPairs(*pod, devices[pod.Pod])
		if len(a.NICGBs) == len(a.Pods) {
			pod.NICGBs = a.NICGBs[i]
		}
	}
}

// podPairs pairs the devices of a pod.
func podPairs(pod fabric.PodAlignment, devices []*fabric.AllocatedDevice) fabric.PodPairs {
	var gpus, nics []*fabric.AllocatedDevice
	for _, d := range devices {
		switch d.Kind {
		case kindGPU:
			gpus = append(gpus, d)
		case kindNIC:
			nics = append(nics, d)
		}
	}
	x := fabric.PodPairs{Total: min(pod.GPUs, pod.NICs), NUMAs: numaNodes(nics), Pairs: paired(gpus, nics)}
	for i := range x.Pairs {
		if pair := &x.Pairs[i]; pair.GPU == nil && pod.PluginGPUs > 0 {
			pair.Distance = fabric.GPUByPlugin
		}
	}
	x.Status = podStatus(pod.Aligned, pod.GPUs, pod.NICs)
	if pod.GPUs == 0 && pod.NICs == 0 && len(devices) > 0 {
		x.Status = fabric.NotApplicable // it has its devices, of which alignment says nothing
	}
	return x
}

// podStatus is fail where a pair is certainly not aligned, and pass where all are. Where the GPUs of a pod with NICs come from
// may not have been said: that is unknown.
func podStatus(aligned fabric.CountRange, gpus, nics int) fabric.Status {
	total := min(gpus, nics)
	switch {
	case aligned.Max < total:
		return fabric.Fail
	case aligned.Min >= total && total > 0:
		return fabric.Pass
	case gpus > 0 && nics == 0:
		return fabric.NotApplicable // there is nothing to align
	}
	return fabric.Unknown
}

// rootsOf are the PCIe roots that a driver publishes of a device; none where it publishes none.
func rootsOf(d *fabric.AllocatedDevice) []string {
	if d.PCIeRoot != "" && !slices.Contains(d.PCIeRoots, d.PCIeRoot) {
		return append(slices.Clone(d.PCIeRoots), d.PCIeRoot)
	}
	return d.PCIeRoots
}

func sameRoot(gpu, nic *fabric.AllocatedDevice) bool {
	of := rootsOf(nic)
	return slices.ContainsFunc(rootsOf(gpu), func(r string) bool { return slices.Contains(of, r) })
}

// distance is what a GPU and a NIC have in common.
func distance(gpu, nic *fabric.AllocatedDevice) fabric.DeviceDistance {
	switch {
	case len(rootsOf(gpu)) == 0 || len(rootsOf(nic)) == 0:
		return fabric.SomeDistance
	case sameRoot(gpu, nic):
		return fabric.SameRoot
	case gpu.NUMA == nil || nic.NUMA == nil:
		return fabric.OtherRoot
	case *gpu.NUMA == *nic.NUMA:
		return fabric.SameNUMA
	}
	return fabric.OtherNUMA
}

// paired gives each GPU a NIC: as many as possible on one root, then those on one NUMA node, then the others in their order.
func paired(gpus, nics []*fabric.AllocatedDevice) (pairs []fabric.AllocatedPair) {
	partner := map[*fabric.AllocatedDevice]*fabric.AllocatedDevice{}
	taken := map[*fabric.AllocatedDevice]bool{}
	left := func(all []*fabric.AllocatedDevice, is func(*fabric.AllocatedDevice) bool) (out []*fabric.AllocatedDevice) {
		for _, d := range all {
			if !is(d) {
				out = append(out, d)
			}
		}
		return out
	}
	for _, near := range []func(gpu, nic *fabric.AllocatedDevice) bool{
		sameRoot,
		func(gpu, nic *fabric.AllocatedDevice) bool {
			return gpu.NUMA != nil && nic.NUMA != nil && *gpu.NUMA == *nic.NUMA
		},
		func(*fabric.AllocatedDevice, *fabric.AllocatedDevice) bool { return true },
	} {
		g := left(gpus, func(d *fabric.AllocatedDevice) bool { return partner[d] != nil })
		n := left(nics, func(d *fabric.AllocatedDevice) bool { return taken[d] })
		for gpu, nic := range matched(g, n, near) {
			partner[gpu], taken[nic] = nic, true
		}
	}
	for _, g := range gpus {
		pair := fabric.AllocatedPair{GPU: g, NIC: partner[g], Distance: fabric.NoPartner}
		if pair.NIC != nil {
			pair.Distance = distance(g, pair.NIC)
		}
		pairs = append(pairs, pair)
	}
	for _, n := range nics {
		if !taken[n] {
			pairs = append(pairs, fabric.AllocatedPair{NIC: n, Distance: fabric.NoPartner})
		}
	}
	return pairs
}

// matched is a maximum matching of GPUs and NICs that are near each other, by augmenting paths (Kuhn): the NIC of each GPU
// that has one.
func matched(gpus, nics []*fabric.AllocatedDevice, near func(gpu, nic *fabric.AllocatedDevice) bool) map[*fabric.AllocatedDevice]*fabric.AllocatedDevice {
	owner := map[*fabric.AllocatedDevice]*fabric.AllocatedDevice{}
	var give func(gpu *fabric.AllocatedDevice, seen map[*fabric.AllocatedDevice]bool) bool
	give = func(gpu *fabric.AllocatedDevice, seen map[*fabric.AllocatedDevice]bool) bool {
		for _, nic := range nics {
			if seen[nic] || !near(gpu, nic) {
				continue
			}
			seen[nic] = true
			if owner[nic] == nil || give(owner[nic], seen) {
				owner[nic] = gpu
				return true
			}
		}
		return false
	}
	for _, gpu := range gpus {
		give(gpu, map[*fabric.AllocatedDevice]bool{})
	}
	of := make(map[*fabric.AllocatedDevice]*fabric.AllocatedDevice, len(owner))
	for nic, gpu := range owner {
		of[gpu] = nic
	}
	return of
}

// numaNodes are the NUMA nodes of devices, in order, without those that are unknown.
func numaNodes(devices []*fabric.AllocatedDevice) (nodes []int) {
	for _, d := range devices {
		if d.NUMA != nil {
			nodes = append(nodes, *d.NUMA)
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}
