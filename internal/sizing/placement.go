package sizing

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// Placement is a model on the GPUs of one replica, as an engine divides it.
type Placement struct {
	Model   *llm.Model
	Machine Machine
	Layout  fabric.Layout
	Spread  Spread
	KVDType string
}

// Place divides a model by a layout as an engine does; an empty name stands for the first engine. It fails where the
// engine is unknown or the numbers of the layout do not divide each other. Rules of the engine are not applied.
func Place(m *llm.Model, machine Machine, engine string, l fabric.Layout, kvDType string) (Placement, error) {
	e, err := EngineNamed(engine)
	if err != nil {
		return Placement{}, err
	}
	if err := checkLayout(l); err != nil {
		return Placement{}, err
	}
	p := Placement{Model: m, Machine: machine, Layout: l, KVDType: kvDType, Spread: e.spread(l, shapeOf(m))}
	if w := p.Spread; min(w.Attention, w.Dense, w.Shared, w.MoETP, w.EP, w.Vocabulary, w.PP, w.DP) < 1 {
		return Placement{}, fmt.Errorf("layout %q: its numbers do not divide each other", l)
	}
	return p, nil
}

// Spread is by how many ranks an engine divides each part of a model.
type Spread struct {
	World      int // ranks of the replica
	Attention  int // attention heads
	Dense      int // dense FFN
	Shared     int // shared experts
	MoETP      int // the intermediate size of each expert
	EP         int // the number of experts
	Vocabulary int // embedding and head; 1: whole on every rank
	PP         int // pipeline stages
	DP         int // replicas of attention
	// whole says that dense FFN and shared experts are kept whole on every rank: SGLang's DeepEP with
	// --moe-dense-tp-size 1.
	whole bool
}

// maxParallel bounds what may be requested; the largest published deployments have a few hundred ranks.
const maxParallel = 4096

// checkLayout refuses numbers that no layout has.
func checkLayout(l fabric.Layout) error {
	for _, f := range []struct {
		name string
		n    int
	}{{"nodes", l.Nodes}, {"gpus", l.GPUs}, {"tp", l.TP}, {"pp", l.PP}, {"ep", l.EP}, {"dp", l.DP}} {
		if f.n < 1 || f.n > maxParallel {
			return fmt.Errorf("%s %d: must be from 1 to %d", f.name, f.n, maxParallel)
		}
	}
	return nil
}

// Share is the part of a tensor that one rank holds; above 1 where an engine pads.
func (p Placement) Share(t llm.Tensor) float64 {
	spread := p.Spread
	var layer llm.Layer
	if t.Layer >= 0 && t.Layer < len(p.Model.Layers) {
		layer = p.Model.Layers[t.Layer]
	}
	switch t.Class {
	case llm.ClassEmbedding, llm.ClassHead:
		if t.Rows != p.Model.Vocabulary {
			return 1 // of positions or of layers
		}
		return padded(t.Rows, vocabPad, 1) / float64(spread.Vocabulary)
	case llm.ClassAttention, llm.ClassLinear:
		return 1 / float64(spread.Attention)
	case llm.ClassKV:
		k := layer.Attention.KVHeads
		if k < 1 {
			return 1 / float64(spread.Attention)
		}
		return float64(max(1, ceilDiv(k, int64(spread.Attention)))) / float64(k)
	case llm.ClassDense:
		return 1 / float64(spread.Dense)
	case llm.ClassShared:
		return 1 / float64(spread.Shared)
	case llm.ClassExpert:
		return p.expertShare(t, layer.FFN)
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

// expertShare divides experts by rank and their intermediate size by MoETP; where experts do not divide, one rank has one
// more. MXFP4 experts are padded: hidden to 256, the intermediate size to what the kernel of the GPU needs (vLLM 0.10.1.1
// and SGLang 0.5.0rc2, layers/quantization/mxfp4.py; start log of gpt-oss-120b on an H100: 64.38 GiB for 60.77).
func (p Placement) expertShare(t llm.Tensor, f llm.FFN) float64 {
	spread := p.Spread
	part := 1 / float64(spread.MoETP*spread.EP)
	if f.Experts > 0 {
		part = float64(ceilDiv(f.Experts, int64(spread.EP))) / float64(f.Experts) / float64(spread.MoETP)
	}
	if t.Format.Name != "mxfp4" {
		return part
	}
	inner := int64(64)
	switch {
	case p.Machine.Vendor == "amd":
		inner = 128
	case p.Machine.blackwell():
		inner = 256
	}
	for _, dim := range []int64{t.Rows, t.Cols} {
		switch dim {
		case p.Model.Hidden: // equal to the intermediate size in gpt-oss: one dimension of each, and only one, is the hidden one
			part *= padded(dim, 256, 1)
			if f.ExpertIntermediate == p.Model.Hidden {
				return part * padded(dim, inner, int64(spread.MoETP))
			}
		case f.ExpertIntermediate, 2 * f.ExpertIntermediate:
			part *= padded(dim, inner, int64(spread.MoETP))
		}
	}
	return part
}

// divisors of n from the largest.
func divisors(n int) []int {
	var out []int
	for d := n; d >= 1; d-- {
		if n%d == 0 {
			out = append(out, d)
		}
	}
	return out
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
