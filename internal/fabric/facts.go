package fabric

import "net/netip"

// Facts is what one node said of itself at one moment. A fact that may be absent is a pointer or
// an empty list, and Missing then says why; a rule that meets it is unknown with that reason.
type Facts struct {
	Meta
	Node       string            `json:"node"`
	Collected  string            `json:"collected,omitempty"` // RFC 3339, UTC
	Platform   string            `json:"platform,omitempty"`  // "lab" inside a lab host, else empty
	Source     string            `json:"source"`              // live, recorded, tree, catalog
	Kernel     Kernel            `json:"kernel"`
	Machine    Machine           `json:"machine"`
	NICs       []NIC             `json:"nics,omitempty"`
	HCAs       []HCA             `json:"hcas,omitempty"`
	GPUs       []GPU             `json:"gpus,omitempty"`
	PCI        []PCIDevice       `json:"pci,omitempty"` // GPUs, NICs, NVSwitches and every bridge above them
	Routes     []Route           `json:"routes,omitempty"`
	Rules      []Rule            `json:"rules,omitempty"`
	Neighbours []Neighbour       `json:"neighbours,omitempty"`
	LLDP       []LLDPNeighbour   `json:"lldp,omitempty"`
	Sysctls    map[string]string `json:"sysctls,omitempty"`
	Modules    []Module          `json:"modules,omitempty"`
	Missing    []Missing         `json:"missing,omitempty"`
}

// Missing says that a fact could not be read. What is a path into Facts (nics, pci.acs, lldp),
// with the device behind a blank where only one is concerned.
type Missing struct {
	What   string `json:"what"`
	Source string `json:"source"`
	Reason string `json:"reason"`
}

// MissingReason finds why a fact is absent; ok is false where nothing says so.
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
	Release     string  `json:"release,omitempty"`      // uname -r
	CommandLine *string `json:"command_line,omitempty"` // /proc/cmdline
}

// Machine is the computer as its firmware names it.
type Machine struct {
	Vendor         *string `json:"vendor,omitempty"`        // /sys/class/dmi/id/sys_vendor
	Product        *string `json:"product,omitempty"`       // /sys/class/dmi/id/product_name
	Hypervisor     *bool   `json:"hypervisor,omitempty"`    // true inside a virtual machine: CPU flag "hypervisor"
	IOMMUGroups    *int    `json:"iommu_groups,omitempty"`  // 0: no IOMMU in use
	IOMMUMode      *string `json:"iommu_mode,omitempty"`    // off, passthrough, translated
	NUMANodes      *int    `json:"numa_nodes,omitempty"`    // online
	MemlockLimit   *string `json:"memlock_limit,omitempty"` // of the collecting process: bytes or unlimited
	NetworkManager *string `json:"network_owner,omitempty"` // networkd or NetworkManager, where one runs
}

// NIC is a network interface of a node.
type NIC struct {
	Name        string         `json:"name"`
	Index       int            `json:"index"`
	MAC         string         `json:"mac,omitempty"`
	MTU         int            `json:"mtu"`       // bytes
	OperState   string         `json:"operstate"` // up, down, lowerlayerdown, ... (RFC 2863)
	Carrier     *bool          `json:"carrier,omitempty"`
	SpeedMbps   *int           `json:"speed_mbps,omitempty"` // Mb/s
	Kind        string         `json:"kind,omitempty"`       // rtnetlink kind (veth, bridge); empty for hardware
	Driver      string         `json:"driver,omitempty"`
	PCI         string         `json:"pci,omitempty"` // address of the function, empty for virtual ones
	Addresses   []netip.Prefix `json:"addresses,omitempty"`
	ARPIgnore   *int           `json:"arp_ignore,omitempty"`   // in force: the higher of conf/all and conf/NIC
	ARPAnnounce *int           `json:"arp_announce,omitempty"` // likewise
}

// HCA is an RDMA device.
type HCA struct {
	Name     string `json:"name"`
	NodeGUID string `json:"node_guid,omitempty"`
	Firmware string `json:"firmware,omitempty"`
	BoardID  string `json:"board_id,omitempty"`
	Driver   string `json:"driver,omitempty"`
	PCI      string `json:"pci,omitempty"`
	Ports    []Port `json:"ports,omitempty"`
}

// Port is a port of an RDMA device.
type Port struct {
	Number    int      `json:"number"`
	State     string   `json:"state,omitempty"`      // ACTIVE, INIT, DOWN
	PhysState string   `json:"phys_state,omitempty"` // LinkUp, Polling, Disabled
	RateGbps  *float64 `json:"rate_gbps,omitempty"`  // Gb/s
	LinkLayer string   `json:"link_layer,omitempty"` // InfiniBand or Ethernet
	LID       *int     `json:"lid,omitempty"`
	SMLID     *int     `json:"sm_lid,omitempty"`
	PKeys     []string `json:"pkeys,omitempty"`
	GIDs      []GID    `json:"gids,omitempty"` // non-zero entries
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
	PCI    string `json:"pci"`
	Vendor string `json:"vendor"` // nvidia, amd
	Driver string `json:"driver,omitempty"`
}

// PCIDevice is a PCI function as its configuration space and the kernel show it.
type PCIDevice struct {
	Address    string   `json:"address"` // domain:bus:device.function
	Parent     string   `json:"parent,omitempty"`
	Vendor     uint16   `json:"vendor"`
	Device     uint16   `json:"device"`
	Class      uint32   `json:"class"` // 24 bits: base class, subclass, interface
	Driver     string   `json:"driver,omitempty"`
	NUMANode   *int     `json:"numa_node,omitempty"` // -1: the firmware did not say
	IOMMUGroup *int     `json:"iommu_group,omitempty"`
	Link       *PCILink `json:"link,omitempty"`
	ACS        *ACS     `json:"acs,omitempty"`
	ATS        *ATS     `json:"ats,omitempty"`
}

// PCILink is the link above a function (for a port of a bridge: below it), now and at most.
// Speeds are in GT/s; 0 means that the hardware does not say.
type PCILink struct {
	Speed    float64 `json:"speed"`
	Width    int     `json:"width"`
	MaxSpeed float64 `json:"max_speed"`
	MaxWidth int     `json:"max_width"`
}

// ACS is the Access Control Services capability of a PCI function (PCIe 5.0, 7.7.8).
// Nil means that configuration space could not be read far enough to tell.
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

// LLDPNeighbour is what the far end of a cable says of itself.
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
	Version string `json:"version,omitempty"`
}
