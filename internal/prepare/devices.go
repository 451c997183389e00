package prepare

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

func is(b *bool) bool { return b != nil && *b }

// devices are those of vendor:device that the host has, in the order of their addresses.
func (r *run) devices(id string) (found []fabric.PassthroughPCI) {
	vendor, device := ids(id)
	for _, d := range r.esx.Devices {
		if device != 0 && d.Vendor == vendor && d.Device == device {
			found = append(found, d)
		}
	}
	slices.SortFunc(found, func(a, b fabric.PassthroughPCI) int {
		if a.Address < b.Address {
			return -1
		}
		return 1
	})
	return found
}

// nvswitches are bridges of NVIDIA by their class (0680: other bridge).
func (r *run) nvswitches() (found []fabric.PassthroughPCI) {
	const nvidia, otherBridge = 0x10de, 0x0680
	for _, d := range r.esx.Devices {
		if d.Vendor == nvidia && slices.ContainsFunc(r.facts.PCI, func(p fabric.PCIDevice) bool { return p.Address == d.Address && p.Class>>8 == otherBridge }) {
			found = append(found, d)
		}
	}
	return found
}

func (r *run) conflicts() {
	g := r.goal
	for _, o := range g.NICSettings {
		n := 0
		if _, err := fmt.Sscan(o.Value, &n); err != nil {
			continue
		}
		switch {
		case o.Name == "SRIOV_EN" && n != 0 && g.Mode == fabric.Passthrough:
			r.conflict("sriov-with-passthrough", "SR-IOV is to be on, and the NICs are to be passed through whole", "set vsphere.mode to one of the two")
		case o.Name == "NUM_OF_VFS" && n <= g.MaxVFs:
			r.conflict("too-few-functions", fmt.Sprintf("NUM_OF_VFS %d is not above max_vfs %d: one is for the physical function", n, g.MaxVFs), "make fewer virtual functions, or let the NIC have more")
		}
	}
	if r.esx.Devices == nil {
		r.unknown("the PCI devices of the host were not read")
		return
	}
	for _, want := range []struct {
		what, id string
		n        int
	}{{"NIC", g.NIC, g.NICs}, {"GPU", g.GPU, g.GPUs}} {
		if has := len(r.devices(want.id)); want.id != "" && has < want.n {
			r.conflict("devices-missing", fmt.Sprintf("the host has %s of %s, and the plan needs %d", fabric.Count(has, want.what), want.id, want.n), "find the missing ones: lspci, the server's own log, its slots; or plan fewer")
		}
	}
	if g.Mode == fabric.Passthrough {
		for _, v := range r.esx.VFs {
			if v.Owner != "" && v.Owner != "-" {
				r.conflict("function-in-use", fmt.Sprintf("virtual function %d of %s belongs to virtual machine %s, and the NICs are to be passed through whole", v.Number, v.Of, fabric.Quote(v.Owner)), "take it from that virtual machine first")
			}
		}
		return
	}
	for _, d := range r.devices(g.NIC) {
		if is(d.Active) && d.Owner != "" {
			r.conflict("device-in-use", "NIC "+d.Address+" is passed through whole to virtual machine "+fabric.Quote(d.Owner)+", and is to have virtual functions", "take it from that virtual machine first")
		}
	}
}

// takeOut ends the passthrough of NICs that are to have virtual functions.
func (r *run) takeOut() {
	if r.goal.Mode != fabric.SRIOVToGuests {
		return
	}
	for _, d := range r.devices(r.goal.NIC) {
		switch {
		case d.Enabled == nil:
			r.unknown("whether NIC " + d.Address + " is passed through was not read")
		case *d.Enabled:
			start := d.Active == nil || *d.Active
			r.moved = r.moved || start
			r.when(start, r.passThroughStep(d.Address, false))
		case is(d.Active):
			r.moved = true
			r.pending("NIC " + d.Address + " was taken out of passthrough")
		}
	}
}

// passThrough passes devices through that are not; a NIC only once its settings are known.
func (r *run) passThrough(settled map[string]bool) {
	if r.goal.Mode != fabric.Passthrough {
		return
	}
	nics := r.devices(r.goal.NIC)
	all := append(r.devices(r.goal.GPU), nics...)
	if r.goal.NVSwitches > 0 {
		all = append(all, r.nvswitches()...)
	}
	for i, d := range all {
		isNIC := i >= len(r.devices(r.goal.GPU)) && i < len(r.devices(r.goal.GPU))+len(nics)
		switch {
		case d.Enabled == nil:
			r.unknown("whether " + d.Address + " is passed through was not read")
		case *d.Enabled && d.Active != nil && !*d.Active:
			r.pending(d.Address + " was passed through")
		case *d.Enabled:
		case d.Capable != nil && !*d.Capable:
			r.conflict("not-capable", d.Address+" cannot be passed through, says ESX", "switch the IOMMU on in the firmware of the server, and see what else is below its bridge")
		case isNIC && !settled[d.Address] && len(r.later) > 0:
			r.after("NICs are passed through, after their settings")
		case isNIC && !settled[d.Address]:
			r.unknown("NIC " + d.Address + " is not passed through: its settings come first, and are not all known")
		default:
			r.when(!is(d.Active), r.passThroughStep(d.Address, true))
		}
	}
}

func (r *run) passThroughStep(address string, on bool) Step {
	set := func(on bool) string {
		return fmt.Sprintf("esxcli hardware pci pcipassthru set -d %s -e %t", fabric.ShellWord(address), on)
	}
	title := "pass " + address + " through"
	if !on {
		title = "take " + address + " out of passthrough"
	}
	return Step{ID: fmt.Sprintf("passthrough %s %t", address, on), Title: title, Commands: []string{set(on)}, Undo: []string{set(!on)},
		Check: enabledCheck("esxcli hardware pci pcipassthru list", address, on), Source: vcf + "8.5"}
}

// labels are set by the vSphere API; the shell of ESX has no command for them.
func (r *run) labels() {
	for _, l := range r.goal.Labels {
		i := slices.IndexFunc(r.esx.Devices, func(d fabric.PassthroughPCI) bool {
			return d.Address == l.Address || d.Address == "0000:"+l.Address
		})
		switch {
		case l.Address == "":
			r.unknown("which device gets label " + l.Label + " was not decided")
		case r.esx.Devices == nil:
		case i < 0:
			r.conflict("label-without-device", "label "+l.Label+" is for "+l.Address+", and the host has no such device", "correct vsphere.labels, or the slot of the card")
		case r.esx.Devices[i].Label == l.Label:
		case !r.esx.Devices[i].Labels:
			r.unknown("hardware labels were not read: only the vSphere API has them")
		default:
			d := r.esx.Devices[i]
			r.atOnce(Step{ID: "label " + d.Address, Title: "label " + d.Address + " " + l.Label, Change: &Change{Address: d.Address, Label: l.Label, Before: d.Label},
				Check: Check{Want: "the label is " + l.Label}, Source: vcf + "8.5"})
		}
	}
}
