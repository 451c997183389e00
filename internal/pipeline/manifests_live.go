package pipeline

import (
	"context"
	"fmt"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/manifest"
	"railwright.dev/railwright/internal/manifestcheck"
)

// NoManifest is the finding for a text that could not be judged.
func NoManifest(what, why string) fabric.Finding {
	return fabric.Finding{
		ID: "manifest-read", Title: "the whole text was understood", Severity: fabric.SeverityInfo, Status: fabric.Unknown,
		Subject: fabric.Subject{Kind: "manifest", Node: what}, Why: what + ": " + why,
	}
}

// objects is what a cluster is asked for: a list of pods, and one object.
type objects interface {
	List(ctx context.Context, apiVersion, kind string, s kube.Selection) ([]kube.Object, error)
	Get(ctx context.Context, o kube.Object) (kube.Object, error)
}

// longestChain is how many owners above a pod are followed: a pod of Dynamo has five.
const longestChain = 8

// LivePods reads the pods of a cluster that take part in serving or in collectives, each beside the template that the object which
// made it has. Nothing is written to the cluster.
func LivePods(ctx context.Context, cluster objects, namespace, selector string) ([]manifestcheck.Live, error) {
	pods, err := cluster.List(ctx, "v1", "Pod", kube.Selection{Namespace: namespace, Labels: selector})
	if err != nil {
		return nil, err
	}
	owners := owners{cluster: cluster, known: map[string]*manifest.File{}, why: map[string]string{}}
	var out []manifestcheck.Live
	for _, p := range pods {
		f, err := manifest.Read(p.String(), p.JSON)
		if err != nil || len(f.Workloads) == 0 {
			continue
		}
		f.Problems = nil // the server took it
		if !manifestcheck.TakesPart(f) {
			continue
		}
		live := manifestcheck.Live{File: f}
		live.Template, live.Owner, live.Why = owners.template(ctx, &f.Workloads[0])
		out = append(out, live)
	}
	return out, nil
}

// owners are the objects above pods, each read once.
type owners struct {
	cluster objects
	known   map[string]*manifest.File
	why     map[string]string
}

// template is the template of a pod in the highest object above it that has one: what a person wrote.
func (o *owners) template(ctx context.Context, pod *manifest.Workload) (found *manifest.Pod, owner, why string) {
	at := pod.Owner
	why = "it has no owner"
	for range longestChain {
		if at.Name == "" {
			break
		}
		f, reason := o.read(ctx, at, pod.Namespace)
		if f == nil {
			why = reason
			break
		}
		if len(f.Workloads) == 0 {
			why = fmt.Sprintf("%s %s holds no pod", at.Kind, at.Name)
			break
		}
		w := &f.Workloads[0]
		if p := templateOf(w, pod); p != nil {
			found, owner = p, at.Kind+" "+at.Name
		}
		at = w.Owner
	}
	return found, owner, why
}

func (o *owners) read(ctx context.Context, at manifest.Owner, namespace string) (*manifest.File, string) {
	key := at.API + " " + at.Kind + " " + namespace + "/" + at.Name
	if f, ok := o.known[key]; ok {
		return f, o.why[key]
	}
	got, err := o.cluster.Get(ctx, kube.Object{APIVersion: at.API, Kind: at.Kind, Namespace: namespace, Name: at.Name})
	var f *manifest.File
	why := fmt.Sprintf("%s %s is not there", at.Kind, at.Name)
	switch {
	case err != nil:
		why = fmt.Sprintf("%s %s: %v", at.Kind, at.Name, err)
	case got.JSON != nil:
		if f, err = manifest.Read(at.Kind+" "+at.Name, got.JSON); err != nil {
			f, why = nil, err.Error()
		}
	}
	o.known[key], o.why[key] = f, why
	return f, why
}

// templateOf is the template of an object from which a pod was made: the one that has most of its containers. Of a LeaderWorkerSet
// the leader has index 0 (label leaderworkerset.sigs.k8s.io/worker-index).
func templateOf(w, pod *manifest.Workload) *manifest.Pod {
	want := ""
	if index, ok := pod.Labels["leaderworkerset.sigs.k8s.io/worker-index"]; ok {
		want = "worker"
		if index == "0" {
			want = "leader"
		}
	}
	var best *manifest.Pod
	most := 0
	for i := range w.Pods {
		same := 0
		for _, c := range w.Pods[i].Containers {
			for _, live := range pod.Pods[0].Containers {
				if c.Name == live.Name {
					same++
				}
			}
		}
		if want != "" && w.Pods[i].Role == want {
			same++
		}
		if same > most {
			best, most = &w.Pods[i], same
		}
	}
	return best
}
