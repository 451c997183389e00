package facts

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// ipBriefTool is ip -br address and ip -br link, whose lines people comment at their ends.
const ipBriefTool = "ip -br"

// ipBriefLine is "enp1s0f0np0      UP             172.31.5.1/29 metric 100"; of ip -br link a MAC address and flags follow.
var ipBriefLine = pattern.New(`^([A-Za-z][\w.-]{0,14})(?:@\S+)?\s+(UP|DOWN|UNKNOWN|LOWERLAYERDOWN|DORMANT|NOTPRESENT)\b\s*(.*)$`)

func isIPBrief(line string) bool {
	if !strings.Contains(line, " UP") && (!strings.Contains(line, "OWN") || // of DOWN and UNKNOWN
		!strings.Contains(line, " DOWN") && !strings.Contains(line, "UNKNOWN") && !strings.Contains(line, "LOWERLAYERDOWN")) {
		return false
	}
	m := ipBriefLine().FindStringSubmatch(strings.TrimRight(line, " \r"))
	if m == nil {
		return false
	}
	first, _, _ := strings.Cut(m[3], " ")
	_, err := ipPrefix(starless(first))
	return first == "" || err == nil || isMAC(first) || first == "<-" || first == "#" || strings.HasPrefix(first, "<")
}

func knowsIPBrief(text string) bool { return hasLine(text, isIPBrief) }

// parseIPBrief reads states and addresses. Its lines have neither index nor MTU.
func parseIPBrief(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		m := ipBriefLine().FindStringSubmatch(strings.TrimRight(line, " \r\n"))
		if m == nil || !isInterfaceName(m[1]) {
			continue
		}
		n := fabric.NIC{Name: m[1], OperState: ipOperState(m[2])}
		switch n.OperState {
		case "up":
			n.Carrier = new(true)
		case "lowerlayerdown":
			n.Carrier = new(false)
		}
		for _, word := range strings.Fields(m[3]) {
			if p, err := ipPrefix(starless(word)); err == nil {
				n.Addresses = append(n.Addresses, p)
			}
			if isMAC(word) {
				n.MAC = word
			}
		}
		f.NICs = append(f.NICs, n)
	}
	if len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}

// starless takes the asterisks away by which documents make an address bold.
func starless(text string) string { return strings.ReplaceAll(text, "*", "") }
