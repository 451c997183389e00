package check

import (
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// The PCI functions of host1's fourth rail.
const rail4Down, rail4NIC = "0000:42:00.0", "0000:43:00.0"

func layoutCases() []oneCase {
	switches := func(n int) func(*world) {
		return figure(func(m *fabric.NominalMachine) { m.PCIeSwitches = n })
	}
	move := func(address, below string) func(*world) {
		return onPCI(address, func(d *fabric.PCIDevice) { d.Parent = below })
	}
	stray := move(rail3NIC, rail4Down)                 // the NIC of rail 3 is in a slot of rail 4's switch
	far := func(change ...func(*world)) func(*world) { // and a machine that has a switch for each rail
		return both(append(change, switches(8))...)
	}
	alone := func(w *world) { // every NIC at a root port of its own
		for _, h := range w.host1().HCAs {
			pciOf(w.host1(), h.PCI).Parent = ""
		}
	}
	// Both devices of rail 3 below the switch of rail 4: each GPU is near a NIC, and a switch is missing.
	merged := both(stray, move(rail3GPU, rail4Down), switches(8))
	own := func(w *world) { // a GPU module with a switch of its own, as MI300X
		f := w.host1()
		down := pciOf(f, rail3GPU).Parent
		bridge := *pciOf(f, rail3Up)
		bridge.Vendor, bridge.Device, bridge.Address, bridge.Parent = 0x1002, 0x1500, "0000:35:00.0", down
		inner := bridge
		inner.Address, inner.Parent = "0000:36:00.0", bridge.Address
		pciOf(f, rail3GPU).Parent = inner.Address
		f.PCI = append(f.PCI, bridge, inner)
	}
	lost := func(address string) func(*world) {
		return func(w *world) {
			w.host1().PCI = slices.DeleteFunc(w.host1().PCI, func(d fabric.PCIDevice) bool { return d.Address == address })
		}
	}
	noRates := func(w *world) {
		for i := range w.host1().HCAs {
			w.host1().HCAs[i].Ports[0].RateGbps = nil
		}
	}
	noFunctions := func(w *world) {
		w.host1().HCAs = w.host1().HCAs[:1]
		w.host1().HCAs[0].PCI, w.host1().HCAs[0].Ports[0].GIDs = "", nil
	}
	return []oneCase{
		{"gpu-nic-distance", "below one switch", onGPU3, isPass, "", far()},
		{"gpu-nic-distance", "a GPU module with a switch of its own", onGPU3, isPass, "", far(own)},
		{"gpu-nic-distance", "no machine named", onGPU3, isPass, "", noMachine},
		{"gpu-nic-distance", "another slot", onGPU3, isFail, "while " + rail3NIC + ", " + rail4NIC + " stand elsewhere: its data crosses the root complex. about 25.0 instead of 50.0 GB/s", far(stray)},
		{"gpu-nic-distance", "another slot, no plan", onGPU3, isFail, "its data crosses the root complex", both(stray, noPlan)},
		{"gpu-nic-distance", "another slot, rate not read", onGPU3, isFail, "the rate of the ports was not read", both(far(stray), noRates)},
		{"gpu-nic-distance", "the others are not blamed", "host1:0000:44:00.0", isPass, "", far(stray)},
		{"gpu-nic-distance", "none near, as the machine should have", onGPU3, isFail, "crosses the root complex", far(alone)},
		{"gpu-nic-distance", "none near, and no machine named", onGPU3, isUnknown, "neither a machine in a cluster file nor the other GPUs say", both(alone, noMachine)},
		{"gpu-nic-distance", "another slot, a function not identified", onGPU3, isUnknown, "could not be identified: pci 0000:99:00.0", both(far(stray), gone("pci 0000:99:00.0"))},
		{"gpu-nic-distance", "fewer NICs than GPUs, no plan", onGPU3, isUnknown, "nor the other GPUs say", both(noPlan, func(w *world) { w.host1().HCAs = append(w.host1().HCAs[:2], w.host1().HCAs[3:]...) })},
		{"gpu-nic-distance", "a bridge not read", onGPU3, isUnknown, "were not all read", far(lost(rail3Down))},
		{"gpu-nic-distance", "NICs not read", onGPU3, isUnknown, "permission denied", both(noPlan, gone("nics.pci"), noFunctions)},
		{"gpu-nic-distance", "guest", "host1", isNA, "the hypervisor owns", inVM},

		{"pcie-layout", "as planned", "host1", isPass, "", switches(8)},
		{"pcie-layout", "a GPU module with a switch of its own", "host1", isPass, "", both(switches(8), own)},
		{"pcie-layout", "one switch for two", "host1", isFail, "7 PCIe switches of 8 were found above GPUs and NICs, switch 0000:41:00.0 has 2 GPUs", merged},
		{"pcie-layout", "two to a switch planned", "host1", isFail, "8 PCIe switches of 4 were found", switches(4)},
		{"pcie-layout", "silent behind a GPU without a near NIC", "host1", isUnknown, "gpu-nic-distance fails", far(stray)},
		{"pcie-layout", "no figure in the catalog", "host1", isNA, "the catalog has no PCIe layout of tested", switches(0)},
		{"pcie-layout", "no machine named", "host1", isNA, "names no machine", noMachine},
		{"pcie-layout", "a function that could not be identified", "host1", isUnknown, "could not be identified: pci 0000:99:00.0", both(merged, gone("pci 0000:99:00.0"))},
		{"pcie-layout", "a function that is no matter", "host1", isPass, "", gone("pci 0000:99:00.0")},
		{"pcie-layout", "functions not read", "host1", isUnknown, "permission denied", both(switches(8), gone("pci"))},
		{"pcie-layout", "guest", "host1", isNA, "the hypervisor owns", both(switches(8), inVM)},
	}
}
