package facts

import (
	"errors"
	"path"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// isPCIAddress knows domain:bus:device.function as sysfs writes it; the domain has more digits behind
// an Intel VMD.
func isPCIAddress(text string) bool {
	domain, rest, _ := strings.Cut(text, ":")
	return len(domain) >= 4 && len(domain) <= 8 && isHex(domain) &&
		len(rest) == len("00:00.0") && rest[2] == ':' && rest[5] == '.' &&
		isHex(rest[:2]) && isHex(rest[3:5]) && rest[6] >= '0' && rest[6] <= '7'
}

func isHex(text string) bool { return strings.Trim(text, "0123456789abcdef") == "" }

// pciAddresses returns the PCI functions on a sysfs device path, root first.
func pciAddresses(devicePath string) []string {
	var out []string
	for element := range strings.SplitSeq(devicePath, "/") {
		if isPCIAddress(element) {
			out = append(out, element)
		}
	}
	return out
}

// pciOf follows a class link (/sys/class/net/eth0) to the PCI function under it, through whatever stands
// between (virtio, a mlx5 subfunction). It is empty for a virtual device.
func pciOf(h host.Host, classLink string) (string, error) {
	target, err := readLink(h, classLink)
	if err != nil {
		return "", err
	}
	if on := pciAddresses(path.Dir(target)); len(on) > 0 {
		return on[len(on)-1], nil
	}
	return "", nil
}

// driverOf returns the driver bound to a device folder, empty where none is. Its folder is in that of all drivers of a bus:
// /sys/bus/pci/drivers/bnxt_en.
func driverOf(h host.Host, device string) (string, error) {
	target, err := readLink(h, device+"/driver")
	switch {
	case host.IsAbsent(err):
		return "", nil
	case err != nil:
		return "", err
	case path.Base(path.Dir(target)) != "drivers":
		return "", errors.New("not a link to a driver: " + fabric.Printable(target))
	}
	return path.Base(target), nil
}

func readLink(h host.Host, name string) (string, error) {
	l, ok := h.(host.Linker)
	if !ok {
		return "", host.ErrNotSupported
	}
	return l.ReadLink(name)
}
