package sizing

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// Layout is how one replica of a model is spread over GPUs.
type Layout fabric.Layout

// String is the layout as people write it: "tp 16 ep 16".
func (l Layout) String() string { return fabric.Layout(l).String() }

// spread is how an engine divides the parts of a model by a layout.
type spread struct {
	world int // ranks of the replica
	attn  int // attention heads are divided by it
	dense int // dense FFN
	share int // shared experts
	moeTP int // the inside of an expert
	ep    int // the number of experts
	vocab int // embedding and head; 1: whole on every rank
	pp    int
	dp    int
	// whole says that dense FFN and shared experts are kept whole on every rank: SGLang's DeepEP with
	// --moe-dense-tp-size 1.
	whole bool
}

// insideTP divides as SGLang does: DP attention splits the TP ranks into replicas of attention (0.5.0rc2,
// layers/dp_attention.py), and embedding and head are then whole on every rank.
func insideTP(l Layout) spread {
	s := spread{
		world: l.TP * l.PP, attn: l.TP / l.DP, dense: l.TP, share: l.TP, moeTP: l.TP / l.EP, ep: l.EP,
		vocab: l.TP, pp: l.PP, dp: l.DP,
	}
	if l.DP > 1 {
		s.vocab = 1
	}
	return s
}

// besideTP divides as vLLM does: DP multiplies the ranks, and experts are divided over all of them
// (0.10.1.1, model_executor/layers/fused_moe/config.py, FusedMoEParallelConfig.make).
func besideTP(l Layout) spread {
	all := l.TP * l.DP
	s := spread{
		world: all * l.PP, attn: l.TP, dense: l.TP, share: l.TP, moeTP: all, ep: 1, vocab: l.TP, pp: l.PP, dp: l.DP,
	}
	if l.EP > 1 {
		s.moeTP, s.ep = 1, all
	}
	return s
}

// spreadOf is the spread of a layout for a model. Where SGLang's experts go by number to all ranks, and quantisation
// blocks do not let shared experts or the dense FFN be divided so far, DeepEP keeps these whole (0.5.0rc2
// models/deepseek_v2.py: tp_size 1 of shared experts, enable_moe_dense_fully_dp).
func (e *Engine) spreadOf(l Layout, sh *shape) spread {
	s := e.spread(l)
	if e.Name == nameSGLang && l.EP > 1 && l.EP == l.TP && sh.splitsBlocks(s) {
		s.dense, s.share, s.whole = 1, 1, true
	}
	return s
}

// maxParallel bounds what may be asked for; the largest published deployments have some hundred ranks.
const maxParallel = 4096

// check refuses numbers that no layout has.
func (l Layout) check() error {
	for _, f := range []struct {
		name string
		n    int
	}{{"nodes", l.Nodes}, {"gpus", l.GPUs}, {"tp", l.TP}, {"pp", l.PP}, {"ep", l.EP}, {"dp", l.DP}} {
		if f.n < 1 || f.n > maxParallel {
			return fmt.Errorf("%s %d: must be from 1 to %d", f.name, f.n, maxParallel)
		}
	}
	return nil
}

// divisors of n from the largest.
func divisors(n int) []int {
	var out []int
	for d := n; d >= 1; d-- {
		if n%d == 0 {
			out = append(out, d)
		}
	}
	return out
}
