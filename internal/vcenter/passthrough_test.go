package vcenter

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

func TestSetPassthrough(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.alone()
	s.maintenance(true)
	want := []Passthrough{{Address: gpu0, Enabled: yes(), Label: text("GPU0")}, {Address: gpu1, Enabled: yes()}, {Address: nic0, Functions: count(4)}}
	change := must(c.SetPassthrough(t.Context(), s.host.Name, want))(t)
	before := []Passthrough{{Address: gpu0, Enabled: no(), Label: text("")}, {Address: gpu1, Enabled: no()}, {Address: nic0, Functions: count(0)}}
	if diff := cmp.Diff(PassthroughChange{Before: before, Reboot: []string{gpu0, gpu1, nic0}}, change); diff != "" {
		t.Error(diff)
	}
	if n := s.calls.count("UpdatePassthruConfig"); n != 1 {
		t.Errorf("%d questions", n)
	}
	again := must(c.SetPassthrough(t.Context(), s.host.Name, want))(t)
	if n := s.calls.count("UpdatePassthruConfig"); n != 1 || again.Before != nil {
		t.Errorf("asked %d times; %+v", n, again)
	}
	back := must(c.SetPassthrough(t.Context(), s.host.Name, change.Before))(t)
	if i := s.info(gpu0).GetHostPciPassthruInfo(); i.PassthruEnabled || i.HardwareLabel != "" || len(back.Before) != 3 {
		t.Errorf("%+v %+v", i, back)
	}
	if v := s.info(nic0).(*types.HostSriovInfo); v.SriovEnabled || v.NumVirtualFunctionRequested != 0 {
		t.Errorf("%+v", v)
	}
}

func TestSetLabelNeedsNoMaintenance(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.info(gpu0).GetHostPciPassthruInfo().PassthruEnabled = true
	must(c.SetLabel(t.Context(), s.host.Name, gpu0, "GPU0"))(t)
	if i := s.info(gpu0).GetHostPciPassthruInfo(); i.HardwareLabel != "GPU0" || !i.PassthruEnabled {
		t.Errorf("%+v", i)
	}
	// Passthrough that changes later keeps the label.
	s.alone()
	s.maintenance(true)
	must(c.SetPassthrough(t.Context(), s.host.Name, []Passthrough{{Address: gpu0, Enabled: no()}}))(t)
	if i := s.info(gpu0).GetHostPciPassthruInfo(); i.HardwareLabel != "GPU0" || i.PassthruEnabled {
		t.Errorf("%+v", i)
	}
}

func TestSetPassthroughRefuses(t *testing.T) {
	enable := func(address string) []Passthrough { return []Passthrough{{Address: address, Enabled: yes()}} }
	disable := func(address string) []Passthrough { return []Passthrough{{Address: address, Enabled: no()}} }
	enabled := func(s *sim) { s.info(gpu0).GetHostPciPassthruInfo().PassthruEnabled = true }
	machine := func(t *testing.T, s *sim, power types.VirtualMachinePowerState, b types.BaseVirtualDeviceBackingInfo) {
		vm := s.machineOn(t, power)
		give(vm, b)
	}
	at := &types.VirtualPCIPassthroughDeviceBackingInfo{Id: gpu0}
	for name, test := range map[string]struct {
		prepare func(*testing.T, *sim)
		want    []Passthrough
		kind    Kind
		text    string
	}{
		"no maintenance": {func(_ *testing.T, s *sim) { s.maintenance(false) }, enable(gpu0), Refused, "not in maintenance mode"},
		"no connection": {func(_ *testing.T, s *sim) {
			s.host.Runtime.ConnectionState = types.HostSystemConnectionStateNotResponding
		}, enable(gpu0), Refused, "notResponding"},
		"no passthrough API": {func(_ *testing.T, s *sim) { s.host.ConfigManager.PciPassthruSystem = nil }, enable(gpu0), Unknown, "no passthrough system"},
		"no such device":     {nil, enable("0000:99:00.0"), Refused, "no such device"},
		"named twice":        {nil, append(enable(gpu0), Passthrough{Address: "0000:18:00.0", Label: text("x")}), Refused, "named twice"},
		"not capable":        {func(_ *testing.T, s *sim) { s.info(gpu0).GetHostPciPassthruInfo().PassthruCapable = false }, enable(gpu0), Refused, "not capable"},
		"uplink of a switch": {nil, enable(nic1), Refused, "uplink of the virtual switch"},
		"storage":            {nil, enable(disk), Refused, "storage adapter"},
		"depends on another": {func(_ *testing.T, s *sim) { s.info(gpu0).GetHostPciPassthruInfo().DependentDevice = gpu1 }, enable(gpu0), Refused, "together with " + gpu1},
		"SR-IOV left on": {func(_ *testing.T, s *sim) {
			v := s.info(nic0).(*types.HostSriovInfo)
			v.SriovEnabled, v.NumVirtualFunctionRequested = true, 4
		}, enable(nic0), Refused, "SR-IOV is on, with 4"},
		"too many functions":    {nil, []Passthrough{{Address: nic0, Functions: count(9)}}, Refused, "at most 8"},
		"functions of a GPU":    {nil, []Passthrough{{Address: gpu0, Functions: count(1)}}, Refused, "capable of SR-IOV"},
		"functions of a passed": {func(_ *testing.T, s *sim) { s.info(nic0).GetHostPciPassthruInfo().PassthruEnabled = true }, []Passthrough{{Address: nic0, Functions: count(1)}}, Refused, "as a whole"},
		"of a machine that runs": {func(t *testing.T, s *sim) {
			enabled(s)
			machine(t, s, types.VirtualMachinePowerStatePoweredOn, at)
		}, disable(gpu0), Refused, "power on, has it"},
		"of a machine that is off": {func(t *testing.T, s *sim) {
			enabled(s)
			machine(t, s, types.VirtualMachinePowerStatePoweredOff, at)
		}, disable(gpu0), Refused, "power off, has it"},
		"of a machine that does not say": {func(t *testing.T, s *sim) {
			enabled(s)
			machine(t, s, types.VirtualMachinePowerStatePoweredOn, &types.VirtualPCIPassthroughDynamicBackingInfo{CustomLabel: "GPU0"})
		}, disable(gpu1), "", ""},
		"of a machine that may have it": {func(t *testing.T, s *sim) {
			enabled(s)
			machine(t, s, types.VirtualMachinePowerStatePoweredOn, &types.VirtualPCIPassthroughDynamicBackingInfo{CustomLabel: "GPU0"})
		}, disable(gpu0), Unknown, "may be this one"},
		"label before 7.0.2": {func(_ *testing.T, s *sim) { s.host.Summary.Config.Product.Version = "7.0.1" }, []Passthrough{{Address: gpu0, Label: text("x")}}, Refused, "from 7.0.2 on"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSim(t, 1)
			c := s.open(t)
			s.alone()
			s.maintenance(true)
			if test.prepare != nil {
				test.prepare(t, s)
			}
			_, err := c.SetPassthrough(t.Context(), s.host.Name, test.want)
			if test.kind == "" {
				if err != nil {
					t.Error(err) // it is as it should be: nothing is asked
				}
			} else if !Is(err, test.kind) || !strings.Contains(err.Error(), test.text) {
				t.Errorf("%v", err)
			}
			if n := s.calls.count("UpdatePassthruConfig"); n != 0 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

func TestSetPassthroughOfOneBadDeviceChangesNone(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.alone()
	s.maintenance(true)
	if _, err := c.SetPassthrough(t.Context(), s.host.Name, []Passthrough{{Address: gpu0, Enabled: yes()}, {Address: disk, Enabled: yes()}}); !Is(err, Refused) {
		t.Error(err)
	}
	if s.info(gpu0).GetHostPciPassthruInfo().PassthruEnabled {
		t.Error("the first device was changed")
	}
}

func TestSetPassthroughThatIsNotDone(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.passthru().deaf = true
	change, err := c.SetLabel(t.Context(), s.host.Name, gpu0, "GPU0")
	if !Is(err, Fault) || !strings.Contains(err.Error(), gpu0) || len(change.Before) != 1 {
		t.Errorf("%+v %v", change, err)
	}
}

func TestSetPassthroughCutOff(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.calls.broke = func(method string, _ int) bool { return method == "UpdatePassthruConfig" }
	if _, err := c.SetLabel(t.Context(), s.host.Name, gpu0, "GPU0"); !Is(err, NoAnswer) {
		t.Error(err)
	}
	if n := s.calls.count("UpdatePassthruConfig"); n != 1 {
		t.Errorf("a change was asked for %d times", n)
	}
	s.calls.broke = nil
	must(c.SetLabel(t.Context(), s.host.Name, gpu0, "GPU0"))(t)
}

func TestSetPassthroughAfterSessionEnded(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	endSession(t, s, c)
	must(c.SetLabel(t.Context(), s.host.Name, gpu0, "GPU0"))(t)
	if i := s.info(gpu0).GetHostPciPassthruInfo(); i.HardwareLabel != "GPU0" {
		t.Errorf("%+v", i)
	}
}

func TestFaultOfVCenter(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.Service.AddFaultRule(&simulator.FaultInjectionRule{MethodName: "UpdatePassthruConfig", ObjectType: "*", ObjectName: "*", Probability: 1, Enabled: true, FaultType: simulator.FaultTypeNoPermission})
	_, err := c.SetLabel(t.Context(), s.host.Name, gpu0, "GPU0")
	if !Is(err, NotPermitted) || !strings.Contains(err.Error(), "privilege") || !strings.Contains(err.Error(), "NoPermission") {
		t.Error(err)
	}
}
