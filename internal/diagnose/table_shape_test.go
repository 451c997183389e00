package diagnose

import (
	"math"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func f(v float64) *float64 { return &v }

// curve makes a table of an all-reduce with so many ranks: a latency of 20 us and a bandwidth in GB/s.
func curve(ranks int, busbw float64) *fabric.Table {
	t := &fabric.Table{Collective: fabric.AllReduce, Ranks: ranks, Complete: true, Checked: true}
	factor := fabric.AllReduce.BusFactor(ranks)
	sum, n := 0.0, 0
	for size := int64(8); size <= 8<<30; size *= 4 {
		us := 20 + float64(size)/1000*factor/busbw
		alg := math.Round(float64(size)/us/10) / 100
		bus := math.Round(float64(size)/us*factor/10) / 100
		t.Rows = append(t.Rows, fabric.Row{Size: size, Type: "float", TimeUS: f(us), AlgBW: f(alg), BusBW: f(bus), InPlace: &fabric.InPlace{TimeUS: f(us), AlgBW: f(alg), BusBW: f(bus)}})
		sum, n = sum+2*bus, n+2
	}
	t.Average = f(sum / float64(n))
	return t
}

func TestLook(t *testing.T) {
	last := func(t *fabric.Table) *fabric.Row { return &t.Rows[len(t.Rows)-1] }
	tests := []struct {
		name   string
		change func(*fabric.Table)
		want   func(shape) bool
	}{
		{"sound", func(*fabric.Table) {}, func(s shape) bool {
			return s.ranks == 16 && len(s.misprints) == 0 && len(s.slow) == 0 && s.cliff == "" && s.absurd == "" && !s.alone
		}},
		{"algbw misprinted", func(t *fabric.Table) { t.Rows[1].AlgBW = f(9.99) }, func(s shape) bool {
			return len(s.misprints) == 1 && strings.Contains(s.misprints[0], "9.99")
		}},
		{"both misprinted", func(t *fabric.Table) { last(t).AlgBW, last(t).BusBW = f(217.97), f(459.76) }, func(s shape) bool { return len(s.misprints) == 2 }},
		{"time misprinted", func(t *fabric.Table) { last(t).TimeUS = f(*last(t).TimeUS * 1.1) }, func(s shape) bool {
			return len(s.misprints) == 1 && strings.Contains(s.misprints[0], "time")
		}},
		{"a small hole in both halves", func(t *fabric.Table) {
			t.Rows[4].TimeUS, t.Rows[4].InPlace.TimeUS = f(35), f(35)
		}, func(s shape) bool { return slices.Equal(s.slow, []int64{2048}) }},
		{"less than a hole", func(t *fabric.Table) {
			t.Rows[4].TimeUS, t.Rows[4].InPlace.TimeUS = f(27), f(27)
		}, func(s shape) bool { return len(s.slow) == 0 }},
		{"a hole", func(t *fabric.Table) { t.Rows[4].TimeUS = f(900) }, func(s shape) bool { return slices.Equal(s.slow, []int64{2048}) }},
		{"slow out of place alone", func(t *fabric.Table) { last(t).TimeUS = f(3 * *last(t).TimeUS) }, func(s shape) bool { return slices.Contains(s.slow, last(curve(16, 360)).Size) }},
		{"a cliff", func(t *fabric.Table) {
			for i := len(t.Rows) - 3; i < len(t.Rows); i++ {
				t.Rows[i].TimeUS = f(10 * *t.Rows[i].TimeUS)
			}
		}, func(s shape) bool { return s.cliff != "" }},
		{"wrong results", func(t *fabric.Table) { n := int64(7); t.Rows[3].Wrong = &n }, func(s shape) bool { return s.wrong == 7 }},
		{"wrong results in a row of other columns", func(t *fabric.Table) {
			n := int64(7)
			t.Rows[9].Wrong, t.Rows[9].TimeUS = &n, f(0)
		}, func(s shape) bool { return s.wrong == 0 && s.torn == 1 }},
		{"columns of other rows", func(t *fabric.Table) {
			for i, r := range t.Rows {
				n := int64(*r.TimeUS)
				t.Rows[i].Wrong, t.Rows[i].TimeUS = &n, f(0)
			}
		}, func(s shape) bool { return s.wrong == 0 && s.isTorn(16) }},
		{"NaN", func(t *fabric.Table) { t.Rows[3].BusBW = f(math.NaN()) }, func(s shape) bool { return s.absurd != "" }},
		{"negative", func(t *fabric.Table) { t.Rows[3].TimeUS = f(-1) }, func(s shape) bool { return s.absurd != "" }},
		{"alone", func(t *fabric.Table) {
			for i := range t.Rows {
				t.Rows[i].BusBW, t.Rows[i].InPlace.BusBW = f(0), f(0)
			}
		}, func(s shape) bool { return s.alone }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table := curve(16, 360)
			tt.change(table)
			if s := newShape(table, 16); !tt.want(s) {
				t.Errorf("%s: %+v", tt.name, s)
			}
		})
	}
}

func TestRanksOfFactor(t *testing.T) {
	for _, c := range []fabric.Collective{fabric.AllReduce, fabric.AllGather, fabric.ReduceScatter, fabric.AllToAll} {
		for _, n := range []int{2, 3, 4, 8, 16, 24, 32, 64, 128} {
			if got := ranksOf(c, c.BusFactor(n)); got != n {
				t.Errorf("%s of %d ranks: %d", c, n, got)
			}
		}
	}
	if got := ranksOf(fabric.Broadcast, 1); got != 0 {
		t.Errorf("a broadcast says nothing of its ranks, got %d", got)
	}
}

// The footer is the mean of all cells; where it fits the corrected cells and not the printed ones, they are
// misprints.
func TestFooter(t *testing.T) {
	table := curve(16, 360)
	s := newShape(table, 16)
	if got := footer(table, &s); got != "" {
		t.Errorf("sound: %q", got)
	}
	table.Rows[len(table.Rows)-1].BusBW = f(*table.Rows[len(table.Rows)-1].BusBW + 9)
	s = newShape(table, 16)
	if got := footer(table, &s); !strings.Contains(got, "fits size over time") {
		t.Errorf("misprint: %q", got)
	}
	table.Average = f(1)
	if got := footer(table, &s); !strings.Contains(got, "the rows give") {
		t.Errorf("another footer: %q", got)
	}
}

func explainTable(t *testing.T, table *fabric.Table, hw fabric.Hardware) fabric.Explained {
	t.Helper()
	return explain([]fabric.Result{{File: "t", Kind: fabric.NCCLTests, Content: table}}, Input{Predict: predictor(t), Hardware: hw}).Results[0]
}

func TestTables(t *testing.T) {
	h100 := fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib", CPU: "intel"}
	healthy := func() *fabric.Table {
		table := curve(16, 468)
		table.Nodes = 2
		return table
	}
	tests := []struct {
		name    string
		table   func() *fabric.Table
		hw      fabric.Hardware
		verdict fabric.Verdict
		cause   fabric.CauseID
	}{
		{"healthy", healthy, h100, fabric.VerdictHealthy, ""},
		{"by machine", healthy, fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, fabric.VerdictHealthy, ""},
		{"hardware not said", healthy, fabric.Hardware{}, fabric.VerdictUnknown, ""},
		{"two of eight NICs", func() *fabric.Table { return curve(16, 90) }, h100, fabric.VerdictDegraded, fabric.CauseHCASubset},
		{"wrong results", func() *fabric.Table { table := healthy(); n := 3; table.OutOfBound = &n; return table }, h100, fabric.VerdictFailed, ""},
		{"other ranks than said", func() *fabric.Table { table := curve(8, 468); table.Ranks = 16; return table }, h100, fabric.VerdictUnknown, ""},
		{"flags and banner differ", func() *fabric.Table { table := healthy(); table.Nodes = 4; return table }, h100, fabric.VerdictUnknown, ""},
		{"only small sizes", func() *fabric.Table {
			table := healthy()
			table.Rows = table.Rows[:8]
			table.Complete = false
			return table
		}, h100, fabric.VerdictUnknown, ""},
		{"no rows", func() *fabric.Table { return &fabric.Table{Collective: fabric.AllReduce, Ranks: 16, Nodes: 2} }, h100, fabric.VerdictUnknown, ""},
		{"built without MPI", func() *fabric.Table {
			table := curve(16, 468)
			table.Ranks, table.Copies = 1, 16
			for i := range table.Rows {
				table.Rows[i].BusBW, table.Rows[i].InPlace.BusBW = f(0), f(0)
			}
			return table
		}, h100, fabric.VerdictFailed, fabric.CauseMPINotBuilt},
		{"one XGMI link", func() *fabric.Table { return curve(8, 48) }, fabric.Hardware{GPU: "mi300x", Nodes: 1, GPUsPerNode: 8}, fabric.VerdictDegraded, fabric.CauseXGMIModelUnmatched},
		{"forced", func() *fabric.Table {
			table := curve(16, 40)
			table.Config = map[string]string{"NCCL_PROTO": "LL"}
			return table
		}, h100, fabric.VerdictDegraded, fabric.CauseNCCLSettings},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := explainTable(t, tt.table(), tt.hw)
			if r.Verdict != tt.verdict || tt.cause != "" && (len(r.Causes) == 0 || r.Causes[0].ID != tt.cause) {
				t.Errorf("%s: %s: %s %v, want %s %s", tt.name, r.Verdict, r.Why, ids(r.Causes), tt.verdict, tt.cause)
			}
			if tt.verdict == fabric.VerdictHealthy && (r.Measured == nil || r.Expected == nil || r.Bound == nil || r.Measured.NICGBs <= 0) {
				t.Errorf("%s: %+v", tt.name, r)
			}
		})
	}
}
