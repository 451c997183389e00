package collective

import (
	"testing"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

func doubling(from int64, n int) []int64 {
	sizes := make([]int64, n)
	for i := range sizes {
		sizes[i] = from << i
	}
	return sizes
}

func newCluster(t testing.TB, hw fabric.Hardware) *Cluster {
	t.Helper()
	c, err := New(loaded(t), hw)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func BenchmarkPredict(b *testing.B) {
	for name, nodes := range map[string]int{"2 nodes": 2, "16384 nodes": 16384} {
		b.Run(name, func(b *testing.B) {
			c := newCluster(b, fabric.Hardware{Machine: "hgx-h100", Nodes: nodes})
			sizes := doubling(8, 32)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.Predict(Job{Collective: fabric.AllReduce}, sizes); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPlacement(b *testing.B) {
	c := newCluster(b, fabric.Hardware{Machine: "a4-highgpu-8g", Nodes: 2})
	p := &Placement{Workers: []Worker{
		{Machine: "a", GPUs: []int{0, 1, 6, 7}, NICs: []int{0, 1, 2, 3}}, {Machine: "a", GPUs: []int{2, 3, 4, 5}, NICs: []int{4, 5, 6, 7}},
		{Machine: "b", GPUs: []int{0, 1, 2, 7}, Count: 4}, {Machine: "b", GPUs: []int{3, 4, 5, 6}, Count: 4},
	}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Share(p); err != nil {
			b.Fatal(err)
		}
	}
}

// least is the shortest of many runs: what the machine takes where nothing else runs on it.
func least(runs int, f func()) time.Duration {
	best := time.Hour
	for range runs {
		start := time.Now()
		f()
		best = min(best, time.Since(start))
	}
	return best
}

// TestSpeed: one curve of 32 sizes in 50 us, on 16,384 nodes as on two, and 10,000 placements in a second.
func TestSpeed(t *testing.T) {
	sizes := doubling(8, 32)
	took := map[int]time.Duration{}
	for _, nodes := range []int{2, 16384} {
		c := newCluster(t, fabric.Hardware{Machine: "hgx-h100", Nodes: nodes})
		took[nodes] = least(300, func() {
			if _, err := c.Predict(Job{Collective: fabric.AllReduce}, sizes); err != nil {
				t.Fatal(err)
			}
		})
		if took[nodes] > 50*time.Microsecond*slack {
			t.Errorf("%d nodes: one curve takes %v", nodes, took[nodes])
		}
	}
	if took[16384] > 2*took[2] {
		t.Errorf("16,384 nodes take %v, two take %v", took[16384], took[2])
	}
	c, p := a4(t), runB()
	if each := least(300, func() {
		if _, err := c.Share(p); err != nil {
			t.Fatal(err)
		}
	}); each > 100*time.Microsecond*slack {
		t.Errorf("one placement takes %v", each)
	}
	t.Logf("curve of 32 sizes: %v on two nodes, %v on 16,384", took[2], took[16384])
}
