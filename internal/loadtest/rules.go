package loadtest

// Rule is what one finding of a load test is about.
type Rule struct {
	ID    string
	Title string // what is true when it passes
	Doc   string // what it checks and why
}

// Rules describes all findings of load tests and of smoke tests of a server, in the order in which they are made.
func Rules() []Rule {
	return []Rule{
		{"read", "The whole result was read", "what is cut, damaged or left out of a result may be what decides: without it nothing passes"},
		{"complete", "Every request that was asked for has an answer", "the numbers of a run are those of the requests that succeeded: failed ones make it look faster"},
		{"consistent", "The numbers fit each other", "rates, totals, durations and times of requests are related: a number that contradicts the others was misread, or the run is not what it says"},
		{"length", "Answers have the length that was asked for", "shorter answers are another load: tokens per second and times between tokens change with it"},
		{"saturated", "The rate that was asked for was served", "above what a server can do, its queue grows as long as the run lasts, and the time to the first token is that of the queue"},
		{"prompts", "Prompts differ", "a server that keeps prefixes answers a repeated prompt without computing it"},
		{"model", "The served model is the one that is meant", "a server may serve another model, or the same under another name"},
		{"warm-up", "Requests went before the measured ones", "the first requests of a server compile kernels and fill caches"},
		{"requests", "There are enough requests for what is read from them", "fewer than the concurrency never reach the load, and p99 of few is the slowest of them"},
		{"expected", "Tokens per second are those that the layout can do", "compared with what sizing computes of the same load: lower is slow, higher means that something was not computed"},
		{"models", "The server lists its models", "the first question of serve smoke: whether an engine answers at all, and under which names"},
		{"chat", "The server answers a chat with text of the model", "an answer without text, of another model or cut off is no service"},
	}
}
