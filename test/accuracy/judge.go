package main

import (
	"math"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
)

// outcome is a table beside its prediction and the guesses.
type outcome struct {
	table      table
	prediction *fabric.Prediction
	ring       []float64 // us, of a ring at line rate
	thumb      []float64 // us, of the rule of thumb
}

func judge(cat *catalog.Catalog, t table) (outcome, error) {
	c, err := collective.New(cat, t.Hardware)
	if err != nil {
		return outcome{}, err
	}
	p, err := c.Predict(t.job(), t.sizes())
	if err != nil {
		return outcome{}, err
	}
	o := outcome{table: t, prediction: p}
	line := lineRate(cat, p.Hardware, t.Collective)
	factor := t.Collective.BusFactor(p.Ranks)
	for _, r := range t.Rows {
		guess := float64(r.Size) * factor / (line * 1000)
		o.ring = append(o.ring, guess)
		o.thumb = append(o.thumb, thumbLatency+guess/thumbShare)
	}
	return o, nil
}

// The rule of thumb: four fifths of what is advertised (S. Bekman, Machine Learning Engineering, network/README.md:
// 234.9 of 300 GB/s on A100, and "80% of the advertised" for fabrics), after the 20 us that a small
// collective takes (NVIDIA/nccl-tests, doc/PERFORMANCE.md, speaks of tens of microseconds).
const (
	thumbShare   = 0.8
	thumbLatency = 20
)

// lineRate is bus bandwidth at line rate, GB/s: of the NICs of a node, or of the links of a GPU where there is one
// node; of an alltoall that of the NICs of a GPU, by the share that leaves the node.
func lineRate(cat *catalog.Catalog, hw fabric.Hardware, what fabric.Collective) float64 {
	if hw.Nodes == 1 {
		_, gpu, err := cat.GPU(hw.GPU)
		if err != nil || gpu.ScaleUp.Value == 0 {
			return 64 // PCIe 5.0 x16
		}
		return gpu.ScaleUp.Value
	}
	node := float64(hw.NICsPerNode) * hw.NICGbps / 8
	if what != fabric.AllToAll {
		return node
	}
	n, g := float64(hw.Nodes*hw.GPUsPerNode), float64(hw.GPUsPerNode)
	return node / g * (n - 1) / (n - g)
}

const mebibyte = 1 << 20

// off returns the errors of times at sizes from least on: the share of what was measured.
func (o outcome) off(times []float64, least int64, last int) (errors []float64) {
	from := 0
	if last > 0 {
		from = max(0, len(o.table.Rows)-last)
	}
	for i, r := range o.table.Rows {
		if r.Size >= least && i >= from {
			errors = append(errors, math.Abs(times[i]-r.TimeUS)/r.TimeUS)
		}
	}
	return errors
}

func (o outcome) predicted() []float64 {
	times := make([]float64, len(o.prediction.Rows))
	for i, r := range o.prediction.Rows {
		times[i] = r.TimeUS
	}
	return times
}

// over returns measured over bound for every row, and bound over measured for the three largest sizes.
func (o outcome) over() (above, tight []float64) {
	for i, r := range o.table.Rows {
		bound := o.prediction.Rows[i].Bound.BusBW
		above = append(above, r.BusBW/bound)
		if i >= len(o.table.Rows)-3 {
			tight = append(tight, bound/r.BusBW)
		}
	}
	return above, tight
}

// inside counts the rows in their bands. Tables print two or three digits: what rounds to nothing is left out.
func (o outcome) inside() (in, of int) {
	for i, r := range o.table.Rows {
		p := o.prediction.Rows[i]
		measured := float64(r.Size) / r.TimeUS / 1000 * o.table.Collective.BusFactor(o.prediction.Ranks)
		of++
		if measured >= p.Band[0] && measured <= p.Band[1] {
			in++
		}
	}
	return in, of
}

func quantile(of []float64, q float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(of))
	at := q * float64(len(s)-1)
	i := int(at)
	if i+1 >= len(s) {
		return s[len(s)-1]
	}
	return s[i] + (s[i+1]-s[i])*(at-float64(i))
}
