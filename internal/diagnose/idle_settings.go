package diagnose

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

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

// idle are the settings that are no evidence of a loss, each with the reason: predicted with and without them, the
// result is the same; or, of channels beside tuned sockets, the model cannot tell.
func (s *observed) idle(predict Predictor) map[string]string {
	p := s.belowBand()
	if p == nil || predict == nil {
		return nil
	}
	out := map[string]string{}
	tuned, asked := socketsPerConnection(s.job.Env), map[setting]bool{}
	for _, v := range s.settings {
		key := setting{name: v.name, value: v.value}
		if asked[key] {
			continue // many logs may say the same
		}
		asked[key] = true
		name := strings.Replace(v.name, "RCCL_", "NCCL_", 1)
		f := Fault{ID: fabric.CauseNCCLSettings, Seen: true, Settings: []string{name}}
		if p.scope == scopeNode && ofNetwork(name) && !s.isSet("NCCL_SHM_DISABLE", "1") {
			out[v.name] = "costs nothing here: one machine uses no network"
			continue
		}
		if tuned && (name == "NCCL_MAX_NCHANNELS" || name == "NCCL_MAX_CTAS") {
			out[v.name] = "is not weighed: beside tuned sockets the model cannot tell what it costs"
			continue
		}
		short := s.shortfall(p, predict, []Fault{f})
		short.Job.Env = withEnv(short.Job.Env, map[string]string{name: v.value})
		w, err := newWorlds(short)
		if err == nil && w.unmodelled(0) == "" {
			with, without := w.world(set(0).with(0)), w.world(0)
			if with.err == nil && without.err == nil && with.last().busbw > (1-moved)*without.last().busbw {
				out[v.name] = "costs nothing here: the prediction is the same without it"
			}
		}
	}
	return out
}

// belowBand is the worst number of a collective below its band; nil: there is none.
func (s *observed) belowBand() *point {
	return s.worst(func(p point) bool {
		return p.test == "nccl" && !p.average && !p.text && p.busbw > 0 && p.expected.Low > 0
	})
}

// noteNotModelled says which settings of a slow run its prediction does not follow, so that they may be what is slow.
func (s *observed) noteNotModelled(predict Predictor) {
	p := s.belowBand()
	if p == nil || predict == nil {
		return
	}
	short := s.shortfall(p, predict, nil)
	pred, err := predict(short.Hardware, short.Job, []int64{sizeOf(short.Rows[0])})
	if err != nil || pred == nil {
		return // nothing was predicted, which is said elsewhere
	}
	for _, set := range pred.NotModelled {
		s.notes = append(s.notes, fabric.Evidence{Source: "prediction", Value: set + " is not modelled: what it costs here is unknown"})
	}
}

// ofNetwork reports whether a setting is about the way between machines (NCCL user guide, environment variables). Within one
// machine NCCL takes it where shared memory is off.
func ofNetwork(name string) bool {
	return slices.ContainsFunc([]string{"NCCL_IB_", "NCCL_NET", "NCCL_SOCKET_"}, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
