package check

import "railwright.dev/railwright/internal/fabric"

func machineCases() []oneCase {
	cpus := func(online, present int) func(*world) {
		return onMachine(func(m *fabric.Machine) { m.CPUsOnline, m.CPUsPresent = ref(online), ref(present) })
	}
	smt := func(text string) func(*world) { return onMachine(func(m *fabric.Machine) { m.SMT = ref(text) }) }
	limit := func(text string) func(*world) {
		return onMachine(func(m *fabric.Machine) { m.MemlockLimit = ref(text) })
	}
	unit := func(u fabric.ACSUnit) func(*world) {
		return func(w *world) {
			for _, f := range w.nodes {
				f.Machine.ACSUnit = &u
			}
		}
	}
	managed := func(service, owner string) func(*world) {
		return func(w *world) {
			for i := range w.plan.Nodes {
				w.plan.Nodes[i].Network = fabric.ByNetworkManager
			}
			w.host1().Machine.NetworkManager = ref(service)
			for i := range w.host1().NICs {
				w.host1().NICs[i].Owner = ref(owner)
			}
		}
	}
	return []oneCase{
		{"cpus-online", "all", "host1", isPass, "", asPlanned},
		{"cpus-online", "multithreading off", "host1", isPass, "", both(cpus(96, 192), smt("off"))},
		{"cpus-online", "multithreading off for good", "host1", isPass, "", both(cpus(96, 192), smt("forceoff"))},
		{"cpus-online", "half off with multithreading on", "host1", isFail, "Of the 192 CPUs of host1, 96 are online", cpus(96, 192)},
		{"cpus-online", "half off without multithreading", "host1", isFail, "96 are online", both(cpus(96, 192), smt("notsupported"))},
		{"cpus-online", "half off, multithreading not read", "host1", isUnknown, "permission denied", both(cpus(96, 192),
			onMachine(func(m *fabric.Machine) { m.SMT = nil }), gone("machine.smt"))},
		{"cpus-online", "some off", "host1", isFail, "Of the 192 CPUs of host1, 190 are online", cpus(190, 192)},
		{"cpus-online", "not counted", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.CPUsOnline = nil }), gone("machine.cpus_online"))},
		{"cpus-online", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"network-owner", "networkd", "host1", isPass, "", asPlanned},
		{"network-owner", "NetworkManager", "host1", isFail, "NetworkManager configures the network of host1", onMachine(func(m *fabric.Machine) { m.NetworkManager = ref("NetworkManager") })},
		{"network-owner", "unread", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.NetworkManager = nil }), gone("machine.network_owner"))},
		{"network-owner", "neither", "host1", isUnknown, "no service that configures interfaces", onMachine(func(m *fabric.Machine) { m.NetworkManager = nil })},
		{"network-owner", "both run, networkd configures", "host1", isPass, "", onMachine(func(m *fabric.Machine) { m.NetworkManager = ref("networkd, NetworkManager") })},
		{"network-owner", "both configure a NIC", "host1", isFail, "eth3 of host1 should be configured by networkd alone, not by networkd, NetworkManager", both(
			onMachine(func(m *fabric.Machine) { m.NetworkManager = ref("networkd, NetworkManager") }), onNIC(func(n *fabric.NIC) { n.Owner = ref("networkd, NetworkManager") }))},
		{"network-owner", "nothing configures a NIC", "host1", isFail, "not by none", onNIC(func(n *fabric.NIC) { n.Owner = ref(fabric.NoOwner) })},
		{"network-owner", "both run, NIC not read", "host1", isUnknown, "which of them configures eth3 was not read", both(
			onMachine(func(m *fabric.Machine) { m.NetworkManager = ref("networkd, NetworkManager") }), onNIC(func(n *fabric.NIC) { n.Owner = nil }))},
		{"network-owner", "wicked", "host1", isFail, "wicked configures", onMachine(func(m *fabric.Machine) { m.NetworkManager = ref("wicked") })},
		{"network-owner", "NetworkManager is planned", "host1", isPass, "", managed("NetworkManager", "NetworkManager")},
		{"network-owner", "NetworkManager is planned, networkd runs", "host1", isFail, "networkd configures the network of host1, not NetworkManager", managed("networkd", "networkd")},
		{"network-owner", "no plan", "host1", isNA, "needs a cluster file", noPlan},

		{"acs-unit", "cleared", "host1", isPass, "", asPlanned},
		{"acs-unit", "not installed", "host1", isFail, "Nothing on host1 clears ACS at the next boot", unit(fabric.ACSUnit{})},
		{"acs-unit", "cleared by hand", "host1", isFail, "is not installed", unit(fabric.ACSUnit{State: fabric.ACSCleared, Bridges: 3})},
		{"acs-unit", "did not run", "host1", isFail, "has left no result in this boot", unit(fabric.ACSUnit{Installed: true})},
		{"acs-unit", "left a bridge", "host1", isFail, "failed: not cleared: 0000:12:00.0", unit(fabric.ACSUnit{
			Installed: true, State: fabric.ACSFailed, Reason: "not cleared: 0000:12:00.0", Bridges: 32, Left: []string{"0000:12:00.0"}})},
		{"acs-unit", "refused", "host1", isUnknown, "took it for no bare-metal host", unit(fabric.ACSUnit{Installed: true, State: fabric.ACSRefused, Reason: "KVM is loaded"})},
		{"acs-unit", "no bridge", "host1", isUnknown, "names no bridge", unit(fabric.ACSUnit{Installed: true, State: fabric.ACSCleared})},
		{"acs-unit", "not read", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.ACSUnit = nil }), gone("machine.acs_unit"))},
		{"acs-unit", "no plan", "host1", isNA, "needs a cluster file", noPlan},
		{"acs-unit", "of another platform", "host1", isNA, "the cluster file is for spark", func(w *world) { w.plan.Platform = "spark" }},
		{"acs-unit", "guest", "host1", isNA, "the hypervisor owns", inVM},
		{"acs-unit", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"cpu-governor", "performance", "host1", isPass, "", asPlanned},
		{"cpu-governor", "powersave", "host1", isFail, "is powersave, not performance", onMachine(func(m *fabric.Machine) { m.Governor = ref("powersave") })},
		{"cpu-governor", "the firmware sets the clock", "host1", isPass, "", onMachine(func(m *fabric.Machine) { m.Governor = ref("none") })},
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

		{"firewall", "no filter", "host1:eth3", isPass, "", filters()},
		{"firewall", "policy accept", "host1:eth3", isPass, "", asPlanned},
		{"firewall", "drops by default", "host1:eth3", isFail, "drops new connections from 10.64.", filters(input("drop"))},
		{"firewall", "drops by default, the fabric accepted", "host1:eth3", isPass, "", filters(input("drop", toFabric()))},
		{"firewall", "drops by default, another subnet accepted", "host1:eth3", isFail, "drops new", filters(input("drop", fromElsewhere()))},
		{"firewall", "drops by default, a part of the fabric accepted", "host1:eth3", isUnknown, "depends on conditions", filters(input("drop", fromOneHost()))},
		{"firewall", "drops by default, another NIC accepted", "host1:eth3", isFail, "drops new", filters(input("drop", byEth1()))},
		{"firewall", "drops by default, the NICs accepted by their prefix", "host1:eth3", isPass, "", filters(input("drop", byAnyEth()))},
		{"firewall", "rejects at the end of a chain", "host1:eth3", isFail, "drops new", filters(input("accept", jump("zones"), dropAll()), chain("zones", byEth1()))},
		{"firewall", "a zone accepts before it", "host1:eth3", isPass, "", filters(input("accept", jump("zones"), dropAll()), chain("zones", jump("fabric")), chain("fabric", toFabric()))},
		{"firewall", "a zone returns early", "host1:eth3", isFail, "drops new", filters(input("accept", jump("zones"), dropAll()), chain("zones", fabric.FilterRule{Do: "return"}, toFabric()))},
		{"firewall", "goto does not come back", "host1:eth3", isPass, "", filters(input("accept", fabric.FilterRule{Do: "goto t zones"}, dropAll()), chain("zones"))},
		{"firewall", "one hook drops, the other accepts", "host1:eth3", isFail, "drops new", filters(input("accept"), fabric.Filter{Tool: "nft", Name: "t raw", Hook: "prerouting", Policy: "drop"})},
		{"firewall", "some connections are limited", "host1:eth3", isUnknown, "depends on conditions", filters(input("drop", fabric.FilterRule{Part: true, Do: "accept"}))},
		{"firewall", "a chain that is not there", "host1:eth3", isUnknown, "depends on conditions", filters(input("drop", jump("lost")))},
		{"firewall", "chains that call each other", "host1:eth3", isUnknown, "depends on conditions", filters(input("drop", jump("a")), chain("a", jump("a")))},
		{"firewall", "iptables knows better than nft", "host1:eth3", isPass, "", both(filters(fabric.Filter{Tool: "nft", Name: "ip filter INPUT", Hook: "input", Policy: "drop", Rules: []fabric.FilterRule{{Part: true, Do: "accept"}}},
			fabric.Filter{Tool: "iptables", Name: "filter INPUT", Hook: "input", Policy: "drop", Rules: []fabric.FilterRule{toFabric()}}), readBy("nft", "iptables"))},
		{"firewall", "nft not there", "host1:eth3", isUnknown, "permission denied", both(func(w *world) { w.host1().Firewall = nil }, gone("firewall"))},
		{"firewall", "only ufw read, inactive", "host1:eth3", isUnknown, "were not read whole", both(filters(), readBy("ufw"))},
		{"firewall", "only ufw read, and it drops", "host1:eth3", isFail, "drops new", both(filters(fabric.Filter{Tool: "ufw", Name: "status", Hook: "input", Policy: "drop"}), readBy("ufw"))},
		{"firewall", "tables that nft does not list", "host1:eth3", isUnknown, "tables of the older iptables", func(w *world) { w.host1().Firewall.Legacy = ref(true) }},
		{"firewall", "nft was killed after its first table", "host1:eth3", isUnknown, "permission denied", gone("firewall")},
		{"firewall", "no address", "host1:eth3", isUnknown, "no IPv4 address", onNIC(func(n *fabric.NIC) { n.Addresses = nil })},
		{"firewall", "no plan", "host1:eth3", isFail, "drops new", both(noPlan, filters(input("drop", fromElsewhere())))},
		{"firewall", "lab", "host1", isNA, "no hardware of its own", inLab},

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
		{"kernel-log-aer", "fatal, before the error is decoded", "host1:" + rail3Root, isFail, "uncorrected PCIe error", logged("pcieport " + rail3Root + ": AER: Uncorrected (Fatal) error received: " + rail3Down)},
		{"kernel-log-aer", "many, not fatal", "host1:" + rail3Root, isFail, "uncorrected PCIe error", logged("pcieport " + rail3Root + ": AER: Multiple Uncorrected (Non-Fatal) error received: " + rail3Down)},
		{"kernel-log-aer", "fatal, as newer kernels write it", "host1:" + rail3Root, isFail, "uncorrected PCIe error", logged("pcieport " + rail3Root + ": AER: Uncorrectable (Fatal) error message received from " + rail3Down)},
		{"kernel-log-aer", "corrected, received", "host1", isPass, "", logged("pcieport " + rail3Root + ": AER: Corrected error received: " + rail3Down)},
		{"kernel-log-aer", "link cut off by its port", "host1:" + rail3Down, isFail, "cut the link below", logged("pcieport " + rail3Down + ": DPC: containment event, status:0x1f01 source:0x0000")},
		{"kernel-log-aer", "link lost", "host1:" + rail3Down, isFail, "lost the link below it", logged("pcieport " + rail3Down + ": pciehp: Slot(5): Link Down")},
		{"kernel-log-aer", "card gone", "host1:" + rail3Down, isFail, "lost the link below it", logged("pcieport " + rail3Down + ": pciehp: Slot(5): Card not present")},
		{"kernel-log-aer", "link of another slot", "host1", isUnknown, "may have held a GPU or NIC", logged("pcieport 0000:05:00.0: pciehp: Slot(7): Link Down")},
		{"kernel-log-aer", "card found at boot", "host1", isPass, "", logged("pcieport "+rail3Down+": pciehp: Slot(5): Card present", "pcieport "+rail3Down+": pciehp: Slot(5): Link Up")},
		{"kernel-log-aer", "log not read", "host1", isUnknown, "permission denied", logUnread},
		{"kernel-log-aer", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"kernel-log-gpu", "none", "host1", isPass, "", asPlanned},
		{"kernel-log-gpu", "off the bus", onGPU3, isFail, "reported Xid 79: the GPU has fallen off the bus", xid("79, pid=1234, GPU has fallen off the bus.")},
		{"kernel-log-gpu", "an application's", "host1", isPass, "", xid("31, pid=79749, name=exe, Ch 0000000a, intr 00000000. MMU Fault")},
		{"kernel-log-gpu", "recovery over", "host1", isPass, "", xid("154, GPU recovery action changed from 0x1 (GPU Reset Required) to 0x0 (None)")},
		{"kernel-log-gpu", "recovery asked for", onGPU3, isFail, "asks for a recovery, \"GPU Reset Required\"", xid("154, GPU recovery action changed from 0x0 (None) to 0x1 (GPU Reset Required)")},
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
		{"kernel-log-nic", "firmware holds the classes", onEth3, isFail, "could not set its RoCE traffic classes", both(noTraffic, logged("infiniband bnxt_re2: Fail to setets rc:-22", "infiniband bnxt_re2: Fail to initialize Flow control"))},
		{"kernel-log-nic", "classes that were set later", "host1", isPass, "", logged("infiniband bnxt_re2: Fail to setets rc:-22")},
		{"kernel-log-nic", "nobody named", "host1", isFail, "firmware failed", logged("bnxt_en: Firmware fatal reset event received")},
		{"kernel-log-nic", "log cut", "host1", isUnknown, "an earlier line", logCut},
		{"kernel-log-nic", "lab", "host1", isNA, "no hardware of its own", inLab},
	}
}
