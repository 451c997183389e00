package check

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func acs() Rule {
	return Rule{
		ID:    "acs",
		Title: "PCIe switches forward GPU-NIC traffic directly",
		Doc: "reads the ACS control of every bridge above a GPU or fabric NIC: with request or completion redirect set, " +
			"traffic between GPU and NIC goes up to the root complex and back",
		Severity: fabric.SeverityWarning,
		Cause:    fabric.CauseACSRedirect,
		Reference: "PCI Express Base Specification 5.0, 7.7.8.3 (only the redirect bits move traffic; source validation does not); " +
			"Broadcom RoCE guide 2.3 and appendix C",
		Facts: []string{fabric.FactPCI, fabric.FactPCIACS},
		Scope: []Condition{withHardware(), onBareMetal()},
		Node:  judgeACS,
	}
}

func judgeACS(in NodeInput) []Verdict { return in.eachBridge(in.judgeBridge) }

// acsHypervisor is acs on a host of virtual machines, where ACS and ATS are what lets GPU and NIC talk
// directly with addresses that the IOMMU has translated.
func acsHypervisor() Rule {
	return Rule{
		ID:    "acs-hypervisor",
		Title: "PCIe switches of a hypervisor forward translated traffic directly",
		Doc: "reads the ACS control of every bridge above a GPU or fabric NIC of a host of virtual machines: the opposite of rule acs, " +
			"everything is checked and redirected except traffic with translated addresses",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseATSDisabled,
		Reference: "NVIDIA, GPUDirect RDMA in virtual machines (ACSCtl of the bridges); VMware Cloud Foundation guide 8.2; PCI Express Base Specification 5.0, 7.7.8.3",
		Facts:     []string{fabric.FactPCI, fabric.FactPCIACS},
		Scope:     []Condition{withHardware(), onVMHost()},
		Node:      judgeACSHypervisor,
	}
}

// acsOfHypervisor are the bits that a hypervisor needs set, as far as the bridge has them.
const acsOfHypervisor = fabric.ACSSourceValidation | fabric.ACSRequestRedirect | fabric.ACSCompletionRedirect |
	fabric.ACSUpstreamForwarding | fabric.ACSDirectTranslated

func judgeACSHypervisor(in NodeInput) []Verdict {
	return in.eachBridge(func(d *fabric.PCIDevice) Verdict {
		const want = "SrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+ DirectTrans+, where the bridge has them"
		name := in.Facts.Node + ":" + d.Address
		if d.ACS == nil {
			return Verdict{Expected: want, Why: in.pciWhy("ACS of "+name+" was not read", fabric.FactPCIACS, d.Address)}
		}
		seen := saw("/sys/bus/pci/devices/"+d.Address+"/config, ACSCtl", acsText(*d.ACS))
		if can := d.ACS.Capability & acsOfHypervisor; !d.ACS.Present || d.ACS.Control&can == can {
			return pass(want, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("Bridge %s has ACS control %04x, its hypervisor needs %04x: GPU and NIC of a VM cannot talk directly.", name, d.ACS.Control, d.ACS.Capability&acsOfHypervisor),
			Cost: "same as ACS redirect on bare metal: such nodes measured 0.45 to 0.6 of their bound",
			Fix:  in.setACS(d),
		}
	})
}

// setACS sets the bits on a bridge: ESX sets them itself at boot, by its kernel settings; under KVM nothing does but the
// kernel's default and setpci, until the next boot.
func (in NodeInput) setACS(d *fabric.PCIDevice) string {
	if os := in.Facts.Kernel.OS; os != nil && strings.HasPrefix(*os, "VMware ESX") {
		return onNode("esxcli system settings kernel set -s enableACSDTP2P -v true && esxcli system settings kernel set -s disableACSCheck -v false "+
			"&& esxcli system settings kernel set -s atsSupport -v true && reboot", in.Facts.Node)
	}
	bits := fmt.Sprintf("%04x", d.ACS.Capability&acsOfHypervisor)
	return onNode("setpci -s "+fabric.ShellWord(d.Address)+" ECAP_ACS+6.w="+bits+":"+bits, in.Facts.Node) +
		", after every boot; take pci=disable_acs_redir and pcie_acs_override off the kernel command line, and disable what clears ACS at boot"
}

// eachBridge judges every bridge above a GPU or fabric NIC once.
func (in NodeInput) eachBridge(judge func(*fabric.PCIDevice) Verdict) []Verdict {
	tree := in.view.pci
	out := in.room(len(tree))
	judged := map[string]bool{}
	for _, end := range in.view.ends {
		for at := end; at != "" && !judged[at]; {
			judged[at] = true
			d, ok := tree[at]
			if !ok {
				why := in.why("PCI function "+in.Facts.Node+":"+at+" was not read", fabric.FactPCI+" "+at, fabric.FactPCI)
				out = append(out, unknown(fabric.PCISubject(in.Facts.Node, at), why))
				break
			}
			if isBridge(d) {
				v := judge(d)
				v.Subject = fabric.PCISubject(in.Facts.Node, at)
				out = append(out, v)
			}
			at = d.Parent
		}
	}
	return out
}

func (in NodeInput) judgeBridge(d *fabric.PCIDevice) Verdict {
	const want = "ReqRedir- CmpltRedir-"
	name := in.Facts.Node + ":" + d.Address
	if d.ACS == nil {
		return Verdict{Expected: want, Why: in.why("ACS of "+name+" was not read", fabric.FactPCIACS+" "+d.Address, fabric.FactPCIACS)}
	}
	seen := saw("/sys/bus/pci/devices/"+d.Address+"/config, ACSCtl", acsText(*d.ACS))
	if !d.ACS.Present || d.ACS.Control&(fabric.ACSRequestRedirect|fabric.ACSCompletionRedirect) == 0 {
		return pass(want, seen)
	}
	return Verdict{
		Status: fabric.Fail, Expected: want, Evidence: []fabric.Evidence{seen},
		Why: fmt.Sprintf("Bridge %s has ACS control %04x, not 0: it redirects traffic between GPU and NIC up to the root complex.", name, d.ACS.Control),
		Cost: "GPU memory traffic of the NICs below it shares the path to the root complex; such nodes measured " +
			"0.45 to 0.6 of their bound",
		// Value and mask: clears bits 2 and 3, leaves the others as they are.
		Fix: onNode("setpci -s "+fabric.ShellWord(d.Address)+" ECAP_ACS+6.w=0000:000c", in.Facts.Node) + ", after every boot",
	}
}

// isBridge reports whether a function is a PCI-to-PCI bridge: base class 06, subclass 04 (PCI Code and ID Assignment 1.11, 1.7).
func isBridge(d *fabric.PCIDevice) bool { return d.Class>>8 == 0x0604 }

// acsText writes ACS control as lspci does.
func acsText(a fabric.ACS) string {
	if !a.Present {
		return "no ACS capability"
	}
	return a.Flags()
}
