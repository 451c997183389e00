package fabric

// PodDevices is the part of a plan with what every pod of the fabric gets: GPUs and NICs by claims (Plan.Claims), or as extended
// resources that device plugins count.
type PodDevices struct {
	Kubernetes  string      `json:"kubernetes"` // minor version of the cluster: 1.34
	Namespace   string      `json:"namespace"`
	GPUs        int         `json:"gpus"` // per pod
	GPUVendor   string      `json:"gpu_vendor"`
	GPUResource string      `json:"gpu_resource,omitempty"` // nvidia.com/gpu; empty: a claim gives the GPUs
	NICs        []SharedNIC `json:"nics,omitempty"`         // a resource per rail; none: a claim gives the NICs
	Rails       int         `json:"rails"`                  // NICs of the fabric per pod
	TestImages  string      `json:"test_images,omitempty"`  // registry and path of the images of test pods; empty: none are rendered
}

// SharedNIC is a NIC that the RDMA shared device plugin gives to pods: on every machine, the one of a rail. Its resource counts how many
// pods may share it, never how many NICs there are: a pod asks for one.
type SharedNIC struct {
	Resource   string   `json:"resource"`            // without its prefix rdma/
	Interfaces []string `json:"interfaces"`          // of the rail; several where machines name it differently
	Vendors    []string `json:"vendors"`             // PCI ids, in hexadecimal: 15b3
	Devices    []string `json:"devices"`             // PCI ids: 1021
	Drivers    []string `json:"drivers"`             // mlx5_core
	LinkType   string   `json:"link_type,omitempty"` // of the interface, as the plugin reads it: infiniband, ether
	Source     string   `json:"source"`              // of the PCI ids: catalog, facts
}

// RDMAPrefix is what the shared device plugin puts before the names of its resources.
const RDMAPrefix = "rdma/"
