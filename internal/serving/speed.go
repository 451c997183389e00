package serving

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/llm"
	"railwright.dev/railwright/internal/sizing"
)

// Replica is one replica of a model as an engine runs it, of which performance is computed.
type Replica struct {
	Model      *llm.Model
	Machine    sizing.Machine
	Engine     string // name; empty: the first of Engines
	Layout     fabric.Layout
	KVDType    string
	KVTokens   int64 // that the cache of one attention replica holds
	MaxRunning int64 // requests of one attention replica at the same time; 0: as many as the cache holds
	Chunk      int64 // tokens of a pass over prompts; 0: the engine's own
	Network    Network
}

// ReplicaOf is the replica that a plan describes.
func ReplicaOf(q sizing.Request, p fabric.SizingPlan, n Network) Replica {
	kv := q.KVDType
	if kv == "" && q.Model != nil {
		kv = q.Model.Quantisation.KV
	}
	return Replica{
		Model: q.Model, Machine: q.Machine, Engine: q.Engine, KVDType: kv, KVTokens: p.KVTokens, MaxRunning: p.MaxRunning,
		Chunk: q.Chunk, Network: n,
		Layout: fabric.Layout{Nodes: p.Nodes, GPUs: p.GPUs, TP: p.TP, PP: p.PP, EP: p.EP, DP: p.DP},
	}
}

func (r Replica) check() error {
	if r.Model == nil || len(r.Model.Layers) == 0 {
		return fmt.Errorf("model: has no layers: its performance cannot be computed")
	}
	if !llm.KnownKVDType(r.KVDType) {
		return fmt.Errorf("kv-dtype %q: unknown; known: %s", r.KVDType, strings.Join(llm.KVDTypes(), ", "))
	}
	if r.KVTokens < 1 {
		return fmt.Errorf("layout %q: the KV cache holds no tokens", r.Layout)
	}
	if r.Chunk < 0 || r.MaxRunning < 0 {
		return fmt.Errorf("chunk %d, max running requests %d: must be at least 0", r.Chunk, r.MaxRunning)
	}
	return nil
}

// What limits a workload.
const (
	LimitMemory  = "memory bandwidth"
	LimitCompute = "compute"
	LimitNetwork = "network"
	LimitLinks   = "scale-up links"
	LimitKV      = "KV cache"
	LimitLaunch  = "launch" // kernels and the engine's own work that no hardware of the GPU speeds up
)

// Speed is how fast a replica serves each workload at each concurrency, in the order given. It fails where a figure of
// the hardware or of the network is unknown: no number is better than a made-up one. A workload whose request the cache
// does not hold is left out.
func Speed(r Replica, workloads []Workload, concurrencies []int) ([]fabric.Performance, error) {
	e, err := newEstimator(r)
	if err != nil {
		return nil, err
	}
	out := make([]fabric.Performance, 0, len(workloads)*len(concurrencies))
	for _, w := range workloads {
		if err := w.check(); err != nil {
			return nil, err
		}
		if w.Input+w.Output > r.KVTokens {
			continue
		}
		for _, c := range concurrencies {
			if c < 1 || c > maxTokens {
				return nil, fmt.Errorf("concurrency %d: must be from 1 to %d", c, maxTokens)
			}
			p, err := r.at(e, w, c)
			if err != nil {
				return nil, err
			}
			out = append(out, p)
		}
	}
	return out, nil
}

// at computes one point: a closed loop in which so many clients each send their next request when the last is done.
// A request costs the engine its prompt once, and its part of a step for every token.
func (r Replica) at(e *estimator, w Workload, concurrency int) (fabric.Performance, error) {
	schedule := schedulingOf(r.Engine)
	running := r.running(w, concurrency)
	replicas := float64(e.placed.Spread.DP)
	chunk := schedule.chunk
	if r.Chunk > 0 {
		chunk = float64(r.Chunk)
	}
	decode, step, err := e.step(running, w.held())
	if err != nil {
		return fabric.Performance{}, err
	}
	// prompts that wait together fill a chunk
	together := max(1, min(running/replicas, chunk/float64(w.Input)))
	passes, err := e.prompts(together, float64(w.Input), chunk)
	if err != nil {
		return fabric.Performance{}, err
	}
	alone, err := e.prompts(1, float64(w.Input), chunk)
	if err != nil {
		return fabric.Performance{}, err
	}
	prompt := passes.times(1 / (together * replicas * float64(e.placed.Spread.PP))) // stages work at the same time
	each := prompt.total() + promptTime
	if schedule.mixed { // tokens of answers ride along: their weights are read once
		each -= min(decode.weights/together, prompt.total())
	}
	out := float64(w.Output)
	perToken := step + waitShare*max(0, running-1)*each/out
	if concurrency == 1 {
		perToken = step
	}
	cycle := running*each + out*step // in which every running request is done once
	rate := closedLoop(running, out, cycle)
	t := cycleTimes{alone: alone.total() + promptTime, step: step, each: each, cycle: cycle, running: running, waiting: float64(concurrency)/running - 1}
	return fabric.Performance{
		Workload: w.Name, Input: int(w.Input), Output: int(w.Output), Concurrency: concurrency, Running: running,
		TokensS: rate, Band: [2]float64{rate * performanceLow, rate * performanceHigh},
		TPOTms: 1e3 * perToken, TTFTms: schedule.firstToken(t),
		Limit:   limitOf(decode.times(out), prompt.times(running), (requestTime*out+promptTime)*running, running < float64(concurrency)),
		Network: r.Network.Name,
	}, nil
}

// closedLoop is the tokens per second of so many requests that each give so many in a cycle of so many seconds.
func closedLoop(running, out, cycle float64) float64 { return running * out / cycle }

// running is how many requests the engine works on at the same time.
func (r Replica) running(w Workload, concurrency int) float64 {
	replicas := float64(max(1, r.Layout.DP))
	n := min(float64(concurrency), replicas*float64(r.KVTokens)/w.held())
	if r.MaxRunning > 0 {
		n = min(n, replicas*float64(r.MaxRunning))
	}
	return max(1, n)
}

// limitOf names what takes most of a cycle; a cache that is full goes before, as more of it would be faster.
func limitOf(decode, prompts cost, host float64, full bool) string {
	if full {
		return LimitKV
	}
	c := decode.plus(prompts)
	return largest([]named{
		{LimitMemory, c.weights + c.kv}, {LimitCompute, c.compute}, {LimitNetwork, c.network}, {LimitLinks, c.links},
		{LimitLaunch, c.launch + host},
	})
}

// Assumptions are what the performance is based on, besides the layout.
func (r Replica) Assumptions() []fabric.Assumption {
	out := []fabric.Assumption{
		{What: "requests of equal length in a closed loop, no shared prefixes, no speculative decoding", Source: "GenAI-Perf and similar benchmarks"},
		{What: fmt.Sprintf("experts are chosen as (i/E)^-%g", routingSkew), Source: "published expert loads"},
	}
	if r.Chunk == 0 {
		out = append(out, fabric.Assumption{What: fmt.Sprintf("%g prompt tokens per pass", schedulingOf(r.Engine).chunk), Source: "default of the engine"})
	}
	if p, err := peaksOf(r.Machine); err == nil && p.halved {
		out = append(out, fabric.Assumption{What: "bf16 at half the rate of fp8", Source: "no source states the GPU's bf16 rate; a matrix unit computes twice as many products at half the width"})
	}
	return out
}
