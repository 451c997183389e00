package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/platform"
	"railwright.dev/railwright/internal/render/kubernetes"
	"railwright.dev/railwright/internal/render/kubernetes/operators"
)

// definition is a file with the definition of a kind that no module publishes; beside the checkout.
func definition(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../../shared/data/crds", name))
	if err != nil {
		t.Skipf("no definition of the kind: %v", err)
	}
	return string(text)
}

// operated plans two machines of a kind whose operators are installed.
func operated(t *testing.T, where, machine, nics, kind, section string) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	leaf := map[string]string{"roce": "{model: z9664f, os: sonic}", "infiniband": "{model: qm9700}"}[kind]
	text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nplatform: " + where + "\nlauncher: kubernetes\nnodes:\n- {names: \"ops[1-2]\", machine: " + machine + nics + "}\n" +
		"fabric: {kind: " + kind + ", leaf: " + leaf + "}\nkubernetes: " + section + "\n"
	c, err := intent.Parse("cluster.yaml", []byte(text), cat)
	if err != nil {
		t.Fatal(err)
	}
	made, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// What is rendered for operators is accepted by an API server that has NVIDIA's kind as it was published, with every field known; and what
// is wrong is not.
func TestOperatorObjects(t *testing.T) {
	p := need(t)
	p.define(t, definition(t, "nicclusterpolicy.yaml"), "nicclusterpolicies.mellanox.com")
	const ibs = ", nics: \"ibs[0-7]\""
	for name, made := range map[string]*fabric.Plan{
		"driver and plugin": operated(t, "vsphere", "hgx-h100", ibs, "infiniband", "{nic_driver: shared-device-plugin}"),
		"driver":            operated(t, "baremetal", "hgx-h100", ibs, "infiniband", "{}"),
		"plugin":            operated(t, "baremetal", "hgx-h100", ibs, "roce", "{nic_driver: shared-device-plugin}"),
	} {
		t.Run(name, func(t *testing.T) {
			a := operators.NICPolicy(*made.Operators.NICPolicy, made.Pods.NICs)
			p.takes(t, a)
			p.refuses(t, a, "kind: NicClusterPolicy", "kind: NicClusterPolicie", "no matches for kind")
			p.refuses(t, a, "repository: nvcr.io/", "repositori: nvcr.io/", "unknown field")
			if made.Operators.NICPolicy.Driver != nil {
				p.refuses(t, a, "maxParallelUpgrades: 1", "maxParallelUpgrades: -1", "maxParallelUpgrades")
				p.refuses(t, a, "deleteEmptyDir: true", "deleteEmptyDir: often", "deleteEmptyDir")
				p.refuses(t, a, "image: doca-driver", "", "image")
			}
			if made.Operators.NICPolicy.Plugin != nil {
				p.refuses(t, a, "    config: |", "    configuration: |", "unknown field")
				p.refuses(t, a, "image: k8s-rdma-shared-dev-plugin", "", "image")
			}
		})
	}
	thor := operated(t, "baremetal", "xe9680-mi300x-thor2", "", "roce", "{nic_driver: shared-device-plugin}")
	namespaces, plugin := kubernetes.Namespaces(thor.Namespaces), operators.NICPlugin(*thor.Operators.Plugin, thor.Pods.NICs)
	p.takes(t, namespaces)
	p.refuses(t, namespaces, "enforce: privileged", "enforce: lax", "must be one of privileged, baseline, restricted")
	if out, err := p.kubectl(t.Context(), string(namespaces.Content), "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	p.takes(t, plugin)
	p.refuses(t, plugin, "privileged: true", "privileged: perhaps", "privileged")
	p.refuses(t, plugin, "hostNetwork:", "hostNetworks:", "unknown field")
	p.refuses(t, plugin, "app.kubernetes.io/name: rdma-shared-device-plugin\n  template", "app.kubernetes.io/name: another\n  template", "selector")
	// The levels are what the pods need: a privileged one is refused where its namespace has another level.
	for _, c := range []struct{ namespace, want string }{{thor.Operators.Plugin.Namespace, ""}, {"cert-manager", "violates PodSecurity"}} {
		pod := object{"apiVersion": "v1", "kind": "Pod", "metadata": object{"name": "p", "namespace": c.namespace}, "spec": object{"hostNetwork": true,
			"containers": []object{{"name": "c", "image": "example.test/i:1", "securityContext": object{"privileged": true}}}}}
		text, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		within(t, time.Minute, func() string { // the controllers make the account of its pods first
			out, err := p.kubectl(t.Context(), string(text), "apply", "--dry-run=server", "-f", "-")
			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error()+out, c.want) {
				return fmt.Sprintf("%s: %v %s", c.namespace, err, out)
			}
			return ""
		})
	}
}

// takes applies an artifact without storing it.
func (p *plane) takes(t *testing.T, a fabric.Artifact) {
	t.Helper()
	if out, err := p.kubectl(t.Context(), string(a.Content), "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
		t.Errorf("%s: %v\n%s\n%s", a.Path, err, out, a.Content)
	}
}

// The chart of NVIDIA's GPU Operator makes a ClusterPolicy whose fields have the names of its values: those that plans set are of the kind.
func TestGPUOperatorValues(t *testing.T) {
	p := need(t)
	p.define(t, definition(t, "clusterpolicy.yaml"), "clusterpolicies.nvidia.com")
	policy := func(made *fabric.Plan) object {
		spec := object{}
		for _, r := range made.Operators.Releases {
			for _, v := range r.Values {
				if r.Name == "gpu-operator" && !strings.HasPrefix(v.Key, "nfd.") {
					put(spec, strings.Split(v.Key, "."), v.Value)
				}
			}
		}
		for _, needed := range []string{"daemonsets", "dcgm", "dcgmExporter", "gfd", "nodeStatusExporter", "toolkit", "operator", "devicePlugin", "driver"} {
			if _, ok := spec[needed]; !ok {
				spec[needed] = object{}
			}
		}
		spec["operator"] = object{"defaultRuntime": "containerd"}
		return object{"apiVersion": "nvidia.com/v1", "kind": "ClusterPolicy", "metadata": object{"name": "cluster-policy"}, "spec": spec}
	}
	apply := func(o object) (string, error) {
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		return p.kubectl(t.Context(), string(text), "apply", "--dry-run=server", "--validate=strict", "-f", "-")
	}
	const ibs = ", nics: \"ibs[0-7]\""
	for _, section := range []string{"{}", "{nic_driver: shared-device-plugin}", "{drivers: {nic: host}}", "{drivers: {gpu: host, nic: host}}"} {
		o := policy(operated(t, "vsphere", "hgx-h100", ibs, "infiniband", section))
		if out, err := apply(o); err != nil {
			t.Errorf("%s: %v\n%s", section, err, out)
		}
		put(o["spec"].(object), []string{"driver", "rdma", "enable"}, true)
		if out, err := apply(o); err == nil || !strings.Contains(out+err.Error(), "unknown field") {
			t.Errorf("%s with driver.rdma.enable: taken: %v %s", section, err, out)
		}
	}
}

func put(tree object, path []string, value any) {
	for _, step := range path[:len(path)-1] {
		next, ok := tree[step].(object)
		if !ok {
			next = object{}
			tree[step] = next
		}
		tree = next
	}
	tree[path[len(path)-1]] = value
}

// The script installs on a real API server with the real kubectl: its templates, its server-side apply and its waits are the server's. Helm
// is a file of a test, since no repository of charts is reached.
func TestOperatorsScript(t *testing.T) {
	p := need(t)
	p.define(t, definition(t, "nicclusterpolicy.yaml"), "nicclusterpolicies.mellanox.com")
	p.define(t, definition(t, "clusterpolicy.yaml"), "clusterpolicies.nvidia.com")
	made := operated(t, "vsphere", "hgx-h100", ", nics: \"ibs[0-1]\"", "infiniband", `{version: "1.36"}`)
	folder, state, bin := t.TempDir(), t.TempDir(), t.TempDir()
	artifacts, err := platform.Artifacts(made)
	if err != nil {
		t.Fatal(err)
	}
	for a := range artifacts {
		at := filepath.Join(folder, a.File)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, a.Content, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	helm, err := os.ReadFile("../../internal/render/kubernetes/operators/testdata/bin/helm")
	if err != nil {
		t.Fatal(err)
	}
	fake := strings.ReplaceAll(string(helm), "--kube-context=lab", "--kube-context=test")
	if err := os.WriteFile(filepath.Join(bin, "helm"), []byte(fake), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(p.programs, "kubectl"), filepath.Join(bin, "kubectl")); err != nil {
		t.Fatal(err)
	}
	run := func(script string, args ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
		defer cancel()
		out, err := host.Output(ctx, host.Local{}, host.Command{Argv: append([]string{"bash", filepath.Join(folder, fabric.OnWorkstation, script)}, args...), Merged: true,
			Env: []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "STATE=" + state, "PAUSE=1", "KUBECONFIG=" + p.path("admin.kubeconfig")}})
		return string(out), err
	}
	if out, err := run("operators-up.sh", "test"); err == nil || !strings.Contains(out+err.Error(), "2 machines (ops1 ops2) of the plan are no nodes of test") {
		t.Fatalf("no machine is there: %v\n%s", err, out)
	}
	p.publish(t, "v1", newMachine("ops1", 0), newMachine("ops2", 0))
	const chart = `{apiVersion: nvidia.com/v1, kind: ClusterPolicy, metadata: {name: cluster-policy}, spec: {daemonsets: {}, dcgm: {}, dcgmExporter: {}, gfd: {}, nodeStatusExporter: {}, toolkit: {}, operator: {defaultRuntime: containerd}, devicePlugin: {}, driver: {}}}`
	if out, err := p.kubectl(t.Context(), chart, "apply", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go p.operatorsWork(ctx)
	for range 2 {
		if out, err := run("operators-up.sh", "test"); err != nil || !strings.Contains(out, "done: every operator is ready") {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	if out, err := p.kubectl(t.Context(), "", "get", "nodes", "-l", "nvidia.com/dra-kubelet-plugin=true", "-o", "name"); err != nil || strings.Count(out, "ops") != 2 {
		t.Errorf("labels: %v %s", err, out)
	}
	if out, err := p.kubectl(t.Context(), "", "get", "namespace", "gpu-operator", "-o", `jsonpath={.metadata.labels.pod-security\.kubernetes\.io/enforce}`); err != nil || out != "privileged" {
		t.Errorf("level: %v %s", err, out)
	}
	if out, err := run("operators-down.sh", "test", "--yes"); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := p.kubectl(t.Context(), "", "get", "nicclusterpolicies,nodes", "-l", "app.kubernetes.io/managed-by=railwright", "-o", "name"); err != nil || out != "" {
		t.Errorf("left: %v %s", err, out)
	}
	if out, err := run("operators-down.sh", "test", "--yes"); err != nil || !strings.Contains(out, "nothing of this plan is left") {
		t.Errorf("%v\n%s", err, out)
	}
}

// operatorsWork says of both policies that they are carried out, as their operators do.
func (p *plane) operatorsWork(ctx context.Context) {
	for ctx.Err() == nil {
		for _, what := range []string{"nicclusterpolicies.mellanox.com/nic-cluster-policy", "clusterpolicies.nvidia.com/cluster-policy"} {
			_, _ = p.kubectl(ctx, "", "patch", what, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(`{"status": {"state": %q}}`, "ready"))
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}
