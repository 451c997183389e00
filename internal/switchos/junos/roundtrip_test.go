package junos

import (
	"fmt"
	"math"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// randomJunos makes up a switch and its traffic.
func randomJunos(seed uint64) (fabric.Switch, *fabric.Traffic) {
	r := rand.New(rand.NewPCG(seed, 14))
	s := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, OS: "junos", MTU: 4192 + r.IntN(5000)}
	if r.IntN(4) > 0 {
		s.BufferBytes = 16<<20 + r.Int64N(200<<20)
	}
	rails := r.IntN(2) == 0
	split := []int{1, 2, 4, 8}[r.IntN(4)]
	if rails {
		for i := range 2 {
			s.VLANs = append(s.VLANs, fabric.VLAN{ID: 2 + r.IntN(2000) + 2000*i, Name: fmt.Sprintf("rail%d", i+1), Gateway: netip.MustParsePrefix(fmt.Sprintf("10.1.%d.254/24", i))})
		}
	}
	for i := range 1 + r.IntN(16) {
		p := fabric.SwitchPort{Name: fmt.Sprintf("et-0/0/%d", i/split), Breakout: split, RateGbps: 800 / float64(split), Peer: fabric.Endpoint{Node: "gpu1", NIC: fmt.Sprint("eth", i)}}
		if split > 1 {
			p.Name += fmt.Sprintf(":%d", i%split)
		}
		if rails {
			p.VLAN = s.VLANs[i%2].ID
		} else {
			p.Address = netip.MustParsePrefix(fmt.Sprintf("10.64.0.%d/31", 2*i))
		}
		s.Ports = append(s.Ports, p)
	}
	if r.IntN(2) == 0 {
		s = uplinks(s)
	}
	priorities, points := r.Perm(7), r.Perm(63)
	t := &fabric.Traffic{CableM: 1 + r.IntN(300), Share: 1 + r.IntN(99), Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: points[0] + 1, Priority: priorities[0] + 1},
		{Name: "roce", DSCP: points[1] + 1, Priority: priorities[1] + 1, Lossless: r.IntN(4) > 0},
	}}
	if r.IntN(3) > 0 {
		least := int64(1+r.IntN(4000)) << 10
		t.Classes[1].ECN = &fabric.ECN{MinBytes: least, MaxBytes: least * int64(2+r.IntN(3)), Percent: 1 + r.IntN(100)}
	}
	if r.IntN(2) == 0 {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 100 * (2 + r.IntN(9)), RestoreMs: 200 + r.IntN(801)}
	}
	return s, t
}

// What is rendered reads back as the intent, with braces and as set commands.
func TestJunosRoundTrip(t *testing.T) {
	for seed := range uint64(200) {
		s, traffic := randomJunos(seed)
		text := string(OS{}.Render(s, traffic).Text)
		for form, text := range map[string]string{"braces": text, "set": setForm(t, text)} {
			c := readJunos(text)
			if k := kinds(c); len(k) > 0 {
				t.Fatalf("seed %d, %s: %v\n%v", seed, form, k, c.Problems)
			}
			if c.Hostname.Is != s.Name || len(c.Ports) != len(s.Ports) || len(c.VLANs) != len(s.VLANs) {
				t.Fatalf("seed %d, %s: %d ports, %d VLANs", seed, form, len(c.Ports), len(c.VLANs))
			}
			for i, p := range c.Ports {
				sameJunosPort(t, seed, s, s.Ports[i], p)
				sameJunosTraffic(t, seed, s, *traffic, p)
			}
			sameJunosSwitch(t, seed, s, c)
			if t.Failed() {
				t.Fatal(form + "\n" + text)
			}
		}
	}
}

func sameJunosPort(t *testing.T, seed uint64, s fabric.Switch, want fabric.SwitchPort, p fabric.PortConfig) {
	t.Helper()
	say := func(what, want, got any) {
		if fmt.Sprint(want) != fmt.Sprint(got) {
			t.Errorf("seed %d, %s: %s is %v, not %v", seed, p.Name, what, got, want)
		}
	}
	say("name", want.Name, p.Name)
	say("MTU", s.MTU, junosValue(p.MTU))
	say("rate", want.RateGbps, junosValue(p.RateGbps))
	say("VLAN", want.VLAN, junosValue(p.VLAN))
	if want.Breakout > 1 {
		say("breakout", want.Breakout, junosValue(p.Breakout))
	}
	if want.Address.IsValid() {
		if len(p.Addresses) != 1 {
			t.Fatalf("seed %d, %s: %v", seed, p.Name, p.Addresses)
		}
		say("address", want.Address, p.Addresses[0].Is)
	}
}

func sameJunosTraffic(t *testing.T, seed uint64, s fabric.Switch, want fabric.Traffic, p fabric.PortConfig) {
	t.Helper()
	roce, cnp := want.Classes[1], want.Classes[0]
	rest := 0
	for d, is := range p.DSCP {
		name, queue, pause := "rest", rest, -1
		for _, c := range want.Classes {
			if c.DSCP == d {
				name, queue = c.Name, c.Priority
				if c.Lossless {
					pause = c.Priority
				}
			}
		}
		if !strings.HasSuffix(is.Class.Is, "-"+name) || is.Queue.Is != queue || is.Pause.Is != pause || is.Class.At.Number == 0 {
			t.Fatalf("seed %d: DSCP %d is %s, queue %d, pause %d", seed, d, is.Class.Is, is.Queue.Is, is.Pause.Is)
		}
	}
	lossless := []int{}
	if roce.Lossless {
		lossless = append(lossless, roce.Priority)
		if p.Stops[roce.Priority].Is != roce.Priority || p.CableM.Is != want.CableM || p.Watchdog.On.Is != (want.Watchdog != nil) {
			t.Errorf("seed %d: stops %v, cable %v", seed, p.Stops, p.CableM)
		}
		if w := want.Watchdog; w != nil && (p.Watchdog.DetectMs.Is != w.DetectMs || p.Watchdog.RestoreMs.Is != w.RestoreMs) {
			t.Errorf("seed %d: watchdog %v and %v, not %v", seed, p.Watchdog.DetectMs, p.Watchdog.RestoreMs, *w)
		}
	}
	if p.Trust.Is != "dscp" || !slices.Equal(p.PFC.Is, lossless) || p.Pauses != nil {
		t.Errorf("seed %d: trust %s, PFC %v", seed, p.Trust.Is, p.PFC.Is)
	}
	if q := p.Queues[cnp.Priority]; q.Algorithm.Is != "strict" || q.Marks.ECN.Is {
		t.Errorf("seed %d: CNP %v", seed, q)
	}
	if q := p.Queues[rest]; q.Algorithm.Is != "weighted" || q.Weight.Is != 100-want.Share || q.Marks.ECN.Is {
		t.Errorf("seed %d: rest %v", seed, q)
	}
	q := p.Queues[roce.Priority]
	if q.Algorithm.Is != "weighted" || q.Weight.Is != want.Share {
		t.Errorf("seed %d: RoCE %v", seed, q)
	}
	sameJunosMarks(t, seed, s, roce, q.Marks)
}

// sameJunosMarks holds the thresholds against the size of the queue: the larger of 0.4 and 0.45 of the buffer, by what the class may
// drop. The steps are one percent, the least are 1 and 2.
func sameJunosMarks(t *testing.T, seed uint64, s fabric.Switch, roce fabric.TrafficClass, m *fabric.QueueProfile) {
	t.Helper()
	if roce.ECN == nil {
		if m.ECN.Is || m.Drops {
			t.Errorf("seed %d: %v", seed, m)
		}
		return
	}
	if !m.ECN.Is || m.Drops || m.Percent.Is != roce.ECN.Percent || m.Min.Value >= m.Max.Value {
		t.Errorf("seed %d: %v", seed, m)
	}
	if s.BufferBytes == 0 {
		return
	}
	full := float64(s.BufferBytes) * 0.4
	if !roce.Lossless {
		full = float64(s.BufferBytes) * 0.45
	}
	for _, th := range []struct {
		want float64
		got  float64
	}{{float64(roce.ECN.MinBytes), m.Min.Value}, {float64(roce.ECN.MaxBytes), m.Max.Value}} {
		if want := min(99, 100*th.want/full); math.Abs(want-th.got) > 2 {
			t.Errorf("seed %d: threshold %v is %v %%", seed, want, th.got)
		}
	}
}

func sameJunosSwitch(t *testing.T, seed uint64, s fabric.Switch, c *fabric.SwitchConfig) {
	t.Helper()
	for i, v := range s.VLANs {
		if got := c.VLANs[i]; got.ID != v.ID || got.MTU.Is != s.MTU || len(got.Addresses) != 1 || got.Addresses[0].Is != v.Gateway {
			t.Errorf("seed %d: VLAN %v", seed, got)
		}
	}
	if (s.BGP == nil) != (c.BGP == nil) {
		t.Fatalf("seed %d: BGP %v", seed, c.BGP)
	}
	if s.BGP == nil {
		return
	}
	if c.BGP.ASN.Is != s.BGP.ASN || len(c.BGP.Neighbours) != len(s.BGP.Neighbours) {
		t.Errorf("seed %d: BGP %v", seed, c.BGP)
	}
	for i, n := range s.BGP.Neighbours {
		if got := c.BGP.Neighbours[i]; got.Address != n.Address || got.ASN != n.ASN {
			t.Errorf("seed %d: neighbour %v", seed, got)
		}
	}
}
