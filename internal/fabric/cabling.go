package fabric

// Endpoint is one end of a cable or of a test: an interface of a node, or a port of a switch.
type Endpoint struct {
	Node string `json:"node"`
	NIC  string `json:"nic"`
}

// String writes node:nic.
func (e Endpoint) String() string { return e.Node + ":" + e.NIC }

// Link is a cable: A is the node's end, B the switch's, or that of another node where there is no switch. A cable between ports
// with twins is a link for each twin. Rail is 0 where a cable carries all rails.
type Link struct {
	A    Endpoint `json:"a"`
	B    Endpoint `json:"b"`
	Rail int      `json:"rail"` // 1-based
}

// Cabling is the part of a plan that lists which port is connected to which. Links are those of the NICs, in node and rail
// order.
type Cabling struct {
	Links   []Link `json:"links,omitempty"`
	Uplinks []Link `json:"uplinks,omitempty"` // between switches: A is the leaf's end, B the spine's; by leaf, then by spine

	Bill []CableLot `json:"bill,omitempty"` // of cables and optics
}

// ByNode returns the cables of each node by its name.
func (c Cabling) ByNode() map[string][]Link {
	m := make(map[string][]Link)
	for _, l := range c.Links {
		m[l.A.Node] = append(m[l.A.Node], l)
	}
	return m
}
