package check

import (
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func numaBalancing() Rule {
	return Rule{
		ID:        "numa-balancing",
		Title:     "NUMA balancing is off",
		Doc:       "reads kernel.numa_balancing: the kernel unmaps pages to find out which node uses them, and each page fault stalls a collective",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNumaBalancing,
		Reference: "Broadcom RoCE guide 2.6 no. 15; kernel documentation, admin-guide/sysctl/kernel, numa_balancing",
		Facts:     []string{fabric.FactSysctls + ".kernel.numa_balancing"},
		Scope:     []Condition{withHardware()},
		Node:      judgeNUMABalancing,
	}
}

func judgeNUMABalancing(in NodeInput) []Verdict {
	const key, path = "kernel.numa_balancing", "/proc/sys/kernel/numa_balancing"
	node := fabric.NodeSubject(in.Facts.Node)
	text, read := in.Facts.Sysctls[key]
	value, err := strconv.Atoi(text)
	if !read || err != nil || value < 0 {
		return []Verdict{unknown(node, in.why(key+" of "+in.Facts.Node+" was not read", fabric.FactSysctls+"."+key), saw(path, text))}
	}
	v := pass("0", saw(path, text))
	if value != 0 {
		v.Status = fabric.Fail
		v.Why = key + " of " + in.Facts.Node + " is " + text + ", not 0."
		v.Cost = "jitter, and single message sizes far below their neighbours; not a constant loss"
		v.Fix = in.untilBoot("sysctl -w " + key + "=0")
	}
	v.Subject = node
	return []Verdict{v}
}
