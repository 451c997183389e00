package sizing

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

func within(t *testing.T, what string, got, want, rel float64) {
	t.Helper()
	if math.Abs(got-want) > rel*math.Abs(want) {
		t.Errorf("%s: %.6g, want %.6g within %.2g %% (%+.3f %%)", what, got, want, rel*100, 100*(got/want-1))
	}
}

func sized(t *testing.T, req Request) *fabric.Sizing {
	t.Helper()
	out, err := Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func onlyPlan(t *testing.T, req Request) fabric.SizingPlan {
	t.Helper()
	out := sized(t, req)
	if len(out.Plans) != 1 {
		t.Fatalf("%d plans, refused %+v", len(out.Plans), out.Refused)
	}
	return out.Plans[0]
}

// TestVCFLog is the start log of VCF 10.6.1, SGLang 0.5.0rc2 on 16 H100.
func TestVCFLog(t *testing.T) {
	p := onlyPlan(t, Request{Model: r1().model(), Machine: h100(), TP: 16, MemFraction: 0.85, EngineVersion: "0.5.0rc2-cu126"})
	within(t, "weights", inGiB(p.WeightsBytesPerGPU), 40.33, 0.002)
	within(t, "KV tokens", float64(p.KVTokens), 381804, 0.005)
	within(t, "free after graphs", inGiB(p.FreeBytes), 8.86, 0.02)
	if p.MaxRunning != 2048 {
		t.Errorf("max running requests %d, want 2048", p.MaxRunning)
	}
	prints := map[string]float64{}
	for _, x := range p.Prints {
		prints[x.What] = x.Value
	}
	within(t, "before load", prints["avail mem before load"], 76.88, 0.001)
	within(t, "KV size", prints["KV size"], 24.99, 0.005)
	within(t, "after the pool", prints["avail mem after the memory pool"], 10.3, 0.01)
	if !p.Fits || p.Nodes != 2 || p.GPUs != 16 {
		t.Errorf("plan %+v", p)
	}
}

// TestTable2: servers of VCF's table for the full context of one request. Llama-4 Scout on one server and both GPU
// counts of Llama-4 are refused by asserts of the engine.
func TestTable2(t *testing.T) {
	for _, row := range []struct {
		model   hand
		context int64
		nodes   int
		paper   int // servers
	}{
		{gptOSS120(), 131072, 1, 1},
		{llama405(), 131072, 2, 2},
		{r1(), 131072, 2, 2},
		{mixtral8x22(), 65536, 1, 1},
		{qwen235(), 262144, 2, 2},
		{kimiK2(), 131072, 4, 4},
		{maverick(), 1048576, 2, 2},
		{scout(), 10485760, 2, 1}, // the paper: five GPUs
	} {
		t.Run(row.model.kind, func(t *testing.T) {
			out := sized(t, Request{Model: row.model.model(), Machine: h100(), Context: row.context})
			if len(out.Plans) == 0 || !out.Plans[0].Fits || out.Plans[0].Nodes != row.nodes {
				t.Errorf("%s: plans %+v, want %d servers", row.model.kind, out.Plans, row.nodes)
			}
		})
	}
	for _, row := range []struct {
		model hand
		gpus  int
		says  []string
	}{
		{maverick(), 10, []string{"10 ranks % 8 KV heads = 2", "8192 % 10 = 2", "16384 % 10 = 4"}},
		{scout(), 5, []string{"8 KV heads % 5 = 3", "8192 % 5 = 2"}},
	} {
		t.Run(fmt.Sprintf("%s on %d", row.model.kind, row.gpus), func(t *testing.T) {
			out := sized(t, Request{Model: row.model.model(), Machine: h100(), GPUs: row.gpus, TP: row.gpus})
			if out.Status() != fabric.Fail || len(out.Refused) != 1 || len(out.Refused[0].Nearest) == 0 || out.Refused[0].Assert == "" {
				t.Fatalf("%s on %d: %+v", row.model.kind, row.gpus, out.Refused)
			}
			for _, says := range row.says {
				if !strings.Contains(out.Refused[0].Reason, says) {
					t.Errorf("%s on %d: %q does not say %q", row.model.kind, row.gpus, out.Refused[0].Reason, says)
				}
			}
		})
	}
}

// TestTable4: the fractions of VCF's table lie in the range that works, and what is advised leaves 5 to 8 GiB.
func TestTable4(t *testing.T) {
	for _, row := range []struct {
		model    hand
		fraction float64
		advised  float64
		free     float64 // GiB at the paper's fraction, from its log or by formula
	}{
		{r1(), 0.85, 0.88, 8.86},
		{llama405(), 0.92, 0.88, 3.6},
		{qwen235(), 0.8, 0.87, 11.9},
	} {
		t.Run(row.model.kind, func(t *testing.T) {
			p := onlyPlan(t, Request{Model: row.model.model(), Machine: h100(), TP: 16, MemFraction: row.fraction})
			f := p.Fraction
			if f.Low >= row.fraction || row.fraction >= f.High {
				t.Errorf("%s: %v is not between %v and %v", row.model.kind, row.fraction, f.Low, f.High)
			}
			within(t, row.model.kind+" default", f.Default, 0.78, 1e-9)
			within(t, row.model.kind+" advised", f.Recommended, row.advised, 1e-9)
			within(t, row.model.kind+" free", inGiB(p.FreeBytes), row.free, 0.06)
			if !strings.Contains(f.Effect, "would leave") {
				t.Errorf("%s: %q", row.model.kind, f.Effect)
			}
			at := onlyPlan(t, Request{Model: row.model.model(), Machine: h100(), TP: 16, MemFraction: f.Recommended})
			if free := inGiB(at.FreeBytes); free < 5 || free > 8 {
				t.Errorf("%s: the advised %v leaves %.2f GiB", row.model.kind, f.Recommended, free)
			}
		})
	}
}

func kimiInt4() hand {
	h := kimiK2()
	h.kind, h.context, h.format, h.attention, h.method = "kimi_k2", 262144, int4g32(), bf16(), "compressed-tensors"
	return h
}

// sums: the ledger is all of the GPU's memory.
func sums(t *testing.T, what string, p fabric.SizingPlan, total int64) {
	t.Helper()
	var sum, weights int64
	for _, e := range p.Ledger {
		sum += e.Bytes
		if e.Name == "weights" {
			weights += e.Bytes
		}
		if e.Formula == "" || e.Certainty == "" {
			t.Errorf("%s: %s %s has no formula or no certainty", what, e.Name, e.Class)
		}
	}
	if sum != total || weights != p.WeightsBytesPerGPU {
		t.Errorf("%s: the ledger sums to %d, want %d; weights %d, want %d", what, sum, total, weights, p.WeightsBytesPerGPU)
	}
}

func TestBadRequests(t *testing.T) {
	small := h100()
	small.GPU.MemoryBytes = 80
	for _, c := range []struct {
		req  Request
		says string
	}{
		{Request{}, "model: has no layers"},
		{Request{TP: -1}, "tp -1: must be from 1"},
		{Request{TP: 1 << 30}, "tp 1073741824: must be from 1"},
		{Request{PP: -3}, "pp -3"},
		{Request{Concurrency: -1}, "concurrency -1"},
		{Request{MemFraction: 85}, "mem-fraction 85: is a fraction, not a percentage: write 0.85"},
		{Request{MemFraction: 0.0085}, "mem-fraction 0.0085: leaves no memory for weights: did you mean 0.85"},
		{Request{MemFraction: math.NaN()}, "mem-fraction NaN"},
		{Request{MemFraction: -0.5}, "mem-fraction -0.5"},
		{Request{Context: 131073}, "context 131073: exceeds the model's 131072"},
		{Request{Context: -5}, "context -5"},
		{Request{Nodes: 2, GPUs: 17}, "gpus 17: 2 nodes with 8 GPUs each have 16"},
		{Request{Nodes: 2, GPUs: 11}, "gpus 11: not a multiple of 2 nodes"},
		{Request{Engine: "tgi"}, "known: sglang, vllm"},
		{Request{EngineVersion: "newest"}, `engine-version "newest"`},
		{Request{KVDType: "fp7"}, `kv-dtype "fp7"`},
		{Request{Machine: small}, "GPU memory of 80 bytes: below 1 GiB"},
	} {
		t.Run(c.says, func(t *testing.T) {
			if c.says != "model: has no layers" {
				c.req.Model = llama8().model()
			}
			if c.req.Machine.PerNode == 0 && c.req.Machine.GPU.MemoryBytes == 0 {
				c.req.Machine = h100()
			}
			_, err := Plan(c.req)
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
}

// TestFlags: the flags of a plan.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		req  Request
		want string
	}{
		{Request{Model: r1().model(), TP: 16, MemFraction: 0.85}, "--tp 16 --nnodes 2 --mem-fraction-static 0.85 --context-length 163840"},
		{Request{Model: kimiK2().model(), TP: 32, EP: 32}, "--tp 32 --ep 32 --moe-a2a-backend deepep --moe-dense-tp-size 1 --nnodes 4 --mem-fraction-static 0.68 --context-length 131072"},
		{Request{Model: llama405().model(), GPUs: 16, TP: 8, Engine: "vllm", KVDType: "fp8_e4m3"}, "--tensor-parallel-size 8 --pipeline-parallel-size 2 --gpu-memory-utilization 0.9 --max-model-len 131072 --kv-cache-dtype fp8"},
		{Request{Model: r1().model(), TP: 16, DP: 16, EP: 16, Context: 8192}, "--tp 16 --ep 16 --dp 16 --enable-dp-attention --nnodes 2 --mem-fraction-static 0.73 --context-length 8192"},
		{Request{Model: qwen30().model(), TP: 4, DP: 2, EP: 8, Engine: "vllm"}, "--tensor-parallel-size 4 --data-parallel-size 2 --enable-expert-parallel --gpu-memory-utilization 0.9 --max-model-len 40960"},
		{Request{Model: scout().model(), GPUs: 16, TP: 8}, "--tp 8 --pp 2 --nnodes 2 --mem-fraction-static 0.78 --context-length 10485760 --max-running-requests 347 --hybrid-kvcache-ratio 1"},
	} {
		t.Run(c.want, func(t *testing.T) {
			c.req.Machine = h100()
			if got := strings.Join(onlyPlan(t, c.req).Flags, " "); got != c.want {
				t.Errorf("flags %q, want %q", got, c.want)
			}
		})
	}
}

// TestPools: windows take what the version of SGLang gives them.
func TestPools(t *testing.T) {
	for _, c := range []struct {
		model   hand
		version string
		want    pooling
	}{
		{gptOSS120(), "0.4.8", poolPlain}, {gptOSS120(), "0.5.0rc2", poolByRatio}, {gptOSS120(), "0.5.10", poolByRatio},
		{scout(), "0.4.8", poolPlain}, {scout(), "0.5.0rc2", poolByChunk}, {scout(), "0.5.8", poolByRatio}, {r1(), "0.5.0", poolPlain},
	} {
		t.Run(c.model.kind+" "+c.version, func(t *testing.T) {
			v, err := ParseVersion(c.version)
			if err != nil {
				t.Fatal(err)
			}
			m := c.model.model()
			if got := sglangPools(setting{Placement: Placement{Model: m}, shape: shapeOf(m), version: v}); got != c.want {
				t.Errorf("%s %s: %s, want %s", c.model.kind, c.version, got, c.want)
			}
		})
	}
}

// TestLinearState: a pool of states beside the cache, three slots per request.
func TestLinearState(t *testing.T) {
	m := qwen30().model()
	for i := range m.Layers {
		if i%4 != 3 {
			m.Layers[i].Attention = llm.Attention{Kind: llm.Linear, KeyHeads: 16, ValueHeads: 32, KeyDim: 128, ValueDim: 128, ConvKernel: 4, StateBytes: 4}
		}
	}
	p := onlyPlan(t, Request{Model: m, Machine: h100(), TP: 4, EngineVersion: "0.5.8", Context: 8192})
	parts := map[string]float64{}
	for _, e := range p.Ledger {
		parts[e.Name] += float64(e.Bytes)
	}
	within(t, "states over cache", parts["state"]/parts["kv"], 0.9, 0.001)
	state := 36 * m.Layers[0].Attention.StatePerRequest(4)
	within(t, "running requests", float64(p.MaxRunning), math.Floor(parts["state"]/state/3), 0.001)
	// vLLM: four groups of twelve layers; printed is what a quarter of the pages holds, a request takes more of them.
	v := onlyPlan(t, Request{Model: m, Machine: h100(), TP: 4, Engine: "vllm", Context: 8192})
	if held := v.Requests * 8192; held < 2.5*float64(v.KVTokens) {
		t.Errorf("printed %d tokens, held %.0f", v.KVTokens, held)
	}
}

// TestNetwork: without RDMA tensor parallelism stays inside a node, and stages cross it.
func TestNetwork(t *testing.T) {
	m := h100()
	m.RDMA, m.Net = false, "tcp"
	out := sized(t, Request{Model: llama405().model(), Machine: m})
	if p := out.Plans[0]; !p.Fits || p.TP != 8 || p.PP != 2 {
		t.Errorf("without RDMA: %+v", p)
	}
	found := false
	for _, r := range out.Refused {
		found = found || r.TP == 16 && r.Rule == "network" && strings.Contains(r.Reason, "without RDMA")
	}
	if !found {
		t.Errorf("tp 16 is not refused: %+v", out.Refused)
	}
	rack := hgx("b200")
	rack.PerNode, rack.ScaleUp, rack.RDMA = 4, 72, false
	if p := sized(t, Request{Model: r1().model(), Machine: rack}).Plans[0]; !p.Fits || p.TP <= 4 || p.PP != 1 {
		t.Errorf("NVLink across trays: %+v", p)
	}
}

func TestUsers(t *testing.T) {
	one := sized(t, Request{Model: llama70().model(), Machine: h100(), Context: 8192})
	many := sized(t, Request{Model: llama70().model(), Machine: h100(), Context: 8192, Concurrency: 100})
	if a, b := one.Plans[0].GPUs, many.Plans[0].GPUs; a >= b || b > 8 {
		t.Errorf("one user takes %d GPUs, 100 take %d", a, b)
	}
	if p := many.Plans[0]; p.Requests < 100 {
		t.Errorf("100 users on %v", p.Requests)
	}
	mla := sized(t, Request{Model: r1().model(), Machine: hgx("h200-sxm"), Context: 32768, Concurrency: 64})
	dp := false
	for _, p := range mla.Plans {
		dp = dp || p.DP > 1 && p.Fits
	}
	if !dp {
		t.Errorf("64 users of MLA: no plan with DP attention in %+v", mla.Plans)
	}
}

// TestSpark: memory that the system has is not the engine's, and vLLM does not start with its own utilisation.
func TestSpark(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	m, err := MachineOf(c, "dgx-spark")
	if err != nil {
		t.Fatal(err)
	}
	p := onlyPlan(t, Request{Model: qwen32().model(), Machine: m, TP: 1, Engine: "vllm", Context: 8192})
	if p.MemFraction > 0.83 || p.MemFraction < 0.7 || !p.Fits {
		t.Errorf("utilisation %v, fits %v: %v", p.MemFraction, p.Fits, p.Limits)
	}
	sums(t, "spark", p, m.GPU.MemoryBytes)
	p = onlyPlan(t, Request{Model: qwen32().model(), Machine: m, TP: 1, Engine: "vllm", Context: 8192, MemFraction: 0.87})
	if p.Fits || !strings.Contains(strings.Join(p.Limits, " "), "free memory at start") {
		t.Errorf("0.87 is said to start: %+v", p.Limits)
	}
	out := sized(t, Request{Model: llama70().model(), Machine: m, Engine: "vllm", Context: 8192, MaxNodes: 4})
	for _, p := range out.Plans {
		if p.PP == 1 && p.TP&(p.TP-1) != 0 {
			t.Errorf("tp %d is not a power of two", p.TP)
		}
	}
	if len(out.Plans) == 0 || !out.Plans[0].Fits || out.Plans[0].Nodes != 2 {
		t.Errorf("70 B in bf16 on Sparks: %+v", out.Plans)
	}
}

func TestMachines(t *testing.T) {
	c, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for id, model := range c.Machines {
		t.Run(id, func(t *testing.T) {
			m, err := MachineOf(c, id)
			if model.GPU == "" {
				if err == nil {
					t.Errorf("%s: names no GPU and gives %+v", id, m)
				}
				return
			}
			if err != nil || m.check() != nil || m.GPU.MemoryBytes < 8*gib {
				t.Errorf("%s: %v %v %+v", id, err, m.check(), m)
			}
		})
	}
	for id, rdma := range map[string]bool{"hgx-h100": true, "xe9680-mi300x-thor2": true, "a3-megagpu-8g": false} {
		t.Run(id, func(t *testing.T) {
			if m, err := MachineOf(c, id); err != nil || m.RDMA != rdma {
				t.Errorf("%s: RDMA %v, %v", id, m.RDMA, err)
			}
		})
	}
}

func TestVersions(t *testing.T) {
	for _, c := range []struct {
		text         string
		at053, at054 bool
	}{
		{"0.5.3", true, false}, {"0.5.3.post1", true, false}, {"0.5.3rc1", false, false}, {"0.5.4-cu126", true, true},
		{"v0.6", true, true}, {"0.5.10", true, true}, {"0.4.10.post2", false, false}, {"1.0.0", true, true},
	} {
		t.Run(c.text, func(t *testing.T) {
			v, err := ParseVersion(c.text)
			if err != nil || v.at(0, 5, 3) != c.at053 || v.at(0, 5, 4) != c.at054 {
				t.Errorf("%s: %+v, %v", c.text, v, err)
			}
		})
	}
	for _, text := range []string{"", "5", "x.y", "0.a.3", "-1.2.3", "0..1", "0.5.99999"} {
		t.Run(fmt.Sprintf("%q is refused", text), func(t *testing.T) {
			if v, err := ParseVersion(text); err == nil {
				t.Errorf("%q gives %+v", text, v)
			}
		})
	}
}

// TestFast: a search over 64 GPUs in less than a second, of the model with most tensors.
func TestFast(t *testing.T) {
	m := kimiK2().model()
	begin := time.Now()
	sized(t, Request{Model: m, Machine: h100(), Nodes: 8, Concurrency: 64, Context: 32768})
	if took := time.Since(begin); took > time.Second {
		t.Errorf("took %s", took)
	}
}
