package esx

import (
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// Classes and templates of virtual machines in each form that people paste.
func TestManifests(t *testing.T) {
	gpu, nic := fabric.VMDevice{Kind: "dynamic", Vendor: "0x10de", Device: "0x2330", Label: "GPU0"}, fabric.VMDevice{Number: 1, Kind: "dynamic", Vendor: "5555", Device: "4129", Label: "NIC0"}
	for name, tt := range map[string]struct {
		text string
		want fabric.VM
	}{
		"list of a class": {
			"apiVersion: vmoperator.vmware.com/v1alpha3\nkind: VirtualMachineClass\nmetadata:\n  name: c8\nspec:\n  hardware:\n    devices:\n      dynamicDirectPathIODevices:\n" +
				"      - vendorID: 0x10de # NVIDIA\n        deviceID: 0x2330\n        customLabel: GPU0\n      - customLabel: \"NIC0\"\n        deviceID: 4129\n        vendorID: 5555\n",
			fabric.VM{Name: "c8", Class: true, Operator: true, Devices: []fabric.VMDevice{gpu, nic}},
		},
		"JSON on one line": {
			`{"apiVersion":"vmoperator.vmware.com/v1alpha3","kind":"VirtualMachineClass","metadata":{"name":"c8"},"spec":{"hardware":{"devices":{"dynamicDirectPathIODevices":[{"vendorID":4318,"deviceID":9008},{"customLabel":"NIC0","vendorID":5555,"deviceID":4129}]}}}}`,
			fabric.VM{Name: "c8", Class: true, Operator: true, Devices: []fabric.VMDevice{{Kind: "dynamic", Vendor: "4318", Device: "9008"}, nic}},
		},
		"size by annotation": {
			"kind: VirtualMachineClass\nmetadata:\n  annotations:\n    vmoperator.vmware.com/pci-passthru-64bit-mmio-size: \"1056\"\n  name: c8\n",
			fabric.VM{Name: "c8", Class: true, Operator: true, Extra: map[string]string{"pciPassthru.64bitMMIOSizeGB": "1056", "pciPassthru.use64bitMMIO": "TRUE"}},
		},
		"body of the API": {
			"\"config_spec\": {\n \"_typeName\": \"VirtualPCIPassthrough\",\n \"backing\": {\n  \"customLabel\": \"GPU0\",\n  \"allowedDevice\": [\n   {\n    \"vendorId\": 4318,\n    \"deviceId\": 9008\n   }\n  ]\n }\n" +
				" \"extraConfig\": [\n  {\n   \"key\": \"pciPassthru.64bitMMIOSizeGB\",\n   \"value\": \"160\"\n  }\n ]\n",
			fabric.VM{Class: true, Extra: map[string]string{"pciPassthru.64bitMMIOSizeGB": "160"}, Devices: []fabric.VMDevice{{Kind: "dynamic", Vendor: "4318", Device: "9008", Label: "GPU0"}}},
		},
		"variables of TKG": {
			"VSPHERE_WORKER_PCI_DEVICES: \"0x10DE:0x1EB8\"\nVSPHERE_WORKER_CUSTOM_VMX_KEYS: 'pciPassthru.allowP2P=true,pciPassthru.64bitMMIOSizeGB=32'\nVSPHERE_WORKER_HARDWARE_VERSION: vmx-17\n",
			fabric.VM{Class: true, Hardware: 17, Extra: map[string]string{"pciPassthru.allowP2P": "true", "pciPassthru.64bitMMIOSizeGB": "32"}, Devices: []fabric.VMDevice{{Kind: "dynamic", Vendor: "0x10DE", Device: "0x1EB8"}}},
		},
	} {
		r := Read(map[string][]byte{"text": []byte(tt.text)})
		if r.ESX == nil || len(r.ESX.VMs) != 1 || r.Proven {
			t.Errorf("%s: %+v", name, r.ESX)
			continue
		}
		same(t, tt.want, r.ESX.VMs[0])
	}
	if r := Read(map[string][]byte{"text": []byte("spec:\n  deviceID: mlx5_0\n  vendorID: acme-corp\n")}); r.ESX != nil {
		t.Errorf("ids of other systems are taken for those of PCI: %+v", r.ESX)
	}
}
