package claims

import (
	resourceapi "k8s.io/api/resource/v1"

	"railwright.dev/railwright/internal/fabric"
)

// Published are the GPUs and NICs that slices give to one node each, by node, with the roots that are published: those of
// the newest generation of a pool. Roots of a device that publishes none are missing.
func (o *Objects) Published() map[string][]fabric.AllocatedDevice {
	newest := map[poolName]int64{}
	for _, s := range o.slices {
		newest[poolOf(s)] = max(newest[poolOf(s)], s.Spec.Pool.Generation)
	}
	all := map[string][]fabric.AllocatedDevice{}
	for _, s := range o.slices {
		if s.Spec.NodeName == nil || s.Spec.Pool.Generation < newest[poolOf(s)] {
			continue
		}
		for i := range s.Spec.Devices {
			if d, ok := publishedDevice(s, &s.Spec.Devices[i]); ok {
				all[*s.Spec.NodeName] = append(all[*s.Spec.NodeName], d)
			}
		}
	}
	return all
}

func publishedDevice(s *resourceapi.ResourceSlice, d *resourceapi.Device) (fabric.AllocatedDevice, bool) {
	p := place(s.Spec.Driver, d)
	return fabric.AllocatedDevice{
		Driver: s.Spec.Driver, Pool: s.Spec.Pool.Name, Device: d.Name, Kind: p.kind, PCI: p.pci, PCIeRoots: p.roots, NUMA: p.numa,
	}, p.kind == kindGPU || p.kind == kindNIC
}
