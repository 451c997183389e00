package llm

import (
	"path"
	"slices"
	"strings"
	"testing"
)

// downloads reports whether a file of a repository, by its path in it, passes the filter.
func downloads(name string) bool {
	name = strings.TrimPrefix(path.Clean("/"+name), "/")
	if name == "" {
		return false
	}
	for _, l := range Exclusions() {
		if match(l.Pattern, name) {
			return false
		}
	}
	return slices.ContainsFunc(DownloadFilter(), func(p string) bool { return match(p, name) })
}

// match compares as huggingface-cli does: a star stands for slashes too.
func match(pattern, name string) bool {
	head, tail, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	if !strings.HasPrefix(name, head) {
		return false
	}
	name = name[len(head):]
	for {
		next, rest, more := strings.Cut(tail, "*")
		if !more {
			return strings.HasSuffix(name, tail)
		}
		_, after, found := strings.Cut(name, next)
		if !found {
			return false
		}
		name, tail = after, rest
	}
}

func TestDownloads(t *testing.T) {
	for name, want := range map[string]bool{
		"model-00001-of-00191.safetensors":        true,
		"model.safetensors.index.json":            true,
		"config.json":                             true,
		"tokenizer.model":                         true,
		"tokenizer.json":                          true,
		"merges.txt":                              true,
		"chat_template.jinja":                     true,
		"modeling_deepseek.py":                    true,
		"original/mp8/consolidated.00.pth":        false,
		"original/model-00001.safetensors":        false,
		"original/tokenizer.model":                false,
		"metal/model.bin":                         false,
		"consolidated-00001-of-00009.safetensors": false,
		"pytorch_model.bin":                       false,
		"model-Q4_K_M.gguf":                       false,
		"onnx/model.onnx_data":                    false,
		"figures/benchmark.png":                   false,
		"":                                        false,
		"./config.json":                           true,
		"../original/config.json":                 false,
	} {
		t.Run(name, func(t *testing.T) {
			if got := downloads(name); got != want {
				t.Errorf("%q: downloaded %v, want %v", name, got, want)
			}
		})
	}
}

func FuzzDownloads(f *testing.F) {
	f.Add("original/mp16/consolidated.00.pth")
	f.Add("a*b")
	f.Fuzz(func(t *testing.T, name string) {
		if downloads(name) && (strings.HasPrefix(name, "original/") || strings.HasSuffix(name, ".pth")) {
			t.Errorf("%q passes", name)
		}
		if !match("*", name) || !match(strings.ReplaceAll(name, "*", ""), strings.ReplaceAll(name, "*", "")) {
			t.Errorf("%q does not match itself", name)
		}
	})
}

func TestRepositoryBytes(t *testing.T) {
	for _, test := range []struct {
		id    string
		times int64
		known bool
	}{
		{"meta-llama/Llama-3.1-405B-Instruct", 3, true},
		{"llama-3.1-405b", 3, true},
		{"meta-llama/Llama-3.1-8B", 2, true},
		{"openai/gpt-oss-120b", 2, true},
		{"deepseek-ai/DeepSeek-R1-0528", 1, false},
	} {
		t.Run(test.id, func(t *testing.T) {
			bytes, source, known := RepositoryBytes(&Model{ID: test.id, DiskBytes: 1000})
			if bytes != 1000*test.times || known != test.known || source == "" {
				t.Errorf("%s: %d bytes, %q, %v", test.id, bytes, source, known)
			}
		})
	}
	// VMware document, 10.4: 2.3 TB; its other sizes are GiB, so between both units
	whole, _, _ := RepositoryBytes(&Model{ID: "meta-llama/Llama-3.1-405B", DiskBytes: 811706777600})
	if tb, tib := float64(whole)/1e12, float64(whole)/(1<<40); tib > 2.3 || tb < 2.3 {
		t.Errorf("repository of 405B: %.2f TB, %.2f TiB, the document says 2.3", tb, tib)
	}
}
