package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"railwright.dev/railwright/internal/fabric"
)

// The pods of each shape are what an API server takes, field by field, and have the claims, GPUs and memory of the plan.
func TestNCCLTestPods(t *testing.T) {
	for name, c := range draShapes() {
		t.Run(name, func(t *testing.T) {
			golden(t, "nccl-test-"+name+".yaml", NCCLTestPods(c, demoCloud()).Content)
			documents := strings.Split(string(NCCLTestPods(c, demoCloud()).Content), "\n---\n")
			var service core.Service
			if err := yaml.UnmarshalStrict([]byte(documents[0]), &service); err != nil || service.Spec.ClusterIP != core.ClusterIPNone {
				t.Errorf("service: %v, cluster IP %q", err, service.Spec.ClusterIP)
			}
			templates, pods := ClaimTemplateNames(c), 0
			if len(documents)-1 != len(templates) {
				t.Fatalf("%d sets for %d templates", len(documents)-1, len(templates))
			}
			for i, text := range documents[1:] {
				var set apps.StatefulSet
				if err := yaml.UnmarshalStrict([]byte(text), &set); err != nil {
					t.Fatal(err)
				}
				pods += int(*set.Spec.Replicas)
				pod := set.Spec.Template.Spec
				if got := *pod.ResourceClaims[0].ResourceClaimTemplateName; got != templates[i] {
					t.Errorf("template %s, want %s", got, templates[i])
				}
				test := pod.Containers[0]
				gpus := test.Resources.Limits[core.ResourceName(c.GPUResource)]
				if want := int64(c.GPUs) * int64(bit(c.GPUDriver == "")); gpus.Value() != want {
					t.Errorf("%d GPUs of the device plugin, want %d", gpus.Value(), want)
				}
				if add := test.SecurityContext.Capabilities.Add; len(add) != 1 || add[0] != "IPC_LOCK" || test.SecurityContext.Privileged != nil {
					t.Errorf("capabilities %v", add)
				}
				if shared := pod.Volumes[2].EmptyDir.SizeLimit.Value(); shared != int64(c.GPUs)*125<<30/4 && c.GPUs%4 == 0 {
					t.Errorf("%d bytes of shared memory for %d GPUs", shared, c.GPUs)
				}
				for k, v := range set.Spec.Selector.MatchLabels {
					if set.Spec.Template.Labels[k] != v {
						t.Errorf("pods lack the label %s=%s of their set", k, v)
					}
				}
				if service.Spec.Selector["app"] != set.Spec.Template.Labels["app"] || set.Spec.ServiceName != service.Name || set.Namespace != c.Namespace {
					t.Errorf("service %s of %v does not name pods with %v in %s", service.Name, service.Spec.Selector, set.Spec.Template.Labels, set.Namespace)
				}
			}
			if pods != c.Pods {
				t.Errorf("%d pods, want %d", pods, c.Pods)
			}
		})
	}
}

// The script waits for the pods, runs both tests over all of them, and keeps what they print, also where one fails.
func TestRunNCCLTests(t *testing.T) {
	blocks := draShapes()["blocks"]
	w := newWorkstation(t)
	output, calls, err := w.run(RunNCCLTests(blocks, demoCloud()), nil)
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	const hosts = "nccl-test-0-0.nccl-test nccl-test-0-1.nccl-test nccl-test-1-0.nccl-test nccl-test-1-1.nccl-test"
	for _, test := range []string{"all_gather", "all_reduce"} {
		text, err := os.ReadFile(filepath.Join(w.state, "nccl-results", test+".txt"))
		if !strings.HasPrefix(string(text), "$ kubectl --context=") {
			t.Errorf("%s: the file does not begin with its command: %.80q", test, text)
		}
		if want := "exec nccl-test-0-0 -c test -- /usr/local/gib/scripts/run_nccl_tests.sh -t " + test + " -b 1K -e 8G -g 4 " + hosts; err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v, have %q, want %q", test, err, text, want)
		}
	}
	if len(calls) != 4 { // two sets, two tests
		t.Errorf("%d calls: %v", len(calls), calls)
	}
	output, calls, err = w.run(RunNCCLTests(blocks, demoCloud()), nil, "WORKERS=1")
	if err != nil || !strings.HasSuffix(calls[2], " nccl-test-0-0.nccl-test nccl-test-1-0.nccl-test") {
		t.Errorf("one worker of each set: %v, %v\n%s", err, calls, output)
	}
	for i, want := range []string{"the pods of nccl-test-0 are not ready after 20m", "the pods of nccl-test-1 are not ready", "failed: all_gather. What it printed is in nccl-results", "failed: all_reduce."} {
		w := newWorkstation(t)
		output, _, err := w.run(RunNCCLTests(blocks, demoCloud()), nil, []string{"FAIL_AT=1", "FAIL_AT=2", "FAIL_AT=3", "FAIL_AT=4"}[i])
		if err == nil || !strings.Contains(output, want) {
			t.Errorf("call %d fails: %v, want %q in\n%s", i+1, err, want, output)
		}
	}
	for _, workers := range []string{"0", "x", "3"} {
		if output, _, err := w.run(RunNCCLTests(blocks, demoCloud()), nil, "WORKERS="+workers); err == nil || !strings.Contains(output, "stop: WORKERS="+workers) {
			t.Errorf("WORKERS=%s: %v\n%s", workers, err, output)
		}
	}
}

// A cluster of many machines is tested on some of them unless asked otherwise.
func TestRunNCCLTestsMany(t *testing.T) {
	c := draShapes()["all"]
	c.Pods = 5000
	text := string(RunNCCLTests(c, demoCloud()).Content)
	if !strings.Contains(text, "\nmost=64\n") || !strings.Contains(text, "\neach=5000\n") {
		t.Errorf("%.700s", text)
	}
}

// What a person runs is sound to the shell, and to shellcheck where it is installed.
func TestScriptsAreSound(t *testing.T) {
	cloud, beta := demoCloud(), demoCloud()
	beta.AskDRA, beta.DRA, beta.Spot, beta.GPUsByDRA = true, "v1beta1", true, true
	cloud.Reservation, cloud.Subnet = "res", "nodes"
	check, missing := exec.LookPath("shellcheck")
	for name, a := range map[string]fabric.Artifact{"up": GKEUp(cloud), "up-beta": GKEUp(beta), "down": GKEDown(cloud), "tests": RunNCCLTests(draShapes()["blocks"], cloud)} {
		golden(t, "gke-"+name+".sh", a.Content)
		file := filepath.Join(t.TempDir(), "script.sh")
		if err := os.WriteFile(file, a.Content, 0o600); err != nil {
			t.Fatal(err)
		}
		if text, err := exec.Command("bash", "-n", file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if missing != nil {
			continue
		}
		if text, err := exec.Command(check, file).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
	if missing != nil {
		t.Skip("shellcheck is not installed: only bash has read the scripts")
	}
}
