package llm

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// family is how the weights of some model types follow from their configs. Sources are the modelling files of
// transformers 5.23 under models/, by the name of the model type, unless the family's file says otherwise.
type family struct {
	types []string
	build func(b *builder)
	// defaults are sizes that published files leave out and transformers fills in, by model type.
	defaults map[string]map[string]int64
	tied     bool // the head is the embedding where tie_word_embeddings is absent
}

// families lists every family once.
func families() []family {
	return slices.Concat(
		llamaFamilies(), denseFamilies(), classicFamilies(), glmFamilies(), gemmaFamilies(), qwenFamilies(),
		deepseekFamilies(), expertFamilies(), gptOSSFamilies(), llama4Families(), miniMaxFamilies(),
		linearFamilies(), mambaFamilies(), nemotronFamilies(),
	)
}

// ModelTypes lists the model types for which a config.json is enough, sorted.
func ModelTypes() []string {
	var types []string
	for _, f := range families() {
		types = append(types, f.types...)
	}
	slices.Sort(types)
	return types
}

// errUnknownType is returned where a model type has no family.
var errUnknownType = errors.New("is unknown")

func familyOf(modelType string) (family, bool) {
	for _, f := range families() {
		if slices.Contains(f.types, modelType) {
			return f, true
		}
	}
	return family{}, false
}

// readConfig builds a model from the text of a config.json and, where there is one, of a hf_quant_config.json.
func readConfig(id string, text, quantText []byte) (*Model, error) {
	b, err := newBuilder(id, text)
	if err != nil {
		return nil, err
	}
	f, known := familyOf(b.m.Type)
	if !known {
		return nil, fmt.Errorf("model_type: %q %w; known: %s; for another, give a folder with its safetensors files or their index",
			b.m.Type, errUnknownType, strings.Join(ModelTypes(), ", "))
	}
	b.defaults = f.defaults[b.m.Type]
	quantisation, rules, err := readQuantisation(b, quantText)
	if err != nil {
		return nil, err
	}
	b.m.Quantisation = quantisation
	b.basics(f)
	b.refuseOverrides()
	if err := b.err(); err != nil {
		return nil, err
	}
	f.build(b)
	if err := b.err(); err != nil {
		return nil, err
	}
	b.settlePrediction()
	b.vision()
	b.quantise(rules)
	if err := b.err(); err != nil {
		return nil, err
	}
	b.m.Scale, b.m.Certainty, b.m.Assumptions = 1, FromFormula, *b.assumed
	b.m.DiskBytes = b.m.tensorBytes()
	return b.m, nil
}

// newBuilder finds the language model's config: that of text_config or one of its synonyms where there is one.
func newBuilder(id string, text []byte) (*builder, error) {
	object, err := decodeObject(text)
	if err != nil {
		return nil, err
	}
	whole := newFields(object)
	b := &builder{fields: whole, whole: whole, m: &Model{ID: id}, linear: map[int]bool{}, root: "model.", layer: -1}
	for _, key := range []string{"thinker_config", "text_config", "llm_config", "language_config"} {
		inner, ok := b.object(key)
		if !ok {
			continue
		}
		b.fields, b.root = inner, "model.language_model."
	}
	b.m.Type = b.text("", "model_type")
	if b.m.Type == "" {
		b.m.Type = whole.text("", "model_type")
	}
	if b.m.Type == "" && len(*b.problems) == 0 {
		whole.problem("model_type", "is missing")
	}
	for i, name := range whole.texts("architectures") {
		if i == 0 {
			b.m.Arch = name
		}
	}
	return b, whole.err()
}

// basics reads what every family has.
func (b *builder) basics(f family) {
	b.hidden = b.size("hidden_size", "n_embd", "d_model")
	b.m.Hidden = b.hidden
	b.m.Vocabulary = b.size("vocab_size")
	b.m.Context = b.context()
	b.m.MTP = int(b.countOr(0, "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers"))
	says := b.fields
	if !b.has("tie_word_embeddings") && b.whole.has("tie_word_embeddings") {
		says = b.whole
	}
	b.m.TiedHead = says.flag(f.tied, "tie_word_embeddings")
	b.weights = b.stored()
}

// context is the longest sequence that the model supports, in tokens; 0: the configuration does not state it.
func (b *builder) context() int64 {
	for _, key := range []string{"max_position_embeddings", "max_sequence_length", "seq_length", "n_positions", "n_ctx", "max_seq_len", "model_max_length"} {
		for _, f := range []fields{b.fields, b.whole} {
			if _, value, ok := f.value(key); ok {
				return f.whole(key, value, 1, 1<<32)
			}
		}
	}
	if n, known := b.defaults["max_position_embeddings"]; known {
		b.assume("max_position_embeddings", fmt.Sprint(n), "not in the file: default of transformers 5.23 for "+b.m.Type)
		return n
	}
	return 0
}

// stored is the format of the weights that are not quantised.
func (b *builder) stored() Format {
	name := ""
	for _, f := range []fields{b.fields, b.whole} {
		if name == "" {
			name = f.text("", "dtype", "torch_dtype")
		}
	}
	switch strings.TrimPrefix(name, "torch.") {
	case "bfloat16":
		return Format{Name: "bf16", Bits: 16}
	case "float16":
		return Format{Name: "fp16", Bits: 16}
	case "float32":
		return Format{Name: "fp32", Bits: 32}
	case "":
		b.assume("dtype", "bfloat16", "not in the file; every published model of this kind that omits it has this")
		return Format{Name: "bf16", Bits: 16}
	}
	b.problem("dtype", "%q is unknown; known: bfloat16, float16, float32", name)
	return Format{Name: "bf16", Bits: 16}
}

// settlePrediction records an assumption where multi-token prediction is named but its weights are unknown.
func (b *builder) settlePrediction() {
	if b.m.MTP > 0 && !slices.ContainsFunc(b.m.Tensors, func(t Tensor) bool { return t.Class == ClassMTP }) {
		b.assume("num_nextn_predict_layers", fmt.Sprintf("%d, not counted", b.m.MTP),
			"no source describes how "+b.m.Type+" stores multi-token prediction; an index or the headers would")
		b.m.MTP = 0
	}
}

// refuseOverrides refuses what transformers 5 writes for layers that differ from the rest, where the family does not
// read it: without it every layer would look the same.
func (b *builder) refuseOverrides() {
	if b.has("per_layer_config") && b.m.Type != "gemma4_text" && b.m.Type != "gemma4" {
		b.problem("per_layer_config", "is not supported for %s: give a folder with the safetensors files", b.m.Type)
	}
}

// layerField is a size that per_layer_config gives for layer i, else what the whole model has.
func (b *builder) layerField(i int, key string, whole int64) int64 {
	layers, ok := b.object("per_layer_config")
	if !ok {
		return whole
	}
	for name := range layers.values {
		if n, err := strconv.Atoi(name); err == nil && n == i {
			if one, isObject := layers.object(name); isObject {
				return one.sizeOr(whole, key)
			}
		}
	}
	return whole
}
