package apply

import (
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"railwright.dev/railwright/internal/fabric"
)

// workers is a LeaderWorkerSet of two groups with a leader and a worker each, whose pods are written in the braces.
func workers(pod string) string {
	return "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: llm, namespace: jobs}\n" +
		"spec: {replicas: 2, leaderWorkerTemplate: {size: 2, leaderTemplate: {spec: " + pod + "}, workerTemplate: {spec: " + pod + "}}}\n"
}

const gpus = "{containers: [{name: main, image: a, resources: {limits: {nvidia.com/gpu: 8}}}]}"

func TestClusterPreconditions(t *testing.T) {
	machines := func(n int, resources string) func(*testing.T, *apiServer) {
		return func(t *testing.T, s *apiServer) {
			for i := range n {
				s.node(t, "n"+string(rune('a'+i)), resources)
			}
		}
	}
	secret := func(t *testing.T, s *apiServer) {
		machines(1, "")(t, s)
		s.put(t, "/api/v1/namespaces/jobs/secrets/hf", "apiVersion: v1\nkind: Secret\nmetadata: {name: hf, namespace: jobs}\ndata: {token: c2VjcmV0LXZhbHVl}\n")
	}
	pod := func(spec string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: one, namespace: jobs}\nspec: " + spec + "\n"
	}
	env := func(name, key, more string) string {
		return pod("{containers: [{name: main, env: [{name: T, valueFrom: {secretKeyRef: {name: " + name + ", key: " + key + more + "}}}]}]}")
	}
	claim := func(class string) string {
		return "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: weights, namespace: jobs}\nspec: {" + class + "}\n"
	}
	class := func(annotations string) func(*testing.T, *apiServer) {
		return func(t *testing.T, s *apiServer) {
			s.put(t, "/apis/storage.k8s.io/v1/storageclasses/local", "apiVersion: storage.k8s.io/v1\nkind: StorageClass\nmetadata: {name: local, annotations: {"+annotations+"}}\n")
		}
	}
	for name, test := range map[string]struct {
		text   string
		before func(*testing.T, *apiServer)
		status fabric.Status
		reason string // of the first that is not met or unknown
	}{
		"no nodes":                {workers(gpus), nil, fabric.Fail, "needs room for 2 leader pods with 8 nvidia.com/gpu each: the cluster has no nodes"},
		"no GPU nodes":            {workers(gpus), machines(4, ""), fabric.Fail, "of 4 nodes 4 take such a pod, and 0 of these are large enough for one: room for 0 pods; too little of: nvidia.com/gpu"},
		"too few for leaders":     {workers(gpus), machines(1, "nvidia.com/gpu: 8"), fabric.Fail, "room for 1 pod"},
		"too few for both":        {workers(gpus), machines(3, "nvidia.com/gpu: 8"), fabric.Fail, "needs 32 nvidia.com/gpu for all of its pods: the nodes that take them have 24"},
		"enough":                  {workers(gpus), machines(4, "nvidia.com/gpu: 8"), fabric.Pass, ""},
		"shared by two":           {workers(strings.Replace(gpus, "8", "4", 1)), machines(2, "nvidia.com/gpu: 8"), fabric.Pass, ""},
		"a selector":              {workers(strings.Replace(gpus, "{", "{nodeSelector: {gpu: yes-nz}, ", 1)), machines(4, "nvidia.com/gpu: 8"), fabric.Fail, "of 4 nodes none takes such a pod"},
		"nodes unread":            {workers(gpus), func(_ *testing.T, s *apiServer) { s.forbidden = "/nodes" }, fabric.Unknown, "not permitted"},
		"no secret":               {env("hf", "token", ""), machines(1, ""), fabric.Fail, "needs Secret jobs/hf with key token: it does not exist, and the plan does not make it"},
		"no key":                  {env("hf", "other", ""), secret, fabric.Fail, "needs Secret jobs/hf with key other: it does not have that key"},
		"secret":                  {env("hf", "token", ""), secret, fabric.Pass, ""},
		"optional secret":         {env("hf", "other", ", optional: true"), machines(1, ""), fabric.Pass, ""},
		"secrets unread":          {env("hf", "token", ""), func(t *testing.T, s *apiServer) { secret(t, s); s.forbidden = "/secrets" }, fabric.Unknown, "not permitted"},
		"pull secret":             {pod("{imagePullSecrets: [{name: pull}], containers: [{name: main}]}"), machines(1, ""), fabric.Unknown, "whether the image can be pulled without it is unknown"},
		"no config map":           {pod("{volumes: [{name: v, configMap: {name: topo, items: [{key: a.xml, path: a.xml}]}}], containers: [{name: main}]}"), machines(1, ""), fabric.Fail, "needs ConfigMap jobs/topo with key a.xml: it does not exist"},
		"planned config map":      {strings.Replace(mapYAML, "name: nccl", "name: topo", 1) + "---\n" + pod("{containers: [{name: main, envFrom: [{configMapRef: {name: topo}}]}]}"), machines(1, ""), fabric.Pass, ""},
		"planned map, no key":     {strings.Replace(mapYAML, "name: nccl", "name: topo", 1) + "---\n" + pod("{containers: [{name: main, env: [{name: A, valueFrom: {configMapKeyRef: {name: topo, key: nope}}}]}]}"), machines(1, ""), fabric.Fail, "it does not have that key"},
		"no volume claim":         {pod("{volumes: [{name: v, persistentVolumeClaim: {claimName: weights}}], containers: [{name: main}]}"), machines(1, ""), fabric.Fail, "needs PersistentVolumeClaim jobs/weights: it does not exist"},
		"no storage class":        {claim("storageClassName: fast"), nil, fabric.Fail, "needs storage class fast: the cluster has no storage class"},
		"another class":           {claim("storageClassName: fast"), class(""), fabric.Fail, "needs storage class fast: the cluster has: local"},
		"class":                   {claim("storageClassName: local"), class(""), fabric.Pass, ""},
		"no default":              {claim(""), class(""), fabric.Fail, "needs a default storage class: the cluster has: local"},
		"default":                 {claim(""), class(`storageclass.kubernetes.io/is-default-class: "true"`), fabric.Pass, ""},
		"no class wanted":         {claim(`storageClassName: ""`), nil, fabric.Pass, ""},
		"classes unread":          {claim("storageClassName: fast"), func(_ *testing.T, s *apiServer) { s.forbidden = "/storageclasses" }, fabric.Unknown, "not permitted"},
		"no template":             {pod("{resourceClaims: [{name: d, resourceClaimTemplateName: pair}], containers: [{name: main}]}"), machines(1, ""), fabric.Fail, "needs ResourceClaimTemplate jobs/pair: it does not exist"},
		"no devices for template": {claimYAML + "---\n" + pod("{resourceClaims: [{name: d, resourceClaimTemplateName: pair}], containers: [{name: main}]}"), machines(1, ""), fabric.Fail, "needs devices for 1 pod by ResourceClaimTemplate jobs/pair: the cluster has no ResourceSlice: no driver publishes devices"},
		"a pod that is not admitted": {pod("{containers: [{name: main}]}"), func(t *testing.T, s *apiServer) {
			machines(1, "")(t, s)
			s.admit = func(*unstructured.Unstructured) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, probe, errors.New(`violates PodSecurity "restricted:latest": hostNetwork=true`))
			}
		}, fabric.Fail, `violates PodSecurity "restricted:latest": hostNetwork=true`},
		"pods may not be asked for": {pod("{containers: [{name: main}]}"), func(t *testing.T, s *apiServer) {
			machines(1, "")(t, s)
			s.admit = func(*unstructured.Unstructured) error {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "", errors.New(`User "me" cannot create resource "pods" in API group "" in the namespace "jobs"`))
			}
		}, fabric.Unknown, "not permitted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAPIServer(t)
			if test.before != nil {
				test.before(t, s)
			}
			c := s.cluster(t, t.TempDir())
			dry, count := c.Look(t.Context(), manifest(test.text)), len(s.objects)
			worst, reason := fabric.Pass, ""
			for _, p := range dry.Preconditions {
				if p.Status == fabric.Fail && worst != fabric.Fail || p.Status == fabric.Unknown && worst == fabric.Pass {
					worst, reason = p.Status, p.String()
				}
			}
			if worst != test.status || !strings.Contains(reason, test.reason) || dry.Status != fabric.Fail {
				t.Fatalf("%s: %s\n%+v", worst, reason, dry)
			}
			if strings.Contains(reason, "secret-value") || strings.Contains(reason, "c2VjcmV0") {
				t.Error("says a secret")
			}
			a := c.Write(t.Context(), manifest(test.text))
			written := len(s.objects) > count
			if written != (test.status != fabric.Fail) || a.Status != fabric.Fail && !written {
				t.Errorf("written: %v, %+v", written, a)
			}
			if c.Unmet = true; !written {
				if c.Write(t.Context(), manifest(test.text)); len(s.objects) == count {
					t.Error("is not applied all the same")
				}
			}
		})
	}
}

const claimYAML = "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: pair, namespace: jobs}\n" +
	"spec: {spec: {devices: {requests: [{name: nic, exactly: {deviceClassName: nic}}]}}}\n---\n" +
	"apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: nic}\nspec: {selectors: [{cel: {expression: 'device.driver == \"dra.net\"'}}]}\n"

// Pods of a namespace that is made or changed too are asked about once it is there; nothing but it stays where they are refused.
func TestClusterNewNamespace(t *testing.T) {
	const namespace = "apiVersion: v1\nkind: Namespace\nmetadata: {name: jobs, labels: {pod-security.kubernetes.io/enforce: privileged}}\n"
	const pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: one, namespace: jobs}\nspec: {containers: [{name: main}]}\n"
	s := newAPIServer(t)
	s.node(t, "n1", "")
	c := s.cluster(t, t.TempDir())
	asked := 0
	s.admit = func(*unstructured.Unstructured) error {
		asked++
		if s.objects["/api/v1/namespaces/jobs"] == nil {
			t.Error("was asked before its namespace was there")
		}
		return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, probe, errors.New("exceeded quota: gpus"))
	}
	a := c.Write(t.Context(), manifest(mapYAML, pod, namespace))
	if asked != 1 || a.Status != fabric.Unknown || !strings.Contains(a.Error, "exceeded quota: gpus") || !strings.Contains(a.Error, "nothing else was applied than what stays: Namespace jobs") {
		t.Errorf("asked %d times: %+v", asked, a)
	}
	if len(s.objects) != 2 {
		t.Errorf("%d objects", len(s.objects))
	}
	s.admit = nil
	s.status(t, "/api/v1/namespaces/jobs", "{phase: Active}")
	s.status(t, "/api/v1/namespaces/jobs/pods/one", "{phase: Succeeded}")
	passes(t, c.Write(t.Context(), manifest(mapYAML, pod, namespace)))
}

// Data go only where they are named: in a prune, a replace and a rollback.
func TestClusterData(t *testing.T) {
	const claim = "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: weights, namespace: jobs}\nspec: {storageClassName: \"\"}\n"
	const path = "/api/v1/namespaces/jobs/persistentvolumeclaims/weights"
	bound := func(t *testing.T) (*apiServer, Kubernetes) {
		s := newAPIServer(t)
		c := s.cluster(t, t.TempDir())
		s.status(t, path, "{phase: Bound}")
		passes(t, c.Write(t.Context(), manifest(claim, mapYAML)))
		return s, c
	}
	s, c := bound(t)
	c.Prune = true
	a := c.Write(t.Context(), manifest(mapYAML))
	if passes(t, a); s.objects[path] == nil || len(a.Others) != 1 || !strings.Contains(a.Others[0], "--prune --delete-data PersistentVolumeClaim/jobs/weights deletes both") {
		t.Errorf("%q", a.Others)
	}
	c.DeleteData = []string{"PersistentVolumeClaim/jobs/weights"}
	if passes(t, c.Write(t.Context(), manifest(mapYAML))); s.objects[path] != nil {
		t.Error("is there still")
	}

	s, c = bound(t)
	undone, err := c.Rollback(t.Context())
	if err != nil || s.objects[path] == nil || len(s.objects) != 1 || undone[1].Kind != Same || !strings.Contains(undone[1].Reason, "--delete-data") {
		t.Errorf("%v %v", undone, err)
	}
	passes(t, c.Write(t.Context(), manifest(claim, mapYAML))) // it is taken up again

	s, c = bound(t)
	c.DeleteData = []string{"PersistentVolumeClaim/jobs/weights"}
	if _, err := c.Rollback(t.Context()); err != nil || len(s.objects) != 0 {
		t.Errorf("%d objects, %v", len(s.objects), err)
	}

	s = newAPIServer(t) // one without a volume holds nothing
	c = s.cluster(t, t.TempDir())
	s.status(t, path, "{phase: Pending}")
	c.Write(t.Context(), manifest(claim))
	if _, err := c.Rollback(t.Context()); err != nil || len(s.objects) != 0 {
		t.Errorf("%d objects, %v", len(s.objects), err)
	}
}
