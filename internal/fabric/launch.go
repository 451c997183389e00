package fabric

// Launches is what the logs of launches of an engine say, group by group.
type Launches struct {
	Meta
	Groups []Launch `json:"groups"`
}

// Status is the worst of all groups; without any it is Unknown.
func (l *Launches) Status() Status {
	var s Summary
	for _, g := range l.Groups {
		s.Count(g.Status)
	}
	return s.Status()
}

// Uncompared notes why figures are compared with nothing.
func (l *Launches) Uncompared(why string) {
	for i := range l.Groups {
		l.Groups[i].Remarks = append(l.Groups[i].Remarks, LaunchRemark{Kind: "not-compared", Text: "the figures are compared with nothing: " + why})
	}
}

// Launch is how far a group of pods got that serve one model together, and what stopped it.
type Launch struct {
	Group    string         `json:"group"`            // name of the group, or of its only log
	Engine   string         `json:"engine,omitempty"` // sglang, vllm; empty: unknown
	Version  string         `json:"version,omitempty"`
	Status   Status         `json:"status"`  // Pass: ready; Fail: it died, or cannot become ready
	Outcome  LaunchOutcome  `json:"outcome"` //
	Stage    LaunchStage    `json:"stage"`   // that it is in, or died in; empty: unknown
	Why      string         `json:"why"`     // of the outcome, in a sentence
	Hopeless bool           `json:"hopeless,omitempty"`
	Cause    *LaunchFailure `json:"cause,omitempty"` // the first failure, not the last traceback

	Stages   []LaunchSpan    `json:"stages,omitempty"` // in order, over all ranks
	Pods     []LaunchPod     `json:"pods"`
	World    int             `json:"world,omitempty"`         // ranks that the engine was started with; 0: unknown
	Missing  []string        `json:"missing_ranks,omitempty"` // of those: no log has a line of them
	Numbers  []LaunchNumber  `json:"numbers,omitempty"`
	Network  string          `json:"network,omitempty"` // that NCCL uses between nodes: IB, Socket, a plugin's name; empty: not printed
	Stall    *LaunchStall    `json:"stall,omitempty"`
	Died     []LaunchFailure `json:"died_before,omitempty"` // first failure of each earlier start of the group, oldest first
	Failures []LaunchFailure `json:"failures,omitempty"`    // all that were told apart, in the order of time; bounded
	Remarks  []LaunchRemark  `json:"remarks,omitempty"`     // what is not well though nothing failed
	Lines    int             `json:"lines"`
}

// LaunchOutcome is what became of a launch.
type LaunchOutcome string

// The outcomes. A log that ends early is open: a log does not say that nothing follows.
const (
	LaunchOpen    LaunchOutcome = "open"
	LaunchStalled LaunchOutcome = "stalled" // no progress for longer than the stage may take
	LaunchReady   LaunchOutcome = "ready"
	LaunchDied    LaunchOutcome = "died"
)

// LaunchStage is a part of a launch.
type LaunchStage string

// The stages. vLLM compiles before it divides the memory, SGLang does both after that.
const (
	StageStart   LaunchStage = "start"   // the process is up
	StageInit    LaunchStage = "init"    // ranks find each other: store, NCCL, Ray
	StageWeights LaunchStage = "weights" // read from storage into GPUs
	StageCompile LaunchStage = "compile" // torch.compile
	StageKV      LaunchStage = "kv"      // memory is measured, the KV cache allocated
	StageGraphs  LaunchStage = "graphs"  // CUDA graphs are captured, kernels warmed up
	StageReady   LaunchStage = "ready"   // the server takes requests
	StageServing LaunchStage = "serving" // it answered one
)

// LaunchStages returns all stages in order.
func LaunchStages() []LaunchStage {
	return []LaunchStage{StageStart, StageInit, StageWeights, StageCompile, StageKV, StageGraphs, StageReady, StageServing}
}

// LaunchSpan is one stage of a group: from the first rank that began to the last that ended. Times are of the log, else of
// arrival; a time that neither has is empty.
type LaunchSpan struct {
	Stage   LaunchStage `json:"stage"`
	Begin   string      `json:"begin,omitempty"` // 2026-11-24 03:31:17
	End     string      `json:"end,omitempty"`
	Seconds float64     `json:"seconds,omitempty"`  // -1: unknown
	Ranks   int         `json:"ranks,omitempty"`    // that printed a line of it
	Ended   int         `json:"ended,omitempty"`    // of these: its end
	Done    bool        `json:"done"`               // all of them ended it, or the group went on
	Percent int         `json:"percent,omitempty"`  // of the last progress bar, where it is not done
	Behind  []string    `json:"behind,omitempty"`   // ranks that did not end it, where others did; bounded
	Slowest string      `json:"slowest,omitempty"`  // rank that ended last
	Spread  float64     `json:"spread_s,omitempty"` // seconds between the first and the last end
}

// LaunchPod is one log of a group.
type LaunchPod struct {
	Name     string      `json:"name"`
	Index    int         `json:"index"` // in the group, the leader is 0; -1: unknown
	Stage    LaunchStage `json:"stage,omitempty"`
	Ranks    []string    `json:"ranks,omitempty"` // as the engine names them
	Percent  int         `json:"percent,omitempty"`
	Starts   int         `json:"starts"` // 2: started again once
	Lines    int         `json:"lines"`
	Last     string      `json:"last,omitempty"` // time of the last line
	Exit     string      `json:"exit,omitempty"` // as Kubernetes tells it: "137 OOMKilled"
	LastLine string      `json:"last_line,omitempty"`
}

// LaunchFailure is something that went wrong, with the line that says it.
type LaunchFailure struct {
	Kind  string      `json:"kind"` // gpu-memory, port-in-use, ...; exception: what the line says, not of a known kind
	Title string      `json:"title"`
	Means string      `json:"means,omitempty"`
	Fix   string      `json:"fix,omitempty"`
	Stage LaunchStage `json:"stage,omitempty"`
	Pod   string      `json:"pod"`
	Rank  string      `json:"rank,omitempty"`
	At    string      `json:"at,omitempty"`
	Line  int         `json:"line"` // in the log of the pod, from 1; 0: told by Kubernetes
	Text  string      `json:"text"`
	Start int         `json:"start,omitempty"` // of the pod, where it started several times, from 1
}

// LaunchNumber is a figure that ranks print, beside what was computed for it.
type LaunchNumber struct {
	What     string        `json:"what"` // weights, kv_tokens, load, ...
	Unit     string        `json:"unit"` // GiB (SGLang calls it GB), s, tokens, requests
	Min      float64       `json:"min"`
	Max      float64       `json:"max"`
	Ranks    int           `json:"ranks"`            // that printed it
	Values   []float64     `json:"values,omitempty"` // of the first of these, where it printed several: a draft model has its own
	MinRank  string        `json:"min_rank,omitempty"`
	MaxRank  string        `json:"max_rank,omitempty"`
	Expected float64       `json:"expected,omitempty"`
	Compared LaunchVerdict `json:"compared"`
	Words    string        `json:"words,omitempty"`
}

// LaunchVerdict is how a figure compares with what was computed.
type LaunchVerdict string

// The verdicts on a figure; Uncompared: there is nothing to compare it with.
const (
	Uncompared LaunchVerdict = "unknown"
	Within     LaunchVerdict = "within"
	Above      LaunchVerdict = "above"
	Below      LaunchVerdict = "below"
)

// LaunchStall is a stage without progress.
type LaunchStall struct {
	Stage      LaunchStage    `json:"stage"`
	Since      string         `json:"since,omitempty"` // last progress
	Seconds    float64        `json:"seconds"`         // without progress
	Bound      float64        `json:"bound_s"`         // how long it may take
	BoundWhy   string         `json:"bound_why"`
	Passed     bool           `json:"passed"` // Seconds is above Bound
	Candidates []LaunchRemark `json:"candidates,omitempty"`
	Ask        string         `json:"ask,omitempty"` // what would tell more
}

// LaunchRemark is an observation with the line behind it.
type LaunchRemark struct {
	Kind string `json:"kind"`
	Text string `json:"text"`
	Pod  string `json:"pod,omitempty"`
	Line int    `json:"line,omitempty"`
	Said string `json:"said,omitempty"` // the line
}
