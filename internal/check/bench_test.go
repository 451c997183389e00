package check

import (
	"runtime"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func contains(s, part string) bool { return strings.Contains(s, part) }

// BenchmarkStream checks nodes of 8 NICs, whose facts are made a few at a time and forgotten: of the lab, and
// of bare metal with 8 GPUs, to which nearly all rules apply. It reports the time of the check alone a node,
// and what stays in memory a node beside the plan and its index.
func BenchmarkStream(b *testing.B) {
	kinds := []struct {
		name  string
		facts func(*fabric.Plan, int) *fabric.Facts
	}{{"lab", labFacts}, {"metal", metalFacts}}
	for _, kind := range kinds {
		for _, nodes := range []int{1024, 4096, 16384} {
			b.Run(kind.name+"/"+strconv.Itoa(nodes), func(b *testing.B) { stream(b, nodes, kind.facts) })
		}
	}
}

func stream(b *testing.B, nodes int, make func(*fabric.Plan, int) *fabric.Facts) {
	const batch = 128
	var facts [batch]*fabric.Facts
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
				facts[i] = make(p, h+i)
			}
			b.StartTimer()
			for _, f := range facts {
				c.Take(c.Judge(f))
			}
		}
		b.StopTimer()
		kept := inUse() - before
		b.StartTimer()
		if s, err := c.Finish(b.Context()); err != nil || s.Status() != fabric.Pass {
			b.Fatalf("verdict %s: %+v", s.Status(), s)
		}
		b.ReportMetric(float64(kept)/float64(nodes), "B/node")
		b.ReportMetric(float64(count)/float64(nodes), "findings/node")
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(nodes), "ns/node")
}

func inUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
