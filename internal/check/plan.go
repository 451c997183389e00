package check

import (
	"maps"
	"net/netip"

	"railwright.dev/railwright/internal/cables"
	"railwright.dev/railwright/internal/fabric"
)

// NodePlan is the part of a plan that concerns one node.
type NodePlan struct {
	MTU       int // bytes
	Transport fabric.Transport
	Partition fabric.PKey
	NICs      []string // in rail order
	Addresses []fabric.NICAddress
	Links     []fabric.Link
	Machine   *fabric.NominalMachine // nil where the cluster file names none
	Network   fabric.Network
	Ports     []fabric.NodePort // cabled ones, where those of the machine have twins
	Traffic   *fabric.Traffic   // nil where the cluster file has no traffic classes

	index *planIndex
}

// planIndex is a plan indexed by node, by switch port and by address.
type planIndex struct {
	plan   *fabric.Plan
	nodes  map[string]*NodePlan
	ports  map[fabric.Endpoint]int32 // switch port to its cable, among those of the plan
	owner  map[netip.Addr][2]int32   // address to its node and NIC, among the addresses of the plan
	span   netip.Prefix              // the least subnet with every planned address of version 4; invalid where there is none
	share  map[netip.Prefix]int      // NICs in each subnet; nil where every subnet is a cable
	cables cables.Harness            // of ports with twins
}

func newPlanIndex(p *fabric.Plan) *planIndex {
	if p == nil {
		return nil
	}
	x := &planIndex{
		plan:  p,
		nodes: make(map[string]*NodePlan, len(p.Nodes)),
		ports: make(map[fabric.Endpoint]int32, len(p.Cabling.Links)),
		owner: make(map[netip.Addr][2]int32, len(p.Cabling.Links)),
	}
	machines := make(map[string]*fabric.NominalMachine, len(p.Machines))
	for i := range p.Machines {
		machines[p.Machines[i].ID] = &p.Machines[i]
	}
	for _, n := range p.Nodes {
		x.nodes[n.Name] = &NodePlan{MTU: p.MTU, Transport: p.Transport, Partition: p.Partition, NICs: n.NICs, Network: n.Network, Machine: machines[n.Machine], Traffic: p.Traffic, Ports: p.PortsOf(n.Name), index: x}
	}
	for i, a := range p.Addressing.Nodes {
		if n := x.nodes[a.Node]; n != nil {
			n.Addresses = a.NICs
		}
		for k, nic := range a.NICs {
			x.owner[nic.Address.Addr()] = [2]int32{int32(i), int32(k)}
		}
	}
	x.cables = cables.New(p)
	x.span = spanOf(maps.Keys(x.owner))
	x.share = sharedSubnets(p.Addressing)
	for i, l := range p.Cabling.Links {
		x.ports[l.B] = int32(i)
	}
	x.cable(p.Cabling.Links)
	return x
}

// cable gives each node its cables. Those of a node mostly lie beside each other, and are not copied.
func (x *planIndex) cable(links []fabric.Link) {
	for i := 0; i < len(links); {
		name, end := links[i].A.Node, i
		for end < len(links) && links[end].A.Node == name {
			end++
		}
		if n := x.nodes[name]; n != nil && n.Links == nil {
			n.Links = links[i:end:end]
		} else if n != nil {
			n.Links = append(n.Links, links[i:end]...)
		}
		i = end
	}
}

// intent returns the plan itself; nil without a cluster file.
func (x *planIndex) intent() *fabric.Plan {
	if x == nil {
		return nil
	}
	return x.plan
}

func (x *planIndex) node(name string) *NodePlan {
	if x == nil {
		return nil
	}
	return x.nodes[name]
}

// ownerOf returns the NIC that an address is planned for.
func (x *planIndex) ownerOf(a netip.Addr) (fabric.Endpoint, bool) {
	if x == nil {
		return fabric.Endpoint{}, false
	}
	at, ok := x.owner[a]
	if !ok {
		return fabric.Endpoint{}, false
	}
	n := &x.plan.Addressing.Nodes[at[0]]
	return fabric.Endpoint{Node: n.Node, NIC: n.NICs[at[1]].NIC}, true
}

// nicAt returns the NIC that is planned for a port of a switch.
func (x *planIndex) nicAt(port fabric.Endpoint) (fabric.Endpoint, bool) {
	i, ok := x.ports[port]
	if !ok {
		return fabric.Endpoint{}, false
	}
	return x.plan.Cabling.Links[i].A, true
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

func sharedSubnets(a fabric.Addressing) map[netip.Prefix]int {
	if a.Scheme == fabric.P2P31 || a.Scheme == fabric.None {
		return nil
	}
	share := make(map[netip.Prefix]int, len(a.Subnets))
	for _, n := range a.Nodes {
		for _, nic := range n.NICs {
			share[nic.Address.Masked()]++
		}
	}
	return share
}

// neighbours counts the entries that the node's neighbour table can come to: for each of its NICs the gateway
// and every NIC of other nodes in the same subnet. The kernel keeps a separate entry for each NIC.
func (p *NodePlan) neighbours() int {
	total := 0
	for _, a := range p.Addresses {
		if a.Gateway.IsValid() {
			total++
		}
		subnet := a.Address.Masked()
		others := p.index.share[subnet]
		for _, own := range p.Addresses {
			if others > 0 && own.Address.Masked() == subnet {
				others--
			}
		}
		total += others
	}
	return total
}
