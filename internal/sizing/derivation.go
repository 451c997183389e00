package sizing

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// The parts of a derivation, in order.
const (
	partRank    = "Weights of one rank"
	partKV      = "KV cache"
	partTokens  = "Tokens"
	partServers = "Servers"
)

// derivation collects steps that can be followed with a pocket calculator: Numbers, computed as
// written, give Result. Names and words are in Formula.
type derivation struct {
	steps []fabric.Derivation
	part  string
}

func (d *derivation) step(title, formula, numbers, result, source string) {
	d.steps = append(d.steps, fabric.Derivation{Part: d.part, Title: title, Formula: formula, Numbers: numbers, Result: result, Source: source})
}

// Derive returns the steps from the shapes of a model's weights to the tokens and servers of the first plan that fits,
// or of the first plan; without a plan those of the model alone. The request has to be the one that was answered.
func Derive(req Request, answer *fabric.Sizing) ([]fabric.Derivation, error) {
	s, err := req.setting()
	if err != nil {
		return nil, err
	}
	d := &derivation{steps: req.Model.Derivation()}
	i := slices.IndexFunc(answer.Plans, func(p fabric.SizingPlan) bool { return p.Fits })
	if i < 0 && len(answer.Plans) == 0 {
		d.servers(req, answer, nil)
		return d.steps, nil
	}
	plan := answer.Plans[max(i, 0)]
	s = s.placed(fabric.Layout{Nodes: plan.Nodes, GPUs: plan.GPUs, TP: plan.TP, PP: plan.PP, EP: plan.EP, DP: plan.DP})
	stages := shards(s)
	sh := stages[heaviest(stages)]
	d.rank(s, sh, plan)
	d.cache(s, sh, plan)
	d.tokens(s, answer, plan)
	d.servers(req, answer, &plan)
	return d.steps, nil
}

// rank derives what one rank holds, class by class.
func (d *derivation) rank(s setting, sh Shard, plan fabric.SizingPlan) {
	d.part = partRank
	source := s.engine.Name + " " + s.version.String()
	var all []string
	for _, c := range sh.Classes {
		d.step(fmt.Sprintf("Weights of class %s", c.Class), c.Formula, shareNumbers(s, sh, c.Class), gibOf(float64(c.Bytes)), source)
		all = append(all, plainInt(c.Bytes))
	}
	for _, x := range sh.Extras {
		d.step("In addition: "+x.Name, x.Formula, extraNumbers(s, sh, x), gibOf(float64(x.Bytes)), source+", "+x.Certainty)
		all = append(all, plainInt(x.Bytes))
	}
	d.step("Weights of the heaviest rank, as the engine prints them", "sum of the classes", strings.Join(all, " + "), gibOf(float64(plan.WeightsBytesPerGPU)), source)
}

// extraNumbers puts numbers into the formula of what an engine keeps beside the weights, where its layers are alike
// and the result agrees.
func extraNumbers(s setting, sh Shard, x Extra) string {
	a := s.Model.Layers[sh.First].Attention
	layers := int64(sh.End - sh.First)
	bytes := layers * a.KVLoraRank * a.Heads * (a.NopeDim + a.VDim) * 2 / int64(s.Spread.Attention)
	if a.Kind != llm.MLA || bytes != x.Bytes {
		return ""
	}
	return fmt.Sprintf("%d x %d x %d x (%d + %d) x 2 / %d", layers, a.KVLoraRank, a.Heads, a.NopeDim, a.VDim, s.Spread.Attention)
}

// shareNumbers is the bytes of a class on the stage, over what divides them. Weights that are divided differently
// are listed separately.
func shareNumbers(s setting, sh Shard, class llm.Class) string {
	type sum struct {
		share float64
		bytes int64
	}
	var sums []sum
	for _, t := range s.Model.Tensors {
		if !onStage(s, t, sh.Stage, sh.First, sh.End) {
			continue
		}
		of := t.Class
		if of == llm.ClassEmbedding && sh.Stage != 0 {
			of = llm.ClassHead
		}
		if of != class {
			continue
		}
		part := s.Share(t)
		i := slices.IndexFunc(sums, func(x sum) bool { return x.share == part })
		if i < 0 {
			i = len(sums)
			sums = append(sums, sum{share: part})
		}
		sums[i].bytes += s.Model.Bytes(t)
	}
	var out []string
	for _, x := range sums {
		switch by := 1 / x.share; {
		case x.share == 1:
			out = append(out, plainInt(x.bytes))
		case math.Abs(by-math.Round(by)) < 1e-9:
			out = append(out, fmt.Sprintf("%s / %.0f", plainInt(x.bytes), by))
		default:
			out = append(out, fmt.Sprintf("%s x %s", plainInt(x.bytes), strconv.FormatFloat(x.share, 'g', 9, 64)))
		}
	}
	return strings.Join(out, " + ")
}

// plainInt is a number as a calculator takes it.
func plainInt(n int64) string { return strconv.FormatInt(n, 10) }

func digits(f float64) string { return strconv.FormatFloat(f, 'g', 6, 64) }

// gibOf is bytes with their GiB.
func gibOf(bytes float64) string {
	return fmt.Sprintf("%s B = %.2f GiB", fabric.Thousands(int64(math.Round(bytes))), bytes/gib)
}

// cache derives the bytes of a token in the KV cache of one rank, and the state of a request.
func (d *derivation) cache(s setting, sh Shard, plan fabric.SizingPlan) {
	d.part = partKV
	source := "config.json; layers of the stage; " + s.KVDType
	type sum struct {
		attention llm.Attention
		layers    int
	}
	var sums []sum
	for _, l := range s.Model.Layers[sh.First:sh.End] {
		a := l.Attention
		if i := slices.IndexFunc(sums, func(x sum) bool { return x.attention == a }); i >= 0 {
			sums[i].layers++
			continue
		}
		sums = append(sums, sum{a, 1})
	}
	var all []string
	var total float64
	for _, x := range sums {
		each := x.attention.PerToken(int64(s.Spread.Attention), s.KVDType)
		if each > 0 {
			title, formula, numbers := tokenWords(s, x.attention)
			d.step(title, "layers x "+formula, fmt.Sprintf("%d x %s", x.layers, numbers), perToken(float64(x.layers)*each), source)
			all = append(all, exact(float64(x.layers)*each))
			total += float64(x.layers) * each
		}
		if state := x.attention.StatePerRequest(int64(s.Spread.Attention)); state > 0 {
			d.step("State per request, independent of its length", "layers x (inputs of the convolution and the recurrent state, over the ranks)",
				fmt.Sprintf("%d x %s", x.layers, exact(state)), fmt.Sprintf("%s B per request", exact(float64(x.layers)*state)), source)
		}
	}
	if len(all) == 0 {
		return
	}
	d.step("KV cache per token on one rank", "sum of the layers, ignoring windows", strings.Join(all, " + "), perToken(total), source)
	if !agree(total, plan.KVBytesPerToken) {
		d.step("The same in the engine's layout", "layers of several kinds share pages of one size, by the engine's own rule", "", perToken(plan.KVBytesPerToken), s.engine.Name+" "+s.version.String())
	}
}

// tokenWords is what one layer keeps of a token, in words and in numbers.
func tokenWords(s setting, a llm.Attention) (title, formula, numbers string) {
	b, _ := llm.KVElementBytes(s.KVDType)
	title = "KV cache per token"
	switch {
	case a.Window > 0 && a.Chunked:
		title += fmt.Sprintf(" in layers with chunks of %d", a.Window)
	case a.Window > 0:
		title += fmt.Sprintf(" in layers with a window of %d", a.Window)
	}
	switch {
	case a.Kind == llm.MLA && s.KVDType == llm.KVFP8DSMLA:
		title += " (MLA: whole on every rank)"
		formula = "(latent, a scale of 4 B for 128 of it, rope in bf16)"
		numbers = fmt.Sprintf("(%d + 4 x %d + 2 x %d", a.KVLoraRank, ceilDiv(a.KVLoraRank, 128), a.RopeDim)
	case a.Kind == llm.MLA:
		title += " (MLA: whole on every rank)"
		formula, numbers = "((kv_lora_rank + qk_rope_head_dim) x bytes", fmt.Sprintf("((%d + %d) x %s", a.KVLoraRank, a.RopeDim, digits(b))
	default:
		heads := max(1, ceilDiv(a.KVHeads, int64(s.Spread.Attention)))
		title += fmt.Sprintf(" (%d of %d KV heads on a rank)", heads, a.KVHeads)
		formula, numbers = "(KV heads of a rank x (key + value dimension) x bytes", fmt.Sprintf("(%d x (%d + %d) x %s", heads, a.HeadDim, a.VDim, digits(b))
	}
	if a.IndexDim > 0 {
		formula += ", and the key of the sparse index with a scale of 4 B for 128 of it"
		numbers += fmt.Sprintf(" + %d + 4 x %d", a.IndexDim, ceilDiv(a.IndexDim, 128))
	}
	return title, strings.TrimSuffix(formula, ")") + ")", numbers + ")"
}

func perToken(bytes float64) string {
	if bytes == math.Trunc(bytes) {
		return fabric.Thousands(int64(bytes)) + " B per token"
	}
	return exact(bytes) + " B per token"
}

// exact is bytes as a calculator takes them.
func exact(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return plainInt(int64(f))
	}
	return fmt.Sprintf("%.3f", f)
}

// tokens derives how many tokens the pool holds from the ledger: what the fraction leaves beside the weights.
func (d *derivation) tokens(s setting, answer *fabric.Sizing, plan fabric.SizingPlan) {
	d.part = partTokens
	source := s.engine.Name + " " + s.version.String()
	entry := func(name string) (bytes int64, formula string) {
		for _, e := range plan.Ledger {
			if e.Name == name {
				bytes += e.Bytes
				formula = e.Formula
			}
		}
		return bytes, formula
	}
	reserved, _ := entry("reserved")
	context, _ := entry("context")
	comm, words := entry("communicators")
	before := answer.GPU.MemoryBytes - reserved - context - comm
	d.step("Free before the weights are loaded", "memory that the driver shows - reserved - context - communicators: "+words,
		fmt.Sprintf("%d - %d - %d - %d", answer.GPU.MemoryBytes, reserved, context, comm), gibOf(float64(before)), source+"; "+answer.GPU.Source)
	pool, formula := entry("kv")
	weights, _ := entry("weights")
	rounding, _ := entry("allocator")
	numbers := ""
	if rest := float64(before)*plan.MemFraction - float64(weights+rounding); s.engine.Name == nameSGLang && agree(rest, float64(pool)) {
		formula = "free before load x " + s.engine.FractionFlag + " - weights - their rounding"
		numbers = fmt.Sprintf("%d x %s - %d - %d", before, trimFloat(plan.MemFraction), weights, rounding)
	}
	if pool > 0 {
		d.step("Bytes of the KV pool", formula, numbers, gibOf(float64(pool)), source)
	}
	if cell := plan.KVBytesPerToken; cell > 0 && agree(float64(pool)/cell, float64(plan.KVTokens)) {
		d.step("Tokens that the pool holds", "bytes of the pool / bytes of a token", fmt.Sprintf("%d / %s", pool, exact(cell)), fabric.Thousands(plan.KVTokens)+" tokens", source)
	} else {
		d.step("Tokens that the pool holds", "layers with windows, states or groups of pages share the pool by the engine's own rule", "", fabric.Thousands(plan.KVTokens)+" tokens", source)
	}
	per := float64(plan.KVTokens) / float64(max(answer.Context, 1)) * float64(plan.DP)
	if answer.Context > 0 && agree(per, plan.Requests) {
		numbers := fmt.Sprintf("%d / %d", plan.KVTokens, answer.Context)
		if plan.DP > 1 {
			numbers += fmt.Sprintf(" x %d", plan.DP)
		}
		d.step("Concurrent requests of the requested context", "tokens / context x replicas of attention", numbers, fmt.Sprintf("%.2f", plan.Requests), source)
	}
}

// agree says that two figures agree within the rounding of what is printed: 0.1 %.
func agree(a, b float64) bool { return b != 0 && math.Abs(a/b-1) < 1e-3 }

// servers derives the machines, and says why fewer are not enough.
func (d *derivation) servers(req Request, answer *fabric.Sizing, plan *fabric.SizingPlan) {
	d.part = partServers
	per := max(1, req.Machine.PerNode)
	if plan != nil {
		gpus := fmt.Sprintf("%d x %d", plan.TP, plan.PP)
		formula := "tp x pp"
		if plan.TP*plan.PP*plan.DP == plan.GPUs && plan.DP > 1 {
			gpus, formula = gpus+fmt.Sprintf(" x %d", plan.DP), formula+" x dp"
		}
		d.step("GPUs of one replica", formula, gpus, fabric.Thousands(int64(plan.GPUs)), "layout "+fabric.Layout{TP: plan.TP, PP: plan.PP, EP: plan.EP, DP: plan.DP}.String())
		if plan.GPUs == plan.Nodes*per {
			d.step(fmt.Sprintf("Servers of %d GPUs", per), "GPUs / GPUs per server", fmt.Sprintf("%d / %d", plan.GPUs, per), fabric.Thousands(int64(plan.Nodes)), "machine "+answer.Machine)
		}
	}
	const most = 8
	var shown int
	for i := len(answer.Refused) - 1; i >= 0 && shown < most; i-- {
		r := answer.Refused[i]
		if plan != nil && r.GPUs >= plan.GPUs {
			continue
		}
		shown++
		d.step(fmt.Sprintf("Why %d GPUs as %s are not enough", r.GPUs, r.Layout), r.Rule, "", r.Reason, r.Assert)
	}
}
