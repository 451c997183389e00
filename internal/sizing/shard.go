package sizing

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/llm"
)

// Shard is what one rank of a pipeline stage holds of a model.
type Shard struct {
	Stage      int
	First, End int          // layers of it, End not included
	Classes    []ClassBytes // weights by class, without those that it has none of
	Extras     []Extra      // what an engine keeps besides, derived from weights
	Weights    int64        // bytes of all classes
	Rounding   int64        // bytes that the allocator takes above Weights, see rounding
}

// ClassBytes is the weights of a class on one rank.
type ClassBytes struct {
	Class   llm.Class
	Bytes   int64
	Formula string
}

// Extra is memory that an engine takes with the weights.
type Extra struct {
	Name      string
	Bytes     int64
	Formula   string
	Certainty string
}

// Total is all that loading leaves on the rank.
func (s Shard) Total() int64 {
	sum := s.Weights
	for _, x := range s.Extras {
		sum += x.Bytes
	}
	return sum
}

// classes in the order in which a ledger names them.
func classes() []llm.Class {
	return []llm.Class{
		llm.ClassEmbedding, llm.ClassAttention, llm.ClassKV, llm.ClassLinear, llm.ClassDense, llm.ClassShared, llm.ClassExpert, llm.ClassReplicated,
		llm.ClassHead, llm.ClassVision,
	}
}

// shards returns what a rank of every stage holds.
func shards(s setting) []Shard {
	out := make([]Shard, s.Spread.PP)
	for i := range out {
		first, end := s.engine.stage(s.version, len(s.Model.Layers), s.Spread.PP, i)
		out[i] = shardOf(s, i, first, end)
	}
	return out
}

func shardOf(s setting, stage, first, end int) Shard {
	sh := Shard{Stage: stage, First: first, End: end}
	sums := map[llm.Class]float64{}
	var alloc allocations
	for _, t := range s.Model.Tensors {
		if !onStage(s, t, stage, first, end) {
			continue
		}
		class := t.Class
		if class == llm.ClassEmbedding && stage != 0 {
			class = llm.ClassHead // the tied copy of the last stage
		}
		bytes := float64(s.Model.Bytes(t)) * s.Share(t)
		sums[class] += bytes
		alloc.add(t, bytes, s.Model)
	}
	for _, c := range classes() {
		if b := int64(math.Round(sums[c])); b > 0 {
			sh.Classes = append(sh.Classes, ClassBytes{Class: c, Bytes: b, Formula: shareFormula(s, c)})
			sh.Weights += b
		}
	}
	sh.Rounding = alloc.rounding()
	s.engine.extras(s, &sh)
	return sh
}

// onStage reports whether a rank of the stage holds a tensor: embedding and vision on the first, head on the last, a
// tied embedding on both (SGLang 0.5.0rc2 models/llama.py, vLLM 0.10.1.1 the same). Multi-token prediction is not
// loaded without speculative decoding.
func onStage(s setting, t llm.Tensor, stage, first, end int) bool {
	last := stage == s.Spread.PP-1
	switch {
	case t.Class == llm.ClassMTP:
		return false
	case t.Class == llm.ClassEmbedding:
		return stage == 0 || (last && s.Model.TiedHead)
	case t.Class == llm.ClassVision:
		return stage == 0 && !slices.Contains(s.engine.skipsVision, s.Model.Arch)
	case t.Class == llm.ClassHead:
		return last
	case t.Layer < 0:
		return last // the last norm
	default:
		return t.Layer >= first && t.Layer < end
	}
}

// shareFormula says in words how a class is divided.
func shareFormula(s setting, c llm.Class) string {
	p := s.Spread
	switch c {
	case llm.ClassEmbedding, llm.ClassHead:
		if p.Vocabulary == 1 {
			return "vocabulary x hidden, whole on every rank"
		}
		return fmt.Sprintf("vocabulary padded to a multiple of 64, x hidden / tp %d", p.Vocabulary)
	case llm.ClassAttention:
		return fmt.Sprintf("q and o of the stage's layers / %d", p.Attention)
	case llm.ClassLinear:
		return fmt.Sprintf("linear attention of the stage's layers / %d", p.Attention)
	case llm.ClassKV:
		k := s.shape.minKV
		if k > 0 && int64(p.Attention) > k {
			return fmt.Sprintf("k and v of the stage's layers x 1/%d: %d KV heads on %d ranks, each keeps one whole", k, k, p.Attention)
		}
		return fmt.Sprintf("k and v of the stage's layers / %d", p.Attention)
	case llm.ClassDense:
		return fmt.Sprintf("gate, up and down of the stage's layers / %d", p.Dense)
	case llm.ClassShared:
		return fmt.Sprintf("shared experts of the stage's layers / %d", p.Shared)
	case llm.ClassExpert:
		if p.EP > 1 {
			return fmt.Sprintf("experts / ep %d, intermediate size / %d", p.EP, p.MoETP)
		}
		return fmt.Sprintf("experts, intermediate size of each / %d", p.MoETP)
	case llm.ClassVision:
		return "vision tower, whole on every rank of the first stage"
	default:
		return "norms, router, MLA's q_a and kv_a, index: whole on every rank"
	}
}

// allocations counts what PyTorch's caching allocator takes from the driver for weights: a tensor of 10 MiB and
// more gets a segment of its own, rounded up to 2 MiB; smaller ones share segments of 20 MiB
// (c10/cuda/CUDACachingAllocator.h: kMinLargeAlloc, kRoundLarge, kLargeBuffer). Weights that an engine joins into
// one tensor (q, k and v; gate and up; the experts of a layer) are one here too.
type allocations struct {
	parts []allocation
}

type allocation struct {
	layer int
	stem  string
	bytes float64
	scale float64
}

func (a *allocations) add(t llm.Tensor, bytes float64, m *llm.Model) {
	weights := float64(t.Rows) * float64(t.Cols) * t.Format.Bits / 8 * float64(t.Count)
	whole := float64(m.Bytes(t))
	scale := 0.0
	if whole > weights && whole > 0 {
		scale = bytes * (whole - weights) / whole
	}
	parts := 1.0
	if t.Layer >= 0 && t.Class != llm.ClassExpert && t.Count > 1 {
		parts = float64(t.Count) // equal tensors that are not joined
	}
	for range int(min(parts, 64)) {
		a.parts = append(a.parts, allocation{t.Layer, stem(t), (bytes - scale) / parts, scale / parts})
	}
}

// stem is the name under which an engine joins a tensor with others of its layer.
func stem(t llm.Tensor) string {
	name := t.Name
	if t.Class == llm.ClassExpert {
		name = "experts." + name[strings.LastIndexByte(strings.TrimSuffix(name, ".weight"), '.')+1:]
	}
	for _, joined := range []struct{ part, whole string }{
		{"q_proj", "qkv"},
		{"k_proj", "qkv"},
		{"v_proj", "qkv"},
		{"gate_up_proj", "gate_up"},
		{"gate_proj", "gate_up"},
		{"up_proj", "gate_up"},
		{"w1", "gate_up"},
		{"w3", "gate_up"},
		{"q_a_proj", "qkv_a"},
		{"kv_a_proj_with_mqa", "qkv_a"},
	} {
		if strings.Contains(name, "."+joined.part) {
			return strings.Replace(name, "."+joined.part, "."+joined.whole, 1)
		}
	}
	return name
}

func (a *allocations) rounding() int64 {
	slices.SortStableFunc(a.parts, func(x, y allocation) int {
		return cmp.Or(cmp.Compare(x.layer, y.layer), strings.Compare(x.stem, y.stem))
	})
	var over, small float64
	one := func(bytes float64) {
		if bytes >= 10*mib {
			over += math.Ceil(bytes/(2*mib))*2*mib - bytes
		} else {
			small += bytes
		}
	}
	for i := 0; i < len(a.parts); {
		sum := a.parts[i]
		for i++; i < len(a.parts) && a.parts[i].layer == sum.layer && a.parts[i].stem == sum.stem; i++ {
			sum.bytes += a.parts[i].bytes
			sum.scale += a.parts[i].scale
		}
		one(sum.bytes)
		one(sum.scale)
	}
	return int64(over + math.Ceil(small/(20*mib))*20*mib - small)
}

// absorbed is MLA's copies of kv_b in bf16, split by head for the absorbed form of attention: both engines keep
// them beside the weights (SGLang 0.5.0rc2 models/deepseek_v2.py w_kc and w_vc; vLLM v1/attention/backends/mla).
func absorbed(s setting, sh *Shard) {
	var bytes float64
	layers := 0
	for _, l := range s.Model.Layers[sh.First:sh.End] {
		a := l.Attention
		if a.Kind != llm.MLA {
			continue
		}
		layers++
		bytes += float64(a.KVLoraRank*a.Heads*(a.NopeDim+a.VDim)*2) / float64(s.Spread.Attention)
	}
	if layers > 0 {
		sh.Extras = append(sh.Extras, Extra{
			Name: "absorbed MLA", Bytes: int64(bytes), Certainty: string(llm.FromFormula),
			Formula: fmt.Sprintf("%d layers x kv_lora_rank x heads x (nope + v) x 2 B / %d", layers, s.Spread.Attention),
		})
	}
}

// permutation is the index tensors of experts in groups of int4 and int8: order and its inverse of every input
// dimension, int32, for gate and up and for down. They are freed after the weights are repacked, but stay with the
// allocator and in what engines print (SGLang 0.5.8 and vLLM 0.10.1.1, compressed_tensors_moe.py, WNA16).
func permutation(s setting, sh *Shard) {
	if s.Model.Quantisation.Method != "compressed-tensors" && s.Model.Quantisation.Method != "gptq" {
		return
	}
	seen := map[int]bool{}
	var bytes float64
	for _, t := range s.Model.Tensors {
		if t.Class != llm.ClassExpert || t.Format.Group == 0 || t.Format.Bits > 8 || seen[t.Layer] ||
			!strings.HasPrefix(t.Format.Name, "int") || t.Layer < sh.First || t.Layer >= sh.End {
			continue
		}
		seen[t.Layer] = true
		f := s.Model.Layers[t.Layer].FFN
		local := float64(f.Experts) / float64(s.Spread.EP)
		bytes += local * float64(s.Model.Hidden+f.ExpertIntermediate/int64(s.Spread.MoETP)) * 2 * 4
	}
	if bytes > 0 {
		sh.Extras = append(sh.Extras, Extra{
			Name: "WNA16 order", Bytes: int64(bytes), Certainty: string(llm.FromFormula),
			Formula: fmt.Sprintf("%d layers x experts of the rank x (hidden + intermediate size) x 2 x 4 B", len(seen)),
		})
	}
}
