package kube

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

func artifact(texts ...string) []fabric.Artifact {
	return []fabric.Artifact{{Target: fabric.OnKubernetes, Path: "/objects.yaml", Content: []byte(strings.Join(texts, "---\n"))}}
}

// workload is a StatefulSet of so many pods, with this in its containers and pods.
func workload(namespace, name string, replicas int, container, pod string) string {
	return fmt.Sprintf("apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: %[2]s, namespace: %[1]s}\nspec: {replicas: %[3]d, serviceName: a, podManagementPolicy: Parallel, selector: {matchLabels: {app: %[2]s}}, "+
		"template: {metadata: {labels: {app: %[2]s}}, spec: {%[5]s containers: [{name: main, image: 'registry.invalid/none:1'%[4]s}]}}}\n", namespace, name, replicas, container, pod)
}

func settings(namespace, name, data string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: " + namespace + "}\ndata: {" + data + "}\n"
}

// What the cluster lacks is said before the first object, by the real server and its own admission; nothing is applied then.
func TestApplyRefused(t *testing.T) {
	p := need(t)
	space := p.namespace(t)
	p.resources(t, "refused-gpu", object{}, object{"nvidia.com/gpu": "8"})
	p.resources(t, "refused-none", object{}, object{})
	strict := p.namespace(t)
	p.applyAll(t, "", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": strict, "labels": object{"pod-security.kubernetes.io/enforce": "baseline"}}})
	claim := "apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: weights, namespace: " + space + "}\nspec: {storageClassName: nowhere, accessModes: [ReadWriteMany], resources: {requests: {storage: 1Gi}}}\n"
	c := p.railwright(t, p.path("admin.kubeconfig"), "refused", t.TempDir())
	for name, test := range map[string]struct{ text, want string }{
		"no GPU node":        {workload(space, "a", 1, ", resources: {limits: {amd.com/gpu: 8}}", ""), "too little of: amd.com/gpu"},
		"too few GPU nodes":  {workload(space, "a", 2, ", resources: {limits: {nvidia.com/gpu: 8}}", ""), "1 of these are large enough for one: room for 1 pod"},
		"no storage class":   {claim, "needs storage class nowhere"},
		"no secret":          {workload(space, "a", 1, ", envFrom: [{secretRef: {name: hub}}]", ""), "needs Secret " + space + "/hub: it does not exist"},
		"Pod Security":       {workload(strict, "a", 1, "", "hostNetwork: true,"), `violates PodSecurity "baseline:latest": host namespaces (hostNetwork=true)`},
		"no service account": {workload(space, "a", 1, "", "serviceAccountName: nobody,"), "needs ServiceAccount " + space + "/nobody: it does not exist"},
		"no priority class":  {workload(space, "a", 1, "", "priorityClassName: none,"), "no PriorityClass with name none was found"},
		"a field misspelt":   {strings.Replace(settings(space, "b", "a: b"), "\ndata:", "\ndta:", 1), "dta: field not declared in schema"},
		"a slash in a name":  {settings(space, `"deepseek-ai/DeepSeek-R1"`, "a: b"), `name "deepseek-ai/DeepSeek-R1" may not contain '/'`},
		"a name of a model":  {settings(space, `"DeepSeek R1 (671B) 中"`, "a: b"), "a lowercase RFC 1123 subdomain must consist of"},
		"no such version":    {strings.Replace(settings(space, "b", "a: b"), "apiVersion: v1", "apiVersion: jobset.x-k8s.io/v9", 1), "the cluster does not serve"},
		"no such namespace":  {settings("nowhere", "b", "a: b"), `namespaces "nowhere" not found`},
	} {
		t.Run(name, func(t *testing.T) {
			all := artifact(settings(space, "first", "a: b"), test.text)
			for _, a := range []apply.Applied{c.Look(t.Context(), all), c.Write(t.Context(), all)} {
				said := a.Error
				for _, change := range a.Changes {
					said += "\n" + change.Reason
				}
				for _, precondition := range a.Preconditions {
					if precondition.Status == fabric.Fail {
						said += "\n" + precondition.String()
					}
				}
				if a.Status == fabric.Pass || !strings.Contains(said, test.want) {
					t.Errorf("%s: %s", a.Status, said)
				}
			}
			if err := p.api.do(t.Context(), http.MethodGet, path("v1", "ConfigMap", space, "first"), nil, nil); err == nil {
				t.Error("something was applied")
			}
		})
	}
}

// Pods of a namespace that is new are asked about once it is there, when its service account is on its way; what is refused then leaves
// nothing but the namespace.
func TestApplyNewNamespace(t *testing.T) {
	p := need(t)
	p.resources(t, "new-namespace", object{}, object{})
	for _, test := range []struct{ name, pod, want string }{
		{"fresh", "", ""},
		{"refused", "hostNetwork: true,", `violates PodSecurity "baseline:latest"`},
		{"misfit", "dnsPolicy: Nonsense,", "dnsPolicy"},
	} {
		space := fmt.Sprintf("new-%s-%d", test.name, p.namespaces.Add(1))
		c := p.railwright(t, p.path("admin.kubeconfig"), test.name, t.TempDir())
		all := artifact(workload(space, "a", 1, "", test.pod), settings(space, "nccl", "a: b"),
			"apiVersion: v1\nkind: Namespace\nmetadata: {name: "+space+", labels: {pod-security.kubernetes.io/enforce: baseline}}\n")
		if dry := c.Look(t.Context(), all); dry.Status != fabric.Fail || !strings.Contains(fmt.Sprint(dry.Preconditions), "only once that namespace is there") {
			t.Errorf("%+v", dry)
		}
		a := c.Write(t.Context(), all)
		p.atEnd(t, path("v1", "Namespace", "", space))
		if test.want == "" {
			if a.Status != fabric.Pass {
				t.Errorf("%s: %+v %+v", test.name, a, a.Activation)
			}
			continue
		}
		if a.Status != fabric.Unknown || !strings.Contains(a.Error, test.want) || !strings.Contains(a.Error, "nothing else was applied than what stays: Namespace "+space) {
			t.Errorf("%s: %s %s", test.name, a.Status, a.Error)
		}
		if n := len(list[object](t, p, "apps/v1", "StatefulSet", space)); n != 0 {
			t.Errorf("%s: %d workloads are there", test.name, n)
		}
	}
}

// Another owner's field is named and kept, until a person says otherwise.
func TestApplyConflict(t *testing.T) {
	p := need(t)
	space := p.namespace(t)
	c := p.railwright(t, p.path("admin.kubeconfig"), "conflict", t.TempDir())
	if err := p.api.apply(t.Context(), space, object{"apiVersion": "v1", "kind": "ConfigMap", "metadata": object{"name": "nccl"}, "data": object{"debug": "TRACE"}}); err != nil {
		t.Fatal(err)
	}
	all := artifact(settings(space, "nccl", "debug: INFO"))
	if a := c.Write(t.Context(), all); a.Status != fabric.Unknown || !strings.Contains(a.Error, `.data.debug belongs to "test"; --force-conflicts takes them over: nothing was applied`) {
		t.Errorf("%+v", a)
	}
	c.Force = true
	if a := c.Write(t.Context(), all); a.Status != fabric.Pass {
		t.Errorf("%+v", a)
	}
	if _, err := c.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	var now struct{ Data map[string]string }
	if err := p.api.do(t.Context(), http.MethodGet, path("v1", "ConfigMap", space, "nccl"), nil, &now); err != nil || now.Data["debug"] != "TRACE" {
		t.Errorf("%v %v", now, err)
	}
}

// as writes a kubeconfig of a service account of a namespace, which may do what the rules say.
func (p *plane) as(t *testing.T, space string, rules ...object) (kubeconfig string) {
	t.Helper()
	p.install(t, object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": object{"name": space}, "rules": rules})
	p.install(t, object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": object{"name": space},
		"roleRef": object{"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": space}, "subjects": []object{{"kind": "ServiceAccount", "name": "default", "namespace": space}}})
	token := object{"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{}}
	var got struct{ Status struct{ Token string } }
	if err := p.api.do(t.Context(), http.MethodPost, path("v1", "ServiceAccount", space, "default")+"/token", token, &got); err != nil {
		t.Fatal(err)
	}
	kubeconfig = filepath.Join(t.TempDir(), "config")
	text := asText(t, object{"apiVersion": "v1", "kind": "Config", "current-context": "a", "contexts": []object{{"name": "a", "context": object{"cluster": "a", "user": "a"}}},
		"clusters": []object{{"name": "a", "cluster": object{"server": p.api.url, "certificate-authority": p.path("ca.crt")}}}, "users": []object{{"name": "a", "user": object{"token": got.Status.Token}}}})
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// A token that may do nothing is unknown; one that may apply and not read secrets or nodes applies, and those preconditions are unknown.
func TestApplyPermissions(t *testing.T) {
	p := need(t)
	space := p.namespace(t)
	all := artifact(settings(space, "nccl", "debug: INFO"), workload(space, "a", 1, ", env: [{name: T, valueFrom: {secretKeyRef: {name: hub, key: token}}}]", ""))
	c := p.railwright(t, p.as(t, space), "token", t.TempDir())
	for _, a := range []apply.Applied{c.Look(t.Context(), all), c.Write(t.Context(), all)} {
		said := a.Error
		for _, change := range a.Changes {
			said += change.Reason
		}
		if a.Status != fabric.Unknown || !strings.Contains(said, "not permitted") {
			t.Errorf("%+v", a)
		}
	}
	space = p.namespace(t)
	p.resources(t, "permissions", object{}, object{})
	p.applyAll(t, space, object{"apiVersion": "v1", "kind": "Secret", "metadata": object{"name": "hub"}, "stringData": object{"token": "x"}})
	all = artifact(settings(space, "nccl", "debug: INFO"), workload(space, "a", 1, ", env: [{name: T, valueFrom: {secretKeyRef: {name: hub, key: token}}}]", ""))
	verbs := []string{"get", "list", "patch", "create", "delete"}
	c = p.railwright(t, p.as(t, space, object{"apiGroups": []string{""}, "resources": []string{"configmaps", "pods"}, "verbs": verbs},
		object{"apiGroups": []string{"apps"}, "resources": []string{"statefulsets"}, "verbs": verbs}), "token", t.TempDir())
	a := c.Write(t.Context(), all)
	unknown := ""
	for _, precondition := range a.Preconditions {
		if precondition.Status == fabric.Unknown {
			unknown += precondition.String() + "\n"
		}
	}
	if a.Status != fabric.Pass || !strings.Contains(unknown, `cannot get resource "secrets"`) || !strings.Contains(unknown, `cannot list resource "nodes"`) {
		t.Errorf("%s %s %s\n%s", a.Status, a.Error, a.Note, unknown)
	}
	if _, err := c.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
}

// The API server ends in the middle of an apply, and is there again: the next apply takes up what it began, and a rollback all of it.
func TestApplyServerKilled(t *testing.T) {
	p := need(t)
	space := p.namespace(t)
	ports, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(p.path("admin.kubeconfig"))
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(kubeconfig, []byte(strings.Replace(string(text), p.api.url, fmt.Sprintf("https://127.0.0.1:%d", ports[0]), 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	kill := p.second(t, ports[0])
	folder := t.TempDir()
	c := p.railwright(t, kubeconfig, "killed", folder)
	var texts []string
	for i := range 6 {
		texts = append(texts, settings(space, fmt.Sprintf("map-%d", i), "a: b"))
	}
	c.Doing = func(format string, args ...any) {
		if strings.HasSuffix(fmt.Sprintf(format, args...), "applying ConfigMap "+space+"/map-3") {
			kill()
		}
	}
	a := c.Write(t.Context(), artifact(texts...))
	if a.Status != fabric.Unknown || !strings.Contains(a.Error, "could not be put back") {
		t.Fatalf("%+v", a)
	}
	if n := len(list[object](t, p, "v1", "ConfigMap", space)); n < 3 {
		t.Errorf("%d objects: the server ended before the middle", n)
	}
	p.second(t, ports[0])
	c = p.railwright(t, kubeconfig, "killed", folder)
	if a := c.Write(t.Context(), artifact(texts...)); a.Status != fabric.Pass || !a.Interrupted || len(a.Changes) != 6 {
		t.Fatalf("%+v", a)
	}
	if _, err := c.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if a := c.Look(t.Context(), artifact(texts...)); len(a.Changes) != 6 || a.Changes[0].Kind != apply.Create || a.Changes[5].Kind != apply.Create {
		t.Errorf("%+v", a)
	}
}

// second starts another API server of the same cluster, and returns what ends it at once.
func (p *plane) second(t *testing.T, port int) (kill func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	argv := apiServer(p, port, p.store)
	argv[0] = filepath.Join(p.programs, argv[0])
	process, err := host.Local{}.Start(ctx, host.Command{Argv: argv, Merged: true})
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		buffer := make([]byte, 4096)
		for {
			if _, err := process.Stdout.Read(buffer); err != nil {
				break
			}
		}
		_ = process.Wait() // it was ended
	}()
	kill = func() { cancel(); <-ended }
	t.Cleanup(kill)
	within(t, time.Minute, func() string {
		answer, err := p.api.http.Get(fmt.Sprintf("https://127.0.0.1:%d/readyz", port))
		if err != nil {
			return err.Error()
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.Status
		}
		return ""
	})
	return kill
}
