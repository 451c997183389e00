package sizing

import (
	"cmp"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Machine is what layouts are searched on.
type Machine struct {
	Name    string // id in the catalog, or the GPU figures in words
	GPU     fabric.SizingGPU
	Vendor  string // of the GPU: nvidia, amd
	Arch    string // of the GPU: sm_90, gfx942
	PerNode int    // GPUs of one node
	ScaleUp int    // GPUs that NVLink or XGMI joins; more than PerNode where it crosses nodes
	RDMA    bool   // between nodes, so that tensor parallelism may cross them
	Net     string // what is between nodes: ib, roce, tcp, ...; empty: nothing known
	NICs    int    // of one node
	NICGBs  float64

	CUDAGiB float64 // memory of a GPU that CUDA shows to a program; 0: not measured
	IdleGiB float64 // free of it in an idle system where memory is shared with the CPU; 0: all
	MMIOGB  int64   // of 2^30 bytes per GPU that a vendor's document states for a virtual machine; 0: none does
}

// Request is what Size answers. What is 0 or empty is searched, or is the engine's or the model's own; whoever
// reads flags has to refuse a given 0 beforehand.
type Request struct {
	Model   *Model
	Machine Machine

	Nodes          int // 0: as many as are needed, up to MaxNodes
	MaxNodes       int // of the search; 0: 8
	GPUs           int // of one replica, all nodes together
	TP, PP, EP, DP int

	Engine        string
	EngineVersion string
	Context       int64   // tokens of one request
	Concurrency   int     // requests at the same time; 0: 1
	KVDType       string  // empty: the checkpoint's own
	MemFraction   float64 // from 0 to 1
	MaxRunning    int64   // --max-running-requests, --max-num-seqs
	Chunk         int64   // --chunked-prefill-size, --max-num-batched-tokens
	GraphBS       int64   // --cuda-graph-max-bs
}

// Limits of a search.
const (
	defaultMaxNodes = 8   // nodes that are tried where none are given
	largestMaxNodes = 512 // nodes that may be asked for
)

// Size finds the layouts of a model on a machine, smallest and best, what each holds, and why others are refused.
// An error says that the request is no request, and names the field; that nothing fits is an answer.
func Size(req Request) (*fabric.Sizing, error) {
	base, err := req.setting()
	if err != nil {
		return nil, err
	}
	out := req.answer(base)
	for _, group := range req.candidates(base) {
		req.try(base, group, out)
		if req.enough(out) {
			break
		}
	}
	rank(out)
	return out, nil
}

// answer is the head of the answer.
func (req Request) answer(s setting) *fabric.Sizing {
	m := req.Model
	out := &fabric.Sizing{
		Meta:            fabric.NewMeta("Sizing"),
		Model:           m.ID,
		Machine:         req.Machine.Name,
		Engine:          fabric.SizingEngine{Name: s.engine.Name, Version: s.version.String()},
		Parameters:      m.Parameters(),
		DiskBytes:       m.DiskBytes,
		WeightsBytes:    m.WeightsBytes(),
		KVBytesPerToken: m.KVBytesPerToken(1, s.kv),
		KVDType:         s.kv,
		StateBytes:      m.StateBytesPerRequest(1),
		Certainty:       string(m.Certainty),
		Context:         s.context,
		ModelContext:    m.Context,
		Concurrency:     s.users,
		GPU:             req.Machine.GPU,
		Assumptions:     slices.Clone(m.Assumptions),
	}
	if req.EngineVersion == "" {
		out.Assumptions = append(out.Assumptions, fabric.Assumption{
			What: "engine version " + s.engine.Name + " " + s.version.String(), Source: "none was given",
		})
	}
	if newest, err := ParseVersion(s.engine.Read[len(s.engine.Read)-1]); err == nil && !newest.at(s.version.Major, s.version.Minor, s.version.Patch) {
		out.Assumptions = append(out.Assumptions, fabric.Assumption{
			What: sprint("the rules of %s %s", s.engine.Name, newest), Source: "the newest that was read",
		})
	}
	if req.Context == 0 {
		out.Assumptions = append(out.Assumptions, fabric.Assumption{
			What: sprint("one request of %d tokens", s.context), Source: "the model's full context, none was given",
		})
	}
	return out
}

// asked says whether a layout was asked for, so that it is judged and not searched.
func (req Request) asked() bool { return req.TP > 0 || req.PP > 0 || req.EP > 0 || req.DP > 0 }

// candidates are the layouts to try, in groups of the same GPUs: smaller ones first, in a group in the order in which
// they are wanted.
func (req Request) candidates(s setting) [][]Layout {
	if req.TP > 0 {
		return [][]Layout{{req.complete(s)}}
	}
	var out [][]Layout
	per := req.Machine.PerNode
	nodes := cmp.Or(req.Nodes, req.MaxNodes, max(defaultMaxNodes, req.Machine.ScaleUp/per))
	if req.GPUs > 0 {
		return [][]Layout{req.layouts(s, req.GPUs, cmp.Or(req.Nodes, nodesOf(req.GPUs, per)))}
	}
	for g := 1; g < per; g++ {
		out = append(out, req.layouts(s, g, 1))
	}
	for n := 1; n <= nodes; n++ {
		out = append(out, req.layouts(s, n*per, n))
	}
	return out
}

// complete is the layout that was asked for by its TP. Stages that were not given are what more GPUs are for.
func (req Request) complete(s setting) Layout {
	l := Layout{TP: req.TP, PP: max(1, req.PP), EP: max(1, req.EP), DP: max(1, req.DP)}
	stage := l.TP
	if s.engine.Name == nameVLLM {
		stage *= l.DP
	}
	if req.PP == 0 && req.GPUs > stage && req.GPUs%stage == 0 {
		l.PP = req.GPUs / stage
	}
	l.GPUs = cmp.Or(req.GPUs, stage*l.PP)
	l.Nodes = nodesOf(l.GPUs, req.Machine.PerNode)
	if req.GPUs > 0 && req.Nodes > 0 {
		l.Nodes = req.Nodes
	}
	return l
}

// layouts of so many GPUs: all of them by TP, the same with experts by number, and TP inside a node with a pipeline
// across nodes. The pipeline is for where TP does not go: it makes single requests no faster. For many users of MLA,
// of which every rank keeps all, attention is divided by requests too.
func (req Request) layouts(s setting, gpus, nodes int) (out []Layout) {
	dp := max(1, req.DP)
	for _, tp := range divisors(gpus) {
		pp := gpus / tp
		if s.engine.Name == nameVLLM && dp > 1 {
			if pp%dp != 0 {
				continue
			}
			pp /= dp
		}
		whole := tp == gpus || s.engine.Name == nameVLLM && tp*dp == gpus
		staged := nodes > 1 && tp <= gpus/nodes && (gpus/nodes)%tp == 0
		if req.PP > 0 && pp != req.PP || req.PP == 0 && !whole && !staged {
			continue
		}
		l := Layout{Nodes: nodes, GPUs: gpus, TP: tp, PP: pp, EP: max(1, req.EP), DP: dp}
		out = append(out, l)
		if req.EP == 0 && s.shape.experts > 0 && tp > 1 {
			l.EP = tp
			if s.engine.Name == nameVLLM {
				l.EP = tp * dp
			}
			out = append(out, l)
		}
		if req.DP == 0 && s.engine.Name == nameSGLang && s.shape.isMLA() && s.users > 1 && tp == gpus && tp > 1 {
			out = append(out, Layout{Nodes: nodes, GPUs: gpus, TP: tp, PP: 1, EP: tp, DP: tp})
		}
	}
	return out
}

// try evaluates a group of layouts of the same GPUs. The first that fits is a plan; what the engine refuses, and the
// first that memory refuses, is told. After a layout that only memory refuses nothing but DP attention is tried: it
// alone holds more.
func (req Request) try(base setting, group []Layout, out *fabric.Sizing) {
	var refused []fabric.Refused
	full := false
	for _, l := range group {
		if full && l.DP == 1 {
			continue
		}
		plan, why := req.evaluate(base, l)
		if why != nil {
			refused = append(refused, *why)
		}
		if plan == nil {
			continue
		}
		if plan.Fits || req.asked() {
			out.Plans = append(out.Plans, *plan)
			break
		}
		full = true
	}
	out.Refused = append(out.Refused, brief(refused)...)
}

// brief leaves of the refused layouts of the same GPUs the first of each rule.
func brief(list []fabric.Refused) (out []fabric.Refused) {
	seen := map[string]bool{}
	for _, r := range list {
		if !seen[r.Rule] {
			seen[r.Rule] = true
			out = append(out, r)
		}
	}
	return out
}

// enough ends a search without a given number of nodes where something fits on the nodes tried so far, all GPUs of
// them in use.
func (req Request) enough(out *fabric.Sizing) bool {
	if req.Nodes > 0 || len(out.Plans) == 0 {
		return false
	}
	last := out.Plans[len(out.Plans)-1]
	return last.Fits && last.GPUs%req.Machine.PerNode == 0
}

// rank marks the smallest plan and the best, and puts them first: the best holds most requests of the asked length,
// with equal ones the fewer stages.
func rank(out *fabric.Sizing) {
	smallest, best := -1, -1
	for i, p := range out.Plans {
		if !p.Fits {
			continue
		}
		if smallest < 0 || p.GPUs < out.Plans[smallest].GPUs {
			smallest = i
		}
		if best < 0 || p.Requests > out.Plans[best].Requests {
			best = i
		}
	}
	if best < 0 {
		return
	}
	if best != smallest {
		out.Plans[smallest].Role = fabric.RoleSmallest
	}
	out.Plans[best].Role = fabric.RoleBest
	order := func(p fabric.SizingPlan) int {
		switch {
		case p.Role == fabric.RoleSmallest || p.Role == fabric.RoleBest && best == smallest:
			return 0
		case p.Role == fabric.RoleBest:
			return 1
		default:
			return 2
		}
	}
	slices.SortStableFunc(out.Plans, func(a, b fabric.SizingPlan) int { return cmp.Compare(order(a), order(b)) })
}
