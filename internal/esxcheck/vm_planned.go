package esxcheck

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func vmPlannedRule() Rule {
	return Rule{
		ID: "vm-planned", Title: "A virtual machine of the plan has the devices of its class",
		Doc: "counts the devices of each planned virtual machine by their ids: one that has a whole NIC where a virtual function is planned, or a device less, is not what the plan says. " +
			"The virtual machine has the name of its node, on any of the hosts that were read",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: "the plan; " + docVCF + ", 10.1; " + docVS8 + ", 3.1", Facts: []string{fabric.FactESXVMs},
		DependsOn: []string{"vm-ids"},
		Judge: eachHost(true, func(s scene) (out []fabric.Finding) {
			i := slices.IndexFunc(s.site.Hosts, func(h fabric.ESXHost) bool { return strings.EqualFold(short(h.Name), short(s.name())) })
			if i < 0 || len(s.site.Hosts[i].Nodes) == 0 {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "no virtual machine is planned on "+s.name())}
			}
			for _, node := range s.site.Hosts[i].Nodes {
				out = append(out, s.plannedVM(node)...)
			}
			return out
		}),
	}
}

// plannedVM judges the virtual machine of a node that is planned on this host. Its class lets it start on another one too.
func (s scene) plannedVM(node string) []fabric.Finding {
	i := slices.IndexFunc(s.site.Classes, func(c fabric.VMClass) bool { return slices.Contains(c.Nodes, node) })
	if i < 0 {
		return []fabric.Finding{s.finding(fabric.NotApplicable, "no class is planned for "+node)}
	}
	for _, f := range s.Hosts {
		for j := range f.ESX.VMs {
			if vm := &f.ESX.VMs[j]; vm.Name == node {
				at := scene{Input: s.Input, facts: f, esx: f.ESX, site: s.site, goal: s.goal, tree: devicesOf(f, s.goal)}
				return at.hasClass(vm, &s.site.Classes[i])
			}
		}
	}
	return []fabric.Finding{s.finding(fabric.Unknown, "virtual machine "+node+" is not among those of the hosts that were read: not made yet, or it has another name")}
}

func (s scene) hasClass(vm *fabric.VM, class *fabric.VMClass) []fabric.Finding {
	want, have, dark := map[string]int{}, map[string]int{}, 0
	for _, d := range class.Devices {
		want[hex4(d.Vendor)+":"+hex4(d.Device)]++
	}
	labels := map[string]bool{}
	for _, d := range class.Devices {
		labels[d.Label] = true
	}
	var foreign []string
	for i := range vm.Devices {
		id := s.idOf(&vm.Devices[i])
		if id == "" {
			dark++
			continue
		}
		have[id]++
		if l := vm.Devices[i].Label; l != "" && !labels[l] {
			foreign = append(foreign, l)
		}
	}
	seen := saw("devices of "+vmName(vm), counted(have))
	expected := counted(want) + " (class " + class.Name + ")"
	f := fault{vm: vmName(vm), expected: expected, seen: []fabric.Evidence{seen}, fix: "power it off, attach the devices of class " + class.Name + " in their order, with all memory reserved"}
	switch {
	case len(foreign) > 0:
		f.why, f.cost = fmt.Sprintf("%s asks for devices with label %s, which its class %s does not have.", vm.Name, strings.Join(foreign, ", "), class.Name), "it gets the devices of another virtual machine, or does not start"
		return []fabric.Finding{s.fail(f)}
	case maps.Equal(want, have) && dark == 0:
		return s.vmPass(vm, expected, seen)
	case dark > 0:
		return []fabric.Finding{s.vmUnknown(vm, fmt.Sprintf("the ids of %s were not read: whether it has the devices of its class is unknown", fabric.Count(dark, "device")), seen)}
	}
	f.why, f.cost = fmt.Sprintf("%s has %s, and its class %s has %s.", vm.Name, counted(have), class.Name, counted(want)), "it has not the GPUs and NICs that the plan counts on"
	if n := s.goal.NIC; s.goal.Mode == fabric.SRIOVToGuests && have[n] > want[n] {
		f.why += " A whole NIC is passed through, and no virtual function of it is left for others."
	}
	return []fabric.Finding{s.fail(f)}
}

// idOf is vendor:device of a device of a virtual machine; empty: unknown. An adapter of SR-IOV names the physical function: it has a
// virtual one.
func (s scene) idOf(d *fabric.VMDevice) string {
	vendor, okV := vmID(d.Vendor)
	id, okD := vmID(d.Device)
	if !okV || !okD || d.Vendor == "" || d.Device == "" {
		at := s.byAddress(s.deviceAt(d))
		if at == nil || at.device == 0 {
			return ""
		}
		vendor, id = at.vendor, at.device
	}
	text := hex4(vendor) + ":" + hex4(id)
	if d.Kind == "sriov" && text == s.goal.NIC {
		for _, c := range s.site.Classes {
			for _, planned := range c.Devices {
				return hex4(planned.Vendor) + ":" + hex4(planned.Device)
			}
		}
	}
	return text
}

// counted writes 8 x 10de:2330, 8 x 15b3:1021.
func counted(devices map[string]int) string {
	if len(devices) == 0 {
		return "no device"
	}
	var words []string
	for _, id := range slices.Sorted(maps.Keys(devices)) {
		words = append(words, fmt.Sprintf("%d x %s", devices[id], id))
	}
	return strings.Join(words, ", ")
}
