package report

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/fabric"
)

func gib(v float64) int64 { return int64(math.Round(v * (1 << 30))) }

// r1Sizing is DeepSeek-R1 on two HGX H100 as VCF 10.6.1 started it: weights and tokens as SGLang logged them, the
// classes, the fractions and the speeds by the formulae of the sizing document.
func r1Sizing() *fabric.Sizing {
	s := &fabric.Sizing{
		Meta: fabric.NewMeta("Sizing"), Model: "deepseek-r1", ModelPath: "deepseek-ai/DeepSeek-R1", Machine: "hgx-h100", Engine: fabric.SizingEngine{Name: "sglang", Version: "0.5.0rc2"},
		Parameters: fabric.Parameters{Total: 671026419200, Active: 37551915520, MTP: 13460000000},
		DiskBytes:  688586727753, WeightsBytes: 673150000000, KVBytesPerToken: 70272, KVDType: "bf16", Certainty: "index",
		Context: 163840, ModelContext: 163840, Concurrency: 1,
		GPU: fabric.SizingGPU{Name: "h100-sxm", MemoryBytes: 81559 << 20, BandwidthGBs: 3350, TFLOPS: 989.5, TFLOPSFP8: 1979, LinkGBs: 450, Source: "catalog"},
	}
	plan := r1Plan(0.85, 381804, 24.99)
	plan.Role, plan.Performance = fabric.RoleBest, r1Speed()
	second := r1Plan(0.78, 300000, 19.63)
	second.Performance = nil
	s.Plans = []fabric.SizingPlan{plan, second}
	s.Refused = r1Refused()
	s.Storage = r1Storage()
	s.Derivation = r1Derivation()
	s.Assumptions = []fabric.Assumption{
		{What: "1.75 GiB for communicators at 16 ranks over 2 nodes", Source: "log of VCF 10.6.1"},
		{What: "NCCL's curve of 2 nodes with 8 NICs of 400 Gb/s", Source: "predict, hgx-h100"},
	}
	return s
}

func r1Plan(fraction float64, tokens int64, kv float64) fabric.SizingPlan {
	x := fabric.SizingPlan{
		Nodes: 2, GPUs: 16, TP: 16, PP: 1, EP: 1, DP: 1, MemFraction: fraction,
		Fraction:           fabric.Fraction{Default: 0.78, Recommended: 0.88, Low: 0.61, High: 0.941, Effect: "0.88 would leave 6.5 GiB and hold 414,900 tokens"},
		WeightsBytesPerGPU: gib(40.30), KVBytesPerToken: 70272, KVTokens: tokens, MaxContext: 163840, Requests: float64(tokens) / 163840,
		MaxRunning: 2048, FreeBytes: gib(8.86 + 24.99 - kv), Fits: true, Limits: []string{"MLA: each rank keeps the whole KV cache, tp does not divide it"},
		Flags:  []string{"--tp 16", "--nnodes 2", "--mem-fraction-static " + fmt.Sprint(fraction), "--context-length 163840"},
		Prints: []fabric.EnginePrint{{What: "mem usage", Value: 40.30, Unit: "GiB"}, {What: "#tokens", Value: float64(tokens), Unit: "tokens"}, {What: "max_running_requests", Value: 2048}, {What: "available_gpu_mem", Value: 8.86 + 24.99 - kv, Unit: "GiB"}},
	}
	x.Start = []fabric.SizingStart{{
		On:    "on each server, with NODE_RANK=0 to 1 and HEAD_ADDR=the address of the first",
		Words: append([]string{"python3", "-m sglang.launch_server", "--model-path deepseek-ai/DeepSeek-R1", "--node-rank $NODE_RANK", "--dist-init-addr $HEAD_ADDR:20000"}, x.Flags...),
	}}
	entry := func(name, class string, v float64, formula, numbers, certainty string) {
		x.Ledger = append(x.Ledger, fabric.LedgerEntry{Name: name, Class: class, Bytes: gib(v), Formula: formula, Numbers: numbers, Certainty: certainty})
	}
	entry("reserved", "", 0.47, "shown by the driver - total of CUDA", "79.65 - 79.18", "measured")
	entry("context", "", 0.55, "CUDA context and modules", "", "measured")
	entry("communicators", "", 1.75, "NCCL and custom all-reduce", "", "measured")
	entry("weights", "expert", 38.07, "layers x experts x 3 x hidden x ff x (1 + 4/16384) / tp", "58 x 256 x 3 x 7168 x 2048 x (1 + 4/16384) / 16", "index")
	entry("weights", "replicated", 1.06, "q_a, kv_a, router and norms, whole on every rank", "61 x 7168 x (1536 + 576) + 58 x 256 x 7168 x 2", "index")
	entry("weights", "attention", 0.73, "", "", "index")
	entry("weights", "embedding", 0.11, "vocabulary x hidden x 2 / tp", "129280 x 7168 x 2 / 16", "index")
	entry("weights", "head", 0.11, "vocabulary x hidden x 2 / tp", "129280 x 7168 x 2 / 16", "index")
	entry("weights", "shared", 0.15, "", "", "index")
	entry("weights", "dense", 0.07, "", "", "index")
	entry("kv", "", kv, "tokens x bytes per token", fmt.Sprintf("%d x 70272", tokens), "formula")
	entry("request_pool", "", 1.25, "max_running x (context + 4) x 4", "2048 x (163840 + 4) x 4", "formula")
	entry("graphs", "", 1.34, "23 batch sizes up to 160", "", "measured")
	left := s80
	for _, e := range x.Ledger {
		left -= e.Bytes
	}
	x.Ledger = append(x.Ledger, fabric.LedgerEntry{Name: "slack", Bytes: left, Formula: "what is left", Certainty: "formula"})
	return x
}

const s80 = int64(81559 << 20) // bytes of an H100 that the driver shows

func r1Speed() []fabric.Performance {
	var all []fabric.Performance
	for _, w := range []struct {
		name    string
		in, out int
		tokens  float64
	}{{"short translation", 200, 200, 3814}, {"medium translation", 1000, 1000, 3619}, {"generation", 500, 2000, 3777}, {"summarization", 5000, 500, 1525}} {
		for _, network := range []string{"", "4 of 8 NICs", "TCP"} {
			for _, users := range []int{1, 25, 125} {
				share := map[string]float64{"": 1, "4 of 8 NICs": 0.93, "TCP": 0.49}[network]
				t := w.tokens * math.Pow(float64(users)/125, 0.7) * share
				limit := "network"
				if users == 1 {
					limit = "memory bandwidth"
				}
				all = append(all, fabric.Performance{
					Workload: w.name, Input: w.in, Output: w.out, Concurrency: users, Running: float64(users), TokensS: t, Band: [2]float64{0.85 * t, 1.15 * t},
					TPOTms: 1000 * float64(users) / t, TTFTms: [2]float64{0.6 * float64(w.in), 1.45 * float64(w.in)}, Limit: limit, Network: network,
				})
			}
		}
	}
	return all
}

func r1Refused() []fabric.Refused {
	var all []fabric.Refused
	for _, tp := range []int{3, 5, 6, 7, 9, 10, 11, 12, 13, 14, 15} {
		all = append(all, fabric.Refused{
			Nodes: 1 + (tp-1)/8, GPUs: tp, Layout: fmt.Sprintf("tp %d", tp), TP: tp, PP: 1, EP: 1, DP: 1, Rule: "attention-heads",
			Reason: fmt.Sprintf("128 attention heads are not divided by %d", tp), Nearest: []string{"tp 16"},
		})
	}
	return append(all, fabric.Refused{
		Nodes: 1, GPUs: 8, Layout: "tp 8", TP: 8, PP: 1, EP: 1, DP: 1, Rule: "memory",
		Reason: "weights take 79.5 GiB per rank, the GPU has 79.65 GiB and 3.3 GiB of it are the runtime's", Nearest: []string{"tp 16 on 16 GPUs"},
	}, fabric.Refused{
		Nodes: 4, GPUs: 32, Layout: "tp 32", TP: 32, PP: 1, EP: 1, DP: 1, Rule: "block-fp8",
		Reason: "an expert's 2048 / 32 = 64 columns are not a whole number of blocks of 128", Assert: "sglang 0.5.0rc2 layers/quantization/fp8.py", Nearest: []string{"tp 32 ep 2"},
	})
}

func r1Storage() *fabric.SizingStorage {
	return &fabric.SizingStorage{
		DownloadBytes: 688586727753, RepositoryBytes: 688586727753, Filter: []string{"*.safetensors", "*.json", "tokenizer*"},
		PVCBytes: 1 << 40, AccessMode: "ReadWriteOnce", Copies: 2,
		Loads:     []fabric.StorageLoad{{Storage: "vSAN", GBs: 1.6, Seconds: 430, Formula: "688.6 GB / 1.6 GB/s"}, {Storage: "local NVMe", GBs: 6.5, Seconds: 106}},
		MMIOBytes: 1056 << 30, MMIOFormula: "8 x 128 + 32", GroupSize: 2, Domain: []string{"4 servers with GPUs, or 2 and 2 without", "1 InfiniBand switch"},
	}
}

func r1Derivation() []fabric.Derivation {
	return []fabric.Derivation{
		{Part: "Parameters", Title: "Attention of a layer (MLA)", Formula: "h*ql + ql*H*(dn+dr) + h*(kl+dr) + kl*H*(dn+dv) + H*dv*h + ql + kl", Numbers: "7168*1536 + 1536*128*192 + 7168*576 + 512*128*256 + 128*128*7168 + 1536 + 512", Result: "187,107,328", Source: "config.json q_lora_rank, kv_lora_rank, qk_nope_head_dim, qk_rope_head_dim, v_head_dim"},
		{Part: "Parameters", Title: "Routed experts of a layer", Formula: "E*3*h*ff", Numbers: "256*3*7168*2048", Result: "11,274,289,152", Source: "config.json n_routed_experts, moe_intermediate_size"},
		{Part: "KV cache", Title: "KV cache of a token, on every rank", Formula: "layers x (kv_lora_rank + qk_rope_head_dim) x bytes", Numbers: "61 x (512 + 64) x 2", Result: "70,272 B", Source: "sglang 0.5.0rc2 mem_cache/memory_pool.py, MLATokenToKVPool"},
		{Part: "Tokens", Title: "Tokens that the pool holds", Formula: "(free after weights - free before x (1 - fraction)) / bytes per token", Numbers: "(36.52 - 76.88 x 0.15) x 2^30 / 70272", Result: "381,804 tokens", Source: "sglang 0.5.0rc2 model_executor/model_runner.py, profile_max_num_token"},
		{Part: "Servers", Title: "Servers of 8 GPUs", Formula: "16 ranks / 8", Numbers: "16 / 8", Result: "2", Source: "catalog, hgx-h100"},
	}
}

// maverickSizing is Llama-4-Maverick asked for on the 10 GPUs of VCF's table 2.
func maverickSizing() *fabric.Sizing {
	s := &fabric.Sizing{
		Meta: fabric.NewMeta("Sizing"), Model: "llama-4-maverick", Machine: "hgx-h100", Engine: fabric.SizingEngine{Name: "sglang", Version: "0.5.0rc2"},
		Parameters: fabric.Parameters{Total: 400713984000, Active: 17172049920, Vision: 870000000}, DiskBytes: 803168000000, WeightsBytes: 803168000000,
		KVBytesPerToken: 196608, KVDType: "bf16", Certainty: "formula", Context: 1048576, ModelContext: 1048576, Concurrency: 1,
		GPU: fabric.SizingGPU{Name: "h100-sxm", MemoryBytes: s80, BandwidthGBs: 3350, TFLOPS: 989.5, LinkGBs: 450, Source: "catalog"},
	}
	s.Refused = []fabric.Refused{{
		Nodes: 2, GPUs: 10, Layout: "tp 10", TP: 10, PP: 1, EP: 1, DP: 1, Rule: "kv-heads",
		Reason:  "8 KV heads: 10 is larger and not a multiple of 8",
		Reasons: []string{"8 KV heads: 10 is larger and not a multiple of 8", "intermediate size 8192 is not divided by 10", "weights take 76.3 GiB per rank, which leaves nothing for the KV cache"},
		Assert:  "sglang 0.5.0rc2 models/llama4.py, Llama4Attention", Nearest: []string{"16 GPUs as tp 8 pp 2", "8 GPUs as tp 8: does not fit"},
	}}
	return s
}

// nothingFits is the same model on one DGX Spark: the plan that comes nearest lacks memory.
func nothingFits() *fabric.Sizing {
	s := maverickSizing()
	s.Model, s.Machine = "./Llama-4-Maverick/config.json", "dgx-spark"
	s.GPU = fabric.SizingGPU{Name: "gb10", MemoryBytes: gib(121.69), BandwidthGBs: 273, TFLOPS: 62, Unified: true, Source: "catalog"}
	s.Plans = []fabric.SizingPlan{{
		Nodes: 1, GPUs: 1, TP: 1, PP: 1, EP: 1, DP: 1, MemFraction: 0.83, WeightsBytesPerGPU: 803168000000, Limits: []string{"626.5 GiB are missing on each rank"},
		Ledger: []fabric.LedgerEntry{
			{Name: "weights", Class: "expert", Bytes: gib(720), Certainty: "formula"}, {Name: "weights", Class: "attention", Bytes: gib(28), Certainty: "formula"},
			{Name: "context", Bytes: gib(0.2), Certainty: "measured"}, {Name: "slack", Bytes: gib(121.69 - 748.2), Certainty: "formula"},
		},
	}}
	return s
}
