package manifestcheck

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

// eachFile judges one file after another.
func eachFile(judge func(*Input, *manifest.File) []fabric.Finding) func(*Input) []fabric.Finding {
	return func(in *Input) (out []fabric.Finding) {
		for _, f := range in.Files {
			out = append(out, judge(in, f)...)
		}
		return out
	}
}

func ofFile(f *manifest.File, status fabric.Status, why string) fabric.Finding {
	return fabric.Finding{Status: status, Subject: subject(f.Name), Why: why}
}

func readRule() Rule {
	return Rule{
		ID: "manifest-read", Title: "the whole text was understood", Severity: fabric.SeverityInfo, Cause: fabric.CauseLauncherSetup,
		Doc: "parts that a template fills in, documents that are no YAML, and objects that hold no pod are counted: what they would say is unknown",
		Judge: eachFile(func(_ *Input, f *manifest.File) []fabric.Finding {
			if len(f.Unread) == 0 && !TakesPart(f) && len(f.Pools) == 0 {
				return []fabric.Finding{ofFile(f, fabric.Unknown, "no container in it has GPUs, RDMA, settings of NCCL or an engine: nothing was judged")}
			}
			if len(f.Unread) == 0 {
				p := ofFile(f, fabric.Pass, "")
				p.Expected = fmt.Sprintf("%s read", fabric.Count(f.Documents, "document"))
				return []fabric.Finding{p}
			}
			var out []fabric.Finding
			for _, n := range f.Unread {
				u := ofFile(f, fabric.Unknown, n.What)
				u.Evidence = []fabric.Evidence{at(f, n.Line, n.What)}
				out = append(out, u)
			}
			return out
		}),
	}
}

func fieldsRule() Rule {
	return Rule{
		ID: "manifest-fields", Title: "every field is one that the API has, once, with a value of its type", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc:       "a field that the API does not have, a key that stands twice or a number where a string belongs is refused, or dropped with what it should set",
		Reference: "k8s.io/api core/v1 PodSpec; field validation of the API server (fieldValidation=Strict, which kubectl asks for)",
		Judge: eachFile(func(_ *Input, f *manifest.File) []fabric.Finding {
			if len(f.Problems) == 0 {
				return []fabric.Finding{ofFile(f, fabric.Pass, "")}
			}
			var out []fabric.Finding
			for _, p := range f.Problems {
				bad := ofFile(f, fabric.Fail, p.Where+": "+p.What)
				bad.Evidence, bad.Expected = []fabric.Evidence{at(f, p.Line, p.Where)}, p.Expected
				bad.Cost = "the API server refuses the object; a client that does not ask for strict validation loses what the field should set"
				bad.Fix = "correct the field, then kubectl apply --dry-run=server -f " + fabric.ShellWord(f.Name)
				out = append(out, bad)
			}
			return out
		}),
	}
}

func mountsRule() Rule {
	return Rule{
		ID: "manifest-mounts", Title: "each mount names a volume of its pod", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc: "a mount of a volume that the pod does not have is refused; so is a medium of an emptyDir that does not exist", Reference: "kubernetes pkg/apis/core/validation: ValidateVolumeMounts; pkg/volume/emptydir: medium Memory, HugePages",
		Judge: each(func(s scene) []fabric.Finding {
			if s.w.Form != manifest.Kubernetes || len(s.c.Mounts) == 0 {
				return s.notApplicable("it has no mounts of Kubernetes")
			}
			var out []fabric.Finding
			for _, m := range s.c.Mounts {
				v, ok := s.pod.Volume(m.Name)
				switch {
				case !ok:
					out = append(out, s.absent(fault{
						why: fmt.Sprintf("mount %s of %s: the pod has no volume of that name", fabric.Quote(m.Name), m.Path), expected: "an entry of volumes with name: " + m.Name,
						cost: "the API server refuses the pod", fix: "add the volume, or correct the name", seen: []fabric.Evidence{s.at(m.Line, "name: "+m.Name)},
					})...)
				case ok && v.Medium.Known() && v.Medium.Value != "" && v.Medium.Value != "Memory" && !isHuge(v.Medium.Value):
					out = append(out, s.fail(fault{
						why: fmt.Sprintf("volume %s: medium %s does not exist", fabric.Quote(v.Name), fabric.Quote(v.Medium.Value)), expected: "medium: Memory",
						cost: "the kubelet cannot set the volume up and the pod does not start", fix: "write medium: Memory", seen: []fabric.Evidence{s.at(v.Medium.Line, "medium: "+v.Medium.Value)},
					}))
				}
			}
			if len(out) == 0 {
				return s.pass("volumes of the pod")
			}
			return out
		}),
	}
}

func isHuge(medium string) bool { return len(medium) >= 9 && medium[:9] == "HugePages" }
