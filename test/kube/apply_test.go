package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"railwright.dev/railwright/internal/apply"
	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/platform"
	"railwright.dev/railwright/internal/rollout"
)

// definitions are of kinds that others define: LeaderWorkerSet, MPIJob, the policies of operators.
const definitions = "../../../shared/data/crds"

// defineKinds adds the kinds of the definitions, once for all tests; without the files a test that needs them is skipped.
func (p *plane) defineKinds(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob(definitions + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Skipf("no definitions of kinds in %s: objects of others' kinds are not applied", definitions)
	}
	p.kinds.Do(func() {
		if out, err := p.kubectl(t.Context(), "", "apply", "--server-side", "-f", definitions); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		if out, err := p.kubectl(t.Context(), "", "wait", "--for=condition=Established", "--all", "--timeout=50s", "crd"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	})
}

// rendered is what a cluster file renders for the API server.
type rendered struct {
	name      string
	plan      *fabric.Plan
	artifacts []fabric.Artifact
}

// renderedExamples are those of all embedded cluster files whose processes are pods: as they are, and with a model to serve.
func renderedExamples(t *testing.T, cat *catalog.Catalog) (all []rendered) {
	t.Helper()
	for _, name := range intent.Examples() {
		text, err := intent.Example(name, 0, cat)
		if err != nil {
			t.Fatal(err)
		}
		pods := strings.Replace(string(text), "launcher: ssh", "launcher: kubernetes", 1)
		seen := map[string]bool{}
		for _, v := range []struct{ name, text string }{
			{name, string(text)}, {name + ", as pods", pods}, {name + ", with a model", pods + "\nserving: {model: deepseek-r1}\n"},
		} {
			if seen[v.text] {
				continue
			}
			seen[v.text] = true
			if r, err := renders(v.name, v.text, cat); err != nil {
				t.Logf("%s: nothing is rendered: %v", v.name, err)
			} else if len(r.artifacts) > 0 {
				all = append(all, r)
			}
		}
	}
	return all
}

func renders(name, text string, cat *catalog.Catalog) (r rendered, err error) {
	c, err := intent.Parse("cluster.yaml", []byte(text), cat)
	if err != nil {
		return r, err
	}
	r.name = name
	if r.plan, err = plan.New(c, cat); err != nil {
		return r, err
	}
	artifacts, err := platform.Artifacts(r.plan)
	if err != nil {
		return r, err
	}
	for a := range artifacts {
		if a.Target == fabric.OnKubernetes {
			r.artifacts = append(r.artifacts, a)
		}
	}
	return r, nil
}

// objects are those of the artifacts.
func (r rendered) objects(t *testing.T) (all []kube.Object) {
	t.Helper()
	for _, a := range r.artifacts {
		of, err := kube.Parse(a.Content)
		if err != nil {
			t.Fatalf("%s: %v", a.Path, err)
		}
		all = append(all, of...)
	}
	return all
}

// railwright is the program's own way to the cluster, with a journal of its own.
func (p *plane) railwright(t *testing.T, kubeconfig, plan, folder string) apply.Kubernetes {
	t.Helper()
	c, err := kube.Open(kubeconfig, "")
	if err != nil {
		t.Fatal(err)
	}
	quiet := func(string, ...any) {}
	return apply.Kubernetes{Client: c, Plan: plan, Folder: folder, Ready: 20 * time.Second, Placed: 2 * time.Second, Doing: quiet, Say: quiet}
}

// furnish gives a cluster what the objects need and do not make: nodes with their resources, labels and slices, secrets, classes.
func (p *plane) furnish(t *testing.T, cat *catalog.Catalog, r rendered) {
	t.Helper()
	labels, resources := object{}, object{}
	own := map[string]bool{}
	for _, o := range r.objects(t) {
		own[o.Kind+"/"+o.Name] = true
	}
	for _, o := range r.objects(t) {
		sets, err := rollout.PodSets(rollout.KindOf(o.APIVersion, o.Kind), o.JSON)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range sets {
			for k, v := range s.Pod.Spec.NodeSelector {
				labels[k] = v
			}
			for name := range s.Requests() {
				if strings.Contains(string(name), "/") {
					resources[string(name)] = "1000"
				}
			}
			for _, ref := range s.Refs() {
				if !own[ref.Kind.Name+"/"+ref.Name] {
					p.supply(t, o, ref)
				}
			}
		}
		if o.Kind == "PersistentVolumeClaim" {
			p.volume(t, o)
		}
	}
	names := make([]string, 0, len(r.plan.Nodes)+2)
	for i := range len(r.plan.Nodes) + 2 {
		names = append(names, fmt.Sprintf("fake-%s-%d", strings.ReplaceAll(strings.ReplaceAll(r.plan.Name, "_", "-"), ".", "-"), i))
	}
	for _, name := range names {
		p.resources(t, name, labels, resources)
	}
	if c := r.plan.Claims; c != nil && len(r.plan.Nodes) > 0 {
		p.slices(t, cat, r.plan.Nodes[0].Machine, names, *c, own)
	}
}

// resources makes a node that kwok plays, with labels and extended resources.
func (p *plane) resources(t *testing.T, name string, labels, resources object) {
	t.Helper()
	n := machine{name: name}.node()
	for k, v := range labels {
		n["metadata"].(object)["labels"].(object)[k] = v
	}
	p.install(t, n)
	if len(resources) == 0 {
		return
	}
	status := object{"apiVersion": "v1", "kind": "Node", "metadata": object{"name": name}, "status": object{"allocatable": resources, "capacity": resources}}
	if err := p.api.do(t.Context(), http.MethodPatch, path("v1", "Node", "", name)+"/status?fieldManager=test&force=true", status, nil); err != nil {
		t.Fatal(err)
	}
}

// slices publishes those of the machine's devices on the nodes, and the classes that drivers install.
func (p *plane) slices(t *testing.T, cat *catalog.Catalog, machine string, names []string, c fabric.Claims, own map[string]bool) {
	t.Helper()
	nominal, err := claims.Nominal(cat, machine, names, claims.Publishers{GPU: c.GPUDriver, NIC: c.NICDriver})
	if err != nil {
		t.Fatal(err)
	}
	text, err := claims.SliceText(nominal, c.API)
	if err != nil {
		t.Fatal(err)
	}
	p.kubectlApply(t, claims.File{Name: "slices.yaml", Text: text})
	if c.GPUDriver != "" && !own["DeviceClass/"+c.GPUDriver] {
		for _, class := range classes(strings.TrimPrefix(c.API, "resource.k8s.io/")) {
			if class["metadata"].(object)["name"] == c.GPUDriver {
				p.install(t, class)
			}
		}
	}
}

// supply makes what pods refer to.
func (p *plane) supply(t *testing.T, by kube.Object, ref rollout.Ref) {
	t.Helper()
	namespace := cmp.Or(by.Namespace, "default")
	if namespace != "default" {
		p.applyAll(t, "", object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": namespace}})
	}
	o := object{"apiVersion": "v1", "kind": ref.Kind.Name, "metadata": object{"name": ref.Name, "namespace": namespace}}
	switch {
	case ref.Kind.Name == "Secret" && ref.Key != "":
		o["stringData"] = object{ref.Key: "x"}
	case ref.Kind.Name == "ConfigMap" && ref.Key != "":
		o["data"] = object{ref.Key: "x"}
	case ref.Kind.Name != "Secret" && ref.Kind.Name != "ConfigMap":
		t.Fatalf("%s: refers to %s %s, which the plan does not make", by, ref.Kind.Name, ref.Name)
	}
	p.applyAll(t, namespace, o)
}

// volume makes a volume for a claim, and its class; those of the default one wait for their first pod.
func (p *plane) volume(t *testing.T, claim kube.Object) {
	t.Helper()
	var c struct {
		Spec struct {
			StorageClassName *string  `json:"storageClassName"`
			AccessModes      []string `json:"accessModes"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(claim.JSON, &c); err != nil {
		t.Fatal(err)
	}
	name, annotations := "standard", object{"storageclass.kubernetes.io/is-default-class": "true"}
	if c.Spec.StorageClassName != nil {
		name, annotations = *c.Spec.StorageClassName, object{}
	}
	if name == "" {
		return
	}
	class := object{"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": object{"name": name, "annotations": annotations},
		"provisioner": "kubernetes.io/no-provisioner", "volumeBindingMode": "WaitForFirstConsumer"}
	volume := object{"apiVersion": "v1", "kind": "PersistentVolume", "metadata": object{"name": "of-" + claim.Name},
		"spec": object{"storageClassName": name, "accessModes": c.Spec.AccessModes, "capacity": object{"storage": "100Ti"}, "hostPath": object{"path": "/nowhere"},
			"claimRef": object{"namespace": cmp.Or(claim.Namespace, "default"), "name": claim.Name}}}
	for _, o := range []object{class, volume} {
		if out, err := p.kubectl(t.Context(), asText(t, o), "apply", "--server-side", "-f", "-"); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	t.Cleanup(func() { // a rollback keeps a claim that has a volume
		for _, what := range [][]string{{"persistentvolumeclaim", claim.Name, "-n", cmp.Or(claim.Namespace, "default")}, {"persistentvolume", "of-" + claim.Name}} {
			if out, err := p.kubectl(context.Background(), "", append([]string{"delete", "--ignore-not-found", "--timeout=50s"}, what...)...); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		}
	})
}

func asText(t *testing.T, o object) string {
	t.Helper()
	text, err := json.Marshal(o)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// played are the kinds whose controllers do not run here, by their names in paths, with the status that one of them writes when the
// object is ready: the definitions keep these fields.
func played(kind string) (plural string, status object) {
	condition := func(kind string) object {
		return object{"conditions": []object{{"type": kind, "status": "True", "reason": "Test", "message": "said by the test", "lastTransitionTime": "2026-01-01T00:00:00Z"}}}
	}
	switch kind {
	case "LeaderWorkerSet":
		s := condition("Available")
		s["replicas"], s["readyReplicas"] = 100, 100 // more groups than any example has
		return "leaderworkersets", s
	case "MPIJob":
		return "mpijobs", object{"conditions": []object{{"type": "Running", "status": "True"}}}
	case "JobSet":
		s := condition("Completed")
		s["restarts"] = 0
		return "jobsets", s
	case "NicClusterPolicy":
		return "nicclusterpolicies", object{"state": "ready"}
	case "ClusterPolicy":
		return "clusterpolicies", object{"state": "ready"}
	case "ClusterQueue":
		return "clusterqueues", condition("Active")
	case "LocalQueue":
		return "localqueues", condition("Active")
	}
	return "", nil
}

// playControllers writes the status of such objects as soon as they are there, until the test ends.
func (p *plane) playControllers(t *testing.T, all []kube.Object) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	t.Cleanup(func() { cancel(); running.Wait() })
	for _, o := range all {
		plural, status := played(o.Kind)
		if plural == "" {
			continue
		}
		at := "/apis/" + o.APIVersion + "/namespaces/" + cmp.Or(o.Namespace, "default") + "/" + plural + "/" + o.Name
		if slices.Contains([]string{"NicClusterPolicy", "ClusterPolicy", "ClusterQueue"}, o.Kind) {
			at = "/apis/" + o.APIVersion + "/" + plural + "/" + o.Name
		}
		body := object{"apiVersion": o.APIVersion, "kind": o.Kind, "metadata": object{"name": o.Name}, "status": status}
		running.Go(func() {
			for ctx.Err() == nil {
				if p.api.do(ctx, http.MethodGet, at, nil, nil) == nil { // an apply to what is not there would make it
					_ = p.api.do(ctx, http.MethodPatch, at+"/status?fieldManager=controller&force=true", body, nil) // the next one comes soon
				}
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
}
