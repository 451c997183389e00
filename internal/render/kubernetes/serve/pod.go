package serve

import (
	"fmt"

	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
)

// What the installers of Google Kubernetes Engine put on a machine ("GKE and GPUDirect RDMA with DRA").
const (
	cloudGKE    = "gke"
	gkeSettings = "SETTINGS=/usr/local/gib/scripts/set_nccl_env.sh LIBRARIES=/usr/local/gib/lib64:/usr/local/nvidia/lib64"
)

// environment is what engine, NCCL and Gloo need to know beside what the script finds.
func (s Serve) environment() []core.EnvVar {
	field := func(name, path string) core.EnvVar {
		return core.EnvVar{Name: name, ValueFrom: &core.EnvVarSource{FieldRef: &core.ObjectFieldSelector{FieldPath: path}}}
	}
	identity := field("LWS_WORKER_INDEX", "metadata.labels['"+rankLabel+"']") // newer controllers set it themselves
	if s.Pods.Kind == fabric.JobSets {
		identity = field("JOBSET_NAME", "metadata.labels['"+jobSetLabel+"']")
	}
	all := []core.EnvVar{
		identity,
		{Name: "HF_HUB_OFFLINE", Value: "1"}, // what is missing in the volume is an error, not a download
		{Name: "NCCL_DEBUG", Value: "WARN"},  // failures say why
	}
	switch s.Engine {
	case "vllm":
		all = append(all, field("VLLM_HOST_IP", "status.podIP"), core.EnvVar{Name: "VLLM_ENGINE_READY_TIMEOUT_S", Value: fmt.Sprint(s.Pods.Times.Startup())})
	}
	if s.Pods.Cloud != cloudGKE && s.Pods.Size > 1 && s.Pods.Rails > 0 {
		all = append(all, core.EnvVar{Name: "NCCL_NET", Value: "IB"}) // RDMA or an error: else NCCL falls back to TCP and says little
	}
	for _, v := range s.Fabric {
		all = append(all, core.EnvVar{Name: v[0], Value: v[1]})
	}
	if s.Pods.Topology != "" {
		all = append(all, core.EnvVar{Name: "NCCL_TOPO_FILE", Value: topologyAt + "/" + s.Pods.Topology})
	}
	return all
}

// volumes are those of every pod; where each has weights of its own, the group's claim template stands for that one.
func (s Serve) volumes() []core.Volume {
	size := resource.NewQuantity(s.Pods.SharedBytes, resource.BinarySI)
	all := []core.Volume{{Name: sharedName, VolumeSource: core.VolumeSource{EmptyDir: &core.EmptyDirVolumeSource{Medium: core.StorageMediumMemory, SizeLimit: size}}}}
	if !s.ownVolumes() {
		all = append(all, core.Volume{Name: weightsName, VolumeSource: core.VolumeSource{PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: s.volumeName(0, 0), ReadOnly: true}}})
	}
	return all
}

// mounts adds what only some clusters have: NCCL's topology file, and on Google Kubernetes Engine driver and NCCL of the machine.
func (s Serve) mounts(pod *core.PodSpec) {
	add := func(name, at string, source core.VolumeSource) {
		pod.Volumes = append(pod.Volumes, core.Volume{Name: name, VolumeSource: source})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, core.VolumeMount{Name: name, MountPath: at, ReadOnly: true})
	}
	if s.Pods.Topology != "" {
		add(fabric.TopologyMap, topologyAt, core.VolumeSource{ConfigMap: &core.ConfigMapVolumeSource{LocalObjectReference: core.LocalObjectReference{Name: fabric.TopologyMap}}})
	}
	if s.Pods.Cloud == cloudGKE {
		add("nvidia", "/usr/local/nvidia", core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: "/home/kubernetes/bin/nvidia"}})
		add("gib", "/usr/local/gib", core.VolumeSource{HostPath: &core.HostPathVolumeSource{Path: "/home/kubernetes/bin/gib"}})
	}
}

// The annotations and labels of queues: of Kueue in its documentation, Run LeaderWorkerSets and Topology Aware Scheduling; of Volcano in
// the example of LeaderWorkerSet for gang scheduling.
const (
	kueueQueue     = "kueue.x-k8s.io/queue-name"
	kueueTopology  = "kueue.x-k8s.io/podset-required-topology"
	kueueGroup     = "kueue.x-k8s.io/podset-group-name"
	volcanoQueue   = "scheduling.volcano.sh/queue-name"
	volcano, kueue = "volcano", "kueue"
)

// queue marks a group for the queue that admits it as a whole.
func queue(q *fabric.ServingQueue, m *meta.ObjectMeta) {
	switch {
	case q == nil:
	case q.With == kueue:
		m.Labels[kueueQueue] = q.Name
	case q.With == volcano:
		m.Annotations[volcanoQueue] = q.Name
	}
}

// queueOfPod says what a pod of such a group needs beside the group's mark.
func queueOfPod(q *fabric.ServingQueue, name string, size int, pod *core.PodTemplateSpec) {
	switch {
	case q == nil:
	case q.With == volcano:
		pod.Spec.SchedulerName = volcano
	case q.Topology != "":
		pod.Annotations = map[string]string{kueueTopology: q.Topology}
		if size > 1 { // two sets of pods, which have to be in one domain; a group of one pod has one set
			pod.Annotations[kueueGroup] = name
		}
	}
}
