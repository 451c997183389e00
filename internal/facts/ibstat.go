package facts

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// ibstatRuns runs ibstat only where sysfs has no answer: it reads the same files.
func ibstatRuns(h host.Host, f *fabric.Facts) []toolRun {
	if len(f.HCAs) > 0 || !hcasMissing(h, f) {
		return nil
	}
	return []toolRun{{argv: []string{"ibstat"}}}
}

// hcasMissing reports whether the RDMA devices could not be read from the kernel, unless it has none: without a
// driver for one there is no such class.
func hcasMissing(h host.Host, f *fabric.Facts) bool {
	if _, missing := f.MissingReason(fabric.FactHCAs); !missing {
		return false
	}
	classes, err := h.ReadDir(path.Dir(infinibandClass))
	return err != nil || slices.Contains(classes, path.Base(infinibandClass))
}

func knowsIbstat(text string) bool {
	return hasLine(text, func(line string) bool { return ibstatName(line) != "" })
}

// ibstatName returns the device of a line "CA 'mlx5_0'", else nothing. Text copied out of a document may have
// lost the underscore, which no device name has a blank for.
func ibstatName(line string) string {
	name, ok := strings.CutPrefix(line, "CA '")
	name, closed := strings.CutSuffix(name, "'")
	if !ok || !closed || name == "" || strings.ContainsAny(name, "/'") || fabric.Printable(name) != name {
		return ""
	}
	return strings.ReplaceAll(name, " ", "_")
}

// parseIbstat reads what ibstat prints of all devices.
func parseIbstat(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \r\n")
		if name := ibstatName(line); name != "" {
			f.HCAs = append(f.HCAs, fabric.HCA{Name: name})
			continue
		}
		if len(f.HCAs) == 0 {
			continue
		}
		hca := &f.HCAs[len(f.HCAs)-1]
		key, value, ok := keyValue(line)
		if !ok {
			continue
		}
		if port, isPort := strings.CutPrefix(key, "Port "); isPort && value == "" {
			if n := number(port); n != nil {
				hca.Ports = append(hca.Ports, fabric.Port{Number: *n})
			}
			continue
		}
		if err := ibstatLine(hca, key, fabric.Printable(value)); err != nil {
			return fabric.Facts{}, fmt.Errorf("%s: %w", hca.Name, err)
		}
	}
	if len(f.HCAs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

func ibstatLine(hca *fabric.HCA, key, value string) (err error) {
	if len(hca.Ports) == 0 {
		switch key {
		case "CA type":
			hca.Type = value
		case "Firmware version":
			hca.Firmware = value
		case "Node GUID":
			hca.NodeGUID, err = colonGUID(value)
		case "System image GUID":
			hca.SystemGUID, err = colonGUID(value)
		}
		return err
	}
	p := &hca.Ports[len(hca.Ports)-1]
	switch key {
	case "State":
		p.State, err = portState(value)
	case "Physical state":
		p.PhysState = physState(value)
	case "Rate":
		p.RateGbps, err = ibstatRate(value)
	case "Base lid":
		p.LID = number(value)
	case "SM lid":
		p.SMLID = number(value)
	case "Link layer":
		p.LinkLayer, err = linkLayer(value)
	}
	return err
}

// ibstatRate reads Gb/s, of which ibstat cuts the fraction: only 2.5 has one (1X SDR).
func ibstatRate(text string) (*float64, error) {
	n, err := strconv.ParseFloat(text, 64)
	if err != nil || !(n >= 0 && n < 1e6) {
		return nil, fmt.Errorf("invalid rate %q: want Gb/s", text)
	}
	if n == 2 {
		n = 2.5
	}
	return &n, nil
}

// linkLayer writes InfiniBand or Ethernet; ibstat of a simulated fabric says IB.
func linkLayer(text string) (string, error) {
	switch text {
	case "InfiniBand", "IB":
		return "InfiniBand", nil
	case "Ethernet":
		return "Ethernet", nil
	case "Unspecified", "Unknown":
		return "", nil
	default:
		return "", fmt.Errorf("link layer %q: known are InfiniBand, Ethernet", text)
	}
}

// portState writes a state as sysfs does: ACTIVE of Active (ibstat), PORT_ACTIVE (verbs), ACTIVE (rdma).
func portState(text string) (string, error) {
	word, _, _ := strings.Cut(strings.TrimPrefix(strings.ToUpper(text), "PORT_"), " ")
	switch word {
	case "INITIALIZING", "INIT":
		return "INIT", nil
	case "ACTIVE", "ARMED", "DOWN", "NOP", "ACTIVE_DEFER":
		return word, nil
	default:
		return "", fmt.Errorf("port state %q: known are ACTIVE, ACTIVE_DEFER, ARMED, DOWN, INIT, NOP", text)
	}
}

// physState writes a state as sysfs does: LinkUp of LINK_UP (verbs, rdma) and of LinkUp (ibstat).
func physState(text string) string {
	word, _, _ := strings.Cut(text, " (")
	for _, known := range []string{"Sleep", "Polling", "Disabled", "PortConfigurationTraining", "LinkUp", "LinkErrorRecovery"} {
		if strings.EqualFold(strings.ReplaceAll(word, "_", ""), known) {
			return known
		}
	}
	if strings.EqualFold(word, "LINK_ERROR_RECOVER") {
		return "LinkErrorRecovery"
	}
	return fabric.Printable(word)
}

// colonGUID writes 0x5c24fb0003ae6d94 as 5c24:fb00:03ae:6d94.
func colonGUID(text string) (string, error) {
	digits := strings.ToLower(strings.ReplaceAll(strings.TrimPrefix(text, "0x"), ":", ""))
	if digits == "" || len(digits) > 16 || !isHex(digits) {
		return "", fmt.Errorf("invalid GUID %q", fabric.Printable(text))
	}
	digits = strings.Repeat("0", 16-len(digits)) + digits
	return digits[:4] + ":" + digits[4:8] + ":" + digits[8:12] + ":" + digits[12:], nil
}
