package operators

import (
	"encoding/json"
	"fmt"
	"strings"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/render/kubernetes"
)

// nicClusterPolicy is the part of NVIDIA's kind that a plan sets. Its CRD, mellanox.com_nicclusterpolicies, gives fields and bounds;
// Mellanox/network-operator, pkg/consts: the operator reads the one object with the name nic-cluster-policy and ignores all others.
type nicClusterPolicy struct {
	meta.TypeMeta `json:",inline"`
	Metadata      policyMeta `json:"metadata"`
	Spec          policySpec `json:"spec"`
}

// policyMeta is without a namespace: the kind belongs to the cluster.
type policyMeta struct {
	Name   string            `json:"name"`
	Labels map[string]string `json:"labels"`
}

type policySpec struct {
	OFEDDriver *ofedDriver   `json:"ofedDriver,omitempty"`
	Plugin     *policyPlugin `json:"rdmaSharedDevicePlugin,omitempty"`
}

type policyImage struct {
	Image      string `json:"image"`
	Repository string `json:"repository"`
	Version    string `json:"version"`
}

type ofedDriver struct {
	policyImage `json:",inline"`
	Upgrade     upgradePolicy `json:"upgradePolicy"`
	Startup     policyProbe   `json:"startupProbe"`
	Liveness    policyProbe   `json:"livenessProbe"`
	Readiness   policyProbe   `json:"readinessProbe"`
}

type upgradePolicy struct {
	Auto     bool        `json:"autoUpgrade"`
	Parallel int         `json:"maxParallelUpgrades"`
	Drain    policyDrain `json:"drain"`
}

type policyDrain struct {
	Enable         bool `json:"enable"`
	Force          bool `json:"force"`
	DeleteEmptyDir bool `json:"deleteEmptyDir"`
	TimeoutSeconds int  `json:"timeoutSeconds"`
}

type policyProbe struct {
	InitialDelaySeconds int `json:"initialDelaySeconds"`
	PeriodSeconds       int `json:"periodSeconds"`
}

type policyPlugin struct {
	policyImage `json:",inline"`
	Config      string `json:"config"`
}

// NICPolicy is what NVIDIA's Network Operator does on the machines: their driver, the shared device plugin, or both. The upgrade policy and
// the probes are those of "Deploy Distributed LLM Inference with GPUDirect RDMA over InfiniBand in VMware Private AI", E.6.
func NICPolicy(p fabric.NICPolicy, nics []fabric.SharedNIC) fabric.Artifact {
	policy := nicClusterPolicy{TypeMeta: meta.TypeMeta{APIVersion: "mellanox.com/v1alpha1", Kind: "NicClusterPolicy"},
		Metadata: policyMeta{Name: "nic-cluster-policy", Labels: kubernetes.ManagedBy()}}
	said := []string{"What NVIDIA's Network Operator does on the machines. It reads the object of this name and no other."}
	if d := p.Driver; d != nil {
		policy.Spec.OFEDDriver = &ofedDriver{policyImage: imageOf(*d),
			Upgrade: upgradePolicy{Auto: true, Parallel: 1, Drain: policyDrain{Enable: true, Force: true, DeleteEmptyDir: true, TimeoutSeconds: 300}},
			Startup: policyProbe{10, 20}, Liveness: policyProbe{30, 30}, Readiness: policyProbe{10, 30}}
		said = append(said, "The driver is DOCA-OFED. Another version here is put on one machine after the other; every pod leaves the machine before, also those of a served model.")
	}
	if i := p.Plugin; i != nil {
		policy.Spec.Plugin = &policyPlugin{policyImage: imageOf(*i), Config: pluginConfig(nics)}
		said = append(said, pluginComment())
	}
	return kubernetes.File("/"+fabric.NICPolicyFile, kubernetes.Object{Comment: strings.Join(said, "\n"), Body: policy})
}

func imageOf(i fabric.ImageTag) policyImage {
	return policyImage{Image: i.Name, Repository: i.Repository, Version: i.Tag}
}

// pluginComment says what the configuration of the plugin means.
func pluginComment() string {
	return fmt.Sprintf("A resource for the NIC of each rail; a pod asks for one of each. rdmaHcaMax is how many pods may have a NIC at a time, never how many NICs there are, and divides nothing: each of the %d reaches the whole port. "+
		"A selector with several entries takes any of them, and a device has to pass every selector.", fabric.SharesPerNIC)
}

// sharedResource is an entry of the file that the plugin reads, whose top is a list with the name configList
// (Mellanox/k8s-rdma-shared-dev-plugin, README.md, RDMA Shared Device Plugin Configurations). Its prefix stays the default, rdma.
type sharedResource struct {
	Name      string          `json:"resourceName"`
	Max       int             `json:"rdmaHcaMax"`
	Selectors sharedSelectors `json:"selectors"`
}

type sharedSelectors struct {
	Vendors    []string `json:"vendors"`
	Devices    []string `json:"deviceIDs"`
	Drivers    []string `json:"drivers"`
	Interfaces []string `json:"ifNames"`
	LinkTypes  []string `json:"linkTypes"`
}

// pluginConfig writes that file for the NICs of all rails, a line each.
func pluginConfig(nics []fabric.SharedNIC) string {
	var lines []string
	for _, n := range nics {
		s := sharedSelectors{Vendors: n.Vendors, Devices: n.Devices, Drivers: n.Drivers, Interfaces: n.Interfaces, LinkTypes: []string{}}
		if n.LinkType != "" {
			s.LinkTypes = []string{n.LinkType}
		}
		line, err := json.Marshal(sharedResource{Name: n.Resource, Max: fabric.SharesPerNIC, Selectors: s})
		if err != nil {
			panic(fmt.Sprintf("configuration of the shared device plugin: %v", err)) // plain structs of strings and numbers
		}
		lines = append(lines, "    "+string(line))
	}
	return "{\n  \"configList\": [\n" + strings.Join(lines, ",\n") + "\n  ]\n}\n"
}
