package check

import (
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

func pcieLink() Rule {
	return Rule{
		ID:    "pcie-link",
		Title: "PCIe links run at the speed and width that both ends support",
		Doc: "compares speed and width of every link from GPUs and fabric NICs up to the root with what its two ends support: " +
			"a link that trained lower caps everything below it",
		Severity:  fabric.SeverityWarning,
		Cause:     fabric.CausePCIeDowngraded,
		Reference: "PCI Express Base Specification, Link Capabilities and Link Status registers; Broadcom RoCE guide 2.6 no. 12",
		Facts:     []string{fabric.FactPCI, fabric.FactPCILink},
		Scope:     []Condition{withHardware()},
		Node:      judgePCIeLink,
	}
}

func judgePCIeLink(in NodeInput) []Verdict {
	tree := in.view.pci
	out := in.room(len(tree))
	judged := map[string]bool{}
	for _, end := range in.view.ends {
		cause := fabric.CausePCIeDowngraded
		// The lower end of a link is an endpoint or a switch's upstream port, the upper end a downstream or
		// root port: going up, every second function is the lower end of the next link.
		for at := end; at != "" && !judged[at]; cause = fabric.CausePCIeDowngradedUpstream {
			judged[at] = true
			v, up := in.judgeLink(tree, at, cause)
			v.Subject = fabric.PCISubject(in.Facts.Node, at)
			out = append(out, v)
			at = up
		}
	}
	return out
}

// judgeLink judges the link above a function and returns the next link's lower end; empty at the root.
func (in NodeInput) judgeLink(tree map[string]*fabric.PCIDevice, at string, cause fabric.CauseID) (v Verdict, next string) {
	name := in.Facts.Node + ":" + at
	low, ok := tree[at]
	if !ok {
		return Verdict{Why: in.why("PCI function "+name+" was not read", fabric.FactPCI+" "+at, fabric.FactPCI)}, ""
	}
	high := tree[low.Parent]
	if high != nil {
		next = high.Parent
	}
	if low.Link == nil || low.Link.Speed <= 0 || low.Link.Width <= 0 || low.Link.MaxSpeed <= 0 || low.Link.MaxWidth <= 0 {
		return Verdict{Why: in.why("link of "+name+" does not report its speed and width", fabric.FactPCILink+" "+at, fabric.FactPCILink)}, next
	}
	now := *low.Link
	seen := []fabric.Evidence{saw("/sys/bus/pci/devices/"+at+"/{current,max}_link_{speed,width}", linkText(now))}
	if now.Speed >= now.MaxSpeed && now.Width >= now.MaxWidth {
		return pass(lanes(now.MaxSpeed, now.MaxWidth), seen...), next
	}
	if !otherEnd(now, high) {
		why := name + " runs at " + lanes(now.Speed, now.Width) + " of " + lanes(now.MaxSpeed, now.MaxWidth) +
			", and what the far end of the link supports is unknown (a virtual machine does not show it)"
		return Verdict{Why: in.why(why, fabric.FactPCILink+" "+low.Parent), Evidence: seen}, next
	}
	seen = append(seen, saw("/sys/bus/pci/devices/"+low.Parent+"/{current,max}_link_{speed,width}", linkText(*high.Link)))
	return in.judgeTraining(low, *high.Link, seen, cause), next
}

// judgeTraining compares a link with what both of its ends allow.
func (in NodeInput) judgeTraining(low *fabric.PCIDevice, high fabric.PCILink, seen []fabric.Evidence, cause fabric.CauseID) Verdict {
	now := *low.Link
	speed, width := min(now.MaxSpeed, high.MaxSpeed), min(now.MaxWidth, high.MaxWidth)
	want := lanes(speed, width)
	if now.Speed >= speed && now.Width >= width {
		return pass(want, seen...)
	}
	have, full := topology.RawRate(now.Speed, now.Width), topology.RawRate(speed, width)
	v := Verdict{
		Status: fabric.Fail, Cause: cause, Expected: want, Evidence: seen,
		Why: fmt.Sprintf("The link above %s:%s runs at %s, both ends support %s.", in.Facts.Node, low.Address, lanes(now.Speed, now.Width), want),
		Cost: fmt.Sprintf("%.1f instead of %.1f GB/s each way (lanes x GT/s x encoding / 8), %.1f GB/s less for everything below",
			have, full, full-have),
		Fix: onNode("lspci -vvv -s "+fabric.ShellWord(low.Address)+" | grep -e LnkCap -e LnkSta; reseat the card or riser, then reboot", in.Facts.Node),
	}
	if in.isGPU(low.Address) {
		v.Why += " Some GPUs reduce link speed when idle: read it again under load."
	}
	return v
}

// otherEnd reports whether the function above really is the other end of the link: the two ends of a link
// report one speed and width, a port that a hypervisor made up does not.
func otherEnd(low fabric.PCILink, high *fabric.PCIDevice) bool {
	return high != nil && high.Link != nil && high.Link.MaxSpeed > 0 && high.Link.MaxWidth > 0 &&
		high.Link.Speed == low.Speed && high.Link.Width == low.Width
}

func lanes(speed float64, width int) string {
	return strconv.FormatFloat(speed, 'g', -1, 64) + " GT/s x" + strconv.Itoa(width)
}

func linkText(l fabric.PCILink) string {
	return lanes(l.Speed, l.Width) + " of " + lanes(l.MaxSpeed, l.MaxWidth)
}
