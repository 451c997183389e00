package sizing

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// calculate is the pocket calculator of the reviewer: it takes Numbers as written.
func calculate(t *testing.T, numbers string) float64 {
	t.Helper()
	tree, err := parser.ParseExpr(strings.ReplaceAll(numbers, " x ", " * "))
	if err != nil {
		t.Fatalf("%q cannot be typed in: %v", numbers, err)
	}
	return value(t, tree)
}

func value(t *testing.T, e ast.Expr) float64 {
	t.Helper()
	switch e := e.(type) {
	case *ast.ParenExpr:
		return value(t, e.X)
	case *ast.BasicLit:
		v, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			t.Fatal(err)
		}
		return v
	case *ast.BinaryExpr:
		a, b := value(t, e.X), value(t, e.Y)
		switch e.Op {
		case token.ADD:
			return a + b
		case token.SUB:
			return a - b
		case token.MUL:
			return a * b
		case token.QUO:
			return a / b
		}
	}
	t.Fatalf("%T is nothing that a calculator knows", e)
	return 0
}

// figure is the number with which a result begins.
func figure(t *testing.T, result string) float64 {
	t.Helper()
	first, _, _ := strings.Cut(result, " ")
	v, err := strconv.ParseFloat(strings.ReplaceAll(first, ",", ""), 64)
	if err != nil {
		t.Fatalf("result %q does not begin with a number", result)
	}
	return v
}

// on asks for a model on so many nodes of HGX H100.
func on(nodes int, m *llm.Model, engine string) Request {
	return Request{Nodes: nodes, Machine: h100(), Model: m, Engine: engine}
}

func derived(t *testing.T, req Request) (*fabric.Sizing, []fabric.Derivation) {
	t.Helper()
	answer, err := Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := Derive(req, answer)
	if err != nil {
		t.Fatal(err)
	}
	return answer, steps
}

// Whoever types the numbers of a step into a calculator gets its result, to the digits that are printed.
func TestDerivationAddsUp(t *testing.T) {
	window := llama(48, 5120, 40, 8192)
	window.window, window.full, window.chunked = 8192, 4, true
	scaled := r1().model()
	scaled.Scale, scaled.Certainty = 1.00031, llm.FromIndex
	for name, req := range map[string]Request{
		"r1": on(2, r1().model(), "sglang"), "kimi": on(4, kimiK2().model(), "sglang"), "8b": on(1, llama8().model(), "vllm"),
		"window": on(1, window.model(), "sglang"), "gpt-oss": on(1, gptOSS120().model(), "vllm"), "index": on(2, scaled, "sglang"),
		"nothing fits": on(1, kimiK2().model(), "vllm"),
	} {
		t.Run(name, func(t *testing.T) {
			if n := addUp(t, req); n < 8 {
				t.Errorf("only %d steps have numbers", n)
			}
		})
	}
}

// addUp types every step of a derivation in and counts them.
func addUp(t *testing.T, req Request) (checked int) {
	t.Helper()
	_, steps := derived(t, req)
	for _, s := range steps {
		if s.Numbers == "" {
			continue
		}
		checked++
		got, want := calculate(t, s.Numbers), figure(t, s.Result)
		if math.Abs(got-want) > 0.0005*math.Abs(want)+0.006 { // of the printed digits, and of blocks that are rounded up
			t.Errorf("%s: %s gives %v, the step says %s", s.Title, s.Numbers, got, s.Result)
		}
	}
	return checked
}

// The same of every public model whose config.json is at hand, with both engines.
func TestDerivationOfPublicModels(t *testing.T) {
	for name, m := range publicModels(t) {
		for _, engine := range []string{"sglang", "vllm"} {
			t.Run(name+" "+engine, func(t *testing.T) {
				if n := addUp(t, on(0, m, engine)); n < 8 {
					t.Errorf("only %d steps have numbers", n)
				}
			})
		}
	}
}

// The derivation of VCF's example ends in its figures, and its last step of each part is the figure of the answer.
func TestDerivationEnds(t *testing.T) {
	req := on(2, r1().model(), "sglang")
	req.TP, req.EngineVersion, req.MemFraction = 16, "0.5.0rc2", 0.85
	answer, steps := derived(t, req)
	last := map[string]fabric.Derivation{}
	titles := map[string]fabric.Derivation{}
	for _, s := range steps {
		if s.Part == "" || s.Title == "" || s.Result == "" {
			t.Errorf("a step lacks something: %+v", s)
		}
		last[s.Part], titles[s.Title] = s, s
	}
	plan := answer.Plans[0]
	for title, want := range map[string]float64{
		"Parameters of the language model": float64(answer.Parameters.Total), "Parameters used per token": float64(answer.Parameters.Active),
		"Weights that an engine loads, in total": float64(answer.WeightsBytes), "Weights of the heaviest rank, as the engine prints them": float64(plan.WeightsBytesPerGPU),
		"KV cache per token on one rank": 70272, "Tokens that the pool holds": float64(plan.KVTokens), "GPUs of one replica": 16, "Servers of 8 GPUs": 2,
	} {
		s, ok := titles[title]
		if !ok {
			t.Errorf("there is no step %q", title)
			continue
		}
		if got := figure(t, s.Result); got != want {
			t.Errorf("%s: %v, the answer has %v", title, got, want)
		}
		if s.Numbers == "" {
			t.Errorf("%s has no numbers", title)
		}
	}
	if got := figure(t, titles["Tokens that the pool holds"].Result); math.Abs(got/381804-1) > 0.005 {
		t.Errorf("%v tokens, VCF's log has 381804", got)
	}
	if len(last) != 6 {
		t.Errorf("there are %d parts", len(last))
	}
}

// Where something does not fit, the reason comes last; of a model whose layers all differ only the sum is given.
func TestDerivationRefused(t *testing.T) {
	req := on(1, kimiK2().model(), "sglang")
	req.TP = 7
	answer, steps := derived(t, req)
	if len(answer.Plans) != 0 || len(answer.Refused) == 0 {
		t.Fatalf("tp 7 is not refused: %+v", answer.Plans)
	}
	end := steps[len(steps)-1]
	if end.Part != partServers || end.Result != answer.Refused[0].Reason {
		t.Errorf("the last step is %+v", end)
	}
	m := llama(40, 4096, 32, 14336).model()
	for i := range m.Tensors {
		if m.Tensors[i].Layer >= 0 {
			m.Tensors[i].Count += int64(m.Tensors[i].Layer)
		}
	}
	_, steps = derived(t, on(1, m, "vllm"))
	kinds := 0
	for _, s := range steps {
		if strings.HasPrefix(s.Title, "One layer") {
			kinds++
		}
	}
	if kinds != 8 { // the rest of the 40 is given in sum
		t.Errorf("%d kinds of layers are written down", kinds)
	}
	if _, err := Derive(Request{}, answer); err == nil {
		t.Error("a request without a model is derived")
	}
}
