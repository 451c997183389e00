package sizing

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
)

// Request is what Plan answers. What is 0 or empty is searched, or is the engine's or the model's own; whoever
// reads flags has to refuse a given 0 beforehand.
type Request struct {
	Model   *llm.Model
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

// asked reports whether a layout was requested, so that it is judged instead of searched.
func (req Request) asked() bool { return req.TP > 0 || req.PP > 0 || req.EP > 0 || req.DP > 0 }

// setting is everything that decides how an engine lays out one replica.
type setting struct {
	Placement
	engine  *Engine
	version Version
	shape   *shape
	context int64 // of one request, tokens
	users   int   // requests at the same time
	running int64 // --max-running-requests or --max-num-seqs; 0: the engine's own
	chunk   int64 // --chunked-prefill-size or --max-num-batched-tokens; 0: the engine's own
	graphBS int64 // largest batch of a CUDA graph; 0: the engine's own
}

// placed is the same setting with another layout.
func (s setting) placed(l fabric.Layout) setting {
	s.Layout, s.Spread = l, s.engine.spread(l, s.shape)
	return s
}

// setting checks a request and returns what all its layouts share.
func (req Request) setting() (setting, error) {
	var s setting
	m := req.Model
	if m == nil || len(m.Layers) == 0 || len(m.Tensors) == 0 {
		return s, errors.New("model: has no layers")
	}
	e, err := EngineNamed(req.Engine)
	if err != nil {
		return s, err
	}
	v, err := ParseVersion(cmp.Or(req.EngineVersion, e.Default))
	if err != nil {
		return s, err
	}
	if err := errors.Join(req.Machine.check(), req.checkCounts(), req.checkFraction(), req.checkContext()); err != nil {
		return s, err
	}
	kv := plainKV(cmp.Or(req.KVDType, m.Quantisation.KV, llm.KVBF16))
	if !llm.KnownKVDType(kv) {
		return s, fabric.UnknownName("kv-dtype", kv, llm.KVDTypes())
	}
	s = setting{
		Placement: Placement{Model: m, Machine: req.Machine, KVDType: kv},
		engine:    &e, version: v, shape: shapeOf(m), context: cmp.Or(req.Context, m.Context), users: max(1, req.Concurrency),
		running: req.MaxRunning, chunk: req.Chunk, graphBS: req.GraphBS,
	}
	if s.context < 1 {
		return s, errors.New("context: the model does not state its own; give one")
	}
	return s, nil
}

// plainKV is a KV dtype under one name; auto is that of activations, bf16 in every model here.
func plainKV(name string) string {
	switch name = strings.ToLower(name); name {
	case "auto", "bfloat16", "half", "float16", "fp16":
		return llm.KVBF16
	case "fp8_e4m3":
		return llm.KVFP8
	case "fp4_e2m1":
		return llm.KVFP4
	}
	return name
}

// checkCounts refuses counts that no cluster has, and GPUs that do not go on the nodes.
func (req Request) checkCounts() error {
	for _, f := range []struct {
		name string
		n    int64
		most int64
	}{
		{"nodes", int64(req.Nodes), largestMaxNodes}, {"max-nodes", int64(req.MaxNodes), largestMaxNodes},
		{"gpus", int64(req.GPUs), maxParallel}, {"tp", int64(req.TP), maxParallel}, {"pp", int64(req.PP), maxParallel},
		{"ep", int64(req.EP), maxParallel}, {"dp", int64(req.DP), maxParallel},
		{"concurrency", int64(req.Concurrency), 1 << 20}, {"max-running-requests", req.MaxRunning, 1 << 20},
		{"chunked-prefill-size", req.Chunk, 1 << 24}, {"cuda-graph-max-bs", req.GraphBS, 1 << 16},
	} {
		if f.n < 0 || f.n > f.most {
			return fmt.Errorf("%s %d: must be from 1 to %d", f.name, f.n, f.most)
		}
	}
	per := req.Machine.PerNode
	switch {
	case req.Nodes > 0 && req.GPUs > req.Nodes*per:
		return fmt.Errorf("gpus %d: %d nodes with %d GPUs each have %d", req.GPUs, req.Nodes, per, req.Nodes*per)
	case req.Nodes > 0 && req.GPUs > 0 && req.GPUs%req.Nodes != 0:
		return fmt.Errorf("gpus %d: not a multiple of %d nodes", req.GPUs, req.Nodes)
	}
	return nil
}

// checkFraction refuses percentages: 85 and 0.85 % are not 0.85.
func (req Request) checkFraction() error {
	switch f := req.MemFraction; {
	case f == 0:
		return nil
	case math.IsNaN(f) || math.IsInf(f, 0) || f < 0:
		return fmt.Errorf("mem-fraction %v: must be above 0 and up to 1", f)
	case f > 1 && f <= 100:
		return fmt.Errorf("mem-fraction %v: is a fraction, not a percentage: write %v", f, f/100)
	case f > 1:
		return fmt.Errorf("mem-fraction %v: must be above 0 and up to 1", f)
	case f < 0.05:
		return fmt.Errorf("mem-fraction %v: leaves no memory for weights: did you mean %v?", f, f*100)
	}
	return nil
}

func (req Request) checkContext() error {
	switch c := req.Context; {
	case c < 0:
		return fmt.Errorf("context %d: must be at least 1 token", c)
	case req.Model.Context > 0 && c > req.Model.Context:
		return fmt.Errorf("context %d: exceeds the model's %d (max_position_embeddings)", c, req.Model.Context)
	}
	return nil
}
