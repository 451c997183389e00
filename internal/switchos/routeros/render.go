// Package routeros is MikroTik RouterOS on switches with a Marvell chip: what is rendered for it, and what its exports and the
// output of its commands say.
package routeros

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// OS is RouterOS 7.23 or later: the first that does PFC and marks packets on CRS8xx (release notes of 7.23, qos-hw). Syntax:
// MikroTik manual, "Quality of Service", "Bridging and Switching", "MikroTik wired interface compatibility", "MTU in RouterOS",
// and its CLI reference. No switch has parsed this text.
type OS struct{}

// Names returns the id and the title of RouterOS.
func (OS) Names() (id, title string) { return "routeros", "MikroTik RouterOS" }

// Load returns the command that runs a copied file.
func (OS) Load(file string) string { return "/import file-name=" + file }

const (
	bridgeName = "bridge" // of the default configuration
	tagBytes   = 4        // of a VLAN tag, which l2mtu counts
	restClass  = 1        // of all other packets: that of profile default
)

// Render returns commands that change the default configuration. What is set can be set again: entries are taken away before
// they are added.
func (OS) Render(s fabric.Switch, t *fabric.Traffic) switchtext.Config {
	var b strings.Builder
	c := switchtext.Config{Path: s.Name + ".rsc", Extension: ".rsc", Omits: []string{
		"the bridge and its ports: those of the default configuration (" + bridgeName + ", with every port in it); after a reset without it, add them first",
		"management address, users, time: not RoCE",
	}}
	since := "7.23 or later" // for PFC, ECN and profiles that map their DSCP
	if t == nil {
		since = "7"
	}
	fmt.Fprintf(&b, "# %s: commands for RouterOS %s. Load: /import file-name=%[1]s.rsc\n/system identity\nset name=%[3]s\n", s.Name, since, word1(s.Name))
	links(&b, s)
	c.Omits = append(c.Omits, omitsOfLinks(s)...)
	members(&b, s)
	vlans(&b, s)
	routes(&b, s)
	noDHCP(&b)
	if t == nil {
		c.Omits = append(c.Omits, "QoS profiles and PFC: the plan has no traffic classes")
	} else {
		c.Omits = append(c.Omits, qos(&b, s, *t)...)
	}
	filtering(&b, s)
	if t != nil {
		egressRates(&b, s, *t)
	}
	c.Text = []byte(b.String())
	return c
}

// word1 is a value as the console reads it: in quotes unless it has letters, digits and a few signs alone.
func word1(s string) string {
	plain := !strings.ContainsFunc(s, func(r rune) bool {
		return !strings.ContainsRune("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:", r)
	})
	if plain && s != "" {
		return s
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r < ' ' || r > '~':
			r = '-'
		case r == '"' || r == '\\' || r == '$':
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String()
}

// layer3 reports whether the switch routes.
func layer3(s fabric.Switch) bool {
	return s.BGP != nil || slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return p.Address.IsValid() }) ||
		slices.ContainsFunc(s.VLANs, func(v fabric.VLAN) bool { return v.Gateway.IsValid() })
}

// frame is the l2mtu of a switch's ports, which is their mtu, too, and mtu what is left behind a tag: that of interfaces of VLANs.
func frame(s fabric.Switch) (l2mtu, mtu int) {
	l2mtu = min(s.MTU+tagBytes, greatestL2MTU)
	return l2mtu, l2mtu - tagBytes
}

// speed is the link mode of a port over copper: on QSFP cages of 200 Gb/s four lanes of 50, of 400 all eight; 100 Gb/s is four
// lanes of 25, which older NICs have too, unless the catalog says that the port has fewer.
func speed(p fabric.SwitchPort) string {
	lanes := p.Lanes
	if lanes == 0 {
		lanes = map[float64]int{400: 8, 200: 4, 100: 4, 50: 2, 40: 4, 25: 1, 10: 1}[p.RateGbps]
	}
	switch lanes {
	case 0:
		return ""
	case 1:
		return fmt.Sprintf("%gG-baseCR", p.RateGbps)
	}
	return fmt.Sprintf("%gG-baseCR%d", p.RateGbps, lanes)
}

// links writes the ports as links. A cage is split by the speed of the first interface of each part; l2mtu stands before mtu,
// which may not be larger. Where the switch routes, the bridge has the smallest l2mtu of all its ports: all get it.
func links(b *strings.Builder, s fabric.Switch) {
	l2mtu, _ := frame(s)
	b.WriteString("/interface ethernet\n")
	if layer3(s) && s.MTU > 0 {
		fmt.Fprintf(b, "set [ find ] l2mtu=%d\n", l2mtu)
	}
	for _, p := range s.Ports {
		fmt.Fprintf(b, "set [ find default-name=%s ] name=%[1]s comment=%s", p.Name, word1(p.Peer.String()))
		if m := speed(p); m != "" {
			fmt.Fprintf(b, " auto-negotiation=no speed=%s", m)
		}
		if p.RateGbps >= 200 { // the only FEC of these rates (IEEE 802.3bs, clause 119)
			b.WriteString(" fec-mode=fec91")
		}
		if s.MTU > 0 {
			fmt.Fprintf(b, " l2mtu=%d mtu=%[1]d", l2mtu)
		}
		b.WriteString(" rx-flow-control=off tx-flow-control=off disabled=no\n")
	}
}

func omitsOfLinks(s fabric.Switch) []string {
	out := []string{"modules for fibre: speed=200G-baseSR4-LR4 and the like instead of -baseCR4, which is copper"}
	if s.MTU+tagBytes > greatestL2MTU {
		out = append(out, fmt.Sprintf("MTU %d: with a VLAN tag these ports take at most %d", s.MTU, greatestL2MTU))
	}
	if slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return speed(p) == "" }) {
		out = append(out, "speed of ports: their rate has no link mode that is known")
	}
	if s.BGP == nil && slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return p.Uplink }) {
		out = append(out, "routing to other switches: the plan has none")
	}
	return out
}

// members writes the place of each port in the one bridge: the switch chip forwards for no second one. A port with an address
// of its own leaves it.
func members(b *strings.Builder, s fabric.Switch) {
	b.WriteString("# One bridge, forwarded by the switch chip (hw=yes). Both twins of a DGX Spark are behind one port, and their subnets in one network.\n/interface bridge port\n")
	for _, p := range s.Ports {
		if p.Address.IsValid() {
			fmt.Fprintf(b, "remove [ find interface=%s ]\n", p.Name)
			continue
		}
		fmt.Fprintf(b, "set [ find interface=%s ] bridge=%s hw=yes disabled=no", p.Name, bridgeName)
		if p.VLAN > 0 {
			fmt.Fprintf(b, " pvid=%d frame-types=admit-all", p.VLAN)
		}
		b.WriteString("\n")
	}
}

// vlans writes the VLANs with their ports, and the interfaces by which the switch itself is in them.
func vlans(b *strings.Builder, s fabric.Switch) {
	if len(s.VLANs) == 0 {
		return
	}
	_, mtu := frame(s)
	b.WriteString("/interface bridge vlan\n")
	for _, v := range s.VLANs {
		var ports []string
		for _, p := range s.Ports {
			if p.VLAN == v.ID && !p.Address.IsValid() {
				ports = append(ports, p.Name)
			}
		}
		fmt.Fprintf(b, "remove [ find vlan-ids=%d ]\nadd bridge=%s vlan-ids=%[1]d comment=%[3]s", v.ID, bridgeName, word1(v.Name))
		if v.Gateway.IsValid() {
			b.WriteString(" tagged=" + bridgeName)
		}
		if len(ports) > 0 {
			b.WriteString(" untagged=" + strings.Join(ports, ","))
		}
		b.WriteString("\n")
	}
	for _, v := range s.VLANs {
		if !v.Gateway.IsValid() {
			continue
		}
		fmt.Fprintf(b, "/interface vlan\nremove [ find name=vlan%d ]\nadd name=vlan%[1]d interface=%s vlan-id=%[1]d", v.ID, bridgeName)
		if s.MTU > 0 {
			fmt.Fprintf(b, " mtu=%d", mtu)
		}
		fmt.Fprintf(b, "\n/ip address\nremove [ find address=%s ]\nadd address=%[1]s interface=vlan%d\n", word2(v.Gateway.String()), v.ID)
	}
}

// word2 is an address with its length, which the console reads in quotes too.
func word2(s string) string { return `"` + s + `"` }

// routes writes addresses of ports, and BGP.
func routes(b *strings.Builder, s fabric.Switch) {
	for i, p := range s.Ports {
		if !p.Address.IsValid() {
			continue
		}
		if i == 0 || !s.Ports[i-1].Address.IsValid() {
			b.WriteString("/ip address\n")
		}
		fmt.Fprintf(b, "remove [ find address=%s ]\nadd address=%[1]s interface=%s\n", word2(p.Address.String()), p.Name)
	}
	if layer3(s) {
		b.WriteString("/interface ethernet switch\nset switch1 l3-hw-offloading=yes\n")
	}
	g := s.BGP
	if g == nil {
		return
	}
	fmt.Fprintf(b, "/ip firewall address-list\nremove [ find list=%s ]\n", switchtext.QoSName)
	for _, n := range g.Networks {
		fmt.Fprintf(b, "add list=%s address=%s\n", switchtext.QoSName, word2(n.String()))
	}
	b.WriteString("/routing bgp connection\n")
	for i := range g.Neighbours {
		fmt.Fprintf(b, "remove [ find name=%s-%d ]\n", switchtext.QoSName, i+1)
	}
	fmt.Fprintf(b, "/routing bgp instance\nremove [ find name=%s ]\nadd name=%[1]s as=%d", switchtext.QoSName, g.ASN)
	if g.RouterID.IsValid() {
		fmt.Fprintf(b, " router-id=%s", g.RouterID)
	}
	if n := len(g.Neighbours); n > 1 { // equal paths at once; RouterOS uses one unless told
		fmt.Fprintf(b, " multipath=%d", n)
	}
	b.WriteString("\n/routing bgp connection\n")
	for i, n := range g.Neighbours {
		fmt.Fprintf(b, "add name=%s-%d instance=%[1]s remote.address=%[3]s remote.as=%d local.role=ebgp output.network=%[1]s\n", switchtext.QoSName, i+1, n.Address, n.ASN)
	}
}

// noDHCP switches the server of the default configuration off: on the bridge it answers hosts on every port.
func noDHCP(b *strings.Builder) {
	fmt.Fprintf(b, "# The server of the default configuration would give all interfaces of a host addresses of one subnet, and a default route.\n/ip dhcp-server\nset [ find interface=%s ] disabled=yes\n", bridgeName)
}

// filtering makes VLANs count, last of all: until then every port is in one network.
func filtering(b *strings.Builder, s fabric.Switch) {
	if len(s.VLANs) > 0 {
		fmt.Fprintf(b, "/interface bridge\nset [ find name=%s ] vlan-filtering=yes\n", bridgeName)
	}
}
