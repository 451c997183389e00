package dell

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
	"railwright.dev/railwright/internal/switchos/sonic"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// dellLeaf is leaf with the names of Dell's CLI.
func dellLeaf(routed bool) fabric.Switch {
	s := leaf(routed)
	s.OS, s.MTU = "dell-sonic", 9100
	for i := range s.Ports {
		s.Ports[i].Name = fmt.Sprintf("Eth1/%d", i+1)
	}
	return s
}

// rails has a VLAN for each rail, with the switch's own address in it.
func rails() fabric.Switch {
	s := dellLeaf(false)
	for i := range s.Ports {
		s.Ports[i].VLAN = 101 + i%2
	}
	for i := range 2 {
		s.VLANs = append(s.VLANs, fabric.VLAN{ID: 101 + i, Name: fmt.Sprintf("rail %d", i+1), Rail: i + 1,
			Gateway: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(i + 1), 254}), 24)})
	}
	return s
}

// uplinks has two broken out ports to hosts, and two ports to spines.
func uplinks() fabric.Switch {
	s := dellLeaf(true)
	for i := range 2 {
		s.Ports[i].Name, s.Ports[i].Cage, s.Ports[i].Breakout = fmt.Sprintf("Eth1/1/%d", i+1), "1", 2
	}
	s.BGP = &fabric.BGP{ASN: 4200000001, RouterID: netip.MustParseAddr("10.255.0.1"), Networks: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/30")}}
	for i := range 2 {
		p := &s.Ports[2+i]
		p.Uplink, p.Peer = true, fabric.Endpoint{Node: fmt.Sprintf("spine%d", i+1), NIC: "Eth1/1"}
		s.BGP.Neighbours = append(s.BGP.Neighbours, fabric.BGPNeighbour{Address: p.Address.Addr().Next(), ASN: 4200000100})
	}
	return s
}

var cases = []struct {
	name    string
	plan    fabric.Switch
	traffic *fabric.Traffic
}{
	{"routed with all", dellLeaf(true), classes(true, true)},
	{"rails", rails(), classes(true, false)},
	{"uplinks", uplinks(), classes(true, true)},
	{"lossy", dellLeaf(true), lossy()},
	{"no classes", dellLeaf(true), nil},
	{"bridged", dellLeaf(false), classes(false, false)},
}

func TestDellGolden(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got := OS{}.Render(c.plan, c.traffic)
			if again := (OS{}).Render(c.plan, c.traffic); !bytes.Equal(got.Text, again.Text) {
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
			if !(OS{}).Recognizes(got.Text) {
				t.Error("it is not recognized")
			}
		})
	}
}

// intent is a random switch and traffic that a plan may have.
func intent(r *rand.Rand) (fabric.Switch, *fabric.Traffic) {
	s := []fabric.Switch{dellLeaf(true), rails(), uplinks()}[r.IntN(3)]
	s.MTU = 1500 + r.IntN(sonic.MaxMTU-1499)
	rate := []float64{100, 200, 400, 800}[r.IntN(4)]
	for i := range s.Ports {
		s.Ports[i].RateGbps = rate
	}
	if r.IntN(8) == 0 {
		return s, nil
	}
	dscp, priority := r.Perm(63), r.Perm(7)
	t := &fabric.Traffic{Share: 1 + r.IntN(99), CableM: 1 + r.IntN(300), Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 1 + dscp[0], Priority: 1 + priority[0]}, {Name: "roce", DSCP: 1 + dscp[1], Priority: 1 + priority[1], Lossless: r.IntN(4) > 0},
	}}
	if r.IntN(3) > 0 {
		low := 50_000 + r.Int64N(8_000_000)
		t.Classes[1].ECN = &fabric.ECN{MinBytes: low, MaxBytes: low + r.Int64N(4_000_000), Percent: 1 + r.IntN(100)}
	}
	if r.IntN(2) > 0 {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 100 + r.IntN(4901), RestoreMs: 100 + r.IntN(59901)}
	}
	return s, t
}

// What is rendered is read back as what was meant, and nothing of it is wrong or not understood.
func TestDellRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		s, traffic := intent(rand.New(rand.NewPCG(seed, 1)))
		text := string(OS{}.Render(s, traffic).Text)
		got := readDell(text)
		bad := dellSaid(got)
		bad = append(bad, netDiff(s, got)...)
		for i := range got.Ports {
			bad = append(bad, portDiff(s.Ports[i], got.Ports[i], s.MTU)...)
			if traffic != nil {
				bad = append(bad, trafficDiff(*traffic, got.Ports[i])...)
			}
		}
		if len(bad) > 0 {
			t.Fatalf("seed %d:\n%s\n%s", seed, strings.Join(bad, "\n"), text)
		}
	}
}

// dellWant compares what was said with what was meant.
func dellWant[T any](what string, got *fabric.Said[T], want T) []string {
	if got != nil && fmt.Sprint(got.Is) == fmt.Sprint(want) {
		return nil
	}
	return []string{fmt.Sprintf("%s: %s, want %v", what, dellIs(got), want)}
}

func netDiff(s fabric.Switch, got *fabric.SwitchConfig) (bad []string) {
	bad = append(bad, dellWant("hostname", got.Hostname, s.Name)...)
	if len(got.Ports) != len(s.Ports) || len(got.VLANs) != len(s.VLANs) || (got.BGP == nil) != (s.BGP == nil) {
		return append(bad, fmt.Sprintf("%d ports, %d VLANs, BGP %v", len(got.Ports), len(got.VLANs), got.BGP))
	}
	for i, v := range s.VLANs {
		bad = append(bad, dellWant("VLAN mtu", got.VLANs[i].MTU, s.MTU)...)
		if g := got.VLANs[i]; g.ID != v.ID || len(g.Addresses) != 1 || g.Addresses[0].Is != v.Gateway {
			bad = append(bad, fmt.Sprintf("VLAN %+v, want %+v", g, v))
		}
	}
	if s.BGP == nil {
		return bad
	}
	if got.BGP.ASN.Is != s.BGP.ASN || len(got.BGP.Neighbours) != len(s.BGP.Neighbours) {
		return append(bad, fmt.Sprintf("BGP %+v", got.BGP))
	}
	for i, n := range s.BGP.Neighbours {
		if g := got.BGP.Neighbours[i]; g.Address != n.Address || g.ASN != n.ASN {
			bad = append(bad, fmt.Sprintf("neighbour %+v, want %+v", g, n))
		}
	}
	return bad
}

func portDiff(p fabric.SwitchPort, got fabric.PortConfig, mtu int) (bad []string) {
	if got.Name != p.Name {
		return []string{"port " + got.Name + ", want " + p.Name}
	}
	bad = append(bad, dellWant("mtu", got.MTU, mtu)...)
	bad = append(bad, dellWant("rate", got.RateGbps, p.RateGbps)...)
	bad = append(bad, dellWant("up", got.Up, true)...)
	bad = append(bad, dellWant("vlan", got.VLAN, p.VLAN)...)
	if p.RateGbps >= 200 {
		bad = append(bad, dellWant("fec", got.FEC, "rs")...)
	}
	if p.Breakout > 0 {
		bad = append(bad, dellWant("breakout", got.Breakout, p.Breakout)...)
	}
	if p.Address.IsValid() != (len(got.Addresses) == 1) || p.Address.IsValid() && got.Addresses[0].Is != p.Address {
		bad = append(bad, fmt.Sprintf("addresses %v, want %s", got.Addresses, p.Address))
	}
	return bad
}

func trafficDiff(t fabric.Traffic, got fabric.PortConfig) (bad []string) {
	bad = append(bad, dellWant("trust", got.Trust, "dscp")...)
	lossless := []int{}
	for d := range 64 {
		class, pause := switchtext.UnusedPriority(t), -1
		for _, c := range t.Classes {
			if c.DSCP == d {
				class = c.Priority
				if c.Lossless {
					pause, lossless = c.Priority, append(lossless, c.Priority)
				}
			}
		}
		if has, want := treats(got.DSCP[d]), fmt.Sprintf("%d/%d/%d", class, class, pause); has != want {
			bad = append(bad, fmt.Sprintf("dscp %d: %s, want %s", d, has, want))
		}
	}
	bad = append(bad, dellWant("pfc", got.PFC, lossless)...)
	for _, q := range switchtext.Queues(t) {
		bad = append(bad, queueDiff(q, got.Queues[q.Number])...)
		want := -1
		if slices.Contains(lossless, q.Number) {
			want = q.Number
		}
		bad = append(bad, dellWant("stops", got.Stops[q.Number], want)...)
	}
	if len(lossless) == 0 {
		return append(bad, dellWant("watchdog", got.Watchdog.On, false)...)
	}
	bad = append(bad, dellWant("cable", got.CableM, cable(t.CableM))...)
	if t.Watchdog == nil {
		return append(bad, dellWant("watchdog", got.Watchdog.On, false)...)
	}
	bad = append(bad, dellWant("watchdog", got.Watchdog.On, true)...)
	bad = append(bad, dellWant("action", got.Watchdog.Action, "drop")...)
	bad = append(bad, dellWant("detect", got.Watchdog.DetectMs, t.Watchdog.DetectMs)...)
	return append(bad, dellWant("restore", got.Watchdog.RestoreMs, t.Watchdog.RestoreMs)...)
}

func queueDiff(q switchtext.Queue, got *fabric.QueueConfig) (bad []string) {
	if q.Percent == 0 {
		bad = dellWant("algorithm", got.Algorithm, "strict")
	} else {
		bad = append(dellWant("algorithm", got.Algorithm, "weighted"), dellWant("weight", got.Weight, q.Percent)...)
	}
	if got.Marks == nil || got.Marks.ECN.Is != (q.ECN != nil) || got.Marks.Drops {
		return append(bad, fmt.Sprintf("queue %d marks %+v", q.Number, got.Marks))
	}
	if q.ECN == nil {
		return bad
	}
	bad = append(bad, dellWant("probability", got.Marks.Percent, q.ECN.Percent)...)
	for _, c := range []struct {
		at   *fabric.Threshold
		want int64
	}{{got.Marks.Min, q.ECN.MinBytes}, {got.Marks.Max, q.ECN.MaxBytes}} {
		if least, most, ok := c.at.Bytes(); !ok || c.want < least || c.want > most {
			bad = append(bad, fmt.Sprintf("threshold %v, want %d bytes", c.at, c.want))
		}
	}
	return bad
}

// What the command cannot take is not written as if it could, and said.
func TestDellLimits(t *testing.T) {
	s, traffic := dellLeaf(true), classes(true, false)
	s.MTU, traffic.CableM, traffic.Classes[1].Priority = 9300, 500, 5
	traffic.Classes[1].ECN = &fabric.ECN{MinBytes: 10, MaxBytes: 64 << 20, Percent: 5}
	got := OS{}.Render(s, traffic)
	text, omits := string(got.Text), strings.Join(got.Omits, "\n")
	for _, w := range []string{"mtu", "cable-length"} {
		if strings.Contains(text, " "+w+" ") || !strings.Contains(omits, w) {
			t.Errorf("%s is written, or not said to be left out:\n%s", w, omits)
		}
	}
	if !strings.Contains(text, "minimum-threshold 1 maximum-threshold 12480 ") || !strings.Contains(omits, "lossless buffers of priority group 5") {
		t.Errorf("%s\n%s", text, omits)
	}
}
