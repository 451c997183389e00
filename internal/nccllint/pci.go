package nccllint

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/ncclxml"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/topology"
)

// pciRules check what NCCL does with <pci> and <cpu>.
func pciRules() []rule {
	return []rule{
		{
			id: "topo-link-speed", title: "NCCL reads the speed of each PCIe link as intended", scope: scopeValue, check: checkLinkSpeed,
			expected: `"32.0 GT/s PCIe" or "32 GT/s", also 2.5, 5, 8, 16; "64.0 GT/s PCIe"`, reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (kvDictPciGen); a run of NCCL 2.28.9 with \"32.0 GT/s\" assumed 12.0 GB/s",
		},
		{
			id: "topo-link-width", title: "NCCL reads the lanes of each PCIe link as intended", scope: scopeValue, check: checkLinkWidth,
			expected: "decimal number of lanes, 1 to 32", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddPci)",
		},
		{
			id: "topo-busid", title: "Each bus id is written as NCCL writes it", scope: scopeValue, check: checkBusID,
			expected: "domain:bus:device.function with 4, 2, 2 and 1 lower case hexadecimal digits", reference: "NVIDIA/nccl 2.30, src/graph/xml.cc (ncclTopoGetPciNode) and src/misc/utils.cc (busIdToInt64)",
		},
		{
			id: "topo-class", title: "The class of each PCI device matches its content", scope: scopeValue, check: checkClass,
			expected: "0x03.... (of RCCL also 0x12....) for one with a <gpu>, 0x060400 for one with other <pci>", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (ncclTopoAddPci)",
		},
		{
			id: "topo-cpu", title: "The processor is known to NCCL", scope: scopeValue, check: checkCPU,
			expected: "arch x86_64, arm64 or ppc64; on x86_64 vendor GenuineIntel, AuthenticAMD or CentaurHauls", reference: "NVIDIA/nccl 2.30, src/graph/topo.cc (kvDictCpuArch, ncclTopoGetInterCpuBw)",
		},
	}
}

func (r *parsedFile) every(name string, check func(*ncclxml.Element) []verdict) []verdict {
	var out []verdict
	for _, e := range r.document.All(name) {
		out = append(out, check(e)...)
	}
	return out
}

// blankless trims the blanks around a text, and reports whether there were any.
func blankless(text string) (trimmed string, had bool) {
	trimmed = strings.TrimSpace(text)
	return trimmed, trimmed != text
}

func checkLinkSpeed(r *parsedFile) []verdict {
	return r.every("pci", func(e *ncclxml.Element) []verdict {
		text, has := e.Get("link_speed")
		if !has {
			return nil
		}
		if _, known := ncclxml.LaneRate(text); known {
			return r.tooFast(e, text)
		}
		v := attributeVerdict(e, "link_speed")
		got := ncclxml.LinkRate(ncclxml.AssumedGTs, ncclxml.LaneCount(e))
		v.why = fmt.Sprintf("KV Convert to int : could not find value of '%s' in dictionary, falling back to 60. NCCL assumes %d GT/s.", ncclxml.Excerpt(fabric.Printable(text)), ncclxml.AssumedGTs)
		speed, meant := ncclxml.MeantSpeed(text)
		if !meant {
			speed = r.partSpeed(e)
		}
		switch speed {
		case ncclxml.AssumedGTs:
			v.cost = fmt.Sprintf("nothing: that is %.1f GB/s, as intended", got)
			v = v.remark()
		case 0:
			v.cost = fmt.Sprintf("the link counts as %.1f GB/s, whatever its real speed", got)
		default:
			v.cost = fmt.Sprintf("the link counts as %.1f instead of %.1f GB/s", got, ncclxml.LinkRate(speed, ncclxml.LaneCount(e)))
		}
		if written, ok := ncclxml.SpeedText(speed); ok && meant {
			v.expected, v.fix = `"`+written+`"`, r.fixCommand()
		}
		return []verdict{v}
	})
}

// tooFast reports a speed that NCCL knows and that this model of GPU or NIC does not support.
func (r *parsedFile) tooFast(e *ncclxml.Element, text string) []verdict {
	said, _ := ncclxml.MeantSpeed(text)
	most := r.partSpeed(e)
	if most == 0 || said <= most {
		return nil
	}
	v := attributeVerdict(e, "link_speed")
	v.severity = fabric.SeverityWarning
	v.why = fmt.Sprintf("NCCL trusts it, but a device of this model trains to at most %g GT/s.", most)
	v.cost = fmt.Sprintf("the link counts as %.1f instead of %.1f GB/s", ncclxml.LinkRate(said, ncclxml.LaneCount(e)), ncclxml.LinkRate(most, ncclxml.LaneCount(e)))
	return []verdict{v}
}

// partSpeed is the speed of a GPU or NIC according to the catalog, GT/s; 0 where it is unknown.
func (r *parsedFile) partSpeed(e *ncclxml.Element) float64 {
	if r.parts == nil {
		return 0
	}
	vendor, device := ncclxml.PCIIDs(e)
	if _, gpu, ok := r.parts.GPUByPCI(vendor, device); ok {
		return gpu.PCIeLink.Speed
	}
	if _, nic, ok := r.parts.NICByPCI(vendor, device); ok {
		return nic.PCIeLink.Speed
	}
	return 0
}

// widthDigits is the number in a text such as x8, 8x or x 16.
var widthDigits = pattern.Plain(`^\s*[xX×]?\s*([0-9]{1,3})\s*[xX]?(?:\s*lanes?)?\s*$`)

// maxWidth is the widest link of PCI Express (PCIe 5.0, 1.2).
const maxWidth = 32

func checkLinkWidth(r *parsedFile) []verdict {
	return r.every("pci", func(e *ncclxml.Element) []verdict {
		text, has := e.Get("link_width")
		if !has {
			return nil
		}
		got := int(int32(ncclxml.Strtol(text, 0)))
		v := attributeVerdict(e, "link_width")
		v.why = fmt.Sprintf("NCCL reads %d lanes.", got)
		if got == 0 {
			v.why = fmt.Sprintf("NCCL finds no number and assumes %d lanes.", ncclxml.AssumedWidth)
		}
		m := widthDigits().FindStringSubmatch(text)
		if m == nil {
			v.cost = "NCCL assumes a rate other than the file states"
			if strings.TrimSpace(text) == "" { // as 0 in NCCL's own dump, where the hardware reports none
				v.cost = "nothing if the link has 16 lanes; otherwise it counts as faster than it is"
				v = v.remark()
			}
			return []verdict{v}
		}
		meant, _ := strconv.Atoi(m[1])
		speed, _ := e.Get("link_speed")
		lane, _ := ncclxml.LaneRate(speed)
		switch {
		case got == meant && meant <= maxWidth: // also 0, which NCCL's own dump has where the hardware reports none
			return nil
		case ncclxml.LaneCount(e) == meant && meant <= maxWidth:
			v.cost = fmt.Sprintf("nothing: that is %s, as intended", fabric.Count(meant, "lane"))
			v = v.remark()
		case got != meant:
			v.cost = fmt.Sprintf("the link counts as %.1f instead of %.1f GB/s", float64(ncclxml.LaneCount(e))*lane, float64(meant)*lane)
			v.expected, v.fix = fmt.Sprintf(`"%d"`, meant), r.fixCommand()
		default:
			v.severity, v.cost = fabric.SeverityWarning, fmt.Sprintf("no PCIe link has more than %d lanes: the link counts as faster than it is", maxWidth)
		}
		return []verdict{v}
	})
}

// canonicalBus writes an address as NCCL does, where the digits are unambiguous: separated ones that are a PCI
// address, or nine in a row whatever separates them.
func canonicalBus(text string) (bus string, ok bool) {
	if bus, err := topology.ParseBus(text); err == nil {
		return bus, true
	}
	digits := strings.Map(func(c rune) rune {
		if c == ':' || c == '.' || c == ' ' {
			return -1
		}
		return c
	}, text)
	const domain, bus8, device, all = 4, 6, 8, 9
	if len(digits) != all {
		return "", false
	}
	bus, err := topology.ParseBus(digits[:domain] + ":" + digits[domain:bus8] + ":" + digits[bus8:device] + "." + digits[device:])
	return bus, err == nil
}

func checkBusID(r *parsedFile) []verdict {
	return r.every("pci", func(e *ncclxml.Element) []verdict {
		text, has := e.Get("busid")
		bus, ok := canonicalBus(text)
		if !has || ok && bus == text {
			return nil
		}
		v := attributeVerdict(e, "busid")
		if ok {
			v.expected, v.fix = `"`+bus+`"`, r.fixCommand()
		}
		v.why = fmt.Sprintf("NCCL compares the text with %s and as a number reads %#x.", fabric.Quote(bus), ncclxml.BusNumber(text))
		if !ok {
			v.why = fmt.Sprintf("Not a PCI address; as a number NCCL reads %#x.", ncclxml.BusNumber(text))
		}
		return []verdict{addressVerdict(e, v, ok)}
	})
}

// addressVerdict is what an address costs that NCCL does not find as text: it adds a GPU, or a NIC that the file does
// not name, again from /sys. On bare metal /sys has the same place; a VM shows no switches, so the place below one is lost.
func addressVerdict(e *ncclxml.Element, v verdict, isAddress bool) verdict {
	device, place := "", "the GPU's place in the file is lost: in a VM it ends up at the CPU, and its NIC at PHB"
	switch {
	case len(e.ChildrenOf("gpu")) > 0 || e.DeviceClass() == ncclxml.ClassGPU:
		device = "the GPU"
	case e.DeviceClass() == ncclxml.ClassNIC:
		device, place = "the NIC, which the file does not name,", "the NIC's place in the file is lost: in a VM it ends up at the CPU, PHB from every GPU"
	default:
		if v.cost = "nothing as long as no other device has the number: NICs are found by name, switches by what is below them"; isAddress {
			return v.remark()
		}
		v.severity = fabric.SeverityWarning
		return v
	}
	v.why += " The text does not match: " + device + " is added again from /sys, with what the driver reports."
	if v.cost = place; branch(e) == nil && isAddress {
		v.cost = "nothing: it is directly below the CPU, where /sys puts it"
		return v.remark()
	}
	if isAddress {
		v.severity = fabric.SeverityWarning
		v.cost += "; nothing on bare metal"
	}
	return v
}

func checkClass(r *parsedFile) []verdict {
	return r.every("pci", func(e *ncclxml.Element) []verdict {
		class, has := e.Get("class")
		gpus, nics, below := len(e.ChildrenOf("gpu")), len(e.ChildrenOf("nic")), len(e.ChildrenOf("pci"))
		if !has {
			return nil
		}
		typ := ncclxml.ClassOf(class)
		isGPU := ncclxml.IsGPU(class)
		v := attributeVerdict(e, "class")
		switch {
		case gpus > 0 && !isGPU:
			v.why = "NCCL reads the class of the job's own GPUs from /sys, whatever the file states. Only if /sys does not show the GPU, it treats the device as a switch and reads PCI attributes from its <gpu>: Attribute class of node gpu not found."
			v.cost = "nothing if /sys shows the GPU, as to NCCL 2.28.9; otherwise the job aborts"
			v = v.remark()
		case below > 0 && (nics > 0 || gpus > 0 || typ != ncclxml.ClassBridge):
			v.why = "NCCL reads <pci> elements below switches only: those in this one are dropped."
			v.cost = fmt.Sprintf("%d devices, with everything below them, are not where the file puts them", below)
		case gpus+nics+below == 0 && !isGPU && typ == ncclxml.ClassBridge:
			v.why = "The element is empty, and its class is neither that of a GPU nor of a NIC. NCCL drops it."
			v.cost = "nothing, unless a device is missing from it"
			v = v.remark()
		default:
			return nil
		}
		return []verdict{v}
	})
}

func checkCPU(r *parsedFile) []verdict {
	return r.every("cpu", func(e *ncclxml.Element) []verdict {
		arch, hasArch := e.Get("arch")
		vendor, hasVendor := e.Get("vendor")
		if !hasArch {
			return nil
		}
		cpu, err := ncclxml.HostCPUOf(e)
		if err != nil && arch != "x86_64" {
			return nil // reported as missing
		}
		const cost = "between two such CPUs NCCL assumes 5000 GB/s: traffic crosses sockets as if that had no cost"
		switch {
		case cpu.Arch == ncclxml.Undefined:
			v := attributeVerdict(e, "arch")
			v.why, v.cost = "The architecture is unknown to NCCL.", cost
			return []verdict{v}
		case cpu.Arch == ncclxml.ArchX86 && hasVendor && cpu.Vendor != ncclxml.VendorIntel && cpu.Vendor != ncclxml.VendorAMD && cpu.Vendor != ncclxml.VendorZhaoxin:
			v := attributeVerdict(e, "vendor")
			v.why, v.cost = fmt.Sprintf("The vendor %q is unknown to NCCL.", ncclxml.Excerpt(fabric.Printable(vendor))), cost
			return []verdict{v}
		}
		return nil
	})
}
