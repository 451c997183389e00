package llm

import (
	"encoding/json"
	"strings"
	"testing"
)

const plainConfig = `{"model_type": "llama", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2,
"num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000, "max_position_embeddings": 2048, "torch_dtype": "bfloat16"}`

const expertConfig = `{"model_type": "qwen3_moe", "hidden_size": 64, "moe_intermediate_size": 32, "num_hidden_layers": 2, "head_dim": 16,
"num_attention_heads": 8, "num_key_value_heads": 2, "vocab_size": 1000, "num_experts": 4, "num_experts_per_tok": 2, "torch_dtype": "bfloat16"}`

// changed sets fields of a config; nil takes one away.
func changed(t testing.TB, config string, change map[string]any) []byte {
	t.Helper()
	object, err := decodeObject([]byte(config))
	if err != nil {
		t.Fatal(err)
	}
	for key, value := range change {
		if value == nil {
			delete(object, key)
		} else {
			object[key] = value
		}
	}
	text, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestFaultyConfigsNameTheField(t *testing.T) {
	for _, test := range []struct {
		config string
		change map[string]any
		want   string
	}{
		{plainConfig, map[string]any{"hidden_size": 0}, "hidden_size: 0 is not between 1 and"},
		{plainConfig, map[string]any{"hidden_size": nil}, "hidden_size or n_embd or d_model: is missing"},
		{plainConfig, map[string]any{"hidden_size": "64"}, `hidden_size: "64" is not a number`},
		{plainConfig, map[string]any{"hidden_size": 64.5}, "hidden_size: 64.5 is not a whole number"},
		{plainConfig, map[string]any{"hidden_size": -64}, "hidden_size: -64 is not between"},
		{plainConfig, map[string]any{"hidden_size": json.Number("1000000000000000000")}, "hidden_size: 1000000000000000000 is not between"},
		{plainConfig, map[string]any{"hidden_size": json.Number("1e18")}, "hidden_size: 1e18 is not a whole number"},
		{plainConfig, map[string]any{"hidden_size": []int{64}}, "hidden_size: [64] is not a number"},
		{plainConfig, map[string]any{"hidden_size": 65}, "num_attention_heads: 8 does not divide 65"},
		{plainConfig, map[string]any{"num_attention_heads": nil}, "num_attention_heads or n_head or n_heads: is missing"},
		{plainConfig, map[string]any{"num_key_value_heads": 3}, "num_key_value_heads: 3 does not divide 8"},
		{plainConfig, map[string]any{"num_key_value_heads": 0}, "num_key_value_heads: 0 is not between 1 and"},
		{plainConfig, map[string]any{"num_hidden_layers": nil}, "num_hidden_layers"},
		{plainConfig, map[string]any{"num_hidden_layers": 100000}, "num_hidden_layers: 100000 is above 4096"},
		{plainConfig, map[string]any{"vocab_size": nil}, "vocab_size: is missing"},
		{plainConfig, map[string]any{"intermediate_size": nil}, "intermediate_size: is missing"},
		{plainConfig, map[string]any{"intermediate_size": 16777216, "hidden_size": 16777216, "num_attention_heads": 16}, ""},
		{plainConfig, map[string]any{"tie_word_embeddings": "yes"}, `tie_word_embeddings: "yes" is neither true nor false`},
		{plainConfig, map[string]any{"torch_dtype": "int3"}, `dtype: "int3" is unknown`},
		{plainConfig, map[string]any{"max_position_embeddings": 0}, "max_position_embeddings: 0 is not between"},
		{plainConfig, map[string]any{"model_type": nil}, "model_type: is missing"},
		{plainConfig, map[string]any{"model_type": 7}, "model_type: 7 is not a string"},
		{plainConfig, map[string]any{"model_type": "llama9"}, `model_type: "llama9" is unknown; known:`},
		{plainConfig, map[string]any{"text_config": "x"}, `text_config: "x" is not an object`},
		{plainConfig, map[string]any{"per_layer_config": map[string]any{"0": map[string]any{"head_dim": 4}}}, "per_layer_config: is not supported for llama"},
		{expertConfig, map[string]any{"num_experts": nil}, "num_experts or num_local_experts: is missing"},
		{expertConfig, map[string]any{"num_experts_per_tok": nil}, "num_experts_per_tok: is missing"},
		{expertConfig, map[string]any{"num_experts_per_tok": 5}, "num_experts_per_tok: 5 is more than the 4 experts"},
		{expertConfig, map[string]any{"num_experts": -1}, "num_experts: -1 is not between"},
		{expertConfig, map[string]any{"mlp_only_layers": []string{"a"}}, `mlp_only_layers: "a" is not a number`},
		{expertConfig, map[string]any{"num_experts": 1 << 24, "num_experts_per_tok": 1, "moe_intermediate_size": 1 << 24}, "are more than 1e+15"},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "magic"}}, `quantization_config.quant_method: "magic" is unknown; known: auto-round`},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "awq", "bits": 5}}, "quantization_config.bits: 5 is not 2, 3, 4 or 8"},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "awq"}}, "quantization_config.bits or w_bit: is missing"},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "fp8", "weight_block_size": []int{128}}}, "weight_block_size: must be two numbers above 0"},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}}, "quantized_layers: is missing"},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_algo": "MIXED_PRECISION", "quantized_layers": map[string]any{"layers.7.up": map[string]any{"quant_algo": "FP8"}}}}, `"layers.7.up" and 0 more name no linear layer of this model`},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "modelopt", "quant_algo": "W3"}}, `quant_algo: "W3" is unknown`},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "compressed-tensors"}}, "config_groups: is missing"},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "fp8", "ignored_layers": []string{"re:("}}}, `pattern "re:(": invalid`},
		{plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "fp8", "ignored_layers": []string{"a[*"}}}, `pattern "a[*": invalid`},
	} {
		t.Run(test.want, func(t *testing.T) {
			_, err := readConfig("m", changed(t, test.config, test.change), nil)
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("%v:\ngot  %v\nwant %s", test.change, err, test.want)
			}
		})
	}
}

func TestFaultyTexts(t *testing.T) {
	for text, want := range map[string]string{
		"": "is empty", "null": "is null", "[]": "cannot unmarshal array", `{"a": 1} x`: "trailing data after the object", `{"a": `: "unexpected EOF",
		`{"model_type": "llama", "hidden_size": NaN}`: "hidden_size",
	} {
		t.Run(text, func(t *testing.T) {
			if _, err := readConfig("m", []byte(text), nil); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, want %s", text, err, want)
			}
		})
	}
	if _, err := readConfig("m", changed(t, plainConfig, map[string]any{"note": "NaN and Infinity"}), nil); err != nil {
		t.Error(err)
	}
}

// All faults are reported at once.
func TestFaultsAreGathered(t *testing.T) {
	_, err := readConfig("m", []byte(`{"model_type": "llama", "num_hidden_layers": 2}`), nil)
	if err == nil || !strings.Contains(err.Error(), "hidden_size") || !strings.Contains(err.Error(), "vocab_size") {
		t.Errorf("got %v", err)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(plainConfig), []byte(nil))
	f.Add([]byte(expertConfig), []byte(`{"quantization": {"quant_algo": "NVFP4", "exclude_modules": ["lm_head", "*.self_attn*"]}}`))
	cases := familyCases(f)
	for name, c := range cases {
		if len(c.Config) < 2500 {
			f.Add([]byte(c.Config), []byte(nil))
		}
		_ = name
	}
	f.Fuzz(func(t *testing.T, text, quant []byte) {
		m, err := readConfig("m", text, quant)
		if err != nil {
			return
		}
		p := m.Parameters()
		if p.Total < 1 || p.Active > p.Total || m.DiskBytes < 1 || m.KVBytesPerToken(8, KVFP8) < 0 || m.StateBytesPerRequest(1) < 0 {
			t.Errorf("%+v, %d bytes", p, m.DiskBytes)
		}
	})
}
