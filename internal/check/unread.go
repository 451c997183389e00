package check

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func factsRead() Rule {
	return Rule{
		ID:    "facts-read",
		Title: "Every fact that a check needs was read",
		Doc: "looks for facts that could not be read, that a check of this node reads, and that no check reported: a device that cannot be identified " +
			"is in no list, and what is in no list cannot fail",
		Severity:  fabric.SeverityError,
		Reference: "the facts of the node, missing",
		Facts:     []string{fabric.FactPlatform, fabric.FactMachineHypervisor}, // which conditions of rules read
		Node:      judgeFactsRead,
	}
}

// judgeFactsRead is evaluated after all other rules of the node: they mark the entries of Missing that they used.
func judgeFactsRead(in NodeInput) []Verdict {
	var lost []fabric.Missing
	var rest []string
	for i, m := range in.Facts.Missing {
		switch {
		case in.view.isUsed(i):
		case in.needs(m):
			lost = append(lost, m)
		default:
			rest = append(rest, m.What)
		}
	}
	const want = "each fact that a check of this node reads"
	if len(lost) > 0 {
		v := Verdict{Expected: want, Why: fabric.Count(len(lost), "fact") + " of " + in.Facts.Node + " could not be read, and no other check reports it: " + whatOf(lost)}
		for _, m := range lost[:min(len(lost), mostNamed)] {
			v.Evidence = append(v.Evidence, saw(m.Source, m.What+": "+m.Reason))
		}
		return in.asNode(v)
	}
	f := in.Facts
	if len(f.NICs) == 0 && len(f.PCI) == 0 && len(f.HCAs) == 0 {
		return in.asNode(Verdict{Why: in.why("nothing was read from "+f.Node, fabric.FactNICs, fabric.FactPCI, fabric.FactHCAs)})
	}
	seen := []fabric.Evidence{saw("facts", strconv.Itoa(len(f.Missing))+" missing, each reported by the check that reads it, or read by no check of this node")}
	if len(rest) > 0 {
		seen = append(seen, saw("read by no check of this node", andMore(rest[:min(len(rest), mostNamed)], len(rest))))
	}
	return in.asNode(pass(want, seen...))
}

// needs reports whether a missing fact leaves open what a rule of this node would say. It does not where the host has
// no such thing, where every rule that reads it is out of scope, and where it is of a device outside the fabric.
func (in NodeInput) needs(m fabric.Missing) bool {
	path, device, ofDevice := strings.Cut(m.What, " ")
	switch {
	case m.Absent && !ofDevice:
		return false
	case !isFactPath(path):
		return true // a source that is no fact, such as a captured text that no tool prints
	case !in.view.reads(path):
		return false
	}
	return !ofDevice || in.concerns(path, device)
}

// isFactPath reports whether a path leads into the facts of a node.
func isFactPath(path string) bool {
	root, _, _ := strings.Cut(path, ".")
	return slices.Contains([]string{
		fabric.FactPlatform, fabric.FactKernel, fabric.FactKernelLog, fabric.FactModules, fabric.FactSysctls, fabric.FactMachine, fabric.FactNICs, fabric.FactNICFile,
		fabric.FactHCAs, fabric.FactGPUs, fabric.FactFabricManager, fabric.FactPCI, fabric.FactRoutes, fabric.FactRules, fabric.FactNeighbours, fabric.FactLLDP,
		fabric.FactFirewall, fabric.FactESX,
	}, root)
}

// concerns reports whether a device belongs to the fabric. One that could not be identified may.
func (in NodeInput) concerns(path, device string) bool {
	if path == fabric.FactHCAs || path == fabric.FactPCI {
		return true
	}
	root, _, _ := strings.Cut(path, ".")
	switch root {
	case fabric.FactNICs, fabric.FactLLDP:
		return slices.Contains(in.view.nics, device)
	case fabric.FactHCAs:
		name, _, _ := strings.Cut(device, "/")
		h, ok := in.hca(name)
		if !ok {
			return true
		}
		_, ours := in.nicOf(h)
		return ours
	case fabric.FactPCI:
		return in.concernsFunction(path, device)
	}
	return true
}

// concernsFunction reports whether a rule reads this of a PCI function: ACS of bridges, ATS of cards, drivers of GPUs.
func (in NodeInput) concernsFunction(path, address string) bool {
	switch path {
	case fabric.FactPCIACS:
		d, ok := in.view.pci[address]
		return ok && isBridge(d) && in.carries(address)
	case fabric.FactPCIATS:
		return slices.Contains(in.view.cards, address)
	case fabric.FactPCIDriver:
		return in.isGPU(address)
	case fabric.FactPCINUMANode:
		return slices.Contains(in.view.ends, address)
	}
	return in.carries(address)
}

// carries reports whether a PCI function is a GPU or a card of the fabric, or a bridge above one.
func (in NodeInput) carries(address string) bool {
	for _, end := range in.view.ends {
		for at, steps := end, 0; at != "" && steps <= len(in.view.pci); steps++ {
			if at == address {
				return true
			}
			d, ok := in.view.pci[at]
			if !ok {
				break
			}
			at = d.Parent
		}
	}
	return false
}

// readers are the rules that read a fact or a part of it, by its path: places in the list of rules.
type readers map[string][]int

// readersOf lists the rules of a kind that read each fact.
func readersOf(rules []Rule, kind func(*Rule) bool) readers {
	r := readers{}
	for i := range rules {
		if !kind(&rules[i]) {
			continue
		}
		for _, path := range rules[i].Facts {
			for path != "" {
				if !slices.Contains(r[path], i) {
					r[path] = append(r[path], i)
				}
				path = path[:max(strings.LastIndexByte(path, '.'), 0)]
			}
		}
	}
	return r
}

// inScope reports whether one of the rules that read a fact applies; out are the rules that do not.
func (r readers) inScope(path string, out []bool) bool {
	return slices.ContainsFunc(r[path], func(i int) bool { return !out[i] })
}

// Unread lists the facts that could not be read and that a rule of this node reads, with a cluster file or without. It
// is empty where every check that applies to the node could be made of what was read.
func Unread(f *fabric.Facts) []fabric.Missing {
	if f.ESX != nil && onlyESX(f) { // the rest of what is missing is about Linux
		return slices.DeleteFunc(slices.Clone(f.Missing), func(m fabric.Missing) bool {
			root, _, _ := strings.Cut(m.What, ".")
			return m.Absent || root != fabric.FactESX && root != fabric.FactPCI
		})
	}
	rules := Rules()
	in := newNodeInput(f, nil)
	here := scene{anyPlan: true, nodes: []Digest{digest(in, texts{})}}
	out := make([]bool, len(rules))
	all := readersOf(rules, func(*Rule) bool { return true })
	for i := range rules {
		_, out[i] = excluded(rules[i].Scope, here)
	}
	in.view.reads = func(path string) bool { return all.inScope(path, out) }
	var lost []fabric.Missing
	for _, m := range f.Missing {
		if in.needs(m) {
			lost = append(lost, m)
		}
	}
	return lost
}
