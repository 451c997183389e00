package llm

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/files"
)

// written is a tensor of a file that a test writes.
type written struct {
	name, dtype string
	shape       []int64
}

// safetensors is a file with these tensors and zeros for data.
func safetensors(t testing.TB, tensors []written) []byte {
	t.Helper()
	header, at := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, int64(0)
	for _, x := range tensors {
		size := dtypeBits()[x.dtype]
		for _, n := range x.shape {
			size *= n
		}
		header[x.name] = map[string]any{"dtype": x.dtype, "shape": x.shape, "data_offsets": []int64{at, at + size/8}}
		at += size / 8
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	return rawSafetensors(string(text), at)
}

func rawSafetensors(header string, data int64) []byte {
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, data)...)
}

// storedModel is the tensors of a model as its family names them, every expert on its own.
func storedModel(t testing.TB, config []byte) []written {
	t.Helper()
	m, err := readConfig("m", config, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tensors []written
	for _, x := range m.Tensors {
		shape := []int64{x.Rows}
		if x.Cols > 1 {
			shape = append(shape, x.Cols)
		}
		for i := range x.Count {
			tensors = append(tensors, written{strings.Replace(x.Name, "*", fmt.Sprint(i), 1), "BF16", shape})
		}
	}
	return tensors
}

func folder(t testing.TB, files map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func indexOf(t testing.TB, total any, tensors []written) []byte {
	t.Helper()
	names := map[string]string{}
	for _, x := range tensors {
		names[x.name] = "model-00001-of-00001.safetensors"
	}
	text, err := json.Marshal(map[string]any{"metadata": map[string]any{"total_size": total}, "weight_map": names})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Headers and formula give the same groups: parameters, classes, bytes.
func TestHeadersAgreeWithTheFormula(t *testing.T) {
	for name, config := range map[string][]byte{
		"dense": []byte(plainConfig), "experts": []byte(expertConfig),
		"latent": []byte(`{"model_type": "deepseek_v3", "hidden_size": 64, "intermediate_size": 128, "moe_intermediate_size": 32, "num_hidden_layers": 3,
"num_attention_heads": 4, "q_lora_rank": 24, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "n_routed_experts": 4,
"n_shared_experts": 1, "num_experts_per_tok": 2, "first_k_dense_replace": 1, "vocab_size": 100, "dtype": "bfloat16"}`),
		"fused": []byte(`{"model_type": "phi3", "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 8,
"num_key_value_heads": 2, "vocab_size": 100, "dtype": "bfloat16"}`),
	} {
		t.Run(name, func(t *testing.T) {
			formula, err := readConfig(name, config, nil)
			if err != nil {
				t.Fatal(err)
			}
			tensors := storedModel(t, config)
			if name == "fused" { // the parts of one matrix have one name
				tensors = slices.DeleteFunc(tensors, func(x written) bool {
					return strings.Contains(x.name, "qkv_proj") || strings.Contains(x.name, "gate_up")
				})
				for i := range 2 {
					tensors = append(tensors, written{fmt.Sprintf("model.layers.%d.self_attn.qkv_proj.weight", i), "BF16", []int64{64 + 2*16, 64}},
						written{fmt.Sprintf("model.layers.%d.mlp.gate_up_proj.weight", i), "BF16", []int64{256, 64}})
				}
			}
			m, err := Open(folder(t, map[string][]byte{"config.json": config, "model.safetensors": safetensors(t, tensors)}), nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				return
			}
			if m.Certainty != FromHeaders || m.DiskBytes != formula.DiskBytes || m.Parameters() != formula.Parameters() {
				t.Errorf("%s: %s, %d bytes, %+v, want %d, %+v", name, m.Certainty, m.DiskBytes, m.Parameters(), formula.DiskBytes, formula.Parameters())
			}
			if got, want := classBytes(m), classBytes(formula); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s:\ngot  %v\nwant %v", name, got, want)
			}
			if m.KVBytesPerToken(1, KVBF16) != formula.KVBytesPerToken(1, KVBF16) {
				t.Errorf("%s: %d KV bytes", name, m.KVBytesPerToken(1, KVBF16))
			}
		})
	}
}

func classBytes(m *Model) map[Class]int64 {
	sums := map[Class]int64{}
	for _, x := range m.Tensors {
		sums[x.Class] += m.Bytes(x)
	}
	return sums
}

// Weights that are packed count as what they stand for, and scales as none.
func TestPackedWeights(t *testing.T) {
	config := changed(t, plainConfig, map[string]any{"quantization_config": map[string]any{"quant_method": "gptq", "bits": 4, "group_size": 32}})
	formula, err := readConfig("m", config, nil)
	if err != nil {
		t.Fatal(err)
	}
	var tensors []written
	for _, x := range storedModel(t, config) {
		base, isLinear := strings.CutSuffix(x.name, "_proj.weight")
		if !isLinear {
			tensors = append(tensors, x)
			continue
		}
		rows, cols := x.shape[0], x.shape[1]
		tensors = append(tensors, written{base + "_proj.qweight", "I32", []int64{cols / 8, rows}}, written{base + "_proj.scales", "F16", []int64{cols / 32, rows}},
			written{base + "_proj.qzeros", "I32", []int64{cols / 32, rows / 8}}, written{base + "_proj.g_idx", "I32", []int64{cols}})
	}
	m, err := Open(folder(t, map[string][]byte{"config.json": config, "model.safetensors": safetensors(t, tensors)}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Parameters() != formula.Parameters() || m.DiskBytes != formula.DiskBytes {
		t.Errorf("%+v, %d bytes, want %+v, %d", m.Parameters(), m.DiskBytes, formula.Parameters(), formula.DiskBytes)
	}
	sum := int64(0)
	for _, x := range m.Tensors {
		sum += m.Bytes(x)
	}
	if sum != m.DiskBytes {
		t.Errorf("groups have %d bytes of %d", sum, m.DiskBytes)
	}
}

// gpt-oss stores the blocks of all experts of a layer as one tensor of bytes, two weights each, and their scales beside.
func TestStackedExperts(t *testing.T) {
	config := []byte(`{"model_type": "gpt_oss", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 1, "num_attention_heads": 4, "head_dim": 16,
"num_key_value_heads": 2, "num_local_experts": 8, "num_experts_per_tok": 2, "vocab_size": 100, "sliding_window": 128, "dtype": "bfloat16", "quantization_config": {"quant_method": "mxfp4"}}`)
	formula, err := readConfig("m", config, nil)
	if err != nil {
		t.Fatal(err)
	}
	tensors := slices.DeleteFunc(storedModel(t, config), func(x written) bool { return strings.Contains(x.name, "experts") })
	const p = "model.layers.0.mlp.experts."
	tensors = append(tensors, written{p + "gate_up_proj_blocks", "U8", []int64{8, 192, 2, 16}}, written{p + "gate_up_proj_scales", "U8", []int64{8, 192, 2}},
		written{p + "gate_up_proj_bias", "BF16", []int64{8, 192}}, written{p + "down_proj_blocks", "U8", []int64{8, 64, 3, 16}},
		written{p + "down_proj_scales", "U8", []int64{8, 64, 3}}, written{p + "down_proj_bias", "BF16", []int64{8, 64}})
	m, err := Open(folder(t, map[string][]byte{"config.json": config, "model.safetensors": safetensors(t, tensors)}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Parameters() != formula.Parameters() || m.DiskBytes != formula.DiskBytes || fmt.Sprint(classBytes(m)) != fmt.Sprint(classBytes(formula)) {
		t.Errorf("%+v, %d, %v\nwant %+v, %d, %v", m.Parameters(), m.DiskBytes, classBytes(m), formula.Parameters(), formula.DiskBytes, classBytes(formula))
	}
}

// An unknown type is read from names and shapes; without them it is refused.
func TestUnknownType(t *testing.T) {
	for name, config := range map[string]string{"dense": plainConfig, "experts": expertConfig} {
		t.Run(name, func(t *testing.T) {
			known, err := readConfig(name, []byte(config), nil)
			if err != nil {
				t.Fatal(err)
			}
			strange := changed(t, config, map[string]any{"model_type": "strange"})
			tensors := storedModel(t, []byte(config))
			for _, files := range []map[string][]byte{
				{"config.json": strange, "model.safetensors": safetensors(t, tensors)},
				{"config.json": strange, "model.safetensors.index.json": indexOf(t, known.DiskBytes, tensors)},
			} {
				m, err := Open(folder(t, files), nil)
				if err != nil {
					t.Errorf("%s: %v", name, err)
					continue
				}
				if m.Parameters() != known.Parameters() || m.KVBytesPerToken(1, KVBF16) != known.KVBytesPerToken(1, KVBF16) || m.DiskBytes != known.DiskBytes {
					t.Errorf("%s, %s: %+v, %d KV bytes, %d bytes", name, m.Certainty, m.Parameters(), m.KVBytesPerToken(1, KVBF16), m.DiskBytes)
				}
				if fmt.Sprint(classBytes(m)) != fmt.Sprint(classBytes(known)) {
					t.Errorf("%s, %s:\ngot  %v\nwant %v", name, m.Certainty, classBytes(m), classBytes(known))
				}
			}
			_, err = Open(folder(t, map[string][]byte{"config.json": strange}), nil)
			if err == nil || !strings.Contains(err.Error(), `"strange" is unknown; known:`) {
				t.Errorf("%s: %v", name, err)
			}
			odd := append(slices.Clone(tensors), written{"model.layers.0.retention.decay_proj.weight", "BF16", []int64{64, 64}})
			for _, files := range []map[string][]byte{
				{"config.json": strange, "model.safetensors": safetensors(t, odd)},
				{"config.json": strange, "model.safetensors.index.json": indexOf(t, known.DiskBytes, odd)},
				{"config.json": strange, "model.safetensors.index.json": indexOf(t, 2*known.DiskBytes, tensors)},
			} {
				if m, err := Open(folder(t, files), nil); err == nil || !strings.Contains(err.Error(), "strange") {
					t.Errorf("%s: %v, %v", name, m, err)
				}
			}
		})
	}
}

func TestIndex(t *testing.T) {
	formula, err := readConfig("m", []byte(expertConfig), nil)
	if err != nil {
		t.Fatal(err)
	}
	tensors := storedModel(t, []byte(expertConfig))
	total := formula.DiskBytes * 101 / 100
	m, err := Open(folder(t, map[string][]byte{"config.json": []byte(expertConfig), indexFile: indexOf(t, total, tensors)}), nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.Certainty != FromIndex || m.DiskBytes != total || m.Parameters() != formula.Parameters() {
		t.Errorf("%s, %d, %+v", m.Certainty, m.DiskBytes, m.Parameters())
	}
	sum := int64(0)
	for _, x := range m.Tensors {
		sum += m.Bytes(x)
	}
	if off(sum, total) > 1e-4 {
		t.Errorf("groups have %d bytes of %d", sum, total)
	}
	first := slices.DeleteFunc(slices.Clone(tensors), func(x written) bool { return strings.Contains(x.name, "layers.1.") })
	noEmbedding := slices.DeleteFunc(slices.Clone(tensors), func(x written) bool { return strings.Contains(x.name, "embed") })
	noHead := slices.DeleteFunc(slices.Clone(tensors), func(x written) bool { return strings.Contains(x.name, "lm_head") })
	for name, test := range map[string]struct {
		index []byte
		want  string
	}{
		"no embedding":   {indexOf(t, total, noEmbedding), "names no embedding: is it truncated?"},
		"no head":        {indexOf(t, total, noHead), "names no lm_head"},
		"a layer less":   {indexOf(t, total, first), "names no weight of layer 1 of 2: is it truncated?"},
		"no total":       {[]byte(`{"metadata": {}, "weight_map": {"a": "b"}}`), "total_size: is missing"},
		"no metadata":    {[]byte(`{"weight_map": {"a": "b"}}`), "metadata.total_size: is missing"},
		"no map":         {[]byte(`{"metadata": {"total_size": 5}}`), "weight_map: is missing or empty"},
		"a total of 0":   {indexOf(t, 0, tensors), "total_size: 0 is not a number of bytes"},
		"below 0":        {indexOf(t, -5, tensors), "total_size: -5 is not a number of bytes"},
		"1e30":           {indexOf(t, 1e30, tensors), "is not a number of bytes"},
		"another model":  {indexOf(t, 3*total, tensors), "metadata.total_size"},
		"cut off":        {indexOf(t, total, tensors)[:200], "is it truncated?"},
		"no object":      {[]byte("[]"), "expected {"},
		"number as file": {[]byte(`{"metadata": {"total_size": 5}, "weight_map": {"a": 3}}`), `"a": 3 is not the name of a file`},
		"file elsewhere": {[]byte(`{"metadata": {"total_size": 5}, "weight_map": {"a": "../x.safetensors"}}`), `"../x.safetensors" is not a plain file name`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(folder(t, map[string][]byte{"config.json": []byte(expertConfig), indexFile: test.index}), nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "index.json") {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
		})
	}
}

// Multi-token prediction that the index does not name is not there.
func TestIndexTellsOfMTP(t *testing.T) {
	config := changed(t, expertConfig, map[string]any{"model_type": "glm4_moe", "n_routed_experts": 4, "intermediate_size": 100, "first_k_dense_replace": 1, "num_nextn_predict_layers": 1})
	whole, err := readConfig("m", config, nil)
	if err != nil || whole.Parameters().MTP == 0 {
		t.Fatal(err)
	}
	tensors := storedModel(t, config)
	for i := range tensors {
		tensors[i].name = strings.Replace(tensors[i].name, "layers.mtp.", "layers.2.", 1)
	}
	main := slices.DeleteFunc(slices.Clone(tensors), func(x written) bool { return strings.Contains(x.name, "layers.2.") })
	bytes := 2 * whole.Parameters().Total
	for name, test := range map[string]struct {
		tensors []written
		total   int64
		mtp     bool
	}{"with": {tensors, whole.DiskBytes, true}, "without": {main, bytes, false}} {
		t.Run(name, func(t *testing.T) {
			m, err := Open(folder(t, map[string][]byte{"config.json": config, indexFile: indexOf(t, test.total, test.tensors)}), nil)
			if err != nil {
				t.Errorf("%s: %v", name, err)
			} else if (m.Parameters().MTP > 0) != test.mtp || (m.MTP > 0) != test.mtp || off(m.DiskBytes, test.total) > 0 {
				t.Errorf("%s: %+v, %d", name, m.Parameters(), m.DiskBytes)
			}
		})
	}
}

func TestFaultyHeaders(t *testing.T) {
	long := binary.LittleEndian.AppendUint64(nil, 1<<62)
	past := binary.LittleEndian.AppendUint64(nil, 5000)
	huge := binary.LittleEndian.AppendUint64(nil, maxHeader+1)
	one := func(entry string) string { return `{"a": ` + entry + `}` }
	for name, test := range map[string]struct {
		file []byte
		want string
	}{
		"empty":                {nil, "too short to hold the length"},
		"seven bytes":          {make([]byte, 7), "too short to hold the length"},
		"length of 2^62":       {append(long, "{}"...), "header of 4611686018427387904 bytes is longer than"},
		"length past end":      {append(past, "{}"...), "header of 5000 bytes does not fit into the file of 10 bytes"},
		"length a little past": {append(binary.LittleEndian.AppendUint64(nil, 5), "{}"...), "header of 5 bytes does not fit into the file of 10 bytes"},
		"length past limit":    {append(huge, "{}"...), "is longer than 100000000"},
		"no JSON":              {rawSafetensors("hello", 0), "header:"},
		"no object":            {rawSafetensors("[]", 0), "expected {"},
		"unknown dtype":        {rawSafetensors(one(`{"dtype": "F5", "shape": [1], "data_offsets": [0, 1]}`), 1), `tensor "a": dtype "F5" is unknown; known: BF16`},
		"no shape":             {rawSafetensors(one(`{"dtype": "U8", "data_offsets": [0, 1]}`), 1), "dtype, shape or data_offsets is missing"},
		"shape below 0":        {rawSafetensors(one(`{"dtype": "U8", "shape": [-1], "data_offsets": [0, 1]}`), 1), "shape [-1]: invalid"},
		"shape too large":      {rawSafetensors(one(`{"dtype": "U8", "shape": [9000000000, 9000000000], "data_offsets": [0, 1]}`), 1), "]: invalid"},
		"offsets below 0":      {rawSafetensors(one(`{"dtype": "U8", "shape": [1], "data_offsets": [-1, 0]}`), 1), "data_offsets [-1 0] do not span the 1 bytes"},
		"offsets not bytes":    {rawSafetensors(one(`{"dtype": "F32", "shape": [2], "data_offsets": [0, 7]}`), 7), "data_offsets [0 7] do not span the 8 bytes of F32 [2]"},
		"overlap":              {rawSafetensors(`{"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}, "b": {"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}}`, 6), `tensor "b": data_offsets [2 6] overlap`},
		"gap":                  {rawSafetensors(one(`{"dtype": "U8", "shape": [4], "data_offsets": [2, 6]}`), 6), "leave a gap after 0"},
		"data cut off":         {rawSafetensors(one(`{"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}`), 2), "describe 4 bytes of data, the file has 2: is it truncated?"},
		"data to spare":        {rawSafetensors(one(`{"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}`), 9), "describe 4 bytes of data, the file has 9"},
		"twice":                {rawSafetensors(`{"a": {"dtype": "U8", "shape": [1], "data_offsets": [0, 1]}, "a": {"dtype": "U8", "shape": [1], "data_offsets": [1, 2]}}`, 2), `tensor "a": duplicate`},
		"numbers as strings":   {rawSafetensors(one(`{"dtype": "U8", "shape": ["1"], "data_offsets": [0, 1]}`), 1), "cannot unmarshal"},
		"no tensor":            {rawSafetensors("{}", 0), "name no tensor"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := folder(t, map[string][]byte{"config.json": []byte(plainConfig), "model.safetensors": test.file})
			_, err := Open(dir, nil)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), dir) {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
		})
	}
}

func TestFilesOfOneCopy(t *testing.T) {
	tensors := storedModel(t, []byte(plainConfig))
	half := len(tensors) / 2
	a, b, all := safetensors(t, tensors[:half]), safetensors(t, tensors[half:]), safetensors(t, tensors)
	const first, second = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
	config := []byte(plainConfig)
	m, err := Open(folder(t, map[string][]byte{"config.json": config, first: a, second: b, "consolidated.safetensors": all}), nil)
	if err != nil {
		t.Fatal(err)
	}
	formula, err := readConfig("m", config, nil)
	if err != nil {
		t.Fatal(err)
	}
	if m.DiskBytes != formula.DiskBytes {
		t.Errorf("%d bytes, want %d: the second copy must not count", m.DiskBytes, formula.DiskBytes)
	}
	for name, files := range map[string]map[string][]byte{
		"is missing, and there is no index": {"config.json": config, first: a},
		"is also in":                        {"config.json": config, "x.safetensors": all, "y.safetensors": a},
		"but not in":                        {"config.json": config, "model-00001-of-00001.safetensors": all, indexFile: indexOf(t, formula.DiskBytes, tensors[1:])},
		"but in no header":                  {"config.json": config, "model-00001-of-00001.safetensors": a, indexFile: indexOf(t, formula.DiskBytes, tensors)},
		"no such file":                      {"model.safetensors": all},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Open(folder(t, files), nil); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%v, want %s", err, name)
			}
		})
	}
}

func FuzzHeader(f *testing.F) {
	f.Add(safetensors(f, storedModel(f, []byte(expertConfig))))
	f.Add(rawSafetensors(`{"a": {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}}`, 4))
	f.Add(binary.LittleEndian.AppendUint64(nil, 1<<63))
	f.Fuzz(func(t *testing.T, file []byte) {
		tensors, err := parseHeader(bytes.NewReader(file), int64(len(file)))
		if err != nil {
			return
		}
		sum := int64(0)
		for _, x := range tensors {
			sum += x.bytes
		}
		if sum > int64(len(file)) {
			t.Errorf("%d bytes of tensors in a file of %d", sum, len(file))
		}
		m := &Model{Layers: make([]Layer, 2)}
		m.gather(tensors, 4, 2, func(weightName) Class { return "" })
	})
}

func FuzzIndex(f *testing.F) {
	f.Add(indexOf(f, 1000, storedModel(f, []byte(expertConfig))))
	f.Add([]byte(`{"metadata": {"total_size": 5}, "weight_map": {"model.layers.0.x": "a"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		index, err := parseIndex(bytes.NewReader(text), 1<<16)
		if err != nil {
			return
		}
		if index.total < 1 || len(index.files) == 0 {
			t.Errorf("%d bytes, %d names", index.total, len(index.files))
		}
		partsIn(index, 4)
	})
}

func TestLongFilesAreRefused(t *testing.T) {
	if _, err := parseIndex(strings.NewReader(`{"metadata": {"total_size": 5}, "weight_map": {"`+strings.Repeat("a", 100)+`": "b"}}`), 50); err == nil || !strings.Contains(err.Error(), "is longer than 50 bytes") {
		t.Errorf("got %v", err)
	}
	dir := folder(t, map[string][]byte{"config.json": []byte(plainConfig)})
	if _, err := (reader{files.Disk{}}).readText(filepath.Join(dir, "config.json"), 10); err == nil || !strings.Contains(err.Error(), "is longer than 10 bytes") {
		t.Errorf("got %v", err)
	}
	if m, err := Open(filepath.Join(dir, "config.json"), nil); err != nil || m.Certainty != FromFormula {
		t.Errorf("%v, %v", m, err)
	}
	if _, err := Open(filepath.Join(dir, "none.json"), nil); err == nil {
		t.Error("a file that is not there is read")
	}
}
