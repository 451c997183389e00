package check

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const kernelLog = "kernel log (dmesg)"

// logHit is what a line of the kernel's log reports about a subject.
type logHit struct {
	subject        fabric.Subject
	on             []fabric.Subject
	status         fabric.Status
	cause          fabric.CauseID // instead of the rule's
	why, cost, fix string
}

// judgeLog reads the kernel's log line by line and gives one verdict a subject, the worst of its lines; where
// no line is relevant, one of the node. A log that was not kept whole never passes.
func (in NodeInput) judgeLog(want string, read func(line string) (logHit, bool)) []Verdict {
	log := in.Facts.KernelLog
	if log == nil {
		return in.asNode(Verdict{Why: in.why("the kernel log of "+in.Facts.Node+" was not read", fabric.FactKernelLog)})
	}
	var out []Verdict
	for _, line := range log.Lines {
		hit, ok := read(line)
		if !ok {
			continue
		}
		v := Verdict{
			Status: hit.status, Subject: hit.subject, On: hit.on, Cause: hit.cause, Expected: want,
			Evidence: []fabric.Evidence{saw(kernelLog, line)}, Why: hit.why, Cost: hit.cost, Fix: hit.fix,
		}
		if v.Status != fabric.Fail {
			v.Cause = ""
		}
		i := slices.IndexFunc(out, func(o Verdict) bool { return o.Subject == v.Subject })
		switch {
		case i < 0:
			out = append(out, v)
		case v.Status == fabric.Fail && out[i].Status != fabric.Fail:
			v.Evidence = append(v.Evidence, out[i].Evidence...)
			out[i] = v
		case len(out[i].Evidence) < 3:
			out[i].Evidence = append(out[i].Evidence, v.Evidence...)
		}
	}
	seen := saw(kernelLog, strconv.Itoa(len(log.Lines))+" lines about GPUs, NICs, PCIe and RDMA")
	_, part := in.missing(fabric.FactKernelLog)
	switch {
	case len(out) > 0:
		return out
	case part:
		return in.asNode(Verdict{Evidence: []fabric.Evidence{seen}, Expected: want,
			Why: in.why("the kernel log of "+in.Facts.Node+" was not read to its end", fabric.FactKernelLog)})
	case log.Cut:
		return in.asNode(Verdict{Evidence: []fabric.Evidence{seen}, Expected: want,
			Why: "only the last " + strconv.Itoa(len(log.Lines)) + " lines about GPUs, NICs, PCIe and RDMA in the kernel log of " + in.Facts.Node + " were kept: an earlier line may report more"})
	}
	return in.asNode(pass(want, seen))
}

// addressIn finds the first PCI function of the facts that a line names.
func (in NodeInput) addressIn(line string) (*fabric.PCIDevice, bool) {
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" ,()[]", r) }) {
		if d, ok := in.view.pci[strings.TrimSuffix(word, ":")]; ok {
			return d, true
		}
	}
	return nil, false
}

func kernelLogPCIe() Rule {
	return Rule{
		ID:        "kernel-log-pcie",
		Title:     "The kernel reported no device limited by its slot",
		Doc:       "searches the kernel log for GPUs and fabric NICs whose PCIe bandwidth was limited by a link above them: slower than the device supports, even where both ends of each link agree",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CausePCIeDowngraded,
		Reference: "kernel source, drivers/pci/pci.c, pcie_print_link_status; Broadcom RoCE guide 2.6 no. 12 and 14; imbue host health checks",
		Facts:     []string{fabric.FactKernelLog},
		Scope:     []Condition{withHardware(), onHost()},
		DependsOn: []string{"pcie-link", "pcie-planned", "pcie-port-rate"},
		Node:      judgeKernelLogPCIe,
	}
}

func judgeKernelLogPCIe(in NodeInput) []Verdict {
	const marker = "available PCIe bandwidth, limited by "
	return in.judgeLog("no \"limited by\"", func(line string) (logHit, bool) {
		before, after, ok := strings.Cut(line, marker)
		if !ok {
			return logHit{}, false
		}
		d, known := in.addressIn(before)
		if !known || !slices.Contains(in.view.ends, d.Address) {
			return logHit{}, false // another device, on which nothing here depends
		}
		subject, words := fabric.PCISubject(in.Facts.Node, d.Address), strings.Fields(before)
		hit := logHit{
			subject: subject, status: fabric.Fail,
			why: "When " + subject.String() + " was detected, its bandwidth was limited by " + strings.TrimSuffix(after, ")") + ").",
			fix: onNode("lspci -vvv -s "+fabric.ShellWord(d.Address)+" | grep -e LnkCap -e LnkSta; move the card to a slot of its speed and width, or reseat it, then reboot", in.Facts.Node),
		}
		if len(words) > 1 {
			if gbps, err := strconv.ParseFloat(words[len(words)-2], 64); err == nil {
				hit.cost = strconv.FormatFloat(gbps/8, 'f', 1, 64) + " GB/s each way at most (Gb/s / 8)"
			}
		}
		if _, at, ok := strings.Cut(after, " link at "); ok {
			at, _, _ = strings.Cut(at, " ")
			hit.on = []fabric.Subject{fabric.PCISubject(in.Facts.Node, in.lowerEnd(d, at))}
		}
		return hit, true
	})
}

// lowerEnd finds, on the way up from a function, the lower end of the link whose upper end the kernel named.
func (in NodeInput) lowerEnd(d *fabric.PCIDevice, upper string) string {
	for steps := 0; d != nil && steps <= len(in.view.pci); steps++ {
		if d.Parent == upper || d.Address == upper {
			return d.Address
		}
		d = in.view.pci[d.Parent]
	}
	return ""
}

func kernelLogAER() Rule {
	return Rule{
		ID:        "kernel-log-aer",
		Title:     "The kernel reported no uncorrected PCIe error and no lost PCIe link",
		Doc:       "searches the kernel log for uncorrected PCIe errors (AER), links that a port cut off after one (DPC), and slots whose link or card went away (pciehp); corrected errors matter only in large numbers, which counters show",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "kernel documentation, PCI/pcieaer-howto; kernel source, drivers/pci/pcie/{aer,dpc}.c and hotplug/pciehp_ctrl.c; PCI Express Base Specification 5.0, 6.2; OCI HPC health checks",
		Facts:     []string{fabric.FactKernelLog},
		Scope:     []Condition{withHardware()},
		DependsOn: []string{"pcie-payload"},
		Node:      judgeKernelLogAER,
	}
}

func judgeKernelLogAER(in NodeInput) []Verdict {
	return in.judgeLog("no uncorrected error, no link lost", func(line string) (logHit, bool) {
		switch {
		case strings.Contains(line, "severity=Uncorrect"), strings.Contains(line, "Uncorrect") && strings.Contains(line, "Fatal) error"):
			// "Uncorrected (Fatal)" and "Uncorrected (Non-Fatal)"; "Uncorrectable" before 5.1 and again in messages of 6.x
			hit := in.pcieHit(line, "reported an uncorrected PCIe error on ", ".", "a transfer was lost; a fatal one resets the link and everything below it")
			return hit, true
		case strings.Contains(line, "DPC: containment event"):
			return in.pcieHit(line, "cut the link below ", " off after an uncorrected error (DPC).", "everything below it was gone until it was found again"), true
		case strings.Contains(line, "pciehp: Slot(") && (strings.HasSuffix(line, "Link Down") || strings.HasSuffix(line, "Card not present")):
			return in.slotHit(line), true
		}
		return logHit{}, false
	})
}

func (in NodeInput) pcieHit(line, before, after, cost string) logHit {
	subject := fabric.NodeSubject(in.Facts.Node)
	if d, ok := in.addressIn(line); ok {
		subject = fabric.PCISubject(in.Facts.Node, d.Address)
	}
	return logHit{
		subject: subject, status: fabric.Fail, why: "The kernel " + before + subject.String() + after, cost: cost,
		fix: onNode("grep -H . /sys/bus/pci/devices/*/aer_dev_{fatal,nonfatal}; reseat card and riser, update firmware, then replace the part", in.Facts.Node),
	}
}

// slotHit is a slot whose link or card went away. Ports above nothing of the fabric are not in the facts: what such a slot
// held is unknown.
func (in NodeInput) slotHit(line string) logHit {
	hit := in.pcieHit(line, "lost the link below ", ", or the card there.", "what was below it is not used, or was gone for a while")
	if hit.subject.Kind != "node" {
		hit.why = "The port " + hit.subject.String() + " lost the link below it, or its card was taken out."
		return hit
	}
	return logHit{subject: hit.subject, status: fabric.Unknown, why: "a slot of " + in.Facts.Node + " lost its link or its card: it may have held a GPU or NIC that is no longer seen"}
}
