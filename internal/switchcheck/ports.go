package switchcheck

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Rules about ports as such: that they are there, with their rate, addresses, VLANs and MTU.

func portsRule() Rule {
	return Rule{
		ID:        "switch-ports",
		Title:     "Each planned port of a switch is configured as planned",
		Doc:       "compares each port of the plan with the switch's text: present, up, split, rate, FEC, address, VLAN, bridge",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseLinkDown,
		Reference: "the plan; Broadcom RoCE guide 2.4.1.3 to 2.4.2.4",
		Judge:     eachSwitch(true, judgePorts),
	}
}

func judgePorts(s scene) []fabric.Finding {
	var out []fabric.Finding
	for _, p := range s.ports {
		if p.plan == nil {
			continue
		}
		if p.PortConfig == nil {
			out = append(out, s.absent(p))
			continue
		}
		out = append(out, s.portDiffers(p)...)
	}
	if len(out) == 0 && len(s.plan.Ports) > 0 {
		f := s.textPass()
		f.Expected = fmt.Sprintf("%d ports", len(s.plan.Ports))
		return []fabric.Finding{f}
	}
	return out
}

// absent judges a planned port of which the text does not speak: in a whole configuration that is its state, in an excerpt
// nothing is known.
func (s scene) absent(p port) fabric.Finding {
	if slices.ContainsFunc(s.of.Texts, func(t fabric.SwitchText) bool { return t.Whole }) {
		return s.fail(p.name(), "This port, planned for "+p.plan.Peer.String()+", is not in the configuration of "+s.of.Name+".", "", "no link, or one without classes")
	}
	return s.unknown(p.name(), "no text that was read speaks of this planned port")
}

func (s scene) portDiffers(p port) []fabric.Finding {
	var out []fabric.Finding
	differ := func(what, have, want, cost string, at fabric.Line) {
		out = append(out, s.fail(p.name(), fmt.Sprintf("%s has %s %s, the plan %s.", p.name(), what, have, want), want, cost, at))
	}
	if p.Up != nil && !p.Up.Is {
		out = append(out, s.fail(p.name(), p.name()+" is switched off; "+p.plan.Peer.String()+" is planned there.", "on", "no link", p.Up.At))
	}
	if want := p.plan.RateGbps; p.RateGbps != nil && want > 0 && p.RateGbps.Is != want {
		differ("rate", fmt.Sprintf("%g Gb/s", p.RateGbps.Is), fmt.Sprintf("%g Gb/s", want), "no link, or a slower one", p.RateGbps.At)
	}
	if want := p.plan.Breakout; p.Breakout != nil && want > 0 && p.Breakout.Is != want {
		differ("its cage split into", fmt.Sprint(p.Breakout.Is), fmt.Sprint(want), "no link", p.Breakout.At)
	}
	// Signals of 50 Gb/s and more a lane have no link without RS-FEC (IEEE 802.3bs and 802.3cd, clauses 91, 119, 134).
	if p.FEC != nil && p.FEC.Is != "rs" && p.plan.RateGbps >= 200 {
		differ("FEC", p.FEC.Is, "rs", "no link", p.FEC.At)
	}
	if want := p.plan.Address; want.IsValid() {
		out = append(out, s.addressDiffers(p, want)...)
	}
	if want := p.plan.VLAN; p.VLAN != nil && want > 0 && p.VLAN.Is != want {
		differ("VLAN", fmt.Sprint(p.VLAN.Is), fmt.Sprint(want), "its NIC reaches no NIC of its rail", p.VLAN.At)
	}
	if p.Bridged != nil && !p.Bridged.Is && !p.plan.Address.IsValid() {
		out = append(out, s.fail(p.name(), p.name()+" is in no bridge; "+p.plan.Peer.String()+" is planned there.", "a port of the bridge", "its NIC reaches no other", p.Bridged.At))
	}
	return append(out, s.unsaid(p)...)
}

// unsaid names what the rendered configuration says of a port and the texts do not: with a default that is unknown, or in
// another place, it may be as planned or not.
func (s scene) unsaid(p port) []fabric.Finding {
	want := s.rendered(p)
	if want == nil {
		want = &fabric.PortConfig{}
	}
	var parts []string
	add := func(what string, planned, read bool) {
		if planned && !read {
			parts = append(parts, what)
		}
	}
	add("whether it is on", want.Up != nil, p.Up != nil)
	add("its rate", want.RateGbps != nil, p.RateGbps != nil)
	add("its FEC", want.FEC != nil, p.FEC != nil)
	add("how its cage is split", want.Breakout != nil && want.Breakout.Is > 1, p.Breakout != nil)
	add("its VLAN", want.VLAN != nil && p.plan.VLAN > 0, p.VLAN != nil)
	add("whether it is in a bridge", want.Bridged != nil && !p.plan.Address.IsValid(), p.Bridged != nil)
	add("whether it is routed", want.VLAN != nil && want.VLAN.Is == 0 && p.plan.Address.IsValid(), p.VLAN != nil)
	if len(parts) == 0 {
		return nil
	}
	return []fabric.Finding{s.unknown(p.name(), "in no text that was read: "+strings.Join(parts, ", "), p.At)}
}

func (s scene) addressDiffers(p port, want netip.Prefix) []fabric.Finding {
	var have []string
	var at []fabric.Line
	for _, a := range p.Addresses {
		if a.Is == want {
			return nil
		}
		have, at = append(have, a.Is.String()), append(at, a.At)
	}
	if len(have) == 0 {
		return []fabric.Finding{s.unknown(p.name(), "no text that was read has its address", p.At)}
	}
	return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s has address %s, the plan %s.", p.name(), strings.Join(have, ", "), want), want.String(),
		"its NIC does not reach its gateway", at...)}
}

func mtuRule() Rule {
	return Rule{
		ID:    "switch-mtu",
		Title: "Every port of a switch forwards what the NICs send",
		Doc: "compares the MTU of each port, as the largest IP packet, with that of the NICs; without a plan with what RoCE's packets of 4096 bytes need. " +
			"So for the interfaces of VLANs by which a switch routes",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseMTUMismatch,
		Reference: "Linux, iboe_get_mtu: 4096 bytes and 96 of headers; Broadcom RoCE guide 2.6 no. 10 and 11, 5.1 no. 2",
		Judge:     eachSwitch(false, judgeMTU),
	}
}

// leastRoCE is the least MTU for RoCE's packets of 4096 bytes, in bytes of IP (docs/roce.md).
const leastRoCE = 4192

func judgeMTU(s scene) []fabric.Finding {
	least, whose := leastRoCE, "RoCE's packets of 4096 bytes need"
	if s.Plan != nil && s.plan != nil {
		least, whose = s.Plan.MTU, "the NICs send"
	}
	const cost = "larger packets are dropped: RDMA ends with status 12, while small pings work"
	out := s.eachPort(fmt.Sprintf("at least %d bytes", least), func(p port) []fabric.Finding {
		switch {
		case p.MTU == nil:
			return []fabric.Finding{s.unknown(p.name(), "its MTU is in no text that was read", p.At)}
		case p.MTU.Is < least:
			return []fabric.Finding{s.fail(p.name(), fmt.Sprintf("%s forwards IP packets of at most %d bytes; %s %d.", p.name(), p.MTU.Is, whose, least),
				fmt.Sprintf("at least %d bytes", least), cost, p.MTU.At)}
		}
		return nil
	})
	out = append(out, s.interfacesUnread()...)
	for _, v := range s.of.VLANs {
		if v.MTU != nil && len(v.Addresses) > 0 && v.MTU.Is < least && (s.plan == nil || slices.ContainsFunc(s.plan.VLANs, func(w fabric.VLAN) bool { return w.ID == v.ID })) {
			name := fmt.Sprintf("VLAN %d", v.ID)
			out = append(out, s.fail(name, fmt.Sprintf("The interface of %s routes IP packets of at most %d bytes; %s %d.", name, v.MTU.Is, whose, least),
				fmt.Sprintf("at least %d bytes", least), cost, v.MTU.At))
		}
	}
	return out
}

// interfacesUnread names the interfaces of VLANs whose rendered MTU no text has.
func (s scene) interfacesUnread() []fabric.Finding {
	want := s.Rendered[s.of.Name]
	if want == nil {
		return nil
	}
	var out []fabric.Finding
	for _, w := range want.VLANs {
		i := slices.IndexFunc(s.of.VLANs, func(v fabric.VLANConfig) bool { return v.ID == w.ID })
		if w.MTU != nil && i >= 0 && s.of.VLANs[i].MTU == nil {
			name := fmt.Sprintf("VLAN %d", w.ID)
			out = append(out, s.unknown(name, "the MTU of its interface is in no text that was read", s.of.VLANs[i].At))
		}
	}
	return out
}

func routingRule() Rule {
	return Rule{
		ID:        "switch-routing",
		Title:     "VLANs, gateways and BGP of a switch are as planned",
		Doc:       "compares the VLANs with their gateways, and the BGP sessions to other switches, with the plan",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseRouteMissing,
		Reference: "the plan; Broadcom RoCE guide 2.4.1.3 and 2.4.1.4; RFC 7938",
		Judge:     eachSwitch(true, judgeRouting),
	}
}

func judgeRouting(s scene) []fabric.Finding {
	if len(s.plan.VLANs) == 0 && s.plan.BGP == nil {
		return []fabric.Finding{s.finding("", fabric.NotApplicable, "the plan has no VLANs and no other switches here")}
	}
	var out []fabric.Finding
	for _, want := range s.plan.VLANs {
		out = append(out, s.vlanDiffers(want)...)
	}
	if s.plan.BGP != nil {
		out = append(out, s.bgpDiffers(s.plan.BGP)...)
	}
	if len(out) == 0 {
		return []fabric.Finding{s.textPass()}
	}
	return out
}

func (s scene) vlanDiffers(want fabric.VLAN) []fabric.Finding {
	name := fmt.Sprintf("VLAN %d", want.ID)
	for _, v := range s.of.VLANs {
		if v.ID != want.ID {
			continue
		}
		if !want.Gateway.IsValid() || slices.ContainsFunc(v.Addresses, func(a fabric.Said[netip.Prefix]) bool { return a.Is == want.Gateway }) {
			return nil
		}
		return []fabric.Finding{s.fail(name, fmt.Sprintf("%s does not have the gateway %s.", name, want.Gateway), want.Gateway.String(), "no NIC of this rail reaches other rails", v.At)}
	}
	return []fabric.Finding{s.lacks(name, name+", "+want.Name+" of the plan,")}
}

// lacks judges something planned that no text has.
func (s scene) lacks(part, what string) fabric.Finding {
	if slices.ContainsFunc(s.of.Texts, func(t fabric.SwitchText) bool { return t.Whole }) {
		return s.fail(part, what+" is not in the configuration of "+s.of.Name+".", "", "NICs behind it are not reached")
	}
	return s.unknown(part, what+" is in no text that was read")
}

func (s scene) bgpDiffers(want *fabric.BGP) []fabric.Finding {
	have := s.of.BGP
	if have == nil {
		return []fabric.Finding{s.lacks("", fmt.Sprintf("BGP with ASN %d", want.ASN))}
	}
	var out []fabric.Finding
	if have.ASN.Is != want.ASN {
		out = append(out, s.fail("", fmt.Sprintf("%s is in AS %d, the plan has %d.", s.of.Name, have.ASN.Is, want.ASN), fmt.Sprint(want.ASN), "its sessions to other switches do not come up", have.ASN.At))
	}
	for _, w := range want.Neighbours {
		i := slices.IndexFunc(have.Neighbours, func(n fabric.BGPNeighbour) bool { return n.Address == w.Address })
		switch {
		case i < 0:
			out = append(out, s.lacks("", "The BGP neighbour "+w.Address.String()))
		case have.Neighbours[i].ASN != w.ASN:
			out = append(out, s.fail("", fmt.Sprintf("The BGP neighbour %s is in AS %d there, in the plan in %d.", w.Address, have.Neighbours[i].ASN, w.ASN), fmt.Sprint(w.ASN),
				"this session does not come up, and its path is not used", have.Neighbours[i].At))
		}
	}
	return out
}
