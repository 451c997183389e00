package loadtest

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

func sample(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func one(t *testing.T, name, text string) fabric.LoadTest {
	t.Helper()
	tests, unread := Read(name, []byte(text))
	if len(tests) != 1 {
		t.Fatalf("%s: %d results, want 1; unread %v", name, len(tests), unread)
	}
	return tests[0]
}

func TestReadSamples(t *testing.T) {
	for _, c := range []struct {
		name, tool, load                     string
		ttft, out, latency, inLen, outLength float64
		done                                 int64
	}{
		{"vllm_console.txt", toolVLLM, "32", 412.37, 1370.19, 0, 1024, 256, 256},
		{"vllm_rate.txt", toolVLLM, "5/s", 95.2, 620.16, 0, 512, 128, 300},
		{"vllm.json", toolVLLM, "6", 61.523, 226.954, 0, 300, 100, 200},
		{"sglang_console.txt", toolSGLang, "16", 655.2, 618.96, 12581.3, 2000, 500, 128},
		{"sglang.jsonl", toolSGLang, "8", 310, 318.01, 4688, 1000, 200, 64},
		{"vcf_figure17.txt", toolGenAI, "5", 350.36, 194.89, 1282.68, 200.39, 50, 420},
		{"genai_ns.txt", toolGenAI, "?", 61, 190.25, 2041, 300, 100, 0},
		{"genai_perf.csv", toolGenAI, "?", 61, 190.25, 2041, 300, 100, 0},
	} {
		got := one(t, c.name, sample(t, c.name))
		if got.Tool != c.tool || got.Load() != c.load {
			t.Errorf("%s: %s at load %s, want %s at %s", c.name, got.Tool, got.Load(), c.tool, c.load)
		}
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > 1e-4*math.Abs(want)+0.005 {
				t.Errorf("%s: %s is %v, want %v", c.name, what, got, want)
			}
		}
		near("time to the first token", got.TTFT["avg"], c.ttft)
		near("output tokens/s", *got.OutputTokensS, c.out)
		near("latency", got.Latency["avg"], c.latency)
		near("length of prompts", got.Input["avg"], c.inLen)
		near("length of answers", got.Output["avg"], c.outLength)
		if c.done > 0 && (got.Done == nil || *got.Done != c.done) {
			t.Errorf("%s: done %v, want %d", c.name, got.Done, c.done)
		}
	}
}

// The percentile columns of a scan that has lost the name of one are unknown: only the first column is certain.
func TestReadScan(t *testing.T) {
	got := one(t, "scan", sample(t, "vcf_figure17_scan.txt"))
	if got.TTFT["avg"] != 350.36 || len(got.TTFT) != 1 || *got.OutputTokensS != 194.89 {
		t.Errorf("ttft %v, output %v", got.TTFT, got.OutputTokensS)
	}
	if j := Judge(got, Expect{Requests: 420, Output: 50, Load: 5}); j.Status != fabric.Unknown {
		t.Errorf("a scan without the names of its columns is %s", j.Status)
	}
}

func TestReadAroundText(t *testing.T) {
	table := sample(t, "vcf_figure17.txt")
	for name, text := range map[string]string{
		"carriage returns": strings.ReplaceAll(table, "\n", "\r\n"),
		"colours":          strings.ReplaceAll(table, "350.36", "\x1b[32m350.36\x1b[0m"),
		"a thread":         "We ran this:\n\n" + table + "\nand it is slow, why?\n",
		"plain bars":       strings.NewReplacer("│", "|", "┃", "|", "┏", "+", "┓", "+", "┳", "+", "━", "-", "─", "-", "┡", "+", "┩", "+", "╇", "+", "└", "+", "┘", "+", "┴", "+").Replace(table),
	} {
		if got := one(t, name, text); got.TTFT["p75"] != 352.33 || *got.Done != 420 || got.Concurrency == nil || len(got.Missing) > 0 {
			t.Errorf("%s: ttft %v, done %v, missing %v", name, got.TTFT, got.Done, got.Missing)
		}
	}
	block := sample(t, "vllm_console.txt")
	two, _ := Read("two", []byte(block+"\nand with more:\n"+strings.Replace(block, "32  ", "64  ", 1)))
	if len(two) != 2 || two[1].Load() != "64" || two[0].Load() != "32" {
		t.Errorf("two blocks: %d results", len(two))
	}
	cut, _ := Read("cut", []byte(block[:len(block)/2]+"\n"+block))
	if len(cut) != 2 || len(cut[0].Missing) == 0 || len(cut[1].Missing) != 0 {
		t.Errorf("a block that is cut off before another: %d results", len(cut))
	}
}

func TestReadNothing(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "text": "hello\n", "json": `{"a": 1}`, "broken": `{"request_throughput": {"avg": 1, "unit"`, "list": `[1, 2]`,
		"raw": `{"experiments": []}`, "csv": "Metric,avg\n", "binary": "\x00\x01\x02", "nested": strings.Repeat("[", 5000),
	} {
		tests, unread := Read(name, []byte(text))
		for _, one := range tests {
			if j := Judge(one, Expect{Requests: 1, Output: 1, Load: 1}); j.Status == fabric.Pass {
				t.Errorf("%s passes", name)
			}
		}
		if len(tests)+len(unread) == 0 {
			t.Errorf("%s: neither read nor named as unread", name)
		}
	}
}

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]float64{"1,799.53": 1799.53, "4110623430": 4110623430, "0.55": 0.55, "4,110,623,430": 4110623430, "1e3": 1000} {
		if n, ok := parseNumber(text); !ok || n.value != want {
			t.Errorf("%q: %v, %v", text, n, ok)
		}
	}
	for _, text := range []string{"", "N/A", "1,95", "12,34.5", "inf", "nan", "0x10", "1_000", "--", "1.2.3", ","} {
		if n, ok := parseNumber(text); ok {
			t.Errorf("%q is read as %v", text, n.value)
		}
	}
	if n, _ := parseNumber("0.15"); math.Abs(n.half-0.005) > 1e-12 {
		t.Errorf("half of the last digit of 0.15 is %v", n.half)
	}
}

func FuzzRead(f *testing.F) {
	names, _ := filepath.Glob("testdata/*.*")
	for _, n := range names {
		if text, err := os.ReadFile(n); err == nil {
			f.Add(text)
		}
	}
	f.Add([]byte(`{"metadata":{"benchmark_phase":"profiling"},"metrics":{"request_latency":{"value":1,"unit":"ms"}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Report([]File{{Name: "fuzz", Text: text}}, Expect{}, Wish{TargetMs: 500, RequestsS: 3})
		if err != nil || r.Status == fabric.Pass && len(r.Tests) == 0 {
			t.Fatalf("%v %v", r, err)
		}
	})
}

// TestPythonNumbers: json.dumps of Python writes Infinity and NaN, which JSON does not have. In a text they are words.
func TestPythonNumbers(t *testing.T) {
	text := strings.Replace(sample(t, "sglang.jsonl"), `"max_concurrency": 8`, `"tag": "Infinity and \"NaN", "max_concurrency": null`, 1)
	if got := one(t, "x.jsonl", text); !got.AllAtOnce || got.Load() != "all at once" || len(got.Unread) > 0 {
		t.Errorf("load %s, unread %v", got.Load(), got.Unread)
	}
	for _, word := range []string{"NaN", "-Infinity", "Infinity"} {
		text := strings.Replace(sample(t, "sglang.jsonl"), `"duration": 40.25`, `"duration": `+word, 1)
		if got := one(t, "x.jsonl", text); got.DurationS != nil || len(got.Unread) != 1 {
			t.Errorf("%s: duration %v, unread %v", word, got.DurationS, got.Unread)
		}
	}
	if _, unread := Read("x.jsonl", []byte(`{"request_rate": Inf`)); len(unread) != 1 {
		t.Errorf("%v", unread)
	}
}

// TestPerfAnalyzer: GenAI-Perf prints the program that it runs, with the load. A range of loads is none.
func TestPerfAnalyzer(t *testing.T) {
	for flag, load := range map[string]string{"--concurrency-range 4": "4", "--request-rate-range 2.5": "2.5/s", "--concurrency-range 1:8:2": "?", "": "?"} {
		line := "2024-10-14 22:43 [INFO] genai_perf.wrapper:163 - Running Perf Analyzer : 'perf_analyzer -m org/m --async -i http " + flag + " --endpoint v1/chat/completions --service-kind openai'\n"
		if got := one(t, "x.txt", line+sample(t, "genai_ns.txt")); got.Load() != load || got.Model != "org/m" {
			t.Errorf("%q: load %s, model %q", flag, got.Load(), got.Model)
		}
	}
}
