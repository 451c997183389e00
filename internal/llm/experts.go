package llm

// expertFamilies are decoders with routed experts and grouped-query attention that have no file of their own.
func expertFamilies() []family {
	return []family{
		{types: []string{"mixtral", "phimoe", "olmoe", "flex_olmo"}, build: buildMixtral},
		{types: []string{"granitemoe", "granitemoeshared"}, build: buildGraniteMoE},
		{types: []string{"ernie4_5_moe"}, build: buildErnieMoE, tied: true},
		{types: []string{"hunyuan_v1_moe"}, build: buildHunyuanMoE},
		{types: []string{"dots1", "exaone_moe", "solar_open", "hy_v3"}, build: buildSharedMoE},
		{types: []string{"afmoe"}, build: buildAfmoe},
		{types: []string{"cohere2_moe"}, build: buildCohere2MoE, tied: true},
		{types: []string{"mimo_v2_flash"}, build: buildMiMoV2},
		{types: []string{"step3p5", "step3p7"}, build: buildStep},
		{types: []string{"laguna"}, build: buildLaguna},
	}
}

func buildMixtral(b *builder) {
	a := newGQA(b.heads())
	e := newExperts(b.size("num_local_experts", "num_experts"), b.size("num_experts_per_tok"), b.size("intermediate_size"))
	kind, norms := rms, []string{"input_layernorm", "post_attention_layernorm"}
	switch b.m.Type {
	case "mixtral", "phimoe": // as their files name them
		e.prefix, e.names = "block_sparse_moe.", dense{gate: "w1", up: "w3", down: "w2"}
	case "olmoe":
		a.layerNorm = true
	case "flex_olmo":
		a.layerNorm, norms = true, []string{"post_attention_layernorm", "post_feedforward_layernorm"}
	}
	if b.m.Type != "mixtral" {
		a.qkvBias = b.flag(false, "attention_bias")
		a.oBias = a.qkvBias
	}
	if b.m.Type == "phimoe" {
		kind = layerNorm
	}
	b.embed("embed_tokens")
	b.layers(b.depth(), "layers", func(i int) Layer {
		a.window = b.window(i, always)
		layer := Layer{Attention: b.attend(a), FFN: b.route(e)}
		b.norms(kind, norms...)
		return layer
	})
	b.norms(kind, "norm")
	b.head(b.flag(false, "lm_head_bias"))
}

func buildGraniteMoE(b *builder) {
	a := newGQA(b.heads())
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	b.decoder(rms, func(int) Layer { return b.block(rms, a, b.graniteExperts) })
}

// graniteExperts is the feed-forward of Granite's mixtures: fused gates, and a shared block where it has a width.
func (b *builder) graniteExperts() FFN {
	count := b.countOr(0, "num_local_experts")
	var f FFN
	if count > 0 {
		e := newExperts(count, b.size("num_experts_per_tok"), b.size("intermediate_size"))
		e.prefix, e.router = "block_sparse_moe.", "router.layer"
		e.names = dense{gate: "input_linear", fused: true, down: "output_linear"}
		f = b.route(e)
	}
	if shared := b.countOr(0, "shared_intermediate_size"); shared > 0 {
		d := dense{prefix: "shared_mlp.", gate: "input_linear", fused: true, down: "output_linear", ff: shared}
		if count == 0 {
			return b.feed(d)
		}
		b.matrices(ClassShared, d)
		f.Shared, f.SharedIntermediate = 1, shared
	}
	return f
}

// buildErnieMoE: shared experts are one block, the balance bias is a weight of its own.
func buildErnieMoE(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	bias := b.flag(false, "use_bias")
	a.qkvBias, a.oBias, d.bias = bias, bias, bias
	e := newExperts(b.size("moe_num_experts", "num_experts"), b.size("moe_k", "num_experts_per_tok"), b.size("moe_intermediate_size"))
	e.shared = b.countOr(0, "moe_num_shared_experts")
	e.sharedFF, e.sharedBias, e.correction = e.ff*e.shared, bias, "moe_statics.e_score_correction_bias"
	first, interval := int(b.countOr(1, "moe_layer_start_index")), int(b.sizeOr(1, "moe_layer_interval"))
	last := int(b.depth()) - 1
	if n, ok := b.values["moe_layer_end_index"]; ok && n != nil && quoted(n) != "-1" {
		last = int(b.countOr(0, "moe_layer_end_index"))
	}
	b.embed("embed_tokens")
	b.layers(b.depth(), "layers", func(i int) Layer {
		return b.block(rms, a, func() FFN {
			if (i+1)%interval == 0 && i >= first && i <= last {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
	b.norms(rms, "norm")
	b.head(bias)
}

// perLayer is a number, or one of a list of those of each layer.
func (b *builder) perLayer(i int, keys ...string) int64 {
	key, _, _ := b.value(keys...)
	if !b.isList(key) {
		return b.size(keys...)
	}
	list := b.counts(key)
	if i >= len(list) || list[i] < 1 {
		b.problem(key, "has no number above 0 for layer %d", i)
		return 1
	}
	return list[i]
}

// buildHunyuanMoE: experts on every layer; the published Hunyuan-A13B has a shared one (its modeling_hunyuan.py).
func buildHunyuanMoE(b *builder) {
	a := newGQA(b.heads())
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, a.headNorm, a.normQ, a.normK = a.qkvBias, true, "query_layernorm", "key_layernorm"
	b.decoder(rms, func(i int) Layer {
		ff := b.size("intermediate_size")
		if b.has("moe_intermediate_size") {
			ff = b.perLayer(i, "moe_intermediate_size")
		}
		e := newExperts(b.perLayer(i, "num_experts"), b.perLayer(i, "moe_topk", "num_experts_per_tok"), ff)
		e.router, e.sharedName, e.shared = "gate.wg", "shared_mlp.", 1
		if b.has("num_shared_expert") {
			e.shared = b.perLayer(i, "num_shared_expert")
		}
		e.sharedFF = b.size("intermediate_size") * e.shared
		return b.block(rms, a, func() FFN { return b.route(e) })
	})
}

// buildSharedMoE is DeepSeek's mixture with grouped-query attention.
func buildSharedMoE(b *builder) {
	a, e := newGQA(b.heads()), b.deepseekExperts()
	a.headNorm = b.m.Type != "solar_open"
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	if e.count == 0 {
		b.problem("n_routed_experts or num_experts", "is missing")
		return
	}
	if b.m.Type == "hy_v3" && !b.has("first_k_dense_replace") && !b.has("mlp_layer_types") {
		b.values["first_k_dense_replace"] = jsonNumber(1) // configuration_hy_v3.py
	}
	d := newDense(1)
	if b.anyDense() {
		d = newDense(b.size("intermediate_size"))
	}
	b.decoder(rms, func(i int) Layer {
		a.window = b.sharedWindow(i)
		return b.block(rms, a, func() FFN {
			if b.sparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
}

// sharedWindow is the window of layer i where layer_types is absent: of EXAONE all but every fourth, of dots.llm1
// from max_window_layers on.
func (b *builder) sharedWindow(i int) int64 {
	return b.window(i, func(i int) bool {
		if b.m.Type == "dots1" {
			return int64(i) >= b.countOr(b.depth(), "max_window_layers")
		}
		every := int64(4)
		if pattern, isText := b.values["sliding_window_pattern"].(string); isText {
			every = int64(max(1, len(pattern)))
		} else if b.m.Type == "exaone_moe" {
			every = b.sizeOr(4, "sliding_window_pattern")
		}
		return b.m.Type == "exaone_moe" && int64(i+1)%every != 0
	})
}

// buildAfmoe gates the output of attention and has four norms.
func buildAfmoe(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.headNorm, a.qkvBias = true, b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	e := b.deepseekExperts()
	e.router, e.correction = "router.gate", "expert_bias"
	first, every := int(b.countOr(1, "num_dense_layers")), int(b.sizeOr(4, "global_attn_every_n_layers"))
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, func(i int) bool { return (i+1)%every != 0 })
		layer := Layer{Attention: b.attend(a)}
		b.matrix(ClassAttention, "self_attn.gate_proj", a.heads.heads*a.dim, b.hidden)
		if i >= first {
			layer.FFN = b.route(e)
		} else {
			layer.FFN = b.feed(d)
		}
		b.norms(rms, "input_layernorm", "post_attention_layernorm", "pre_mlp_layernorm", "post_mlp_layernorm")
		return layer
	})
}

func buildCohere2MoE(b *builder) {
	a := newGQA(b.heads())
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	e := newExperts(b.size("num_experts"), b.size("num_experts_per_tok"), b.size("intermediate_size"))
	e.shared = b.countOr(0, "num_shared_experts")
	e.sharedFF = e.ff * e.shared
	d := newDense(b.sizeOr(e.ff, "prefix_dense_intermediate_size"))
	every := int(b.sizeOr(4, "sliding_window_pattern"))
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, func(i int) bool { return (i+1)%every != 0 })
		layer := Layer{Attention: b.attend(a)}
		if b.sparse(i) {
			layer.FFN = b.route(e)
		} else {
			layer.FFN = b.feed(d)
		}
		b.norms(rms, "input_layernorm")
		return layer
	})
}

// buildMiMoV2 has other heads in its layers with a window, values narrower than keys, and sinks in either kind.
func buildMiMoV2(b *builder) {
	full := b.heads()
	full.vdim = b.sizeOr(full.dim, "v_head_dim")
	swa := heads{
		heads: b.sizeOr(full.heads, "swa_num_attention_heads"), kv: b.sizeOr(full.kv, "swa_num_key_value_heads"),
		dim: b.sizeOr(full.dim, "swa_head_dim"), vdim: b.sizeOr(full.vdim, "swa_v_head_dim"),
	}
	b.divides("swa_num_key_value_heads", swa.heads, swa.kv)
	pattern, types := b.counts("hybrid_layer_pattern"), b.layerTypes()
	windowed := func(i int) bool {
		switch {
		case types != nil:
			return types[i] == "sliding_attention"
		case i < len(pattern):
			return pattern[i] != 0
		}
		return i != 0 && (i+1)%6 != 0
	}
	e := b.deepseekExperts()
	d := newDense(b.size("intermediate_size"))
	b.decoder(rms, func(i int) Layer {
		a := newGQA(full)
		a.sinks = b.flag(false, "add_full_attention_sink_bias")
		if windowed(i) {
			a = newGQA(swa)
			a.sinks, a.window = b.flag(true, "add_swa_attention_sink_bias"), b.size("sliding_window", "sliding_window_size")
		}
		a.qkvBias = b.flag(false, "attention_bias")
		return b.block(rms, a, func() FFN {
			if b.mimoSparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
}

func (b *builder) mimoSparse(i int) bool {
	if !b.has("moe_layer_freq") && !b.has("mlp_layer_types") {
		return i > 0
	}
	return b.sparse(i)
}

// buildStep is Step-3.5 and 3.7 Flash: a gate for each head, other heads in layers with a window.
func buildStep(b *builder) {
	full := heads{heads: b.size("num_attention_heads"), kv: b.size("num_key_value_heads", "num_attention_groups"), dim: b.size("head_dim")}
	full.vdim = full.dim
	b.divides("num_key_value_heads", full.heads, full.kv)
	e := newExperts(b.size("n_routed_experts", "num_experts", "moe_num_experts"), b.size("num_experts_per_tok", "moe_top_k"), b.size("moe_intermediate_size"))
	e.shared, e.sharedFF, e.correction = 1, b.size("share_expert_dim", "share_expert_dims"), "gate.e_score_correction_bias"
	d := newDense(b.size("intermediate_size"))
	b.decoder(rms, func(i int) Layer {
		a := newGQA(full)
		a.headNorm = true
		if w := b.window(i, never); w > 0 {
			a.window = w
			a.heads.heads = b.sizeOr(full.heads, "sliding_num_attention_heads", "swa_num_attention_heads")
		}
		layer := b.block(rms, a, func() FFN {
			if b.sparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
		b.matrix(ClassAttention, "self_attn.g_proj", a.heads.heads, b.hidden)
		return layer
	})
}

// buildLaguna may have another number of heads in each layer.
func buildLaguna(b *builder) {
	g := b.heads()
	e := newExperts(b.size("num_experts"), b.size("num_experts_per_tok"), b.size("moe_intermediate_size"))
	e.shared, e.sharedFF, e.correction = 1, b.size("shared_expert_intermediate_size"), "gate.e_score_correction_bias"
	d := newDense(b.size("intermediate_size"))
	types := b.texts("mlp_layer_types")
	b.decoder(rms, func(i int) Layer {
		a := newGQA(g)
		a.headNorm, a.qkvBias = true, b.flag(false, "attention_bias")
		a.oBias = a.qkvBias
		if b.has("num_attention_heads_per_layer") {
			a.heads.heads = b.perLayer(i, "num_attention_heads_per_layer")
			b.divides("num_key_value_heads", a.heads.heads, a.kv)
		}
		a.window = b.window(i, never)
		layer := b.block(rms, a, func() FFN {
			if i < len(types) && types[i] == "dense" || types == nil && i == 0 {
				return b.feed(d)
			}
			return b.route(e)
		})
		b.lagunaGate(a)
		return layer
	})
}

func (b *builder) lagunaGate(a gqa) {
	switch gating := b.values["gating"].(type) {
	case bool:
		if gating {
			b.matrix(ClassAttention, "self_attn.g_proj", a.heads.heads, b.hidden)
		}
	case string:
		width := a.heads.heads
		if gating == "per-element" || gating == "per_element" {
			width *= a.dim
		}
		b.matrix(ClassAttention, "self_attn.g_proj", width, b.hidden)
	default:
		b.matrix(ClassAttention, "self_attn.g_proj", a.heads.heads, b.hidden)
	}
}
