package lab

import (
	"fmt"
	"slices"

	"railwright.dev/railwright/internal/fabric"
)

// cableSpec is what joins interfaces of two hosts: of a cable between ports with twins, one for each twin.
type cableSpec struct {
	A fabric.Endpoint `json:"a"`
	B fabric.Endpoint `json:"b"`
}

// oneBridge is the bridge that joins all ports of a leaf without subnets of its own, as RouterOS does by default.
const oneBridge = "bridge1"

// twinSpec derives the lab of machines whose ports have twins. A machine's interfaces are those of its cabled ports, with or
// without an address. On a leaf each twin has an interface of its own, of which all those of a port announce that port.
func twinSpec(p *fabric.Plan) (Spec, error) {
	s := Spec{Addresses: p.Addressing.Nodes, Twins: p.Ports, MTU: p.MTU}
	for _, n := range p.Nodes {
		h := hostSpec{Name: n.Name}
		for _, port := range p.PortsOf(n.Name) {
			for _, t := range port.Twins {
				h.NICs = append(h.NICs, t.NIC)
			}
		}
		s.Hosts = append(s.Hosts, h)
	}
	if len(p.Switches) > 0 {
		s.Leaf, s.Bridges = p.Switches[0].Name, []bridgeSpec{{Name: oneBridge}}
	}
	for _, link := range p.Cabling.Links {
		if err := fitting(link); err != nil {
			return Spec{}, err
		}
		if s.Leaf == "" {
			s.Cables = append(s.Cables, cableSpec{link.A, link.B})
			continue
		}
		s.Ports = append(s.Ports, s.twinPort(link))
	}
	return s, nil
}

// twinPort is the leaf's interface for a twin: the first has the name of the port.
func (s Spec) twinPort(l fabric.Link) portSpec {
	port := portSpec{Name: l.B.NIC, Cable: l.A, Bridge: oneBridge}
	nth := 1
	for _, p := range s.Ports {
		if p.Name == l.B.NIC || p.Says == l.B.NIC {
			nth++
		}
	}
	if nth == 1 {
		return port
	}
	port.Says = l.B.NIC
	if port.Name = fmt.Sprintf("%s+%d", l.B.NIC, nth); len(port.Name) > maxName {
		port.Name = fmt.Sprintf("twin%d", len(s.Ports)+1)
	}
	return port
}

// announced is what lldpd is told where a port announces another id than its name.
func (s Spec) announced() []fileSpec {
	var b []byte
	for _, p := range s.Ports {
		if p.Says != "" {
			b = fmt.Appendf(b, "configure ports %s lldp portidsubtype local %s\n", p.Name, p.Says)
		}
	}
	if len(b) == 0 {
		return nil
	}
	return []fileSpec{{"/etc/lldpd.d/twins.conf", 0o644, b}}
}

// portOf finds the port of an interface.
func (s Spec) portOf(nic fabric.Endpoint) (fabric.NodePort, bool) {
	i := slices.IndexFunc(s.Twins, func(p fabric.NodePort) bool {
		return p.Node == nic.Node && slices.ContainsFunc(p.Twins, func(t fabric.Twin) bool { return t.NIC == nic.NIC })
	})
	if i < 0 {
		return fabric.NodePort{}, false
	}
	return s.Twins[i], true
}

// Shape says of what a lab consists.
func (s Spec) Shape() string {
	hosts := fabric.Count(len(s.Hosts), "host")
	if s.Leaf == "" {
		return hosts + " cabled to each other"
	}
	return hosts + ", leaf " + s.Leaf
}
