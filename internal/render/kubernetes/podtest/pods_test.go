package podtest

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

// testShapes are a plan whose pods get all by one claim, one with a claim for each block of a machine, and one whose device plugins
// give everything, on virtual machines.
func testShapes() map[string]Tests {
	plugins := Tests{
		Cluster: "pod1", Namespace: "deepseek", Images: "harbor.example.com/railwright", Vendor: "nvidia", GPUs: 8, NICs: 8, GPUResource: "nvidia.com/gpu",
		Sets: []TestSet{{Pods: 2}}, Nodes: 2, Machine: "hgx-h100", Variables: []string{"NCCL_NET=IB", "NCCL_SOCKET_IFNAME==eth0"},
		Topology: map[string]string{"w2": "class.xml", "w1": "class.xml"},
	}
	for i := range 8 {
		plugins.NICResource = append(plugins.NICResource, fmt.Sprintf("rdma/rdma_shared_devices_%c", 'a'+i))
	}
	return map[string]Tests{
		"claim": {
			Cluster: "pod1", Namespace: "default", Images: "registry.example.com:5000/a/b/", Vendor: "amd", GPUs: 8, NICs: 8,
			Sets: []TestSet{{"worker-8gpu-8nic-0a1b2", 2}}, Nodes: 2, Machine: "xe9680-mi300x-thor2", Variables: []string{"NCCL_NET=IB", "NCCL_IB_TC=104"},
		},
		"blocks": {
			Cluster: "pod1", Namespace: "bench", Images: "r.example.com", Vendor: "nvidia", GPUs: 4, NICs: 4, GPUResource: "nvidia.com/gpu",
			Sets: []TestSet{{"worker-4nic-block0-aaaaa", 3}, {"worker-4nic-block1-bbbbb", 3}}, Nodes: 3, Variables: []string{"NCCL_NET=IB"},
		},
		"plugins": plugins,
	}
}

// templatesOf are the pods of a file, by the kind and name of what makes them; every object is read strictly.
func templatesOf(t *testing.T, a fabric.Artifact) map[string]core.PodTemplateSpec {
	t.Helper()
	all := make(map[string]core.PodTemplateSpec)
	for _, text := range strings.Split(string(a.Content), "\n---\n") {
		var kind meta.TypeMeta
		if err := yaml.Unmarshal([]byte(text), &kind); err != nil {
			t.Fatal(err)
		}
		strictly := func(v any) {
			t.Helper()
			if err := yaml.UnmarshalStrict([]byte(text), v); err != nil {
				t.Errorf("%s of %s: %v", kind.Kind, a.Path, err)
			}
		}
		switch kind.Kind {
		case "StatefulSet":
			var set apps.StatefulSet
			strictly(&set)
			all["StatefulSet "+set.Name] = set.Spec.Template
		case "MPIJob":
			var job mpiJob
			strictly(&job)
			for role, r := range job.Spec.Replicas {
				all["MPIJob "+role] = r.Template
			}
		case "Service":
			strictly(&core.Service{})
		case "ConfigMap":
			strictly(&core.ConfigMap{})
		default:
			t.Errorf("%s: an object of kind %q", a.Path, kind.Kind)
		}
	}
	return all
}

func TestTestPods(t *testing.T) {
	for name, shape := range testShapes() {
		t.Run(name, func(t *testing.T) {
			for _, a := range []fabric.Artifact{TestScripts(shape), PerftestPods(shape), CollectivePods(shape)} {
				golden(t, name+"-"+a.File[strings.LastIndex(a.File, "/")+1:], a.Content)
				for what, template := range templatesOf(t, a) {
					hasDevices(t, what, shape, template.Spec)
				}
			}
			if n := len(templatesOf(t, PerftestPods(shape))); n != len(shape.Sets) {
				t.Errorf("%d kinds of pods, want %d", n, len(shape.Sets))
			}
			err := CheckMPIJob(shape)
			if (err == nil) != (len(shape.Sets) == 1) {
				t.Errorf("MPIJob of %d sets: %v", len(shape.Sets), err)
			}
			if err != nil {
				return
			}
			golden(t, name+"-test-mpijob.yaml", MPIJob(shape).Content)
			pods := templatesOf(t, MPIJob(shape))
			hasDevices(t, "worker", shape, pods["MPIJob Worker"].Spec)
			if l := pods["MPIJob Launcher"].Spec; len(l.ResourceClaims)+len(l.Containers[0].Resources.Claims) > 0 || len(l.Containers[0].Resources.Limits) != 2 {
				t.Errorf("the launcher asks for devices: %+v", l.Containers[0].Resources)
			}
		})
	}
}

// hasDevices makes sure that a pod asks for what the plan gives it, with limits that are its requests.
func hasDevices(t *testing.T, what string, shape Tests, pod core.PodSpec) {
	t.Helper()
	c := pod.Containers[0]
	for name, q := range c.Resources.Limits {
		if r := c.Resources.Requests[name]; r.Cmp(q) != 0 {
			t.Errorf("%s: request %v and limit %v of %s", what, &r, &q, name)
		}
	}
	gpus := c.Resources.Limits[core.ResourceName("nvidia.com/gpu")]
	if want := int64(shape.GPUs); shape.GPUResource != "" && gpus.Value() != want || shape.GPUResource == "" && gpus.Value() != 0 {
		t.Errorf("%s: %d GPUs of the device plugin, want %d", what, gpus.Value(), want)
	}
	for _, r := range shape.NICResource {
		if q := c.Resources.Limits[core.ResourceName(r)]; q.Value() != 1 {
			t.Errorf("%s: %d of %s", what, q.Value(), r)
		}
	}
	templates := map[string]bool{}
	for _, s := range shape.Sets {
		templates[s.Template] = true
	}
	switch {
	case len(pod.ResourceClaims) == 0 && !templates[""]:
		t.Errorf("%s: no claim", what)
	case len(pod.ResourceClaims) > 0 && (!templates[*pod.ResourceClaims[0].ResourceClaimTemplateName] || c.Resources.Claims[0].Name != pod.ResourceClaims[0].Name):
		t.Errorf("%s: claims %+v, of the container %+v", what, pod.ResourceClaims, c.Resources.Claims)
	}
	if !strings.Contains(c.Image, "-"+shape.Vendor+":"+shape.tag()) || strings.Contains(c.Image, "//") {
		t.Errorf("%s: image %s", what, c.Image)
	}
}

// Pod Security admission itself judges every pod: those with devices break the level baseline by one capability and nothing else, the
// launcher of an MPIJob does not break it. A pod as "Deploy Distributed LLM Inference ...", H, has it breaks it in many ways.
func TestPodSecurity(t *testing.T) {
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	broken := func(level api.Level, pod core.PodTemplateSpec) []string {
		var found []string
		for _, r := range judge.EvaluatePod(api.LevelVersion{Level: level, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
			if !r.Allowed {
				found = append(found, r.ForbiddenReason+": "+r.ForbiddenDetail)
			}
		}
		slices.Sort(found)
		return found
	}
	const lock = `non-default capabilities: container "test" must not include "IPC_LOCK" in securityContext.capabilities.add`
	for name, shape := range testShapes() {
		files := []fabric.Artifact{PerftestPods(shape), CollectivePods(shape)}
		if CheckMPIJob(shape) == nil {
			files = append(files, MPIJob(shape))
		}
		for _, a := range files {
			for what, pod := range templatesOf(t, a) {
				want, beyond := []string{lock}, 2 // restricted: the capabilities, and root of the container
				if what == "MPIJob Launcher" {
					want, beyond = nil, 1
				}
				if got := broken(api.LevelBaseline, pod); !slices.Equal(got, want) {
					t.Errorf("%s, %s: baseline: %q, want %q", name, what, got, want)
				}
				if got := broken(api.LevelRestricted, pod); len(got) != beyond {
					t.Errorf("%s, %s: restricted: %d reasons, want %d: %q", name, what, len(got), beyond, got)
				}
			}
		}
	}
	yes := true
	printed := core.PodTemplateSpec{Spec: core.PodSpec{
		HostNetwork: true, HostPID: true, HostIPC: true, Containers: []core.Container{{Name: "mpi-node", SecurityContext: &core.SecurityContext{Privileged: &yes}}},
		Volumes: []core.Volume{{Name: "rdma-devices", VolumeSource: core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: "/dev/infiniband"}}}},
	}}
	if got := broken(api.LevelBaseline, printed); len(got) != 3 {
		t.Errorf("the printed pod breaks baseline in %d ways, want 3: %q", len(got), got)
	}
}

// What cannot be said of a plan is an error that names the field, and no pod.
func TestCheckTests(t *testing.T) {
	shape := testShapes()["claim"]
	if err := CheckTests(shape); err != nil {
		t.Error(err)
	}
	shape.Images = ""
	if err := CheckTests(shape); err == nil || !strings.HasPrefix(err.Error(), "kubernetes.test_images: ") {
		t.Errorf("without a registry: %v", err)
	}
	shape.Vendor = "intel"
	if err := CheckTests(shape); err == nil || !strings.Contains(err.Error(), "known: amd, nvidia") {
		t.Errorf("of a vendor without images: %v", err)
	}
}

// Nothing that is rendered holds a key or a password, and no image is named by a tag that moves.
func TestNothingSecret(t *testing.T) {
	for name, shape := range testShapes() {
		files := append(TestImages(shape), TestScripts(shape), PerftestPods(shape), CollectivePods(shape), RunTests(shape))
		for _, a := range files {
			text := string(a.Content)
			for _, word := range []string{"PRIVATE KEY", "chpasswd", "ssh-rsa ", "ssh-ed25519 ", ":latest", "privileged: true", "hostNetwork", "StrictHostKeyChecking no", "insecure"} {
				if strings.Contains(text, word) {
					t.Errorf("%s: %s has %q", name, a.Path, word)
				}
			}
		}
	}
}
