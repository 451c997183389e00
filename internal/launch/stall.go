package launch

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"railwright.dev/railwright/internal/fabric"
)

// How long a stage may be silent, in seconds.
const (
	startBound = 300 // Python imports and the model's configuration: a minute or two on a cold image
	initBound  = 600 // torch.distributed's default time-out of process groups with NCCL (c10d, 10 min)
	loadBound  = 626 // 688.6 GB, the largest of the VMware document's models, at the 1.1 GB/s of 10 GbE
	kvBound    = 300 // vLLM's engine waits 5 min for its front end (v1/engine/core.py, HANDSHAKE_TIMEOUT_MINS)
	graphBound = 1200
	// SGLang's documents say that DeepGEMM's kernels compile in around 10 min; twice that.

	shardBound = 120 // between two shards, if ten times the mean is less
	barrier    = 480 // SGLang: ranks wait for each other after loading (UNBALANCED_MODEL_LOADING_TIMEOUT_S)
)

// bound is how long a stage may be without progress, and why.
func (g *group) bound(stage fabric.LaunchStage, lives []*life) (float64, string) {
	planned, whyPlanned, isPlanned := g.plannedBound(stage)
	switch stage {
	case fabric.StageInit:
		for _, l := range lives {
			for _, p := range l.processes {
				if f := p.figures["dist_timeout"]; f != nil && f.values[0] > 0 && (!isPlanned || f.values[0] < planned) {
					return f.values[0], "--dist-timeout of this launch"
				}
			}
		}
		if isPlanned {
			return planned, whyPlanned
		}
		return initBound, "torch's default time-out of process groups"
	case fabric.StageWeights:
		return g.loadBound(lives)
	case fabric.StageKV:
		return kvBound, "vLLM's engine waits as long for its front end"
	case fabric.StageCompile, fabric.StageGraphs:
		if isPlanned {
			return planned, whyPlanned
		}
		return graphBound, "twice what SGLang's documents give for compiling DeepGEMM's kernels"
	}
	if isPlanned {
		return planned, whyPlanned
	}
	return startBound, "imports and the model's configuration"
}

func (g *group) loadBound(lives []*life) (float64, string) {
	for _, l := range lives {
		if l.barStage == ordinal(fabric.StageWeights) && l.done > 0 && l.done < l.total && l.barSecs > 0 {
			mean := l.barSecs / float64(l.done)
			return max(shardBound, 10*mean), fmt.Sprintf("ten times the mean of a file so far, %.1f s, and at least %d s", mean, shardBound)
		}
	}
	if g.expect != nil && g.expect.Storage != nil && len(g.expect.Storage.Loads) > 0 {
		slow := slices.MaxFunc(g.expect.Storage.Loads, func(a, b fabric.StorageLoad) int { return cmp.Compare(a.Seconds, b.Seconds) })
		return slow.Seconds, slow.Storage + ": " + slow.Formula
	}
	return loadBound, "689 GB at the 1.1 GB/s of 10 GbE; with the model's name the bound is that of its weights"
}

// stall says how long the group has been without progress, and what may be the reason.
func (g *group) stall(stage fabric.LaunchStage, lives []*life, hints []found, now time.Time) *fabric.LaunchStall {
	var progress, last moment
	var came, lastCame time.Time
	for _, l := range lives {
		if l.progress.at.After(progress.at) || !progress.is() {
			progress = l.progress
		}
		if l.last.at.After(last.at) || !last.is() {
			last = l.last
		}
		if l.progressCame.After(came) {
			came = l.progressCame
		}
		if l.lastCame.After(lastCame) {
			lastCame = l.lastCame
		}
	}
	s := &fabric.LaunchStall{Stage: stage, Since: stamp(progress.at)}
	switch {
	case !now.IsZero() && !came.IsZero():
		s.Seconds = now.Sub(came).Seconds()
	case !progress.at.IsZero() && !last.at.IsZero():
		s.Seconds = last.at.Sub(progress.at).Seconds()
	}
	s.Seconds = max(0, s.Seconds)
	s.Bound, s.BoundWhy = g.bound(stage, lives)
	if next := ordinal(stage) + 1; stage != "" && next < ordinal(fabric.StageReady) && allEnded(lives, ordinal(stage)) {
		if b, why := g.bound(fabric.LaunchStages()[next], lives); b > s.Bound { // it is on the way into the next stage
			s.Bound, s.BoundWhy = b, why
		}
	}
	s.Passed = s.Seconds > s.Bound
	s.Candidates = g.candidates(stage, lives, hints)
	s.Ask = ask(stage)
	return s
}

// allEnded reports whether every process that came to a stage ended it.
func allEnded(lives []*life, stage int) bool {
	any := false
	for _, l := range lives {
		for _, p := range l.processes {
			if s := p.spans[stage]; s.begin.is() {
				any = true
				if !s.end.is() {
					return false
				}
			}
		}
	}
	return any
}

// candidates are reasons that the logs speak for. Silence alone speaks for none.
func (g *group) candidates(stage fabric.LaunchStage, lives []*life, hints []found) []fabric.LaunchRemark {
	var out []fabric.LaunchRemark
	had := map[string]bool{}
	for _, h := range hints {
		if had[h.form.kind] {
			continue
		}
		had[h.form.kind] = true
		k := kindOf(h.form.kind)
		out = append(out, fabric.LaunchRemark{Kind: h.form.kind, Text: k.title + ": " + k.means, Pod: h.pod, Line: h.line, Said: h.text})
	}
	if stage == fabric.StageInit || stage == fabric.StageStart {
		if missing, world := g.missing(lives); len(missing) > 0 && len(missing) < world && lastMissing(missing, world) {
			out = append(out, fabric.LaunchRemark{Kind: "rank-missing", Text: fmt.Sprintf("no line of %s of %d (%s): they have not started, do not reach the others, or their logs were not given", fabric.Count(len(missing), "rank"), world, few(missing))})
		}
	}
	if absent := g.absent(); len(absent) > 0 {
		out = append(out, fabric.LaunchRemark{Kind: "pod-missing", Text: fmt.Sprintf("no log of %s: %s", fabric.Count(len(absent), "pod"), few(absent))})
	}
	out = append(out, g.awaited(lives)...)
	if stage == fabric.StageWeights {
		out = append(out, g.slowLoads(lives)...)
	}
	return out
}

// awaited are the ranks of other nodes that an engine says it waits for.
func (g *group) awaited(lives []*life) (out []fabric.LaunchRemark) {
	for i, l := range lives {
		pod := g.members[i].pod
		if l.remote > 0 && l.beats > 0 && l.beatsOf == l.progress.seq {
			out = append(out, fabric.LaunchRemark{Kind: "rank-missing", Pod: pod, Text: fabric.Count(l.remote, "engine") + " of other nodes did not report yet: their pods have not started, or do not reach this one"})
		}
		if l.peers[0] < l.peers[1] && l.stage() <= ordinal(fabric.StageInit) {
			out = append(out, fabric.LaunchRemark{Kind: "rank-missing", Pod: pod, Text: fmt.Sprintf("Gloo connected %d of %d other ranks", l.peers[0], l.peers[1])})
		}
	}
	return out
}

// waiting reports whether the last that an engine said, several times, is that it waits.
func waiting(lives []*life) bool {
	const often = 3 // healthy launches say it once or twice
	for _, l := range lives {
		if l.beats >= often && l.beatsOf == l.progress.seq {
			return true
		}
	}
	return false
}

// slowLoads are the rates at which pods read weights, where they are still reading.
func (g *group) slowLoads(lives []*life) (out []fabric.LaunchRemark) {
	for i, l := range lives {
		if l.barStage != ordinal(fabric.StageWeights) || l.done == 0 || l.done >= l.total || l.barSecs <= 0 {
			continue
		}
		left := l.barSecs / float64(l.done) * float64(l.total-l.done)
		text := fmt.Sprintf("%d of %d files in %.0f s, so %.0f s to go", l.done, l.total, l.barSecs, left)
		if g.expect != nil && g.expect.Storage != nil && g.expect.Storage.DownloadBytes > 0 {
			text += fmt.Sprintf(": %.2f GB/s", float64(g.expect.Storage.DownloadBytes)/1e9*float64(l.done)/float64(l.total)/l.barSecs)
		}
		if g.engine() == sglang && left > barrier && g.anyLoaded(lives) {
			text += fmt.Sprintf("; ranks that are done wait %d s for the others, so this launch will be given up (SGLANG_UNBALANCED_MODEL_LOADING_TIMEOUT_S)", barrier)
		}
		out = append(out, fabric.LaunchRemark{Kind: "weights-slow", Text: text, Pod: g.members[i].pod})
	}
	return out
}

func (g *group) anyLoaded(lives []*life) bool {
	for _, l := range lives {
		for _, p := range l.processes {
			if p.isRank && p.spans[ordinal(fabric.StageWeights)].end.is() {
				return true
			}
		}
	}
	return false
}

// ask is what would tell more of a stage without progress.
func ask(stage fabric.LaunchStage) string {
	switch stage {
	case fabric.StageInit:
		return "set NCCL_DEBUG=INFO (and for vLLM VLLM_LOGGING_LEVEL=DEBUG): it prints which interface and network each rank uses; read the logs of all pods; py-spy dump shows where a process waits"
	case fabric.StageWeights:
		return "iostat or the storage's own counters on each node; a rank that reads nothing waits for another one"
	case fabric.StageStart:
		return "kubectl describe pod and its events: image, volumes, scheduling"
	}
	return "py-spy dump of each rank shows which one is behind; nvidia-smi shows whether GPUs work"
}

// missing are the ranks of which no log has a line, where the engine prints one of each.
func (g *group) missing(lives []*life) (names []string, world int) {
	seen := map[int]bool{}
	for i, l := range lives {
		r := g.members[i].Reader
		world = max(world, r.world)
		for n := range r.seen {
			seen[n] = true
		}
		for name, p := range l.processes {
			if n, err := strconv.Atoi(strings.TrimPrefix(name, "TP")); err == nil && p.isRank {
				seen[n] = true
			}
		}
	}
	if g.engine() == sglang {
		world = max(world, int(g.largest(lives, "tp")))
		if g.largest(lives, "pp") > 1 {
			return nil, world // ranks are named by two numbers
		}
	}
	if len(seen) == 0 || world < 2 {
		return nil, world
	}
	for n := range world {
		if !seen[n] {
			names = append(names, strconv.Itoa(n))
		}
	}
	return names, world
}

func (g *group) largest(lives []*life, what string) float64 {
	most := 0.0
	for _, l := range lives {
		for _, p := range l.processes {
			if f := p.figures[what]; f != nil {
				most = max(most, f.values[0])
			}
		}
	}
	return most
}

// lastMissing reports whether the missing ranks are the last ones, as those of a node that did not come are. Where ranks
// between others are missing, it is their lines that are.
func lastMissing(missing []string, world int) bool {
	return missing[0] == strconv.Itoa(world-len(missing))
}

// few writes the first names of a list.
func few(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more", len(names)-most)
}
