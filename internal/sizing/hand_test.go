package sizing

import (
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// hand is a model written down by its dimensions, so that engines are tested without readers.
type hand struct {
	kind                    string
	arch                    string
	layers                  int
	hidden, vocab, context  int64
	heads, kv, dim          int64
	inner                   int64 // dense
	first                   int   // dense layers before those with experts
	every                   int   // experts in every n-th layer; 0: in all
	experts, topK, ffe      int64
	shared                  int64 // inner dimension of shared experts
	ql, kl, rope, nope, vee int64 // MLA
	window                  int64
	full                    int // every n-th layer keeps all; 0: all do
	chunked, tied           bool
	format, attention       llm.Format
	method                  string
}

// Formats of weights.
func bf16() llm.Format { return llm.Format{Name: "bf16", Bits: 16} }

func fp8() llm.Format {
	return llm.Format{Name: "fp8-block", Bits: 8, Block: [2]int64{128, 128}, ScaleBytes: 4}
}

func mxfp4() llm.Format { return llm.Format{Name: "mxfp4", Bits: 4, Group: 32, ScaleBytes: 1} }

func int4g32() llm.Format { return llm.Format{Name: "int4", Bits: 4, Group: 32, ScaleBytes: 2} }

func awq128() llm.Format { return llm.Format{Name: "int4", Bits: 4, Group: 128, ScaleBytes: 2.5} }

func (h hand) model() *llm.Model {
	if h.format.Name == "" {
		h.format = bf16()
	}
	if h.attention.Name == "" {
		h.attention = bf16()
		if h.format.Name == "fp8-block" || h.format.Name == "int4" && h.experts == 0 {
			h.attention = h.format
		}
	}
	m := &llm.Model{
		ID: h.kind, Type: h.kind, Arch: h.arch, Certainty: llm.FromFormula, Hidden: h.hidden, Vocabulary: h.vocab,
		Context: h.context, TiedHead: h.tied, Quantisation: llm.Quantisation{Method: h.method, Format: h.format}, Scale: 1,
	}
	if h.format.Name == "bf16" {
		m.Quantisation = llm.Quantisation{}
	}
	add(m, "model.embed_tokens.weight", llm.ClassEmbedding, -1, h.vocab, h.hidden, 1, bf16())
	if !h.tied {
		add(m, "lm_head.weight", llm.ClassHead, -1, h.vocab, h.hidden, 1, bf16())
	}
	add(m, "model.norm.weight", llm.ClassReplicated, -1, h.hidden, 1, 1, bf16())
	for i := range h.layers {
		l := llm.Layer{}
		h.attend(m, i, &l)
		h.feed(m, i, &l)
		m.Layers = append(m.Layers, l)
	}
	m.DiskBytes = m.WeightsBytes()
	return m
}

func add(m *llm.Model, name string, c llm.Class, layer int, rows, cols, count int64, f llm.Format) {
	m.Tensors = append(m.Tensors, llm.Tensor{Name: name, Class: c, Layer: layer, Rows: rows, Cols: cols, Count: count, Format: f})
}

func (h hand) attend(m *llm.Model, i int, l *llm.Layer) {
	const p = "model.layers.*.self_attn."
	add(m, "model.layers.*.norm.weight", llm.ClassReplicated, i, 2*h.hidden, 1, 1, bf16())
	if h.kl > 0 {
		l.Attention = llm.Attention{
			Kind: llm.MLA, Heads: h.heads, KVHeads: h.heads, HeadDim: h.nope + h.rope, VDim: h.vee,
			QLoraRank: h.ql, KVLoraRank: h.kl, RopeDim: h.rope, NopeDim: h.nope,
		}
		add(m, p+"q_a_proj.weight", llm.ClassReplicated, i, h.ql, h.hidden, 1, h.attention)
		add(m, p+"kv_a_proj_with_mqa.weight", llm.ClassReplicated, i, h.kl+h.rope, h.hidden, 1, h.attention)
		add(m, p+"q_b_proj.weight", llm.ClassAttention, i, h.heads*(h.nope+h.rope), h.ql, 1, h.attention)
		add(m, p+"kv_b_proj.weight", llm.ClassAttention, i, h.heads*(h.nope+h.vee), h.kl, 1, h.attention)
		add(m, p+"o_proj.weight", llm.ClassAttention, i, h.hidden, h.heads*h.vee, 1, h.attention)
		return
	}
	l.Attention = llm.Attention{Kind: llm.GQA, Heads: h.heads, KVHeads: h.kv, HeadDim: h.dim, VDim: h.dim}
	if h.window > 0 && (h.full == 0 || (i+1)%h.full != 0) {
		l.Attention.Window, l.Attention.Chunked = h.window, h.chunked
	}
	add(m, p+"q_proj.weight", llm.ClassAttention, i, h.heads*h.dim, h.hidden, 1, h.attention)
	add(m, p+"k_proj.weight", llm.ClassKV, i, h.kv*h.dim, h.hidden, 1, h.attention)
	add(m, p+"v_proj.weight", llm.ClassKV, i, h.kv*h.dim, h.hidden, 1, h.attention)
	add(m, p+"o_proj.weight", llm.ClassAttention, i, h.hidden, h.heads*h.dim, 1, h.attention)
}

func (h hand) feed(m *llm.Model, i int, l *llm.Layer) {
	const p = "model.layers.*.mlp."
	moe := h.experts > 0 && i >= h.first && (h.every == 0 || (i+1)%h.every == 0)
	if !moe {
		l.FFN = llm.FFN{Intermediate: h.inner, Gated: true}
		addMLP(m, p, llm.ClassDense, i, h.inner, h.hidden, 1, h.format)
		return
	}
	l.FFN = llm.FFN{Experts: h.experts, TopK: h.topK, ExpertIntermediate: h.ffe, Gated: true}
	add(m, p+"gate.weight", llm.ClassReplicated, i, h.experts, h.hidden, 1, bf16())
	addMLP(m, p+"experts.*.", llm.ClassExpert, i, h.ffe, h.hidden, h.experts, h.format)
	if h.shared > 0 {
		l.FFN.Shared, l.FFN.SharedIntermediate = 1, h.shared
		f := h.format
		if f.Name == "int4" {
			f = bf16()
		}
		addMLP(m, p+"shared_experts.", llm.ClassShared, i, h.shared, h.hidden, 1, f)
	}
}

func addMLP(m *llm.Model, p string, c llm.Class, layer int, inner, hidden, count int64, f llm.Format) {
	add(m, p+"gate_proj.weight", c, layer, inner, hidden, count, f)
	add(m, p+"up_proj.weight", c, layer, inner, hidden, count, f)
	add(m, p+"down_proj.weight", c, layer, hidden, inner, count, f)
}

// The models of VCF's table 2 and of the start logs, by the dimensions of their config.json.
func r1() hand {
	return hand{
		kind: "deepseek_v3", layers: 61, hidden: 7168, vocab: 129280, context: 163840, heads: 128, inner: 18432, first: 3,
		experts: 256, topK: 8, ffe: 2048, shared: 2048, ql: 1536, kl: 512, rope: 64, nope: 128, vee: 128, format: fp8(),
	}
}

func kimiK2() hand {
	h := r1()
	h.kind, h.vocab, h.context, h.heads, h.first, h.experts = "kimi_k2", 163840, 131072, 64, 1, 384
	return h
}

func llama(layers int, hidden, heads, inner int64) hand {
	return hand{
		kind: "llama", layers: layers, hidden: hidden, vocab: 128256, context: 131072, heads: heads, kv: 8,
		dim: hidden / heads, inner: inner,
	}
}

func llama405() hand { return llama(126, 16384, 128, 53248) }

func llama70() hand { return llama(80, 8192, 64, 28672) }

func llama8() hand { return llama(32, 4096, 32, 14336) }

func mixtral8x22() hand {
	return hand{
		kind: "mixtral", layers: 56, hidden: 6144, vocab: 32000, context: 65536, heads: 48, kv: 8, dim: 128,
		experts: 8, topK: 2, ffe: 16384,
	}
}

func qwen235() hand {
	return hand{
		kind: "qwen3_moe", layers: 94, hidden: 4096, vocab: 151936, context: 262144, heads: 64, kv: 4, dim: 128,
		experts: 128, topK: 8, ffe: 1536,
	}
}

func qwen235fp8() hand { h := qwen235(); h.format = fp8(); return h }

func qwen30() hand {
	h := qwen235()
	h.layers, h.hidden, h.heads, h.ffe, h.context = 48, 2048, 32, 768, 40960
	return h
}

func qwen3(layers int, hidden, heads, inner int64) hand {
	return hand{
		kind: "qwen3", layers: layers, hidden: hidden, vocab: 151936, context: 40960, heads: heads, kv: 8, dim: 128,
		inner: inner,
	}
}

func qwen32() hand { return qwen3(64, 5120, 64, 25600) }

func qwen14() hand { return qwen3(40, 5120, 40, 17408) }

func qwen06() hand { h := qwen3(28, 1024, 16, 3072); h.tied = true; return h }

func gptOSS120() hand {
	return hand{
		kind: "gpt_oss", layers: 36, hidden: 2880, vocab: 201088, context: 131072, heads: 64, kv: 8, dim: 64, experts: 128,
		topK: 4, ffe: 2880, window: 128, full: 2, format: mxfp4(), method: "mxfp4",
	}
}

func scout() hand {
	return hand{
		kind: "llama4_text", arch: "Llama4ForConditionalGeneration", layers: 48, hidden: 5120, vocab: 202048,
		context: 10485760, heads: 40, kv: 8, dim: 128, experts: 16, topK: 1, ffe: 8192, shared: 8192, inner: 16384,
		window: 8192, full: 4, chunked: true,
	}
}

func maverick() hand {
	h := scout()
	h.experts, h.every, h.context = 128, 2, 1048576
	return h
}

func hgx(gpu string) Machine {
	m := Machine{
		Name: "hgx-" + gpu, Vendor: "nvidia", Arch: "sm_90", PerNode: 8, ScaleUp: 8, RDMA: true, Net: "ib",
		NICs: 8, NICGBs: 50, CUDAGiB: 79.18,
		GPU: fabric.SizingGPU{Name: gpu, MemoryBytes: 81559 * mib, BandwidthGBs: 3350, TFLOPS: 989, LinkGBs: 450},
	}
	switch gpu {
	case "h200-sxm":
		m.GPU.MemoryBytes, m.CUDAGiB = 143771*mib, 139.80
	case "b200":
		m.GPU.MemoryBytes, m.CUDAGiB, m.Arch = 183359*mib, 178.35, "sm_100"
	case "mi355x":
		m.GPU.MemoryBytes, m.CUDAGiB, m.Vendor, m.Arch = 294896*mib, 0, "amd", "gfx950"
	}
	return m
}

func h100() Machine { return hgx("h100-sxm") }

func layout(nodes, gpus, tp, pp, ep, dp int) fabric.Layout {
	return fabric.Layout{Nodes: nodes, GPUs: gpus, TP: tp, PP: pp, EP: ep, DP: dp}
}
