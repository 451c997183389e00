package llm

import "strings"

func buildSiglip(b *builder, v fields) {
	h, ff, patch := v.size("hidden_size"), v.size("intermediate_size"), v.size("patch_size")
	side := v.size("image_size") / patch
	b.visionLinear("embeddings.patch_embedding", h, v.sizeOr(3, "num_channels")*square(patch), true)
	b.visionLinear("embeddings.position_embedding", square(side), h, false)
	b.blocks(v.size("num_hidden_layers"), "encoder.layers", func() { b.clipBlock(h, ff) })
	b.visionNorms(h, true, "post_layernorm")
	if v.flag(true, "vision_use_head") {
		b.vector(ClassVision, "head.probe", h)
		b.visionLinear("head.attention.in_proj", 3*h, h, true)
		b.visionLinear("head.attention.out_proj", h, h, true)
		b.visionNorms(h, true, "head.layernorm")
		b.visionLinear("head.mlp.fc1", ff, h, true)
		b.visionLinear("head.mlp.fc2", h, ff, true)
	}
	b.scope = "multi_modal_projector."
	switch kind := b.whole.text("", "model_type"); kind {
	case "gemma3":
		b.visionLinear("mm_input_projection", h, b.hidden, false)
		b.visionNorms(h, false, "mm_soft_emb_norm")
	case "paligemma":
		b.visionLinear("linear", b.hidden, h, true)
	case "llava", "llava_next", "llava_onevision":
		b.visionLinear("linear_1", b.hidden, h, true)
		b.visionLinear("linear_2", b.hidden, b.hidden, true)
		if kind != "llava" {
			b.vector(ClassVision, "image_newline", b.hidden)
		}
	default:
		b.whole.assume("model_type", quoted(kind)+", its projector not counted", "known: gemma3, llava, llava_next, llava_onevision, paligemma")
	}
}

func buildGemma4Vision(b *builder, v fields) {
	h, ff, dim := v.size("hidden_size"), v.size("intermediate_size"), v.size("head_dim")
	q, kv := v.size("num_attention_heads")*dim, v.size("num_key_value_heads")*dim
	bias := v.flag(false, "attention_bias")
	b.vector(ClassVision, "patch_embedder.position_embedding_table", 2*v.size("position_embedding_size")*h)
	b.visionLinear("patch_embedder.input_proj", h, 3*square(v.size("patch_size")), false)
	b.blocks(v.size("num_hidden_layers"), "encoder.layers", func() {
		b.visionLinear("self_attn.q_proj", q, h, bias)
		b.visionLinear("self_attn.k_proj", kv, h, bias)
		b.visionLinear("self_attn.v_proj", kv, h, bias)
		b.visionLinear("self_attn.o_proj", h, q, bias)
		b.visionNorms(dim, false, "self_attn.q_norm", "self_attn.k_norm")
		b.visionLinear("mlp.gate_proj", ff, h, false)
		b.visionLinear("mlp.up_proj", ff, h, false)
		b.visionLinear("mlp.down_proj", h, ff, false)
		b.visionNorms(h, false, "input_layernorm", "post_attention_layernorm", "pre_feedforward_layernorm", "post_feedforward_layernorm")
	})
	if v.flag(false, "standardize") {
		b.vector(ClassVision, "std_bias", h)
		b.vector(ClassVision, "std_scale", h)
	}
	b.scope = "model.embed_vision."
	b.visionLinear("embedding_projection", b.hidden, h, false)
}

func buildLlama4Vision(b *builder, v fields) {
	h, ff, patch := v.size("hidden_size"), v.size("intermediate_size"), v.size("patch_size")
	b.vector(ClassVision, "class_embedding", h)
	b.visionLinear("positional_embedding_vlm", square(v.size("image_size")/patch)+1, h, false)
	b.visionLinear("patch_embedding.linear", h, v.sizeOr(3, "num_channels")*square(patch), false)
	b.visionNorms(h, true, "layernorm_pre", "layernorm_post")
	b.blocks(v.size("num_hidden_layers"), "model.layers", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
			b.visionLinear("self_attn."+name, h, h, true)
		}
		b.visionLinear("mlp.fc1", ff, h, true)
		b.visionLinear("mlp.fc2", h, ff, true)
		b.visionNorms(h, true, "input_layernorm", "post_attention_layernorm")
	})
	b.visionLinear("vision_adapter.mlp.fc1", v.size("projector_input_dim"), ff, false)
	b.visionLinear("vision_adapter.mlp.fc2", v.size("projector_output_dim"), v.size("projector_input_dim"), false)
	b.scope = "multi_modal_projector."
	b.visionLinear("linear_1", b.hidden, v.size("vision_output_dim"), false)
}

// conv3D is what a patch of video has: channels, frames, a square of pixels.
func conv3D(v fields) int64 {
	return v.sizeOr(3, "in_channels", "in_chans") * v.sizeOr(2, "temporal_patch_size") * square(v.sizeOr(14, "patch_size", "spatial_patch_size"))
}

func buildQwen2Vision(b *builder, v fields) {
	h := v.size("embed_dim")
	ff := scaled(h, v.number(4, "mlp_ratio"))
	b.visionLinear("patch_embed.proj", h, conv3D(v), false)
	b.blocks(v.sizeOr(32, "depth"), "blocks", func() {
		b.visionNorms(h, true, "norm1", "norm2")
		b.visionLinear("attn.qkv", 3*h, h, true)
		b.visionLinear("attn.proj", h, h, true)
		b.visionLinear("mlp.fc1", ff, h, true)
		b.visionLinear("mlp.fc2", h, ff, true)
	})
	wide := h * square(v.sizeOr(2, "spatial_merge_size"))
	b.visionNorms(h, true, "merger.ln_q")
	b.visionLinear("merger.mlp.0", wide, wide, true)
	b.visionLinear("merger.mlp.2", v.size("hidden_size"), wide, true)
}

func buildQwen25Vision(b *builder, v fields) {
	// configuration_qwen2_5_vl.py: the published files leave the width of the blocks out at times
	h, ff := v.size("hidden_size"), v.sizeOr(3420, "intermediate_size")
	b.visionLinear("patch_embed.proj", h, conv3D(v), false)
	b.blocks(v.sizeOr(32, "depth"), "blocks", func() {
		b.visionNorms(h, false, "norm1", "norm2")
		b.visionLinear("attn.qkv", 3*h, h, true)
		b.visionLinear("attn.proj", h, h, true)
		for _, name := range []string{"mlp.gate_proj", "mlp.up_proj"} {
			b.visionLinear(name, ff, h, true)
		}
		b.visionLinear("mlp.down_proj", h, ff, true)
	})
	wide := h * square(v.sizeOr(2, "spatial_merge_size"))
	b.visionNorms(h, false, "merger.ln_q")
	b.visionLinear("merger.mlp.0", wide, wide, true)
	b.visionLinear("merger.mlp.2", v.size("out_hidden_size"), wide, true)
}

func buildQwen3Vision(b *builder, v fields) {
	h, ff := v.size("hidden_size"), v.size("intermediate_size")
	b.visionLinear("patch_embed.proj", h, conv3D(v), true)
	b.visionLinear("pos_embed", v.size("num_position_embeddings"), h, false)
	b.blocks(v.size("depth"), "blocks", func() {
		b.visionNorms(h, true, "norm1", "norm2")
		b.visionLinear("attn.qkv", 3*h, h, true)
		b.visionLinear("attn.proj", h, h, true)
		b.visionLinear("mlp.linear_fc1", ff, h, true)
		b.visionLinear("mlp.linear_fc2", h, ff, true)
	})
	wide, out := h*square(v.sizeOr(2, "spatial_merge_size")), v.size("out_hidden_size")
	merge := func(name string, norm int64) {
		b.visionNorms(norm, true, name+"norm")
		b.visionLinear(name+"linear_fc1", wide, wide, true)
		b.visionLinear(name+"linear_fc2", out, wide, true)
	}
	merge("merger.", h)
	for range v.counts("deepstack_visual_indexes") {
		merge("deepstack_merger_list.*.", wide)
	}
}

func buildMoonViT(b *builder, v fields) {
	h, ff := v.size("vt_hidden_size", "hidden_size"), v.size("vt_intermediate_size", "intermediate_size")
	b.visionLinear("patch_embed.proj", h, 3*square(v.sizeOr(14, "patch_size")), true)
	b.visionLinear("patch_embed.pos_emb", v.sizeOr(64, "init_pos_emb_height")*v.sizeOr(64, "init_pos_emb_width"), h, false)
	b.blocks(v.size("vt_num_hidden_layers", "num_hidden_layers"), "encoder.blocks", func() {
		b.visionNorms(h, true, "norm0", "norm1")
		b.visionLinear("wqkv", 3*h, h, true)
		b.visionLinear("wo", h, h, true)
		b.visionLinear("mlp.fc0", ff, h, true)
		b.visionLinear("mlp.fc1", h, ff, true)
	})
	b.visionNorms(h, true, "encoder.final_layernorm")
	merge := int64(4)
	if kernel := v.counts("merge_kernel_size"); len(kernel) == 2 {
		merge = max(1, kernel[0]*kernel[1])
	}
	b.scope = "mm_projector."
	b.visionNorms(h, true, "pre_norm")
	b.visionLinear("proj.0", h*merge, h*merge, true)
	b.visionLinear("proj.2", b.hidden, h*merge, true)
}

func buildPixtral(b *builder, v fields) {
	h, ff := v.size("hidden_size"), v.size("intermediate_size")
	b.visionLinear("patch_conv", h, v.sizeOr(3, "num_channels")*square(v.size("patch_size")), false)
	b.visionNorms(h, false, "ln_pre")
	b.blocks(v.size("num_hidden_layers"), "transformer.layers", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "o_proj"} {
			b.visionLinear("attention."+name, h, h, false)
		}
		b.visionLinear("feed_forward.gate_proj", ff, h, false)
		b.visionLinear("feed_forward.up_proj", ff, h, false)
		b.visionLinear("feed_forward.down_proj", h, ff, false)
		b.visionNorms(h, false, "attention_norm", "ffn_norm")
	})
	b.scope = "multi_modal_projector."
	bias := b.whole.flag(false, "multimodal_projector_bias")
	if b.whole.text("", "model_type") != "llava" { // Pixtral-12B in LLaVA's wrapper does not merge patches
		b.visionNorms(h, false, "norm")
		b.visionLinear("patch_merger.merging_layer", h, h*square(b.whole.sizeOr(2, "spatial_merge_size")), false)
	} else {
		bias = b.whole.flag(true, "multimodal_projector_bias")
	}
	b.visionLinear("linear_1", b.hidden, h, bias)
	b.visionLinear("linear_2", b.hidden, b.hidden, bias)
}

func buildGLMVision(b *builder, v fields) {
	h, out, ff := v.size("hidden_size"), v.size("out_hidden_size"), v.size("intermediate_size")
	bias := v.flag(false, "attention_bias")
	b.visionLinear("patch_embed.proj", h, conv3D(v), true)
	b.visionLinear("embeddings.position_embedding", square(v.size("image_size")/v.size("patch_size")), h, false)
	b.blocks(v.size("depth"), "blocks", func() {
		b.visionNorms(h, false, "norm1", "norm2")
		b.visionLinear("attn.qkv", 3*h, h, bias)
		b.visionLinear("attn.proj", h, h, bias)
		b.visionLinear("mlp.gate_proj", out, h, false)
		b.visionLinear("mlp.up_proj", out, h, false)
		b.visionLinear("mlp.down_proj", h, out, false)
	})
	b.visionNorms(h, false, "post_conv_layernorm", "post_layernorm")
	b.visionLinear("downsample", out, h*square(v.sizeOr(2, "spatial_merge_size")), true)
	b.visionLinear("merger.proj", out, out, false)
	b.visionNorms(out, true, "merger.post_projection_norm")
	b.visionLinear("merger.gate_proj", ff, out, false)
	b.visionLinear("merger.up_proj", ff, out, false)
	b.visionLinear("merger.down_proj", out, ff, false)
}

func buildCLIP(b *builder, v fields) {
	h, ff, patch := v.size("hidden_size"), v.size("intermediate_size"), v.size("patch_size")
	minimax := strings.HasPrefix(b.m.Type, "minimax_m3")
	if minimax { // modeling_minimax_m3_vl.py: patches of two frames, rotary positions
		b.visionLinear("embeddings.proj", h, 3*2*square(patch), false)
	} else {
		b.vector(ClassVision, "embeddings.class_embedding", h)
		b.visionLinear("embeddings.patch_embedding", h, v.sizeOr(3, "num_channels")*square(patch), false)
		b.visionLinear("embeddings.position_embedding", square(v.size("image_size")/patch)+1, h, false)
		b.visionNorms(h, true, "post_layernorm")
	}
	b.visionNorms(h, true, "pre_layrnorm")
	b.blocks(v.size("num_hidden_layers"), "encoder.layers", func() { b.clipBlock(h, ff) })
	b.scope = "multi_modal_projector."
	bias := b.whole.flag(true, "multimodal_projector_bias")
	if minimax {
		p := b.whole.sizeOr(b.hidden, "projector_hidden_size")
		b.visionLinear("linear_1", p, h, true)
		b.visionLinear("linear_2", b.hidden, p, true)
		b.visionLinear("merge_linear_1", p, 4*b.hidden, true)
		b.visionLinear("merge_linear_2", b.hidden, p, true)
		return
	}
	b.visionLinear("linear_1", b.hidden, h, bias)
	b.visionLinear("linear_2", b.hidden, b.hidden, bias)
}

func buildInternViT(b *builder, v fields) {
	h, ff := v.size("hidden_size"), v.size("intermediate_size")
	image, patch := v.pair(448, "image_size"), v.pair(14, "patch_size")
	bias := v.flag(false, "attention_bias")
	b.vector(ClassVision, "embeddings.cls_token", h)
	b.visionLinear("embeddings.position_embeddings", square(image/patch)+1, h, false)
	b.visionLinear("embeddings.patch_embeddings.projection", h, v.sizeOr(3, "num_channels")*square(patch), true)
	b.blocks(v.size("num_hidden_layers"), "encoder.layer", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj"} {
			b.visionLinear("attention."+name, h, h, bias)
		}
		b.visionLinear("attention.projection_layer", h, h, true)
		if v.flag(false, "use_qk_norm") {
			b.visionNorms(h, false, "attention.q_norm", "attention.k_norm")
		}
		b.visionLinear("mlp.fc1", ff, h, true)
		b.visionLinear("mlp.fc2", h, ff, true)
		b.visionNorms(h, v.text("layer_norm", "norm_type") == "layer_norm", "layernorm_before", "layernorm_after")
		b.vector(ClassVision, "lambda_1", h)
		b.vector(ClassVision, "lambda_2", h)
	})
	b.scope = "model.multi_modal_projector."
	ratio := b.whole.number(0.5, "downsample_ratio")
	wide := scaled(h, 1/(ratio*ratio))
	b.visionNorms(wide, true, "layer_norm")
	b.visionLinear("linear_1", b.hidden, wide, true)
	b.visionLinear("linear_2", b.hidden, b.hidden, true)
}

func buildStepVision(b *builder, v fields) {
	h, patch := v.size("hidden_size", "width"), v.size("patch_size")
	ff := v.sizeOr(scaled(h, v.number(8960./1536, "mlp_ratio")), "intermediate_size")
	b.visionLinear("embeddings.patch_embedding", h, 3*square(patch), false)
	b.visionLinear("embeddings.position_embedding", square(v.size("image_size")/patch), h, false)
	b.visionNorms(h, true, "pre_layernorm")
	b.blocks(v.size("num_hidden_layers", "layers"), "layers", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
			b.visionLinear("self_attn."+name, h, h, true)
		}
		b.visionLinear("mlp.fc1", ff, h, true)
		b.visionLinear("mlp.fc2", h, ff, true)
		b.visionNorms(h, true, "layernorm_before", "layernorm_after")
		b.vector(ClassVision, "lambda_1", h)
		b.vector(ClassVision, "lambda_2", h)
	})
	b.visionLinear("downsampler1", 2*h, 9*h, true)
	b.visionLinear("downsampler2", 4*h, 18*h, true)
	b.scope = "model.multi_modal_projector."
	b.visionLinear("linear", b.hidden, 4*h, b.whole.flag(false, "projector_bias"))
}
