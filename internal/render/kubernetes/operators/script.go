// Package operators renders what installs the operators of a cluster of Kubernetes: the values of their charts, the objects that go with
// them, and for the person with helm a script that installs all of it and one that removes it. It is pure.
package operators

import (
	_ "embed" // the functions of the scripts
	"fmt"
	"strings"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// Scripts for the machine of the person who has helm and kubectl.
const (
	upPath   = "/operators-up.sh"
	downPath = "/operators-down.sh"
)

//go:embed lib.sh
var operatorsLibrary []byte

//go:embed up.sh
var operatorsUp []byte

//go:embed down.sh
var operatorsDown []byte

// namespacesFile has the namespaces of releases, which are there before them with their labels.
const namespacesFile = "00-namespaces.yaml"

// Up is the script that installs the operators in their order. It waits after each for what the next needs, stops at the first
// thing that fails, and goes on from there when it is run again.
func Up(plan string, o fabric.Operators, nodes []string) fabric.Artifact {
	s := operatorsScript{}
	s.head("Installs the operators of this plan on a cluster of Kubernetes: each at one version, ready on every machine of the plan before the\n"+
		"next. It stops at the first thing that fails. Run it again as often as you like: it goes on from there, and makes the cluster what\n"+
		"the files beside it say. What others installed it never changes. operators-down.sh removes what it made.", plan, o, nodes)
	s.text = append(append(s.text, operatorsUp...), "programs\nreachable\n"...)
	if o.Features != "" {
		s.line("features", o.Features)
	}
	s.line("apply", namespacesFile)
	for _, l := range o.Labels {
		s.comment("\n" + l.Why + ".")
		s.line("label", l.Name, l.Value)
	}
	for _, r := range o.Releases {
		s.comment("\n" + r.Title + ". " + r.Why + " Version and place: " + r.Source)
		if r.UpgradesFrom != "" {
			s.line("keeps", r.Name, r.Namespace, r.UpgradesFrom, r.UpgradeLoses)
		}
		words := []string{r.Name, r.Chart, r.Version, r.Namespace}
		if r.Repository != "" {
			words = append(words, r.Repository)
		}
		s.line("release", words...)
		for _, f := range r.Objects {
			s.line("apply", f)
		}
		s.waits(r.Ready)
	}
	if p := o.Plugin; p != nil {
		s.comment("\nThe RDMA shared device plugin.")
		s.line("apply", fabric.NICPluginFile)
		s.waits(p.Ready)
	}
	s.text = append(s.text, "\nsay \"done: every operator is ready. Next: railwright apply -f FILE --context $context\"\n"...)
	return kubernetes.NewArtifact(fabric.OnWorkstation, upPath, kubernetes.ModeProgram, s.text)
}

// Down is the script that removes what Up makes, in the opposite order, and nothing else.
func Down(plan string, o fabric.Operators, nodes []string) fabric.Artifact {
	s := operatorsScript{}
	s.head("Removes the operators of this plan, and nothing that was not installed for it. Without --yes it only says what it would remove. It\n"+
		"stops at the first thing that fails; run again, it goes on from there. Namespaces stay, and definitions of kinds with all that is\n"+
		"of these kinds: others may use them. End what uses GPUs and NICs first: its pods lose them.", plan, o, nodes)
	s.text = append(append(s.text, operatorsDown...), "programs\nreachable\n"...)
	if o.Plugin != nil {
		s.line("remove_objects", fabric.NICPluginFile)
	}
	for i := len(o.Releases) - 1; i >= 0; i-- {
		r := o.Releases[i]
		s.line("remove_release", append([]string{r.Name, r.Namespace}, r.Objects...)...)
	}
	for _, l := range o.Labels {
		s.line("unlabel", l.Name)
	}
	s.text = append(s.text, `
if [ "$left" -eq 0 ]; then
	say "nothing of this plan is left"
elif [ "$sure" != --yes ]; then
	say "nothing was removed. With --yes it is: $0 $context --yes"
fi
`...)
	return kubernetes.NewArtifact(fabric.OnWorkstation, downPath, kubernetes.ModeProgram, s.text)
}

// operatorsScript is a script in the making.
type operatorsScript struct{ text []byte }

func (s *operatorsScript) head(what, plan string, o fabric.Operators, nodes []string) {
	s.text = append(s.text, "#!/usr/bin/env bash\n# Written by railwright from the plan; a change here is lost when it is rendered again.\n"...)
	s.comment(what)
	s.text = append(s.text, "set -euo pipefail\n\n"...)
	for _, v := range [][2]string{{"plan", plan}, {"version", o.Kubernetes}, {"api", o.API}} {
		s.text = fmt.Appendf(s.text, "%s=%s\n", v[0], fabric.ShellWord(v[1]))
	}
	s.text = append(s.text, "context=           # of the kubeconfig\n"+
		"pause=${PAUSE:-15} # seconds between two looks at the cluster\n"+
		"rollout=15m        # for the programs of a release\n"+
		"# shellcheck disable=SC2034 # not every script reads all of them\n: \"$pause\" \"$rollout\"\n\n"...)
	s.text = append(s.text, operatorsLibrary...)
	s.text = append(s.text, "\n# The machines of the plan.\ncat >\"$work/nodes\" <<'end of nodes'\n"+strings.Join(nodes, "\n")+"\nend of nodes\n\n"...)
}

func (s *operatorsScript) comment(text string) {
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" {
			s.text = append(s.text, '\n')
			continue
		}
		s.text = append(s.text, kubernetes.Comment(line)...)
	}
}

// line writes a call of a function.
func (s *operatorsScript) line(function string, words ...string) {
	s.text = append(s.text, function...)
	for _, w := range words {
		s.text = append(s.text, " "+fabric.ShellWord(w)...)
	}
	s.text = append(s.text, '\n')
}

func (s *operatorsScript) waits(all []fabric.Readiness) {
	for _, r := range all {
		minutes := fmt.Sprint(r.Minutes)
		switch {
		case r.Object != "":
			s.line("state", r.Object, minutes, r.What)
		case r.Resource != "":
			s.line("every", minutes, r.What, "with_resource", r.Resource, fmt.Sprint(r.Least))
		default:
			s.line("every", minutes, r.What, "with_slices", r.Slices)
		}
	}
}
