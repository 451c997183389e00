package llm

// deepseekFamilies have latent attention (MLA) and routed experts, some also a sparse index (DSA).
func deepseekFamilies() []family {
	return []family{
		{types: []string{
			"deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "glm4_moe_lite", "mistral4", "axk1",
		}, build: buildDeepseek},
		{types: []string{"deepseek"}, build: buildDeepseekMoE},
		{types: []string{"longcat_flash"}, build: buildLongcat},
	}
}

func buildDeepseek(b *builder) {
	a := b.latent()
	if b.m.Type == "deepseek_v32" || b.m.Type == "glm_moe_dsa" {
		a.indexHeads, a.index, a.topK = b.size("index_n_heads"), b.size("index_head_dim"), b.size("index_topk")
	}
	e := b.deepseekExperts()
	d := newDense(1)
	if b.anyDense() || e.count == 0 {
		d = newDense(b.size("intermediate_size"))
	}
	layer := func(i int) Layer {
		a.reusesIndex = !b.ownIndex(i)
		layer := Layer{Attention: b.attendLatent(a)}
		if e.count > 0 && b.sparse(i) {
			layer.FFN = b.route(e)
			if b.m.Type == "axk1" {
				b.norms(rms, "mlp.post_mlp_layernorm")
			}
		} else {
			layer.FFN = b.feed(d)
		}
		b.norms(rms, "input_layernorm", "post_attention_layernorm")
		return layer
	}
	b.decoder(rms, layer)
	b.predict(func() { layer(int(b.depth())) })
}

// deepseekExperts reads the routed and shared experts under DeepSeek's names.
func (b *builder) deepseekExperts() experts {
	count := b.countOr(0, "n_routed_experts", "num_experts")
	if count == 0 {
		return experts{}
	}
	e := newExperts(count, b.size("num_experts_per_tok"), b.size("moe_intermediate_size"))
	e.shared = b.countOr(0, "n_shared_experts", "num_shared_experts")
	e.sharedFF = e.ff * e.shared
	switch { // those that balance experts without an auxiliary loss
	case b.m.Type == "deepseek_v2", b.m.Type == "mistral4", b.m.Type == "deepseek":
	case b.text("noaux_tc", "topk_method") != "noaux_tc":
	default:
		e.correction = "gate.e_score_correction_bias"
	}
	return e
}

// sparse reports whether layer i has experts, by whichever of the ways of saying so the config has.
func (b *builder) sparse(i int) bool {
	if types := b.texts("mlp_layer_types"); i < len(types) {
		return types[i] == "sparse"
	}
	first := int(b.countOr(0, "first_k_dense_replace"))
	if b.isList("first_k_dense_replace") {
		b.problem("first_k_dense_replace", "is a list")
	}
	if b.isList("moe_layer_freq") {
		list := b.counts("moe_layer_freq")
		return i >= first && (i >= len(list) || list[i] != 0)
	}
	return i >= first && i%int(b.sizeOr(1, "moe_layer_freq")) == 0
}

// anyDense reports whether some layer has no experts.
func (b *builder) anyDense() bool {
	for i := range int(min(b.depth(), mostLayers)) {
		if !b.sparse(i) {
			return true
		}
	}
	return false
}

// ownIndex reports whether layer i has an index of its own: GLM-5.2 lets most layers take over the choice of an earlier
// one (configuration_glm_moe_dsa.py). A layer behind the last is one of multi-token prediction.
func (b *builder) ownIndex(i int) bool {
	if int64(i) >= b.depth() {
		return true
	}
	if types := b.texts("indexer_types"); i < len(types) {
		return types[i] == "full"
	}
	if pattern, isText := b.values["index_topk_pattern"].(string); isText && i < len(pattern) {
		return pattern[i] == 'F'
	}
	every, offset := int(max(1, b.countOr(1, "index_topk_freq"))), int(b.countOr(2, "index_skip_topk_offset"))
	return max(i-offset+1, 0)%every == 0
}

// predict adds layers of multi-token prediction as DeepSeek-V3 stores them: a block behind the last, with an
// embedding and a head of its own, two norms and a projection of both inputs (README_WEIGHTS.md of DeepSeek-V3).
func (b *builder) predict(block func()) {
	for range b.m.MTP {
		b.separately(ClassMTP, "model.layers.mtp.", func() {
			b.unquantised(ClassMTP, "embed_tokens", b.m.Vocabulary, b.hidden)
			b.norms(rms, "enorm", "hnorm", "shared_head.norm")
			b.unquantised(ClassMTP, "eh_proj", b.hidden, 2*b.hidden)
			block()
			b.unquantised(ClassMTP, "shared_head.head", b.m.Vocabulary, b.hidden)
		})
	}
}

// buildDeepseekMoE is deepseek-ai/deepseek-moe-16b, modeling_deepseek.py: experts with ordinary attention.
func buildDeepseekMoE(b *builder) {
	a, e := newGQA(b.heads()), b.deepseekExperts()
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	d := newDense(b.size("intermediate_size"))
	b.decoder(rms, func(i int) Layer {
		return b.block(rms, a, func() FFN {
			if e.count > 0 && b.sparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
}

// buildLongcat has two latent attentions and two dense blocks per layer beside the experts, some of which are the
// identity and have no weights. Each half counts as a layer of its own, for each keeps keys and values.
func buildLongcat(b *builder) {
	a, d := b.latent(), newDense(b.size("ffn_hidden_size", "intermediate_size"))
	e := newExperts(b.size("n_routed_experts"), b.size("moe_topk", "num_experts_per_tok"), b.size("expert_ffn_hidden_size", "moe_intermediate_size"))
	e.router, e.zero, e.correction = "router.classifier", b.countOr(0, "zero_expert_num"), "router.e_score_correction_bias"
	count := b.sizeOr(0, "num_layers")
	if count == 0 {
		count = b.divides("num_hidden_layers", b.size("num_hidden_layers"), 2)
	}
	b.embed("embed_tokens")
	b.layers(2*count, "layers", func(i int) Layer {
		layer := Layer{Attention: b.attendLatent(a)}
		b.norms(rms, "input_layernorm", "post_attention_layernorm")
		layer.FFN = b.feed(d)
		if i%2 == 0 {
			layer.FFN = b.route(e)
			layer.FFN.Intermediate = d.ff
		}
		return layer
	})
	b.norms(rms, "norm")
	b.head(false)
}
