package catalog

import (
	"cmp"
	"regexp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// functions checks the PCI functions of a machine's NICs: they are its interfaces, by port and address, and nothing is there twice.
func (p *problems) functions(m MachineModel) {
	if len(m.NICFunctions) == 0 {
		return
	}
	names, err := fabric.ExpandNames(m.NICNames)
	if err != nil || len(names) != len(m.NICFunctions) {
		p.add("nic_functions", "%d functions, and %d names in nic_names", len(m.NICFunctions), len(names))
		return
	}
	address := pciAddress()
	seen := map[string]bool{}
	for _, f := range m.NICFunctions {
		switch {
		case !address.MatchString(f.PCI):
			p.add("nic_functions", "%q is not a PCI address with its domain", f.PCI)
		case !slices.Contains(names, f.NIC):
			p.add("nic_functions", "%q is not in nic_names", f.NIC)
		case f.HCA == "" || seen[f.PCI] || seen[f.NIC] || seen[f.HCA]:
			p.add("nic_functions", "%s: an address or a name is missing or there twice", f.PCI)
		}
		seen[f.PCI], seen[f.NIC], seen[f.HCA] = true, true, true
	}
	if !slices.IsSortedFunc(m.NICFunctions, func(a, b Function) int {
		return cmp.Or(cmp.Compare(a.Port, b.Port), cmp.Compare(a.PCI, b.PCI))
	}) {
		p.add("nic_functions", "are not sorted by port and address")
	}
}

func pciAddress() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
}

// places checks what is known of the places of GPUs and NICs.
func (p *problems) places(m MachineModel) {
	for _, a := range []struct {
		field string
		are   Addresses
		count int
	}{{"gpu_addresses", m.GPUAddresses, int(m.GPUs.Value)}, {"nic_addresses", m.NICAddresses, int(m.NICs.Value)}} {
		if len(a.are.Are) == 0 && a.are.Source == "" {
			continue
		}
		p.text(a.field+".source", a.are.Source)
		if len(a.are.Are) != a.count {
			p.add(a.field, "%d addresses for %d devices", len(a.are.Are), a.count)
		}
		for i, at := range a.are.Are {
			if !pciAddress().MatchString(at) || slices.Contains(a.are.Are[:i], at) {
				p.add(a.field, "%q is not a PCI address with its domain, or there twice", at)
			}
		}
	}
	if m.HiddenNICRoots != (Hidden{}) {
		p.text("hidden_nic_roots.source", m.HiddenNICRoots.Source)
		if !m.HiddenNICRoots.Hidden {
			p.add("hidden_nic_roots.hidden", "false is the same as absent")
		}
	}
}
