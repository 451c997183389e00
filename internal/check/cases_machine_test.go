package check

import "railwright.dev/railwright/internal/fabric"

func machineCases() []oneCase {
	cpus := func(online, present int) func(*world) {
		return onMachine(func(m *fabric.Machine) { m.CPUsOnline, m.CPUsPresent = ref(online), ref(present) })
	}
	limit := func(text string) func(*world) {
		return onMachine(func(m *fabric.Machine) { m.MemlockLimit = ref(text) })
	}
	return []oneCase{
		{"cpus-online", "all", "host1", isPass, "", asPlanned},
		{"cpus-online", "no multithreading", "host1", isPass, "", cpus(96, 192)},
		{"cpus-online", "some off", "host1", isFail, "Of the 192 CPUs of host1, 190 are online", cpus(190, 192)},
		{"cpus-online", "not counted", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.CPUsOnline = nil }), gone("machine.cpus_online"))},
		{"cpus-online", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"network-owner", "networkd", "host1", isPass, "", asPlanned},
		{"network-owner", "NetworkManager", "host1", isFail, "NetworkManager configures the network of host1", onMachine(func(m *fabric.Machine) { m.NetworkManager = ref("NetworkManager") })},
		{"network-owner", "unread", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.NetworkManager = nil }), gone("machine.network_owner"))},
		{"network-owner", "neither", "host1", isUnknown, "neither networkd nor NetworkManager", onMachine(func(m *fabric.Machine) { m.NetworkManager = nil })},
		{"network-owner", "no plan", "host1", isNA, "needs a cluster file", noPlan},
		{"cpu-governor", "performance", "host1", isPass, "", asPlanned},
		{"cpu-governor", "powersave", "host1", isFail, "is powersave, not performance", onMachine(func(m *fabric.Machine) { m.Governor = ref("powersave") })},
		{"cpu-governor", "mixed", "host1", isFail, "is mixed", onMachine(func(m *fabric.Machine) { m.Governor = ref("mixed") })},
		{"cpu-governor", "none", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.Governor = nil }), gone("machine.governor"))},
		{"cpu-governor", "guest", "host1", isNA, "the hypervisor owns", inVM},

		{"swap", "none", "host1", isPass, "", asPlanned},
		{"swap", "some", "host1", isFail, "has 8388604 KiB of swap space", onMachine(func(m *fabric.Machine) { m.SwapKiB = ref(8388604) })},
		{"swap", "not read", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.SwapKiB = nil }), gone("machine.swap_kib"))},
		{"swap", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"memlock", "unlimited", "host1", isPass, "", asPlanned},
		{"memlock", "32 GiB", "host1", isPass, "", limit("34359738368")},
		{"memlock", "8 MiB", "host1", isFail, "may lock 8388608 bytes", limit("8388608")},
		{"memlock", "garbage", "host1", isUnknown, "neither a number", limit("much")},
		{"memlock", "not read", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.MemlockLimit = nil }), gone("machine.memlock_limit"))},
		{"memlock", "no RDMA", "host1", isNA, "has no RDMA device", bare},

		{"disagreement", "none", "host1", isPass, "", asPlanned},
		{"disagreement", "two firmwares", "host1", isUnknown, `hcas.firmware bnxt_re2 is "231" (sysfs) or "232" (ibstat)`, func(w *world) {
			w.host1().Disagree = []fabric.Disagreement{{What: "hcas.firmware bnxt_re2", Said: []fabric.Evidence{{Source: "sysfs", Value: "231"}, {Source: "ibstat", Value: "232"}}}}
		}},
		{"disagreement", "nothing read", "host1", isUnknown, "nothing was read", func(w *world) { w.nodes[0] = &fabric.Facts{Node: "host1", Source: "live"} }},
	}
}

func logCases() []oneCase {
	const nic = "host1:" + rail3NIC
	limited := logged("bnxt_en " + rail3NIC + ": 252.048 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x16 link at " + rail3Down +
		" (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)")
	slow := func(w *world) {
		for _, a := range []string{rail3NIC, rail3Down} {
			pciOf(w.host1(), a).Link.Speed = 16
		}
	}
	upstream := logged("bnxt_en " + rail3NIC + ": 252.048 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at " + rail3Root +
		" (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)")
	xid := func(text string) func(*world) { return logged("NVRM: Xid (PCI:0000:34:00): " + text) }
	return []oneCase{
		{"kernel-log-pcie", "full", "host1", isPass, "", asPlanned},
		{"kernel-log-pcie", "slow slot", nic, isFail, "31.5 GB/s each way at most", limited},
		{"kernel-log-pcie", "another device", "host1", isPass, "", logged("nvme 0000:05:00.0: 2.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x1 link at 0000:00:01.0 (capable of 31.504 Gb/s with 8.0 GT/s PCIe x4 link)")},
		{"kernel-log-pcie", "silent behind its own link", nic, isUnknown, "pcie-link fails on " + nic, both(limited, slow)},
		{"kernel-log-pcie", "silent behind the switch's link", nic, isUnknown, "pcie-link fails on host1:" + rail3Up, both(upstream, func(w *world) {
			for _, a := range []string{rail3Up, rail3Root} {
				pciOf(w.host1(), a).Link.Width = 8
			}
		})},
		{"kernel-log-pcie", "log cut", "host1", isUnknown, "an earlier line", logCut},
		{"kernel-log-pcie", "log not read", "host1", isUnknown, "permission denied", logUnread},
		{"kernel-log-pcie", "guest", "host1", isNA, "the hypervisor owns", inVM},

		{"kernel-log-aer", "none", "host1", isPass, "", asPlanned},
		{"kernel-log-aer", "corrected", "host1", isPass, "", logged("pcieport " + rail3Down + ": PCIe Bus Error: severity=Corrected, type=Physical Layer, (Receiver ID)")},
		{"kernel-log-aer", "fatal", "host1:" + rail3Down, isFail, "uncorrected PCIe error on host1:" + rail3Down, logged("pcieport " + rail3Down + ": PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Requester ID)")},
		{"kernel-log-aer", "of a device that is not listed", "host1", isFail, "", logged("nvme 0000:05:00.0: AER: PCIe Bus Error: severity=Uncorrected (Non-Fatal), type=Transaction Layer, (Requester ID)")},
		{"kernel-log-aer", "log not read", "host1", isUnknown, "permission denied", logUnread},
		{"kernel-log-aer", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"kernel-log-gpu", "none", "host1", isPass, "", asPlanned},
		{"kernel-log-gpu", "off the bus", onGPU3, isFail, "reported Xid 79: the GPU has fallen off the bus", xid("79, pid=1234, GPU has fallen off the bus.")},
		{"kernel-log-gpu", "an application's", "host1", isPass, "", xid("31, pid=79749, name=exe, Ch 0000000a, intr 00000000. MMU Fault")},
		{"kernel-log-gpu", "recovery over", "host1", isPass, "", xid("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")},
		{"kernel-log-gpu", "recovery asked for", onGPU3, isFail, "requests a recovery", xid("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")},
		{"kernel-log-gpu", "in no list", onGPU3, isUnknown, "reported Xid 999", xid("999, something new")},
		{"kernel-log-gpu", "number cut off", onGPU3, isUnknown, "could not be read", xid("garbled")},
		{"kernel-log-gpu", "the worse of two", onGPU3, isFail, "Xid 48", both(xid("999, something new"), xid("48, pid=1, DBE (double bit error) ECC Error"))},
		{"kernel-log-gpu", "NVSwitch, fatal", "host1", isFail, "reported SXid 23001, Fatal", logged("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 23001, Fatal, Link 12 Always Fatal")},
		{"kernel-log-gpu", "NVSwitch, not fatal", "host1", isUnknown, "not fatal on its own", logged("nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): 20009, Non-fatal, Link 28 RX Short Error Rate")},
		{"kernel-log-gpu", "AMD reset", onGPU3, isFail, "was reset", logged("amdgpu " + rail3GPU + ": amdgpu: GPU reset begin!")},
		{"kernel-log-gpu", "off the bus without an Xid", "host1", isFail, "has fallen off the bus", logged("NVRM: GPU 0000:99:00.0: GPU has fallen off the bus.")},
		{"kernel-log-gpu", "driver could not start", "host1", isFail, "could not be initialized by its driver", logged("NVRM: GPU 0000:99:00.0: RmInitAdapter failed! (0x62:0x40:2477)")},
		{"kernel-log-gpu", "log not read", "host1", isUnknown, "permission denied", logUnread},
		{"kernel-log-gpu", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"kernel-log-nic", "none", "host1", isPass, "", asPlanned},
		{"kernel-log-nic", "firmware stopped", onEth3, isFail, "its firmware does not respond", logged("mlx5_core " + rail3NIC + ": poll_health:825:(pid 0): device's health compromised - reached miss count")},
		{"kernel-log-nic", "queue hung", onEth3, isFail, "a transmit queue hung", logged("NETDEV WATCHDOG: eth3 (bnxt_en): transmit queue 5 timed out 5021 ms")},
		{"kernel-log-nic", "a NIC outside the fabric", "host1", isPass, "", logged("NETDEV WATCHDOG: lo (igb): transmit queue 5 timed out")},
		{"kernel-log-nic", "cable", onEth3, isFail, "its cable or module failed", logged("mlx5_core " + rail3NIC + ": Port module event[error]: module 0, Cable error, High Temperature")},
		{"kernel-log-nic", "firmware holds the classes", onEth3, isFail, "could not set its RoCE traffic classes", logged("infiniband bnxt_re2: Fail to setets rc:-22", "infiniband bnxt_re2: Fail to initialize Flow control")},
		{"kernel-log-nic", "nobody named", "host1", isFail, "firmware failed", logged("bnxt_en: Firmware fatal reset event received")},
		{"kernel-log-nic", "log cut", "host1", isUnknown, "an earlier line", logCut},
		{"kernel-log-nic", "lab", "host1", isNA, "no hardware of its own", inLab},
	}
}
