package catalog

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestModelByName(t *testing.T) {
	c := embedded(t)
	for name, want := range map[string]string{
		"deepseek-ai/DeepSeek-R1": "deepseek-r1", "DEEPSEEK-R1": "deepseek-r1", " deepseek-r1-0528 ": "deepseek-r1",
		"meta-llama/Llama-3.1-405B-Instruct": "meta-llama-3-1-405b", "llama-3.1-405b": "meta-llama-3-1-405b",
		"Llama-3.1-405B-Instruct-FP8": "llama-3-1-405b-instruct-fp8", "openai/gpt-oss-20b": "gpt-oss-20b", "Kimi-K2.5": "kimi-k2-5",
		"qwen3-235b-a22b-thinking-2507": "qwen3-235b-a22b-thinking-2507", "Qwen/Qwen3-0.6B": "qwen3-0-6b", "GLM-4.6": "glm-4-6",
		"llama-4-scout": "llama-4-scout-17b-16e-instruct", "mixtral-8x7b": "mixtral-8x7b-v0-1",
	} {
		if m, err := c.Model(name); err != nil || m.ID != want || len(m.Entry.Config) == 0 {
			t.Errorf("%s: %s, %v, want %s", name, m.ID, err, want)
		}
	}
	_, err := c.Model("gpt-5")
	if err == nil || !strings.HasPrefix(err.Error(), `model "gpt-5" is not in the catalog; did you mean "glm-5"? railwright catalog models lists all `) {
		t.Errorf("gpt-5: %v", err)
	}
	if _, err := c.Model("gemma-4"); err == nil || err.Error() != `model "gemma-4" is ambiguous: could be gemma-4-26b-a4b, gemma-4-31b-it` {
		t.Errorf("gemma-4: %v", err)
	}
}

// A name of another published model gives that model, and says whose configuration it is.
func TestModelSaysWhatWasAssumed(t *testing.T) {
	c := embedded(t)
	for name, want := range map[string]struct{ published, assumed string }{
		"deepseek-r1":                       {"deepseek-ai/DeepSeek-R1", ""},
		"DeepSeek-R1":                       {"deepseek-ai/DeepSeek-R1", ""},
		"meta-llama-3-1-70b":                {"meta-llama/Meta-Llama-3.1-70B", ""},
		"DeepSeek-R1-0528":                  {"deepseek-ai/DeepSeek-R1-0528", "architecture and context of deepseek-ai/DeepSeek-R1"},
		"meta-llama/Llama-3.3-70B-Instruct": {"meta-llama/Llama-3.3-70B-Instruct", "architecture and context of meta-llama/Meta-Llama-3.1-70B"},
		"Llama-3.3-70B":                     {"meta-llama/Llama-3.3-70B-Instruct", "taken as meta-llama/Llama-3.3-70B-Instruct, architecture and context of meta-llama/Meta-Llama-3.1-70B"},
		"llama-4-scout":                     {"meta-llama/Llama-4-Scout-17B-16E-Instruct", "taken as meta-llama/Llama-4-Scout-17B-16E-Instruct"},
	} {
		t.Run(name, func(t *testing.T) {
			m, err := c.Model(name)
			if err != nil || m.Published != want.published || m.Assumed() != want.assumed {
				t.Errorf("%q, assumed %q, %v", m.Published, m.Assumed(), err)
			}
		})
	}
}

func TestBrokenModels(t *testing.T) {
	const model = "title: M\nname: o/m\naliases: [o/m-chat]\nsource: s\nconfig: {model_type: llama}\n"
	for text, want := range map[string]string{
		model: "",
		strings.Replace(model, "o/m\n", "m\n", 1):                          `catalog "model/m.yaml": name: "m" is not organisation/name`,
		strings.Replace(model, "source: s\n", "", 1):                       "source: is empty",
		strings.Replace(model, "config: {model_type: llama}", "", 1):       "config: is empty",
		strings.Replace(model, "title: M", "title: M\nparameters: 7", 1):   "field parameters not found",
		strings.Replace(model, "aliases: [o/m-chat]", "aliases: [n]", 1):   `"n" is also that of m`,
		strings.Replace(model, "aliases: [o/m-chat]", "aliases: [x/N]", 1): `"n" is also that of m`,
	} {
		files := whole()
		files["model/m.yaml"] = &fstest.MapFile{Data: []byte(text)}
		files["model/n.yaml"] = &fstest.MapFile{Data: []byte(strings.NewReplacer("o/m", "o/n", ": M", ": N").Replace(model))}
		_, err := read(files)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}
