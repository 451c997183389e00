package fabric

// BenchKind is what a performance test measures.
type BenchKind string

// The kinds of test.
const (
	TwinBandwidth BenchKind = "twin-bandwidth" // RDMA writes through one twin of a port, alone
	TwinLatency   BenchKind = "twin-latency"   // likewise, of small ones
	PortBandwidth BenchKind = "port-bandwidth" // through all twins of a port at once
	LibraryFits   BenchKind = "nccl-version"   // which NCCL a process loads, and whether it can do this wiring
	GatherAll     BenchKind = "all-gather"     // an all-gather of all machines
)

// BenchTest is a test, as it can be run by hand.
type BenchTest struct {
	ID       string         `json:"id"`
	Suite    string         `json:"suite"` // perftest, nccl
	Kind     BenchKind      `json:"kind"`
	Title    string         `json:"title"`
	Links    []Link         `json:"links,omitempty"` // what it goes over, one for each twin: A writes to B
	Nodes    []string       `json:"nodes"`
	Commands []BenchCommand `json:"commands"` // in the order in which they are started
}

// BenchCommand is a command of a test.
type BenchCommand struct {
	Node string   `json:"node"`
	Env  []string `json:"env,omitempty"` // NAME=VALUE
	Argv []string `json:"argv"`
	Wait bool     `json:"server,omitempty"` // it waits for the next ones
}

// BenchResult is what a test found.
type BenchResult struct {
	BenchTest
	Read    []Result       `json:"read,omitempty"`    // what its output says
	Libs    []NCCLLibrary  `json:"nccl,omitempty"`    // which NCCL each node loads
	PCIe    []TrainedLink  `json:"pcie,omitempty"`    // of both ends of each link
	Missing []Missing      `json:"missing,omitempty"` // what could not be run or read, and why
	Seconds float64        `json:"seconds"`
	Verdict BenchVerdict   `json:"verdict"`
	Output  []BenchPrinted `json:"-"` // as printed; a run folder has them as files
}

// BenchPrinted is the output of a command.
type BenchPrinted struct {
	Node, Text string
}

// TrainedLink is the PCIe link of a function as the kernel reads it.
type TrainedLink struct {
	At    Endpoint `json:"at"`
	PCI   string   `json:"pci"`
	GTs   float64  `json:"gts"`   // GT/s
	Width int      `json:"width"` // lanes
}

// NCCLLibrary is the NCCL that a program loads.
type NCCLLibrary struct {
	Node    string `json:"node"`
	Program string `json:"program"` // all_gather_perf
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // empty: not found in it
	Subnets bool   `json:"subnets"`           // it knows NCCL_IB_SUBNET_AWARE_ROUTING
	NoTrees bool   `json:"no_trees"`          // it was changed to connect no trees
}

// BenchVerdict is what a test means.
type BenchVerdict struct {
	Status   Status     `json:"status"`
	Cause    CauseID    `json:"cause,omitempty"`
	Measured string     `json:"measured,omitempty"` // with its unit
	Expected string     `json:"expected,omitempty"` // the band, and its formula
	Value    *float64   `json:"value,omitempty"`    // Gb/s, microseconds or GB/s, as Measured
	Low      *float64   `json:"low,omitempty"`
	High     *float64   `json:"high,omitempty"`
	Bound    *float64   `json:"bound,omitempty"`
	Element  string     `json:"element,omitempty"` // what sets the bound
	Why      string     `json:"why,omitempty"`
	Fix      string     `json:"fix,omitempty"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Bench is what the performance tests of a cluster found.
type Bench struct {
	Meta
	Cluster string        `json:"cluster"`
	Tests   []BenchResult `json:"tests"`
	Summary Summary       `json:"summary"`
}
