package llm

import "strings"

// tower is one kind of vision tower with its projector; its weights stay unquantised and whole on every rank.
type tower struct {
	types []string // vision_config.model_type, or the wrapper's model_type where that is absent
	scope string
	build func(b *builder, v fields)
}

// towers lists the vision towers whose weights are known. Sources are the modelling files of transformers 5.23.
func towers() []tower {
	return []tower{
		{types: []string{"siglip_vision_model"}, scope: "vision_tower.", build: buildSiglip},
		{types: []string{"gemma4_vision"}, scope: "model.vision_tower.", build: buildGemma4Vision},
		{types: []string{"llama4_vision_model"}, scope: "vision_model.", build: buildLlama4Vision},
		{types: []string{"qwen2_vl", "qwen2_vl_vision"}, scope: "visual.", build: buildQwen2Vision},
		{types: []string{"qwen2_5_vl", "qwen2_5_vl_vision"}, scope: "visual.", build: buildQwen25Vision},
		{types: []string{
			"qwen3_vl", "qwen3_vl_vision", "qwen3_vl_moe", "qwen3_vl_moe_vision", "qwen3_5", "qwen3_5_vision", "qwen3_5_moe", "qwen3_5_moe_vision",
		}, scope: "model.visual.", build: buildQwen3Vision},
		{types: []string{"moonvit", "kimi_k25", "kimi_k25_vision", "kimi_vl"}, scope: "vision_tower.", build: buildMoonViT},
		{types: []string{"pixtral"}, scope: "vision_tower.", build: buildPixtral},
		{types: []string{"glm4v", "glm4v_vision", "glm4v_moe", "glm4v_moe_vision", "glm46v_vision"}, scope: "model.visual.", build: buildGLMVision},
		{types: []string{"clip_vision_model", "minimax_m3_vl_vision"}, scope: "vision_tower.", build: buildCLIP},
		{types: []string{"internvl_vision"}, scope: "model.vision_tower.", build: buildInternViT},
		{types: []string{"step3p5_vision", "step3p7_vision"}, scope: "model.vision_model.", build: buildStepVision},
	}
}

// vision adds the vision tower, where the config has one. One of an unknown kind is said to be left out.
func (b *builder) vision() {
	v, ok := b.whole.object("vision_config")
	if !ok || len(v.values) == 0 {
		return
	}
	// What SGLang scales its memory fraction by, with the defaults that it has (server_args.py, adjust_mem_fraction).
	b.m.VisionLayers = v.sizeOr(24, "num_hidden_layers", "vt_num_hidden_layers")
	b.m.VisionHidden = v.sizeOr(1024, "hidden_size", "vt_hidden_size")
	kind := v.text("", "model_type")
	if kind == "" {
		kind = b.whole.text("", "model_type")
	}
	for _, t := range towers() {
		for _, name := range t.types {
			if name == kind {
				b.separately(ClassVision, t.scope, func() { t.build(b, v) })
				return
			}
		}
	}
	b.whole.assume("vision_config", "not counted", "vision tower "+quoted(kind)+" is unknown; known: "+strings.Join(towerTypes(), ", "))
}

func towerTypes() (types []string) {
	for _, t := range towers() {
		types = append(types, t.types...)
	}
	return types
}

// visionLinear is a linear layer of a tower.
func (b *builder) visionLinear(name string, out, in int64, bias bool) {
	b.unquantised(ClassVision, name, out, in)
	if bias {
		b.vector(ClassVision, name+".bias", out)
	}
}

// visionNorms are norms of a tower: the weight, and with bias another.
func (b *builder) visionNorms(width int64, bias bool, names ...string) {
	for _, name := range names {
		b.vector(ClassVision, name+".weight", width)
		if bias {
			b.vector(ClassVision, name+".bias", width)
		}
	}
}

// blocks adds that many equal layers.
func (b *builder) blocks(count int64, folder string, build func()) {
	scope := b.scope
	if count > mostLayers {
		b.problem("vision_config", "%d layers exceed %d", count, mostLayers)
		return
	}
	b.scope = scope + folder + ".*."
	for range count {
		build()
	}
	b.scope = scope
}

// clipBlock is a layer of CLIP and Siglip: four projections, two layers, two norms, all with biases.
func (b *builder) clipBlock(h, ff int64) {
	for _, name := range []string{"q_proj", "k_proj", "v_proj", "out_proj"} {
		b.visionLinear("self_attn."+name, h, h, true)
	}
	b.visionLinear("mlp.fc1", ff, h, true)
	b.visionLinear("mlp.fc2", h, ff, true)
	b.visionNorms(h, true, "layer_norm1", "layer_norm2")
}

func square(n int64) int64 { return n * n }

// pair is the first of two equal numbers, or a single one.
func (f fields) pair(missing int64, key string) int64 {
	if list := f.values[key]; f.isList(key) && list != nil {
		if sizes := f.counts(key); len(sizes) > 0 && sizes[0] > 0 {
			return sizes[0]
		}
		f.problem(key, "has no number above 0")
		return 1
	}
	return f.sizeOr(missing, key)
}
