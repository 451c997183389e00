package intent

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

// What only pods have is refused where the launcher is another, and names that no object can have are refused with their place.
func TestServingFields(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	parse := func(launcher, serving string) error {
		_, err := Parse("c.yaml", []byte("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nplatform: baremetal\nlauncher: "+launcher+
			"\nnodes:\n- {names: \"n[1-2]\", machine: hgx-h100, nics: \"ibs[65,67,69,71,73,75,77,79]\"}\nfabric: {kind: infiniband, leaf: {model: qm9700}}\nserving: {model: deepseek-r1, "+serving+"}\n"), cat)
		return err
	}
	for _, tt := range []struct{ launcher, serving, want string }{
		{"kubernetes", "group: 2, replicas: 1, token_secret: hf, pull_secrets: [a, b-1], storage: {class: vsan.x, mode: ReadWriteMany, gbs: 1.5}", ""},
		{"ssh", "group: 2", "serving.group: is of pods, and the launcher is ssh"},
		{"slurm", "storage: {gbs: 1}", "serving.storage: is of pods"},
		{"ssh", "pull_secrets: [a]", "serving.pull_secrets: is of pods"},
		{"kubernetes", "pull_secrets: [a, B_c]", `serving.pull_secrets[1]: "B_c" is no name of a Secret`},
		{"kubernetes", "token_secret: My_Token", "serving.token_secret: "},
		{"kubernetes", "storage: {class: \"no such; class\"}", "serving.storage.class: "},
		{"kubernetes", "storage: {mode: RWX}", "serving.storage.mode: "},
		{"kubernetes", "storage: {gbs: 0}", "serving.storage.gbs: "},
		{"kubernetes", "replicas: 0", "serving.replicas: "},
		{"kubernetes", "token: hf_secret", "token"},
		{"kubernetes", "replicas: 1}\nkubernetes: {groups: jobset", "serving.storage: a JobSet gives no volume of its own"},
		{"kubernetes", "storage: {mode: ReadWriteMany}}\nkubernetes: {groups: jobset, queue: {with: volcano, name: q}", "kubernetes.queue.with: volcano does not admit a JobSet"},
		{"kubernetes", "storage: {mode: ReadWriteMany}}\nkubernetes: {groups: jobset, queue: {with: kueue, name: q}", ""},
	} {
		err := parse(tt.launcher, tt.serving)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("launcher %s, %s: %v, want %q", tt.launcher, tt.serving, err, tt.want)
		}
	}
}
