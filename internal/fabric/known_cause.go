package fabric

// CauseList is what is known of causes: of all, or of one. Its kind is CauseList.
type CauseList struct {
	Meta
	Causes []KnownCause `json:"causes"`
}

// KnownCause is what is known of a cause before anything was seen.
type KnownCause struct {
	ID        CauseID         `json:"id"`
	Topic     string          `json:"topic"`
	What      string          `json:"what"`  // one sentence
	Signs     string          `json:"signs"` // what a person sees of it
	Priors    []CausePrior    `json:"priors"`
	Reason    string          `json:"reason"`              // of the priors
	Messages  []CauseMessage  `json:"messages,omitempty"`  // of programs, those that speak for it, the strongest first
	Confirm   []string        `json:"confirm"`             // commands, with a remark after # where one is needed
	Fix       []string        `json:"fix"`                 // likewise
	Platforms []PlatformFix   `json:"platforms,omitempty"` // where the fix differs
	Expects   []CauseEvidence `json:"expects"`             // what is seen where it is the cause
	Steps     []CauseStep     `json:"steps"`               // measurements that test it, the best first
}

// CausePrior is how likely a cause is in a class of failure before anything else was seen.
type CausePrior struct {
	Class       string  `json:"class"` // slow, hang, crash, start, config
	Word        string  `json:"word"`
	Probability float64 `json:"probability"` // 0 to 1; all causes of a class and what is none of them add up to 1
}

// CauseMessage is a message of a program that speaks for a cause.
type CauseMessage struct {
	ID    string  `json:"id"`
	Means string  `json:"means"`
	Word  string  `json:"word"`  // how strongly
	Ratio float64 `json:"ratio"` // likelihood ratio
}

// PlatformFix is what fixes a cause on one platform.
type PlatformFix struct {
	On  string `json:"on"`
	Fix string `json:"fix"`
}

// CauseEvidence is what should be seen if a cause is the true one and output of that kind is at hand.
type CauseEvidence struct {
	Evidence string `json:"evidence"`
	Where    string `json:"where"`
}

// CauseStep is a measurement, and what it shows if the cause is the true one.
type CauseStep struct {
	ID          string   `json:"id"`
	Command     string   `json:"command"`
	Minutes     float64  `json:"minutes"` // what it costs a person
	Needs       []string `json:"needs"`
	Shows       string   `json:"shows"`       // the most probable outcome in which the cause is named
	Probability float64  `json:"probability"` // of that outcome, 0 to 1
}
