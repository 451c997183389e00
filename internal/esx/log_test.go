package esx

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func TestRefusals(t *testing.T) {
	for name, tt := range map[string]struct {
		text string
		want []fabric.PowerOnRefusal // without text and line
	}{
		"pages, ESX 8": {"2025-01-02T03:04:05.678Z In(05) vmx - PCIPassthru: total number of pages needed (268435456) exceeds limit (134217728), failing\n2025-01-02T03:04:05.679Z In(05) vmx - Module 'DevicePowerOn' power on failed.\n",
			[]fabric.PowerOnRefusal{{Kind: fabric.RefusedMMIO, Needed: 268435456, Limit: 134217728}}},
		"no reason": {"2025-01-02T03:04:05.679Z In(05) vmx - Module 'DevicePowerOn' power on failed.\n", []fabric.PowerOnRefusal{{Kind: fabric.RefusedPowerOn}}},
		"identity, in one line": {`Failed to power on virtual machine gpu-vm1. The systemId does not match the current system or the deviceId, and the vendorId does not match the device currently at 27:0.0.` + "\n",
			[]fabric.PowerOnRefusal{{VM: "gpu-vm1", Kind: fabric.RefusedIdentity, Device: "0000:1b:00.0"}}},
		"identity, wrapped": {"The operation for the entity \"gpu-vm2\" failed with the following message: \"The systemId does not match\nthe current system or the deviceId, and the vendorId does not match the device\ncurrently at 155:0.0.\".\n",
			[]fabric.PowerOnRefusal{{VM: "gpu-vm2", Kind: fabric.RefusedIdentity, Device: "0000:9b:00.0"}}},
		"function": {"Failed to power on virtual machine vf-vm. No SR-IOV virtual function (VF) is available for given physical function (PF) (0000:1a:00.0).\n",
			[]fabric.PowerOnRefusal{{VM: "vf-vm", Kind: fabric.RefusedNoVF, Device: "0000:1a:00.0"}}},
		"hot-plug": {"2025-01-02T03:04:05.678Z In(182) vmkernel: cpu3:2097947)PCIEHP: 1496: 0000:19:01.0: hotplug slot:0x1 (0000:1b:00.0) Adapter removed.\n2025-01-02T03:04:06.678Z In(182) vmkernel: cpu3:2097947)PCIEHP: 1477: 0000:19:01.0: hotplug slot:0x1 (0000:1b:00.0) Adapter inserted.\n",
			[]fabric.PowerOnRefusal{{Kind: fabric.RefusedHotPlug, Device: "0000:1b:00.0"}}},
		"hot-plug without harm": {"2025-01-02T03:04:06.678Z In(182) vmkernel: cpu3:2097947)PCIEHP: 1477: 0000:19:01.0: hotplug slot:0x1 (0000:1b:00.0) Adapter inserted.\n", nil},
		"vectors":               {"2025-01-02T03:04:05Z cpu9:739725)WARNING: IntrVector: 290: Out of interrupt vectors\n", []fabric.PowerOnRefusal{{Kind: fabric.RefusedVectors}}},
		"virtual IOMMU":         {"The virtual machine cannot be powered on because IOMMU virtualization is not allowed with VGPU.\n", []fabric.PowerOnRefusal{{Kind: fabric.RefusedIOMMU}}},
		"memory":                {"Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize(1048576).\n", []fabric.PowerOnRefusal{{Kind: fabric.RefusedReserved}}},
		"register":              {"Failed to register the device pciPassthru0 for 27:0.0 due to unavailable hardware or software support.\n", []fabric.PowerOnRefusal{{Kind: fabric.RefusedDevice, Device: "0000:1b:00.0"}}},
		"no host":               {"Insufficient resources. One or more devices (pciPassthru0, pciPassthru1) required by VM gpu-vm3 are not available on host esx1.\n", []fabric.PowerOnRefusal{{VM: "gpu-vm3", Kind: fabric.RefusedDevice}}},
		"fine":                  {"2025-01-02T03:04:05.678Z In(05) vmx - PCIPassthru: successfully created the IOMMU mappings\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			for _, text := range []string{tt.text, strings.ReplaceAll(tt.text, "\n", "\r\n"), "some words before\n\n" + tt.text + "and after\n"} {
				var got []fabric.PowerOnRefusal
				if e := read(t, text).ESX; e != nil {
					for _, r := range e.Refusals {
						if r.Text == "" || r.Line == 0 {
							t.Errorf("no line: %+v", r)
						}
						r.Text, r.Line = "", 0
						got = append(got, r)
					}
				}
				same(t, tt.want, got)
			}
		})
	}
}

func TestResults(t *testing.T) {
	e := whole(t, `[root@esx1:~] esxcli software vib install -d /tmp/nmst.zip
Installation Result
   Message: The update completed successfully, but the system needs to be rebooted for the changes to be effective.
   Reboot Required: true
   VIBs Installed: MEL_bootbank_nmst_4.30.0.54-1OEM.703.0.0.18644231,
      MEL_bootbank_mft_4.30.0.54-0
   VIBs Removed: 
   VIBs Skipped: 
[root@esx1:~] esxcli software vib install -d /tmp/other.zip
Installation Result
   Message: Operation finished successfully.
   Reboot Required: false
   VIBs Installed: VMW_bootbank_other_1.0-1
   VIBs Removed:
   VIBs Skipped:
`)
	if len(e.Reboot) != 1 || len(e.VIBs) != 3 || e.Whole(fabric.FactESXVIBs) {
		t.Errorf("%+v, parts %q", e, e.Parts)
	}
}

// TestForeign: texts of Linux are not of an ESX host, and prose is no output.
func TestForeign(t *testing.T) {
	for _, text := range []string{
		"$ lsmod\nModule                  Size  Used by\nmlx5_core            2297856  1 mlx5_ib\n",
		"[root@node1 ~]# dmesg | tail -2\n[   12.3] mlx5_core 0000:1a:00.0: firmware version: 28.39.1002\n",
		"esxcli is the tool of ESX. The vmware -v command shows its version, and mst status the devices.\n",
		"Name  Version\nfoo   1.2\n", "key = \"value\"\n[section]\nfirmware_dir = \"/lib\"\n", "<?xml version=\"1.0\"?>\n<system version=\"1\">\n</system>\n",
		"0000:1a:00.0\n", "apiVersion: v1\nkind: Pod\nmetadata:\n  name: gpu\n", "Disabled\n", "170\n",
	} {
		if r := read(t, text); r.Proven || r.ESX != nil {
			t.Errorf("%q: %+v", text, r.ESX)
		}
	}
}
