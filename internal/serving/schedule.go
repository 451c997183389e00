package serving

import (
	"math"
	"strings"
)

// scheduling is how an engine orders prompts and answers.
type scheduling struct {
	engine string
	mixed  bool    // a pass carries prompts and tokens of answers together
	chunk  float64 // tokens of a pass over prompts, where nothing is set
	least  float64 // s, share of its own process chain in the first token: up to so much above the passes
}

// schedulings lists the engines' own, as their default settings are on GPUs of 80 to 141 GB. SGLang runs waiting
// prompts before it goes on with answers (0.5.0rc2 managers/scheduler.py, get_next_batch_to_run); vLLM fills each
// step's token budget with answers first and then with prompts (0.10.1.1 v1/core/sched/scheduler.py; budget 8192 of
// the API server on GPUs above 70 GiB, engine/arg_utils.py). The last column is the time that the first tokens of
// public measurements lie above the passes at low load: tokeniser, detokeniser and HTTP are processes of their own.
func schedulings() []scheduling {
	return []scheduling{
		{engine: "sglang", chunk: 8192, least: 0.4},
		{engine: "vllm", mixed: true, chunk: 8192, least: 0.1},
	}
}

// schedulingOf finds an engine's; the first stands for one without a name.
func schedulingOf(engine string) scheduling {
	all := schedulings()
	for _, s := range all {
		if strings.EqualFold(s.engine, engine) {
			return s
		}
	}
	return all[0]
}

// cycleTimes is one cycle of a replica, seconds.
type cycleTimes struct {
	alone   float64 // prompt of a request that is alone
	step    float64
	each    float64 // what a prompt costs among others
	cycle   float64
	running float64
	waiting float64 // cycles that a request waits for a place in the cache
}

// Prompts that are ahead of a new one. Independent clients keep about the square root of their number waiting, and a
// quarter of that is a lucky request. Clients that all started at the same time, as benchmarks do, find on average
// half of all prompts before theirs with an engine that runs prompts first; with one that mixes, their requests
// spread in time, and it is little more than the square root.
const (
	luckyShare = 0.25
	burstShare = 0.5
	mixedShare = 1.2
)

// firstToken is the band of the time to the first token, ms.
func (s scheduling) firstToken(t cycleTimes) [2]float64 {
	idle := t.alone + t.step
	low := idle + luckyShare*math.Sqrt(t.running)*t.each
	before := burstShare * t.running
	if s.mixed {
		before = mixedShare * math.Sqrt(t.running)
	}
	high := idle + max(before*t.each+s.least+max(0, t.waiting)*t.cycle, low-idle)
	return [2]float64{1e3 * low, 1e3 * high}
}
