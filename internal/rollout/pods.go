package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	batch "k8s.io/api/batch/v1"
	core "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// PodSet is pods of one object that are made from one template.
type PodSet struct {
	Role     string // worker; empty: the object has one kind of pod
	Count    int    // pods; of a DaemonSet 0, and EachNode
	EachNode bool
	Pod      core.Pod                     // name and namespace are not set
	Claims   []core.PersistentVolumeClaim // that are made for each pod
}

// PodSets returns the pods that an object makes; of a kind that makes none, none.
func PodSets(k Kind, text []byte) (sets []PodSet, err error) {
	switch k {
	case Kind{"", "Pod"}:
		p, err := read[core.Pod](text)
		return []PodSet{{Count: 1, Pod: core.Pod{ObjectMeta: metav1.ObjectMeta{Labels: p.Labels, Annotations: p.Annotations}, Spec: p.Spec}}}, err
	case Kind{"apps", "StatefulSet"}, Kind{"apps", "Deployment"}, Kind{"apps", "DaemonSet"}:
		return ofWorkload(k, text)
	case Kind{"batch", "Job"}:
		j, err := read[batch.Job](text)
		return []PodSet{ofTemplate("", atOnce(j.Spec), j.Spec.Template)}, err
	case Kind{"jobset.x-k8s.io", "JobSet"}:
		return ofJobSet(text)
	case Kind{"kubeflow.org", "MPIJob"}:
		return ofMPIJob(text)
	case Kind{"leaderworkerset.x-k8s.io", "LeaderWorkerSet"}:
		return ofLeaderWorkerSet(text)
	}
	return nil, nil
}

func ofTemplate(role string, count int, t core.PodTemplateSpec) PodSet {
	return PodSet{Role: role, Count: count, Pod: core.Pod{ObjectMeta: metav1.ObjectMeta{Labels: t.Labels, Annotations: t.Annotations}, Spec: t.Spec}}
}

func ofWorkload(k Kind, text []byte) ([]PodSet, error) {
	w, err := read[struct {
		Spec struct {
			Replicas *int                         `json:"replicas"`
			Template core.PodTemplateSpec         `json:"template"`
			Claims   []core.PersistentVolumeClaim `json:"volumeClaimTemplates"`
		} `json:"spec"`
	}](text)
	s := ofTemplate("", orOne(w.Spec.Replicas), w.Spec.Template)
	s.Claims = w.Spec.Claims
	if k.Name == "DaemonSet" {
		s.Count, s.EachNode = 0, true
	}
	return []PodSet{s}, err
}

// atOnce is how many pods of a job run at the same time.
func atOnce(j batch.JobSpec) int {
	n := 1
	if j.Parallelism != nil {
		n = int(*j.Parallelism)
	}
	if j.Completions != nil {
		n = min(n, int(*j.Completions))
	}
	return n
}

func ofJobSet(text []byte) (sets []PodSet, err error) {
	j, err := read[struct {
		Spec struct {
			Jobs []struct {
				Name     string                `json:"name"`
				Replicas *int                  `json:"replicas"`
				Template batch.JobTemplateSpec `json:"template"`
			} `json:"replicatedJobs"`
		} `json:"spec"`
	}](text)
	for _, r := range j.Spec.Jobs {
		sets = append(sets, ofTemplate(r.Name, orOne(r.Replicas)*atOnce(r.Template.Spec), r.Template.Spec.Template))
	}
	return sets, err
}

func ofMPIJob(text []byte) (sets []PodSet, err error) {
	j, err := read[struct {
		Spec struct {
			Roles map[string]struct {
				Replicas *int                 `json:"replicas"`
				Template core.PodTemplateSpec `json:"template"`
			} `json:"mpiReplicaSpecs"`
		} `json:"spec"`
	}](text)
	for _, role := range slices.Sorted(maps.Keys(j.Spec.Roles)) {
		r := j.Spec.Roles[role]
		sets = append(sets, ofTemplate(strings.ToLower(role), orOne(r.Replicas), r.Template))
	}
	return sets, err
}

// ofLeaderWorkerSet: a group is a leader and size-1 workers; without a template of its own the leader is as a worker.
func ofLeaderWorkerSet(text []byte) ([]PodSet, error) {
	l, err := read[struct {
		Spec struct {
			Replicas *int `json:"replicas"`
			Group    struct {
				Size   *int                         `json:"size"`
				Leader *core.PodTemplateSpec        `json:"leaderTemplate"`
				Worker core.PodTemplateSpec         `json:"workerTemplate"`
				Claims []core.PersistentVolumeClaim `json:"volumeClaimTemplates"`
			} `json:"leaderWorkerTemplate"`
		} `json:"spec"`
	}](text)
	group, groups := l.Spec.Group, orOne(l.Spec.Replicas)
	workers := groups * max(orOne(group.Size)-1, 0)
	var sets []PodSet
	if group.Leader != nil {
		sets = append(sets, ofTemplate("leader", groups, *group.Leader))
	} else {
		workers += groups
	}
	if workers > 0 {
		sets = append(sets, ofTemplate("worker", workers, group.Worker))
	}
	for i := range sets {
		sets[i].Claims = group.Claims
	}
	return sets, err
}

// Text is one of the pods as an object of its own, with a name and a namespace, so that a server can be asked whether it admits it.
// NoAccount leaves out a service account that does not exist yet.
func (s PodSet) Text(namespace, name string, noAccount bool) ([]byte, error) {
	p := *s.Pod.DeepCopy()
	p.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	p.Namespace, p.Name = namespace, name
	if noAccount {
		p.Spec.ServiceAccountName, p.Spec.DeprecatedServiceAccount = "", ""
	}
	for _, c := range s.Claims { // the volume that a controller adds
		p.Spec.Volumes = append(p.Spec.Volumes, core.Volume{Name: c.Name, VolumeSource: core.VolumeSource{
			PersistentVolumeClaim: &core.PersistentVolumeClaimVolumeSource{ClaimName: c.Name}}})
	}
	text, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("pod %q: %w", name, err)
	}
	return text, nil
}
