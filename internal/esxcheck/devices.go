package esxcheck

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Kinds of devices that virtual machines get.
const (
	kindGPU      = "GPU"
	kindNIC      = "NIC"
	kindNVSwitch = "NVSwitch"
	kindVF       = "virtual function"
	kindOther    = "other"
)

// PCI vendors (PCI ID database).
const (
	vendorNVIDIA   = 0x10de
	vendorMellanox = 0x15b3
)

// device is a PCI device of a host, of everything that names it: lspci, esxcli hardware pci, mst, the vSphere API.
type device struct {
	address        string
	vendor, device uint16
	class          uint32
	name           string
	kind           string // empty: it could not be identified
	pass           *fabric.PassthroughPCI
	pci            *fabric.PCIDevice
	tools          bool // mst shows it
}

func (d *device) id() string { return hex4(d.vendor) + ":" + hex4(d.device) }

func hex4(n uint16) string {
	text := strconv.FormatUint(uint64(n), 16)
	return strings.Repeat("0", 4-len(text)) + text
}

// devicesOf merges by address what several tools say of one device, in order of the addresses.
func devicesOf(f *fabric.Facts, goal *fabric.ESXGoal) []device {
	byAddress := map[string]*device{}
	at := func(address string) *device {
		if byAddress[address] == nil {
			byAddress[address] = &device{address: address}
		}
		return byAddress[address]
	}
	for i := range f.PCI {
		p := &f.PCI[i]
		d := at(p.Address)
		d.vendor, d.device, d.class, d.pci = p.Vendor, p.Device, p.Class, p
	}
	for i := range f.ESX.Devices {
		p := &f.ESX.Devices[i]
		d := at(p.Address)
		d.vendor, d.device, d.pass, d.name = cmp.Or(d.vendor, p.Vendor), cmp.Or(d.device, p.Device), p, p.Name
	}
	for _, m := range f.ESX.MST {
		if m.Address == "" {
			continue
		}
		d := at(m.Address)
		d.tools = true
		if id, ok := deviceOfTool(m.Name); ok {
			d.vendor, d.device = cmp.Or(d.vendor, uint16(vendorMellanox)), cmp.Or(d.device, id)
		}
	}
	out := make([]device, 0, len(byAddress))
	for _, d := range byAddress {
		d.kind = kindOf(d, goal)
		out = append(out, *d)
	}
	slices.SortFunc(out, func(a, b device) int { return cmp.Compare(a.address, b.address) })
	return out
}

// deviceOfTool is the PCI id in the name of a device of mst, which is decimal: mt4129_pciconf0 is 0x1021.
func deviceOfTool(name string) (uint16, bool) {
	name = name[strings.LastIndex(name, "/")+1:]
	digits, ok := strings.CutPrefix(name, "mt")
	if !ok {
		return 0, false
	}
	digits, _, _ = strings.Cut(digits, "_")
	n, err := strconv.ParseUint(digits, 10, 16)
	return uint16(n), err == nil
}

// kindOf says what a device is: as the plan has it, by its class, its id or its name.
func kindOf(d *device, goal *fabric.ESXGoal) string {
	if goal != nil && d.vendor != 0 && d.device != 0 {
		switch d.id() {
		case goal.GPU:
			return kindGPU
		case goal.NIC:
			if !isVirtual(d) {
				return kindNIC
			}
		}
	}
	switch {
	case isVirtual(d):
		return kindVF
	case d.class != 0:
		return kindByClass(d)
	case d.vendor == 0:
		return ""
	case d.vendor == vendorMellanox && (familyOf(d.device) != "" || strings.Contains(d.name, "ConnectX")):
		return kindNIC
	case d.vendor == vendorNVIDIA:
		return kindOfNVIDIA(d)
	case d.vendor == vendorMellanox:
		return ""
	}
	return kindOther
}

// kindByClass reads the class code (PCI Code and ID Assignment 1.11): 02 network, 03 display, 0680 other bridge, which an NVSwitch is.
func kindByClass(d *device) string {
	switch {
	case d.vendor == vendorMellanox && d.class>>16 == 0x02:
		return kindNIC
	case d.vendor == vendorNVIDIA && d.class>>16 == 0x03:
		return kindGPU
	case d.vendor == vendorNVIDIA && d.class>>8 == 0x0680:
		return kindNVSwitch
	}
	return kindOther
}

// kindOfNVIDIA knows NVSwitches by their ids (PCI ID database: GA100 and GH100), and others by what their names say.
func kindOfNVIDIA(d *device) string {
	const nvSwitchAmpere, nvSwitchHopper = 0x1af1, 0x22a3
	name := strings.ToLower(d.name)
	switch {
	case d.device == nvSwitchAmpere || d.device == nvSwitchHopper || strings.Contains(name, "nvswitch"):
		return kindNVSwitch
	case strings.Contains(name, "audio") || strings.Contains(name, "usb") || strings.Contains(name, "ucsi"):
		return kindOther
	case d.device == 0 && name == "":
		return ""
	}
	return kindGPU
}

// isVirtual knows a virtual function by its id (PCI ID database) or by the name that ESX gives it: PF_0.94.1_VF_0.
func isVirtual(d *device) bool {
	if strings.Contains(d.name, "_VF_") || strings.Contains(d.name, "Virtual Function") {
		return true
	}
	return d.vendor == vendorMellanox && isVirtualID(d.device)
}

func isVirtualID(device uint16) bool {
	switch device {
	case 0x1004, 0x1012, 0x1014, 0x1016, 0x1018, 0x101a, 0x101c, 0x101e, 0xa2d3:
		return true
	}
	return false
}

// familyOf is the family of a Mellanox NIC by its PCI id (PCI ID database); empty: none that is known here.
func familyOf(device uint16) string {
	switch device {
	case 0x1003:
		return "ConnectX-3"
	case 0x1007:
		return "ConnectX-3 Pro"
	case 0x1011:
		return "Connect-IB"
	case 0x1013:
		return "ConnectX-4"
	case 0x1015:
		return "ConnectX-4 Lx"
	case 0x1017, 0x1019:
		return "ConnectX-5"
	case 0x101b:
		return "ConnectX-6"
	case 0x101d:
		return "ConnectX-6 Dx"
	case 0x101f:
		return "ConnectX-6 Lx"
	case 0x1021:
		return "ConnectX-7"
	case 0x1023:
		return "ConnectX-8"
	case 0xa2d6:
		return "BlueField-2"
	case 0xa2dc:
		return "BlueField-3"
	}
	return ""
}

// connectX7 is the physical function of the NIC of both documents.
const connectX7 = 0x1021

// wantedNIC is the id of the physical function of the planned NIC: that of a ConnectX-7 where the plan names its virtual function, or
// nothing.
func (s scene) wantedNIC() (vendor, device uint16) {
	if s.goal != nil {
		v, d, _ := strings.Cut(s.goal.NIC, ":")
		vendorID, errV := strconv.ParseUint(v, 16, 16)
		deviceID, errD := strconv.ParseUint(d, 16, 16)
		if errV == nil && errD == nil && !isVirtualID(uint16(deviceID)) {
			return uint16(vendorID), uint16(deviceID)
		}
	}
	return vendorMellanox, connectX7
}

// ours are the devices of a kind that the plan is about; NICs of another model are for something else. unknown counts those that could be
// of the kind and were not identified.
func (s scene) ours(kind string) (found []device, unknown int) {
	vendor, id := s.wantedNIC()
	for _, d := range s.tree {
		switch {
		case d.kind == kind && kind == kindNIC && s.goal == nil:
			found = append(found, d)
		case d.kind == kind && kind == kindNIC && (d.vendor != vendor || d.device != id):
			if d.device == 0 {
				unknown++
			}
		case d.kind == kind:
			found = append(found, d)
		case d.kind == "" && (kind == kindNIC) == (d.vendor == vendorMellanox):
			unknown++
		}
	}
	return found, unknown
}

// shared finds the switch that two devices share: the nearest bridge above both. ok is false where the way up of one was not read, or
// they meet in no bridge.
func (s scene) shared(a, b string) (bridge string, depth int, ok bool) {
	up := map[string]*fabric.PCIDevice{}
	for i := range s.facts.PCI {
		up[s.facts.PCI[i].Address] = &s.facts.PCI[i]
	}
	above := func(address string) []string {
		var out []string
		for d := up[address]; d != nil && d.Parent != "" && len(out) <= len(up); d = up[d.Parent] {
			out = append(out, d.Parent)
		}
		return out
	}
	left, right := above(a), above(b)
	for i, p := range left {
		if slices.Contains(right, p) {
			return p, i, true
		}
	}
	return "", 0, false
}
