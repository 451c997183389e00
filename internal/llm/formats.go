package llm

import "strings"

// all is one format for every linear layer that is not excluded.
func all(format Format, exclude patterns) rules {
	return rules{exclude: exclude, groups: []ruleGroup{{format: format}}}
}

// fp8Rules: blocks as DeepSeek-V3 stores them, else one scale per tensor, and another of activations where these are
// static (transformers, quantizer_finegrained_fp8.py; vLLM, quantization/fp8.py).
func fp8Rules(q fields) (rules, Format) {
	exclude := patternsOf(q, "modules_to_not_convert", "ignored_layers")
	format := fp8Tensor()
	if q.has("weight_block_size") {
		block := q.counts("weight_block_size")
		if len(block) != 2 || block[0] < 1 || block[1] < 1 {
			q.problem("weight_block_size", "must be two numbers above 0")
			return rules{}, format
		}
		format = fp8Block(block[0], block[1])
		if q.text("", "scale_fmt") == "ue8m0" && q.text("", "scale_dtype") == "uint8" {
			format.ScaleBytes = 1
		}
	} else if q.text("dynamic", "activation_scheme") == "static" {
		format.TensorBytes += 4
	}
	return all(format, exclude), format
}

// fbgemmRules: an fp32 scale per row (transformers, integrations/fbgemm_fp8.py).
func fbgemmRules(q fields) (rules, Format) {
	format := fp8Row(4)
	return all(format, patternsOf(q, "modules_to_not_convert")), format
}

// mxfp4Rules: only the routed experts (transformers, quantizer_mxfp4.py).
func mxfp4Rules(q fields) (rules, Format) {
	format := mxfp(4, 32)
	r := all(format, patternsOf(q, "modules_to_not_convert"))
	r.experts = true
	return r, format
}

func mxfp8Rules(q fields) (rules, Format) {
	format := mxfp(8, 32)
	return all(format, patternsOf(q, "modules_to_not_convert", "ignored_layers")), format
}

// groupSize is a field that is -1 where a whole row is one group.
func scaleGroup(q fields, missing int64) int64 {
	if _, value, ok := q.value("group_size", "q_group_size"); ok && quoted(value) == "-1" {
		return 0
	}
	return q.sizeOr(missing, "group_size", "q_group_size")
}

func (f fields) bits(key ...string) float64 {
	bits := f.size(key...)
	if bits != 2 && bits != 3 && bits != 4 && bits != 8 {
		f.problem(key[0], "%d is not 2, 3, 4 or 8", bits)
	}
	return float64(bits)
}

// awqRules: fp16 scales and packed zero points of each group (AutoAWQ, modules/linear/gemm.py).
func awqRules(q fields) (rules, Format) {
	format := grouped(q.bits("bits", "w_bit"), scaleGroup(q, 128), q.flag(true, "zero_point"))
	return all(format, patternsOf(q, "modules_to_not_convert")), format
}

// gptqRules: as AWQ, and an index of the group of each input (AutoGPTQ, nn_modules/qlinear registers g_idx always).
// Of the rules of GPTQModel for single modules only those that leave some out are known.
func gptqRules(q fields) (rules, Format) {
	format := grouped(q.bits("bits"), scaleGroup(q, 128), true)
	format.ColumnBytes = 4
	exclude := patternsOf(q, "modules_to_not_convert")
	if dynamic, ok := q.object("dynamic"); ok {
		for _, key := range sortedKeys(dynamic.values) {
			expression, leave := strings.CutPrefix(key, "-:")
			if !leave {
				dynamic.problem(key, "sets another format for some modules; only the headers show it")
				continue
			}
			exclude.written = append(exclude.written, "re:"+expression)
		}
	}
	r := all(format, exclude)
	for _, list := range q.list("modules_in_block_to_quantize") {
		inner, _ := list.([]any)
		for _, name := range inner {
			if text, ok := name.(string); ok {
				r.only.written = append(r.only.written, text)
			}
		}
	}
	return r, format
}

// autoRoundRules: GPTQ's or AWQ's layout; modules of extra_config with 16 bits stay as they are.
func autoRoundRules(q fields) (rules, Format) {
	format := grouped(q.bits("bits"), scaleGroup(q, 128), true)
	var exclude patterns
	if extra, ok := q.object("extra_config"); ok {
		for _, key := range sortedKeys(extra.values) {
			one, isObject := extra.object(key)
			if !isObject {
				continue
			}
			if bits := one.sizeOr(int64(format.Bits), "bits"); bits >= 16 {
				exclude.written = append(exclude.written, key)
			} else if float64(bits) != format.Bits {
				one.problem("bits", "%d is another format for one module; only the headers show it", bits)
			}
		}
	}
	return all(format, exclude), format
}

// compressedRules: groups of modules, each with its format (compressed-tensors, quant_args.py).
func compressedRules(q fields) (rules, Format) {
	r := rules{exclude: patternsOf(q, "ignore")}
	groups, ok := q.object("config_groups")
	if !ok {
		q.problem("config_groups", "is missing")
		return r, Format{}
	}
	common := q.text("", "format")
	for _, key := range sortedKeys(groups.values) {
		g, isObject := groups.object(key)
		if !isObject {
			continue
		}
		format := Format{}
		if w, has := g.object("weights"); has {
			format = compressedFormat(w, g.text(common, "format"))
		}
		r.groups = append(r.groups, ruleGroup{targets: patternsOf(g, "targets"), format: format})
	}
	if len(r.groups) == 0 {
		q.problem("config_groups", "is empty")
		return r, Format{}
	}
	return r, r.groups[0].format
}

func compressedFormat(w fields, layout string) Format {
	bits, kind, group := w.bits("num_bits"), w.text("int", "type"), w.countOr(0, "group_size")
	switch {
	case strings.HasPrefix(layout, "nvfp4") || kind == "float" && bits == 4 && group == 16:
		return nvfp4(max(group, 16))
	case strings.HasPrefix(layout, "mxfp") || kind == "float" && group == 32:
		return mxfp(bits, max(group, 32))
	case kind == "float" && bits == 8:
		return compressedFP8(w)
	case kind != "int":
		w.problem("type", "%q of %g bits is unknown; known: int, and float of 8 and 4 bits", kind, bits)
		return Format{}
	}
	format := grouped(bits, group, !w.flag(true, "symmetric"))
	if strings.HasPrefix(layout, "pack") {
		format.TensorBytes = 16 // weight_shape, two int64
	}
	return format
}

func compressedFP8(w fields) Format {
	switch strategy := w.text("tensor", "strategy"); strategy {
	case "tensor":
		return fp8Tensor()
	case "channel":
		return fp8Row(2)
	case "block":
		block := w.counts("block_structure")
		if len(block) != 2 || block[0] < 1 || block[1] < 1 {
			w.problem("block_structure", "must be two numbers above 0")
			return Format{}
		}
		return fp8Block(block[0], block[1])
	case "group":
		return Format{Name: "fp8", Bits: 8, Group: w.size("group_size"), ScaleBytes: 2}
	default:
		w.problem("strategy", "%q is unknown; known: tensor, channel, block, group", strategy)
		return Format{}
	}
}

// modeloptRules: one algorithm for all, or in MIXED_PRECISION one for each module that is listed (NVIDIA ModelOpt,
// export/quant_utils.py).
func modeloptRules(q fields) (rules, Format) {
	exclude := patternsOf(q, "exclude_modules", "ignore")
	algo := q.text("", "quant_algo")
	group := q.countOr(0, "group_size")
	if algo == "" && q.has("config_groups") {
		return compressedRules(q)
	}
	if algo == "MIXED_PRECISION" {
		return mixedRules(q, exclude)
	}
	format, known := modeloptFormat(algo, group)
	if !known {
		q.problem("quant_algo", "%q is unknown; known: FP8, FP8_PER_CHANNEL_PER_TOKEN, FP8_PB_WO, MIXED_PRECISION, MXFP8, NVFP4, NVFP4_AWQ, W4A16_AWQ, W4A8_AWQ, W4A8_NVFP4_FP8, W8A16, or none", algo)
	}
	if algo == "" || format.Bits == 0 {
		return rules{exclude: exclude}, format
	}
	return all(format, exclude), format
}

func modeloptFormat(algo string, group int64) (format Format, known bool) {
	switch algo {
	case "": // only the KV cache is quantised
		return Format{}, true
	case "FP8":
		return Format{Name: "fp8", Bits: 8, TensorBytes: 8}, true // scales of weights and of activations
	case "FP8_PER_CHANNEL_PER_TOKEN":
		return fp8Row(4), true
	case "FP8_PB_WO", "FP8_PB_REAL":
		return fp8Block(128, 128), true
	case "NVFP4", "NVFP4_AWQ", "W4A8_NVFP4_FP8", "W4A16_NVFP4", "NVFP4_SVDQUANT":
		if group == 0 {
			group = 16
		}
		return nvfp4(group), true
	case "MXFP8":
		return mxfp(8, 32), true
	case "MXFP4", "W4A8_MXFP4_FP8":
		return mxfp(4, 32), true
	case "W4A16_AWQ", "W4A8_AWQ", "INT4_AWQ":
		if group == 0 {
			group = 128
		}
		return grouped(4, group, false), true
	case "W8A16", "INT8_SQ", "W8A8_SQ_PER_CHANNEL":
		return grouped(8, 0, false), true
	}
	return Format{}, false
}

// mixedRules reads quantized_layers: names of modules with an algorithm each. Without it only the headers show them.
func mixedRules(q fields, exclude patterns) (rules, Format) {
	layers, ok := q.object("quantized_layers")
	if !ok || len(layers.values) == 0 {
		q.problem("quantized_layers", "is missing: without it only the headers show MIXED_PRECISION; give the folder with the safetensors files")
		return rules{}, Format{}
	}
	byAlgorithm := map[string][]string{}
	for _, name := range sortedKeys(layers.values) {
		one, isObject := layers.object(name)
		if !isObject {
			continue
		}
		algo := one.text("", "quant_algo")
		if _, known := modeloptFormat(algo, 0); !known {
			one.problem("quant_algo", "%q is unknown", algo)
			return rules{}, Format{}
		}
		byAlgorithm[algo] = append(byAlgorithm[algo], expertGlob(name))
	}
	r := rules{exclude: exclude}
	for _, algo := range sortedKeys(byAlgorithm) {
		format, _ := modeloptFormat(algo, q.countOr(0, "group_size"))
		r.groups = append(r.groups, ruleGroup{targets: patterns{written: byAlgorithm[algo]}, format: format})
	}
	return r, r.groups[0].format
}

// expertGlob takes every expert as the first: our tensors stand for all experts of a layer.
func expertGlob(name string) string {
	before, after, found := strings.Cut(name, ".experts.")
	if !found {
		return name
	}
	_, rest, more := strings.Cut(after, ".")
	if !more {
		return before + ".experts"
	}
	return before + ".experts.0." + rest
}

// quarkRules: one scheme for all, or another for some modules (AMD Quark, quantization/config).
func quarkRules(q fields) (rules, Format) {
	r := rules{exclude: patternsOf(q, "exclude")}
	if layers, ok := q.object("layer_quant_config"); ok {
		for _, name := range sortedKeys(layers.values) {
			one, isObject := layers.object(name)
			if !isObject {
				continue
			}
			r.groups = append(r.groups, ruleGroup{targets: patterns{written: []string{name}}, format: quarkFormat(one)})
		}
	}
	global, ok := q.object("global_quant_config")
	if !ok {
		q.problem("global_quant_config", "is missing")
		return r, Format{}
	}
	format := quarkFormat(global)
	r.groups = append(r.groups, ruleGroup{format: format})
	return r, format
}

func quarkFormat(q fields) Format {
	w, ok := q.object("weight")
	if !ok {
		return Format{}
	}
	kind, group, scheme := w.text("", "dtype"), w.countOr(0, "group_size"), w.text("", "qscheme")
	switch kind {
	case "fp4":
		return mxfp(4, max(group, 32))
	case "fp8_e4m3", "fp8_e5m2":
		if scheme == "per_channel" {
			return fp8Row(4)
		}
		if group > 0 {
			return mxfp(8, group)
		}
		return fp8Tensor()
	case "int8":
		return grouped(8, group, false)
	case "int4", "uint4":
		return grouped(4, group, kind == "uint4")
	}
	w.problem("dtype", "%q is unknown; known: fp4, fp8_e4m3, fp8_e5m2, int8, int4, uint4", kind)
	return Format{}
}

// bitsandbytesRules: four bits with an fp32 maximum for 64 elements, or these maxima in a byte each with fp32 for
// 256 of them; eight bits with an fp32 a row (bitsandbytes, functional.py, QuantState).
func bitsandbytesRules(q fields) (rules, Format) {
	exclude := patternsOf(q, "llm_int8_skip_modules")
	if q.flag(false, "load_in_8bit", "_load_in_8bit") {
		format := Format{Name: "int8", Bits: 8, Block: [2]int64{1, 0}, ScaleBytes: 4}
		return all(format, exclude), format
	}
	if !q.flag(false, "load_in_4bit", "_load_in_4bit") {
		q.problem("load_in_4bit and load_in_8bit", "neither is true")
		return rules{}, Format{}
	}
	format := Format{Name: q.text("nf4", "bnb_4bit_quant_type"), Bits: 4, Group: 64, ScaleBytes: 4}
	if q.flag(false, "bnb_4bit_use_double_quant") {
		format.ScaleBytes = 1 + 4./256
	}
	return all(format, exclude), format
}
