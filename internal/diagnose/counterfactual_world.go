package diagnose

import (
	"fmt"
	"maps"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// rate is a predicted bandwidth with its band and the bound of physics, GB/s, and its path.
type rate struct {
	busbw, low, high, bound float64
	path                    string     // protocol and what carries the data
	ends                    [2]float64 // of a cost that is a range: the lowest and the highest; zero: busbw alone
}

// String writes the rate for people, without its unit.
func (r rate) String() string {
	if r.ends[0] < r.ends[1] {
		return number(r.ends[0]) + " to " + number(r.ends[1])
	}
	return number(r.busbw)
}

// pathOf is the protocol of a prediction and what sets its bound: any number of NICs is one kind of element.
func pathOf(r fabric.PredictionRow) string {
	element := r.Bound.Element
	if strings.Contains(element, "NIC") {
		element = "NICs"
	}
	return r.Protocol + " over " + element
}

// world is what is predicted with a set of faults in force, one rate per size.
type world struct {
	rates []rate
	hw    fabric.Hardware // as the model filled it in
	err   error
}

// last is the rate at the figure's size.
func (w world) last() rate { return w.rates[len(w.rates)-1] }

// state is the hardware and the environment that faults leave.
type state struct {
	hw  fabric.Hardware
	env map[string]string
	// Elements on the path of one NIC, each the most that it passes, GB/s; 0: it does not limit. The path carries the least.
	port, pcie, path float64
	links, lanes     float64 // share of NVLink and of a GPU's PCIe link that is left
	ceiling          float64 // GB/s of bus bandwidth that a slow part leaves, as measured with it; 0: none
}

// world predicts with the faults of a set. Where the cost of a fault is a range, both ends are predicted, and the band
// reaches from one to the other.
func (w *worlds) world(of set) world {
	if known, ok := w.known[of]; ok {
		return known
	}
	worst, best := w.state(of, true), w.state(of, false)
	out := w.predict(best)
	if out.err == nil && worst.differs(best) {
		low := w.predict(worst)
		for i := range out.rates {
			if low.err == nil {
				out.rates[i] = spanned(low.rates[i], out.rates[i])
			}
		}
	}
	w.known[of] = out
	return out
}

// spanned is the rate between two ends.
func spanned(a, b rate) rate {
	return rate{busbw: math.Sqrt(a.busbw * b.busbw), low: min(a.low, b.low), high: max(a.high, b.high), bound: max(a.bound, b.bound), path: b.path, ends: [2]float64{a.busbw, b.busbw}}
}

// differs reports whether two states have other machines or another environment.
func (s state) differs(o state) bool { return s.otherMachines(o) || !maps.Equal(s.env, o.env) }

func (s state) otherMachines(o state) bool {
	return s.port != o.port || s.pcie != o.pcie || s.path != o.path || s.links != o.links || s.lanes != o.lanes || s.hw != o.hw
}

// state applies the faults of a set; worst takes the costly end of ranges. Settings of faults outside of the set are unset.
func (w *worlds) state(of set, worst bool) state {
	s := state{hw: w.Hardware, env: maps.Clone(w.Job.Env), links: 1, lanes: 1}
	kept := map[string]bool{}
	for i, f := range w.faults {
		for _, name := range f.Settings {
			kept[name] = kept[name] || of.has(i)
		}
	}
	maps.DeleteFunc(s.env, func(name, _ string) bool { keep, named := kept[name]; return named && !keep })
	for i, f := range w.faults {
		if !of.has(i) {
			continue
		}
		s.apply(f, worst)
		if f.Without > 0 {
			s.ceiling = least(s.ceiling, w.from)
		}
	}
	s.translate()
	return s
}

// predict asks the model for a state.
func (w *worlds) predict(s state) world {
	hw, job := s.hw, w.Job
	line := hw.NICGbps / 8
	for _, most := range []float64{s.port, s.pcie, s.path} {
		if most > 0 {
			line = min(line, most)
		}
	}
	hw.NICGbps, job.Env = line*8, s.env
	p, err := w.Predict(hw, job, w.sizes)
	switch {
	case err != nil:
		return world{err: err}
	case p == nil || len(p.Rows) != len(w.sizes) || !sane(p.Rows):
		return world{err: fmt.Errorf("counterfactual: the model has no numbers for this hardware")}
	}
	out := world{hw: p.Hardware}
	for _, r := range p.Rows {
		share := 1.0
		if strings.Contains(r.Bound.Element, "PCIe") { // of the GPUs: that of NICs is in their rate
			share = s.lanes
		}
		out.rates = append(out.rates, rate{busbw: r.BusBW * share, low: r.Band[0] * share, high: min(r.Band[1], r.Bound.BusBW) * share, bound: r.Bound.BusBW * share, path: pathOf(r)})
	}
	if s.links < 1 {
		w.fewerLinks(&out, hw, job, s.links)
	}
	for i, r := range out.rates {
		if s.ceiling > 0 && s.ceiling < r.busbw {
			share := s.ceiling / r.busbw
			out.rates[i] = rate{busbw: s.ceiling, low: r.low * share, high: r.high * share, bound: r.bound, path: r.path}
		}
	}
	return out
}

// fewerLinks limits rates to what the links within a node still carry. NVLink spreads all traffic of a GPU over its
// links, so that the rate goes with their number: count="6" of 18 in NCCL's topology file gave 155 of 300 GB/s where
// latency still counts, and 123.6 of 370.8 in NCCL's own count (collectives.md, section 6).
func (w *worlds) fewerLinks(out *world, hw fabric.Hardware, job Job, share float64) {
	inside := hw
	inside.Nodes, inside.Net, inside.NIC, inside.NICsPerNode, inside.NICGbps = 1, "", "", 0, 0
	p, err := w.Predict(inside, job, w.sizes)
	if err != nil || p == nil || len(p.Rows) != len(w.sizes) || !sane(p.Rows) {
		out.err = fmt.Errorf("counterfactual: the model has no rate of the links within a node")
		return
	}
	for i, r := range p.Rows {
		if most := r.BusBW * share; most < out.rates[i].busbw {
			out.rates[i] = rate{busbw: most, low: r.Band[0] * share, high: min(r.Band[1], r.Bound.BusBW) * share, bound: r.Bound.BusBW * share, path: pathOf(r)}
		}
	}
}

// translate writes settings in the words of the model.
func (s *state) translate() {
	if s.env == nil {
		s.env = map[string]string{}
	}
	for _, same := range sameSettings() {
		value, set := s.env[same.name]
		if _, taken := s.env[same.model]; set && !taken && (same.value == "" || strings.EqualFold(strings.TrimSpace(value), same.value)) {
			if s.env[same.model] = value; same.as != "" {
				s.env[same.model] = same.as
			}
		}
	}
	verbs := strings.EqualFold(s.hw.Net, "ib") || strings.EqualFold(s.hw.Net, "roce") || s.hw.Net == ""
	if s.hw.Nodes > 1 && (strings.EqualFold(s.env["NCCL_NET"], "Socket") || isValue("1", s.env["NCCL_IB_DISABLE"]) && verbs) {
		s.sockets()
	}
}

// sameSetting is a setting that does what another one of the model does.
type sameSetting struct {
	name, value string // value: only this one; empty: any
	model, as   string // as: the value for the model; empty: the same
}

// sameSettings: NCCL user guide, environment variables: NCCL_MAX_CTAS replaces NCCL_MAX_NCHANNELS, which replaced
// NCCL_MAX_NRINGS; level LOC never uses the path.
func sameSettings() []sameSetting {
	return []sameSetting{
		{"NCCL_MAX_CTAS", "", "NCCL_MAX_NCHANNELS", ""},
		{"NCCL_MAX_NRINGS", "", "NCCL_MAX_NCHANNELS", ""},
		{"NCCL_P2P_LEVEL", "LOC", "NCCL_P2P_DISABLE", "1"},
		{"NCCL_P2P_LEVEL", "0", "NCCL_P2P_DISABLE", "1"},
		{"NCCL_IB_GDR_LEVEL", "", "NCCL_NET_GDR_LEVEL", ""},
	}
}

// socketNet is the catalog's fabric of TCP sockets.
const socketNet = "tcp"

// sockets puts TCP in the place of the network (nccl, src/transport/net_socket.cc).
func (s *state) sockets() { s.hw.Net, s.hw.NIC = socketNet, "" }
