package check

import (
	"net/netip"

	"railwright.dev/railwright/internal/fabric"
)

func portCases() []oneCase {
	mtu := func(active, most int) func(*world) {
		return onPort(func(p *fabric.Port) { p.ActiveMTU, p.MaxMTU = ref(active), ref(most) })
	}
	count := func(name string, n uint64) func(*world) {
		return onPort(func(p *fabric.Port) { p.Counters[name] = n })
	}
	return []oneCase{
		{"link-layer", "Ethernet", onPort3, isPass, "", asPlanned},
		{"link-layer", "a VPI port left on InfiniBand", onPort3, isFail, "is InfiniBand, the plan's transport roce needs Ethernet", onPort(func(p *fabric.Port) { p.LinkLayer = "InfiniBand" })},
		{"link-layer", "not read", onPort3, isUnknown, "permission denied", both(onPort(func(p *fabric.Port) { p.LinkLayer = "" }), gone("hcas.ports.link_layer bnxt_re2/1"))},
		{"link-layer", "no plan", "host1", isNA, "needs a cluster file", noPlan},

		{"gid-roce-v2", "index 3", onEth3, isPass, "", asPlanned},
		{"gid-roce-v2", "only version 1", onEth3, isFail, "does not contain 10.64.0.5, the address of host1:eth3, as RoCE v2", onPort(func(p *fabric.Port) { p.GIDs = p.GIDs[:1] })},
		{"gid-roce-v2", "another address", onEth3, isFail, "does not contain 10.64.0.5", onPort(func(p *fabric.Port) {
			p.GIDs = []fabric.GID{{Index: 3, GID: "0000:0000:0000:0000:0000:ffff:0a40:0009", Type: "RoCE v2", NetDev: "eth3"}}
		})},
		{"gid-roce-v2", "of another interface", onEth3, isFail, "does not contain", onPort(func(p *fabric.Port) { p.GIDs[1].NetDev, p.GIDs = "eth3.100", p.GIDs[1:] })},
		{"gid-roce-v2", "without a plan", onEth3, isPass, "", noPlan},
		{"gid-roce-v2", "table not read", onEth3, isUnknown, "permission denied", both(onPort(func(p *fabric.Port) { p.GIDs = nil }), gone("hcas.ports.gids bnxt_re2/1"))},
		{"gid-roce-v2", "type not read", onEth3, isUnknown, "GID table of host1:bnxt_re2 was not read", onPort(func(p *fabric.Port) { p.GIDs[0].Type, p.GIDs[1].Type = "", "" })},
		{"gid-roce-v2", "silent behind the address", onEth3, isUnknown, "address fails on host1:eth3", func(w *world) { plantMoved(w.host1(), "eth3", "10.99.0.1/24") }},
		{"gid-roce-v2", "InfiniBand", "host1", isNA, "no IP addresses", infiniBand},

		{"rdma-mtu", "4096", onPort3, isPass, "", asPlanned},
		{"rdma-mtu", "1024", onPort3, isFail, "92.6 instead of 98.0 %", mtu(1024, 4096)},
		{"rdma-mtu", "the port can no more", onPort3, isPass, "", mtu(2048, 2048)},
		{"rdma-mtu", "the plan wants no more", onPort3, isPass, "", func(w *world) {
			w.plan.MTU = 1500
			for _, f := range w.nodes {
				for i := range f.NICs {
					f.NICs[i].MTU = 1500
				}
			}
			mtu(1024, 4096)(w)
		}},
		{"rdma-mtu", "InfiniBand at 2048", "host1:mlx5_2/1", isFail, "98.7 instead of 99.4 %", func(w *world) { infiniBand(w); mtu(2048, 4096)(w) }},
		{"rdma-mtu", "silent behind the NIC's", onPort3, isUnknown, "mtu fails on host1:eth3", func(w *world) { mtu(1024, 4096)(w); eth3(w).MTU = 1500 }},
		{"rdma-mtu", "not read", onPort3, isUnknown, "permission denied", both(onPort(func(p *fabric.Port) { p.ActiveMTU = nil }), gone("hcas.ports.active_mtu"))},
		{"rdma-mtu", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"link-errors", "few", onPort3, isPass, "", asPlanned},
		{"link-errors", "ten times down", onPort3, isPass, "", count("link_downed", 10)},
		{"link-errors", "more often down", onPort3, isFail, "counts link_downed 11", count("link_downed", 11)},
		{"link-errors", "one corrupted packet", onPort3, isFail, "arrived corrupted", count("rx_icrc_encapsulated", 1)},
		{"link-errors", "two kinds", onPort3, isFail, "excessive_buffer_overrun_errors 4, link_downed 12", both(count("link_downed", 12), count("excessive_buffer_overrun_errors", 4))},
		{"link-errors", "others need a rate", onPort3, isPass, "", count("symbol_error", 4)},
		{"link-errors", "all at zero", onPort3, isPass, "", count("link_downed", 0)},
		{"link-errors", "no counter read", onPort3, isUnknown, "local_link_integrity_errors, excessive_buffer_overrun_errors, link_downed of host1:bnxt_re2/1 were not read", onPort(func(p *fabric.Port) { p.Counters = nil })},
		{"link-errors", "one of them not read", onPort3, isUnknown, "link_downed of host1:bnxt_re2/1 were not read", onPort(func(p *fabric.Port) { delete(p.Counters, "link_downed") })},
		{"link-errors", "folder not read", onPort3, isUnknown, "permission denied", gone("hcas.ports.counters bnxt_re2/1")},
		{"link-errors", "one not read", onPort3, isUnknown, "permission denied", gone("hcas.ports.counters.rx_icrc_encapsulated bnxt_re2/1")},
		{"link-errors", "one not read, another over", onPort3, isFail, "link_downed 12", both(count("link_downed", 12), gone("hcas.ports.counters.rx_icrc_encapsulated bnxt_re2/1"))},
		{"link-errors", "port known by a tool's text", onPort3, isUnknown, "were not read", onPort(func(p *fabric.Port) { p.Counters, p.PKeys = nil, nil })},
		{"link-errors", "lab", "host1", isNA, "no hardware of its own", inLab},

		{"fec", "RS", onEth3, isPass, "", asPlanned},
		{"fec", "off", onEth3, isFail, "runs at 400000 Mb/s with FEC Off, not RS", onNIC(func(n *fabric.NIC) { n.FEC = "Off" })},
		{"fec", "BaseR", onEth3, isFail, "FEC BaseR", onNIC(func(n *fabric.NIC) { n.FEC, n.SpeedMbps = "BaseR", ref(100_000) })},
		{"fec", "several, of which one is in use", onEth3, isUnknown, "does not say which", onNIC(func(n *fabric.NIC) { n.FEC = "Off RS" })},
		{"fec", "slow", onEth3, isNA, "below 100000 it needs no FEC", onNIC(func(n *fabric.NIC) { n.FEC, n.SpeedMbps = "Off", ref(25_000) })},
		{"fec", "not read", onEth3, isUnknown, "permission denied", both(onNIC(func(n *fabric.NIC) { n.FEC = "" }), gone("nics.fec eth3"))},
		{"fec", "InfiniBand", "host1", isNA, "the transport of the plan is infiniband", infiniBand},
	}
}

func infiniBandCases() []oneCase {
	const s = "host1:mlx5_2/1"
	port := func(change func(*fabric.Port)) func(*world) { return both(infiniBand, onPort(change)) }
	return []oneCase{
		{"sm-lid", "1", s, isPass, "", infiniBand},
		{"sm-lid", "none", s, isFail, "no subnet manager has configured the port", port(func(p *fabric.Port) { p.SMLID = ref(0) })},
		{"sm-lid", "not read", s, isUnknown, "permission denied", both(port(func(p *fabric.Port) { p.SMLID = nil }), gone("hcas.ports.sm_lid mlx5_2/1"))},
		{"sm-lid", "without a plan", s, isFail, "", both(port(func(p *fabric.Port) { p.SMLID = ref(0) }), noPlan)},
		{"sm-lid", "RoCE", "host1", isNA, "the transport of the plan is roce", asPlanned},
		{"sm-lid", "RoCE without a plan", "host1", isNA, "no RDMA port of host1 is InfiniBand", noPlan},
		{"sm-lid", "layer not read", s, isUnknown, "link layer of host1:mlx5_2/1 was not read", port(func(p *fabric.Port) { p.LinkLayer = "" })},
		{"sm-lid", "silent behind the port", s, isUnknown, "port-state fails on " + s, port(func(p *fabric.Port) { p.SMLID, p.State = ref(0), "INIT" })},

		{"port-lid", "given", s, isPass, "", infiniBand},
		{"port-lid", "none", s, isFail, "The LID of host1:mlx5_2/1 is 0", port(func(p *fabric.Port) { p.LID = ref(0) })},
		{"port-lid", "a multicast one", s, isFail, "is 49152", port(func(p *fabric.Port) { p.LID = ref(0xc000) })},
		{"port-lid", "silent behind the subnet manager", s, isUnknown, "sm-lid fails", port(func(p *fabric.Port) { p.LID, p.SMLID = ref(0), ref(0) })},
		{"port-lid", "not read", s, isUnknown, "was not read", port(func(p *fabric.Port) { p.LID = nil })},
		{"port-lid", "RoCE", "host1", isNA, "roce", asPlanned},

		{"pkey-member", "full in one", s, isPass, "", infiniBand},
		{"pkey-member", "limited", s, isFail, "only a limited member of its partitions (0x0001 0x7fff)", port(func(p *fabric.Port) { p.PKeys = []string{"0x0001", "0x7fff"} })},
		{"pkey-member", "not in the planned one", s, isFail, "not a full member of the planned partition: it has P_Keys 0x8001 0x7fff, not 0x8002", both(infiniBand, func(w *world) { w.plan.Partition = 2 })},
		{"pkey-member", "in the planned one", s, isPass, "", both(infiniBand, func(w *world) { w.plan.Partition = 1 })},
		{"pkey-member", "not read", s, isUnknown, "permission denied", both(port(func(p *fabric.Port) { p.PKeys = nil }), gone("hcas.ports.pkeys mlx5_2/1"))},
		{"pkey-member", "RoCE", "host1", isNA, "roce", asPlanned},
	}
}

// overIP is an InfiniBand fabric whose interfaces have addresses of one subnet.
func overIP(w *world) {
	infiniBand(w)
	w.plan.Addressing = fabric.Addressing{Scheme: fabric.Flat, Pool: netip.MustParsePrefix("10.64.0.0/16")}
	at := w.plan.Addressing.Pool.Addr()
	for i, n := range w.plan.Nodes {
		a := fabric.NodeAddresses{Node: n.Name}
		for rail, nic := range n.NICs {
			at = at.Next()
			a.NICs = append(a.NICs, fabric.NICAddress{NIC: nic, Rail: rail + 1, Address: netip.PrefixFrom(at, 16)})
			have := &w.nodes[i].NICs[rail+1]
			have.Addresses, have.IPoIB = []netip.Prefix{netip.PrefixFrom(at, 16)}, &fabric.IPoIB{Mode: "datagram", PKey: "0xffff"}
		}
		w.plan.Addressing.Nodes = append(w.plan.Addressing.Nodes, a)
	}
}

func ipoibCases() []oneCase {
	over := func(change func(*fabric.NIC)) func(*world) {
		return both(overIP, func(w *world) { change(eth3(w)) })
	}
	const s = "host1:eth3"
	return []oneCase{
		{"ipoib", "as planned", s, isPass, "", overIP},
		{"ipoib", "connected", s, isFail, "connected mode", over(func(n *fabric.NIC) { n.IPoIB.Mode, n.MTU = "connected", 65520 })},
		{"ipoib", "MTU", s, isFail, "has MTU 2044, the plan says 4092", over(func(n *fabric.NIC) { n.MTU = 2044 })},
		{"ipoib", "partition", s, isFail, "has P_Key 0x8001, planned is 0xffff", over(func(n *fabric.NIC) { n.IPoIB.PKey = "0x8001" })},
		{"ipoib", "limited member", s, isFail, "has P_Key 0x7fff", over(func(n *fabric.NIC) { n.IPoIB.PKey = "0x7fff" })},
		{"ipoib", "planned partition", s, isPass, "", both(overIP, func(w *world) {
			w.plan.Partition = 1
			for i := range w.nodes {
				for j := range w.nodes[i].NICs {
					if n := &w.nodes[i].NICs[j]; n.IPoIB != nil {
						n.IPoIB.PKey = "0x8001"
					}
				}
			}
		})},
		{"ipoib", "not read", s, isUnknown, "were not all read", over(func(n *fabric.NIC) { n.IPoIB = nil })},
		{"ipoib", "mode not read", s, isUnknown, "were not all read", over(func(n *fabric.NIC) { n.IPoIB.Mode = "" })},
		{"ipoib", "no addresses", "host1", isNA, "no IP addresses", infiniBand},
		{"ipoib", "RoCE", "host1", isNA, "the transport of the plan is roce", asPlanned},
	}
}

func filterCases() []oneCase {
	strict := func(w *world) { eth3(w).RPFilter = ref(1) }
	flat := func(w *world) { // one subnet for all, of which no rule speaks
		w.plan.Addressing.Scheme = fabric.Flat
		for i := range w.plan.Addressing.Nodes {
			for k := range w.plan.Addressing.Nodes[i].NICs {
				a := &w.plan.Addressing.Nodes[i].NICs[k]
				a.Address = netip.PrefixFrom(a.Address.Addr(), 16)
				nic := nicOf(w.nodes[i], a.NIC)
				nic.Addresses, nic.ARPIgnore = []netip.Prefix{a.Address}, ref(2)
			}
		}
	}
	noRules := func(w *world) { w.host1().Rules = w.host1().Rules[len(w.host1().Rules)-2:] }
	return []oneCase{
		{"rp-filter", "loose", onEth3, isPass, "", asPlanned},
		{"rp-filter", "off", onEth3, isPass, "", func(w *world) { eth3(w).RPFilter = ref(0) }},
		{"rp-filter", "strict, and the source rule leads back", onEth3, isPass, "", strict},
		{"rp-filter", "strict, and nothing leads back", onEth3, isFail, "uses no NIC", both(strict, noPlan, noRules)},
		{"rp-filter", "strict, and the default leads elsewhere", onEth3, isFail, "uses eth1", func(w *world) {
			both(strict, noPlan, noRules)(w)
			w.host1().Routes = append(w.host1().Routes, fabric.Route{Table: 254, Destination: netip.MustParsePrefix("0.0.0.0/0"), NIC: "eth1"})
		}},
		{"rp-filter", "silent behind the source rule", onEth3, isUnknown, "source-rule fails", both(strict, func(w *world) { plantRule(w.host1(), 103) })},
		{"rp-filter", "routes not read", onEth3, isUnknown, "permission denied", both(strict, noPlan, gone("routes"))},
		{"rp-filter", "not read", onEth3, isUnknown, "permission denied", both(onNIC(func(n *fabric.NIC) { n.RPFilter = nil }), gone("nics.rp_filter eth3"))},
		{"rp-filter", "no RDMA", "host1", isNA, "has no RDMA device", bare},

		{"neighbour-table", "a cable each", "host1", isPass, "", asPlanned},
		{"neighbour-table", "too small", "host1", isFail, "holds 15 entries, its planned subnets have 72 neighbours", func(w *world) {
			flat(w)
			w.host1().Sysctls["net.ipv4.neigh.default.gc_thresh3"] = "15"
		}},
		{"neighbour-table", "just enough", "host1", isPass, "", func(w *world) { flat(w); w.host1().Sysctls["net.ipv4.neigh.default.gc_thresh3"] = "72" }},
		{"neighbour-table", "not read", "host1", isUnknown, "permission denied", func(w *world) { w.host1().Sysctls = nil; w.missing("sysctls.net.ipv4.neigh.default.gc_thresh3") }},
		{"neighbour-table", "lab", "host1", isNA, "no hardware of its own", inLab},
	}
}
