package fabric

import "net/netip"

// VSphere is the part of a plan for nodes that are virtual machines of ESX hosts.
type VSphere struct {
	Product  Product      `json:"product"`
	Mode     VMMode       `json:"mode"`               // how devices get to virtual machines
	VCenter  *VCenter     `json:"vcenter,omitempty"`  // nil: everything is for people
	Hosts    []ESXHost    `json:"hosts"`              // in the order of the cluster file
	Goal     ESXGoal      `json:"goal"`               // of each of these hosts
	Classes  []VMClass    `json:"classes,omitempty"`  // the first is that of the nodes
	Service  *ServiceVM   `json:"service,omitempty"`  // nil: nothing shares NVSwitches
	Kube     *VSphereKube `json:"kube,omitempty"`     // nil: no Supervisor
	Networks []VNetwork   `json:"networks,omitempty"` // that Kubernetes on vSphere needs
	Server   Server       `json:"server,omitempty"`   // who made the hosts; empty: the plan does not know it
	Parallel int          `json:"parallel"`           // hosts that may be out of use at a time
}

// Product is what runs the hosts, which decides the versions of everything.
type Product = string

// The products that are planned.
const (
	VSphere8 Product = "vsphere-8" // ESX 8 without Cloud Foundation
	VCF52    Product = "vcf-5.2"   // ESX 8
	VCF9     Product = "vcf-9.0"   // ESX 9
)

// Server is who made a server: its BIOS settings are named after that.
type Server string

// The makers whose names of BIOS settings are known.
const (
	Dell       Server = "dell"
	HPE        Server = "hpe"
	Lenovo     Server = "lenovo"
	Supermicro Server = "supermicro"
)

// VMMode is how devices get to virtual machines.
type VMMode string

// The modes of vSphere.
const (
	Passthrough   VMMode = "passthrough" // whole functions: DirectPath I/O
	SRIOVToGuests VMMode = "sriov"       // virtual functions of NICs
)

// VCenter is where the vSphere API is. The name of the user and the password come from the environment, never from a file.
type VCenter struct {
	Server     string `json:"server"`
	Thumbprint string `json:"thumbprint,omitempty"` // SHA-256 of its certificate; empty: the certificate has to verify
	Datacenter string `json:"datacenter,omitempty"`
	Cluster    string `json:"cluster,omitempty"`
}

// ESXHost is a host and the nodes that run on it.
type ESXHost struct {
	Name  string   `json:"name"`
	SSH   bool     `json:"ssh,omitempty"`  // somebody may log in to it; else its shell is for people
	User  string   `json:"user,omitempty"` // for SSH
	Nodes []string `json:"nodes"`
}

// ESXGoal is what an ESX host has to be for the plan.
type ESXGoal struct {
	Mode        VMMode         `json:"mode"`
	Settings    []ESXSetting   `json:"settings"`              // of the kernel; Configured is what is wanted
	SinceMajor  map[string]int `json:"since_major,omitempty"` // settings that only ESX from this major version on has
	VIBs        []string       `json:"vibs"`                  // that have to be installed
	Depots      []string       `json:"depots,omitempty"`      // offline bundles (.zip), URLs or .vib files that have them, as the host reaches them
	NIC         string         `json:"nic"`                   // vendor:device of the physical function: 15b3:1021
	NICs        int            `json:"nics"`                  // of the fabric
	GPU         string         `json:"gpu,omitempty"`         // vendor:device; empty: the plan has no GPUs
	GPUs        int            `json:"gpus,omitempty"`
	NVSwitch    string         `json:"nvswitch,omitempty"` // vendor:device; empty: none on PCI
	NVSwitches  int            `json:"nvswitches,omitempty"`
	NICSettings []Option       `json:"nic_settings"`           // of mlxconfig, for each NIC
	MaxVFs      int            `json:"max_vfs,omitempty"`      // virtual functions per NIC, of the driver; 0 with passthrough
	ResetMethod string         `json:"reset_method,omitempty"` // of GPUs, in passthru.map
	Labels      []DeviceLabel  `json:"labels,omitempty"`       // of devices that are passed through
	PowerPolicy string         `json:"power_policy"`
}

// Option is a setting and its value.
type Option struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	Why   string `json:"why,omitempty"`
}

// DeviceLabel is a hardware label and the device that has it on every host.
type DeviceLabel struct {
	Label   string `json:"label"`             // GPU0, NIC0, NVS0
	Address string `json:"address,omitempty"` // empty: found on each host by what is below one PCIe switch
}

// VMClass is a kind of virtual machine.
type VMClass struct {
	Name      string          `json:"name"`
	Nodes     []string        `json:"nodes,omitempty"` // of the plan; none: a class for others
	GPUs      int             `json:"gpus"`
	NICs      int             `json:"nics"`
	Modules   []int           `json:"modules,omitempty"` // Module Id of its GPUs where virtual machines share the NVSwitches: a partition of Fabric Manager
	CPUs      int             `json:"cpus"`
	MemoryMB  int             `json:"memory_mb"`
	Devices   []VMClassDevice `json:"devices"`             // in the order in which they are attached
	Extra     []Option        `json:"extra"`               // ExtraConfig
	MMIOGB    int             `json:"mmio_gb"`             // GiB of 64-bit MMIO space
	MMIO      string          `json:"mmio,omitempty"`      // how that was computed
	Functions int             `json:"functions,omitempty"` // virtual functions per NIC that a virtual machine gets
}

// VMClassDevice is a device of a class.
type VMClassDevice struct {
	Label  string `json:"label"`
	Vendor uint16 `json:"vendor"`
	Device uint16 `json:"device"`
}

// The MMIO space of devices that are passed through, in GiB, as "Deploy Distributed LLM Inference with GPUDirect RDMA over
// InfiniBand in VMware Private AI" has it in 10.1.
const (
	mmioPerGPU  = 128 // of an H100 or H200
	mmioForNICs = 32  // at least, for all NICs together
)

// MMIOGB is pciPassthru.64bitMMIOSizeGB of a virtual machine with so many GPUs, and with or without NICs, in GiB.
func MMIOGB(gpus int) int { return gpus*mmioPerGPU + mmioForNICs }

// ServiceVM runs NVIDIA's Fabric Manager for the NVSwitches of a host, so that virtual machines of any number of GPUs can share
// them. There is one per host, and it starts before any virtual machine with GPUs.
type ServiceVM struct {
	CPUs       int           `json:"cpus"`
	MemoryMB   int           `json:"memory_mb"`
	Hardware   int           `json:"hardware"` // least version
	NVSwitches int           `json:"nvswitches"`
	GPUs       int           `json:"gpus"`              // of each partition that it activates
	Partitions int           `json:"partitions"`        // of so many GPUs, at a time
	Driver     string        `json:"driver,omitempty"`  // version of the driver, which Fabric Manager's has to be; empty: the plan does not know it
	Network    string        `json:"network,omitempty"` // port group
	Interface  string        `json:"interface"`
	Gateway    netip.Addr    `json:"gateway,omitzero"`
	DNS        []netip.Addr  `json:"dns,omitempty"`
	Guests     []ServiceVMOf `json:"guests"` // one per host
}

// ServiceVMOf is the service virtual machine of a host.
type ServiceVMOf struct {
	Host    string       `json:"host"`
	Name    string       `json:"name"`
	Address netip.Prefix `json:"address,omitzero"`
}

// VSphereKube is a Kubernetes cluster of virtual machines that the Supervisor makes.
type VSphereKube struct {
	Namespace    string       `json:"namespace"`
	ClusterClass string       `json:"cluster_class"` // builtin-generic-v3.3.0
	Version      string       `json:"version"`       // v1.32.0---vmware.6-fips-vkr.2
	StorageClass string       `json:"storage_class"`
	Control      string       `json:"control"` // class of the control plane's virtual machines
	Controls     int          `json:"controls"`
	Pools        []VMPool     `json:"pools"`
	Volume       string       `json:"volume"` // of containerd: 500Gi
	OSImage      string       `json:"os_image"`
	Pods         netip.Prefix `json:"pods"`
	Services     netip.Prefix `json:"services"`
	Library      string       `json:"library,omitempty"` // content library
}

// VMPool is workers of one class.
type VMPool struct {
	Name    string `json:"name"`
	Class   string `json:"class"`
	Workers int    `json:"workers"`
}

// VNetwork is a network that Kubernetes on vSphere needs.
type VNetwork struct {
	Name   string       `json:"name"` // management, external, transit, private, supervisor-services, pods, services
	Use    string       `json:"use"`
	Kind   string       `json:"kind"` // VLAN, overlay, InfiniBand
	Routed bool         `json:"routed"`
	Range  netip.Prefix `json:"range,omitzero"`
}
