package diagnose

import (
	"math"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// GPUs without NVLink have a PCIe link between them, and those with NVLink do not need it.
func TestPCIeOfGPUs(t *testing.T) {
	predict := askedOnce(t)
	for gpu, want := range map[string]float64{"a40": 0.5, "h100-sxm": 1} {
		no := gpu != "a40"
		s := Shortfall{Hardware: fabric.Hardware{GPU: gpu, Nodes: 1, GPUsPerNode: 8, NVLink: &no}, Predict: predict, Job: Job{Collective: fabric.AllGather},
			Rows: []SizeRate{{8 << 30, 10}}, Faults: []Fault{{ID: fabric.CausePCIeDowngraded, PCIe: Lanes{16, 8}, OfPCIe: Lanes{16, 16}}, {ID: fabric.CauseACSRedirect}}}
		w, err := newWorlds(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.world(set(0).with(0)).last().busbw / w.world(0).last().busbw; math.Abs(got-want) > 0.01 {
			t.Errorf("%s: half of the lanes leave %.2f, want %.2f", gpu, got, want)
		}
		if w.deaf[1] != "cost of acs-redirect" {
			t.Errorf("%s: the cost of ACS within a node is known: %q", gpu, w.deaf[1])
		}
	}
}

// Specification 5.0, 2.2).
func TestLanes(t *testing.T) {
	for l, want := range map[Lanes]float64{{32, 16}: 54, {16, 16}: 27, {8, 8}: 6.75, {2.5, 16}: 3.4, {0, 16}: 0, {32, 0}: 0} {
		if got := l.payload(); math.Abs(got-want) > 0.05 {
			t.Errorf("%v carries %.2f GB/s, want %.2f", l, got, want)
		}
	}
}

func TestPacketShare(t *testing.T) {
	for _, c := range []struct {
		mtu       int
		low, high float64
	}{{4096, 1, 1}, {9000, 1, 1}, {1024, 0.8, 0.944}, {512, 0.4, 0.879}} {
		if low, high := packetShare(c.mtu, true), packetShare(c.mtu, false); math.Abs(low-c.low) > 0.002 || math.Abs(high-c.high) > 0.002 {
			t.Errorf("an MTU of %d leaves %.3f to %.3f, want %.3f to %.3f", c.mtu, low, high, c.low, c.high)
		}
	}
}
