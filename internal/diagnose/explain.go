package diagnose

import (
	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/messages"
	"railwright.dev/railwright/internal/topology"
)

// Job is the collective of a measured curve, as a Predictor needs to know it.
type Job struct {
	Collective fabric.Collective
	Env        map[string]string     // of NCCL or RCCL, by their names
	Processes  int                   // per node; 0: unknown
	DType      string                // as nccl-tests prints it; empty is float
	Tuning     []fabric.TuningCell   // of a debug log
	Version    string                // of the library; empty: unknown
	Placement  *collective.Placement // of workers that have part of a machine; nil: whole machines
}

// Predictor gives what healthy machines would measure, one row per size in bytes. The prediction's Hardware is
// what it made of the hardware that it was given: a machine's name becomes its NICs and their rate.
type Predictor func(hw fabric.Hardware, job Job, sizes []int64) (*fabric.Prediction, error)

// Input is what is known beside the results.
type Input struct {
	Predict  Predictor       // nil: nothing can be said of what should be
	Machines Machines        // nil: nothing is known of names of GPUs
	Hardware fabric.Hardware // of flags or of a cluster file; what is set here wins over what a result says
	// Topology returns a machine of the catalog by its id; nil, or a nil machine: its tree is unknown.
	Topology func(machine string) *topology.Machine
	// WithPlugin returns the machines with a GPU, by its id, for which their cloud installs a network plugin of NCCL; nil:
	// none is known.
	WithPlugin func(gpu, plugin string) []string
	// Suppose returns the machines with so many of a GPU, by its id, each once with every fabric that it can have, the
	// vendor's own design first: only Machine and Net are set. nil: none is known.
	Suppose func(gpu string, perNode int) []fabric.Hardware
	// PodNICs is how many NICs each pod of the cluster file claims. 0: unknown.
	PodNICs int
	// PlannedNodes is how many nodes the cluster file has: a test may run on fewer. 0: there is none.
	PlannedNodes int
	Findings     []fabric.Finding    // of railwright check
	Env          map[string]string   // of the job, by their names, where no result says it
	Version      string              // of NCCL, where no result says it; empty: unknown
	Catalogue    *messages.Catalogue // of messages; nil: none is known
	Causes       *causes.Set         // what is known of causes
	PortGbps     float64             // of the slowest active port of the fabric that tools show; 0: unknown
	// Sharpness is the share of the logarithm of each likelihood ratio that counts; 0: the fitted one.
	Sharpness float64
}

// Explain judges each result, by itself, against what it should be, and in the light of the other results of
// the call: a slow table beside a log without GPUDirect RDMA is explained by the log. It never calls a result
// healthy whose numbers were not compared with what its hardware should give.
func Explain(results []fabric.Result, in Input) (*fabric.Explanation, error) {
	t, err := loadTable()
	if err != nil {
		return nil, err
	}
	results, noted := withNotes(results)
	observations, shared := make([]*observed, len(results)), newCall(foundBy(in.Findings))
	for i := range results {
		known := in
		known.Hardware = recognise(in.Hardware, noted[i])
		if known.Hardware.Nodes == 0 && known.PlannedNodes == 0 && results[i].Kind == fabric.NCCLDebugLog {
			known.Hardware.Nodes = nodesBeside(&results[i], results)
		}
		observations[i] = observe(&results[i], known, aroundOf(results, noted, i))
		observations[i].joins(shared, i)
		observations[i].empty = Empty(&results[i])
		observations[i].onlyFacts = observations[i].empty && len(in.Findings) > 0
		observations[i].rowsSeen, observations[i].whole, observations[i].ended = rowsBeside(&results[i], results)
	}
	shared.share(observations)
	out := &fabric.Explanation{Meta: fabric.NewMeta("Explanation"), Results: make([]fabric.Explained, 0, len(results))}
	for i, s := range observations {
		out.Results = append(out.Results, s.withOthers(observations, i).explain(in, t))
	}
	followTables(out.Results, observations)
	return out, nil
}

// nodesBeside is how many nodes the tables say that stand in the file of a log; 0: they do not, or differ.
func nodesBeside(r *fabric.Result, results []fabric.Result) int {
	nodes := 0
	for _, o := range results {
		t, ok := o.Content.(*fabric.Table)
		switch {
		case !ok || o.File != r.File || t.Nodes == 0:
		case nodes == 0 || nodes == t.Nodes:
			nodes = t.Nodes
		default:
			return 0
		}
	}
	return nodes
}

// rowsBeside is how many rows the tables have that stand in the file of a result, and whether one has its footer; ok is
// false where there is no table.
func rowsBeside(r *fabric.Result, results []fabric.Result) (rows int, ok, ended bool) {
	for _, o := range results {
		if t, table := o.Content.(*fabric.Table); table && o.File == r.File {
			rows, ok, ended = rows+len(t.Rows), true, ended || t.Complete
		}
	}
	return rows, ok, ended
}

// Empty reports whether a result is a log without content: it stands for outputs of tools.
func Empty(r *fabric.Result) bool {
	l, ok := r.Content.(*fabric.NCCLLog)
	return ok && len(l.Lines)+len(l.Hosts)+len(l.Env)+len(l.Connections)+l.Ranks == 0 && l.Net == ""
}

// followTables lets a log without fault share the verdict of the tables that the same run printed: into the same file,
// or of the call where it is the only log. A log by itself has no bandwidth to judge.
func followTables(out []fabric.Explained, observations []*observed) {
	logs := 0
	for _, s := range observations {
		if s.kind == fabric.NCCLDebugLog && !s.onlyFacts {
			logs++
		}
	}
	for i := range out {
		s := observations[i]
		open := out[i].Kind == fabric.NCCLDebugLog && out[i].Verdict == fabric.VerdictUnknown
		if !open || s.onlyFacts || s.unusable != "" || len(s.doubts) > 0 || s.failing() {
			continue
		}
		tables, healthy := 0, 0
		for _, o := range out {
			if (o.File == out[i].File || logs == 1 && !s.whole) && (o.Kind == fabric.NCCLTests || o.Kind == fabric.OSU) {
				tables++
				if o.Verdict == fabric.VerdictHealthy {
					healthy++
				}
			}
		}
		if tables > 0 && tables == healthy {
			out[i].Verdict = fabric.VerdictHealthy
			out[i].Why = "the log names no failure, and the tables of the run are healthy"
			out[i].Causes = []fabric.Cause{healthyCause(0.8, fabric.Evidence{Source: "log", Value: out[i].Why})}
			out[i].Steps, out[i].Next, out[i].Other = nil, "", 0
		}
	}
}
