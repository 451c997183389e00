package llm

import "slices"

// gemmaFamilies have four norms per layer from Gemma 2 on, and the embedding as their head.
func gemmaFamilies() []family {
	// What Google's files leave to the class: configuration_gemma3.py and configuration_gemma2.py.
	gemma3 := map[string]int64{
		"num_attention_heads": 8, "num_key_value_heads": 4, "head_dim": 256, "vocab_size": 262208, "max_position_embeddings": 131072,
		"sliding_window": 4096,
	}
	gemma2 := map[string]int64{"head_dim": 256}
	return []family{
		{types: []string{"gemma", "gemma2", "vaultgemma"}, build: buildGemma, tied: true,
			defaults: map[string]map[string]int64{"gemma": gemma2, "gemma2": gemma2, "vaultgemma": gemma2}},
		{types: []string{"gemma3_text", "gemma3"}, build: buildGemma, tied: true,
			defaults: map[string]map[string]int64{"gemma3_text": gemma3, "gemma3": gemma3}},
		{types: []string{"gemma4_text", "gemma4"}, build: buildGemma4, tied: true},
		{types: []string{"gemma3n_text", "gemma3n"}, build: buildGemma3n, tied: true},
	}
}

func buildGemma(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	norms, every := []string{"input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm"}, 2
	switch b.m.Type {
	case "gemma":
		norms, every = norms[:2], 1
	case "vaultgemma":
		norms = []string{"input_layernorm", "pre_feedforward_layernorm"}
	case "gemma3_text", "gemma3":
		a.headNorm = true
		every = int(b.sizeOr(6, "sliding_window_pattern", "_sliding_window_pattern"))
	}
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, func(i int) bool { return (i+1)%every != 0 })
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(rms, norms...)
		return layer
	})
}

// gemmaLayers says for each layer of Gemma 3n and 4 whether it has a window, and whether it reads the cache of an
// earlier one: the last num_kv_shared_layers do.
func (b *builder) gemmaLayers(every int) (windowed, shared []bool) {
	depth := int(min(b.depth(), mostLayers))
	reuse := depth - int(b.countOr(0, "num_kv_shared_layers"))
	types := b.layerTypes()
	for i := range depth {
		w := (i+1)%every != 0
		if types != nil {
			w = types[i] == "sliding_attention"
		}
		windowed, shared = append(windowed, w), append(shared, i >= reuse)
	}
	return windowed, shared
}

// buildGemma4 has wider heads and other KV heads in its layers without a window, whose keys may be their values;
// embeddings of each layer in its small models; a dense block beside the experts in its large ones.
func buildGemma4(b *builder) {
	windowed, shared := b.gemmaLayers(6)
	if n := len(windowed); n > 0 {
		windowed[n-1] = false // configuration_gemma4.py forces it
	}
	local := newGQA(b.heads())
	local.headNorm = true
	local.qkvBias = b.flag(false, "attention_bias")
	local.oBias = local.qkvBias
	global := local
	global.dim = b.sizeOr(512, "global_head_dim")
	global.vdim = global.dim
	if b.flag(false, "attention_k_eq_v") {
		global.keysAreValues = true
		global.kv = b.sizeOr(local.kv, "num_global_key_value_heads")
	}
	ff := b.size("intermediate_size")
	b.gemmaEmbeddings()
	b.layers(b.depth(), "layers", func(i int) Layer {
		a, d := global, newDense(ff)
		if windowed[i] {
			a = local
			a.window = b.size("sliding_window")
		}
		a.noKV, a.dim, a.kv = shared[i], b.layerField(i, "head_dim", a.dim), b.layerField(i, "num_key_value_heads", a.kv)
		a.vdim = a.dim
		if shared[i] && b.flag(false, "use_double_wide_mlp") {
			d.ff *= 2
		}
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(rms, "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
		b.vector(ClassReplicated, "layer_scalar", 1)
		if b.flag(false, "enable_moe_block") {
			layer.FFN = b.gemmaExperts()
			layer.FFN.Intermediate = d.ff
		}
		b.perLayerInput()
		return layer
	})
	b.norms(rms, "norm")
	b.head(false)
}

func (b *builder) gemmaExperts() FFN {
	e := newExperts(b.size("num_experts"), b.size("top_k_experts"), b.size("moe_intermediate_size", "expert_intermediate_size"))
	e.prefix, e.router = "", "router.proj"
	f := b.route(e)
	b.vector(ClassReplicated, "router.scale", b.hidden)
	b.vector(ClassReplicated, "router.per_expert_scale", e.count)
	b.norms(rms, "post_feedforward_layernorm_1", "post_feedforward_layernorm_2", "pre_feedforward_layernorm_2")
	return f
}

// gemmaEmbeddings is the embedding and, where there are such, those of each layer, which are packed into one table.
func (b *builder) gemmaEmbeddings() {
	b.embed("embed_tokens")
	width := b.countOr(256, "hidden_size_per_layer_input")
	if width == 0 {
		return
	}
	all := width * b.depth()
	b.unquantised(ClassEmbedding, "embed_tokens_per_layer", b.sizeOr(262144, "vocab_size_per_layer_input"), all)
	b.matrix(ClassReplicated, "per_layer_model_projection", all, b.hidden)
	b.norm(rms, "per_layer_projection_norm", width)
}

func (b *builder) perLayerInput() {
	width := b.countOr(256, "hidden_size_per_layer_input")
	if width == 0 {
		return
	}
	b.matrix(ClassReplicated, "per_layer_input_gate", width, b.hidden)
	b.matrix(ClassReplicated, "per_layer_projection", b.hidden, width)
	b.norms(rms, "post_per_layer_input_norm")
}

// buildGemma3n has AltUp streams, LAuReL blocks and a feed-forward width of each layer.
func buildGemma3n(b *builder) {
	windowed, shared := b.gemmaLayers(5)
	a := newGQA(b.heads())
	a.headNorm = true
	streams, rank := b.sizeOr(4, "altup_num_inputs"), b.sizeOr(64, "laurel_rank")
	widths := b.gemmaWidths()
	if int64(len(widths)) != b.depth() {
		b.problem("intermediate_size", "has %d elements for %d layers", len(widths), b.depth())
		return
	}
	b.gemmaEmbeddings()
	for range streams - 1 {
		b.matrix(ClassReplicated, "altup_projections.*", b.hidden, b.hidden)
		b.matrix(ClassReplicated, "altup_unembed_projections.*", b.hidden, b.hidden)
	}
	b.layers(b.depth(), "layers", func(i int) Layer {
		a.window, a.noKV = 0, shared[i]
		if windowed[i] {
			a.window = b.size("sliding_window")
		}
		layer := Layer{Attention: b.attend(a), FFN: b.feed(newDense(widths[i]))}
		b.norms(rms, "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
		b.altup(streams)
		b.matrix(ClassReplicated, "laurel.linear_left", rank, b.hidden)
		b.matrix(ClassReplicated, "laurel.linear_right", b.hidden, rank)
		b.norms(rms, "laurel.post_laurel_norm")
		b.perLayerInput()
		return layer
	})
	b.norms(rms, "norm")
	b.head(false)
}

// gemmaWidths is the width of each layer's feed-forward: a list, or one number for all.
func (b *builder) gemmaWidths() []int64 {
	if b.isList("intermediate_size") {
		return b.counts("intermediate_size")
	}
	return slices.Repeat([]int64{b.size("intermediate_size")}, int(min(b.depth(), mostLayers)))
}

func (b *builder) altup(streams int64) {
	b.vector(ClassReplicated, "altup.correct_output_scale", b.hidden)
	b.unquantised(ClassReplicated, "altup.correction_coefs", streams, streams)
	b.unquantised(ClassReplicated, "altup.prediction_coefs", streams*streams, streams)
	b.unquantised(ClassReplicated, "altup.modality_router", streams, b.hidden)
	b.norms(rms, "altup.router_norm")
}
