package diagnose

import (
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// fixing writes into an answer what fixing each of its causes would bring, and the smallest set of them that explains all
// of the loss. It writes nothing where the figure p is no bus bandwidth of a collective that was judged, or no model is there.
func (s *observed) fixing(out *fabric.Explained, p *point, predict Predictor) {
	if p == nil || p.test != "nccl" || p.busbw <= 0 || p.average || p.expected == (fabric.Expected{}) || out.Verdict != fabric.VerdictDegraded {
		return
	}
	env := s.environment(p)
	var faults, likely []Fault
	var of []int // the cause of each fault
	shares := sharesOf(s.seen)
	for i, c := range out.Causes {
		everyday := c.ID == fabric.CauseNCCLSettings && c.Confidence < named && shares[c.ID] == 0 // forced to measure, say
		if harmless(c.ID) || everyday || len(faults) == maxFaults {
			continue
		}
		f := s.faultOf(c, env, p)
		if faults, of = append(faults, f), append(of, i); f.Seen || c.Confidence >= named {
			likely = append(likely, f)
		}
	}
	short := Shortfall{Hardware: s.hw, Job: Job{Collective: p.collective, Env: env, Version: s.job.Version}, Rows: s.judgedRows(p), Predict: predict, Faults: faults}
	if p.nodes > 0 {
		short.Hardware.Nodes = p.nodes
	}
	w, err := newWorlds(short)
	if err != nil {
		return // the figure was judged by another prediction, and what that lacks is among the assumptions
	}
	o := w.outcome()
	for i := range o.Gains {
		out.Causes[of[i]].Gain = &o.Gains[i]
	}
	if 0 < len(likely) && len(likely) < len(faults) { // what is unlikely explains nothing, even where its number fits
		short.Faults = likely
		if w, err = newWorlds(short); err != nil {
			return
		}
		o.Repair = w.repair()
	}
	if len(o.Repair.Causes) > 0 || o.Repair.Undecidable != "" {
		out.Repair = &o.Repair
	}
}

// environment is the settings of the job, and the algorithm that a figure was measured with.
func (s *observed) environment(p *point) map[string]string {
	env := map[string]string{}
	if p.algorithm != "" {
		env["NCCL_ALGO"] = p.algorithm
	}
	for _, v := range s.settings {
		env[v.name] = strings.TrimSpace(v.value)
	}
	return env
}

// judgedRows are the figure and the rows before it at which bandwidth decides.
func (s *observed) judgedRows(p *point) []SizeRate {
	var rows []SizeRate
	for _, r := range s.rows {
		if p.size > 0 && r.Size < p.size && r.Expected >= nearPlateau*p.expected.BusBW {
			rows = append(rows, SizeRate{r.Size, r.BusBW})
		}
	}
	return append(rows, SizeRate{p.size, p.busbw})
}

// faultOf is a cause with what is known of it. A fault that a setting makes is in force beyond doubt.
func (s *observed) faultOf(c fabric.Cause, env map[string]string, p *point) Fault {
	f := Fault{ID: c.ID}
	for _, name := range settingsOf(c.ID) {
		if _, set := env[name]; set {
			f.Settings = append(f.Settings, name)
		}
	}
	f.Seen = len(f.Settings) > 0
	if c.Subject.Node != "" && c.Subject != fabric.ClusterSubject() {
		f.Hosts = []string{c.Subject.Node}
	}
	switch c.ID {
	case fabric.CauseHCASubset:
		if k := s.chosen(); k > 0 && k < s.hw.NICsPerNode {
			f.NICs, f.OfNICs, f.Seen = k, s.hw.NICsPerNode, true
		}
	case fabric.CauseSlowNode, fabric.CauseSlowLink:
		f.Without = s.without(p)
	}
	return f
}

// without is what the same measurement gave without the part at fault: with a change that says so, or of the pairs that
// are not slow, in the middle; 0: unknown.
func (s *observed) without(p *point) float64 {
	var rates []float64
	for _, q := range s.points {
		same := q.test == p.test && q.collective == p.collective && q.busbw > p.busbw
		if same && (q.changed != "" || q.pair != nil && p.pair != nil && q.quality != bad) {
			rates = append(rates, q.busbw)
		}
	}
	if len(rates) == 0 {
		return 0
	}
	slices.Sort(rates)
	return rates[len(rates)/2]
}

// settable are the causes that settings can make.
func settable() []fabric.CauseID {
	return []fabric.CauseID{fabric.CauseSocketFallback, fabric.CauseGDRDisabled, fabric.CauseHCASubset, fabric.CauseP2PChannels, fabric.CauseNCCLSettings}
}

// settingsOf are the settings that can make a cause (NCCL user guide, environment variables).
func settingsOf(c fabric.CauseID) []string {
	switch c {
	case fabric.CauseSocketFallback:
		return []string{"NCCL_NET", "NCCL_IB_DISABLE"}
	case fabric.CauseGDRDisabled:
		return []string{"NCCL_NET_GDR_LEVEL", "NCCL_IB_GDR_LEVEL", "NCCL_NET_GDR_READ", "NCCL_DMABUF_ENABLE"}
	case fabric.CauseHCASubset:
		return []string{"NCCL_IB_HCA"}
	case fabric.CauseP2PChannels:
		return []string{"NCCL_MAX_P2P_NCHANNELS", "NCCL_NCHANNELS_PER_NET_PEER"}
	case fabric.CauseNCCLSettings:
		return []string{
			"NCCL_ALGO", "NCCL_PROTO", "NCCL_MAX_NCHANNELS", "NCCL_MAX_CTAS", "NCCL_MAX_NRINGS", "NCCL_MIN_NCHANNELS", "NCCL_MIN_CTAS",
			"NCCL_P2P_DISABLE", "NCCL_P2P_LEVEL", "NCCL_SHM_DISABLE", "NCCL_NVLS_ENABLE", "NCCL_BUFFSIZE", "NCCL_NTHREADS",
			"NCCL_PXN_DISABLE", "NCCL_IB_QPS_PER_CONNECTION", "NCCL_P2P_NET_CHUNKSIZE",
		}
	}
	return nil
}
