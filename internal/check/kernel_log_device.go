package check

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func kernelLogGPU() Rule {
	return Rule{
		ID:        "kernel-log-gpu",
		Title:     "No GPU reported a fault",
		Doc:       "searches the kernel log for Xid and SXid of NVIDIA GPUs and switches that are not application errors, for driver failures, and for resets and uncorrectable errors of AMD GPUs",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "NVIDIA, Xid Errors; Azure node health checks and awsome-distributed-training (lists of Xid); ROCm CVS (amdgpu); Broadcom RoCE guide 2.6 no. 14",
		Facts:     []string{fabric.FactKernelLog},
		Scope:     []Condition{withHardware()},
		Node:      judgeKernelLogGPU,
	}
}

func judgeKernelLogGPU(in NodeInput) []Verdict {
	return in.judgeLog("no SXid, no GPU reset, no Xid except application errors", func(line string) (logHit, bool) {
		switch {
		case isDropped(line) && in.partitionsFail(): // nvlink-partition blames it, and says which
		case strings.Contains(line, "SXid (PCI:"):
			return in.readSXid(line)
		case strings.Contains(line, "Xid (PCI:"):
			return in.readXid(line)
		case strings.Contains(line, "fallen off the bus"): // without an Xid where the driver lost it earlier
			return in.gpuHit(line, fabric.Fail, fabric.CauseDeviceFault, "has fallen off the bus",
				"power the node off and on; if it recurs, reseat or replace the GPU"), true
		case isShortOfSpace(line):
			return in.gpuHit(line, fabric.Fail, fabric.CauseMMIOSpace, "has a memory region without an address", in.roomForBARs()), true
		case strings.Contains(line, "RmInitAdapter failed"):
			return in.gpuHit(line, fabric.Fail, fabric.CauseGPUDriver, "could not be initialized by its driver",
				"dmesg | grep NVRM; reinstall the driver for this kernel, reboot; if it persists, replace the GPU"), true
		case strings.Contains(line, "amdgpu") && isAMDFault(line):
			return in.gpuHit(line, fabric.Fail, "", "was reset, hung, or has an uncorrectable error",
				"amd-smi metric --ecc; reboot; if it recurs, replace the GPU"), true
		}
		return logHit{}, false
	})
}

// isAMDFault reports whether a line is a reset, a hung engine or an uncorrected RAS error. A page fault is
// the application's.
func isAMDFault(line string) bool {
	return strings.Contains(line, "GPU reset begin") || strings.Contains(line, "timeout, signaled seq") ||
		strings.Contains(line, "uncorrectable hardware error") || strings.Contains(line, "GPU is in bad status") ||
		strings.Contains(line, "Fatal error during GPU init")
}

// readXid reads `NVRM: Xid (PCI:0000:14:00): 79, ...`.
func (in NodeInput) readXid(line string) (logHit, bool) {
	_, rest, _ := strings.Cut(line, "Xid (PCI:")
	_, rest, _ = strings.Cut(rest, "): ")
	number, says, _ := strings.Cut(rest, ",")
	code, err := strconv.Atoi(strings.TrimSpace(number))
	if err != nil {
		return in.gpuHit(line, fabric.Unknown, "", "reported an Xid whose number could not be read", ""), true
	}
	if code == xidRecovery {
		return in.readRecovery(line, says)
	}
	x := xidOf(code)
	if x.status == fabric.Pass {
		return logHit{}, false
	}
	return in.gpuHit(line, x.status, x.cause, "reported Xid "+number+": "+x.says, x.fix), true
}

// xidRecovery is the Xid with which the driver asks for a recovery, in words:
// "GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)".
const xidRecovery = 154

func (in NodeInput) readRecovery(line, says string) (logHit, bool) {
	_, to, ok := strings.Cut(says, " to 0x")
	code, words, _ := strings.Cut(to, " (")
	words = strings.TrimSuffix(strings.TrimSpace(words), ")")
	if ok && code == "0" {
		return logHit{}, false
	}
	fix, known := map[string]string{"1": xidReset, "2": xidReboot, "3": xidDrain, "4": xidDrain}[code]
	if !known {
		fix = xidReset
	}
	return in.gpuHit(line, fabric.Fail, "", "reported Xid 154: it asks for a recovery, \""+orWord(words, strings.TrimSpace(says))+"\"", fix), true
}

// What Xids ask for (NVIDIA, Xid Errors; awsome-distributed-training, action map).
const (
	xidReset   = "drain the node, nvidia-smi --gpu-reset of the GPU, or reboot; if it recurs, replace the GPU"
	xidReboot  = "drain the node and reboot it; where the GPU stays away power it off and on, then reseat or replace the GPU"
	xidDrain   = "drain the node: stop every job that uses NVLink to this GPU, then nvidia-smi --gpu-reset of all GPUs"
	xidIsolate = "drain the node; check the GPU's auxiliary power cable and the power supplies"
	xidNVLink  = "drain the node; nvidia-smi nvlink -e; dmesg | grep SXid (with one it is the NVSwitch); nvidia-smi --gpu-reset of all GPUs; if it recurs, the GPU or its baseboard goes to the vendor"
	xidMemory  = "nvidia-smi -q -d ECC,ROW_REMAPPER; drain the node, nvidia-smi --gpu-reset of the GPU; if a remap failed or it recurs, replace the GPU"
	xidUnknown = "look the number up in NVIDIA's Xid Errors"
)

// xidMeaning is what is known of an Xid.
type xidMeaning struct {
	status    fabric.Status // pass: an application's error
	cause     fabric.CauseID
	says, fix string
}

// xidOf judges an Xid. The numbers that need an operator are the union of two public lists: Azure's node health checks, and
// the action map of awsome-distributed-training (isolate, reset, reboot); the applications' own are those of the latter and
// of NVIDIA's Xid Errors.
func xidOf(code int) xidMeaning {
	const fail = fabric.Fail
	switch code {
	case 13, 31, 43, 45, 94, 126:
		return xidMeaning{fabric.Pass, "", "an application error", ""}
	case 48, 63, 64, 92, 95, 140, 156, 158:
		return xidMeaning{fail, "", "memory error", xidMemory}
	case 54:
		return xidMeaning{fail, "", "auxiliary power is not connected", xidIsolate}
	case 74, 144, 145, 146, 147, 148, 149, 150, 155:
		return xidMeaning{fail, fabric.CauseNVLinkDegraded, "NVLink error", xidNVLink}
	case 79:
		return xidMeaning{fail, "", "the GPU has fallen off the bus", xidReboot}
	case 119, 120:
		return xidMeaning{fail, fabric.CauseGPUDriver, "the GPU's system processor does not respond to the driver", xidReset}
	case 56, 57, 58, 62, 65, 68, 69, 73, 80, 81, 109, 110, 136, 143:
		return xidMeaning{fail, "", "hardware or firmware error", xidReset}
	}
	return xidMeaning{fabric.Unknown, "", "in neither of the public lists, so its meaning is unknown", xidUnknown}
}

// sxidPartition is "ingress invalid ACL": a packet that the active partition does not allow. It comes from a partition that
// is not that of the virtual machine's GPUs only (NVIDIA Fabric Manager user guide, NVSwitch SXid errors), and is not fatal
// to the switch.
const sxidPartition = 11004

// readSXid reads `nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 20009, Non-fatal, Link 28 ...`.
func (in NodeInput) readSXid(line string) (logHit, bool) {
	_, rest, _ := strings.Cut(line, "SXid (PCI:")
	_, rest, _ = strings.Cut(rest, "): ")
	number, _, _ := strings.Cut(rest, ",")
	code, err := strconv.Atoi(strings.TrimSpace(number))
	switch {
	case err == nil && code == sxidPartition:
		return in.gpuHit(line, fabric.Fail, fabric.CauseFabricManager, "reported SXid "+rest+": NVLink traffic that the active partition does not allow, which is lost",
			"fmpm -l; deactivate the partition, and activate the one with exactly the GPUs of the virtual machine (module ids, not bus order)"), true
	case strings.Contains(rest, ", Fatal"):
		return in.gpuHit(line, fabric.Fail, fabric.CauseNVLinkDegraded, "reported SXid "+rest, "systemctl restart nvidia-fabricmanager after a reset of all GPUs, or reboot; if it recurs, replace the NVSwitch baseboard"), true
	}
	return in.gpuHit(line, fabric.Unknown, "", "reported SXid "+rest+", which is not fatal on its own",
		"nvidia-smi nvlink -e; look the number up in NVIDIA's Fabric Manager guide"), true
}

// gpuHit is about the GPU that a line names, else about the node.
func (in NodeInput) gpuHit(line string, status fabric.Status, cause fabric.CauseID, says, fix string) logHit {
	hit := logHit{subject: fabric.NodeSubject(in.Facts.Node), status: status, cause: cause}
	for i := range in.Facts.GPUs {
		slot, _, _ := strings.Cut(in.Facts.GPUs[i].PCI, ".") // Xid leaves the function out
		if slot != "" && strings.Contains(line, slot) {
			hit.subject = in.gpuSubject(in.Facts.GPUs[i].PCI)
			break
		}
	}
	hit.why = "The GPU " + hit.subject.String() + " " + says + "."
	if hit.subject.Kind == "node" {
		hit.why = "A GPU or NVSwitch of " + in.Facts.Node + " " + says + "."
	}
	if status == fabric.Fail {
		hit.cost = "jobs on this node fail, or wait for the GPU"
	}
	if fix != "" {
		hit.fix = onNode(fix, in.Facts.Node)
	}
	return hit
}

func kernelLogNIC() Rule {
	return Rule{
		ID:        "kernel-log-nic",
		Title:     "No NIC reported a fault",
		Doc:       "searches the kernel log for fabric NICs whose firmware stopped, whose queues hung, whose cable or module failed, or whose RoCE traffic classes could not be set",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "kernel source, drivers/net/ethernet/mellanox/mlx5 and broadcom/bnxt; NVIDIA NVSentinel and leptonai gpud; Broadcom RoCE guide 2.6 no. 14 and 5.1 no. 5",
		Facts:     []string{fabric.FactKernelLog},
		Scope:     []Condition{withHardware()},
		Node:      judgeKernelLogNIC,
	}
}

// nicMessage is a message of a NIC driver and its meaning.
type nicMessage struct {
	text  string
	cause fabric.CauseID // empty: device-fault
	says  string
	fix   string
}

func nicMessages() []nicMessage {
	const reset = "update its firmware, power-cycle the node; if it recurs, replace the card"
	const cable = "clean and reseat cable and module, check its temperature (ethtool -m), then replace it"
	const dcbx = "niccli nvm --setoption dcbx_mode --value 0, the same for lldp_nearest_bridge and lldp_nearest_non_tpmr_bridge, then reboot"
	return []nicMessage{
		{"health compromised", "", "its firmware does not respond", reset},
		{"unrecoverable hardware error", "", "it has an unrecoverable error", reset},
		{"Will cause a leak of a command resource", "", "its firmware does not respond commands", reset},
		{"Firmware not responding", "", "its firmware does not respond", reset},
		{"Firmware fatal", "", "its firmware failed and was reset", reset},
		{"Firmware Fatal", "", "its firmware failed and was reset", reset},
		{"NETDEV WATCHDOG", "", "a transmit queue hung", reset},
		{"Port module event[error]", fabric.CauseSlowLink, "its cable or module failed", cable},
		{"Fail to setets", fabric.CauseFirmwareDCBX, "the driver could not set its RoCE traffic classes: the firmware's DCBX or LLDP controls them", dcbx},
		{"Fail to initialize Flow control", fabric.CauseFirmwareDCBX, "the driver could not set its RoCE traffic classes: the firmware's DCBX or LLDP controls them", dcbx},
	}
}

func judgeKernelLogNIC(in NodeInput) []Verdict {
	texts := nicMessages()
	return in.judgeLog("no failure of firmware, queue, cable or class", func(line string) (logHit, bool) {
		i := slices.IndexFunc(texts, func(t nicMessage) bool { return strings.Contains(line, t.text) })
		if i < 0 {
			return logHit{}, false
		}
		subject, ours := in.nicIn(line)
		if !ours || texts[i].cause == fabric.CauseFirmwareDCBX && in.judgesClasses(subject) {
			return logHit{}, false
		}
		cost := "jobs that use this NIC fail, or wait for it"
		if texts[i].cause == fabric.CauseFirmwareDCBX {
			cost = "RoCE uses a traffic class that may drop packets"
		}
		return logHit{
			subject: subject, status: fabric.Fail, cause: texts[i].cause, cost: cost,
			why: "The NIC driver reported for " + subject.String() + ": " + texts[i].says + ".",
			fix: onNode(texts[i].fix, in.Facts.Node),
		}, true
	})
}

// judgesClasses reports whether nic-classes judges what a NIC has now: the log may be of a time before somebody set it.
func (in NodeInput) judgesClasses(s fabric.Subject) bool {
	n, ok := in.nic(s.NIC)
	return ok && in.Plan != nil && in.Plan.Traffic != nil && n.QoS != nil && n.QoS.Trust != ""
}

// nicIn finds the fabric NIC of a line by interface, RDMA device or PCI function. A line of another NIC is
// not ours; one that names no known device is the node's.
func (in NodeInput) nicIn(line string) (s fabric.Subject, ours bool) {
	named := false
	for word := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(" ,()", r) }) {
		word = strings.TrimSuffix(word, ":")
		for i := range in.Facts.NICs {
			n := &in.Facts.NICs[i]
			if word != n.Name && (n.PCI == "" || word != n.PCI) {
				continue
			}
			named = true
			if slices.Contains(in.view.nics, n.Name) {
				return fabric.NICSubject(in.Facts.Node, n.Name), true
			}
		}
		for _, p := range in.view.ports {
			if word == p.hca.Name || word == p.hca.PCI {
				if len(p.on) > 0 {
					return p.on[0], true
				}
				return p.subject, true
			}
		}
		_, other := in.view.pci[word]
		named = named || other
	}
	return fabric.NodeSubject(in.Facts.Node), !named
}
