package apply

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
)

const (
	classYAML    = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: nic}\nspec: {selectors: [{cel: {expression: 'device.driver == \"dra.net\"'}}]}\n"
	templateYAML = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: pair, namespace: jobs}\nspec: {spec: {devices: {requests: [{name: nic}]}}}\n"
	mapYAML      = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: nccl, namespace: jobs}\ndata: {debug: INFO, hca: mlx5}\n"
)

func manifest(texts ...string) []fabric.Artifact {
	return []fabric.Artifact{{Target: fabric.OnKubernetes, Path: "/objects.yaml", Content: []byte(strings.Join(texts, "---\n"))}}
}

// kinds of change, by object.
func kindsOf(a Applied) map[string]Kind {
	got := make(map[string]Kind)
	for _, c := range a.Changes {
		got[c.Path] = c.Kind
	}
	return got
}

// state is what a server has, without what it counts.
func (s *apiServer) state(t *testing.T) map[string]any {
	t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	state := make(map[string]any)
	for path, o := range s.objects {
		c := o.DeepCopy()
		c.SetResourceVersion("")
		c.SetUID("")
		entries := c.GetManagedFields()
		for i := range entries {
			entries[i].Time = nil
		}
		c.SetManagedFields(entries)
		text, err := json.Marshal(c.Object)
		if err != nil {
			t.Fatal(err)
		}
		var plain any
		if err := json.Unmarshal(text, &plain); err != nil {
			t.Fatal(err)
		}
		state[path] = plain
	}
	return state
}

// by puts an object there as another manager does.
func (s *apiServer) by(t *testing.T, manager, text string) {
	t.Helper()
	c := s.cluster(t, t.TempDir())
	objects, err := kube.Parse([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range objects {
		if err := applyAs(c, manager, o); err != nil {
			t.Fatal(err)
		}
	}
}

func passes(t *testing.T, a Applied) {
	t.Helper()
	if a.Status != fabric.Pass || a.Error != "" {
		t.Fatalf("%s: %s %+v", a.Status, a.Error, a.Changes)
	}
}

func TestClusterApplyAndRollback(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	// The map was there before: another manager's, with a field of its own and no hca.
	s.by(t, "kubectl", strings.Replace(mapYAML, "{debug: INFO, hca: mlx5}", "{other: mine}", 1))
	before := s.state(t)
	all := manifest(classYAML, templateYAML, mapYAML)

	dry := c.Look(t.Context(), all)
	want := map[string]Kind{"DeviceClass nic": Create, "ResourceClaimTemplate jobs/pair": Create, "ConfigMap jobs/nccl": Update}
	if diff := cmp.Diff(want, kindsOf(dry)); diff != "" || dry.Status != fabric.Fail {
		t.Fatalf("%s %s %s", dry.Status, dry.Error, diff)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Fatal("a dry run changes the cluster", diff)
	}
	passes(t, c.Write(t.Context(), all))
	passes(t, c.Look(t.Context(), all))
	changes := s.changes
	passes(t, c.Write(t.Context(), all))
	if s.changes != changes {
		t.Error("what is as planned was written again")
	}
	undone, err := c.Rollback(t.Context())
	if err != nil || len(undone) != 3 {
		t.Fatalf("%v %v", undone, err)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Error("a rollback does not put everything back", diff)
	}
	if _, err := c.Rollback(t.Context()); err == nil || !strings.Contains(err.Error(), ErrNoJournal.Error()) {
		t.Error(err)
	}
}

func TestClusterRollbackOfUpdate(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	passes(t, c.Write(t.Context(), manifest(mapYAML)))
	before := s.state(t)
	passes(t, c.Write(t.Context(), manifest(strings.Replace(mapYAML, "{debug: INFO, hca: mlx5}", "{debug: WARN, new: x}", 1))))
	if cmp.Equal(before, s.state(t)) {
		t.Fatal("nothing was changed")
	}
	if _, err := c.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Error(diff)
	}
}

func TestClusterConflict(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	s.by(t, "argo", strings.Replace(mapYAML, "INFO", "TRACE", 1))
	before := s.state(t)
	all := manifest(classYAML, mapYAML)
	const words = `.data.debug belongs to "argo"; --force-conflicts takes them over`
	if dry := c.Look(t.Context(), all); dry.Status != fabric.Fail || dry.Changes[1].Reason != words {
		t.Errorf("%+v", dry)
	}
	if a := c.Write(t.Context(), all); a.Status != fabric.Unknown || a.Error != "ConfigMap jobs/nccl: "+words+": nothing was applied" {
		t.Errorf("%+v", a)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Error(diff)
	}
	c.Force = true
	passes(t, c.Write(t.Context(), all))
	if _, err := c.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Error("what was taken is not given back", diff)
	}
}

func TestClusterImmutable(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	passes(t, c.Write(t.Context(), manifest(templateYAML)))
	before := s.state(t)
	changed := manifest(strings.Replace(templateYAML, "name: nic", "name: other", 1))
	if dry := c.Look(t.Context(), changed); dry.Status != fabric.Fail || dry.Changes[0].Kind != Replace || dry.Changes[0].Reason != "spec: is immutable; --replace deletes it and makes it anew" {
		t.Errorf("%+v", dry)
	}
	if a := c.Write(t.Context(), changed); a.Status != fabric.Unknown || !strings.Contains(a.Error, "--replace") {
		t.Errorf("%+v", a)
	}
	c.Replace = true
	passes(t, c.Write(t.Context(), changed))
	if cmp.Equal(before, s.state(t)) {
		t.Fatal("was not replaced")
	}
	if _, err := c.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Error(diff)
	}
}

func TestClusterPrune(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	s.by(t, "kubectl", "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: copied, namespace: jobs, labels: {railwright.dev/plan: pod1}}\n")
	passes(t, c.Write(t.Context(), manifest(classYAML, mapYAML)))
	before := s.state(t)
	less := manifest(classYAML)
	a := c.Write(t.Context(), less)
	if passes(t, a); len(a.Others) != 1 || a.Others[0] != "ConfigMap jobs/nccl: the plan no longer has it; --prune deletes it" {
		t.Errorf("%q", a.Others)
	}
	c.Prune = true
	if dry := c.Look(t.Context(), less); kindsOf(dry)["ConfigMap jobs/nccl"] != Remove || dry.Status != fabric.Fail {
		t.Errorf("%+v", dry)
	}
	passes(t, c.Write(t.Context(), less))
	if s.objects["/api/v1/namespaces/jobs/configmaps/nccl"] != nil || s.objects["/api/v1/namespaces/jobs/configmaps/copied"] == nil {
		t.Error("what is not of railwright was pruned, or what is was not")
	}
	if _, err := c.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Error(diff)
	}
}

func TestClusterChangedSince(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	passes(t, c.Write(t.Context(), manifest(classYAML, mapYAML)))
	s.objects["/api/v1/namespaces/jobs/configmaps/nccl"].Object["data"].(map[string]any)["debug"] = "TRACE"
	before := s.state(t)
	if _, err := c.Rollback(t.Context()); err == nil || !strings.Contains(err.Error(), "ConfigMap jobs/nccl: changed since it was applied: .data.debug: nothing was rolled back") {
		t.Error(err)
	}
	if diff := cmp.Diff(before, s.state(t)); diff != "" {
		t.Error(diff)
	}
}

// Every change of an apply fails in turn, before it is made or with its answer lost, and those after it too, as if the
// process had been killed there. The next rollback or apply ends it.
func TestClusterKilled(t *testing.T) {
	for _, lose := range []bool{false, true} {
		for failAt := 1; failAt <= 4; failAt++ {
			for _, again := range []bool{false, true} {
				s := newAPIServer(t)
				folder := t.TempDir()
				c := s.cluster(t, folder)
				c.Replace = true
				s.by(t, "kubectl", strings.Replace(mapYAML, "{debug: INFO, hca: mlx5}", "{other: mine}", 1))
				passes(t, c.Write(t.Context(), manifest(templateYAML)))
				before := s.state(t)
				all := manifest(classYAML, mapYAML, strings.Replace(templateYAML, "name: nic", "name: other", 1))
				s.changes, s.failAt, s.lose = 0, failAt, lose
				if a := c.Write(t.Context(), all); a.Status != fabric.Unknown {
					t.Fatalf("failing at %d: %+v", failAt, a)
				}
				s.failAt = 0
				c = s.cluster(t, folder)
				c.Replace = true
				if again {
					passes(t, c.Write(t.Context(), all))
					passes(t, c.Look(t.Context(), all))
				}
				if interrupted, err := Interrupted(c.folder()); again == interrupted && again || err != nil {
					t.Errorf("failing at %d: still open: %v", failAt, err)
				}
				if entries, err := os.ReadDir(c.folder()); err == nil && len(entries) > 1 {
					if _, err := c.Rollback(t.Context()); err != nil {
						t.Fatalf("failing at %d, answer lost %v: %v", failAt, lose, err)
					}
				}
				if diff := cmp.Diff(before, s.state(t)); diff != "" {
					t.Errorf("failing at %d, answer lost %v, applied again %v: %s", failAt, lose, again, diff)
				}
			}
		}
	}
}

func TestClusterKilledRollback(t *testing.T) {
	for _, lose := range []bool{false, true} {
		for failAt := 1; failAt <= 6; failAt++ {
			s := newAPIServer(t)
			c := s.cluster(t, t.TempDir())
			c.Replace = true
			s.by(t, "kubectl", strings.Replace(mapYAML, "{debug: INFO, hca: mlx5}", "{other: mine}", 1))
			passes(t, c.Write(t.Context(), manifest(templateYAML)))
			before := s.state(t)
			passes(t, c.Write(t.Context(), manifest(classYAML, mapYAML, strings.Replace(templateYAML, "name: nic", "name: other", 1))))
			s.changes, s.failAt, s.lose = 0, failAt, lose
			_, err := c.Rollback(t.Context())
			s.failAt = 0
			if err != nil {
				if _, err = c.Rollback(t.Context()); err != nil {
					t.Fatalf("failing at %d, answer lost %v: %v", failAt, lose, err)
				}
			}
			if diff := cmp.Diff(before, s.state(t)); diff != "" {
				t.Errorf("failing at %d, answer lost %v: %s", failAt, lose, diff)
			}
		}
	}
}

func TestClusterBadObjects(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	for name, test := range map[string]struct{ text, want string }{
		"old version": {strings.Replace(templateYAML, "/v1", "/v1beta1", 1), "the cluster does not serve this kind in resource.k8s.io/v1beta1; of resource.k8s.io it serves: v1"},
		"new group":   {strings.Replace(templateYAML, "resource.k8s.io", "example.com", 1), "the cluster does not serve example.com"},
		"twice":       {mapYAML + "---\n" + mapYAML, "ConfigMap jobs/nccl: is there twice"},
		"not YAML":    {"a: [", `"/objects.yaml": document 1`},
	} {
		for _, apply := range []func() Applied{func() Applied { return c.Look(t.Context(), manifest(test.text)) }, func() Applied { return c.Write(t.Context(), manifest(test.text)) }} {
			a := apply()
			text := a.Error
			for _, change := range a.Changes {
				text += change.Reason
			}
			if a.Status != fabric.Unknown || !strings.Contains(text, test.want) {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
	s.Close()
	if a := c.Look(t.Context(), manifest(mapYAML)); a.Status != fabric.Unknown || !strings.Contains(a.Error, "connection refused") {
		t.Errorf("%+v", a)
	}
}

func TestClusterPodsPending(t *testing.T) {
	s := newAPIServer(t)
	s.node(t, "n1", "")
	c := s.cluster(t, t.TempDir())
	a := c.Write(t.Context(), manifest("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: nccl, namespace: jobs}\nspec: {replicas: 2, selector: {matchLabels: {app: nccl}}}\n"))
	if a.Status != fabric.Fail || a.Activation == nil || a.Activation.Pending[0] != "StatefulSet jobs/nccl: 0 of 2 pods ready after 100ms" {
		t.Errorf("%+v", a)
	}
}

// The scheduler has no machine for a pod: that is said at once, and not waited for as long as for an image.
func TestClusterNoMachine(t *testing.T) {
	s := newAPIServer(t)
	s.node(t, "n1", "")
	c := s.cluster(t, t.TempDir())
	const words = "no nodes available to schedule pods"
	pod := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": "Pod",
		"metadata": map[string]any{"name": "nccl-0", "namespace": "jobs", "labels": map[string]any{"app": "nccl"}},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "PodScheduled", "status": "False", "message": words}}}}}
	s.objects["/api/v1/namespaces/jobs/pods/nccl-0"] = pod
	var said []string
	c.Ready, c.Placed = time.Minute, 0
	c.Say = func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }
	began := time.Now()
	a := c.Write(t.Context(), manifest("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: nccl, namespace: jobs}\nspec: {replicas: 2, selector: {matchLabels: {app: nccl}}}\n"))
	if took := time.Since(began); took > 30*time.Second {
		t.Errorf("waited %s for a machine", took)
	}
	if a.Activation == nil || !strings.Contains(a.Activation.Pending[0], words) || len(said) != 2 || !strings.Contains(said[1], words) {
		t.Errorf("%+v, said %q", a, said)
	}
}

func TestWorkstation(t *testing.T) {
	scripts := []fabric.Artifact{{Path: "/gke-down.sh", File: "workstation/gke-down.sh"}, {File: "workstation/gke-up.sh", Content: []byte("#!/bin/bash\n")}, {File: "workstation/run.sh"}}
	a := Workstation(scripts, true)
	if a.Status != fabric.NotApplicable || len(a.Scripts) != 3 || a.Scripts[2].File != "workstation/gke-down.sh" || a.Scripts[0] != (Script{File: "workstation/gke-up.sh", Text: "#!/bin/bash\n"}) {
		t.Errorf("%+v", a)
	}
	if a := Workstation(scripts, false); a.Scripts[0].Text != "" {
		t.Errorf("%+v", a)
	}
}
