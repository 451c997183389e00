package diagnose

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/results"
)

// printedTable is a table as nccl-tests prints it, of what healthy machines would measure.
func printedTable(t *testing.T, predict Predictor, hw fabric.Hardware, gpu string) string {
	t.Helper()
	table := asPredicted(t, predict, hw, largeFrom(1))
	var b strings.Builder
	b.WriteString("# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0\n#\n# Using devices\n")
	for rank := range table.Ranks {
		fmt.Fprintf(&b, "#  Rank %2d Group  0 Pid %6d on node%d device %2d [0000:%02x:00] %s\n", rank, 1000+rank, rank*table.Nodes/table.Ranks, rank%8, 16+rank%8, gpu)
	}
	b.WriteString("#\n#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong\n#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)\n")
	for _, r := range table.Rows {
		half := fmt.Sprintf("%8.2f %7.2f %7.2f      0", *r.TimeUS, *r.AlgBW, *r.BusBW)
		fmt.Fprintf(&b, "%12d %13d     float     sum      -1 %s %s\n", r.Size, r.Size/4, half, half)
	}
	b.WriteString("# Out of bounds values : 0 OK\n")
	return b.String()
}

// remembered asks a predictor once for the same machines and sizes.
func remembered(predict Predictor) Predictor {
	known := map[string]*fabric.Prediction{}
	return func(hw fabric.Hardware, job Job, sizes []int64) (*fabric.Prediction, error) {
		key := fmt.Sprint(hw, job, sizes)
		if p := known[key]; p != nil {
			return p, nil
		}
		p, err := predict(hw, job, sizes)
		known[key] = p
		return p, err
	}
}

// A line of a fault of any kind beside a healthy table, after it, before it or among its rows, is never a pass.
func TestNoFaultBesideATableIsHealthy(t *testing.T) {
	content, err := os.ReadFile("../results/testdata/faults/lines.tsv")
	if err != nil {
		t.Fatal(err)
	}
	predict := remembered(predictor(t))
	for _, machine := range []struct {
		hw  fabric.Hardware
		gpu string
	}{
		{fabric.Hardware{Machine: "hgx-h100", Nodes: 2}, "NVIDIA H100 80GB HBM3"},
		{fabric.Hardware{Machine: "xe9680-mi300x-thor2", Nodes: 1}, "AMD Instinct MI300X"},
	} {
		table := printedTable(t, predict, machine.hw, machine.gpu)
		in := Input{Predict: predict, Hardware: machine.hw}
		if x := explainText(t, table, in); x.Status() != fabric.Pass {
			t.Fatalf("%s: the table alone is %s: %s", machine.hw.Machine, x.Status(), x.Results[0].Why)
		}
		rows := strings.SplitAfter(table, "\n")
		middle := len(rows) - 6
		for row := range strings.Lines(string(content)) {
			if strings.HasPrefix(row, "#") {
				continue
			}
			fields := strings.Split(strings.TrimSpace(row), "\t")
			fault, err := strconv.Unquote(fields[2])
			if err != nil {
				t.Fatal(err)
			}
			for place, text := range map[string]string{
				"after":  table + fault + "\n",
				"before": fault + "\n" + table,
				"inside": strings.Join(rows[:middle], "") + fault + "\n" + strings.Join(rows[middle:], ""),
			} {
				t.Run(machine.hw.Machine+", "+fields[1]+", "+place, func(t *testing.T) {
					x := explainText(t, text, in)
					if x.Status() == fabric.Pass || fields[0] == string(fabric.LineError) && x.Status() != fabric.Fail {
						t.Errorf("%q: %s", fault, x.Status())
					}
					for _, r := range x.Results {
						if r.Verdict != fabric.VerdictHealthy && firstCause(r) == fabric.CauseHealthy {
							t.Errorf("%q: healthy is the first cause of %s", fault, r.Verdict)
						}
					}
				})
			}
		}
	}
}

func explainText(t *testing.T, text string, in Input) *fabric.Explanation {
	t.Helper()
	found, err := results.Read("run", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return explain(found, in)
}
