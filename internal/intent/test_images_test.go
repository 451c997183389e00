package intent

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

// What test_images names becomes part of the names of images, which the API server and builders read: only a registry with a path.
func TestTestImages(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for name, sound := range map[string]bool{
		"harbor.example.com/railwright": true, "reg.example.com:5000/a/b-c_d": true, "localhost": true, "a/b.c/d--e": true,
		"Harbor/x": false, "a b": false, "$(id)": false, `""`: false, "x/../y": false, "reg:5000/a:latest": false, "a//b": false, "a/": false, "a@sha256": false, "-a": false,
	} {
		text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nplatform: baremetal\nlauncher: kubernetes\n" +
			"nodes:\n- {names: \"n[1-2]\", machine: hgx-h100, nics: \"ibs[0-7]\"}\nfabric: {kind: infiniband, leaf: {model: qm9700}}\nkubernetes: {test_images: " + name + "}\n"
		_, err := Parse("c.yaml", []byte(text), cat)
		if (err == nil) != sound || err != nil && !strings.Contains(err.Error(), "c.yaml:9:27: kubernetes.test_images: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
