package fabric

import "net/netip"

// Cloud is the part of a plan with what a cloud is asked for before its machines exist.
type Cloud struct {
	Provider string         `json:"provider"` // gke
	Project  string         `json:"project"`
	Region   string         `json:"region"`
	Zone     string         `json:"zone"`
	Cluster  string         `json:"cluster"`
	Version  string         `json:"version"` // of Kubernetes
	Networks []CloudNetwork `json:"networks"`
	Pools    []NodePool     `json:"pools"`
}

// CloudNetwork is a network besides that of the cluster.
type CloudNetwork struct {
	Name     string        `json:"name"`
	Profile  string        `json:"profile,omitempty"` // network profile: us-west8-c-vpc-roce for RDMA
	Subnets  []CloudSubnet `json:"subnets"`
	Firewall string        `json:"firewall,omitempty"` // name of the rule that admits traffic between its subnets; empty: none
}

// CloudSubnet is an address range of a network.
type CloudSubnet struct {
	Name  string       `json:"name"`
	Range netip.Prefix `json:"range"`
}

// NodePool is machines of one kind that a cloud makes.
type NodePool struct {
	Name        string `json:"name"`
	MachineType string `json:"machine_type"`
	Accelerator string `json:"accelerator"` // as the cloud names the GPU: nvidia-b200
	GPUs        int    `json:"gpus"`        // per machine
	Nodes       int    `json:"nodes"`
}

// Targets of artifacts that are not machines: objects for the API server of Kubernetes, and scripts for the machine of
// the person who has the cloud's command line.
const (
	OnKubernetes  = "kubernetes"
	OnWorkstation = "workstation"
)
