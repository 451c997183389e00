package draw

import (
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// sampleTwins is a plan of machines whose ports have twins: a ring of both ports, a pair of port 1, or all on a switch with
// the ports that are given.
func sampleTwins(wiring fabric.Wiring, machines int, ports ...int) *fabric.Plan {
	p := &fabric.Plan{Name: "sparks", Platform: "spark", Transport: fabric.RoCE, MTU: 9000, Addressing: fabric.Addressing{Scheme: fabric.Twin24}}
	for m := range machines {
		n := fabric.Node{Name: fmt.Sprintf("spark%d", m+1), Machine: "dgx-spark", Management: "enP7s7"}
		for _, port := range ports {
			p.Ports = append(p.Ports, fabric.NodePort{Node: n.Name, Number: port, Twins: []fabric.Twin{
				{PCI: fmt.Sprintf("0000:01:00.%d", port), NIC: twinOf(port, 0), HCA: fmt.Sprintf("rocep1s0f%d", port)},
				{PCI: fmt.Sprintf("0002:01:00.%d", port), NIC: twinOf(port, 1), HCA: fmt.Sprintf("roceP2p1s0f%d", port)},
			}})
			n.NICs = append(n.NICs, twinOf(port, 0), twinOf(port, 1))
		}
		p.Nodes = append(p.Nodes, n)
		p.Addressing.Nodes = append(p.Addressing.Nodes, fabric.NodeAddresses{Node: n.Name})
	}
	if wiring == fabric.WiredSwitch {
		p.Switches = []fabric.Switch{{Name: "leaf1", Model: "crs812-ddq"}}
	}
	cable := 0
	for m := range machines {
		for i, port := range ports {
			switch {
			case wiring == fabric.WiredSwitch:
				name := fmt.Sprintf("qsfp56-%d-1", cable+1)
				p.Switches[0].Ports = append(p.Switches[0].Ports, fabric.SwitchPort{Name: name})
				join(p, m, port, i*2, func(int) fabric.Endpoint { return at("leaf1", name) })
			case wiring == fabric.WiredPair && len(ports) == 1 && m == 0:
				join(p, m, port, 0, func(twin int) fabric.Endpoint { return at("spark2", twinOf(port, twin)) })
			case len(ports) == 2 && port == 0:
				next := (m + 1) % machines
				join(p, m, port, cable*2, func(twin int) fabric.Endpoint { return at(p.Nodes[next].Name, twinOf(1, twin)) })
			default:
				continue
			}
			cable++
		}
	}
	return p
}

func twinOf(port, twin int) string {
	return fmt.Sprintf("%sp1s0f%dnp%d", []string{"en", "enP2"}[twin], port, port)
}

// join cables both twins of a port, and gives each end its address in the subnet of the first twin, or the next one.
func join(p *fabric.Plan, machine, port, subnet int, to func(twin int) fabric.Endpoint) {
	for twin := range 2 {
		l := fabric.Link{A: at(p.Nodes[machine].Name, twinOf(port, twin)), B: to(twin), Rail: subnet + twin + 1}
		p.Cabling.Links = append(p.Cabling.Links, l)
		for m, n := range p.Nodes {
			for _, e := range []fabric.Endpoint{l.A, l.B} {
				if e.Node == n.Name {
					of := &p.Addressing.Nodes[m]
					address := netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(subnet + twin), byte(m + 1)}), 24)
					of.NICs = append(of.NICs, fabric.NICAddress{NIC: e.NIC, Rail: l.Rail, Address: address})
				}
			}
		}
	}
}

// samplePorts are the clusters that these machines make.
func samplePorts() map[string]*fabric.Plan {
	all := map[string]*fabric.Plan{
		"pair":        sampleTwins(fabric.WiredPair, 2, 1),
		"pair-both":   sampleTwins(fabric.WiredPair, 2, 0, 1),
		"switch-both": sampleTwins(fabric.WiredSwitch, 8, 0, 1),
	}
	for n := 3; n <= 6; n++ {
		all[fmt.Sprintf("ring%d", n)] = sampleTwins(fabric.WiredRing, n, 0, 1)
	}
	for n := 2; n <= 8; n++ {
		all[fmt.Sprintf("switch%d", n)] = sampleTwins(fabric.WiredSwitch, n, 1)
	}
	return all
}

// rename gives the machines other names.
func rename(p *fabric.Plan, name func(machine int) string) *fabric.Plan {
	to := map[string]string{}
	for i := range p.Nodes {
		to[p.Nodes[i].Name] = name(i)
		p.Nodes[i].Name, p.Addressing.Nodes[i].Node = name(i), name(i)
	}
	for i := range p.Ports {
		p.Ports[i].Node = to[p.Ports[i].Node]
	}
	for i := range p.Cabling.Links {
		l := &p.Cabling.Links[i]
		l.A.Node = to[l.A.Node]
		if other, ok := to[l.B.Node]; ok {
			l.B.Node = other
		}
	}
	return p
}
