package fabric

import "net/netip"

// Facts is what one node reported about itself at one moment. A fact that may be absent is a pointer or
// an empty list, and Missing then says why; a rule that meets it is unknown with that reason.
type Facts struct {
	Meta
	Node          string            `json:"node"`
	Collected     string            `json:"collected,omitempty"` // RFC 3339, UTC
	Platform      string            `json:"platform,omitempty"`  // "lab" inside a lab host, else empty
	Source        string            `json:"source"`              // live, recorded, tree, captured (output of tools), catalog
	Hardware      string            `json:"hardware,omitempty"`  // "recorded": of a lab host that has the hardware of a recording
	Kernel        Kernel            `json:"kernel"`
	Machine       Machine           `json:"machine"`
	NICs          []NIC             `json:"nics,omitempty"`
	HCAs          []HCA             `json:"hcas,omitempty"`
	GPUs          []GPU             `json:"gpus,omitempty"`
	FabricManager *FabricManager    `json:"fabric_manager,omitempty"` // of NVSwitches
	SMVirtual     string            `json:"sm_virtual,omitempty"`     // whether the subnet manager knows virtual ports: Enabled, Disabled, Ignored (MLNX-OS), or 0, 1, 2 of opensm.conf
	NVShare       *NVShare          `json:"nv_share,omitempty"`       // of NVSwitches that virtual machines share; nil: not read
	PCI           []PCIDevice       `json:"pci,omitempty"`            // GPUs, NICs, NVSwitches and every bridge above them
	Routes        []Route           `json:"routes,omitempty"`
	Rules         []Rule            `json:"rules,omitempty"`
	Neighbours    []Neighbour       `json:"neighbours,omitempty"`
	LLDP          []LLDPNeighbour   `json:"lldp,omitempty"`
	Sysctls       map[string]string `json:"sysctls,omitempty"`
	Modules       []Module          `json:"modules,omitempty"`
	Providers     []Provider        `json:"providers,omitempty"`
	Packages      map[string]string `json:"packages,omitempty"` // version by name, of the NIC and GPU software; nil: not asked
	KernelLog     *KernelLog        `json:"kernel_log,omitempty"`
	NICFile       map[string]string `json:"nic_file,omitempty"` // settings of the file from which a NIC driver sets traffic classes up (/etc/bnxt_re/bnxt_re.conf)
	Firewall      *Firewall         `json:"firewall,omitempty"`
	NetworkFiles  []NetworkFile     `json:"network_files,omitempty"` // of /etc/netplan, those that could be read
	NCCL          map[string]string `json:"nccl,omitempty"`          // settings that every job on the node gets: /etc/nccl.conf; in texts also the environment
	Pod           *Pod              `json:"pod,omitempty"`           // of a container of Kubernetes; nil: the facts are of a machine, or of a text
	Kube          *KubeState        `json:"kube,omitempty"`          // of texts of kubectl
	ESX           *ESX              `json:"esx,omitempty"`           // of an ESX host
	Disagree      []Disagreement    `json:"disagree,omitempty"`
	Missing       []Missing         `json:"missing,omitempty"`
}

// Missing says that a fact could not be read. What is a path into Facts (nics, pci.acs, lldp),
// with the device after a space where only one is concerned.
type Missing struct {
	What   string `json:"what"`
	Source string `json:"source"`
	Reason string `json:"reason"`
	Absent bool   `json:"absent,omitempty" jsonschema_description:"the source was asked and has no such file: there is nothing to read. False: it could not be read, or whether it is there is unknown"`
}

// MissingReason returns why a fact is absent; ok is false where Missing has no entry for it.
func (f *Facts) MissingReason(what string) (m Missing, ok bool) {
	for _, m := range f.Missing {
		if m.What == what {
			return m, true
		}
	}
	return Missing{}, false
}

// Kernel is the running kernel.
type Kernel struct {
	Release      string  `json:"release,omitempty"`        // uname -r
	CommandLine  *string `json:"command_line,omitempty"`   // /proc/cmdline
	OS           *string `json:"os,omitempty"`             // PRETTY_NAME of /etc/os-release
	PeerMemory   *bool   `json:"peer_memory,omitempty"`    // the kernel has ib_register_peer_memory_client (kallsyms)
	PeerMemoryBy string  `json:"peer_memory_by,omitempty"` // the module that has it: ib_uverbs and ib_core are the kernel's, ib_peer_mem a vendor's; empty: built in, or unknown
	DMABuf       *bool   `json:"dma_buf,omitempty"`        // the kernel has ib_umem_dmabuf_get (kallsyms): RDMA over dma-buf
}

// Machine is the computer as its firmware describes it.
type Machine struct {
	Vendor         *string `json:"vendor,omitempty"`            // /sys/class/dmi/id/sys_vendor
	Product        *string `json:"product,omitempty"`           // /sys/class/dmi/id/product_name
	Hypervisor     *bool   `json:"hypervisor,omitempty"`        // true inside a virtual machine: CPU flag "hypervisor"
	IOMMUGroups    *int    `json:"iommu_groups,omitempty"`      // 0: no IOMMU in use
	IOMMUMode      *string `json:"iommu_mode,omitempty"`        // off, passthrough, translated
	NUMANodes      *int    `json:"numa_nodes,omitempty"`        // online
	NUMA           []NUMA  `json:"numa,omitempty"`              // the online ones
	BIOS           *string `json:"bios,omitempty"`              // /sys/class/dmi/id/bios_version
	MemoryKiB      *int    `json:"memory_kib,omitempty"`        // MemTotal of /proc/meminfo
	SwapKiB        *int    `json:"swap_kib,omitempty"`          // SwapTotal of /proc/meminfo
	CPUModel       *string `json:"cpu_model,omitempty"`         // of the first CPU, /proc/cpuinfo
	CPU            *CPUID  `json:"cpu,omitempty"`               // of the first CPU, /proc/cpuinfo
	CPUsOnline     *int    `json:"cpus_online,omitempty"`       // /sys/devices/system/cpu/online
	CPUsPresent    *int    `json:"cpus_present,omitempty"`      // /sys/devices/system/cpu/present
	SMT            *string `json:"smt,omitempty"`               // /sys/devices/system/cpu/smt/control: on, off, forceoff, notsupported, notimplemented
	Governor       *string `json:"governor,omitempty"`          // "mixed" where CPUs differ; "none": the kernel sets no clock, the firmware does
	RDMACharDevs   *int    `json:"rdma_char_devices,omitempty"` // uverbs* in /dev/infiniband
	CMAKiB         *int    `json:"cma_kib,omitempty"`           // CmaTotal of /proc/meminfo: memory that the kernel keeps in one piece for devices
	MemlockLimit   *string `json:"memlock_limit,omitempty"`     // of the collecting process: bytes or unlimited
	NetworkManager *string `json:"network_owner,omitempty"`     // the services that run and configure interfaces, joined by OwnerSeparator

	ACSUnit *ACSUnit `json:"acs_unit,omitempty"`
	HotPlug *HotPlug `json:"hot_plug,omitempty"` // of a DGX Spark's NIC
}

// CPUID is how an x86 processor identifies itself (the CPUID instruction, leaves 0 and 1).
type CPUID struct {
	Vendor string `json:"vendor"` // GenuineIntel, AuthenticAMD
	Family int    `json:"family"`
	Model  int    `json:"model"`
}

// NUMA is a NUMA node.
type NUMA struct {
	Number int    `json:"number"`
	CPUs   string `json:"cpus"` // mask as /sys/devices/system/node/nodeN/cpumap writes it: 0000ffff,ffffffff
}

// NIC is a network interface of a node.
type NIC struct {
	Name          string         `json:"name"`
	Index         int            `json:"index"`
	MAC           string         `json:"mac,omitempty"`
	MTU           int            `json:"mtu"`       // bytes
	OperState     string         `json:"operstate"` // up, down, lowerlayerdown, ... (RFC 2863)
	Carrier       *bool          `json:"carrier,omitempty"`
	SpeedMbps     *int           `json:"speed_mbps,omitempty"` // Mb/s
	Kind          string         `json:"kind,omitempty"`       // rtnetlink kind (veth, bridge); empty for hardware
	Driver        string         `json:"driver,omitempty"`
	PCI           string         `json:"pci,omitempty"` // address of the function, empty for virtual ones
	Addresses     []netip.Prefix `json:"addresses,omitempty"`
	ARPIgnore     *int           `json:"arp_ignore,omitempty"`     // in effect: the higher of conf/all and conf/NIC
	ARPAnnounce   *int           `json:"arp_announce,omitempty"`   // likewise
	RPFilter      *int           `json:"rp_filter,omitempty"`      // likewise
	Firmware      string         `json:"firmware,omitempty"`       // ethtool -i
	DriverVersion string         `json:"driver_version,omitempty"` // ethtool -i
	FEC           string         `json:"fec,omitempty"`            // active encoding, ethtool --show-fec: RS, BaseR, Off
	Autoneg       *bool          `json:"autoneg,omitempty"`        // ethtool
	Owner         *string        `json:"owner,omitempty"`          // services that configure it, joined by OwnerSeparator; NoOwner
	QoS           *QoS           `json:"qos,omitempty"`
	Profile       string         `json:"profile,omitempty"` // NetworkManager's connection on it; "--": it has none
	IPoIB         *IPoIB         `json:"ipoib,omitempty"`   // nil: not over InfiniBand, or not read

	// Options are settings in the NIC's non-volatile memory, by their name in the vendor's tool (niccli nvm, mlxconfig, nicctl),
	// with the value in effect as the tool writes it. Those that rules and files of the plan know.
	Options map[string]string `json:"options,omitempty"`
}

// IPoIB is how an interface carries IP over InfiniBand (RFC 4391, RFC 4755).
type IPoIB struct {
	Mode string `json:"mode,omitempty"` // datagram, connected
	PKey string `json:"pkey,omitempty"` // of its partition, with the bit of full membership: 0xffff
}

// HCA is an RDMA device.
type HCA struct {
	Name       string `json:"name"`
	NodeGUID   string `json:"node_guid,omitempty"`
	SystemGUID string `json:"system_guid,omitempty"` // sys_image_guid
	Firmware   string `json:"firmware,omitempty"`
	BoardID    string `json:"board_id,omitempty"`
	Type       string `json:"type,omitempty"` // hca_type: MT4129
	Driver     string `json:"driver,omitempty"`
	PCI        string `json:"pci,omitempty"`
	Ports      []Port `json:"ports,omitempty"`
}

// Port is a port of an RDMA device.
type Port struct {
	Number    int               `json:"number"`
	State     string            `json:"state,omitempty"`      // ACTIVE, INIT, DOWN
	PhysState string            `json:"phys_state,omitempty"` // LinkUp, Polling, Disabled
	RateGbps  *float64          `json:"rate_gbps,omitempty"`  // Gb/s
	LinkLayer string            `json:"link_layer,omitempty"` // InfiniBand or Ethernet
	NetDev    string            `json:"netdev,omitempty"`     // its network device, as rdma link and ibdev2netdev name it; in the kernel's facts the GID table does
	NetDevUp  *bool             `json:"netdev_up,omitempty"`  // of ibdev2netdev
	LID       *int              `json:"lid,omitempty"`
	SMLID     *int              `json:"sm_lid,omitempty"`
	ActiveMTU *int              `json:"active_mtu,omitempty"` // bytes; only verbs report it (ibv_devinfo)
	MaxMTU    *int              `json:"max_mtu,omitempty"`    // likewise
	Counters  map[string]uint64 `json:"counters,omitempty"`   // error counters since they were cleared (counters/, hw_counters/): those above 0, and LinkCounters
	PKeys     []string          `json:"pkeys,omitempty"`
	GIDs      []GID             `json:"gids,omitempty"` // non-zero entries
}

// LinkCounters are the error counters that every port has whose driver counts errors of the link (InfiniBand
// Architecture 1.4, 16.1.3.5). Facts have them at 0 too: one that is absent was not read.
func LinkCounters() []string {
	return []string{"excessive_buffer_overrun_errors", "link_downed", "local_link_integrity_errors"}
}

// GID is an entry of a port's GID table.
type GID struct {
	Index  int    `json:"index"`
	GID    string `json:"gid"`
	Type   string `json:"type,omitempty"` // "IB/RoCE v1", "RoCE v2"
	NetDev string `json:"netdev,omitempty"`
}

// GPU is an accelerator.
type GPU struct {
	PCI           string `json:"pci"`
	Vendor        string `json:"vendor"` // nvidia, amd
	Driver        string `json:"driver,omitempty"`
	Name          string `json:"name,omitempty"`           // nvidia-smi, rocm-smi
	UUID          string `json:"uuid,omitempty"`           // likewise
	DriverVersion string `json:"driver_version,omitempty"` // likewise, or /sys/module
	VBIOS         string `json:"vbios,omitempty"`

	Index  *int       `json:"index,omitempty"` // nvidia-smi's number of it
	Health *GPUHealth `json:"health,omitempty"`
	NVLink *NVLink    `json:"nvlink,omitempty"`
}

// PCIDevice is a PCI function as its configuration space and the kernel show it.
type PCIDevice struct {
	Address    string      `json:"address"` // domain:bus:device.function
	Parent     string      `json:"parent,omitempty"`
	Vendor     uint16      `json:"vendor"`
	Device     uint16      `json:"device"`
	Class      uint32      `json:"class"` // 24 bits: base class, subclass, interface
	Driver     string      `json:"driver,omitempty"`
	NUMANode   *int        `json:"numa_node,omitempty"` // -1: the firmware does not report it
	IOMMUGroup *int        `json:"iommu_group,omitempty"`
	Link       *PCILink    `json:"link,omitempty"`
	ACS        *ACS        `json:"acs,omitempty"`
	ATS        *ATS        `json:"ats,omitempty"`
	Control    *PCIControl `json:"control,omitempty"`
	// Regions are the memory regions (BAR 0 to 5) that lspci -v lists. Nil: not read.
	Regions []PCIRegion `json:"regions,omitempty"`
}

// PCIRegion is a memory region of a function.
type PCIRegion struct {
	Number   int  `json:"number"`
	Assigned bool `json:"assigned"` // firmware or kernel gave it an address
}

// Unassigned are the numbers of the regions without an address.
func (d *PCIDevice) Unassigned() []int {
	var out []int
	for _, r := range d.Regions {
		if !r.Assigned {
			out = append(out, r.Number)
		}
	}
	return out
}

// PCILink is the link above a function (for a port of a bridge: below it), now and at most.
// Speeds are in GT/s; 0 means that the hardware does not report it.
type PCILink struct {
	Speed    float64 `json:"speed"`
	Width    int     `json:"width"`
	MaxSpeed float64 `json:"max_speed"`
	MaxWidth int     `json:"max_width"`
}

// ACS is the Access Control Services capability of a PCI function (PCIe 5.0, 7.7.8).
// Nil means that configuration space could not be read far enough.
type ACS struct {
	Present    bool   `json:"present"`
	Capability uint16 `json:"capability,omitempty"`
	Control    uint16 `json:"control,omitempty"`
}

// Bits of the ACS control register (PCIe 5.0, 7.7.8.3).
const (
	ACSSourceValidation   = 1 << 0
	ACSRequestRedirect    = 1 << 2
	ACSCompletionRedirect = 1 << 3
	ACSUpstreamForwarding = 1 << 4
	ACSDirectTranslated   = 1 << 6
)

// ATS is the Address Translation Services capability of a PCI function (PCIe 5.0, 10.5.1).
type ATS struct {
	Present bool `json:"present"`
	Enabled bool `json:"enabled,omitempty"`
}

// PCIControl is the Device Control register of a PCI Express function (PCIe 5.0, 7.5.3.4).
type PCIControl struct {
	MaxPayload      int  `json:"max_payload"`      // bytes
	MaxReadRequest  int  `json:"max_read_request"` // bytes
	RelaxedOrdering bool `json:"relaxed_ordering"`
	ExtendedTag     bool `json:"extended_tag"`
}

// Route is a unicast route of any table.
type Route struct {
	Table       int          `json:"table"`
	Destination netip.Prefix `json:"destination"` // 0.0.0.0/0 for default
	Gateway     netip.Addr   `json:"gateway,omitzero"`
	NIC         string       `json:"nic,omitempty"`
	Source      netip.Addr   `json:"source,omitzero"` // preferred source
	Metric      int          `json:"metric,omitempty"`
	Protocol    int          `json:"protocol,omitempty"`
}

// Rule is a routing policy rule (ip rule).
type Rule struct {
	Priority int          `json:"priority"`
	From     netip.Prefix `json:"from,omitzero"`
	To       netip.Prefix `json:"to,omitzero"`
	NIC      string       `json:"iif,omitempty"`
	Table    int          `json:"table"`
}

// Neighbour is an entry of the ARP or ND table.
type Neighbour struct {
	NIC     string     `json:"nic"`
	Address netip.Addr `json:"address"`
	MAC     string     `json:"mac,omitempty"`
	State   string     `json:"state"` // REACHABLE, STALE, FAILED, ...
}

// LLDPNeighbour is what the far end of a cable announces about itself.
type LLDPNeighbour struct {
	NIC      string `json:"nic"`
	System   string `json:"system"` // system name TLV
	Port     string `json:"port"`   // port id TLV
	PortText string `json:"port_description,omitempty"`
	Source   string `json:"source"` // networkd, lldpd
}

// Module is a loaded kernel module.
type Module struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"` // of the loaded module, /sys/module/NAME/version
	OnDisk  string `json:"on_disk,omitempty"` // of the installed one, modinfo
	DKMS    string `json:"dkms,omitempty"`    // dkms status: installed, built, added
}

// Provider is a library by which verbs open the devices of an RDMA driver.
type Provider struct {
	Driver string `json:"driver"` // bnxt_re, mlx5, ...
	Path   string `json:"path"`
	Bytes  int    `json:"bytes,omitempty"` // of the file; 0: not read
}

// KernelLog contains the lines of the kernel's log about GPUs, NICs, PCIe and RDMA, the oldest
// left out. Nil means that the log could not be read; an empty list that nothing of it does.
type KernelLog struct {
	Lines []string `json:"lines"`         // at most 100, oldest first, without time stamps
	Cut   bool     `json:"cut,omitempty"` // there were more
}

// Disagreement is one fact that two sources report differently. The facts have the value of the first.
type Disagreement struct {
	What string     `json:"what"` // as in Missing
	Said []Evidence `json:"said"`
}
