package rollout

import (
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func asJSON(t testing.TB, text string) []byte {
	t.Helper()
	out, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return out
}

// Of each kind: what is ready, what is not yet, what never gets ready, and what does not go on.
func TestOf(t *testing.T) {
	condition := func(kind, status, more string) string {
		return "{conditions: [{type: " + kind + ", status: \"" + status + "\"" + more + "}]}"
	}
	for _, test := range []struct {
		group, kind, text    string
		ready                bool
		words, failed, stuck string
	}{
		{"", "Namespace", "{status: {phase: Active}}", true, "", "", ""},
		{"", "Namespace", "{status: {phase: Terminating}}", false, "", "being deleted", ""},
		{"", "PersistentVolumeClaim", "{status: {phase: Bound}}", true, "", "", ""},
		{"", "PersistentVolumeClaim", "{status: {phase: Pending}}", false, "no volume yet", "", ""},
		{"", "PersistentVolumeClaim", "{status: {phase: Lost}}", false, "", "volume is gone", ""},
		{"", "PersistentVolumeClaim", "{}", false, "has not seen it", "", ""},
		{"", "Service", "{spec: {type: ClusterIP}}", true, "", "", ""},
		{"", "Service", "{spec: {type: LoadBalancer}}", false, "0 addresses", "", ""},
		{"", "Service", "{spec: {type: LoadBalancer}, status: {loadBalancer: {ingress: [{ip: 10.0.0.1}]}}}", true, "", "", ""},
		{"", "Pod", "{status: {phase: Running}}", false, "phase Running", "", ""},
		{"", "Pod", "{status: {phase: Running, conditions: [{type: Ready, status: \"True\"}]}}", true, "", "", ""},
		{"", "Pod", "{status: {phase: Succeeded}}", true, "", "", ""},
		{"", "Pod", "{status: {phase: Failed, reason: Evicted, message: disk}}", false, "", "Evicted: disk", ""},

		{"apps", "StatefulSet", "{spec: {replicas: 2}, status: {readyReplicas: 1}}", false, "1 of 2 pods ready", "", ""},
		{"apps", "StatefulSet", "{spec: {replicas: 2}, status: {readyReplicas: 2}}", true, "", "", ""},
		{"apps", "StatefulSet", "{status: {readyReplicas: 1}}", true, "", "", ""},
		{"apps", "StatefulSet", "{spec: {replicas: 0}}", true, "", "", ""},
		{"apps", "StatefulSet", "{metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 1, readyReplicas: 2}}", false, "has not seen it", "", ""},
		{"apps", "StatefulSet", "{spec: {replicas: 2}, status: {readyReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}}", false, "1 of 2 pods are of the new template", "", ""},
		{"apps", "StatefulSet", "{spec: {replicas: 2, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}, status: {readyReplicas: 2, updatedReplicas: 1, currentRevision: a, updateRevision: b}}", true, "", "", ""},
		{"apps", "StatefulSet", "{spec: {replicas: 2, updateStrategy: {type: OnDelete}}, status: {readyReplicas: 2, currentRevision: a, updateRevision: b}}", true, "", "", ""},
		{"apps", "DaemonSet", "{status: {desiredNumberScheduled: 3, numberReady: 3, updatedNumberScheduled: 3}}", true, "", "", ""},
		{"apps", "DaemonSet", "{status: {desiredNumberScheduled: 3, numberReady: 3, updatedNumberScheduled: 1}}", false, "1 of 3 pods are of the new template", "", ""},
		{"apps", "DaemonSet", "{status: {}}", false, "no pods", "", "no node is one for its pods"},
		{"apps", "Deployment", "{status: {readyReplicas: 1, availableReplicas: 1, updatedReplicas: 1}}", true, "", "", ""},
		{"apps", "Deployment", "{status: {readyReplicas: 1, availableReplicas: 1}}", false, "0 of 1 pods are of the new template", "", ""},
		{"apps", "Deployment", "{status: " + condition("Progressing", "False", ", reason: ProgressDeadlineExceeded, message: late") + "}", false, "", "", "ProgressDeadlineExceeded: late"},
		{"apps", "Deployment", "{status: " + condition("ReplicaFailure", "True", ", reason: FailedCreate, message: quota") + "}", false, "", "", "FailedCreate: quota"},

		{"batch", "Job", "{status: {active: 1}}", false, "0 of 1 pods done, 1 running", "", ""},
		{"batch", "Job", "{spec: {completions: 3}, status: {succeeded: 2, failed: 1}}", false, "2 of 3 pods done, 0 running, 1 failed", "", ""},
		{"batch", "Job", "{status: " + condition("Complete", "True", "") + "}", true, "", "", ""},
		{"batch", "Job", "{status: " + condition("Complete", "False", "") + "}", false, "", "", ""},
		{"batch", "Job", "{status: " + condition("Failed", "True", ", reason: BackoffLimitExceeded, message: m") + "}", false, "", "BackoffLimitExceeded: m", ""},
		{"batch", "Job", "{status: " + condition("Suspended", "True", "") + "}", false, "suspended", "", ""},
		{"kubeflow.org", "MPIJob", "{status: {}}", false, "has not seen it", "", ""},
		{"kubeflow.org", "MPIJob", "{status: {replicaStatuses: {Worker: {active: 1}, Launcher: {failed: 2}}}}", false, "launcher: 0 running, 0 done, 2 failed; worker: 1 running", "", ""},
		{"kubeflow.org", "MPIJob", "{status: " + condition("Running", "True", "") + "}", true, "", "", ""},
		{"kubeflow.org", "MPIJob", "{status: {conditions: [{type: Running, status: \"True\"}, {type: Failed, status: \"True\", reason: MPIJobFailed}]}}", false, "", "MPIJobFailed", ""},
		{"jobset.x-k8s.io", "JobSet", "{spec: {replicatedJobs: [{name: a, replicas: 2}]}, status: {replicatedJobsStatus: [{name: a, ready: 1}]}}", false, "1 of 2 jobs", "", ""},
		{"jobset.x-k8s.io", "JobSet", "{spec: {replicatedJobs: [{name: a, replicas: 2}]}, status: {replicatedJobsStatus: [{name: a, ready: 1, succeeded: 1}]}}", true, "", "", ""},
		{"jobset.x-k8s.io", "JobSet", "{spec: {replicatedJobs: []}}", false, "", "", ""},
		{"jobset.x-k8s.io", "JobSet", "{status: " + condition("Failed", "True", ", reason: FailedJobs") + "}", false, "", "FailedJobs", ""},
		{"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "{spec: {replicas: 2}, status: {readyReplicas: 1, conditions: [{type: Progressing, status: \"True\"}]}}", false, "1 of 2 groups ready", "", ""},
		{"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "{spec: {replicas: 2}, status: {readyReplicas: 2, conditions: [{type: Available, status: \"True\"}]}}", true, "", "", ""},
		{"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "{metadata: {generation: 3}, status: {observedGeneration: 2, readyReplicas: 1, conditions: [{type: Available, status: \"True\"}]}}", false, "has not seen it", "", ""},
		{"leaderworkerset.x-k8s.io", "LeaderWorkerSet", "{status: {readyReplicas: 1, conditions: [{type: Available, status: \"True\"}, {type: UpdateInProgress, status: \"True\"}]}}", false, "0 of the new template", "", ""},
		{"mellanox.com", "NicClusterPolicy", "{status: {state: ready, appliedStates: [{name: a, state: ready}]}}", true, "", "", ""},
		{"mellanox.com", "NicClusterPolicy", "{status: {state: notReady, appliedStates: [{name: state-OFED, state: notReady, message: 1 of 2}, {name: b, state: ready}, {name: c, state: ignore}]}}", false, "1 of 2 parts ready, not state-OFED: 1 of 2", "", ""},
		{"mellanox.com", "NicClusterPolicy", "{status: {state: error, reason: bad, appliedStates: [{name: a, state: error, message: no image}]}}", false, "", "", "a: no image"},
		{"mellanox.com", "NicClusterPolicy", "{status: {state: ignore, reason: Unsupported instance}}", false, "", "Unsupported instance", ""},
		{"mellanox.com", "NicClusterPolicy", "{metadata: {generation: 2}, status: {state: ready, conditions: [{type: Ready, status: \"True\", observedGeneration: 1}]}}", false, "has not seen it", "", ""},
		{"mellanox.com", "NicClusterPolicy", "{}", false, "has not seen it", "", ""},
		{"nvidia.com", "ClusterPolicy", "{status: {state: ready}}", true, "", "", ""},
		{"nvidia.com", "ClusterPolicy", "{status: {state: notReady, conditions: [{type: Ready, status: \"False\", reason: OperandNotReady, message: driver}]}}", false, "state notReady: OperandNotReady: driver", "", ""},
		{"nvidia.com", "ClusterPolicy", "{status: {state: ignored}}", false, "", "there is another one", ""},
		{"kueue.x-k8s.io", "ClusterQueue", "{status: " + condition("Active", "True", "") + "}", true, "", "", ""},
		{"kueue.x-k8s.io", "LocalQueue", "{status: " + condition("Active", "False", ", reason: ClusterQueueDoesNotExist") + "}", false, "", "", "ClusterQueueDoesNotExist"},
		{"kueue.x-k8s.io", "ClusterQueue", "{}", false, "has not seen it", "", ""},
	} {
		s, err := Of(Kind{test.group, test.kind}, asJSON(t, test.text))
		if err != nil || s.Ready != test.ready || !strings.Contains(s.Text, test.words) || !has(s.Failed, test.failed) || !has(s.Stuck, test.stuck) {
			t.Errorf("%s %s: %+v %v", test.kind, test.text, s, err)
		}
	}
}

// has: nothing where nothing is wanted.
func has(text, words string) bool {
	return (text == "") == (words == "") && strings.Contains(text, words)
}

// A text that is no object, or one with values of other types, is an error or not ready: never ready.
func FuzzOf(f *testing.F) {
	for _, text := range []string{"{}", "null", "[]", `"a"`, `{"status": 1}`, `{"status": {"conditions": {}}}`, `{"spec": {"replicas": -5}}`, `{"status":{"phase":"Bound"}}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for k := range readers() {
			s, err := Of(k, []byte(text))
			if err != nil && s.Ready {
				t.Errorf("%v: %q: ready, with error %v", k, text, err)
			}
			if _, err := PodSets(k, []byte(text)); err != nil {
				continue
			}
			TroubleOf([]byte(text))
			Quiet([]byte(text))
			Holds([]byte(text))
		}
	})
}

func TestWaits(t *testing.T) {
	for _, test := range []struct {
		version, kind string
		want          Wait
	}{
		{"v1", "ConfigMap", Stored}, {"v1", "Pod", Waited}, {"batch/v1", "Job", Waited}, {"resource.k8s.io/v1beta1", "DeviceClass", Stored},
		{"batch.volcano.sh/v1alpha1", "Job", Unknown}, {"v1", "Thing", Unknown}, {"", "", Unknown},
	} {
		if got := Waits(KindOf(test.version, test.kind)); got != test.want {
			t.Errorf("%s %s: %d", test.version, test.kind, got)
		}
	}
	for _, k := range stored() {
		if readers()[k] != nil {
			t.Errorf("%v is both", k)
		}
	}
}

func TestTroubleOf(t *testing.T) {
	statuses := func(text string) string { return "{status: {phase: Running, containerStatuses: [" + text + "]}}" }
	for name, test := range map[string]struct {
		pod       string
		words     string // empty: no trouble
		retried   bool
		container string
		previous  bool
	}{
		"fine":        {statuses("{name: a, state: {running: {}}}"), "", false, "", false},
		"creating":    {statuses("{name: a, state: {waiting: {reason: ContainerCreating}}}"), "", false, "", false},
		"no place":    {"{status: {conditions: [{type: PodScheduled, status: \"False\", reason: Unschedulable, message: \"0/3 nodes: 3 Insufficient nvidia.com/gpu.\"}]}}", "Insufficient nvidia.com/gpu", false, "", false},
		"gated":       {"{status: {conditions: [{type: PodScheduled, status: \"False\", reason: SchedulingGated, message: gated}]}}", "", false, "", false},
		"bad image":   {statuses("{name: a, state: {waiting: {reason: InvalidImageName, message: m}}}"), "container a: InvalidImageName: m", false, "", false},
		"init fails":  {"{status: {initContainerStatuses: [{name: i, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, reason: Error}}}]}}", "container i: CrashLoopBackOff; it ended with exit status 1", true, "i", true},
		"a new word":  {statuses("{name: a, state: {waiting: {reason: SomethingNew}}}"), "SomethingNew", true, "", false},
		"just ended":  {statuses("{name: a, state: {terminated: {exitCode: 2, reason: Error}}}"), "container a ended with exit status 2", true, "a", false},
		"done":        {statuses("{name: a, state: {terminated: {exitCode: 0, reason: Completed}}}"), "", false, "", false},
		"being ended": {"{metadata: {deletionTimestamp: \"2026-01-01T00:00:00Z\"}, status: {phase: Failed}}", "", false, "", false},
		"evicted":     {"{status: {phase: Failed, reason: Evicted}}", "failed: Evicted", false, "", false},
		"by signal":   {statuses("{name: a, state: {terminated: {exitCode: 137, signal: 9, reason: OOMKilled}}}"), "signal 9 (OOMKilled)", true, "a", false},
	} {
		got, ok := TroubleOf(asJSON(t, test.pod))
		if ok != (test.words != "") || !strings.Contains(got.Text, test.words) || got.Retried != test.retried || got.Container != test.container || got.Previous != test.previous {
			t.Errorf("%s: %v %+v", name, ok, got)
		}
	}
}

func TestPodSets(t *testing.T) {
	const template = "{spec: {containers: [{name: a, image: b}]}}"
	for name, test := range map[string]struct {
		kind Kind
		text string
		want []string // role and count
	}{
		"set":       {Kind{"apps", "StatefulSet"}, "{spec: {replicas: 3, template: " + template + "}}", []string{" 3"}},
		"daemons":   {Kind{"apps", "DaemonSet"}, "{spec: {template: " + template + "}}", []string{" 0"}},
		"job":       {Kind{"batch", "Job"}, "{spec: {parallelism: 4, completions: 2, template: " + template + "}}", []string{" 2"}},
		"groups":    {Kind{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"}, "{spec: {replicas: 3, leaderWorkerTemplate: {size: 4, workerTemplate: " + template + "}}}", []string{"worker 12"}},
		"leaders":   {Kind{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"}, "{spec: {replicas: 3, leaderWorkerTemplate: {size: 4, leaderTemplate: " + template + ", workerTemplate: " + template + "}}}", []string{"leader 3", "worker 9"}},
		"one alone": {Kind{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"}, "{spec: {leaderWorkerTemplate: {leaderTemplate: " + template + ", workerTemplate: " + template + "}}}", []string{"leader 1"}},
		"mpi":       {Kind{"kubeflow.org", "MPIJob"}, "{spec: {mpiReplicaSpecs: {Worker: {replicas: 4, template: " + template + "}, Launcher: {template: " + template + "}}}}", []string{"launcher 1", "worker 4"}},
		"jobs":      {Kind{"jobset.x-k8s.io", "JobSet"}, "{spec: {replicatedJobs: [{name: w, replicas: 2, template: {spec: {parallelism: 3, template: " + template + "}}}]}}", []string{"w 6"}},
		"none":      {Kind{"", "ConfigMap"}, "{}", nil},
	} {
		sets, err := PodSets(test.kind, asJSON(t, test.text))
		var got []string
		for _, s := range sets {
			got = append(got, s.Role+" "+string(rune('0'+s.Count/10%10))+string(rune('0'+s.Count%10)))
			if len(s.Pod.Spec.Containers) != 1 {
				t.Errorf("%s: %+v", name, s)
			}
		}
		for i := range got {
			got[i] = strings.Replace(got[i], " 0", " ", 1)
		}
		if err != nil || !slices.Equal(got, test.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestRoomFor(t *testing.T) {
	node := func(text string) core.Node {
		n, err := ReadNode(asJSON(t, text))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	const has8 = "status: {allocatable: {cpu: 96, memory: 1Ti, pods: 110, nvidia.com/gpu: 8}}"
	plain := node("{metadata: {labels: {zone: a}}, " + has8 + "}")
	cordoned := node("{spec: {unschedulable: true}, " + has8 + "}")
	tainted := node("{spec: {taints: [{key: nvidia.com/gpu, value: present, effect: NoSchedule}]}, " + has8 + "}")
	starting := node("{spec: {taints: [{key: node.kubernetes.io/not-ready, effect: NoExecute}]}, " + has8 + "}")
	for name, test := range map[string]struct {
		pod   string
		nodes []core.Node
		want  int
	}{
		"two on a node":  {"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 4}}}]}", []core.Node{plain, plain}, 4},
		"by memory":      {"{containers: [{name: a, resources: {requests: {memory: 600Gi}}}]}", []core.Node{plain, plain}, 2},
		"by an init one": {"{initContainers: [{name: i, resources: {requests: {cpu: 90}}}], containers: [{name: a, resources: {requests: {cpu: 1}}}]}", []core.Node{plain}, 1},
		"too large":      {"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 9}}}]}", []core.Node{plain, plain}, 0},
		"cordoned":       {"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]}", []core.Node{cordoned, plain}, 1},
		"tainted":        {"{containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]}", []core.Node{tainted, starting}, 1},
		"tolerated":      {"{tolerations: [{key: nvidia.com/gpu, operator: Exists}], containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]}", []core.Node{tainted}, 1},
		"affinity":       {"{affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [a]}]}]}}}, containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]}", []core.Node{plain, tainted, starting}, 1},
		"none":           {"{containers: [{name: a}]}", nil, 0},
		"asks nothing":   {"{containers: [{name: a}]}", []core.Node{plain}, 110},
	} {
		sets, err := PodSets(Kind{"", "Pod"}, asJSON(t, "{spec: "+test.pod+"}"))
		if err != nil {
			t.Fatal(err)
		}
		room, err := RoomFor(test.nodes, sets[0])
		if err != nil || room.Pods != test.want {
			t.Errorf("%s: %+v, %v; want %d", name, room, err, test.want)
		}
	}
	sets, _ := PodSets(Kind{"", "Pod"}, asJSON(t, "{spec: {containers: [{name: a, resources: {limits: {cpu: 2, rdma/a: 1, nvidia.com/gpu: 8}}}]}}"))
	if got := sets[0].AsksText(); got != "8 nvidia.com/gpu, 1 rdma/a, 2 cpu" {
		t.Error(got)
	}
}

// 10,000 nodes are looked at in the time of a request.
func BenchmarkRoomFor(b *testing.B) {
	n, err := ReadNode(asJSON(b, "{status: {allocatable: {cpu: 96, pods: 110, nvidia.com/gpu: 8}}}"))
	if err != nil {
		b.Fatal(err)
	}
	nodes := slices.Repeat([]Node{n}, 10_000)
	sets, _ := PodSets(Kind{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"}, asJSON(b, "{spec: {leaderWorkerTemplate: {workerTemplate: {spec: {containers: [{name: a, resources: {limits: {nvidia.com/gpu: 8}}}]}}}}}"))
	for b.Loop() {
		if r, err := RoomFor(nodes, sets[0]); err != nil || r.Pods != 10_000 {
			b.Fatal(r, err)
		}
	}
}
