package routeros

import (
	"flag"
	"fmt"
	"net/netip"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// spark is a switch for four DGX Spark: each on a port of 200 Gb/s, two of them on a split cage, all in one network.
func spark() fabric.Switch {
	s := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, Model: "crs812-ddq", OS: "routeros", MTU: 9100}
	for i, name := range []string{"qsfp56-1-1", "qsfp56-2-1", "qsfp56-dd-1-1", "qsfp56-dd-1-5"} {
		s.Ports = append(s.Ports, fabric.SwitchPort{Name: name, RateGbps: 200, Peer: fabric.Endpoint{Node: fmt.Sprintf("spark%d", i+1), NIC: "enp1s0f1np1"}})
	}
	return s
}

// inVLANs puts each pair of ports into a VLAN with a gateway.
func inVLANs(s fabric.Switch) fabric.Switch {
	for i := range s.Ports {
		s.Ports[i].VLAN = 101 + i/2
	}
	for i := range 2 {
		s.VLANs = append(s.VLANs, fabric.VLAN{ID: 101 + i, Name: fmt.Sprintf("rail%d", i+1), Rail: i + 1, Gateway: netip.MustParsePrefix(fmt.Sprintf("10.64.%d.254/24", i))})
	}
	return s
}

// isolated is a VLAN without a gateway.
func isolated(s fabric.Switch) fabric.Switch {
	for i := range s.Ports {
		s.Ports[i].VLAN = 100
	}
	s.VLANs = []fabric.VLAN{{ID: 100, Name: "fabric"}}
	return s
}

// routed gives each port an address, and two uplinks with BGP.
func routed(s fabric.Switch) fabric.Switch {
	at := netip.MustParseAddr("10.64.0.0")
	for i := range s.Ports {
		s.Ports[i].Address = netip.PrefixFrom(at, 31)
		at = at.Next().Next()
	}
	s.BGP = &fabric.BGP{ASN: 4200000001, RouterID: netip.MustParseAddr("10.96.0.1"), Networks: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/29")}}
	for i := range 2 {
		at := netip.MustParseAddr(fmt.Sprintf("10.95.0.%d", 2*i))
		s.Ports = append(s.Ports, fabric.SwitchPort{Name: fmt.Sprintf("qsfp56-dd-2-%d", 1+4*i), RateGbps: 200, Uplink: true, Peer: fabric.Endpoint{Node: "spine1", NIC: fmt.Sprintf("qsfp56-%d-1", i+1)}, Address: netip.PrefixFrom(at, 31)})
		s.BGP.Neighbours = append(s.BGP.Neighbours, fabric.BGPNeighbour{Address: at.Next(), ASN: 4200000000})
	}
	return s
}

func traffic(ecn, watchdog bool) *fabric.Traffic {
	t := &fabric.Traffic{CableM: 5, Share: 50, Classes: []fabric.TrafficClass{{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true}}}
	if ecn {
		t.Classes[1].ECN = &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}
	}
	if watchdog {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 200, RestoreMs: 400}
	}
	return t
}

// lossy has no PFC, and takes the class that profile default has from the factory.
func lossy() *fabric.Traffic {
	return &fabric.Traffic{CableM: 40, Share: 80, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 46, Priority: 6}, {Name: "roce", DSCP: 24, Priority: 1, ECN: &fabric.ECN{MinBytes: 3 << 20, MaxBytes: 6 << 20, Percent: 20}},
	}}
}

// read reads one text.
func read(text string) *fabric.SwitchConfig {
	return OS{}.Read("leaf1", []switchtext.Text{{File: "leaf1.rsc", Bytes: []byte(text)}})
}

// told is what was read, a line a fact.
func told(c *fabric.SwitchConfig) []string {
	var out []string
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, t := range c.Texts {
		say("form %s whole %v", t.Form, t.Whole)
	}
	if c.Hostname != nil {
		say("hostname %s", c.Hostname.Is)
	}
	for _, p := range c.Ports {
		say("%s up %s mtu %s rate %s fec %s split %s vlan %s trust %s pfc %s", p.Name, is(p.Up), is(p.MTU), is(p.RateGbps), is(p.FEC), is(p.Breakout), is(p.VLAN), is(p.Trust), is(p.PFC))
		if p.Pauses != nil {
			say("%s sends %s obeys %s", p.Name, is(p.Pauses.Sends), is(p.Pauses.Obeys))
		}
		for _, a := range p.Addresses {
			say("%s address %s", p.Name, a.Is)
		}
		for _, d := range []int{0, 26, 48} {
			if p.DSCP != nil {
				say("%s dscp %d: %s", p.Name, d, treated(p.DSCP[d]))
			}
		}
		for class, to := range p.Rewrite {
			say("%s rewrites class %s to %d", p.Name, class, to.Is)
		}
		for i, q := range p.Queues {
			if q == nil {
				continue
			}
			marks := "?"
			if q.Marks != nil {
				marks = fmt.Sprintf("marks %v drops %v", q.Marks.ECN.Is, q.Marks.Drops)
			}
			say("%s queue %d %s weight %s %s", p.Name, i, is(q.Algorithm), is(q.Weight), marks)
		}
	}
	for _, v := range c.VLANs {
		say("vlan %d mtu %s", v.ID, is(v.MTU))
		for _, a := range v.Addresses {
			say("vlan %d address %s", v.ID, a.Is)
		}
	}
	if c.BGP != nil {
		say("bgp %d", c.BGP.ASN.Is)
		for _, n := range c.BGP.Neighbours {
			say("bgp neighbour %s %d", n.Address, n.ASN)
		}
		for _, n := range c.BGP.Networks {
			say("bgp network %s", n.Is)
		}
	}
	for _, p := range c.Problems {
		say("problem %s %s %q: %s", p.Kind, p.Port, p.At.Text, p.What)
	}
	for _, l := range c.Unread {
		say("unread %s", l.Text)
	}
	return out
}

func is[T any](v *fabric.Said[T]) string {
	if v == nil {
		return "?"
	}
	return fmt.Sprint(v.Is)
}

func treated(t fabric.Treatment) string {
	return "class " + is(t.Class) + " queue " + is(t.Queue) + " pause " + is(t.Pause)
}

// lacks lists the wanted lines that were not told, and the unwanted ones that were: those that begin with a minus.
func lacks(have, want []string) (out []string) {
	all := "\n" + strings.Join(have, "\n") + "\n"
	for _, w := range want {
		text, not := strings.CutPrefix(w, "-")
		if strings.Contains(all, "\n"+text) == not {
			out = append(out, w)
		}
	}
	return out
}
