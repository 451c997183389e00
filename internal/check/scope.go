package check

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Scope declares where a rule does not apply. The zero value applies everywhere.
type Scope struct {
	NeedsPlan bool // not applicable without a cluster file, or on a node that is not in it
	NoPlan    bool // not applicable with a cluster file, whose NICs other rules look for one by one
	Addresses bool // not applicable where the plan gives no IP addresses (InfiniBand)
	Cables    bool // not applicable where the plan has no cables (cloud)
	Peers     bool // cluster rules: not applicable where one node alone is checked
	Hardware  bool // not applicable in the lab, whose hosts have no hardware and no kernel of their own, unless a recording's lies under them
	BareMetal bool // not applicable in a virtual machine, whose hypervisor owns it, and on a host of such
	Virtual   bool // not applicable on bare metal, but for hosts of virtual machines
	VMHost    bool // not applicable but on hosts of virtual machines: bare metal of a plan for vSphere

	// RDMA and GPU: not applicable on a node that is known to have no such device, and for RDMA is in no cluster
	// file either. rdma-device and gpu-device are unknown on it, so that it never passes as a whole.
	RDMA, GPU bool

	// Transport: not applicable where the plan's transport is another; without a plan, where every RDMA port
	// is known to be of another link layer. Empty: both.
	Transport fabric.Transport
}

// vSphere is the platform whose bare-metal hosts run virtual machines.
const vSphere = "vsphere"

// reason gives the verdict of a scope that leaves a node out, or cannot tell; ok is false where the rule is to run.
func (s Scope) reason(p *planIndex, n *NodePlan, f *fabric.Facts) (v Verdict, ok bool) {
	node := fabric.NodeSubject(f.Node)
	if why := s.excludesPlan(p); why != "" {
		return notApplicable(node, why), true
	}
	switch {
	case s.Hardware && f.Platform == labPlatform && f.Hardware == "":
		return notApplicable(node, inLabWhy), true
	case s.Hardware && s.Addresses && f.Platform == labPlatform:
		return notApplicable(node, "the hardware is recorded, and was set up for other addresses than those of the lab"), true
	case s.NeedsPlan && n == nil:
		return notApplicable(node, f.Node+" is not in the cluster file"), true
	case f.Source == nominal:
		return unknown(node, "these facts are nominal, from the catalog; "+f.Node+" itself was not looked at"), true
	}
	if why := s.excludesDevices(n, f); why != "" {
		return notApplicable(node, why), true
	}
	return s.excludesMachine(p, f)
}

const (
	labPlatform = "lab"     // Facts.Platform of a lab host
	nominal     = "catalog" // Facts.Source of a machine that nobody looked at
	inLabWhy    = "a lab host has no hardware of its own, and runs on the kernel of this machine"
)

func (s Scope) excludesPlan(p *planIndex) string {
	switch {
	case p == nil && s.NeedsPlan:
		return "needs a cluster file"
	case p == nil:
		return ""
	case s.NoPlan:
		return "with a cluster file nic-present and nic-rdma look for each planned NIC"
	case s.Addresses && p.plan.Addressing.Scheme == fabric.None:
		return "the plan gives no IP addresses"
	case s.Cables && len(p.plan.Cabling.Links) == 0:
		return "the plan has no cables"
	case s.Transport != "" && p.plan.Transport != s.Transport:
		return "the transport of the plan is " + string(p.plan.Transport)
	}
	return ""
}

// excludesDevices is why a node without devices of the kind that a rule is about is left out.
func (s Scope) excludesDevices(n *NodePlan, f *fabric.Facts) string {
	switch {
	case s.RDMA && n == nil && knownWithoutRDMA(f):
		return f.Node + " has no RDMA device: rdma-device tells"
	case s.GPU && knownWithoutGPU(f):
		return f.Node + " has no GPU: gpu-device tells"
	case s.Transport != "" && n == nil && allOfOtherLayer(f, linkLayer(s.Transport)):
		return "no RDMA port of " + f.Node + " is " + linkLayer(s.Transport)
	}
	return ""
}

// knownWithoutRDMA holds where the kernel has no list of RDMA devices, or an empty one. Facts say what could
// not be read; facts that have no interface either were not read at all.
func knownWithoutRDMA(f *fabric.Facts) bool {
	if len(f.HCAs) > 0 || len(f.NICs) == 0 {
		return false
	}
	m, told := f.MissingReason("hcas")
	return !told || m.Reason == "no such file or directory" || m.Reason == "file does not exist" // ENOENT, fs.ErrNotExist
}

// knownWithoutGPU holds where the PCI functions were all read and none is a GPU.
func knownWithoutGPU(f *fabric.Facts) bool {
	if len(f.GPUs) > 0 || len(f.PCI) == 0 {
		return false
	}
	for _, m := range f.Missing {
		if m.What == "pci" || m.What == "gpus" || strings.HasPrefix(m.What, "pci ") {
			return false
		}
	}
	return true
}

func allOfOtherLayer(f *fabric.Facts, layer string) bool {
	ports := 0
	for i := range f.HCAs {
		for _, p := range f.HCAs[i].Ports {
			if p.LinkLayer == "" || p.LinkLayer == layer {
				return false
			}
			ports++
		}
	}
	return ports > 0
}

// linkLayer is how the kernel names the link layer of a transport.
func linkLayer(t fabric.Transport) string {
	if t == fabric.InfiniBand {
		return "InfiniBand"
	}
	return "Ethernet"
}

// excludesMachine leaves bare metal, virtual machines or their hosts out.
func (s Scope) excludesMachine(p *planIndex, f *fabric.Facts) (v Verdict, ok bool) {
	if !s.BareMetal && !s.Virtual && !s.VMHost {
		return Verdict{}, false
	}
	node := fabric.NodeSubject(f.Node)
	hosts := p != nil && p.plan.Platform == vSphere
	virtual := f.Machine.Hypervisor
	switch {
	case s.VMHost && !hosts:
		return notApplicable(node, "only for hosts of virtual machines: platform vsphere, and on its bare metal"), true
	case virtual == nil:
		why := NodeInput{Facts: f}.why("not known whether "+f.Node+" is a virtual machine", "machine.hypervisor")
		return unknown(node, why), true
	case *virtual && (s.BareMetal || s.VMHost):
		return notApplicable(node, f.Node+" is a virtual machine: the hypervisor owns this setting"), true
	case !*virtual && s.BareMetal && hosts:
		return notApplicable(node, f.Node+" hosts virtual machines, which asks for other settings"), true
	case !*virtual && s.Virtual && !hosts:
		return notApplicable(node, f.Node+" is no virtual machine"), true
	}
	return Verdict{}, false
}

// reasonCluster gives the verdict of a cluster rule's scope that leaves the whole cluster out.
func (s Scope) reasonCluster(in ClusterInput) (v Verdict, ok bool) {
	why := s.excludesPlan(in.index)
	switch {
	case why != "":
	case s.Hardware && in.all(func(d *Digest) bool { return d.Lab }):
		why = inLabWhy
	case s.Peers && in.alone():
		why = "one node alone: nothing to compare it with"
	case s.RDMA && in.Plan == nil && in.all(func(d *Digest) bool { return d.NoRDMA }):
		why = "no node has an RDMA device: rdma-device tells"
	case s.GPU && in.all(func(d *Digest) bool { return d.NoGPU }):
		why = "no node has a GPU: gpu-device tells"
	case s.Transport != "" && in.Plan == nil && in.allOfOtherLayer(linkLayer(s.Transport)):
		why = "no RDMA port is " + linkLayer(s.Transport)
	}
	return notApplicable(fabric.ClusterSubject(), why), why != ""
}

// all holds for a property of every node, and of at least one.
func (in ClusterInput) all(has func(*Digest) bool) bool {
	for i := range in.Nodes {
		if !has(&in.Nodes[i]) {
			return false
		}
	}
	return len(in.Nodes) > 0
}

// alone holds where no more than one node is asked for.
func (in ClusterInput) alone() bool {
	if in.Plan != nil {
		return len(in.Plan.Nodes) == 1
	}
	return len(in.Nodes)+len(in.Lost) == 1
}

func (in ClusterInput) allOfOtherLayer(layer string) bool {
	ports := 0
	for i := range in.Nodes {
		for _, p := range in.Nodes[i].Ports {
			if p.Layer == "" || p.Layer == layer {
				return false
			}
			ports++
		}
	}
	return ports > 0
}
