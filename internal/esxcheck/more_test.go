package esxcheck

import "railwright.dev/railwright/internal/fabric"

// textCases are rules about what texts show without a plan, and about classes.
func textCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	type P = fabric.Plan
	type F = fabric.Facts
	free := func(change func(*F)) func(*P, *F) {
		return func(p *P, f *F) { p.VSphere = nil; change(f) }
	}
	class := func(gpus int, extra map[string]string) func(*P, *F) {
		return func(p *P, f *F) {
			p.VSphere = nil
			vm := fabric.VM{Name: "c", Class: true, Operator: true, Extra: extra}
			for i := range gpus {
				vm.Devices = append(vm.Devices, fabric.VMDevice{Number: i, Kind: "dynamic", Vendor: "0x10de", Device: "0x2330"})
			}
			f.ESX.VMs = []fabric.VM{vm}
		}
	}
	ids := func(vendor, device string) func(*P, *F) {
		return func(p *P, f *F) {
			class(1, nil)(p, f)
			f.ESX.VMs[0].Devices[0].Vendor, f.ESX.VMs[0].Devices[0].Device = vendor, device
		}
	}
	const size = "pciPassthru.64bitMMIOSizeGB"
	up := func(f *F, is bool) {
		f.ESX.Uplinks = []fabric.Uplink{{Name: "vmnic4", Address: "0000:12:00.0", Driver: "nmlx5_core", Up: ref(is), MTU: 1500}}
	}
	refused := func(kind string) func(*P, *F) {
		return func(_ *P, f *F) { f.ESX.Refusals = []fabric.PowerOnRefusal{{Kind: kind, Text: "x", Line: 3}} }
	}
	return []oneCase{
		{"esx-nic-sriov", unknown, "right where whole NICs", free(func(*F) {})},
		{"esx-nic-sriov", na, "", free(func(f *F) { f.ESX.NICConfigs = nil })},
		{"esx-max-vfs", unknown, "unset or 0", free(func(*F) {})},
		{"esx-max-vfs", unknown, "4,4", free(func(f *F) { f.ESX.Modules[0].Parameters["max_vfs"] = "4,4" })},
		{"esx-max-vfs", fail, "3 entries", free(func(f *F) { up(f, true); f.ESX.Modules[0].Parameters["max_vfs"] = "4,4,4" })},
		{"esx-max-vfs", na, "", free(func(f *F) { f.ESX.Modules = nil })},
		{"esx-vfs", unknown, "no virtual function is listed", free(func(f *F) { up(f, true) })},
		{"esx-vfs", na, "", free(func(*F) {})},
		{"esx-uplinks", unknown, "no link, MTU 1500", free(func(f *F) { up(f, false) })},
		{"esx-uplinks", na, "have a link", free(func(f *F) { up(f, true) })},
		{"esx-uplinks", unknown, "1 of the 2 planned", func(p *P, f *F) { sriov(p, f); up(f, true) }},
		{"esx-uplinks", pass, "", func(p *P, f *F) {
			sriov(p, f)
			for i := range f.ESX.Uplinks {
				f.ESX.Uplinks[i].Up = ref(true)
			}
		}},
		{"esx-uplinks", fail, "has no link", func(p *P, f *F) { sriov(p, f); up(f, false) }},
		{"esx-uplinks", unknown, "ibstat in a virtual machine decides", func(p *P, f *F) { sriov(p, f); up(f, false); p.Transport = fabric.InfiniBand }},
		{"esx-uplinks", unknown, "were not read", nil},
		{"esx-uplinks", na, "", free(func(f *F) { up(f, true); f.ESX.Uplinks[0].Driver = "igbn" })},
		{"esx-driver-sought", fail, "no package of it", func(_ *P, f *F) {
			f.ESX.Modules, f.ESX.NoVIBs = append(f.ESX.Modules, fabric.ESXModule{Name: "bnxtnet", Loaded: ref(false)}), []string{"bnxtnet"}
		}},
		{"esx-driver-sought", na, "", nil},
		{"esx-driver-sought", unknown, "was not asked", func(_ *P, f *F) {
			f.ESX.Modules, f.ESX.NoVIBs = append(f.ESX.Modules, fabric.ESXModule{Name: "bnxtnet", Loaded: ref(false)}), []string{"icen"}
		}},
		{"esx-mapped", fail, "region 1 of 0000:05:00.0", func(_ *P, f *F) {
			f.ESX.BARs = []fabric.DeviceBAR{{Device: "0000:11:00.0", Number: 1, Bytes: 32 << 30}}
			f.PCI = append(f.PCI, fabric.PCIDevice{Address: "0000:05:00.0", Regions: []fabric.PCIRegion{{Number: 0, Assigned: true}, {Number: 1}}})
		}},
		{"esx-mapped", pass, "", func(_ *P, f *F) {
			f.ESX.BARs = []fabric.DeviceBAR{{Device: "0000:11:00.0", Number: 1, Bytes: 32 << 30}}
			f.PCI = append(f.PCI, fabric.PCIDevice{Address: "0000:05:00.0", Regions: []fabric.PCIRegion{{Number: 1, Assigned: true}}})
		}},
		{"esx-mapped", unknown, "was not read", func(_ *P, f *F) { f.ESX.BARs = []fabric.DeviceBAR{{Device: "0000:11:00.0", Bytes: 1 << 30}} }},
		{"esx-mapped", na, "", nil},
		{"esx-tool-firmware", fail, "older than firmware", func(_ *P, f *F) {
			f.ESX.VIBs[0].Version = "4.26.1.6-0"
			f.ESX.Firmware = []fabric.NICFirmware{{Version: "28.43.1014"}}
		}},
		{"esx-tool-firmware", pass, "", func(_ *P, f *F) { f.ESX.Firmware = []fabric.NICFirmware{{Version: "28.43.1014"}} }},
		{"esx-tool-firmware", unknown, "which MFT", func(_ *P, f *F) { f.ESX.Firmware = []fabric.NICFirmware{{Version: "14.22.1002"}} }},
		{"esx-tool-firmware", na, "", nil},
		{"esx-reset-method", unknown, "only a part", func(_ *P, f *F) { f.ESX.Parts = []string{fabric.FactESXResetRules} }},
		{"esx-reset-method", fail, "bridge and d3d0", func(_ *P, f *F) {
			f.ESX.ResetRules = []fabric.ResetRule{{Vendor: 0x10de, Device: 0xffff, Method: "bridge"}, {Vendor: 0x10de, Device: 0x2330, Method: "d3d0"}}
		}},
		{"esx-reset-method", unknown, "differ", func(_ *P, f *F) {
			f.ESX.ResetRules = []fabric.ResetRule{{Vendor: 0x10de, Device: 0x2330, Method: "bridge"}, {Vendor: 0x10de, Device: 0xffff, Method: "flr"}}
		}},
		{"vm-operator-mmio", unknown, "too small for 4", class(8, nil)},
		{"vm-operator-mmio", unknown, "holds the 288", class(2, nil)},
		{"vm-operator-mmio", pass, "", class(8, map[string]string{size: "1056"})},
		{"vm-operator-mmio", fail, "by itself, and needs 1056", class(8, map[string]string{size: "512"})},
		{"vm-operator-mmio", na, "", nil},
		{"vm-ids", pass, "", ids("0x10de", "0x2330")},
		{"vm-ids", pass, "", ids("4318", "9008")},
		{"vm-ids", fail, "lacks its 0x", ids("10de", "2330")},
		{"vm-ids", fail, "lacks its 0x", ids("0x10de", "2330")},
		{"vm-ids", fail, "lacks its 0x", ids("15b3", "0x1021")},
		{"vm-nvswitches", na, "", class(8, nil)},
		{"vm-power-on", fail, "PCIe hot-plug", refused(fabric.RefusedHotPlug)},
		{"vm-power-on", fail, "interrupt vectors", refused(fabric.RefusedVectors)},
		{"vm-power-on", fail, "does not come back", refused(fabric.RefusedReset)},
		{"vm-power-on", fail, "reserved", refused(fabric.RefusedReserved)},
		{"vm-power-on", na, "", nil},
	}
}
