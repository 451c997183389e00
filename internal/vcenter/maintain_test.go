package vcenter

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

func TestMaintenance(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.alone()
	if changed := must(c.EnterMaintenance(t.Context(), s.host.Name, Maintenance{}))(t); !changed || !s.host.Runtime.InMaintenanceMode {
		t.Errorf("changed %v", changed)
	}
	s.event("ADMIN@vsphere.local", time.Now()) // the simulator writes none
	if changed := must(c.EnterMaintenance(t.Context(), s.host.Name, Maintenance{}))(t); changed {
		t.Error("changed again")
	}
	if changed := must(c.LeaveMaintenance(t.Context(), s.host.Name, Maintenance{}))(t); !changed || s.host.Runtime.InMaintenanceMode {
		t.Errorf("changed %v", changed)
	}
	if changed := must(c.LeaveMaintenance(t.Context(), s.host.Name, Maintenance{}))(t); changed {
		t.Error("changed again")
	}
}

func TestMaintenanceOfOthers(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	s.alone()
	s.maintenance(true)
	for _, test := range []struct {
		name, user string
		kind       Kind
	}{{"of nobody", "", Unknown}, {"of another", "other@vsphere.local", Refused}} {
		if test.user != "" {
			s.event(testUser, time.Now().Add(-time.Hour)) // an older one of this user says nothing
			s.event(test.user, time.Now())
		}
		for what, call := range map[string]func(context.Context, string, Maintenance) (bool, error){"enter": c.EnterMaintenance, "leave": c.LeaveMaintenance} {
			_, err := call(t.Context(), s.host.Name, Maintenance{})
			if !Is(err, test.kind) || test.user != "" && !strings.Contains(err.Error(), "by "+test.user) {
				t.Errorf("%s, %s: %v", test.name, what, err)
			}
		}
		if !s.host.Runtime.InMaintenanceMode {
			t.Fatal("it left")
		}
	}
	if changed, err := c.LeaveMaintenance(t.Context(), s.host.Name, Maintenance{Mine: true}); !changed || err != nil {
		t.Errorf("%v %v", changed, err)
	}
}

func TestMaintenanceOfMachinesThatCannotMove(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	vm := s.machineOn(t, types.VirtualMachinePowerStatePoweredOn)
	give(vm, &types.VirtualPCIPassthroughDynamicBackingInfo{CustomLabel: "GPU0", AssignedId: gpu0})
	_, err := c.EnterMaintenance(t.Context(), s.host.Name, Maintenance{})
	if !Is(err, Refused) || !strings.Contains(err.Error(), vm.Name) || s.calls.count("EnterMaintenanceMode_Task") != 0 {
		t.Error(err)
	}
}

func TestReboot(t *testing.T) {
	s := newSim(t, 1)
	s.canStart()
	c := s.open(t)
	s.alone()
	boot := *s.host.Runtime.BootTime
	if _, err := c.Reboot(t.Context(), s.host.Name, boot, time.Second); !Is(err, Refused) {
		t.Error(err)
	}
	s.maintenance(true)
	if _, err := c.Reboot(t.Context(), s.host.Name, time.Time{}, time.Second); !Is(err, Unknown) {
		t.Error(err)
	}
	s.calls.broke = func(method string, n int) bool {
		return method == "RetrievePropertiesEx" && s.host.runs() == 1 && n%2 == 0
	}
	for range 2 { // the second time it has started since
		back := must(c.Reboot(t.Context(), s.host.Name, boot, 10*time.Second))(t)
		if !back.After(boot) || s.host.runs() != 1 {
			t.Errorf("%v, %d starts", back, s.host.runs())
		}
	}
}

func TestRebootThatDoesNotEnd(t *testing.T) {
	s := newSim(t, 1)
	s.canStart()
	c := s.open(t)
	s.alone()
	s.maintenance(true)
	s.host.stuck = true
	boot := *s.host.Runtime.BootTime
	if _, err := c.Reboot(t.Context(), s.host.Name, boot, 100*time.Millisecond); !Is(err, NoAnswer) || !strings.Contains(err.Error(), "does not come back within 100ms") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Reboot(ctx, s.host.Name, boot, time.Minute); !Is(err, NoAnswer) || s.host.runs() != 1 {
		t.Errorf("%v, %d starts", err, s.host.runs())
	}
}

func TestRebootWithMachineOn(t *testing.T) {
	s := newSim(t, 1)
	s.canStart()
	c := s.open(t)
	s.machineOn(t, types.VirtualMachinePowerStatePoweredOn)
	s.maintenance(true)
	if _, err := c.Reboot(t.Context(), s.host.Name, *s.host.Runtime.BootTime, time.Second); !Is(err, Refused) || s.host.runs() != 0 {
		t.Error(err)
	}
}

func TestOptions(t *testing.T) {
	s := newSim(t, 1)
	c := s.open(t)
	set := func(key string, value types.AnyType) {
		must(c.SetOptions(t.Context(), s.host.Name, nil))(t)
		m := s.optionManager()
		m.Setting = append(m.Setting, &types.OptionValue{Key: key, Value: value})
	}
	set("VMkernel.Boot.atsSupport", false)
	set("VMkernel.Boot.atsSupportMore", true) // asked for by a prefix, it comes too
	set("Net.Some", int64(5))
	set("Power.CpuPolicy", "Balanced")
	wanted := map[string]string{"VMkernel.Boot.atsSupport": "TRUE", "Net.Some": "7", "Power.CpuPolicy": "High Performance"}
	before := must(c.SetOptions(t.Context(), s.host.Name, wanted))(t)
	if before["VMkernel.Boot.atsSupport"] != "FALSE" || before["Net.Some"] != "5" || before["Power.CpuPolicy"] != "Balanced" || s.calls.count("UpdateOptions") != 1 {
		t.Errorf("%v", before)
	}
	if again := must(c.SetOptions(t.Context(), s.host.Name, wanted))(t); len(again) != 0 || s.calls.count("UpdateOptions") != 1 {
		t.Errorf("%v", again)
	}
	must(c.SetOptions(t.Context(), s.host.Name, before))(t)
	if now := must(c.Options(t.Context(), s.host.Name, "VMkernel.Boot.atsSupport", "Net.Some"))(t); now["VMkernel.Boot.atsSupport"] != "FALSE" || now["Net.Some"] != "5" {
		t.Errorf("%v", now)
	}
	asked := s.calls.count("UpdateOptions")
	for name, value := range map[string]string{"VMkernel.Boot.enableACSDTP2P": "TRUE", "VMkernel.Boot.ats": "TRUE", "VMkernel.Boot.atsSupport": "perhaps", "Net.Some": "many"} {
		if _, err := c.SetOption(t.Context(), s.host.Name, name, value); !Is(err, Refused) && !Is(err, NotFound) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if s.calls.count("UpdateOptions") != asked {
		t.Error("asked for a change that is refused")
	}
}
