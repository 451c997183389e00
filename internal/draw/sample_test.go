package draw

import (
	"fmt"

	"railwright.dev/railwright/internal/fabric"
)

// samplePlan has hosts of NICs each. Every perLeaf hosts share the leaves of their pod: one leaf, or one a
// rail.
func samplePlan(hosts, nics, perLeaf int, byRail bool) *fabric.Plan {
	p := &fabric.Plan{Name: "pod1", Transport: fabric.RoCE, MTU: 9000}
	for h := range hosts {
		n := fabric.Node{Name: fmt.Sprintf("host%d", h+1), Machine: "xe9680-mi300x-thor2"}
		for i := range nics {
			leaf, port := fmt.Sprintf("leaf%d", h/perLeaf+1), h%perLeaf*nics+i
			if byRail {
				leaf, port = fmt.Sprintf("leaf%d", h/perLeaf*nics+i+1), h%perLeaf
			}
			nic := fmt.Sprintf("eth%d", i+1)
			n.NICs = append(n.NICs, nic)
			p.Cabling.Links = append(p.Cabling.Links, fabric.Link{
				A: fabric.Endpoint{Node: n.Name, NIC: nic}, B: fabric.Endpoint{Node: leaf, NIC: fmt.Sprintf("Ethernet%d", port)}, Rail: i + 1,
			})
		}
		p.Nodes = append(p.Nodes, n)
	}
	p.Switches = switchesOf(p, nil)
	for i := range p.Switches {
		p.Switches[i].Model = "z9664f"
	}
	return p
}

// sampleMesh is the mesh of a plan in which everything is answered; change edits a pair.
func sampleMesh(p *fabric.Plan, change func(*fabric.Measurement)) *fabric.Mesh {
	m := &fabric.Mesh{}
	for a, from := range p.Nodes {
		for i, nic := range from.NICs {
			for b, to := range p.Nodes {
				for j, peer := range to.NICs {
					if a == b {
						continue
					}
					echo := fabric.Echo{Bytes: 84, RTTMicros: 20 + float64((i*7+j*3)%11), Answered: true, ArrivedOn: peer, ReturnedOn: nic}
					if i != j {
						echo.RTTMicros += 22
					}
					x := fabric.Measurement{From: fabric.Endpoint{Node: from.Name, NIC: nic}, To: fabric.Endpoint{Node: to.Name, NIC: peer}, Small: echo, Full: echo}
					x.Full.Bytes = 9000
					if change != nil {
						change(&x)
					}
					m.Pairs = append(m.Pairs, x)
				}
			}
		}
	}
	return m
}

// faults breaks a mesh in each way that a picture tells apart.
func faults(m *fabric.Measurement) {
	switch {
	case m.From.String() == "host2:eth2" || m.To.String() == "host2:eth2":
		m.Small, m.Full = fabric.Echo{Bytes: 84}, fabric.Echo{Bytes: 9000}
	case m.From.String() == "host1:eth3":
		m.Full = fabric.Echo{Bytes: 9000, Error: "message too long"}
	case m.From.String() == "host2:eth4":
		m.Small.ArrivedOn = "eth1"
	case m.From.String() == "host2:eth1":
		m.Small, m.Full = fabric.Echo{Error: "permission denied"}, fabric.Echo{}
	}
}
