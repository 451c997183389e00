package pipeline

import (
	"context"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intake"
	"railwright.dev/railwright/internal/kube"
	"railwright.dev/railwright/internal/manifest"
)

// cluster is what an API server would answer.
type cluster map[string]string // kind/name to its JSON

func (c cluster) List(_ context.Context, _, kind string, _ kube.Selection) (out []kube.Object, err error) {
	for key, text := range c {
		if strings.HasPrefix(key, kind+"/") {
			o, err := kube.Read([]byte(text))
			if err != nil {
				return nil, err
			}
			out = append(out, o)
		}
	}
	return out, nil
}

func (c cluster) Get(_ context.Context, o kube.Object) (kube.Object, error) {
	text, ok := c[o.Kind+"/"+o.Name]
	if !ok {
		return kube.Object{}, nil
	}
	return kube.Read([]byte(text))
}

const (
	livePod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"g-0","namespace":"llm","ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"g","controller":true}],"labels":{"leaderworkerset.sigs.k8s.io/worker-index":"0"}},
	"spec":{"containers":[{"name":"vllm","image":"a:1","command":["vllm","serve","m","--tensor-parallel-size","8"],"resources":{"limits":{"nvidia.com/gpu":"8"}},"volumeMounts":[{"name":"shared-memory","mountPath":"/dev/shm"}]}],
	"volumes":[{"name":"shared-memory","emptyDir":{"medium":"Memory","sizeLimit":"8Gi"}}]}}`
	liveSet = `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"g","namespace":"llm","ownerReferences":[{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","name":"w","controller":true}]},
	"spec":{"template":{"spec":{"containers":[{"name":"vllm","image":"a:1"}]}}}}`
	liveLWS = `{"apiVersion":"leaderworkerset.x-k8s.io/v1","kind":"LeaderWorkerSet","metadata":{"name":"w","namespace":"llm"},"spec":{"leaderWorkerTemplate":{"size":2,
	"leaderTemplate":{"spec":{"containers":[{"name":"vllm","image":"a:1","resources":{"limits":{"nvidia.com/gpu":"8"}},"volumeMounts":[{"name":"dshm","mountPath":"/dev/shm"}]}],"volumes":[{"name":"dshm","emptyDir":{"medium":"Memory","sizeLimit":"64Gi"}}]}},
	"workerTemplate":{"spec":{"containers":[{"name":"vllm","image":"b:2"}]}}}}}`
	otherPod = `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"dns","namespace":"kube-system"},"spec":{"containers":[{"name":"c","image":"dns:1"}]}}`
)

// TestLivePods: a pod is compared with the template of the highest object above it, with its own role; pods that take no part are
// left out; an owner that is gone is unknown.
func TestLivePods(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		cluster cluster
		status  fabric.Status
		says    string
	}{
		"rewritten":      {cluster{"Pod/g-0": livePod, "Pod/dns": otherPod, "StatefulSet/g": liveSet, "LeaderWorkerSet/w": liveLWS}, fabric.Fail, "LeaderWorkerSet w has emptyDir Memory 64Gi, and the live pod has emptyDir Memory 8Gi"},
		"as written":     {cluster{"Pod/g-0": livePod, "StatefulSet/g": liveSet, "LeaderWorkerSet/w": strings.Replace(liveLWS, "64Gi", "8Gi", 1)}, fabric.Pass, "LeaderWorkerSet w"},
		"owner is gone":  {cluster{"Pod/g-0": livePod}, fabric.Unknown, "StatefulSet g is not there"},
		"top is missing": {cluster{"Pod/g-0": livePod, "StatefulSet/g": liveSet}, fabric.Pass, "StatefulSet g"},
	} {
		t.Run(name, func(t *testing.T) {
			live, err := LivePods(t.Context(), c.cluster, "", "")
			if err != nil || len(live) != 1 {
				t.Fatalf("%d pods, %v", len(live), err)
			}
			var got []fabric.Finding
			for _, f := range Manifests(cat, "", nil, live) {
				if f.ID == "live-pod-equal" {
					got = append(got, f)
				}
			}
			if len(got) != 1 || got[0].Status != c.status || !strings.Contains(got[0].Why+got[0].Expected, c.says) {
				t.Errorf("%+v", got)
			}
		})
	}
}

// TestExplainManifests: what fails is a cause with its evidence; a manifest in which nothing fails is unknown, never healthy, and
// blames nothing.
func TestExplainManifests(t *testing.T) {
	pod := "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - name: c\n    image: a:1\n    securityContext: {capabilities: {add: [IPC_LOCK]}}\n    resources: {limits: {rdma/hca: 1}}\n"
	got := explainManifest(t, pod)
	if got.Verdict != fabric.VerdictUnknown || len(got.Causes) > 0 || !strings.Contains(got.Why, "nothing in this manifest is known to be wrong") {
		t.Errorf("%s: %s, causes %+v", got.Verdict, got.Why, got.Causes)
	}
	got = explainManifest(t, strings.Replace(pod, "    resources", "    env: [{name: NCCL_IB_HCA, value: \"mlx5_0, mlx5_1\"}]\n    resources", 1))
	if got.Verdict != fabric.VerdictFailed || len(got.Causes) != 1 || got.Causes[0].ID != fabric.CauseHCASubset || len(got.Causes[0].Evidence) == 0 || got.Causes[0].Fix == "" {
		t.Errorf("%s: %s, causes %+v", got.Verdict, got.Why, got.Causes)
	}
}

func explainManifest(t *testing.T, text string) fabric.Explained {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	in, err := Knowledge(cat)
	if err != nil {
		t.Fatal(err)
	}
	found, ok := manifest.Find("p.yaml", []byte(text))
	if !ok {
		t.Fatal("no manifest")
	}
	x, err := Explain(t.Context(), &intake.Content{Manifests: []*manifest.File{found.File}}, in, time.Unix(0, 0))
	if err != nil || len(x.Results) != 1 {
		t.Fatal(len(x.Results), err)
	}
	return x.Results[0]
}
