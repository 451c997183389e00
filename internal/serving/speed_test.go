package serving

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

// namedModel reads a model of the catalog, or a config of testdata/performance.
func namedModel(t testing.TB, name string) *llm.Model {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(name, ".json") {
		name = filepath.Join("testdata", "performance", name)
	}
	m, err := llm.Open(name, cat)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func catalogMachine(t testing.TB, id string) sizing.Machine {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	m, err := sizing.MachineOf(cat, id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// documentCurve is the VMware document's appendix H: all_reduce of 16 H100 on two nodes, out of place, from 1 KiB.
var documentCurve = []Point{
	{1024, 30.07}, {2048, 28.83}, {4096, 30.86}, {8192, 36.59}, {16384, 37.05}, {32768, 37.9}, {65536, 38.41}, {131072, 39.08},
	{262144, 47.17}, {524288, 81.93}, {1048576, 73.31}, {2097152, 78.37}, {4194304, 95.22}, {8388608, 133.7}, {16777216, 187.1},
	{33554432, 269}, {67108864, 468.2}, {134217728, 744.8}, {268435456, 1289}, {1073741824, 4469.2},
}

func documentReplica(t testing.TB, model string, tokens int64) Replica {
	t.Helper()
	curve, err := CurveOf(16, documentCurve)
	if err != nil {
		t.Fatal(err)
	}
	return Replica{
		Model: namedModel(t, model), Machine: catalogMachine(t, "hgx-h100"), Engine: "sglang", KVDType: llm.KVBF16, KVTokens: tokens,
		Layout: layout(2, 16, 16, 1, 1, 1), Network: Network{Name: "InfiniBand", Curve: curve},
	}
}

// TestDocumentThroughput: VMware document, 11.2, at 125 users, with its own KV tokens and all-reduce curve.
func TestDocumentThroughput(t *testing.T) {
	sum, n := 0., 0
	for _, test := range []struct {
		model    string
		tokens   int64
		measured [4]float64
	}{{"deepseek-r1", 381804, [4]float64{3500, 3500, 3500, 2200}}, {"meta-llama-3-1-405b", 382000, [4]float64{2200, 2200, 2200, 650}}} {
		t.Run(test.model, func(t *testing.T) {
			p, err := Speed(documentReplica(t, test.model, test.tokens), Workloads(), []int{125})
			if err != nil || len(p) != 4 {
				t.Fatal(len(p), err)
			}
			for i, x := range p {
				off := x.TokensS/test.measured[i] - 1
				if sum, n = sum+math.Abs(off), n+1; math.Abs(off) > 0.35 {
					t.Errorf("%s, %s: %.0f tokens per second, the document has %.0f (%+.0f %%)", test.model, x.Workload, x.TokensS, test.measured[i], 100*off)
				}
				t.Logf("%s, %s: %.0f of %.0f, %s", test.model, x.Workload, x.TokensS, test.measured[i], x.Limit)
			}
			if p[3].Limit != LimitKV || p[3].Running > 73 || p[3].Running < 72 {
				t.Errorf("%s, %s: limit %s, %.1f running: 5250 tokens of %d a request", test.model, p[3].Workload, p[3].Limit, p[3].Running, test.tokens)
			}
		})
	}
	if mean := sum / float64(n); mean > 0.15 {
		t.Errorf("mean error %.1f %%", 100*mean)
	}
}

// TestFigure17 is the VMware document's own arithmetic: latency of a request from its parts, rate and throughput of
// 5 users from the latency.
func TestFigure17(t *testing.T) {
	const first, between, out, users = 350.36, 19.03, 50, 5
	latency := first + (out-1)*between
	if math.Abs(latency-1282.68) > 0.2 {
		t.Errorf("latency %.2f ms", latency)
	}
	if rate := closedLoop(users, 1, 1.28268); math.Abs(rate-3.90) > 0.005 {
		t.Errorf("%.3f requests a second", rate)
	}
	if tokens := closedLoop(users, out, 1.28268); math.Abs(tokens-194.89) > 0.05 {
		t.Errorf("%.2f tokens per second", tokens)
	}
}

// TestFewerNICs: a part of the NICs is never faster than all, and slower where its own curve is.
func TestFewerNICs(t *testing.T) {
	all := func(float64, int) (float64, bool) { return 80, true }
	part := func(bytes float64, ranks int) (float64, bool) { return bytes / 1000, ranks == 16 }
	for bytes, want := range map[float64]float64{1000: 80, 80000: 80, 200000: 200} {
		if us, known := FewerNICs(all, part)(bytes, 16); us != want || !known {
			t.Errorf("%g bytes: %g us, %v; want %g", bytes, us, known, want)
		}
	}
	if _, known := FewerNICs(all, part)(1000, 8); known {
		t.Error("8 ranks: known, though the part's curve does not know them")
	}
}

// TestWhatRDMABuys: the same plan on half the NICs and over TCP, as slow as collectives there are.
func TestWhatRDMABuys(t *testing.T) {
	s := documentReplica(t, "meta-llama-3-1-405b", 382000)
	slower := func(latency, rate float64) Curve {
		return func(bytes float64, ranks int) (float64, bool) {
			us, known := s.Network.Curve(bytes, ranks)
			return us*latency + bytes/rate, known
		}
	}
	tokens := map[string]float64{}
	for _, n := range []Network{s.Network, {"half the NICs", slower(1, 0.25e6)}, {"tcp", slower(4, 0.01e6)}} {
		t.Run(n.Name, func(t *testing.T) {
			s := s
			s.Network = n
			p, err := Speed(s, Workloads()[1:2], []int{125})
			if err != nil || len(p) != 1 || p[0].Network != n.Name {
				t.Fatalf("%s: %+v, %v", n.Name, p, err)
			}
			tokens[n.Name] = p[0].TokensS
			if n.Name == "tcp" && p[0].Limit != LimitNetwork {
				t.Errorf("over TCP the limit is %s", p[0].Limit)
			}
		})
	}
	if !(tokens["InfiniBand"] > tokens["half the NICs"] && tokens["half the NICs"] > 2*tokens["tcp"]) {
		t.Errorf("tokens per second: %v", tokens)
	}
	alone := s
	alone.Layout = layout(1, 8, 8, 1, 1, 1)
	a, err := Speed(alone, Workloads()[:1], []int{10})
	alone.Network = Network{}
	b, errNone := Speed(alone, Workloads()[:1], []int{10})
	if err != nil || errNone != nil || a[0].TokensS != b[0].TokensS {
		t.Errorf("inside one node the network changes the result: %v %v, %v %v", a, b, err, errNone)
	}
}

func TestPerformanceIsMonotone(t *testing.T) {
	s := documentReplica(t, "deepseek-r1", 4_000_000)
	for _, w := range Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			p, err := Speed(s, []Workload{w}, Concurrencies())
			if err != nil {
				t.Fatal(err)
			}
			for i := 1; i < len(p); i++ {
				if p[i].TokensS < p[i-1].TokensS || p[i].TPOTms < p[i-1].TPOTms || p[i].TTFTms[1] < p[i-1].TTFTms[1] {
					t.Errorf("%s: from %d to %d users: %+v, %+v", w.Name, p[i-1].Concurrency, p[i].Concurrency, p[i-1], p[i])
				}
			}
		})
	}
	fast := s
	fast.Machine.GPU.BandwidthGBs *= 2
	fast.Machine.GPU.TFLOPS, fast.Machine.GPU.TFLOPSFP8 = 2*s.Machine.GPU.TFLOPS, 2*s.Machine.GPU.TFLOPSFP8
	a, _ := Speed(s, Workloads(), []int{50})
	b, err := Speed(fast, Workloads(), []int{50})
	if err != nil {
		t.Fatal(err)
	}
	for i := range a {
		if gain := b[i].TokensS / a[i].TokensS; gain < 1.1 || gain > 2 {
			t.Errorf("%s: a GPU twice as fast gives %.2f times the tokens", a[i].Workload, gain)
		}
	}
}

func TestLayoutsPerform(t *testing.T) {
	flat := func(float64, int) (float64, bool) { return 60, true }
	for _, test := range []struct {
		name, model, engine string
		layout              fabric.Layout
	}{
		{"one GPU", "meta-llama-3-1-8b", "vllm", layout(1, 1, 1, 1, 1, 1)},
		{"pipeline over two nodes", "meta-llama-3-1-405b", "vllm", layout(2, 16, 8, 2, 1, 1)},
		{"attention replicas inside tp", "deepseek-r1", "sglang", layout(2, 16, 16, 1, 16, 16)},
		{"replicas beside tp", "qwen3-235b-a22b-fp8", "vllm", layout(1, 8, 4, 1, 4, 2)},
		{"linear attention", "qwen3.5-397b-fp8.json", "sglang", layout(1, 8, 8, 1, 8, 1)},
		{"sparse attention", "glm-5-fp8", "sglang", layout(2, 16, 16, 1, 1, 1)},
		{"windows", "gpt-oss-120b", "vllm", layout(1, 2, 2, 1, 1, 1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := Replica{
				Model: namedModel(t, test.model), Machine: catalogMachine(t, "hgx-h200"), Engine: test.engine, KVDType: llm.KVFP8,
				KVTokens: 200000, Layout: test.layout, Network: Network{Curve: flat},
			}
			p, err := Speed(s, Workloads(), []int{1, 64})
			if err != nil || len(p) != 8 {
				t.Fatalf("%s: %d points, %v", test.name, len(p), err)
			}
			for _, x := range p {
				if !finite(x) || x.TTFTms[0] > x.TTFTms[1] || x.Band[0] > x.TokensS || x.Band[1] < x.TokensS {
					t.Errorf("%s: %+v", test.name, x)
				}
				if x.Concurrency == 1 && math.Abs(x.TokensS*x.TPOTms/1e3-1) > 0.6 {
					t.Errorf("%s: one user gets %.1f tokens per second at %.1f ms each", test.name, x.TokensS, x.TPOTms)
				}
			}
		})
	}
}

func layout(nodes, gpus, tp, pp, ep, dp int) fabric.Layout {
	return fabric.Layout{Nodes: nodes, GPUs: gpus, TP: tp, PP: pp, EP: ep, DP: dp}
}

// finite reports whether everything in a point is a number above 0.
func finite(p fabric.Performance) bool {
	for _, v := range []float64{p.Running, p.TokensS, p.TPOTms, p.TTFTms[0], p.TTFTms[1]} {
		if math.IsNaN(v) || math.IsInf(v, 0) || v <= 0 {
			return false
		}
	}
	return true
}

func TestPerformanceFailsClosed(t *testing.T) {
	good := documentReplica(t, "deepseek-r1", 381804)
	for _, test := range []struct {
		name   string
		change func(s *Replica)
		want   string
	}{
		{"no model", func(s *Replica) { s.Model = nil }, "no layers"},
		{"no curve", func(s *Replica) { s.Network = Network{Name: "tcp"} }, `network "tcp"`},
		{"a curve of other ranks", func(s *Replica) { s.Layout.TP, s.Layout.GPUs, s.Layout.Nodes = 32, 32, 4 }, "32 ranks is unknown"},
		{"no bandwidth", func(s *Replica) { s.Machine.GPU.BandwidthGBs = 0 }, "memory bandwidth is unknown"},
		{"no compute", func(s *Replica) { s.Machine.GPU.TFLOPS, s.Machine.GPU.TFLOPSFP8 = 0, 0 }, "peak rate"},
		{"no cache", func(s *Replica) { s.KVTokens = 0 }, "holds no token"},
		{"kv dtype", func(s *Replica) { s.KVDType = "fp7" }, `"fp7"`},
		{"engine", func(s *Replica) { s.Engine = "tgi" }, "sglang"},
		{"tp 0", func(s *Replica) { s.Layout.TP = 0 }, "tp 0"},
		{"chunk", func(s *Replica) { s.Chunk = -1 }, "chunk -1"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := good
			test.change(&s)
			if p, err := Speed(s, Workloads(), []int{125}); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s: %d points, %v, want %q", test.name, len(p), err, test.want)
			}
		})
	}
	if _, err := Speed(good, []Workload{{Name: "x", Input: 0, Output: 1}}, []int{1}); err == nil {
		t.Error("a prompt of no tokens")
	}
	if _, err := Speed(good, Workloads(), []int{0}); err == nil || !strings.Contains(err.Error(), "concurrency 0") {
		t.Errorf("no users: %v", err)
	}
	long, err := Speed(good, []Workload{{Name: "long", Input: 400000, Output: 1}}, []int{1})
	if err != nil || len(long) != 0 {
		t.Errorf("a request longer than the cache: %v, %v", long, err)
	}
	half := good
	half.Machine.GPU.TFLOPS = 0
	if p, err := Speed(half, Workloads(), []int{1}); err != nil || len(p) != 4 || !strings.Contains(half.Assumptions()[len(half.Assumptions())-1].What, "half the rate") {
		t.Errorf("a GPU whose rate of fp8 alone is known: %v, %v", err, half.Assumptions())
	}
}

func TestTouched(t *testing.T) {
	for _, test := range []struct {
		experts, topK int64
		tokens        float64
		low, high     float64
	}{
		{256, 8, 0, 0, 0}, {256, 8, 1, 7.5, 8.001}, {256, 8, 64, 100, 222.5}, {256, 8, 1e6, 255.9, 256},
		{8, 8, 1, 8, 8}, {0, 0, 5, 0, 0}, {128, 4, 64, 60, 111.3},
	} {
		t.Run(fmt.Sprintf("%d of %d experts, %g tokens", test.topK, test.experts, test.tokens), func(t *testing.T) {
			if got := expertsRead(test.experts, test.topK, test.tokens); got < test.low || got > test.high {
				t.Errorf("%d of %d experts, %g tokens: %.2f, want %g to %g", test.topK, test.experts, test.tokens, got, test.low, test.high)
			}
		})
	}
	if one, eight := expertImbalance(256, 60, 1), expertImbalance(256, 60, 8); one != 1 || eight < 1.2 || eight > 2 {
		t.Errorf("crowding of 1 and 8 ranks: %.2f, %.2f", one, eight)
	}
	if all := expertImbalance(256, 256, 8); all != 1 {
		t.Errorf("all experts read: crowding %.2f", all)
	}
}

func BenchmarkPerformance(b *testing.B) {
	s := documentReplica(b, "deepseek-r1", 381804)
	for b.Loop() {
		if _, err := Speed(s, Workloads(), Concurrencies()); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzPerformance(f *testing.F) {
	m, machine := namedModel(f, "qwen3-235b-a22b-fp8"), catalogMachine(f, "hgx-h200")
	f.Add(int64(200), int64(200), 125, 8, 1, 8, 1, int64(400000), int64(8192), 30.)
	f.Add(int64(1), int64(1), 1, 1, 94, 1, 1, int64(2), int64(1), 1e-9)
	f.Fuzz(func(t *testing.T, in, out int64, users, tp, pp, ep, dp int, tokens, chunk int64, us float64) {
		s := Replica{
			Model: m, Machine: machine, Engine: "sglang", KVDType: llm.KVBF16, KVTokens: tokens, Chunk: chunk,
			Layout:  fabric.Layout{Nodes: 1, GPUs: 1, TP: tp, PP: pp, EP: ep, DP: dp},
			Network: Network{Curve: func(float64, int) (float64, bool) { return us, us > 0 && us < 1e12 }},
		}
		p, err := Speed(s, []Workload{{Name: "w", Input: in, Output: out}}, []int{users})
		if err != nil {
			return
		}
		for _, x := range p {
			if !finite(x) || x.TTFTms[1] < x.TTFTms[0] || x.Running > float64(users) {
				t.Errorf("%+v", x)
			}
		}
	})
}
