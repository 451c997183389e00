package check

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"

	"railwright.dev/railwright/internal/fabric"
)

func arpOwner() Rule {
	return Rule{
		ID:    "arp-owner",
		Title: "Peers have each address at the MAC address of its own NIC",
		Doc: "compares the neighbour tables of all nodes with the NICs that have the addresses: where several subnets share one layer 2 (rails without " +
			"a VLAN each) any NIC of a node answers ARP for the address of another, although no two of its NICs are in one subnet",
		Severity:  fabric.SeverityError,
		Cause:     fabric.CauseARPFlux,
		Reference: "Broadcom RoCE guide 2.4; kernel documentation, networking/ip-sysctl, arp_ignore and arp_announce",
		Facts:     []string{fabric.FactNICs, fabric.FactNICAddresses, fabric.FactNICMAC, fabric.FactNICARPIgnore, fabric.FactNeighbours},
		Scope:     []Condition{withSharedSubnets(), onRoCE(), withPeers()},
		DependsOn: []string{"one-subnet", "duplicate-address"},
		Cluster:   judgeARPOwner,
	}
}

// mac is an Ethernet address; the zero value is none.
type mac [6]byte

func parseMAC(text string) (m mac) {
	if a, err := net.ParseMAC(text); err == nil && len(a) == len(m) {
		copy(m[:], a)
	}
	return m
}

func (m mac) String() string { return net.HardwareAddr(m[:]).String() }

// resolved is an entry of a neighbour table.
type resolved struct {
	address [4]byte
	mac     mac
}

// neighboursByNIC are the entries that the kernel would send by.
func (in NodeInput) neighboursByNIC() map[string][]resolved {
	table := make(map[string][]resolved)
	for _, n := range in.Facts.Neighbours {
		at := parseMAC(n.MAC)
		if at == (mac{}) || !n.Address.Is4() || n.State == "FAILED" || n.State == "INCOMPLETE" {
			continue
		}
		table[n.NIC] = append(table[n.NIC], resolved{n.Address.As4(), at})
	}
	return table
}

// addressed is a NIC with an address that other nodes can meet on its subnet.
type addressed struct {
	node, nic int // in ClusterInput.Nodes, in its NICs
	address   netip.Addr
}

// arpTables is what all neighbour tables say of one address.
type arpTables struct {
	right int
	wrong []Verdict
}

func judgeARPOwner(in ClusterInput) []Verdict {
	owners := in.owners()
	said := in.resolvedAs(owners)
	var out []Verdict
	confirmed, guardedNICs, silent := 0, 0, 0
	var example addressed
	for _, o := range sortedOwners(owners) {
		tables := said[o.address]
		switch {
		case tables != nil && len(tables.wrong) > 0:
			out = append(out, tables.wrong[0])
		case tables != nil && tables.right > 0:
			confirmed++
		case in.Nodes[o.node].guarded():
			guardedNICs++
		default:
			if silent++; silent == 1 {
				example = o
			}
		}
	}
	for _, d := range in.Nodes {
		if d.NeighboursUnread != "" {
			out = append(out, unknown(fabric.NodeSubject(d.Node), d.NeighboursUnread))
		}
	}
	if silent > 0 {
		out = append(out, unknown(fabric.ClusterSubject(), fmt.Sprintf("no neighbour table has %s, such as %s of %s, and arp_ignore does not rule ARP flux out there: send traffic between all NICs, then check again",
			fabric.Count(silent, "address"), example.address, in.at(example))))
	}
	switch {
	case len(out) > 0:
		return out
	case confirmed+guardedNICs == 0:
		return []Verdict{unknown(fabric.ClusterSubject(), "no address was seen that another node can meet on its subnet")}
	}
	v := pass("each address at its own NIC", saw("ip neighbour show", strconv.Itoa(confirmed)+" addresses at their own NICs"), saw("arp_ignore 1, 2 or 8", strconv.Itoa(guardedNICs)+" further addresses"))
	v.Subject = fabric.ClusterSubject()
	return []Verdict{v}
}

// guarded reports whether no NIC of a node answers for the address of another.
func (d *Digest) guarded() bool {
	return !slices.ContainsFunc(d.NICs, func(n NICDigest) bool { return !n.ARPGuarded })
}

func (in ClusterInput) at(o addressed) fabric.Subject {
	return fabric.NICSubject(in.Nodes[o.node].Node, in.Nodes[o.node].NICs[o.nic].Name)
}

// owners finds the NIC of every address. One that two NICs have is left out: duplicate-address reports it.
func (in ClusterInput) owners() map[netip.Addr]addressed {
	owners := make(map[netip.Addr]addressed)
	twice := make(map[netip.Addr]bool)
	for i, d := range in.Nodes {
		if d.Nominal {
			continue
		}
		for j, nic := range d.NICs {
			for _, a := range nic.Addresses {
				if !a.Is4() || !nic.Fabric {
					continue
				}
				if o, ok := owners[a]; ok && (o.node != i || o.nic != j) {
					twice[a] = true
				}
				owners[a] = addressed{i, j, a}
			}
		}
	}
	for a := range twice {
		delete(owners, a)
	}
	return owners
}

func sortedOwners(owners map[netip.Addr]addressed) []addressed {
	list := make([]addressed, 0, len(owners))
	for _, o := range owners {
		list = append(list, o)
	}
	slices.SortFunc(list, func(a, b addressed) int { return a.address.Compare(b.address) })
	return list
}

// resolvedAs compares every entry about an address of another node with its NIC.
func (in ClusterInput) resolvedAs(owners map[netip.Addr]addressed) map[netip.Addr]*arpTables {
	said := make(map[netip.Addr]*arpTables)
	for i, d := range in.Nodes {
		for _, nic := range d.NICs {
			for _, entry := range nic.Neighbours {
				o, ok := owners[netip.AddrFrom4(entry.address)]
				if !ok || o.node == i {
					continue
				}
				own := in.Nodes[o.node].NICs[o.nic]
				if own.MAC == (mac{}) {
					continue // what its own is, was not read
				}
				tables := said[o.address]
				if tables == nil {
					tables = &arpTables{}
					said[o.address] = tables
				}
				if entry.mac == own.MAC {
					tables.right++
				} else {
					tables.wrong = append(tables.wrong, in.misresolved(o, d.Node+":"+nic.Name, entry.mac))
				}
			}
		}
	}
	return said
}

// misresolved is ARP flux where the MAC address is that of another NIC of the same node. Any other MAC address may also be that
// of a switch which answers for its hosts, or of a machine that was replaced.
func (in ClusterInput) misresolved(o addressed, seenBy string, at mac) Verdict {
	owner := in.Nodes[o.node]
	own := owner.NICs[o.nic]
	seen := []fabric.Evidence{saw("ip neighbour show on "+seenBy, o.address.String()+" at "+at.String()), saw("ip link show dev "+own.Name+" on "+owner.Node, own.MAC.String())}
	subject := in.at(o)
	for _, other := range owner.NICs {
		if other.MAC != at {
			continue
		}
		return Verdict{
			Status: fabric.Fail, Subject: subject, On: []fabric.Subject{fabric.NICSubject(owner.Node, other.Name)}, Evidence: seen, Expected: own.MAC.String(),
			Why: fmt.Sprintf("%s reaches %s of %s at %s, which is %s: both NICs are on one layer 2, and the wrong one answered ARP.",
				seenBy, o.address, subject, at, other.Name),
			Cost: "peers send to the wrong NIC: pairs fail, or two rails share one link at 1/2 of its rate each",
			Fix: untilBoot("sysctl -w net.ipv4.conf.all.arp_ignore=2 net.ipv4.conf.all.arp_announce=1", owner.Node, in.Plan != nil) +
				"; a VLAN for each rail on the leaf takes the cause away; then on the peers: ip neighbour flush to " + o.address.String(),
		}
	}
	v := unknown(subject, fmt.Sprintf("%s has %s of %s at %s, which is no NIC of %s: a switch that answers for its hosts, or another machine", seenBy, o.address, subject, at, owner.Node), seen...)
	v.Expected = own.MAC.String()
	return v
}
