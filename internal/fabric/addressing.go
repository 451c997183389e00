package fabric

import "net/netip"

// Scheme is how the NICs of a fabric are given addresses.
type Scheme string

// The addressing schemes.
const (
	P2P31  Scheme = "p2p31"  // a /31 per cable: the even address on the switch, the odd one on the host
	Rail24 Scheme = "rail24" // a /24 per rail and leaf, the gateway at .254
	Flat   Scheme = "flat"   // one subnet for all, kept sane by arp_ignore and arp_announce
	Twin24 Scheme = "twin24" // DGX Spark: a /24 per twin of a cable, or of all cables to a switch; nothing is routed
	None   Scheme = "none"   // InfiniBand: the subnet manager assigns LIDs
)

// Addressing is the part of a plan with the addresses.
type Addressing struct {
	Scheme  Scheme          `json:"scheme"`
	Pool    netip.Prefix    `json:"pool,omitzero"`
	Nodes   []NodeAddresses `json:"nodes,omitempty"`
	Subnets []Subnet        `json:"subnets,omitempty"` // with rail24, flat and twin24; a /31 is listed with its NIC
}

// Subnet is an IP subnet that several NICs share on one switch.
type Subnet struct {
	Prefix  netip.Prefix `json:"prefix"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Switch  string       `json:"switch,omitempty"`
	Rail    int          `json:"rail,omitempty"` // 1-based; 0: all rails
}

// NodeAddresses are the addresses of one node, in rail order.
type NodeAddresses struct {
	Node string       `json:"node"`
	NICs []NICAddress `json:"nics"`
}

// NICAddress is the address of one NIC with what routes its traffic: a rule `from Address` to Table,
// whose default leaves by this NIC to Gateway.
type NICAddress struct {
	NIC     string       `json:"nic"`
	Rail    int          `json:"rail"` // 1-based
	Address netip.Prefix `json:"address"`
	Gateway netip.Addr   `json:"gateway,omitzero"`
	Table   int          `json:"table,omitempty"` // 0: it has none, and its own subnet is all that it reaches
}

// RulePriority is the priority of the NIC's source rule: before the main table (32766, ip-rule(8)) and
// clear of what container networks and VPNs use (below 6000).
func (a NICAddress) RulePriority() int { return 10000 + a.Table }

// ByNode returns the addresses of each node by its name.
func (a Addressing) ByNode() map[string]NodeAddresses {
	m := make(map[string]NodeAddresses, len(a.Nodes))
	for _, n := range a.Nodes {
		m[n.Node] = n
	}
	return m
}
