package sizing

import (
	"strings"

	"railwright.dev/railwright/internal/llm"
)

// shape is the dimensions of a model that layouts are judged by, each once.
type shape struct {
	gqa      []headCount // different (heads, KV heads, head dimension) of GQA layers
	mla      []int64     // different head counts of MLA layers
	linear   []headCount // key and value heads of linear layers
	mamba    []headCount // heads and groups of Mamba layers
	dense    []int64     // different inner dimensions of dense layers
	shared   []int64
	expert   []int64 // inner dimensions of experts
	experts  int64   // fewest of a layer; 0: none
	minKV    int64   // fewest KV heads of a GQA layer; 0: none
	windowed int     // layers with a window or a chunk
	chunked  bool
	blocks   []dividedDimension // dimensions whose parts are to be multiples of a quantisation block
	groups   []dividedDimension // of a group of weights with one scale
	full     int                // layers that keep all of the past
	state    int                // layers with a state of fixed size
}

// dividedDimension is a dimension that ranks divide, and of what each part is to be a multiple.
type dividedDimension struct {
	what  string
	class llm.Class
	dim   int64
	of    int64
}

// ranks is how many divide it.
func (d dividedDimension) ranks(p Spread) int64 {
	switch d.class {
	case llm.ClassExpert:
		return int64(p.MoETP)
	case llm.ClassAttention:
		return int64(p.Attention)
	case llm.ClassShared:
		return int64(p.Shared)
	default:
		return int64(p.Dense)
	}
}

// splitsBlocks reports whether the ranks of a layout cut blocks of dense FFN or of shared experts.
func (s *shape) splitsBlocks(p Spread) bool {
	for _, b := range s.blocks {
		if n := b.ranks(p); (b.class == llm.ClassDense || b.class == llm.ClassShared) && n > 0 && b.dim%(n*b.of) != 0 {
			return true
		}
	}
	return false
}

type headCount struct{ heads, other, dim int64 }

func shapeOf(m *llm.Model) *shape {
	s := &shape{}
	for _, l := range m.Layers {
		a, f := l.Attention, l.FFN
		switch a.Kind {
		case llm.GQA:
			s.gqa = appendNew(s.gqa, headCount{a.Heads, a.KVHeads, a.HeadDim})
			if s.minKV == 0 || a.KVHeads < s.minKV {
				s.minKV = a.KVHeads
			}
		case llm.MLA:
			s.mla = appendNew(s.mla, a.Heads)
		case llm.Linear:
			s.linear = appendNew(s.linear, headCount{a.KeyHeads, a.ValueHeads, a.KeyDim})
			s.state++
		case llm.Mamba:
			s.mamba = appendNew(s.mamba, headCount{a.Heads, a.Groups, a.HeadDim})
			s.state++
		}
		if keeps := a.Kind == llm.GQA || a.Kind == llm.MLA; keeps && a.Window > 0 {
			s.windowed++
			s.chunked = s.chunked || a.Chunked
		} else if keeps {
			s.full++
		}
		s.ffn(f)
	}
	for _, t := range m.Tensors {
		if t.Layer >= 0 && t.Layer < len(m.Layers) && !t.Auxiliary && t.Class != llm.ClassMTP {
			s.quantised(t, m.Layers[t.Layer])
		}
	}
	return s
}

// quantised notes what a tensor's scales ask of a layout. One scale per row or per tensor goes wherever its row goes.
func (s *shape) quantised(t llm.Tensor, l llm.Layer) {
	var inner int64
	what := string(t.Class)
	switch t.Class {
	case llm.ClassExpert:
		inner, what = l.FFN.ExpertIntermediate, "experts"
	case llm.ClassDense:
		inner, what = l.FFN.Intermediate, "FFN"
	case llm.ClassShared:
		inner, what = l.FFN.SharedIntermediate, "shared experts"
	case llm.ClassAttention:
		if l.Attention.Kind != llm.GQA && l.Attention.Kind != llm.MLA {
			return
		}
		inner = t.Rows
		if strings.Contains(t.Name, "o_proj") { // divided along its input
			inner = t.Cols
		}
	default:
		return
	}
	byColumn := t.Cols == inner && t.Rows != inner || t.Class == llm.ClassAttention && inner == t.Cols
	if b := t.Format.Block; b[0] > 1 && b[1] > 1 {
		of := b[0]
		if byColumn {
			of = b[1]
		}
		s.blocks = appendNew(s.blocks, dividedDimension{what, t.Class, inner, of})
	}
	if g := t.Format.Group; g > 1 && t.Cols == inner && strings.HasPrefix(t.Format.Name, "int") && t.Class != llm.ClassAttention {
		if t.Class == llm.ClassExpert {
			g = min(g, 32) // groups of experts may be halved down to that (moe_wna16.py, group_size_div_factor)
		}
		s.groups = appendNew(s.groups, dividedDimension{what, t.Class, inner, g})
	}
}

func (s *shape) ffn(f llm.FFN) {
	if f.Intermediate > 0 {
		s.dense = appendNew(s.dense, f.Intermediate)
	}
	if f.Experts > 0 {
		s.expert = appendNew(s.expert, f.ExpertIntermediate)
		if s.experts == 0 || f.Experts < s.experts {
			s.experts = f.Experts
		}
	}
	if f.SharedIntermediate > 0 {
		s.shared = appendNew(s.shared, f.SharedIntermediate)
	}
}

func (s *shape) isMLA() bool { return len(s.mla) > 0 }

func appendNew[T comparable](list []T, v T) []T {
	for _, x := range list {
		if x == v {
			return list
		}
	}
	return append(list, v)
}
