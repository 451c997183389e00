package podtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// desk is a machine with a kubectl and a railwright that are files of this test, and nothing else of their names.
type desk struct {
	t           *testing.T
	bin, folder string
}

// deskTools are what the scripts may use besides.
var deskTools = []string{"bash", "sh", "cat", "grep", "mkdir", "mktemp", "mv", "rm", "rmdir", "ls", "sleep", "tee", "tail", "head", "awk", "sort", "dirname", "env"}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{t: t, bin: t.TempDir(), folder: t.TempDir()}
	for _, tool := range deskTools {
		at, err := exec.LookPath(tool)
		if err != nil {
			t.Skipf("%s is not installed: %v", tool, err)
		}
		if err := os.Symlink(at, filepath.Join(d.bin, tool)); err != nil {
			t.Fatal(err)
		}
	}
	kubectl, err := os.ReadFile("testdata/bin/kubectl")
	if err != nil {
		t.Fatal(err)
	}
	d.write("kubectl", string(kubectl))
	d.write("railwright", "#!/bin/sh\necho \"explained: $*\"\nexit \"${EXPLAIN:-0}\"\n")
	d.write("ssh-keygen", "#!/bin/sh\nwhile [ \"$1\" != -f ]; do shift; done\necho private >\"$2\"\necho public >\"$2.pub\"\n")
	for name, text := range map[string]string{"perftest.out": "$ ib_write_bw -d mlx5_0\n", "table.out": "# nThread 1\n"} {
		if err := os.WriteFile(filepath.Join(d.folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return d
}

func (d *desk) write(name, text string) {
	d.t.Helper()
	if err := os.WriteFile(filepath.Join(d.bin, name), []byte(text), 0o755); err != nil {
		d.t.Fatal(err)
	}
}

// run runs a script and returns its exit status, what it printed, and the calls of kubectl that it made.
func (d *desk) run(script fabric.Artifact, env []string, args ...string) (status int, output, calls string) {
	d.t.Helper()
	name := filepath.Base(script.Path)
	d.write(name, string(script.Content))
	_ = os.Remove(filepath.Join(d.folder, "calls"))
	c := exec.Command("bash", append([]string{filepath.Join(d.bin, name)}, args...)...)
	c.Dir = d.folder
	at := func(name string) string { return filepath.Join(d.folder, name) }
	c.Env = append([]string{"PATH=" + d.bin, "STATE=" + d.folder, "TMPDIR=" + d.t.TempDir(), "PERFTEST=" + at("perftest.out"), "TABLE=" + at("table.out"), "PAUSE=0"}, env...)
	text, err := c.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		d.t.Fatal(err)
	}
	all, err := os.ReadFile(at("calls"))
	if err != nil && !os.IsNotExist(err) {
		d.t.Fatal(err)
	}
	return c.ProcessState.ExitCode(), string(text), string(all)
}

// smallTests are of pods with two NICs, so that a run is short.
func smallTests() Tests {
	shape := testShapes()["claim"]
	shape.NICs, shape.GPUs = 2, 2
	return shape
}

// Whatever fails, the exit status is never 0, what was made is removed, and what was measured is judged all the same.
func TestRunTests(t *testing.T) {
	for _, c := range []struct {
		name   string
		env    []string
		args   []string
		status int
		want   []string
	}{
		{"all", nil, nil, 0, []string{"explained: explain test-results/all_gather.txt", "test-results/perftest-host-railwright-perftest-1-railwright-perftest-0-nic1.txt --machine xe9680-mi300x-thor2 --nodes 2"}},
		{"with a cluster file", []string{"CLUSTER=perftest.out"}, []string{"perftest"}, 0, []string{"nic1.txt -f perftest.out"}},
		{"explain says degraded", []string{"EXPLAIN=1"}, []string{"perftest"}, 1, nil},
		{"explain says unknown", []string{"EXPLAIN=2"}, []string{"perftest"}, 2, nil},
		{"explain cannot be called so", []string{"EXPLAIN=64"}, []string{"perftest"}, 64, nil},
		{"pods that are never ready", []string{"FAIL=*rollout status statefulset/railwright-perftest *"}, []string{"perftest"}, 2,
			[]string{"unknown: the pods of railwright-perftest are not ready after 10m", "Insufficient nvidia.com/gpu", "unknown: nothing was measured"}},
		{"pods of one suite are not ready", []string{"FAIL=*rollout status statefulset/railwright-perftest *"}, nil, 2, []string{"explained: explain test-results/all_gather.txt"}},
		{"a failure is worse than what is unknown", []string{"FAIL=*rollout status statefulset/railwright-perftest *", "EXPLAIN=1"}, nil, 1, nil},
		{"the API server does not answer", []string{"FAIL=*apply -f*"}, nil, 2, []string{"unknown: the API server refuses test-scripts.yaml, or does not answer"}},
		{"the API server refuses pods", []string{"FAIL=*apply -f*test-perftest.yaml"}, []string{"perftest"}, 2, []string{"unknown: perftest: the API server refuses test-perftest.yaml"}},
		{"a pod lacks a NIC", []string{"DEVICES=1"}, []string{"perftest"}, 2, []string{"railwright-perftest-0: it has 1 RDMA devices, and the plan gives each pod 2"}},
		{"a pod has a NIC too many", []string{"DEVICES=3"}, []string{"perftest"}, 2, []string{"it has 3 RDMA devices"}},
		{"devices that cannot be read", []string{"FAIL=*exec*devices"}, []string{"collectives"}, 2, []string{"its devices could not be read"}},
		{"one machine", []string{"MACHINES=1"}, []string{"perftest"}, 2, []string{"unknown: perftest: it needs pods on two machines, and there are pods on 1"}},
		{"a test that fails", []string{"FAIL=*mpirun*all_reduce_perf*"}, []string{"collectives"}, 2, []string{"unknown: all_reduce: it failed: test-results/all_reduce.failed.txt", "explained: explain test-results/all_gather.txt"}},
		{"a test that prints nothing", []string{"TABLE=/dev/null"}, []string{"collectives"}, 2, []string{"unknown: test-results/all_gather.txt: nothing was printed", "unknown: nothing was measured"}},
		{"a server that does not start", []string{"FAIL=*listening*"}, []string{"perftest"}, 2, []string{"the server in pod railwright-perftest-0 did not start"}},
		{"a client that fails", []string{"FAIL=*perftest host 1 18516 10.0.0.1"}, []string{"perftest"}, 2, []string{"unknown: perftest, host memory, NIC 1 of railwright-perftest-1 to railwright-perftest-0: it failed"}},
		{"no Secret", []string{"FAIL=*create secret*"}, []string{"collectives"}, 2, []string{"unknown: collectives: the keys of this run could not be stored as a Secret"}},
		{"an MPIJob", []string{"CONDITION=Created Succeeded ", "LOG=mpi.log"}, []string{"mpijob"}, 0, []string{"explained: explain test-results/mpijob-all_gather.txt test-results/mpijob-all_reduce.txt test-results/mpijob-alltoall.txt"}},
		{"an MPIJob that fails", []string{"CONDITION=Created Failed ", "LOG=mpi.log"}, []string{"mpijob"}, 2, []string{"unknown: mpijob: it failed"}},
		{"an MPIJob without an operator", []string{"SECONDS_LEFT=5"}, []string{"mpijob"}, 2, []string{"its conditions: none, which is also so where no MPI operator runs"}},
		{"a cut log of an MPIJob", []string{"CONDITION=Succeeded ", "LOG=cut.log"}, []string{"mpijob"}, 2, []string{"unknown: mpijob: its log has no alltoall"}},
		{"unknown suite", nil, []string{"nccl"}, 64, []string{"nccl: unknown; known: perftest, collectives, mpijob"}},
		{"wrong number", []string{"WORKERS=x"}, nil, 64, []string{"WORKERS=x: not a number from 1 on"}},
		{"more than there are", []string{"WORKERS=3"}, []string{"collectives"}, 64, []string{"WORKERS=3: each set has 2 pods"}},
		{"no such cluster file", []string{"CLUSTER=none.yaml"}, nil, 64, []string{"CLUSTER=none.yaml: cannot be read"}},
		{"results of before", []string{"RESULTS=."}, nil, 64, []string{"RESULTS=.: has files already"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			for name, text := range map[string]string{"mpi.log": "# test all_gather\na\n# test all_reduce\nb\n# test alltoall\nc\n", "cut.log": "# test all_gather\na\n# test all_reduce\nb\n"} {
				if err := os.WriteFile(filepath.Join(d.folder, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			status, output, calls := d.run(RunTests(smallTests()), c.env, c.args...)
			if status != c.status {
				t.Errorf("exit status %d, want %d\n%s\n%s", status, c.status, output, calls)
			}
			for _, want := range c.want {
				if !strings.Contains(output, want) {
					t.Errorf("no %q in\n%s", want, output)
				}
			}
			if strings.Contains(output, " to railwright-perftest-0: it failed") && !strings.Contains(calls, " stop 18516") {
				t.Errorf("the server of a client that failed waits:\n%s", calls)
			}
			cleaned(t, calls)
		})
	}
}

// cleaned makes sure that what was applied was deleted by its file, the Secret by its name, and nothing else.
func cleaned(t *testing.T, calls string) {
	t.Helper()
	for _, file := range []string{"test-scripts.yaml", "test-perftest.yaml", "test-collectives.yaml", "test-mpijob.yaml"} {
		made, removed := strings.LastIndex(calls, "apply -f "), strings.LastIndex(calls, "/"+file)
		if strings.Contains(calls, file) && (removed <= made || !strings.Contains(calls[strings.LastIndex(calls[:removed], "\n")+1:removed], " delete ")) {
			t.Errorf("%s: was applied and not deleted:\n%s", file, calls)
		}
	}
	if made := strings.LastIndex(calls, "create secret "); made >= 0 && !strings.Contains(calls[made:], "delete secret --ignore-not-found railwright-test-keys") {
		t.Errorf("the keys stay:\n%s", calls)
	}
	if strings.Contains(calls, "--all") {
		t.Errorf("deletes what others made:\n%s", calls)
	}
}

// Without kubectl, ssh-keygen or railwright nothing is known.
func TestRunTestsWithoutTools(t *testing.T) {
	for tool, want := range map[string]string{"kubectl": "unknown: kubectl is not installed", "ssh-keygen": "ssh-keygen is not installed", "railwright": "railwright is not in PATH, and nothing was judged"} {
		d := newDesk(t)
		if err := os.Remove(filepath.Join(d.bin, tool)); err != nil {
			t.Fatal(err)
		}
		if status, output, _ := d.run(RunTests(smallTests()), nil, "collectives"); status != 2 || !strings.Contains(output, want) {
			t.Errorf("without %s: exit status %d, want 2 and %q\n%s", tool, status, want, output)
		}
	}
}

// Each NIC is paired with the one of the same number, from host and from GPU memory; an odd machine meets the first.
func TestRunTestsPairs(t *testing.T) {
	shape := smallTests()
	shape.Sets[0].Pods = 3
	_, output, _ := newDesk(t).run(RunTests(shape), []string{"WORKERS=9", "PODS=3", "MACHINES=3"}, "perftest")
	for _, want := range []string{
		"run: ib_write_bw, host memory, NIC 0 of railwright-perftest-1 to railwright-perftest-0", "run: ib_write_bw, gpu memory, NIC 1 of railwright-perftest-1 to railwright-perftest-0",
		"run: ib_write_bw, gpu memory, NIC 1 of railwright-perftest-0 to railwright-perftest-2",
	} {
		if !strings.Contains(output, want) {
			t.Errorf("no %q in\n%s", want, output)
		}
	}
	if n := strings.Count(output, "run: "); n != 8 {
		t.Errorf("%d runs, want 8", n)
	}
}

// The ranks of all sets are started in one mpirun, and those of many pods only as far as they fit one command.
func TestRunTestsHosts(t *testing.T) {
	shape := testShapes()["blocks"]
	d := newDesk(t)
	_, output, calls := d.run(RunTests(shape), []string{"DEVICES=4", "DMABUF=yes", "CONTEXT=lab"}, "collectives")
	want := "--context=lab --namespace=bench exec railwright-collectives-0-0 -c test -- env DMABUF=yes /opt/railwright/pod.sh mpirun 24 " +
		"railwright-collectives-0-0.railwright-collectives:4,railwright-collectives-0-1.railwright-collectives:4,railwright-collectives-0-2.railwright-collectives:4," +
		"railwright-collectives-1-0.railwright-collectives:4,railwright-collectives-1-1.railwright-collectives:4,railwright-collectives-1-2.railwright-collectives:4 /opt/tests/all_reduce_perf -b 1K -e 8G -f 2 -g 1"
	if !strings.Contains(calls, want) {
		t.Errorf("no call %q in\n%s\n%s", want, calls, output)
	}
	shape.Sets[0].Pods, shape.Sets[1].Pods = 5000, 5000
	if text := string(RunTests(shape).Content); !strings.Contains(text, "\nmost=32\n") || !strings.Contains(text, "\neach=5000\n") {
		t.Errorf("%.600s", text)
	}
	if status, output, _ := newDesk(t).run(RunTests(testShapes()["blocks"]), nil, "mpijob"); status != 64 || !strings.Contains(output, "this plan has 2 kinds of pods") {
		t.Errorf("MPIJob of two sets: %d\n%s", status, output)
	}
}

// The images are built from the file beside the script, in an empty folder, under names with the checksum of that file.
func TestBuildImages(t *testing.T) {
	images := TestImages(smallTests())
	d := newDesk(t)
	d.write("amd.Containerfile", string(images[0].Content))
	d.write("podman", "#!/bin/sh\nfor w; do last=$w; done\n[ \"$1\" != build ] || [ -z \"$(ls -A \"$last\")\" ] || { echo not empty; exit 1; }\necho \"podman $*\"\n")
	status, output, _ := d.run(images[1], nil)
	tag := smallTests().tag()
	for _, want := range []string{" --target perftest -t registry.example.com:5000/a/b/perftest-amd:" + tag, "podman push registry.example.com:5000/a/b/collectives-amd:" + tag} {
		if status != 0 || !strings.Contains(output, want) {
			t.Errorf("exit status %d, want 0 and %q\n%s", status, want, output)
		}
	}
	for _, c := range []struct {
		env, args []string
		status    int
		want      string
	}{
		{[]string{"PUSH=no"}, nil, 0, "build: "},
		{[]string{"BUILDER=docker"}, nil, 2, "docker: is not installed"},
		{[]string{"BUILDER=make"}, nil, 64, "BUILDER=make: unknown; known: podman, buildah, docker"},
		{nil, []string{"a", "b"}, 64, "more than one registry"},
		{nil, []string{""}, 64, "no registry"},
	} {
		status, output, _ := d.run(images[1], c.env, c.args...)
		if status != c.status || !strings.Contains(output, c.want) || strings.Contains(output, "push: ") {
			t.Errorf("%v %v: exit status %d, want %d and %q\n%s", c.env, c.args, status, c.status, c.want, output)
		}
	}
}
