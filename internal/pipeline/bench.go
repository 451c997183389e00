package pipeline

import (
	"context"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/bench"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/fleet"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/run"
)

// BenchSuites are the suites of tests that are run as commands; the mesh of pings is not one of them.
func BenchSuites() []string { return bench.Suites() }

// BenchTests are the tests of suites on the machines of a plan, with their commands. Nothing is run.
func BenchTests(p *fabric.Plan, suites []string) ([]fabric.BenchTest, error) {
	return bench.Tests(p, suites, bench.Limits{})
}

// Bench runs tests on the machines of a fleet and judges them.
func Bench(ctx context.Context, f *fleet.Fleet, p *fabric.Plan, tests []fabric.BenchTest, progress func(format string, args ...any)) *fabric.Bench {
	m := bench.Machines{Nodes: make(map[string]host.Runner), Absent: make(map[string]string), Progress: progress}
	for name, member := range f.Reached() {
		m.Nodes[name] = member.Runner
	}
	for name, err := range f.Lost() {
		m.Absent[name] = err.Error()
	}
	return judged(p, bench.Run(ctx, tests, m, newBenchJudge(p).judge))
}

// NotRun are tests of which only the commands are wanted: all are unknown.
func NotRun(p *fabric.Plan, tests []fabric.BenchTest) *fabric.Bench {
	var results []fabric.BenchResult
	for _, t := range tests {
		results = append(results, fabric.BenchResult{BenchTest: t, Verdict: fabric.BenchVerdict{Why: "not run"}})
	}
	return judged(p, results)
}

func judged(p *fabric.Plan, results []fabric.BenchResult) *fabric.Bench {
	b := &fabric.Bench{Meta: fabric.NewMeta("Bench"), Cluster: p.Name, Tests: results}
	for _, r := range results {
		b.Summary.Count(r.Verdict.Status)
	}
	return b
}

// SaveBench writes what tests found, and their outputs as printed, into the folder of a run.
func SaveBench(f run.Folder, b *fabric.Bench) error {
	for i, t := range b.Tests {
		var text strings.Builder
		for _, o := range t.Output {
			fmt.Fprintf(&text, "# %s\n%s\n", o.Node, strings.TrimRight(o.Text, "\n"))
		}
		if text.Len() == 0 {
			continue
		}
		if err := f.WriteFile(fmt.Sprintf("%s/%02d-%s.txt", run.BenchFolder, i+1, t.Kind), []byte(text.String())); err != nil {
			return err
		}
	}
	return f.Write(run.BenchFile, b)
}
