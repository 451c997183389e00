package llm

import (
	"fmt"
	"math"
)

// builder gathers the weights of a model while its family's function walks the layers.
type builder struct {
	fields                // of the language model's config
	whole    fields       // of the outermost config
	m        *Model       // what is built
	linear   map[int]bool // tensors, by index, that a quantisation may take: weights of linear layers
	weights  Format       // of what is not quantised
	root     string       // before the names of the language model: "model."
	scope    string       // before the names of the current layer: "model.layers.3."
	layer    int          // current one, -1 outside
	override Class        // of all that is added while it is set: MTP, vision
	hidden   int64
}

// mostWeights bounds one tensor, so that sums stay exact: the largest known model has 3e12 weights.
const mostWeights = 1e15

func (b *builder) add(class Class, name string, rows, cols, count int64, quantisable bool) {
	if rows <= 0 || cols <= 0 || count <= 0 {
		return
	}
	if float64(rows)*float64(cols)*float64(count) > mostWeights {
		b.problem(b.scope+name, "%d weights of %d x %d are more than %g", count, rows, cols, float64(mostWeights))
		return
	}
	layer := b.layer
	if b.override != "" {
		class = b.override
	}
	if b.override == ClassMTP || b.override == ClassVision {
		layer = -1
	}
	if quantisable && b.override != ClassVision {
		b.linear[len(b.m.Tensors)] = true
	}
	b.m.Tensors = append(b.m.Tensors, Tensor{
		Name: b.scope + name, Class: class, Layer: layer, Rows: rows, Cols: cols, Count: count, Format: b.weights,
	})
}

// matrix is the weight of a linear layer.
func (b *builder) matrix(class Class, name string, out, in int64) {
	b.add(class, name+".weight", out, in, 1, true)
}

// biased is a linear layer that may have a bias.
func (b *builder) biased(class Class, name string, out, in int64, bias bool) {
	b.matrix(class, name, out, in)
	if bias {
		b.vector(class, name+".bias", out)
	}
}

// unquantised is a matrix that no quantisation takes: embeddings, routers, convolutions.
func (b *builder) unquantised(class Class, name string, out, in int64) {
	b.add(class, name+".weight", out, in, 1, false)
}

// vector is anything that is not a matrix.
func (b *builder) vector(class Class, name string, n int64) { b.add(class, name, n, 1, 1, false) }

// normKind is what a normalisation holds.
type normKind string

// The kinds of normalisation.
const (
	rms       normKind = "rms"   // a weight
	layerNorm normKind = "layer" // a weight and a bias
	noWeight  normKind = "none"  // nothing
)

func (b *builder) norm(kind normKind, name string, n int64) {
	if kind == noWeight {
		return
	}
	b.vector(ClassReplicated, name+".weight", n)
	if kind == layerNorm {
		b.vector(ClassReplicated, name+".bias", n)
	}
}

func (b *builder) norms(kind normKind, names ...string) {
	for _, name := range names {
		b.norm(kind, name, b.hidden)
	}
}

// embed is the embedding of the vocabulary.
func (b *builder) embed(name string) {
	b.scope, b.layer = b.root, -1
	b.unquantised(ClassEmbedding, name, b.m.Vocabulary, b.hidden)
}

// head is the output projection, unless it is the embedding again.
func (b *builder) head(bias bool) {
	b.scope, b.layer = "", -1
	if !b.m.TiedHead {
		b.unquantised(ClassHead, "lm_head", b.m.Vocabulary, b.hidden)
	}
	if bias {
		b.vector(ClassHead, "lm_head.bias", b.m.Vocabulary)
	}
}

// mostLayers bounds num_hidden_layers: the deepest known models have 126 of two parts each.
const mostLayers = 4096

// layers walks the layers of the language model; each returns what it keeps and how it is fed forward.
func (b *builder) layers(count int64, folder string, build func(i int) Layer) {
	if count > mostLayers {
		b.problem("num_hidden_layers", "%d is above %d", count, mostLayers)
		return
	}
	for i := range int(count) {
		if len(*b.problems) > 0 {
			return // the same faults again in each layer
		}
		b.layer, b.scope = i, fmt.Sprintf("%s%s.%d.", b.root, folder, i)
		b.m.Layers = append(b.m.Layers, build(i))
	}
	b.layer, b.scope = -1, b.root
}

// separately builds what does not belong to the language model's own layers.
func (b *builder) separately(class Class, scope string, build func()) {
	override, before, layer := b.override, b.scope, b.layer
	b.override, b.scope, b.layer = class, scope, -1
	build()
	b.override, b.scope, b.layer = override, before, layer
}

// number of layers; by one of the names that families give it.
func (b *builder) depth() int64 {
	return b.size("num_hidden_layers", "n_layer", "num_layers", "n_layers")
}

// window is the sliding window of layer i, 0 where it sees everything. Layers are given by layer_types, or by the
// rule of the family where that is absent.
func (b *builder) window(i int, rule func(i int) bool) int64 {
	width := b.countOr(0, "sliding_window")
	if types := b.layerTypes(); types != nil {
		if i < len(types) && types[i] == "sliding_attention" {
			return b.size("sliding_window")
		}
		return 0
	}
	if width > 0 && rule(i) {
		return width
	}
	return 0
}

// layerTypes is what layer_types says of each layer; nil where it is absent.
func (b *builder) layerTypes() []string {
	types := b.texts("layer_types")
	if types != nil && int64(len(types)) < b.depth() {
		b.problem("layer_types", "has %d elements for %d layers", len(types), b.depth())
		return nil
	}
	return types
}

func never(int) bool { return false }

func always(int) bool { return true }

func scaled(n int64, factor float64) int64 { return int64(math.Round(float64(n) * factor)) }
