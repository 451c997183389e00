package topology

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"railwright.dev/railwright/internal/catalog"
)

// KnownGPU is what the catalog has of a GPU's links to others.
type KnownGPU struct {
	ID       string  // in the catalog
	Links    int     // built into its board; 0: none (bridges between cards are no part of it)
	LinkGBps float64 // of one link, GB/s each way; 0: no source gives it
	Fabric   bool    // its driver tells a fabric state: from Hopper on (NVML, nvmlDeviceGetGpuFabricInfo)
	Rack     bool    // its NVSwitches are in a rack, outside the machine
}

// knownGPUs are those of the catalog by PCI id and by the words of their names.
var knownGPUs = sync.OnceValue(func() map[string]KnownGPU {
	cat, err := catalog.Load()
	if err != nil {
		return nil // the catalog is embedded, and its own tests load it
	}
	known := map[string]KnownGPU{}
	for id, m := range cat.GPUs {
		g := KnownGPU{ID: id, Links: int(m.ScaleUpLinks.Value), Rack: inRack(cat, id), Fabric: isHopperOrLater(m.Arch)}
		if m.ScaleUp.Value > 0 && g.Links == 0 {
			continue // it has links, and no source counts them
		}
		if g.Links > 0 {
			g.LinkGBps = m.ScaleUp.Value / float64(g.Links)
		}
		for _, pci := range m.PCIID {
			known[pci] = g
		}
		for _, name := range append([]string{id, m.Title}, m.Aliases...) {
			known[nameWords(name)] = g
		}
	}
	return known
})

// GPUInCatalog finds a GPU by its PCI id, where that was read, else by the whole name that its driver gives it. ok is false
// for one that the catalog does not have, and for one whose links no source counts.
func GPUInCatalog(vendor, device uint16, name string) (g KnownGPU, ok bool) {
	if vendor != 0 {
		g, ok = knownGPUs()[fmt.Sprintf("%04x:%04x", vendor, device)]
		return g, ok
	}
	if name == "" {
		return KnownGPU{}, false
	}
	g, ok = knownGPUs()[nameWords(name)]
	return g, ok
}

// nameWords writes a name as ids of the catalog are written, without the vendor and without what stands in brackets.
func nameWords(name string) string {
	name, _, _ = strings.Cut(strings.ToLower(name), " (")
	words := strings.FieldsFunc(name, func(r rune) bool { return r == ' ' || r == '-' || r == '_' || r == '/' || r == ',' })
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "nvidia" || w == "amd" || w == "tesla" }), "-")
}

func inRack(cat *catalog.Catalog, gpu string) bool {
	for _, m := range cat.Machines {
		if m.GPU == gpu && m.ScaleUpGPUs.Value > m.GPUs.Value {
			return true
		}
	}
	return false
}

// isHopperOrLater reads sm_90 and above of NVIDIA's architectures.
func isHopperOrLater(arch string) bool {
	var version int
	if _, err := fmt.Sscanf(arch, "sm_%d", &version); err != nil {
		return false
	}
	const hopper = 90
	return version >= hopper
}
