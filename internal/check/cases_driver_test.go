package check

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

const (
	isPass, isFail, isUnknown, isNA = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable

	onEth3  = "host1:eth3"
	onPort3 = "host1:bnxt_re2/1"
	onGPU3  = "host1:" + rail3GPU
)

func driverCases() []oneCase {
	noBnxt := both(func(w *world) { w.host1().HCAs = nil }, dropModule("bnxt_re"))
	abi := "libibverbs: Warning: Driver bnxt_re does not support the kernel ABI of 6 (supports 1 to 1) for device /sys/class/infiniband/bnxt_re0"
	const inboxAt = "/usr/lib/x86_64-linux-gnu/libibverbs/libbnxt_re-rdmav34.so"
	inbox := func(size int) func(*world) {
		return func(w *world) {
			w.host1().Providers = append(w.host1().Providers, fabric.Provider{Driver: "bnxt_re", Path: inboxAt, Bytes: size})
		}
	}
	version := func(v string) func(*fabric.Module) {
		return func(m *fabric.Module) { m.Version, m.OnDisk = v, v }
	}
	everywhere := func(module, v string) func(*world) {
		return func(w *world) {
			for _, f := range w.nodes {
				i := slices.IndexFunc(f.Modules, func(m fabric.Module) bool { return m.Name == module })
				version(v)(&f.Modules[i])
			}
		}
	}
	ofed := func(w *world) { w.host1().Packages["mlnx-ofed-kernel-dkms"] = "24.10" }
	givenAway := func(w *world) {
		vmHosts(w)
		for i := range w.host1().GPUs {
			w.host1().GPUs[i].Driver = "vfio-pci"
		}
	}
	return []oneCase{
		{"rdma-modules", "devices are there", "host1", isPass, "", asPlanned},
		{"rdma-modules", "built in", "host1", isPass, "", noModules},
		{"rdma-modules", "loaded, no device yet", "host1", isPass, "", func(w *world) { w.host1().HCAs = nil }},
		{"rdma-modules", "half a driver", "host1", isFail, "has not loaded bnxt_re beside bnxt_en", noBnxt},
		{"rdma-modules", "list not read", "host1", isUnknown, "permission denied", both(noBnxt, noModules)},
		{"rdma-modules", "driver not read", "host1", isUnknown, "driver of eth1 was not read", func(w *world) {
			noBnxt(w)
			for i := range w.host1().NICs {
				w.host1().NICs[i].Driver = ""
			}
		}},
		{"rdma-modules", "driver unknown", "host1", isUnknown, "RDMA for veryfast is unknown", func(w *world) {
			noBnxt(w)
			for i := range w.host1().NICs {
				w.host1().NICs[i].Driver = "veryfast"
			}
		}},
		{"rdma-modules", "no plan", "host1", isNA, "needs a cluster file", noPlan},

		{"nic-rdma", "same function", onEth3, isPass, "", asPlanned},
		{"nic-rdma", "one without", onEth3, isFail, "None of the 7 RDMA devices of host1 belongs to host1:eth3", func(w *world) {
			w.host1().HCAs = append(w.host1().HCAs[:2:2], w.host1().HCAs[3:]...)
		}},
		{"nic-rdma", "the kernel has no RDMA at all", onEth3, isFail, "None of the 0 RDMA devices", func(w *world) { noClass(w); noModules(w); w.host1().NICs[3].Driver = "" }},
		{"nic-rdma", "devices not listed", onEth3, isUnknown, "permission denied", func(w *world) { w.host1().HCAs = nil; w.missing("hcas") }},
		{"nic-rdma", "a device without a place", onEth3, isUnknown, "unknown which", onHCA(func(h *fabric.HCA) { h.PCI, h.Ports[0].GIDs = "", nil })},
		{"nic-rdma", "silent behind its module", onEth3, isUnknown, "rdma-modules fails on host1", noBnxt},
		{"nic-rdma", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"uverbs-devices", "one each", "host1", isPass, "", asPlanned},
		{"uverbs-devices", "none", "host1", isFail, "has 0 uverbs devices for 8", onMachine(func(m *fabric.Machine) { m.RDMACharDevs = ref(0) })},
		{"uverbs-devices", "not counted", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.RDMACharDevs = nil }), gone("machine.rdma_char_devices"))},
		{"uverbs-devices", "no RDMA", "host1", isNA, "has no RDMA device", bare},

		{"provider-abi", "verbs opened it", onPort3, isPass, "", asPlanned},
		{"provider-abi", "inbox library", "host1", isFail, "does not match the ABI", func(w *world) {
			w.host1().Missing = append(w.host1().Missing, fabric.Missing{What: "hcas.ports.active_mtu", Source: "ibv_devinfo", Reason: abi})
		}},
		{"provider-abi", "verbs not queried", onPort3, isUnknown, "permission denied", both(onPort(func(p *fabric.Port) { p.ActiveMTU = nil }), gone("hcas.ports.active_mtu bnxt_re2/1"))},
		{"provider-abi", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"module-on-disk", "the same", "host1", isPass, "", asPlanned},
		{"module-on-disk", "another one installed", "host1", isFail, "bnxt_re 235.2.86.0 is loaded, 236.0 is installed", onModule("bnxt_re", func(m *fabric.Module) { m.OnDisk = "236.0" })},
		{"module-on-disk", "built for another kernel", "host1", isFail, `bnxt_re is "built" in DKMS`, onModule("bnxt_re", func(m *fabric.Module) { m.DKMS = "built" })},
		{"module-on-disk", "modinfo not there", "host1", isUnknown, "permission denied", func(w *world) {
			for i := range w.host1().Modules {
				w.host1().Modules[i].OnDisk = ""
			}
			w.missing("modules.on_disk")
		}},
		{"module-on-disk", "no RDMA", "host1", isNA, "has no RDMA device", bare},

		{"driver-release", "one release", "host1", isPass, "", asPlanned},
		{"driver-release", "RDMA half of another one", "host1", isFail, "bnxt_en 1.10.3.235.2.86.0, bnxt_re 231.0.162.0", everywhere("bnxt_re", "231.0.162.0")},
		{"driver-release", "RDMA half of the kernel", "host1", isFail, "bnxt_re of the kernel", everywhere("bnxt_re", "")},
		{"driver-release", "both of the kernel", "host1", isPass, "", both(onModule("bnxt_re", version("")), onModule("bnxt_en", version("")))},
		{"driver-release", "as dashes", "host1", isPass, "", onModule("bnxt_en", version("1.10.3-235.2.86.0"))},
		{"driver-release", "library of another one", "host1", isFail, "its library bnxt-rocelib 234.0.154.0-1", func(w *world) { w.host1().Packages["bnxt-rocelib"] = "234.0.154.0-1" }},
		{"driver-release", "packages not read", "host1", isPass, "", func(w *world) { w.host1().Packages = nil }},
		{"driver-release", "version not read", "host1", isUnknown, "permission denied", both(onModule("bnxt_re", version("")), gone("modules.version bnxt_re"))},
		{"driver-release", "modules not read", "host1", isUnknown, "permission denied", noModules},
		{"driver-release", "another driver", "host1", isPass, "", both(dropModule("bnxt_en"), dropModule("bnxt_re"))},
		{"driver-release", "no RDMA", "host1", isNA, "has no RDMA device", bare},

		{"provider-shadow", "the vendor's alone", "host1", isPass, "", asPlanned},
		{"provider-shadow", "the distribution's before it", "host1", isFail, "verbs open bnxt_re devices by the distribution's " + inboxAt, inbox(87104)},
		{"provider-shadow", "copied there too", "host1", isPass, "", inbox(260416)},
		{"provider-shadow", "sizes not read", "host1", isUnknown, "whether they are the same is unknown", inbox(0)},
		{"provider-shadow", "the distribution's alone", "host1", isPass, "", func(w *world) { w.host1().Providers[0].Path = inboxAt }},
		{"provider-shadow", "of other drivers only", "host1", isUnknown, "no provider library of bnxt_re was found", func(w *world) { w.host1().Providers[0].Driver = "mlx5" }},
		{"provider-shadow", "a list that was cut", "host1", isUnknown, "is not whole: permission denied", gone("providers")},
		{"provider-shadow", "not listed", "host1", isUnknown, "permission denied", both(func(w *world) { w.host1().Providers = nil }, gone("providers"))},
		{"provider-shadow", "no RDMA", "host1", isNA, "has no RDMA device", bare},

		{"driver-conflict", "none", "host1", isPass, "", asPlanned},
		{"driver-conflict", "two stacks", "host1", isFail, "could not load bnxt_re", logged(
			"bnxt_re: disagrees about version of symbol ib_umem_release", "bnxt_re: Unknown symbol ib_umem_release (err -22)")},
		{"driver-conflict", "NVIDIA's stack, and the driver does not load", "host1", isFail, "has NVIDIA's RDMA stack installed (mlnx-ofed-kernel-dkms 24.10)", both(noBnxt, noPlan, ofed, func(w *world) { w.nodes = w.nodes[:1] })},
		{"driver-conflict", "NVIDIA's stack, and the driver built for it", "host1", isPass, "", ofed},
		{"driver-conflict", "the driver does not load, packages not read", "host1", isUnknown, "bnxt_re is not loaded beside bnxt_en on host1", both(noBnxt, noPlan, func(w *world) { w.host1().Packages = nil }, gone("packages"))},
		{"driver-conflict", "log not read", "host1", isUnknown, "permission denied", logUnread},
		{"driver-conflict", "log cut", "host1", isUnknown, "an earlier line may report more", logCut},
		{"driver-conflict", "log cut behind it", "host1", isFail, "", both(logCut, logged("bnxt_re: Unknown symbol ib_umem_release (err -22)"))},
		{"driver-conflict", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"gpu-device", "eight", "host1", isPass, "", asPlanned},
		{"gpu-device", "none", "host1", isUnknown, "no GPU was seen", noGPUs},
		{"gpu-device", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"gpu-driver", "amdgpu", onGPU3, isPass, "", asPlanned},
		{"gpu-driver", "none", onGPU3, isFail, "is bound to driver none, not amdgpu", func(w *world) { w.host1().GPUs[2].Driver = "" }},
		{"gpu-driver", "given to a VM", onGPU3, isFail, "is bound to driver vfio-pci", func(w *world) { w.host1().GPUs[2].Driver = "vfio-pci" }},
		{"gpu-driver", "all given to VMs, planned to compute", onGPU3, isFail, "is bound to driver vfio-pci", givenAway},
		{"gpu-driver", "all given to VMs", onGPU3, isPass, "", both(noPlan, givenAway)},
		{"gpu-driver", "of the other vendor", onGPU3, isFail, "not nvidia", func(w *world) { w.host1().GPUs[2].Vendor = "nvidia" }},
		{"gpu-driver", "not read", onGPU3, isUnknown, "permission denied", func(w *world) { w.host1().GPUs[2].Driver = ""; w.missing("pci.driver") }},
		{"gpu-driver", "PCI not read", "host1", isUnknown, "permission denied", func(w *world) { noGPUs(w); w.missing("pci") }},
		{"gpu-driver", "no GPU", "host1", isNA, "has no GPU", noGPUs},
	}
}

func gpuDirectCases() []oneCase {
	neither := func(w *world) { w.host1().Kernel.PeerMemory, w.host1().Kernel.DMABuf = ref(false), ref(false) }
	nvidia := func(w *world) {
		for i := range w.host1().GPUs {
			w.host1().GPUs[i].Vendor, w.host1().GPUs[i].Driver = "nvidia", "nvidia"
		}
	}
	return []oneCase{
		{"gpu-direct", "dma-buf", "host1", isPass, "", func(w *world) { neither(w); w.host1().Kernel.DMABuf = ref(true) }},
		{"gpu-direct", "peer memory in the kernel", "host1", isPass, "", func(w *world) { neither(w); w.host1().Kernel.PeerMemory = ref(true) }},
		{"gpu-direct", "nvidia_peermem", "host1", isPass, "", func(w *world) {
			neither(w)
			nvidia(w)
			w.host1().Modules = append(w.host1().Modules, fabric.Module{Name: "nvidia_peermem"})
		}},
		{"gpu-direct", "a kernel with peer memory and no client", "host1", isFail, "neither a peer memory client", func(w *world) {
			neither(w)
			nvidia(w)
			w.host1().Kernel.PeerMemory = ref(true)
		}},
		{"gpu-direct", "neither", "host1", isFail, "copied through host memory", neither},
		{"gpu-direct", "symbols not read", "host1", isUnknown, "permission denied", func(w *world) {
			w.host1().Kernel.PeerMemory, w.host1().Kernel.DMABuf = nil, nil
			w.missing("kernel.dma_buf")
		}},
		{"gpu-direct", "modules not read", "host1", isUnknown, "unknown whether the kernel of host1 has peer memory", func(w *world) { neither(w); nvidia(w); noModules(w) }},
		{"gpu-direct", "one memory for both", "host1", isNA, "shares the host's memory", func(w *world) {
			neither(w)
			w.host1().Machine.Product = ref("NVIDIA_DGX_Spark")
		}},
		{"gpu-direct", "no GPU", "host1", isNA, "has no GPU", noGPUs},

		{"numa-known", "two nodes", "host1:" + rail3NIC, isPass, "", asPlanned},
		{"numa-known", "-1", "host1:" + rail3NIC, isFail, "on which of its 2 NUMA nodes 0000:33:00.0 is", onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.NUMANode = ref(-1) })},
		{"numa-known", "-1 on one node", "host1:" + rail3NIC, isPass, "", both(oneNUMANode, onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.NUMANode = ref(-1) }))},
		{"numa-known", "-1 on one node, and functions on two", "host1:" + rail3NIC, isUnknown, "how many there are", both(onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.NUMANode = ref(-1) }),
			onMachine(func(m *fabric.Machine) { m.NUMANodes = ref(1) }))},
		{"numa-known", "not read", "host1:" + rail3NIC, isUnknown, "permission denied", both(onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.NUMANode = nil }), gone("pci.numa_node"))},
		{"numa-known", "guest", "host1", isNA, "the hypervisor owns", inVM},

		{"gpu-nic-numa", "aligned", onGPU3, isPass, "", asPlanned},
		{"gpu-nic-numa", "all NICs on the other socket", onGPU3, isFail, "is on NUMA node 0, and none of the 8 fabric NICs is", func(w *world) {
			for n := range railsOfTest {
				pciOf(w.host1(), w.host1().HCAs[n].PCI).NUMANode = ref(1)
			}
		}},
		{"gpu-nic-numa", "one NUMA node", onGPU3, isPass, "", onMachine(func(m *fabric.Machine) { m.NUMANodes = ref(1) })},
		{"gpu-nic-numa", "silent behind numa-known", onGPU3, isUnknown, "numa-known fails on host1:" + rail3GPU, onPCI(rail3GPU, func(d *fabric.PCIDevice) { d.NUMANode = ref(-1) })},
		{"gpu-nic-numa", "a guest without NUMA", onGPU3, isUnknown, "is unknown", both(inVM, onPCI(rail3GPU, func(d *fabric.PCIDevice) { d.NUMANode = ref(-1) }))},
		{"gpu-nic-numa", "NICs not read", onGPU3, isUnknown, "not all read", func(w *world) {
			for n := range railsOfTest {
				pciOf(w.host1(), w.host1().HCAs[n].PCI).NUMANode = nil
			}
		}},
		{"gpu-nic-numa", "no GPU", "host1", isNA, "has no GPU", noGPUs},
	}
}
