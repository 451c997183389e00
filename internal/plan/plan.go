// Package plan turns a cluster file into a plan: which NIC has which address, which cable goes where, what
// each switch port is for, and in which classes packets travel. It is pure, and the same cluster gives the same plan.
package plan

import (
	"cmp"
	"fmt"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// New plans the cluster that intent.Parse gave: its defaults are filled in and its names are unique.
// Hosts are planned in the order of the file, so with p2p31, and with rail24 on one leaf, appending hosts
// leaves the earlier addresses as they are, as long as no later group has more NICs than the earlier ones. Spines never
// change the address of a host.
// An error names the field of the cluster file that the plan fails on; there is never half a plan.
func New(c *intent.Cluster, cat *catalog.Catalog) (*fabric.Plan, error) {
	nodes, err := nodes(c.Nodes)
	if err != nil {
		return nil, err
	}
	machines, err := machines(c.Nodes, cat)
	if err != nil {
		return nil, err
	}
	if c.Fabric.MTU <= 0 {
		return nil, fmt.Errorf("fabric.mtu: %d bytes is not above 0", c.Fabric.MTU)
	}
	p := &fabric.Plan{
		Meta:      fabric.NewMeta("Plan"),
		Name:      c.Metadata.Name,
		Platform:  string(c.Platform),
		Launcher:  string(c.Launcher),
		Transport: c.Fabric.Kind,
		MTU:       c.Fabric.MTU,
		NCCL:      c.NCCL,
		Nodes:     nodes,
		Machines:  machines,
		Traffic:   traffic(c.Fabric.Traffic),
	}
	join := connect
	switch c.Platform {
	case intent.Spark:
		join = wire
	case intent.GKE:
		join = cloud
	}
	if err := join(p, c, cat); err != nil {
		return nil, err
	}
	if err := claims(p, c, cat); err != nil {
		return nil, err
	}
	if err := podDevices(p, c, cat); err != nil {
		return nil, err
	}
	if err := operators(p, c, cat); err != nil {
		return nil, err
	}
	if err := vsphere(p, c, cat); err != nil {
		return nil, err
	}
	if err := serveInPods(p, c, cat); err != nil {
		return nil, err
	}
	return p, nil
}

// connect plans the switches of a cluster, and the addresses and cables that follow from them.
func connect(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	leaf, err := leafSwitch(c.Fabric.Leaf, cat)
	if err != nil {
		return err
	}
	spine, err := spineSwitch(c.Fabric.Spine, cat)
	if err != nil {
		return err
	}
	g, err := group(c, cat, p.Nodes)
	if err != nil {
		return err
	}
	if err := g.distinct(p.Nodes); err != nil {
		return err
	}
	if c.Fabric.PKey != "" {
		if err := p.Partition.UnmarshalText([]byte(c.Fabric.PKey)); err != nil {
			return fmt.Errorf("fabric.pkey: %w", err)
		}
	}
	if p.Addressing, err = address(c.Fabric, p.Nodes, g); err != nil {
		return err
	}
	p.Notes = append(g.notes(c.Fabric, p.Addressing.Scheme), lossyNotes(p.Traffic)...)
	cables := g.cables(p.Nodes)
	p.Cabling.Links = g.links(p.Nodes, cables, leaf.down)
	if err := checkVLANs(p.Addressing.Scheme, g.NICs); err != nil {
		return err
	}
	p.Switches = g.switches(p, leaf, cables)
	if g.Spines > 0 {
		g.addSpines(p, leaf, spine)
	}
	p.Cabling.Bill = bill(p)
	for i := range p.Cabling.Bill { // the cable of a virtual function is that of its card
		from := &p.Cabling.Bill[i].From
		*from = cmp.Or(cat.NICs[*from].Physical, *from)
	}
	return nil
}

// nodes lists every machine in the order of the file. Machines of a group share one list of NICs.
func nodes(groups []intent.NodeGroup) ([]fabric.Node, error) {
	var all []fabric.Node
	for i, g := range groups {
		names, err := fabric.ExpandNames(g.Names)
		if err != nil {
			return nil, fmt.Errorf("nodes[%d].names: %w", i, err)
		}
		nics, err := fabric.ExpandNames(g.NICs)
		if err == nil && len(nics) == 0 {
			err = fmt.Errorf("no interface given")
		}
		if err != nil {
			return nil, fmt.Errorf("nodes[%d].nics: %w", i, err)
		}
		for _, name := range names {
			all = append(all, fabric.Node{Name: name, Machine: g.Machine, NICs: nics, Network: g.Network, Management: g.Management})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("nodes: no machine to plan for")
	}
	return all, nil
}

// rails returns how many rails a cluster has: the NICs of its largest machine.
func rails(nodes []fabric.Node) int {
	most := 0
	for _, n := range nodes {
		most = max(most, len(n.NICs))
	}
	return most
}
