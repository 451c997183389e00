package serve

import (
	"fmt"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
)

const (
	jobSetLabel = "jobset.sigs.k8s.io/jobset-name"
	jobLabel    = "jobset.sigs.k8s.io/replicatedjob-name"
	// jobLeader is the name of the first pod: JOBSET-JOB-INDEX-POD.SUBDOMAIN, the subdomain by default as the JobSet (JobSet, network).
	jobLeader = "LEADER=${JOBSET_NAME:+$JOBSET_NAME-" + fabric.LeaderJob + "-0-0.$JOBSET_NAME}"
	// restarts of a group until its JobSet has failed: a model that ended so often does not start by trying once more.
	restarts = 100
)

// jobSet is jobset.x-k8s.io/v1alpha2 as far as it is written here; the real definition of its kind judges it in test/kube.
type jobSet struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		Network struct {
			Hostnames bool `json:"enableDNSHostnames"`
			NotReady  bool `json:"publishNotReadyAddresses"`
		} `json:"network"`
		Failure struct {
			MaxRestarts int `json:"maxRestarts"`
		} `json:"failurePolicy"`
		Jobs []replicatedJob `json:"replicatedJobs"`
	} `json:"spec"`
}

type replicatedJob struct {
	Name     string                `json:"name"`
	Replicas int                   `json:"replicas"`
	Template batch.JobTemplateSpec `json:"template"`
}

// jobSet is one group: a job of its first pod, and one of the others. A pod that fails ends its job, and with it the group, which is
// made anew.
func (s Serve) jobSet(group int) (set jobSet) {
	set.TypeMeta = meta.TypeMeta{APIVersion: "jobset.x-k8s.io/v1alpha2", Kind: "JobSet"}
	set.ObjectMeta = s.named(fmt.Sprintf("%s-%d", s.Pods.Name, group))
	set.Annotations = s.afterDownloads()
	queue(s.Pods.Queue, &set.ObjectMeta)
	set.Spec.Network.Hostnames, set.Spec.Network.NotReady = true, true
	set.Spec.Failure.MaxRestarts = restarts
	set.Spec.Jobs = []replicatedJob{s.job(fabric.LeaderJob, 1, s.pod(false))}
	if s.Pods.Size > 1 {
		set.Spec.Jobs = append(set.Spec.Jobs, s.job(fabric.WorkersJob, s.Pods.Size-1, s.pod(true)))
	}
	return set
}

func (s Serve) job(name string, pods int, pod core.PodTemplateSpec) replicatedJob {
	count, never, indexed := int32(pods), int32(0), batch.IndexedCompletion
	pod.Spec.RestartPolicy = core.RestartPolicyNever
	r := replicatedJob{Name: name, Replicas: 1}
	r.Template.Spec = batch.JobSpec{Parallelism: &count, Completions: &count, CompletionMode: &indexed, BackoffLimit: &never, Template: pod}
	return r
}
