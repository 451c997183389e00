package vcenter

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

func TestHost(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.machineOn(t, types.VirtualMachinePowerStatePoweredOff)
	info := s.info(gpu0).GetHostPciPassthruInfo()
	info.PassthruEnabled, info.HardwareLabel = true, "GPU0"
	s.host.Config.Option = []types.BaseOptionValue{&types.OptionValue{Key: "VMkernel.Boot.disableACSCheck", Value: false}, &types.OptionValue{Key: "VMkernel.Boot.maxVMs", Value: int64(12)}, &types.OptionValue{Key: "Mem.Other", Value: int64(1)}}
	h := must(c.Host(t.Context(), s.host.Name))(t)
	if h.Cluster != "DC0_C0" || h.Datacenter != "DC0" || !h.Connected() || h.Boot.Year() != 2026 || h.ESX.Maintenance == nil || *h.ESX.Maintenance {
		t.Errorf("%+v", h)
	}
	if diff := cmp.Diff([]fabric.ESXSetting{{Name: "disableACSCheck", Configured: "FALSE"}, {Name: "maxVMs", Configured: "12"}}, h.ESX.Settings); diff != "" {
		t.Error(diff)
	}
	want := fabric.PassthroughPCI{Address: gpu0, Vendor: 0x10de, Device: 0x2330, Name: "V D", Capable: yes(), Enabled: yes(), Active: no(), Label: "GPU0", Labels: true}
	if diff := cmp.Diff(want, h.ESX.Devices[0]); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(&fabric.SRIOV{Most: 8}, h.ESX.Devices[2].SRIOV); diff != "" {
		t.Error(diff)
	}
	if p := h.PCI[3]; p.Vendor != 0x8086 || p.Device != 0x8032 || p.Class != 0x020000 || p.Parent != "0000:17:01.0" {
		t.Errorf("%+v", p) // 0x8032 is negative in the API
	}
	if h.ESX.PowerPolicy != "Balanced" || h.ESX.Version != "8.0.3" || len(h.ESX.VMs) != 1 || h.ESX.Uplinks[0].Address != nic1 {
		t.Errorf("%+v", h.ESX)
	}
	if h.ESX.VIBs != nil || h.ESX.Modules != nil { // the simulator has no image manager
		t.Errorf("%+v %+v", h.ESX.VIBs, h.ESX.Modules)
	}
}

func TestHostThatSaysNothing(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.host.Config.PciPassthruInfo, s.host.Hardware.PciDevice = nil, nil
	s.host.Runtime.ConnectionState = types.HostSystemConnectionStateDisconnected
	h := must(c.Host(t.Context(), s.host.Name))(t)
	if h.ESX.Maintenance != nil || h.ESX.Devices != nil || h.PCI != nil {
		t.Errorf("%+v %+v", h.ESX, h.PCI)
	}
	if len(h.Missing) == 0 || !strings.Contains(fmt.Sprint(h.Missing), "disconnected") {
		t.Errorf("%+v", h.Missing)
	}
}

func TestFindHost(t *testing.T) {
	hosts := []Host{{Name: "esx01.a.example"}, {Name: "esx01.b.example"}, {Name: "esx02.a.example"}, {Name: "esx02"}, {Name: "ESX03.a.example"}}
	for name, want := range map[string]string{"esx01.a.example": "esx01.a.example", "esx02": "esx02", "esx03": "ESX03.a.example", "esx01": "", "esx0": "", "a": ""} {
		h, err := FindHost(hosts, name)
		if (err == nil) != (want != "") || err == nil && h.Name != want {
			t.Errorf("%s: %v %v", name, h, err)
		}
	}
}

func TestThousandHosts(t *testing.T) {
	s := newSim(t, 1)
	s.crowd(999)
	c := s.open(t)
	begin := time.Now()
	hosts := must(c.Hosts(t.Context()))(t)
	took := time.Since(begin)
	questions := s.calls.count("RetrievePropertiesEx") + s.calls.count("ContinueRetrievePropertiesEx")
	t.Logf("%d hosts in %v by %d questions", len(hosts), took, questions)
	if len(hosts) != 1000 || questions > 4 || took > 30*time.Second {
		t.Errorf("%d hosts, %d questions, %v", len(hosts), questions, took)
	}
}

func TestVMs(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	vm := s.machineOn(t, types.VirtualMachinePowerStatePoweredOn)
	give(vm, &types.VirtualPCIPassthroughDeviceBackingInfo{Id: "00000:024:00.0", DeviceId: "2330", VendorId: 0x10de, SystemId: "sys"},
		&types.VirtualPCIPassthroughDynamicBackingInfo{CustomLabel: "NIC0", AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: 0x15b3, DeviceId: 0x1021}}, AssignedId: nic0},
		&types.VirtualPCIPassthroughDynamicBackingInfo{AllowedDevice: []types.VirtualPCIPassthroughAllowedDevice{{VendorId: -32634, DeviceId: -32718}}},
		&types.VirtualPCIPassthroughVmiopBackingInfo{Vgpu: "grid"})
	vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "pciPassthru.use64bitMMIO", Value: "TRUE"}}
	vm.Config.MemoryReservationLockedToMax = yes()
	vms := must(c.VMs(t.Context()))(t)
	want := []fabric.VMDevice{{Number: 0, Kind: "direct", Address: gpu0, Vendor: "0x10de", Device: "0x2330", System: "sys"}, {Number: 1, Kind: "dynamic", Address: nic0, Vendor: "0x15b3", Device: "0x1021", Label: "NIC0"},
		{Number: 2, Kind: "dynamic", Vendor: "0x8086", Device: "0x8032"}, {Number: 3, Kind: "Vmiop"}}
	if diff := cmp.Diff(want, vms[0].Devices); diff != "" {
		t.Error(diff)
	}
	if v := vms[0]; v.Power != "on" || v.Host != s.host.Name || v.Hardware == 0 || v.Extra["pciPassthru.use64bitMMIO"] != "TRUE" || v.Reserved == nil || !*v.Reserved || v.MemoryMB == 0 {
		t.Errorf("%+v", v)
	}
	h := must(c.Host(t.Context(), s.host.Name))(t)
	if h.ESX.Devices[0].Owner != vm.Name || h.ESX.Devices[1].Owner != "" || h.ESX.Devices[2].Owner != vm.Name {
		t.Errorf("%+v", h.ESX.Devices)
	}
}

// give attaches devices to a machine of the simulator, with keys as vCenter gives them.
func give(vm *simulator.VirtualMachine, backings ...types.BaseVirtualDeviceBackingInfo) {
	for i, b := range backings {
		vm.Config.Hardware.Device = append(vm.Config.Hardware.Device, &types.VirtualPCIPassthrough{VirtualDevice: types.VirtualDevice{Key: int32(13000 + i), Backing: b}})
	}
}

func TestAddress(t *testing.T) {
	for id, want := range map[string]string{"0000:18:00.0": gpu0, "0000:3C:1F.7": "0000:3c:1f.7", "00000:024:00.0": gpu0, "00002:255:31.7": "0002:ff:1f.7", "18:00.0": gpu0,
		"10000:01:00.0": "10000:01:00.0", "": "", "no:such:device": "no:such:device", "host-1.0": "host-1.0"} {
		if got := Address(id); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
}

func TestAtLeast(t *testing.T) {
	for version, want := range map[string]bool{"8.0.2": true, "8.0.3": true, "9.0.0": true, "8.1": true, "8.0.1": false, "8.0": false, "7.0.3": false, "": false, "x": false} {
		if got := atLeast(version, 8, 0, 2); got != want {
			t.Errorf("%s: %v", version, got)
		}
	}
}
