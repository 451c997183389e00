package facts

import (
	"errors"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// ethtoolRuns asks about every interface that is a PCI function; ethtool takes one at a time.
func ethtoolRuns(options ...string) func(host.Host, *fabric.Facts) []toolRun {
	return func(_ host.Host, f *fabric.Facts) []toolRun {
		var runs []toolRun
		for _, n := range f.NICs {
			if n.PCI != "" && !strings.HasPrefix(n.Name, "-") {
				argv := append([]string{"ethtool"}, options...)
				runs = append(runs, toolRun{argv: append(argv, n.Name), device: n.Name})
			}
		}
		return runs
	}
}

const (
	ethtoolHead       = "Settings for "
	ethtoolFECHead    = "FEC parameters for "
	ethtoolDriverHead = "driver: "
)

func knowsEthtool(text string) bool { return hasLine(text, startsWith(ethtoolHead)) }

func knowsEthtoolFEC(text string) bool { return hasLine(text, startsWith(ethtoolFECHead)) }

func knowsEthtoolDriver(text string) bool {
	return hasLine(text, startsWith(ethtoolDriverHead)) && hasLine(text, startsWith("bus-info:"))
}

func startsWith(head string) func(string) bool {
	return func(line string) bool { return strings.HasPrefix(line, head) }
}

// parseEthtool reads "Settings for eth1:" and what follows it, of one or more interfaces.
func parseEthtool(text, device string) (fabric.Facts, error) {
	return ethtoolBlocks(text, ethtoolHead, device, func(n *fabric.NIC, key, value string) {
		switch key {
		case "Speed":
			mbps, ok := strings.CutSuffix(value, "Mb/s")
			if ok {
				n.SpeedMbps = number(mbps)
			}
		case "Auto-negotiation":
			if on := value == "on"; on || value == "off" {
				n.Autoneg = &on
			}
		}
	})
}

// parseEthtoolFEC reads the encoding in use; several where the driver does not report which.
func parseEthtoolFEC(text, device string) (fabric.Facts, error) {
	return ethtoolBlocks(text, ethtoolFECHead, device, func(n *fabric.NIC, key, value string) {
		if key == "Active FEC encoding" || key == "Active FEC encodings" {
			n.FEC = fabric.Printable(value)
		}
	})
}

// ethtoolBlocks reads blocks that begin with a head and the name of an interface.
func ethtoolBlocks(text, head, device string, line func(n *fabric.NIC, key, value string)) (fabric.Facts, error) {
	var f fabric.Facts
	for l := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(l, head); ok {
			name = strings.TrimSuffix(strings.TrimSpace(name), ":")
			if !isInterfaceName(name) || device != "" && name != device {
				return fabric.Facts{}, errors.New("is about another interface")
			}
			f.NICs = append(f.NICs, fabric.NIC{Name: name})
			continue
		}
		if key, value, ok := keyValue(l); ok && len(f.NICs) > 0 {
			line(&f.NICs[len(f.NICs)-1], key, value)
		}
	}
	if len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// firmwareBoard is what mlx5 adds to its version: the board, which the RDMA device reports too.
var firmwareBoard = pattern.New(` \([A-Z]{2,4}_[0-9A-Z]+\)$`)

// parseEthtoolDriver reads ethtool -i. It does not name the interface: the bus address does, where no device
// was asked about.
func parseEthtoolDriver(text, device string) (fabric.Facts, error) {
	var f fabric.Facts
	for l := range strings.Lines(text) {
		key, value, ok := keyValue(l)
		if !ok {
			continue
		}
		if key == "driver" {
			driver, _, _ := strings.Cut(value, "[") // "mlx5_core[ib_ipoib]" of IP over InfiniBand
			f.NICs = append(f.NICs, fabric.NIC{Name: device, Driver: fabric.Printable(driver)})
		}
		if len(f.NICs) == 0 {
			continue
		}
		n := &f.NICs[len(f.NICs)-1]
		switch {
		case value == "" || value == "N/A":
		case key == "version":
			n.DriverVersion = fabric.Printable(value)
		case key == "firmware-version":
			n.Firmware = firmwareBoard().ReplaceAllString(fabric.Printable(value), "")
		case key == "bus-info" && device == "":
			if address, ok := pciAddress(value); ok {
				n.PCI = address
			}
		}
	}
	if len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
