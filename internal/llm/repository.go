package llm

import (
	"cmp"
	"strings"
)

// Exclusion is a pattern of files of a model's repository that no engine loads.
type Exclusion struct {
	Pattern string
	Why     string
}

// DownloadFilter lists what to download of a repository: weights as safetensors, configuration, tokenizer, code of
// the model.
func DownloadFilter() []string {
	return []string{"*.safetensors", "*.json", "tokenizer*", "*.model", "*.txt", "*.jinja", "*.py"}
}

// Exclusions lists what to leave out although it may match the filter: copies of the same weights in other forms.
func Exclusions() []Exclusion {
	return []Exclusion{
		{"original/*", "the publisher's own checkpoint: two more copies in Llama-3.1-405B, one in gpt-oss"},
		{"metal/*", "gpt-oss for Apple GPUs"},
		{"consolidated*", "Mistral's own checkpoint beside the same weights"},
		{"*.pth", "PyTorch checkpoints beside the safetensors"},
		{"*.bin", "PyTorch weights beside the safetensors"},
		{"*.gguf", "quantised copies for llama.cpp"},
		{"*.onnx*", "exported graphs"},
		{"*.msgpack", "Flax weights"},
		{"*.h5", "TensorFlow weights"},
	}
}

// copies is how many times a repository holds its weights, by the beginning of its name.
type copies struct {
	prefix string
	times  int64
	source string
}

// repositories lists those that are known to hold more than one copy.
func repositories() []copies {
	return []copies{
		{"meta-llama/llama-3.1-405b", 3, "VMware document, 10.4: 2.3 TB, one copy is 0.81 TB; original/mp8 and original/mp16 beside the safetensors"},
		{"meta-llama/meta-llama-3.1-405b", 3, "the same under its former name"},
		{"openai/gpt-oss", 2, "KAITO's catalog: 121.54 GiB for gpt-oss-120b, one copy is 60.77; original/ beside the safetensors"},
		{"meta-llama/llama-3", 2, "original/consolidated.*.pth beside the safetensors"},
		{"meta-llama/meta-llama-3", 2, "the same under its former name"},
	}
}

// RepositoryBytes is what a whole repository takes, where it is known to hold copies; else once the weights, and
// known is false.
func RepositoryBytes(m *Model) (bytes int64, source string, known bool) {
	id := strings.ToLower(cmp.Or(m.Path, m.ID))
	for _, r := range repositories() {
		if strings.HasPrefix(id, r.prefix) || strings.HasPrefix(id, r.prefix[strings.IndexByte(r.prefix, '/')+1:]) {
			return m.DiskBytes * r.times, r.source, true
		}
	}
	return m.DiskBytes, "no further copies of the weights are known for this model", false
}
