package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// podsOf plans a cluster of machines whose pods Kubernetes runs.
func podsOf(t *testing.T, machine, section string) (*fabric.Plan, error) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	head := "platform: baremetal\nlauncher: kubernetes\n"
	rest := "fabric: {kind: roce}\n"
	switch {
	case strings.HasPrefix(machine, "a4"):
		head = "platform: gke\n"
	case strings.HasPrefix(machine, "azure"), machine == "hgx-h100":
		rest = "fabric: {kind: infiniband}\n"
	}
	nics := ""
	if m := cat.Machines[machine]; m.NICNames == "" {
		nics = fmt.Sprintf(", nics: \"eth[1-%d]\"", int(m.NICs.Value))
	}
	text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\n" + head +
		"nodes:\n- {names: \"n[1-2]\", machine: " + machine + nics + "}\n" + rest + section
	c, err := intent.Parse("c", []byte(text), cat)
	if err != nil {
		return nil, err
	}
	hosts, err := nodes(c.Nodes)
	if err != nil {
		return nil, err
	}
	p := &fabric.Plan{Transport: c.Fabric.Kind, Nodes: hosts}
	return p, claims(p, c, cat)
}

func TestClaims(t *testing.T) {
	four := "kubernetes: {pod: {gpus: 4}}\n"
	dra := "kubernetes: {gpu_driver: gpu.nvidia.com, pod: {gpus: 4}}\n"
	for _, c := range []struct {
		machine, section string
		want             fabric.Claims // what is compared: Blocks by their NICs, notes by a part of the first
		blocks           [][]string
		note             string
	}{
		{"a4-highgpu-8g", "", fabric.Claims{API: "v1", Pods: 2, PodsPerNode: 1, GPUs: 8, NICs: 8, Align: fabric.Unaligned, All: true}, nil, "every GPU of its machine"},
		{"a4-highgpu-8g", four, fabric.Claims{API: "v1", Pods: 4, PodsPerNode: 2, GPUs: 4, NICs: 4, Align: fabric.ByName},
			[][]string{{"gpu0rdma0", "gpu1rdma0", "gpu2rdma0", "gpu3rdma0"}, {"gpu4rdma0", "gpu5rdma0", "gpu6rdma0", "gpu7rdma0"}}, "the device plugin chooses"},
		{"a4-highgpu-8g", dra, fabric.Claims{API: "v1", Pods: 4, PodsPerNode: 2, GPUs: 4, NICs: 4, Align: fabric.ByPCIeRoot, GPUDriver: "gpu.nvidia.com"}, nil, ""},
		{"a4-highgpu-8g", "kubernetes: {version: \"1.33\", gpu_driver: gpu.nvidia.com}\n", fabric.Claims{API: "v1beta2", Pods: 2, PodsPerNode: 1, GPUs: 8, NICs: 8, Align: fabric.ByPCIeRoot, GPUDriver: "gpu.nvidia.com"}, nil, ""},
		{"a4-highgpu-8g", "kubernetes: {version: \"1.32\", pod: {gpus: 8, align: none, nics: 4}}\n", fabric.Claims{API: "v1beta1", Pods: 2, PodsPerNode: 1, GPUs: 8, NICs: 4, Align: fabric.Unaligned}, nil, "every GPU of its machine"},
		{"xe9680-mi300x-thor2", four, fabric.Claims{API: "v1", Pods: 4, PodsPerNode: 2, GPUs: 4, NICs: 4, Align: fabric.ByPCIeRoot, GPUDriver: "gpu.amd.com"}, nil, ""},
		{"xe9680-mi300x-thor2", "kubernetes: {pod: {gpus: 2, align: numa}}\n", fabric.Claims{API: "v1", Pods: 8, PodsPerNode: 4, GPUs: 2, NICs: 2, Align: fabric.ByNUMA, GPUDriver: "gpu.amd.com"}, nil, "is assumed (NUMA nodes: unspecified, assumed 2)"},
	} {
		t.Run(c.machine+" "+strings.TrimSpace(c.section), func(t *testing.T) {
			p, err := podsOf(t, c.machine, c.section)
			if err != nil {
				t.Fatal(err)
			}
			have := *p.Claims
			var blocks [][]string
			for _, b := range have.Blocks {
				if b.NUMA == nil {
					blocks = append(blocks, b.NICs)
				} else if len(b.GPUs) != 4 || len(b.NICs) != 4 {
					t.Errorf("NUMA node %d: %d GPUs, %d NICs", *b.NUMA, len(b.GPUs), len(b.NICs))
				}
			}
			if diff := cmp.Diff(c.blocks, blocks); diff != "" {
				t.Error(diff)
			}
			if notes := strings.Join(have.Notes, "\n"); !strings.Contains(notes, c.note) || c.note == "" && notes != "" {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			if bare := c.machine[0] != 'a'; bare != (len(have.FabricNICs) > 0) {
				t.Errorf("NICs of the fabric %v: bare metal may have others, a cloud's machine has not", have.FabricNICs)
			}
			have.Blocks, have.Notes, have.Kubernetes, have.Namespace, have.NICDriver, have.GPUResource, have.FabricNICs = nil, nil, "", "", "", "", nil
			if diff := cmp.Diff(c.want, have); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// What cannot be is refused, at its place in the file where the file alone shows it, and says what can be.
func TestClaimsRefused(t *testing.T) {
	for _, c := range []struct{ machine, section, want string }{
		{"a4-highgpu-8g", "kubernetes: {pod: {gpus: 16}}\n", "kubernetes.pod.gpus: 16 GPUs: machine a4-highgpu-8g has 8"},
		{"a4-highgpu-8g", "kubernetes: {pod: {gpus: 3}}\n", "2 would be in no pod: use 1, 2, 4 or 8"},
		{"a4-highgpu-8g", "kubernetes: {pod: {gpus: 2, nics: 4}}\n", "kubernetes.pod.nics: 4 pods of 4 NICs each need 16 NICs: machine a4-highgpu-8g has 8 of the fabric"},
		{"a4-highgpu-8g", "kubernetes: {pod: {gpus: 4, align: pcie-root}}\n", "use align: name, or a DRA driver for the GPUs (gpu.nvidia.com)"},
		{"a4-highgpu-8g", "kubernetes: {pod: {align: pcie-root}}\n", "a pod has the whole machine"},
		{"a4-highgpu-8g", "kubernetes: {gpu_driver: gpu.amd.com}\n", "does not publish the GPUs of machine a4-highgpu-8g: use gpu.nvidia.com"},
		{"a4-highgpu-8g", "kubernetes: {version: \"1.31\"}\n", "kubernetes.version: 1.31 has no resource.k8s.io"},
		{"a4-highgpu-8g", "kubernetes: {gpu_driver: gpu.nvidia.com, pod: {gpus: 4, align: numa}}\n", "publishes no NUMA node of a GPU (releases up to 25.12); what can: pcie-root, none"},
		{"a4-highgpu-8g", "kubernetes: {gpu_driver: gpu.nvidia.com, pod: {gpus: 4, align: name}}\n", "name cannot be: no source has the PCI addresses"},
		{"xe9680-mi300x-thor2", "kubernetes: {pod: {gpus: 8, align: name}}\n", "there is nothing to choose"},
		{"azure-nd-h100-v5", "kubernetes: {pod: {gpus: 4, align: pcie-root}}\n", "shows no PCIe root of its NICs, so dra.net publishes none"},
	} {
		t.Run(c.machine+" "+strings.TrimSpace(c.section), func(t *testing.T) {
			if _, err := podsOf(t, c.machine, c.section); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v\nwant %s", err, c.want)
			}
		})
	}
}

// Two kinds of machines whose pods would differ are refused; where nothing is known of GPUs no pods are planned.
func TestClaimsOfGroups(t *testing.T) {
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ nodes, want string }{
		{"- {names: a1, machine: a4-highgpu-8g}\n- {names: a2, machine: a3-ultragpu-8g}\n", ""},
		{"- {names: a1, machine: a4-highgpu-8g}\n- {names: a2, machine: a4-highgpu-8g, nics: \"gpu[0-3]rdma0\"}\n", "nodes[1].machine: its pods would differ from those of nodes[0] in NICs"},
		{"- {names: a1, machine: a4-highgpu-8g}\n- {names: a2, machine: xe9680-mi300x-thor2, nics: \"gpu[0-7]rdma0\"}\n", "the vendor of their GPUs"},
		{"- {names: a1, nics: eth1}\n", "no pods are planned: nodes[0] names no machine of the catalog with GPUs"},
	} {
		cluster, err := intent.Parse("c", []byte("apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nplatform: gke\nnodes:\n"+c.nodes+"fabric: {kind: roce}\n"), cat)
		if err != nil {
			t.Fatal(err)
		}
		hosts, err := nodes(cluster.Nodes)
		if err != nil {
			t.Fatal(err)
		}
		p := &fabric.Plan{Transport: fabric.RoCE, Nodes: hosts}
		have := ""
		if err := claims(p, cluster, cat); err != nil {
			have = err.Error()
		} else if p.Claims == nil {
			have = strings.Join(p.Notes, "\n")
		}
		if !strings.Contains(have, c.want) || c.want == "" && (have != "" || p.Claims.Pods != 2) {
			t.Errorf("%s%q, want %q", c.nodes, have, c.want)
		}
	}
}

// Guests that do not show what pairs a NIC with a GPU: by name, at addresses that are the same on every machine.
func TestClaimsByAddress(t *testing.T) {
	for machine, want := range map[string]string{
		"azure-nd-h100-v5":  "[0001:00:00.0 0002:00:00.0 0003:00:00.0 0008:00:00.0] [0101:00:00.0 0102:00:00.0 0103:00:00.0 0104:00:00.0]",
		"azure-nd-gb300-v6": "[0008:06:00.0 0009:06:00.0] [0101:00:00.0 0102:00:00.0]",
		"oci-gb200-v3-4":    "[0008:06:00.0 0009:06:00.0] [0000:03:00.0 0000:03:00.1 0002:03:00.0 0002:03:00.1]",
	} {
		gpus := map[string]string{"azure-nd-h100-v5": "4"}[machine]
		if gpus == "" {
			gpus = "2"
		}
		p, err := podsOf(t, machine, "kubernetes: {pod: {gpus: "+gpus+"}}\n")
		if err != nil {
			t.Fatal(err)
		}
		if have := fmt.Sprint(p.Claims.Blocks[0].GPUBuses, " ", p.Claims.Blocks[0].NICBuses); p.Claims.Align != fabric.ByName || have != want {
			t.Errorf("%s: %s %s\nwant name %s", machine, p.Claims.Align, have, want)
		}
	}
}
