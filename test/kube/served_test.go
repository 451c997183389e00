package kube

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/platform"
)

// servedPod is what a pod of a served model is judged by.
type servedPod struct {
	Metadata struct {
		Name, UID string
		Labels    map[string]string
	}
	Spec struct {
		Containers []struct {
			Env []struct {
				Name, Value string
				ValueFrom   any
			}
		}
		Volumes []struct {
			Name                  string
			PersistentVolumeClaim struct{ ClaimName string }
		}
	}
	Status struct {
		Conditions []struct{ Type, Status, Message string }
	}
}

func (s servedPod) ready() bool {
	return slices.ContainsFunc(s.Status.Conditions, func(c struct{ Type, Status, Message string }) bool { return c.Type == "Ready" && c.Status == "True" })
}

// claim is the volume with the weights.
func (s servedPod) claim() string {
	for _, v := range s.Spec.Volumes {
		if v.Name == "weights" {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return ""
}

func (s servedPod) env(name string) (values []string) {
	for _, e := range s.Spec.Containers[0].Env {
		if e.Name == name {
			values = append(values, e.Value)
		}
	}
	return values
}

// groupManager runs the controller of LeaderWorkerSet, and tells the API server of its webhooks for one namespace.
func (p *plane) groupManager(t *testing.T, namespace string) {
	t.Helper()
	const module, sum = "sigs.k8s.io/lws@v0.9.0", "h1:DcJCgxjjoGOx//QHZkeKpyiblxYq70aCRZNYSfykWyI="
	p.define(t, published(t, module, sum, "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"), "leaderworkersets.leaderworkerset.x-k8s.io")
	ports, err := freePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	certs := t.TempDir()
	for from, to := range map[string]string{"server.crt": "tls.crt", "server.key": "tls.key"} {
		text, err := os.ReadFile(p.path(from))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(certs, to), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.server(t.Context(), []string{"lws-manager", "-config", p.path("admin.kubeconfig"), "-port", fmt.Sprint(ports[0]), "-health-port", fmt.Sprint(ports[1]), "-cert-dir", certs}); err != nil {
		t.Fatal(err)
	}
	within(t, busy, func() string {
		answer, err := http.Get(fmt.Sprintf("http://127.0.0.1:%d/readyz", ports[1]))
		if err != nil {
			return err.Error() + p.logged("lws-manager")
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return answer.Status
		}
		return ""
	})
	authority, err := os.ReadFile(p.path("ca.crt"))
	if err != nil {
		t.Fatal(err)
	}
	hook := func(name, page, group, resource string) object {
		return object{
			"name": name, "admissionReviewVersions": []string{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
			"clientConfig":      object{"url": fmt.Sprintf("https://127.0.0.1:%d/%s", ports[0], page), "caBundle": authority},
			"namespaceSelector": object{"matchLabels": object{"kubernetes.io/metadata.name": namespace}},
			"rules":             []object{{"apiGroups": []string{group}, "apiVersions": []string{"v1"}, "operations": []string{"CREATE"}, "resources": []string{resource}}},
		}
	}
	for kind, verb := range map[string]string{"MutatingWebhookConfiguration": "mutate", "ValidatingWebhookConfiguration": "validate"} {
		p.written(t, object{"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": object{"name": "lws-" + namespace}, "webhooks": []object{
			hook("groups.lws.test", verb+"-leaderworkerset-x-k8s-io-v1-leaderworkerset", "leaderworkerset.x-k8s.io", "leaderworkersets"), hook("pods.lws.test", verb+"--v1-pod", "", "pods"),
		}})
	}
}

// servingPlan is four virtual machines that serve a model as two groups of two, each pod with a volume of its own.
func servingPlan(t *testing.T, namespace, class string) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example("vcf-h100", 4, cat)
	if err != nil {
		t.Fatal(err)
	}
	text = append(withoutSection(text, "kubernetes"), fmt.Sprintf("\nkubernetes: {namespace: %s, nic_driver: shared-device-plugin}\nserving: {model: deepseek-r1, context: 32768, storage: {class: %s, gbs: 1}}\n", namespace, class)...)
	c, err := intent.Parse("cluster.yaml", text, cat)
	if err != nil {
		t.Fatal(err)
	}
	made, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// withoutSection leaves a section out of a cluster file.
func withoutSection(text []byte, name string) []byte {
	var out []string
	inside := false
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, " ") {
			inside = strings.HasPrefix(line, name+":")
		}
		if !inside {
			out = append(out, line)
		}
	}
	return []byte(strings.Join(out, ""))
}

// The real controller of LeaderWorkerSet makes of what is rendered the planned pods: each with its rank, the leader's name and the volume
// that a job fills; requests go to leaders only; and a worker that goes takes its group with it, whose pods find their volumes again.
func TestServedGroups(t *testing.T) {
	p := need(t)
	namespace := p.namespace(t)
	class := "by-hand-" + namespace
	made := servingPlan(t, namespace, class)
	pods := made.Serving.Pods
	if pods == nil || pods.Groups != 2 || pods.Size != 2 {
		t.Fatalf("planned: %+v, notes %q", made.Serving, made.Notes)
	}
	p.groupManager(t, namespace)
	p.hardware(t, made, class)
	artifacts, err := platform.Artifacts(made)
	if err != nil {
		t.Fatal(err)
	}
	for a := range artifacts {
		if base := filepath.Base(a.Path); a.Target == fabric.OnKubernetes && (strings.HasPrefix(base, "15-") || strings.HasPrefix(base, "30-") || strings.HasPrefix(base, "40-")) {
			if out, err := p.kubectl(t.Context(), string(a.Content), "apply", "--server-side", "--validate=strict", "-f", "-"); err != nil {
				t.Fatalf("%s: %v\n%s", a.Path, err, out)
			}
		}
	}
	first := p.servedReady(t, made)
	for name, pod := range first {
		group := strings.Split(strings.TrimPrefix(name, pods.Name+"-"), "-")[0]
		leader := fmt.Sprintf("%s-%s.%s.%s", pods.Name, group, pods.Name, namespace)
		if got := pod.env("LWS_LEADER_ADDRESS"); len(got) != 1 || !strings.HasPrefix(got[0], leader) {
			t.Errorf("%s: leader %q, want %s", name, got, leader)
		}
		if got := pod.env("LWS_WORKER_INDEX"); len(got) != 1 {
			t.Errorf("%s: LWS_WORKER_INDEX is there %d times", name, len(got))
		}
		if pod.claim() != "weights-"+name {
			t.Errorf("%s has volume %q", name, pod.claim())
		}
	}
	p.onlyLeadersAnswer(t, made, first)
	if claims := list[claimState](t, p, "v1", "PersistentVolumeClaim", namespace); len(claims) != 4 {
		t.Errorf("%d volumes, planned are 4: others than the filled ones were made", len(claims))
	}

	worker := pods.PodName(0, 1)
	if err := p.api.do(t.Context(), http.MethodDelete, path("v1", "Pod", namespace, worker), nil, nil); err != nil {
		t.Fatal(err)
	}
	within(t, busy, func() string {
		now := p.servedPods(t, namespace)
		if now[pods.PodName(0, 0)].Metadata.UID == first[pods.PodName(0, 0)].Metadata.UID {
			return "the leader of the group is still the old one"
		}
		return ""
	})
	again := p.servedReady(t, made)
	if again[pods.PodName(1, 0)].Metadata.UID != first[pods.PodName(1, 0)].Metadata.UID {
		t.Error("the other group was made anew too")
	}
	if got := again[worker].claim(); got != "weights-"+worker {
		t.Errorf("the new worker has volume %q", got)
	}
}

// hardware is the machines of a plan with their devices, and a volume for each pod.
func (p *plane) hardware(t *testing.T, made *fabric.Plan, class string) {
	t.Helper()
	devices := object{"cpu": "96", "memory": "1000Gi", "pods": "110", made.Pods.GPUResource: fmt.Sprint(made.Pods.GPUs)}
	for _, n := range made.Pods.NICs {
		devices[fabric.RDMAPrefix+n.Resource] = "63"
	}
	var objects []object
	for i, n := range made.Nodes {
		name := fmt.Sprintf("%s-%s", n.Name, class) // of this test alone
		node := machine{name: name}.node()
		node["status"] = object{"capacity": devices, "allocatable": maps.Clone(devices)}
		objects = append(objects, node, object{
			"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": fmt.Sprintf("%s-%d", class, i)},
			"spec": object{"storageClassName": class, "capacity": object{"storage": "1Ti"}, "accessModes": []string{"ReadWriteOnce"}, "hostPath": object{"path": "/nowhere"}},
		})
	}
	objects = append(objects, object{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": object{"name": class}, "provisioner": "kubernetes.io/no-provisioner"})
	p.written(t, objects...)
}

// written applies objects that belong to no namespace, and deletes them when the test is over.
func (p *plane) written(t *testing.T, objects ...object) {
	t.Helper()
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		p.kubectlApply(t, claims.File{Name: o["kind"].(string), Text: text})
	}
}

// servedPods are the pods of the groups, by name.
func (p *plane) servedPods(t *testing.T, namespace string) map[string]servedPod {
	t.Helper()
	all := map[string]servedPod{}
	for _, pod := range list[servedPod](t, p, "v1", "Pod", namespace) {
		if pod.Metadata.Labels["leaderworkerset.sigs.k8s.io/name"] != "" {
			all[pod.Metadata.Name] = pod
		}
	}
	return all
}

// servedReady waits until just the planned pods are there and ready, and the controller says so.
func (p *plane) servedReady(t *testing.T, made *fabric.Plan) (all map[string]servedPod) {
	t.Helper()
	pods := made.Serving.Pods
	var want []string
	for group := range pods.Groups {
		for rank := range pods.Size {
			want = append(want, pods.PodName(group, rank))
		}
	}
	slices.Sort(want)
	within(t, 2*busy, func() string {
		all = p.servedPods(t, pods.Namespace)
		if names := slices.Sorted(maps.Keys(all)); !slices.Equal(names, want) {
			return fmt.Sprintf("pods %v, want %v; %s", names, want, p.logged("lws-manager"))
		}
		for name, pod := range all {
			if !pod.ready() {
				return fmt.Sprintf("%s is not ready: %+v", name, pod.Status.Conditions)
			}
		}
		var set struct {
			Status struct {
				Conditions []struct{ Type, Status string }
			}
		}
		out, err := p.kubectl(t.Context(), "", "get", "leaderworkerset", pods.Name, "-n", pods.Namespace, "-o", "json")
		if err != nil || json.Unmarshal([]byte(out), &set) != nil {
			return out
		}
		if !slices.ContainsFunc(set.Status.Conditions, func(c struct{ Type, Status string }) bool { return c.Type == "Available" && c.Status == "True" }) {
			return fmt.Sprintf("the group is not available: %+v", set.Status)
		}
		return ""
	})
	return all
}

// onlyLeadersAnswer: the Service selects the first pod of each group.
func (p *plane) onlyLeadersAnswer(t *testing.T, made *fabric.Plan, all map[string]servedPod) {
	t.Helper()
	var service struct {
		Spec struct{ Selector map[string]string }
	}
	if err := p.api.do(t.Context(), http.MethodGet, path("v1", "Service", made.Serving.Pods.Namespace, made.Serving.Pods.Name+"-api"), nil, &service); err != nil {
		t.Fatal(err)
	}
	for name, pod := range all {
		selected := true
		for k, v := range service.Spec.Selector {
			selected = selected && pod.Metadata.Labels[k] == v
		}
		if leader := strings.Count(strings.TrimPrefix(name, made.Serving.Pods.Name), "-") == 1; selected != leader || len(service.Spec.Selector) == 0 {
			t.Errorf("%s: selected %v, leader %v, by %v", name, selected, leader, service.Spec.Selector)
		}
	}
}
