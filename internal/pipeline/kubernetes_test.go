package pipeline

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
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

// A plan of a cluster that a cloud makes goes to that cluster, or to one that a person names.
func TestContextOfPlan(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "")
	const own = "gke_proj-1_us-central1-b_train"
	cloud := &fabric.Plan{Name: "train", Cloud: &fabric.Cloud{Project: "proj-1", Zone: "us-central1-b", Location: "us-central1-b", Cluster: "train"}}
	unset := &fabric.Plan{Cloud: &fabric.Cloud{Project: fabric.PlaceholderProject, Location: "us-central1-b", Cluster: "train"}}
	file := func(current string, contexts ...string) string {
		name := filepath.Join(t.TempDir(), "config")
		text := "apiVersion: v1\nkind: Config\ncurrent-context: \"" + current + "\"\nclusters: [{name: a, cluster: {server: https://192.0.2.1}}]\ncontexts:\n"
		for _, c := range contexts {
			text += "- {name: " + c + ", context: {cluster: a}}\n"
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return name
	}
	get := "gcloud container clusters get-credentials train --location us-central1-b --project proj-1"
	for name, test := range map[string]struct {
		plan          *fabric.Plan
		file, context string
		want          string
		words         []string // of the refusal; none: it is not refused
	}{
		"its own":                {plan: cloud, file: file(own, own, "prod"), want: own},
		"none is current":        {plan: cloud, file: file("", own, "prod"), want: own},
		"another is current":     {plan: cloud, file: file("prod", own, "prod"), words: []string{`"prod"`, own, get, "--context"}},
		"it has not got it":      {plan: cloud, file: file("prod", "prod"), words: []string{`"prod"`, own, get, "--context"}},
		"no contexts":            {plan: cloud, file: file(""), words: []string{"none", own, get}},
		"a person says another":  {plan: cloud, file: file("prod", own, "prod"), context: "prod", want: "prod"},
		"project is not set":     {plan: unset, file: file("prod", "prod"), words: []string{"gke.project is still"}},
		"no cloud":               {plan: &fabric.Plan{}, file: file("prod", "prod")},
		"a rollback has no plan": {file: file("prod", "prod")},
		"no such file":           {plan: cloud, file: "/nowhere", words: []string{"no such file"}},
	} {
		got, err := Kubernetes{Kubeconfig: test.file, Context: test.context, plan: test.plan}.chosenContext()
		if got != test.want || (err != nil) != (test.words != nil) {
			t.Errorf("%s: %q, %v; want %q", name, got, err, test.want)
			continue
		}
		for _, w := range test.words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: %v: does not name %s", name, err, w)
			}
		}
	}
	refused := Kubernetes{Kubeconfig: file("prod", own, "prod"), plan: cloud, kubernetes: []fabric.Artifact{{Target: fabric.OnKubernetes}}}
	for _, r := range []apply.Applied{refused.Apply(t.Context())[0]} {
		if r.Status != fabric.Unknown || !strings.Contains(r.Error, get) {
			t.Errorf("%+v", r)
		}
	}
}

// The API server and the context are said before anything is asked of the cluster.
func TestPlaceIsSaidFirst(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	asked := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { asked = true; w.WriteHeader(http.StatusForbidden) }))
	defer server.Close()
	name := filepath.Join(t.TempDir(), "config")
	text := "apiVersion: v1\nkind: Config\ncurrent-context: mine\nclusters: [{name: a, cluster: {server: \"" + server.URL + "\"}}]\ncontexts: [{name: mine, context: {cluster: a}}]\n"
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	k := Kubernetes{Kubeconfig: name, plan: &fabric.Plan{Name: "p"}, Doing: func(string, ...any) {}}
	k.Say = func(format string, args ...any) {
		if asked {
			t.Error("was asked before")
		}
		said = append(said, fmt.Sprintf(format, args...))
	}
	k.kubernetes = []fabric.Artifact{{Target: fabric.OnKubernetes, Path: "/a.yaml", Content: []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n")}}
	k.Apply(t.Context())
	asked = false
	if _, err := k.Rollback(t.Context()); err == nil {
		t.Error("rolled back what was not applied")
	}
	place := "API server " + server.URL + ", context mine"
	if len(said) != 2 || said[0] != "applying to "+place || said[1] != "rolling back at "+place {
		t.Errorf("%q", said)
	}
}
