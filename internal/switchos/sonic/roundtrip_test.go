package sonic

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/switchos/switchtext"
)

// randomTraffic has classes with numbers of their own in every field.
func randomTraffic(r *rand.Rand) *fabric.Traffic {
	dscps, priorities := r.Perm(63), r.Perm(7)
	roce := fabric.TrafficClass{Name: "roce", DSCP: dscps[0] + 1, Priority: priorities[0] + 1, Lossless: r.IntN(4) > 0}
	if r.IntN(3) > 0 {
		least := r.Int64N(8<<20) + 1
		roce.ECN = &fabric.ECN{MinBytes: least, MaxBytes: least + r.Int64N(8<<20), Percent: r.IntN(101)}
	}
	t := &fabric.Traffic{Share: 1 + r.IntN(99), CableM: 1 + r.IntN(400), Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: dscps[1] + 1, Priority: priorities[1] + 1}, roce,
	}}
	if r.IntN(2) == 0 {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 100 + r.IntN(4901), RestoreMs: 100 + r.IntN(59901)}
	}
	return t
}

// randomSwitch has ports of one of the addressing schemes, whole or split, with or without spines.
func randomSwitch(r *rand.Rand) fabric.Switch {
	rate, split := []float64{100, 200, 400, 800}[r.IntN(4)], []int{0, 2, 4}[r.IntN(3)]
	s := fabric.Switch{Name: fmt.Sprintf("leaf%d", r.IntN(1000)), Role: fabric.Leaf, OS: "sonic", MTU: 4192 + r.IntN(MaxMTU-4192+1)}
	scheme, rails := r.IntN(3), 1+r.IntN(8)
	if scheme == 0 {
		for rail := range rails {
			s.VLANs = append(s.VLANs, fabric.VLAN{ID: 101 + rail, Name: fmt.Sprintf("rail%d", rail+1), Gateway: netip.MustParsePrefix(fmt.Sprintf("10.65.%d.1/24", rail))})
		}
	}
	at := netip.MustParseAddr("10.64.0.0")
	for i := range 1 + r.IntN(64) {
		p := fabric.SwitchPort{Name: fmt.Sprintf("Ethernet%d", 8*i), RateGbps: rate, Peer: fabric.Endpoint{Node: fmt.Sprintf("host%d", i), NIC: "eth1"}}
		if split > 0 {
			p.Name = fmt.Sprintf("Ethernet%d", i/split*8+i%split*8/split)
			p.Cage, p.Breakout = strconv.Itoa(i/split*8), split
		}
		switch scheme {
		case 0:
			p.VLAN = 101 + i%rails
		case 1:
			p.Address = netip.PrefixFrom(at, 31)
			at = at.Next().Next()
		}
		s.Ports = append(s.Ports, p)
	}
	if r.IntN(2) == 0 {
		s = withUplinks(s)
		for i := range 2 {
			s.Ports[len(s.Ports)-1-i].Name = fmt.Sprintf("Ethernet%d", 1000-8*i)
		}
	}
	return s
}

// What is rendered reads back as what it was rendered from, with nothing wrong in it and nothing unread.
func TestSONiCRoundTrip(t *testing.T) {
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 14))
		s, traffic := randomSwitch(r), randomTraffic(r)
		text := OS{}.Render(s, traffic).Text
		c := OS{}.Read(s.Name, []switchtext.Text{{File: "leaf.json", Bytes: text}})
		if len(c.Problems)+len(c.Unread) > 0 || len(c.Ports) != len(s.Ports) || c.Hostname.Is != s.Name || c.Texts[0].Whole {
			t.Fatalf("seed %d: problems %v, unread %v, %d ports of %d\n%s", seed, c.Problems, c.Unread, len(c.Ports), len(s.Ports), text)
		}
		for i, p := range c.Ports {
			samePort(t, s, s.Ports[i], p, traffic)
			sameClasses(t, p, *traffic)
		}
		sameNetworks(t, s, c)
		if t.Failed() {
			t.Fatalf("seed %d:\n%s", seed, text)
		}
	}
}

func samePort(t *testing.T, s fabric.Switch, want fabric.SwitchPort, p fabric.PortConfig, traffic *fabric.Traffic) {
	t.Helper()
	if p.Name != want.Name || !p.Up.Is || p.MTU.Is != s.MTU || p.RateGbps.Is != want.RateGbps || p.CableM.Is != traffic.CableM {
		t.Errorf("%s up %s mtu %s rate %s cable %s, not %+v", p.Name, word(p.Up), word(p.MTU), word(p.RateGbps), word(p.CableM), want)
	}
	if (p.FEC == nil) != (want.RateGbps < 200) || p.FEC != nil && p.FEC.Is != "rs" {
		t.Errorf("%s: FEC %s at %g Gb/s", p.Name, word(p.FEC), want.RateGbps)
	}
	if want.Breakout > 0 && (p.Breakout == nil || p.Breakout.Is != want.Breakout) || want.Breakout == 0 && p.Breakout != nil {
		t.Errorf("%s: split into %s, not %d", p.Name, word(p.Breakout), want.Breakout)
	}
	speaks := len(s.VLANs) > 0 || slices.ContainsFunc(s.Ports, func(p fabric.SwitchPort) bool { return p.Address.IsValid() })
	if speaks != (p.VLAN != nil) || speaks && p.VLAN.Is != want.VLAN {
		t.Errorf("%s: VLAN %s, not %d", p.Name, word(p.VLAN), want.VLAN)
	}
	if want.Address.IsValid() != (len(p.Addresses) == 1) || len(p.Addresses) == 1 && p.Addresses[0].Is != want.Address {
		t.Errorf("%s: addresses %v, not %s", p.Name, p.Addresses, want.Address)
	}
}

func sameClasses(t *testing.T, p fabric.PortConfig, traffic fabric.Traffic) {
	t.Helper()
	rest := switchtext.UnusedPriority(traffic)
	pfc := []int{}
	class := make(map[int]fabric.TrafficClass)
	for _, c := range traffic.Classes {
		class[c.DSCP] = c
		if c.Lossless {
			pfc = append(pfc, c.Priority)
		}
	}
	if p.Trust.Is != "dscp" || !slices.Equal(p.PFC.Is, pfc) {
		t.Errorf("%s: trusts %s, PFC %v, not %v", p.Name, p.Trust.Is, p.PFC.Is, pfc)
	}
	for d, got := range p.DSCP {
		queue, pause := rest, -1
		if c, ok := class[d]; ok {
			queue = c.Priority
			if c.Lossless {
				pause = c.Priority
			}
		}
		if got.Class.Is != strconv.Itoa(queue) || got.Queue.Is != queue || got.Pause.Is != pause {
			t.Errorf("%s DSCP %d: class %s queue %s pause %s, not %d, %d", p.Name, d, word(got.Class), word(got.Queue), word(got.Pause), queue, pause)
		}
	}
	for n, stops := range p.Stops {
		want := -1
		if slices.Contains(pfc, n) {
			want = n
		}
		if stops == nil || stops.Is != want {
			t.Errorf("%s: a pause of %d stops %s, not %d", p.Name, n, word(stops), want)
		}
	}
	sameQueues(t, p, traffic)
	w := p.Watchdog
	if on := traffic.Watchdog != nil && len(pfc) > 0; on {
		if !w.On.Is || w.Action.Is != "drop" || w.DetectMs.Is != traffic.Watchdog.DetectMs || w.RestoreMs.Is != traffic.Watchdog.RestoreMs || !slices.Equal(w.Priorities.Is, pfc) {
			t.Errorf("%s: watchdog %+v, not %+v", p.Name, w, traffic.Watchdog)
		}
	} else if w.On.Is {
		t.Errorf("%s: a watchdog that nobody asked for", p.Name)
	}
}

func sameQueues(t *testing.T, p fabric.PortConfig, traffic fabric.Traffic) {
	t.Helper()
	have := make(map[int]switchtext.Queue)
	for _, q := range switchtext.Queues(traffic) {
		have[q.Number] = q
	}
	for n, q := range p.Queues {
		want, ok := have[n]
		if !ok {
			if q.Algorithm != nil || q.Marks.ECN.Is {
				t.Errorf("%s: queue %d is %s", p.Name, n, word(q.Algorithm))
			}
			continue
		}
		if want.Percent == 0 && q.Algorithm.Is != "strict" || want.Percent > 0 && (q.Algorithm.Is != "weighted" || q.Weight.Is != want.Percent) {
			t.Errorf("%s: queue %d is %s %s, not %+v", p.Name, n, word(q.Algorithm), word(q.Weight), want)
		}
		m := q.Marks
		if m.Drops || m.ECN.Is != (want.ECN != nil) {
			t.Errorf("%s: queue %d marks %+v", p.Name, n, m)
		}
		if e := want.ECN; e != nil && (m.Min.Value != float64(e.MinBytes) || m.Max.Value != float64(e.MaxBytes) || m.Percent.Is != e.Percent || m.Min.Unit != "bytes") {
			t.Errorf("%s: queue %d marks from %v to %v at %v, not %+v", p.Name, n, m.Min, m.Max, m.Percent, e)
		}
	}
}

func sameNetworks(t *testing.T, s fabric.Switch, c *fabric.SwitchConfig) {
	t.Helper()
	if len(c.VLANs) != len(s.VLANs) {
		t.Errorf("%d VLANs, not %d", len(c.VLANs), len(s.VLANs))
		return
	}
	for i, v := range c.VLANs {
		if want := s.VLANs[i]; v.ID != want.ID || v.MTU.Is != s.MTU || len(v.Addresses) != 1 || v.Addresses[0].Is != want.Gateway {
			t.Errorf("VLAN %+v, not %+v", v, want)
		}
	}
	if (s.BGP == nil) != (c.BGP == nil) {
		t.Errorf("BGP %+v, not %+v", c.BGP, s.BGP)
		return
	}
	if s.BGP == nil {
		return
	}
	if c.BGP.ASN.Is != s.BGP.ASN || len(c.BGP.Neighbours) != len(s.BGP.Neighbours) {
		t.Errorf("BGP %+v, not %+v", c.BGP, s.BGP)
	}
	for i, n := range c.BGP.Neighbours {
		if want := s.BGP.Neighbours[i]; n.Address != want.Address || n.ASN != want.ASN {
			t.Errorf("neighbour %+v, not %+v", n, want)
		}
	}
}

// A switch of 10,000 ports is read in time, and ports that classify alike share their tables.
func TestSONiCReadsManyPorts(t *testing.T) {
	s := fabric.Switch{Name: "big", Role: fabric.Leaf, MTU: 9100}
	at := netip.MustParseAddr("10.64.0.0")
	for i := range 10_000 {
		s.Ports = append(s.Ports, fabric.SwitchPort{Name: fmt.Sprintf("Ethernet%d", 8*i), RateGbps: 400, Address: netip.PrefixFrom(at, 31)})
		at = at.Next().Next()
	}
	text := OS{}.Render(s, classes(true, true)).Text
	begin := time.Now()
	c := OS{}.Read("big", []switchtext.Text{{File: "big.json", Bytes: text}})
	took := time.Since(begin)
	if len(c.Ports) != 10_000 || len(c.Problems)+len(c.Unread) > 0 || c.Ports[0].DSCP == nil || c.Ports[0].DSCP != c.Ports[9_999].DSCP {
		t.Errorf("%d ports, %d problems, %v shared", len(c.Ports), len(c.Problems), c.Ports[0].DSCP == c.Ports[9_999].DSCP)
	}
	t.Logf("%d bytes in %s", len(text), took)
	if took > 2*time.Minute {
		t.Errorf("it took %s", took)
	}
}
