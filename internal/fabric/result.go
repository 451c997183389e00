package fabric

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// ResultKind is the program or file format of a result.
type ResultKind string

// The kinds of result that can be read.
const (
	NCCLTests       ResultKind = "nccl-tests" // and rccl-tests
	TableFile       ResultKind = "table"
	OSU             ResultKind = "osu"
	PerftestOutput  ResultKind = "perftest"
	NCCLDebugLog    ResultKind = "nccl-log" // and RCCL's
	ObservationFile ResultKind = "observations"
	NotesText       ResultKind = "notes" // numbers in sentences and tables of people
)

// PlainText is a file or a folder without a result. It stands in an Explanation only.
const PlainText ResultKind = "text"

// ResultContent is what a result holds. It is closed: its types are those that ResultKinds lists.
type ResultContent interface{ resultContent() }

func (*Table) resultContent()        {}
func (*Perftest) resultContent()     {}
func (*NCCLLog) resultContent()      {}
func (*Observations) resultContent() {}

// ResultForm is how a kind of result is saved.
type ResultForm struct {
	Kind  ResultKind
	Field string               // of the JSON object that holds the content
	Empty func() ResultContent // to read into
}

// ResultKinds lists every kind of result. A new kind is its type and a line here.
func ResultKinds() []ResultForm {
	table := func() ResultContent { return &Table{} }
	return []ResultForm{
		{NCCLTests, "table", table},
		{TableFile, "table", table},
		{OSU, "table", table},
		{PerftestOutput, "perftest", func() ResultContent { return &Perftest{} }},
		{NCCLDebugLog, "log", func() ResultContent { return &NCCLLog{} }},
		{ObservationFile, "observations", func() ResultContent { return &Observations{} }},
		{NotesText, "notes", func() ResultContent { return &Notes{} }},
	}
}

// Result is one result found in a file. Its JSON is an object with file, line, kind, and the content in the field
// that its kind names.
type Result struct {
	File    string
	Line    int // where it begins, from 1
	Kind    ResultKind
	Content ResultContent
}

type resultHead struct {
	File string     `json:"file"`
	Line int        `json:"line,omitempty"`
	Kind ResultKind `json:"kind"`
}

// form is how results of a kind are saved; an unknown kind is an error.
func (k ResultKind) form() (ResultForm, error) {
	var known []string
	for _, f := range ResultKinds() {
		if f.Kind == k {
			return f, nil
		}
		known = append(known, string(f.Kind))
	}
	return ResultForm{}, fmt.Errorf("result kind %q: unknown; known: %s", k, strings.Join(known, ", "))
}

// MarshalJSON writes the content into the field of its kind.
func (r Result) MarshalJSON() ([]byte, error) {
	form, err := r.Kind.form()
	if err != nil {
		return nil, err
	}
	head, err := json.Marshal(resultHead{r.File, r.Line, r.Kind})
	if err != nil {
		return nil, err
	}
	content, err := json.Marshal(r.Content)
	if err != nil {
		return nil, err
	}
	return slices.Concat(head[:len(head)-1], []byte(`,"`+form.Field+`":`), content, []byte("}")), nil
}

// UnmarshalJSON reads what MarshalJSON wrote. A result without the content of its kind is an error.
func (r *Result) UnmarshalJSON(text []byte) error {
	var head resultHead
	if err := json.Unmarshal(text, &head); err != nil {
		return err
	}
	form, err := head.Kind.form()
	if err != nil {
		return err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(text, &fields); err != nil {
		return err
	}
	if content := fields[form.Field]; content == nil || string(content) == "null" {
		return fmt.Errorf("result of kind %q: field %q is missing", head.Kind, form.Field)
	}
	*r = Result{head.File, head.Line, head.Kind, form.Empty()}
	return json.Unmarshal(fields[form.Field], r.Content)
}

// Perftest is one run of ib_write_bw and its related tests.
type Perftest struct {
	Test          string        `json:"test"` // ib_write_bw, ib_read_lat, ...
	Bidirectional bool          `json:"bidirectional,omitempty"`
	Memory        string        `json:"memory,omitempty"` // host, cuda, rocm; empty: the output does not say
	Device        string        `json:"device,omitempty"` // mlx5_0
	MTU           int           `json:"mtu,omitempty"`    // path MTU, bytes
	LinkType      string        `json:"link_type,omitempty"`
	GIDIndex      *int          `json:"gid_index,omitempty"`
	IPv4GIDs      int           `json:"ipv4_gids,omitempty"` // ends that printed a GID with an IPv4 address in it, at most 2
	QueuePairs    int           `json:"qps,omitempty"`
	ConnectionCM  *bool         `json:"rdma_cm,omitempty"` // the handshake went over rdma_cm
	Gbits         bool          `json:"gbits,omitempty"`   // the table is in Gb/s, else MB/s or MiB/s as printed
	Rows          []PerftestRow `json:"rows"`
	Errors        []LogLine     `json:"errors,omitempty"`
	Unread        []Unread      `json:"unread,omitempty"`
}

// PerftestRow is one size of a bandwidth or of a latency test. Bandwidths are Gb/s whatever was printed.
type PerftestRow struct {
	Line        int      `json:"line,omitempty"`
	Bytes       int64    `json:"bytes"`
	Iterations  int64    `json:"iterations,omitempty"`
	PeakGbps    *float64 `json:"peak_gbps,omitempty"`
	AverageGbps *float64 `json:"average_gbps,omitempty"`
	MsgRateMpps *float64 `json:"msg_rate_mpps,omitempty"` // million messages per second
	MinUS       *float64 `json:"min_us,omitempty"`
	MaxUS       *float64 `json:"max_us,omitempty"`
	TypicalUS   *float64 `json:"typical_us,omitempty"`
	AverageUS   *float64 `json:"average_us,omitempty"`
	P99US       *float64 `json:"p99_us,omitempty"`
}

// LogLine is a relevant line of a log.
type LogLine struct {
	Line    int       `json:"line,omitempty"`
	Text    string    `json:"text"`
	Level   LineLevel `json:"level,omitempty"`
	Message string    `json:"message,omitempty"` // id in the catalogue of messages: nccl/ib-completion; empty: none is known
	Host    string    `json:"host,omitempty"`    // the first that printed it
	Rank    *int      `json:"rank,omitempty"`    // the first that printed it
	Count   int       `json:"count,omitempty"`   // how many lines are the same message of the same host
}

// LogHost is what one host of a log chose, so that hosts can be compared.
type LogHost struct {
	Host    string            `json:"host"`
	Library string            `json:"library,omitempty"` // version
	Net     string            `json:"net,omitempty"`
	Plugin  string            `json:"plugin,omitempty"` // of the network, as loaded; "internal": none
	HCAs    []string          `json:"hcas,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	Direct  int               `json:"gdr_sends,omitempty"`   // connections over the network with GDRDMA that this host reports
	Bounced int               `json:"other_sends,omitempty"` // and without
}

// LineLevel is what a line says of the run. The zero value is a line that speaks of no fault.
type LineLevel string

// The levels of a line. Beside none of them is a run healthy.
const (
	LineSuspect LineLevel = "suspect" // speaks of trouble in no form of a known program
	LineWarning LineLevel = "warning" // a warning of a library or driver
	LineError   LineLevel = "error"   // a program names its failure
)

// NCCLLog is the content of a debug log of NCCL or RCCL, of all ranks that wrote to it, and what the programs around
// the library printed of faults: launchers, frameworks, kernels.
type NCCLLog struct {
	Library     string            `json:"library,omitempty"`   // NCCL, RCCL
	Version     string            `json:"version,omitempty"`   // 2.28.9+cuda13.0
	Bootstrap   string            `json:"bootstrap,omitempty"` // interface of the rendezvous
	Net         string            `json:"net,omitempty"`       // IB, Socket, AWS Libfabric, ...: the plugin in use
	HCAs        []string          `json:"hcas,omitempty"`      // as NET/IB lists them: mlx5_0:1/RoCE
	Hosts       []string          `json:"hosts,omitempty"`
	ByHost      []LogHost         `json:"by_host,omitempty"` // sorted by host; nothing where no line names its host
	Ranks       int               `json:"ranks,omitempty"`
	Nodes       int               `json:"nodes,omitempty"`
	Ready       bool              `json:"ready,omitempty"` // a communicator was completed
	GPUs        []LogGPU          `json:"gpus,omitempty"`
	Channels    int               `json:"channels,omitempty"` // of collectives
	NVLS        int               `json:"nvls_channels,omitempty"`
	Connections []LogConnection   `json:"connections,omitempty"` // over the network, counted by kind
	Env         map[string]string `json:"env,omitempty"`         // set by environment
	Pasted      []string          `json:"pasted,omitempty"`      // names in Env that the library does not print: a script, a command or a manifest beside the log sets them
	Tuning      []TuningCell      `json:"tuning,omitempty"`
	Chosen      []TuningChoice    `json:"chosen,omitempty"`
	Paths       []LogLine         `json:"paths,omitempty"`  // of the System dump, as printed
	Graphs      []LogLine         `json:"graphs,omitempty"` // "Pattern ..." lines, as printed
	Lines       []LogLine         `json:"lines,omitempty"`  // warnings, errors, and what else rules look for; bounded
	Cut         bool              `json:"cut,omitempty"`    // there was more of Lines than is kept
}

// LogGPU is a rank of a log.
type LogGPU struct {
	Rank   int    `json:"rank"`
	Host   string `json:"host,omitempty"`
	Device int    `json:"device"`
	Bus    string `json:"bus,omitempty"` // as printed: e6000
}

// LogConnection counts the connections between ranks of one kind.
type LogConnection struct {
	Via   string `json:"via"`           // NET/IB, NET/Socket, P2P, SHM
	HCA   int    `json:"hca"`           // number of the device, -1 where there is none
	GDR   bool   `json:"gdr,omitempty"` // GDRDMA
	Proxy bool   `json:"shared,omitempty"`
	Count int    `json:"count"`
}

// TuningCell is one cell of the tuning table of a log: NCCL's own estimate of time and bandwidth.
type TuningCell struct {
	Collective Collective `json:"collective"`
	Algorithm  string     `json:"algorithm"` // Ring, Tree, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT
	Protocol   string     `json:"protocol"`  // LL, LL128, Simple
	LatencyUS  float64    `json:"latency_us"`
	GBs        float64    `json:"gbs"` // 0: switched off
}

// TuningChoice is a line of the log about the algorithm and protocol chosen for a size.
type TuningChoice struct {
	Collective Collective `json:"collective"`
	Size       int64      `json:"size"`
	Algorithm  string     `json:"algorithm"`
	Protocol   string     `json:"protocol"`
	Channels   int        `json:"channels"`
}

// Observations are notes of a person where there is no complete output.
type Observations struct {
	Hardware Hardware      `json:"cluster" yaml:"cluster"`
	Observed []Observation `json:"observed" yaml:"observed"`
}

// Observation is one entry: a test, a fact, a line of a log, a setting or a change.
type Observation struct {
	Line       int        `json:"line,omitempty" yaml:"-"`
	Test       string     `json:"test,omitempty" yaml:"test"` // nccl, perftest, tcp
	Collective Collective `json:"collective,omitempty" yaml:"collective"`
	Nodes      int        `json:"nodes,omitempty" yaml:"nodes"`
	Size       int64      `json:"size,omitempty" yaml:"size"`
	Algorithm  string     `json:"algorithm,omitempty" yaml:"algorithm"`
	Protocol   string     `json:"protocol,omitempty" yaml:"protocol"`
	Tool       string     `json:"tool,omitempty" yaml:"tool"`
	Memory     string     `json:"memory,omitempty" yaml:"memory"` // host, gpu
	BusBWGBs   *float64   `json:"busbw_gbs,omitempty" yaml:"busbw_gbs"`
	AlgBWGBs   *float64   `json:"algbw_gbs,omitempty" yaml:"algbw_gbs"`
	Gbps       *float64   `json:"gbps,omitempty" yaml:"gbps"`
	US         *float64   `json:"us,omitempty" yaml:"us"`
	Outcome    string     `json:"outcome,omitempty" yaml:"outcome"` // hang, error, ok
	Pair       []string   `json:"pair,omitempty" yaml:"pair"`       // two hosts
	Note       string     `json:"note,omitempty" yaml:"note"`
	Fact       string     `json:"fact,omitempty" yaml:"fact"`
	Log        string     `json:"log,omitempty" yaml:"log"`
	LogLevel   LineLevel  `json:"log_level,omitempty" yaml:"-"` // of the worst line of Log
	Messages   []LogLine  `json:"messages,omitempty" yaml:"-"`  // the lines of Log that speak of a fault, and those of Log and Fact whose message is known
	Setting    string     `json:"setting,omitempty" yaml:"setting"`
	Value      string     `json:"value,omitempty" yaml:"value"`
	Changed    string     `json:"changed,omitempty" yaml:"changed"`
}
