package pipeline

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/topology"
)

// rate is what a test should show, in the unit of the test. Healthy is from low to bound.
type rate struct {
	bound, low       float64
	element, formula string
}

// function is one end of a path: the PCIe link of a twin as it is trained.
type function struct {
	gts   float64 // GT/s
	width int     // lanes
}

// Of the Spark's NIC and of RoCE v2.
const (
	portGbps = 200.0 // of a QSFP port (NVIDIA DGX Spark: ConnectX-7, 200 Gb/s Ethernet)
	fullGTs  = 32.0  // PCIe Gen5
	fullLane = 4     // all that the SoC gives a PCI domain of the NIC
	// Bytes around the payload of a RoCE v2 packet: preamble 8, Ethernet 14, FCS 4, gap 12 (IEEE 802.3), IPv4 20, UDP 8, BTH 12,
	// ICRC 4; and of a PCIe packet with 256 bytes of payload: start and number 4, header 16, CRC 4 (PCI Express 5.0, 2.2.4, 4.2.2).
	roceHeaders, tlpPayload, tlpHeaders = 82.0, 256.0, 24.0
	// healthyShare is the least of a bound that a healthy link shows: 109.3 of 115.2 Gb/s with one queue pair, 184 of 196 as the
	// lower bound of NVIDIA's own tool, and room for a measurement.
	healthyShare = 0.90
)

// roomAt is the share of an Ethernet port that is payload at a path MTU.
func roomAt(mtu int) float64 { return float64(mtu) / (float64(mtu) + roceHeaders) }

// writeRate is what ib_write_bw shows of some twins of a port at once, Gb/s. ok is false where a link or the MTU is unknown.
func writeRate(twins []function, mtu int) (r rate, ok bool) {
	if len(twins) == 0 || mtu < 256 {
		return r, false
	}
	sum, text := 0.0, ""
	for _, f := range twins {
		raw := topology.RawRate(f.gts, f.width) * 8
		if raw == 0 {
			return r, false
		}
		sum += raw * tlpPayload / (tlpPayload + tlpHeaders)
		text = fmt.Sprintf("PCIe %g GT/s x%d", f.gts, f.width)
	}
	port := portGbps * roomAt(mtu)
	r.bound, r.element = math.Min(sum, port), text
	r.formula = fmt.Sprintf("%.1f Gb/s of payload over PCIe, %.1f through the port at path MTU %d", sum, port, mtu)
	if port < sum {
		r.element = fmt.Sprintf("the %g Gb/s port", portGbps)
	}
	// One queue pair of a twin alone was seen at its share of the port, half, at path MTU 1024 (92.57 of 200 x 0.926 / 2).
	r.low = r.bound * healthyShare
	if len(twins) == 1 {
		r.low = math.Min(r.low, port/2*0.99)
	}
	return r, true
}

// gatherRate is the bus bandwidth of an all-gather, GB/s: each machine sends to the next one through one port.
func gatherRate(mtu int) rate {
	bound := portGbps * roomAt(mtu) / 8
	// NVIDIA's guide calls 20 to 24 GB/s healthy; 21.3 to 23.74 were measured.
	return rate{bound: bound, low: 0.82 * bound, element: fmt.Sprintf("the %g Gb/s port", portGbps),
		formula: fmt.Sprintf("%g Gb/s x %d/%d of packets / 8", portGbps, mtu, mtu+roceHeaders)}
}

// Latency of a small write, in microseconds: 1.47 over a cable ("DGX Spark Networking"). Below the least, light and PCIe would have
// to be faster; above twice it something waits: a retransmission costs hundreds, a switch less than one.
const (
	latencyLeast = 0.5
	latencyCable = 1.47
)

func latencyRate(throughSwitch bool) rate {
	most := 2 * latencyCable
	if throughSwitch {
		most++
	}
	return rate{bound: most, low: latencyLeast, formula: fmt.Sprintf("%g us over a cable, a switch adds less than 1, and as much again", latencyCable)}
}
