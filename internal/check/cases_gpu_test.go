package check

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// h100 makes every host one of eight H100 with four NVSwitches and Fabric Manager, on which all is well.
func h100(w *world) {
	w.plan.Machines[0].GPU, w.plan.Machines[0].GPUPCIIDs, w.plan.Machines[0].NVSwitches = "h100-sxm", []string{"10de:2330"}, 4
	for _, f := range w.nodes {
		f.Modules = append(f.Modules[1:], fabric.Module{Name: "nvidia", Version: "580.159.04", OnDisk: "580.159.04"}, fabric.Module{Name: "nvidia_peermem"})
		f.FabricManager = &fabric.FabricManager{State: "active", Version: "580.159.04", Mode: ref(0)}
		for i := range f.GPUs {
			g := &f.GPUs[i]
			g.Vendor, g.Driver, g.Name, g.DriverVersion, g.Index = "nvidia", "nvidia", "NVIDIA H100 80GB HBM3", "580.159.04", ref(i)
			g.Health = &fabric.GPUHealth{
				Recovery: "None", ECC: "Enabled", Uncorrected: ref(uint64(0)), RemapPending: ref(false), RemapFailed: ref(false), Throttle: ref("gpu_idle"),
				Fabric: &fabric.GPUFabric{State: "Completed", Status: "Success", Health: "N/A"},
			}
			g.NVLink = &fabric.NVLink{Listed: true, Up: 18, GBps: 26.562, Errors: map[string]uint64{"crc errors": 0, "recovery errors": 0, "replay errors": 0}}
			d := pciOf(f, g.PCI)
			d.Vendor, d.Device, d.Class = 0x10de, 0x2330, 0x030200
		}
		for i := range 4 {
			f.PCI = append(f.PCI, fabric.PCIDevice{Address: fmt.Sprintf("0000:c%d:00.0", i+1), Vendor: 0x10de, Device: 0x22a3, Class: 0x068000, Driver: "nvidia-nvswitch"})
		}
	}
}

func gpu3(w *world) *fabric.GPU { return &w.host1().GPUs[2] }

func onHealth(change func(*fabric.GPUHealth)) func(*world) {
	return both(h100, func(w *world) { change(gpu3(w).Health) })
}

func onLinks(change func(*fabric.NVLink)) func(*world) {
	return both(h100, func(w *world) { change(gpu3(w).NVLink) })
}

// unasked is a host on which nvidia-smi could not be run.
func unasked(w *world) {
	h100(w)
	f := w.host1()
	for i := range f.GPUs {
		f.GPUs[i].Health, f.GPUs[i].NVLink = nil, nil
	}
	w.missing(fabric.FactGPUHealth)
	w.missing(fabric.FactGPUNVLink)
}

func cards(name string, device uint16) func(*world) {
	return both(h100, noSwitches, func(w *world) {
		for _, f := range w.nodes {
			for i := range f.GPUs {
				g := &f.GPUs[i]
				g.Name, g.NVLink = name, &fabric.NVLink{Listed: true, Says: "Unable to retrieve NVLink information: Not Supported"}
				g.Health.Fabric = &fabric.GPUFabric{State: "N/A", Status: "N/A"}
				pciOf(f, g.PCI).Device = device
			}
		}
	})
}

func noSwitches(w *world) {
	w.plan.Machines[0].NVSwitches = 0
	for _, f := range w.nodes {
		f.PCI = slices.DeleteFunc(f.PCI, func(d fabric.PCIDevice) bool { return d.Class == 0x068000 })
	}
}

func refusal(reason string) func(*world) {
	return both(unasked, func(w *world) {
		f := w.host1()
		f.Missing[len(f.Missing)-2].Reason = reason
	})
}

func gpuHealthCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		s                       = "host1:" + rail3GPU
	)
	counted := func(n uint64) func(*world) {
		return onHealth(func(h *fabric.GPUHealth) { h.Uncorrected = ref(n) })
	}
	throttled := func(reasons string) func(*world) {
		return onHealth(func(h *fabric.GPUHealth) { h.Throttle = ref(reasons) })
	}
	return []oneCase{
		{"gpu-answers", "all", s, pass, "", h100},
		{"gpu-answers", "lost", s, fail, "GPU is lost", onHealth(func(h *fabric.GPUHealth) { h.Fault = "no device handle: GPU is lost" })},
		{"gpu-answers", "ERR!", s, fail, "ERR!", onHealth(func(h *fabric.GPUHealth) { h.Fault = "ERR!" })},
		{"gpu-answers", "asks for a reset", s, fail, "needs a recovery: Reset", onHealth(func(h *fabric.GPUHealth) { h.Recovery = "Reset" })},
		{"gpu-answers", "of a driver that tells no recovery", s, pass, "", onHealth(func(h *fabric.GPUHealth) { h.Recovery = "" })},
		{"gpu-answers", "on the bus, not in the list", s, fail, "does not list it", both(h100, func(w *world) { gpu3(w).Health = nil })},
		{"gpu-answers", "list cut", s, unknown, "permission denied", both(h100, func(w *world) { gpu3(w).Health = nil; w.missing(fabric.FactGPUHealth) })},
		{"gpu-answers", "a part of an output", s, unknown, "unknown", both(h100, func(w *world) { gpu3(w).Health = nil; w.host1().Source = "captured" })},
		{"gpu-answers", "not asked", s, unknown, "permission denied", unasked},
		{"gpu-answers", "library and module differ", "host1", fail, "Driver/library version mismatch", refusal("Failed to initialize NVML: Driver/library version mismatch")},
		{"gpu-answers", "no module", "host1", fail, "couldn't communicate", refusal("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.")},
		{"gpu-answers", "AMD", "host1", na, "not NVIDIA's", asPlanned},

		{"gpu-memory", "none", s, pass, "", h100},
		{"gpu-memory", "none, AMD", s, pass, "", asPlanned},
		{"gpu-memory", "uncorrected", s, fail, "3 uncorrected errors", counted(3)},
		{"gpu-memory", "uncorrected, AMD", s, fail, "1 uncorrected errors", func(w *world) { gpu3(w).Health.Uncorrected = ref(uint64(1)) }},
		{"gpu-memory", "remap pending", s, fail, "a row remap pending", onHealth(func(h *fabric.GPUHealth) { h.RemapPending = ref(true) })},
		{"gpu-memory", "remap failed", s, fail, "a row remap that failed", onHealth(func(h *fabric.GPUHealth) { h.RemapFailed = ref(true) })},
		{"gpu-memory", "page pending", s, fail, "a page retirement pending", onHealth(func(h *fabric.GPUHealth) { h.RetirePending = ref(true) })},
		{"gpu-memory", "Volta has pages, no rows", s, pass, "", onHealth(func(h *fabric.GPUHealth) { h.RemapPending, h.RemapFailed, h.RetirePending = nil, nil, ref(false) })},
		{"gpu-memory", "repaired long ago", s, pass, "", onHealth(func(h *fabric.GPUHealth) { h.RowsRemapped, h.UncorrectedEver = ref(uint64(2)), ref(uint64(2)) })},
		{"gpu-memory", "no ECC", s, na, "has no ECC", onHealth(func(h *fabric.GPUHealth) { h.ECC, h.Uncorrected = "N/A", nil })},
		{"gpu-memory", "ECC off", s, unknown, "is off", onHealth(func(h *fabric.GPUHealth) { h.ECC, h.Uncorrected = "Disabled", nil })},
		{"gpu-memory", "the table alone", s, unknown, "wait for a repair", onHealth(func(h *fabric.GPUHealth) { h.RemapPending, h.RemapFailed = nil, nil })},
		{"gpu-memory", "not asked", s, unknown, "permission denied", unasked},
		{"gpu-memory", "behind a GPU that is lost", s, unknown, "gpu-answers fails", both(counted(3), func(w *world) { gpu3(w).Health.Fault = "ERR!" })},
		{"gpu-memory", "lab", "host1", na, "no hardware of its own", inLab},

		{"gpu-throttle", "idle", s, pass, "", h100},
		{"gpu-throttle", "nothing", s, pass, "", throttled("")},
		{"gpu-throttle", "power cap under load, clocks set", s, pass, "", throttled("applications_clocks_setting sw_power_cap")},
		{"gpu-throttle", "heat", s, fail, "hw_thermal_slowdown", throttled("hw_slowdown hw_thermal_slowdown")},
		{"gpu-throttle", "power brake", s, fail, "hw_power_brake_slowdown", throttled("hw_power_brake_slowdown hw_slowdown")},
		{"gpu-throttle", "heat of the memory", s, fail, "sw_thermal_slowdown", throttled("sw_thermal_slowdown")},
		{"gpu-throttle", "not read", s, unknown, "was not read", onHealth(func(h *fabric.GPUHealth) { h.Throttle = nil })},
		{"gpu-throttle", "AMD", "host1", na, "not NVIDIA's", asPlanned},
	}
}

func nvlinkCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		s                       = "host1:" + rail3GPU
	)
	links := func(up int, down ...int) func(*world) {
		return onLinks(func(n *fabric.NVLink) { n.Up, n.Down = up, down })
	}
	bridged := func(up ...int) func(*world) {
		return both(cards("NVIDIA H100 NVL", 0x2321), func(w *world) {
			for i, n := range up {
				w.host1().GPUs[2+i].NVLink = &fabric.NVLink{Listed: true, Up: n, GBps: 26.562}
			}
		})
	}
	dark := onLinks(func(n *fabric.NVLink) {
		n.Up, n.Says = 0, "Unable to retrieve NVLink information as all links are inActive"
	})
	return []oneCase{
		{"nvlink-up", "18 of an H100", s, pass, "", h100},
		{"nvlink-up", "two inactive", s, fail, "16 NVLinks up, 16, 17 inactive, h100-sxm has 18", links(16, 16, 17)},
		{"nvlink-up", "all inactive", s, fail, "all links are inActive", dark},
		{"nvlink-up", "fewer than the board has", s, fail, "12 NVLinks up", links(12)},
		{"nvlink-up", "an output that ends early", s, unknown, "only 12 of the 18 NVLinks", both(links(12), func(w *world) { w.host1().Source = "captured" })},
		{"nvlink-up", "not asked", s, unknown, "permission denied", unasked},
		{"nvlink-up", "counters alone", s, unknown, "were not read", onLinks(func(n *fabric.NVLink) { n.Listed, n.Up = false, 0 })},
		{"nvlink-up", "cards of PCIe", "host1", na, "have no NVLink", cards("NVIDIA H100 PCIe", 0x2331)},
		{"nvlink-up", "cards that the catalog lacks, and that say so", "host1", na, "have no NVLink", cards("NVIDIA T1000", 0x1fb0)},
		{"nvlink-up", "cards with bridges", s, pass, "", bridged(12, 12, 12, 12, 12, 12)},
		{"nvlink-up", "a bridge less than another", s, unknown, "another of the node has 12 up", bridged(4, 12)},
		{"nvlink-up", "one GPU of a machine", "host1", na, "one GPU", both(h100, noSwitches, func(w *world) { w.host1().GPUs = w.host1().GPUs[2:3] })},
		{"nvlink-up", "AMD", "host1", na, "not NVIDIA's", asPlanned},

		{"nvlink-rate", "26.562 of 25", s, pass, "", h100},
		{"nvlink-rate", "one slow", s, fail, "13.3 instead of 26.6 GB/s", onLinks(func(n *fabric.NVLink) { n.Slow, n.Low = []int{17}, 13.281 })},
		{"nvlink-rate", "all slow", s, fail, "All its links", onLinks(func(n *fabric.NVLink) { n.GBps = 13.281 })},
		{"nvlink-rate", "not asked", s, unknown, "permission denied", unasked},
		{"nvlink-rate", "cards of PCIe", "host1", na, "have no NVLink", cards("NVIDIA L40S", 0x26b9)},

		{"nvlink-errors", "none", s, pass, "", h100},
		{"nvlink-errors", "replayed", s, fail, "3 replay errors", onLinks(func(n *fabric.NVLink) { n.Errors["replay errors"] = 3 })},
		{"nvlink-errors", "Blackwell", s, fail, "1 link recovery failed events", onLinks(func(n *fabric.NVLink) { n.Errors = map[string]uint64{"link recovery failed events": 1} })},
		{"nvlink-errors", "not read", s, unknown, "were not read", onLinks(func(n *fabric.NVLink) { n.Errors = nil })},
		{"nvlink-errors", "cards of PCIe", "host1", na, "have no NVLink", cards("NVIDIA L40S", 0x26b9)},

		{"nvswitches", "four", "host1", pass, "", h100},
		{"nvswitches", "three of four", "host1", fail, "3 of the 4 NVSwitches", both(h100, func(w *world) { w.host1().PCI = w.host1().PCI[:len(w.host1().PCI)-1] })},
		{"nvswitches", "of another driver", "host1", fail, "bound to driver uio_pci_generic", both(h100, func(w *world) { w.host1().PCI[len(w.host1().PCI)-1].Driver = "uio_pci_generic" })},
		{"nvswitches", "tree cut", "host1", unknown, "gives devices to virtual machines is unknown", both(h100, func(w *world) { w.host1().PCI = w.host1().PCI[:len(w.host1().PCI)-1]; w.missing("pci") })},
		{"nvswitches", "a later board", "host1", na, "no NVSwitch on PCI", both(h100, noSwitches)},
		{"nvswitches", "guest", "host1", na, "hypervisor owns", both(h100, inVM)},
	}
}

func fabricCases() []oneCase {
	const (
		pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
		s                       = "host1:" + rail3GPU
	)
	state := func(state, status, health string) func(*world) {
		return onHealth(func(h *fabric.GPUHealth) { h.Fabric = &fabric.GPUFabric{State: state, Status: status, Health: health} })
	}
	manager := func(change func(*fabric.FabricManager)) func(*world) {
		return both(h100, func(w *world) { change(w.host1().FabricManager) })
	}
	rack := both(h100, noSwitches, func(w *world) {
		for _, f := range w.nodes {
			f.FabricManager = &fabric.FabricManager{State: "absent"}
			for i := range f.GPUs {
				f.GPUs[i].Name, f.GPUs[i].NVLink.GBps = "NVIDIA GB200", 53.125
				pciOf(f, f.GPUs[i].PCI).Device = 0x2941
			}
		}
	})
	return []oneCase{
		{"fabric-manager", "runs", "host1", pass, "", h100},
		{"fabric-manager", "stopped", "host1", fail, "does not run: failed", manager(func(m *fabric.FabricManager) { m.State = "failed" })},
		{"fabric-manager", "masked", "host1", fail, "masked", manager(func(m *fabric.FabricManager) { m.State, m.Masked = "inactive", true })},
		{"fabric-manager", "of another version", "host1", fail, "of version 580.126.20, and the loaded driver of 580.159.04", manager(func(m *fabric.FabricManager) { m.Version = "580.126.20" })},
		{"fabric-manager", "as its log says", "host1", fail, "the loaded driver of 550.120", manager(func(m *fabric.FabricManager) { m.State, m.Version, m.Driver = "failed", "550.127.05", "550.120" })},
		{"fabric-manager", "in a container", "host1", pass, "", manager(func(m *fabric.FabricManager) { m.State, m.Version = "absent", "" })},
		{"fabric-manager", "absent", "host1", fail, "does not run: absent", both(manager(func(m *fabric.FabricManager) { m.State, m.Version = "absent", "" }), func(w *world) { gpu3(w).Health.Fabric.State = "In Progress" })},
		{"fabric-manager", "starts", "host1", unknown, "is activating", manager(func(m *fabric.FabricManager) { m.State = "activating" })},
		{"fabric-manager", "version not read", "host1", unknown, "not both read", manager(func(m *fabric.FabricManager) { m.Version = "" })},
		{"fabric-manager", "not read", "host1", unknown, "permission denied", both(h100, func(w *world) { w.host1().FabricManager = nil; w.missing(fabric.FactFabricManager) })},
		{"fabric-manager", "guest of shared NVSwitches", "host1", na, "service VM runs", both(h100, noSwitches, inVM)},
		{"fabric-manager", "guest that has them all", "host1", pass, "", both(h100, inVM)},
		{"fabric-manager", "tray of a rack", "host1", na, "switch trays", rack},
		{"fabric-manager", "cards of PCIe, on which it fails", "host1", na, "have no NVLink", both(cards("NVIDIA A40", 0x2235), func(w *world) {
			w.host1().FabricManager = &fabric.FabricManager{State: "failed", Says: "failed with error:WARNING Nothing to do [NV_WARN_NOTHING_TO_DO]"}
		})},

		{"fabric-state", "completed", s, pass, "", h100},
		{"fabric-state", "in progress", s, fail, "In Progress", state("In Progress", "N/A", "N/A")},
		{"fabric-state", "not started", s, fail, "Not Started", state("Not Started", "N/A", "")},
		{"fabric-state", "in progress, with shared NVSwitches", s, unknown, "shares the NVSwitches", both(state("In Progress", "N/A", ""), func(w *world) { w.host1().FabricManager.Mode = ref(1) })},
		{"fabric-state", "without resources", s, fail, "Insufficient Resources", state("Completed", "Insufficient Resources", "")},
		{"fabric-state", "unhealthy", s, fail, "Unhealthy", state("Completed", "Success", "Unhealthy")},
		{"fabric-state", "degraded", s, fail, "Bandwidth: Degraded", onHealth(func(h *fabric.GPUHealth) { h.Fabric.Faults = "Bandwidth: Degraded" })},
		{"fabric-state", "tray of a rack, not supported", s, fail, "those of a rack", both(rack, func(w *world) { gpu3(w).Health.Fabric.State = "Not Supported" })},
		{"fabric-state", "tray of a rack", s, pass, "", rack},
		{"fabric-state", "told by no driver, with NVSwitches", s, unknown, "tells no fabric state", state("N/A", "N/A", "")},
		{"fabric-state", "not asked", s, unknown, "permission denied", unasked},
		{"fabric-state", "status not read", s, unknown, "status of GPU", state("Completed", "", "")},
		{"fabric-state", "cards of PCIe", "host1", na, "have no NVLink", cards("NVIDIA A40", 0x2235)},
	}
}
