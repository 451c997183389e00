package check

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func iommuMode() Rule {
	return Rule{
		ID:    "iommu-mode",
		Title: "The IOMMU is off or in passthrough mode",
		Doc: "reads the IOMMU mode on bare metal: with translation, traffic between GPU and NIC goes up to the IOMMU in the root complex, " +
			"and the kernel enables ACS redirect",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseIOMMUTranslated,
		Reference: "Broadcom RoCE guide 2.3 and 2.6 no. 5; kernel documentation, ABI/testing/sysfs-kernel-iommu_groups, type",
		Facts:     []string{fabric.FactMachineIOMMUMode},
		Scope:     []Condition{withHardware(), withRDMA(), onBareMetal()},
		Node:      judgeIOMMUMode,
	}
}

func judgeIOMMUMode(in NodeInput) []Verdict {
	const want = "off or passthrough"
	mode := in.Facts.Machine.IOMMUMode
	if mode == nil {
		return in.asNode(Verdict{Why: in.why("IOMMU mode of "+in.Facts.Node+" was not read", fabric.FactMachineIOMMUMode)})
	}
	seen := []fabric.Evidence{saw("/sys/kernel/iommu_groups/*/type", *mode)}
	if *mode == "off" && len(in.Facts.PCI) == 0 {
		return in.asNode(Verdict{Evidence: seen, Why: in.why("the IOMMU of "+in.Facts.Node+" shows no group, and no PCI function was read that would be in one", fabric.FactPCI)})
	}
	if d, ok := in.grouped(); ok && *mode == "off" {
		seen = append(seen, saw("/sys/bus/pci/devices/"+d.Address+"/iommu_group", strconv.Itoa(*d.IOMMUGroup)))
		return in.asNode(Verdict{Evidence: seen, Why: "the IOMMU of " + in.Facts.Node + " shows no group, but " + d.Address + " is in one: its mode is unknown"})
	}
	if *mode == "off" || *mode == "passthrough" {
		return in.asNode(pass(want, seen...))
	}
	if line := in.Facts.Kernel.CommandLine; line != nil {
		seen = append(seen, saw("/proc/cmdline", *line))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: want, Evidence: seen,
		Why:  "The IOMMU of " + in.Facts.Node + " is " + *mode + ", not off or passthrough.",
		Cost: "each packet between GPU and NIC is translated in the root complex; the loss depends on the processor",
		Fix:  in.kernelWordsFix(),
	})
}

// kernelWordsFix adds the words of this processor's vendor as this distribution does.
func (in NodeInput) kernelWordsFix() string {
	vendor := ""
	if cpu := in.Facts.Machine.CPU; cpu != nil {
		vendor = map[string]string{"GenuineIntel": "intel", "AuthenticAMD": "amd", "HygonGenuine": "amd"}[cpu.Vendor]
	}
	words := strings.Join(fabric.KernelWords(vendor, ""), " ")
	if os := value(in.Facts.Kernel.OS); strings.HasPrefix(os, "Red Hat") || strings.HasPrefix(os, "Rocky") || strings.HasPrefix(os, "AlmaLinux") || strings.HasPrefix(os, "CentOS") || strings.HasPrefix(os, "Oracle Linux") {
		return onNode(`grubby --update-kernel=ALL --args="`+words+`" && reboot`, in.Facts.Node)
	}
	if in.Plan != nil {
		return onNode("railwright apply, then update-grub && reboot", in.Facts.Node) + ": adds " + words
	}
	return onNode("add "+words+" to GRUB_CMDLINE_LINUX in /etc/default/grub && update-grub && reboot", in.Facts.Node)
}

// grouped finds a PCI function that is in a group of the IOMMU.
func (in NodeInput) grouped() (*fabric.PCIDevice, bool) {
	for i := range in.Facts.PCI {
		if in.Facts.PCI[i].IOMMUGroup != nil {
			return &in.Facts.PCI[i], true
		}
	}
	return nil, false
}

func ats() Rule {
	return Rule{
		ID:    "ats",
		Title: "NICs of virtual machines translate addresses themselves",
		Doc: "reads ATS of every fabric NIC in virtual machines and on their hosts: with ATS off every access to GPU memory is translated in the root complex. " +
			"On bare metal without an IOMMU nothing is translated",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseATSDisabled,
		Reference: "VMware Cloud Foundation guide 8.3; PCI Express Base Specification 5.0, 10.5.1",
		Facts:     []string{fabric.FactPCI, fabric.FactPCIATS},
		Scope:     []Condition{withHardware(), withRDMA(), onVirtual()},
		Node:      judgeATS,
	}
}

func judgeATS(in NodeInput) []Verdict {
	const want = "ATSCtl Enable+"
	return in.eachFunction(in.view.cards, func(d *fabric.PCIDevice) Verdict {
		name := in.Facts.Node + ":" + d.Address
		source := "/sys/bus/pci/devices/" + d.Address + "/config, ATSCtl"
		switch {
		case d.ATS == nil:
			return Verdict{Why: in.pciWhy("ATS of "+name+" was not read", fabric.FactPCIATS, d.Address)}
		case !d.ATS.Present:
			// Firmware with ATS_ENABLED=False does not show the capability, and neither do some hypervisors.
			return Verdict{
				Evidence: []fabric.Evidence{saw(source, "no ATS capability")},
				Why:      name + " shows no ATS capability: off in its firmware, or hidden by the hypervisor; only the host shows which",
				Fix:      "mlxconfig -d mt4129_pciconf0 query ATS_ENABLED   # on the host of " + in.Facts.Node + ", for each of its NICs",
			}
		case d.ATS.Enabled:
			return pass(want, saw(source, "Enable+"))
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{saw(source, "Enable-")},
			Why:  name + " has ATS disabled: every access to GPU memory is translated in the root complex.",
			Cost: "same as ACS redirect on bare metal: such nodes measured 0.45 to 0.6 of their bound",
			Fix:  "mlxconfig -d mt4129_pciconf0 -y set ATS_ENABLED=true && reboot   # on the host of " + in.Facts.Node + ", for each of its NICs",
		}
	})
}
