package llm

// heads is the geometry of attention with heads of keys and values.
type heads struct{ heads, kv, dim, vdim int64 }

// heads reads the geometry. head_dim wins over hidden_size / num_attention_heads; without num_key_value_heads every
// head has its own keys and values, as transformers has it.
func (b *builder) heads() heads {
	var g heads
	g.heads = b.size("num_attention_heads", "n_head", "n_heads")
	g.kv = b.sizeOr(g.heads, "num_key_value_heads")
	b.divides("num_key_value_heads", g.heads, g.kv)
	if g.dim = b.countOr(0, "head_dim"); g.dim == 0 {
		if n, known := b.defaults["head_dim"]; known {
			b.assume("head_dim", "the default of transformers 5.23", "not in the file")
			g.dim = n
		} else {
			g.dim = b.divides("num_attention_heads", b.hidden, g.heads)
		}
	}
	g.vdim = g.dim
	return g
}

// gqa is attention with heads of keys and values, whatever their number.
type gqa struct {
	heads
	prefix            string // "self_attn."
	names             [4]string
	fused             string // one matrix of queries, keys and values
	qkvBias, oBias    bool
	headNorm          bool     // norms of queries and keys, one head wide
	layerNorm         bool     // the same over all heads
	normKind          normKind // of these
	normQ, normK      string
	gated             bool // queries come with a gate of their size
	keysAreValues     bool // no matrix of values
	noKV              bool // reads the cache of an earlier layer
	sinks             bool
	window            int64
	chunked           bool
	indexHeads, index int64
}

func newGQA(g heads) gqa {
	return gqa{heads: g, prefix: "self_attn.", names: [4]string{"q_proj", "k_proj", "v_proj", "o_proj"}, normKind: rms, normQ: "q_norm", normK: "k_norm"}
}

// attend adds the weights of attention.
func (b *builder) attend(a gqa) Attention {
	q, k, v, o := a.prefix+a.names[0], a.prefix+a.names[1], a.prefix+a.names[2], a.prefix+a.names[3]
	if a.fused != "" {
		q, k, v = a.prefix+a.fused, a.prefix+a.fused, a.prefix+a.fused
	}
	width := a.heads.heads * a.dim
	if a.gated {
		width *= 2
	}
	b.biased(ClassAttention, q, width, b.hidden, a.qkvBias)
	if !a.noKV {
		b.biased(ClassKV, k, a.kv*a.dim, b.hidden, a.qkvBias)
		if !a.keysAreValues {
			b.biased(ClassKV, v, a.kv*a.vdim, b.hidden, a.qkvBias)
		}
	}
	b.biased(ClassAttention, o, b.hidden, a.heads.heads*a.vdim, a.oBias)
	if a.sinks {
		b.vector(ClassAttention, a.prefix+"sinks", a.heads.heads)
	}
	b.attentionNorms(a)
	return Attention{
		Kind: GQA, Heads: a.heads.heads, KVHeads: a.kv, HeadDim: a.dim, VDim: a.vdim,
		Window: a.window, Chunked: a.chunked, Shared: a.noKV, IndexHeads: a.indexHeads, IndexDim: a.index,
	}
}

func (b *builder) attentionNorms(a gqa) {
	q, k := int64(0), int64(0)
	switch {
	case a.headNorm:
		q, k = a.dim, a.dim
	case a.layerNorm:
		q, k = a.heads.heads*a.dim, a.kv*a.dim
	default:
		return
	}
	b.norm(a.normKind, a.prefix+a.normQ, q)
	if !a.noKV {
		b.norm(a.normKind, a.prefix+a.normK, k)
	}
}

// latent is multi-head latent attention (DeepSeek-V2).
type latent struct {
	heads, qRank, kvRank, rope, nope, v int64
	bias                                bool
	indexHeads, index, topK             int64 // sparse index (DeepSeek-V3.2); 0: none
	reusesIndex                         bool  // takes the choice of an earlier layer's index
}

func (b *builder) latent() latent {
	return latent{
		heads: b.size("num_attention_heads"), qRank: b.countOr(0, "q_lora_rank"), kvRank: b.size("kv_lora_rank"),
		rope: b.size("qk_rope_head_dim"), nope: b.size("qk_nope_head_dim"), v: b.size("v_head_dim"),
		bias: b.flag(false, "attention_bias"),
	}
}

// attendLatent adds the weights of MLA and of its index.
func (b *builder) attendLatent(a latent) Attention {
	const p = "self_attn."
	width := a.heads * (a.nope + a.rope)
	if a.qRank > 0 {
		b.replicated(p+"q_a_proj", a.qRank, b.hidden, a.bias)
		b.norm(rms, p+"q_a_layernorm", a.qRank)
		b.matrix(ClassAttention, p+"q_b_proj", width, a.qRank)
	} else {
		b.matrix(ClassAttention, p+"q_proj", width, b.hidden)
	}
	b.replicated(p+"kv_a_proj_with_mqa", a.kvRank+a.rope, b.hidden, a.bias)
	b.norm(rms, p+"kv_a_layernorm", a.kvRank)
	b.matrix(ClassAttention, p+"kv_b_proj", a.heads*(a.nope+a.v), a.kvRank)
	b.biased(ClassAttention, p+"o_proj", b.hidden, a.heads*a.v, a.bias)
	if a.index > 0 && !a.reusesIndex {
		b.indexer(a)
	}
	attention := Attention{
		Kind: MLA, Heads: a.heads, KVHeads: 1, HeadDim: a.nope + a.rope, VDim: a.v,
		QLoraRank: a.qRank, KVLoraRank: a.kvRank, RopeDim: a.rope, NopeDim: a.nope,
	}
	if a.index > 0 {
		attention.IndexTopK = a.topK
		if !a.reusesIndex {
			attention.IndexHeads, attention.IndexDim = a.indexHeads, a.index
		}
	}
	return attention
}

// indexer adds the index that picks the tokens of sparse attention; its weights_proj stays unquantised.
func (b *builder) indexer(a latent) {
	const p = "self_attn.indexer."
	b.replicated(p+"wq_b", a.indexHeads*a.index, a.qRank, false)
	b.replicated(p+"wk", a.index, b.hidden, false)
	b.norm(layerNorm, p+"k_norm", a.index)
	b.unquantised(ClassReplicated, p+"weights_proj", a.indexHeads, b.hidden)
}

// replicated is a linear layer that every rank has whole.
func (b *builder) replicated(name string, out, in int64, bias bool) {
	b.biased(ClassReplicated, name, out, in, bias)
}
