package main

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

// sizingFolders are where the measurements of models lie.
type sizingFolders struct {
	sizing  string // of shared data: configs with their figures, start logs, measured serving
	curve   string // the VMware document's all-reduce
	configs string // of quantised copies that were measured
}

// sizingReport prints everything about models, engines and their speed against their bars; ok is false where one is
// missed or a file is not as it should be.
func sizingReport(w io.Writer, cat *catalog.Catalog, from sizingFolders) (ok bool) {
	if _, err := os.Stat(from.sizing); err != nil {
		fmt.Fprintf(w, "\nsizing: skipped: %v\n", err)
		return true
	}
	missed := 0
	for _, part := range []func() (int, error){
		func() (int, error) { return printModels(w, cat, filepath.Join(from.sizing, "models_public.json")) },
		func() (int, error) { return printServers(w, cat, filepath.Join(from.sizing, "models_public.json")) },
		func() (int, error) { return printLogs(w, cat, from.configs) },
		func() (int, error) {
			return printServed(w, cat, filepath.Join(from.sizing, "measured_perf_public.csv"), from.configs)
		},
		func() (int, error) { return printDocument(w, cat, from.curve) },
	} {
		n, err := part()
		missed += n
		if err != nil {
			fmt.Fprintf(w, "  MISSED: %v\n", err)
			missed++
		}
	}
	return missed == 0
}

// published is a model with what is known of it.
type published struct {
	Model  string          `json:"model"`
	Config json.RawMessage `json:"config"`
	Truth  struct {
		Main    float64 `json:"total_params_main"`
		Bytes   float64 `json:"weights_bytes_formula"`
		WithMTP float64 `json:"weights_bytes_with_mtp"`
		DiskGiB float64 `json:"published_disk_GiB"`
		KV      float64 `json:"kv_bytes_per_token_tp1_bf16"`
	} `json:"truth"`
}

func readPublished(name string) ([]published, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all []published
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("models %q: %w", name, err)
	}
	return all, nil
}

// read returns the model to the tool as its user does, as a file.
func (p published) read(cat *catalog.Catalog) (*llm.Model, error) {
	folder, err := os.MkdirTemp("", "config")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }() // a folder of its own below the temporary one
	name := filepath.Join(folder, "config.json")
	if err := os.WriteFile(name, p.Config, 0o600); err != nil {
		return nil, err
	}
	m, err := llm.Open(name, cat)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Model, err)
	}
	return m, nil
}

// printModels compares parameters, bytes on disk and KV bytes per token with what is published.
func printModels(w io.Writer, cat *catalog.Catalog, name string) (missed int, err error) {
	all, err := readPublished(name)
	if err != nil {
		return 0, err
	}
	var parameters, disk, kv []float64
	fmt.Fprintf(w, "\nmodels from config.json alone      parameters          off     weights, GiB  published     off | KV B per token     off\n")
	for _, p := range all {
		m, err := p.read(cat)
		if err != nil {
			return missed, err
		}
		count, bytes := m.Parameters(), float64(m.DiskBytes)
		want := p.Truth.Bytes
		if p.Truth.WithMTP > 0 {
			want = p.Truth.WithMTP
		}
		if p.Truth.DiskGiB > 0 && math.Abs(p.Truth.DiskGiB*(1<<30)/want-1) < 0.03 {
			want = p.Truth.DiskGiB * (1 << 30) // what its publisher's index says, where that is of the same weights
		}
		perToken := float64(m.KVBytesPerToken(1, llm.KVBF16))
		total := count.Total
		if whole := total + count.Vision; math.Abs(float64(whole)-p.Truth.Main) < math.Abs(float64(total)-p.Truth.Main) {
			total = whole // the figure counts the vision tower
		}
		parameters = append(parameters, math.Abs(float64(total)/p.Truth.Main-1))
		disk, kv = append(disk, math.Abs(bytes/want-1)), append(kv, math.Abs(perToken/p.Truth.KV-1))
		fmt.Fprintf(w, "  %-32.32s %13d %+9.5f%%  %9.2f %9.2f  %+7.3f%% | %9.0f  %+8.3f%%\n", p.Model, total, 100*(float64(total)/p.Truth.Main-1),
			bytes/(1<<30), want/(1<<30), 100*(bytes/want-1), perToken, 100*(perToken/p.Truth.KV-1))
	}
	for _, b := range []bar{
		{"parameters, worst", 100 * slices.Max(parameters), 0.01, false, "%"},
		{"weights on disk by formula, median", 100 * quantile(disk, 0.5), 0.3, false, "%"},
		{"weights on disk by formula, 95th percentile", 100 * quantile(disk, 0.95), 1, false, "%"},
		{"KV bytes per token, worst", 100 * slices.Max(kv), 0.1, false, "%"},
	} {
		missed += b.print(w)
	}
	return missed, nil
}

// documentRow is a row of the VMware document's table 2.
type documentRow struct {
	model         string // as the configs call it
	gpus, servers int
	context       int64
	fraction      float64 // --mem-fraction-static of its table 4; 0: not in it
}

var documentRows = []documentRow{
	{"openai/gpt-oss-120b", 8, 1, 131072, 0},
	{"meta-llama/Meta-Llama-3.1-405B", 16, 2, 131072, 0.92},
	{"deepseek-ai/DeepSeek-R1", 16, 2, 131072, 0.85},
	{"mistralai/Mixtral-8x22B-v0.1", 8, 1, 65536, 0},
	{"Qwen/Qwen3-235B-A22B", 16, 2, 262144, 0.8},
	{"moonshotai/Kimi-K2-Instruct", 32, 4, 131072, 0},
	{"meta-llama/Llama-4-Maverick-17B-128E-Instruct", 10, 2, 1048576, 0},
	{"meta-llama/Llama-4-Scout-17B-16E-Instruct", 5, 1, 10485760, 0},
}

// printServers compares with tables 2 and 4 of the document: whole HGX H100, SGLang at its own memory fraction, one
// request at full context.
func printServers(w io.Writer, cat *catalog.Catalog, name string) (missed int, err error) {
	all, err := readPublished(name)
	if err != nil {
		return 0, err
	}
	machine, err := sizing.MachineOf(cat, "hgx-h100")
	if err != nil {
		return 0, err
	}
	agreed := 0
	fmt.Fprintf(w, "\nVMware document, tables 2 and 4: servers of 8 H100, SGLang 0.5.0rc2, full context\n")
	for _, row := range documentRows {
		at := slices.IndexFunc(all, func(p published) bool { return p.Model == row.model })
		if at < 0 {
			return missed, fmt.Errorf("models %q: no %s", name, row.model)
		}
		m, err := all[at].read(cat)
		if err != nil {
			return missed, err
		}
		m.Context = max(m.Context, row.context) // Qwen3-235B-A22B-Thinking-2507 is the model of the configs with 262144
		q := sizing.Request{Model: m, Machine: machine, Engine: "sglang", EngineVersion: "0.5.0rc2", Context: row.context}
		s, err := sizing.Plan(q)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", row.model, err)
		}
		fewest, layout := fewestNodes(q)
		verdict := "agrees"
		if fewest == row.servers {
			agreed++
		} else {
			verdict = "differs"
		}
		fmt.Fprintf(w, "  %-46s document %2d GPUs, %-9s  computed %-10s %s: %s%s\n", row.model, row.gpus, fabric.Count(row.servers, "server"), fabric.Count(fewest, "server")+",", layout, verdict, refusalOf(s, row.gpus))
		if row.fraction > 0 {
			missed += printFraction(w, m, machine, row)
		}
	}
	// The ninth of Scout is proven wrong by an assert: 5 GPUs do not divide its heads, and 8 do not hold 10M tokens.
	missed += bar{"rows of table 2 whose servers agree", float64(agreed), 7, true, ""}.print(w)
	return missed, nil
}

// fewestNodes is on how many a request at full context fits with the engine's own memory fraction.
func fewestNodes(q sizing.Request) (nodes int, layout string) {
	for nodes = 1; nodes <= 8; nodes++ {
		q.Nodes = nodes
		s, err := sizing.Plan(q)
		if err != nil {
			return 0, err.Error()
		}
		for _, p := range s.Plans {
			own := q
			own.GPUs, own.TP, own.PP, own.EP, own.DP, own.MemFraction = p.GPUs, p.TP, p.PP, p.EP, p.DP, p.Fraction.Default
			if again, err := planOf(own); err == nil && again.Fits {
				return nodes, fmt.Sprintf("tp %d pp %d ep %d", p.TP, p.PP, p.EP)
			}
		}
	}
	return 0, "none fits"
}

// refusalOf returns why so many GPUs are not taken, where they are not.
func refusalOf(s *fabric.Sizing, gpus int) string {
	for _, r := range s.Refused {
		if r.GPUs == gpus && r.TP == gpus {
			return "; tp " + fmt.Sprint(gpus) + ": " + r.Reason
		}
	}
	return ""
}

// printFraction checks that the value of table 4 lies in the range of the layout that the document launches.
func printFraction(w io.Writer, m *llm.Model, machine sizing.Machine, row documentRow) (missed int) {
	q := sizing.Request{Model: m, Machine: machine, Engine: "sglang", EngineVersion: "0.5.0rc2", Nodes: 2, GPUs: 16, TP: 16, PP: 1, EP: 1, DP: 1, MemFraction: row.fraction}
	p, err := planOf(q)
	if err != nil {
		fmt.Fprintf(w, "    MISSED: table 4: %v\n", err)
		return 1
	}
	f, verdict := p.Fraction, "inside"
	if row.fraction < f.Low || row.fraction > f.High {
		verdict, missed = "OUTSIDE", 1
	}
	fmt.Fprintf(w, "    table 4: %.2f, %s %.2f to %.2f, recommended %.2f, engine's own %.2f; %d tokens, %.1f GiB of weights per GPU\n", row.fraction, verdict, f.Low, f.High, f.Recommended, f.Default, p.KVTokens, float64(p.WeightsBytesPerGPU)/(1<<30))
	return missed
}
