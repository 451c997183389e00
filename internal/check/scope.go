package check

import (
	"net/netip"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Condition is something that must be true for a rule to apply. A rule lists its conditions in Scope, in the order
// of this file: the plan, the lab, the devices, then the role of the machine (scope_role.go). The first that is not met
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

// withHostFiles is for what the files of platform baremetal bring to a host and the lab cannot run.
func withHostFiles() Condition {
	return Condition{
		ID: "host-files", Doc: "on the hosts of a cluster file for platform baremetal; not in the lab, which runs neither units nor a kernel of its own",
		judge: func(s scene) (fabric.Status, string) {
			if !s.anyPlan && s.plan != nil && s.plan.Platform != bareMetal {
				return fabric.NotApplicable, "only the files of platform baremetal bring it, and the cluster file is for " + s.plan.Platform
			}
			return s.each(noHardware, func(d *Digest) (fabric.Status, string) { return unless(d.Lab, noHardware) })
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

// withTables is for rules about the table that routes the traffic of a NIC.
func withTables() Condition {
	return Condition{
		ID: "tables", Doc: "not where the plan gives the NICs no tables of their own, since nothing is routed (twin24, and one interface over InfiniBand)",
		judge: func(s scene) (fabric.Status, string) {
			return unless(s.plan != nil && !withTable(s.plan), "nothing is routed: each NIC reaches its own subnet alone")
		},
	}
}

// withTable reports whether the plan gives a NIC a table of its own.
func withTable(p *fabric.Plan) bool {
	for _, n := range p.Addressing.Nodes {
		for _, nic := range n.NICs {
			if nic.Table > 0 {
				return true
			}
		}
	}
	return p.Addressing.Scheme != fabric.Twin24 && p.Addressing.Scheme != fabric.Flat
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

func withSharedSubnets() Condition {
	const cables = "every subnet is a cable of its own: no NIC meets the NIC of another node by ARP"
	return Condition{
		ID: "shared-subnets", Doc: "where NICs of several nodes share a subnet; not where the plan gives every cable its own (p2p31) or no addresses",
		judge: func(s scene) (fabric.Status, string) {
			if s.anyPlan {
				return fabric.Pass, ""
			}
			if s.plan != nil {
				return unless(s.plan.Addressing.Scheme == fabric.P2P31 || s.plan.Addressing.Scheme == fabric.None, cables)
			}
			return unless(!s.shareSubnet(), cables)
		},
	}
}

// shareSubnet reports whether NICs of two nodes are in one subnet, or may be: what was not read could be.
func (s scene) shareSubnet() bool {
	first := map[netip.Prefix]int{}
	for i := range s.nodes {
		if s.nodes[i].Unread != "" || s.nodes[i].Nominal {
			return true
		}
		for _, nic := range s.nodes[i].NICs {
			for _, subnet := range nic.Subnets {
				if node, ok := first[subnet]; ok && node != i && nic.Fabric {
					return true
				}
				first[subnet] = i
			}
		}
	}
	return false
}

func withCables() Condition {
	return Condition{
		ID: "cables", Doc: "not where the plan has no cables (cloud)",
		judge: func(s scene) (fabric.Status, string) {
			return unless(s.plan != nil && len(s.plan.Cabling.Links) == 0, "the plan has no cables")
		},
	}
}

// withTwins and withoutTwins tell machines whose ports have several interfaces from all others.
func withTwins() Condition {
	return Condition{
		ID: "twins", Doc: "where the plan has machines whose ports have two interfaces each (DGX Spark)",
		judge: func(s scene) (fabric.Status, string) {
			return unless(!s.anyPlan && (s.plan == nil || len(s.plan.Ports) == 0), "the plan has no machine whose ports have several interfaces")
		},
	}
}

func withoutTwins() Condition {
	return Condition{
		ID: "no-twins", Doc: "not with a plan of machines whose ports have two interfaces each (DGX Spark): then port-cabling compares the ports",
		judge: func(s scene) (fabric.Status, string) {
			return unless(s.plan != nil && len(s.plan.Ports) > 0, "port-cabling compares the ports")
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

func withTraffic() Condition {
	return Condition{
		ID: "traffic", Doc: "not where the cluster file has no traffic classes: then they are not the owner's to choose",
		judge: func(s scene) (fabric.Status, string) {
			return unless(s.plan != nil && s.plan.Traffic == nil, "the cluster file has no traffic classes")
		},
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
