package esxcheck

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// A planned virtual machine has the devices of its class, wherever it started.
func TestPlannedVM(t *testing.T) {
	for name, c := range map[string]struct {
		want   fabric.Status
		says   string
		change func(*fabric.VM)
	}{
		"as planned":             {fabric.Pass, "", func(*fabric.VM) {}},
		"ids by the host's tree": {fabric.Pass, "", func(v *fabric.VM) { v.Devices[1].Vendor, v.Devices[1].Device = "", "" }},
		"adapter of SR-IOV": {fabric.Pass, "", func(v *fabric.VM) {
			v.Devices[0] = fabric.VMDevice{Kind: "sriov", Vendor: "0x15b3", Device: "0x1021", Address: "0000:12:00.0"}
		}},
		"whole NIC":    {fabric.Fail, "no virtual function of it is left", func(v *fabric.VM) { v.Devices[0].Device = "0x1021" }},
		"one less":     {fabric.Fail, "has 1 x 15b3:101e", func(v *fabric.VM) { v.Devices = v.Devices[:1] }},
		"none":         {fabric.Fail, "has no device", func(v *fabric.VM) { v.Devices = nil }},
		"other label":  {fabric.Fail, "label NIC9", func(v *fabric.VM) { v.Devices[0].Label = "NIC9" }},
		"unknown id":   {fabric.Unknown, "ids of 1 device", func(v *fabric.VM) { v.Devices[0] = fabric.VMDevice{Address: "0000:77:00.0"} }},
		"no such name": {fabric.Unknown, "not made yet", func(v *fabric.VM) { v.Name = "other" }},
	} {
		p, f := planOf(), hostOf()
		sriov(p, f)
		p.VSphere.Classes = []fabric.VMClass{{Name: "c", NICs: 2, Nodes: []string{"vm1"}, Devices: []fabric.VMClassDevice{{Label: "NIC0", Vendor: 0x15b3, Device: 0x101e}, {Label: "NIC1", Vendor: 0x15b3, Device: 0x101e}}}}
		f.PCI = append(f.PCI, fabric.PCIDevice{Address: "0000:22:00.1", Vendor: 0x15b3, Device: 0x101e, Class: 0x020700})
		vm := fabric.VM{Name: "vm1", Devices: []fabric.VMDevice{{Kind: "dynamic", Label: "NIC0", Vendor: "5555", Device: "4126"}, {Number: 1, Kind: "direct", Address: "0000:22:00.1", Vendor: "0x15b3", Device: "0x101e"}}}
		c.change(&vm)
		f.ESX.VMs = []fabric.VM{vm}
		elsewhere := &fabric.Facts{Node: "esx9", ESX: f.ESX, PCI: f.PCI}
		empty := &fabric.Facts{Node: "esx1", ESX: &fabric.ESX{}}
		for _, hosts := range [][]*fabric.Facts{{f}, {empty, elsewhere}} {
			found := vmPlannedRule().Judge(&Input{Plan: p, Hosts: hosts})
			if found[0].Status != c.want || !strings.Contains(found[0].Why, c.says) {
				t.Errorf("%s: %s %q, want %s %q", name, found[0].Status, found[0].Why, c.want, c.says)
			}
		}
	}
}
