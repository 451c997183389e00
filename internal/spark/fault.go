package spark

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// FaultKind is what is wrong with the cables or addresses of several machines.
type FaultKind string

// Kinds of faults.
const (
	SamePort     FaultKind = "same-port"     // a cable of a mesh or ring joins equal ports
	SecondCable  FaultKind = "second-cable"  // both ports of a machine lead to the same other
	NotClosed    FaultKind = "not-closed"    // a chain of three, an open ring
	TwinsCrossed FaultKind = "twins-crossed" // a network joins the first twin of one end with the second of the other
	SameTwenty4  FaultKind = "same-24"       // NCCL cannot tell links of a mesh apart
	Wide         FaultKind = "wide"          // NCCL cannot see a link of a mesh
	PortsCrossed FaultKind = "ports-crossed" // addresses join other ports than the cable
	ForeignPeer  FaultKind = "foreign-peer"  // one port leads to another Spark, the other to something else
	Misplaced    FaultKind = "misplaced"     // an address is on another port than its file says
)

// Fault is one of them.
type Fault struct {
	Kind FaultKind
	At   []End
	Say  string // a sentence
	Cost string
	Fix  string
	By   string // what shows it
}

// faults looks for all of them.
func (f *Fabric) faults() []Fault {
	out := slices.Concat(f.notClosed(), f.secondCables(), f.crossed(), f.foreign(), f.misplaced())
	if f.Topology == Mesh || f.Topology == Ring {
		out = slices.Concat(f.samePorts(), out, f.prefixes())
	}
	return out
}

// samePorts finds cables of a mesh between equal ports. NCCL pairs devices by their number: where each cable joins port 0
// with port 1, each has a first device at one end (net_ib; public captures of three Sparks with and without it).
func (f *Fabric) samePorts() []Fault {
	var wrong []Cable
	for _, c := range f.Cables {
		if c.A.Port == c.B.Port {
			wrong = append(wrong, c)
		}
	}
	fix := "rewire it around the ring"
	if len(wrong) > 1 {
		if node := commonNode(wrong); node != "" {
			fix = "swap the two plugs of " + node
		}
	}
	var out []Fault
	for _, c := range wrong {
		out = append(out, Fault{
			Kind: SamePort, At: []End{c.A, c.B}, By: c.By, Fix: fix + "; move the addresses with the cables",
			Say:  fmt.Sprintf("The cable of %s joins equal ports; in a %s each cable joins a p0 with a p1: %s.", c, f.Topology, fix),
			Cost: "NCCL pairs devices of different cables, and connections end with a timeout (ibv_modify_qp 110)",
		})
	}
	return out
}

// commonNode is the machine that all of these cables end at; empty: there is none.
func commonNode(cables []Cable) string {
	for _, name := range []string{cables[0].A.Node, cables[0].B.Node} {
		if !slices.ContainsFunc(cables, func(c Cable) bool { return c.A.Node != name && c.B.Node != name }) {
			return name
		}
	}
	return ""
}

func (f *Fabric) notClosed() []Fault {
	if f.Topology != Chain && f.Topology != OpenRing {
		return nil
	}
	var free []End
	for _, name := range f.known {
		if len(f.peers(name)) == 1 {
			free = append(free, End{name, 1 - f.portTo(name)})
		}
	}
	if len(free) != 2 {
		return nil
	}
	say := fmt.Sprintf("%d machines are cabled in a line: no cable joins %s with %s.", len(f.known), free[0], free[1])
	return []Fault{{
		Kind: NotClosed, At: free, Say: say, By: "carriers and " + f.Cables[0].By,
		Cost: "the machine in the middle forwards for the two others: 100 Gb/s for each pair instead of 200 (DGX Spark Networking)",
		Fix:  fmt.Sprintf("put a cable from %s to %s", free[0], free[1]),
	}}
}

// secondCables finds machines whose two ports lead to the same other one. Both ports share two PCIe links, which one cable
// fills nearly: public measurements have 196 and 218 Gb/s.
func (f *Fabric) secondCables() []Fault {
	var out []Fault
	for i, a := range f.Cables {
		for _, b := range f.Cables[i+1:] {
			if a.A.Node == b.A.Node && a.B.Node == b.B.Node && a.A != b.A && a.B != b.B && f.Topology != Switch {
				out = append(out, Fault{
					Kind: SecondCable, At: []End{a.A, a.B, b.A, b.B}, By: a.By + "; " + b.By,
					Say:  fmt.Sprintf("Both ports of %s lead to %s: %s, and %s.", a.A.Node, a.B.Node, a, b),
					Cost: "218 instead of 196 Gb/s raw, about 5 % of an all_reduce: the two PCIe Gen5 x4 links of the NIC are the limit, not the port",
					Fix:  "use one cable; keep the other port for a third machine",
				})
			}
		}
	}
	return out
}

// crossed finds networks that join different twins of a cable, and such that join other ports than the cable that was heard.
func (f *Fabric) crossed() []Fault {
	var out []Fault
	for i := range f.Groups {
		g := &f.Groups[i]
		if len(g.members) != 2 || g.members[0].end.Node == g.members[1].end.Node {
			continue
		}
		a, b := g.members[0], g.members[1]
		if a.twin != b.twin {
			out = append(out, Fault{
				Kind: TwinsCrossed, At: []End{a.end, b.end}, By: "addresses of " + g.Subnet.String(),
				Say:  fmt.Sprintf("%s joins %s:%s with %s:%s, which are different twins of their ports.", g.Subnet, a.end.Node, a.nic, b.end.Node, b.nic),
				Cost: "NCCL connects each device with the same one of the peer, and finds it in another network",
				Fix:  "give the twins of PCI domain 0000 at both ends one network, and those of domain 0002 another",
			})
		}
		if c, ok := f.heardAt(a.end); ok && c != b.end {
			out = append(out, Fault{
				Kind: PortsCrossed, At: []End{a.end, b.end, c}, By: "addresses of " + g.Subnet.String() + ", and LLDP",
				Say:  fmt.Sprintf("%s joins %s with %s, but the cable of %s leads to %s.", g.Subnet, a.end, b.end, a.end, c),
				Cost: "no traffic between these addresses",
				Fix:  fmt.Sprintf("move the cable to %s, or the addresses to %s", b.end, c),
			})
		}
	}
	return out
}

// heardAt is the far end that a port heard by LLDP.
func (f *Fabric) heardAt(at End) (End, bool) {
	n := f.node(at.Node)
	for _, s := range n.Seen {
		far := f.node(s.System)
		if s.Port != at.Port || s.System == "" || far == nil {
			continue
		}
		if port, ok := portNumber(s.FarPort); ok {
			return End{far.Name, port}, true
		}
	}
	return End{}, false
}

// foreign finds ports that lead to something else while the other port leads to another Spark. A switch that several hear is none.
func (f *Fabric) foreign() []Fault {
	if f.Topology == Switch {
		return nil
	}
	var out []Fault
	for _, x := range f.Foreign {
		if len(f.peers(x.At.Node)) == 0 {
			continue // it may be a switch, of which only this machine was seen
		}
		out = append(out, Fault{
			Kind: ForeignPeer, At: []End{x.At}, By: x.By,
			Say:  fmt.Sprintf("%s leads to %s %s, which is none of the machines.", x.At, x.System, x.Port),
			Cost: "a job that uses this port too does not start",
			Fix:  "leave the RDMA devices of " + x.At.String() + " out of NCCL_IB_HCA, or cable it to a Spark",
		})
	}
	return out
}

// prefixes finds networks of a mesh or ring that NCCL's subnet-aware routing cannot use: it compares the first 24 bits of two
// addresses, or NCCL_IB_SUBNET_PREFIX_LEN of them (NCCL 2.30.7, net_ib).
func (f *Fabric) prefixes() []Fault {
	bits := f.prefixLen()
	var out []Fault
	for i := range f.Groups {
		g := &f.Groups[i]
		first := g.members[0]
		if g.Subnet.Bits() < bits && len(g.nodes()) > 1 {
			out = append(out, Fault{
				Kind: Wide, At: g.ends(), By: "addresses",
				Say:  fmt.Sprintf("The link %s is wider than the /%d that NCCL compares: it sees no link in it.", g.Subnet, bits),
				Cost: "NCCL pairs devices by their number, and connections end with a timeout", Fix: "a /24 for each twin of each cable",
			})
			continue
		}
		if k := f.sameStart(i, bits); k >= 0 {
			other := &f.Groups[k]
			out = append(out, Fault{
				Kind: SameTwenty4, At: append(g.ends(), other.ends()...), By: "addresses",
				Say:  fmt.Sprintf("The links %s (%s) and %s have the same first %d bits, of which NCCL makes one link.", g.Subnet, first.nic, other.Subnet, bits),
				Cost: "NCCL pairs devices of different cables, and connections end with a timeout",
				Fix:  "a /24 for each twin of each cable, or NCCL_IB_SUBNET_PREFIX_LEN=" + strconv.Itoa(max(g.Subnet.Bits(), other.Subnet.Bits())) + " on all machines",
			})
		}
	}
	return out
}

// defaultPrefixLen is how many bits NCCL compares.
const defaultPrefixLen = 24

func (f *Fabric) prefixLen() int {
	for i := range f.Nodes {
		if n, err := strconv.Atoi(f.Nodes[i].NCCL["NCCL_IB_SUBNET_PREFIX_LEN"]); err == nil && n > 0 && n <= 32 {
			return n
		}
	}
	return defaultPrefixLen
}

// sameStart finds a network before this one with the same first bits; -1: there is none.
func (f *Fabric) sameStart(i, bits int) int {
	start := netip.PrefixFrom(f.Groups[i].Subnet.Addr(), bits).Masked()
	for k := range i {
		if f.Groups[k].Subnet.Bits() > bits && f.Groups[i].Subnet.Bits() >= bits && start.Contains(f.Groups[k].Subnet.Addr()) {
			return k
		}
	}
	return -1
}

// misplaced finds addresses that an interface has and that a file gives to another port.
func (f *Fabric) misplaced() []Fault {
	var out []Fault
	for i := range f.Groups {
		for _, a := range f.Groups[i].members {
			for _, b := range f.Groups[i].members {
				if !a.address.Configured && b.address.Configured && a.address.Prefix.Addr() == b.address.Prefix.Addr() && (a.end.Port != b.end.Port || a.twin != b.twin) {
					out = append(out, Fault{
						Kind: Misplaced, At: []End{a.end, b.end}, By: "addresses and netplan",
						Say:  fmt.Sprintf("%s:%s has %s, which the file of %s gives to %s.", a.end.Node, a.nic, a.address, b.end.Node, b.nic),
						Cost: "the link has its address on another port: no traffic", Fix: "sudo netplan apply, and compare: ip -br address",
					})
				}
			}
		}
	}
	return out
}

// List writes cables, one after the other.
func List(cables []Cable) string {
	var words []string
	for _, c := range cables {
		words = append(words, c.String())
	}
	return strings.Join(words, ", ")
}
