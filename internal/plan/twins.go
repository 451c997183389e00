package plan

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"railwright.dev/railwright/internal/catalog"
	"railwright.dev/railwright/internal/fabric"
	"railwright.dev/railwright/internal/intent"
)

// wire plans the cables, addresses and ports of machines whose ports have twins. Machine n of the file has the n-th address of
// each of its subnets, so that its last number is the same everywhere.
func wire(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog) error {
	w, err := intent.WiringOf(c, cat)
	if err != nil {
		return field(err)
	}
	if c.Fabric.Addressing == nil || c.Fabric.Addressing.Scheme != fabric.Twin24 {
		return fmt.Errorf("fabric.addressing.scheme: platform spark needs %s", fabric.Twin24)
	}
	pool, err := newPool(c.Fabric.Addressing.Pool)
	if err != nil {
		return err
	}
	if need := uint64(w.Subnets()) << 8; need > 1<<(32-pool.prefix.Bits()) {
		return fmt.Errorf("fabric.addressing.pool: %s is too small for %d subnets", pool.prefix, w.Subnets())
	}
	leaf, err := wiredLeaf(p, c, cat, len(w.Cables))
	if err != nil {
		return err
	}
	t := twins{Wired: w, pool: pool, plan: p, leaf: leaf, subnet: make(map[fabric.Endpoint]int)}
	t.nic = cat.Machines[c.Nodes[0].Machine].NIC
	t.rate = cat.NICs[t.nic].PortRate.Value
	t.subnets()
	t.address()
	t.cable()
	p.Notes = append(p.Notes, t.notes()...)
	return serve(p, c, cat)
}

// field writes the field of the cluster file as all errors of a plan do.
func field(err error) error {
	var f *intent.FieldError
	if errors.As(err, &f) {
		return fmt.Errorf("%s: %s", strings.Join(f.Path, "."), f.Message)
	}
	return err
}

// wiredLeaf is the switch without ports; nil where there is none.
func wiredLeaf(p *fabric.Plan, c *intent.Cluster, cat *catalog.Catalog, cables int) (*wiredSwitch, error) {
	if c.Fabric.Leaf == nil {
		return nil, nil
	}
	model, err := leafSwitch(c.Fabric.Leaf, cat)
	if err != nil {
		return nil, err
	}
	if cables > len(model.down) {
		return nil, fmt.Errorf("fabric.leaf.model: %d cables, and the switch has %d ports", cables, len(model.down))
	}
	s := &wiredSwitch{Switch: model.new(p, "leaf1", fabric.Leaf), free: model.down}
	for _, n := range p.Nodes {
		if strings.EqualFold(n.Name, s.Name) {
			return nil, fmt.Errorf("nodes: host %q has the name of a switch of the plan: use another", n.Name)
		}
	}
	return s, nil
}

type wiredSwitch struct {
	fabric.Switch
	free []fabric.SwitchPort
}

// twins is a plan in the making.
type twins struct {
	intent.Wired
	pool   pool
	plan   *fabric.Plan
	leaf   *wiredSwitch            // nil: the machines are cabled to each other
	subnet map[fabric.Endpoint]int // of each twin, from 0
	nic    string                  // id in the catalog
	rate   float64                 // of a port, in Gb/s
}

// subnets numbers the subnets of both ends of each cable.
func (t *twins) subnets() {
	for _, c := range t.Cables {
		for _, at := range t.ends(c) {
			for i, twin := range at.Twins {
				t.subnet[fabric.Endpoint{Node: at.Node, NIC: twin.NIC}] = t.Subnet(c, i)
			}
		}
	}
}

// ends are the ports of machines that a cable joins: two, or one on a switch.
func (t *twins) ends(c intent.Cable) []fabric.NodePort {
	ends := []fabric.NodePort{t.Nodes[c.Node].Ports[c.Port]}
	if c.PeerNode >= 0 {
		ends = append(ends, t.Nodes[c.PeerNode].Ports[c.PeerPort])
	}
	return ends
}

func (t *twins) address() {
	a := fabric.Addressing{Scheme: fabric.Twin24, Pool: t.pool.prefix}
	used := make(map[int]bool)
	for host, n := range t.Nodes {
		t.plan.Ports = append(t.plan.Ports, n.Ports...)
		of := fabric.NodeAddresses{Node: n.Name}
		var nics []string
		for _, port := range n.Ports {
			for _, twin := range port.Twins {
				if twin.Bare {
					continue
				}
				subnet := t.subnet[fabric.Endpoint{Node: n.Name, NIC: twin.NIC}]
				used[subnet] = true
				nics = append(nics, twin.NIC)
				of.NICs = append(of.NICs, fabric.NICAddress{NIC: twin.NIC, Rail: subnet + 1,
					Address: netip.PrefixFrom(t.pool.at(subnet<<8+host+1), railBits)})
			}
		}
		t.plan.Nodes[host].NICs = nics
		a.Nodes = append(a.Nodes, of)
	}
	for subnet := range t.Subnets() {
		if !used[subnet] {
			continue // of bare twins
		}
		s := fabric.Subnet{Prefix: netip.PrefixFrom(t.pool.at(subnet<<8), railBits), Rail: subnet + 1}
		if t.leaf != nil {
			s.Switch = t.leaf.Name
		}
		a.Subnets = append(a.Subnets, s)
	}
	t.plan.Addressing = a
}

// cable lists a link for each twin of each cable.
func (t *twins) cable() {
	for _, c := range t.Cables {
		ends := t.ends(c)
		for i, twin := range ends[0].Twins {
			l := fabric.Link{A: fabric.Endpoint{Node: ends[0].Node, NIC: twin.NIC}, Rail: t.Subnet(c, i) + 1}
			if t.leaf == nil {
				l.B = fabric.Endpoint{Node: ends[1].Node, NIC: ends[1].Twins[i].NIC}
			} else {
				l.B = fabric.Endpoint{Node: t.leaf.Name, NIC: t.leaf.free[c.PeerPort].Name}
			}
			t.plan.Cabling.Links = append(t.plan.Cabling.Links, l)
		}
		if t.leaf != nil {
			port := t.leaf.free[c.PeerPort]
			port.Peer = fabric.Endpoint{Node: ends[0].Node, NIC: ends[0].Twins[0].NIC}
			t.leaf.Ports = append(t.leaf.Ports, port)
		}
	}
	if t.leaf != nil {
		t.plan.Switches = []fabric.Switch{t.leaf.Switch}
		t.plan.Cabling.Bill = bill(t.plan)
		return
	}
	n := len(t.Cables)
	if n == 0 {
		return
	}
	t.plan.Cabling.Bill = []fabric.CableLot{{From: t.nic, To: t.nic, RateGbps: t.rate, Split: 1, Cables: n, FromEnds: n, ToEnds: n}}
}

// notes says what such a cluster can and cannot do.
func (t *twins) notes() (notes []string) {
	n := len(t.Nodes)
	if len(t.Cables) == 0 {
		return []string{"One machine alone is not cabled: its QSFP ports get no addresses. Add the others to nodes."}
	}
	if n&(n-1) != 0 {
		notes = append(notes, fmt.Sprintf("Tensor parallelism needs 2, 4 or 8 machines: of these %d a model uses fewer that way, or all by pipeline parallelism.", n))
	}
	both := 0
	for _, node := range t.Nodes {
		if len(node.Ports) > 1 {
			both++
		}
	}
	switch {
	case t.Wiring == fabric.WiredRing && n > 3:
		notes = append(notes, fmt.Sprintf("In a ring of %d each machine reaches only its two neighbours: NCCL must be one that keeps to them, and a switch is faster.", n))
	case t.Wiring != fabric.WiredRing && both > 0:
		notes = append(notes, "Both ports of a machine share its two PCIe Gen5 x4 links: a second cable brings 9 % at most (2 x 109 instead of 200 Gb/s).")
	}
	return notes
}
