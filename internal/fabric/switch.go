package fabric

import "net/netip"

// Role is the tier of a switch in a fabric.
type Role string

// The two tiers of a fabric.
const (
	Leaf  Role = "leaf"
	Spine Role = "spine"
)

// Switch is a switch of the fabric.
type Switch struct {
	Name  string       `json:"name"`
	Role  Role         `json:"role"`
	Model string       `json:"model"` // id in the catalog
	OS    string       `json:"os,omitempty"`
	MTU   int          `json:"mtu,omitempty"` // bytes of the largest IP packet of its ports; 0: it forwards no IP (InfiniBand)
	Ports []SwitchPort `json:"ports"`         // in use, in the order of the switch
	VLANs []VLAN       `json:"vlans,omitempty"`
	BGP   *BGP         `json:"bgp,omitempty"` // nil: it knows no other switch

	BufferBytes  int64  `json:"buffer_bytes,omitempty"` // shared by all ports; 0: not in the catalog
	BufferSource string `json:"buffer_source,omitempty"`
}

// SwitchPort is a port of a switch with a cable in it.
type SwitchPort struct {
	Name     string       `json:"name"`               // as the switch's OS writes it
	Cage     string       `json:"cage,omitempty"`     // number of its cage as the OS counts it; empty: not in the catalog
	Breakout int          `json:"breakout,omitempty"` // ports into which the cage is split; 0: not in the catalog
	Lanes    int          `json:"lanes,omitempty"`    // of its signal; 0: not in the catalog
	RateGbps float64      `json:"rate_gbps,omitempty"`
	Peer     Endpoint     `json:"peer"`             // at the far end of the cable
	Address  netip.Prefix `json:"address,omitzero"` // of the switch, where the port is routed
	VLAN     int          `json:"vlan,omitempty"`   // of packets without a tag, where the port is not routed; 0: the plan has none
	Uplink   bool         `json:"uplink,omitempty"` // to another switch
}

// VLAN is a layer 2 network of one switch: one for each rail, or one for all.
type VLAN struct {
	ID      int          `json:"id"` // 2 to 4094: 1 is the one of every port that nobody set
	Name    string       `json:"name"`
	Gateway netip.Prefix `json:"gateway,omitzero"` // address of the switch in it
	Rail    int          `json:"rail,omitempty"`   // 1-based; 0: all rails
}

// BGP is how a switch exchanges routes with others: external BGP over the addresses of its uplinks.
type BGP struct {
	ASN        uint32         `json:"asn"`
	RouterID   netip.Addr     `json:"router_id"`
	Networks   []netip.Prefix `json:"networks,omitempty"` // that it announces: the subnets of its NICs
	Neighbours []BGPNeighbour `json:"neighbours"`
}
