package esxcheck

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// operatorMMIO is the size that VM Operator writes by itself where a class has devices and says none (vm-operator,
// constants.PCIPassthruMMIOSizeDefault), GiB.
const operatorMMIO = 512

func operatorRule() Rule {
	return Rule{
		ID: "vm-operator-mmio", Title: "A class of VM Operator names the MMIO space of its GPUs",
		Doc: "looks for a size in a VirtualMachineClass with GPUs: without one VM Operator writes 512 GiB by itself, enough for three H100 or H200. What a text leaves out may stand elsewhere: " +
			"a class without a size is unknown, one whose size is the operator's and too small fails",
		Severity: fabric.SeverityError, Cause: fabric.CauseMMIOSpace, Reference: "github.com/vmware-tanzu/vm-operator, PCIPassthruMMIOSizeDefault; " + docVCF + ", 10.1", Facts: []string{fabric.FactESXVMs},
		DependsOn: []string{"vm-mmio"},
		Judge: eachVM(func(s scene, vm *fabric.VM) []fabric.Finding {
			gpus, _, _, dark := s.parts(vm)
			if !vm.Operator || gpus == 0 && dark == 0 {
				return nil
			}
			need, known := s.mmioNeeded(vm)
			size, has, _ := extra(vm, keySize)
			gb, ok := number(size)
			expected := "the sum for its devices"
			if known {
				expected = keySize + " " + strconv.Itoa(need)
			}
			switch {
			case has && ok && gb == operatorMMIO && known && need > operatorMMIO:
				return []fabric.Finding{s.fail(fault{vm: vmName(vm), why: fmt.Sprintf("%s has %d GiB of MMIO space, which is what VM Operator writes by itself, and needs %d.", called(vm), operatorMMIO, need), expected: expected,
					seen: []fabric.Evidence{saw(keySize, size)}, cost: "no virtual machine of the class starts", fix: keySize + " = " + strconv.Itoa(need) + " in extraConfig of the class, or the annotation vmoperator.vmware.com/pci-passthru-64bit-mmio-size"})}
			case has && ok:
				return s.vmPass(vm, "a size of its own", saw(keySize, size))
			case has:
				return []fabric.Finding{s.vmUnknown(vm, keySize+" "+size+" is not a number: the MMIO space")}
			}
			why := fmt.Sprintf("%s is not in the class: VM Operator writes %d by itself, enough for 3 H100 or H200 and too small for 4 (544) and 8 (1056); the MMIO space", keySize, operatorMMIO)
			if known && need <= operatorMMIO {
				return []fabric.Finding{s.vmUnknown(vm, fmt.Sprintf("%s is not in the class: VM Operator writes %d by itself, which holds the %d of the GPUs that were read; whether these are all", keySize, operatorMMIO, need), saw(keySize, "not set"))}
			}
			return []fabric.Finding{s.vmUnknown(vm, why, saw(keySize, "not set"), saw("GPUs", fmt.Sprint(gpus)))}
		}),
	}
}

var fourHex = pattern.Plain(`^[0-9a-fA-F]{4}$`)

// wrongBase reports an id that is hexadecimal and lacks its 0x: it is not a number, or another one. known tells ids of devices that are
// passed through here.
func wrongBase(text string, known func(uint16) bool) (meant string, wrong bool) {
	text = strings.Trim(strings.TrimSpace(text), `"`)
	if !fourHex().MatchString(text) {
		return "", false
	}
	hex, _ := strconv.ParseUint(text, 16, 16) // four digits
	decimal, err := strconv.ParseUint(text, 10, 16)
	if err == nil && (known(uint16(decimal)) || !known(uint16(hex))) {
		return "", false
	}
	return "0x" + strings.ToLower(text), true
}

// isKnownDevice knows the ids of GPUs, NICs and NVSwitches that virtual machines get here (PCI ID database).
func isKnownDevice(id uint16) bool {
	return hopper(id) || familyOf(id) != "" || isVirtualID(id) || id == 0x22a3 || id == 0x1af1
}

func toolFirmwareRule() Rule {
	return Rule{
		ID: "esx-tool-firmware", Title: "MFT is not older than the firmware of the NICs",
		Doc:      "compares the release of MFT with that of the firmware: an older one may not know settings of a newer firmware. Both count up together: MFT 4.22 names firmware xx.35, 4.27 xx.40, 4.33 xx.46",
		Severity: fabric.SeverityWarning, Cause: fabric.CauseFirmwareTools, Reference: "NVIDIA, documentation of MFT 4.22 to 4.33: supported adapter cards firmware versions", Facts: []string{fabric.FactESXVIBs},
		Judge: eachHost(false, judgeToolFirmware),
	}
}

// firmwareAhead is the second number of a firmware release less that of the MFT release beside it. The page of supported firmware in
// the documentation of MFT 4.22, 4.23, 4.24, 4.25, 4.27, 4.31, 4.32 and 4.33 names 28.35, 28.36, 28.37, 28.38, 28.40, 28.44, 28.45 and
// 28.46 for ConnectX-7, and the same for the other cards of the time. An older firmware stays supported, a newer one is not named.
const firmwareAhead = 13

func judgeToolFirmware(s scene) []fabric.Finding {
	var mft string
	for _, v := range s.esx.VIBs {
		if strings.EqualFold(v.Name, "mft") {
			mft = v.Version
		}
	}
	if mft == "" || len(s.esx.Firmware) == 0 {
		return []fabric.Finding{s.finding(fabric.NotApplicable, "MFT and firmware of the NICs were not both read")}
	}
	tool := versionNumbers(mft)
	var out []fabric.Finding
	var seen []fabric.Evidence
	for _, fw := range s.esx.Firmware {
		n := versionNumbers(fw.Version)
		if len(n) < 2 || len(tool) < 2 || tool[0] != 4 || n[0] < 16 || n[1] < 30 { // ConnectX-5 and later, of the releases that were compared
			continue
		}
		text := []fabric.Evidence{saw(vibList, "mft "+mft), saw("flint query", fw.Version)}
		if tool[1] < n[1]-firmwareAhead {
			out = append(out, s.fail(fault{why: fmt.Sprintf("MFT %s of %s is older than firmware %s of its NIC.", mft, s.name(), fw.Version), expected: fmt.Sprintf("MFT 4.%d or newer", n[1]-firmwareAhead), seen: text,
				cost: "settings of the newer firmware may be unknown to it (-E- Unknown Parameter)", fix: "MFT and NMST of the release in the firmware's release notes, then restart the host"}))
		}
		seen = append(seen, text...)
	}
	switch {
	case len(out) > 0:
		return out
	case len(seen) == 0:
		return []fabric.Finding{s.finding(fabric.Unknown, "which MFT belongs to this firmware is unknown on "+s.name(), saw(vibList, "mft "+mft))}
	}
	return s.pass("MFT of the firmware's release, or newer", seen...)
}
