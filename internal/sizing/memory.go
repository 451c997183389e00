package sizing

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// driverMemory is the part of a GPU's memory that programs can use. Tools of the driver and CUDA report different figures.
type driverMemory struct {
	smi   float64 // MiB that nvidia-smi or rocm-smi shows: SGLang's default fraction is computed from it
	total float64 // GiB that CUDA or HIP shows: vLLM's utilisation is a share of it
	free  float64 // GiB free in an idle system where memory is shared with the CPU; 0: total
}

// driverMemoryOf returns the figures of a GPU. Where none was measured, CUDA shows 0.6 % less than nvidia-smi, as on the
// H100 (0.59 %), H200 (0.43 %) and B200 (0.40 %).
func driverMemoryOf(m Machine) driverMemory {
	shown := float64(m.GPU.MemoryBytes)
	if m.CUDAGiB > 0 {
		return driverMemory{shown / mib, m.CUDAGiB, m.IdleGiB}
	}
	if m.Vendor == "amd" || m.GPU.Unified {
		return driverMemory{shown / mib, shown / gib, 0} // rocm-smi and HIP show the same
	}
	return driverMemory{shown / mib, shown / gib * 0.994, 0}
}

// blackwell reports whether the GPU is of that generation.
func (m Machine) blackwell() bool {
	switch m.Arch {
	case "sm_100", "sm_103", "sm_120", "sm_121":
		return true
	}
	return false
}

// contextGiB is the CUDA context with the modules of PyTorch and of the engine: 79.18 GiB less what VCF's log of
// SGLang has before load and for communicators, 76.88 and 1.75; on an H200 139.80 less 137.29 and 1.96.
const contextGiB = 0.55

// contextAMDGiB is the same of HIP; assumed, no log separates it from RCCL.
const contextAMDGiB = 1.0

// budget is how the memory of the heaviest rank is divided. Bytes.
type budget struct {
	fraction      float64
	total         int64 // what the driver shows
	reserved      int64 // of that nothing can allocate: the driver's share, on unified memory the system's
	context       int64 // of the CUDA or HIP context and its modules
	communicators int64
	before        int64 // free before the weights are read
	weights       int64
	allocator     int64 // rounding of the weights' allocations
	extras        int64
	kv            int64 // of the pool that is allocated
	state         int64 // of linear attention
	requestPool   int64 // request table
	graphs        int64
	activation    int64
	slack         int64 // the rest; below zero: so much is missing
	tokens        int64 // as printed
	capacity      int64 // tokens of full attention that the pool holds: the same but where an engine prints otherwise
	longest       int64 // request that the pool holds alone, tokens
	requests      float64
	running       int64
	perToken      float64 // bytes per token and rank
	graphBS       int64
	notes         []string // what bounds it
	formula       map[string]string
	prints        []fabric.EnginePrint
	low, high     float64 // range of the fraction
	advised       float64
	effect        string // what the fraction costs against the advised one
	refused       string // why the engine would not start
}

// newBudget fills what is taken before the weights are read, and what is free then.
func newBudget(s setting, commGiB float64) budget {
	d := driverMemoryOf(s.Machine)
	out := budget{
		total:         s.Machine.GPU.MemoryBytes,
		context:       toBytes(contextGiB),
		communicators: toBytes(commGiB),
		formula:       map[string]string{},
	}
	if s.Machine.Vendor == "amd" {
		out.context = toBytes(contextAMDGiB)
	}
	usable := d.total
	if d.free > 0 {
		usable = d.free + contextGiB // what is free at boot is so before any context
		out.formula["reserved"] = fmt.Sprintf("shown %.2f GiB - free at boot %.1f GiB: the system and its page cache", inGiB(out.total), d.free)
	}
	// A figure in the catalog may be CUDA's own, below nvidia-smi's.
	out.reserved = max(0, out.total-toBytes(usable))
	out.before = min(out.total, toBytes(usable)) - out.context - out.communicators
	return out
}

// load adds the weights of the heaviest stage.
func (d *budget) load(sh Shard) {
	d.weights = sh.Weights
	d.extras = sh.Total() - sh.Weights
}

// heaviest is the stage that holds most.
func heaviest(stages []Shard) int {
	at := 0
	for i, s := range stages {
		if s.Total() > stages[at].Total() {
			at = i
		}
	}
	return at
}

// bytesPerToken is what a token takes on a rank of these layers. Full and windowed layers separately.
func bytesPerToken(s setting, first, end int) (full, windowed float64) {
	for _, l := range s.Model.Layers[first:end] {
		b := l.Attention.PerToken(int64(s.Spread.Attention), s.KVDType)
		if l.Attention.Window > 0 {
			windowed += b
		} else {
			full += b
		}
	}
	return full, windowed
}

// stateOf is the state of one request on a rank of these layers.
func stateOf(s setting, first, end int) (bytes float64) {
	for _, l := range s.Model.Layers[first:end] {
		bytes += l.Attention.StatePerRequest(int64(s.Spread.Attention))
	}
	return bytes
}

// widestWindow is the widest window of the layers.
func widestWindow(m *llm.Model) (w int64) {
	for _, l := range m.Layers {
		w = max(w, l.Attention.Window)
	}
	return w
}

// ledger lists the parts of a GPU's memory: they sum to it exactly, what is left over is slack.
func (d budget) ledger(s setting, sh Shard) []fabric.LedgerEntry {
	var out []fabric.LedgerEntry
	left := d.total
	add := func(name, class string, bytes int64, formula, certainty string) {
		if bytes == 0 {
			return
		}
		if f, ok := d.formula[name]; ok {
			formula = f
		}
		out = append(out, fabric.LedgerEntry{Name: name, Class: class, Bytes: bytes, Formula: formula, Certainty: certainty})
		left -= bytes
	}
	reserved := certaintyMeasured
	if s.Machine.CUDAGiB <= 0 {
		reserved = certaintyAssumed // as on other GPUs
	}
	add("reserved", "", d.reserved, "shown by the driver - total of CUDA", reserved)
	add("context", "", d.context, "CUDA context and modules", certaintyMeasured)
	add("communicators", "", d.communicators, "NCCL and custom all-reduce", certaintyMeasured)
	for _, c := range sh.Classes {
		add("weights", string(c.Class), c.Bytes, c.Formula, string(s.Model.Certainty))
	}
	for _, x := range sh.Extras {
		add("weights", x.Name, x.Bytes, x.Formula, x.Certainty)
	}
	add("allocator", "", d.allocator, "tensors of 10 MiB and more rounded up to 2 MiB, the rest to segments of 20 MiB", string(llm.FromFormula))
	add("kv", "", d.kv, "", string(llm.FromFormula))
	add("state", "", d.state, "", string(llm.FromFormula))
	add("request_pool", "", d.requestPool, "", string(llm.FromFormula))
	add("graphs", "", d.graphs, "", certaintyMeasured)
	add("activations", "", d.activation, "", certaintyAssumed)
	slack := fabric.LedgerEntry{Name: "slack", Bytes: left, Certainty: string(llm.FromFormula), Formula: "what is left"}
	if left < 0 {
		slack.Formula = "shortfall"
	}
	return append(out, slack)
}

// The certainties of a ledger entry beside those of a Model.
const (
	certaintyMeasured = "measured" // on other machines, see its formula
	certaintyAssumed  = "assumed"
)

// floorHundredth rounds down to hundredths, as fractions are written.
func floorHundredth(f float64) float64 { return math.Floor(f*100+1e-9) / 100 }

func ceilHundredth(f float64) float64 { return math.Ceil(f*100-1e-9) / 100 }
