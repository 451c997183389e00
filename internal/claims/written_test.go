package claims_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/claims"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
	"railwright.dev/railwright/internal/plan"
	"railwright.dev/railwright/internal/render"
)

// class is one of a GPU driver, as its chart installs it.
func class(api, driver, whole string) string {
	return fmt.Sprintf("apiVersion: resource.k8s.io/%s\nkind: DeviceClass\nmetadata: {name: %s}\nspec:\n  selectors:\n  - cel: {expression: \"device.driver == '%s' && device.attributes['%s'].type == '%s'\"}\n",
		api, driver, driver, driver, whole)
}

// The claims that are written for a machine get on its nominal slices what they promise, in every version of the API.
func TestWrittenClaims(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, machine, nics, fabric, section string
		pods                                 int // in all
		aligned, pairs                       int // in all; pairs that the pods could have
		works                                bool
		numa                                 bool // every pod is on one NUMA node
	}{
		{"pairs", "a4-highgpu-8g", "", "roce", "gpu_driver: gpu.nvidia.com, pod: {gpus: 4}", 4, 16, 16, true, false},
		{"single pairs", "a4-highgpu-8g", "", "roce", "gpu_driver: gpu.nvidia.com, pod: {gpus: 1}", 16, 16, 16, true, false},
		{"whole", "xe9680-mi300x-thor2", "", "roce", "pod: {gpus: 8}", 2, 16, 16, true, false},
		{"numa", "xe9680-mi300x-thor2", "", "roce", "pod: {gpus: 4, align: numa}", 2, -1, 8, true, true},
		{"two GPUs a NIC", "p4d-24xlarge", "ens[1-4]", "roce", "pod: {gpus: 4}", 4, 8, 8, true, false},
		{"names", "azure-nd-gb300-v6", "ib[0-3]", "ib", "pod: {gpus: 2}", 2, -1, 4, true, false},
		{"names of two NICs a GPU", "oci-gb200-v3-4", "", "roce", "pod: {gpus: 2}", 2, 0, 4, true, false},
	} {
		for version, api := range map[string]string{"1.34": "v1", "1.33": "v1beta2", "1.32": "v1beta1"} {
			t.Run(c.name+"/"+api, func(t *testing.T) {
				p := planned(t, cat, c.machine, c.nics, c.fabric, "kubernetes: {version: \""+version+"\", "+c.section+"}\n")
				publishers := claims.Publishers{GPU: p.Claims.GPUDriver, NIC: p.Claims.NICDriver}
				publishers.Interfaces = p.Nodes[0].NICs
				if c.nics != "" { // as published: neither EFA devices nor Azure's virtual functions have an interface
					publishers.Interfaces = []string{}
				}
				nominal, err := claims.Nominal(cat, c.machine, []string{"n1", "n2"}, publishers)
				if err != nil {
					t.Fatal(err)
				}
				published, err := claims.SliceJSON(nominal, api)
				if err != nil {
					t.Fatal(err)
				}
				whole := map[string]string{fabric.DriverNVIDIA: "gpu", fabric.DriverAMD: "amdgpu"}[p.Claims.GPUDriver]
				o := claims.Read([]claims.File{
					{Name: "slices.json", Text: published}, {Name: "gpus.yaml", Text: []byte(class(api, p.Claims.GPUDriver, whole))},
					{Name: "classes.yaml", Text: render.DeviceClasses(*p.Claims).Content}, {Name: "claims.yaml", Text: render.ClaimTemplates(*p.Claims).Content},
				})
				if problems := o.Problems(); len(problems) > 0 || len(o.MissingClasses()) > 0 {
					t.Fatalf("problems %v, missing classes %v", problems, o.MissingClasses())
				}
				request := claims.Request{Kubernetes: version, Pods: c.pods}
				if len(p.Claims.Blocks) > 1 {
					request.Pods = 0 // one of each template
				}
				have, err := claims.Allocate(context.Background(), o, request)
				if err != nil {
					t.Fatal(err)
				}
				if len(have.Unsatisfied) > 0 || len(have.Claims) != c.pods || have.TotalPairs != c.pairs {
					t.Fatalf("%d claims, %d pairs, want %d and %d; unsatisfied: %+v", len(have.Claims), have.TotalPairs, c.pods, c.pairs, have.Unsatisfied)
				}
				if c.aligned >= 0 && (have.AlignedPairs != fabric.CountRange{Min: c.aligned, Max: c.aligned}) {
					t.Errorf("%+v pairs aligned, want %d", have.AlignedPairs, c.aligned)
				}
				if c.numa {
					oneNUMA(t, have)
				}
			})
		}
	}
}

func oneNUMA(t *testing.T, a *fabric.Allocation) {
	t.Helper()
	for _, claim := range a.Claims {
		for _, d := range claim.Devices {
			if d.NUMA == nil || *d.NUMA != *claim.Devices[0].NUMA {
				t.Errorf("%s: %s is on another NUMA node than %s", claim.Pod, d.Device, claim.Devices[0].Device)
			}
		}
	}
}

func planned(t *testing.T, cat *catalog.Catalog, machine, nics, kind, section string) *fabric.Plan {
	t.Helper()
	leaf := map[string]string{"roce": "z9664f, os: sonic", "ib": "qm9700"}[kind]
	if nics != "" {
		nics = ", nics: \"" + nics + "\""
	}
	text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nplatform: baremetal\nlauncher: kubernetes\n" +
		"nodes:\n- {names: \"n[1-2]\", machine: " + machine + nics + "}\nfabric: {kind: " + kind + ", leaf: {model: " + leaf + "}}\n" + section
	c, err := intent.Parse("c", []byte(text), cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.New(c, cat)
	if err != nil {
		t.Fatal(err)
	}
	if p.Claims == nil {
		t.Fatalf("no pods planned: %s", strings.Join(p.Notes, "; "))
	}
	return p
}
