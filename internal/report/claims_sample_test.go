package report

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

func sampleDevice(kind string, i, root int) *fabric.AllocatedDevice {
	numa := root / 2
	d := &fabric.AllocatedDevice{
		Request: fmt.Sprintf("%s-%d", kind, i), Driver: map[string]string{"gpu": "gpu.nvidia.com", "nic": "dra.net"}[kind], Pool: "node1",
		Device: fmt.Sprintf("%s-%d", kind, i), Kind: kind, PCI: fmt.Sprintf("0000:%02x:00.0", 16*root+i), PCIeRoot: fmt.Sprintf("pci0000:%02x", 16*root), NUMA: &numa,
	}
	return d
}

// samplePod is a pod of four pairs, the first of which are aligned and the rest crossed.
func samplePod(i, aligned int) fabric.PodAlignment {
	pod := fabric.PodAlignment{
		Pod: fmt.Sprintf("w-%d", i), Node: fmt.Sprintf("node%d", i/2+1), GPUs: 4, NICs: 4, Aligned: fabric.CountRange{Min: aligned, Max: aligned},
		PodPairs: fabric.PodPairs{Status: fabric.Pass, Total: 4, NICGBs: fabric.RateRange{Min: 200, Max: 200}, NUMAs: []int{0}},
	}
	for k := range 4 {
		root, distance := k, fabric.SameRoot
		if k >= aligned {
			root, distance = (k+2)%4, fabric.OtherNUMA
		}
		pod.Pairs = append(pod.Pairs, fabric.AllocatedPair{GPU: sampleDevice("gpu", k, k), NIC: sampleDevice("nic", k, root), Distance: distance})
	}
	if aligned < 4 {
		pod.Status, pod.NUMAs = fabric.Fail, []int{0, 1}
	}
	return pod
}

// sampleAllocation is pods of which some are aligned, the next misaligned, and the last without devices.
func sampleAllocation(aligned, misaligned, lacking int) *fabric.Allocation {
	a := &fabric.Allocation{
		Meta: fabric.NewMeta("Allocation"), Status: fabric.Pass, Source: "slices.yaml",
		Slices: fabric.SliceCount{Nodes: (aligned + misaligned + 1) / 2, Slices: aligned + misaligned, Devices: 8 * (aligned + misaligned)},
		Orders: &fabric.DeviceOrders{Tried: 16, Nodes: 1, Pods: 2, Aligned: fabric.CountRange{Min: 8, Max: 8}, Total: 8},
	}
	for i := range aligned + misaligned {
		n := 4
		if i >= aligned {
			n = 1
		}
		a.Pods = append(a.Pods, samplePod(i, n))
		a.AlignedPairs.Min += n
		a.AlignedPairs.Max += n
		a.TotalPairs += 4
	}
	a.Collective = &fabric.PodCollective{Collective: "all_gather", Size: 8 << 30, Machine: "a4-highgpu-8g", Pods: max(aligned+misaligned, 2), BusBW: fabric.RateRange{Min: 188, Max: 188}, Aligned: 188}
	if misaligned > 0 {
		a.Status = fabric.Fail
		a.Collective.BusBW, a.Collective.Slowest = fabric.RateRange{Min: 47, Max: 47}, fmt.Sprintf("w-%d", aligned)
		a.Orders.Worse, a.Orders.Mixed, a.Orders.Aligned.Min, a.Orders.Example = 12, 14, 2, "w-0 with nic-0, nic-1, nic-2 and nic-3"
	}
	steps := []string{"request gpu-0: 8 devices of class gpu.nvidia.com, 0 left", "request nic-0: 8 devices of class dra.net, 0 left"} // of the first pod only
	for i := range lacking {
		a.Status = fabric.Fail
		name := fmt.Sprintf("w-%d", aligned+misaligned+i)
		a.Unsatisfied = append(a.Unsatisfied, fabric.Unsatisfied{
			Name: name + "-pairs", Pod: name, Reason: "request nic-0 has no device left",
			Steps: steps, Works: "one node more",
		})
		steps = nil
	}
	return a
}

// pluginAllocation is pods whose GPUs a device plugin gives.
func pluginAllocation() *fabric.Allocation {
	a := sampleAllocation(2, 0, 0)
	a.Status, a.Source, a.Nominal = fabric.Unknown, "nominal, of a4-highgpu-8g in the catalog: no driver has published them", true
	a.AlignedPairs = fabric.CountRange{Min: 0, Max: 8}
	a.Collective.BusBW, a.Collective.Slowest = fabric.RateRange{Min: 12, Max: 188}, "w-0"
	a.Problems = []fabric.ObjectProblem{{File: "claims.yaml", Object: "ResourceClaimTemplate nics", Field: "spec.spec.devices.requests[0].selectors[0]", Reason: "CEL does not compile"}}
	a.Notes = []string{"a device plugin chooses the GPUs: no claim aligns them, unless a pod has the whole machine"}
	for i := range a.Pods {
		pod := &a.Pods[i]
		pod.Status, pod.Aligned = fabric.Unknown, fabric.CountRange{Max: 4}
		for k := range pod.Pairs {
			pod.Pairs[k].GPU, pod.Pairs[k].Distance = nil, fabric.GPUByPlugin
		}
	}
	return a
}
