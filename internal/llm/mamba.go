package llm

import "slices"

// mambaFamilies are Mamba and its hybrids with attention.
func mambaFamilies() []family {
	return []family{
		{types: []string{"mamba", "falcon_mamba"}, build: buildMamba, tied: true},
		{types: []string{"mamba2"}, build: buildMamba2},
		{types: []string{"jamba"}, build: buildJamba},
		{types: []string{"bamba", "falcon_h1", "granitemoehybrid"}, build: buildMambaHybrid},
	}
}

// mamba2 is the geometry of a Mamba-2 mixer.
type mamba2 struct {
	prefix                            string
	inner, heads, groups, state, conv int64
	convBias, bias, norm              bool
}

// attendMamba2 adds the weights of a Mamba-2 mixer.
func (b *builder) attendMamba2(m mamba2) Attention {
	width := m.inner + 2*m.groups*m.state
	b.biased(ClassLinear, m.prefix+"in_proj", m.inner+width+m.heads, b.hidden, m.bias)
	b.unquantised(ClassLinear, m.prefix+"conv1d", width, m.conv)
	if m.convBias {
		b.vector(ClassLinear, m.prefix+"conv1d.bias", width)
	}
	for _, name := range []string{"dt_bias", "A_log", "D"} {
		b.vector(ClassLinear, m.prefix+name, m.heads)
	}
	if m.norm {
		b.vector(ClassLinear, m.prefix+"norm.weight", m.inner)
	}
	b.biased(ClassLinear, m.prefix+"out_proj", b.hidden, m.inner, m.bias)
	return Attention{
		Kind: Mamba, Heads: m.heads, StateSize: m.state, Groups: m.groups, InnerDim: m.inner, ConvKernel: m.conv, StateBytes: b.stateBytes(),
	}
}

// attendMamba1 adds the weights of a Mamba mixer.
func (b *builder) attendMamba1(prefix string, inner, state, conv, rank int64, convBias, bias, norms bool) Attention {
	b.biased(ClassLinear, prefix+"in_proj", 2*inner, b.hidden, bias)
	b.unquantised(ClassLinear, prefix+"conv1d", inner, conv)
	if convBias {
		b.vector(ClassLinear, prefix+"conv1d.bias", inner)
	}
	b.matrix(ClassLinear, prefix+"x_proj", rank+2*state, inner)
	b.biased(ClassLinear, prefix+"dt_proj", inner, rank, true)
	b.vector(ClassLinear, prefix+"A_log", inner*state)
	b.vector(ClassLinear, prefix+"D", inner)
	b.biased(ClassLinear, prefix+"out_proj", b.hidden, inner, bias)
	if norms {
		b.norm(rms, prefix+"dt_layernorm", rank)
		b.norm(rms, prefix+"b_layernorm", state)
		b.norm(rms, prefix+"c_layernorm", state)
	}
	return Attention{Kind: Mamba, StateSize: state, InnerDim: inner, ConvKernel: conv, StateBytes: b.stateBytes()}
}

func buildMamba(b *builder) {
	inner := scaled(b.hidden, b.number(2, "expand"))
	if b.has("intermediate_size") {
		inner = b.size("intermediate_size")
	}
	state, conv := b.size("state_size"), b.size("conv_kernel")
	rank := ceilDiv(b.hidden, 16) // configuration_mamba.py, time_step_rank "auto"
	if text, isText := b.values["time_step_rank"].(string); !isText || text != "auto" {
		rank = b.sizeOr(rank, "time_step_rank")
	}
	b.root = "backbone."
	b.embed("embeddings")
	b.layers(b.depth(), "layers", func(int) Layer {
		a := b.attendMamba1("mixer.", inner, state, conv, rank, b.flag(true, "use_conv_bias"), b.flag(false, "use_bias"), false)
		b.norms(rms, "norm")
		return Layer{Attention: a}
	})
	b.norms(rms, "norm_f")
	b.head(false)
}

func buildMamba2(b *builder) {
	m := mamba2{
		prefix: "mixer.", inner: scaled(b.hidden, b.number(2, "expand")), heads: b.size("num_heads"), groups: b.size("n_groups"),
		state: b.size("state_size"), conv: b.size("conv_kernel"), convBias: b.flag(true, "use_conv_bias"), bias: b.flag(false, "use_bias"), norm: true,
	}
	b.root = "backbone."
	b.embed("embeddings")
	b.layers(b.depth(), "layers", func(int) Layer {
		a := b.attendMamba2(m)
		b.norms(rms, "norm")
		return Layer{Attention: a}
	})
	b.norms(rms, "norm_f")
	b.head(false)
}

func buildJamba(b *builder) {
	a, d := newGQA(b.heads()), newDense(b.size("intermediate_size"))
	d.prefix = "feed_forward."
	count := b.countOr(0, "num_experts")
	attnEvery, attnFirst := int(b.size("attn_layer_period")), int(b.countOr(0, "attn_layer_offset"))
	expertEvery, expertFirst := int(b.sizeOr(1, "expert_layer_period")), int(b.countOr(0, "expert_layer_offset"))
	inner := scaled(b.hidden, b.number(2, "mamba_expand"))
	rank := ceilDiv(b.hidden, 16)
	if text, isText := b.values["mamba_dt_rank"].(string); !isText || text != "auto" {
		rank = b.sizeOr(rank, "mamba_dt_rank")
	}
	b.embed("embed_tokens")
	b.layers(b.depth(), "layers", func(i int) Layer {
		var layer Layer
		if i%attnEvery == attnFirst {
			layer.Attention = b.attend(a)
		} else {
			layer.Attention = b.attendMamba1("mamba.", inner, b.size("mamba_d_state"), b.size("mamba_d_conv"), rank,
				b.flag(true, "mamba_conv_bias"), b.flag(false, "mamba_proj_bias"), true)
		}
		if count > 1 && i%expertEvery == expertFirst {
			e := newExperts(count, b.size("num_experts_per_tok"), d.ff)
			e.prefix, e.router = "feed_forward.", "router"
			layer.FFN = b.route(e)
		} else {
			layer.FFN = b.feed(d)
		}
		b.norms(rms, "input_layernorm", "pre_ff_layernorm")
		return layer
	})
	b.norms(rms, "final_layernorm")
	b.head(false)
}

// hybridMixer reads the geometry that Bamba, Falcon-H1 and Granite 4 write under the same names.
func (b *builder) hybridMixer() mamba2 {
	m := mamba2{
		prefix: "mamba.", heads: b.size("mamba_n_heads"), groups: b.size("mamba_n_groups"), state: b.size("mamba_d_state"),
		conv: b.size("mamba_d_conv"), convBias: b.flag(true, "mamba_conv_bias"), bias: b.flag(false, "mamba_proj_bias"), norm: true,
	}
	m.inner = scaled(b.hidden, b.number(2, "mamba_expand"))
	if b.m.Type == "falcon_h1" {
		m.inner, m.norm = b.sizeOr(m.inner, "mamba_d_ssm"), b.flag(false, "mamba_rms_norm")
	}
	return m
}

// buildMambaHybrid has attention and Mamba in turn, or both in each layer (Falcon-H1).
func buildMambaHybrid(b *builder) {
	a, m := newGQA(b.heads()), b.hybridMixer()
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias = a.qkvBias
	final, folder := "final_layernorm", "feed_forward."
	second := "pre_ff_layernorm"
	if b.m.Type == "granitemoehybrid" {
		final, second = "norm", "post_attention_layernorm"
	}
	attends := b.hybridAttention()
	b.embed("embed_tokens")
	build := func(i int) Layer {
		var layer Layer
		if attends(i) {
			layer.Attention = b.attend(a)
		}
		if !attends(i) {
			layer.Attention = b.attendMamba2(m)
		}
		if b.m.Type == "granitemoehybrid" {
			layer.FFN = b.graniteExperts()
		} else {
			d := newDense(b.size("intermediate_size"))
			d.prefix, d.bias = folder, b.flag(false, "mlp_bias")
			layer.FFN = b.feed(d)
		}
		b.norms(rms, "input_layernorm", second)
		return layer
	}
	if b.m.Type == "falcon_h1" {
		b.parallelLayers(a, m)
	} else {
		b.layers(b.depth(), "layers", build)
	}
	b.norms(rms, final)
	b.head(false)
}

// parallelLayers are Falcon-H1's: attention and Mamba side by side. A layer counts twice, for it keeps both.
func (b *builder) parallelLayers(a gqa, m mamba2) {
	d := newDense(b.size("intermediate_size"))
	d.prefix, d.bias = "feed_forward.", b.flag(false, "mlp_bias")
	b.layers(2*b.depth(), "layers", func(i int) Layer {
		if i%2 == 0 {
			layer := Layer{Attention: b.attendMamba2(m)}
			b.norms(rms, "input_layernorm")
			return layer
		}
		layer := Layer{Attention: b.attend(a), FFN: b.feed(d)}
		b.norms(rms, "pre_ff_layernorm")
		return layer
	})
}

// hybridAttention returns which layers attend.
func (b *builder) hybridAttention() func(i int) bool {
	if types := b.layerTypes(); types != nil {
		return func(i int) bool { return types[i] == "attention" || types[i] == "full_attention" }
	}
	listed := b.counts("attn_layer_indices")
	return func(i int) bool { return slices.Contains(listed, int64(i)) }
}
