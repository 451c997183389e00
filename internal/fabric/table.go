package fabric

// Table is one measured curve of a collective: of nccl-tests, rccl-tests, the OSU benchmarks or a table file.
type Table struct {
	ID         string            `json:"id,omitempty"`
	Source     string            `json:"source,omitempty"`
	Collective Collective        `json:"collective"`
	Ranks      int               `json:"ranks,omitempty"` // 0: not in the file
	Nodes      int               `json:"nodes,omitempty"` // different hosts of the banner; 0: not all of its ranks were read
	Hardware   *Hardware         `json:"hw,omitempty"`    // of a table file
	Config     map[string]string `json:"config,omitempty"`
	// Replaced are the values of settings that a later line before the table replaced, by their names, in their order.
	Replaced   map[string][]string `json:"replaced,omitempty"`
	Health     string              `json:"health,omitempty"` // of a table file: healthy, sick, suspect, noisy
	Symptom    string              `json:"symptom,omitempty"`
	Devices    []RankDevice        `json:"devices,omitempty"` // the banner, one per rank
	Processes  int                 `json:"processes,omitempty"`
	Version    string              `json:"version,omitempty"` // of the test program
	Library    string              `json:"library,omitempty"` // NCCL or RCCL and its version
	Checked    bool                `json:"checked,omitempty"` // results were compared with what they should be
	Rows       []Row               `json:"rows"`
	Average    *float64            `json:"avg_busbw_footer,omitempty"` // GB/s, as the footer prints it
	OutOfBound *int                `json:"out_of_bounds,omitempty"`    // as the footer prints it
	Complete   bool                `json:"complete,omitempty"`         // the footer is there: nothing was cut off
	Copies     int                 `json:"copies,omitempty"`           // the same banner this many times: built without MPI
	Unread     []Unread            `json:"unread,omitempty"`           // lines in the table that are not rows
}

// RankDevice is a line of the banner: where a rank ran.
type RankDevice struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host,omitempty"`
	PID    int    `json:"pid,omitempty"`
	Device int    `json:"device"`        // of the process, CUDA's or HIP's number
	Bus    string `json:"bus,omitempty"` // PCI address, as far as it is printed
	Name   string `json:"name,omitempty"`
}

// Row is one size. A number that the table does not give (N/A, a column that is missing, a cell that could
// not be read) is nil.
type Row struct {
	Line    int      `json:"line,omitempty"` // in the file, from 1
	Size    int64    `json:"size"`           // bytes, as the test counts them
	Count   *int64   `json:"count,omitempty"`
	Type    string   `json:"type,omitempty"`  // float, uint8, ...
	RedOp   string   `json:"redop,omitempty"` // sum, ...
	TimeUS  *float64 `json:"time_us,omitempty"`
	AlgBW   *float64 `json:"algbw,omitempty"` // GB/s
	BusBW   *float64 `json:"busbw,omitempty"` // GB/s
	Wrong   *int64   `json:"wrong,omitempty"`
	InPlace *InPlace `json:"in_place,omitempty"`
}

// InPlace is the second half of a row.
type InPlace struct {
	TimeUS *float64 `json:"time_us,omitempty"`
	AlgBW  *float64 `json:"algbw,omitempty"`
	BusBW  *float64 `json:"busbw,omitempty"`
	Wrong  *int64   `json:"wrong,omitempty"`
}

// Unread is a line that should have been read and could not be.
type Unread struct {
	Line    int    `json:"line"`
	Text    string `json:"text"`
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"` // id in the catalogue of messages, where the text is one
}
