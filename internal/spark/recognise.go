package spark

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Certainty is how sure it is that a machine is a DGX Spark. Names of interfaces and hosts prove nothing: a PC with a card
// in its first slot has enp1s0f0np0 and rocep1s0f0 too.
type Certainty int

// Certainties.
const (
	Unknown Certainty = iota
	Not               // something of it is another machine's
	Named             // names or addresses of both PCI domains, and nothing against it
	Proven            // the GPU, the firmware, or the NIC itself on both PCI domains
)

// The NIC by its PCI ids: Mellanox MT2910 Family, ConnectX-7 (pci.ids).
const (
	vendorMellanox = 0x15b3
	deviceCX7      = 0x1021
)

// recognise says whether a machine is a DGX Spark, and what shows it.
func recognise(f *fabric.Facts, n *Spark) (Certainty, string) {
	if by := against(f, n); by != "" {
		return Not, by
	}
	if p := f.Machine.Product; p != nil && isProduct(*p) {
		return Proven, "the firmware calls it " + *p
	}
	for i := range f.GPUs {
		if isGB10(f.GPUs[i].Name) {
			return Proven, "its GPU is " + f.GPUs[i].Name
		}
	}
	if f.Machine.HotPlug != nil {
		return Proven, "it has the driver cx7-pcie-hotplug"
	}
	if nicsIn(f, 0) && nicsIn(f, 1) {
		return Proven, "a ConnectX-7 (15b3:1021) is at 0000:01:00 and at 0002:01:00"
	}
	for p := range n.Ports {
		if n.Ports[p].Twins[0].known() && n.Ports[p].Twins[1].known() {
			return Named, "both PCI domains of a DGX Spark are in the names: " + n.Ports[p].Twins[0].Label() + " and " + n.Ports[p].Twins[1].Label()
		}
	}
	for i := range f.NICs {
		if names().short.MatchString(f.NICs[i].Name) {
			return Named, "the text calls its ports p0 and p1"
		}
	}
	if seen := anyKnown(n); seen != "" && isSparkName(f.Node) {
		return Named, "the machine is called " + f.Node + " and has " + seen
	}
	return Unknown, "neither its GPU nor its firmware nor PCI functions on domains 0000 and 0002 were seen"
}

// against is what another machine would have; empty: nothing of that was seen.
func against(f *fabric.Facts, n *Spark) string {
	switch {
	case f.Machine.CPU != nil:
		return "its processor is " + f.Machine.CPU.Vendor
	case f.Platform != "" && f.Hardware == "":
		return "" // a lab has the names, and what the lab says of hardware is its own
	}
	for i := range f.GPUs {
		if g := f.GPUs[i].Name; g != "" && !isGB10(g) {
			return "its GPU is " + g
		}
	}
	for i := range f.PCI {
		d := &f.PCI[i]
		if _, _, ok := placeOf(d.Address); ok && d.Vendor != 0 && d.Device != 0 && (d.Vendor != vendorMellanox || d.Device != deviceCX7) {
			return "the PCI function at " + d.Address + " is not a ConnectX-7"
		}
	}
	for i := range f.HCAs {
		if kind := f.HCAs[i].Type; kind != "" && kind != "MT4129" && placedHCA(n, f.HCAs[i].Name) {
			return f.HCAs[i].Name + " is a " + kind + ", not a ConnectX-7 (MT4129)"
		}
	}
	return ""
}

func placedHCA(n *Spark, name string) bool {
	for p := range n.Ports {
		for t := range n.Ports[p].Twins {
			if n.Ports[p].Twins[t].HCA == name {
				return true
			}
		}
	}
	return false
}

// nicsIn reports whether the NIC was listed on PCI in the domain of a twin.
func nicsIn(f *fabric.Facts, twin int) bool {
	return slices.ContainsFunc(f.PCI, func(d fabric.PCIDevice) bool {
		_, t, ok := placeOf(d.Address)
		return ok && t == twin && d.Vendor == vendorMellanox && d.Device == deviceCX7
	})
}

// isProduct knows DMI product names: NVIDIA_DGX_Spark, and those of the makers who sell the board under another name.
func isProduct(product string) bool {
	for _, word := range []string{"DGX_Spark", "DGX Spark", "GB10", "GX10"} {
		if strings.Contains(product, word) {
			return true
		}
	}
	return false
}

func isGB10(gpu string) bool { return strings.Contains(gpu, "GB10") }

// isSparkName knows how people call these machines: dgx-spark-1, spark2, gx10-a.
func isSparkName(host string) bool {
	return names().host.MatchString(host)
}

// present names a function of the NIC that was seen; empty: none was.
func present(n *Spark) string {
	for p := range n.Ports {
		for t := range n.Ports[p].Twins {
			if n.Ports[p].Twins[t].Present {
				return n.Ports[p].Twins[t].Label()
			}
		}
	}
	return ""
}

// known reports whether anything names a twin, a file of netplan too.
func (t *Half) known() bool { return t.Present || t.InFile }

func anyKnown(n *Spark) string {
	for p := range n.Ports {
		for t := range n.Ports[p].Twins {
			if n.Ports[p].Twins[t].known() {
				return n.Ports[p].Twins[t].Label()
			}
		}
	}
	return ""
}
