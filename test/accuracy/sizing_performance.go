package main

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/serving"
	"railwright.dev/railwright/internal/sizing"
)

// served is a published measurement of an engine that serves a model, and what the peer says to it.
type served struct {
	id, engine, version string
	model, gpu          string // as the table writes them
	precision           string
	input, output       int64
	concurrency         int
	tp, ep              int
	ttft, tpot          float64 // ms
	peer                float64 // ms a token; 0: it gives none
}

// checkpoints are what was measured, by the name and precision of the table: names of the catalog, and configs of
// quantised copies that are not in it.
var checkpoints = map[string]string{
	"Qwen/Qwen3.5-397B-A17B bf16":          "qwen3-5-397b-a17b",
	"Qwen/Qwen3.5-397B-A17B fp8":           "qwen3.5-397b-fp8.json",
	"Qwen/Qwen3.5-397B-A17B fp4":           "qwen3.5-397b-nvfp4.json",
	"moonshotai/Kimi-K2.5 fp4":             "kimi-k2.5-nvfp4.json",
	"moonshotai/Kimi-K2.5 int4":            "kimi-k2-5",
	"openai/gpt-oss-120b fp4":              "gpt-oss-120b",
	"Qwen/Qwen3-32B ":                      "qwen3-32b",
	"Qwen/Qwen3-235B-A22B-FP8 fp8":         "qwen3-235b-a22b-fp8",
	"MiniMaxAI/MiniMax-M2.5 fp8":           "minimax-m2-5",
	"meta-llama/Llama-3.1-8B-Instruct fp8": "meta-llama-3-1-8b", // its name is the bf16 checkpoint's
	"nvidia/Llama-3.1-8B-Instruct-FP8 fp8": "llama-3.1-8b-fp8.json",
	"zhipuai/GLM-5 fp8":                    "glm-5-fp8",
}

// configs is where the latter lie.
const configs = "internal/serving/testdata/performance"

// layoutOf is tp and ep as the run's own id names them: the table's tp column multiplies both in some rows.
var layoutOf = regexp.MustCompile(`_tp(\d+)(?:_0)?_ep(\d+|none)`)

func readServed(name string) ([]served, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines, err := csv.NewReader(f).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("table %q: %w", name, err)
	}
	if len(lines) < 2 {
		return nil, fmt.Errorf("table %q: has no rows", name)
	}
	var rows []served
	for _, line := range lines[1:] {
		cell := func(column string) string { return line[slices.Index(lines[0], column)] }
		number := func(column string) float64 {
			v, cellErr := strconv.ParseFloat(cmp.Or(cell(column), "0"), 64)
			if cellErr != nil {
				err = fmt.Errorf("table %q: column %s: %w", name, column, cellErr)
			}
			return v
		}
		r := served{
			id: cell("id"), engine: cell("backend"), version: cell("version"), model: cell("model"), gpu: cell("system"),
			precision: cell("precision"), input: int64(number("isl")), output: int64(number("osl")),
			concurrency: int(number("concurrency")), tp: int(number("tp")), ep: max(1, int(number("ep"))),
			ttft: number("measured_ttft_ms"), tpot: number("measured_tpot_ms"), peer: number("aic_tpot_ms"),
		}
		if m := layoutOf.FindStringSubmatch(r.id); m != nil {
			r.tp, _ = strconv.Atoi(m[1])
		}
		if err != nil {
			return nil, err
		}
		rows = append(rows, r)
	}
	return rows, nil
}

// serve computes a row from nothing but the config, the GPU and the flags.
func (r served) serve(cat *catalog.Catalog, folder string) (fabric.Performance, error) {
	var none fabric.Performance
	name, known := checkpoints[r.model+" "+r.precision]
	if !known {
		return none, fmt.Errorf("row %s: no config of %s in %q", r.id, r.model, r.precision)
	}
	m, err := readCheckpoint(cat, folder, name)
	if err != nil {
		return none, err
	}
	machine, err := sizing.MachineOfGPU(cat, strings.TrimSuffix(r.gpu, "_sxm"), 8)
	if err != nil {
		return none, err
	}
	q := sizing.Request{Model: m, Machine: machine, Engine: r.engine, EngineVersion: r.version, Nodes: 1, TP: r.tp, EP: r.ep, PP: 1, DP: 1, GPUs: r.tp, Context: min(m.Context, 65536)}
	if _, err := sizing.ParseVersion(q.EngineVersion); err != nil {
		q.EngineVersion = "" // a build without a number
	}
	plan, err := planOf(q)
	if err != nil { // the engine's rules as they were read refuse what somebody ran: with experts divided by number
		q.EP = q.TP
		if plan, err = planOf(q); err != nil {
			return none, fmt.Errorf("row %s: %w", r.id, err)
		}
	}
	p, err := serving.Speed(serving.ReplicaOf(q, plan, serving.Network{}), []serving.Workload{{Name: r.id, Input: r.input, Output: r.output}}, []int{r.concurrency})
	if err != nil || len(p) != 1 {
		return none, fmt.Errorf("row %s: %d points: %v", r.id, len(p), err)
	}
	return p[0], nil
}

func readCheckpoint(cat *catalog.Catalog, folder, name string) (*llm.Model, error) {
	if strings.HasSuffix(name, ".json") {
		name = filepath.Join(folder, name)
	}
	return llm.Open(name, cat)
}

// planOf is the plan of exactly the layout that was asked for.
func planOf(q sizing.Request) (fabric.SizingPlan, error) {
	s, err := sizing.Plan(q)
	if err != nil {
		return fabric.SizingPlan{}, err
	}
	for _, p := range s.Plans {
		if p.TP == q.TP && p.PP == q.PP && p.EP == q.EP && p.DP == q.DP && p.KVTokens > 0 {
			return p, nil
		}
	}
	return fabric.SizingPlan{}, fmt.Errorf("tp %d ep %d: no such plan: %v", q.TP, q.EP, s.Refused)
}

// printServed compares every row and says how many bars were missed.
func printServed(w io.Writer, cat *catalog.Catalog, table, folder string) (missed int, err error) {
	rows, err := readServed(table)
	if err != nil {
		return 0, err
	}
	var ours, oursBeside, peer, narrow []float64
	var inside float64
	fmt.Fprintf(w, "\nserving: time per token and time to the first, ms\nmodel                         GPU   engine  input x output  users tp ep | measured computed   off    peer | first: measured in band     limit\n")
	for _, r := range rows {
		p, err := r.serve(cat, folder)
		if err != nil {
			return missed, err
		}
		off := p.TPOTms/r.tpot - 1
		ours = append(ours, math.Abs(off))
		beside := "-"
		if r.peer > 0 {
			peer, oursBeside = append(peer, math.Abs(r.peer/r.tpot-1)), append(oursBeside, math.Abs(off))
			beside = fmt.Sprintf("%+.0f%%", 100*(r.peer/r.tpot-1))
		}
		in := "no"
		if r.ttft >= p.TTFTms[0] && r.ttft <= p.TTFTms[1] {
			inside, in = inside+1, "in"
		}
		narrow = append(narrow, p.TTFTms[1]/p.TTFTms[0])
		fmt.Fprintf(w, "%-29.29s %-5.5s %-7s %5d x %-5d  %5d  %2d %2d | %7.2f  %7.2f  %+4.0f%%  %6s | %7.0f %2s %5.0f to %-6.0f %s\n", r.model+" "+r.precision, r.gpu, r.engine,
			r.input, r.output, r.concurrency, r.tp, r.ep, r.tpot, p.TPOTms, 100*off, beside, r.ttft, in, p.TTFTms[0], p.TTFTms[1], p.Limit)
	}
	printGroups(w, rows, ours)
	for _, b := range []bar{
		{"time per token, mean error", 100 * mean(ours), 20, false, "%"},
		{"the same beside the peer's, over the peer's", mean(oursBeside) / mean(peer), 1, false, ""},
		{"first token inside its band", 100 * inside / float64(len(rows)), 80, true, "%"},
		{"width of that band, median of high over low", quantile(narrow, 0.5), 10, false, ""},
	} {
		missed += b.print(w)
	}
	fmt.Fprintf(w, "  beside it: the peer's mean error on the %d rows that it gives %.1f%%, ours on them %.1f%%\n", len(peer), 100*mean(peer), 100*mean(oursBeside))
	return missed, nil
}

// printGroups shows how far each model on each GPU is off. No constant was fitted on one of them, so each row is also
// what leaving its model or its GPU out would give.
func printGroups(w io.Writer, rows []served, off []float64) {
	groups := map[string][]float64{}
	for i, r := range rows {
		for _, key := range []string{"model " + r.model, "GPU " + r.gpu, "engine " + r.engine} {
			groups[key] = append(groups[key], off[i])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(groups)) {
		fmt.Fprintf(w, "  %-50s %6.1f%% over %d rows\n", key, 100*mean(groups[key]), len(groups[key]))
	}
}

func mean(of []float64) float64 {
	if len(of) == 0 {
		return math.NaN()
	}
	sum := 0.
	for _, v := range of {
		sum += v
	}
	return sum / float64(len(of))
}

// print writes a bar as printBars does and counts a miss.
func (b bar) print(w io.Writer) (missed int) {
	verdict, word := "met", "at most"
	if b.least {
		word = "at least"
	}
	if !b.met() {
		verdict, missed = "MISSED", 1
	}
	fmt.Fprintf(w, "  %-50s %7.2f%-1s  %s %g  %s\n", b.name, b.value, b.unit, word, b.limit, verdict)
	return missed
}

// documented is a throughput of the VMware document, 11.2, tokens per second at 125 users on two HGX H100.
type documented struct {
	model    string  // name in the catalog
	fraction float64 // --mem-fraction-static, its table 4
	tokensS  [4]float64
}

var documents = []documented{
	{"deepseek-r1", 0.85, [4]float64{3500, 3500, 3500, 2200}},
	{"meta-llama-3-1-405b", 0.92, [4]float64{2200, 2200, 2200, 650}},
}

// printDocument compares with the document's throughput, given its own all-reduce curve, appendix H.
func printDocument(w io.Writer, cat *catalog.Catalog, curve string) (missed int, err error) {
	text, err := os.ReadFile(curve)
	if err != nil {
		return 0, err
	}
	var t table
	if err := json.Unmarshal(text, &t); err != nil {
		return 0, fmt.Errorf("table %q: %w", curve, err)
	}
	var points []serving.Point
	for _, r := range t.Rows {
		if r.Size >= 1024 {
			points = append(points, serving.Point{Bytes: float64(r.Size), TimeUS: r.TimeUS})
		}
	}
	reduce, err := serving.CurveOf(t.Ranks, points)
	if err != nil {
		return 0, err
	}
	machine, err := sizing.MachineOf(cat, "hgx-h100")
	if err != nil {
		return 0, err
	}
	var off []float64
	fmt.Fprintf(w, "\nVMware document, 11.2: tokens per second, 125 users, two HGX H100, its all-reduce curve\n")
	for _, d := range documents {
		m, err := llm.Open(d.model, cat)
		if err != nil {
			return missed, err
		}
		q := sizing.Request{Model: m, Machine: machine, Engine: "sglang", EngineVersion: "0.5.0rc2", Nodes: 2, GPUs: 16, TP: 16, EP: 1, PP: 1, DP: 1, MemFraction: d.fraction}
		plan, err := planOf(q)
		if err != nil {
			return missed, fmt.Errorf("%s: %w", d.model, err)
		}
		p, err := serving.Speed(serving.ReplicaOf(q, plan, serving.Network{Name: "8 x 400 Gb/s", Curve: reduce}), serving.Workloads(), []int{125})
		if err != nil {
			return missed, fmt.Errorf("%s: %w", d.model, err)
		}
		for i, x := range p {
			e := x.TokensS/d.tokensS[i] - 1
			off = append(off, math.Abs(e))
			fmt.Fprintf(w, "  %-15s %-18s %5d x %-5d document %5.0f  computed %5.0f %+4.0f%%  in %4.0f to %4.0f  %s, %.0f running\n", d.model, x.Workload, x.Input, x.Output, d.tokensS[i], x.TokensS, 100*e, x.Band[0], x.Band[1], x.Limit, x.Running)
		}
	}
	missed += bar{"mean error", 100 * mean(off), 15, false, "%"}.print(w)
	missed += bar{"worst error", 100 * slices.Max(off), 35, false, "%"}.print(w)
	return missed, nil
}
