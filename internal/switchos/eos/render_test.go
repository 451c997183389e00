package eos

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// eosLeaf is a leaf with the names of EOS: a VLAN for each rail, with gateways.
func eosLeaf() fabric.Switch {
	s := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, OS: "eos", MTU: 9000}
	for rail := range 2 {
		id := 101 + rail
		s.VLANs = append(s.VLANs, fabric.VLAN{ID: id, Name: fmt.Sprintf("rail%d", rail+1), Rail: rail + 1, Gateway: netip.MustParsePrefix(fmt.Sprintf("10.64.%d.254/24", rail+1))})
		for node := range 2 {
			s.Ports = append(s.Ports, fabric.SwitchPort{
				Name: fmt.Sprintf("Ethernet%d/1", 2*rail+node+1), Cage: fmt.Sprint(2*rail + node + 1), Breakout: 1, RateGbps: 400, VLAN: id,
				Peer: fabric.Endpoint{Node: fmt.Sprintf("gpu%d", node+1), NIC: fmt.Sprintf("eth%d", rail+1)},
			})
		}
	}
	return s
}

// uplinks adds two uplinks and BGP to a leaf.
func uplinks(s fabric.Switch) fabric.Switch {
	s.BGP = &fabric.BGP{ASN: 4200000001, RouterID: netip.MustParseAddr("10.96.0.1")}
	for i := range 2 {
		at := netip.MustParseAddr(fmt.Sprintf("10.95.0.%d", 2*i))
		s.Ports = append(s.Ports, fabric.SwitchPort{
			Name: fmt.Sprintf("Ethernet%d/1", 31+i), Cage: fmt.Sprint(31 + i), Breakout: 1, RateGbps: 400, Uplink: true,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("spine%d", i+1), NIC: "Ethernet1/1"}, Address: netip.PrefixFrom(at, 31),
		})
		s.BGP.Neighbours = append(s.BGP.Neighbours, fabric.BGPNeighbour{Address: at.Next(), ASN: 4200000100})
	}
	for _, v := range s.VLANs {
		s.BGP.Networks = append(s.BGP.Networks, v.Gateway.Masked())
	}
	return s
}

func TestEOSGolden(t *testing.T) {
	type golden struct {
		name    string
		s       fabric.Switch
		traffic *fabric.Traffic
	}
	cases := []golden{
		{"rail24", eosLeaf(), classes(true, true)},
		{"rail24 with uplinks", uplinks(eosLeaf()), classes(true, true)},
	}
	for _, c := range leafCases {
		cases = append(cases, golden{c.name, leaf(c.routed), c.traffic})
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := OS{}.Render(c.s, c.traffic)
			if again := (OS{}).Render(c.s, c.traffic); !bytes.Equal(got.Text, again.Text) {
				t.Error("two renders differ")
			}
			text := string(got.Text) + "-- not in it --\n" + strings.Join(got.Omits, "\n") + "\n"
			file := filepath.Join("testdata", ""+strings.ReplaceAll(c.name, " ", "-")+".txt")
			if *update {
				if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", file, diff)
			}
		})
	}
}

// random is an intent that a plan may have.
func random(r *rand.Rand) (fabric.Switch, *fabric.Traffic) {
	s := eosLeaf()
	s.MTU = 4200 + r.IntN(9214-4200+1)
	if r.IntN(3) == 0 { // all ports are routed
		s.VLANs = nil
		for i := range s.Ports {
			s.Ports[i].VLAN, s.Ports[i].Address = 0, netip.MustParsePrefix(fmt.Sprintf("10.64.%d.%d/31", r.IntN(200), 2*i))
		}
	}
	for i := range s.Ports {
		b := []int{1, 2, 4, 8}[r.IntN(4)]
		s.Ports[i].Breakout, s.Ports[i].RateGbps = b, float64(800/b)
	}
	if r.IntN(2) == 0 {
		s = uplinks(s)
	}
	dscp, priority := r.Perm(64), r.Perm(8)
	t := &fabric.Traffic{CableM: 1 + r.IntN(100), Share: 1 + r.IntN(99), Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: dscp[0], Priority: priority[0]}, {Name: "roce", DSCP: dscp[1], Priority: priority[1], Lossless: r.IntN(4) > 0},
	}}
	if r.IntN(4) > 0 {
		least := 1 + r.Int64N(4<<20)
		t.Classes[1].ECN = &fabric.ECN{MinBytes: least, MaxBytes: least + r.Int64N(8<<20), Percent: 1 + r.IntN(100)}
	}
	if r.IntN(4) > 0 {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 10 * (1 + r.IntN(500)), RestoreMs: 10 * (1 + r.IntN(500))}
	}
	return s, t
}

// What is rendered is read back: nothing is unread, nothing is wrong, and the switch does what the intent says.
func TestEOSRoundTrip(t *testing.T) {
	strict := 0
	for seed := range uint64(300) {
		s, traffic := random(rand.New(rand.NewPCG(seed, 14)))
		text := OS{}.Render(s, traffic).Text
		if !(OS{}).Recognizes(text) {
			t.Fatalf("seed %d: is not recognized as EOS:\n%s", seed, text)
		}
		c := OS{}.Read(s.Name, []switchtext.Text{{File: "leaf1.cfg", Bytes: text}})
		for _, p := range c.Problems {
			t.Errorf("seed %d: problem %+v", seed, p)
		}
		for _, l := range c.Unread {
			t.Errorf("seed %d: unread %+v", seed, l)
		}
		samePorts(t, s, c)
		strict += sameTraffic(t, *traffic, c)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text)
		}
	}
	if strict < 200 {
		t.Errorf("CNPs are in a strict queue for %d of 300 intents only", strict)
	}
}

func samePorts(t *testing.T, s fabric.Switch, c *fabric.SwitchConfig) {
	t.Helper()
	if c.Hostname == nil || c.Hostname.Is != s.Name || len(c.Ports) != len(s.Ports) || len(c.VLANs) != len(s.VLANs) {
		t.Fatalf("hostname %s, %d ports, %d VLANs", eosIs(c.Hostname), len(c.Ports), len(c.VLANs))
	}
	for i, p := range s.Ports {
		got := c.Ports[i]
		want := fmt.Sprintf("%s mtu %d vlan %d rate %g fec rs up true addresses %v", p.Name, s.MTU, p.VLAN, p.RateGbps, p.Address.IsValid())
		if p.RateGbps < 200 {
			want = strings.Replace(want, "fec rs", "fec ?", 1)
		}
		if have := fmt.Sprintf("%s mtu %s vlan %s rate %s fec %s up %s addresses %v", got.Name, eosIs(got.MTU), eosIs(got.VLAN), eosIs(got.RateGbps), eosIs(got.FEC), eosIs(got.Up), len(got.Addresses) == 1); have != want {
			t.Errorf("%s, not %s", have, want)
		}
		if p.Address.IsValid() && got.Addresses[0].Is != p.Address {
			t.Errorf("%s has %s, not %s", p.Name, got.Addresses[0].Is, p.Address)
		}
	}
	for i, v := range s.VLANs {
		if got := c.VLANs[i]; got.ID != v.ID || len(got.Addresses) != 1 || got.Addresses[0].Is != v.Gateway || eosIs(got.MTU) != fmt.Sprint(s.MTU) {
			t.Errorf("%+v is not %+v", got, v)
		}
	}
	if (s.BGP == nil) != (c.BGP == nil) {
		t.Fatalf("BGP %+v", c.BGP)
	}
	if s.BGP != nil {
		same := slices.EqualFunc(s.BGP.Neighbours, c.BGP.Neighbours, func(a, b fabric.BGPNeighbour) bool { return a.Address == b.Address && a.ASN == b.ASN })
		if !same || c.BGP.ASN.Is != s.BGP.ASN {
			t.Errorf("BGP %+v", c.BGP)
		}
	}
}

// sameTraffic returns 1 where CNPs have a strict queue.
func sameTraffic(t *testing.T, traffic fabric.Traffic, c *fabric.SwitchConfig) (strict int) {
	t.Helper()
	cnp, roce := traffic.Classes[0], traffic.Classes[1]
	for _, p := range c.Ports {
		if eosIs(p.Trust) != "dscp" {
			t.Fatalf("trust %s", eosIs(p.Trust))
		}
		want := "[]"
		if roce.Lossless {
			want = fmt.Sprintf("[%d]", roce.Priority)
		}
		if eosIs(p.PFC) != want {
			t.Errorf("pfc %s, not %s", eosIs(p.PFC), want)
		}
		for d, got := range p.DSCP {
			class, pause := switchtext.UnusedPriority(traffic), -1
			switch d {
			case cnp.DSCP:
				class = cnp.Priority
			case roce.DSCP:
				if class = roce.Priority; roce.Lossless {
					pause = class
				}
			}
			if eosIs(got.Class) != fmt.Sprint(class) || got.Pause.Is != pause || class != cnp.Priority && got.Queue.Is != class {
				t.Errorf("DSCP %d: %s, not class %d pause %d", d, eosTreatment(got), class, pause)
			}
		}
		q := p.Queues[p.DSCP[roce.DSCP].Queue.Is]
		if eosIs(q.Algorithm) != "weighted" || q.Weight.Is != traffic.Share {
			t.Errorf("RoCE has queue %s %s", eosIs(q.Algorithm), eosIs(q.Weight))
		}
		wantMarks := "no marks"
		if e := roce.ECN; e != nil {
			wantMarks = fmt.Sprintf("ecn true drops false %g bytes to %g bytes %d%%", float64(e.MinBytes), float64(e.MaxBytes), e.Percent)
		}
		if got := eosMarks(q.Marks); got != wantMarks {
			t.Errorf("%s, not %s", got, wantMarks)
		}
		strict = 0
		if eosIs(p.Queues[p.DSCP[cnp.DSCP].Queue.Is].Algorithm) == "strict" {
			strict = 1
		} else if roce.Priority != 7 {
			t.Error("CNPs have no strict queue")
		}
		if roce.Lossless && eosIs(p.Stops[roce.Priority]) != fmt.Sprint(roce.Priority) {
			t.Errorf("a pause stops queue %s", eosIs(p.Stops[roce.Priority]))
		}
		wantWD := "false ? ?"
		if traffic.Watchdog != nil && roce.Lossless {
			wantWD = fmt.Sprintf("true %d %d", traffic.Watchdog.DetectMs, traffic.Watchdog.RestoreMs)
		}
		if w := p.Watchdog; eosIs(w.On)+" "+eosIs(w.DetectMs)+" "+eosIs(w.RestoreMs) != wantWD {
			t.Errorf("watchdog %s %s %s, not %s", eosIs(w.On), eosIs(w.DetectMs), eosIs(w.RestoreMs), wantWD)
		}
	}
	return strict
}
