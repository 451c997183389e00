package sizing

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

const nameVLLM = "vllm"

// vllm is vLLM with its V1 engine. Its asserts and memory rules were read in 0.10.1.1; of 0.33.0 only the default
// utilisation, what is counted in it and what is printed.
func vllm() Engine {
	return Engine{
		Name:         nameVLLM,
		Default:      "0.11.0",
		Read:         []string{"0.10.1.1", "0.33.0"},
		FractionFlag: "--gpu-memory-utilization",
		dpBesideTP:   true,
		Rules: []LayoutRule{
			{ID: "ranks", Assert: "one rank per GPU, as many on every node", broken: ranksFit},
			{ID: "no-experts", Assert: "expert parallelism needs experts", broken: hasExperts},
			{ID: "expert-ranks", Assert: "fused_moe/config.py FusedMoEParallelConfig.make: ep_size = tp_size * dp_size", broken: epIsAll},
			{ID: "attention-heads", Assert: "config/__init__.py verify_with_parallel_config: total number of attention heads must be divisible by tensor parallel size", broken: headsDivide},
			{ID: "kv-heads", Assert: "model_executor/layers/linear.py QKVParallelLinear: divide(tp_size, total_num_kv_heads)", broken: kvHeadsDivide},
			{ID: "linear-heads", Assert: "layers/mamba/mamba_mixer2.py: assert num_heads % tp_size == 0, n_groups % tp_size == 0 or n_groups == 1", broken: linearHeadsDivide},
			{ID: "ffn", Assert: "distributed/utils.py divide: numerator % denominator == 0, of every column and row parallel layer", broken: innerDivides},
			{ID: "ranks-experts", Assert: "models/deepseek_v2.py, qwen3_moe.py: tensor parallel size is greater than the number of experts", broken: ranksBelowExperts},
			{ID: "fp8-block", Assert: "layers/quantization/fp8.py: partition is not divisible by weight quantization block", broken: blocksDivide},
			{ID: "quant-group", Assert: "layers/quantization: input size is not aligned with the quantized weight shape", broken: groupsDivide},
			{ID: "pp-layers", Assert: "every stage needs a layer", broken: stagesHaveLayers},
			{ID: "pp-model", Assert: "config/__init__.py: pipeline parallelism is not supported for this model", broken: noModelPipeline,
				only: func(v Version) bool { return !v.at(0, 10, 2) }},
		},
		spread:   vllmSpread,
		stage:    vllmStage,
		fraction: vllmFraction,
		extras:   vllmExtras,
		budget:   vllmBudget,
		flags:    vllmFlags,
		start:    vllmStart,
	}
}

// noModelPipeline: gpt-oss of 0.10.1 does not implement SupportsPP.
func noModelPipeline(s setting) []string {
	if s.Layout.PP > 1 && s.Model.Type == "gpt_oss" {
		return []string{fmt.Sprintf("pp %d: vLLM %s has no pipeline parallelism for gpt_oss", s.Layout.PP, s.version)}
	}
	return nil
}

// vllmSpread: DP multiplies the ranks, and experts are divided over all of them
// (0.10.1.1, model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig.make).
func vllmSpread(l fabric.Layout, _ *shape) Spread {
	all := l.TP * l.DP
	s := Spread{
		World: all * l.PP, Attention: l.TP, Dense: l.TP, Shared: l.TP, MoETP: all, EP: 1, Vocabulary: l.TP, PP: l.PP, DP: l.DP,
	}
	if l.EP > 1 {
		s.MoETP, s.EP = 1, all
	}
	return s
}

// vllmStage: layers that do not divide go one each to the stages before the last (distributed/utils.py
// get_pp_indices).
func vllmStage(_ Version, layers, pp, rank int) (first, end int) {
	base, rest := layers/pp, layers%pp
	size := func(r int) int {
		if r < pp-1 && r >= pp-1-rest {
			return base + 1
		}
		return base
	}
	for r := range rank {
		first += size(r)
	}
	return first, first + size(rank)
}

// vllmFraction is --gpu-memory-utilization where none is given: 0.9, in 0.33 0.92 (config/cache.py).
func vllmFraction(s setting) float64 {
	if s.version.at(0, 33, 0) {
		return 0.92
	}
	return 0.9
}

// vllmExtras: what is freed after loading is not in what vLLM prints (platforms/cuda.py get_current_memory_usage).
func vllmExtras(s setting, sh *Shard) { absorbed(s, sh) }

// vllmBatch is --max-num-seqs and --max-num-batched-tokens of the server where none are given: 1024 and 8192 from
// 70 GiB on, but for the A100, else 256 and 2048 (engine/arg_utils.py _set_default_args_v1).
func vllmBatch(s setting) (seqs, tokens int64) {
	seqs, tokens = 256, 2048
	if driverMemoryOf(s.Machine).total >= 70 && !strings.HasPrefix(s.Machine.GPU.Name, "a100") {
		seqs, tokens = 1024, 8192
	}
	if s.chunk > 0 {
		tokens = s.chunk
	}
	if s.running > 0 {
		seqs = s.running
	}
	return min(seqs, tokens), tokens
}

// samplerBytes is what the profile run takes for a logit of each sequence: bf16 and fp32 logits, sorted values and
// indices, probabilities and their sum, with the sort's own buffers. Start logs on an H100 with 1024 sequences and
// vocabularies of 128,256, 151,936 and 201,088: 4.76, 5.56 and 5.64, 7.38 GiB (llm-d-planner e50305a).
const samplerBytes = 38

// vllmActivation is the peak of the profile run: either all logits are sampled, or a full batch goes through the
// widest layer; beside it the hidden states of the batch.
func vllmActivation(s setting) int64 {
	seqs, tokens := vllmBatch(s)
	logits := seqs * s.Model.Vocabulary * samplerBytes
	hidden := float64(tokens*s.Model.Hidden*2) * 1.28 // the residual, and the part of it that is sampled
	return max(logits+int64(hidden)+toBytes(0.034), activations(s, tokens))
}

// vllmNonTorch is what is taken outside of PyTorch beside the context, GiB: 0.13 on one H100 and 0.54 with NCCL on
// two (llm-d-planner e50305a). From four ranks on NCCL sets up NVLink multicast: 2.4 on four H100 (vLLM issue 21348)
// and 1.9 on eight H200 (vllm-project/recipes 8959cf6) are left for it. With RCCL it is assumed.
func vllmNonTorch(s setting) float64 {
	switch {
	case s.Spread.World == 1:
		return 0.13
	case s.Machine.Vendor == "amd":
		return 2
	case s.Spread.World < 4 || s.Machine.GPU.LinkGBs == 0:
		return 0.54
	default:
		return 2.2
	}
}

// vllmGraphs is what graphs take, GiB; logs have from below 0 to 1.03. Before 0.21 it is not counted in
// the utilisation.
func vllmGraphs() int64 { return toBytes(0.9) }

// vllmBudget: what is requested is total x utilisation, less weights, less what is outside PyTorch, less the peak of
// the profile run (v1/worker/gpu_worker.py determine_available_memory).
func vllmBudget(s setting, stages []Shard, fraction float64) budget {
	d := newBudget(s, vllmNonTorch(s))
	d.fraction = fraction
	at := heaviest(stages)
	d.load(stages[at])
	d.activation = vllmActivation(s)
	d.graphs = vllmGraphs()
	counted := d.communicators + d.activation
	if s.version.at(0, 21, 0) {
		counted += d.graphs
	}
	total := driverMemoryOf(s.Machine).total * gib
	requested := math.Ceil(total * fraction)
	pages := int64(math.MaxInt64)
	var cache vllmCache
	for i, st := range stages {
		c := vllmPages(s, st)
		n := int64(0)
		if free := requested - float64(counted) - float64(st.Total()); free > 0 && c.page > 0 {
			n = int64(free / c.page)
		}
		if c.page > 0 && (n < pages || i == 0) {
			pages, cache = n, c
		}
	}
	if pages == math.MaxInt64 {
		pages = 0
	}
	vllmTokens(s, &d, cache, pages)
	d.slack = d.total - d.reserved - d.context - d.communicators - d.weights - d.extras - d.kv - d.graphs - d.activation
	need := cache.need(s, s.context) * ceilFloat(float64(s.users)/float64(s.Layout.DP)) * cache.page
	d.low = (float64(counted+d.weights+d.extras) + need) / total
	start := float64(d.before+d.communicators) / total
	d.high = min(start, (float64(d.before+d.communicators)-float64(d.graphs))/total)
	d.advised = min(max(vllmFraction(s), ceilHundredth(d.low)), floorHundredth(d.high))
	if fraction > start {
		d.refused = fmt.Sprintf("free memory at start, %.2f GiB, is below %s x %.2f GiB", inGiB(d.before+d.communicators), trimFloat(fraction), total/gib)
	}
	vllmWords(s, &d, cache, counted)
	return d
}

func vllmWords(s setting, d *budget, c vllmCache, counted int64) {
	seqs, tokens := vllmBatch(s)
	f := d.formula
	f["communicators"] = fmt.Sprintf("memory outside PyTorch: NCCL of %d ranks", s.Spread.World)
	f["kv"] = fmt.Sprintf("%.2f GiB of CUDA x %s - %.2f GiB of weights - %.2f GiB of activations and others, in pages of %.0f B of %d tokens",
		driverMemoryOf(s.Machine).total, trimFloat(d.fraction), inGiB(d.weights+d.extras), inGiB(counted), c.page, c.block)
	f["graphs"] = "0.9 GiB, from 0 to 1 in start logs"
	f["activations"] = fmt.Sprintf("%d sequences x %d logits x %d B + %d tokens x hidden x 2.56 B", seqs, s.Model.Vocabulary, samplerBytes, tokens)
	d.effect = fmt.Sprintf("%s holds %s tokens; %.3f to %.3f is valid", trimFloat(d.fraction), fabric.Thousands(d.tokens), d.low, d.high)
	d.running = seqs
	d.prints = []fabric.EnginePrint{
		{What: "Model loading took", Value: inGiB(d.weights + d.extras), Unit: "GiB"},
		{What: "Available KV cache memory", Value: inGiB(d.kv), Unit: "GiB"},
		{What: "GPU KV cache size", Value: float64(d.tokens), Unit: "tokens"},
		{What: "Maximum concurrency", Value: d.requests / float64(s.Layout.DP), Unit: "requests"},
		{What: "max_num_seqs", Value: float64(seqs), Unit: "requests"},
		{What: "gpu_memory_utilization", Value: d.fraction, Unit: "ratio"},
	}
}

func vllmFlags(s setting, d budget) []string {
	l := s.Layout
	out := []string{"--tensor-parallel-size " + strconv.Itoa(l.TP)}
	if l.PP > 1 {
		out = append(out, "--pipeline-parallel-size "+strconv.Itoa(l.PP))
	}
	if l.DP > 1 {
		out = append(out, "--data-parallel-size "+strconv.Itoa(l.DP))
	}
	if l.EP > 1 {
		out = append(out, "--enable-expert-parallel")
	}
	out = append(out, "--gpu-memory-utilization "+trimFloat(d.fraction), "--max-model-len "+strconv.FormatInt(s.context, 10))
	if s.running > 0 {
		out = append(out, "--max-num-seqs "+strconv.FormatInt(s.running, 10))
	}
	if s.chunk > 0 {
		out = append(out, "--max-num-batched-tokens "+strconv.FormatInt(s.chunk, 10))
	}
	if strings.HasPrefix(s.KVDType, llm.KVFP8) {
		out = append(out, "--kv-cache-dtype "+s.KVDType)
	}
	return out
}

// vllmCache is how vLLM pages the cache of a stage: layers of a kind form groups of equal size that share one pool,
// and a block of the pool is a page in each layer of a group (v1/core/kv_cache_utils.py).
type vllmCache struct {
	page   float64 // bytes of a block, all layers of a group
	block  int64   // tokens of a page of an attention layer
	full   int     // groups of layers that keep all of the past
	window int     // groups of layers with a window
	state  int     // groups of layers with a fixed state
	width  int64   // of the window, tokens
}

// groups is all of them.
func (c vllmCache) groups() int { return c.full + c.window + c.state }

// need is the blocks of one request: every group holds its own. A window holds one block more than its tokens, as
// it need not begin with a block.
func (c vllmCache) need(s setting, tokens int64) float64 {
	if c.block == 0 {
		return 0
	}
	n := float64(c.full) * float64(ceilDiv(tokens, c.block))
	if c.window > 0 {
		_, batch := vllmBatch(s)
		held := min(tokens, c.width-1+batch) // the tokens of a prefill step are there with the window
		n += float64(c.window) * float64(min(ceilDiv(held, c.block)+1, ceilDiv(tokens, c.block)))
	}
	return n + float64(c.state)
}

// blockTokens is --block-size on GPUs.
const blockTokens = 16

// vllmPages groups the layers of a stage.
func vllmPages(s setting, st Shard) vllmCache {
	c := vllmCache{block: blockTokens, width: widestWindow(s.Model)}
	var full, window, state int
	var bytes, stateBytes float64
	for _, l := range s.Model.Layers[st.First:st.End] {
		a := l.Attention
		per := a.PerToken(int64(s.Spread.Attention), s.KVDType)
		switch {
		case per > 0 && a.Window > 0:
			window++
		case per > 0:
			full++
		case a.StatePerRequest(int64(s.Spread.Attention)) > 0:
			state++
			stateBytes += a.StatePerRequest(int64(s.Spread.Attention))
		}
		bytes += per
	}
	attention := full + window
	if attention == 0 {
		if state > 0 {
			c.page, c.state = stateBytes, 1
		}
		return c
	}
	layer := bytes / float64(attention) // groups share pages, so layers count alike
	if state > 0 {                      // a page of attention is made as large as a state
		c.block = int64(math.Ceil(stateBytes/float64(state)/layer/blockTokens)) * blockTokens
	}
	size := groupSize(full, window, state)
	c.full, c.window, c.state = parts(full, size), parts(window, size), parts(state, size)
	c.page = layer * float64(c.block) * float64(min(size, max(full, window, state)))
	return c
}

// groupSize is the number of layers of a group: the fewest of a kind; one kind only is one group.
func groupSize(counts ...int) int {
	size := 0
	for _, n := range counts {
		if n > 0 && (size == 0 || n < size) {
			size = n
		}
	}
	return max(1, size)
}

func parts(n, size int) int { return (n + size - 1) / size }

// vllmTokens fills tokens as printed, and what they are good for: printed are the blocks of one group times their
// tokens, with linear attention a part of the real capacity; from 0.33 on requests of full length times that length.
func vllmTokens(s setting, d *budget, c vllmCache, pages int64) {
	if c.block == 0 || pages <= 0 || c.groups() == 0 {
		return
	}
	d.kv = int64(float64(pages) * c.page)
	need := c.need(s, s.context)
	d.requests = float64(pages) / need * float64(s.Layout.DP)
	d.tokens = pages / int64(c.groups()) * c.block
	d.capacity = int64(float64(pages) / need * float64(s.context))
	if s.version.at(0, 33, 0) {
		d.tokens = d.capacity
	}
	d.longest = longest(s, c, pages)
	d.perToken = c.page / float64(c.block) * float64(c.groups())
}

// longest is the tokens of the longest request that the pages hold alone.
func longest(s setting, c vllmCache, pages int64) int64 {
	if c.full == 0 {
		return s.Model.Context
	}
	low, high := int64(0), pages*c.block
	for low < high {
		mid := (low + high + 1) / 2
		if c.need(s, mid) <= float64(pages) {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low
}
