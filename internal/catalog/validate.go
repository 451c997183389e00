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
)

// The units of figures.
const (
	unitGB   = "GB"
	unitGiB  = "GiB"
	unitGBs  = "GB/s"
	unitGbs  = "Gb/s"
	unitGPU  = "GPU"
	unitNIC  = "NIC"
	unitPort = "port"
)

// validate tells everything that is wrong with what was read.
func (c *Catalog) validate() error {
	var all []error
	for id, part := range sorted(c.GPUs) {
		p := problems{file: path.Join(gpuFolder, id+".yaml")}
		p.gpu(id, part)
		all = append(all, p.found...)
	}
	for id, part := range sorted(c.NICs) {
		p := problems{file: path.Join(nicFolder, id+".yaml")}
		p.nic(id, part)
		all = append(all, p.found...)
	}
	for id, part := range sorted(c.Machines) {
		p := problems{file: path.Join(machineFolder, id+".yaml")}
		p.machine(id, part, c)
		all = append(all, p.found...)
	}
	for id, part := range sorted(c.Switches) {
		p := problems{file: path.Join(switchFolder, id+".yaml")}
		p.switchModel(id, part)
		all = append(all, p.found...)
	}
	return errors.Join(all...)
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
	p.pciIDs(m.Vendor, m.PCIID, map[string]string{"nvidia": "10de", "amd": "1002"}) // PCI ID database
	p.figure("memory", m.Memory, unitGB, unitGiB)
	if m.PCIeLink != (PCIeLink{}) {
		p.link(m.PCIeLink)
	}
	if m.ScaleUp != (Figure{}) {
		p.figure("scale_up", m.ScaleUp, unitGBs)
	}
}

func (p *problems) nic(id string, m NICModel) {
	p.head(id, m.Title)
	p.text("driver", m.Driver)
	p.text("source", m.Source)
	p.pciIDs(m.Vendor, m.PCIID, map[string]string{"nvidia": "15b3", "broadcom": "14e4"}) // PCI ID database
	if m.Ports < 1 {
		p.add("ports", "%d is not above 0", m.Ports)
	}
	p.figure("port_rate", m.PortRate, unitGbs)
	p.link(m.PCIeLink)
}

func (p *problems) machine(id string, m MachineModel, c *Catalog) {
	p.head(id, m.Title)
	p.text("source", m.Source)
	if m.GPU != "" || m.GPUs != (Figure{}) {
		reference(p, "gpu", m.GPU, c.GPUs)
		p.count("gpus", m.GPUs, unitGPU)
	}
	reference(p, "nic", m.NIC, c.NICs)
	if p.count("nics", m.NICs, unitNIC) {
		p.nicNames(m.NICNames, int(m.NICs.Value))
	}
}

func (p *problems) switchModel(id string, m SwitchModel) {
	p.head(id, m.Title)
	p.oneOf("fabric", m.Fabric, "ethernet", "infiniband")
	p.figure("port_rate", m.PortRate, unitGbs)
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
		p.add(field, "%q is not known: known are %s", word, strings.Join(known, ", "))
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
	const most = 1 << 16 // far above the ports of any switch: a slip of the finger, not a part
	if f.Value != math.Trunc(f.Value) || f.Value > most {
		p.add(field+".value", "%v is not a whole number up to %d", f.Value, most)
	}
	return f.Value >= 1 && f.Value <= most && f.Value == math.Trunc(f.Value)
}

// link checks a PCIe link against the speeds and widths that there are (PCIe 6.0, 7.5.3.6).
func (p *problems) link(l PCIeLink) {
	if !slices.Contains([]float64{2.5, 5, 8, 16, 32, 64}, l.Speed) {
		p.add("pcie.speed", "%v GT/s is not known: known are 2.5, 5, 8, 16, 32, 64", l.Speed)
	}
	if !slices.Contains([]int{1, 2, 4, 8, 16}, l.Width) {
		p.add("pcie.width", "%d lanes is not known: known are 1, 2, 4, 8, 16", l.Width)
	}
	p.text("pcie.source", l.Source)
}

func (p *problems) pciIDs(vendor string, ids []string, vendorIDs map[string]string) {
	p.oneOf("vendor", vendor, slices.Sorted(maps.Keys(vendorIDs))...)
	if len(ids) == 0 {
		p.add("pci_id", "is empty")
	}
	for _, id := range ids {
		want, known := vendorIDs[vendor]
		switch {
		case !regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{4}$`).MatchString(id):
			p.add("pci_id", "%q is not vendor:device, four lower case hexadecimal digits each", id)
		case known && !strings.HasPrefix(id, want):
			p.add("pci_id", "%q is not of vendor %s, %s", id, vendor, want)
		}
	}
}

func reference[T any](p *problems, field, id string, parts map[string]T) {
	if _, err := find(field, parts, id); err != nil {
		p.add(field, "%v", err)
	}
}
