package esxcheck

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about devices that a host gives away: passthrough and hardware labels.

func passthroughRule() Rule {
	return Rule{
		ID: "esx-passthrough", Title: "The planned devices are passed through",
		Doc:      "reads for every planned GPU, NVSwitch and, with passthrough, NIC whether ESX can pass it through, is configured to, and does",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 8.5", Facts: []string{fabric.FactESXDevices},
		DependsOn: []string{"esx-devices"},
		Judge:     eachHost(true, judgePassthrough),
	}
}

// given are the devices that the plan gives to virtual machines.
func (s scene) given() []device {
	kinds := []string{kindGPU, kindNVSwitch}
	if s.mode() != fabric.SRIOVToGuests {
		kinds = append(kinds, kindNIC)
	}
	var out []device
	for _, k := range kinds {
		found, _ := s.ours(k)
		out = append(out, found...)
	}
	return out
}

func judgePassthrough(s scene) []fabric.Finding {
	devices := s.given()
	if len(devices) == 0 {
		if s.mode() == fabric.SRIOVToGuests && s.goal.GPUs == 0 {
			return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan gives virtual functions, and no whole device")}
		}
		return []fabric.Finding{s.unread("no planned device was identified", fabric.FactESXDevices, fabric.FactPCI)}
	}
	var out []fabric.Finding
	on := 0
	for _, d := range devices {
		name := d.kind + " " + d.address + " of " + s.name()
		f := fault{at: d.address, expected: "capable, configured, active", cost: "no virtual machine can get it",
			fix: s.here("esxcli hardware pci pcipassthru set -d " + d.address + " -e true -a")}
		if d.pass != nil {
			f.seen = []fabric.Evidence{saw("esxcli hardware pci list", fmt.Sprintf("capable %s, configured %s, active %s", word(d.pass.Capable), word(d.pass.Enabled), word(d.pass.Active)))}
		}
		switch {
		case d.pass == nil || d.pass.Enabled == nil && d.pass.Active == nil:
			u := s.unread("passthrough of "+name+" was not read", fabric.FactESXDevices)
			u.Subject = s.subject("", d.address)
			out = append(out, u)
		case is(d.pass.Capable, false):
			f.why, f.fix = name+" cannot be passed through.", "turn virtualisation for I/O (VT-d, AMD IOMMU), SR-IOV and above 4G decoding on in the BIOS; a device of which ESX runs its own network or storage is not passed through"
			out = append(out, s.fail(f))
		case is(d.pass.Enabled, false) || d.pass.Enabled == nil && is(d.pass.Active, false):
			f.why = name + " is not passed through."
			out = append(out, s.fail(f))
		case is(d.pass.Active, false):
			f.why, f.fix = name+" is to be passed through, and is not yet: the host has to start again.", s.here("esxcli system shutdown reboot -r passthrough")+" in maintenance mode"
			out = append(out, s.fail(f))
		default:
			on++
		}
	}
	if len(out) == 0 {
		return s.pass("each planned device", saw("esxcli hardware pci list", fabric.Count(on, "device")+" passed through"))
	}
	return out
}

func word(v *bool) string {
	if v == nil {
		return "not read"
	}
	return strconv.FormatBool(*v)
}

func labelsRule() Rule {
	return Rule{
		ID: "esx-labels", Title: "Every planned device has its hardware label, and no other device has it",
		Doc:      "compares hardware labels with the plan; without one it looks for a label on two devices. A virtual machine gets any device with the label that its class names",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 8.5", Facts: []string{fabric.FactESXDevices},
		DependsOn: []string{"esx-passthrough"},
		Judge:     eachHost(false, judgeLabels),
	}
}

func judgeLabels(s scene) []fabric.Finding {
	by := map[string][]device{}
	told := 0
	for _, d := range s.tree {
		if d.pass == nil || !d.pass.Labels && d.pass.Label == "" {
			continue
		}
		if told++; d.pass.Label != "" {
			by[d.pass.Label] = append(by[d.pass.Label], d)
		}
	}
	if told == 0 {
		return []fabric.Finding{s.unread("hardware labels were not read", fabric.FactESXDevices)}
	}
	const source, fix = "hardware labels", "vSphere Client, host, Configure, PCI Devices, Hardware Label; or railwright apply"
	var out []fabric.Finding
	var seen []fabric.Evidence
	for label, of := range by {
		if len(of) < 2 {
			continue
		}
		var at []string
		for _, d := range of {
			at = append(at, d.address)
		}
		out = append(out, s.fail(fault{why: fmt.Sprintf("Label %s of %s is on %d devices: %s.", label, s.name(), len(of), few(at)), expected: "one device", at: at[0], seen: []fabric.Evidence{saw(source, label+" "+strings.Join(at, " "))},
			cost: "a virtual machine gets either of them", fix: fix}))
	}
	slices.SortFunc(out, func(a, b fabric.Finding) int { return strings.Compare(a.Subject.PCI, b.Subject.PCI) })
	for _, w := range s.wantedLabels() {
		of := by[w.Label]
		switch {
		case len(of) == 0:
			out = append(out, s.fail(fault{why: "No device of " + s.name() + " has the label " + w.Label + ".", expected: strings.TrimSpace(w.Label + " " + w.Address), at: w.Address, seen: []fabric.Evidence{saw(source, fabric.Count(len(by), "label"))},
				cost: "a virtual machine whose class names it does not start on this host", fix: fix}))
		case w.Address != "" && of[0].address != fullAddress(w.Address) && len(of) == 1:
			out = append(out, s.fail(fault{why: fmt.Sprintf("Label %s of %s is on %s, planned is %s.", w.Label, s.name(), of[0].address, w.Address), expected: w.Label + " " + w.Address, at: of[0].address,
				seen: []fabric.Evidence{saw(source, w.Label+" "+of[0].address)}, cost: "virtual machines get another device than planned", fix: fix}))
		default:
			seen = append(seen, saw(source, w.Label+" "+of[0].address))
		}
	}
	if len(out) == 0 {
		return s.pass("each label on one device", append(seen, saw(source, fabric.Count(len(by), "label")))...)
	}
	return out
}

// wantedLabels are those of the plan, or those that the classes of the plan name.
func (s scene) wantedLabels() []fabric.DeviceLabel {
	if s.goal == nil || len(s.goal.Labels) > 0 || s.mode() == fabric.SRIOVToGuests {
		if s.goal == nil {
			return nil
		}
		return s.goal.Labels
	}
	var out []fabric.DeviceLabel
	for _, c := range s.site.Classes {
		for _, d := range c.Devices {
			if !slices.ContainsFunc(out, func(l fabric.DeviceLabel) bool { return l.Label == d.Label }) {
				out = append(out, fabric.DeviceLabel{Label: d.Label})
			}
		}
	}
	return out
}

// fullAddress adds the domain.
func fullAddress(at string) string {
	if strings.Count(at, ":") == 1 {
		return "0000:" + strings.ToLower(at)
	}
	return strings.ToLower(at)
}

func pairsRule() Rule {
	return Rule{
		ID: "esx-pairs", Title: "GPU and NIC of one number are below one PCIe switch",
		Doc:      "looks up the PCIe tree from the devices labelled GPUn and NICn: a NIC nearer to another GPU makes their traffic cross the processor",
		Severity: fabric.SeverityError, Cause: fabric.CauseGPUNICMisaligned, Reference: docVCF + ", 5, 8.5", Facts: []string{fabric.FactESXDevices, fabric.FactPCI},
		DependsOn: []string{"esx-labels"},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			gpus, nics := s.labelled(kindGPU), s.labelled(kindNIC)
			var out []fabric.Finding
			var seen []fabric.Evidence
			for n := range 64 { // more than any host has
				gpu, nic := gpus[n], nics[n]
				if gpu == "" || nic == "" {
					continue
				}
				bridge, _, ok := s.shared(gpu, nic)
				closer := s.nearest(gpu, nics)
				text := saw("PCIe tree", fmt.Sprintf("GPU%d %s, NIC%d %s, switch %s", n, gpu, n, nic, bridge))
				switch {
				case closer != "" && closer != nic:
					out = append(out, s.fail(fault{why: fmt.Sprintf("NIC%d (%s) of %s is not the NIC near GPU%d (%s), which is %s.", n, nic, s.name(), n, gpu, closer), at: nic, expected: "below one PCIe switch", seen: []fabric.Evidence{text},
						cost: "their traffic goes through the processor", fix: "swap the labels so that each GPU and its NIC have one number"}))
				case !ok:
					out = append(out, s.finding(fabric.Unknown, fmt.Sprintf("whether GPU%d and NIC%d of %s are below one PCIe switch is unknown: the bridges above them were not read", n, n, s.name())))
				default:
					seen = append(seen, text)
				}
			}
			if len(out) == 0 && len(seen) > 0 {
				return s.pass("below one PCIe switch", seen...)
			}
			if len(out) == 0 {
				if s.goal != nil && s.goal.GPUs == 0 {
					return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan has no GPUs")}
				}
				return []fabric.Finding{s.unread("no pair of labels GPUn and NICn was read", fabric.FactESXDevices)}
			}
			return out
		}),
	}
}

// labelled are the addresses of devices by the number in their label: GPU0, GPU-0, gpu_0.
func (s scene) labelled(kind string) map[int]string {
	out := map[int]string{}
	for _, d := range s.tree {
		if d.pass == nil {
			continue
		}
		if k, n, ok := labelParts(d.pass.Label); ok && k == kind {
			out[n] = d.address
		}
	}
	return out
}

// labelParts reads the kind and the number of a label.
func labelParts(label string) (kind string, n int, ok bool) {
	head := strings.TrimRight(label, "0123456789")
	n, err := strconv.Atoi(label[len(head):])
	if err != nil {
		return "", 0, false
	}
	switch strings.ToUpper(strings.TrimRight(head, "-_ ")) {
	case "GPU":
		return kindGPU, n, true
	case "NIC", "HCA", "IB":
		return kindNIC, n, true
	case "NVS", "NVSWITCH":
		return kindNVSwitch, n, true
	}
	return "", 0, false
}

// nearest is the NIC with the lowest common bridge above it; empty: the tree was not read, or several are as near.
func (s scene) nearest(gpu string, nics map[int]string) string {
	best, least, equal := "", 0, false
	for _, nic := range nics {
		_, depth, ok := s.shared(gpu, nic)
		switch {
		case !ok:
		case best == "" || depth < least:
			best, least, equal = nic, depth, false
		case depth == least:
			equal = true
		}
	}
	if equal {
		return ""
	}
	return best
}
