package check

import (
	"runtime"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// BenchmarkStream checks 16,384 nodes of 8 NICs, whose facts are made a few at a time and forgotten. It reports
// the time of the check alone a node, and what stays in memory a node beside the plan and its index.
func BenchmarkStream(b *testing.B) {
	const nodes, batch = 16384, 128
	facts := make([]*fabric.Facts, batch)
	p := testPlan(nodes)
	for b.Loop() {
		count := 0
		c := New(p, nil, today(), func(fabric.Finding) { count++ })
		b.StopTimer()
		before := inUse()
		b.StartTimer()
		for h := 0; h < nodes; h += batch {
			b.StopTimer()
			for i := range batch {
				facts[i] = labFacts(p, h+i)
			}
			b.StartTimer()
			for _, f := range facts {
				c.Node(f)
			}
		}
		b.StopTimer()
		kept := inUse() - before
		b.StartTimer()
		if s := c.Finish(); s.Status() != fabric.Pass {
			b.Fatalf("verdict %s: %+v", s.Status(), s)
		}
		b.ReportMetric(float64(kept)/nodes, "B/node")
		b.ReportMetric(float64(count)/nodes, "findings/node")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/nodes, "ns/node")
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
