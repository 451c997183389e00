package ncclxml

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// DeviceClass is what NCCL adds to an empty <pci>: a <gpu> or a <nic>, where its class is that of
// one. It finds the element by the bus id of the device (NVIDIA/nccl 2.28 to 2.30, src/graph/xml.cc,
// ncclTopoFillGpu and ncclTopoFillNet). Files of cloud providers have this form: Azure's ND v4 and v5, AWS's p4d and p5.
// For anything else it returns ClassBridge.
func (e *Element) DeviceClass() Class {
	if e.Name != "pci" || len(e.Children) > 0 {
		return ClassBridge
	}
	switch class, _ := e.Get("class"); {
	case IsGPU(class):
		return ClassGPU
	case ClassOf(class) == ClassNIC:
		return ClassNIC
	}
	return ClassBridge
}

// WithDevices returns a copy that has <gpu>, and <nic> with a <net>, wherever NCCL adds them at load. They have no
// line and no attributes.
func (d *Document) WithDevices() *Document {
	out := &Document{Notes: d.Notes}
	for _, root := range d.Roots {
		out.Roots = append(out.Roots, root.clone(nil))
	}
	for _, pci := range out.All("pci") {
		switch pci.DeviceClass() {
		case ClassGPU:
			pci.Add("gpu")
		case ClassNIC:
			pci.Add("nic").Add("net")
		}
	}
	return out
}

func (e *Element) clone(parent *Element) *Element {
	out := *e
	out.Parent, out.Attributes, out.Children = parent, slices.Clone(e.Attributes), nil
	for _, child := range e.Children {
		out.Children = append(out.Children, child.clone(&out))
	}
	return &out
}

// Filled returns a copy of a topology file with what NCCL would add to it at load on a machine whose GPUs are all
// used by the job: <gpu> with dev, rank, sm and its links, and <nic>. What the file does not state comes from the
// catalog by PCI id, else from the hardware given: machine, GPU, NIC, line rate, and that there is no
// NVLink. A GPU of unknown model is an error, and with several nodes also a NIC without a line rate.
func (d *Document) Filled(cat *catalog.Catalog, hw fabric.Hardware) (*Document, error) {
	f := filler{document: d.WithDevices(), catalog: cat, hardware: hw}
	if hw.Machine != "" {
		m, err := cat.Machine(hw.Machine)
		if err != nil {
			return nil, fmt.Errorf("topology file: %w", err)
		}
		f.machine = m
	}
	if err := f.gpus(); err != nil {
		return nil, fmt.Errorf("topology file: %w", err)
	}
	if err := f.nets(); err != nil {
		return nil, fmt.Errorf("topology file: %w", err)
	}
	return f.document, nil
}

type filler struct {
	document *Document
	catalog  *catalog.Catalog
	hardware fabric.Hardware
	machine  catalog.MachineModel // zero: unspecified
}

// byBus sorts elements by PCI address, as CUDA numbers GPUs.
func byBus(elements []*Element) []*Element {
	slices.SortStableFunc(elements, func(a, b *Element) int { return topology.CompareBus(BusOf(a), BusOf(b)) })
	return elements
}

func (e *Element) setMissing(name, value string) {
	if _, has := e.Get(name); !has {
		e.Set(name, value)
	}
}

func (f *filler) gpus() error {
	gpus := byBus(f.document.All("gpu"))
	joined := &topology.Machine{}
	models := map[string]catalog.GPUModel{}
	for i, g := range gpus {
		id, model := f.gpuModel(g)
		_, hasSM := g.Get("sm")
		_, hasGCN := g.Get("gcn")
		if id == "" && !hasSM && !hasGCN {
			return fmt.Errorf("GPU at %s: unknown GPU: neither the file nor the hardware given states it", fabric.Quote(BusOf(g)))
		}
		g.setMissing("dev", strconv.Itoa(i))
		g.setMissing("rank", strconv.Itoa(i))
		if sm, gcn := topology.Architecture(model.Arch); sm > 0 {
			g.setMissing("sm", strconv.Itoa(sm))
		} else if gcn != "" {
			g.setMissing("gcn", gcn)
		}
		models[id] = model
		joined.GPUs = append(joined.GPUs, topology.GPU{Index: i, Bus: BusOf(g)})
	}
	if len(models) == 1 {
		for _, model := range models {
			f.link(gpus, joined, model)
		}
	}
	return nil
}

// gpuModel finds a GPU in the catalog; an empty id is an unknown one.
func (f *filler) gpuModel(g *Element) (id string, model catalog.GPUModel) {
	if pci := g.Above("pci"); pci != nil {
		if id, model, ok := f.catalog.GPUByPCI(PCIIDs(pci)); ok {
			return id, model
		}
	}
	id, model, err := f.catalog.GPU(cmp.Or(f.hardware.GPU, f.machine.GPU))
	if err != nil {
		return "", catalog.GPUModel{}
	}
	return id, model
}

// link adds the links that the driver would report to NCCL, to each GPU that has none in the file.
func (f *filler) link(gpus []*Element, joined *topology.Machine, model catalog.GPUModel) {
	kind := cmp.Or(f.machine.ScaleUp, topology.ScaleUpKind(model))
	if f.hardware.NVLink != nil && !*f.hardware.NVLink || len(gpus) < 2 {
		return
	}
	topology.JoinGPUs(joined, model, kind, max(len(gpus), topology.BoardSize(model)))
	for i, g := range gpus {
		if links, _ := ScaleUp(g); len(links) > 0 {
			continue
		}
		for _, l := range joined.GPUs[i].Links {
			name := "nvlink"
			if l.XGMI {
				name = "xgmi"
			}
			g.Add(name, linkAttributes(l)...)
		}
	}
}

func (f *filler) nets() error {
	for i, net := range byBus(f.document.All("net")) {
		if net.Line > 0 {
			continue // NCCL uses what the file states
		}
		rate := f.netRate(net)
		if rate == 0 && f.hardware.Nodes > 1 {
			return fmt.Errorf("NIC at %s: unknown line rate: neither the file nor the hardware given states it", fabric.Quote(BusOf(net)))
		}
		net.Set("name", BusOf(net))
		net.Set("dev", strconv.Itoa(i))
		if rate > 0 {
			net.Set("speed", strconv.Itoa(int(rate*1000)))
		}
	}
	return nil
}

// netRate is the line rate of a NIC that the file does not describe, Gb/s; 0 where it is unknown.
func (f *filler) netRate(net *Element) float64 {
	if f.hardware.NICGbps > 0 {
		return f.hardware.NICGbps
	}
	if _, nic, ok := f.catalog.NICByPCI(PCIIDs(net.Above("pci"))); ok {
		return nic.Rate()
	}
	return f.catalog.NICs[cmp.Or(f.hardware.NIC, f.machine.NIC)].Rate()
}
