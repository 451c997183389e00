package check

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Condition is something that must be true for a rule to apply. A rule lists its conditions in Scope, in the order
// of this file: the plan, the lab, the devices, the role of the machine. The first that is not met
// gives the reason; without any condition a rule applies everywhere.
type Condition struct {
	ID  string // kebab case
	Doc string // one line: where a rule with this condition applies

	// judge gives Pass where the condition holds; NotApplicable where it does not, and Unknown where that cannot
	// be decided, each with its reason.
	judge func(scene) (fabric.Status, string)
}

// scene is the input of conditions: the plan, and the node of a node rule or all nodes of a cluster rule.
type scene struct {
	plan    *fabric.Plan // nil without a cluster file
	planned bool         // the node is in the plan; for a cluster rule: there is a plan
	machine bool         // the plan names the node's machine
	anyPlan bool         // with or without a cluster file: whatever a rule may need
	cluster bool
	nodes   []Digest
	lost    int // nodes without facts
}

// excluded returns the verdict of a scope that excludes the scene, or that cannot be decided; ok is false where the
// rule is to run.
func excluded(scope []Condition, s scene) (v Verdict, ok bool) {
	subject := fabric.ClusterSubject()
	if !s.cluster {
		subject = fabric.NodeSubject(s.nodes[0].Node)
	}
	for _, c := range scope {
		if status, why := c.judge(s); status != fabric.Pass {
			return Verdict{Status: status, Subject: subject, Why: why}, true
		}
	}
	if !s.cluster && s.nodes[0].Nominal {
		return unknown(subject, "these facts are nominal, from the catalog; "+s.nodes[0].Node+" itself was not checked"), true
	}
	return Verdict{}, false
}

func listed(scope []Condition, id string) bool {
	return slices.ContainsFunc(scope, func(c Condition) bool { return c.ID == id })
}

// unless returns a condition that is met unless something excludes the scene.
func unless(out bool, why string) (fabric.Status, string) {
	if out {
		return fabric.NotApplicable, why
	}
	return fabric.Pass, ""
}

// each judges the node of a node rule. A cluster is left out where every one of its nodes is, with noNode as the
// reason. Nominal facts leave nothing out.
func (s scene) each(noNode string, judge func(*Digest) (fabric.Status, string)) (fabric.Status, string) {
	for i := range s.nodes {
		if s.nodes[i].Nominal {
			return fabric.Pass, ""
		}
		status, why := judge(&s.nodes[i])
		if !s.cluster {
			return status, why
		}
		if status != fabric.NotApplicable {
			return fabric.Pass, ""
		}
	}
	return unless(len(s.nodes) > 0, noNode)
}

func withPlan() Condition {
	return Condition{
		ID: "plan", Doc: "with a cluster file, on the nodes in it",
		judge: func(s scene) (fabric.Status, string) {
			switch {
			case s.anyPlan:
			case s.plan == nil:
				return fabric.NotApplicable, "needs a cluster file"
			case !s.planned:
				return fabric.NotApplicable, s.nodes[0].Node + " is not in the cluster file"
			}
			return fabric.Pass, ""
		},
	}
}

func withMachine() Condition {
	return Condition{
		ID: "machine", Doc: "where the cluster file names the machine of the node",
		judge: func(s scene) (fabric.Status, string) {
			return unless(!s.anyPlan && !s.machine, "the cluster file names no machine for "+s.nodes[0].Node)
		},
	}
}

// withoutPlan is for rules that compare equals: instead names what a plan is compared by.
func withoutPlan(instead string) Condition {
	return Condition{
		ID: "no-plan", Doc: "without a cluster file: with one, other rules compare with the plan",
		judge: func(s scene) (fabric.Status, string) {
			return unless(s.plan != nil, "with a cluster file "+instead)
		},
	}
}

func withAddresses() Condition {
	return Condition{
		ID: "addresses", Doc: "not where the plan gives no IP addresses (InfiniBand)",
		judge: func(s scene) (fabric.Status, string) {
			return unless(s.plan != nil && s.plan.Addressing.Scheme == fabric.None, "the plan gives no IP addresses")
		},
	}
}

func withIP() Condition {
	const why = "every RDMA port is InfiniBand, and no interface of the fabric has an IP address"
	return Condition{
		ID: "ip", Doc: "not where every RDMA port is InfiniBand and no interface of the fabric has an IP address: InfiniBand needs none",
		judge: func(s scene) (fabric.Status, string) {
			return s.each(why, func(d *Digest) (fabric.Status, string) { return unless(d.withoutIP(), why) })
		},
	}
}

// withoutIP reports whether a node has RDMA ports, all of them InfiniBand, and was seen to have no address on them.
func (d *Digest) withoutIP() bool {
	return d.Unread == "" && len(d.Ports) > 0 &&
		!slices.ContainsFunc(d.Ports, func(p PortDigest) bool { return p.Layer != linkLayer(fabric.InfiniBand) }) &&
		!slices.ContainsFunc(d.NICs, func(n NICDigest) bool { return len(n.Addresses) > 0 })
}

func withCables() Condition {
	return Condition{
		ID: "cables", Doc: "not where the plan has no cables (cloud)",
		judge: func(s scene) (fabric.Status, string) {
			return unless(s.plan != nil && len(s.plan.Cabling.Links) == 0, "the plan has no cables")
		},
	}
}

func onRoCE() Condition {
	return Condition{
		ID: "roce", Doc: "not where the plan's transport is InfiniBand; without a plan, not where every RDMA port is InfiniBand",
		judge: func(s scene) (fabric.Status, string) { return s.over(fabric.RoCE) },
	}
}

func onInfiniBand() Condition {
	return Condition{
		ID: "infiniband", Doc: "not where the plan's transport is RoCE; without a plan, not where every RDMA port is Ethernet",
		judge: func(s scene) (fabric.Status, string) { return s.over(fabric.InfiniBand) },
	}
}

// over decides on a transport by the plan, else by the link layer of all RDMA ports.
func (s scene) over(t fabric.Transport) (fabric.Status, string) {
	if s.plan != nil && s.plan.Transport != t {
		return fabric.NotApplicable, "the transport of the plan is " + string(s.plan.Transport)
	}
	if s.planned {
		return fabric.Pass, ""
	}
	ports, layer := 0, linkLayer(t)
	for i := range s.nodes {
		for _, p := range s.nodes[i].Ports {
			if p.Layer == "" || p.Layer == layer || s.nodes[i].Nominal {
				return fabric.Pass, ""
			}
			ports++
		}
	}
	of := ""
	if !s.cluster {
		of = " of " + s.nodes[0].Node
	}
	return unless(ports > 0, "no RDMA port"+of+" is "+layer)
}

// linkLayer returns the kernel's name for the link layer of a transport.
func linkLayer(t fabric.Transport) string {
	if t == fabric.InfiniBand {
		return "InfiniBand"
	}
	return "Ethernet"
}

const (
	labPlatform = "lab"     // Facts.Platform of a lab host
	nominal     = "catalog" // Facts.Source of a machine whose facts come from the catalog
	noHardware  = "a lab host has no hardware of its own, and runs on the kernel of this machine"
)

func withHardware() Condition {
	return Condition{
		ID: "hardware", Doc: "not on lab hosts, which have neither hardware nor a kernel of their own, unless they have recorded hardware",
		judge: func(s scene) (fabric.Status, string) {
			return s.each(noHardware, func(d *Digest) (fabric.Status, string) {
				return unless(d.Lab && d.Recorded == "", noHardware)
			})
		},
	}
}

func withOwnHardware() Condition {
	return Condition{
		ID: "own-hardware", Doc: "not in the lab, even with a recording under its hosts: all of them have the same one",
		judge: func(s scene) (fabric.Status, string) {
			return s.each(noHardware, func(d *Digest) (fabric.Status, string) { return unless(d.Lab, noHardware) })
		},
	}
}

func withOwnAddresses() Condition {
	const why = "the hardware is recorded, and was set up for other addresses than those of the lab"
	return Condition{
		ID: "own-addresses", Doc: "not on lab hosts with recorded hardware, which was set up for other addresses",
		judge: func(s scene) (fabric.Status, string) {
			return s.each(why, func(d *Digest) (fabric.Status, string) { return unless(d.Lab, why) })
		},
	}
}

func withPeers() Condition {
	return Condition{
		ID: "peers", Doc: "cluster rules: not where one node alone is checked",
		judge: func(s scene) (fabric.Status, string) {
			asked := len(s.nodes) + s.lost
			if s.plan != nil {
				asked = len(s.plan.Nodes)
			}
			return unless(s.cluster && asked == 1, "one node alone: nothing to compare it with")
		},
	}
}

// withRDMA and withGPU: rdma-device and gpu-device are unknown on a node without, so that it never passes as a whole.
func withRDMA() Condition {
	return Condition{
		ID: "rdma", Doc: "not on a node that is known to have no RDMA device and is in no cluster file",
		judge: func(s scene) (fabric.Status, string) {
			if s.planned {
				return fabric.Pass, ""
			}
			return s.each("no node has an RDMA device (see rdma-device)", func(d *Digest) (fabric.Status, string) {
				return unless(d.NoRDMA, d.Node+" has no RDMA device (see rdma-device)")
			})
		},
	}
}

func withGPU() Condition {
	return Condition{
		ID: "gpu", Doc: "not on a node that is known to have no GPU",
		judge: func(s scene) (fabric.Status, string) {
			return s.each("no node has a GPU (see gpu-device)", func(d *Digest) (fabric.Status, string) {
				return unless(d.NoGPU, d.Node+" has no GPU (see gpu-device)")
			})
		},
	}
}

// vSphere is the platform whose bare-metal hosts run virtual machines.
const vSphere = "vsphere"

func onBareMetal() Condition {
	return Condition{
		ID: "bare-metal", Doc: "not in a virtual machine, whose hypervisor owns the setting, and not on a host of virtual machines",
		judge: func(s scene) (fabric.Status, string) {
			return s.role(func(d *Digest, virtual bool) (fabric.Status, string) {
				if virtual {
					return fabric.NotApplicable, d.Node + hypervisorOwns
				}
				return unless(s.hostsVMs(), d.Node+" hosts virtual machines, which need other settings")
			})
		},
	}
}

func onVirtual() Condition {
	return Condition{
		ID: "virtual", Doc: "in virtual machines and on their hosts",
		judge: func(s scene) (fabric.Status, string) {
			return s.role(func(d *Digest, virtual bool) (fabric.Status, string) {
				return unless(!virtual && !s.hostsVMs(), d.Node+" is not a virtual machine")
			})
		},
	}
}

func onVMHost() Condition {
	return Condition{
		ID: "vm-host", Doc: "on hosts of virtual machines: bare metal of a plan for vSphere",
		judge: func(s scene) (fabric.Status, string) {
			if !s.hostsVMs() {
				const why = "only for hosts of virtual machines: platform vsphere, and on its bare metal"
				return s.each(why, func(*Digest) (fabric.Status, string) { return fabric.NotApplicable, why })
			}
			return s.role(func(d *Digest, virtual bool) (fabric.Status, string) { return unless(virtual, d.Node+hypervisorOwns) })
		},
	}
}

const hypervisorOwns = " is a virtual machine: the hypervisor owns this setting"

func (s scene) hostsVMs() bool { return s.plan != nil && s.plan.Platform == vSphere }

// role judges nodes by whether they are virtual machines; a node of which that was not read is unknown.
func (s scene) role(judge func(d *Digest, virtual bool) (fabric.Status, string)) (fabric.Status, string) {
	return s.each("no node has the role", func(d *Digest) (fabric.Status, string) {
		if d.Virtual == nil {
			return fabric.Unknown, d.VirtualUnread
		}
		return judge(d, *d.Virtual)
	})
}

// knownWithoutRDMA reports whether the kernel has no list of RDMA devices, or an empty one. Facts say what could
// not be read; facts without any interface were not read at all.
func knownWithoutRDMA(f *fabric.Facts) bool {
	if len(f.HCAs) > 0 || len(f.NICs) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Missing, func(m fabric.Missing) bool {
		return m.What == fabric.FactHCAs && !m.Absent || strings.HasPrefix(m.What, fabric.FactHCAs+" ")
	})
}

// knownWithoutGPU reports whether the PCI functions were all read and none is a GPU.
func knownWithoutGPU(f *fabric.Facts) bool {
	if len(f.GPUs) > 0 || len(f.PCI) == 0 {
		return false
	}
	return !slices.ContainsFunc(f.Missing, func(m fabric.Missing) bool {
		return m.What == fabric.FactPCI || m.What == fabric.FactGPUs || strings.HasPrefix(m.What, fabric.FactPCI+" ")
	})
}
