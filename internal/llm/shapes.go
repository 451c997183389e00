package llm

import (
	"encoding/json"
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

func assumption(what, value, source string) fabric.Assumption {
	return fabric.Assumption{What: what + " is " + value, Source: source}
}

// encode writes what decodeObject read.
func encode(object map[string]any) []byte {
	text, err := json.Marshal(object)
	if err != nil { // an object that was decoded from JSON has nothing that JSON lacks
		return nil
	}
	return text
}

// fromShapes builds a model of a type that no family knows from names and shapes alone. Attention must be of one of
// the two kinds that names show for certain; else the model is refused.
func fromShapes(folder string, text, quantText []byte, tensors []stored) (*Model, error) {
	b, err := newBuilder(folder, text)
	if err != nil {
		return nil, err
	}
	b.basics(family{})
	depth := int(b.depth())
	if quantisation, _, err := readQuantisation(b, quantText); err == nil {
		b.m.Quantisation = quantisation
	} else {
		*b.problems = nil
	}
	seen := make([]shapes, min(depth, mostLayers))
	names := newNameReader(depth)
	for _, s := range tensors {
		n := names.read(s.name)
		if n.layer >= 0 && n.layer < len(seen) && n.class != ClassVision && n.class != ClassMTP {
			seen[n.layer].note(s, n)
		}
	}
	b.layers(int64(depth), "layers", func(i int) Layer {
		return Layer{Attention: b.attentionOf(i, seen[i]), FFN: b.feedOf(seen[i])}
	})
	if err := b.err(); err != nil {
		return nil, err
	}
	bits := 4.0
	if b.m.Quantisation.Format.Bits > 0 {
		bits = b.m.Quantisation.Format.Bits
	}
	b.m.Assumptions = append(*b.assumed, assumption("model_type", quoted(b.m.Type), "unknown; layers were derived from names and shapes"))
	b.m.gather(tensors, bits, depth, func(weightName) Class { return "" })
	if b.m.Parameters().MTP == 0 {
		b.m.MTP = 0
	}
	return b.m, nil
}

// shapes is what the tensors of a layer show of it.
type shapes struct {
	k, v, latent, fused bool
	kRows, vRows        int64
	experts             map[string]bool
	stacked             int64
	dense, shared       bool
	strange             string // a name whose class is unknown, or that keeps a state
}

func (l *shapes) note(s stored, n weightName) {
	rows := int64(0)
	if len(s.shape) > 0 {
		rows = s.shape[0]
	}
	switch {
	case n.auxiliary:
	case strings.Contains(s.name, "kv_a_proj"):
		l.latent = true
	case n.class == ClassLinear, n.class == "" && len(s.shape) > 1:
		l.strange = s.name
	case n.fused:
		l.fused = true
	case strings.HasSuffix(s.name, ".k_proj.weight"):
		l.k, l.kRows = true, rows
	case strings.HasSuffix(s.name, ".v_proj.weight"):
		l.v, l.vRows = true, rows
	case n.class == ClassExpert:
		l.noteExpert(s)
	case n.class == ClassShared:
		l.shared = true
	case n.class == ClassDense:
		l.dense = true
	}
}

func (l *shapes) noteExpert(s stored) {
	_, after, _ := strings.Cut(s.name, ".experts.")
	number, _, numbered := strings.Cut(after, ".")
	if !numbered || strings.Trim(number, "0123456789") != "" {
		if len(s.shape) > 0 {
			l.stacked = max(l.stacked, s.shape[0])
		}
		return
	}
	if l.experts == nil {
		l.experts = map[string]bool{}
	}
	l.experts[number] = true
}

// attentionOf finds the attention of a layer: MLA by its compressed projection, else heads of keys and values.
func (b *builder) attentionOf(i int, l shapes) Attention {
	switch {
	case l.strange != "":
		b.problem("model_type", "%q is unknown, and layer %d has %q, whose name does not show its kind", b.m.Type, i, l.strange)
	case l.latent:
		a := b.latent()
		return Attention{Kind: MLA, Heads: a.heads, KVHeads: 1, HeadDim: a.nope + a.rope, VDim: a.v,
			QLoraRank: a.qRank, KVLoraRank: a.kvRank, RopeDim: a.rope, NopeDim: a.nope}
	case l.k || l.fused:
		g := b.heads()
		if l.k && b.m.Quantisation.Method == "" { // packed shapes are others
			if l.kRows != g.kv*g.dim || l.v && l.vRows%g.kv != 0 {
				b.problem("num_key_value_heads", "%d heads of %d do not give the %d rows of layer %d's k_proj", g.kv, g.dim, l.kRows, i)
			}
			if l.v {
				g.vdim = l.vRows / g.kv
			}
		}
		return Attention{Kind: GQA, Heads: g.heads, KVHeads: g.kv, HeadDim: g.dim, VDim: g.vdim, Window: b.window(i, never)}
	default:
		b.problem("model_type", "%q is unknown, and the names of layer %d show no attention", b.m.Type, i)
	}
	return Attention{Kind: NoAttention}
}

func (b *builder) feedOf(l shapes) FFN {
	f := FFN{Gated: true}
	f.Experts = max(int64(len(l.experts)), l.stacked)
	if f.Experts > 0 {
		f.TopK = b.size("num_experts_per_tok", "moe_topk", "num_experts_per_token", "moe_k", "top_k_experts", "moe_top_k")
		f.ExpertIntermediate = b.sizeOr(b.countOr(0, "intermediate_size"), "moe_intermediate_size", "expert_ffn_hidden_size")
		if f.TopK > f.Experts {
			b.problem("num_experts_per_tok", "%d is more than the %d experts", f.TopK, f.Experts)
		}
	}
	if l.shared {
		f.Shared = 1
		f.SharedIntermediate = b.countOr(f.ExpertIntermediate, "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size")
	}
	if l.dense {
		f.Intermediate = b.size("intermediate_size", "ffn_hidden_size", "ffn_dim", "n_inner")
	}
	return f
}

// fromNames refuses a model of an unknown type of which only an index is there, unless shapes of all its names follow
// from the config and sum up to the bytes of the index.
func fromNames(folder string, text, quantText []byte, index weightIndex) (*Model, error) {
	b, err := newBuilder(folder, text)
	if err != nil {
		return nil, err
	}
	b.basics(family{})
	if err := b.err(); err != nil {
		return nil, err
	}
	quantisation, _, err := readQuantisation(b, quantText)
	if err != nil {
		return nil, err
	}
	if quantisation.Method != "" {
		return nil, fmt.Errorf("model_type: %q %w, and an index does not show how its weights are quantised: give the folder with its safetensors files", b.m.Type, errUnknownType)
	}
	tensors, err := b.inferShapes(index)
	if err != nil {
		return nil, err
	}
	m, err := fromShapes(folder, text, quantText, tensors)
	if err != nil {
		return nil, err
	}

	const nearly = 0.01 // of the bytes: how far the derived shapes may be off
	if off := float64(m.DiskBytes)/float64(index.total) - 1; off > nearly || off < -nearly {
		return nil, fmt.Errorf("model_type: %q %w, and the shapes derived from names and config give %d bytes, metadata.total_size %d: give the folder with its safetensors files",
			b.m.Type, errUnknownType, m.DiskBytes, index.total)
	}
	m.Scale, m.DiskBytes, m.Certainty = float64(index.total)/float64(m.DiskBytes), index.total, FromIndex
	return m, nil
}

// inferShapes returns each name of the index the shape that the usual names have.
func (b *builder) inferShapes(index weightIndex) ([]stored, error) {
	g, depth := b.heads(), int(b.depth())
	dtype := map[string]string{"bf16": "BF16", "fp16": "F16", "fp32": "F32"}[b.weights.Name]
	width := int64(b.weights.Bits) / 8
	moe := b.sizeOr(b.countOr(0, "intermediate_size"), "moe_intermediate_size")
	experts := b.countOr(0, "num_experts", "num_local_experts", "n_routed_experts")
	shared := b.countOr(moe*b.countOr(1, "n_shared_experts", "num_shared_experts"), "shared_expert_intermediate_size")
	dense := b.countOr(0, "intermediate_size")
	if err := b.err(); err != nil {
		return nil, err
	}
	var tensors []stored
	names := newNameReader(depth)
	for _, name := range sortedKeys(index.files) {
		ff := dense
		switch {
		case strings.Contains(name, ".experts."):
			ff = moe
		case strings.Contains(name, "shared_expert"):
			ff = shared
		}
		shape := b.usualShape(name, names.read(name), g, ff, experts)
		if shape == nil {
			return nil, fmt.Errorf("model_type: %q %w, and its index names %q, whose shape only the headers show: give the folder with its safetensors files",
				b.m.Type, errUnknownType, name)
		}
		s := stored{name: name, dtype: dtype, shape: shape, bytes: width}
		for _, n := range shape {
			s.bytes *= n
		}
		tensors = append(tensors, s)
	}
	return tensors, nil
}

func (b *builder) usualShape(name string, n weightName, g heads, ff, experts int64) []int64 {
	h := b.hidden
	ends := func(parts ...string) bool {
		for _, part := range parts {
			if strings.HasSuffix(name, part) {
				return true
			}
		}
		return false
	}
	switch {
	case n.class == ClassEmbedding && ends("embed_tokens.weight"), n.class == ClassHead && ends("lm_head.weight"):
		return []int64{b.m.Vocabulary, h}
	case ends("self_attn.q_proj.weight"):
		return []int64{g.heads * g.dim, h}
	case ends("self_attn.k_proj.weight", "self_attn.v_proj.weight"):
		return []int64{g.kv * g.dim, h}
	case ends("self_attn.o_proj.weight"):
		return []int64{h, g.heads * g.dim}
	case ends("self_attn.q_proj.bias"):
		return []int64{g.heads * g.dim}
	case ends("self_attn.k_proj.bias", "self_attn.v_proj.bias"):
		return []int64{g.kv * g.dim}
	case ends("self_attn.o_proj.bias"):
		return []int64{h}
	case ends("gate_proj.weight", "up_proj.weight", ".w1.weight", ".w3.weight"):
		return []int64{ff, h}
	case ends("down_proj.weight", ".w2.weight"):
		return []int64{h, ff}
	case ends(".gate.weight") && experts > 0:
		return []int64{experts, h}
	case ends("e_score_correction_bias") && experts > 0:
		return []int64{experts}
	case ends("q_norm.weight", "k_norm.weight"):
		return []int64{g.dim}
	case ends("norm.weight", "layernorm.weight"):
		return []int64{h}
	}
	return nil
}
