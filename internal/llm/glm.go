package llm

// glmFamilies are GLM-4 and its mixture-of-experts successors with grouped-query attention.
func glmFamilies() []family {
	return []family{
		{types: []string{"glm", "glm4", "glm4v_text"}, build: buildGLM},
		{types: []string{"glm4_moe", "glm4v_moe_text"}, build: buildGLMMoE},
	}
}

func buildGLM(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(b.m.Type == "glm4v_text", "attention_bias")
	d.gate, d.fused = "gate_up_proj", true
	b.decoder(rms, func(int) Layer {
		layer := b.block(rms, a, func() FFN { return b.feed(d) })
		if b.m.Type != "glm" {
			b.norms(rms, "post_self_attn_layernorm", "post_mlp_layernorm")
		}
		return layer
	})
}

func buildGLMMoE(b *builder) {
	a, e := newGQA(b.heads()), b.deepseekExperts()
	a.qkvBias = b.flag(b.m.Type == "glm4v_moe_text", "attention_bias")
	a.headNorm = b.flag(false, "use_qk_norm")
	if e.count == 0 {
		b.problem("n_routed_experts", "is missing")
		return
	}
	d := newDense(b.size("intermediate_size"))
	layer := func(i int) Layer {
		return b.block(rms, a, func() FFN {
			if b.sparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	}
	b.decoder(rms, layer)
	b.predict(func() { layer(int(b.depth())) })
}
