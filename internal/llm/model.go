package llm

import (
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// Model is a language model as its config.json, its index or the headers of its weights describe it.
type Model struct {
	ID        string // as given: a name of the catalog or a path
	Path      string // that an engine is given: the published name of the repository, or the folder; empty: unknown
	Assumed   string // in words, what was assumed of the name; empty: nothing
	Type      string // model_type; of a wrapper that of its text_config
	Arch      string // first of architectures
	Certainty Certainty

	Hidden     int64
	Vocabulary int64
	Context    int64 // max_position_embeddings, tokens
	TiedHead   bool
	Layers     []Layer // of the language model, in order
	// VisionLayers and VisionHidden are those of vision_config: SGLang scales its memory fraction by them. 0: no tower.
	VisionLayers, VisionHidden int64
	MTP                        int // layers of multi-token prediction, not loaded without speculative decoding
	Quantisation               Quantisation
	Tensors                    []Tensor            // every weight, in groups of equal ones
	DiskBytes                  int64               // of all weight files; from the index or the headers where there are such, else of Tensors
	Scale                      float64             // from the formula's bytes to those of the index; 1 where there is no index
	Assumptions                []fabric.Assumption // defaults that no file states
}

// Certainty says what the bytes of a Model were read from.
type Certainty string

// The certainties, surest first.
const (
	FromHeaders Certainty = "headers"
	FromIndex   Certainty = "index"
	FromFormula Certainty = "formula"
)

// Layer is one block of the language model.
type Layer struct {
	Attention Attention
	FFN       FFN
}

// AttentionKind says what a layer keeps of the past.
type AttentionKind string

// The kinds of attention.
const (
	GQA         AttentionKind = "gqa"    // keys and values of every KV head; MHA and MQA too
	MLA         AttentionKind = "mla"    // one latent and one rope key per token
	Linear      AttentionKind = "linear" // a state of fixed size per request: GatedDeltaNet and related kinds
	Mamba       AttentionKind = "mamba"  // likewise
	NoAttention AttentionKind = "none"   // a block of another kind
)

// Attention is the attention of a layer. What does not apply to its kind is 0.
type Attention struct {
	Kind    AttentionKind
	Heads   int64
	KVHeads int64
	HeadDim int64 // of query and key
	VDim    int64 // of value
	Window  int64 // tokens that are kept, sliding or chunked; 0: all
	Chunked bool  // Window is a chunk: attention does not cross its border
	Shared  bool  // reads the cache of an earlier layer and keeps none of its own

	QLoraRank, KVLoraRank, RopeDim, NopeDim int64 // MLA
	IndexHeads, IndexDim, IndexTopK         int64 // sparse index (DSA); 0: none

	KeyHeads, ValueHeads, KeyDim, ValueDim, ConvKernel int64 // linear
	StateSize, Groups, InnerDim                        int64 // Mamba
	StateBytes                                         int64 // of one element of the recurrent state; 4 unless the config says otherwise
}

// FFN is the feed-forward part of a layer.
type FFN struct {
	Intermediate       int64 // dense; 0: none
	Experts            int64 // routed; 0: dense
	TopK               int64
	ExpertIntermediate int64
	Shared             int64 // shared experts
	SharedIntermediate int64 // of all of them together
	Gated              bool  // gate, up and down; else up and down
}

// Class is what a weight belongs to; an engine shards by it.
type Class string

// The classes of weights.
const (
	ClassEmbedding  Class = "embedding"
	ClassHead       Class = "head"
	ClassAttention  Class = "attention"  // divided by attention heads: q, o
	ClassKV         Class = "kv"         // divided by KV heads, at least one per rank: k, v
	ClassReplicated Class = "replicated" // whole on every rank: MLA q_a and kv_a, indexer, router, norms
	ClassDense      Class = "dense"      // divided by its intermediate size
	ClassExpert     Class = "expert"     // routed experts
	ClassShared     Class = "shared"     // shared experts, divided as dense ones
	ClassLinear     Class = "linear"     // linear attention and Mamba, divided by their heads
	ClassVision     Class = "vision"
	ClassMTP        Class = "mtp"
)

// Tensor is a group of equal weights of one layer, or of none.
type Tensor struct {
	Name   string // pattern of their names: model.layers.*.mlp.experts.*.down_proj.weight
	Class  Class
	Layer  int   // -1: of no layer
	Rows   int64 // output dimension; the whole count where it is not a matrix
	Cols   int64 // input dimension; 1 where it is not a matrix
	Count  int64 // how many of them
	Format Format
	// Auxiliary weights are not parameters: scales and zero points that the headers list as tensors of their own.
	Auxiliary bool
}

// Parameters is how many weights the group has.
func (t Tensor) Parameters() int64 {
	if t.Auxiliary {
		return 0
	}
	return t.Rows * t.Cols * t.Count
}

// Format is how weights are stored.
type Format struct {
	Name  string   // bf16, fp16, fp32, fp8, fp8-block, mxfp4, nvfp4, int4, int8, ...
	Bits  float64  // of one weight without its scales
	Group int64    // weights of a row that share a scale, rounded up; 0: none do, or see Block
	Block [2]int64 // rows and columns that share a scale, both rounded up; columns 0: the whole row; {0, 0}: none do, or see Group
	// ScaleBytes are those of one scale, with its zero point.
	ScaleBytes  float64
	TensorBytes float64 // in addition for each tensor: global scales, shapes
	ColumnBytes float64 // in addition for each input dimension: GPTQ's g_idx
}

// Quantisation is what quantization_config says.
type Quantisation struct {
	Method  string   // quant_method; empty: none
	Format  Format   // of what is quantised
	Exclude []string // patterns of names that are not, as written
	KV      string   // dtype of the KV cache that the checkpoint asks for; empty: that of activations
}

// Bytes is the size of one tensor of this format with its scales, as safetensors store it.
func (f Format) Bytes(rows, cols int64) int64 {
	bytes := math.Ceil(float64(rows) * float64(cols) * f.Bits / 8)
	if f.Group > 0 {
		bytes += float64(rows) * float64(ceilDiv(cols, f.Group)) * f.ScaleBytes
	}
	if f.Block[0] > 0 {
		across := int64(1)
		if f.Block[1] > 0 {
			across = ceilDiv(cols, f.Block[1])
		}
		bytes += float64(ceilDiv(rows, f.Block[0])) * float64(across) * f.ScaleBytes
	}
	return int64(math.Ceil(bytes + float64(cols)*f.ColumnBytes + f.TensorBytes))
}

// Bytes is what the whole group takes as it is stored, rescaled to the index where there is one.
func (m *Model) Bytes(t Tensor) int64 {
	bytes := t.Format.Bytes(t.Rows, t.Cols) * t.Count
	if m.Scale > 0 && m.Scale != 1 {
		return int64(math.Round(float64(bytes) * m.Scale))
	}
	return bytes
}

// Parameters counts the weights of the language model, those of it that one token uses, and separately those of
// multi-token prediction and of vision.
func (m *Model) Parameters() fabric.Parameters {
	var p fabric.Parameters
	for _, t := range m.Tensors {
		n := t.Parameters()
		switch t.Class {
		case ClassMTP:
			p.MTP += n
		case ClassVision:
			p.Vision += n
		case ClassExpert:
			p.Total += n
			p.Active += m.activeOf(t, n)
		default:
			p.Total += n
			p.Active += n
		}
	}
	return p
}

// activeOf is the share of a layer's routed experts that one token uses.
func (m *Model) activeOf(t Tensor, n int64) int64 {
	if t.Layer < 0 || t.Layer >= len(m.Layers) {
		return n
	}
	f := m.Layers[t.Layer].FFN
	if f.Experts < 1 {
		return n
	}
	return int64(math.Round(float64(n) * float64(f.TopK) / float64(f.Experts)))
}

// WeightsBytes is what an engine loads once, without speculative decoding: all but multi-token prediction.
func (m *Model) WeightsBytes() (bytes int64) {
	for _, t := range m.Tensors {
		if t.Class != ClassMTP {
			bytes += m.Bytes(t)
		}
	}
	return bytes
}

// bytes of all tensors.
func (m *Model) tensorBytes() (bytes int64) {
	for _, t := range m.Tensors {
		bytes += m.Bytes(t)
	}
	return bytes
}

func ceilDiv(a, b int64) int64 { return (a + b - 1) / b }
