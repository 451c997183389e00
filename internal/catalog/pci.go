package catalog

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// GPUByPCI finds the GPU of a PCI vendor and device id; ok is false where no part has it.
func (c *Catalog) GPUByPCI(vendor, device uint16) (id string, m GPUModel, ok bool) {
	return byPCI(c.GPUs, GPUModel.pciIDs, vendor, device)
}

// NICByPCI finds the NIC of a PCI vendor and device id; ok is false where no part has it. The id names the
// chip, and of a virtual function the family: a card's port mode may be one whose Of is the id found.
func (c *Catalog) NICByPCI(vendor, device uint16) (id string, m NICModel, ok bool) {
	return byPCI(c.NICs, NICModel.pciIDs, vendor, device)
}

func (m GPUModel) pciIDs() []string { return m.PCIID }
func (m NICModel) pciIDs() []string { return m.PCIID }

// byPCI relies on the validation: no two parts have the same id.
func byPCI[T any](parts map[string]T, ids func(T) []string, vendor, device uint16) (id string, part T, ok bool) {
	want := fmt.Sprintf("%04x:%04x", vendor, device)
	for id, part := range parts {
		if slices.Contains(ids(part), want) {
			return id, part, true
		}
	}
	return "", part, false
}

// duplicates reports PCI ids that two parts have: a lookup would return either part at random.
func duplicates[T any](folder string, parts map[string]T, ids func(T) []string) (found []error) {
	owner := map[string]string{}
	for id, part := range sorted(parts) {
		p := problems{file: path.Join(folder, id+".yaml")}
		for _, pci := range ids(part) {
			if first, taken := owner[pci]; taken {
				p.add("pci_id", "%q is also that of %s", pci, first)
				continue
			}
			owner[pci] = id
		}
		found = append(found, p.found...)
	}
	return found
}

// gpuVendors and nicVendors are the vendors and their PCI vendor ids (PCI ID database).
func gpuVendors() map[string]string { return map[string]string{"nvidia": "10de", "amd": "1002"} }

func nicVendors() map[string]string {
	return map[string]string{"nvidia": "15b3", "broadcom": "14e4", "amd": "1dd8", "hpe": "17db", "amazon": "1d0f", "google": "1ae0"}
}

func (p *problems) pciIDs(vendor string, ids []string, vendorIDs map[string]string) {
	if len(ids) == 0 {
		p.add("pci_id", "is empty")
	}
	for _, id := range ids {
		want, known := vendorIDs[vendor]
		switch {
		case !isPCIID(id):
			p.add("pci_id", "%q is not vendor:device, four lower case hexadecimal digits each", id)
		case known && !strings.HasPrefix(id, want):
			p.add("pci_id", "%q is not of vendor %s, %s", id, vendor, want)
		}
	}
}

// isPCIID reports whether a text is vendor:device.
func isPCIID(id string) bool {
	return regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{4}$`).MatchString(id)
}

func (p *problems) vendor(vendor string, vendorIDs map[string]string) {
	p.oneOf("vendor", vendor, slices.Sorted(maps.Keys(vendorIDs))...)
}

// variant checks a part that is a mode of another: the PCI ids are found there, and nowhere twice.
func (p *problems) variant(m NICModel, nics map[string]NICModel) {
	if len(m.PCIID) > 0 {
		p.add("pci_id", "must be empty where of is given: the ids are those of %s", m.Of)
	}
	base, ok := nics[m.Of]
	switch {
	case !ok:
		reference(p, "of", "NIC", m.Of, nics)
	case base.Of != "":
		p.add("of", "%q is itself a mode of %s", m.Of, base.Of)
	case base.Vendor != m.Vendor || base.Driver != m.Driver:
		p.add("of", "%q is of %s with %s, not of %s with %s", m.Of, base.Vendor, base.Driver, m.Vendor, m.Driver)
	}
}
