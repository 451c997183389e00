package topology

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// PCIeSwitch is a PCIe switch as the host sees it: of a chip that is partitioned into virtual switches, one of these. A
// switch inside a card or module, with only that below it, is none.
type PCIeSwitch struct {
	Upstream   string   `json:"upstream"`
	ID         string   `json:"id"`                         // vendor:device, hexadecimal
	Downstream *int     `json:"downstream_ports,omitempty"` // nil: not all functions of the host were read
	GPUs       []string `json:"gpus"`
	NICs       []string `json:"nics"`
	NVMe       []string `json:"nvme,omitempty"` // where all functions of the host were read
}

// SwitchLayout is which GPUs and NICs share a PCIe switch.
type SwitchLayout struct {
	Switches []PCIeSwitch
	Alone    []string // GPUs and NICs below no switch
	Unknown  []string // GPUs and NICs of which a bridge above was not read
}

// classNVMe is that of NVM Express controllers: base class 01, subclass 08 (PCI Code and ID Assignment Specification 1.11, 1.2).
const classNVMe = 0x0108

// SwitchLayoutOf finds the switch of each GPU and NIC, given by their addresses.
func SwitchLayoutOf(p *PCIFunctions, gpus, nics []string) SwitchLayout {
	var l SwitchLayout
	found := make(map[string]*PCIeSwitch)
	place := func(address string, list func(*PCIeSwitch) *[]string) {
		up, whole := p.SwitchOf(address)
		switch {
		case !whole:
			l.Unknown = append(l.Unknown, address)
			return
		case up == nil:
			l.Alone = append(l.Alone, address)
			return
		}
		s := found[up.Address]
		if s == nil {
			s = &PCIeSwitch{Upstream: up.Address, ID: fmt.Sprintf("%04x:%04x", up.Vendor, up.Device), GPUs: []string{}, NICs: []string{}}
			found[up.Address] = s
		}
		to := list(s)
		*to = append(*to, address)
	}
	for _, g := range gpus {
		place(g, func(s *PCIeSwitch) *[]string { return &s.GPUs })
	}
	for _, n := range nics {
		place(n, func(s *PCIeSwitch) *[]string { return &s.NICs })
	}
	for _, upstream := range slices.SortedFunc(maps.Keys(found), CompareBus) {
		l.Switches = append(l.Switches, *found[upstream])
	}
	return l
}

// SwitchOf returns the upstream port of the nearest switch above a function that is not part of its own card or module; nil
// where there is none. whole is false where a bridge above it was not read.
func (p *PCIFunctions) SwitchOf(address string) (upstream *fabric.PCIDevice, whole bool) {
	d := p.byAddress[address]
	if d == nil {
		return nil, false
	}
	chain, whole := p.above(address)
	if !whole {
		return nil, false
	}
	for i, b := range chain {
		if rootward := len(chain) - 1 - i; rootward%2 == 1 && !isOwn(d, b) {
			return b, true
		}
	}
	return nil, true
}

// isOwn recognises a bridge of a GPU module: it has the vendor of the GPU, as that of an MI300X
// (root port, switch, then AMD's own upstream and downstream port: ROCm documentation, lspci -d 1002:74a1 -PP).
func isOwn(d, bridge *fabric.PCIDevice) bool {
	const amdProcessors = 0x1022 // the vendor id of AMD's bridges where it is not that of ATI
	return isGPUClass(d.Class) && (bridge.Vendor == d.Vendor || d.Vendor == 0x1002 && bridge.Vendor == amdProcessors)
}

// RootOf returns the topmost bridge above a function; nil where there is none, or a bridge was not read (whole is false).
func (p *PCIFunctions) RootOf(address string) (root *fabric.PCIDevice, whole bool) {
	chain, whole := p.above(address)
	if !whole || len(chain) == 0 {
		return nil, whole && p.byAddress[address] != nil
	}
	return chain[len(chain)-1], true
}

// switchesOf lists the switches above the ends, and where all functions are known their ports and NVMe drives.
func switchesOf(p *PCIFunctions, ends []PCIePath, whole bool) []PCIeSwitch {
	var gpus, nics []string
	for _, e := range ends {
		if e.Kind == KindGPU {
			gpus = append(gpus, e.Address)
		} else {
			nics = append(nics, e.Address)
		}
	}
	list := SwitchLayoutOf(p, gpus, nics).Switches
	if !whole {
		return append([]PCIeSwitch{}, list...)
	}
	at := make(map[string]int, len(list))
	for i := range list {
		at[list[i].Upstream] = i
		n := 0
		for _, port := range p.below[list[i].Upstream] {
			if isBridgeClass(port.Class) {
				n++
			}
		}
		list[i].Downstream = &n
	}
	for _, address := range slices.SortedFunc(maps.Keys(p.byAddress), CompareBus) {
		if p.byAddress[address].Class>>8 != classNVMe {
			continue
		}
		if up, ok := p.SwitchOf(address); ok && up != nil {
			if i, listed := at[up.Address]; listed {
				list[i].NVMe = append(list[i].NVMe, address)
			}
		}
	}
	return append([]PCIeSwitch{}, list...)
}

// LayoutComparison is the layout that was found against that of a machine of the catalog.
type LayoutComparison struct {
	Machine     string        `json:"machine"`
	Expected    string        `json:"expected"`
	Found       string        `json:"found"`
	Status      fabric.Status `json:"status"`
	Differences []string      `json:"differences"` // what is elsewhere or missing, or why it is unknown
}

// CompareLayout compares the switches of a host with those of its machine: how many there are, and the GPUs and NICs of
// each. It is unknown where a bridge above one of them was not read, or the catalog does not have the layout.
func CompareLayout(l SwitchLayout, m fabric.NominalMachine) LayoutComparison {
	c := LayoutComparison{Machine: m.ID, Differences: []string{}, Found: l.words()}
	if m.PCIeSwitches <= 0 || m.GPUs <= 0 || m.NICs <= 0 || m.GPUs%m.PCIeSwitches != 0 || m.NICs%m.PCIeSwitches != 0 {
		c.Differences = append(c.Differences, "the catalog has no PCIe layout of "+m.ID)
		return c
	}
	gpus, nics := m.GPUs/m.PCIeSwitches, m.NICs/m.PCIeSwitches
	c.Expected = fmt.Sprintf("%s with %s and %s each", fabric.Count(m.PCIeSwitches, "PCIe switch"), fabric.Count(gpus, "GPU"), fabric.Count(nics, "NIC"))
	for _, address := range l.Unknown {
		c.Differences = append(c.Differences, "a bridge above "+address+" was not read")
	}
	if len(l.Unknown) > 0 {
		return c
	}
	if have := len(l.Switches); have != m.PCIeSwitches {
		c.add("%s of %d were found above GPUs and NICs", fabric.Count(have, "PCIe switch"), m.PCIeSwitches)
	}
	for _, s := range l.Switches {
		c.compare(s, gpus, nics)
	}
	for _, address := range l.Alone {
		c.add("%s is below no PCIe switch", address)
	}
	c.Status = fabric.Pass
	if len(c.Differences) > 0 {
		c.Status = fabric.Fail
	}
	return c
}

func (c *LayoutComparison) add(format string, args ...any) {
	c.Differences = append(c.Differences, fmt.Sprintf(format, args...))
}

func (c *LayoutComparison) compare(s PCIeSwitch, gpus, nics int) {
	for _, kind := range []struct {
		noun string
		have []string
		want int
	}{{"GPU", s.GPUs, gpus}, {"NIC", s.NICs, nics}} {
		switch have := len(kind.have); {
		case have > kind.want:
			c.add("switch %s has %s (%s), not %d", s.Upstream, fabric.Count(have, kind.noun), strings.Join(kind.have, ", "), kind.want)
		case have < kind.want:
			c.add("switch %s has %s, not %d", s.Upstream, fabric.Count(have, kind.noun), kind.want)
		}
	}
}

// words counts the switches by what is below them.
func (l SwitchLayout) words() string {
	counts := make(map[string]int)
	for _, s := range l.Switches {
		counts[fabric.Count(len(s.GPUs), "GPU")+" and "+fabric.Count(len(s.NICs), "NIC")]++
	}
	var parts []string
	for _, what := range slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(-cmp.Compare(counts[a], counts[b]), strings.Compare(a, b))
	}) {
		parts = append(parts, fabric.Count(counts[what], "PCIe switch")+" with "+what)
	}
	if len(l.Alone) > 0 {
		parts = append(parts, fmt.Sprintf("%d of the GPUs and NICs below none", len(l.Alone)))
	}
	if len(parts) == 0 {
		return "no PCIe switch above a GPU or NIC"
	}
	return strings.Join(parts, "; ")
}
