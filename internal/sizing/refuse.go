package sizing

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// LayoutRule is one thing that an engine checks of a layout before it serves.
type LayoutRule struct {
	ID     string
	Assert string                   // where the engine checks it, and in which words
	broken func(s setting) []string // why the layout is refused, with the numbers; empty: it is taken
	only   func(v Version) bool     // nil: every version
}

// refusal is a rule that a layout breaks.
type refusal struct {
	rule   LayoutRule
	reason string
}

// refusals returns every rule that a layout breaks, in the order of the engine's list.
func refusals(s setting) (out []refusal) {
	for _, r := range s.engine.Rules {
		if r.only != nil && !r.only(s.version) {
			continue
		}
		for _, reason := range r.broken(s) {
			out = append(out, refusal{r, reason})
		}
	}
	return out
}

// ranksFit: every degree of parallelism divides what it splits.
func ranksFit(s setting) (why []string) {
	l := s.Layout
	if s.Spread.World != l.GPUs {
		why = append(why, fmt.Sprintf("%s needs %d GPUs, not %d", l, s.Spread.World, l.GPUs))
	}
	if l.GPUs%l.Nodes != 0 {
		why = append(why, fmt.Sprintf("%d GPUs are not a multiple of %d nodes", l.GPUs, l.Nodes))
	}
	return why
}

// dpInsideTP: DP attention splits the TP ranks.
func dpInsideTP(s setting) []string {
	if l := s.Layout; l.TP%l.DP != 0 {
		return []string{fmt.Sprintf("tp %d %% dp %d = %d", l.TP, l.DP, l.TP%l.DP)}
	}
	return nil
}

// epInsideTP: expert ranks are part of the TP ranks.
func epInsideTP(s setting) []string {
	if l := s.Layout; l.TP%l.EP != 0 {
		return []string{fmt.Sprintf("tp %d %% ep %d = %d", l.TP, l.EP, l.TP%l.EP)}
	}
	return nil
}

// epIsAll: with vLLM expert parallelism is on, over all ranks, or off.
func epIsAll(s setting) []string {
	if l := s.Layout; l.EP > 1 && l.EP != l.TP*l.DP {
		return []string{fmt.Sprintf("ep %d: --enable-expert-parallel divides experts over all tp x dp = %d ranks", l.EP, l.TP*l.DP)}
	}
	return nil
}

// hasExperts: expert parallelism needs experts.
func hasExperts(s setting) []string {
	if s.Layout.EP > 1 && s.shape.experts == 0 {
		return []string{fmt.Sprintf("ep %d: the model has no experts", s.Layout.EP)}
	}
	return nil
}

// expertsDivide: every expert rank has as many experts.
func expertsDivide(s setting) []string {
	if e, n := s.shape.experts, int64(s.Layout.EP); e > 0 && e%n != 0 {
		return []string{fmt.Sprintf("%d experts %% ep %d = %d", e, n, e%n)}
	}
	return nil
}

// ranksBelowExperts: a model's own check, of families that have it.
func ranksBelowExperts(s setting) []string {
	switch s.Model.Type {
	case "deepseek_v2", "deepseek_v3", "deepseek_v32", "kimi_k2", "glm_moe_dsa", "qwen2_moe", "qwen3_moe", "glm4_moe", "qwen3_next":
	default:
		return nil
	}
	if n := int64(s.Layout.TP); s.shape.experts > 0 && n > s.shape.experts {
		return []string{fmt.Sprintf("tp %d exceeds the %d experts", n, s.shape.experts)}
	}
	return nil
}

// headsDivide: attention heads, of every kind of attention in the model.
func headsDivide(s setting) (why []string) {
	n := int64(s.Spread.Attention)
	bad := func(what string, heads int64) {
		if n > 0 && heads%n != 0 {
			why = append(why, fmt.Sprintf("%d %s %% %d = %d", heads, what, n, heads%n))
		}
	}
	for _, h := range s.shape.gqa {
		bad("attention heads", h.heads)
	}
	for _, h := range s.shape.mla {
		bad("attention heads", h)
	}
	return why
}

// kvHeadsDivide: KV heads are divided evenly, or each is copied to as many ranks.
func kvHeadsDivide(s setting) (why []string) {
	n := int64(s.Spread.Attention)
	for _, h := range s.shape.gqa {
		k := h.other
		switch {
		case k < 1 || n < 1:
		case k >= n && k%n != 0:
			why = append(why, fmt.Sprintf("%d KV heads %% %d = %d", k, n, k%n))
		case k < n && n%k != 0:
			why = append(why, fmt.Sprintf("%d ranks %% %d KV heads = %d: they cannot be replicated evenly", n, k, n%k))
		}
	}
	return why
}

// linearHeadsDivide: key and value heads of linear attention; heads of Mamba, and its groups unless there is one.
func linearHeadsDivide(s setting) (why []string) {
	n := int64(s.Spread.Attention)
	bad := func(what string, heads int64) {
		if heads%n != 0 {
			why = append(why, fmt.Sprintf("%d %s %% %d = %d", heads, what, n, heads%n))
		}
	}
	for _, h := range s.shape.linear {
		bad("key heads of linear attention", h.heads)
		bad("value heads of linear attention", h.other)
	}
	for _, h := range s.shape.mamba {
		if h.heads > 0 {
			bad("Mamba heads", h.heads)
		}
		if h.other > 1 {
			bad("Mamba groups", h.other)
		}
	}
	return why
}

// innerDivides: the intermediate sizes of dense layers, shared experts and experts. MXFP4 experts are padded instead.
func innerDivides(s setting) (why []string) {
	bad := func(what string, dim int64, n int) {
		if n > 0 && dim%int64(n) != 0 {
			why = append(why, fmt.Sprintf("%s of %d %% %d = %d", what, dim, n, dim%int64(n)))
		}
	}
	for _, d := range s.shape.dense {
		bad("FFN", d, s.Spread.Dense)
	}
	for _, d := range s.shape.shared {
		bad("shared experts", d, s.Spread.Shared)
	}
	if s.Model.Quantisation.Format.Name == "mxfp4" {
		return why
	}
	for _, d := range s.shape.expert {
		bad("experts", d, s.Spread.MoETP)
	}
	return why
}

// blocksDivide: where weights have one scale per block, every divided dimension stays a multiple of it.
func blocksDivide(s setting) (why []string) {
	for _, b := range s.shape.blocks {
		n := b.ranks(s.Spread)
		if n > 1 && b.dim%n == 0 && (b.dim/n)%b.of != 0 {
			why = append(why, fmt.Sprintf("block-quantised %s: %d / %d = %d, %% block %d = %d", b.what, b.dim, n, b.dim/n, b.of, b.dim/n%b.of))
		}
	}
	return why
}

// groupsDivide: where weights of a row share scales in groups, a divided input stays a multiple of the group.
func groupsDivide(s setting) (why []string) {
	for _, g := range s.shape.groups {
		n := g.ranks(s.Spread)
		if n > 1 && g.dim%n == 0 && (g.dim/n)%g.of != 0 {
			why = append(why, fmt.Sprintf("%s quantised in groups: %d / %d = %d, %% group %d = %d", g.what, g.dim, n, g.dim/n, g.of, g.dim/n%g.of))
		}
	}
	return why
}

// stagesHaveLayers: no pipeline stage is empty.
func stagesHaveLayers(s setting) []string {
	if n := len(s.Model.Layers); s.Layout.PP > n {
		return []string{fmt.Sprintf("pp %d exceeds the %d layers", s.Layout.PP, n)}
	}
	return nil
}

// noMLAPipeline: versions of SGLang whose memory pool cannot divide MLA by stages.
func noMLAPipeline(s setting) []string {
	if s.Layout.PP > 1 && s.shape.isMLA() {
		return []string{fmt.Sprintf("pp %d: SGLang %s has no pipeline parallelism with MLA", s.Layout.PP, s.version)}
	}
	return nil
}

// noPipeline: versions without any.
func noPipeline(s setting) []string {
	if s.Layout.PP > 1 {
		return []string{fmt.Sprintf("pp %d: SGLang %s has no pipeline parallelism", s.Layout.PP, s.version)}
	}
	return nil
}

// nearest returns layouts that the engine takes: the same ranks otherwise divided, fewer, more, and by stages.
func nearest(s setting) []string {
	var out []string
	seen := map[string]bool{}
	try := func(l fabric.Layout) bool {
		if l.GPUs < 1 || seen[l.String()] {
			return false
		}
		l.Nodes = nodesOf(l.GPUs, s.Machine.PerNode)
		t := s.placed(l)
		if l.GPUs%l.Nodes != 0 || len(refusals(t)) > 0 {
			return false
		}
		seen[l.String()] = true
		out = append(out, l.String())
		return true
	}
	l := s.Layout
	if s.shape.experts > 0 && l.EP == 1 && l.PP == 1 { // the same ranks with experts divided by number
		try(fabric.Layout{GPUs: l.GPUs, TP: l.TP, PP: 1, EP: l.TP * s.engine.ranksPerTP(l.DP), DP: l.DP})
	}
	for tp := l.TP - 1; tp >= 1; tp-- {
		if try(fabric.Layout{GPUs: tp, TP: tp, PP: 1, EP: 1, DP: 1}) {
			break
		}
	}
	for tp := l.TP + 1; tp <= 4*l.TP && tp <= 128; tp++ {
		if try(fabric.Layout{GPUs: tp, TP: tp, PP: 1, EP: 1, DP: 1}) {
			break
		}
	}
	for tp := min(l.TP, max(1, s.Machine.PerNode)); tp >= 1; tp-- { // the node by TP, several nodes by PP
		pp := (max(l.GPUs, 2*tp) + tp - 1) / tp
		if try(fabric.Layout{GPUs: tp * pp, TP: tp, PP: pp, EP: 1, DP: 1}) {
			break
		}
	}
	return out
}

func nodesOf(gpus, perNode int) int {
	if perNode < 1 {
		return 1
	}
	return (gpus + perNode - 1) / perNode
}

// reasonOf joins the reasons of a layout.
func reasonOf(list []refusal) (reasons []string, joined string) {
	for _, r := range list {
		reasons = append(reasons, r.reason)
	}
	return reasons, strings.Join(reasons, "; ")
}
