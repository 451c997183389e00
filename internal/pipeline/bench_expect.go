package pipeline

import (
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
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

// gatherRates are what an all-gather over the machines of a plan should show, by the same model as railwright predict.
func gatherRates(p *fabric.Plan) (*fabric.Prediction, error) {
	cat, err := catalog.Load()
	if err != nil {
		return nil, err
	}
	hw, err := Hardware(p)
	if err != nil {
		return nil, err
	}
	c, err := collective.New(cat, hw)
	if err != nil {
		return nil, err
	}
	return c.Predict(collective.Job{Collective: fabric.AllGather, Version: p.NCCL}, []int64{512 << 20, 1 << 30, 2 << 30, 4 << 30})
}

// gatherRate is the bus bandwidth at a size, GB/s. ok is false for a size that was not predicted.
func gatherRate(p *fabric.Prediction, size int64) (r rate, ok bool) {
	if p == nil {
		return r, false
	}
	for _, row := range p.Rows {
		if row.Size == size {
			return rate{bound: row.Bound.BusBW, low: row.Band[0], element: row.Bound.Element,
				formula: fmt.Sprintf("%.1f predicted, bound by %s", row.BusBW, row.Bound.Element)}, true
		}
	}
	return r, false
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
