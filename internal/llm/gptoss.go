package llm

// gptOSSFamilies is gpt-oss: biases everywhere, a sink of each head, every other layer with a window.
func gptOSSFamilies() []family {
	return []family{{types: []string{"gpt_oss"}, build: buildGPTOSS}}
}

func buildGPTOSS(b *builder) {
	a := newGQA(b.heads())
	a.qkvBias = b.flag(true, "attention_bias")
	a.oBias, a.sinks = a.qkvBias, true
	e := newExperts(b.size("num_local_experts", "num_experts"), b.size("num_experts_per_tok", "experts_per_token"), b.size("intermediate_size"))
	e.router, e.routerBias, e.expertBias = "router", true, true
	e.names.gate, e.names.fused = "gate_up_proj", true
	b.decoder(rms, func(i int) Layer {
		a.window = b.window(i, func(i int) bool { return i%2 == 0 })
		return b.block(rms, a, func() FFN { return b.route(e) })
	})
}
