package platform

import (
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	planning "railwright.dev/railwright/internal/plan"
)

// Test pods are files for a person, and only where the plan says from which registry their images come; else that is said.
func TestPodTests(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	const head = "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\n"
	const roce = "platform: baremetal\nlauncher: LAUNCHER\nnodes:\n- {names: \"n[1-3]\", machine: xe9680-mi300x-thor2, nics: \"eth[1-8]\"}\nfabric: {kind: roce, leaf: {model: z9664f, os: sonic}}\n"
	images := []string{"/amd.Containerfile", "/build-images.sh"}
	pods := []string{"/test-scripts.yaml", "/test-perftest.yaml", "/test-collectives.yaml", "/test-mpijob.yaml", "/run-tests.sh"}
	for _, c := range []struct {
		name, text string
		want       []string
		missing    string
	}{
		{"a registry", strings.Replace(roce, "LAUNCHER", "kubernetes", 1) + "kubernetes: {operators: present, test_images: r.example.com/x}\n", append(images, pods...), ""},
		{"pods with a part of a machine", strings.Replace(roce, "LAUNCHER", "kubernetes", 1) + "kubernetes: {operators: present, test_images: r.example.com/x, pod: {gpus: 4, align: numa}}\n",
			slices.DeleteFunc(append(images, pods...), func(p string) bool { return p == "/test-mpijob.yaml" }), "the workers of an MPIJob are all alike, and this plan has pods with 2 claim templates"},
		{"no registry", strings.Replace(roce, "LAUNCHER", "kubernetes", 1) + "kubernetes: {operators: present}\n", images, "kubernetes.test_images: names no registry"},
		{"no pods", strings.Replace(roce, "LAUNCHER", "ssh", 1), nil, ""},
		{"gke", "platform: gke\nnodes:\n- {names: n1, machine: a4-highgpu-8g}\nfabric: {kind: roce}\nkubernetes: {operators: present, test_images: r.example.com/x}\n", nil, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file, err := intent.Parse("c.yaml", []byte(head+c.text), cat)
			if err != nil {
				t.Fatal(err)
			}
			made, err := planning.New(file, cat)
			if err != nil {
				t.Fatal(err)
			}
			all, err := Artifacts(made)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for a := range all {
				if a.Target != fabric.OnWorkstation {
					if strings.Contains(a.Path, "test") {
						t.Errorf("%s is for %s: apply would start test pods", a.Path, a.Target)
					}
					continue
				}
				got = append(got, a.Path)
				if a.Doc == "" {
					t.Errorf("%s: nobody says what it is", a.Path)
				}
				if a.Path == "/test-scripts.yaml" && !strings.Contains(string(a.Content), "\n    NCCL_IB_TC=104\n") { // DSCP 26, in the upper six bits
					t.Errorf("the pods do not know the traffic class:\n%.600s", a.Content)
				}
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
			said := ""
			for _, m := range Missing(made) {
				said += m.Reason + "\n"
			}
			if c.missing == "" && strings.Contains(said, "test") || !strings.Contains(said, c.missing) {
				t.Errorf("missing %q, want %q", said, c.missing)
			}
		})
	}
}
