package llm

// dense is a feed-forward block without experts.
type dense struct {
	prefix     string
	gate       string // empty: not gated
	up, down   string
	ff         int64
	bias       bool
	fused      bool // gate and up are one matrix named gate
	downNoBias bool
}

func newDense(ff int64) dense {
	return dense{prefix: "mlp.", gate: "gate_proj", up: "up_proj", down: "down_proj", ff: ff}
}

// feed adds the weights of a dense block.
func (b *builder) feed(d dense) FFN {
	b.matrices(ClassDense, d)
	return FFN{Intermediate: d.ff, Gated: d.gate != ""}
}

func (b *builder) matrices(class Class, d dense) {
	switch {
	case d.gate != "" && d.fused:
		b.biased(class, d.prefix+d.gate, 2*d.ff, b.hidden, d.bias)
	case d.gate != "":
		b.biased(class, d.prefix+d.gate, d.ff, b.hidden, d.bias)
		b.biased(class, d.prefix+d.up, d.ff, b.hidden, d.bias)
	default:
		b.biased(class, d.prefix+d.up, d.ff, b.hidden, d.bias)
	}
	b.biased(class, d.prefix+d.down, b.hidden, d.ff, d.bias && !d.downNoBias)
}

// experts is a block of routed experts, with shared ones or none.
type experts struct {
	prefix       string
	router       string
	routerBias   bool
	correction   string // name of the router's correction bias, one an expert; empty: none
	zero         int64  // experts without weights that the router knows besides
	count, topK  int64
	ff           int64
	width        int64 // input of the experts; 0: hidden_size
	names        dense // of one expert, below experts.*; its ff is not used
	expertBias   bool
	shared       int64  // how many
	sharedFF     int64  // of all of them together
	sharedName   string // "shared_experts."
	sharedGate   bool   // a gate of one output for the shared expert
	sharedBias   bool
	expertFolder string // "experts."
}

func newExperts(count, topK, ff int64) experts {
	return experts{prefix: "mlp.", router: "gate", count: count, topK: topK, ff: ff, names: newDense(0),
		sharedName: "shared_experts.", expertFolder: "experts."}
}

// route adds the weights of a block of experts.
func (b *builder) route(e experts) FFN {
	if e.topK > e.count {
		b.problem("num_experts_per_tok", "%d is more than the %d experts", e.topK, e.count)
	}
	b.unquantised(ClassReplicated, e.prefix+e.router, e.count+e.zero, b.hidden)
	if e.routerBias {
		b.vector(ClassReplicated, e.prefix+e.router+".bias", e.count)
	}
	if e.correction != "" {
		b.vector(ClassReplicated, e.prefix+e.correction, e.count+e.zero)
	}
	b.expertMatrices(e)
	if e.sharedFF > 0 {
		shared := newDense(e.sharedFF)
		shared.prefix, shared.bias = e.prefix+e.sharedName, e.sharedBias
		if e.names.gate == "" {
			shared.gate = ""
		}
		b.matrices(ClassShared, shared)
		if e.sharedGate {
			b.unquantised(ClassReplicated, e.prefix+"shared_expert_gate", 1, b.hidden)
		}
	}
	return FFN{Experts: e.count, TopK: e.topK, ExpertIntermediate: e.ff, Shared: e.shared, SharedIntermediate: e.sharedFF, Gated: e.names.gate != ""}
}

func (b *builder) expertMatrices(e experts) {
	folder, in := e.prefix+e.expertFolder+"*.", e.width
	if in == 0 {
		in = b.hidden
	}
	add := func(name string, out, in int64) {
		b.add(ClassExpert, folder+name+".weight", out, in, e.count, true)
		if e.expertBias {
			b.add(ClassExpert, folder+name+".bias", out, 1, e.count, false)
		}
	}
	switch {
	case e.names.gate != "" && e.names.fused:
		add(e.names.gate, 2*e.ff, in)
	case e.names.gate != "":
		add(e.names.gate, e.ff, in)
		add(e.names.up, e.ff, in)
	default:
		add(e.names.up, e.ff, in)
	}
	add(e.names.down, in, e.ff)
}
