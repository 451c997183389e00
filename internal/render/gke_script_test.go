package render

import (
	"bytes"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// demoCloud is as small as a plan of Google Cloud can be and still have each kind of thing.
func demoCloud() fabric.Cloud {
	sub := func(name string, n byte) fabric.CloudSubnet {
		return fabric.CloudSubnet{Name: name, Range: netip.PrefixFrom(netip.AddrFrom4([4]byte{192, 168, n, 0}), 24)}
	}
	return fabric.Cloud{
		Provider: "gke", Project: "demo-project", Region: "us-west8", Zone: "us-west8-c", Location: "us-west8-c", Cluster: "demo", Version: "1.34",
		Network: "default", DRA: "v1", TestImage: "example.test/diagnostic:v1",
		Networks: []fabric.CloudNetwork{
			{Name: "demo-gvnic-net", MTU: 1460, Firewall: "demo-gvnic-internal", Subnets: []fabric.CloudSubnet{sub("demo-gvnic-sub", 0)}},
			{Name: "demo-rdma-net", MTU: 8896, Profile: "us-west8-c-vpc-roce", Subnets: []fabric.CloudSubnet{sub("demo-rdma-sub-0", 1), sub("demo-rdma-sub-1", 2)}},
		},
		Pools: []fabric.NodePool{{Name: "gpu-0", MachineType: "a4-highgpu-8g", Accelerator: "nvidia-b200", GPUs: 8, Nodes: 2}},
		Installers: []fabric.CloudInstaller{
			{Name: "libraries", DaemonSet: "nccl-rdma-installer", URL: "https://example.test/libraries.yaml", Source: "a test"},
			{Name: "DraNet", DaemonSet: "dranet", URL: "https://example.test/dranet.yaml", Source: "a test",
				Images: []fabric.PinnedImage{{Name: "example.test/dranet", Digest: "sha256:0123"}}},
		},
	}
}

// workstation is a machine with a gcloud and a kubectl that are files of this test: nothing else of their name can be run on it.
type workstation struct {
	t          *testing.T
	bin, state string
	env        []string
}

func newWorkstation(t *testing.T) *workstation {
	t.Helper()
	w := &workstation{t: t, bin: t.TempDir(), state: t.TempDir()}
	for _, tool := range []string{"bash", "sh", "cat", "cut", "grep", "mkdir", "mktemp", "mv", "rm", "cp", "sleep", "tee", "tr"} {
		at, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("%s is not installed: %v", tool, err)
		}
		if err := os.Symlink(at, filepath.Join(w.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gcloud", "kubectl"} {
		text, err := os.ReadFile(filepath.Join("testdata/gke", name))
		if err != nil {
			t.Fatal(err)
		}
		w.write(filepath.Join(w.bin, name), text)
	}
	w.write(filepath.Join(w.bin, "gke-gcloud-auth-plugin"), []byte("#!/bin/sh\n"))
	return w
}

func (w *workstation) write(file string, text []byte) {
	w.t.Helper()
	if err := os.WriteFile(file, text, 0o755); err != nil {
		w.t.Fatal(err)
	}
}

// run runs a script with these arguments and environment, and returns what it printed and the calls that it made.
func (w *workstation) run(script fabric.Artifact, args []string, env ...string) (output string, calls []string, err error) {
	w.t.Helper()
	for _, name := range []string{"calls", "calls.n"} {
		_ = os.Remove(filepath.Join(w.state, name))
	}
	file := filepath.Join(w.bin, filepath.Base(script.Path))
	w.write(file, script.Content)
	c := exec.Command("bash", append([]string{file}, args...)...)
	c.Env = append([]string{"PATH=" + w.bin, "STATE=" + w.state, "TMPDIR=" + w.t.TempDir(), "PAUSE=0"}, append(w.env, env...)...)
	c.Dir = w.state
	text, err := c.CombinedOutput()
	if all, err := os.ReadFile(filepath.Join(w.state, "calls")); err == nil {
		calls = strings.Split(strings.TrimSpace(string(all)), "\n")
	}
	return string(text), calls, err
}

// made lists what is in the cloud, with what describes it.
func (w *workstation) made() string {
	w.t.Helper()
	files, err := os.ReadDir(w.state)
	if err != nil {
		w.t.Fatal(err)
	}
	var all bytes.Buffer
	for _, f := range files {
		if kind, _, _ := strings.Cut(f.Name(), "."); !slices.Contains([]string{"calls", "applied", "nccl-results"}, kind) {
			text, err := os.ReadFile(filepath.Join(w.state, f.Name()))
			if err != nil {
				w.t.Fatal(err)
			}
			fmt.Fprintf(&all, "%s: %s\n", f.Name(), strings.TrimSpace(strings.ReplaceAll(string(text), "\t", " | ")))
		}
	}
	return all.String()
}

func changing(calls []string) (n int) {
	for _, c := range calls {
		if strings.Contains(c, " create ") || strings.Contains(c, " delete ") {
			n++
		}
	}
	return n
}

const demoMade = `cluster.demo: RUNNING | demo | 1.34.1-gke.5
firewall.demo-gvnic-internal: railwright: us-west8-c/demo | demo-gvnic-net | 192.168.0.0/24
network.demo-gvnic-net: railwright: us-west8-c/demo | 1460 |
network.demo-rdma-net: railwright: us-west8-c/demo | 8896 | us-west8-c-vpc-roce
nodes.gpu-0: 2
pool.default-pool: 
pool.gpu-0: RUNNING | a4-highgpu-8g | demo
subnet.demo-gvnic-sub: railwright: us-west8-c/demo | demo-gvnic-net | 192.168.0.0/24
subnet.demo-rdma-sub-0: railwright: us-west8-c/demo | demo-rdma-net | 192.168.1.0/24
subnet.demo-rdma-sub-1: railwright: us-west8-c/demo | demo-rdma-net | 192.168.2.0/24
`

// A cluster is made, made again without a change, and removed without a trace.
func TestGKEUpAndDown(t *testing.T) {
	w := newWorkstation(t)
	up, down := GKEUp(demoCloud()), GKEDown(demoCloud())
	output, calls, err := w.run(up, nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	if made := w.made(); made != demoMade {
		t.Errorf("made\n%s\nwant\n%s", made, demoMade)
	}
	for _, want := range []string{"--enable-dataplane-v2", "--enable-multi-networking", "gpu-driver-version=default", "--rules=tcp,udp,icmp --source-ranges=192.168.0.0/24"} {
		if !strings.Contains(strings.Join(calls, "\n"), want) {
			t.Errorf("no call has %s", want)
		}
	}
	kustomization, err := os.ReadFile(filepath.Join(w.state, "applied.dranet"))
	if want := "resources:\n- https://example.test/dranet.yaml\nimages:\n- name: example.test/dranet\n  digest: sha256:0123\n"; err != nil || string(kustomization) != want {
		t.Errorf("applied %q (%v), want %q", kustomization, err, want)
	}
	if output, calls, err = w.run(up, nil); err != nil || changing(calls) != 0 || strings.Contains(output, "make:") {
		t.Errorf("a second run: %v, %d changes\n%s", err, changing(calls), output)
	}
	if output, calls, err = w.run(down, nil); err != nil || changing(calls) != 0 || !strings.Contains(output, "would remove: network demo-gvnic-net") || w.made() != demoMade {
		t.Errorf("removal without --yes: %v, %d changes\n%s", err, changing(calls), output)
	}
	if output, _, err = w.run(down, []string{"--yes"}); err != nil || w.made() != "" {
		t.Errorf("after removal: %v\n%s\n%s", err, output, w.made())
	}
	if output, calls, err = w.run(down, []string{"--yes"}); err != nil || changing(calls) != 0 || !strings.Contains(output, "nothing of this plan is left") {
		t.Errorf("a second removal: %v\n%s", err, output)
	}
}

// Whichever call fails, before or after it had its effect: the script stops there, and the next run goes on to the same end.
func TestGKEScriptsCutOff(t *testing.T) {
	up, down := GKEUp(demoCloud()), GKEDown(demoCloud())
	whole := newWorkstation(t)
	_, making, err := whole.run(up, nil)
	if err != nil {
		t.Fatal(err)
	}
	made := t.TempDir() // what a whole run leaves, from which each removal starts
	if err := os.CopyFS(made, os.DirFS(whole.state)); err != nil {
		t.Fatal(err)
	}
	_, removing, err := whole.run(down, []string{"--yes"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		calls []string
		cut   fabric.Artifact
		ends  string
	}{{"up", making, up, demoMade}, {"down", removing, down, ""}} {
		for i, call := range c.calls {
			for _, late := range []string{"", "FAIL_LATE=1"} {
				if late != "" && changing([]string{call}) == 0 {
					continue
				}
				t.Run(fmt.Sprintf("%s/%d%s", c.name, i+1, strings.ToLower(late)), func(t *testing.T) {
					t.Parallel()
					w := newWorkstation(t)
					if c.ends == "" {
						if err := os.CopyFS(w.state, os.DirFS(made)); err != nil {
							t.Fatal(err)
						}
					}
					output, calls, err := w.run(c.cut, []string{"--yes"}[:bit(c.ends == "")], fmt.Sprintf("FAIL_AT=%d", i+1), late)
					if err == nil || len(calls) != i+1 {
						t.Fatalf("%s failed; the script ended with %v after %d calls, want %d\n%s", call, err, len(calls), i+1, output)
					}
					if changing([]string{call}) == 0 && !strings.Contains(call, " apply ") {
						return // what there is now is what the change before it left
					}
					if output, _, err := w.run(c.cut, []string{"--yes"}[:bit(c.ends == "")]); err != nil || w.made() != c.ends {
						t.Errorf("the next run: %v, made\n%s\n%s", err, w.made(), output)
					}
				})
			}
		}
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// What is there and is not the plan's is neither changed nor removed, and what is being changed is waited for.
func TestGKEScriptsRefuse(t *testing.T) {
	strange := func(file, text string) func(*workstation) {
		return func(w *workstation) { w.write(filepath.Join(w.state, file), []byte(text+"\n")) }
	}
	for _, c := range []struct {
		name   string
		down   bool
		before func(*workstation)
		change func(*fabric.Cloud)
		want   string
	}{
		{name: "another range", before: strange("subnet.demo-rdma-sub-1", "railwright: us-west8-c/demo\tdemo-rdma-net\t10.9.0.0/24"), want: "subnet demo-rdma-sub-1 exists and is another one"},
		{name: "another owner", before: strange("network.demo-gvnic-net", "prod\t1460\t"), want: "network demo-gvnic-net exists and is another one: [prod 1460 ]"},
		{name: "another version", before: strange("cluster.demo", "RUNNING\tdemo\t1.35.2-gke.1"), want: "runs Kubernetes 1.35.2-gke.1, the plan says 1.34"},
		{name: "somebody's cluster", before: strange("cluster.demo", "RUNNING\t\t1.34.1-gke.5"), want: "cluster demo exists and is another one"},
		{name: "a broken cluster", before: strange("cluster.demo", "ERROR\tdemo\t1.34.1-gke.5"), want: "cluster demo is ERROR"},
		{name: "a cluster that stays half made", before: strange("cluster.demo", "PROVISIONING\tdemo\t1.34.1-gke.5"), want: "cluster demo is still PROVISIONING"},
		{name: "a pool that failed", before: func(w *workstation) {
			strange("cluster.demo", "RUNNING\tdemo\t1.34.1-gke.5")(w)
			strange("pool.gpu-0", "ERROR\ta4-highgpu-8g\tdemo")(w)
		}, want: "node pool gpu-0 is ERROR"},
		{name: "too few machines", before: func(w *workstation) {
			strange("cluster.demo", "RUNNING\tdemo\t1.34.1-gke.5")(w)
			strange("pool.gpu-0", "RUNNING\ta4-highgpu-8g\tdemo")(w)
			strange("nodes.gpu-0", "1")(w)
		}, want: "has 1 machines of this plan, the plan says 2"},
		{name: "the placeholder", change: func(c *fabric.Cloud) { c.Project = fabric.PlaceholderProject }, want: "set gke.project in the cluster file"},
		{name: "an unknown project", change: func(c *fabric.Cloud) { c.Project = "no-such" }, want: "project no-such is not reachable"},
		{name: "an unknown project, down", down: true, change: func(c *fabric.Cloud) { c.Project = "no-such" }, want: "project no-such is not reachable"},
		{name: "somebody's network, down", down: true, before: strange("network.demo-gvnic-net", "prod\t1460\t"), want: "network demo-gvnic-net was not made by this plan"},
		{name: "somebody's cluster, down", down: true, before: strange("cluster.demo", "RUNNING\tprod\t1.34.1-gke.5"), want: "cluster demo was not made by this plan"},
		{name: "somebody's pool, down", down: true, before: func(w *workstation) {
			strange("cluster.demo", "RUNNING\tdemo\t1.34.1-gke.5")(w)
			strange("pool.theirs", "RUNNING\te2\t")(w)
		}, want: "has node pool theirs, which this plan does not name"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w, cloud := newWorkstation(t), demoCloud()
			if c.change != nil {
				c.change(&cloud)
			}
			if c.before != nil {
				c.before(w)
			}
			before := w.made()
			script, args := GKEUp(cloud), []string(nil)
			if c.down {
				script, args = GKEDown(cloud), []string{"--yes"}
			}
			output, _, err := w.run(script, args)
			if err == nil || !strings.Contains(output, c.want) {
				t.Errorf("%v, want %q in\n%s", err, c.want, output)
			}
			if after := w.made(); c.down && after != before {
				t.Errorf("removed something: before\n%safter\n%s", before, after)
			}
		})
	}
}
