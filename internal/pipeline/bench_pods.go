package pipeline

import (
	"fmt"
	"path/filepath"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Scripts for a person that measure the network of pods: testScript starts pods of its own, in images that imagesScript builds.
const (
	testScript   = "run-tests.sh"
	imagesScript = "build-images.sh"
)

// podSuites are the suites that run in pods, by what testScript calls them. Without one it runs both.
func podSuites() map[string]string {
	return map[string]string{"perftest": "perftest", "nccl": "collectives"}
}

// BenchCommands are what a person runs to measure the pods of a plan by some suites, or all, since nobody logs in to them; file is its
// cluster file. An error says what the plan lacks.
func BenchCommands(p *fabric.Plan, file string, suites ...string) ([]string, error) {
	file = fabric.ShellWord(file)
	render := "railwright render -f " + file + " -d out"
	script := func(name string) string { return filepath.Join("out", fabric.OnWorkstation, name) }
	switch {
	case p.Cloud != nil:
		return []string{render, script(collectivesScript), "railwright explain nccl-results -f " + file}, nil
	case p.Pods == nil || p.Pods.GPUs == 0:
		return nil, fmt.Errorf("launcher kubernetes: the plan has no pods with GPUs: give the machines of the catalog (nodes, machine) and the section kubernetes")
	case p.Platform == "gke":
		return nil, fmt.Errorf("launcher kubernetes: the cluster file has no gke section, from which the pods of the tests follow. Run nccl-tests in pods, save what they print, and judge it:\n  railwright explain OUTPUT -f %s", file)
	case p.Pods.TestImages == "":
		return nil, fmt.Errorf("kubernetes.test_images: names no registry, and the test pods run in images of your own. Build and push them, and write the same name into the cluster file:\n  %s\n  %s REGISTRY/PATH",
			render, script(imagesScript))
	}
	run := "CLUSTER=" + file + " " + script(testScript)
	for _, s := range suites {
		name, ok := podSuites()[s]
		if !ok {
			return nil, fmt.Errorf("suite %q: it does not run in pods; known: perftest, nccl", s)
		}
		run += " " + name
	}
	return []string{render, script(imagesScript), run}, nil
}

// BenchOfPods says what measures the pods of a plan, since nobody logs in to them.
func BenchOfPods(p *fabric.Plan, file string) error {
	commands, err := BenchCommands(p, file)
	if err != nil {
		return err
	}
	does := "runs perftest and collectives in pods of its own"
	if p.Cloud != nil {
		does = "runs all_gather and all_reduce over them"
	}
	return fmt.Errorf("launcher kubernetes: bench does not log in to pods. What render writes %s, and explain judges it:\n  %s", does, strings.Join(commands, "\n  "))
}
