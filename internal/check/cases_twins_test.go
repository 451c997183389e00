package check

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"railwright.dev/railwright/internal/fabric"
)

// twinPlan is a ring of machines with two ports of two twins each, named as those of a DGX Spark: port 0 of each goes to port 1
// of the next.
func twinPlan(machines int) *fabric.Plan {
	p := &fabric.Plan{
		Meta: fabric.NewMeta("Plan"), Name: "twins", Platform: "spark", Transport: fabric.RoCE, MTU: mtuOfTest,
		Addressing: fabric.Addressing{Scheme: fabric.Twin24, Pool: netip.MustParsePrefix("10.64.0.0/16")},
	}
	for n := range machines {
		name := fmt.Sprintf("spark%d", n+1)
		node, on := fabric.Node{Name: name}, fabric.NodeAddresses{Node: name}
		for port := range 2 {
			np := fabric.NodePort{Node: name, Number: port}
			for twin, prefix := range []string{"enp1s0", "enP2p1s0"} {
				nic := fmt.Sprintf("%sf%dnp%d", prefix, port, port)
				cable := (n - port + machines) % machines // the cable of port 1 is the one of port 0 of the machine before
				subnet := 2*cable + twin
				np.Twins = append(np.Twins, fabric.Twin{NIC: nic})
				node.NICs = append(node.NICs, nic)
				on.NICs = append(on.NICs, fabric.NICAddress{NIC: nic, Rail: subnet + 1,
					Address: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 64, byte(subnet), byte(n + 1)}), 24)})
				if port == 0 {
					far := fabric.Endpoint{Node: fmt.Sprintf("spark%d", (n+1)%machines+1), NIC: fmt.Sprintf("%sf1np1", prefix)}
					p.Cabling.Links = append(p.Cabling.Links, fabric.Link{A: fabric.Endpoint{Node: name, NIC: nic}, B: far, Rail: subnet + 1})
				}
			}
			p.Ports = append(p.Ports, np)
		}
		p.Nodes = append(p.Nodes, node)
		p.Addressing.Nodes = append(p.Addressing.Nodes, on)
	}
	return p
}

// twinFacts are those of a machine of that on which everything is as planned.
func twinFacts(p *fabric.Plan, n int) *fabric.Facts {
	f := &fabric.Facts{Meta: fabric.NewMeta("Facts"), Node: p.Nodes[n].Name, Platform: "lab", Source: "live"}
	for i, a := range p.Addressing.Nodes[n].NICs {
		f.NICs = append(f.NICs, fabric.NIC{
			Name: a.NIC, Index: i + 2, MTU: p.MTU, OperState: "up", Carrier: ref(true), Kind: "veth",
			Addresses: []netip.Prefix{a.Address}, ARPIgnore: ref(2), ARPAnnounce: ref(1), RPFilter: ref(2),
		})
	}
	for _, l := range p.Cabling.Links {
		hear(f, l.A, l.B)
		hear(f, l.B, l.A)
	}
	f.Rules = []fabric.Rule{{Priority: 0, Table: 255}, {Priority: 32766, Table: 254}}
	return f
}

// hear lets a NIC of these facts hear the far end.
func hear(f *fabric.Facts, at, far fabric.Endpoint) {
	if at.Node == f.Node {
		f.LLDP = append(f.LLDP, fabric.LLDPNeighbour{NIC: at.NIC, System: far.Node, Port: far.NIC, Source: "lldpd"})
	}
}

// twins makes a world of three machines in a ring, and changes it.
func twins(change func(*world)) func(*world) {
	return func(w *world) {
		w.plan = twinPlan(3)
		w.nodes = nil
		for n := range w.plan.Nodes {
			w.nodes = append(w.nodes, twinFacts(w.plan, n))
		}
		change(w)
	}
}

// lead lets a port lead to another one, for both of its twins and both ends; an empty one leads nowhere.
func (w *world) lead(node string, port int, farNode string, farPort int) {
	ends := func(node string, port int, farNode string, farPort int) {
		for _, f := range w.nodes {
			if f.Node != node {
				continue
			}
			for _, prefix := range []string{"enp1s0", "enP2p1s0"} {
				nic := fmt.Sprintf("%sf%dnp%d", prefix, port, port)
				f.LLDP = slices.DeleteFunc(f.LLDP, func(n fabric.LLDPNeighbour) bool { return n.NIC == nic })
				if farNode != "" {
					hear(f, fabric.Endpoint{Node: node, NIC: nic}, fabric.Endpoint{Node: farNode, NIC: fmt.Sprintf("%sf%dnp%d", prefix, farPort, farPort)})
				}
			}
		}
	}
	ends(node, port, farNode, farPort)
	ends(farNode, farPort, node, port)
}

// meet puts the far NIC into the neighbour table of a NIC, by its MAC address.
func meet(w *world, node, nic, farNode, farNIC string) {
	for i, f := range w.nodes {
		for k := range f.NICs {
			f.NICs[k].MAC = fmt.Sprintf("02:00:00:00:%02x:%02x", i, k)
		}
	}
	for _, f := range w.nodes {
		for _, far := range w.nodes {
			if f.Node == node && far.Node == farNode {
				n := nicOf(far, farNIC)
				f.Neighbours = append(f.Neighbours, fabric.Neighbour{NIC: nic, Address: n.Addresses[0].Addr(), MAC: n.MAC, State: "REACHABLE"})
			}
		}
	}
}

// unplug takes the link of a port away.
func (w *world) unplug(node string, port int) {
	w.lead(node, port, "", 0)
	for _, f := range w.nodes {
		for i := range f.NICs {
			if f.Node == node && strings.HasSuffix(f.NICs[i].Name, fmt.Sprintf("np%d", port)) {
				f.NICs[i].OperState, f.NICs[i].Carrier, f.NICs[i].Addresses = "down", ref(false), nil
			}
		}
	}
}

// swapSpark3 exchanges the plugs of spark3.
func swapSpark3(w *world) {
	w.lead("spark2", 0, "spark3", 0)
	w.lead("spark3", 1, "spark1", 1)
}

func twinCases() []oneCase {
	const pass, fail, unknown, na = fabric.Pass, fabric.Fail, fabric.Unknown, fabric.NotApplicable
	silent := func(w *world) {
		for _, f := range w.nodes {
			f.LLDP = nil
		}
	}
	address := func(node int, nic, address string) func(*world) {
		return func(w *world) { nicOf(w.nodes[node], nic).Addresses = []netip.Prefix{netip.MustParsePrefix(address)} }
	}
	return []oneCase{
		{"port-cabling", "as planned", "spark1:port 0", pass, "", twins(asPlanned)},
		{"port-cabling", "one end heard", "spark1:port 0", pass, "", twins(func(w *world) { w.nodes[0].LLDP = nil })},
		{"port-cabling", "nothing heard", "spark1:port 0", unknown, "no LLDP neighbour", twins(silent)},
		{"port-cabling", "by neighbour tables", "spark1:port 0", pass, "", twins(func(w *world) { silent(w); meet(w, "spark1", "enp1s0f0np0", "spark2", "enp1s0f1np1") })},
		{"port-cabling", "swapped, by neighbour tables", "spark3:port 0", fail, "The two plugs of spark3", twins(func(w *world) {
			silent(w)
			meet(w, "spark3", "enp1s0f0np0", "spark2", "enp1s0f0np0")
			meet(w, "spark3", "enp1s0f1np1", "spark1", "enp1s0f1np1")
		})},
		{"port-cabling", "no twins", "cluster", na, "no machine whose ports", asPlanned},
		{"port-cabling", "plugs swapped", "spark3:port 0", fail, "port 0 leads to port 0 of spark2, planned is port 1 of spark1; port 1 leads to port 1 of spark1, planned is port 0 of spark2", twins(swapSpark3)},
		{"port-cabling", "the third cable is right", "spark1:port 0", pass, "", twins(swapSpark3)},
		{"port-cabling", "two machines swapped", "spark1:port 0", fail, "The two plugs of spark1", twins(func(w *world) {
			w.lead("spark1", 1, "spark2", 0)
			w.lead("spark1", 0, "spark3", 0)
			w.lead("spark2", 1, "spark3", 1)
		})},
		{"port-cabling", "both to one peer", "spark1:port 1", fail, "are joined by another cable already: a second one between the same two brings nothing, and spark3 is not reached", twins(func(w *world) {
			w.lead("spark3", 0, "", 0)
			w.lead("spark3", 1, "", 0)
			w.lead("spark1", 1, "spark2", 0)
		})},
		{"port-cabling", "a foreign machine", "spark2:port 0", fail, "Port 0 of spark2 leads to pc:enp1s0f0np0, planned is port 1 of spark3: what it leads to is not a machine of the cluster file", twins(func(w *world) {
			w.lead("spark3", 1, "", 0)
			w.lead("spark2", 0, "pc", 0)
		})},
		{"port-cabling", "a cable of a machine with itself", "spark2:port 0", fail, "One cable joins port 0 and port 1 of spark2 itself", twins(func(w *world) {
			w.lead("spark1", 0, "", 0)
			w.lead("spark3", 1, "", 0)
			w.lead("spark2", 0, "spark2", 1)
		})},
		{"port-cabling", "torn", "spark1:port 0", unknown, "have several neighbours", twins(func(w *world) {
			hear(w.nodes[0], fabric.Endpoint{Node: "spark1", NIC: "enp1s0f0np0"}, fabric.Endpoint{Node: "spark3", NIC: "enp1s0f1np1"})
		})},
		{"port-cabling", "open ring", "spark1:port 1", unknown, "", twins(func(w *world) { w.unplug("spark1", 1); w.unplug("spark3", 0) })},

		{"link-up", "no cable in a port", "spark1:enp1s0f1np1", fail, "Port 1 of spark1 has no link on any of its interfaces (enp1s0f1np1, enP2p1s0f1np1)", twins(func(w *world) { w.unplug("spark1", 1) })},
		{"link-up", "its twin", "spark1:enP2p1s0f1np1", unknown, "its twin on port 1 of spark1", twins(func(w *world) { w.unplug("spark1", 1) })},
		{"link-up", "one twin down", "spark1:enP2p1s0f1np1", unknown, "not evaluated while spark-twins fails on spark1:p1", twins(func(w *world) {
			n := nicOf(w.nodes[0], "enP2p1s0f1np1")
			n.OperState, n.Carrier = "down", ref(false)
		})},
		{"address", "of an unplugged twin", "spark1:enP2p1s0f1np1", unknown, "link-up fails on spark1:enp1s0f1np1", twins(func(w *world) { w.unplug("spark1", 1) })},
		{"address", "twins exchanged", "spark2:enp1s0f0np0", fail, "The two twins of port 0 of spark2 have each other's address", twins(func(w *world) {
			address(1, "enp1s0f0np0", "10.64.3.2/24")(w)
			address(1, "enP2p1s0f0np0", "10.64.2.2/24")(w)
		})},
		{"address", "the other twin", "spark2:enP2p1s0f0np0", unknown, "each other's address", twins(func(w *world) {
			address(1, "enp1s0f0np0", "10.64.3.2/24")(w)
			address(1, "enP2p1s0f0np0", "10.64.2.2/24")(w)
		})},
		{"address", "of another", "spark2:enP2p1s0f0np0", fail, "Of port 0 of spark2", twins(address(1, "enP2p1s0f0np0", "10.99.2.2/24"))},
		{"one-subnet", "both twins", "spark2:enP2p1s0f0np0", fail, "Both twins of port 0 of spark2 are in one subnet", twins(address(1, "enP2p1s0f0np0", "10.64.2.99/24"))},
		{"one-subnet", "the twin that is right", "spark2:enp1s0f0np0", unknown, "its twin on port 0 of spark2", twins(address(1, "enP2p1s0f0np0", "10.64.2.99/24"))},
		{"source-rule", "no table", "spark1", na, "nothing is routed", twins(asPlanned)},
		{"rail-route", "no table", "spark1", na, "nothing is routed", twins(asPlanned)},
		{"cabling", "ports with twins", "spark1", na, "port-cabling", twins(asPlanned)},
		{"rp-filter", "strict where nothing is routed", "spark1:enp1s0f0np0", pass, "", twins(func(w *world) { nicOf(w.nodes[0], "enp1s0f0np0").RPFilter = ref(1) })},
	}
}

// One fault at a port is one finding, whose fix is a sentence for who stands at the machines.
func TestPortFaultsAreToldOnce(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(*world)
		fixes  []string
	}{
		{"plugs swapped", swapSpark3, []string{"swap the two plugs on spark3"}},
		{"both to one peer", func(w *world) {
			w.unplug("spark3", 0)
			w.unplug("spark3", 1)
			w.lead("spark1", 1, "spark2", 0)
		}, []string{
			"plug a cable into port 1 of spark1 and into port 0 of spark3, until both plugs click",
			"plug a cable into port 0 of spark2 and into port 1 of spark3, until both plugs click",
			"leave the plug at port 1 of spark1, and move the other one from port 0 of spark2 to port 0 of spark3; a cable then joins port 0 of spark2 and port 1 of spark3",
		}},
		{"open ring", func(w *world) { w.unplug("spark1", 1); w.unplug("spark3", 0) }, []string{
			"plug a cable into port 1 of spark1 and into port 0 of spark3, until both plugs click",
			"plug a cable into port 1 of spark1 and into port 0 of spark3, until both plugs click",
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			twins(tt.change)(w)
			var fixes []string
			findings, _ := run(w.plan, nil, w.nodes...)
			for _, f := range findings {
				if f.Status == fabric.Fail {
					fixes = append(fixes, f.Fix)
				}
			}
			if !slices.Equal(fixes, tt.fixes) {
				t.Errorf("have\n%s\nwant\n%s", strings.Join(fixes, "\n"), strings.Join(tt.fixes, "\n"))
			}
		})
	}
}
