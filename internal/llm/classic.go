package llm

// classicFamilies are the decoders from before Llama, and those whose files name things in a way of their own.
func classicFamilies() []family {
	return []family{
		{types: []string{"gpt2", "gpt_bigcode"}, build: buildGPT2, tied: true},
		{types: []string{"gptj", "codegen"}, build: buildGPTJ},
		{types: []string{"gpt_neox"}, build: buildGPTNeoX},
		{types: []string{"opt"}, build: buildOPT, tied: true},
		{types: []string{"bloom"}, build: buildBloom, tied: true},
		{types: []string{"mpt"}, build: buildMPT, tied: true},
		{types: []string{"falcon", "RefinedWeb", "RefinedWebModel"}, build: buildFalcon, tied: true},
		{types: []string{"dbrx"}, build: buildDbrx},
		{types: []string{"exaone"}, build: buildExaone},
		{types: []string{"internlm2"}, build: buildInternLM2},
		{types: []string{"baichuan"}, build: buildBaichuan},
		{types: []string{"chatglm"}, build: buildChatGLM},
		{types: []string{"persimmon"}, build: buildPersimmon},
	}
}

// classic is what these decoders share: fused attention under a folder, feed-forward without a gate.
type classic struct {
	root, folder, embedding, final string
	position                       int64 // rows of a table of learned positions
	positionName                   string
	norms                          []string
	kind                           normKind
	headBias                       bool
}

func (b *builder) classic(c classic, a gqa, d dense) {
	if c.kind == "" {
		c.kind = rms
	}
	b.root = c.root
	b.embed(c.embedding)
	if c.position > 0 {
		b.unquantised(ClassReplicated, c.positionName, c.position, b.hidden)
	}
	b.layers(b.depth(), c.folder, func(int) Layer {
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(c.kind, c.norms...)
		return layer
	})
	b.norms(c.kind, c.final)
	b.head(c.headBias)
}

func plainDense(prefix, up, down string, ff int64, bias bool) dense {
	return dense{prefix: prefix, up: up, down: down, ff: ff, bias: bias}
}

func buildGPT2(b *builder) {
	g := b.heads()
	if b.m.Type == "gpt_bigcode" && b.flag(true, "multi_query") {
		g.kv = 1
	}
	a := newGQA(g)
	a.prefix, a.fused, a.names[3], a.qkvBias, a.oBias = "attn.", "c_attn", "c_proj", true, true
	b.classic(classic{
		root: "transformer.", folder: "h", embedding: "wte", final: "ln_f", norms: []string{"ln_1", "ln_2"}, kind: layerNorm,
		position: b.size("n_positions"), positionName: "wpe",
	}, a, plainDense("mlp.", "c_fc", "c_proj", b.sizeOr(4*b.hidden, "n_inner"), true))
}

func buildGPTJ(b *builder) {
	a := newGQA(b.heads())
	a.prefix, a.names[3] = "attn.", "out_proj"
	b.classic(classic{
		root: "transformer.", folder: "h", embedding: "wte", final: "ln_f", norms: []string{"ln_1"}, kind: layerNorm, headBias: true,
	}, a, plainDense("mlp.", "fc_in", "fc_out", b.sizeOr(4*b.hidden, "n_inner"), true))
}

func buildGPTNeoX(b *builder) {
	a := newGQA(b.heads())
	a.prefix, a.fused, a.names[3] = "attention.", "query_key_value", "dense"
	a.qkvBias = b.flag(true, "attention_bias")
	a.oBias = a.qkvBias
	b.classic(classic{
		root: "gpt_neox.", folder: "layers", embedding: "embed_in", final: "final_layer_norm",
		norms: []string{"input_layernorm", "post_attention_layernorm"}, kind: layerNorm,
	}, a, plainDense("mlp.", "dense_h_to_4h", "dense_4h_to_h", b.size("intermediate_size"), true))
}

// buildOPT has two more positions than tokens (modeling_opt.py, OPTLearnedPositionalEmbedding), and in its smallest
// models a narrower embedding with a projection to and from it.
func buildOPT(b *builder) {
	narrow := b.sizeOr(b.hidden, "word_embed_proj_dim")
	a := newGQA(b.heads())
	a.qkvBias = b.flag(true, "enable_bias")
	a.oBias, a.names[3] = a.qkvBias, "out_proj"
	b.root = "model.decoder."
	b.scope = b.root
	b.unquantised(ClassEmbedding, "embed_tokens", b.m.Vocabulary, narrow)
	b.unquantised(ClassReplicated, "embed_positions", b.m.Context+2, b.hidden)
	if narrow != b.hidden {
		b.matrix(ClassReplicated, "project_in", b.hidden, narrow)
		b.matrix(ClassReplicated, "project_out", narrow, b.hidden)
	}
	d := plainDense("", "fc1", "fc2", b.size("ffn_dim"), a.qkvBias)
	b.layers(b.depth(), "layers", func(int) Layer {
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(layerNorm, "self_attn_layer_norm", "final_layer_norm")
		return layer
	})
	if b.flag(true, "do_layer_norm_before") && !b.flag(false, "_remove_final_layer_norm") {
		b.norms(layerNorm, "final_layer_norm")
	}
	b.scope, b.layer = "", -1
	if !b.m.TiedHead {
		b.unquantised(ClassHead, "lm_head", b.m.Vocabulary, narrow)
	}
}

func buildBloom(b *builder) {
	a := newGQA(b.heads())
	a.prefix, a.fused, a.names[3], a.qkvBias, a.oBias = "self_attention.", "query_key_value", "dense", true, true
	b.scope = "transformer."
	b.norms(layerNorm, "word_embeddings_layernorm")
	b.classic(classic{
		root: "transformer.", folder: "h", embedding: "word_embeddings", final: "ln_f",
		norms: []string{"input_layernorm", "post_attention_layernorm"}, kind: layerNorm,
	}, a, plainDense("mlp.", "dense_h_to_4h", "dense_4h_to_h", 4*b.hidden, true))
}

func buildMPT(b *builder) {
	a := newGQA(b.heads())
	a.prefix, a.fused, a.names[3] = "attn.", "Wqkv", "out_proj"
	b.classic(classic{
		root: "transformer.", folder: "blocks", embedding: "wte", final: "norm_f", norms: []string{"norm_1", "norm_2"},
	}, a, plainDense("ffn.", "up_proj", "down_proj", scaled(b.hidden, b.number(4, "expansion_ratio")), false))
}

// buildFalcon comes with one KV head, with as many as heads, or with groups (Falcon-40B and 180B).
func buildFalcon(b *builder) {
	g := b.heads()
	groups, parallel := b.flag(false, "new_decoder_architecture"), b.flag(true, "parallel_attn")
	switch {
	case groups:
		g.kv = b.sizeOr(g.heads, "num_kv_heads", "n_head_kv")
		b.divides("num_kv_heads", g.heads, g.kv)
	case b.flag(true, "multi_query"):
		g.kv = 1
	default:
		g.kv = g.heads
	}
	a := newGQA(g)
	a.prefix, a.fused, a.names[3], a.qkvBias = "self_attention.", "query_key_value", "dense", b.flag(false, "bias")
	a.oBias = a.qkvBias
	norms := []string{"input_layernorm"}
	if !parallel || groups && b.sizeOr(2, "num_ln_in_parallel_attn") == 2 {
		norms = append(norms, "post_attention_layernorm")
	}
	b.classic(classic{
		root: "transformer.", folder: "h", embedding: "word_embeddings", final: "ln_f", norms: norms, kind: layerNorm,
	}, a, plainDense("mlp.", "dense_h_to_4h", "dense_4h_to_h", b.sizeOr(4*b.hidden, "ffn_hidden_size"), a.qkvBias))
}

func buildDbrx(b *builder) {
	attn, hasAttention := b.object("attn_config")
	ffn, hasFFN := b.object("ffn_config")
	if !hasAttention || !hasFFN {
		b.problem("attn_config and ffn_config", "one is missing")
		return
	}
	g := b.heads()
	g.kv = attn.size("kv_n_heads")
	b.divides("attn_config.kv_n_heads", g.heads, g.kv)
	a := newGQA(g)
	a.prefix, a.fused, a.names[3] = "norm_attn_norm.attn.", "Wqkv", "out_proj"
	e := newExperts(ffn.size("moe_num_experts"), ffn.size("moe_top_k"), ffn.size("ffn_hidden_size"))
	e.prefix, e.router, e.names = "ffn.", "router.layer", dense{gate: "w1", up: "v1", down: "w2"}
	b.root = "transformer."
	b.embed("wte")
	b.layers(b.depth(), "blocks", func(int) Layer {
		layer := Layer{Attention: b.attend(a), FFN: b.route(e)}
		b.norms(rms, "norm_attn_norm.norm_1", "norm_attn_norm.norm_2")
		return layer
	})
	b.norms(rms, "norm_f")
	b.head(false)
}

// buildExaone is LGAI-EXAONE/EXAONE-3.5, modeling_exaone.py.
func buildExaone(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.prefix, a.names[3] = "attn.attention.", "out_proj"
	d.gate, d.up, d.down = "c_fc_0", "c_fc_1", "c_proj"
	b.classic(classic{root: "transformer.", folder: "h", embedding: "wte", final: "ln_f", norms: []string{"ln_1", "ln_2"}}, a, d)
}

// buildInternLM2 is internlm/internlm2_5, modeling_internlm2.py.
func buildInternLM2(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.prefix, a.fused, a.names[3] = "attention.", "wqkv", "wo"
	a.qkvBias = b.flag(false, "bias")
	a.oBias = a.qkvBias
	d.prefix, d.gate, d.up, d.down = "feed_forward.", "w1", "w3", "w2"
	b.classic(classic{root: b.root, folder: "layers", embedding: "tok_embeddings", final: "norm", norms: []string{"attention_norm", "ffn_norm"}}, a, d)
}

// buildBaichuan is baichuan-inc/Baichuan2, modeling_baichuan.py.
func buildBaichuan(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.fused = "W_pack"
	b.decoder(rms, func(int) Layer { return b.block(rms, a, func() FFN { return b.feed(d) }) })
}

// buildChatGLM is THUDM/glm-4-9b-chat, modeling_chatglm.py.
func buildChatGLM(b *builder) {
	if b.values["vocab_size"] == nil {
		b.m.Vocabulary = b.size("padded_vocab_size")
	}
	g := b.heads()
	g.dim = b.size("kv_channels")
	g.vdim = g.dim
	if b.flag(false, "multi_query_attention") {
		g.kv = b.size("multi_query_group_num")
		b.divides("multi_query_group_num", g.heads, g.kv)
	}
	a := newGQA(g)
	a.prefix, a.fused, a.names[3] = "self_attention.", "query_key_value", "dense"
	a.oBias = b.flag(false, "add_bias_linear")
	a.qkvBias = a.oBias || b.flag(false, "add_qkv_bias")
	d := dense{prefix: "mlp.", gate: "dense_h_to_4h", down: "dense_4h_to_h", ff: b.size("ffn_hidden_size"), bias: a.oBias, fused: true}
	b.root = "transformer."
	b.scope, b.layer = b.root, -1
	b.unquantised(ClassEmbedding, "embedding.word_embeddings", b.m.Vocabulary, b.hidden)
	b.layers(b.depth(), "encoder.layers", func(int) Layer {
		return b.block(rms, a, func() FFN { return b.feed(d) })
	})
	b.norms(rms, "encoder.final_layernorm")
	b.unquantised(ClassHead, "output_layer", b.m.Vocabulary, b.hidden)
}

func buildPersimmon(b *builder) {
	a := newGQA(b.heads())
	a.fused, a.names[3], a.qkvBias, a.oBias = "query_key_value", "dense", true, true
	a.headNorm, a.normKind, a.normQ, a.normK = b.flag(true, "qk_layernorm"), layerNorm, "q_layernorm", "k_layernorm"
	b.classic(classic{
		root: b.root, folder: "layers", embedding: "embed_tokens", final: "final_layernorm",
		norms: []string{"input_layernorm", "post_attention_layernorm"}, kind: layerNorm,
	}, a, plainDense("mlp.", "dense_h_to_4h", "dense_4h_to_h", b.size("intermediate_size"), true))
}
