package facts

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/pattern"
)

// ibvDevinfoRuns reads what only verbs report, the MTU of a port, wherever there is an RDMA device.
func ibvDevinfoRuns(h host.Host, f *fabric.Facts) []toolRun {
	if len(f.HCAs) == 0 && !hcasMissing(h, f) {
		return nil
	}
	return []toolRun{{argv: []string{"ibv_devinfo", "-v"}}}
}

func knowsIbvDevinfo(text string) bool {
	return hasLine(text, func(line string) bool { return strings.HasPrefix(line, "hca_id:") })
}

var ibvGID = pattern.New(`^GID\[ *([0-9]{1,6})\]:\s*([0-9a-fA-F:.]+)(?:, (.+))?$`)

// parseIbvDevinfo reads ibv_devinfo, with -v its GID table too.
func parseIbvDevinfo(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	var lanes *float64 // of the port that is being read
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		key, value, ok := keyValue(line)
		if !ok {
			continue
		}
		if key == "hca_id" {
			if value == "" || strings.ContainsAny(value, "/ ") || fabric.Printable(value) != value {
				return fabric.Facts{}, fmt.Errorf("hca_id %q: not a device name", fabric.Printable(value))
			}
			f.HCAs, lanes = append(f.HCAs, fabric.HCA{Name: value}), nil
			continue
		}
		if len(f.HCAs) == 0 {
			continue
		}
		hca := &f.HCAs[len(f.HCAs)-1]
		var err error
		switch {
		case key == "port" && number(value) != nil:
			hca.Ports, lanes = append(hca.Ports, fabric.Port{Number: *number(value)}), nil
		case len(hca.Ports) == 0:
			err = ibvDevice(hca, key, fabric.Printable(value))
		default:
			lanes, err = ibvPort(&hca.Ports[len(hca.Ports)-1], line, key, fabric.Printable(value), lanes)
		}
		if err != nil {
			return fabric.Facts{}, fmt.Errorf("%s: %w", hca.Name, err)
		}
	}
	if len(f.HCAs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	for _, h := range f.HCAs {
		for _, p := range h.Ports {
			if p.ActiveMTU == nil {
				miss(&f, fmt.Sprintf("hcas.ports.active_mtu %s/%d", h.Name, p.Number), "ibv_devinfo", errors.New("no size in the text: the port has none"))
			}
		}
	}
	return f, nil
}

func ibvDevice(hca *fabric.HCA, key, value string) (err error) {
	switch key {
	case "fw_ver":
		hca.Firmware = value
	case "node_guid":
		hca.NodeGUID, err = colonGUID(value)
	case "sys_image_guid":
		hca.SystemGUID, err = colonGUID(value)
	case "board_id":
		hca.BoardID = value
	}
	return err
}

// ibvPort reads a line of a port. The rate is that of a lane, times the lanes of the line before it.
func ibvPort(p *fabric.Port, line, key, value string, lanes *float64) (*float64, error) {
	var err error
	switch key {
	case "state":
		p.State, err = portState(value)
	case "phys_state":
		p.PhysState = physState(value)
	case "max_mtu":
		p.MaxMTU = ibvMTU(value)
	case "active_mtu":
		p.ActiveMTU = ibvMTU(value)
	case "sm_lid":
		p.SMLID = number(value)
	case "port_lid":
		p.LID = number(value)
	case "link_layer":
		p.LinkLayer, err = linkLayer(value)
	case "active_width":
		width, _, ok := strings.Cut(value, "X ")
		if n, parseErr := strconv.ParseFloat(width, 64); ok && parseErr == nil {
			lanes = &n
		}
	case "active_speed":
		speed, _, ok := strings.Cut(value, " Gbps")
		n, parseErr := strconv.ParseFloat(speed, 64)
		if rate := n; ok && parseErr == nil && lanes != nil {
			if rate *= *lanes; rate > 0 && rate < 1e6 {
				p.RateGbps = &rate
			}
		}
	default:
		if m := ibvGID().FindStringSubmatch(line); m != nil {
			err = ibvAddGID(p, m)
		}
	}
	return lanes, err
}

// ibvMTU reads "4096 (5)"; an enumeration without a size is unknown.
func ibvMTU(value string) *int {
	size, _, _ := strings.Cut(value, " ")
	return number(size)
}

func ibvAddGID(p *fabric.Port, m []string) error {
	gid, err := expandedGID(m[2])
	if err != nil {
		return err
	}
	if isEmptyGID(gid) {
		return nil
	}
	g := fabric.GID{Index: *number(m[1]), GID: gid, Type: fabric.Printable(m[3])}
	if g.Type == "IB" || g.Type == "RoCE v1" || g.Type == "IB/RoCE V1" {
		g.Type = "IB/RoCE v1" // as the kernel names both
	}
	p.GIDs = append(p.GIDs, g)
	return nil
}

// expandedGID writes a GID in eight groups of four digits.
func expandedGID(text string) (string, error) {
	a, err := netip.ParseAddr(text)
	if err != nil || !a.Is6() || a.Zone() != "" {
		return "", errors.New("not a GID: " + strconv.Quote(fabric.Printable(text)))
	}
	return a.StringExpanded(), nil
}
