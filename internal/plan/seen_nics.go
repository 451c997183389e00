package plan

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// SeeNICs makes the facts of machines decide what selects the NICs that pods share: the PCI ids of the interface of each rail. Where a
// machine has no facts, or facts without them, the catalog's stay beside those. What the facts of a machine contradict otherwise, its
// interfaces, their driver and their link, is an error: then it is another machine than the cluster file says.
func SeeNICs(p *fabric.Plan, seen []*fabric.Facts) error {
	if p.Pods == nil || len(p.Pods.NICs) == 0 {
		return fmt.Errorf("facts decide what selects the NICs that pods share, and this plan shares none (kubernetes.nic_driver: shared-device-plugin)")
	}
	rails := make([]fabric.SharedNIC, len(p.Pods.NICs))
	for i, n := range p.Pods.NICs {
		rails[i] = n
		rails[i].Vendors, rails[i].Devices = nil, nil
	}
	read := make(map[string]bool)
	for _, f := range seen {
		at := slices.IndexFunc(p.Nodes, func(n fabric.Node) bool { return n.Name == f.Node })
		if at < 0 {
			return fmt.Errorf("facts of %s: no machine of the plan has this name", fabric.Quote(f.Node))
		}
		all := true
		for rail := range rails {
			known, err := seeNIC(f, &rails[rail], rail, p.Nodes[at].NICs[rail])
			if err != nil {
				return err
			}
			all = all && known
		}
		read[f.Node] = all
	}
	machines := 0
	for _, n := range p.Nodes {
		if read[n.Name] {
			machines++
		}
	}
	source := "facts"
	if machines < len(p.Nodes) {
		source = fmt.Sprintf("facts of %d of %s, else catalog", machines, fabric.Count(len(p.Nodes), "machine"))
	}
	for i, n := range p.Pods.NICs {
		if machines < len(p.Nodes) {
			rails[i].Vendors, rails[i].Devices = merged(rails[i].Vendors, n.Vendors), merged(rails[i].Devices, n.Devices)
		}
		rails[i].Source = source
	}
	p.Pods.NICs = rails
	return nil
}

// seeNIC adds the PCI ids of the interface of a rail; known is false where the facts do not have them.
func seeNIC(f *fabric.Facts, n *fabric.SharedNIC, rail int, name string) (known bool, err error) {
	where := fmt.Sprintf("facts of %s, interface %s of rail %d", fabric.Quote(f.Node), fabric.Quote(name), rail)
	i := slices.IndexFunc(f.NICs, func(x fabric.NIC) bool { return x.Name == name })
	if i < 0 {
		if m, ok := f.MissingReason("nics"); ok && len(f.NICs) == 0 {
			return false, fmt.Errorf("%s: interfaces were not read: %s", where, fabric.Printable(m.Reason))
		}
		return false, fmt.Errorf("%s: there is none of this name: correct nodes.nics; there are: %s", where, interfaces(f))
	}
	nic := f.NICs[i]
	if nic.Driver != "" && !slices.Contains(n.Drivers, nic.Driver) {
		return false, fmt.Errorf("%s: its driver is %s, and the machine of the catalog has %s: correct nodes.machine or nodes.nics", where, fabric.Quote(nic.Driver), strings.Join(n.Drivers, ", "))
	}
	if link := linkOf(f, nic); link != "" && n.LinkType != "" && link != n.LinkType {
		return false, fmt.Errorf("%s: its link is %s, and the fabric needs %s: correct fabric.kind, or the mode of the port", where, link, n.LinkType)
	}
	d := slices.IndexFunc(f.PCI, func(x fabric.PCIDevice) bool { return x.Address == nic.PCI })
	if nic.PCI == "" || d < 0 || f.PCI[d].Vendor == 0 {
		return false, nil
	}
	n.Vendors, n.Devices = with(n.Vendors, fmt.Sprintf("%04x", f.PCI[d].Vendor)), with(n.Devices, fmt.Sprintf("%04x", f.PCI[d].Device))
	return true, nil
}

// linkOf is the link of an interface as the shared device plugin names it; empty where no RDMA device of its function says.
func linkOf(f *fabric.Facts, nic fabric.NIC) string {
	for _, h := range f.HCAs {
		if nic.PCI == "" || h.PCI != nic.PCI {
			continue
		}
		for _, port := range h.Ports {
			switch port.LinkLayer {
			case "InfiniBand":
				return "infiniband"
			case "Ethernet":
				return "ether"
			}
		}
	}
	return ""
}

// interfaces lists those of hardware, the first of them.
func interfaces(f *fabric.Facts) string {
	var names []string
	for _, n := range f.NICs {
		if n.PCI != "" {
			names = append(names, fabric.Quote(n.Name))
		}
	}
	const most = 16
	if len(names) > most {
		names = append(names[:most], "...")
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func merged(a, b []string) []string {
	for _, one := range b {
		a = with(a, one)
	}
	return a
}
