package eos

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// ignored are the first words of lines and blocks that have no bearing on lossless RoCE.
var ignored = []string{
	"aaa", "agent", "alias", "arp", "bfd", "boot", "clock", "config", "configure", "copy", "daemon", "dcbx", "dhcp", "dns", "dot1x", "dynamic", "email", "enable", "end", "abort", "commit",
	"errdisable", "event-handler", "event-monitor", "exit", "flow", "group", "hardware", "hostname", "ip access-list", "ip arp",
	"ip as-path", "ip community-list", "ip dhcp", "ip domain", "ip domain-list", "ip domain-lookup", "ip domain-name", "ip extcommunity-list", "ip ftp", "ip host", "ip http", "ip icmp",
	"ip igmp", "ip load-sharing", "ip multicast", "ip multicast-routing", "ip name-server", "ip nat", "ip prefix-list", "ip radius", "ip route", "ip routing vrf", "ip security",
	"ip ssh", "ip tacacs", "ip tftp", "ip virtual-router", "ip routing ipv6", "ipv6", "lacp", "l2-protocol", "lldp", "load-interval", "load-balance", "logging", "mac", "management", "match-list", "mlag",
	"monitor", "mpls", "ntp", "patch", "peer-filter", "permit", "deny", "platform", "policy-map type copp", "policy-map type control-plane", "policy-map type pbr", "policy-map type pdp",
	"class-map type copp", "class-map type control-plane", "class-map type pbr", "port-channel", "power", "prompt", "ptp", "queue-monitor", "radius-server", "route-map",
	"router bfd", "router general", "router isis", "router l2-vpn", "router msdp", "router multicast", "router ospf", "router ospf3", "router pim", "router rip", "router traffic-engineering", "router igmp",
	"schedule", "seq", "service configuration", "service routing", "service unsupported-transceiver", "sflow", "snmp-server", "spanning-tree", "switch forwarding-mode", "system", "tacacs-server",
	"tcam", "terminal", "traffic-loopback", "traffic-policies", "transceiver", "trap", "tunnel", "username", "vmtracer", "vrf", "vxlan", "wr", "write", "xcvr", "zerotouch", "mount", "maintenance", "role", "sampled-flow",
	"qos random-detect", "qos map exp", "qos rewrite cos", "qos tx-queue", "qos traffic-class", "ip ttl", "ip hardware", "banner", "no shutdown",
}

// noBlocks are ignored words that begin no block.
var noBlocks = []string{"end", "exit", "configure", "enable", "no shutdown", "write", "wr", "commit", "abort"}

// global reads a line outside of all blocks.
func (r *reader) global(l switchtext.CLILine) bool {
	s, c := r.said, l.Command
	rest, not := eosNot(c)
	word, args, _ := strings.Cut(rest, " ")
	switch {
	case word == "hostname" && args != "":
		if !not {
			eosSay(s, &s.hostname, args, l.Line)
		}
		r.stack = nil
		return true
	case rest == "interface defaults":
		r.stack = nil
		if r.push(0, l, eosMode{kind: "defaults"}); not {
			s.defaults = eosDefaults{}
		}
		return true
	case word == "switchport" && eosFirst(args, "default"):
		r.stack = nil
		s.defaults.routed = nil
		if args == "default mode routed" && !not {
			s.defaults.routed = &fabric.Said[bool]{Is: true, At: l.Line}
		}
		return true
	case word == "interface" && args != "":
		return r.openInterface(l, args, not)
	case eosFirst(rest, "qos map", "qos rewrite dscp"):
		r.stack = nil
		return eosFirst(rest, "qos map exp") || s.qosMap(rest, not, l.Line)
	case eosFirst(rest, "qos profile"):
		return r.openProfile(l, strings.TrimPrefix(rest, "qos profile "), not)
	case word == "priority-flow-control":
		r.stack = nil
		return s.globalPFC(rest, not, l.Line)
	case word == "vlan" && !eosFirst(args, "internal"):
		return r.openVLANs(l, args, not)
	case word == "vlan":
		return true
	case eosFirst(rest, "router bgp"):
		return r.openBGP(l, args, not)
	case word == "route-map" && args != "" || eosFirst(rest, "ip prefix-list") && len(strings.Fields(rest)) > 2:
		return r.routePolicy(l, rest, not)
	case rest == "ip routing":
		s.routing = &fabric.Said[bool]{Is: !not, At: l.Line}
		return true
	case word == "policy-map" || word == "class-map":
		if opened, known := r.openPolicy(l, rest, not); known {
			return opened
		}
	}
	if !eosFirst(rest, ignored...) && !eosFirst(c, ignored...) {
		return false
	}
	r.stack = nil
	if !not && !eosFirst(rest, noBlocks...) {
		r.push(0, l, eosMode{kind: "ignored"})
	}
	return true
}

func (r *reader) openInterface(l switchtext.CLILine, name string, not bool) bool {
	if profile, ok := strings.CutPrefix(name, "profile "); ok {
		r.stack = nil
		if delete(r.said.ifProfiles, profile); !not {
			r.said.ifProfiles[profile] = nil
			r.push(0, l, eosMode{kind: "interface profile", profile: profile})
		}
		return true
	}
	kind, numbers, ok := interfaces(name)
	if !ok {
		r.stack = nil
		r.push(0, l, eosMode{kind: "ignored"})
		return false
	}
	m := eosMode{kind: "interface"}
	switch kind {
	case "Vlan":
		m.kind = "svi"
		for _, n := range numbers {
			if id, err := strconv.Atoi(n); err == nil && id >= 1 && id <= 4094 {
				m.vlans = append(m.vlans, id)
				r.said.vlan(id, l.Line)
				r.said.svi[id] = true
			}
		}
		if len(m.vlans) != len(numbers) {
			r.said.problem(fabric.TextRange, "", l.Line, "VLAN ids are 1 to 4094", "EOS refuses it.")
		}
	case "Ethernet", "Port-Channel":
		if strings.Contains(name, ".") { // a part of a port, by tag: RoCE has whole ports
			m.kind = "other interface"
			break
		}
		for _, n := range numbers {
			p := r.said.port(kind+n, l.Line)
			if not {
				*p = portSaid{eosScope: eosScope{name: p.name, at: p.at}}
			}
			p.configured = true
			m.ports, m.scopes = append(m.ports, p), append(m.scopes, &p.eosScope)
		}
	default:
		m.kind = "other interface"
	}
	r.stack = nil
	if !not {
		r.push(0, l, m)
	}
	return true
}

// vlan returns a VLAN; its line is where the text first speaks of it.
func (s *eosSaid) vlan(id int, at fabric.Line) *fabric.VLANConfig {
	if v := s.vlans[id]; v != nil {
		return v
	}
	s.vlans[id] = &fabric.VLANConfig{ID: id, At: at}
	s.vlanOrder = append(s.vlanOrder, id)
	return s.vlans[id]
}

func (r *reader) openVLANs(l switchtext.CLILine, list string, not bool) bool {
	ids, ok := eosNumbers(list, 4094)
	r.stack = nil
	if !ok {
		if regexp.MustCompile(`^[\d,-]+$`).MatchString(list) {
			r.said.problem(fabric.TextRange, "", l.Line, "VLAN ids are 1 to 4094", "EOS refuses it.")
			return true
		}
		return false
	}
	for _, id := range ids {
		switch {
		case not:
			delete(r.said.vlans, id)
			delete(r.said.vlanDefined, id)
		case id == 0:
			r.said.problem(fabric.TextRange, "", l.Line, "VLAN ids are 1 to 4094", "EOS refuses it.")
		default:
			r.said.vlan(id, l.Line)
			r.said.vlanDefined[id] = true
		}
	}
	if !not {
		r.push(0, l, eosMode{kind: "vlan"})
	}
	return true
}

// inSVI reads the interface of a VLAN.
func (r *reader) inSVI(m eosMode, l switchtext.CLILine) bool {
	rest, not := eosNot(l.Command)
	word, args, _ := strings.Cut(rest, " ")
	switch {
	case word == "mtu":
		n, ok := r.mtu(args, not, l)
		for _, id := range m.vlans {
			if v := r.said.vlan(id, l.Line); ok {
				eosSay(r.said, &v.MTU, n, l.Line)
			} else {
				v.MTU = nil
			}
		}
		return ok || not
	case eosFirst(rest, "ip address"):
		p, ok := eosAddress(strings.TrimPrefix(rest, "ip address"))
		for _, id := range m.vlans {
			v := r.said.vlan(id, l.Line)
			switch {
			case not:
				v.Addresses = nil
			case ok:
				v.Addresses = addAddress(v.Addresses, p, rest, l.Line)
			}
		}
		return ok || not
	}
	return eosFirst(rest, eosInInterface...) || eosFirst(rest, "autostate", "no", "shutdown", "vrf", "qos trust", "service-policy", "pvlan")
}

// inDefaults reads what interfaces have that do not say it themselves.
func (r *reader) inDefaults(l switchtext.CLILine) bool {
	rest, not := eosNot(l.Command)
	word, args, _ := strings.Cut(rest, " ")
	switch word {
	case "mtu":
		n, ok := r.mtu(args, not, l)
		if r.said.defaults.mtu = nil; ok {
			r.said.defaults.mtu = &fabric.Said[int]{Is: n, At: l.Line}
		}
		return not || isNumber(args)
	case "shutdown":
		r.said.defaults.up = &fabric.Said[bool]{Is: not, At: l.Line}
		return true
	}
	return word == "ethernet" || word == "exit"
}

// mtu reads an MTU; a number that EOS refuses is a problem, and no MTU.
func (r *reader) mtu(args string, not bool, l switchtext.CLILine) (int, bool) {
	n, err := strconv.Atoi(args)
	if not || err != nil {
		return 0, false
	}
	if n < 68 || n > 10178 { // 9214 on most platforms, 10178 on some
		r.said.problem(fabric.TextRange, "", l.Line, "mtu is 68 to 9214 bytes, on some platforms to 10178", "EOS refuses it.")
		return 0, false
	}
	return n, true
}

// eosAddress reads an address: with a length, or with a mask.
func eosAddress(args string) (netip.Prefix, bool) {
	f := strings.Fields(args)
	if len(f) > 0 && f[0] == "virtual" {
		f = f[1:]
	}
	if len(f) > 0 && f[len(f)-1] == "secondary" {
		f = f[:len(f)-1]
	}
	if len(f) == 2 {
		mask, err := netip.ParseAddr(f[1])
		if err != nil || !mask.Is4() {
			return netip.Prefix{}, false
		}
		b := mask.As4()
		n := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
		bits := 0
		for ; n&(1<<31) != 0; n <<= 1 {
			bits++
		}
		if n != 0 {
			return netip.Prefix{}, false
		}
		f = []string{f[0] + "/" + strconv.Itoa(bits)}
	}
	if len(f) != 1 {
		return netip.Prefix{}, false
	}
	p, err := netip.ParsePrefix(f[0])
	return p, err == nil && p.Addr().Is4()
}

// addAddress adds an address: the first one is replaced by another first one, secondary ones are added.
func addAddress(have []fabric.Said[netip.Prefix], p netip.Prefix, c string, at fabric.Line) []fabric.Said[netip.Prefix] {
	said := fabric.Said[netip.Prefix]{Is: p, At: at}
	if strings.HasSuffix(c, " secondary") || len(have) == 0 {
		return append(have, said)
	}
	return append([]fabric.Said[netip.Prefix]{said}, have[1:]...)
}
