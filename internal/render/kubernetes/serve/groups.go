// Package serve renders the pods that serve a model: volumes and downloads of the weights, the groups of pods, and their Service. Leader
// and worker come from one function. It is pure.
package serve

import (
	_ "embed" // what pods do before the engine starts
	"fmt"
	"strings"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// Serve is the part of a plan that pods which serve a model follow from.
type Serve struct {
	*fabric.Serving // with Pods
	Devices         fabric.PodDevices
	Template        string      // ResourceClaimTemplate of a pod's devices; empty: it has none
	Fabric          [][2]string // variables of collectives that follow from the traffic classes, with their values
}

//go:embed start.sh
var beforeEngine string

const (
	engineName  = "engine" // of the container, as logs show it
	sharedName  = "shared-memory"
	weightsName = "weights"
	topologyAt  = "/etc/nccl-topology"

	nameLabel  = "app.kubernetes.io/name"
	groupLabel = "leaderworkerset.sigs.k8s.io/name"
	rankLabel  = "leaderworkerset.sigs.k8s.io/worker-index"
)

// leaderWorkerSet is sigs.k8s.io/lws/api/leaderworkerset/v1 as far as it is written here; the real definition of its kind judges it in
// test/kube.
type leaderWorkerSet struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Replicas int    `json:"replicas"`
		Template group  `json:"leaderWorkerTemplate"`
		Startup  string `json:"startupPolicy"`
	} `json:"spec"`
}

type group struct {
	Size    int                          `json:"size"`
	Restart string                       `json:"restartPolicy"`
	Leader  core.PodTemplateSpec         `json:"leaderTemplate"`
	Worker  *core.PodTemplateSpec        `json:"workerTemplate"`
	Volumes []core.PersistentVolumeClaim `json:"volumeClaimTemplates,omitempty"`
}

// Groups are the pods that serve, and the Service that gives requests to the first of each group.
func Groups(s Serve) fabric.Artifact {
	service := core.Service{TypeMeta: meta.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: s.named(s.Pods.Name + "-api")}
	service.Spec.Ports = []core.ServicePort{{Name: "http", Port: int32(s.Pods.Port), TargetPort: intstr.FromString("http")}}
	var objects []kubernetes.Object
	if s.Pods.Kind == fabric.JobSets {
		for group := range s.Pods.Groups {
			objects = append(objects, kubernetes.Object{Body: s.jobSet(group)})
		}
		service.Spec.Selector = map[string]string{nameLabel: s.Pods.Name, jobLabel: fabric.LeaderJob}
	} else {
		objects = []kubernetes.Object{{Body: s.leaderWorkerSet()}}
		service.Spec.Selector = map[string]string{groupLabel: s.Pods.Name, rankLabel: "0"}
	}
	objects[0].Comment = s.about()
	return kubernetes.File("/40-serve.yaml", append(objects, kubernetes.Object{Comment: fmt.Sprintf("Requests go to the first pod of each group, once it is ready: http://%s.%s:%d/v1. From outside: kubectl port-forward service/%[1]s -n %[2]s %[3]d.",
		service.Name, s.Pods.Namespace, s.Pods.Port), Body: service})...)
}

func (s Serve) leaderWorkerSet() (set leaderWorkerSet) {
	set.TypeMeta, set.ObjectMeta = meta.TypeMeta{APIVersion: "leaderworkerset.x-k8s.io/v1", Kind: "LeaderWorkerSet"}, s.named(s.Pods.Name)
	set.Annotations = s.afterDownloads()
	queue(s.Pods.Queue, &set.ObjectMeta)
	worker := s.pod(true)
	set.Spec.Replicas, set.Spec.Startup = s.Pods.Groups, "LeaderCreated"
	set.Spec.Template = group{Size: s.Pods.Size, Restart: "RecreateGroupOnPodRestart", Leader: s.pod(false), Worker: &worker}
	if s.ownVolumes() {
		set.Spec.Template.Volumes = []core.PersistentVolumeClaim{s.claim(weightsName, false)}
	}
	return set
}

// about says what the groups are, and how long they may take, with the reason.
func (s Serve) about() string {
	l, p, t := s.Layout, s.Pods, s.Pods.Times
	lock := ""
	if p.Size > 1 {
		lock = ": the capability IPC_LOCK is for memory that NICs read and write (Pod Security admission calls that privileged)"
	}
	lines := []string{
		fmt.Sprintf("%s %s serves %s: %s of %s with %s each, tp %d, pp %d, %d tokens of KV cache.", s.Engine, s.Version, s.Model,
			fabric.Count(p.Groups, "group"), fabric.Count(p.Size, "pod"), fabric.Count(p.GPUs, "GPU"), l.TP, l.PP, l.KVTokens),
		fmt.Sprintf("Image: %s (%s).", s.Image, s.ImageSource),
		fmt.Sprintf("A pod has %d s to start: %d until the last pod of its group runs (image), %d for imports, %d for %.1f GB of weights at %g GB/s (%s), %d for kernels and graphs.",
			t.Startup(), t.Join, t.Imports, t.Load, float64(p.Weights.DownloadBytes)/1e9, p.Weights.GBs, p.Weights.GBsSource, t.Graphs),
		"Leader and workers come from one template: only the leader has a port and probes, as it alone answers. A worker that fails ends its group, which is made anew.",
		"Not privileged, not in the network or the process space of the machine" + lock + "; root is the user of the engines' images.",
		"No CPU or memory is requested: a pod has all GPUs that it asks for, and what else its machine has left is unknown to the plan.",
	}
	if s.RemoteCode {
		lines = append(lines, "The engine runs Python code of the model's repository (serving.trust_remote_code): that of the download, which stays in the volume.")
	}
	return strings.Join(append(lines, t.Notes...), "\n")
}

// named is the metadata of an object of the groups.
func (s Serve) named(name string) meta.ObjectMeta {
	labels := kubernetes.ManagedBy()
	labels[nameLabel] = s.Pods.Name
	return meta.ObjectMeta{Name: name, Namespace: s.Pods.Namespace, Labels: labels}
}

// The annotations that tell railwright apply how long an object may take, and after which others it is applied.
const (
	readyWithin = "railwright.dev/ready-within"
	after       = "railwright.dev/after"
	// mostAfter is how many jobs a group names at most: annotations have 256 KiB. Pods wait for their weights by themselves too, but hold
	// their GPUs meanwhile.
	mostAfter = 500
)

func (s Serve) readyWithin(seconds int) map[string]string {
	return map[string]string{readyWithin: fmt.Sprintf("%ds", seconds)}
}

// afterDownloads are the annotations of a group: it is applied once its weights are there.
func (s Serve) afterDownloads() map[string]string {
	all := s.readyWithin(s.Pods.Times.Startup())
	if s.copies() > mostAfter {
		return all
	}
	var jobs []string
	for i := range s.copies() {
		jobs = append(jobs, "Job/"+s.volumeName(i/s.Pods.Size, i%s.Pods.Size))
	}
	all[after] = strings.Join(jobs, ", ")
	return all
}

// ownVolumes: each pod has a volume of its own.
func (s Serve) ownVolumes() bool { return s.Pods.Weights.Mode == string(core.ReadWriteOnce) }

// pod is that of a group's first pod, or of its workers.
func (s Serve) pod(worker bool) core.PodTemplateSpec {
	container := core.Container{
		Name: engineName, Image: s.Image, Command: []string{"/bin/bash", "-c"}, Args: []string{s.script(worker)}, Env: s.environment(),
		SecurityContext: s.privilege(), Resources: s.resources(), TerminationMessagePolicy: core.TerminationMessageFallbackToLogsOnError,
		VolumeMounts: []core.VolumeMount{{Name: sharedName, MountPath: "/dev/shm"}, {Name: weightsName, MountPath: weightsAt, ReadOnly: true}},
	}
	if !worker {
		container.Ports = []core.ContainerPort{{Name: "http", ContainerPort: int32(s.Pods.Port)}}
		s.probes(&container)
	}
	no := false
	pod := core.PodTemplateSpec{ObjectMeta: meta.ObjectMeta{Labels: map[string]string{nameLabel: s.Pods.Name}}}
	pod.Spec = core.PodSpec{
		InitContainers: []core.Container{s.wait()}, Containers: []core.Container{container},
		AutomountServiceAccountToken: &no, EnableServiceLinks: &no, // a Service named vllm would set variables of vLLM
		SecurityContext: &core.PodSecurityContext{SeccompProfile: &core.SeccompProfile{Type: core.SeccompProfileTypeRuntimeDefault}},
		Tolerations:     []core.Toleration{{Key: s.Devices.GPUVendor + ".com/gpu", Operator: core.TolerationOpExists, Effect: core.TaintEffectNoSchedule}},
		Volumes:         s.volumes(),
	}
	for _, name := range s.Pods.PullSecrets {
		pod.Spec.ImagePullSecrets = append(pod.Spec.ImagePullSecrets, core.LocalObjectReference{Name: name})
	}
	if key, value, ok := strings.Cut(s.Pods.Selector, "="); ok {
		pod.Spec.NodeSelector = map[string]string{key: value}
	}
	if s.Template != "" {
		pod.Spec.ResourceClaims = []core.PodResourceClaim{{Name: "devices", ResourceClaimTemplateName: &s.Template}}
	}
	s.mounts(&pod.Spec)
	queueOfPod(s.Pods.Queue, s.Pods.Name, s.Pods.Size, &pod)
	return pod
}

// privilege of the engine: memory that NICs read and write stays in place, where there are such.
func (s Serve) privilege() *core.SecurityContext {
	if s.Pods.Size < 2 {
		return leastPrivilege()
	}
	return leastPrivilege("IPC_LOCK")
}

// leastPrivilege takes everything from a container but these capabilities.
func leastPrivilege(capabilities ...core.Capability) *core.SecurityContext {
	no := false
	return &core.SecurityContext{AllowPrivilegeEscalation: &no, Capabilities: &core.Capabilities{Drop: []core.Capability{"ALL"}, Add: capabilities}}
}

// resources are the devices of a pod: limits, to which the API server sets requests.
func (s Serve) resources() (r core.ResourceRequirements) {
	one, limits := resource.MustParse("1"), core.ResourceList{}
	if s.Devices.GPUResource != "" {
		limits[core.ResourceName(s.Devices.GPUResource)] = *resource.NewQuantity(int64(s.Devices.GPUs), resource.DecimalSI)
	}
	for _, n := range s.Devices.NICs {
		if s.Pods.Size < 2 { // nothing leaves the machine
			break
		}
		limits[core.ResourceName(fabric.RDMAPrefix+n.Resource)] = one // a share of that NIC, not a number of NICs
	}
	if len(limits) > 0 {
		r.Limits = limits
	}
	if s.Template != "" {
		r.Claims = []core.ResourceClaim{{Name: "devices"}}
	}
	return r
}

// probes are those of the pod that answers. Until the start is over only the first counts.
func (s Serve) probes(c *core.Container) {
	const period = 10 // seconds between two
	health := core.ProbeHandler{HTTPGet: &core.HTTPGetAction{Path: "/health", Port: intstr.FromString("http")}}
	c.StartupProbe = &core.Probe{ProbeHandler: health, PeriodSeconds: period, TimeoutSeconds: answerTime, FailureThreshold: int32((s.Pods.Times.Startup() + period - 1) / period)}
	c.ReadinessProbe = &core.Probe{ProbeHandler: health, PeriodSeconds: period, TimeoutSeconds: answerTime, FailureThreshold: 3}
	c.LivenessProbe = &core.Probe{ProbeHandler: health, PeriodSeconds: answerTime, TimeoutSeconds: answerTime, FailureThreshold: hangTime/answerTime + 1}
}

const (
	// answerTime in seconds: SGLang answers /health with a token of its own, for which it waits 20 s (SGLANG_HEALTH_CHECK_TIMEOUT).
	answerTime = 30
	// hangTime in seconds: SGLang ends itself where a step takes longer (--watchdog-timeout 300), vLLM likewise
	// (VLLM_EXECUTE_MODEL_TIMEOUT_SECONDS 300): their own message tells more than a probe, and comes first.
	hangTime = 300
)

// script is what a pod runs: it looks at what it was given, waits for the name of the first pod, and becomes the engine.
func (s Serve) script(worker bool) string {
	settings := "SETTINGS="
	if s.Pods.Cloud == cloudGKE {
		settings = gkeSettings
	}
	var b strings.Builder
	fmt.Fprintf(&b, "set -eu\nDEVICES=/dev/infiniband SYSFS=/sys PROCFS=/proc\n%s\nRAILS=%d SIZE=%d JOIN=%d\n%s\n%sexec",
		settings, s.Pods.Rails, s.Pods.Size, s.Pods.Times.Join, s.identity(worker), strings.ReplaceAll(beforeEngine, "\t", "  ")) // YAML quotes tabs
	for _, w := range s.Pods.Command {
		b.WriteString(" " + fabric.ShellWord(w))
	}
	for _, w := range s.Pods.Joining {
		fmt.Fprintf(&b, " %q", w)
	}
	if worker {
		for _, w := range s.Pods.OfWorkers {
			b.WriteString(" " + fabric.ShellWord(w))
		}
	}
	return b.String() + "\n"
}

// identity is how a pod learns its number in the group and the name of the first.
func (s Serve) identity(worker bool) string {
	switch {
	case s.Pods.Kind != fabric.JobSets:
		return "RANK=${LWS_WORKER_INDEX:-} LEADER=${LWS_LEADER_ADDRESS:-}"
	case worker:
		return "RANK=${JOB_COMPLETION_INDEX:+$((JOB_COMPLETION_INDEX + 1))} " + jobLeader
	}
	return "RANK=0 " + jobLeader
}
