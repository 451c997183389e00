package manifestcheck

import (
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

func liveRule() Rule {
	return Rule{
		ID: "live-pod-equal", Title: "the pod that runs is the one that was written", Severity: fabric.SeverityWarning, Cause: fabric.CauseLauncherSetup,
		Doc:       "operators and webhooks rewrite pods: a volume that is dropped, a variable that is added or a device that is missing shows only in the live pod",
		Reference: "kubernetes admission webhooks; ai-dynamo/dynamo operator (a /dev/shm of its own)",
		Judge: func(in *Input) (out []fabric.Finding) {
			for _, l := range in.Live {
				out = append(out, rewritten(in, l)...)
			}
			if len(out) == 0 {
				out = []fabric.Finding{{Status: fabric.NotApplicable, Subject: subject("live pods"), Why: "no live pod was read"}}
			}
			return out
		},
	}
}

// rewritten compares a live pod with its template, container by container.
func rewritten(in *Input, l Live) (out []fabric.Finding) {
	for i := range l.File.Workloads {
		w := &l.File.Workloads[i]
		name := w.String()
		if l.Template == nil {
			out = append(out, fabric.Finding{Status: fabric.Unknown, Subject: subject(name), Why: "its template was not found: " + l.Why})
			continue
		}
		before := len(out)
		for c := range w.Pods[0].Containers {
			live := &w.Pods[0].Containers[c]
			s := scene{Input: in, file: l.File, w: w, pod: &w.Pods[0], c: live}
			if was := sameContainer(l.Template, live.Name); was != nil {
				out = append(out, s.changes(l, was)...)
			}
		}
		if len(out) == before {
			out = append(out, fabric.Finding{Status: fabric.Pass, Subject: subject(name), Expected: "as " + l.Owner + " has it"})
		}
	}
	return out
}

func sameContainer(p *manifest.Pod, name string) *manifest.Container {
	for i := range p.Containers {
		if p.Containers[i].Name == name {
			return &p.Containers[i]
		}
	}
	return nil
}

// changes are what an operator made otherwise than written: /dev/shm, variables, devices, the image.
func (s scene) changes(l Live, was *manifest.Container) (out []fabric.Finding) {
	tell := func(what, before, now string, cause fabric.CauseID) {
		out = append(out, s.fail(fault{
			why: fmt.Sprintf("%s: %s has %s, and the live pod has %s", what, l.Owner, orOf(before, "none"), orOf(now, "none")), expected: orOf(before, "as written"), cause: cause,
			cost: "what was written does not apply", fix: "set it where the operator reads it, then delete the pod", seen: []fabric.Evidence{{Source: l.Owner, Value: what + ": " + orOf(before, "none")}, {Source: s.w.String(), Value: what + ": " + orOf(now, "none")}},
		}))
	}
	if before, now := shmOf(l.Template, was), shmOf(s.pod, s.c); before != "" && before != now {
		tell("/dev/shm", before, now, fabric.CauseSHMFull)
	}
	for _, e := range was.Env {
		now, ok := s.c.Variable(e.Name)
		if e.From == "" && e.Value.Known() && (!ok || now.Value.Value != e.Value.Value) && !strings.Contains(e.Value.Value, "$(") {
			tell(e.Name, valueOf(e), valueOf(now), fabric.CauseEnvNotForwarded)
		}
	}
	for _, name := range sortedKeys(was.Limits) {
		if t := was.Limits[name]; (isGPU(name) || isNIC(name)) && t.Known() && s.c.Limits[name].Value != t.Value {
			tell(name, t.Value, s.c.Limits[name].Value, fabric.CauseLauncherSetup)
		}
	}
	if was.Image.Known() && was.Image.Value != s.c.Image.Value {
		tell("image", was.Image.Value, s.c.Image.Value, fabric.CauseVersionSkew)
	}
	if l.Template.HostNetwork && !s.pod.HostNetwork {
		tell("hostNetwork", "true", "false", fabric.CauseBootstrapInterface)
	}
	return out
}

// shmOf is what is mounted at /dev/shm, with its size; empty: nothing.
func shmOf(p *manifest.Pod, c *manifest.Container) string {
	m, ok := c.Mounted("/dev/shm")
	if !ok || !strings.HasPrefix(m.Path, "/dev/shm") {
		return ""
	}
	v, _ := p.Volume(m.Name)
	return strings.TrimSpace(v.Kind + " " + v.Medium.Value + " " + v.Size.Value)
}
