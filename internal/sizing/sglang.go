package sizing

import (
	"cmp"
	"fmt"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

const nameSGLang = "sglang"

// sglang is SGLang. Its rules were read in the wheels of the versions under Read; between two of them the older
// one's hold.
func sglang() Engine {
	return Engine{
		Name: nameSGLang,
		// The version of VCF, whose tables and logs this package reproduces.
		Default: "0.5.0rc2",
		Read: []string{
			"0.4.1.post7", "0.4.3.post4", "0.4.6.post5", "0.4.7", "0.4.8", "0.5.0rc2", "0.5.1", "0.5.2", "0.5.3", "0.5.4",
			"0.5.5", "0.5.6", "0.5.7", "0.5.8", "0.5.9", "0.5.10", "0.5.12", "0.5.23",
		},
		FractionFlag: "--mem-fraction-static",
		skipsVision:  []string{"Llama4ForConditionalGeneration"}, // models/mllama4.py has_vision, unless it is asked for
		Rules: []LayoutRule{
			{ID: "ranks", Assert: "one rank per GPU, as many on every node", broken: ranksFit},
			{ID: "dp-attention", Assert: "server_args.py: assert self.tp_size % self.dp_size == 0", broken: dpInsideTP},
			{ID: "expert-ranks", Assert: "distributed/parallel_state.py: moe_tp_size = tp_size // moe_ep_size", broken: epInsideTP},
			{ID: "no-experts", Assert: "expert parallelism needs experts", broken: hasExperts},
			{ID: "attention-heads", Assert: "models/llama.py, deepseek_v2.py, ...: assert self.total_num_heads % attn_tp_size == 0", broken: headsDivide},
			{ID: "kv-heads", Assert: "models/llama4.py, qwen3_moe.py, ...: assert self.total_num_kv_heads % attn_tp_size == 0, else attn_tp_size % self.total_num_kv_heads == 0", broken: kvHeadsDivide},
			{ID: "linear-heads", Assert: "distributed/utils.py divide: numerator % denominator == 0", broken: linearHeadsDivide},
			{ID: "ffn", Assert: "distributed/utils.py divide: numerator % denominator == 0, of every column and row parallel layer", broken: innerDivides},
			{ID: "experts", Assert: "layers/moe/fused_moe_triton/layer.py: assert num_experts % self.moe_ep_size == 0", broken: expertsDivide},
			{ID: "ranks-experts", Assert: "models/deepseek_v2.py: tensor parallel size is greater than the number of experts", broken: ranksBelowExperts},
			{ID: "fp8-block", Assert: "layers/quantization/fp8.py: partition is not divisible by weight quantization block", broken: blocksDivide},
			{ID: "quant-group", Assert: "layers/quantization: input size is not aligned with the quantized weight shape", broken: groupsDivide},
			{ID: "pp-layers", Assert: "every stage needs a layer", broken: stagesHaveLayers},
			{ID: "pp-missing", Assert: "no --pipeline-parallel-size before 0.4.6", broken: noPipeline,
				only: func(v Version) bool { return !v.at(0, 4, 6) }},
			{ID: "pp-mla", Assert: "model_executor/model_runner.py profile_max_num_token: assert self.pp_size == 1, until 0.5.0", broken: noMLAPipeline,
				only: func(v Version) bool { return v.at(0, 4, 6) && !v.at(0, 5, 1) }},
		},
		spread:   sglangSpread,
		stage:    sglangStage,
		fraction: sglangFraction,
		extras:   sglangExtras,
		budget:   sglangBudget,
		flags:    sglangFlags,
		start:    sglangStart,
	}
}

// sglangSpread: DP attention splits the TP ranks into replicas of attention (0.5.0rc2,
// layers/dp_attention.py), and embedding and head are then whole on every rank. Where experts go by number to
// all ranks, and quantisation blocks do not let shared experts or the dense FFN be divided so far, DeepEP keeps these
// whole (models/deepseek_v2.py: tp_size 1 of shared experts, enable_moe_dense_fully_dp).
func sglangSpread(l fabric.Layout, sh *shape) Spread {
	s := Spread{
		World: l.TP * l.PP, Attention: l.TP / l.DP, Dense: l.TP, Shared: l.TP, MoETP: l.TP / l.EP, EP: l.EP,
		Vocabulary: l.TP, PP: l.PP, DP: l.DP,
	}
	if l.DP > 1 {
		s.Vocabulary = 1
	}
	if l.EP > 1 && l.EP == l.TP && sh.splitsBlocks(s) {
		s.Dense, s.Shared, s.whole = 1, 1, true
	}
	return s
}

// sglangStage: layers that do not divide go to the last stages, one each; before 0.5.6 all of them to the last
// (distributed/utils.py get_pp_indices).
func sglangStage(v Version, layers, pp, rank int) (first, end int) {
	base, rest := layers/pp, layers%pp
	if !v.at(0, 5, 6) {
		first, end = rank*base, (rank+1)*base
		if rank == pp-1 {
			end = layers
		}
		return first, end
	}
	first = rank * base
	if extra := rank - (pp - rest); extra >= 0 {
		first += extra
		return first, first + base + 1
	}
	return first, first + base
}

// sglangChunk is --chunked-prefill-size by GPU memory in MiB (server_args.py of each version), divided by the
// replicas of DP attention.
func sglangChunk(s setting, smi float64) int64 {
	chunk := s.chunk
	if chunk == 0 {
		chunk = sglangChunkDefault(s.version, smi)
	}
	if s.Layout.DP > 1 {
		chunk /= int64(s.Layout.DP)
	}
	return chunk
}

func sglangChunkDefault(v Version, smi float64) int64 {
	switch {
	case !v.at(0, 4, 8):
		if smi < 25000 {
			return 2048
		}
		return 8192
	case smi < 35*1024 && v.at(0, 5, 23) && smi >= 20*1024:
		return 4096
	case smi < 35*1024:
		return 2048
	case smi < 60*1024 && v.at(0, 5, 3):
		return 4096
	case smi < 160*1024:
		return 8192
	default:
		return 16384
	}
}

// sglangGraphBS is the largest batch for which a CUDA graph is captured (server_args.py; before 0.5.3
// model_executor/cuda_graph_runner.py get_batch_sizes_to_capture).
func sglangGraphBS(s setting, smi float64) int64 {
	if s.graphBS > 0 {
		return s.graphBS
	}
	few := func(small, large int64) int64 {
		if s.Layout.TP < 4 {
			return small
		}
		return large
	}
	if !s.version.at(0, 5, 3) {
		switch {
		case smi < 35*1024:
			return few(8, 80)
		case smi > 160*1000:
			return 512
		case smi > 90*1024:
			return 256
		default:
			return 160
		}
	}
	switch {
	case smi < 20*1024:
		return 8
	case smi < 35*1024 && s.version.at(0, 5, 23):
		return few(48, 160)
	case smi < 35*1024 && s.version.at(0, 5, 4):
		return few(24, 80)
	case smi < 35*1024:
		return few(16, 80)
	case smi < 60*1024:
		return few(32, 160)
	case smi < 160*1024:
		return few(256, 512)
	default:
		return 512
	}
}

// sglangFraction is --mem-fraction-static where none is given (server_args.py of each version). The fraction is
// rounded to three digits, then scaled down for a vision tower.
func sglangFraction(s setting) float64 {
	smi := driverMemoryOf(s.Machine).smi
	ranks := float64(s.Layout.TP * s.Layout.PP)
	switch {
	case !s.version.at(0, 4, 4):
		return byRanks(float64(s.Layout.TP))
	case !s.version.at(0, 4, 8):
		return fractionTo047(s, smi, ranks)
	}
	f := round3((smi - sglangReserve(s, smi, ranks)) / smi)
	if sglangSees(s.Model) && s.version.Minor >= 5 { // read in 0.5.0rc2; 0.4.8 has none
		f *= visionFactor(s.Model.VisionLayers, s.Model.VisionHidden)
	}
	return f
}

// round3 rounds to three digits as Python does: by the exact value, so that 0.7875 is 0.787.
func round3(f float64) float64 {
	r, err := strconv.ParseFloat(strconv.FormatFloat(f, 'f', 3, 64), 64)
	if err != nil {
		return f
	}
	return r
}

func byRanks(ranks float64) float64 {
	switch {
	case ranks >= 16:
		return 0.79
	case ranks >= 8:
		return 0.81
	case ranks >= 4:
		return 0.85
	case ranks >= 2:
		return 0.87
	default:
		return 0.88
	}
}

// fractionTo047: by ranks up to 80 GB, and more above 96 GB; 0.4.7 takes 0.79 above 180,000 MiB of NVIDIA.
func fractionTo047(s setting, smi, ranks float64) float64 {
	f := 0.88
	if smi <= 81920 {
		f = byRanks(ranks)
	}
	switch {
	case s.version.at(0, 4, 7) && smi > 180*1000 && s.Machine.Vendor != "amd":
		return 0.79
	case smi > 96*1024:
		return min(f+48*1024*(1-f)/smi, (smi-1024*18)/smi)
	}
	return f
}

// sglangReserve is the MiB kept for activations and graphs.
func sglangReserve(s setting, smi, ranks float64) float64 {
	if !s.version.at(0, 5, 3) {
		var r float64
		switch {
		case smi < 35*1024:
			r = (2.8 + ranks/10) * 1024
		case smi < 90*1024:
			r = (9.5 + ranks/2) * 1024
		case smi < 160*1024:
			r = (12 + ranks/2) * 1024
		default:
			r = 32 * 1024
		}
		if s.Layout.DP > 1 {
			r += 4 * 1024
		}
		return r
	}
	graphBS := float64(sglangGraphBS(s, smi))
	chunk := cmp.Or(s.chunk, sglangChunkDefault(s.version, smi)) // before DP attention divides it
	r := 512 + 1.5*float64(max(chunk, 2048)) + 2*graphBS + ranks/8*1024
	if s.Layout.DP > 1 {
		r += graphBS * float64(s.Layout.DP) * 3
		if graphBS > 300 {
			r += graphBS * float64(s.Layout.DP) * 1.5
		}
	}
	r += piecewiseReserve(s, smi)
	if smi > 60*1024 {
		r = max(r, 10*1024)
	}
	return r
}

// piecewiseReserve is for the graphs of prefill, which 0.5.10 turned on: 8 MiB each, 1.5 GiB with MLA. They are off
// with DP attention, pipelines, AMD and vision (server_args.py _handle_piecewise_cuda_graph).
func piecewiseReserve(s setting, smi float64) float64 {
	if !s.version.at(0, 5, 10) || s.Layout.DP > 1 || s.Layout.PP > 1 || s.Machine.Vendor == "amd" || sglangSees(s.Model) {
		return 0
	}
	if s.shape.isMLA() {
		return 1.5 * 1024
	}
	top := sglangChunk(s, smi)
	n := 0
	for _, r := range []struct{ from, to, step int64 }{
		{4, 32, 4}, {48, 256, 16}, {288, 512, 32}, {576, 1024, 64}, {1280, 4096, 256}, {4608, top, 512},
	} {
		for c := r.from; c <= r.to && c <= top; c += r.step {
			n++
		}
	}
	return float64(n) * 8
}

// sglangSees reports whether SGLang runs a model with its vision tower: not these without --enable-multimodal
// (configs/model_config.py mm_disabled_models).
func sglangSees(m *llm.Model) bool {
	switch m.Arch {
	case "Gemma3ForConditionalGeneration", "Llama4ForConditionalGeneration", "Step3VLForConditionalGeneration":
		return false
	}
	return m.VisionLayers > 0
}

// visionFactor is what a vision tower scales the fraction by, from its size against ViT-L/14 (server_args.py
// adjust_mem_fraction_for_vlm).
func visionFactor(layers, hidden int64) float64 {
	ratio := float64(layers*hidden*hidden) / (24 * 1024 * 1024)
	return 0.95 * max(0.8, min(1.05, 1-0.1*(ratio-1)))
}

// sglangExtras: MLA's absorbed copies; from 0.4.4 to 0.4.6 the shared expert once for every rank among the experts
// (n_share_experts_fusion = tp); orders of quantised experts.
func sglangExtras(s setting, sh *Shard) {
	absorbed(s, sh)
	permutation(s, sh)
	if !s.version.at(0, 4, 4) || s.version.at(0, 4, 7) || s.Model.Type != "deepseek_v3" || s.Layout.EP > 1 {
		return
	}
	for _, c := range sh.Classes {
		if c.Class == llm.ClassShared && s.Spread.Shared > 1 {
			sh.Extras = append(sh.Extras, Extra{
				Name: "shared expert clones", Bytes: c.Bytes * int64(s.Spread.Shared-1), Certainty: string(llm.FromFormula),
				Formula: fmt.Sprintf("%d copies of the shared expert among the experts", s.Spread.Shared),
			})
		}
	}
}

// sglangComm is what communicators take, GiB. From four ranks on NCCL sets up NVLink multicast: VCF's log has 1.75
// for 16 ranks on two nodes, and the KV cache of Qwen3-235B-FP8 on four H100 (vLLM issue 21348) leaves as much;
// 0.5.3 on eight H200 has 1.96 (pull request 11716). Two ranks take 1.0 with custom all-reduce. Without NVLink no
// buffers are shared: 0.2 of 24 GB cards. RCCL and the context of an MI355X take 4.4 together.
func sglangComm(s setting) float64 {
	switch {
	case s.Spread.World == 1:
		return 0
	case s.Machine.Vendor == "amd":
		return 3.4
	case s.Machine.GPU.LinkGBs == 0 && s.Layout.Nodes == 1:
		return 0.2
	case s.Spread.World < 4:
		return 1
	case s.version.at(0, 5, 3):
		return 1.96
	default:
		return 1.75
	}
}

func sglangFlags(s setting, d budget) []string {
	l := s.Layout
	out := []string{"--tp " + strconv.Itoa(l.TP)}
	if l.PP > 1 {
		out = append(out, "--pp "+strconv.Itoa(l.PP))
	}
	switch {
	case l.EP > 1 && !s.version.at(0, 4, 9):
		out = append(out, "--enable-ep-moe")
	case l.EP > 1:
		out = append(out, "--ep "+strconv.Itoa(l.EP))
	}
	switch {
	case s.Spread.whole && s.version.Minor < 5: // deprecated from 0.5.0 on
		out = append(out, "--enable-deepep-moe", "--moe-dense-tp-size 1")
	case s.Spread.whole:
		out = append(out, "--moe-a2a-backend deepep", "--moe-dense-tp-size 1")
	}
	if l.DP > 1 {
		out = append(out, "--dp "+strconv.Itoa(l.DP), "--enable-dp-attention")
	}
	if l.Nodes > 1 {
		out = append(out, "--nnodes "+strconv.Itoa(l.Nodes))
	}
	out = append(out, "--mem-fraction-static "+trimFloat(d.fraction), "--context-length "+strconv.FormatInt(s.context, 10))
	if s.running > 0 {
		out = append(out, "--max-running-requests "+strconv.FormatInt(s.running, 10))
	}
	if s.chunk > 0 {
		out = append(out, "--chunked-prefill-size "+strconv.FormatInt(s.chunk, 10))
	}
	if s.graphBS > 0 {
		out = append(out, "--cuda-graph-max-bs "+strconv.FormatInt(s.graphBS, 10))
	}
	switch s.KVDType {
	case llm.KVFP8:
		out = append(out, "--kv-cache-dtype fp8_e4m3")
	case "fp8_e5m2":
		out = append(out, "--kv-cache-dtype fp8_e5m2")
	case llm.KVFP4:
		out = append(out, "--kv-cache-dtype fp4_e2m1")
	}
	if s.shape.chunked && sglangPools(s) == poolByChunk {
		out = append(out, "--hybrid-kvcache-ratio 1")
	}
	return out
}

func trimFloat(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }

// sglangPrints is the start log of the heaviest rank.
func sglangPrints(s setting, d budget) []fabric.EnginePrint {
	free := d.activation + d.slack
	return []fabric.EnginePrint{
		{What: "avail mem before load", Value: inGiB(d.before), Unit: "GiB"},
		{What: "mem usage", Value: inGiB(d.weights + d.extras + d.allocator), Unit: "GiB"},
		{What: "KV cache tokens", Value: float64(d.tokens), Unit: "tokens"},
		{What: "KV size", Value: inGiB(d.kv), Unit: "GiB"},
		{What: "max_running_requests", Value: float64(d.running), Unit: "requests"},
		{What: "mem_fraction_static", Value: d.fraction, Unit: "ratio"},
		{What: "avail mem after the memory pool", Value: inGiB(free + d.graphs), Unit: "GiB"},
		{What: "available_gpu_mem", Value: inGiB(free), Unit: "GiB"},
	}
}
