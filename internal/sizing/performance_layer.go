package sizing

// attention adds the attention of a block: its products, the reading of what it keeps, and its small kernels.
func (e *estimator) attention(k *kernels, b block, w load) {
	a, p := b.layer.Attention, b.parts
	switch a.Kind {
	case GQA:
		first, second := halves(p.attention)
		first.bytes, first.params = first.bytes+p.kv.bytes, first.params+p.kv.params
		k.matrices(1, first, w.tokens)
		k.matrices(1, second, w.tokens)
		k.small(smallGQA)
		k.quantise(quantiseGQA, p.attention.format)
		e.lookBack(k, a, w)
	case MLA:
		k.matrices(1, p.replicated, w.tokens) // both down projections and the index's
		k.matrices(4, p.attention, w.tokens)  // up projection of q, of k and of v, output
		k.small(smallMLA)
		k.quantise(quantiseMLA, p.attention.format)
		e.lookBack(k, a, w)
	case Linear, Mamba:
		k.matrices(2, p.linear, w.tokens)
		k.small(smallLinear)
		k.quantise(quantiseLinear, p.linear.format)
		e.state(k, a, w)
	default:
		k.small(smallNone)
	}
	if a.IndexTopK > 0 {
		k.small(smallSparse)
	}
}

func halves(p part) (a, b part) {
	p.bytes, p.params = p.bytes/2, p.params/2
	return p, p
}

// lookBack adds attention over the past.
func (e *estimator) lookBack(k *kernels, a Attention, w load) {
	attn := float64(e.setting.spread.attn)
	seen := w.context
	if a.Window > 0 {
		seen = min(seen, float64(a.Window))
	}
	whole := seen // what the sparse index looks at
	if a.IndexTopK > 0 {
		seen = min(seen, float64(a.IndexTopK))
	}
	heads := max(1, float64(a.Heads)/attn)
	width := float64(a.HeadDim + a.VDim)
	if a.Kind == MLA {
		width = float64(a.NopeDim + a.RopeDim + a.VDim)
		if !w.prompt || a.IndexTopK > 0 {
			width = float64(2*a.KVLoraRank + a.RopeDim) // over the latent itself
		}
	}
	flops := w.tokens * 2 * heads * width * seen
	bytes := 0.
	if !w.prompt {
		a.Shared = false // it reads the cache of another layer
		index := a.indexPerToken()
		bytes = w.requests * (a.PerToken(int64(attn), e.setting.kv) - index) * seen
		if index > 0 {
			k.attend(w.requests*index*whole, 0)
		}
	} else if a.IndexTopK > 0 {
		k.product(0, w.tokens*2*float64(a.IndexHeads*a.IndexDim)*whole, k.peaks.compute("fp8"))
	}
	k.attend(bytes, flops)
}

// state adds the recurrence of linear attention: its state is read and written once a pass and request.
func (e *estimator) state(k *kernels, a Attention, w load) {
	attn := e.setting.spread.attn
	cells := float64(a.ValueHeads * a.KeyDim * a.ValueDim)
	if a.Kind == Mamba {
		cells = float64(a.Heads * a.HeadDim * a.StateSize)
	}
	// decay, outer product, sum and read-out: four operations of two flops a cell
	k.attend(2*w.requests*a.StatePerRequest(int64(attn)), 8*w.tokens*cells/float64(attn))
}

// feed adds the feed-forward part of a block, whose tokens are those of all attention replicas that share it.
func (e *estimator) feed(k *kernels, b block, tokens float64) {
	f, p, spread := b.layer.FFN, b.parts, e.setting.spread
	n := 2 // up, with the gate, and down
	if f.Experts > 0 {
		e.experts(k, f, p.expert, tokens*float64(spread.dp))
		k.small(smallMoE)
		k.quantise(quantiseMoE, p.expert.format)
	}
	if p.shared.params > 0 {
		k.beside(p.shared, e.of(tokens, spread.share))
	}
	if p.dense.params > 0 {
		k.matrices(n, p.dense, e.of(tokens, spread.dense))
		k.small(smallDense)
		k.quantise(quantiseDense, p.dense.format)
	}
}

// experts adds the two grouped products. All experts that any token chose are read; a token is multiplied with
// those that it chose.
func (e *estimator) experts(k *kernels, f FFN, p part, tokens float64) {
	all := float64(f.Experts)
	read := e.touched(f, tokens)
	bytes := p.bytes * read / all * crowding(all, read, e.setting.spread.ep)
	flops := 2 * tokens * p.params * float64(f.TopK) / all
	rate := k.peaks.compute(p.format) * k.peaks.ofGrouped
	for _, part := range gateDown(f) {
		k.product(bytes*part, flops*part, rate)
	}
}

// gateDown is how the weights of an expert lie in its two products.
func gateDown(f FFN) []float64 {
	if f.Gated {
		return []float64{2. / 3, 1. / 3}
	}
	return []float64{1. / 2, 1. / 2}
}

// touched remembers, as a curve asks for few different numbers of tokens many times.
func (e *estimator) touched(f FFN, tokens float64) float64 {
	key := routed{f.Experts, f.TopK, tokens}
	read, known := e.seen[key]
	if !known {
		read = touched(f.Experts, f.TopK, tokens)
		e.seen[key] = read
	}
	return read
}

type routed struct {
	experts, topK int64
	tokens        float64
}
