package sizing

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

func TestUnifiedCap(t *testing.T) {
	for _, test := range []struct{ total, free, want float64 }{{121.69, 101.3, 0.83}, {121.69, 102.2, 0.83}, {100, 100, 1}} {
		t.Run(fmt.Sprintf("%g of %g GiB free", test.free, test.total), func(t *testing.T) {
			got, err := UnifiedCap(test.total, test.free)
			if err != nil || got != test.want || got*test.total > test.free {
				t.Errorf("%g of %g free: %g, %v, want %g", test.free, test.total, got, err, test.want)
			}
		})
	}
	for _, bad := range [][2]float64{{0, 0}, {100, 101}, {100, -1}, {math.NaN(), 1}} {
		t.Run(fmt.Sprintf("%g of %g GiB is refused", bad[1], bad[0]), func(t *testing.T) {
			if _, err := UnifiedCap(bad[0], bad[1]); err == nil {
				t.Errorf("%v: a cap", bad)
			}
		})
	}
}

// TestTensorParallelSizes: the Spark guide says that nodes have to be powers of two; VMware document, chapter 4: 64
// heads go on 16 GPUs, not on 10 or 12.
func TestTensorParallelSizes(t *testing.T) {
	for _, test := range []struct {
		name             string
		heads, kv, inner int64
		want             []int
	}{
		{"64 heads, 8 KV heads", 64, 8, 25600, []int{1, 2, 4, 8, 16}},
		{"40 heads, 8 KV heads, as Llama-4", 40, 8, 8192, []int{1, 2, 4, 8}},
		{"48 heads, 6 KV heads", 48, 6, 9216, []int{1, 2, 3, 6, 12}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := llama(2, 128*test.heads, test.heads, test.inner)
			h.kv = test.kv
			var got []int
			for n := 1; n <= 16; n++ {
				if _, refused := judged(t, h, "vllm", "0.11.0", layout(n, n, n, 1, 1, 1)); len(refused) == 0 {
					got = append(got, n)
				}
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}
