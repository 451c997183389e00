package eos

import (
	"flag"
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// leaf has four ports in use, routed or not.
func leaf(routed bool) fabric.Switch {
	s := fabric.Switch{Name: "leaf1", Role: fabric.Leaf, Model: "z9664f", OS: "sonic", MTU: 9000}
	at := netip.MustParseAddr("10.64.0.0")
	for i := range 4 {
		p := fabric.SwitchPort{
			Name: fmt.Sprintf("Ethernet%d", 4*i), RateGbps: 400,
			Peer: fabric.Endpoint{Node: fmt.Sprintf("gpu%d", i/2+1), NIC: fmt.Sprintf("eth%d", i%2+1)},
		}
		if routed {
			p.Address = netip.PrefixFrom(at, 31)
			at = at.Next().Next()
		}
		s.Ports = append(s.Ports, p)
	}
	return s
}

func classes(ecn, watchdog bool) *fabric.Traffic {
	t := &fabric.Traffic{CableM: 5, Share: 50, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 48, Priority: 7}, {Name: "roce", DSCP: 26, Priority: 3, Lossless: true},
	}}
	if ecn {
		t.Classes[1].ECN = &fabric.ECN{MinBytes: 1 << 20, MaxBytes: 2 << 20, Percent: 5}
	}
	if watchdog {
		t.Watchdog = &fabric.PFCWatchdog{DetectMs: 200, RestoreMs: 400}
	}
	return t
}

// lossy has no PFC, so that the watchdog has nothing to watch, with other numbers in every field.
func lossy() *fabric.Traffic {
	return &fabric.Traffic{CableM: 40, Share: 80, Watchdog: &fabric.PFCWatchdog{DetectMs: 300, RestoreMs: 600}, Classes: []fabric.TrafficClass{
		{Name: "cnp", DSCP: 46, Priority: 6},
		{Name: "roce", DSCP: 24, Priority: 4, ECN: &fabric.ECN{MinBytes: 3 << 20, MaxBytes: 6 << 20, Percent: 20}},
	}}
}

var leafCases = []struct {
	name    string
	routed  bool
	traffic *fabric.Traffic
}{
	{"routed with all", true, classes(true, true)},
	{"routed with classes alone", true, classes(false, false)},
	{"routed and lossy", true, lossy()},
	{"bridged", false, classes(false, false)},
	{"no classes", true, nil},
}
