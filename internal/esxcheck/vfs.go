package esxcheck

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about virtual functions: how many the driver is told to make (max_vfs), how many the firmware allows (NUM_OF_VFS), and
// how many there are.

const parametersList = "esxcli system module parameters list -m nmlx5_core"

// maxVFs reads max_vfs of the driver: one number per physical function, in the order of their addresses. ok is false where it
// was not read; unset it is empty.
func (s scene) maxVFs() (list []int, text string, ok bool) {
	m := s.esx.Module(nicModule)
	if m == nil || m.Parameters == nil {
		return nil, "", false
	}
	text = m.Parameters["max_vfs"]
	for part := range strings.SplitSeq(text, ",") {
		if strings.TrimSpace(part) == "" {
			continue
		}
		n, good := number(part)
		if !good {
			return nil, text, false
		}
		list = append(list, n)
	}
	return list, text, true
}

// functions are the addresses of the physical functions that the driver has, in order.
func (s scene) functions() []string {
	var out []string
	for _, u := range s.esx.Uplinks {
		if u.Driver == nicModule && u.Address != "" {
			out = append(out, u.Address)
		}
	}
	if len(out) == 0 {
		for _, d := range s.tree {
			if d.kind == kindNIC && d.vendor == vendorMellanox && (d.pass == nil || !is(d.pass.Active, true)) {
				out = append(out, d.address)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func maxVFsRule() Rule {
	return Rule{
		ID: "esx-max-vfs", Title: "The driver makes the planned virtual functions on the planned NICs",
		Doc: "compares max_vfs of nmlx5_core with the NICs of the driver: it is a list in the order of their addresses, so that a card added in a lower slot shifts it, and a NIC without an entry has none. " +
			"With passthrough it has to be unset",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVS8 + "; " + kb309346, Facts: []string{fabric.FactESXModules, fabric.FactESXUplinks, fabric.FactPCI},
		DependsOn: []string{"esx-nic-driver"},
		Judge:     eachHost(false, judgeMaxVFs),
	}
}

func judgeMaxVFs(s scene) []fabric.Finding {
	list, text, ok := s.maxVFs()
	switch {
	case s.goal == nil && !ok:
		return []fabric.Finding{s.finding(fabric.NotApplicable, "no plan says whether "+s.name()+" is to have virtual functions")}
	case s.goal == nil:
		return []fabric.Finding{s.anyMaxVFs(list, text)}
	case !ok:
		return []fabric.Finding{s.unread("max_vfs of "+nicModule+" was not read", fabric.FactESXModules)}
	}
	seen := saw(parametersList, "max_vfs="+text)
	if s.mode() == fabric.Passthrough {
		if slices.ContainsFunc(list, func(n int) bool { return n > 0 }) {
			return []fabric.Finding{s.fail(fault{cause: fabric.CauseSRIOVLeftOn, why: "max_vfs of " + s.name() + " is " + text + ", and the plan passes its NICs through whole.", expected: "unset, or 0", seen: []fabric.Evidence{seen},
				cost: "ESX makes virtual functions and does not pass the whole NIC through", fix: s.here(`esxcli system module parameters set -a -m nmlx5_core -p "max_vfs=0"`) + ", then restart it"})}
		}
		return s.pass("unset, or 0", seen)
	}
	functions := s.functions()
	if len(functions) == 0 {
		return []fabric.Finding{s.unread("the NICs of "+nicModule+" were not read", fabric.FactESXUplinks, fabric.FactPCI)}
	}
	vendor, id := s.wantedNIC()
	var want []string
	bad := len(list) > len(functions)
	why := fmt.Sprintf("max_vfs of %s has %d entries for %d NICs of the driver", s.name(), len(list), len(functions))
	for i, at := range functions {
		n := 0
		if i < len(list) {
			n = list[i]
		}
		d := s.byAddress(at)
		ours := d == nil || d.device == 0 || d.vendor == vendor && d.device == id
		need := 0
		if ours {
			need = s.goal.MaxVFs
		}
		want = append(want, fmt.Sprint(need))
		if ours && n < need {
			bad, why = true, fmt.Sprintf("%s, and gives NIC %s, number %d in the order of addresses, %d virtual functions", why, at, i+1, n)
		}
	}
	if bad {
		return []fabric.Finding{s.fail(fault{why: why + ".", expected: "max_vfs=" + strings.Join(want, ","), seen: []fabric.Evidence{seen, saw("NICs of the driver", strings.Join(functions, " "))},
			cost: "a virtual machine that is to get a virtual function does not start (No SR-IOV virtual function is available)",
			fix:  s.here(`esxcli system module parameters set -a -m nmlx5_core -p "max_vfs=`+strings.Join(want, ",")+`"`) + ", then restart it"})}
	}
	return s.pass(strings.Join(want, ",")+" or more", seen, saw("NICs of the driver", strings.Join(functions, " ")))
}

// anyMaxVFs judges the list without a plan: that it has more entries than there are NICs is wrong for every goal.
func (s scene) anyMaxVFs(list []int, text string) fabric.Finding {
	functions := s.functions()
	seen := []fabric.Evidence{saw(parametersList, "max_vfs="+text), saw("NICs of the driver", cmp.Or(strings.Join(functions, " "), "not read"))}
	whole := s.esx.Whole(fabric.FactESXUplinks)
	switch {
	case whole && len(functions) > 0 && len(list) > len(functions):
		return s.fail(fault{why: fmt.Sprintf("max_vfs of %s has %d entries, and the driver has %s.", s.name(), len(list), fabric.Count(len(functions), "NIC")), expected: "one entry for each NIC of the driver, in the order of addresses",
			seen: seen, cost: "after a card was added or taken out the entries are of other NICs: virtual functions are on the wrong ones", fix: s.here(`esxcli system module parameters set -a -m nmlx5_core -p "max_vfs=..."`) + " with one entry per NIC, then restart it"})
	case slices.ContainsFunc(list, func(n int) bool { return n > 0 }):
		return s.finding(fabric.Unknown, "max_vfs of "+s.name()+" is "+text+": right where virtual machines get virtual functions, one entry per NIC in the order of addresses, wrong where whole NICs are passed through; no plan says which", seen...)
	}
	return s.finding(fabric.Unknown, "max_vfs of "+s.name()+" is unset or 0: right where whole NICs are passed through, wrong where virtual machines are to get virtual functions; no plan says which", seen...)
}

// vfsOf compares NUM_OF_VFS of each NIC with what the driver is to make on it.
func (s scene) vfsOf(judge func(c nicConfig, allowed, made int) (fault, bool), expected string) []fabric.Finding {
	if s.mode() == fabric.Passthrough {
		return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan passes NICs through whole")}
	}
	list, text, read := s.maxVFs()
	if s.esx.NICConfigs == nil || !read && s.goal == nil {
		return []fabric.Finding{s.unread("NUM_OF_VFS of the NICs and max_vfs of the driver were not both read", fabric.FactESXNICConfigs, fabric.FactESXModules)}
	}
	functions := s.functions()
	var out []fabric.Finding
	var seen []fabric.Evidence
	configs, _ := s.configs()
	for _, c := range configs {
		made := 0
		switch i := slices.Index(functions, c.at); {
		case s.goal != nil:
			made = s.goal.MaxVFs
		case i >= 0 && i < len(list):
			made = list[i]
		case len(list) > 0:
			made = slices.Max(list)
		}
		have := inForce(c.Settings["NUM_OF_VFS"])
		allowed, ok := number(have)
		if !ok {
			u := s.finding(fabric.Unknown, "NUM_OF_VFS of "+c.name+" on "+s.name()+" is not in the text that was read")
			u.Subject = s.subject("", c.at)
			out = append(out, u)
			continue
		}
		evidence := []fabric.Evidence{saw(c.source(), "NUM_OF_VFS "+have), saw("virtual functions of the driver", cmp.Or(text, fmt.Sprint(made)))}
		if f, wrong := judge(c, allowed, made); wrong {
			f.at, f.seen, f.expected = c.at, evidence, expected
			out = append(out, s.fail(f))
		}
		seen = append(seen, evidence...)
	}
	if len(out) == 0 && len(seen) > 0 {
		return s.pass(expected, seen...)
	}
	return out
}

func firmwareVFsRule() Rule {
	return Rule{
		ID: "esx-num-of-vfs", Title: "The firmware of each NIC allows the virtual functions that the driver makes",
		Doc:      "compares NUM_OF_VFS of each physical function with what max_vfs makes on it",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVS8, Facts: []string{fabric.FactESXNICConfigs, fabric.FactESXModules},
		DependsOn: []string{"esx-nic-sriov"},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			return s.vfsOf(func(c nicConfig, allowed, made int) (fault, bool) {
				return fault{why: fmt.Sprintf("NIC %s of %s allows %d virtual functions, and the driver is to make %d.", c.name, s.name(), allowed, made),
					cost: "virtual functions are missing", fix: s.setNIC(c, "NUM_OF_VFS", fmt.Sprint(made+1))}, allowed < made
			}, "NUM_OF_VFS not below max_vfs")
		}),
	}
}

func spareVFRule() Rule {
	return Rule{
		ID: "esx-vf-spare", Title: "The firmware of each NIC allows one virtual function more than the driver makes",
		Doc:      "the document for vSphere 8 asks for one more than the sum of max_vfs; a guide of a vendor works with as many as max_vfs, as the number is of each physical function: a warning only",
		Severity: fabric.SeverityWarning, Cause: fabric.CauseVMHostSetup, Reference: docVS8, Facts: []string{fabric.FactESXNICConfigs, fabric.FactESXModules},
		DependsOn: []string{"esx-nic-sriov", "esx-num-of-vfs"},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			return s.vfsOf(func(c nicConfig, allowed, made int) (fault, bool) {
				return fault{why: fmt.Sprintf("NIC %s of %s allows %d virtual functions, as many as the driver makes and none to spare.", c.name, s.name(), allowed),
					cost: "none that was measured: the document asks for one more", fix: s.setNIC(c, "NUM_OF_VFS", fmt.Sprint(made+1))}, allowed == made && made > 0
			}, "NUM_OF_VFS above max_vfs")
		}),
	}
}

func presentVFsRule() Rule {
	return Rule{
		ID: "esx-vfs", Title: "The planned virtual functions are there",
		Doc:      "counts the virtual functions of the host: settings of firmware and driver make them with the next start only",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVS8, Facts: []string{fabric.FactESXVFs, fabric.FactPCI, fabric.FactESXDevices},
		DependsOn: []string{"esx-nic-driver", "esx-max-vfs"},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			if s.goal == nil {
				return []fabric.Finding{s.anyVFs()}
			}
			if s.mode() != fabric.SRIOVToGuests {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan passes NICs through whole")}
			}
			have := len(s.esx.VFs)
			for _, d := range s.tree {
				if d.kind == kindVF && !slices.ContainsFunc(s.esx.VFs, func(v fabric.ESXVirtual) bool { return v.Address == d.address || v.Address == "" }) {
					have++
				}
			}
			want := s.goal.MaxVFs * max(s.goal.NICs, 1)
			seen := saw("esxcli network sriovnic vf list, lspci", fabric.Count(have, "virtual function"))
			expected := fabric.Count(want, "virtual function")
			switch {
			case have >= want:
				return s.pass(expected, seen)
			case s.esx.VFs == nil && len(s.facts.PCI) == 0 && !s.esx.Whole(fabric.FactESXDevices), have > 0 && !s.esx.Whole(fabric.FactESXVFs):
				return []fabric.Finding{s.unread("not all virtual functions were read", fabric.FactESXVFs)}
			}
			return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("%s has %d of the %d planned virtual functions.", s.name(), have, want), expected: expected, seen: []fabric.Evidence{seen},
				cost: "a virtual machine that is to get one does not start", fix: "compare SRIOV_EN, NUM_OF_VFS and max_vfs, then restart the host: they make virtual functions with the next start"})}
		}),
	}
}

// anyVFs says without a plan that NICs which ESX drives have no virtual functions.
func (s scene) anyVFs() fabric.Finding {
	var driven []string
	for _, u := range s.esx.Uplinks {
		if d := s.byAddress(u.Address); u.Address != "" && (u.Driver == nicModule || d != nil && d.vendor == vendorMellanox || strings.Contains(u.What, "Mellanox") || d != nil && strings.Contains(d.name, "ConnectX")) {
			driven = append(driven, u.Address)
		}
	}
	slices.Sort(driven)
	driven = slices.Compact(driven)
	virtual := len(s.esx.VFs) > 0 || slices.ContainsFunc(s.tree, func(d device) bool { return d.kind == kindVF })
	listed := s.esx.VFs != nil || len(s.esx.Devices) > 0 || len(s.facts.PCI) > 0 // a list of devices, in which they would be
	if len(driven) == 0 || virtual || !listed {
		return s.finding(fabric.NotApplicable, "no plan says whether "+s.name()+" is to have virtual functions")
	}
	return s.finding(fabric.Unknown, "no virtual function is listed beside NIC "+few(driven)+" of "+s.name()+": right where none are planned; else SRIOV_EN and NUM_OF_VFS of the firmware, or max_vfs of nmlx5_core, are not set, or the host was not started since; no plan says which",
		saw("lspci, esxcli network sriovnic", "no virtual function beside "+few(driven)))
}
