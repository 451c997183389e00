package topology

import (
	"math"
	"strings"
	"testing"
)

// sparkLoad is a load of a healthy DGX Spark.
func sparkLoad(t *testing.T, mtu int, buses ...string) RDMALoad {
	t.Helper()
	load := RDMALoad{PortGbps: 200, PathMTU: mtu}
	for _, bus := range buses {
		f, ok := SparkFunction(bus, 32, 4)
		if !ok {
			t.Fatalf("%s is no function of a Spark", bus)
		}
		load.Functions = append(load.Functions, f)
	}
	return load
}

const (
	port0, port0Twin = "0000:01:00.0", "0002:01:00.0"
	port1, port1Twin = "0000:01:00.1", "0002:01:00.1"
)

// What ib_write_bw showed on DGX Sparks: DGX Spark Networking, "Do I need a second cable for my DGX Spark cluster?",
// LLMKube issue 1423, NVIDIA/dgx-spark-playbooks, connect-two-sparks.
func TestRDMAWriteOfSparks(t *testing.T) {
	for _, c := range []struct {
		name     string
		load     RDMALoad
		measured []float64 // of each function
		element  string    // of all together
	}{
		{"a twin alone", sparkLoad(t, 4096, port1), []float64{109.28}, "one PCIe link of 32 GT/s x4"},
		{"a twin alone, eight queue pairs", sparkLoad(t, 4096, port1Twin), []float64{111.86}, "one PCIe"},
		{"a twin alone, another machine", sparkLoad(t, 4096, port0), []float64{109.19}, "one PCIe"},
		{"a twin alone, four queue pairs, MTU 1500", sparkLoad(t, 1024, port1), []float64{111.71}, "one PCIe"},
		{"a twin alone, one queue pair, MTU 1500", sparkLoad(t, 1024, port0Twin), []float64{92.57}, "one PCIe"},
		{"a twin alone at its half of the port", sparkLoad(t, 4096, port0), []float64{97.97}, "one PCIe"},
		{"both twins", sparkLoad(t, 4096, port1, port1Twin), []float64{98.04, 98.04}, "one Ethernet port of 200 Gb/s"},
		{"both ports", sparkLoad(t, 4096, port1, port1Twin, port0, port0Twin), []float64{54.59, 54.59, 54.59, 54.59}, "2 PCIe links of 32 GT/s x4"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, ok := RDMAWrite(c.load)
			if !ok {
				t.Fatal("unknown")
			}
			sum := 0.0
			for i, m := range c.measured {
				sum += m
				if e := got.Each[i]; m < e.Low || m > e.High || m > e.Bound {
					t.Errorf("%.2f Gb/s: healthy is %.2f to %.2f, bound %.2f", m, e.Low, e.High, e.Bound)
				}
			}
			if got.Total.Bound < sum || sum < got.Total.Low {
				t.Errorf("%.2f Gb/s together: healthy is %.2f to %.2f, bound %.2f", sum, got.Total.Low, got.Total.High, got.Total.Bound)
			}
			if !strings.HasPrefix(got.Total.Element, c.element) {
				t.Errorf("set by %q, want %q", got.Total.Element, c.element)
			}
		})
	}
}

// NVIDIA's guide adds 92.57 and 97.28 Gb/s of two runs at a path MTU of 1024 to 189.85: each is healthy, but a port of 200 Gb/s
// does not carry both at the same moment, so that the sum is above the bound.
func TestRDMAWriteOfRunsSideBySide(t *testing.T) {
	rates, _ := RDMAWrite(sparkLoad(t, 1024, port0, port0Twin))
	for i, m := range []float64{92.57, 97.28} {
		if e := rates.Each[i]; m < e.Low || m > e.High {
			t.Errorf("%.2f Gb/s: healthy is %.2f to %.2f", m, e.Low, e.High)
		}
	}
	if rates.Total.Bound > 185.3 || rates.Total.Bound < 185.1 {
		t.Errorf("together %+v", rates.Total)
	}
}

// What is wrong with a machine is below what is healthy.
func TestRDMAWriteOfFaults(t *testing.T) {
	narrow := sparkLoad(t, 4096, port0, port0Twin)
	narrow.Functions[1].Width = 2
	rates, _ := RDMAWrite(narrow)
	if e := rates.Each[1]; math.Abs(e.Bound-57.6) > 0.1 || e.High > 60 {
		t.Errorf("a twin at x2: %+v", e)
	}
	if e := rates.Each[0]; math.Abs(e.Expected-109.3) > 0.5 { // it takes what its twin leaves of the port
		t.Errorf("beside a twin at x2: %+v", e)
	}
	if rates.Total.Expected > 165 || rates.Total.Bound > 175 {
		t.Errorf("a port with a twin at x2: %+v", rates.Total)
	}
	whole, _ := RDMAWrite(sparkLoad(t, 4096, port0, port0Twin))
	if rates.Total.High >= whole.Total.Low {
		t.Errorf("a twin at x2 is not told from a healthy port: %.1f and %.1f Gb/s", rates.Total.High, whole.Total.Low)
	}
	for _, degraded := range []float64{8, 13.4, 25.5} {
		if degraded >= whole.Each[0].Low {
			t.Errorf("%g Gb/s counts as healthy", degraded)
		}
	}
	if gen4, _ := RDMAWrite(RDMALoad{PortGbps: 200, PathMTU: 4096, Functions: []RDMAFunction{{Speed: 16, Width: 4}}}); gen4.Total.Bound > 58 {
		t.Errorf("PCIe Gen4 x4: %+v", gen4.Total)
	}
}

// Where the machine is unknown nothing is expected of it.
func TestRDMAWriteUnknown(t *testing.T) {
	good := sparkLoad(t, 4096, port0)
	for name, change := range map[string]func(*RDMALoad){
		"no function":   func(l *RDMALoad) { l.Functions = nil },
		"no speed":      func(l *RDMALoad) { l.Functions[0].Speed = 0 },
		"no width":      func(l *RDMALoad) { l.Functions[0].Width = 0 },
		"no port rate":  func(l *RDMALoad) { l.PortGbps = 0 },
		"NaN":           func(l *RDMALoad) { l.PortGbps = math.NaN() },
		"an endless":    func(l *RDMALoad) { l.PortGbps = math.Inf(1) },
		"no path MTU":   func(l *RDMALoad) { l.PathMTU = 0 },
		"no real speed": func(l *RDMALoad) { l.Functions[0].Speed = math.Inf(1) },
	} {
		t.Run(name, func(t *testing.T) {
			l := good
			l.Functions = append([]RDMAFunction{}, good.Functions...)
			change(&l)
			if got, ok := RDMAWrite(l); ok {
				t.Errorf("%+v", got)
			}
		})
	}
	if got, ok := RDMAWrite(good); !ok || got.Each[0].Formula != "32 GT/s x 4 lanes x 0.9846 of line code x 256/280 of packets" {
		t.Errorf("%+v", got)
	}
}

func TestSparkFunction(t *testing.T) {
	for bus, want := range map[string]RDMAFunction{
		"0000:01:00.0": {Port: 0, Link: "0000"}, "0002:01:00.0": {Port: 0, Link: "0002"},
		"0000:01:00.1": {Port: 1, Link: "0000"}, "0002:1:0.1": {Port: 1, Link: "0002"},
	} {
		if f, ok := SparkFunction(bus, 32, 4); !ok || f.Port != want.Port || f.Link != want.Link {
			t.Errorf("%s: %+v, %v", bus, f, ok)
		}
	}
	for _, bus := range []string{"", "x", "0000:02:00.0", "0001:01:00.0", "0000:01:00.2", "000f:01:00.0", "0000:01:01.0"} {
		if f, ok := SparkFunction(bus, 32, 4); ok {
			t.Errorf("%q: %+v", bus, f)
		}
	}
}

func TestRDMAWriteLatency(t *testing.T) {
	for _, c := range []struct {
		switches int
		measured []float64
	}{{0, []float64{1.42, 1.47, 1.57, 1.98}}, {1, []float64{2.0, 2.3}}} {
		l := RDMAWriteLatency(c.switches)
		for _, m := range c.measured {
			if m < l.Low || m > l.High {
				t.Errorf("%d switches: %.2f us is not between %.2f and %.2f", c.switches, m, l.Low, l.High)
			}
		}
		if !(l.Low < l.Expected && l.Expected < l.High) || l.High > 8 {
			t.Errorf("%+v", l)
		}
	}
}

func TestRDMAPayload(t *testing.T) {
	for mtu, want := range map[int]int{0: 0, -1: 0, 351: 0, 352: 256, 1500: 1024, 4191: 2048, 4192: 4096, 9000: 4096} {
		if got := RDMAPayload(mtu); got != want {
			t.Errorf("MTU %d: %d, want %d", mtu, got, want)
		}
	}
}
