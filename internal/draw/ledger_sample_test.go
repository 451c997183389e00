package draw

import (
	"math"

	"railwright.dev/railwright/internal/fabric"
)

func gib(v float64) int64 { return int64(math.Round(v * (1 << 30))) }

// DeepSeek-R1 on 16 H100 as VCF 10.6.1 logs it: 40.33 GiB of weights, 24.99 GiB of KV cache, 1.34 GiB of graphs;
// the classes by the formulae of sizing.
func r1Entries() []fabric.LedgerEntry {
	weights := func(class string, v float64, formula string) fabric.LedgerEntry {
		return fabric.LedgerEntry{Name: "weights", Class: class, Bytes: gib(v), Formula: formula, Certainty: "index"}
	}
	all := []fabric.LedgerEntry{
		weights("expert", 38.07, "58 x 256 x 3 x 7168 x 2048 x (1 + 4/16384) / 16"),
		weights("replicated", 1.06, "61 x 7168 x (1536 + 576) + 58 x 256 x 7168 x 2"),
		weights("attention", 0.73, "61 x 171966464 / 16"),
		weights("embedding", 0.11, "129280 x 7168 x 2 / 16"),
		weights("head", 0.11, "129280 x 7168 x 2 / 16"),
		weights("shared", 0.15, "58 x 3 x 7168 x 2048 / 16"),
		weights("dense", 0.07, "3 x 3 x 7168 x 18432 / 16"),
		{Name: "kv", Bytes: gib(24.99), Formula: "381804 x 70272", Certainty: "formula"},
		{Name: "request_pool", Bytes: gib(1.25), Formula: "2048 x (163840 + 4) x 4", Certainty: "formula"},
		{Name: "graphs", Bytes: gib(1.34), Formula: "VCF 10.6.1, 23 batch sizes up to 160", Certainty: "measured"},
		{Name: "activations", Bytes: gib(1.5), Formula: "8192 x 7168 x 2 x 13", Certainty: "assumed"},
	}
	all = append([]fabric.LedgerEntry{
		{Name: "reserved", Bytes: gib(0.47), Formula: "79.65 that the driver shows - 79.18 of CUDA", Certainty: "measured"},
		{Name: "context", Bytes: gib(0.55), Formula: "CUDA context and modules", Certainty: "measured"},
		{Name: "communicators", Bytes: gib(1.75), Formula: "NCCL over 2 nodes, VCF 10.6.1", Certainty: "measured"},
	}, all...)
	return withSlack(all)
}

// r1TP8 is the same on 8 GPUs, which does not fit.
func r1TP8() []fabric.LedgerEntry {
	all := r1Entries()
	for i, e := range all {
		switch e.Class {
		case "expert", "attention", "embedding", "head", "shared", "dense":
			all[i].Bytes *= 2
		}
		if e.Name == "kv" {
			all[i].Bytes = gib(10.72)
		}
	}
	return withSlack(all[:len(all)-1])
}

const h100Memory = 81559 << 20 // bytes

// withSlack appends what is left of an H100.
func withSlack(all []fabric.LedgerEntry) []fabric.LedgerEntry {
	left := int64(h100Memory)
	for _, e := range all {
		left -= e.Bytes
	}
	return append(all, fabric.LedgerEntry{Name: "slack", Bytes: left, Formula: "what is left", Certainty: "formula"})
}

func r1Ledger() Ledger {
	return Ledger{Title: "deepseek-r1, 16 GPUs, tp 16", Bars: []LedgerBar{{"16 GPUs, tp 16", h100Memory, r1Entries()}}}
}

func twoPlans() Ledger {
	return Ledger{Bars: []LedgerBar{{"16 GPUs, tp 16", h100Memory, r1Entries()}, {"8 GPUs, tp 8", h100Memory, r1TP8()}}}
}
