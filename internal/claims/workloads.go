package claims

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kjson "sigs.k8s.io/json"
)

// readPod keeps a pod with the claims that it names.
func (o *Objects) readPod(s source) {
	var pod corev1.Pod
	strict, err := kjson.UnmarshalStrict(s.json, &pod)
	if err != nil {
		o.problem(s, s.object, "", plainJSONError(err), true)
		return
	}
	for _, e := range strict {
		o.problem(s, s.object, "", podField(e.Error()), false)
	}
	o.addWorkload(s, &workload{kind: "Pod", name: pod.Name, generate: pod.GenerateName, namespace: pod.Namespace, replicas: 1, spec: pod.Spec})
}

// podField names the level that resource claims of pods had before Kubernetes 1.31.
func podField(text string) string {
	if source := `.source"`; len(text) > len(source) && text[len(text)-len(source):] == source {
		return text + ": is the level of before Kubernetes 1.31: resourceClaimTemplateName and resourceClaimName stand one level higher"
	}
	return text
}

// workloadKinds tells the kinds whose pods can be counted.
func workloadKinds(group, kind string) bool {
	switch group + "/" + kind {
	case "apps/StatefulSet", "apps/Deployment", "apps/ReplicaSet", "batch/Job":
		return true
	}
	return false
}

// readWorkload keeps a StatefulSet, Deployment, ReplicaSet or Job whose pods name claims.
func (o *Objects) readWorkload(s source, kind string) {
	var w struct {
		Metadata metav1.ObjectMeta `json:"metadata"`
		Spec     struct {
			Replicas    *int `json:"replicas"`
			Parallelism *int `json:"parallelism"` // of a Job: its pods at one time
			Template    struct {
				Spec corev1.PodSpec `json:"spec"`
			} `json:"template"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(s.json, &w); err != nil {
		o.problem(s, s.object, "", plainJSONError(err), true)
		return
	}
	replicas := 1 // what the server sets
	for _, n := range []*int{w.Spec.Replicas, w.Spec.Parallelism} {
		if n != nil {
			replicas = *n
		}
	}
	if replicas < 0 {
		o.problem(s, s.object, "spec.replicas", "is below 0", true)
		return
	}
	o.addWorkload(s, &workload{kind: kind, name: w.Metadata.Name, generate: w.Metadata.GenerateName, namespace: w.Metadata.Namespace, replicas: replicas, spec: w.Spec.Template.Spec})
}

// addWorkload keeps a workload, and says which of its limits cannot be.
func (o *Objects) addWorkload(s source, w *workload) {
	for i, c := range w.spec.Containers {
		for _, resource := range pluginResources() {
			if q, ok := c.Resources.Limits[resource]; ok && q.Sign() < 0 {
				o.problem(s, s.object, fmt.Sprintf("containers[%d].resources.limits[%s]", i, resource), "is below 0: read as 0", false)
			}
		}
	}
	o.workloads = append(o.workloads, w)
}
