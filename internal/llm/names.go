package llm

import (
	"math"
	"strconv"
	"strings"
)

// weightName is what the name of a stored tensor shows.
type weightName struct {
	class     Class  // empty where the name shows none
	layer     int    // -1: none of the language model's
	pattern   string // with * for every number
	fused     bool   // queries, keys and values in one
	auxiliary bool   // scale, zero point, index of groups
	packed    bool   // several weights per element
}

// auxiliarySuffixes end the names of what is stored beside a quantised weight.
func auxiliarySuffixes() []string {
	return []string{
		"weight_scale_inv", "weight_scale", "weight_scale_2", "weight_global_scale", "weight_zero_point", "weight_shape", "weight_g_idx",
		"input_scale", "input_global_scale", "activation_scale", "output_scale", "k_scale", "v_scale", "q_scale", "qzeros", "scales", "g_idx",
		"_scales", "scale_inv", "SCB", "absmax", "quant_map", "nested_absmax", "nested_quant_map", "bitsandbytes__nf4", "bitsandbytes__fp4",
		"weight_format", "pre_quant_scale",
	}
}

// nameReader reads names of tensors of a model of that many layers. Names that differ only in numbers are parsed
// once: a model has hundreds of thousands of them.
type nameReader struct {
	depth int
	known map[string]weightName
}

func newNameReader(depth int) nameReader { return nameReader{depth, map[string]weightName{}} }

func (r nameReader) read(name string) weightName {
	pattern, layer := starred(name)
	n, ok := r.known[pattern]
	if !ok {
		n = readPattern(pattern, layer)
		r.known[pattern] = n
	}
	switch {
	case n.class == ClassVision:
	case isPrediction(name), r.depth > 0 && layer >= r.depth:
		n.class = ClassMTP
	default:
		n.layer = layer
	}
	return n
}

// readPattern finds what does not depend on numbers; the layer only reports whether there is one.
func readPattern(pattern string, layer int) weightName {
	n := weightName{layer: -1, pattern: pattern}
	for _, suffix := range auxiliarySuffixes() {
		if strings.HasSuffix(pattern, "."+suffix) || strings.HasPrefix(suffix, "_") && strings.HasSuffix(pattern, suffix) {
			n.auxiliary = true
		}
	}
	for _, suffix := range []string{".qweight", ".weight_packed", "_blocks"} {
		n.packed = n.packed || strings.HasSuffix(pattern, suffix)
	}
	if isVision(pattern) {
		n.class = ClassVision
		return n
	}
	n.class, n.fused = classOf(pattern, layer)
	return n
}

// starred writes * for every part of a name that is a number, and returns the number of the layer, -1 where there is
// none.
func starred(name string) (pattern string, layer int) {
	layer = -1
	var out strings.Builder
	before := ""
	for i, part := range strings.Split(name, ".") {
		if i > 0 {
			out.WriteByte('.')
		}
		if part != "" && strings.Trim(part, "0123456789") == "" {
			if layer < 0 && (before == "layers" || before == "layer" || before == "h" || before == "blocks") {
				layer = math.MaxInt32 // above every depth
				if n, err := strconv.Atoi(part); err == nil {
					layer = min(layer, n)
				}
			}
			part = "*"
		}
		out.WriteString(part)
		before = part
	}
	return out.String(), layer
}

func isVision(name string) bool {
	for _, part := range []string{
		"vision", "visual.", "multi_modal_projector", "mm_projector", "audio", "patch_merge_mlp", "image_newline", "mm_input", "img_processor",
		"vit_", "embed_vision",
	} {
		if strings.Contains(name, part) {
			return true
		}
	}
	return strings.HasPrefix(name, "mlp1.") // projector of InternVL
}

func isPrediction(name string) bool {
	return strings.HasPrefix(name, "mtp.") || strings.Contains(name, ".mtp.") || strings.Contains(name, ".mtp_layers.") || strings.Contains(name, ".mtp_block.")
}

// roles maps parts of names to classes, first match first.
type role struct {
	class Class
	fused bool
	parts []string
}

func roles() []role {
	return []role{
		{class: ClassReplicated, parts: []string{
			"q_a_proj", "kv_a_proj", "q_a_layernorm", "indexer", "index_", "shared_expert_gate", ".router", ".gate.weight", ".gate.bias", ".gate.wg",
			"e_score_correction_bias", "expert_bias", "norm", "ln_", "layer_scalar", "per_layer", "altup", "laurel", "latent_proj", ".wpe.", "embed_positions",
			".f_a_proj", ".g_a_proj", ".sub_norm",
		}},
		{class: ClassShared, parts: []string{"shared_expert", "shared_mlp", "shared_transformer"}},
		{class: ClassExpert, parts: []string{".experts.", "block_sparse_moe.input_linear", "block_sparse_moe.output_linear"}},
		{class: ClassLinear, parts: []string{
			"linear_attn", "mamba", "mixer.in_proj", "mixer.out_proj", "conv1d", "A_log", ".dt_", ".D", "conv.in_proj", "conv.out_proj", "conv.conv",
			"output_gate", ".f_b_proj", ".g_b_proj", ".b_proj",
		}},
		{class: ClassKV, parts: []string{".k_proj", ".v_proj", ".wk.", ".wv."}},
		{class: ClassAttention, fused: true, parts: []string{"qkv_proj", "query_key_value", "Wqkv", "c_attn", "W_pack", "wqkv"}},
		{class: ClassAttention, parts: []string{
			".q_proj", ".o_proj", "q_b_proj", "kv_b_proj", "sinks", ".wo.", ".wq.", "attn.out_proj", "attention.dense", "attn.dense", "attention.out_proj",
			"attn.c_proj", "self_attn.gate_proj", "self_attn.g_proj", "attention.wo",
		}},
		{class: ClassDense, parts: []string{
			"gate_proj", "up_proj", "down_proj", "gate_up_proj", ".fc1", ".fc2", ".w1", ".w2", ".w3", "c_fc", "mlp.c_proj", "dense_h_to_4h",
			"dense_4h_to_h", "fc_in", "fc_out", "feed_forward.",
		}},
	}
}

// classOf finds the class of a name of the language model, empty where no role fits.
func classOf(name string, layer int) (Class, bool) {
	if layer < 0 {
		switch {
		case strings.Contains(name, "lm_head"), strings.HasSuffix(name, "output_layer.weight"), name == "output.weight", strings.Contains(name, "embed_out"):
			return ClassHead, false
		case strings.Contains(name, "norm") || strings.Contains(name, "ln_f"):
			return ClassReplicated, false
		case strings.Contains(name, "embed"), strings.Contains(name, "wte"):
			return ClassEmbedding, false
		}
	}
	for _, r := range roles() {
		for _, part := range r.parts {
			if strings.Contains(name, part) {
				return r.class, r.fused
			}
		}
	}
	return "", false
}
