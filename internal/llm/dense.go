package llm

import "math"

// denseFamilies are decoders whose norms, biases or order differ from Llama's.
func denseFamilies() []family {
	return []family{
		{types: []string{"olmo", "olmo2", "olmo3"}, build: buildOlmo},
		{types: []string{"cohere", "cohere2", "cohere2_text"}, build: buildCohere, tied: true},
		{types: []string{"starcoder2"}, build: buildStarcoder2, tied: true},
		{types: []string{"stablelm"}, build: buildStableLM},
		{types: []string{"nemotron"}, build: buildNemotron},
		{types: []string{"exaone4"}, build: buildExaone4},
		{types: []string{"apertus"}, build: buildApertus},
		{types: []string{"phi"}, build: buildPhi},
		{types: []string{"hyperclovax"}, build: buildHyperCLOVAX},
		{types: []string{"minicpm3", "youtu"}, build: buildDenseLatent, tied: true},
		{types: []string{"nemotron-nas"}, build: buildNemotronNAS},
	}
}

func buildOlmo(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	if b.m.Type == "olmo" { // norms without weights
		b.decoder(noWeight, func(int) Layer { return b.block(noWeight, a, func() FFN { return b.feed(d) }) })
		return
	}
	a.layerNorm = true
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, func(i int) bool { return (i+1)%4 != 0 })
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(rms, "post_attention_layernorm", "post_feedforward_layernorm")
		return layer
	})
}

// buildCohere has one norm per layer, and norms of heads that are wide as all of them.
func buildCohere(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, a.layerNorm = a.qkvBias, b.flag(false, "use_qk_norm")
	every := int(b.sizeOr(4, "sliding_window_pattern")) // configuration_cohere2.py
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, func(i int) bool { return (i+1)%every != 0 })
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(rms, "input_layernorm")
		return layer
	})
}

func buildStarcoder2(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(true, "use_bias")
	a.oBias, d.bias, d.gate, d.up, d.down = a.qkvBias, a.qkvBias, "", "c_fc", "c_proj"
	b.decoder(layerNorm, func(i int) Layer {
		a.window = b.window(i, always)
		return b.block(layerNorm, a, func() FFN { return b.feed(d) })
	})
}

// buildStableLM may have norms of heads that are a row for each head, and a parallel block with one norm.
func buildStableLM(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias, a.layerNorm = b.flag(false, "use_qkv_bias"), b.flag(false, "qk_layernorm")
	norms := []string{"input_layernorm", "post_attention_layernorm"}
	if b.flag(false, "use_parallel_residual") {
		norms = norms[:1]
	}
	b.decoder(layerNorm, func(int) Layer {
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(layerNorm, norms...)
		return layer
	})
}

func buildNemotron(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, d.gate, d.bias = a.qkvBias, "", b.flag(false, "mlp_bias")
	b.decoder(layerNorm, func(int) Layer { return b.block(layerNorm, a, func() FFN { return b.feed(d) }) })
}

func buildExaone4(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.headNorm = true
	every := b.sizeOr(4, "sliding_window_pattern") // configuration_exaone4.py
	if pattern, isText := b.values["sliding_window_pattern"].(string); isText {
		every = int64(max(1, len(pattern))) // LLLG: three of a window, one without
	}
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, func(i int) bool { return int64(i+1)%every != 0 })
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(rms, "post_attention_layernorm", "post_feedforward_layernorm")
		return layer
	})
}

// buildApertus is not gated; its activation has two weights.
func buildApertus(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, a.headNorm, d.gate, d.bias = a.qkvBias, true, "", b.flag(false, "mlp_bias")
	b.decoder(rms, func(int) Layer {
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.vector(ClassReplicated, "mlp.act_fn.alpha", 2)
		b.norms(rms, "attention_layernorm", "feedforward_layernorm")
		return layer
	})
}

// buildPhi is a parallel block with biases everywhere, the head's too.
func buildPhi(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias, a.oBias, a.names[3] = true, true, "dense"
	a.headNorm, a.normKind, a.normQ, a.normK = b.flag(false, "qk_layernorm"), layerNorm, "q_layernorm", "k_layernorm"
	d.gate, d.up, d.down, d.bias = "", "fc1", "fc2", true
	b.embed("embed_tokens")
	b.layers(b.depth(), "layers", func(int) Layer {
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(layerNorm, "input_layernorm")
		return layer
	})
	b.norms(layerNorm, "final_layernorm")
	b.head(true)
}

func buildHyperCLOVAX(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, d.bias = a.qkvBias, b.flag(false, "mlp_bias")
	b.decoder(rms, func(int) Layer {
		layer := b.block(rms, a, func() FFN { return b.feed(d) })
		if b.flag(true, "use_post_norm") {
			b.norms(rms, "post_norm1", "post_norm2")
		}
		return layer
	})
}

// buildDenseLatent is MLA with a dense feed-forward.
func buildDenseLatent(b *builder) {
	a, d := b.latent(), newDense(b.size("intermediate_size"))
	d.bias = b.flag(false, "mlp_bias")
	b.decoder(rms, func(int) Layer {
		layer := Layer{Attention: b.attendLatent(a), FFN: b.feed(d)}
		b.norms(rms, "input_layernorm", "post_attention_layernorm")
		return layer
	})
}

// buildNemotronNAS has another attention and another feed-forward in each layer, found by search
// (nvidia/Llama-3_3-Nemotron-Super-49B-v1, block_config.py and modeling_decilm.py).
func buildNemotronNAS(b *builder) {
	heads := b.size("num_attention_heads")
	dim := b.sizeOr(b.divides("num_attention_heads", b.hidden, heads), "head_dim")
	blocks := b.list("block_configs")
	if int64(len(blocks)) != b.depth() {
		b.problem("block_configs", "has %d elements for %d layers", len(blocks), b.depth())
		return
	}
	b.decoder(rms, func(i int) Layer {
		values, _ := blocks[i].(map[string]any)
		block := b.fields
		block.prefix, block.values = b.prefix+"block_configs.", values
		layer := Layer{Attention: Attention{Kind: NoAttention}}
		if a, ok := block.object("attention"); ok && !a.flag(false, "no_op") {
			if a.flag(false, "replace_with_linear") {
				b.matrix(ClassReplicated, "self_attn.linear_attn", b.hidden, b.hidden)
			} else {
				kv := b.divides("n_heads_in_group", heads, a.size("n_heads_in_group"))
				layer.Attention = b.attend(newGQA(struct{ heads, kv, dim, vdim int64 }{heads, kv, dim, dim}))
			}
			b.norms(rms, "input_layernorm")
		}
		if f, ok := block.object("ffn"); ok && !f.flag(false, "no_op") {
			if f.flag(false, "replace_with_linear") {
				b.matrix(ClassReplicated, "mlp.linear_mlp", b.hidden, b.hidden)
			} else {
				ff := int64(math.Trunc(2 * f.number(0, "ffn_mult") * float64(b.hidden) / 3))
				layer.FFN = b.feed(newDense(ceilDiv(ff, 256) * 256))
			}
			b.norms(rms, "post_attention_layernorm")
		}
		return layer
	})
}
