// Package dell is Dell Enterprise SONiC, by the CLI that Broadcom's management framework gives it: what is rendered for it, and
// what its running configuration and show commands say.
package dell

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/sonic"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// OS is Dell Enterprise SONiC, and Broadcom's SONiC with the same management framework, configured by sonic-cli:
// Broadcom 957608-AN209, 2.4.1.3, 2.4.2.3 and 2.5.2. No switch has parsed what is rendered.
type OS struct{}

// Names returns the id and the title of Dell Enterprise SONiC.
func (OS) Names() (id, title string) { return "dell-sonic", "Dell Enterprise SONiC" }

// Load returns the command that types a copied file into sonic-cli.
func (OS) Load(file string) string { return "sonic-cli < " + file }

// dellLength lists the cable lengths that the switch has headroom for (pg_profile_lookup.ini of the platforms; 5m and 40m
// stand in the examples of dellemc.enterprise_sonic.sonic_qos_interfaces).
var dellLength = []int{5, 40, 300}

// maxKB is the largest threshold of a WRED policy (dellemc.enterprise_sonic.sonic_qos_wred: 1000 to 12480000 bytes).
const maxKB = 12480

// Render returns commands that are added to the running configuration. Every block is left by exit: whether a line of an outer
// block is taken inside an inner one is for the version to know.
func (OS) Render(s fabric.Switch, t *fabric.Traffic) switchtext.Config {
	var b strings.Builder
	c := switchtext.Config{Path: "/etc/sonic/railwright.cli", Extension: ".cli", Omits: dellOmits(s, t)}
	fmt.Fprintf(&b, "configure terminal\nhostname %s\n!\n", s.Name)
	breakouts(&b, s)
	if t != nil {
		policies(&b, *t)
		dellMaps(&b, *t)
	}
	for _, v := range s.VLANs {
		fmt.Fprintf(&b, "interface Vlan %d\n", v.ID)
		if v.Name != "" {
			fmt.Fprintf(&b, " description %s\n", dellWord(v.Name))
		}
		if s.MTU > 0 && s.MTU <= sonic.MaxMTU {
			fmt.Fprintf(&b, " mtu %d\n", s.MTU) // one without is 1500 and ends transfers with status 12: AN209, 5.1 no. 2
		}
		if v.Gateway.IsValid() {
			fmt.Fprintf(&b, " ip address %s\n", v.Gateway)
		}
		b.WriteString("exit\n!\n")
	}
	var qos string // the same for every port
	if t != nil {
		qos = portQoS(*t)
	}
	for _, p := range s.Ports {
		portLines(&b, s, p)
		b.WriteString(qos + "exit\n!\n")
	}
	if s.BGP != nil {
		bgp(&b, *s.BGP)
	}
	b.WriteString("end\n")
	c.Text = []byte(b.String())
	return c
}

// dellOmits lists what a switch needs besides.
func dellOmits(s fabric.Switch, t *fabric.Traffic) []string {
	omits := []string{
		"management interface, interface-naming (its setting decides whether a port is Eth1/1 or Ethernet0), write memory",
		"standalone-link-training and unreliable-los: they depend on the cable, copper or optical, that the plan does not know",
	}
	bridged, slow, broken := false, false, false
	for _, p := range s.Ports {
		bridged = bridged || !p.Address.IsValid() && p.VLAN == 0
		slow = slow || p.RateGbps < 200
		broken = broken || p.Breakout > 1 && p.Cage != ""
	}
	if slow {
		omits = append(omits, "FEC of ports below 200 Gb/s: it depends on the cable")
	}
	if bridged {
		omits = append(omits, "VLANs of the subnets: the plan has no VLAN ids")
	}
	if s.MTU > sonic.MaxMTU {
		omits = append(omits, fmt.Sprintf("mtu: SONiC accepts at most %d bytes, not %d", sonic.MaxMTU, s.MTU))
	}
	if s.BGP == nil {
		omits = append(omits, "uplinks and routing to other switches")
	}
	if t == nil {
		return append(omits, "QoS maps and PFC: the plan has no traffic classes")
	}
	if dellLossless(*t) >= 0 {
		omits = append(omits, losslessOmits(*t, broken)...)
	}
	for _, c := range t.Classes {
		if c.ECN != nil {
			omits = append(omits, ecnOmit(*c.ECN)...)
		}
	}
	return omits
}

// losslessOmits says what lossless classes need that no pasted command gives.
func losslessOmits(t fabric.Traffic, broken bool) []string {
	out := []string{"buffer init lossless: without it (or roce enable, which also makes maps of its own) no buffer is lossless and PFC pauses nobody. It asks, saves and reboots, so that a person runs it once, before this file"}
	for _, c := range t.Classes {
		if c.Lossless && c.Priority != 3 && c.Priority != 4 {
			out = append(out, fmt.Sprintf("lossless buffers of priority group %d: buffer init gives them to groups 3 and 4 alone (Broadcom SONiC 4.1 RoCEv2 HLD, 2.2.4)", c.Priority))
		}
	}
	if broken {
		out = append(out, "a reboot: ports that a breakout makes after buffer init can be used only then (the same HLD, 2.2.9)")
	}
	switch m := cable(t.CableM); {
	case m == 0:
		out = append(out, fmt.Sprintf("cable-length: the plan has %d m, the switch has headroom for 5, 40 and 300 m", t.CableM))
	case m != t.CableM:
		out = append(out, fmt.Sprintf("cable-length: the plan has %d m, the switch has headroom for 5, 40 and 300 m; %d m is written", t.CableM, m))
	}
	return out
}

// ecnOmit says what the unit of the thresholds does to them.
func ecnOmit(e fabric.ECN) []string {
	low, high := kb(e.MinBytes), kb(e.MaxBytes)
	return []string{fmt.Sprintf("ECN thresholds of %d and %d bytes exactly: the command takes kB, written are %d and %d. Dell's Ansible collection and the default that prints as 1048 have 1000 bytes a kB; a version that takes 1024 marks 2.4 %% later; at most %d is accepted", e.MinBytes, e.MaxBytes, low, high, maxKB)}
}

// kb is a threshold as the command takes it: kB of 1000 bytes, rounded down, so that one of 1024 bytes comes out closer.
func kb(bytes int64) int64 { return max(1, min(maxKB, bytes/1000)) }

// cable is the shortest length that the switch knows and that is not below the cable's; 0: none.
func cable(m int) int {
	for _, length := range dellLength {
		if m <= length {
			return length
		}
	}
	return 0
}

// dellLossless is the priority of the first lossless class, -1 where no class is.
func dellLossless(t fabric.Traffic) int {
	for _, c := range t.Classes {
		if c.Lossless {
			return c.Priority
		}
	}
	return -1
}

// dellWord quotes a text that has blanks.
func dellWord(text string) string {
	if strings.ContainsAny(text, " \t") {
		return strconv.Quote(text)
	}
	return text
}

// breakouts splits cages, each once. Whether a mode exists is the platform's to know.
func breakouts(b *strings.Builder, s fabric.Switch) {
	done := make(map[string]bool)
	for _, p := range s.Ports {
		if p.Cage == "" || p.Breakout < 2 || p.RateGbps <= 0 || done[p.Cage] {
			continue
		}
		done[p.Cage] = true
		cage := p.Cage
		if !strings.Contains(cage, "/") {
			cage = "1/" + cage // slot 1: the only one
		}
		fmt.Fprintf(b, "interface breakout port %s mode %dx%gG\n", cage, p.Breakout, p.RateGbps)
	}
	if len(done) > 0 {
		b.WriteString("!\n")
	}
}

func portLines(b *strings.Builder, s fabric.Switch, p fabric.SwitchPort) {
	fmt.Fprintf(b, "interface %s\n description %s\n", p.Name, dellWord(p.Peer.String()))
	if s.MTU > 0 && s.MTU <= sonic.MaxMTU {
		fmt.Fprintf(b, " mtu %d\n", s.MTU)
	}
	if p.RateGbps > 0 {
		fmt.Fprintf(b, " speed %d\n", int(p.RateGbps*1000)) // Mb/s
	}
	if p.RateGbps >= 200 { // PAM4 lanes do not run without
		b.WriteString(" fec RS\n")
	}
	b.WriteString(" no shutdown\n")
	switch {
	case p.Address.IsValid():
		fmt.Fprintf(b, " ip address %s\n", p.Address)
	case p.VLAN > 0:
		fmt.Fprintf(b, " switchport access Vlan %d\n", p.VLAN)
	}
}

// bgp writes external BGP: paths by all neighbours are used together, also where their systems differ.
func bgp(b *strings.Builder, g fabric.BGP) {
	fmt.Fprintf(b, "router bgp %d\n", g.ASN)
	if g.RouterID.IsValid() {
		fmt.Fprintf(b, " router-id %s\n", g.RouterID)
	}
	b.WriteString(" bestpath as-path multipath-relax\n address-family ipv4 unicast\n")
	if n := len(g.Neighbours); n > 0 {
		fmt.Fprintf(b, "  maximum-paths %d\n", min(n, 64))
	}
	for _, n := range g.Networks {
		fmt.Fprintf(b, "  network %s\n", n)
	}
	b.WriteString("  exit\n")
	for _, n := range g.Neighbours {
		fmt.Fprintf(b, " neighbor %s\n  remote-as %d\n  address-family ipv4 unicast\n   activate\n   exit\n  exit\n", n.Address, n.ASN)
	}
	b.WriteString("exit\n!\n")
}
