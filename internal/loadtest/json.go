package loadtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// object is a JSON object.
type object map[string]any

// readJSON reads a JSON document, a list of them, or one of them a line.
func readJSON(name string, text []byte) (tests []fabric.LoadTest, unread []fabric.Unread) {
	text = pythonNumbers(text)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var records recordSet
	line := func() int { return 1 + bytes.Count(text[:min(int(d.InputOffset()), len(text))], []byte("\n")) }
	for {
		var v any
		err := d.Decode(&v)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			unread = append(unread, fabric.Unread{Line: line(), Reason: "is not JSON: " + err.Error()})
			break
		}
		all, isList := v.([]any)
		if !isList {
			all = []any{v}
		}
		for _, one := range all {
			o, isObject := one.(map[string]any)
			if isObject && records.add(o) {
				continue
			}
			const most = 20 // of a file of something else
			switch t, why := testOfObject(name, o); {
			case len(unread) >= most:
			case !isObject:
				unread = append(unread, fabric.Unread{Line: line(), Reason: "a JSON value that is no object"})
			case why != "":
				unread = append(unread, fabric.Unread{Line: line(), Reason: why})
			default:
				tests = append(tests, t)
			}
		}
	}
	if t, ok := records.test(); ok {
		if len(unread) > 0 {
			t.Cut = "the file of records is cut off"
		}
		tests = append(tests, t)
	}
	return tests, unread
}

// pythonNumbers quotes the numbers that Python writes and JSON does not have, outside of strings: NaN, Infinity and
// -Infinity (json.dumps with its default allow_nan). sglang.bench_serving saves a rate without a limit as Infinity.
func pythonNumbers(text []byte) []byte {
	if !bytes.Contains(text, []byte("Infinity")) && !bytes.Contains(text, []byte("NaN")) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	quoted := false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case quoted && c == '\\' && i+1 < len(text):
			out = append(out, c)
			i++
			c = text[i]
		case c == '"':
			quoted = !quoted
		case !quoted:
			if word := pythonNumber(text[i:]); word != "" {
				out = append(append(append(out, '"'), word...), '"')
				i += len(word) - 1
				continue
			}
		}
		out = append(out, c)
	}
	return out
}

func pythonNumber(text []byte) string {
	for _, word := range []string{"Infinity", "-Infinity", "NaN"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return word
		}
	}
	return ""
}

// testOfObject reads one result; why says what else the object is.
func testOfObject(name string, o object) (t fabric.LoadTest, why string) {
	if nested, ok := o.get("records").(map[string]any); ok { // of AIPerf 0.1
		o = maps.Clone(o)
		for k, v := range nested {
			o[k] = v
		}
	}
	switch {
	case len(o.metrics()) > 0:
		return profile(name, o), ""
	case o.number("completed") != nil && o.number("request_throughput") != nil:
		return bench(o), ""
	case o.get("experiments") != nil:
		return t, "time stamps of perf_analyzer, not a result: give profile_export_genai_perf.json"
	default:
		keys := slices.Sorted(maps.Keys(o))
		return t, "a JSON object that is no result of a known load generator: its keys are " + shorten(strings.Join(keys, ", "), 120)
	}
}

func shorten(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

// get follows keys; nil where one is missing.
func (o object) get(keys ...string) any {
	var v any = map[string]any(o)
	for _, k := range keys {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[k]
	}
	return v
}

func (o object) number(keys ...string) *number { return numberOf(o.get(keys...)) }

func numberOf(v any) *number {
	if text, ok := v.(json.Number); ok {
		if n, ok := parseNumber(text.String()); ok {
			return &n
		}
	}
	return nil
}

func (o object) float(keys ...string) *float64 {
	if n := o.number(keys...); n != nil {
		return &n.value
	}
	return nil
}

func (o object) count(keys ...string) *int64 {
	var to *int64
	if n := o.number(keys...); n != nil {
		keepCount(&to, *n)
	}
	return to
}

func (o object) text(keys ...string) string {
	s, _ := o.get(keys...).(string)
	return s
}

// metrics are the rows of a profile of AIPerf or GenAI-Perf, by name.
func (o object) metrics() []metric {
	var rows []metric
	for _, key := range slices.Sorted(maps.Keys(o)) {
		_, known := roleOf(plainName(key))
		completed, failed := requestsOf(plainName(key))
		m, ok := o[key].(map[string]any)
		if !ok || !known && !completed && !failed {
			continue
		}
		row := metric{name: key, stats: map[string]number{}}
		row.unit, _ = m["unit"].(string)
		for stat, v := range m {
			if n := numberOf(v); n != nil {
				if to, isStat := statName(stat); isStat {
					row.stats[to] = *n
				}
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// profile reads profile_export_aiperf.json or profile_export_genai_perf.json.
func profile(name string, o object) fabric.LoadTest {
	t := fabric.LoadTest{Form: formJSON, Tool: toolAIPerf, Version: o.text("aiperf_version")}
	c, _ := o.get("input_config").(map[string]any)
	config := object(c)
	if t.Version == "" && (strings.Contains(name, "genai_perf") || config.get("perf_analyzer") != nil || config.get("formatted_model_name") != nil) {
		t.Tool = toolGenAI
	}
	assign(&t, o.metrics(), timesOf(t.Tool))
	if config != nil {
		configured(&t, config)
	}
	if list, ok := o.get("error_summary").([]any); ok {
		failed := int64(0)
		for _, one := range list {
			e, _ := one.(map[string]any)
			if n := object(e).count("count"); n != nil {
				failed += *n
			} else {
				t.Unread = append(t.Unread, fabric.Unread{Text: "error_summary", Reason: "an entry without its count"})
			}
		}
		if t.Failed == nil || *t.Failed < failed {
			t.Failed = &failed
		}
	}
	switch {
	case o.get("was_cancelled") == true:
		t.Cut = "the run was cancelled"
	case o.get("is_complete") == false:
		t.Cut = "the run is incomplete: " + shorten(o.text("incomplete_reason"), 200)
	}
	if s := o.text("status"); s != "" && !strings.EqualFold(s, "succeeded") && !strings.EqualFold(s, "completed") {
		t.Cut = "its status is " + fabric.Quote(s)
	}
	need(&t)
	return t
}

// configured reads what was asked of a run: the configuration of AIPerf in its three shapes, and that of GenAI-Perf.
func configured(t *fabric.LoadTest, c object) {
	t.Model = firstText(c.get("models", "items"), c.get("endpoint", "model_names"), c.get("model_names"), c.get("model"))
	if v, ok := c.get("endpoint", "streaming").(bool); ok {
		t.Streaming = &v
	} else if v, ok := c.get("streaming").(bool); ok {
		t.Streaming = &v
	}
	load := func(n *int64) {
		if n != nil && *n > 0 && *n < 1<<31 && t.Concurrency == nil {
			v := int(*n)
			t.Concurrency = &v
		}
	}
	load(c.count("loadgen", "concurrency"))
	load(c.count("perf_analyzer", "stimulus", "concurrency"))
	load(c.count("concurrency"))
	if t.RatePerS == nil {
		t.RatePerS = either(either(c.float("loadgen", "request_rate"), c.float("perf_analyzer", "stimulus", "request_rate")), c.float("request_rate"))
	}
	t.Asked = either(t.Asked, either(c.count("loadgen", "request_count"), c.count("request_count")))
	t.WarmUp = either(t.WarmUp, either(c.count("loadgen", "warmup_request_count"), c.count("warmup_request_count")))
	phases, _ := c.get("phases").([]any)
	if none := int64(0); t.WarmUp == nil && len(phases) == 0 && c.get("loadgen") != nil {
		t.WarmUp = &none
	}
	for _, one := range phases {
		p, _ := one.(map[string]any)
		phase(t, object(p), load)
	}
	if none := int64(0); t.WarmUp == nil && len(phases) > 0 {
		t.WarmUp = &none
	}
	t.InputAsked = either(c.float("input", "prompt", "input_tokens", "mean"), either(c.float("input", "synthetic_tokens", "mean"), c.float("synthetic_input_tokens_mean")))
	t.OutputAsked = either(c.float("input", "prompt", "output_tokens", "mean"), either(c.float("input", "output_tokens", "mean"), c.float("output_tokens_mean")))
	if t.OutputAsked != nil && *t.OutputAsked <= 0 { // -1 of GenAI-Perf: not asked
		t.OutputAsked = nil
	}
	t.Entries = either(c.count("input", "num_dataset_entries"), either(c.count("input", "conversation", "num"), c.count("num_dataset_entries")))
	if n := c.float("input", "prompt", "prefix_prompt", "length"); n != nil && *n > 0 {
		t.Shared = "prefix_prompt"
	}
	sets, _ := c.get("datasets").([]any)
	if len(sets) == 1 {
		m, _ := sets[0].(map[string]any)
		d := object(m)
		t.Entries = either(d.count("entries"), t.Entries)
		t.InputAsked, t.OutputAsked = either(d.float("prompts", "isl", "mean"), t.InputAsked), either(d.float("prompts", "osl", "mean"), t.OutputAsked)
		if d.get("prefix_prompts") != nil || d.get("prefix") != nil || d.get("prompts", "prefix") != nil {
			t.Shared = "prefix prompts of the data set"
		}
	}
	for _, extra := range []any{c.get("endpoint", "extra"), c.get("input", "extra"), c.get("extra_inputs")} {
		ignoreEOS(t, extra)
	}
}

// phase reads a phase of AIPerf's newer configuration.
func phase(t *fabric.LoadTest, p object, load func(*int64)) {
	if p.text("kind") == "warmup" || p.text("name") == "warmup" {
		t.WarmUp = either(t.WarmUp, p.count("requests"))
		return
	}
	load(p.count("concurrency"))
	t.Asked = either(t.Asked, p.count("requests"))
	if t.RatePerS == nil {
		t.RatePerS = either(t.RatePerS, either(p.float("rate"), p.float("request_rate")))
	}
}

// ignoreEOS reads additional inputs: an object, or a list of pairs.
func ignoreEOS(t *fabric.LoadTest, v any) {
	yes := true
	switch v := v.(type) {
	case map[string]any:
		if v[ignoreEOSKey] == true {
			t.IgnoreEOS = &yes
		}
	case []any:
		for _, one := range v {
			if pair, ok := one.([]any); ok && len(pair) == 2 && pair[0] == ignoreEOSKey && fmt.Sprint(pair[1]) == "true" {
				t.IgnoreEOS = &yes
			}
			if text, ok := one.(string); ok && text == ignoreEOSKey+":true" {
				t.IgnoreEOS = &yes
			}
		}
	}
}

// firstText is the first name in lists, texts or lists of objects with a name. Several names are none: which one was
// asked for differs by request.
func firstText(all ...any) string {
	for _, v := range all {
		list, isList := v.([]any)
		if text, ok := v.(string); ok {
			return text
		}
		if !isList || len(list) != 1 {
			continue
		}
		if text, ok := list[0].(string); ok {
			return text
		}
		if m, ok := list[0].(map[string]any); ok {
			return object(m).text("name")
		}
	}
	return ""
}
