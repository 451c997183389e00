package check

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// The words are those of the processor, the command that of the distribution.
func TestKernelWordsFix(t *testing.T) {
	for _, c := range []struct{ cpu, os, want string }{
		{"GenuineIntel", "Ubuntu 24.04.2 LTS", "add intel_iommu=on iommu=pt to GRUB_CMDLINE_LINUX"},
		{"AuthenticAMD", "Ubuntu 24.04.2 LTS", "add amd_iommu=on iommu=pt to GRUB_CMDLINE_LINUX"},
		{"", "", "add amd_iommu=on intel_iommu=on iommu=pt to"},
		{"AuthenticAMD", "Rocky Linux 9.5 (Blue Onyx)", `grubby --update-kernel=ALL --args="amd_iommu=on iommu=pt" && reboot`},
	} {
		f := &fabric.Facts{Node: "host1", Machine: fabric.Machine{CPU: &fabric.CPUID{Vendor: c.cpu}}, Kernel: fabric.Kernel{OS: &c.os}}
		if got := newNodeInput(f, nil).kernelWordsFix(); !strings.Contains(got, c.want) {
			t.Errorf("%s on %s: %s, want %s", c.cpu, c.os, got, c.want)
		}
	}
	if got := newNodeInput(&fabric.Facts{Node: "host1"}, &NodePlan{}).kernelWordsFix(); !strings.Contains(got, "railwright apply, then update-grub") {
		t.Errorf("with a plan: %s", got)
	}
}
