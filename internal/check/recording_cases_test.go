package check_test

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

func recordedCases() []recordedCase {
	return slices.Concat(recordedNetwork(), recordedDrivers(), recordedPorts(), recordedPCI(), recordedMachine(), recordedLog(), recordedGPUHealth(), recordedNICs(), recordedPlanned(), recordedCluster(), recordedEqual())
}

const (
	hca, port1   = "/sys/class/infiniband/bnxt_re1", "/sys/class/infiniband/bnxt_re1/ports/1"
	mlxPort      = "/sys/class/infiniband/mlx5_1/ports/1"
	nicAt, gpuAt = "0000:23:00.0", "0000:24:00.0"
	bridgeAt     = "0000:22:00.0" // above the NIC
	roceLink     = "host1:bnxt_re1/1"
	ibLink       = "host1:mlx5_1/1"
)

func planned() setting { return setting{recording: "roce", plan: twoHosts()} }
func free() setting    { return setting{recording: "roce"} }
func ib() setting      { return setting{recording: "infiniband"} }

// noVerbs: what sysfs does not tell ibv_devinfo would.
func noVerbs() edit { return noTool("ibv_devinfo") }

func recordedNetwork() []recordedCase {
	const eth2 = "host1:eth2"
	on := planned()
	loose := func(n *network) {
		n.rules = slices.DeleteFunc(n.rules, func(r fabric.Rule) bool { return r.Table == 102 })
	}
	return []recordedCase{
		{rule: "nic-present", on: on, subject: eth2, unknown: noDump(linkDump), also: "gpu-nic-numa",
			fail: wired(func(n *network) {
				n.nics = n.nics[:2]
				n.routes = slices.DeleteFunc(n.routes, func(r fabric.Route) bool { return r.NIC == "eth2" })
			})},
		{rule: "link-up", on: on, subject: eth2, unknown: wired(func(n *network) { n.nic("eth2").Carrier = nil }),
			fail: wired(func(n *network) { n.nic("eth2").OperState, n.nic("eth2").Carrier = "down", new(false) })},
		{rule: "mtu", on: on, subject: eth2, fail: wired(func(n *network) { n.nic("eth2").MTU = 1500 }), unknown: noDump(linkDump)},
		{rule: "one-subnet", on: on, subject: eth2, fail: wired(func(n *network) { n.nic("eth2").Addresses = prefixes("10.64.1.3/24") }), unknown: noDump(addressDump)},
		{rule: "address", on: on, subject: eth2, fail: wired(func(n *network) { n.nic("eth2").Addresses = prefixes("10.64.1.9/31") }), unknown: noDump(addressDump)},
		{rule: "source-rule", on: on, subject: eth2, fail: wired(loose), unknown: noDump(ruleDump)},
		{rule: "rail-route", on: on, subject: eth2, unknown: noDump(routeDump), fail: wired(func(n *network) {
			n.routes = slices.DeleteFunc(n.routes, func(r fabric.Route) bool { return r.Table == 102 })
		})},
		{rule: "rule-shadow", on: on, subject: "host1", unknown: noDump(ruleDump), fail: wired(func(n *network) {
			to := prefixes("10.64.0.0/16")[0]
			n.rules = append(n.rules, fabric.Rule{Priority: 9000, To: to, Table: 101}, fabric.Rule{Priority: 9001, To: to, Table: 102})
		})},
		{rule: "rp-filter", on: free(), subject: eth2, unknown: gone("/proc/sys/net/ipv4/conf/eth2/rp_filter"),
			fail: edits(file("/proc/sys/net/ipv4/conf/eth2/rp_filter", "1"), wired(loose))},
		{rule: "neighbour-table", on: on, subject: "host1", fail: file("/proc/sys/net/ipv4/neigh/default/gc_thresh3", "1"),
			unknown: gone("/proc/sys/net/ipv4/neigh/default/gc_thresh3")},
		{rule: "cabling", on: on, subject: eth2, fail: words("lldpcli", "leaf2", "leaf1"), unknown: ends("lldpcli", 1, "unable to connect to lldpd daemon")},
	}
}

func recordedDrivers() []recordedCase {
	on := planned()
	const devices = "/sys/class/infiniband"
	return []recordedCase{
		{rule: "rdma-device", on: free(), subject: "host1", unknown: edits(closedFolder(devices), noVerbs())},
		{rule: "rdma-modules", on: on, subject: "host1", fail: edits(folder(devices), words("/proc/modules", "bnxt_re ", "xfs ")),
			unknown: edits(closedFolder(devices), denied("/proc/modules"))},
		{rule: "nic-rdma", on: on, subject: "host1:eth2", fail: folder(devices, "bnxt_re0"), unknown: closedFolder(devices)},
		{rule: "uverbs-devices", on: free(), subject: "host1", fail: folder("/dev/infiniband", "rdma_cm", "uverbs0"), unknown: closedFolder("/dev/infiniband")},
		{rule: "provider-abi", on: free(), subject: roceLink, failOn: "host1", unknown: noVerbs(),
			fail: ends("ibv_devinfo", 255, "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device /sys/class/infiniband/bnxt_re0")},
		{rule: "provider-shadow", on: free(), subject: "host1", unknown: noTool("find"),
			fail: line("find", "87104 /usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so")},
		{rule: "driver-release", on: free(), subject: "host1", unknown: denied("/proc/modules"),
			fail: edits(file("/sys/module/bnxt_re/version", "234.0.154.0"), words("modinfo", "version:        235.1.160.0", "version:        234.0.154.0"))},
		{rule: "module-on-disk", on: ib(), subject: "host1", fail: words("modinfo", "24.10-1.1.4", "24.10-2.1.8"), unknown: noTool("modinfo")},
		{rule: "driver-conflict", on: free(), subject: "host1", fail: line("dmesg", "[   11.000000] bnxt_re: disagrees about version of symbol ib_register_device"),
			unknown: ends("dmesg", 1, "dmesg: read kernel buffer failed: Operation not permitted")},
		{rule: "gpu-device", on: free(), subject: "host1", unknown: closedFolder("/sys/bus/pci/devices")},
		{rule: "gpu-driver", on: free(), subject: "host1:" + gpuAt, fail: link(pciFolder+gpuAt+"/driver", "../../../../bus/pci/drivers/vfio-pci"),
			unknown: closedLink(pciFolder + gpuAt + "/driver")},
		{rule: "gpu-direct", on: free(), subject: "host1", fail: edits(words("grep", "ib_register_peer_memory_client", "ib_other"), words("grep", "ib_umem_dmabuf_get", "ib_other")),
			unknown: noTool("grep")},
	}
}

func recordedPorts() []recordedCase {
	// unread takes a file away from sysfs, and the tool that would tell the same.
	unread := func(path string) edit { return edits(denied(path), noVerbs()) }
	return []recordedCase{
		{rule: "link-layer", on: planned(), subject: roceLink, fail: file(port1+"/link_layer", "InfiniBand"), unknown: unread(port1 + "/link_layer")},
		{rule: "port-state", on: free(), subject: roceLink, unknown: unread(port1 + "/state"),
			fail: edits(file(port1+"/state", "1: DOWN"), file(port1+"/phys_state", "3: Disabled"))},
		{rule: "sm-lid", on: ib(), subject: ibLink, fail: file(mlxPort+"/sm_lid", "0x0"), unknown: unread(mlxPort + "/sm_lid")},
		{rule: "port-lid", on: ib(), subject: ibLink, fail: file(mlxPort+"/lid", "0x0"), unknown: unread(mlxPort + "/lid")},
		{rule: "pkey-member", on: ib(), subject: ibLink, fail: edits(file(mlxPort+"/pkeys/0", "0x7fff"), file(mlxPort+"/pkeys/1", "0x0001")),
			unknown: closedFolder(mlxPort + "/pkeys")},
		{rule: "gid-roce-v2", on: free(), subject: "host1:eth2", fail: file(port1+"/gid_attrs/types/3", "IB/RoCE v1"), unknown: edits(closedFolder(port1+"/gids"), noVerbs())},
		{rule: "rdma-mtu", on: free(), subject: roceLink, fail: words("ibv_devinfo", "active_mtu:\t\t4096 (5)", "active_mtu:\t\t1024 (3)"), unknown: noVerbs()},
		{rule: "link-errors", on: free(), subject: roceLink, fail: file(port1+"/counters/link_downed", "11"), unknown: closedFolder(port1 + "/counters")},
		{rule: "fec", on: free(), subject: "host1:eth2", fail: words("ethtool --show-fec eth2", "encoding: RS", "encoding: Off"), unknown: noTool("ethtool --show-fec eth2")},
	}
}

func recordedPCI() []recordedCase {
	both := func(at int, value uint16) edit {
		return edits(config(nicAt, register(at, value)), config(bridgeAt, register(at, value)))
	}
	noConfig := denied(pciFolder + nicAt + "/config")
	hypervisor := setting{recording: "roce", with: func(a *archive) {
		for _, rail := range []string{"1", "2"} {
			for _, bridge := range []string{"0:01.0", "1:00.0", "2:00.0", "2:01.0"} {
				config("0000:"+rail+bridge, register(extendedControl, 0x5d))(a)
			}
			config("0000:"+rail+"3:00.0", register(extendedControl, 1<<15))(a)
			for _, given := range []string{"3:00.0", "4:00.0"} {
				link(pciFolder+"0000:"+rail+given+"/driver", "../../../../bus/pci/drivers/vfio-pci")(a)
			}
		}
	}}
	guest := setting{recording: "roce", with: edits(words("/proc/cpuinfo", "vme", "vme hypervisor"),
		config("0000:13:00.0", register(extendedControl, 1<<15)), config(nicAt, register(extendedControl, 1<<15)))}
	nic, bridge := "host1:"+nicAt, "host1:"+bridgeAt
	twoSwitches := plannedMachine()
	belowOther := func(address string) edit {
		return link(pciFolder+address, "../../../devices/pci0000:10/0000:10:01.0/0000:11:00.0/0000:12:00.0/"+address)
	}
	return []recordedCase{
		{rule: "gpu-nic-distance", on: twoSwitches, subject: "host1:" + gpuAt, fail: belowOther(nicAt), unknown: closedLink("/sys/class/net/eth2")},
		{rule: "pcie-layout", on: twoSwitches, subject: "host1", fail: edits(belowOther(nicAt), belowOther(gpuAt)), unknown: closedLink(pciFolder + bridgeAt)},
		{rule: "pcie-link", on: free(), subject: nic, fail: both(linkStatus, gen5x8), unknown: noConfig},
		{rule: "pcie-port-rate", on: free(), subject: roceLink, fail: edits(both(linkCapability, gen3x16), both(linkStatus, gen3x16)), unknown: noConfig},
		{rule: "pcie-payload", on: free(), subject: nic, fail: config(nicAt, register(deviceControl, 0x2110)), unknown: noConfig},
		{rule: "read-request", on: free(), subject: roceLink, fail: config(nicAt, register(deviceControl, 0x2030)), unknown: noConfig},
		{rule: "relaxed-ordering", on: free(), subject: nic, fail: config(nicAt, register(deviceControl, 0x2120)), unknown: noConfig},
		{rule: "acs", on: free(), subject: bridge, fail: config(bridgeAt, register(extendedControl, 0x1d)), unknown: config(bridgeAt, cut(64))},
		{rule: "acs-hypervisor", on: hypervisor, subject: bridge, fail: config(bridgeAt, register(extendedControl, 0)), unknown: config(bridgeAt, cut(256))},
		{rule: "ats", on: guest, subject: nic, fail: config(nicAt, register(extendedControl, 0)), unknown: config(nicAt, cut(256))},
	}
}

// plannedMachine is planned, with what the machine should have.
func plannedMachine() setting {
	s := planned()
	for i := range s.plan.Nodes {
		s.plan.Nodes[i].Machine = "two-switches"
	}
	s.plan.Machines = []fabric.NominalMachine{{
		ID: "two-switches", GPU: "mi300x", GPUs: 2, NIC: "thor2", NICs: 2, NICGbps: 400, PCIeGeneration: 5, PCIeLanes: 16, PCIeSwitches: 2, HostMemoryGB: 2164,
		NICFirmwareBad: []fabric.FirmwareTrain{{Train: "232", Says: "known not to work", Source: "test"}}, Source: "catalog",
	}}
	return s
}

// recordedPlanned are the rules that compare with the planned machine.
func recordedPlanned() []recordedCase {
	on := plannedMachine()
	return []recordedCase{
		{rule: "memory-planned", on: on, subject: "host1", fail: words("/proc/meminfo", "2113548288", "1056774144"), unknown: denied("/proc/meminfo")},
		{rule: "nic-firmware-floor", on: on, subject: roceLink, also: "firmware-equal", fail: edits(file(hca+"/fw_ver", "232.0.1.0"), words("ethtool -i eth2", "231.2.63.0", "232.0.1.0")),
			unknown: edits(denied(hca+"/fw_ver"), noVerbs(), noTool("ethtool -i eth2"))},
		{rule: "rate-planned", on: on, subject: roceLink, fail: file(port1+"/rate", "200 Gb/sec (4X HDR)"), unknown: edits(denied(port1+"/rate"), noVerbs())},
		{rule: "gpu-planned", on: on, subject: "host1", fail: unlisted("/sys/bus/pci/devices", gpuAt), unknown: closedFolder("/sys/bus/pci/devices")},
	}
}

func recordedMachine() []recordedCase {
	const groups, node = "/sys/kernel/iommu_groups", "host1"
	gpu := "host1:" + gpuAt
	of := func(rule string, fail, unknown edit) recordedCase {
		return recordedCase{rule: rule, on: free(), subject: node, fail: fail, unknown: unknown}
	}
	return []recordedCase{
		of("iommu-mode", edits(file(groups+"/1/type", "DMA-FQ"), file(groups+"/2/type", "DMA-FQ")), closedFolder(groups)),
		{rule: "numa-known", on: free(), subject: gpu, fail: file(pciFolder+gpuAt+"/numa_node", "-1"), unknown: denied(pciFolder + gpuAt + "/numa_node")},
		{rule: "gpu-nic-numa", on: free(), subject: gpu, fail: file(pciFolder+nicAt+"/numa_node", "0"), unknown: denied(pciFolder + nicAt + "/numa_node")},
		of("numa-balancing", file("/proc/sys/kernel/numa_balancing", "1"), gone("/proc/sys/kernel/numa_balancing")),
		of("cpus-online", file("/sys/devices/system/cpu/online", "0-94"), denied("/sys/devices/system/cpu/online")),
		{rule: "network-owner", on: planned(), subject: node, unknown: closedFolder("/run/systemd/netif"),
			fail: edits(folder("/run/systemd/netif"), folder("/run/NetworkManager", "devices"))},
		{rule: "acs-unit", on: planned(), subject: node, fail: gone(fabric.ACSResultFile), unknown: closedFolder("/etc/systemd/system")},
		of("cpu-governor", file("/sys/devices/system/cpu/cpufreq/policy0/scaling_governor", "powersave"), closedFolder("/sys/devices/system/cpu/cpufreq")),
		of("swap", words("/proc/meminfo", "SwapTotal:             0 kB", "SwapTotal:       8388604 kB"), denied("/proc/meminfo")),
		of("memlock", words("/proc/self/limits", "memory         unlimited", "memory         65536"), denied("/proc/self/limits")),
		{rule: "firewall", on: free(), subject: "host1:eth2", fail: words("nft list ruleset", "policy accept", "policy drop"), unknown: noTool("nft list ruleset")},
		of("disagreement", nil, words("ethtool -i eth2", "231.2.63.0", "229.1.0.0")),
	}
}

func recordedLog() []recordedCase {
	blind := ends("dmesg", 1, "dmesg: read kernel buffer failed: Operation not permitted")
	of := func(rule, on, text string) recordedCase {
		return recordedCase{rule: rule, on: free(), subject: "host1", fail: line("dmesg", "[   20.000000] "+text), failOn: on, unknown: blind}
	}
	return []recordedCase{
		of("kernel-log-pcie", "host1:"+nicAt, "pci 0000:23:00.0: 252.048 Gb/s available PCIe bandwidth, limited by 32.0 GT/s PCIe x8 link at 0000:22:00.0 (capable of 504.112 Gb/s with 32.0 GT/s PCIe x16 link)"),
		of("kernel-log-aer", "host1:"+nicAt, "bnxt_en 0000:23:00.0: PCIe Bus Error: severity=Uncorrected (Fatal), type=Transaction Layer, (Receiver ID)"),
		of("kernel-log-gpu", "host1:"+gpuAt, "amdgpu 0000:24:00.0: amdgpu: GPU reset begin!"),
		of("kernel-log-nic", "host1:eth2", "bnxt_en 0000:23:00.0 eth2: Firmware not responding, status: 0x200"),
	}
}
