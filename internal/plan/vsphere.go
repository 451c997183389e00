package plan

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// What every ESX host of a plan has to have. The chapters are those of "Deploy Distributed LLM Inference with GPUDirect RDMA over
// InfiniBand in VMware Private AI".
const (
	esxWithDTP2P    = 9                  // first ESX that has enableACSDTP2P (8.2)
	highPerformance = "High Performance" // power policy (7)
	resetFLR        = "flr"              // of NVIDIA's GPUs (8.4)
	serviceCPUs     = 2                  // of a service virtual machine (9.3)
	serviceMemory   = 4096               // MB (9.3)
	leastHardware   = 21                 // version of its virtual hardware: "above 20" (9)
)

// vsphere plans the hosts below the nodes, and what is made on them.
func vsphere(p *fabric.Plan, c *intent.Cluster, _ *catalog.Catalog) error {
	s := c.VSphere
	if s == nil {
		if p.Platform == string(intent.VSphere) {
			p.Notes = append(p.Notes, "the cluster file has no vsphere section: the virtual machines are taken to exist, and nothing of their hosts is planned")
		}
		return nil
	}
	out := &fabric.VSphere{Product: s.Product, Mode: s.Mode, Parallel: s.Parallel}
	if v := s.VCenter; v != nil {
		out.VCenter = &fabric.VCenter{Server: v.Server, Thumbprint: v.Thumbprint, Datacenter: v.Datacenter, Cluster: v.Cluster}
	}
	var err error
	if out.Hosts, err = esxHosts(p, s); err != nil {
		return err
	}
	guests := len(out.Hosts[0].Nodes)
	out.Goal = esxGoal(p, s, guests)
	class, err := vmClass(p, s, out.Goal, guests)
	if err != nil {
		return err
	}
	out.Classes = []fabric.VMClass{class}
	out.Kube = vks(p, s)
	if out.Service, err = serviceVMs(s, out); err != nil {
		return err
	}
	p.VSphere = out
	return nil
}

// esxHosts spreads the nodes over the hosts, equally and in order.
func esxHosts(p *fabric.Plan, s *intent.VSphereSite) ([]fabric.ESXHost, error) {
	names, err := fabric.ExpandNames(s.Hosts)
	if err != nil {
		return nil, fmt.Errorf("vsphere.hosts: %w", err)
	}
	if len(names) == 0 || len(p.Nodes)%len(names) != 0 {
		return nil, fmt.Errorf("vsphere.hosts: %d nodes cannot be spread equally over %d hosts", len(p.Nodes), len(names))
	}
	each := len(p.Nodes) / len(names)
	hosts := make([]fabric.ESXHost, len(names))
	for i, name := range names {
		hosts[i] = fabric.ESXHost{Name: name, User: s.SSH.User}
		for _, n := range p.Nodes[i*each : (i+1)*each] {
			hosts[i].Nodes = append(hosts[i].Nodes, n.Name)
		}
	}
	return hosts, nil
}

// esxGoal is what each host has to be for that many virtual machines on it.
func esxGoal(p *fabric.Plan, s *intent.VSphereSite, guests int) fabric.ESXGoal {
	g := fabric.ESXGoal{
		Mode: s.Mode, PowerPolicy: highPerformance, VIBs: []string{"mft", "nmst"},
		Settings: []fabric.ESXSetting{
			{Name: "disableACSCheck", Configured: "FALSE"}, {Name: "atsSupport", Configured: "TRUE"}, {Name: "enableACSDTP2P", Configured: "TRUE"},
		},
		SinceMajor: map[string]int{"enableACSDTP2P": esxWithDTP2P},
	}
	if len(p.Machines) > 0 {
		m := p.Machines[0]
		g.NIC, g.NICs, g.GPUs, g.NVSwitches = first(m.NICPCIIDs), m.NICs, m.GPUs, m.NVSwitches
		if g.GPUs > 0 {
			g.GPU, g.ResetMethod = first(m.GPUPCIIDs), resetFLR
		}
	}
	for _, l := range s.Labels {
		g.Labels = append(g.Labels, fabric.DeviceLabel{Label: l.Label, Address: l.Address})
	}
	if s.Mode == fabric.SRIOVToGuests {
		g.MaxVFs = s.VFs
		if g.MaxVFs == 0 {
			g.MaxVFs = guests
		}
		g.NICSettings = []fabric.Option{
			{Name: "ADVANCED_PCI_SETTINGS", Value: "1", Why: "lets the next two be set"},
			{Name: "FORCE_ETH_PCI_SUBCLASS", Value: "1", Why: "lets ESX's own driver take the card; the link stays InfiniBand"},
			{Name: "SRIOV_EN", Value: "1"},
			{Name: "NUM_OF_VFS", Value: strconv.Itoa(g.MaxVFs + 1), Why: "one more than the driver makes, for the physical function"},
		}
		return g
	}
	g.NICSettings = []fabric.Option{
		{Name: "SRIOV_EN", Value: "0", Why: "a NIC with virtual functions is not passed through whole"},
		{Name: "ATS_ENABLED", Value: "1", Why: "without ATS traffic between GPU and NIC goes through the IOMMU of the processor"},
	}
	return g
}

// vmClass is the virtual machine of a node, of which each host has that many: its devices in the order GPU0, NIC0, GPU1, NIC1 (10.1).
func vmClass(p *fabric.Plan, s *intent.VSphereSite, g fabric.ESXGoal, guests int) (fabric.VMClass, error) {
	shape := intent.VMShape{}
	if s.VM != nil {
		shape = *s.VM
	}
	c := fabric.VMClass{GPUs: shape.GPUs, NICs: shape.NICs, CPUs: shape.CPUs, MemoryMB: shape.MemoryGiB * 1024}
	if c.GPUs == 0 {
		c.GPUs = g.GPUs / guests
	}
	if c.NICs == 0 {
		c.NICs = len(p.Nodes[0].NICs)
	}
	if c.GPUs*guests > g.GPUs {
		return c, fmt.Errorf("vsphere.vm.gpus: %d virtual machines of %d GPUs on a host of %d", guests, c.GPUs, g.GPUs)
	}
	if s.Mode == fabric.Passthrough && c.NICs*guests > g.NICs {
		return c, fmt.Errorf("vsphere.vm.nics: %d virtual machines of %d NICs on a host of %d", guests, c.NICs, g.NICs)
	}
	c.Name = fmt.Sprintf("%s-%dgpu-%dnic", p.Name, c.GPUs, c.NICs)
	for i := range max(c.GPUs, c.NICs) {
		if i < c.GPUs {
			c.Devices = append(c.Devices, classDevice(fmt.Sprintf("GPU%d", i), g.GPU))
		}
		if i < c.NICs {
			c.Devices = append(c.Devices, classDevice(fmt.Sprintf("NIC%d", i), g.NIC))
		}
	}
	if c.GPUs > 0 {
		c.MMIOGB = fabric.MMIOGB(c.GPUs)
		c.Extra = []fabric.Option{
			{Name: "pciPassthru.allowP2P", Value: "TRUE", Why: "GPU and NIC talk to each other directly"},
			{Name: "pciPassthru.relaxACSforP2P", Value: "TRUE", Why: "below one PCIe switch"},
			{Name: "pciPassthru.use64bitMMIO", Value: "TRUE", Why: "the virtual machine does not start without it"},
			{Name: "pciPassthru.64bitMMIOSizeGB", Value: strconv.Itoa(c.MMIOGB), Why: "the memory of the GPUs as the processor sees it, and of the NICs"},
		}
	}
	return c, nil
}

// classDevice is a device of a class by vendor:device, both hexadecimal.
func classDevice(label, id string) fabric.VMClassDevice {
	vendor, device, _ := strings.Cut(id, ":")
	hex := func(text string) uint16 {
		n, err := strconv.ParseUint(text, 16, 16)
		if err != nil {
			return 0
		}
		return uint16(n)
	}
	return fabric.VMClassDevice{Label: label, Vendor: hex(vendor), Device: hex(device)}
}

// vks is the Kubernetes cluster of the nodes.
func vks(p *fabric.Plan, s *intent.VSphereSite) *fabric.VSphereKube {
	k := s.Kube
	if k == nil {
		return nil
	}
	return &fabric.VSphereKube{Namespace: k.Namespace, ClusterClass: k.ClusterClass, Version: k.Version, StorageClass: k.StorageClass, Control: k.Control,
		Controls: k.Controls, Workers: len(p.Nodes), Volume: k.Volume, OSImage: "os-name=ubuntu", Pods: k.Pods, Services: k.Services, Library: k.Library}
}

func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
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
