package facts

import "railwright.dev/railwright/internal/fabric"

// wholeESX is what an ESX host can say, each field once.
func wholeESX() *fabric.ESX {
	return &fabric.ESX{
		Version: "8.0.3", Build: "24280767", Maintenance: to(false), PowerPolicy: "High Performance",
		Settings:   []fabric.ESXSetting{{Name: "atsSupport", Configured: "TRUE", Runtime: "FALSE", Default: "TRUE"}},
		VIBs:       []fabric.VIB{{Name: "nmst", Version: "4.30.0.54-1OEM.703.0.0.18644231", Vendor: "MEL", Acceptance: "PartnerSupported"}},
		Modules:    []fabric.ESXModule{{Name: "nmlx5_core", Loaded: to(true), Enabled: to(true), Parameters: map[string]string{"max_vfs": "4,4"}}},
		Devices:    []fabric.PassthroughPCI{{Address: "0000:1a:00.0", Vendor: 0x15b3, Device: 0x1021, Name: "ConnectX-7", Capable: to(true), Enabled: to(true), Active: to(true), Label: "NIC0", Labels: true, SRIOV: &fabric.SRIOV{Enabled: true, Active: true, Requested: 4, Present: 4, Most: 16}, Owner: "vm1"}},
		ResetRules: []fabric.ResetRule{{Vendor: 0x10de, Device: 0xffff, Method: "flr", Shareable: "false", Line: 60}},
		MST:        []fabric.MSTDevice{{Type: "ConnectX7(rev:0)", Name: "mt4129_pciconf0", Address: "0000:1a:00.0", RDMA: "mlx5_0", Net: "vmnic4"}},
		NICConfigs: []fabric.NICConfig{{Device: "mt4129_pciconf0", Type: "ConnectX7", Address: "0000:1a:00.0", Settings: map[string]fabric.NICStored{"ATS_ENABLED": {Next: "True(1)"}}}},
		Uplinks:    []fabric.Uplink{{Name: "vmnic4", Address: "0000:1a:00.0", Driver: "nmlx5_core", Up: to(true), Mbps: to(100000), MTU: 9000, What: "ConnectX-7", VFs: to(4)}},
		VFs:        []fabric.ESXVirtual{{Of: "vmnic4", Number: 1, Address: "0000:1a:00.1", Active: to(true), Owner: "vm1"}},
		VMs: []fabric.VM{{Name: "vm1", Host: "esx1", Power: "on", Firmware: "efi", Hardware: 21, CPUs: 64, MemoryMB: 1048576, Reserved: to(true),
			Extra:   map[string]string{"pciPassthru.use64bitMMIO": "TRUE"},
			Devices: []fabric.VMDevice{{Number: 1, Kind: "direct", Address: "0000:1a:00.0", Vendor: "0x15b3", Device: "0x1021", Label: "NIC0", System: "53df6eeb"}}}},
		Refusals: []fabric.PowerOnRefusal{{VM: "vm1", Kind: fabric.RefusedMMIO, Device: "0000:1a:00.0", Text: "total number of pages needed", Line: 3, Needed: 2, Limit: 1}},
		Reboot:   []fabric.RebootReason{{Source: "mlxconfig", Text: "-I- Please reboot machine"}},
		Firmware: []fabric.NICFirmware{{Device: "0000:1a:00.0", Version: "28.39.1002", Released: "8.11.2023", PSID: "MT_0000000838", OriginalPSID: "MT_0000000838"}},
		RDMA:     []fabric.ESXRDMA{{Name: "vmrdma0", Driver: "nmlx5_rdma", State: "Active", MTU: 4096, Speed: "100 Gbps", Uplink: "vmnic4", Kernel: "vmk1"}},
		BARs:     []fabric.DeviceBAR{{Device: "0000:1a:00.0", Number: 1, Bytes: 1 << 30}},
		Vectors:  to(170), Parts: []string{fabric.FactESXVMs}, NoVIBs: []string{"bnxtnet"},
	}
}
