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
		if id, m, err := c.Model(name); err != nil || id != want || len(m.Config) == 0 {
			t.Errorf("%s: %s, %v, want %s", name, id, err, want)
		}
	}
	_, _, err := c.Model("gpt-5")
	if err == nil || !strings.HasPrefix(err.Error(), `model "gpt-5" is not in the catalog; did you mean "glm-5"? railwright catalog models lists all `) {
		t.Errorf("gpt-5: %v", err)
	}
	if _, _, err := c.Model("gemma-4"); err == nil || err.Error() != `model "gemma-4" is ambiguous: could be gemma-4-26b-a4b, gemma-4-31b-it` {
		t.Errorf("gemma-4: %v", err)
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
