package llm

import (
	"encoding/json"
	"slices"
	"strconv"
)

// linearFamilies mix attention with layers that keep a state of fixed size: Kimi Delta Attention, Gated DeltaNet of
// OLMo, short convolutions of LFM2.
func linearFamilies() []family {
	return []family{
		{types: []string{"kimi_linear", "bailing_hybrid"}, build: buildKimiLinear},
		{types: []string{"olmo_hybrid"}, build: buildOlmoHybrid},
		{types: []string{"lfm2", "lfm2_moe"}, build: buildLFM2, tied: true},
	}
}

func jsonNumber(n int) json.Number { return json.Number(strconv.Itoa(n)) }

// kimiLinear is the geometry of Kimi Delta Attention and which layers have latent attention instead.
type kimiLinear struct {
	heads, dim, kernel int64
	full               func(i int) bool
}

func (b *builder) kimiLinear() kimiLinear {
	k := kimiLinear{}
	types := b.layerTypes()
	if old, ok := b.object("linear_attn_config"); ok { // moonshotai/Kimi-Linear-48B-A3B: layers count from 1
		k.heads, k.dim, k.kernel = old.size("num_heads"), old.size("head_dim"), old.size("short_conv_kernel_size")
		layers := old.counts("full_attn_layers")
		k.full = func(i int) bool { return slices.Contains(layers, int64(i+1)) }
		return k
	}
	if b.m.Type == "bailing_hybrid" {
		k.heads, k.dim, k.kernel = b.size("num_attention_heads"), b.sizeOr(128, "linear_head_dim", "v_head_dim"), b.sizeOr(4, "short_conv_kernel_size")
		group := int(b.sizeOr(1, "layer_group_size"))
		k.full = func(i int) bool { return (i+1)%group == 0 }
	} else {
		k.heads, k.dim, k.kernel = b.size("linear_num_heads"), b.size("linear_head_dim"), b.size("linear_conv_kernel_dim")
		k.full = func(int) bool { return false }
	}
	if types != nil {
		k.full = func(i int) bool { return types[i] == "full_attention" }
	}
	return k
}

func buildKimiLinear(b *builder) {
	for _, key := range []string{"routed_expert_hidden_size", "attn_res_block_size", "mla_use_output_gate"} {
		if b.has(key) { // Kimi-K3: no source that was read describes its weights
			b.problem(key, "is not supported: give a folder with the safetensors files")
		}
	}
	k, a := b.kimiLinear(), b.latent()
	d := newDense(b.size("intermediate_size"))
	e := newExperts(b.size("num_experts"), b.size("num_experts_per_token", "num_experts_per_tok"), b.size("moe_intermediate_size"))
	e.shared, e.correction = b.countOr(0, "num_shared_experts"), "gate.e_score_correction_bias"
	e.sharedFF = e.ff * e.shared
	b.decoder(rms, func(i int) Layer {
		var layer Layer
		if k.full(i) {
			layer.Attention = b.attendLatent(a)
			if b.m.Type == "bailing_hybrid" {
				b.matrix(ClassAttention, "self_attn.g_proj", a.heads, b.hidden)
			}
		} else {
			layer.Attention = b.attendDelta(k)
		}
		if b.sparse(i) {
			layer.FFN = b.route(e)
		} else {
			layer.FFN = b.feed(d)
		}
		b.norms(rms, "input_layernorm", "post_attention_layernorm")
		return layer
	})
}

// attendDelta adds the weights of Kimi Delta Attention.
func (b *builder) attendDelta(k kimiLinear) Attention {
	const p = "self_attn."
	width := k.heads * k.dim
	for _, name := range []string{"q", "k", "v"} {
		b.matrix(ClassLinear, p+name+"_proj", width, b.hidden)
		b.unquantised(ClassLinear, p+name+"_conv1d", width, k.kernel)
	}
	b.vector(ClassLinear, p+"A_log", k.heads)
	b.vector(ClassLinear, p+"dt_bias", width)
	b.unquantised(ClassLinear, p+"b_proj", k.heads, b.hidden)
	if b.m.Type == "bailing_hybrid" {
		b.matrix(ClassLinear, p+"f_proj", width, b.hidden)
		b.matrix(ClassLinear, p+"g_proj", width, b.hidden)
	} else {
		for _, name := range []string{"f", "g"} {
			b.matrix(ClassReplicated, p+name+"_a_proj", k.dim, b.hidden)
			b.matrix(ClassLinear, p+name+"_b_proj", width, k.dim)
		}
	}
	b.norm(rms, p+"o_norm", k.dim)
	b.matrix(ClassLinear, p+"o_proj", b.hidden, width)
	return Attention{
		Kind: Linear, KeyHeads: k.heads, ValueHeads: k.heads, KeyDim: k.dim, ValueDim: k.dim, ConvKernel: k.kernel, StateBytes: b.stateBytes(),
	}
}

func buildOlmoHybrid(b *builder) {
	a, d, n := newGQA(b.heads()), newDense(b.size("intermediate_size")), b.deltaNet()
	a.layerNorm, a.qkvBias = true, b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	types := b.layerTypes()
	b.decoder(rms, func(i int) Layer {
		full := (i+1)%4 == 0
		if types != nil {
			full = types[i] == "full_attention"
		}
		if full {
			layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
			b.norms(rms, "post_attention_layernorm", "post_feedforward_layernorm")
			return layer
		}
		layer := Layer{Attention: b.attendOlmoDelta(n), FFN: b.feed(d)}
		b.norms(rms, "input_layernorm", "post_attention_layernorm")
		return layer
	})
}

func (b *builder) attendOlmoDelta(n deltaNet) Attention {
	const p = "linear_attn."
	keys, values := n.keyHeads*n.key, n.valueHeads*n.value
	b.matrix(ClassLinear, p+"q_proj", keys, b.hidden)
	b.matrix(ClassLinear, p+"k_proj", keys, b.hidden)
	b.matrix(ClassLinear, p+"v_proj", values, b.hidden)
	b.matrix(ClassLinear, p+"g_proj", values, b.hidden)
	b.unquantised(ClassLinear, p+"a_proj", n.valueHeads, b.hidden)
	b.unquantised(ClassLinear, p+"b_proj", n.valueHeads, b.hidden)
	b.unquantised(ClassLinear, p+"conv1d", 2*keys+values, n.kernel)
	b.vector(ClassLinear, p+"A_log", n.valueHeads)
	b.vector(ClassLinear, p+"dt_bias", n.valueHeads)
	b.norm(rms, p+"o_norm", n.value)
	b.matrix(ClassLinear, p+"o_proj", b.hidden, values)
	return Attention{
		Kind: Linear, KeyHeads: n.keyHeads, ValueHeads: n.valueHeads, KeyDim: n.key, ValueDim: n.value,
		ConvKernel: n.kernel, StateBytes: b.stateBytes(),
	}
}

// buildLFM2 alternates short convolutions and attention.
func buildLFM2(b *builder) {
	if b.has("tie_embedding") {
		b.m.TiedHead = b.flag(true, "tie_embedding")
	}
	a := newGQA(b.heads())
	a.names[3], a.headNorm, a.normQ, a.normK = "out_proj", true, "q_layernorm", "k_layernorm"
	d := dense{prefix: "feed_forward.", gate: "w1", up: "w3", down: "w2", ff: b.lfmWidth()}
	var e experts
	if b.m.Type == "lfm2_moe" {
		e = newExperts(b.size("num_experts"), b.size("num_experts_per_tok"), b.size("moe_intermediate_size"))
		e.prefix, e.names = "feed_forward.", dense{gate: "w1", up: "w3", down: "w2"}
		if b.flag(true, "use_expert_bias") {
			e.correction = "expert_bias"
		}
	}
	first := int(b.countOr(2, "num_dense_layers"))
	types, listed := b.layerTypes(), b.counts("full_attn_idxs")
	b.embed("embed_tokens")
	b.layers(b.depth(), "layers", func(i int) Layer {
		layer := Layer{}
		full := types == nil && (listed == nil || slices.Contains(listed, int64(i)))
		if full || types != nil && types[i] == "full_attention" {
			layer.Attention = b.attend(a)
		} else {
			layer.Attention = b.shortConv()
		}
		if e.count > 0 && i >= first {
			layer.FFN = b.route(e)
		} else {
			layer.FFN = b.feed(d)
		}
		b.norms(rms, "operator_norm", "ffn_norm")
		return layer
	})
	b.norms(rms, "embedding_norm")
	b.head(false)
}

// lfmWidth is the width of the feed-forward, adjusted as modeling_lfm2.py does.
func (b *builder) lfmWidth() int64 {
	ff := b.size("block_ff_dim", "intermediate_size")
	if b.m.Type != "lfm2" || !b.flag(true, "block_auto_adjust_ff_dim") {
		return ff
	}
	ff = int64(float64(2*ff/3) * b.number(1, "block_ffn_dim_multiplier"))
	multiple := b.sizeOr(256, "block_multiple_of")
	return ceilDiv(ff, multiple) * multiple
}

// shortConv is a gated convolution: its state is the last inputs of every channel.
func (b *builder) shortConv() Attention {
	kernel, bias := b.size("conv_L_cache"), b.flag(false, "conv_bias")
	b.biased(ClassLinear, "conv.in_proj", 3*b.hidden, b.hidden, bias)
	b.biased(ClassLinear, "conv.out_proj", b.hidden, b.hidden, bias)
	b.unquantised(ClassLinear, "conv.conv", b.hidden, kernel)
	if bias {
		b.vector(ClassLinear, "conv.conv.bias", b.hidden)
	}
	return Attention{Kind: Linear, ValueHeads: b.hidden, ValueDim: 1, ConvKernel: kernel}
}
