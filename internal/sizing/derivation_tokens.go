package sizing

import (
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// cache derives the bytes of a token in the KV cache of one rank, and the state of a request.
func (d *derivation) cache(s setting, sh Shard, plan fabric.SizingPlan) {
	d.part = partKV
	source := "config.json; layers of the stage; " + s.kv
	type sum struct {
		attention Attention
		layers    int
	}
	var sums []sum
	for _, l := range s.model.Layers[sh.First:sh.End] {
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
		each := x.attention.PerToken(int64(s.spread.attn), s.kv)
		if each > 0 {
			title, formula, numbers := tokenWords(s, x.attention)
			d.step(title, "layers x "+formula, sprint("%d x %s", x.layers, numbers), perToken(float64(x.layers)*each), source)
			all = append(all, exact(float64(x.layers)*each))
			total += float64(x.layers) * each
		}
		if state := x.attention.StatePerRequest(int64(s.spread.attn)); state > 0 {
			d.step("State of a request in its layers, whatever its length", "layers x (inputs of the convolution and the recurrent state, over the ranks)",
				sprint("%d x %s", x.layers, exact(state)), sprint("%s B a request", exact(float64(x.layers)*state)), source)
		}
	}
	if len(all) == 0 {
		return
	}
	d.step("KV cache of a token on one rank", "sum of the layers, as if every window were open", strings.Join(all, " + "), perToken(total), source)
	if !agree(total, plan.KVBytesPerToken) {
		d.step("The same as the engine lays it out", "layers of several kinds share pages of one size, by the engine's own rule", "", perToken(plan.KVBytesPerToken), s.engine.Name+" "+s.version.String())
	}
}

// tokenWords is what one layer keeps of a token, in words and in numbers.
func tokenWords(s setting, a Attention) (title, formula, numbers string) {
	b, _ := elementBytes(s.kv)
	title = "KV cache of a token"
	switch {
	case a.Window > 0 && a.Chunked:
		title += sprint(" in layers with chunks of %d", a.Window)
	case a.Window > 0:
		title += sprint(" in layers with a window of %d", a.Window)
	}
	switch {
	case a.Kind == MLA && s.kv == KVFP8DSMLA:
		title += " (MLA: whole on every rank)"
		formula = "(latent, a scale of 4 B for 128 of it, rope in bf16)"
		numbers = sprint("(%d + 4 x %d + 2 x %d", a.KVLoraRank, ceilDiv(a.KVLoraRank, 128), a.RopeDim)
	case a.Kind == MLA:
		title += " (MLA: whole on every rank)"
		formula, numbers = "((kv_lora_rank + qk_rope_head_dim) x bytes", sprint("((%d + %d) x %s", a.KVLoraRank, a.RopeDim, digits(b))
	default:
		heads := max(1, ceilDiv(a.KVHeads, int64(s.spread.attn)))
		title += sprint(" (%d of %d KV heads on a rank)", heads, a.KVHeads)
		formula, numbers = "(KV heads of a rank x (key + value dimension) x bytes", sprint("(%d x (%d + %d) x %s", heads, a.HeadDim, a.VDim, digits(b))
	}
	if a.IndexDim > 0 {
		formula += ", and the key of the sparse index with a scale of 4 B for 128 of it"
		numbers += sprint(" + %d + 4 x %d", a.IndexDim, ceilDiv(a.IndexDim, 128))
	}
	return title, strings.TrimSuffix(formula, ")") + ")", numbers + ")"
}

func perToken(bytes float64) string {
	if bytes == math.Trunc(bytes) {
		return commas(int64(bytes)) + " B a token"
	}
	return exact(bytes) + " B a token"
}

// exact is bytes as a calculator takes them.
func exact(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1<<53 {
		return plainInt(int64(f))
	}
	return sprint("%.3f", f)
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
	d.step("Free before the weights are read", "memory that the driver shows - reserved - context - communicators: "+words,
		sprint("%d - %d - %d - %d", answer.GPU.MemoryBytes, reserved, context, comm), gibOf(float64(before)), source+"; "+answer.GPU.Source)
	pool, formula := entry("kv")
	weights, _ := entry("weights")
	rounding, _ := entry("allocator")
	numbers := ""
	if rest := float64(before)*plan.MemFraction - float64(weights+rounding); s.engine.Name == nameSGLang && agree(rest, float64(pool)) {
		formula = "free before load x " + s.engine.FractionFlag + " - weights - their rounding"
		numbers = sprint("%d x %s - %d - %d", before, trimFloat(plan.MemFraction), weights, rounding)
	}
	if pool > 0 {
		d.step("Bytes of the KV pool", formula, numbers, gibOf(float64(pool)), source)
	}
	if cell := plan.KVBytesPerToken; cell > 0 && agree(float64(pool)/cell, float64(plan.KVTokens)) {
		d.step("Tokens that the pool holds", "bytes of the pool / bytes of a token", sprint("%d / %s", pool, exact(cell)), commas(plan.KVTokens)+" tokens", source)
	} else {
		d.step("Tokens that the pool holds", "layers with windows, states or groups of pages share the pool by the engine's own rule", "", commas(plan.KVTokens)+" tokens", source)
	}
	per := float64(plan.KVTokens) / float64(max(answer.Context, 1)) * float64(plan.DP)
	if answer.Context > 0 && agree(per, plan.Requests) {
		numbers := sprint("%d / %d", plan.KVTokens, answer.Context)
		if plan.DP > 1 {
			numbers += sprint(" x %d", plan.DP)
		}
		d.step("Requests of the asked context at once", "tokens / context x replicas of attention", numbers, sprint("%.2f", plan.Requests), source)
	}
}

// agree says that two figures agree within the rounding of what is printed: 0.1 %.
func agree(a, b float64) bool { return b != 0 && math.Abs(a/b-1) < 1e-3 }

// servers derives the machines, and says what stands against fewer.
func (d *derivation) servers(req Request, answer *fabric.Sizing, plan *fabric.SizingPlan) {
	d.part = partServers
	per := max(1, req.Machine.PerNode)
	if plan != nil {
		gpus := sprint("%d x %d", plan.TP, plan.PP)
		formula := "tp x pp"
		if plan.TP*plan.PP*plan.DP == plan.GPUs && plan.DP > 1 {
			gpus, formula = gpus+sprint(" x %d", plan.DP), formula+" x dp"
		}
		d.step("GPUs of one replica", formula, gpus, commas(int64(plan.GPUs)), "layout "+Layout{TP: plan.TP, PP: plan.PP, EP: plan.EP, DP: plan.DP}.String())
		if plan.GPUs == plan.Nodes*per {
			d.step(sprint("Servers of %d GPUs", per), "GPUs / GPUs of a server", sprint("%d / %d", plan.GPUs, per), commas(int64(plan.Nodes)), "machine "+answer.Machine)
		}
	}
	const most = 8
	var told int
	for i := len(answer.Refused) - 1; i >= 0 && told < most; i-- {
		r := answer.Refused[i]
		if plan != nil && r.GPUs >= plan.GPUs {
			continue
		}
		told++
		d.step(sprint("Why %d GPUs as %s do not do", r.GPUs, r.Layout), r.Rule, "", r.Reason, r.Assert)
	}
}
