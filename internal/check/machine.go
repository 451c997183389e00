package check

import (
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func cpusOnline() Rule {
	return Rule{
		ID:        "cpus-online",
		Title:     "All processors are online",
		Doc:       "compares online CPUs with present ones; half of them may be offline where the kernel says that it switched simultaneous multithreading off",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseSlowNode,
		Reference: "kernel documentation, admin-guide/cputopology; Azure node health checks, check_hw_cpuinfo",
		Facts:     []string{fabric.FactMachineCPUsOnline, fabric.FactMachineCPUsPresent, fabric.FactMachineSMT},
		Scope:     []Condition{withHardware()},
		Node:      judgeCPUsOnline,
	}
}

func judgeCPUsOnline(in NodeInput) []Verdict {
	m := in.Facts.Machine
	if m.CPUsOnline == nil || m.CPUsPresent == nil || *m.CPUsPresent <= 0 {
		return in.asNode(Verdict{Why: in.why("CPUs of "+in.Facts.Node+" were not counted", fabric.FactMachineCPUsOnline, fabric.FactMachineCPUsPresent)})
	}
	expected := strconv.Itoa(*m.CPUsPresent) + ", or half of them with multithreading switched off"
	seen := []fabric.Evidence{saw("/sys/devices/system/cpu/{online,present}", fmt.Sprintf("%d of %d", *m.CPUsOnline, *m.CPUsPresent))}
	if *m.CPUsOnline == *m.CPUsPresent {
		return in.asNode(pass(expected, seen...))
	}
	if 2**m.CPUsOnline == *m.CPUsPresent {
		if m.SMT == nil {
			return in.asNode(Verdict{Expected: expected, Evidence: seen,
				Why: in.why("half of the CPUs of "+in.Facts.Node+" are offline, and whether multithreading was switched off is unknown", fabric.FactMachineSMT)})
		}
		seen = append(seen, saw("/sys/devices/system/cpu/smt/control", *m.SMT))
		if *m.SMT == "off" || *m.SMT == "forceoff" {
			return in.asNode(pass(expected, seen...))
		}
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: seen,
		Why:  fmt.Sprintf("Of the %d CPUs of %s, %d are online.", *m.CPUsPresent, in.Facts.Node, *m.CPUsOnline),
		Cost: "ranks share processors, and every collective waits for the slowest of them",
		Fix:  onNode("grep -H . /sys/devices/system/cpu/cpu*/online; echo 1 into those that read 0; dmesg | grep -i -e mce -e microcode", in.Facts.Node),
	})
}

func cpuGovernor() Rule {
	return Rule{
		ID:        "cpu-governor",
		Title:     "Processors run at full clock",
		Doc:       "reads the CPU frequency governor: with any other than performance the clock follows the load, and NCCL's proxy threads start slow",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseSlowNode,
		Reference: "kernel documentation, admin-guide/pm/cpufreq, performance; Meta gcm and OCI HPC health checks",
		Facts:     []string{fabric.FactMachineGovernor},
		Scope:     []Condition{withHardware(), onHost()},
		Node:      judgeCPUGovernor,
	}
}

func judgeCPUGovernor(in NodeInput) []Verdict {
	const want = "performance, or none where the firmware sets the clock"
	g := in.Facts.Machine.Governor
	if g == nil || *g == "" {
		return in.asNode(Verdict{Why: in.why("CPU frequency governor of "+in.Facts.Node+" was not read", fabric.FactMachineGovernor)})
	}
	seen := saw("/sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", *g)
	if *g == "performance" || *g == "none" {
		return in.asNode(pass(want, seen))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
		Why:  "The CPU frequency governor of " + in.Facts.Node + " is " + *g + ", not performance.",
		Cost: "higher latency at small sizes, and jitter; the rate of large messages does not change",
		Fix:  onNode("cpupower frequency-set -g performance", in.Facts.Node) + ", until the next boot; tuned-adm profile hpc-compute keeps it",
	})
}

func swap() Rule {
	return Rule{
		ID:        "swap",
		Title:     "The node does not swap",
		Doc:       "looks for swap space: a rank with swapped-out pages stalls all others, and kubelet refuses such a node by default",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseSlowNode,
		Reference: "Azure node health checks and imbue, swap 0 kB; Kubernetes documentation, swap memory management",
		Facts:     []string{fabric.FactMachineSwap},
		Scope:     []Condition{withHardware()},
		Node:      judgeSwap,
	}
}

func judgeSwap(in NodeInput) []Verdict {
	kib := in.Facts.Machine.SwapKiB
	if kib == nil {
		return in.asNode(Verdict{Why: in.why("swap of "+in.Facts.Node+" was not read", fabric.FactMachineSwap)})
	}
	seen := saw("/proc/meminfo, SwapTotal", strconv.Itoa(*kib)+" KiB")
	if *kib == 0 {
		return in.asNode(pass("0 KiB", seen))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: "0 KiB", Evidence: []fabric.Evidence{seen},
		Why:  in.Facts.Node + " has " + strconv.Itoa(*kib) + " KiB of swap space, not 0.",
		Cost: "reading a page back from disk takes milliseconds, while all ranks wait",
		Fix:  onNode("swapoff -a", in.Facts.Node) + ", until the next boot; take the swap lines out of /etc/fstab",
	})
}

func memlock() Rule {
	return Rule{
		ID:        "memlock",
		Title:     "Memory can be locked for RDMA",
		Doc:       "reads the locked-memory limit of the collecting process: RDMA locks every buffer that it registers, and fails at the limit. Services and batch systems have their own limits",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMemlock,
		Reference: "getrlimit(2), RLIMIT_MEMLOCK; AMD instinct cluster networking guide (unlimited), Primus and Infera (at least 32 GiB)",
		Facts:     []string{fabric.FactMachineMemlockLimit},
		Scope:     []Condition{withHardware(), withRDMA()},
		Node:      judgeMemlock,
	}
}

// lockable in bytes is the least that public checks require besides unlimited: 32 GiB.
const lockable = 32 << 30

func judgeMemlock(in NodeInput) []Verdict {
	const want = "unlimited, or at least 34359738368 bytes"
	limit := in.Facts.Machine.MemlockLimit
	if limit == nil {
		return in.asNode(Verdict{Why: in.why("limit of locked memory of "+in.Facts.Node+" was not read", fabric.FactMachineMemlockLimit)})
	}
	seen := saw("/proc/self/limits, Max locked memory", *limit)
	if p := in.Facts.Pod; p != nil && p.LockMemory != nil && *p.LockMemory {
		return in.asNode(pass(want+"; or the capability IPC_LOCK", seen, saw("/proc/self/status, CapEff", "IPC_LOCK")))
	}
	n, err := strconv.ParseUint(*limit, 10, 64)
	switch {
	case *limit == "unlimited" || err == nil && n >= lockable:
		return in.asNode(pass(want, seen))
	case err != nil:
		return in.asNode(Verdict{Evidence: []fabric.Evidence{seen}, Why: "limit of locked memory of " + in.Facts.Node + " is neither a number nor unlimited"})
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
		Why:  "On " + in.Facts.Node + " a process may lock " + *limit + " bytes: RDMA cannot register more than that.",
		Cost: "ibv_reg_mr fails with ENOMEM; NCCL ends, or falls back",
		Fix: onNode("printf '* - memlock unlimited\\n' > /etc/security/limits.d/60-memlock.conf; log in again", in.Facts.Node) +
			"; services: LimitMEMLOCK=infinity; pods: securityContext.capabilities.add: [IPC_LOCK]",
	})
}
