package manifestcheck

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

const plugin = `apiVersion: v1
kind: ConfigMap
metadata: {name: rdma-devices}
data:
  config.json: |
    {"configList": [{"resourceName": "hca", "rdmaHcaMax": 16, "selectors": {"ifNames": ["ibs1"]}}]}
`

// TestPool: with the configuration of the plugin beside it a number is known to be a count of shares; isolation is a risk.
func TestPool(t *testing.T) {
	all := judge(t, strings.ReplaceAll(text(t, "sglang"), `rdma/hca: "1"`, `rdma/hca: "8"`), plugin)
	if len(of(all, "rdma-share-count", fabric.Fail)) == 0 {
		t.Errorf("share count: %+v", of(all, "rdma-share-count", fabric.Unknown))
	}
	risk := of(all, "rdma-isolation", fabric.Unknown)
	if len(risk) != 1 || !strings.Contains(risk[0].Evidence[0].Value, "ibs1") || len(of(all, "rdma-isolation", fabric.Fail)) > 0 {
		t.Errorf("isolation: %+v", risk)
	}
}

const graph = `apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Worker:
      replicas: 2
      resources: {limits: {gpu: "8"}}
      extraPodSpec:
        volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: 64Gi}}]
        mainContainer:
          image: example.com/vllm:1
          command: [python3, -m, dynamo.vllm, --model, m, --tensor-parallel-size, "8"]
          volumeMounts: [{name: dshm, mountPath: /dev/shm}]
`

// TestOperator: what an operator makes of a /dev/shm is unknown, and what is absent is not blamed.
func TestOperator(t *testing.T) {
	all := judge(t, graph)
	if found := of(all, "operator-shm", fabric.Unknown); len(found) != 1 || !strings.Contains(found[0].Why, "64Gi") {
		t.Errorf("%+v", found)
	}
	if ids := failing(all); len(ids) > 0 {
		t.Errorf("%v fail", ids)
	}
	if found := of(judge(t, strings.Replace(graph, "/dev/shm", "/data", 1)), "shm-size", fabric.Unknown); len(found) != 1 {
		t.Errorf("nothing at /dev/shm: %+v", found)
	}
}

// TestLive: a live pod that differs from its template is told, field by field, and a secret is not printed.
func TestLive(t *testing.T) {
	read := func(text string) *manifest.File {
		f, err := manifest.Read("Pod r1-0", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	pod := func(size, hca, token string) string {
		return "apiVersion: v1\nkind: Pod\nmetadata: {name: r1-0}\nspec:\n  volumes: [{name: dshm, emptyDir: {medium: Memory, sizeLimit: " + size + "}}]\n  containers:\n  - name: vllm\n    image: a:1\n    env: [{name: NCCL_IB_HCA, value: " +
			hca + "}, {name: API_TOKEN, value: " + token + "}]\n    resources: {limits: {nvidia.com/gpu: 8}}\n    volumeMounts: [{name: dshm, mountPath: /dev/shm}]\n"
	}
	written := read(pod("64Gi", "mlx5_0", "written-by-hand"))
	for _, c := range []struct {
		name, live string
		want       []string
		status     fabric.Status
	}{
		{"equal", pod("64Gi", "mlx5_0", "written-by-hand"), nil, fabric.Pass},
		{"smaller /dev/shm", pod("8Gi", "mlx5_0", "written-by-hand"), []string{"64Gi", "8Gi"}, fabric.Fail},
		{"another variable", pod("64Gi", "mlx5_1", "written-by-hand"), []string{"mlx5_0", "mlx5_1"}, fabric.Fail},
		{"another secret", pod("64Gi", "mlx5_0", "written-by-robot"), []string{"(not shown)"}, fabric.Fail},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := read(c.live)
			all := Judge(&Input{Files: []*manifest.File{f}, Live: []Live{{File: f, Template: &written.Workloads[0].Pods[0], Owner: "StatefulSet r1"}}})
			found := of(all, "live-pod-equal", c.status)
			if len(found) != 1 {
				t.Fatalf("%+v", found)
			}
			for _, w := range c.want {
				if !strings.Contains(found[0].Why, w) {
					t.Errorf("%s: without %q", found[0].Why, w)
				}
			}
			if b, _ := json.Marshal(all); strings.Contains(string(b), "written-by") {
				t.Errorf("the secret is printed: %s", b)
			}
		})
	}
	f := read(pod("64Gi", "mlx5_0", "x"))
	if found := of(Judge(&Input{Files: []*manifest.File{f}, Live: []Live{{File: f, Why: "gone"}}}), "live-pod-equal", fabric.Unknown); len(found) != 1 {
		t.Errorf("without a template: %+v", found)
	}
}

// TestCompose: the same rules hold for compose files and docker run lines.
func TestCompose(t *testing.T) {
	for _, c := range []struct {
		name, text string
		fails      []string
	}{
		{"docker, whole", "docker run --gpus all --ipc=host --device /dev/infiniband --cap-add IPC_LOCK -e NCCL_IB_HCA=mlx5_0 vllm/vllm-openai:v0.11.0 --model m --tensor-parallel-size 8\n", nil},
		{"docker, no devices", "docker run --gpus all \\\n  --ipc=host -e NCCL_IB_HCA=mlx5_0 \\\n  vllm/vllm-openai:v0.11.0 --model m --tensor-parallel-size 8\n", []string{"rdma-device", "rdma-memlock"}},
		{"docker, a shell for a person", "docker run -it --rm --privileged --net=host --gpus='\"device=4,5,6,7\"' example.com/nccl-tests:1 bash\n", nil},
		{"docker, no shm", "sudo docker run --rm -it --gpus 2 lmsysorg/sglang:v0.5.3 python3 -m sglang.launch_server --model-path m --tp 2 --host 0.0.0.0\n", []string{"shm-size"}},
		{"compose, whole", "services:\n  a:\n    image: lmsysorg/sglang:v0.5.3\n    shm_size: 32gb\n    command: python3 -m sglang.launch_server --model-path m --tp 2\n", nil},
		{"compose, no shm", "services:\n  a:\n    image: lmsysorg/sglang:v0.5.3\n    command: python3 -m sglang.launch_server --model-path m --tp 2\n", []string{"shm-size"}},
		{"compose, small shm", "services:\n  a:\n    image: lmsysorg/sglang:v0.5.3\n    shm_size: 64m\n    command: python3 -m sglang.launch_server --model-path m --tp 2\n", []string{"shm-size"}},
		{"compose, list of variables", "services:\n  a:\n    image: a:1\n    environment: [NCCL_IB_DISABEL=1]\n", []string{"nccl-variable"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := failing(judge(t, c.text))
			slices.Sort(got)
			if !slices.Equal(got, c.fails) {
				t.Errorf("fail: %v, want %v", got, c.fails)
			}
		})
	}
}

// TestCollected holds the rules against the manifests of the project's data: each fault is named by its rule, and what has no
// confirmed cause gets none.
func TestCollected(t *testing.T) {
	const folder = "../../../shared/data/serving"
	want := map[string]struct {
		rule   string
		status fabric.Status
	}{
		"80": {"gloo-host-network", fail}, "81": {"gloo-interface-name", fail}, "82": {"leader-address", fail}, "83": {"engine-memory-share", fail}, "84": {"operator-shm", unknown},
		"85": {"shm-size", fail}, "86": {"rdma-share-count", fail}, "87": {"rdma-isolation", unknown}, "88": {"nccl-gid-index", fail}, "89": {"nccl-hca", fail}, "90": {"nccl-hca", fail},
		"91": {"rdma-device", fail}, "92": {"image-tag", unknown},
	}
	for name, w := range want {
		b, err := os.ReadFile(filepath.Join(folder, name+".yaml"))
		if err != nil {
			t.Skip("the project's data is absent: ", err)
		}
		all := judge(t, string(b))
		if len(of(all, w.rule, w.status)) == 0 {
			t.Errorf("%s: %s is not %s", name, w.rule, w.status)
		}
		if name == "92" || name == "87" || name == "84" {
			if ids := failing(all); len(ids) > 0 {
				t.Errorf("%s: %v fail", name, ids)
			}
		}
	}
}

const mpi = `apiVersion: kubeflow.org/v2beta1
kind: MPIJob
metadata: {name: bench}
spec:
  mpiReplicaSpecs:
    Launcher:
      template:
        spec:
          containers:
          - name: l
            image: a:1
            command: [bash, -c]
            args: ["mpirun -np 16 -x NCCL_SOCKET_IFNAME=eth0 -x NCCL_IB_HCA=ibp all_reduce_perf"]
    Worker:
      replicas: 2
      template:
        spec:
          volumes: [{name: dshm, emptyDir: {medium: Memory}}]
          containers:
          - name: w
            image: a:1
            securityContext: {capabilities: {add: [IPC_LOCK]}}
            resources: {limits: {nvidia.com/gpu: 8, rdma/ib: 1}}
            volumeMounts: [{name: dshm, mountPath: /dev/shm}]
`

// TestLauncher: what mpirun passes on is judged where it stands, and devices where the ranks run.
func TestLauncher(t *testing.T) {
	if ids := failing(judge(t, mpi)); len(ids) > 0 {
		t.Errorf("healthy: %v fail", ids)
	}
	for new, rule := range map[string]string{"-x NCCL_SOCKET_IFACE=eth0": "nccl-variable", "-x NCCL_SOCKET_IFNAME=ens3": "socket-interface", "-x NCCL_IB_TIMEOUT=high": "nccl-value", "-x NCCL_IB_HCA=ipb0": "nccl-hca"} {
		if ids := failing(judge(t, strings.Replace(mpi, "-x NCCL_SOCKET_IFNAME=eth0", new, 1))); !slices.Equal(ids, []string{rule}) {
			t.Errorf("%s: %v fail, want %s", new, ids, rule)
		}
	}
}
