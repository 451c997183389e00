package serving

import "railwright.dev/railwright/internal/llm"

// Kernels that have little to do count with kernelTime each. They are counted here as both engines launch them in a
// captured decode step; fusions differ by version, so a count is right to one or two. Read in SGLang 0.5.0rc2
// (models/deepseek_v2.py, qwen3_moe.py, layers/moe) and vLLM 0.10.1.1 (the same models). All-reduces are counted separately.
const (
	smallGQA    = 4 // norm, rope with the norms of q and k, KV store, merge of split attention
	smallMLA    = 5 // norm, norms of both latents, rope, KV store, merge of split attention
	smallSparse = 7 // index: norm, rope, two quantisations, head weights, top-k, translation to pages
	smallLinear = 5 // norm, convolution, gates, norm of the output, gating
	smallNone   = 1 // norm
	smallDense  = 2 // norm, activation
	smallMoE    = 6 // norm, router, top-k, sort by expert, activation, sum over experts
	// quantising the activations before each product of fp8 or fp4 weights
	quantiseGQA, quantiseMLA, quantiseLinear, quantiseDense, quantiseMoE = 2, 4, 2, 2, 2
)

// load is what one pass carries.
type load struct {
	tokens   float64 // new tokens of one attention replica
	requests float64 // of one attention replica
	context  float64 // tokens that each new token looks back at
	prompt   bool    // prompts instead of one token per request
}

// cost is the time of a pass in seconds, by what sets it.
type cost struct {
	weights, kv float64 // reading memory
	compute     float64
	launch      float64 // kernels too small for anything else to matter
	links       float64 // all-reduces inside scale-up links
	network     float64 // all-reduces between nodes
}

func (c cost) total() float64 { return c.weights + c.kv + c.compute + c.launch + c.links + c.network }

func (c cost) times(f float64) cost {
	return cost{c.weights * f, c.kv * f, c.compute * f, c.launch * f, c.links * f, c.network * f}
}

func (c cost) plus(d cost) cost {
	return cost{c.weights + d.weights, c.kv + d.kv, c.compute + d.compute, c.launch + d.launch, c.links + d.links, c.network + d.network}
}

// kernels adds up kernels of one rank.
type kernels struct {
	peaks peaks
	cost  cost
}

// product adds a matrix product that reads weights: it takes as long as the slower of reading and multiplying.
func (k *kernels) product(bytes, flops, rate float64) {
	read, multiply := bytes/k.peaks.stream, flops/rate
	switch {
	case max(read, multiply) <= kernelTime:
		k.cost.launch += kernelTime
	case read >= multiply:
		k.cost.weights += read
	default:
		k.cost.compute += multiply
	}
}

// attend adds attention over the cache.
func (k *kernels) attend(bytes, flops float64) {
	read, multiply := bytes/k.peaks.stream, flops/k.peaks.attention
	switch {
	case max(read, multiply) <= kernelTime:
		k.cost.launch += kernelTime
	case read >= multiply:
		k.cost.kv += read
	default:
		k.cost.compute += multiply
	}
}

func (k *kernels) small(n int) { k.cost.launch += float64(n) * kernelTime }

// matrices adds n products of equal size that share a part's weights.
func (k *kernels) matrices(n int, p part, tokens float64) {
	if p.params <= 0 {
		return
	}
	rate := k.peaks.compute(p.format)
	for range n {
		k.product(p.bytes/float64(n), 2*tokens*p.params/float64(n), rate)
	}
}

// overlapped adds products that run at the same time as others, on a second stream or as one more expert among the
// routed ones (deepseek_v2.py: forward_normal_dual_stream, num_fused_shared_experts): their kernels hide behind
// those, what they read and multiply does not.
func (k *kernels) overlapped(p part, tokens float64) {
	read, multiply := p.bytes/k.peaks.stream, 2*tokens*p.params/k.peaks.compute(p.format)
	if read >= multiply {
		k.cost.weights += read
	} else {
		k.cost.compute += multiply
	}
}

func (k *kernels) quantise(n int, format string) {
	if k.peaks.quantises(format) {
		k.small(n)
	}
}

// attention adds the attention of a block: its products, the reading of what it keeps, and its small kernels.
func (e *estimator) attention(k *kernels, b block, w load) {
	a, p := b.layer.Attention, b.parts
	switch a.Kind {
	case llm.GQA:
		first, second := halves(p.attention)
		first.bytes, first.params = first.bytes+p.kv.bytes, first.params+p.kv.params
		k.matrices(1, first, w.tokens)
		k.matrices(1, second, w.tokens)
		k.small(smallGQA)
		k.quantise(quantiseGQA, p.attention.format)
		e.attendPast(k, a, w)
	case llm.MLA:
		k.matrices(1, p.replicated, w.tokens) // both down projections and the index's
		k.matrices(4, p.attention, w.tokens)  // up projection of q, of k and of v, output
		k.small(smallMLA)
		k.quantise(quantiseMLA, p.attention.format)
		e.attendPast(k, a, w)
	case llm.Linear, llm.Mamba:
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

// attendPast adds attention over the past.
func (e *estimator) attendPast(k *kernels, a llm.Attention, w load) {
	attn := float64(e.placed.Spread.Attention)
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
	if a.Kind == llm.MLA {
		width = float64(a.NopeDim + a.RopeDim + a.VDim)
		if !w.prompt || a.IndexTopK > 0 {
			width = float64(2*a.KVLoraRank + a.RopeDim) // over the latent itself
		}
	}
	flops := w.tokens * 2 * heads * width * seen
	bytes := 0.
	if !w.prompt {
		a.Shared = false // it reads the cache of another layer
		index := a.IndexPerToken()
		bytes = w.requests * (a.PerToken(int64(attn), e.placed.KVDType) - index) * seen
		if index > 0 {
			k.attend(w.requests*index*whole, 0)
		}
	} else if a.IndexTopK > 0 {
		k.product(0, w.tokens*2*float64(a.IndexHeads*a.IndexDim)*whole, k.peaks.compute("fp8"))
	}
	k.attend(bytes, flops)
}

// state adds the recurrence of linear attention: its state is read and written once per pass and request.
func (e *estimator) state(k *kernels, a llm.Attention, w load) {
	attn := e.placed.Spread.Attention
	cells := float64(a.ValueHeads * a.KeyDim * a.ValueDim)
	if a.Kind == llm.Mamba {
		cells = float64(a.Heads * a.HeadDim * a.StateSize)
	}
	// decay, outer product, sum and read-out: four operations of two flops per cell
	k.attend(2*w.requests*a.StatePerRequest(int64(attn)), 8*w.tokens*cells/float64(attn))
}

// feed adds the feed-forward part of a block, whose tokens are those of all attention replicas that share it.
func (e *estimator) feed(k *kernels, b block, tokens float64) {
	f, p, spread := b.layer.FFN, b.parts, e.placed.Spread
	n := 2 // up, with the gate, and down
	if f.Experts > 0 {
		e.experts(k, f, p.expert, tokens*float64(spread.DP))
		k.small(smallMoE)
		k.quantise(quantiseMoE, p.expert.format)
	}
	if p.shared.params > 0 {
		k.overlapped(p.shared, e.tokensOf(tokens, spread.Shared))
	}
	if p.dense.params > 0 {
		k.matrices(n, p.dense, e.tokensOf(tokens, spread.Dense))
		k.small(smallDense)
		k.quantise(quantiseDense, p.dense.format)
	}
}

// experts adds the two grouped products. All experts that any token chose are read; a token is multiplied with
// those that it chose.
func (e *estimator) experts(k *kernels, f llm.FFN, p part, tokens float64) {
	all := float64(f.Experts)
	read := e.expertsRead(f, tokens)
	bytes := p.bytes * read / all * expertImbalance(all, read, e.placed.Spread.EP)
	flops := 2 * tokens * p.params * float64(f.TopK) / all
	rate := k.peaks.compute(p.format) * k.peaks.ofGrouped
	for _, part := range gateDown(f) {
		k.product(bytes*part, flops*part, rate)
	}
}

// gateDown is how the weights of an expert lie in its two products.
func gateDown(f llm.FFN) []float64 {
	if f.Gated {
		return []float64{2. / 3, 1. / 3}
	}
	return []float64{1. / 2, 1. / 2}
}

// expertsRead remembers, as a curve asks for few different numbers of tokens many times.
func (e *estimator) expertsRead(f llm.FFN, tokens float64) float64 {
	key := routed{f.Experts, f.TopK, tokens}
	read, known := e.read[key]
	if !known {
		read = expertsRead(f.Experts, f.TopK, tokens)
		e.read[key] = read
	}
	return read
}

type routed struct {
	experts, topK int64
	tokens        float64
}
