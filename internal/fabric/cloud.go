package fabric

import "net/netip"

// Cloud is the part of a plan with what a cloud is asked for before its machines exist.
type Cloud struct {
	Provider  string       `json:"provider"` // gke
	Project   string       `json:"project"`
	Region    string       `json:"region"`
	Zone      string       `json:"zone"`     // of the machines
	Location  string       `json:"location"` // of the API server: the zone, or for many machines the region
	Cluster   string       `json:"cluster"`
	Version   string       `json:"version"`               // of Kubernetes: 1.34
	Network   string       `json:"network"`               // that the cluster itself is in; it exists
	Subnet    string       `json:"subnet,omitempty"`      // of that network; empty: the cloud picks it
	Pods      netip.Prefix `json:"pods,omitzero"`         // addresses of pods; invalid: the cloud picks them
	Services  netip.Prefix `json:"services,omitzero"`     // addresses of services; as Pods
	DRA       string       `json:"dra"`                   // version of resource.k8s.io that claims are written in
	AskDRA    bool         `json:"ask_dra,omitempty"`     // the API server serves that version only where it is asked to
	GPUsByDRA bool         `json:"gpus_by_dra,omitempty"` // a DRA driver gives out the GPUs, not the cloud's device plugin

	Reservation string           `json:"reservation,omitempty"` // from which the machines come; empty: from none
	Spot        bool             `json:"spot,omitempty"`        // machines that the cloud may take back at any time
	Networks    []CloudNetwork   `json:"networks"`              // in the order of the interfaces of a machine
	Pools       []NodePool       `json:"pools"`
	Installers  []CloudInstaller `json:"installers"` // in the order in which they are installed
	TestImage   string           `json:"test_image"` // with the tests of NCCL
}

// PlaceholderProject stands in the example until its owner writes the id of a project. With it no script does anything.
const PlaceholderProject = "your-project-id"

// Owner is what everything that is made for this plan carries, so that nothing else is ever taken for it.
func (c Cloud) Owner() string { return "railwright: " + c.Zone + "/" + c.Cluster }

// Nodes is how many machines the pools have together.
func (c Cloud) Nodes() (n int) {
	for _, p := range c.Pools {
		n += p.Nodes
	}
	return n
}

// CloudNetwork is a network besides that of the cluster.
type CloudNetwork struct {
	Name     string        `json:"name"`
	Profile  string        `json:"profile,omitempty"`  // network profile: us-west8-c-vpc-roce for RDMA
	MTU      int           `json:"mtu"`                // bytes
	Subnets  []CloudSubnet `json:"subnets"`            // an interface of each machine is in each of them
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

// CloudInstaller is software of others that is installed on every machine, at one version.
type CloudInstaller struct {
	Name      string        `json:"name"`
	DaemonSet string        `json:"daemonset"`        // of namespace kube-system, that its manifest makes
	URL       string        `json:"url"`              // of its manifest, at a commit or a release
	Images    []PinnedImage `json:"images,omitempty"` // that its manifest names by a tag that moves
	Source    string        `json:"source"`
}

// PinnedImage is an image at one digest.
type PinnedImage struct {
	Name   string `json:"name"`   // without a tag
	Digest string `json:"digest"` // sha256:...
}

// Targets that are not machines: objects for the API server of Kubernetes, what vCenter has, and scripts for the machine of
// the person who has the cloud's command line.
const (
	OnKubernetes  = "kubernetes"
	OnVCenter     = "vcenter"
	OnWorkstation = "workstation"
)
