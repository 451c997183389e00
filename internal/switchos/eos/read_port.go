package eos

import (
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// eosInInterface are the first words of lines of interfaces that have no bearing on lossless RoCE.
var eosInInterface = []string{
	"arp", "bfd", "bgp", "carrier-delay", "description", "dcbx", "dot1x", "encapsulation", "exit", "evpn", "hardware", "ip access-group", "ip arp", "ip attached-host", "ip attached-routes", "ip dhcp", "ip helper-address",
	"ip icmp", "ip igmp", "ip local-proxy-arp", "ip multicast", "ip nat", "ip ospf", "ip pim", "ip proxy-arp", "ip rip", "ip verify", "ip virtual-router", "ipv6", "isis", "l2-protocol",
	"lacp", "link-debounce", "link", "link-fault-signaling", "lldp", "load-interval", "logging", "loop-protection", "mac", "mac-address", "mlag", "mpls", "msrp", "multicast", "mvrp", "ntp", "phy", "pim", "poe", "ptp", "port-channel",
	"queue-monitor", "routing", "sflow", "snmp", "spanning-tree", "storm-control", "switchport backup", "switchport port-security", "switchport private-vlan", "switchport tap", "switchport tool", "switchport trunk allowed",
	"switchport trunk group", "switchport vlan", "switchport dot1q", "switchport source-interface", "switchport pvlan", "switchport phone", "traffic-loopback", "traffic-policy", "transceiver", "tcp", "unidirectional", "vrf", "vrrp", "vmtracer", "bandwidth-limit", "comment", "dhcp", "flow", "monitor", "mru",
	"shape rate", "show", "channel", "l2 mtu", "load-balance", "qos map",
}

// inInterface reads a line of an Ethernet or Port-Channel interface.
func (r *reader) inInterface(depth int, m eosMode, l switchtext.CLILine) bool {
	if r.inScope(depth, m, l) {
		return true
	}
	s := r.said
	rest, not := eosNot(l.Command)
	word, args, _ := strings.Cut(rest, " ")
	each := func(f func(p *portSaid)) bool {
		for _, p := range m.ports {
			f(p)
		}
		return true
	}
	switch word {
	case "shutdown", "mtu", "speed":
		return r.link(m.ports, word, args, not, l)
	case "error-correction":
		return s.fec(m.ports, rest, not, l.Line)
	case "flowcontrol":
		return s.linkPauses(m.ports, args, not, l.Line)
	case "switchport":
		return s.switchport(m.ports, args, not, l.Line)
	case "channel-group":
		n, _, _ := strings.Cut(args, " ")
		return each(func(p *portSaid) {
			if p.channel = "Port-Channel" + n; not {
				p.channel = ""
			}
		})
	case "service-profile":
		return (args != "" || not) && each(func(p *portSaid) {
			if not {
				p.profile = nil
			} else {
				eosSay(s, &p.profile, args, l.Line)
			}
		})
	}
	if word == "profile" {
		return r.useProfiles(depth, m, args, not, l)
	}
	if eosFirst(rest, "ip address") {
		return s.address(m.ports, rest, not, l.Line)
	}
	if eosFirst(rest, "evpn", "encapsulation vlan", "comment") && !not {
		r.push(depth, l, eosMode{kind: "ignored"}) // what is indented below it
		return true
	}
	return eosFirst(rest, eosInInterface...)
}

// inInterfaceProfile gathers the commands of an interface profile.
func (r *reader) inInterfaceProfile(m eosMode, l switchtext.CLILine) bool {
	command, ok := strings.CutPrefix(l.Command, "command ")
	if !ok {
		return eosFirst(l.Command, "exit")
	}
	l.Command, l.Prompt = command, ""
	r.said.ifProfiles[m.profile] = append(r.said.ifProfiles[m.profile], l)
	r.said.profiled[l.Line] = true
	return true
}

// useProfiles gives interfaces the commands of profiles, as if they were typed there. EOS prints profiles before interfaces.
func (r *reader) useProfiles(depth int, m eosMode, names string, not bool, l switchtext.CLILine) bool {
	if not {
		return false
	}
	for _, name := range strings.Fields(names) {
		lines, ok := r.said.ifProfiles[name]
		if !ok {
			r.said.problem(fabric.TextUndefined, m.ports[0].name, l.Line, "interface profile "+name+" is defined nowhere in the text", "The interface has nothing of it.")
		}
		at := len(r.stack) // a command may begin a queue, in which the next one stands
		for _, c := range lines {
			r.leave(c)
			in := len(r.stack)
			if in <= at && !r.inInterface(depth, m, c) || in > at && !r.inMode(in, c) && !r.inInterface(depth, m, c) {
				r.unread(c)
			}
		}
		r.stack = r.stack[:min(len(r.stack), at)]
	}
	return true
}

// link reads what a port is as a link.
func (r *reader) link(ports []*portSaid, word, args string, not bool, l switchtext.CLILine) bool {
	n, good := r.mtuOf(word, args, not, l)
	rate, speed := eosRate(args)
	for _, p := range ports {
		switch {
		case word == "shutdown":
			eosSay(r.said, &p.up, not, l.Line)
		case word == "mtu" && good:
			eosSay(r.said, &p.mtu, n, l.Line)
		case word == "mtu":
			p.mtu = nil
		case speed && !not:
			p.rate = &fabric.Said[float64]{Is: rate, At: l.Line}
		default:
			p.rate = nil
		}
	}
	switch word {
	case "mtu":
		return not || isNumber(args)
	case "speed":
		return not || speed || eosFirst(args, "auto")
	}
	return args == ""
}

func (r *reader) mtuOf(word, args string, not bool, l switchtext.CLILine) (int, bool) {
	if word != "mtu" {
		return 0, false
	}
	return r.mtu(args, not, l)
}

// address reads the address of ports.
func (s *eosSaid) address(ports []*portSaid, c string, not bool, at fabric.Line) bool {
	p, ok := eosAddress(strings.TrimPrefix(c, "ip address"))
	if !ok && !not && !eosFirst(c, "ip address dhcp", "ip address unnumbered") {
		return false
	}
	for _, q := range ports {
		if not {
			q.addresses = nil
		} else if ok {
			q.addresses = addAddress(q.addresses, p, c, at)
		}
	}
	return true
}

// linkPauses reads flow control of the whole link.
func (s *eosSaid) linkPauses(ports []*portSaid, args string, not bool, at fabric.Line) bool {
	for _, p := range ports {
		switch {
		case !not && strings.HasSuffix(args, " on"):
			p.linkPause = &fabric.Said[bool]{Is: true, At: at}
		case p.linkPause != nil && strings.HasPrefix(eosWords(p.linkPause.At.Text[max(0, strings.Index(p.linkPause.At.Text, "flowcontrol")):]), "flowcontrol "+strings.Fields(args + " x")[0]):
			p.linkPause = nil
		}
	}
	return not || eosFirst(args, "send", "receive")
}

func isNumber(s string) bool {
	_, err := strconv.Atoi(s)
	return err == nil
}

var speeds = pattern.Plain(`^(?:forced )?(?:auto )?(\d+(?:\.\d+)?)(g|full|gfull|half)?(?:-\d)?(?:full)?$`)

// eosRate reads 400g-8, 200g, forced 100gfull, auto 100gfull, and 10000full, which is in Mb/s.
func eosRate(s string) (float64, bool) {
	m := speeds().FindStringSubmatch(strings.ToLower(s))
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if m[2] == "full" || m[2] == "half" || m[2] == "" {
		n /= 1000
	}
	return n, err == nil && n > 0
}

// fec reads error-correction: reed-solomon, fire-code, or none of them.
func (s *eosSaid) fec(ports []*portSaid, c string, not bool, at fabric.Line) bool {
	args, ok := strings.CutPrefix(c, "error-correction encoding")
	if !ok {
		return eosFirst(c, "error-correction")
	}
	args = strings.TrimSpace(args)
	is := map[string]string{"reed-solomon": "rs", "fire-code": "fc", "disabled": "none", "": "none"}[strings.Join(strings.Fields(args), " ")]
	for _, p := range ports {
		switch {
		case not && (args == "" || p.fec != nil && p.fec.Is == is):
			p.fec = &fabric.Said[string]{Is: "none", At: at}
		case not || is == "":
		default:
			p.fec = &fabric.Said[string]{Is: is, At: at}
		}
	}
	return is != ""
}

// switchport reads whether a port is routed, and its VLANs.
func (s *eosSaid) switchport(ports []*portSaid, args string, not bool, at fabric.Line) bool {
	word, value, _ := strings.Cut(args, " ")
	place := func(p *portSaid) **fabric.Said[int] { return &p.access }
	switch {
	case args == "":
		for _, p := range ports {
			eosSay(s, &p.routed, not, at)
		}
		return true
	case word == "mode" && (not || eosFirst(value, "access", "trunk", "dot1q-tunnel", "tap", "tool", "tap-tool")):
		for _, p := range ports {
			if p.mode = nil; !not {
				p.mode = &fabric.Said[string]{Is: value, At: at}
			}
		}
		return true
	case eosFirst(args, "access vlan"):
	case eosFirst(args, "trunk native vlan"):
		place = func(p *portSaid) **fabric.Said[int] { return &p.native }
	default:
		return eosFirst("switchport "+args, eosInInterface...)
	}
	id, ok := eosNumber(args[strings.LastIndexByte(args, ' ')+1:], 4094)
	ok = ok && id > 0
	if !ok && !not && isNumber(args[strings.LastIndexByte(args, ' ')+1:]) {
		s.problem(fabric.TextRange, "", at, "VLAN ids are 1 to 4094", "EOS refuses it.")
		return true
	}
	tagged := !not && args == "trunk native vlan tag"
	for _, p := range ports {
		if eosFirst(args, "trunk native") {
			p.tagged = tagged
		}
		if not || tagged {
			*place(p) = nil
		} else if ok {
			eosSay(s, place(p), id, at)
		}
	}
	return ok || not || args == "trunk native vlan tag"
}
