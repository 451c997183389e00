package pipeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// PlacesOfCatalog gives the nodes of published slices the machine of the catalog, one of ids, whose NICs are where their
// drivers say: then its GPUs are taken to be where the catalog has them, which a device plugin does not publish. A node on
// which one published NIC is elsewhere, and one whose GPUs are published, has none, and neither has a machine whose
// addresses no source gives. The notes say which.
func PlacesOfCatalog(cat *catalog.Catalog, ids []string, o *claims.Objects) (known ClaimMachine, notes []string, err error) {
	machines := map[string]*topology.Machine{}
	for _, id := range ids {
		if len(cat.Machines[id].GPUAddresses.Are) == 0 || len(cat.Machines[id].NICAddresses.Are) == 0 {
			notes = append(notes, "where a device plugin's GPUs are is unknown: the catalog has no PCI addresses of "+id+", as no source gives them")
			continue
		}
		if machines[id], err = topology.Nominal(cat, id); err != nil {
			return known, nil, err
		}
	}
	of, taken, strange := map[string]*topology.Machine{}, map[string]int{}, map[string]int{}
	for node, devices := range o.Published() {
		if slices.ContainsFunc(devices, func(d fabric.AllocatedDevice) bool { return d.Kind == kindGPU }) {
			continue
		}
		like, why := machinesLike(machines, devices)
		switch {
		case len(like) == 1 && len(machines) == len(ids): // else it may be the one without addresses
			of[node] = machines[like[0]]
			taken[like[0]]++
		case len(machines) == 1:
			strange[why]++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(taken)) {
		notes = append(notes, fmt.Sprintf("%s: that the GPUs of a device plugin are where the catalog has those of %s is assumed, since every NIC that is published is", fabric.Count(taken[id], "node"), id))
	}
	for _, why := range slices.Sorted(maps.Keys(strange)) {
		notes = append(notes, fmt.Sprintf("%s: where a device plugin's GPUs are is unknown: %s", fabric.Count(strange[why], "node"), why))
	}
	return knownOf(of), notes, nil
}

// machinesLike are the machines whose NICs are where those of a node are, and why the last other one is not.
func machinesLike(machines map[string]*topology.Machine, devices []fabric.AllocatedDevice) (like []string, why string) {
	for _, id := range slices.Sorted(maps.Keys(machines)) {
		if other := otherPlace(machines[id], devices); other != "" {
			why = other
		} else {
			like = append(like, id)
		}
	}
	return like, why
}

// otherPlace is the first NIC that is not where a machine has one, empty where all are. Without a NIC nothing agrees.
func otherPlace(m *topology.Machine, devices []fabric.AllocatedDevice) string {
	roots := m.PCIeRoots()
	seen := 0
	for _, d := range devices {
		if d.Kind != kindNIC {
			continue
		}
		seen++
		switch {
		case !slices.ContainsFunc(m.NICs, func(n topology.NIC) bool { return n.Bus == d.PCI }):
			return fmt.Sprintf("NIC %s is at %s, where %s of the catalog has none", d.Device, orUnknown(d.PCI), m.Name)
		case len(d.PCIeRoots) != 1 || d.PCIeRoots[0] != roots[d.PCI]:
			return fmt.Sprintf("NIC %s is below root %s, and below %s in %s of the catalog", d.Device, orUnknown(strings.Join(d.PCIeRoots, ", ")), orUnknown(roots[d.PCI]), m.Name)
		}
	}
	if seen == 0 {
		return "no NIC is published"
	}
	return ""
}

func orUnknown(text string) string {
	if text == "" {
		return "?"
	}
	return text
}
