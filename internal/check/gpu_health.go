package check

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const nvidiaQuery = "nvidia-smi -q"

func gpuAnswers() Rule {
	return Rule{
		ID:        "gpu-answers",
		Title:     "Each GPU answers its driver",
		Doc:       "reads what nvidia-smi prints of every GPU: one that is lost, that has no address for its memory, that shows ERR!, that needs a reset, or that is on the bus and not in its list cannot be used",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "NVML API reference, nvmlReturn_t and GPU recovery action; OCI HPC health checks, GPU fallen off the bus; Azure node health checks, return code of nvidia-smi",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUHealth},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA()},
		DependsOn: []string{"gpu-driver"},
		Node:      judgeGPUAnswers,
	}
}

// driverRefusals are what nvidia-smi prints where it gets no answer from the driver at all, with what is to be done.
func driverRefusals() map[string]string {
	return map[string]string{
		"Driver/library version mismatch":                                       "reboot, or stop all users of the GPUs, rmmod nvidia_uvm nvidia_drm nvidia_modeset nvidia && modprobe nvidia: the loaded module is of another version than the libraries",
		"couldn't communicate with the NVIDIA driver":                           "modprobe nvidia; dkms status; dmesg | grep NVRM",
		"Failed to initialize NVML: Driver Not Loaded":                          "modprobe nvidia; dkms status; dmesg | grep NVRM",
		"Failed to initialize NVML: Unknown Error":                              "ls -l /dev/nvidia*; in a container, start it anew: its access to the devices was taken away",
		"No devices were found":                                                 "dmesg | grep -e NVRM -e Xid; the driver could start none of the GPUs: reboot, then power the node off and on",
		"Failed to initialize NVML: GPU access blocked by the operating system": "ls -l /dev/nvidia*; dmesg | grep NVRM",
	}
}

func judgeGPUAnswers(in NodeInput) []Verdict {
	const want = "each GPU answers, and needs no recovery"
	if m, lost := in.missing(fabric.FactGPUHealth); lost {
		for says, fix := range driverRefusals() {
			if strings.Contains(m.Reason, says) {
				cause := fabric.CauseGPUDriver
				if strings.HasPrefix(says, "No devices") && in.spaceIsShort() {
					cause, fix = fabric.CauseMMIOSpace, in.roomForBARs()
				}
				return in.asNode(Verdict{
					Status: fabric.Fail, Cause: cause, Expected: want, Evidence: []fabric.Evidence{saw(m.Source, m.Reason)},
					Why:  "The NVIDIA driver of " + in.Facts.Node + " does not answer: " + m.Reason + ".",
					Cost: "no GPU of the node can be used", Fix: onNode(fix, in.Facts.Node),
				})
			}
		}
	}
	answered := 0
	for _, g := range in.Facts.GPUs {
		if g.Health != nil && g.Health.Fault == "" {
			answered++
		}
	}
	return in.eachNVIDIA(func(g *fabric.GPU, name string) Verdict {
		h := g.Health
		if v, short := in.withoutAddress(g, name, want); short {
			return v
		}
		_, cut := in.missing(fabric.FactGPUHealth)
		switch {
		case h == nil && answered > 0 && !cut && g.Driver == "nvidia" && in.Facts.Source != captured:
			return in.gpuFault(want, saw(nvidiaQuery, strconv.Itoa(answered)+" other GPUs, without "+name), name, "is on the PCI bus, and nvidia-smi does not list it")
		case h == nil:
			return Verdict{Why: in.healthWhy("whether GPU "+name+" answers is unknown", g)}
		case h.Fault != "":
			return in.gpuFault(want, saw("nvidia-smi", h.Fault), name, "does not answer: nvidia-smi prints \""+h.Fault+"\"")
		case h.Recovery != "" && h.Recovery != "None" && h.Recovery != notThere:
			return in.gpuFault(want, saw(nvidiaQuery+", GPU Recovery Action", h.Recovery), name, "needs a recovery: "+h.Recovery)
		}
		return pass(want, saw("nvidia-smi", orWord(h.Recovery, "its values, no error")))
	})
}

func (in NodeInput) gpuFault(want string, seen fabric.Evidence, name, says string) Verdict {
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen}, Why: "GPU " + name + " " + says + ".",
		Cost: "1 of " + strconv.Itoa(len(in.Facts.GPUs)) + " GPUs of the node cannot be used, and jobs on it fail or wait",
		Fix:  onNode("drain the node; dmesg | grep -e Xid -e NVRM; nvidia-smi --gpu-reset or reboot, if it is gone from the bus power the node off and on; if it recurs, replace the GPU", in.Facts.Node),
	}
}

// captured is the source of facts that are outputs of tools: a part of what the host has.
const captured = "captured"

// notThere is how nvidia-smi writes that a GPU does not have something.
const notThere = "N/A"

// healthWhy returns why something of a GPU's own account is unknown.
func (in NodeInput) healthWhy(unknown string, g *fabric.GPU) string {
	return in.why(unknown, fabric.FactGPUHealth+" "+g.PCI, fabric.FactGPUHealth)
}

func gpuMemory() Rule {
	return Rule{
		ID:        "gpu-memory",
		Title:     "No GPU has memory errors that need a repair",
		Doc:       "reads uncorrectable errors since the driver was loaded, rows and pages that wait to be replaced, and repairs that failed: such a GPU ends jobs, or computes with wrong numbers",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "NVIDIA GPU memory error management; Meta gcm and OCI HPC health checks (ECC, row remap, retired pages); kernel documentation, gpu/amdgpu/ras",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUHealth},
		Scope:     []Condition{withHardware(), withGPU()},
		DependsOn: []string{"gpu-driver", "gpu-answers"},
		Node:      judgeGPUMemory,
	}
}

func judgeGPUMemory(in NodeInput) []Verdict {
	const want = "0 uncorrected errors, no repair pending or failed"
	return in.eachGPU(func(g *fabric.GPU) Verdict {
		h, name := g.Health, in.gpuName(g)
		if h == nil {
			return Verdict{Why: in.healthWhy("errors of the memory of GPU "+name+" were not read", g)}
		}
		source := nvidiaQuery
		if g.Vendor == "amd" {
			source = "/sys/bus/pci/devices/" + g.PCI + "/ras"
		}
		if found, replace := memoryFaults(h); len(found) > 0 {
			fix := "drain the node, nvidia-smi --gpu-reset or reboot, then read it again; if it recurs, replace the GPU"
			if replace {
				fix = "drain the node and replace the GPU: a reset does not repair this"
			}
			return Verdict{
				Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw(source, strings.Join(found, ", "))},
				Why:  "The memory of GPU " + name + " has " + strings.Join(found, ", ") + ".",
				Cost: "jobs on it end with an error (Xid 48, 94, 95), or compute with wrong numbers",
				Fix:  onNode(fix, in.Facts.Node),
			}
		}
		switch {
		case h.ECC == notThere:
			return Verdict{Status: fabric.NotApplicable, Why: "GPU " + name + " has no ECC (" + source + ": N/A)"}
		case h.ECC == "Disabled":
			return Verdict{Why: "ECC of GPU " + name + " is off, so that errors of its memory are not seen: nvidia-smi -e 1, then reset it", Evidence: []fabric.Evidence{saw(source, "ECC Mode Disabled")}}
		case h.Uncorrected == nil:
			return Verdict{Why: in.healthWhy("uncorrected errors of GPU "+name+" were not read", g)}
		case g.Vendor != "amd" && (h.RemapPending == nil || h.RemapFailed == nil) && h.RetirePending == nil:
			return Verdict{Why: in.healthWhy("whether rows or pages of GPU "+name+" wait for a repair was not read", g)}
		}
		return pass(want, saw(source, "0 uncorrected errors, nothing pending"))
	})
}

// memoryFaults lists what is wrong with the memory of a GPU; replace is true where no reset repairs it.
func memoryFaults(h *fabric.GPUHealth) (found []string, replace bool) {
	is := func(b *bool) bool { return b != nil && *b }
	if h.Uncorrected != nil && *h.Uncorrected > 0 {
		found = append(found, strconv.FormatUint(*h.Uncorrected, 10)+" uncorrected errors since the driver was loaded")
	}
	for _, f := range []struct {
		on      *bool
		says    string
		replace bool
	}{
		{h.RemapPending, "a row remap pending", false}, {h.RetirePending, "a page retirement pending", false}, {h.RepairPending, "a repair pending", false},
		{h.RemapFailed, "a row remap that failed", true}, {h.Unrepairable, "parts that cannot be repaired", true},
		{h.SRAMOverLimits, "SRAM errors over the vendor's limit", true},
	} {
		if is(f.on) {
			found = append(found, f.says)
			replace = replace || f.replace
		}
	}
	return found, replace
}

func gpuThrottle() Rule {
	return Rule{
		ID:        "gpu-throttle",
		Title:     "No GPU is slowed by heat or by its power supply",
		Doc:       "reads what lowers the clocks of each GPU now: heat, a power brake and the hardware's slowdown are faults; a power cap under load, idleness and clocks that were set are not",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseGPUThrottled,
		Reference: "NVML API reference, nvmlClocksEventReasons; Azure node health checks (0x8, 0x20, 0x40, 0x80)",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUHealth},
		Scope:     []Condition{withHardware(), withGPU(), withNVIDIA()},
		DependsOn: []string{"gpu-driver", "gpu-answers"},
		Node:      judgeGPUThrottle,
	}
}

func judgeGPUThrottle(in NodeInput) []Verdict {
	const want = "no slowdown by hardware or heat"
	return in.eachNVIDIA(func(g *fabric.GPU, name string) Verdict {
		if g.Health == nil || g.Health.Throttle == nil {
			return Verdict{Why: in.healthWhy("what lowers the clocks of GPU "+name+" was not read", g)}
		}
		seen := saw(nvidiaQuery+", clocks event reasons", orWord(*g.Health.Throttle, "none active"))
		reasons := g.Health.Throttled()
		if len(reasons) == 0 {
			return pass(want, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
			Why:  "The clocks of GPU " + name + " are lowered by " + strings.Join(reasons, ", ") + ".",
			Cost: "the hardware's slowdown halves the clocks at least; every collective waits for the slowest GPU",
			Fix:  onNode(throttleFix(reasons), in.Facts.Node),
		}
	})
}

func throttleFix(reasons []string) string {
	for _, r := range reasons {
		if r == fabric.ThrottlePowerBrake {
			return "check the power supplies and their redundancy (ipmitool sdr type 'Power Supply'), and the power limit that the BMC sets"
		}
	}
	return "nvidia-smi -q -d TEMPERATURE,PERFORMANCE; check fans, inlet temperature, blanking panels and heat sink; without heat, the power supplies"
}
