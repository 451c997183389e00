package plan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// gkePlan plans so many machines of a type with these lines in the gke section and others after it.
func gkePlan(t *testing.T, nodes int, machine, gke, more string) (*fabric.Plan, error) {
	t.Helper()
	text := fmt.Sprintf("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nplatform: gke\nnodes:\n- {names: \"n[1-%d]\", machine: %s}\n"+
		"gke: {project: demo-project, zone: us-west8-c%s}\nfabric: {kind: roce}\n%s", nodes, machine, gke, more)
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse("c", []byte(text), cat)
	if err != nil {
		return nil, err
	}
	return New(c, cat)
}

// Every machine of every size has an address in each subnet, no two subnets have one in common, and pools keep to their limit.
func TestCloudSizes(t *testing.T) {
	for _, machine := range []string{"a4-highgpu-8g", "a3-ultragpu-8g"} {
		for _, nodes := range []int{1, 2, 252, 253, 1000, 1001, 2000, 2001, 4092, 4093, 10_000, 16_380, 65_000} {
			t.Run(fmt.Sprintf("%s/%d", machine, nodes), func(t *testing.T) {
				more := ""
				if nodes > 16_380 {
					more = ", pool: 172.16.0.0/12"
				}
				p, err := gkePlan(t, nodes, machine, more, "")
				if err != nil {
					t.Fatal(err)
				}
				c := p.Cloud
				if c.Nodes() != nodes || c.Pools[0].MachineType != machine {
					t.Errorf("pools %+v", c.Pools)
				}
				for _, pool := range c.Pools {
					if pool.Nodes > 1000 || pool.Nodes < 1 {
						t.Errorf("pool %+v", pool)
					}
				}
				if regional := c.Location == "us-west8"; regional != (nodes > 2000) {
					t.Errorf("API server in %s", c.Location)
				}
				var all []netip.Prefix
				for _, n := range c.Networks {
					for _, s := range n.Subnets {
						if 1<<(32-s.Range.Bits())-4 < nodes || s.Range.Bits() > 24 || s.Range != s.Range.Masked() {
							t.Errorf("%s is %s", s.Name, s.Range)
						}
						if slices.ContainsFunc(all, s.Range.Overlaps) {
							t.Errorf("%s overlaps another subnet", s.Range)
						}
						all = append(all, s.Range)
					}
				}
				if len(all) != 9 || len(c.Networks) != 2 || c.Networks[1].Profile != "us-west8-c-vpc-roce" || c.Networks[1].MTU != 8896 || c.Networks[0].Firewall == "" || c.Networks[1].Firewall != "" {
					t.Errorf("networks %+v", c.Networks)
				}
			})
		}
	}
}

// What a cluster needs a word for is said, and no word is said for nothing.
func TestCloudNotes(t *testing.T) {
	for _, c := range []struct {
		nodes     int
		gke, more string
		want      []string
	}{
		{2, "", "", nil},
		{1000, "", "", nil},
		{1001, "", "", []string{"1001 machines are in 2 node pools"}},
		{5001, "", "", []string{"are in 6 node pools", "the API server is regional (us-west8)", "raise the quota"}},
		{15001, "", "", []string{"are in 16 node pools", "the API server is regional", "raise the quota", "split this one"}},
		{2, "", "kubernetes: {version: \"1.33\"}\n", []string{"serves resource.k8s.io/v1beta2 as a beta only"}},
		{2, "", "kubernetes: {gpu_driver: gpu.nvidia.com}\n", []string{"without Google's GPU driver and device plugin"}},
	} {
		p, err := gkePlan(t, c.nodes, "a4-highgpu-8g", c.gke, c.more)
		if err != nil {
			t.Fatal(err)
		}
		notes := cloudNotes(p.Cloud)
		if len(notes) != len(c.want) {
			t.Errorf("%d nodes, %s: %q, want %q", c.nodes, c.more, notes, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(notes[i], want) {
				t.Errorf("%d nodes: %q, want %q", c.nodes, notes[i], want)
			}
		}
	}
}

// Nothing that is installed is at a branch, at a tag that moves, or without its source.
func TestInstallersArePinned(t *testing.T) {
	for _, api := range []string{"v1", "v1beta2", "v1beta1"} {
		all := installers(api)
		if has := slices.ContainsFunc(all, func(i fabric.CloudInstaller) bool { return i.DaemonSet == "dranet" }); has != (api == "v1") {
			t.Errorf("%s: DraNet is installed: %v", api, has)
		}
		for _, i := range all {
			if i.Source == "" || i.DaemonSet == "" || !strings.HasPrefix(i.URL, "https://") {
				t.Errorf("%+v", i)
			}
			for _, moves := range []string{"/main/", "/master/", "refs/heads", "latest", "stable"} {
				if strings.Contains(i.URL, moves) {
					t.Errorf("%s: %s moves", i.Name, i.URL)
				}
			}
			for _, image := range i.Images {
				if len(image.Digest) != len("sha256:")+64 || strings.ContainsAny(image.Name, ":@") {
					t.Errorf("%+v", image)
				}
			}
		}
	}
	if _, tag, _ := strings.Cut(testImage, ":"); tag == "" || tag == "latest" {
		t.Errorf("%s", testImage)
	}
}

// A cluster that exists is planned without anything to be made.
func TestCloudThatExists(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	c, err := intent.Parse("c", []byte("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: demo}\nplatform: gke\nnodes: [{names: n, machine: a4-highgpu-8g}]\nfabric: {kind: roce}\n"), cat)
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(c, cat)
	if err != nil || p.Cloud != nil || p.Claims == nil {
		t.Errorf("%v, %+v", err, p)
	}
}
