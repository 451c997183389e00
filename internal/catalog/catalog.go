// Package catalog describes known parts: GPUs, NICs, machines, switches and fabrics, one embedded YAML file per part,
// each figure with its unit and source. A new part is a new file under data; nothing else lists it.
//
// A figure without a known source is left out. Bandwidths are one way, compute is dense.
package catalog

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"railwright.dev/railwright/internal/fabric"
)

// Figure is a number with its unit and where it was read. A Figure without a value was found in no source.
type Figure struct {
	Value  float64 `yaml:"value"`
	Unit   string  `yaml:"unit"`
	Source string  `yaml:"source"`
}

// Catalog holds every known part by its id, which is its file's name.
type Catalog struct {
	GPUs     map[string]GPUModel
	NICs     map[string]NICModel
	Machines map[string]MachineModel
	Switches map[string]SwitchModel
	Fabrics  map[string]FabricModel
	Models   map[string]LanguageModel
	Engines  map[string]EngineModel
	Charts   map[string]ChartModel
}

// GPUModel is a kind of GPU as PCI and the driver count them: of a module with two dies that are two PCI
// functions, it is one die.
type GPUModel struct {
	Title           string   `yaml:"title"`
	Vendor          string   `yaml:"vendor"` // nvidia, amd
	PCIID           []string `yaml:"pci_id"` // vendor:device, lower case hexadecimal
	Arch            string   `yaml:"arch"`   // compiler's name of the architecture: sm_90, gfx942
	Source          string   `yaml:"source"` // of what is not a figure: the PCI ids, the architecture
	Memory          Figure   `yaml:"memory"` // GiB or GB as the source says: vendors write GB for what is nearer to GiB
	MemoryVisible   Figure   `yaml:"memory_visible"`
	MemoryCUDA      Figure   `yaml:"memory_cuda"`      // of MemoryVisible what CUDA shows to a program; absent where it was not measured
	MemoryIdle      Figure   `yaml:"memory_idle"`      // free of it after the system has started, where the memory is shared with the CPU
	Unified         bool     `yaml:"unified"`          // GPU and CPU share the memory
	MMIO            Figure   `yaml:"mmio"`             // GB of 2^30 bytes of MMIO space per GPU that a vendor's document states for a virtual machine
	MemoryBandwidth Figure   `yaml:"memory_bandwidth"` // GB/s
	Compute         Compute  `yaml:"compute"`
	PCIeLink        PCIeLink `yaml:"pcie"`           // of the endpoint; absent where no source gives it
	ScaleUp         Figure   `yaml:"scale_up"`       // NVLink or XGMI, GB/s one way, all links together; absent on a lone GPU
	ScaleUpLinks    Figure   `yaml:"scale_up_links"` // how many links these are
	Aliases         []string `yaml:"aliases"`        // short names that people write for it: h100
	Ring            Figure   `yaml:"ring"`           // GB/s one way that ring collectives of a full machine reach over ScaleUp
	Multicast       Figure   `yaml:"multicast"`      // GB/s one way that a GPU reaches where the switch reduces and multicasts (NVLS)
	RingDirect      Figure   `yaml:"ring_direct"`    // as Ring, on boards of four GPUs whose links join them in pairs, without a switch
	PeerToPeer      *bool    `yaml:"peer_to_peer"`   // false: its driver allows no GPU to reach another over PCIe
}

// Compute is the peak rate of matrix products without sparsity, TFLOP/s. What the GPU has no unit for, or
// no source gives, is absent.
type Compute struct {
	BF16 Figure `yaml:"bf16"`
	FP8  Figure `yaml:"fp8"`
	FP4  Figure `yaml:"fp4"`
}

// NICModel is a kind of network adapter, or one of its port modes.
type NICModel struct {
	Title     string   `yaml:"title"`
	Vendor    string   `yaml:"vendor"`   // nvidia, broadcom, amd, hpe, amazon, google
	Of        string   `yaml:"of"`       // id of the adapter that this is a port mode or a mounting of: the PCI ids are that one's
	PCIID     []string `yaml:"pci_id"`   // vendor:device, lower case hexadecimal; empty where Of is set
	Physical  string   `yaml:"physical"` // id of the adapter whose virtual function this is; empty: it is none
	Driver    string   `yaml:"driver"`   // kernel module: mlx5_core, bnxt_en
	Part      string   `yaml:"part"`     // order number of its maker, without the revision; firmware files are named after it
	Source    string   `yaml:"source"`   // of what is not a figure: PCI ids, driver
	Ports     int      `yaml:"ports"`
	PortRate  Figure   `yaml:"port_rate"` // Gb/s
	Functions int      `yaml:"functions"` // PCI functions that share a port; 0 means 1
	PCIeLink  PCIeLink `yaml:"pcie"`      // absent where no source gives it
	// Firmware are the oldest releases that are known to be good for one use, one for each release train.
	Firmware    []fabric.FirmwareFloor `yaml:"firmware"`
	FirmwareBad []fabric.FirmwareTrain `yaml:"firmware_bad"` // release trains that do not work
	Payload     Figure                 `yaml:"payload"`      // largest measured share of its line rate that a ring collective's data takes; absent where the fabric's holds
	Band        Band                   `yaml:"band"`         // how much more than elsewhere healthy machines differ from what is expected
}

// Rate returns what one interface carries while all functions of its port send, in Gb/s.
func (m NICModel) Rate() float64 { return m.RateOf(m.Functions) }

// RateOf returns what one interface carries while that many functions of its port send, in Gb/s: its share of the port,
// at most what its PCIe link carries.
func (m NICModel) RateOf(sending int) float64 {
	share := m.PortRate.Value / float64(max(sending, 1))
	if link := m.PCIeLink.Rate(); link > 0 {
		return min(share, link)
	}
	return share
}

// PCIeLink is the widest and fastest link that a part can train. One without a speed was found in no source.
type PCIeLink struct {
	Speed  float64 `yaml:"speed"` // GT/s
	Width  int     `yaml:"width"` // lanes
	Source string  `yaml:"source"`
}

// Rate returns what the lanes carry one way after their encoding, in Gb/s; 0 for a link that was found in no source. A
// lane of 2.5 or 5 GT/s carries 8 of 10 bits, of 8 to 32 GT/s 128 of 130, and from 64 GT/s on 242 of 256 bytes of a flit
// (PCI Express Base Specification 6.0, 4.2).
func (l PCIeLink) Rate() float64 {
	encoded := 128.0 / 130
	switch {
	case l.Speed >= 64:
		encoded = 242.0 / 256
	case l.Speed < 8:
		encoded = 8.0 / 10
	}
	return l.Speed * float64(l.Width) * encoded
}

// MachineModel is a kind of server or cloud machine type.
type MachineModel struct {
	Title          string                 `yaml:"title"`
	GPU            string                 `yaml:"gpu"`              // id; absent, with GPUs, where the source names none
	GPUs           Figure                 `yaml:"gpus"`             // how many
	ScaleUp        string                 `yaml:"scale_up"`         // what joins the GPUs: nvlink, xgmi, pcie; absent where there are no two
	ScaleUpGPUs    Figure                 `yaml:"scale_up_gpus"`    // GPUs that it joins; absent where they are those of one machine
	NVSwitches     Figure                 `yaml:"nvswitches"`       // on PCI, between its GPUs; absent where there are none, where they are not on PCI, and where no source counts them
	NVSwitchID     string                 `yaml:"nvswitch_id"`      // vendor:device of these; absent where no source gives it
	GPUsPerSwitch  Figure                 `yaml:"gpus_per_switch"`  // GPUs that share a PCIe switch with their NICs
	VirtualSwitch  Figure                 `yaml:"virtual_switches"` // into which each of these is partitioned, with an uplink each; absent where it is one
	SwitchPorts    Range                  `yaml:"switch_ports"`     // downstream ports of a switch as the host sees it; absent where no source gives them
	SwitchUplink   PCIeLink               `yaml:"switch_uplink"`    // of such a switch, where it is not as fast as its slots; absent where no source says so
	NIC            string                 `yaml:"nic"`              // id of the fabric's NICs
	NICs           Figure                 `yaml:"nics"`             // how many interfaces: a port with two PCI functions counts twice
	NICLinks       Figure                 `yaml:"nic_links"`        // PCIe links that all NICs share, where these are fewer and no wider than a NIC
	NICNames       string                 `yaml:"nic_names"`        // range expression of the usual interface names: eth[1-8], ibs[65,67], or a list of such with commas; absent where no source gives them
	NICFunctions   []Function             `yaml:"nic_functions"`    // by port and PCI address, where several share a port; absent elsewhere
	GPUAddresses   Addresses              `yaml:"gpu_addresses"`    // of the GPUs, where every machine of this kind has the same: guests, and boards without PCIe switches; absent where no source gives them
	NICAddresses   Addresses              `yaml:"nic_addresses"`    // of the NICs, likewise
	HiddenNICRoots Hidden                 `yaml:"hidden_nic_roots"` // the guest's system does not show below which PCIe root a NIC is; absent where it does
	Management     string                 `yaml:"management"`       // interface of the ordinary network; absent where no source gives its name
	Fabrics        []string               `yaml:"fabrics"`          // ids of the fabrics that these NICs speak here
	NCCLPlugin     string                 `yaml:"nccl_plugin"`      // network plugin of NCCL that the cloud installs for its NICs, as folders and logs name it: gIB; absent where there is none, or several
	CPU            string                 `yaml:"cpu"`              // vendor: intel, amd, arm; absent where no source gives it
	CPUID          ProcessorID            `yaml:"cpuid"`            // of that CPU; absent where no source gives it
	NUMANodes      Figure                 `yaml:"numa_nodes"`
	HostMemory     Figure                 `yaml:"host_memory"`     // GB that it should have; absent where no source says so
	PCIeGeneration Figure                 `yaml:"pcie_generation"` // of the slots of GPUs and NICs
	Images         map[string]EngineImage `yaml:"images"`          // by engine; absent where no source names one for this machine
	GKE            GKEType                `yaml:"gke"`             // how Google Kubernetes Engine gives it; absent where it does not, or without RDMA networks
	Reference      bool                   `yaml:"reference"`       // the reference design of the GPUs' vendor, not the machine of a cloud
	Source         string                 `yaml:"source"`          // of what is not a figure
}

// GKEType is how Google Kubernetes Engine gives a machine with RDMA networks. Its machine type is the id of the machine.
type GKEType struct {
	Accelerator string `yaml:"accelerator"` // as node pools name its GPU: nvidia-b200
	GVNICs      Figure `yaml:"gvnics"`      // interfaces of the ordinary kind, with that of the cluster's own network
	Source      string `yaml:"source"`      // of the name of the GPU
}

// EngineImage is a container image of an inference engine.
type EngineImage struct {
	Image   string `yaml:"image"`
	Version string `yaml:"version"` // of the engine in it
	Source  string `yaml:"source"`
}

// EngineModel is an inference engine, with the images that serve where a machine names none of its own.
type EngineModel struct {
	Title  string                 `yaml:"title"`
	Images map[string]EngineImage `yaml:"images"` // by architecture of the GPU, or else by its vendor
	Source string                 `yaml:"source"`
}

// EngineImage is the image of an engine for a machine: the one that the machine names, else that for its GPU. It is empty where no source
// names one.
func (c *Catalog) EngineImage(engine, machine string) EngineImage {
	m := c.Machines[machine]
	gpu, images := c.GPUs[m.GPU], c.Engines[engine].Images
	for _, image := range []EngineImage{m.Images[engine], images[gpu.Arch], images[gpu.Vendor]} {
		if image != (EngineImage{}) {
			return image
		}
	}
	return EngineImage{}
}

// Function is a PCI function of a NIC, with the names that the system gives it.
type Function struct {
	PCI  string `yaml:"pci"`  // address with its domain
	NIC  string `yaml:"nic"`  // network interface
	HCA  string `yaml:"hca"`  // RDMA device
	Port int    `yaml:"port"` // that it serves, from 0
}

// Addresses are PCI addresses with their domain, in the order of the devices' numbers.
type Addresses struct {
	Are    []string `yaml:"are"`
	Source string   `yaml:"source"`
}

// Hidden says that something which others show is not to be seen.
type Hidden struct {
	Hidden bool   `yaml:"hidden"`
	Source string `yaml:"source"`
}

// Range is the least and the most of a figure, both of them included.
type Range struct {
	Least  float64 `yaml:"least"`
	Most   float64 `yaml:"most"`
	Unit   string  `yaml:"unit"`
	Source string  `yaml:"source"`
}

// SwitchesSeen is how many PCIe switches the host sees above GPUs and NICs; 0 where no source says so, and for a guest in
// which the GPUs are on root buses: the addresses of GPUs below switches are given of such machines only.
func (m MachineModel) SwitchesSeen() int {
	if m.GPUsPerSwitch.Value <= 0 || len(m.GPUAddresses.Are) > 0 {
		return 0
	}
	return int(m.GPUs.Value / m.GPUsPerSwitch.Value * max(m.VirtualSwitch.Value, 1))
}

// ProcessorID is how an x86 processor identifies itself; NCCL derives the bandwidth of the socket link from it.
type ProcessorID struct {
	Family int    `yaml:"family"` // extended family added: 6, 25
	Model  int    `yaml:"model"`  // extended model included: 143
	Source string `yaml:"source"`
}

// FabricModel is a kind of network between machines, as collectives see it.
type FabricModel struct {
	Title      string   `yaml:"title"`
	LinkLayer  string   `yaml:"link_layer"`  // infiniband or ethernet
	MTU        Figure   `yaml:"mtu"`         // of the path where nothing is changed, bytes of payload of RDMA or of IP as the source says
	Header     Figure   `yaml:"header"`      // bytes on the wire beside the payload of one full packet
	Payload    Figure   `yaml:"payload"`     // largest measured share of the line rate that a ring collective's data takes
	Step       Figure   `yaml:"step"`        // latency of a network step, as a multiple of NCCL's own figure for the network
	Floor      Figure   `yaml:"floor"`       // latency of a collective that is there whatever its size, us
	Eager      Figure   `yaml:"eager"`       // largest message that is sent at once, B: a larger one is announced, and read by its receiver
	Transport  string   `yaml:"transport"`   // the RDMA transport of a cluster file that this is: infiniband, roce; empty for other fabrics
	ManyNodes  Figure   `yaml:"many_nodes"`  // share of Payload that rings over more than two nodes keep, where a NIC has no measured one of its own
	Pages      Figure   `yaml:"pages"`       // bytes of a page of GPU memory where what was received lies, and is copied together by the collective; absent where it arrives in place
	NodeLimit  Figure   `yaml:"node_limit"`  // GB/s that a node reaches whatever its NICs could; absent where there is none
	Band       Band     `yaml:"band"`        // how much more than elsewhere healthy machines differ from what is expected
	Only       Only     `yaml:"only"`        // the algorithm and protocol of NCCL that its plug-in or set-up leaves
	Earlier    Earlier  `yaml:"earlier"`     // the generation that machines with older GPUs have
	MergesNICs bool     `yaml:"merges_nics"` // its plug-in shows the NICs near a GPU to NCCL as one
	Sockets    bool     `yaml:"sockets"`     // the kernel's sockets: the NICs of every machine carry it
	GPUDirect  *bool    `yaml:"gpudirect_rdma"`
	Prediction []string `yaml:"prediction"` // further notes for a prediction
	Source     string   `yaml:"source"`     // of what is not a figure
}

// Band is how much faster and slower than expected healthy machines are, as factors on the time.
type Band struct {
	Fast   float64 `yaml:"fast"`
	Slow   float64 `yaml:"slow"`
	Source string  `yaml:"source"`
}

// Only names the one algorithm or protocol that NCCL can use; empty where it is free.
type Only struct {
	Algorithm string `yaml:"algorithm"`
	Protocol  string `yaml:"protocol"`
	Source    string `yaml:"source"`
}

// Earlier is the fabric that machines have whose NVIDIA GPUs are of a compute capability below BelowSM.
type Earlier struct {
	Fabric  string `yaml:"fabric"`   // id
	BelowSM int    `yaml:"below_sm"` // 90 for sm_90
	Source  string `yaml:"source"`
}

// SwitchModel is a kind of switch.
type SwitchModel struct {
	Title    string              `yaml:"title"`
	Fabric   string              `yaml:"fabric"` // ethernet or infiniband
	Ports    Figure              `yaml:"ports"`  // towards hosts or other switches
	PortRate Figure              `yaml:"port_rate"`
	Buffer   Figure              `yaml:"buffer"` // for packets, shared by its ports, MB; absent where no source gives it
	OS       map[string]PortName `yaml:"os"`     // by switch operating system: how it names its ports
}

// Machine finds a machine by its id.
func (c *Catalog) Machine(id string) (MachineModel, error) {
	return find("machine", c.Machines, id)
}

// GPU finds a GPU by its id or by a short name, in any case, and gives its id.
func (c *Catalog) GPU(name string) (id string, model GPUModel, err error) {
	id = strings.ToLower(strings.TrimSpace(name))
	if model, ok := c.GPUs[id]; ok {
		return id, model, nil
	}
	names := slices.Sorted(maps.Keys(c.GPUs))
	for known, m := range sorted(c.GPUs) {
		if slices.Contains(m.Aliases, id) {
			return known, m, nil
		}
		names = append(names, m.Aliases...)
	}
	return "", model, missing("GPU", name, names, len(c.GPUs))
}

// Switch finds a switch by its id.
func (c *Catalog) Switch(id string) (SwitchModel, error) { return find("switch", c.Switches, id) }

// Fabric finds a fabric by its id.
func (c *Catalog) Fabric(id string) (FabricModel, error) {
	return find("fabric", c.Fabrics, fabric.NetworkID(id))
}

// FabricOf returns the id of the fabric that an RDMA transport of a cluster file is; empty where there is none.
func (c *Catalog) FabricOf(t fabric.Transport) string {
	for id, f := range sorted(c.Fabrics) {
		if f.Transport == string(t) {
			return id
		}
	}
	return ""
}

// LineRate returns what all fabric NICs of a machine carry together, one way, in Gb/s.
func (c *Catalog) LineRate(m MachineModel) float64 { return m.NICs.Value * c.NICs[m.NIC].Rate() }

func find[T any](kind string, parts map[string]T, id string) (T, error) {
	part, ok := parts[id]
	if !ok {
		return part, missing(kind, id, slices.Sorted(maps.Keys(parts)), len(parts))
	}
	return part, nil
}

// missing is the error for a name that the catalog does not have: it proposes the nearest of the names, and lists
// them, or says what does where they are many.
func missing(kind, name string, names []string, parts int) error {
	list := "known: " + strings.Join(names, ", ")
	const most = 32 // names in one message
	if len(names) > most {
		list = fmt.Sprintf("railwright catalog %s lists all %d", plural(kind), parts)
	}
	return fmt.Errorf("%s %s is not in the catalog; %s%s", kind, fabric.Quote(name), fabric.DidYouMean(name, names), list)
}
