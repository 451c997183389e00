//go:build linux

package esxi

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// What goes wrong is said with what was read; when it is put right, repeating ends at the goal, and a rollback gives the first state.
func TestRefused(t *testing.T) {
	fault := func(match string) any {
		return []map[string]any{{"match": match, "times": 1, "status": 1, "say": "Sorry, not today"}}
	}
	for _, c := range []struct {
		name, field string
		wrong, well any
		want        string
		starts      int
	}{
		{"virtual machines run", "vms", []string{"gpu-vm1", "db 2"}, nil, "virtual machines are powered on: gpu-vm1, db 2: move them", 0},
		{"a setting does not stick", "slips", []string{"atsSupport"}, nil, `set kernel setting atsSupport to TRUE: it did not stick: esxcli system settings kernel list -o atsSupport printed "atsSupport Bool FALSE FALSE FALSE`, 0},
		{"a setting is forgotten at the reboot", "fades", []string{"disableACSCheck"}, nil, `after the reboot: set kernel setting disableACSCheck to FALSE: it did not stick`, 1},
		{"a policy does not stick", "slips", []string{"power"}, nil, `printed "String Value: Balanced"`, 0},
		{"a VIB is not installed", "slips", []string{"vib"}, nil, "install mft and nmst from", 0},
		{"passthrough does not stick", "slips", []string{"0000:1b:00.0"}, nil, `printed "0000:1b:00.0 false"`, 0},
		{"firmware does not stick", "slips", []string{"nic 0000:1a:00.0"}, nil, "ATS_ENABLED False(0) False(0) False(0)", 1},
		{"a command fails", "faults", fault("kernel set -s atsSupport"), nil, "Sorry, not today", 0},
		{"a depot is not there", "faults", fault("vib install"), nil, "Sorry, not today", 0},
		{"the reboot is refused", "faults", fault("shutdown reboot"), nil, "reboot: ", 0},
		{"mlxconfig fails", "faults", fault("-y set"), nil, "Sorry, not today", 1},
		{"SSH is not started with the host", "manual", true, false, "chkconfig SSH on", 0},
		{"the host does not come back", "away", true, false, "was not rebooted within", 0},
		{"its memory for files is full", "full", true, false, "reset GPUs by flr", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, folder := newHost(t, "small", "esx1"), t.TempDir()
			before := p.kept()
			p.change(c.field, c.wrong)
			p.cut = 1 << 20 // so that it is not waited for long
			a := p.apply(folder)
			if a.Status != fabric.Unknown || !strings.Contains(a.Error, c.want) || p.starts() != c.starts {
				t.Errorf("%s %q, %d starts", a.Status, a.Error, p.starts())
			}
			if c.field == "full" && !strings.HasSuffix(p.kept(), "10de  ffff  bridge   false\n") {
				t.Errorf("passthru.map was damaged:\n%s", p.kept())
			}
			p.change(c.field, c.well)
			q := p.copied(t.TempDir()) // the other way from here: back
			q.cut, p.cut = 0, 0
			journal := t.TempDir()
			if err := os.CopyFS(journal, os.DirFS(folder)); err != nil {
				t.Fatal(err)
			}
			if a := p.apply(folder); a.Status != fabric.Pass || p.state()["maintenance"] != false {
				t.Errorf("put right: %s %s\n%s", a.Status, a.Error, lines(a.Changes))
			}
			if a := p.rollback(folder); a.Status != fabric.Pass || p.kept() != before {
				t.Errorf("rollback: %s %s\n%s", a.Status, a.Error, p.kept())
			}
			if a := q.rollback(journal); a.Status != fabric.Pass && a.Status != fabric.NotApplicable || q.kept() != before {
				t.Errorf("rollback from there: %s %s\n%s", a.Status, a.Error, q.kept())
			}
		})
	}
}

// vsphere is the vSphere API as far as hosts need it.
type vsphere struct {
	hosts  map[string]*played
	labels map[string]string
	events []string
	refuse error
	asked  int
	away   int // times that it does not reach the host
}

func (v *vsphere) EnterMaintenance(_ context.Context, name string, how vcenter.Maintenance) (bool, error) {
	v.events = append(v.events, "enter "+name)
	if v.refuse != nil {
		return false, v.refuse
	}
	v.hosts[name].change("vms", nil).change("maintenance", true) // they moved
	return true, nil
}

func (v *vsphere) SetLabel(_ context.Context, name, address, label string) (vcenter.PassthroughChange, error) {
	if v.asked++; v.asked <= v.away {
		return vcenter.PassthroughChange{}, errors.New("host esx1: is notResponding")
	}
	v.labels[address] = label
	return vcenter.PassthroughChange{}, v.refuse
}

// With the vSphere API virtual machines move away, whatever the shell would say.
func TestMaintenanceByAPI(t *testing.T) {
	p, folder := newHost(t, "vsphere8-sriov", "esx1"), t.TempDir()
	api := &vsphere{hosts: map[string]*played{"esx1": p}, refuse: errors.New("gpu-vm1 cannot move")}
	p.api = api
	p.change("vms", []string{"gpu-vm1"})
	if a := p.apply(folder); !strings.Contains(a.Error, "gpu-vm1 cannot move") || p.starts() > 0 {
		t.Errorf("%s %s", a.Status, a.Error)
	}
	api.refuse, api.events = nil, nil
	if a := p.apply(folder); a.Status != fabric.Pass || !slices.Equal(api.events, []string{"enter esx1"}) || p.state()["maintenance"] != false {
		t.Errorf("%s %s %q", a.Status, a.Error, api.events)
	}
}

var _ apply.ESXAPI = (*vcenter.Client)(nil)

// Labels are set by the API, also where it does not reach a host at once that was rebooted, and taken back.
func TestLabels(t *testing.T) {
	p, folder := newHost(t, "small", "esx1"), t.TempDir()
	api := &vsphere{hosts: map[string]*played{"esx1": p}, labels: map[string]string{"0000:1b:00.0": "OLD"}, away: 2}
	p.goal.Labels = []fabric.DeviceLabel{{Label: "GPU0", Address: "0000:1b:00.0"}, {Label: "NIC0", Address: "1a:00.0"}}
	p.change("faults", []map[string]any{{"match": "hostsvc/hostconfig", "times": -1, "status": 1, "say": "Failed to login"}})
	if a := p.apply(folder); a.Status != fabric.Unknown || a.Error != "" || !contains(a.Changes, apply.Unknown) {
		t.Errorf("labels that nobody reads: %s %s\n%s", a.Status, a.Error, lines(a.Changes))
	}
	p.change("faults", []map[string]any{{"match": "never"}}) // the shell shows them
	if a := p.apply(folder); !strings.Contains(a.Error, "give vsphere.vcenter") {
		t.Errorf("%s %s", a.Status, a.Error)
	}
	p.api = api
	q := newHost(t, "small", "esx1")
	q.goal, q.api, q.labels = p.goal, api, api.labels
	api.hosts["esx1"] = q
	q.change("faults", []map[string]any{{"match": "never"}})
	folder = t.TempDir()
	if a := q.apply(folder); a.Status == fabric.Pass || !strings.Contains(a.Error, "notResponding") {
		t.Errorf("not reached before a reboot: %s %s", a.Status, a.Error)
	}
	api.away = 0
	if a := q.apply(folder); a.Status != fabric.Pass || api.labels["0000:1b:00.0"] != "GPU0" || api.labels["0000:1a:00.0"] != "NIC0" {
		t.Errorf("%s %s %v", a.Status, a.Error, api.labels)
	}
	if a := q.rollback(folder); a.Status != fabric.Pass || api.labels["0000:1b:00.0"] != "OLD" || api.labels["0000:1a:00.0"] != "" {
		t.Errorf("%s %s %v", a.Status, a.Error, api.labels)
	}
}

// Maintenance mode that somebody else entered is left as it is.
func TestMaintenanceOfOthers(t *testing.T) {
	p, folder := newHost(t, "vsphere8-sriov", "esx1"), t.TempDir()
	p.change("maintenance", true)
	a := p.apply(folder)
	if a.Status != fabric.Pass || p.state()["maintenance"] != true || count(a.Changes, "maintenance") > 0 {
		t.Errorf("%s %s\n%s", a.Status, a.Error, lines(a.Changes))
	}
	if a := p.rollback(folder); a.Status != fabric.Pass || p.state()["maintenance"] != true {
		t.Errorf("%s %s", a.Status, a.Error)
	}
}

// Never are more hosts in maintenance mode than may be, and after one that fails no other is begun.
func TestHostsInTurn(t *testing.T) {
	for _, parallel := range []int{1, 2} {
		var all []*played
		hosts, folder := apply.ESXHosts{Parallel: parallel}, t.TempDir()
		for _, name := range []string{"esx1", "esx2", "esx3"} {
			p := newHost(t, "vsphere8-sriov", name)
			uuid := p.state()["uuid"].(string)
			p.change("uuid", uuid[:len(uuid)-1]+name[3:])
			all, hosts.Hosts = append(all, p), append(hosts.Hosts, p.esx(folder))
		}
		untouched := all[2].kept()
		all[1].change("slips", []string{"atsSupport"})
		results := hosts.Apply(t.Context())
		if parallel == 1 && (results[0].Status != fabric.Pass || !strings.Contains(results[1].Error, "did not stick") || results[2].Error != "not begun: host esx2 failed" || all[2].kept() != untouched) {
			t.Errorf("%s %q, %s %q, %s %q", results[0].Status, results[0].Error, results[1].Status, results[1].Error, results[2].Status, results[2].Error)
		}
		all[1].change("slips", nil)
		for i, r := range hosts.Apply(t.Context()) {
			if r.Status != fabric.Pass {
				t.Errorf("%s: %s %s", hosts.Hosts[i].Host, r.Status, r.Error)
			}
		}
		if most := mostInside(t, all); most != parallel {
			t.Errorf("%d hosts were in maintenance mode at a time, and %d may be", most, parallel)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for _, r := range hosts.Apply(ctx) {
			if r.Error != "not begun: was interrupted" {
				t.Errorf("interrupted: %q", r.Error)
			}
		}
	}
}

// mostInside reads from what was called how many hosts were in maintenance mode at a time.
func mostInside(t *testing.T, all []*played) (most int) {
	t.Helper()
	var events []string
	for _, p := range all {
		for _, line := range p.calls() {
			if at, call, _ := strings.Cut(line, " "); strings.HasPrefix(call, "esxcli system maintenanceMode set") {
				events = append(events, at+" "+call)
			}
		}
	}
	slices.Sort(events)
	inside := 0
	for _, e := range events {
		if strings.HasSuffix(e, "true") {
			inside++
		} else {
			inside--
		}
		most = max(most, inside)
	}
	return most
}

// A host of the same name that is another machine is not taken for the one of the journal, and what somebody changed since is not
// taken back.
func TestNotOurs(t *testing.T) {
	p, folder := newHost(t, "vsphere8-sriov", "esx1"), t.TempDir()
	if a := p.apply(folder); a.Status != fabric.Pass {
		t.Fatal(a.Error)
	}
	p.change("power", "Low Power")
	kept := p.kept()
	if a := p.rollback(folder); !strings.Contains(a.Error, `set the power policy to High Performance: it was changed since`) || !strings.Contains(a.Error, "Low Power") || p.kept() != kept {
		t.Errorf("%s %q", a.Status, a.Error)
	}
	other := newHost(t, "vsphere8-sriov", "esx1")
	other.change("uuid", "00000000-0000-0000-0000-000000000009")
	again := t.TempDir()
	if a := newHost(t, "vsphere8-sriov", "esx1").apply(again); a.Status != fabric.Pass {
		t.Fatal(a.Error)
	}
	for _, a := range []apply.Applied{other.apply(again), other.rollback(again)} {
		if !strings.Contains(a.Error, "it is another host") {
			t.Errorf("%s %q", a.Status, a.Error)
		}
	}
}

// Of two runs at once one is refused.
func TestAtOnce(t *testing.T) {
	p, folder := newHost(t, "small", "esx1"), t.TempDir()
	e := p.esx(folder)
	var second apply.Applied
	e.Doing = func(format string, _ ...any) {
		if strings.Contains(format, "reboots") {
			second = apply.ESXHosts{Hosts: []apply.ESX{p.esx(folder)}}.Apply(t.Context())[0]
		}
	}
	if a := (apply.ESXHosts{Hosts: []apply.ESX{e}}).Apply(t.Context())[0]; a.Status != fabric.Pass {
		t.Errorf("%s %s", a.Status, a.Error)
	}
	if !strings.Contains(second.Error, apply.ErrBusy.Error()) {
		t.Errorf("the second: %s %q", second.Status, second.Error)
	}
}
