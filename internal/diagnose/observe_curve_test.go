package diagnose

import (
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// asPredicted makes the table of an all-reduce that measures what healthy machines would, each size times share(size).
func asPredicted(t *testing.T, predict Predictor, hw fabric.Hardware, share func(size int64) float64) *fabric.Table {
	t.Helper()
	var sizes []int64
	for size := int64(8); size <= 8<<30; size *= 2 {
		sizes = append(sizes, size)
	}
	p, err := predict(hw, Job{Collective: fabric.AllReduce}, sizes)
	if err != nil {
		t.Fatal(err)
	}
	factor := fabric.AllReduce.BusFactor(p.Ranks)
	table := &fabric.Table{Collective: fabric.AllReduce, Ranks: p.Ranks, Nodes: p.Nodes, Complete: true, Checked: true}
	for i, size := range sizes {
		us := p.Rows[i].TimeUS / share(size)
		alg := float64(size) / us / 1000
		table.Rows = append(table.Rows, fabric.Row{Size: size, Type: "float", TimeUS: f(us), AlgBW: f(alg), BusBW: f(alg * factor)})
	}
	return table
}

func explainCurve(table *fabric.Table, hw fabric.Hardware, predict Predictor) fabric.Explained {
	return explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: table}}, Input{Predict: predict, Hardware: hw}).Results[0]
}

// largeFrom scales every size from 8 MiB on.
func largeFrom(share float64) func(int64) float64 {
	return func(size int64) float64 {
		if size < 8<<20 {
			return 1
		}
		return share
	}
}

// only scales the sizes named.
func only(share float64, sizes ...int64) func(int64) float64 {
	return func(size int64) float64 {
		for _, s := range sizes {
			if s == size {
				return share
			}
		}
		return 1
	}
}

// All large rows of a table count: a slow cluster is not healthy by its most flattering row.
func TestPlateauJudgesAllLargeRows(t *testing.T) {
	predict := remembered(predictor(t))
	for _, tt := range []struct {
		name    string
		nodes   int
		share   func(int64) float64
		verdict fabric.Verdict
		why     string
	}{
		{"as predicted", 2, largeFrom(1), fabric.VerdictHealthy, "is within"},
		{"a little less", 2, largeFrom(0.95), fabric.VerdictHealthy, "is within"},
		{"87.5 % of two nodes", 2, largeFrom(0.875), fabric.VerdictDegraded, ""},
		{"80 % of one node", 1, largeFrom(0.8), fabric.VerdictDegraded, ""},
		{"80 % of two nodes", 2, largeFrom(0.8), fabric.VerdictDegraded, ""},
		{"80 % of eight nodes", 8, largeFrom(0.8), fabric.VerdictDegraded, ""},
		{"75 % of four nodes", 4, largeFrom(0.75), fabric.VerdictDegraded, ""},
		{"above the band, under the bound", 4, largeFrom(1.07), fabric.VerdictHealthy, "is above the expected"},
		{"above the bound", 1, largeFrom(1.5), fabric.VerdictUnknown, "more than the bound allows"},
		{"one slow row among the large", 2, only(0.5, 1<<30), fabric.VerdictHealthy, "is within"},
		{"the three largest slow", 2, only(0.5, 2<<30, 4<<30, 8<<30), fabric.VerdictDegraded, ""},
		{"the largest slow", 2, only(0.5, 8<<30), fabric.VerdictUnknown, "the largest size measured is below its band: 8 GiB"},
		{"the two largest slow", 2, only(0.5, 4<<30, 8<<30), fabric.VerdictUnknown, "the largest size measured is below its band"},
		{"most smaller sizes slow", 2, func(size int64) float64 {
			if size < 64<<20 {
				return 0.42
			}
			return 1
		}, fabric.VerdictUnknown, "smaller sizes lie below their bands"},
		{"one slow row among smaller sizes", 2, only(0.4, 16<<20), fabric.VerdictHealthy, "is within"},
		{"two sizes in a row that move less than the one before", 2, only(0.4, 16<<20, 32<<20), fabric.VerdictUnknown, "larger messages are slower than smaller ones"},
		{"a smaller size faster than the wire", 2, only(2.2, 128<<20), fabric.VerdictUnknown, "at 128 MiB is more than the bound"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			hw := fabric.Hardware{Machine: "hgx-h100", Nodes: tt.nodes}
			r := explainCurve(asPredicted(t, predict, hw, tt.share), hw, predict)
			why := tt.why
			if r.Verdict != tt.verdict || !strings.Contains(r.Why, why) {
				t.Errorf("%s: %s, want %s %q", r.Verdict, r.Why, tt.verdict, why)
			}
			if m := r.Measured; m != nil && r.Expected != nil && m.BusBW > 0 && strings.Contains(r.Why, "within") && (m.BusBW < r.Expected.Low || m.BusBW > r.Expected.High) {
				t.Errorf("%g is not within %g to %g: %s", m.BusBW, r.Expected.Low, r.Expected.High, r.Why)
			}
		})
	}
}

// Whatever share of the prediction the large rows are, a table is healthy only if its largest row is within its band
// or above it, and degraded if all of them are under.
func TestNoShareIsHealthyBelowTheBand(t *testing.T) {
	predict := remembered(predictor(t))
	for _, machine := range []string{"hgx-a100", "a4-highgpu-8g", "xe9680-mi300x-thor2"} {
		for _, nodes := range []int{1, 2, 4} {
			for percent := 50; percent <= 110; percent += 6 {
				t.Run(fmt.Sprint(machine, " ", nodes, " ", percent), func(t *testing.T) {
					hw := fabric.Hardware{Machine: machine, Nodes: nodes}
					r := explainCurve(asPredicted(t, predict, hw, largeFrom(float64(percent)/100)), hw, predict)
					low, last := true, r.Rows[len(r.Rows)-1]
					for _, row := range r.Rows {
						low = low && (row.Size < 1<<30 || row.BusBW < row.Low)
					}
					switch {
					case low && r.Verdict != fabric.VerdictDegraded:
						t.Errorf("every row from 1 GiB on is low: %s: %s", r.Verdict, r.Why)
					case r.Verdict == fabric.VerdictHealthy && last.BusBW < last.Low:
						t.Errorf("healthy with %g under %g: %s", last.BusBW, last.Low, r.Why)
					}
				})
			}
		}
	}
}

// A table that fits its band by one half of its rows, by the rows that are there, or by far too much, is not healthy.
func TestWhatAHealthyTableLacks(t *testing.T) {
	predict := remembered(predictor(t))
	two := fabric.Hardware{Machine: "hgx-h100", Nodes: 2}
	whole := func() *fabric.Table { return asPredicted(t, predict, two, largeFrom(1)) }
	for _, tt := range []struct {
		name  string
		hw    fabric.Hardware
		table func() *fabric.Table
		want  fabric.Verdict
		why   string
	}{
		{"as predicted", two, whole, fabric.VerdictHealthy, ""},
		{"the number of nodes from the rows", fabric.Hardware{Machine: "hgx-h100"}, func() *fabric.Table {
			table := whole()
			table.Nodes, table.Ranks = 0, 0
			return table
		}, fabric.VerdictHealthy, ""},
		{"without the name of the collective", two, func() *fabric.Table {
			table := whole()
			table.Collective = ""
			for i, r := range table.Rows {
				table.Rows[i].BusBW = r.AlgBW
			}
			return table
		}, fabric.VerdictUnknown, "the collective: its command line or its banner"},
		{"in place at half the speed", two, func() *fabric.Table {
			table := whole()
			for i, r := range table.Rows {
				table.Rows[i].InPlace = &fabric.InPlace{TimeUS: f(2 * *r.TimeUS), AlgBW: f(*r.AlgBW / 2), BusBW: f(*r.BusBW / 2)}
			}
			return table
		}, fabric.VerdictUnknown, "in place is slow"},
		{"out of place at half the speed", two, func() *fabric.Table {
			table := whole()
			for i, r := range table.Rows {
				table.Rows[i].InPlace = &fabric.InPlace{TimeUS: r.TimeUS, AlgBW: r.AlgBW, BusBW: r.BusBW}
				table.Rows[i].TimeUS, table.Rows[i].AlgBW, table.Rows[i].BusBW = f(2**r.TimeUS), f(*r.AlgBW/2), f(*r.BusBW/2)
			}
			return table
		}, fabric.VerdictUnknown, "out of place is slow"},
		{"a run that ended early", two, func() *fabric.Table {
			table := whole()
			table.Complete, table.Config = false, map[string]string{"maximum_bytes": "17179869184"}
			return table
		}, fabric.VerdictUnknown, "ends at 8 GiB of 16 GiB"},
		{"over sockets, it is said", fabric.Hardware{Machine: "hgx-h100", Nodes: 2, Net: "tcp"}, whole, fabric.VerdictUnknown, "times the most that is expected"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if r := explainCurve(tt.table(), tt.hw, predict); r.Verdict != tt.want || !strings.Contains(r.Why, tt.why) {
				t.Errorf("%s: %s", r.Verdict, r.Why)
			}
		})
	}
}
