package launch

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Expectation is what was computed for a launch.
type Expectation struct {
	Model   string
	Plan    fabric.SizingPlan
	Storage *fabric.SizingStorage // nil: load times are unknown
	Serving *fabric.Serving       // of a plan; nil: nothing says which pods there are and how long they may take
}

// printNames are the figures that sizing computes, by the names under which the engines print them.
func printNames() map[string]string {
	return map[string]string{
		"avail mem before load": "avail_before_load", "mem usage": "weights", "Model loading took": "weights", "KV cache tokens": "kv_tokens", "GPU KV cache size": "kv_tokens",
		"KV size": "kv", "Available KV cache memory": "kv", "max_running_requests": "max_running", "avail mem after the memory pool": "avail_after_pool", "available_gpu_mem": "avail_final",
		"Maximum concurrency": "concurrency",
	}
}

// tolerance is by how much a figure may differ from what was computed: weights by 3 %, since sizing reproduces published
// start logs within 1 %; the cache, which is what remains of the rest, by 10 %; GiB that are left free by 2 GiB.
func tolerance(what string, expected float64) float64 {
	switch what {
	case "weights":
		return max(0.03*expected, 0.3)
	case "avail_before_load", "avail_after_pool", "avail_final":
		return max(0.05*expected, 2)
	}
	return 0.1 * expected
}

// numbers joins the figures of all ranks, in the order of the stages.
func (g *group) numbers(lives []*life) []fabric.LaunchNumber {
	byName := map[string]*fabric.LaunchNumber{}
	for i, l := range lives {
		for _, name := range l.order {
			p := l.processes[name]
			for _, what := range slices.Sorted(maps.Keys(p.figures)) {
				f := p.figures[what]
				n := byName[what]
				low, high := slices.Min(f.values), slices.Max(f.values)
				who := place(g.members[i].pod, name, len(g.members))
				if n == nil {
					n = &fabric.LaunchNumber{What: what, Unit: f.unit, Min: low, Max: high, MinRank: who, MaxRank: who, Compared: fabric.Uncompared}
					if len(f.values) > 1 && low != high {
						n.Values = f.values
					}
					byName[what] = n
				}
				n.Ranks++
				if low < n.Min {
					n.Min, n.MinRank = low, who
				}
				if high > n.Max {
					n.Max, n.MaxRank = high, who
				}
			}
		}
	}
	sumKV(byName)
	for _, n := range byName {
		if n.Min == n.Max {
			n.MinRank, n.MaxRank = "", ""
		}
	}
	g.compare(byName)
	order := numberOrder()
	return slices.SortedFunc(func(yield func(fabric.LaunchNumber) bool) {
		for _, n := range byName {
			if !yield(*n) {
				return
			}
		}
	}, func(a, b fabric.LaunchNumber) int {
		return cmp.Or(cmp.Compare(place2(order, a.What), place2(order, b.What)), cmp.Compare(a.What, b.What))
	})
}

// numberOrder is the order in which figures are shown: that of a launch.
func numberOrder() []string {
	return []string{
		"tp", "pp", "dp", "ep", "nodes", "world", "mem_fraction", "init", "init_mem", "avail_before_load", "weights", "load", "reading", "model_load", "shards", "avail_after_load", "compile",
		"non_torch", "activations", "graph_estimate", "kv_tokens", "swa_tokens", "k", "v", "kv", "kv_bytes_per_token", "context", "concurrency", "avail_after_pool", "max_running", "avail_before_graphs",
		"graph_batches", "graphs", "graph_mem", "avail_final", "init_engine",
	}
}

func place2(order []string, what string) int {
	if i := slices.Index(order, what); i >= 0 {
		return i
	}
	return len(order)
}

// place names a process of a pod.
func place(pod, name string, pods int) string {
	switch {
	case name == "":
		return pod
	case pods < 2:
		return name
	}
	return pod + " " + name
}

// sumKV adds what keys and values take where the engine prints them apart.
func sumKV(n map[string]*fabric.LaunchNumber) {
	k, v := n["k"], n["v"]
	if k == nil || v == nil || n["kv"] != nil {
		return
	}
	n["kv"] = &fabric.LaunchNumber{What: "kv", Unit: gib, Min: k.Min + v.Min, Max: k.Max + v.Max, Ranks: k.Ranks, MinRank: k.MinRank, MaxRank: k.MaxRank, Compared: fabric.Uncompared}
}

// compare says of each figure what was computed for it.
func (g *group) compare(numbers map[string]*fabric.LaunchNumber) {
	if g.expect == nil {
		return
	}
	g.comparePlan(numbers)
	if s := g.expect.Serving; s != nil && g.engine() != s.Engine { // figures of another engine are others
		return
	}
	names := printNames()
	for _, p := range g.expect.Plan.Prints {
		if n := numbers[names[p.What]]; n != nil && p.Value > 0 {
			judge(n, p.Value)
		}
	}
	for _, what := range []string{"load", "reading", "model_load"} {
		if n := numbers[what]; n != nil {
			g.judgeLoad(n)
			break
		}
	}
}

func judge(n *fabric.LaunchNumber, expected float64) {
	value := n.Max // the heaviest rank is what sizing computes
	if n.What != "weights" {
		value = n.Min
	}
	n.Expected = expected
	off := 100 * (value - expected) / expected
	switch {
	case math.Abs(value-expected) <= tolerance(n.What, expected):
		n.Compared = fabric.Within
		return
	case value > expected:
		n.Compared = fabric.Above
	default:
		n.Compared = fabric.Below
	}
	n.Words = strings.TrimSpace(fmt.Sprintf("%.0f %% %s than computed%s", math.Abs(off), map[bool]string{true: "more", false: "less"}[off > 0], meaning(n.What, off > 0)))
}

// meaning says what a figure that is off speaks for.
func meaning(what string, more bool) string {
	switch {
	case what == "weights" && more:
		return ": another type or quantisation, fewer ranks than planned, or a draft model beside it"
	case what == "weights":
		return ": more ranks or a smaller type than planned"
	case (what == "kv_tokens" || what == "kv") && !more:
		return ": less memory was free, a lower memory fraction, or another type of the cache"
	case what == "kv_tokens" || what == "kv":
		return ": a higher memory fraction, or a smaller type of the cache"
	case what == "avail_before_load" && !more:
		return ": something else holds memory of this GPU"
	case what == "avail_final" && !more:
		return ": little is left for the first large request"
	}
	return ""
}

// judgeLoad compares the time of a load with what storage would take: from the fastest to the slowest that sizing knows.
func (g *group) judgeLoad(n *fabric.LaunchNumber) {
	s := g.expect.Storage
	if s == nil || len(s.Loads) == 0 || n.Max <= 0 {
		return
	}
	fast := slices.MinFunc(s.Loads, func(a, b fabric.StorageLoad) int { return cmp.Compare(a.Seconds, b.Seconds) })
	slow := slices.MaxFunc(s.Loads, func(a, b fabric.StorageLoad) int { return cmp.Compare(a.Seconds, b.Seconds) })
	n.Expected = slow.Seconds
	rate := fmt.Sprintf("%.2f GB/s per node", float64(s.DownloadBytes)/1e9/n.Max)
	switch {
	case n.Max > 1.1*slow.Seconds:
		n.Compared, n.Words = fabric.Above, fmt.Sprintf("%s: slower than %s (%s)", rate, slow.Storage, slow.Formula)
	case len(s.Loads) > 1 && n.Max < 0.9*fast.Seconds: // one storage reads faster from the page cache
		n.Compared, n.Words = fabric.Below, rate+": faster than "+fast.Storage+": not all files were read, as with sharded or dummy weights"
	default:
		n.Compared, n.Words = fabric.Within, rate
	}
}
