package pipeline

import (
	"context"
	"slices"
	"strings"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/causes"
	"railwright.dev/railwright/internal/collective"
	"railwright.dev/railwright/internal/diagnose"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intake"
	"railwright.dev/railwright/internal/messages"
	"railwright.dev/railwright/internal/results"
	"railwright.dev/railwright/internal/topology"
)

// Knowledge is what explain knows beside the files: the model, the catalog, messages and causes.
func Knowledge(cat *catalog.Catalog) (in diagnose.Input, err error) {
	in.Predict, in.Machines = predictor(cat), knownMachines{cat}
	in.Topology, in.WithPlugin = topologies(cat), knownMachines{cat}.WithPlugin
	in.Suppose = knownMachines{cat}.Suppose
	if in.Catalogue, err = messages.Load(); err != nil {
		return in, err
	}
	in.Causes, err = causes.Load()
	return in, err
}

// Explain explains what was read, in the light of what outputs of tools in it show of the machines. at is the time at
// which facts are judged.
func Explain(ctx context.Context, read *intake.Content, in diagnose.Input, at time.Time) (*fabric.Explanation, error) {
	failures, err := failuresIn(ctx, at, read.Facts)
	if err != nil {
		return nil, err
	}
	failures, remarks, uncabled := uncabledIn(failures)
	in.Findings = append(slices.Clone(in.Findings), failures...)
	found := results.JoinLogs(read.Results)
	in.PortGbps = slowestPort(read.Facts)
	in.Hardware = withSeen(in.Hardware, hardwareIn(in.Machines, read.Facts), found)
	r, stands := standIn(read, failures, found)
	if stands {
		found = append(found, r)
	}
	x, err := diagnose.Explain(found, in)
	if err != nil {
		return nil, err
	}
	if stands {
		x.Results = withoutEcho(x.Results)
	}
	withRemarks(x, found, remarks)
	withOwnFixes(x, failures)
	x.Results = append(x.Results, read.Unknown()...)
	x.Results = append(append(x.Results, unreadIn(read.Facts)...), uncabled...)
	if known, ok := in.Machines.(knownMachines); ok {
		x.Results = append(x.Results, explainManifests(known.cat, in.Hardware.Machine, read.Manifests)...)
	}
	x.Sources = read.Sources
	return x, nil
}

// standIn is an empty result for outputs of tools in which rules fail, so that what fails has a verdict of its own beside
// any number that is fine; ok is false where nothing fails, or where one stands there already.
func standIn(read *intake.Content, failures []fabric.Finding, found []fabric.Result) (r fabric.Result, ok bool) {
	if len(failures) == 0 || len(found) == 1 && diagnose.Empty(&found[0]) {
		return r, false
	}
	name := "outputs of tools"
	for _, s := range read.Sources {
		if slices.ContainsFunc(s.Holds, func(held string) bool { return !isResultKind(held) }) {
			name = s.File
			break
		}
	}
	return fabric.Result{File: name, Kind: fabric.NCCLDebugLog, Content: &fabric.NCCLLog{}}, true
}

// withoutEcho leaves out the last result, which stands for outputs of tools, where another one blames all that it blames: the rule
// that fails is evidence of both.
func withoutEcho(all []fabric.Explained) []fabric.Explained {
	last := all[len(all)-1]
	for _, r := range all[:len(all)-1] {
		if r.Verdict != fabric.VerdictHealthy && len(r.Causes) > 0 && len(last.Causes) > 0 && r.Causes[0].ID == last.Causes[0].ID && len(last.Causes) <= len(r.Causes) {
			return all[:len(all)-1]
		}
	}
	return all
}

func isResultKind(name string) bool {
	return slices.ContainsFunc(fabric.ResultKinds(), func(f fabric.ResultForm) bool { return string(f.Kind) == name })
}

// knownMachines answers diagnose from the catalog.
type knownMachines struct{ cat *catalog.Catalog }

// GPU returns the id of a GPU by its short name; empty: unknown.
func (k knownMachines) GPU(name string) string {
	id, _, err := k.cat.GPU(name)
	if err != nil {
		return ""
	}
	return id
}

// GPUOf returns the id of the GPU of a machine; empty: unknown.
func (k knownMachines) GPUOf(machine string) string { return k.cat.Machines[machine].GPU }

// With returns the machines with so many of a GPU; 0: with any number. Sorted.
func (k knownMachines) With(gpu string, perNode int) []string {
	var ids []string
	for id, m := range k.cat.Machines {
		if m.GPU == gpu && (perNode == 0 || int(m.GPUs.Value) == perNode) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Linked reports whether GPUs of an id or a short name are joined by links of their own. Those that bridges may join in pairs
// are not: between more than two of them is PCIe.
func (k knownMachines) Linked(gpu string) (linked, ok bool) {
	_, m, err := k.cat.GPU(gpu)
	return m.ScaleUp.Value > 0, err == nil
}

// WithPlugin returns the machines with a GPU for which their cloud installs a network plugin of NCCL, sorted.
func (k knownMachines) WithPlugin(gpu, plugin string) []string {
	return slices.DeleteFunc(k.With(gpu, 0), func(id string) bool { return !strings.EqualFold(k.cat.Machines[id].NCCLPlugin, plugin) })
}

// Suppose returns the machines with so many of a GPU, each once with every fabric that it can have, the vendor's own design
// first. A machine of one cloud or maker alone says nothing of the others that have such GPUs: then there is none.
func (k knownMachines) Suppose(gpu string, perNode int) (all []fabric.Hardware) {
	machines := k.With(gpu, perNode)
	own := func(id string) bool { return k.cat.Machines[id].Reference }
	if perNode == 0 || len(machines) == 1 && !own(machines[0]) {
		return nil
	}
	slices.SortStableFunc(machines, func(a, b string) int {
		switch {
		case own(a) == own(b):
			return 0
		case own(a):
			return -1
		}
		return 1
	})
	for _, id := range machines {
		for _, net := range k.cat.Machines[id].Fabrics {
			all = append(all, fabric.Hardware{Machine: id, Net: net})
		}
	}
	return all
}

// topologies returns the machines of the catalog by their ids, each built once.
func topologies(cat *catalog.Catalog) func(id string) *topology.Machine {
	known := map[string]*topology.Machine{}
	return func(id string) *topology.Machine {
		m, ok := known[id]
		if !ok {
			m, _ = topology.Nominal(cat, id) // nil where the catalog does not have it
			known[id] = m
		}
		return m
	}
}

// predictor returns what healthy machines would measure. A cluster is built once for the same hardware.
func predictor(cat *catalog.Catalog) diagnose.Predictor {
	type built struct {
		cluster *collective.Cluster
		err     error
	}
	type stated struct { // two equal pointers are not equal keys
		hw                          fabric.Hardware
		nvlink, linked, spine, core bool
	}
	known := make(map[stated]built)
	return func(hw fabric.Hardware, job diagnose.Job, sizes []int64) (*fabric.Prediction, error) {
		key := stated{hw: hw, nvlink: hw.NVLink != nil, spine: hw.Spine != nil}
		key.linked, key.core = key.nvlink && *hw.NVLink, key.spine && *hw.Spine
		key.hw.NVLink, key.hw.Spine = nil, nil
		b, ok := known[key]
		if !ok {
			b.cluster, b.err = collective.New(cat, hw)
			known[key] = b
		}
		if b.err != nil {
			return nil, b.err
		}
		return b.cluster.Predict(collective.Job{
			Collective: job.Collective, Env: job.Env, Processes: job.Processes, DType: job.DType, Tuning: job.Tuning, Version: job.Version, Placement: job.Placement,
		}, sizes)
	}
}
