package facts

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// lspciHead is the line that begins a function, in the forms of lspci, -n and -nn:
//
//	0000:20:00.0 PCI bridge [0604]: Red Hat, Inc. QEMU PCIe Root port [1b36:000c] (prog-if 00 [Normal decode])
//	20:00.0 0604: 1b36:000c (rev 02)
//	20:00.0 PCI bridge: Red Hat, Inc. QEMU PCIe Root port
var lspciHead = pattern.New(`^((?:[0-9a-f]{4,8}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]) ([^:\[]+?)?(?: ?\[?([0-9a-f]{4})\]?)?: (.+)$`)

var (
	lspciID        = pattern.New(`(?:\[|^)([0-9a-f]{4}):([0-9a-f]{4})(?:\]|$| \()`)
	lspciInterface = pattern.New(`\(prog-if ([0-9a-f]{2})`)
	lspciLink      = pattern.New(`Speed (unknown|[0-9.]+GT/s)(?: \(\w+\))?, Width x([0-9]+)`)
	lspciPayload   = pattern.New(`MaxPayload ([0-9]+) bytes, MaxReadReq ([0-9]+) bytes`)
	lspciExtended  = pattern.New(`^Capabilities: \[[1-9a-f][0-9a-f]{2} v[0-9]+\] `)
	lspciBus       = pattern.New(`^Bus: primary=[0-9a-f]{2}, secondary=([0-9a-f]{2}),`)
)

// lspciRuns asks lspci only where sysfs listed no function at all: it reads the same files.
func lspciRuns(_ host.Host, f *fabric.Facts) []toolRun {
	if _, missing := f.MissingReason(fabric.FactPCI); !missing || len(f.PCI) > 0 {
		return nil
	}
	return []toolRun{{argv: []string{"lspci", "-vvvnn", "-D"}}}
}

func knowsLspci(text string) bool { return hasLine(text, lspciHead().MatchString) }

// lspciText is what the lines of one function say.
type lspciText struct {
	device    fabric.PCIDevice
	secondary string // bus below a bridge
	denied    bool   // capabilities were not shown
	dead      bool   // the device does not answer
	listed    bool   // capabilities were shown
	express   bool
	extended  bool // of which one in extended space: all were read
	acsSeen   bool
	atsSeen   bool
	last      string // key of the line before, which one without a key continues
}

// parseLspciText reads lspci -vvv, with or without -nn and -D. It keeps of it what readPCI keeps.
func parseLspciText(text, _ string) (fabric.Facts, error) { return parseLspciOf(text, keptPCI) }

// PCIFromText returns every PCI function of what lspci -vvv printed, with or without -nn and -D, as the facts of a host of
// that name. Any other text is an error.
func PCIFromText(name, text string) (*fabric.Facts, error) {
	if len(text) > maxToolText {
		return nil, fmt.Errorf("is larger than %d bytes", maxToolText)
	}
	f, err := parseLspciOf(text, func(all []pciFunction) []pciFunction { return all })
	if err != nil {
		return nil, err
	}
	f.Meta, f.Node, f.Source = fabric.NewMeta("Facts"), name, "captured"
	if !strings.HasSuffix(text, "\n") {
		miss(&f, fabric.FactPCI, "lspci", errors.New("its output is cut: the last line has no end"))
	}
	return &f, nil
}

func parseLspciOf(text string, keep func([]pciFunction) []pciFunction) (fabric.Facts, error) {
	functions, err := lspciFunctions(text)
	if err != nil {
		return fabric.Facts{}, err
	}
	bridges := make(map[string]string) // by the bus below
	for _, fn := range functions {
		if fn.secondary != "" {
			bridges[fn.secondary] = fn.device.Address
		}
	}
	var all []pciFunction
	byAddress := make(map[string]fabric.PCIDevice, len(functions))
	reasons := make(map[string]error)
	for _, fn := range functions {
		d, reason := fn.finish()
		reasons[d.Address] = reason
		bus, _, _ := cutLast(d.Address, ":")
		d.Parent = bridges[bus]
		byAddress[d.Address] = d
		all = append(all, pciFunction{address: d.Address, parent: d.Parent, vendor: d.Vendor, class: d.Class})
	}
	var f fabric.Facts
	for _, fn := range keep(all) {
		d := byAddress[fn.address]
		f.PCI = append(f.PCI, d)
		f.Missing = append(f.Missing, lspciMissing(d, reasons[d.Address])...)
		if vendor := gpuVendor(fn); vendor != "" {
			f.GPUs = append(f.GPUs, fabric.GPU{PCI: d.Address, Vendor: vendor, Driver: d.Driver})
		}
	}
	return f, nil
}

func lspciFunctions(text string) ([]lspciText, error) {
	var functions []lspciText
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if head := lspciHead().FindStringSubmatch(line); head != nil {
			functions = append(functions, lspciText{device: lspciDevice(head)})
		} else if len(functions) > 0 && line != "" {
			functions[len(functions)-1].line(line)
		}
	}
	if len(functions) == 0 {
		return nil, errForeignText
	}
	slices.SortFunc(functions, func(a, b lspciText) int { return strings.Compare(a.device.Address, b.device.Address) })
	return slices.CompactFunc(functions, func(a, b lspciText) bool { return a.device.Address == b.device.Address }), nil
}

// lspciDevice reads ids where they are printed, and else goes by the names of those that matter here.
func lspciDevice(head []string) fabric.PCIDevice {
	address, _ := pciAddress(head[1])
	d := fabric.PCIDevice{Address: address}
	name := head[2]
	class := head[3]
	if class == "" && isHex(name) && len(name) == 4 {
		class = name
	}
	if n, err := strconv.ParseUint(class, 16, 16); err == nil {
		d.Class = uint32(n) << 8
	} else {
		d.Class = lspciClass(name) << 8
	}
	if m := lspciInterface().FindStringSubmatch(head[4]); m != nil {
		n, _ := strconv.ParseUint(m[1], 16, 8) // two hexadecimal digits
		d.Class |= uint32(n)
	}
	if all := lspciID().FindAllStringSubmatch(head[4], -1); len(all) > 0 {
		id := all[len(all)-1]
		vendor, _ := strconv.ParseUint(id[1], 16, 16) // four hexadecimal digits
		device, _ := strconv.ParseUint(id[2], 16, 16)
		d.Vendor, d.Device = uint16(vendor), uint16(device)
	} else {
		d.Vendor = lspciVendor(head[4])
	}
	return d
}

// lspciClass knows the class names of pci.ids that readPCI keeps.
func lspciClass(name string) uint32 {
	switch strings.TrimSpace(name) {
	case "PCI bridge":
		return 0x0604
	case "Ethernet controller":
		return 0x0200
	case "Network controller":
		return 0x0280
	case "Infiniband controller", "InfiniBand controller":
		return 0x0207
	case "VGA compatible controller":
		return classVGA
	case "3D controller":
		return class3D
	case "Display controller":
		return classDisplay
	case "Processing accelerators":
		return classAccelerator
	case "Bridge":
		return classOtherBridge
	default:
		return 0
	}
}

// lspciVendor knows the vendor names of pci.ids that tell GPUs and NICs.
func lspciVendor(name string) uint16 {
	for _, v := range []struct {
		name string
		id   uint16
	}{
		{"NVIDIA Corporation", vendorNVIDIA},
		{"Advanced Micro Devices, Inc.", vendorAMD},
		{"Mellanox Technologies", 0x15b3},
		{"Broadcom Inc.", 0x14e4},
		{"Broadcom Limited", 0x14e4},
		{"Intel Corporation", 0x8086},
	} {
		if strings.HasPrefix(name, v.name) {
			return v.id
		}
	}
	return 0
}

// pciAddress writes an address as sysfs does: nvidia-smi has eight digits of domain and capitals, lspci
// without -D no domain.
func pciAddress(text string) (string, bool) {
	text = strings.ToLower(text)
	if strings.Count(text, ":") == 1 {
		text = "0000:" + text
	}
	if domain, rest, _ := strings.Cut(text, ":"); len(domain) > 4 && strings.HasPrefix(domain, "0000") {
		text = domain[len(domain)-4:] + ":" + rest
	}
	return text, isPCIAddress(text)
}

// cutLast splits around the last separator.
func cutLast(text, separator string) (before, after string, ok bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// lspciMissing names what the text does not say of a function.
func lspciMissing(d fabric.PCIDevice, why error) []fabric.Missing {
	var f fabric.Facts
	for _, g := range []struct {
		what   string
		absent bool
	}{{fabric.FactPCILink, d.Link == nil}, {fabric.FactPCIACS, d.ACS == nil}, {fabric.FactPCIATS, d.ATS == nil}} {
		if g.absent {
			miss(&f, g.what+" "+d.Address, "lspci", why)
		}
	}
	return f.Missing
}

// speedOfLspci reads 16GT/s; 0 where the hardware does not say.
func speedOfLspci(text string) float64 {
	speed, err := strconv.ParseFloat(strings.TrimSuffix(text, "GT/s"), 64)
	if err != nil || speed < 0 || speed > 1000 {
		return 0
	}
	return speed
}

// flagBits reads "SrcValid+ TransBlk- ReqRedir+" as the bits of a register, in the order given.
func flagBits(text string, names ...string) (uint16, error) {
	var bits uint16
	words := strings.Fields(text)
	for i, name := range names {
		switch {
		case slices.Contains(words, name+"+"):
			bits |= 1 << i
		case !slices.Contains(words, name+"-"):
			return 0, fmt.Errorf("no %s in %q", name, fabric.Printable(text))
		}
	}
	return bits, nil
}
