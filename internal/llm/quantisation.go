package llm

import (
	"fmt"
	"slices"
	"strings"
)

// rules say which linear layers are stored how.
type rules struct {
	exclude patterns
	only    patterns // where not empty, nothing else is quantised
	groups  []ruleGroup
	experts bool // only routed experts: mxfp4 of gpt-oss
}

// ruleGroup is a format for the modules that its patterns name; without patterns it is for all.
type ruleGroup struct {
	targets patterns
	format  Format
}

// The formats of quantised weights; sources are in the functions that choose them.
func fp8Tensor() Format { return Format{Name: "fp8", Bits: 8, TensorBytes: 4} }

func fp8Row(scale float64) Format {
	return Format{Name: "fp8", Bits: 8, Block: [2]int64{1, 0}, ScaleBytes: scale}
}

func fp8Block(rows, cols int64) Format {
	return Format{Name: "fp8-block", Bits: 8, Block: [2]int64{rows, cols}, ScaleBytes: 4}
}

// mxfp is the OCP microscaling format: a byte of exponent for 32 elements.
func mxfp(bits float64, group int64) Format {
	return Format{Name: fmt.Sprintf("mxfp%g", bits), Bits: bits, Group: group, ScaleBytes: 1}
}

// nvfp4 has an fp8 scale for 16 elements and two fp32 per tensor (NVIDIA ModelOpt: weight_scale_2, input_scale).
func nvfp4(group int64) Format {
	return Format{Name: "nvfp4", Bits: 4, Group: group, ScaleBytes: 1, TensorBytes: 8}
}

// grouped is integers with a bf16 scale for a group, and where asked for a zero point of their own width.
func grouped(bits float64, group int64, zero bool) Format {
	f := Format{Name: fmt.Sprintf("int%g", bits), Bits: bits, ScaleBytes: 2}
	if zero {
		f.ScaleBytes += bits / 8
	}
	if group > 0 {
		f.Group = group
	} else {
		f.Block = [2]int64{1, 0}
	}
	return f
}

// quantMethods reads quantization_config by its quant_method.
func quantMethods() map[string]func(q fields) (rules, Format) {
	return map[string]func(q fields) (rules, Format){
		"fp8":                fp8Rules,
		"fbgemm_fp8":         fbgemmRules,
		"mxfp4":              mxfp4Rules,
		"mxfp8":              mxfp8Rules,
		"awq":                awqRules,
		"gptq":               gptqRules,
		"auto-round":         autoRoundRules,
		"compressed-tensors": compressedRules,
		"modelopt":           modeloptRules,
		"modelopt_fp4":       modeloptRules,
		"modelopt_mixed":     modeloptRules,
		"quark":              quarkRules,
		"bitsandbytes":       bitsandbytesRules,
	}
}

// readQuantisation finds quantization_config in the config, in its text_config or in hf_quant_config.json.
func readQuantisation(b *builder, quantText []byte) (Quantisation, rules, error) {
	q, ok := b.object("quantization_config")
	if !ok {
		q, ok = b.whole.object("quantization_config")
	}
	if len(quantText) > 0 && (!ok || q.text("", "quant_algo") == "" && q.text("", "quant_method") == "") {
		object, err := decodeObject(quantText)
		if err != nil {
			return Quantisation{}, rules{}, fmt.Errorf("hf_quant_config.json: %w", err)
		}
		outer := b.whole
		outer.values, outer.prefix = object, "hf_quant_config.json: "
		q, ok = outer.object("quantization")
	}
	if !ok || len(q.values) == 0 {
		return Quantisation{}, rules{}, b.err()
	}
	method := strings.ToLower(q.text("", "quant_method"))
	if method == "" && (q.has("quant_algo") || q.has("kv_cache_quant_algo")) {
		method = "modelopt"
	}
	if method == "" && q.has("config_groups") {
		method = "compressed-tensors"
	}
	read, known := quantMethods()[method]
	if !known {
		q.problem("quant_method", "%q is unknown; known: %s", method, strings.Join(sortedKeys(quantMethods()), ", "))
		return Quantisation{}, rules{}, b.err()
	}
	r, format := read(q)
	r.prepare()
	if err := r.err(); err != nil {
		q.problem("quant_method", "%v", err)
	}
	return Quantisation{Method: method, Format: format, Exclude: r.exclude.written, KV: kvDType(q)}, r, b.err()
}

func sortedKeys[T any](m map[string]T) []string {
	var keys []string
	for key := range m {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return keys
}

// kvDType is the dtype of the KV cache that a checkpoint was calibrated for.
func kvDType(q fields) string {
	if q.isText("kv_cache_quant_algo") {
		return kvAlgorithm(q, "kv_cache_quant_algo")
	}
	if q.isText("kv_cache_scheme") {
		return kvAlgorithm(q, "kv_cache_scheme")
	}
	scheme, ok := q.object("kv_cache_scheme")
	if !ok {
		return ""
	}
	switch bits := scheme.countOr(8, "num_bits"); bits {
	case 8:
		return KVFP8
	case 4:
		return KVFP4
	}
	return ""
}

func kvAlgorithm(q fields, key string) string {
	switch algo := q.text("", key); strings.ToUpper(algo) {
	case "FP8":
		return KVFP8
	case "NVFP4":
		return KVFP4
	case "", "NONE":
	default:
		q.problem(key, "%q is unknown; known: FP8, NVFP4", algo)
	}
	return ""
}

func (f fields) isText(key string) bool { _, ok := f.values[key].(string); return ok }

// patternsOf gathers patterns of names from several keys.
func patternsOf(q fields, keys ...string) patterns {
	var all []string
	for _, key := range keys {
		if q.has(key) {
			all = append(all, q.texts(key)...)
		}
	}
	return patterns{written: all}
}

// prepare compiles all patterns.
func (r *rules) prepare() {
	r.exclude.compile()
	r.only.compile()
	for i := range r.groups {
		r.groups[i].targets.compile()
	}
}

func (r *rules) err() error {
	for _, p := range append([]patterns{r.exclude, r.only}, r.targets()...) {
		if p.wrong != nil {
			return p.wrong
		}
	}
	return nil
}

func (r *rules) targets() (all []patterns) {
	for _, g := range r.groups {
		all = append(all, g.targets)
	}
	return all
}

// quantise returns each linear layer the format that the rules have for it.
func (b *builder) quantise(r rules) {
	if len(r.groups) == 0 {
		return
	}
	met := make([]bool, len(r.groups))
	for i := range b.m.Tensors {
		t := &b.m.Tensors[i]
		if !b.linear[i] || r.experts && t.Class != ClassExpert {
			continue
		}
		module := newModule(t.Name)
		if r.exclude.match(module) || len(r.only.written) > 0 && !r.only.match(module) {
			continue
		}
		for j, g := range r.groups {
			if len(g.targets.written) == 0 || g.targets.match(module) {
				met[j] = true
				if g.format.Bits > 0 { // a group of 16 bits stays as it is
					t.Format = g.format
				}
				break
			}
		}
	}
	for j, g := range r.groups { // names that are those of another model would else leave it unquantised
		if !met[j] && len(g.targets.written) > 0 {
			b.problem("quantization_config", "%s and %d more name no linear layer of this model", quoted(g.targets.written[0]), len(g.targets.written)-1)
		}
	}
}
