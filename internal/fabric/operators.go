package fabric

// Operators is the part of a plan with what runs on a cluster of Kubernetes before a pod of the fabric can: the releases of Helm in the
// order of their installation, each ready before the next, and what gives the NICs to pods where no operator does.
type Operators struct {
	Kubernetes string         `json:"kubernetes"`         // minor version of the cluster: 1.34
	API        string         `json:"api,omitempty"`      // version of resource.k8s.io that claims are written in; empty: nothing is claimed
	Labels     []NodeLabel    `json:"labels,omitempty"`   // that every machine of the plan gets before anything is installed
	Features   string         `json:"features,omitempty"` // release that runs Node Feature Discovery; empty: none does
	Releases   []HelmRelease  `json:"releases,omitempty"` // none where they are present
	NICPolicy  *NICPolicy     `json:"nic_policy,omitempty"`
	Plugin     *NICPlugin     `json:"plugin,omitempty"` // the shared device plugin, where the Network Operator does not run it
	Relies     []OperatorGift `json:"relies,omitempty"` // what the plan needs of operators that it does not install
}

// NodeLabel is a label of a node, and what reads it.
type NodeLabel struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why"`
}

// HelmRelease is a chart of Helm at one version, with the values that a plan sets.
type HelmRelease struct {
	Name       string      `json:"name"`                 // of the release
	Title      string      `json:"title"`                // of what it installs
	Chart      string      `json:"chart"`                // its name in Repository, or its whole reference: oci://...
	Repository string      `json:"repository,omitempty"` // URL; empty where the reference says all
	Version    string      `json:"version"`
	Namespace  string      `json:"namespace"`
	Why        string      `json:"why"`
	Values     []HelmValue `json:"values,omitempty"`
	Objects    []string    `json:"objects,omitempty"` // rendered files that are applied once it runs
	Ready      []Readiness `json:"ready,omitempty"`   // beside its own deployments: before the next release is begun
	Source     string      `json:"source"`            // of chart, version and namespace

	UpgradesFrom string `json:"upgrades_from,omitempty"` // the oldest installed version that an upgrade leaves intact
	UpgradeLoses string `json:"upgrade_loses,omitempty"` // what an upgrade from an older one does
}

// HelmValue is a value of a chart.
type HelmValue struct {
	Key    string `json:"key"` // path from the top: driver.rdma.enabled
	Value  any    `json:"value"`
	Why    string `json:"why"`
	Source string `json:"source"` // where the meaning of the key was read
}

// Readiness is a state of the cluster that an installation waits for: one of the three is set.
type Readiness struct {
	What     string `json:"what"`               // in words
	Object   string `json:"object,omitempty"`   // without a namespace, whose status.state becomes ready: clusterpolicies.nvidia.com/cluster-policy
	Resource string `json:"resource,omitempty"` // extended resource of which every machine of the plan has Least
	Least    int    `json:"least,omitempty"`
	Slices   string `json:"slices,omitempty"` // driver that publishes devices of every machine of the plan
	Minutes  int    `json:"minutes"`          // after which it is given up
}

// OperatorGift is what an operator gives to the cluster.
type OperatorGift struct {
	From string `json:"from"` // title of the operator
	What string `json:"what"`
}

// NICPolicy is what NVIDIA's Network Operator does on the machines.
type NICPolicy struct {
	Driver *ImageTag `json:"driver,omitempty"` // DOCA-OFED as a container; nil: the machines have a driver
	Plugin *ImageTag `json:"plugin,omitempty"` // the RDMA shared device plugin; nil: NICs are given out by another one
}

// NICPlugin is the RDMA shared device plugin as a DaemonSet of its own.
type NICPlugin struct {
	Namespace string      `json:"namespace"`
	Image     ImageTag    `json:"image"`
	Why       string      `json:"why"` // not by an operator
	Ready     []Readiness `json:"ready"`
}

// ImageTag is an image of containers at a tag that does not move.
type ImageTag struct {
	Repository string `json:"repository"`
	Name       string `json:"name"`
	Tag        string `json:"tag"`
	Source     string `json:"source"`
}

// String is the reference of the image.
func (i ImageTag) String() string { return i.Repository + "/" + i.Name + ":" + i.Tag }

// SharesPerNIC is how many pods may have a NIC that the shared device plugin gives out, its rdmaHcaMax: 63, as in "Deploy Distributed LLM
// Inference with GPUDirect RDMA over InfiniBand in VMware Private AI", E.6, and in NVIDIA's NicClusterPolicy Custom Resource Example. It
// divides nothing: each of them reaches the whole port. It only has to be higher than the pods of the fabric that are on a machine at once:
// one that serves, and those of tests and of a rollout beside it.
const SharesPerNIC = 63

// Files of objects that are applied while operators are installed, below the folder of a render's objects.
const (
	NICPolicyFile = "10-nic-cluster-policy.yaml"
	NICPluginFile = "11-rdma-shared-device-plugin.yaml"
)
