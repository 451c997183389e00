package topology

import (
	"cmp"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
)

// sourceCatalog is the Source of a Machine that was not read from a real one.
const sourceCatalog = "catalog"

// maxPlanned bounds the GPUs and the NICs of a machine that is described by a few values.
const maxPlanned = 1024

// Nominal returns the machine of the catalog with that id as its sources describe it. PCI addresses are invented
// but distinct, except where interface names contain them; what no source has and is taken from similar
// machines is in Gaps. An unknown id is an error that lists the known ones.
func Nominal(cat *catalog.Catalog, id string) (*Machine, error) {
	return NominalOf(cat, fabric.Hardware{Machine: id})
}

// NominalOf returns the machine that a few values describe: that of the catalog where one is named, changed by
// the other values, or one composed of a GPU, its NICs and a CPU. If there are more or fewer NICs than the machine
// has, they are spread evenly over its PCIe switches; if there are fewer GPUs, the first are in use. An unknown id, more
// GPUs than the machine has, a NIC without a line rate and counts above 1024 are errors.
func NominalOf(cat *catalog.Catalog, hw fabric.Hardware) (*Machine, error) {
	b, err := newBlueprint(cat, hw)
	if err != nil {
		return nil, fmt.Errorf("hardware: %w", err)
	}
	m := b.build()
	m.limitGPUs(b.used)
	return m, nil
}

// blueprint is everything that a nominal machine is made of.
type blueprint struct {
	name      string
	gpu       catalog.GPUModel
	gpuID     string
	gpus      int
	used      int // of gpus
	nic       catalog.NICModel
	nicID     string
	nics      int
	nicNames  []string // of the interfaces; nil: unknown
	nicPCI    []string // vendor:device
	gpuAt     []string // addresses; nil: unknown
	nicAt     []string // likewise
	hidden    bool     // the system does not show the PCIe roots of the NICs
	mbps      int
	cpu       CPU // without devices
	numa      int
	perSwitch int              // GPUs on a PCIe switch; 0: every device has its own root port
	uplink    catalog.PCIeLink // of a switch, where it is not of that speed
	speed     float64          // GT/s of GPUs, NICs and switches without a speed of their own
	scaleUp   string           // nvlink, xgmi, pcie or empty
	gaps      []string
}

func (b *blueprint) gap(format string, args ...any) {
	b.gaps = append(b.gaps, fmt.Sprintf(format, args...))
}

func newBlueprint(cat *catalog.Catalog, hw fabric.Hardware) (*blueprint, error) {
	b := &blueprint{name: hw.Machine}
	var m catalog.MachineModel
	var err error
	if hw.Machine != "" {
		if m, err = cat.Machine(hw.Machine); err != nil {
			return nil, err
		}
	}
	if err := b.takeGPUs(cat, hw, m); err != nil {
		return nil, err
	}
	if err := b.takeNICs(cat, hw, m); err != nil {
		return nil, err
	}
	if b.gpus == 0 && b.nics == 0 {
		return nil, fmt.Errorf("machine, gpu with gpus_per_node, or nics_per_node: none is given")
	}
	if b.name == "" {
		b.name = strings.TrimSpace(fmt.Sprintf("%d %s", b.gpus, cmp.Or(b.gpuID, "GPUs")))
	}
	b.takePCIe(m)
	b.takeCPU(cmp.Or(word(hw.CPU), m.CPU), m)
	b.takeLayout(m)
	if hw.VM {
		b.gap("the tree is that of the host: in a virtual machine NCCL sees a flat one, unless it has a topology file")
	}
	return b, nil
}

func word(s string) string { return strings.ToLower(strings.TrimSpace(s)) }

func (b *blueprint) takeGPUs(cat *catalog.Catalog, hw fabric.Hardware, m catalog.MachineModel) error {
	b.gpuID, b.gpus, b.scaleUp = m.GPU, int(m.GPUs.Value), m.ScaleUp
	if hw.GPU != "" {
		id, _, err := cat.GPU(hw.GPU)
		switch {
		case err != nil && hw.Machine != "":
			return err
		case err != nil:
			id = ""
			b.gap("GPU %s is not in the catalog: its links are unknown", fabric.Quote(hw.GPU))
		}
		b.gpuID = id
	}
	b.gpu, b.gpuAt = cat.GPUs[b.gpuID], m.GPUAddresses.Are
	if hw.Machine == "" {
		b.gpus = hw.GPUsPerNode
		b.scaleUp = ScaleUpKind(b.gpu)
	}
	if hw.NVLink != nil && !*hw.NVLink {
		b.scaleUp = "pcie"
	}
	b.used = b.gpus
	if hw.GPUsPerNode != 0 {
		b.used = hw.GPUsPerNode
	}
	switch {
	case b.used < 0 || b.gpus > maxPlanned || hw.Machine == "" && b.used > maxPlanned:
		return fmt.Errorf("gpus_per_node %d is not between 0 and %d", b.used, maxPlanned)
	case b.used > b.gpus:
		return fmt.Errorf("gpus_per_node %d: machine %q has %d", b.used, hw.Machine, b.gpus)
	}
	return nil
}

func (b *blueprint) takeNICs(cat *catalog.Catalog, hw fabric.Hardware, m catalog.MachineModel) error {
	b.nicID, b.nics = m.NIC, int(m.NICs.Value)
	if hw.NIC != "" {
		b.nicID = word(hw.NIC)
	}
	model, known := cat.NICs[b.nicID]
	if hw.NIC != "" && !known {
		return fmt.Errorf("NIC %s is not in the catalog", fabric.Quote(hw.NIC))
	}
	b.nic, b.nicPCI = model, model.PCIID
	if model.Of != "" {
		b.nicPCI = cat.NICs[model.Of].PCIID
	}
	rate := model.Rate()
	if hw.NICGbps != 0 {
		rate = hw.NICGbps
	}
	switch {
	case word(hw.Net) == "none":
		b.nics = 0
	case hw.NICsPerNode != 0:
		b.nics = hw.NICsPerNode
	case hw.Machine == "" && rate > 0:
		b.nics = b.gpus
		b.gap("nics_per_node is unspecified: assumed one NIC per GPU")
	}
	if b.nics == 0 {
		return nil
	}
	if b.nics < 0 || b.nics > maxPlanned {
		return fmt.Errorf("nics_per_node %d is not between 0 and %d", b.nics, maxPlanned)
	}
	if !(rate > 0) || rate > 100_000 {
		return fmt.Errorf("nic_gbps %v: want the line rate of one NIC, above 0 and at most 100000 Gb/s", rate)
	}
	b.mbps = int(rate * 1000)
	b.hidden = m.HiddenNICRoots.Hidden
	if b.nics == int(m.NICs.Value) {
		b.nicAt = m.NICAddresses.Are
		if names, err := fabric.ExpandNames(m.NICNames); err == nil && len(names) == b.nics {
			b.nicNames = names
		}
	}
	return nil
}

// generations are the speeds of the PCIe generations, GT/s (PCIe 6.0, 4.2).
func generations() []float64 { return []float64{2.5, 5, 8, 16, 32, 64} }

func (b *blueprint) takePCIe(m catalog.MachineModel) {
	if g := int(m.PCIeGeneration.Value); g > 0 && g <= len(generations()) {
		b.speed = generations()[g-1]
		return
	}
	b.speed = cmp.Or(b.gpu.PCIeLink.Speed, b.nic.PCIeLink.Speed)
	if b.speed == 0 {
		b.gap("PCIe generation: unspecified")
		return
	}
	b.gap("PCIe generation: unspecified, assumed %g GT/s, as of the GPU or NIC", b.speed)
}

// takeCPU sets what NCCL needs of a CPU. Where no source has family and model they are those of the first
// generation of that vendor's servers with this PCIe generation: its links between sockets are slower than later ones.
func (b *blueprint) takeCPU(vendor string, m catalog.MachineModel) {
	switch vendor {
	case "arm":
		b.cpu.Arch = "arm64"
		return
	case "intel":
		b.cpu.Arch, b.cpu.Vendor = "x86_64", vendorIntel
	case "amd":
		b.cpu.Arch, b.cpu.Vendor = "x86_64", vendorAMD
	default:
		b.gap("CPU: unspecified")
		return
	}
	if m.CPUID.Family != 0 && vendor == m.CPU {
		b.cpu.Family, b.cpu.Model = m.CPUID.Family, m.CPUID.Model
		return
	}
	c := firstWith(vendor, b.speed)
	b.cpu.Family, b.cpu.Model = c.family, c.model
	if c.family == 0 {
		b.gap("CPU model: unspecified")
		return
	}
	b.gap("CPU model: unspecified, assumed %s, the first with PCIe at %g GT/s", c.name, b.speed)
}

// takeLayout sets how devices are spread over NUMA nodes and PCIe switches.
func (b *blueprint) takeLayout(m catalog.MachineModel) {
	b.numa = int(m.NUMANodes.Value)
	if b.numa == 0 {
		b.numa = 1
		if b.gpus >= 8 && b.cpu.Arch != "arm64" {
			b.numa = 2
		}
		b.gap("NUMA nodes: unspecified, assumed %d", b.numa)
	}
	if m.GPUsPerSwitch.Value > 0 {
		b.perSwitch, b.uplink = int(m.GPUsPerSwitch.Value/max(m.VirtualSwitch.Value, 1)), m.SwitchUplink
		return
	}
	if IsCoherent(b.gpu, b.cpu.Arch) {
		b.gap("PCIe switches: unspecified, assumed none: every device on its own root port")
		b.gap(noC2C)
		return
	}
	b.perSwitch = 1
	switch {
	case b.gpus == 0:
		b.gap("PCIe switches: unspecified")
	case b.nics > 0 && b.nics < b.gpus:
		b.perSwitch = (b.gpus + b.nics - 1) / b.nics
		b.gap("PCIe switches: unspecified, assumed one per %d GPUs with their NIC", b.perSwitch)
	default:
		b.gap("PCIe switches: unspecified, assumed one per GPU with its NICs")
	}
}
