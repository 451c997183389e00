package lab

import (
	"fmt"
	"net/netip"
	"slices"

	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/host"
)

// Spec is what the keeper builds.
type Spec struct {
	Hosts   []hostSpec   `json:"hosts"`
	Leaf    string       `json:"leaf"` // empty: the hosts are cabled to each other
	Ports   []portSpec   `json:"ports"`
	Bridges []bridgeSpec `json:"bridges,omitempty"`

	MTU      int  `json:"mtu"`                // bytes, as planned
	Stranger bool `json:"stranger,omitempty"` // a machine that is not in the plan

	Cables []cableSpec       `json:"cables,omitempty"` // between hosts, where there is no leaf
	Twins  []fabric.NodePort `json:"twins,omitempty"`  // ports of hosts, where each has several interfaces

	Admin bool                  `json:"admin,omitempty"` // a management network with a machine on it
	Files map[string][]fileSpec `json:"files,omitempty"` // by machine

	Addresses []fabric.NodeAddresses `json:"addresses"` // as planned: faults deviate from them
}

type hostSpec struct {
	Name string   `json:"name"`
	NICs []string `json:"nics"`
}

// portSpec is a port of the leaf: routed with an address of its own, or in a bridge.
type portSpec struct {
	Name    string          `json:"name"`
	Cable   fabric.Endpoint `json:"cable"`
	Address netip.Prefix    `json:"address,omitzero"`
	Bridge  string          `json:"bridge,omitempty"`
	Says    string          `json:"says,omitempty"` // the port id that it announces by LLDP; empty: its name
}

type bridgeSpec struct {
	Name    string       `json:"name"`
	Address netip.Prefix `json:"address,omitzero"`
}

// leafMTU is the MTU of the leaf's ports, in bytes: what the switches of the source documents are set to
// where hosts use 9000 (9216: Dell Z9664F and Juniper QFX5240).
const leafMTU = 9216

// maxName is the longest name of a Linux interface, in bytes (IFNAMSIZ less its closing zero).
const maxName = 15

// NewSpec derives the lab of a plan. A plan that namespaces cannot show is an error.
func NewSpec(p *fabric.Plan) (Spec, error) {
	if p.Transport != fabric.RoCE {
		return Spec{}, fmt.Errorf("lab: fabric %q cannot be built from network namespaces: only %q can", p.Transport, fabric.RoCE)
	}
	if len(p.Ports) > 0 {
		return twinSpec(p)
	}
	if len(p.Switches) != 1 {
		return Spec{}, fmt.Errorf("lab: the plan has %d leaves: the lab builds one, so at most as many hosts as one leaf has ports for", leaves(p))
	}
	s := Spec{Leaf: p.Switches[0].Name, Addresses: p.Addressing.Nodes, MTU: p.MTU}
	for _, n := range p.Nodes {
		s.Hosts = append(s.Hosts, hostSpec{Name: n.Name, NICs: n.NICs})
	}
	for i, subnet := range p.Addressing.Subnets {
		b := bridgeSpec{Name: fmt.Sprintf("rail%d", i+1)}
		if subnet.Gateway.IsValid() {
			b.Address = netip.PrefixFrom(subnet.Gateway, subnet.Prefix.Bits())
		}
		s.Bridges = append(s.Bridges, b)
	}
	for _, link := range p.Cabling.Links {
		if err := fitting(link); err != nil {
			return Spec{}, err
		}
		port := portSpec{Name: link.B.NIC, Cable: link.A}
		nic, ok := s.address(link.A)
		if !ok {
			return Spec{}, fmt.Errorf("lab: cable %s has no address in the plan", link.A)
		}
		port.Address, port.Bridge = s.leafSide(p.Addressing, nic)
		s.Ports = append(s.Ports, port)
	}
	return s, nil
}

// fitting is an error where an end of a cable has a name that no interface can have.
func fitting(l fabric.Link) error {
	if len(l.B.NIC) > maxName || len(l.A.NIC) > maxName {
		return fmt.Errorf("lab: cable %s to %s: an interface name has at most %d bytes", l.A, l.B, maxName)
	}
	return nil
}

func leaves(p *fabric.Plan) (n int) {
	for _, s := range p.Switches {
		if s.Role != fabric.Spine {
			n++
		}
	}
	return n
}

// leafSide returns the leaf's port for a NIC: the gateway's own address on a /31, or the bridge of its subnet.
func (s Spec) leafSide(a fabric.Addressing, nic fabric.NICAddress) (netip.Prefix, string) {
	for i, subnet := range a.Subnets {
		if subnet.Prefix.Contains(nic.Address.Addr()) {
			return netip.Prefix{}, s.Bridges[i].Name
		}
	}
	return netip.PrefixFrom(nic.Gateway, nic.Address.Bits()), ""
}

// layHardware adds the recording to every host.
func (s *Spec) layHardware(recording []byte) {
	if len(recording) == 0 {
		return
	}
	if s.Files == nil {
		s.Files = make(map[string][]fileSpec)
	}
	for _, h := range s.Hosts {
		s.Files[h.Name] = append(s.Files[h.Name], fileSpec{host.HardwareFile, 0o644, recording})
	}
}

func (s Spec) address(nic fabric.Endpoint) (fabric.NICAddress, bool) {
	for _, n := range s.Addresses {
		if n.Node != nic.Node {
			continue
		}
		i := slices.IndexFunc(n.NICs, func(a fabric.NICAddress) bool { return a.NIC == nic.NIC })
		if i >= 0 {
			return n.NICs[i], true
		}
	}
	return fabric.NICAddress{}, false
}

func (s Spec) port(cable fabric.Endpoint) (portSpec, bool) {
	i := slices.IndexFunc(s.Ports, func(p portSpec) bool { return p.Cable == cable })
	if i < 0 {
		return portSpec{}, false
	}
	return s.Ports[i], true
}

// neighbours is how many entries the neighbour tables of all namespaces hold together when every NIC
// has talked to every other: on a subnet each member knows all others; on a /31 each side knows one.
func (s Spec) neighbours() int {
	members := make(map[string]int)
	total := 2 * len(s.Cables)
	for _, p := range s.Ports {
		if p.Bridge == "" {
			total += 2
			continue
		}
		members[p.Bridge]++
	}
	for _, n := range members {
		total += n * (n + 1)
	}
	return total
}
