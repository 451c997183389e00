package pipeline

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/topology"
)

// rate is what a test should show, in the unit of the test. Healthy is from low to bound.
type rate struct {
	bound, low       float64
	element, formula string
}

// Of the NIC of a DGX Spark.
const (
	portGbps = 200.0 // of a QSFP port (NVIDIA DGX Spark: ConnectX-7, 200 Gb/s Ethernet)
	fullGTs  = 32.0  // PCIe Gen5
	fullLane = 4     // all that the SoC gives a PCI domain of the NIC
)

// writeRate is what ib_write_bw shows of some twins at once, with the PCIe links that they should have, Gb/s. ok is false where the
// MTU or a function is unknown.
func writeRate(twins []fabric.Twin, mtu int) (r rate, ok bool) {
	load := topology.RDMALoad{PortGbps: portGbps, PathMTU: mtu}
	for _, t := range twins {
		f, ok := topology.SparkFunction(t.PCI, fullGTs, fullLane)
		if !ok {
			return r, false
		}
		load.Functions = append(load.Functions, f)
	}
	rates, ok := topology.RDMAWrite(load)
	if !ok {
		return r, false
	}
	of := rates.Total
	return rate{bound: of.Bound, low: of.Low, element: of.Element, formula: of.Formula}, true
}

// gatherLow is the least bus bandwidth of an all-gather that is healthy, of what one port carries: NVIDIA's guide calls 20 to 24 GB/s
// of 24.5 healthy, and 21.3 to 23.74 were measured.
const gatherLow = 0.82

// gatherRate is the bus bandwidth of an all-gather, GB/s: each machine sends to the next through the ports that lead to it. ports is
// how many these can be: NCCL may use both directions of a ring.
func gatherRate(port, all rate, ports int) rate {
	r := rate{bound: port.bound / 8, low: gatherLow * port.bound / 8, element: port.element, formula: port.formula + " / 8"}
	if ports > 1 {
		r.bound, r.element, r.formula = all.bound/8, all.element, all.formula+" / 8; one port is enough to be healthy"
	}
	return r
}

// latencyRate is what ib_write_lat shows as typical, microseconds.
func latencyRate(throughSwitch bool) rate {
	switches := 0
	if throughSwitch {
		switches = 1
	}
	l := topology.RDMAWriteLatency(switches)
	return rate{bound: l.High, low: l.Low, formula: l.Formula}
}
