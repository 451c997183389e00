package llm

import "slices"

// qwenFamilies are the mixture-of-experts members of Qwen, and the hybrids of Gated DeltaNet and attention.
func qwenFamilies() []family {
	return []family{
		{types: []string{"qwen2_moe"}, build: buildQwen2MoE},
		{types: []string{"qwen3_moe", "qwen3_vl_moe_text", "qwen3_omni_moe_text"}, build: buildQwen3MoE},
		{types: []string{"qwen3_next"}, build: buildQwenHybrid},
		{types: []string{"qwen3_5_text", "qwen3_5", "qwen3_5_moe_text", "qwen3_5_moe"}, build: buildQwenHybrid},
	}
}

// qwenSparse reports whether layer i has experts: by mlp_only_layers and decoder_sparse_step.
func (b *builder) qwenSparse(i int) bool {
	if slices.Contains(b.counts("mlp_only_layers"), int64(i)) {
		return false
	}
	step := int(b.countOr(1, "decoder_sparse_step"))
	return step > 0 && (i+1)%step == 0
}

func (b *builder) qwenDense() dense {
	for i := range int(min(b.depth(), mostLayers)) {
		if !b.qwenSparse(i) {
			return newDense(b.size("intermediate_size"))
		}
	}
	return newDense(1)
}

func buildQwen2MoE(b *builder) {
	a, d := newGQA(b.heads()), b.qwenDense()
	a.qkvBias = b.flag(true, "qkv_bias")
	e := newExperts(b.size("num_experts", "num_local_experts"), b.size("num_experts_per_tok"), b.size("moe_intermediate_size"))
	e.sharedFF, e.shared, e.sharedName, e.sharedGate = b.size("shared_expert_intermediate_size"), 1, "shared_expert.", true
	b.decoder(rms, func(i int) Layer {
		a.window = b.qwenWindow(i)
		return b.block(rms, a, func() FFN {
			if b.qwenSparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
}

func buildQwen3MoE(b *builder) {
	a, d := newGQA(b.heads()), b.qwenDense()
	a.qkvBias, a.headNorm = b.flag(false, "attention_bias"), true
	a.oBias = a.qkvBias
	e := newExperts(b.size("num_experts", "num_local_experts"), b.size("num_experts_per_tok"), b.size("moe_intermediate_size"))
	b.decoder(rms, func(i int) Layer {
		a.window = b.qwenWindow(i)
		return b.block(rms, a, func() FFN {
			if b.qwenSparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
}

// buildQwenHybrid is Qwen3-Next, Qwen3.5 and Qwen3.6: every fourth layer attention with a gate as wide as its
// queries, the others Gated DeltaNet.
func buildQwenHybrid(b *builder) {
	a := newGQA(b.heads())
	a.headNorm, a.gated, a.qkvBias = true, b.flag(true, "attn_output_gate"), b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	delta := b.deltaNet()
	every := int(b.sizeOr(4, "full_attention_interval"))
	types := b.layerTypes()
	full := func(i int) bool {
		if i < len(types) {
			return types[i] == "full_attention"
		}
		return (i+1)%every == 0
	}
	var d dense
	var e experts
	if _, _, moe := b.value("num_experts", "num_local_experts"); moe {
		e = newExperts(b.size("num_experts", "num_local_experts"), b.size("num_experts_per_tok"), b.size("moe_intermediate_size"))
		e.sharedFF, e.shared, e.sharedName, e.sharedGate = b.size("shared_expert_intermediate_size"), 1, "shared_expert.", true
		d = b.qwenDense()
	} else {
		d = newDense(b.size("intermediate_size"))
	}
	feed := func(i int) FFN {
		if e.count > 0 && b.qwenSparse(i) {
			return b.route(e)
		}
		return b.feed(d)
	}
	b.decoder(rms, func(i int) Layer {
		if full(i) {
			return b.block(rms, a, func() FFN { return feed(i) })
		}
		layer := Layer{Attention: b.attendLinear(delta), FFN: feed(i)}
		b.norms(rms, "input_layernorm", "post_attention_layernorm")
		return layer
	})
	b.predictQwen(a, feed)
}

// predictQwen is multi-token prediction as Qwen3-Next and Qwen3.5 store it: full-attention blocks under mtp., with the
// embedding and the head of the model (vLLM, model_executor/models/qwen3_next_mtp.py).
func (b *builder) predictQwen(a gqa, feed func(int) FFN) {
	if b.m.Type == "qwen3_next" && !b.has("num_nextn_predict_layers") {
		b.m.MTP = 1
		b.assume("num_nextn_predict_layers", "1", "not in the file: the published checkpoints of this type hold one such layer, mtp.layers.0")
	}
	if b.m.MTP == 0 {
		return
	}
	b.separately(ClassMTP, "mtp.", func() {
		b.unquantised(ClassMTP, "fc", b.hidden, 2*b.hidden)
		b.norms(rms, "pre_fc_norm_embedding", "pre_fc_norm_hidden", "norm")
		if b.flag(false, "mtp_use_dedicated_embeddings") {
			b.unquantised(ClassMTP, "embed_tokens", b.m.Vocabulary, b.hidden)
		}
		for i := range b.m.MTP {
			b.scope = "mtp.layers.*."
			b.block(rms, a, func() FFN { return feed(i) })
		}
	})
}

// deltaNet is the geometry of Gated DeltaNet.
type deltaNet struct{ keyHeads, valueHeads, key, value, kernel int64 }

func (b *builder) deltaNet() deltaNet {
	n := deltaNet{
		keyHeads: b.size("linear_num_key_heads"), valueHeads: b.size("linear_num_value_heads"),
		key: b.size("linear_key_head_dim"), value: b.size("linear_value_head_dim"), kernel: b.size("linear_conv_kernel_dim"),
	}
	b.divides("linear_num_key_heads", n.valueHeads, n.keyHeads)
	return n
}

// attendLinear adds the weights of a Gated DeltaNet layer.
func (b *builder) attendLinear(n deltaNet) Attention {
	const p = "linear_attn."
	keys, values := n.keyHeads*n.key, n.valueHeads*n.value
	if b.m.Type == "qwen3_next" { // the same weights, otherwise cut
		b.matrix(ClassLinear, p+"in_proj_qkvz", 2*keys+2*values, b.hidden)
		b.unquantised(ClassLinear, p+"in_proj_ba", 2*n.valueHeads, b.hidden)
	} else {
		b.matrix(ClassLinear, p+"in_proj_qkv", 2*keys+values, b.hidden)
		b.matrix(ClassLinear, p+"in_proj_z", values, b.hidden)
		b.unquantised(ClassLinear, p+"in_proj_b", n.valueHeads, b.hidden)
		b.unquantised(ClassLinear, p+"in_proj_a", n.valueHeads, b.hidden)
	}
	b.unquantised(ClassLinear, p+"conv1d", 2*keys+values, n.kernel)
	b.vector(ClassLinear, p+"dt_bias", n.valueHeads)
	b.vector(ClassLinear, p+"A_log", n.valueHeads)
	b.norm(rms, p+"norm", n.value)
	b.matrix(ClassLinear, p+"out_proj", b.hidden, values)
	return Attention{
		Kind: Linear, KeyHeads: n.keyHeads, ValueHeads: n.valueHeads, KeyDim: n.key, ValueDim: n.value,
		ConvKernel: n.kernel, StateBytes: b.stateBytes(),
	}
}

// stateBytes is what an element of a recurrent state takes: 4, unless the config names a dtype.
func (b *builder) stateBytes() int64 {
	switch b.text("float32", "mamba_ssm_dtype", "mamba_ssm_cache_dtype") {
	case "bfloat16", "float16":
		return 2
	}
	return 4
}
