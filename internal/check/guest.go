package check

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about virtual machines on ESX, as they see themselves, and about the subnet manager of their virtual functions.

func guestVF() Rule {
	return Rule{
		ID:        "guest-vf",
		Title:     "The NICs of a virtual machine with virtual functions are such, with a GUID and a driver",
		Doc:       "reads type, node GUID and driver of the RDMA devices of virtual machines that the plan gives virtual functions: MT4126 is one of ConnectX-5 and later. A GUID of zeros was never given by the subnet manager's side",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseVFMissing,
		Reference: "InfiniBand Configuration on VMware vSphere 8; PCI ID database (101e: ConnectX family mlx5Gen virtual function)",
		Facts:     []string{fabric.FactHCAs, fabric.FactPCI},
		Scope:     []Condition{withHardware()},
		DependsOn: []string{"rdma-device"},
		Node:      judgeGuestVF,
	}
}

// virtualTypes are the types of Mellanox virtual functions as mlx5 and mlx4 print them: the PCI id in decimal (PCI ID database).
func virtualTypes() []string {
	return []string{"MT4100", "MT4114", "MT4116", "MT4118", "MT4120", "MT4122", "MT4124", "MT4126"}
}

func judgeGuestVF(in NodeInput) []Verdict {
	if !in.onESX() || in.Site.Mode != fabric.SRIOVToGuests {
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "the plan gives " + in.Facts.Node + " no virtual functions"})
	}
	const want = "a virtual function (MT4126), with a GUID and its driver"
	var out []Verdict
	var seen []fabric.Evidence
	for i := range in.Facts.HCAs {
		h := &in.Facts.HCAs[i]
		text := saw("/sys/class/infiniband/"+h.Name, "type "+orWord(h.Type, "not read")+", GUID "+orWord(h.NodeGUID, "not read")+", driver "+orWord(h.Driver, "not read"))
		v := Verdict{Subject: fabric.NICSubject(in.Facts.Node, h.Name), Evidence: []fabric.Evidence{text}, Expected: want}
		name := in.Facts.Node + ":" + h.Name
		switch {
		case h.Type == "":
			v.Why = "the type of " + name + " was not read"
		case !strings.HasPrefix(h.Type, "MT"):
			continue // of another maker, which the plan is not about
		case !slices.Contains(virtualTypes(), h.Type):
			v.Status, v.Why = fabric.Fail, name+" is no virtual function but a whole NIC ("+h.Type+")."
			v.Cost, v.Fix = "other virtual machines of the host have no NIC", "virtual machine, powered off: take the PCI device out, and add an SR-IOV network adapter, or plan passthrough"
		case strings.Trim(h.NodeGUID, "0:") == "" && h.NodeGUID != "":
			v.Status, v.Why = fabric.Fail, name+" is a virtual function without a GUID."
			v.Cost, v.Fix = "its port stays down: no subnet manager gives it a LID", "restart the virtual machine; ib sm virt enable on the switch with the subnet manager (OpenSM on a host: virt_enabled 2), then restart the subnet manager"
		case h.NodeGUID == "":
			v.Why = "the GUID of " + name + " was not read"
		default:
			seen = append(seen, text)
			continue
		}
		out = append(out, v)
	}
	switch {
	case len(out) > 0:
		return out
	case len(seen) == 0:
		return in.asNode(Verdict{Expected: want, Why: in.why("no RDMA device of "+in.Facts.Node+" was read", fabric.FactHCAs)})
	}
	return in.asNode(pass(want, seen...))
}

// onESX reports whether the plan has the node as a virtual machine of an ESX host.
func (in NodeInput) onESX() bool {
	return in.Site != nil && slices.ContainsFunc(in.Site.Hosts, func(h fabric.ESXHost) bool { return slices.Contains(h.Nodes, in.Facts.Node) })
}

func guestTopology() Rule {
	return Rule{
		ID:        "guest-topology",
		Title:     "NCCL is told which NIC is near which GPU where the PCIe tree of a virtual machine is flat",
		Doc:       "looks whether a GPU and a NIC of a planned virtual machine share a bridge; ESX puts each device below a port of its own, so that NCCL needs a topology file (NCCL_TOPO_FILE). A job may set it itself, so that its absence is unknown",
		Severity:  fabric.SeverityWarning,
		Reference: "VMware Cloud Foundation guide 10; NCCL user guide, NCCL_TOPO_FILE",
		Facts:     []string{fabric.FactPCI, fabric.FactNCCL},
		Scope:     []Condition{withHardware(), withGPU()},
		Node:      judgeGuestTopology,
	}
}

func judgeGuestTopology(in NodeInput) []Verdict {
	const want = "a shared bridge, or NCCL_TOPO_FILE"
	if !in.onESX() {
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "no plan has " + in.Facts.Node + " as a virtual machine of an ESX host"})
	}
	if file := in.Facts.NCCL["NCCL_TOPO_FILE"]; file != "" {
		return in.asNode(pass(want, saw("/etc/nccl.conf", "NCCL_TOPO_FILE="+file)))
	}
	switch {
	case len(in.Facts.GPUs) == 0 || len(in.Facts.HCAs) == 0:
		return in.asNode(Verdict{Expected: want, Why: in.why("GPUs and NICs of "+in.Facts.Node+" were not both read", fabric.FactGPUs, fabric.FactHCAs)})
	case len(in.Facts.GPUs) < 2 || len(in.Facts.HCAs) < 2:
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "with one GPU or one NIC in " + in.Facts.Node + " there is nothing to choose"})
	}
	above := func(address string) []string {
		var out []string
		for d := in.view.pci[address]; d != nil && d.Parent != "" && len(out) <= len(in.view.pci); d = in.view.pci[d.Parent] {
			out = append(out, d.Parent)
		}
		return out
	}
	for _, g := range in.Facts.GPUs {
		up := above(g.PCI)
		for _, h := range in.Facts.HCAs {
			if slices.ContainsFunc(above(h.PCI), func(b string) bool { return slices.Contains(up, b) }) {
				return in.asNode(pass(want, saw("PCIe tree", g.PCI+" and "+h.PCI+" share a bridge")))
			}
		}
	}
	return in.asNode(Verdict{Expected: want, Evidence: []fabric.Evidence{saw("PCIe tree", "no GPU shares a bridge with a NIC")},
		Why: "no GPU of " + in.Facts.Node + " shares a bridge with a NIC, and /etc/nccl.conf names no topology file: jobs need NCCL_TOPO_FILE themselves (railwright topo nccl writes the file)"})
}

func smVirtual() Rule {
	return Rule{
		ID:        "sm-virtual",
		Title:     "The subnet manager knows virtual ports",
		Doc:       "reads show ib sm virt of MLNX-OS or virt_enabled of opensm.conf (0 ignores virtual ports, 1 switches them off, 2 on): without it the ports of virtual functions stay down",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseSubnetManager,
		Reference: "InfiniBand Configuration on VMware vSphere 8, 4.2; OpenSM, virt_enabled",
		Facts:     []string{fabric.FactSMVirtual},
		Cluster:   judgeSMVirtual,
	}
}

func judgeSMVirtual(in ClusterInput) []Verdict {
	const want = "Enabled, or virt_enabled 2"
	var site *fabric.VSphere
	if in.Plan != nil {
		site = in.Plan.VSphere
	}
	virtual := site != nil && site.Mode == fabric.SRIOVToGuests // of InfiniBand: no other is planned
	var out []Verdict
	for _, d := range in.Nodes {
		said := d.SMVirtual
		v := Verdict{Subject: fabric.NodeSubject(d.Node), Expected: want, Evidence: []fabric.Evidence{saw("show ib sm virt, opensm.conf", said)}}
		switch {
		case said == "":
			continue
		case said == "Enabled" || said == "2":
			v.Status = fabric.Pass
		case site != nil && !virtual:
			v.Status, v.Why = fabric.NotApplicable, "the plan gives no virtual functions of InfiniBand: there are no virtual ports"
		case virtual:
			v.Status, v.Why = fabric.Fail, "The subnet manager of "+d.Node+" does not know virtual ports ("+said+"), and the plan gives virtual functions."
			v.Cost, v.Fix = "the ports of virtual functions stay down", "MLNX-OS: ib sm virt enable, configuration write, no ib sm, ib sm; OpenSM on a host: virt_enabled 2 in opensm.conf, then restart it"
		default:
			v.Why = "the subnet manager of " + d.Node + " does not know virtual ports (" + said + "): wrong where virtual machines have virtual functions, right else; no plan says which"
		}
		out = append(out, v)
	}
	switch {
	case len(out) > 0:
		return out
	case virtual:
		return []Verdict{unknown(fabric.ClusterSubject(), "whether the subnet manager knows virtual ports was not read (show ib sm virt on the switch, virt_enabled in opensm.conf)")}
	}
	return []Verdict{{Status: fabric.NotApplicable, Subject: fabric.ClusterSubject(), Why: "no plan gives virtual functions of InfiniBand"}}
}
