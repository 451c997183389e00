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
}

// SwitchPort is a port of a switch with a cable in it.
type SwitchPort struct {
	Name     string       `json:"name"`               // as the switch's OS writes it
	Cage     string       `json:"cage,omitempty"`     // number of its cage as the OS counts it; empty: not in the catalog
	Breakout int          `json:"breakout,omitempty"` // ports into which the cage is split; 0: not in the catalog
	RateGbps float64      `json:"rate_gbps,omitempty"`
	Peer     Endpoint     `json:"peer"`             // at the far end of the cable
	Address  netip.Prefix `json:"address,omitzero"` // of the switch, where the port is routed
}
