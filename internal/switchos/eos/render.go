// Package eos is Arista EOS, by its CLI: what is rendered for it, and what its running configuration and show commands say.
package eos

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// OS is Arista EOS, configured by its CLI: Broadcom 957608-AN209, 2.5.1, without its `qos map traffic-class 3 to
// dscp 26`, which rewrites the DSCP and classifies nothing. Syntax: Arista EOS User Manual, "Quality of Service", "DCBX and
// Flow Control", and the templates of aristanetworks/avd, whose output is applied to switches. No switch has parsed this text.
type OS struct{}

// eosMTU is the largest mtu of an interface, in bytes of IP: Arista EOS User Manual, "Ethernet Ports", mtu: 68 to 9214.
const eosMTU = 9214

// Names returns the id and the title of Arista EOS.
func (OS) Names() (id, title string) { return "eos", "Arista EOS" }

// Load returns the command that adds a copied file to the running configuration.
func (OS) Load(file string) string { return "copy flash:" + file + " running-config" }

// Render returns commands that are added to the running configuration.
func (OS) Render(s fabric.Switch, t *fabric.Traffic) switchtext.Config {
	var b strings.Builder
	c := switchtext.Config{Path: "/mnt/flash/railwright.cfg", Extension: ".cfg", Omits: []string{
		"management interface, users, time: not RoCE",
		"link training: automatic with cables that need it, and its command differs by platform",
	}}
	fmt.Fprintf(&b, "hostname %s\n!\n", s.Name)
	if routes(s) {
		b.WriteString("ip routing\n!\n")
	}
	for _, v := range s.VLANs {
		fmt.Fprintf(&b, "vlan %d\n   name %s\n!\n", v.ID, eosName(v.Name))
	}
	if t == nil {
		c.Omits = append(c.Omits, "QoS maps and PFC: the plan has no traffic classes")
	} else {
		c.Omits = append(c.Omits, eosTraffic(&b, *t)...)
	}
	mtu := min(s.MTU, eosMTU)
	if s.MTU > eosMTU {
		c.Omits = append(c.Omits, fmt.Sprintf("mtu %d: EOS takes at most %d", s.MTU, eosMTU))
	}
	for _, p := range s.Ports {
		eosPort(&b, mtu, p, t != nil)
	}
	for _, v := range s.VLANs {
		gateway(&b, mtu, v)
	}
	eosBGP(&b, s.BGP)
	c.Omits = append(c.Omits, omitsOfPorts(s)...)
	c.Text = []byte(b.String())
	return c
}

func routes(s fabric.Switch) bool {
	return s.BGP != nil || slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return p.Address.IsValid() }) ||
		slices.ContainsFunc(s.VLANs, func(v fabric.VLAN) bool { return v.Gateway.IsValid() })
}

func omitsOfPorts(s fabric.Switch) (out []string) {
	if slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return eosSpeed(p) == "" }) {
		out = append(out, "speed of ports: the number of lanes of their cages is not in the catalog")
	}
	if len(s.VLANs) == 0 && slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return !p.Address.IsValid() }) {
		out = append(out, "VLANs of the subnets: the plan has no VLAN ids")
	}
	if s.BGP == nil && slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return p.Uplink }) {
		out = append(out, "routing to other switches: the plan has none")
	}
	return out
}

// eosName is a name without what the CLI splits at.
func eosName(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || r == '"' || r == '!' {
			return '-'
		}
		return r
	}, s)
}

// eosTraffic maps DSCP to traffic class, and puts PFC, shares and ECN into one profile for all ports. A traffic class has
// the number of its priority. Every DSCP is written: EOS's own map puts DSCP 24 to 31 into class 3 and 48 to 55 into class 6.
// Thresholds are in bytes: whether EOS's kbyte is 1000 or 1024 of them is in no source at hand.
func eosTraffic(b *strings.Builder, t fabric.Traffic) (omits []string) {
	for _, c := range t.Classes {
		fmt.Fprintf(b, "qos map dscp %d to traffic-class %d\n", c.DSCP, c.Priority)
	}
	b.WriteString("qos map dscp")
	for dscp := range 64 {
		if !slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.DSCP == dscp }) {
			fmt.Fprintf(b, " %d", dscp)
		}
	}
	// Packets without DSCP go by CoS, or by the port's own, 0: EOS's own map puts that into class 1, which may be RoCE's.
	fmt.Fprintf(b, " to traffic-class %[1]d\nqos map cos 0 1 2 3 4 5 6 7 to traffic-class %[1]d\n", switchtext.UnusedPriority(t))
	queues, omits := eosQueues(t)
	for _, q := range queues {
		if q.class < 7 { // traffic class 7 is bound to queue 7
			fmt.Fprintf(b, "qos map traffic-class %d to tx-queue %d\n", q.class, q.Number)
		}
	}
	fmt.Fprintf(b, "!\nqos profile %s\n   qos trust dscp\n", switchtext.QoSName)
	on := "   priority-flow-control on\n" // before the first lossless class
	for _, c := range t.Classes {
		if c.Lossless {
			fmt.Fprintf(b, "%s   priority-flow-control priority %d no-drop\n", on, c.Priority)
			on = ""
		}
	}
	watched := t.Watchdog != nil && on == ""
	if watched {
		b.WriteString("   priority-flow-control pause watchdog\n")
	}
	for _, q := range queues {
		lossless := slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.Lossless && c.Priority == q.class })
		eosQueue(b, q, watched && lossless)
	}
	b.WriteString("!\n")
	if watched {
		omits = append(omits, eosWatchdog(b, *t.Watchdog)...)
	}
	return append(omits, "buffers and headroom of lossless classes: set per platform (platform trident mmu ...), the switch's default is by speed and cable")
}

// classQueue is a queue with the traffic class that it is for.
type classQueue struct {
	switchtext.Queue
	class int
	robin bool // it cannot be strict where it is
}

// eosQueues moves strict queues above the weighted ones: a queue below a weighted one is served round robin, whatever is
// configured for it (EOS User Manual, "Quality of Service", priority of transmit queues). Traffic class 7 stays in queue 7.
func eosQueues(t fabric.Traffic) (out []classQueue, omits []string) {
	weighted := -1
	for _, q := range switchtext.Queues(t) {
		if q.Percent > 0 {
			weighted = max(weighted, q.Number)
		}
	}
	for _, q := range switchtext.Queues(t) {
		moved := classQueue{Queue: q, class: q.Number}
		if q.Percent == 0 && q.Number < weighted {
			if weighted == 7 {
				moved.robin = true
				omits = append(omits, fmt.Sprintf("strict priority of %s: its queue %d is below weighted queue 7, which cannot move", q.Name, q.Number))
			} else {
				moved.Number = weighted + 1
			}
		}
		out = append(out, moved)
	}
	slices.SortFunc(out, func(a, b classQueue) int { return a.Number - b.Number })
	return out, omits
}

// eosQueue writes a queue of a profile: every queue is strict unless it says otherwise. The watchdog looks only at queues
// that have guaranteed bandwidth, lest one that others starve be taken for a stuck one (EOS User Manual, "DCBX and Flow
// Control", PFC watchdog); one percent is the smallest.
func eosQueue(b *strings.Builder, q classQueue, watched bool) {
	fmt.Fprintf(b, "   !\n   uc-tx-queue %d\n", q.Number)
	switch {
	case q.robin:
		b.WriteString("      no priority\n")
	case q.Percent == 0:
		b.WriteString("      priority strict\n")
	default:
		fmt.Fprintf(b, "      no priority\n      bandwidth percent %d\n", q.Percent)
	}
	if watched {
		b.WriteString("      bandwidth guaranteed percent 1\n")
	}
	if q.ECN != nil {
		fmt.Fprintf(b, "      random-detect ecn minimum-threshold %d bytes maximum-threshold %d bytes max-mark-probability %d weight 0\n",
			q.ECN.MinBytes, q.ECN.MaxBytes, q.ECN.Percent)
	}
}

// eosWatchdog writes times in seconds: timeout and recovery-time take 0.01 to 60. The polling interval is left to the switch,
// which keeps it at half of the shorter one.
func eosWatchdog(b *strings.Builder, w fabric.PFCWatchdog) (omits []string) {
	seconds := func(what string, ms int) string {
		near := min(max((ms+5)/10*10, 10), 60000)
		if near != ms {
			omits = append(omits, fmt.Sprintf("%s of the PFC watchdog of %d ms: EOS takes hundredths of a second to 60 s, it gets %d ms", what, ms, near))
		}
		return fmt.Sprintf("%.2f", float64(near)/1000)
	}
	const pause = "priority-flow-control pause watchdog"
	fmt.Fprintf(b, "%[1]s default timeout %[2]s\n%[1]s default recovery-time %[3]s\n%[1]s action drop\n!\n",
		pause, seconds("timeout", w.DetectMs), seconds("recovery time", w.RestoreMs))
	return omits
}

// eosSpeed is the speed of a port with its lanes, where the catalog or the cage tells them: cages of 400 and 800 Gb/s have eight
// lanes, of 100 and 200 four (ROCE 2.5.1 has 400g-8, AMD's guide 200g-4).
func eosSpeed(p fabric.SwitchPort) string {
	rate := int(p.RateGbps)
	if rate < 1 || float64(rate) != p.RateGbps {
		return ""
	}
	if p.Lanes > 0 {
		return fmt.Sprintf("%dg-%d", rate, p.Lanes)
	}
	if p.Breakout < 1 {
		return ""
	}
	lanes := map[int]int{100: 4, 200: 4, 400: 8, 800: 8}[rate*p.Breakout]
	if lanes == 0 || lanes%p.Breakout != 0 {
		return ""
	}
	return fmt.Sprintf("%dg-%d", rate, lanes/p.Breakout)
}

// eosPort writes a port. Reed-Solomon is the only FEC of 200 Gb/s and more (IEEE 802.3, clause 119 and later). Pauses of the
// whole link are off: with them PFC does nothing.
func eosPort(b *strings.Builder, mtu int, p fabric.SwitchPort, classes bool) {
	fmt.Fprintf(b, "interface %s\n   description %s\n", p.Name, p.Peer)
	if mtu > 0 {
		fmt.Fprintf(b, "   mtu %d\n", mtu)
	}
	if speed := eosSpeed(p); speed != "" {
		fmt.Fprintf(b, "   speed %s\n", speed)
	}
	if p.RateGbps >= 200 {
		b.WriteString("   error-correction encoding reed-solomon\n")
	}
	if classes {
		b.WriteString("   flowcontrol send off\n   flowcontrol receive off\n")
	}
	switch {
	case p.Address.IsValid():
		fmt.Fprintf(b, "   no switchport\n   ip address %s\n", p.Address)
	case p.VLAN > 0:
		fmt.Fprintf(b, "   switchport mode access\n   switchport access vlan %d\n", p.VLAN)
	}
	if classes {
		fmt.Fprintf(b, "   service-profile %s\n", switchtext.QoSName)
	}
	b.WriteString("   no shutdown\n!\n")
}

// gateway writes the switch's own interface in a VLAN, with its MTU: without, it is 1500.
func gateway(b *strings.Builder, mtu int, v fabric.VLAN) {
	if !v.Gateway.IsValid() {
		return
	}
	fmt.Fprintf(b, "interface Vlan%d\n   description %s\n", v.ID, eosName(v.Name))
	if mtu > 0 {
		fmt.Fprintf(b, "   mtu %d\n", mtu)
	}
	fmt.Fprintf(b, "   ip address %s\n!\n", v.Gateway)
}

// eosBGP announces the subnets of the NICs. EOS uses one path unless told how many.
func eosBGP(b *strings.Builder, g *fabric.BGP) {
	if g == nil {
		return
	}
	fmt.Fprintf(b, "router bgp %d\n", g.ASN)
	if g.RouterID.IsValid() {
		fmt.Fprintf(b, "   router-id %s\n", g.RouterID)
	}
	if n := len(g.Neighbours); n > 1 {
		fmt.Fprintf(b, "   maximum-paths %d\n", n)
	}
	for _, n := range g.Neighbours {
		fmt.Fprintf(b, "   neighbor %s remote-as %d\n", n.Address, n.ASN)
	}
	for _, n := range g.Networks {
		fmt.Fprintf(b, "   network %s\n", n)
	}
	b.WriteString("!\n")
}
