package catalog

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// The units of figures.
const (
	unitGB         = "GB"
	unitMB         = "MB"
	unitGiB        = "GiB"
	unitMiB        = "MiB"
	unitByte       = "B"
	unitGBs        = "GB/s"
	unitGbs        = "Gb/s"
	unitTFLOPs     = "TFLOP/s"
	unitMicrosec   = "us"
	unitRatio      = "ratio"
	unitGPU        = "GPU"
	unitNVSwitch   = "NVSwitch"
	unitNIC        = "NIC"
	unitPort       = "port"
	unitSwitch     = "switch"
	unitLink       = "link"
	unitNode       = "node"
	unitGeneration = "generation"
)

// validate reports everything that is wrong with what was read.
func (c *Catalog) validate() error {
	all := each(gpuFolder, c.GPUs, func(p *problems, id string, m GPUModel) { p.gpu(id, m) })
	all = append(all, duplicates(gpuFolder, c.GPUs, GPUModel.pciIDs)...)
	all = append(all, aliases(c.GPUs)...)
	all = append(all, each(nicFolder, c.NICs, func(p *problems, id string, m NICModel) { p.nic(id, m, c.NICs) })...)
	all = append(all, duplicates(nicFolder, c.NICs, NICModel.pciIDs)...)
	all = append(all, each(machineFolder, c.Machines, func(p *problems, id string, m MachineModel) { p.machine(id, m, c) })...)
	all = append(all, each(switchFolder, c.Switches, func(p *problems, id string, m SwitchModel) { p.switchModel(id, m) })...)
	all = append(all, each(fabricFolder, c.Fabrics, func(p *problems, id string, m FabricModel) { p.fabric(id, m, c) })...)
	all = append(all, transports(c.Fabrics)...)
	all = append(all, each(modelFolder, c.Models, func(p *problems, id string, m LanguageModel) { p.model(id, m) })...)
	all = append(all, modelNames(c.Models)...)
	all = append(all, each(engineFolder, c.Engines, func(p *problems, id string, m EngineModel) {
		p.head(id, m.Title)
		p.text("source", m.Source)
		p.images(m.Images)
	})...)
	all = append(all, each(chartFolder, c.Charts, func(p *problems, _ string, m ChartModel) { p.chart(m) })...)
	return errors.Join(all...)
}

func (p *problems) images(all map[string]EngineImage) {
	for of, image := range sorted(all) {
		if image.Image == "" || image.Version == "" || image.Source == "" {
			p.add("images", "%s: an image, a version and a source are needed", of)
		}
	}
}

// each checks the parts of a folder.
func each[T any](folder string, parts map[string]T, check func(*problems, string, T)) (found []error) {
	for id, part := range sorted(parts) {
		p := problems{file: path.Join(folder, id+".yaml")}
		check(&p, id, part)
		found = append(found, p.found...)
	}
	return found
}

// sorted walks a map in the order of its keys, so that the same catalog gives the same message.
func sorted[T any](parts map[string]T) func(func(string, T) bool) {
	return func(yield func(string, T) bool) {
		for _, id := range slices.Sorted(maps.Keys(parts)) {
			if !yield(id, parts[id]) {
				return
			}
		}
	}
}

// problems gathers what is wrong with one file.
type problems struct {
	file  string
	found []error
}

func (p *problems) add(field, format string, args ...any) {
	p.found = append(p.found, fmt.Errorf("catalog %q: %s: %s", p.file, field, fmt.Sprintf(format, args...)))
}

func (p *problems) gpu(id string, m GPUModel) {
	p.head(id, m.Title)
	p.text("source", m.Source)
	p.vendor(m.Vendor, gpuVendors())
	p.pciIDs(m.Vendor, m.PCIID, gpuVendors())
	p.arch(m.Vendor, m.Arch)
	p.figure("memory", m.Memory, unitGB, unitGiB)
	p.memoryVisible(m)
	p.memoryOfPrograms(m)
	p.optional("mmio", m.MMIO, unitGB)
	p.optional("memory_bandwidth", m.MemoryBandwidth, unitGBs)
	p.compute(m.Compute)
	p.link("pcie", m.PCIeLink)
	p.optional("scale_up", m.ScaleUp, unitGBs)
	if m.ScaleUpLinks != (Figure{}) {
		p.count("scale_up_links", m.ScaleUpLinks, unitLink)
	}
	if (m.ScaleUp == Figure{}) != (m.ScaleUpLinks == Figure{}) {
		p.add("scale_up_links", "must be given together with scale_up")
	}
	p.reached("ring", m.Ring, m.ScaleUp)
	p.reached("multicast", m.Multicast, m.ScaleUp)
	p.reached("ring_direct", m.RingDirect, m.ScaleUp)
	for _, alias := range m.Aliases {
		p.id("aliases", alias)
	}
}

// reached checks a measured rate, where there is one, against what the links carry.
func (p *problems) reached(field string, f, line Figure) {
	p.optional(field, f, unitGBs)
	if f.Value > line.Value {
		p.add(field+".value", "%v is above the %v of scale_up", f.Value, line.Value)
	}
}

// aliases finds short names that stand for two GPUs, or for one and are another's id.
func aliases(parts map[string]GPUModel) (found []error) {
	owner := map[string]string{}
	for id, m := range sorted(parts) {
		p := problems{file: path.Join(gpuFolder, id+".yaml")}
		for _, alias := range m.Aliases {
			if _, taken := parts[alias]; taken {
				p.add("aliases", "%q is the id of a GPU", alias)
			}
			if owner[alias] != "" {
				p.add("aliases", "%q is also that of %s", alias, owner[alias])
			}
			owner[alias] = id
		}
		found = append(found, p.found...)
	}
	return found
}

func (p *problems) arch(vendor, arch string) {
	forms := map[string]string{"nvidia": `^sm_[0-9]{2,3}$`, "amd": `^gfx[0-9a-f]{3,4}$`}
	if form, known := forms[vendor]; known && !regexp.MustCompile(form).MatchString(arch) {
		p.add("arch", "%q is not %s", arch, form)
	}
}

// memoryVisible catches a confusion of GB and GiB, and between a figure and that of another GPU: a driver
// shows somewhat less than the chips hold, and the most that a vendor's "GB" can mean is GiB.
func (p *problems) memoryVisible(m GPUModel) {
	if m.MemoryVisible == (Figure{}) {
		return
	}
	p.figure("memory_visible", m.MemoryVisible, unitMiB, unitGiB)
	bytes := m.MemoryVisible.Value * map[string]float64{unitMiB: 1 << 20, unitGiB: 1 << 30}[m.MemoryVisible.Unit]
	const least = 0.9 // of the nominal GB; the lowest known is above 1.0
	if bytes > m.Memory.Value*(1<<30) || bytes < m.Memory.Value*1e9*least {
		p.add("memory_visible", "%v %s does not fit a memory of %v %s",
			m.MemoryVisible.Value, m.MemoryVisible.Unit, m.Memory.Value, m.Memory.Unit)
	}
}

// memoryOfPrograms checks what programs get of the memory that the driver shows.
func (p *problems) memoryOfPrograms(m GPUModel) {
	p.optional("memory_cuda", m.MemoryCUDA, unitGiB)
	p.optional("memory_idle", m.MemoryIdle, unitGiB)
	if m.MemoryCUDA.Value > m.Memory.Value*(1<<30)/1e9 && m.Memory.Unit == unitGB || m.MemoryCUDA.Value > m.Memory.Value && m.Memory.Unit == unitGiB {
		p.add("memory_cuda", "%v GiB does not fit a memory of %v %s", m.MemoryCUDA.Value, m.Memory.Value, m.Memory.Unit)
	}
	if m.MemoryIdle != (Figure{}) && (!m.Unified || m.MemoryIdle.Value > m.MemoryCUDA.Value) {
		p.add("memory_idle", "%v GiB: needs unified and a larger memory_cuda", m.MemoryIdle.Value)
	}
}

// compute checks that no narrower number format is slower than a wider one.
func (p *problems) compute(c Compute) {
	p.optional("compute.bf16", c.BF16, unitTFLOPs)
	p.optional("compute.fp8", c.FP8, unitTFLOPs)
	p.optional("compute.fp4", c.FP4, unitTFLOPs)
	if c.FP8.Value > 0 && c.FP8.Value < c.BF16.Value || c.FP4.Value > 0 && c.FP4.Value < c.FP8.Value {
		p.add("compute", "bf16 %v, fp8 %v, fp4 %v: a narrower format is slower", c.BF16.Value, c.FP8.Value, c.FP4.Value)
	}
}

func (p *problems) nic(id string, m NICModel, nics map[string]NICModel) {
	p.head(id, m.Title)
	p.text("driver", m.Driver)
	p.text("source", m.Source)
	p.vendor(m.Vendor, nicVendors())
	if m.Of == "" {
		p.pciIDs(m.Vendor, m.PCIID, nicVendors())
	} else {
		p.variant(m, nics)
	}
	if m.Physical != "" {
		reference(p, "physical", "nic", m.Physical, nics)
	}
	if m.Ports < 1 {
		p.add("ports", "%d is not above 0", m.Ports)
	}
	p.figure("port_rate", m.PortRate, unitGbs)
	if m.Functions < 0 {
		p.add("functions", "%d is below 0", m.Functions)
	}
	p.link("pcie", m.PCIeLink)
	p.firmware(m.Firmware)
	p.badFirmware(m.FirmwareBad, m.Firmware)
	p.optional("payload", m.Payload, unitRatio)
	if m.Payload.Value > 1 {
		p.add("payload.value", "%v is above 1", m.Payload.Value)
	}
	p.band(m.Band)
}

// among checks a word that the rest of the file determines.
func (p *problems) among(field, word, want string) {
	if word != want {
		p.add(field, "%q does not fit the GPUs: must be %q", word, want)
	}
}

func (p *problems) fabric(id string, m FabricModel, c *Catalog) {
	p.head(id, m.Title)
	p.text("source", m.Source)
	p.oneOf("link_layer", m.LinkLayer, "ethernet", "infiniband")
	if m.GPUDirect == nil {
		p.add("gpudirect_rdma", "must be true or false")
	}
	p.optional("mtu", m.MTU, unitByte)
	p.optional("header", m.Header, unitByte)
	p.optional("payload", m.Payload, unitRatio)
	p.optional("step", m.Step, unitRatio)
	p.optional("floor", m.Floor, unitMicrosec)
	p.optional("eager", m.Eager, unitByte)
	p.optional("many_nodes", m.ManyNodes, unitRatio)
	p.optional("pages", m.Pages, unitByte)
	p.optional("node_limit", m.NodeLimit, unitGBs)
	p.fabricRules(m, c)
	most := 1.0
	if m.MTU.Value > 0 { // no measurement can exceed what full packets leave room for
		most = m.MTU.Value / (m.MTU.Value + m.Header.Value)
	}
	if m.Payload.Value > most {
		p.add("payload.value", "%v is above %.4f, full packets of %v with %v bytes around them", m.Payload.Value, most, m.MTU.Value, m.Header.Value)
	}
	for _, line := range m.Prediction {
		p.text("prediction", line)
	}
}

// band checks an optional band.
func (p *problems) band(b Band) {
	if b == (Band{}) {
		return
	}
	if !(b.Fast > 0 && b.Fast <= 1 && b.Slow >= 1) || math.IsInf(b.Slow, 0) {
		p.add("band", "fast %v, slow %v: fast must be above 0 and at most 1, slow at least 1", b.Fast, b.Slow)
	}
	p.text("band.source", b.Source)
}

// fabricRules checks what is not a figure alone.
func (p *problems) fabricRules(m FabricModel, c *Catalog) {
	if m.Transport != "" {
		p.oneOf("transport", m.Transport, string(fabric.InfiniBand), string(fabric.RoCE))
	}
	p.band(m.Band)
	if o := m.Only; o != (Only{}) {
		if o.Algorithm != "" {
			p.oneOf("only.algorithm", o.Algorithm, "Ring", "Tree")
		}
		if o.Protocol != "" {
			p.oneOf("only.protocol", o.Protocol, "LL", "LL128", "Simple")
		}
		p.text("only.source", o.Source)
	}
	if m.Earlier != (Earlier{}) {
		reference(p, "earlier.fabric", "fabric", m.Earlier.Fabric, c.Fabrics)
		p.text("earlier.source", m.Earlier.Source)
		if m.Earlier.BelowSM < 1 {
			p.add("earlier.below_sm", "%d is not above 0", m.Earlier.BelowSM)
		}
	}
}

// transports finds two fabrics of one transport.
func transports(fabrics map[string]FabricModel) (found []error) {
	owner := map[string]string{}
	for id, m := range sorted(fabrics) {
		p := problems{file: path.Join(fabricFolder, id+".yaml")}
		if first := owner[m.Transport]; first != "" && m.Transport != "" {
			p.add("transport", "%q is also that of %s", m.Transport, first)
		}
		owner[m.Transport] = id
		found = append(found, p.found...)
	}
	return found
}

func (p *problems) switchModel(id string, m SwitchModel) {
	p.head(id, m.Title)
	p.oneOf("fabric", m.Fabric, "ethernet", "infiniband")
	p.figure("port_rate", m.PortRate, unitGbs)
	p.optional("buffer", m.Buffer, unitMB)
	counted := p.count("ports", m.Ports, unitPort)
	if len(m.OS) == 0 {
		p.add("os", "is empty")
	}
	for name, ports := range sorted(m.OS) {
		field := "os." + name
		p.id(field, name)
		p.text(field+".source", ports.Source)
		if p.portRule(field, ports) && counted {
			p.portNames(field, ports, int(m.Ports.Value))
		}
	}
}

func (p *problems) head(id, title string) {
	p.id("file name", id)
	p.text("title", title)
}

func (p *problems) id(field, id string) {
	if !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(id) {
		p.add(field, "%q is not made of lower case letters, digits and single hyphens", id)
	}
}

func (p *problems) text(field, text string) {
	if strings.TrimSpace(text) == "" {
		p.add(field, "is empty")
	}
}

func (p *problems) oneOf(field, word string, known ...string) {
	if !slices.Contains(known, word) {
		p.add(field, "%q: unknown; known: %s", word, strings.Join(known, ", "))
	}
}

// optional checks a figure that may be absent as a whole.
func (p *problems) optional(field string, f Figure, units ...string) {
	if f != (Figure{}) {
		p.figure(field, f, units...)
	}
}

func (p *problems) figure(field string, f Figure, units ...string) {
	if !(f.Value > 0) || math.IsInf(f.Value, 0) { // written so that not-a-number fails too
		p.add(field+".value", "%v is not above 0", f.Value)
	}
	p.oneOf(field+".unit", f.Unit, units...)
	p.text(field+".source", f.Source)
}

// count checks a figure that counts things; ok is false where its value cannot be counted with.
func (p *problems) count(field string, f Figure, unit string) (ok bool) {
	p.figure(field, f, unit)
	const most = 1 << 16 // far above the ports of any switch: a typo, not a part
	if f.Value != math.Trunc(f.Value) || f.Value > most {
		p.add(field+".value", "%v is not a whole number up to %d", f.Value, most)
	}
	return f.Value >= 1 && f.Value <= most && f.Value == math.Trunc(f.Value)
}

// link checks a PCIe link, where there is one, against the speeds and widths that there are (PCIe 6.0, 7.5.3.6).
func (p *problems) link(field string, l PCIeLink) {
	if l == (PCIeLink{}) {
		return
	}
	if !slices.Contains([]float64{2.5, 5, 8, 16, 32, 64}, l.Speed) {
		p.add(field+".speed", "%v GT/s: unknown; known: 2.5, 5, 8, 16, 32, 64", l.Speed)
	}
	if !slices.Contains([]int{1, 2, 4, 8, 16}, l.Width) {
		p.add(field+".width", "%d lanes: unknown; known: 1, 2, 4, 8, 16", l.Width)
	}
	p.text(field+".source", l.Source)
}

// reference checks that a field names a part of a kind.
func reference[T any](p *problems, field, kind, id string, parts map[string]T) {
	if _, err := find(kind, parts, id); err != nil {
		p.add(field, "%v", err)
	}
}
