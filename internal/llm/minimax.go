package llm

// miniMaxFamilies are MiniMax-M2 with attention everywhere, M3 with a sparse index, and MiniMax-Text-01 and M1 with
// lightning attention in seven of eight layers.
func miniMaxFamilies() []family {
	return []family{
		{types: []string{"minimax_m2"}, build: buildMiniMaxM2},
		{types: []string{"minimax_m3", "minimax_m3_vl_text", "minimax_m3_vl"}, build: buildMiniMaxM3},
		{types: []string{"minimax", "minimax_text_01", "minimax_m1"}, build: buildMiniMax},
	}
}

// buildMiniMaxM2 normalises queries and keys over all heads. The published files hold no multi-token prediction,
// whatever num_mtp_modules says.
func buildMiniMaxM2(b *builder) {
	b.m.MTP = 0
	a := newGQA(b.heads())
	a.layerNorm = true
	e := newExperts(b.size("num_local_experts"), b.size("num_experts_per_tok"), b.size("intermediate_size"))
	e.prefix, e.names, e.correction = "block_sparse_moe.", dense{gate: "w1", up: "w3", down: "w2"}, "e_score_correction_bias"
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, never)
		return b.block(rms, a, func() FFN { return b.route(e) })
	})
}

// buildMiniMaxM3 has a few dense layers first, a shared expert, and an index that picks blocks of keys.
func buildMiniMaxM3(b *builder) {
	a := newGQA(b.heads())
	a.headNorm = true
	e := newExperts(b.size("num_local_experts"), b.size("num_experts_per_tok"), b.size("moe_intermediate_size", "intermediate_size"))
	e.prefix, e.names, e.correction = "block_sparse_moe.", dense{gate: "w1", up: "w3", down: "w2"}, "e_score_correction_bias"
	e.shared = b.countOr(1, "n_shared_experts")
	e.sharedFF = b.size("shared_intermediate_size") * e.shared
	d := newDense(1)
	if b.anyDense() {
		d = newDense(b.size("dense_intermediate_size"))
	}
	index, frequency := b.m3Index()
	types := b.texts("layer_types")
	b.decoder(rms, func(i int) Layer {
		layer := b.block(rms, a, func() FFN {
			if b.sparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
		indexed := i < len(frequency) && frequency[i] != 0
		if i < len(types) {
			indexed = types[i] != "full_attention"
		}
		if indexed {
			b.m3Indexer(index)
			layer.Attention.IndexHeads, layer.Attention.IndexDim, layer.Attention.IndexTopK = index.heads, index.dim, index.vdim
		}
		return layer
	})
}

// m3Index is the index's heads, the width of their keys, and how many tokens they pick; and which layers have one.
func (b *builder) m3Index() (index heads, frequency []int64) {
	s, legacy := b.object("sparse_attention_config")
	if !legacy {
		return heads{
			heads: b.sizeOr(4, "index_n_heads"), dim: b.sizeOr(128, "index_head_dim"),
			vdim: b.sizeOr(16, "index_topk_blocks") * b.sizeOr(128, "index_block_size"),
		}, nil
	}
	if !s.flag(true, "use_sparse_attention") {
		return heads{}, nil
	}
	return heads{
		heads: s.size("sparse_num_index_heads"), dim: s.size("sparse_index_dim"),
		vdim: s.size("sparse_topk_blocks") * s.size("sparse_block_size"),
	}, s.counts("sparse_attention_freq")
}

func (b *builder) m3Indexer(index heads) {
	const p = "self_attn.index_"
	b.replicated(p+"q_proj", index.heads*index.dim, b.hidden, false)
	b.replicated(p+"k_proj", index.dim, b.hidden, false)
	b.norm(rms, p+"q_norm", index.dim)
	b.norm(rms, p+"k_norm", index.dim)
}

func buildMiniMax(b *builder) {
	g := b.heads()
	a := newGQA(g)
	e := newExperts(b.size("num_local_experts"), b.size("num_experts_per_tok"), b.size("intermediate_size"))
	e.prefix, e.names = "block_sparse_moe.", dense{gate: "w1", up: "w3", down: "w2"}
	types, old := b.layerTypes(), b.counts("attn_type_list") // 1: attention
	full := func(i int) bool {
		switch {
		case types != nil:
			return types[i] == "full_attention"
		case i < len(old):
			return old[i] == 1
		}
		return i%2 == 0 // configuration_minimax.py
	}
	b.decoder(rms, func(i int) Layer {
		if full(i) {
			return b.block(rms, a, func() FFN { return b.route(e) })
		}
		width := g.heads * g.dim
		b.matrix(ClassLinear, "self_attn.qkv_proj", 3*width, b.hidden)
		b.matrix(ClassLinear, "self_attn.out_proj", b.hidden, width)
		b.matrix(ClassLinear, "self_attn.output_gate", width, b.hidden)
		b.vector(ClassLinear, "self_attn.norm.weight", width)
		layer := Layer{FFN: b.route(e), Attention: Attention{
			Kind: Linear, KeyHeads: g.heads, ValueHeads: g.heads, KeyDim: g.dim, ValueDim: g.dim, StateBytes: b.stateBytes(),
		}}
		b.norms(rms, "input_layernorm", "post_attention_layernorm")
		return layer
	})
}
