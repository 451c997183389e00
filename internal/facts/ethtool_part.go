package facts

import (
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// ethtoolPart is ethtool behind a grep: its lines do not name the interface, the command above them does.
const ethtoolPart = "ethtool (a part)"

// ethtoolPartLine is what people grep for. Other programs print such lines too, so that it counts below the command only.
var ethtoolPartLine = pattern.New(`^\s*(?:Speed: (?:[0-9]+Mb/s|Unknown!.*)|Duplex: \w+!?.*|Lanes: [0-9]+|Auto-negotiation: (?:on|off)|Port: [\w ]+|Link detected: (?:yes|no)\b.*)$`)

func isEthtoolPart(line string) bool {
	return strings.Contains(line, ": ") && ethtoolPartLine().MatchString(strings.TrimRight(line, " \r"))
}

// ethtoolOf is the interface that a command asks ethtool about for its settings; empty: it is another command.
func ethtoolOf(command string) string {
	command, _, _ = strings.Cut(command, "|")
	words := strings.Fields(command)
	at := slices.IndexFunc(words, func(w string) bool { return path.Base(w) == "ethtool" })
	if at < 0 || at+2 != len(words) || strings.HasPrefix(words[at+1], "-") || !isInterfaceName(words[at+1]) {
		return ""
	}
	return words[at+1]
}

func knowsEthtoolPart(text string) bool {
	return hasLine(text, func(line string) bool {
		command, ok := strings.CutPrefix(line, "$ ")
		return ok && ethtoolOf(command) != ""
	}) && hasLine(text, isEthtoolPart)
}

// parseEthtoolPart reads the lines below each command.
func parseEthtoolPart(text, _ string) (fabric.Facts, error) {
	var f fabric.Facts
	for line := range strings.Lines(text) {
		if command, ok := strings.CutPrefix(line, "$ "); ok {
			f.NICs = append(f.NICs, fabric.NIC{Name: ethtoolOf(command)})
			continue
		}
		key, value, ok := keyValue(line)
		if !ok || len(f.NICs) == 0 {
			continue
		}
		n := &f.NICs[len(f.NICs)-1]
		switch key {
		case "Speed":
			if mbps, ok := strings.CutSuffix(value, "Mb/s"); ok {
				n.SpeedMbps = number(mbps)
			}
		case "Link detected":
			n.Carrier = yamlBool(value)
		}
	}
	if len(f.NICs) == 0 {
		return fabric.Facts{}, errForeignText
	}
	return f, nil
}
