package ncclxml

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// ScaleUpRate is what NCCL or RCCL assumes for one link of a GPU, GB/s one way.
func ScaleUpRate(gpu *Element) float64 {
	if gcn, ok := gpu.Get("gcn"); ok {
		return float64(XGMIRate(gcn))
	}
	return float64(NVLinkRate(gpu.IntegerOr("sm", 0)))
}

// pciSpeed is an entry of NCCL's dictionary of link speeds.
type pciSpeed struct {
	prefix string  // of the text
	gts    float64 // GT/s
	lane   float64 // GB/s per lane that NCCL assumes
}

// pciSpeeds is kvDictPciGen of src/graph/topo.cc, whose numbers are 100 Mb/s per lane and divided by 80; an entry
// matches when the text begins with it.
func pciSpeeds() []pciSpeed {
	return []pciSpeed{
		{"2.5 GT/s", 2.5, 15. / 80}, {"5 GT/s", 5, 30. / 80}, {"8 GT/s", 8, 60. / 80}, {"16 GT/s", 16, 120. / 80}, {"32 GT/s", 32, 240. / 80},
		{"5.0 GT/s PCIe", 5, 30. / 80}, {"8.0 GT/s PCIe", 8, 60. / 80}, {"16.0 GT/s PCIe", 16, 120. / 80},
		{"32.0 GT/s PCIe", 32, 240. / 80}, {"64.0 GT/s PCIe", 64, 480. / 80},
	}
}

// What NCCL assumes where a file does not state it.
const (
	AssumedGTs   = 8     // GT/s, of a link_speed that is not in its dictionary
	AssumedWidth = 16    // lanes, where link_width reads as 0
	AssumedMbps  = 10000 // Mb/s, where the speed of a NIC is not above 0

	assumedLane = 60. / 80 // GB/s per lane at assumedGTs
	MbpsPerGB   = 8000.0   // Mb/s in a GB/s
)

// linkSpeed is the speed that NCCL reads from a text, GT/s; known is false where it is not in its dictionary.
func linkSpeed(text string) (gts float64, known bool) {
	for _, entry := range pciSpeeds() {
		if strings.HasPrefix(text, entry.prefix) {
			return entry.gts, true
		}
	}
	return AssumedGTs, false
}

// LaneRate is what NCCL assumes per lane at that speed, GB/s; known is false where the speed is not in its dictionary.
func LaneRate(speed string) (gbs float64, known bool) {
	for _, entry := range pciSpeeds() {
		if strings.HasPrefix(speed, entry.prefix) {
			return entry.lane, true
		}
	}
	return assumedLane, false
}

var (
	speedNumber     = pattern.Plain(`(?i)^\s*([0-9]+(?:\.[0-9]+)?)\s*GT/?s`)
	speedGeneration = pattern.Plain(`(?i)^\s*(?:pcie\s*)?gen\s*([1-6])\s*$`)
)

// MeantSpeed is the speed that a person reads in a text, GT/s; ok is false where it has none.
func MeantSpeed(text string) (speed float64, ok bool) {
	if m := speedNumber().FindStringSubmatch(text); m != nil {
		speed, err := strconv.ParseFloat(m[1], 64)
		return speed, err == nil
	}
	if m := speedGeneration().FindStringSubmatch(text); m != nil {
		generation, _ := strconv.Atoi(m[1])
		return []float64{2.5, 5, 8, 16, 32, 64}[generation-1], true
	}
	return 0, false
}

// LaneCount is the number of lanes that NCCL assumes.
func LaneCount(e *Element) int {
	text, _ := e.Get("link_width")
	if n := int(int32(Strtol(text, 0))); n != 0 {
		return n
	}
	return AssumedWidth
}

// SpeedText writes a link speed as the kernel does since 5.7; NCCL reads any other text as 8 GT/s
// (src/graph/topo.cc, kvDictPciGen).
func SpeedText(speed float64) (text string, ok bool) {
	switch speed {
	case 2.5, 5, 8, 16, 32, 64:
		return fmt.Sprintf("%.1f GT/s PCIe", speed), true
	default:
		return "", false
	}
}

// HostCPU is a processor in NCCL's own numbers, -1 where NCCL leaves it Undefined.
type HostCPU struct {
	Arch, Vendor, Model int
}

// NCCL's numbers for processors (src/include/graph.h). Models are of Intel: 1 Broadwell and before, 2 Skylake, 3
// Sapphire Rapids, 4 Emerald Rapids and later; of Zhaoxin: 1 Yongfeng.
const (
	ArchX86       = 1
	ArchPower     = 2
	ArchARM       = 3
	VendorIntel   = 1
	VendorAMD     = 2
	VendorZhaoxin = 3

	ModelBroadwell      = 1
	ModelSkylake        = 2
	ModelSapphireRapids = 3
	ModelEmeraldRapids  = 4
	ModelYongfeng       = 1

	Undefined = -1 // where NCCL has no number
)

// IsGPU reports whether a class text is that of a GPU to NCCL or RCCL: 0x03 for display controllers, and for RCCL also
// 0x12 for accelerators.
func IsGPU(class string) bool {
	return strings.HasPrefix(class, "0x03") || strings.HasPrefix(class, "0x12")
}

// Class is the kind of PCI device that NCCL distinguishes.
type Class uint8

// The classes that NCCL distinguishes.
const (
	ClassBridge Class = iota // a switch, and anything unknown to NCCL
	ClassGPU
	ClassNIC
	ClassNVSwitch
	ClassCPU
)

// ClassOf reads a class as NCCL does (kvDictPciClass). Anything unknown is a bridge.
func ClassOf(class string) Class {
	switch {
	case strings.HasPrefix(class, "0x060400"), strings.HasPrefix(class, "0x080100"):
		return ClassBridge
	case strings.HasPrefix(class, "0x068000"):
		return ClassNVSwitch
	case strings.HasPrefix(class, "0x068001"):
		return ClassCPU
	case strings.HasPrefix(class, "0x03"):
		return ClassGPU
	case strings.HasPrefix(class, "0x02"):
		return ClassNIC
	}
	return ClassBridge
}

// HostCPUOf reads arch, vendor, family and model; which of them are required depends on those before.
func HostCPUOf(e *Element) (HostCPU, error) {
	cpu := HostCPU{Undefined, Undefined, Undefined}
	arch, err := e.Required("arch")
	if err != nil {
		return cpu, err
	}
	switch arch {
	case "x86_64":
		cpu.Arch = ArchX86
	case "arm64":
		cpu.Arch = ArchARM
	case "ppc64":
		cpu.Arch = ArchPower
	}
	if cpu.Arch != ArchX86 {
		return cpu, nil
	}
	vendor, err := e.Required("vendor")
	if err != nil {
		return cpu, err
	}
	switch vendor {
	case "GenuineIntel":
		cpu.Vendor = VendorIntel
	case "AuthenticAMD":
		cpu.Vendor = VendorAMD
		return cpu, nil
	case "CentaurHauls", "  Shanghai  ":
		cpu.Vendor = VendorZhaoxin
	default:
		cpu.Vendor = 0
		return cpu, nil
	}
	family, err := e.Integer("familyid")
	if err != nil {
		return cpu, err
	}
	model, err := e.Integer("modelid")
	if err != nil {
		return cpu, err
	}
	cpu.Model = processorModel(cpu.Vendor, family, model)
	return cpu, nil
}

// processorModel maps CPUID's family and model to NCCL's few (ncclTopoAddCpu, 2.28 to 2.30).
func processorModel(vendor, family, model int) int {
	switch {
	case vendor == VendorZhaoxin && family == 7 && model == 0x5b:
		return ModelYongfeng
	case vendor == VendorZhaoxin:
		return Undefined
	case family == 6 && model >= 0xcf:
		return ModelEmeraldRapids
	case family == 6 && model >= 0x8f:
		return ModelSapphireRapids
	case family == 6 && model >= 0x55:
		return ModelSkylake
	}
	return ModelBroadwell
}

// NVLinkRate is what NCCL assumes for one NVLink one way, GB/s (ncclTopoNVLinkBw).
func NVLinkRate(sm int) float32 {
	switch {
	case sm >= 100:
		return 40.1
	case sm >= 90:
		return 20.6
	case sm == 86:
		return 12
	case sm >= 70:
		return 20
	case sm >= 60:
		return 18
	}
	return 20
}

// XGMIRate is what RCCL assumes for one XGMI link one way, GB/s (src/graph/topo.h, *_XGMI_WIDTH).
func XGMIRate(gcn string) float32 {
	switch {
	case gcn == "gfx90a":
		return 36
	case strings.HasPrefix(gcn, "gfx94"), strings.HasPrefix(gcn, "gfx95"):
		return 48
	}
	return 24
}

// LinkRate is the rate that NCCL assumes for a PCIe link, GB/s one way: the hundreds of Mb/s per lane of its own table,
// times the lanes, divided by 80 (src/graph/topo.cc, kvDictPciGen and ncclTopoAddPci). Not the link's rate: Gen5
// x16 is 48. speed in GT/s: one that is not in the table counts as 8; a width of 0 counts as 16.
func LinkRate(speed float64, width int) float64 {
	lane := float64(assumedLane)
	if text, ok := SpeedText(speed); ok {
		lane, _ = LaneRate(text)
	}
	return float64(cmp.Or(width, AssumedWidth)) * lane
}

// Word is the processor as the program's users name it: intel, amd or arm; empty for any other.
func (cpu HostCPU) Word() string {
	switch {
	case cpu.Arch == ArchARM:
		return "arm"
	case cpu.Arch == ArchX86 && cpu.Vendor == VendorIntel:
		return "intel"
	case cpu.Arch == ArchX86 && cpu.Vendor == VendorAMD:
		return "amd"
	default:
		return ""
	}
}
