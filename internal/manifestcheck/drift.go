package manifestcheck

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

// equalFlags are those that every node of one server must have with the same value (names: docFlags).
func equalFlags() []string {
	return []string{"--tensor-parallel-size", "--tp-size", "--tp", "-tp", "--pipeline-parallel-size", "--pp-size", "--data-parallel-size", "--dp-size", "--dp", "--nnodes", "--dist-init-addr",
		"--model", "--model-path", "--dtype", "--quantization", "--kv-cache-dtype", "--max-model-len", "--context-length", "--data-parallel-rpc-port", "--data-parallel-address", "--master-port",
		"--attention-backend", "--enable-expert-parallel", "--enable-dp-attention", "--moe-a2a-backend", "--load-format", "--page-size", "--block-size", "--speculative-algorithm", "--seed", "--random-seed"}
}

// equalEnv are prefixes of variables that shape how ranks meet.
func equalEnv() []string {
	return []string{"NCCL_", "RCCL_", "GLOO_", "UCX_", "NVSHMEM_", "FI_", "TORCH_NCCL_", "SGLANG_", "VLLM_USE", "VLLM_ATTENTION", "VLLM_ALL2ALL"}
}

func driftRule() Rule {
	return Rule{
		ID: "leader-worker-equal", Title: "leader and workers differ only where they must", Severity: fabric.SeverityError, Cause: fabric.CauseVersionSkew,
		Doc:       "ranks of one server run the same program with the same settings: another image, another value or another device on the workers breaks them or slows all down",
		Reference: "VCF document, example 5; NCCL: ranks of one communicator must agree on algorithm, protocol and network (src/init.cc)",
		Judge: func(in *Input) (out []fabric.Finding) {
			for _, f := range in.Files {
				for i := range f.Workloads {
					out = append(out, pairOf(in, f, &f.Workloads[i])...)
				}
			}
			if len(out) == 0 {
				out = []fabric.Finding{{Status: fabric.NotApplicable, Subject: subject("leader and workers"), Why: "no object with templates of both"}}
			}
			return out
		},
	}
}

// pairOf compares the leader of a workload with its workers.
func pairOf(in *Input, f *manifest.File, w *manifest.Workload) (out []fabric.Finding) {
	var leader, worker *scene
	for p := range w.Pods {
		for c := range w.Pods[p].Containers {
			s := scene{Input: in, file: f, w: w, pod: &w.Pods[p], c: &w.Pods[p].Containers[c]}
			switch {
			case !s.takesPart() || s.c.Init:
			case s.pod.Role == "leader" && leader == nil:
				leader = &s
			case s.pod.Role == "worker" && worker == nil:
				worker = &s
			}
		}
	}
	if leader == nil || worker == nil {
		return nil
	}
	d := drift{leader: *leader, worker: *worker}
	d.compare()
	if len(d.out) == 0 {
		return worker.pass("equal to the leader")
	}
	return d.out
}

type drift struct {
	leader, worker scene
	out            []fabric.Finding
}

func (d *drift) compare() {
	l, w := d.leader, d.worker
	d.differ("the image", l.c.Image, w.c.Image, "ranks of other versions of the engine or of NCCL do not work together", fabric.CauseVersionSkew)
	for _, name := range d.names() {
		a, okA := l.setting(name)
		b, okB := w.setting(name)
		if okA != okB && (l.c.EnvFrom > 0 || w.c.EnvFrom > 0) {
			continue
		}
		d.differ(name, a, b, "the ranks do not agree on how they meet or which devices they use", fabric.CauseEnvNotForwarded)
	}
	for _, name := range d.resources() {
		d.differ(name, l.c.Limits[name], w.c.Limits[name], "the workers have other devices than the leader", fabric.CauseLauncherSetup)
	}
	if l.pod.HostNetwork != w.pod.HostNetwork {
		d.differ("hostNetwork", manifest.Text{Value: fmt.Sprint(l.pod.HostNetwork), Line: l.pod.Line}, manifest.Text{Value: fmt.Sprint(w.pod.HostNetwork), Line: w.pod.Line}, "interfaces have other names on each side", fabric.CauseBootstrapInterface)
	}
	a, b := l.serving(), w.serving()
	if a == nil || b == nil || a.name != b.name {
		return
	}
	for _, name := range equalFlags() {
		x, okX := a.cmd.Flag(name)
		y, okY := b.cmd.Flag(name)
		if okX && okY {
			d.differ(name, manifest.Text{Value: l.expand(x), Line: a.cmd.Line}, manifest.Text{Value: w.expand(y), Line: b.cmd.Line}, "the ranks build other models or groups", fabric.CauseLauncherSetup)
		}
	}
}

// names are the variables of either side that must be equal.
func (d *drift) names() (out []string) {
	for _, s := range []scene{d.leader, d.worker} {
		for _, e := range s.c.Env {
			shapes := slices.ContainsFunc(equalEnv(), func(p string) bool { return strings.HasPrefix(e.Name, p) })
			if shapes && !secretName().MatchString(e.Name) && !strings.HasSuffix(e.Name, "_HOST") && !strings.HasPrefix(e.Name, "NCCL_DEBUG") && !slices.Contains(out, e.Name) {
				out = append(out, e.Name)
			}
		}
	}
	return out
}

// resources are the extended resources of either side.
func (d *drift) resources() (out []string) {
	for _, s := range []scene{d.leader, d.worker} {
		for _, name := range sortedKeys(s.c.Limits) {
			if (isGPU(name) || isNIC(name)) && !slices.Contains(out, name) {
				out = append(out, name)
			}
		}
	}
	return out
}

func (d *drift) differ(what string, a, b manifest.Text, cost string, cause fabric.CauseID) {
	if a.Value == b.Value || a.Open || b.Open || strings.ContainsAny(a.Value+b.Value, "$") { // what each side computes for itself
		return
	}
	f := fault{
		why: fmt.Sprintf("%s differs: %s on the leader, %s on the workers", what, orOf(a.Value, "none"), orOf(b.Value, "none")), expected: "the same on both", cost: cost, fix: "write the same value in both templates", cause: cause,
	}
	if a.Line > 0 {
		f.seen = append(f.seen, d.leader.at(a.Line, a.Value))
	}
	if b.Line > 0 {
		f.seen = append(f.seen, d.worker.at(b.Line, b.Value))
	}
	if a.Line == 0 || b.Line == 0 {
		side := d.worker
		if a.Line == 0 {
			side = d.leader
		}
		d.out = append(d.out, side.absent(f)...)
		return
	}
	d.out = append(d.out, d.worker.fail(f))
}
