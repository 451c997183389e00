package topology

import (
	"fmt"
	"math"
	"testing"
)

func TestLinkRates(t *testing.T) {
	for _, c := range []struct {
		speed float64
		width int
		raw   float64
	}{
		{2.5, 16, 4},
		{5, 16, 8},
		{8, 16, 15.754},
		{16, 16, 31.508},
		{32, 16, 63.015},
		{32, 4, 15.754}, // DGX Spark: 126 Gb/s
		{64, 16, 118},
		{32, 0, 0}, // a virtual machine: NCCL takes 16 lanes
		{0, 16, 0},
		{24, 16, 47.262}, // no PCIe speed: NCCL assumes 8 GT/s
		{math.NaN(), 16, 0},
		{math.Inf(1), 16, 0},
		{-8, 16, 0},
	} {
		t.Run(fmt.Sprintf("%g GT/s x%d", c.speed, c.width), func(t *testing.T) {
			close := func(a, b float64) bool { return math.Abs(a-b) < 0.001 }
			if got := RawRate(c.speed, c.width); !close(got, c.raw) {
				t.Errorf("RawRate(%g, %d) = %.3f, want %.3f", c.speed, c.width, got, c.raw)
			}
		})
	}
}

func TestSlowestHop(t *testing.T) {
	m := &Machine{Source: "test", CPUs: []CPU{{Devices: []Device{
		{Bus: "0000:10:00.0", Class: classBridge, Speed: 16, Width: 16, HostBridge: "pci0000:00", Children: []Device{
			{Bus: "0000:11:00.0", Class: class3D, Speed: 32, Width: 16},
			{Bus: "0000:12:00.0", Class: classEthernet, Speed: 32, Width: 8},
		}},
		{Bus: "0000:20:00.0", Class: classEthernet, Speed: 32, Width: 16, HostBridge: "pci0000:20"},
		{Bus: "0000:30:00.0", Class: classEthernet, HostBridge: "pci0000:30"},
	}}}}
	for _, c := range []struct {
		from, to, slowest string
		hops              int
		known             bool
	}{
		{"0000:11:00.0", "0000:12:00.0", "0000:12:00.0", 2, true}, // not past the switch: its uplink does not count
		{"0000:11:00.0", "0000:20:00.0", "0000:10:00.0", 3, true}, // the uplink of Gen4
		{"0000:20:00.0", "0000:11:00.0", "0000:10:00.0", 3, true},
		{"0000:11:00.0", "0000:30:00.0", "0000:10:00.0", 3, false}, // a link that does not say could be slower
		{"0000:11:00.0", "0000:11:00.0", "", 0, false},
	} {
		t.Run(c.from+" to "+c.to, func(t *testing.T) {
			path, err := m.Path(c.from, c.to)
			if err != nil {
				t.Fatal(err)
			}
			hop, known := Slowest(path)
			if hop.Bus != c.slowest || len(path) != c.hops || known != c.known {
				t.Errorf("%s to %s: slowest %q of %d, known %v; want %q of %d, %v", c.from, c.to, hop.Bus, len(path), known, c.slowest, c.hops, c.known)
			}
		})
	}
	for _, pair := range [][2]string{{"0000:99:00.0", "0000:11:00.0"}, {"0000:11:00.0", "0000:99:00.0"}} {
		if path, err := m.Path(pair[0], pair[1]); err == nil {
			t.Errorf("a device that is not there gives %v", path)
		}
	}
}

// A pair names the PCIe link that carries less than its NIC.
func TestPairLimit(t *testing.T) {
	for name, c := range map[string]struct {
		width int
		want  string
	}{
		"x16 carries 400 Gb/s": {16, ""},
		"x8 does not":          {8, "0000:1a:00.0"},
		"no width":             {0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			m := hgxHost()
			d, _ := m.Device("0000:1a:00.0")
			d.Width = c.width
			got := ""
			if limit := m.Pairing().Pairs[0].Limit; limit != nil {
				got = limit.Bus
			}
			if got != c.want {
				t.Errorf("limited by %q, want %q", got, c.want)
			}
		})
	}
}
