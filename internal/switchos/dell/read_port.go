package dell

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/sonic"
)

// dellPort is what the texts say of a port.
type dellPort struct {
	name      string
	at        fabric.Line
	full      bool // the switch printed all that it has of this port
	set       bool // some text configures it: show qos interface has neither watchdog nor all queues
	listed    bool // show qos interface has all of its maps
	bundle    bool // a port channel
	up        *fabric.Said[bool]
	mtu       *fabric.Said[int]
	rate      *fabric.Said[float64]
	fec       *fabric.Said[string]
	addresses []fabric.Said[netip.Prefix]
	vlan      *fabric.Said[int]
	routed    *fabric.Said[int] // 0, where a line makes it a routed port without an address
	cable     *fabric.Said[int]
	group     string // port channel that it is in
	maps      [mapCount]*fabric.Said[string]
	wred      [8]*fabric.Said[string]
	sched     *fabric.Said[string]
	pfc       [8]*fabric.Said[bool]
	asym      *fabric.Said[bool]
	watchdog  fabric.WatchdogConfig
}

// portSyntax is the name of a port or port channel, in words with or without a blank; a part after a dot is a subinterface.
var portSyntax = pattern.Plain(`(?i)^(eth|ethernet|portchannel|port-channel|po)(\d+(?:/\d+){0,2})$`)

// portName returns the name of a port as the switch prints it: Eth1/1, Ethernet0, PortChannel10.
func portName(text string) (string, bool) {
	m := portSyntax().FindStringSubmatch(text)
	if m == nil {
		return "", false
	}
	slash := strings.Contains(m[2], "/")
	switch strings.ToLower(m[1]) {
	case "eth", "ethernet":
		if slash {
			return "Eth" + m[2], true
		}
		return "Ethernet" + m[2], true
	}
	return "PortChannel" + m[2], !slash
}

// interfacesIgnored are kinds of interfaces without bearing on lossless RoCE.
var interfacesIgnored = []string{"loopback", "management", "cpu", "vxlan", "nve", "media-fec", "transceiver", "subinterface"}

// dellInterface returns the words behind interface without range and create, and the name in them without its blanks.
func dellInterface(words []string) (rest []string, name string, isRange bool) {
	isRange = len(words) > 0 && strings.EqualFold(words[0], "range")
	if isRange {
		words = words[1:]
		if len(words) > 0 && strings.EqualFold(words[0], "create") {
			words = words[1:]
		}
	}
	switch {
	case len(words) == 0:
		return nil, "", isRange
	case isRange:
		return words, strings.Join(words, ""), true
	case len(words) > 1 && !strings.ContainsAny(words[0], "0123456789<"): // Eth 1/1; what follows a port channel is its mode
		return words, words[0] + words[1], false
	}
	return words, words[0], false
}

// enterInterface opens the block of a port, a VLAN, or an interface without bearing.
func (r *reader) enterInterface(c command) bool {
	before, configured := r.place, r.configured
	r.configured = true
	if c.is(1, "breakout", "port") {
		return r.breakout(c)
	}
	words, text, isRange := dellInterface(c.words[1:])
	if text == "" {
		return false
	}
	r.place = place{kind: inOther, head: c.Indent}
	if slices.Contains(interfacesIgnored, strings.ToLower(words[0])) {
		r.signs[2] = r.signs[2] || strings.EqualFold(words[0], "management")
		return true
	}
	if strings.ContainsAny(text, "<>{}[]") {
		r.place.kind = inLost
		r.problem(fabric.TextForeign, "", c.Line, "a placeholder stands where the name of an interface belongs", "what follows is given to a port only where a prompt names it")
		return true
	}
	kind, ids := strings.ToLower(strings.TrimRight(text, "0123456789/,-.")), strings.TrimLeft(strings.ToLower(text), "abcdefghijklmnopqrstuvwxyz-")
	switch {
	case kind == "vlan":
		return r.enterVLANs(c, ids, text)
	case slices.Contains(interfacesIgnored, kind) || kind == "eth" && ids == "0": // eth0 is Management 0
		r.signs[2] = r.signs[2] || kind == "management"
		return true
	case strings.Contains(ids, "."): // a subinterface: what its VLAN has, and not what the port has
		return true
	}
	names, ok := r.portNames(text, isRange)
	if !ok && (before.kind == inShow || before.kind == inClick) { // a column's title
		r.place, r.configured = before, configured
		return true
	}
	if !ok {
		r.place = place{}
		return false
	}
	if c.no {
		r.place = place{}
		for _, name := range names {
			if p := r.ports[name]; p != nil {
				delete(r.ports, name)
				r.portOrder = slices.DeleteFunc(r.portOrder, func(old *dellPort) bool { return old == p })
			}
		}
		return true
	}
	r.enterPorts(c, names)
	return true
}

// enterPorts opens the blocks of ports.
func (r *reader) enterPorts(c command, names []string) {
	r.place = place{kind: inPort, head: c.Indent, queue: -1}
	for _, name := range names {
		p := r.ports[name]
		if p == nil {
			p = &dellPort{name: name, at: c.Line, bundle: strings.HasPrefix(name, "PortChannel")}
			r.ports[name], r.portOrder = p, append(r.portOrder, p)
		}
		p.full, p.set = p.full || r.full, true
		r.place.ports = append(r.place.ports, p)
	}
}

// portNames expands a name or a range such as Eth1/1-1/4,1/7. Numbers of native names (Ethernet0, Ethernet8) skip by the
// lanes of the platform, so that between their ends only ports count that the text names.
func (r *reader) portNames(text string, isRange bool) ([]string, bool) {
	if !isRange {
		name, ok := portName(text)
		return []string{name}, ok
	}
	at := strings.IndexAny(text, "0123456789")
	if at < 0 {
		return nil, false
	}
	kind, list := text[:at], text[at:]
	var names []string
	for _, part := range strings.Split(list, ",") {
		from, to, span := strings.Cut(strings.TrimPrefix(part, kind), "-")
		first, ok := portName(kind + from)
		if !ok {
			return nil, false
		}
		if !span {
			names = append(names, first)
			continue
		}
		last, ok := portName(kind + strings.TrimPrefix(to, kind))
		if !ok {
			return nil, false
		}
		more, ok := r.portSpan(first, last)
		if !ok {
			return nil, false
		}
		names = append(names, more...)
		if len(names) > 4096 {
			return nil, false
		}
	}
	return names, true
}

func (r *reader) portSpan(first, last string) ([]string, bool) {
	cut := strings.LastIndexFunc(first, func(c rune) bool { return c < '0' || c > '9' }) + 1
	prefix := first[:cut]
	low, ok1 := dellNumber(first[cut:], 0, 4096)
	if !strings.HasPrefix(last, prefix) {
		return nil, false
	}
	high, ok2 := dellNumber(last[cut:], 0, 4096)
	if !ok1 || !ok2 || low > high {
		return nil, false
	}
	var names []string
	for n := low; n <= high; n++ {
		name := prefix + strconv.Itoa(n)
		if prefix == "Ethernet" && n != low && n != high && r.ports[name] == nil {
			continue
		}
		names = append(names, name)
	}
	return names, true
}

// breakout reads interface breakout port 1/1 mode 2x400G.
func (r *reader) breakout(c command) bool {
	r.place = place{}
	cage := strings.TrimPrefix(c.word(3), "Eth")
	if c.no {
		delete(r.breakouts, cage)
		return len(c.words) == 4
	}
	count, _, ok := strings.Cut(c.word(5), "x")
	n, isNumber := dellNumber(count, 1, 16)
	if !c.is(4, "mode") || !ok || !isNumber || len(c.words) != 6 {
		return false
	}
	if old, said := r.breakouts[cage]; said && old.Is != n {
		r.problem(fabric.TextDuplicate, "", c.Line, fmt.Sprintf("port %s is split into %d here and into %d in line %d", cage, n, old.Is, old.At.Number), "the last one counts")
	}
	r.breakouts[cage] = fabric.Said[int]{Is: n, At: c.Line}
	return true
}

// portLine reads a line of a port for each port of the block.
func (r *reader) portLine(c command) bool {
	for _, p := range r.place.ports {
		if !r.portSetting(p, c) {
			return false
		}
	}
	return len(r.place.ports) > 0
}

// portIgnored are lines of ports without bearing on lossless RoCE.
var portIgnored = []string{
	"access-group", "auth-type", "authentication", "autoneg", "bfd", "description", "dot1x", "downstream-group", "eee", "evpn", "hold-time", "ipv6", "isis",
	"lacp", "link-error-disable", "lldp", "load-interval", "lst", "mab", "mac", "mac-address", "mclag-separate-ip", "mka", "monitor", "mpls", "mvrp", "nat-zone", "network-policy",
	"ospf", "penalty", "phy", "poe", "port-security", "ptp", "rate-interval", "sflow", "snmp", "spanning-tree", "standalone-link-training", "storm-control", "system-mac",
	"threshold", "track", "udld", "unreliable-los", "vrrp", "fallback", "min-links", "graceful-shutdown", "link-training", "dampening", "keepalive", "advertise", "advertised-speed", "ndp",
}

// portSetting reads a line of a port. It keeps what is not a matter of QoS.
func (r *reader) portSetting(p *dellPort, c command) bool {
	word := strings.ToLower(c.words[0])
	switch word {
	case "shutdown":
		p.up = &fabric.Said[bool]{Is: c.no, At: c.Line}
		return len(c.words) == 1
	case "mtu":
		return r.mtu(&p.mtu, c, p.name)
	case "speed":
		return r.portSpeed(p, c)
	case "fec":
		return r.portFEC(p, c)
	case "ip":
		return r.portIP(p, c)
	case "ipv6":
		if c.is(1, "enable") && !c.no || c.is(1, "address") && !c.no {
			p.routed = &fabric.Said[int]{Is: 0, At: c.Line}
		}
		return true
	case "switchport":
		return r.portVLAN(p, c)
	case "channel-group":
		p.group = ""
		if n, ok := dellNumber(c.word(1), 0, 1<<16); ok && !c.no {
			p.group = "PortChannel" + strconv.Itoa(n)
		}
		return c.no || p.group != ""
	case "cable-length":
		if c.no {
			p.cable = nil
			return true
		}
		m, ok := dellNumber(strings.TrimSuffix(c.word(1), "m"), 1, 100000)
		if ok {
			dellSet(r, &p.cable, m, c.Line, p.name, "cable-length")
		}
		return ok
	case "qos-map", "scheduler-policy", "queue", "priority-flow-control", "pfc": // pfc: SONiC QoS management HLD 1.1
		r.qos = true
		return r.portQoS(p, c)
	}
	return r.portOther(word, c)
}

// portOther reads what buffers say, and a line that has no bearing on which packets are lossless.
func (r *reader) portOther(word string, c command) bool {
	switch word {
	case "ars": // ars profile, mclag domain and link state track of two words more open blocks of their own
		return c.is(1, "bind")
	case "mclag":
		return !c.is(1, "domain")
	case "link":
		return len(c.words) > 4
	case "qos": // qos buffer, as the first draft of the CLI had it
		if !c.is(1, "buffer") && !c.is(1, "default-lossless-buffer-profile") {
			return false
		}
		r.qos = true
		return !c.no
	case "buffer":
		r.qos = true
		return !c.no || !c.is(1, "default-lossless-buffer-profile") // without it a group has no room for what comes after its pause
	}
	return slices.Contains(portIgnored, word)
}

// mtu reads an MTU. It is that of IP: sonic-port.yang, 68 to 9216.
func (r *reader) mtu(at **fabric.Said[int], c command, port string) bool {
	if c.no {
		*at = nil
		return true
	}
	n, err := strconv.Atoi(c.word(1))
	if err != nil || len(c.words) != 2 {
		return false
	}
	if n < 68 || n > sonic.MaxMTU {
		r.problem(fabric.TextRange, port, c.Line, fmt.Sprintf("mtu %d is not in 68 to %d", n, sonic.MaxMTU), "the switch refuses the line")
		return true
	}
	dellSet(r, at, n, c.Line, port, "mtu")
	return true
}

func (r *reader) portSpeed(p *dellPort, c command) bool {
	if c.no || c.is(1, "auto") {
		p.rate = nil
		return true
	}
	text, unit := strings.ToUpper(c.word(1)), 1000.0 // Mb/s
	if n, ok := strings.CutSuffix(text, "G"); ok {
		text, unit = n, 1
	}
	n, ok := dellNumber(text, 1, 1<<24)
	if ok {
		dellSet(r, &p.rate, float64(n)/unit, c.Line, p.name, "speed")
	}
	return ok
}

func (r *reader) portFEC(p *dellPort, c command) bool {
	if c.no || c.is(1, "auto") || c.is(1, "default") {
		p.fec = nil
		return true
	}
	fec, ok := map[string]string{"rs": "rs", "fc": "fc", "none": "none", "off": "none"}[strings.ToLower(c.word(1))]
	if ok {
		dellSet(r, &p.fec, fec, c.Line, p.name, "fec")
	}
	return ok
}
