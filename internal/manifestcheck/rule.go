// Package manifestcheck judges manifests, compose files and docker run lines that serve a model or run collectives over RDMA: by
// what NCCL, Gloo, the engines, Kubernetes and the device plugins do with what is written there. It is pure. A rule fails where
// what is written cannot do what it is written for; what the text leaves open is unknown with its reason, and so is a risk that
// only the cluster can tell.
package manifestcheck

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

// Rule is one check of manifests.
type Rule struct {
	ID    string // kebab case, never renamed: waivers and scripts use it
	Title string // what is true when it passes
	Doc   string // one line: what it checks and why

	Severity  fabric.Severity
	Cause     fabric.CauseID
	Reference string

	// Judge returns a verdict for each subject that fails or is unknown, and one for each that passes. Of a finding it fills in
	// what the rule does not say.
	Judge func(*Input) []fabric.Finding
}

// Rules returns all rules, in the order in which they are judged.
func Rules() []Rule {
	return []Rule{
		readRule(), fieldsRule(), mountsRule(),
		glooNameRule(), glooHostRule(), socketNameRule(), hostIPRule(),
		ncclNameRule(), ncclValueRule(), ncclHCARule(), ncclGIDRule(), ncclOffRule(), ncclTopoRule(),
		rdmaDeviceRule(), memlockRule(), shareRule(), isolationRule(), extendedRule(),
		shmRule(), operatorShmRule(),
		layoutRule(), groupRule(), rankRule(), gpuMemoryRule(), probePortRule(), probeTimeRule(), driftRule(),
		leaderWaitRule(), rendezvousRule(), hostDNSRule(),
		secretRule(), privilegeRule(), imageRule(), liveRule(),
	}
}

// Input is what the rules are given.
type Input struct {
	Files []*manifest.File
	GPUs  []GPUMemory // of the catalog; none: what a share of the memory means is unknown
	Live  []Live
}

// GPUMemory is the memory of a GPU, and the machines that have it.
type GPUMemory struct {
	ID       string
	TotalGiB float64 // as CUDA has it
	AMD      bool
	Machines []string
}

// Live is a pod as the cluster has it, beside the template that it was made from.
type Live struct {
	File     *manifest.File // of the pod
	Template *manifest.Pod  // nil: not found, for the reason in Why
	Owner    string
	Why      string
}

// Judge returns what all rules say, in their order. No token or password that stands in the texts is in what they say.
func Judge(in *Input) []fabric.Finding {
	var out []fabric.Finding
	hide := hider(in)
	for _, r := range Rules() {
		for _, f := range r.Judge(in) {
			f.ID, f.Title, f.Reference = r.ID, r.Title, r.Reference
			if f.Severity == fabric.SeverityError {
				f.Severity = r.Severity
			}
			if f.Cause == "" && f.Status == fabric.Fail {
				f.Cause = r.Cause
			}
			out = append(out, hide(f))
		}
	}
	return out
}

// scene is one container in front of a rule.
type scene struct {
	*Input
	file *manifest.File
	w    *manifest.Workload
	pod  *manifest.Pod
	c    *manifest.Container
}

// each judges the containers that take part in what is served or run: those with GPUs, RDMA, NCCL or an engine. A workload without
// any is not applicable.
func each(judge func(scene) []fabric.Finding) func(*Input) []fabric.Finding {
	return func(in *Input) []fabric.Finding {
		var out []fabric.Finding
		for _, f := range in.Files {
			for i := range f.Workloads {
				found := eachOf(in, f, &f.Workloads[i], judge)
				if len(found) == 0 {
					found = []fabric.Finding{{Status: fabric.NotApplicable, Subject: subject(f.Workloads[i].String()), Why: "no container of it has GPUs, RDMA, settings of NCCL or an engine"}}
				}
				out = append(out, found...)
			}
		}
		return out
	}
}

func eachOf(in *Input, f *manifest.File, w *manifest.Workload, judge func(scene) []fabric.Finding) (out []fabric.Finding) {
	for p := range w.Pods {
		for c := range w.Pods[p].Containers {
			s := scene{Input: in, file: f, w: w, pod: &w.Pods[p], c: &w.Pods[p].Containers[c]}
			if !s.takesPart() {
				continue
			}
			found := judge(s)
			if len(found) == 0 {
				found = s.notApplicable("it has nothing of the kind")
			}
			out = append(out, found...)
		}
	}
	return out
}

func subject(name string) fabric.Subject { return fabric.Subject{Kind: "manifest", Node: name} }

// name is object, role and container: LeaderWorkerSet r1 leader/vllm.
func (s scene) name() string {
	name := s.w.String() + " "
	if s.pod.Role != "" && len(s.w.Pods) > 1 {
		name += s.pod.Role + "/"
	}
	if s.w.Form != manifest.Kubernetes {
		return s.w.String()
	}
	return name + s.c.Name
}

func (s scene) finding(status fabric.Status, why string, seen ...fabric.Evidence) fabric.Finding {
	return fabric.Finding{Status: status, Subject: subject(s.name()), Why: why, Evidence: seen}
}

func (s scene) pass(expected string, seen ...fabric.Evidence) []fabric.Finding {
	f := s.finding(fabric.Pass, "", seen...)
	f.Expected = expected
	return []fabric.Finding{f}
}

func (s scene) notApplicable(why string) []fabric.Finding {
	return []fabric.Finding{s.finding(fabric.NotApplicable, why)}
}

func (s scene) unknown(why string, seen ...fabric.Evidence) []fabric.Finding {
	return []fabric.Finding{s.finding(fabric.Unknown, why, seen...)}
}

// fault is a failing finding: what is wrong, what it has to be, what it costs, what to do.
type fault struct {
	why, expected, cost, fix string
	cause                    fabric.CauseID // instead of the rule's
	severity                 fabric.Severity
	seen                     []fabric.Evidence
}

func (s scene) fail(f fault) fabric.Finding {
	return fabric.Finding{
		Status: fabric.Fail, Subject: subject(s.name()), Why: f.why, Expected: f.expected, Cost: f.cost, Fix: f.fix, Cause: f.cause, Severity: f.severity, Evidence: f.seen,
	}
}

// absent is a failing finding for something that is not there: unknown where it may be elsewhere, as in a template, a part of an
// object, or variables that come from another one.
func (s scene) absent(f fault) []fabric.Finding {
	if why := s.mayBeElsewhere(); why != "" {
		return s.unknown(f.why+"; "+why, f.seen...)
	}
	return []fabric.Finding{s.fail(f)}
}

// mayBeElsewhere is why something that is not in the text may be there all the same; empty: it is not.
func (s scene) mayBeElsewhere() string {
	switch {
	case s.w.Fragment:
		return "the text is a part of an object, and the rest may have it"
	case s.pod.Holes > 0:
		return fmt.Sprintf("%s of a template may write it", fabric.Count(s.pod.Holes, "line"))
	case s.pod.Rewritten || s.w.Operated:
		return "the operator of " + s.w.Kind + " makes the pod and may add it"
	}
	return ""
}

// at is a value with its file and line as evidence.
func (s scene) at(line int, value string) fabric.Evidence { return at(s.file, line, value) }

func at(f *manifest.File, line int, value string) fabric.Evidence {
	source := f.Name
	if line > 0 {
		source = fmt.Sprintf("%s:%d", f.Name, line)
	}
	return fabric.Evidence{Source: source, Value: value}
}

// hasAny reports whether a list has one of several values.
func hasAny(list []string, wanted ...string) bool {
	return slices.ContainsFunc(list, func(v string) bool { return slices.Contains(wanted, v) })
}

// TakesPart reports whether a file has a container that serves a model or runs collectives.
func TakesPart(f *manifest.File) bool {
	in := &Input{Files: []*manifest.File{f}}
	for i := range f.Workloads {
		if len(eachOf(in, f, &f.Workloads[i], func(s scene) []fabric.Finding { return s.pass("") })) > 0 {
			return true
		}
	}
	return false
}
