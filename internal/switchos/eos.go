package switchos

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// eos is Arista EOS, configured by its CLI: Broadcom 957608-AN209, 2.5.1, without its `qos map traffic-class 3 to
// dscp 26`, which rewrites the DSCP and classifies nothing.
type eos struct{}

// Names returns the id and the title of Arista EOS.
func (eos) Names() (id, title string) { return "eos", "Arista EOS" }

// Load returns the command that adds a copied file to the running configuration.
func (eos) Load(file string) string { return "copy flash:" + file + " running-config" }

// Render returns commands that are added to the running configuration.
func (eos) Render(s fabric.Switch, t *fabric.Traffic) Config {
	var b strings.Builder
	c := Config{Path: "/mnt/flash/railwright.cfg", Omits: []string{
		"speed, FEC and link training of ports: the switch has its own",
		"management interface, uplinks and routing to other switches",
	}}
	fmt.Fprintf(&b, "hostname %s\n!\n", s.Name)
	routed := false
	for _, p := range s.Ports {
		routed = routed || p.Address.IsValid()
	}
	if routed {
		b.WriteString("ip routing\n!\n")
	} else {
		c.Omits = append(c.Omits, "VLANs of the subnets: the plan has no VLAN ids")
	}
	if t == nil {
		c.Omits = append(c.Omits, "QoS maps and PFC: the plan has no traffic classes")
	} else {
		eosTraffic(&b, *t)
		c.Omits = append(c.Omits, "buffers and headroom; the map from traffic class to queue, which is the identity unless changed; bandwidth shares")
	}
	for _, p := range s.Ports {
		eosPort(&b, s, p, t != nil)
	}
	c.Text = []byte(b.String())
	return c
}

// eosTraffic maps DSCP to traffic class, and puts PFC and ECN into one profile for all ports. A traffic class has
// the number of its priority and of its queue. Thresholds are written in bytes: whether
// EOS's kbyte is 1000 or 1024 of them is in no source at hand. No EOS has parsed this text.
func eosTraffic(b *strings.Builder, t fabric.Traffic) {
	for _, c := range t.Classes {
		fmt.Fprintf(b, "qos map dscp %d to traffic-class %d\n", c.DSCP, c.Priority)
	}
	fmt.Fprintf(b, "!\nqos profile %s\n   qos trust dscp\n   priority-flow-control on\n", qosName)
	for _, c := range t.Classes {
		if c.Lossless {
			fmt.Fprintf(b, "   priority-flow-control priority %d no-drop\n", c.Priority)
		}
	}
	for _, c := range t.Classes {
		if c.ECN != nil {
			fmt.Fprintf(b, "   !\n   uc-tx-queue %d\n      random-detect ecn minimum-threshold %d bytes maximum-threshold %d bytes max-mark-probability %d weight 0\n",
				c.Priority, c.ECN.MinBytes, c.ECN.MaxBytes, c.ECN.Percent)
		}
	}
	b.WriteString("!\n")
	if w := t.Watchdog; w != nil {
		const pause = "priority-flow-control pause watchdog"
		fmt.Fprintf(b, "%[1]s default timeout %.2[2]f\n%[1]s default recovery-time %.2[3]f\n%[1]s action drop\n!\n",
			pause, float64(w.DetectMs)/1000, float64(w.RestoreMs)/1000) // seconds
	}
}

func eosPort(b *strings.Builder, s fabric.Switch, p fabric.SwitchPort, classes bool) {
	fmt.Fprintf(b, "interface %s\n   description %s\n", p.Name, p.Peer)
	if s.MTU > 0 {
		fmt.Fprintf(b, "   mtu %d\n", s.MTU)
	}
	if p.Address.IsValid() {
		fmt.Fprintf(b, "   no switchport\n   ip address %s\n", p.Address)
	}
	if classes {
		fmt.Fprintf(b, "   service-profile %s\n", qosName)
	}
	b.WriteString("!\n")
}
