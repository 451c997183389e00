package fabric

import "strings"

// Subject is the thing that a finding is about. Node is empty for the cluster as a whole.
type Subject struct {
	Kind string `json:"kind"` // cluster, node, nic, pci, port, gpu, switch, vm
	Node string `json:"node,omitempty"`
	NIC  string `json:"nic,omitempty"`
	Port string `json:"port,omitempty"`
	GPU  string `json:"gpu,omitempty"`
	PCI  string `json:"pci,omitempty"`
	VM   string `json:"vm,omitempty"` // on the ESX host Node
}

// String writes node:part, as people and the --fault flag do.
func (s Subject) String() string {
	part := s.NIC + s.Port + s.GPU + s.PCI + s.VM
	switch {
	case s.Node == "":
		return strings.TrimSuffix(s.Kind+" "+part, " ")
	case part == "":
		return s.Node
	default:
		return s.Node + ":" + part
	}
}

// ClusterSubject is the cluster as a whole.
func ClusterSubject() Subject { return Subject{Kind: "cluster"} }

// NodeSubject is a whole node.
func NodeSubject(node string) Subject { return Subject{Kind: "node", Node: node} }

// NICSubject is a network interface of a node.
func NICSubject(node, nic string) Subject { return Subject{Kind: "nic", Node: node, NIC: nic} }

// PCISubject is a PCI function of a node.
func PCISubject(node, address string) Subject { return Subject{Kind: "pci", Node: node, PCI: address} }

// VMSubject is a virtual machine on an ESX host.
func VMSubject(host, vm string) Subject { return Subject{Kind: "vm", Node: host, VM: vm} }

// Evidence is one observed value and its source.
type Evidence struct {
	Source string `json:"source"` // a file, a netlink dump, a tool's output
	Value  string `json:"value"`  // as read, or with its unit
}

// Finding is the verdict of one rule on one subject.
type Finding struct {
	ID        string     `json:"id"` // of the rule
	Title     string     `json:"title"`
	Status    Status     `json:"status"`
	Waived    bool       `json:"waived,omitempty"` // by the cluster file: shown, but not part of the verdict
	Severity  Severity   `json:"severity"`
	Cause     CauseID    `json:"cause,omitempty"`
	Subject   Subject    `json:"subject"`
	With      []Subject  `json:"with,omitempty"` // what else the same fault concerns: the interfaces of a port
	Evidence  []Evidence `json:"evidence,omitempty"`
	Expected  string     `json:"expected,omitempty"`
	Why       string     `json:"why,omitempty"`  // why it matters, or why it is unknown or not applicable
	Cost      string     `json:"cost,omitempty"` // what it costs, with its unit
	Fix       string     `json:"fix,omitempty"`  // a command to run
	Reference string     `json:"reference,omitempty"`
}

// Summary counts findings by status.
type Summary struct {
	Pass          int `json:"pass"`
	Fail          int `json:"fail"`
	Unknown       int `json:"unknown"`
	NotApplicable int `json:"not_applicable"`
	Waived        int `json:"waived"`
}

// Count counts a verdict.
func (s *Summary) Count(status Status) {
	switch status {
	case Pass:
		s.Pass++
	case Fail:
		s.Fail++
	case NotApplicable:
		s.NotApplicable++
	default:
		s.Unknown++
	}
}

// Status returns the worst counted status. Nothing counted is Unknown: nothing was checked.
func (s Summary) Status() Status {
	switch {
	case s.Fail > 0:
		return Fail
	case s.Unknown > 0 || s.Pass == 0 && s.Waived == 0:
		return Unknown
	default:
		return Pass
	}
}

// Findings is the saved form of a check.
type Findings struct {
	Meta
	Findings []Finding       `json:"findings"`
	Switches []SwitchSummary `json:"switches,omitempty"` // what was read of those that are part of the check
	Summary  Summary         `json:"summary"`
}
