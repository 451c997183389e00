package loadtest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// passing are samples that pass with what is known of their runs.
func passing() map[string]Expect {
	return map[string]Expect{
		"vllm_console.txt": {}, "vllm_rate.txt": {}, "sglang_console.txt": {}, "vllm.json": {},
		"sglang.jsonl": {Requests: 64}, "vcf_figure17.txt": {Requests: 420},
	}
}

func statusOf(text string, name string, x Expect) fabric.Status {
	r, err := Report([]File{{Name: name, Text: []byte(text)}}, x, Wish{})
	if err != nil {
		return fabric.Unknown
	}
	return r.Status
}

func TestSamplesPass(t *testing.T) {
	for name, x := range passing() {
		got := one(t, name, sample(t, name))
		if j := Judge(got, x); j.Status != fabric.Pass {
			t.Errorf("%s is %s: %v", name, j.Status, j.Findings)
		}
	}
}

// Rows that nothing else confirms, or that say nothing of the run: a change in them is not seen.
var beside = regexp.MustCompile(`(?i)Peak|Second Token|Second|retokenized|text tokens|^-+[A-Z]|^\W*$|date|label|tokenizer_id|endpoint_type|burstiness|max_output_tokens_per_s|max_concurrent_requests|sharegpt|std_|accept|goodput|genai-perf|aiperf|export |--|\$|LLM Metrics|"backend"|tokenizer`)

// Without a row a result never passes.
func TestMissingRowNeverPasses(t *testing.T) {
	for name, x := range passing() {
		lines := strings.Split(sample(t, name), "\n")
		for i, l := range lines {
			if beside.MatchString(l) || strings.TrimSpace(l) == "" || strings.Contains(name, "jsonl") {
				continue
			}
			switch { // what the rest says as well, or a person does
			case strings.Contains(l, "model_id"), strings.Contains(l, "num_prompts"), strings.Contains(l, "Failed requests") && name == "sglang_console.txt":
				continue
			case strings.Contains(l, "p99_"), strings.Contains(l, "_tpot_"), strings.Contains(l, "P90 E2E"), strings.Contains(l, "P95 ITL"), strings.Contains(l, "Max ITL"), strings.Contains(l, "E2E"), name == "sglang_console.txt" && strings.Contains(l, "TPOT"):
				continue
			case strings.Contains(l, "Max request concurrency"), strings.Contains(l, "Concurrency:"), strings.Contains(l, "input_throughput"), strings.Contains(l, "Input token throughput"), strings.Contains(l, "Backend:"), strings.Contains(l, "request_rate\""), strings.Contains(l, "Traffic request rate"):
				continue
			case strings.Contains(l, "Throughput Per User"), strings.Contains(l, "(tokens/sec/user)"), strings.Contains(l, "┡"), strings.Contains(l, "┏"), strings.Contains(l, `"failed"`):
				continue
			}
			without := strings.Join(append(append([]string{}, lines[:i]...), lines[i+1:]...), "\n")
			if statusOf(without, name, x) == fabric.Pass {
				t.Errorf("%s passes without line %d: %s", name, i+1, l)
			}
		}
	}
}

// A number that is ten or a thousand times what it was never passes.
func TestWrongNumberNeverPasses(t *testing.T) {
	number := regexp.MustCompile(`\d[\d,]*(?:\.\d+)?`)
	tried, caught := 0, 0
	for name, x := range passing() {
		lines := strings.Split(sample(t, name), "\n")
		for i, l := range lines {
			if beside.MatchString(l) || strings.Contains(name, "jsonl") {
				continue
			}
			for _, at := range number.FindAllStringIndex(l, -1) {
				before := l[:at[0]]
				if strings.HasSuffix(before, "P") || strings.HasSuffix(before, "p") || strings.Contains(before, `"date`) || strings.HasSuffix(before, "E") {
					continue
				}
				v, err := strconv.ParseFloat(strings.ReplaceAll(l[at[0]:at[1]], ",", ""), 64)
				if err != nil || v == 0 {
					continue
				}
				for _, factor := range []float64{1e-3, 1e-1, 10, 1e3} {
					changed := before + fmt.Sprintf("%.2f", v*factor) + l[at[1]:]
					text := strings.Join(append(append(append([]string{}, lines[:i]...), changed), lines[i+1:]...), "\n")
					tried++
					if statusOf(text, name, x) != fabric.Pass {
						caught++
					} else if headline.MatchString(l) {
						if strings.Contains(before, "│") && strings.Count(before, "│") > 2 {
							continue // the smallest or largest of many, or a percentile
						}
						t.Errorf("%s passes with line %d x %g: %s", name, i+1, factor, changed)
					}
				}
			}
		}
	}
	t.Logf("%d of %d changed numbers keep a result from passing", caught, tried)
	if caught*100 < tried*90 {
		t.Errorf("only %d of %d changed numbers keep a result from passing", caught, tried)
	}
}

// headline are the rows whose numbers people quote.
var headline = regexp.MustCompile(`(?i)Successful|completed|duration|generated tokens:|total_output|total_input_tokens|Total input tokens|throughput|Mean TTFT|Median TTFT|mean_ttft|Request Latency|Inter Token Latency|Sequence Length|Request Count|Time To First Token`)

// A unit that the tool does not print, or that does not fit the others, never passes.
func TestWrongUnitNeverPasses(t *testing.T) {
	for name, x := range passing() {
		text := sample(t, name)
		for _, change := range [][2]string{{"(ms)", "(s)"}, {"(ms)", "(us)"}, {"(ms)", "(ns)"}, {"(ms)", "()"}, {"(tok/s)", "(tok/min)"}, {"(req/s)", "(req/min)"}, {"(s):", "(ms):"}, {"(tokens/sec)", "(tokens/min)"}, {"(per sec)", "(per min)"}} {
			for n := 1; n <= strings.Count(text, change[0]); n++ {
				changed := replaceNth(text, change[0], change[1], n)
				if line := lineAt(changed, change[1], text); beside.MatchString(line) || strings.Contains(line, "E2E") {
					continue
				}
				if statusOf(changed, name, x) == fabric.Pass {
					t.Errorf("%s passes with the %d. %s as %s", name, n, change[0], change[1])
				}
			}
			if all := strings.ReplaceAll(text, change[0], change[1]); all != text && statusOf(all, name, x) == fabric.Pass {
				t.Errorf("%s passes with every %s as %s", name, change[0], change[1])
			}
		}
	}
}

func replaceNth(text, old, with string, n int) string {
	parts := strings.SplitAfterN(text, old, n+1)
	parts[n-1] = strings.TrimSuffix(parts[n-1], old) + with
	return strings.Join(parts, "")
}

// lineAt is the line in which a text was changed.
func lineAt(changed, _, text string) string {
	a, b := strings.Split(changed, "\n"), strings.Split(text, "\n")
	for i := range a {
		if i < len(b) && a[i] != b[i] {
			return b[i]
		}
	}
	return ""
}

// However much of a text is cut off, what is left does not pass.
func TestCutNeverPasses(t *testing.T) {
	for name, x := range passing() {
		text := strings.TrimRight(sample(t, name), "\n \t")
		for i := 0; i < len(text)-1; i += 7 {
			if statusOf(text[:i], name, x) == fabric.Pass {
				t.Errorf("%s passes with %d of %d bytes", name, i, len(text))
			}
		}
	}
}
