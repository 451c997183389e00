package check

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// NodePlan is the part of a plan that concerns one node.
type NodePlan struct {
	MTU       int // bytes
	Transport fabric.Transport
	NICs      []string // in rail order
	Addresses []fabric.NICAddress
	Links     []fabric.Link

	index *planIndex
}

// planIndex finds in a plan what rules ask for, by node, by switch port and by address.
type planIndex struct {
	plan  *fabric.Plan
	nodes map[string]*NodePlan
	ports map[fabric.Endpoint]fabric.Endpoint // switch port to the NIC planned for it
	owner map[netip.Addr]fabric.Endpoint      // address to the NIC planned for it
}

func newPlanIndex(p *fabric.Plan) *planIndex {
	if p == nil {
		return nil
	}
	x := &planIndex{
		plan:  p,
		nodes: make(map[string]*NodePlan, len(p.Nodes)),
		ports: make(map[fabric.Endpoint]fabric.Endpoint, len(p.Cabling.Links)),
		owner: make(map[netip.Addr]fabric.Endpoint, len(p.Cabling.Links)),
	}
	for _, n := range p.Nodes {
		x.nodes[n.Name] = &NodePlan{MTU: p.MTU, Transport: p.Transport, NICs: n.NICs, index: x}
	}
	for _, a := range p.Addressing.Nodes {
		if n := x.nodes[a.Node]; n != nil {
			n.Addresses = a.NICs
		}
		for _, nic := range a.NICs {
			x.owner[nic.Address.Addr()] = fabric.Endpoint{Node: a.Node, NIC: nic.NIC}
		}
	}
	for _, l := range p.Cabling.Links {
		if n := x.nodes[l.A.Node]; n != nil {
			n.Links = append(n.Links, l)
		}
		x.ports[l.B] = l.A
	}
	return x
}

func (x *planIndex) node(name string) *NodePlan {
	if x == nil {
		return nil
	}
	return x.nodes[name]
}

// ownerOf names the NIC for which an address is planned.
func (x *planIndex) ownerOf(a netip.Addr) (fabric.Endpoint, bool) {
	if x == nil {
		return fabric.Endpoint{}, false
	}
	e, ok := x.owner[a]
	return e, ok
}

// address finds what is planned for a NIC.
func (p *NodePlan) address(nic string) (fabric.NICAddress, bool) {
	for _, a := range p.Addresses {
		if a.NIC == nic {
			return a, true
		}
	}
	return fabric.NICAddress{}, false
}
