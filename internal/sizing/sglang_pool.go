package sizing

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// pooling is how SGLang divides its KV pool among layers.
type pooling string

const (
	poolPlain   pooling = "plain"     // every layer has as many tokens
	poolByRatio pooling = "ratio"     // windowed layers have 0.8 of the tokens of full ones
	poolByChunk pooling = "chunk"     // chunked layers have chunk/context of them
	swaRatio            = 0.8         // --swa-full-tokens-ratio, server_args.py since 0.5.0
	mambaRatio          = 0.9         // --mamba-full-memory-ratio
	mambaSlots          = int64(3)    // slots a running request (MAMBA_CACHE_SIZE_MAX_RUNNING_REQUESTS_RATIO)
	minRunning          = int64(2048) // requests, model_executor/model_runner.py init_memory_pool
	maxRunning          = int64(4096)
)

// sglangPools: no windows before 0.5.0; then every model with a window, and Llama-4 on --hybrid-kvcache-ratio;
// from 0.5.8 on a list of architectures (configs/model_config.py is_hybrid_swa_model).
func sglangPools(s setting) pooling {
	if s.shape.windowed == 0 || s.shape.full == 0 || s.version.Minor < 5 && s.version.Major == 0 {
		return poolPlain
	}
	llama4 := s.Model.Type == "llama4_text" || s.Model.Type == "llama4"
	switch {
	case llama4 && !s.version.at(0, 5, 8):
		return poolByChunk
	case !s.version.at(0, 5, 8), llama4, s.Model.Type == "gpt_oss":
		return poolByRatio
	}
	return poolPlain
}

// sglangBudget divides the memory of the ranks: rest = free after load - free before load x (1 - fraction), and the
// KV pool takes all of it, the fewest tokens of any stage (model_runner.py profile_max_num_token).
func sglangBudget(s setting, stages []Shard, fraction float64) budget {
	d := newBudget(s, sglangComm(s))
	d.fraction = fraction
	at := heaviest(stages)
	d.load(stages[at])
	d.allocator = stages[at].Rounding
	tokens := int64(math.MaxInt64)
	for _, st := range stages {
		tokens = min(tokens, sglangTokens(s, d, st, fraction))
	}
	tokens = max(0, tokens)
	sh := stages[at]
	full, windowed := bytesPerToken(s, sh.First, sh.End)
	state := stateOf(s, sh.First, sh.End)
	rest := float64(d.before)*fraction - float64(d.weights+d.extras+d.allocator)
	slots := int64(0)
	if state > 0 && rest > 0 {
		slots = int64(rest * mambaRatio / (1 + mambaRatio) / state)
		d.state = int64(float64(slots) * state)
	}
	per := sglangCell(s, full, windowed)
	d.perToken = full + windowed
	d.kv = int64(math.Round(float64(tokens) * per))
	d.tokens, d.capacity = tokens, tokens
	d.longest = tokens
	d.requests = float64(tokens) / float64(s.context) * float64(s.Layout.DP)
	if d.tokens > 0 || s.shape.full > 0 {
		d.running = sglangRunning(s, tokens, slots, state > 0)
		d.requestPool = min(max(d.running, 1), maxRunning) * (s.context + 4) * 4
	}
	if state > 0 {
		d.requests = min(d.requests, float64(slots)*float64(s.Layout.DP))
	}
	sglangRest(s, &d, per, state)
	return d
}

// sglangCell is the bytes of one token of a full layer's pool with what windowed layers have beside it.
func sglangCell(s setting, full, windowed float64) float64 {
	switch sglangPools(s) {
	case poolByRatio:
		return full + swaRatio*windowed
	case poolByChunk:
		return full + windowed*min(1, float64(widestWindow(s.Model))/float64(s.context))
	}
	return full + windowed
}

func sglangTokens(s setting, d budget, st Shard, fraction float64) int64 {
	full, windowed := bytesPerToken(s, st.First, st.End)
	per := sglangCell(s, full, windowed)
	rest := float64(d.before)*fraction - float64(st.Total()+st.Rounding)
	if state := stateOf(s, st.First, st.End); state > 0 && rest > 0 {
		rest -= math.Floor(rest*mambaRatio/(1+mambaRatio)/state) * state
	}
	if per <= 0 { // a stage that keeps nothing of the past
		if rest < 0 {
			return 0
		}
		return math.MaxInt64
	}
	return int64(math.Floor(rest / per))
}

// sglangRunning: 512 requests of full context for every one that fits, from 2048 to 4096, no more than half the
// tokens (model_runner.py init_memory_pool, managers/tp_worker.py); what is requested is shared by the replicas of
// DP attention. VCF's log: 2048; of Qwen3-14B with 298,447 tokens of 40,960: 3730.
func sglangRunning(s setting, tokens, slots int64, state bool) int64 {
	n := min(max(int64(float64(tokens)/float64(s.context)*512), minRunning), maxRunning)
	if s.running > 0 {
		n = min(n, s.running/int64(s.Layout.DP))
	} else {
		n = min(n, tokens/2)
	}
	if state {
		n = min(n, slots/mambaSlots)
	}
	return max(0, n)
}

// sglangRest fills graphs, activations, the range of the fraction and what is left.
func sglangRest(s setting, d *budget, per, state float64) {
	smi := driverMemoryOf(s.Machine).smi
	d.graphBS = sglangGraphBS(s, smi)
	d.graphs = sglangGraphs(d.graphBS)
	d.activation = activations(s, sglangChunk(s, smi))
	d.slack = d.total - d.reserved - d.context - d.communicators - d.weights - d.extras - d.allocator - d.kv - d.state - d.requestPool - d.graphs - d.activation
	p := float64(d.before)
	need := float64(s.context) * ceilFloat(float64(s.users)/float64(s.Layout.DP)) * per
	if state > 0 {
		need = max(need*(1+mambaRatio), state*ceilFloat(float64(s.users)/float64(s.Layout.DP))*(1+mambaRatio)/mambaRatio)
	}
	pool := float64(d.requestPool)
	d.low = (float64(d.weights+d.extras+d.allocator) + need) / p
	d.high = 1 - (pool+float64(d.graphs)+2*gib)/p
	d.advised = floorHundredth(1 - (pool+float64(d.graphs)+adviceGiB*gib)/p)
	if d.advised < d.low {
		d.advised = min(ceilHundredth(d.low), floorHundredth(d.high))
	}
	f := d.formula
	f["communicators"] = fmt.Sprintf("NCCL and custom all-reduce of %d ranks on %d nodes", s.Spread.World, s.Layout.Nodes)
	f["kv"] = fmt.Sprintf("%d tokens x %.0f B; tokens = (%.2f GiB before load x %s - %.2f GiB of weights) / %.0f B",
		d.tokens, per, inGiB(d.before), trimFloat(d.fraction), inGiB(d.weights+d.extras+d.allocator), per)
	f["state"] = fmt.Sprintf("%.1f of %.1f of the rest, in slots of %.0f B", mambaRatio, 1+mambaRatio, state)
	f["request_pool"] = fmt.Sprintf("%d requests x (%d + 4) x 4 B", max(d.running, 1), s.context)
	f["graphs"] = fmt.Sprintf("0.9 GiB + 2.8 MiB x %d, the largest batch that is captured", d.graphBS)
	f["activations"] = fmt.Sprintf("of a prefill of %d tokens, from the slack that the fraction leaves", sglangChunk(s, smi))
	sglangAdvice(d)
	d.prints = sglangPrints(s, *d)
}

// adviceGiB should be free after graphs: VCF 10.6.3 and SGLang's hyperparameter tuning say 5 to 8 GB.
const adviceGiB = 6.5

// sglangAdvice returns what the fraction leaves free, and what the advised one would.
func sglangAdvice(d *budget) {
	free := inGiB(d.slack + d.activation)
	if free >= 0 && free < 5 {
		d.notes = append(d.notes, fmt.Sprintf("%.1f GiB free after graphs: below the 5 to 8 that SGLang advises", free))
	}
	more, what := 0.0, "more"
	if d.perToken > 0 {
		more = (d.advised - d.fraction) * float64(d.before) / d.perToken
	}
	if more < 0 {
		more, what = -more, "fewer"
	}
	d.effect = fmt.Sprintf("%s leaves %.1f GiB after graphs and holds %s tokens; %s would leave %.1f GiB and hold %s %s tokens",
		trimFloat(d.fraction), free, fabric.Thousands(d.tokens), trimFloat(d.advised), free-(d.advised-d.fraction)*inGiB(d.before),
		fabric.Thousands(int64(more)), what)
}

func ceilFloat(f float64) float64 { return math.Ceil(f - 1e-9) }

// sglangGraphs: VCF's log has 1.34 GiB up to a batch of 160; 2 to 4 GiB are seen up to 512.
func sglangGraphs(batch int64) int64 { return toBytes(0.9) + batch*28*mib/10 }

// activations is the working set of a prefill on one rank: four tensors of the hidden size, and the widest FFN with
// what goes in and comes out of its experts, in two bytes.
func activations(s setting, tokens int64) int64 {
	var ffn int64
	for _, d := range s.shape.dense {
		ffn = max(ffn, 3*d/int64(s.Spread.Dense))
	}
	for _, l := range s.Model.Layers {
		if l.FFN.Experts > 0 {
			e := l.FFN
			ffn = max(ffn, e.TopK*(3*e.ExpertIntermediate/int64(s.Spread.MoETP)+s.Model.Hidden))
			break
		}
	}
	return tokens * (4*s.Model.Hidden + ffn) * 2
}
