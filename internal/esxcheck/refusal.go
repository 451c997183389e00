package esxcheck

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

func refusalRule() Rule {
	return Rule{
		ID: "vm-power-on", Title: "No log says that a virtual machine was refused a device",
		Doc:      "reads what vmware.log, vmkernel.log and vCenter say where a virtual machine with devices did not start, and what it means",
		Severity: fabric.SeverityError, Cause: fabric.CauseVMHostSetup, Reference: kb309346 + "; Dell KB 000199172; vSphere networking guide, SR-IOV", Facts: []string{fabric.FactESXVMs},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			if len(s.esx.Refusals) == 0 {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "no log of a virtual machine that was refused is part of the check")}
			}
			named, taken := false, false // by a message that says more than that it did not start; by hot-plug
			for _, r := range s.esx.Refusals {
				taken = taken || r.Kind == fabric.RefusedHotPlug
				named = named || r.Kind != fabric.RefusedPowerOn && r.Kind != fabric.RefusedDevice
			}
			var out []fabric.Finding
			said := map[string]bool{}
			for _, r := range s.esx.Refusals {
				why, fix := refusal(r)
				key := r.Kind + r.VM + r.Device
				if said[key] || taken && r.Kind == fabric.RefusedNotPassed || named && (r.Kind == fabric.RefusedPowerOn || r.Kind == fabric.RefusedDevice) {
					continue
				}
				said[key] = true
				cause := causeOf(r.Kind)
				out = append(out, s.fail(fault{vm: r.VM, at: r.Device, why: why, expected: "no such message", cost: "the virtual machine does not start, or loses the device", fix: fix, cause: cause,
					seen: []fabric.Evidence{saw(fmt.Sprintf("line %d", r.Line), r.Text)}}))
			}
			return out
		}),
	}
}

// causeOf is the cause that a refusal of a kind proves; empty: that of the rule.
func causeOf(kind string) fabric.CauseID {
	switch kind {
	case fabric.RefusedMMIO:
		return fabric.CauseMMIOSpace
	case fabric.RefusedNoVF:
		return fabric.CauseVFMissing
	case fabric.RefusedNotPassed, fabric.RefusedIdentity, fabric.RefusedInUse:
		return fabric.CausePassthroughMissing
	case fabric.RefusedHotPlug:
		return fabric.CausePCIeHotplug
	case fabric.RefusedVectors:
		return fabric.CauseInterruptVectors
	case fabric.RefusedReserved:
		return fabric.CauseVMMemoryReservation
	case fabric.RefusedIOMMU:
		return fabric.CauseVMIOMMU
	case fabric.RefusedReset:
		return fabric.CausePassthroughReset
	}
	return ""
}

// refusal says what a message means and what to do.
func refusal(r fabric.PowerOnRefusal) (why, fix string) {
	const page = 4096
	switch r.Kind {
	case fabric.RefusedMMIO:
		why = "The devices need more MMIO space than the virtual machine has."
		if r.Needed > 0 && r.Limit > 0 {
			why = fmt.Sprintf("The devices need %.1f GiB of MMIO space and the virtual machine has %.1f.", float64(r.Needed)*page/(1<<30), float64(r.Limit)*page/(1<<30))
		}
		return why, "EFI firmware, pciPassthru.use64bitMMIO = TRUE, pciPassthru.64bitMMIOSizeGB large enough (128 for each H100 or H200 and 32), above 4G decoding in the BIOS"
	case fabric.RefusedNoVF:
		return "No virtual function is left of the physical one: max_vfs is a list in the order of PCI addresses, which shifts when a card is added.",
			"esxcli system module parameters list -m nmlx5_core; write max_vfs with one entry per NIC in the order of addresses, then restart the host"
	case fabric.RefusedNotPassed:
		return "The device is not passed through, or no longer.", "esxcli hardware pci pcipassthru list; with PCIe hot-plug events in vmkernel.log: esxcli system settings kernel set -s enablePCIEHotplug -v FALSE, then restart the host"
	case fabric.RefusedHotPlug:
		return "PCIe hot-plug takes the device away while it is reset at power-on.", "esxcli system settings kernel set -s enablePCIEHotplug -v FALSE, then restart the host"
	case fabric.RefusedVectors:
		return "The host has no interrupt vectors left for its devices.", "fewer virtual functions and passed devices on this host, or fewer vectors for each (pciPassthruN.maxMSIXvectors in the virtual machine)"
	case fabric.RefusedIdentity:
		return "The id of the host, vendor or device in the virtual machine is not that of the device which is there.", "remove the device from the virtual machine and add it again on this host; ids are written as 0x8086 and not as signed numbers"
	case fabric.RefusedIOMMU:
		return "The virtual IOMMU, which more than 127 virtual CPUs need, is refused beside vGPU.", "at most 127 virtual CPUs, or on ESX 8 pciPassthru.vmiop.allowViommu and enableViommu = TRUE"
	case fabric.RefusedReserved:
		return "Not all memory of the virtual machine is reserved.", "reserve all guest memory"
	case fabric.RefusedReset:
		return "The device does not come back from its reset.", "/etc/vmware/passthru.map: its reset method (flr where the device has it), then restart the host; still so: power cycle the host, newer firmware of the device"
	case fabric.RefusedInUse:
		return "Another virtual machine, or ESX itself, has the device.", "esxcli hardware pci list; power the other virtual machine off, or take the device from it"
	}
	return "A virtual machine did not start: the message does not say why.", "look at vmware.log of the virtual machine and at vmkernel.log of its host"
}

func harmlessRule() Rule {
	return Rule{
		ID: "esx-harmless", Title: "What looks like a fault and is none",
		Doc:      "names what virtual functions and passed devices show without being broken: a virtual function is Down in the client while it works, mst shows no NIC that is passed through",
		Severity: fabric.SeverityInfo, Reference: docVS8 + ", troubleshooting", Facts: []string{fabric.FactESXVFs, fabric.FactESXMST},
		Judge: eachHost(false, func(s scene) []fabric.Finding {
			var seen []fabric.Evidence
			down := 0
			for _, v := range s.esx.VFs {
				if is(v.Active, false) {
					down++
				}
			}
			if down > 0 {
				seen = append(seen, saw("esxcli network sriovnic vf list", fmt.Sprintf("%s not active: no virtual machine has them, or the client says Down while they work", fabric.Count(down, "virtual function"))))
			}
			if s.esx.MST != nil && len(s.esx.MST) == 0 {
				if nics, _ := s.ours(kindNIC); len(nics) > 0 && nics[0].pass != nil && is(nics[0].pass.Active, true) {
					seen = append(seen, saw("mst status", "empty: the NICs are passed through"))
				}
			}
			if len(seen) == 0 {
				return []fabric.Finding{s.finding(fabric.NotApplicable, "nothing of the kind was seen")}
			}
			return s.pass("harmless", seen...)
		}),
	}
}
