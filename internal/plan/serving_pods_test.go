package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// servedByPods plans a cluster whose pods serve a model.
func servedByPods(t *testing.T, machine string, nodes int, fabrics, kube, serving string) (*fabric.Plan, error) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	nics := ""
	if m := cat.Machines[machine]; m.NICNames == "" {
		nics = fmt.Sprintf(", nics: \"eth[1-%d]\"", int(m.NICs.Value))
	}
	text := fmt.Sprintf("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nplatform: baremetal\nlauncher: kubernetes\n"+
		"nodes:\n- {names: \"n[1-%d]\", machine: %s%s}\nfabric: {%s}\nkubernetes: {%s}\nserving: {%s}\n", nodes, machine, nics, fabrics, kube, serving)
	c, err := intent.Parse("c", []byte(text), cat)
	if err != nil {
		return nil, err
	}
	return New(c, cat)
}

const (
	onIB   = "kind: infiniband, leaf: {model: qm9700}"
	onRoCE = "kind: roce, leaf: {model: z9664f, os: sonic}"
)

func TestServingByPods(t *testing.T) {
	for _, tt := range []struct {
		name, machine         string
		nodes                 int
		fabrics, kube, served string
		groups, size, idle    int
		image, command        string // words of it
		load, copies          int    // s, downloads
	}{
		{"the fewest machines, all of them", "hgx-h100", 5, onIB, "nic_driver: shared-device-plugin", "model: deepseek-r1, context: 32768, storage: {gbs: 1.13}",
			2, 2, 1, "lmsysorg/sglang:v0.5.9", "--tp 16 --nnodes 2", 610, 4},
		{"one machine is enough", "hgx-h200", 2, onIB, "nic_driver: shared-device-plugin", "model: deepseek-r1, context: 32768",
			2, 1, 0, "lmsysorg/sglang:v0.5.9", "--tp 8", 1378, 2},
		{"one volume for all", "hgx-h100", 4, onIB, "nic_driver: shared-device-plugin", "model: deepseek-r1, context: 32768, storage: {mode: ReadWriteMany, gbs: 2}",
			2, 2, 0, "lmsysorg/sglang:v0.5.9", "--dist-timeout 2845", 345, 1},
		{"vLLM on AMD", "xe9680-mi300x-thor2", 2, onRoCE, "nic_driver: dra.net", "model: deepseek-r1, engine: vllm, context: 32768, group: 2",
			1, 2, 0, "vllm/vllm-openai-rocm:v0.19.1", "--distributed-executor-backend mp --nnodes 2 --distributed-timeout-seconds 3878", 1378, 2},
		{"parts of machines", "hgx-h100", 1, onIB, "gpu_driver: gpu.nvidia.com, pod: {gpus: 4}", "model: llama-3.3-70b-instruct, context: 8192",
			2, 1, 0, "lmsysorg/sglang:v0.5.9", "--tp 4", 283, 2},
		{"fewer groups", "hgx-h100", 5, onIB, "nic_driver: shared-device-plugin", "model: deepseek-r1, context: 32768, replicas: 1", 1, 2, 3, "lmsysorg/sglang:v0.5.9", "", 1378, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := servedByPods(t, tt.machine, tt.nodes, tt.fabrics, tt.kube, tt.served)
			if err != nil {
				t.Fatal(err)
			}
			s := p.Serving
			if s == nil || s.Pods == nil {
				t.Fatalf("nothing is served: %+v, notes %q", s, p.Notes)
			}
			if s.Pods.Groups != tt.groups || s.Pods.Size != tt.size || s.Pods.Idle != tt.idle || s.Image != tt.image {
				t.Errorf("%d groups of %d pods, %d idle, image %s", s.Pods.Groups, s.Pods.Size, s.Pods.Idle, s.Image)
			}
			if command := strings.Join(s.Pods.Command, " "); !strings.Contains(command, tt.command) {
				t.Errorf("%s, want %s in it", command, tt.command)
			}
			if s.Pods.Times.Load != tt.load {
				t.Errorf("load %d s, want %d", s.Pods.Times.Load, tt.load)
			}
			if each := float64(s.Pods.Weights.DownloadBytes) / 1e9 / downloadGBs; s.Pods.Times.Download < int(each)*tt.copies || s.Pods.Times.Download > int(each+1)*tt.copies {
				t.Errorf("download %d s, want %d times %.0f", s.Pods.Times.Download, tt.copies, each)
			}
			if (s.Pods.Size > 1) != slices.Contains(s.Pods.Joining, "--node-rank") {
				t.Errorf("%d pods join by %q", s.Pods.Size, s.Pods.Joining)
			}
		})
	}
}

// What cannot be served is said with its reason, and the rest of the plan is there.
func TestNotServedByPods(t *testing.T) {
	for _, tt := range []struct {
		name, machine   string
		nodes           int
		kube, served    string
		refused, failed string
	}{
		{"too large", "hgx-h100", 1, "nic_driver: shared-device-plugin", "model: deepseek-r1, context: 32768", "on 1 pod: ", ""},
		{"vLLM before 0.11.1", "hgx-h100", 2, "nic_driver: shared-device-plugin", "model: deepseek-r1, engine: vllm, context: 32768, engine_version: 0.11.0", "spans machines by Ray", ""},
		{"a group of more pods than there are", "hgx-h100", 2, "nic_driver: shared-device-plugin", "model: deepseek-r1, context: 32768, group: 3", "serving.group is 3", ""},
		{"pods that differ", "hgx-h100", 2, "pod: {gpus: 4, align: name}, gpu_driver: device-plugin", "model: llama-3.3-70b-instruct, context: 8192", "2 different claims", ""},
		{"more groups than there is room for", "hgx-h100", 2, "nic_driver: shared-device-plugin", "model: deepseek-r1, context: 32768, replicas: 2", "", "serving.replicas: 2 groups of 2 pods, and the machines have room for 1"},
		{"no such model", "hgx-h100", 2, "nic_driver: shared-device-plugin", `model: "no such\tmodel"`, "", "serving.model: "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := servedByPods(t, tt.machine, tt.nodes, onIB, tt.kube, tt.served)
			if tt.failed != "" {
				if err == nil || !strings.Contains(err.Error(), tt.failed) {
					t.Errorf("error %v, want %q", err, tt.failed)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if s := p.Serving; s == nil || s.Pods != nil || !strings.Contains(s.Refused, tt.refused) {
				t.Errorf("refused %+v, want %q", p.Serving, tt.refused)
			}
			if len(p.Nodes) != tt.nodes {
				t.Errorf("%d nodes planned", len(p.Nodes))
			}
		})
	}
}

func TestDNSLabel(t *testing.T) {
	for text, want := range map[string]string{
		"llama-3.1-405b-instruct": "llama-3-1-405b-instruct", "01-ai/Yi": "m-01-ai-yi", "--": "model", "": "model", "Größe__x": "gr-e-x",
		strings.Repeat("a", 39) + "-b": strings.Repeat("a", 39),
	} {
		if got := fabric.DNSLabel(text, 40); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
