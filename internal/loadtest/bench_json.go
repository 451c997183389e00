package loadtest

import (
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// bench reads a result that vllm bench serve or sglang.bench_serving saved: flat keys with the unit in their names, rates
// per second and the duration in seconds.
func bench(o object) fabric.LoadTest {
	t := fabric.LoadTest{Form: formJSON, Tool: toolVLLM, Model: o.text("model_id")}
	_, hasInfo := o["server_info"]
	_, hasRandom := o["random_range_ratio"]
	if hasInfo || hasRandom || o["total_throughput"] != nil {
		t.Tool = toolSGLang
		t.Model = o.text("server_info", "served_model_name")
	}
	for _, one := range []struct {
		key, name string
		to        **float64
	}{
		{"duration", "duration", &t.DurationS}, {"request_throughput", "requests/s", &t.RequestsS}, {"request_goodput", "goodput", &t.GoodputS},
		{"output_throughput", "output tokens/s", &t.OutputTokensS}, {"total_token_throughput", "total tokens/s", &t.TotalTokensS},
		{"total_throughput", "total tokens/s", &t.TotalTokensS}, {"input_throughput", "input tokens/s", &t.InputTokensS},
		{"total_output_tokens_retokenized", "retokenized", &t.Retokenized}, {"total_input_tokens", "input tokens", &t.InputTokens}, {"total_output_tokens", "output tokens", &t.OutputTokens},
		{"concurrency", "in flight", &t.InFlight}, {"max_concurrent_requests", "peak", &t.PeakInFlight},
	} {
		v, has := o[one.key]
		n := numberOf(v)
		switch {
		case n != nil && n.value >= 0:
			keep(&t, one.name, one.to, *n)
		case has && v != nil:
			t.Unread = append(t.Unread, fabric.Unread{Text: one.key, Reason: "is not a number"})
		}
	}
	t.Done, t.Failed, t.Asked = o.count("completed"), o.count("failed"), either(o.count("num_prompts"), o.count("num_prompt"))
	for _, one := range []struct {
		key string
		to  *fabric.LoadSpread
	}{{"ttft", &t.TTFT}, {"tpot", &t.TPOT}, {"itl", &t.ITL}, {"e2el", &t.Latency}, {"e2e_latency", &t.Latency}} {
		if s := benchSpread(o, one.key); len(s) > 0 {
			*one.to = s
		}
	}
	benchLoad(&t, o)
	if t.Failed == nil {
		t.Failed = errorsOf(o)
	}
	for _, key := range []string{"duration", "completed", "total_input_tokens", "total_output_tokens", "request_throughput", "output_throughput", "mean_ttft_ms", "median_ttft_ms", "mean_itl_ms", "median_itl_ms"} {
		if o.number(key) == nil {
			t.Missing = append(t.Missing, key)
		}
	}
	if t.TotalTokensS == nil && t.Tool == toolVLLM { // SGLang 0.5.5 does not save it
		t.Missing = append(t.Missing, "total_token_throughput")
	}
	lengths(&t)
	return t
}

// benchLoad reads what was asked of a run.
func benchLoad(t *fabric.LoadTest, o object) {
	if c := o.count("max_concurrency"); c != nil && *c > 0 && *c < 1<<31 {
		v := int(*c)
		t.Concurrency = &v
	}
	if rate := o.float("request_rate"); rate != nil && *rate > 0 {
		t.RatePerS = rate
	} else if word := o.text("request_rate"); (word == "inf" || word == "Infinity") && t.Concurrency == nil {
		t.AllAtOnce = true
	}
	if ratio := o.float("random_range_ratio"); ratio != nil && *ratio == 1 && strings.HasPrefix(o.text("dataset_name"), "random") {
		t.InputAsked, t.OutputAsked = o.float("random_input_len"), o.float("random_output_len")
	}
	if name := o.text("dataset_name"); name == "generated-shared-prefix" {
		t.Shared = "dataset_name " + name
	}
}

// benchSpread collects mean_ttft_ms, median_ttft_ms, p99_ttft_ms and the like.
func benchSpread(o object, what string) fabric.LoadSpread {
	s := fabric.LoadSpread{}
	for key := range o {
		stat, found := strings.CutSuffix(key, "_"+what+"_ms")
		name, isStat := statName(stat)
		if n := o.number(key); found && isStat && n != nil && n.value >= 0 {
			s[name] = n.value
		}
	}
	return s
}

// errorsOf counts requests with an error, where the details were saved.
func errorsOf(o object) *int64 {
	list, ok := o.get("errors").([]any)
	if !ok {
		return nil
	}
	n := int64(0)
	for _, one := range list {
		if text, _ := one.(string); text != "" {
			n++
		}
	}
	return &n
}
