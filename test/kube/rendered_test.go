package kube

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/render"
)

// rendering is a machine of the catalog and how its pods are asked for, in the cluster file.
type rendering struct{ machine, section string }

var renderings = []rendering{
	{"a4-highgpu-8g", ""},
	{"a4-highgpu-8g", `{pod: {gpus: 4}}`},
	{"a4-highgpu-8g", `{gpu_driver: gpu.nvidia.com, pod: {gpus: 4}}`},
	{"a4-highgpu-8g", `{version: "1.33", gpu_driver: gpu.nvidia.com}`},
	{"a4-highgpu-8g", `{version: "1.32", gpu_driver: gpu.nvidia.com, pod: {gpus: 2}}`},
	{"a4-highgpu-8g", `{version: "1.32", pod: {gpus: 8, align: none, nics: 4}}`},
	{"xe9680-mi300x-thor2", `{pod: {gpus: 4}}`},
	{"xe9680-mi300x-thor2", `{pod: {gpus: 1}}`},
	{"xe9680-mi300x-thor2", `{version: "1.33", pod: {gpus: 2, align: numa}}`},
	{"azure-nd-h100-v5", `{gpu_driver: gpu.nvidia.com, pod: {gpus: 4, align: name}}`},
	{"azure-nd-h100-v5", `{gpu_driver: gpu.nvidia.com, pod: {gpus: 4, align: none}}`},
}

// plan is that of one such machine.
func (r rendering) plan(t *testing.T, cat *catalog.Catalog) *fabric.Plan {
	t.Helper()
	head, kind, leaf := "platform: baremetal\nlauncher: kubernetes\n", "roce", ", leaf: {model: z9664f, os: sonic}"
	if strings.HasPrefix(r.machine, "a4") {
		head, leaf = "platform: gke\n", ""
	}
	if strings.HasPrefix(r.machine, "azure") {
		kind, leaf = "infiniband", ", leaf: {model: qm9700}"
	}
	nics := ""
	if m := cat.Machines[r.machine]; m.NICNames == "" {
		nics = fmt.Sprintf(", nics: \"eth[1-%d]\"", int(m.NICs.Value))
	}
	text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\n" + head +
		"nodes:\n- {names: \"n1\", machine: " + r.machine + nics + "}\nfabric: {kind: " + kind + leaf + "}\n"
	if r.section != "" {
		text += "kubernetes: " + r.section + "\n"
	}
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

// What is rendered is accepted by the API server as kubectl gives it, with every field known to the server; and what the
// offline allocator gives the pods of a machine is what the scheduler gives them, device by device.
func TestRendered(t *testing.T) {
	p := need(t)
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range renderings {
		t.Run(r.machine+" "+r.section, func(t *testing.T) {
			c := *r.plan(t, cat).Claims
			c.Namespace = p.namespace(t)
			node := "node-" + c.Namespace
			nominal, err := claims.Nominal(cat, r.machine, []string{node}, claims.Publishers{GPU: c.GPUDriver, NIC: c.NICDriver})
			if err != nil {
				t.Fatal(err)
			}
			published, err := claims.SliceText(nominal, c.API)
			if err != nil {
				t.Fatal(err)
			}
			files := []claims.File{
				{Name: "slices.yaml", Text: published},
				{Name: "classes.yaml", Text: render.DeviceClasses(c).Content},
				{Name: "templates.yaml", Text: render.ClaimTemplates(c).Content},
			}
			if c.GPUDriver != "" { // its chart installs the class
				class := object{
					"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass", "metadata": object{"name": c.GPUDriver},
					"spec": object{"selectors": []object{{"cel": object{"expression": fmt.Sprintf("device.driver == %q", c.GPUDriver)}}}},
				}
				text, err := json.Marshal(class)
				if err != nil {
					t.Fatal(err)
				}
				files = append(files, claims.File{Name: "class.json", Text: text})
			}
			p.install(t, machine{name: node}.node())
			for _, f := range files {
				p.kubectlApply(t, f)
			}
			compare(t, p, c, node, files)
		})
	}
}

// kubectlApply writes what a file has, as people do, and deletes it at the end of the test.
func (p *plane) kubectlApply(t *testing.T, f claims.File) {
	t.Helper()
	if out, err := p.kubectl(t.Context(), string(f.Text), "apply", "--server-side", "--validate=strict", "-f", "-"); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", f.Name, err, out, f.Text)
	}
	t.Cleanup(func() {
		if out, err := p.kubectl(context.Background(), string(f.Text), "delete", "--wait=false", "--ignore-not-found", "-f", "-"); err != nil {
			t.Errorf("%s: %v\n%s", f.Name, err, out)
		}
	})
}

// compare places one pod of each template after another, until the machine has no more, offline and by the scheduler.
func compare(t *testing.T, p *plane, c fabric.Claims, node string, files []claims.File) {
	t.Helper()
	count := c.PodsPerNode + 1 // one more than there are devices for
	offline, err := claims.Allocate(t.Context(), claims.Read(files), claims.Request{Pods: count})
	if err != nil {
		t.Fatal(err)
	}
	if len(offline.Problems) > 0 || len(offline.Claims) == 0 {
		t.Fatalf("offline: %d claims, problems %+v", len(offline.Claims), offline.Problems)
	}
	templates := slices.Sorted(slices.Values(render.ClaimTemplateNames(c)))
	for i := range count {
		name := fmt.Sprintf("pod-%d", i)
		run := min(i+1, len(offline.Claims))
		p.place(t, c.Namespace, []object{pod(name, templates[i%len(templates)], node)}, run, unsatisfied, busy)
	}
	var want [][]at
	for _, claim := range offline.Claims {
		var devices []at
		for _, d := range claim.Devices {
			devices = append(devices, at{driver: d.Driver, pool: d.Pool, device: d.Device, root: d.Request})
		}
		want = append(want, devices)
	}
	if diff := gocmp.Diff(want, p.devicesByPod(t, c.Namespace), gocmp.AllowUnexported(at{})); diff != "" {
		t.Errorf("offline (-) and the scheduler (+) differ:\n%s", diff)
	}
	t.Logf("%d of %d pods have devices, the same: %d each", len(want), count, len(want[0]))
}

// devicesByPod are the devices of the claims of pod-0, pod-1 and so on, each with its request instead of its root.
func (p *plane) devicesByPod(t *testing.T, namespace string) (pods [][]at) {
	t.Helper()
	byName := map[string]claimState{}
	for _, c := range list[claimState](t, p, "resource.k8s.io/v1", "ResourceClaim", namespace) {
		byName[c.Metadata.Name] = c
	}
	states := list[podState](t, p, "v1", "Pod", namespace)
	slices.SortFunc(states, func(a, b podState) int { return cmp.Compare(number(a.Metadata.Name), number(b.Metadata.Name)) })
	for _, s := range states {
		for _, c := range s.Status.ResourceClaimStatuses {
			if a := byName[c.ResourceClaimName].Status.Allocation; a != nil {
				var devices []at
				for _, r := range a.Devices.Results {
					devices = append(devices, at{driver: r.Driver, pool: r.Pool, device: r.Device, root: r.Request})
				}
				pods = append(pods, devices)
			}
		}
	}
	return pods
}

func number(pod string) int {
	_, digits, _ := strings.Cut(pod, "-")
	n, _ := strconv.Atoi(digits) // written by this test
	return n
}
