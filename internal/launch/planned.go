package launch

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/fabric"
)

// Planned is what a plan says of the launch of its model: its layout with the figures that the engine will print, the storage from which the
// weights come, and how long the parts of a start may take. Machines that serve without pods have the layout only.
func Planned(s *fabric.Serving) *Expectation {
	e := &Expectation{Model: s.Model, Plan: s.Layout, Serving: s}
	if p := s.Pods; p != nil && p.Weights.GBs > 0 {
		e.Storage = &fabric.SizingStorage{DownloadBytes: p.Weights.DownloadBytes, Loads: []fabric.StorageLoad{{
			Storage: "the storage of the plan", GBs: p.Weights.GBs, Seconds: float64(p.Times.Load),
			Formula: fmt.Sprintf("%.1f GB at %g GB/s, %s", float64(p.Weights.DownloadBytes)/1e9, p.Weights.GBs, p.Weights.GBsSource),
		}}}
	}
	return e
}

// pods are those of the plan; nil without one.
func (g *group) pods() *fabric.ServingPods {
	if g.expect == nil || g.expect.Serving == nil {
		return nil
	}
	return g.expect.Serving.Pods
}

// plannedBound is how long a stage may be without progress by the plan. That of the weights follows from their storage, and the division
// of the memory is the engine's own.
func (g *group) plannedBound(stage fabric.LaunchStage) (seconds float64, why string, ok bool) {
	p := g.pods()
	if p == nil {
		return 0, "", false
	}
	switch t := p.Times; stage {
	case "", fabric.StageStart:
		return float64(t.Imports), "the plan's time until weights are read (imports_s)", true
	case fabric.StageInit:
		return float64(t.Join + t.Imports), "the plan's times until the last pod of a group runs and weights are read (join_s, imports_s)", true
	case fabric.StageCompile, fabric.StageGraphs:
		return float64(t.Graphs), "the plan's time for kernels and graphs (graphs_s)", true
	}
	return 0, "", false
}

// comparePlan says of each size that the logs tell whether it is the plan's.
func (g *group) comparePlan(numbers map[string]*fabric.LaunchNumber) {
	s := g.expect.Serving
	if s == nil {
		return
	}
	l := s.Layout
	for _, one := range []struct {
		what    string
		planned float64
	}{{"tp", float64(l.TP)}, {"pp", float64(l.PP)}, {"dp", float64(l.DP)}, {"nodes", float64(l.Nodes)}, {"mem_fraction", l.MemFraction}} {
		n := numbers[one.what]
		if n == nil || one.planned <= 0 {
			continue
		}
		const printed = 0.005 // of a fraction with two decimals
		n.Expected, n.Compared = one.planned, fabric.Within
		if math.Abs(n.Max-one.planned) > printed {
			n.Compared, n.Words = fabric.Above, fmt.Sprintf("the plan has %g", one.planned)
			if n.Max < one.planned {
				n.Compared = fabric.Below
			}
		}
	}
}

// unplanned notes what the logs have otherwise than the plan, and the pods of the group that have no log.
func (g *group) unplanned(out *fabric.Launch) (remarks []fabric.LaunchRemark) {
	if g.expect == nil || g.expect.Serving == nil {
		return nil
	}
	s := g.expect.Serving
	switch {
	case out.Engine != "" && out.Engine != s.Engine:
		remarks = append(remarks, fabric.LaunchRemark{Kind: "not-planned", Text: fmt.Sprintf("the logs are of %s, and the plan has %s", out.Engine, s.Engine)})
	case out.Version != "" && out.Version != s.Version:
		remarks = append(remarks, fabric.LaunchRemark{Kind: "not-planned", Text: fmt.Sprintf("the logs are of %s %s, and the sizes of the plan follow the rules of %s", out.Engine, out.Version, s.Version)})
	}
	if absent := g.absent(); len(absent) > 0 {
		remarks = append(remarks, fabric.LaunchRemark{Kind: "pod-missing", Text: fmt.Sprintf("no log of %s of the group's %d (%s): not started, or not given", fabric.Count(len(absent), "pod"), s.Pods.Size, few(absent))})
	}
	return remarks
}

// leads reports whether a pod leads a group of the plan, by its name: one that serves alone has no workers that tell it.
func (e *Expectation) leads(pod string) bool {
	if e == nil || e.Serving == nil || e.Serving.Pods == nil || e.Serving.Pods.Kind != fabric.LeaderWorkerSets {
		return false
	}
	base, _, ok := numbered(pod)
	return ok && base == e.Serving.Pods.Name
}

// absent are the pods of the plan that have no log, of a group that is named as LeaderWorkerSet or JobSet names them.
func (g *group) absent() (names []string) {
	p := g.pods()
	base, number, ok := numbered(g.name)
	if p == nil || !ok || base != p.Name || number >= p.Groups {
		return nil
	}
	there := map[string]bool{}
	name := p.PodName
	if p.Kind == fabric.JobSets {
		name = p.JobSetPod
	}
	for _, m := range g.members {
		if _, rank, ofSet := jobSetPod(m.pod); ofSet != (p.Kind == fabric.JobSets) {
			return nil // pods of another kind than the plan's
		} else if ofSet {
			there[name(number, rank)] = true // behind its name stands what is random
		}
		there[m.pod] = true
	}
	for rank := range p.Size {
		if pod := name(number, rank); !there[pod] {
			names = append(names, pod)
		}
	}
	return names
}
