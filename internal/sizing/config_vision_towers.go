package sizing

import "strings"

func buildGLMVision(b *builder, v fields) {
	h, out, ff := v.size("hidden_size"), v.size("out_hidden_size"), v.size("intermediate_size")
	bias := v.flag(false, "attention_bias")
	b.see("patch_embed.proj", h, conv3D(v), true)
	b.see("embeddings.position_embedding", square(v.size("image_size")/v.size("patch_size")), h, false)
	b.blocks(v.size("depth"), "blocks", func() {
		b.seeNorms(h, false, "norm1", "norm2")
		b.see("attn.qkv", 3*h, h, bias)
		b.see("attn.proj", h, h, bias)
		b.see("mlp.gate_proj", out, h, false)
		b.see("mlp.up_proj", out, h, false)
		b.see("mlp.down_proj", h, out, false)
	})
	b.seeNorms(h, false, "post_conv_layernorm", "post_layernorm")
	b.see("downsample", out, h*square(v.sizeOr(2, "spatial_merge_size")), true)
	b.see("merger.proj", out, out, false)
	b.seeNorms(out, true, "merger.post_projection_norm")
	b.see("merger.gate_proj", ff, out, false)
	b.see("merger.up_proj", ff, out, false)
	b.see("merger.down_proj", out, ff, false)
}

func buildCLIP(b *builder, v fields) {
	h, ff, patch := v.size("hidden_size"), v.size("intermediate_size"), v.size("patch_size")
	minimax := strings.HasPrefix(b.m.Type, "minimax_m3")
	if minimax { // modeling_minimax_m3_vl.py: patches of two frames, rotary positions
		b.see("embeddings.proj", h, 3*2*square(patch), false)
	} else {
		b.vector(ClassVision, "embeddings.class_embedding", h)
		b.see("embeddings.patch_embedding", h, v.sizeOr(3, "num_channels")*square(patch), false)
		b.see("embeddings.position_embedding", square(v.size("image_size")/patch)+1, h, false)
		b.seeNorms(h, true, "post_layernorm")
	}
	b.seeNorms(h, true, "pre_layrnorm")
	b.blocks(v.size("num_hidden_layers"), "encoder.layers", func() { b.clipBlock(h, ff) })
	b.scope = "multi_modal_projector."
	bias := b.whole.flag(true, "multimodal_projector_bias")
	if minimax {
		p := b.whole.sizeOr(b.hidden, "projector_hidden_size")
		b.see("linear_1", p, h, true)
		b.see("linear_2", b.hidden, p, true)
		b.see("merge_linear_1", p, 4*b.hidden, true)
		b.see("merge_linear_2", b.hidden, p, true)
		return
	}
	b.see("linear_1", b.hidden, h, bias)
	b.see("linear_2", b.hidden, b.hidden, bias)
}

func buildInternViT(b *builder, v fields) {
	h, ff := v.size("hidden_size"), v.size("intermediate_size")
	image, patch := v.pair(448, "image_size"), v.pair(14, "patch_size")
	bias := v.flag(false, "attention_bias")
	b.vector(ClassVision, "embeddings.cls_token", h)
	b.see("embeddings.position_embeddings", square(image/patch)+1, h, false)
	b.see("embeddings.patch_embeddings.projection", h, v.sizeOr(3, "num_channels")*square(patch), true)
	b.blocks(v.size("num_hidden_layers"), "encoder.layer", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj"} {
			b.see("attention."+name, h, h, bias)
		}
		b.see("attention.projection_layer", h, h, true)
		if v.flag(false, "use_qk_norm") {
			b.seeNorms(h, false, "attention.q_norm", "attention.k_norm")
		}
		b.see("mlp.fc1", ff, h, true)
		b.see("mlp.fc2", h, ff, true)
		b.seeNorms(h, v.text("layer_norm", "norm_type") == "layer_norm", "layernorm_before", "layernorm_after")
		b.vector(ClassVision, "lambda_1", h)
		b.vector(ClassVision, "lambda_2", h)
	})
	b.scope = "model.multi_modal_projector."
	ratio := b.whole.number(0.5, "downsample_ratio")
	wide := scaled(h, 1/(ratio*ratio))
	b.seeNorms(wide, true, "layer_norm")
	b.see("linear_1", b.hidden, wide, true)
	b.see("linear_2", b.hidden, b.hidden, true)
}

// pair is the first of two equal numbers, or a single one.
func (f fields) pair(missing int64, key string) int64 {
	if list := f.values[key]; f.isList(key) && list != nil {
		if sizes := f.counts(key); len(sizes) > 0 && sizes[0] > 0 {
			return sizes[0]
		}
		f.problem(key, "has no number above 0")
		return 1
	}
	return f.sizeOr(missing, key)
}

func buildStepVision(b *builder, v fields) {
	h, patch := v.size("hidden_size", "width"), v.size("patch_size")
	ff := v.sizeOr(scaled(h, v.number(8960./1536, "mlp_ratio")), "intermediate_size")
	b.see("embeddings.patch_embedding", h, 3*square(patch), false)
	b.see("embeddings.position_embedding", square(v.size("image_size")/patch), h, false)
	b.seeNorms(h, true, "pre_layernorm")
	b.blocks(v.size("num_hidden_layers", "layers"), "layers", func() {
		for _, name := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
			b.see("self_attn."+name, h, h, true)
		}
		b.see("mlp.fc1", ff, h, true)
		b.see("mlp.fc2", h, ff, true)
		b.seeNorms(h, true, "layernorm_before", "layernorm_after")
		b.vector(ClassVision, "lambda_1", h)
		b.vector(ClassVision, "lambda_2", h)
	})
	b.see("downsampler1", 2*h, 9*h, true)
	b.see("downsampler2", 4*h, 18*h, true)
	b.scope = "model.multi_modal_projector."
	b.see("linear", b.hidden, 4*h, b.whole.flag(false, "projector_bias"))
}
