package sizing

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// known are layouts whose outcome follows from an assert of the engine: rule is the first that refuses, empty where
// the engine takes it. Memory is not asked here.
func known() []struct {
	model   hand
	engine  string
	version string
	layout  fabric.Layout
	rule    string
	says    string
} {
	fp8qwen32 := qwen32()
	fp8qwen32.format = fp8()
	awq := llama70()
	awq.format = awq128()
	return []struct {
		model   hand
		engine  string
		version string
		layout  fabric.Layout
		rule    string
		says    string
	}{
		// VCF's table 2: 10 and 5 GPUs for Llama-4, and what its page says of 16.
		{maverick(), "sglang", "0.5.0rc2", layout(2, 10, 10, 1, 1, 1), "kv-heads", "10 ranks % 8 KV heads = 2"},
		{maverick(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 1, 1), "attention-heads", "40 attention heads % 16 = 8"},
		{maverick(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 1, 1), "", ""},
		{maverick(), "sglang", "0.5.0rc2", layout(2, 16, 8, 2, 1, 1), "", ""},
		{maverick(), "vllm", "0.10.1", layout(2, 10, 10, 1, 1, 1), "kv-heads", "8192 % 10 = 2"},
		{scout(), "sglang", "0.5.0rc2", layout(1, 5, 5, 1, 1, 1), "kv-heads", "8 KV heads % 5 = 3"},
		{scout(), "vllm", "0.10.1", layout(1, 5, 5, 1, 1, 1), "kv-heads", "8192 % 5 = 2"},
		{scout(), "sglang", "0.5.0rc2", layout(1, 4, 4, 1, 1, 1), "", ""},
		{scout(), "sglang", "0.5.0rc2", layout(1, 2, 2, 1, 1, 1), "", ""},
		// MLA: no KV heads, blocks of 128 in an inner dimension of 2048.
		{r1(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 1, 1), "", ""},
		{r1(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 1, 1), "", ""},
		{r1(), "sglang", "0.5.0rc2", layout(4, 32, 32, 1, 1, 1), "fp8-block", "2048 / 32 = 64, % block 128 = 64"},
		{r1(), "sglang", "0.5.0rc2", layout(4, 32, 32, 1, 32, 1), "", ""},
		{r1(), "vllm", "0.10.1", layout(4, 32, 32, 1, 1, 1), "fp8-block", "2048 / 32 = 64"},
		{r1(), "sglang", "0.5.0rc2", layout(2, 16, 8, 2, 1, 1), "pp-mla", "pp 2"},
		{r1(), "sglang", "0.4.6.post5", layout(2, 16, 8, 2, 1, 1), "pp-mla", "pp 2"},
		{r1(), "sglang", "0.5.1", layout(2, 16, 8, 2, 1, 1), "", ""},
		{r1(), "sglang", "0.4.3", layout(2, 16, 8, 2, 1, 1), "pp-missing", "no pipeline"},
		{r1(), "vllm", "0.10.1", layout(2, 16, 8, 2, 1, 1), "", ""},
		{r1(), "sglang", "0.5.0rc2", layout(3, 24, 24, 1, 1, 1), "attention-heads", "128 attention heads % 24 = 8"},
		{r1(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 16, 16), "", ""},
		{r1(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 1, 3), "dp-attention", "tp 16 % dp 3 = 1"},
		{r1(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 3, 1), "expert-ranks", "tp 16 % ep 3 = 1"},
		{r1(), "vllm", "0.10.1", layout(2, 16, 8, 1, 16, 2), "", ""},
		{r1(), "vllm", "0.10.1", layout(2, 16, 8, 1, 8, 2), "expert-ranks", "tp x dp = 16"},
		{kimiK2(), "sglang", "0.5.0rc2", layout(4, 32, 32, 1, 32, 1), "", ""},
		{kimiK2(), "sglang", "0.5.0rc2", layout(4, 32, 32, 1, 1, 1), "fp8-block", "2048 / 32 = 64"},
		{kimiK2(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 1, 1), "", ""},
		// Block-quantised experts of 1536: 192 a rank of 8.
		{qwen235fp8(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 1, 1), "fp8-block", "1536 / 8 = 192, % block 128 = 64"},
		{qwen235fp8(), "vllm", "0.10.1", layout(1, 8, 8, 1, 1, 1), "fp8-block", "1536 / 8 = 192"},
		{qwen235fp8(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 8, 1), "", ""},
		{qwen235fp8(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 2, 1), "", ""},
		{qwen235fp8(), "vllm", "0.10.1", layout(1, 8, 8, 1, 8, 1), "", ""},
		{qwen235fp8(), "vllm", "0.10.1", layout(1, 4, 4, 1, 1, 1), "", ""},
		{qwen235(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 1, 1), "", ""},
		{qwen235(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 1, 1), "", ""},
		{qwen235(), "sglang", "0.5.0rc2", layout(1, 6, 6, 1, 1, 1), "attention-heads", "6 ranks % 4 KV heads = 2"},
		{fp8qwen32, "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 1, 1), "", ""},
		{fp8qwen32, "vllm", "0.10.1", layout(2, 16, 16, 1, 1, 1), "fp8-block", "25600 / 16 = 1600, % block 128 = 64"},
		// Dense models.
		{llama405(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 1, 1), "", ""},
		{llama405(), "sglang", "0.5.0rc2", layout(3, 24, 24, 1, 1, 1), "attention-heads", "128 attention heads % 24 = 8"},
		{llama405(), "vllm", "0.10.1", layout(3, 24, 8, 3, 1, 1), "", ""},
		{llama70(), "vllm", "0.10.1", layout(1, 6, 6, 1, 1, 1), "attention-heads", "64 attention heads % 6 = 4"},
		{llama8(), "vllm", "0.10.1", layout(1, 3, 3, 1, 1, 1), "attention-heads", "32 attention heads % 3 = 2"},
		{llama8(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 8, 1), "no-experts", "no experts"},
		{llama8(), "vllm", "0.10.1", layout(5, 40, 1, 40, 1, 1), "pp-layers", "40 exceeds the 32 layers"},
		{awq, "vllm", "0.10.1", layout(1, 8, 8, 1, 1, 1), "", ""},
		{awq, "vllm", "0.10.1", layout(8, 64, 64, 1, 1, 1), "quant-group", "28672 / 64 = 448, % group 128 = 64"},
		// MXFP4 is padded.
		{gptOSS120(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 1, 1), "", ""},
		{gptOSS120(), "vllm", "0.11.0", layout(8, 64, 64, 1, 1, 1), "", ""},
		{gptOSS120(), "vllm", "0.11.0", layout(1, 6, 6, 1, 1, 1), "attention-heads", "64 attention heads % 6 = 4"},
		{gptOSS120(), "vllm", "0.10.1", layout(2, 16, 8, 2, 1, 1), "pp-model", "gpt_oss"},
		{gptOSS120(), "sglang", "0.5.0rc2", layout(1, 8, 8, 1, 3, 1), "expert-ranks", "tp 8 % ep 3 = 2"},
		{mixtral8x22(), "sglang", "0.5.0rc2", layout(1, 6, 6, 1, 1, 1), "kv-heads", "16384 % 6 = 4"},
		{mixtral8x22(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 16, 1), "experts", "8 experts % ep 16 = 8"},
		{mixtral8x22(), "sglang", "0.5.0rc2", layout(2, 16, 16, 1, 1, 1), "", ""},
	}
}

func judged(t *testing.T, h hand, engine, version string, l fabric.Layout) (setting, []refusal) {
	t.Helper()
	e, err := EngineNamed(engine)
	if err != nil {
		t.Fatal(err)
	}
	v, err := ParseVersion(version)
	if err != nil {
		t.Fatal(err)
	}
	m := h.model()
	s := setting{
		Placement: Placement{Model: m, Machine: h100(), KVDType: llm.KVBF16},
		engine:    &e, version: v, shape: shapeOf(m), context: 4096, users: 1,
	}.placed(l)
	return s, refusals(s)
}

func TestKnownLayouts(t *testing.T) {
	list := known()
	if len(list) < 40 {
		t.Fatalf("%d layouts", len(list))
	}
	for _, k := range list {
		t.Run(fmt.Sprintf("%s %s, %s %s on %d GPUs", k.model.kind, k.layout, k.engine, k.version, k.layout.GPUs), func(t *testing.T) {
			_, broken := judged(t, k.model, k.engine, k.version, k.layout)
			got, words := "", ""
			if len(broken) > 0 {
				got = broken[0].rule.ID
				_, words = reasonOf(broken)
				if broken[0].rule.Assert == "" {
					t.Errorf("rule %s names no assert", got)
				}
			}
			if got != k.rule || !strings.Contains(words, k.says) {
				t.Errorf("%s %s %s, %s: refused by %q (%s), want %q (%s)", k.engine, k.version, k.model.kind, k.layout, got, words, k.rule, k.says)
			}
		})
	}
}

// TestNearest: what is offered instead of a refused layout is taken by the engine.
func TestNearest(t *testing.T) {
	for _, c := range []struct {
		model  hand
		engine string
		layout fabric.Layout
		want   []string
	}{
		{maverick(), "sglang", layout(2, 10, 10, 1, 1, 1), []string{"tp 8", "tp 8 pp 2"}},
		{scout(), "sglang", layout(1, 5, 5, 1, 1, 1), []string{"tp 4", "tp 8"}},
		{r1(), "sglang", layout(4, 32, 32, 1, 1, 1), []string{"tp 32 ep 32", "tp 16"}},
		{qwen235fp8(), "sglang", layout(1, 8, 8, 1, 1, 1), []string{"tp 8 ep 8", "tp 4"}},
	} {
		t.Run(fmt.Sprintf("%s %s", c.model.kind, c.layout), func(t *testing.T) {
			s, broken := judged(t, c.model, c.engine, "0.5.0rc2", c.layout)
			if len(broken) == 0 {
				t.Errorf("%s %s is not refused", c.model.kind, c.layout)
			}
			near := nearest(s)
			for _, want := range c.want {
				if !slices.Contains(near, want) {
					t.Errorf("%s %s: nearest are %q, %q is missing", c.model.kind, c.layout, near, want)
				}
			}
		})
	}
}

func TestStages(t *testing.T) {
	for _, c := range []struct {
		engine, version string
		layers, pp      int
		want            []int
	}{
		{"sglang", "0.5.0rc2", 61, 4, []int{15, 15, 15, 16}},
		{"sglang", "0.5.3", 62, 4, []int{15, 15, 15, 17}},
		{"sglang", "0.5.6", 62, 4, []int{15, 15, 16, 16}},
		{"vllm", "0.10.1", 62, 4, []int{15, 16, 16, 15}},
		{"vllm", "0.10.1", 126, 8, []int{15, 16, 16, 16, 16, 16, 16, 15}},
		{"vllm", "0.10.1", 8, 2, []int{4, 4}},
	} {
		t.Run(fmt.Sprintf("%s %s, %d layers, pp %d", c.engine, c.version, c.layers, c.pp), func(t *testing.T) {
			e, err := EngineNamed(c.engine)
			if err != nil {
				t.Fatal(err)
			}
			v, err := ParseVersion(c.version)
			if err != nil {
				t.Fatal(err)
			}
			at := 0
			for rank, want := range c.want {
				first, end := e.stage(v, c.layers, c.pp, rank)
				if first != at || end-first != want {
					t.Errorf("%s %s, %d layers, stage %d of %d: %d to %d, want %d layers from %d", c.engine, c.version, c.layers, rank, c.pp, first, end, want, at)
				}
				at = end
			}
			if at != c.layers {
				t.Errorf("%s %s: %d of %d layers", c.engine, c.version, at, c.layers)
			}
		})
	}
}
