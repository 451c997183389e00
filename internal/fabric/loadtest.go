package fabric

import "strconv"

// LoadTest is what a load generator measured of one served model under one load. A number that the text does not give is nil.
type LoadTest struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`    // where it begins, from 1
	Tool    string `json:"tool"`              // aiperf, genai-perf, vllm bench serve, sglang.bench_serving
	Version string `json:"version,omitempty"` // of the tool
	Form    string `json:"form"`              // json, csv, table, console, records
	Model   string `json:"model,omitempty"`   // the served name that was asked for
	GPUs    int    `json:"gpus,omitempty"`    // that served it; 0: unknown

	Streaming   *bool    `json:"streaming,omitempty"`
	IgnoreEOS   *bool    `json:"ignore_eos,omitempty"`
	Concurrency *int     `json:"concurrency,omitempty"`       // requests kept in flight
	RatePerS    *float64 `json:"request_rate_s,omitempty"`    // requests per second that were to be sent
	AllAtOnce   bool     `json:"all_at_once,omitempty"`       // neither a rate nor a bound: every request is sent at the start
	InputAsked  *float64 `json:"input_asked,omitempty"`       // tokens of a prompt
	OutputAsked *float64 `json:"output_asked,omitempty"`      // tokens of an answer
	Entries     *int64   `json:"different_prompts,omitempty"` // prompts that were made; fewer than requests: they repeat
	Shared      string   `json:"shared_prefix,omitempty"`     // what says that prompts share their beginning

	Asked  *int64 `json:"requests_asked,omitempty"`
	Done   *int64 `json:"requests_done,omitempty"` // with an answer
	Failed *int64 `json:"requests_failed,omitempty"`
	WarmUp *int64 `json:"requests_warm_up,omitempty"` // before the measured ones
	Short  *int64 `json:"answers_of_other_length,omitempty"`
	Cut    string `json:"cut,omitempty"` // why the tool says that the run ended early

	DurationS     *float64 `json:"duration_s,omitempty"`
	RequestsS     *float64 `json:"requests_s,omitempty"`
	GoodputS      *float64 `json:"goodput_s,omitempty"` // requests per second that met the objectives
	InputTokensS  *float64 `json:"input_tokens_s,omitempty"`
	OutputTokensS *float64 `json:"output_tokens_s,omitempty"`
	TotalTokensS  *float64 `json:"total_tokens_s,omitempty"`
	Retokenized   *float64 `json:"retokenized,omitempty"`  // tokens of the texts of the answers, counted by the client
	InputTokens   *float64 `json:"input_tokens,omitempty"` // of all requests
	OutputTokens  *float64 `json:"output_tokens,omitempty"`
	InFlight      *float64 `json:"in_flight,omitempty"` // on average, as the tool prints it
	PeakInFlight  *float64 `json:"in_flight_peak,omitempty"`

	TTFT    LoadSpread `json:"ttft_ms,omitempty"`
	ITL     LoadSpread `json:"itl_ms,omitempty"`     // between two tokens; of GenAI-Perf and AIPerf the mean of each request
	TPOT    LoadSpread `json:"tpot_ms,omitempty"`    // of a request: its time after the first token by its other tokens
	Latency LoadSpread `json:"latency_ms,omitempty"` // of a whole request
	PerUser LoadSpread `json:"tokens_s_per_user,omitempty"`
	Input   LoadSpread `json:"input_length,omitempty"` // tokens
	Output  LoadSpread `json:"output_length,omitempty"`
	// LengthOff is how much longer answers are than asked, in percent.
	LengthOff LoadSpread `json:"length_off_percent,omitempty"`

	Half    map[string]float64 `json:"half_digit,omitempty"` // half of the last printed digit, by the name of the number above
	Missing []string           `json:"missing,omitempty"`    // rows that this tool always prints
	Unread  []Unread           `json:"unread,omitempty"`     // what should have been read and could not be
}

// LoadSpread is a number over all requests: its avg, min, max, std and percentiles (p50, p99). Times are in ms.
type LoadSpread map[string]float64

// Of returns one of its numbers.
func (s LoadSpread) Of(name string) *float64 {
	if v, ok := s[name]; ok {
		return &v
	}
	return nil
}

// LoadFinding is what one check says of a load test.
type LoadFinding struct {
	ID      string `json:"id"`
	Status  Status `json:"status"`
	Decides bool   `json:"decides"` // false: a remark, which the verdict does not count
	Text    string `json:"text"`    // with the numbers
	Next    string `json:"next,omitempty"`
}

// JudgedLoad is a load test with its verdict.
type JudgedLoad struct {
	Test     LoadTest      `json:"test"`
	Status   Status        `json:"status"`
	Findings []LoadFinding `json:"findings"`
	Expected *Performance  `json:"expected,omitempty"` // what sizing predicts of this load
}

// LoadLine is a workload at several loads, lowest first.
type LoadLine struct {
	Name   string      `json:"name"`
	Model  string      `json:"model,omitempty"`
	Input  float64     `json:"input_tokens"`
	Output float64     `json:"output_tokens"`
	Points []LoadPoint `json:"points"`
	// Saturated is the load from which throughput no longer grows and the time to the first token does; empty: none was reached.
	Saturated string   `json:"saturated,omitempty"`
	Remarks   []string `json:"remarks,omitempty"`
}

// LoadPoint is one load of a line.
type LoadPoint struct {
	Test          int     `json:"test"` // number of the test, from 0
	Load          string  `json:"load"` // as people say it: 25, or 4/s
	TTFTms        float64 `json:"ttft_ms"`
	OutputTokensS float64 `json:"output_tokens_s"`
	RequestsS     float64 `json:"requests_s,omitempty"`
	Status        Status  `json:"status"`
}

// LoadChoice is the operating point of a line for a target.
type LoadChoice struct {
	Line     string     `json:"line"`
	Target   string     `json:"target"`
	Status   Status     `json:"status"`
	Point    *LoadPoint `json:"point,omitempty"`
	Replicas int        `json:"replicas,omitempty"`
	Text     string     `json:"text"`
}

// LoadReport is everything that results of load tests say.
type LoadReport struct {
	Meta
	Status Status `json:"status"`
	Stat   string `json:"ttft_statistic"` // avg, p50, p99
	// TargetMs is the most that the time to the first token may be; 0: no target.
	TargetMs float64      `json:"ttft_target_ms,omitempty"`
	Tests    []JudgedLoad `json:"tests"`
	Lines    []LoadLine   `json:"lines,omitempty"`
	Choices  []LoadChoice `json:"choices,omitempty"`
	Unread   []Unread     `json:"unread,omitempty"` // files and texts of which nothing was read
}

// Closed says that a test kept a number of requests in flight. Where it has a rate too, that number is only a bound, unless
// the rate was not served: then the bound was the load.
func (t LoadTest) Closed() bool {
	const served = 0.9
	return t.Concurrency != nil && (t.RatePerS == nil || t.RequestsS == nil || *t.RequestsS < served**t.RatePerS)
}

// Load says the load of a test: its concurrency, its rate, or that it is unknown.
func (t LoadTest) Load() string {
	switch {
	case t.Closed():
		return strconv.Itoa(*t.Concurrency)
	case t.RatePerS != nil:
		return strconv.FormatFloat(*t.RatePerS, 'f', -1, 64) + "/s"
	case t.AllAtOnce:
		return "all at once"
	default:
		return "?"
	}
}
