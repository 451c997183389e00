package loadtest

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// role is what a row of a result is to a test.
type role struct {
	kind string
	name string // as in Half
	into func(*fabric.LoadTest) **float64
	many func(*fabric.LoadTest) *fabric.LoadSpread
	all  func(*fabric.LoadTest) **int64
}

func spread(name, kind string, of func(*fabric.LoadTest) *fabric.LoadSpread) role {
	return role{kind: kind, name: name, many: of}
}

func single(name, kind string, of func(*fabric.LoadTest) **float64) role {
	return role{kind: kind, name: name, into: of}
}

func counted(name string, of func(*fabric.LoadTest) **int64) role {
	return role{kind: kindCount, name: name, all: of}
}

// roleOf is what a row of AIPerf and GenAI-Perf is, by its name in any of their versions: words in small letters, parted
// by single blanks. ok is false for a row that no check needs.
func roleOf(name string) (r role, ok bool) {
	switch name {
	case "time to first token":
		return spread("ttft", kindTime, func(t *fabric.LoadTest) *fabric.LoadSpread { return &t.TTFT }), true
	case "inter token latency":
		return spread("itl", kindTime, func(t *fabric.LoadTest) *fabric.LoadSpread { return &t.ITL }), true
	case "request latency":
		return spread("latency", kindTime, func(t *fabric.LoadTest) *fabric.LoadSpread { return &t.Latency }), true
	case "output sequence length", "num output token", "num output tokens":
		return spread("output", kindTokens, func(t *fabric.LoadTest) *fabric.LoadSpread { return &t.Output }), true
	case "input sequence length", "num input token", "num input tokens":
		return spread("input", kindTokens, func(t *fabric.LoadTest) *fabric.LoadSpread { return &t.Input }), true
	case "output token throughput per user":
		return spread("per user", kindRate, func(t *fabric.LoadTest) *fabric.LoadSpread { return &t.PerUser }), true
	case "output token throughput":
		return single("output tokens/s", kindRate, func(t *fabric.LoadTest) **float64 { return &t.OutputTokensS }), true
	case "total token throughput":
		return single("total tokens/s", kindRate, func(t *fabric.LoadTest) **float64 { return &t.TotalTokensS }), true
	case "input token throughput":
		return single("input tokens/s", kindRate, func(t *fabric.LoadTest) **float64 { return &t.InputTokensS }), true
	case "request throughput":
		return single("requests/s", kindRate, func(t *fabric.LoadTest) **float64 { return &t.RequestsS }), true
	case "goodput", "request goodput":
		return single("goodput", kindRate, func(t *fabric.LoadTest) **float64 { return &t.GoodputS }), true
	case "benchmark duration":
		return single("duration", kindSeconds, func(t *fabric.LoadTest) **float64 { return &t.DurationS }), true
	case "total isl", "total input sequence length":
		return single("input tokens", kindTotal, func(t *fabric.LoadTest) **float64 { return &t.InputTokens }), true
	case "total osl", "total output sequence length":
		return single("output tokens", kindTotal, func(t *fabric.LoadTest) **float64 { return &t.OutputTokens }), true
	case "effective concurrency":
		return single("in flight", kindCount, func(t *fabric.LoadTest) **float64 { return &t.InFlight }), true
	case "request count":
		return counted("requests", func(t *fabric.LoadTest) **int64 { return &t.Done }), true
	case "error request count":
		return counted("failed requests", func(t *fabric.LoadTest) **int64 { return &t.Failed }), true
	case "osl mismatch diff %", "osl mismatch diff pct":
		return spread("length off", kindPercent, func(t *fabric.LoadTest) *fabric.LoadSpread { return &t.LengthOff }), true
	case "osl mismatch count":
		return counted("answers of other length", func(t *fabric.LoadTest) **int64 { return &t.Short }), true
	}
	return role{}, false
}

// plainName is a name as roleOf takes it.
func plainName(name string) string {
	return strings.Join(strings.Fields(strings.ToLower(strings.NewReplacer("_", " ", "-", " ").Replace(name))), " ")
}

// splitUnit takes the unit in brackets from the end of a name: Request Latency (ms).
func splitUnit(name string) (plain, unit string) {
	name = strings.TrimSpace(name)
	open := strings.LastIndexByte(name, '(')
	if open < 0 || !strings.HasSuffix(name, ")") {
		return name, ""
	}
	return strings.TrimSpace(name[:open]), name[open+1 : len(name)-1]
}

// assign puts rows into a test. A row in a unit that it cannot have, or with a number that is none, is unread.
func assign(t *fabric.LoadTest, rows []metric, times []string) {
	unread := func(m metric, reason string) {
		t.Unread = append(t.Unread, fabric.Unread{Line: m.line, Text: m.name, Reason: reason})
	}
	units := map[string]bool{}
	seen := map[string]bool{}
	var rates []metric // read last: they need the number of requests
	for _, m := range rows {
		name := plainName(m.name)
		if done, failed := requestsOf(name); done || failed {
			rates = append(rates, m)
			continue
		}
		r, ok := roleOf(name)
		if !ok {
			continue
		}
		if seen[r.name] {
			unread(m, "stands here twice")
			continue
		}
		seen[r.name] = true
		scale, ok := scaleOf(r.kind, m.unit, times)
		if !ok {
			unread(m, fmt.Sprintf("unit %s: unknown in a row of %s", fabric.Quote(m.unit), r.kind))
			continue
		}
		if r.kind == kindTime {
			units[strings.ToLower(m.unit)] = true
		}
		if why := r.put(t, m, scale); why != "" {
			unread(m, why)
		}
	}
	for _, m := range rates {
		assignRate(t, m, plainName(m.name))
	}
	if len(units) > 1 {
		t.Unread = append(t.Unread, fabric.Unread{Line: t.Line, Text: "times", Reason: "rows of one result have different units of time"})
	}
}

// put stores the numbers of a row; it returns why it could not.
func (r role) put(t *fabric.LoadTest, m metric, scale float64) (why string) {
	avg, has := m.stats["avg"]
	switch {
	case r.all != nil:
		if !has || !keepCount(r.all(t), avg) {
			return "is not a number of requests"
		}
	case r.into != nil:
		if !has || avg.value < 0 {
			return "has no number"
		}
		keep(t, r.name, r.into(t), number{avg.value * scale, avg.half * scale})
	default:
		s := fabric.LoadSpread{}
		for stat, n := range m.stats {
			if stat == "sum" || stat == "count" {
				continue
			}
			if n.value < 0 && r.kind != kindPercent {
				return "is below 0"
			}
			s[stat] = n.value * scale
			half(t, r.name, n.half*scale)
		}
		if len(s) == 0 {
			return "has no number"
		}
		*r.many(t) = s
	}
	return ""
}

// requestsOf says that a row tells of requests that failed: AIPerf since 0.13 prints how many were sent in all, and the
// share that failed, also where it is zero.
func requestsOf(name string) (completed, failed bool) {
	return strings.HasPrefix(name, "completed requests") || name == "completed request count", name == "request error rate"
}

func assignRate(t *fabric.LoadTest, m metric, name string) {
	avg, has := m.stats["avg"]
	completed, _ := requestsOf(name)
	var n int64
	switch {
	case !has || avg.value < 0:
		t.Unread = append(t.Unread, fabric.Unread{Line: m.line, Text: m.name, Reason: "has no number"})
	case completed:
		var all *int64
		if keepCount(&all, avg) && t.Done != nil && t.Failed == nil {
			n = *all - *t.Done
			t.Failed = &n
		}
	case avg.value == 0 && m.unit == "%" && t.Failed == nil:
		t.Failed = &n
	}
}
