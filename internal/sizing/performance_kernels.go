package sizing

// Kernels that have little to do count with kernelTime each. They are counted here as both engines launch them in a
// captured decode step; fusions differ by version, so a count is right to one or two. Read in SGLang 0.5.0rc2
// (models/deepseek_v2.py, qwen3_moe.py, layers/moe) and vLLM 0.10.1.1 (the same models). All-reduces are apart.
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
	prompt   bool    // prompts instead of one token a request
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

// beside adds products that run at the same time as others, on a second stream or as one more expert among the
// routed ones (deepseek_v2.py: forward_normal_dual_stream, num_fused_shared_experts): their kernels hide behind
// those, what they read and multiply does not.
func (k *kernels) beside(p part, tokens float64) {
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
