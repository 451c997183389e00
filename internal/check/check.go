// Package check evaluates the facts of nodes against the plan, against physics and against what the documents
// of the field require. A rule is a value with a pure function; the Checker streams nodes through the rules
// and emits findings. What was not seen is unknown with its reason, never a pass.
package check

import (
	"railwright.dev/railwright/internal/esxcheck"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchcheck"
)

// Rule is one check as a value. Exactly one of Node, Cluster, switches and esx is set.
type Rule struct {
	ID    string // kebab case, never renamed: waivers and scripts use it
	Title string // what is true when it passes
	Doc   string // one line: what it checks and why

	Severity  fabric.Severity // of a failing finding
	Cause     fabric.CauseID  // of a failing finding; empty: the rule never fails, it can only be unknown
	Reference string          // where the rule comes from: document and section, RFC, kernel documentation
	Facts     []string        // paths of the facts that it reads, as Missing names them
	Scope     []Condition     // in the order of scope.go; empty: applies everywhere

	// DependsOn are ids of rules that stand earlier in the list. While one of them fails on the same
	// subject, or on the whole node, this rule is silent there, so that one fault is blamed once. What
	// depends on a silent rule is silent too.
	DependsOn []string

	Node    func(NodeInput) []Verdict
	Cluster func(ClusterInput) []Verdict

	switches func(*switchcheck.Input) []fabric.Finding // of a rule about switches
	esx      func(*esxcheck.Input) []fabric.Finding    // of a rule about ESX hosts and their virtual machines
}

// Verdict is the result of a rule for one subject. The checker adds what follows from the rule.
type Verdict struct {
	Status   fabric.Status
	Subject  fabric.Subject
	Evidence []fabric.Evidence
	Expected string
	Why      string // failing: one sentence with the subject and both values; else the reason of the status
	Cost     string
	Fix      string

	With  []fabric.Subject // what else the same fault concerns
	Cause fabric.CauseID   // instead of the rule's, where the subject decides it
	On    []fabric.Subject // the subject below this one (the NIC of a port): a dependency that fails there counts too
}

// ClusterInput is the input of a cluster rule, after all nodes.
type ClusterInput struct {
	Plan  *fabric.Plan              // nil without a cluster file
	Nodes []Digest                  // in the order in which their facts came
	Lost  map[string]fabric.Missing // why other nodes have no facts, by node

	index *planIndex
}

func pass(expected string, seen ...fabric.Evidence) Verdict {
	return Verdict{Status: fabric.Pass, Expected: expected, Evidence: seen}
}

func unknown(s fabric.Subject, why string, seen ...fabric.Evidence) Verdict {
	return Verdict{Status: fabric.Unknown, Subject: s, Why: why, Evidence: seen}
}

func saw(source, value string) fabric.Evidence { return fabric.Evidence{Source: source, Value: value} }

// onNode marks where a command is to be run, as a comment of the shell.
func onNode(command, node string) string { return command + "   # on " + fabric.Printable(node) }

// untilBoot is onNode for a command whose effect ends with the next boot: with a plan its files bring it back.
func untilBoot(command, node string, planned bool) string {
	if planned {
		return onNode(command, node) + "; `railwright apply` makes it permanent"
	}
	return onNode(command, node) + ", until the next boot"
}

func (in NodeInput) untilBoot(command string) string {
	return untilBoot(command, in.Facts.Node, in.Plan != nil)
}
