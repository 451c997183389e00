package fabric

import "net/netip"

// Plan is everything that follows from the cluster file and the facts. The same input gives the same plan.
type Plan struct {
	Meta
	Name       string     `json:"name"`
	Platform   string     `json:"platform"`
	Launcher   string     `json:"launcher"`
	Transport  Transport  `json:"transport"`
	MTU        int        `json:"mtu"`                // bytes, of every NIC of the fabric
	Partition  PKey       `json:"partition,omitzero"` // InfiniBand: every port is to be a full member of it
	Nodes      []Node     `json:"nodes"`
	Switches   []Switch   `json:"switches,omitempty"`
	Addressing Addressing `json:"addressing"`
	Cabling    Cabling    `json:"cabling"`
	Notes      []string   `json:"notes,omitempty"` // what this plan leaves out, in words
}

// Transport is the RDMA transport of a fabric.
type Transport string

// The transports that a cluster file can ask for.
const (
	RoCE       Transport = "roce"
	InfiniBand Transport = "infiniband"
)

// Node is a machine of the cluster.
type Node struct {
	Name    string   `json:"name"`
	Machine string   `json:"machine,omitempty"` // id in the catalog
	NICs    []string `json:"nics"`              // of the fabric, in rail order
}

// Role says where in a fabric a switch stands.
type Role string

// The two tiers of a fabric.
const (
	Leaf  Role = "leaf"
	Spine Role = "spine"
)

// Switch is a switch of the fabric.
type Switch struct {
	Name  string `json:"name"`
	Role  Role   `json:"role"`
	Model string `json:"model"` // id in the catalog
	OS    string `json:"os,omitempty"`
	Ports int    `json:"ports"` // used towards hosts
}

// Scheme is how the NICs of a fabric get addresses.
type Scheme string

// The addressing schemes.
const (
	P2P31  Scheme = "p2p31"  // a /31 a cable: the even address on the switch, the odd one on the host
	Rail24 Scheme = "rail24" // a /24 a rail and leaf, the gateway at .254
	Flat   Scheme = "flat"   // one subnet for all, kept sane by arp_ignore and arp_announce
	None   Scheme = "none"   // InfiniBand: the subnet manager gives LIDs
)

// Addressing is the part of a plan that gives addresses.
type Addressing struct {
	Scheme  Scheme          `json:"scheme"`
	Pool    netip.Prefix    `json:"pool,omitzero"`
	Nodes   []NodeAddresses `json:"nodes,omitempty"`
	Subnets []Subnet        `json:"subnets,omitempty"` // with rail24 and flat; a /31 stands with its NIC
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
	Table   int          `json:"table"`
}

// RulePriority is the priority of the NIC's source rule: before the main table (32766, ip-rule(8)) and
// clear of what container networks and VPNs use (below 6000).
func (a NICAddress) RulePriority() int { return 10000 + a.Table }

// ByNode finds the addresses of each node by its name.
func (a Addressing) ByNode() map[string]NodeAddresses {
	m := make(map[string]NodeAddresses, len(a.Nodes))
	for _, n := range a.Nodes {
		m[n.Node] = n
	}
	return m
}

// Endpoint is one end of a cable or of a test: an interface of a node, or a port of a switch.
type Endpoint struct {
	Node string `json:"node"`
	NIC  string `json:"nic"`
}

// String writes node:nic.
func (e Endpoint) String() string { return e.Node + ":" + e.NIC }

// Link is a cable: A is the node's end, B the switch's.
type Link struct {
	A    Endpoint `json:"a"`
	B    Endpoint `json:"b"`
	Rail int      `json:"rail"` // 1-based
}

// Cabling is the part of a plan that says which port goes to which, in node and rail order.
type Cabling struct {
	Links []Link `json:"links,omitempty"`
}

// ByNode finds the cables of each node by its name.
func (c Cabling) ByNode() map[string][]Link {
	m := make(map[string][]Link)
	for _, l := range c.Links {
		m[l.A.Node] = append(m[l.A.Node], l)
	}
	return m
}

// Artifact is a rendered file for one target.
type Artifact struct {
	Target  string `json:"target"`            // node or switch
	Path    string `json:"path"`              // absolute, on the target
	Mode    uint32 `json:"mode"`              // permission bits
	SHA256  string `json:"sha256"`            // of Content, hexadecimal
	File    string `json:"file"`              // where it lies below the folder of a render
	Content []byte `json:"content,omitempty"` // absent in an index
}

// Index lists what was rendered, sorted by target and path. Its own SHA-256 names the whole.
type Index struct {
	Meta
	Artifacts []Artifact `json:"artifacts"`
}
