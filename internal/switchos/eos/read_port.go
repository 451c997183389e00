package eos

import (
	"math"
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
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
	if eosFirst(rest, "ip address") {
		return s.address(m.ports, rest, not, l.Line)
	}
	if eosFirst(rest, "evpn", "encapsulation vlan", "comment") && !not {
		r.push(depth, l, eosMode{kind: "ignored"}) // what is indented below it
		return true
	}
	return eosFirst(rest, eosInInterface...)
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

var speeds = regexp.MustCompile(`^(?:forced )?(?:auto )?(\d+(?:\.\d+)?)(g|full|gfull|half)?(?:-\d)?(?:full)?$`)

// eosRate reads 400g-8, 200g, forced 100gfull, auto 100gfull, and 10000full, which is in Mb/s.
func eosRate(s string) (float64, bool) {
	m := speeds.FindStringSubmatch(strings.ToLower(s))
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
	for _, p := range ports {
		if not {
			*place(p) = nil
		} else if ok {
			eosSay(s, place(p), id, at)
		}
	}
	return ok || not || args == "trunk native vlan tag"
}

// openBGP begins router bgp.
func (r *reader) openBGP(l switchtext.CLILine, args string, not bool) bool {
	as, ok := eosAS(strings.TrimPrefix(args, "bgp "))
	r.stack = nil
	if not {
		r.said.bgp = nil
		return true
	}
	if !ok {
		return false
	}
	s := r.said
	if s.bgp != nil && s.bgp.ASN.Is != as {
		s.problem(fabric.TextDuplicate, "", l.Line, "a second BGP with another number", "EOS refuses it.")
	}
	if s.bgp == nil {
		s.bgp = &fabric.BGPConfig{ASN: fabric.Said[uint32]{Is: as, At: l.Line}}
	}
	r.push(0, l, eosMode{kind: "bgp"})
	return true
}

// eosAS reads a number of an autonomous system, as 65000 or 1.5.
func eosAS(s string) (uint32, bool) {
	if high, low, ok := strings.Cut(s, "."); ok {
		h, err := strconv.ParseUint(high, 10, 16)
		l, err2 := strconv.ParseUint(low, 10, 16)
		return uint32(h<<16 | l), err == nil && err2 == nil
	}
	n, err := strconv.ParseUint(s, 10, 32)
	return uint32(n), err == nil && n > 0 && n <= math.MaxUint32
}

// member is a neighbour of BGP whose number its peer group may say.
type member struct {
	address netip.Addr
	group   string
	at      fabric.Line
}

// grouped adds the neighbours that have their number from a peer group.
func (s *eosSaid) grouped() {
	if s.bgp == nil {
		return
	}
	for _, m := range s.members {
		as, ok := s.groupAS[m.group]
		if _, have := s.neighbour[m.address]; have {
			continue
		}
		if !ok {
			s.problem(fabric.TextUndefined, "", m.at, "peer group "+m.group+" has no number of an autonomous system in the text", "The session is not set up.")
			continue
		}
		s.neighbour[m.address] = len(s.bgp.Neighbours)
		s.bgp.Neighbours = append(s.bgp.Neighbours, fabric.BGPNeighbour{Address: m.address, ASN: as, At: m.at})
	}
}

// inBGP reads the sessions of BGP; what it announces is no part of the model.
func (r *reader) inBGP(l switchtext.CLILine) bool {
	s := r.said
	rest, not := eosNot(l.Command)
	f := strings.Fields(rest)
	if f[0] == "neighbor" && len(f) >= 3 {
		a, err := netip.ParseAddr(f[1])
		if err != nil || s.bgp == nil {
			if as, ok := eosAS(f[len(f)-1]); ok && f[2] == "remote-as" {
				s.groupAS[f[1]] = as
			}
			return true
		}
		if g := f[len(f)-1]; !not && (f[2] == "peer" && len(f) == 5 || f[2] == "peer-group" && len(f) == 4) {
			s.members = append(s.members, member{a, g, l.Line})
		}
		if f[2] == "remote-as" && len(f) == 4 {
			as, ok := eosAS(f[3])
			if !ok {
				return false
			}
			if i, have := s.neighbour[a]; have && i < len(s.bgp.Neighbours) {
				if n := &s.bgp.Neighbours[i]; n.ASN != as && !not {
					s.problem(fabric.TextDuplicate, "", l.Line, "says again what line \""+n.At.Text+"\" said, with another value", "The last one counts.")
				}
				s.bgp.Neighbours[i].ASN, s.bgp.Neighbours[i].At = as, l.Line
			} else if !not {
				s.neighbour[a] = len(s.bgp.Neighbours)
				s.bgp.Neighbours = append(s.bgp.Neighbours, fabric.BGPNeighbour{Address: a, ASN: as, At: l.Line})
			}
		}
		return true
	}
	return eosFirst(rest, "neighbor", "router-id", "maximum-paths", "network", "redistribute", "bgp", "timers", "distance", "address-family", "graceful-restart", "graceful-restart-helper",
		"aggregate-address", "dynamic", "update", "vlan", "vrf", "rd", "route-target", "shutdown", "activate", "exit", "ip", "no", "local-as", "dynamic-prefixes", "exit-address-family", "ucmp", "rpki", "vlan-aware-bundle", "logging", "monitoring")
}
