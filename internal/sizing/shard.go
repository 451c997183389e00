package sizing

import (
	"cmp"
	"math"
	"slices"
	"strings"
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
	Class   Class
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
func classes() []Class {
	return []Class{
		ClassEmbedding, ClassAttention, ClassKV, ClassLinear, ClassDense, ClassShared, ClassExpert, ClassReplicated,
		ClassHead, ClassVision,
	}
}

// shards gives what a rank of every stage holds.
func shards(s setting) []Shard {
	out := make([]Shard, s.spread.pp)
	for i := range out {
		first, end := s.engine.stage(s.version, len(s.model.Layers), s.spread.pp, i)
		out[i] = shardOf(s, i, first, end)
	}
	return out
}

func shardOf(s setting, stage, first, end int) Shard {
	sh := Shard{Stage: stage, First: first, End: end}
	sums := map[Class]float64{}
	var alloc allocations
	for _, t := range s.model.Tensors {
		if !onStage(s, t, stage, first, end) {
			continue
		}
		class := t.Class
		if class == ClassEmbedding && stage != 0 {
			class = ClassHead // the tied copy of the last stage
		}
		bytes := float64(s.model.Bytes(t)) * share(s, t)
		sums[class] += bytes
		alloc.add(t, bytes, s.model)
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

// onStage says whether a rank of the stage holds a tensor: embedding and vision on the first, head on the last, a
// tied embedding on both (SGLang 0.5.0rc2 models/llama.py, vLLM 0.10.1.1 the same). Multi-token prediction is not
// loaded without speculative decoding.
func onStage(s setting, t Tensor, stage, first, end int) bool {
	last := stage == s.spread.pp-1
	switch {
	case t.Class == ClassMTP:
		return false
	case t.Class == ClassEmbedding:
		return stage == 0 || (last && s.model.TiedHead)
	case t.Class == ClassVision: // SGLang builds Llama-4 without it unless it is asked for (models/mllama4.py has_vision)
		return stage == 0 && (s.engine.Name != nameSGLang || s.model.Arch != "Llama4ForConditionalGeneration")
	case t.Class == ClassHead:
		return last
	case t.Layer < 0:
		return last // the last norm
	default:
		return t.Layer >= first && t.Layer < end
	}
}

// share is the part of a tensor that one rank holds; above 1 where an engine pads.
func share(s setting, t Tensor) float64 {
	p := s.spread
	var layer Layer
	if t.Layer >= 0 && t.Layer < len(s.model.Layers) {
		layer = s.model.Layers[t.Layer]
	}
	switch t.Class {
	case ClassEmbedding, ClassHead:
		if t.Rows != s.model.Vocabulary {
			return 1 // of positions or of layers
		}
		return padded(t.Rows, vocabPad, 1) / float64(p.vocab)
	case ClassAttention, ClassLinear:
		return 1 / float64(p.attn)
	case ClassKV:
		k := layer.Attention.KVHeads
		if k < 1 {
			return 1 / float64(p.attn)
		}
		return float64(max(1, ceilDiv(k, int64(p.attn)))) / float64(k)
	case ClassDense:
		return 1 / float64(p.dense)
	case ClassShared:
		return 1 / float64(p.share)
	case ClassExpert:
		return expertShare(s, t, layer.FFN)
	default:
		return 1
	}
}

// vocabPad is the multiple to which both engines pad a vocabulary (DEFAULT_VOCAB_PADDING_SIZE in
// layers/vocab_parallel_embedding.py of SGLang 0.5.0rc2 and of vLLM 0.10.1.1).
const vocabPad = 64

// padded is n/parts rounded up to a multiple, over n/parts.
func padded(n, multiple, parts int64) float64 {
	if n < 1 || parts < 1 {
		return 1
	}
	part := ceilDiv(n, parts)
	return float64(ceilDiv(part, multiple)*multiple*parts) / float64(n)
}

// expertShare divides experts by rank and their inside by moeTP; where experts do not divide, one rank has one
// more. MXFP4 experts are padded: hidden to 256, the inside to what the kernel of the GPU wants (vLLM 0.10.1.1
// and SGLang 0.5.0rc2, layers/quantization/mxfp4.py; start log of gpt-oss-120b on an H100: 64.38 GiB for 60.77).
func expertShare(s setting, t Tensor, f FFN) float64 {
	p := s.spread
	part := 1 / float64(p.moeTP*p.ep)
	if f.Experts > 0 {
		part = float64(ceilDiv(f.Experts, int64(p.ep))) / float64(f.Experts) / float64(p.moeTP)
	}
	if t.Format.Name != "mxfp4" {
		return part
	}
	inner := int64(64)
	switch {
	case s.machine.Vendor == "amd":
		inner = 128
	case s.machine.blackwell():
		inner = 256
	}
	for _, dim := range []int64{t.Rows, t.Cols} {
		switch dim {
		case s.model.Hidden: // equal to the inside in gpt-oss: one dimension of each, and only one, is the hidden one
			part *= padded(dim, 256, 1)
			if f.ExpertIntermediate == s.model.Hidden {
				return part * padded(dim, inner, int64(p.moeTP))
			}
		case f.ExpertIntermediate, 2 * f.ExpertIntermediate:
			part *= padded(dim, inner, int64(p.moeTP))
		}
	}
	return part
}

// shareFormula says in words how a class is divided.
func shareFormula(s setting, c Class) string {
	p := s.spread
	switch c {
	case ClassEmbedding, ClassHead:
		if p.vocab == 1 {
			return "vocabulary x hidden, whole on every rank"
		}
		return sprint("vocabulary to a multiple of 64, x hidden / tp %d", p.vocab)
	case ClassAttention:
		return sprint("q and o of the stage's layers / %d", p.attn)
	case ClassLinear:
		return sprint("linear attention of the stage's layers / %d", p.attn)
	case ClassKV:
		k := s.shape.minKV
		if k > 0 && int64(p.attn) > k {
			return sprint("k and v of the stage's layers x 1/%d: %d KV heads on %d ranks, each keeps one whole", k, k, p.attn)
		}
		return sprint("k and v of the stage's layers / %d", p.attn)
	case ClassDense:
		return sprint("gate, up and down of the stage's layers / %d", p.dense)
	case ClassShared:
		return sprint("shared experts of the stage's layers / %d", p.share)
	case ClassExpert:
		if p.ep > 1 {
			return sprint("experts / ep %d, their inside / %d", p.ep, p.moeTP)
		}
		return sprint("experts, the inside of each / %d", p.moeTP)
	case ClassVision:
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

func (a *allocations) add(t Tensor, bytes float64, m *Model) {
	weights := float64(t.Rows) * float64(t.Cols) * t.Format.Bits / 8 * float64(t.Count)
	whole := float64(m.Bytes(t))
	scale := 0.0
	if whole > weights && whole > 0 {
		scale = bytes * (whole - weights) / whole
	}
	parts := 1.0
	if t.Layer >= 0 && t.Class != ClassExpert && t.Count > 1 {
		parts = float64(t.Count) // equal tensors that are not joined
	}
	for range int(min(parts, 64)) {
		a.parts = append(a.parts, allocation{t.Layer, stem(t), (bytes - scale) / parts, scale / parts})
	}
}

// stem is the name under which an engine joins a tensor with others of its layer.
func stem(t Tensor) string {
	name := t.Name
	if t.Class == ClassExpert {
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
	for _, l := range s.model.Layers[sh.First:sh.End] {
		a := l.Attention
		if a.Kind != MLA {
			continue
		}
		layers++
		bytes += float64(a.KVLoraRank*a.Heads*(a.NopeDim+a.VDim)*2) / float64(s.spread.attn)
	}
	if layers > 0 {
		sh.Extras = append(sh.Extras, Extra{
			Name: "absorbed MLA", Bytes: int64(bytes), Certainty: string(FromFormula),
			Formula: sprint("%d layers x kv_lora_rank x heads x (nope + v) x 2 B / %d", layers, s.spread.attn),
		})
	}
}

// permutation is the index tensors of experts in groups of int4 and int8: order and its inverse of every input
// dimension, int32, for gate and up and for down. They are freed after the weights are repacked, but stay with the
// allocator and in what engines print (SGLang 0.5.8 and vLLM 0.10.1.1, compressed_tensors_moe.py, WNA16).
func permutation(s setting, sh *Shard) {
	if s.model.Quantisation.Method != "compressed-tensors" && s.model.Quantisation.Method != "gptq" {
		return
	}
	seen := map[int]bool{}
	var bytes float64
	for _, t := range s.model.Tensors {
		if t.Class != ClassExpert || t.Format.Group == 0 || t.Format.Bits > 8 || seen[t.Layer] ||
			!strings.HasPrefix(t.Format.Name, "int") || t.Layer < sh.First || t.Layer >= sh.End {
			continue
		}
		seen[t.Layer] = true
		f := s.model.Layers[t.Layer].FFN
		local := float64(f.Experts) / float64(s.spread.ep)
		bytes += local * float64(s.model.Hidden+f.ExpertIntermediate/int64(s.spread.moeTP)) * 2 * 4
	}
	if bytes > 0 {
		sh.Extras = append(sh.Extras, Extra{
			Name: "WNA16 order", Bytes: int64(bytes), Certainty: string(FromFormula),
			Formula: sprint("%d layers x experts of the rank x (hidden + inside) x 2 x 4 B", len(seen)),
		})
	}
}
