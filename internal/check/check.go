// Package check judges the facts of nodes: against the plan, against physics and against what the documents
// of the field ask for. A rule is a value with a pure function; the Checker streams nodes through the rules
// and gives out findings. What was not seen is unknown with its reason, never a pass.
package check

import "railwright.dev/railwright/internal/fabric"

// Rule is one check as a value. Exactly one of Node and Cluster is set.
type Rule struct {
	ID    string // kebab case, never renamed: waivers and scripts use it
	Title string // what holds when it passes
	Doc   string // one line: what it looks at and why

	Severity  fabric.Severity // of a failing finding
	Cause     fabric.CauseID  // of a failing finding; empty: the rule never fails, it can only not know
	Reference string          // where the rule comes from: document and section, RFC, kernel documentation
	Scope     Scope

	// DependsOn are ids of rules that stand earlier in the list. While one of them fails on the same
	// subject, or on the whole node, this rule is silent there, so that one fault is blamed once. What
	// depends on a silent rule is silent too.
	DependsOn []string

	Node    func(NodeInput) []Verdict
	Cluster func(ClusterInput) []Verdict
}

// Scope declares where a rule does not apply. The zero value applies everywhere.
type Scope struct {
	NeedsPlan bool // not applicable without a cluster file, or on a node that is not in it
	Addresses bool // not applicable where the plan gives no IP addresses (InfiniBand)
	Cables    bool // not applicable where the plan has no cables (cloud)
	Hardware  bool // not applicable in the lab, whose hosts have no hardware of their own
	BareMetal bool // not applicable in a virtual machine, whose hypervisor owns it
}

// Verdict is what a rule says of one subject. The checker adds what follows from the rule.
type Verdict struct {
	Status   fabric.Status
	Subject  fabric.Subject
	Evidence []fabric.Evidence
	Expected string
	Why      string // failing: one sentence with the subject and both values; else the reason of the status
	Cost     string
	Fix      string

	Cause fabric.CauseID // in place of the rule's, where the subject decides it
	On    fabric.Subject // the subject that this one belongs to (the NIC of a port): a dependency failing there counts too
}

// NodeInput is what a node rule sees.
type NodeInput struct {
	Facts *fabric.Facts
	Plan  *NodePlan // nil without a plan, or for a node that is not in it
}

// ClusterInput is what a cluster rule sees, after all nodes.
type ClusterInput struct {
	Plan  *fabric.Plan // nil without a cluster file
	Nodes []Digest     // in the order in which their facts came

	index *planIndex
}

// reason gives the verdict of a scope that leaves a node out, or cannot tell; ok is false where the rule is to run.
func (s Scope) reason(p *planIndex, n *NodePlan, f *fabric.Facts) (v Verdict, ok bool) {
	node := fabric.NodeSubject(f.Node)
	if why := s.excludesPlan(p); why != "" {
		return notApplicable(node, why), true
	}
	switch {
	case s.Hardware && f.Platform == "lab":
		return notApplicable(node, "a lab host has no hardware of its own"), true
	case s.NeedsPlan && n == nil:
		return notApplicable(node, f.Node+" is not in the cluster file"), true
	case f.Source == "catalog":
		return unknown(node, "these facts are nominal, from the catalog; "+f.Node+" itself was not looked at"), true
	case s.BareMetal && f.Machine.Hypervisor == nil:
		why := NodeInput{Facts: f}.why("not known whether "+f.Node+" is a virtual machine", "machine.hypervisor")
		return unknown(node, why), true
	case s.BareMetal && *f.Machine.Hypervisor:
		return notApplicable(node, f.Node+" is a virtual machine: the hypervisor owns this setting"), true
	}
	return Verdict{}, false
}

func (s Scope) excludesPlan(p *planIndex) string {
	switch {
	case p == nil && s.NeedsPlan:
		return "needs a cluster file"
	case p != nil && s.Addresses && p.plan.Addressing.Scheme == fabric.None:
		return "the plan gives no IP addresses"
	case p != nil && s.Cables && len(p.plan.Cabling.Links) == 0:
		return "the plan has no cables"
	}
	return ""
}

// nic finds an interface by its name.
func (in NodeInput) nic(name string) (*fabric.NIC, bool) {
	for i := range in.Facts.NICs {
		if in.Facts.NICs[i].Name == name {
			return &in.Facts.NICs[i], true
		}
	}
	return nil, false
}

// why is the reason of an unknown: what is not known, and what the facts say of its absence.
func (in NodeInput) why(unknown string, what ...string) string {
	if m, ok := in.missing(what...); ok {
		return unknown + ": " + m.Reason + " (" + m.Source + ")"
	}
	return unknown
}

func (in NodeInput) missing(what ...string) (fabric.Missing, bool) {
	for _, w := range what {
		if m, ok := in.Facts.MissingReason(w); ok {
			return m, true
		}
	}
	return fabric.Missing{}, false
}

// eachPlanned judges every planned NIC; one that the facts do not show is unknown (nic-present blames it).
func (in NodeInput) eachPlanned(judge func(*fabric.NIC) Verdict) []Verdict {
	return in.each(in.Plan.NICs, judge)
}

func (in NodeInput) each(names []string, judge func(*fabric.NIC) Verdict) []Verdict {
	out := make([]Verdict, 0, len(names))
	for _, name := range names {
		subject := fabric.NICSubject(in.Facts.Node, name)
		nic, ok := in.nic(name)
		if !ok {
			why := in.why("the facts of "+in.Facts.Node+" show no "+name, "nics")
			out = append(out, unknown(subject, why))
			continue
		}
		v := judge(nic)
		v.Subject = subject
		out = append(out, v)
	}
	return out
}

// fabricNICs names the NICs of the fabric: the planned ones, else those with an RDMA device.
func (in NodeInput) fabricNICs() []string {
	if in.Plan != nil {
		return in.Plan.NICs
	}
	var names []string
	for i := range in.Facts.NICs {
		if _, ok := in.hcaOf(&in.Facts.NICs[i]); ok {
			names = append(names, in.Facts.NICs[i].Name)
		}
	}
	return names
}

// hcaOf finds the RDMA device of a NIC: on the same PCI function, or naming the NIC in its GID table.
func (in NodeInput) hcaOf(nic *fabric.NIC) (*fabric.HCA, bool) {
	for i := range in.Facts.HCAs {
		if h := &in.Facts.HCAs[i]; serves(h, nic) {
			return h, true
		}
	}
	return nil, false
}

func serves(h *fabric.HCA, nic *fabric.NIC) bool {
	if h.PCI != "" && h.PCI == nic.PCI {
		return true
	}
	for _, p := range h.Ports {
		for _, g := range p.GIDs {
			if g.NetDev == nic.Name {
				return true
			}
		}
	}
	return false
}

func pass(expected string, seen ...fabric.Evidence) Verdict {
	return Verdict{Status: fabric.Pass, Expected: expected, Evidence: seen}
}

func unknown(s fabric.Subject, why string, seen ...fabric.Evidence) Verdict {
	return Verdict{Status: fabric.Unknown, Subject: s, Why: why, Evidence: seen}
}

func notApplicable(s fabric.Subject, why string) Verdict {
	return Verdict{Status: fabric.NotApplicable, Subject: s, Why: why}
}

func saw(source, value string) fabric.Evidence { return fabric.Evidence{Source: source, Value: value} }

// onNode marks where a command is to be run, as a comment of the shell.
func onNode(command, node string) string { return command + "   # on " + node }

// kept is onNode for a command whose effect ends with the next boot: with a plan its files bring it back.
func kept(command, node string, planned bool) string {
	if planned {
		return onNode(command, node) + "; `railwright apply` writes it for good"
	}
	return onNode(command, node) + ", until the next boot"
}

func (in NodeInput) kept(command string) string {
	return kept(command, in.Facts.Node, in.Plan != nil)
}
