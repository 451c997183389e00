package pipeline

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
)

func TestBeyondMachines(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	objects := []fabric.Artifact{{Target: fabric.OnKubernetes, Path: "/10-classes.yaml"}}
	scripts := []fabric.Artifact{{Target: fabric.OnWorkstation, Path: "/up.sh", File: "workstation/up.sh"}}
	both := Kubernetes{kubernetes: objects, workstation: scripts, Doing: func(string, ...any) {}}
	lab, dry := both, both
	lab.InLab, dry.DryRun = true, true
	for name, test := range map[string]struct {
		results []apply.Applied
		status  fabric.Status
		words   string
	}{
		"no cluster":      {both.Apply(t.Context()), fabric.Unknown, `no cluster given: KUBECONFIG "/nowhere"`},
		"dry, no cluster": {dry.Apply(t.Context()), fabric.Unknown, "use --kubeconfig FILE"},
		"in the lab":      {lab.Apply(t.Context()), fabric.NotApplicable, "a lab has no API server"},
		"run of all":      {both.NotNow(), fabric.Unknown, "railwright apply -f FILE"},
		"run in the lab":  {lab.NotNow(), fabric.NotApplicable, "a lab has no API server"},
	} {
		if len(test.results) != 2 || test.results[0].Node != fabric.OnKubernetes || test.results[1].Node != fabric.OnWorkstation {
			t.Errorf("%s: %+v", name, test.results)
			continue
		}
		if r := test.results[0]; r.Status != test.status || !strings.Contains(r.Error+r.Reason, test.words) {
			t.Errorf("%s: %+v", name, r)
		}
		if r := test.results[1]; r.Status != fabric.NotApplicable || len(r.Scripts) != 1 {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if got := (Kubernetes{}).Apply(t.Context()); got != nil {
		t.Errorf("of a plan without objects: %+v", got)
	}
}
