package nic

import (
	"errors"
	"strings"
)

// lldptool reads what the agent of a host announces (lldptool -t -i eth1), which is what it set up. The same blocks with
// -n are of the far end.
func lldptool() Reader {
	return Reader{
		Name:  "lldptool",
		Signs: []string{"Chassis ID TLV", tlvHead},
		Begins: func(line string) bool {
			return strings.HasPrefix(line, "Chassis ID TLV") || strings.HasPrefix(line, tlvHead) && strings.HasSuffix(strings.TrimSpace(line), "TLV") // niccli ends it with a colon
		},
		GoesOn: isTLVLine,
		Read:   readLLDPTool,
	}
}

func readLLDPTool(text, device string) ([]Reading, error) {
	var out []Reading
	for _, c := range commands(text, "lldptool") {
		if c.program() != "" && c.program() != "lldptool" || !strings.Contains(strings.Join(c.lines, "\n"), tlvHead) {
			continue
		}
		for _, word := range c.argv {
			if strings.HasPrefix(word, "-") && !strings.HasPrefix(word, "--") && strings.Contains(word, "n") || word == "--neighbor" {
				return nil, errors.New("is of the far end (-n), not of this NIC: want lldptool -t -i NAME")
			}
		}
		name, err := c.aboutInterface(device, "-i", "-ti")
		if err != nil {
			return nil, err
		}
		q, _, err := readTLVs(c.lines)
		if err != nil {
			return nil, err
		}
		if len(q.DSCP) > 0 {
			q.Trust = "dscp"
		}
		if isEmpty(q) {
			continue
		}
		out = append(out, Reading{Interface: name, QoS: q})
	}
	if len(out) == 0 {
		return nil, errForeign
	}
	return out, nil
}
