package check

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func nvlinkPartition() Rule {
	return Rule{
		ID:    "nvlink-partition",
		Title: "The active partitions of shared NVSwitches are those of the virtual machines",
		Doc: "compares the active partitions of Fabric Manager (fmpm -l) by Module Id with the plan, or with the GPUs of a virtual machine. Two partitions of one GPU instead of a pair " +
			"let CUDA start, and data is lost: SXid 11004 in the service virtual machine is the only trace",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseFabricManager,
		Reference: "NVIDIA Fabric Manager user guide, shared NVSwitch virtualization; github.com/NVIDIA/Fabric-Manager-Client",
		Facts:     []string{fabric.FactNVShare, fabric.FactKernelLog},
		Scope:     []Condition{withHardware()},
		DependsOn: []string{"fabric-manager"},
		Node:      judgePartition,
	}
}

func judgePartition(in NodeInput) []Verdict {
	share := in.Facts.NVShare
	if share == nil || share.Partitions == nil {
		if in.plannedPartitions() != nil {
			return in.asNode(Verdict{Why: in.why("the partitions of "+in.Facts.Node+" were not read (fmpm -l)", fabric.FactNVShare)})
		}
		return in.asNode(Verdict{Status: fabric.NotApplicable, Why: "no list of partitions (fmpm -l) is part of the facts of " + in.Facts.Node})
	}
	var active []fabric.NVPartition
	for _, p := range share.Partitions {
		if p.Active {
			active = append(active, p)
		}
	}
	seen := []fabric.Evidence{saw("fmpm -l, active partitions", partitionsText(active))}
	for _, p := range active {
		if p.Modules == nil {
			return in.asNode(Verdict{Evidence: seen, Why: fmt.Sprintf("the GPUs of partition %d of %s were not all read", p.ID, in.Facts.Node)})
		}
	}
	if v, ok := in.overlap(active, seen); ok {
		return in.asNode(v)
	}
	if wanted := in.plannedPartitions(); wanted != nil {
		return in.asNode(in.wantPartitions(share, active, wanted, seen, "of the plan"))
	}
	if share.Modules != nil {
		seen = append(seen, saw("nvidia-smi -q, Module Id", numbersText(sorted(share.Modules))))
		v := in.wantPartitions(share, active, [][]int{share.Modules}, seen, "of the virtual machine")
		if v.Status == fabric.Pass && len(active) > 1 { // the list of its GPUs may be cut, and the others its own too
			v = Verdict{Evidence: seen, Expected: v.Expected, Why: "of the active partitions of " + in.Facts.Node + " (" + partitionsText(active) + ") one has the GPUs that were listed; the others are of virtual machines that were not read"}
		}
		return in.asNode(v)
	}
	return in.asNode(in.openPartitions(share, active, seen))
}

// overlap reports a GPU in two active partitions, which Fabric Manager does not allow: the list is of two times, or misread.
func (in NodeInput) overlap(active []fabric.NVPartition, seen []fabric.Evidence) (Verdict, bool) {
	by := map[int]int{}
	for _, p := range active {
		for _, m := range p.Modules {
			if other, twice := by[m]; twice && other != p.ID {
				return Verdict{Evidence: seen, Why: fmt.Sprintf("partitions %d and %d of %s are both active with Module Id %d: the lists are of two times", other, p.ID, in.Facts.Node, m)}, true
			}
			by[m] = p.ID
		}
	}
	return Verdict{}, false
}

// plannedPartitions are the Module Ids of each virtual machine that the plan puts on the host of this service virtual machine; nil:
// this is none, or no plan says.
func (in NodeInput) plannedPartitions() [][]int {
	v := in.Site
	if v == nil || v.Service == nil {
		return nil
	}
	i := slices.IndexFunc(v.Service.Guests, func(g fabric.ServiceVMOf) bool { return g.Name == in.Facts.Node })
	if i < 0 {
		return nil
	}
	h := slices.IndexFunc(v.Hosts, func(h fabric.ESXHost) bool { return h.Name == v.Service.Guests[i].Host })
	if h < 0 {
		return nil
	}
	var out [][]int
	for _, c := range v.Classes {
		if len(c.Modules) > 0 && slices.ContainsFunc(c.Nodes, func(n string) bool { return slices.Contains(v.Hosts[h].Nodes, n) }) {
			out = append(out, c.Modules)
		}
	}
	return out
}

// wantPartitions asks for an active partition with exactly the GPUs of each virtual machine.
func (in NodeInput) wantPartitions(share *fabric.NVShare, active []fabric.NVPartition, wanted [][]int, seen []fabric.Evidence, whose string) Verdict {
	var expected, lacking, fixes []string
	for _, w := range wanted {
		text := "Module Id " + numbersText(sorted(w))
		expected = append(expected, text)
		if slices.ContainsFunc(active, func(p fabric.NVPartition) bool { return slices.Equal(p.Modules, sorted(w)) }) {
			continue
		}
		var instead []string
		for _, p := range active {
			if slices.ContainsFunc(p.Modules, func(m int) bool { return slices.Contains(w, m) }) {
				instead = append(instead, partitionText(p))
				fixes = append(fixes, fmt.Sprintf("fmpm -d %d", p.ID))
			}
		}
		said := "none with " + text + " is active"
		if len(instead) > 0 {
			said += "; active instead: " + strings.Join(instead, ", ")
		}
		lacking = append(lacking, said)
		if right := slices.IndexFunc(share.Partitions, func(p fabric.NVPartition) bool { return slices.Equal(p.Modules, sorted(w)) }); right >= 0 {
			fixes = append(fixes, fmt.Sprintf("fmpm -a %d", share.Partitions[right].ID))
		} else {
			fixes = append(fixes, "give the virtual machine the GPUs of one partition (fmpm -l)")
		}
	}
	want := "an active partition for each virtual machine: " + strings.Join(expected, "; ")
	if len(lacking) == 0 {
		return pass(want, seen...)
	}
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: append(seen, in.droppedTraffic()...),
		Why:  "The active partitions of " + in.Facts.Node + " are not those " + whose + ": " + strings.Join(lacking, "; ") + ".",
		Cost: "CUDA does not start (error 802), or NVLink traffic between the GPUs is dropped and data is wrong without an error (SXid 11004)",
		Fix:  "in the service virtual machine, while the virtual machines with these GPUs are off: " + strings.Join(slices.Compact(fixes), "; "),
	}
}

// openPartitions judges without knowing which GPUs virtual machines have: dropped traffic shows that partitions are too small.
func (in NodeInput) openPartitions(share *fabric.NVShare, active []fabric.NVPartition, seen []fabric.Evidence) Verdict {
	const want = "one active partition with all GPUs of a virtual machine"
	var all []int
	for _, p := range active {
		all = append(all, p.Modules...)
	}
	switch dropped := in.droppedTraffic(); {
	case len(active) == 0:
		return Verdict{Evidence: seen, Expected: want, Why: "no partition of " + in.Facts.Node + " is active: GPUs wait (fabric state In Progress) until that of their virtual machine is"}
	case len(dropped) > 0 && len(active) > 1:
		fix := "activate the one partition that has all GPUs of the virtual machine"
		if i := slices.IndexFunc(share.Partitions, func(p fabric.NVPartition) bool { return slices.Equal(p.Modules, sorted(all)) }); i >= 0 {
			fix = fmt.Sprintf("fmpm -a %d", share.Partitions[i].ID)
		}
		for _, p := range active {
			fix = fmt.Sprintf("fmpm -d %d; ", p.ID) + fix
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: append(seen, dropped...),
			Why:  fmt.Sprintf("%d partitions of %s are active (%s), and NVSwitches drop traffic between their GPUs: a virtual machine has GPUs of several.", len(active), in.Facts.Node, partitionsText(active)),
			Cost: "NVLink traffic between the GPUs is dropped: CUDA starts, and data is wrong without an error", Fix: "with the virtual machines off: " + fix,
		}
	case len(active) > 1:
		return Verdict{Evidence: seen, Expected: want, Why: "active on " + in.Facts.Node + ": " + partitionsText(active) + ": right where each is of one virtual machine, wrong where one virtual machine has GPUs of two (dmesg of the service virtual machine shows SXid 11004 then)"}
	}
	return Verdict{Evidence: seen, Expected: want, Why: "active on " + in.Facts.Node + ": " + partitionsText(active) + ": right where one virtual machine has exactly these GPUs; which it has was not read (nvidia-smi -q in it, Module Id)"}
}

// droppedTraffic is what the kernel's log says of traffic that no active partition allows.
func (in NodeInput) droppedTraffic() []fabric.Evidence {
	if in.Facts.KernelLog == nil {
		return nil
	}
	for _, line := range in.Facts.KernelLog.Lines {
		if isDropped(line) {
			return []fabric.Evidence{saw(kernelLog, line)}
		}
	}
	return nil
}

// isDropped knows the SXid of NVLink traffic that no active partition allows (ingress invalid ACL).
func isDropped(line string) bool {
	return strings.Contains(line, "SXid (PCI:") && strings.Contains(line, ": 11004,")
}

// partitionsFail reports whether nvlink-partition fails here.
func (in NodeInput) partitionsFail() bool {
	return in.Facts.NVShare != nil && slices.ContainsFunc(judgePartition(in), func(v Verdict) bool { return v.Status == fabric.Fail })
}

func sorted(list []int) []int { return slices.Sorted(slices.Values(list)) }

func partitionText(p fabric.NVPartition) string {
	return fmt.Sprintf("partition %d (Module Id %s)", p.ID, numbersText(p.Modules))
}

func partitionsText(list []fabric.NVPartition) string {
	if len(list) == 0 {
		return "none"
	}
	var out []string
	for _, p := range list {
		out = append(out, partitionText(p))
	}
	return strings.Join(out, ", ")
}
