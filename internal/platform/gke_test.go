package platform

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render"
)

// gkePlan is a plan of platform gke with two machines.
func gkePlan() *fabric.Plan {
	return &fabric.Plan{
		Name: "demo", Platform: "gke", Launcher: "kubernetes", Transport: fabric.RoCE, MTU: 8896,
		Nodes:      []fabric.Node{{Name: "n1", NICs: []string{"gpu0rdma0"}}, {Name: "n2", NICs: []string{"gpu0rdma0"}}},
		Addressing: fabric.Addressing{Scheme: fabric.None},
		Claims:     &fabric.Claims{Kubernetes: "1.34", API: "v1", Namespace: "default", Pods: 2, PodsPerNode: 1, GPUs: 8, NICs: 8, Align: fabric.Unaligned, GPUResource: "nvidia.com/gpu", NICDriver: "dra.net"},
		Cloud: &fabric.Cloud{Provider: "gke", Project: "p", Zone: "z", Location: "z", Cluster: "demo", DRA: "v1",
			Networks: []fabric.CloudNetwork{{Name: "net", Subnets: []fabric.CloudSubnet{{Name: "sub", Range: netip.MustParsePrefix("192.168.0.0/24")}}}}},
	}
}

// Objects go to the API server in the order of their names, scripts to a person, and no machine gets a file.
func TestGKEArtifacts(t *testing.T) {
	var have []string
	for a := range artifacts(t, gkePlan()) {
		have = append(have, a.Target+a.Path)
	}
	want := []string{"kubernetes/10-device-classes.yaml", "kubernetes/20-claims.yaml", "kubernetes/30-nccl-test.yaml",
		"workstation/gke-up.sh", "workstation/gke-down.sh", "workstation/run-nccl-tests.sh"}
	if !slices.Equal(have, want) {
		t.Errorf("have %v, want %v", have, want)
	}
	if missing := Missing(gkePlan()); len(missing) != 0 {
		t.Errorf("missing %v", missing)
	}
	if _, err := render.NewIndex(artifacts(t, gkePlan())); err != nil {
		t.Error(err)
	}
	for range artifacts(t, gkePlan()) {
		break // a reader may stop
	}
}

// What a plan lacks is said for each file that needs it, and nothing is rendered from it.
func TestGKEMissing(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*fabric.Plan)
		missing []string
		files   int
	}{
		{"a cluster that exists", func(p *fabric.Plan) { p.Cloud = nil }, []string{"nccl-test", "gke-up", "gke-down", "run-nccl-tests"}, 2},
		{"no claims", func(p *fabric.Plan) { p.Claims = nil }, []string{"device-classes", "claims", "nccl-test", "run-nccl-tests"}, 2},
		{"neither", func(p *fabric.Plan) { p.Claims, p.Cloud = nil, nil }, []string{"device-classes", "claims", "nccl-test", "gke-up", "gke-down", "run-nccl-tests"}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := gkePlan()
			c.change(p)
			files := 0
			for range artifacts(t, p) {
				files++
			}
			var have []string
			for _, m := range Missing(p) {
				if m.What != "cluster demo" || m.Reason == "" || strings.Contains(m.Reason, "\n") {
					t.Errorf("%+v", m)
				}
				have = append(have, m.Source)
			}
			if !slices.Equal(have, c.missing) || files != c.files {
				t.Errorf("%d files, missing %v", files, have)
			}
		})
	}
}

// A bare-metal cluster has claims where Kubernetes starts its processes, and does not miss them elsewhere.
func TestClaimsOnBaremetal(t *testing.T) {
	p := plan(2, fabric.RoCE, fabric.P2P31)
	for _, m := range Missing(p) {
		if m.Source == "claims" {
			t.Errorf("%+v", m)
		}
	}
	p.Launcher, p.Claims = "kubernetes", gkePlan().Claims
	found := false
	for a := range artifacts(t, p) {
		found = found || a.Target == fabric.OnKubernetes && a.Path == "/20-claims.yaml"
	}
	if !found {
		t.Error("no claims")
	}
}
