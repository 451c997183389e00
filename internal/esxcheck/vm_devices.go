package esxcheck

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about which devices virtual machines have: ids, owners, order, pairs, partitions.

func vmIDsRule() Rule {
	return Rule{
		ID: "vm-ids", Title: "Vendor and device of each passed device are written as ESX compares them",
		Doc:      "looks for vendor and device ids that are swapped, or written as signed numbers: no device fits them, and the virtual machine does not start",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: "vSphere API, HostPciDevice; PCI ID database", Facts: []string{fabric.FactESXVMs},
		Judge: eachVM(func(s scene, vm *fabric.VM) []fabric.Finding {
			var out []fabric.Finding
			var seen []fabric.Evidence
			for i := range vm.Devices {
				d := &vm.Devices[i]
				text := saw(fmt.Sprintf("pciPassthru%d", d.Number), "vendor "+d.Vendor+", device "+d.Device)
				vendor, okV := vmID(d.Vendor)
				id, okD := vmID(d.Device)
				f := fault{vm: vmName(vm), seen: []fabric.Evidence{text}, cost: "no device fits: the virtual machine does not start", expected: "vendor and device as 0x10de"}
				meantVendor, baseV := wrongBase(d.Vendor, isVendor)
				meantDevice, baseD := wrongBase(d.Device, isKnownDevice)
				switch {
				case vm.Class && (baseV || baseD):
					f.why = fmt.Sprintf("An id of %s is hexadecimal and lacks its 0x (vendor %s, device %s): it is not a number, or another one.", called(vm), d.Vendor, d.Device)
					f.fix = "vendor " + cmp.Or(meantVendor, d.Vendor) + ", device " + cmp.Or(meantDevice, d.Device)
				case d.Vendor == "" && d.Device == "" || !okV || !okD:
					continue
				case isVendor(id) && !isVendor(vendor):
					f.why = fmt.Sprintf("Vendor %s and device %s of %s are swapped: %s is a vendor.", d.Vendor, d.Device, called(vm), d.Device)
					f.fix = "vendor " + d.Device + ", device " + d.Vendor
				case strings.HasPrefix(strings.TrimSpace(d.Vendor), "-") || strings.HasPrefix(strings.TrimSpace(d.Device), "-"):
					f.why = fmt.Sprintf("Ids of %s are written as signed numbers (vendor %s, device %s).", called(vm), d.Vendor, d.Device)
					f.fix = "vendor 0x" + hex4(vendor) + ", device 0x" + hex4(id)
				default:
					seen = append(seen, text)
					continue
				}
				out = append(out, s.fail(f))
			}
			if len(out) == 0 && len(seen) > 0 {
				return s.vmPass(vm, "a vendor, then its device", seen...)
			}
			return out
		}),
	}
}

// isVendor knows the vendors of devices that are passed through here (PCI ID database): AMD, NVIDIA, Broadcom, Mellanox, Intel.
func isVendor(id uint16) bool {
	return slices.Contains([]uint16{0x1002, 0x1022, 0x10de, 0x14e4, 0x15b3, 0x8086}, id)
}

func vmSystemRule() Rule {
	return Rule{
		ID: "vm-system", Title: "The devices of a virtual machine were attached on one host",
		Doc:      "compares the systemId of the devices that virtual machines name by address: that of another host is refused at power-on",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: "vSphere API, VirtualPCIPassthroughDeviceBackingInfo.systemId", Facts: []string{fabric.FactESXVMs},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			if s.esx.VMs == nil {
				return []fabric.Finding{s.unread("virtual machines were not read", fabric.FactESXVMs)}
			}
			by := map[string][]string{}
			for i := range s.esx.VMs {
				for _, d := range s.esx.VMs[i].Devices {
					if isSystemID(d.System) {
						by[d.System] = append(by[d.System], fmt.Sprintf("%s pciPassthru%d", called(&s.esx.VMs[i]), d.Number))
					}
				}
			}
			switch len(by) {
			case 0:
				return []fabric.Finding{s.finding(fabric.NotApplicable, "no virtual machine of "+s.name()+" names a device of a certain host")}
			case 1:
				id := slices.Collect(maps.Keys(by))[0]
				if len(by[id]) < 2 {
					return []fabric.Finding{s.finding(fabric.Unknown, "one device of "+s.name()+" names a host by its systemId, and which host that is was not read", saw("systemId "+id, by[id][0]))}
				}
				return s.pass("one systemId", saw("systemId", id))
			}
			var seen []fabric.Evidence
			for _, id := range slices.Sorted(maps.Keys(by)) {
				seen = append(seen, saw("systemId "+id, few(by[id])))
			}
			return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("Devices of virtual machines on %s have %d different systemIds: all but one are of other hosts.", s.name(), len(by)), expected: "one systemId", seen: seen,
				cost: "a virtual machine with such a device does not start", fix: "remove the old device from the virtual machine and add that of this host; with a hardware label (Dynamic DirectPath I/O) it may move"})}
		}),
	}
}

// isSystemID knows the id of a host; one of zeros is of any.
func isSystemID(text string) bool {
	text = strings.Trim(text, `"`)
	return strings.Contains(text, "-") && strings.Trim(text, "0123456789abcdefABCDEF- ") == "" && strings.Trim(text, "0-") != ""
}

func vmOwnerRule() Rule {
	return Rule{
		ID: "vm-owner", Title: "No device is given to two virtual machines",
		Doc:      "looks for a device that several virtual machines name by its address: only one of them can run",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 9.3, 10.1", Facts: []string{fabric.FactESXVMs},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			if s.esx.VMs == nil {
				return []fabric.Finding{s.unread("virtual machines were not read", fabric.FactESXVMs)}
			}
			by := map[string][]string{}
			for i := range s.esx.VMs {
				for _, d := range s.esx.VMs[i].Devices {
					if name := vmName(&s.esx.VMs[i]); d.Address != "" && d.Kind != "sriov" && !slices.Contains(by[d.Address], name) {
						by[d.Address] = append(by[d.Address], name)
					}
				}
			}
			var out []fabric.Finding
			for _, at := range slices.Sorted(maps.Keys(by)) {
				if len(by[at]) > 1 {
					out = append(out, s.fail(fault{at: at, why: "Device " + at + " of " + s.name() + " is given to " + few(by[at]) + ".", expected: "one virtual machine", seen: []fabric.Evidence{saw("virtual machines", few(by[at]))},
						cost: "the second of them does not start; NVSwitches belong to the service VM or to the VM with all GPUs, never to both", fix: "take it from all but one"}))
				}
			}
			if len(out) == 0 && len(by) > 0 {
				return s.pass("one virtual machine each", saw("virtual machines", fabric.Count(len(by), "device")))
			}
			if len(out) == 0 {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "no virtual machine of "+s.name()+" names a device by its address")}
			}
			return out
		}),
	}
}

func vmSwitchesRule() Rule {
	return Rule{
		ID: "vm-nvswitches", Title: "NVSwitches belong to the service VM, or to the virtual machine with all GPUs",
		Doc:      "looks at which virtual machines have NVSwitches: the document gives them both to the service VM and to the class of the GPUs, and only one of them starts",
		Severity: fabric.SeverityError, Cause: fabric.CauseFabricManager, Reference: docVCF + ", 9.3, 10.1; " + docFM + ", shared NVSwitch", Facts: []string{fabric.FactESXVMs},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			if s.esx.VMs == nil {
				return []fabric.Finding{s.unread("virtual machines were not read", fabric.FactESXVMs)}
			}
			var with, service []string
			for i := range s.esx.VMs {
				gpus, _, switches, _ := s.parts(&s.esx.VMs[i])
				if s.esx.VMs[i].Class { // one of several, of which a host has one at a time
					continue
				}
				if switches > 0 && gpus > 0 {
					with = append(with, vmName(&s.esx.VMs[i]))
				} else if switches > 0 {
					service = append(service, vmName(&s.esx.VMs[i]))
				}
			}
			seen := []fabric.Evidence{saw("with NVSwitches and GPUs", few(with)), saw("with NVSwitches alone", few(service))}
			shared := len(service) > 0 || s.site != nil && s.site.Service != nil
			switch {
			case len(with) > 0 && shared || len(with) > 1:
				return []fabric.Finding{s.fail(fault{why: "NVSwitches of " + s.name() + " are given to " + few(slices.Concat(service, with)) + ".", expected: "one owner", seen: seen,
					cost: "only the first of them starts", fix: "take the NVSwitches (NVS0 to NVS3) out of the virtual machines with GPUs"})}
			case len(with)+len(service) == 0:
				return []fabric.Finding{s.finding(fabric.NotApplicable, "no virtual machine of "+s.name()+" has NVSwitches")}
			}
			return s.pass("one owner", seen...)
		}),
	}
}

func vmOrderRule() Rule {
	return Rule{
		ID: "vm-device-order", Title: "Devices are attached in the order GPU0, NIC0, GPU1, NIC1",
		Doc:      "compares the order of the devices of a virtual machine with that of the document: the topology file of NCCL and the names in the guest follow it",
		Severity: fabric.SeverityWarning, Cause: fabric.CauseTopoXMLWrong, Reference: docVCF + ", 10.1", Facts: []string{fabric.FactESXVMs},
		Judge: eachVM(func(s scene, vm *fabric.VM) []fabric.Finding {
			gpus, nics, _, dark := s.parts(vm)
			if gpus < 2 || nics < 2 {
				return nil
			}
			if dark > 0 {
				return []fabric.Finding{s.vmUnknown(vm, "devices that could not be identified leave the order open: that")}
			}
			o := s.orderOf(vm, gpus, nics)
			seen := saw("pciPassthruN", strings.Join(o.kinds, ", "))
			if o.wrong && s.goal == nil && !o.labelled && !vm.Class {
				return []fabric.Finding{s.vmUnknown(vm, "the devices are attached in another order than GPU0, NIC0, GPU1, NIC1, which matters where a topology file of NCCL is written for that one; no plan says so: that", seen)}
			}
			if o.wrong {
				return []fabric.Finding{s.fail(fault{vm: vmName(vm), why: "The devices of " + called(vm) + " are attached in another order.", expected: "GPU0, NIC0, GPU1, NIC1, ..., NVSwitches last", seen: []fabric.Evidence{seen},
					cost: "the topology file of NCCL pairs GPUs with far NICs", fix: "attach them in this order in the VM class, and make the virtual machine again"})}
			}
			return s.vmPass(vm, "GPU0, NIC0, GPU1, NIC1, ...", seen)
		}),
	}
}

// deviceOrder is in what order the devices of a virtual machine are attached.
type deviceOrder struct {
	kinds    []string // of each device, or its label
	labelled bool
	wrong    bool // another order than GPU0, NIC0, GPU1, NIC1, NVSwitches last
}

// orderOf compares the order of a machine that has so many GPUs and NICs.
func (s scene) orderOf(vm *fabric.VM, gpus, nics int) deviceOrder {
	sorted := slices.Clone(vm.Devices)
	slices.SortStableFunc(sorted, func(a, b fabric.VMDevice) int { return a.Number - b.Number })
	var have []string
	next, labels := map[string]int{}, map[string][]int{}
	wrong := false
	for i := range sorted {
		kind := s.vmKind(&sorted[i])
		if kind == kindVF {
			kind = kindNIC
		}
		n := next[kind]
		next[kind]++
		_, label, ok := labelParts(sorted[i].Label)
		if ok {
			labels[kind] = append(labels[kind], label)
		}
		switch {
		case ok && n > 0 && len(labels[kind]) > 1 && labels[kind][len(labels[kind])-2] >= label, // a partition has any GPUs, in their order
			ok && kind == kindNIC && len(labels[kindGPU]) == gpus && gpus == nics && labels[kindGPU][min(n, gpus-1)] != label,
			ok && kind == kindNIC && n < len(labels[kindGPU]) && labels[kindGPU][n] != label:
			wrong = true
		case kind == kindNIC && next[kindGPU] < min(n+1, gpus), kind == kindGPU && next[kindNIC] < min(n, nics), kind == kindNVSwitch && next[kindGPU]+next[kindNIC] < gpus+nics:
			wrong = true
		}
		if sorted[i].Label != "" {
			kind = sorted[i].Label
		}
		have = append(have, kind)
	}
	return deviceOrder{kinds: have, labelled: len(labels) > 0, wrong: wrong}
}

func vmPairsRule() Rule {
	return Rule{
		ID: "vm-pairs", Title: "Every GPU of a virtual machine has a NIC below its PCIe switch",
		Doc:      "compares the devices of a virtual machine with the PCIe tree of its host: a GPU whose NIC went to another virtual machine reaches the fabric through the processor",
		Severity: fabric.SeverityWarning, Cause: fabric.CauseGPUNICMisaligned, Reference: docVCF + ", 5", Facts: []string{fabric.FactESXVMs, fabric.FactPCI},
		Judge: eachVM(judgeVMPairs),
	}
}

func judgeVMPairs(s scene, vm *fabric.VM) []fabric.Finding {
	at := map[string][]string{}
	for i := range vm.Devices {
		kind := s.vmKind(&vm.Devices[i])
		at[kind] = append(at[kind], s.deviceAt(&vm.Devices[i]))
	}
	if len(at[kindGPU]) == 0 || len(at[kindNIC]) == 0 {
		return nil
	}
	all, _ := s.ours(kindNIC)
	onHost := map[int]string{}
	for i, d := range all {
		onHost[i] = d.address
	}
	var far []string
	for _, gpu := range at[kindGPU] {
		near := ""
		if gpu != "" {
			near = s.nearest(gpu, onHost)
		}
		if near == "" {
			return []fabric.Finding{s.vmUnknown(vm, "the PCIe tree above the devices was not read: whether each GPU has its NIC is unknown")}
		}
		if !slices.Contains(at[kindNIC], near) {
			far = append(far, gpu+" (its NIC is "+near+")")
		}
	}
	if len(far) > 0 && s.goal == nil && len(at[kindNIC]) < len(at[kindGPU]) {
		return []fabric.Finding{s.vmUnknown(vm, "it has fewer NICs than GPUs, and no plan says whether each GPU is to have one: that")}
	}
	if len(far) > 0 {
		return []fabric.Finding{s.fail(fault{vm: vmName(vm), why: "GPUs of " + called(vm) + " lack their NIC: " + few(far) + ".", expected: "the NIC below the switch of each GPU", seen: []fabric.Evidence{saw("NICs of the virtual machine", few(at[kindNIC]))},
			cost: "their traffic crosses the processor", fix: "give each virtual machine GPUs and NICs of the same PCIe switches"})}
	}
	return s.vmPass(vm, "the NIC below the switch of each GPU", saw("GPUs", few(at[kindGPU])))
}

// deviceAt is the address of a device, or of the host's device with its label; empty: not known.
func (s scene) deviceAt(d *fabric.VMDevice) string {
	if d.Address != "" {
		return d.Address
	}
	for _, h := range s.tree {
		if d.Label != "" && h.pass != nil && h.pass.Label == d.Label {
			return h.address
		}
	}
	return ""
}

func vmPartitionRule() Rule {
	return Rule{
		ID: "vm-partition", Title: "A virtual machine has as many GPUs as a partition of Fabric Manager",
		Doc:      "counts the GPUs of virtual machines on hosts with NVSwitches: Fabric Manager offers partitions of 1, 2, 4 and 8 GPUs on an HGX board, of fixed Module Ids (1-3, 2-4, 5-7, 6-8 as pairs, 1-4 and 5-8 as fours), which do not follow PCI addresses",
		Severity: fabric.SeverityError, Cause: fabric.CauseFabricManager, Reference: docFM + ", shared NVSwitch; NVIDIA WP-12736-002, fmpm -l", Facts: []string{fabric.FactESXVMs},
		Judge: eachVM(func(s scene, vm *fabric.VM) []fabric.Finding {
			gpus, _, _, dark := s.parts(vm)
			switches, _ := s.ours(kindNVSwitch)
			if gpus == 0 || len(switches) == 0 && (s.goal == nil || s.goal.NVSwitches == 0) {
				return nil
			}
			seen := saw("GPUs", fmt.Sprint(gpus))
			switch {
			case dark > 0:
				return []fabric.Finding{s.vmUnknown(vm, "devices that could not be identified leave the number of GPUs open: that")}
			case !slices.Contains([]int{1, 2, 4, 8}, gpus):
				return []fabric.Finding{s.fail(fault{vm: vmName(vm), why: fmt.Sprintf("%s has %d GPUs, and Fabric Manager has no such partition.", called(vm), gpus), expected: "1, 2, 4 or 8", seen: []fabric.Evidence{seen},
					cost: "CUDA does not start (error 802), or NVLink stays unused", fix: "give it 1, 2, 4 or 8 GPUs of one partition (fmpm -l in the service VM)"})}
			case gpus == 2 || gpus == 4:
				return []fabric.Finding{s.vmUnknown(vm, "whether these GPUs are one partition is not to be seen from the host (nvidia-smi -q shows their Module Id in the guest, fmpm -l the partitions): that", seen)}
			}
			return s.vmPass(vm, "1, 2, 4 or 8", seen)
		}),
	}
}

func serviceRule() Rule {
	return Rule{
		ID: "vm-service", Title: "The service VM of each host runs, with its NVSwitches",
		Doc:      "looks for the planned service VM: without it Fabric Manager does not run, and no virtual machine with GPUs gets NVLink",
		Severity: fabric.SeverityError, Cause: fabric.CauseFabricManager, Reference: docVCF + ", 9", Facts: []string{fabric.FactESXVMs},
		Judge: eachHost(true, func(s scene) []fabric.Finding {
			if s.site.Service == nil {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "the plan has no service VM")}
			}
			i := slices.IndexFunc(s.site.Service.Guests, func(g fabric.ServiceVMOf) bool { return short(g.Host) == short(s.name()) })
			if s.esx.VMs == nil || i < 0 {
				return []fabric.Finding{s.unread("virtual machines were not read", fabric.FactESXVMs)}
			}
			name := s.site.Service.Guests[i].Name
			n := slices.IndexFunc(s.esx.VMs, func(v fabric.VM) bool { return v.Name == name })
			f := fault{expected: name + " on, with " + fabric.Count(s.goal.NVSwitches, "NVSwitch"), cost: "virtual machines with GPUs do not start CUDA (error 802)", vm: name}
			switch {
			case n < 0 && !s.esx.Whole(fabric.FactESXVMs):
				return []fabric.Finding{s.finding(fabric.Unknown, "not all virtual machines of "+s.name()+" were read, and "+name+" is not among them")}
			case n < 0:
				f.why, f.fix, f.seen = "Service VM "+name+" is not on "+s.name()+".", "deploy it (railwright runbook)", []fabric.Evidence{saw("virtual machines", fabric.Count(len(s.esx.VMs), "virtual machine"))}
				return []fabric.Finding{s.fail(f)}
			}
			vm := &s.esx.VMs[n]
			_, _, switches, dark := s.parts(vm)
			f.seen = []fabric.Evidence{saw("virtual machine "+name, fmt.Sprintf("power %s, %d NVSwitches", vm.Power, switches))}
			switch {
			case vm.Power == "":
				return []fabric.Finding{s.vmUnknown(vm, "the power state was not read")}
			case vm.Power != "on":
				f.why, f.fix = "Service VM "+name+" of "+s.name()+" is "+vm.Power+".", "power it on before any virtual machine with GPUs"
				return []fabric.Finding{s.fail(f)}
			case switches < s.goal.NVSwitches && dark > 0:
				return []fabric.Finding{s.vmUnknown(vm, "not all devices were identified: whether it has its NVSwitches is unknown")}
			case switches < s.goal.NVSwitches:
				f.why, f.fix = fmt.Sprintf("Service VM %s of %s has %d of %d NVSwitches.", name, s.name(), switches, s.goal.NVSwitches), "attach NVS0 to NVS3 while it is off"
				return []fabric.Finding{s.fail(f)}
			}
			return s.vmPass(vm, f.expected, f.seen...)
		}),
	}
}
