package fabric

import "slices"

// NodePort is a cabled port of a machine each of whose ports is served by several PCI functions. On a DGX Spark these are two,
// called twins: each has a PCIe link, an interface and an RDMA device of its own, and together they carry the rate of the port.
type NodePort struct {
	Node   string `json:"node"`
	Number int    `json:"number"` // from 0, as on the machine's back
	Twins  []Twin `json:"twins"`  // in PCI order
}

// Twin is one of the PCI functions behind a port.
type Twin struct {
	PCI  string `json:"pci"`            // address with its domain: 0002:01:00.0
	NIC  string `json:"nic"`            // network interface
	HCA  string `json:"hca"`            // RDMA device
	Bare bool   `json:"bare,omitempty"` // the plan gives it no address: it has a link-local one, and the MTU
}

// Wiring is how machines are cabled whose ports have twins.
type Wiring string

// The wirings.
const (
	WiredPair   Wiring = "pair"   // two machines, joined by one cable or two
	WiredRing   Wiring = "ring"   // three or more: port 0 of each to port 1 of the next; of three it is a mesh
	WiredSwitch Wiring = "switch" // each to a switch
	WiredChain  Wiring = "chain"  // a ring with one cable missing: predicted, never planned
)

// Wiring returns how the machines are cabled; empty for one alone, and for those whose ports have no twins.
func (p *Plan) Wiring() Wiring {
	switch {
	case len(p.Cabling.Links) == 0 || len(p.Ports) == 0:
		return ""
	case len(p.Switches) > 0:
		return WiredSwitch
	case len(p.Nodes) == 2:
		return WiredPair
	}
	return WiredRing
}

// PortsOf returns the cabled ports of a node, by their number.
func (p *Plan) PortsOf(node string) []NodePort {
	var of []NodePort
	for _, port := range p.Ports {
		if port.Node == node {
			of = append(of, port)
		}
	}
	return of
}

// PortOf finds the port of an interface.
func (p *Plan) PortOf(e Endpoint) (NodePort, bool) {
	i := slices.IndexFunc(p.Ports, func(port NodePort) bool {
		return port.Node == e.Node && slices.ContainsFunc(port.Twins, func(t Twin) bool { return t.NIC == e.NIC })
	})
	if i < 0 {
		return NodePort{}, false
	}
	return p.Ports[i], true
}
