package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// operated plans a cluster of Kubernetes from its parts.
func operated(t *testing.T, platform, nodes, kind, section string) (*fabric.Plan, error) {
	t.Helper()
	cat, err := catalog.Load()
	if err != nil {
		t.Fatal(err)
	}
	leaf := map[string]string{"roce": "{model: z9664f, os: sonic}", "infiniband": "{model: qm9700}"}[kind]
	text := "apiVersion: railwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: c}\nplatform: " + platform + "\nlauncher: kubernetes\nnodes:\n" + nodes +
		"fabric: {kind: " + kind + ", leaf: " + leaf + "}\n" + section
	c, err := intent.Parse("c", []byte(text), cat)
	if err != nil {
		return nil, err
	}
	return New(c, cat)
}

const (
	oneHGX  = "- {names: \"gpu[1-2]\", machine: hgx-h100, nics: \"ibs[0-7]\"}\n"
	oneThor = "- {names: \"host[1-2]\", machine: xe9680-mi300x-thor2}\n"
)

// valuesOf is the values of a release, a line each.
func valuesOf(o *fabric.Operators, name string) string {
	var all []string
	for _, r := range o.Releases {
		for _, v := range r.Values {
			if r.Name == name {
				all = append(all, fmt.Sprintf("%s=%v", v.Key, v.Value))
			}
		}
	}
	return strings.Join(all, " ")
}

func TestOperators(t *testing.T) {
	shared, host := "kubernetes: {nic_driver: shared-device-plugin}\n", "kubernetes: {drivers: {gpu: host, nic: host}}\n"
	serving := "serving: {model: deepseek-r1, engine: sglang}\n"
	for _, c := range []struct {
		name, platform, nodes, kind, section string
		releases                             string            // in their order
		values                               map[string]string // by release
		policy                               string            // what the Network Operator does
		plugin                               bool              // of our own
		labels                               int
	}{
		{"claims on InfiniBand", "baremetal", oneHGX, "infiniband", "", "network-operator gpu-operator nvidia-dra-driver-gpu dranet",
			map[string]string{
				"network-operator":      "nfd.enabled=true nfd.deployNodeFeatureRules=true",
				"gpu-operator":          "nfd.enabled=false driver.enabled=true driver.rdma.enabled=true driver.manager.env=[map[name:NODE_LABEL_FOR_GPU_POD_EVICTION value:nvidia.com/dra-kubelet-plugin]] devicePlugin.enabled=false",
				"nvidia-dra-driver-gpu": "nvidiaDriverRoot=/run/nvidia/driver resources.gpus.enabled=true gpuResourcesEnabledOverride=true resources.computeDomains.enabled=false kubeletPlugin.nodeSelector=map[nvidia.com/dra-kubelet-plugin:true]",
			}, "driver", false, 1},
		{"claims of an earlier Kubernetes", "baremetal", oneHGX, "infiniband", "kubernetes: {version: \"1.33\", drivers: {gpu: host, nic: host}}\n", "gpu-operator nvidia-dra-driver-gpu", nil, "", false, 1},
		{"drivers of the host", "baremetal", oneHGX, "infiniband", host, "gpu-operator nvidia-dra-driver-gpu dranet",
			map[string]string{"gpu-operator": "nfd.enabled=true driver.enabled=false devicePlugin.enabled=false",
				"nvidia-dra-driver-gpu": "nvidiaDriverRoot=/ resources.gpus.enabled=true gpuResourcesEnabledOverride=true resources.computeDomains.enabled=false kubeletPlugin.nodeSelector=map[nvidia.com/dra-kubelet-plugin:true]"}, "", false, 1},
		{"RoCE keeps the NICs of the host", "baremetal", oneHGX, "roce", "", "gpu-operator nvidia-dra-driver-gpu dranet",
			map[string]string{"gpu-operator": "nfd.enabled=true driver.enabled=true driver.rdma.enabled=false driver.rdma.useHostMofed=true driver.manager.env=[map[name:NODE_LABEL_FOR_GPU_POD_EVICTION value:nvidia.com/dra-kubelet-plugin]] devicePlugin.enabled=false"}, "", false, 1},
		{"shared NICs in virtual machines", "vsphere", oneHGX, "infiniband", shared + serving, "network-operator gpu-operator lws",
			map[string]string{"gpu-operator": "nfd.enabled=false driver.enabled=true driver.rdma.enabled=true devicePlugin.enabled=true", "lws": ""}, "driver plugin", false, 0},
		{"shared NICs with drivers of the host", "vsphere", oneHGX, "infiniband", "kubernetes: {nic_driver: shared-device-plugin, drivers: {nic: host}}\n", "network-operator gpu-operator",
			map[string]string{"gpu-operator": "nfd.enabled=false driver.enabled=true driver.rdma.enabled=false driver.rdma.useHostMofed=true devicePlugin.enabled=true"}, "plugin", false, 0},
		{"AMD with claims", "baremetal", oneThor, "roce", "", "cert-manager amd-gpu-operator dranet",
			map[string]string{"amd-gpu-operator": "node-feature-discovery.enabled=true kmm.enabled=false crds.defaultCR.upgrade=true deviceConfig.spec.driver.enable=false deviceConfig.spec.devicePlugin.enableDevicePlugin=false deviceConfig.spec.draDriver.enable=true deviceConfig.spec.draDriver.image=docker.io/rocm/k8s-gpu-dra-driver:v1.0.0"}, "", false, 0},
		{"AMD with shared NICs of Broadcom", "baremetal", oneThor, "roce", shared, "cert-manager amd-gpu-operator",
			map[string]string{"amd-gpu-operator": "node-feature-discovery.enabled=true kmm.enabled=false crds.defaultCR.upgrade=true deviceConfig.spec.driver.enable=false deviceConfig.spec.devicePlugin.enableDevicePlugin=true deviceConfig.spec.draDriver.enable=false"}, "", true, 0},
		{"NVIDIA's operator on one kind of two", "baremetal", oneHGX + "- {names: \"other[1-2]\", machine: hgx-h200, nics: \"ibs[0-7]\"}\n", "infiniband", shared, "network-operator gpu-operator", nil, "driver plugin", false, 0},
		{"Kueue behind the kinds that it admits", "baremetal", oneHGX, "infiniband", "kubernetes: {queue: {with: kueue, name: q}}\n" + serving, "network-operator gpu-operator nvidia-dra-driver-gpu dranet lws kueue", map[string]string{"lws": ""}, "driver", false, 1},
		{"Volcano before what makes its groups", "baremetal", oneHGX, "infiniband", "kubernetes: {queue: {with: volcano, name: q}}\n" + serving, "network-operator volcano gpu-operator nvidia-dra-driver-gpu dranet lws",
			map[string]string{"lws": "gangSchedulingManagement.schedulerProvider=volcano"}, "driver", false, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := operated(t, c.platform, c.nodes, c.kind, c.section)
			if err != nil {
				t.Fatal(err)
			}
			o := p.Operators
			var names, policy []string
			for _, r := range o.Releases {
				names = append(names, r.Name)
				if r.Version == "" || r.Source == "" || r.Why == "" || r.Namespace == "" || r.Chart == "" {
					t.Errorf("%+v", r)
				}
				for _, v := range r.Values {
					if v.Source == "" || v.Why == "" {
						t.Errorf("%s: %+v", r.Name, v)
					}
				}
			}
			if early := strings.Contains(c.section, "1.33"); early != (len(o.Relies) == 1) {
				t.Errorf("DraNet speaks v1 only: relies %+v", o.Relies)
			}
			if got := strings.Join(names, " "); got != c.releases {
				t.Errorf("releases %s, want %s", got, c.releases)
			}
			for name, want := range c.values {
				if got := valuesOf(o, name); got != want {
					t.Errorf("%s: %s\nwant %s", name, got, want)
				}
			}
			if o.NICPolicy != nil && o.NICPolicy.Driver != nil {
				policy = append(policy, "driver")
			}
			if o.NICPolicy != nil && o.NICPolicy.Plugin != nil {
				policy = append(policy, "plugin")
			}
			if got := strings.Join(policy, " "); got != c.policy || (o.Plugin != nil) != c.plugin || len(o.Labels) != c.labels {
				t.Errorf("policy %q, plugin %v, labels %v", got, o.Plugin, o.Labels)
			}
			features := 0
			for _, r := range o.Releases {
				for _, v := range r.Values {
					if (v.Key == "nfd.enabled" || v.Key == "node-feature-discovery.enabled") && v.Value == true {
						features++
					}
				}
			}
			if features != 1 {
				t.Errorf("%d releases bring Node Feature Discovery", features)
			}
		})
	}
}

// The namespaces of releases are there with their levels, that of the system is left alone, and none is named twice.
func TestOperatorNamespaces(t *testing.T) {
	p, err := operated(t, "baremetal", oneThor, "roce", "kubernetes: {namespace: gpu, nic_driver: shared-device-plugin}\n")
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, n := range p.Namespaces {
		all = append(all, n.Name+"="+n.Enforce+"/"+n.Warn)
		if n.Why == "" {
			t.Errorf("%+v", n)
		}
	}
	if got, want := strings.Join(all, " "), "gpu=privileged/baseline cert-manager=baseline/baseline kube-amd-gpu=privileged/privileged rdma-shared-device-plugin=privileged/privileged"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if p, err = operated(t, "baremetal", oneHGX, "infiniband", "kubernetes: {namespace: gpu-operator}\n"); err != nil {
		t.Fatal(err)
	}
	for i, n := range p.Namespaces {
		if n.Name == "kube-system" || slices.ContainsFunc(p.Namespaces[i+1:], func(o fabric.KubeNamespace) bool { return o.Name == n.Name }) {
			t.Errorf("%+v", p.Namespaces)
		}
	}
	if p, err = operated(t, "baremetal", oneHGX, "infiniband", "kubernetes: {namespace: kube-system}\n"); err != nil || slices.ContainsFunc(p.Namespaces, func(n fabric.KubeNamespace) bool { return n.Name == "kube-system" }) {
		t.Errorf("%v, %+v", err, p.Namespaces)
	}
}

// Operators that are present are not installed; the plan says what it relies on.
func TestOperatorsPresent(t *testing.T) {
	p, err := operated(t, "vsphere", oneHGX, "infiniband", "kubernetes: {operators: present, nic_driver: shared-device-plugin, queue: {with: kueue, name: q}}\nserving: {model: deepseek-r1}\n")
	if err != nil {
		t.Fatal(err)
	}
	o := p.Operators
	if len(o.Releases)+len(o.Labels) > 0 || o.NICPolicy != nil || o.Plugin != nil {
		t.Errorf("%+v", o)
	}
	var all []string
	for _, g := range o.Relies {
		all = append(all, g.From+": "+g.What)
	}
	want := []string{"NVIDIA Network Operator: the driver of the NICs on every machine: DOCA-OFED",
		"NVIDIA Network Operator: a resource on every machine for the NIC of each rail: rdma/rdma_shared_devices_a to rdma/rdma_shared_devices_h",
		"NVIDIA GPU Operator: the driver of the GPUs on every machine, and their container runtime", "NVIDIA GPU Operator: the resource nvidia.com/gpu on every machine",
		"LeaderWorkerSet controller: the kind LeaderWorkerSet", "Kueue: queue q in the namespace of the pods"}
	if !slices.Equal(all, want) {
		t.Errorf("%s", strings.Join(all, "\n"))
	}
	if len(p.Namespaces) != 1 || p.Namespaces[0].Name != "default" {
		t.Errorf("%+v", p.Namespaces)
	}
}

// What cannot be is refused where the cluster file says it.
func TestOperatorsRefused(t *testing.T) {
	for _, c := range []struct{ name, platform, nodes, kind, section, want string }{
		{"a driver of AMD", "baremetal", oneThor, "roce", "kubernetes: {drivers: {gpu: operator}}\n", "kubernetes.drivers.gpu"},
		{"a driver of Broadcom", "baremetal", oneThor, "roce", "kubernetes: {drivers: {nic: operator}}\n", "kubernetes.drivers.nic"},
		{"an unknown word", "baremetal", oneHGX, "infiniband", "kubernetes: {drivers: {nic: ofed}}\n", "drivers.nic"},
		{"two NICs of one name", "baremetal", "- {names: n1, machine: hgx-h100, nics: \"ibs1,ibs1\"}\n", "infiniband", "kubernetes: {nic_driver: shared-device-plugin}\n", "nodes[0].nics"},
		{"names that cross", "baremetal", "- {names: n1, machine: hgx-h100, nics: \"a,b\"}\n- {names: n2, machine: hgx-h100, nics: \"b,a\"}\n", "infiniband", "kubernetes: {nic_driver: shared-device-plugin}\n",
			`nodes[1].nics: "b" is of rail 0 here and of rail 1 elsewhere`},
		{"fewer NICs", "baremetal", oneHGX + "- {names: n2, machine: hgx-h100, nics: \"ibs0\"}\n", "infiniband", "kubernetes: {nic_driver: shared-device-plugin}\n", "nodes[1].nics"},
		{"a release of vSphere and another version", "vsphere", oneHGX, "infiniband", "kubernetes: {version: \"1.34\"}\nvsphere: {product: vcf-9.0, mode: passthrough, hosts: \"esx[1-2]\", vm: {cpus: 8, memory_gib: 64}, vks: {storage_class: s}}\n", "kubernetes.version"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := operated(t, c.platform, c.nodes, c.kind, c.section); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

// Interfaces that machines name differently are one resource, which takes either name.
func TestSharedNICsOfTwoKinds(t *testing.T) {
	p, err := operated(t, "baremetal", "- {names: n1, machine: hgx-h100, nics: \"ibs[0-7]\"}\n- {names: n2, machine: hgx-h200, nics: \"ibp[0-7]\"}\n", "infiniband", "kubernetes: {nic_driver: shared-device-plugin}\n")
	if err != nil {
		t.Fatal(err)
	}
	if n := p.Pods.NICs[3]; fmt.Sprintf("%v %s", n.Interfaces, n.LinkType) != "[ibs3 ibp3] infiniband" || n.Resource != "rdma_shared_devices_d" {
		t.Errorf("%+v", n)
	}
	if p, err = operated(t, "baremetal", oneThor, "roce", "kubernetes: {nic_driver: shared-device-plugin}\n"); err != nil || fmt.Sprintf("%v %s", p.Pods.NICs[7].Drivers, p.Pods.NICs[7].LinkType) != "[bnxt_en] ether" {
		t.Errorf("%v, %+v", err, p.Pods)
	}
}

// A cluster of any size has the same operators; only its nodes are more.
func TestOperatorsOfManyNodes(t *testing.T) {
	one, err := operated(t, "baremetal", "- {names: n1, machine: hgx-h100, nics: \"ibs[0-7]\"}\n", "infiniband", "")
	if err != nil {
		t.Fatal(err)
	}
	many, err := operated(t, "baremetal", "- {names: \"n[1-10000]\", machine: hgx-h100, nics: \"ibs[0-7]\"}\n", "infiniband", "")
	if err != nil {
		t.Skipf("the fabric of 10,000 machines: %v", err)
	}
	if fmt.Sprint(*one.Operators) == "" || valuesOf(one.Operators, "gpu-operator") != valuesOf(many.Operators, "gpu-operator") || len(one.Namespaces) != len(many.Namespaces) {
		t.Error("operators depend on how many machines there are")
	}
}
