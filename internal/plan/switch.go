package plan

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// leafModel is the kind of switch that the machines are cabled to.
type leafModel struct {
	model, os string
	ports     int     // of one switch, towards hosts or spines
	gbps      float64 // of a port; 0: unknown
	name      catalog.PortName
}

// leafSwitch looks up the leaf of the cluster file. It is required: cables between machines, and a
// cloud's own network, are not planned.
func leafSwitch(l *intent.Leaf, cat *catalog.Catalog) (leafModel, error) {
	if l == nil {
		return leafModel{}, fmt.Errorf("fabric.leaf: is not set, and this version plans only machines that are cabled to a leaf switch: direct cabling and the network of a cloud are not planned")
	}
	m, err := cat.Switch(l.Model)
	if err != nil {
		return leafModel{}, fmt.Errorf("fabric.leaf.model: %w", err)
	}
	name, ok := m.OS[l.OS]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(m.OS)), ", ")
		return leafModel{}, fmt.Errorf("fabric.leaf.os: %q has no port names for %q; known: %s", l.Model, l.OS, known)
	}
	return leafModel{model: l.Model, os: l.OS, ports: int(m.Ports.Value), gbps: m.PortRate.Value, name: name}, nil
}

// leafMTU is the smallest MTU of a leaf's ports, in bytes of IP: a switch has to forward what the NICs send,
// and may forward more. Broadcom 957608-AN209, 2.4.1.3 and 2.4.2.3, sets it under hosts of 9000; it is SONiC's own
// default (sonic-swss, cfgmgr/portmgr.h, DEFAULT_MTU_STR), to which SONiC adds 22 bytes for the Ethernet header,
// VLAN tag and checksum (orchagent/portsorch.cpp, setPortMtu).
const leafMTU = 9100

// switches lists the leaves with the ports that they use towards hosts, from the plan's cables and addresses.
func (g grouping) switches(p *fabric.Plan, leaf leafModel) []fabric.Switch {
	all := make([]fabric.Switch, len(g.leaves))
	for i, name := range g.leaves {
		all[i] = fabric.Switch{Name: name, Role: fabric.Leaf, Model: leaf.model, OS: leaf.os}
		if p.Transport == fabric.RoCE {
			all[i].MTU = max(p.MTU, leafMTU)
		}
	}
	ports := leaf.unused()
	rates := make(map[string]float64, len(p.Machines))
	for _, m := range p.Machines {
		rates[m.ID] = m.NICGbps
	}
	cable := 0
	for host, n := range p.Nodes {
		rate := slower(leaf.gbps, rates[n.Machine])
		for rail := range n.NICs {
			port := ports[g.port(host, cable)]
			port.Peer, port.RateGbps = p.Cabling.Links[cable].A, rate
			if p.Addressing.Scheme == fabric.P2P31 {
				nic := p.Addressing.Nodes[host].NICs[rail]
				port.Address = netip.PrefixFrom(nic.Gateway, nic.Address.Bits())
			}
			s := &all[g.leaf(host, rail)]
			s.Ports = append(s.Ports, port)
			cable++
		}
	}
	return all
}

// unused are the ports of the model with nothing in them.
func (l leafModel) unused() []fabric.SwitchPort {
	ports := make([]fabric.SwitchPort, l.ports)
	for i := range ports {
		ports[i].Name = l.name.Port(i)
		if l.name.Group > 0 {
			ports[i].Cage, ports[i].Breakout = strconv.Itoa(l.name.First+i/l.name.Group*l.name.Step), l.name.Group
		}
	}
	return ports
}

// slower is the rate of a cable between two ports, in Gb/s; 0 stands for an unknown one.
func slower(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
