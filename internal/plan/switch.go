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

// switchModel is a kind of switch, with its ports while nothing is in them.
type switchModel struct {
	model, os    string
	down         []fabric.SwitchPort // of a leaf, towards hosts: each cage split as the cluster file asks
	own          []fabric.SwitchPort // as the catalog has the model: towards other switches
	buffer       int64               // bytes; 0: not in the catalog
	bufferSource string
}

// leafSwitch looks up the leaf of the cluster file. It is required: cables between machines are not planned.
func leafSwitch(l *intent.Leaf, cat *catalog.Catalog) (switchModel, error) {
	if l == nil {
		return switchModel{}, fmt.Errorf("fabric.leaf: is not set, and this version plans only machines that are cabled to a leaf switch: direct cabling is not planned")
	}
	return findSwitch("fabric.leaf", l.Model, l.OS, l.Breakout, cat)
}

// spineSwitch looks up the spine; there need not be one.
func spineSwitch(s *intent.Spine, cat *catalog.Catalog) (switchModel, error) {
	if s == nil {
		return switchModel{}, nil
	}
	return findSwitch("fabric.spine", s.Model, s.OS, 0, cat)
}

func findSwitch(field, id, os string, breakout int, cat *catalog.Catalog) (switchModel, error) {
	m, err := cat.Switch(id)
	if err != nil {
		return switchModel{}, fmt.Errorf("%s.model: %w", field, err)
	}
	name, ok := m.OS[os]
	if !ok {
		known := strings.Join(slices.Sorted(maps.Keys(m.OS)), ", ")
		return switchModel{}, fmt.Errorf("%s.os: %q has no port names for %q; known: %s", field, id, os, known)
	}
	if breakout != 0 && !slices.Contains(name.Breakouts(), breakout) {
		return switchModel{}, fmt.Errorf("%s.breakout: %q with %q is not split into %d; known: %v", field, id, os, breakout, name.Breakouts())
	}
	out := switchModel{model: id, os: os, own: ownPorts(m, name), buffer: int64(m.Buffer.Value * bytesPerMB), bufferSource: m.Buffer.Source}
	out.down = out.own
	if breakout > 0 {
		out.down = splitPorts(m, name, breakout)
	}
	return out, nil
}

// bytesPerMB is what a megabyte of a buffer has at least: whether makers mean 10^6 or 2^20 bytes is rarely said.
const bytesPerMB = 1e6

// ownPorts are the ports as the catalog has the model.
func ownPorts(m catalog.SwitchModel, name catalog.PortName) []fabric.SwitchPort {
	ports := make([]fabric.SwitchPort, int(m.Ports.Value))
	for i := range ports {
		ports[i] = fabric.SwitchPort{Name: name.Port(i), Lanes: name.Split.Lanes / name.PerCage(), RateGbps: m.PortRate.Value}
		if name.Group > 0 {
			ports[i].Cage, ports[i].Breakout = strconv.Itoa(name.Cage(i/name.Group)), name.Group
		}
	}
	return ports
}

// splitPorts are the ports where every cage is split into so many, which share its rate.
func splitPorts(m catalog.SwitchModel, name catalog.PortName, into int) []fabric.SwitchPort {
	var ports []fabric.SwitchPort
	rate := m.PortRate.Value * float64(name.PerCage()) / float64(into)
	for cage := range int(m.Ports.Value) / name.PerCage() {
		for k := range into {
			ports = append(ports, fabric.SwitchPort{
				Name: name.SplitPort(cage, into, k), Cage: strconv.Itoa(name.Cage(cage)), Breakout: into, Lanes: name.Split.Lanes / into, RateGbps: rate,
			})
		}
	}
	return ports
}

// leafMTU is the smallest MTU of a leaf's ports, in bytes of IP: a switch has to forward what the NICs send,
// and may forward more. Broadcom 957608-AN209, 2.4.1.3 and 2.4.2.3, sets it under hosts of 9000; it is SONiC's own
// default (sonic-swss, cfgmgr/portmgr.h, DEFAULT_MTU_STR), to which SONiC adds 22 bytes for the Ethernet header,
// VLAN tag and checksum (orchagent/portsorch.cpp, setPortMtu).
const leafMTU = 9100

// new returns a switch of the plan without ports.
func (m switchModel) new(p *fabric.Plan, name string, role fabric.Role) fabric.Switch {
	s := fabric.Switch{Name: name, Role: role, Model: m.model, OS: m.os, BufferBytes: m.buffer, BufferSource: m.bufferSource}
	if p.Transport == fabric.RoCE {
		s.MTU = max(p.MTU, leafMTU)
	}
	return s
}

// switches lists the leaves with the ports that they use towards hosts, from the plan's cables and addresses.
func (g grouping) switches(p *fabric.Plan, leaf switchModel, cables []cable) []fabric.Switch {
	all := make([]fabric.Switch, len(g.leaves))
	vlans := vlansOf(p.Addressing)
	for i, name := range g.leaves {
		all[i] = leaf.new(p, name, fabric.Leaf)
		all[i].VLANs = vlans(name)
	}
	used := make([]int, len(g.leaves)) // ports of each
	for _, c := range cables {
		used[c.leaf]++
	}
	for i, n := range used {
		if n > 0 {
			all[i].Ports = make([]fabric.SwitchPort, 0, n)
		}
	}
	rates := make(map[string]float64, len(p.Machines))
	for _, m := range p.Machines {
		rates[m.ID] = m.NICGbps
	}
	i := 0
	for host, n := range p.Nodes {
		if host%g.share > 0 {
			i += len(n.NICs) // the ports are those of the node before
			continue
		}
		for rail := range n.NICs {
			port := leaf.down[cables[i].port]
			port.Peer, port.RateGbps = p.Cabling.Links[i].A, slower(port.RateGbps, rates[n.Machine])
			switch p.Addressing.Scheme {
			case fabric.P2P31:
				nic := p.Addressing.Nodes[host].NICs[rail]
				port.Address = netip.PrefixFrom(nic.Gateway, nic.Address.Bits())
			case fabric.Rail24:
				port.VLAN = vlanBase + rail + 1
			case fabric.Flat:
				port.VLAN = vlanBase
			}
			s := &all[cables[i].leaf]
			s.Ports = append(s.Ports, port)
			i++
		}
	}
	return all
}

// slower is the rate of a cable between two ports, in Gb/s; 0 stands for an unknown one.
func slower(a, b float64) float64 {
	if a == 0 || b == 0 {
		return max(a, b)
	}
	return min(a, b)
}
