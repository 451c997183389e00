package dell

import (
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/pattern"
)

// showsIgnored are first words after show whose output has no bearing on lossless RoCE.
var showsIgnored = []string{
	"version", "bfd", "ospf", "pim", "mclag", "spanning-tree", "sflow", "snmp-server", "class-map", "clock", "platform", "lldp", "interface", "ip", "ipv6", "bgp", "vlan", "mac", "system", "uptime", "users", "logging", "arp", "ntp", "running-config", "history", "reboot", "event", "alarm", "errdisable", "image", "portchannel", "tech-support", "priority-group", "queue", "hardware", "evpn", "vxlan", "policy", "qos-map", "Vlan",
}

// show reads a command that prints: what follows, up to the next prompt, is its output.
func (r *reader) show(c command) bool {
	if len(c.words) < 2 {
		return false
	}
	name := strings.Join(c.words, " ")
	name, _, _ = strings.Cut(name, " |")
	if !slices.Contains(r.form, name) && len(r.form) < 8 {
		r.form = append(r.form, name)
	}
	r.place = place{kind: inShow, head: -1}
	words := strings.Fields(name)
	switch {
	case c.is(1, "running-configuration"):
		_, filter, filtered := strings.Cut(strings.Join(c.words, " "), "|")
		all := !filtered || strings.TrimSpace(filter) == "no-more"
		r.place, r.full = place{}, all
		r.textWhole = r.textWhole || all && len(words) == 2
		return true
	case c.is(1, "qos", "interface"):
		r.shown = true
		return r.showPort(c, words[3:])
	case c.is(1, "qos"):
		r.shown = true
		return true
	case c.is(1, "buffer"): // profiles, and which of them ports have, say nothing that PFC and the maps do not
		r.shown = true
		return true
	case c.is(1, "pfc") || c.is(1, "pfcwd"): // of the shell of Linux below, which community SONiC has too
		r.shown, r.place.kind = true, inClick
		return true
	case c.is(1, "priority-flow-control", "watchdog"):
		return true // what it prints is the time between two looks
	}
	if !slices.ContainsFunc(showsIgnored, func(w string) bool { return c.is(1, w) }) {
		r.out.Unread = append(r.out.Unread, c.Line) // once, for all that it prints
	}
	return true
}

// showPort remembers whose settings follow: show qos interface Eth 1/1 queue 3.
func (r *reader) showPort(c command, words []string) bool {
	if len(words) == 0 {
		return true
	}
	text := words[0]
	rest := words[1:]
	if len(rest) > 0 && !strings.ContainsAny(text, "0123456789") {
		text, rest = text+rest[0], rest[1:]
	}
	name, ok := portName(text)
	if !ok {
		return true // all of them: each block says its own
	}
	p := r.shownPort(c, name)
	p.listed = true
	r.place = place{kind: inShowPort, shown: true, head: -1, queue: -1, ports: []*dellPort{p}}
	if len(rest) == 2 {
		if q, ok := dellNumber(rest[1], 0, 7); ok {
			r.place.queue = q
		}
	}
	r.qos = true
	return true
}

// dellTitle are lines above a shown map or policy. They begin with capitals; rows of show qos interface do not.
var dellTitle = pattern.Plain(`^(?:([A-Z][A-Za-z0-9-]+)-MAP|(Policy|Profile)|(Scheduler[ -]Policy))\s*:\s*(\S+)$`)

// output reads the title of a table that a show command prints, whether its command stands above it or not.
func (r *reader) output(c command) bool {
	m := dellTitle().FindStringSubmatch(c.Command)
	if m == nil {
		return false
	}
	switch {
	case m[1] != "":
		kind := slices.IndexFunc(mapKinds[:], func(k mapKind) bool { return slices.Contains(k.shown, strings.ToLower(m[1])) })
		if kind < 0 {
			return false
		}
		r.openMap(dellName{kind, m[4]}, c, true)
	case m[2] != "":
		r.openWRED(m[4], c, true)
	default:
		r.openSched(m[4], c, true)
	}
	r.qos, r.shown = true, true
	return true
}

// wredRow reads a row of a shown WRED policy: green-min-threshold : 1048 KBytes. Its unit is the CLI's kB.
func (r *reader) wredRow(c command) bool {
	name, value, ok := strings.Cut(c.Command, ":")
	fields := strings.Fields(value)
	if !ok || len(fields) == 0 {
		return false
	}
	w := r.place.wred
	switch strings.ToLower(strings.TrimSpace(name)) {
	case "ecn":
		return r.setECN(w, fields[0], c)
	case "green-min-threshold":
		ok = r.setThreshold(w, "minimum-threshold", fields[0], c)
	case "green-max-threshold":
		ok = r.setThreshold(w, "maximum-threshold", fields[0], c)
	case "green-drop-probability":
		ok = r.setThreshold(w, "drop-probability", fields[0], c)
	default:
		return strings.HasPrefix(name, "yellow-") || strings.HasPrefix(name, "red-")
	}
	if ok {
		r.checkWRED(w, c)
	}
	return ok
}

// showPortLine reads a row of show qos interface: SONiC QoS management HLD 1.1, 3.2.2.2.
func (r *reader) showPortLine(c command) bool {
	name, value, ok := strings.Cut(c.Command, ":")
	value = strings.TrimSpace(value)
	if !ok || len(r.place.ports) == 0 {
		return false
	}
	p := r.place.ports[0]
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	if value == "" || value == "-" || strings.EqualFold(value, "none") || value == "N/A" {
		return strings.Contains(name, "map") || strings.Contains(name, "config") || strings.Contains(name, "pfc") || strings.Contains(name, "policy")
	}
	if kind := slices.IndexFunc(mapKinds[:], func(k mapKind) bool { return name == k.name+"-map" }); kind >= 0 {
		dellSet(r, &p.maps[kind], value, c.Line, p.name, name)
		return true
	}
	switch name {
	case "scheduler policy", "scheduler-policy":
		dellSet(r, &p.sched, value, c.Line, p.name, "scheduler-policy")
	case "wred profile", "wred policy", "wred-policy":
		if r.place.queue < 0 {
			return false
		}
		dellSet(r, &p.wred[r.place.queue], value, c.Line, p.name, "the wred-policy of queue "+strconv.Itoa(r.place.queue))
	case "pfc-priority", "pfc priority":
		c.words = []string{"priority-flow-control", "priority", strings.ReplaceAll(value, " ", "")}
		return r.portPFC(p, c)
	case "pfc-asymmetric":
		c.no = !strings.EqualFold(value, "on")
		c.words = []string{"priority-flow-control", "asymmetric"}
		return r.portPFC(p, c)
	default:
		return false
	}
	return true
}

// clickHead are the titles of the two tables of the shell that say what ports have (sonic-utilities, pfc/main.py, pfcwd/main.py).
var clickHead = pattern.Plain(`^(?:(Interface\s+Lossless priorities)|(PORT\s+ACTION\s+DETECTION TIME\s+RESTORATION TIME).*)$`)

// clickNoise are lines of the shell's output without a port.
var clickNoise = pattern.Plain(`^(?:Changed polling interval to \d+ms|Port [RT]x\s+PFC0\s.*|QUEUE\s+STATUS\s.*)$`)

// clickLine reads a row of show pfc priority and of show pfcwd config. Counters and statistics say nothing of settings.
func (r *reader) clickLine(c command) bool {
	if m := clickHead().FindStringSubmatch(c.Command); m != nil {
		r.place.table = 1
		if m[2] != "" {
			r.place.table = 2
		}
		return true
	}
	if clickNoise().MatchString(c.Command) {
		return true
	}
	name, _, _ := strings.Cut(c.words[0], ":") // a queue of it
	name, ok := portName(name)
	if !ok || c.Prompt != "" {
		return false
	}
	if r.place.table == 0 {
		return true
	}
	port := r.shownPort(c, name)
	if r.place.table == 1 {
		if strings.EqualFold(c.word(1), "N/A") {
			c.no, c.words = true, []string{"priority-flow-control", "priority"}
		} else {
			c.words = []string{"priority-flow-control", "priority", c.word(1)}
		}
		return r.portPFC(port, c)
	}
	if len(c.words) < 4 {
		return false
	}
	row := c.words
	ok = true
	for _, words := range [][]string{{"action", row[1]}, {"on", "detect-time", row[2]}, {"restore-time", row[3]}} {
		if words[len(words)-1] != "infinite" && words[len(words)-1] != "N/A" {
			c.words = append([]string{"priority-flow-control", "watchdog"}, words...)
			ok = r.portWatchdog(port, c) && ok
		}
	}
	return ok
}

// shownPort returns a port that a show command names, without making it one that is configured.
func (r *reader) shownPort(c command, name string) *dellPort {
	p := r.ports[name]
	if p == nil {
		p = &dellPort{name: name, at: c.Line, bundle: strings.HasPrefix(name, "PortChannel")}
		r.ports[name], r.portOrder = p, append(r.portOrder, p)
	}
	return p
}
