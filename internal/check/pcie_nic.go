package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

func pciePortRate() Rule {
	return Rule{
		ID:    "pcie-port-rate",
		Title: "PCIe is as fast as the port",
		Doc: "compares the rate of every fabric port with the narrowest PCIe link between its NIC and the root: the slot may be slower than the port. " +
			"Functions of one card share its ports, so their links count together (two x4 links per port on DGX Spark)",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CausePCIeDowngraded,
		Reference: "PCI Express Base Specification, 4.2 and Link Status; Broadcom RoCE guide 2.6 no. 12",
		Facts:     []string{fabric.FactPCI, fabric.FactPCILink, fabric.FactPortRate, fabric.FactHCASystemGUID},
		Scope:     []Condition{withHardware(), withRDMA(), onHost()},
		DependsOn: []string{"spark-pcie", "pcie-link", "pcie-planned", "port-state"},
		Node:      judgePCIePortRate,
	}
}

func judgePCIePortRate(in NodeInput) []Verdict {
	return in.eachPort("", func(p portAt) Verdict {
		name := in.Facts.Node + ":" + p.name
		if p.port.RateGbps == nil {
			return Verdict{Why: in.portWhy("rate of "+name+" was not read", fabric.FactPortRate, p)}
		}
		gbs, hop, why := in.cardGBs(p.hca)
		if why != "" {
			return Verdict{Why: why}
		}
		port := *p.port.RateGbps / 8
		expected := fmt.Sprintf("at least %.1f GB/s", port)
		seen := []fabric.Evidence{saw(p.sysfs("rate"), gbits(*p.port.RateGbps)), saw("/sys/bus/pci/devices/"+hop, fmt.Sprintf("%.1f GB/s, the narrowest link up to the root", gbs))}
		if gbs >= port {
			return pass(expected, seen...)
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: seen,
			Why:  fmt.Sprintf("PCIe carries %.1f GB/s to %s, whose port runs at %.1f GB/s: the link at %s is the narrowest.", gbs, name, port, hop),
			Cost: fmt.Sprintf("%.1f instead of %.1f GB/s (Gb/s / 8; PCIe: lanes x GT/s x encoding / 8), %.1f GB/s less", gbs, port, port-gbs),
			// Where the link itself could do more, pcie-link reports it.
			On:  append(p.on[:len(p.on):len(p.on)], fabric.PCISubject(in.Facts.Node, hop)),
			Fix: onNode("move the card to a slot of its speed and width: lspci -vvv -s "+fabric.ShellWord(p.hca.PCI)+" | grep -e LnkCap -e LnkSta", in.Facts.Node),
		}
	})
}

// cardGBs returns what PCIe carries to a card, in GB/s each way: of each of its functions that are on a slot of
// their own the narrowest hop. hop is the lower end of the narrowest one; why says what was unknown.
func (in NodeInput) cardGBs(h *fabric.HCA) (gbs float64, hop, why string) {
	var slots []string
	narrowest := 0.0
	for i := range in.Facts.HCAs {
		other := &in.Facts.HCAs[i]
		if other != h && (h.SystemGUID == "" || other.SystemGUID != h.SystemGUID) {
			continue
		}
		slot, _, _ := strings.Cut(other.PCI, ".")
		if slices.Contains(slots, slot) && slot != "" {
			continue
		}
		slots = append(slots, slot)
		one, at, unread := in.narrowest(other.PCI)
		if unread != "" {
			return 0, "", unread
		}
		if hop == "" || one < narrowest {
			narrowest, hop = one, at
		}
		gbs += one
	}
	return gbs, hop, ""
}

// narrowest finds the slowest link from a function up to the root.
func (in NodeInput) narrowest(address string) (gbs float64, hop, why string) {
	for at, steps := address, 0; at != "" && steps <= len(in.view.pci); steps++ {
		d, ok := in.view.pci[at]
		if !ok {
			return 0, "", in.why("PCI function "+in.Facts.Node+":"+at+" was not read", fabric.FactPCI+" "+at, fabric.FactPCI)
		}
		if d.Link == nil || d.Link.Speed <= 0 || d.Link.Width <= 0 {
			return 0, "", in.pciWhy("link of "+in.Facts.Node+":"+at+" does not report its speed and width", fabric.FactPCILink, at)
		}
		if one := topology.RawRate(d.Link.Speed, d.Link.Width); hop == "" || one < gbs {
			gbs, hop = one, at
		}
		at = d.Parent
	}
	if hop == "" {
		why = in.why("PCI function of the RDMA device is unknown on "+in.Facts.Node, fabric.FactHCAs)
	}
	return gbs, hop, why
}

func gbits(rate float64) string { return strconv.FormatFloat(rate, 'g', -1, 64) + " Gb/s" }

func readRequest() Rule {
	return Rule{
		ID:    "read-request",
		Title: "NICs can have enough reads in flight",
		Doc: "compares how many bytes each fabric NIC can have in flight (tags x read request size) with rate x round trip: " +
			"with too few, it waits for memory when it sends",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNICProfile,
		Reference: "PCI Express Base Specification 5.0, 2.2.6.2 and 7.5.3.4; Neugebauer et al., Understanding PCIe performance for end host networking (SIGCOMM 2018)",
		Facts:     []string{fabric.FactPCIControl, fabric.FactPortRate},
		Scope:     []Condition{withHardware(), withRDMA(), onHost()},
		Node:      judgeReadRequest,
	}
}

const (
	extendedTags = 256 // outstanding requests with the 8-bit tag field (PCIe 5.0, 2.2.6.2)
	shortTags    = 32  // with the 5-bit field, Extended Tag Field Enable being clear

	// roundTrip in seconds is what a read of host memory over PCIe takes: 0.5 to 1 us were measured.
	roundTrip = 1e-6
)

func judgeReadRequest(in NodeInput) []Verdict {
	return in.eachPort("", func(p portAt) Verdict {
		name := in.Facts.Node + ":" + p.hca.PCI
		d, ok := in.view.pci[p.hca.PCI]
		if !ok || d.Control == nil || d.Control.MaxReadRequest <= 0 {
			return Verdict{Why: in.pciWhy("read request size of "+in.Facts.Node+":"+p.name+" was not read", fabric.FactPCIControl, p.hca.PCI)}
		}
		if p.port.RateGbps == nil {
			return Verdict{Why: in.portWhy("rate of "+in.Facts.Node+":"+p.name+" was not read", fabric.FactPortRate, p)}
		}
		tags := shortTags
		if d.Control.ExtendedTag {
			tags = extendedTags
		}
		flight, rate := tags*d.Control.MaxReadRequest, *p.port.RateGbps/8*1e9 // bytes, bytes per second
		need := int(rate * roundTrip)
		expected := "at least " + strconv.Itoa(need) + " bytes in flight"
		seen := saw("/sys/bus/pci/devices/"+p.hca.PCI+"/config, DevCtl", fmt.Sprintf("MaxReadReq %d bytes, %d tags", d.Control.MaxReadRequest, tags))
		if flight >= need {
			return pass(expected, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("%s can have %d bytes of reads in flight (%d x %d), its port needs %d.", name, flight, tags, d.Control.MaxReadRequest, need),
			Cost: fmt.Sprintf("about %.1f instead of %.1f GB/s when sending (bytes in flight / 1 us)", float64(flight)/roundTrip/1e9, rate/1e9),
			// Device Control is at offset 8 of the PCI Express capability; bits 14:12 = 5 is 4096 bytes, bit 8 extended tags.
			Fix: onNode("setpci -s "+fabric.ShellWord(p.hca.PCI)+" CAP_EXP+8.w=5100:7100", in.Facts.Node) + ", after every boot",
		}
	})
}

func relaxedOrdering() Rule {
	return Rule{
		ID:        "relaxed-ordering",
		Title:     "NICs may reorder their writes",
		Doc:       "reads Enable Relaxed Ordering of every fabric NIC: in strict order each write waits for the previous one, which reduces throughput on hosts with several memory channels or dies",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseNICProfile,
		Reference: "Broadcom RoCE guide 2.2.3 and 2.6 no. 7 (pcie_relaxed_ordering); PCI Express Base Specification 5.0, 2.4 and 7.5.3.4",
		Facts:     []string{fabric.FactPCI, fabric.FactPCIControl},
		Scope:     []Condition{withHardware(), withRDMA(), onHost()},
		Node:      judgeRelaxedOrdering,
	}
}

func judgeRelaxedOrdering(in NodeInput) []Verdict {
	return in.eachFunction(in.view.cards, func(d *fabric.PCIDevice) Verdict {
		name := in.Facts.Node + ":" + d.Address
		if d.Control == nil {
			return Verdict{Why: in.pciWhy("Device Control of "+name+" was not read", fabric.FactPCIControl, d.Address)}
		}
		seen := saw("/sys/bus/pci/devices/"+d.Address+"/config, DevCtl", "RlxdOrd"+sign(d.Control.RelaxedOrdering))
		if d.Control.RelaxedOrdering {
			return pass("RlxdOrd+", seen)
		}
		v := Verdict{
			Status: fabric.Fail, Expected: "RlxdOrd+", Evidence: []fabric.Evidence{seen},
			Why:  name + " does not allow relaxed ordering: its writes to memory wait for each other.",
			Cost: "below line rate even if everything else is right; the loss depends on the host's memory",
			Fix:  onNode("setpci -s "+fabric.ShellWord(d.Address)+" CAP_EXP+8.w=0010:0010", in.Facts.Node) + ", after every boot; permanently in the NIC's firmware",
		}
		if d.Driver == "bnxt_en" {
			v.Fix = onNode("niccli -i "+fabric.ShellWord(d.Address)+" nvm --setoption pcie_relaxed_ordering --value 1 && reboot", in.Facts.Node)
		}
		return v
	})
}

func sign(on bool) string {
	if on {
		return "+"
	}
	return "-"
}

func pciePayload() Rule {
	return Rule{
		ID:        "pcie-payload",
		Title:     "Both ends of a PCIe link use the same payload size",
		Doc:       "compares Max Payload Size of GPUs and fabric NICs with the bridge above: the end with the smaller size treats a larger packet as malformed",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseNICProfile,
		Reference: "PCI Express Base Specification 5.0, 2.2.2 and 7.5.3.4; kernel parameters, pci=pcie_bus_safe",
		Facts:     []string{fabric.FactPCI, fabric.FactPCIControl},
		Scope:     []Condition{withHardware(), onHost()},
		Node:      judgePCIePayload,
	}
}

func judgePCIePayload(in NodeInput) []Verdict {
	return in.eachFunction(in.view.ends, func(d *fabric.PCIDevice) Verdict {
		name := in.Facts.Node + ":" + d.Address
		up := in.view.pci[d.Parent]
		if d.Control == nil || up == nil || up.Control == nil || d.Control.MaxPayload <= 0 || up.Control.MaxPayload <= 0 {
			return Verdict{Why: in.why("Max Payload Size of "+name+" and of the bridge above it were not both read",
				fabric.FactPCIControl+" "+d.Address, fabric.FactPCIControl+" "+d.Parent, fabric.FactPCIControl)}
		}
		have, want := d.Control.MaxPayload, up.Control.MaxPayload
		expected := strconv.Itoa(want) + " bytes, as " + up.Address
		seen := saw("/sys/bus/pci/devices/"+d.Address+"/config, DevCtl", "MaxPayload "+strconv.Itoa(have))
		if have == want {
			return pass(expected, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen, saw("/sys/bus/pci/devices/"+up.Address+"/config, DevCtl", "MaxPayload "+strconv.Itoa(want))},
			Why:  fmt.Sprintf("%s uses a payload of %d bytes, the bridge above it, %s, uses %d.", name, have, up.Address, want),
			Cost: "packets that the smaller end drops as malformed: an uncorrectable PCIe error",
			Fix:  onNode("boot with pci=pcie_bus_safe on the kernel command line", in.Facts.Node),
		}
	})
}
