package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/sizing"
)

// logged is what an engine printed at its start, by sizing/startup_logs_public.json of the shared data. 0: not there.
type logged struct {
	id              string
	model           string // name in the catalog, or a config of testdata/performance
	machine         string
	engine, version string
	nodes, tp       int
	fraction        float64
	context, chunk  int64
	weightsGiB      float64
	tokens          int64
}

var logs = []logged{
	{"vcf-r1-h100-tp16", "deepseek-r1", "hgx-h100", "sglang", "0.5.0rc2", 2, 16, 0.85, 0, 0, 40.33, 381804},
	{"kimi-k2.5-mi355x-tp8", "kimi-k2-5", "oam8-mi355x", "sglang", "0.5.8", 1, 8, 0.8260405859375, 0, 16384, 73.58, 2454421},
	{"kimi-k2-thinking-h200-tp8", "kimi-k2-thinking", "hgx-h200", "vllm", "0.11.0", 1, 8, 0, 0, 0, 0, 715072},
	{"llama70b-8xh200", "meta-llama-3-1-70b", "hgx-h200", "sglang", "0.5.3", 1, 8, 0, 0, 0, 0, 2795207},
	{"qwen3-235b-fp8-4xh100-sgl", "qwen3-235b-a22b-fp8", "hgx-h100", "sglang", "0.4.8", 1, 4, 0.93, 0, 0, 0, 367404},
	{"qwen3-235b-fp8-4xh100-vllm", "qwen3-235b-a22b-fp8", "hgx-h100", "vllm", "0.10.0", 1, 4, 0.9, 0, 0, 0, 178880},
	{"llama405b-fp8-8xh100", "llama-3.1-405b-fp8-july-2024.json", "hgx-h100", "vllm", "0.5.3", 1, 8, 0.95, 8192, 0, 57.752, 0},
	{"qwen3-30b-tp4", "qwen3-30b-a3b", "hgx-h100", "vllm", "0.8.5", 1, 4, 0, 0, 0, 14.2474, 0},
	{"llmd-llama-3.1-8b-tp1", "meta-llama-3-1-8b", "hgx-h100", "vllm", "0.11.0", 1, 1, 0.9, 16000, 0, 14.99, 0},
	{"llmd-qwen3-0.6b-tp1", "qwen3-0-6b", "hgx-h100", "vllm", "0.11.0", 1, 1, 0.9, 16000, 0, 1.12, 0},
	{"llmd-qwen3-32b-tp1", "qwen3-32b", "hgx-h100", "vllm", "0.11.0", 1, 1, 0.9, 16000, 0, 61.03, 0},
	{"llmd-qwen3-32b-tp2", "qwen3-32b", "hgx-h100", "vllm", "0.11.0", 1, 2, 0.9, 16000, 0, 30.59, 0},
	{"llmd-gpt-oss-120b-tp1", "gpt-oss-120b", "hgx-h100", "vllm", "0.11.0", 1, 1, 0.95, 16000, 0, 64.38, 0},
}

// printLogs compares weights a rank and KV tokens with what engines printed.
func printLogs(w io.Writer, cat *catalog.Catalog, folder string) (missed int, err error) {
	var near, of float64
	var tokens []float64
	document := [2]float64{math.NaN(), math.NaN()}
	fmt.Fprintf(w, "\nstart logs                   weights per rank, GiB: logged  computed  off | KV tokens: logged   computed     off\n")
	for _, l := range logs {
		m, err := readCheckpoint(cat, folder, l.model)
		if err != nil {
			return missed, err
		}
		machine, err := sizing.MachineOf(cat, l.machine)
		if err != nil {
			return missed, err
		}
		p, err := planOf(sizing.Request{
			Model: m, Machine: machine, Engine: l.engine, EngineVersion: l.version, Nodes: l.nodes, GPUs: l.tp, TP: l.tp, PP: 1, EP: 1, DP: 1,
			MemFraction: l.fraction, Context: l.context, Chunk: l.chunk,
		})
		if err != nil {
			return missed, fmt.Errorf("log %s: %w", l.id, err)
		}
		held := float64(p.WeightsBytesPerGPU) / (1 << 30)
		for _, e := range p.Prints {
			if e.What == "mem usage" || e.What == "Model loading took" {
				held = e.Value
			}
		}
		line := fmt.Sprintf("  %-34s", l.id)
		if l.weightsGiB > 0 {
			off := held/l.weightsGiB - 1
			if of++; math.Abs(off) <= 0.01 || math.Abs(held-l.weightsGiB) <= 0.25 {
				near++
			}
			line += fmt.Sprintf("%22.2f  %8.2f %+.2f%%", l.weightsGiB, held, 100*off)
		} else {
			line += fmt.Sprintf("%22s  %8.2f       ", "-", held)
		}
		if l.tokens > 0 {
			off := float64(p.KVTokens)/float64(l.tokens) - 1
			tokens = append(tokens, math.Abs(off))
			line += fmt.Sprintf(" | %17d %10d %+6.2f%%", l.tokens, p.KVTokens, 100*off)
			if l.id == "vcf-r1-h100-tp16" {
				document = [2]float64{math.Abs(held/l.weightsGiB - 1), math.Abs(off)}
			}
		}
		fmt.Fprintln(w, line)
	}
	for _, b := range []bar{
		{"weights within 1 % or 0.25 GiB", 100 * near / of, 95, true, "%"},
		{"KV tokens, 90th percentile", 100 * quantile(tokens, 0.9), 3, false, "%"},
		{"KV tokens, worst", 100 * slices.Max(tokens), 5, false, "%"},
		{"the document's 40.33 GiB", 100 * document[0], 0.2, false, "%"},
		{"the document's 381,804 tokens", 100 * document[1], 0.5, false, "%"},
	} {
		missed += b.print(w)
	}
	return missed, nil
}
