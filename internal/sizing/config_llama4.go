package sizing

import "slices"

// llama4Families is Llama 4: three of four layers attend within chunks, experts on every or every second layer.
func llama4Families() []family {
	return []family{{types: []string{"llama4_text", "llama4"}, build: buildLlama4}}
}

func buildLlama4(b *builder) {
	a := newGQA(b.heads())
	a.qkvBias = b.flag(false, "attention_bias")
	a.oBias, a.chunked = a.qkvBias, true
	e := newExperts(b.size("num_local_experts"), b.size("num_experts_per_tok"), b.size("intermediate_size"))
	e.prefix, e.router, e.sharedName, e.shared, e.sharedFF = "feed_forward.", "router", "shared_expert.", 1, e.ff
	step := int(b.sizeOr(1, "interleave_moe_layer_step"))
	listed := b.counts("moe_layers")
	sparse := func(i int) bool {
		if len(listed) > 0 {
			return slices.Contains(listed, int64(i))
		}
		return (i+1)%step == 0
	}
	var d dense
	for i := range int(min(b.depth(), mostLayers)) {
		if !sparse(i) {
			d = newDense(b.size("intermediate_size_mlp"))
			d.prefix = "feed_forward."
			break
		}
	}
	chunk := b.countOr(8192, "attention_chunk_size") // configuration_llama4.py
	b.decoder(rms, func(i int) Layer {
		a.window = chunk
		if b.llama4Global(i) {
			a.window = 0
		}
		return b.block(rms, a, func() FFN {
			if sparse(i) {
				return b.route(e)
			}
			return b.feed(d)
		})
	})
}

// llama4Global says whether layer i sees everything: where no_rope_layers is 0, or by interval (configuration_llama4.py).
func (b *builder) llama4Global(i int) bool {
	if types := b.layerTypes(); types != nil {
		return types[i] == "full_attention"
	}
	if list := b.counts("no_rope_layers"); i < len(list) {
		return list[i] == 0
	}
	return (i+1)%int(b.sizeOr(4, "no_rope_layer_interval")) == 0
}
