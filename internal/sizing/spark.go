package sizing

import (
	"fmt"
)

// UnifiedCap is the largest --gpu-memory-utilization that starts where GPU and CPU share memory: vLLM asks that
// utilization x total is free at its start, and the system's own part never is.
func UnifiedCap(totalGiB, freeGiB float64) (float64, error) {
	if !(totalGiB > 0) || !(freeGiB > 0) || freeGiB > totalGiB {
		return 0, fmt.Errorf("unified memory: %g of %g GiB free: free must be above 0 and at most the total", freeGiB, totalGiB)
	}
	return float64(int(freeGiB/totalGiB*100)) / 100, nil // rounded down: a hundredth more would not start
}

// UnifiedNotes says what is different where GPU and CPU share memory.
func UnifiedNotes(m Machine) []string {
	notes := []string{
		"the GPU shares its memory with the CPU: the page cache counts as used, so drop it before the engine starts (echo 1 > /proc/sys/vm/drop_caches)",
	}
	if limit, err := UnifiedCap(m.CUDAGiB, m.IdleGiB); err == nil {
		notes = append(notes, fmt.Sprintf("--gpu-memory-utilization at most %.2f: %.1f of %.2f GiB are free after the system has started", limit, m.IdleGiB, m.CUDAGiB))
	}
	return notes
}

// TensorNodes lists how many machines of one GPU each can share a model by tensor parallelism, up to most: those
// that divide its attention heads and its KV heads, or are divided by them. For nearly every model these are
// powers of two.
func TensorNodes(m *Model, most int) []int {
	var out []int
	for n := 1; n <= min(most, maxParallel); n++ {
		if dividesHeads(m, int64(n)) {
			out = append(out, n)
		}
	}
	return out
}

func dividesHeads(m *Model, n int64) bool {
	for _, l := range m.Layers {
		a, f := l.Attention, l.FFN
		switch a.Kind {
		case GQA:
			k := a.KVHeads
			if a.Heads%n != 0 || k < 1 || (k >= n && k%n != 0) || (k < n && n%k != 0) {
				return false
			}
		case MLA:
			if a.Heads%n != 0 {
				return false
			}
		case Linear:
			if a.KeyHeads%n != 0 || a.ValueHeads%n != 0 {
				return false
			}
		case Mamba:
			if a.Heads%n != 0 {
				return false
			}
		}
		if f.Intermediate%n != 0 || f.ExpertIntermediate%n != 0 || f.SharedIntermediate%n != 0 {
			return false
		}
	}
	return len(m.Layers) > 0
}
