package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// Rules that compare a node with the machine that the cluster file names: peers that are all wrong in the same way
// are equal.

func gpuPlanned() Rule {
	return Rule{
		ID:        "gpu-planned",
		Title:     "The node has the GPUs of its planned machine",
		Doc:       "compares the number of GPUs and their PCI ids with those of the machine that the cluster file names: a GPU that has fallen off the bus, or that cannot be identified, is not in the list of GPUs",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseDeviceFault,
		Reference: "the plan; the catalog, gpus of the machine (railwright catalog machines ID)",
		Facts:     []string{fabric.FactGPUs, fabric.FactPCI},
		Scope:     []Condition{withPlan(), withMachine(), withHardware()},
		Node:      judgeGPUPlanned,
	}
}

func judgeGPUPlanned(in NodeInput) []Verdict {
	m, have := in.Plan.Machine, len(in.Facts.GPUs)
	if m.GPUs <= 0 {
		return in.asNode(noFigure(m, "GPUs"))
	}
	expected := fabric.Count(m.GPUs, "GPU") + ", as " + m.ID
	seen := []fabric.Evidence{saw("/sys/bus/pci/devices", fabric.Count(have, "GPU"))}
	_, cut := in.missing(fabric.FactGPUs, fabric.FactPCI)
	dark := in.unidentified()
	for _, d := range dark {
		seen = append(seen, saw(d.Source, d.What+": "+d.Reason))
	}
	others := in.otherGPUs(m)
	switch {
	case have == m.GPUs && len(others) > 0:
		return in.asNode(Verdict{Evidence: append(seen, saw("/sys/bus/pci/devices", andMore(others[:min(len(others), mostNamed)], len(others)))), Expected: expected,
			Why: fmt.Sprintf("%s of %s are not seen to be %s (%s), the GPU of the planned machine %s: the cluster file names another machine, the catalog lacks this edition, or the id was not read",
				fabric.Count(len(others), "GPU"), in.Facts.Node, m.GPU, strings.Join(m.GPUPCIIDs, ", "), m.ID)})
	case have == m.GPUs:
		return in.asNode(pass(expected, seen...))
	case have > m.GPUs:
		return in.asNode(Verdict{Evidence: seen, Expected: expected,
			Why: fmt.Sprintf("%s has %d GPUs, the planned machine %s has %d: the cluster file names another machine", in.Facts.Node, have, m.ID, m.GPUs)})
	case cut || len(in.Facts.PCI) == 0 && have == 0:
		why := "GPUs of " + in.Facts.Node + " were not counted: " + strconv.Itoa(have) + " of the planned " + strconv.Itoa(m.GPUs) + " were seen"
		return in.asNode(Verdict{Evidence: seen, Expected: expected, Why: in.why(why, fabric.FactGPUs, fabric.FactPCI)})
	case len(dark) > 0:
		return in.asNode(Verdict{Evidence: seen, Expected: expected,
			Why: fmt.Sprintf("%d of the planned %d GPUs of %s were seen, and %s could not be identified: %s",
				have, m.GPUs, in.Facts.Node, fabric.Count(len(dark), "PCI function"), whatOf(dark))})
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: seen,
		Why:  fmt.Sprintf("%s has %d of the %d GPUs of its planned machine %s.", in.Facts.Node, have, m.GPUs, m.ID),
		Cost: fmt.Sprintf("%d of %d GPUs of the node, and of its share of every collective", m.GPUs-have, m.GPUs),
		Fix:  onNode("dmesg | grep -i -e Xid -e 'fallen off' -e pciehp; power the node off and on; if it stays away, change the GPU", in.Facts.Node),
	})
}

// otherGPUs lists the GPUs that are not seen to have a PCI id of the planned machine's GPU. Without ids in the plan there
// are none.
func (in NodeInput) otherGPUs(m *fabric.NominalMachine) []string {
	if len(m.GPUPCIIDs) == 0 {
		return nil
	}
	var out []string
	for _, g := range in.Facts.GPUs {
		d, ok := in.view.pci[g.PCI]
		if !ok {
			out = append(out, g.PCI+" has no PCI id that was read")
			continue
		}
		if id := fmt.Sprintf("%04x:%04x", d.Vendor, d.Device); !slices.Contains(m.GPUPCIIDs, id) {
			out = append(out, g.PCI+" is "+id)
		}
	}
	return out
}

// unidentified lists the PCI functions of which the class or the vendor was not read. Each of them may be a GPU.
func (in NodeInput) unidentified() []fabric.Missing {
	var out []fabric.Missing
	for i, m := range in.Facts.Missing {
		if strings.HasPrefix(m.What, fabric.FactPCI+" ") {
			in.view.use(i)
			out = append(out, m)
		}
	}
	return out
}

// whatOf names the first of some missing facts, and counts the rest.
func whatOf(list []fabric.Missing) string {
	names := make([]string, 0, mostNamed)
	for _, m := range list[:min(len(list), mostNamed)] {
		names = append(names, m.What+": "+m.Reason)
	}
	return andMore(names, len(list))
}

// noFigure is the verdict where the catalog does not have what a rule compares with.
func noFigure(m *fabric.NominalMachine, what string) Verdict {
	return Verdict{Status: fabric.NotApplicable, Why: "the catalog has no " + what + " of " + m.ID}
}

func ratePlanned() Rule {
	return Rule{
		ID:        "rate-planned",
		Title:     "RDMA ports run at the rate of the planned machine",
		Doc:       "compares the rate of every fabric port with the line rate of the planned machine's NICs: cables, switch ports or cards of a lower rate on all nodes alike are equal among peers",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CausePortRateLow,
		Reference: "the plan; the catalog, rate of the machine's NIC; InfiniBand Architecture 1.4, 14.2.5.6 LinkSpeedActive and LinkWidthActive",
		Facts:     []string{fabric.FactPortRate},
		Scope:     []Condition{withPlan(), withMachine(), withHardware(), withRDMA()},
		DependsOn: []string{"link-up", "port-state"},
		Node:      judgeRatePlanned,
	}
}

func judgeRatePlanned(in NodeInput) []Verdict {
	m := in.Plan.Machine
	if m.NICGbps <= 0 {
		return in.asNode(noFigure(m, "line rate of the NICs"))
	}
	return in.eachPort("", func(p portAt) Verdict {
		name, want := in.Facts.Node+":"+p.name, m.NICGbps
		if p.port.RateGbps == nil {
			return Verdict{Why: in.portWhy("rate of "+name+" was not read", fabric.FactPortRate, p)}
		}
		have := *p.port.RateGbps
		expected, seen := "at least "+gbits(want)+", as "+m.NIC, saw(p.sysfs("rate"), gbits(have))
		if have >= want {
			return pass(expected, seen)
		}
		return Verdict{
			Status: fabric.Fail, Expected: expected, Evidence: []fabric.Evidence{seen},
			Why:  fmt.Sprintf("%s runs at %s, the NICs of the planned machine %s at %s.", name, gbits(have), m.ID, gbits(want)),
			Cost: fmt.Sprintf("%.1f instead of %.1f GB/s (Gb/s / 8), %.1f GB/s less; a ring runs at the rate of its slowest link", have/8, want/8, (want-have)/8),
			Fix:  onNode("ethtool "+fabric.ShellWord(orWord(p.nic, "NIC"))+"; ibstat "+fabric.ShellWord(p.hca.Name)+"; compare card, cable and the speed set on the switch port with the plan", in.Facts.Node),
		}
	})
}

func pciePlanned() Rule {
	return Rule{
		ID:        "pcie-planned",
		Title:     "PCIe slots are those of the planned machine",
		Doc:       "compares what both ends of the link above every GPU and fabric NIC support with the PCIe generation of the planned machine, and with the lanes of its NICs: a card in a slower slot trains as well as it can",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CausePCIeDowngraded,
		Reference: "the plan; the catalog, pcie_generation of the machine and lanes of its NIC; PCI Express Base Specification 6.0, 1.2",
		Facts:     []string{fabric.FactPCI, fabric.FactPCILink},
		Scope:     []Condition{withPlan(), withMachine(), withHardware(), onHost()},
		DependsOn: []string{"pcie-link"},
		Node:      judgePCIePlanned,
	}
}

// generationSpeed is the speed of a PCIe generation in GT/s per lane (PCI Express Base Specification 6.0, 1.2); 0 for
// an unknown one.
func generationSpeed(generation int) float64 {
	speeds := [...]float64{0, 2.5, 5, 8, 16, 32, 64}
	if generation < 0 || generation >= len(speeds) {
		return 0
	}
	return speeds[generation]
}

func judgePCIePlanned(in NodeInput) []Verdict {
	m := in.Plan.Machine
	speed := generationSpeed(m.PCIeGeneration)
	if speed == 0 {
		return in.asNode(noFigure(m, "PCIe generation"))
	}
	return in.eachFunction(in.view.ends, func(d *fabric.PCIDevice) Verdict {
		width := 0 // the catalog has the lanes of NICs only
		if !in.isGPU(d.Address) {
			width = m.PCIeLanes
		}
		return in.judgeSlot(d, speed, width)
	})
}

func (in NodeInput) judgeSlot(d *fabric.PCIDevice, speed float64, width int) Verdict {
	name := in.Facts.Node + ":" + d.Address
	if d.Link == nil || d.Link.MaxSpeed <= 0 || d.Link.MaxWidth <= 0 {
		return Verdict{Why: in.pciWhy("link of "+name+" does not report what it supports", fabric.FactPCILink, d.Address)}
	}
	best := *d.Link
	seen := []fabric.Evidence{saw("/sys/bus/pci/devices/"+d.Address+"/max_link_{speed,width}", lanes(d.Link.MaxSpeed, d.Link.MaxWidth))}
	if up := in.view.pci[d.Parent]; otherEnd(best, up) {
		best.MaxSpeed, best.MaxWidth = min(best.MaxSpeed, up.Link.MaxSpeed), min(best.MaxWidth, up.Link.MaxWidth)
		seen = append(seen, saw("/sys/bus/pci/devices/"+up.Address+"/max_link_{speed,width}", lanes(up.Link.MaxSpeed, up.Link.MaxWidth)))
	}
	if width == 0 {
		width = best.MaxWidth
	}
	expected := "at least " + lanes(speed, width)
	if best.MaxSpeed >= speed && best.MaxWidth >= width {
		return pass(expected, seen...)
	}
	have, full := topology.RawRate(best.MaxSpeed, best.MaxWidth), topology.RawRate(speed, width)
	return Verdict{
		Status: fabric.Fail, Expected: expected, Evidence: seen,
		Why: fmt.Sprintf("The link above %s supports %s, the planned machine %s has %s.", name,
			lanes(best.MaxSpeed, best.MaxWidth), in.Plan.Machine.ID, lanes(speed, width)),
		Cost: fmt.Sprintf("%.1f instead of %.1f GB/s each way (lanes x GT/s x encoding / 8)", have, full),
		Fix:  onNode("move the card to a slot of its speed and width: lspci -vvv -s "+fabric.ShellWord(d.Address)+" | grep -e LnkCap -e LnkSta", in.Facts.Node),
	}
}
