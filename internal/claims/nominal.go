package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	resource "k8s.io/api/resource/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// Publishers are the drivers that publish the devices of a machine, and what they read besides its tree of devices.
type Publishers struct {
	GPU        string       // DRA driver: gpu.nvidia.com, gpu.amd.com; empty: GPUs come from a device plugin and are in no slice
	NIC        string       // DRA driver: dra.net; empty: NICs are in no slice
	Interfaces []string     // of the NICs, by their index; nil or empty: a NIC without a network interface
	GPUMemory  int64        // bytes of a GPU; 0: unknown, and no capacity is published
	links      []fabric.NIC // of a machine that was read
	noRDMA     bool         // the NICs of the machine have no RDMA device
}

// NominalSlices are the ResourceSlices that drivers would publish: of machines that are only facts or an entry of the
// catalog. They are marked as such, so that nobody takes them for those of a cluster.
type NominalSlices struct {
	slices []resource.ResourceSlice
	Gaps   []string // what is assumed or missing in them
}

// annotation marks a slice that no driver has published.
const annotation = "railwright.dev/nominal"

// Nominal is what drivers would publish on nodes that are machines of the catalog. An unknown id is an error that lists the
// known ones. Interfaces, and the memory of a GPU, come from the catalog where p has none.
func Nominal(cat *catalog.Catalog, machine string, nodes []string, p Publishers) (NominalSlices, error) {
	m, err := topology.Nominal(cat, machine)
	if err != nil {
		return NominalSlices{}, err
	}
	model := cat.Machines[machine]
	if p.Interfaces == nil {
		if names, err := fabric.ExpandNames(model.NICNames); err == nil && len(names) == len(m.NICs) {
			p.Interfaces = names
		}
	}
	if p.GPUMemory == 0 {
		p.GPUMemory = memoryOf(cat.GPUs[model.GPU])
	}
	p.noRDMA = !slices.Contains(rdmaDrivers(), cat.NICs[model.NIC].Driver)
	first := FromMachine(m, "", p)
	all := NominalSlices{Gaps: first.Gaps}
	for _, node := range nodes { // equal machines: they share their devices, which nothing changes
		for _, s := range first.slices {
			all.slices = append(all.slices, atNode(s, node))
		}
	}
	return all, nil
}

// rdmaDrivers are the kernel modules of NICs whose functions have an RDMA device (Linux, drivers/infiniband/hw).
func rdmaDrivers() []string { return []string{"mlx5_core", "bnxt_en", "ionic", "efa"} }

// memoryOf is what the driver shows of a GPU's memory, in bytes.
func memoryOf(g catalog.GPUModel) int64 {
	units := map[string]float64{"MiB": 1 << 20, "GiB": 1 << 30, "GB": 1e9}
	if bytes := g.MemoryVisible.Value * units[g.MemoryVisible.Unit]; bytes > 0 {
		return int64(bytes)
	}
	return int64(g.Memory.Value * units[g.Memory.Unit])
}

// FromFacts is what drivers would publish on the node of the facts.
func FromFacts(f *fabric.Facts, cat *catalog.Catalog, p Publishers) NominalSlices {
	m := topology.FromFacts(f, cat)
	p.links = f.NICs
	p.Interfaces = make([]string, len(m.NICs))
	for i, n := range m.NICs {
		for _, link := range f.NICs {
			if link.PCI == n.Bus && n.Bus != "" && link.Kind == "" {
				p.Interfaces[i] = link.Name
				break
			}
		}
	}
	if p.GPUMemory == 0 && len(m.GPUs) > 0 {
		p.GPUMemory = memoryOf(cat.GPUs[m.GPUs[0].Model])
	}
	return FromMachine(m, f.Node, p)
}

// FromMachine is what drivers would publish on a node with the devices of a machine. Devices of which the drivers could not
// read what makes them a device (an address) are left out, and Gaps names them.
func FromMachine(m *topology.Machine, node string, p Publishers) NominalSlices {
	n := nominal{Machine: m, node: node, Publishers: p, roots: m.PCIeRoots()}
	out := NominalSlices{Gaps: slices.Clone(m.Gaps)}
	if p.GPU != "" && len(m.GPUs) > 0 {
		var devices []resource.Device
		for _, g := range m.GPUs {
			if !isAddress(g.Bus) {
				out.Gaps = append(out.Gaps, fmt.Sprintf("GPU%d: its PCI address is unknown: not in the slice", g.Index))
				continue
			}
			devices = append(devices, n.gpu(g))
		}
		out.slices = append(out.slices, n.slicesOf(p.GPU, devices)...)
	}
	if p.NIC != "" && len(m.NICs) > 0 {
		var devices []resource.Device
		for i, nic := range m.NICs {
			switch {
			case !isAddress(nic.Bus):
				out.Gaps = append(out.Gaps, fmt.Sprintf("%s: its PCI address is unknown: not in the slice", cmp.Or(nic.Name, fmt.Sprintf("NIC%d", nic.Index))))
			case slices.ContainsFunc(m.NICs[:i], func(o topology.NIC) bool { return o.Bus == nic.Bus }):
				// a second port of a function: DraNet publishes the function once
			default:
				devices = append(devices, n.nic(nic, i))
			}
		}
		slices.SortFunc(devices, func(a, b resource.Device) int { return cmp.Compare(a.Name, b.Name) }) // as DraNet does
		out.slices = append(out.slices, n.slicesOf(p.NIC, devices)...)
	}
	return out
}

// isAddress reports whether an address has the form that drivers publish: 0000:8f:00.0. Only such a one has a root to look
// up (k8s.io/dynamic-resource-allocation, deviceattribute).
func isAddress(bus string) bool {
	var a, b, c, d uint
	n, err := fmt.Sscanf(bus, "%04x:%02x:%02x.%x", &a, &b, &c, &d)
	return err == nil && n == 4 && len(bus) == len("0000:00:00.0")
}

// nominal is a node whose slices are made.
type nominal struct {
	*topology.Machine
	Publishers
	node  string
	roots map[string]string // by PCI address
}

// slicesOf is one slice a driver, as both drivers publish it for a node: a pool with the name of the node. A slice holds at
// most 128 devices (resource.k8s.io, ResourceSliceMaxDevices), so a larger machine has several.
func (n nominal) slicesOf(driver string, devices []resource.Device) []resource.ResourceSlice {
	parts := slices.Collect(slices.Chunk(devices, resource.ResourceSliceMaxDevices))
	var all []resource.ResourceSlice
	for i, part := range parts {
		all = append(all, atNode(resource.ResourceSlice{
			ObjectMeta: meta.ObjectMeta{
				Name:        fmt.Sprintf("-%s-nominal%d", driver, i),
				Annotations: map[string]string{annotation: "no driver has published this; made from " + n.Source + ", machine " + n.Name},
			},
			Spec: resource.ResourceSliceSpec{
				Driver: driver, Devices: part, Pool: resource.ResourcePool{Generation: 1, ResourceSliceCount: int64(len(parts))},
			},
		}, n.node))
	}
	return all
}

// atNode gives a slice its node, of which it has nothing yet.
func atNode(s resource.ResourceSlice, node string) resource.ResourceSlice {
	s.Name = strings.ToLower(node) + s.Name
	s.Spec.NodeName, s.Spec.Pool.Name = &node, node
	return s
}
