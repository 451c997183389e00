package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Every document that a command prints is one of its schema, whatever is empty in it.
func TestDocumentsAreThoseOfTheirSchemas(t *testing.T) {
	folder := t.TempDir()
	table := filepath.Join(folder, "table.txt")
	if err := os.WriteFile(table, []byte(measuredTable), 0o600); err != nil {
		t.Fatal(err)
	}
	const ib = "../check/testdata/recordings/infiniband.txtar"
	pod := example(t, "roce-mi300x")
	unreachable := example(t, "roce-mi300x", `host[1-2]`, `127.255.255.[253-254]`)
	emptyCPU := filepath.Join(folder, "empty.xml")
	if err := os.WriteFile(emptyCPU, []byte(`<system version="1"><cpu numaid="0" arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="143"/></system>`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(folder, "out")
	documents := map[string][]string{
		"Version":   {"version"},
		"Catalog":   {"catalog", "catalog gpus", "catalog nics", "catalog machines", "catalog switches", "catalog fabrics", "catalog models", "catalog thor2"},
		"CauseList": {"cause", "cause gdr-disabled"},
		"Plan":      {"plan -f " + pod, "plan -f " + example(t, "hgx-h100-ib")},
		"Index":     {"render -f " + pod + " -d " + out},
		"Facts":     {"collect", "collect --text ../facts/testdata/tools", "collect --root " + capturedTree(t)},
		"Findings": {
			"check --snapshot " + testRecording, "check --snapshot " + ib, "check --snapshot " + testRecording + " -f " + pod,
			"topo lint ../ncclxml/testdata/host.xml", "topo lint ../ncclxml/testdata/cloud-bare.xml ../ncclxml/testdata/mi300x.xml", "topo lint " + table,
		},
		"Topology": {
			"topo show --machine hgx-h100", "topo show --snapshot " + testRecording,
			"topo show ../ncclxml/testdata/host.xml", "topo show --snapshot " + capturedTree(t),
			"topo show " + emptyCPU, "topo show ../topology/testdata/matrix/a4.txt", "topo show ../topology/testdata/rocm/mi300x.txt",
		},
		"PCIe": {
			"topo pcie --root " + capturedTree(t), "topo pcie --root " + capturedTree(t) + " --machine hgx-h100", "topo pcie --snapshot " + testRecording,
			"topo pcie ../facts/testdata/tools/lspci.txt", "topo pcie --snapshot " + ib,
		},
		"Prediction": {
			"predict --machine hgx-h100 --nodes 2", "predict --machine hgx-h100 --nodes 1 --sizes 1G", "predict --machine dgx-spark --nodes 2 --sizes 1G", "predict --gpu rtx4090 --gpus 4 --sizes 1G",
			"predict -f " + pod + " --sizes 1G", "predict --topo ../ncclxml/testdata/host.xml --sizes 1G",
			"predict --machine a4-highgpu-8g --sizes 8G --worker a:0-3/any4 --worker a:4-7/any4",
		},
		"Upgrade": {
			"predict --machine hgx-h100 --nodes 2 --nccl 2.27.7 --nccl 2.30.7", "predict --machine hgx-b200 --nodes 1 --sizes 1G --nccl 2.28.9 --nccl 2.29.7 --nccl 2.30.7",
		},
		"Explanation": {
			"explain " + table, "explain " + table + " --machine hgx-h100 --nodes 2", "explain ../diagnose/testdata/files/spark.txt",
			"explain ../results/testdata/log_infiniband.txt", "explain ../results/testdata/osu.txt", "explain ../results/testdata/perftest_failed.txt",
			"explain " + table + " --machine hgx-h100 --nodes 2 --snapshot " + ib,
		},
		"Sizing": {
			"size deepseek-r1 --nodes 1", "size deepseek-r1 --nodes 2", "size qwen3-0-6b --nodes 1", "size qwen3-0-6b --gpu l4 --explain",
			"size deepseek-r1 --nodes 1 --tp 8", "size gemma-3-4b-it --machine dgx-spark --engine vllm",
		},
		"Rules": {"rule", "rule mtu"},
		"Launches": {
			"serve watch ../launch/testdata/sglang-two-nodes.log", "serve watch ../launch/testdata/vllm-one-node.log --silent 1h", "serve watch ../launch/testdata/sglang-two-nodes.log --model llama-3-2-1b-instruct",
		},
		"Allocation": {
			"claims --claims ../../docs/samples/gpu-nic-pair.yaml --machine hgx-h100 --nodes 2", "claims -f " + example(t, "gke-a4-dranet"),
			"claims --claims ../../docs/samples/four-nics.yaml --machine a4-highgpu-8g --nodes 2",
		},
		"LoadReport": {
			"serve load ../loadtest/testdata/aiperf --ttft 500ms --rate 20", "serve load ../loadtest/testdata/vllm_failed.txt ../loadtest/testdata/README.md",
			"serve load ../loadtest/testdata/vllm.json --size qwen3-0-6b --nodes 1", "serve load ../loadtest/testdata/sglang.jsonl --gpus 8",
		},
		"SmokeReport": {"serve smoke http://127.0.0.1:1"},
		"Differences": {"diff " + testRecording + " " + ib, "diff " + testRecording + " " + testRecording},
		"Applied":     {"apply --dry-run -f " + unreachable},
		"Bench":       {"bench --print -f " + example(t, "spark-pair"), "bench --print --suite nccl -f " + example(t, "spark-mesh")},
	}
	for kind, commands := range documents {
		s := compiled(t, kind)
		for _, command := range commands {
			t.Run(strings.ReplaceAll(command, folder, ""), func(t *testing.T) {
				r := call("", append(strings.Fields(command), "-o", "json")...)
				document, err := jsonschema.UnmarshalJSON(strings.NewReader(r.stdout))
				if err != nil {
					t.Fatalf("%v: %s", err, r)
				}
				if err := s.Validate(document); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			})
		}
	}
	for _, kind := range schemaKinds() {
		// A cluster file is YAML; a run, its mesh and its causes take a lab.
		if _, tested := documents[kind]; !tested && kind != "Cluster" && kind != "Mesh" && kind != "Causes" && kind != "Run" {
			t.Errorf("no command of kind %s", kind)
		}
	}
}

// capturedTree is a folder that stands for / on a host without any device.
func capturedTree(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sys"), 0o755); err != nil {
		t.Fatal(err)
	}
	return root
}
