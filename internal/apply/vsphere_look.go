package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// sphereLook is what a vCenter has of a plan, and what is to be done.
type sphereLook struct {
	steps   []sphereStep
	others  []string
	pending tally
}

// sphereStep is what is to be done with something.
type sphereStep struct {
	write  sphereWrite
	reason string
	err    error // why it is not done
}

// tally counts texts, each with what it is about, in the order in which they came.
type tally struct {
	texts []string
	about map[string][]string
}

func (t *tally) add(about, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if t.about == nil {
		t.about = map[string][]string{}
	}
	if !slices.Contains(t.texts, text) {
		t.texts = append(t.texts, text)
	}
	if about != "" {
		t.about[text] = append(t.about[text], about)
	}
}

// lines names what each text is about, as few as tell which.
func (t *tally) lines() []string {
	lines := []string{}
	for _, text := range t.texts {
		if names := t.about[text]; len(names) > 0 {
			text = firstOf(names) + ": " + text
		}
		lines = append(lines, text)
	}
	return lines
}

// wait says something that is not done here.
func (s *sphereLook) wait(format string, args ...any) { s.pending.add("", format, args...) }

// tell writes the result.
func (s *sphereLook) tell(a *Applied) {
	for _, step := range s.steps {
		reason := step.reason
		if step.err != nil {
			reason = step.err.Error()
		}
		a.Changes = append(a.Changes, Change{Path: step.write.String(), Kind: step.write.Kind, Reason: reason})
	}
	a.Others = s.others
	a.Activation = sphereActivation(s.pending.lines())
}

// sphereActivation is what is not in effect yet. It is there even without that: nothing of vCenter waits for a start of this machine.
func sphereActivation(pending []string) *Activation {
	return &Activation{Network: fabric.OnVCenter, Pending: pending, Proofs: []fabric.Proof{}}
}

// look reads what decides, and changes nothing.
func (v VSphere) look(ctx context.Context) (s sphereLook, err error) {
	p := v.Plan.VSphere
	names := make([]string, len(p.Hosts))
	for i, h := range p.Hosts {
		names[i] = h.Name
	}
	v.doing("reading %s from %s", fabric.Count(len(names), "ESX host"), v.Client.Place())
	hosts, absent, err := v.Client.HostDevices(ctx, names)
	if err != nil {
		return s, err
	}
	for i, h := range hosts { // the plan's name, by which people know it
		if j := slices.IndexFunc(names, func(n string) bool { return sameHost(h.Name, n) }); j >= 0 {
			hosts[i].Name = names[j]
		}
	}
	for _, a := range absent {
		s.wait("%s: add it to vCenter, or correct vsphere.hosts", a)
	}
	s.places(hosts, p.VCenter)
	s.labels(hosts, p)
	if p.Service != nil {
		if err := v.serviceVMs(ctx, &s); err != nil {
			return s, err
		}
	}
	if p.Kube == nil {
		return s, v.machines(ctx, &s, hosts)
	}
	if err := v.classes(ctx, &s); err != nil {
		return s, err
	}
	return s, v.namespace(ctx, &s, hosts)
}

// places compares where the hosts are with the cluster file.
func (s *sphereLook) places(hosts []vcenter.Host, at *fabric.VCenter) {
	if at == nil {
		return
	}
	for _, h := range hosts {
		if at.Cluster != "" && h.Cluster != at.Cluster {
			s.pending.add(h.Name, "in vSphere cluster %s, and vsphere.vcenter.cluster is %s: move it there, or correct the cluster file", named(h.Cluster), at.Cluster)
		}
		if at.Datacenter != "" && h.Datacenter != at.Datacenter {
			s.pending.add(h.Name, "in datacenter %s, and vsphere.vcenter.datacenter is %s: move it there, or correct the cluster file", named(h.Datacenter), at.Datacenter)
		}
	}
}

func named(name string) string {
	if name == "" {
		return "none"
	}
	return name
}

// labels says which devices of the nodes' classes a host does not have: a virtual machine that asks for them is placed nowhere.
func (s *sphereLook) labels(hosts []vcenter.Host, p *fabric.VSphere) {
	var wanted []fabric.VMClassDevice
	for _, c := range p.Classes {
		if len(c.Nodes) > 0 && p.Mode == fabric.Passthrough {
			wanted = append(wanted, c.Devices...)
		}
	}
	for _, h := range hosts {
		switch {
		case !h.Connected():
			s.pending.add(h.Name, "vCenter says that it is %s: what it has is unknown", named(h.State))
			continue
		case h.ESX == nil || h.ESX.Devices == nil:
			if len(wanted) > 0 {
				s.pending.add(h.Name, "vCenter gives none of its devices: whether they have their labels is unknown")
			}
			continue
		}
		lacks := map[string][]string{}
		for _, w := range wanted {
			if why := labelProblem(h.ESX.Devices, w); why != "" {
				lacks[why] = append(lacks[why], w.Label)
			}
		}
		for _, why := range []string{labelNowhere, labelTwice, labelOther, labelIdle, labelUnread} {
			if len(lacks[why]) > 0 {
				s.pending.add(h.Name, "%s %s: a virtual machine that asks for it is not placed (runbook: passthrough, labels)", firstOf(lacks[why]), why)
			}
		}
	}
}

// What may be wrong with a label.
const (
	labelNowhere = "on no device of the planned kind"
	labelTwice   = "on more than one device"
	labelOther   = "on a device of another kind"
	labelIdle    = "on a device whose passthrough is not in force"
	labelUnread  = "unknown, as this version of ESX does not give labels by the API"
)

// labelProblem is why a device of a class is not on a host; empty: it is.
func labelProblem(devices []fabric.PassthroughPCI, want fabric.VMClassDevice) string {
	fitting, idle, others, read := 0, 0, 0, false
	for _, d := range devices {
		read = read || d.Labels || d.Label != ""
		if d.Label != want.Label {
			continue
		}
		switch {
		case d.Vendor != want.Vendor || d.Device != want.Device:
			others++
		case d.Active == nil || !*d.Active:
			idle++
		default:
			fitting++
		}
	}
	switch {
	case fitting+idle+others > 1:
		return labelTwice
	case fitting == 1:
		return ""
	case idle > 0:
		return labelIdle
	case others > 0:
		return labelOther
	case !read:
		return labelUnread
	}
	return labelNowhere
}

// serviceVMs looks at the service virtual machines, which people make.
func (v VSphere) serviceVMs(ctx context.Context, s *sphereLook) error {
	want := v.Plan.VSphere.Service
	names := make([]string, len(want.Guests))
	for i, g := range want.Guests {
		names[i] = g.Name
	}
	found, err := v.Client.FindVMs(ctx, names)
	if err != nil {
		return err
	}
	const before = "before any virtual machine with GPUs starts (runbook: service-vms)"
	for _, g := range want.Guests {
		var have []vcenter.Machine
		for _, m := range found {
			if m.Name == g.Name {
				have = append(have, m)
			}
		}
		if len(have) != 1 {
			s.pending.add(g.Name, "vCenter has %s: deploy one on each host %s", fabric.Count(len(have), "virtual machine")+" of this name", before)
			continue
		}
		m := have[0]
		switches := 0
		for _, d := range m.Devices {
			if d.Label == "" || strings.HasPrefix(d.Label, "NVS") {
				switches++
			}
		}
		switch {
		case m.Unread:
			s.pending.add(g.Name, "its configuration could not be read: this user may not")
		case !sameHost(m.Host, g.Host):
			s.pending.add(g.Name, "on host %s, and planned on %s: each host has its own (runbook: service-vms)", named(m.Host), g.Host)
		case m.Hardware > 0 && m.Hardware < want.Hardware:
			s.pending.add(g.Name, "hardware version %d: %d or later is needed (runbook: service-vms)", m.Hardware, want.Hardware)
		case switches < want.NVSwitches:
			s.pending.add(g.Name, "has %d of %s: attach them (runbook: service-vms)", switches, fabric.Count(want.NVSwitches, "NVSwitch"))
		case m.Power != "on":
			s.pending.add(g.Name, "is %s: power it on %s", named(m.Power), before)
		}
	}
	return nil
}

// sameHost reports whether a name of vCenter is a name of the plan, which may be its first label.
func sameHost(have, planned string) bool {
	label, _, _ := strings.Cut(have, ".")
	return strings.EqualFold(have, planned) || strings.EqualFold(label, planned)
}
