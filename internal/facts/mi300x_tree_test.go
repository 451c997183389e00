package facts

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/host"
)

// A server with eight MI300X, eight BCM57608 and four Atlas2 switches of two virtual switches each, as a captured tree of
// /sys with the configuration space of every function. The bus numbers of GPUs and NICs are those that Broadcom's guide
// prints; those between them follow from the module's own switch: root port, switch, AMD's upstream and downstream port, GPU
// (ROCm documentation, lspci -d 1002:74a1 -PP). PCI ids: pci.ids, and the catalog.

// Bus numbers of the GPUs; a NIC has the next one. The guide prints two sets (2.8.2, and 5.1 no. 9 with 8.7.2).
func firstBuses() []int  { return []int{0x1c, 0x42, 0x55, 0x68, 0x9e, 0xc2, 0xd4, 0xe6} }
func secondBuses() []int { return []int{0x1b, 0x3d, 0x4e, 0x5f, 0x9d, 0xbd, 0xcd, 0xdd} }

// pciTreeFunction is a function of the tree.
type pciTreeFunction struct {
	address, way string // way: its folder below /sys/devices
	numa         int
	driver       string
	config       space
}

// pciServer is a tree of functions, in order of address.
type pciServer []*pciTreeFunction

// Types of PCI Express ports and devices (PCIe 5.0, 7.5.3.2).
const (
	typeEndpoint, typeRootPort, typeUpstream, typeDownstream = 0x0, 0x4, 0x5, 0x6

	gen5x16, gen4x4 = 16<<4 | 5, 4<<4 | 4
	atExpress       = 0x68
	atACS           = 0x148
)

// mi300xServer builds the server with all links at full speed and ACS off. NVMe drives are on x4 slots, so that a virtual
// switch has four downstream ports, and every second one five.
func mi300xServer(gpuBuses []int) pciServer {
	var s pciServer
	s.add("0000:00:00.0", "pci0000:00", 0, "", conventional(0x8086, 0x09a2, 0x088000)) // part of the root complex
	// The management controller's screen behind a bridge to conventional PCI, and the management NIC.
	aspeed := s.bridge("0000:00:1c.0", "pci0000:00", 0, 0x8086, 0x1bbc, typeRootPort, 1<<4|2, 0x01, 0x02)
	inner := s.bridge("0000:01:00.0", aspeed, 0, 0x1a03, 0x1150, 0x7, 1<<4|2, 0x02, 0x02)
	s.add("0000:02:00.0", inner, 0, "ast", conventional(0x1a03, 0x2000, 0x030000))
	manage := s.bridge("0000:00:1d.0", "pci0000:00", 0, 0x8086, 0x1bb0, typeRootPort, 1<<4|2, 0x03, 0x03)
	s.add("0000:03:00.0", manage, 0, "tg3", function(0x14e4, 0x165f, 0x020000, typeEndpoint, 1<<4|2, 0))
	for i, bus := range gpuBuses {
		s.virtualSwitch(bus, i*2/len(gpuBuses), 4+i%2)
	}
	slices.SortFunc(s, func(a, b *pciTreeFunction) int { return strings.Compare(a.address, b.address) })
	return s
}

// virtualSwitch adds a root port with one virtual switch of an Atlas2: a GPU, its NIC on the next bus, and NVMe drives.
func (s *pciServer) virtualSwitch(gpuBus, numa, ports int) {
	at := func(bus, device int) string { return fmt.Sprintf("0000:%02x:%02x.0", bus, device) }
	last := gpuBus + ports - 1
	root := s.bridge(at(gpuBus-5, 1), fmt.Sprintf("pci0000:%02x", gpuBus-5), numa, 0x8086, 0x352a, typeRootPort, gen5x16, gpuBus-4, last)
	up := s.bridge(at(gpuBus-4, 0), root, numa, 0x1000, 0xc030, typeUpstream, gen5x16, gpuBus-3, last)
	down := s.bridge(at(gpuBus-3, 0), up, numa, 0x1000, 0xc030, typeDownstream, gen5x16, gpuBus-2, gpuBus)
	module := s.bridge(at(gpuBus-2, 0), down, numa, 0x1002, 0x1500, typeUpstream, gen5x16, gpuBus-1, gpuBus)
	inside := s.bridge(at(gpuBus-1, 0), module, numa, 0x1002, 0x1501, typeDownstream, gen5x16, gpuBus, gpuBus)
	s.add(at(gpuBus, 0), inside, numa, "amdgpu", function(0x1002, 0x74a1, 0x120000, typeEndpoint, gen5x16, 0))
	slot := s.bridge(at(gpuBus-3, 1), up, numa, 0x1000, 0xc030, typeDownstream, gen5x16, gpuBus+1, gpuBus+1)
	s.add(at(gpuBus+1, 0), slot, numa, "bnxt_en", function(0x14e4, 0x1760, 0x020000, typeEndpoint, gen5x16, extendedATS))
	for i := 2; i < ports; i++ {
		bay := s.bridge(at(gpuBus-3, i), up, numa, 0x1000, 0xc030, typeDownstream, gen4x4, gpuBus+i, gpuBus+i)
		s.add(at(gpuBus+i, 0), bay, numa, "nvme", function(0x144d, 0xa824, 0x010802, typeEndpoint, gen4x4, 0))
	}
}

func (s *pciServer) add(address, above string, numa int, driver string, config space) string {
	way := above + "/" + address
	*s = append(*s, &pciTreeFunction{address: address, way: way, numa: numa, driver: driver, config: config})
	return way
}

// bridge adds a bridge with the buses below it.
func (s *pciServer) bridge(address, above string, numa int, vendor, device uint16, kind byte, link uint16, first, last int) string {
	c := function(vendor, device, 0x060400, kind, link, extendedACS)
	c[offsetHeaderType] = 1
	bus := 0
	if _, err := fmt.Sscanf(address, "0000:%02x", &bus); err != nil {
		panic(err) // the addresses are written here
	}
	c[0x18], c[0x19], c[0x1a] = byte(bus), byte(first), byte(last) // primary, secondary, subordinate
	return s.add(address, above, numa, "pcieport", c)
}

// function is a PCI Express function: power management, MSI, Express, then Advanced Error Reporting and what is asked for.
func function(vendor, device uint16, class uint32, kind byte, link uint16, extended uint16) space {
	c := conventional(vendor, device, class)
	s := append(c, make(space, configExtended-len(c))...)
	s[offsetStatus], s[offsetCapabilities] = statusCapabilityList, 0x40
	s.capability(0x40, 0x01, 0x48).capability(0x48, 0x05, atExpress).capability(atExpress, capabilityExpress, 0)
	s[atExpress+expressFlags] = kind<<4 | 2
	binary.LittleEndian.PutUint16(s[atExpress+expressDeviceControl:], 2<<controlRequestShift|controlExtendedTag|1<<controlPayloadShift|controlRelaxedOrdering)
	binary.LittleEndian.PutUint32(s[atExpress+expressLinkCapability:], uint32(link))
	binary.LittleEndian.PutUint16(s[atExpress+expressLinkStatus:], link)
	next := 0
	if extended != 0 {
		next = atACS
	}
	s.extended(0x100, 0x0001, next, 0, 0)
	if extended != 0 {
		capability := map[uint16]uint16{extendedACS: 0x5f, extendedATS: 0x60}[extended]
		s.extended(atACS, extended, 0, capability, 0)
	}
	return s
}

// conventional is a function without PCI Express.
func conventional(vendor, device uint16, class uint32) space {
	s := make(space, configStandard)
	binary.LittleEndian.PutUint16(s, vendor)
	binary.LittleEndian.PutUint16(s[2:], device)
	s[0x09], s[0x0a], s[0x0b] = byte(class), byte(class>>8), byte(class>>16)
	return s
}

func (s pciServer) at(address string) *pciTreeFunction {
	i := slices.IndexFunc(s, func(f *pciTreeFunction) bool { return f.address == address })
	return s[i]
}

// train sets what both ends of the link above a function run at, or with a cap what one end supports.
func (s pciServer) train(address string, status uint16) {
	f := s.at(address)
	port := s.at(filepath.Base(filepath.Dir(f.way)))
	for _, end := range []*pciTreeFunction{f, port} {
		binary.LittleEndian.PutUint16(end.config[atExpress+expressLinkStatus:], status)
	}
}

func (s pciServer) setACS(address string, control uint16) {
	binary.LittleEndian.PutUint16(s.at(address).config[atACS+6:], control)
}

// write lays the tree down as a captured / and opens it.
func (s pciServer) write(t *testing.T) (folder string, tree *host.Tree) {
	t.Helper()
	folder = t.TempDir()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	devices := filepath.Join(folder, "sys/bus/pci/devices")
	must(os.MkdirAll(devices, 0o755))
	for _, f := range s {
		at := filepath.Join(folder, "sys/devices", f.way)
		must(os.MkdirAll(at, 0o755))
		must(os.Symlink("../../../devices/"+f.way, filepath.Join(devices, f.address)))
		c := f.config
		for name, text := range map[string]string{
			"vendor": fmt.Sprintf("0x%04x\n", binary.LittleEndian.Uint16(c)), "device": fmt.Sprintf("0x%04x\n", binary.LittleEndian.Uint16(c[2:])),
			"class": fmt.Sprintf("0x%02x%02x%02x\n", c[0x0b], c[0x0a], c[0x09]), "numa_node": fmt.Sprintf("%d\n", f.numa),
			"irq": "0\n", "resource": strings.Repeat("0x0000000000000000 0x0000000000000000 0x0000000000000000\n", 7), "config": string(c),
		} {
			must(os.WriteFile(filepath.Join(at, name), []byte(text), 0o644))
		}
		if f.driver != "" {
			up := strings.Repeat("../", 2+strings.Count(f.way, "/"))
			must(os.Symlink(up+"bus/pci/drivers/"+f.driver, filepath.Join(at, "driver")))
		}
	}
	tree, err := host.OpenTree("mi300x", folder)
	must(err)
	t.Cleanup(func() { _ = tree.Close() })
	return folder, tree
}

// dump writes all functions as lspci -xxxx does, which lspci -F reads.
func (s pciServer) dump() string {
	var b strings.Builder
	for _, f := range s {
		fmt.Fprintf(&b, "%s dumped\n", f.address)
		for at := 0; at < len(f.config); at += 16 {
			fmt.Fprintf(&b, "%02x:", at)
			for _, v := range f.config[at : at+16] {
				fmt.Fprintf(&b, " %02x", v)
			}
			b.WriteByte('\n')
		}
		b.WriteByte('\n')
	}
	return b.String()
}
