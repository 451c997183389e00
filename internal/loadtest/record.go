package loadtest

import (
	"fmt"
	"math"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// recordSet collects the records of AIPerf's profile_export.jsonl: a request a line.
type recordSet struct {
	done, failed, warm int64
	cancelled          int64
	start, end         float64 // ns
	input, output      []float64
	ttft, itl, latency []float64 // ms
	unread             []fabric.Unread
}

// add takes a line; it returns false where the line is no record.
func (r *recordSet) add(o object) bool {
	meta, isMeta := o["metadata"].(map[string]any)
	if !isMeta || o["metrics"] == nil && o["error"] == nil {
		return false
	}
	m := object(meta)
	if phase := m.text("benchmark_phase"); phase != "" && phase != "profiling" {
		r.warm++
		return true
	}
	start, end := m.float("request_start_ns"), m.float("request_end_ns")
	if start != nil && end != nil {
		if r.start == 0 || *start < r.start {
			r.start = *start
		}
		r.end = max(r.end, *end)
	}
	if m.get("was_cancelled") == true {
		r.cancelled++
	}
	if o["error"] != nil {
		r.failed++
		return true
	}
	r.done++
	metrics, _ := o["metrics"].(map[string]any)
	for _, one := range []struct {
		key  string
		kind string
		to   *[]float64
	}{
		{"time_to_first_token", kindTime, &r.ttft}, {"inter_token_latency", kindTime, &r.itl}, {"request_latency", kindTime, &r.latency},
		{"input_sequence_length", kindTokens, &r.input}, {"output_sequence_length", kindTokens, &r.output},
	} {
		r.take(object(metrics), one.key, one.kind, one.to)
	}
	return true
}

func (r *recordSet) take(metrics object, key, kind string, to *[]float64) {
	n := metrics.number(key, "value")
	if n == nil {
		return
	}
	scale, ok := scaleOf(kind, metrics.text(key, "unit"), timesOf(toolAIPerf))
	if !ok || n.value < 0 {
		const most = 10
		if len(r.unread) < most {
			r.unread = append(r.unread, fabric.Unread{Text: key, Reason: fmt.Sprintf("unit %s: unknown", fabric.Quote(metrics.text(key, "unit")))})
		}
		return
	}
	*to = append(*to, n.value*scale)
}

// test is the result that the records add up to; ok is false where there are none.
func (r *recordSet) test() (t fabric.LoadTest, ok bool) {
	if r.done+r.failed == 0 {
		return t, false
	}
	t = fabric.LoadTest{Tool: toolAIPerf, Form: formRecords, Done: &r.done, Failed: &r.failed, WarmUp: &r.warm, Unread: r.unread}
	t.TTFT, t.ITL, t.Latency = spreadOf(r.ttft), spreadOf(r.itl), spreadOf(r.latency)
	t.Input, t.Output = spreadOf(r.input), spreadOf(r.output)
	if r.cancelled > 0 {
		t.Cut = fabric.Count(int(r.cancelled), "request") + " cancelled"
	}
	if seconds := (r.end - r.start) / 1e9; seconds > 0 {
		rate := func(v float64) *float64 { v /= seconds; return &v }
		in, out := sum(r.input), sum(r.output)
		t.DurationS, t.InputTokens, t.OutputTokens = &seconds, &in, &out
		t.RequestsS, t.OutputTokensS, t.TotalTokensS = rate(float64(r.done)), rate(out), rate(in+out)
	}
	need(&t)
	return t, true
}

func sum(all []float64) (s float64) {
	for _, v := range all {
		s += v
	}
	return s
}

// spreadOf are the statistics of values; percentiles are interpolated between neighbours, as numpy and AIPerf do.
func spreadOf(values []float64) fabric.LoadSpread {
	n := len(values)
	if n == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	at := func(p float64) float64 {
		rank := p / 100 * float64(n-1)
		low := int(math.Floor(rank))
		high := min(low+1, n-1)
		return sorted[low] + (rank-float64(low))*(sorted[high]-sorted[low])
	}
	mean := sum(values) / float64(n)
	squares := 0.0
	for _, v := range values {
		squares += (v - mean) * (v - mean)
	}
	return fabric.LoadSpread{
		"avg": mean, "min": sorted[0], "max": sorted[n-1], "std": math.Sqrt(squares / float64(n)),
		"p50": at(50), "p90": at(90), "p95": at(95), "p99": at(99),
	}
}
