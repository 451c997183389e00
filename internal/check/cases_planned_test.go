package check

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// slow makes every port run at half of its rate.
func slow(w *world) {
	for _, f := range w.nodes {
		for i := range f.HCAs {
			f.HCAs[i].Ports[0].RateGbps = ref(200.0)
		}
	}
}

// overInfiniBand makes eth3 an interface over an InfiniBand port (RFC 4391: 20 bytes of address).
func overInfiniBand(w *world) {
	eth3(w).MAC = "00:00:10:49:fe:80:00:00:00:00:00:00:02:00:00:ff:fe:01:00:03"
}

func oneNUMANode(w *world) {
	w.host1().Machine.NUMANodes = ref(1)
	for i := range w.host1().PCI {
		w.host1().PCI[i].NUMANode = ref(0)
	}
}

// fewerGPUs takes GPUs off the list, as one that does not answer on the bus.
func fewerGPUs(n int) func(*world) {
	return func(w *world) { w.host1().GPUs = w.host1().GPUs[:len(w.host1().GPUs)-n] }
}

// noMachine is a cluster file that names no machine.
func noMachine(w *world) {
	for i := range w.plan.Nodes {
		w.plan.Nodes[i].Machine = ""
	}
}

func figure(change func(*fabric.NominalMachine)) func(*world) {
	return func(w *world) { change(&w.plan.Machines[0]) }
}

func plannedCases() []oneCase {
	slot := func(speed float64, width int, addresses ...string) func(*world) {
		return func(w *world) {
			for _, a := range addresses {
				*pciOf(w.host1(), a).Link = fabric.PCILink{Speed: speed, Width: width, MaxSpeed: speed, MaxWidth: width}
			}
		}
	}
	nic := "host1:" + rail3NIC
	firmware := func(version string) func(*world) {
		return func(w *world) {
			for _, f := range w.nodes {
				for i := range f.HCAs {
					f.HCAs[i].Firmware = version
				}
				for i := range f.NICs {
					f.NICs[i].Firmware = version
				}
			}
		}
	}
	everyMemory := func(kib int) func(*world) {
		return func(w *world) {
			for _, f := range w.nodes {
				f.Machine.MemoryKiB = ref(kib)
			}
		}
	}
	onNominal := func(change func(*fabric.NominalMachine)) func(*world) {
		return func(w *world) { change(&w.plan.Machines[0]) }
	}
	return []oneCase{
		{"nic-firmware-floor", "the floor", onPort3, isPass, "", asPlanned},
		{"nic-firmware-floor", "above it", onPort3, isPass, "", firmware("231.10.0.0/pkg 231.1.0.0")},
		{"nic-firmware-floor", "below it: what needs it is said", onPort3, isPass, "", firmware("231.1.162.1")},
		{"nic-firmware-floor", "below that of its train", onPort3, isPass, "", firmware("237.1.99.5")},
		{"nic-firmware-floor", "an older train", onPort3, isPass, "", firmware("228.9.9.9")},
		{"nic-firmware-floor", "a train of which nothing is known", onPort3, isPass, "", firmware("233.0.0.1")},
		{"nic-firmware-floor", "a bad train", onPort3, isFail, "Firmware 230.4.0.1/pkg 230.1 of host1:bnxt_re2/1 is of release train 230, which is known not to work", firmware("230.4.0.1/pkg 230.1")},
		{"nic-firmware-floor", "no version", onPort3, isUnknown, "is not a version", firmware("N/A")},
		{"nic-firmware-floor", "cut off", onPort3, isUnknown, "is not a version", firmware("232")},
		{"nic-firmware-floor", "not read", onPort3, isUnknown, "permission denied", both(firmware(""), gone("hcas.firmware bnxt_re2"))},
		{"nic-firmware-floor", "the catalog has none", "host1", isNA, "the catalog has no firmware of the NICs", onNominal(func(m *fabric.NominalMachine) { m.NICFirmware, m.NICFirmwareBad = nil, nil })},

		{"memory-planned", "2 TB", "host1", isPass, "", asPlanned},
		{"memory-planned", "what the firmware keeps", "host1", isPass, "", everyMemory(1_900_000_000)},
		{"memory-planned", "a quarter missing", "host1", isFail, "has 1536 GB of memory, its planned machine tested should have 2000 GB", everyMemory(1_500_000_000)},
		{"memory-planned", "not read", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.MemoryKiB = nil }), gone("machine.memory_kib"))},
		{"memory-planned", "the catalog has none", "host1", isNA, "the catalog has no host memory", onNominal(func(m *fabric.NominalMachine) { m.HostMemoryGB = 0 })},

		{"gpu-device", "one is not in the list", "host1", isUnknown, "0000:84:00.0 is of the class and vendor of its GPUs", both(noPlan, fewerGPUs(1))},
		{"gpu-planned", "all", "host1", isPass, "", asPlanned},
		{"gpu-planned", "of the planned model", "host1", isPass, "", figure(func(m *fabric.NominalMachine) { m.GPUPCIIDs = []string{"1002:74a1"} })},
		{"gpu-planned", "of another model", "host1", isUnknown, "8 GPUs of host1 are not seen to be mi300x (10de:2330)", figure(func(m *fabric.NominalMachine) { m.GPUPCIIDs = []string{"10de:2330"} })},
		{"gpu-planned", "two of eight", "host1", isFail, "host1 has 2 of the 8 GPUs of its planned machine tested. 6 of 8 GPUs", fewerGPUs(6)},
		{"gpu-planned", "one cannot be identified", "host1", isUnknown, "7 of the planned 8 GPUs of host1 were seen, and 1 PCI function could not be identified: pci 0000:84:00.0: permission denied", both(fewerGPUs(1), gone("pci 0000:84:00.0"))},
		{"gpu-planned", "not read", "host1", isUnknown, "permission denied", both(fewerGPUs(8), gone("pci"))},
		{"gpu-planned", "another machine", "host1", isUnknown, "has 8 GPUs, the planned machine tested has 4", figure(func(m *fabric.NominalMachine) { m.GPUs = 4 })},
		{"gpu-planned", "not in the catalog", "host1", isNA, "the catalog has no GPUs of tested", figure(func(m *fabric.NominalMachine) { m.GPUs = 0 })},
		{"gpu-planned", "no machine", "host1", isNA, "names no machine for host1", noMachine},
		{"gpu-planned", "no plan", "host1", isNA, "needs a cluster file", noPlan},

		{"rate-planned", "all", onPort3, isPass, "", asPlanned},
		{"rate-planned", "all at half, equal among peers", onPort3, isFail, "runs at 200 Gb/s, the NICs of the planned machine tested at 400 Gb/s. 25.0 instead of 50.0 GB/s", slow},
		{"rate-planned", "faster than planned", onPort3, isPass, "", onPort(func(p *fabric.Port) { p.RateGbps = ref(800.0) })},
		{"rate-planned", "not read", onPort3, isUnknown, "permission denied", both(onPort(func(p *fabric.Port) { p.RateGbps = nil }), gone("hcas.ports.rate bnxt_re2/1"))},
		{"rate-planned", "silent behind a port that is down", onPort3, isUnknown, "port-state fails", both(slow, onPort(func(p *fabric.Port) { p.State = "DOWN" }))},
		{"rate-planned", "not in the catalog", "host1", isNA, "no line rate", figure(func(m *fabric.NominalMachine) { m.NICGbps = 0 })},

		{"pcie-planned", "all", nic, isPass, "", asPlanned},
		{"pcie-planned", "a slot of eight lanes", nic, isFail, "supports 32 GT/s x8, the planned machine tested has 32 GT/s x16. 31.5 instead of 63.0 GB/s", slot(32, 8, rail3NIC, rail3Down)},
		{"pcie-planned", "a slot of the generation before", "host1:" + rail3GPU, isFail, "supports 16 GT/s x16", slot(16, 16, rail3GPU, "0000:32:01.0")},
		{"pcie-planned", "lanes of GPUs are not in the catalog", "host1:" + rail3GPU, isPass, "", slot(32, 8, rail3GPU, "0000:32:01.0")},
		{"pcie-planned", "not read", nic, isUnknown, "permission denied", both(onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.Link = nil }), gone("pci.link "+rail3NIC))},
		{"pcie-planned", "not in the catalog", "host1", isNA, "no PCIe generation", figure(func(m *fabric.NominalMachine) { m.PCIeGeneration = 0 })},
		{"pcie-planned", "guest", "host1", isNA, "the hypervisor owns", inVM},
	}
}

func unreadCases() []oneCase {
	absent := func(what string) func(*world) {
		return func(w *world) {
			w.host1().Missing = append(w.host1().Missing, fabric.Missing{What: what, Source: "sysfs", Reason: "no such file or directory", Absent: true})
		}
	}
	return []oneCase{
		{"facts-read", "nothing missing", "host1", isPass, "", asPlanned},
		{"facts-read", "a function without a class", "host1", isUnknown, "1 fact of host1 could not be read, and no other check reports it: pci 0000:99:00.0: permission denied", both(noPlan, gone("pci 0000:99:00.0"))},
		{"facts-read", "a function whose files are gone", "host1", isUnknown, "pci 0000:99:00.0", both(noPlan, absent("pci 0000:99:00.0"))},
		{"facts-read", "one that another check reports", "host1", isPass, "", both(onPort(func(p *fabric.Port) { p.RateGbps = nil }), gone("hcas.ports.rate bnxt_re2/1"))},
		{"facts-read", "what the host does not have", "host1", isPass, "", absent("modules")},
		{"facts-read", "what no check reads", "host1", isPass, "", gone("nics.autoneg eth3")},
		{"facts-read", "of an interface outside the fabric", "host1", isPass, "", gone("nics.fec eno1")},
		{"facts-read", "read by checks that do not apply", "host1", isPass, "", both(noPlan, gone("lldp"))},
		{"facts-read", "a text that nobody understood", "host1", isUnknown, "text notes.txt", gone("text notes.txt")},
		{"facts-read", "an address that a check did not ask for", "host1", isUnknown, "hcas.ports.gid_attrs bnxt_re2/1", gone("hcas.ports.gid_attrs bnxt_re2/1")},
	}
}

func interfaceCases() []oneCase {
	down := func(w *world) { eth3(w).OperState, eth3(w).Carrier = "down", ref(false) }
	ib := func(change func(*world)) func(*world) { return both(infiniBand, change) }
	lab := func(w *world) {
		noPlan(w)
		w.nodes[0], w.nodes[1] = labOf(w.nodes[0]), labOf(w.nodes[1])
	}
	noHCA3 := func(w *world) { noPlan(w); w.host1().HCAs = append(w.host1().HCAs[:2:2], w.host1().HCAs[3:]...) }
	named := func(w *world) { // the cluster file names the RDMA devices, and no interface over them is loaded
		infiniBand(w)
		for n := range w.plan.Nodes {
			w.plan.Nodes[n].NICs = nil
			for i := range w.nodes[n].HCAs {
				w.plan.Nodes[n].NICs = append(w.plan.Nodes[n].NICs, w.nodes[n].HCAs[i].Name)
			}
			w.nodes[n].NICs = w.nodes[n].NICs[:1]
		}
	}
	return []oneCase{
		{"nic-equal", "all judged by name or by RDMA", "host1", isPass, "", noPlan},
		{"nic-equal", "a lab host with a NIC that is down", "host1:eth3", isUnknown, "host1:eth3 is down, and without a cluster file", both(lab, down)},
		{"nic-equal", "a lab host with an odd MTU", "host1:eth3", isUnknown, "has MTU 1500, 7 of the 8 NICs of its kind have 9000", both(lab, func(w *world) { eth3(w).MTU = 1500 })},
		{"nic-equal", "down, and its RDMA device is gone", "host1:eth3", isUnknown, "is down", both(noHCA3, down)},
		{"nic-equal", "management of another driver is down", "host1", isPass, "", func(w *world) {
			noPlan(w)
			w.host1().NICs = append(w.host1().NICs, fabric.NIC{Name: "eno1", PCI: "0000:01:00.0", Driver: "igb", OperState: "down", MTU: 1500})
		}},
		{"nic-equal", "no interfaces", "host1", isUnknown, "permission denied", func(w *world) { noPlan(w); w.host1().NICs = nil; w.missing("nics") }},
		{"nic-equal", "with a plan", "host1", isNA, "judge each planned NIC", asPlanned},

		{"link-up", "an interface over InfiniBand is down", "host1", isNA, "the transport of the plan is infiniband", ib(down)},
		{"link-up", "an interface over InfiniBand is down, without a plan", "host1", isNA, "no RDMA port of host1 is Ethernet", both(infiniBand, noPlan, down)},
		{"link-up", "an interface over InfiniBand beside RoCE", "host1:eth4", isPass, "", both(noPlan, overInfiniBand, down)},
		{"port-state", "its port is active", "host1:mlx5_2/1", isPass, "", ib(down)},
		{"mtu", "2044 over InfiniBand", "host1", isNA, "the transport of the plan is infiniband", ib(func(w *world) { eth3(w).MTU = 2044 })},
		{"rdma-mtu", "4096 below an interface of 2044", "host1:mlx5_2/1", isPass, "", ib(func(w *world) { eth3(w).MTU = 2044 })},
		{"one-subnet", "InfiniBand", "host1", isNA, "the transport of the plan is infiniband", infiniBand},
		{"cabling", "InfiniBand has no LLDP", "host1", isNA, "the transport of the plan is infiniband", ib(func(w *world) { w.host1().LLDP = nil })},
		{"duplicate-address", "InfiniBand without addresses and without a plan", "cluster", isNA, "no interface of the fabric has an IP address", both(infiniBand, noPlan)},
		{"duplicate-address", "InfiniBand with addresses that were not read", "host1", isUnknown, "permission denied", both(infiniBand, noPlan, gone("nics.addresses"), func(w *world) {
			nicOf(w.nodes[1], "eth3").Addresses = []netip.Prefix{netip.MustParsePrefix("10.0.0.1/24")}
		})},
		{"nic-present", "the plan names the RDMA device", "host1:mlx5_2", isPass, "", named},
		{"nic-rdma", "the plan names the RDMA device", "host1:mlx5_2", isPass, "", named},
		{"rdma-modules", "the plan names the RDMA device", "host1", isPass, "", named},
	}
}
