package check

import (
	"fmt"
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

// rails makes the world one of a subnet for each rail, with every NIC in the neighbour table of its peer.
func rails(w *world) {
	w.plan.Addressing.Scheme = fabric.Rail24
	for h, f := range w.nodes {
		f.Neighbours, f.Routes = nil, nil
		f.Rules = []fabric.Rule{{Priority: 0, Table: 255}}
		for n := range railsOfTest {
			at := func(host int) netip.Addr { return netip.AddrFrom4([4]byte{10, 64, byte(n), byte(host + 1)}) }
			nic := nicOf(f, nicName(n))
			nic.Addresses, nic.MAC = []netip.Prefix{netip.PrefixFrom(at(h), 24)}, railMAC(h, n)
			planned := &w.plan.Addressing.Nodes[h].NICs[n]
			planned.Address, planned.Gateway = nic.Addresses[0], netip.AddrFrom4([4]byte{10, 64, byte(n), 254})
			f.Rules = append(f.Rules, fabric.Rule{Priority: planned.RulePriority(), From: netip.PrefixFrom(at(h), 32), Table: planned.Table})
			f.Routes = append(f.Routes,
				fabric.Route{Table: 254, Destination: planned.Address.Masked(), NIC: nic.Name, Source: at(h)},
				fabric.Route{Table: planned.Table, Destination: planned.Address.Masked(), NIC: nic.Name},
				fabric.Route{Table: planned.Table, Destination: netip.MustParsePrefix("0.0.0.0/0"), Gateway: planned.Gateway, NIC: nic.Name})
			for i, g := range f.HCAs[n].Ports[0].GIDs {
				f.HCAs[n].Ports[0].GIDs[i] = fabric.GID{Index: g.Index, GID: fmt.Sprintf("0000:0000:0000:0000:0000:ffff:0a40:%02x%02x", n, h+1), Type: g.Type, NetDev: nic.Name}
			}
			f.Neighbours = append(f.Neighbours,
				fabric.Neighbour{NIC: nic.Name, Address: planned.Gateway, MAC: "02:00:00:00:ff:ff", State: "REACHABLE"},
				fabric.Neighbour{NIC: nic.Name, Address: at(1 - h), MAC: railMAC(1-h, n), State: "STALE"})
		}
		f.Rules = append(f.Rules, fabric.Rule{Priority: 32766, Table: 254}, fabric.Rule{Priority: 32767, Table: 253})
	}
}

func railMAC(host, nic int) string { return fmt.Sprintf("02:00:00:00:%02x:%02x", host+1, nic+1) }

func arpCases() []oneCase {
	// host2 has eth3 of host1 at another MAC address.
	entry := func(change func(*fabric.Neighbour)) func(*world) {
		return func(w *world) {
			rails(w)
			for i := range w.nodes[1].Neighbours {
				if n := &w.nodes[1].Neighbours[i]; n.NIC == "eth3" && n.Address == netip.MustParseAddr("10.64.2.1") {
					change(n)
				}
			}
		}
	}
	flux := entry(func(n *fabric.Neighbour) { n.MAC = railMAC(0, 4) })
	silent := func(w *world) {
		rails(w)
		w.nodes[0].Neighbours, w.nodes[1].Neighbours = nil, nil
	}
	ignore := func(value int) func(*world) {
		return func(w *world) {
			for _, f := range w.nodes {
				for i := range f.NICs {
					f.NICs[i].ARPIgnore = ref(value)
				}
			}
		}
	}
	return []oneCase{
		{"arp-owner", "each at its own", "cluster", isPass, "", rails},
		{"arp-owner", "at another NIC", onEth3, isFail, "host2:eth3 reaches 10.64.2.1 of host1:eth3 at 02:00:00:00:01:05, which is eth5", flux},
		{"arp-owner", "at another NIC, without a plan", onEth3, isFail, "which is eth5", both(flux, noPlan)},
		{"arp-owner", "at a switch", onEth3, isUnknown, "which is no NIC of host1", entry(func(n *fabric.Neighbour) { n.MAC = "02:00:00:00:ff:ff" })},
		{"arp-owner", "failed entries do not count", "cluster", isUnknown, "no neighbour table has 1 address, such as 10.64.2.1 of host1:eth3", entry(func(n *fabric.Neighbour) { n.State = "FAILED" })},
		{"arp-owner", "cut MAC", "cluster", isUnknown, "no neighbour table has 1 address", entry(func(n *fabric.Neighbour) { n.MAC = "02:00:00" })},
		{"arp-owner", "no traffic yet", "cluster", isUnknown, "no neighbour table has 16 addresses", silent},
		{"arp-owner", "no traffic yet, arp_ignore 2", "cluster", isPass, "", both(silent, ignore(2))},
		{"arp-owner", "no traffic yet, one NIC answers for all", "cluster", isUnknown, "no neighbour table has 8 addresses", both(both(silent, ignore(2)), onNIC(func(n *fabric.NIC) { n.ARPIgnore = ref(0) }))},
		{"arp-owner", "table not read", "host1", isUnknown, "permission denied", both(rails, gone("neighbours"))},
		{"arp-owner", "silent behind one subnet", onEth3, isUnknown, "one-subnet fails", both(flux, onNIC(func(n *fabric.NIC) { n.Addresses = append(n.Addresses, netip.MustParsePrefix("10.64.4.77/24")) }))},
		{"arp-owner", "a cable each", "cluster", isNA, "every subnet is a cable of its own", asPlanned},
		{"arp-owner", "a cable each, without a plan", "cluster", isNA, "every subnet is a cable of its own", noPlan},
		{"arp-owner", "InfiniBand", "cluster", isNA, "cable of its own", infiniBand},
	}
}
