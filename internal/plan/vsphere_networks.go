package plan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/sizing"
)

// vks is the Kubernetes cluster of the nodes.
func vks(p *fabric.Plan, s *intent.VSphereSite, classes []fabric.VMClass) *fabric.VSphereKube {
	k := s.Kube
	if k == nil {
		return nil
	}
	return &fabric.VSphereKube{Namespace: k.Namespace, ClusterClass: k.ClusterClass, Version: k.Version, StorageClass: k.StorageClass, Control: k.Control,
		Controls: k.Controls, Pools: pools(classes), Volume: k.Volume, OSImage: "os-name=ubuntu", Pods: k.Pods, Services: k.Services, Library: k.Library}
}

// vsphereNetworks are those of table 6, and those that this plan adds. The range of one that the cluster file does not give is not known.
func vsphereNetworks(p *fabric.Plan, s *intent.VSphereSite) []fabric.VNetwork {
	given := map[string]netip.Prefix{}
	for _, n := range s.Network {
		given[n.Name] = n.Range
	}
	var all []fabric.VNetwork
	if s.Kube != nil {
		all = []fabric.VNetwork{
			{Name: "management", Use: "control plane of the Supervisor; reaches ESX hosts and vCenter", Kind: "VLAN", Routed: true, Range: given["management"]},
			{Name: "external", Use: "what services outside see: load balancers, outgoing traffic", Kind: "overlay", Routed: true, Range: given["external"]},
			{Name: "transit", Use: "between the VPCs of a project: private transit gateway", Kind: "overlay", Range: given["transit"]},
			{Name: "private", Use: "nodes and their segments inside a VPC; a /16 where possible", Kind: "overlay", Range: given["private"]},
			{Name: "supervisor-services", Use: "Kubernetes services of the Supervisor", Kind: "overlay", Range: given["services"]},
			{Name: "pods", Use: "pods of the cluster of workers", Kind: "overlay", Range: s.Kube.Pods},
			{Name: "services", Use: "Kubernetes services of that cluster", Kind: "overlay", Range: s.Kube.Services},
		}
	}
	if s.Service != nil {
		all = append(all, fabric.VNetwork{Name: "service-vms", Use: "service virtual machines", Kind: "VLAN", Routed: true, Range: s.Service.Addresses.Masked()})
	}
	if p.Transport == fabric.InfiniBand && p.Addressing.Pool.IsValid() {
		all = append(all, fabric.VNetwork{Name: "ipoib", Use: "IP over InfiniBand between the virtual machines", Kind: "InfiniBand", Range: p.Addressing.Pool})
	}
	return all
}

// serviceVMs gives each host its service virtual machine, with consecutive addresses.
func serviceVMs(s *intent.VSphereSite, out *fabric.VSphere) (*fabric.ServiceVM, error) {
	if s.Service == nil {
		return nil, nil
	}
	gateway, err := netip.ParseAddr(s.Service.Gateway)
	if err != nil {
		return nil, fmt.Errorf("vsphere.service_vm.gateway: %s is not an address", fabric.Quote(s.Service.Gateway))
	}
	vm := &fabric.ServiceVM{CPUs: serviceCPUs, MemoryMB: serviceMemory, Hardware: leastHardware, NVSwitches: out.Goal.NVSwitches,
		GPUs: out.Classes[0].GPUs, Partitions: len(out.Hosts[0].Nodes),
		Driver: s.Service.Driver, Network: s.Service.Network, Interface: s.Service.Interface, Gateway: gateway}
	for i, text := range s.Service.DNS {
		at, err := netip.ParseAddr(text)
		if err != nil {
			return nil, fmt.Errorf("vsphere.service_vm.dns[%d]: %s is not an address", i, fabric.Quote(text))
		}
		vm.DNS = append(vm.DNS, at)
	}
	at := s.Service.Addresses
	for _, h := range out.Hosts {
		vm.Guests = append(vm.Guests, fabric.ServiceVMOf{Host: h.Name, Name: "service-" + h.Name, Address: at})
		at = netip.PrefixFrom(at.Addr().Next(), at.Bits())
	}
	return vm, nil
}

// vsphereNotes are what a reader of the plan should know.
func vsphereNotes(c *intent.Cluster, v *fabric.VSphere, cat *catalog.Catalog) (notes []string) {
	if v.Product != fabric.VSphere8 {
		notes = append(notes, domainNote(c, v, cat))
	}
	if k := v.Kube; k != nil {
		nodes := k.Controls
		for _, p := range k.Pools {
			nodes += p.Workers
		}
		if have := 1 << max(0, 24-k.Pods.Bits()); nodes > have {
			notes = append(notes, fmt.Sprintf("Kubernetes gives each node a /24 of the range of pods %s, which is enough for %s, and the cluster has %d: make several clusters", k.Pods, fabric.Count(have, "node"), nodes))
		}
	}
	var open []string
	for _, n := range v.Networks {
		if !n.Range.IsValid() {
			open = append(open, n.Name)
		}
	}
	if len(open) > 0 {
		notes = append(notes, fmt.Sprintf("the ranges of networks %s are not in the cluster file (vsphere.networks): nothing says that they do not overlap with others", strings.Join(open, ", ")))
	}
	if i := slices.IndexFunc(v.Classes, func(k fabric.VMClass) bool { return len(k.Modules) > 0 && len(k.Modules) < v.Goal.GPUs }); i >= 0 {
		notes = append(notes, "partitions of Fabric Manager go by the Module Id of GPUs, not by their PCI address: give label GPU0 to Module Id 1, GPU1 to 2 and so on (nvidia-smi -q in a virtual machine that has all of them), and NICn to the NIC below the same PCIe switch")
	}
	if g := v.Goal; g.NVSwitches > 0 && g.NVSwitch == "" {
		notes = append(notes, "the catalog does not know the PCI id of the NVSwitches of this machine: they are in no class")
	}
	if m, err := sizing.MachineOf(cat, c.Nodes[0].Machine); err == nil && v.Classes[0].GPUs > 0 {
		if size, err := sizing.MMIOSize(m, v.Classes[0].GPUs); err == nil {
			notes = append(notes, size.Notes...)
		}
	}
	return notes
}

// domainNote compares the hosts with the smallest workload domain of the document, 2.4.
func domainNote(c *intent.Cluster, v *fabric.VSphere, cat *catalog.Catalog) string {
	ports := 0
	if c.Fabric.Leaf != nil {
		ports = int(cat.Switches[c.Fabric.Leaf.Model].Ports.Value)
	}
	d, err := sizing.SmallestDomain(len(v.Hosts), v.Goal.NICs, cmp.Or(ports, 1))
	switch {
	case err != nil && ports > 0:
		return "workload domain: " + strings.TrimPrefix(err.Error(), "domain: ")
	case err != nil:
		return "workload domain: the switches of the fabric are not known, and neither is how many are needed"
	case d.CPUServers > 0:
		return fmt.Sprintf("workload domain: %s with GPUs and %s without them, beside these; VMware's smallest is four hosts, of which two may have no GPUs, and one switch for the GPUs' network", fabric.Count(d.GPUServers, "host"), fabric.Count(d.CPUServers, "standard server"))
	}
	return fmt.Sprintf("workload domain: %s, which is VMware's smallest of four or more", fabric.Count(d.GPUServers, "host"))
}
