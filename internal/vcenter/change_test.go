package vcenter

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"railwright.dev/railwright/internal/fabric"
)

func dynamicDevice(label string) fabric.VMDevice {
	return fabric.VMDevice{Kind: "dynamic", Vendor: "0x10de", Device: "9008", Label: label}
}

// ready is a machine that is off, on a host whose GPU0 is in passthrough.
func ready(t *testing.T, s *sim) *simulator.VirtualMachine {
	vm := s.machineOn(t, types.VirtualMachinePowerStatePoweredOff)
	info := s.info(gpu0).GetHostPciPassthruInfo()
	info.PassthruEnabled, info.PassthruActive, info.HardwareLabel = true, true, "GPU0"
	return vm
}

func TestChangeVM(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	vm := ready(t, s)
	vm.Config.ExtraConfig = []types.BaseOptionValue{&types.OptionValue{Key: "pciPassthru.use64bitmmio", Value: "FALSE"}}
	change := VMChange{Extra: map[string]string{"pciPassthru.use64bitMMIO": "TRUE", "pciPassthru.64bitMMIOSizeGB": "160"}, Attach: []fabric.VMDevice{dynamicDevice("GPU0")}}
	undo := must(c.ChangeVM(t.Context(), vm.Name, change))(t)
	if diff := cmp.Diff(VMChange{Extra: map[string]string{"pciPassthru.use64bitmmio": "FALSE", "pciPassthru.64bitMMIOSizeGB": ""}, Detach: change.Attach, Reserve: no()}, undo); diff != "" {
		t.Error(diff)
	}
	now := must(c.VMs(t.Context()))(t)[0]
	if now.Extra["pciPassthru.use64bitmmio"] != "TRUE" || now.Extra["pciPassthru.64bitMMIOSizeGB"] != "160" || len(now.Devices) != 1 || now.Devices[0].Label != "GPU0" || now.Reserved == nil || !*now.Reserved {
		t.Errorf("%+v", now)
	}
	change.Extra["pciPassthru.use64bitMMIO"] = "true" // ESX does not look at case
	if again := must(c.ChangeVM(t.Context(), vm.Name, change))(t); again.Extra != nil || again.Detach != nil || s.calls.count("ReconfigVM_Task") != 1 {
		t.Errorf("%+v", again)
	}
	must(c.ChangeVM(t.Context(), vm.Name, undo))(t)
	if now := must(c.VMs(t.Context()))(t)[0]; len(now.Devices) != 0 || now.Extra["pciPassthru.use64bitmmio"] != "FALSE" || now.Extra["pciPassthru.64bitMMIOSizeGB"] != "" || *now.Reserved {
		t.Errorf("%+v", now)
	}
}

func TestAttachDirect(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	vm := ready(t, s)
	offer := &types.ConfigTarget{PciPassthrough: []types.BaseVirtualMachinePciPassthroughInfo{&types.VirtualMachinePciPassthroughInfo{PciDevice: types.HostPciDevice{Id: gpu0, VendorId: 0x10de, DeviceId: 0x2330}, SystemId: "sys"}}}
	s.Map().Get(vm.EnvironmentBrowser).(*simulator.EnvironmentBrowser).QueryConfigTargetResponse.Returnval = offer
	must(c.ChangeVM(t.Context(), vm.Name, VMChange{Attach: []fabric.VMDevice{{Kind: "direct", Address: gpu0}}}))(t)
	d := must(c.VMs(t.Context()))(t)[0].Devices
	if len(d) != 1 || d[0].Address != gpu0 || d[0].Device != "0x2330" || d[0].System != "sys" {
		t.Errorf("%+v", d)
	}
	if _, err := c.ChangeVM(t.Context(), vm.Name, VMChange{Attach: []fabric.VMDevice{{Kind: "direct", Address: gpu1}}}); !Is(err, Refused) || !strings.Contains(err.Error(), "does not offer") {
		t.Error(err)
	}
}

func TestChangeVMRefuses(t *testing.T) {
	extra := VMChange{Extra: map[string]string{"a": "b"}}
	attach := func(d fabric.VMDevice) VMChange { return VMChange{Attach: []fabric.VMDevice{d}} }
	for name, test := range map[string]struct {
		prepare func(*testing.T, *sim, *simulator.VirtualMachine)
		change  VMChange
		kind    Kind
		text    string
	}{
		"it runs": {func(t *testing.T, s *sim, _ *simulator.VirtualMachine) {
			s.machineOn(t, types.VirtualMachinePowerStatePoweredOn)
		}, extra, Refused, "not off but on"},
		"it is suspended": {func(t *testing.T, s *sim, _ *simulator.VirtualMachine) {
			s.machineOn(t, types.VirtualMachinePowerStateSuspended)
		}, extra, Refused, "suspended"},
		"a template":    {func(_ *testing.T, _ *sim, vm *simulator.VirtualMachine) { vm.Config.Template = true }, extra, Refused, "template"},
		"no such label": {nil, attach(dynamicDevice("GPU7")), Refused, `label "GPU7"`},
		"not in force": {func(_ *testing.T, s *sim, _ *simulator.VirtualMachine) {
			s.info(gpu0).GetHostPciPassthruInfo().PassthruActive = false
		}, attach(dynamicDevice("GPU0")), Refused, "is active"},
		"ids that are none":   {nil, attach(fabric.VMDevice{Kind: "dynamic", Vendor: "nvidia", Device: "1"}), Refused, "not a PCI id"},
		"a kind that is none": {nil, attach(fabric.VMDevice{Kind: "sriov"}), Refused, "kind"},
		"a device of another": {func(t *testing.T, s *sim, vm *simulator.VirtualMachine) {
			other := *vm
			other.Self.Value, other.Name = "vm-other", "other"
			config := *vm.Config
			other.Config = &config
			give(&other, &types.VirtualPCIPassthroughDeviceBackingInfo{Id: gpu0})
			s.host.Vm = append(s.host.Vm, s.Map().Put(&other).Reference())
		}, attach(fabric.VMDevice{Kind: "direct", Address: gpu0}), Refused, "is of virtual machine other"},
		"a host that is gone": {func(_ *testing.T, s *sim, _ *simulator.VirtualMachine) {
			s.host.Runtime.ConnectionState = types.HostSystemConnectionStateNotResponding
		}, attach(dynamicDevice("GPU0")), Refused, "notResponding"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1)
			c := s.open(t)
			vm := ready(t, s)
			if test.prepare != nil {
				test.prepare(t, s, vm)
			}
			if _, err := c.ChangeVM(t.Context(), vm.Name, test.change); !Is(err, test.kind) || !strings.Contains(err.Error(), test.text) {
				t.Error(err)
			}
			if n := s.calls.count("ReconfigVM_Task"); n != 0 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestNoSuchVM(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	if _, err := c.SetExtra(t.Context(), "none", map[string]string{"a": "b"}); !Is(err, NotFound) {
		t.Error(err)
	}
}

// busyMachine is one whose changes fail, or do not end.
type busyMachine struct {
	*simulator.VirtualMachine
	forever chan struct{} // nil: it fails
	begun   func()
	version string // that the change was asked for against
}

func (m *busyMachine) ReconfigVMTask(ctx *simulator.Context, r *types.ReconfigVM_Task) soap.HasFault {
	m.version = r.Spec.ChangeVersion
	task := simulator.CreateTask(r.This, "reconfigVm", func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		if m.forever != nil {
			m.begun()
			<-m.forever
		}
		f := &types.ConcurrentAccess{}
		f.FaultMessage = []types.LocalizableMessage{{Key: "k", Message: "somebody else was first"}}
		return nil, f
	})
	return &methods.ReconfigVM_TaskBody{Res: &types.ReconfigVM_TaskResponse{Returnval: task.Run(ctx)}}
}

func TestTaskThatFails(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	vm := ready(t, s)
	vm.Config.ChangeVersion = "2026-01-02"
	busy := &busyMachine{VirtualMachine: vm}
	s.Map().Put(busy)
	undo, err := c.SetExtra(t.Context(), vm.Name, map[string]string{"a": "1"})
	if !Is(err, Changed) || !strings.Contains(err.Error(), "somebody else was first") || !strings.Contains(err.Error(), "ConcurrentAccess") || undo != nil || busy.version != "2026-01-02" {
		t.Errorf("%+v %v, against version %q", undo, err, busy.version)
	}
}

func TestTaskThatDoesNotEnd(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	vm := ready(t, s)
	forever := make(chan struct{})
	t.Cleanup(func() { close(forever) })
	ctx, cancel := context.WithCancel(t.Context())
	s.Map().Put(&busyMachine{VirtualMachine: vm, forever: forever, begun: func() { time.AfterFunc(50*time.Millisecond, cancel) }})
	_, err := c.SetExtra(ctx, vm.Name, map[string]string{"a": "1"})
	if !Is(err, NoAnswer) || !strings.Contains(err.Error(), "asked to stop") {
		t.Error(err)
	}
	if n := s.calls.count("CancelTask"); n != 1 {
		t.Errorf("the task was stopped %d times", n)
	}
}

func TestPowerOn(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	vm := ready(t, s)
	for i, want := range []bool{true, false} {
		if changed := must(c.PowerOn(t.Context(), vm.Name))(t); changed != want {
			t.Errorf("%d: %v", i, changed)
		}
	}
}
