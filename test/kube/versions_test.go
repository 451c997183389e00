package kube

import (
	"strings"
	"testing"
)

// Clusters of 1.32 and 1.33 have only the beta versions of these objects. The scheduler sees them as it sees v1.
func TestVersions(t *testing.T) {
	p := need(t)
	for _, version := range []string{"v1beta1", "v1beta2", "v1"} {
		t.Run(version, func(t *testing.T) {
			got := p.play(t, version, scene{machine: newMachine("version", backwards...), want: want{pairs: 1, each: 1}, pods: 9, run: 8})
			if n := got.misaligned(); n != 0 {
				t.Errorf("%d of %d pairs are not at one root", n, len(got.pairs))
			}
		})
	}
}

// A field that the version does not have is refused, and so is a value that no driver may publish: what the tests call
// accepted was read.
func TestRefused(t *testing.T) {
	p := need(t)
	namespace := p.namespace(t)
	plain := want{pairs: 1, each: 1}
	misspelt := plain.template("v1", "misspelt")
	delete(misspelt["spec"].(object)["spec"].(object)["devices"].(object), "constraints")
	misspelt["spec"].(object)["spec"].(object)["devices"].(object)["constraint"] = []object{}
	older := plain.template("v1beta1", "older")
	older["apiVersion"] = "resource.k8s.io/v1"
	newer := plain.template("v1", "newer")
	newer["apiVersion"] = "resource.k8s.io/v1beta1"
	upper := newMachine("upper", 0).slice("v1", gpuDriver, []device{{"GPU-0", pcieRoot(0)}})
	unqualified := plain.template("v1", "unqualified")
	unqualified["spec"].(object)["spec"].(object)["devices"].(object)["constraints"].([]object)[0]["matchAttribute"] = "pcieRoot"
	for name, c := range map[string]struct {
		object object
		says   string
	}{
		"a misspelt field":                  {misspelt, `field not declared in schema`},
		"a request of v1beta1 in v1":        {older, `: field not declared in schema`},
		"a request of v1 in v1beta1":        {newer, `.exactly: field not declared in schema`},
		"a device name with capitals":       {upper, `lower case`},
		"an attribute that names no domain": {unqualified, `a fully qualified name`},
	} {
		t.Run(name, func(t *testing.T) {
			err := p.api.apply(t.Context(), namespace, c.object)
			if err == nil {
				t.Fatal("the server accepted it")
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("the server says %q, want %q", err, c.says)
			}
		})
	}
}
