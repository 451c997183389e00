package loadtest

import (
	"cmp"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// findBlocks returns the results that vllm bench serve and sglang.bench_serving print: from "Serving Benchmark Result"
// to a line of equal signs.
func findBlocks(lines []string) []fabric.LoadTest {
	var all []fabric.LoadTest
	for i := 0; i < len(lines); i++ {
		if !strings.Contains(lines[i], " Serving Benchmark Result ") {
			continue
		}
		b := block{t: fabric.LoadTest{Line: i + 1, Tool: toolVLLM, Form: formConsole}, rows: map[string]bool{}}
		for i++; i < len(lines); i++ {
			if strings.Contains(lines[i], " Serving Benchmark Result ") {
				i--
				break
			}
			if b.closing(lines[i]) {
				b.closed = true
				break
			}
			b.read(i+1, lines[i])
		}
		all = append(all, b.end())
	}
	return all
}

// block is a result while it is read.
type block struct {
	t      fabric.LoadTest
	rows   map[string]bool
	closed bool
	rate   string // of sglang, as printed
	bound  string
	most   *int64 // requests in flight, of vllm
}

func (b *block) closing(line string) bool {
	trimmed := strings.TrimSpace(line)
	const whole = 50 // both tools print so many
	at := strings.Index(trimmed, "==========")
	return at >= 0 && len(trimmed)-at >= whole && strings.Trim(trimmed[at:], "=") == ""
}

// blockSpread parts "P99 TTFT (ms)" into its statistic and what it is of.
var blockSpread = pattern.Plain(`^(Mean|Median|Max|Std|P\d+(?:\.\d+)?) (TTFT|TPOT|ITL|E2E Latency|E2EL)$`)

// read takes one line: a name, a colon, and a value.
func (b *block) read(line int, text string) {
	name, value, found := strings.Cut(text, ":")
	name = strings.TrimLeft(name, " |>#│")
	fields := strings.Fields(value)
	if !found || len(fields) == 0 {
		return
	}
	plain, unit := splitUnit(name)
	unread := func(reason string) {
		b.t.Unread = append(b.t.Unread, fabric.Unread{Line: line, Text: name, Reason: reason})
	}
	if unit == "retokenized" {
		if n, ok := parseNumber(fields[0]); ok {
			keep(&b.t, "retokenized", &b.t.Retokenized, n)
		}
		return
	}
	if b.words(plain, fields) {
		return
	}
	m := blockSpread().FindStringSubmatch(plain)
	into, wanted := blockNumber(&b.t, plain)
	count, isCount := blockCount(&b.t, plain, &b.most)
	if m == nil && !isCount && into.to == nil {
		return
	}
	if b.rows[plain] {
		unread("stands here twice")
		return
	}
	b.rows[plain] = true
	n, ok := parseNumber(fields[0])
	switch {
	case !ok || n.value < 0 || len(fields) > 1 && strings.ContainsAny(strings.Join(fields[1:], ""), "0123456789abcdefghijklmnopqrstuvwxyz"):
		unread("is not a number")
	case isCount && !keepCount(count, n):
		unread("is not a number of requests")
	case isCount:
	case m == nil && unit != wanted:
		unread("unit " + fabric.Quote(unit) + ": this tool prints " + fabric.Quote(wanted))
	case m == nil:
		keep(&b.t, into.name, into.to, n)
	case unit != "ms":
		unread("unit " + fabric.Quote(unit) + `: this tool prints "ms"`)
	default:
		s, key := blockOf(&b.t, m[2])
		if *s == nil {
			*s = fabric.LoadSpread{}
		}
		stat, _ := statName(m[1])
		(*s)[stat] = n.value
		half(&b.t, key, n.half)
	}
}

// words reads the lines that are not numbers.
func (b *block) words(name string, fields []string) bool {
	switch name {
	case "Backend":
		b.t.Tool = toolSGLang
	case "Traffic request rate":
		b.rate = fields[0]
	case "Max request concurrency", "Max reqeuest concurrency": // SGLang up to 0.4.0 writes it so
		b.bound = strings.Join(fields, " ")
	default:
		return false
	}
	return true
}

// target is where a number belongs.
type target struct {
	name string
	to   **float64
}

// blockNumber is where the number of a line belongs, and the unit that its tool prints.
func blockNumber(t *fabric.LoadTest, name string) (to target, unit string) {
	switch name {
	case "Benchmark duration":
		return target{"duration", &t.DurationS}, "s"
	case "Total input tokens":
		return target{"input tokens", &t.InputTokens}, ""
	case "Total generated tokens":
		return target{"output tokens", &t.OutputTokens}, ""
	case "Request throughput":
		return target{"requests/s", &t.RequestsS}, "req/s"
	case "Request goodput":
		return target{"goodput", &t.GoodputS}, "req/s"
	case "Input token throughput":
		return target{"input tokens/s", &t.InputTokensS}, "tok/s"
	case "Output token throughput":
		return target{"output tokens/s", &t.OutputTokensS}, "tok/s"
	case "Total Token throughput", "Total token throughput", "Total throughput":
		return target{"total tokens/s", &t.TotalTokensS}, "tok/s"
	case "Concurrency":
		return target{"in flight", &t.InFlight}, ""
	case "Peak concurrent requests":
		return target{"peak", &t.PeakInFlight}, ""
	case "Request rate configured":
		return target{"rate", &t.RatePerS}, "RPS"
	}
	return target{}, ""
}

func blockCount(t *fabric.LoadTest, name string, bound **int64) (to **int64, ok bool) {
	switch name {
	case "Successful requests":
		return &t.Done, true
	case "Failed requests":
		return &t.Failed, true
	case "Maximum request concurrency":
		return bound, true
	}
	return nil, false
}

func blockOf(t *fabric.LoadTest, what string) (s *fabric.LoadSpread, key string) {
	switch what {
	case "TTFT":
		return &t.TTFT, "ttft"
	case "TPOT":
		return &t.TPOT, "tpot"
	case "ITL":
		return &t.ITL, "itl"
	default:
		return &t.Latency, "latency"
	}
}

// end closes a block: what was asked, and what is missing of the lines that its tool always prints.
func (b *block) end() fabric.LoadTest {
	t := &b.t
	if t.Tool == toolSGLang {
		b.load()
	}
	if b.most != nil && *b.most > 0 && *b.most < 1<<31 {
		c := int(*b.most)
		t.Concurrency = &c
	}
	if t.Tool == toolVLLM && t.RatePerS == nil && t.Concurrency == nil && b.closed {
		t.AllAtOnce = !b.rows["Maximum request concurrency"]
	}
	if !b.closed {
		t.Missing = append(t.Missing, "the last line")
	}
	for _, row := range []string{"Successful requests", "Benchmark duration", "Total input tokens", "Total generated tokens", "Request throughput", "Output token throughput"} {
		if !b.rows[row] {
			t.Missing = append(t.Missing, row)
		}
	}
	if !slices.ContainsFunc([]string{"Total Token throughput", "Total token throughput", "Total throughput"}, func(r string) bool { return b.rows[r] }) {
		t.Missing = append(t.Missing, "Total token throughput")
	}
	for _, of := range []struct {
		name string
		s    fabric.LoadSpread
	}{{"TTFT", t.TTFT}, {"ITL", t.ITL}, {"TPOT", t.TPOT}} {
		if of.name == "TPOT" && t.Tool == toolSGLang && len(of.s) == 0 {
			continue // versions of 2025 print none
		}
		for _, stat := range []string{"avg", "p50"} {
			if of.s.Of(stat) == nil {
				t.Missing = append(t.Missing, cmp.Or(map[string]string{"avg": "Mean "}[stat], "Median ")+of.name)
			}
		}
		if _, p99 := of.s["p99"]; len(of.s) == 2 || t.Tool == toolSGLang && !p99 && len(of.s) > 0 {
			t.Missing = append(t.Missing, "percentiles of "+of.name)
		}
	}
	lengths(t)
	return *t
}

// load is what SGLang was asked to send: a rate, a bound, or neither.
func (b *block) load() {
	rate, rated := parseNumber(b.rate)
	bound, bounded := parseNumber(b.bound)
	if bounded && bound.value >= 1 && bound.value < 1<<31 {
		c := int(bound.value)
		b.t.Concurrency = &c
	}
	switch {
	case rated && rate.value > 0:
		b.t.RatePerS = &rate.value
	case b.rate == "inf" && b.bound == "not set":
		b.t.AllAtOnce = true
	}
}

// lengths are the mean lengths of prompts and answers, from the tokens of all requests.
func lengths(t *fabric.LoadTest) {
	if t.Done == nil || *t.Done == 0 {
		return
	}
	n := float64(*t.Done)
	if t.InputTokens != nil && t.Input == nil {
		t.Input = fabric.LoadSpread{"avg": *t.InputTokens / n}
	}
	if t.OutputTokens != nil && t.Output == nil {
		t.Output = fabric.LoadSpread{"avg": *t.OutputTokens / n}
	}
}
