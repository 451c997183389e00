package llm

import (
	"testing"
)

func TestPerToken(t *testing.T) {
	gqa := Attention{Kind: GQA, Heads: 32, KVHeads: 8, HeadDim: 128, VDim: 128}
	mla := Attention{Kind: MLA, Heads: 128, KVHeads: 1, KVLoraRank: 512, RopeDim: 64}
	dsa := mla
	dsa.IndexDim = 128
	shared := gqa
	shared.Shared = true
	for _, test := range []struct {
		name  string
		a     Attention
		tp    int64
		dtype string
		want  float64
	}{
		{"gqa", gqa, 1, KVBF16, 8 * 256 * 2},
		{"gqa on 8", gqa, 8, KVBF16, 256 * 2},
		{"gqa on 16: at least one head", gqa, 16, KVBF16, 256 * 2},
		{"gqa, fp8", gqa, 1, KVFP8, 8 * 256},
		{"gqa, fp4", gqa, 1, KVFP4, 8 * 256 * 0.5625},
		{"gqa, mxfp8", gqa, 1, KVMXFP8, 8 * 256 * 1.03125},
		{"gqa, fp32", gqa, 1, "fp32", 8 * 256 * 4},
		{"mla", mla, 1, KVBF16, 576 * 2},
		{"mla is not divided", mla, 16, KVBF16, 576 * 2},
		{"mla, fp8", mla, 16, KVFP8, 576},
		{"dsa: an fp8 key of 128 and its scale", dsa, 8, KVBF16, 1152 + 132},
		{"dsa, rows of FlashMLA", dsa, 8, KVFP8DSMLA, 656 + 132},
		{"shared", shared, 1, KVBF16, 0},
		{"mamba", Attention{Kind: Mamba, InnerDim: 8}, 1, KVBF16, 0},
		{"none", Attention{Kind: NoAttention}, 1, KVBF16, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a.PerToken(test.tp, test.dtype); got != test.want {
				t.Errorf("%s: %v, want %v", test.name, got, test.want)
			}
		})
	}
}

func TestBytesOfALayerMix(t *testing.T) {
	full := Attention{Kind: GQA, Heads: 8, KVHeads: 2, HeadDim: 4, VDim: 4} // 32 bytes per token
	window, chunk := full, full
	window.Window = 100
	chunk.Window, chunk.Chunked = 200, true
	delta := Attention{Kind: Linear, KeyHeads: 2, ValueHeads: 4, KeyDim: 8, ValueDim: 16, ConvKernel: 4, StateBytes: 4}
	m := &Model{Layers: []Layer{{Attention: full}, {Attention: window}, {Attention: chunk}, {Attention: delta}}}
	state := int64((2*2*8+4*16)*3*2 + 4*8*16*4)
	if got := m.StateBytesPerRequest(1); got != state {
		t.Errorf("%d bytes of state, want %d", got, state)
	}
	if got := m.KVBytesPerToken(1, KVBF16); got != 96 {
		t.Errorf("%d bytes per token", got)
	}
	if got := m.StateBytesPerRequest(2); got != state/2 {
		t.Errorf("%d bytes of state on each of 2, want %d", got, state/2)
	}
	if m.KVBytesPerToken(1, "int3") != 0 || KnownKVDType("int3") {
		t.Error("int3 is taken for a dtype")
	}
	for _, dtype := range KVDTypes() {
		t.Run(dtype, func(t *testing.T) {
			if !KnownKVDType(dtype) {
				t.Errorf("%s is listed but unknown", dtype)
			}
		})
	}
}

// The last layer of Gemma 4 sees everything, whatever its pattern says, and the layers behind share the caches of those
// before.
func TestGemmaLayers(t *testing.T) {
	m, err := readConfig("m", []byte(`{"model_type": "gemma4_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 8, "num_attention_heads": 4,
"num_key_value_heads": 2, "head_dim": 16, "global_head_dim": 32, "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 2, "vocab_size": 100, "sliding_window": 10}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range m.Layers {
		full, shared := i == 5 || i == 7, i >= 6
		if (l.Attention.Window == 0) != full || l.Attention.Shared != shared || (l.Attention.HeadDim == 32) != full {
			t.Errorf("layer %d: %+v", i, l.Attention)
		}
	}
	if got, want := m.KVBytesPerToken(1, KVBF16), int64(5*2*2*16*2+2*2*32*2); got != want {
		t.Errorf("%d bytes per token, want %d", got, want)
	}
}
