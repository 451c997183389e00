package serving

import (
	"fmt"
	"math"

	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

// estimator times passes of one layout of one model.
type estimator struct {
	placed sizing.Placement
	links  links
	peaks  peaks
	blocks []block
	head   struct{ bytes, params float64 }
	format string             // of the output projection
	read   map[routed]float64 // expertsRead, remembered
	across bool               // pipeline stages lie on different nodes
}

func newEstimator(r Replica) (*estimator, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	p, err := peaksOf(r.Machine)
	if err != nil {
		return nil, err
	}
	placed, err := sizing.Place(r.Model, r.Machine, r.Engine, r.Layout, r.KVDType)
	if err != nil {
		return nil, err
	}
	e := &estimator{
		placed: placed, peaks: p, links: links{r.Machine, r.Network}, blocks: blocksOf(placed), format: "bf16",
		read: map[routed]float64{}, across: placed.Spread.World > max(r.Machine.ScaleUp, r.Machine.PerNode),
	}
	e.head.bytes, e.head.params = headBytes(placed)
	return e, nil
}

// pass is the time of one pass of all layers on one rank. It fails where an all-reduce has no known time.
func (e *estimator) pass(w load) (cost, error) {
	var sum cost
	for _, b := range e.blocks {
		k := kernels{peaks: e.peaks}
		e.attention(&k, b, w)
		e.feed(&k, b, w.tokens)
		if err := e.reduces(&k.cost, b, w.tokens); err != nil {
			return cost{}, err
		}
		sum = sum.plus(k.cost.times(float64(b.count)))
	}
	k := kernels{peaks: e.peaks}
	k.product(e.head.bytes, 2*w.requests*e.head.params, e.peaks.compute(e.format))
	return sum.plus(k.cost), nil
}

// reduces adds the all-reduces of a block: one after attention and one after the feed-forward part. With attention
// replicas the second is a gathering before and a scattering after it, which move as much.
func (e *estimator) reduces(c *cost, b block, tokens float64) error {
	p := e.placed.Spread
	a, f := b.layer.Attention, b.layer.FFN
	if a.Kind != llm.NoAttention {
		if err := e.reduce(c, tokens, p.Attention); err != nil {
			return err
		}
	}
	switch stage := p.World / p.PP; {
	case f.Experts > 0:
		return e.reduce(c, tokens*float64(p.DP), stage)
	case f.Intermediate > 0:
		return e.reduce(c, e.tokensOf(tokens, p.Dense), p.Dense)
	}
	return nil
}

// tokensOf is the tokens that a part of a layer sees which so many ranks share: where these are more than those of one
// attention replica, the tokens of all replicas.
func (e *estimator) tokensOf(tokens float64, ranks int) float64 {
	if ranks > e.placed.Spread.Attention {
		return tokens * float64(e.placed.Spread.DP)
	}
	return tokens
}

// activationBytes is one element of what is handed on: bf16.
const activationBytes = 2

func (e *estimator) reduce(c *cost, tokens float64, ranks int) error {
	bytes := tokens * float64(e.placed.Model.Hidden) * activationBytes
	s, known := e.links.reduce(bytes, ranks)
	if !known || math.IsNaN(s) {
		return fmt.Errorf("network %q: the time of an all-reduce of %d ranks is unknown", e.links.network.Name, ranks)
	}
	if ranks > 1 && !e.links.inside(ranks) {
		c.network += s
	} else {
		c.links += s
	}
	return nil
}

// stages adds what a pipeline costs: the activations handed from stage to stage.
func (e *estimator) stages(c cost, tokens float64) (cost, error) {
	p := e.placed.Spread
	if p.PP == 1 {
		return c, nil
	}
	bytes := tokens * float64(e.placed.Model.Hidden) * activationBytes / float64(max(1, p.Attention))
	s, known := e.links.send(bytes, e.across)
	if !known || math.IsNaN(s) {
		return cost{}, fmt.Errorf("network %q: the time of a send between pipeline stages is unknown", e.links.network.Name)
	}
	hops := float64(p.PP - 1)
	if e.across {
		c.network += hops * s
	} else {
		c.links += hops * s
	}
	return c, nil
}

// slowest is how much longer the heaviest pipeline stage takes than the mean one.
func (e *estimator) slowest() float64 {
	layers, pp := int64(len(e.placed.Model.Layers)), int64(e.placed.Spread.PP)
	if layers < 1 {
		return 1
	}
	return float64((layers+pp-1)/pp*pp) / float64(layers)
}

// step is the time in which every one of so many running requests gets a token. A pipeline works on as many parts
// of the requests as it has stages, each part as large as it can be.
func (e *estimator) step(running, context float64) (cost, float64, error) {
	p := e.placed.Spread
	part := max(1, running/float64(p.DP*p.PP))
	c, err := e.pass(load{tokens: part, requests: part, context: context})
	if err != nil {
		return cost{}, 0, err
	}
	if c, err = e.stages(c.times(e.slowest()), part); err != nil {
		return cost{}, 0, err
	}
	return c, c.total() + requestTime*running, nil
}

// prompts is the time of the prompts of n requests of every attention replica, until the first token.
func (e *estimator) prompts(n, input, chunk float64) (cost, error) {
	tokens := n * input
	passes := max(1, math.Ceil(tokens/chunk))
	c, err := e.pass(load{tokens: tokens / passes, requests: n / passes, context: input / 2, prompt: true})
	if err != nil {
		return cost{}, err
	}
	if c, err = e.stages(c, tokens/passes); err != nil {
		return cost{}, err
	}
	return c.times(passes), nil
}
