package esxcheck

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// TestWithoutGoal: a host that has only what every host has is blamed for nothing where no plan says what it is to be; with a sign
// that somebody sets it up it is.
func TestWithoutGoal(t *testing.T) {
	off := []fabric.ESXSetting{{Name: "disableACSCheck", Configured: "TRUE"}, {Name: "atsSupport", Configured: "FALSE"}, {Name: "vga", Configured: "TRUE"}, {Name: "a", Configured: "1"}, {Name: "b", Configured: "1"}}
	whole := map[string]fabric.NICStored{"ATS_ENABLED": {Next: "False(0)"}}
	for _, name := range []string{"A", "B", "C", "D", "E", "F", "G", "H"} {
		whole[name] = fabric.NICStored{Next: "1"}
	}
	storage := fabric.PassthroughPCI{Address: "0000:5e:00.0", Vendor: 0x15b3, Device: 0x1015}
	given := storage
	given.Enabled, given.Active = ref(true), ref(true)
	for _, tt := range []struct {
		rule string
		want fabric.Status
		esx  fabric.ESX
	}{
		{"esx-nic-model", fabric.NotApplicable, fabric.ESX{Devices: []fabric.PassthroughPCI{storage}}},
		{"esx-nic-model", fabric.Fail, fabric.ESX{MST: []fabric.MSTDevice{{Name: "mt4117_pciconf0", Address: "0000:5e:00.0"}}}},
		{"esx-tools", fabric.Unknown, fabric.ESX{VIBs: []fabric.VIB{{Name: "nmlx5-core", Version: "4.23.8.1"}}}},
		{"esx-tools", fabric.Fail, fabric.ESX{VIBs: []fabric.VIB{{Name: "mft", Version: "4.23.8.1"}}}},
		{"esx-tools", fabric.Fail, fabric.ESX{VIBs: []fabric.VIB{{Name: "nmlx5-core", Version: "4.23.8.1"}}, Devices: []fabric.PassthroughPCI{storage}}},
		{"esx-nic-driver", fabric.Unknown, fabric.ESX{Modules: []fabric.ESXModule{{Name: nicModule, Loaded: ref(false)}}}},
		{"esx-nic-driver", fabric.Fail, fabric.ESX{Modules: []fabric.ESXModule{{Name: nicModule, Loaded: ref(false)}}, Devices: []fabric.PassthroughPCI{storage}}},
		{"esx-kernel-settings", fabric.Unknown, fabric.ESX{Version: "8.0.3", Settings: off}},
		{"esx-kernel-settings", fabric.Fail, fabric.ESX{Version: "8.0.3", Settings: off[:2]}},
		{"esx-kernel-settings", fabric.Fail, fabric.ESX{Version: "8.0.3", Settings: off, Devices: []fabric.PassthroughPCI{given}}},
		{"esx-nic-ats", fabric.Unknown, fabric.ESX{NICConfigs: []fabric.NICConfig{{Device: "mt4129_pciconf0", Settings: whole}}}},
		{"esx-nic-ats", fabric.Fail, fabric.ESX{NICConfigs: []fabric.NICConfig{{Device: "mt4129_pciconf0", Settings: map[string]fabric.NICStored{"ATS_ENABLED": {Next: "False(0)"}}}}}},
		{"vm-p2p", fabric.NotApplicable, fabric.ESX{VMs: []fabric.VM{{Name: "vm1", Extra: map[string]string{}, Devices: []fabric.VMDevice{{Vendor: "0x10de", Device: "0x2330"}, {Vendor: "0x8086", Device: "0x1528"}}}}}},
		{"vm-p2p", fabric.Fail, fabric.ESX{VMs: []fabric.VM{{Name: "vm1", Extra: map[string]string{}, Devices: []fabric.VMDevice{{Vendor: "0x10de", Device: "0x2330"}, {Vendor: "0x15b3", Device: "0x1021"}}}}}},
	} {
		for _, f := range judged(nil, &fabric.Facts{Node: "esx1", ESX: &tt.esx}, tt.rule) {
			if f.Status != tt.want {
				t.Errorf("%s: %s, not %s: %s", tt.rule, f.Status, tt.want, f.Why)
			}
			if f.Status == fabric.Unknown && len(f.Evidence) == 0 {
				t.Errorf("%s: nothing to show of %q", tt.rule, f.Why)
			}
		}
	}
}
