package check

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// withoutAddress is the verdict on a GPU with a memory region (BAR) that has no address; ok is false where none is known of. There
// was no room for it, above 4 GB in the BIOS or in the 64-bit MMIO window of a virtual machine, and the driver finds no GPU.
func (in NodeInput) withoutAddress(g *fabric.GPU, name, want string) (v Verdict, ok bool) {
	d := in.view.pci[g.PCI]
	if d == nil || len(d.Unassigned()) == 0 {
		return v, false
	}
	regions := strings.Trim(fmt.Sprint(d.Unassigned()), "[]")
	return Verdict{
		Status: fabric.Fail, Cause: fabric.CauseMMIOSpace, Expected: want, Evidence: []fabric.Evidence{saw("lspci -vv -s "+d.Address, "Memory at <unassigned>: region "+regions)},
		Why:  "GPU " + name + " has no address for memory region " + regions + ".",
		Cost: "its driver does not take it: nvidia-smi finds no device", Fix: in.roomForBARs(),
	}, true
}

// roomForBARs is what to do about a region without an address: in a machine's BIOS, or in the settings of a virtual machine.
func (in NodeInput) roomForBARs() string {
	if v := in.Facts.Machine.Hypervisor; v != nil && !*v {
		return onNode("BIOS: MMIO above 4 GB (Above 4G Decoding) on, with base and size as its vendor has them; then reboot", in.Facts.Node)
	}
	return "virtual machine, powered off: firmware EFI, pciPassthru.use64bitMMIO = TRUE and pciPassthru.64bitMMIOSizeGB large enough for all its devices; on bare metal MMIO above 4 GB in the BIOS"
}

// spaceIsShort reports whether the kernel's log says that a GPU got no memory: nvidia-smi finds no device then.
func (in NodeInput) spaceIsShort() bool {
	if in.Facts.KernelLog == nil {
		return false
	}
	for _, line := range in.Facts.KernelLog.Lines {
		if isShortOfSpace(line) {
			return true
		}
	}
	return false
}

// isShortOfSpace knows what the driver prints of a BAR without address (open-gpu-kernel-modules, nv-pci.c): "NVRM: BAR1 is 0M @ 0x0".
func isShortOfSpace(line string) bool {
	return strings.Contains(line, "NVRM: BAR") && strings.Contains(line, " is 0M @ 0x0")
}
