package sizing

import (
	"cmp"
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// Limits of a search.
const (
	defaultMaxNodes = 8   // nodes that are tried where none are given
	largestMaxNodes = 512 // nodes that may be asked for
)

// Plan finds the layouts of a model on a machine, smallest and best, what each holds, and why others are refused.
// An error says that the request is invalid, and names the field; that nothing fits is an answer.
func Plan(req Request) (*fabric.Sizing, error) {
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
		ModelPath:       m.Path,
		ModelAssumed:    m.Assumed,
		Machine:         req.Machine.Name,
		Engine:          fabric.SizingEngine{Name: s.engine.Name, Version: s.version.String()},
		Parameters:      m.Parameters(),
		DiskBytes:       m.DiskBytes,
		WeightsBytes:    m.WeightsBytes(),
		KVBytesPerToken: m.KVBytesPerToken(1, s.KVDType),
		KVDType:         s.KVDType,
		StateBytes:      m.StateBytesPerRequest(1),
		Certainty:       string(m.Certainty),
		Context:         s.context,
		ModelContext:    m.Context,
		Concurrency:     s.users,
		GPU:             req.Machine.GPU,
		Plans:           []fabric.SizingPlan{},
		Refused:         []fabric.Refused{},
		Assumptions:     slices.Clone(m.Assumptions),
	}
	if req.EngineVersion == "" {
		out.Assumptions = append(out.Assumptions, fabric.Assumption{
			What: "engine version " + s.engine.Name + " " + s.version.String(), Source: "none was specified",
		})
	}
	if newest, err := ParseVersion(s.engine.Read[len(s.engine.Read)-1]); err == nil && !newest.at(s.version.Major, s.version.Minor, s.version.Patch) {
		out.Assumptions = append(out.Assumptions, fabric.Assumption{
			What: fmt.Sprintf("the rules of %s %s", s.engine.Name, newest), Source: "the newest version that was read",
		})
	}
	if req.Context == 0 {
		out.Assumptions = append(out.Assumptions, fabric.Assumption{
			What: fmt.Sprintf("one request of %d tokens", s.context), Source: "the model's full context; none was specified",
		})
	}
	return out
}

// candidates are the layouts to try, in groups of the same GPUs: smaller ones first, in a group in the order in which
// they are preferred.
func (req Request) candidates(s setting) [][]fabric.Layout {
	if req.TP > 0 {
		return [][]fabric.Layout{{req.complete(s)}}
	}
	var out [][]fabric.Layout
	per := req.Machine.PerNode
	nodes := cmp.Or(req.Nodes, req.MaxNodes, max(defaultMaxNodes, req.Machine.ScaleUp/per))
	if req.GPUs > 0 {
		return [][]fabric.Layout{req.layouts(s, req.GPUs, cmp.Or(req.Nodes, nodesOf(req.GPUs, per)))}
	}
	for g := 1; g < per; g++ {
		out = append(out, req.layouts(s, g, 1))
	}
	for n := 1; n <= nodes; n++ {
		out = append(out, req.layouts(s, n*per, n))
	}
	return out
}

// complete is the layout that was requested by its TP. More GPUs than its TP needs become stages, unless these are given.
func (req Request) complete(s setting) fabric.Layout {
	l := fabric.Layout{TP: req.TP, PP: max(1, req.PP), EP: max(1, req.EP), DP: max(1, req.DP)}
	stage := l.TP * s.engine.ranksPerTP(l.DP)
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

// layouts of so many GPUs: all of them by TP, the same with experts divided by number, and TP inside a node with a
// pipeline across nodes. The pipeline is for where TP does not go: it makes single requests no faster. For many users of
// MLA, of which every rank keeps the whole cache, attention is divided by requests too.
func (req Request) layouts(s setting, gpus, nodes int) (out []fabric.Layout) {
	dp := max(1, req.DP)
	replicas := s.engine.ranksPerTP(dp)
	for _, tp := range divisors(gpus) {
		l := fabric.Layout{Nodes: nodes, GPUs: gpus, TP: tp, PP: gpus / (tp * replicas), EP: max(1, req.EP), DP: dp}
		if gpus%(tp*replicas) != 0 || !req.wants(l) {
			continue
		}
		out = append(out, l)
		if req.EP == 0 && s.shape.experts > 0 && tp > 1 {
			l.EP = tp * replicas
			out = append(out, l)
		}
		if req.DP == 0 && !s.engine.dpBesideTP && s.shape.isMLA() && s.users > 1 && l.PP == 1 && tp > 1 {
			out = append(out, fabric.Layout{Nodes: nodes, GPUs: gpus, TP: tp, PP: 1, EP: tp, DP: tp})
		}
	}
	return out
}

// wants reports whether a layout has the requested pipeline stages; if none were requested, one stage, or TP inside a node with
// stages across nodes.
func (req Request) wants(l fabric.Layout) bool {
	if req.PP > 0 {
		return l.PP == req.PP
	}
	inside := l.GPUs / l.Nodes
	return l.PP == 1 || l.Nodes > 1 && l.TP <= inside && inside%l.TP == 0
}

// try evaluates a group of layouts of the same GPUs. The first that fits is a plan; what the engine refuses, and the
// first that memory refuses, is reported. After a layout that only memory refuses nothing but DP attention is tried: it
// alone holds more.
func (req Request) try(base setting, group []fabric.Layout, out *fabric.Sizing) {
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
	out.Refused = append(out.Refused, firstOfEachRule(refused)...)
}

// firstOfEachRule leaves of the refused layouts of the same GPUs the first of each rule.
func firstOfEachRule(list []fabric.Refused) (out []fabric.Refused) {
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

// rank marks the smallest plan and the best, and puts them first: the best holds most requests of the requested length,
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
