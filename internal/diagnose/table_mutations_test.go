package diagnose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// printed is what nccl-tests prints of a table (writeBenchmarkLinePreamble and writeBenchmarkLineBody in its src/util.cu): each line
// by its cells. Without a second half the rows have one. The first line is the header, unless it is left out.
func printed(t *fabric.Table, header bool) (lines [][]string) {
	half := []string{"time", "algbw", "busbw", "#wrong"}
	op := "none"
	if t.Collective == fabric.AllReduce || t.Collective == fabric.ReduceScatter {
		op = "sum"
	}
	factor := t.Collective.BusFactor(t.Ranks)
	cells := func(size int64, us, alg, bus *float64) []string {
		if us == nil {
			return nil
		}
		if alg == nil {
			alg = f(float64(size) / *us / 1000)
		}
		if bus == nil {
			bus = f(*alg * factor)
		}
		decimals := 2
		if *us >= 10000 {
			decimals = 0
		}
		return []string{fmt.Sprintf("%.*f", decimals, *us), fmt.Sprintf("%.2f", *alg), fmt.Sprintf("%.2f", *bus), "0"}
	}
	both := slices.ContainsFunc(t.Rows, func(r fabric.Row) bool { return r.InPlace != nil })
	if header {
		names := slices.Concat([]string{"size", "count", "type", "redop", "root"}, half)
		if both {
			names = append(names, half...)
		}
		lines = append(lines, names)
	}
	for _, r := range t.Rows {
		row := slices.Concat([]string{fmt.Sprint(r.Size), fmt.Sprint(r.Size / 4), "float", op, "-1"}, cells(r.Size, r.TimeUS, r.AlgBW, r.BusBW))
		if r.InPlace != nil {
			row = append(row, cells(r.Size, r.InPlace.TimeUS, r.InPlace.AlgBW, r.InPlace.BusBW)...)
		}
		lines = append(lines, row)
	}
	return lines
}

// meanBus is what the footer prints, GB/s.
func meanBus(t *fabric.Table) float64 {
	sum := 0.0
	for _, r := range t.Rows {
		bus, _ := bestOf(t.Rows, r.Size, t.Collective.BusFactor(t.Ranks))
		sum += bus / float64(len(t.Rows))
	}
	return sum
}

// mutation changes the columns of a line.
type mutation struct {
	name   string
	change func(cells []string) []string
}

// mutations are all ways to lose, to double and to swap columns.
func mutations(columns int) (all []mutation) {
	for i := range columns {
		all = append(all, mutation{fmt.Sprintf("without column %d", i), func(cells []string) []string {
			return slices.Delete(slices.Clone(cells), min(i, len(cells)), min(i+1, len(cells)))
		}}, mutation{fmt.Sprintf("column %d twice", i), func(cells []string) []string {
			if i >= len(cells) {
				return cells
			}
			return slices.Insert(slices.Clone(cells), i, cells[i])
		}})
		for j := i + 1; j < columns; j++ {
			all = append(all, mutation{fmt.Sprintf("columns %d and %d swapped", i, j), func(cells []string) []string {
				cells = slices.Clone(cells)
				if j < len(cells) {
					cells[i], cells[j] = cells[j], cells[i]
				}
				return cells
			}})
		}
	}
	for i := 1; i < columns; i++ {
		all = append(all, mutation{fmt.Sprintf("the first %d columns alone", i), func(cells []string) []string {
			return cells[:min(i, len(cells))]
		}})
	}
	return all
}

// measuredTables are tables that were really measured: those of the repository, and those beside it where they are.
func measuredTables(t *testing.T) map[string]*fabric.Table {
	t.Helper()
	tables := map[string]*fabric.Table{}
	sick := tableOf(read(t, "../../docs/samples/two-h100-nodes.txt")[0])
	sick.Ranks, sick.Hardware, sick.Health = 16, &fabric.Hardware{GPU: "h100", Nodes: 2, GPUsPerNode: 8, NICsPerNode: 8, NICGbps: 400, Net: "ib"}, "sick"
	tables["two H100 nodes"] = sick
	for _, r := range read(t, "../../test/accuracy/testdata/h200x2/tables.txt") {
		if table := tableOf(r); table != nil && len(table.Rows) > 20 && len(table.Config) > 0 && envOf(table.Config)["NCCL_ALGO"] == "" {
			table.Hardware, table.Health = &fabric.Hardware{GPU: "h200", Nodes: 1, GPUsPerNode: 2, Net: "none"}, "healthy"
			tables["two H200, "+string(table.Collective)] = table
		}
	}
	for _, pattern := range []string{"P02", "P06", "P14", "P18", "P23", "P26", "P32"} { // of each collective and fabric
		files, _ := filepath.Glob("../../../shared/data/collectives/" + pattern + "_*.json")
		for _, file := range files {
			tables[filepath.Base(file)] = tableOf(read(t, file)[0])
		}
	}
	return tables
}

// TestMutatedColumns: whatever columns a copy of a table has lost, has twice or has swapped, in its header, in its rows or in
// both, a healthy table is never sick, and a sick one never healthy.
func TestMutatedColumns(t *testing.T) {
	ask := predictor(t)
	wrong := map[string][]fabric.Verdict{"healthy": {fabric.VerdictFailed, fabric.VerdictDegraded}, "sick": {fabric.VerdictHealthy}}
	for name, table := range measuredTables(t) {
		if wrong[table.Health] == nil {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			predict := remembered(ask)
			for _, header := range []bool{true, false} {
				whole := printed(table, header)
				judge := func(lines [][]string) fabric.Explained {
					var b strings.Builder
					fmt.Fprintf(&b, "$ %s_perf\n", table.Collective)
					if header {
						fmt.Fprintf(&b, "# nThread 1 nGpus 1 minBytes %d maxBytes %d step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0\n", table.Rows[0].Size, table.Rows[len(table.Rows)-1].Size)
					}
					for _, l := range lines {
						b.WriteString("  " + strings.Join(l, "  ") + "\n")
					}
					if header {
						fmt.Fprintf(&b, "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : %g\n", meanBus(table))
					}
					found, err := results.Read("x", strings.NewReader(b.String()))
					if err != nil {
						t.Fatal(err)
					}
					if len(found) == 0 {
						return fabric.Explained{}
					}
					return explain(found, Input{Predict: predict, Hardware: *table.Hardware}).Results[0]
				}
				if as := judge(whole).Verdict; as == fabric.VerdictUnknown || slices.Contains(wrong[table.Health], as) {
					t.Fatalf("as it was, header %v: %s %s", header, as, judge(whole).Why)
				}
				from := len(whole) - len(table.Rows) // of the rows
				for _, m := range mutations(len(whole[0])) {
					for where, part := range map[string][2]int{"all": {0, len(whole)}, "rows": {from, len(whole)}, "header": {0, from}} {
						lines := slices.Clone(whole)
						for i := part[0]; i < part[1]; i++ {
							lines[i] = m.change(lines[i])
						}
						if r := judge(lines); slices.Contains(wrong[table.Health], r.Verdict) {
							if os.Getenv("EXPLAIN_SHOW") != "" {
								t.Logf("%v\n%v", lines[0], lines[len(lines)-1])
							}
							t.Errorf("%s, header %v, %s of %s: %s: %s", table.Health, header, m.name, where, r.Verdict, r.Why)
						}
					}
				}
			}
		})
	}
}
