package sizing

import "strings"

// tower is one kind of vision tower with its projector; its weights stay unquantised and whole on every rank.
type tower struct {
	types []string // vision_config.model_type, or the wrapper's model_type where that is absent
	scope string
	build func(b *builder, v fields)
}

// towers lists the vision towers whose weights are known. Sources are the modelling files of transformers 5.23.
func towers() []tower {
	return []tower{
		{types: []string{"siglip_vision_model"}, scope: "vision_tower.", build: buildSiglip},
		{types: []string{"gemma4_vision"}, scope: "model.vision_tower.", build: buildGemma4Vision},
		{types: []string{"llama4_vision_model"}, scope: "vision_model.", build: buildLlama4Vision},
		{types: []string{"qwen2_vl", "qwen2_vl_vision"}, scope: "visual.", build: buildQwen2Vision},
		{types: []string{"qwen2_5_vl", "qwen2_5_vl_vision"}, scope: "visual.", build: buildQwen25Vision},
		{types: []string{
			"qwen3_vl", "qwen3_vl_vision", "qwen3_vl_moe", "qwen3_vl_moe_vision", "qwen3_5", "qwen3_5_vision", "qwen3_5_moe", "qwen3_5_moe_vision",
		}, scope: "model.visual.", build: buildQwen3Vision},
		{types: []string{"moonvit", "kimi_k25", "kimi_k25_vision", "kimi_vl"}, scope: "vision_tower.", build: buildMoonViT},
		{types: []string{"pixtral"}, scope: "vision_tower.", build: buildPixtral},
		{types: []string{"glm4v", "glm4v_vision", "glm4v_moe", "glm4v_moe_vision", "glm46v_vision"}, scope: "model.visual.", build: buildGLMVision},
		{types: []string{"clip_vision_model", "minimax_m3_vl_vision"}, scope: "vision_tower.", build: buildCLIP},
		{types: []string{"internvl_vision"}, scope: "model.vision_tower.", build: buildInternViT},
		{types: []string{"step3p5_vision", "step3p7_vision"}, scope: "model.vision_model.", build: buildStepVision},
	}
}

// vision adds the vision tower, where the config has one. One of an unknown kind is said to be left out.
func (b *builder) vision() {
	v, ok := b.whole.object("vision_config")
	if !ok || len(v.values) == 0 {
		return
	}
	// What SGLang scales its memory fraction by, with the defaults that it has (server_args.py, adjust_mem_fraction).
	b.m.VisionLayers = v.sizeOr(24, "num_hidden_layers", "vt_num_hidden_layers")
	b.m.VisionHidden = v.sizeOr(1024, "hidden_size", "vt_hidden_size")
	kind := v.text("", "model_type")
	if kind == "" {
		kind = b.whole.text("", "model_type")
	}
	for _, t := range towers() {
		for _, name := range t.types {
			if name == kind {
				b.aside(ClassVision, t.scope, func() { t.build(b, v) })
				return
			}
		}
	}
	b.whole.assume("vision_config", "not counted", "the tower "+quoted(kind)+" is not known: known are "+strings.Join(towerTypes(), ", "))
}

func towerTypes() (types []string) {
	for _, t := range towers() {
		types = append(types, t.types...)
	}
	return types
}

// see is a linear layer of a tower.
func (b *builder) see(name string, out, in int64, bias bool) {
	b.plain(ClassVision, name, out, in)
	if bias {
		b.vector(ClassVision, name+".bias", out)
	}
}

// seeNorms are norms of a tower: the weight, and with bias another.
func (b *builder) seeNorms(width int64, bias bool, names ...string) {
	for _, name := range names {
		b.vector(ClassVision, name+".weight", width)
		if bias {
			b.vector(ClassVision, name+".bias", width)
		}
	}
}

// blocks adds that many equal layers.
func (b *builder) blocks(count int64, folder string, build func()) {
	scope := b.scope
	if count > mostLayers {
		b.problem("vision_config", "%d layers are above %d", count, mostLayers)
		return
	}
	b.scope = scope + folder + ".*."
	for range count {
		build()
	}
	b.scope = scope
}

// clipBlock is a layer of CLIP and Siglip: four projections, two layers, two norms, all with biases.
func (b *builder) clipBlock(h, ff int64) {
	for _, name := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
		b.see("self_attn."+name, h, h, true)
	}
	b.see("mlp.fc1", ff, h, true)
	b.see("mlp.fc2", h, ff, true)
	b.seeNorms(h, true, "layer_norm1", "layer_norm2")
}

func square(n int64) int64 { return n * n }

func buildSiglip(b *builder, v fields) {
	h, ff, patch := v.size("hidden_size"), v.size("intermediate_size"), v.size("patch_size")
	side := v.size("image_size") / patch
	b.see("embeddings.patch_embedding", h, v.sizeOr(3, "num_channels")*square(patch), true)
	b.see("embeddings.position_embedding", square(side), h, false)
	b.blocks(v.size("num_hidden_layers"), "encoder.layers", func() { b.clipBlock(h, ff) })
	b.seeNorms(h, true, "post_layernorm")
	if v.flag(true, "vision_use_head") {
		b.vector(ClassVision, "head.probe", h)
		b.see("head.attention.in_proj", 3*h, h, true)
		b.see("head.attention.out_proj", h, h, true)
		b.seeNorms(h, true, "head.layernorm")
		b.see("head.mlp.fc1", ff, h, true)
		b.see("head.mlp.fc2", h, ff, true)
	}
	b.scope = "multi_modal_projector."
	switch kind := b.whole.text("", "model_type"); kind {
	case "gemma3":
		b.see("mm_input_projection", h, b.hidden, false)
		b.seeNorms(h, false, "mm_soft_emb_norm")
	case "paligemma":
		b.see("linear", b.hidden, h, true)
	case "llava", "llava_next", "llava_onevision":
		b.see("linear_1", b.hidden, h, true)
		b.see("linear_2", b.hidden, b.hidden, true)
		if kind != "llava" {
			b.vector(ClassVision, "image_newline", b.hidden)
		}
	default:
		b.whole.assume("model_type", quoted(kind)+", its projector not counted", "known are gemma3, llava, llava_next, llava_onevision, paligemma")
	}
}

func buildGemma4Vision(b *builder, v fields) {
	h, ff, dim := v.size("hidden_size"), v.size("intermediate_size"), v.size("head_dim")
	q, kv := v.size("num_attention_heads")*dim, v.size("num_key_value_heads")*dim
	bias := v.flag(false, "attention_bias")
	b.vector(ClassVision, "patch_embedder.position_embedding_table", 2*v.size("position_embedding_size")*h)
	b.see("patch_embedder.input_proj", h, 3*square(v.size("patch_size")), false)
	b.blocks(v.size("num_hidden_layers"), "encoder.layers", func() {
		b.see("self_attn.q_proj", q, h, bias)
		b.see("self_attn.k_proj", kv, h, bias)
		b.see("self_attn.v_proj", kv, h, bias)
		b.see("self_attn.o_proj", h, q, bias)
		b.seeNorms(dim, false, "self_attn.q_norm", "self_attn.k_norm")
		b.see("mlp.gate_proj", ff, h, false)
		b.see("mlp.up_proj", ff, h, false)
		b.see("mlp.down_proj", h, ff, false)
		b.seeNorms(h, false, "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
	})
	if v.flag(false, "standardize") {
		b.vector(ClassVision, "std_bias", h)
		b.vector(ClassVision, "std_scale", h)
	}
	b.scope = "model.embed_vision."
	b.see("embedding_projection", b.hidden, h, false)
}

func buildLlama4Vision(b *builder, v fields) {
	h, ff, patch := v.size("hidden_size"), v.size("intermediate_size"), v.size("patch_size")
	b.vector(ClassVision, "class_embedding", h)
	b.see("positional_embedding_vlm", square(v.size("image_size")/patch)+1, h, false)
	b.see("patch_embedding.linear", h, v.sizeOr(3, "num_channels")*square(patch), false)
	b.seeNorms(h, true, "layernorm_pre", "layernorm_post")
	b.blocks(v.size("num_hidden_layers"), "model.layers", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
			b.see("self_attn."+name, h, h, true)
		}
		b.see("mlp.fc1", ff, h, true)
		b.see("mlp.fc2", h, ff, true)
		b.seeNorms(h, true, "input_layernorm", "post_attention_layernorm")
	})
	b.see("vision_adapter.mlp.fc1", v.size("projector_input_dim"), ff, false)
	b.see("vision_adapter.mlp.fc2", v.size("projector_output_dim"), v.size("projector_input_dim"), false)
	b.scope = "multi_modal_projector."
	b.see("linear_1", b.hidden, v.size("vision_output_dim"), false)
}

// conv3D is what a patch of video has: channels, frames, a square of pixels.
func conv3D(v fields) int64 {
	return v.sizeOr(3, "in_channels", "in_chans") * v.sizeOr(2, "temporal_patch_size") * square(v.sizeOr(14, "patch_size", "spatial_patch_size"))
}

func buildQwen2Vision(b *builder, v fields) {
	h := v.size("embed_dim")
	ff := scaled(h, v.number(4, "mlp_ratio"))
	b.see("patch_embed.proj", h, conv3D(v), false)
	b.blocks(v.sizeOr(32, "depth"), "blocks", func() {
		b.seeNorms(h, true, "norm1", "norm2")
		b.see("attn.qkv", 3*h, h, true)
		b.see("attn.proj", h, h, true)
		b.see("mlp.fc1", ff, h, true)
		b.see("mlp.fc2", h, ff, true)
	})
	wide := h * square(v.sizeOr(2, "spatial_merge_size"))
	b.seeNorms(h, true, "merger.ln_q")
	b.see("merger.mlp.0", wide, wide, true)
	b.see("merger.mlp.2", v.size("hidden_size"), wide, true)
}

func buildQwen25Vision(b *builder, v fields) {
	// configuration_qwen2_5_vl.py: the published files leave the width of the blocks out at times
	h, ff := v.size("hidden_size"), v.sizeOr(3420, "intermediate_size")
	b.see("patch_embed.proj", h, conv3D(v), false)
	b.blocks(v.sizeOr(32, "depth"), "blocks", func() {
		b.seeNorms(h, false, "norm1", "norm2")
		b.see("attn.qkv", 3*h, h, true)
		b.see("attn.proj", h, h, true)
		for _, name := range []string{"mlp.gate_proj", "mlp.up_proj"} {
			b.see(name, ff, h, true)
		}
		b.see("mlp.down_proj", h, ff, true)
	})
	wide := h * square(v.sizeOr(2, "spatial_merge_size"))
	b.seeNorms(h, false, "merger.ln_q")
	b.see("merger.mlp.0", wide, wide, true)
	b.see("merger.mlp.2", v.size("out_hidden_size"), wide, true)
}

func buildQwen3Vision(b *builder, v fields) {
	h, ff := v.size("hidden_size"), v.size("intermediate_size")
	b.see("patch_embed.proj", h, conv3D(v), true)
	b.see("pos_embed", v.size("num_position_embeddings"), h, false)
	b.blocks(v.size("depth"), "blocks", func() {
		b.seeNorms(h, true, "norm1", "norm2")
		b.see("attn.qkv", 3*h, h, true)
		b.see("attn.proj", h, h, true)
		b.see("mlp.linear_fc1", ff, h, true)
		b.see("mlp.linear_fc2", h, ff, true)
	})
	wide, out := h*square(v.sizeOr(2, "spatial_merge_size")), v.size("out_hidden_size")
	merge := func(name string, norm int64) {
		b.seeNorms(norm, true, name+"norm")
		b.see(name+"linear_fc1", wide, wide, true)
		b.see(name+"linear_fc2", out, wide, true)
	}
	merge("merger.", h)
	for range v.counts("deepstack_visual_indexes") {
		merge("deepstack_merger_list.*.", wide)
	}
}

func buildMoonViT(b *builder, v fields) {
	h, ff := v.size("vt_hidden_size", "hidden_size"), v.size("vt_intermediate_size", "intermediate_size")
	b.see("patch_embed.proj", h, 3*square(v.sizeOr(14, "patch_size")), true)
	b.see("patch_embed.pos_emb", v.sizeOr(64, "init_pos_emb_height")*v.sizeOr(64, "init_pos_emb_width"), h, false)
	b.blocks(v.size("vt_num_hidden_layers", "num_hidden_layers"), "encoder.blocks", func() {
		b.seeNorms(h, true, "norm0", "norm1")
		b.see("wqkv", 3*h, h, true)
		b.see("wo", h, h, true)
		b.see("mlp.fc0", ff, h, true)
		b.see("mlp.fc1", h, ff, true)
	})
	b.seeNorms(h, true, "encoder.final_layernorm")
	merge := int64(4)
	if kernel := v.counts("merge_kernel_size"); len(kernel) == 2 {
		merge = max(1, kernel[0]*kernel[1])
	}
	b.scope = "mm_projector."
	b.seeNorms(h, true, "pre_norm")
	b.see("proj.0", h*merge, h*merge, true)
	b.see("proj.2", b.hidden, h*merge, true)
}

func buildPixtral(b *builder, v fields) {
	h, ff := v.size("hidden_size"), v.size("intermediate_size")
	b.see("patch_conv", h, v.sizeOr(3, "num_channels")*square(v.size("patch_size")), false)
	b.seeNorms(h, false, "ln_pre")
	b.blocks(v.size("num_hidden_layers"), "transformer.layers", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
			b.see("attention."+name, h, h, false)
		}
		b.see("feed_forward.gate_proj", ff, h, false)
		b.see("feed_forward.up_proj", ff, h, false)
		b.see("feed_forward.down_proj", h, ff, false)
		b.seeNorms(h, false, "attention_norm", "ffn_norm")
	})
	b.scope = "multi_modal_projector."
	bias := b.whole.flag(false, "multimodal_projector_bias")
	if b.whole.text("", "model_type") != "llava" { // Pixtral-12B in LLaVA's wrapper does not merge patches
		b.seeNorms(h, false, "norm")
		b.see("patch_merger.merging_layer", h, h*square(b.whole.sizeOr(2, "spatial_merge_size")), false)
	} else {
		bias = b.whole.flag(true, "multimodal_projector_bias")
	}
	b.see("linear_1", b.hidden, h, bias)
	b.see("linear_2", b.hidden, b.hidden, bias)
}
