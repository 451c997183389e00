package loadtest

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// slack is what programs round between their numbers, as a share, beside the printed digits.
const slack = 0.005

// endsOf is by how many seconds the ends of a run differ that a tool takes for its several rates: AIPerf counts some from
// the first request and some from the start of the phase, which its processes learn of a little apart.
func endsOf(tool string) float64 {
	if tool == toolAIPerf {
		return 0.1
	}
	return 0
}

// ledger collects relations between the numbers of a result: what held, and what did not.
type ledger struct {
	t     fabric.LoadTest
	rates int // relations between rates, totals and the duration that held
	times int // between times of requests
	wrong []string
	open  []string // what speaks against it without deciding
}

// consistent says whether the numbers of a result fit each other. A pass needs a relation between rates and one between
// times: a number that nothing else confirms may be anything.
func consistent(t fabric.LoadTest) fabric.LoadFinding {
	const id = "consistent"
	l := &ledger{t: t}
	l.throughput()
	l.spreads()
	l.parts()
	l.little()
	switch {
	case len(l.wrong) > 0:
		return finding(id, fabric.Fail, "%s", strings.Join(l.wrong, "; "))
	case len(l.open) > 0:
		return finding(id, fabric.Unknown, "%s", strings.Join(l.open, "; "))
	case l.rates == 0:
		return finding(id, fabric.Unknown, "too little in the text to check tokens/s with")
	case l.times == 0:
		return finding(id, fabric.Unknown, "too little in the text to check the times of requests with")
	}
	return finding(id, fabric.Pass, "%s of rates and %s of times hold", fabric.Count(l.rates, "relation"), fabric.Count(l.times, "relation"))
}

// share is the half digit of a number as a share of it.
func (l *ledger) share(name string, v float64) float64 {
	if v == 0 {
		return 0
	}
	return l.t.Half[name] / math.Abs(v)
}

// same checks that two ways to one number agree; names are those of the printed numbers in it.
func (l *ledger) same(count *int, what string, got, computed, tolerance float64) {
	if math.Abs(got-computed) <= tolerance*math.Max(math.Abs(got), math.Abs(computed)) {
		*count++
		return
	}
	l.wrong = append(l.wrong, fmt.Sprintf("%s: %s and %s", what, digits(got), digits(computed)))
}

// throughput relates rates, totals and the duration.
func (l *ledger) throughput() {
	t := l.t
	out, hasOut := value(t.OutputTokensS)
	rate, hasRate := value(t.RequestsS)
	seconds, hasSeconds := value(t.DurationS)
	_, hasMean := value(t.Output.Of("avg"))
	near := l.share
	if hasSeconds && seconds > 0 {
		d := near("duration", seconds) + slack + endsOf(t.Tool)/seconds
		if t.Done != nil && hasRate {
			l.same(&l.rates, "requests by the duration and requests/s", rate, float64(*t.Done)/seconds, near("requests/s", rate)+d)
		}
		if total, ok := value(t.OutputTokens); ok && hasOut {
			l.same(&l.rates, "output tokens by the duration and output tokens/s", out, total/seconds, near("output tokens/s", out)+d)
		}
		if total, ok := value(t.InputTokens); ok && t.InputTokensS != nil {
			l.same(&l.rates, "input tokens by the duration and input tokens/s", *t.InputTokensS, total/seconds, near("input tokens/s", *t.InputTokensS)+d)
		}
		if all, ok := value(t.TotalTokensS); ok && t.InputTokens != nil && t.OutputTokens != nil {
			l.same(&l.rates, "all tokens by the duration and total tokens/s", all, (*t.InputTokens+*t.OutputTokens)/seconds, near("total tokens/s", all)+d)
		}
	}
	l.products()
	if !hasMean && hasOut && hasRate && rate > 0 { // the length that both say, for the relations of times
		l.t.Output = fabric.LoadSpread{"avg": out / rate}
	}
}

// products relates rates and totals to the lengths of prompts and answers.
func (l *ledger) products() {
	t, near := l.t, l.share
	out, hasOut := value(t.OutputTokensS)
	rate, hasRate := value(t.RequestsS)
	mean, hasMean := value(t.Output.Of("avg"))
	if hasOut && hasRate && hasMean {
		l.same(&l.rates, "requests/s by tokens of an answer and output tokens/s", out, rate*mean, near("output tokens/s", out)+near("requests/s", rate)+near("output", mean)+slack)
	}
	if total, ok := value(t.OutputTokens); ok && t.Done != nil && hasMean {
		l.same(&l.rates, "answers by their length and output tokens", total, float64(*t.Done)*mean, near("output", mean)+near("output tokens", total)+slack)
	}
	if total, ok := value(t.InputTokens); ok && t.Done != nil && t.Input["avg"] > 0 {
		l.same(&l.rates, "prompts by their length and input tokens", total, float64(*t.Done)*t.Input["avg"], near("input", t.Input["avg"])+near("input tokens", total)+slack)
	}
	if good, ok := value(t.GoodputS); ok && hasRate && good > rate*(1+slack)+l.t.Half["goodput"]+l.t.Half["requests/s"] {
		l.wrong = append(l.wrong, fmt.Sprintf("goodput of %s/s is above the %s/s that were served", digits(good), digits(rate)))
	}
}

func value(p *float64) (float64, bool) {
	if p == nil {
		return 0, false
	}
	return *p, true
}

// spreads checks each spread by itself.
func (l *ledger) spreads() {
	for _, of := range []struct {
		name, what string
		s          fabric.LoadSpread
	}{
		{"ttft", "time to first token", l.t.TTFT}, {"itl", "time between tokens", l.t.ITL}, {"tpot", "time per output token", l.t.TPOT},
		{"latency", "request latency", l.t.Latency}, {"input", "length of prompts", l.t.Input}, {"output", "length of answers", l.t.Output},
		{"per user", "tokens/s per user", l.t.PerUser},
	} {
		l.spread(of.what, of.s, 2*l.t.Half[of.name])
	}
}

// quantile is a share of the requests and the value below which they lie.
type quantile struct {
	name  string
	share float64
	value float64
}

func quantiles(s fabric.LoadSpread) []quantile {
	var all []quantile
	for name, v := range s {
		switch {
		case name == "min":
			all = append(all, quantile{name, 0, v})
		case name == "max":
			all = append(all, quantile{name, 1, v})
		case strings.HasPrefix(name, "p"):
			if p, err := strconv.ParseFloat(name[1:], 64); err == nil {
				all = append(all, quantile{name, p / 100, v})
			}
		}
	}
	slices.SortFunc(all, func(a, b quantile) int { return int(math.Copysign(1, a.share-b.share)) })
	return all
}

// spread checks that percentiles rise, and that the mean lies where they allow it: a share of the requests is at least
// as large as the percentile below it.
func (l *ledger) spread(what string, s fabric.LoadSpread, printed float64) {
	all := quantiles(s)
	for i := 1; i < len(all); i++ {
		if all[i].value < all[i-1].value-printed {
			l.wrong = append(l.wrong, fmt.Sprintf("%s: %s of %s is below %s of %s", what, all[i].name, digits(all[i].value), all[i-1].name, digits(all[i-1].value)))
			return
		}
	}
	mean, has := value(s.Of("avg"))
	if !has || len(all) == 0 {
		return
	}
	low, high := 0.0, 0.0
	previous := quantile{}
	for _, q := range all {
		low += previous.value * (q.share - previous.share)
		high += q.value * (q.share - previous.share)
		previous = q
	}
	low += previous.value * (1 - previous.share)
	bounded := previous.share == 1
	// percentiles of few requests are interpolated: one request more or less
	room := printed + slack*mean
	if n := l.t.Done; n != nil && *n > 1 {
		room += (previous.value - all[0].value) / float64(*n-1)
	} else {
		room += 0.1 * (previous.value - all[0].value)
	}
	if mean < low-room || bounded && mean > high+room {
		l.wrong = append(l.wrong, fmt.Sprintf("%s: a mean of %s cannot be with %s of %s", what, digits(mean), all[len(all)/2].name, digits(all[len(all)/2].value)))
	}
	l.ends(what, s, mean, printed)
	if p50 := s.Of("p50"); p50 != nil && mean > farApart**p50+printed {
		l.open = append(l.open, fmt.Sprintf("%s: the mean of %s is more than %d times the median of %s: a few requests make it, or one of the two is wrong", what, digits(mean), farApart, digits(*p50)))
	}
	if std := s.Of("std"); std != nil {
		if p50 := s.Of("p50"); p50 != nil && math.Abs(mean-*p50) > *std*(1+slack)+printed { // mean and median are at most a deviation apart
			l.wrong = append(l.wrong, fmt.Sprintf("%s: mean %s and median %s are farther apart than the deviation %s", what, digits(mean), digits(*p50), digits(*std)))
		}
	}
}

// farApart is how many times the median a mean may be before it needs a look at the requests themselves.
const farApart = 10

// ends checks the mean against the smallest and the largest value of so many: one request has each.
func (l *ledger) ends(what string, s fabric.LoadSpread, mean, printed float64) {
	low, high := s.Of("min"), s.Of("max")
	if low == nil || high == nil || l.t.Done == nil || *l.t.Done < 2 {
		return
	}
	const exact = 1e-6 // of sums of floating-point numbers
	n := float64(*l.t.Done)
	if most, least := *high-(*high-*low)/n, *low+(*high-*low)/n; mean > most+printed+exact*mean || mean < least-printed-exact*mean {
		l.wrong = append(l.wrong, fmt.Sprintf("%s: a mean of %s cannot be over %.0f requests from %s to %s", what, digits(mean), n, digits(*low), digits(*high)))
	}
}

// deviation bounds the standard deviation of a spread; known is false where nothing does.
func deviation(s fabric.LoadSpread) (v float64, known bool) {
	if std := s.Of("std"); std != nil {
		return *std, true
	}
	if low, high := s.Of("min"), s.Of("max"); low != nil && high != nil {
		return (*high - *low) / 2, true
	}
	return 0, false
}

// parts relates the times of a request: the first token, and the others.
func (l *ledger) parts() {
	t := l.t
	ttft, hasTTFT := value(t.TTFT.Of("avg"))
	latency, hasLatency := value(t.Latency.Of("avg"))
	if hasTTFT && hasLatency && ttft > latency*(1+slack) {
		l.wrong = append(l.wrong, fmt.Sprintf("the first token takes %s ms on average, a whole request %s ms", digits(ttft), digits(latency)))
		return
	}
	if !l.within() {
		return
	}
	per, spread := t.TPOT.Of("avg"), t.TPOT
	if per == nil && t.Tool != toolVLLM && t.Tool != toolSGLang { // there it is of each gap, not of each request
		per, spread = t.ITL.Of("avg"), t.ITL
	}
	tokens, hasTokens := value(l.t.Output.Of("avg"))
	if hasTTFT && hasLatency && per != nil && hasTokens && tokens > 1 {
		// latency = first + per x (tokens - 1) holds for each request; for means it is off by their covariance at most
		computed := ttft + *per*(tokens-1)
		a, okA := deviation(spread)
		b, okB := deviation(t.Output)
		room := a*b + l.t.Half["itl"]*tokens + *per*l.t.Half["output"] + 2*l.t.Half["latency"]
		if !okA || !okB {
			const rough = 0.3 // of the time after the first token, where the spread of lengths is unknown
			room += rough * *per * tokens
		}
		l.same(&l.times, "time to the first token and between tokens, and latency (ms)", latency, computed, room/math.Max(latency, computed)+slack)
	}
	if p99 := t.Latency.Of("p99"); !hasLatency && hasTTFT && per != nil && hasTokens && p99 != nil {
		// a mean is above p99 only where the slowest hundredth is a hundred times slower
		if computed := ttft + *per*(tokens-1); computed > 2**p99 {
			l.wrong = append(l.wrong, fmt.Sprintf("%s ms to the first token and %s ms for each of %s tokens are %s ms, p99 of the latency is %s ms", digits(ttft), digits(*per), digits(tokens), digits(computed), digits(*p99)))
		}
	}
	l.perUser()
}

// within checks that no time of a request is longer than the run, and no first token later than the whole answer.
func (l *ledger) within() bool {
	t := l.t
	for _, of := range []struct {
		what string
		s    fabric.LoadSpread
	}{{"time to first token", t.TTFT}, {"request latency", t.Latency}, {"time between tokens", t.ITL}} {
		for _, stat := range []string{"avg", "p50", "p99", "max"} {
			if v, d := of.s[stat], t.DurationS; d != nil && v/1e3 > *d*1.02+l.t.Half["duration"] {
				l.wrong = append(l.wrong, fmt.Sprintf("%s: %s of %s s is longer than the run of %s s", of.what, stat, digits(v/1e3), digits(*d)))
				break
			}
		}
	}
	for _, stat := range []string{"min", "p50", "p75", "p90", "p95", "p99", "max"} { // of each request, and so of each rank of them
		first, whole := t.TTFT.Of(stat), t.Latency.Of(stat)
		if first != nil && whole != nil && *first > *whole+2*l.t.Half["latency"] {
			l.wrong = append(l.wrong, fmt.Sprintf("%s of the time to the first token is %s ms, of a whole request %s ms", stat, digits(*first), digits(*whole)))
			return false
		}
	}
	return true
}

// perUser relates tokens/s of a user to the time between tokens: each is the inverse of the other for a request, and the
// product of their means is bounded by their extremes (Kantorovich).
func (l *ledger) perUser() {
	t := l.t
	rate, hasRate := value(t.PerUser.Of("avg"))
	itl, hasITL := value(t.ITL.Of("avg"))
	if !hasRate || !hasITL || itl <= 0 {
		return
	}
	for _, end := range [][2]string{{"min", "max"}, {"max", "min"}} { // the fastest user has the shortest time
		a, b := t.PerUser.Of(end[0]), t.ITL.Of(end[1])
		if a == nil || b == nil || *a <= 0 || *b <= 0 {
			continue
		}
		if room := l.share("itl", *b) + l.share("per user", *a) + slack; math.Abs(*a**b/1e3-1) > room {
			l.wrong = append(l.wrong, fmt.Sprintf("%s of the tokens/s of a user is %s, and %s between tokens %s ms", end[0], digits(*a), end[1], digits(*b)))
			return
		}
	}
	product := rate * itl / 1e3
	room := l.share("itl", itl) + l.share("per user", rate) + 2*slack
	most := math.Inf(1)
	if low, high := t.ITL["min"], t.ITL["max"]; low > 0 && high > 0 {
		most = (low + high) * (low + high) / (4 * low * high)
	}
	if product < 1-room || product > most*(1+room) {
		l.wrong = append(l.wrong, fmt.Sprintf("%s tokens/s of a user do not fit %s ms between tokens", digits(rate), digits(itl)))
		return
	}
	l.times++
}

// little checks Little's law: requests in flight = requests/s x seconds in the server.
func (l *ledger) little() {
	t := l.t
	rate, hasRate := value(t.RequestsS)
	if !hasRate {
		return
	}
	latency, exact := t.Latency.Of("avg"), true
	if latency == nil {
		decode, known := decodeSeconds(l.t)
		ttft := t.TTFT.Of("avg")
		if !known || ttft == nil {
			return
		}
		if per := either(l.t.TPOT.Of("p50"), l.t.ITL.Of("p50")); per != nil {
			mean := either(l.t.TPOT.Of("avg"), l.t.ITL.Of("avg"))
			const skewed = 0.2
			if math.Abs(*mean-*per) > skewed**mean {
				return // a mean of so uneven times says little of the time of a request
			}
		}
		v := *ttft + 1e3*decode
		latency, exact = &v, false
	}
	inFlight := rate * *latency / 1e3
	room := l.share("requests/s", rate) + l.share("latency", *latency) + 0.05
	if !exact {
		room += 0.15 // lengths of answers and the time per token are means that were taken apart
	}
	if printed, ok := value(t.InFlight); ok {
		l.same(&l.times, "requests in flight, as printed and as requests/s x latency", printed, inFlight, room+l.share("in flight", printed))
	}
	most, what := 0.0, ""
	switch {
	case t.Closed():
		most, what = float64(*t.Concurrency), "a concurrency of "+strconv.Itoa(*t.Concurrency)
	case t.PeakInFlight != nil:
		most, what = *t.PeakInFlight, "a peak of "+digits(*t.PeakInFlight)
	case t.AllAtOnce && t.Done != nil:
		most, what = float64(*t.Done), fmt.Sprintf("%d requests", *t.Done)
	default:
		return
	}
	text := fmt.Sprintf("%s requests/s x %s s are %s in flight on average, with %s", digits(rate), digits(*latency/1e3), digits(inFlight), what)
	const few, tooFew = 0.5, 0.05
	switch {
	case inFlight > most*(1+room):
		l.wrong = append(l.wrong, text)
	case inFlight < tooFew*most && t.Closed():
		l.wrong = append(l.wrong, text)
	case t.Closed() && inFlight < few*most, inFlight < tooFew*most && most >= 1/tooFew:
		l.open = append(l.open, text+": the load was not kept")
	default:
		l.times++
	}
}
