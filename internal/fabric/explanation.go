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
