package check

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// devicesUnread returns why the list of GPUs, of NICs, or of what is above them may be incomplete; empty where it is not.
func (in NodeInput) devicesUnread() string {
	name := in.Facts.Node
	_, cut := in.missing(fabric.FactGPUs, fabric.FactPCI)
	switch {
	case cut, len(in.Facts.PCI) == 0:
		return in.why("GPUs and NICs of "+name+" were not all read", fabric.FactPCI, fabric.FactGPUs)
	case len(in.Facts.GPUs) == 0:
		return in.why("no GPU was seen on "+name, fabric.FactGPUs)
	case len(in.view.cards) == 0:
		return in.why("no fabric NIC of "+name+" has a PCI function that was read", fabric.FactNICPCI, fabric.FactNICs, fabric.FactHCAs)
	}
	for _, n := range in.view.nics {
		switch nic, ok := in.nic(n); {
		case !ok:
			return in.why("the facts of "+name+" show no "+n, fabric.FactNICs)
		case nic.PCI == "":
			return in.why("PCI function of "+name+":"+n+" was not read", fabric.FactNICPCI+" "+n, fabric.FactNICPCI)
		}
	}
	return ""
}

// dark returns why a device that was not found may be there after all; empty where every PCI function was identified.
func (in NodeInput) dark() string {
	if dark := in.unidentified(); len(dark) > 0 {
		return fabric.Count(len(dark), "PCI function") + " of " + in.Facts.Node + " could not be identified: " + whatOf(dark)
	}
	return ""
}

func (in NodeInput) functions() *topology.PCIFunctions {
	if in.view.functions == nil {
		in.view.functions = topology.NewPCIFunctions(in.Facts.PCI)
	}
	return in.view.functions
}

// gpuAddresses lists the GPUs in order of address, each once.
func (in NodeInput) gpuAddresses() []string {
	var out []string
	for i := range in.Facts.GPUs {
		out = addOnce(out, in.Facts.GPUs[i].PCI)
	}
	slices.SortFunc(out, topology.CompareBus)
	return out
}

func gpuNICDistance() Rule {
	return Rule{
		ID:    "gpu-nic-distance",
		Title: "Each GPU has a fabric NIC below its PCIe switch",
		Doc: "looks for a fabric NIC that each GPU reaches without crossing the root complex (PIX or PXB in nvidia-smi's words): beyond it GPUDirect RDMA is off by default, " +
			"and data goes through host memory. Judged where the planned machine has such NICs, and without one where other GPUs of the host have",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseGPUNICMisaligned,
		Reference: "NCCL documentation, NCCL_NET_GDR_LEVEL (default PXB); Broadcom RoCE guide 1.3 and 2.8.2",
		Facts:     []string{fabric.FactGPUs, fabric.FactPCI, fabric.FactNICPCI, fabric.FactPortRate},
		Scope:     []Condition{withHardware(), withRDMA(), withGPU(), onHost()},
		DependsOn: []string{"nic-present", "gpu-planned", "gpu-nic-numa"},
		Node:      judgeGPUNICDistance,
	}
}

func judgeGPUNICDistance(in NodeInput) []Verdict {
	if why := in.devicesUnread(); why != "" {
		return in.eachGPU(func(*fabric.GPU) Verdict { return Verdict{Why: why} })
	}
	p := in.functions()
	n := nearNICs{below: map[string][]string{}}
	for _, nic := range in.view.cards {
		switch root, whole := p.RootOf(nic); {
		case !whole:
			n.lost = append(n.lost, nic)
		case root != nil:
			n.below[root.Address] = append(n.below[root.Address], nic)
		}
	}
	gpus := in.gpuAddresses()
	near := 0
	for _, gpu := range gpus {
		if root, _ := p.RootOf(gpu); root != nil && len(n.below[root.Address]) > 0 {
			near++
		}
	}
	n.expected, n.wanted = in.nearExpected(near, len(gpus))
	return in.eachGPU(func(g *fabric.GPU) Verdict { return in.judgeDistance(p, g.PCI, n) })
}

// nearNICs is where the NICs of the fabric are, and what is expected of every GPU.
type nearNICs struct {
	below    map[string][]string // NICs by the root port above them
	lost     []string            // NICs of which a bridge above was not read
	expected string
	wanted   bool // false: nothing says that a GPU has a NIC near it
}

// nearExpected is what is expected of every GPU; wanted is false where nothing says that a GPU has a NIC near it.
func (in NodeInput) nearExpected(near, gpus int) (expected string, wanted bool) {
	const what = "a fabric NIC at PIX or PXB"
	switch {
	case in.Plan != nil && in.Plan.Machine != nil && in.Plan.Machine.PCIeSwitches > 0:
		return what + ", as " + in.Plan.Machine.ID, true
	case near > 0 && len(in.view.cards) >= gpus:
		return fmt.Sprintf("%s, as %d of the %d GPUs of the host have", what, near, gpus), true
	default:
		return "", false
	}
}

func (in NodeInput) judgeDistance(p *topology.PCIFunctions, gpu string, n nearNICs) Verdict {
	name := in.Facts.Node + ":" + gpu
	root, whole := p.RootOf(gpu)
	switch {
	case !whole:
		return Verdict{Expected: n.expected, Why: in.why("a bridge above GPU "+name+", or the GPU itself, was not read", fabric.FactPCI+" "+gpu, fabric.FactPCI)}
	case root != nil && len(n.below[root.Address]) > 0:
		return pass(n.expected, saw("/sys/bus/pci/devices", strings.Join(n.below[root.Address], ", ")+" below "+root.Address+" too"))
	case !n.wanted:
		return Verdict{Why: "GPU " + name + " shares no root port with a fabric NIC, and neither a machine in a cluster file nor the other GPUs say whether it should"}
	}
	at := "none"
	if root != nil {
		at = root.Address
	}
	seen := []fabric.Evidence{saw("/sys/bus/pci/devices/"+gpu, "root port "+at)}
	dark := in.dark()
	if len(n.lost) > 0 {
		dark = "the bridges above " + andMore(n.lost[:min(len(n.lost), mostNamed)], len(n.lost)) + " were not all read; " + dark
	}
	if dark != "" {
		return Verdict{Expected: n.expected, Evidence: seen, Why: "no fabric NIC was found near GPU " + name + ", and " + strings.TrimSuffix(dark, "; ")}
	}
	return Verdict{
		Status: fabric.Fail, Expected: n.expected, Evidence: seen,
		Why:  "GPU " + name + " has no fabric NIC below its root port" + in.spareNICs(p, n.below) + ": its data crosses the root complex.",
		Cost: in.distanceCost(),
		Fix:  onNode("railwright topo show; move a NIC to a slot below the switch of "+fabric.ShellWord(gpu), in.Facts.Node),
	}
}

// spareNICs names the NICs below root ports without a GPU: the card in a wrong slot.
func (in NodeInput) spareNICs(p *topology.PCIFunctions, below map[string][]string) string {
	taken := map[string]bool{}
	for _, gpu := range in.gpuAddresses() {
		if root, _ := p.RootOf(gpu); root != nil {
			taken[root.Address] = true
		}
	}
	var spare []string
	for _, nic := range in.view.cards {
		if root, _ := p.RootOf(nic); root == nil || !taken[root.Address] || len(below[root.Address]) > 1 {
			spare = append(spare, nic)
		}
	}
	if len(spare) == 0 {
		return ""
	}
	return ", while " + andMore(spare[:min(len(spare), mostNamed)], len(spare)) + " stand elsewhere"
}

// distanceCost is what a far NIC costs, by the rate of the slowest fabric port.
func (in NodeInput) distanceCost() string {
	rate := 0.0 // Gb/s
	for _, p := range in.view.ports {
		if p.port.RateGbps != nil && *p.port.RateGbps > 0 && (rate == 0 || *p.port.RateGbps < rate) {
			rate = *p.port.RateGbps
		}
	}
	if rate == 0 {
		return "about half the line rate of a NIC: two crossings of PCIe, through host memory; the rate of the ports was not read"
	}
	line := rate / 8
	return fmt.Sprintf("about %.1f instead of %.1f GB/s (Gb/s / 8; two crossings of PCIe, through host memory), %.1f GB/s less; "+
		"where NVLink or XGMI joins the GPUs its traffic leaves through the NICs of the others, and one NIC carries none: %.1f GB/s less", line/2, line, line-line/2, line)
}

func pcieLayout() Rule {
	return Rule{
		ID:    "pcie-layout",
		Title: "GPUs and NICs share PCIe switches as in the planned machine",
		Doc: "compares how many PCIe switches (of a partitioned chip: virtual switches) are above GPUs and fabric NICs, and how many of each share one, " +
			"with the machine that the cluster file names: a card in another slot or a switch that did not come up is named",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CauseGPUNICMisaligned,
		Reference: "the plan; the catalog, gpus_per_switch and virtual_switches of the machine; Broadcom RoCE guide 1.3 and chapter 4",
		Facts:     []string{fabric.FactGPUs, fabric.FactPCI, fabric.FactNICPCI},
		Scope:     []Condition{withPlan(), withMachine(), withHardware(), withRDMA(), onHost()},
		DependsOn: []string{"nic-present", "gpu-planned", "gpu-nic-distance"},
		Node:      judgePCIeLayout,
	}
}

func judgePCIeLayout(in NodeInput) []Verdict {
	m := in.Plan.Machine
	if m.PCIeSwitches <= 0 {
		return in.asNode(noFigure(m, "PCIe layout"))
	}
	if why := in.devicesUnread(); why != "" {
		return in.asNode(Verdict{Why: why})
	}
	l := topology.SwitchLayoutOf(in.functions(), in.gpuAddresses(), in.view.cards)
	c := topology.CompareLayout(l, *m)
	seen := saw("/sys/bus/pci/devices", c.Found)
	switch c.Status {
	case fabric.Pass:
		return in.asNode(pass(c.Expected, seen))
	case fabric.Unknown:
		return in.asNode(Verdict{Expected: c.Expected, Evidence: []fabric.Evidence{seen}, Why: in.why(strings.Join(c.Differences, "; "), fabric.FactPCI)})
	}
	if why := in.dark(); why != "" {
		return in.asNode(Verdict{Expected: c.Expected, Evidence: []fabric.Evidence{seen}, Why: strings.Join(c.Differences, "; ") + ", and " + why})
	}
	var gpus []fabric.Subject // one without a near NIC is that rule's to blame
	for _, g := range in.gpuAddresses() {
		gpus = append(gpus, in.gpuSubject(g))
	}
	return in.asNode(Verdict{
		Status: fabric.Fail, On: gpus, Expected: c.Expected, Evidence: []fabric.Evidence{seen},
		Why: fmt.Sprintf("The PCIe layout of %s is not that of %s: %s.", in.Facts.Node, m.ID,
			andMore(c.Differences[:min(len(c.Differences), mostNamed)], len(c.Differences))),
		Cost: "a GPU whose NIC is below another switch reaches it through the root complex (see gpu-nic-distance); those that share a switch also share its uplink",
		Fix:  onNode("railwright topo pcie --machine "+fabric.ShellWord(m.ID), in.Facts.Node) + "; move the cards that it names to their slots; a switch that is missing: power the node off and on, then its service",
	})
}
