package apply

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/fabric"
)

const (
	setYAML = "apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: nccl, namespace: jobs}\nspec: {replicas: 1, selector: {matchLabels: {app: nccl}}}\n"
	jobYAML = "apiVersion: batch/v1\nkind: Job\nmetadata: {name: load, namespace: jobs}\nspec: {completions: 1}\n"
	setPath = "/apis/apps/v1/namespaces/jobs/statefulsets/nccl"
	jobPath = "/apis/batch/v1/namespaces/jobs/jobs/load"
	podPath = "/api/v1/namespaces/jobs/pods/nccl-0"
)

const podHead = "apiVersion: v1\nkind: Pod\nmetadata: {name: nccl-0, namespace: jobs, uid: pod-uid, labels: {app: nccl}}\n"

func eventYAML(uid, reason, message string) string {
	return fmt.Sprintf("apiVersion: v1\nkind: Event\nmetadata: {name: %s.1, namespace: jobs}\ninvolvedObject: {uid: %s}\nreason: %s\nmessage: %q\ntype: Warning\ncount: 7\nlastTimestamp: %s\n",
		strings.ToLower(reason), uid, reason, message, time.Now().Add(-time.Minute).UTC().Format(time.RFC3339))
}

// What keeps a pod from running is named with events and log, and ends the wait before its time.
func TestClusterUnready(t *testing.T) {
	waiting := func(reason, message, last string) string {
		return podHead + fmt.Sprintf("spec: {containers: [{name: main}]}\nstatus: {phase: Pending, containerStatuses: [{name: main, restartCount: 3, state: {waiting: {reason: %s, message: %q}}%s}]}\n", reason, message, last)
	}
	const crashed = ", lastState: {terminated: {exitCode: 137, reason: OOMKilled}}"
	for name, test := range map[string]struct {
		pod, event string
		text       []string // of the pending entry
		events     string
		log        string
	}{
		"image": {waiting("ImagePullBackOff", `Back-off pulling image "a/b:c"`, ""), eventYAML("pod-uid", "Failed", "manifest unknown"),
			[]string{"0 of 1 pods ready; Pod jobs/nccl-0: container main: ImagePullBackOff: Back-off pulling image"}, "Pod jobs/nccl-0: Failed: manifest unknown (7 times) (1m", ""},
		"crash":     {waiting("CrashLoopBackOff", "back-off 40s", crashed), "", []string{"CrashLoopBackOff", "it ended with exit status 137 (OOMKilled)"}, "", "CUDA out of memory"},
		"no secret": {waiting("CreateContainerConfigError", `secret "hf" not found`, ""), "", []string{`container main: CreateContainerConfigError: secret "hf" not found`}, "", ""},
		"mount": {podHead + "status: {phase: Pending, containerStatuses: [{name: main, state: {waiting: {reason: ContainerCreating}}}]}\n", eventYAML("pod-uid", "FailedMount", "timed out"),
			[]string{"Pod jobs/nccl-0: FailedMount: timed out"}, "FailedMount: timed out", ""},
		"quota": {"", eventYAML("set-uid", "FailedCreate", `pods "nccl-0" is forbidden: violates PodSecurity "baseline:latest": privileged`),
			[]string{"0 of 1 pods ready; FailedCreate: pods", "violates PodSecurity"}, "StatefulSet jobs/nccl: FailedCreate", ""},
		"not ready": {podHead + "status: {phase: Running, conditions: [{type: Ready, status: \"False\"}], containerStatuses: [{name: main, ready: false, state: {running: {}}}]}\n", "",
			[]string{"0 of 1 pods ready after 200ms"}, "", "loading weights"},
		"gone quiet": {"", "", []string{"0 of 1 pods ready after 200ms"}, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			s.node(t, "n1", "")
			s.logs = map[string]string{
				podPath + "/log main true": "starting\nCUDA out of memory\n",
				podPath + "/log main ":     "loading weights\n",
			}
			c := s.cluster(t, t.TempDir())
			c.Ready, c.Placed = 200*time.Millisecond, 0
			s.put(t, setPath, strings.Replace(setYAML, "namespace: jobs", "namespace: jobs, uid: set-uid", 1))
			if test.pod != "" {
				s.put(t, podPath, test.pod)
			}
			if test.event != "" {
				s.put(t, "/api/v1/namespaces/jobs/events/one", test.event)
			}
			a := c.Write(t.Context(), manifest(setYAML))
			if a.Status != fabric.Fail || a.Activation == nil || len(a.Activation.Unready) != 1 {
				t.Fatalf("%+v", a)
			}
			u := a.Activation.Unready[0]
			for _, words := range test.text {
				if !strings.Contains(a.Activation.Pending[0], words) {
					t.Errorf("%q does not say %q", a.Activation.Pending[0], words)
				}
			}
			if all := strings.Join(u.Events, "\n"); test.events == "" && all != "" || !strings.Contains(all, test.events) {
				t.Errorf("events %q, want %q", all, test.events)
			}
			if all := strings.Join(u.Log, "\n"); test.log == "" && all != "" || !strings.Contains(all, test.log) {
				t.Errorf("log %q, want %q", all, test.log)
			}
		})
	}
}

// The namespace that a person may not read does not turn into a pass or an error of ours.
func TestClusterUnreadyUnread(t *testing.T) {
	s := newAPIServer(t)
	s.node(t, "n1", "")
	c := s.cluster(t, t.TempDir())
	s.put(t, podPath, podHead+"status: {phase: Failed, reason: Evicted, message: low on memory}\n")
	passes(t, func() Applied { a := c.Write(t.Context(), manifest(mapYAML)); return a }())
	s.forbidden = "/events"
	a := c.Write(t.Context(), manifest(setYAML))
	if a.Status != fabric.Fail || !strings.Contains(a.Activation.Pending[0], "failed: Evicted: low on memory") || !strings.Contains(strings.Join(a.Activation.Unready[0].Events, " "), "unknown") {
		t.Errorf("%+v", a.Activation)
	}
}

// Each object is waited for as long as it says, unless a person says how long.
func TestClusterReadyWithin(t *testing.T) {
	within := func(text string) string {
		return strings.Replace(jobYAML, "namespace: jobs", `namespace: jobs, annotations: {railwright.dev/ready-within: "`+text+`"}`, 1)
	}
	s := newAPIServer(t)
	s.node(t, "n1", "")
	c := s.cluster(t, t.TempDir())
	began := time.Now()
	a := c.Write(t.Context(), manifest(within("1200ms")))
	if took := time.Since(began); took < 1200*time.Millisecond || a.Status != fabric.Fail || !strings.HasSuffix(a.Activation.Pending[0], "after 1.2s") {
		t.Errorf("%s: %+v", took, a.Activation)
	}
	c.Ready, c.ReadyAsked = 50*time.Millisecond, true
	if a := c.Write(t.Context(), manifest(within("1h"))); a.Status != fabric.Fail || !strings.HasSuffix(a.Activation.Pending[0], "after 50ms") {
		t.Errorf("%+v", a)
	}
	for _, bad := range []string{"45", "-1m", "0s", "", "soon"} {
		if a := c.Write(t.Context(), manifest(within(bad))); a.Status != fabric.Unknown || !strings.Contains(a.Error, "is not a duration above 0") || !strings.Contains(a.Error, "nothing was applied") {
			t.Errorf("%q: %+v", bad, a)
		}
	}
}

func same(t *testing.T, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func after(text, of string) string {
	return strings.Replace(text, "namespace: jobs", `namespace: jobs, annotations: {railwright.dev/after: "`+of+`"}`, 1)
}

// What comes after a job is not applied before the job is complete; a rollback takes both back.
func TestClusterTurns(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	before := s.state(t)
	s.node(t, "n1", "")
	all := manifest(after(mapYAML, "Job/load"), jobYAML)
	a := c.Write(t.Context(), all)
	if a.Status != fabric.Fail || len(a.Changes) != 1 || len(a.Activation.Pending) != 2 || !strings.Contains(a.Activation.Pending[1], "ConfigMap jobs/nccl: not applied: Job jobs/load is not ready") {
		t.Fatalf("%+v %+v", a, a.Activation)
	}
	s.status(t, jobPath, "{conditions: [{type: Complete, status: \"True\"}]}")
	time.Sleep(20 * time.Millisecond)
	passes(t, c.Write(t.Context(), all))
	passes(t, c.Look(t.Context(), all))
	for range 2 { // the repeated apply was one of its own
		if _, err := c.Rollback(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	delete(s.objects, "/api/v1/nodes/n1")
	same(t, before, s.state(t))

	// In one go: one rollback.
	s.node(t, "n1", "")
	c.Ready = 5 * time.Second
	s.status(t, jobPath, "{conditions: [{type: Complete, status: \"True\"}]}")
	passes(t, c.Write(t.Context(), all))
	undone, err := c.Rollback(t.Context())
	if err != nil || len(undone) != 2 || undone[0].Path != "ConfigMap jobs/nccl" {
		t.Fatalf("%v %v", undone, err)
	}
	delete(s.objects, "/api/v1/nodes/n1")
	same(t, before, s.state(t))
}

// A job that failed ends the wait at once, and so does an interrupt; what was applied is kept, and the next apply goes on.
func TestClusterTurnsEnded(t *testing.T) {
	s := newAPIServer(t)
	s.node(t, "n1", "")
	c := s.cluster(t, t.TempDir())
	c.Ready = time.Minute
	s.status(t, jobPath, "{failed: 3, conditions: [{type: Failed, status: \"True\", reason: BackoffLimitExceeded}]}")
	began := time.Now()
	a := c.Write(t.Context(), manifest(jobYAML, after(mapYAML, "Job/load")))
	if a.Status != fabric.Fail || !strings.Contains(a.Activation.Pending[0], "3 failed; BackoffLimitExceeded") || time.Since(began) > 20*time.Second {
		t.Errorf("%+v", a)
	}
	if s.objects["/api/v1/namespaces/jobs/configmaps/nccl"] != nil {
		t.Error("was applied")
	}
	s = newAPIServer(t)
	s.node(t, "n1", "")
	c = s.cluster(t, t.TempDir())
	c.Ready = time.Minute
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	a = c.Write(ctx, manifest(jobYAML, after(mapYAML, "Job/load")))
	if a.Status != fabric.Fail || s.objects[jobPath] == nil || len(a.Activation.Pending) != 2 {
		t.Errorf("%+v", a)
	}
	if interrupted, err := Interrupted(c.folder()); interrupted || err != nil {
		t.Error("the journal is open", err)
	}
}

func TestClusterTurnsRefused(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	for name, test := range map[string]struct{ text, want string }{
		"nobody":   {after(mapYAML, "Job/other"), "Job jobs/other is not an object of this plan"},
		"no kind":  {after(mapYAML, "load"), "does not name objects as KIND/NAME"},
		"empty":    {after(mapYAML, ""), "does not name objects as KIND/NAME"},
		"itself":   {after(mapYAML, "ConfigMap/nccl"), "in a circle"},
		"a circle": {after(mapYAML, "Job/load") + "---\n" + after(jobYAML, "ConfigMap/nccl"), "in a circle"},
	} {
		for _, a := range []Applied{c.Look(t.Context(), manifest(test.text)), c.Write(t.Context(), manifest(test.text))} {
			if a.Status != fabric.Unknown || !strings.Contains(a.Error, test.want) {
				t.Errorf("%s: %+v", name, a)
			}
		}
	}
	if len(s.objects) != 0 {
		t.Error("something was applied")
	}
}

// A later turn that is cut off is undone alone: what was ready before it stays.
func TestClusterTurnsKilled(t *testing.T) {
	for _, lose := range []bool{false, true} {
		s := newAPIServer(t)
		s.node(t, "n1", "")
		folder := t.TempDir()
		c := s.cluster(t, folder)
		c.Ready = 5 * time.Second
		s.status(t, jobPath, "{conditions: [{type: Complete, status: \"True\"}]}")
		all := manifest(jobYAML, after(mapYAML, "Job/load"))
		s.failAt, s.lose = 2, lose
		if a := c.Write(t.Context(), all); a.Status != fabric.Unknown || !strings.Contains(a.Error, "told to") && !strings.Contains(a.Error, "lost") {
			t.Fatalf("%+v", a)
		}
		s.failAt = 0
		c = s.cluster(t, folder)
		passes(t, c.Write(t.Context(), all))
		if s.objects[jobPath] == nil || s.objects["/api/v1/namespaces/jobs/configmaps/nccl"] == nil {
			t.Error("is not there")
		}
	}
}

// A claim whose class waits for the first pod is not waited for, and unknown kinds are said.
func TestClusterNotWaitedFor(t *testing.T) {
	s := newAPIServer(t)
	c := s.cluster(t, t.TempDir())
	s.put(t, "/apis/storage.k8s.io/v1/storageclasses/local", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local}\n")
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: weights, namespace: jobs}\nspec: {storageClassName: local}\n"
	s.put(t, "/api/v1/namespaces/jobs/persistentvolumeclaims/weights", strings.Replace(claim, "namespace: jobs", "namespace: jobs, uid: claim-uid", 1)+"status: {phase: Pending}\n")
	s.put(t, "/api/v1/namespaces/jobs/events/one", eventYAML("claim-uid", "WaitForFirstConsumer", "waiting"))
	a := c.Write(t.Context(), manifest(claim, "apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a, namespace: jobs}\n"))
	passes(t, a)
	if len(a.Others) != 1 || a.Others[0] != "Thing of example.com/v1: not waited for: when one is ready is unknown here" {
		t.Errorf("%q", a.Others)
	}
	s.put(t, "/api/v1/namespaces/jobs/events/one", eventYAML("claim-uid", "ProvisioningFailed", "no space"))
	if a := c.Write(t.Context(), manifest(claim)); a.Status != fabric.Fail || !strings.Contains(a.Activation.Pending[0], "ProvisioningFailed: no space") {
		t.Errorf("%+v", a)
	}
}
