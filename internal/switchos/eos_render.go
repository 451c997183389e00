package switchos

import (
	"fmt"
	"slices"
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
	c := Config{Path: "/mnt/flash/railwright.cfg", Extension: ".cfg", Omits: []string{
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
		c.Omits = append(c.Omits, "buffers and headroom; the map from traffic class to queue, which is the identity unless changed")
		if w := t.Watchdog; w != nil && (w.DetectMs%10 != 0 || w.RestoreMs%10 != 0) {
			c.Omits = append(c.Omits, "times of the PFC watchdog below 10 ms: EOS takes hundredths of a second")
		}
	}
	for _, p := range s.Ports {
		eosPort(&b, s, p, t != nil)
	}
	c.Text = []byte(b.String())
	return c
}

// eosTraffic maps DSCP to traffic class, and puts PFC, shares and ECN into one profile for all ports. A traffic class has
// the number of its priority and of its queue. Every DSCP is written: EOS's own map puts DSCP 24 to 31 into class 3 and 48
// to 55 into class 6. Thresholds are in bytes: whether EOS's kbyte is 1000 or 1024 of them is in no source at
// hand. No EOS has parsed this text.
func eosTraffic(b *strings.Builder, t fabric.Traffic) {
	for _, c := range t.Classes {
		fmt.Fprintf(b, "qos map dscp %d to traffic-class %d\n", c.DSCP, c.Priority)
	}
	b.WriteString("qos map dscp")
	for dscp := range 64 {
		if !slices.ContainsFunc(t.Classes, func(c fabric.TrafficClass) bool { return c.DSCP == dscp }) {
			fmt.Fprintf(b, " %d", dscp)
		}
	}
	fmt.Fprintf(b, " to traffic-class %d\n!\nqos profile %s\n   qos trust dscp\n", unusedPriority(t), qosName)
	on := "   priority-flow-control on\n" // before the first lossless class
	for _, c := range t.Classes {
		if c.Lossless {
			fmt.Fprintf(b, "%s   priority-flow-control priority %d no-drop\n", on, c.Priority)
			on = ""
		}
	}
	for _, q := range queuesOf(t) {
		eosQueue(b, q)
	}
	b.WriteString("!\n")
	if w := t.Watchdog; w != nil && on == "" {
		const pause = "priority-flow-control pause watchdog"
		fmt.Fprintf(b, "%[1]s default timeout %.2[2]f\n%[1]s default recovery-time %.2[3]f\n%[1]s action drop\n!\n",
			pause, float64(w.DetectMs)/1000, float64(w.RestoreMs)/1000) // seconds
	}
}

// eosQueue writes a queue of a profile: every queue is strict unless it says otherwise.
func eosQueue(b *strings.Builder, q queue) {
	fmt.Fprintf(b, "   !\n   uc-tx-queue %d\n", q.number)
	if q.percent == 0 {
		b.WriteString("      priority strict\n")
	} else {
		fmt.Fprintf(b, "      bandwidth percent %d\n      no priority\n", q.percent)
	}
	if q.ecn != nil {
		fmt.Fprintf(b, "      random-detect ecn minimum-threshold %d bytes maximum-threshold %d bytes max-mark-probability %d weight 0\n",
			q.ecn.MinBytes, q.ecn.MaxBytes, q.ecn.Percent)
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
