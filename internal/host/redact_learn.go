package host

import (
	"encoding/hex"
	"encoding/json"
	"path"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// nameFiles hold the name of the host and nothing else.
func nameFiles() []string { return []string{"/etc/hostname", "/proc/sys/kernel/hostname"} }

// serialFiles are the names of sysfs files that hold a serial number or what the owner stuck on.
func serialFiles() []string {
	return []string{
		"board_asset_tag", "board_serial", "chassis_asset_tag", "chassis_serial", "product_serial",
		"serial", "serial_number", "serial-number", "wwid", "nguid", "eui",
	}
}

// stockPhrases are what firmware says where it has no serial number, in lower case.
func stockPhrases() []string {
	return []string{
		"", "0", "none", "not specified", "not available", "not applicable", "n/a", "na", "unknown", "default string", "default",
		"to be filled by o.e.m.", "to be filled by oem", "o.e.m.", "system serial number", "chassis serial number",
		"base board serial number", "chassis asset tag", "asset tag", "no asset tag", "invalid", "empty",
	}
}

// plainWords are words of the field that machines are named after when nobody named them.
func plainWords() []string {
	return []string{
		"localhost", "localdomain", "local", "host", "node", "server", "compute", "worker", "master", "gpu", "switch",
		"leaf", "spine", "router", "linux", "ubuntu", "debian", "rocky", "almalinux", "redhat", "rhel", "centos", "fedora",
		"suse", "sonic", "cumulus", "eos", "nvidia", "mellanox", "amd", "intel", "broadcom", "dell", "supermicro", "root",
		"admin", "user", "kernel", "unknown", "none", "default", "infiniband", "ethernet", "roce", "rdma", "ib", "eth", "pci",
	}
}

// learn looks through a recording for names, serial numbers, GUIDs, MAC addresses and IPv4 subnets.
func (r *redactor) learn(in *recording) {
	for q, a := range in.answers {
		if a.given {
			r.learnPlain(q, a.data)
		}
	}
	r.learnName(in.host)
	for q, a := range in.answers {
		if !a.given {
			continue
		}
		switch q.op {
		case opRead:
			r.learnFile(q.key, a.data)
		case opRun:
			r.learnOutput(q.key, a.data)
		case opDump:
			r.learnDump(a.data)
		}
	}
}

// learnPlain keeps the names of interfaces, RDMA devices and modules from being taken for a host's.
func (r *redactor) learnPlain(q question, data []byte) {
	switch {
	case q.op == opList && slices.Contains([]string{"/sys/class/net", "/sys/class/infiniband", "/sys/module"}, q.key):
		for name := range strings.Lines(string(data)) {
			r.plain[strings.ToLower(strings.TrimSpace(name))] = true
		}
	case q.op == opRead && q.key == "/proc/modules":
		for line := range strings.Lines(string(data)) {
			name, _, _ := strings.Cut(line, " ")
			r.plain[strings.ToLower(name)] = true
		}
	}
}

// learnName takes a text for a host name, also without its domain.
func (r *redactor) learnName(name string) {
	name = strings.ToLower(strings.Trim(name, "\x00 \t\r\n"))
	if !isHostName(name) {
		return
	}
	r.learnWord(name, r.name(name))
	if short, domain, dotted := strings.Cut(name, "."); dotted {
		r.learnWord(short, r.name(short))
		_, to, _ := strings.Cut(r.name(name), ".")
		r.learnWord(domain, to)
	}
}

// learnWord has a text replaced in free text, unless it is too plain to be distinguished from other text.
func (r *redactor) learnWord(from, to string) {
	if len(from) < 3 || r.plain[from] || strings.Trim(from, "0123456789.") == "" {
		return
	}
	first := from[:wordEnd(from, 0)]
	if slices.Contains(r.words[first], word{from, to}) {
		return
	}
	r.words[first] = append(r.words[first], word{from, to})
	slices.SortFunc(r.words[first], func(a, b word) int { return len(b.from) - len(a.from) })
}

func (r *redactor) learnSerial(serial string) {
	if isSerial(serial) && len(serial) > 4 {
		r.learnWord(strings.ToLower(serial), r.serial(serial))
	}
}

// isSerial leaves out what firmware says instead of one.
func isSerial(text string) bool {
	return strings.ContainsAny(text, "0123456789") && strings.Trim(text, "0 .-") != ""
}

// isHostName is the rule of RFC 1123, with the underscore that people use.
func isHostName(name string) bool {
	return name != "" && len(name) <= 253 && wordEnd(name, 0) > 0 &&
		strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == "" && !strings.HasSuffix(name, ".")
}

// wordEnd returns the end of the letters and digits that begin at a place of a text.
func wordEnd(text string, at int) int {
	for at < len(text) && isAlphanumeric(text[at]) {
		at++
	}
	return at
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

var (
	labelledGUID = pattern.Plain(`(?i)(?:guid\W{1,12}|\b[HSRC]-)(?:0x)?([0-9a-f]{16})\b`)
	labelledName = pattern.Plain(`"(?:MF0;)?([A-Za-z0-9][\w.-]*)(?: (?:mlx|HCA|ib|rdma|bnxt|ionic|roce)[^"\n]*|:[A-Z]+\d+/[^"\n]*)"`)
)

func (r *redactor) learnFile(name string, data []byte) {
	base := path.Base(name)
	value := strings.Trim(string(data), "\x00 \t\n")
	switch {
	case slices.Contains(nameFiles(), name):
		r.learnName(value)
	case base == "node_desc": // the driver writes: host name, device
		host, _, _ := strings.Cut(value, " ")
		r.learnName(host)
	case slices.Contains(serialFiles(), base):
		r.learnSerial(value)
	case base == "unique_id" && value != "": // of an AMD GPU, which its tools write with 0x
		id := strings.ToLower(value)
		r.learnWord(id, r.hexadecimal("id", id))
		r.learnWord("0x"+id, "0x"+r.hexadecimal("id", id))
	case base == "node_guid" || base == "sys_image_guid":
		r.learnGUID(strings.ReplaceAll(value, ":", ""))
	case base == "address" && strings.HasPrefix(name, "/sys/class/net/"):
		r.learnMAC(strings.ReplaceAll(value, ":", ""))
	case strings.HasPrefix(name, lldpFolder):
		r.learnLLDP(data)
	}
}

func (r *redactor) learnOutput(command string, data []byte) {
	text := string(data)
	for _, m := range labelledGUID().FindAllStringSubmatch(text, -1) {
		r.learnGUID(strings.ToLower(m[1]))
	}
	for _, m := range labelledSerial().FindAllStringSubmatch(text, -1) {
		r.learnSerial(m[1])
	}
	program, _, _ := strings.Cut(command, " ")
	switch {
	case program == "hostname" || command == "uname -n":
		r.learnName(text)
	case program == "lldpcli":
		var v any
		if json.Unmarshal(data, &v) == nil {
			r.learnChassis(v, false)
		}
	case strings.HasPrefix(program, "ib"):
		for _, m := range labelledName().FindAllStringSubmatch(text, -1) {
			r.learnName(m[1])
		}
	}
}

// learnChassis takes the texts below "name" below "chassis" of lldpcli's answer for names.
func (r *redactor) learnChassis(v any, isName bool) {
	switch v := v.(type) {
	case string:
		if isName {
			r.learnName(v)
		}
	case []any:
		for _, e := range v {
			r.learnChassis(e, isName)
		}
	case map[string]any:
		for key, e := range v {
			if key != "interface" || !isName {
				r.learnChassis(e, isName && key == "value" || key == "name" && isChassis(v))
			}
		}
	}
}

// isChassis tells the element that describes the far end from an interface, which has a name too.
func isChassis(element map[string]any) bool {
	_, hasID := element["id"]
	_, hasVia := element["via"]
	return hasID && !hasVia
}

func (r *redactor) learnGUID(digits string) {
	var g [8]byte
	if n, err := hex.Decode(g[:], []byte(digits[:min(len(digits), 16)])); err == nil && n == len(g) && g != [8]byte{} {
		r.guids[g] = true
	}
}

func (r *redactor) learnMAC(digits string) {
	var m [6]byte
	if n, err := hex.Decode(m[:], []byte(digits[:min(len(digits), 12)])); err == nil && n == len(m) && m != [6]byte{} {
		r.macs[m] = true
	}
}
