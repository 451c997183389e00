package facts

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// nmcliTool is nmcli device status: which interfaces NetworkManager configures, and by which connection.
const nmcliTool = "nmcli device"

var (
	nmcliHead = pattern.New(`^DEVICE\s+TYPE\s+STATE\s+CONNECTION\s*$`)
	nmcliLine = pattern.New(`^(\S+)\s+(ethernet|wifi|wifi-p2p|bridge|loopback|infiniband|bond|vlan|tun|dummy|veth|gsm|bt|team|macvlan|wireguard)\s+` +
		`(connected \(externally\)|connected|disconnected|unavailable|unmanaged|connecting(?: \([^)]*\))?|deactivating)\s+(.+)$`)
)

func isNmcliHead(line string) bool {
	return strings.HasPrefix(line, "DEVICE") && nmcliHead().MatchString(line)
}
func isNmcliLine(line string) bool { return isNmcliHead(line) || nmcliLine().MatchString(line) }
func knowsNmcli(text string) bool  { return hasLine(text, isNmcliHead) }

// parseNmcli reads it. Unavailable is how NetworkManager calls an Ethernet interface without carrier.
func parseNmcli(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		m := nmcliLine().FindStringSubmatch(strings.TrimSpace(line))
		if m == nil || !isInterfaceName(m[1]) || m[2] == "loopback" {
			continue
		}
		n := fabric.NIC{Name: m[1], Profile: fabric.Printable(strings.TrimSpace(m[4]))}
		switch m[3] {
		case "connected":
			n.OperState, n.Carrier = "up", new(true)
			owner := fabric.NetworkManager
			n.Owner = &owner
		case "disconnected":
			n.Carrier = new(true) // it has one, and no connection
		case "unavailable":
			n.Carrier = new(false)
		}
		f.NICs = append(f.NICs, n)
	}
	if len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
