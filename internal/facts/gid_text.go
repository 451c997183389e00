package facts

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// ibstatusHead begins a port in the output of ibstatus.
const ibstatusHead = "Infiniband device '"

func knowsIbstatus(text string) bool { return hasLine(text, startsWith(ibstatusHead)) }

// parseIbstatus reads ibstatus: "Infiniband device 'mlx5_0' port 1 status:" and the port's files of sysfs below it.
func parseIbstatus(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	var port *fabric.Port
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if rest, ok := strings.CutPrefix(line, ibstatusHead); ok {
			name, rest, _ := strings.Cut(rest, "'")
			words := strings.Fields(rest)
			if len(words) < 2 || words[0] != "port" || number(words[1]) == nil || name == "" || strings.ContainsAny(name, "/ ") {
				return fabric.Facts{}, fmt.Errorf("no device and port in %q", fabric.Printable(line))
			}
			addPort(&f, fabric.Printable(name), fabric.Port{Number: *number(words[1])})
			ports := f.HCAs[len(f.HCAs)-1].Ports
			port = &ports[len(ports)-1]
			continue
		}
		if key, value, ok := keyValue(line); ok && port != nil {
			if err := ibstatusLine(port, key, value); err != nil {
				return fabric.Facts{}, err
			}
		}
	}
	if port == nil {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// ibstatusLine reads "state: 4: ACTIVE", "rate: 400 Gb/sec (4X NDR)", "sm lid: 0x1".
func ibstatusLine(p *fabric.Port, key, value string) (err error) {
	_, name, numbered := strings.Cut(value, ": ")
	switch key {
	case "state":
		if numbered {
			p.State, err = portState(strings.TrimSpace(name))
		}
	case "phys state":
		if numbered {
			p.PhysState = physState(strings.TrimSpace(name))
		}
	case "rate":
		if rate, _, ok := strings.Cut(value, " Gb/sec"); ok {
			p.RateGbps, err = ibstatRate(strings.TrimSpace(rate))
		}
	case "link_layer":
		p.LinkLayer, err = linkLayer(value)
	case "base lid":
		p.LID = hexNumber(value)
	case "sm lid":
		p.SMLID = hexNumber(value)
	}
	return err
}

// hexNumber reads 0x1f of at most 16 bits, as a LID has; nil for anything else.
func hexNumber(text string) *int {
	n, err := strconv.ParseUint(strings.TrimPrefix(strings.TrimSpace(text), "0x"), 16, 16)
	if err != nil {
		return nil
	}
	v := int(n)
	return &v
}

func isGIDsHead(line string) bool {
	return strings.HasPrefix(line, "DEV") && strings.Contains(line, "PORT") && strings.Contains(line, "INDEX") && strings.Contains(line, "GID")
}

// isGIDsLine knows the lines of show_gids: the rule under the head, a GID, and their number at the end.
func isGIDsLine(line string) bool {
	words := strings.Fields(line)
	switch {
	case isGIDsHead(line), strings.HasPrefix(line, "---"), strings.HasPrefix(line, "n_gids_found="):
		return true
	case len(words) < 4:
		return false
	}
	_, err := anyGID(words[3])
	return (err == nil || isMaskedGID(words[3])) && number(words[1]) != nil && number(words[2]) != nil
}

// anyGID reads a GID in hexadecimal groups, or in sixteen decimal bytes as perftest writes one: 00:..:255:255:192:168:100:15.
func anyGID(text string) (string, error) {
	parts := strings.Split(text, ":")
	if len(parts) != 16 {
		return expandedGID(text)
	}
	var b [16]byte
	for i, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return "", fmt.Errorf("not a GID: %q", fabric.Printable(text))
		}
		b[i] = byte(n)
	}
	return fmt.Sprintf("%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x:%02x%02x", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
		b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]), nil
}

// isMaskedGID knows a GID of which somebody hid digits behind x before publishing it.
func isMaskedGID(text string) bool {
	return strings.Count(text, ":") == 7 && strings.Contains(text, "x") && strings.Trim(strings.ToLower(text), "0123456789abcdefx:*") == ""
}

func knowsShowGIDs(text string) bool { return hasLine(text, isGIDsHead) }

// parseShowGIDs reads show_gids: device, port, index, GID, the IPv4 address in it if any, v1 or v2, network device.
func parseShowGIDs(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 4 || !isGIDsLine(line) || isGIDsHead(line) || words[0] == "---" {
			continue
		}
		gid, err := anyGID(words[3])
		if isMaskedGID(words[3]) {
			addPort(&f, fabric.Printable(words[0]), fabric.Port{Number: *number(words[1]), NetDev: netDevice(words[len(words)-1])})
			continue
		}
		if err != nil {
			return fabric.Facts{}, err
		}
		g := fabric.GID{Index: *number(words[2]), GID: gid}
		for _, word := range words[4:] {
			switch {
			case word == "v1":
				g.Type = "IB/RoCE v1"
			case word == "v2":
				g.Type = "RoCE v2"
			case g.Type != "" && isInterfaceName(word):
				g.NetDev = word
			}
		}
		addGID(&f, fabric.Printable(words[0]), *number(words[1]), g)
	}
	if len(f.HCAs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

func addGID(f *fabric.Facts, hca string, port int, g fabric.GID) {
	last := len(f.HCAs) - 1
	if last < 0 || f.HCAs[last].Name != hca || f.HCAs[last].Ports[len(f.HCAs[last].Ports)-1].Number != port {
		addPort(f, hca, fabric.Port{Number: port})
		last = len(f.HCAs) - 1
	}
	ports := f.HCAs[last].Ports
	ports[len(ports)-1].GIDs = append(ports[len(ports)-1].GIDs, g)
}
