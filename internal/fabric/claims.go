package fabric

// Claims is the part of a plan with the pods of the cluster: which GPUs and NICs each asks Kubernetes for, and what
// keeps them together.
type Claims struct {
	Kubernetes  string        `json:"kubernetes"`            // minor version of the cluster: 1.34
	API         string        `json:"api"`                   // version of resource.k8s.io in which the objects are written: v1, v1beta2, v1beta1
	Namespace   string        `json:"namespace"`             // of the pods and their claims
	Pods        int           `json:"pods"`                  // in the cluster
	PodsPerNode int           `json:"pods_per_node"`         // that its GPUs and NICs suffice for
	GPUs        int           `json:"gpus"`                  // per pod
	NICs        int           `json:"nics"`                  // per pod
	Align       Alignment     `json:"align"`                 // of the GPUs and NICs of a pod
	GPUDriver   string        `json:"gpu_driver,omitempty"`  // DRA driver: gpu.nvidia.com, gpu.amd.com; empty: a device plugin gives the GPUs
	GPUResource string        `json:"gpu_resource"`          // what the device plugin calls a GPU: nvidia.com/gpu, amd.com/gpu
	NICDriver   string        `json:"nic_driver"`            // DRA driver: dra.net
	All         bool          `json:"all,omitempty"`         // a pod has every RDMA NIC that its machine has, however many these are
	FabricNICs  []string      `json:"fabric_nics,omitempty"` // interfaces of the fabric, where machines have other RDMA NICs beside them
	LinkLayer   string        `json:"link_layer,omitempty"`  // link layer of the fabric as the NIC driver publishes it: ether, infiniband; empty: any
	Blocks      []DeviceBlock `json:"blocks,omitempty"`      // with ByName and ByNUMA: what the pods of a machine get, one kind of pod each
	Notes       []string      `json:"notes,omitempty"`       // what this choice cannot give, and why
}

// Alignment is what the GPUs and NICs of a pod have in common.
type Alignment string

// The alignments, closest first. ByPCIeRoot pairs each GPU with a NIC below the same PCIe root complex
// (resource.kubernetes.io/pcieRoot); ByNUMA needs a common NUMA node only; ByName picks devices by their names, from the
// facts of the machine, where drivers publish neither.
const (
	ByPCIeRoot Alignment = "pcie-root"
	ByNUMA     Alignment = "numa"
	ByName     Alignment = "name"
	Unaligned  Alignment = "none"
)

// DeviceBlock is where the devices of a pod come from, where a constraint cannot keep them together: by name, or from one
// NUMA node. As many pods have each block of a machine.
type DeviceBlock struct {
	GPUs     []int    `json:"gpus"`                // indexes, as the driver numbers them
	NICs     []string `json:"nics"`                // interfaces or, where there is none, RDMA devices
	GPUBuses []string `json:"gpu_buses,omitempty"` // PCI addresses of GPUs that a DRA driver gives; by name only
	NICBuses []string `json:"nic_buses,omitempty"` // PCI addresses of NICs, where they are known; else NICs are chosen by NICs
	NUMA     *int     `json:"numa,omitempty"`      // node to which all of them belong; nil: chosen by name
}

// Allocation is what DRA claims would get on resource slices. Its kind is Allocation.
type Allocation struct {
	Meta
	Status       Status           `json:"status"`           // fail: a pod lacks devices or is misaligned; unknown: alignment cannot be known
	Source       string           `json:"source,omitempty"` // where the slices come from: files, a cluster, or nominal ones of a machine
	Nominal      bool             `json:"nominal"`          // the slices are made from facts or the catalog; no driver published them
	Slices       SliceCount       `json:"slices"`
	Claims       []AllocatedClaim `json:"claims"`        // in the order in which they were allocated
	Pods         []PodAlignment   `json:"pods"`          // that have their devices, in the order in which they were placed
	AlignedPairs CountRange       `json:"aligned_pairs"` // GPU-NIC pairs that share a PCIe root
	TotalPairs   int              `json:"total_pairs"`   // that the pods could have: the smaller number of their GPUs and NICs
	NICGBs       []RateRange      `json:"nic_gbs_per_pod"`
	Unsatisfied  []Unsatisfied    `json:"unsatisfied"`
	Orders       *DeviceOrders    `json:"other_orders,omitempty"` // nil where they were not tried; Notes say why
	Collective   *PodCollective   `json:"collective,omitempty"`   // nil where it cannot be predicted; Notes say why
	Problems     []ObjectProblem  `json:"problems,omitempty"`     // objects, or parts of them, that were not understood
	Notes        []string         `json:"notes,omitempty"`
}

// PodAlignment is how the GPUs and NICs of one pod lie to each other.
type PodAlignment struct {
	Pod        string     `json:"pod"`
	Node       string     `json:"node"`
	GPUs       int        `json:"gpus"`                  // in its claims, and from a device plugin
	PluginGPUs int        `json:"plugin_gpus,omitempty"` // of them, from a device plugin, which chooses on its own
	NICs       int        `json:"nics"`                  // that do RDMA
	Aligned    CountRange `json:"aligned"`               // pairs of a GPU and a NIC below one PCIe root, each in one pair
	PodPairs
}

// SliceCount is what an allocation was computed on.
type SliceCount struct {
	Nodes   int `json:"nodes"`
	Slices  int `json:"slices"`
	Devices int `json:"devices"`
}

// CountRange is a number that is known within bounds only.
type CountRange struct {
	Min int `json:"min"`
	Max int `json:"max"`
}

// RateRange is a rate in GB/s (10^9 bytes per second) that is known within bounds only.
type RateRange struct {
	Min float64 `json:"min"`
	Max float64 `json:"max"`
}

// AllocatedClaim is what one claim of a pod got.
type AllocatedClaim struct {
	Name     string            `json:"name"` // of the claim
	Pod      string            `json:"pod"`
	Node     string            `json:"node"`
	Existing bool              `json:"existing,omitempty"` // allocated before: its status was read, nothing was chosen
	Devices  []AllocatedDevice `json:"devices"`
}

// AllocatedDevice is a device that a request of a claim got.
type AllocatedDevice struct {
	Request   string   `json:"request"`
	Driver    string   `json:"driver"`
	Pool      string   `json:"pool"`
	Device    string   `json:"device"`
	Kind      string   `json:"kind,omitempty"`       // gpu, nic (that does RDMA), partition (of a GPU); empty: another, or not known
	PCI       string   `json:"pci,omitempty"`        // domain:bus:device.function
	PCIeRoot  string   `json:"pcie_root,omitempty"`  // empty: the driver publishes none
	PCIeRoots []string `json:"pcie_roots,omitempty"` // where the driver publishes a list
	NUMA      *int     `json:"numa,omitempty"`
	Roams     bool     `json:"roams,omitempty"` // published for several nodes, with a root, which is a name within one: no root is given
}

// Unsatisfied is a claim that no node can satisfy, or that could not be decided.
type Unsatisfied struct {
	Name   string   `json:"name"`
	Pod    string   `json:"pod"`
	Unsure bool     `json:"unsure,omitempty"` // not decided: the search took too long, or objects were not understood
	Reason string   `json:"reason"`           // the nearest miss, in one sentence
	Steps  []string `json:"steps,omitempty"`  // by request and constraint: how many devices were left, and why the others did not match
	Works  string   `json:"works,omitempty"`  // what would be satisfied instead
}

// PodCollective is what a collective over all pods of an allocation reaches.
type PodCollective struct {
	Collective string    `json:"collective"`
	Size       int64     `json:"size"`    // bytes, as nccl-tests counts them
	Machine    string    `json:"machine"` // on which it was predicted
	Pods       int       `json:"pods"`    // two such pods where there is one: a pod alone does not use the network
	BusBW      RateRange `json:"busbw_gbs"`
	Aligned    float64   `json:"aligned_busbw_gbs"` // GB/s, with every pair aligned
	Slowest    string    `json:"slowest"`           // pod that bounds it
}

// ObjectProblem is an object, or a part of one, that was not understood.
type ObjectProblem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`   // in the file, from 1: of the expression, or where the object's document begins
	Column  int    `json:"column,omitempty"` // of an expression, from 1
	Object  string `json:"object,omitempty"` // kind and name
	Field   string `json:"field,omitempty"`
	Reason  string `json:"reason"`
	Refused bool   `json:"refused,omitempty"` // the whole object is left out: what depends on it is unknown
}

// The DRA drivers that publish GPUs and NICs, by the names in their ResourceSlices.
const (
	DriverNVIDIA = "gpu.nvidia.com"
	DriverAMD    = "gpu.amd.com"
	DriverDraNet = "dra.net"
)

// MaxClaimDevices is how many devices a claim can hold (Kubernetes, resource.k8s.io: AllocationResultsMaxSize).
const MaxClaimDevices = 32

// Pairs is into how many equal parts the GPUs and NICs of a pod divide, each with at least one of both: 8 and 8 are eight
// pairs, 8 and 4 are four parts of two GPUs and a NIC.
func (c Claims) Pairs() int {
	a, b := c.GPUs, c.NICs
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
