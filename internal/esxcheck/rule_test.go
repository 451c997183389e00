package esxcheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func ref[T any](v T) *T { return &v }

// planOf is one host with two GPUs, two NICs and an NVSwitch, passed through to one virtual machine.
func planOf() *fabric.Plan {
	v := &fabric.VSphere{Product: "vcf-9.0", Mode: fabric.Passthrough, Hosts: []fabric.ESXHost{{Name: "esx1", Nodes: []string{"vm1"}}},
		Goal: fabric.ESXGoal{Mode: fabric.Passthrough, PowerPolicy: "High Performance", VIBs: []string{"mft", "nmst"}, NIC: "15b3:1021", NICs: 2, GPU: "10de:2330", GPUs: 2, NVSwitches: 1, ResetMethod: "flr",
			Settings: []fabric.ESXSetting{{Name: "disableACSCheck", Configured: "FALSE"}, {Name: "atsSupport", Configured: "TRUE"}, {Name: "enableACSDTP2P", Configured: "TRUE"}}, SinceMajor: map[string]int{"enableACSDTP2P": 9},
			NICSettings: []fabric.Option{{Name: "SRIOV_EN", Value: "0"}, {Name: "ATS_ENABLED", Value: "1"}}},
		Service: &fabric.ServiceVM{NVSwitches: 1, Guests: []fabric.ServiceVMOf{{Host: "esx1", Name: "service-esx1"}}}}
	c := fabric.VMClass{GPUs: 2, NICs: 2, MMIOGB: 288}
	for i := range 2 {
		c.Devices = append(c.Devices, fabric.VMClassDevice{Label: fmt.Sprintf("GPU%d", i)}, fabric.VMClassDevice{Label: fmt.Sprintf("NIC%d", i)})
	}
	v.Classes = []fabric.VMClass{c}
	return &fabric.Plan{VSphere: v}
}

// hostOf is a host that is as planned.
func hostOf() *fabric.Facts {
	e := &fabric.ESX{Version: "9.0.0", Build: "24755229", PowerPolicy: "High Performance",
		VIBs:    []fabric.VIB{{Name: "mft", Version: "4.31.0.149-0"}, {Name: "nmst", Version: "4.31.0.149-1OEM.801"}, {Name: "nmlx5-core", Version: "4.23"}},
		Modules: []fabric.ESXModule{{Name: "nmlx5_core", Loaded: ref(true), Enabled: ref(true), Parameters: map[string]string{}}},
		MST:     []fabric.MSTDevice{}, VFs: []fabric.ESXVirtual{},
		ResetRules: []fabric.ResetRule{{Vendor: 0x10de, Device: 0xffff, Method: "flr", Line: 3}}}
	for _, n := range []string{"disableACSCheck FALSE", "atsSupport TRUE", "enableACSDTP2P TRUE"} {
		name, value, _ := strings.Cut(n, " ")
		e.Settings = append(e.Settings, fabric.ESXSetting{Name: name, Configured: value, Runtime: value})
	}
	f := &fabric.Facts{Node: "esx1", ESX: e}
	add := func(at, parent, label string, vendor, device uint16, class uint32) {
		f.PCI = append(f.PCI, fabric.PCIDevice{Address: at, Parent: parent, Vendor: vendor, Device: device, Class: class})
		if label != "" {
			e.Devices = append(e.Devices, fabric.PassthroughPCI{Address: at, Vendor: vendor, Device: device, Capable: ref(true), Enabled: ref(true), Active: ref(true), Label: label, Labels: true})
		}
	}
	vm := fabric.VM{Name: "vm1", Power: "on", Firmware: "efi", Reserved: ref(true), Extra: map[string]string{
		"pciPassthru.allowP2P": "TRUE", "pciPassthru.RelaxACSforP2P": "TRUE", "pciPassthru.use64bitMMIO": "TRUE", "pciPassthru.64bitMMIOSizeGB": "288"}}
	for i := range 2 {
		sw := fmt.Sprintf("0000:%d0:00.0", i+1)
		add(sw, "", "", 0x1000, 0xc030, 0x060400)
		gpu, nic := fmt.Sprintf("0000:%d1:00.0", i+1), fmt.Sprintf("0000:%d2:00.0", i+1)
		add(gpu, sw, fmt.Sprintf("GPU%d", i), 0x10de, 0x2330, 0x030200)
		add(nic, sw, fmt.Sprintf("NIC%d", i), 0x15b3, 0x1021, 0x020700)
		e.NICConfigs = append(e.NICConfigs, fabric.NICConfig{Device: fmt.Sprintf("mt4129_pciconf%d", i), Address: nic, Settings: map[string]fabric.NICStored{
			"ATS_ENABLED": {Current: "True(1)", Next: "True(1)"}, "SRIOV_EN": {Current: "False(0)", Next: "False(0)"}, "NUM_OF_VFS": {Next: "0"}}})
		for j, kind := range []uint16{0x2330, 0x1021} {
			vm.Devices = append(vm.Devices, fabric.VMDevice{Number: 2*i + j, Kind: "direct", Address: []string{gpu, nic}[j], Vendor: []string{"0x10de", "0x15b3"}[j], Device: "0x" + hex4(kind), System: "aa-1"})
		}
	}
	add("0000:50:00.0", "", "NVS0", 0x10de, 0x22a3, 0x068000)
	e.VMs = []fabric.VM{vm, {Name: "service-esx1", Power: "on", Firmware: "efi", Hardware: 21, Reserved: ref(true), Extra: map[string]string{}, Devices: []fabric.VMDevice{{Address: "0000:50:00.0", Kind: "direct", Vendor: "0x10de", Device: "0x22a3"}}}}
	return f
}

// sriov makes the plan and the host ones of virtual functions.
func sriov(p *fabric.Plan, f *fabric.Facts) {
	g := &p.VSphere.Goal
	p.VSphere.Product, p.VSphere.Mode, g.Mode, g.MaxVFs, g.GPUs, g.NVSwitches = "vsphere-8", fabric.SRIOVToGuests, fabric.SRIOVToGuests, 4, 0, 0
	g.NICSettings = []fabric.Option{{Name: "FORCE_ETH_PCI_SUBCLASS", Value: "1"}, {Name: "SRIOV_EN", Value: "1"}, {Name: "NUM_OF_VFS", Value: "5"}}
	f.ESX.Version, f.ESX.Build = "8.0.3", "24280767"
	f.ESX.Modules[0].Parameters["max_vfs"] = "4,4"
	for i := range f.ESX.NICConfigs {
		maps.Copy(f.ESX.NICConfigs[i].Settings, map[string]fabric.NICStored{"SRIOV_EN": {Next: "True(1)"}, "NUM_OF_VFS": {Next: "5"}, "FORCE_ETH_PCI_SUBCLASS": {Next: "True(1)"}})
		for n := range 4 {
			f.ESX.VFs = append(f.ESX.VFs, fabric.ESXVirtual{Of: fmt.Sprintf("vmnic%d", i), Number: n})
		}
	}
	f.ESX.Uplinks = []fabric.Uplink{{Name: "vmnic0", Address: "0000:12:00.0", Driver: "nmlx5_core"}, {Name: "vmnic1", Address: "0000:22:00.0", Driver: "nmlx5_core"}}
}

type oneCase struct {
	rule   string
	want   fabric.Status
	says   string
	change func(*fabric.Plan, *fabric.Facts)
}

func TestCases(t *testing.T) {
	for i, c := range slices.Concat(hostCases(), nicCases(), vmCases(), textCases()) {
		t.Run(fmt.Sprintf("%s/%d %s", c.rule, i, c.want), func(t *testing.T) {
			p, f := planOf(), hostOf()
			if c.change != nil {
				c.change(p, f)
			}
			found := judged(p, f, c.rule)
			j := slices.IndexFunc(found, func(f fabric.Finding) bool {
				return f.Status == c.want && strings.Contains(f.Why+fmt.Sprint(f.Evidence), c.says)
			})
			if j < 0 {
				t.Fatalf("not %s with %q: %+v", c.want, c.says, found)
			}
			bad := func(f fabric.Finding) bool { return f.Status == fabric.Fail || f.Status == fabric.Unknown }
			if c.want == fabric.Pass && slices.ContainsFunc(found, bad) {
				t.Errorf("passes, and does not: %+v", found)
			}
			one := found[j]
			if one.Status == fabric.Fail && (one.Expected == "" || one.Cost == "" || one.Fix == "" || len(one.Evidence) == 0) {
				t.Errorf("fails without all that a finding needs: %+v", one)
			}
		})
	}
}

func judged(p *fabric.Plan, f *fabric.Facts, rule string) []fabric.Finding {
	for _, r := range Rules() {
		if r.ID == rule {
			return r.Judge(&Input{Plan: p, Hosts: []*fabric.Facts{f}})
		}
	}
	return nil
}

// A host that is as planned is blamed for nothing, in both modes, and of one of which nothing was read nothing passes.
func TestWholeHosts(t *testing.T) {
	for name, change := range map[string]func(*fabric.Plan, *fabric.Facts){"passthrough": func(*fabric.Plan, *fabric.Facts) {}, "sriov": sriov} {
		p, f := planOf(), hostOf()
		change(p, f)
		for _, r := range Rules() {
			for _, one := range judged(p, f, r.ID) {
				if one.Status == fabric.Fail {
					t.Errorf("%s: %s fails: %s", name, r.ID, one.Why)
				}
			}
		}
	}
	for _, r := range Rules() {
		if r.ID == "esx-collected" || r.ID == "esx-read" {
			continue // the facts did come
		}
		for _, one := range judged(planOf(), &fabric.Facts{Node: "esx1", ESX: &fabric.ESX{}}, r.ID) {
			if one.Status == fabric.Pass || one.Status == fabric.Fail {
				t.Errorf("%s is %s on nothing: %+v", r.ID, one.Status, one)
			}
		}
	}
}

func hostCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	type P = fabric.Plan
	type F = fabric.Facts
	return []oneCase{
		{"esx-collected", pass, "", nil},
		{"esx-collected", unknown, "esx2", func(p *P, _ *F) { p.VSphere.Hosts = append(p.VSphere.Hosts, fabric.ESXHost{Name: "esx2"}) }},
		{"esx-read", unknown, "refused", func(_ *P, f *F) { f.Missing = []fabric.Missing{{What: "esx.vms", Source: "ssh", Reason: "refused"}} }},
		{"esx-disagreement", na, "", nil},
		{"esx-disagreement", unknown, "of 1 fact of esx1", func(_ *P, f *F) {
			f.Disagree = []fabric.Disagreement{{What: "esx.maintenance", Said: []fabric.Evidence{{Source: "the shell", Value: "false"}, {Source: "the vSphere API", Value: "true"}}}}
		}},
		{"esx-version", pass, "", nil},
		{"esx-version", pass, "9.0.1", func(_ *P, f *F) { f.ESX.Version, f.ESX.Build = "9.0.1", "1" }},
		{"esx-version", fail, "ESX 9", func(_ *P, f *F) { f.ESX.Version = "8.0.3" }},
		{"esx-version", fail, "older", func(_ *P, f *F) { f.ESX.Build = "24000000" }},
		{"esx-version", unknown, "", func(_ *P, f *F) { f.ESX.Version = "" }},
		{"esx-version", na, "", func(p *P, _ *F) { p.VSphere = nil }},
		{"esx-kernel-settings", pass, "", nil},
		{"esx-kernel-settings", fail, "disableACSCheck is configured TRUE", func(_ *P, f *F) { f.ESX.Settings[0].Configured = "TRUE" }},
		{"esx-kernel-settings", pass, "", func(_ *P, f *F) { f.ESX.Version, f.ESX.Settings = "8.0.3", f.ESX.Settings[:2] }},
		{"esx-kernel-settings", unknown, "enableACSDTP2P", func(_ *P, f *F) { f.ESX.Settings = f.ESX.Settings[:2] }},
		{"esx-reboot", pass, "", nil},
		{"esx-reboot", fail, "runtime FALSE", func(_ *P, f *F) { f.ESX.Settings[1].Runtime = "FALSE" }},
		{"esx-reboot", fail, "after the next start False(0)", func(_ *P, f *F) {
			f.ESX.NICConfigs[0].Settings["ATS_ENABLED"] = fabric.NICStored{Current: "True(1)", Next: "False(0)"}
		}},
		{"esx-power-policy", fail, "Balanced", func(_ *P, f *F) { f.ESX.PowerPolicy = "Balanced" }},
		{"esx-power-policy", pass, "", nil},
		{"esx-reset-method", pass, "", nil},
		{"esx-reset-method", fail, "bridge", func(_ *P, f *F) { f.ESX.ResetRules[0].Method = "bridge" }},
		{"esx-reset-method", unknown, "differ", func(_ *P, f *F) {
			f.ESX.ResetRules = append(f.ESX.ResetRules, fabric.ResetRule{Vendor: 0x10de, Device: 0x2330, Method: "d3d0"})
		}},
		{"esx-reset-method", pass, "", func(_ *P, f *F) {
			f.ESX.ResetRules = append(f.ESX.ResetRules, fabric.ResetRule{Vendor: 0x10de, Device: 0x1401, Method: "d3d0"})
		}},
		{"esx-tools", pass, "", nil},
		{"esx-tools", fail, "nmst", func(_ *P, f *F) { f.ESX.VIBs = f.ESX.VIBs[:1] }},
		{"esx-tools", fail, "different releases", func(_ *P, f *F) { f.ESX.VIBs[0].Version = "4.32.0.1-0" }},
		{"esx-tools", unknown, "nmst", func(_ *P, f *F) { f.ESX.VIBs, f.ESX.Parts = f.ESX.VIBs[:1], []string{fabric.FactESXVIBs} }},
		{"esx-nic-driver", pass, "", nil},
		{"esx-nic-driver", fail, "not loaded", func(_ *P, f *F) { f.ESX.Modules[0].Loaded = ref(false) }},
		{"esx-nic-driver", fail, "recovery mode", func(_ *P, f *F) { f.ESX.Modules[0].Parameters["mst_recovery"] = "1" }},
		{"esx-nic-driver", unknown, "", func(_ *P, f *F) { f.ESX.Modules = nil }},
		{"esx-mst", pass, "harmless", nil},
		{"esx-mst", fail, "0000:12:00.0", func(_ *P, f *F) { f.ESX.Devices[1].Active = ref(false) }},
		{"esx-mst", unknown, "recovery", func(_ *P, f *F) { f.ESX.Devices = nil }},
		{"esx-nic-model", pass, "", nil},
		{"esx-nic-model", fail, "ConnectX-3", func(_ *P, f *F) {
			f.PCI, f.ESX.Devices = nil, nil
			f.ESX.MST = []fabric.MSTDevice{{Name: "mt4099_pciconf0", Address: "0000:01:00.0"}}
		}},
		{"esx-devices", pass, "", nil},
		{"esx-devices", fail, "1 of its 2 GPUs", func(_ *P, f *F) {
			f.PCI, f.ESX.Devices = slices.Delete(f.PCI, 1, 2), slices.Delete(f.ESX.Devices, 0, 1)
		}},
		{"esx-devices", unknown, "", func(_ *P, f *F) {
			f.PCI, f.ESX.Devices, f.ESX.Parts = nil, f.ESX.Devices[1:], []string{fabric.FactESXDevices}
		}},
		{"esx-passthrough", pass, "", nil},
		{"esx-passthrough", fail, "is not passed through", func(_ *P, f *F) { f.ESX.Devices[0].Enabled = ref(false) }},
		{"esx-passthrough", fail, "start again", func(_ *P, f *F) { f.ESX.Devices[0].Active = ref(false) }},
		{"esx-passthrough", fail, "cannot", func(_ *P, f *F) { f.ESX.Devices[0].Capable = ref(false) }},
		{"esx-passthrough", unknown, "0000:11:00.0", func(_ *P, f *F) { f.ESX.Devices[0].Enabled, f.ESX.Devices[0].Active = nil, nil }},
		{"esx-labels", pass, "", nil},
		{"esx-labels", fail, "on 2 devices", func(_ *P, f *F) { f.ESX.Devices[2].Label = "GPU0" }},
		{"esx-labels", fail, "has the label GPU1", func(_ *P, f *F) { f.ESX.Devices[2].Label = "" }},
		{"esx-pairs", pass, "", nil},
		{"esx-pairs", fail, "is not the NIC near", func(_ *P, f *F) { f.ESX.Devices[1].Label, f.ESX.Devices[3].Label = "NIC1", "NIC0" }},
		{"esx-pairs", unknown, "bridges", func(_ *P, f *F) { f.PCI = nil }},
		{"vm-power-on", fail, "16.0 GiB", func(_ *P, f *F) {
			f.ESX.Refusals = []fabric.PowerOnRefusal{{Kind: fabric.RefusedMMIO, Needed: 4206594, Limit: 917504, Text: "total number of pages"}}
		}},
		{"esx-harmless", pass, "passed through", nil},
	}
}

func nicCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	type P = fabric.Plan
	type F = fabric.Facts
	stored := func(key, value string) func(*P, *F) {
		return func(_ *P, f *F) { f.ESX.NICConfigs[1].Settings[key] = fabric.NICStored{Next: value} }
	}
	vf := func(then func(*P, *F)) func(*P, *F) { return func(p *P, f *F) { sriov(p, f); then(p, f) } }
	return []oneCase{
		{"esx-nic-ats", pass, "", nil},
		{"esx-nic-ats", fail, "mt4129_pciconf1", stored("ATS_ENABLED", "False(0)")},
		{"esx-nic-ats", unknown, "not in the text", stored("ATS_ENABLED", "")},
		{"esx-nic-ats", unknown, "passed through", func(_ *P, f *F) { f.ESX.NICConfigs = f.ESX.NICConfigs[:1] }},
		{"esx-nic-ats", na, "", sriov},
		{"esx-nic-sriov", pass, "", nil},
		{"esx-nic-sriov", fail, "SR-IOV is on", stored("SRIOV_EN", "True(1)")},
		{"esx-nic-sriov", pass, "", sriov},
		{"esx-nic-sriov", fail, "SR-IOV is off", vf(stored("SRIOV_EN", "False(0)"))},
		{"esx-nic-sriov", unknown, "", stored("SRIOV_EN", "")},
		{"esx-nic-settings", pass, "", sriov},
		{"esx-nic-settings", fail, "FORCE_ETH_PCI_SUBCLASS", vf(stored("FORCE_ETH_PCI_SUBCLASS", "False(0)"))},
		{"esx-max-vfs", pass, "", sriov},
		{"esx-max-vfs", pass, "", nil},
		{"esx-max-vfs", fail, "4", func(_ *P, f *F) { f.ESX.Modules[0].Parameters["max_vfs"] = "4" }},
		{"esx-max-vfs", fail, "0000:22:00.0", vf(func(_ *P, f *F) { f.ESX.Modules[0].Parameters["max_vfs"] = "4" })},
		{"esx-max-vfs", fail, "3 entries for 2", vf(func(_ *P, f *F) { f.ESX.Modules[0].Parameters["max_vfs"] = "4,4,4" })},
		{"esx-max-vfs", unknown, "", vf(func(_ *P, f *F) { f.ESX.Modules[0].Parameters = nil })},
		{"esx-num-of-vfs", pass, "", sriov},
		{"esx-num-of-vfs", fail, "allows 3", vf(stored("NUM_OF_VFS", "3"))},
		{"esx-num-of-vfs", unknown, "", vf(stored("NUM_OF_VFS", ""))},
		{"esx-vf-spare", pass, "", sriov},
		{"esx-vf-spare", fail, "none to spare", vf(stored("NUM_OF_VFS", "4"))},
		{"esx-num-of-vfs", pass, "", vf(stored("NUM_OF_VFS", "4"))},
		{"esx-vfs", pass, "", sriov},
		{"esx-vfs", fail, "5 of the 8", vf(func(_ *P, f *F) { f.ESX.VFs = f.ESX.VFs[:5] })},
		{"esx-vfs", unknown, "", vf(func(_ *P, f *F) { f.ESX.VFs, f.ESX.Parts = f.ESX.VFs[:5], []string{fabric.FactESXVFs} })},
		{"esx-vfs", na, "", nil},
	}
}

func vmCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	type P = fabric.Plan
	type F = fabric.Facts
	set := func(key, value string) func(*P, *F) { return func(_ *P, f *F) { f.ESX.VMs[0].Extra[key] = value } }
	const size = "pciPassthru.64bitMMIOSizeGB"
	return []oneCase{
		{"vm-start", pass, "", nil},
		{"vm-start", fail, "not EFI", func(_ *P, f *F) { f.ESX.VMs[0].Firmware = "bios" }},
		{"vm-start", fail, "reserved", func(_ *P, f *F) { f.ESX.VMs[0].Reserved = ref(false) }},
		{"vm-start", fail, "version 20", func(_ *P, f *F) { f.ESX.VMs[1].Hardware = 20 }},
		{"vm-start", unknown, "firmware", func(_ *P, f *F) { f.ESX.VMs[0].Firmware = "" }},
		{"vm-mmio", pass, "", nil},
		{"vm-mmio", fail, "needs 288", set(size, "256")},
		{"vm-mmio", fail, "not set to use", func(_ *P, f *F) { delete(f.ESX.VMs[0].Extra, "pciPassthru.use64bitMMIO") }},
		{"vm-mmio", unknown, "advanced settings", func(_ *P, f *F) { f.ESX.VMs[0].Extra = nil }},
		{"vm-mmio-large", pass, "", set(size, "576")},
		{"vm-mmio-large", fail, "577", set(size, "577")},
		{"vm-p2p", pass, "", nil},
		{"vm-p2p", fail, "RelaxACSCheck", func(_ *P, f *F) {
			delete(f.ESX.VMs[0].Extra, "pciPassthru.RelaxACSforP2P")
			f.ESX.VMs[0].Extra["pciPassthru.RelaxACSCheck"] = "TRUE"
		}},
		{"vm-p2p", unknown, "", func(_ *P, f *F) { f.ESX.VMs[0].Extra = nil }},
		{"vm-ids", pass, "", nil},
		{"vm-ids", fail, "swapped", func(_ *P, f *F) { f.ESX.VMs[0].Devices[0].Vendor, f.ESX.VMs[0].Devices[0].Device = "0x1EB8", "0x10DE" }},
		{"vm-ids", fail, "signed", func(_ *P, f *F) { f.ESX.VMs[0].Devices[0].Vendor = "-32634" }},
		{"vm-system", pass, "", nil},
		{"vm-system", fail, "2 different", func(_ *P, f *F) { f.ESX.VMs[0].Devices[0].System = "bb-2" }},
		{"vm-owner", pass, "", nil},
		{"vm-owner", fail, "vm1, service-esx1", func(_ *P, f *F) { f.ESX.VMs[1].Devices[0].Address = "0000:11:00.0" }},
		{"vm-owner", unknown, "", func(_ *P, f *F) { f.ESX.VMs = nil }},
		{"vm-nvswitches", pass, "", nil},
		{"vm-nvswitches", fail, "service-esx1", func(_ *P, f *F) { f.ESX.VMs[0].Devices = append(f.ESX.VMs[0].Devices, f.ESX.VMs[1].Devices[0]) }},
		{"vm-device-order", pass, "", nil},
		{"vm-device-order", fail, "GPU, GPU, NIC, NIC", func(_ *P, f *F) { d := f.ESX.VMs[0].Devices; d[1].Number, d[2].Number = 2, 1 }},
		{"vm-pairs", pass, "", nil},
		{"vm-pairs", fail, "lack their NIC", func(_ *P, f *F) { f.ESX.VMs[0].Devices = f.ESX.VMs[0].Devices[:3] }},
		{"vm-pairs", unknown, "", func(_ *P, f *F) { f.PCI = nil }},
		{"vm-partition", unknown, "Module Id", nil},
		{"vm-partition", fail, "3 GPUs", func(_ *P, f *F) {
			f.ESX.VMs[0].Devices = append(f.ESX.VMs[0].Devices, fabric.VMDevice{Vendor: "4318", Device: "0x2330"})
		}},
		{"vm-service", pass, "", nil},
		{"vm-service", fail, "is off", func(_ *P, f *F) { f.ESX.VMs[1].Power = "off" }},
		{"vm-service", fail, "is not on", func(_ *P, f *F) { f.ESX.VMs = f.ESX.VMs[:1] }},
		{"vm-service", unknown, "", func(_ *P, f *F) { f.ESX.VMs[1].Power = "" }},
		{"vm-service", na, "", func(p *P, _ *F) { p.VSphere.Service = nil }},
	}
}
