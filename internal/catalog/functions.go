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
	address := regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)
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
