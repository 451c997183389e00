package manifestcheck

import (
	"fmt"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

const docFlags = "vLLM vllm/engine/arg_utils.py, vllm/config/parallel.py; SGLang sglang/srt/server_args.py"

// serving returns the engine of a container that serves a model, not a worker of Ray or a launcher.
func (s scene) serving() *engine {
	if e := s.engine(); e != nil && (e.name == "vllm" || e.name == "sglang") {
		return e
	}
	return nil
}

func layoutRule() Rule {
	return Rule{
		ID: "engine-layout", Title: "the parallelism of the engine is the GPUs that it gets", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc: "tensor x pipeline x data parallel size is the number of ranks, one on each GPU: with more the engine does not start, with fewer GPUs idle", Reference: docFlags,
		Judge: each(func(s scene) []fabric.Finding {
			e := s.serving()
			g, known, has := s.gpus()
			if t, ok := s.setting("CUDA_VISIBLE_DEVICES"); ok && t.Known() && t.Value != "" && t.Value != "all" && known {
				g = min(g, strings.Count(t.Value, ",")+1) // what the process sees of them
			}
			if e == nil || !has {
				return s.notApplicable("no engine with GPUs in it")
			}
			nodes, _, _ := s.nodes()
			need, ok := e.world()
			seen := []fabric.Evidence{s.at(e.cmd.Line, layoutText(e))}
			switch {
			case !ok || !known || nodes == 0:
				return s.unknown("sizes are filled in later", seen...)
			case need < 1:
				return []fabric.Finding{s.fail(fault{why: "a size of 0: " + layoutText(e), expected: "1 or more", cost: "the engine does not start", fix: "correct the size", seen: seen})}
			}
			span := max(1, nodes) // of a group: how its pods join, by flags, Ray or a script, is theirs
			seen = append(seen, s.gpuEvidence())
			have := g * span
			switch {
			case need > have && span == 1 && e.dp.or(1) > 1 && e.dpLocal.set:
				return s.unknown(fmt.Sprintf("%s over more servers than the text has", layoutText(e)), seen...)
			case need > have:
				return []fabric.Finding{s.fail(fault{
					why: fmt.Sprintf("%s needs %d GPUs, and there are %s", layoutText(e), need, haveText(g, span)), expected: fmt.Sprintf("%d GPUs", need),
					cost: "the engine does not start, or waits for GPUs that never come", fix: "reduce the sizes, or give it more GPUs or nodes", seen: seen,
				})}
			case need == g:
				return s.pass(fmt.Sprintf("%d ranks on %s", need, haveText(g, 1)), seen...)
			case need < have:
				f := s.finding(fabric.Unknown, fmt.Sprintf("%s uses %d of %s: the others idle", layoutText(e), need, haveText(g, span)), seen...)
				f.Severity, f.Expected = fabric.SeverityWarning, fmt.Sprintf("sizes whose product is %d", have)
				return []fabric.Finding{f}
			}
			return s.pass(fmt.Sprintf("%d ranks on %s", need, haveText(g, span)), seen...)
		}),
	}
}

func layoutText(e *engine) string {
	text := fmt.Sprintf("tp %d x pp %d", e.tp.or(1), e.pp.or(1))
	if e.dp.set && !e.dpAttention {
		text += fmt.Sprintf(" x dp %d", e.dp.n)
	}
	return text
}

func haveText(gpus, nodes int) string {
	if nodes > 1 {
		return fmt.Sprintf("%d GPUs on each of %d nodes", gpus, nodes)
	}
	return fabric.Count(gpus, "GPU")
}

func (s scene) gpuEvidence() fabric.Evidence {
	for _, from := range []map[string]manifest.Text{s.c.Limits, s.c.Requests} {
		for name, t := range from {
			if isGPU(name) {
				return s.at(t.Line, name+": "+t.Value)
			}
		}
	}
	return s.at(s.c.Line, "no GPU")
}

func groupRule() Rule {
	return Rule{
		ID: "engine-nodes", Title: "the engine counts the nodes that its group has, and knows where they meet", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc: "--nnodes other than the size of the group waits for nodes that never come, or leaves some out; several nodes need the address of the first", Reference: docFlags + "; LWS api/leaderworkerset/v1: size",
		Judge: each(func(s scene) []fabric.Finding {
			e := s.engine()
			if e == nil || !e.nnodes.set {
				return s.notApplicable("no engine with --nnodes")
			}
			seen := s.at(e.cmd.Line, "--nnodes "+e.nnodes.text)
			if !e.nnodes.known {
				return s.unknown("--nnodes "+e.nnodes.text+" is filled in later", seen)
			}
			if s.w.Kind == "LeaderWorkerSet" && s.w.Group > 0 && e.nnodes.n != s.w.Group {
				return []fabric.Finding{s.fail(fault{
					why: fmt.Sprintf("--nnodes %d in a group of %d pods", e.nnodes.n, s.w.Group), expected: "--nnodes $(LWS_GROUP_SIZE)", cost: "the engine waits for nodes that do not exist, or pods stand outside of it",
					fix: "write --nnodes $(LWS_GROUP_SIZE), or the same size in both", seen: []fabric.Evidence{seen, s.at(s.w.Line, fmt.Sprintf("size %d", s.w.Group))},
				})}
			}
			if here := s.loopback(e); e.nnodes.n > 1 && here != "" {
				return []fabric.Finding{s.fail(fault{
					why: fmt.Sprintf("%s nodes meet at %s, which is each node itself", e.nnodes.text, here), expected: "the address of the first node", cost: "each node waits for itself, until it times out",
					fix: "write the leader's address, such as $(LWS_LEADER_ADDRESS):20000", seen: []fabric.Evidence{seen},
				})}
			}
			if e.nnodes.n > 1 && e.initAddr == "" {
				if _, ok := s.setting("MASTER_ADDR"); !ok {
					return s.absent(fault{
						why: "--nnodes " + e.nnodes.text + " without the address of the first node", expected: "--dist-init-addr $(LWS_LEADER_ADDRESS):PORT (SGLang), --master-addr (vLLM)", cost: "each node waits for itself",
						fix: "add it to every node, with the same port", seen: []fabric.Evidence{seen},
					})
				}
			}
			return s.pass("the nodes of the group", seen)
		}),
	}
}

// loopback is the address at which nodes are to meet, where it is that of the node itself; empty: it is another.
func (s scene) loopback(e *engine) string {
	address := e.initAddr
	if t, ok := s.setting("MASTER_ADDR"); ok && address == "" {
		address = t.Value
	}
	host := strings.TrimPrefix(strings.TrimPrefix(s.expand(address), "tcp://"), "[")
	for _, own := range []string{"localhost", "127.", "0.0.0.0", "::1"} {
		if strings.HasPrefix(host, own) {
			return address
		}
	}
	return ""
}

func rankRule() Rule {
	return Rule{
		ID: "engine-rank", Title: "each pod of a group has a rank of its own", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc: "a rank that is written in a template is the same in all pods of that template; without one it is 0, the leader's", Reference: docFlags + "; LWS docs: LWS_WORKER_INDEX, label leaderworkerset.sigs.k8s.io/worker-index",
		Judge: each(func(s scene) []fabric.Finding {
			e := s.serving()
			if e == nil || s.w.Group < 2 || s.w.Form != manifest.Kubernetes {
				return s.notApplicable("no engine in a group of pods")
			}
			name, rank := "--node-rank", e.nodeRank
			if start := s.count(e.cmd, "--data-parallel-start-rank"); start.set {
				name, rank = "--data-parallel-start-rank", start
			}
			one := len(s.w.Pods) == 1 // one template for leader and workers
			leader := s.pod.Role == "leader"
			seen := s.at(e.cmd.Line, orOf(name+" "+rank.text, name))
			bad := func(why, fix string) []fabric.Finding {
				return []fabric.Finding{s.fail(fault{why: why, expected: name + " $(LWS_WORKER_INDEX)", cost: "two pods have the same rank, or ranks are missing: the group never forms", fix: fix, seen: []fabric.Evidence{seen}})}
			}
			switch {
			case !rank.set && e.nnodes.set && !leader && e.nnodes.n != 1:
				return bad("the workers have no "+name+": it is 0, as the leader's", "add "+name+" $(LWS_WORKER_INDEX)")
			case !rank.set:
				return s.notApplicable("its engine takes no rank")
			case !rank.known:
				return s.pass("filled in for each pod", seen)
			case one:
				return bad(fmt.Sprintf("%s %d stands in the one template of %d pods", name, rank.n, s.w.Group), "write "+name+" $(LWS_WORKER_INDEX)")
			case leader && rank.n != 0:
				return bad(fmt.Sprintf("the leader has rank %d", rank.n), "write 0, or $(LWS_WORKER_INDEX)")
			case !leader && rank.n == 0:
				return bad("the workers have the rank of the leader, 0", "write $(LWS_WORKER_INDEX)")
			case !leader && s.w.Group > 2:
				return bad(fmt.Sprintf("all %d workers have rank %d", s.w.Group-1, rank.n), "write $(LWS_WORKER_INDEX)")
			}
			return s.pass("a rank of its own", seen)
		}),
	}
}

// Memory of a rank that is taken before the engine looks how much is free, in GiB. context is that of CUDA and HIP with the modules
// of the engine (internal/sizing/memory.go: contextGiB, contextAMDGiB); collectives is what NCCL and RCCL take outside of PyTorch,
// by ranks (internal/sizing/vllm.go: vllmNonTorch).
const (
	contextGiB    = 0.55
	contextAMDGiB = 1.0
)

func takenGiB(gpu GPUMemory, ranks int) float64 {
	// A start of vLLM on 8 B200 prints 173.8 of 178.35 GiB free before anything is loaded (aws-samples/aws-do-eks 9dfede1).
	if gpu.ID == "b200" && ranks >= 8 {
		return 178.35 - 173.8
	}
	taken := contextGiB
	if gpu.AMD {
		taken = contextAMDGiB
	}
	switch {
	case ranks <= 1:
		return taken + 0.13
	case gpu.AMD:
		return taken + 2
	case ranks < 4:
		return taken + 0.54
	}
	return taken + 2.2
}

func gpuMemoryRule() Rule {
	return Rule{
		ID: "engine-memory-share", Title: "the share of the GPU's memory that the engine asks for can be had", Severity: fabric.SeverityError, Cause: fabric.CauseGPUMemory,
		Doc:       "the engine's own context and communicators are taken before it looks what is free: a share above the rest is refused at the start",
		Reference: "vLLM vllm/v1/worker/gpu_worker.py and utils.py: request_memory (free memory on startup against total x gpu_memory_utilization); figures: internal/sizing",
		Judge: each(func(s scene) []fabric.Finding {
			e := s.serving()
			if e == nil || e.fraction == "" {
				return s.notApplicable("no engine with a share of its own")
			}
			seen := s.at(e.cmd.Line, "share "+e.fraction)
			share, err := strconv.ParseFloat(e.fraction, 64)
			switch {
			case err != nil:
				return s.unknown("the share "+e.fraction+" is filled in later, or no number", seen)
			case share <= 0 || share > 1:
				return []fabric.Finding{s.fail(fault{why: fmt.Sprintf("a share of %v: it is between 0 and 1", share), expected: "such as 0.9", cost: "the engine does not start", fix: "write 0.9", seen: []fabric.Evidence{seen}})}
			}
			return s.judgeShare(share, seen)
		}),
	}
}

func (s scene) judgeShare(share float64, seen fabric.Evidence) []fabric.Finding {
	ranks, _ := s.processes()
	gpus, named := s.gpuModels()
	var over []string
	worst, best := 1.0, 0.0
	for _, g := range gpus {
		ceiling := (g.TotalGiB - takenGiB(g, ranks)) / g.TotalGiB
		worst, best = min(worst, ceiling), max(best, ceiling)
		if share > ceiling {
			over = append(over, fmt.Sprintf("%s %.4f", g.ID, ceiling))
		}
	}
	switch {
	case len(gpus) == 0:
		return s.unknown("the memory of GPUs is unknown here", seen)
	case len(over) == 0:
		return s.pass(fmt.Sprintf("at most %.4f", worst), seen)
	case len(over) == len(gpus):
		return []fabric.Finding{s.fail(fault{
			why: fmt.Sprintf("a share of %v cannot be had: the engine's own context and communicators leave %.4f at most (%s)", share, best, strings.Join(over[:min(3, len(over))], ", ")), expected: fmt.Sprintf("at most %.2f", float64(int(best*100))/100),
			cost: "the engine dies at its start: Free memory on device is less than desired GPU memory utilization", fix: fmt.Sprintf("write %.2f or less", float64(int(best*100)-1)/100), seen: []fabric.Evidence{seen},
		})}
	case named:
		return s.unknown(fmt.Sprintf("a share of %v is above what some of the GPUs leave: %s", share, strings.Join(over, ", ")), seen)
	case share >= 0.97:
		return s.unknown(fmt.Sprintf("a share of %v can be had on some GPUs only; not on %s", share, strings.Join(over[:min(4, len(over))], ", ")), seen)
	}
	return s.pass("a share that most GPUs have", seen)
}

// gpuModels are the GPUs that the pod may get: those that its node selector, image or affinity names; else all that are known.
func (s scene) gpuModels() (out []GPUMemory, named bool) {
	var words []string
	for _, v := range s.pod.Selector {
		words = append(words, strings.ToLower(v))
	}
	for _, g := range s.GPUs {
		for _, w := range words {
			if names(w, g) {
				out, named = append(out, g), true
				break
			}
		}
	}
	if named {
		return out, true
	}
	return s.GPUs, false
}

// names reports whether a value of a node selector names a GPU or a machine with it: p6-b200.48xlarge, NVIDIA-H100-80GB-HBM3.
func names(value string, g GPUMemory) bool {
	parts := strings.FieldsFunc(value, func(r rune) bool { return r == '-' || r == '.' || r == '_' || r == ' ' })
	model, _, _ := strings.Cut(g.ID, "-")
	for _, p := range parts {
		if p == model {
			return true
		}
	}
	for _, m := range g.Machines {
		if strings.ReplaceAll(value, ".", "-") == m {
			return true
		}
	}
	return false
}
