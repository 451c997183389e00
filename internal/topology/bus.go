package topology

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// address is a PCI address with or without its domain, with any number of digits that some tool writes:
// nvidia-smi has domains of eight digits, niccli one-digit devices.
var address = pattern.Plain(`^(?:([0-9A-Fa-f]{1,8}):)?([0-9A-Fa-f]{1,2}):([0-9A-Fa-f]{1,2})\.([0-7])$`)

// maxDevice is the last device of a bus: five bits (PCI Local Bus 3.0, 3.2.2.3.2).
const maxDevice = 0x1f

// ParseBus normalises a PCI address to the form of the kernel, domain:bus:device.function with 4, 2, 2 and 1
// hexadecimal digits in lower case: 43:0.0 is 0000:43:00.0, 00000000:00:06.0 is 0000:00:06.0. A domain above
// ffff keeps its digits. The error names the text.
func ParseBus(text string) (string, error) {
	m := address().FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return "", fmt.Errorf("PCI address %s: want domain:bus:device.function in hexadecimal, such as 0000:1c:00.0", fabric.Quote(text))
	}
	var part [3]uint64
	for i, digits := range m[1:4] {
		part[i], _ = strconv.ParseUint("0"+digits, 16, 64) // the expression matches nothing else
	}
	if part[2] > maxDevice {
		return "", fmt.Errorf("PCI address %s: device %#x is above %#x", fabric.Quote(text), part[2], maxDevice)
	}
	return fmt.Sprintf("%04x:%02x:%02x.%s", part[0], part[1], part[2], m[4]), nil
}

// predictable is a name that systemd's udev gives by PCI address, all numbers decimal: P is the domain where
// it is not 0, s the slot or device, f the function of a multi-function device, n the port name, d the port.
var predictable = pattern.Plain(`^(?:en|ib|roce|rdma)(?:P([0-9]{1,9}))?p([0-9]{1,3})s([0-9]{1,2})(?:f([0-7]))?(?:v[0-9]+)?(?:n[a-z0-9]+|d[0-9]+)?$`)

// BusOfInterface reads the PCI address from the name of an interface or RDMA device: enp28s0np0 is
// 0000:1c:00.0, enP2p1s0f1np1 is 0002:01:00.1 (systemd.net-naming-scheme). ok is false for a name without
// one; the name of a virtual function contains the physical address and is not ok either.
func BusOfInterface(name string) (bus string, ok bool) {
	m := predictable().FindStringSubmatch(name)
	if m == nil || strings.Contains(name[strings.IndexByte(name, 's'):], "v") {
		return "", false
	}
	var part [4]uint64
	for i, digits := range m[1:] {
		part[i], _ = strconv.ParseUint("0"+digits, 10, 64)
	}
	if part[1] > 0xff || part[2] > maxDevice {
		return "", false
	}
	return fmt.Sprintf("%04x:%02x:%02x.%x", part[0], part[1], part[2], part[3]), true
}

// CompareBus orders addresses by their numbers: a longer domain is a greater one.
func CompareBus(a, b string) int {
	domainA, _, _ := strings.Cut(a, ":")
	domainB, _, _ := strings.Cut(b, ":")
	return cmp.Or(cmp.Compare(len(domainA), len(domainB)), cmp.Compare(a, b))
}

// InOrder sorts by PCI address, the order in which NCCL keeps devices.
func InOrder(devices []Device) []Device {
	sorted := slices.Clone(devices)
	slices.SortStableFunc(sorted, func(a, b Device) int { return CompareBus(a.Bus, b.Bus) })
	return sorted
}
