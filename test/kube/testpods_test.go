package kube

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/platform"
)

// mpiJobs is the definition of MPIJob (kubeflow/mpi-operator caa3c47), which is not among the modules that Go's proxy serves.
const mpiJobs = "../../../shared/data/crds/mpijob.yaml"

// testPlans are clusters with test pods: NICs and GPUs by claims, and all by device plugins.
var testPlans = map[string]string{
	"claims": "platform: baremetal\nlauncher: kubernetes\nnodes:\n- {names: \"NODE-[1-2]\", machine: xe9680-mi300x-thor2, nics: \"eth[1-8]\"}\n" +
		"fabric: {kind: roce, leaf: {model: z9664f, os: sonic}}\nkubernetes: {test_images: registry.invalid/tests}\n",
	"blocks": "platform: baremetal\nlauncher: kubernetes\nnodes:\n- {names: \"NODE-[1-2]\", machine: azure-nd-h100-v5, nics: \"ib[0-7]\"}\n" +
		"fabric: {kind: infiniband, leaf: {model: qm9700}}\nkubernetes: {test_images: registry.invalid/tests, pod: {gpus: 4, align: name}}\n",
	"plugins": "platform: baremetal\nlauncher: kubernetes\nnodes:\n- {names: \"NODE-[1-2]\", machine: hgx-h100, nics: \"ibs[0-7]\"}\n" +
		"fabric: {kind: infiniband, leaf: {model: qm9700}}\nkubernetes: {test_images: registry.invalid/tests, nic_driver: shared-device-plugin}\n",
}

// testFiles are the files of a plan for the API server and for the script that runs the tests, by name.
func testFiles(t *testing.T, text, namespace string, cat *catalog.Catalog) (*fabric.Plan, map[string]claims.File) {
	t.Helper()
	c, err := intent.Parse("cluster.yaml", []byte("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\n"+strings.ReplaceAll(text, "NODE", namespace)), cat)
	if err != nil {
		t.Fatal(err)
	}
	c.Kubernetes.Namespace = namespace
	made, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	all, err := platform.Artifacts(made)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]claims.File{}
	for a := range all {
		name := a.File[strings.LastIndex(a.File, "/")+1:]
		if strings.HasSuffix(name, ".yaml") && (a.Target == fabric.OnKubernetes || a.Target == fabric.OnWorkstation) {
			files[name] = claims.File{Name: name, Text: a.Content}
		}
	}
	return made, files
}

// machines publishes the nodes of a plan, with what their drivers or device plugins give.
func (p *plane) machines(t *testing.T, made *fabric.Plan, cat *catalog.Catalog) {
	t.Helper()
	var names []string
	for _, n := range made.Nodes {
		names = append(names, n.Name)
		node := machine{name: n.Name}.node()
		if len(made.Pods.NICs) > 0 {
			devices := object{"cpu": "128", "memory": "2Ti", "pods": "110", made.Pods.GPUResource: fmt.Sprint(made.Pods.GPUs)}
			for _, nic := range made.Pods.NICs {
				devices[fabric.RDMAPrefix+nic.Resource] = "63"
			}
			node["status"] = object{"allocatable": devices, "capacity": devices}
		}
		p.install(t, node)
	}
	if len(made.Pods.NICs) > 0 {
		return
	}
	nominal, err := claims.Nominal(cat, made.Nodes[0].Machine, names, claims.Publishers{GPU: made.Claims.GPUDriver, NIC: made.Claims.NICDriver})
	if err != nil {
		t.Fatal(err)
	}
	slices, err := claims.SliceText(nominal, made.Claims.API)
	if err != nil {
		t.Fatal(err)
	}
	p.kubectlApply(t, claims.File{Name: "slices.yaml", Text: slices})
	p.kubectlApply(t, claims.File{Name: "class.yaml", Text: fmt.Appendf(nil, "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: {name: %[1]s}\nspec: {selectors: [{cel: {expression: device.driver == %[1]q}}]}\n", made.Claims.GPUDriver)})
}

// The server takes every file of the test pods with all of its fields, and the scheduler finds a place for each pod: one a machine,
// or as many as the plan says.
func TestTestPods(t *testing.T) {
	p := need(t)
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range testPlans {
		t.Run(name, func(t *testing.T) {
			namespace := p.namespace(t)
			made, files := testFiles(t, text, namespace, cat)
			p.machines(t, made, cat)
			for file, f := range files {
				if strings.HasPrefix(file, "10-") || strings.HasPrefix(file, "20-") || file == "test-scripts.yaml" {
					p.kubectlApply(t, f)
				}
			}
			want := len(made.Nodes)
			if made.Claims != nil && len(made.Pods.NICs) == 0 {
				want = made.Claims.Pods
			}
			for _, file := range []string{"test-perftest.yaml", "test-collectives.yaml"} {
				p.runs(t, files[file], namespace, want)
			}
			if job, ok := files["test-mpijob.yaml"]; ok {
				t.Run("MPIJob", func(t *testing.T) { p.takesMPIJob(t, job) })
			} else if name != "blocks" {
				t.Error("no MPIJob")
			}
		})
	}
}

// runs applies a file of pods, waits until so many of them run, each machine with its share, and removes them.
func (p *plane) runs(t *testing.T, f claims.File, namespace string, want int) {
	t.Helper()
	if out, err := p.kubectl(t.Context(), string(f.Text), "apply", "--server-side", "--validate=strict", "-f", "-"); err != nil {
		t.Fatalf("%s: %v\n%s", f.Name, err, out)
	}
	var states []podState
	within(t, busy, func() string {
		states = list[podState](t, p, "v1", "Pod", namespace)
		running := 0
		for _, s := range states {
			if s.Status.Phase == "Running" {
				running++
			}
		}
		if running == want {
			return ""
		}
		return fmt.Sprintf("%s: %d of %d pods run, want %d; %s", f.Name, running, len(states), want, lastWords(states))
	})
	perNode := map[string]int{}
	for _, s := range states {
		perNode[s.Spec.NodeName]++
	}
	for node, n := range perNode {
		if n != want/2 {
			t.Errorf("%s: %d pods on %s, want %d", f.Name, n, node, want/2)
		}
	}
	if out, err := p.kubectl(t.Context(), string(f.Text), "delete", "--wait=true", "-f", "-"); err != nil {
		t.Fatalf("%s: %v\n%s", f.Name, err, out)
	}
	within(t, busy, func() string {
		if left := list[podState](t, p, "v1", "Pod", namespace); len(left) > 0 {
			return fmt.Sprintf("%d pods are left", len(left))
		}
		return ""
	})
}

func (p *plane) takesMPIJob(t *testing.T, f claims.File) {
	text, err := os.ReadFile(mpiJobs)
	if err != nil {
		t.Skipf("no definition of MPIJob: %v", err)
	}
	p.define(t, string(text), "mpijobs.kubeflow.org")
	if out, err := p.kubectl(t.Context(), string(f.Text), "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	a := fabric.Artifact{Path: f.Name, Content: f.Text}
	p.refuses(t, a, "slotsPerWorker: ", "slotsPerWorkers: ", "unknown field")
	p.refuses(t, a, "mpiImplementation: OpenMPI", "mpiImplementation: OMPI", "Unsupported value")
	p.refuses(t, a, "readinessProbe:", "readyProbe:", "unknown field")
}

// A namespace at the level baseline has none of the pods, by the one capability that they need beyond it; at the level privileged it
// has all. So the namespace of a plan is to have the latter.
func TestTestPodsAdmission(t *testing.T) {
	p := need(t)
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	namespace := p.namespace(t)
	made, files := testFiles(t, testPlans["plugins"], namespace, cat)
	p.machines(t, made, cat)
	level := func(level string) {
		t.Helper()
		if out, err := p.kubectl(t.Context(), "", "label", "--overwrite", "namespace", namespace, "pod-security.kubernetes.io/enforce="+level); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	level("baseline")
	p.kubectlApply(t, files["test-scripts.yaml"])
	f := files["test-perftest.yaml"]
	if out, err := p.kubectl(t.Context(), string(f.Text), "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	within(t, busy, func() string {
		out, err := p.kubectl(t.Context(), "", "get", "events", "-n", namespace, "--field-selector", "type=Warning", "-o", "jsonpath={.items[*].message}")
		if err == nil && strings.Contains(out, `violates PodSecurity "baseline:latest": non-default capabilities (container "test" must not include "IPC_LOCK" in securityContext.capabilities.add)`) {
			return ""
		}
		return fmt.Sprintf("no refusal among the events: %v %s", err, out)
	})
	if pods := list[podState](t, p, "v1", "Pod", namespace); len(pods) > 0 {
		t.Errorf("%d pods at the level baseline", len(pods))
	}
	if out, err := p.kubectl(t.Context(), string(f.Text), "delete", "--wait=true", "--timeout="+time.Minute.String(), "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	level("privileged")
	p.runs(t, f, namespace, len(made.Nodes))
}
