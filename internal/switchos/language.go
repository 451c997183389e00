package switchos

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// foreign is a language of switches or hosts that is known by name and not read.
type foreign struct {
	title string
	sign  func() *regexp.Regexp // one line of it that no language of ours has
}

// foreigners lists languages that people have at hand when they are asked for the text of a switch.
var foreigners = []foreign{
	{"NVUE (NVIDIA Cumulus Linux)", pattern.Plain(`(?m)^(?:\S+[#$]\s*)?nv (?:set|show|config|unset) |cumulus@|^RoCE PCP/DSCP->SP mapping|^- set:$`)},
	{"Cisco NX-OS", pattern.Plain(`(?m)^\s*(?:(?:policy|class)-map type (?:network-qos|queuing)|class type (?:network-qos|queuing)|pause pfc-cos \d|priority-flow-control mode (?:on|auto|off)|set qos-group \d|feature \S+$|Port +Mode +Oper\(VL bmap\))`)},
	{"MLNX-OS (NVIDIA Onyx)", pattern.Plain(`(?m)^\s*(?:dcb priority-flow-control|interface (?:ethernet|ib) \d+/\d+(?:/\d+)? (?:traffic-class|speed|mtu|dcb|qos)|protocol (?:roce|ib|bgp)$|roce (?:lossless|lossy|semi-lossless))`)},
	{"Huawei VRP or H3C Comware", pattern.Plain(`(?m)^\s*(?:dcb pfc(?: |$)|priority-flow-control (?:no-drop dot1p|enable|auto)|qos wred (?:queue|apply)|sysname \S+)`)},
	{"Dell OS10", pattern.Plain(`(?m)^\s*(?:(?:class|policy)-map type (?:network-qos|queuing|application) \S+|pause buffer-size \d+|pfc-cos \d|qos-map traffic-class)`)},
	{"output of a tool of NICs (mlnx_qos, niccli, dcb, lldptool)", pattern.Plain(`(?m)^\s*(?:DCBX mode: |Priority trust state: |PFC configuration:$|dscp2prio mapping:|prio-pfc |PRIO_MAP:|dscp-prio )`)},
}

// Language returns the operating system that a text is of. The error says what it is instead, or that nothing is known of it.
func Language(text []byte) (OS, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, fmt.Errorf("is empty")
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("is not text: it has NUL bytes")
	}
	for _, part := range [][]byte{beginning(text), text} {
		for _, os := range all() {
			if os.Recognizes(part) {
				return os, nil
			}
		}
	}
	for _, f := range foreigners {
		if f.sign().Match(text) {
			return nil, fmt.Errorf("is %s, which is not supported; supported: %s", f.title, strings.Join(IDs(), ", "))
		}
	}
	return nil, fmt.Errorf("is neither a configuration nor show output of a supported switch OS; supported: %s", strings.Join(IDs(), ", "))
}

// enough is how much of a text, in bytes, usually tells its language: to search all of a text of 10 MB takes seconds.
const enough = 256 << 10

// beginning is the first lines of a long text, and nothing of a short one.
func beginning(text []byte) []byte {
	if len(text) <= enough {
		return nil
	}
	return text[:bytes.LastIndexByte(text[:enough], '\n')+1]
}

// IDs lists the ids of the operating systems.
func IDs() []string {
	var out []string
	for _, os := range all() {
		id, _ := os.Names()
		out = append(out, id)
	}
	return out
}
