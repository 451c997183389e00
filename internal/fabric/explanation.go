package fabric

// Verdict is the verdict of explain on a result. The zero value is unknown.
type Verdict string

// The verdicts.
const (
	VerdictUnknown  Verdict = "unknown"
	VerdictHealthy  Verdict = "healthy"
	VerdictDegraded Verdict = "degraded"
	VerdictFailed   Verdict = "failed"
)

// Status returns the verdict as a status: degraded and failed are both Fail.
func (v Verdict) Status() Status {
	switch v {
	case VerdictHealthy:
		return Pass
	case VerdictDegraded, VerdictFailed:
		return Fail
	default:
		return Unknown
	}
}

// Explanation is the verdict on every result, and why.
type Explanation struct {
	Meta
	Results []Explained `json:"results"`
	Sources []Source    `json:"sources,omitempty"` // what was read, file by file
}

// Source is a file that was given, or a member of a folder or archive, and what was made of it.
type Source struct {
	File      string    `json:"file"`
	Holds     []string  `json:"holds,omitempty"` // results and outputs of tools that were found in it: nccl-tests, lspci, dmesg
	Lines     int       `json:"lines,omitempty"`
	Unclaimed int       `json:"unclaimed,omitempty"` // lines that no reader and no message claims, blank ones aside
	Samples   []LogLine `json:"samples,omitempty"`   // of those, the first
	Error     string    `json:"error,omitempty"`     // why it could not be read, or not whole
}

// Explained is the verdict on one result.
type Explained struct {
	File     string       `json:"file"`
	Line     int          `json:"line,omitempty"`
	Kind     ResultKind   `json:"kind"`
	Verdict  Verdict      `json:"verdict"`
	Why      string       `json:"why"` // the verdict in a sentence
	Measured *Measured    `json:"measured,omitempty"`
	Expected *Expected    `json:"expected,omitempty"`
	Bound    *Bound       `json:"bound,omitempty"`
	Rows     []RowVerdict `json:"rows,omitempty"`
	Notes    []Evidence   `json:"notes,omitempty"` // remarks on the result itself: misprints, gaps, cliffs
	Causes   []Cause      `json:"causes"`          // most likely first
	Next     string       `json:"next,omitempty"`  // what leads to a verdict where there is none
	Steps    []Step       `json:"steps,omitempty"` // measurements that tell the causes apart, the best first
	Other    float64      `json:"other,omitempty"` // probability that it is none of the causes
	Repair   *Repair      `json:"repair,omitempty"`
	Assumed  []Assumption `json:"assumptions,omitempty"`
}

// Measured is the figure by which a result is judged.
type Measured struct {
	BusBW  float64 `json:"busbw_gbs,omitempty"`
	Gbps   float64 `json:"gbps,omitempty"` // of perftest
	US     float64 `json:"us,omitempty"`   // of a latency test
	Size   int64   `json:"size,omitempty"`
	NICGBs float64 `json:"nic_gbs,omitempty"`
	// NICLine is the line rate of that NIC, GB/s one way, so that a reader sees how much of it is used.
	NICLine float64 `json:"nic_line_gbs,omitempty"`
}

// Expected is what the figure should be.
type Expected struct {
	BusBW float64 `json:"busbw_gbs,omitempty"`
	Gbps  float64 `json:"gbps,omitempty"`
	US    float64 `json:"us,omitempty"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// RowVerdict is a row against what was expected of it.
type RowVerdict struct {
	Size     int64   `json:"size"`
	BusBW    float64 `json:"busbw_gbs"`
	Expected float64 `json:"expected_gbs"`
	Low      float64 `json:"low"`
	High     float64 `json:"high"`
	Bound    float64 `json:"bound_gbs"`
}

// Status is the worst verdict; nothing explained is Unknown.
func (x *Explanation) Status() Status {
	status := Unknown
	for i, r := range x.Results {
		if i == 0 {
			status = r.Verdict.Status()
			continue
		}
		status = worst(status, r.Verdict.Status())
	}
	return status
}

// Step is a measurement that would tell causes apart.
type Step struct {
	ID      string  `json:"id"`
	Command string  `json:"command"`
	Minutes float64 `json:"minutes"` // what it costs a person
	Bits    float64 `json:"bits"`    // information that it is expected to give on the causes
	Tells   string  `json:"tells"`   // what its outcomes mean
}

// Gain is what would be measured if one or more causes were fixed and all else stayed, bus bandwidth in GB/s.
type Gain struct {
	From float64 `json:"from_gbs"`
	To   float64 `json:"to_gbs,omitempty"` // most likely; 0: no number can be given, Why says for what reason
	Low  float64 `json:"low_gbs,omitempty"`
	High float64 `json:"high_gbs,omitempty"`
	Why  string  `json:"why"` // from which prediction or formula
}

// Repair is the smallest set of causes that together explain all of a loss.
type Repair struct {
	Causes      []CauseID `json:"causes,omitempty"`
	Gain        *Gain     `json:"gain,omitempty"` // of all of them together
	Undecidable string    `json:"undecidable,omitempty"`
}
