package apply

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/vcenter"
)

// runbookMachines names the step that says how a virtual machine is made and gets what it lacks.
const runbookMachines = " (runbook: virtual-machines)"

// machines compares the virtual machines of a plan without a Supervisor with those of vCenter.
func (v VSphere) machines(ctx context.Context, s *sphereLook, hosts []vcenter.Host) error {
	p := v.Plan.VSphere
	var names []string
	for _, h := range p.Hosts {
		names = append(names, h.Nodes...)
	}
	found, err := v.Client.FindVMs(ctx, names)
	if err != nil {
		return err
	}
	taken := map[string]bool{} // functions that another step attaches, by host and address
	for _, h := range p.Hosts {
		i := slices.IndexFunc(hosts, func(f vcenter.Host) bool { return sameHost(f.Name, h.Name) })
		for _, node := range h.Nodes {
			var have []vcenter.Machine
			for _, m := range found {
				if m.Name == node {
					have = append(have, m)
				}
			}
			class := classOf(p.Classes, node)
			switch {
			case class == nil:
				s.pending.add(node, "no class of the plan has it")
			case len(have) != 1:
				s.pending.add(node, "vCenter has %s: make one on %s%s", fabric.Count(len(have), "virtual machine")+" of this name", h.Name, runbookMachines)
			case i < 0:
				s.pending.add(node, "its host %s is not in vCenter: what it can get is unknown", h.Name)
			default:
				s.machine(machineOn{Machine: have[0], planned: h.Name, host: hosts[i], class: *class, mode: p.Mode, taken: taken})
			}
		}
	}
	return nil
}

func classOf(classes []fabric.VMClass, node string) *fabric.VMClass {
	i := slices.IndexFunc(classes, func(c fabric.VMClass) bool { return slices.Contains(c.Nodes, node) })
	if i < 0 {
		return nil
	}
	return &classes[i]
}

// machineOn is a virtual machine, the host on which it is planned, and its class.
type machineOn struct {
	vcenter.Machine
	planned string
	host    vcenter.Host
	class   fabric.VMClass
	mode    fabric.VMMode
	taken   map[string]bool
}

// machine decides what is to be done with a virtual machine.
func (s *sphereLook) machine(m machineOn) {
	switch {
	case m.Unread:
		s.pending.add(m.Name, "its configuration could not be read: this user may not")
		return
	case m.Template:
		s.pending.add(m.Name, "a template, and no virtual machine"+runbookMachines)
		return
	case !sameHost(m.Host, m.planned):
		s.pending.add(m.Name, "on host %s, and planned on %s: move it while it is off", named(m.Host), m.planned)
		return
	}
	if c := m.class; c.CPUs > 0 && m.CPUs != c.CPUs || c.MemoryMB > 0 && m.MemoryMB != c.MemoryMB {
		s.pending.add(m.Name, "%d CPUs and %d MB, and planned with %d and %d: this program does not change these%s", m.CPUs, m.MemoryMB, c.CPUs, c.MemoryMB, runbookMachines)
	}
	if m.class.GPUs > 0 && m.Firmware != "" && m.Firmware != "efi" {
		s.pending.add(m.Name, "firmware %s: devices with large memory need EFI, which is chosen before the system is installed%s", m.Firmware, runbookMachines)
	}
	change, what, why := m.change()
	if why != "" {
		s.pending.add(m.Name, "%s", why)
		return
	}
	write := sphereWrite{Kind: Same, Machine: &sphereMachine{Name: m.Name, Change: change, Before: m.VM}}
	switch {
	case len(what) == 0:
	case m.Power != "off":
		s.pending.add(m.Name, "is %s, and is changed while it is off alone: needs %s; shut it down, then repeat", named(m.Power), firstOf(what))
		return
	default:
		write.Kind = Update
	}
	s.steps = append(s.steps, sphereStep{write: write, reason: firstOf(what)})
}

// change is what the machine lacks, in words too; why is there where it cannot get that.
func (m machineOn) change() (change vcenter.VMChange, what []string, why string) {
	for _, o := range m.class.Extra {
		if !strings.EqualFold(extraOf(m.VM, o.Name), o.Value) {
			if change.Extra == nil {
				change.Extra = map[string]string{}
			}
			change.Extra[o.Name] = o.Value
			what = append(what, o.Name+"="+o.Value)
		}
	}
	lacking, unknown := m.lacking()
	if unknown != "" {
		return change, nil, unknown
	}
	for _, d := range lacking {
		if m.mode != fabric.SRIOVToGuests {
			change.Attach = append(change.Attach, fabric.VMDevice{Kind: "dynamic", Label: d.Label, Vendor: idText(d.Vendor), Device: idText(d.Device)})
			what = append(what, "device "+d.Label)
			continue
		}
		at, why := m.freeFunction(d, change.Attach)
		if why != "" {
			return change, nil, why
		}
		change.Attach = append(change.Attach, fabric.VMDevice{Kind: "direct", Address: at, Vendor: idText(d.Vendor), Device: idText(d.Device)})
		what = append(what, "virtual function "+at)
	}
	for _, d := range change.Attach {
		m.taken[m.host.Name+" "+d.Address] = d.Address != ""
	}
	if m.Reserved == nil || !*m.Reserved {
		yes := true
		change.Reserve = &yes
		what = append(what, "all of its memory reserved")
	}
	return change, what, ""
}

func idText(id uint16) string { return fmt.Sprintf("0x%04x", id) }

// lacking are the devices of the class that the machine does not have.
func (m machineOn) lacking() (lacking []fabric.VMClassDevice, unknown string) {
	have := slices.Clone(m.Devices)
	for _, want := range m.class.Devices {
		if want.Vendor == 0 || want.Device == 0 {
			return nil, "the catalog does not know the PCI id of " + want.Label + runbookMachines
		}
		i := slices.IndexFunc(have, func(d fabric.VMDevice) bool { return m.is(d, want) })
		if i < 0 {
			lacking = append(lacking, want)
			continue
		}
		have = slices.Delete(have, i, i+1)
	}
	if len(lacking) > 0 && (m.host.ESX == nil || m.host.ESX.Devices == nil) {
		return nil, "the devices of its host " + m.host.Name + " are unknown: what it can get is too"
	}
	return lacking, ""
}

// is reports whether a device of the machine is one of its class. With virtual functions any will do, also behind a network
// adapter; a whole device is the one of the label.
func (m machineOn) is(d fabric.VMDevice, want fabric.VMClassDevice) bool {
	if m.mode == fabric.SRIOVToGuests && d.Kind == "sriov" {
		return true
	}
	if !sameID(d.Vendor, want.Vendor) || !sameID(d.Device, want.Device) {
		return false
	}
	if m.mode == fabric.SRIOVToGuests || d.Kind == "dynamic" {
		return m.mode == fabric.SRIOVToGuests || d.Label == want.Label
	}
	if m.host.ESX == nil {
		return false
	}
	return slices.ContainsFunc(m.host.ESX.Devices, func(p fabric.PassthroughPCI) bool { return p.Address == d.Address && p.Label == want.Label })
}

// sameID compares an id as the API writes it: 0x10de, 4318, -32634.
func sameID(text string, id uint16) bool {
	n, err := strconv.ParseInt(text, 0, 32)
	return err == nil && uint16(n) == id
}

// freeFunction is a virtual function of the host that nobody has, of another NIC than those that the machine gets or has. The
// functions of a NIC are on its PCI bus.
func (m machineOn) freeFunction(want fabric.VMClassDevice, more []fabric.VMDevice) (address, why string) {
	bus := func(address string) string {
		at, _, _ := cutLast(address, ":")
		return at
	}
	used := map[string]bool{}
	for _, d := range append(slices.Clone(m.Devices), more...) {
		if d.Address != "" {
			used[bus(d.Address)] = true
		}
	}
	there := 0
	for _, p := range m.host.ESX.Devices {
		if p.Vendor != want.Vendor || p.Device != want.Device {
			continue
		}
		there++
		if p.Owner == "" && p.Active != nil && *p.Active && !m.taken[m.host.Name+" "+p.Address] && !used[bus(p.Address)] {
			return p.Address, ""
		}
	}
	if there == 0 {
		return "", fmt.Sprintf("host %s shows no virtual function %04x:%04x: SR-IOV is not in force (runbook: nic-settings, max-vfs)", m.host.Name, want.Vendor, want.Device)
	}
	return "", fmt.Sprintf("host %s has no virtual function left for it: of %d each is in use, or of a NIC of which it has one (runbook: max-vfs)", m.host.Name, there)
}

func cutLast(text, sep string) (before, after string, found bool) {
	i := strings.LastIndex(text, sep)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(sep):], true
}
