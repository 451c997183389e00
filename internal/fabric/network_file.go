package fabric

import "net/netip"

// NetworkFile is a file of netplan that configures interfaces, as it stands on a node or in a text about it.
type NetworkFile struct {
	Path       string             `json:"path,omitempty"`     // empty: the text does not name it
	Renderer   string             `json:"renderer,omitempty"` // networkd, NetworkManager; empty: netplan's own default, networkd
	Interfaces []NetworkInterface `json:"interfaces"`
}

// NetworkInterface is what such a file says of an interface.
type NetworkInterface struct {
	Name      string         `json:"name"`
	Addresses []netip.Prefix `json:"addresses,omitempty"`
	MTU       *int           `json:"mtu,omitempty"`   // bytes; nil: not set, so that the kernel's 1500 stays
	DHCP4     *bool          `json:"dhcp4,omitempty"` // nil: not set, which is off
	LinkLocal []string       `json:"link_local"`      // ipv4, ipv6; netplan's own default is ipv6
}

// HotPlug is how a DGX Spark treats its NIC while no QSFP cable is plugged: DGX OS 7.5 and later take the NIC from PCI
// then, to save power.
type HotPlug struct {
	Enabled *bool  `json:"enabled,omitempty"` // /etc/nvidia/cx7-hotplug-enabled, hotplug_enabled of the driver cx7-pcie-hotplug
	Last    string `json:"last,omitempty"`    // the last event in the kernel's log: plugin, removal
}

// WorkerNodes is the entry of Facts.NCCL with the other nodes of a job, where a launcher prints them: names or addresses,
// separated by commas.
const WorkerNodes = "WORKER_NODES"
