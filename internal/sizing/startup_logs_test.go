package sizing

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// startLog is a case of testdata/startup_logs.json: figures of start logs, each with its source. Nothing is 0.
type startLog struct {
	ID, Source      string
	Engine, Version string
	GPU             string
	Model           string
	TP              int
	Fraction        float64
	Context         int64
	Before          float64 // GiB free before load where the GPU is not named
	Weights         float64 // GiB
	Tokens, Running int64
	KV              float64 // GiB
}

func TestStartLogs(t *testing.T) {
	raw, err := os.ReadFile("testdata/startup_logs.json")
	if err != nil {
		t.Fatal(err)
	}
	var logs []startLog
	if err := json.Unmarshal(raw, &logs); err != nil {
		t.Fatal(err)
	}
	models := map[string]hand{
		"r1": r1(), "llama70": llama70(), "llama8": llama8(), "qwen32": qwen32(), "qwen06": qwen06(), "qwen30": qwen30(),
		"qwen235fp8": qwen235fp8(), "gptoss120": gptOSS120(), "qwen14": qwen14(), "kimi-int4": kimiInt4(),
	}
	off := 0
	for _, l := range logs {
		t.Run(l.ID, func(t *testing.T) {
			h, ok := models[l.Model]
			if !ok {
				t.Fatalf("%s: model %q", l.ID, l.Model)
			}
			m := hgx(l.GPU)
			if l.GPU == "24g" { // a card of 24 GB: 24564 MiB of nvidia-smi, no NVLink
				m.GPU.MemoryBytes, m.GPU.LinkGBs, m.Vendor = 24564*mib, 0, "nvidia"
			}
			p := onlyPlan(t, Request{
				Model: h.model(), Machine: m, TP: l.TP, Engine: l.Engine, EngineVersion: l.Version, MemFraction: l.Fraction, Context: l.Context,
			})
			if l.Weights > 0 {
				if d := math.Abs(inGiB(p.WeightsBytesPerGPU) - l.Weights); d > 0.01*l.Weights && d > 0.25 {
					t.Errorf("%s: weights %.2f GiB, want %.2f", l.ID, inGiB(p.WeightsBytesPerGPU), l.Weights)
				}
			}
			kv := 0.0
			for _, e := range p.Ledger {
				if e.Name == "kv" {
					kv = inGiB(e.Bytes)
				}
			}
			got, want := kv, l.KV
			if l.Tokens > 0 {
				got, want = float64(p.KVTokens), float64(l.Tokens)
			}
			if want > 0 {
				within(t, l.ID+" KV", got, want, 0.05)
				if math.Abs(got-want) > 0.03*want {
					off++
				}
			}
			if l.Running > 0 && p.MaxRunning != l.Running {
				t.Errorf("%s: max running requests %d, want %d", l.ID, p.MaxRunning, l.Running)
			}
			sums(t, l.ID, p, m.GPU.MemoryBytes)
		})
	}
	if off*10 > len(logs) {
		t.Errorf("%d of %d logs are off by more than 3 %%", off, len(logs))
	}
}

// TestRunning: as logs have them for their own tokens.
func TestRunning(t *testing.T) {
	for _, c := range []struct {
		tokens, context, asked, want int64
		dp                           int
	}{
		{381804, 163840, 0, 2048, 1}, // VCF 10.6.1
		{298447, 40960, 0, 3730, 1},  // Qwen3-14B on four cards of 24 GB
		{2454421, 262144, 0, 4096, 1},
		{3000, 40960, 0, 1500, 1},
		{298447, 40960, 256, 256, 1},
		{298447, 40960, 256, 32, 8},
	} {
		t.Run(fmt.Sprintf("%d tokens of %d, %d asked, dp %d", c.tokens, c.context, c.asked, c.dp), func(t *testing.T) {
			s := setting{context: c.context, running: c.asked, Placement: Placement{Layout: fabric.Layout{DP: c.dp}}}
			if got := sglangRunning(s, c.tokens, 0, false); got != c.want {
				t.Errorf("%+v: %d", c, got)
			}
		})
	}
}

// TestRounding: SGLang prints what the driver lacks, so 7.08 GiB for the 6.88 of Qwen3-14B on four ranks: its
// tensors of 12.5 to 85 MiB take segments of whole 2 MiB.
func TestRounding(t *testing.T) {
	for _, c := range []struct {
		model hand
		tp    int
		want  float64 // GiB
	}{
		{qwen14(), 4, 7.08},
		{r1(), 16, 40.33},
	} {
		t.Run(c.model.kind, func(t *testing.T) {
			m := h100()
			p := onlyPlan(t, Request{Model: c.model.model(), Machine: m, TP: c.tp})
			for _, x := range p.Prints {
				if x.What == "mem usage" {
					t.Log(x.Value, inGiB(p.WeightsBytesPerGPU))
					within(t, c.model.kind+" mem usage", x.Value, c.want, 0.005)
				}
			}
		})
	}
}
