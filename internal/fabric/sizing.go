package fabric

import (
	"fmt"
	"strings"
)

// Sizing is what a language model needs on given machines: layouts that an engine takes, what they hold and how
// fast they are. Bytes are bytes, not GB or GiB; bandwidths are GB/s of 1e9 bytes.
type Sizing struct {
	Meta
	Model           string         `json:"model"`                   // as given
	ModelPath       string         `json:"model_path,omitempty"`    // that an engine is given: a repository, a folder; empty: unknown
	ModelAssumed    string         `json:"model_assumed,omitempty"` // what was assumed of the name: "architecture and context of deepseek-ai/DeepSeek-R1"
	Machine         string         `json:"machine"`                 // id in the catalog, or the GPU figures in words
	Engine          SizingEngine   `json:"engine"`
	Parameters      Parameters     `json:"parameters"`
	DiskBytes       int64          `json:"disk_bytes"`         // of all weight files
	WeightsBytes    int64          `json:"weights_bytes"`      // of what an engine loads, once
	KVBytesPerToken int64          `json:"kv_bytes_per_token"` // of all layers at tp 1
	KVDType         string         `json:"kv_dtype"`           // bf16, fp8, fp4, ...
	StateBytes      int64          `json:"state_bytes_per_request,omitempty"`
	Certainty       string         `json:"certainty"` // of the weights: headers, index, formula
	Context         int64          `json:"context"`   // tokens of one request that were asked for
	ModelContext    int64          `json:"model_context"`
	Concurrency     int            `json:"concurrency"` // requests at the same time that were asked for
	GPU             SizingGPU      `json:"gpu"`
	Plans           []SizingPlan   `json:"plans"`   // best first
	Refused         []Refused      `json:"refused"` // smallest first
	Storage         *SizingStorage `json:"storage,omitempty"`
	Assumptions     []Assumption   `json:"assumptions,omitempty"`
	Derivation      []Derivation   `json:"derivation,omitempty"` // of --explain
}

// SizingEngine is the program that serves the model.
type SizingEngine struct {
	Name    string `json:"name"`    // sglang, vllm
	Version string `json:"version"` // whose rules were used
}

// Parameters counts weights.
type Parameters struct {
	Total  int64 `json:"total"`  // of the language model, without MTP and vision
	Active int64 `json:"active"` // that one token uses
	MTP    int64 `json:"mtp"`
	Vision int64 `json:"vision"`
}

// SizingGPU is the GPU that the ledger is of.
type SizingGPU struct {
	Name         string  `json:"name"`
	MemoryBytes  int64   `json:"memory_bytes"`  // that the driver shows
	BandwidthGBs float64 `json:"bandwidth_gbs"` // of its memory
	TFLOPS       float64 `json:"tflops"`        // dense bf16
	TFLOPSFP8    float64 `json:"tflops_fp8,omitempty"`
	TFLOPSFP4    float64 `json:"tflops_fp4,omitempty"`
	LinkGBs      float64 `json:"link_gbs,omitempty"` // of scale-up, one way; 0: none
	Unified      bool    `json:"unified,omitempty"`  // shared with the CPU
	Source       string  `json:"source"`
}

// SizingPlan is one layout.
type SizingPlan struct {
	Nodes       int     `json:"nodes"`
	GPUs        int     `json:"gpus"` // of one replica, all nodes together
	TP          int     `json:"tp"`
	PP          int     `json:"pp"`
	EP          int     `json:"ep"` // 1: experts are divided as the rest is
	DP          int     `json:"dp"` // attention replicas inside tp; 1: none
	Role        string  `json:"role,omitempty"`
	MemFraction float64 `json:"mem_fraction"` // --mem-fraction-static or --gpu-memory-utilization of this plan
	// Fraction is the range of that value.
	Fraction           Fraction      `json:"fraction"`
	WeightsBytesPerGPU int64         `json:"weights_bytes_per_gpu"` // of the heaviest rank
	KVBytesPerToken    float64       `json:"kv_bytes_per_token_per_gpu"`
	KVTokens           int64         `json:"kv_tokens"` // as the engine prints them, of one attention replica
	MaxContext         int64         `json:"max_context"`
	Requests           float64       `json:"full_requests"` // of the asked context that the KV cache holds at once, all attention replicas together
	MaxRunning         int64         `json:"max_running_requests,omitempty"`
	FreeBytes          int64         `json:"free_bytes"` // after graphs, before the first request
	Fits               bool          `json:"fits"`
	Limits             []string      `json:"limits"`           // what prevents or limits it
	Ledger             []LedgerEntry `json:"ledger,omitempty"` // of the heaviest rank; sums to the memory of the GPU
	Flags              []string      `json:"flags,omitempty"`  // to pass to the engine, on every server
	Start              []SizingStart `json:"start,omitempty"`  // commands that start it, in order
	Prints             []EnginePrint `json:"prints,omitempty"` // what the engine will print at its start
	Performance        []Performance `json:"performance,omitempty"`
}

// SizingStart is a command that starts an engine on some of the servers of a plan.
type SizingStart struct {
	On    string   `json:"on,omitempty"` // which servers run it, and what its variables are; empty: the one server
	Words []string `json:"words"`        // for a shell, quoted; a flag and its value are one word
}

// Layout is how one replica of a model is spread over GPUs. What does not divide anything is 1.
type Layout struct {
	Nodes int
	GPUs  int // of the replica, all nodes together
	TP    int // tensor parallel ranks
	PP    int // pipeline stages
	EP    int // expert parallel ranks; 1: experts are divided by TP as the rest is
	DP    int // replicas of attention: inside TP with SGLang, beside it with vLLM
}

// String is the layout as people write it: "tp 16 ep 16".
func (l Layout) String() string {
	parts := []string{fmt.Sprintf("tp %d", l.TP)}
	for _, p := range []struct {
		name string
		n    int
	}{{"pp", l.PP}, {"ep", l.EP}, {"dp", l.DP}} {
		if p.n > 1 {
			parts = append(parts, fmt.Sprintf("%s %d", p.name, p.n))
		}
	}
	return strings.Join(parts, " ")
}

// The roles of a plan. A plan without one was requested, or is an alternative.
const (
	RoleSmallest = "smallest"
	RoleBest     = "best"
)

// Fraction is the range of an engine's memory fraction.
type Fraction struct {
	Default     float64 `json:"default"`     // the engine's own
	Recommended float64 `json:"recommended"` // leaves what the engine's documents advise
	Low         float64 `json:"low"`         // below: weights and one request do not fit
	High        float64 `json:"high"`        // above: graphs and activations do not
	Effect      string  `json:"effect,omitempty"`
}

// LedgerEntry is one part of a GPU's memory.
type LedgerEntry struct {
	Name      string `json:"name"`            // weights, kv, request_pool, graphs, activations, runtime, slack, ...
	Class     string `json:"class,omitempty"` // of weights
	Bytes     int64  `json:"bytes"`           // of slack below zero: so much is missing
	Formula   string `json:"formula"`
	Numbers   string `json:"numbers,omitempty"` // the formula with the numbers in it; empty where Formula has them
	Source    string `json:"source,omitempty"`  // config field, engine file and version, catalog
	Certainty string `json:"certainty"`         // headers, index, formula, measured, assumed
}

// EnginePrint is a figure that the engine prints at its start.
type EnginePrint struct {
	What  string  `json:"what"` // mem usage, #tokens, max_running_requests, available_gpu_mem, ...
	Value float64 `json:"value"`
	Unit  string  `json:"unit"` // GiB as engines count, though they print GB; tokens, requests, ratio
}

// Performance is how fast a plan serves a workload.
type Performance struct {
	Workload    string     `json:"workload"`
	Input       int        `json:"input_tokens"`
	Output      int        `json:"output_tokens"`
	Concurrency int        `json:"concurrency"`
	Running     float64    `json:"running"` // of these that the KV cache holds at once
	TokensS     float64    `json:"tokens_s"`
	Band        [2]float64 `json:"tokens_s_band"`
	TPOTms      float64    `json:"tpot_ms"`
	TTFTms      [2]float64 `json:"ttft_ms"` // band
	Limit       string     `json:"limit"`   // memory bandwidth, compute, network, KV cache, launch
	Network     string     `json:"network,omitempty"`
}

// Refused is a layout that the engine would not take, or that does not hold what was asked for.
type Refused struct {
	Nodes   int      `json:"nodes"`
	GPUs    int      `json:"gpus"`
	Layout  string   `json:"layout"` // "tp 10"
	TP      int      `json:"tp"`
	PP      int      `json:"pp"`
	EP      int      `json:"ep"`
	DP      int      `json:"dp"`
	Rule    string   `json:"rule"`    // id of the first rule
	Reason  string   `json:"reason"`  // with the numbers
	Reasons []string `json:"reasons"` // of all rules that it breaks
	Assert  string   `json:"assert,omitempty"`
	Nearest []string `json:"nearest,omitempty"` // layouts that work
}

// SizingStorage is the storage and address space that the model needs.
type SizingStorage struct {
	DownloadBytes   int64         `json:"download_bytes"`         // with the filter
	RepositoryBytes int64         `json:"repository_bytes"`       // without it
	Filter          []string      `json:"filter"`                 // patterns of files to download
	Left            []string      `json:"left_out,omitempty"`     // what the filter leaves out and why
	PVCBytes        int64         `json:"pvc_bytes"`              // of one copy
	AccessMode      string        `json:"access_mode"`            // ReadWriteOnce, ReadWriteMany
	Copies          int           `json:"copies"`                 // with that access mode
	Loads           []StorageLoad `json:"loads"`                  // by speed of the storage
	MMIOBytes       int64         `json:"mmio_bytes,omitempty"`   // pciPassthru.64bitMMIOSizeGB of a VM with one node's devices
	MMIOFormula     string        `json:"mmio_formula,omitempty"` //
	GroupSize       int           `json:"lws_size,omitempty"`     // LeaderWorkerSet: pods of one replica
	Notes           []string      `json:"notes,omitempty"`        // unified memory, smallest domain, ...
	Domain          []string      `json:"domain,omitempty"`       // smallest workload domain, line by line
	ExplainedLoads  []string      `json:"explained_loads,omitempty"`
}

// StorageLoad is the time that weights take from a storage.
type StorageLoad struct {
	Storage string  `json:"storage"`
	GBs     float64 `json:"gbs"` // GB/s that a node reads
	Seconds float64 `json:"seconds"`
	Formula string  `json:"formula,omitempty"`
}

// Derivation is a step that can be followed with a pocket calculator.
type Derivation struct {
	Part    string `json:"part,omitempty"` // heading over the steps from here on: parameters, weights, KV cache, tokens, servers
	Title   string `json:"title"`
	Formula string `json:"formula"`
	Numbers string `json:"numbers"` // the formula with the numbers in it
	Result  string `json:"result"`
	Source  string `json:"source,omitempty"`
}

// Status is Pass where a plan fits, Fail where none does; without any layout it is Unknown.
func (s *Sizing) Status() Status {
	for _, p := range s.Plans {
		if p.Fits {
			return Pass
		}
	}
	if len(s.Plans)+len(s.Refused) == 0 {
		return Unknown
	}
	return Fail
}
