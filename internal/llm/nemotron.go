package llm

// nemotronFamilies is Nemotron-H and Nemotron 3: one block per layer, attention, Mamba, dense or experts.
func nemotronFamilies() []family {
	return []family{{types: []string{"nemotron_h"}, build: buildNemotronH}}
}

// nemotronBlocks names the block of each layer, from a pattern of letters or a list of words.
func (b *builder) nemotronBlocks(pattern, list string) []string {
	letters := map[rune]string{'M': "mamba", '*': "attention", '-': "mlp", 'E': "moe"}
	words := map[string]string{"linear_attention": "mamba", "full_attention": "attention", "mamba": "mamba", "attention": "attention", "mlp": "mlp", "moe": "moe"}
	var blocks []string
	if text := b.text("", pattern); text != "" {
		for _, letter := range text {
			if letters[letter] == "" {
				b.problem(pattern, "%q is unknown; known: M, *, -, E", string(letter))
				return nil
			}
			blocks = append(blocks, letters[letter])
		}
		return blocks
	}
	for _, word := range b.texts(list) {
		if words[word] == "" {
			b.problem(list, "%q is unknown; known: mamba, attention, mlp, moe", word)
			return nil
		}
		blocks = append(blocks, words[word])
	}
	return blocks
}

func buildNemotronH(b *builder) {
	blocks := b.nemotronBlocks("hybrid_override_pattern", "layers_block_type")
	depth := b.sizeOr(int64(len(blocks)), "num_hidden_layers")
	if len(blocks) == 0 {
		b.problem("hybrid_override_pattern or layers_block_type", "is missing")
		return
	}
	if int64(len(blocks)) != depth {
		b.problem("hybrid_override_pattern", "names %d layers, num_hidden_layers is %d", len(blocks), depth)
		return
	}
	b.embed("embeddings")
	b.layers(depth, "layers", func(i int) Layer { return b.nemotronBlock(blocks[i]) })
	b.norms(rms, "norm_f")
	b.head(false)
	b.predictNemotron()
}

func (b *builder) nemotronBlock(kind string) Layer {
	const p = "mixer."
	layer := Layer{Attention: Attention{Kind: NoAttention}}
	switch kind {
	case "attention":
		a := newGQA(b.heads())
		a.prefix, a.qkvBias = p, b.flag(false, "attention_bias")
		a.oBias = a.qkvBias
		layer.Attention = b.attend(a)
	case "mamba":
		m := mamba2{
			prefix: p, heads: b.size("mamba_num_heads"), groups: b.size("n_groups"), state: b.size("ssm_state_size"), conv: b.size("conv_kernel"),
			convBias: b.flag(true, "use_conv_bias"), bias: b.flag(b.flag(false, "use_bias"), "mamba_proj_bias"), norm: true,
		}
		m.inner = m.heads * b.size("mamba_head_dim")
		layer.Attention = b.attendMamba2(m)
	case "mlp":
		layer.FFN = b.feed(dense{prefix: p, up: "up_proj", down: "down_proj", ff: b.size("intermediate_size"), bias: b.flag(false, "mlp_bias")})
	case "moe":
		layer.FFN = b.nemotronExperts()
	}
	b.norms(rms, "norm")
	return layer
}

// nemotronExperts are not gated and, with moe_latent_size, work in a space of that width.
func (b *builder) nemotronExperts() FFN {
	e := newExperts(b.size("n_routed_experts"), b.size("num_experts_per_tok"), b.size("moe_intermediate_size"))
	e.prefix, e.correction = "mixer.", "gate.e_score_correction_bias"
	e.names = dense{up: "up_proj", down: "down_proj"}
	e.shared = b.countOr(1, "n_shared_experts")
	if e.shared > 0 {
		e.sharedFF = b.size("moe_shared_expert_intermediate_size") * e.shared
	}
	e.width = b.countOr(0, "moe_latent_size")
	f := b.route(e)
	if e.width > 0 {
		b.matrix(ClassReplicated, "mixer.fc1_latent_proj", e.width, b.hidden)
		b.matrix(ClassReplicated, "mixer.fc2_latent_proj", b.hidden, e.width)
	}
	return f
}

// predictNemotron is multi-token prediction as Nemotron 3 stores it: blocks by a pattern of their own under mtp.,
// whose first projects both inputs (vLLM, model_executor/models/nemotron_h_mtp.py).
func (b *builder) predictNemotron() {
	if b.m.MTP == 0 {
		return
	}
	blocks := b.nemotronBlocks("mtp_hybrid_override_pattern", "mtp_layers_block_type")
	if len(blocks) == 0 {
		return
	}
	for range b.m.MTP {
		b.separately(ClassMTP, "mtp.layers.*.", func() {
			b.norms(rms, "enorm", "hnorm", "final_layernorm")
			b.unquantised(ClassMTP, "eh_proj", b.hidden, 2*b.hidden)
			for _, kind := range blocks {
				b.nemotronBlock(kind)
			}
		})
	}
}
