package frr

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// portName is the Linux interface that stands for a port of a switch: the names of real ones have slashes and colons.
func portName(i int) string { return fmt.Sprintf("p%d", i+1) }

// vlanName is the bridge that stands for a VLAN: its address is the gateway.
func vlanName(v fabric.VLAN) string { return fmt.Sprintf("vlan%d", v.ID) }

// config is the L3 part of a planned switch in FRR's language: the addresses of its ports and VLANs, and its BGP. Timers are
// short, so that a test need not wait.
func config(s fabric.Switch) string {
	var b strings.Builder
	fmt.Fprintf(&b, "frr defaults datacenter\nhostname %s\n!\n", s.Name)
	for i, p := range s.Ports {
		if p.Address.IsValid() {
			fmt.Fprintf(&b, "interface %s\n description %s %s\n ip address %s\nexit\n!\n", portName(i), p.Name, p.Peer, p.Address)
		}
	}
	for _, v := range s.VLANs {
		if v.Gateway.IsValid() {
			fmt.Fprintf(&b, "interface %s\n ip address %s\nexit\n!\n", vlanName(v), v.Gateway)
		}
	}
	if s.BGP == nil {
		return b.String()
	}
	fmt.Fprintf(&b, "router bgp %d\n bgp router-id %s\n no bgp ebgp-requires-policy\n", s.BGP.ASN, s.BGP.RouterID)
	for _, n := range s.BGP.Neighbours {
		fmt.Fprintf(&b, " neighbor %[1]s remote-as %[2]d\n neighbor %[1]s timers 1 3\n neighbor %[1]s timers connect 1\n", n.Address, n.ASN)
	}
	b.WriteString(" !\n address-family ipv4 unicast\n")
	for _, n := range s.BGP.Networks {
		fmt.Fprintf(&b, "  network %s\n", n)
	}
	b.WriteString("  maximum-paths 64\n")
	for _, n := range s.BGP.Neighbours {
		fmt.Fprintf(&b, "  neighbor %s activate\n", n.Address)
	}
	b.WriteString(" exit-address-family\nexit\n")
	return b.String()
}
