// Package catalog knows parts: GPUs, NICs, machines and switches, one embedded YAML file a thing, each
// figure with its unit and source. A new part is a new file under data; nothing else lists it.
package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Figure is a number with its unit and where it was read. A Figure without a value was found in no source.
type Figure struct {
	Value  float64 `yaml:"value"`
	Unit   string  `yaml:"unit"`
	Source string  `yaml:"source"`
}

// Catalog holds every known part by its id, which is its file's name.
type Catalog struct {
	GPUs     map[string]GPUModel
	NICs     map[string]NICModel
	Machines map[string]MachineModel
	Switches map[string]SwitchModel
}

// GPUModel is a kind of GPU.
type GPUModel struct {
	Title    string   `yaml:"title"`
	Vendor   string   `yaml:"vendor"`   // nvidia, amd
	PCIID    []string `yaml:"pci_id"`   // vendor:device, lower case hexadecimal
	Source   string   `yaml:"source"`   // of what is no figure: the PCI ids
	Memory   Figure   `yaml:"memory"`   // GiB or GB as the source says
	PCIeLink PCIeLink `yaml:"pcie"`     // of the endpoint; absent where no source gives it
	ScaleUp  Figure   `yaml:"scale_up"` // NVLink or XGMI, GB/s one way, all links together; absent on a lone GPU
}

// NICModel is a kind of network adapter.
type NICModel struct {
	Title    string   `yaml:"title"`
	Vendor   string   `yaml:"vendor"` // nvidia, broadcom
	PCIID    []string `yaml:"pci_id"`
	Driver   string   `yaml:"driver"` // kernel module: mlx5_core, bnxt_en
	Source   string   `yaml:"source"` // of what is no figure: PCI ids, driver
	Ports    int      `yaml:"ports"`
	PortRate Figure   `yaml:"port_rate"` // Gb/s
	PCIeLink PCIeLink `yaml:"pcie"`
}

// PCIeLink is the widest and fastest link that a part can train. One without a speed was found in no source.
type PCIeLink struct {
	Speed  float64 `yaml:"speed"` // GT/s
	Width  int     `yaml:"width"` // lanes
	Source string  `yaml:"source"`
}

// MachineModel is a kind of server or cloud machine type.
type MachineModel struct {
	Title    string `yaml:"title"`
	GPU      string `yaml:"gpu"`       // id; absent, with GPUs, where the source names none
	GPUs     Figure `yaml:"gpus"`      // how many
	NIC      string `yaml:"nic"`       // id of the fabric's NICs
	NICs     Figure `yaml:"nics"`      // how many interfaces: a port with two PCI functions counts twice
	NICNames string `yaml:"nic_names"` // range expression of the usual interface names: eth[1-8], ibs[65,67], or a list of such with commas
	Source   string `yaml:"source"`    // of what is no figure: the names
}

// SwitchModel is a kind of switch.
type SwitchModel struct {
	Title    string              `yaml:"title"`
	Fabric   string              `yaml:"fabric"` // ethernet or infiniband
	Ports    Figure              `yaml:"ports"`  // towards hosts or other switches
	PortRate Figure              `yaml:"port_rate"`
	OS       map[string]PortName `yaml:"os"` // by switch operating system: how it names its ports
}

// PortName is how a switch operating system names its ports: Format with First, First+Step, ...
// Where Group is set, a cage holds that many ports and Format takes the cage and then the port in it,
// counted from GroupFirst. Where no rule holds, Names lists them all and the rest is empty.
type PortName struct {
	Format     string   `yaml:"format,omitempty"`
	First      int      `yaml:"first,omitempty"`
	Step       int      `yaml:"step,omitempty"`
	Group      int      `yaml:"group,omitempty"`
	GroupFirst int      `yaml:"group_first,omitempty"`
	Names      []string `yaml:"names,omitempty"`
	Source     string   `yaml:"source"`
}

// Port gives the name of the i-th port, counted from 0 and below the switch's Ports.
func (p PortName) Port(i int) string {
	switch {
	case len(p.Names) > 0:
		return p.Names[i]
	case p.Group > 0:
		return fmt.Sprintf(p.Format, p.First+i/p.Group*p.Step, p.GroupFirst+i%p.Group)
	default:
		return fmt.Sprintf(p.Format, p.First+i*p.Step)
	}
}

// Machine finds a machine by its id; the error lists the known ones.
func (c *Catalog) Machine(id string) (MachineModel, error) { return find("machine", c.Machines, id) }

// Switch finds a switch by its id; the error lists the known ones.
func (c *Catalog) Switch(id string) (SwitchModel, error) { return find("switch", c.Switches, id) }

func find[T any](what string, parts map[string]T, id string) (T, error) {
	part, ok := parts[id]
	if !ok {
		known := slices.Sorted(maps.Keys(parts))
		return part, fmt.Errorf("%s %q is not in the catalog: known are %s", what, id, strings.Join(known, ", "))
	}
	return part, nil
}
