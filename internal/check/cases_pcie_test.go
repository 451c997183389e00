package check

import "railwright.dev/railwright/internal/fabric"

func cardCases() []oneCase {
	const nic = "host1:" + rail3NIC
	gen4 := func(w *world) { // a slot that is slower than its card: both ends agree
		for _, a := range []string{rail3NIC, rail3Down} {
			pciOf(w.host1(), a).Link.Speed = 16
		}
		pciOf(w.host1(), rail3Down).Link.MaxSpeed = 16
	}
	control := func(change func(*fabric.PCIControl)) func(*world) {
		return onPCI(rail3NIC, func(d *fabric.PCIDevice) { change(d.Control) })
	}
	twins := func(w *world) { // two functions of one card, each with a link of its own
		gen4(w)
		w.host1().HCAs[3].SystemGUID = w.host1().HCAs[2].SystemGUID
	}
	return []oneCase{
		{"pcie-port-rate", "Gen5 x16 for 400 Gb/s", onPort3, isPass, "", asPlanned},
		{"pcie-port-rate", "Gen4 x16 for 400 Gb/s", onPort3, isFail, "31.5 instead of 50.0 GB/s", both(noMachine, gen4)},
		{"pcie-port-rate", "Gen4 x16 for 200 Gb/s", onPort3, isPass, "", both(gen4, onPort(func(p *fabric.Port) { p.RateGbps = ref(200.0) }))},
		{"pcie-port-rate", "narrow switch", onPort3, isFail, "the link at " + rail3Up + " is the narrowest", func(w *world) {
			pciOf(w.host1(), rail3Up).Link = &fabric.PCILink{Speed: 32, Width: 8, MaxSpeed: 32, MaxWidth: 8}
		}},
		{"pcie-port-rate", "a second link of the same card", onPort3, isPass, "", twins},
		{"pcie-port-rate", "silent behind a port that is down", onPort3, isUnknown, "port-state fails", both(noMachine, gen4, onPort(func(p *fabric.Port) { p.State = "DOWN" }))},
		{"pcie-port-rate", "rate not read", onPort3, isUnknown, "permission denied", both(onPort(func(p *fabric.Port) { p.RateGbps = nil }), gone("hcas.ports.rate bnxt_re2/1"))},
		{"pcie-port-rate", "link not read", onPort3, isUnknown, "permission denied", both(onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.Link = nil }), gone("pci.link"))},
		{"pcie-port-rate", "function unknown", onPort3, isUnknown, "PCI function of the RDMA device is unknown", onHCA(func(h *fabric.HCA) { h.PCI = "" })},
		{"pcie-port-rate", "guest", "host1", isNA, "the hypervisor owns", inVM},

		{"read-request", "256 tags of 512 bytes", onPort3, isPass, "", asPlanned},
		{"read-request", "128 bytes", onPort3, isFail, "32768 bytes of reads in flight (256 x 128), its port needs 50000", control(func(c *fabric.PCIControl) { c.MaxReadRequest = 128 })},
		{"read-request", "short tags", onPort3, isFail, "about 16.4 instead of 50.0 GB/s", control(func(c *fabric.PCIControl) { c.ExtendedTag = false })},
		{"read-request", "short tags, large requests", onPort3, isPass, "", control(func(c *fabric.PCIControl) { c.ExtendedTag, c.MaxReadRequest = false, 4096 })},
		{"read-request", "short tags, a slow port", onPort3, isPass, "", both(control(func(c *fabric.PCIControl) { c.ExtendedTag = false }), onPort(func(p *fabric.Port) { p.RateGbps = ref(100.0) }))},
		{"read-request", "rate not read", onPort3, isUnknown, "rate of host1:bnxt_re2/1 was not read", onPort(func(p *fabric.Port) { p.RateGbps = nil })},
		{"read-request", "not read", onPort3, isUnknown, "permission denied", both(onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.Control = nil }), gone("pci.control"))},
		{"read-request", "guest", "host1", isNA, "the hypervisor owns", inVM},

		{"relaxed-ordering", "on", nic, isPass, "", asPlanned},
		{"relaxed-ordering", "off", nic, isFail, "does not allow relaxed ordering", control(func(c *fabric.PCIControl) { c.RelaxedOrdering = false })},
		{"relaxed-ordering", "not read", nic, isUnknown, "permission denied", both(onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.Control = nil }), gone("pci.control "+rail3NIC))},
		{"relaxed-ordering", "no NIC", "host1", isUnknown, "nothing to check", both(noPlan, gone("hcas"), func(w *world) { w.host1().HCAs = nil })},
		{"relaxed-ordering", "guest", "host1", isNA, "the hypervisor owns", inVM},

		{"pcie-payload", "equal", nic, isPass, "", asPlanned},
		{"pcie-payload", "smaller below", nic, isFail, "uses a payload of 128 bytes, the bridge above it, " + rail3Down + ", uses 256", control(func(c *fabric.PCIControl) { c.MaxPayload = 128 })},
		{"pcie-payload", "GPU too", onGPU3, isFail, "", onPCI(rail3GPU, func(d *fabric.PCIDevice) { d.Control.MaxPayload = 512 })},
		{"pcie-payload", "bridge not read", nic, isUnknown, "permission denied", both(onPCI(rail3Down, func(d *fabric.PCIDevice) { d.Control = nil }), gone("pci.control"))},
		{"pcie-payload", "guest", "host1", isNA, "the hypervisor owns", inVM},
	}
}

func translationCases() []oneCase {
	const nic, bridge = "host1:" + rail3NIC, "host1:" + rail3Down
	mode := func(m string) func(*world) { return onMachine(func(x *fabric.Machine) { x.IOMMUMode = ref(m) }) }
	enabled := onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.ATS.Enabled = true })
	esx := both(kvm, func(w *world) { w.host1().Kernel.OS = ref("VMware ESXi 9.0.0") })
	return []oneCase{
		{"acs", "host of virtual machines", "host1", isNA, "hosts virtual machines", vmHosts},
		{"acs", "bare metal of a plan for vSphere", bridge, isPass, "", onVSphere},
		{"acs", "kvm loaded, nothing given away", bridge, isPass, "", func(w *world) {
			w.host1().Modules = append(w.host1().Modules, fabric.Module{Name: "kvm"}, fabric.Module{Name: "kvm_amd"})
		}},
		{"acs", "a NIC of a program of the host", bridge, isPass, "", onPCI("0000:83:00.0", func(d *fabric.PCIDevice) { d.Driver = "vfio-pci" })},
		{"acs", "one GPU of eight", "host1", isUnknown, "what host1 is for is unknown: 0000:34:00.0 is bound to vfio-pci, and 7 other GPUs to no such driver", onPCI(rail3GPU, func(d *fabric.PCIDevice) { d.Driver = "vfio-pci" })},
		{"acs", "drivers of GPUs not read", "host1", isUnknown, "gives devices to virtual machines is unknown: permission denied", gone("pci.driver " + rail3GPU)},
		{"acs", "machine or guest unknown", "host1", isUnknown, "virtual machine is unknown", onMachine(func(m *fabric.Machine) { m.Hypervisor = nil })},

		{"acs-hypervisor", "as the guide wants it", bridge, isPass, "", vmHosts},
		{"acs-hypervisor", "as bare metal wants it", bridge, isFail, "has ACS control 0001, its hypervisor needs 005d", kvm},
		{"acs-hypervisor", "ESX", bridge, isFail, "has ACS control 0001, its hypervisor needs 005d", esx},
		{"acs-hypervisor", "no direct translated", bridge, isFail, "has ACS control 001d", both(vmHosts, onPCI(rail3Down, func(d *fabric.PCIDevice) { d.ACS.Control = 0x1d }))},
		{"acs-hypervisor", "a bridge that has less", bridge, isPass, "", both(vmHosts, onPCI(rail3Down, func(d *fabric.PCIDevice) { d.ACS.Control, d.ACS.Capability = 0x1d, 0x1d }))},
		{"acs-hypervisor", "not read", bridge, isUnknown, "permission denied", both(vmHosts, onPCI(rail3Down, func(d *fabric.PCIDevice) { d.ACS = nil }), gone("pci.acs"))},
		{"acs-hypervisor", "bare metal", "host1", isNA, "gives no device to a virtual machine", asPlanned},
		{"acs-hypervisor", "guest", "host1", isNA, "is a virtual machine", both(vmHosts, inVM)},

		{"ats", "guest, on", nic, isPass, "", both(inVM, enabled)},
		{"ats", "guest, off", nic, isFail, "has ATS disabled", inVM},
		{"ats", "host, off", nic, isFail, "has ATS disabled", both(vmHosts, onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.ATS.Enabled = false }))},
		{"ats", "guest that does not show it", nic, isUnknown, "shows no ATS capability", both(inVM, onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.ATS = &fabric.ATS{} }))},
		{"ats", "not read", nic, isUnknown, "permission denied", both(inVM, onPCI(rail3NIC, func(d *fabric.PCIDevice) { d.ATS = nil }), gone("pci.ats"))},
		{"ats", "bare metal", "host1", isNA, "is not a virtual machine", asPlanned},
		{"ats", "machine or guest unknown", "host1", isUnknown, "virtual machine is unknown", onMachine(func(m *fabric.Machine) { m.Hypervisor = nil })},

		{"iommu-mode", "passthrough", "host1", isPass, "", asPlanned},
		{"iommu-mode", "off", "host1", isPass, "", mode("off")},
		{"iommu-mode", "translated", "host1", isFail, "is translated, not off or passthrough", mode("translated")},
		{"iommu-mode", "groups differ", "host1", isUnknown, "permission denied", both(onMachine(func(m *fabric.Machine) { m.IOMMUMode = nil }), gone("machine.iommu_mode"))},
		{"iommu-mode", "guest", "host1", isNA, "the hypervisor owns", inVM},
		{"iommu-mode", "host of virtual machines", "host1", isNA, "hosts virtual machines", both(vmHosts, mode("translated"))},
	}
}
