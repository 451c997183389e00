package manifestcheck

import (
	"fmt"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/pattern"
)

// secretName is what variables and flags that hold a secret are called; secretValue are forms of tokens that give themselves away
// (Hugging Face hf_, NVIDIA NGC nvapi-, GitHub gh?_, OpenAI sk-, AWS AKIA).
var (
	secretName  = pattern.Plain(`(?i)(?:^|[_-])(?:token|password|passwd|secret|api[_-]?key|access[_-]?key|secret[_-]?key|private[_-]?key|credentials?|psk)$`)
	secretValue = pattern.Plain(`\b(?:hf_[A-Za-z0-9]{30,}|nvapi-[A-Za-z0-9_-]{30,}|gh[pousr]_[A-Za-z0-9]{30,}|sk-[A-Za-z0-9_-]{24,}|AKIA[A-Z0-9]{16})\b`)
	standIn     = pattern.Plain(`(?i)^$|^[<\[{$].*|^(?:your|my|xxx|changeme|replace|todo|dummy|none|null|empty|example|token|secret|placeholder|\*+|\.\.\.|x+|hf_x+|hf_\.+|sk-x+).*`)
)

// secret is a token or password that stands in a text, and what holds it.
type secret struct {
	holder, value string
	line          int
}

// secrets are those of a container.
func (s scene) secrets() (out []secret) {
	for _, e := range s.c.Env {
		v := e.Value
		if e.From != "" || v.Open || v.Value == "" {
			continue
		}
		if secretValue().MatchString(v.Value) || secretName().MatchString(e.Name) && !standIn().MatchString(v.Value) && len(v.Value) >= 8 {
			out = append(out, secret{e.Name, v.Value, v.Line})
		}
	}
	for _, c := range s.c.Script.Commands {
		for i, w := range c.Words {
			flag, inline, _ := strings.Cut(w, "=")
			switch {
			case secretValue().MatchString(w):
				out = append(out, secret{"an argument", secretValue().FindString(w), c.Line})
			case strings.HasPrefix(w, "--") && secretName().MatchString(flag) && isPlain(inline):
				out = append(out, secret{flag, inline, c.Line})
			case i > 0 && strings.HasPrefix(c.Words[i-1], "--") && secretName().MatchString(c.Words[i-1]) && isPlain(w):
				out = append(out, secret{c.Words[i-1], w, c.Line})
			}
		}
	}
	return out
}

// isPlain reports whether a word is a value, not a variable, a word that stands for one, or a flag.
func isPlain(w string) bool {
	return len(w) >= 8 && !strings.ContainsAny(w, "$<{") && !standIn().MatchString(w) && !strings.HasPrefix(w, "-")
}

// hider takes the secrets of all texts out of a finding.
func hider(in *Input) func(fabric.Finding) fabric.Finding {
	var pairs []string
	for _, f := range in.Files {
		for i := range f.Workloads {
			eachOf(in, f, &f.Workloads[i], func(s scene) []fabric.Finding {
				for _, one := range s.secrets() {
					if !slices.Contains(pairs, one.value) {
						pairs = append(pairs, one.value, "(not shown)")
					}
				}
				return nil
			})
		}
	}
	replace := strings.NewReplacer(pairs...)
	hide := func(text string) string {
		return secretValue().ReplaceAllLiteralString(replace.Replace(text), "(not shown)")
	}
	return func(f fabric.Finding) fabric.Finding {
		f.Why, f.Expected, f.Fix, f.Cost = hide(f.Why), hide(f.Expected), hide(f.Fix), hide(f.Cost)
		f.Evidence = slices.Clone(f.Evidence)
		for i := range f.Evidence {
			f.Evidence[i].Value = hide(f.Evidence[i].Value)
		}
		return f
	}
}

func secretRule() Rule {
	return Rule{
		ID: "plain-secret", Title: "no token stands in the text", Severity: fabric.SeverityError, Cause: fabric.CauseLauncherSetup,
		Doc: "a token in a manifest is in every copy of it, in kubectl describe and in the process list", Reference: "kubernetes core/v1 EnvVarSource.secretKeyRef",
		Judge: each(func(s scene) []fabric.Finding {
			var out []fabric.Finding
			for _, one := range s.secrets() {
				out = append(out, s.fail(fault{
					why: one.holder + " holds a secret in plain text", expected: "valueFrom: secretKeyRef", cost: "everybody who may read the object has it", severity: fabric.SeverityWarning,
					fix:  "kubectl create secret generic NAME --from-literal=KEY=..., then valueFrom: {secretKeyRef: {name: NAME, key: KEY}}; and revoke this one",
					seen: []fabric.Evidence{s.at(one.line, fmt.Sprintf("%s=(%s, not shown)", one.holder, fabric.Count(len(one.value), "character")))},
				}))
			}
			if len(out) == 0 {
				return s.pass("no secret in plain text")
			}
			return out
		}),
	}
}

func privilegeRule() Rule {
	return Rule{
		ID: "privilege", Title: "the container has no more rights than RDMA needs", Severity: fabric.SeverityInfo, Cause: fabric.CauseLauncherSetup,
		Doc: "RDMA needs devices and IPC_LOCK; privileged and hostPID give every device and process of the node", Reference: "kubernetes Pod Security Standards: baseline",
		Judge: each(func(s scene) []fabric.Finding {
			var more []string
			if s.c.Privileged {
				more = append(more, "privileged")
			}
			if s.pod.HostPID {
				more = append(more, "hostPID")
			}
			if len(more) == 0 {
				return s.pass("neither privileged nor hostPID")
			}
			f := s.finding(fabric.Unknown, strings.Join(more, " and ")+" is more than RDMA needs; whether something else in the container needs it is not in the text", s.at(s.c.Line, strings.Join(more, ", ")))
			f.Severity, f.Expected = fabric.SeverityInfo, "an RDMA resource or claim, and IPC_LOCK"
			return []fabric.Finding{f}
		}),
	}
}

func imageRule() Rule {
	return Rule{
		ID: "image-tag", Title: "the image is one version", Severity: fabric.SeverityInfo, Cause: fabric.CauseVersionSkew,
		Doc: "latest, or no tag, is another image tomorrow, and may differ from node to node", Reference: "kubernetes images: tag latest; imagePullPolicy",
		Judge: each(func(s scene) []fabric.Finding {
			image := s.c.Image
			switch {
			case image.Value == "":
				return s.notApplicable("no image in the text")
			case image.Open:
				return s.unknown("the image is filled in later", s.at(image.Line, image.Value))
			case strings.Contains(image.Value, "@sha256:"):
				return s.pass("a digest")
			}
			name := image.Value[strings.LastIndexByte(image.Value, '/')+1:]
			_, tag, has := strings.Cut(name, ":")
			if has && tag != "latest" {
				return s.pass("the tag "+tag, s.at(image.Line, image.Value))
			}
			f := s.finding(fabric.Unknown, "which version "+image.Value+" is depends on the day and the node", s.at(image.Line, image.Value))
			f.Severity, f.Expected = fabric.SeverityInfo, "a tag of a release, or a digest"
			return []fabric.Finding{f}
		}),
	}
}

// valueOf is a value as it may be shown: never one of a variable that holds a secret.
func valueOf(e manifest.Env) string {
	if secretName().MatchString(e.Name) || secretValue().MatchString(e.Value.Value) {
		return "(not shown)"
	}
	return e.Value.Value
}
