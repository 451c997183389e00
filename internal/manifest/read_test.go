package manifest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, text string) *File {
	t.Helper()
	f, err := Read("a.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

const pod = `# a comment
apiVersion: v1
kind: Pod
metadata:
  name: p
spec:
  containers:
  - name: c
    image: a:1
    env:
    - name: NCCL_DEBUG
      value: INFO
    - {name: HOST, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
    command: [bash, -c]
    args:
    - |
      export NCCL_IB_HCA=mlx5_0
      vllm serve m --tp 2
    resources: {limits: {nvidia.com/gpu: 2}}
`

func TestLines(t *testing.T) {
	f := read(t, pod)
	c := f.Workloads[0].Pods[0].Containers[0]
	if v, _ := c.Variable("NCCL_DEBUG"); v.Value != (Text{Value: "INFO", Line: 12}) {
		t.Errorf("NCCL_DEBUG: %+v", v)
	}
	if v, _ := c.Variable("HOST"); v.From != "fieldRef" || v.Value.Value != "status.podIP" || v.Value.Known() {
		t.Errorf("HOST: %+v", v)
	}
	if got := c.Script.Assigned("NCCL_IB_HCA"); len(got) != 1 || got[0] != (Text{Value: "mlx5_0", Line: 17}) {
		t.Errorf("assigned: %+v", got)
	}
	if n := c.Script.Commands[1]; n.Line != 18 || !n.Runs("vllm", "serve") {
		t.Errorf("command: %+v", n)
	}
	if c.Limits["nvidia.com/gpu"] != (Text{Value: "2", Line: 19}) {
		t.Errorf("limits: %+v", c.Limits)
	}
	// The same object after another document has the lines of the file.
	f = read(t, "kind: Namespace\napiVersion: v1\nmetadata: {name: n}\n---\n"+pod)
	if v, _ := f.Workloads[0].Pods[0].Containers[0].Variable("NCCL_DEBUG"); v.Value.Line != 16 {
		t.Errorf("second document: %+v", v)
	}
}

// A claim template beside a pod's template is a volume of the pod: of a StatefulSet, a LeaderWorkerSet, a JobSet.
func TestClaimTemplates(t *testing.T) {
	const pod = "{spec: {containers: [{name: a, image: b, volumeMounts: [{name: w, mountPath: /w}]}]}}"
	for _, text := range []string{
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: s}\nspec:\n  volumeClaimTemplates: [{metadata: {name: w}}]\n  template: " + pod + "\n",
		"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: s}\nspec:\n  leaderWorkerTemplate:\n    volumeClaimTemplates: [{metadata: {name: w}}]\n    workerTemplate: " + pod + "\n",
		"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: s}\nspec:\n  volumeClaimPolicies: [{templates: [{metadata: {name: w}}]}]\n  replicatedJobs: [{name: a, template: {spec: {template: " + pod + "}}}]\n",
	} {
		f, err := Read("f.yaml", []byte(text))
		if err != nil || len(f.Workloads) != 1 || len(f.Workloads[0].Pods) != 1 {
			t.Fatalf("%v\n%+v\n%s", err, f, text)
		}
		if v, ok := f.Workloads[0].Pods[0].Volume("w"); !ok || v.Kind != "persistentVolumeClaim" {
			t.Errorf("%+v\n%s", f.Workloads[0].Pods[0].Volumes, text)
		}
	}
}

func TestPlaces(t *testing.T) {
	spec := "containers: [{name: c, image: a:1}]"
	for name, c := range map[string]struct {
		text, role string
		group      int
	}{
		"Deployment":    {"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicas: 3, template: {spec: {" + spec + "}}}", "", 1},
		"CronJob":       {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: a}\nspec: {jobTemplate: {spec: {template: {spec: {" + spec + "}}}}}", "", 0},
		"indexed Job":   {"apiVersion: batch/v1\nkind: Job\nmetadata: {name: a}\nspec: {parallelism: 4, template: {spec: {" + spec + "}}}", "", 4},
		"LWS":           {"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\nspec: {leaderWorkerTemplate: {size: 4, workerTemplate: {spec: {" + spec + "}}}}", "worker", 4},
		"LWS of one":    {"apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\nmetadata: {name: a}\nspec: {leaderWorkerTemplate: {workerTemplate: {spec: {" + spec + "}}}}", "worker", 1},
		"MPIJob":        {"apiVersion: kubeflow.org/v2beta1\nkind: MPIJob\nmetadata: {name: a}\nspec: {mpiReplicaSpecs: {Worker: {replicas: 8, template: {spec: {" + spec + "}}}}}", "worker", 8},
		"JobSet":        {"apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\nspec: {replicatedJobs: [{name: w, replicas: 1, template: {spec: {parallelism: 4, template: {spec: {" + spec + "}}}}}]}", "w", 4},
		"of an unknown": {"apiVersion: example.com/v1\nkind: Thing\nmetadata: {name: a}\nspec: {deep: {er: {prefill: {" + spec + "}}}}", "prefill", 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := read(t, c.text)
			if len(f.Workloads) != 1 || len(f.Workloads[0].Pods) != 1 {
				t.Fatalf("%+v", f)
			}
			if w := f.Workloads[0]; w.Pods[0].Role != c.role || w.Group != c.group {
				t.Errorf("role %q, group %d; want %q, %d", w.Pods[0].Role, w.Group, c.role, c.group)
			}
		})
	}
	f := read(t, "apiVersion: ome.io/v1beta1\nkind: ClusterServingRuntime\nmetadata: {name: a}\nspec:\n  engineConfig:\n    hostNetwork: true\n    volumes: [{name: dshm, emptyDir: {medium: Memory}}]\n    runner:\n      name: c\n      image: a:1\n      env: [{name: NCCL_DEBUG, value: INFO}]")
	if len(f.Workloads) != 1 || !f.Workloads[0].Pods[0].HostNetwork || len(f.Workloads[0].Pods[0].Volumes) != 1 || f.Workloads[0].Pods[0].Containers[0].Name != "c" {
		t.Errorf("a container by itself: %+v", f.Workloads)
	}
	if f := read(t, "apiVersion: v1\nkind: List\nitems:\n- "+strings.ReplaceAll(strings.TrimPrefix(pod, "# a comment\n"), "\n", "\n  ")); len(f.Workloads) != 1 {
		t.Errorf("list: %+v", f)
	}
}

func TestProblems(t *testing.T) {
	for _, c := range []struct{ old, new, where, what string }{
		{"    env:", "    envs:", "envs", `did you mean "env"`},
		{"value: INFO", "value: 1", "env[0].value", "a string, in quotes"},
		{"    image: a:1", "    image: a:1\n    image: a:2", "image", "stands twice"},
		{"  containers:", "  hostNetwork: \"true\"\n  containers:", "hostNetwork", "true or false"},
		{"    command: [bash, -c]", "    command: bash", "command", "a list"},
	} {
		f := read(t, strings.Replace(pod, c.old, c.new, 1))
		if len(f.Problems) != 1 || !strings.HasSuffix(f.Problems[0].Where, c.where) || !strings.Contains(f.Problems[0].What, c.what) || f.Problems[0].Line == 0 {
			t.Errorf("%s: %+v", c.new, f.Problems)
		}
	}
	if f := read(t, pod); len(f.Problems) > 0 {
		t.Errorf("healthy: %+v", f.Problems)
	}
}

func TestTemplates(t *testing.T) {
	f := read(t, strings.NewReplacer("image: a:1", "image: {{ .Values.image }}:{{ .Values.tag }}", "value: INFO", `value: "{{ .x }}"`, "    command: [bash, -c]", "    {{- toYaml .Values.security | nindent 4 }}\n    command: [bash, -c]").Replace(pod))
	p := f.Workloads[0].Pods[0]
	c := p.Containers[0]
	if !c.Image.Open || p.Holes != 1 || len(f.Unread) != 1 || len(f.Problems) > 0 {
		t.Errorf("image %+v, %d holes, unread %+v, problems %+v", c.Image, p.Holes, f.Unread, f.Problems)
	}
	if v, _ := c.Variable("NCCL_DEBUG"); !v.Value.Open {
		t.Errorf("value: %+v", v)
	}
	if v, _ := read(t, strings.Replace(pod, "INFO", "${LEVEL}", 1)).Workloads[0].Pods[0].Containers[0].Variable("NCCL_DEBUG"); !v.Value.Open {
		t.Errorf("envsubst: %+v", v)
	}
}

func TestUnreadable(t *testing.T) {
	for _, text := range []string{"", "   \n", "just words", "\x00", "- a\n- b\n", "a: [", "{{"} {
		if f, err := Read("a.yaml", []byte(text)); err == nil {
			t.Errorf("%q: read as %+v", text, f)
		}
	}
	f := read(t, "a: [\n---\n"+pod)
	if len(f.Workloads) != 1 || len(f.Unread) != 1 || !strings.Contains(f.Unread[0].What, "line") {
		t.Errorf("a mistake in one document costs that one: %+v", f)
	}
}

// TestAliases: aliases are followed, and those that would never end are refused.
func TestAliases(t *testing.T) {
	f := read(t, "x: &v mlx5_0\napiVersion: v1\nkind: Pod\nspec: {containers: [{name: c, env: [{name: NCCL_IB_HCA, value: *v}]}]}")
	if v, _ := f.Workloads[0].Pods[0].Containers[0].Variable("NCCL_IB_HCA"); v.Value.Value != "mlx5_0" {
		t.Errorf("%+v", v)
	}
	bomb := "a0: &a0 {kind: Pod}\n"
	for i := range 30 {
		bomb += fmt.Sprintf("a%d: &a%d {b: *a%d, c: *a%d}\n", i+1, i+1, i, i)
	}
	for _, text := range []string{"a: &a {b: *a, c: *a}\nkind: Pod\ncontainers: [{env: []}]", bomb} {
		if _, err := Read("a.yaml", []byte(text)); err == nil || !strings.Contains(err.Error(), "aliases") {
			t.Errorf("%.40s: %v", text, err)
		}
	}
}

func TestShell(t *testing.T) {
	s := readScript(Text{Line: 1, Value: `set -euo pipefail   # comment; not a command
export A=1 B="two words"
X=$(getent hosts "$L" | awk '{print $1}')
if [ -z "$X" ]; then exit 1; fi
cat <<EOF
vllm serve not-a-command
EOF
exec python3 -m sglang.launch_server \
  --tp 8 --mem_fraction_static=0.8 --host '0.0.0.0' &
`})
	var all []string
	for _, c := range s.Commands {
		all = append(all, strings.Join(c.Words, "|"))
	}
	want := []string{"set|-euo|pipefail", "export|A=1|B=two words", `X=$(getent hosts "$L" | awk '{print $1}')`, "[|-z|$X|]", "exit|1", "fi", "cat", "python3|-m|sglang.launch_server|--tp|8|--mem_fraction_static=0.8|--host|0.0.0.0"}
	if !slices.Equal(all, want) {
		t.Errorf("commands:\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	last := s.Commands[len(s.Commands)-1]
	if last.Line != 8 || !s.ExitsOnError || !s.PipeFails || s.Commands[3].Key != "if" {
		t.Errorf("%+v, %v %v", last, s.ExitsOnError, s.PipeFails)
	}
	if v, ok := last.Flag("--mem-fraction-static"); !ok || v != "0.8" {
		t.Errorf("flag: %q %v", v, ok)
	}
	if got := s.Assigned("B"); len(got) != 1 || got[0].Value != "two words" {
		t.Errorf("B: %+v", got)
	}
}

func TestFind(t *testing.T) {
	thread := "It hangs with this:\n\n```yaml\n" + pod + "```\n\nand the log says NCCL WARN\n"
	found, ok := Find("thread.md", []byte(thread))
	if !ok || found.Whole || len(found.Workloads) != 1 {
		t.Fatalf("%+v, %v", found, ok)
	}
	if v, _ := found.Workloads[0].Pods[0].Containers[0].Variable("NCCL_DEBUG"); v.Value.Line != 15 {
		t.Errorf("line %d of the thread, want 15", v.Value.Line)
	}
	if found, ok := Find("p.yaml", []byte(pod)); !ok || !found.Whole {
		t.Errorf("a manifest: %v", ok)
	}
	if found, ok := Find("b.yaml", []byte(strings.Replace(pod, "  containers:", "  containers: [", 1))); !ok || len(found.Unread) == 0 {
		t.Errorf("a broken manifest: %+v", found)
	}
	for _, text := range []string{"host1:12:12 [0] NCCL INFO Bootstrap: Using eth0", "apiVersion: v1\nkind: Namespace\nmetadata: {name: n}\n", "kind: of blue", ""} {
		if found, ok := Find("x", []byte(text)); ok {
			t.Errorf("%q: %+v", text, found)
		}
	}
	// What follows a manifest or a command in one text stays to be read by others.
	for _, text := range []string{pod + "\nh1:1:1 [0] NCCL WARN Call to ibv_reg_mr failed\n", "docker run --gpus 2 \\\nimg:1 vllm serve m\n# nThread 1 nGpus 1 minBytes 8\n"} {
		if found, ok := Find("x", []byte(text)); !ok || found.Whole || len(found.Workloads) != 1 {
			t.Errorf("%q: %+v, %v", text, found, ok)
		}
	}
	found, ok = Find("notes", []byte("I ran\n\n  $ sudo docker run --gpus 2 -e A=1 \\\n      img:1 vllm serve m\n\nand it died\n"))
	if !ok || found.Workloads[0].Form != Docker || found.Workloads[0].Line != 3 || found.Workloads[0].Pods[0].Containers[0].Limits["nvidia.com/gpu"].Value != "2" {
		t.Errorf("docker: %+v", found.File)
	}
}

func TestAmount(t *testing.T) {
	for text, want := range map[string]float64{"64Gi": 64 << 30, "8": 8, "500m": 0.5, "1e3": 1000, "2G": 2e9} {
		if got, ok := Amount(Text{Value: text, Line: 1}); !ok || got != want {
			t.Errorf("%s: %v %v", text, got, ok)
		}
	}
	for _, text := range []string{"", "much", "Gi"} {
		if got, ok := Amount(Text{Value: text, Line: 1}); ok {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// FuzzFind: no text ends the reader, and every line that it tells is one of the text.
func FuzzFind(f *testing.F) {
	f.Add([]byte(pod))
	f.Add([]byte("```\ndocker run --gpus all a:1 sh -c 'x=$(y'\n```"))
	f.Add([]byte("a: &a {b: *a}\nkind: Pod\ncontainers: [{env: [{}]}]"))
	f.Add([]byte("services:\n  a:\n    image: b\n    command: \"vllm serve ${M\""))
	paths, _ := filepath.Glob("../manifestcheck/testdata/*.yaml")
	for _, p := range paths {
		if b, err := os.ReadFile(p); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		lines := strings.Count(string(text), "\n") + 1
		found, ok := Find("f", text)
		if !ok {
			return
		}
		for _, n := range found.Unread {
			if n.Line > lines {
				t.Errorf("line %d of %d", n.Line, lines)
			}
		}
		for _, w := range found.Workloads {
			if w.Line > lines {
				t.Errorf("line %d of %d", w.Line, lines)
			}
		}
	})
}
