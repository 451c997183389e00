// Package podtest renders the pods that test the network of a cluster of Kubernetes, the images that they run in, and the script that
// runs the tests. It is pure.
package podtest

import (
	_ "embed" // what runs in the pods
	"fmt"
	"maps"
	"slices"
	"strings"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// Tests is the part of a plan with the pods that measure its network. They take all GPUs that a pod of the plan has, so nothing
// applies them but the script that runs the tests, and it removes them.
type Tests struct {
	Cluster     string
	Namespace   string
	Images      string    // registry and path from which nodes pull
	Vendor      string    // of the GPUs: nvidia, amd
	GPUs        int       // per pod
	NICs        int       // per pod
	GPUResource string    // extended resource of a GPU; empty: a claim gives them
	NICResource []string  // extended resources of NICs, one of each; none: a claim gives them
	Sets        []TestSet // pods that are alike
	Nodes       int       // of the plan
	Machine     string    // of all nodes, in the catalog; empty: none, or several
	Variables   []string  // of collectives: NAME=VALUE
	// Topology is the file of NCCL's topology for each node, in the ConfigMap nccl-topology; nil: NCCL reads the PCI tree.
	Topology map[string]string
}

// TestSet is test pods that are alike.
type TestSet struct {
	Template string // of their claim; empty: extended resources give them everything
	Pods     int
}

// What the test pods are called, and where things are in them.
const (
	perftestPods    = "railwright-perftest"
	collectivePods  = "railwright-collectives"
	testScripts     = "railwright-test-scripts"
	testKeys        = "railwright-test-keys" // a Secret that the script makes and removes
	scriptsIn       = "/opt/railwright"
	testProgram     = scriptsIn + "/pod.sh"
	keysIn          = "/root/.ssh" // as the MPI operator's sshAuthMountPath has it
	sharedMemory    = "shared-memory"
	testSSH         = 2222 // not 22, for which a process needs a further capability
	perftestImage   = "perftest"
	collectiveImage = "collectives"
)

// Limits of a test pod, which are also its requests, so that nothing else of the machine slows the test. A rank is busy with two
// threads: its own, and the one of NCCL that drives the network (NCCL, src/proxy.cc). The memory is generous and ours; that of
// /dev/shm, within it, is taken only where GPUs cannot reach each other.
const (
	coresPerGPU  = 2
	memoryPerGPU = 16 // GiB
	sharedPerGPU = 8  // GiB
)

var (
	//go:embed pod.sh
	podScript []byte
	//go:embed sshd_config
	sshdConfig []byte
	//go:embed ssh_config
	sshConfig []byte
)

// TestScripts are what the pods run, as a ConfigMap: an image has programs of others only.
func TestScripts(t Tests) fabric.Artifact {
	variables := "# Environment of the collectives, from the plan. NCCL_IB_HCA is that of each pod: pod.sh finds it.\n" + strings.Join(t.Variables, "\n") + "\n"
	data := map[string]string{"pod.sh": string(podScript), "sshd_config": string(sshdConfig), "ssh_config": string(sshConfig), "nccl.env": variables}
	if len(t.Topology) > 0 {
		var b strings.Builder
		for _, node := range slices.Sorted(maps.Keys(t.Topology)) {
			fmt.Fprintf(&b, "%s %s\n", node, t.Topology[node])
		}
		data["topology"] = b.String()
	}
	return forScript(kubernetes.File("/test-scripts.yaml", kubernetes.Object{Comment: "What the test pods run.", Body: core.ConfigMap{
		TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: t.meta(testScripts, nil), Data: data,
	}}))
}

// PerftestPods are pods that wait for tests of single NICs, from host memory and from GPU memory. They have no SSH.
func PerftestPods(t Tests) fabric.Artifact {
	return forScript(kubernetes.File("/test-perftest.yaml", t.sets(perftestPods, "They wait; run-tests.sh perftest runs ib_write_bw in them.", func(template string) core.PodSpec {
		pod := t.pod(perftestImage, template)
		pod.Containers[0].Command = []string{"/bin/sleep", "infinity"}
		return pod
	})...))
}

// CollectivePods are pods in which mpirun starts the tests of collectives, over SSH with keys that the script makes for the run.
func CollectivePods(t Tests) fabric.Artifact {
	return forScript(kubernetes.File("/test-collectives.yaml", t.sets(collectivePods, "They wait for SSH, with the keys of this run; run-tests.sh collectives starts mpirun in the first.", func(template string) core.PodSpec {
		pod := t.worker(template)
		mode := int32(0o600) // else ssh refuses the key
		items := []core.KeyToPath{{Key: core.SSHAuthPrivateKey, Path: "id_rsa"}, {Key: "ssh-publickey", Path: "id_rsa.pub"}, {Key: "ssh-publickey", Path: "authorized_keys"}}
		mount(&pod, "keys", keysIn, core.VolumeSource{Secret: &core.SecretVolumeSource{SecretName: testKeys, DefaultMode: &mode, Items: items}})
		return pod
	})...))
}

// sets are a headless service, by whose names the pods find each other, and a StatefulSet for each kind of pod.
func (t Tests) sets(app, does string, pod func(template string) core.PodSpec) []kubernetes.Object {
	labels := map[string]string{"app": app}
	objects := []kubernetes.Object{{Comment: "The names by which the test pods find each other: POD." + app, Body: core.Service{
		TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: t.meta(app, nil),
		Spec: core.ServiceSpec{ClusterIP: core.ClusterIPNone, PublishNotReadyAddresses: true, Selector: labels},
	}}}
	for i, s := range t.Sets {
		own := map[string]string{"app": app, "set": t.setName(app, i)}
		pods := int32(s.Pods)
		objects = append(objects, kubernetes.Object{
			Comment: fmt.Sprintf("%s with %s and %s each. %s\n%s", fabric.Count(s.Pods, "pod"), fabric.Count(t.GPUs, "GPU"), fabric.Count(t.NICs, "RDMA NIC"), does, t.privileges(app)),
			Body: apps.StatefulSet{
				TypeMeta: meta.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"}, ObjectMeta: t.meta(t.setName(app, i), nil),
				Spec: apps.StatefulSetSpec{
					Replicas: &pods, ServiceName: app, PodManagementPolicy: apps.ParallelPodManagement, Selector: &meta.LabelSelector{MatchLabels: own},
					Template: core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: own}, Spec: pod(s.Template)},
				},
			},
		})
	}
	return objects
}

// setName is the name of a StatefulSet: that of its service where there is one.
func (t Tests) setName(app string, i int) string {
	if len(t.Sets) == 1 {
		return app
	}
	return fmt.Sprintf("%s-%d", app, i)
}

// privileges says why a pod has each thing that Pod Security admission does not let every pod have.
func (t Tests) privileges(app string) string {
	text := "IPC_LOCK is beyond the level baseline: a NIC registers memory that stays in place, more than container runtimes let a process lock. " +
		"It works for the root of the container only, as Kubernetes gives a capability to no other user."
	if app == collectivePods {
		text += " SETUID, SETGID and SYS_CHROOT, which baseline has, are what the SSH server needs to start a session."
	}
	return text + " Nothing else of the machine is reached: neither its network nor its processes, no folder, and of its devices those that it was given."
}

// bare is a pod without devices, in an image of the tests.
func (t Tests) bare(image string) core.PodSpec {
	no, seconds, mode := false, int64(5), int32(0o555)
	pod := core.PodSpec{
		AutomountServiceAccountToken: &no, EnableServiceLinks: &no, TerminationGracePeriodSeconds: &seconds,
		SecurityContext: &core.PodSecurityContext{SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}},
		Containers:      []core.Container{{Name: "test", Image: t.image(image), SecurityContext: confined()}},
	}
	mount(&pod, "scripts", scriptsIn, core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: testScripts}, DefaultMode: &mode}})
	return pod
}

// pod is a pod with the devices of the plan.
func (t Tests) pod(image, template string) core.PodSpec {
	pod := t.bare(image)
	c := &pod.Containers[0]
	c.Env = []core.EnvVar{
		{Name: "GPU_VENDOR", Value: t.Vendor},
		{Name: "NODE_NAME", ValueFrom: &core.EnvVarSource{FieldRef: &core.ObjectFieldSelector{FieldPath: "spec.nodeName"}}},
	}
	c.Resources, c.SecurityContext = t.resources(template), confined("IPC_LOCK")
	pod.Tolerations = []core.Toleration{{Key: t.Vendor + ".com/gpu", Operator: core.TolerationOpExists, Effect: core.TaintEffectNoSchedule}}
	if template != "" {
		pod.ResourceClaims = []core.PodResourceClaim{{Name: "devices", ResourceClaimTemplateName: &template}}
	}
	shared := resource.MustParse(fmt.Sprintf("%dGi", sharedPerGPU*t.GPUs))
	mount(&pod, sharedMemory, "/dev/shm", core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{Medium: core.StorageMediumMemory, SizeLimit: &shared}})
	if len(t.Topology) > 0 {
		mount(&pod, "topology", "/etc/nccl-topology", core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: fabric.TopologyMap}}})
	}
	return pod
}

// worker is a pod in which SSH starts ranks. It is ready once its server listens.
func (t Tests) worker(template string) core.PodSpec {
	pod := t.pod(collectiveImage, template)
	c := &pod.Containers[0]
	c.Command = []string{testProgram, "sshd"}
	c.SecurityContext = confined("IPC_LOCK", "SETGID", "SETUID", "SYS_CHROOT")
	c.ReadinessProbe = &core.Probe{ProbeHandler: core.ProbeHandler{TCPSocket: &core.TCPSocketAction{Port: intstr.FromInt32(testSSH)}}}
	return pod
}

// confined is a container without privileges but these capabilities.
func confined(capabilities ...core.Capability) *core.SecurityContext {
	no := false
	return &core.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}, Add: capabilities}}
}

// resources are limits, which are also requests: an extended resource cannot be asked for otherwise.
func (t Tests) resources(template string) core.ResourceRequirements {
	list := core.ResourceList{
		core.ResourceCPU:    resource.MustParse(fmt.Sprint(coresPerGPU * t.GPUs)),
		core.ResourceMemory: resource.MustParse(fmt.Sprintf("%dGi", memoryPerGPU*t.GPUs)),
	}
	if t.GPUResource != "" {
		list[core.ResourceName(t.GPUResource)] = resource.MustParse(fmt.Sprint(t.GPUs))
	}
	for _, r := range t.NICResource {
		list[core.ResourceName(r)] = resource.MustParse("1")
	}
	r := core.ResourceRequirements{Limits: list, Requests: list}
	if template != "" {
		r.Claims = []core.ResourceClaim{{Name: "devices"}}
	}
	return r
}

func mount(pod *core.PodSpec, name, at string, source core.VolumeSource) {
	pod.Volumes = append(pod.Volumes, core.Volume{Name: name, VolumeSource: source})
	pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, core.VolumeMount{Name: name, MountPath: at, ReadOnly: name != sharedMemory})
}

func (t Tests) meta(name string, labels map[string]string) meta.ObjectMeta {
	all := kubernetes.ManagedBy()
	maps.Copy(all, labels)
	return meta.ObjectMeta{Name: name, Namespace: t.Namespace, Labels: all}
}

// forScript is a file that a script of the same folder applies.
func forScript(a fabric.Artifact) fabric.Artifact {
	return kubernetes.NewArtifact(fabric.OnWorkstation, a.Path, a.Mode, a.Content)
}
