package intent

import (
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
)

// What stands in the cluster file gets into commands, YAML and pages for people: none of it begins a line of its own.
func TestVSphereTextIsOneLine(t *testing.T) {
	const vks = "storage_class: vsan-default-storage-policy"
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	example, err := Example("vcf-h100", 2, cat)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, change, field string }{
		{"# depots: [", `depots: ["/x\nreboot"] # `, "vsphere.depots[0]"},
		{"# vcenter: {server: vcenter.example.com}", `vcenter: {server: v, cluster: "a\n# b"}`, "vsphere.vcenter.cluster"},
		{"# vcenter: {server: vcenter.example.com}", `vcenter: {server: v, datacenter: "a\e[2J"}`, "vsphere.vcenter.datacenter"},
		{vks, vks + "\n    library: \"a\\n# b\"", "vsphere.vks.library"},
		{vks, vks + "\n    control: \"a: b\"", "vsphere.vks.control"},
		{vks, vks + "\n    cluster_class: \"a\\nb\"", "vsphere.vks.cluster_class"},
	} {
		text := strings.Replace(string(example), c.old, c.change, 1)
		if text == string(example) {
			t.Fatalf("%q is not in the example", c.old)
		}
		if _, err := Parse("c.yaml", []byte(text), cat); err == nil || !strings.Contains(err.Error(), c.field+": invalid value") {
			t.Errorf("%s: %v", c.change, err)
		}
	}
}
