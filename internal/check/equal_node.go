package check

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const skewCost = "none directly, but differences between nodes hide the cause of other faults"

func kernelEqual() Rule {
	return Rule{
		ID:        "kernel-equal",
		Title:     "All nodes run the same kernel",
		Doc:       "compares the kernel release of all nodes: peer memory, dma-buf and drivers differ from kernel to kernel",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "ROCm CVS, imbue and NVIDIA aicr, kernel version",
		Facts:     []string{fabric.FactKernelRelease},
		Scope:     []Condition{withOwnHardware(), withPeers()},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "kernel", of: "nodes", source: "uname -r", cost: skewCost,
				members: in.nodeMembers(false, func(d *Digest) trait { return d.Kernel }),
				fix: func(s fabric.Subject, want string) string {
					return onNode("install kernel "+want+" and its headers, rebuild the drivers (dkms autoinstall), reboot", s.Node)
				},
			}.judge()
		},
	}
}

func driverEqual() Rule {
	return Rule{
		ID:        "driver-equal",
		Title:     "All nodes load the same version of each NIC driver",
		Doc:       "compares the versions of the loaded NIC and RDMA modules of all nodes, module by module; gpu-driver-equal compares GPU drivers",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "Broadcom RoCE guide 2.6 no. 1 (the correct version); imbue and ROCm CVS, driver version",
		Facts:     []string{fabric.FactModules, fabric.FactModuleVersion, fabric.FactNICDriverVersion},
		Scope:     []Condition{withOwnHardware(), withPeers(), withRDMA()},
		Cluster:   judgeDriverEqual,
	}
}

func judgeDriverEqual(in ClusterInput) []Verdict {
	q := equality{
		what: "driver version", of: "nodes", source: "/sys/module/*/version, ethtool -i", cost: skewCost,
		fix: func(s fabric.Subject, want string) string {
			return onNode("install the driver in version "+want+", update-initramfs -u, reboot", s.Node)
		},
	}
	reported := map[string]bool{} // drivers that report a version on some node
	in.eachNode(func(d *Digest) {
		for line := range strings.SplitSeq(d.Drivers.value, "\n") {
			if name, version, _ := strings.Cut(line, " "); version != noVersion {
				reported[name] = true
			}
		}
	})
	in.eachNode(func(d *Digest) {
		node := fabric.NodeSubject(d.Node)
		if d.Drivers.why != "" {
			q.members = append(q.members, member{subject: node, trait: d.Drivers})
			return
		}
		for line := range strings.SplitSeq(d.Drivers.value, "\n") {
			name, version, _ := strings.Cut(line, " ")
			if name == "amdgpu" || name == "nvidia" {
				continue // gpu-driver-equal reports it
			}
			if version == noVersion {
				if reported[name] {
					q.members = append(q.members, member{subject: node, kind: name, trait: trait{why: "version of " + name + " was not read"}})
				}
				continue
			}
			q.members = append(q.members, member{subject: node, kind: name, trait: trait{value: version}})
		}
	})
	return q.judge()
}

func gpuDriverEqual() Rule {
	return Rule{
		ID:        "gpu-driver-equal",
		Title:     "All nodes have the same GPU driver version",
		Doc:       "compares the GPU driver version of all nodes; Fabric Manager must be of the same version as the driver",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "VMware Cloud Foundation guide table 3 and 9.4; imbue and Meta gcm, driver equal",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUDriverVersion},
		Scope:     []Condition{withOwnHardware(), withPeers(), withGPU()},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "GPU driver", of: "nodes", source: "nvidia-smi, amd-smi, /sys/module", cost: skewCost,
				members: in.nodeMembers(true, func(d *Digest) trait { return d.GPUDriver }),
				fix: func(s fabric.Subject, want string) string {
					return onNode("install GPU driver "+want+", with NVSwitches Fabric Manager of the same version, reboot", s.Node)
				},
			}.judge()
		},
	}
}

func gpuFirmwareEqual() Rule {
	return Rule{
		ID:        "gpu-firmware-equal",
		Title:     "GPUs of the same kind have the same VBIOS",
		Doc:       "compares the VBIOS of the GPUs of all nodes: it sets clocks and power limits",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "Meta gcm, imbue and Infera, VBIOS and GPU firmware equal",
		Facts:     []string{fabric.FactGPUs, fabric.FactGPUVBIOS},
		Scope:     []Condition{withOwnHardware(), withPeers(), withGPU()},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "VBIOS", of: "nodes", source: "nvidia-smi, amd-smi", cost: skewCost,
				members: in.nodeMembers(true, func(d *Digest) trait { return d.VBIOS }),
				fix: func(s fabric.Subject, want string) string {
					return onNode("update the GPU baseboard's firmware bundle until nvidia-smi -q shows "+want, s.Node)
				},
			}.judge()
		},
	}
}

func biosEqual() Rule {
	return Rule{
		ID:        "bios-equal",
		Title:     "Machines of the same kind have the same BIOS version",
		Doc:       "compares the BIOS version of machines of one product: it sets PCIe, NUMA, ACS and memory interleaving",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseVersionSkew,
		Reference: "VMware Cloud Foundation guide 7 (BIOS at the latest version); ROCm CVS, BIOS version uniform",
		Facts:     []string{fabric.FactMachineBIOS},
		Scope:     []Condition{withOwnHardware(), withPeers()},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "BIOS", of: "nodes", source: "/sys/class/dmi/id/bios_version", cost: skewCost,
				members: in.nodeMembers(true, func(d *Digest) trait { return d.BIOS }),
				fix: func(s fabric.Subject, want string) string {
					return onNode("update the BIOS to "+want+", then compare its settings with a peer's, reboot", s.Node)
				},
			}.judge()
		},
	}
}

func cpuEqual() Rule {
	return Rule{
		ID:        "cpu-equal",
		Title:     "Machines of the same kind have the same processors",
		Doc:       "compares model and number of the online CPUs of machines of one product",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseSlowNode,
		Reference: "Azure node health checks, check_hw_cpuinfo; Meta gcm, socket and core count",
		Facts:     []string{fabric.FactMachineCPUModel, fabric.FactMachineCPUsOnline},
		Scope:     []Condition{withOwnHardware(), withPeers()},
		DependsOn: []string{"cpus-online"},
		Cluster: func(in ClusterInput) []Verdict {
			return equality{
				what: "processors", of: "nodes", source: "/proc/cpuinfo, /sys/devices/system/cpu/online",
				cost:    "every collective waits for the slowest node",
				members: in.nodeMembers(true, func(d *Digest) trait { return d.CPUs }),
				fix: func(s fabric.Subject, _ string) string {
					return onNode("lscpu; compare multithreading and core settings of the BIOS with a peer's", s.Node)
				},
			}.judge()
		},
	}
}

func memoryEqual() Rule {
	return Rule{
		ID:        "memory-equal",
		Title:     "No machine has lost memory",
		Doc:       "compares the memory of machines of one product with the largest of them: more than 5 % less means that the firmware disabled a module",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseSlowNode,
		Reference: "Azure node health checks, physical memory within 3 to 7 %; Broadcom RoCE guide 2.3.3",
		Facts:     []string{fabric.FactMachineMemory},
		Scope:     []Condition{withOwnHardware(), withPeers()},
		Cluster: func(in ClusterInput) []Verdict {
			return fewest{
				what: "KiB of memory", source: "/proc/meminfo, MemTotal", slack: 0.05,
				count: func(d *Digest) *int { return d.MemoryKiB },
				cost: func(have, want int) string {
					return fmt.Sprintf("%.0f GiB less, and fewer memory channels in use", float64(want-have)/(1<<20))
				},
				fix: "dmidecode -t memory | grep -e Size -e Locator; dmesg | grep -i -e edac -e mce; reseat or change the module",
			}.judge(in)
		},
	}
}

func hcaCount() Rule {
	return Rule{
		ID:        "hca-count",
		Title:     "No machine has fewer RDMA devices than its peers",
		Doc:       "compares the number of RDMA devices of machines of one product; with a cluster file each planned NIC is looked for by name",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLinkDown,
		Reference: "NVIDIA NVSentinel, fewer ports than the peers; Meta gcm, HCA count",
		Facts:     []string{fabric.FactHCAs},
		Scope:     []Condition{withoutPlan("nic-present and nic-rdma look for each planned NIC"), withOwnHardware(), withPeers(), withRDMA()},
		DependsOn: []string{"spark-cable"},
		Cluster: func(in ClusterInput) []Verdict {
			return fewest{
				what: "RDMA devices", source: "/sys/class/infiniband",
				count: func(d *Digest) *int { return d.HCAs },
				cost: func(have, want int) string {
					return fmt.Sprintf("%d/%d of the node's bandwidth", want-have, want)
				},
				fix: "lspci -nn -d ::0207; lspci -nn -d ::0200; dmesg | grep -i -e mlx5 -e bnxt -e ionic",
			}.judge(in)
		},
	}
}

func gpuCount() Rule {
	return Rule{
		ID:        "gpu-count",
		Title:     "No machine has fewer GPUs than its peers",
		Doc:       "compares the number of GPUs of machines of one product: a GPU that has fallen off the bus is no longer listed",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "all public health checks, GPU count; OCI HPC, GpuBus",
		Facts:     []string{fabric.FactGPUs, fabric.FactPCI},
		Scope:     []Condition{withOwnHardware(), withPeers(), withGPU()},
		DependsOn: []string{"gpu-planned"},
		Cluster: func(in ClusterInput) []Verdict {
			return fewest{
				what: "GPUs", source: "/sys/bus/pci/devices",
				count: func(d *Digest) *int { return d.GPUs },
				cost: func(have, want int) string {
					return fmt.Sprintf("%d of %d GPUs of the node, and of its share of every collective", want-have, want)
				},
				fix: "dmesg | grep -i -e Xid -e 'fallen off' -e pciehp; power the node off and on; if it stays away, change the GPU",
			}.judge(in)
		},
	}
}

// fewest is a cluster rule about nodes that have fewer of something than the best of their kind.
type fewest struct {
	what, source string
	slack        float64 // share by which healthy ones may differ
	count        func(*Digest) *int
	cost         func(have, want int) string
	fix          string
}

func (q fewest) judge(in ClusterInput) []Verdict {
	best, counted := map[string]int{}, map[string]int{}
	in.eachNode(func(d *Digest) {
		if n := q.count(d); n != nil {
			best[d.Machine] = max(best[d.Machine], *n)
			counted[d.Machine]++
		}
	})
	var out []Verdict
	total := 0
	in.eachNode(func(d *Digest) {
		n, want := q.count(d), best[d.Machine]
		node := fabric.NodeSubject(d.Node)
		switch {
		case n == nil:
			out = append(out, unknown(node, q.what+" of "+d.Node+" were not counted"))
		case float64(*n) < float64(want)*(1-q.slack):
			out = append(out, Verdict{
				Status: fabric.Fail, Subject: node, Expected: strconv.Itoa(want),
				Evidence: []fabric.Evidence{saw(q.source, strconv.Itoa(*n))},
				Why:      fmt.Sprintf("%s has %d %s, the best of its %d peers%s has %d.", d.Node, *n, q.what, counted[d.Machine]-1, ofKind(d.Machine), want),
				Cost:     q.cost(*n, want), Fix: onNode(q.fix, d.Node),
			})
		case counted[d.Machine] > 1:
			total++
		}
	})
	switch {
	case len(out) > 0:
		return out
	case total == 0:
		return []Verdict{unknown(fabric.ClusterSubject(), "nothing to compare: no two machines of the same kind were seen")}
	}
	v := pass("as many as the best of its kind", saw(q.source, strconv.Itoa(total)+" nodes"))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}
