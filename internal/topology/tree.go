package topology

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const pciVendorNVIDIA = 0x10de

// isNVSwitch recognises an NVSwitch by NVIDIA's vendor id and the class of other bridges, 0680h.
func isNVSwitch(d *fabric.PCIDevice) bool {
	return d.Vendor == pciVendorNVIDIA && d.Class>>8 == 0x0680
}

// tree puts GPUs, NICs and NVSwitches below the switches above them, and these below NUMA nodes. Of the
// bridges on a path from the root port down every second one is the upstream port of a switch; the root port and
// the downstream ports are in Port.
func (x *factsTree) tree() {
	kept := make(map[string]bool)
	for _, g := range x.m.GPUs {
		kept[g.Bus] = true
	}
	for _, n := range x.m.NICs {
		kept[n.Bus] = true
	}
	for bus, d := range x.pci {
		kept[bus] = kept[bus] || isNVSwitch(d)
	}
	y := family{below: make(map[string][]string), known: make(map[[2]string]bool), ports: make(map[string]string)}
	for _, bus := range x.inOrder(kept) {
		x.climb(bus, &y)
	}
	for _, top := range y.below[""] {
		d := x.device(top, &y, 0)
		d.HostBridge = x.hostBridge(top)
		x.addTo(x.numaOf(top, d), d)
	}
	slices.SortFunc(x.m.CPUs, func(a, b CPU) int { return cmp.Compare(a.NUMA, b.NUMA) })
	for i := range x.m.CPUs {
		slices.SortFunc(x.m.CPUs[i].Devices, func(a, b Device) int { return CompareBus(a.Bus, b.Bus) })
	}
}

// inOrder returns the addresses that are PCI functions of the facts, sorted.
func (x *factsTree) inOrder(kept map[string]bool) []string {
	order := slices.SortedFunc(maps.Keys(kept), CompareBus)
	return slices.DeleteFunc(order, func(bus string) bool {
		if kept[bus] && bus != "" && x.pci[bus] == nil {
			x.m.AddGap(fmt.Sprintf("%s is not among the PCI functions of the facts: not in the tree", bus))
		}
		return !kept[bus] || x.pci[bus] == nil
	})
}

// family is the children of each node: devices and switches by the switch above, by "" those below a CPU.
type family struct {
	below map[string][]string
	known map[[2]string]bool
	ports map[string]string // directly above a device or switch
}

func (y *family) add(above, bus string) (isNew bool) {
	if y.known[[2]string{above, bus}] {
		return false
	}
	y.known[[2]string{above, bus}] = true
	y.below[above] = append(y.below[above], bus)
	return true
}

// climb records a device and the switches above it.
func (x *factsTree) climb(bus string, y *family) {
	bridges := x.above(bus) // nearest first
	at := bus
	for i := range bridges {
		depth := len(bridges) - 1 - i // of the bridge below the host bridge: 0 is the root port
		if depth%2 == 0 {             // a port, and not a switch
			y.ports[at] = bridges[i]
			continue
		}
		if !y.add(bridges[i], at) {
			return // from here up it is already recorded
		}
		at = bridges[i]
	}
	y.add("", at)
}

// above returns the bridges above a function, nearest first.
func (x *factsTree) above(bus string) []string {
	var chain []string
	for d := x.pci[bus]; d != nil && d.Parent != "" && len(chain) < maxDepth; d = x.pci[d.Parent] {
		chain = append(chain, d.Parent)
	}
	if len(chain) == maxDepth {
		x.m.AddGap(fmt.Sprintf("%s: more than %d bridges above it", bus, maxDepth))
	}
	return chain
}

// hostBridge names the root bus of a device as sysfs does: that of its topmost bridge, or its own.
func (x *factsTree) hostBridge(bus string) string {
	top := bus
	if chain := x.above(bus); len(chain) > 0 {
		top = chain[len(chain)-1]
	}
	root, _, ok := cutLast(top, ":")
	if !ok {
		return ""
	}
	return "pci" + root
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

func (x *factsTree) device(bus string, y *family, depth int) Device {
	d := Device{Bus: bus, Port: y.ports[bus], Class: classBridge}
	if p := x.pci[bus]; p != nil {
		d.Class, d.Vendor, d.Device = p.Class, p.Vendor, p.Device
		d.Speed, d.Width, d.MaxSpeed, d.MaxWidth = linkAbove(p, x.pci[d.Port])
	}
	if depth >= maxDepth {
		return d
	}
	for _, child := range y.below[bus] {
		d.Children = append(d.Children, x.device(child, y, depth+1))
	}
	slices.SortFunc(d.Children, func(a, b Device) int { return CompareBus(a.Bus, b.Bus) })
	return d
}

// linkAbove is the link of a function as both of its ends report it: the lower end first, then the port. Its
// maximum is the lesser of theirs.
func linkAbove(d, port *fabric.PCIDevice) (speed float64, width int, maxSpeed float64, maxWidth int) {
	ends := make([]fabric.PCILink, 0, 2)
	for _, p := range []*fabric.PCIDevice{d, port} {
		if p != nil && p.Link != nil {
			ends = append(ends, *p.Link)
		}
	}
	maxSpeed, maxWidth = math.Inf(1), math.MaxInt
	for _, e := range ends {
		speed, width = cmp.Or(speed, e.Speed), cmp.Or(width, e.Width)
		if e.MaxSpeed > 0 {
			maxSpeed = min(maxSpeed, e.MaxSpeed)
		}
		if e.MaxWidth > 0 {
			maxWidth = min(maxWidth, e.MaxWidth)
		}
	}
	if math.IsInf(maxSpeed, 1) {
		maxSpeed = 0
	}
	if maxWidth == math.MaxInt {
		maxWidth = 0
	}
	return speed, width, maxSpeed, maxWidth
}

// numaOf is the NUMA node of a device directly below a CPU: its own, else that of a bridge above or a device
// below; -1 where none reports one.
func (x *factsTree) numaOf(bus string, d Device) int {
	for _, at := range append([]string{bus}, x.above(bus)...) {
		if p := x.pci[at]; p != nil && p.NUMANode != nil && *p.NUMANode >= 0 {
			return *p.NUMANode
		}
	}
	for _, child := range d.Children {
		if n := x.numaOf(child.Bus, child); n >= 0 {
			return n
		}
	}
	return -1
}

func (x *factsTree) addTo(numa int, d Device) {
	i := slices.IndexFunc(x.m.CPUs, func(c CPU) bool { return c.NUMA == numa })
	if i < 0 {
		i = len(x.m.CPUs)
		x.m.CPUs = append(x.m.CPUs, x.processor(numa))
	}
	x.m.CPUs[i].Devices = append(x.m.CPUs[i].Devices, d)
}

// processor is what the facts have of the CPU of a NUMA node: the name that it reports.
func (x *factsTree) processor(numa int) CPU {
	c := CPU{NUMA: numa, Affinity: x.affinity(numa)}
	if id := x.facts.Machine.CPU; id != nil {
		c.Arch, c.Vendor, c.Family, c.Model = "x86_64", id.Vendor, id.Family, id.Model
		return c
	}
	name := ""
	if x.facts.Machine.CPUModel != nil {
		name = *x.facts.Machine.CPUModel
	}
	switch lower := strings.ToLower(name); {
	case strings.Contains(lower, "intel"):
		c.Arch, c.Vendor = "x86_64", vendorIntel
	case strings.Contains(lower, "amd"):
		c.Arch, c.Vendor = "x86_64", vendorAMD
	case strings.Contains(x.facts.Kernel.Release, "aarch64"), strings.Contains(lower, "neoverse"), strings.Contains(lower, "cortex"):
		c.Arch = "arm64"
	default:
		x.m.AddGap("unknown CPU: " + x.whyNoCPU())
		return c
	}
	if p, ok := processorNamed(name); ok && p.vendor == c.Vendor {
		c.Family, c.Model = p.family, p.model
		x.m.AddGap(fmt.Sprintf("the facts do not have family and model of the CPU: by its name it is an %s", p.name))
	} else if c.Vendor != "" {
		x.m.AddGap(fmt.Sprintf("the facts do not have family and model of the CPU, and they cannot be derived from %s", fabric.Quote(name)))
	}
	return c
}

// affinity is the mask of the CPUs of a NUMA node; empty where the facts do not have it.
func (x *factsTree) affinity(numa int) string {
	for _, n := range x.facts.Machine.NUMA {
		if n.Number == numa {
			return n.CPUs
		}
	}
	return ""
}

func (x *factsTree) whyNoCPU() string {
	if missing, ok := x.facts.MissingReason("machine.cpu_model"); ok {
		return missing.Reason
	}
	return "not in the facts"
}

// numa copies the NUMA nodes of the tree to GPUs and NICs, and records where there is none.
func (x *factsTree) numa() {
	places := newPlaces(x.m)
	unknown := false
	node := func(bus string) int {
		p, ok := places.byBus[bus]
		if !ok {
			return -1
		}
		n := x.m.CPUs[p.cpu].NUMA
		unknown = unknown || n < 0
		return n
	}
	for i := range x.m.GPUs {
		x.m.GPUs[i].NUMA = node(x.m.GPUs[i].Bus)
	}
	for i := range x.m.NICs {
		x.m.NICs[i].NUMA = node(x.m.NICs[i].Bus)
	}
	if unknown {
		x.m.AddGap("the firmware does not report the NUMA node of the devices")
	}
}
