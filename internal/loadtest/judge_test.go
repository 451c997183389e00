package loadtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// found is what a check says of a test.
func found(j fabric.JudgedLoad, id string) fabric.LoadFinding {
	for _, f := range j.Findings {
		if f.ID == id {
			return f
		}
	}
	return fabric.LoadFinding{}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name, file string
		change     [2]string
		expect     Expect
		want       fabric.Status
		id         string // the check that decides
	}{
		{name: "healthy", file: "vllm_console.txt", want: fabric.Pass, id: "consistent"},
		{name: "partly failed", file: "vllm_failed.txt", want: fabric.Fail, id: "complete"},
		{name: "fewer than asked", file: "sglang_lost.txt", want: fabric.Fail, id: "complete"},
		{name: "asked unknown", file: "sglang.jsonl", want: fabric.Unknown, id: "complete"},
		{name: "fewer than a person asked", file: "sglang.jsonl", expect: Expect{Requests: 100}, want: fabric.Fail, id: "complete"},
		{name: "more than asked", file: "vllm_console.txt", expect: Expect{Requests: 100}, want: fabric.Unknown, id: "complete"},
		{name: "answers ended early", file: "vllm_console.txt", expect: Expect{Output: 1024}, want: fabric.Fail, id: "length"},
		{name: "served as it came", file: "vllm_rate.txt", want: fabric.Pass, id: "saturated"},
		{name: "a queue", file: "vllm_rate_saturated.txt", want: fabric.Fail, id: "saturated"},
		{name: "another model", file: "vllm.json", expect: Expect{Model: "example/model-8b"}, want: fabric.Fail, id: "model"},
		{name: "the model", file: "vllm.json", expect: Expect{Model: "example/model-7b"}, want: fabric.Pass, id: "model"},
		{name: "model not in the text", file: "vllm_console.txt", expect: Expect{Model: "m"}, want: fabric.Unknown, id: "model"},
		{name: "too few requests", file: "sglang.jsonl", change: [2]string{`"max_concurrency": 8`, `"max_concurrency": 80`}, expect: Expect{Requests: 64}, want: fabric.Fail, id: "requests"},
		{name: "texts shorter than counts", file: "sglang_console.txt", change: [2]string{"62080", "12080"}, want: fabric.Unknown, id: "length"},
		{name: "shared prefixes", file: "sglang_console.txt", change: [2]string{"--dataset-name random", "--dataset-name generated-shared-prefix"}, want: fabric.Unknown, id: "prompts"},
	} {
		text := sample(t, c.file)
		if c.change[0] != "" && !strings.Contains(text, c.change[0]) {
			t.Errorf("%s: %q is not in %s", c.name, c.change[0], c.file)
		}
		if c.change[0] != "" {
			text = strings.ReplaceAll(text, c.change[0], c.change[1])
		}
		j := Judge(one(t, c.file, text), c.expect)
		if f := found(j, c.id); j.Status != c.want || f.Status != c.want || !f.Decides {
			t.Errorf("%s: %s, %s says %s: %s", c.name, j.Status, c.id, f.Status, f.Text)
		}
	}
}

// Figure 17 of the VMware document: 350.36 + 49 x 19.03 = 1282.8 ms, and 5 / 1.28268 s x 50 tokens = 194.9 tokens/s.
func TestFigure17(t *testing.T) {
	j := Judge(one(t, "figure", sample(t, "vcf_figure17.txt")), Expect{})
	if f := found(j, "consistent"); f.Status != fabric.Pass {
		t.Errorf("consistent: %s %s", f.Status, f.Text)
	}
	if f := found(j, "length"); f.Status != fabric.Pass || found(j, "complete").Status != fabric.Unknown {
		t.Errorf("length: %s; complete: %s", f.Status, found(j, "complete").Status)
	}
}

// Published load tests, by verdict: those that cannot be a pass, for what is wrong with them or missing in their text.
func TestPublished(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "shared", "data", "serving")
	if _, err := os.Stat(folder); err != nil {
		t.Skip("the shared captures are not here")
	}
	want := map[string]struct {
		status fabric.Status
		id     string
	}{
		"40.txt": {fabric.Unknown, "complete"}, "41.txt": {fabric.Unknown, "complete"}, "42.txt": {fabric.Unknown, "length"},
		"43.txt": {fabric.Pass, "complete"}, "44.txt": {fabric.Fail, "complete"}, "45.txt": {fabric.Fail, "saturated"},
		"46.txt": {fabric.Unknown, "complete"}, "47.csv": {fabric.Fail, "length"}, "48.json": {fabric.Fail, "consistent"},
		"49.txt": {fabric.Unknown, "complete"}, "50.txt": {fabric.Fail, "saturated"}, "51.txt": {fabric.Unknown, "read"}, "52.json": {fabric.Unknown, "read"},
	}
	for name, w := range want {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		j := Judge(one(t, name, string(text)), Expect{})
		if j.Status != w.status || found(j, w.id).Status != w.status {
			t.Errorf("%s is %s, %s says %s", name, j.Status, w.id, found(j, w.id).Status)
		}
	}
	published(t, folder)
}

// published compares what was read with the facts that stand beside the captures.
func published(t *testing.T, folder string) {
	text, err := os.ReadFile(filepath.Join(folder, "index.json"))
	if err != nil {
		t.Fatal(err)
	}
	var index map[string]struct {
		Kind  string
		Facts map[string]any
	}
	if err := json.Unmarshal(text, &index); err != nil {
		t.Fatal(err)
	}
	of := map[string]func(fabric.LoadTest) *float64{
		"ttft_ms_avg": func(x fabric.LoadTest) *float64 { return x.TTFT.Of("avg") }, "ttft_ms_mean": func(x fabric.LoadTest) *float64 { return x.TTFT.Of("avg") },
		"ttft_ms_p50": func(x fabric.LoadTest) *float64 { return x.TTFT.Of("p50") }, "ttft_ms_median": func(x fabric.LoadTest) *float64 { return x.TTFT.Of("p50") },
		"itl_ms_avg": func(x fabric.LoadTest) *float64 { return x.ITL.Of("avg") }, "itl_ms_mean": func(x fabric.LoadTest) *float64 { return x.ITL.Of("avg") },
		"tpot_ms_mean": func(x fabric.LoadTest) *float64 { return x.TPOT.Of("avg") }, "out_tok_s": func(x fabric.LoadTest) *float64 { return x.OutputTokensS },
		"total_tok_s": func(x fabric.LoadTest) *float64 { return x.TotalTokensS }, "req_s": func(x fabric.LoadTest) *float64 { return x.RequestsS },
		"goodput_req_s": func(x fabric.LoadTest) *float64 { return x.GoodputS }, "duration_s": func(x fabric.LoadTest) *float64 { return x.DurationS },
		"isl": func(x fabric.LoadTest) *float64 { return x.Input.Of("avg") }, "osl": func(x fabric.LoadTest) *float64 { return x.Output.Of("avg") },
		"latency_ms_avg": func(x fabric.LoadTest) *float64 { return x.Latency.Of("avg") }, "latency_ms_p99": func(x fabric.LoadTest) *float64 { return x.Latency.Of("p99") },
		"out_tokens_avg": func(x fabric.LoadTest) *float64 { return x.Output.Of("avg") }, "rate": func(x fabric.LoadTest) *float64 { return x.RatePerS },
		"n": func(x fabric.LoadTest) *float64 { return number64(x.Done) }, "failed": func(x fabric.LoadTest) *float64 { return number64(x.Failed) },
	}
	compared := 0
	for id, c := range index {
		if c.Kind != "load" {
			continue
		}
		files, _ := filepath.Glob(filepath.Join(folder, id+".*"))
		content, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		got := one(t, files[0], string(content))
		for fact, value := range c.Facts {
			want, isNumber := value.(float64)
			read := of[fact]
			if !isNumber || read == nil {
				continue
			}
			compared++
			if v := read(got); v == nil || *v < want*0.999 || *v > want*1.001 {
				t.Errorf("%s: %s is %v, read %v", id, fact, want, v)
			}
		}
	}
	t.Logf("%d facts of published load tests compared", compared)
}

func number64(n *int64) *float64 {
	if n == nil {
		return nil
	}
	v := float64(*n)
	return &v
}
