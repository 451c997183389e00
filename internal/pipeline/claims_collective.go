package pipeline

import (
	"fmt"

	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// podCollectiveSize is the size at which pods are compared, bytes: large enough for the plateau of any machine, and where
// public tables of nccl-tests end.
const podCollectiveSize = 8 << 30

// podCollective is what a collective over all pods of an allocation reaches on machines, and what it would reach with all
// their pairs aligned. Each pod is a node to NCCL, which sends through the NICs that share a PCIe root with a GPU of their own.
// Of a single pod two are taken, since one does not use the network.
func podCollective(c *collective.Cluster, what fabric.Collective, all []fabric.PodAlignment) (*fabric.PodCollective, error) {
	if len(all) == 0 {
		return nil, fmt.Errorf("no pod")
	}
	least, low, high := all[0], all[0].Aligned.Min, all[0].Aligned.Max
	whole := all[0].Total
	for _, pod := range all {
		if pod.GPUs == 0 || pod.NICs == 0 {
			return nil, fmt.Errorf("pod %s has %s and %s", fabric.Quote(pod.Pod), fabric.Count(pod.GPUs, "GPU"), fabric.Count(pod.NICs, "NIC"))
		}
		if pod.Aligned.Min < low {
			least, low = pod, pod.Aligned.Min
		}
		high, whole = min(high, pod.Aligned.Max), min(whole, pod.Total)
	}
	x := &fabric.PodCollective{Collective: string(what), Size: podCollectiveSize, Pods: max(len(all), 2), Slowest: least.Pod}
	for _, of := range []struct {
		exits int
		to    *float64
	}{{low, &x.BusBW.Min}, {high, &x.BusBW.Max}, {whole, &x.Aligned}} {
		p, err := c.Predict(collective.Job{Collective: what, Placement: placement(all, of.exits)}, []int64{podCollectiveSize})
		if err != nil {
			return nil, err
		}
		*of.to = p.Rows[0].BusBW
		x.Machine = p.Hardware.Machine
		if x.Machine == "" {
			x.Machine = p.Hardware.GPU
		}
	}
	return x, nil
}

// placement is pods as workers of machines of their own, of whose GPUs so many have a NIC near them: the pace is that of the
// worst, so all have its number.
func placement(all []fabric.PodAlignment, exits int) *collective.Placement {
	p := &collective.Placement{Near: func(gpu, nic int) bool { return gpu == nic }}
	add := func(pod fabric.PodAlignment) {
		w := collective.Worker{GPUs: make([]int, pod.GPUs), NICs: make([]int, exits)}
		for i := range w.GPUs {
			w.GPUs[i] = i
		}
		for i := range w.NICs {
			w.NICs[i] = i
		}
		p.Workers = append(p.Workers, w)
	}
	for _, pod := range all {
		add(pod)
	}
	if len(all) == 1 {
		add(all[0])
	}
	return p
}
