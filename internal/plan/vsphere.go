package plan

import (
	"fmt"
	"slices"
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
func vsphere(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	s := c.VSphere
	if s == nil {
		if p.Platform == string(intent.VSphere) {
			p.Notes = append(p.Notes, "the cluster file has no vsphere section: the virtual machines are taken to exist, and nothing of their hosts is planned")
		}
		return nil
	}
	out := &fabric.VSphere{Product: s.Product, Mode: s.Mode, Server: s.Server, Parallel: s.Parallel}
	if v := s.VCenter; v != nil {
		out.VCenter = &fabric.VCenter{Server: v.Server, Thumbprint: v.Thumbprint, Datacenter: v.Datacenter, Cluster: v.Cluster}
	}
	var err error
	if out.Hosts, err = esxHosts(p, s); err != nil {
		return err
	}
	for _, h := range out.Hosts {
		if slices.ContainsFunc(p.Switches, func(x fabric.Switch) bool { return strings.EqualFold(x.Name, h.Name) }) {
			return fmt.Errorf("vsphere.hosts: host %q has the name of a switch of the plan: use another", h.Name)
		}
	}
	guests := len(out.Hosts[0].Nodes)
	out.Goal = esxGoal(p, s, cat, guests)
	d := division{plan: p, site: s, goal: out.Goal, hosts: out.Hosts, guests: guests}
	if out.Classes, err = d.classes(cat); err != nil {
		return err
	}
	if err = labelled(s, out.Classes, out.Goal.NVSwitches); err != nil {
		return err
	}
	out.Kube = vks(p, s, out.Classes)
	if out.Service, err = serviceVMs(s, out); err != nil {
		return err
	}
	out.Networks = vsphereNetworks(p, s)
	p.Notes = append(p.Notes, vsphereNotes(c, out, cat)...)
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
		hosts[i] = fabric.ESXHost{Name: name}
		if s.SSH != nil {
			hosts[i].SSH, hosts[i].User = true, s.SSH.User
		}
		for _, n := range p.Nodes[i*each : (i+1)*each] {
			hosts[i].Nodes = append(hosts[i].Nodes, n.Name)
		}
	}
	return hosts, nil
}

// esxGoal is what each host has to be for that many virtual machines on it.
func esxGoal(p *fabric.Plan, s *intent.VSphereSite, cat *catalog.Catalog, guests int) fabric.ESXGoal {
	g := fabric.ESXGoal{
		Mode: s.Mode, PowerPolicy: highPerformance, VIBs: []string{"mft", "nmst"}, Depots: s.Depots,
		Settings: []fabric.ESXSetting{
			{Name: "disableACSCheck", Configured: "FALSE"}, {Name: "atsSupport", Configured: "TRUE"}, {Name: "enableACSDTP2P", Configured: "TRUE"},
		},
		SinceMajor: map[string]int{"enableACSDTP2P": esxWithDTP2P},
	}
	if len(p.Machines) > 0 {
		m := p.Machines[0]
		g.NIC, g.NICs, g.GPUs, g.NVSwitches = first(m.NICPCIIDs), m.NICs, m.GPUs, m.NVSwitches
		if physical := cat.NICs[m.NIC].Physical; physical != "" { // the catalog's machine is the virtual one
			g.NIC = first(cat.NICs[physical].PCIID)
		}
		if g.NVSwitches > 0 {
			g.NVSwitch = cat.Machines[m.ID].NVSwitchID
		}
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

func first(ids []string) string {
	if len(ids) == 0 {
		return ""
	}
	return ids[0]
}
