package check

import (
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func equalPortCases() []oneCase {
	rate := func(gbps float64) func(*world) { return onPort(func(p *fabric.Port) { p.RateGbps = ref(gbps) }) }
	halves := func(w *world) {
		for i := range w.host1().HCAs {
			w.host1().HCAs[i].Firmware = "232.0"
		}
	}
	return []oneCase{
		{"firmware-equal", "one", "cluster", isPass, "", asPlanned},
		{"firmware-equal", "one of sixteen", onPort3, isFail, "has firmware 231.9, 15 of 16 ports of kind BCM57608 have 231.2.63.0", onHCA(func(h *fabric.HCA) { h.Firmware = "231.9" })},
		{"firmware-equal", "of another board", "cluster", isPass, "", onHCA(func(h *fabric.HCA) { h.Firmware, h.BoardID = "28.39.1002", "MT_0000000838" })},
		{"firmware-equal", "a tie", "cluster", isFail, "8 have 231.2.63.0, 8 have 232.0; none is the most common", halves},
		{"firmware-equal", "from ethtool", "cluster", isPass, "", onHCA(func(h *fabric.HCA) { h.Firmware = "" })},
		{"firmware-equal", "not read", onPort3, isUnknown, "firmware was not read", both(onHCA(func(h *fabric.HCA) { h.Firmware = "" }), onNIC(func(n *fabric.NIC) { n.Firmware = "" }))},
		{"firmware-equal", "no ports", "cluster", isUnknown, "nothing to compare", func(w *world) { w.nodes[0].HCAs, w.nodes[1].HCAs = nil, nil }},
		{"firmware-equal", "no RDMA", "cluster", isNA, "no node has an RDMA device", bare},
		{"firmware-equal", "lab", "cluster", isNA, "no hardware of its own", labs},

		{"port-rate", "one", "cluster", isPass, "", asPlanned},
		{"port-rate", "one slow", onPort3, isFail, "25.0 instead of 50.0 GB/s", both(noPlan, rate(200))},
		{"port-rate", "one fast, and the others are slow", "host2:bnxt_re0/1", isFail, "runs at 200 Gb/s, the fastest of the 16 ports of kind BCM57608 at 400 Gb/s", func(w *world) { noPlan(w); slow(w); rate(400)(w) }},
		{"port-rate", "silent behind the planned rate", onPort3, isUnknown, "rate-planned fails", rate(200)},
		{"port-rate", "of another board", "cluster", isPass, "", both(both(noPlan, rate(100)), onHCA(func(h *fabric.HCA) { h.BoardID = "MT_0000000838" }))},
		{"port-rate", "silent behind a port that is down", onPort3, isUnknown, "port-state fails", both(rate(10), onPort(func(p *fabric.Port) { p.State = "DOWN" }))},
		{"port-rate", "not read", onPort3, isUnknown, "was not read", onPort(func(p *fabric.Port) { p.RateGbps = nil })},
		{"port-rate", "lab", "cluster", isNA, "no hardware of its own", labs},

		{"pkey-equal", "one", "cluster", isPass, "", infiniBand},
		{"pkey-equal", "one in another partition", "host1:mlx5_2/1", isFail, "has P_Keys 0x8002, 15 of 16 ports have 0x7fff 0x8001", both(infiniBand, onPort(func(p *fabric.Port) { p.PKeys = []string{"0x8002"} }))},
		{"pkey-equal", "another order", "cluster", isPass, "", both(infiniBand, onPort(func(p *fabric.Port) { p.PKeys = []string{"0x7fff", "0x8001"} }))},
		{"pkey-equal", "not read", "host1:mlx5_2/1", isUnknown, "were not all read", both(infiniBand, onPort(func(p *fabric.Port) { p.PKeys = nil }))},
		{"pkey-equal", "RoCE", "cluster", isNA, "roce", asPlanned},
		{"pkey-equal", "RoCE without a plan", "cluster", isNA, "no RDMA port is InfiniBand", noPlan},

		{"gid-index-equal", "3", "cluster", isPass, "", asPlanned},
		{"gid-index-equal", "one at 5", onEth3, isFail, "has GID index 5, 15 of 16 NICs have 3", onPort(func(p *fabric.Port) { p.GIDs[1].Index = 5 })},
		{"gid-index-equal", "silent behind its absence", onEth3, isUnknown, "gid-roce-v2 fails", onPort(func(p *fabric.Port) { p.GIDs = p.GIDs[:1] })},
		{"gid-index-equal", "not read", onEth3, isUnknown, "was not seen as RoCE v2", onPort(func(p *fabric.Port) { p.GIDs = nil })},
		{"gid-index-equal", "InfiniBand", "cluster", isNA, "no IP addresses", infiniBand},

		{"duplicate-guid", "none", "cluster", isPass, "", asPlanned},
		{"duplicate-guid", "a cloned card", onPort3, isFail, "shares the node GUID 0200:00ff:fe00:0101 with 1 other device, the first host2:bnxt_re0/1", onHCA(func(h *fabric.HCA) { h.NodeGUID = "0200:00ff:fe00:0101" })},
		{"duplicate-guid", "its twin", "host2:bnxt_re0/1", isFail, "the first " + onPort3, onHCA(func(h *fabric.HCA) { h.NodeGUID = "0200:00ff:fe00:0101" })},
		{"duplicate-guid", "two ports of one device", "cluster", isPass, "", onHCA(func(h *fabric.HCA) {
			second := h.Ports[0]
			second.Number = 2
			h.Ports = append(h.Ports, second)
		})},
		{"duplicate-guid", "zeros", onPort3, isUnknown, "all zeros", onHCA(func(h *fabric.HCA) { h.NodeGUID = "0000:0000:0000:0000" })},
		{"duplicate-guid", "no devices", "cluster", isUnknown, "no RDMA device", func(w *world) { w.nodes[0].HCAs, w.nodes[1].HCAs = nil, nil }},
		{"duplicate-guid", "lab", "cluster", isNA, "no hardware of its own", labs},
	}
}

func equalNodeCases() []oneCase {
	kernel := func(w *world) { w.host1().Kernel.Release = "6.5.0-1-generic" }
	gpus := func(change func(*fabric.GPU)) func(*world) {
		return func(w *world) {
			for i := range w.host1().GPUs {
				change(&w.host1().GPUs[i])
			}
		}
	}
	other := onMachine(func(m *fabric.Machine) { m.Product = ref("another") })
	fewer := func(w *world) { w.host1().GPUs = w.host1().GPUs[:7] }
	hcas := func(w *world) { noPlan(w); w.host1().HCAs = w.host1().HCAs[:7] }
	renamed := func(w *world) {
		for i := range w.host1().HCAs {
			w.host1().HCAs[i].Name = "rocep" + strconv.Itoa(10*i+13) + "s0"
		}
	}
	return []oneCase{
		{"hca-names-equal", "the kernel's", "cluster", isPass, "", asPlanned},
		{"hca-names-equal", "one of three by place", "host1", isFail, "host1 has RDMA device names by PCI place, 2 of 3 nodes have by the kernel", both(third, renamed)},
		{"hca-names-equal", "a tie", "cluster", isFail, "1 have by PCI place, 1 have by the kernel", renamed},
		{"hca-names-equal", "not read", "host1", isUnknown, "permission denied", both(gone("hcas"), func(w *world) { w.host1().HCAs = nil })},
		{"hca-names-equal", "one node", "cluster", isNA, "one node alone", alone},
		{"kernel-equal", "one", "cluster", isPass, "", asPlanned},
		{"kernel-equal", "one of three", "host1", isFail, "has kernel 6.5.0-1-generic, 2 of 3 nodes have 6.8.0-60-generic", both(third, kernel)},
		{"kernel-equal", "a tie", "cluster", isFail, "1 have 6.5.0-1-generic, 1 have 6.8.0-60-generic", kernel},
		{"kernel-equal", "not read", "host1", isUnknown, "permission denied", func(w *world) { w.host1().Kernel.Release = ""; w.missing("kernel.release") }},
		{"kernel-equal", "one node", "cluster", isNA, "one node alone", alone},
		{"kernel-equal", "one node without a plan", "cluster", isNA, "one node alone", both(alone, noPlan)},
		{"kernel-equal", "one of two came in", "cluster", isUnknown, "nothing to compare", func(w *world) { w.nodes = w.nodes[:1] }},

		{"driver-equal", "one", "cluster", isPass, "", asPlanned},
		{"driver-equal", "one of three", "host1", isFail, "has driver version 24.04, 2 of 3 nodes of kind irdma have 24.10", both(third, loaded("irdma", "24.10"), onModule("irdma", func(m *fabric.Module) { m.Version, m.OnDisk = "24.04", "24.04" }))},
		{"driver-equal", "from ethtool", "host1", isFail, "of kind mlx5_core have 24.10", func(w *world) {
			third(w)
			for i, f := range w.nodes {
				nicOf(f, "eth3").Driver, nicOf(f, "eth3").DriverVersion = "mlx5_core", []string{"24.07", "24.10", "24.10"}[i]
			}
		}},
		{"driver-equal", "not read", "host1", isUnknown, "permission denied", noModules},
		{"driver-equal", "one node", "cluster", isNA, "one node alone", alone},

		{"gpu-driver-equal", "one", "cluster", isPass, "", asPlanned},
		{"gpu-driver-equal", "one of three", "host1", isFail, "has GPU driver 6.8.5, 2 of 3 nodes of kind Dell Inc. PowerEdge XE9680 have 6.10.5", both(third, gpus(func(g *fabric.GPU) { g.DriverVersion = "6.8.5" }))},
		{"gpu-driver-equal", "not read", "host1", isUnknown, "permission denied", both(gpus(func(g *fabric.GPU) { g.DriverVersion = "" }), gone("gpus.driver_version"))},
		{"gpu-driver-equal", "no GPU", "cluster", isNA, "no node has a GPU", noGPUs},

		{"gpu-firmware-equal", "one", "cluster", isPass, "", asPlanned},
		{"gpu-firmware-equal", "one GPU of three nodes", "host1", isFail, "has VBIOS MI300X 113-M3000099, MI300X 113-M3000100", both(third, func(w *world) { w.host1().GPUs[2].VBIOS = "113-M3000099" })},
		{"gpu-firmware-equal", "not read", "host1", isUnknown, "permission denied", both(gpus(func(g *fabric.GPU) { g.VBIOS = "" }), gone("gpus.vbios"))},
		{"gpu-firmware-equal", "lab", "cluster", isNA, "no hardware of its own", labs},

		{"bios-equal", "one", "cluster", isPass, "", asPlanned},
		{"bios-equal", "one of three", "host1", isFail, "has BIOS 2.1.0, 2 of 3 nodes", both(third, onMachine(func(m *fabric.Machine) { m.BIOS = ref("2.1.0") }))},
		{"bios-equal", "machines of two kinds", "cluster", isUnknown, "nothing to compare", both(other, onMachine(func(m *fabric.Machine) { m.BIOS = ref("2.1.0") }))},
		{"bios-equal", "not read", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.BIOS = nil }), gone("machine.bios"))},
		{"bios-equal", "lab", "cluster", isNA, "no hardware of its own", labs},

		{"cpu-equal", "one", "cluster", isPass, "", asPlanned},
		{"cpu-equal", "one of three without multithreading", "host1", isFail, "has processors 96 x a processor, 2 of 3 nodes", both(third, onMachine(func(m *fabric.Machine) { m.CPUsOnline, m.CPUsPresent = ref(96), ref(96) }))},
		{"cpu-equal", "silent behind cpus-online", "host1", isUnknown, "cpus-online fails on host1", both(third, onMachine(func(m *fabric.Machine) { m.CPUsOnline = ref(190) }))},
		{"cpu-equal", "not read", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.CPUModel = nil }), gone("machine.cpu_model"))},
		{"cpu-equal", "lab", "cluster", isNA, "no hardware of its own", labs},

		{"memory-equal", "one", "cluster", isPass, "", asPlanned},
		{"memory-equal", "within 5 %", "cluster", isPass, "", onMachine(func(m *fabric.Machine) { m.MemoryKiB = ref(2113548288 / 100 * 96) })},
		{"memory-equal", "two modules gone", "host1", isFail, "126 GiB less", onMachine(func(m *fabric.Machine) { m.MemoryKiB = ref(2113548288 / 16 * 15) })},
		{"memory-equal", "another machine", "cluster", isUnknown, "no two machines of the same kind", both(other, onMachine(func(m *fabric.Machine) { m.MemoryKiB = ref(1000) }))},
		{"memory-equal", "not read", "host1", isUnknown, "were not counted", onMachine(func(m *fabric.Machine) { m.MemoryKiB = nil })},
		{"memory-equal", "one node", "cluster", isNA, "one node alone", alone},

		{"hca-count", "eight each", "cluster", isPass, "", noPlan},
		{"hca-count", "seven", "host1", isFail, "host1 has 7 RDMA devices, the best of its 1 peers of kind Dell Inc. PowerEdge XE9680 has 8", hcas},
		{"hca-count", "list cut", "host1", isUnknown, "were not counted", both(hcas, gone("hcas"))},
		{"hca-count", "with a plan", "cluster", isNA, "nic-rdma look for each planned NIC", asPlanned},

		{"gpu-count", "eight each", "cluster", isPass, "", asPlanned},
		{"gpu-count", "seven", "host1", isFail, "1 of 8 GPUs of the node", both(noMachine, fewer)},
		{"gpu-count", "list cut", "host1", isUnknown, "were not counted", both(fewer, gone("pci"))},
		{"gpu-count", "all gone", "host1", isFail, "host1 has 0 GPUs", func(w *world) {
			noMachine(w)
			w.nodes = w.nodes[:1]
			noGPUs(w)
			w.nodes = append(w.nodes, metalFacts(w.plan, 1))
		}},
		{"gpu-count", "no GPUs", "cluster", isNA, "no node has a GPU", noGPUs},
	}
}
