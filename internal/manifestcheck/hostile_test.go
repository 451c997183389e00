package manifestcheck

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

// TestCut: a manifest that ends anywhere never passes as a whole, and never ends the rules.
func TestCut(t *testing.T) {
	step := 11
	if testing.Short() {
		step = 101
	}
	whole := text(t, "sglang")
	for i := 0; i < len(whole); i += step {
		f, err := manifest.Read("a.yaml", []byte(whole[:i]))
		if err != nil {
			continue
		}
		Judge(&Input{Files: []*manifest.File{f}, GPUs: gpus()})
	}
}

// TestLostLines: without any one line of a healthy manifest no rule says that something is healthy which that line was needed
// for: each loss of a line on which a rule stands fails, is unknown or does not apply.
func TestLostLines(t *testing.T) {
	needs := map[string]string{"mountPath: /dev/shm": "shm-size", "add: [IPC_LOCK]": "rdma-memlock", "value: /etc/topo/topo.xml": "nccl-topology-file"}
	lines := strings.Split(text(t, "sglang"), "\n")
	for i, line := range lines {
		for sign, rule := range needs {
			if !strings.Contains(line, sign) {
				continue
			}
			rest := append(append([]string{}, lines[:i]...), lines[i+1:]...)
			f, err := manifest.Read("a.yaml", []byte(strings.Join(rest, "\n")))
			if err != nil {
				continue
			}
			all := Judge(&Input{Files: []*manifest.File{f}, GPUs: gpus()})
			passed := len(of(all, rule, fabric.Pass))
			if passed > 1 { // of two pods one has lost it
				t.Errorf("line %d (%s): %s passes %d times", i+1, sign, rule, passed)
			}
		}
	}
}

// TestOdd: odd and empty objects are judged without an end of the program.
func TestOdd(t *testing.T) {
	for _, text := range []string{
		"kind: Pod\napiVersion: v1\nspec: {containers: [{}]}",
		"kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, env: [{}, {name: NCCL_IB_HCA}], command: [], args: ['']}]}",
		"kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, image: '', command: [bash, -c], args: ['X=$(getent']}]}",
		"kind: LeaderWorkerSet\napiVersion: leaderworkerset.x-k8s.io/v1\nspec: {leaderWorkerTemplate: {size: -3, workerTemplate: {spec: {containers: [{name: a, command: [vllm, serve, m, --tp, '-1', --nnodes, '0'], resources: {limits: {nvidia.com/gpu: -8}}}]}}}}",
		"services: {a: {image: 7, environment: {NCCL_IB_HCA: }}}",
		"a: &a\n  containers: [{name: x, image: y, env: [{name: NCCL_X, value: &v z}]}]\nb: *a",
		"kind: Pod\napiVersion: v1\nspec: {containers: [{name: a, command: [bash, -c], args: ['vllm serve m --gpu-memory-utilization NaN --tp 99999999999999999999']}]}",
		"docker run\ndocker run -e\ndocker run --gpus",
	} {
		f, err := manifest.Read("a.yaml", []byte(text))
		if err != nil {
			continue
		}
		Judge(&Input{Files: []*manifest.File{f}})
	}
}

// TestMany: the pods of thousands of nodes are read and judged; ten thousand took 6 s of a CPU.
func TestMany(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 100
	}
	one := strings.Split(text(t, "sglang"), "---")[0]
	var b strings.Builder
	for i := range n / 2 {
		b.WriteString(strings.Replace(one, "name: r1", fmt.Sprintf("name: r%d", i), 1) + "\n---\n")
	}
	f, err := manifest.Read("a.yaml", []byte(b.String()))
	if err != nil {
		t.Fatal(err)
	}
	all := Judge(&Input{Files: []*manifest.File{f}, GPUs: gpus()})
	if len(f.Workloads) != n/2 || len(failing(all)) > 0 {
		t.Errorf("%d workloads, failing %v", len(f.Workloads), failing(all))
	}
}

// TestNeverPrintsSecrets: whatever else is wrong with a manifest, no finding has the token that stands in it.
func TestNeverPrintsSecrets(t *testing.T) {
	const token = "hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
	paths, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(err)
	}
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{
			strings.ReplaceAll(string(b), "value: bond0", "value: "+token),
			strings.ReplaceAll(string(b), "valueFrom: {secretKeyRef: {name: hf, key: token}}", "value: "+token),
			strings.ReplaceAll(string(b), "--port 8000", "--port 8000 --api-key "+token),
			strings.ReplaceAll(string(b), "sleep 2", "export HF_TOKEN="+token),
		} {
			for _, f := range judge(t, text) {
				for _, e := range f.Evidence {
					if strings.Contains(e.Value+f.Why+f.Fix, token) {
						t.Errorf("%s prints it: %+v", f.ID, f)
					}
				}
			}
		}
	}
}
