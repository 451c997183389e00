package diagnose

import (
	"strings"

	"railwright.dev/railwright/internal/evidence"
	"railwright.dev/railwright/internal/fabric"
)

// suspects is how many of the listed causes are put into a counterfactual: sets of them are predicted.
const suspects = 4

// gains says of each listed cause what would be measured without it, and which smallest set of them explains the loss.
func (s *observed) gains(out *fabric.Explained, b beliefs, predict Predictor) {
	p := s.worst(func(p point) bool {
		return p.own && p.test == "nccl" && !p.average && !p.text && p.busbw > 0 && p.expected.Low > 0
	})
	if p == nil || predict == nil {
		return
	}
	var faults []Fault
	for i := range out.Causes[:min(len(out.Causes), suspects)] {
		faults = append(faults, s.faultOf(b.list, out.Causes[i].ID))
	}
	found, err := Counterfactuals(s.shortfall(p, predict, faults))
	if err != nil {
		s.notes = append(s.notes, fabric.Evidence{Source: "counterfactual", Value: err.Error()})
		return
	}
	for i := range found.Gains {
		if g := found.Gains[i]; g.High > 0 {
			out.Causes[i].Gain = &g
		}
	}
	if r := found.Repair; len(r.Causes) > 0 || r.Undecidable != "" {
		out.Repair = &r
	}
}

// shortfall is a slow number as a counterfactual needs it.
func (s *observed) shortfall(p *point, predict Predictor, faults []Fault) Shortfall {
	hw := s.hw
	hw.Nodes = p.nodes
	job := s.job
	job.Collective = p.collective
	if job.Env == nil {
		job.Env = map[string]string{}
	}
	if p.algorithm != "" {
		job.Env = withEnv(job.Env, map[string]string{"NCCL_ALGO": p.algorithm})
	}
	return Shortfall{Hardware: hw, Job: job, Rows: []SizeRate{{Size: p.size, BusBW: p.busbw}}, Predict: predict, Faults: faults}
}

// faultOf is a cause with what is known of it beside its name.
func (s *observed) faultOf(list []belief, id fabric.CauseID) Fault {
	f := Fault{ID: id}
	for _, b := range list {
		if b.id != id {
			continue
		}
		for _, w := range b.weights {
			if v, ok := w.evidence.(evidence.Setting); ok && w.log > 0 {
				f.Settings, f.Seen = append(f.Settings, strings.Replace(v.Name, "RCCL_", "NCCL_", 1)), true
			}
			if a, ok := w.evidence.(evidence.Asymmetry); ok {
				f.Hosts = a.Without
			}
		}
	}
	switch id {
	case fabric.CauseHCASubset, fabric.CauseHalfPortTwin:
		if k := s.chosen(); k > 0 {
			f.NICs, f.OfNICs, f.Seen = k, s.hw.NICsPerNode, true
		}
	case fabric.CauseOversubscription:
		f.Oversubscription = s.hw.Oversubscription
	}
	return f
}

// idle are the settings that cost nothing where they are: predicted with and without them, the result is the same, so
// that they explain no loss.
func (s *observed) idle(predict Predictor) map[string]bool {
	p := s.worst(func(p point) bool {
		return p.own && p.test == "nccl" && !p.average && !p.text && p.busbw > 0 && p.expected.Low > 0
	})
	if p == nil || predict == nil {
		return nil
	}
	out := map[string]bool{}
	for _, v := range s.settings {
		name := strings.Replace(v.name, "RCCL_", "NCCL_", 1)
		f := Fault{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{name}}
		short := s.shortfall(p, predict, []Fault{f})
		short.Job.Env = withEnv(short.Job.Env, map[string]string{name: v.value})
		w, err := newWorlds(short)
		if err == nil && w.unmodelled(0) == "" {
			with, without := w.world(set(0).with(0)), w.world(0)
			out[v.name] = with.err == nil && without.err == nil && with.last().busbw > (1-moved)*without.last().busbw
		}
	}
	return out
}
