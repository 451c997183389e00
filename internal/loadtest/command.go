package loadtest

import (
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/pattern"
)

// command is the call of a load generator as it stands in a text: what was asked of the run.
type command struct {
	line  int
	tool  string
	own   bool // printed by the tool after its result
	flags map[string][]string
}

var (
	assignment = pattern.Plain(`^\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_]*)=("[^"]*"|'[^']*'|[^\s;]*)\s*$`)
	variable   = pattern.Plain(`\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?`)
	argument   = pattern.Plain(`(\w+)=('[^']*'|[^,)]*)`) // of a Namespace that Python prints
	word       = pattern.Plain(`(?:'[^']*'|"[^"]*"|[^\s'"])+`)

	callAIPerf = pattern.Plain(`\baiperf profile\b`)
	callGenAI  = pattern.Plain(`\bgenai-perf (?:profile\b|-m\b|--)`)
	// callPerf is the program that GenAI-Perf runs, and prints with the load (genai_perf/subcommand/subcommand.py).
	callPerf   = pattern.Plain(`\bperf_analyzer -m `)
	callVLLM   = pattern.Plain(`\bvllm bench serve\b|\bbenchmark_serving\.py\b|^\s*Namespace\(.*\bnum_prompts=`)
	callSGLang = pattern.Plain(`\bsglang\.bench_serving\b|\bbenchmark_args=Namespace\(`)
)

// findCommands returns the calls of load generators in a text, with the variables of its shell put in where they are set.
func findCommands(lines []string) []command {
	var all []command
	set := map[string]string{}
	for i := 0; i < len(lines); i++ {
		if m := assignment().FindStringSubmatch(lines[i]); m != nil {
			set[m[1]] = strings.Trim(m[2], `"'`)
			continue
		}
		tool := toolOf(lines[i])
		if tool == "" {
			continue
		}
		c := command{line: i + 1, tool: tool, own: strings.Contains(lines[i], "CLI Command:")}
		text := lines[i]
		for ; i+1 < len(lines) && len(text) < 1<<16; i++ {
			rest, goesOn := strings.CutSuffix(strings.TrimRight(text, " "), `\`)
			if !goesOn && (!c.own || !strings.HasPrefix(strings.TrimSpace(lines[i+1]), "-")) {
				break
			}
			text = rest + " " + lines[i+1]
		}
		c.flags = flagsOf(words(expand(text, set)))
		all = append(all, c)
	}
	return all
}

// toolOf is the load generator that a line calls, or whose arguments it prints.
func toolOf(line string) string {
	if !strings.Contains(line, "perf") && !strings.Contains(line, "vllm") && !strings.Contains(line, "bench") && !strings.Contains(line, "Namespace(") {
		return ""
	}
	switch {
	case callAIPerf().MatchString(line):
		return toolAIPerf
	case callGenAI().MatchString(line), callPerf().MatchString(line):
		return toolGenAI
	case callSGLang().MatchString(line):
		return toolSGLang
	case callVLLM().MatchString(line):
		return toolVLLM
	}
	return ""
}

// expand puts the variables in that are set; another stays as it is, and is then no number.
func expand(text string, set map[string]string) string {
	return variable().ReplaceAllStringFunc(text, func(v string) string {
		if value, ok := set[strings.Trim(v, "${}")]; ok {
			return value
		}
		return v
	})
}

// words parts a command as a shell does, as far as quotes go. The arguments that Python prints become flags.
func words(text string) []string {
	if _, list, found := strings.Cut(text, "Namespace("); found {
		var out []string
		for _, m := range argument().FindAllStringSubmatch(list, -1) {
			if value := strings.Trim(m[2], "'"); value != "None" && value != "False" {
				out = append(out, "--"+strings.ReplaceAll(m[1], "_", "-"), value)
			}
		}
		return out
	}
	if at := callPerf().FindStringIndex(text); at != nil { // in quotes as a whole
		return strings.Fields(strings.TrimRight(text[at[0]:], "' "))
	}
	var out []string
	for _, m := range word().FindAllString(text, -1) {
		out = append(out, strings.NewReplacer(`'`, "", `"`, "").Replace(m))
	}
	return out
}

func flagsOf(words []string) map[string][]string {
	flags := map[string][]string{}
	for i, w := range words {
		if !strings.HasPrefix(w, "-") || len(w) < 2 {
			continue
		}
		name, value, joined := strings.Cut(w, "=")
		if !joined && i+1 < len(words) && !strings.HasPrefix(words[i+1], "-") {
			value = words[i+1]
		}
		name = strings.TrimLeft(name, "-")
		flags[name] = append(flags[name], value)
	}
	return flags
}

// first is the value of a flag under any of its names.
func (c command) first(names ...string) (string, bool) {
	for _, n := range names {
		if v, ok := c.flags[n]; ok {
			return v[len(v)-1], true
		}
	}
	return "", false
}

func (c command) number(names ...string) *float64 {
	text, ok := c.first(names...)
	if !ok {
		return nil
	}
	if n, ok := parseNumber(text); ok {
		return &n.value
	}
	return nil
}

func (c command) count(names ...string) *int64 {
	v := c.number(names...)
	if v == nil || *v != math.Trunc(*v) || *v < 0 || *v > 1e15 {
		return nil
	}
	n := int64(*v)
	return &n
}

// into adds what was asked to a test that does not say it itself.
func (c command) into(t *fabric.LoadTest) {
	yes := true
	if model, ok := c.first("served-model-name", "model", "model-names", "m"); ok && t.Model == "" && !strings.Contains(model, "$") {
		t.Model = model
	}
	if n := c.count("concurrency", "max-concurrency", "concurrency-range"); n != nil && t.Concurrency == nil && *n > 0 && *n < 1<<31 {
		v := int(*n)
		t.Concurrency = &v
	}
	if v := c.number("request-rate", "request-rate-range"); v != nil && t.RatePerS == nil && *v > 0 {
		t.RatePerS = v
	}
	t.Asked = either(t.Asked, c.count("request-count", "num-requests", "num-prompts", "num-prompt"))
	t.WarmUp = either(t.WarmUp, c.count("warmup-request-count", "num-warmup-requests", "num-warmups", "warmup-requests"))
	t.InputAsked = either(t.InputAsked, c.number("synthetic-input-tokens-mean", "isl", "random-input-len", "random-input", "input-len"))
	ratio := c.number("random-range-ratio")
	if t.Tool != toolSGLang || ratio != nil && *ratio == 1 { // without it SGLang draws lengths from 1 to that length
		t.OutputAsked = either(t.OutputAsked, c.number("output-tokens-mean", "osl", "random-output-len", "random-output", "output-len"))
	} else {
		t.InputAsked = nil
	}
	if t.Tool == toolAIPerf || t.Tool == toolGenAI {
		t.Entries = either(t.Entries, c.count("num-dataset-entries", "conversation-num", "num-conversations"))
		if _, ok := c.first("streaming"); ok {
			t.Streaming = &yes
		}
	}
	for _, extra := range c.flags["extra-inputs"] {
		if extra == "ignore_eos:true" {
			t.IgnoreEOS = &yes
		}
	}
	if _, ok := c.first("ignore-eos"); ok {
		t.IgnoreEOS = &yes
	}
	c.shared(t)
}

// shared notes prompts that begin alike by design: a server that keeps prefixes answers them faster than others.
func (c command) shared(t *fabric.LoadTest) {
	if v, _ := c.first("dataset-name"); v == "generated-shared-prefix" || v == "prefix_repetition" {
		t.Shared = "--dataset-name " + v
	}
	for _, flag := range []string{"random-prefix-len", "num-prefix-prompts", "prefix-prompt-length", "shared-system-prompt-length"} {
		if v := c.number(flag); v != nil && *v > 0 {
			t.Shared = "--" + flag
		}
	}
}

func either[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}
