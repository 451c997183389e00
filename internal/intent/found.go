package intent

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/spark"
)

// rdmaNIC is a network interface of an RDMA port.
type rdmaNIC struct {
	nic    string
	hca    string
	pci    string
	kind   fabric.Transport
	active bool
	mtu    int // bytes; 0: unknown
}

// FromFacts writes a commented cluster file for this one host from its facts: its RDMA interfaces in PCI
// order and the kind of fabric by their link layer. Where both kinds are there, the one with more
// interfaces is taken and the others stand in a comment. Of DGX Sparks the others are machines of the same cluster. It is an error, which says what was looked for
// and what could not be read, where no RDMA interface is found or nothing tells the kinds apart.
func FromFacts(name string, f *fabric.Facts, others ...*fabric.Facts) ([]byte, error) {
	if !regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`).MatchString(name) {
		return nil, fmt.Errorf("cluster name %s: must be 1 to 63 lower-case letters, digits and '-'", fabric.Quote(name))
	}
	if err := checkHostName(f.Node); err != nil {
		return nil, err
	}
	if n := spark.Read(f); n.Known == spark.Proven {
		return sparkFromFacts(name, append([]*fabric.Facts{f}, others...))
	}
	nics, portless := rdmaNICs(f)
	if len(nics) == 0 {
		return nil, noRDMA(f, portless)
	}
	kind, err := mainKind(nics)
	if err != nil {
		return nil, err
	}
	chosen, left := choose(nics, kind)
	for _, n := range chosen {
		if err := checkNICName(n.nic); err != nil {
			return nil, err
		}
	}
	return writeFound(name, f, kind, chosen, append(left, portless...)), nil
}

// rdmaNICs finds the interface of every port: by the GID table, else by the PCI address that the NIC
// shares with the HCA. portless are devices for which neither names one.
func rdmaNICs(f *fabric.Facts) (nics []rdmaNIC, portless []string) {
	known := make(map[string]fabric.NIC, len(f.NICs))
	for _, n := range f.NICs {
		known[n.Name] = n
	}
	seen := map[string]bool{}
	for _, h := range f.HCAs {
		found := false
		for _, p := range h.Ports {
			kind, ok := map[string]fabric.Transport{"Ethernet": fabric.RoCE, "InfiniBand": fabric.InfiniBand}[p.LinkLayer]
			if !ok {
				portless = append(portless, fmt.Sprintf("%s port %d: its link layer is %q, neither Ethernet nor InfiniBand", h.Name, p.Number, p.LinkLayer))
				found = true
				continue
			}
			for _, nic := range portNICs(f, h, p) {
				found = true
				if !seen[nic] {
					seen[nic] = true
					nics = append(nics, rdmaNIC{nic: nic, hca: h.Name, pci: h.PCI, kind: kind, active: p.State == "ACTIVE", mtu: known[nic].MTU})
				}
			}
		}
		if !found {
			portless = append(portless, h.Name+": has no network interface")
		}
	}
	slices.SortStableFunc(nics, func(a, b rdmaNIC) int {
		return cmp.Or(strings.Compare(a.pci, b.pci), strings.Compare(a.nic, b.nic))
	})
	return nics, portless
}

// portNICs names the interfaces of one port. By PCI address alone the ports of a device cannot be told
// apart, so that is asked only of a device with one port.
func portNICs(f *fabric.Facts, h fabric.HCA, p fabric.Port) []string {
	var names []string
	for _, g := range p.GIDs {
		if g.NetDev != "" && !slices.Contains(names, g.NetDev) {
			names = append(names, g.NetDev)
		}
	}
	if len(names) > 0 || h.PCI == "" || len(h.Ports) != 1 {
		return names
	}
	for _, n := range f.NICs {
		if n.PCI == h.PCI {
			names = append(names, n.Name)
		}
	}
	return names
}

func noRDMA(f *fabric.Facts, portless []string) error {
	text := fmt.Sprintf("host %q has no network interface with RDMA: %d network interfaces and %d RDMA devices were found", f.Node, len(f.NICs), len(f.HCAs))
	for _, p := range portless {
		text += "; " + p
	}
	for _, m := range f.Missing {
		if what, _, _ := strings.Cut(m.What, " "); what == "hcas" || what == "nics" || strings.HasPrefix(what, "hcas.") || strings.HasPrefix(what, "nics.") {
			text += fmt.Sprintf("; %s could not be read from %q: %s", m.What, m.Source, m.Reason)
		}
	}
	return fmt.Errorf("%s; start from an example instead: %s", text, strings.Join(Examples(), ", "))
}

// mainKind is the kind that most interfaces have, active ones first.
func mainKind(nics []rdmaNIC) (fabric.Transport, error) {
	count := map[fabric.Transport]int{}
	for _, n := range nics {
		count[n.kind] += 1
		if n.active {
			count[n.kind] += len(nics)
		}
	}
	switch ib, roce := count[fabric.InfiniBand], count[fabric.RoCE]; {
	case ib > roce:
		return fabric.InfiniBand, nil
	case roce > ib:
		return fabric.RoCE, nil
	}
	return "", fmt.Errorf("host has as many InfiniBand as RoCE interfaces: cannot tell which of them connect the GPUs; start from an example instead")
}

// choose takes the interfaces of the kind whose port is active, or all of the kind where none is, and
// says why the others are left out.
func choose(nics []rdmaNIC, kind fabric.Transport) (chosen []rdmaNIC, left []string) {
	anyActive := slices.ContainsFunc(nics, func(n rdmaNIC) bool { return n.kind == kind && n.active })
	for _, n := range nics {
		switch {
		case n.kind != kind:
			left = append(left, fmt.Sprintf("%s (%s) is %s", n.nic, n.hca, n.kind))
		case anyActive && !n.active:
			left = append(left, fmt.Sprintf("%s (%s): its port is not active", n.nic, n.hca))
		default:
			chosen = append(chosen, n)
		}
	}
	return chosen, left
}

// foundPlatform guesses the platform from what the firmware says; baremetal where it says nothing known.
// Source of the strings: the DMI tables of VMware ("VMware, Inc."), Google ("Google Compute Engine") and
// NVIDIA ("NVIDIA_DGX_Spark").
func foundPlatform(m fabric.Machine) Platform {
	vendor, product := "", ""
	if m.Vendor != nil {
		vendor = *m.Vendor
	}
	if m.Product != nil {
		product = *m.Product
	}
	switch {
	case strings.HasPrefix(vendor, "VMware"):
		return VSphere
	case product == "Google Compute Engine":
		return GKE
	case strings.Contains(product, "DGX_Spark"):
		return Spark
	default:
		return Baremetal
	}
}

func writeFound(name string, f *fabric.Facts, kind fabric.Transport, nics []rdmaNIC, left []string) []byte {
	var b bytes.Buffer
	platform := foundPlatform(f.Machine)
	fmt.Fprintf(&b, "# One host, as found on %s. Add the other hosts to nodes, for example gpu[1-8].\n", f.Node)
	fmt.Fprintf(&b, "apiVersion: %s\nkind: Cluster\nmetadata:\n  name: %q\n\n", fabric.APIVersion, name)
	fmt.Fprintf(&b, "# Where the machines come from: baremetal, vsphere, gke or spark. Guessed from the firmware: %s\n", plain(firmware(f.Machine)))
	fmt.Fprintf(&b, "platform: %s\nlauncher: %s\n\nnodes:\n- names: %q\n", platform, defaultLauncher(platform), f.Node)
	b.WriteString("  # Network interfaces of the fabric in rail order. Found in PCI order; compare with the cables:\n")
	names := make([]string, len(nics))
	for i, n := range nics {
		names[i] = n.nic
		fmt.Fprintf(&b, "  #   rail %d: %s is %s at PCI %s\n", i+1, n.nic, plain(n.hca), plain(cmp.Or(n.pci, "unknown")))
	}
	fmt.Fprintf(&b, "  nics: %q\n", strings.Join(names, ","))
	for _, l := range left {
		fmt.Fprintf(&b, "  # left out: %s\n", plain(l))
	}
	writeFoundNetwork(&b, f.Machine.NetworkManager)
	fmt.Fprintf(&b, "  # machine: ID               # see: railwright catalog machines\n\nfabric:\n  kind: %s\n", kind)
	writeFoundMTU(&b, standardMTU(platform, kind), nics)
	if defaultScheme(platform, kind) == fabric.P2P31 {
		b.WriteString("  # A /31 per cable, taken from the pool. Change the pool if it overlaps a network of yours.\n")
		fmt.Fprintf(&b, "  addressing: {scheme: %s, pool: %s}\n", fabric.P2P31, defaultPool())
	}
	b.WriteString("  # leaf: {model: ID}         # see: railwright catalog switches\n")
	return b.Bytes()
}

// writeFoundNetwork says what configures the interfaces where it is not what a cluster file takes for granted.
func writeFoundNetwork(b *bytes.Buffer, owner *string) {
	switch {
	case owner == nil || *owner == fabric.ByNetplan.Service():
	case *owner == fabric.ByNetworkManager.Service():
		fmt.Fprintf(b, "  # NetworkManager runs here, and networkd does not.\n  network: %s\n", fabric.ByNetworkManager)
	default:
		fmt.Fprintf(b, "  # What configures interfaces here: %s. Files are written for netplan with networkd, or for networkmanager.\n  # network: %s\n",
			plain(*owner), fabric.ByNetplan)
	}
}

// writeFoundMTU writes the MTU that a fabric should have, and what was found where it differs.
func writeFoundMTU(b *bytes.Buffer, want int, nics []rdmaNIC) {
	fmt.Fprintf(b, "  mtu: %d                   # bytes\n", want)
	for _, n := range nics {
		if n.mtu != 0 && n.mtu != want {
			fmt.Fprintf(b, "  # %s currently has an MTU of %d\n", n.nic, n.mtu)
		}
	}
}

// plain keeps a text of foreign origin within its comment line.
func plain(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, text)
}

func firmware(m fabric.Machine) string {
	if m.Vendor == nil && m.Product == nil {
		return "not readable"
	}
	var words []string
	for _, w := range []*string{m.Vendor, m.Product} {
		if w != nil {
			words = append(words, fmt.Sprintf("%q", *w))
		}
	}
	return strings.Join(words, " ")
}
