package plan

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// podDevices plans what every pod of the fabric gets, after claims: what these give is not a resource.
func podDevices(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	if c.Launcher != intent.Kubernetes || c.Kubernetes == nil {
		return nil
	}
	first := cat.Machines[c.Nodes[0].Machine]
	if first.GPUs.Value == 0 {
		return nil // claims has said so
	}
	vendor := cat.GPUs[first.GPU].Vendor
	out := &fabric.PodDevices{Kubernetes: c.Kubernetes.Version, Namespace: c.Kubernetes.Namespace, GPUs: int(first.GPUs.Value), GPUVendor: vendor, GPUResource: vendor + ".com/gpu", TestImages: c.Kubernetes.Images}
	if p.Claims != nil {
		out.GPUs, out.Rails = p.Claims.GPUs, p.Claims.NICs
		if p.Claims.GPUDriver != "" {
			out.GPUResource = ""
		}
	}
	if c.Kubernetes.NICDriver != intent.SharedDevicePlugin {
		p.Pods = out
		return nil
	}
	var err error
	if out.NICs, err = sharedNICs(p, c, cat); err != nil {
		return err
	}
	out.Rails = len(out.NICs)
	p.Pods = out
	return nil
}

// sharedNICs is a resource for each rail, which every machine has.
func sharedNICs(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) ([]fabric.SharedNIC, error) {
	linkType := "ether"
	if p.Transport == fabric.InfiniBand {
		linkType = "infiniband"
	}
	var all []fabric.SharedNIC
	for i, g := range c.Nodes {
		m := cat.Machines[g.Machine]
		if m.GPUs.Value != cat.Machines[c.Nodes[0].Machine].GPUs.Value || m.GPU == "" || cat.GPUs[m.GPU].Vendor != cat.GPUs[cat.Machines[c.Nodes[0].Machine].GPU].Vendor {
			return nil, fmt.Errorf("nodes[%d].machine: its GPUs differ from those of nodes[0], and a pod has a whole machine: plan two clusters", i)
		}
		names, err := fabric.ExpandNames(g.NICs)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d].nics: %w", i, err)
		}
		model := cat.NICs[m.NIC]
		ids := model.PCIID
		if model.Of != "" {
			ids = cat.NICs[model.Of].PCIID
		}
		if len(ids) == 0 || model.Driver == "" {
			return nil, fmt.Errorf("nodes[%d].machine: the catalog has no PCI id or no driver of its NIC %q, by which the shared device plugin selects", i, m.NIC)
		}
		if i > 0 && len(names) != len(all) {
			return nil, fmt.Errorf("nodes[%d].nics: %d, and nodes[0] has %d: a pod asks for the NIC of every rail", i, len(names), len(all))
		}
		for rail, name := range names {
			if i == 0 {
				all = append(all, fabric.SharedNIC{Resource: sharedName(rail), LinkType: linkType, Source: "catalog"})
			}
			if other := slices.IndexFunc(all, func(s fabric.SharedNIC) bool { return slices.Contains(s.Interfaces, name) }); other >= 0 && other != rail {
				return nil, fmt.Errorf("nodes[%d].nics: %q is of rail %d here and of rail %d elsewhere, and the shared device plugin has one list of names for all machines: it would give it out twice; name the interfaces alike, or use nic_driver: %s", i, name, rail, other, fabric.DriverDraNet)
			}
			n := &all[rail]
			n.Interfaces = with(n.Interfaces, name)
			n.Drivers = with(n.Drivers, model.Driver)
			for _, id := range ids {
				vendor, device, _ := strings.Cut(id, ":")
				n.Vendors, n.Devices = with(n.Vendors, vendor), with(n.Devices, device)
			}
		}
	}
	return all, nil
}

// sharedName is the resource of a rail: a letter each, as in "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in
// VMware Private AI", E.6; a number behind the 26th.
func sharedName(rail int) string {
	const name, letters = "rdma_shared_devices_", 26
	if rail < letters {
		return name + string(rune('a'+rail))
	}
	return fmt.Sprint(name, rail)
}

func with(all []string, one string) []string {
	if slices.Contains(all, one) {
		return all
	}
	return append(all, one)
}
