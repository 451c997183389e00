package sizing

import (
	"math"
	"slices"
	"testing"

	"railwright.dev/railwright/internal/llm"
)

func TestUnifiedCap(t *testing.T) {
	for _, test := range []struct{ total, free, want float64 }{{121.69, 101.3, 0.83}, {121.69, 102.2, 0.83}, {100, 100, 1}} {
		got, err := UnifiedCap(test.total, test.free)
		if err != nil || got != test.want || got*test.total > test.free {
			t.Errorf("%g of %g free: %g, %v, want %g", test.free, test.total, got, err, test.want)
		}
	}
	for _, bad := range [][2]float64{{0, 0}, {100, 101}, {100, -1}, {math.NaN(), 1}} {
		if _, err := UnifiedCap(bad[0], bad[1]); err == nil {
			t.Errorf("%v: a cap", bad)
		}
	}
}

// TestTensorNodes: the Spark guide says that nodes have to be powers of two; VMware document, chapter 4: 64 heads
// go on 16 GPUs, not on 10 or 12.
func TestTensorNodes(t *testing.T) {
	gqa := func(heads, kv, ff int64) *llm.Model {
		return &llm.Model{Layers: []llm.Layer{{Attention: llm.Attention{Kind: llm.GQA, Heads: heads, KVHeads: kv, HeadDim: 128, VDim: 128}, FFN: llm.FFN{Intermediate: ff}}}}
	}
	for _, test := range []struct {
		name string
		m    *llm.Model
		want []int
	}{
		{"64 heads, 8 KV heads", gqa(64, 8, 25600), []int{1, 2, 4, 8, 16}},
		{"40 heads, 8 KV heads, as Llama-4", gqa(40, 8, 8192), []int{1, 2, 4, 8}},
		{"48 heads, 6 KV heads", gqa(48, 6, 9216), []int{1, 2, 3, 6, 12}},
		{"no layers", &llm.Model{}, nil},
	} {
		if got := TensorNodes(test.m, 16); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
	sixty4 := gqa(64, 8, 25600)
	for _, n := range []int64{10, 12} {
		if dividesHeads(sixty4, n) {
			t.Errorf("64 heads on %d GPUs", n)
		}
	}
	if got := TensorNodes(sixty4, math.MaxInt); len(got) == 0 || got[len(got)-1] > maxParallel {
		t.Errorf("without a limit: %v", got)
	}
}
