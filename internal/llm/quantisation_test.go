package llm

import (
	"fmt"
	"testing"
)

func TestFormatBytes(t *testing.T) {
	for _, test := range []struct {
		name       string
		format     Format
		rows, cols int64
		want       int64
	}{
		{"bf16", Format{Bits: 16}, 3, 5, 30},
		{"block, whole", fp8Block(128, 128), 256, 128, 256*128 + 2*4},
		{"block, rounded up both ways", fp8Block(128, 128), 129, 200, 129*200 + 2*2*4},
		{"block, kv_a of DeepSeek", fp8Block(128, 128), 576, 7168, 576*7168 + 5*56*4},
		{"row", fp8Row(4), 10, 64, 640 + 40},
		{"tensor", fp8Tensor(), 10, 64, 640 + 4},
		{"mxfp4", mxfp(4, 32), 2, 64, 64 + 2*2},
		{"mxfp4, rounded up", mxfp(4, 32), 2, 65, 65 + 2*3},
		{"mxfp8", mxfp(8, 32), 2, 64, 128 + 4},
		{"nvfp4", nvfp4(16), 2, 64, 64 + 8 + 8},
		{"int4 by 32", grouped(4, 32, false), 4, 64, 128 + 4*2*2},
		{"awq", grouped(4, 128, true), 4, 256, 512 + 20}, // 8 groups of 2 bytes and half a byte of zero point
		{"int8 by row", grouped(8, 0, false), 4, 64, 256 + 8},
		{"gptq", Format{Bits: 4, Group: 128, ScaleBytes: 2.5, ColumnBytes: 4}, 4, 256, 512 + 20 + 1024},
		{"odd count of half bytes", Format{Bits: 4}, 3, 3, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.format.Bytes(test.rows, test.cols); got != test.want {
				t.Errorf("%s: %d, want %d", test.name, got, test.want)
			}
		})
	}
}

func TestPatterns(t *testing.T) {
	for _, test := range []struct {
		pattern, name string
		want          bool
	}{
		{"lm_head", "lm_head.weight", true},
		{"backbone.layers.3.mixer.in_proj", "model.layers.3.mixer.in_proj.weight", true},
		{"model.layers.3", "model.layers.3.mlp.up_proj.weight", true},
		{"model.layers.3", "model.layers.30.mlp.up_proj.weight", false},
		{"model.layers.3.mlp.up_proj", "model.language_model.layers.3.mlp.up_proj.weight", true},
		{"language_model.model.layers.3.mlp", "model.layers.3.mlp.up_proj.weight", true},
		{"gate", "model.layers.3.mlp.gate.weight", true},
		{"gate", "model.layers.3.mlp.gate_proj.weight", false},
		{"mlp.gate", "model.layers.3.mlp.gate.weight", true},
		{"model.layers.*.self_attn", "model.layers.3.self_attn.q_proj.weight", true},
		{"model.layers.*.self_attn", "model.layers.3.mlp.up_proj.weight", false},
		{"model.layers.3.self_attn*", "model.layers.3.self_attn.q_proj.weight", true},
		{"*self_attn*", "model.layers.3.self_attn.q_proj.weight", true},
		{"*.self_attn", "model.layers.3.self_attn.q_proj.weight", true},
		{"*mtp*", "mtp.layers.*.mlp.up_proj.weight", true},
		{"re:.*self_attn.*", "model.layers.3.self_attn.q_proj.weight", true},
		{"re:self_attn", "model.layers.3.self_attn.q_proj.weight", false}, // anchored at the begin
		{"re:model\\.layers\\.3\\.", "model.language_model.layers.3.mlp.up_proj.weight", true},
		{"re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.0.mlp.up_proj.weight", true},
		{"re:.*mlp\\.(gate|up|gate_up|down)_proj.*", "model.layers.1.mlp.experts.*.up_proj.weight", false},
		{"model.layers.1.mlp.experts.0.up_proj", "model.layers.1.mlp.experts.*.up_proj.weight", true},
		{"Linear", "model.layers.1.mlp.up_proj.weight", true},
	} {
		t.Run(test.pattern+" on "+test.name, func(t *testing.T) {
			p := patterns{written: []string{test.pattern}}
			p.compile()
			if p.wrong != nil {
				t.Fatal(p.wrong)
			}
			if got := p.match(newModule(test.name)); got != test.want {
				t.Errorf("%s, %s: %v", test.pattern, test.name, got)
			}
		})
	}
}

// formats counts the weights of each format by class.
func formats(t *testing.T, config string, q map[string]any) map[string]map[Class]int64 {
	t.Helper()
	m, err := readConfig("m", changed(t, config, map[string]any{"quantization_config": q}), nil)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]map[Class]int64{}
	for _, x := range m.Tensors {
		if found[x.Format.Name] == nil {
			found[x.Format.Name] = map[Class]int64{}
		}
		found[x.Format.Name][x.Class] += x.Parameters()
	}
	return found
}

func TestQuantisedClasses(t *testing.T) {
	const h, heads, kv, dim, ff, experts, layers = 64, 8, 2, 16, 32, 4, 2
	qo, kvs, moe := int64(2*h*heads*dim*layers), int64(2*h*kv*dim*layers), int64(3*h*ff*experts*layers)
	groups := map[string]any{"group_0": map[string]any{
		"targets": []string{"Linear"}, "weights": map[string]any{"num_bits": 4, "type": "int", "strategy": "group", "group_size": 32, "symmetric": true},
	}}
	for name, test := range map[string]struct {
		q      map[string]any
		format string
		want   map[Class]int64
	}{
		"fp8":                        {map[string]any{"quant_method": "fp8", "weight_block_size": []int{128, 128}}, "fp8-block", map[Class]int64{ClassAttention: qo, ClassKV: kvs, ClassExpert: moe}},
		"fp8 without attention":      {map[string]any{"quant_method": "fp8", "modules_to_not_convert": []string{"model.layers.*.self_attn"}}, "fp8", map[Class]int64{ClassExpert: moe}},
		"fp8 without a layer":        {map[string]any{"quant_method": "fp8", "ignored_layers": []string{"model.layers.1"}}, "fp8", map[Class]int64{ClassAttention: qo / 2, ClassKV: kvs / 2, ClassExpert: moe / 2}},
		"mxfp4 is for experts":       {map[string]any{"quant_method": "mxfp4"}, "mxfp4", map[Class]int64{ClassExpert: moe}},
		"int4 of Kimi":               {map[string]any{"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups": groups, "ignore": []string{"lm_head", "re:.*self_attn.*"}}, "int4", map[Class]int64{ClassExpert: moe}},
		"modelopt":                   {map[string]any{"quant_algo": "NVFP4", "exclude_modules": []string{"lm_head", "*.self_attn.q_proj", "*.self_attn.o_proj"}}, "nvfp4", map[Class]int64{ClassKV: kvs, ClassExpert: moe}},
		"modelopt, mixed":            {map[string]any{"quant_algo": "MIXED_PRECISION", "quantized_layers": map[string]any{"model.layers.0.mlp.experts.3.up_proj": map[string]any{"quant_algo": "NVFP4"}, "model.layers.0.self_attn.q_proj": map[string]any{"quant_algo": "FP8"}}}, "nvfp4", map[Class]int64{ClassExpert: moe / 6}},
		"gptq, some modules":         {map[string]any{"quant_method": "gptq", "bits": 4, "group_size": 32, "modules_in_block_to_quantize": [][]string{{"self_attn.k_proj"}}}, "int4", map[Class]int64{ClassKV: kvs / 2}},
		"gptq, dynamic":              {map[string]any{"quant_method": "gptq", "bits": 8, "group_size": -1, "dynamic": map[string]any{"-:.*mlp.*": map[string]any{}}}, "int8", map[Class]int64{ClassAttention: qo, ClassKV: kvs}},
		"awq":                        {map[string]any{"quant_method": "awq", "bits": 4, "group_size": 32, "modules_to_not_convert": []string{"gate"}}, "int4", map[Class]int64{ClassAttention: qo, ClassKV: kvs, ClassExpert: moe}},
		"auto-round":                 {map[string]any{"quant_method": "auto-round", "bits": 4, "group_size": 32, "extra_config": map[string]any{"model.layers.0": map[string]any{"bits": 16}}}, "int4", map[Class]int64{ClassAttention: qo / 2, ClassKV: kvs / 2, ClassExpert: moe / 2}},
		"quark":                      {map[string]any{"quant_method": "quark", "exclude": []string{"lm_head", "*self_attn*"}, "global_quant_config": map[string]any{"weight": map[string]any{"dtype": "fp4", "group_size": 32, "qscheme": "per_group"}}}, "mxfp4", map[Class]int64{ClassExpert: moe}},
		"bitsandbytes":               {map[string]any{"quant_method": "bitsandbytes", "load_in_4bit": true, "bnb_4bit_quant_type": "nf4"}, "nf4", map[Class]int64{ClassAttention: qo, ClassKV: kvs, ClassExpert: moe}},
		"fbgemm":                     {map[string]any{"quant_method": "fbgemm_fp8", "modules_to_not_convert": []string{"lm_head"}}, "fp8", map[Class]int64{ClassAttention: qo, ClassKV: kvs, ClassExpert: moe}},
		"compressed, fp8 by channel": {map[string]any{"quant_method": "compressed-tensors", "config_groups": map[string]any{"g": map[string]any{"targets": []string{"re:.*experts.*"}, "weights": map[string]any{"num_bits": 8, "type": "float", "strategy": "channel"}}}}, "fp8", map[Class]int64{ClassExpert: moe}},
	} {
		t.Run(name, func(t *testing.T) {
			got := formats(t, expertConfig, test.q)
			for _, class := range []Class{ClassAttention, ClassKV, ClassExpert, ClassReplicated, ClassEmbedding, ClassHead} {
				if got[test.format][class] != test.want[class] {
					t.Errorf("%s: %d weights of class %s in %s, want %d", name, got[test.format][class], class, test.format, test.want[class])
				}
			}
		})
	}
}

func TestKVDTypeOfTheCheckpoint(t *testing.T) {
	for _, test := range []struct {
		q    map[string]any
		want string
	}{
		{map[string]any{"quant_algo": "FP8", "kv_cache_quant_algo": "FP8"}, KVFP8},
		{map[string]any{"quant_algo": "FP8", "kv_cache_quant_algo": nil}, ""},
		{map[string]any{"quant_algo": "FP8", "kv_cache_scheme": "FP8"}, KVFP8},
		{map[string]any{"quant_algo": "FP8", "kv_cache_scheme": map[string]any{"num_bits": 8, "type": "float"}}, KVFP8},
		{map[string]any{"quant_algo": "NVFP4", "kv_cache_quant_algo": "NVFP4"}, KVFP4},
		{map[string]any{"kv_cache_quant_algo": "FP8"}, KVFP8},
	} {
		t.Run(fmt.Sprint(test.q), func(t *testing.T) {
			m, err := readConfig("m", changed(t, plainConfig, map[string]any{"quantization_config": test.q}), nil)
			if err != nil {
				t.Errorf("%v: %v", test.q, err)
			} else if m.Quantisation.KV != test.want {
				t.Errorf("%v: %q, want %q", test.q, m.Quantisation.KV, test.want)
			}
		})
	}
}

// hf_quant_config.json counts where config.json says nothing.
func TestQuantConfigBeside(t *testing.T) {
	const beside = `{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head", "model.layers.0*"]}}`
	m, err := readConfig("m", []byte(expertConfig), []byte(beside))
	if err != nil {
		t.Fatal(err)
	}
	if m.Quantisation.Method != "modelopt" || m.Quantisation.KV != KVFP8 || len(m.Quantisation.Exclude) != 2 {
		t.Errorf("%+v", m.Quantisation)
	}
	for _, x := range m.Tensors {
		want := "bf16"
		if x.Layer == 1 && (x.Class == ClassExpert || x.Class == ClassAttention || x.Class == ClassKV) && x.Cols > 1 {
			want = "nvfp4"
		}
		if x.Format.Name != want {
			t.Errorf("%s is %s, want %s", x.Name, x.Format.Name, want)
		}
	}
	if _, err := readConfig("m", []byte(expertConfig), []byte("{")); err == nil {
		t.Error("a broken hf_quant_config.json is taken")
	}
}
