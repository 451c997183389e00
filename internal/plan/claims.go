package plan

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/topology"
)

// claims plans what the pods of a cluster ask Kubernetes for. Machines of which the GPUs are unknown get no pods planned,
// and the plan says so; a pod that no machine of the cluster can hold, or that two kinds of them would hold in different
// ways, is an error that names the field.
func claims(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	if c.Launcher != intent.Kubernetes || c.Kubernetes == nil || c.Kubernetes.NICDriver == intent.SharedDevicePlugin {
		return nil
	}
	var first *fabric.Claims
	for i, g := range c.Nodes {
		model := cat.Machines[g.Machine]
		if model.GPUs.Value == 0 {
			p.Notes = append(p.Notes, fmt.Sprintf("no pods are planned: nodes[%d] names no machine of the catalog with GPUs", i))
			return nil
		}
		one, err := podsOn(p, c, g, cat)
		if err != nil {
			return err
		}
		if first == nil {
			first = one
			continue
		}
		if why := differ(*first, *one); why != "" {
			return fmt.Errorf("nodes[%d].machine: its pods would differ from those of nodes[0] in %s: give kubernetes.pod what both machines have, or plan two clusters", i, why)
		}
	}
	first.Pods = first.PodsPerNode * len(p.Nodes)
	p.Claims = first
	return nil
}

// differ names the first thing in which pods of two kinds of machines differ.
func differ(a, b fabric.Claims) string {
	blocks := func(c fabric.Claims) string { return fmt.Sprintf("%+v", c.Blocks) }
	switch {
	case a.GPUs != b.GPUs:
		return "GPUs"
	case a.NICs != b.NICs:
		return "NICs"
	case a.PodsPerNode != b.PodsPerNode:
		return "how many are on a machine"
	case a.GPUResource != b.GPUResource:
		return "the vendor of their GPUs"
	case a.Align != b.Align:
		return "what keeps GPUs and NICs together"
	case blocks(a) != blocks(b):
		return "the names of their devices"
	case !slices.Equal(a.FabricNICs, b.FabricNICs):
		return "the names of their NICs"
	}
	return ""
}

// podsOn plans the pods of one group of machines.
func podsOn(p *fabric.Plan, c *intent.Cluster, g intent.NodeGroup, cat *catalog.Catalog) (*fabric.Claims, error) {
	names, err := fabric.ExpandNames(g.NICs)
	if err != nil {
		return nil, fmt.Errorf("nodes.nics: %w", err)
	}
	m, err := topology.NominalOf(cat, fabric.Hardware{Machine: g.Machine, NICsPerNode: len(names)})
	if err != nil {
		return nil, fmt.Errorf("nodes.machine: %w", err)
	}
	k, pod := c.Kubernetes, intent.Pod{}
	if k.Pod != nil {
		pod = *k.Pod
	}
	gpu := cat.GPUs[cat.Machines[g.Machine].GPU]
	claim := &fabric.Claims{Kubernetes: k.Version, API: apiOf(k.Minor()), Namespace: k.Namespace, NICDriver: k.NICDriver, GPUResource: gpu.Vendor + ".com/gpu"}
	if k.GPUDriver != intent.DevicePlugin {
		claim.GPUDriver = k.GPUDriver
	}
	if err := share(claim, pod, len(m.GPUs), len(names), g.Machine); err != nil {
		return nil, err
	}
	model := cat.Machines[g.Machine]
	switch driver := cat.NICs[model.NIC].Driver; {
	case c.Platform == intent.GKE || driver == "efa":
		// the machine has no other RDMA NIC, and EFA devices have no interface whose name could be asked for
	case p.Transport == fabric.InfiniBand:
		claim.LinkLayer = "infiniband"
	default:
		claim.FabricNICs = names
	}
	a := aligner{Claims: claim, machine: m, id: g.Machine, nics: names, gpuAddresses: model.GPUAddresses.Are}
	if len(model.NICAddresses.Are) == len(names) {
		a.nicAddresses = model.NICAddresses.Are
	}
	if err := a.align(pod.Align); err != nil {
		return nil, err
	}
	return claim, nil
}

// apiOf is the version of resource.k8s.io that a minor version of Kubernetes serves and in which it does not change any more
// (Kubernetes release notes: v1 from 1.34, v1beta2 from 1.33, v1beta1 from 1.32).
func apiOf(minor int) string {
	switch {
	case minor >= 34:
		return "v1"
	case minor == 33:
		return "v1beta2"
	default:
		return "v1beta1"
	}
}

// share gives each pod its share of a machine with so many GPUs and NICs.
func share(c *fabric.Claims, pod intent.Pod, gpus, nics int, machine string) error {
	c.GPUs = pod.GPUs
	if c.GPUs == 0 {
		c.GPUs = gpus
	}
	switch {
	case c.GPUs > gpus:
		return fmt.Errorf("kubernetes.pod.gpus: %d GPUs: machine %s has %d", c.GPUs, machine, gpus)
	case gpus%c.GPUs != 0:
		return fmt.Errorf("kubernetes.pod.gpus: the %d GPUs of machine %s do not divide into pods of %d", gpus, machine, c.GPUs)
	}
	c.PodsPerNode = gpus / c.GPUs
	c.NICs = pod.NICs
	if c.NICs == 0 {
		c.NICs = nics / c.PodsPerNode
	}
	switch {
	case c.NICs == 0:
		return fmt.Errorf("kubernetes.pod.gpus: %d pods on a machine share %d NICs, and a NIC is in one pod only", c.PodsPerNode, nics)
	case c.NICs*c.PodsPerNode > nics:
		return fmt.Errorf("kubernetes.pod.nics: %d pods of %s need %d: machine %s has %d of the fabric", c.PodsPerNode, fabric.Count(c.NICs, "NIC"), c.NICs*c.PodsPerNode, machine, nics)
	case c.NICs > fabric.MaxClaimDevices:
		return fmt.Errorf("kubernetes.pod.nics: %d NICs: a claim holds at most %d devices (Kubernetes)", c.NICs, fabric.MaxClaimDevices)
	case c.GPUDriver != "" && c.GPUs+c.NICs > fabric.MaxClaimDevices:
		return fmt.Errorf("kubernetes.pod: %s and %s are more than the %d devices that a claim holds (Kubernetes): give a pod fewer", fabric.Count(c.GPUs, "GPU"), fabric.Count(c.NICs, "NIC"), fabric.MaxClaimDevices)
	}
	return nil
}
