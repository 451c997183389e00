package nic

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

const pauseHead = "Pause parameters for "

// ethtoolPause reads ethtool -a eth1: whether the link as a whole is paused. Where it is negotiated the result counts, which
// newer versions print.
func ethtoolPause() Reader {
	return Reader{
		Name: "ethtool -a",
		Runs: func(n fabric.NIC) []Run {
			return []Run{{Argv: []string{"ethtool", "-a", n.Name}}}
		},
		Signs:  []string{pauseHead},
		Begins: begins(pauseHead),
		GoesOn: begins(pauseHead, "Autonegotiate:", "RX:", "TX:", "RX negotiated:", "TX negotiated:"),
		Read:   readPause,
	}
}

func readPause(text, device string) ([]Reading, error) {
	var out []Reading
	var set map[string]bool
	end := func() {
		rx, okRX := negotiated(set, "RX")
		tx, okTX := negotiated(set, "TX")
		if okRX && okTX {
			on := rx || tx
			out[len(out)-1].QoS.Pause = &on
		}
	}
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(line, pauseHead); ok {
			end()
			name = strings.TrimSuffix(strings.TrimSpace(name), ":")
			if !isInterface(name) || device != "" && name != device {
				return nil, fmt.Errorf("is about another interface: %q", fabric.Printable(name))
			}
			out, set = append(out, Reading{Interface: name}), map[string]bool{}
			continue
		}
		key, value, ok := keyValue(line)
		if ok && set != nil && (value == "on" || value == "off") {
			set[key] = value == "on"
		}
	}
	end()
	if len(out) == 0 {
		return nil, errForeign
	}
	return out, nil
}

// negotiated returns the result for a direction, else what is set.
func negotiated(set map[string]bool, direction string) (on, ok bool) {
	if on, ok = set[direction+" negotiated"]; ok {
		return on, true
	}
	on, ok = set[direction]
	return on, ok
}
