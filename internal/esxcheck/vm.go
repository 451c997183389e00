package esxcheck

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about virtual machines with devices: what they need to start, and to let their devices talk to each other.

// extra finds a key of ExtraConfig, which is matched without case; ok is false where it is not set. read is false where no keys
// were read at all.
func extra(vm *fabric.VM, key string) (value string, ok, read bool) {
	for k, v := range vm.Extra {
		if strings.EqualFold(k, key) {
			return strings.Trim(v, `"`), true, true
		}
	}
	return "", false, vm.Extra != nil
}

// parts counts the devices of a virtual machine by kind; dark are those that could not be identified.
func (s scene) parts(vm *fabric.VM) (gpus, nics, switches, dark int) {
	for i := range vm.Devices {
		switch s.vmKind(&vm.Devices[i]) {
		case kindGPU:
			gpus++
		case kindNIC, kindVF:
			nics++
		case kindNVSwitch:
			switches++
		case "":
			dark++
		}
	}
	return gpus, nics, switches, dark
}

// vmKind is the kind of a device: that of the host's device at its address, or by its ids, or by its label.
func (s scene) vmKind(d *fabric.VMDevice) string {
	if of := s.byAddress(d.Address); of != nil && d.Address != "" && of.kind != "" {
		return of.kind
	}
	if d.Kind == "sriov" {
		return kindVF
	}
	vendor, okV := vmID(d.Vendor)
	id, okD := vmID(d.Device)
	if okV && okD {
		if vendor != vendorNVIDIA && id == vendorNVIDIA || vendor != vendorMellanox && id == vendorMellanox {
			vendor, id = id, vendor // vm-ids says so
		}
		if k := kindOf(&device{vendor: vendor, device: id}, s.goal); k != "" {
			return k
		}
	}
	kind, _, _ := labelParts(d.Label)
	return kind
}

// vmID reads an id as files and APIs write it: 0x10de, 4318, and -32634, which is 0x8086 as signed 16 bits.
func vmID(text string) (uint16, bool) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	n, err := strconv.ParseInt(strings.ToLower(text), 0, 32)
	if err != nil {
		n, err = strconv.ParseInt(text, 16, 32)
	}
	if err != nil || n < -1<<15 || n > 1<<16-1 {
		return 0, false
	}
	return uint16(n), true
}

func (s scene) vmUnknown(vm *fabric.VM, why string, seen ...fabric.Evidence) fabric.Finding {
	f := s.finding(fabric.Unknown, why+" of "+called(vm), seen...)
	f.Subject = s.subject(vmName(vm), "")
	return f
}

func vmName(vm *fabric.VM) string { return cmp.Or(vm.Name, "VM") }

func called(vm *fabric.VM) string {
	switch {
	case vm.Class && vm.Name == "":
		return "the class"
	case vm.Class:
		return "class " + fabric.Quote(vm.Name)
	case vm.Name == "":
		return "the virtual machine"
	}
	return "virtual machine " + fabric.Quote(vm.Name)
}

func (s scene) vmPass(vm *fabric.VM, expected string, seen ...fabric.Evidence) []fabric.Finding {
	out := s.pass(expected, seen...)
	out[0].Subject = s.subject(vmName(vm), "")
	return out
}

func vmStartRule() Rule {
	return Rule{
		ID: "vm-start", Title: "A virtual machine with GPUs boots by EFI, with all of its memory reserved",
		Doc:      "reads the firmware, the reservation of memory and, of a VM for NVSwitches, the version of its hardware: large regions of devices are mapped by EFI only, and a device needs memory that stays",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 9, 9.3; Dell KB 000199172; " + docVS8, Facts: []string{fabric.FactESXVMs},
		Judge: eachVM(judgeVMStart),
	}
}

func judgeVMStart(s scene, vm *fabric.VM) []fabric.Finding {
	gpus, _, switches, dark := s.parts(vm)
	if len(vm.Devices) == 0 {
		return nil
	}
	const leastHardware = 21 // "above 20"
	var out []fabric.Finding
	var seen []fabric.Evidence
	switch {
	case gpus == 0 && dark > 0 && !strings.EqualFold(vm.Firmware, "efi"):
		out = append(out, s.vmUnknown(vm, "devices that could not be identified may be GPUs, which need EFI firmware: that"))
	case gpus == 0:
	case vm.Firmware == "":
		out = append(out, s.vmUnknown(vm, "the firmware was not read"))
	case !strings.EqualFold(vm.Firmware, "efi"):
		out = append(out, s.fail(fault{vm: vmName(vm), why: called(vm) + " boots by " + vm.Firmware + ", not EFI.", expected: "efi", seen: []fabric.Evidence{saw("firmware", vm.Firmware)},
			cost: "memory regions of GPUs stay unassigned", fix: `firmware = "efi" in a new virtual machine: an installed system does not boot after the change`}))
	default:
		seen = append(seen, saw("firmware", vm.Firmware))
	}
	switch {
	case vm.Reserved == nil:
		out = append(out, s.vmUnknown(vm, "whether all memory is reserved was not read"))
	case !*vm.Reserved:
		out = append(out, s.fail(fault{vm: vmName(vm), why: "Not all memory of " + called(vm) + " is reserved.", expected: "all of it", seen: []fabric.Evidence{saw("memory reservation", "not all")},
			cost: "it does not start with a device that is passed through", fix: "reserve all guest memory (sched.mem.pin = TRUE)"}))
	default:
		seen = append(seen, saw("memory reservation", "all"))
	}
	if switches > 0 && gpus == 0 {
		switch {
		case vm.Hardware == 0:
			out = append(out, s.vmUnknown(vm, "the version of the virtual hardware was not read"))
		case vm.Hardware < leastHardware:
			out = append(out, s.fail(fault{vm: vmName(vm), why: fmt.Sprintf("The hardware of %s is of version %d.", called(vm), vm.Hardware), expected: "above 20", seen: []fabric.Evidence{saw("virtualHW.version", strconv.Itoa(vm.Hardware))},
				cost: "it cannot get NVSwitches", fix: "upgrade the compatibility of the virtual machine while it is off"}))
		}
	}
	if len(out) == 0 {
		return s.vmPass(vm, "EFI, all memory reserved", seen...)
	}
	return out
}

const (
	keyUse64 = "pciPassthru.use64bitMMIO"
	keySize  = "pciPassthru.64bitMMIOSizeGB"
)

// mmioNeeded is the 64-bit MMIO space that a virtual machine needs in GiB. ok is false where the GPUs are of a model whose regions are
// not known here.
func (s scene) mmioNeeded(vm *fabric.VM) (need int, ok bool) {
	gpus, _, _, dark := s.parts(vm)
	if dark > 0 || gpus == 0 {
		return 0, false
	}
	if s.site != nil {
		for _, c := range s.site.Classes {
			if c.GPUs == gpus && c.MMIOGB > 0 {
				return c.MMIOGB, true
			}
		}
	}
	for i := range vm.Devices {
		d := &vm.Devices[i]
		if s.vmKind(d) != kindGPU {
			continue
		}
		id, _ := vmID(d.Device)
		if of := s.byAddress(d.Address); of != nil && of.device != 0 {
			id = of.device
		}
		if !hopper(id) {
			return 0, false
		}
	}
	return fabric.MMIOGB(gpus), true
}

// hopper reports H100, H200 and their editions by the PCI ID database: the document's figure for MMIO space is theirs.
func hopper(id uint16) bool { return id >= 0x2321 && id <= 0x233f }

func vmMMIORule() Rule {
	return Rule{
		ID: "vm-mmio", Title: "A virtual machine has MMIO space for its GPUs",
		Doc:      "reads use64bitMMIO and 64bitMMIOSizeGB: 128 GiB per H100 or H200 and 32 for NICs; with less it does not start. VM Operator writes 512 by itself, enough for three GPUs",
		Severity: fabric.SeverityError, Cause: fabric.CauseMMIOSpace, Reference: docVCF + ", 10.1; VM Operator, PCI passthrough", Facts: []string{fabric.FactESXVMs},
		Judge: eachVM(judgeMMIO),
	}
}

func judgeMMIO(s scene, vm *fabric.VM) []fabric.Finding {
	gpus, _, _, _ := s.parts(vm)
	if gpus == 0 {
		return nil
	}
	need, known := s.mmioNeeded(vm)
	use, hasUse, read := extra(vm, keyUse64)
	size, hasSize, _ := extra(vm, keySize)
	f := fault{vm: vmName(vm), cost: "it does not start: Module DevicePowerOn power on failed", expected: keyUse64 + " TRUE", seen: []fabric.Evidence{saw(keyUse64, cmp.Or(use, "not set")), saw(keySize, cmp.Or(size, "not set"))}}
	if known {
		f.expected += fmt.Sprintf(", %s %d", keySize, need)
	}
	f.fix = strings.ReplaceAll(f.expected, " TRUE", " = TRUE") + " in the advanced settings of the virtual machine or its class"
	on, okUse := number(use)
	gb, okSize := number(size)
	switch {
	case !read:
		return []fabric.Finding{s.vmUnknown(vm, "the advanced settings were not read")}
	case hasUse && okUse && on == 0 || !hasUse && known:
		f.why = fmt.Sprintf("%s with %s is not set to use 64-bit MMIO.", called(vm), fabric.Count(gpus, "GPU"))
	case known && okSize && gb < need && gb == operatorMMIO:
		f.why = fmt.Sprintf("%s with %s has %d GiB of MMIO space, which is what VM Operator writes by itself, and needs %d.", called(vm), fabric.Count(gpus, "GPU"), gb, need)
	case known && okSize && gb < need:
		f.why = fmt.Sprintf("%s with %s has %d GiB of MMIO space and needs %d.", called(vm), fabric.Count(gpus, "GPU"), gb, need)
	case known && !hasSize:
		f.why = fmt.Sprintf("%s with %s sets no size of its MMIO space and needs %d GiB.", called(vm), fabric.Count(gpus, "GPU"), need)
	case known && okSize && on == 1:
		return s.vmPass(vm, f.expected+" or more", f.seen...)
	default:
		return []fabric.Finding{s.vmUnknown(vm, "how much MMIO space the GPUs need is not known for their model: that", f.seen...)}
	}
	return []fabric.Finding{s.fail(f)}
}

func vmLargeRule() Rule {
	return Rule{
		ID: "vm-mmio-large", Title: "A virtual machine has not far more MMIO space than it needs",
		Doc:      "compares 64bitMMIOSizeGB with what the GPUs need: more than twice of it makes every boot slower by seconds",
		Severity: fabric.SeverityWarning, Cause: fabric.CauseVMHostSetup, Reference: docVCF + ", 10.1", Facts: []string{fabric.FactESXVMs},
		DependsOn: []string{"vm-mmio"},
		Judge: eachVM(func(s scene, vm *fabric.VM) []fabric.Finding {
			gpus, _, _, _ := s.parts(vm)
			if gpus == 0 {
				return nil
			}
			need, known := s.mmioNeeded(vm)
			text, _, _ := extra(vm, keySize)
			gb, ok := number(text)
			if !known || !ok {
				return []fabric.Finding{s.vmUnknown(vm, "the size of the MMIO space, or what the GPUs need, is not known: that")}
			}
			seen := saw(keySize, text)
			if gb > 2*need {
				return []fabric.Finding{s.fail(fault{vm: vmName(vm), why: fmt.Sprintf("%s has %d GiB of MMIO space, more than twice the %d that it needs.", called(vm), gb, need), expected: strconv.Itoa(need), seen: []fabric.Evidence{seen},
					cost: "every boot takes some seconds longer", fix: fmt.Sprintf("%s = %d", keySize, need)})}
			}
			return s.vmPass(vm, fmt.Sprintf("at most %d", 2*need), seen)
		}),
	}
}

func vmP2PRule() Rule {
	return Rule{
		ID: "vm-p2p", Title: "A virtual machine lets its GPUs and NICs talk to each other",
		Doc:      "reads pciPassthru.allowP2P and relaxACSforP2P, in any case of letters, of virtual machines with GPUs and other devices. RelaxACSCheck is no such key",
		Severity: fabric.SeverityError, Cause: fabric.CauseATSDisabled, Reference: docVCF + ", 10.1", Facts: []string{fabric.FactESXVMs},
		Judge: eachVM(func(s scene, vm *fabric.VM) []fabric.Finding {
			gpus, nics, _, _ := s.parts(vm)
			_, hasP2P, _ := extra(vm, "pciPassthru.allowP2P")
			_, relaxes, _ := extra(vm, "pciPassthru.relaxACSforP2P")
			if gpus == 0 || len(vm.Devices) < 2 && !hasP2P || s.goal == nil && nics == 0 && !hasP2P && !relaxes { // no peer that the text names
				return nil
			}
			var wrong []string
			var seen []fabric.Evidence
			for _, key := range []string{"pciPassthru.allowP2P", "pciPassthru.relaxACSforP2P"} {
				value, ok, read := extra(vm, key)
				if !read {
					return []fabric.Finding{s.vmUnknown(vm, "the advanced settings were not read")}
				}
				seen = append(seen, saw(key, cmp.Or(value, "not set")))
				if n, good := number(value); !ok || !good || n != 1 {
					wrong = append(wrong, key)
				}
			}
			for k, v := range vm.Extra {
				if strings.EqualFold(k, "pciPassthru.RelaxACSCheck") {
					seen = append(seen, saw(k, v+": not a key that VMware documents"))
				}
			}
			if len(wrong) > 0 {
				return []fabric.Finding{s.fail(fault{vm: vmName(vm), why: strings.Join(wrong, " and ") + " of " + called(vm) + " is not TRUE.", expected: "both TRUE", seen: seen,
					cost: "traffic between GPU and NIC goes through the processor, or fails", fix: strings.Join(wrong, " = TRUE, ") + " = TRUE in the advanced settings of the virtual machine or its class"})}
			}
			return s.vmPass(vm, "both TRUE", seen...)
		}),
	}
}
