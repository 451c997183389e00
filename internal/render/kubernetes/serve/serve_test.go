package serve

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	core "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"railwright.dev/railwright/internal/fabric"
)

// sglangServe is two pods of a group on virtual machines with InfiniBand, each with a volume of its own.
func sglangServe() Serve {
	s := &fabric.ServingPods{
		Name: "deepseek-r1", Namespace: "llm", Groups: 1, Size: 2, GPUs: 8, Rails: 2, Port: 8000,
		Command: []string{"python3", "-m", "sglang.launch_server", "--model-path", "/weights/deepseek-ai--DeepSeek-R1", "--host", "0.0.0.0", "--port", "8000", "--tp", "16", "--nnodes", "2"},
		Joining: []string{"--node-rank", "$RANK", "--dist-init-addr", "$LEADER:29501"},
		Weights: fabric.ServingWeights{Folder: "/weights/deepseek-ai--DeepSeek-R1", DownloadBytes: 688574809152, VolumeBytes: 768 << 30, Mode: "ReadWriteOnce", Class: "vsan",
			Only: []string{"*.safetensors", "*.json"}, Except: []string{"original/*"}, GBs: 1.13, GBsSource: "serving.storage.gbs"},
		Times:       fabric.ServingTimes{Join: 1000, Imports: 300, Load: 610, Graphs: 1200, Download: 13772},
		SharedBytes: 16 << 30, Queue: &fabric.ServingQueue{With: "kueue", Name: "llm", Topology: "topology.kubernetes.io/rack"},
		TokenSecret: "hf", PullSecrets: []string{"registry"}, Topology: "pod-8gpu-8nic.xml",
	}
	return Serve{
		Serving: &fabric.Serving{Model: "deepseek-ai/DeepSeek-R1", Engine: "sglang", Version: "0.5.9", Image: "lmsysorg/sglang:v0.5.9", ImageSource: "a test",
			Layout: fabric.SizingPlan{TP: 16, PP: 1, KVTokens: 325809}, Pods: s},
		Devices: fabric.PodDevices{GPUs: 8, GPUVendor: "nvidia", GPUResource: "nvidia.com/gpu", NICs: []fabric.SharedNIC{{Resource: "rdma_shared_devices_a"}, {Resource: "rdma_shared_devices_b"}}},
	}
}

// vllmServe is three pods of a group with claims and a volume for all of them, on RoCE and on Google Kubernetes Engine, in a queue of Volcano.
func vllmServe() Serve {
	s := sglangServe()
	serving, pods := *s.Serving, *s.Pods
	serving.Engine, serving.Version, serving.Image, serving.Pods = "vllm", "0.18.0", "vllm/vllm-openai:v0.18.0", &pods
	pods.Size, pods.Cloud, pods.Selector, pods.Topology = 3, "gke", "railwright=demo", ""
	pods.Command = []string{"vllm", "serve", "/weights/m", "--host", "0.0.0.0", "--port", "8000", "--tensor-parallel-size", "24", "--nnodes", "3"}
	pods.Joining, pods.OfWorkers = []string{"--node-rank", "$RANK", "--master-addr", "$LEADER"}, []string{"--headless"}
	pods.Weights.Mode, pods.Weights.Class, pods.TokenSecret = "ReadWriteMany", "", ""
	pods.Queue = &fabric.ServingQueue{With: "volcano", Name: "llm"}
	return Serve{Serving: &serving, Devices: fabric.PodDevices{GPUs: 8, GPUVendor: "nvidia"}, Template: "worker-8gpu-8nic-abc",
		Fabric: [][2]string{{"NCCL_IB_TC", "104"}}}
}

// jobSetServe is two groups, each a JobSet.
func jobSetServe() Serve {
	s := sglangServe()
	s.Pods.Kind, s.Pods.Groups, s.Pods.Weights.Mode = fabric.JobSets, 2, "ReadWriteMany"
	return s
}

func TestServeGolden(t *testing.T) {
	for name, s := range map[string]Serve{"sglang": sglangServe(), "vllm": vllmServe(), "jobset": jobSetServe()} {
		for _, a := range []fabric.Artifact{Weights(s), Groups(s)} {
			golden(t, name+filepath.Base(a.Path), a.Content)
		}
	}
}

// Leader and workers differ in what only one of them can have: who answers has a port and probes, who does not has its engine's flag.
func TestLeaderAndWorkerDoNotDrift(t *testing.T) {
	for name, s := range map[string]Serve{"sglang": sglangServe(), "vllm": vllmServe(), "jobset": jobSetServe()} {
		leader, worker := s.pod(false), s.pod(true)
		l, w := &leader.Spec.Containers[0], &worker.Spec.Containers[0]
		if l.StartupProbe == nil || l.ReadinessProbe == nil || l.LivenessProbe == nil || len(l.Ports) != 1 {
			t.Errorf("%s: the leader lacks a probe or its port", name)
		}
		if w.StartupProbe != nil || w.ReadinessProbe != nil || w.LivenessProbe != nil || len(w.Ports) != 0 {
			t.Errorf("%s: a worker answers no probe", name)
		}
		l.StartupProbe, l.ReadinessProbe, l.LivenessProbe, l.Ports = nil, nil, nil, nil
		l.Args[0] = strings.Replace(l.Args[0], s.identity(false), s.identity(true), 1)
		for _, flag := range s.Pods.OfWorkers {
			w.Args[0] = strings.ReplaceAll(w.Args[0], " "+flag, "")
		}
		if diff := cmp.Diff(leader, worker); diff != "" {
			t.Errorf("%s (-leader +worker):\n%s", name, diff)
		}
	}
}

// The volumes that are filled are those that the groups' pods take: NAME of the claim template, then of the pod.
func TestVolumesOfPods(t *testing.T) {
	s := sglangServe()
	s.Pods.Groups = 2
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^kind: PersistentVolumeClaim\nmetadata:\n(?:  .*\n)*?  name: (.*)$`).FindAllStringSubmatch(string(Weights(s).Content), -1) {
		names = append(names, m[1])
	}
	want := []string{"weights-deepseek-r1-0", "weights-deepseek-r1-0-1", "weights-deepseek-r1-1", "weights-deepseek-r1-1-1"}
	if !slices.Equal(names, want) {
		t.Errorf("volumes %v, pods take %v", names, want)
	}
}

// The start of a pod is as long as its parts, and the probe that ends it waits that long and no shorter.
func TestStartupProbe(t *testing.T) {
	for _, load := range []int{1, 9, 610, 100000} {
		s := sglangServe()
		s.Pods.Times.Load = load
		p := s.pod(false).Spec.Containers[0].StartupProbe
		if got, want := int(p.PeriodSeconds*p.FailureThreshold), s.Pods.Times.Startup(); got < want || got > want+int(p.PeriodSeconds) {
			t.Errorf("load %d s: the probe waits %d s, planned are %d", load, got, want)
		}
	}
}

// seenMachine is what a pod sees of its machine.
type seenMachine struct {
	t    *testing.T
	root string
}

func newSeen(t *testing.T) seenMachine {
	m := seenMachine{t, t.TempDir()}
	for _, dir := range []string{"dev", "proc/net", "bin"} {
		if err := os.MkdirAll(filepath.Join(m.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	m.write("proc/net/route", "Iface\tDestination\tGateway\nnet1\t0000A8C0\t00000000\neth0\t00000000\t0101A8C0\n")
	m.write("proc/net/ipv6_route", "")
	m.write("bin/getent", "#!/bin/sh\n[ \"$2\" = leader.svc ] && echo 10.0.0.1\n")
	m.write("bin/engine", "#!/bin/sh\nenv | grep -E '^(NCCL|GLOO|TP)_' | sort\nprintf '<%s>' \"$@\"\n")
	return m
}

func (m seenMachine) write(path, text string) {
	m.t.Helper()
	at := filepath.Join(m.root, path)
	if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
		m.t.Fatal(err)
	}
	if err := os.WriteFile(at, []byte(text), 0o755); err != nil {
		m.t.Fatal(err)
	}
}

func (m seenMachine) device(file, name, state string) {
	m.write("dev/"+file, "")
	m.write("sys/class/infiniband_verbs/"+file+"/ibdev", name+"\n")
	m.write("sys/class/infiniband/"+name+"/ports/1/state", state+"\n")
}

// start runs the script of a pod on this machine, with an engine that prints what it was given.
func (m seenMachine) start(s Serve, worker bool, env ...string) (string, error) {
	m.t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		m.t.Skipf("bash is not installed: %v", err)
	}
	script := strings.Replace(s.script(worker), "DEVICES=/dev/infiniband SYSFS=/sys PROCFS=/proc", "DEVICES="+m.root+"/dev SYSFS="+m.root+"/sys PROCFS="+m.root+"/proc", 1)
	cmd := exec.CommandContext(m.t.Context(), bash, "-c", script)
	cmd.Env = append([]string{"PATH=" + m.root + "/bin:" + os.Getenv("PATH")}, env...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestScriptOfAPod(t *testing.T) {
	s := sglangServe()
	s.Pods.Command = []string{"engine", "--model", "it's $HOME"}
	joined := []string{"LWS_WORKER_INDEX=1", "LWS_LEADER_ADDRESS=leader.svc"}
	two := func(m seenMachine) {
		m.device("uverbs0", "mlx5_1", "4: ACTIVE")
		m.device("uverbs3", "mlx5_10", "4: ACTIVE")
	}
	cases := []struct {
		name string
		make func(seenMachine)
		env  []string
		want []string // all of it
		no   []string
		ok   bool
	}{
		{"starts", two, joined, []string{"NCCL_IB_HCA==mlx5_1,mlx5_10\n", "GLOO_SOCKET_IFNAME=eth0\n", "NCCL_SOCKET_IFNAME==eth0\n", "<--model><it's $HOME><--node-rank><1><--dist-init-addr><leader.svc:29501>"}, nil, true},
		{"a device is missing", func(m seenMachine) { m.device("uverbs0", "mlx5_1", "4: ACTIVE") }, joined, []string{"1 RDMA devices (mlx5_1), planned are 2"}, []string{"<--model>"}, false},
		{"no device", func(seenMachine) {}, joined, []string{"0 RDMA devices (none), planned are 2"}, []string{"<--model>"}, false},
		{"a port is down", func(m seenMachine) { two(m); m.device("uverbs3", "mlx5_10", "1: DOWN") }, joined, []string{"RDMA device mlx5_10: no port is active"}, []string{"<--model>"}, false},
		{"the kernel does not say which", func(m seenMachine) { two(m); m.write("dev/uverbs9", "") }, joined, []string{"uverbs9: the kernel does not say"}, []string{"<--model>"}, false},
		{"no default route", func(m seenMachine) { two(m); m.write("proc/net/route", "Iface\tDestination\n") }, joined, []string{"no default route"}, []string{"<--model>"}, false},
		{"IPv6 alone", func(m seenMachine) {
			two(m)
			m.write("proc/net/route", "Iface\tDestination\n")
			zero := strings.Repeat("0", 32)
			m.write("proc/net/ipv6_route", zero+" 00 "+zero+" 00 "+zero+" ffffffff 00000001 00000000 00200200 lo\n"+zero+" 00 "+zero+" 00 fe80 00000400 00000001 00000000 00000003 eth6\n")
		}, joined, []string{"GLOO_SOCKET_IFNAME=eth6\n"}, nil, true},
		{"the leader is unknown", two, []string{"LWS_WORKER_INDEX=1"}, []string{"its name is empty"}, []string{"<--model>"}, false},
		{"the rank is unknown", two, []string{"LWS_LEADER_ADDRESS=leader.svc"}, []string{"in its group is unknown: ''"}, []string{"<--model>"}, false},
		{"no topology file", two, append(joined, "NCCL_TOPO_FILE=/no/such.xml"), []string{"/no/such.xml is missing or empty"}, []string{"<--model>"}, false},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			m := newSeen(t)
			c.make(m)
			out, err := m.start(s, false, c.env...)
			if (err == nil) != c.ok {
				t.Errorf("error %v", err)
			}
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("%q is not in\n%s", w, out)
				}
			}
			for _, w := range c.no {
				if strings.Contains(out, w) {
					t.Errorf("%q is in\n%s", w, out)
				}
			}
		})
	}
}

// A worker of a JobSet counts from its job's index, the leader is number 0, and both know the leader's name.
func TestScriptOfAJobSet(t *testing.T) {
	s := jobSetServe()
	s.Pods.Command = []string{"engine"}
	m := newSeen(t)
	m.device("uverbs0", "mlx5_0", "4: ACTIVE")
	m.device("uverbs1", "mlx5_1", "4: ACTIVE")
	m.write("bin/getent", "#!/bin/sh\n[ \"$2\" = r1-0-leader-0-0.r1-0 ]\n")
	for _, c := range []struct {
		worker bool
		env    []string
		want   string
		ok     bool
	}{
		{false, []string{"JOBSET_NAME=r1-0", "JOB_COMPLETION_INDEX=0"}, "<--node-rank><0><--dist-init-addr><r1-0-leader-0-0.r1-0:29501>", true},
		{true, []string{"JOBSET_NAME=r1-0", "JOB_COMPLETION_INDEX=2"}, "<--node-rank><3><--dist-init-addr><r1-0-leader-0-0.r1-0:29501>", true},
		{true, []string{"JOBSET_NAME=r1-0"}, "the number of this pod in its group is unknown", false},
		{true, []string{"JOB_COMPLETION_INDEX=2"}, "the first pod of the group is unknown", false},
	} {
		out, err := m.start(s, c.worker, c.env...)
		if (err == nil) != c.ok || !strings.Contains(out, c.want) {
			t.Errorf("%v: error %v, %q is not in\n%s", c.env, err, c.want, out)
		}
	}
}

// A group of one pod has no use for RDMA: none is asked for, none is looked at, and nothing is locked in memory.
func TestOnePod(t *testing.T) {
	s := sglangServe()
	s.Pods.Command, s.Pods.Size, s.Pods.Joining = []string{"engine"}, 1, nil
	m := newSeen(t)
	m.device("uverbs0", "mlx5_1", "1: DOWN")
	if out, err := m.start(s, false); err != nil || !strings.Contains(out, "pod 0 of 1, leader itself, RDMA devices none") {
		t.Errorf("error %v\n%s", err, out)
	}
	c := s.pod(false).Spec.Containers[0]
	if len(c.Resources.Limits) != 1 || len(c.SecurityContext.Capabilities.Add) != 0 {
		t.Errorf("limits %v, capabilities %v", c.Resources.Limits, c.SecurityContext.Capabilities.Add)
	}
}

// A leader without an address is waited for, and never taken to be there; after the planned time the pod ends.
func TestScriptWaitsForTheLeader(t *testing.T) {
	s := sglangServe()
	s.Pods.Command, s.Pods.Times.Join = []string{"engine"}, 0
	m := newSeen(t)
	m.device("uverbs0", "mlx5_0", "4: ACTIVE")
	m.device("uverbs1", "mlx5_1", "4: ACTIVE")
	out, err := m.start(s, false, "LWS_WORKER_INDEX=1", "LWS_LEADER_ADDRESS=nobody.svc")
	if err == nil || !strings.Contains(out, "nobody.svc: no address after") || strings.Contains(out, "<") {
		t.Errorf("error %v, output\n%s", err, out)
	}
}

// hub is huggingface_hub as far as the script uses it: it puts files into the folder, or fails.
const hub = `import os, pathlib
def snapshot_download(repo, local_dir, allow_patterns, ignore_patterns):
    assert repo == "a/b" and allow_patterns == ["*.safetensors"] and ignore_patterns == ["original/*"], (repo, allow_patterns, ignore_patterns)
    pathlib.Path(local_dir).mkdir(parents=True, exist_ok=True)
    for file in os.environ["GIVES"].split():
        name, size = file.split(":")
        (pathlib.Path(local_dir) / name).write_bytes(b"x" * int(size))
    (pathlib.Path(local_dir) / "model.safetensors.index.json").write_text('{"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}')
`

func TestDownload(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skipf("python3 is not installed: %v", err)
	}
	for _, c := range []struct{ gives, want string }{
		{"1.safetensors:60 2.safetensors:40", "complete, 2 files, 100 bytes"},
		{"1.safetensors:100", "1 of 2 files of the index are missing, such as 2.safetensors"},
		{"1.safetensors:60 2.safetensors:20", "80 bytes of weights, expected are 90 at least"},
	} {
		dir := t.TempDir()
		for name, text := range map[string]string{"huggingface_hub.py": hub, "download.py": download} {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		run := func(gives string) (string, error) {
			cmd := exec.CommandContext(t.Context(), python, filepath.Join(dir, "download.py"))
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "GIVES=" + gives, "MODEL=a/b", "FOLDER=" + filepath.Join(dir, "weights"), `ONLY=["*.safetensors"]`, `EXCEPT=["original/*"]`, "LEAST_BYTES=90"}
			out, err := cmd.CombinedOutput()
			return string(out), err
		}
		out, err := run(c.gives)
		_, marked := os.Stat(filepath.Join(dir, "weights", complete))
		good := strings.Contains(c.want, "complete, ")
		if !strings.Contains(out, c.want) || (err == nil) != good || (marked == nil) != good {
			t.Errorf("%s: error %v, marked %v, output\n%s", c.gives, err, marked == nil, out)
		}
		if out, err = run("3.safetensors:1"); good && (err != nil || !strings.Contains(out, "complete since an earlier start")) {
			t.Errorf("%s: a second start: %v\n%s", c.gives, err, out)
		}
	}
}

// Pod Security admission's own code finds nothing below baseline but what is said: IPC_LOCK in groups of several pods, and the folders of
// Google's installers.
func TestServePodSecurity(t *testing.T) {
	judge, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	one := sglangServe()
	one.Pods.Size = 1
	for name, c := range map[string]struct {
		serve Serve
		want  []string
	}{
		"a group of several": {sglangServe(), []string{"non-default capabilities"}},
		"a group of one":     {one, nil},
		"a JobSet":           {jobSetServe(), []string{"non-default capabilities"}},
		"Google's":           {vllmServe(), []string{"hostPath volumes", "non-default capabilities"}},
	} {
		for role, pod := range map[string]core.PodTemplateSpec{"leader": c.serve.pod(false), "worker": c.serve.pod(true), "download": c.serve.download("v").Spec.Template} {
			var got []string
			for _, r := range judge.EvaluatePod(api.LevelVersion{Level: api.LevelBaseline, Version: api.LatestVersion()}, &pod.ObjectMeta, &pod.Spec) {
				if !r.Allowed {
					got = append(got, r.ForbiddenReason)
				}
			}
			want := c.want
			if role == "download" {
				want = nil
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("%s, %s: %q, want %q", name, role, got, want)
			}
		}
	}
}

// No value of a Secret, and no privilege beyond what is said, is in what is rendered.
func TestServeIsNotPrivileged(t *testing.T) {
	for name, s := range map[string]Serve{"sglang": sglangServe(), "vllm": vllmServe()} {
		for _, pod := range []core.PodTemplateSpec{s.pod(false), s.pod(true), s.download("v").Spec.Template} {
			if pod.Spec.HostNetwork || pod.Spec.HostPID || pod.Spec.HostIPC {
				t.Errorf("%s: the namespaces of the machine are used", name)
			}
			for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
				if c.SecurityContext == nil || c.SecurityContext.Privileged != nil || *c.SecurityContext.AllowPrivilegeEscalation || !slices.Equal(c.SecurityContext.Capabilities.Drop, []core.Capability{"ALL"}) {
					t.Errorf("%s: container %s: %+v", name, c.Name, c.SecurityContext)
				}
			}
		}
		text, err := json.Marshal(s.download("v"))
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte(`"HF_TOKEN","value"`)) {
			t.Errorf("%s: a token is in the job", name)
		}
	}
}
