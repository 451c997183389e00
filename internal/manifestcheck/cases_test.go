package manifestcheck

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/manifest"
)

func gpus() []GPUMemory {
	return []GPUMemory{{ID: "h100-sxm", TotalGiB: 79.18, Machines: []string{"hgx-h100"}}, {ID: "b200", TotalGiB: 178.35}, {ID: "mi300x", TotalGiB: 191.98, AMD: true}, {ID: "gb300", TotalGiB: 276.6}}
}

func text(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile("testdata/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func judge(t testing.TB, texts ...string) []fabric.Finding {
	t.Helper()
	in := &Input{GPUs: gpus()}
	for i, text := range texts {
		f, err := manifest.Read(fmt.Sprintf("%d.yaml", i), []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		in.Files = append(in.Files, f)
	}
	return Judge(in)
}

// of are the findings of a rule with a status.
func of(all []fabric.Finding, rule string, status fabric.Status) (out []fabric.Finding) {
	for _, f := range all {
		if f.ID == rule && f.Status == status {
			out = append(out, f)
		}
	}
	return out
}

func failing(all []fabric.Finding) (ids []string) {
	for _, f := range all {
		if f.Status == fabric.Fail && !slices.Contains(ids, f.ID) {
			ids = append(ids, f.ID)
		}
	}
	return ids
}

// edit is a change of a healthy manifest: old becomes new everywhere, or the first n times.
type edit struct {
	rule     string
	base     string
	old, new string
	times    int // 0: everywhere
	status   fabric.Status
	also     []string // other rules that fail with it
}

const fail, unknown, pass, apart = fabric.Fail, fabric.Unknown, fabric.Pass, fabric.NotApplicable

func edits() []edit {
	const s, v = "sglang", "vllm"
	gloo := "          - name: GLOO_SOCKET_IFNAME\n            value: bond0\n"
	return []edit{
		{"manifest-read", s, "replicas: 1", "replicas: {{ .Values.replicas }}\n  {{- toYaml .Values.more | nindent 2 }}", 1, unknown, nil},
		{"manifest-fields", s, "          env:", "          enw:", 1, fail, []string{"leader-worker-equal", "gloo-host-network"}},
		{"manifest-fields", s, "containerPort: 8000", "containerPort: \"8000\"", 1, fail, nil},
		{"manifest-fields", s, "value: bond0", "value: 1", 1, fail, []string{"leader-worker-equal"}},
		{"manifest-fields", s, "        hostNetwork: true", "        hostNetwork: true\n        hostNetwork: true", 1, fail, nil},
		{"manifest-mounts", s, "- {name: topo, mountPath", "- {name: topos, mountPath", 1, fail, nil},
		{"manifest-mounts", s, "medium: Memory", "medium: memory", 1, fail, nil},

		{"gloo-interface-name", s, gloo, strings.Replace(gloo, "bond0", "^lo,docker", 1), 0, fail, nil},
		{"gloo-interface-name", s, gloo, strings.Replace(gloo, "bond0", "=bond0", 1), 0, fail, nil},
		{"gloo-interface-name", s, gloo, strings.Replace(gloo, "bond0", `"bond0, bond1"`, 1), 0, fail, nil},
		{"gloo-interface-name", s, gloo, strings.Replace(gloo, "bond0", "bond0,bond1", 1), 0, pass, nil},
		{"gloo-interface-name", s, gloo, strings.Replace(gloo, "bond0", "${IFACE}", 1), 0, unknown, nil},
		{"gloo-interface-name", s, "hostNetwork: true", "hostNetwork: false", 0, fail, []string{"socket-interface"}},
		{"gloo-host-network", s, gloo, "", 0, fail, nil},
		{"gloo-host-network", s, gloo, "          # {{ include \"env\" . }}\n          {{- include \"env\" . | nindent 10 }}\n", 0, unknown, nil},
		{"gloo-host-network", s, "size: 2", "size: 1", 1, apart, []string{"engine-layout"}},
		{"socket-interface", s, "name: NCCL_SOCKET_IFNAME\n            value: bond0", "name: NCCL_SOCKET_IFNAME\n            value: lo", 0, fail, nil},
		{"socket-interface", s, "name: NCCL_SOCKET_IFNAME\n            value: bond0", "name: NCCL_SOCKET_IFNAME\n            value: \"{{ .x }}\"", 0, unknown, nil},
		{"host-ip", s, "valueFrom: {fieldRef: {fieldPath: status.podIP}}", "value: 10.0.0.5", 0, fail, nil},
		{"host-ip", s, "fieldPath: status.podIP", "fieldPath: metadata.name", 0, fail, nil},

		{"nccl-variable", s, "name: NCCL_TOPO_FILE", "name: NCCL_TOPOLOGY_FILE", 0, fail, nil},
		{"nccl-value", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_IB_TIMEOUT\n            value: \"true\"", 0, fail, nil},
		{"nccl-value", s, "mlx5_0,mlx5_1", "mlx5_0, mlx5_1", 0, fail, nil},
		{"nccl-value", s, "mlx5_0,mlx5_1", "\"^=mlx5_0,mlx5_1\"", 0, pass, nil},
		{"nccl-hca", s, "mlx5_0,mlx5_1", "mlx5_0,mlxl5_1", 0, fail, nil},
		{"nccl-hca", s, "mlx5_0,mlx5_1", "gpu0rdma0", 0, fail, nil},
		{"nccl-hca", s, "mlx5_0,mlx5_1", "rocep1s0f1,roceP2p1s0f1", 0, pass, nil},
		{"nccl-hca", s, "mlx5_0,mlx5_1", "mlx5", 0, pass, nil},
		{"nccl-hca", s, "mlx5_0,mlx5_1", "${HCAS}", 0, unknown, nil},
		{"nccl-gid-index", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_IB_GID_INDEX\n            value: \"\"", 0, fail, nil},
		{"nccl-gid-index", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_IB_GID_INDEX\n            value: \"3\"", 0, unknown, nil},
		{"nccl-gid-index", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_IB_GID_INDEX\n            value: \"-1\"", 0, pass, nil},
		{"nccl-switched-off", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_IB_DISABLE\n            value: \"1\"", 0, fail, nil},
		{"nccl-switched-off", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_NET\n            value: socket", 0, fail, nil},
		{"nccl-switched-off", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_P2P_DISABLE\n            value: \"1\"", 0, unknown, nil},
		{"nccl-topology-file", s, "value: /etc/topo/topo.xml", "value: /opt/topo.xml", 0, unknown, nil},

		{"rdma-device", s, "              rdma/hca: \"1\"\n", "", 0, fail, nil},
		{"rdma-device", s, "              rdma/hca: \"1\"\n", "              {{ .Values.nic }}\n", 0, unknown, nil},
		{"rdma-memlock", s, "          securityContext:\n            capabilities: {add: [IPC_LOCK]}\n", "", 0, fail, nil},
		{"rdma-memlock", s, "          securityContext:\n            capabilities: {add: [IPC_LOCK]}\n", "          {{- with .Values.sc }}\n          {{- end }}\n", 0, unknown, nil},
		{"rdma-share-count", s, "rdma/hca: \"1\"", "rdma/hca: \"8\"", 0, unknown, nil},
		{"device-limits", s, "            limits:\n              nvidia.com/gpu: \"8\"\n", "            limits:\n              nvidia.com/gpu: \"4\"\n", 0, fail, []string{"engine-layout"}},
		{"device-limits", s, "              rdma/hca: \"1\"\n              memory", "              memory", 0, fail, nil},

		{"shm-size", s, "          - {name: dshm, mountPath: /dev/shm}\n", "", 0, fail, nil},
		{"shm-size", s, "sizeLimit: 32Gi", "sizeLimit: 64Mi", 0, fail, nil},
		{"shm-size", s, "sizeLimit: 32Gi", "sizeLimit: 900Gi", 0, unknown, nil},
		{"shm-size", s, "{medium: Memory, sizeLimit: 32Gi}", "{}", 0, unknown, nil},
		{"shm-size", s, "        hostNetwork: true", "        hostNetwork: true\n        hostIPC: true", 0, pass, nil},

		{"engine-layout", s, "- \"16\"", "- \"32\"", 0, fail, nil},
		{"engine-layout", s, "- \"16\"", "- \"4\"", 0, unknown, nil},
		{"engine-layout", s, "- \"16\"", "- $(TP)", 0, unknown, nil},
		{"engine-nodes", s, "$(LWS_GROUP_SIZE)", "\"3\"", 0, fail, nil},
		{"engine-nodes", s, "          - --dist-init-addr\n          - $(LWS_LEADER_ADDRESS):20000\n", "", 0, fail, nil},
		{"engine-nodes", s, "$(LWS_GROUP_SIZE)", "$(NODES)", 0, unknown, nil},
		{"engine-rank", s, "$(LWS_WORKER_INDEX)", "\"0\"", 0, fail, nil},
		{"engine-rank", s, "          - --node-rank\n          - $(LWS_WORKER_INDEX)\n", "", 0, fail, nil},
		{"engine-memory-share", v, "--gpu-memory-utilization 0.9 ", "--gpu-memory-utilization 0.999 ", 0, fail, nil},
		{"engine-memory-share", v, "--gpu-memory-utilization 0.9 ", "--gpu-memory-utilization 0.985 ", 0, unknown, nil},
		{"engine-memory-share", v, "--gpu-memory-utilization 0.9 ", "--gpu-memory-utilization 1.5 ", 0, fail, nil},
		{"engine-memory-share", v, "--gpu-memory-utilization 0.9 ", "--gpu-memory-utilization $UTIL ", 0, unknown, nil},
		{"probe-port", v, "httpGet: {path: /health, port: 8000}", "httpGet: {path: /health, port: 9000}", 1, fail, nil},
		{"probe-port", s, "port: http}", "port: web}", 1, fail, nil},
		{"probe-port", s, "          - --host\n          - 0.0.0.0\n", "", 1, fail, nil},
		{"probe-port", s, "targetPort: 8000", "targetPort: 30000", 1, fail, nil},
		{"probe-port", v, "--port 8000", "--port $PORT", 1, unknown, nil},
		{"probe-time", v, "          initialDelaySeconds: 1800\n", "          periodSeconds: 5\n", 1, fail, nil},
		{"probe-time", v, "initialDelaySeconds: 1800", "initialDelaySeconds: 120", 1, unknown, nil},
		{"leader-worker-equal", s, "image: lmsysorg/sglang:v0.5.3", "image: lmsysorg/sglang:v0.5.4", 1, fail, nil},
		{"leader-worker-equal", s, "value: mlx5_0,mlx5_1", "value: mlx5_0", 1, fail, nil},
		{"leader-worker-equal", s, "- --model-path=deepseek-ai/DeepSeek-R1", "- --model-path=deepseek-ai/DeepSeek-V3", 1, fail, nil},
		{"leader-worker-equal", s, "image: lmsysorg/sglang:v0.5.3", "image: \"{{ .image }}\"", 1, pass, nil},

		{"leader-address", v, "          until LEADER_IP=$(getent hosts llama-0.llama | awk '{print $1}') && [ -n \"$LEADER_IP\" ]; do\n            sleep 2\n          done\n          if [ -z \"$LEADER_IP\" ]; then\n            echo \"no address\" >&2\n            exit 1\n          fi\n",
			"          for i in 1 2 3; do getent hosts llama-0.llama && break; sleep 2; done\n          LEADER_IP=$(getent hosts llama-0.llama | awk '{print $1}')\n", 1, fail, nil},
		{"leader-address", v, "            exit 1\n", "", 1, pass, nil}, // the loop above has no other end
		{"rendezvous-service", v, "  publishNotReadyAddresses: true\n", "", 1, fail, nil},
		{"host-network-dns", s, "        dnsPolicy: ClusterFirstWithHostNet\n", "", 0, fail, nil},
		{"host-network-dns", s, "dnsPolicy: ClusterFirstWithHostNet", "dnsPolicy: None", 0, unknown, nil},
		{"engine-nodes", s, "$(LWS_LEADER_ADDRESS):20000", "127.0.0.1:20000", 0, fail, nil},
		{"engine-layout", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: CUDA_VISIBLE_DEVICES\n            value: \"0,1,2,3\"", 0, fail, nil},
		{"nccl-switched-off", s, "name: NCCL_TOPO_FILE\n            value: /etc/topo/topo.xml", "name: NCCL_NET_GDR_LEVEL\n            value: LOC", 0, fail, nil},
		{"plain-secret", s, "valueFrom: {secretKeyRef: {name: hf, key: token}}", "value: hf_AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", 1, fail, nil},
		{"plain-secret", s, "valueFrom: {secretKeyRef: {name: hf, key: token}}", "value: <your token>", 1, pass, nil},
		{"privilege", s, "capabilities: {add: [IPC_LOCK]}", "privileged: true", 0, unknown, nil},
		{"image-tag", s, "lmsysorg/sglang:v0.5.3", "lmsysorg/sglang:latest", 0, unknown, nil},
	}
}

// TestHealthy: no rule blames the manifests that the edits start from, and each rule that has something to judge passes.
func TestHealthy(t *testing.T) {
	for _, name := range []string{"sglang", "vllm"} {
		for _, f := range judge(t, text(t, name)) {
			if f.Status == fabric.Fail || f.Status == fabric.Unknown && f.ID != "rdma-device" {
				t.Errorf("%s: %s %s on %s: %s", name, f.ID, f.Status, f.Subject, f.Why)
			}
		}
	}
}

// TestEdits: each edit of a healthy manifest is named by the rule that it breaks, with its line, and by no other but those listed.
func TestEdits(t *testing.T) {
	for i, e := range edits() {
		t.Run(fmt.Sprintf("%d %s %s", i, e.rule, e.status), func(t *testing.T) {
			base := text(t, e.base)
			n := e.times
			if n == 0 {
				n = -1
			}
			edited := strings.Replace(base, e.old, e.new, n)
			if edited == base {
				t.Fatal("the edit changes nothing")
			}
			all := judge(t, edited)
			found := of(all, e.rule, e.status)
			if len(found) == 0 {
				t.Fatalf("not %s: %+v", e.status, slices.DeleteFunc(all, func(f fabric.Finding) bool { return f.ID != e.rule }))
			}
			for _, id := range failing(all) {
				if id != e.rule && !slices.Contains(e.also, id) {
					t.Errorf("%s fails too: %+v", id, of(all, id, fabric.Fail))
				}
			}
			for _, f := range found {
				if f.Status == fabric.Fail && (len(f.Evidence) == 0 || f.Why == "" || f.Expected == "" || f.Cost == "" || f.Fix == "" || f.Cause == "" || f.Reference == "" && e.rule != "manifest-read") {
					t.Errorf("incomplete: %+v", f)
				}
				if f.Status == fabric.Unknown && f.Why == "" {
					t.Errorf("unknown without a reason: %+v", f)
				}
			}
		})
	}
}

// TestRules: ids and docs are there and unique, and the edits have a failing, or for rules of risk an unknown, case of each.
func TestRules(t *testing.T) {
	tried := map[string]bool{"rdma-isolation": true, "operator-shm": true, "live-pod-equal": true} // cases of their own below
	for _, e := range edits() {
		if e.status == fail || e.status == unknown {
			tried[e.rule] = true
		}
	}
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.ID == "" || r.Title == "" || r.Doc == "" || r.Judge == nil || seen[r.ID] {
			t.Errorf("rule %+v: incomplete, or there twice", r.ID)
		}
		if seen[r.ID] = true; !tried[r.ID] {
			t.Errorf("%s: no case", r.ID)
		}
	}
}

// TestPage: docs/manifests.md lists the rules, in their order.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/manifests.md")
	if err != nil {
		t.Fatal(err)
	}
	at := 0
	for _, r := range Rules() {
		i := strings.Index(string(page), "\n| `"+r.ID+"` |")
		if i < at {
			t.Errorf("%s: not in the table, or not in its place", r.ID)
		}
		at = i
	}
}
