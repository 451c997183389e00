package facts

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

const pciDevices = "/sys/bus/pci/devices"

// Vendor ids and classes (base class and subclass) of the PCI code and id assignment specification.
const (
	vendorNVIDIA = 0x10de
	vendorAMD    = 0x1002

	classVGA         = 0x0300
	class3D          = 0x0302
	classDisplay     = 0x0380
	classBridge      = 0x0604
	classOtherBridge = 0x0680
	classAccelerator = 0x1200
	baseNetwork      = 0x02
)

// pciFunction is enough of a function to tell whether it is kept: two small files and a link.
type pciFunction struct {
	address string
	parent  string
	vendor  uint16
	class   uint32
}

// readPCI keeps GPUs, accelerators, network controllers, NVSwitches and every bridge above them.
// Configuration space, the dear part, is read of those only: on hardware each word of it is a transaction
// on the bus.
func readPCI(ctx context.Context, h host.Host, f *fabric.Facts) { readPCIOf(ctx, h, f, keptPCI) }

// AllPCI puts every PCI function of a host into its facts, instead of those on the way to GPUs and NICs. What it could not
// read takes the place of what was missing of PCI functions.
func AllPCI(ctx context.Context, h host.Host, f *fabric.Facts) {
	f.PCI = nil
	f.Missing = slices.DeleteFunc(f.Missing, func(m fabric.Missing) bool {
		path, _, _ := strings.Cut(m.What, " ")
		return path == fabric.FactPCI || strings.HasPrefix(path, fabric.FactPCI+".")
	})
	gpus := f.GPUs // with what tools said of them
	f.GPUs = nil
	readPCIOf(ctx, h, f, func(all []pciFunction) []pciFunction { return all })
	for i := range f.GPUs {
		if at := slices.IndexFunc(gpus, func(g fabric.GPU) bool { return g.PCI == f.GPUs[i].PCI }); at >= 0 {
			f.GPUs[i] = gpus[at]
		}
	}
}

// readPCIOf reads the functions that keep leaves over.
func readPCIOf(ctx context.Context, h host.Host, f *fabric.Facts, keep func([]pciFunction) []pciFunction) {
	functions, err := listPCI(ctx, h, f)
	if err != nil {
		miss(f, fabric.FactPCI, pciDevices, err)
		miss(f, fabric.FactGPUs, pciDevices, err)
		return
	}
	missing := pciMissing{}
	for _, fn := range keep(functions) {
		if err := ctx.Err(); err != nil {
			missing.add(fabric.FactPCI, fn.address, "", err)
			break
		}
		device := readPCIDevice(h, fn, &missing)
		f.PCI = append(f.PCI, device)
		if vendor := gpuVendor(fn); vendor != "" {
			f.GPUs = append(f.GPUs, fabric.GPU{PCI: fn.address, Vendor: vendor, Driver: device.Driver})
		}
	}
	f.Missing = append(f.Missing, missing.entries...)
}

// listPCI returns every function that can be classified; the others are in Missing. It ends with the context:
// nothing bounds how many functions a broken or hostile tree may list.
func listPCI(ctx context.Context, h host.Host, f *fabric.Facts) ([]pciFunction, error) {
	names, err := h.ReadDir(pciDevices)
	if err != nil {
		return nil, err
	}
	if _, ok := h.(host.Linker); !ok {
		return nil, host.ErrNotSupported
	}
	functions := make([]pciFunction, 0, len(names))
	for _, name := range names {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		fn, err := classifyPCI(h, name)
		if err != nil {
			miss(f, fabric.FactPCI+" "+fabric.Printable(name), pciDevices+"/"+fabric.Printable(name), err)
			continue
		}
		functions = append(functions, fn)
	}
	return functions, nil
}

func classifyPCI(h host.Host, name string) (pciFunction, error) {
	if !isPCIAddress(name) {
		return pciFunction{}, errors.New("not an address of a PCI function")
	}
	folder := pciDevices + "/" + name
	target, err := readLink(h, folder)
	if err != nil {
		return pciFunction{}, err
	}
	if path.Base(target) != name {
		return pciFunction{}, fmt.Errorf("links to %q, which is not the function", fabric.Printable(target))
	}
	class, err := readHex(h, folder+"/class", 24)
	if err != nil {
		return pciFunction{}, err
	}
	vendor, err := readHex(h, folder+"/vendor", 16)
	if err != nil {
		return pciFunction{}, err
	}
	fn := pciFunction{address: name, vendor: uint16(vendor), class: uint32(class)}
	if above := pciAddresses(target); len(above) > 1 {
		fn.parent = above[len(above)-2]
	}
	return fn, nil
}

// keptPCI returns the functions of interest and everything above them, in order of address.
func keptPCI(functions []pciFunction) []pciFunction {
	byAddress := make(map[string]pciFunction, len(functions))
	for _, fn := range functions {
		byAddress[fn.address] = fn
	}
	keep := make(map[string]bool)
	for _, fn := range functions {
		if !isOfInterest(fn) {
			continue
		}
		for at, ok := fn, true; ok && !keep[at.address]; at, ok = byAddress[at.parent] {
			keep[at.address] = true
		}
	}
	return slices.DeleteFunc(functions, func(fn pciFunction) bool { return !keep[fn.address] })
}

func isOfInterest(fn pciFunction) bool {
	class := fn.class >> 8
	switch {
	case class>>8 == baseNetwork, class == classAccelerator, gpuVendor(fn) != "":
		return true
	default:
		return fn.vendor == vendorNVIDIA && class == classOtherBridge // NVSwitch
	}
}

// gpuVendor is nvidia or amd for a GPU, else empty.
func gpuVendor(fn pciFunction) string {
	switch class := fn.class >> 8; {
	case fn.vendor == vendorNVIDIA && (class == classVGA || class == class3D):
		return "nvidia"
	case fn.vendor == vendorAMD && slices.Contains([]uint32{classVGA, class3D, classDisplay, classAccelerator}, class):
		return "amd"
	default:
		return ""
	}
}

func readPCIDevice(h host.Host, fn pciFunction, missing *pciMissing) fabric.PCIDevice {
	folder := pciDevices + "/" + fn.address
	d := fabric.PCIDevice{Address: fn.address, Parent: fn.parent, Vendor: fn.vendor, Class: fn.class}
	if id, err := readHex(h, folder+"/device", 16); err != nil {
		missing.add(fabric.FactPCIDevice, fn.address, "/device", err)
	} else {
		d.Device = uint16(id)
	}
	var err error
	if d.Driver, err = driverOf(h, folder); err != nil {
		missing.add(fabric.FactPCIDriver, fn.address, "/driver", err)
	}
	if d.NUMANode, err = readInt(h, folder+"/numa_node"); err != nil {
		missing.add(fabric.FactPCINUMANode, fn.address, "/numa_node", err)
	}
	if d.IOMMUGroup, err = iommuGroup(h, folder); err != nil {
		missing.add(fabric.FactPCIIOMMUGroup, fn.address, "/iommu_group", err)
	}
	readConfig(h, &d, missing)
	return d
}

// readConfig fills what stands in configuration space. Where that cannot be read far enough, the kernel's
// own files still tell the link.
func readConfig(h host.Host, d *fabric.PCIDevice, missing *pciMissing) {
	folder := pciDevices + "/" + d.Address
	b, err := h.ReadFile(folder + "/config")
	c := configFacts{linkErr: err, acsErr: err, atsErr: err, controlErr: err}
	if err == nil {
		c = parseConfig(b)
	}
	d.Link, d.ACS, d.ATS, d.Control = c.link, c.acs, c.ats, c.control
	if d.Link == nil && !errors.Is(c.linkErr, errIntegrated) && !errors.Is(c.linkErr, errNotExpress) {
		d.Link = sysfsLink(h, folder)
	}
	if d.Link == nil {
		missing.add(fabric.FactPCILink, d.Address, "/config", c.linkErr)
	}
	if d.ACS == nil {
		missing.add(fabric.FactPCIACS, d.Address, "/config", c.acsErr)
	}
	if d.ATS == nil {
		missing.add(fabric.FactPCIATS, d.Address, "/config", c.atsErr)
	}
	if d.Control == nil && !errors.Is(c.controlErr, errNotExpress) {
		missing.add(fabric.FactPCIControl, d.Address, "/config", c.controlErr)
	}
}

// sysfsLink reads the four files in which the kernel tells a link; nil where one is absent.
func sysfsLink(h host.Host, folder string) *fabric.PCILink {
	var l fabric.PCILink
	var errs [4]error
	l.Speed, errs[0] = readSpeed(h, folder+"/current_link_speed")
	l.MaxSpeed, errs[1] = readSpeed(h, folder+"/max_link_speed")
	l.Width, errs[2] = readWidth(h, folder+"/current_link_width")
	l.MaxWidth, errs[3] = readWidth(h, folder+"/max_link_width")
	if errors.Join(errs[:]...) != nil {
		return nil
	}
	return &l
}

// readSpeed reads "32.0 GT/s PCIe"; "Unknown" is 0: the hardware does not say.
func readSpeed(h host.Host, file string) (float64, error) {
	text, err := host.ReadString(h, file)
	if err != nil || strings.HasPrefix(text, "Unknown") {
		return 0, err
	}
	number, _, ok := strings.Cut(text, " GT/s")
	speed, err := strconv.ParseFloat(number, 64)
	if !ok || err != nil || speed < 0 || speed > 1000 {
		return 0, fmt.Errorf("invalid link speed %q: want GT/s", fabric.Printable(text))
	}
	return speed, nil
}

// readWidth reads a number of lanes; 255 is how the kernel writes that it is unknown (PCIE_LNK_WIDTH_UNKNOWN).
func readWidth(h host.Host, file string) (int, error) {
	n, err := readInt(h, file)
	if err != nil {
		return 0, err
	}
	if *n < 0 || *n >= 255 {
		return 0, nil
	}
	return *n, nil
}

func readInt(h host.Host, file string) (*int, error) {
	text, err := host.ReadString(h, file)
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("invalid number %q", fabric.Printable(text))
	}
	return &n, nil
}

// readHex reads 0x020000 as sysfs writes it: with all its digits, so that a part of the text is no other number.
func readHex(h host.Host, file string, bits int) (uint64, error) {
	text, err := host.ReadString(h, file)
	if err != nil {
		return 0, err
	}
	digits, prefixed := strings.CutPrefix(text, "0x")
	n, err := strconv.ParseUint(digits, 16, bits)
	if err != nil || !prefixed || len(digits) != bits/4 {
		return 0, fmt.Errorf("invalid hexadecimal number %q of %d bits", fabric.Printable(text), bits)
	}
	return n, nil
}

// iommuGroup is nil without an error where the function is in no group: no IOMMU translates for it.
func iommuGroup(h host.Host, folder string) (*int, error) {
	name, err := host.LinkBase(h, folder+"/iommu_group")
	if host.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(name)
	if err != nil {
		return nil, fmt.Errorf("invalid group number %q", fabric.Printable(name))
	}
	return &n, nil
}

// pciMissing gathers what could not be read of PCI functions. A cause in the collector or the kernel, not in
// one device, is noted once for all of them: without root it would otherwise be noted for every function.
type pciMissing struct {
	entries []fabric.Missing
	noted   map[fabric.Missing]bool
}

func (g *pciMissing) add(what, address, file string, err error) {
	m := fabric.Missing{What: what, Source: pciDevices + "/*" + file, Reason: reason(err), Absent: host.IsAbsent(err)}
	if !concernsAll(err) {
		m.What += " " + address
		m.Source = pciDevices + "/" + address + file
	}
	if g.noted == nil {
		g.noted = make(map[fabric.Missing]bool)
	}
	if !g.noted[m] {
		g.noted[m] = true
		g.entries = append(g.entries, m)
	}
}

// concernsAll reports whether an error is due to a file that this kernel lacks or to reading without root.
func concernsAll(err error) bool {
	return errors.Is(err, errNeedsRoot) || host.IsAbsent(err)
}
