package operators

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// demoOperators has each kind of thing that a plan installs.
func demoOperators() fabric.Operators {
	return fabric.Operators{
		Kubernetes: "1.34", API: "v1", Features: "network-operator",
		Labels: []fabric.NodeLabel{{Name: "dra-plugin", Value: "true", Why: "a test reads it"}},
		Releases: []fabric.HelmRelease{
			{Name: "network-operator", Title: "Network Operator", Chart: "network-operator", Repository: "https://charts.example.test", Version: "26.4.1", Namespace: "nvidia-network-operator",
				Why: "First.", Source: "a test", Objects: []string{fabric.NICPolicyFile}, Values: []fabric.HelmValue{{Key: "nfd.enabled", Value: true, Why: "it is first."}},
				Ready: []fabric.Readiness{{What: "the policy is carried out", Object: "nicclusterpolicies.mellanox.com/nic-cluster-policy", Minutes: 40},
					{What: "every machine gives out rdma/a", Resource: "rdma/a", Least: 1, Minutes: 10}}},
			{Name: "gpu-operator", Title: "GPU Operator", Chart: "gpu-operator", Repository: "https://charts.example.test", Version: "v26.3.3", Namespace: "gpu-operator", Why: "Second.", Source: "a test",
				Ready: []fabric.Readiness{{What: "every machine gives out 8 GPUs", Resource: "nvidia.com/gpu", Least: 8, Minutes: 10}}},
			{Name: "dranet", Title: "DraNet", Chart: "oci://example.test/charts/dranet", Version: "v1.4.0", Namespace: "kube-system", Why: "Third.", Source: "a test",
				Ready: []fabric.Readiness{{What: "the NICs of every machine are published", Slices: "dra.net", Minutes: 10}}},
			{Name: "lws", Title: "LeaderWorkerSet", Chart: "oci://example.test/charts/lws", Version: "0.9.0", Namespace: "lws-system", Why: "Last.", Source: "a test", UpgradesFrom: "0.8.0", UpgradeLoses: "deletes every set"},
		},
		NICPolicy: &fabric.NICPolicy{},
	}
}

var demoNodes = []string{"worker1", "worker2"}

// workstation is a machine with a helm and a kubectl that are files of this test: nothing else of their name can be run on it.
type workstation struct {
	t                  *testing.T
	bin, state, folder string
}

func newWorkstation(t *testing.T, o fabric.Operators) *workstation {
	t.Helper()
	w := &workstation{t: t, bin: t.TempDir(), state: t.TempDir(), folder: t.TempDir()}
	for _, tool := range []string{"awk", "bash", "cat", "cut", "dirname", "grep", "head", "mktemp", "paste", "rm", "sed", "sh", "sleep", "sort", "touch", "tr"} {
		at, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("%s is not installed: %v", tool, err)
		}
		if err := os.Symlink(at, filepath.Join(w.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"helm", "kubectl"} {
		text, err := os.ReadFile(filepath.Join("testdata/bin", name))
		if err != nil {
			t.Fatal(err)
		}
		w.write(filepath.Join(w.bin, name), text)
	}
	nics := []fabric.SharedNIC{{Resource: "a", Interfaces: []string{"eth1"}}}
	for _, a := range append(Values(o), Up("demo", o, demoNodes), Down("demo", o, demoNodes), kubernetes.Namespaces([]fabric.KubeNamespace{{Name: "gpu-operator"}}), NICPolicy(fabric.NICPolicy{}, nics), NICPlugin(fabric.NICPlugin{}, nics)) {
		w.write(filepath.Join(w.folder, a.File), a.Content)
	}
	w.nodes("rdma/a=63 nvidia.com/gpu=8 gpu.nvidia.com=1 dra.net=1", demoNodes...)
	return w
}

// nodes says what all of some nodes have.
func (w *workstation) nodes(have string, names ...string) {
	var all strings.Builder
	for _, n := range names {
		fmt.Fprintln(&all, n, have)
	}
	w.write(filepath.Join(w.state, "nodes"), []byte(all.String()))
}

func (w *workstation) write(file string, text []byte) {
	w.t.Helper()
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		w.t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// run runs a script with these words, arguments first, then settings of the environment, and returns what it printed and its calls.
func (w *workstation) run(script string, words ...string) (output string, calls []string, err error) {
	w.t.Helper()
	for _, name := range []string{"calls", "calls.n"} {
		_ = os.Remove(filepath.Join(w.state, name))
	}
	isSetting := func(s string) bool { return strings.Contains(s, "=") && !strings.HasPrefix(s, "-") }
	at := slices.IndexFunc(words, isSetting)
	if at < 0 {
		at = len(words)
	}
	c := exec.Command("bash", append([]string{filepath.Join(w.folder, fabric.OnWorkstation, script)}, words[:at]...)...)
	c.Env = append([]string{"PATH=" + w.bin, "STATE=" + w.state, "TMPDIR=" + w.t.TempDir(), "PAUSE=0"}, words[at:]...)
	c.Dir = w.state
	text, err := c.CombinedOutput()
	if all, err := os.ReadFile(filepath.Join(w.state, "calls")); err == nil {
		calls = strings.Split(strings.TrimSpace(string(all)), "\n")
	}
	return string(text), calls, err
}

// made lists what is on the cluster.
func (w *workstation) made() string {
	w.t.Helper()
	files, err := os.ReadDir(w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	var all strings.Builder
	for _, f := range files {
		if kind, _, _ := strings.Cut(f.Name(), "."); kind == "release" || kind == "applied" || kind == "label" {
			text, err := os.ReadFile(filepath.Join(w.state, f.Name()))
			if err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintln(&all, strings.TrimSpace(f.Name()+" "+string(text)))
		}
	}
	return all.String()
}

// The order is that of the plan: each release is ready before the next, and so are its objects.
func TestOperatorsUpAndDown(t *testing.T) {
	w := newWorkstation(t, demoOperators())
	output, calls, err := w.run("operators-up.sh", "lab")
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var steps []string
	for _, c := range calls {
		for _, mark := range []string{"upgrade --install [a-z-]+", "[0-9]+-[a-z-]+.yaml$", `wait [a-z]+\.[a-z./-]+`, `index \. "[a-z./]+`, "get resourceslices", "label nodes"} {
			if found := regexp.MustCompile(mark).FindString(c); found != "" {
				steps = append(steps, found)
			}
		}
	}
	want := []string{"00-namespaces.yaml", "label nodes", "upgrade --install network-operator", "10-nic-cluster-policy.yaml", "wait nicclusterpolicies.mellanox.com/nic-cluster-policy", `index . "rdma/a`,
		"upgrade --install gpu-operator", `index . "nvidia.com/gpu`, "upgrade --install dranet", "get resourceslices", "upgrade --install lws"}
	if !slices.Equal(steps, want) {
		t.Errorf("steps\n%s\nwant\n%s", strings.Join(steps, "\n"), strings.Join(want, "\n"))
	}
	all := strings.Join(calls, "\n")
	for _, want := range []string{
		"--version v26.3.3 --namespace gpu-operator --values ", "--labels railwright=demo --wait --timeout 15m --repo https://charts.example.test",
		"upgrade --install lws oci://example.test/charts/lws --version 0.9.0",
	} {
		if !strings.Contains(all, want) {
			t.Errorf("no call has %q in\n%s", want, all)
		}
	}
	for call := range strings.SplitSeq(all, "\n") {
		if strings.Contains(call, "oci://") && strings.Contains(call, "--repo") {
			t.Errorf("a repository beside a whole reference: %s", call)
		}
	}
	made := w.made()
	if output, _, err = w.run("operators-up.sh", "lab"); err != nil || w.made() != made {
		t.Errorf("a second run: %v\n%s\n%s", err, output, w.made())
	}
	if output, _, err = w.run("operators-down.sh", "lab"); err != nil || w.made() != made || !strings.Contains(output, "would remove: release lws of namespace lws-system") || !strings.Contains(output, "would remove: label") {
		t.Errorf("removal without --yes: %v\n%s", err, output)
	}
	if output, _, err = w.run("operators-down.sh", "lab", "--yes"); err != nil || w.made() != "applied.00-namespaces.yaml\n" {
		t.Errorf("after removal: %v\n%s\n%s", err, output, w.made())
	}
	if i, j := strings.Index(output, "10-nic-cluster-policy.yaml"), strings.Index(output, "release network-operator"); i < 0 || i > j {
		t.Errorf("objects go before the operator that looks after them:\n%s", output)
	}
	if output, _, err = w.run("operators-down.sh", "lab", "--yes"); err != nil || !strings.Contains(output, "nothing of this plan is left") {
		t.Errorf("a second removal: %v\n%s", err, output)
	}
}

// Whichever call fails, before or after it had its effect: the script stops there, and the next run goes on to the same end.
func TestOperatorScriptsCutOff(t *testing.T) {
	o := demoOperators()
	whole := newWorkstation(t, o)
	_, making, err := whole.run("operators-up.sh", "lab")
	if err != nil {
		t.Fatal(err)
	}
	made := whole.made()
	kept := t.TempDir() // what a whole run leaves, from which each removal starts
	if err := os.CopyFS(kept, os.DirFS(whole.state)); err != nil {
		t.Fatal(err)
	}
	_, removing, err := whole.run("operators-down.sh", "lab", "--yes")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		script string
		args   []string
		calls  []string
		ends   string
	}{{"operators-up.sh", []string{"lab"}, making, made}, {"operators-down.sh", []string{"lab", "--yes"}, removing, "applied.00-namespaces.yaml\n"}} {
		for i, call := range c.calls {
			if testing.Short() && i%4 != 0 {
				continue
			}
			for _, late := range []string{"FAIL_LATE=", "FAIL_LATE=1"} {
				if late == "FAIL_LATE=1" && !changes(call) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d%s", c.script, i+1, strings.ToLower(late)), func(t *testing.T) {
					t.Parallel()
					w := newWorkstation(t, o)
					if c.script == "operators-down.sh" {
						if err := os.CopyFS(w.state, os.DirFS(without(t, kept, "nodes"))); err != nil {
							t.Fatal(err)
						}
					}
					output, calls, err := w.run(c.script, append(slices.Clone(c.args), fmt.Sprintf("FAIL_AT=%d", i+1), late)...)
					if err == nil || len(calls) != i+1 {
						t.Fatalf("%s failed; the script ended with %v after %d calls, want %d\n%s", call, err, len(calls), i+1, output)
					}
					if output, _, err := w.run(c.script, c.args...); err != nil || w.made() != c.ends {
						t.Errorf("the next run: %v, made\n%s\n%s", err, w.made(), output)
					}
				})
			}
		}
	}
}

// changes reports whether a call changes the cluster.
func changes(call string) bool {
	return slices.ContainsFunc([]string{" upgrade ", " uninstall ", " apply ", " delete ", " label "}, func(s string) bool { return strings.Contains(call, s) })
}

// without is a copy of a folder without one file.
func without(t *testing.T, folder, file string) string {
	t.Helper()
	out := t.TempDir()
	if err := os.CopyFS(out, os.DirFS(folder)); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(out, file)); err != nil {
		t.Fatal(err)
	}
	return out
}

// What is not as the plan says is neither changed nor removed, and the reason is said.
func TestOperatorScriptsRefuse(t *testing.T) {
	release := func(name, text string) func(*workstation) {
		return func(w *workstation) { w.write(filepath.Join(w.state, "release."+name), []byte(text+"\n")) }
	}
	for _, c := range []struct {
		name   string
		script string
		words  []string
		before func(*workstation)
		want   string
	}{
		{name: "no context", words: []string{"HELM=v3.19.5"}, want: "usage: "},
		{name: "another context", words: []string{"prod"}, want: "context prod: the API server does not answer"},
		{name: "an old helm", words: []string{"lab", "HELM=v3.12.3"}, want: "3.13 or later is needed"},
		{name: "a helm that is none", words: []string{"lab", "HELM=usage"}, want: "which is no version"},
		{name: "another server", words: []string{"lab", "SERVER=1.32"}, want: "runs Kubernetes [1.32], the plan says 1.34"},
		{name: "a server of a longer version", words: []string{"lab", "SERVER=1.340"}, want: "runs Kubernetes [1.340], the plan says 1.34"},
		{name: "no claims", words: []string{"lab", "NO_DRA=1"}, want: "does not serve resource.k8s.io/v1"},
		{name: "a machine that is no node", before: func(w *workstation) { w.nodes("", "worker1", "worker22") }, want: "1 machines (worker2) of the plan are no nodes of lab"},
		{name: "a cluster without nodes", before: func(w *workstation) { w.nodes("") }, want: "2 machines (worker1 worker2) of the plan are no nodes of lab"},
		{name: "the chart elsewhere", before: release("tools.gpu-op", "gpu-operator v25.3.0 deployed x"), want: "gpu-operator is installed already, as release tools/gpu-op"},
		{name: "another chart of a longer name", before: release("tools.other", "gpu-operator-extras 1.0.0 deployed x"), want: ""},
		{name: "somebody's release", before: release("gpu-operator.gpu-operator", "gpu-operator v26.3.3 deployed railwright=other"), want: "was not made for this plan"},
		{name: "a release that was cut off", before: release("gpu-operator.gpu-operator", "gpu-operator v26.3.3 pending-install railwright=demo"), want: "is pending-install: helm was cut off"},
		{name: "an upgrade that deletes", before: release("lws-system.lws", "lws 0.7.0 deployed railwright=demo"), want: "release lws is of version [0.7.0]: an upgrade from before 0.8.0 deletes every set"},
		{name: "an upgrade that does not", before: release("lws-system.lws", "lws v0.8.0 deployed railwright=demo"), want: ""},
		{name: "an upgrade from a higher number of fewer digits", before: release("lws-system.lws", "lws 0.10.1 deployed railwright=demo"), want: ""},
		{name: "features of others", before: func(w *workstation) { w.write(filepath.Join(w.state, "daemonsets"), []byte("nfd/nfd-worker nfd\n")) }, want: "Node Feature Discovery runs already (nfd/nfd-worker)"},
		{name: "its own features", before: func(w *workstation) {
			w.write(filepath.Join(w.state, "daemonsets"), []byte("nvidia-network-operator/nfd-worker network-operator\n"))
		}, want: ""},
		{name: "features without a release", before: func(w *workstation) {
			w.write(filepath.Join(w.state, "daemonsets"), []byte("nfd/nfd-worker <no value>\n"))
		}, want: "Node Feature Discovery runs already (nfd/nfd-worker)"},
		{name: "a policy that does not come", words: []string{"lab", "NOT_READY=1"}, want: "not so after 40 minutes: the policy is carried out"},
		{name: "no values", before: func(w *workstation) {
			_ = os.Remove(filepath.Join(w.folder, fabric.OnWorkstation, "values-dranet.yaml"))
		}, want: "values-dranet.yaml is not there"},
		{name: "no objects", before: func(w *workstation) { _ = os.RemoveAll(filepath.Join(w.folder, fabric.OnKubernetes)) }, want: "00-namespaces.yaml is not there"},
		{name: "down: no context", script: "operators-down.sh", words: []string{"HELM=v3.19.5"}, want: "usage: "},
		{name: "down: another word", script: "operators-down.sh", words: []string{"lab", "--force"}, want: "usage: "},
		{name: "down: somebody's release", script: "operators-down.sh", words: []string{"lab", "--yes"}, before: release("gpu-operator.gpu-operator", "gpu-operator v26.3.3 deployed x"), want: "was not made for this plan: it stays"},
		{name: "down: an unknown kind", script: "operators-down.sh", words: []string{"lab", "--yes", "NO_KIND=1"}, before: release("nvidia-network-operator.network-operator", "network-operator 26.4.1 deployed railwright=demo"), want: ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorkstation(t, demoOperators())
			if c.before != nil {
				c.before(w)
			}
			if c.script == "" {
				c.script = "operators-up.sh"
			}
			if c.words == nil {
				c.words = []string{"lab"}
			}
			before := w.made()
			output, _, err := w.run(c.script, c.words...)
			if (err == nil) != (c.want == "") || !strings.Contains(output, c.want) {
				t.Errorf("%v, want %q in\n%s", err, c.want, output)
			}
			if after := w.made(); c.want != "" && c.script == "operators-down.sh" && after != before {
				t.Errorf("removed something: before\n%safter\n%s", before, after)
			}
		})
	}
}

// A wait has an end, and says which machines it is for.
func TestOperatorsUpGivesUp(t *testing.T) {
	o := demoOperators()
	for i := range o.Releases {
		for k := range o.Releases[i].Ready {
			o.Releases[i].Ready[k].Minutes = 0
		}
	}
	for name, c := range map[string]struct{ have, want string }{
		"no resource":   {"nvidia.com/gpu=8 dra.net=1", "every machine gives out rdma/a. Missing: 2 machines (worker1 worker2)"},
		"a count of 0":  {"rdma/a=0 nvidia.com/gpu=8 dra.net=1", "every machine gives out rdma/a. Missing: 2 machines"},
		"too few GPUs":  {"rdma/a=63 nvidia.com/gpu=7 dra.net=1", "every machine gives out 8 GPUs. Missing: 2 machines"},
		"no slices":     {"rdma/a=63 nvidia.com/gpu=8 gpu.nvidia.com=1", "the NICs of every machine are published. Missing: 2 machines"},
		"more GPUs":     {"rdma/a=1 nvidia.com/gpu=16 dra.net=1", ""},
		"others' nodes": {"rdma/a=1 nvidia.com/gpu=8 dra.net=1", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkstation(t, o)
			w.nodes(c.have, append([]string{"control1"}, demoNodes...)...)
			output, _, err := w.run("operators-up.sh", "lab")
			if (err == nil) != (c.want == "") || !strings.Contains(output, c.want) {
				t.Errorf("%v, want %q in\n%s", err, c.want, output)
			}
		})
	}
}
