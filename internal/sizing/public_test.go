package sizing

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"railwright.dev/railwright/internal/llm"
)

// publicModels reads the configs of the shared data, by the name of the model.
func publicModels(t *testing.T) map[string]*llm.Model {
	t.Helper()
	raw, err := os.ReadFile("../../../shared/data/sizing/models_public.json")
	if err != nil {
		t.Skip("the shared data is not beside the repository")
	}
	var list []struct {
		Model  string
		Config json.RawMessage
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	out := map[string]*llm.Model{}
	for _, m := range list {
		path := filepath.Join(t.TempDir(), "config.json")
		if err := os.WriteFile(path, m.Config, 0o600); err != nil {
			t.Fatal(err)
		}
		model, err := llm.Open(path, nil)
		if err != nil {
			t.Errorf("%s: %v", m.Model, err)
			continue
		}
		out[m.Model] = model
	}
	return out
}

// TestPublicTable2 is table 2 with the published configs.
func TestPublicTable2(t *testing.T) {
	models := publicModels(t)
	for _, row := range []struct {
		model string
		nodes int
	}{
		{"openai/gpt-oss-120b", 1},
		{"meta-llama/Meta-Llama-3.1-405B", 2},
		{"deepseek-ai/DeepSeek-R1", 2},
		{"mistralai/Mixtral-8x22B-v0.1", 1},
		{"moonshotai/Kimi-K2-Instruct", 4},
		{"meta-llama/Llama-4-Maverick-17B-128E-Instruct", 2},
		{"meta-llama/Llama-4-Scout-17B-16E-Instruct", 2}, // the paper's 1 server has 5 GPUs, which SGLang asserts away
	} {
		t.Run(row.model, func(t *testing.T) {
			out := sized(t, Request{Model: models[row.model], Machine: h100()})
			if len(out.Plans) == 0 || !out.Plans[0].Fits || out.Plans[0].Nodes != row.nodes {
				t.Errorf("%s: %+v", row.model, out.Plans)
				return
			}
			for _, p := range out.Plans {
				sums(t, row.model, p, h100().GPU.MemoryBytes)
			}
		})
	}
	// The config of the shared data has 40,960; the one of the table 262,144.
	qwen := *models["Qwen/Qwen3-235B-A22B"]
	qwen.Context = 262144
	if out := sized(t, Request{Model: &qwen, Machine: h100()}); out.Plans[0].Nodes != 2 {
		t.Errorf("Qwen3-235B: %+v", out.Plans)
	}
}

// TestPublicLogs holds the weights of a rank against start logs, with the published configs.
func TestPublicLogs(t *testing.T) {
	models := publicModels(t)
	for _, l := range []struct {
		model, engine, version string
		tp                     int
		fraction               float64
		context                int64
		weights                float64 // GiB
		tolerance              float64
	}{
		{"deepseek-ai/DeepSeek-R1", "sglang", "0.5.0rc2", 16, 0.85, 0, 40.33, 0.002},
		{"Qwen/Qwen3-30B-A3B", "vllm", "0.8.5", 4, 0.9, 0, 14.2474, 0.01},
		{"meta-llama/Meta-Llama-3.1-8B", "vllm", "0.11.0", 1, 0.9, 16000, 14.99, 0.01},
		{"Qwen/Qwen3-0.6B", "vllm", "0.11.0", 1, 0.9, 16000, 1.12, 0.01},
		{"Qwen/Qwen3-32B", "vllm", "0.11.0", 1, 0.9, 16000, 61.03, 0.01},
		{"Qwen/Qwen3-32B", "vllm", "0.11.0", 2, 0.9, 16000, 30.59, 0.01},
		{"openai/gpt-oss-120b", "vllm", "0.11.0", 1, 0.95, 16000, 64.38, 0.01},
	} {
		t.Run(fmt.Sprintf("%s, %s, tp %d", l.model, l.engine, l.tp), func(t *testing.T) {
			p := onlyPlan(t, Request{
				Model: models[l.model], Machine: h100(), TP: l.tp, Engine: l.engine, EngineVersion: l.version, MemFraction: l.fraction,
				Context: l.context,
			})
			within(t, l.model+" weights of a rank", inGiB(p.WeightsBytesPerGPU), l.weights, l.tolerance)
			if l.model == "deepseek-ai/DeepSeek-R1" {
				within(t, "KV tokens", float64(p.KVTokens), 381804, 0.005)
			}
		})
	}
}

// TestPublicEverywhere: no model breaks a search on any engine, and every plan's ledger sums.
func TestPublicEverywhere(t *testing.T) {
	for name, m := range publicModels(t) {
		t.Run(name, func(t *testing.T) {
			for _, e := range Engines() {
				for _, gpu := range []string{"h100-sxm", "mi355x"} {
					machine := hgx(gpu)
					out := sized(t, Request{Model: m, Machine: machine, Engine: e.Name, Context: min(m.Context, 16384), Concurrency: 4})
					if len(out.Plans) == 0 {
						t.Errorf("%s on %s with %s: nothing fits: %+v", name, gpu, e.Name, out.Refused)
					}
					for _, p := range out.Plans {
						sums(t, name, p, machine.GPU.MemoryBytes)
						if p.KVTokens < 16384 && m.Context >= 16384 || p.Requests < 4 {
							t.Errorf("%s on %s with %s: %+v", name, gpu, e.Name, p)
						}
					}
				}
			}
		})
	}
}
