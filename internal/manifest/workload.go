package manifest

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// workload reads an object that holds pods anywhere, whatever its kind.
func (d *document) workload(n *yaml.Node) {
	w := Workload{
		Form: Kubernetes, API: value(get(n, "apiVersion")), Kind: value(get(n, "kind")), Name: value(get(n, "metadata", "name")),
		Namespace: value(get(n, "metadata", "namespace")), Line: d.line(n), Service: value(get(n, "spec", "serviceName")),
		Labels: stringsOf(get(n, "metadata", "labels")), Annotations: stringsOf(get(n, "metadata", "annotations")),
	}
	w.Fragment = w.API == "" || w.Kind == ""
	if w.Fragment {
		w.Kind = "part of an object"
	}
	for _, o := range items(get(n, "metadata", "ownerReferences")) {
		if truth(get(o, "controller")) || w.Owner.Name == "" {
			w.Owner = Owner{API: value(get(o, "apiVersion")), Kind: value(get(o, "kind")), Name: value(get(o, "name"))}
		}
	}
	walk := podWalk{document: d, workload: &w}
	walk.at(n, nil)
	if len(w.Pods) == 0 {
		if len(d.file.Pools) == 0 {
			d.file.Unread = append(d.file.Unread, Note{Line: w.Line, What: d.named() + " holds no pod: not judged"})
		}
		return
	}
	w.Group = group(n, w.Kind, w.Pods)
	w.Operated = !takesAsIs(w.API)
	d.file.Workloads = append(d.file.Workloads, w)
}

func (d *document) named() string {
	if d.object == "" {
		return "an object without kind and name"
	}
	return d.object
}

// podWalk finds the pods of an object: each mapping that has a list of containers.
type podWalk struct {
	*document
	workload *Workload
}

const deepest = 40 // levels that are looked into; a pod of a custom resource is some ten deep

func (w *podWalk) at(n *yaml.Node, path []string) {
	n = deref(n)
	if n == nil || len(path) > deepest {
		return
	}
	switch {
	case n.Kind == yaml.SequenceNode:
		for _, c := range items(n) {
			w.at(c, append(path[:len(path):len(path)], value(get(c, "name"))))
		}
	case n.Kind != yaml.MappingNode:
	case isPod(n):
		w.workload.Pods = append(w.workload.Pods, w.pod(n, path))
	default:
		for _, p := range pairs(n) {
			if main := get(p[1], "mainContainer"); main != nil { // extraPodSpec of Dynamo: nvidia.com/v1alpha1
				w.workload.Pods = append(w.workload.Pods, w.rewritten(n, p[1], main, path))
				continue
			}
			below := append(path[:len(path):len(path)], p[0].Value)
			if isContainer(p[1]) {
				w.workload.Pods = append(w.workload.Pods, w.single(n, p[1], below))
				continue
			}
			w.at(p[1], below)
		}
	}
}

// isPod reports whether a mapping is a pod spec: it lists containers that are mappings.
func isPod(n *yaml.Node) bool {
	list := items(get(n, "containers"))
	if len(list) == 0 {
		return false
	}
	for _, c := range list {
		if c.Kind == yaml.MappingNode && (get(c, "image") != nil || get(c, "name") != nil || get(c, "env") != nil) {
			return true
		}
	}
	return false
}

// isContainer reports whether a mapping is a container that stands by itself, as in custom resources whose operator makes the pod:
// runner of OME's runtimes, model of KServe's predictors.
func isContainer(n *yaml.Node) bool {
	image := get(n, "image")
	if image == nil || image.Kind != yaml.ScalarNode {
		return false
	}
	return items(get(n, "env")) != nil || items(get(n, "args")) != nil || items(get(n, "command")) != nil
}

// single is a pod of a container that stands by itself; volumes and the like stand beside it.
func (w *podWalk) single(around, n *yaml.Node, path []string) Pod {
	p := w.podOf(around, path)
	p.Rewritten = true
	p.Containers = []Container{w.container(n, false)}
	if p.Containers[0].Name == "" {
		p.Containers[0].Name = path[len(path)-1]
	}
	return p
}

// role is what a pod is in its object: the last key above it that is not of every template.
func role(path []string) string {
	for i := len(path) - 1; i >= 0; i-- {
		switch path[i] {
		case "spec", "template", "", "jobTemplate", "podTemplate", "leaderWorkerTemplate", "extraPodSpec", "replicatedJobs", "services", "predictor", "podSpec":
			continue
		case "leaderTemplate":
			return "leader"
		case "workerTemplate":
			return "worker"
		}
		return strings.ToLower(path[i])
	}
	return ""
}

// rewritten is a pod that an operator makes from a container and what stands around it.
func (w *podWalk) rewritten(around, spec, main *yaml.Node, path []string) Pod {
	p := w.podOf(spec, path)
	p.Rewritten = true
	c := w.container(main, false)
	if c.Name == "" {
		c.Name = "main"
	}
	for from, to := range map[string]*map[string]Text{"limits": &c.Limits, "requests": &c.Requests} {
		for name, amount := range w.resources(get(around, "resources", from)) {
			if name == "gpu" {
				name = "nvidia.com/gpu" // deploy/operator: resources.limits.gpu of a service
			}
			if *to == nil {
				*to = map[string]Text{}
			}
			(*to)[name] = amount
		}
	}
	c.Env = append(w.env(get(around, "envs")), c.Env...)
	p.Containers = append([]Container{c}, p.Containers...)
	if n, ok := number(get(around, "multinode", "nodeCount")); ok {
		p.Replicas = n
	}
	return p
}

// group is how many pods of an object work together on one model or job; 0: it does not say.
func group(n *yaml.Node, kind string, pods []Pod) int {
	switch kind {
	case "LeaderWorkerSet":
		size := get(n, "spec", "leaderWorkerTemplate", "size")
		if size == nil {
			return 1 // leaderworkerset_types.go: size defaults to 1
		}
		count, _ := number(size)
		return count
	case "Pod", "Deployment", "DaemonSet", "ReplicaSet":
		return 1
	case "Job":
		if count, ok := number(get(n, "spec", "parallelism")); ok {
			return count
		}
		return 1 // batch/v1: parallelism defaults to 1
	}
	total := 0
	for _, p := range pods {
		switch {
		case kind == "MPIJob" && p.Role != "worker": // the launcher only starts ranks
		case p.Rewritten:
			total = max(total, p.Replicas)
		case jobs(kind):
			total += p.Replicas
		}
	}
	return total
}

// takesAsIs reports whether the objects of an API make pods from their templates as they stand: Kubernetes itself, LWS, JobSet,
// the jobs of Kubeflow and Volcano. Others merge templates with configurations of their own.
func takesAsIs(api string) bool {
	group, _, named := strings.Cut(api, "/")
	return !named || slices.Contains([]string{"apps", "batch", "leaderworkerset.x-k8s.io", "disaggregatedset.x-k8s.io", "jobset.x-k8s.io", "kubeflow.org", "batch.volcano.sh"}, group)
}

// jobs reports whether all pods of a kind are one job: JobSet (sigs.k8s.io/jobset), jobs of Kubeflow's training operator, Volcano
// and Ray.
func jobs(kind string) bool {
	return slices.Contains([]string{"JobSet", "MPIJob", "PyTorchJob", "TFJob", "TrainJob", "RayCluster", "RayJob", "VCJob"}, kind)
}
