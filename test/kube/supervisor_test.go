package kube

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/render/vsphere"
)

// published is a file of a module as its authors published it. The sum makes it the same one for everybody; where no module proxy
// is reached, the test is skipped.
func published(t *testing.T, module, sum, path string) string {
	t.Helper()
	out, err := host.Output(t.Context(), host.Local{}, host.Command{Argv: []string{"go", "-C", t.TempDir(), "mod", "download", "-json", module}})
	if err != nil {
		t.Skipf("%s: not downloaded: %v", module, err)
	}
	var m struct{ Dir, Sum string }
	if err := json.Unmarshal(out, &m); err != nil || m.Sum != sum {
		t.Fatalf("%s: %s, %v", module, out, err)
	}
	text, err := os.ReadFile(filepath.Join(m.Dir, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// define makes kinds, and waits until the server has them.
func (p *plane) define(t *testing.T, crd, kind string) {
	t.Helper()
	if out, err := p.kubectl(t.Context(), crd, "apply", "--server-side", "-f", "-"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	within(t, time.Minute, func() string {
		out, err := p.kubectl(t.Context(), "", "get", kind, "-A")
		if err != nil {
			return out + err.Error()
		}
		return ""
	})
}

// vsphereOf plans an example with texts replaced: old, new, old, new.
func vsphereOf(t *testing.T, change ...string) *fabric.Plan {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	text, err := intent.Example("vcf-h100", 4, cat)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(change); i += 2 {
		if !strings.Contains(string(text), change[i]) {
			t.Fatalf("the example has no %q", change[i])
		}
		text = []byte(strings.Replace(string(text), change[i], change[i+1], 1))
	}
	c, err := intent.Parse("cluster.yaml", text, cat)
	if err != nil {
		t.Fatal(err)
	}
	made, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// What is rendered for the Supervisor is accepted by an API server that has the kinds as Cluster API and VM Operator published
// them, with every field known; and one that is wrong is not. Versions: those of the kinds that a Supervisor of VCF 5.2 and 9.0
// serves (cluster.x-k8s.io/v1beta1, vmoperator.vmware.com/v1alpha3).
func TestSupervisor(t *testing.T) {
	p := need(t)
	p.define(t, published(t, "sigs.k8s.io/cluster-api@v1.9.5", "h1:68164Q201Y5ANVkhyrOZenoMbfL2SEBjVYZs/ihhSro=", "config/crd/bases/cluster.x-k8s.io_clusters.yaml"), "clusters.cluster.x-k8s.io")
	p.define(t, published(t, "github.com/vmware-tanzu/vm-operator@v1.9.0", "h1:zpquVm+bPmFEttqibZXqBR9h00wXE6g0Kj1S/AUc4oQ=", "config/crd/bases/vmoperator.vmware.com_virtualmachineclasses.yaml"), "virtualmachineclasses.vmoperator.vmware.com")
	for name, change := range map[string][]string{
		"VCF 9.0":   nil,
		"VCF 5.2":   {"product: vcf-9.0", "product: vcf-5.2"},
		"old class": {"  vks: ", "  vks:\n    cluster_class: tanzukubernetescluster\n  #"},
		"of parts":  {"vm: {cpus: 96", "service_vm: {addresses: 10.0.0.21/24, gateway: 10.0.0.1}\n  vm: {gpus: 4, cpus: 96", `hosts: "esx[1-4]"`, `hosts: "esx[1-2]"`, "ibs[65,67,69,71,73,75,77,79]", "ibs[65,67,69,71]"},
	} {
		t.Run(name, func(t *testing.T) {
			made := vsphereOf(t, change...)
			v := *made.VSphere
			namespace := p.namespace(t)
			v.Kube.Namespace = namespace
			artifacts := append(vsphere.ClassObjects(v), vsphere.Cluster(made.Name, v))
			if len(artifacts) < 2 {
				t.Fatal(artifacts)
			}
			for _, a := range artifacts {
				if out, err := p.kubectl(t.Context(), string(a.Content), "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err != nil {
					t.Errorf("%s: %v\n%s\n%s", a.Path, err, out, a.Content)
				}
			}
			last := artifacts[len(artifacts)-1]
			p.refuses(t, last, "replicas: ", "replicaz: ", `unknown field`)
			p.refuses(t, last, "machineDeployments:", "machineDeployment:", `unknown field`)
			p.refuses(t, last, "cidrBlocks:", "cidrBlock:", `unknown field`)
			p.refuses(t, last, "class: "+v.Kube.ClusterClass, "class: 3", "class")
			p.refuses(t, artifacts[0], "deviceID: ", "deviceId: ", "unknown field")
			p.refuses(t, artifacts[0], "customLabel: GPU0", "customLabel: 7", "customLabel")
			p.refuses(t, artifacts[0], "memory: ", "memory: x", "memory")
		})
	}
}

// refuses changes a text of an artifact, which the server then does not take.
func (p *plane) refuses(t *testing.T, a fabric.Artifact, old, wrong, why string) {
	t.Helper()
	text := string(a.Content)
	at := strings.LastIndex(text, old)
	if at < 0 {
		t.Fatalf("%s has no %q:\n%s", a.Path, old, text)
	}
	text = text[:at] + wrong + text[at+len(old):]
	if out, err := p.kubectl(t.Context(), text, "apply", "--dry-run=server", "--validate=strict", "-f", "-"); err == nil || !strings.Contains(out+err.Error(), why) {
		t.Errorf("%s with %q: taken: %s %v", a.Path, wrong, out, err)
	}
}
