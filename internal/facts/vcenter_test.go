package facts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

func TestJoinESX(t *testing.T) {
	yes, no := true, false
	shell := &fabric.Facts{ESX: &fabric.ESX{Version: "8.0.3", Maintenance: &no,
		Settings: []fabric.ESXSetting{{Name: "atsSupport", Configured: "TRUE", Runtime: "FALSE"}, {Name: "disableACSCheck", Configured: "TRUE"}},
		Devices:  []fabric.PassthroughPCI{{Address: "0000:18:00.0", Enabled: &yes}, {Address: "0000:19:00.0", Label: "GPU1"}},
		VMs:      []fabric.VM{{Name: "a", Firmware: "efi", Extra: map[string]string{"k": "file"}}, {Name: "only-in-files"}}},
		Missing: []fabric.Missing{{What: "esx.mst", Source: "mst status"}, {What: "esx.power_policy"}}}
	api := &fabric.Facts{PCI: []fabric.PCIDevice{{Address: "0000:18:00.0"}}, ESX: &fabric.ESX{Version: "8.0.3", Build: "24280767", Maintenance: &yes, PowerPolicy: "Balanced",
		Settings: []fabric.ESXSetting{{Name: "atsSupport", Configured: "TRUE"}, {Name: "disableACSCheck", Configured: "FALSE"}, {Name: "maxVMs", Configured: "1"}},
		Devices: []fabric.PassthroughPCI{{Address: "0000:18:00.0", Vendor: 0x10de, Enabled: &no, Active: &no, Label: "GPU0", Labels: true, SRIOV: &fabric.SRIOV{Most: 8}},
			{Address: "0000:19:00.0"}, {Address: "0000:1a:00.0", Labels: true}},
		VMs:    []fabric.VM{{Name: "a", Power: "on", Extra: map[string]string{"k": "api"}}},
		Reboot: []fabric.RebootReason{{Source: "api"}}},
		Missing: []fabric.Missing{{What: "esx.settings"}, {What: "esx.modules"}, {What: "esx.mst"}}}
	got := JoinESX(shell, api)
	want := &fabric.ESX{Version: "8.0.3", Build: "24280767", Maintenance: &no, PowerPolicy: "Balanced",
		Settings: []fabric.ESXSetting{{Name: "atsSupport", Configured: "TRUE", Runtime: "FALSE"}, {Name: "disableACSCheck", Configured: "TRUE"}, {Name: "maxVMs", Configured: "1"}},
		Devices: []fabric.PassthroughPCI{{Address: "0000:18:00.0", Vendor: 0x10de, Enabled: &yes, Active: &no, Label: "GPU0", Labels: true, SRIOV: &fabric.SRIOV{Most: 8}},
			{Address: "0000:19:00.0", Label: "GPU1"}, {Address: "0000:1a:00.0", Labels: true}},
		VMs:    []fabric.VM{{Name: "a", Power: "on", Firmware: "efi", Extra: map[string]string{"k": "api"}}, {Name: "only-in-files"}},
		Reboot: []fabric.RebootReason{{Source: "api"}}}
	if diff := cmp.Diff(want, got.ESX); diff != "" {
		t.Error(diff)
	}
	var what []string
	for _, d := range got.Disagree {
		what = append(what, d.What)
	}
	if diff := cmp.Diff([]string{"esx.maintenance", "esx.settings disableACSCheck", "esx.devices.enabled 0000:18:00.0"}, what); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]fabric.Missing{{What: "esx.mst", Source: "mst status"}, {What: "esx.modules"}}, got.Missing); diff != "" || len(got.PCI) != 1 {
		t.Error(diff)
	}
	if shell.ESX.Build != "" || len(shell.ESX.Settings) != 2 || shell.ESX.Devices[0].Label != "" {
		t.Error("the shell's facts were changed")
	}
	if JoinESX(nil, api) != api || JoinESX(shell, nil) != shell {
		t.Error("one side alone is not itself")
	}
}
