package llm

import "slices"

// llamaFamilies are plain decoders: norm, grouped-query attention, norm, gated feed-forward.
func llamaFamilies() []family {
	return []family{
		{types: []string{"llama", "llava_llama", "mimo", "internlm3", "iquestcoder", "cwm"}, build: buildLlama},
		{types: []string{"mistral", "ministral", "ministral3"}, build: buildMistral},
		{types: []string{"qwen2", "qwen2_vl_text", "qwen2_5_vl_text", "qwen2_vl", "qwen2_5_vl"}, build: buildQwen2},
		{types: []string{"qwen3", "qwen3_vl_text"}, build: buildQwen3},
		{types: []string{"phi3"}, build: buildPhi3},
		{types: []string{"granite", "smollm3", "ernie4_5"}, build: buildLlama, tied: true},
		{types: []string{"seed_oss"}, build: buildSeed},
		{types: []string{"arcee", "jais2"}, build: buildArcee},
		{types: []string{"helium"}, build: buildHelium},
		{types: []string{"hunyuan_v1_dense"}, build: buildHunyuan},
	}
}

// block is a decoder layer with two norms.
func (b *builder) block(kind normKind, a gqa, feed func() FFN) Layer {
	attention := b.attend(a)
	ffn := feed()
	b.norms(kind, "input_layernorm", "post_attention_layernorm")
	return Layer{Attention: attention, FFN: ffn}
}

// decoder is embedding, layers of one kind, a norm and a head.
func (b *builder) decoder(kind normKind, build func(i int) Layer) {
	b.embed("embed_tokens")
	b.layers(b.depth(), "layers", build)
	b.norms(kind, "norm")
	b.head(false)
}

func buildLlama(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	bias := b.flag(false, "attention_bias", "use_bias")
	a.qkvBias, a.oBias = bias, bias
	if b.m.Type == "internlm3" {
		a.qkvBias, a.oBias = b.flag(false, "qkv_bias"), b.flag(false, "bias")
	}
	if b.m.Type == "mimo" { // XiaomiMiMo/MiMo-7B-Base, modeling_mimo.py: Qwen2's attention
		a.qkvBias, a.oBias = true, false
	}
	d.bias = b.flag(false, "mlp_bias") || b.m.Type == "ernie4_5" && bias
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, always)
		return b.block(rms, a, func() FFN { return b.feed(d) })
	})
	if b.m.Type == "mimo" {
		b.predictMiMo(a, d)
	}
}

// predictMiMo is the layer of multi-token prediction of MiMo-7B: norms of both inputs, their projection, a block.
func (b *builder) predictMiMo(a gqa, d dense) {
	for range b.m.MTP {
		b.separately(ClassMTP, "model.mtp_layers.*.", func() {
			b.norms(rms, "token_layernorm", "hidden_layernorm", "final_layernorm")
			b.unquantised(ClassMTP, "input_proj", b.hidden, 2*b.hidden)
			b.block(rms, a, func() FFN { return b.feed(d) })
		})
	}
}

func buildMistral(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, always)
		return b.block(rms, a, func() FFN { return b.feed(d) })
	})
}

// buildQwen2 has biases of queries, keys and values, whatever the config says.
func buildQwen2(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = true
	b.decoder(rms, func(i int) Layer {
		a.window = b.qwenWindow(i)
		return b.block(rms, a, func() FFN { return b.feed(d) })
	})
}

// qwenWindow is the window of layer i: only with use_sliding_window, and from max_window_layers on.
func (b *builder) qwenWindow(i int) int64 {
	if !b.flag(false, "use_sliding_window") {
		return 0
	}
	return b.window(i, func(i int) bool { return int64(i) >= b.countOr(0, "max_window_layers") })
}

func buildQwen3(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.headNorm = true
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	b.decoder(rms, func(i int) Layer {
		a.window = b.qwenWindow(i)
		return b.block(rms, a, func() FFN { return b.feed(d) })
	})
}

func buildPhi3(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.fused = "qkv_proj"
	d.gate, d.fused = "gate_up_proj", true
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, always)
		return b.block(rms, a, func() FFN { return b.feed(d) })
	})
}

func buildSeed(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias, a.oBias = b.flag(true, "attention_bias"), b.flag(false, "attention_out_bias")
	d.bias = b.flag(false, "mlp_bias")
	b.decoder(rms, func(int) Layer { return b.block(rms, a, func() FFN { return b.feed(d) }) })
}

// buildArcee is not gated; Jais 2 has also biases and centred norms.
func buildArcee(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	jais, kind := b.m.Type == "jais2", rms
	if jais {
		kind = layerNorm
	}
	a.qkvBias = b.flag(jais, "attention_bias")
	a.oBias, d.gate, d.bias = a.qkvBias, "", b.flag(jais, "mlp_bias")
	b.decoder(kind, func(int) Layer { return b.block(kind, a, func() FFN { return b.feed(d) }) })
}

func buildHelium(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	d.bias = b.flag(false, "mlp_bias")
	b.decoder(rms, func(int) Layer { return b.block(rms, a, func() FFN { return b.feed(d) }) })
}

func buildHunyuan(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, a.headNorm, a.normQ, a.normK = a.qkvBias, true, "query_layernorm", "key_layernorm"
	b.decoder(rms, func(int) Layer { return b.block(rms, a, func() FFN { return b.feed(d) }) })
}

// llama4Families is Llama 4: three of four layers attend within chunks, experts on every or every second layer.
func llama4Families() []family {
	return []family{{types: []string{"llama4_text", "llama4"}, build: buildLlama4}}
}

func buildLlama4(b *builder) {
	a := newGQA(b.heads())
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, a.chunked = a.qkvBias, true
	e := newExperts(b.size("num_local_experts"), b.size("num_experts_per_tok"), b.size("intermediate_size"))
	e.prefix, e.router, e.sharedName, e.shared, e.sharedFF = "feed_forward.", "router", "shared_expert.", 1, e.ff
	step := int(b.sizeOr(1, "interleave_moe_layer_step"))
	listed := b.counts("moe_layers")
	sparse := func(i int) bool {
		if len(listed) > 0 {
			return slices.Contains(listed, int64(i))
		}
		return (i+1)%step == 0
	}
	var d dense
	for i := range int(min(b.depth(), mostLayers)) {
		if !sparse(i) {
			d = newDense(b.size("intermediate_size_mlp"))
			d.prefix = "feed_forward."
			break
		}
	}
	chunk := b.countOr(8192, "attention_chunk_size") // configuration_llama4.py
	b.decoder(rms, func(i int) Layer {
		a.window = chunk
		if b.llama4Global(i) {
			a.window = 0
		}
		return b.block(rms, a, func() FFN {
			if sparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
}

// llama4Global reports whether layer i sees everything: where no_rope_layers is 0, or by interval (configuration_llama4.py).
func (b *builder) llama4Global(i int) bool {
	if types := b.layerTypes(); types != nil {
		return types[i] == "full_attention"
	}
	if list := b.counts("no_rope_layers"); i < len(list) {
		return list[i] == 0
	}
	return (i+1)%int(b.sizeOr(4, "no_rope_layer_interval")) == 0
}
