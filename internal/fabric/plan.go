package fabric

import "strings"

// Plan is everything that follows from the cluster file and the facts. The same input gives the same plan.
type Plan struct {
	Meta
	Name       string           `json:"name"`
	Platform   string           `json:"platform"`
	Launcher   string           `json:"launcher"`
	Transport  Transport        `json:"transport"`
	MTU        int              `json:"mtu"`                // bytes, of every NIC of the fabric
	Partition  PKey             `json:"partition,omitzero"` // InfiniBand: every port must be a full member of it
	NCCL       string           `json:"nccl,omitempty"`     // version that jobs use; empty: unspecified
	Nodes      []Node           `json:"nodes"`
	Machines   []NominalMachine `json:"machines,omitempty"` // one per catalog id that a node names
	Ports      []NodePort       `json:"ports,omitempty"`    // cabled ones, where those of the machines have twins; in node order
	Switches   []Switch         `json:"switches,omitempty"`
	Addressing Addressing       `json:"addressing"`
	Cabling    Cabling          `json:"cabling"`
	Traffic    *Traffic         `json:"traffic,omitempty"`    // nil where the fabric's classes are not the owner's to choose (InfiniBand)
	Serving    *Serving         `json:"serving,omitempty"`    // nil where the cluster file names no model, or the platform has no launch of it
	Namespaces []KubeNamespace  `json:"namespaces,omitempty"` // of pods and operators, where the launcher is Kubernetes
	Operators  *Operators       `json:"operators,omitempty"`  // nil where the launcher is not Kubernetes, or the cloud brings them
	Pods       *PodDevices      `json:"pods,omitempty"`       // nil where the launcher is not Kubernetes
	Claims     *Claims          `json:"claims,omitempty"`     // nil where it is not, or where device plugins give the pods all of their devices
	Cloud      *Cloud           `json:"cloud,omitempty"`      // nil where the machines exist already
	VSphere    *VSphere         `json:"vsphere,omitempty"`    // nil where nodes are no virtual machines of ESX hosts, or the cluster file says nothing of them
	Notes      []string         `json:"notes,omitempty"`      // what this plan leaves out, as text
}

// Transport is the RDMA transport of a fabric.
type Transport string

// The transports of a cluster file.
const (
	RoCE       Transport = "roce"
	InfiniBand Transport = "infiniband"
)

// NetworkID is the id in the catalog of a network that a person names: InfiniBand is ib. Any other name is only written in
// lower case, without blanks around it.
func NetworkID(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	if name == string(InfiniBand) {
		return shortInfiniBand
	}
	return name
}

// shortInfiniBand is the short name of InfiniBand, and its id in the catalog.
const shortInfiniBand = "ib"

// TransportNamed is the transport that a person names in any case: ib is InfiniBand. An unknown name stays as it is.
func TransportNamed(name string) Transport {
	switch t := Transport(NetworkID(name)); t {
	case shortInfiniBand:
		return InfiniBand
	case RoCE:
		return t
	}
	return Transport(name)
}

// Node is a machine of the cluster.
type Node struct {
	Name    string   `json:"name"`
	Machine string   `json:"machine,omitempty"` // id in the catalog, and in Plan.Machines
	NICs    []string `json:"nics"`              // of the fabric, in rail order
	Network Network  `json:"network,omitempty"` // what configures them; empty: ByNetplan

	Management string `json:"management,omitempty"` // interface of the ordinary network; empty: the plan does not know it
}

// Network is what configures the network interfaces of a host.
type Network string

// The ways in which a host's interfaces can be configured.
const (
	ByNetplan        Network = "netplan"        // netplan with systemd-networkd: Ubuntu, Debian
	ByNetworkManager Network = "networkmanager" // keyfiles: RHEL, Rocky, SLES
)

// NominalMachine is a kind of machine as the catalog describes it: what a node should have, never what was seen.
// A zero is a figure that the catalog does not have.
type NominalMachine struct {
	ID             string   `json:"id"` // in the catalog
	GPU            string   `json:"gpu,omitempty"`
	GPUs           int      `json:"gpus,omitempty"`
	GPUPCIIDs      []string `json:"gpu_pci_ids,omitempty"`     // vendor:device, lower case hexadecimal
	GPUVendor      string   `json:"gpu_vendor,omitempty"`      // nvidia, amd
	CPU            string   `json:"cpu,omitempty"`             // vendor: intel, amd, arm
	NVSwitches     int      `json:"nvswitches,omitempty"`      // on PCI
	NIC            string   `json:"nic,omitempty"`             // of the fabric
	NICs           int      `json:"nics,omitempty"`            // interfaces of the fabric
	NICPCIIDs      []string `json:"nic_pci_ids,omitempty"`     // of the chip, as GPUPCIIDs
	NICDriver      string   `json:"nic_driver,omitempty"`      // kernel module: mlx5_core, bnxt_en
	NICGbps        float64  `json:"nic_gbps,omitempty"`        // line rate per interface
	PCIeGeneration int      `json:"pcie_generation,omitempty"` // of the slots of GPUs and NICs
	PCIeLanes      int      `json:"pcie_lanes,omitempty"`      // per NIC
	PCIeSwitches   int      `json:"pcie_switches,omitempty"`   // that the host sees above GPUs and NICs: of a partitioned chip each virtual switch
	HostMemoryGB   float64  `json:"host_memory_gb,omitempty"`  // GB (10^9 bytes) that the machine should have

	NICFirmware    []FirmwareFloor `json:"nic_firmware,omitempty"`     // one for each release train of which a source says so
	NICFirmwareBad []FirmwareTrain `json:"nic_firmware_bad,omitempty"` // release trains that do not work, whatever for
	Source         string          `json:"source"`
}

// FirmwareFloor is the oldest firmware of a release train (its first number) that is known to be good for one use. For other
// uses an older one may be as good.
type FirmwareFloor struct {
	Least  string `json:"least" yaml:"least"`
	For    string `json:"for" yaml:"for"` // what needs it
	Source string `json:"source" yaml:"source"`
}

// FirmwareTrain is a release train of firmware that does not work.
type FirmwareTrain struct {
	Train  string `json:"train" yaml:"train"` // the first number of its versions
	Says   string `json:"says" yaml:"says"`   // what the source says of it, behind "is"
	Source string `json:"source" yaml:"source"`
}
