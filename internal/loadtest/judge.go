package loadtest

import (
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Expect is what a person knows of a run and its text may not say. Zero values are unknown.
type Expect struct {
	Model    string  // served name
	Requests int64   // that were to be sent
	Output   float64 // tokens that each answer was to have
	Load     int     // requests kept in flight
	GPUs     int
	// Predict returns what sizing expects of a load; nil: no model and machine are given.
	Predict func(fabric.LoadTest) (*fabric.Performance, error)
}

// Judge says whether a result can be relied on. Each check that decides must pass; what the text does not say is unknown.
func Judge(t fabric.LoadTest, x Expect) fabric.JudgedLoad {
	if x.Requests > 0 {
		t.Asked = &x.Requests
	}
	if x.Output > 0 {
		t.OutputAsked = &x.Output
	}
	if x.Load > 0 && t.Concurrency == nil {
		t.Concurrency = &x.Load
	}
	if x.GPUs > 0 {
		t.GPUs = x.GPUs
	}
	j := fabric.JudgedLoad{Test: t}
	j.Findings = []fabric.LoadFinding{
		wholeRead(t), consistent(t), complete(t), answers(t), queued(t), different(t), named(t, x.Model), warm(t), enough(t),
	}
	if x.Predict != nil {
		var f fabric.LoadFinding
		j.Expected, f = against(t, x.Predict)
		j.Findings = append(j.Findings, f)
	}
	j.Status = verdict(j.Findings)
	return j
}

// verdict is fail where a check that decides fails, pass where all pass, else unknown.
func verdict(all []fabric.LoadFinding) fabric.Status {
	status := fabric.Pass
	passed := 0
	for _, f := range all {
		switch {
		case !f.Decides || f.Status == fabric.NotApplicable:
		case f.Status == fabric.Fail:
			return fabric.Fail
		case f.Status == fabric.Pass:
			passed++
		default:
			status = fabric.Unknown
		}
	}
	if passed == 0 {
		return fabric.Unknown
	}
	return status
}

func finding(id string, s fabric.Status, format string, args ...any) fabric.LoadFinding {
	return fabric.LoadFinding{ID: id, Status: s, Decides: true, Text: fmt.Sprintf(format, args...)}
}

func remark(id string, s fabric.Status, format string, args ...any) fabric.LoadFinding {
	return fabric.LoadFinding{ID: id, Status: s, Text: fmt.Sprintf(format, args...)}
}

// wholeRead says whether everything was read that the tool prints of a run.
func wholeRead(t fabric.LoadTest) fabric.LoadFinding {
	var parts []string
	for _, u := range t.Unread {
		where := ""
		if u.Line > 0 {
			where = fmt.Sprintf("line %d, ", u.Line)
		}
		parts = append(parts, where+u.Text+": "+u.Reason)
	}
	if len(parts) > 0 {
		return finding("read", fabric.Unknown, "%s", strings.Join(parts, "; "))
	}
	if len(t.Missing) == 0 {
		return finding("read", fabric.Pass, "every number that %s prints of a run was read", t.Tool)
	}
	f := finding("read", fabric.Unknown, "missing: %s", strings.Join(t.Missing, ", "))
	if t.TTFT == nil && t.ITL == nil && t.Tool != toolVLLM && t.Tool != toolSGLang {
		f.Text += "; without streaming there is neither a time to the first token nor one between tokens"
		f.Next = "run it again with --streaming"
	}
	return f
}

// complete says whether every request that was asked for has an answer.
func complete(t fabric.LoadTest) fabric.LoadFinding {
	const id = "complete"
	done := t.Done
	switch {
	case t.Cut != "":
		return finding(id, fabric.Fail, "%s", t.Cut)
	case done != nil && *done == 0:
		return finding(id, fabric.Fail, "no request has an answer")
	case t.Failed != nil && *t.Failed > 0:
		of := ""
		if done != nil {
			of = fmt.Sprintf(" of %d", *done+*t.Failed)
		}
		f := finding(id, fabric.Fail, "%d%s requests failed: the numbers are those of the others", *t.Failed, of)
		f.Next = "look into the log of the server at the time of the run, then run it again"
		return f
	case done == nil:
		return finding(id, fabric.Unknown, "how many requests have an answer is not in the text")
	case t.Failed != nil && *t.Failed < 0:
		return finding(id, fabric.Fail, "fewer requests were completed (%d) than have an answer (%d)", *done+*t.Failed, *done)
	case t.Asked != nil && *done < *t.Asked:
		f := finding(id, fabric.Fail, "%d of %d requests that were asked for have an answer", *done, *t.Asked)
		f.Next = "the run ended early, or requests failed and the tool does not count them: look into the log of the server"
		return f
	case t.Asked != nil && *done > *t.Asked:
		return finding(id, fabric.Unknown, "%d requests have an answer and %d were asked for: command and result are not of one run", *done, *t.Asked)
	case t.Asked != nil:
		return finding(id, fabric.Pass, "all %d requests have an answer", *done)
	case t.Failed != nil:
		return finding(id, fabric.Pass, "%d requests have an answer, none failed", *done)
	}
	f := finding(id, fabric.Unknown, "%d requests have an answer; how many were sent is not in the text, and this form of %s has no line for failed ones", *done, t.Tool)
	f.Next = "give the number that was asked for: --requests N"
	return f
}

// Answers may be so much shorter than asked (client and server count tokens by different rules), and so much longer.
const (
	leastOfAsked = 0.95
	mostOfAsked  = 1.10
)

// textOfTokens is the least share of the counted tokens that the texts of answers have: tokenizers differ by some, and
// tokens after the end of an answer have no text.
const textOfTokens = 0.8

// answers says whether the answers have the length that was asked for: shorter ones are another workload.
func answers(t fabric.LoadTest) fabric.LoadFinding {
	const id, next = "length", "ask for it: --extra-inputs ignore_eos:true and min_tokens:N with AIPerf, --ignore-eos with vllm bench serve"
	mean := t.Output.Of("avg")
	short := func(text string) fabric.LoadFinding {
		f := finding(id, fabric.Fail, "%s", text)
		if t.IgnoreEOS == nil || !*t.IgnoreEOS {
			f.Next = next
		}
		return f
	}
	switch {
	case mean == nil:
		return finding(id, fabric.Unknown, "the length of the answers is not in the text")
	case t.OutputAsked != nil && *mean < leastOfAsked**t.OutputAsked:
		return short(fmt.Sprintf("answers have %s tokens on average, %s were asked for: they ended early", digits(*mean), digits(*t.OutputAsked)))
	case t.OutputAsked != nil && *mean > mostOfAsked**t.OutputAsked:
		return finding(id, fabric.Fail, "answers have %s tokens on average, %s were asked for", digits(*mean), digits(*t.OutputAsked))
	case t.Retokenized != nil && t.OutputTokens != nil && *t.Retokenized < textOfTokens**t.OutputTokens:
		return finding(id, fabric.Unknown, "%s tokens are counted, the texts of the answers have %s: the count may be what was asked for, not what came", digits(*t.OutputTokens), digits(*t.Retokenized))
	case t.OutputAsked != nil:
		return finding(id, fabric.Pass, "answers have %s tokens on average, %s were asked for", digits(*mean), digits(*t.OutputAsked))
	case t.LengthOff.Of("avg") != nil && t.LengthOff["avg"] < -100*(1-leastOfAsked):
		return short(fmt.Sprintf("answers have %s tokens on average, %s %% fewer than were asked for: they ended early", digits(*mean), digits(-t.LengthOff["avg"])))
	case t.LengthOff.Of("avg") != nil && t.LengthOff["avg"] <= 100*(mostOfAsked-1):
		return finding(id, fabric.Pass, "answers have %s tokens on average, %s %% more than were asked for", digits(*mean), digits(t.LengthOff["avg"]))
	case t.Short != nil && *t.Short > 0:
		of := ""
		if t.Done != nil {
			of = fmt.Sprintf(" of %d", *t.Done)
		}
		return short(fmt.Sprintf("%d%s answers do not have the length that was asked for", *t.Short, of))
	case t.Short != nil, evenly(t, *mean):
		return finding(id, fabric.Pass, "every answer has %s tokens", digits(*mean))
	}
	f := finding(id, fabric.Unknown, "answers have %s tokens on average; how many were asked for is not in the text", digits(*mean))
	f.Next = "give it: --answer-tokens N"
	return f
}

// evenly says that all answers have one length: nothing ends an answer early at the same token each time, so it is that
// which was asked for. Without a spread, a mean that is a whole number over many requests says the same.
func evenly(t fabric.LoadTest, mean float64) bool {
	low, high, std := t.Output.Of("min"), t.Output.Of("max"), t.Output.Of("std")
	if low != nil && high != nil {
		return *low == *high && (std == nil || *std == 0)
	}
	const many = 16
	return t.Form != formTable && t.Done != nil && *t.Done >= many && t.OutputTokens != nil && mean >= 2 && int64(*t.OutputTokens)%*t.Done == 0
}

// queued says whether a rate that was asked for was served. Where it was not, the time to the first token is that of a
// queue, which grows as long as the run lasts.
func queued(t fabric.LoadTest) fabric.LoadFinding {
	const id = "saturated"
	if t.Closed() {
		return finding(id, fabric.NotApplicable, "at a fixed concurrency a single load does not show it: give results of several")
	}
	if t.RatePerS == nil && !t.AllAtOnce {
		f := finding(id, fabric.Unknown, "neither a concurrency nor a rate is in the text: whether the server kept up is unknown")
		f.Next = "give it: --concurrency N"
		return f
	}
	decode, known := decodeSeconds(t)
	if !known || t.Done == nil || *t.Done == 0 || t.DurationS == nil {
		return finding(id, fabric.Unknown, "whether the server kept up is unknown: the numbers for it are not in the text")
	}
	sending := 0.0
	asked := "all requests were sent at once"
	if t.RatePerS != nil {
		sending = float64(*t.Done) / *t.RatePerS
		asked = digits(*t.RatePerS) + " requests/s were asked for"
	}
	// without any wait for its first token the last request would have ended then; arrivals by chance end so much later
	least := sending + decode
	if t.RatePerS != nil {
		least += 3 * math.Sqrt(float64(*t.Done)) / *t.RatePerS
	}
	excess := *t.DurationS - 1.1*least
	const seen = 0.1 // of what a queue lasts too long, each request waits half on average
	ttft := t.TTFT.Of("avg")
	switch {
	case excess <= 1:
	case ttft == nil:
		return finding(id, fabric.Unknown, "the run took %s s, and would have taken %s s without a queue; the time to the first token is not in the text", digits(*t.DurationS), digits(least))
	case *ttft/1e3 < seen*excess:
		return finding(id, fabric.Unknown, "%s, %s/s were measured, and the time to the first token shows no queue: the load was not sent as asked", asked, digits(float64(*t.Done) / *t.DurationS))
	default:
		served := float64(*t.Done) / *t.DurationS
		f := finding(id, fabric.Fail, "%s, %s/s were served: the run took %s s, and would have taken %s s had no request waited for its first token. The time to the first token is mostly that of a queue", asked, digits(served), digits(*t.DurationS), digits(least))
		f.Next = "measure at a fixed concurrency, or at a lower rate, to learn the time to the first token"
		return f
	}
	return finding(id, fabric.Pass, "%s, and were served as they came", asked)
}

// decodeSeconds is the time of an answer after its first token, on average.
func decodeSeconds(t fabric.LoadTest) (s float64, ok bool) {
	latency, ttft := t.Latency.Of("avg"), t.TTFT.Of("avg")
	if latency != nil && ttft != nil {
		return max(0, *latency-*ttft) / 1e3, true
	}
	per, out := either(t.TPOT.Of("avg"), t.ITL.Of("avg")), t.Output.Of("avg")
	if per == nil || out == nil {
		return 0, false
	}
	return *per * max(0, *out-1) / 1e3, true
}

// different says whether the prompts differ: a server that keeps prefixes answers a repeated one without computing it.
func different(t fabric.LoadTest) fabric.LoadFinding {
	const id = "prompts"
	switch {
	case t.Shared != "":
		return finding(id, fabric.Unknown, "prompts begin alike (%s): with a prefix cache the time to the first token is not that of whole prompts", t.Shared)
	case t.Entries != nil && t.Done != nil && *t.Entries < *t.Done:
		f := finding(id, fabric.Unknown, "%s for %d requests: with a prefix cache the repeated ones are answered without computing their prompts", fabric.Count(int(*t.Entries), "different prompt"), *t.Done)
		f.Next = fmt.Sprintf("make as many prompts as requests: --num-dataset-entries %d", *t.Done)
		return f
	case t.Entries != nil && t.Done != nil:
		return finding(id, fabric.Pass, "as many prompts as requests")
	}
	return remark(id, fabric.Unknown, "whether prompts repeat is not in the text")
}

// named says whether the served model is the one that is meant.
func named(t fabric.LoadTest, want string) fabric.LoadFinding {
	const id = "model"
	switch {
	case want == "" && t.Model == "":
		return remark(id, fabric.Unknown, "the model is not in the text")
	case want == "":
		return remark(id, fabric.Pass, "%s", t.Model)
	case t.Model == "":
		return finding(id, fabric.Unknown, "the model is not in the text: %s is expected", want)
	case t.Model != want:
		f := finding(id, fabric.Fail, "%s was asked for, %s is expected", t.Model, want)
		f.Next = "the served name is what /v1/models lists: railwright serve smoke URL"
		return f
	}
	return finding(id, fabric.Pass, "%s, as expected", t.Model)
}

// warm says whether requests went before the measured ones: the first ones of a server compile and fill caches.
func warm(t fabric.LoadTest) fabric.LoadFinding {
	const id = "warm-up"
	slow, cold := "", false
	if most, mean := t.TTFT.Of("max"), t.TTFT.Of("avg"); most != nil && mean != nil && *mean > 0 && *most > 3**mean {
		slow = fmt.Sprintf("; the slowest first token took %s ms, %s times the mean", digits(*most), digits(*most / *mean))
		const much = 10
		cold = *most > much**mean
	}
	switch {
	case t.WarmUp == nil:
		return remark(id, fabric.Unknown, "whether requests went before the measured ones is not in the text%s", slow)
	case *t.WarmUp == 0 && cold:
		return finding(id, fabric.Unknown, "no requests went before the measured ones%s: it may be the server's start that was measured", slow)
	case *t.WarmUp == 0:
		return remark(id, fabric.Fail, "no requests went before the measured ones%s", slow)
	}
	return remark(id, fabric.Pass, "%s before the measured ones", fabric.Count(int(*t.WarmUp), "request"))
}

// enough says whether there are enough requests for what is read from them.
func enough(t fabric.LoadTest) fabric.LoadFinding {
	const id, least = "requests", 100
	switch {
	case t.Done == nil:
		return remark(id, fabric.Unknown, "the number of requests is not in the text")
	case t.Closed() && *t.Done < int64(*t.Concurrency):
		return finding(id, fabric.Fail, "%d requests cannot keep %d in flight: the load was never reached", *t.Done, *t.Concurrency)
	case t.Closed() && *t.Done < 2*int64(*t.Concurrency):
		return finding(id, fabric.Unknown, "%d requests for a concurrency of %d: all of the run is its beginning and its end", *t.Done, *t.Concurrency)
	case *t.Done < least:
		return remark(id, fabric.Unknown, "p99 of %d requests is nearly the slowest of them", *t.Done)
	}
	return remark(id, fabric.Pass, "%d", *t.Done)
}

// against compares a result with what sizing expects of the same load.
func against(t fabric.LoadTest, predict func(fabric.LoadTest) (*fabric.Performance, error)) (*fabric.Performance, fabric.LoadFinding) {
	const id = "expected"
	p, err := predict(t)
	switch {
	case err != nil:
		return nil, finding(id, fabric.Unknown, "not predicted: %v", err)
	case p == nil || t.OutputTokensS == nil:
		return p, finding(id, fabric.Unknown, "there is nothing to compare")
	}
	got := *t.OutputTokensS
	band := fmt.Sprintf("%s tokens/s; %s to %s is expected of this layout, limited by %s", digits(got), digits(p.Band[0]), digits(p.Band[1]), p.Limit)
	switch {
	case got < p.Band[0]:
		return p, finding(id, fabric.Fail, "%s: lower", band)
	case got > p.Band[1]:
		return p, finding(id, fabric.Unknown, "%s: higher, so prompts were not computed (a prefix cache), tokens were guessed (speculative decoding), or the machine is another one", band)
	}
	return p, finding(id, fabric.Pass, "%s", band)
}
